func.func @main(%x: tensor<3x2xf32>, %s: tensor<2x2xf32>) -> tensor<3x2xf32> {
  %q:2 = stablehlo.custom_call @Qr(%x) : (tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>)
  %p = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%q#0, %q#1) : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %e:2 = stablehlo.custom_call @Eigh(%s) {backend_config = "1,1,100,1e-6"} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>)
  return %p : tensor<3x2xf32>
}
