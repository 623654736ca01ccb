func.func public @main(%a0: tensor<4xcomplex<f32>>, %a1: tensor<2xcomplex<f32>>, %a2: tensor<ui16>) -> (tensor<4xcomplex<f32>>) {
  %v1 = "stablehlo.dynamic_update_slice"(%a0, %a1, %a2) : (tensor<4xcomplex<f32>>, tensor<2xcomplex<f32>>, tensor<ui16>) -> (tensor<4xcomplex<f32>>)
  "func.return"(%v1) : (tensor<4xcomplex<f32>>) -> ()
}
