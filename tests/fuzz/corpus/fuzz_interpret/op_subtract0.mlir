func.func public @main(%a0: tensor<f32>, %a1: tensor<f32>) -> (tensor<f32>) {
  %v1 = "stablehlo.subtract"(%a0, %a1) : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
  "func.return"(%v1) : (tensor<f32>) -> ()
}
