func.func public @main(%a0: tensor<2x4x2x3xi8>, %a1: tensor<3x2x2x2xi8>) -> (tensor<2x2x2x4xi8>) {
  %v1 = "stablehlo.convolution"(%a0, %a1) <{window_strides = array<i64: 2, 2>, padding = dense<[[2, 1], [1, 2]]> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 2>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: true, false>, dimension_numbers = #stablehlo.conv<[0, b, f, 1]x[0, i, o, 1]->[0, f, b, 1]>, feature_group_count = 1 : i64, batch_group_count = 2 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x4x2x3xi8>, tensor<3x2x2x2xi8>) -> (tensor<2x2x2x4xi8>)
  "func.return"(%v1) : (tensor<2x2x2x4xi8>) -> ()
}
