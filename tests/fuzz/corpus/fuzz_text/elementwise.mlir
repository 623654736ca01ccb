func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xi1> {
  %0 = stablehlo.add %x, %y : tensor<2x3xf32>
  %1 = stablehlo.tanh %0 : tensor<2x3xf32>
  %2 = stablehlo.constant dense<[[1.0, -2.5, 0x7F800000], [0.0, 1.0e-40, 3.0e+2]]> : tensor<2x3xf32>
  %3 = stablehlo.compare LT, %1, %2, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  return %3 : tensor<2x3xi1>
}
