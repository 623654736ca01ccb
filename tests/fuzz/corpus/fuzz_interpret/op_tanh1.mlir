func.func public @main(%a0: tensor<3x0x2xbf16>) -> (tensor<3x0x2xbf16>) {
  %v1 = "stablehlo.tanh"(%a0) : (tensor<3x0x2xbf16>) -> (tensor<3x0x2xbf16>)
  "func.return"(%v1) : (tensor<3x0x2xbf16>) -> ()
}
