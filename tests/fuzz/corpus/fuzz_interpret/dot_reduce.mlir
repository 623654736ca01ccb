func.func @main(%x: tensor<2x3xbf16>, %y: tensor<3x2xbf16>) -> (tensor<2xf32>, tensor<2xi32>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x3xbf16>, tensor<3x2xbf16>) -> tensor<2x2xf32>
  %i = stablehlo.constant dense<0.0> : tensor<f32>
  %k = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.iota dim = 1 : tensor<2x2xi32>
  %1:2 = stablehlo.reduce(%0 init: %i), (%n init: %k) across dimensions = [1] : (tensor<2x2xf32>, tensor<2x2xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%p: tensor<i32>, %q: tensor<i32>) {
      %m = stablehlo.maximum %a, %b : tensor<f32>
      %s = stablehlo.add %p, %q : tensor<i32>
      stablehlo.return %m, %s : tensor<f32>, tensor<i32>
    }
  return %1#0, %1#1 : tensor<2xf32>, tensor<2xi32>
}
