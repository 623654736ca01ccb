// SPDX-License-Identifier: Apache-2.0
// Small floats as integers: encoding and decoding by bit operations, and the stage that rewrites a kernel so that bf16,
// f8, f6, f4 (and f16 where the target has none) never appear as arithmetic types.
//
// Every arithmetic operation on a small float is done in f32 and rounded once. Integer and f64 sources are first
// brought to f32 rounded to odd, so that the second rounding is the only one that counts (Boldo and Melquiond, 2008).
#include <math.h>

#include "hlo/kernel/legalize_internal.h"

typedef kernel_value *val;
typedef enum float_kind { IEEE, FN, FNUZ, FINITE, E8M0 } float_kind;
typedef struct format {
  int bits, e, m, bias;
  float_kind kind;
} format;

static format format_of(kernel_scalar s) {
  switch (s) {
#define M(name, bits, e, m, bias, kind) \
  case KERNEL_##name:                   \
    return (format){bits, e, m, bias, kind};
#define KERNEL_f16 KERNEL_F16
#define KERNEL_bf16 KERNEL_BF16
#define KERNEL_f8E5M2 KERNEL_F8E5M2
#define KERNEL_f8E4M3 KERNEL_F8E4M3
#define KERNEL_f8E3M4 KERNEL_F8E3M4
#define KERNEL_f8E4M3FN KERNEL_F8E4M3FN
#define KERNEL_f8E4M3FNUZ KERNEL_F8E4M3FNUZ
#define KERNEL_f8E5M2FNUZ KERNEL_F8E5M2FNUZ
#define KERNEL_f8E4M3B11FNUZ KERNEL_F8E4M3B11FNUZ
#define KERNEL_f8E8M0FNU KERNEL_F8E8M0FNU
#define KERNEL_f6E2M3FN KERNEL_F6E2M3FN
#define KERNEL_f6E3M2FN KERNEL_F6E3M2FN
#define KERNEL_f4E2M1FN KERNEL_F4E2M1FN
    SMALL_FLOATS(M)
#undef M
    default: LEMNOS_PANIC("not a small float: %s", kernel_scalar_table[s].name);
  }
}

static val bin(kernel_builder *b, kernel_op op, val x, val y) {
  return kernel_bin(b, op, x, y);
}
static val imm(kernel_builder *b, val like, int64_t x) {
  return kernel_splat(b, kernel_int(b, KERNEL_I32, x), like->type.lanes);
}
static val fimm(kernel_builder *b, val like, double x) {
  return kernel_splat(b, kernel_float(b, KERNEL_F32, x), like->type.lanes);
}
static val as_bits(kernel_builder *b, val x) {
  return kernel_bitcast(b, x, kernel_type_make(KERNEL_I32, x->type.lanes));
}
static val as_f32(kernel_builder *b, val x) {
  return kernel_bitcast(b, x, kernel_type_make(KERNEL_F32, x->type.lanes));
}

// Codes (without sign) of the largest finite value and of what overflow and NaN become.
static int64_t max_code(format f) {
  int64_t all = ((int64_t)1 << (f.bits - 1)) - 1;  // exponent and mantissa bits all ones
  switch (f.kind) {
    case IEEE: return (((int64_t)1 << f.e) - 1) * ((int64_t)1 << f.m) - 1;
    case FN: return all - 1;
    default: return all;
  }
}

static val encode_e8m0(kernel_builder *b, val x) {
  val u = as_bits(b, x);
  // Nearest power of two, ties upwards (base/half.c); zero, negatives, infinities and NaN give NaN (255). Below 2^-127
  // rounds to it.
  val e = bin(b, KERNEL_OP_SHR_U, u, imm(b, u, 23)), m = bin(b, KERNEL_OP_AND, u, imm(b, u, 0x7fffff));
  val up = bin(b, KERNEL_OP_LE_U, imm(b, u, 0x400000), m);
  val r = bin(b, KERNEL_OP_ADD, e, kernel_conv(b, KERNEL_OP_EXTEND_U, up, KERNEL_I32));
  // Subnormal inputs: from 2^-127 * 1.5 on they round to 2^-126 (code 1), else to 2^-127 (code 0).
  val sub = kernel_select(b, bin(b, KERNEL_OP_LE_U, imm(b, u, 0x600000), m), imm(b, u, 1), imm(b, u, 0));
  r = kernel_select(b, bin(b, KERNEL_OP_EQ, e, imm(b, u, 0)), sub, r);
  val bad =
      bin(b, KERNEL_OP_OR, bin(b, KERNEL_OP_LE_S, u, imm(b, u, 0)), bin(b, KERNEL_OP_LE_S, imm(b, u, 0x7f800000), u));
  return kernel_select(b, bad, imm(b, u, 255), r);
}

val legalize_encode(kernel_builder *b, val x, kernel_scalar to) {
  format f = format_of(to);
  if (f.kind == E8M0) return encode_e8m0(b, x);
  val u = as_bits(b, x), abs = bin(b, KERNEL_OP_AND, u, imm(b, u, 0x7fffffff));
  val sign = bin(b, KERNEL_OP_SHL, bin(b, KERNEL_OP_SHR_U, u, imm(b, u, 31)), imm(b, u, f.bits - 1));
  val is_nan = bin(b, KERNEL_OP_LT_U, imm(b, u, 0x7f800000), abs);
  int drop = 23 - f.m;
  // Normal range: rebias, round by adding just under half (plus one for an odd last bit).
  val v = bin(b, KERNEL_OP_SUB, abs, imm(b, u, (int64_t)(127 - f.bias) << 23));
  val lsb = bin(b, KERNEL_OP_AND, bin(b, KERNEL_OP_SHR_U, v, imm(b, u, drop)), imm(b, u, 1));
  val r = bin(b, KERNEL_OP_SHR_U,
              bin(b, KERNEL_OP_ADD, v, bin(b, KERNEL_OP_ADD, lsb, imm(b, u, ((int64_t)1 << (drop - 1)) - 1))),
              imm(b, u, drop));
  if (f.e < 8) {
    // Subnormal range: the hardware rounds when a power of two with the right last place is added.
    double magic = ldexp(1, 1 - f.bias - f.m + 23);
    val sum = as_bits(b, bin(b, KERNEL_OP_ADD, as_f32(b, abs), fimm(b, u, magic)));
    val sub = bin(b, KERNEL_OP_SUB, sum, as_bits(b, fimm(b, u, magic)));
    float smallest_normal = (float)ldexp(1, 1 - f.bias);
    uint32_t limit;
    memcpy(&limit, &smallest_normal, 4);
    r = kernel_select(b, bin(b, KERNEL_OP_LT_U, abs, imm(b, u, limit)), sub, r);
  }
  int64_t max = max_code(f), infinity = max + 1;
  int64_t nan = f.kind == IEEE ? infinity | (int64_t)1 << (f.m - 1) : f.kind == FN ? max + 1 : 0;
  int64_t overflow = f.kind == IEEE ? infinity : f.kind == FN ? max + 1 : f.kind == FINITE ? max : 0;
  val over = bin(b, KERNEL_OP_LT_S, imm(b, u, max), r);
  if (f.e < 8) over = bin(b, KERNEL_OP_OR, over, bin(b, KERNEL_OP_LE_U, imm(b, u, 0x7f800000), abs));
  if (f.kind == FNUZ) {  // one zero; its negative is NaN
    val bad = bin(b, KERNEL_OP_OR, over, is_nan), zero = bin(b, KERNEL_OP_EQ, r, imm(b, u, 0));
    val code = kernel_select(b, zero, imm(b, u, 0), bin(b, KERNEL_OP_OR, r, sign));
    return kernel_select(b, bad, imm(b, u, (int64_t)1 << (f.bits - 1)), code);
  }
  r = kernel_select(b, over, imm(b, u, overflow), r);
  if (f.kind == FINITE) {  // no NaN: zero of the opposite sign, as ml_dtypes has it
    val opposite = bin(b, KERNEL_OP_XOR, sign, imm(b, u, (int64_t)1 << (f.bits - 1)));
    return kernel_select(b, is_nan, opposite, bin(b, KERNEL_OP_OR, r, sign));
  }
  r = kernel_select(b, is_nan, imm(b, u, nan), r);
  return bin(b, KERNEL_OP_OR, r, sign);
}

val legalize_decode(kernel_builder *b, val u, kernel_scalar from) {
  format f = format_of(from);
  if (f.kind == E8M0) {
    val normal = bin(b, KERNEL_OP_SHL, u, imm(b, u, 23));
    val r = kernel_select(b, bin(b, KERNEL_OP_EQ, u, imm(b, u, 0)), imm(b, u, 0x400000), normal);
    return as_f32(b, kernel_select(b, bin(b, KERNEL_OP_EQ, u, imm(b, u, 255)), imm(b, u, 0x7fc00000), r));
  }
  if (from == KERNEL_BF16) return as_f32(b, bin(b, KERNEL_OP_SHL, u, imm(b, u, 16)));
  int64_t sign_bit = (int64_t)1 << (f.bits - 1);
  val abs = bin(b, KERNEL_OP_AND, u, imm(b, u, sign_bit - 1));
  val sign = bin(b, KERNEL_OP_SHL, bin(b, KERNEL_OP_AND, u, imm(b, u, sign_bit)), imm(b, u, 32 - f.bits));
  val normal =
      bin(b, KERNEL_OP_ADD, bin(b, KERNEL_OP_SHL, abs, imm(b, u, 23 - f.m)), imm(b, u, (int64_t)(127 - f.bias) << 23));
  val sub = as_bits(b, bin(b, KERNEL_OP_MUL, kernel_conv(b, KERNEL_OP_FROM_INT_S, abs, KERNEL_F32),
                           fimm(b, u, ldexp(1, 1 - f.bias - f.m))));
  val r = kernel_select(b, bin(b, KERNEL_OP_LT_U, abs, imm(b, u, (int64_t)1 << f.m)), sub, normal);
  int64_t max = max_code(f);
  val nan = imm(b, u, 0x7fc00000);
  if (f.kind == IEEE) {
    val is_inf = bin(b, KERNEL_OP_EQ, abs, imm(b, u, max + 1));
    r = kernel_select(b, bin(b, KERNEL_OP_LT_S, imm(b, u, max), abs),
                      kernel_select(b, is_inf, imm(b, u, 0x7f800000), nan), r);
  } else if (f.kind == FN) {
    r = kernel_select(b, bin(b, KERNEL_OP_LT_S, imm(b, u, max), abs), nan, r);
  } else if (f.kind == FNUZ) {
    return as_f32(b,
                  kernel_select(b, bin(b, KERNEL_OP_EQ, u, imm(b, u, sign_bit)), nan, bin(b, KERNEL_OP_OR, r, sign)));
  }
  return as_f32(b, bin(b, KERNEL_OP_OR, r, sign));
}

// --- the stage -----------------------------------------------------------------------------------

static bool is_small(const legalizer *l, int s) {
  return kernel_scalar_table[s].is_float && s != KERNEL_F32 && s != KERNEL_F64 && !(s == KERNEL_F16 && l->t->f16);
}
static kernel_scalar carrier(int s) {
  return kernel_scalar_table[s].bytes == 2 ? KERNEL_I16 : KERNEL_I8;
}

static val decode(kernel_builder *b, val carried, kernel_scalar s) {
  return legalize_decode(b, kernel_conv(b, KERNEL_OP_EXTEND_U, carried, KERNEL_I32), s);
}
static val encode(kernel_builder *b, val f32, kernel_scalar s) {
  return kernel_conv(b, KERNEL_OP_TRUNCATE, legalize_encode(b, f32, s), carrier(s));
}

// f64 -> f32 rounded to odd.
static val narrow_to_odd(kernel_builder *b, val x) {
  val f = kernel_conv(b, KERNEL_OP_FLOAT_CONVERT, x, KERNEL_F32),
      back = kernel_conv(b, KERNEL_OP_FLOAT_CONVERT, f, KERNEL_F64);
  val inexact = bin(b, KERNEL_OP_NE, back, x);
  val away = bin(b, KERNEL_OP_LT, kernel_un(b, KERNEL_OP_ABS, x), kernel_un(b, KERNEL_OP_ABS, back));
  val u = as_bits(b, f);
  val down = bin(b, KERNEL_OP_SUB, u, kernel_conv(b, KERNEL_OP_EXTEND_U, away, KERNEL_I32));
  val odd = bin(b, KERNEL_OP_OR, down, kernel_conv(b, KERNEL_OP_EXTEND_U, inexact, KERNEL_I32));
  return kernel_select(b, bin(b, KERNEL_OP_EQ, x, x), as_f32(b, odd), f);
}

// Integer -> f32 rounded to odd: low bits that f32 cannot hold become one sticky bit. Sizes from 2^from to 2^(low + 24)
// keep the bits from `low` on, which f32 holds, and at least 11, which a bf16 needs with its rounding bit and the
// sticky one; f16 and below overflow.
static val int_to_f32_odd(kernel_builder *b, kernel_op op, val x) {
  static const struct { int from, low; } wide[] = {{24, 13}, {37, 26}, {50, 40}}, narrow[] = {{24, 8}};
  int bits = kernel_scalar_table[x->type.scalar].bits, n = bits > 32 ? 3 : bits > 24 ? 1 : 0, lanes = x->type.lanes;
  kernel_scalar s = (kernel_scalar)x->type.scalar;
  val r = x, zero = kernel_splat(b, kernel_int(b, s, 0), lanes), minus = n ? bin(b, KERNEL_OP_SUB, zero, x) : NULL;
  val size = n && op == KERNEL_OP_FROM_INT_S ? kernel_bin(b, KERNEL_OP_MAX_S, x, minus) : x;
  for (int k = 0; k < n; k++) {
    int64_t unit = (int64_t)1 << (bits > 32 ? wide : narrow)[k].low,
            from = (int64_t)1 << (bits > 32 ? wide : narrow)[k].from;
    val mask = kernel_splat(b, kernel_int(b, s, unit - 1), lanes);
    val lost = bin(b, KERNEL_OP_NE, bin(b, KERNEL_OP_AND, x, mask), zero);
    val sticky = kernel_select(b, lost, kernel_splat(b, kernel_int(b, s, unit), lanes), zero);
    val rounded = bin(b, KERNEL_OP_OR, bin(b, KERNEL_OP_AND, x, kernel_un(b, KERNEL_OP_NOT, mask)), sticky);
    val big = kernel_bin(b, KERNEL_OP_LE_U, kernel_splat(b, kernel_int(b, s, from), lanes), size);
    r = kernel_select(b, big, rounded, r);
  }
  return kernel_conv(b, op, r, KERNEL_F32);
}

typedef struct pending {
  kernel_value *value;  // its type is changed to the carrier at the end of the stage
  kernel_scalar to;
} pending;

typedef struct float_stage {
  legalizer *l;
  VEC(pending) retype;
} float_stage;

static void retype(float_stage *s, kernel_value *v) {
  if (!is_small(s->l, v->type.scalar)) return;
  pending p = {v, carrier(v->type.scalar)};
  vec_push(NULL, &s->retype, p);
}

// A use of a small-float value as its carrier: same object, whose type changes at the end; until then code is built on
// a view.
static val carried(float_stage *s, kernel_builder *b, val v) {
  kernel_type t = kernel_type_make(carrier(v->type.scalar), v->type.lanes);
  return &kernel_emit(b, KERNEL_OP_BITCAST, 1, &t, 1, &v)->results[0];
}

static void rewrite_arith(float_stage *s, kernel_instr *i) {
  legalizer *l = s->l;
  kernel_builder b = legalize_before(l, i);
  val x[4];
  for (int o = 0; o < i->n_operands; o++)
    x[o] = is_small(l, i->operands[o]->type.scalar)
               ? decode(&b, carried(s, &b, i->operands[o]), (kernel_scalar)i->operands[o]->type.scalar)
               : i->operands[o];
  kernel_scalar out = (kernel_scalar)i->results[0].type.scalar;
  kernel_type type = i->results[0].type;
  if (is_small(l, out)) type.scalar = KERNEL_F32;
  val r;
  if (i->op == KERNEL_OP_FLOAT_CONVERT) {
    val wide = x[0];
    if (wide->type.scalar == KERNEL_F64 && is_small(l, out)) wide = narrow_to_odd(&b, wide);
    r = is_small(l, out) ? kernel_conv(&b, KERNEL_OP_FLOAT_CONVERT, wide, KERNEL_F32)
                         : kernel_conv(&b, KERNEL_OP_FLOAT_CONVERT, wide, out);
  } else if ((i->op == KERNEL_OP_FROM_INT_S || i->op == KERNEL_OP_FROM_INT_U) && is_small(l, out)) {
    r = int_to_f32_odd(&b, i->op, x[0]);
  } else {
    r = &kernel_emit(&b, i->op, 1, &type, i->n_operands, x)->results[0];
    r->def->imm = i->imm;
  }
  if (is_small(l, out)) r = encode(&b, r, out);
  kernel_rewrite_set(&l->rewrite, &i->results[0], r);
  kernel_instr_unlink(i);
}

// f16 in hardware still means conversions from f32 only: f64 and wide integers go through f32 rounded to odd.
static bool is_wide_to_f16(const legalizer *l, const kernel_instr *i) {
  if (kernel_op_table[i->op].cls != KERNEL_CLASS_CONV || i->results[0].type.scalar != KERNEL_F16 || !l->t->f16)
    return false;
  int from = i->operands[0]->type.scalar;
  return (i->op == KERNEL_OP_FLOAT_CONVERT && from == KERNEL_F64) ||
         ((i->op == KERNEL_OP_FROM_INT_S || i->op == KERNEL_OP_FROM_INT_U) && kernel_scalar_table[from].bits > 8);
}

static void via_f32(float_stage *s, kernel_instr *i) {
  kernel_builder b = legalize_before(s->l, i);
  val x = i->operands[0];
  x = i->op == KERNEL_OP_FLOAT_CONVERT ? narrow_to_odd(&b, x) : int_to_f32_odd(&b, i->op, x);
  kernel_rewrite_set(&s->l->rewrite, &i->results[0], kernel_conv(&b, KERNEL_OP_FLOAT_CONVERT, x, KERNEL_F16));
  kernel_instr_unlink(i);
}

static void visit(void *user, kernel_instr *i) {
  float_stage *s = user;
  legalizer *l = s->l;
  bool touches = false;
  for (int o = 0; o < i->n_operands; o++) touches |= is_small(l, i->operands[o]->type.scalar);
  for (int r = 0; r < i->n_results; r++) touches |= is_small(l, i->results[r].type.scalar);
  for (int n = 0; n < i->n_blocks; n++)
    for (int a = 0; a < i->blocks[n]->n_args; a++) retype(s, &i->blocks[n]->args[a]);
  if (is_wide_to_f16(l, i)) {
    via_f32(s, i);
    return;
  }
  if (!touches) return;
  switch (kernel_op_table[i->op].cls) {
    case KERNEL_CLASS_CONST: {
      kernel_scalar t = (kernel_scalar)i->results[0].type.scalar;
      uint32_t bits = 0;
#define M(name, nbits, e, m, bias, kind) \
  if (t == KERNEL_##name) bits = name##_from_f64(i->imm.f);
      SMALL_FLOATS(M)
#undef M
      i->imm.i = kernel_scalar_table[carrier(t)].bits == 16 ? (int16_t)bits : (int8_t)bits;
      retype(s, &i->results[0]);
      return;
    }
    case KERNEL_CLASS_INT:
    case KERNEL_CLASS_FLOAT:
    case KERNEL_CLASS_CMP:
    case KERNEL_CLASS_MATH: rewrite_arith(s, i); return;
    case KERNEL_CLASS_ANY:
      if (i->op == KERNEL_OP_SELECT)
        retype(s, &i->results[0]);
      else
        rewrite_arith(s, i);
      return;
    case KERNEL_CLASS_CONV:
      if (i->op != KERNEL_OP_BITCAST) {
        rewrite_arith(s, i);
        return;
      }
      retype(s, &i->results[0]);
      return;
    case KERNEL_CLASS_VEC:
      if (i->op >= KERNEL_OP_REDUCE_ADD && i->op <= KERNEL_OP_REDUCE_XOR) {
        rewrite_arith(s, i);
        return;
      }
      retype(s, &i->results[0]);
      return;
    default:  // memory, control, group: bits move
      for (int r = 0; r < i->n_results; r++) retype(s, &i->results[r]);
      return;
  }
}

void legalize_small_floats(legalizer *l) {
  float_stage s = {.l = l};
  kernel_walk(l->k->body, visit, &s);
  kernel_rewrite_apply(&l->rewrite, l->k);
  for (int i = 0; i < s.retype.len; i++) s.retype.data[i].value->type.scalar = (uint16_t)s.retype.data[i].to;
  vec_deinit(&s.retype);
  for (int p = 0; p < l->k->n_params; p++)
    if (is_small(l, l->k->params[p].elem)) l->k->params[p].elem = carrier(l->k->params[p].elem);
  for (int a = 0; a < l->k->arrays.len; a++)
    if (is_small(l, l->k->arrays.data[a].elem)) l->k->arrays.data[a].elem = carrier(l->k->arrays.data[a].elem);
  // The views made by carried() are now casts of a type to itself: simplify removes them.
}
