func.func public @main(%a0: tensor<i2>) -> (tensor<i2>) {
  %v1 = "stablehlo.sign"(%a0) : (tensor<i2>) -> (tensor<i2>)
  "func.return"(%v1) : (tensor<i2>) -> ()
}
