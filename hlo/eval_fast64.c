// SPDX-License-Identifier: Apache-2.0
// Transcendental functions for f64 in vectors, correctly rounded wherever they answer.
//
// A value is computed as an unevaluated sum of two doubles (double-double: Dekker 1971; products by FMA). Leading terms
// of the series are double-doubles, and a tail is plain double where it is so small that its rounding (2^-52 of it)
// does not matter. With the error bound EPS of each function, hi + (lo - EPS hi) and hi + (lo + EPS hi) round to the
// same number almost always, which then is the correctly rounded result (Ziv 1991). Otherwise, and outside the domain,
// the answer is NaN and the caller asks the C library in long double (error about 2^-64, so it may miss in these: one
// of some 10,000).
//
// Bounds, relative: the sum of truncation, of the tail's rounding, and of double-double steps (2^-100 each).
//   exp     2^-69  tail r^5/720 + ... <= 2^-17.1 of exp(r) - 1, rounded by 2^-52; truncated at r^18/19! < 2^-83
//   log     2^-80  tail z^5/11 + ... <= 2^-28.7 of the result; truncated at z^18/37 < 2^-96
//   sin     2^-69  tail z^4/9! or z^4/8! <= 2^-18; pi/2 in three parts of 53 bits for |x| < 2^20: x - k P1 is exact by
//                  FMA (a multiple of 2^-53 below 1), the rest is within 2^-138, and |r| >= 2^-62 there
//   atan2   2^-69  tail z^6/13 <= 2^-18.9, truncated at z^28/57 < 2^-76
//   cbrt, rsqrt    2^-88: one Newton step from 2^-46
// Combined ones (tanh, logistic, expm1, tan) stay below 2^-69, too; pow below 2^-69 (log's error times 690, and exp's).
// EPS is 2^-67, of pow 2^-66: above every bound by a factor of four or more.
//
// The loops have no branches, calls or tables, so that compilers turn them into vectors.
#include "hlo/eval_fast64.h"

#include "hlo/eval_fast.h"
#include "hlo/eval_fast64_dd.h"

// --- functions of one or two blocks
INLINE dd logistic(double a) {
  return divide((dd){1, 0}, add((dd){1, 0}, exp_dd((dd){-a, 0})));
}
INLINE dd tanh_dd(double a) {  // beyond 25 it is 1 to more than 70 bits
  double b = a > 25 ? 25 : a < -25 ? -25 : a;
  dd e = expm1_dd(2 * b);
  return divide(e, add(e, (dd){2, 0}));
}
INLINE dd rsqrt_from(double a, double y) {  // y: a first approximation, as of cbrt_from
  dd p = mul_d((dd){y, 0}, y), q = mul_d(p, a);
  double e = (1 - q.h) - q.l;
  return quick_sum(y, y * e * (0.5 + 0.375 * e));
}
INLINE dd cbrt_from(double a, double y) {
  dd p = mul_d((dd){y, 0}, y), q = mul_d(p, y);
  return quick_sum(y, ((a - q.h) - q.l) / (3 * p.h));
}
INLINE double atan2_any(double y, double x) {
  double a = fabs(y), b = fabs(x), low = a < b ? a : b, high = a < b ? b : a;
  dd r = atan_unit(low, high);
  r = pick(a > b, add((dd){PI_2_A, PI_2_B}, minus(r)), r);
  r = pick(x < 0, add((dd){2 * PI_2_A, 2 * PI_2_B}, minus(r)), r);
  double v = settle(with_sign(r, bits_of(y) >> 63), EPS);
  return ((low > 0x1p-400) & (high < 0x1p400)) ? v : NAN;
}
INLINE double pow_any(double a, double b) {
  dd g = log_dd(a), e = mul_d(g, b);
  bool inside = fabs(e.h) < 690;
  double r = settle(exp_dd(pick(inside, e, (dd){0, 0})), EPS_POW);
  return (inside & (a > 0x1p-1000) & (a < 0x1p1000) & (fabs(b) > 0x1p-500)) ? r : NAN;
}
// The quotient rounded to an integer misses by less than 5/8, so the remainder has no more bits than b: it is exact.
INLINE double fmod_any(double x, double y) {
  double a = fabs(x), b = fabs(y), q = a / b, k = q + ROUNDER - ROUNDER, r = fma_(-k, b, a);
  r = r < 0 ? r + b : r;
  r = of_bits(bits_of(r) | (bits_of(x) & UINT64_C(1) << 63));
  return ((q < 0x1p50) & (a < 0x1p1000) & (b > 0x1p-900)) ? r : NAN;
}

// --- loops
#define UNARY(NAME, domain, expr)                                                                              \
  INLINE double NAME##_one(double a) {                                                                         \
    double r = settle(expr, EPS);                                                                              \
    return (domain) ? r : NAN;                                                                                 \
  }                                                                                                            \
  VERSIONS(NAME, (int64_t n, const double *restrict x, double *restrict y), (n, x, y), y, NAME##_one(x[i]))

// Domains: what the reductions bear, and where neither a result nor an error term is subnormal.
UNARY(exp, fabs(a) < 600, exp_dd((dd){a, 0}))
UNARY(expm1, (fabs(a) < 600) & (fabs(a) > 0x1p-900), expm1_dd(a))
UNARY(logistic, fabs(a) < 600, logistic(a))
UNARY(log, (a > 0x1p-1000) & (a < 0x1p1000) & (a != 1), log_dd(a))
UNARY(log1p, (a > -1) & (a < 0x1p1000) & (fabs(a) > 0x1p-400), log1p_dd(a))
UNARY(tanh, fabs(a) > 0x1p-900, tanh_dd(a))
UNARY(sin, (fabs(a) < 0x1p20) & (fabs(a) > 0x1p-400), sine(a))
UNARY(cos, fabs(a) < 0x1p20, cosine(a))
UNARY(tan, (fabs(a) < 0x1p20) & (fabs(a) > 0x1p-400), tangent(a))

INLINE double cbrt_one(double a, double y) {
  double r = settle(cbrt_from(a, y), EPS);
  return ((fabs(a) > 0x1p-800) & (fabs(a) < 0x1p800)) ? r : NAN;
}
INLINE double rsqrt_one(double a, double y) {
  double r = settle(rsqrt_from(a, y), EPS);
  return ((a > 0x1p-900) & (a < 0x1p900)) ? r : NAN;
}
#define BINARY(NAME, expr)                                                                                            \
  VERSIONS(NAME, (int64_t n, const double *restrict x, const double *restrict y, double *restrict z), (n, x, y, z),   \
           z, expr)
BINARY(cbrt_refine, cbrt_one(x[i], y[i]))
BINARY(rsqrt_refine, rsqrt_one(x[i], y[i]))
BINARY(pow, pow_any(x[i], y[i]))
BINARY(atan2, atan2_any(x[i], y[i]))
BINARY(fmod, fmod_any(x[i], y[i]))

// First approximations: what serves f32.
#define FROM_START(NAME)                                                                    \
  void hlo_fast64_##NAME(int64_t n, const double *restrict x, double *restrict y) {         \
    double start[EVAL_BLOCK];                                                               \
    for (int64_t i = 0; i < n; i += EVAL_BLOCK) {                                           \
      int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;                                  \
      hlo_fast_##NAME(m, x + i, start);                                                     \
      hlo_fast64_##NAME##_refine(m, x + i, start, y + i);                                   \
    }                                                                                       \
  }
FROM_START(cbrt)
FROM_START(rsqrt)

void hlo_fast64_unary(int64_t n, const double *in, double *out, hlo_fast64_unary_fn fast,
                      long double (*exact)(long double)) {
  double y[EVAL_BLOCK];
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    fast(m, in + i, y);
    for (int64_t k = 0; k < m; k++)
      if (y[k] != y[k]) y[k] = (double)exact((long double)in[i + k]);
    memcpy(out + i, y, sizeof *y * (size_t)m);
  }
}

void hlo_fast64_binary(int64_t n, const double *a, const double *b, double *out, hlo_fast64_binary_fn fast,
                       long double (*exact)(long double, long double)) {
  double y[EVAL_BLOCK];
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    fast(m, a + i, b + i, y);
    for (int64_t k = 0; k < m; k++)
      if (y[k] != y[k]) y[k] = (double)exact((long double)a[i + k], (long double)b[i + k]);
    memcpy(out + i, y, sizeof *y * (size_t)m);
  }
}
