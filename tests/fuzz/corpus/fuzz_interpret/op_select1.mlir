func.func public @main(%a0: tensor<2x3xi1>, %a1: tensor<2x3xi32>, %a2: tensor<2x3xi32>) -> (tensor<2x3xi32>) {
  %v1 = "stablehlo.select"(%a0, %a1, %a2) : (tensor<2x3xi1>, tensor<2x3xi32>, tensor<2x3xi32>) -> (tensor<2x3xi32>)
  "func.return"(%v1) : (tensor<2x3xi32>) -> ()
}
