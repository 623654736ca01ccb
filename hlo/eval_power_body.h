// SPDX-License-Identifier: Apache-2.0
// Complex power, once for double and once for long double like eval_complex_body.h, behind which it is included with
// the same R, N and M, and DIGITS, the bits of R's mantissa.
//
// a^b = exp(u) (cos v + i sin v) with u + i v = b log a. Errors of u and v are errors of the result relative to exp(u),
// so u and v are computed as sums of two R: log |a| and arg a by series in that arithmetic (Dekker: "A floating-point
// technique for extending the available precision", Numerische Mathematik 18, 1971), their products exactly. Where b
// log a is small and v is not near a multiple of pi/2, R alone is enough for c64.
//
// Parts that are zero are exactly so: with b real (or |a| = 1), v is a multiple of pi/2 only if a lies on an axis or a
// diagonal (arguments of Gaussian rationals that are rational multiples of pi), where it is counted in eighths of a
// turn.

typedef struct N(pair) {
  R hi, lo;
} N(pair);

// --- sums of two R -------------------------------------------------------------------------------

static N(pair) N(pair_sum)(R a, R b) {
  R s = a + b, t = s - a;
  return (N(pair)){s, (a - (s - t)) + (b - t)};
}

// |a| >= |b|
static N(pair) N(pair_quick_sum)(R a, R b) {
  R s = a + b;
  return (N(pair)){s, b - (s - a)};
}

static N(pair) N(pair_product)(R a, R b) {
  const R split = (R)(UINT64_C(1) << (DIGITS + 1) / 2) + 1;
  R p = a * b, ta = split * a, tb = split * b, ah = ta - (ta - a), bh = tb - (tb - b), al = a - ah, bl = b - bh;
  return (N(pair)){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static N(pair) N(pair_add)(N(pair) a, N(pair) b) {
  N(pair) s = N(pair_sum)(a.hi, b.hi), t = N(pair_sum)(a.lo, b.lo);
  s = N(pair_quick_sum)(s.hi, s.lo + t.hi);
  return N(pair_quick_sum)(s.hi, s.lo + t.lo);
}

static N(pair) N(pair_multiply)(N(pair) a, N(pair) b) {
  N(pair) p = N(pair_product)(a.hi, b.hi);
  return N(pair_quick_sum)(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static N(pair) N(pair_scale)(N(pair) a, R by) {
  return (N(pair)){a.hi * by, a.lo * by};
}  // by a power of 2
static N(pair) N(pair_times)(N(pair) a, R b) {
  return N(pair_multiply)(a, (N(pair)){b, 0});
}

static N(pair) N(pair_divide)(N(pair) a, N(pair) b) {
  R q = a.hi / b.hi;
  N(pair) rest = N(pair_add)(a, N(pair_times)(b, -q));
  R q2 = rest.hi / b.hi;
  rest = N(pair_add)(rest, N(pair_times)(b, -q2));
  return N(pair_add)(N(pair_quick_sum)(q, q2), (N(pair)){rest.hi / b.hi, 0});
}

static N(pair) N(pair_sqrt)(N(pair) a) {
  R r = M(sqrt)(a.hi);
  N(pair) rest = N(pair_add)(a, N(pair_scale)(N(pair_product)(r, r), -1));
  return N(pair_quick_sum)(r, rest.hi / (2 * r));
}

// A constant in doubles, the largest one last.
static N(pair) N(pair_constant)(const double *parts) {
  N(pair) s = {0, 0};
  for (int i = 0; i < POWER_PARTS; i++) s = N(pair_add)((N(pair)){parts[i], 0}, s);
  return s;
}

// sum over j of (sign s^2)^j s / (2 j + 1): atanh (sign 1) or arctan (-1), for |s| <= 1/5. The terms from DIGITS / 4 on
// are below an ulp of R, so R is enough for them.
static N(pair) N(odd_series)(N(pair) s, R sign) {
  N(pair) w = N(pair_scale)(N(pair_multiply)(s, s), sign), sum = {0, 0};
  int j = DIGITS / 2 + 2;
  for (; j > DIGITS / 4; j--) sum.hi = sum.hi * w.hi + (R)1 / (2 * j + 1);
  for (; j >= 0; j--) {
    N(pair) term = N(pair_divide)((N(pair)){1, 0}, (N(pair)){2 * j + 1, 0});
    sum = N(pair_add)(N(pair_multiply)(sum, w), term);
  }
  return N(pair_multiply)(sum, s);
}

// --- logarithm and argument of finite numbers that are not 0 -------------------------------------

// log |a| = e log 2 + log(1 + t) / 2 with the larger part of a / 2^e in [sqrt(1/2), sqrt(2)), t = (x - 1)(x + 1) + y^2
// and log(1 + t) = 2 atanh(t / (2 + t)) for 1 + t in [2/3, 4/3], to which a power of 2 brings it.
static N(pair) N(log_modulus)(N(cplx) a) {
  R x = M(fabs)(a.re), y = M(fabs)(a.im);
  if (x < y) {
    R swap = x;
    x = y;
    y = swap;
  }
  int e;
  x = M(frexp)(x, &e);
  if (x < (R)0.70710678) {
    x *= 2;
    e--;
  }
  y = M(ldexp)(y, -e);
  N(pair) t = N(pair_multiply)(N(pair_sum)(x, -1), N(pair_sum)(x, 1));
  t = N(pair_add)(t, N(pair_product)(y, y));
  int k = 2 * e;
  const N(pair) one = {1, 0};
  if (t.hi < -(R)1 / 3) {  // 1 + t doubled
    t = N(pair_add)(N(pair_scale)(t, 2), one);
    k--;
  }
  for (; t.hi > (R)1 / 3; k++) t = N(pair_scale)(N(pair_add)(t, (N(pair)){-1, 0}), (R)0.5);
  N(pair) log2 = N(pair_constant)(power_log2), s = N(pair_divide)(t, N(pair_add)(t, (N(pair)){2, 0}));
  N(pair) twice = N(pair_add)(N(pair_times)(log2, k), N(pair_scale)(N(odd_series)(s, 1), 2));
  return N(pair_scale)(twice, (R)0.5);
}

// arctan q = 4 arctan r, where r is q / (1 + sqrt(1 + q^2)), taken twice; q = min / max of the parts.
static N(pair) N(argument)(N(cplx) a) {
  R x = M(fabs)(a.re), y = M(fabs)(a.im);
  const N(pair) one = {1, 0}, pi = N(pair_constant)(power_pi);
  N(pair) q = N(pair_divide)((N(pair)){x < y ? x : y, 0}, (N(pair)){x < y ? y : x, 0});
  for (int i = 0; i < 2; i++) {
    N(pair) root = N(pair_sqrt)(N(pair_add)(one, N(pair_multiply)(q, q)));
    q = N(pair_divide)(q, N(pair_add)(one, root));
  }
  N(pair) r = N(pair_scale)(N(odd_series)(q, -1), 4);
  if (x < y) r = N(pair_add)(N(pair_scale)(pi, (R)0.5), N(pair_scale)(r, -1));
  if (signbit(a.re)) r = N(pair_add)(pi, N(pair_scale)(r, -1));
  return signbit(a.im) ? N(pair_scale)(r, -1) : r;
}

// The argument in eighths of a turn if it is a whole number of them, else 9.
static int N(eighths)(N(cplx) a) {
  int k = a.im == 0 ? 0 : a.re == 0 ? 2 : M(fabs)(a.re) == M(fabs)(a.im) ? 1 : 9;
  if (k == 9) return k;
  if (signbit(a.re) && k < 2) k = 4 - k;
  return signbit(a.im) ? -k : k;
}

// --- power ---------------------------------------------------------------------------------------

// exp(u) (c + i s); an infinite modulus times an exact 0 is 0.
static N(cplx) N(from_modulus)(R modulus, R c, R s) {
  return N(c_make)(c == 0 ? c : modulus * c, s == 0 ? s : modulus * s);
}

static N(cplx) N(power_in_pairs)(N(cplx) a, N(cplx) b) {
  N(pair) log = N(log_modulus)(a), angle = N(argument)(a);
  N(pair) u = N(pair_add)(N(pair_times)(log, b.re), N(pair_times)(angle, -b.im));
  N(pair) v = N(pair_add)(N(pair_times)(angle, b.re), N(pair_times)(log, b.im));
  if (!isfinite(u.hi) || !isfinite(v.hi)) return N(c_from)(M(cpow)(N(c_to)(a), N(c_to)(b)));
  R modulus = M(exp)(u.hi);
  if (isfinite(modulus)) modulus += modulus * u.lo;
  int eighths = N(eighths)(a);
  R k = b.re * eighths;
  if (eighths != 9 && (b.im == 0 || log.hi == 0) && M(fmod)(k, 2) == 0) {
    static const signed char sines[4] = {0, 1, 0, -1};
    int q = ((int)M(fmod)(k / 2, 4) + 4) % 4;
    R c = sines[(q + 1) % 4], s = sines[q];
    return N(from_modulus)(modulus, c, s == 0 ? M(copysign)(s, k == 0 ? k + b.im * log.hi : k) : s);
  }
  R s = M(sin)(v.hi), c = M(cos)(v.hi);
  return N(from_modulus)(modulus, c - s * v.lo, s + c * v.lo);
}

// Where R is much wider than the result: the plain formula, if it is good enough; false: it is not.
static bool N(power_in_r)(N(cplx) a, N(cplx) b, N(cplx) * out) {
  if (DIGITS != 53) return false;
  N(cplx) log = N(c_log)(a);
  R u = b.re * log.re - b.im * log.im, v = b.re * log.im + b.im * log.re, s = M(sin)(v), c = M(cos)(v), m = M(exp)(u);
  R size = (M(fabs)(b.re) + M(fabs)(b.im)) * (M(fabs)(log.re) + M(fabs)(log.im));
  bool real = a.im == 0 && b.im == 0 && !signbit(a.re);
  R smaller = real ? 1 : M(fabs)(s) < M(fabs)(c) ? M(fabs)(s) : M(fabs)(c);
  *out = N(from_modulus)(m, c, s);
  return size < 65536 * smaller;  // errors of u and v are below 2^-51 size
}

static N(cplx) N(c_power)(N(cplx) a, N(cplx) b) {
  if (b.re == 0 && b.im == 0) return N(c_make)(1, 0);
  if (a.re == 0 && a.im == 0) {  // as in XLA and NumPy: anything but a positive real power is NaN
    R p = b.im == 0 && b.re > 0 ? 0 : (R)NAN;
    return N(c_make)(p, p);
  }
  if (b.im == 0 && b.re == 1) return a;
  if (b.im == 0 && b.re == 2) return N(c_square)(a);
  if (!N(c_finite)(a) || !N(c_finite)(b)) return N(c_from)(M(cpow)(N(c_to)(a), N(c_to)(b)));
  N(cplx) plain;
  return N(power_in_r)(a, b, &plain) ? plain : N(power_in_pairs)(a, b);
}
