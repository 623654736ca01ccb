func.func public @main(%a0: tensor<4x5xi8>) -> (tensor<2x2xi8>) {
  %v1 = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
  %v2 = stablehlo.constant dense<[4, 5]> : tensor<2xi32>
  %v3 = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %v4 = "stablehlo.real_dynamic_slice"(%a0, %v1, %v2, %v3) : (tensor<4x5xi8>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2x2xi8>)
  "func.return"(%v4) : (tensor<2x2xi8>) -> ()
}
