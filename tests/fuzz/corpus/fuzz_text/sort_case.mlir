func.func @main(%x: tensor<6xf32>, %b: tensor<i32>) -> (tensor<6xf32>, tensor<f64>) {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %c = stablehlo.compare LT, %p, %q, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
  }) : (tensor<6xf32>) -> tensor<6xf32>
  %1 = "stablehlo.case"(%b) ({
    %u = stablehlo.constant dense<1.0> : tensor<f64>
    stablehlo.return %u : tensor<f64>
  }, {
    %v = stablehlo.constant dense<2.0> : tensor<f64>
    stablehlo.return %v : tensor<f64>
  }) : (tensor<i32>) -> tensor<f64>
  return %0, %1 : tensor<6xf32>, tensor<f64>
}
