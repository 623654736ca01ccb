// SPDX-License-Identifier: Apache-2.0
// The statements of docs/numerics.md, one by one, as self-checking functions for the interpreter. The comment in front
// of each names
// the section and the statement; expected values are worked out by hand from it, or come from mpmath where said, as
// bits. (Random123:
// kat_vectors of Salmon et al.)

// Storage: every result is wrapped back to its width
func.func @wrap_4() {
  %a = stablehlo.constant dense<[7, -8, 5]> : tensor<3xi4>
  %b = stablehlo.constant dense<[1, -1, 5]> : tensor<3xi4>
  %r = stablehlo.add %a, %b : tensor<3xi4>
  check.expect_eq_const %r, dense<[-8, 7, -6]> : tensor<3xi4>
  func.return
}

// Storage: every result is wrapped back to its width
func.func @wrap_u2() {
  %a = stablehlo.constant dense<[3, 2, 3]> : tensor<3xui2>
  %b = stablehlo.constant dense<[3, 2, 2]> : tensor<3xui2>
  %r = stablehlo.multiply %a, %b : tensor<3xui2>
  check.expect_eq_const %r, dense<[1, 0, 2]> : tensor<3xui2>
  func.return
}

// Integers: add wraps modulo 2^bits
func.func @add_wraps() {
  %a = stablehlo.constant dense<[127, -128, 100]> : tensor<3xi8>
  %b = stablehlo.constant dense<[1, -1, 100]> : tensor<3xi8>
  %r = stablehlo.add %a, %b : tensor<3xi8>
  check.expect_eq_const %r, dense<[-128, 127, -56]> : tensor<3xi8>
  func.return
}

// Integers: subtract wraps modulo 2^bits
func.func @subtract_wraps() {
  %a = stablehlo.constant dense<[0, 5]> : tensor<2xui16>
  %b = stablehlo.constant dense<[1, 7]> : tensor<2xui16>
  %r = stablehlo.subtract %a, %b : tensor<2xui16>
  check.expect_eq_const %r, dense<[65535, 65534]> : tensor<2xui16>
  func.return
}

// Integers: multiply wraps modulo 2^bits
func.func @multiply_wraps() {
  %a = stablehlo.constant dense<[4611686018427387904, 3037000500]> : tensor<2xi64>
  %b = stablehlo.constant dense<[2, 3037000500]> : tensor<2xi64>
  %r = stablehlo.multiply %a, %b : tensor<2xi64>
  check.expect_eq_const %r, dense<[-9223372036854775808, -9223372036709301616]> : tensor<2xi64>
  func.return
}

// Integers: abs(MIN) = MIN
func.func @abs_of_least() {
  %a = stablehlo.constant dense<[-128, -127]> : tensor<2xi8>
  %r = stablehlo.abs %a : tensor<2xi8>
  check.expect_eq_const %r, dense<[-128, 127]> : tensor<2xi8>
  func.return
}

// Integers: negate wraps
func.func @negate_wraps() {
  %a = stablehlo.constant dense<[-2147483648, 5]> : tensor<2xi32>
  %r = stablehlo.negate %a : tensor<2xi32>
  check.expect_eq_const %r, dense<[-2147483648, -5]> : tensor<2xi32>
  func.return
}

// Integers: divide truncates; x / 0 = -1; MIN / -1 = MIN
func.func @divide_truncates() {
  %a = stablehlo.constant dense<[7, -7, 7, -7, 5, -2147483648]> : tensor<6xi32>
  %b = stablehlo.constant dense<[2, 2, -2, -2, 0, -1]> : tensor<6xi32>
  %r = stablehlo.divide %a, %b : tensor<6xi32>
  check.expect_eq_const %r, dense<[3, -3, -3, 3, -1, -2147483648]> : tensor<6xi32>
  func.return
}

// Integers: x / 0 = the largest unsigned
func.func @divide_unsigned() {
  %a = stablehlo.constant dense<[200, 7, 0]> : tensor<3xui8>
  %b = stablehlo.constant dense<[3, 0, 0]> : tensor<3xui8>
  %r = stablehlo.divide %a, %b : tensor<3xui8>
  check.expect_eq_const %r, dense<[66, 255, 255]> : tensor<3xui8>
  func.return
}

// Integers: remainder has the sign of the dividend; x rem 0 = x; MIN rem -1 = 0
func.func @remainder_signs() {
  %a = stablehlo.constant dense<[7, -7, 7, -7, 5, -32768]> : tensor<6xi16>
  %b = stablehlo.constant dense<[3, 3, -3, -3, 0, -1]> : tensor<6xi16>
  %r = stablehlo.remainder %a, %b : tensor<6xi16>
  check.expect_eq_const %r, dense<[1, -1, 1, -1, 5, 0]> : tensor<6xi16>
  func.return
}

// Integers: power wraps; negative exponent: 1 for base 1, +-1 for base -1, else 0 (0 too)
func.func @power_wraps() {
  %a = stablehlo.constant dense<[2, 3, 5, 1, -1, -1, 2, 0, 0]> : tensor<9xi8>
  %b = stablehlo.constant dense<[7, 6, 0, -5, -3, -2, -1, -1, 0]> : tensor<9xi8>
  %r = stablehlo.power %a, %b : tensor<9xi8>
  check.expect_eq_const %r, dense<[-128, -39, 1, 1, -1, 1, 0, 0, 1]> : tensor<9xi8>
  func.return
}

// Integers: amount taken as unsigned; at or above the width: 0
func.func @shift_left_amounts() {
  %a = stablehlo.constant dense<[1, 1, 1, 3]> : tensor<4xi8>
  %b = stablehlo.constant dense<[7, 8, -1, 7]> : tensor<4xi8>
  %r = stablehlo.shift_left %a, %b : tensor<4xi8>
  check.expect_eq_const %r, dense<[-128, 0, 0, -128]> : tensor<4xi8>
  func.return
}

// Integers: amount taken as unsigned; at or above the width: 0
func.func @shift_right_logical_amounts() {
  %a = stablehlo.constant dense<[-1, -1, -128]> : tensor<3xi8>
  %b = stablehlo.constant dense<[7, 8, -1]> : tensor<3xi8>
  %r = stablehlo.shift_right_logical %a, %b : tensor<3xi8>
  check.expect_eq_const %r, dense<[1, 0, 0]> : tensor<3xi8>
  func.return
}

// Integers: at or above the width: all sign bits
func.func @shift_right_arithmetic_amounts() {
  %a = stablehlo.constant dense<[-128, -128, 127, -2]> : tensor<4xi8>
  %b = stablehlo.constant dense<[7, 9, 8, 1]> : tensor<4xi8>
  %r = stablehlo.shift_right_arithmetic %a, %b : tensor<4xi8>
  check.expect_eq_const %r, dense<[-1, -1, 0, -1]> : tensor<4xi8>
  func.return
}

// Integers: the top bit is the sign for unsigned types too
func.func @shift_right_arithmetic_unsigned() {
  %a = stablehlo.constant dense<[128, 128, 64]> : tensor<3xui8>
  %b = stablehlo.constant dense<[1, 8, 1]> : tensor<3xui8>
  %r = stablehlo.shift_right_arithmetic %a, %b : tensor<3xui8>
  check.expect_eq_const %r, dense<[192, 255, 32]> : tensor<3xui8>
  func.return
}

// Integers: popcnt of the type's own width
func.func @popcnt_width() {
  %a = stablehlo.constant dense<[-1, 7, -8]> : tensor<3xi4>
  %r = stablehlo.popcnt %a : tensor<3xi4>
  check.expect_eq_const %r, dense<[4, 3, 1]> : tensor<3xi4>
  func.return
}

// Integers: count_leading_zeros of the type's own width
func.func @clz_width() {
  %a = stablehlo.constant dense<[0, 1, 7, -1]> : tensor<4xi4>
  %r = stablehlo.count_leading_zeros %a : tensor<4xi4>
  check.expect_eq_const %r, dense<[4, 3, 1, 0]> : tensor<4xi4>
  func.return
}

// Integers: the count wraps where it does not fit (clz of 0 in s2)
func.func @clz_wraps() {
  %a = stablehlo.constant dense<[0, 1]> : tensor<2xi2>
  %r = stablehlo.count_leading_zeros %a : tensor<2xi2>
  check.expect_eq_const %r, dense<[-2, 1]> : tensor<2xi2>
  func.return
}

// Integers: mulhi is the high half of the exact product
func.func @mulhi_signed() {
  %a = stablehlo.constant dense<[-1, -2147483648, 65536]> : tensor<3xi32>
  %b = stablehlo.constant dense<[-1, -2147483648, 65536]> : tensor<3xi32>
  %r = chlo.mulhi %a, %b : tensor<3xi32>, tensor<3xi32> -> tensor<3xi32>
  check.expect_eq_const %r, dense<[0, 1073741824, 1]> : tensor<3xi32>
  func.return
}

// Integers: mulhi is the high half of the exact product
func.func @mulhi_unsigned() {
  %a = stablehlo.constant dense<[18446744073709551615, 4294967296]> : tensor<2xui64>
  %b = stablehlo.constant dense<[18446744073709551615, 4294967296]> : tensor<2xui64>
  %r = chlo.mulhi %a, %b : tensor<2xui64>, tensor<2xui64> -> tensor<2xui64>
  check.expect_eq_const %r, dense<[18446744073709551614, 1]> : tensor<2xui64>
  func.return
}

// Integers: pred: add, maximum, or are or; multiply, minimum, and are and
func.func @pred_add() {
  %a = stablehlo.constant dense<[false, false, true]> : tensor<3xi1>
  %b = stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
  %r = stablehlo.add %a, %b : tensor<3xi1>
  check.expect_eq_const %r, dense<[false, true, true]> : tensor<3xi1>
  func.return
}

// Integers: pred: add, maximum, or are or; multiply, minimum, and are and
func.func @pred_maximum() {
  %a = stablehlo.constant dense<[false, false, true]> : tensor<3xi1>
  %b = stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
  %r = stablehlo.maximum %a, %b : tensor<3xi1>
  check.expect_eq_const %r, dense<[false, true, true]> : tensor<3xi1>
  func.return
}

// Integers: pred: add, maximum, or are or; multiply, minimum, and are and
func.func @pred_or() {
  %a = stablehlo.constant dense<[false, false, true]> : tensor<3xi1>
  %b = stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
  %r = stablehlo.or %a, %b : tensor<3xi1>
  check.expect_eq_const %r, dense<[false, true, true]> : tensor<3xi1>
  func.return
}

// Integers: pred: add, maximum, or are or; multiply, minimum, and are and
func.func @pred_multiply() {
  %a = stablehlo.constant dense<[false, false, true]> : tensor<3xi1>
  %b = stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
  %r = stablehlo.multiply %a, %b : tensor<3xi1>
  check.expect_eq_const %r, dense<[false, false, true]> : tensor<3xi1>
  func.return
}

// Integers: pred: add, maximum, or are or; multiply, minimum, and are and
func.func @pred_minimum() {
  %a = stablehlo.constant dense<[false, false, true]> : tensor<3xi1>
  %b = stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
  %r = stablehlo.minimum %a, %b : tensor<3xi1>
  check.expect_eq_const %r, dense<[false, false, true]> : tensor<3xi1>
  func.return
}

// Integers: pred: add, maximum, or are or; multiply, minimum, and are and
func.func @pred_and() {
  %a = stablehlo.constant dense<[false, false, true]> : tensor<3xi1>
  %b = stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
  %r = stablehlo.and %a, %b : tensor<3xi1>
  check.expect_eq_const %r, dense<[false, false, true]> : tensor<3xi1>
  func.return
}

// Floats: a*b + c is never fused
func.func @never_fused() {
  %a = stablehlo.constant dense<0x3F800800> : tensor<1xf32>
  %c = stablehlo.constant dense<0xBF801000> : tensor<1xf32>
  %p = stablehlo.multiply %a, %a : tensor<1xf32>
  %r = stablehlo.add %p, %c : tensor<1xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<1xf32>) -> tensor<1xui32>
  check.expect_eq_const %u, dense<0> : tensor<1xui32>
  func.return
}

// Floats: subnormals are kept
func.func @subnormals_f64() {
  %a = stablehlo.constant dense<[0x0010000000000000, 0x0000000000000001, 0x0000000000000003]> : tensor<3xf64>
  %b = stablehlo.constant dense<[0x3FE0000000000000, 0x3FF0000000000000, 0x3FE0000000000000]> : tensor<3xf64>
  %r = stablehlo.multiply %a, %b : tensor<3xf64>
  %u = stablehlo.bitcast_convert %r : (tensor<3xf64>) -> tensor<3xui64>
  check.expect_eq_const %u, dense<[0x0008000000000000, 1, 2]> : tensor<3xui64>
  func.return
}

// Floats: subnormals are kept
func.func @subnormals_f32() {
  %a = stablehlo.constant dense<[0x00000001, 0x00800000]> : tensor<2xf32>
  %b = stablehlo.constant dense<[0x00000001, 0x80000001]> : tensor<2xf32>
  %r = stablehlo.add %a, %b : tensor<2xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %u, dense<[2, 0x007FFFFF]> : tensor<2xui32>
  func.return
}

// Floats: NaN wins; -0 < +0
func.func @maximum_nan() {
  %a = stablehlo.constant dense<[0x7FC00000, 1.0, 0x80000000, 0.0]> : tensor<4xf32>
  %b = stablehlo.constant dense<[1.0, 0x7FC00000, 0.0, 0x80000000]> : tensor<4xf32>
  %r = stablehlo.maximum %a, %b : tensor<4xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf32>) -> tensor<4xui32>
  check.expect_eq_const %u, dense<[0x7FC00000, 0x7FC00000, 0, 0]> : tensor<4xui32>
  func.return
}

// Floats: NaN wins; -0 < +0
func.func @minimum_nan() {
  %a = stablehlo.constant dense<[0x7FC00000, 1.0, 0x80000000, 0.0]> : tensor<4xf32>
  %b = stablehlo.constant dense<[1.0, 0x7FC00000, 0.0, 0x80000000]> : tensor<4xf32>
  %r = stablehlo.minimum %a, %b : tensor<4xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf32>) -> tensor<4xui32>
  check.expect_eq_const %u, dense<[0x7FC00000, 0x7FC00000, 0x80000000, 0x80000000]> : tensor<4xui32>
  func.return
}

// Floats: clamp = minimum(maximum(x, low), high)
func.func @clamp_order() {
  %l = stablehlo.constant dense<3.0> : tensor<f32>
  %h = stablehlo.constant dense<2.0> : tensor<f32>
  %x = stablehlo.constant dense<[1.0, 5.0]> : tensor<2xf32>
  %r = stablehlo.clamp %l, %x, %h : (tensor<f32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %r, dense<[2.0, 2.0]> : tensor<2xf32>
  func.return
}

// Floats: remainder is exact (fmod), sign of the dividend
func.func @remainder_exact() {
  %a = stablehlo.constant dense<[5.5, -5.5, 1.0e308, -6.0]> : tensor<4xf64>
  %b = stablehlo.constant dense<[2.0, 2.0, 3.0, 3.0]> : tensor<4xf64>
  %r = stablehlo.remainder %a, %b : tensor<4xf64>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf64>) -> tensor<4xui64>
  check.expect_eq_const %u, dense<[0x3FF8000000000000, 0xBFF8000000000000, 0x4000000000000000, 0x8000000000000000]> :
      tensor<4xui64>
  func.return
}

// Floats: sign: +-0 for +-0, NaN for NaN
func.func @sign_zero() {
  %a = stablehlo.constant dense<[0.0, 0x80000000, 0x7FC00000, -7.0, 0x00000001]> : tensor<5xf32>
  %r = stablehlo.sign %a : tensor<5xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<5xf32>) -> tensor<5xui32>
  check.expect_eq_const %u, dense<[0, 0x80000000, 0x7FC00000, 0xBF800000, 0x3F800000]> : tensor<5xui32>
  func.return
}

// Floats: round_nearest_afz: ties away from zero
func.func @round_afz() {
  %a = stablehlo.constant dense<[0.5, -0.5, 2.5, -2.5, 0x3EFFFFFF]> : tensor<5xf32>
  %r = stablehlo.round_nearest_afz %a : tensor<5xf32>
  check.expect_eq_const %r, dense<[1.0, -1.0, 3.0, -3.0, 0.0]> : tensor<5xf32>
  func.return
}

// Floats: round_nearest_even: ties to even
func.func @round_even() {
  %a = stablehlo.constant dense<[0.5, -0.5, 2.5, 3.5, -1.5]> : tensor<5xf32>
  %r = stablehlo.round_nearest_even %a : tensor<5xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<5xf32>) -> tensor<5xui32>
  check.expect_eq_const %u, dense<[0, 0x80000000, 0x40000000, 0x40800000, 0xC0000000]> : tensor<5xui32>
  func.return
}

// Floats: NaN is unequal to everything, -0 = +0
func.func @compare_float() {
  %a = stablehlo.constant dense<[0x7FC00000, 0x80000000, 0x7FC00000]> : tensor<3xf32>
  %b = stablehlo.constant dense<[0x7FC00000, 0.0, 1.0]> : tensor<3xf32>
  %e = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %n = stablehlo.compare NE, %a, %b, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %l = stablehlo.compare LT, %a, %b, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  check.expect_eq_const %e, dense<[false, true, false]> : tensor<3xi1>
  check.expect_eq_const %n, dense<[true, false, true]> : tensor<3xi1>
  check.expect_eq_const %l, dense<[false, false, false]> : tensor<3xi1>
  func.return
}

// Floats: TOTALORDER: -NaN < -inf < ... < -0 < +0 < ... < +inf < NaN
func.func @compare_total() {
  %a = stablehlo.constant dense<[0xFFC00000, 0xFF800000, 0x80000000, 0x00000000, 0x7F800000, 0x7FC00000]> :
      tensor<6xf32>
  %b = stablehlo.constant dense<[0xFF800000, -1.0, 0x00000000, 1.0, 0x7FC00000, 0x7FC00000]> : tensor<6xf32>
  %l = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xi1>
  %e = stablehlo.compare EQ, %a, %b, TOTALORDER : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xi1>
  check.expect_eq_const %l, dense<[true, true, true, true, true, false]> : tensor<6xi1>
  check.expect_eq_const %e, dense<[false, false, false, false, false, true]> : tensor<6xi1>
  func.return
}

// Floats: reduce_precision: mantissa ties to even; below the least normal exponent: zero; NaN stays NaN
func.func @reduce_precision_f16() {
  %a = stablehlo.constant dense<[65519.0, 65520.0, 0x3F801000, 0x3F803000, 0x38000000, 0xB8000000, 0x7FC00000]> :
      tensor<7xf32>
  %r = stablehlo.reduce_precision %a, format = e5m10 : tensor<7xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<7xf32>) -> tensor<7xui32>
  check.expect_eq_const %u, dense<[0x477FE000, 0x7F800000, 0x3F800000, 0x3F804000, 0, 0x80000000, 0x7FC00000]> :
      tensor<7xui32>
  func.return
}

// Floats: reduce_precision: NaN is infinity where no mantissa bit is left
func.func @reduce_precision_no_mantissa() {
  %a = stablehlo.constant dense<[1.5, 2.9, 0x7FC00000]> : tensor<3xf32>
  %r = stablehlo.reduce_precision %a, format = e8m0 : tensor<3xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %u, dense<[0x40000000, 0x40000000, 0x7F800000]> : tensor<3xui32>
  func.return
}

// Floats: next_after: neighbour in the type's own format; NaN if either is; y if equal
func.func @next_after_f32() {
  %a = stablehlo.constant dense<[0.0, 1.0, 0x7FC00000, 0.0, 0x7F7FFFFF]> : tensor<5xf32>
  %b = stablehlo.constant dense<[1.0, 0.0, 1.0, 0x80000000, 0x7F800000]> : tensor<5xf32>
  %r = chlo.next_after %a, %b : tensor<5xf32>, tensor<5xf32> -> tensor<5xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<5xf32>) -> tensor<5xui32>
  check.expect_eq_const %u, dense<[1, 0x3F7FFFFF, 0x7FC00000, 0x80000000, 0x7F800000]> : tensor<5xui32>
  func.return
}

// Floats: next_after: neighbour in the type's own format
func.func @next_after_bf16() {
  %a = stablehlo.constant dense<[1.0, 1.0]> : tensor<2xbf16>
  %b = stablehlo.constant dense<[2.0, 0.0]> : tensor<2xbf16>
  %r = chlo.next_after %a, %b : tensor<2xbf16>, tensor<2xbf16> -> tensor<2xbf16>
  %u = stablehlo.bitcast_convert %r : (tensor<2xbf16>) -> tensor<2xui16>
  check.expect_eq_const %u, dense<[0x3F81, 0x3F7F]> : tensor<2xui16>
  func.return
}

// Floats: sqrt is rounded once; sqrt(-0) = -0 (IEEE 754)
func.func @sqrt_corners() {
  %a = stablehlo.constant dense<[2.0, 0x8000000000000000, 0x7FF0000000000000, 0.0]> : tensor<4xf64>
  %r = stablehlo.sqrt %a : tensor<4xf64>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf64>) -> tensor<4xui64>
  check.expect_eq_const %u, dense<[0x3FF6A09E667F3BCD, 0x8000000000000000, 0x7FF0000000000000, 0]> : tensor<4xui64>
  func.return
}

// Floats: rsqrt of +-0 is +-infinity (IEEE 754, rSqrt), of infinity 0
func.func @rsqrt_corners() {
  %a = stablehlo.constant dense<[0.0, 0x80000000, 0x7F800000]> : tensor<3xf32>
  %r = stablehlo.rsqrt %a : tensor<3xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %u, dense<[0x7F800000, 0xFF800000, 0]> : tensor<3xui32>
  func.return
}

// Floats: transcendental functions are rounded once
func.func @cbrt_exact() {
  %a = stablehlo.constant dense<[27.0, -8.0, 1.0e-3, 2.0]> : tensor<4xf64>
  %r = stablehlo.cbrt %a : tensor<4xf64>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf64>) -> tensor<4xui64>
  check.expect_eq_const %u, dense<[0x4008000000000000, 0xC000000000000000, 0x3FB999999999999A, 0x3FF428A2F98D728B]> :
      tensor<4xui64>
  func.return
}

// Floats: transcendental functions of f32 in double, rounded once (mpmath)
func.func @exponential_f32() {
  %a = stablehlo.constant dense<[0x3F800000, 0xC1A20000, 0x42B10000, 0x38D1B717]> : tensor<4xf32>
  %r = stablehlo.exponential %a : tensor<4xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf32>) -> tensor<4xui32>
  check.expect_eq_const %u, dense<[0x402DF854, 0x30DC9EF1, 0x7F4CDCC4, 0x3F800347]> : tensor<4xui32>
  func.return
}

// Floats: transcendental functions of f64, correctly rounded but for about one in 10,000 (mpmath)
func.func @exponential_f64() {
  %a = stablehlo.constant dense<[0x3FF0000000000000, 0xC034400000000000, 0x4056200000000000, 0x3F1A36E2EB1C432D]> :
      tensor<4xf64>
  %r = stablehlo.exponential %a : tensor<4xf64>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf64>) -> tensor<4xui64>
  check.expect_eq_const %u, dense<[0x4005BF0A8B145769, 0x3E1B93DE1E27CA3B, 0x47E99B987155FE28, 0x3FF00068DCE3484E]> :
      tensor<4xui64>
  func.return
}

// Floats: transcendental functions of f32 in double, rounded once (mpmath)
func.func @exponential_minus_one_f32() {
  %a = stablehlo.constant dense<[0x3727C5AC, 0x3F800000, 0xC1F00000, 0x41A00000]> : tensor<4xf32>
  %r = stablehlo.exponential_minus_one %a : tensor<4xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf32>) -> tensor<4xui32>
  check.expect_eq_const %u, dense<[0x3727C5E3, 0x3FDBF0A9, 0xBF800000, 0x4DE75844]> : tensor<4xui32>
  func.return
}

// Floats: transcendental functions of f64, correctly rounded but for about one in 10,000 (mpmath)
func.func @exponential_minus_one_f64() {
  %a = stablehlo.constant dense<[0x3EE4F8B588E368F1, 0x3FF0000000000000, 0xC03E000000000000, 0x4034000000000000]> :
      tensor<4xf64>
  %r = stablehlo.exponential_minus_one %a : tensor<4xf64>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf64>) -> tensor<4xui64>
  check.expect_eq_const %u, dense<[0x3EE4F8BC681CDFB6, 0x3FFB7E151628AED3, 0xBFEFFFFFFFFFFCB5, 0x41BCEB088A68E804]> :
      tensor<4xui64>
  func.return
}

// Floats: transcendental functions of f32 in double, rounded once (mpmath)
func.func @log_f32() {
  %a = stablehlo.constant dense<[0x40000000, 0x3DCCCCCD, 0x000116C2, 0x4640E6B6]> : tensor<4xf32>
  %r = stablehlo.log %a : tensor<4xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf32>) -> tensor<4xui32>
  check.expect_eq_const %u, dense<[0x3F317218, 0xC0135D8E, 0xC2B834F2, 0x4116BCAB]> : tensor<4xui32>
  func.return
}

// Floats: transcendental functions of f64, correctly rounded but for about one in 10,000 (mpmath)
func.func @log_f64() {
  %a = stablehlo.constant dense<[0x4000000000000000, 0x3FB999999999999A, 0x37A16C262777579C, 0x40C81CD6C8B43958]> :
      tensor<4xf64>
  %r = stablehlo.log %a : tensor<4xf64>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf64>) -> tensor<4xui64>
  check.expect_eq_const %u, dense<[0x3FE62E42FEFA39EF, 0xC0026BB1BBB55515, 0xC057069E2AA2AA5B, 0x4022D79559791E31]> :
      tensor<4xui64>
  func.return
}

// Floats: transcendental functions of f32 in double, rounded once (mpmath)
func.func @log_plus_one_f32() {
  %a = stablehlo.constant dense<[0x358637BD, 0x3F000000, 0xBF666666, 0x501502F9]> : tensor<4xf32>
  %r = stablehlo.log_plus_one %a : tensor<4xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf32>) -> tensor<4xui32>
  check.expect_eq_const %u, dense<[0x358637B9, 0x3ECF991F, 0xC0135D8D, 0x41B834F1]> : tensor<4xui32>
  func.return
}

// Floats: transcendental functions of f64, correctly rounded but for about one in 10,000 (mpmath)
func.func @log_plus_one_f64() {
  %a = stablehlo.constant dense<[0x3EB0C6F7A0B5ED8D, 0x3FE0000000000000, 0xBFECCCCCCCCCCCCD, 0x4202A05F20000000]> :
      tensor<4xf64>
  %r = stablehlo.log_plus_one %a : tensor<4xf64>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf64>) -> tensor<4xui64>
  check.expect_eq_const %u, dense<[0x3EB0C6F713F927AA, 0x3FD9F323ECBF984C, 0xC0026BB1BBB55516, 0x4037069E2AA3184E]> :
      tensor<4xui64>
  func.return
}

// Floats: transcendental functions of f32 in double, rounded once (mpmath)
func.func @sine_f32() {
  %a = stablehlo.constant dense<[0x3F800000, 0x501502F9, 0x40490FDB, 0xC2C90000]> : tensor<4xf32>
  %r = stablehlo.sine %a : tensor<4xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf32>) -> tensor<4xui32>
  check.expect_eq_const %u, dense<[0x3F576AA4, 0xBEF99A64, 0xB3BBBD2E, 0x3CFD9FC2]> : tensor<4xui32>
  func.return
}

// Floats: transcendental functions of f64, correctly rounded but for about one in 10,000 (mpmath)
func.func @sine_f64() {
  %a = stablehlo.constant dense<[0x3FF0000000000000, 0x4202A05F20000000, 0x400921FB5A7ED197, 0xC059200000000000]> :
      tensor<4xf64>
  %r = stablehlo.sine %a : tensor<4xf64>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf64>) -> tensor<4xui64>
  check.expect_eq_const %u, dense<[0x3FEAED548F090CEE, 0xBFDF334C7896A4E3, 0xBE68EA91FAE59D9A, 0x3F9FB3F833470FF1]> :
      tensor<4xui64>
  func.return
}

// Floats: transcendental functions of f32 in double, rounded once (mpmath)
func.func @cosine_f32() {
  %a = stablehlo.constant dense<[0x3F800000, 0x501502F9, 0x3FC90FDB, 0xC2C90000]> : tensor<4xf32>
  %r = stablehlo.cosine %a : tensor<4xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf32>) -> tensor<4xui32>
  check.expect_eq_const %u, dense<[0x3F0A5140, 0x3F5F84C5, 0xB33BBD2E, 0x3F7FE095]> : tensor<4xui32>
  func.return
}

// Floats: transcendental functions of f64, correctly rounded but for about one in 10,000 (mpmath)
func.func @cosine_f64() {
  %a = stablehlo.constant dense<[0x3FF0000000000000, 0x4202A05F20000000, 0x3FF921FB67EACAE5, 0xC059200000000000]> :
      tensor<4xf64>
  %r = stablehlo.cosine %a : tensor<4xf64>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf64>) -> tensor<4xui64>
  check.expect_eq_const %u, dense<[0x3FE14A280FB5068C, 0x3FEBF098901C931A, 0xBE73A69DCCB96762, 0x3FEFFC12ADAECEC2]> :
      tensor<4xui64>
  func.return
}

// Floats: transcendental functions of f32 in double, rounded once (mpmath)
func.func @tan_f32() {
  %a = stablehlo.constant dense<[0x3F800000, 0x49742400, 0x3FC90FDB, 0xBE99999A]> : tensor<4xf32>
  %r = stablehlo.tan %a : tensor<4xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf32>) -> tensor<4xui32>
  check.expect_eq_const %u, dense<[0x3FC75923, 0xBEBF4BB4, 0xCBAE8A4A, 0xBE9E6153]> : tensor<4xui32>
  func.return
}

// Floats: transcendental functions of f64, correctly rounded but for about one in 10,000 (mpmath)
func.func @tan_f64() {
  %a = stablehlo.constant dense<[0x3FF0000000000000, 0x412E848000000000, 0x3FF921FB67EACAE5, 0xBFD3333333333333]> :
      tensor<4xf64>
  %r = stablehlo.tan %a : tensor<4xf64>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf64>) -> tensor<4xui64>
  check.expect_eq_const %u, dense<[0x3FF8EB245CBEE3A6, 0xBFD7E9768AB734C0, 0xC16A0E0B39908B69, 0xBFD3CC2A44E29998]> :
      tensor<4xui64>
  func.return
}

// Floats: transcendental functions of f32 in double, rounded once (mpmath)
func.func @tanh_f32() {
  %a = stablehlo.constant dense<[0x3A83126F, 0x3F000000, 0x40400000, 0xC1000000]> : tensor<4xf32>
  %r = stablehlo.tanh %a : tensor<4xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf32>) -> tensor<4xui32>
  check.expect_eq_const %u, dense<[0x3A83126C, 0x3EEC9A9F, 0x3F7EBBE9, 0xBF7FFFFC]> : tensor<4xui32>
  func.return
}

// Floats: transcendental functions of f64, correctly rounded but for about one in 10,000 (mpmath)
func.func @tanh_f64() {
  %a = stablehlo.constant dense<[0x3F50624DD2F1A9FC, 0x3FE0000000000000, 0x4008000000000000, 0xC020000000000000]> :
      tensor<4xf64>
  %r = stablehlo.tanh %a : tensor<4xf64>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf64>) -> tensor<4xui64>
  check.expect_eq_const %u, dense<[0x3F50624D77516CE2, 0x3FDD9353D7568AF3, 0x3FEFD77D111A0B00, 0xBFEFFFFF872A91F8]> :
      tensor<4xui64>
  func.return
}

// Floats: transcendental functions of f32 in double, rounded once (mpmath)
func.func @logistic_f32() {
  %a = stablehlo.constant dense<[0x38D1B717, 0x3F800000, 0xC2480000, 0x41200000]> : tensor<4xf32>
  %r = stablehlo.logistic %a : tensor<4xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf32>) -> tensor<4xui32>
  check.expect_eq_const %u, dense<[0x3F0001A3, 0x3F3B26A8, 0x1B692BEB, 0x3F7FFD06]> : tensor<4xui32>
  func.return
}

// Floats: transcendental functions of f64, correctly rounded but for about one in 10,000 (mpmath)
func.func @logistic_f64() {
  %a = stablehlo.constant dense<[0x3F1A36E2EB1C432D, 0x3FF0000000000000, 0xC049000000000000, 0x4024000000000000]> :
      tensor<4xf64>
  %r = stablehlo.logistic %a : tensor<4xf64>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf64>) -> tensor<4xui64>
  check.expect_eq_const %u, dense<[0x3FE000346DC5D57D, 0x3FE764D4F5D5A2BD, 0x3B6D257D547E083F, 0x3FEFFFA0CB346F89]> :
      tensor<4xui64>
  func.return
}

// Floats: transcendental functions of f32 in double, rounded once (mpmath)
func.func @cbrt_f32() {
  %a = stablehlo.constant dense<[0x40000000, 0x42C80000, 0x0DA24260, 0x40F00000]> : tensor<4xf32>
  %r = stablehlo.cbrt %a : tensor<4xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf32>) -> tensor<4xui32>
  check.expect_eq_const %u, dense<[0x3FA14518, 0x409487E5, 0x2EDBE6FF, 0x3FFA8D31]> : tensor<4xui32>
  func.return
}

// Floats: transcendental functions of f64, correctly rounded but for about one in 10,000 (mpmath)
func.func @cbrt_f64() {
  %a = stablehlo.constant dense<[0x4000000000000000, 0x4059000000000000, 0x39B4484BFEEBC2A0, 0x401E000000000000]> :
      tensor<4xf64>
  %r = stablehlo.cbrt %a : tensor<4xf64>
  %u = stablehlo.bitcast_convert %r : (tensor<4xf64>) -> tensor<4xui64>
  check.expect_eq_const %u, dense<[0x3FF428A2F98D728B, 0x401290FCA9C761F8, 0x3DDB7CDFD9D7BDBB, 0x3FFF51A62037E955]> :
      tensor<4xui64>
  func.return
}

// Floats: functions of CHLO: at most 0.501 ulp (mpmath)
func.func @erf_f32() {
  %a = stablehlo.constant dense<[0x3DCCCCCD, 0x3F800000, 0xC0200000]> : tensor<3xf32>
  %r = chlo.erf %a : tensor<3xf32> -> tensor<3xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %u, dense<[0x3DE652F5, 0x3F57BB3D, 0xBF7FE554]> : tensor<3xui32>
  func.return
}

// Floats: functions of CHLO: at most 0.501 ulp (mpmath)
func.func @erfc_f32() {
  %a = stablehlo.constant dense<[0x3DCCCCCD, 0x40A00000, 0xBF800000]> : tensor<3xf32>
  %r = chlo.erfc %a : tensor<3xf32> -> tensor<3xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %u, dense<[0x3F6335A1, 0x2BD860D4, 0x3FEBDD9F]> : tensor<3xui32>
  func.return
}

// Floats: functions of CHLO: at most 0.501 ulp (mpmath)
func.func @erf_inv_f32() {
  %a = stablehlo.constant dense<[0x3DCCCCCD, 0xBF666666, 0x3F7FF972]> : tensor<3xf32>
  %r = chlo.erf_inv %a : tensor<3xf32> -> tensor<3xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %u, dense<[0x3DB5FA21, 0xBF94E00A, 0x403010F7]> : tensor<3xui32>
  func.return
}

// Floats: functions of CHLO: at most 0.501 ulp (mpmath)
func.func @lgamma_f32() {
  %a = stablehlo.constant dense<[0x3F000000, 0x41280000, 0x42C80000]> : tensor<3xf32>
  %r = chlo.lgamma %a : tensor<3xf32> -> tensor<3xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %u, dense<[0x3F128682, 0x415F0CCD, 0x43B3912E]> : tensor<3xui32>
  func.return
}

// Floats: functions of CHLO: at most 0.501 ulp (mpmath)
func.func @digamma_f32() {
  %a = stablehlo.constant dense<[0x3F000000, 0x41280000, 0x3FBB16C3]> : tensor<3xf32>
  %r = chlo.digamma %a : tensor<3xf32> -> tensor<3xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %u, dense<[0xBFFB544C, 0x4013645E, 0xB24EC71E]> : tensor<3xui32>
  func.return
}

// Floats: functions of CHLO: at most 0.501 ulp (mpmath)
func.func @bessel_i1e_f32() {
  %a = stablehlo.constant dense<[0x3DCCCCCD, 0x3F800000, 0x42480000]> : tensor<3xf32>
  %r = chlo.bessel_i1e %a : tensor<3xf32> -> tensor<3xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %u, dense<[0x3D398ADD, 0x3E54E678, 0x3D65590C]> : tensor<3xui32>
  func.return
}

// Floats: functions of CHLO: at most 0.501 ulp (mpmath)
func.func @asin_f32() {
  %a = stablehlo.constant dense<[0x3DCCCCCD, 0xBF666666, 0x3F7FFF58]> : tensor<3xf32>
  %r = chlo.asin %a : tensor<3xf32> -> tensor<3xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %u, dense<[0x3DCD2494, 0xBF8F549B, 0x3FC87D36]> : tensor<3xui32>
  func.return
}

// Floats: functions of CHLO: at most 0.501 ulp (mpmath)
func.func @acos_f32() {
  %a = stablehlo.constant dense<[0x3DCCCCCD, 0xBF666666, 0x3F7FFF58]> : tensor<3xf32>
  %r = chlo.acos %a : tensor<3xf32> -> tensor<3xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %u, dense<[0x3FBC3D91, 0x402C323B, 0x3B92A47E]> : tensor<3xui32>
  func.return
}

// Floats: functions of CHLO: at most 0.501 ulp (mpmath)
func.func @atan_f32() {
  %a = stablehlo.constant dense<[0x3DCCCCCD, 0xC0A00000, 0x49742400]> : tensor<3xf32>
  %r = chlo.atan %a : tensor<3xf32> -> tensor<3xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %u, dense<[0x3DCC1F14, 0xBFAFCB99, 0x3FC90FD2]> : tensor<3xui32>
  func.return
}

// Floats: functions of CHLO: at most 0.501 ulp (mpmath)
func.func @sinh_f32() {
  %a = stablehlo.constant dense<[0x3A83126F, 0x3F800000, 0xC1200000]> : tensor<3xf32>
  %r = chlo.sinh %a : tensor<3xf32> -> tensor<3xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %u, dense<[0x3A831270, 0x3F966CFE, 0xC62C14EE]> : tensor<3xui32>
  func.return
}

// Floats: functions of CHLO: at most 0.501 ulp (mpmath)
func.func @cosh_f32() {
  %a = stablehlo.constant dense<[0x3A83126F, 0x3F800000, 0xC1200000]> : tensor<3xf32>
  %r = chlo.cosh %a : tensor<3xf32> -> tensor<3xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %u, dense<[0x3F800004, 0x3FC583AB, 0x462C14EF]> : tensor<3xui32>
  func.return
}

// Floats: functions of CHLO: at most 0.501 ulp (mpmath)
func.func @asinh_f32() {
  %a = stablehlo.constant dense<[0x3727C5AC, 0x3F800000, 0x60AD78EC]> : tensor<3xf32>
  %r = chlo.asinh %a : tensor<3xf32> -> tensor<3xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %u, dense<[0x3727C5AC, 0x3F61A1B3, 0x423AFABA]> : tensor<3xui32>
  func.return
}

// Floats: functions of CHLO: at most 0.501 ulp (mpmath)
func.func @acosh_f32() {
  %a = stablehlo.constant dense<[0x3F800347, 0x40000000, 0x60AD78EC]> : tensor<3xf32>
  %r = chlo.acosh %a : tensor<3xf32> -> tensor<3xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %u, dense<[0x3C67B8D8, 0x3FA89214, 0x423AFABA]> : tensor<3xui32>
  func.return
}

// Floats: functions of CHLO: at most 0.501 ulp (mpmath)
func.func @atanh_f32() {
  %a = stablehlo.constant dense<[0x3727C5AC, 0x3F000000, 0xBF7FF972]> : tensor<3xf32>
  %r = chlo.atanh %a : tensor<3xf32> -> tensor<3xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %u, dense<[0x3727C5AC, 0x3F0C9F54, 0xC09E73CD]> : tensor<3xui32>
  func.return
}

// Floats: poles: lgamma(0, -1) = inf; digamma(0, -1) = NaN; erf_inv(+-1) = +-inf, NaN beyond
func.func @poles() {
  %a = stablehlo.constant dense<[0.0, -1.0]> : tensor<2xf32>
  %l = chlo.lgamma %a : tensor<2xf32> -> tensor<2xf32>
  %d = chlo.digamma %a : tensor<2xf32> -> tensor<2xf32>
  %dn = stablehlo.compare NE, %d, %d : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %o = stablehlo.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %e = chlo.erf_inv %o : tensor<2xf32> -> tensor<2xf32>
  %b = stablehlo.constant dense<1.5> : tensor<f32>
  %n = chlo.erf_inv %b : tensor<f32> -> tensor<f32>
  %nn = stablehlo.compare NE, %n, %n : (tensor<f32>, tensor<f32>) -> tensor<i1>
  check.expect_eq_const %l, dense<[0x7F800000, 0x7F800000]> : tensor<2xf32>
  check.expect_eq_const %dn, dense<[true, true]> : tensor<2xi1>
  check.expect_eq_const %e, dense<[0x7F800000, 0xFF800000]> : tensor<2xf32>
  check.expect_eq_const %nn, dense<true> : tensor<i1>
  func.return
}

// Floats: zeta(1, q) = inf, zeta(s, 0 or -1) = inf, zeta(s < 1, q) = NaN; polygamma of a negative or fractional order
// is NaN
func.func @poles_zeta() {
  %s = stablehlo.constant dense<[1.0, 2.0, 3.0, 0.5]> : tensor<4xf64>
  %q = stablehlo.constant dense<[2.0, 0.0, -1.0, 2.0]> : tensor<4xf64>
  %z = chlo.zeta %s, %q : tensor<4xf64>, tensor<4xf64> -> tensor<4xf64>
  %i = stablehlo.constant dense<[0x7FF0000000000000, 0x7FF0000000000000, 0x7FF0000000000000, 0.0]> : tensor<4xf64>
  %zi = stablehlo.compare EQ, %z, %i : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
  %zn = stablehlo.compare NE, %z, %z : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
  %m = stablehlo.constant dense<[-1.0, 0.5]> : tensor<2xf64>
  %x = stablehlo.constant dense<[1.5, 1.5]> : tensor<2xf64>
  %p = chlo.polygamma %m, %x : tensor<2xf64>, tensor<2xf64> -> tensor<2xf64>
  %pn = stablehlo.compare NE, %p, %p : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xi1>
  check.expect_eq_const %zi, dense<[true, true, true, false]> : tensor<4xi1>
  check.expect_eq_const %zn, dense<[false, false, false, true]> : tensor<4xi1>
  check.expect_eq_const %pn, dense<[true, true]> : tensor<2xi1>
  func.return
}

// Small floats: what overflows is NaN where the format has no infinity
func.func @overflow_e4m3fn() {
  %a = stablehlo.constant dense<[448.0, 448.0, -448.0]> : tensor<3xf8E4M3FN>
  %b = stablehlo.constant dense<[448.0, 16.0, -448.0]> : tensor<3xf8E4M3FN>
  %r = stablehlo.add %a, %b : tensor<3xf8E4M3FN>
  %u = stablehlo.bitcast_convert %r : (tensor<3xf8E4M3FN>) -> tensor<3xui8>
  check.expect_eq_const %u, dense<[0x7F, 0x7E, 0xFF]> : tensor<3xui8>
  func.return
}

// Small floats: what overflows is infinity
func.func @overflow_e5m2() {
  %a = stablehlo.constant dense<[57344.0, -57344.0]> : tensor<2xf8E5M2>
  %b = stablehlo.constant dense<[57344.0, -57344.0]> : tensor<2xf8E5M2>
  %r = stablehlo.add %a, %b : tensor<2xf8E5M2>
  %u = stablehlo.bitcast_convert %r : (tensor<2xf8E5M2>) -> tensor<2xui8>
  check.expect_eq_const %u, dense<[0x7C, 0xFC]> : tensor<2xui8>
  func.return
}

// Small floats: what overflows is the largest value where the format has neither infinity nor NaN
func.func @overflow_e2m1() {
  %a = stablehlo.constant dense<[6.0, -6.0]> : tensor<2xf4E2M1FN>
  %r = stablehlo.add %a, %a : tensor<2xf4E2M1FN>
  %w = stablehlo.convert %r : (tensor<2xf4E2M1FN>) -> tensor<2xf32>
  check.expect_eq_const %w, dense<[6.0, -6.0]> : tensor<2xf32>
  func.return
}

// Small floats: the operation is computed exactly and rounded once to nearest even
func.func @f16_one_rounding() {
  %a = stablehlo.constant dense<[0x3C01, 0x0001]> : tensor<2xf16>
  %b = stablehlo.constant dense<[0x3C01, 0x3800]> : tensor<2xf16>
  %r = stablehlo.multiply %a, %b : tensor<2xf16>
  %u = stablehlo.bitcast_convert %r : (tensor<2xf16>) -> tensor<2xui16>
  check.expect_eq_const %u, dense<[0x3C02, 0]> : tensor<2xui16>
  func.return
}

// convert: any to pred: nonzero; NaN is true
func.func @to_pred() {
  %a = stablehlo.constant dense<[0x7FC00000, 0x80000000, 0x00000001, 0.0]> : tensor<4xf32>
  %r = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %r, dense<[true, false, true, false]> : tensor<4xi1>
  func.return
}

// convert: integer to integer: low bits
func.func @integer_low_bits() {
  %a = stablehlo.constant dense<[300, -129, 65536, -1]> : tensor<4xi32>
  %r = stablehlo.convert %a : (tensor<4xi32>) -> tensor<4xi8>
  check.expect_eq_const %r, dense<[44, 127, 0, -1]> : tensor<4xi8>
  func.return
}

// convert: integer to integer: low bits
func.func @integer_to_4() {
  %a = stablehlo.constant dense<[9, -9, 16]> : tensor<3xi32>
  %r = stablehlo.convert %a : (tensor<3xi32>) -> tensor<3xi4>
  check.expect_eq_const %r, dense<[-7, 7, 0]> : tensor<3xi4>
  func.return
}

// convert: float to integer: truncates, saturates, NaN is 0
func.func @float_to_integer() {
  %a = stablehlo.constant dense<[-1.9, 1.9, 1.0e20, -1.0e20, 0x7FC00000, 0xFF800000]> : tensor<6xf32>
  %r = stablehlo.convert %a : (tensor<6xf32>) -> tensor<6xi32>
  check.expect_eq_const %r, dense<[-1, 1, 2147483647, -2147483648, 0, -2147483648]> : tensor<6xi32>
  func.return
}

// convert: float to integer: truncates, saturates
func.func @float_to_unsigned() {
  %a = stablehlo.constant dense<[-5.0, 255.9, 256.0, 0x7F800000]> : tensor<4xf32>
  %r = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xui8>
  check.expect_eq_const %r, dense<[0, 255, 255, 255]> : tensor<4xui8>
  func.return
}

// convert: the same for 2 and 4 bits
func.func @float_to_4() {
  %a = stablehlo.constant dense<[9.0, -9.0, 7.9, 0x7FC00000]> : tensor<4xf32>
  %r = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi4>
  check.expect_eq_const %r, dense<[7, -8, 7, 0]> : tensor<4xi4>
  func.return
}

// convert: the same for 2 and 4 bits
func.func @float_to_u2() {
  %a = stablehlo.constant dense<[9.0, -9.0, 2.9]> : tensor<3xf32>
  %r = stablehlo.convert %a : (tensor<3xf32>) -> tensor<3xui2>
  check.expect_eq_const %r, dense<[3, 0, 2]> : tensor<3xui2>
  func.return
}

// convert: integer to float: one rounding (by way of f64 it would be 2^54)
func.func @integer_to_float_once() {
  %a = stablehlo.constant dense<[18014399583223809, 16777217]> : tensor<2xi64>
  %r = stablehlo.convert %a : (tensor<2xi64>) -> tensor<2xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %u, dense<[0x5A800001, 0x4B800000]> : tensor<2xui32>
  func.return
}

// convert: integer to float: 64-bit integers to small floats included
func.func @integer_to_bf16_once() {
  %a = stablehlo.constant dense<[18084767253659649, 18084767253659648]> : tensor<2xi64>
  %r = stablehlo.convert %a : (tensor<2xi64>) -> tensor<2xbf16>
  %u = stablehlo.bitcast_convert %r : (tensor<2xbf16>) -> tensor<2xui16>
  check.expect_eq_const %u, dense<[0x5A81, 0x5A80]> : tensor<2xui16>
  func.return
}

// convert: integer to float: one rounding to nearest even
func.func @integer_to_f16() {
  %a = stablehlo.constant dense<[65519, 65520, 2049]> : tensor<3xi32>
  %r = stablehlo.convert %a : (tensor<3xi32>) -> tensor<3xf16>
  %u = stablehlo.bitcast_convert %r : (tensor<3xf16>) -> tensor<3xui16>
  check.expect_eq_const %u, dense<[0x7BFF, 0x7C00, 0x6800]> : tensor<3xui16>
  func.return
}

// convert: float to float: one rounding (by way of f32 it would be 1)
func.func @double_to_bf16_once() {
  %a = stablehlo.constant dense<[0x3FF0100000000400, 0x3FF0100000000000]> : tensor<2xf64>
  %r = stablehlo.convert %a : (tensor<2xf64>) -> tensor<2xbf16>
  %u = stablehlo.bitcast_convert %r : (tensor<2xbf16>) -> tensor<2xui16>
  check.expect_eq_const %u, dense<[0x3F81, 0x3F80]> : tensor<2xui16>
  func.return
}

// convert: float to float: one rounding
func.func @double_to_single() {
  %a = stablehlo.constant dense<[1.0e40, 1.0e-46, 0x3FF0000010000000]> : tensor<3xf64>
  %r = stablehlo.convert %a : (tensor<3xf64>) -> tensor<3xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %u, dense<[0x7F800000, 0, 0x3F800000]> : tensor<3xui32>
  func.return
}

// convert: imaginary part dropped, or zero
func.func @complex_to_real() {
  %c = stablehlo.constant dense<[(1.5, 2.5)]> : tensor<1xcomplex<f32>>
  %r = stablehlo.convert %c : (tensor<1xcomplex<f32>>) -> tensor<1xf32>
  %z = stablehlo.convert %r : (tensor<1xf32>) -> tensor<1xcomplex<f64>>
  %i = stablehlo.imag %z : (tensor<1xcomplex<f64>>) -> tensor<1xf64>
  check.expect_eq_const %r, dense<1.5> : tensor<1xf32>
  check.expect_eq_const %i, dense<0.0> : tensor<1xf64>
  func.return
}

// Sums: of f32, up to 16 terms: rounded after every step; more: in f64, rounded once
func.func @sum_of_3() {
  %a = stablehlo.constant dense<[1.0e8, 1.0, -1.0e8]> : tensor<3xf32>
  %o = stablehlo.constant dense<1.0> : tensor<3xf32>
  %r = stablehlo.dot_general %a, %o, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) ->
      tensor<f32>
  %w = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 3>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
  %t = stablehlo.add %p, %q : tensor<f32>
  stablehlo.return %t : tensor<f32>
  }) : (tensor<3xf32>, tensor<f32>) -> tensor<1xf32>
  check.expect_eq_const %r, dense<0.0> : tensor<f32>
  check.expect_eq_const %s, dense<0.0> : tensor<f32>
  check.expect_eq_const %w, dense<0.0> : tensor<1xf32>
  func.return
}

// Sums: of f32, up to 16 terms: rounded after every step; more: in f64, rounded once
func.func @sum_of_16() {
  %a = stablehlo.constant dense<[1.0e8, 1.0, -1.0e8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]> :
      tensor<16xf32>
  %o = stablehlo.constant dense<1.0> : tensor<16xf32>
  %r = stablehlo.dot_general %a, %o, contracting_dims = [0] x [0] : (tensor<16xf32>, tensor<16xf32>) -> tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) ->
      tensor<f32>
  %w = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 16>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
  %t = stablehlo.add %p, %q : tensor<f32>
  stablehlo.return %t : tensor<f32>
  }) : (tensor<16xf32>, tensor<f32>) -> tensor<1xf32>
  check.expect_eq_const %r, dense<0.0> : tensor<f32>
  check.expect_eq_const %s, dense<0.0> : tensor<f32>
  check.expect_eq_const %w, dense<0.0> : tensor<1xf32>
  func.return
}

// Sums: of f32, up to 16 terms: rounded after every step; more: in f64, rounded once
func.func @sum_of_17() {
  %a = stablehlo.constant dense<[1.0e8, 1.0, -1.0e8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
      0.0]> : tensor<17xf32>
  %o = stablehlo.constant dense<1.0> : tensor<17xf32>
  %r = stablehlo.dot_general %a, %o, contracting_dims = [0] x [0] : (tensor<17xf32>, tensor<17xf32>) -> tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<17xf32>, tensor<f32>) ->
      tensor<f32>
  %w = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 17>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
  %t = stablehlo.add %p, %q : tensor<f32>
  stablehlo.return %t : tensor<f32>
  }) : (tensor<17xf32>, tensor<f32>) -> tensor<1xf32>
  check.expect_eq_const %r, dense<1.0> : tensor<f32>
  check.expect_eq_const %s, dense<1.0> : tensor<f32>
  check.expect_eq_const %w, dense<1.0> : tensor<1xf32>
  func.return
}

// Sums: of narrower floats: dot in f64 and rounded once; reduce of up to 16 rounded after every step
func.func @sum_of_f16() {
  %a = stablehlo.constant dense<[2048.0, 1.0, 1.0]> : tensor<3xf16>
  %o = stablehlo.constant dense<1.0> : tensor<3xf16>
  %r = stablehlo.dot_general %a, %o, contracting_dims = [0] x [0] : (tensor<3xf16>, tensor<3xf16>) -> tensor<f16>
  %z = stablehlo.constant dense<0.0> : tensor<f16>
  %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3xf16>, tensor<f16>) ->
      tensor<f16>
  check.expect_eq_const %r, dense<2050.0> : tensor<f16>
  check.expect_eq_const %s, dense<2048.0> : tensor<f16>
  func.return
}

// Sums: a fold by another operation, or by a region, is rounded as its operations are
func.func @maximum_fold() {
  %a = stablehlo.constant dense<[1.0e8, 1.0, -1.0e8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
      0.0]> : tensor<17xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%a init: %z) across dimensions = [0] : (tensor<17xf32>, tensor<f32>) -> tensor<f32>
  reducer(%p: tensor<f32>, %q: tensor<f32>) {
  %n = stablehlo.negate %q : tensor<f32>
  %t = stablehlo.subtract %p, %n : tensor<f32>
  stablehlo.return %t : tensor<f32>
  }
  check.expect_eq_const %s, dense<0.0> : tensor<f32>
  func.return
}

// Dot algorithms: tf32: 10 mantissa bits
func.func @dot_tf32() {
  %a = stablehlo.constant dense<[0x3F801000, 0x3F803000]> : tensor<2xf32>
  %b = stablehlo.constant dense<[[1.0, 0.0], [0.0, 1.0]]> : tensor<2x2xf32>
  %r = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = tf32,
      rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1,
      num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2xf32>, tensor<2x2xf32>) ->
      tensor<2xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %u, dense<[0x3F800000, 0x3F804000]> : tensor<2xui32>
  func.return
}

// Dot algorithms: one of several components or operations changes nothing (JAX's BF16_BF16_F32_X3 and TF32_TF32_F32_X3)
func.func @dot_of_several() {
  %a = stablehlo.constant dense<[0x3F801000, 0x3F803001]> : tensor<2xf32>
  %b = stablehlo.constant dense<[[1.0, 0.0], [0.0, 1.0]]> : tensor<2x2xf32>
  %r = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = bf16,
    rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1,
    num_primitive_operations = 3, allow_imprecise_accumulation = false> :
    (tensor<2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
  %u = stablehlo.bitcast_convert %r : (tensor<2xf32>) -> tensor<2xui32>
  %s = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = tf32,
    rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1,
    num_primitive_operations = 3, allow_imprecise_accumulation = false> :
    (tensor<2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
  %v = stablehlo.bitcast_convert %s : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %u, dense<[0x3F801000, 0x3F803001]> : tensor<2xui32>
  check.expect_eq_const %v, dense<[0x3F801000, 0x3F803001]> : tensor<2xui32>
  func.return
}

// Complex: multiplication is (ac - bd, ad + bc) without recovery of infinities
func.func @complex_multiply() {
  %a = stablehlo.constant dense<[(0x7F800000, 0.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>
  %b = stablehlo.constant dense<[(0.0, 1.0), (1.0, 2.0)]> : tensor<2xcomplex<f32>>
  %r = stablehlo.multiply %a, %b : tensor<2xcomplex<f32>>
  %x = stablehlo.real %r : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %y = stablehlo.imag %r : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %xn = stablehlo.compare NE, %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %xz = stablehlo.constant dense<0.0> : tensor<2xf32>
  %xs = stablehlo.select %xn, %xz, %x : tensor<2xi1>, tensor<2xf32>
  %xu = stablehlo.bitcast_convert %xs : (tensor<2xf32>) -> tensor<2xui32>
  %yn = stablehlo.compare NE, %y, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %yz = stablehlo.constant dense<0.0> : tensor<2xf32>
  %ys = stablehlo.select %yn, %yz, %y : tensor<2xi1>, tensor<2xf32>
  %yu = stablehlo.bitcast_convert %ys : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %xn, dense<[true, false]> : tensor<2xi1>
  check.expect_eq_const %xu, dense<[0, 0xC0A00000]> : tensor<2xui32>
  check.expect_eq_const %yn, dense<[false, false]> : tensor<2xi1>
  check.expect_eq_const %yu, dense<[0x7F800000, 0x41200000]> : tensor<2xui32>
  func.return
}

// Complex: exp(+-inf + iy) with y not finite is (NaN, NaN)
func.func @complex_exp_infinite() {
  %a = stablehlo.constant dense<[(0x7F800000, 0x7F800000), (0xFF800000, 0x7FC00000), (0.0, 0.0)]> :
      tensor<3xcomplex<f32>>
  %r = stablehlo.exponential %a : tensor<3xcomplex<f32>>
  %x = stablehlo.real %r : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %y = stablehlo.imag %r : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %xn = stablehlo.compare NE, %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %xz = stablehlo.constant dense<0.0> : tensor<3xf32>
  %xs = stablehlo.select %xn, %xz, %x : tensor<3xi1>, tensor<3xf32>
  %xu = stablehlo.bitcast_convert %xs : (tensor<3xf32>) -> tensor<3xui32>
  %yn = stablehlo.compare NE, %y, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %yz = stablehlo.constant dense<0.0> : tensor<3xf32>
  %ys = stablehlo.select %yn, %yz, %y : tensor<3xi1>, tensor<3xf32>
  %yu = stablehlo.bitcast_convert %ys : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %xn, dense<[true, true, false]> : tensor<3xi1>
  check.expect_eq_const %xu, dense<[0, 0, 0x3F800000]> : tensor<3xui32>
  check.expect_eq_const %yn, dense<[true, true, false]> : tensor<3xi1>
  check.expect_eq_const %yu, dense<[0, 0, 0]> : tensor<3xui32>
  func.return
}

// Complex: branch cuts and signed zeros follow C99
func.func @complex_log_cut() {
  %a = stablehlo.constant dense<[(-1.0, 0.0), (-1.0, 0x80000000)]> : tensor<2xcomplex<f32>>
  %r = stablehlo.log %a : tensor<2xcomplex<f32>>
  %x = stablehlo.real %r : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %y = stablehlo.imag %r : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %xn = stablehlo.compare NE, %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %xz = stablehlo.constant dense<0.0> : tensor<2xf32>
  %xs = stablehlo.select %xn, %xz, %x : tensor<2xi1>, tensor<2xf32>
  %xu = stablehlo.bitcast_convert %xs : (tensor<2xf32>) -> tensor<2xui32>
  %yn = stablehlo.compare NE, %y, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %yz = stablehlo.constant dense<0.0> : tensor<2xf32>
  %ys = stablehlo.select %yn, %yz, %y : tensor<2xi1>, tensor<2xf32>
  %yu = stablehlo.bitcast_convert %ys : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %xn, dense<[false, false]> : tensor<2xi1>
  check.expect_eq_const %xu, dense<[0, 0]> : tensor<2xui32>
  check.expect_eq_const %yn, dense<[false, false]> : tensor<2xi1>
  check.expect_eq_const %yu, dense<[0x40490FDB, 0xC0490FDB]> : tensor<2xui32>
  func.return
}

// Complex: branch cuts and signed zeros follow C99
func.func @complex_sqrt_cut() {
  %a = stablehlo.constant dense<[(-4.0, 0.0), (-4.0, 0x80000000)]> : tensor<2xcomplex<f32>>
  %r = stablehlo.sqrt %a : tensor<2xcomplex<f32>>
  %x = stablehlo.real %r : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %y = stablehlo.imag %r : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %xn = stablehlo.compare NE, %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %xz = stablehlo.constant dense<0.0> : tensor<2xf32>
  %xs = stablehlo.select %xn, %xz, %x : tensor<2xi1>, tensor<2xf32>
  %xu = stablehlo.bitcast_convert %xs : (tensor<2xf32>) -> tensor<2xui32>
  %yn = stablehlo.compare NE, %y, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %yz = stablehlo.constant dense<0.0> : tensor<2xf32>
  %ys = stablehlo.select %yn, %yz, %y : tensor<2xi1>, tensor<2xf32>
  %yu = stablehlo.bitcast_convert %ys : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %xn, dense<[false, false]> : tensor<2xi1>
  check.expect_eq_const %xu, dense<[0, 0]> : tensor<2xui32>
  check.expect_eq_const %yn, dense<[false, false]> : tensor<2xi1>
  check.expect_eq_const %yu, dense<[0x40000000, 0xC0000000]> : tensor<2xui32>
  func.return
}

// Complex: rsqrt(0) = (inf, NaN)
func.func @complex_rsqrt_zero() {
  %a = stablehlo.constant dense<[(0.0, 0.0), (4.0, 0.0)]> : tensor<2xcomplex<f32>>
  %r = stablehlo.rsqrt %a : tensor<2xcomplex<f32>>
  %x = stablehlo.real %r : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %y = stablehlo.imag %r : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %xn = stablehlo.compare NE, %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %xz = stablehlo.constant dense<0.0> : tensor<2xf32>
  %xs = stablehlo.select %xn, %xz, %x : tensor<2xi1>, tensor<2xf32>
  %xu = stablehlo.bitcast_convert %xs : (tensor<2xf32>) -> tensor<2xui32>
  %yn = stablehlo.compare NE, %y, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %yz = stablehlo.constant dense<0.0> : tensor<2xf32>
  %ys = stablehlo.select %yn, %yz, %y : tensor<2xi1>, tensor<2xf32>
  %yu = stablehlo.bitcast_convert %ys : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %xn, dense<[false, false]> : tensor<2xi1>
  check.expect_eq_const %xu, dense<[0x7F800000, 0x3F000000]> : tensor<2xui32>
  check.expect_eq_const %yn, dense<[true, false]> : tensor<2xi1>
  check.expect_eq_const %yu, dense<[0, 0x80000000]> : tensor<2xui32>
  func.return
}

// Complex: 0^w is 1 for w = 0, 0 for real w > 0, else (NaN, NaN)
func.func @complex_power_zero() {
  %a = stablehlo.constant dense<[(0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]> : tensor<3xcomplex<f32>>
  %b = stablehlo.constant dense<[(0.0, 0.0), (2.0, 0.0), (0.0, 1.0)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.power %a, %b : tensor<3xcomplex<f32>>
  %x = stablehlo.real %r : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %y = stablehlo.imag %r : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %xn = stablehlo.compare NE, %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %xz = stablehlo.constant dense<0.0> : tensor<3xf32>
  %xs = stablehlo.select %xn, %xz, %x : tensor<3xi1>, tensor<3xf32>
  %xu = stablehlo.bitcast_convert %xs : (tensor<3xf32>) -> tensor<3xui32>
  %yn = stablehlo.compare NE, %y, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %yz = stablehlo.constant dense<0.0> : tensor<3xf32>
  %ys = stablehlo.select %yn, %yz, %y : tensor<3xi1>, tensor<3xf32>
  %yu = stablehlo.bitcast_convert %ys : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %xn, dense<[false, false, true]> : tensor<3xi1>
  check.expect_eq_const %xu, dense<[0x3F800000, 0, 0]> : tensor<3xui32>
  check.expect_eq_const %yn, dense<[false, false, true]> : tensor<3xi1>
  check.expect_eq_const %yu, dense<[0, 0, 0]> : tensor<3xui32>
  func.return
}

// Complex: maximum and minimum are lexicographic
func.func @complex_maximum() {
  %a = stablehlo.constant dense<[(1.0, 5.0), (2.0, 0.0)]> : tensor<2xcomplex<f32>>
  %b = stablehlo.constant dense<[(1.0, 7.0), (1.0, 9.0)]> : tensor<2xcomplex<f32>>
  %r = stablehlo.maximum %a, %b : tensor<2xcomplex<f32>>
  %x = stablehlo.real %r : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %y = stablehlo.imag %r : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %xn = stablehlo.compare NE, %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %xz = stablehlo.constant dense<0.0> : tensor<2xf32>
  %xs = stablehlo.select %xn, %xz, %x : tensor<2xi1>, tensor<2xf32>
  %xu = stablehlo.bitcast_convert %xs : (tensor<2xf32>) -> tensor<2xui32>
  %yn = stablehlo.compare NE, %y, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %yz = stablehlo.constant dense<0.0> : tensor<2xf32>
  %ys = stablehlo.select %yn, %yz, %y : tensor<2xi1>, tensor<2xf32>
  %yu = stablehlo.bitcast_convert %ys : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %xn, dense<[false, false]> : tensor<2xi1>
  check.expect_eq_const %xu, dense<[0x3F800000, 0x40000000]> : tensor<2xui32>
  check.expect_eq_const %yn, dense<[false, false]> : tensor<2xi1>
  check.expect_eq_const %yu, dense<[0x40E00000, 0]> : tensor<2xui32>
  func.return
}

// Complex: maximum and minimum are lexicographic, NaN wins
func.func @complex_minimum() {
  %a = stablehlo.constant dense<[(1.0, 5.0), (0x7FC00000, 0.0)]> : tensor<2xcomplex<f32>>
  %b = stablehlo.constant dense<[(1.0, 7.0), (1.0, 9.0)]> : tensor<2xcomplex<f32>>
  %r = stablehlo.minimum %a, %b : tensor<2xcomplex<f32>>
  %x = stablehlo.real %r : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %y = stablehlo.imag %r : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %xn = stablehlo.compare NE, %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %xz = stablehlo.constant dense<0.0> : tensor<2xf32>
  %xs = stablehlo.select %xn, %xz, %x : tensor<2xi1>, tensor<2xf32>
  %xu = stablehlo.bitcast_convert %xs : (tensor<2xf32>) -> tensor<2xui32>
  %yn = stablehlo.compare NE, %y, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %yz = stablehlo.constant dense<0.0> : tensor<2xf32>
  %ys = stablehlo.select %yn, %yz, %y : tensor<2xi1>, tensor<2xf32>
  %yu = stablehlo.bitcast_convert %ys : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %xn, dense<[false, true]> : tensor<2xi1>
  check.expect_eq_const %xu, dense<[0x3F800000, 0]> : tensor<2xui32>
  check.expect_eq_const %yn, dense<[false, false]> : tensor<2xi1>
  check.expect_eq_const %yu, dense<[0x40A00000, 0]> : tensor<2xui32>
  func.return
}

// Complex: sign(0) = (0, 0)
func.func @complex_sign() {
  %a = stablehlo.constant dense<[(0.0, 0.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>
  %r = stablehlo.sign %a : tensor<2xcomplex<f32>>
  %x = stablehlo.real %r : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %y = stablehlo.imag %r : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %xn = stablehlo.compare NE, %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %xz = stablehlo.constant dense<0.0> : tensor<2xf32>
  %xs = stablehlo.select %xn, %xz, %x : tensor<2xi1>, tensor<2xf32>
  %xu = stablehlo.bitcast_convert %xs : (tensor<2xf32>) -> tensor<2xui32>
  %yn = stablehlo.compare NE, %y, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %yz = stablehlo.constant dense<0.0> : tensor<2xf32>
  %ys = stablehlo.select %yn, %yz, %y : tensor<2xi1>, tensor<2xf32>
  %yu = stablehlo.bitcast_convert %ys : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %xn, dense<[false, false]> : tensor<2xi1>
  check.expect_eq_const %xu, dense<[0, 0x3F19999A]> : tensor<2xui32>
  check.expect_eq_const %yn, dense<[false, false]> : tensor<2xi1>
  check.expect_eq_const %yu, dense<[0, 0x3F4CCCCD]> : tensor<2xui32>
  func.return
}

// Complex: x - trunc(x / y) y with both parts truncated
func.func @complex_remainder() {
  %a = stablehlo.constant dense<[(7.0, 5.0)]> : tensor<1xcomplex<f32>>
  %b = stablehlo.constant dense<[(2.0, 0.0)]> : tensor<1xcomplex<f32>>
  %r = stablehlo.remainder %a, %b : tensor<1xcomplex<f32>>
  %x = stablehlo.real %r : (tensor<1xcomplex<f32>>) -> tensor<1xf32>
  %y = stablehlo.imag %r : (tensor<1xcomplex<f32>>) -> tensor<1xf32>
  %xn = stablehlo.compare NE, %x, %x : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  %xz = stablehlo.constant dense<0.0> : tensor<1xf32>
  %xs = stablehlo.select %xn, %xz, %x : tensor<1xi1>, tensor<1xf32>
  %xu = stablehlo.bitcast_convert %xs : (tensor<1xf32>) -> tensor<1xui32>
  %yn = stablehlo.compare NE, %y, %y : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  %yz = stablehlo.constant dense<0.0> : tensor<1xf32>
  %ys = stablehlo.select %yn, %yz, %y : tensor<1xi1>, tensor<1xf32>
  %yu = stablehlo.bitcast_convert %ys : (tensor<1xf32>) -> tensor<1xui32>
  check.expect_eq_const %xn, dense<[false]> : tensor<1xi1>
  check.expect_eq_const %xu, dense<[0x3F800000]> : tensor<1xui32>
  check.expect_eq_const %yn, dense<[false]> : tensor<1xi1>
  check.expect_eq_const %yu, dense<[0x3F800000]> : tensor<1xui32>
  func.return
}

// Complex: abs and log keep |inf + i NaN| = inf; the wider exponent range removes overflow
func.func @complex_abs() {
  %a = stablehlo.constant dense<[(0x7F800000, 0x7FC00000), (3.0e38, 4.0e37)]> : tensor<2xcomplex<f32>>
  %r = stablehlo.abs %a : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  check.expect_eq_const %r, dense<[0x7F800000, 0x7F63B138]> : tensor<2xf32>
  func.return
}

// Quantization: rint(clamp(x / scale + zero_point)), NaN as 0
func.func @quantize() {
  %x = stablehlo.constant dense<[0.25, 0.75, 1000.0, -1000.0, 0x7FC00000, -0.25]> : tensor<6xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<6xf32>) -> tensor<6x!quant.uniform<i8:f32, 0.5:1>>
  %i = stablehlo.bitcast_convert %q : (tensor<6x!quant.uniform<i8:f32, 0.5:1>>) -> tensor<6xi8>
  check.expect_eq_const %i, dense<[2, 2, 127, -128, 0, 0]> : tensor<6xi8>
  func.return
}

// Quantization: (stored - zero_point) scale, the difference exact
func.func @dequantize() {
  %s = stablehlo.constant dense<[-128, 127, 1]> : tensor<3xi8>
  %q = stablehlo.bitcast_convert %s : (tensor<3xi8>) -> tensor<3x!quant.uniform<i8:f32, 0.5:100>>
  %x = stablehlo.uniform_dequantize %q : (tensor<3x!quant.uniform<i8:f32, 0.5:100>>) -> tensor<3xf32>
  check.expect_eq_const %x, dense<[-114.0, 13.5, -49.5]> : tensor<3xf32>
  func.return
}

// Random numbers: rng_bit_generator gives XLA's bits: Random123's known answer of threefry2x32-20 for zeros
func.func @threefry() {
  %s = stablehlo.constant dense<0> : tensor<2xui64>
  %n, %r = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui32>)
  check.expect_eq_const %r, dense<[0x6B200159, 0x99BA4EFE]> : tensor<2xui32>
  func.return
}

// Random numbers: rng_bit_generator gives XLA's bits: Random123's known answer of philox4x32-10 for zeros; DEFAULT is
// Philox
func.func @philox() {
  %s = stablehlo.constant dense<0> : tensor<3xui64>
  %n, %r = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  %m, %d = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  check.expect_eq_const %r, dense<[0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]> : tensor<4xui32>
  check.expect_eq_const %d, dense<[0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]> : tensor<4xui32>
  func.return
}
