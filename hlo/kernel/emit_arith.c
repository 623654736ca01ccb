// SPDX-License-Identifier: Apache-2.0
// Elementwise arithmetic on emitted values: real, integer and pred. Complex values go to emit_complex.c.
//
// Small floats are computed in f32 and rounded once after each op. 2- and 4-bit integers live in i8, sign- or
// zero-extended, and are wrapped after each op that can leave their range. Guards give the defined results of division
// by zero, MIN / -1 and wide shifts.
#include <math.h>

#include "hlo/kernel/emit.h"

#define BIN(op, x, y) kernel_bin(b, KERNEL_OP_##op, (x), (y))
#define UN(op, x) kernel_un(b, KERNEL_OP_##op, (x))
#define LIKE(v, x) kernel_const_like(b, (v), (x))

bool emit_dtype_is_small(hlo_dtype t) {
  return hlo_dtype_is_float(t) && t != HLO_F32 && t != HLO_F64;
}

kernel_scalar emit_compute_scalar(hlo_dtype t) {
  return emit_dtype_is_small(t) ? KERNEL_F32 : kernel_scalar_of(t);
}

kernel_value *emit_up(emit_ctx *c, kernel_value *x) {
  const kernel_scalar_info *s = &kernel_scalar_table[x->type.scalar];
  if (!s->is_float || x->type.scalar == KERNEL_F32 || x->type.scalar == KERNEL_F64) return x;
  if (x->def && x->def->op == KERNEL_OP_CONST)
    return kernel_splat(&c->b, kernel_float(&c->b, KERNEL_F32, x->def->imm.f), x->type.lanes);
  return kernel_conv(&c->b, KERNEL_OP_FLOAT_CONVERT, x, KERNEL_F32);
}

kernel_value *emit_down(emit_ctx *c, kernel_value *x, hlo_dtype t) {
  return emit_dtype_is_small(t) ? kernel_conv(&c->b, KERNEL_OP_FLOAT_CONVERT, x, kernel_scalar_of(t)) : x;
}

kernel_value *emit_wrap(emit_ctx *c, kernel_value *x, hlo_dtype t) {
  kernel_builder *b = &c->b;
  int bits = hlo_dtype_table[t].bits;
  if (!hlo_dtype_is_integer(t) || bits >= 8) return x;
  if (!hlo_dtype_is_signed(t)) return BIN(AND, x, LIKE(x, (1 << bits) - 1));
  return BIN(SHR_S, BIN(SHL, x, LIKE(x, 8 - bits)), LIKE(x, 8 - bits));
}

static kernel_value *select_const(emit_ctx *c, kernel_value *cond, double x, kernel_value *y) {
  return kernel_select(&c->b, cond, kernel_const_like(&c->b, y, x), y);
}

// --- unary ---------------------------------------------------------------------------------------

static kernel_value *round_away(emit_ctx *c, kernel_value *x) {
  kernel_builder *b = &c->b;
  kernel_value *t = UN(TRUNC, x);
  kernel_value *up = BIN(LE, LIKE(x, 0.5), UN(ABS, BIN(SUB, x, t)));
  return BIN(ADD, t, BIN(COPYSIGN, kernel_select(b, up, LIKE(x, 1), LIKE(x, 0)), x));
}

static kernel_value *float_sign(emit_ctx *c, kernel_value *x) {
  kernel_builder *b = &c->b;
  kernel_value *zero = LIKE(x, 0);
  return select_const(c, BIN(LT, zero, x), 1, select_const(c, BIN(LT, x, zero), -1, x));
}

static kernel_value *one_minus_square(emit_ctx *c, kernel_value *x) {  // (1 - x)(1 + x)
  kernel_builder *b = &c->b;
  return BIN(MUL, BIN(SUB, LIKE(x, 1), x), BIN(ADD, LIKE(x, 1), x));
}

static kernel_value *sinh_value(emit_ctx *c, kernel_value *x) {
  // |x| < 1: e = expm1(|x|), (e + e / (e + 1)) / 2; large: exp(|x| - ln 2), which does not overflow early.
  kernel_builder *b = &c->b;
  kernel_value *a = UN(ABS, x), *e = UN(EXPM1, a);
  kernel_value *small = BIN(MUL, LIKE(x, 0.5), BIN(ADD, e, BIN(DIV, e, BIN(ADD, e, LIKE(x, 1)))));
  kernel_value *half = UN(EXP, BIN(MUL, a, LIKE(x, 0.5)));
  kernel_value *large = BIN(MUL, BIN(MUL, half, LIKE(x, 0.5)), half);
  return BIN(COPYSIGN, kernel_select(b, BIN(LT, a, LIKE(x, 20)), small, large), x);
}

static kernel_value *cosh_value(emit_ctx *c, kernel_value *x) {
  kernel_builder *b = &c->b;
  kernel_value *a = UN(ABS, x), *e = UN(EXP, a);
  kernel_value *small = BIN(MUL, LIKE(x, 0.5), BIN(ADD, e, BIN(DIV, LIKE(x, 1), e)));
  kernel_value *half = UN(EXP, BIN(MUL, a, LIKE(x, 0.5)));
  kernel_value *large = BIN(MUL, BIN(MUL, half, LIKE(x, 0.5)), half);
  return kernel_select(b, BIN(LT, a, LIKE(x, 20)), small, large);
}

static kernel_value *asinh_value(emit_ctx *c, kernel_value *x) {
  // log1p(a + a^2 / (1 + sqrt(a^2 + 1))); for large a: log(a) + ln 2.
  kernel_builder *b = &c->b;
  kernel_value *a = UN(ABS, x), *s = BIN(MUL, a, a);
  kernel_value *root = UN(SQRT, BIN(ADD, s, LIKE(x, 1)));
  kernel_value *mid = UN(LOG1P, BIN(ADD, a, BIN(DIV, s, BIN(ADD, root, LIKE(x, 1)))));
  double big = x->type.scalar == KERNEL_F64 ? 1e150 : 1e18;
  kernel_value *large = BIN(ADD, UN(LOG, a), LIKE(x, M_LN2));
  return BIN(COPYSIGN, kernel_select(b, BIN(LT, LIKE(x, big), a), large, mid), x);
}

static kernel_value *acosh_value(emit_ctx *c, kernel_value *x) {
  // log1p(t + sqrt(t (t + 2))), t = x - 1; for large x: log(x) + ln 2.
  kernel_builder *b = &c->b;
  kernel_value *t = BIN(SUB, x, LIKE(x, 1));
  kernel_value *root = BIN(MUL, UN(SQRT, t), UN(SQRT, BIN(ADD, t, LIKE(x, 2))));
  kernel_value *mid = UN(LOG1P, BIN(ADD, t, root));
  double big = x->type.scalar == KERNEL_F64 ? 1e150 : 1e18;
  return kernel_select(b, BIN(LT, LIKE(x, big), x), BIN(ADD, UN(LOG, x), LIKE(x, M_LN2)), mid);
}

static kernel_value *atanh_value(emit_ctx *c, kernel_value *x) {
  kernel_builder *b = &c->b;
  kernel_value *a = UN(ABS, x);
  kernel_value *q = BIN(DIV, BIN(ADD, a, a), BIN(SUB, LIKE(x, 1), a));
  return BIN(COPYSIGN, BIN(MUL, LIKE(x, 0.5), UN(LOG1P, q)), x);
}

static kernel_value *float_unary(emit_ctx *c, hlo_op op, kernel_value *x) {
  kernel_builder *b = &c->b;
  switch (op) {
    case HLO_OP_ABS: return UN(ABS, x);
    case HLO_OP_CBRT: return UN(CBRT, x);
    case HLO_OP_CEIL: return UN(CEIL, x);
    case HLO_OP_COSINE: return UN(COS, x);
    case HLO_OP_EXPONENTIAL: return UN(EXP, x);
    case HLO_OP_EXPONENTIAL_MINUS_ONE: return UN(EXPM1, x);
    case HLO_OP_FLOOR: return UN(FLOOR, x);
    case HLO_OP_LOG: return UN(LOG, x);
    case HLO_OP_LOG_PLUS_ONE: return UN(LOG1P, x);
    case HLO_OP_LOGISTIC: return UN(LOGISTIC, x);
    case HLO_OP_NEGATE: return UN(NEG, x);
    case HLO_OP_ROUND_NEAREST_AFZ: return round_away(c, x);
    case HLO_OP_ROUND_NEAREST_EVEN: return UN(ROUND_EVEN, x);
    case HLO_OP_RSQRT: return UN(RSQRT, x);
    case HLO_OP_SIGN: return float_sign(c, x);
    case HLO_OP_SINE: return UN(SIN, x);
    case HLO_OP_SQRT: return UN(SQRT, x);
    case HLO_OP_TAN: return UN(TAN, x);
    case HLO_OP_TANH: return UN(TANH, x);
    case HLO_OP_ERF: return UN(ERF, x);
    case HLO_OP_ERFC: return UN(ERFC, x);
    case HLO_OP_SQUARE: return BIN(MUL, x, x);
    case HLO_OP_CONJ:
    case HLO_OP_REAL: return x;
    case HLO_OP_IMAG: return LIKE(x, 0);
    case HLO_OP_ACOS: return BIN(ATAN2, UN(SQRT, one_minus_square(c, x)), x);
    case HLO_OP_ASIN: return BIN(ATAN2, x, UN(SQRT, one_minus_square(c, x)));
    case HLO_OP_ATAN: return BIN(ATAN2, x, LIKE(x, 1));
    case HLO_OP_SINH: return sinh_value(c, x);
    case HLO_OP_COSH: return cosh_value(c, x);
    case HLO_OP_ASINH: return asinh_value(c, x);
    case HLO_OP_ACOSH: return acosh_value(c, x);
    case HLO_OP_ATANH: return atanh_value(c, x);
    default: return NULL;
  }
}

static kernel_value *int_unary(emit_ctx *c, hlo_op op, hlo_dtype t, kernel_value *x) {
  kernel_builder *b = &c->b;
  int bits = hlo_dtype_table[t].bits;
  bool is_signed = hlo_dtype_is_signed(t);
  kernel_value *zero = LIKE(x, 0), *low = bits < 8 ? BIN(AND, x, LIKE(x, (1 << bits) - 1)) : x;
  switch (op) {
    case HLO_OP_ABS: return is_signed ? kernel_select(b, BIN(LT_S, x, zero), UN(NEG, x), x) : x;
    case HLO_OP_NEGATE: return UN(NEG, x);
    case HLO_OP_NOT: return UN(NOT, x);
    case HLO_OP_SIGN: {
      kernel_value *one = kernel_select(b, BIN(NE, x, zero), LIKE(x, 1), zero);
      return is_signed ? select_const(c, BIN(LT_S, x, zero), -1, one) : one;
    }
    case HLO_OP_POPCNT: return UN(POPCNT, low);
    case HLO_OP_COUNT_LEADING_ZEROS: {
      kernel_value *n = UN(CLZ, low);
      return bits < 8 ? BIN(SUB, n, LIKE(n, 8 - bits)) : n;
    }
    case HLO_OP_SQUARE: return BIN(MUL, x, x);
    case HLO_OP_CONJ:
    case HLO_OP_REAL: return x;
    default: return NULL;
  }
}

static kernel_value *float_test(emit_ctx *c, hlo_op op, kernel_value *x) {
  kernel_builder *b = &c->b;
  kernel_value *inf = LIKE(x, INFINITY);
  switch (op) {
    case HLO_OP_IS_FINITE: return BIN(LT, UN(ABS, x), inf);
    case HLO_OP_IS_INF: return BIN(EQ, UN(ABS, x), inf);
    case HLO_OP_IS_POS_INF: return BIN(EQ, x, inf);
    case HLO_OP_IS_NEG_INF: return BIN(EQ, x, LIKE(x, -INFINITY));
    default: return NULL;
  }
}

emit_value emit_unary(emit_ctx *c, const hlo_instr *i, hlo_dtype in, hlo_dtype out, emit_value x) {
  kernel_value *v = NULL;
  if (hlo_dtype_is_complex(in)) return emit_complex_unary(c, i, in, x);
  if (i->op == HLO_OP_REDUCE_PRECISION) {
    hlo_attrs_reduce_precision *p = HLO_ATTRS(i, reduce_precision);
    return (emit_value){emit_reduce_precision(c, in, x.re, (int)p->exponent_bits, (int)p->mantissa_bits), NULL};
  }
  if (hlo_dtype_is_float(in)) {
    v = float_test(c, i->op, emit_up(c, x.re));
    if (v) return (emit_value){v, NULL};
    v = float_unary(c, i->op, emit_up(c, x.re));
    if (v) return (emit_value){emit_down(c, v, out), NULL};
  } else if (in == HLO_PRED) {
    if (i->op == HLO_OP_NOT) return (emit_value){kernel_un(&c->b, KERNEL_OP_NOT, x.re), NULL};
  } else {
    v = int_unary(c, i->op, in, x.re);
    if (v) return (emit_value){emit_wrap(c, v, in), NULL};
  }
  emit_fail(c, "%s of %s has no kernel form", hlo_op_table[i->op].text_name, hlo_dtype_table[in].hlo_name);
  return emit_zero(c, out);
}

// --- binary --------------------------------------------------------------------------------------

static kernel_value *int_divide(emit_ctx *c, bool is_signed, bool remainder, kernel_value *x, kernel_value *y) {
  kernel_builder *b = &c->b;
  if (x->type.lanes < y->type.lanes) x = kernel_splat(b, x, y->type.lanes);
  if (y->type.lanes < x->type.lanes) y = kernel_splat(b, y, x->type.lanes);
  kernel_op op = remainder   ? is_signed ? KERNEL_OP_REM_S : KERNEL_OP_REM_U
                 : is_signed ? KERNEL_OP_DIV_S
                             : KERNEL_OP_DIV_U;
  if (y->def && y->def->op == KERNEL_OP_CONST && y->def->imm.i != 0 && (!is_signed || y->def->imm.i != -1))
    return kernel_bin(b, op, x, y);
  kernel_value *zero = BIN(EQ, y, LIKE(y, 0)), *bad = zero, *minus = NULL;
  if (is_signed) {
    minus = BIN(EQ, y, LIKE(y, -1));
    bad = BIN(OR, zero, minus);
  }
  kernel_value *q = kernel_bin(b, op, x, kernel_select(b, bad, LIKE(y, 1), y));
  if (remainder) return kernel_select(b, zero, x, q);  // x rem 1 is 0, which is right for -1 too
  if (is_signed) q = kernel_select(b, minus, UN(NEG, x), q);
  return select_const(c, zero, -1, q);
}

static kernel_value *int_shift(emit_ctx *c, kernel_op op, hlo_dtype t, kernel_value *x, kernel_value *y) {
  kernel_builder *b = &c->b;
  int bits = hlo_dtype_table[t].bits, wide = kernel_scalar_table[x->type.scalar].bits;
  if (bits < 8) {  // amounts are unsigned: wrapped to the type they may be negative in the register
    y = BIN(AND, y, LIKE(y, (1 << bits) - 1));
    if (op == KERNEL_OP_SHR_U) x = BIN(AND, x, LIKE(x, (1 << bits) - 1));
  }
  if (op == KERNEL_OP_SHR_S) return kernel_bin(b, op, x, BIN(MIN_U, y, LIKE(y, wide - 1)));
  kernel_value *in = BIN(LT_U, y, LIKE(y, bits));
  kernel_value *v = kernel_bin(b, op, x, kernel_select(b, in, y, LIKE(y, 0)));
  return kernel_select(b, in, v, LIKE(v, 0));
}

// Square and multiply over the exponent's bits; stops early where the exponent is a constant.
static kernel_value *int_power(emit_ctx *c, hlo_dtype t, kernel_value *x, kernel_value *y) {
  kernel_builder *b = &c->b;
  int lanes = x->type.lanes > y->type.lanes ? x->type.lanes : y->type.lanes, bits = hlo_dtype_table[t].bits;
  x = kernel_splat(b, x, lanes), y = kernel_splat(b, y, lanes);
  if (y->def && y->def->op == KERNEL_OP_CONST && y->def->imm.i >= 0) {
    kernel_value *r = LIKE(x, 1), *p = x;
    for (uint64_t e = (uint64_t)y->def->imm.i; e; e >>= 1) {
      if (e & 1) r = BIN(MUL, r, p);
      if (e > 1) p = BIN(MUL, p, p);
    }
    return r;
  }
  kernel_value *init[] = {LIKE(x, 1), x, y};
  kernel_for f = kernel_for_begin(b, kernel_index(b, 0), kernel_index(b, bits), kernel_index(b, 1), 3, init);
  kernel_value *odd = BIN(NE, BIN(AND, f.args[2], LIKE(y, 1)), LIKE(y, 0));
  kernel_value *next[] = {kernel_select(b, odd, BIN(MUL, f.args[0], f.args[1]), f.args[0]),
                          BIN(MUL, f.args[1], f.args[1]), BIN(SHR_U, f.args[2], LIKE(y, 1))};
  kernel_for_end(b, &f, next);
  kernel_value *r = f.results[0];
  if (!hlo_dtype_is_signed(t)) return r;
  // Negative exponent: 1 -> 1, -1 -> +-1, else 0.
  kernel_value *odd_y = BIN(NE, BIN(AND, y, LIKE(y, 1)), LIKE(y, 0));
  kernel_value *minus = kernel_select(b, odd_y, LIKE(x, -1), LIKE(x, 1));
  kernel_value *neg = kernel_select(b, BIN(EQ, x, LIKE(x, -1)), minus, LIKE(x, 0));
  neg = select_const(c, BIN(EQ, x, LIKE(x, 1)), 1, neg);
  return kernel_select(b, BIN(LT_S, y, LIKE(y, 0)), neg, r);
}

static kernel_value *int_mulhi(emit_ctx *c, hlo_dtype t, kernel_value *x, kernel_value *y) {
  kernel_builder *b = &c->b;
  int bits = hlo_dtype_table[t].bits;
  bool is_signed = hlo_dtype_is_signed(t);
  if (bits < 8) return kernel_bin(b, is_signed ? KERNEL_OP_SHR_S : KERNEL_OP_SHR_U, BIN(MUL, x, y), LIKE(x, bits));
  kernel_value *high = BIN(MULHI_U, x, y);
  if (!is_signed) return high;
  kernel_value *zero = LIKE(x, 0);
  high = BIN(SUB, high, kernel_select(b, BIN(LT_S, x, zero), y, zero));
  return BIN(SUB, high, kernel_select(b, BIN(LT_S, y, zero), x, zero));
}

static kernel_value *int_binary(emit_ctx *c, hlo_op op, hlo_dtype t, kernel_value *x, kernel_value *y) {
  kernel_builder *b = &c->b;
  bool is_signed = hlo_dtype_is_signed(t);
  switch (op) {
    case HLO_OP_ADD: return BIN(ADD, x, y);
    case HLO_OP_SUBTRACT: return BIN(SUB, x, y);
    case HLO_OP_MULTIPLY: return BIN(MUL, x, y);
    case HLO_OP_DIVIDE: return int_divide(c, is_signed, false, x, y);
    case HLO_OP_REMAINDER: return int_divide(c, is_signed, true, x, y);
    case HLO_OP_MAXIMUM: return is_signed ? BIN(MAX_S, x, y) : BIN(MAX_U, x, y);
    case HLO_OP_MINIMUM: return is_signed ? BIN(MIN_S, x, y) : BIN(MIN_U, x, y);
    case HLO_OP_POWER: return int_power(c, t, x, y);
    case HLO_OP_SHIFT_LEFT: return int_shift(c, KERNEL_OP_SHL, t, x, y);
    case HLO_OP_SHIFT_RIGHT_LOGICAL: return int_shift(c, KERNEL_OP_SHR_U, t, x, y);
    case HLO_OP_SHIFT_RIGHT_ARITHMETIC: {
      if (!is_signed && hlo_dtype_table[t].bits < 8) {  // the sign bit is the type's own
        int s = 8 - hlo_dtype_table[t].bits;
        x = BIN(SHR_S, BIN(SHL, x, LIKE(x, s)), LIKE(x, s));
      }
      return int_shift(c, KERNEL_OP_SHR_S, t, x, y);
    }
    case HLO_OP_AND: return BIN(AND, x, y);
    case HLO_OP_OR: return BIN(OR, x, y);
    case HLO_OP_XOR: return BIN(XOR, x, y);
    case HLO_OP_MULHI: return int_mulhi(c, t, x, y);
    default: return NULL;
  }
}

static kernel_value *float_binary(emit_ctx *c, hlo_op op, kernel_value *x, kernel_value *y) {
  kernel_builder *b = &c->b;
  switch (op) {
    case HLO_OP_ADD: return BIN(ADD, x, y);
    case HLO_OP_SUBTRACT: return BIN(SUB, x, y);
    case HLO_OP_MULTIPLY: return BIN(MUL, x, y);
    case HLO_OP_DIVIDE: return BIN(DIV, x, y);
    case HLO_OP_REMAINDER: return BIN(REM, x, y);
    case HLO_OP_MAXIMUM: return BIN(MAX, x, y);
    case HLO_OP_MINIMUM: return BIN(MIN, x, y);
    case HLO_OP_POWER: return BIN(POW, x, y);
    case HLO_OP_ATAN2: return BIN(ATAN2, x, y);
    default: return NULL;
  }
}

static kernel_value *pred_binary(emit_ctx *c, hlo_op op, kernel_value *x, kernel_value *y) {
  kernel_builder *b = &c->b;
  switch (op) {
    case HLO_OP_ADD:
    case HLO_OP_MAXIMUM:
    case HLO_OP_OR: return BIN(OR, x, y);
    case HLO_OP_MULTIPLY:
    case HLO_OP_MINIMUM:
    case HLO_OP_AND: return BIN(AND, x, y);
    case HLO_OP_XOR: return BIN(XOR, x, y);
    default: return NULL;
  }
}

// The neighbour of x towards y, on the bits: magnitudes count up and down, the smallest of the other sign follows zero.
static kernel_value *next_after(emit_ctx *c, kernel_value *x, kernel_value *y) {
  kernel_builder *b = &c->b;
  int lanes = x->type.lanes > y->type.lanes ? x->type.lanes : y->type.lanes;
  x = kernel_splat(b, x, lanes), y = kernel_splat(b, y, lanes);
  kernel_value *fx = emit_up(c, x), *fy = emit_up(c, y);
  kernel_scalar s = kernel_scalar_table[x->type.scalar].bytes == 8   ? KERNEL_I64
                    : kernel_scalar_table[x->type.scalar].bytes == 4 ? KERNEL_I32
                    : kernel_scalar_table[x->type.scalar].bytes == 2 ? KERNEL_I16
                                                                     : KERNEL_I8;
  kernel_type t = kernel_type_make(s, lanes);
  kernel_value *bits = kernel_bitcast(b, x, t), *ybits = kernel_bitcast(b, y, t);
  kernel_value *sign =
      kernel_splat(b, kernel_int(b, s, (int64_t)(UINT64_C(1) << (kernel_scalar_table[s].bits - 1))), lanes);
  kernel_value *x_zero = BIN(EQ, fx, LIKE(fx, 0));
  kernel_value *from_zero = BIN(OR, BIN(AND, ybits, sign), LIKE(bits, 1));
  kernel_value *grows = BIN(LT, UN(ABS, fx), UN(ABS, fy));
  kernel_value *same_sign = BIN(EQ, BIN(AND, bits, sign), BIN(AND, ybits, sign));
  grows = BIN(AND, grows, same_sign);
  kernel_value *step = kernel_select(b, grows, LIKE(bits, 1), LIKE(bits, -1));
  kernel_value *r = kernel_select(b, x_zero, from_zero, BIN(ADD, bits, step));
  r = kernel_select(b, BIN(EQ, fx, fy), ybits, r);
  kernel_value *v = kernel_bitcast(b, r, x->type);
  v = kernel_select(b, BIN(NE, fy, fy), y, v);
  return kernel_select(b, BIN(NE, fx, fx), x, v);
}

emit_value emit_binary(emit_ctx *c, hlo_op op, hlo_dtype t, emit_value x, emit_value y) {
  kernel_value *v = NULL;
  if (hlo_dtype_is_complex(t)) return emit_complex_binary(c, op, t, x, y);
  if (hlo_dtype_is_float(t)) {
    if (op == HLO_OP_NEXT_AFTER) return (emit_value){next_after(c, x.re, y.re), NULL};
    v = float_binary(c, op, emit_up(c, x.re), emit_up(c, y.re));
    if (v) return (emit_value){emit_down(c, v, t), NULL};
  } else if (t == HLO_PRED) {
    v = pred_binary(c, op, x.re, y.re);
    if (v) return (emit_value){v, NULL};
  } else {
    v = int_binary(c, op, t, x.re, y.re);
    if (v) return (emit_value){emit_wrap(c, v, t), NULL};
  }
  emit_fail(c, "%s of %s has no kernel form", hlo_op_table[op].text_name, hlo_dtype_table[t].hlo_name);
  return emit_zero(c, t);
}

// --- compare, clamp, select ----------------------------------------------------------------------

// Floats as integers whose signed order is the total order: of their own bits, as f32 would quiet a signaling NaN.
// Formats below 8 bits or without a sign take f32's, and those with a single NaN in the place of -0, which is the
// lowest.
static kernel_value *total_order_key(emit_ctx *c, hlo_dtype t, kernel_value *x) {
  kernel_builder *b = &c->b;
  if (t != HLO_F16 && t != HLO_BF16 && t != HLO_F8E5M2 && t != HLO_F8E4M3 && t != HLO_F8E4M3FN && t != HLO_F8E3M4)
    x = emit_up(c, x);
  int bytes = kernel_scalar_table[x->type.scalar].bytes;
  kernel_scalar s = bytes == 8 ? KERNEL_I64 : bytes == 4 ? KERNEL_I32 : bytes == 2 ? KERNEL_I16 : KERNEL_I8;
  kernel_value *bits = kernel_bitcast(b, x, kernel_type_make(s, x->type.lanes));
  int n = kernel_scalar_table[s].bits;
  kernel_value *sign = BIN(SHR_S, bits, LIKE(bits, n - 1));
  kernel_value *mask = kernel_splat(b, kernel_int(b, s, (int64_t)((UINT64_C(1) << (n - 1)) - 1)), x->type.lanes);
  kernel_value *key = BIN(XOR, bits, BIN(AND, sign, mask));
  if (t != HLO_F8E4M3FNUZ && t != HLO_F8E5M2FNUZ && t != HLO_F8E4M3B11FNUZ) return key;
  return kernel_select(b, BIN(NE, x, x), LIKE(key, INT32_MIN), key);
}

static kernel_value *compare_ordered(emit_ctx *c, int direction, kernel_op lt, kernel_op le, kernel_value *x,
                                     kernel_value *y) {
  kernel_builder *b = &c->b;
  switch (direction) {
    case HLO_COMPARISON_DIRECTION_EQ: return BIN(EQ, x, y);
    case HLO_COMPARISON_DIRECTION_NE: return BIN(NE, x, y);
    case HLO_COMPARISON_DIRECTION_LT: return kernel_bin(b, lt, x, y);
    case HLO_COMPARISON_DIRECTION_LE: return kernel_bin(b, le, x, y);
    case HLO_COMPARISON_DIRECTION_GT: return kernel_bin(b, lt, y, x);
    default: return kernel_bin(b, le, y, x);
  }
}

static kernel_value *compare_pred(emit_ctx *c, int direction, kernel_value *x, kernel_value *y) {
  kernel_builder *b = &c->b;
  switch (direction) {
    case HLO_COMPARISON_DIRECTION_EQ: return UN(NOT, BIN(XOR, x, y));
    case HLO_COMPARISON_DIRECTION_NE: return BIN(XOR, x, y);
    case HLO_COMPARISON_DIRECTION_LT: return BIN(AND, UN(NOT, x), y);
    case HLO_COMPARISON_DIRECTION_LE: return BIN(OR, UN(NOT, x), y);
    case HLO_COMPARISON_DIRECTION_GT: return BIN(AND, x, UN(NOT, y));
    default: return BIN(OR, x, UN(NOT, y));
  }
}

emit_value emit_compare(emit_ctx *c, int direction, int type, hlo_dtype t, emit_value x, emit_value y) {
  kernel_builder *b = &c->b;
  kernel_value *v;
  if (hlo_dtype_is_complex(t)) {
    kernel_value *re = BIN(EQ, x.re, y.re), *im = BIN(EQ, x.im, y.im);
    v = BIN(AND, re, im);
    if (direction == HLO_COMPARISON_DIRECTION_NE)
      v = UN(NOT, v);
    else if (direction != HLO_COMPARISON_DIRECTION_EQ)
      emit_fail(c, "complex numbers have no order");
  } else if (t == HLO_PRED) {
    v = compare_pred(c, direction, x.re, y.re);
  } else if (hlo_dtype_is_float(t)) {
    if (type == HLO_COMPARISON_TYPE_TOTALORDER)
      v = compare_ordered(c, direction, KERNEL_OP_LT_S, KERNEL_OP_LE_S, total_order_key(c, t, x.re),
                          total_order_key(c, t, y.re));
    else
      v = compare_ordered(c, direction, KERNEL_OP_LT, KERNEL_OP_LE, emit_up(c, x.re), emit_up(c, y.re));
  } else if (hlo_dtype_is_signed(t)) {
    v = compare_ordered(c, direction, KERNEL_OP_LT_S, KERNEL_OP_LE_S, x.re, y.re);
  } else {
    v = compare_ordered(c, direction, KERNEL_OP_LT_U, KERNEL_OP_LE_U, x.re, y.re);
  }
  return (emit_value){v, NULL};
}

emit_value emit_clamp(emit_ctx *c, hlo_dtype t, emit_value lo, emit_value x, emit_value hi) {
  return emit_binary(c, HLO_OP_MINIMUM, t, emit_binary(c, HLO_OP_MAXIMUM, t, x, lo), hi);
}

emit_value emit_select(emit_ctx *c, kernel_value *pred, emit_value x, emit_value y) {
  emit_value v = {kernel_select(&c->b, pred, x.re, y.re), NULL};
  if (x.im) v.im = kernel_select(&c->b, pred, x.im, y.im);
  return v;
}

// --- refusals ------------------------------------------------------------------------------------

static bool has_complex_form(const hlo_instr *i) {
  switch (i->op) {
    case HLO_OP_ABS:
    case HLO_OP_NEGATE:
    case HLO_OP_CONJ:
    case HLO_OP_REAL:
    case HLO_OP_IMAG:
    case HLO_OP_SQUARE:
    case HLO_OP_EXPONENTIAL:
    case HLO_OP_LOG:
    case HLO_OP_SQRT:
    case HLO_OP_RSQRT:
    case HLO_OP_COSINE:
    case HLO_OP_SINE:
    case HLO_OP_TANH:
    case HLO_OP_SIGN:
    case HLO_OP_ADD:
    case HLO_OP_SUBTRACT:
    case HLO_OP_MULTIPLY:
    case HLO_OP_DIVIDE:
    case HLO_OP_POWER:
    case HLO_OP_COMPARE:
    case HLO_OP_SELECT:
    case HLO_OP_CONVERT:
    case HLO_OP_COMPLEX:
    case HLO_OP_COSH:
    case HLO_OP_SINH:
    case HLO_OP_LOGISTIC:
    case HLO_OP_EXPONENTIAL_MINUS_ONE:
    case HLO_OP_LOG_PLUS_ONE:
    case HLO_OP_TAN: return true;
    default: return false;
  }
}

const char *emit_elementwise_refusal(const hlo_instr *i) {
  switch (i->op) {
    case HLO_OP_BESSEL_I1E:
    case HLO_OP_DIGAMMA:
    case HLO_OP_ERF_INV:
    case HLO_OP_LGAMMA:
    case HLO_OP_POLYGAMMA:
    case HLO_OP_ZETA:
    case HLO_OP_ASIN_ACOS_KERNEL: return "this special function has no kernel form";
    case HLO_OP_UNIFORM_QUANTIZE:
    case HLO_OP_UNIFORM_DEQUANTIZE: return "quantized types have no kernel form";
    default: break;
  }
  hlo_dtype t = i->shape->dtype;
  if (i->op == HLO_OP_REDUCE_PRECISION && (t == HLO_F8E4M3FNUZ || t == HLO_F8E5M2FNUZ || t == HLO_F8E4M3B11FNUZ))
    return "reduce_precision of FNUZ types (a bias and a NaN of their own) has no kernel form";
  if (i->op == HLO_OP_NEXT_AFTER && hlo_dtype_bytes(i->shape->dtype) == 1)
    return "next_after of f8, f6 and f4 has no kernel form";
  // Its products leave the range of f32, and there is no zero to round to.
  bool moves = i->op == HLO_OP_CONVERT || i->op == HLO_OP_COMPARE || i->op == HLO_OP_SELECT || i->op == HLO_OP_CLAMP ||
               i->op == HLO_OP_MAXIMUM || i->op == HLO_OP_MINIMUM;
  if (i->shape->dtype == HLO_F8E8M0FNU && hlo_op_has(i->op, HLO_TRAIT_E) && !moves)
    return "f8E8M0FNU arithmetic has no kernel form";
  for (int o = 0; o < i->n_operands; o++) {
    if (i->operands[o]->shape->quant) return "quantized types have no kernel form";
    if (hlo_dtype_is_complex(i->operands[o]->shape->dtype) && !has_complex_form(i))
      return "no kernel form for complex numbers";
  }
  return NULL;
}
