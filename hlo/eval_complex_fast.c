// SPDX-License-Identifier: Apache-2.0
// Complex functions of c64 in vectors of doubles, with the bits of the scalar ones (eval_complex_body.h).
//
// A part p of a result is computed with a relative error below 2^-42, that of the scalar formula (C library included)
// is below 2^-43 where this file answers. If p (1 - 2^-40) and p (1 + 2^-40) round to the same float, then so does what
// the scalar formula gives (Ziv's rounding test; it holds for exact, subnormal, zero and overflowing parts, too).
// Otherwise (2^-15 of random parts), where a part is NaN here (outside the domain, or lost to cancellation), the scalar
// code is asked.
// So no result depends on the approximations, nor on the instruction set or contraction to FMA, which this file allows.
//
// Bounds, relative unless told: eps = 2^-52.
//   sinh, cosh of |r| <= ln2 / 2, sin, cos of |r| <= pi/4, atanh of |s| <= (sqrt2 - 1)^2, atan of |t| <= sqrt2 - 1:
//     1 + z g(z), z = r^2, with g interpolated (tests/hlo/eval_complex_coefficients.py): 2^-50 with rounding
//   reductions: r = x - k ln2 (ln2 in 32 + 53 bits, |k| < 2^10): absolute error 2^-53 |r| + 2^-76; r = y - k pi/2
//     (pi/2 in 33 + 33 + 53 bits, |k| < 2^16, y a float: |r| > 2^-33): relative 2^-51
//   exp, expm1, sinh, cosh of a part: sums of the above, in which at most a factor of 3 is lost: 2^-48
//   log of h + l (l < eps h): for k != 0 the result is above 0.34; for k = 0 f = (h - 1) + l is rounded once: 2^-48
//   atan2: one rounded division, and pi/2 - r or pi - r, with r at most half of what it is subtracted from: 2^-49
//   exp, sin, cos, sinh, cosh, tan, tanh, log, sqrt, rsqrt, cbrt, sign, abs of complex numbers: products, quotients and
//     roots of these and sums of positive terms: 2^-45. log takes |z|^2 as an unevaluated sum (products of floats are
//     exact in double), log1p |1 + z|^2 - 1 likewise, so nothing cancels.
//   expm1, logistic: differences of such; NaN where more than 7 bits of the larger term cancel: 2^-42
//   power: u + i v = b log a has an absolute error of 2^-49 s, s = (|b.re| + |b.im|) (|log.re| + |log.im|), the scalar
//     formula's of 2^-51 s; relative to a part these errors are divided by m, the smaller of |sin v| and |cos v|. NaN
//     where s > 2^11 m, so all is below 2^-37; the test is made with 2^-36.
//   divide, multiply, square: not approximated, the scalar formula itself (products of floats are exact, so contraction
//     changes nothing).
#include "hlo/eval_complex_fast.h"

#include "hlo/eval_float_bits.h"

#define LOG2E 1.44269504088896338700
#define LN2_HI 6.93147180369123816490e-01
#define LN2_LO 1.90821492927058770002e-10
#define PI 3.14159265358979323846
#define ROUNDER 6755399441055744.0  // 1.5 * 2^52: adding it rounds to an integer, which stands in the low bits
#define EXPONENT (UINT64_C(0x7ff) << 52)
#define TEST 0x1p-40
#define TEST_POWER 0x1p-36

typedef struct parts {
  double re, im;
} parts;

INLINE double with_sign(double x, uint64_t odd) {
  return of_bits(bits_of(x) ^ odd << 63);
}
INLINE double copy_sign(double x, double from) {
  return of_bits(bits_of(x) | (bits_of(from) & UINT64_C(1) << 63));
}

// --- exp, expm1, sinh, cosh of a part, |x| < 690
typedef struct split {
  double up, down;     // 2^k, 2^-k
  double sinh, cosh1;  // sinh r, cosh r - 1
} split;

INLINE split split_exp(double x) {
  double k = x * LOG2E + ROUNDER, kk = k - ROUNDER, r = (x - kk * LN2_HI) - kk * LN2_LO, z = r * r;
  double c = 0x1.a019b90d2ae7ap-16 + z * 0x1.289185613a3d6p-22;
  c = 0x1.6c16c1788bd90p-10 + z * c;
  c = 0x1.5555555553d63p-5 + z * c;
  c = 0.5 + z * c;
  double s = 0x1.71de0dae63bb3p-19 + z * 0x1.af38a9b0ec855p-26;
  s = 0x1.a01a01a7c41d5p-13 + z * s;
  s = 0x1.11111111109b3p-7 + z * s;
  s = 0x1.5555555555556p-3 + z * s;
  return (split){of_bits((bits_of(k) + 1023) << 52), of_bits((1023 - bits_of(k)) << 52), r * (1 + z * s), z * c};
}
INLINE double exp_of(split e) {
  return e.up * (e.sinh + e.cosh1) + e.up;
}
INLINE double expm1_of(split e) {
  return e.up * (e.sinh + e.cosh1) + (e.up - 1);
}
// sinh(k ln2 + r) = sinh r cosh(k ln2) + cosh r sinh(k ln2), and the like
INLINE double sinh_of(split e) {  // of x >= 0
  double s = 0.5 * (e.up - e.down), c = 0.5 * (e.up + e.down);
  return c * e.sinh + (s + s * e.cosh1);
}
INLINE double cosh_of(split e) {
  double s = 0.5 * (e.up - e.down), c = 0.5 * (e.up + e.down);
  return s * e.sinh + (c + c * e.cosh1);
}

// --- sin, cos of a part, |y| < 1e5
typedef struct turn {
  double sin, cos1;  // of the rest: sin r, cos r - 1
  uint64_t quadrant;
} turn;

INLINE turn reduce(double y) {
  double k = y * 6.36619772367581382433e-01 + ROUNDER, kk = k - ROUNDER;
  double r =
      ((y - kk * 1.57079632673412561417e+00) - kk * 6.07710050630396597660e-11) - kk * 2.02226624879595063154e-21;
  double z = r * r;
  double s = -0x1.ae600a926c89ap-26 + z * 0x1.5e0af186af739p-33;
  s = 0x1.71de37961e4c6p-19 + z * s;
  s = -0x1.a01a019e8357dp-13 + z * s;
  s = 0x1.1111111110bb1p-7 + z * s;
  s = -0x1.5555555555555p-3 + z * s;
  double c = -0x1.27e0f50f770a1p-22 + z * 0x1.1c062221cb53bp-29;
  c = 0x1.a019fc7a81ca5p-16 + z * c;
  c = -0x1.6c16c1691cef0p-10 + z * c;
  c = 0x1.5555555554131p-5 + z * c;
  c = -0x1.ffffffffffffap-2 + z * c;
  return (turn){r * (1 + z * s), z * c, bits_of(k)};
}
INLINE double sin_of(turn t) {
  return with_sign(t.quadrant & 1 ? 1 + t.cos1 : t.sin, t.quadrant >> 1 & 1);
}
INLINE double cos_of(turn t) {
  return with_sign(t.quadrant & 1 ? t.sin : 1 + t.cos1, (t.quadrant + 1) >> 1 & 1);
}
INLINE double cos_square(turn t) {
  double c = t.quadrant & 1 ? t.sin : 1 + t.cos1;
  return c * c;
}
INLINE double sin_cos(turn t) {  // their product
  return with_sign(t.sin * (1 + t.cos1), t.quadrant & 1);
}

// --- log of a sum h + l, l < 2^-52 h
INLINE double log_sum(double h, double l) {
  uint64_t u = bits_of(h), t = u - UINT64_C(0x3fe6a09e667f3bcd) + (UINT64_C(1023) << 52), e = t & EXPONENT;
  double k = of_bits((t >> 52) | UINT64_C(0x4330000000000000)) - (4503599627370496.0 + 1023);
  double m = of_bits(u - e + (UINT64_C(1023) << 52)), down = of_bits((UINT64_C(2046) << 52) - e);
  double f = (m - 1) + l * down, s = f / (2 + f), z = s * s;
  double p = 0x1.7382d06f0c1dep-4 + z * 0x1.546adfbbda333p-4;
  p = 0x1.c71fcd1ced0aep-4 + z * p;
  p = 0x1.2492462aa8c89p-3 + z * p;
  p = 0x1.9999999b86b7cp-3 + z * p;
  p = 0x1.55555555553b8p-2 + z * p;
  s += s;
  return k * LN2_HI + (s + (s * (z * p) + k * LN2_LO));
}

// --- atan2, of numbers that are not both 0, nor infinite
INLINE double angle(double y, double x) {
  double a = fabs(y), b = fabs(x), low = a < b ? a : b, high = a < b ? b : a;
  bool far = low > 0.4142135623730950488 * high;
  double t = (far ? low - high : low) / (far ? low + high : high), z = t * t;
  double p = -0x1.6f43e8bd8d90ap-5 + z * 0x1.74b7f80f108e5p-6;
  p = 0x1.d5eaddccfafaep-5 + z * p;
  p = -0x1.105e316e925c8p-4 + z * p;
  p = 0x1.3b068d86c9c53p-4 + z * p;
  p = -0x1.745c7f6f74ddep-4 + z * p;
  p = 0x1.c71c6dd12673dp-4 + z * p;
  p = -0x1.2492491dd36fep-3 + z * p;
  p = 0x1.9999999990a81p-3 + z * p;
  p = -0x1.5555555555546p-2 + z * p;
  double r = t + t * (z * p);
  r = far ? PI / 4 + r : r;
  r = a > b ? PI / 2 - r : r;
  r = x < 0 ? PI - r : r;
  return copy_sign(r, y);
}

// a^(1/3) of a > 0, as in eval_fast.c: a^(-1/3) from a guess within 4 % by two steps of third order.
INLINE double cube_root(double a) {
  double top = of_bits(bits_of(a) >> 32 | bits_of(0x1p52)) - 0x1p52;
  double r = of_bits(bits_of(1430180000.0 - top * (1.0 / 3) + 0x1p52) << 32);
  double e = 1 - a * r * (r * r);
  r += r * (e * (1.0 / 3 + e * (2.0 / 9 + e * (14.0 / 81))));
  e = 1 - a * r * (r * r);
  r += r * (e * (1.0 / 3 + e * (2.0 / 9 + e * (14.0 / 81))));
  return a * r * r;
}

// --- the functions, NaN where they do not answer
INLINE parts when(bool inside, double re, double im) {
  return (parts){inside ? re : NAN, im};
}
INLINE bool inside(double hyperbolic, double circular) {
  return (fabs(hyperbolic) < 300) & (fabs(circular) < 1e5);
}

INLINE parts exp_one(double x, double y) {
  turn t = reduce(y);
  double e = exp_of(split_exp(x));
  return when(inside(x, y), e * cos_of(t), e * sin_of(t));
}
INLINE parts expm1_one(double x, double y) {
  split e = split_exp(x);
  turn t = reduce(y);
  double c = cos_of(t), versed = (t.quadrant & 3) == 0 ? -t.cos1 : 1 - c, m = expm1_of(e) * c, re = m - versed;
  return when(inside(x, y) & (fabs(re) > 0x1p-7 * (fabs(m) + versed)), re, exp_of(e) * sin_of(t));
}
INLINE parts sinh_one(double x, double y) {
  split e = split_exp(fabs(x));
  turn t = reduce(y);
  return when(inside(x, y), copy_sign(sinh_of(e), x) * cos_of(t), cosh_of(e) * sin_of(t));
}
INLINE parts cosh_one(double x, double y) {
  split e = split_exp(fabs(x));
  turn t = reduce(y);
  return when(inside(x, y), cosh_of(e) * cos_of(t), copy_sign(sinh_of(e), x) * sin_of(t));
}
INLINE parts sin_one(double x, double y) {  // sinh(i z) = i sin z
  split e = split_exp(fabs(y));
  turn t = reduce(x);
  return when(inside(y, x), cosh_of(e) * sin_of(t), copy_sign(sinh_of(e), y) * cos_of(t));
}
INLINE parts cos_one(double x, double y) {
  split e = split_exp(fabs(y));
  turn t = reduce(x);
  return when(inside(y, x), cosh_of(e) * cos_of(t), -(copy_sign(sinh_of(e), y) * sin_of(t)));
}
INLINE parts tanh_one(double x, double y) {
  split e = split_exp(fabs(x));
  turn t = reduce(y);
  double s = copy_sign(sinh_of(e), x), d = 1 / (s * s + cos_square(t));
  return when(inside(x, y), s * cosh_of(e) * d, sin_cos(t) * d);
}
INLINE parts tan_one(double x, double y) {
  parts w = tanh_one(y, x);
  return (parts){w.im, w.re};
}

typedef struct pair {
  double h, l;
} pair;
INLINE pair two_sum(double a, double b) {
  double s = a + b, t = s - a;
  return (pair){s, (a - (s - t)) + (b - t)};
}
// |z|^2 = h + l exactly.
INLINE parts log_one(double x, double y) {
  pair s = two_sum(x * x, y * y);
  return when((s.h > 0) & (s.h < INFINITY), 0.5 * log_sum(s.h, s.l), angle(y, x));
}
// log|1 + z| = log(1 + f) / 2, f = x^2 + y^2 + 2 x
INLINE parts log1p_one(double x, double y) {
  pair s = two_sum(x * x, y * y), f = two_sum(s.h, 2 * x);
  f = two_sum(f.h, f.l + s.l);
  pair u = two_sum(1, f.h);
  bool sure = (u.h > 0x1p-20) & (u.h < INFINITY) & (fabs(f.h) > 0x1p-48 * fabs(x));
  return when(sure, 0.5 * log_sum(u.h, u.l + f.l), angle(y, 1 + x));
}
INLINE parts logistic_one(double x, double y) {
  split e = split_exp(x);
  turn t = reduce(y);
  bool near = fabs(x) < 1, opposite = (t.quadrant & 3) == 2;
  double c = cos_of(t), up = exp_of(e), h = sinh_of(split_exp(fabs(0.5 * x)));
  double versed = opposite ? -t.cos1 : 1 + c;  // 1 + cos y
  double d = near ? 2 * (2 * h * h + versed) : 2 * (cosh_of(e) + c), a = near ? expm1_of(e) : up, b = near ? versed : c;
  double re = a + b;
  return when(inside(x, y) & (fabs(re) > 0x1p-7 * (fabs(a) + fabs(b))), re / d, sin_of(t) / d);
}
// sqrt((|z| + |x|) / 2) and |y| / 2 / that are the parts' moduli.
typedef struct roots {
  double size, re, im;
} roots;
INLINE roots root(double x, double y) {
  double d = sqrt(x * x + y * y), m = sqrt(0.5 * (d + fabs(x))), w = 0.5 * fabs(y) / m;
  return (roots){d, x < 0 ? w : m, copy_sign(x < 0 ? m : w, y)};
}
INLINE parts sqrt_one(double x, double y) {
  roots r = root(x, y);
  return when(r.size < INFINITY, r.re, r.im);
}
INLINE parts rsqrt_one(double x, double y) {
  roots r = root(x, y);
  double d = 1 / r.size;
  return when(r.size < INFINITY, r.re * d, -r.im * d);
}
INLINE parts cbrt_one(double x, double y) {
  double s = x * x + y * y, r = cube_root(sqrt(s));
  turn t = reduce(angle(y, x) * (1.0 / 3));
  return when((s > 0) & (s < INFINITY), r * cos_of(t), r * sin_of(t));
}
INLINE parts sign_one(double x, double y) {
  double s = x * x + y * y, d = 1 / sqrt(s);
  return when(s<INFINITY, s> 0 ? x * d : 0, s > 0 ? y * d : 0);
}
INLINE double abs_one(double x, double y) {
  double s = x * x + y * y;
  return s < INFINITY ? sqrt(s) : NAN;
}
INLINE parts divide_one(double x, double y, double u, double v) {
  double s = u * u + v * v, d = v == 0 ? u : s;
  double re = v == 0 ? x : x * u + y * v, im = v == 0 ? y : y * u - x * v;
  return when((s > 0) & (s < INFINITY) & (fabs(x) < INFINITY) & (fabs(y) < INFINITY), re / d, im / d);
}
INLINE parts power_one(double x, double y, double u, double v) {
  pair s = two_sum(x * x, y * y);
  double l = 0.5 * log_sum(s.h, s.l), a = angle(y, x), p = u * l - v * a, q = u * a + v * l;
  turn t = reduce(q);
  double e = exp_of(split_exp(p)), c = cos_of(t), i = sin_of(t), size = (fabs(u) + fabs(v)) * (fabs(l) + fabs(a));
  double smaller = fabs(i) < fabs(c) ? fabs(i) : fabs(c);
  bool real = (y == 0) & (v == 0) & (bits_of(x) >> 63 == 0);
  bool sure = (s.h > 0) & (s.h < INFINITY) & (size < 0x1p11 * (real ? 1 : smaller)) &
              ((v != 0) | ((u != 0) & (u != 1) & (u != 2)));  // whose results are not from the formula
  return when(sure & inside(p, q), e * c, e * i);
}

// --- loops over a block: floats to doubles, the function, and the rounding test
#if defined(__GNUC__) && !defined(__clang__)
#define WIDEST ",prefer-vector-width=512"
#else
#define WIDEST
#endif
#if defined(__x86_64__) && defined(__GNUC__)
#define VERSIONS(NAME, PARAMS, ARGS, LOOP)                                                                        \
  __attribute__((target("avx512f,avx512dq,avx512vl,fma" WIDEST), noinline)) static bool NAME##_avx512 PARAMS LOOP \
      __attribute__((target("avx2,fma"), noinline)) static bool NAME##_avx2 PARAMS LOOP                           \
      __attribute__((noinline)) static bool NAME##_base PARAMS LOOP bool hlo_complex_##NAME PARAMS {              \
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) return NAME##_avx512 ARGS;      \
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return NAME##_avx2 ARGS;                 \
    return NAME##_base ARGS;                                                                                      \
  }
#else
#define VERSIONS(NAME, PARAMS, ARGS, LOOP) bool hlo_complex_##NAME PARAMS LOOP
#endif

// Counts are rounded up to a multiple of 16, so that vectors leave nothing over; what is there gets computed, too.
#define ROUNDED(n) (((n) + 15) & ~(int64_t)15)

INLINE void widen(int64_t n, const float *x, double *restrict re, double *restrict im) {
  for (int64_t i = 0; i < n; i++) {
    re[i] = x[2 * i];
    im[i] = x[2 * i + 1];
  }
  for (int64_t i = n; i < ROUNDED(n); i++) re[i] = im[i] = 1;
}
// p (1 - 2^-40) and p (1 + 2^-40) have the same sign, so equal numbers are equal bits.
INLINE bool narrow_within(double test, int64_t n, const double *re, const double *im, float *restrict out,
                          uint32_t *restrict unsure) {
  uint32_t any = 0;
  for (int64_t i = 0; i < n; i++) {
    float a = (float)(re[i] * (1 - test)), b = (float)(im[i] * (1 - test));
    uint32_t bad = !((a == (float)(re[i] * (1 + test))) & (b == (float)(im[i] * (1 + test))));
    out[2 * i] = a;
    out[2 * i + 1] = b;
    unsure[i] = bad;
    any |= bad;
  }
  return any != 0;
}
INLINE bool narrow_real(int64_t n, const double *re, float *restrict out, uint32_t *restrict unsure) {
  uint32_t any = 0;
  for (int64_t i = 0; i < n; i++) {
    float a = (float)(re[i] * (1 - TEST));
    uint32_t bad = !(a == (float)(re[i] * (1 + TEST)));
    out[i] = a;
    unsure[i] = bad;
    any |= bad;
  }
  return any != 0;
}

#define narrow(...) narrow_within(TEST, __VA_ARGS__)
#define narrow_power(...) narrow_within(TEST_POWER, __VA_ARGS__)
#define ARRAY(name) double name[EVAL_BLOCK] __attribute__((aligned(64)))
#define UNARY(NAME)                                                                                                  \
  VERSIONS(NAME, (int64_t n, const float *x, float *restrict out, uint32_t *restrict unsure), (n, x, out, unsure), { \
    ARRAY(a);                                                                                                        \
    ARRAY(b);                                                                                                        \
    widen(n, x, a, b);                                                                                               \
    for (int64_t i = 0; i < ROUNDED(n); i++) {                                                                       \
      parts r = NAME##_one(a[i], b[i]);                                                                              \
      a[i] = r.re;                                                                                                   \
      b[i] = r.im;                                                                                                   \
    }                                                                                                                \
    return narrow(n, a, b, out, unsure);                                                                             \
  })
#define BINARY(NAME, ROUND)                                                                                   \
  VERSIONS(NAME, (int64_t n, const float *x, const float *z, float *restrict out, uint32_t *restrict unsure), \
           (n, x, z, out, unsure), {                                                                          \
             ARRAY(a);                                                                                        \
             ARRAY(b);                                                                                        \
             ARRAY(c);                                                                                        \
             ARRAY(d);                                                                                        \
             widen(n, x, a, b);                                                                               \
             widen(n, z, c, d);                                                                               \
             for (int64_t i = 0; i < ROUNDED(n); i++) {                                                       \
               parts r = NAME##_one(a[i], b[i], c[i], d[i]);                                                  \
               a[i] = r.re;                                                                                   \
               b[i] = r.im;                                                                                   \
             }                                                                                                \
             return ROUND(n, a, b, out, unsure);                                                              \
           })

UNARY(exp)
UNARY(expm1)
UNARY(log)
UNARY(log1p)
UNARY(logistic)
UNARY(cos)
UNARY(sin)
UNARY(tan)
UNARY(tanh)
UNARY(cosh)
UNARY(sinh)
UNARY(sqrt)
UNARY(rsqrt)
UNARY(cbrt)
UNARY(sign)
BINARY(power, narrow_power)

INLINE bool narrow_exact(int64_t n, const double *re, const double *im, float *restrict out,
                         uint32_t *restrict unsure) {
  uint32_t any = 0;
  for (int64_t i = 0; i < n; i++) {
    uint32_t bad = !((re[i] == re[i]) & (im[i] == im[i]));
    out[2 * i] = (float)re[i];
    out[2 * i + 1] = (float)im[i];
    unsure[i] = bad;
    any |= bad;
  }
  return any != 0;
}
BINARY(divide, narrow_exact)

VERSIONS(abs, (int64_t n, const float *x, float *restrict out, uint32_t *restrict unsure), (n, x, out, unsure), {
  ARRAY(a);
  ARRAY(b);
  widen(n, x, a, b);
  for (int64_t i = 0; i < ROUNDED(n); i++) a[i] = abs_one(a[i], b[i]);
  return narrow_real(n, a, out, unsure);
})

// Operands are read before the result's block is written, so it may be in their place.
VERSIONS(multiply, (int64_t n, const float *x, const float *z, float *out), (n, x, z, out), {
  for (int64_t at = 0; at < n; at += EVAL_BLOCK) {
    int64_t m = n - at < EVAL_BLOCK ? n - at : EVAL_BLOCK;
    ARRAY(a);
    ARRAY(b);
    ARRAY(c);
    ARRAY(d);
    widen(m, x + 2 * at, a, b);
    widen(m, z + 2 * at, c, d);
    float *restrict y = out + 2 * at;
    for (int64_t i = 0; i < m; i++) {
      y[2 * i] = (float)(a[i] * c[i] - b[i] * d[i]);
      y[2 * i + 1] = (float)(a[i] * d[i] + b[i] * c[i]);
    }
  }
  return false;
})

void hlo_complex_fast_unary(int64_t n, const float *x, float *out, int width, hlo_complex_unary_fn fast,
                            hlo_eval_fn exact) {
  float y[2 * EVAL_BLOCK];
  uint32_t unsure[EVAL_BLOCK];
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    if (fast(m, x + 2 * i, y, unsure))
      for (int64_t k = 0; k < m; k++) {
        const void *in = x + 2 * (i + k);
        if (unsure[k]) exact(NULL, 1, &in, y + width * k);
      }
    memcpy(out + width * i, y, sizeof *y * (size_t)(width * m));
  }
}

void hlo_complex_fast_binary(int64_t n, const float *x, const float *z, float *out, hlo_complex_binary_fn fast,
                             hlo_eval_fn exact) {
  float y[2 * EVAL_BLOCK];
  uint32_t unsure[EVAL_BLOCK];
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    if (fast(m, x + 2 * i, z + 2 * i, y, unsure))
      for (int64_t k = 0; k < m; k++) {
        const void *in[2] = {x + 2 * (i + k), z + 2 * (i + k)};
        if (unsure[k]) exact(NULL, 1, in, y + 2 * k);
      }
    memcpy(out + 2 * i, y, sizeof *y * 2 * (size_t)m);
  }
}
