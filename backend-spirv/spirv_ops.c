// SPDX-License-Identifier: Apache-2.0
// One row for every kernel operation: its opcode, or the function that builds it, or why it never gets here.
//
// Where SPIR-V's own instruction says less than the kernel IR asks for, the operation is built from ones that say
// enough:
// MIN/MAX (NaN, zero signs: NMin leaves both open), REM_S (undefined for negative operands in Vulkan), saturation,
// counting bits in anything but 32 bits, division below 32 bits.
#include <math.h>

#include "backend-spirv/spirv_emit_internal.h"

typedef spirv_id (*binary_fn)(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b);

typedef struct op_row {
  void (*emit)(spirv_emitter *e, const kernel_instr *i);
  const char *unsupported;             // why there is no translation
  uint16_t int_op, float_op, bool_op;  // SpvOp by the operand's type, 0: none
  binary_fn build;  // two-operand arithmetic that takes more than an opcode; used where the opcode is 0
} op_row;

static const op_row table[KERNEL_OP_COUNT];

// --- shorthands ----------------------------------------------------------------------------------

static kernel_type bool_of(kernel_type t) {
  return spirv_with_scalar(t, KERNEL_I1);
}
static kernel_type i32_of(kernel_type t) {
  return spirv_with_scalar(t, KERNEL_I32);
}

static spirv_id compare(spirv_emitter *e, SpvOp op, kernel_type t, spirv_id a, spirv_id b) {
  return spirv_u2(e, op, bool_of(t), a, b);
}

static spirv_id shift(spirv_emitter *e, SpvOp op, kernel_type t, spirv_id a, int by) {
  return spirv_u2(e, op, t, a, spirv_emit_int(e, t, by));
}

static kernel_type bits_type(kernel_type t) {
  int bits = spirv_bits(t);
  return spirv_with_scalar(t, bits == 16 ? KERNEL_I16 : bits == 64 ? KERNEL_I64 : KERNEL_I32);
}

// --- two-operand arithmetic ----------------------------------------------------------------------

static spirv_id bool_and_not(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {  // a and not b
  return spirv_u2(e, SpvOpLogicalAnd, t, a, spirv_u1(e, SpvOpLogicalNot, t, b));
}

// Integer minimum and maximum: GLSL's for 32 bits (every driver has it), compare and select for the rest.
static spirv_id int_pick(spirv_emitter *e, kernel_type t, enum GLSLstd450 inst, SpvOp less, spirv_id a, spirv_id b) {
  if (spirv_bits(t) == 32) return spirv_math2(e, inst, t, a, b);
  return spirv_select(e, t, compare(e, less, t, a, b), a, b);
}
static spirv_id min_s(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {
  if (t.scalar == KERNEL_I1) return spirv_u2(e, SpvOpLogicalOr, t, a, b);  // true is -1
  return int_pick(e, t, GLSLstd450SMin, SpvOpSLessThan, a, b);
}
static spirv_id max_s(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {
  if (t.scalar == KERNEL_I1) return spirv_u2(e, SpvOpLogicalAnd, t, a, b);
  return int_pick(e, t, GLSLstd450SMax, SpvOpSGreaterThan, a, b);
}
static spirv_id min_u(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {
  if (t.scalar == KERNEL_I1) return spirv_u2(e, SpvOpLogicalAnd, t, a, b);
  return int_pick(e, t, GLSLstd450UMin, SpvOpULessThan, a, b);
}
static spirv_id max_u(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {
  if (t.scalar == KERNEL_I1) return spirv_u2(e, SpvOpLogicalOr, t, a, b);
  return int_pick(e, t, GLSLstd450UMax, SpvOpUGreaterThan, a, b);
}

// IEEE 754-2019 minimum and maximum: equal operands differ at most in the sign of zero, so their bits are or-ed
// (and-ed); unordered ones give their sum, a NaN.
static spirv_id float_pick(spirv_emitter *e, kernel_type t, SpvOp wins, SpvOp merge, spirv_id a, spirv_id b) {
  kernel_type bits = bits_type(t);
  spirv_id merged = spirv_u2(e, merge, bits, spirv_u1(e, SpvOpBitcast, bits, a), spirv_u1(e, SpvOpBitcast, bits, b));
  spirv_id nan = spirv_u2(e, SpvOpFAdd, t, a, b);
  spirv_exact(e, nan);
  spirv_id r = spirv_select(e, t, compare(e, SpvOpFOrdEqual, t, a, b), spirv_u1(e, SpvOpBitcast, t, merged), nan);
  r = spirv_select(e, t, compare(e, wins, t, b, a), b, r);
  return spirv_select(e, t, compare(e, wins, t, a, b), a, r);
}
static spirv_id fmin_(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {
  return float_pick(e, t, SpvOpFOrdLessThan, SpvOpBitwiseOr, a, b);
}
static spirv_id fmax_(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {
  return float_pick(e, t, SpvOpFOrdGreaterThan, SpvOpBitwiseAnd, a, b);
}
static spirv_id fmin_num(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {
  return spirv_math2(e, GLSLstd450FMin, t, a, b);
}
static spirv_id fmax_num(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {
  return spirv_math2(e, GLSLstd450FMax, t, a, b);
}

// Division of 8- and 16-bit integers in 32 bits.
static spirv_id divide(spirv_emitter *e, SpvOp op, SpvOp widen, kernel_type t, spirv_id a, spirv_id b) {
  if (spirv_bits(t) >= 32) return spirv_u2(e, op, t, a, b);
  kernel_type wide = i32_of(t);
  spirv_id q = spirv_u2(e, op, wide, spirv_u1(e, widen, wide, a), spirv_u1(e, widen, wide, b));
  return spirv_u1(e, SpvOpUConvert, t, q);
}
static spirv_id div_s(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {
  return divide(e, SpvOpSDiv, SpvOpSConvert, t, a, b);
}
static spirv_id div_u(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {
  return divide(e, SpvOpUDiv, SpvOpUConvert, t, a, b);
}
static spirv_id rem_u(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {
  return divide(e, SpvOpUMod, SpvOpUConvert, t, a, b);
}
static spirv_id rem_s(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {
  return spirv_u2(e, SpvOpISub, t, a, spirv_u2(e, SpvOpIMul, t, div_s(e, t, a, b), b));
}

static spirv_id mulhi_32(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {
  spirv_id type = spirv_emit_type(e, t), members[] = {type, type}, operands[] = {a, b};
  spirv_id pair = spirv_op(&e->w, SpvOpUMulExtended, spirv_type_struct(&e->w, 2, members), 2, operands);
  uint32_t high[] = {pair, 1};
  return spirv_op(&e->w, SpvOpCompositeExtract, type, 2, high);
}
// (ah 2^32 + al)(bh 2^32 + bl) >> 64, by halves.
static spirv_id mulhi_64(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {
  spirv_id mask = spirv_emit_int(e, t, 0xffffffff);
  spirv_id ah = shift(e, SpvOpShiftRightLogical, t, a, 32), al = spirv_u2(e, SpvOpBitwiseAnd, t, a, mask);
  spirv_id bh = shift(e, SpvOpShiftRightLogical, t, b, 32), bl = spirv_u2(e, SpvOpBitwiseAnd, t, b, mask);
  spirv_id low = shift(e, SpvOpShiftRightLogical, t, spirv_u2(e, SpvOpIMul, t, al, bl), 32);
  spirv_id mid = spirv_u2(e, SpvOpIAdd, t, spirv_u2(e, SpvOpIMul, t, ah, bl), low);  // < 2^64: no carry is lost
  spirv_id mid2 =
      spirv_u2(e, SpvOpIAdd, t, spirv_u2(e, SpvOpIMul, t, al, bh), spirv_u2(e, SpvOpBitwiseAnd, t, mid, mask));
  spirv_id high =
      spirv_u2(e, SpvOpIAdd, t, spirv_u2(e, SpvOpIMul, t, ah, bh), shift(e, SpvOpShiftRightLogical, t, mid, 32));
  return spirv_u2(e, SpvOpIAdd, t, high, shift(e, SpvOpShiftRightLogical, t, mid2, 32));
}
static spirv_id mulhi_u(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {
  int bits = spirv_bits(t);
  if (bits == 32) return mulhi_32(e, t, a, b);
  if (bits == 64) return mulhi_64(e, t, a, b);
  if (bits == 1) return spirv_emit_int(e, t, 0);
  kernel_type wide = i32_of(t);
  spirv_id p = spirv_u2(e, SpvOpIMul, wide, spirv_u1(e, SpvOpUConvert, wide, a), spirv_u1(e, SpvOpUConvert, wide, b));
  return spirv_u1(e, SpvOpUConvert, t, shift(e, SpvOpShiftRightLogical, wide, p, bits));
}

static spirv_id copysign_(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {
  kernel_type bits = bits_type(t);
  int64_t sign = (int64_t)((uint64_t)1 << (spirv_bits(t) - 1));
  spirv_id m = spirv_u2(e, SpvOpBitwiseAnd, bits, spirv_u1(e, SpvOpBitcast, bits, a), spirv_emit_int(e, bits, ~sign));
  spirv_id s = spirv_u2(e, SpvOpBitwiseAnd, bits, spirv_u1(e, SpvOpBitcast, bits, b), spirv_emit_int(e, bits, sign));
  return spirv_u1(e, SpvOpBitcast, t, spirv_u2(e, SpvOpBitwiseOr, bits, m, s));
}

// Comparisons of i1, by their order: signed true (-1) is below false.
static spirv_id bool_lt_s(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {
  return bool_and_not(e, t, a, b);
}
static spirv_id bool_lt_u(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {
  return bool_and_not(e, t, b, a);
}
static spirv_id bool_le_s(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {
  return spirv_u1(e, SpvOpLogicalNot, t, bool_and_not(e, t, b, a));
}
static spirv_id bool_le_u(spirv_emitter *e, kernel_type t, spirv_id a, spirv_id b) {
  return spirv_u1(e, SpvOpLogicalNot, t, bool_and_not(e, t, a, b));
}

static SpvOp opcode_for(const op_row *row, kernel_type t) {
  return (SpvOp)(t.scalar == KERNEL_I1 ? row->bool_op : spirv_is_float(t) ? row->float_op : row->int_op);
}

static void no_translation(spirv_emitter *e, kernel_op op, kernel_type t) {
  spirv_emit_fail(e, "no SPIR-V for %s on %s", kernel_op_table[op].name, kernel_scalar_table[t.scalar].name);
}

spirv_id spirv_emit_binary(spirv_emitter *e, kernel_op op, kernel_type t, spirv_id a, spirv_id b) {
  const op_row *row = &table[op];
  SpvOp code = opcode_for(row, t);
  if (code) {
    spirv_id r = spirv_u2(e, code, t, a, b);
    if (spirv_is_float(t)) spirv_exact(e, r);
    return r;
  }
  if (row->build) return row->build(e, t, a, b);
  no_translation(e, op, t);
  return 0;
}

// --- handlers ------------------------------------------------------------------------------------

static kernel_type operand_type(const kernel_instr *i, int o) {
  return i->operands[o]->type;
}
static spirv_id operand(spirv_emitter *e, const kernel_instr *i, int o) {
  return spirv_value(e, i->operands[o]);
}
static void result(spirv_emitter *e, const kernel_instr *i, spirv_id id) {
  spirv_define(e, &i->results[0], id);
}

static void binary(spirv_emitter *e, const kernel_instr *i) {
  result(e, i, spirv_emit_binary(e, i->op, i->results[0].type, operand(e, i, 0), operand(e, i, 1)));
}

static void unary(spirv_emitter *e, const kernel_instr *i) {
  kernel_type t = i->results[0].type;
  SpvOp code = opcode_for(&table[i->op], t);
  if (code == SpvOpCopyObject)
    result(e, i, operand(e, i, 0));
  else if (code)
    result(e, i, spirv_u1(e, code, t, operand(e, i, 0)));
  else
    no_translation(e, i->op, t);
}

// Unary functions of GLSL.std.450; the row's float_op is the instruction.
static void math(spirv_emitter *e, const kernel_instr *i) {
  result(e, i, spirv_math1(e, (enum GLSLstd450)table[i->op].float_op, i->results[0].type, operand(e, i, 0)));
}

static void compare_instr(spirv_emitter *e, const kernel_instr *i) {
  kernel_type t = operand_type(i, 0);
  const op_row *row = &table[i->op];
  SpvOp code = opcode_for(row, t);
  if (code)
    result(e, i, compare(e, code, t, operand(e, i, 0), operand(e, i, 1)));
  else if (row->build && t.scalar == KERNEL_I1)
    result(e, i, row->build(e, t, operand(e, i, 0), operand(e, i, 1)));
  else
    no_translation(e, i->op, t);
}

static void constant(spirv_emitter *e, const kernel_instr *i) {
  kernel_type t = i->results[0].type;
  result(e, i, spirv_is_float(t) ? spirv_emit_float(e, t, i->imm.f) : spirv_emit_int(e, t, i->imm.i));
}

static void item(spirv_emitter *e, const kernel_instr *i) {
  result(e, i, e->item);
}
static void local_id(spirv_emitter *e, const kernel_instr *i) {
  result(e, i, e->local);
}
static void group_id(spirv_emitter *e, const kernel_instr *i) {
  result(e, i, e->group);
}

static void param_size(spirv_emitter *e, const kernel_instr *i) {
  result(e, i, spirv_emit_int(e, i->results[0].type, e->k->params[i->imm.i].n_elems));
}

static void fma_(spirv_emitter *e, const kernel_instr *i) {
  spirv_id operands[] = {operand(e, i, 0), operand(e, i, 1), operand(e, i, 2)};
  result(e, i, spirv_glsl(&e->w, GLSLstd450Fma, spirv_emit_type(e, i->results[0].type), 3, operands));
}

// c ? -1.0 : 0.0. Mesa (22.3) rewrites a select of these two to -float(c), which gives -0.0 for false: so by bits.
spirv_id spirv_select_minus_one(spirv_emitter *e, kernel_type t, spirv_id cond) {
  kernel_type bits = bits_type(t);
  spirv_id mask = spirv_select(e, bits, cond, spirv_emit_int(e, bits, -1), spirv_emit_int(e, bits, 0));
  int64_t minus_one = spirv_bits(t) == 16 ? 0xbc00 : spirv_bits(t) == 32 ? 0xbf800000 : (int64_t)0xbff0000000000000;
  return spirv_u1(e, SpvOpBitcast, t, spirv_u2(e, SpvOpBitwiseAnd, bits, mask, spirv_emit_int(e, bits, minus_one)));
}

static bool is_float_constant(const kernel_value *v, double x) {
  return v->def && v->def->op == KERNEL_OP_CONST && spirv_is_float(v->type) && v->def->imm.f == x &&
         (x != 0 || !signbit(v->def->imm.f));
}

static void select_instr(spirv_emitter *e, const kernel_instr *i) {
  kernel_type t = i->results[0].type;
  spirv_id cond = operand(e, i, 0);
  if (operand_type(i, 0).lanes != t.lanes) cond = spirv_splat(e, bool_of(t), cond);
  for (int one = 1; one <= 2; one++)
    if (is_float_constant(i->operands[one], -1) && is_float_constant(i->operands[3 - one], 0))
      return result(e, i,
                    spirv_select_minus_one(e, t, one == 1 ? cond : spirv_u1(e, SpvOpLogicalNot, bool_of(t), cond)));
  result(e, i, spirv_select(e, t, cond, operand(e, i, 1), operand(e, i, 2)));
}

// Counts bits of v in a type other than 32 bits: by halves or widened. count: on 32 bits.
static spirv_id popcnt_32(spirv_emitter *e, kernel_type t, spirv_id v) {
  return spirv_u1(e, SpvOpBitCount, t, v);
}

static void popcnt(spirv_emitter *e, const kernel_instr *i) {
  kernel_type t = i->results[0].type, word = i32_of(t);
  spirv_id v = operand(e, i, 0), count;
  if (t.scalar == KERNEL_I1) return result(e, i, v);
  if (spirv_bits(t) == 64) {
    spirv_id low = popcnt_32(e, word, spirv_u1(e, SpvOpUConvert, word, v));
    spirv_id high = popcnt_32(e, word, spirv_u1(e, SpvOpUConvert, word, shift(e, SpvOpShiftRightLogical, t, v, 32)));
    count = spirv_u2(e, SpvOpIAdd, word, low, high);
  } else {
    count = popcnt_32(e, word, spirv_bits(t) == 32 ? v : spirv_u1(e, SpvOpUConvert, word, v));
  }
  result(e, i, spirv_bits(t) == 32 ? count : spirv_u1(e, SpvOpUConvert, t, count));
}

static spirv_id clz_32(spirv_emitter *e, kernel_type t, spirv_id v) {  // FindUMsb gives -1 for 0
  return spirv_u2(e, SpvOpISub, t, spirv_emit_int(e, t, 31), spirv_math1(e, GLSLstd450FindUMsb, t, v));
}

static void clz(spirv_emitter *e, const kernel_instr *i) {
  kernel_type t = i->results[0].type, word = i32_of(t);
  spirv_id v = operand(e, i, 0), count;
  int bits = spirv_bits(t);
  if (t.scalar == KERNEL_I1) return result(e, i, spirv_u1(e, SpvOpLogicalNot, t, v));
  if (bits == 64) {
    spirv_id high = spirv_u1(e, SpvOpUConvert, word, shift(e, SpvOpShiftRightLogical, t, v, 32));
    spirv_id below = clz_32(e, word, spirv_u1(e, SpvOpUConvert, word, v));
    below = spirv_u2(e, SpvOpIAdd, word, below, spirv_emit_int(e, word, 32));
    count = spirv_select(e, word, compare(e, SpvOpIEqual, word, high, spirv_emit_int(e, word, 0)), below,
                         clz_32(e, word, high));
  } else if (bits == 32) {
    count = clz_32(e, word, v);
  } else {
    count = spirv_u2(e, SpvOpISub, word, clz_32(e, word, spirv_u1(e, SpvOpUConvert, word, v)),
                     spirv_emit_int(e, word, 32 - bits));
  }
  result(e, i, bits == 32 ? count : spirv_u1(e, SpvOpUConvert, t, count));
}

// --- vectors -------------------------------------------------------------------------------------

static void splat(spirv_emitter *e, const kernel_instr *i) {
  result(e, i, spirv_splat(e, i->results[0].type, operand(e, i, 0)));
}

static void build(spirv_emitter *e, const kernel_instr *i) {
  spirv_id parts[16];
  if (i->n_operands > 16) return no_translation(e, i->op, i->results[0].type);
  for (int o = 0; o < i->n_operands; o++) parts[o] = operand(e, i, o);
  result(e, i, spirv_gather(e, i->results[0].type, parts));
}

static void lanes(spirv_emitter *e, const kernel_instr *i) {
  kernel_type t = i->results[0].type;
  spirv_id parts[16];
  if (t.lanes > 16) return no_translation(e, i->op, t);
  for (int l = 0; l < t.lanes; l++) parts[l] = spirv_emit_int(e, spirv_scalar_of(t), l);
  result(e, i, t.lanes == 1 ? parts[0] : spirv_const_composite(&e->w, spirv_emit_type(e, t), t.lanes, parts));
}

static void extract(spirv_emitter *e, const kernel_instr *i) {
  kernel_type from = operand_type(i, 0), to = i->results[0].type;
  spirv_id parts[16];
  if (to.lanes > 16) return no_translation(e, i->op, to);
  for (int l = 0; l < to.lanes; l++) parts[l] = spirv_extract(e, from, operand(e, i, 0), (int)i->imm.i + l);
  result(e, i, spirv_gather(e, to, parts));
}

static void insert(spirv_emitter *e, const kernel_instr *i) {
  kernel_type t = i->results[0].type;
  if (t.lanes == 1) return result(e, i, operand(e, i, 1));
  uint32_t words[] = {operand(e, i, 1), operand(e, i, 0), (uint32_t)i->imm.i};
  result(e, i, spirv_op(&e->w, SpvOpCompositeInsert, spirv_emit_type(e, t), 3, words));
}

static void shuffle(spirv_emitter *e, const kernel_instr *i) {
  kernel_type a = operand_type(i, 0), b = operand_type(i, 1), t = i->results[0].type;
  if (t.lanes > 16) return no_translation(e, i->op, t);
  if (a.lanes > 1 && b.lanes > 1 && t.lanes > 1) {
    uint32_t words[18] = {operand(e, i, 0), operand(e, i, 1)};
    for (int l = 0; l < t.lanes; l++) words[l + 2] = (uint32_t)i->imm.list[l];
    return result(e, i, spirv_op(&e->w, SpvOpVectorShuffle, spirv_emit_type(e, t), t.lanes + 2, words));
  }
  spirv_id parts[16];
  for (int l = 0; l < t.lanes; l++) {
    int from = i->imm.list[l];
    parts[l] = from < a.lanes ? spirv_extract(e, a, operand(e, i, 0), from)
                              : spirv_extract(e, b, operand(e, i, 1), from - a.lanes);
  }
  result(e, i, spirv_gather(e, t, parts));
}

// Lower half op upper half, until one lane is left.
static void reduce(spirv_emitter *e, const kernel_instr *i) {
  bool is_float = spirv_is_float(operand_type(i, 0)), is_unsigned = i->imm.i == 1;
  kernel_op op;
  switch (i->op) {
    case KERNEL_OP_REDUCE_ADD: op = KERNEL_OP_ADD; break;
    case KERNEL_OP_REDUCE_MUL: op = KERNEL_OP_MUL; break;
    case KERNEL_OP_REDUCE_MIN: op = is_float ? KERNEL_OP_MIN : is_unsigned ? KERNEL_OP_MIN_U : KERNEL_OP_MIN_S; break;
    case KERNEL_OP_REDUCE_MAX: op = is_float ? KERNEL_OP_MAX : is_unsigned ? KERNEL_OP_MAX_U : KERNEL_OP_MAX_S; break;
    case KERNEL_OP_REDUCE_AND: op = KERNEL_OP_AND; break;
    case KERNEL_OP_REDUCE_OR: op = KERNEL_OP_OR; break;
    default: op = KERNEL_OP_XOR; break;
  }
  kernel_type t = operand_type(i, 0);
  spirv_id v = operand(e, i, 0);
  while (t.lanes > 1) {
    kernel_type half = kernel_type_make((kernel_scalar)t.scalar, t.lanes / 2);
    spirv_id parts[2];
    for (int h = 0; h < 2; h++) {
      spirv_id scalars[16];
      for (int l = 0; l < half.lanes; l++) scalars[l] = spirv_extract(e, t, v, h * half.lanes + l);
      parts[h] = spirv_gather(e, half, scalars);
    }
    v = spirv_emit_binary(e, op, half, parts[0], parts[1]);
    t = half;
  }
  result(e, i, v);
}

// --- groups --------------------------------------------------------------------------------------

static void barrier(spirv_emitter *e, const kernel_instr *i) {
  spirv_id scope = spirv_const_u32(&e->w, SpvScopeWorkgroup);
  spirv_id semantics =
      spirv_const_u32(&e->w, SpvMemorySemanticsAcquireReleaseMask | SpvMemorySemanticsWorkgroupMemoryMask);
  uint32_t words[] = {scope, scope, semantics};
  spirv_op_void(&e->w, SpvOpControlBarrier, 3, words);
}

static bool subgroup_type_ok(spirv_emitter *e, kernel_op op, kernel_type t) {
  int bits = spirv_bits(t);
  e->uses_subgroup = true;
  spirv_writer_capability(&e->w, SpvCapabilityGroupNonUniform);
  if (bits == 1 || bits == 32 || e->caps->subgroup_extended) return true;
  no_translation(e, op, t);
  return false;
}

static spirv_id shuffle_by(spirv_emitter *e, SpvOp op, SpvCapability cap, kernel_type t, spirv_id v, spirv_id lane) {
  spirv_writer_capability(&e->w, cap);
  uint32_t words[] = {spirv_const_u32(&e->w, SpvScopeSubgroup), v, lane};
  return spirv_op(&e->w, op, spirv_emit_type(e, t), 3, words);
}

static void subgroup_lane(spirv_emitter *e, const kernel_instr *i) {
  kernel_type t = i->results[0].type, word = i32_of(t);
  spirv_writer_capability(&e->w, SpvCapabilityGroupNonUniform);
  e->uses_subgroup = true;
  if (!e->subgroup_lane) {
    uint32_t builtin = SpvBuiltInSubgroupLocalInvocationId;
    e->subgroup_lane = spirv_variable(&e->w, SpvStorageClassInput, spirv_type_int(&e->w, 32));
    spirv_writer_decorate(&e->w, e->subgroup_lane, SpvDecorationBuiltIn, 1, &builtin);
  }
  spirv_id lane = spirv_u1(e, SpvOpLoad, word, e->subgroup_lane);
  result(e, i, spirv_bits(t) == 32 ? lane : spirv_u1(e, SpvOpUConvert, t, lane));
}

static void subgroup_shuffle(spirv_emitter *e, const kernel_instr *i) {
  kernel_type t = i->results[0].type;
  if (!subgroup_type_ok(e, i->op, t)) return;
  result(e, i,
         shuffle_by(e, SpvOpGroupNonUniformShuffle, SpvCapabilityGroupNonUniformShuffle, t, operand(e, i, 0),
                    operand(e, i, 1)));
}

static void subgroup_broadcast(spirv_emitter *e, const kernel_instr *i) {
  kernel_type t = i->results[0].type;
  if (!subgroup_type_ok(e, i->op, t)) return;
  result(e, i,
         shuffle_by(e, SpvOpGroupNonUniformBroadcast, SpvCapabilityGroupNonUniformBallot, t, operand(e, i, 0),
                    spirv_const_u32(&e->w, (uint32_t)i->imm.i)));
}

static spirv_id shuffle_xor(spirv_emitter *e, kernel_type t, spirv_id v, int mask) {
  return shuffle_by(e, SpvOpGroupNonUniformShuffleXor, SpvCapabilityGroupNonUniformShuffle, t, v,
                    spirv_const_u32(&e->w, (uint32_t)mask));
}

static void subgroup_shuffle_xor(spirv_emitter *e, const kernel_instr *i) {
  kernel_type t = i->results[0].type;
  if (!subgroup_type_ok(e, i->op, t)) return;
  result(e, i, shuffle_xor(e, t, operand(e, i, 0), (int)i->imm.i));
}

// A butterfly: its order is fixed by the subgroup's size, and shuffles are cheaper than reductions on the software
// drivers.
static void subgroup_reduce(spirv_emitter *e, const kernel_instr *i) {
  kernel_type t = i->results[0].type;
  if (!subgroup_type_ok(e, i->op, t)) return;
  bool is_float = spirv_is_float(t);
  kernel_op op = i->op == KERNEL_OP_SUBGROUP_ADD   ? KERNEL_OP_ADD
                 : i->op == KERNEL_OP_SUBGROUP_MIN ? (is_float ? KERNEL_OP_MIN : KERNEL_OP_MIN_S)
                                                   : (is_float ? KERNEL_OP_MAX : KERNEL_OP_MAX_S);
  spirv_id v = operand(e, i, 0);
  for (int mask = e->t->subgroup / 2; mask > 0; mask /= 2)
    v = spirv_emit_binary(e, op, t, v, shuffle_xor(e, t, v, mask));
  result(e, i, v);
}

static void never(spirv_emitter *e, const kernel_instr *i) {
  spirv_emit_fail(e, "%s: %s", kernel_op_table[i->op].name, table[i->op].unsupported);
}

static void yield(spirv_emitter *e, const kernel_instr *i) {}  // read by the owner of the block

// --- the table -----------------------------------------------------------------------------------

#define EXPANDED \
  { .emit = never, .unsupported = "not expanded before code generation" }
#define ARITH(i, f, b, fn) \
  { .emit = binary, .int_op = i, .float_op = f, .bool_op = b, .build = fn }
#define COMPARE(i, f, b, fn) \
  { .emit = compare_instr, .int_op = i, .float_op = f, .bool_op = b, .build = fn }

static const op_row table[KERNEL_OP_COUNT] = {
    [KERNEL_OP_CONST] = {.emit = constant},
    [KERNEL_OP_ITEM] = {.emit = item},
    [KERNEL_OP_PARAM_SIZE] = {.emit = param_size},
    [KERNEL_OP_ADD] = ARITH(SpvOpIAdd, SpvOpFAdd, SpvOpLogicalNotEqual, NULL),
    [KERNEL_OP_SUB] = ARITH(SpvOpISub, SpvOpFSub, SpvOpLogicalNotEqual, NULL),
    [KERNEL_OP_MUL] = ARITH(SpvOpIMul, SpvOpFMul, SpvOpLogicalAnd, NULL),
    [KERNEL_OP_NEG] = {.emit = unary, .int_op = SpvOpSNegate, .float_op = SpvOpFNegate, .bool_op = SpvOpCopyObject},
    [KERNEL_OP_MULHI_U] = ARITH(0, 0, 0, mulhi_u),
    [KERNEL_OP_DIV_S] = ARITH(0, 0, 0, div_s),
    [KERNEL_OP_DIV_U] = ARITH(0, 0, 0, div_u),
    [KERNEL_OP_REM_S] = ARITH(0, 0, 0, rem_s),
    [KERNEL_OP_REM_U] = ARITH(0, 0, 0, rem_u),
    [KERNEL_OP_MIN_S] = ARITH(0, 0, 0, min_s),
    [KERNEL_OP_MIN_U] = ARITH(0, 0, 0, min_u),
    [KERNEL_OP_MAX_S] = ARITH(0, 0, 0, max_s),
    [KERNEL_OP_MAX_U] = ARITH(0, 0, 0, max_u),
    [KERNEL_OP_AND] = ARITH(SpvOpBitwiseAnd, 0, SpvOpLogicalAnd, NULL),
    [KERNEL_OP_OR] = ARITH(SpvOpBitwiseOr, 0, SpvOpLogicalOr, NULL),
    [KERNEL_OP_XOR] = ARITH(SpvOpBitwiseXor, 0, SpvOpLogicalNotEqual, NULL),
    [KERNEL_OP_NOT] = {.emit = unary, .int_op = SpvOpNot, .bool_op = SpvOpLogicalNot},
    [KERNEL_OP_SHL] = ARITH(SpvOpShiftLeftLogical, 0, 0, NULL),
    [KERNEL_OP_SHR_S] = ARITH(SpvOpShiftRightArithmetic, 0, 0, NULL),
    [KERNEL_OP_SHR_U] = ARITH(SpvOpShiftRightLogical, 0, 0, NULL),
    [KERNEL_OP_POPCNT] = {.emit = popcnt},
    [KERNEL_OP_CLZ] = {.emit = clz},
    [KERNEL_OP_DIV] = ARITH(0, SpvOpFDiv, 0, NULL),
    [KERNEL_OP_FMA] = {.emit = fma_},
    [KERNEL_OP_ABS] = {.emit = math, .float_op = GLSLstd450FAbs},
    [KERNEL_OP_COPYSIGN] = ARITH(0, 0, 0, copysign_),
    [KERNEL_OP_SQRT] = {.emit = math, .float_op = GLSLstd450Sqrt},
    [KERNEL_OP_FLOOR] = {.emit = math, .float_op = GLSLstd450Floor},
    [KERNEL_OP_CEIL] = {.emit = math, .float_op = GLSLstd450Ceil},
    [KERNEL_OP_TRUNC] = {.emit = math, .float_op = GLSLstd450Trunc},
    [KERNEL_OP_ROUND_EVEN] = {.emit = math, .float_op = GLSLstd450RoundEven},
    [KERNEL_OP_MIN] = ARITH(0, 0, 0, fmin_),
    [KERNEL_OP_MAX] = ARITH(0, 0, 0, fmax_),
    [KERNEL_OP_MIN_NUM] = ARITH(0, 0, 0, fmin_num),
    [KERNEL_OP_MAX_NUM] = ARITH(0, 0, 0, fmax_num),
    [KERNEL_OP_EQ] = COMPARE(SpvOpIEqual, SpvOpFOrdEqual, SpvOpLogicalEqual, NULL),
    [KERNEL_OP_NE] = COMPARE(SpvOpINotEqual, SpvOpFUnordNotEqual, SpvOpLogicalNotEqual, NULL),
    [KERNEL_OP_LT_S] = COMPARE(SpvOpSLessThan, 0, 0, bool_lt_s),
    [KERNEL_OP_LE_S] = COMPARE(SpvOpSLessThanEqual, 0, 0, bool_le_s),
    [KERNEL_OP_LT_U] = COMPARE(SpvOpULessThan, 0, 0, bool_lt_u),
    [KERNEL_OP_LE_U] = COMPARE(SpvOpULessThanEqual, 0, 0, bool_le_u),
    [KERNEL_OP_LT] = COMPARE(0, SpvOpFOrdLessThan, 0, NULL),
    [KERNEL_OP_LE] = COMPARE(0, SpvOpFOrdLessThanEqual, 0, NULL),
    [KERNEL_OP_SELECT] = {.emit = select_instr},
    [KERNEL_OP_TRUNCATE] = {.emit = spirv_emit_conversion},
    [KERNEL_OP_EXTEND_S] = {.emit = spirv_emit_conversion},
    [KERNEL_OP_EXTEND_U] = {.emit = spirv_emit_conversion},
    [KERNEL_OP_FLOAT_CONVERT] = {.emit = spirv_emit_conversion},
    [KERNEL_OP_FROM_INT_S] = {.emit = spirv_emit_conversion},
    [KERNEL_OP_FROM_INT_U] = {.emit = spirv_emit_conversion},
    [KERNEL_OP_TO_INT_S] = {.emit = spirv_emit_conversion},
    [KERNEL_OP_TO_INT_U] = {.emit = spirv_emit_conversion},
    [KERNEL_OP_BITCAST] = {.emit = spirv_emit_conversion},
    [KERNEL_OP_SPLAT] = {.emit = splat},
    [KERNEL_OP_BUILD] = {.emit = build},
    [KERNEL_OP_LANES] = {.emit = lanes},
    [KERNEL_OP_EXTRACT] = {.emit = extract},
    [KERNEL_OP_INSERT] = {.emit = insert},
    [KERNEL_OP_SHUFFLE] = {.emit = shuffle},
    [KERNEL_OP_REDUCE_ADD] = {.emit = reduce},
    [KERNEL_OP_REDUCE_MUL] = {.emit = reduce},
    [KERNEL_OP_REDUCE_MIN] = {.emit = reduce},
    [KERNEL_OP_REDUCE_MAX] = {.emit = reduce},
    [KERNEL_OP_REDUCE_AND] = {.emit = reduce},
    [KERNEL_OP_REDUCE_OR] = {.emit = reduce},
    [KERNEL_OP_REDUCE_XOR] = {.emit = reduce},
    [KERNEL_OP_LOAD] = {.emit = spirv_emit_load},
    [KERNEL_OP_STORE] = {.emit = spirv_emit_store},
    [KERNEL_OP_ATOMIC_ADD] = {.emit = spirv_emit_atomic},
    [KERNEL_OP_ATOMIC_MIN_S] = {.emit = spirv_emit_atomic},
    [KERNEL_OP_ATOMIC_MAX_S] = {.emit = spirv_emit_atomic},
    [KERNEL_OP_ATOMIC_CAS] = {.emit = spirv_emit_atomic},
    [KERNEL_OP_FOR] = {.emit = spirv_emit_for},
    [KERNEL_OP_WHILE] = {.emit = spirv_emit_while},
    [KERNEL_OP_IF] = {.emit = spirv_emit_if},
    [KERNEL_OP_YIELD] = {.emit = yield},
    [KERNEL_OP_LOCAL_ID] = {.emit = local_id},
    [KERNEL_OP_GROUP_ID] = {.emit = group_id},
    [KERNEL_OP_BARRIER] = {.emit = barrier},
    [KERNEL_OP_SUBGROUP_LANE] = {.emit = subgroup_lane},
    [KERNEL_OP_SUBGROUP_SHUFFLE] = {.emit = subgroup_shuffle},
    [KERNEL_OP_SUBGROUP_BROADCAST] = {.emit = subgroup_broadcast},
    [KERNEL_OP_SUBGROUP_SHUFFLE_XOR] = {.emit = subgroup_shuffle_xor},
    [KERNEL_OP_SUBGROUP_ADD] = {.emit = subgroup_reduce},
    [KERNEL_OP_SUBGROUP_MIN] = {.emit = subgroup_reduce},
    [KERNEL_OP_SUBGROUP_MAX] = {.emit = subgroup_reduce},
    [KERNEL_OP_EXP] = EXPANDED,
    [KERNEL_OP_EXPM1] = EXPANDED,
    [KERNEL_OP_LOG] = EXPANDED,
    [KERNEL_OP_LOG1P] = EXPANDED,
    [KERNEL_OP_SIN] = EXPANDED,
    [KERNEL_OP_COS] = EXPANDED,
    [KERNEL_OP_TAN] = EXPANDED,
    [KERNEL_OP_TANH] = EXPANDED,
    [KERNEL_OP_ATAN2] = EXPANDED,
    [KERNEL_OP_POW] = EXPANDED,
    [KERNEL_OP_RSQRT] = EXPANDED,
    [KERNEL_OP_CBRT] = EXPANDED,
    [KERNEL_OP_ERF] = EXPANDED,
    [KERNEL_OP_ERFC] = EXPANDED,
    [KERNEL_OP_REM] = EXPANDED,
    [KERNEL_OP_LOGISTIC] = EXPANDED,
    [KERNEL_OP_TILE_FMA] = EXPANDED,
};
_Static_assert(KERNEL_OP_COUNT == 106, "a new kernel operation needs a row in this table");

void spirv_emit_instr(spirv_emitter *e, const kernel_instr *i) {
  if (e->status) return;
  table[i->op].emit(e, i);
}

const char *spirv_op_unsupported(kernel_op op) {
  return table[op].unsupported;
}
bool spirv_op_listed(kernel_op op) {
  return table[op].emit != NULL;
}
