func.func public @main(%a0: tensor<13xi16>, %a1: tensor<13xi16>) -> (tensor<13xi16>) {
  %v1 = "stablehlo.shift_right_arithmetic"(%a0, %a1) : (tensor<13xi16>, tensor<13xi16>) -> (tensor<13xi16>)
  "func.return"(%v1) : (tensor<13xi16>) -> ()
}
