// SPDX-License-Identifier: Apache-2.0
// What the files of pass_expand_math share: short spellings for building floating-point code of one type, and the
// functions that call each other. Private to hlo/kernel.
#ifndef HLO_KERNEL_MATH_INTERNAL_H
#define HLO_KERNEL_MATH_INTERNAL_H

#include "hlo/kernel/builder.h"

typedef struct math {
  kernel_builder b;
  const hlo_target *target;
  kernel_scalar f;  // F32 or F64: the type being computed in
  kernel_scalar i;  // I32 or I64: its bits
  int lanes;
} math;

typedef kernel_value *val;

static inline val m_c(math *m, double x) {
  return kernel_splat(&m->b, kernel_float(&m->b, m->f, x), m->lanes);
}
static inline val m_i(math *m, int64_t x) {
  return kernel_splat(&m->b, kernel_int(&m->b, m->i, x), m->lanes);
}
static inline val m_add(math *m, val x, val y) {
  return kernel_bin(&m->b, KERNEL_OP_ADD, x, y);
}
static inline val m_sub(math *m, val x, val y) {
  return kernel_bin(&m->b, KERNEL_OP_SUB, x, y);
}
static inline val m_mul(math *m, val x, val y) {
  return kernel_bin(&m->b, KERNEL_OP_MUL, x, y);
}
static inline val m_div(math *m, val x, val y) {
  return kernel_bin(&m->b, KERNEL_OP_DIV, x, y);
}
static inline val m_neg(math *m, val x) {
  return kernel_un(&m->b, KERNEL_OP_NEG, x);
}
static inline val m_abs(math *m, val x) {
  return kernel_un(&m->b, KERNEL_OP_ABS, x);
}
static inline val m_sqrt(math *m, val x) {
  return kernel_un(&m->b, KERNEL_OP_SQRT, x);
}
static inline val m_lt(math *m, val x, val y) {
  return kernel_bin(&m->b, KERNEL_OP_LT, x, y);
}
static inline val m_le(math *m, val x, val y) {
  return kernel_bin(&m->b, KERNEL_OP_LE, x, y);
}
static inline val m_eq(math *m, val x, val y) {
  return kernel_bin(&m->b, KERNEL_OP_EQ, x, y);
}
static inline val m_ne(math *m, val x, val y) {
  return kernel_bin(&m->b, KERNEL_OP_NE, x, y);
}
static inline val m_and(math *m, val x, val y) {
  return kernel_bin(&m->b, KERNEL_OP_AND, x, y);
}
static inline val m_or(math *m, val x, val y) {
  return kernel_bin(&m->b, KERNEL_OP_OR, x, y);
}
static inline val m_sel(math *m, val c, val x, val y) {
  return kernel_select(&m->b, c, x, y);
}
static inline val m_copysign(math *m, val x, val y) {
  return kernel_bin(&m->b, KERNEL_OP_COPYSIGN, x, y);
}
// a * b + c: fused where that is as quick, else two roundings; polynomials tolerate both.
static inline val m_mad(math *m, val a, val b, val c) {
  return m->target && m->target->fused_fma ? kernel_fma(&m->b, a, b, c) : m_add(m, m_mul(m, a, b), c);
}
static inline val m_bits(math *m, val x) {
  return kernel_bitcast(&m->b, x, kernel_type_make(m->i, m->lanes));
}
static inline val m_float(math *m, val x) {
  return kernel_bitcast(&m->b, x, kernel_type_make(m->f, m->lanes));
}
static inline bool m_is64(const math *m) {
  return m->f == KERNEL_F64;
}

// Horner, highest coefficient first.
val m_poly(math *m, val x, int n, const double *coefficients);
// 2^n for integer lanes n (type m->i) within the normal exponent range.
val m_exp2i(math *m, val n);
// x * 2^n for |n| up to twice the exponent range, in two steps.
val m_ldexp(math *m, val x, val n);

// The functions; arguments and results of type m->f.
val math_exp(math *m, val x);
val math_expm1(math *m, val x);
val math_log(math *m, val x);
val math_log1p(math *m, val x);
val math_pow(math *m, val x, val y);
val math_tanh(math *m, val x);
val math_logistic(math *m, val x);
val math_cbrt(math *m, val x);
val math_rem(math *m, val x, val y);
val math_sin(math *m, val x);
val math_cos(math *m, val x);
val math_tan(math *m, val x);
val math_atan2(math *m, val y, val x);
val math_erf(math *m, val x);
val math_erfc(math *m, val x);

#endif
