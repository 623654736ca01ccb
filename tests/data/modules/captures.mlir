// Regions that use values of the function around them. Values worked out by hand; the reducers are idempotent and
// associative, so that any order of reduction gives them.

func.func @reduce() {
  %x = stablehlo.constant dense<[1, 7, 3, 4]> : tensor<4xi32>
  %c = stablehlo.constant dense<5> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %y = stablehlo.optimization_barrier %c : tensor<i32>
  %0 = stablehlo.reduce(%x init: %zero) across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
   reducer(%a: tensor<i32>, %b: tensor<i32>) {
    %1 = stablehlo.minimum %a, %y : tensor<i32>
    %2 = stablehlo.minimum %b, %y : tensor<i32>
    %3 = stablehlo.maximum %1, %2 : tensor<i32>
    stablehlo.return %3 : tensor<i32>
  }
  check.expect_eq_const %0, dense<5> : tensor<i32>
  return
}

// Two inputs of other types, a dimension that stays, a captured scalar of a third type.
func.func @reduce_pair() {
  %x = stablehlo.constant dense<[[1, 7, 3], [9, 2, 8]]> : tensor<2x3xi32>
  %f = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %fzero = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.constant dense<true> : tensor<i1>
  %larger = stablehlo.optimization_barrier %t : tensor<i1>
  %0:2 = "stablehlo.reduce"(%x, %f, %zero, %fzero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<i32>, %g: tensor<f32>, %b: tensor<i32>, %h: tensor<f32>):
    %1 = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %2 = stablehlo.compare EQ, %1, %larger : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %3 = stablehlo.select %2, %a, %b : tensor<i1>, tensor<i32>
    %4 = stablehlo.select %2, %g, %h : tensor<i1>, tensor<f32>
    stablehlo.return %3, %4 : tensor<i32>, tensor<f32>
  }) : (tensor<2x3xi32>, tensor<2x3xf32>, tensor<i32>, tensor<f32>) -> (tensor<2xi32>, tensor<2xf32>)
  check.expect_eq_const %0#0, dense<[7, 9]> : tensor<2xi32>
  check.expect_eq_const %0#1, dense<[2.0, 4.0]> : tensor<2xf32>
  return
}

func.func @reduce_window() {
  %x = stablehlo.constant dense<[1, 7, 3, 4]> : tensor<4xi32>
  %c = stablehlo.constant dense<5> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %y = stablehlo.optimization_barrier %c : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.maximum %a, %b : tensor<i32>
    %2 = stablehlo.minimum %1, %y : tensor<i32>
    stablehlo.return %2 : tensor<i32>
  }) : (tensor<4xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %0, dense<[5, 4]> : tensor<2xi32>
  return
}

func.func @sort() {
  %x = stablehlo.constant dense<[3, 1, 2]> : tensor<3xi32>
  %t = stablehlo.constant dense<true> : tensor<i1>
  %down = stablehlo.optimization_barrier %t : tensor<i1>
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %2 = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = stablehlo.select %down, %1, %2 : tensor<i1>, tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }) : (tensor<3xi32>) -> tensor<3xi32>
  check.expect_eq_const %0, dense<[3, 2, 1]> : tensor<3xi32>
  return
}

// A captured tensor, of which the region takes one element, and a captured scalar.
func.func @map() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %t = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi32>
  %c = stablehlo.constant dense<100> : tensor<i32>
  %y = stablehlo.optimization_barrier %c : tensor<i32>
  %u = stablehlo.optimization_barrier %t : tensor<3xi32>
  %0 = "stablehlo.map"(%x) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<i32>):
    %1 = stablehlo.slice %u [1:2] : (tensor<3xi32>) -> tensor<1xi32>
    %2 = stablehlo.reshape %1 : (tensor<1xi32>) -> tensor<i32>
    %3 = stablehlo.add %a, %2 : tensor<i32>
    %4 = stablehlo.add %3, %y : tensor<i32>
    stablehlo.return %4 : tensor<i32>
  }) : (tensor<2x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %0, dense<[[121, 122], [123, 124]]> : tensor<2x2xi32>
  return
}

func.func @scatter() {
  %x = stablehlo.constant dense<[1, 1, 1]> : tensor<3xi32>
  %i = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi32>
  %u = stablehlo.constant dense<[9, 8]> : tensor<2xi32>
  %c = stablehlo.constant dense<2> : tensor<i32>
  %y = stablehlo.optimization_barrier %c : tensor<i32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.multiply %b, %y : tensor<i32>
    %2 = stablehlo.add %a, %1 : tensor<i32>
    stablehlo.return %2 : tensor<i32>
  }) : (tensor<3xi32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<3xi32>
  check.expect_eq_const %0, dense<[17, 1, 19]> : tensor<3xi32>
  return
}

// In a loop: the captured value is the loop's own, and another one of the function's, through two regions.
func.func @loop() {
  %x = stablehlo.constant dense<[1, 7, 3, 4]> : tensor<4xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %c = stablehlo.constant dense<10> : tensor<i32>
  %y = stablehlo.optimization_barrier %c : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<4xi32>
  cond {
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = "stablehlo.map"(%s) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<i32>):
      %3 = stablehlo.multiply %i, %y : tensor<i32>
      %4 = stablehlo.add %a, %3 : tensor<i32>
      stablehlo.return %4 : tensor<i32>
    }) : (tensor<4xi32>) -> tensor<4xi32>
    %2 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %2, %1 : tensor<i32>, tensor<4xi32>
  }
  check.expect_eq_const %0#1, dense<[31, 37, 33, 34]> : tensor<4xi32>
  return
}

// A buffer holds what was put into it.
func.func @buffers() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = stablehlo.optimization_barrier %x : tensor<2xf32>
  %1 = stablehlo.custom_call @Pin(%0) {api_version = 4 : i32} : (tensor<2xf32>) -> memref<2xf32>
  %2 = stablehlo.custom_call @Unpin(%1) {api_version = 4 : i32} : (memref<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %2, dense<[1.0, 2.0]> : tensor<2xf32>
  return
}

// The smaller one of each window, as a captured flag says; twice the source is added there. Padding takes no part.
func.func @select_and_scatter() {
  %x = stablehlo.constant dense<[3, 1, 2, 4]> : tensor<4xi32>
  %s = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi32>
  %init = stablehlo.constant dense<5> : tensor<i32>
  %t = stablehlo.constant dense<true> : tensor<i1>
  %c = stablehlo.constant dense<2> : tensor<i32>
  %smaller = stablehlo.optimization_barrier %t : tensor<i1>
  %y = stablehlo.optimization_barrier %c : tensor<i32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %init) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>,
      padding = dense<[[1, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.compare GE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %2 = stablehlo.xor %1, %smaller : tensor<i1>
    stablehlo.return %2 : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.multiply %b, %y : tensor<i32>
    %2 = stablehlo.add %a, %1 : tensor<i32>
    stablehlo.return %2 : tensor<i32>
  }) : (tensor<4xi32>, tensor<3xi32>, tensor<i32>) -> tensor<4xi32>
  check.expect_eq_const %0, dense<[25, 45, 5, 65]> : tensor<4xi32>
  return
}

// Windows overlap, the first one is all padding, and only the second region captures.
func.func @select_and_scatter_overlapping() {
  %x = stablehlo.constant dense<[[3.0, 1.0, 2.0, 4.0]]> : tensor<1x4xf32>
  %s = stablehlo.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0]]> : tensor<1x5xf32>
  %init = stablehlo.constant dense<0.5> : tensor<f32>
  %c = stablehlo.constant dense<10.0> : tensor<f32>
  %y = stablehlo.optimization_barrier %c : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %init) <{window_dimensions = array<i64: 1, 2>,
      window_strides = array<i64: 1, 1>, padding = dense<[[0, 0], [2, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.multiply %b, %y : tensor<f32>
    %2 = stablehlo.add %a, %1 : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<1x4xf32>, tensor<1x5xf32>, tensor<f32>) -> tensor<1x4xf32>
  // windows: none, {3}, {3, 1}, {1, 2}, {2, 4}
  check.expect_eq_const %0, dense<[[50.5, 0.5, 40.5, 50.5]]> : tensor<1x4xf32>
  return
}

// Captured quantized scalars: storage 3 stands for 1.5.
func.func @quantized() {
  %x = stablehlo.constant dense<[1.0, 2.0, -3.0]> : tensor<3xf32>
  %c = stablehlo.constant dense<1.5> : tensor<f32>
  %z = stablehlo.constant dense<-4.0> : tensor<f32>
  %q = stablehlo.uniform_quantize %x : (tensor<3xf32>) -> tensor<3x!quant.uniform<i8:f32, 5.0E-1>>
  %y = stablehlo.uniform_quantize %c : (tensor<f32>) -> tensor<!quant.uniform<i8:f32, 5.0E-1>>
  %low = stablehlo.uniform_quantize %z : (tensor<f32>) -> tensor<!quant.uniform<i8:f32, 5.0E-1>>
  %0 = "stablehlo.map"(%q) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<!quant.uniform<i8:f32, 5.0E-1>>):
    %3 = stablehlo.add %a, %y : tensor<!quant.uniform<i8:f32, 5.0E-1>>
    stablehlo.return %3 : tensor<!quant.uniform<i8:f32, 5.0E-1>>
  }) : (tensor<3x!quant.uniform<i8:f32, 5.0E-1>>) -> tensor<3x!quant.uniform<i8:f32, 5.0E-1>>
  %1 = stablehlo.uniform_dequantize %0 : (tensor<3x!quant.uniform<i8:f32, 5.0E-1>>) -> tensor<3xf32>
  check.expect_eq_const %1, dense<[2.5, 3.5, -1.5]> : tensor<3xf32>
  %2 = "stablehlo.reduce"(%q, %low) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<!quant.uniform<i8:f32, 5.0E-1>>, %b: tensor<!quant.uniform<i8:f32, 5.0E-1>>):
    %3 = stablehlo.minimum %b, %y : tensor<!quant.uniform<i8:f32, 5.0E-1>>
    %4 = stablehlo.maximum %a, %3 : tensor<!quant.uniform<i8:f32, 5.0E-1>>
    stablehlo.return %4 : tensor<!quant.uniform<i8:f32, 5.0E-1>>
  }) : (tensor<3x!quant.uniform<i8:f32, 5.0E-1>>, tensor<!quant.uniform<i8:f32, 5.0E-1>>) -> tensor<!quant.uniform<i8:f32, 5.0E-1>>
  %5 = stablehlo.uniform_dequantize %2 : (tensor<!quant.uniform<i8:f32, 5.0E-1>>) -> tensor<f32>
  check.expect_eq_const %5, dense<1.5> : tensor<f32>
  return
}
