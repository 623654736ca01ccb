func.func public @main(%a0: tensor<2x3xf64>, %a1: tensor<2x3xf64>) -> (tensor<2x3xf64>) {
  %v1 = "stablehlo.divide"(%a0, %a1) : (tensor<2x3xf64>, tensor<2x3xf64>) -> (tensor<2x3xf64>)
  "func.return"(%v1) : (tensor<2x3xf64>) -> ()
}
