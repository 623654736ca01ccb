func.func public @main(%a0: tensor<13xui32>, %a1: tensor<13xui32>) -> (tensor<13xui32>) {
  %v1 = "stablehlo.remainder"(%a0, %a1) : (tensor<13xui32>, tensor<13xui32>) -> (tensor<13xui32>)
  "func.return"(%v1) : (tensor<13xui32>) -> ()
}
