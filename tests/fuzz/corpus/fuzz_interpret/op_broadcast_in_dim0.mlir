func.func public @main(%a0: tensor<i2>) -> (tensor<i2>) {
  %v1 = "stablehlo.broadcast_in_dim"(%a0) <{broadcast_dimensions = array<i64>}> : (tensor<i2>) -> (tensor<i2>)
  "func.return"(%v1) : (tensor<i2>) -> ()
}
