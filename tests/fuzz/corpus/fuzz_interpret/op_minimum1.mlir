func.func public @main(%a0: tensor<13xbf16>, %a1: tensor<13xbf16>) -> (tensor<13xbf16>) {
  %v1 = "stablehlo.minimum"(%a0, %a1) : (tensor<13xbf16>, tensor<13xbf16>) -> (tensor<13xbf16>)
  "func.return"(%v1) : (tensor<13xbf16>) -> ()
}
