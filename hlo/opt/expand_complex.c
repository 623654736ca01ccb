// SPDX-License-Identifier: Apache-2.0
// Complex functions that the kernel path has no form for, as HLO formulas on real and imaginary parts: inverse
// trigonometric and hyperbolic ones (Hull, Fairgrieve, Tang, ACM TOMS 23, 1997, as in hlo/eval_complex_body.h, squares
// written as products of a value and a quotient so that they do not overflow), cbrt, atan2, remainder, maximum,
// minimum.
#include <math.h>

#include "hlo/opt/expand.h"

static hv is_negative(expand *e, hv x) {  // the sign bit: -0 too
  hlo_dtype t = x->shape->dtype == HLO_F64 ? HLO_S64 : HLO_S32;
  const hlo_shape *bits = hlo_shape_with_dtype(e->b.module->shapes, x->shape, t);
  return CMP(LT, hlo_build_bitcast_convert(&e->b, x, bits), hlo_build_splat_f64(&e->b, bits, 0));
}

// |m| = m given: m with the sign of x.
static hv with_sign(expand *e, hv m, hv x) {
  return SELECT(is_negative(e, x), NEG(m), m);
}

// w with asin(x + iy) = (atan2(x, w.re), sign(y) w.im).
static void kernel(expand *e, hv re, hv im, hv *out_re, hv *out_im) {
  hv x = ABS(re), y = ABS(im), one = K(1), half = K(0.5), zero = K(0);
  hv up = ADD(x, one), r = ABS(COMPLEX(up, y)), s = ABS(COMPLEX(SUB(x, one), y)), a = MUL(half, ADD(r, s));
  hv flat = CMP(EQ, y, zero), inside = CMP(LE, x, one), gap = ABS(SUB(x, one)), q = ADD(s, gap);
  hv near_r = SELECT(flat, zero, MUL(y, DIV(y, ADD(r, up))));
  hv far_s = SELECT(flat, zero, MUL(y, DIV(y, q)));  // y^2 / (s + |1 - x|)
  hv a_minus_x = MUL(half, ADD(near_r, SELECT(inside, q, far_s)));
  hv a_minus_1 = MUL(half, ADD(near_r, SELECT(inside, far_s, q)));
  hv w_re = MUL(SQRT(a_minus_x), SQRT(ADD(a, x)));
  hv w_im = LOG1P(ADD(a_minus_1, MUL(SQRT(a_minus_1), SQRT(ADD(a, one)))));
  // Beyond the square root of the largest number: log(2|z|), and z itself dwarfs 1.
  hv big = K(x->shape->dtype == HLO_F64 ? 1e150 : 1e18), largest = EXPAND_BIN(MAXIMUM, x, y);
  hv is_big = CMP(GT, largest, big), inf = K(INFINITY), finite = CMP(LT, largest, inf);
  hv far = ADD(LOG(ABS(COMPLEX(MUL(x, half), MUL(y, half)))), K(2 * M_LN2));
  w_im = SELECT(is_big, far, w_im);
  w_re = SELECT(is_big, y, w_re);
  // Limits: (y or 0, inf).
  hv nan = OR(CMP(NE, x, x), CMP(NE, y, y)), y_inf = CMP(EQ, y, inf), any_inf = OR(CMP(EQ, x, inf), y_inf);
  hv limit_re = SELECT(y_inf, y, SELECT(nan, K(NAN), zero));
  *out_re = SELECT(finite, w_re, limit_re);
  *out_im = SELECT(finite, w_im, SELECT(any_inf, inf, K(NAN)));
}

static hv inverse(expand *e, hlo_op op, hv z) {
  hv x = REAL(z), y = IMAG(z), re, im;
  if (op == HLO_OP_ASINH) {
    kernel(e, NEG(y), x, &re, &im);
    return COMPLEX(with_sign(e, im, x), ATAN2(y, re));
  }
  kernel(e, x, y, &re, &im);
  switch (op) {
    case HLO_OP_ASIN: return COMPLEX(ATAN2(x, re), with_sign(e, im, y));
    case HLO_OP_ACOS: return COMPLEX(ATAN2(re, x), NEG(with_sign(e, im, y)));
    case HLO_OP_ACOSH: return COMPLEX(im, with_sign(e, ATAN2(re, x), y));
    default: return COMPLEX(re, im);
  }
}

// (log1p(4x / ((1-x)^2 + y^2)) / 4, atan2(2y, (1-x)(1+x) - y^2) / 2) for x >= 0; odd in x.
static void atanh_parts(expand *e, hv re, hv im, hv *out_re, hv *out_im) {
  hv x = ABS(re), y = im, one = K(1), d = SUB(one, x), inf = K(INFINITY);
  hv r = MUL(K(0.25), LOG1P(DIV(MUL(K(4), x), ADD(MUL(d, d), MUL(y, y)))));
  hv i = MUL(K(0.5), ATAN2(MUL(K(2), y), SUB(MUL(d, ADD(one, x)), MUL(y, y))));
  hv any_inf = OR(CMP(EQ, x, inf), CMP(EQ, ABS(y), inf));
  r = SELECT(any_inf, K(0), SELECT(AND(CMP(EQ, x, one), CMP(EQ, y, K(0))), inf, r));
  i = SELECT(AND(any_inf, CMP(EQ, y, y)), with_sign(e, K(M_PI / 2), y), i);
  *out_re = with_sign(e, r, re);
  *out_im = i;
}

static hv inverse_tangent(expand *e, hlo_op op, hv z) {
  hv re, im;
  if (op == HLO_OP_ATANH) {
    atanh_parts(e, REAL(z), IMAG(z), &re, &im);
    return COMPLEX(re, im);
  }
  atanh_parts(e, NEG(IMAG(z)), REAL(z), &re, &im);  // atan(z) = -i atanh(i z)
  return COMPLEX(im, NEG(re));
}

static hv cbrt_value(expand *e, hv z) {
  hv r = EXPAND_UN(CBRT, ABS(z)), angle = DIV(ATAN2(IMAG(z), REAL(z)), K(3));
  hv zero = AND(CMP(EQ, REAL(z), K(0)), CMP(EQ, IMAG(z), K(0)));
  return SELECT(zero, z, COMPLEX(MUL(r, COS(angle)), MUL(r, SIN(angle))));
}

// -i log((x + i y) / sqrt(x^2 + y^2))
static hv atan2_value(expand *e, hv y, hv x) {
  hv iy = COMPLEX(NEG(IMAG(y)), REAL(y));
  hv w = LOG(DIV(ADD(x, iy), SQRT(ADD(MUL(x, x), MUL(y, y)))));
  hv real = AND(CMP(EQ, IMAG(x), K(0)), CMP(EQ, IMAG(y), K(0)));
  return SELECT(real, COMPLEX(ATAN2(REAL(y), REAL(x)), K(0)), COMPLEX(IMAG(w), NEG(REAL(w))));
}

static hv truncated(expand *e, hv x) {
  return SELECT(is_negative(e, x), EXPAND_UN(CEIL, x), FLOOR(x));
}

static hv remainder_value(expand *e, hv x, hv y) {
  hv q = DIV(x, y);
  return SUB(x, MUL(COMPLEX(truncated(e, REAL(q)), truncated(e, IMAG(q))), y));
}

static hv is_nan(expand *e, hv z) {
  return OR(CMP(NE, REAL(z), REAL(z)), CMP(NE, IMAG(z), IMAG(z)));
}

static hv extremum(expand *e, hv x, hv y, bool larger) {
  hv a = larger ? x : y, b = larger ? y : x;  // minimum takes x where y >= x
  hv before = OR(CMP(GT, REAL(a), REAL(b)), AND(CMP(EQ, REAL(a), REAL(b)), CMP(GE, IMAG(a), IMAG(b))));
  return SELECT(is_nan(e, x), x, SELECT(is_nan(e, y), y, SELECT(before, x, y)));
}

hv expand_complex(expand *e, hlo_op op, hv x, hv y) {
  switch (op) {
    case HLO_OP_ASIN:
    case HLO_OP_ACOS:
    case HLO_OP_ACOSH:
    case HLO_OP_ASINH:
    case HLO_OP_ASIN_ACOS_KERNEL: return inverse(e, op, x);
    case HLO_OP_ATAN:
    case HLO_OP_ATANH: return inverse_tangent(e, op, x);
    case HLO_OP_CBRT: return cbrt_value(e, x);
    case HLO_OP_ATAN2: return atan2_value(e, x, y);
    case HLO_OP_REMAINDER: return remainder_value(e, x, y);
    case HLO_OP_MAXIMUM: return extremum(e, x, y, true);
    case HLO_OP_MINIMUM: return extremum(e, x, y, false);
    default: return NULL;
  }
}
