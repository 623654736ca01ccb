module @loop attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%n: tensor<i32> {jax.result_info = "n"}) -> (tensor<i32>, tensor<4xf32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %f = stablehlo.constant dense<0.5> : tensor<4xf32>
    %r:2 = stablehlo.while(%i = %z, %a = %f) : tensor<i32>, tensor<4xf32>
    cond {
      %l = stablehlo.constant dense<3> : tensor<i32>
      %t = stablehlo.compare LT, %i, %l : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %j = stablehlo.add %i, %c : tensor<i32>
      %b = func.call @double(%a) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %j, %b : tensor<i32>, tensor<4xf32>
    }
    return %r#0, %r#1 : tensor<i32>, tensor<4xf32>
  }
  func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %x : tensor<4xf32> loc(#loc1)
    return %0 : tensor<4xf32>
  }
}
#loc1 = loc("a.py":3:5)
