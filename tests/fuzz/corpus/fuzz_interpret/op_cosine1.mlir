func.func public @main(%a0: tensor<11xf8E4M3FN>) -> (tensor<11xf8E4M3FN>) {
  %v1 = "stablehlo.cosine"(%a0) : (tensor<11xf8E4M3FN>) -> (tensor<11xf8E4M3FN>)
  "func.return"(%v1) : (tensor<11xf8E4M3FN>) -> ()
}
