func.func public @main(%a0: tensor<16xf6E3M2FN>) -> (tensor<16xui4>) {
  %v1 = "stablehlo.convert"(%a0) : (tensor<16xf6E3M2FN>) -> (tensor<16xui4>)
  "func.return"(%v1) : (tensor<16xui4>) -> ()
}
