func.func public @main(%a0: tensor<ui4>, %a1: tensor<ui4>) -> (tensor<ui4>) {
  %v1 = "stablehlo.divide"(%a0, %a1) : (tensor<ui4>, tensor<ui4>) -> (tensor<ui4>)
  "func.return"(%v1) : (tensor<ui4>) -> ()
}
