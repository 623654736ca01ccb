func.func public @main(%a0: tensor<2x3x3xf32>, %a1: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>) {
  %v1 = "stablehlo.triangular_solve"(%a0, %a1) <{left_side = true, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose ADJOINT>}> : (tensor<2x3x3xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>)
  "func.return"(%v1) : (tensor<2x3x4xf32>) -> ()
}
