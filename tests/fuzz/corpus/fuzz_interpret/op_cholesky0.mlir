func.func public @main(%a0: tensor<2x1x1xf32>, %a1: tensor<2x1x1xf32>, %a2: tensor<2x1x1xi1>) -> (tensor<2x1x1xf32>) {
  %v1 = "stablehlo.cholesky"(%a0) <{lower = true}> : (tensor<2x1x1xf32>) -> (tensor<2x1x1xf32>)
  %v2 = "stablehlo.select"(%a2, %v1, %a1) : (tensor<2x1x1xi1>, tensor<2x1x1xf32>, tensor<2x1x1xf32>) -> (tensor<2x1x1xf32>)
  "func.return"(%v2) : (tensor<2x1x1xf32>) -> ()
}
