func.func public @main(%a0: tensor<1x4x1xbf16>, %a1: tensor<1x4x1xbf16>) -> (tensor<1x4x1xbf16>) {
  %v1 = "stablehlo.atan2"(%a0, %a1) : (tensor<1x4x1xbf16>, tensor<1x4x1xbf16>) -> (tensor<1x4x1xbf16>)
  "func.return"(%v1) : (tensor<1x4x1xbf16>) -> ()
}
