func.func public @main(%a0: tensor<3x0x2xf32>) -> (tensor<i32>) {
  %v1 = "stablehlo.get_dimension_size"(%a0) <{dimension = 0 : i64}> : (tensor<3x0x2xf32>) -> (tensor<i32>)
  "func.return"(%v1) : (tensor<i32>) -> ()
}
