func.func @main(%x: tensor<5x2xf32>, %i: tensor<3x1xi32>) -> (tensor<5x2xf32>, tensor<2x2xf32>) {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>, indices_are_sorted = false}> : (tensor<5x2xf32>, tensor<3x1xi32>) -> tensor<3x2xf32>
  %1 = "stablehlo.scatter"(%x, %i, %0) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) : (tensor<5x2xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<5x2xf32>
  %z = stablehlo.constant dense<1> : tensor<i32>
  %2 = stablehlo.dynamic_slice %1, %z, %z, sizes = [2, 2] : (tensor<5x2xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
  return %1, %2 : tensor<5x2xf32>, tensor<2x2xf32>
}
