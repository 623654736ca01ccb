// SPDX-License-Identifier: Apache-2.0
// Zeros of floats, hidden from a driver's compiler that folds what it knows to be zero by rules that IEEE 754 does not
// have:
// gallivm's lp_build_add makes x of x + 0, which is wrong for -0; its lp_build_mul makes 0 of x * 0, which is wrong for
// negative numbers, infinities and NaN; its lp_build_div makes 0 of 0 / x, and anything of x / 0. a - b is a + -b to
// it, so that -0 counts there too. Known to it is not only a zero that is an operand, but also one that a loop starts
// from (NIR unrolls loops), that a branch yields, that a select or a masked load takes where the condition becomes
// known, and a lane of a vector (NIR takes vectors apart).
#include <math.h>

#include "hlo/kernel/legalize_internal.h"

static bool is_zero(const kernel_value *v, bool negative_too) {
  if (!v->def || v->def->op != KERNEL_OP_CONST || !kernel_scalar_table[v->type.scalar].is_float) return false;
  return v->def->imm.f == 0 && (negative_too || !signbit(v->def->imm.f));
}

// A zero that the driver's compiler cannot know: the sign bit of the item's number.
static kernel_value *opaque_zero(kernel_builder *b, kernel_type t, bool negative) {
  kernel_scalar index = b->k->index;
  kernel_value *z =
      kernel_bin(b, KERNEL_OP_SHR_U, kernel_item(b), kernel_int(b, index, kernel_scalar_table[index].bits - 1));
  z = kernel_conv(b, KERNEL_OP_TRUNCATE, z, KERNEL_I32);
  if (negative) z = kernel_bin(b, KERNEL_OP_OR, z, kernel_int(b, KERNEL_I32, INT32_MIN));
  z = kernel_bitcast(b, z, kernel_type_make(KERNEL_F32, 1));
  return kernel_splat(b, kernel_conv(b, KERNEL_OP_FLOAT_CONVERT, z, (kernel_scalar)t.scalar), t.lanes);
}

static void hide_operands(legalizer *l, kernel_instr *i, int first, bool negative_too) {
  for (int o = first; o < i->n_operands; o++) {
    if (!is_zero(i->operands[o], negative_too)) continue;
    kernel_builder b = legalize_before(l, i);
    i->operands[o] = opaque_zero(&b, i->operands[o]->type, signbit(i->operands[o]->def->imm.f));
  }
}

// What is masked off is a zero of the driver's own: it is chosen again.
static void hide_masked(legalizer *l, kernel_instr *i) {
  kernel_value *loaded = &i->results[0];
  if (i->n_operands < 2 || !kernel_scalar_table[loaded->type.scalar].is_float) return;
  kernel_builder b = legalize_after(l, i);
  kernel_instr *copy = kernel_emit(&b, KERNEL_OP_LOAD, 1, &loaded->type, i->n_operands, i->operands);
  copy->mem = i->mem;
  copy->align = i->align;
  kernel_value *zero = opaque_zero(&b, loaded->type, false);
  kernel_rewrite_set(&l->rewrite, loaded, kernel_select(&b, i->operands[1], &copy->results[0], zero));
  kernel_instr_unlink(i);
}

// NIR drops fabs of what it takes for not negative, a square root, say; that may be -0.
static void clear_sign(legalizer *l, kernel_instr *i) {
  kernel_value *x = i->operands[0];
  int bits = kernel_scalar_table[x->type.scalar].bits;
  kernel_scalar carrier = bits == 64 ? KERNEL_I64 : bits == 32 ? KERNEL_I32 : KERNEL_I16;
  kernel_builder b = legalize_after(l, i);
  kernel_type t = kernel_type_make(carrier, x->type.lanes);
  kernel_value *mask = kernel_splat(&b, kernel_int(&b, carrier, (int64_t)(UINT64_MAX >> 1 >> (64 - bits))), t.lanes);
  kernel_value *cleared = kernel_bin(&b, KERNEL_OP_AND, kernel_bitcast(&b, x, t), mask);
  kernel_rewrite_set(&l->rewrite, &i->results[0], kernel_bitcast(&b, cleared, x->type));
  kernel_instr_unlink(i);
}

static void hide(void *user, kernel_instr *i) {
  legalizer *l = user;
  switch (i->op) {
    case KERNEL_OP_ADD:
    case KERNEL_OP_MUL:
    case KERNEL_OP_DIV:
    case KERNEL_OP_FMA: hide_operands(l, i, 0, false); break;
    case KERNEL_OP_SUB:
    case KERNEL_OP_NEG:
    case KERNEL_OP_SELECT:
    case KERNEL_OP_WHILE:
    case KERNEL_OP_YIELD:
    case KERNEL_OP_BUILD:
    case KERNEL_OP_INSERT:
    case KERNEL_OP_SHUFFLE: hide_operands(l, i, 0, true); break;
    case KERNEL_OP_FOR: hide_operands(l, i, 3, true); break;
    case KERNEL_OP_LOAD: hide_masked(l, i); break;
    case KERNEL_OP_ABS: clear_sign(l, i); break;
    default: break;
  }
}

void legalize_zeros(legalizer *l) {
  kernel_walk(l->k->body, hide, l);
  kernel_rewrite_apply(&l->rewrite, l->k);
}
