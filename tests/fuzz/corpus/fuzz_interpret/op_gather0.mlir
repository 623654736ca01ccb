func.func public @main(%a0: tensor<2xi2>, %a1: tensor<0xi64>) -> (tensor<i2>) {
  %v1 = "stablehlo.gather"(%a0, %a1) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [], index_vector_dim = 0>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<2xi2>, tensor<0xi64>) -> (tensor<i2>)
  "func.return"(%v1) : (tensor<i2>) -> ()
}
