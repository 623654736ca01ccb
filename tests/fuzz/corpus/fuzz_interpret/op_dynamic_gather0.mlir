func.func public @main(%a0: tensor<4x5xi8>, %a1: tensor<2x1xi32>) -> (tensor<2x3xi8>) {
  %v1 = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
  %v2 = "stablehlo.dynamic_gather"(%a0, %a1, %v1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<4x5xi8>, tensor<2x1xi32>, tensor<2xi32>) -> (tensor<2x3xi8>)
  "func.return"(%v2) : (tensor<2x3xi8>) -> ()
}
