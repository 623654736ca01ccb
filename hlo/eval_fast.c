// SPDX-License-Identifier: Apache-2.0
// Transcendental functions for f32 and narrower, in vectors of doubles, with the results of the C library's double
// functions bit for bit.
//
// Each function here has a relative error below 2^-46 (pow: 2^-42) on its domain, and gives NaN outside it. What the
// caller wants is the value rounded to 24 bits or fewer. The points where such a rounding changes have at most 25
// significant bits, so the low 28 bits of their double are zero (12 bits or fewer: the low 40). Where the low bits of
// the approximation are further from zero than its error and the library's together, both round to the same number;
// elsewhere (a few in a million, exact values, and NaN) the library is asked. So no result depends on the approximation
// (Ziv's rounding test).
//
// The loops have no branches, calls or tables, so that compilers turn them into vectors. No contraction, fixed order.
#include "hlo/eval_fast.h"

#include "hlo/eval_float_bits.h"

#define LOG2E 1.44269504088896338700
#define LN2_HI 6.93147180369123816490e-01
#define LN2_LO 1.90821492927058770002e-10
#define ROUNDER 6755399441055744.0  // 1.5 * 2^52: adding it rounds to an integer, which stands in the low bits

// 2^k for an integer-valued |k| < 1000, given as k + ROUNDER.
static inline double power_of_two(double k_rounder) {
  return of_bits((bits_of(k_rounder) + 1023) << 52);
}

// exp(r) - 1 for |r| <= ln2 / 2: Taylor, 13 terms.
static inline double expm1_reduced(double r) {
  double p = 1.0 / 479001600 + r * (1.0 / 6227020800);
  p = 1.0 / 39916800 + r * p;
  p = 1.0 / 3628800 + r * p;
  p = 1.0 / 362880 + r * p;
  p = 1.0 / 40320 + r * p;
  p = 1.0 / 5040 + r * p;
  p = 1.0 / 720 + r * p;
  p = 1.0 / 120 + r * p;
  p = 1.0 / 24 + r * p;
  p = 1.0 / 6 + r * p;
  p = 0.5 + r * p;
  return r + r * r * p;
}

static inline double expm1_any(double x) {  // |x| < 690
  double k = x * LOG2E + ROUNDER, kk = k - ROUNDER;
  double r = (x - kk * LN2_HI) - kk * LN2_LO, s = power_of_two(k);
  return s * expm1_reduced(r) + (s - 1);
}

static inline double exp_any(double x) {  // |x| < 690
  double k = x * LOG2E + ROUNDER, kk = k - ROUNDER;
  double r = (x - kk * LN2_HI) - kk * LN2_LO, s = power_of_two(k);
  return s * expm1_reduced(r) + s;
}

// log of a positive normal number: m * 2^k with m in [sqrt(1/2), sqrt(2)), log m = 2 atanh((m - 1) / (m + 1)).
static inline double log_any(double x) {
  uint64_t u = bits_of(x), t = u - UINT64_C(0x3fe6a09e667f3bcd);
  double k = of_bits((t >> 52) ^ UINT64_C(0x4330000000000000));  // 2^52 + k mod 4096
  k -= 4503599627370496.0;
  k = k >= 2048 ? k - 4096 : k;
  double m = of_bits(u - (t & UINT64_C(0xfff0000000000000)));
  double f = m - 1, s = f / (2 + f), z = s * s;
  double p = 1.0 / 17 + z * (1.0 / 19);
  p = 1.0 / 15 + z * p;
  p = 1.0 / 13 + z * p;
  p = 1.0 / 11 + z * p;
  p = 1.0 / 9 + z * p;
  p = 1.0 / 7 + z * p;
  p = 1.0 / 5 + z * p;
  p = 1.0 / 3 + z * p;
  return k * LN2_HI + (2 * s + (2 * s * z * p + k * LN2_LO));
}

// x = k * pi/2 + r, |r| <= pi/4, for |x| <= 1e5: pi/2 in parts of 33 bits, whose products with k are exact.
typedef struct reduced {
  double sin, cos;
  uint64_t quadrant;
} reduced;
static inline reduced sin_cos(double x) {
  double k = x * 6.36619772367581382433e-01 + ROUNDER, kk = k - ROUNDER;
  double r =
      ((x - kk * 1.57079632673412561417e+00) - kk * 6.07710050630396597660e-11) - kk * 2.02226624871116645580e-21;
  r -= kk * 8.47842766036889956997e-32;
  double z = r * r;
  double p = 1.0 / 6227020800 - z * (1.0 / 1307674368000.0);
  p = -1.0 / 39916800 + z * p;
  p = 1.0 / 362880 + z * p;
  p = -1.0 / 5040 + z * p;
  p = 1.0 / 120 + z * p;
  p = -1.0 / 6 + z * p;
  double q = -1.0 / 87178291200.0 + z * (1.0 / 20922789888000.0);
  q = 1.0 / 479001600 + z * q;
  q = -1.0 / 3628800 + z * q;
  q = 1.0 / 40320 + z * q;
  q = -1.0 / 720 + z * q;
  q = 1.0 / 24 + z * q;
  q = -0.5 + z * q;
  return (reduced){r + r * z * p, 1 + z * q, bits_of(k)};
}

static inline double with_sign(double x, uint64_t odd) {
  return of_bits(bits_of(x) ^ odd << 63);
}

// atan of t in [0, 1].
static inline double atan_unit(double t) {
  bool high = t > 0.4142135623730950488;
  double u = high ? (t - 1) / (t + 1) : t, z = u * u, p = 0;
  p = 1.0 / 37 - z * (1.0 / 39);
  p = 1.0 / 33 - z * (1.0 / 35 - z * p);
  p = 1.0 / 29 - z * (1.0 / 31 - z * p);
  p = 1.0 / 25 - z * (1.0 / 27 - z * p);
  p = 1.0 / 21 - z * (1.0 / 23 - z * p);
  p = 1.0 / 17 - z * (1.0 / 19 - z * p);
  p = 1.0 / 13 - z * (1.0 / 15 - z * p);
  p = 1.0 / 9 - z * (1.0 / 11 - z * p);
  p = 1.0 / 5 - z * (1.0 / 7 - z * p);
  p = u - u * z * (1.0 / 3 - z * p);
  return high ? 7.85398163397448309616e-01 + p : p;
}

// Versions of a function that is not static would be exported, whatever its visibility: each loop is static.
#define UNARY(NAME, expr)                                                                          \
  LEMNOS_CLONES static void loop_##NAME(int64_t n, const double *restrict x, double *restrict y) { \
    for (int64_t i = 0; i < n; i++) {                                                              \
      double a = x[i];                                                                             \
      y[i] = (expr);                                                                               \
    }                                                                                              \
  }                                                                                                \
  void hlo_fast_##NAME(int64_t n, const double *restrict x, double *restrict y) {                  \
    loop_##NAME(n, x, y);                                                                          \
  }

static inline double logistic(double a) {
  return 1 / (1 + exp_any(-a));
}
static inline double tanh_any(double a) {  // beyond 20 it is 1 to more than 53 bits
  double b = a > 20 ? 20 : a < -20 ? -20 : a, e = expm1_any(2 * b);
  return e / (e + 2);
}
static inline double log1p_any(double a) {
  double u = 1 + a;
  return log_any(u) + (a - (u - 1)) / u;
}
static inline double sine(double a) {
  reduced r = sin_cos(a);
  return with_sign(r.quadrant & 1 ? r.cos : r.sin, r.quadrant >> 1 & 1);
}
static inline double cosine(double a) {
  reduced r = sin_cos(a);
  return with_sign(r.quadrant & 1 ? r.sin : r.cos, (r.quadrant + 1) >> 1 & 1);
}
static inline double tangent(double a) {
  reduced r = sin_cos(a);
  double n = r.quadrant & 1 ? -r.cos : r.sin, d = r.quadrant & 1 ? r.sin : r.cos;
  return n / d;
}
static inline double arctangent(double a) {
  double b = fabs(a);
  bool far = b > 1;
  double r = atan_unit((far ? 1 : b) / (far ? b : 1));
  return copysign(far ? 1.57079632679489661923 - r : r, a);
}
// a^(-1/3) from a guess within 4 % (a linear function of the exponent and the top of the fraction) by two steps of
// third
// order: with e = 1 - a r^3, r (1 - e)^(-1/3).
static inline double cube_root(double a) {
  double m = fabs(a), top = of_bits(bits_of(m) >> 32 | bits_of(0x1p52)) - 0x1p52;
  double r = of_bits(bits_of(1430180000.0 - top * (1.0 / 3) + 0x1p52) << 32);
  double e = 1 - m * r * (r * r);
  r += r * (e * (1.0 / 3 + e * (2.0 / 9 + e * (14.0 / 81))));
  e = 1 - m * r * (r * r);
  r += r * (e * (1.0 / 3 + e * (2.0 / 9 + e * (14.0 / 81))));
  return a * r * r;
}
// Newton's method (a call of sqrt would keep compilers from vectors where it sets errno).
static inline double reciprocal_root(double a) {
  double y = of_bits(UINT64_C(0x5fe6eb50c7b537a9) - (bits_of(a) >> 1)), half = 0.5 * a;
  y = y * (1.5 - half * y * y);
  y = y * (1.5 - half * y * y);
  y = y * (1.5 - half * y * y);
  return y * (1.5 - half * y * y);
}

// Domains: what f32 holds, or what the reductions above bear.
UNARY(exp, fabs(a) < 690 ? exp_any(a) : NAN)
UNARY(expm1, fabs(a) < 690 ? expm1_any(a) : NAN)
UNARY(logistic, fabs(a) < 690 ? logistic(a) : NAN)
UNARY(log, a > 0x1p-1000 && a < 0x1p1000 ? log_any(a) : NAN)
UNARY(log1p, a > -1 && a < 0x1p1000 ? log1p_any(a) : NAN)
UNARY(tanh, fabs(a) <= 0x1p1000 ? tanh_any(a) : NAN)
UNARY(sin, fabs(a) < 1e5 ? sine(a) : NAN)
UNARY(cos, fabs(a) < 1e5 ? cosine(a) : NAN)
UNARY(tan, fabs(a) < 1e5 ? tangent(a) : NAN)
UNARY(atan, fabs(a) > 0x1p-400 && fabs(a) < 0x1p400 ? arctangent(a) : NAN)
UNARY(rsqrt, a > 0x1p-1000 && a < 0x1p1000 ? reciprocal_root(a) : NAN)
UNARY(cbrt, fabs(a) > 0x1p-1000 && fabs(a) < 0x1p1000 ? cube_root(a) : NAN)

LEMNOS_CLONES static void loop_pow(int64_t n, const double *restrict x, const double *restrict y, double *restrict z) {
  for (int64_t i = 0; i < n; i++) {
    double a = x[i], e = y[i] * log_any(a), r = exp_any(fabs(e) < 690 ? e : 0);
    z[i] = a > 0x1p-1000 && a < 0x1p1000 && fabs(e) < 690 ? r : NAN;
  }
}

LEMNOS_CLONES static void loop_atan2(int64_t n, const double *restrict x, const double *restrict y,
                                     double *restrict z) {
  for (int64_t i = 0; i < n; i++) {
    double a = fabs(x[i]), b = fabs(y[i]), low = a < b ? a : b, high = a < b ? b : a;
    double r = atan_unit(low / high);
    r = a > b ? 1.57079632679489661923 - r : r;
    r = y[i] < 0 ? 3.14159265358979323846 - r : r;
    r = x[i] < 0 ? -r : r;
    z[i] = low > 0x1p-400 && high < 0x1p400 ? r : NAN;
  }
}

// Of numbers with at most 24 bits whose quotient is below 2^28: the products below are exact, and so the remainder,
// which the rounded quotient may miss by one divisor.
LEMNOS_CLONES static void loop_fmod(int64_t n, const double *restrict x, const double *restrict y, double *restrict z) {
  for (int64_t i = 0; i < n; i++) {
    double a = fabs(x[i]), b = fabs(y[i]), q = a / b, k = (q - 0.5) + ROUNDER - ROUNDER;
    double r = a - k * b;
    r = r < 0 ? r + b : r;
    r = r >= b ? r - b : r;
    r = with_sign(r, bits_of(x[i]) >> 63);
    z[i] = q < 0x1p28 && a < 0x1p1000 && b < 0x1p1000 ? r : NAN;
  }
}

void hlo_fast_fmod(int64_t n, const double *restrict x, const double *restrict y, double *restrict z) {
  loop_fmod(n, x, y, z);
}

void hlo_fast_pow(int64_t n, const double *restrict x, const double *restrict y, double *restrict z) {
  loop_pow(n, x, y, z);
}
void hlo_fast_atan2(int64_t n, const double *restrict x, const double *restrict y, double *restrict z) {
  loop_atan2(n, x, y, z);
}

// --- the rounding test ---------------------------------------------------------------------------

// Is the low part of a double's bits within `margin` of zero (from both sides)?
static inline uint64_t unsure(double y, uint64_t low, uint64_t margin) {
  return ((bits_of(y) + margin) & low) < 2 * margin;
}

LEMNOS_CLONES static bool any_unsure(int64_t n, const double *y, uint64_t low, uint64_t margin) {
  uint64_t any = 0;
  for (int64_t i = 0; i < n; i++) any |= unsure(y[i], low, margin);
  return any != 0;
}

void hlo_fast_settle_unary(int64_t n, const double *x, double *y, uint64_t low, double (*exact)(double)) {
  if (!any_unsure(n, y, low, HLO_FAST_MARGIN)) return;
  for (int64_t i = 0; i < n; i++)
    if (unsure(y[i], low, HLO_FAST_MARGIN)) y[i] = exact(x[i]);
}

void hlo_fast_settle_exact(int64_t n, const double *x, const double *y, double *z, double (*exact)(double, double)) {
  for (int64_t i = 0; i < n; i++)
    if (z[i] != z[i]) z[i] = exact(x[i], y[i]);
}

void hlo_fast_settle_binary(int64_t n, const double *x, const double *y, double *z, uint64_t low,
                            double (*exact)(double, double)) {
  if (!any_unsure(n, z, low, 16 * HLO_FAST_MARGIN)) return;
  for (int64_t i = 0; i < n; i++)
    if (unsure(z[i], low, 16 * HLO_FAST_MARGIN)) z[i] = exact(x[i], y[i]);
}
