// SPDX-License-Identifier: Apache-2.0
// Double-double building blocks of the vector loops for f64 (eval_fast64.c, which states the error bounds), private to
// those files: arithmetic, exp, log, sin and cos, atan, the rounding test, and loops made once per instruction set.
//
// All are branch-free and without calls or tables, so that loops of them become vectors.
#ifndef HLO_EVAL_FAST64_DD_H
#define HLO_EVAL_FAST64_DD_H

#include "hlo/eval_float_bits.h"
#include "hlo/eval_internal.h"

#define LOG2E 1.44269504088896338700
#define LN2_HI 6.93147180369123816490e-01  // 33 bits: times an exponent it is exact
#define LN2_LO 1.90821492927058770002e-10
#define PI_2_A 1.57079632679489655800e+00
#define PI_2_B 6.12323399573676603587e-17
#define PI_2_C (-1.49738490485916983e-33)
#define ATAN_HALF 4.63647609000806093515e-01
#define ATAN_HALF_LOW 2.26987774529616870924e-17
#define ROUNDER 6755399441055744.0  // 1.5 * 2^52: adding it rounds to an integer, which stands in the low bits
#define EPS 0x1p-67
#define EPS_POW 0x1p-66

INLINE double fma_(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}

// --- double-double
// Low parts may exceed half a unit of the high part, by a few bits: what is lost in products of two is below 2^-100.
// Only the rounding test needs them small.
typedef struct dd {
  double h, l;
} dd;

INLINE dd quick_sum(double a, double b) {  // |a| >= |b|
  double s = a + b;
  return (dd){s, b - (s - a)};
}
INLINE dd sum(double a, double b) {
  double s = a + b, t = s - a;
  return (dd){s, (a - (s - t)) + (b - t)};
}
INLINE dd mul(dd a, dd b) {
  double p = a.h * b.h;
  return (dd){p, fma_(a.h, b.l, fma_(a.l, b.h, fma_(a.h, b.h, -p)))};
}
INLINE dd mul_d(dd a, double b) {
  double p = a.h * b;
  return (dd){p, fma_(a.l, b, fma_(a.h, b, -p))};
}
INLINE dd add(dd a, dd b) {
  dd s = sum(a.h, b.h);
  return (dd){s.h, s.l + (a.l + b.l)};
}
INLINE dd add_small(dd a, dd b) {  // |a| >= |b|
  dd s = quick_sum(a.h, b.h);
  return (dd){s.h, s.l + (a.l + b.l)};
}
INLINE dd divide(dd a, dd b) {
  double q = a.h / b.h, r = fma_(-q, b.h, a.h) + fma_(-q, b.l, a.l);
  return quick_sum(q, r / b.h);
}
INLINE dd scale(dd a, double s) {  // by a power of two
  return (dd){a.h * s, a.l * s};
}

// 1/n as a double-double: the remainder of the first division is exact.
#define ONE_OVER(n) ((dd){1.0 / (n), __builtin_fma(-(1.0 / (n)), (n), 1.0) / (n)})

// Rounds where the error cannot change the result.
INLINE double settle(dd a, double eps) {
  a = quick_sum(a.h, a.l);
  double e = fabs(a.h) * eps, up = a.h + (a.l + e), down = a.h + (a.l - e);
  return up == down ? up : NAN;
}

// --- exp
// 2^k for an integer-valued |k| < 1000, given as k + ROUNDER.
INLINE double power_of_two(double k_rounder) {
  return of_bits((bits_of(k_rounder) + 1023) << 52);
}

typedef struct exp_parts {
  dd m1;     // exp(r) - 1
  double s;  // 2^k
} exp_parts;

INLINE exp_parts exp_split(dd x) {  // |x| < 691
  double k = x.h * LOG2E + ROUNDER, kk = k - ROUNDER;
  double a = fma_(-kk, LN2_HI, x.h), p = kk * LN2_LO;
  dd r = sum(a, -p);
  r = quick_sum(r.h, r.l + (x.l - fma_(kk, LN2_LO, -p)));  // the tail sees r.h only, and x.l may be 2^-43
  double t = r.h, q = 1.0 / 355687428096000 + t * (1.0 / 6402373705728000);
  q = fma_(t, q, 1.0 / 20922789888000);
  q = fma_(t, q, 1.0 / 1307674368000);
  q = fma_(t, q, 1.0 / 87178291200);
  q = fma_(t, q, 1.0 / 6227020800);
  q = fma_(t, q, 1.0 / 479001600);
  q = fma_(t, q, 1.0 / 39916800);
  q = fma_(t, q, 1.0 / 3628800);
  q = fma_(t, q, 1.0 / 362880);
  q = fma_(t, q, 1.0 / 40320);
  q = fma_(t, q, 1.0 / 5040);
  q = fma_(t, q, 1.0 / 720);
  dd d = add_small(ONE_OVER(120.0), (dd){t * q, 0});
  d = add_small(ONE_OVER(24.0), mul(r, d));
  d = add_small(ONE_OVER(6.0), mul(r, d));
  d = add_small((dd){0.5, 0}, mul(r, d));
  d = add_small((dd){1, 0}, mul(r, d));
  return (exp_parts){mul(r, d), power_of_two(k)};
}

INLINE dd exp_dd(dd x) {
  exp_parts e = exp_split(x);
  return scale(add_small((dd){1, 0}, e.m1), e.s);
}
INLINE dd expm1_dd(double x) {
  exp_parts e = exp_split((dd){x, 0});
  return add(sum(e.s, -1), scale(e.m1, e.s));
}

// --- log
// Of a positive normal number: m * 2^k with m in [sqrt(1/2), sqrt(2)), log m = 2 atanh((m - 1) / (m + 1)).
INLINE dd log_dd(double x) {
  uint64_t u = bits_of(x), t = u - UINT64_C(0x3fe6a09e667f3bcd);
  double k = of_bits((t >> 52) ^ UINT64_C(0x4330000000000000));  // 2^52 + k mod 4096
  k -= 4503599627370496.0;
  k = k >= 2048 ? k - 4096 : k;
  double m = of_bits(u - (t & UINT64_C(0xfff0000000000000))), f = m - 1;
  dd s = divide((dd){f, 0}, quick_sum(2, f)), z = mul(s, s);
  double w = z.h, q = 1.0 / 33 + w * (1.0 / 35);
  q = fma_(w, q, 1.0 / 31);
  q = fma_(w, q, 1.0 / 29);
  q = fma_(w, q, 1.0 / 27);
  q = fma_(w, q, 1.0 / 25);
  q = fma_(w, q, 1.0 / 23);
  q = fma_(w, q, 1.0 / 21);
  q = fma_(w, q, 1.0 / 19);
  q = fma_(w, q, 1.0 / 17);
  q = fma_(w, q, 1.0 / 15);
  q = fma_(w, q, 1.0 / 13);
  q = fma_(w, q, 1.0 / 11);
  dd d = add_small(ONE_OVER(9.0), (dd){w * q, 0});
  d = add_small(ONE_OVER(7.0), mul(z, d));
  d = add_small(ONE_OVER(5.0), mul(z, d));
  d = add_small(ONE_OVER(3.0), mul(z, d));
  d = add_small((dd){1, 0}, mul(z, d));
  d = mul(scale(s, 2), d);
  double p = k * LN2_LO;
  dd ln = add(sum(k * LN2_HI, p), (dd){0, fma_(k, LN2_LO, -p)});
  return add(ln, d);
}

// --- sin, cos, tan
typedef struct reduced {
  dd r, z;
  uint64_t quadrant;
} reduced;

INLINE reduced reduce(double x) {  // |x| < 2^20
  double k = x * 6.36619772367581382433e-01 + ROUNDER, kk = k - ROUNDER;
  double a = fma_(-kk, PI_2_A, x), p = kk * PI_2_B;
  dd r = sum(a, -p);
  r = quick_sum(r.h, r.l - fma_(kk, PI_2_C, fma_(kk, PI_2_B, -p)));
  return (reduced){r, mul(r, r), bits_of(k)};
}

INLINE dd pick(bool c, dd a, dd b) {
  return (dd){c ? a.h : b.h, c ? a.l : b.l};
}
INLINE dd minus(dd a) {
  return (dd){-a.h, -a.l};
}

// sin(r) or cos(r): b (1 + z P(z)) with b = r or 1; the coefficients are picked, so that one chain serves both.
INLINE dd sin_or_cos(reduced x, bool c) {
  double w = x.z.h;
#define PICK(even, odd) (c ? 1.0 / even : 1.0 / odd)
  double q = -PICK(1124000727777607680000.0, 25852016738884976640000.0);
  q = fma_(w, q, PICK(2432902008176640000.0, 51090942171709440000.0));
  q = fma_(w, q, -PICK(6402373705728000.0, 121645100408832000.0));
  q = fma_(w, q, PICK(20922789888000.0, 355687428096000.0));
  q = fma_(w, q, -PICK(87178291200.0, 1307674368000.0));
  q = fma_(w, q, PICK(479001600.0, 6227020800.0));
  q = fma_(w, q, -PICK(3628800.0, 39916800.0));
  q = fma_(w, q, PICK(40320.0, 362880.0));
#undef PICK
  dd d = add_small(pick(c, minus(ONE_OVER(720.0)), minus(ONE_OVER(5040.0))), (dd){w * q, 0});
  d = add_small(pick(c, ONE_OVER(24.0), ONE_OVER(120.0)), mul(x.z, d));
  d = add_small(pick(c, (dd){-0.5, 0}, minus(ONE_OVER(6.0))), mul(x.z, d));
  d = mul(x.z, d);
  dd b = pick(c, (dd){1, 0}, x.r);
  return add_small(b, mul(b, d));
}

INLINE dd with_sign(dd x, uint64_t odd) {
  odd <<= 63;
  return (dd){of_bits(bits_of(x.h) ^ odd), of_bits(bits_of(x.l) ^ odd)};
}

INLINE dd sine(double a) {
  reduced r = reduce(a);
  return with_sign(sin_or_cos(r, r.quadrant & 1), r.quadrant >> 1 & 1);
}
INLINE dd cosine(double a) {
  reduced r = reduce(a);
  return with_sign(sin_or_cos(r, !(r.quadrant & 1)), (r.quadrant + 1) >> 1 & 1);
}
INLINE dd tangent(double a) {
  reduced r = reduce(a);
  bool odd = r.quadrant & 1;
  return with_sign(divide(sin_or_cos(r, odd), sin_or_cos(r, !odd)), odd);
}

// atan of low / high in [0, 1]: above tan(pi/8) it is pi/4 + atan((low - high) / (low + high)).
INLINE dd atan_unit(double low, double high) {
  bool far = low > 0.4142135623730950488 * high;
  dd u = divide(pick(far, sum(high, -low), (dd){low, 0}), pick(far, quick_sum(high, low), (dd){high, 0})),
     z = mul(u, u);
  double w = z.h, q = 1.0 / 53 - w * (1.0 / 55);
  q = fma_(w, -q, 1.0 / 51);
  q = fma_(w, -q, 1.0 / 49);
  q = fma_(w, -q, 1.0 / 47);
  q = fma_(w, -q, 1.0 / 45);
  q = fma_(w, -q, 1.0 / 43);
  q = fma_(w, -q, 1.0 / 41);
  q = fma_(w, -q, 1.0 / 39);
  q = fma_(w, -q, 1.0 / 37);
  q = fma_(w, -q, 1.0 / 35);
  q = fma_(w, -q, 1.0 / 33);
  q = fma_(w, -q, 1.0 / 31);
  q = fma_(w, -q, 1.0 / 29);
  q = fma_(w, -q, 1.0 / 27);
  q = fma_(w, -q, 1.0 / 25);
  q = fma_(w, -q, 1.0 / 23);
  q = fma_(w, -q, 1.0 / 21);
  q = fma_(w, -q, 1.0 / 19);
  q = fma_(w, -q, 1.0 / 17);
  q = fma_(w, -q, 1.0 / 15);
  q = fma_(w, -q, 1.0 / 13);
  dd d = add_small(ONE_OVER(11.0), (dd){-w * q, 0});
  z = minus(z);
  d = add_small(ONE_OVER(9.0), mul(z, d));
  d = add_small(ONE_OVER(7.0), mul(z, d));
  d = add_small(ONE_OVER(5.0), mul(z, d));
  d = add_small(ONE_OVER(3.0), mul(z, d));
  d = add_small((dd){1, 0}, mul(z, d));
  d = mul(u, d);
  return pick(far, add((dd){0.5 * PI_2_A, 0.5 * PI_2_B}, minus(d)), d);
}
INLINE dd log1p_dd(double a) {
  dd u = sum(1, a), c = divide((dd){u.l, 0}, (dd){u.h, 0});
  c.l -= 0.5 * c.h * c.h;
  return add(log_dd(u.h), c);
}

// --- functions of one or two blocks
INLINE dd logistic_dd(double a) {
  return divide((dd){1, 0}, add((dd){1, 0}, exp_dd((dd){-a, 0})));
}
INLINE dd tanh_dd(double a) {  // beyond 25 it is 1 to more than 70 bits
  double b = a > 25 ? 25 : a < -25 ? -25 : a;
  dd e = expm1_dd(2 * b);
  return divide(e, add(e, (dd){2, 0}));
}
INLINE dd atan2_dd(double y, double x) {
  double a = fabs(y), b = fabs(x);
  dd r = atan_unit(a < b ? a : b, a < b ? b : a);
  r = pick(a > b, add((dd){PI_2_A, PI_2_B}, minus(r)), r);
  r = pick(x < 0, add((dd){2 * PI_2_A, 2 * PI_2_B}, minus(r)), r);
  return with_sign(r, bits_of(y) >> 63);
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

// --- loops
// Versions by instruction set, with equal results: where there is no FMA the C library's does the same, slowly.
#if defined(__GNUC__) && !defined(__clang__)
#define WIDEST ",prefer-vector-width=512"
#else
#define WIDEST
#endif
#if defined(__x86_64__) && defined(__GNUC__)
#define VERSIONS_OF(NAME, PARAMS, ARGS, BODY)                                                                     \
  __attribute__((target("avx512f,avx512dq,avx512vl,fma" WIDEST), noinline)) static void NAME##_avx512 PARAMS BODY \
      __attribute__((target("avx2,fma"), noinline)) static void NAME##_avx2 PARAMS BODY                           \
      __attribute__((noinline)) static void NAME##_base PARAMS BODY static void hlo_fast64_##NAME PARAMS {        \
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))                                 \
      NAME##_avx512 ARGS;                                                                                         \
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))                                     \
      NAME##_avx2 ARGS;                                                                                           \
    else                                                                                                          \
      NAME##_base ARGS;                                                                                           \
  }
#else
#define VERSIONS_OF(NAME, PARAMS, ARGS, BODY) static void hlo_fast64_##NAME PARAMS BODY
#endif
#define VERSIONS(NAME, PARAMS, ARGS, out, expr) VERSIONS_OF(NAME, PARAMS, ARGS, LOOP(out, expr))
#define LOOP(out, expr)                              \
  {                                                  \
    for (int64_t i = 0; i < n; i++) out[i] = (expr); \
  }
#endif
