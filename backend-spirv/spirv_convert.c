// SPDX-License-Identifier: Apache-2.0
// Conversions. Saturation and NaN -> 0 are built from comparisons: SPIR-V leaves out-of-range values undefined.
// Conversions that would round twice (f64 -> f16, and u32 -> f32 on a driver that adds two halves) go through a value
// rounded to odd.
#include <math.h>

#include "backend-spirv/spirv_emit_internal.h"

static kernel_type bool_of(kernel_type t) {
  return spirv_with_scalar(t, KERNEL_I1);
}
static kernel_type i32_of(kernel_type t) {
  return spirv_with_scalar(t, KERNEL_I32);
}
static kernel_type f32_of(kernel_type t) {
  return spirv_with_scalar(t, KERNEL_F32);
}

// --- integers ------------------------------------------------------------------------------------

static spirv_id truncate_to(spirv_emitter *e, kernel_type from, kernel_type to, spirv_id x) {
  if (to.scalar != KERNEL_I1) return spirv_u1(e, SpvOpUConvert, to, x);
  spirv_id low = spirv_u2(e, SpvOpBitwiseAnd, from, x, spirv_emit_int(e, from, 1));
  return spirv_u2(e, SpvOpINotEqual, to, low, spirv_emit_int(e, from, 0));
}

// A signed extension to 64 bits as a pair of words. Mesa (22.3) narrows a signed comparison of such an extension with a
// constant
// wrongly: (i64)x < 9 becomes true for all x. The pair keeps the extension out of its sight.
static spirv_id extend_by_words(spirv_emitter *e, kernel_type from, kernel_type to, spirv_id x) {
  kernel_type word = i32_of(from), pair = kernel_type_make(KERNEL_I32, 2);
  spirv_id low = from.scalar == KERNEL_I32 ? x : spirv_u1(e, SpvOpSConvert, word, x);
  spirv_id high = spirv_u2(e, SpvOpShiftRightArithmetic, word, low, spirv_emit_int(e, word, 31)), lanes[4];
  if (to.lanes > 4) return spirv_emit_type(e, to);  // fails
  for (int l = 0; l < to.lanes; l++) {
    spirv_id words[] = {spirv_extract(e, word, low, l), spirv_extract(e, word, high, l)};
    lanes[l] = spirv_u1(e, SpvOpBitcast, spirv_scalar_of(to), spirv_gather(e, pair, words));
  }
  return spirv_gather(e, to, lanes);
}

static spirv_id extend(spirv_emitter *e, SpvOp op, kernel_type from, kernel_type to, spirv_id x) {
  if (from.scalar != KERNEL_I1 && op == SpvOpSConvert && to.scalar == KERNEL_I64 &&
      e->caps->narrows_comparisons_wrongly)
    return extend_by_words(e, from, to, x);
  if (from.scalar != KERNEL_I1) return spirv_u1(e, op, to, x);
  return spirv_select(e, to, x, spirv_emit_int(e, to, op == SpvOpSConvert ? -1 : 1), spirv_emit_int(e, to, 0));
}

// --- floats --------------------------------------------------------------------------------------

// f64 -> f32 rounded to odd: a narrower rounding that follows is then the only one that counts.
static spirv_id narrow_to_odd(spirv_emitter *e, kernel_type from, spirv_id x) {
  kernel_type narrow = f32_of(from), bits = i32_of(from), cond = bool_of(from);
  spirv_id f = spirv_u1(e, SpvOpFConvert, narrow, x), back = spirv_u1(e, SpvOpFConvert, from, f);
  spirv_id inexact = spirv_u2(e, SpvOpFOrdNotEqual, cond, back, x);
  spirv_id away = spirv_u2(e, SpvOpFOrdLessThan, cond, spirv_math1(e, GLSLstd450FAbs, from, x),
                           spirv_math1(e, GLSLstd450FAbs, from, back));
  spirv_id one = spirv_emit_int(e, bits, 1), zero = spirv_emit_int(e, bits, 0);
  spirv_id u = spirv_u2(e, SpvOpISub, bits, spirv_u1(e, SpvOpBitcast, bits, f), spirv_select(e, bits, away, one, zero));
  u = spirv_u2(e, SpvOpBitwiseOr, bits, u, spirv_select(e, bits, inexact, one, zero));
  return spirv_u1(e, SpvOpBitcast, narrow, u);
}

static spirv_id float_to_float(spirv_emitter *e, kernel_type from, kernel_type to, spirv_id x) {
  if (from.scalar == to.scalar) return x;
  if (from.scalar == KERNEL_F64 && to.scalar == KERNEL_F16) x = narrow_to_odd(e, from, x);
  return spirv_u1(e, SpvOpFConvert, to, x);
}

// Unsigned 32 bits to f32 by a signed conversion: the half with its lost bit kept sticky, doubled.
static spirv_id u32_to_f32(spirv_emitter *e, kernel_type from, kernel_type to, spirv_id x) {
  spirv_id one = spirv_emit_int(e, from, 1),
           negative = spirv_u2(e, SpvOpSLessThan, bool_of(from), x, spirv_emit_int(e, from, 0));
  spirv_id half = spirv_u2(e, SpvOpBitwiseOr, from, spirv_u2(e, SpvOpShiftRightLogical, from, x, one),
                           spirv_u2(e, SpvOpBitwiseAnd, from, x, one));
  spirv_id big = spirv_u1(e, SpvOpConvertSToF, to, half);
  big = spirv_u2(e, SpvOpFAdd, to, big, big);
  return spirv_select(e, to, negative, big, spirv_u1(e, SpvOpConvertSToF, to, x));
}

static spirv_id int_to_float(spirv_emitter *e, bool is_signed, kernel_type from, kernel_type to, spirv_id x) {
  if (from.scalar == KERNEL_I1 && is_signed) return spirv_select_minus_one(e, to, x);
  if (from.scalar == KERNEL_I1) return spirv_select(e, to, x, spirv_emit_float(e, to, 1), spirv_emit_float(e, to, 0));
  if (spirv_bits(from) < 32) {
    kernel_type wide = i32_of(from);
    x = spirv_u1(e, is_signed ? SpvOpSConvert : SpvOpUConvert, wide, x);
    return spirv_u1(e, SpvOpConvertSToF, to, x);  // both fit
  }
  if (!is_signed && from.scalar == KERNEL_I32 && to.scalar == KERNEL_F32 && e->caps->u32_to_f32_rounds_twice)
    return u32_to_f32(e, from, to, x);
  return spirv_u1(e, is_signed ? SpvOpConvertSToF : SpvOpConvertUToF, to, x);
}

static spirv_id float_to_int(spirv_emitter *e, bool is_signed, kernel_type from, kernel_type to, spirv_id x) {
  int bits = spirv_bits(to);
  kernel_type cond = bool_of(from), work = bits < 32 ? i32_of(to) : to;  // narrow results by way of 32 bits
  if (bits == 1)
    return is_signed ? spirv_u2(e, SpvOpFOrdLessThanEqual, cond, x, spirv_emit_float(e, from, -1))
                     : spirv_u2(e, SpvOpFOrdGreaterThanEqual, cond, x, spirv_emit_float(e, from, 1));
  int magnitude = is_signed ? bits - 1 : bits;
  spirv_id over = spirv_u2(e, SpvOpFOrdGreaterThanEqual, cond, x, spirv_emit_float(e, from, ldexp(1, magnitude)));
  int64_t max = magnitude == 64 ? -1 : (int64_t)(((uint64_t)1 << magnitude) - 1), min = is_signed ? -max - 1 : 0;
  // Below: at or under the minimum; unsigned: also NaN, as "not above 0".
  spirv_id inside = is_signed
                        ? spirv_u2(e, SpvOpFOrdGreaterThan, cond, x, spirv_emit_float(e, from, -ldexp(1, magnitude)))
                        : spirv_u2(e, SpvOpFOrdGreaterThan, cond, x, spirv_emit_float(e, from, 0));
  // A converted value that is out of range is undefined, not trapped, and never selected.
  spirv_id r = spirv_u1(e, is_signed || bits < 32 ? SpvOpConvertFToS : SpvOpConvertFToU, work, x);
  r = spirv_select(e, work, inside, r, spirv_emit_int(e, work, min));
  r = spirv_select(e, work, over, spirv_emit_int(e, work, max), r);
  if (is_signed) r = spirv_select(e, work, spirv_u2(e, SpvOpFUnordNotEqual, cond, x, x), spirv_emit_int(e, work, 0), r);
  return bits < 32 ? spirv_u1(e, SpvOpUConvert, to, r) : r;
}

static spirv_id bitcast(spirv_emitter *e, kernel_type from, kernel_type to, spirv_id x) {
  if (kernel_type_eq(from, to)) return x;
  if (from.scalar == KERNEL_I1 || to.scalar == KERNEL_I1) {
    spirv_emit_fail(e, "no SPIR-V for bitcast between i1 and another type");
    return 0;
  }
  return spirv_u1(e, SpvOpBitcast, to, x);
}

void spirv_emit_conversion(spirv_emitter *e, const kernel_instr *i) {
  kernel_type from = i->operands[0]->type, to = i->results[0].type;
  spirv_id x = spirv_value(e, i->operands[0]), r = 0;
  switch (i->op) {
    case KERNEL_OP_TRUNCATE: r = truncate_to(e, from, to, x); break;
    case KERNEL_OP_EXTEND_S: r = extend(e, SpvOpSConvert, from, to, x); break;
    case KERNEL_OP_EXTEND_U: r = extend(e, SpvOpUConvert, from, to, x); break;
    case KERNEL_OP_FLOAT_CONVERT: r = float_to_float(e, from, to, x); break;
    case KERNEL_OP_FROM_INT_S: r = int_to_float(e, true, from, to, x); break;
    case KERNEL_OP_FROM_INT_U: r = int_to_float(e, false, from, to, x); break;
    case KERNEL_OP_TO_INT_S: r = float_to_int(e, true, from, to, x); break;
    case KERNEL_OP_TO_INT_U: r = float_to_int(e, false, from, to, x); break;
    default: r = bitcast(e, from, to, x); break;
  }
  spirv_define(e, &i->results[0], r);
}
