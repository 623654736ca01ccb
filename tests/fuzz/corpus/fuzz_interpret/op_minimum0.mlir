func.func public @main(%a0: tensor<i16>, %a1: tensor<i16>) -> (tensor<i16>) {
  %v1 = "stablehlo.minimum"(%a0, %a1) : (tensor<i16>, tensor<i16>) -> (tensor<i16>)
  "func.return"(%v1) : (tensor<i16>) -> ()
}
