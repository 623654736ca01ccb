func.func public @main(%a0: tensor<i1>) -> (tensor<i1>) {
  %v1 = "stablehlo.reverse"(%a0) <{dimensions = array<i64>}> : (tensor<i1>) -> (tensor<i1>)
  "func.return"(%v1) : (tensor<i1>) -> ()
}
