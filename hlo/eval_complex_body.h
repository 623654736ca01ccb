// SPDX-License-Identifier: Apache-2.0
// Complex functions, once for double (which serves c64) and once for long double (which serves c128). eval_complex.c
// includes this twice with R (real type), N(name) (suffixes our names), M(name) (suffixes libm names) defined.
//
// The wider type's exponent range means that squares and products of c64 (c128) parts neither overflow nor vanish, so
// the plain formulas are robust; its extra precision (29 bits, 11 bits) absorbs the rounding of intermediate steps.
// Where cancellation could still eat it (|1+z| near 1 in log1p, |z| near 1 in atanh) the formulas avoid it. Special
// values follow C99 Annex G, except where XLA and StableHLO's tests differ: multiplication is the plain formula, which
// does not recover infinities from NaNs; exp(+-inf + i y) is NaN for y not finite; rsqrt(0) is (inf, NaN).
// Inverse trigonometric functions after Hull, Fairgrieve, Tang: "Implementing the complex arcsine and arccosine
// functions using exception handling", ACM TOMS 23 (1997), with the cases for overflow left out as the wider range has
// none.

typedef struct N(cplx) {
  R re, im;
} N(cplx);

static inline N(cplx) N(c_make)(R re, R im) {
  return (N(cplx)){re, im};
}
// Reading the parts of a complex as an array is what C guarantees (6.2.5), and CMPLX variants differ between compilers.
static inline R _Complex N(c_to)(N(cplx) z) {
  R _Complex c;
  memcpy(&c, &z, sizeof c);
  return c;
}
static inline N(cplx) N(c_from)(R _Complex c) {
  N(cplx) z;
  memcpy(&z, &c, sizeof z);
  return z;
}
static inline bool N(c_finite)(N(cplx) z) {
  return isfinite(z.re) && isfinite(z.im);
}

static N(cplx) N(c_negate)(N(cplx) a) {
  return N(c_make)(-a.re, -a.im);
}
static N(cplx) N(c_conj)(N(cplx) a) {
  return N(c_make)(a.re, -a.im);
}
static N(cplx) N(c_add)(N(cplx) a, N(cplx) b) {
  return N(c_make)(a.re + b.re, a.im + b.im);
}
static N(cplx) N(c_subtract)(N(cplx) a, N(cplx) b) {
  return N(c_make)(a.re - b.re, a.im - b.im);
}

static N(cplx) N(c_multiply)(N(cplx) a, N(cplx) b) {
  return N(c_make)(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
static N(cplx) N(c_square)(N(cplx) a) {
  return N(c_make)((a.re - a.im) * (a.re + a.im), 2 * a.re * a.im);
}

static N(cplx) N(c_divide)(N(cplx) a, N(cplx) b) {
  if (b.im == 0 && b.re != 0 && N(c_finite)(b) && N(c_finite)(a)) return N(c_make)(a.re / b.re, a.im / b.re);
  if (N(c_finite)(a) && N(c_finite)(b) && (b.re != 0 || b.im != 0)) {
    R d = b.re * b.re + b.im * b.im;
    return N(c_make)((a.re * b.re + a.im * b.im) / d, (a.im * b.re - a.re * b.im) / d);
  }
  return N(c_from)(N(c_to)(a) / N(c_to)(b));
}

static R N(c_abs)(N(cplx) a) {
  return M(hypot)(a.re, a.im);
}

static N(cplx) N(c_sign)(N(cplx) a) {
  if (a.re != a.re || a.im != a.im) return N(c_make)(NAN, NAN);
  if (a.re == 0 && a.im == 0) return N(c_make)(0, 0);
  R m = N(c_abs)(a);
  return N(c_make)(a.re / m, a.im / m);
}

static N(cplx) N(c_sqrt)(N(cplx) a) {
  return N(c_from)(M(csqrt)(N(c_to)(a)));
}

static N(cplx) N(c_polar)(R r, R angle) {
  return N(c_make)(r * M(cos)(angle), r * M(sin)(angle));
}

static N(cplx) N(c_rsqrt)(N(cplx) a) {
  if (a.re == 0 && a.im == 0) return N(c_make)(INFINITY, NAN);  // a pole without direction, as XLA has it
  if (N(c_finite)(a)) {                                         // 1 / w = conj(w) / |z|
    N(cplx) w = N(c_sqrt)(a);
    R m = N(c_abs)(a);
    return N(c_make)(w.re / m, -w.im / m);
  }
  return N(c_polar)(1 / M(sqrt)(N(c_abs)(a)), -M(atan2)(a.im, a.re) / 2);
}

static N(cplx) N(c_cbrt)(N(cplx) a) {
  if (a.re == 0 && a.im == 0) return a;
  return N(c_polar)(M(cbrt)(N(c_abs)(a)), M(atan2)(a.im, a.re) / 3);
}

// An angle that is not finite makes both parts NaN even where the modulus is 0 or infinite (StableHLO's tests, XLA).
static N(cplx) N(c_exp)(N(cplx) a) {
  if (isinf(a.re) && !isfinite(a.im)) return N(c_make)(NAN, NAN);
  return N(c_from)(M(cexp)(N(c_to)(a)));
}
static N(cplx) N(c_log)(N(cplx) a) {
  return N(c_from)(M(clog)(N(c_to)(a)));
}
static N(cplx) N(c_cos)(N(cplx) a) {
  return N(c_from)(M(ccos)(N(c_to)(a)));
}
static N(cplx) N(c_sin)(N(cplx) a) {
  return N(c_from)(M(csin)(N(c_to)(a)));
}
static N(cplx) N(c_tan)(N(cplx) a) {
  return N(c_from)(M(ctan)(N(c_to)(a)));
}
static N(cplx) N(c_tanh)(N(cplx) a) {
  return N(c_from)(M(ctanh)(N(c_to)(a)));
}
static N(cplx) N(c_cosh)(N(cplx) a) {
  return N(c_from)(M(ccosh)(N(c_to)(a)));
}
static N(cplx) N(c_sinh)(N(cplx) a) {
  return N(c_from)(M(csinh)(N(c_to)(a)));
}

// exp(z) - 1 = (expm1(x) cos y - 2 sin^2(y/2), exp(x) sin y)
static N(cplx) N(c_expm1)(N(cplx) a) {
  if (!N(c_finite)(a)) {
    N(cplx) e = N(c_exp)(a);
    return N(c_make)(e.re - 1, e.im);
  }
  if (a.im == 0) return N(c_make)(M(expm1)(a.re), a.im);
  R s = M(sin)(a.im / 2), e = M(exp)(a.re);
  if (isinf(e)) return N(c_exp)(a);
  return N(c_make)(M(expm1)(a.re) * M(cos)(a.im) - 2 * s * s, e * M(sin)(a.im));
}

// a * b + c * d - e with the products' and sums' rounding errors carried along (fma gives a product's error exactly).
static R N(c_sum_products)(R a, R b, R c, R d, R e) {
  R p = a * b, pe = M(fma)(a, b, -p), q = c * d, qe = M(fma)(c, d, -q);
  R s = p + q, t = s - p, se = (p - (s - t)) + (q - t);
  R u = s + e, v = u - s, ue = (s - (u - v)) + (e - v);
  return u + (ue + se + pe + qe);
}

// log(1+z) = (log1p(x (x + 2) + y^2) / 2, atan2(y, 1+x)). The argument of log1p cancels where |1+z| is near 1.
static N(cplx) N(c_log1p)(N(cplx) a) {
  if (!N(c_finite)(a)) return N(c_log)(N(c_make)(a.re + 1, a.im));
  R angle = M(atan2)(a.im, 1 + a.re), x = a.re, y = a.im;
  R big = M(fabs)(x) > M(fabs)(y) ? M(fabs)(x) : M(fabs)(y);
  R m = M(hypot)(1 + x, y);
  if (big > 4 || m < (R)0.5) return N(c_make)(M(log)(m), angle);
  return N(c_make)(M(log1p)(N(c_sum_products)(x, x, y, y, 2 * x)) / 2, angle);
}

// 1 / (1 + exp(-z)) = (exp(x) + cos y + i sin y) / (2 (cosh x + cos y)), which has poles at odd multiples of i pi: near
// them exp(x) + cos y = expm1(x) + 2 cos^2(y/2) and cosh x + cos y = 2 (sinh^2(x/2) + cos^2(y/2)); far from them both
// sides are divided by exp(|x|).
static N(cplx) N(c_logistic)(N(cplx) a) {
  if (!N(c_finite)(a)) {
    N(cplx) e = N(c_exp)(N(c_make)(-a.re, -a.im));
    return N(c_divide)(N(c_make)(1, 0), N(c_make)(1 + e.re, e.im));
  }
  R s = M(sin)(a.im), t = M(cos)(a.im), e = M(exp)(-M(fabs)(a.re));
  if (M(fabs)(a.re) < 1) {
    R h = M(sinh)(a.re / 2), k = M(cos)(a.im / 2), d = 4 * (h * h + k * k);
    return N(c_make)((M(expm1)(a.re) + 2 * k * k) / d, s / d);
  }
  R d = 1 + e * (2 * t + e);
  if (a.re > 0) return N(c_make)((1 + e * t) / d, e * s / d);
  return N(c_make)(e * (e + t) / d, e * s / d);
}

// a - trunc-toward-zero(a / b) * b, part by part: the specification leaves complex remainder open.
static N(cplx) N(c_remainder)(N(cplx) a, N(cplx) b) {
  N(cplx) q = N(c_divide)(a, b);
  return N(c_subtract)(a, N(c_multiply)(N(c_make)(M(trunc)(q.re), M(trunc)(q.im)), b));
}

static bool N(c_is_nan)(N(cplx) a) {
  return a.re != a.re || a.im != a.im;
}
static N(cplx) N(c_max)(N(cplx) a, N(cplx) b) {
  if (N(c_is_nan)(a)) return a;
  if (N(c_is_nan)(b)) return b;
  return a.re > b.re || (a.re == b.re && a.im >= b.im) ? a : b;
}
static N(cplx) N(c_min)(N(cplx) a, N(cplx) b) {
  if (N(c_is_nan)(a)) return a;
  if (N(c_is_nan)(b)) return b;
  return a.re < b.re || (a.re == b.re && a.im <= b.im) ? a : b;
}

// w with asin(z) = (atan2(x, w.re), sign(y) w.im), acos(z) = (atan2(w.re, x), -sign(y) w.im); both parts of w >= 0.
// With r = |z+1|, s = |z-1|, a = (r+s)/2: w.re = sqrt((a-x)(a+x)), w.im = log(a + sqrt(a^2-1)); a-x and a-1 are written
// as sums of non-negative terms. For z not finite: the limits.
static N(cplx) N(c_asin_acos_kernel)(N(cplx) z) {
  R x = M(fabs)(z.re), y = M(fabs)(z.im);
  if (!(x < INFINITY && y < INFINITY)) {
    R re = isinf(z.im) ? y : x != x || y != y ? (R)NAN : 0;
    if (isinf(z.re) && isinf(z.im)) re = INFINITY;
    return N(c_make)(re, isinf(z.re) || isinf(z.im) ? INFINITY : (R)NAN);
  }
  R r = M(hypot)(x + 1, y), s = M(hypot)(x - 1, y), a = (r + s) / 2, yy = y * y;
  R near_r = y == 0 ? 0 : yy / (r + (x + 1)), a_minus_x, a_minus_1;
  if (x <= 1) {
    a_minus_x = (near_r + (s + (1 - x))) / 2;
    a_minus_1 = y == 0 ? 0 : (near_r + yy / (s + (1 - x))) / 2;
  } else {
    a_minus_x = y == 0 ? 0 : (near_r + yy / (s + (x - 1))) / 2;
    a_minus_1 = (near_r + (s + (x - 1))) / 2;
  }
  return N(c_make)(M(sqrt)(a_minus_x) * M(sqrt)(a + x), M(log1p)(a_minus_1 + M(sqrt)(a_minus_1) * M(sqrt)(a + 1)));
}

static N(cplx) N(c_asin)(N(cplx) z) {
  if (!N(c_finite)(z)) return N(c_from)(M(casin)(N(c_to)(z)));
  N(cplx) w = N(c_asin_acos_kernel)(z);
  return N(c_make)(M(atan2)(z.re, w.re), M(copysign)(w.im, z.im));
}
static N(cplx) N(c_acos)(N(cplx) z) {
  if (!N(c_finite)(z)) return N(c_from)(M(cacos)(N(c_to)(z)));
  N(cplx) w = N(c_asin_acos_kernel)(z);
  return N(c_make)(M(atan2)(w.re, z.re), -M(copysign)(w.im, z.im));
}
static N(cplx) N(c_acosh)(N(cplx) z) {
  if (!N(c_finite)(z)) return N(c_from)(M(cacosh)(N(c_to)(z)));
  N(cplx) w = N(c_asin_acos_kernel)(z);
  return N(c_make)(w.im, M(copysign)(M(atan2)(w.re, z.re), z.im));
}
static N(cplx) N(c_asinh)(N(cplx) z) {
  if (!N(c_finite)(z)) return N(c_from)(M(casinh)(N(c_to)(z)));
  N(cplx) w = N(c_asin_acos_kernel)(N(c_make)(-z.im, z.re));
  return N(c_make)(M(copysign)(w.im, z.re), M(atan2)(z.im, w.re));
}

// atanh(z) = (log1p(4x / ((1-x)^2 + y^2)) / 4, atan2(2y, (1-x)(1+x) - y^2) / 2) for x >= 0; odd in x.
static N(cplx) N(c_atanh)(N(cplx) z) {
  if (!N(c_finite)(z)) return N(c_from)(M(catanh)(N(c_to)(z)));
  R x = M(fabs)(z.re), y = z.im, d = 1 - x;
  R re = x == 1 && y == 0 ? (R)INFINITY : M(log1p)(4 * x / (d * d + y * y)) / 4;
  R im = M(atan2)(2 * y, d * (1 + x) - y * y) / 2;
  return N(c_make)(M(copysign)(re, z.re), im);
}
// atan(z) = -i atanh(i z)
static N(cplx) N(c_atan)(N(cplx) z) {
  N(cplx) w = N(c_atanh)(N(c_make)(-z.im, z.re));
  return N(c_make)(w.im, -w.re);
}

// atan2(y, x) = -i log((x + i y) / sqrt(x^2 + y^2)), which loses a small part of the result to cancellation; but it
// equals atan(y / x) or that plus or minus pi, so the formula only says which.
static N(cplx) N(c_atan2)(N(cplx) y, N(cplx) x) {
  if (y.im == 0 && x.im == 0) return N(c_make)(M(atan2)(y.re, x.re), 0);
  N(cplx) r = N(c_sqrt)(N(c_add)(N(c_square)(x), N(c_square)(y)));
  N(cplx) w = N(c_log)(N(c_divide)(N(c_make)(x.re - y.im, x.im + y.re), r));
  N(cplx) rough = N(c_make)(w.im, -w.re), t = N(c_atan)(N(c_divide)(y, x));
  R turn = M(rint)((rough.re - t.re) / (R)EVAL_PI);
  if (!N(c_finite)(rough) || !N(c_finite)(t) || M(fabs)(turn) > 1) return rough;
  return N(c_make)(t.re + turn * (R)EVAL_PI, t.im);
}
