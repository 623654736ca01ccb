// SPDX-License-Identifier: Apache-2.0
// Expands every MATH operation to arithmetic: the same polynomials for every device (math_*.c), so that devices agree
// to a few ulp. f16, bf16 and f8 operands are computed in f32 and rounded once. Needs: nothing. Leaves: no MATH
// operation.
#include "hlo/kernel/math_internal.h"
#include "hlo/kernel/walk.h"

typedef struct state {
  kernel *k;
  const hlo_target *target;
  kernel_rewrite rewrite;
} state;

static val expand(math *m, kernel_op op, val x, val y) {
  switch (op) {
    case KERNEL_OP_EXP: return math_exp(m, x);
    case KERNEL_OP_EXPM1: return math_expm1(m, x);
    case KERNEL_OP_LOG: return math_log(m, x);
    case KERNEL_OP_LOG1P: return math_log1p(m, x);
    case KERNEL_OP_SIN: return math_sin(m, x);
    case KERNEL_OP_COS: return math_cos(m, x);
    case KERNEL_OP_TAN: return math_tan(m, x);
    case KERNEL_OP_TANH: return math_tanh(m, x);
    case KERNEL_OP_ATAN2: return math_atan2(m, x, y);
    case KERNEL_OP_POW: return math_pow(m, x, y);
    case KERNEL_OP_RSQRT: return m_div(m, m_c(m, 1), m_sqrt(m, x));
    case KERNEL_OP_CBRT: return math_cbrt(m, x);
    case KERNEL_OP_ERF: return math_erf(m, x);
    case KERNEL_OP_ERFC: return math_erfc(m, x);
    case KERNEL_OP_REM: return math_rem(m, x, y);
    case KERNEL_OP_LOGISTIC: return math_logistic(m, x);
    default: LEMNOS_PANIC("not a math operation: %s", kernel_op_table[op].name);
  }
}

static void visit(void *user, kernel_instr *i) {
  state *s = user;
  if (kernel_op_table[i->op].cls != KERNEL_CLASS_MATH) return;
  kernel_scalar type = (kernel_scalar)i->results[0].type.scalar;
  math m = {.b = {.k = s->k, .block = i->parent, .before = i}, .target = s->target, .lanes = i->results[0].type.lanes};
  m.f = type == KERNEL_F64 ? KERNEL_F64 : KERNEL_F32;
  m.i = type == KERNEL_F64 ? KERNEL_I64 : KERNEL_I32;
  val x = kernel_conv(&m.b, KERNEL_OP_FLOAT_CONVERT, i->operands[0], m.f);
  val y = i->n_operands > 1 ? kernel_conv(&m.b, KERNEL_OP_FLOAT_CONVERT, i->operands[1], m.f) : NULL;
  val r = kernel_conv(&m.b, KERNEL_OP_FLOAT_CONVERT, expand(&m, i->op, x, y), type);
  kernel_rewrite_set(&s->rewrite, &i->results[0], r);
  kernel_instr_unlink(i);
}

void kernel_pass_expand_math(kernel *k, const hlo_target *t) {
  state s = {.k = k, .target = t};
  kernel_walk(k->body, visit, &s);
  kernel_rewrite_apply(&s.rewrite, k);
}
