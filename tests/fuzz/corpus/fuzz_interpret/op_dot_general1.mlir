func.func public @main(%a0: tensor<1xf8E4M3B11FNUZ>, %a1: tensor<1xf8E4M3B11FNUZ>) -> (tensor<1xf32>) {
  %v1 = "stablehlo.dot_general"(%a0, %a1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [], rhs_contracting_dimensions = []>}> : (tensor<1xf8E4M3B11FNUZ>, tensor<1xf8E4M3B11FNUZ>) -> (tensor<1xf32>)
  "func.return"(%v1) : (tensor<1xf32>) -> ()
}
