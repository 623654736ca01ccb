func.func public @main(%a0: tensor<0xi64>) -> (tensor<0xi64>) {
  %v1 = "stablehlo.popcnt"(%a0) : (tensor<0xi64>) -> (tensor<0xi64>)
  "func.return"(%v1) : (tensor<0xi64>) -> ()
}
