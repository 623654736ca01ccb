// SPDX-License-Identifier: Apache-2.0
// Exponentials, logarithms, powers, hyperbolic tangent, cube root, remainder, as kernel IR.
//
// Argument reduction and rational or polynomial approximations in the manner of Cephes (S. Moshier, "Methods and
// Programs for Mathematical Functions", 1989), whose coefficients these are. No step relies on a fused multiply-add.
// Errors measured over random arguments: exp, log, expm1, log1p, tanh below 2 ulp in both types; pow below 2 ulp where
// the target has f64, else |y ln x| ulp.
#include <math.h>

#include "hlo/kernel/math_internal.h"

val m_poly(math *m, val x, int n, const double *coefficients) {
  val y = m_c(m, coefficients[0]);
  for (int i = 1; i < n; i++) y = m_mad(m, y, x, m_c(m, coefficients[i]));
  return y;
}

static int mantissa_bits(const math *m) {
  return m_is64(m) ? 52 : 23;
}
static int bias(const math *m) {
  return m_is64(m) ? 1023 : 127;
}

val m_exp2i(math *m, val n) {
  val biased = kernel_bin(&m->b, KERNEL_OP_ADD, n, m_i(m, bias(m)));
  return m_float(m, kernel_bin(&m->b, KERNEL_OP_SHL, biased, m_i(m, mantissa_bits(m))));
}

val m_ldexp(math *m, val x, val n) {
  val half = kernel_bin(&m->b, KERNEL_OP_SHR_S, n, m_i(m, 1));
  val rest = kernel_bin(&m->b, KERNEL_OP_SUB, n, half);
  return m_mul(m, m_mul(m, x, m_exp2i(m, half)), m_exp2i(m, rest));
}

static val round_even(math *m, val x) {
  return kernel_un(&m->b, KERNEL_OP_ROUND_EVEN, x);
}
static val to_int(math *m, val x) {
  return kernel_conv(&m->b, KERNEL_OP_TO_INT_S, x, m->i);
}
static val from_int(math *m, val x) {
  return kernel_conv(&m->b, KERNEL_OP_FROM_INT_S, x, m->f);
}

// x = n ln 2 + r, |r| <= ln 2 / 2. ln 2 in two parts, the first short enough for n * part to be exact.
static val reduce_exp(math *m, val x, val *out_n) {
  val n = round_even(m, m_mul(m, x, m_c(m, 1.4426950408889634)));
  double hi = m_is64(m) ? 6.93145751953125E-1 : 0.693359375;
  double lo = m_is64(m) ? 1.42860682030941723212E-6 : -2.12194440054690583E-4;
  *out_n = n;
  return m_sub(m, m_sub(m, x, m_mul(m, n, m_c(m, hi))), m_mul(m, n, m_c(m, lo)));
}

// exp(r) - 1 for a reduced r.
static val expm1_reduced(math *m, val r) {
  static const double p32[] = {1.9875691500E-4, 1.3981999507E-3, 8.3334519073E-3,
                               4.1665795894E-2, 1.6666665459E-1, 5.0000001201E-1};
  static const double p64[] = {1.26177193074810590878E-4, 3.02994407707441961300E-2, 9.99999999999999999910E-1};
  static const double q64[] = {3.00198505138664455042E-6, 2.52448340349684104192E-3, 2.27265548208155028766E-1,
                               2.00000000000000000009E0};
  val z = m_mul(m, r, r);
  if (!m_is64(m)) return m_mad(m, m_poly(m, r, 6, p32), z, r);
  val p = m_mul(m, r, m_poly(m, z, 3, p64));
  val q = m_sub(m, m_poly(m, z, 4, q64), p);
  return m_mul(m, m_div(m, p, q), m_c(m, 2));
}

static val clamp(math *m, val x, double lo, double hi) {  // NaN passes through
  x = m_sel(m, m_lt(m, x, m_c(m, lo)), m_c(m, lo), x);
  return m_sel(m, m_lt(m, m_c(m, hi), x), m_c(m, hi), x);
}

val math_exp(math *m, val x) {
  x = m_is64(m) ? clamp(m, x, -746, 710) : clamp(m, x, -105, 89.5);
  val n, r = reduce_exp(m, x, &n);
  return m_ldexp(m, m_add(m, expm1_reduced(m, r), m_c(m, 1)), to_int(m, n));
}

val math_expm1(math *m, val x) {
  val big = m_is64(m) ? m_c(m, 700) : m_c(m, 80);
  val c = m_is64(m) ? clamp(m, x, -60, 700) : clamp(m, x, -30, 80);
  val n, r = reduce_exp(m, c, &n);
  val s = m_exp2i(m, to_int(m, n));
  val y = m_add(m, m_mul(m, s, expm1_reduced(m, r)), m_sub(m, s, m_c(m, 1)));
  val tiny = m_eq(m, x, m_c(m, 0));  // keeps the sign of zero
  y = m_sel(m, tiny, x, y);
  val e = math_exp(m, x);
  return m_sel(m, m_lt(m, big, x), e, y);
}

// x = 2^e * (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), for finite x > 0 (subnormals too).
static val split_log(math *m, val x, val *out_e) {
  int mb = mantissa_bits(m);
  val tiny = m_lt(m, x, m_c(m, m_is64(m) ? 0x1p-1022 : 0x1p-126));
  x = m_sel(m, tiny, m_mul(m, x, m_c(m, m_is64(m) ? 0x1p54 : 0x1p25)), x);
  val bits = m_bits(m, x);
  // Offset that makes mantissas above sqrt(2) count for the next exponent.
  int64_t sqrt_half = m_is64(m) ? 0x3FE6A09E667F3BCDll : 0x3F3504F3;
  val shifted = kernel_bin(&m->b, KERNEL_OP_SUB, bits, m_i(m, sqrt_half));
  val e = kernel_bin(&m->b, KERNEL_OP_SHR_S, shifted, m_i(m, mb));
  val one_f = m_float(m, kernel_bin(&m->b, KERNEL_OP_SUB, bits, kernel_bin(&m->b, KERNEL_OP_SHL, e, m_i(m, mb))));
  val ef = from_int(m, e);
  *out_e = m_sub(m, ef, m_sel(m, tiny, m_c(m, m_is64(m) ? 54 : 25), m_c(m, 0)));
  return m_sub(m, one_f, m_c(m, 1));
}

// log(1 + f) - f for reduced f.
static val log_tail(math *m, val f) {
  static const double p32[] = {7.0376836292E-2,  -1.1514610310E-1, 1.1676998740E-1,  -1.2420140846E-1, 1.4249322787E-1,
                               -1.6668057665E-1, 2.0000714765E-1,  -2.4999993993E-1, 3.3333331174E-1};
  static const double p64[] = {1.01875663804580931796E-4, 4.97494994976747001425E-1, 4.70579119878881725854E0,
                               1.44989225341610930846E1,  1.79368678507819816313E1,  7.70838733755885391666E0};
  static const double q64[] = {1.0,
                               1.12873587189167450590E1,
                               4.52279145837532221105E1,
                               8.29875266912776603211E1,
                               7.11544750618563894466E1,
                               2.31251620126765340583E1};
  val z = m_mul(m, f, f);
  val y = m_is64(m) ? m_mul(m, f, m_div(m, m_mul(m, z, m_poly(m, f, 6, p64)), m_poly(m, f, 6, q64)))
                    : m_mul(m, m_mul(m, f, z), m_poly(m, f, 9, p32));
  return m_sub(m, y, m_mul(m, z, m_c(m, 0.5)));
}

// Infinity for infinity, -infinity for 0, NaN below and for NaN.
static val log_special(math *m, val x, val y) {
  y = m_sel(m, m_eq(m, x, m_c(m, INFINITY)), x, y);
  y = m_sel(m, m_lt(m, m_c(m, 0), x), y, m_c(m, NAN));
  return m_sel(m, m_eq(m, x, m_c(m, 0)), m_c(m, -INFINITY), y);
}

val math_log(math *m, val x) {
  val e, f = split_log(m, x, &e);
  val y = m_mad(m, e, m_c(m, -2.121944400546905827679e-4), log_tail(m, f));
  y = m_add(m, f, y);
  return log_special(m, x, m_mad(m, e, m_c(m, 0.693359375), y));
}

val math_log1p(math *m, val x) {
  // log(u) corrected by what 1 + x rounded away (Kahan).
  val u = m_add(m, x, m_c(m, 1));
  val correction = m_div(m, m_sub(m, x, m_sub(m, u, m_c(m, 1))), u);
  val y = m_add(m, math_log(m, u), correction);
  val none = m_or(m, m_eq(m, u, m_c(m, 1)), m_eq(m, x, m_c(m, 0)));
  y = m_sel(m, none, x, y);
  val direct = m_or(m, m_eq(m, x, m_c(m, INFINITY)), m_le(m, u, m_c(m, 0)));
  return m_sel(m, direct, math_log(m, u), y);
}

val math_tanh(math *m, val x) {
  val t = math_expm1(m, m_mul(m, m_abs(m, x), m_c(m, 2)));
  val y = m_div(m, t, m_add(m, t, m_c(m, 2)));
  val big = m_lt(m, m_c(m, m_is64(m) ? 22 : 10), m_abs(m, x));
  y = m_sel(m, big, m_c(m, 1), y);
  return m_copysign(m, y, x);
}

val math_logistic(math *m, val x) {
  // exp of a negative argument only: it cannot overflow, and small results keep their last bits.
  val z = math_exp(m, m_neg(m, m_abs(m, x))), d = m_add(m, z, m_c(m, 1));
  return m_div(m, m_sel(m, m_lt(m, x, m_c(m, 0)), z, m_c(m, 1)), d);
}

// --- pow -----------------------------------------------------------------------------------------

// hi + lo = a * b exactly (Veltkamp, Dekker); |a|, |b| far from overflow.
static val two_product(math *m, val a, val b, val *lo) {
  double split = m_is64(m) ? 134217729.0 : 4097.0;
  val p = m_mul(m, a, b);
  val ca = m_mul(m, a, m_c(m, split)), ah = m_sub(m, ca, m_sub(m, ca, a)), al = m_sub(m, a, ah);
  val cb = m_mul(m, b, m_c(m, split)), bh = m_sub(m, cb, m_sub(m, cb, b)), bl = m_sub(m, b, bh);
  val e = m_sub(m, m_mul(m, ah, bh), p);
  e = m_add(m, e, m_mul(m, ah, bl));
  e = m_add(m, e, m_mul(m, al, bh));
  *lo = m_add(m, e, m_mul(m, al, bl));
  return p;
}

// exp(y log x) for x > 0, with the logarithm carried in two parts.
static val pow_positive(math *m, val x, val y) {
  val e, f = split_log(m, x, &e);
  val tail = log_tail(m, f);
  val e_hi = m_mul(m, e, m_c(m, 0.693359375)), e_lo = m_mul(m, e, m_c(m, -2.121944400546905827679e-4));
  val hi = m_add(m, e_hi, f);  // |e_hi| > |f| or e_hi = 0
  val lo = m_add(m, m_sub(m, f, m_sub(m, hi, e_hi)), m_add(m, e_lo, tail));
  val sum = m_add(m, hi, lo);
  lo = m_sub(m, lo, m_sub(m, sum, hi));
  val yc = clamp(m, y, m_is64(m) ? -1e300 : -1e30, m_is64(m) ? 1e300 : 1e30);
  val p_lo, p = two_product(m, sum, yc, &p_lo);
  p_lo = m_add(m, p_lo, m_mul(m, lo, yc));
  val finite = m_lt(m, m_abs(m, p), m_c(m, m_is64(m) ? 800 : 120));
  p_lo = m_sel(m, finite, p_lo, m_c(m, 0));
  val r = math_exp(m, p);
  val big = m_eq(m, r, m_c(m, INFINITY));
  return m_sel(m, big, r, m_mad(m, r, p_lo, r));
}

val math_pow(math *m, val x, val y) {
  if (!m_is64(m) && m->target && m->target->f64) {  // a wider type settles all questions of rounding
    math w = *m;
    w.f = KERNEL_F64;
    w.i = KERNEL_I64;
    val x64 = kernel_conv(&w.b, KERNEL_OP_FLOAT_CONVERT, x, KERNEL_F64);
    val y64 = kernel_conv(&w.b, KERNEL_OP_FLOAT_CONVERT, y, KERNEL_F64);
    val r = kernel_conv(&w.b, KERNEL_OP_FLOAT_CONVERT, math_pow(&w, x64, y64), KERNEL_F32);
    m->b = w.b;
    return r;
  }
  val zero = m_c(m, 0), one = m_c(m, 1), inf = m_c(m, INFINITY);
  val ax = m_abs(m, x), ay = m_abs(m, y);
  val r = pow_positive(m, ax, y);
  // y infinite, x zero or infinite: only the magnitude of the limit.
  val up = m_lt(m, zero, y);
  val at_zero = m_sel(m, up, zero, inf), at_inf = m_sel(m, up, inf, zero);
  r = m_sel(m, m_eq(m, ax, zero), at_zero, r);
  r = m_sel(m, m_eq(m, ax, inf), at_inf, r);
  val y_inf = m_eq(m, ay, inf);
  val grows = kernel_bin(&m->b, KERNEL_OP_EQ, m_lt(m, one, ax), up);
  r = m_sel(m, y_inf, m_sel(m, m_eq(m, ax, one), one, m_sel(m, grows, inf, zero)), r);
  // Negative x: sign by the parity of an integer y; NaN for other finite y.
  val whole = m_eq(m, kernel_un(&m->b, KERNEL_OP_FLOOR, y), y);
  val half = m_mul(m, y, m_c(m, 0.5));
  val odd = m_and(m, m_ne(m, kernel_un(&m->b, KERNEL_OP_FLOOR, half), half), whole);
  val negative = m_lt(m, m_copysign(m, one, x), zero);
  r = m_sel(m, m_and(m, negative, odd), m_neg(m, r), r);
  val undefined = m_and(m, m_and(m, m_lt(m, x, zero), m_ne(m, ax, inf)), kernel_un(&m->b, KERNEL_OP_NOT, whole));
  r = m_sel(m, undefined, m_c(m, NAN), r);
  r = m_sel(m, m_or(m, m_ne(m, x, x), m_ne(m, y, y)), m_c(m, NAN), r);
  return m_sel(m, m_or(m, m_eq(m, y, zero), m_eq(m, x, one)), one, r);
}

// --- cbrt, rem -----------------------------------------------------------------------------------

val math_cbrt(math *m, val x) {
  // |x| = 2^e (1 + f): start from 2^(e/3) and a quadratic fit, then Newton steps on t - x/t^2 in the reduced range.
  val ax = m_abs(m, x);
  val e, f = split_log(m, ax, &e);
  val third = kernel_un(&m->b, KERNEL_OP_FLOOR, m_mul(m, m_add(m, e, m_c(m, 0.5)), m_c(m, 1.0 / 3)));
  val rest = m_sub(m, e, m_mul(m, third, m_c(m, 3)));  // 0, 1, 2
  val scale =
      m_sel(m, m_lt(m, rest, m_c(m, 0.5)), m_c(m, 1), m_sel(m, m_lt(m, rest, m_c(m, 1.5)), m_c(m, 2), m_c(m, 4)));
  val a = m_mul(m, m_add(m, f, m_c(m, 1)), scale);  // [0.7, 5.7)
  static const double start[] = {-0.0286, 0.3776, 0.6610};
  val t = m_poly(m, a, 3, start);
  for (int i = 0; i < (m_is64(m) ? 4 : 3); i++) {
    val residual = m_sub(m, t, m_div(m, a, m_mul(m, t, t)));
    t = m_sub(m, t, m_mul(m, residual, m_c(m, 1.0 / 3)));
  }
  val y = m_copysign(m, m_ldexp(m, t, to_int(m, third)), x);
  val keep = m_or(m, m_or(m, m_eq(m, ax, m_c(m, 0)), m_eq(m, ax, m_c(m, INFINITY))), m_ne(m, x, x));
  return m_sel(m, keep, x, y);
}

static val any_lane(math *m, val c) {
  return kernel_reduce(&m->b, KERNEL_OP_REDUCE_OR, c);
}

// Biased exponent of a positive value, as if there were no least one: subnormals have zero and less.
static val wide_exponent(math *m, val x) {
  int mb = mantissa_bits(m);
  val least = m_c(m, ldexp(1, 1 - bias(m))), scaled = m_mul(m, x, m_c(m, ldexp(1, mb)));
  val low = kernel_bin(&m->b, KERNEL_OP_SHR_U, m_bits(m, scaled), m_i(m, mb));
  return m_sel(m, m_lt(m, x, least), kernel_bin(&m->b, KERNEL_OP_SUB, low, m_i(m, mb)),
               kernel_bin(&m->b, KERNEL_OP_SHR_U, m_bits(m, x), m_i(m, mb)));
}

// Long division: while r >= |y|, subtract |y| * 2^d with the largest exponent that fits. Every step is exact, and
// clears the top bit of the quotient that is left: there are never more steps than the quotient has bits, of which a
// subnormal divisor may make more than the exponent range.
val math_rem(math *m, val x, val y) {
  bool widen = !m_is64(m) && m->target && m->target->f64;  // subnormals of f32 are normal in f64
  math w = *m;
  if (widen) {
    w.f = KERNEL_F64;
    w.i = KERNEL_I64;
    x = kernel_conv(&w.b, KERNEL_OP_FLOAT_CONVERT, x, KERNEL_F64);
    y = kernel_conv(&w.b, KERNEL_OP_FLOAT_CONVERT, y, KERNEL_F64);
  }
  int mb = mantissa_bits(&w);
  val ay = m_abs(&w, y), ax = m_abs(&w, x);
  val bad = m_or(&w, m_or(&w, m_ne(&w, x, x), m_ne(&w, y, y)),
                 m_or(&w, m_eq(&w, ax, m_c(&w, INFINITY)), m_eq(&w, ay, m_c(&w, 0))));
  val start = m_sel(&w, bad, m_c(&w, 0), ax);
  ay = m_sel(&w, bad, m_c(&w, 1), ay);  // a divisor of zero would never end
  val ey = wide_exponent(&w, ay), is_low = m_lt(&w, ay, m_c(&w, ldexp(1, 1 - bias(&w))));
  // scaled up, so that powers of two are exact
  val normal = m_sel(&w, is_low, m_mul(&w, ay, m_c(&w, ldexp(1, mb))), ay);
  val shift = kernel_bin(&w.b, KERNEL_OP_ADD, ey, m_sel(&w, is_low, m_i(&w, mb), m_i(&w, 0)));
  kernel_while loop = kernel_while_begin(&w.b, 1, &start);
  kernel_while_body(&w.b, &loop, any_lane(&w, m_le(&w, ay, loop.args[0])));
  val r = loop.args[0];
  val d = kernel_bin(&w.b, KERNEL_OP_MAX_S, wide_exponent(&w, r), ey);
  val t = m_ldexp(&w, normal, kernel_bin(&w.b, KERNEL_OP_SUB, d, shift));
  t = m_sel(&w, m_lt(&w, r, t), m_mul(&w, t, m_c(&w, 0.5)), t);
  val next = m_sel(&w, m_le(&w, ay, r), m_sub(&w, r, t), r);
  kernel_while_end(&w.b, &loop, &next);
  val result = m_copysign(&w, loop.results[0], x);
  result = m_sel(&w, bad, m_c(&w, NAN), result);
  if (widen) result = kernel_conv(&w.b, KERNEL_OP_FLOAT_CONVERT, result, KERNEL_F32);
  m->b = w.b;
  return result;
}
