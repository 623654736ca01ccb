func.func public @main(%a0: tensor<3x4xi8>) -> (tensor<2x6xi8>) {
  %v1 = stablehlo.constant dense<[2, 6]> : tensor<2xi32>
  %v2 = "stablehlo.dynamic_reshape"(%a0, %v1) : (tensor<3x4xi8>, tensor<2xi32>) -> (tensor<2x6xi8>)
  "func.return"(%v2) : (tensor<2x6xi8>) -> ()
}
