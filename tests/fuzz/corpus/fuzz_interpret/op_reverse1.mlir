func.func public @main(%a0: tensor<4xf8E4M3FN>) -> (tensor<4xf8E4M3FN>) {
  %v1 = "stablehlo.reverse"(%a0) <{dimensions = array<i64>}> : (tensor<4xf8E4M3FN>) -> (tensor<4xf8E4M3FN>)
  "func.return"(%v1) : (tensor<4xf8E4M3FN>) -> ()
}
