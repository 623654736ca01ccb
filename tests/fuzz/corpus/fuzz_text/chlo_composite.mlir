func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>, tensor<2xi32>) {
  %0 = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>
  %1 = stablehlo.composite "my.op" %0 {composite_attributes = {n = 1 : i64}, decomposition = @impl} : (tensor<4xf32>) -> tensor<4xf32>
  %2, %3 = chlo.top_k(%1, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
  return %1, %2, %3 : tensor<4xf32>, tensor<2xf32>, tensor<2xi32>
}
func.func private @impl(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
