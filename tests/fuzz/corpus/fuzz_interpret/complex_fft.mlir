func.func @main(%x: tensor<4xcomplex<f32>>) -> (tensor<4xf32>, tensor<4xui32>, tensor<2xui64>) {
  %0 = stablehlo.fft %x, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %1 = stablehlo.abs %0 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %k = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
  %2, %3 = stablehlo.rng_bit_generator %k, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  return %1, %3, %2 : tensor<4xf32>, tensor<4xui32>, tensor<2xui64>
}
