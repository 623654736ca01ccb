// SPDX-License-Identifier: Apache-2.0
// Vector versions of the complex functions on c64: eval_complex_fast.c says why they give the bits of the scalar ones.
#ifndef HLO_EVAL_COMPLEX_FAST_H
#define HLO_EVAL_COMPLEX_FAST_H

#include "hlo/eval_internal.h"

// Up to EVAL_BLOCK elements of c64 (abs: to f32). unsure[i] says that out does not hold element i; true if there is
// any.
typedef bool (*hlo_complex_unary_fn)(int64_t n, const float *x, float *restrict out, uint32_t *restrict unsure);
typedef bool (*hlo_complex_binary_fn)(int64_t n, const float *x, const float *z, float *restrict out,
                                      uint32_t *restrict unsure);
#define HLO_COMPLEX_UNARY_FN(name) \
  bool hlo_complex_##name(int64_t n, const float *x, float *restrict out, uint32_t *restrict unsure)
#define HLO_COMPLEX_BINARY_FN(name) \
  bool hlo_complex_##name(int64_t n, const float *x, const float *z, float *restrict out, uint32_t *restrict unsure)
HLO_COMPLEX_UNARY_FN(exp);
HLO_COMPLEX_UNARY_FN(expm1);
HLO_COMPLEX_UNARY_FN(log);
HLO_COMPLEX_UNARY_FN(log1p);
HLO_COMPLEX_UNARY_FN(logistic);
HLO_COMPLEX_UNARY_FN(cos);
HLO_COMPLEX_UNARY_FN(sin);
HLO_COMPLEX_UNARY_FN(tan);
HLO_COMPLEX_UNARY_FN(tanh);
HLO_COMPLEX_UNARY_FN(cosh);
HLO_COMPLEX_UNARY_FN(sinh);
HLO_COMPLEX_UNARY_FN(sqrt);
HLO_COMPLEX_UNARY_FN(rsqrt);
HLO_COMPLEX_UNARY_FN(cbrt);
HLO_COMPLEX_UNARY_FN(sign);
HLO_COMPLEX_UNARY_FN(abs);
HLO_COMPLEX_BINARY_FN(divide);
HLO_COMPLEX_BINARY_FN(power);

// Of any n; out may be an operand. (The value says nothing.)
bool hlo_complex_multiply(int64_t n, const float *x, const float *z, float *out);

// Whole loops: the fast function by blocks, the scalar loop where it is unsure. `width`: floats of a result.
void hlo_complex_fast_unary(int64_t n, const float *x, float *out, int width, hlo_complex_unary_fn fast,
                            hlo_eval_fn exact);
void hlo_complex_fast_binary(int64_t n, const float *x, const float *z, float *out, hlo_complex_binary_fn fast,
                             hlo_eval_fn exact);

#endif
