func.func public @main(%a0: tensor<3xui64>) -> (tensor<3xui64>, tensor<i32>) {
  %v1:2 = "stablehlo.rng_bit_generator"(%a0) <{rng_algorithm = #stablehlo<rng_algorithm PHILOX>}> : (tensor<3xui64>) -> (tensor<3xui64>, tensor<i32>)
  "func.return"(%v1#0, %v1#1) : (tensor<3xui64>, tensor<i32>) -> ()
}
