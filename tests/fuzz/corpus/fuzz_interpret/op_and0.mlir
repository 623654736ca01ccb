func.func public @main(%a0: tensor<i4>, %a1: tensor<i4>) -> (tensor<i4>) {
  %v1 = "stablehlo.and"(%a0, %a1) : (tensor<i4>, tensor<i4>) -> (tensor<i4>)
  "func.return"(%v1) : (tensor<i4>) -> ()
}
