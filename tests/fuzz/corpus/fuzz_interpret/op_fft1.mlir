func.func public @main(%a0: tensor<3x1xcomplex<f32>>) -> (tensor<3x1xcomplex<f32>>) {
  %v1 = "stablehlo.fft"(%a0) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 1>}> : (tensor<3x1xcomplex<f32>>) -> (tensor<3x1xcomplex<f32>>)
  "func.return"(%v1) : (tensor<3x1xcomplex<f32>>) -> ()
}
