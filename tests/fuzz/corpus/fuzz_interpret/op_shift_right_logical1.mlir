func.func public @main(%a0: tensor<13xi32>, %a1: tensor<13xi32>) -> (tensor<13xi32>) {
  %v1 = "stablehlo.shift_right_logical"(%a0, %a1) : (tensor<13xi32>, tensor<13xi32>) -> (tensor<13xi32>)
  "func.return"(%v1) : (tensor<13xi32>) -> ()
}
