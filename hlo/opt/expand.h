// SPDX-License-Identifier: Apache-2.0
// Writing formulas as HLO, for expanders. An `expand *e` in scope has the cursor and the shape of the values at hand;
// constants made by K(v) are splats of that shape (common subexpression elimination merges them).
#ifndef HLO_OPT_EXPAND_H
#define HLO_OPT_EXPAND_H

#include "hlo/opt/opt_internal.h"

typedef struct expand {
  hlo_builder b;
  const hlo_shape *s;
} expand;

typedef hlo_instr *hv;

#define EXPAND_BIN(op, x, y) hlo_build_binary(&e->b, HLO_OP_##op, (x), (y))
#define EXPAND_UN(op, x) hlo_build_unary(&e->b, HLO_OP_##op, (x))
#define K(v) hlo_build_splat_f64(&e->b, e->s, (v))
#define ADD(x, y) EXPAND_BIN(ADD, x, y)
#define SUB(x, y) EXPAND_BIN(SUBTRACT, x, y)
#define MUL(x, y) EXPAND_BIN(MULTIPLY, x, y)
#define DIV(x, y) EXPAND_BIN(DIVIDE, x, y)
#define POW(x, y) EXPAND_BIN(POWER, x, y)
#define ATAN2(x, y) EXPAND_BIN(ATAN2, x, y)
#define AND(x, y) EXPAND_BIN(AND, x, y)
#define OR(x, y) EXPAND_BIN(OR, x, y)
#define XOR(x, y) EXPAND_BIN(XOR, x, y)
#define NOT(x) EXPAND_UN(NOT, x)
#define NEG(x) EXPAND_UN(NEGATE, x)
#define ABS(x) EXPAND_UN(ABS, x)
#define EXP(x) EXPAND_UN(EXPONENTIAL, x)
#define LOG(x) EXPAND_UN(LOG, x)
#define LOG1P(x) EXPAND_UN(LOG_PLUS_ONE, x)
#define SQRT(x) EXPAND_UN(SQRT, x)
#define SIN(x) EXPAND_UN(SINE, x)
#define COS(x) EXPAND_UN(COSINE, x)
#define FLOOR(x) EXPAND_UN(FLOOR, x)
#define REAL(x) EXPAND_UN(REAL, x)
#define IMAG(x) EXPAND_UN(IMAG, x)
#define COMPLEX(x, y) EXPAND_BIN(COMPLEX, x, y)
#define IS_FINITE(x) EXPAND_UN(IS_FINITE, x)
#define CMP(direction, x, y) hlo_build_compare(&e->b, HLO_COMPARISON_DIRECTION_##direction, (x), (y))
#define SELECT(c, x, y) hlo_build_select(&e->b, (c), (x), (y))

// expand_special.c: x (and y) are of e->s, f32 or f64. NULL if the operation is none of its own.
hv expand_special(expand *e, hlo_op op, hv x, hv y);
// expand_complex.c: x (and y) are complex; e->s is the shape of their real parts.
hv expand_complex(expand *e, hlo_op op, hv x, hv y);

// Replaces the uses of i, removes it and what dies with it.
static inline void expand_finish(hlo_instr *i, hlo_instr *replacement) {
  hlo_instr_replace_uses(i, replacement);
  hlo_opt_remove_dead(i);
}

#endif
