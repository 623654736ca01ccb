func.func public @main(%a0: tensor<2x3xf64>) -> (tensor<2x3x2xui32>) {
  %v1 = "stablehlo.bitcast_convert"(%a0) : (tensor<2x3xf64>) -> (tensor<2x3x2xui32>)
  "func.return"(%v1) : (tensor<2x3x2xui32>) -> ()
}
