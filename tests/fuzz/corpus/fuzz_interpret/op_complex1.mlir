func.func public @main(%a0: tensor<4xf32>, %a1: tensor<4xf32>) -> (tensor<4xcomplex<f32>>) {
  %v1 = "stablehlo.complex"(%a0, %a1) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xcomplex<f32>>)
  "func.return"(%v1) : (tensor<4xcomplex<f32>>) -> ()
}
