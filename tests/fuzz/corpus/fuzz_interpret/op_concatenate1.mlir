func.func public @main(%a0: tensor<4x3x1x1xi1>, %a1: tensor<4x3x1x1xi1>) -> (tensor<4x3x1x2xi1>) {
  %v1 = "stablehlo.concatenate"(%a0, %a1) <{dimension = 3 : i64}> : (tensor<4x3x1x1xi1>, tensor<4x3x1x1xi1>) -> (tensor<4x3x1x2xi1>)
  "func.return"(%v1) : (tensor<4x3x1x2xi1>) -> ()
}
