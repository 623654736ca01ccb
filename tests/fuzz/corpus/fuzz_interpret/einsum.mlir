func.func @main(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %r = "stablehlo.einsum"(%x, %y) {einsum_config = "ab,bc->ac"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %u = "stablehlo.unary_einsum"(%r) {einsum_config = "ab->a"} : (tensor<2x4xf32>) -> tensor<2xf32>
  return %r : tensor<2x4xf32>
}
