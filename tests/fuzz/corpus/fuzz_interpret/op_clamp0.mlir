func.func public @main(%a0: tensor<i2>, %a1: tensor<9xi2>, %a2: tensor<i2>) -> (tensor<9xi2>) {
  %v1 = "stablehlo.clamp"(%a0, %a1, %a2) : (tensor<i2>, tensor<9xi2>, tensor<i2>) -> (tensor<9xi2>)
  "func.return"(%v1) : (tensor<9xi2>) -> ()
}
