func.func public @main(%a0: tensor<13xui8>, %a1: tensor<13xui8>) -> (tensor<13xui8>) {
  %v1 = "stablehlo.and"(%a0, %a1) : (tensor<13xui8>, tensor<13xui8>) -> (tensor<13xui8>)
  "func.return"(%v1) : (tensor<13xui8>) -> ()
}
