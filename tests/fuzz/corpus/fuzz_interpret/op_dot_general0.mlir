func.func public @main(%a0: tensor<3x17xf16>, %a1: tensor<17x4xf16>) -> (tensor<3x4xf16>) {
  %v1 = "stablehlo.dot_general"(%a0, %a1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<3x17xf16>, tensor<17x4xf16>) -> (tensor<3x4xf16>)
  "func.return"(%v1) : (tensor<3x4xf16>) -> ()
}
