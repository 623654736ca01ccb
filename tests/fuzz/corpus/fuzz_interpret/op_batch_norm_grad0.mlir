func.func public @main(%a0: tensor<3x2x4xf32>, %a1: tensor<3xf32>, %a2: tensor<3xf32>, %a3: tensor<3xf32>, %a4: tensor<3x2x4xf32>) -> (tensor<3x2x4xf32>, tensor<3xf32>, tensor<3xf32>) {
  %v1:3 = "stablehlo.batch_norm_grad"(%a0, %a1, %a2, %a3, %a4) <{epsilon = 0.001 : f32, feature_index = 0 : i64}> : (tensor<3x2x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x2x4xf32>) -> (tensor<3x2x4xf32>, tensor<3xf32>, tensor<3xf32>)
  "func.return"(%v1#0, %v1#1, %v1#2) : (tensor<3x2x4xf32>, tensor<3xf32>, tensor<3xf32>) -> ()
}
