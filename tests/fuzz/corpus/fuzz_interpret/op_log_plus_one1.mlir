func.func public @main(%a0: tensor<11xf8E5M2>) -> (tensor<11xf8E5M2>) {
  %v1 = "stablehlo.log_plus_one"(%a0) : (tensor<11xf8E5M2>) -> (tensor<11xf8E5M2>)
  "func.return"(%v1) : (tensor<11xf8E5M2>) -> ()
}
