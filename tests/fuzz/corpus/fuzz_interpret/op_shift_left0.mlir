func.func public @main(%a0: tensor<i8>, %a1: tensor<i8>) -> (tensor<i8>) {
  %v1 = "stablehlo.shift_left"(%a0, %a1) : (tensor<i8>, tensor<i8>) -> (tensor<i8>)
  "func.return"(%v1) : (tensor<i8>) -> ()
}
