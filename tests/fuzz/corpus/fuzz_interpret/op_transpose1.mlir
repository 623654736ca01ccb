func.func public @main(%a0: tensor<2x4x2xui2>) -> (tensor<2x4x2xui2>) {
  %v1 = "stablehlo.transpose"(%a0) <{permutation = array<i64: 2, 1, 0>}> : (tensor<2x4x2xui2>) -> (tensor<2x4x2xui2>)
  "func.return"(%v1) : (tensor<2x4x2xui2>) -> ()
}
