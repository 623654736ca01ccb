func.func public @main(%a0: tensor<3x0x2xi4>) -> (tensor<3x0x2xi4>) {
  %v1 = "stablehlo.abs"(%a0) : (tensor<3x0x2xi4>) -> (tensor<3x0x2xi4>)
  "func.return"(%v1) : (tensor<3x0x2xi4>) -> ()
}
