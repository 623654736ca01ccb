func.func @main(%x: tensor<4x2xf32>, %y: tensor<2x2x3xf32>) -> tensor<4x3xf32> {
  %g = stablehlo.constant dense<[1, 3]> : tensor<2xi64>
  %r = "chlo.ragged_dot"(%x, %y, %g) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>, precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>]} : (tensor<4x2xf32>, tensor<2x2x3xf32>, tensor<2xi64>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}
