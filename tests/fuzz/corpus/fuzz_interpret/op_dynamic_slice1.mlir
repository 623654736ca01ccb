func.func public @main(%a0: tensor<1x1xui64>, %a1: tensor<i64>, %a2: tensor<i64>) -> (tensor<0x1xui64>) {
  %v1 = "stablehlo.dynamic_slice"(%a0, %a1, %a2) <{slice_sizes = array<i64: 0, 1>}> : (tensor<1x1xui64>, tensor<i64>, tensor<i64>) -> (tensor<0x1xui64>)
  "func.return"(%v1) : (tensor<0x1xui64>) -> ()
}
