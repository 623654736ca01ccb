func.func public @main(%a0: tensor<11xf8E4M3>) -> (tensor<11xf8E4M3>) {
  %v1 = "stablehlo.ceil"(%a0) : (tensor<11xf8E4M3>) -> (tensor<11xf8E4M3>)
  "func.return"(%v1) : (tensor<11xf8E4M3>) -> ()
}
