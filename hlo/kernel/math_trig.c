// SPDX-License-Identifier: Apache-2.0
// Sine, cosine, tangent, arc tangent of two arguments, as kernel IR.
//
// Reduction to |r| <= pi/4 and a quadrant: for moderate arguments by pi/2 in three parts (Cody and Waite), for large
// ones by exact integer arithmetic with the bits of 2/pi (Payne and Hanek, 1983), behind a branch that is taken only
// when a lane needs it.
// Polynomials: Cephes. Errors below 2 ulp where the reduction is exact.
#include <math.h>

#include "hlo/kernel/math_internal.h"

static val to_int(math *m, val x) {
  return kernel_conv(&m->b, KERNEL_OP_TO_INT_S, x, m->i);
}
static val ibin(math *m, kernel_op op, val x, val y) {
  return kernel_bin(&m->b, op, x, y);
}

// r and n with x = n pi/2 + r for |x| up to 2^12 (f32), 2^20 (f64).
static val reduce_small(math *m, val x, val *out_n) {
  static const double parts32[] = {1.5703125, 4.837512969970703125e-4, 7.549789954891e-8};
  static const double parts64[] = {1.57079632673412561417e0, 6.07710050630396597660e-11, 2.02226624879595063154e-21};
  const double *p = m_is64(m) ? parts64 : parts32;
  val n = kernel_un(&m->b, KERNEL_OP_ROUND_EVEN, m_mul(m, x, m_c(m, 0.63661977236758134308)));
  val r = m_sub(m, x, m_mul(m, n, m_c(m, p[0])));
  r = m_sub(m, r, m_mul(m, n, m_c(m, p[1])));
  r = m_sub(m, r, m_mul(m, n, m_c(m, p[2])));
  *out_n = to_int(m, n);
  return r;
}

// Word w (0 most significant, one word of zeros first) of the binary fraction of 2/pi, by lane.
static val two_over_pi(math *m, val w) {
  static const uint64_t words64[] = {0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041,
                                     0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E,
                                     0xE88235F52EBB4484, 0xE99C7026B45F7E41, 0x3991D639835339F4, 0x9C845F8BBDF9283B,
                                     0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D,
                                     0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB,
                                     0xF0CFBC209AF4361D};
  int n = m_is64(m) ? 21 : 8;
  val v = NULL;
  for (int i = n - 1; i >= 0; i--) {
    // 32-bit words: halves of the 64-bit ones, behind a zero word of their own size.
    int64_t word = m_is64(m) ? (int64_t)words64[i]
                   : i == 0  ? 0
                             : (int32_t)(words64[1 + (i - 1) / 2] >> ((i - 1) % 2 ? 0 : 32));
    v = v ? m_sel(m, ibin(m, KERNEL_OP_EQ, w, m_i(m, i)), m_i(m, word), v) : m_i(m, word);
  }
  return v;
}

// |x| = M 2^e with an integer M of the mantissa's width. The product M * 2/pi is needed modulo 4 with a word and more
// of fractional bits:
// three words of 2/pi, chosen by the exponent, are enough. W is the word size: 32 for f32, 64 for f64.
static val reduce_large(math *m, val x, val *out_n) {
  int W = m_is64(m) ? 64 : 32, mb = m_is64(m) ? 52 : 23, log_w = m_is64(m) ? 6 : 5;
  int64_t one = 1, hidden = one << mb, magnitude = m_is64(m) ? INT64_MAX : INT32_MAX;
  val bits = ibin(m, KERNEL_OP_AND, m_bits(m, x), m_i(m, magnitude));
  val e = ibin(m, KERNEL_OP_SUB, ibin(m, KERNEL_OP_SHR_U, bits, m_i(m, mb)), m_i(m, (m_is64(m) ? 1023 : 127) + mb));
  val mant = ibin(m, KERNEL_OP_OR, ibin(m, KERNEL_OP_AND, bits, m_i(m, hidden - 1)), m_i(m, hidden));
  // Fraction bits of 2/pi from position e - 2 on (positions above weigh multiples of 4); the word of zeros in front
  // keeps start >= 0.
  val start = ibin(m, KERNEL_OP_ADD, e, m_i(m, W - 2));
  val word = ibin(m, KERNEL_OP_SHR_U, start, m_i(m, log_w)), shift = ibin(m, KERNEL_OP_AND, start, m_i(m, W - 1));
  val w[4];
  for (int i = 0; i < 4; i++) w[i] = two_over_pi(m, ibin(m, KERNEL_OP_ADD, word, m_i(m, i)));
  val zero = m_i(m, 0), none = ibin(m, KERNEL_OP_EQ, shift, zero);
  val back = ibin(m, KERNEL_OP_AND, ibin(m, KERNEL_OP_SUB, m_i(m, W), shift), m_i(m, W - 1));
  val f[3];
  for (int i = 0; i < 3; i++) {
    val low = m_sel(m, none, zero, ibin(m, KERNEL_OP_SHR_U, w[i + 1], back));
    f[i] = ibin(m, KERNEL_OP_OR, ibin(m, KERNEL_OP_SHL, w[i], shift), low);
  }
  // M * f modulo 2^(2W): the top two bits are the quadrant.
  val p2_hi = ibin(m, KERNEL_OP_MULHI_U, mant, f[2]);
  val p1_hi = ibin(m, KERNEL_OP_MULHI_U, mant, f[1]), p1_lo = ibin(m, KERNEL_OP_MUL, mant, f[1]);
  val p0_lo = ibin(m, KERNEL_OP_MUL, mant, f[0]);
  val mid = ibin(m, KERNEL_OP_ADD, p1_lo, p2_hi);
  val carry = m_sel(m, ibin(m, KERNEL_OP_LT_U, mid, p1_lo), m_i(m, 1), zero);
  val top = ibin(m, KERNEL_OP_ADD, ibin(m, KERNEL_OP_ADD, p0_lo, p1_hi), carry);
  // Round to the nearest quadrant: the fraction becomes signed, in 2^-(W-2) quadrants.
  val n = ibin(m, KERNEL_OP_SHR_U, ibin(m, KERNEL_OP_ADD, top, m_i(m, one << (W - 3))), m_i(m, W - 2));
  val frac = ibin(m, KERNEL_OP_SUB, top, ibin(m, KERNEL_OP_SHL, n, m_i(m, W - 2)));
  val sign = ibin(m, KERNEL_OP_SHR_S, frac, m_i(m, W - 1));
  val ahi = ibin(m, KERNEL_OP_XOR, frac, sign), alo = ibin(m, KERNEL_OP_XOR, mid, sign);
  // Normalise both words to one with its top bit set, then scale.
  val lz = ibin(m, KERNEL_OP_MIN_S, kernel_un(&m->b, KERNEL_OP_CLZ, ahi), m_i(m, W - 1));
  val back2 = ibin(m, KERNEL_OP_AND, ibin(m, KERNEL_OP_SUB, m_i(m, W), lz), m_i(m, W - 1));
  val in = m_sel(m, ibin(m, KERNEL_OP_EQ, lz, zero), zero, ibin(m, KERNEL_OP_SHR_U, alo, back2));
  val lead = ibin(m, KERNEL_OP_OR, ibin(m, KERNEL_OP_SHL, ahi, lz), in);
  val r = kernel_conv(&m->b, KERNEL_OP_FROM_INT_U, lead, m->f);
  r = m_mul(m, r, m_exp2i(m, ibin(m, KERNEL_OP_SUB, m_i(m, 2 - W), lz)));
  r = m_mul(m, r, m_c(m, 1.57079632679489661923));
  r = m_sel(m, ibin(m, KERNEL_OP_EQ, sign, zero), r, m_neg(m, r));
  val negative = m_lt(m, x, m_c(m, 0));
  *out_n = m_sel(m, negative, ibin(m, KERNEL_OP_SUB, zero, n), n);
  return m_sel(m, negative, m_neg(m, r), r);
}

static val reduce(math *m, val x, val *out_n) {
  val n, r = reduce_small(m, x, &n);
  val limit = m_c(m, m_is64(m) ? 1048576 : 4096),
      large = m_and(m, m_lt(m, limit, m_abs(m, x)), m_lt(m, m_abs(m, x), m_c(m, INFINITY)));
  val any = kernel_reduce(&m->b, KERNEL_OP_REDUCE_OR, large);
  kernel_type types[] = {r->type, n->type};
  kernel_if c = kernel_if_begin(&m->b, any, 2, types);
  val safe = m_sel(m, large, x, m_c(m, 8388608)), n2, r2 = reduce_large(m, safe, &n2);
  val then[] = {m_sel(m, large, r2, r), m_sel(m, large, n2, n)};
  kernel_if_else(&m->b, &c, then);
  val otherwise[] = {r, n};
  kernel_if_end(&m->b, &c, otherwise);
  *out_n = c.results[1];
  return c.results[0];
}

static val sin_reduced(math *m, val r) {
  static const double c32[] = {-1.9515295891E-4, 8.3321608736E-3, -1.6666654611E-1};
  static const double c64[] = {1.58962301576546568060E-10, -2.50507477628578072866E-8, 2.75573136213857245213E-6,
                               -1.98412698295895385996E-4, 8.33333333332211858878E-3,  -1.66666666666666307295E-1};
  val z = m_mul(m, r, r);
  val p = m_is64(m) ? m_poly(m, z, 6, c64) : m_poly(m, z, 3, c32);
  return m_mad(m, m_mul(m, p, z), r, r);
}

static val cos_reduced(math *m, val r) {
  static const double c32[] = {2.443315711809948E-5, -1.388731625493765E-3, 4.166664568298827E-2};
  static const double c64[] = {-1.13585365213876817300E-11, 2.08757008419747316778E-9,  -2.75573141792967388112E-7,
                               2.48015872888517045348E-5,   -1.38888888888730564116E-3, 4.16666666666665929218E-2};
  val z = m_mul(m, r, r);
  val p = m_is64(m) ? m_poly(m, z, 6, c64) : m_poly(m, z, 3, c32);
  val y = m_mad(m, p, m_mul(m, z, z), m_mul(m, z, m_c(m, -0.5)));
  return m_add(m, y, m_c(m, 1));
}

static val bit_set(math *m, val n, int64_t bit) {
  return ibin(m, KERNEL_OP_NE, ibin(m, KERNEL_OP_AND, n, m_i(m, bit)), m_i(m, 0));
}

static val finite_or_nan(math *m, val x, val y) {
  return m_sel(m, m_lt(m, m_abs(m, x), m_c(m, INFINITY)), y, m_c(m, NAN));
}

val math_sin(math *m, val x) {
  val n, r = reduce(m, x, &n);
  val y = m_sel(m, bit_set(m, n, 1), cos_reduced(m, r), sin_reduced(m, r));
  y = m_sel(m, bit_set(m, n, 2), m_neg(m, y), y);
  y = m_sel(m, m_eq(m, x, m_c(m, 0)), x, y);  // the sign of zero
  return finite_or_nan(m, x, y);
}

val math_cos(math *m, val x) {
  val n, r = reduce(m, x, &n);
  val y = m_sel(m, bit_set(m, n, 1), sin_reduced(m, r), cos_reduced(m, r));
  val flip = bit_set(m, ibin(m, KERNEL_OP_ADD, n, m_i(m, 1)), 2);
  return finite_or_nan(m, x, m_sel(m, flip, m_neg(m, y), y));
}

val math_tan(math *m, val x) {
  val n, r = reduce(m, x, &n);
  val s = sin_reduced(m, r), c = cos_reduced(m, r), odd = bit_set(m, n, 1);
  val y = m_div(m, m_sel(m, odd, m_neg(m, c), s), m_sel(m, odd, s, c));
  y = m_sel(m, m_eq(m, x, m_c(m, 0)), x, y);
  return finite_or_nan(m, x, y);
}

// atan of x >= 0.
static val atan_positive(math *m, val x) {
  double tan3pi8 = 2.41421356237309504880, middle = m_is64(m) ? 0.66 : 0.41421356237309504880;
  val big = m_lt(m, m_c(m, tan3pi8), x), mid = m_lt(m, m_c(m, middle), x), one = m_c(m, 1);
  val num = m_sel(m, big, m_c(m, -1), m_sel(m, mid, m_sub(m, x, one), x));
  val den = m_sel(m, big, x, m_sel(m, mid, m_add(m, x, one), one));
  val r = m_div(m, num, den), z = m_mul(m, r, r), y;
  if (m_is64(m)) {
    static const double p[] = {-8.750608600031904122785E-1, -1.615753718733365076637E1, -7.500855792314704667340E1,
                               -1.228866684490136173410E2, -6.485021904942025371773E1};
    static const double q[] = {1.0,
                               2.485846490142306297962E1,
                               1.650270098316988542046E2,
                               4.328810604912902668951E2,
                               4.853903996359136964868E2,
                               1.945506571482613964425E2};
    y = m_mad(m, r, m_div(m, m_mul(m, z, m_poly(m, z, 5, p)), m_poly(m, z, 6, q)), r);
  } else {
    static const double p[] = {8.05374449538e-2, -1.38776856032E-1, 1.99777106478E-1, -3.33329491539E-1};
    y = m_mad(m, m_mul(m, m_poly(m, z, 4, p), z), r, r);
  }
  // pi/2 and pi/4 with what their rounding lost.
  double lost = m_is64(m) ? 6.123233995736765886130E-17 : -4.37113900018624283e-8;
  val base = m_sel(m, big, m_c(m, 1.57079632679489661923), m_sel(m, mid, m_c(m, 0.785398163397448309616), m_c(m, 0)));
  val extra = m_sel(m, big, m_c(m, lost), m_sel(m, mid, m_c(m, lost / 2), m_c(m, 0)));
  return m_add(m, base, m_add(m, y, extra));
}

val math_atan2(math *m, val y, val x) {
  val ax = m_abs(m, x), ay = m_abs(m, y), zero = m_c(m, 0), inf = m_c(m, INFINITY);
  val both_inf = m_and(m, m_eq(m, ax, inf), m_eq(m, ay, inf)),
      both_zero = m_and(m, m_eq(m, ax, zero), m_eq(m, ay, zero));
  // The quotient is taken small over large, so that it cannot overflow.
  val swap = m_lt(m, ax, ay);
  val q = m_div(m, m_sel(m, swap, ax, ay), m_sel(m, swap, ay, ax));
  q = m_sel(m, both_inf, m_c(m, 1), m_sel(m, both_zero, zero, q));
  val a = atan_positive(m, q);
  a = m_sel(m, swap, m_sub(m, m_c(m, 1.57079632679489661923), a), a);
  val left = m_lt(m, m_copysign(m, m_c(m, 1), x), zero);
  a = m_sel(m, left, m_sub(m, m_c(m, 3.14159265358979323846), a), a);
  a = m_copysign(m, a, y);
  return m_sel(m, m_or(m, m_ne(m, x, x), m_ne(m, y, y)), m_c(m, NAN), a);
}
