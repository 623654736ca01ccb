// SPDX-License-Identifier: Apache-2.0
// First passes of the vector loops for f64 (eval_fast64.c): the methods of eval_fast64_dd.h with one or two
// double-double terms in place of three to five, and Taylor tails without long chains.
//
// Where these decide, so would the second passes: their bounds are smaller than the difference of FIRST_... and the
// error here, which was at most (against the second passes, 3 million arguments each)
//   exp, logistic  2^-61.5  r^4 q, up to 2^-10.7 of the result, in plain double
//   expm1, tanh    2^-59.7  the same, relative to exp(r) - 1
//   log, log1p     2^-62.6  z^2/5 of z = s^2 <= 2^-5.1
//   sin, cos, tan  2^-62.2  z^3/720 of z <= 2^-0.7
//   atan2          2^-61.9  z^2/5 of z <= 2^-4
#ifndef HLO_EVAL_FAST64_FIRST_H
#define HLO_EVAL_FAST64_FIRST_H

#include "hlo/eval_fast64_dd.h"

#define FIRST_EXP 0x1p-60
#define FIRST_EXPM1 0x1p-59
#define FIRST_LOG 0x1.8p-62
#define FIRST_SIN 0x1p-61
#define FIRST_TAN 0x1p-61
#define FIRST_ATAN 0x1p-61
#define FIRST_POW_LOG 0x1p-67  // times the exponent, and FIRST_EXP

// Like settle, for eps up to 2^-56: after quick_sum the number next to h is the right one if eps |h| carries l over the
// middle, which is at least 2^-54 |h| away: l (1 + 2^54 eps) then does.
INLINE double settle_first(dd a, double eps) {
  a = quick_sum(a.h, a.l);
  return a.h == a.h + fma_(a.l, 0x1p54 * eps, a.l) ? a.h : NAN;
}

// a + b x + c x^2 + d x^3 without a long chain
INLINE double quartet(double x, double xx, double a, double b, double c, double d) {
  return fma_(xx, fma_(x, d, c), fma_(x, b, a));
}

// --- exp
typedef struct first_exp {
  double h, l, s;  // exp(x) = (1 + h + l) s
} first_exp;

// exp(r) - 1 = r + r^2/2 + r^3/6 + r^4 q: the first three terms exact (r^3/6 but for 2^-53 of its low part), r = h + l.
INLINE first_exp exp_reduced(double h, double l, double s) {
  const dd sixth = ONE_OVER(6.0);
  double p = h * h, pl = fma_(h, h, -p), c = p * h, cl = fma_(pl, h, fma_(p, h, -c));
  double t = c * sixth.h, tl = fma_(cl, sixth.h, fma_(c, sixth.l, fma_(c, sixth.h, -t)));
  double p2 = p * p, e = quartet(h, p, 1.0 / 479001600, 1.0 / 6227020800, 1.0 / 87178291200, 1.0 / 1307674368000);
  e = fma_(p2, e, quartet(h, p, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800));
  e = fma_(c, e, fma_(p, 1.0 / 5040, fma_(h, 1.0 / 720, 1.0 / 120)));
  double q = fma_(h, e, 1.0 / 24);
  dd a = quick_sum(h, 0.5 * p), b = quick_sum(a.h, t);
  double low = fma_(l, b.h, l) + (fma_(0.5, pl, a.l) + (b.l + tl));
  return (first_exp){b.h, fma_(p2, q, low), s};
}
INLINE first_exp exp_reduce(double x) {  // |x| < 691
  double k = fma_(x, LOG2E, ROUNDER), kk = k - ROUNDER;
  double a = fma_(-kk, LN2_HI, x), h = fma_(-kk, LN2_LO, a), l = fma_(-kk, LN2_LO, a - h);
  return exp_reduced(h, l, power_of_two(k));
}
INLINE dd exp_whole(first_exp e) {
  dd a = quick_sum(1, e.h);
  return scale((dd){a.h, a.l + e.l}, e.s);
}
INLINE dd exp_first(double x) {
  return exp_whole(exp_reduce(x));
}
INLINE dd expm1_first(double x) {
  first_exp e = exp_reduce(x);
  dd a = sum(e.s, -1), b = sum(a.h, e.s * e.h);
  return (dd){b.h, a.l + fma_(e.s, e.l, b.l)};
}
// a / b, for low parts of at most some units of the high ones (those of exp_first and expm1_first may be 2^-9 of them).
INLINE dd ratio(dd a, dd b) {
  double y = 1 / b.h, q = a.h * y;
  return (dd){q, (fma_(-q, b.h, a.h) + fma_(-q, b.l, a.l)) * y};
}
INLINE dd logistic_first(double x) {
  dd e = exp_first(-x);
  e = quick_sum(e.h, e.l);
  dd d = sum(1, e.h);
  return ratio((dd){1, 0}, (dd){d.h, d.l + e.l});
}
INLINE dd tanh_first(double x) {
  double a = fabs(x);
  a = a < 25 ? a : 25;
  dd e = expm1_first(2 * a);
  e = quick_sum(e.h, e.l);
  dd d = sum(2, e.h), r = ratio(e, (dd){d.h, d.l + e.l});
  return with_sign(r, bits_of(x) >> 63);
}

// --- log
typedef struct first_log {
  dd s, z;   // log m = 2 s (1 + z/3 + z^2/5 + ...), z = s^2
  double k;  // log x = log m + k log 2
} first_log;

INLINE first_log log_split(dd x) {  // of x.h + x.l
  uint64_t u = bits_of(x.h), t = u - UINT64_C(0x3fe6a09e667f3bcd), e = t & UINT64_C(0xfff0000000000000);
  double k = of_bits((t >> 52) ^ UINT64_C(0x4330000000000000));
  k -= 4503599627370496.0;
  k = k >= 2048 ? k - 4096 : k;
  dd f = quick_sum(of_bits(u - e) - 1, x.l * of_bits(UINT64_C(0x3ff0000000000000) - e)), d = quick_sum(2, f.h);
  dd s = ratio(f, (dd){d.h, d.l + f.l});
  double zh = s.h * s.h;
  return (first_log){s, {zh, fma_(2 * s.h, s.l, fma_(s.h, s.h, -zh))}, k};
}
INLINE double log_tail(double w) {  // 1/7 + w/9 + ... + w^9/25
  double w2 = w * w, q = quartet(w, w2, 1.0 / 19, 1.0 / 21, 1.0 / 23, 1.0 / 25);
  q = fma_(w2 * w2, q, quartet(w, w2, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17));
  return fma_(w2, q, fma_(w, 1.0 / 9, 1.0 / 7));
}
INLINE dd log_sum(first_log x, dd p) {  // 2 s (1 + z p) + k log 2
  dd w = mul(x.z, p);
  double a = 2 * x.s.h, b = 2 * x.s.l, t = a * w.h;
  dd d = quick_sum(a, t);
  d.l += fma_(b, w.h, b) + fma_(a, w.l, fma_(a, w.h, -t));
  dd r = quick_sum(x.k * LN2_HI, d.h);
  return (dd){r.h, r.l + fma_(x.k, LN2_LO, d.l)};
}
INLINE dd log_first(dd x) {
  first_log y = log_split(x);
  return log_sum(y, add_small(ONE_OVER(3.0), (dd){y.z.h * fma_(y.z.h, log_tail(y.z.h), 1.0 / 5), 0}));
}

// --- sin, cos, tan
typedef struct first_reduced {
  dd r, z;
  uint64_t quadrant;
  bool fine;
} first_reduced;

INLINE first_reduced reduce_first(double x) {  // |x| < 2^20
  double k = fma_(x, 6.36619772367581382433e-01, ROUNDER), kk = k - ROUNDER;
  double a = fma_(-kk, PI_2_A, x), h = fma_(-kk, PI_2_B, a), l = fma_(-kk, PI_2_B, a - h), zh = h * h;
  return (first_reduced){{h, l}, {zh, fma_(2 * h, l, fma_(h, h, -zh))}, bits_of(k), (fabs(h) > 0x1p-20) | (kk == 0)};
}
INLINE dd sin_or_cos_first(first_reduced x, bool c) {
  double w = x.z.h;
#define PICK(even, odd) (c ? 1.0 / even : 1.0 / odd)
  double w2 = w * w,
         q = fma_(w, -PICK(6402373705728000.0, 121645100408832000.0), PICK(20922789888000.0, 355687428096000.0));
  q = fma_(w2 * w2, q,
           quartet(w, w2, PICK(40320.0, 362880.0), -PICK(3628800.0, 39916800.0), PICK(479001600.0, 6227020800.0),
                   -PICK(87178291200.0, 1307674368000.0)));
  q = fma_(w, q, -PICK(720.0, 5040.0));
#undef PICK
  dd d = add_small(pick(c, ONE_OVER(24.0), ONE_OVER(120.0)), (dd){w * q, 0});
  d = mul(x.z, add_small(pick(c, (dd){-0.5, 0}, minus(ONE_OVER(6.0))), mul(x.z, d)));
  dd b = pick(c, (dd){1, 0}, x.r);
  return add_small(b, mul(b, d));
}
INLINE dd sine_first(double a, bool *fine) {
  first_reduced r = reduce_first(a);
  *fine = r.fine;
  return with_sign(sin_or_cos_first(r, r.quadrant & 1), r.quadrant >> 1 & 1);
}
INLINE dd cosine_first(double a, bool *fine) {
  first_reduced r = reduce_first(a);
  *fine = r.fine;
  return with_sign(sin_or_cos_first(r, !(r.quadrant & 1)), (r.quadrant + 1) >> 1 & 1);
}
INLINE dd tangent_first(double a, bool *fine) {
  first_reduced r = reduce_first(a);
  bool odd = r.quadrant & 1;
  *fine = r.fine;
  return with_sign(ratio(sin_or_cos_first(r, odd), sin_or_cos_first(r, !odd)), odd);
}

// --- atan2
// low / high in [0, 1] is tan(A + atan u), u = (low - c high) / (high + c low) with c = tan A of 0, 1/2, 1: |u| <= 1/4,
// and the numerator is exact (Sterbenz' lemma).
INLINE dd atan2_first(double y, double x) {
  double a = fabs(y), b = fabs(x), low = a < b ? a : b, high = a < b ? b : a;
  bool middle = low > 0.25 * high, far = low > 0.72 * high, swap = a > b, left = x < 0;
  double c = far ? 1 : middle ? 0.5 : 0, dh = fma_(c, low, high);
  dd angle = pick(far, (dd){0.5 * PI_2_A, 0.5 * PI_2_B}, pick(middle, (dd){ATAN_HALF, ATAN_HALF_LOW}, (dd){0, 0}));
  dd base = pick(swap, (dd){PI_2_A, PI_2_B}, pick(left, (dd){2 * PI_2_A, 2 * PI_2_B}, (dd){0, 0}));
  dd u = ratio((dd){fma_(-c, high, low), 0}, (dd){dh, fma_(c, low, high - dh)});
  dd z = {-u.h * u.h, -fma_(2 * u.h, u.l, fma_(u.h, u.h, -u.h * u.h))};
  double w = z.h, w2 = w * w, w4 = w2 * w2, q = fma_(w, 1.0 / 31, 1.0 / 29);
  q = fma_(w4, q, quartet(w, w2, 1.0 / 21, 1.0 / 23, 1.0 / 25, 1.0 / 27));
  q = fma_(w4, q, quartet(w, w2, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19));
  q = fma_(w2 * w, q, fma_(w2, 1.0 / 11, fma_(w, 1.0 / 9, 1.0 / 7)));
  dd d = mul(z, add_small(ONE_OVER(3.0), (dd){w * fma_(w, q, 1.0 / 5), 0}));
  d = add_small(u, mul(u, d));
  uint64_t odd = swap ^ left;
  dd r = add_small(add_small(base, with_sign(angle, odd)), with_sign(d, odd));
  return with_sign(r, bits_of(y) >> 63);
}

// --- pow
INLINE dd log_fine(double x) {  // with a double-double 1/5, too
  first_log y = log_split((dd){x, 0});
  dd p = add_small(ONE_OVER(5.0), (dd){y.z.h * log_tail(y.z.h), 0});
  return log_sum(y, add_small(ONE_OVER(3.0), mul(y.z, p)));
}
INLINE dd pow_first(dd e) {  // exp(e); e.l may be 2^-44
  e = pick(fabs(e.h) < 690, e, (dd){0, 0});
  double k = fma_(e.h, LOG2E, ROUNDER), kk = k - ROUNDER;
  double f = fma_(-kk, LN2_HI, e.h), h = fma_(-kk, LN2_LO, f), l = fma_(-kk, LN2_LO, f - h);
  dd r = quick_sum(h, l + e.l);
  return exp_whole(exp_reduced(r.h, r.l, power_of_two(k)));
}

#endif
