func.func public @main(%a0: tensor<7xf32>) -> (tensor<7xf32>) {
  %v1 = "stablehlo.imag"(%a0) : (tensor<7xf32>) -> (tensor<7xf32>)
  "func.return"(%v1) : (tensor<7xf32>) -> ()
}
