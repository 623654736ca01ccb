func.func public @main(%a0: tensor<2x0x2x2xf32>) -> (tensor<1x0x1xf32>) {
  %v1 = "stablehlo.reshape"(%a0) : (tensor<2x0x2x2xf32>) -> (tensor<1x0x1xf32>)
  "func.return"(%v1) : (tensor<1x0x1xf32>) -> ()
}
