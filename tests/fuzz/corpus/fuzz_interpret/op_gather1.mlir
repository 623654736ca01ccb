func.func public @main(%a0: tensor<4x2x4xf8E5M2>, %a1: tensor<0x2xi32>) -> (tensor<2x3xf8E5M2>) {
  %v1 = "stablehlo.gather"(%a0, %a1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [1], start_indices_batching_dims = [1], start_index_map = [], index_vector_dim = 0>, slice_sizes = array<i64: 1, 1, 3>, indices_are_sorted = false}> : (tensor<4x2x4xf8E5M2>, tensor<0x2xi32>) -> (tensor<2x3xf8E5M2>)
  "func.return"(%v1) : (tensor<2x3xf8E5M2>) -> ()
}
