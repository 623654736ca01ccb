func.func public @main(%a0: tensor<13xui64>, %a1: tensor<13xui64>) -> (tensor<13xui64>) {
  %v1 = "stablehlo.add"(%a0, %a1) : (tensor<13xui64>, tensor<13xui64>) -> (tensor<13xui64>)
  "func.return"(%v1) : (tensor<13xui64>) -> ()
}
