func.func public @main(%a0: tensor<f64>) -> (tensor<f64>) {
  %v1 = "stablehlo.logistic"(%a0) : (tensor<f64>) -> (tensor<f64>)
  "func.return"(%v1) : (tensor<f64>) -> ()
}
