func.func public @main(%a0: tensor<13xui2>, %a1: tensor<13xui2>) -> (tensor<13xui2>) {
  %v1 = "stablehlo.xor"(%a0, %a1) : (tensor<13xui2>, tensor<13xui2>) -> (tensor<13xui2>)
  "func.return"(%v1) : (tensor<13xui2>) -> ()
}
