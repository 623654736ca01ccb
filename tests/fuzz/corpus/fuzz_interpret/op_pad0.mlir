func.func public @main(%a0: tensor<i1>, %a1: tensor<i1>) -> (tensor<i1>) {
  %v1 = "stablehlo.pad"(%a0, %a1) <{edge_padding_low = array<i64>, edge_padding_high = array<i64>, interior_padding = array<i64>}> : (tensor<i1>, tensor<i1>) -> (tensor<i1>)
  "func.return"(%v1) : (tensor<i1>) -> ()
}
