func.func public @main(%a0: tensor<f32>, %a1: tensor<f32>) -> (tensor<complex<f32>>) {
  %v1 = "stablehlo.complex"(%a0, %a1) : (tensor<f32>, tensor<f32>) -> (tensor<complex<f32>>)
  "func.return"(%v1) : (tensor<complex<f32>>) -> ()
}
