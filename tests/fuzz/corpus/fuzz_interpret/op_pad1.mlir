func.func public @main(%a0: tensor<1x1x3xi64>, %a1: tensor<i64>) -> (tensor<1x2x4xi64>) {
  %v1 = "stablehlo.pad"(%a0, %a1) <{edge_padding_low = array<i64: 0, -1, 2>, edge_padding_high = array<i64: 0, 2, -1>, interior_padding = array<i64: 0, 0, 0>}> : (tensor<1x1x3xi64>, tensor<i64>) -> (tensor<1x2x4xi64>)
  "func.return"(%v1) : (tensor<1x2x4xi64>) -> ()
}
