func.func public @main(%a0: tensor<2x3xui4>, %a1: tensor<2x3xui4>) -> (tensor<2x3xui4>) {
  %v1 = "stablehlo.multiply"(%a0, %a1) : (tensor<2x3xui4>, tensor<2x3xui4>) -> (tensor<2x3xui4>)
  "func.return"(%v1) : (tensor<2x3xui4>) -> ()
}
