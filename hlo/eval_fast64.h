// SPDX-License-Identifier: Apache-2.0
// Vector versions of the C library's functions for f64: eval_fast64.c says why they give the correctly rounded result.
#ifndef HLO_EVAL_FAST64_H
#define HLO_EVAL_FAST64_H

#include "hlo/eval_internal.h"

typedef void (*hlo_fast64_unary_fn)(int64_t n, const double *restrict x, double *restrict y);
typedef void (*hlo_fast64_binary_fn)(int64_t n, const double *restrict x, const double *restrict y, double *restrict z);

// A pass gives the correctly rounded result, or NaN where its rounding test cannot decide or it does not know the
// argument. The first is faster, the second decides more; NULL: there is none.
typedef struct hlo_fast64_unary_passes {
  hlo_fast64_unary_fn first, second;
} hlo_fast64_unary_passes;
typedef struct hlo_fast64_binary_passes {
  hlo_fast64_binary_fn first, second;
} hlo_fast64_binary_passes;

extern const hlo_fast64_unary_passes hlo_fast64_atan, hlo_fast64_exp, hlo_fast64_expm1, hlo_fast64_logistic,
    hlo_fast64_log, hlo_fast64_log1p, hlo_fast64_tanh, hlo_fast64_sin, hlo_fast64_cos, hlo_fast64_tan, hlo_fast64_cbrt,
    hlo_fast64_rsqrt;
extern const hlo_fast64_binary_passes hlo_fast64_pow, hlo_fast64_atan2, hlo_fast64_fmod;

// Whole loops of f64 operations: the passes by blocks, the library where they gave NaN. `out` may be an operand.
void hlo_fast64_unary(int64_t n, const double *in, double *out, const hlo_fast64_unary_passes *fast,
                      long double (*exact)(long double));
void hlo_fast64_binary(int64_t n, const double *a, const double *b, double *out, const hlo_fast64_binary_passes *fast,
                       long double (*exact)(long double, long double));

#endif
