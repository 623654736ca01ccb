func.func public @main(%a0: tensor<0x0x2xi1>) -> (tensor<0x0x0xi1>) {
  %v1 = "stablehlo.slice"(%a0) <{start_indices = array<i64: 0, 0, 2>, limit_indices = array<i64: 0, 0, 2>, strides = array<i64: 2, 1, 2>}> : (tensor<0x0x2xi1>) -> (tensor<0x0x0xi1>)
  "func.return"(%v1) : (tensor<0x0x0xi1>) -> ()
}
