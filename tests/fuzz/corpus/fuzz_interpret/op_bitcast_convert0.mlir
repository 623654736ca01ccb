func.func public @main(%a0: tensor<2x3xi2>) -> (tensor<2x3xi2>) {
  %v1 = "stablehlo.bitcast_convert"(%a0) : (tensor<2x3xi2>) -> (tensor<2x3xi2>)
  "func.return"(%v1) : (tensor<2x3xi2>) -> ()
}
