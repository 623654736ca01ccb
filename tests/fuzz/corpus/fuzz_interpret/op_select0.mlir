func.func public @main(%a0: tensor<i1>, %a1: tensor<i8>, %a2: tensor<i8>) -> (tensor<i8>) {
  %v1 = "stablehlo.select"(%a0, %a1, %a2) : (tensor<i1>, tensor<i8>, tensor<i8>) -> (tensor<i8>)
  "func.return"(%v1) : (tensor<i8>) -> ()
}
