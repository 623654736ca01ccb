func.func public @main(%a0: tensor<i1>) -> (tensor<i1>) {
  %v1 = "stablehlo.slice"(%a0) <{start_indices = array<i64>, limit_indices = array<i64>, strides = array<i64>}> : (tensor<i1>) -> (tensor<i1>)
  "func.return"(%v1) : (tensor<i1>) -> ()
}
