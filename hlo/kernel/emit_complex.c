// SPDX-License-Identifier: Apache-2.0
// Complex arithmetic on emitted values, in f32 or f64 parts.
//
// abs and division scale by the larger part so that nothing overflows or vanishes on the way; sqrt takes the stable
// half of its two formulas. The functions follow the usual identities on real and imaginary parts.
#include <math.h>

#include "hlo/kernel/emit.h"

#define BIN(op, x, y) kernel_bin(b, KERNEL_OP_##op, (x), (y))
#define UN(op, x) kernel_un(b, KERNEL_OP_##op, (x))
#define LIKE(v, x) kernel_const_like(b, (v), (x))

static emit_value make(kernel_value *re, kernel_value *im) {
  return (emit_value){re, im};
}

static emit_value add(emit_ctx *c, emit_value x, emit_value y) {
  kernel_builder *b = &c->b;
  return make(BIN(ADD, x.re, y.re), BIN(ADD, x.im, y.im));
}

static emit_value scale(emit_ctx *c, emit_value x, double k) {
  kernel_builder *b = &c->b;
  return make(BIN(MUL, x.re, LIKE(x.re, k)), BIN(MUL, x.im, LIKE(x.im, k)));
}

static emit_value multiply(emit_ctx *c, emit_value x, emit_value y) {
  kernel_builder *b = &c->b;
  return make(BIN(SUB, BIN(MUL, x.re, y.re), BIN(MUL, x.im, y.im)),
              BIN(ADD, BIN(MUL, x.re, y.im), BIN(MUL, x.im, y.re)));
}

// |z| = larger * sqrt(1 + (smaller / larger)^2); infinite if a part is.
static kernel_value *magnitude(emit_ctx *c, emit_value z) {
  kernel_builder *b = &c->b;
  kernel_value *re = UN(ABS, z.re), *im = UN(ABS, z.im);
  kernel_value *big = BIN(MAX, re, im), *small = BIN(MIN, re, im);
  kernel_value *zero = LIKE(big, 0), *inf = LIKE(big, INFINITY);
  kernel_value *q = BIN(DIV, small, big);
  kernel_value *h = BIN(MUL, big, UN(SQRT, BIN(ADD, LIKE(q, 1), BIN(MUL, q, q))));
  h = kernel_select(b, BIN(EQ, big, zero), zero, h);
  return kernel_select(b, BIN(OR, BIN(EQ, re, inf), BIN(EQ, im, inf)), inf, h);
}

// Smith's method; a zero divisor divides both parts by zero.
static emit_value divide(emit_ctx *c, emit_value x, emit_value y) {
  kernel_builder *b = &c->b;
  kernel_value *re_big = BIN(LE, UN(ABS, y.im), UN(ABS, y.re));
  kernel_value *big = kernel_select(b, re_big, y.re, y.im), *small = kernel_select(b, re_big, y.im, y.re);
  kernel_value *zero = LIKE(big, 0);
  kernel_value *r = kernel_select(b, BIN(EQ, big, zero), zero, BIN(DIV, small, big));
  kernel_value *d = BIN(ADD, big, BIN(MUL, small, r));
  kernel_value *p = kernel_select(b, re_big, x.re, x.im), *q = kernel_select(b, re_big, x.im, x.re);
  kernel_value *re = BIN(DIV, BIN(ADD, p, BIN(MUL, q, r)), d);
  kernel_value *im = BIN(DIV, BIN(SUB, q, BIN(MUL, p, r)), d);
  return make(re, kernel_select(b, re_big, im, UN(NEG, im)));
}

static emit_value exponential(emit_ctx *c, emit_value z) {
  kernel_builder *b = &c->b;
  // twice: exp(re) may overflow where the product does not
  kernel_value *half = UN(EXP, BIN(MUL, z.re, LIKE(z.re, 0.5)));
  kernel_value *re = BIN(MUL, BIN(MUL, half, UN(COS, z.im)), half);
  kernel_value *im = BIN(MUL, BIN(MUL, half, UN(SIN, z.im)), half);
  kernel_value *real = BIN(EQ, z.im, LIKE(z.im, 0));
  return make(kernel_select(b, real, UN(EXP, z.re), re), kernel_select(b, real, z.im, im));
}

// log|z|: log1p near the unit circle, scaled elsewhere.
static kernel_value *log_magnitude(emit_ctx *c, emit_value z) {
  kernel_builder *b = &c->b;
  kernel_value *re = UN(ABS, z.re), *im = UN(ABS, z.im), *big = BIN(MAX, re, im), *small = BIN(MIN, re, im);
  kernel_value *one = LIKE(big, 1);
  kernel_value *near_arg = BIN(ADD, BIN(MUL, BIN(SUB, big, one), BIN(ADD, big, one)), BIN(MUL, small, small));
  kernel_value *close = BIN(MUL, LIKE(big, 0.5), UN(LOG1P, near_arg));
  kernel_value *q = BIN(DIV, small, big);
  kernel_value *far = BIN(ADD, UN(LOG, big), BIN(MUL, LIKE(big, 0.5), UN(LOG1P, BIN(MUL, q, q))));
  kernel_value *inf = LIKE(big, INFINITY);
  kernel_value *is_near = BIN(AND, BIN(LT, LIKE(big, 0.5), big), BIN(LT, big, LIKE(big, 2)));
  kernel_value *r = kernel_select(b, is_near, close, far);
  r = kernel_select(b, BIN(EQ, big, LIKE(big, 0)), LIKE(big, -INFINITY), r);
  return kernel_select(b, BIN(OR, BIN(EQ, re, inf), BIN(EQ, im, inf)), inf, r);
}

static emit_value logarithm(emit_ctx *c, emit_value z) {
  return make(log_magnitude(c, z), kernel_bin(&c->b, KERNEL_OP_ATAN2, z.im, z.re));
}

static emit_value log_plus_one(emit_ctx *c, emit_value z) {
  // log|1 + z| = log1p(2 re + re^2 + im^2) / 2 while that is small, else as log does.
  kernel_builder *b = &c->b;
  emit_value w = make(BIN(ADD, z.re, LIKE(z.re, 1)), z.im);
  kernel_value *t = BIN(ADD, BIN(MUL, z.re, BIN(ADD, z.re, LIKE(z.re, 2))), BIN(MUL, z.im, z.im));
  kernel_value *small = BIN(MUL, LIKE(t, 0.5), UN(LOG1P, t));
  kernel_value *re = kernel_select(b, BIN(LT, UN(ABS, t), LIKE(t, 0.5)), small, log_magnitude(c, w));
  return make(re, BIN(ATAN2, z.im, w.re));
}

static emit_value square_root(emit_ctx *c, emit_value z) {
  // s = sqrt((|re| + |z|) / 2); re >= 0: (s, im / 2s), else (|im| / 2s, +-s). Scaled by 1/4 against overflow.
  kernel_builder *b = &c->b;
  kernel_value *zero = LIKE(z.re, 0), *inf = LIKE(z.re, INFINITY);
  emit_value q = scale(c, z, 0.25);
  kernel_value *s =
      BIN(MUL, UN(SQRT, BIN(MUL, LIKE(z.re, 0.5), BIN(ADD, UN(ABS, q.re), magnitude(c, q)))), LIKE(z.re, 2));
  kernel_value *other = BIN(DIV, UN(ABS, z.im), BIN(ADD, s, s));
  kernel_value *right = BIN(LE, zero, z.re);
  kernel_value *re = kernel_select(b, right, s, other), *im = kernel_select(b, right, other, s);
  kernel_value *at_zero = BIN(AND, BIN(EQ, z.re, zero), BIN(EQ, z.im, zero));
  re = kernel_select(b, at_zero, zero, re), im = kernel_select(b, at_zero, zero, im);
  kernel_value *im_inf = BIN(EQ, UN(ABS, z.im), inf), *re_inf = BIN(EQ, UN(ABS, z.re), inf);
  re = kernel_select(b, re_inf, kernel_select(b, right, inf, zero), re);
  im = kernel_select(b, re_inf, kernel_select(b, right, zero, inf), im);
  re = kernel_select(b, im_inf, inf, re), im = kernel_select(b, im_inf, inf, im);
  return make(re, BIN(COPYSIGN, im, z.im));
}

// sinh and cosh of a real, e = expm1(|x|): (e + e / (e + 1)) / 2 and 1 + that variant.
static void sinh_cosh(emit_ctx *c, kernel_value *x, kernel_value **s, kernel_value **ch) {
  kernel_builder *b = &c->b;
  kernel_value *a = UN(ABS, x), *e = UN(EXPM1, a), *e1 = BIN(ADD, e, LIKE(x, 1)), *half = LIKE(x, 0.5);
  kernel_value *small = BIN(MUL, half, BIN(ADD, e, BIN(DIV, e, e1)));
  kernel_value *root = UN(EXP, BIN(MUL, a, half)), *large = BIN(MUL, BIN(MUL, root, half), root);
  kernel_value *is_large = BIN(LT, LIKE(x, 20), a);
  *s = BIN(COPYSIGN, kernel_select(b, is_large, large, small), x);
  *ch = kernel_select(b, is_large, large, BIN(MUL, half, BIN(ADD, e1, BIN(DIV, LIKE(x, 1), e1))));
}

static emit_value hyperbolic(emit_ctx *c, emit_value z, bool is_sinh) {
  kernel_builder *b = &c->b;
  kernel_value *s, *ch, *co = UN(COS, z.im), *si = UN(SIN, z.im);
  sinh_cosh(c, z.re, &s, &ch);
  return is_sinh ? make(BIN(MUL, s, co), BIN(MUL, ch, si)) : make(BIN(MUL, ch, co), BIN(MUL, s, si));
}

static emit_value trigonometric(emit_ctx *c, emit_value z, bool is_sin) {
  kernel_builder *b = &c->b;
  kernel_value *s, *ch, *co = UN(COS, z.re), *si = UN(SIN, z.re);
  sinh_cosh(c, z.im, &s, &ch);
  return is_sin ? make(BIN(MUL, si, ch), BIN(MUL, co, s)) : make(BIN(MUL, co, ch), UN(NEG, BIN(MUL, si, s)));
}

static emit_value hyperbolic_tangent(emit_ctx *c, emit_value z) {
  // With t = tan(im), s = sinh(re): (cosh s (1 + t^2), t) / (1 + s^2 (1 + t^2)); for large |re|: (+-1, 4 sin cos
  // exp(-2|re|)).
  kernel_builder *b = &c->b;
  kernel_value *one = LIKE(z.re, 1), *t = UN(TAN, z.im), *s, *ch;
  sinh_cosh(c, z.re, &s, &ch);
  kernel_value *beta = BIN(ADD, one, BIN(MUL, t, t));
  kernel_value *d = BIN(ADD, one, BIN(MUL, beta, BIN(MUL, s, s)));
  kernel_value *re = BIN(DIV, BIN(MUL, BIN(MUL, beta, ch), s), d), *im = BIN(DIV, t, d);
  kernel_value *a = UN(ABS, z.re), *large = BIN(LT, LIKE(a, a->type.scalar == KERNEL_F64 ? 22 : 11), a);
  kernel_value *decay = UN(EXP, BIN(MUL, a, LIKE(a, -2)));
  kernel_value *far = BIN(MUL, BIN(MUL, BIN(MUL, LIKE(a, 4), UN(SIN, z.im)), UN(COS, z.im)), decay);
  return make(kernel_select(b, large, BIN(COPYSIGN, one, z.re), re), kernel_select(b, large, far, im));
}

static emit_value exponential_minus_one(emit_ctx *c, emit_value z) {
  // expm1(re) cos(im) - 2 sin^2(im / 2), exp(re) sin(im)
  kernel_builder *b = &c->b;
  kernel_value *h = UN(SIN, BIN(MUL, z.im, LIKE(z.im, 0.5)));
  kernel_value *re = BIN(SUB, BIN(MUL, UN(EXPM1, z.re), UN(COS, z.im)), BIN(MUL, LIKE(h, 2), BIN(MUL, h, h)));
  return make(re, BIN(MUL, UN(EXP, z.re), UN(SIN, z.im)));
}

static emit_value sign(emit_ctx *c, emit_value z) {
  kernel_builder *b = &c->b;
  kernel_value *m = magnitude(c, z), *zero = LIKE(m, 0), *none = BIN(EQ, m, zero);
  return make(kernel_select(b, none, zero, BIN(DIV, z.re, m)), kernel_select(b, none, zero, BIN(DIV, z.im, m)));
}

static emit_value one(emit_ctx *c, emit_value like) {
  kernel_builder *b = &c->b;
  return make(LIKE(like.re, 1), LIKE(like.re, 0));
}

static emit_value negate(emit_ctx *c, emit_value z) {
  kernel_builder *b = &c->b;
  return make(UN(NEG, z.re), UN(NEG, z.im));
}

emit_value emit_complex_unary(emit_ctx *c, const hlo_instr *i, hlo_dtype in, emit_value x) {
  kernel_builder *b = &c->b;
  switch (i->op) {
    case HLO_OP_REAL: return make(x.re, NULL);
    case HLO_OP_IMAG: return make(x.im, NULL);
    case HLO_OP_ABS: return make(magnitude(c, x), NULL);
    case HLO_OP_NEGATE: return negate(c, x);
    case HLO_OP_CONJ: return make(x.re, UN(NEG, x.im));
    case HLO_OP_SQUARE: return multiply(c, x, x);
    case HLO_OP_SIGN: return sign(c, x);
    case HLO_OP_EXPONENTIAL: return exponential(c, x);
    case HLO_OP_EXPONENTIAL_MINUS_ONE: return exponential_minus_one(c, x);
    case HLO_OP_LOG: return logarithm(c, x);
    case HLO_OP_LOG_PLUS_ONE: return log_plus_one(c, x);
    case HLO_OP_SQRT: return square_root(c, x);
    case HLO_OP_RSQRT: return divide(c, one(c, x), square_root(c, x));
    case HLO_OP_SINE: return trigonometric(c, x, true);
    case HLO_OP_COSINE: return trigonometric(c, x, false);
    case HLO_OP_SINH: return hyperbolic(c, x, true);
    case HLO_OP_COSH: return hyperbolic(c, x, false);
    case HLO_OP_TANH: return hyperbolic_tangent(c, x);
    case HLO_OP_TAN: {  // tan z = -i tanh(i z)
      emit_value t = hyperbolic_tangent(c, make(UN(NEG, x.im), x.re));
      return make(t.im, UN(NEG, t.re));
    }
    case HLO_OP_LOGISTIC: return divide(c, one(c, x), add(c, one(c, x), exponential(c, negate(c, x))));
    default:
      emit_fail(c, "%s of %s has no kernel form", hlo_op_table[i->op].text_name, hlo_dtype_table[in].hlo_name);
      return x;
  }
}

static emit_value resize(emit_ctx *c, emit_value z, kernel_scalar to) {
  return make(kernel_conv(&c->b, KERNEL_OP_FLOAT_CONVERT, z.re, to),
              kernel_conv(&c->b, KERNEL_OP_FLOAT_CONVERT, z.im, to));
}

// x^y = exp(y log x); 0^0 = 1, 0^y = 0 for Re y > 0.
static emit_value power(emit_ctx *c, emit_value x, emit_value y) {
  kernel_builder *b = &c->b;
  emit_value r = exponential(c, multiply(c, y, logarithm(c, x)));
  kernel_value *zero = LIKE(x.re, 0);
  kernel_value *x0 = BIN(AND, BIN(EQ, x.re, zero), BIN(EQ, x.im, zero));
  kernel_value *y0 = BIN(AND, BIN(EQ, y.re, LIKE(y.re, 0)), BIN(EQ, y.im, LIKE(y.im, 0)));
  kernel_value *vanishes = BIN(AND, x0, BIN(LT, LIKE(y.re, 0), y.re));
  r = emit_select(c, vanishes, make(zero, zero), r);
  return emit_select(c, y0, one(c, r), r);
}

emit_value emit_complex_binary(emit_ctx *c, hlo_op op, hlo_dtype t, emit_value x, emit_value y) {
  kernel_builder *b = &c->b;
  switch (op) {
    case HLO_OP_ADD: return add(c, x, y);
    case HLO_OP_SUBTRACT: return make(BIN(SUB, x.re, y.re), BIN(SUB, x.im, y.im));
    case HLO_OP_MULTIPLY: return multiply(c, x, y);
    case HLO_OP_DIVIDE: return divide(c, x, y);
    case HLO_OP_POWER: {
      // The exponential magnifies the logarithm's rounding by |y log x|: f32 parts go through f64 where there is one.
      if (t != HLO_C64 || !c->t->f64) return power(c, x, y);
      emit_value r = power(c, resize(c, x, KERNEL_F64), resize(c, y, KERNEL_F64));
      return resize(c, r, KERNEL_F32);
    }
    default:
      emit_fail(c, "%s of %s has no kernel form", hlo_op_table[op].text_name, hlo_dtype_table[t].hlo_name);
      return x;
  }
}
