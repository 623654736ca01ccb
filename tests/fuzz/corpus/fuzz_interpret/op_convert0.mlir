func.func public @main(%a0: tensor<i4>) -> (tensor<i2>) {
  %v1 = "stablehlo.convert"(%a0) : (tensor<i4>) -> (tensor<i2>)
  "func.return"(%v1) : (tensor<i2>) -> ()
}
