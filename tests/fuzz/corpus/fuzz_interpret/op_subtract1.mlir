func.func public @main(%a0: tensor<2x3xi64>, %a1: tensor<2x3xi64>) -> (tensor<2x3xi64>) {
  %v1 = "stablehlo.subtract"(%a0, %a1) : (tensor<2x3xi64>, tensor<2x3xi64>) -> (tensor<2x3xi64>)
  "func.return"(%v1) : (tensor<2x3xi64>) -> ()
}
