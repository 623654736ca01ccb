#map = affine_map<(d0) -> (d0)>
module {
  func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %cst = arith.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
    %0 = stablehlo.add %arg0, %cst : tensor<2xf32>
    %1 = chlo.erf %0 : tensor<2xf32> -> tensor<2xf32>
    %2 = "foo.bar"(%1) {x = 1 : i32} : (tensor<2xf32>) -> tensor<2xf32>
    %3 = stablehlo.add %2, %1 {foo.y = #map, foo.z} : tensor<2xf32>
    return %3 : tensor<2xf32>
  }
}
