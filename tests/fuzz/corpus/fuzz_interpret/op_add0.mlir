func.func public @main(%a0: tensor<i2>, %a1: tensor<i2>) -> (tensor<i2>) {
  %v1 = "stablehlo.add"(%a0, %a1) : (tensor<i2>, tensor<i2>) -> (tensor<i2>)
  "func.return"(%v1) : (tensor<i2>) -> ()
}
