func.func public @main(%a0: tensor<4x1x4xi8>, %a1: tensor<1x0xui64>, %a2: tensor<1x0x3xi8>) -> (tensor<4x1x4xi8>) {
  %v1 = "stablehlo.scatter"(%a0, %a1, %a2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1, 2], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%x0: tensor<i8>, %x1: tensor<i8>):
    %y = "stablehlo.subtract"(%x0, %x1) : (tensor<i8>, tensor<i8>) -> tensor<i8>
    "stablehlo.return"(%y) : (tensor<i8>) -> ()
  }) : (tensor<4x1x4xi8>, tensor<1x0xui64>, tensor<1x0x3xi8>) -> (tensor<4x1x4xi8>)
  "func.return"(%v1) : (tensor<4x1x4xi8>) -> ()
}
