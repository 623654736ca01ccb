func.func public @main(%a0: tensor<4x1xi8>, %a1: tensor<4x1xi8>) -> (tensor<4x2xi8>) {
  %v1 = "stablehlo.convolution"(%a0, %a1) <{window_strides = array<i64>, padding = dense<> : tensor<0x2xi64>, lhs_dilation = array<i64>, rhs_dilation = array<i64>, window_reversal = array<i1>, dimension_numbers = #stablehlo.conv<[b, f]x[o, i]->[f, b]>, feature_group_count = 1 : i64, batch_group_count = 2 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x1xi8>, tensor<4x1xi8>) -> (tensor<4x2xi8>)
  "func.return"(%v1) : (tensor<4x2xi8>) -> ()
}
