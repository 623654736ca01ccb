func.func public @main(%a0: tensor<12xf8E3M4>) -> (tensor<12xf8E3M4>) {
  %v1 = "stablehlo.reduce_precision"(%a0) <{exponent_bits = 7 : i32, mantissa_bits = 3 : i32}> : (tensor<12xf8E3M4>) -> (tensor<12xf8E3M4>)
  "func.return"(%v1) : (tensor<12xf8E3M4>) -> ()
}
