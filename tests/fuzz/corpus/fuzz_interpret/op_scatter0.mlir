func.func public @main(%a0: tensor<2xui8>, %a1: tensor<i64>, %a2: tensor<ui8>) -> (tensor<2xui8>) {
  %v1 = "stablehlo.scatter"(%a0, %a1, %a2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 0>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%x0: tensor<ui8>, %x1: tensor<ui8>):

    "stablehlo.return"(%x1) : (tensor<ui8>) -> ()
  }) : (tensor<2xui8>, tensor<i64>, tensor<ui8>) -> (tensor<2xui8>)
  "func.return"(%v1) : (tensor<2xui8>) -> ()
}
