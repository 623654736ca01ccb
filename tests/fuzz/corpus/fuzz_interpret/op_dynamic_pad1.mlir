func.func public @main(%a0: tensor<3x4xf32>, %a1: tensor<f32>) -> (tensor<4x5xf32>) {
  %v1 = stablehlo.constant dense<[1, -1]> : tensor<2xi32>
  %v2 = stablehlo.constant dense<[-2, 2]> : tensor<2xi32>
  %v3 = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
  %v4 = "stablehlo.dynamic_pad"(%a0, %a1, %v1, %v2, %v3) : (tensor<3x4xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<4x5xf32>)
  "func.return"(%v4) : (tensor<4x5xf32>) -> ()
}
