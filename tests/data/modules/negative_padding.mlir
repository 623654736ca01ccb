// Padding that takes more away than there is: no window has a place, the result is empty. Values by the formula of the
// specification: num_windows = is_empty_window ? 0 : floor((padded - dilated window) / stride) + 1.

func.func @reduce_window() {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.optimization_barrier %x : tensor<3xf32>
  %0 = "stablehlo.reduce_window"(%y, %zero) <{window_dimensions = array<i64: 2>, padding = dense<[[-5, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<3xf32>, tensor<f32>) -> tensor<0xf32>
  %2 = stablehlo.concatenate %0, %y, dim = 0 : (tensor<0xf32>, tensor<3xf32>) -> tensor<3xf32>
  check.expect_eq_const %0, dense<> : tensor<0xf32>
  check.expect_eq_const %2, dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  return
}

// One dimension is empty, so the whole is; a sum of nothing is its initial value.
func.func @reduce_window_2d() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %y = stablehlo.optimization_barrier %x : tensor<3x2xi32>
  %0 = "stablehlo.reduce_window"(%y, %zero) <{window_dimensions = array<i64: 2, 1>,
      padding = dense<[[-2, -3], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.maximum %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<3x2xi32>, tensor<i32>) -> tensor<0x2xi32>
  %2 = stablehlo.reduce(%0 init: %four) applies stablehlo.add across dimensions = [0] : (tensor<0x2xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %2, dense<[4, 4]> : tensor<2xi32>
  return
}

// Taking away less than there is: [2, 3, 4] is left.
func.func @reduce_window_some() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %y = stablehlo.optimization_barrier %x : tensor<4xi32>
  %0 = "stablehlo.reduce_window"(%y, %zero) <{window_dimensions = array<i64: 2>, padding = dense<[[-1, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<4xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %0, dense<[5, 7]> : tensor<2xi32>
  return
}

func.func @convolution() {
  %x = stablehlo.constant dense<[[[1.0], [2.0], [3.0], [4.0]]]> : tensor<1x4x1xf32>
  %k = stablehlo.constant dense<2.0> : tensor<1x1x1xf32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %y = stablehlo.optimization_barrier %x : tensor<1x4x1xf32>
  %0 = "stablehlo.convolution"(%y, %k) <{dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>,
      padding = dense<[[-3, -3]]> : tensor<1x2xi64>, window_strides = array<i64>, feature_group_count = 1 : i64,
      batch_group_count = 1 : i64}> : (tensor<1x4x1xf32>, tensor<1x1x1xf32>) -> tensor<1x0x1xf32>
  %1 = stablehlo.reduce(%0 init: %one) applies stablehlo.add across dimensions = [1] : (tensor<1x0x1xf32>, tensor<f32>) -> tensor<1x1xf32>
  check.expect_eq_const %1, dense<1.0> : tensor<1x1xf32>
  return
}

func.func @dynamic_conv() {
  %x = stablehlo.constant dense<[[[1.0], [2.0], [3.0], [4.0]]]> : tensor<1x4x1xf32>
  %k = stablehlo.constant dense<2.0> : tensor<1x1x1xf32>
  %p = stablehlo.constant dense<[[-3, -3]]> : tensor<1x2xi64>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %y = stablehlo.optimization_barrier %x : tensor<1x4x1xf32>
  %0 = "stablehlo.dynamic_conv"(%y, %k, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>,
      feature_group_count = 1 : i64, batch_group_count = 1 : i64}>
      : (tensor<1x4x1xf32>, tensor<1x1x1xf32>, tensor<1x2xi64>) -> tensor<1x0x1xf32>
  %1 = stablehlo.reduce(%0 init: %one) applies stablehlo.add across dimensions = [1] : (tensor<1x0x1xf32>, tensor<f32>) -> tensor<1x1xf32>
  check.expect_eq_const %1, dense<1.0> : tensor<1x1xf32>
  return
}

// The padding is known at run time only.
func.func @dynamic_conv_unknown() {
  %x = stablehlo.constant dense<[[[1.0], [2.0], [3.0], [4.0]]]> : tensor<1x4x1xf32>
  %k = stablehlo.constant dense<2.0> : tensor<1x1x1xf32>
  %c = stablehlo.constant dense<[[-3, -3]]> : tensor<1x2xi64>
  %p = stablehlo.optimization_barrier %c : tensor<1x2xi64>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>,
      feature_group_count = 1 : i64, batch_group_count = 1 : i64}>
      : (tensor<1x4x1xf32>, tensor<1x1x1xf32>, tensor<1x2xi64>) -> tensor<1x?x1xf32>
  %n = stablehlo.get_dimension_size %0, dim = 1 : (tensor<1x?x1xf32>) -> tensor<i32>
  %1 = stablehlo.reduce(%0 init: %one) applies stablehlo.add across dimensions = [1] : (tensor<1x?x1xf32>, tensor<f32>) -> tensor<1x1xf32>
  check.expect_eq_const %n, dense<0> : tensor<i32>
  check.expect_eq_const %1, dense<1.0> : tensor<1x1xf32>
  return
}

// No window, so nothing is scattered: every element is the initial value.
func.func @select_and_scatter() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %s = stablehlo.constant dense<> : tensor<0xi32>
  %init = stablehlo.constant dense<7> : tensor<i32>
  %y = stablehlo.optimization_barrier %x : tensor<3xi32>
  %0 = "stablehlo.select_and_scatter"(%y, %s, %init) <{window_dimensions = array<i64: 2>, padding = dense<[[-5, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.compare GE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<3xi32>, tensor<0xi32>, tensor<i32>) -> tensor<3xi32>
  check.expect_eq_const %0, dense<[7, 7, 7]> : tensor<3xi32>
  return
}
