func.func public @main(%a0: tensor<3x2x4xf32>, %a1: tensor<3xf32>, %a2: tensor<3xf32>, %a3: tensor<3xf32>, %a4: tensor<3xf32>) -> (tensor<3x2x4xf32>) {
  %v1 = "stablehlo.batch_norm_inference"(%a0, %a1, %a2, %a3, %a4) <{epsilon = 0.001 : f32, feature_index = 0 : i64}> : (tensor<3x2x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3x2x4xf32>)
  "func.return"(%v1) : (tensor<3x2x4xf32>) -> ()
}
