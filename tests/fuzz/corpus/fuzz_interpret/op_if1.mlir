func.func public @main(%a0: tensor<2x3xi32>, %a1: tensor<2x3xi32>, %a2: tensor<i1>) -> (tensor<2x3xi32>) {
  %v1 = "stablehlo.if"(%a2) ({
    %y0 = "stablehlo.add"(%a0, %a1) : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
    "stablehlo.return"(%y0) : (tensor<2x3xi32>) -> ()
  }, {
    %y1 = "stablehlo.subtract"(%a0, %a1) : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
    "stablehlo.return"(%y1) : (tensor<2x3xi32>) -> ()
  }) : (tensor<i1>) -> (tensor<2x3xi32>)
  "func.return"(%v1) : (tensor<2x3xi32>) -> ()
}
