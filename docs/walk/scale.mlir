module @scale {
  func.func @main(%x: tensor<64x100xf32>, %w: tensor<100xf32>, %b: tensor<100xf32>) -> tensor<64x100xf32> {
    %0 = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<100xf32>) -> tensor<64x100xf32>
    %1 = stablehlo.multiply %x, %0 : tensor<64x100xf32>
    %2 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<100xf32>) -> tensor<64x100xf32>
    %3 = stablehlo.add %1, %2 : tensor<64x100xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<64x100xf32>
    %5 = stablehlo.maximum %3, %4 : tensor<64x100xf32>
    return %5 : tensor<64x100xf32>
  }
}
