func.func public @main(%a0: tensor<11xf8E3M4>) -> (tensor<11xf8E3M4>) {
  %v1 = "stablehlo.round_nearest_afz"(%a0) : (tensor<11xf8E3M4>) -> (tensor<11xf8E3M4>)
  "func.return"(%v1) : (tensor<11xf8E3M4>) -> ()
}
