func.func public @main(%a0: tensor<complex<f64>>) -> (tensor<f64>) {
  %v1 = "stablehlo.imag"(%a0) : (tensor<complex<f64>>) -> (tensor<f64>)
  "func.return"(%v1) : (tensor<f64>) -> ()
}
