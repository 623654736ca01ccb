// SPDX-License-Identifier: Apache-2.0
// First passes of the vector loops for f64 (eval_fast64.c): the methods of eval_fast64_dd.h with one or two
// double-double terms in place of three to five, and Taylor tails without long chains.
//
// Polynomials interpolate at Chebyshev's nodes. Relative errors, the sums of what is named (u = 2^-53; h, l the parts
// of the reduced argument, of which a plain double tail sees h only); those of double-double steps are below 2^-95:
//   exp, logistic  2^-61.3  p2 q <= 2^-10.8 of exp(r) >= 2^-1/2: p2 3 u, q 2.2 u, the last sum 2^-64;
//                           polynomial 2^-66.3
//   expm1          2^-59.5  the same, relative to exp(r) - 1, and for k = 1 at r = -log(2)/2 to
//                           2 exp(r) - 1 = 0.414
//   tanh           2^-59.8  expm1 of a negative number, times 2 / (2 + e) <= 1.18 where k = 0
//   log, log1p     2^-62.6  z l-part 4.5 u of z^2 Q <= 2^-12.4; Q 2 u of z^2 Q w; polynomial 2^-66.4
//   log_fine       2^-68.4  the same of z^3/7 <= 2^-18; polynomial 2^-72
//   sin, cos       2^-62.2  z l-part 3 u of z^3/720 <= 2^-11.6 of cos(r) >= 2^-1/2; polynomial 2^-65.6;
//                           r 2^-65 for |r| > 2^-20, as x - k P1 is exact, and the rest within 2^-86
//   tan            2^-61.9  both
//   atan2          2^-62.5  Q 2.2 u of z^2 Q <= 2^-10.4; polynomial 2^-63.8
// Where these decide, so would the second passes, whose bounds are far below the differences of these and FIRST_...
#ifndef HLO_EVAL_FAST64_FIRST_H
#define HLO_EVAL_FAST64_FIRST_H

#include "hlo/eval_fast64_dd.h"

#define FIRST_EXP 0x1.8p-61
#define FIRST_EXPM1 0x1p-59
#define FIRST_TANH 0x1.8p-60
#define FIRST_LOG 0x1.8p-62
#define FIRST_SIN 0x1.8p-62
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
// a b + c for |a b| <= |c| / 2, or c = 0: c - h is exact then (Sterbenz' lemma).
INLINE dd mul_add(dd a, dd b, dd c) {
  double h = fma_(a.h, b.h, c.h);
  return (dd){h, fma_(a.h, b.h, c.h - h) + fma_(a.h, b.l, fma_(a.l, b.h, c.l))};
}
INLINE dd mul_d_add(double a, double b, dd c) {
  double h = fma_(a, b, c.h);
  return (dd){h, fma_(a, b, c.h - h) + c.l};
}
// a / b, for low parts of at most some units of the high ones (those of exp_first and expm1_first may be 2^-9 of them).
INLINE dd ratio(dd a, dd b) {
  double y = 1 / b.h, q = a.h * y;
  return (dd){q, (fma_(-q, b.h, a.h) + fma_(-q, b.l, a.l)) * y};
}
INLINE dd ratio_d(double a, dd b) {
  double y = 1 / b.h, q = a * y;
  return (dd){q, fma_(-q, b.l, fma_(-q, b.h, a)) * y};
}

// --- exp
typedef struct first_exp {
  double h, l, s;  // exp(x) = (1 + h + l) s
} first_exp;

// exp(r) - 1 = r + r^2 (1/2 + r/6) + r^4 q: a double-double but for the last term, r = h + l.
INLINE first_exp exp_reduced(double h, double l, double s) {
  const dd sixth = ONE_OVER(6.0);
  double p = h * h, pl = fma_(h, h, -p), p2 = p * p;
  double v = fma_(h, sixth.h, 0.5), vl = fma_(h, sixth.l, fma_(h, sixth.h, 0.5 - v));
  double t = p * v, tl = fma_(pl, v, fma_(p, vl, fma_(p, v, -t)));
  double q =
      fma_(p2, 0x1.61a5be5d24b84p-33,
           quartet(h, p, 0x1.71de3a57c1e1dp-19, 0x1.27e4e1f7222cbp-22, 0x1.ae643b4c93515p-26, 0x1.1f66d948a47fep-29));
  q = fma_(p2, q,
           quartet(h, p, 0x1.1111111111111p-7, 0x1.6c16c16c167e2p-10, 0x1.a01a01a019ddcp-13, 0x1.a01a01a47a591p-16));
  q = fma_(h, q, 1.0 / 24);
  dd b = quick_sum(h, t);
  return (first_exp){b.h, fma_(p2, q, fma_(l, b.h, l) + (b.l + tl)), s};
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
INLINE dd expm1_whole(first_exp e, dd s) {  // s: e.s - 1, which is 0 or more than |e.s e.h|
  dd b = quick_sum(s.h, e.s * e.h);
  return (dd){b.h, s.l + fma_(e.s, e.l, b.l)};
}
INLINE dd expm1_first(double x) {
  first_exp e = exp_reduce(x);
  return expm1_whole(e, sum(e.s, -1));
}
INLINE dd logistic_first(double x) {
  dd e = exp_first(-x);
  e = quick_sum(e.h, e.l);
  dd d = sum(1, e.h);
  return ratio_d(1, (dd){d.h, d.l + e.l});
}
INLINE dd tanh_first(double x) {  // with e = exp(-2 |x|) - 1: -e / (2 + e)
  double a = fabs(x);
  first_exp r = exp_reduce(-2 * (a < 25 ? a : 25));
  dd e = expm1_whole(r, quick_sum(-1, r.s));
  e = quick_sum(e.h, e.l);
  dd d = quick_sum(2, e.h);
  return with_sign(ratio(e, (dd){d.h, d.l + e.l}), ~bits_of(x) >> 63);
}

// --- log
typedef struct first_log {
  dd s, z;   // log m = 2 s (1 + z/3 + z^2/5 + ...), z = s^2
  double k;  // log x = log m + k log 2
} first_log;

INLINE first_log log_reduced(dd s, double k) {
  double zh = s.h * s.h;
  return (first_log){s, {zh, fma_(2 * s.h, s.l, fma_(s.h, s.h, -zh))}, k};
}
// m - 1 of x = m 2^k, m in [sqrt(1/2), sqrt(2)); *scale becomes 2^-k.
INLINE double log_split(double x, double *k, double *scale) {
  uint64_t u = bits_of(x) - UINT64_C(0x0006a09e667f3bcd), e = u & UINT64_C(0xfff0000000000000);  // (k + 1022) << 52
  *k = of_bits(u >> 52 | UINT64_C(0x4330000000000000)) - (0x1p52 + 1022);
  *scale = of_bits(UINT64_C(0x7fd0000000000000) - e);
  return of_bits(u - e + UINT64_C(0x3fe6a09e667f3bcd)) - 1;
}
INLINE first_log log_split_one(double x) {
  double k, scale, f = log_split(x, &k, &scale), d = 2 + f;
  return log_reduced(ratio_d(f, (dd){d, f - (d - 2)}), k);
}
INLINE first_log log_split_two(dd x) {
  double k, scale, m = log_split(x.h, &k, &scale);
  dd f = quick_sum(m, x.l * scale), d = quick_sum(2, f.h);
  return log_reduced(ratio(f, (dd){d.h, d.l + f.l}), k);
}
INLINE dd log_sum(first_log x, dd p) {  // 2 s (1 + z p) + k log 2
  dd s = scale(x.s, 2), d = mul_add(s, mul(x.z, p), s), r = quick_sum(x.k * LN2_HI, d.h);
  return (dd){r.h, r.l + fma_(x.k, LN2_LO, d.l)};
}
INLINE dd log_whole(first_log x) {
  double w = x.z.h, w2 = w * w;
  double q = quartet(w, w2, 0x1.3b1395d4f9e5fp-4, 0x1.1118c74823a2fp-4, 0x1.df7ce9a6bcc7bp-5, 0x1.e02d197c00fbcp-5);
  q = fma_(w2 * w, q, fma_(w2, 0x1.745d177a8f200p-4, fma_(w, 0x1.c71c71c6eaa8dp-4, 0x1.2492492492521p-3)));
  return log_sum(x, mul_d_add(w, fma_(w, q, 1.0 / 5), ONE_OVER(3.0)));
}
INLINE dd log_first(double x) {
  return log_whole(log_split_one(x));
}
INLINE dd log1p_first(double x) {
  return log_whole(log_split_two(sum(1, x)));
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
  double w = x.z.h, w2 = w * w;
#define PICK(even, odd) (c ? even : odd)
  double q = fma_(
      w2 * w2, PICK(0x1.abe6c8cef66e1p-45, 0x1.92fcc2074003dp-49),
      quartet(w, w2, PICK(0x1.a01a01a019f8ap-16, 0x1.71de3a556c6f7p-19),
              PICK(-0x1.27e4fb775f632p-22, -0x1.ae64567f30704p-26), PICK(0x1.1eed8e6c48375p-29, 0x1.612460be74c20p-33),
              PICK(-0x1.93957de5197afp-37, -0x1.ae7dba623fc7ap-41)));
  q = fma_(w, q, -PICK(1.0 / 720, 1.0 / 5040));
#undef PICK
  dd d = mul_d_add(w, q, pick(c, ONE_OVER(24.0), ONE_OVER(120.0)));
  d = mul(x.z, mul_add(x.z, d, pick(c, (dd){-0.5, 0}, minus(ONE_OVER(6.0)))));
  dd b = pick(c, (dd){1, 0}, x.r);
  return mul_add(b, d, b);
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
  dd s = sin_or_cos_first(r, false), c = sin_or_cos_first(r, true);
  *fine = r.fine;
  return with_sign(ratio(pick(odd, c, s), pick(odd, s, c)), odd);
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
  dd u = ratio_d(fma_(-c, high, low), (dd){dh, fma_(c, low, high - dh)});
  double w = -u.h * u.h, wl = -fma_(2 * u.h, u.l, fma_(u.h, u.h, w)), w2 = w * w;  // -u^2
  double q = quartet(w, w2, 0x1.110e4bff82cd6p-4, 0x1.e149591e7cc06p-5, 0x1.a57f1580e0abfp-5, 0x1.2f71bd06cb521p-5);
  q = fma_(w2 * w2, q,
           quartet(w, w2, 0x1.2492492492334p-3, 0x1.c71c71c6d35ffp-4, 0x1.745d1716c53bep-4, 0x1.3b13a20613fd7p-4));
  dd d = mul_d_add(w, fma_(w, q, 1.0 / 5), ONE_OVER(3.0));
  d.l = fma_(wl, 1.0 / 5, d.l);
  d = mul((dd){w, wl}, d);
  d = add_small(angle, mul_add(u, d, u));
  d = mul_add((dd){swap ^ left ? -1 : 1, 0}, d, base);
  return with_sign(d, bits_of(y) >> 63);
}

// --- pow
INLINE dd log_fine(double x) {  // with a double-double 1/5, too
  first_log y = log_split_one(x);
  double w = y.z.h, w2 = w * w;
  double q = quartet(w, w2, 0x1.1110f807e8c01p-4, 0x1.e1eff99e23b94p-5, 0x1.acf8627f00a18p-5, 0x1.b2df9aca4a13fp-5);
  q = fma_(w2 * w, q, fma_(w2, 0x1.3b13b16b4535dp-4, fma_(w, 0x1.745d1745a3f62p-4, 0x1.c71c71c71c822p-4)));
  q = fma_(w, q, 1.0 / 7);
  return log_sum(y, mul_add(y.z, mul_d_add(w, q, ONE_OVER(5.0)), ONE_OVER(3.0)));
}
INLINE dd pow_first(dd e) {  // exp(e) for |e| < 691; e.l may be 2^-44
  double k = fma_(e.h, LOG2E, ROUNDER), kk = k - ROUNDER;
  double f = fma_(-kk, LN2_HI, e.h), h = fma_(-kk, LN2_LO, f), l = fma_(-kk, LN2_LO, f - h);
  dd r = quick_sum(h, l + e.l);
  return exp_whole(exp_reduced(r.h, r.l, power_of_two(k)));
}

#endif
