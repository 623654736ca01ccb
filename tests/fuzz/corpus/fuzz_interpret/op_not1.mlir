func.func public @main(%a0: tensor<0xui4>) -> (tensor<0xui4>) {
  %v1 = "stablehlo.not"(%a0) : (tensor<0xui4>) -> (tensor<0xui4>)
  "func.return"(%v1) : (tensor<0xui4>) -> ()
}
