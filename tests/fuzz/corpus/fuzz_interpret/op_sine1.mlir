func.func public @main(%a0: tensor<1xf8E4M3FN>) -> (tensor<1xf8E4M3FN>) {
  %v1 = "stablehlo.sine"(%a0) : (tensor<1xf8E4M3FN>) -> (tensor<1xf8E4M3FN>)
  "func.return"(%v1) : (tensor<1xf8E4M3FN>) -> ()
}
