func.func public @main(%a0: tensor<12xf32>) -> (tensor<12xf32>) {
  %v1 = "stablehlo.reduce_precision"(%a0) <{exponent_bits = 6 : i32, mantissa_bits = 3 : i32}> : (tensor<12xf32>) -> (tensor<12xf32>)
  "func.return"(%v1) : (tensor<12xf32>) -> ()
}
