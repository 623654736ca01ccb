func.func public @main(%a0: tensor<13xui16>, %a1: tensor<13xui16>) -> (tensor<13xui16>) {
  %v1 = "stablehlo.maximum"(%a0, %a1) : (tensor<13xui16>, tensor<13xui16>) -> (tensor<13xui16>)
  "func.return"(%v1) : (tensor<13xui16>) -> ()
}
