func.func public @main(%a0: tensor<9xui8>, %a1: tensor<9xui8>, %a2: tensor<9xui8>) -> (tensor<9xui8>) {
  %v1 = "stablehlo.clamp"(%a0, %a1, %a2) : (tensor<9xui8>, tensor<9xui8>, tensor<9xui8>) -> (tensor<9xui8>)
  "func.return"(%v1) : (tensor<9xui8>) -> ()
}
