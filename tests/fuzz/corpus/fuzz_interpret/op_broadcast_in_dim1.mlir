func.func public @main(%a0: tensor<complex<f32>>) -> (tensor<complex<f32>>) {
  %v1 = "stablehlo.broadcast_in_dim"(%a0) <{broadcast_dimensions = array<i64>}> : (tensor<complex<f32>>) -> (tensor<complex<f32>>)
  "func.return"(%v1) : (tensor<complex<f32>>) -> ()
}
