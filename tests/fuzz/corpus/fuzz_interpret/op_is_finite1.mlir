func.func public @main(%a0: tensor<13xf8E3M4>) -> (tensor<13xi1>) {
  %v1 = "stablehlo.is_finite"(%a0) : (tensor<13xf8E3M4>) -> (tensor<13xi1>)
  "func.return"(%v1) : (tensor<13xi1>) -> ()
}
