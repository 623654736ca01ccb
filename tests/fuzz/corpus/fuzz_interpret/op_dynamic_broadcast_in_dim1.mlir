func.func public @main(%a0: tensor<1x4xf32>) -> (tensor<4x2x3xf32>) {
  %v1 = stablehlo.constant dense<[4, 2, 3]> : tensor<3xi32>
  %v2 = "stablehlo.dynamic_broadcast_in_dim"(%a0, %v1) <{broadcast_dimensions = array<i64: 2, 0>}> : (tensor<1x4xf32>, tensor<3xi32>) -> (tensor<4x2x3xf32>)
  "func.return"(%v2) : (tensor<4x2x3xf32>) -> ()
}
