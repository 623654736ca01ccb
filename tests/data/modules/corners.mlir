// SPDX-License-Identifier: Apache-2.0
// Corners of the semantics that were wrong once, as self-checking functions. Expected values: by hand from the
// specification, or NumPy (dequantize, compute in f64, quantize) where said.

// bitcast_convert of 4-bit types keeps the pattern, whatever its extension to a byte in memory; within a region too.
func.func @bitcast_below_a_byte() {
  %x = stablehlo.constant dense<[-8, -1, 0, 7]> : tensor<4xi4>
  %u = stablehlo.bitcast_convert %x : (tensor<4xi4>) -> tensor<4xui4>
  check.expect_eq_const %u, dense<[8, 15, 0, 7]> : tensor<4xui4>
  %w = stablehlo.convert %u : (tensor<4xui4>) -> tensor<4xi32>
  check.expect_eq_const %w, dense<[8, 15, 0, 7]> : tensor<4xi32>
  %m = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<i4>):
    %b = stablehlo.bitcast_convert %a : (tensor<i4>) -> tensor<ui4>
    %c = stablehlo.convert %b : (tensor<ui4>) -> tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) : (tensor<4xi4>) -> tensor<4xi32>
  check.expect_eq_const %m, dense<[8, 15, 0, 7]> : tensor<4xi32>
  // 1111 in f4E2M1FN is -6; back it is -1
  %f = stablehlo.bitcast_convert %x : (tensor<4xi4>) -> tensor<4xf4E2M1FN>
  %g = stablehlo.convert %f : (tensor<4xf4E2M1FN>) -> tensor<4xf32>
  check.expect_eq_const %g, dense<[-0.0, -6.0, 0.0, 6.0]> : tensor<4xf32>
  %y = stablehlo.bitcast_convert %f : (tensor<4xf4E2M1FN>) -> tensor<4xi4>
  check.expect_eq_const %y, dense<[-8, -1, 0, 7]> : tensor<4xi4>
  func.return
}

// IEEE 754's totalOrder: NaNs by their payloads, signaling ones (first mantissa bit 0) below quiet ones.
func.func @total_order_of_payloads() {
  %p = stablehlo.constant dense<[0x7F800002, 0x7FC00000, 0x7F900001, 0x7F800000, 0x7FA00000, 0x7F800001]> :
      tensor<6xui32>
  %x = stablehlo.bitcast_convert %p : (tensor<6xui32>) -> tensor<6xf32>
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<6xf32>) -> tensor<6xf32>
  %q = stablehlo.bitcast_convert %s : (tensor<6xf32>) -> tensor<6xui32>
  check.expect_eq_const %q, dense<[0x7F800000, 0x7F800001, 0x7F800002, 0x7F900001, 0x7FA00000, 0x7FC00000]> :
      tensor<6xui32>
  %h = stablehlo.constant dense<[0x7C01, 0xFC01, 0x7C01]> : tensor<3xui16>
  %k = stablehlo.constant dense<[0x7E01, 0xFE01, 0x7C01]> : tensor<3xui16>
  %hf = stablehlo.bitcast_convert %h : (tensor<3xui16>) -> tensor<3xf16>
  %kf = stablehlo.bitcast_convert %k : (tensor<3xui16>) -> tensor<3xf16>
  %lt = stablehlo.compare LT, %hf, %kf, TOTALORDER : (tensor<3xf16>, tensor<3xf16>) -> tensor<3xi1>
  check.expect_eq_const %lt, dense<[true, false, false]> : tensor<3xi1>
  %eq = stablehlo.compare EQ, %hf, %kf, TOTALORDER : (tensor<3xf16>, tensor<3xf16>) -> tensor<3xi1>
  check.expect_eq_const %eq, dense<[false, false, true]> : tensor<3xi1>
  // the NaN of FNUZ types, pattern 0x80, is a negative one: below -240 and not beside zero
  %n = stablehlo.constant dense<[0x00, 0x80, 0xFF, 0x7F]> : tensor<4xui8>
  %nf = stablehlo.bitcast_convert %n : (tensor<4xui8>) -> tensor<4xf8E4M3FNUZ>
  %ns = "stablehlo.sort"(%nf) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f8E4M3FNUZ>, %b: tensor<f8E4M3FNUZ>):
    %c = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f8E4M3FNUZ>, tensor<f8E4M3FNUZ>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4xf8E4M3FNUZ>) -> tensor<4xf8E4M3FNUZ>
  %nu = stablehlo.bitcast_convert %ns : (tensor<4xf8E4M3FNUZ>) -> tensor<4xui8>
  check.expect_eq_const %nu, dense<[0x80, 0xFF, 0x00, 0x7F]> : tensor<4xui8>
  func.return
}

// NumPy: rint(x / scale) + zero point of the dequantized values.
func.func @requantize_along_another_axis() {
  %i = stablehlo.constant dense<[[10, -20, 30, -5], [100, 5, -7, 8]]> : tensor<2x4xi8>
  %x = stablehlo.bitcast_convert %i : (tensor<2x4xi8>) -> tensor<2x4x!quant.uniform<i8:f32:1, {0.5:3, 0.25:1, 1.0,
      2.0:-3}>>
  %y = stablehlo.uniform_quantize %x : (tensor<2x4x!quant.uniform<i8:f32:1, {0.5:3, 0.25:1, 1.0, 2.0:-3}>>) ->
      tensor<2x4x!quant.uniform<i8:f32:0, {0.5:3, 2.0:-1}>>
  %o = stablehlo.bitcast_convert %y : (tensor<2x4x!quant.uniform<i8:f32:0, {0.5:3, 2.0:-1}>>) -> tensor<2x4xi8>
  check.expect_eq_const %o, dense<[[10, -8, 63, -5], [23, 0, -4, 10]]> : tensor<2x4xi8>
  func.return
}

func.func @quantized_iota() {
  %x = stablehlo.iota dim = 0 : tensor<4x!quant.uniform<i8:f32, 0.5:3>>
  %o = stablehlo.bitcast_convert %x : (tensor<4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<4xi8>
  check.expect_eq_const %o, dense<[3, 5, 7, 9]> : tensor<4xi8>
  func.return
}

// NumPy: the formulas of the specification in f64 on dequantized values, quantized.
func.func @quantized_batch_norm() {
  %i = stablehlo.constant dense<[[1, 3, 7, 9], [3, 6, 2, 5]]> : tensor<2x4xi8>
  %x = stablehlo.bitcast_convert %i : (tensor<2x4xi8>) -> tensor<2x4x!quant.uniform<i8:f32, 0.5:3>>
  %c = stablehlo.constant dense<[5, 6, 7, 8]> : tensor<4xi8>
  %s = stablehlo.bitcast_convert %c : (tensor<4xi8>) -> tensor<4x!quant.uniform<i8:f32, 0.5:3>>
  %t:3 = "stablehlo.batch_norm_training"(%x, %s, %s) <{epsilon = 0.25 : f32, feature_index = 1 : i64}> :
      (tensor<2x4x!quant.uniform<i8:f32, 0.5:3>>, tensor<4x!quant.uniform<i8:f32, 0.5:3>>,
      tensor<4x!quant.uniform<i8:f32, 0.5:3>>) -> (tensor<2x4x!quant.uniform<i8:f32, 0.5:3>>,
      tensor<4x!quant.uniform<i8:f32, 0.5:3>>, tensor<4x!quant.uniform<i8:f32, 0.5:3>>)
  %t0 = stablehlo.bitcast_convert %t#0 : (tensor<2x4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2x4xi8>
  check.expect_eq_const %t0, dense<[[4, 4, 11, 12], [6, 8, 3, 4]]> : tensor<2x4xi8>
  %t1 = stablehlo.bitcast_convert %t#1 : (tensor<4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<4xi8>
  check.expect_eq_const %t1, dense<[2, 4, 4, 7]> : tensor<4xi8>
  %t2 = stablehlo.bitcast_convert %t#2 : (tensor<4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<4xi8>
  check.expect_eq_const %t2, dense<[4, 4, 6, 5]> : tensor<4xi8>
  %g:3 = "stablehlo.batch_norm_grad"(%x, %s, %s, %s, %x) <{epsilon = 0.25 : f32, feature_index = 1 : i64}> :
      (tensor<2x4x!quant.uniform<i8:f32, 0.5:3>>, tensor<4x!quant.uniform<i8:f32, 0.5:3>>,
      tensor<4x!quant.uniform<i8:f32, 0.5:3>>, tensor<4x!quant.uniform<i8:f32, 0.5:3>>,
      tensor<2x4x!quant.uniform<i8:f32, 0.5:3>>) -> (tensor<2x4x!quant.uniform<i8:f32, 0.5:3>>,
      tensor<4x!quant.uniform<i8:f32, 0.5:3>>, tensor<4x!quant.uniform<i8:f32, 0.5:3>>)
  %g0 = stablehlo.bitcast_convert %g#0 : (tensor<2x4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2x4xi8>
  check.expect_eq_const %g0, dense<[[5, 1, 6, 6], [5, 5, 2, 0]]> : tensor<2x4xi8>
  %g1 = stablehlo.bitcast_convert %g#1 : (tensor<4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<4xi8>
  check.expect_eq_const %g1, dense<[7, 3, 5, 3]> : tensor<4xi8>
  %g2 = stablehlo.bitcast_convert %g#2 : (tensor<4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<4xi8>
  check.expect_eq_const %g2, dense<[1, 6, 6, 11]> : tensor<4xi8>
  func.return
}

// An algorithm of one component rounds the operands, to nearest even: 1 + 2^-8 is a tie in bf16 and exact in tf32,
// 1 + 2^-11 a tie in tf32; in three components both are kept.
func.func @dot_algorithms() {
  %x = stablehlo.constant dense<[[1.00390625], [1.00048828125]]> : tensor<2x1xf32>
  %y = stablehlo.constant dense<[[1.0]]> : tensor<1x1xf32>
  %bf16 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm =
      <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1,
      rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x1xf32>,
      tensor<1x1xf32>) -> tensor<2x1xf32>
  check.expect_eq_const %bf16, dense<[[1.0], [1.0]]> : tensor<2x1xf32>
  %tf32 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm =
      <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1,
      rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x1xf32>,
      tensor<1x1xf32>) -> tensor<2x1xf32>
  check.expect_eq_const %tf32, dense<[[1.00390625], [1.0]]> : tensor<2x1xf32>
  %three = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm =
      <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 3,
      rhs_component_count = 3, num_primitive_operations = 6, allow_imprecise_accumulation = false> : (tensor<2x1xf32>,
      tensor<1x1xf32>) -> tensor<2x1xf32>
  check.expect_eq_const %three, dense<[[1.00390625], [1.00048828125]]> : tensor<2x1xf32>
  func.return
}

// XLA's custom call: the largest by total order (NaN first), k from the results; the comparator is optional.
func.func @top_k_custom_call() {
  %x = stablehlo.constant dense<[[1.0, 0x7FC00000, -2.0, 7.0], [-0.0, 0.0, 3.0, -1.0]]> : tensor<2x4xf32>
  %v, %i = stablehlo.custom_call @TopK(%x) {called_computations = [@greater]} : (tensor<2x4xf32>) -> (tensor<2x3xf32>,
      tensor<2x3xi32>)
  %b = stablehlo.bitcast_convert %v : (tensor<2x3xf32>) -> tensor<2x3xui32>
  check.expect_eq_const %b, dense<[[0x7FC00000, 0x40E00000, 0x3F800000], [0x40400000, 0x00000000, 0x80000000]]> :
      tensor<2x3xui32>
  check.expect_eq_const %i, dense<[[1, 3, 0], [2, 1, 0]]> : tensor<2x3xi32>
  %w, %j = stablehlo.custom_call @TopK(%x) : (tensor<2x4xf32>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
  check.expect_eq_const %j, dense<[[1], [2]]> : tensor<2x1xi32>
  func.return
}
func.func private @greater(%a: tensor<f32>, %b: tensor<f32>) -> tensor<i1> {
  %c = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
  func.return %c : tensor<i1>
}

// The same below 32 bits: signaling NaNs stay what they are in a sort.
func.func @total_order_of_small_payloads() {
  %f16_p = stablehlo.constant dense<[0x7C01, 0x7E00, 0xFC01, 0x7C00]> : tensor<4xui16>
  %f16_x = stablehlo.bitcast_convert %f16_p : (tensor<4xui16>) -> tensor<4xf16>
  %f16_s = "stablehlo.sort"(%f16_x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f16>, %b: tensor<f16>):
    %c = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f16>, tensor<f16>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4xf16>) -> tensor<4xf16>
  %f16_q = stablehlo.bitcast_convert %f16_s : (tensor<4xf16>) -> tensor<4xui16>
  check.expect_eq_const %f16_q, dense<[0xFC01, 0x7C00, 0x7C01, 0x7E00]> : tensor<4xui16>
  %bf16_p = stablehlo.constant dense<[0x7F81, 0x7FC0, 0xFF81, 0x7F80]> : tensor<4xui16>
  %bf16_x = stablehlo.bitcast_convert %bf16_p : (tensor<4xui16>) -> tensor<4xbf16>
  %bf16_s = "stablehlo.sort"(%bf16_x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %c = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4xbf16>) -> tensor<4xbf16>
  %bf16_q = stablehlo.bitcast_convert %bf16_s : (tensor<4xbf16>) -> tensor<4xui16>
  check.expect_eq_const %bf16_q, dense<[0xFF81, 0x7F80, 0x7F81, 0x7FC0]> : tensor<4xui16>
  %f8E5M2_p = stablehlo.constant dense<[0x7D, 0x7E, 0xFD, 0x7C]> : tensor<4xui8>
  %f8E5M2_x = stablehlo.bitcast_convert %f8E5M2_p : (tensor<4xui8>) -> tensor<4xf8E5M2>
  %f8E5M2_s = "stablehlo.sort"(%f8E5M2_x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f8E5M2>, %b: tensor<f8E5M2>):
    %c = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f8E5M2>, tensor<f8E5M2>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4xf8E5M2>) -> tensor<4xf8E5M2>
  %f8E5M2_q = stablehlo.bitcast_convert %f8E5M2_s : (tensor<4xf8E5M2>) -> tensor<4xui8>
  check.expect_eq_const %f8E5M2_q, dense<[0xFD, 0x7C, 0x7D, 0x7E]> : tensor<4xui8>
  %f8E4M3_p = stablehlo.constant dense<[0x7F, 0x79, 0xF9, 0x78]> : tensor<4xui8>
  %f8E4M3_x = stablehlo.bitcast_convert %f8E4M3_p : (tensor<4xui8>) -> tensor<4xf8E4M3>
  %f8E4M3_s = "stablehlo.sort"(%f8E4M3_x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f8E4M3>, %b: tensor<f8E4M3>):
    %c = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f8E4M3>, tensor<f8E4M3>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4xf8E4M3>) -> tensor<4xf8E4M3>
  %f8E4M3_q = stablehlo.bitcast_convert %f8E4M3_s : (tensor<4xf8E4M3>) -> tensor<4xui8>
  check.expect_eq_const %f8E4M3_q, dense<[0xF9, 0x78, 0x79, 0x7F]> : tensor<4xui8>
  %f8E3M4_p = stablehlo.constant dense<[0x7F, 0x71, 0xF1, 0x70]> : tensor<4xui8>
  %f8E3M4_x = stablehlo.bitcast_convert %f8E3M4_p : (tensor<4xui8>) -> tensor<4xf8E3M4>
  %f8E3M4_s = "stablehlo.sort"(%f8E3M4_x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f8E3M4>, %b: tensor<f8E3M4>):
    %c = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f8E3M4>, tensor<f8E3M4>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4xf8E3M4>) -> tensor<4xf8E3M4>
  %f8E3M4_q = stablehlo.bitcast_convert %f8E3M4_s : (tensor<4xf8E3M4>) -> tensor<4xui8>
  check.expect_eq_const %f8E3M4_q, dense<[0xF1, 0x70, 0x71, 0x7F]> : tensor<4xui8>
  func.return
}

// mhlo.topk with largest = false: the least first by total order, the lower index first among equals.
func.func @least_k() {
  %x = stablehlo.constant dense<[[3.0, -1.0, 2.0, -1.0], [0.0, -0.0, 0xFF800000, 0x7FC00000]]> : tensor<2x4xf32>
  %v, %i = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 3 : i64, largest = false}, mhlo.version = 1 :
      i64}
    : (tensor<2x4xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
  check.expect_eq_const %v, dense<[[-1.0, -1.0, 2.0], [0xFF800000, -0.0, 0.0]]> : tensor<2x3xf32>
  check.expect_eq_const %i, dense<[[1, 3, 2], [2, 1, 0]]> : tensor<2x3xi32>
  func.return
}

// @TopK by an order of its own: the largest remainder of 10 first.
func.func private @by_remainder(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i1> {
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %p = stablehlo.remainder %a, %ten : tensor<i32>
  %q = stablehlo.remainder %b, %ten : tensor<i32>
  %r = stablehlo.compare GT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
  func.return %r : tensor<i1>
}
func.func private @less(%a: tensor<i32>, %b: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %r = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
  func.return %r : tensor<i1>
}
func.func @first_k_by_another_order() {
  %x = stablehlo.constant dense<[31, 58, 7, 28, 90]> : tensor<5xi32>
  %v, %i = stablehlo.custom_call @TopK(%x) {called_computations = [@by_remainder]} : (tensor<5xi32>) -> (tensor<3xi32>,
      tensor<3xi32>)
  check.expect_eq_const %v, dense<[58, 28, 7]> : tensor<3xi32>
  check.expect_eq_const %i, dense<[1, 3, 2]> : tensor<3xi32>
  %w, %j = stablehlo.custom_call @TopK(%x) {called_computations = [@less]} : (tensor<5xi32>) -> (tensor<2xi32>,
      tensor<2xi32>)
  check.expect_eq_const %w, dense<[7, 28]> : tensor<2xi32>
  check.expect_eq_const %j, dense<[2, 3]> : tensor<2xi32>
  func.return
}

// Quotients of more bits than f64 has exponents: by a subnormal, and of the largest by the least. NumPy's fmod.
func.func @remainder_of_long_quotients() {
  %x = stablehlo.constant dense<"0x577AAF0517B2E3BF763B7730D142EE7F2BE6708B68120000B817000000000000"> : tensor<4xf64>
  %y = stablehlo.constant dense<"0x0300000000000000909540670DAEC101B8170000000000008E00000000000000"> : tensor<4xf64>
  %a, %b = stablehlo.optimization_barrier %x, %y : tensor<4xf64>, tensor<4xf64>
  %r = stablehlo.remainder %a, %b : tensor<4xf64>
  check.expect_eq_const %r, dense<"0x0000000000000080E03F4DD5CD95B10143030000000000006C00000000000000"> : tensor<4xf64>
  func.return
}

// dot_general and convolution reduce from constant(0): a sum of products that are -0 is +0, with groups and complex
// numbers too.
func.func @sums_start_from_positive_zero() {
  %x0 = stablehlo.constant dense<0.0> : tensor<2x6xf32>
  %y0 = stablehlo.constant dense<-1.0> : tensor<3x2xf32>
  %w0 = stablehlo.constant dense<0.0> : tensor<3x2xf32>
  %x, %y, %w = stablehlo.optimization_barrier %x0, %y0, %w0 : tensor<2x6xf32>, tensor<3x2xf32>, tensor<3x2xf32>
  %h = stablehlo.slice %x [0:2, 0:3] : (tensor<2x6xf32>) -> tensor<2x3xf32>
  %d = stablehlo.dot_general %h, %y, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x2xf32>) ->
      tensor<2x2xf32>
  %db = stablehlo.bitcast_convert %d : (tensor<2x2xf32>) -> tensor<2x2xi32>
  check.expect_eq_const %db, dense<0> : tensor<2x2xi32>
  %f = stablehlo.convolution(%x, %y) dim_numbers = [b, f]x[i, o]->[b, f], window = {}
      {feature_group_count = 2 : i64, batch_group_count = 1 : i64} : (tensor<2x6xf32>, tensor<3x2xf32>) ->
          tensor<2x2xf32>
  %fb = stablehlo.bitcast_convert %f : (tensor<2x2xf32>) -> tensor<2x2xi32>
  check.expect_eq_const %fb, dense<0> : tensor<2x2xi32>
  %g = stablehlo.convolution(%h, %y) dim_numbers = [b, f]x[i, o]->[b, f], window = {}
      {feature_group_count = 1 : i64, batch_group_count = 2 : i64} : (tensor<2x3xf32>, tensor<3x2xf32>) ->
          tensor<1x2xf32>
  %gb = stablehlo.bitcast_convert %g : (tensor<1x2xf32>) -> tensor<1x2xi32>
  check.expect_eq_const %gb, dense<0> : tensor<1x2xi32>
  // (0 + 0i) (-1 + 0i) = -0 + 0i
  %cx = stablehlo.complex %x, %x : tensor<2x6xcomplex<f32>>
  %ch = stablehlo.complex %h, %h : tensor<2x3xcomplex<f32>>
  %cy = stablehlo.complex %y, %w : tensor<3x2xcomplex<f32>>
  %e = stablehlo.dot_general %ch, %cy, contracting_dims = [1] x [0]
      : (tensor<2x3xcomplex<f32>>, tensor<3x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  %c = stablehlo.convolution(%cx, %cy) dim_numbers = [b, f]x[i, o]->[b, f], window = {}
      {feature_group_count = 2 : i64, batch_group_count = 1 : i64}
      : (tensor<2x6xcomplex<f32>>, tensor<3x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  %s = stablehlo.concatenate %e, %c, dim = 0 : (tensor<2x2xcomplex<f32>>, tensor<2x2xcomplex<f32>>) ->
      tensor<4x2xcomplex<f32>>
  %re = stablehlo.real %s : (tensor<4x2xcomplex<f32>>) -> tensor<4x2xf32>
  %cb = stablehlo.bitcast_convert %re : (tensor<4x2xf32>) -> tensor<4x2xi32>
  check.expect_eq_const %cb, dense<0> : tensor<4x2xi32>
  func.return
}

// IEEE 754's divisions by and of a zero that the compiler sees.
func.func @zeros_in_divisions() {
  %x0 = stablehlo.constant dense<[1.0, -2.0, 0.0, 0x7F800000, 0xFF800000]> : tensor<5xf32>
  %x = stablehlo.optimization_barrier %x0 : tensor<5xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<5xf32>
  %q = stablehlo.divide %x, %zero : tensor<5xf32>
  %r = stablehlo.divide %zero, %x : tensor<5xf32>
  %qn = stablehlo.compare NE, %q, %q, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  %rn = stablehlo.compare NE, %r, %r, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  %qz = stablehlo.select %qn, %zero, %q : tensor<5xi1>, tensor<5xf32>
  %rz = stablehlo.select %rn, %zero, %r : tensor<5xi1>, tensor<5xf32>
  %rb = stablehlo.bitcast_convert %rz : (tensor<5xf32>) -> tensor<5xui32>
  check.expect_eq_const %qn, dense<[false, false, true, false, false]> : tensor<5xi1>
  check.expect_eq_const %rn, dense<[false, false, true, false, false]> : tensor<5xi1>
  check.expect_eq_const %qz, dense<[0x7F800000, 0xFF800000, 0.0, 0x7F800000, 0xFF800000]> : tensor<5xf32>
  check.expect_eq_const %rb, dense<[0, 0x80000000, 0, 0, 0x80000000]> : tensor<5xui32>
  func.return
}

// Integers are rounded once to bf16, which f32 on the way would not do. Expected values: ties, and their neighbours,
// rounded in exact
// integers.
func.func @integers_to_bf16() {
  %0 = stablehlo.constant dense<[376, -889, -36991, 16285697, 23265280, -23265281, 23265279, 65404929, -1396703232,
      -1396703233, 1396703231, -3816816639, 4848615424, 74356621313, -210990268416, 210990268417, 210990268415,
      510027366401, 33191507263488, -670702092943360, -1614083069575168, 1614083069575169, 1614083069575167,
      3615194232127489, -127508164449927167, -4188347653454561279, 7728176960567771136, 7728176960567771137,
      7728176960567771135, -9223372036854775808, 9223372036854775807]> : tensor<31xi64>
  %c0 = stablehlo.convert %0 : (tensor<31xi64>) -> tensor<31xbf16>
  %u0 = stablehlo.bitcast_convert %c0 : (tensor<31xbf16>) -> tensor<31xui16>
  check.expect_eq_const %u0, dense<[0x43BC, 0xC45E, 0xC710, 0x4B79, 0x4BB2, 0xCBB2, 0x4BB1, 0x4C7A, 0xCEA6, 0xCEA7,
      0x4EA6, 0xCF63, 0x4F90, 0x518B, 0xD244, 0x5245, 0x5244, 0x52EE, 0x55F2, 0xD818, 0xD8B8, 0x58B8, 0x58B7, 0x594E,
      0xDBE2, 0xDE68, 0x5ED6, 0x5ED7, 0x5ED6, 0xDF00, 0x5F00]> : tensor<31xui16>
  %1 = stablehlo.constant dense<[338, 845, 39551, 11960319, 25755648, 25755649, 25755647, 52559872, 1212153856,
      1212153857, 1212153855, 4219469823, 8438939648, 116232552448, 250718715904, 250718715905, 250718715903,
      357556027392, 27968827031553, 1031341906853888, 1227054976598016, 1227054976598017, 1227054976598015,
      2454109953196033, 119626865102028799, 3593872502641655807, 6791428238074707968, 6791428238074707969,
      6791428238074707967, 9907919180215091201, 18446744073709551615]> : tensor<31xui64>
  %c1 = stablehlo.convert %1 : (tensor<31xui64>) -> tensor<31xbf16>
  %u1 = stablehlo.bitcast_convert %c1 : (tensor<31xbf16>) -> tensor<31xui16>
  check.expect_eq_const %u1, dense<[0x43A9, 0x4453, 0x471A, 0x4B36, 0x4BC4, 0x4BC5, 0x4BC4, 0x4C48, 0x4E90, 0x4E91,
      0x4E90, 0x4F7B, 0x4FFC, 0x51D8, 0x526A, 0x526A, 0x5269, 0x52A6, 0x55CC, 0x586A, 0x588C, 0x588C, 0x588B, 0x590C,
      0x5BD4, 0x5E47, 0x5EBC, 0x5EBD, 0x5EBC, 0x5F0A, 0x5F80]> : tensor<31xui16>
  %2 = stablehlo.constant dense<[-259, 546, -51839, -9076737, 21430272, -21430273, -21430271, 59375615, 1296039936,
      1296039937, 1296039935, -2147483648, 2147483647]> : tensor<13xi32>
  %c2 = stablehlo.convert %2 : (tensor<13xi32>) -> tensor<13xbf16>
  %u2 = stablehlo.bitcast_convert %c2 : (tensor<13xbf16>) -> tensor<13xui16>
  check.expect_eq_const %u2, dense<[0xC382, 0x4408, 0xC74A, 0xCB0B, 0x4BA4, 0xCBA4, 0xCBA3, 0x4C62, 0x4E9A, 0x4E9B,
      0x4E9A, 0xCF00, 0x4F00]> : tensor<13xui16>
  %3 = stablehlo.constant dense<[476, 755, 61313, 13467647, 28114944, 28114945, 28114943, 34209793, 1749024768,
      1749024769, 1749024767, 2239758337, 4294967295]> : tensor<13xui32>
  %c3 = stablehlo.convert %3 : (tensor<13xui32>) -> tensor<13xbf16>
  %u3 = stablehlo.bitcast_convert %c3 : (tensor<13xbf16>) -> tensor<13xui16>
  check.expect_eq_const %u3, dense<[0x43EE, 0x443D, 0x4770, 0x4B4D, 0x4BD6, 0x4BD7, 0x4BD6, 0x4C03, 0x4ED0, 0x4ED1,
      0x4ED0, 0x4F06, 0x4F80]> : tensor<13xui16>
  func.return
}

// The operands of a packed product are transposed by vectors as long as the run of contracted neighbours, two here; three rows
// are no multiple of that. Values: numpy.einsum("bijm,bnji->bmn").
func.func @rows_that_are_no_multiple_of_runs() {
  %x0 = stablehlo.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<48xf32>
  %y0 = stablehlo.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0]> : tensor<36xf32>
  %x1, %y1 = stablehlo.optimization_barrier %x0, %y0 : tensor<48xf32>, tensor<36xf32>
  %x = stablehlo.reshape %x1 : (tensor<48xf32>) -> tensor<2x3x2x4xf32>
  %y = stablehlo.reshape %y1 : (tensor<36xf32>) -> tensor<2x3x2x3xf32>
  %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1, 2] x [3, 2]
      : (tensor<2x3x2x4xf32>, tensor<2x3x2x3xf32>) -> tensor<2x4x3xf32>
  check.expect_eq_const %r, dense<[[[37.0, 30.0, 28.0], [47.0, 34.0, 26.0], [29.0, 45.0, 31.0], [18.0, 28.0, 43.0]], [[33.0, 28.0, 18.0], [46.0, 42.0, 28.0], [59.0, 49.0, 24.0], [44.0, 63.0, 27.0]]]> : tensor<2x4x3xf32>
  func.return
}

// The square root of -0 is -0, its magnitude +0.
func.func @magnitude_of_a_root() {
  %x0 = stablehlo.constant dense<[-0.0, 0.0, 4.0]> : tensor<3xf32>
  %x = stablehlo.optimization_barrier %x0 : tensor<3xf32>
  %r = stablehlo.sqrt %x : tensor<3xf32>
  %a = stablehlo.abs %r : tensor<3xf32>
  %b = stablehlo.bitcast_convert %a : (tensor<3xf32>) -> tensor<3xi32>
  check.expect_eq_const %b, dense<[0, 0, 0x40000000]> : tensor<3xi32>
  func.return
}
