func.func public @main(%a0: tensor<f16>, %a1: tensor<f16>) -> (tensor<f16>) {
  %v1 = "stablehlo.atan2"(%a0, %a1) : (tensor<f16>, tensor<f16>) -> (tensor<f16>)
  "func.return"(%v1) : (tensor<f16>) -> ()
}
