func.func public @main(%a0: tensor<1xf32>) -> (tensor<1xf32>) {
  %v1 = "stablehlo.sqrt"(%a0) : (tensor<1xf32>) -> (tensor<1xf32>)
  "func.return"(%v1) : (tensor<1xf32>) -> ()
}
