func.func public @main() -> (tensor<3x4xf32>) {
  %v1 = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %v2 = "stablehlo.dynamic_iota"(%v1) <{iota_dimension = 1 : i64}> : (tensor<2xi32>) -> (tensor<3x4xf32>)
  "func.return"(%v2) : (tensor<3x4xf32>) -> ()
}
