func.func public @main(%a0: tensor<11xbf16>) -> (tensor<11xbf16>) {
  %v1 = "stablehlo.negate"(%a0) : (tensor<11xbf16>) -> (tensor<11xbf16>)
  "func.return"(%v1) : (tensor<11xbf16>) -> ()
}
