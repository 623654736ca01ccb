func.func public @main(%a0: tensor<9xi64>) -> (tensor<9xi64>) {
  %v1 = "stablehlo.count_leading_zeros"(%a0) : (tensor<9xi64>) -> (tensor<9xi64>)
  "func.return"(%v1) : (tensor<9xi64>) -> ()
}
