func.func @main(%x: tensor<3x3xf64>, %y: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = stablehlo.cholesky %x, lower = true : tensor<3x3xf64>
  %1 = "stablehlo.triangular_solve"(%0, %y) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  %z = stablehlo.constant dense<0.5> : tensor<2xf64>
  %2 = "stablehlo.batch_norm_inference"(%1, %z, %z, %z, %z) <{epsilon = 1.0e-05 : f32, feature_index = 1 : i64}> : (tensor<3x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<3x2xf64>
  return %2 : tensor<3x2xf64>
}
