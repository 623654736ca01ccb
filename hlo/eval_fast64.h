// SPDX-License-Identifier: Apache-2.0
// Vector versions of the C library's functions for f64: eval_fast64.c says why they give the correctly rounded result.
// An element that the rounding test cannot decide, or outside the domain, comes out as NaN; settle asks the library.
#ifndef HLO_EVAL_FAST64_H
#define HLO_EVAL_FAST64_H

#include "hlo/eval_internal.h"

typedef void (*hlo_fast64_unary_fn)(int64_t n, const double *restrict x, double *restrict y);
typedef void (*hlo_fast64_binary_fn)(int64_t n, const double *restrict x, const double *restrict y, double *restrict z);
void hlo_fast64_exp(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast64_expm1(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast64_logistic(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast64_log(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast64_log1p(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast64_tanh(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast64_sin(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast64_cos(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast64_tan(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast64_cbrt(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast64_rsqrt(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast64_pow(int64_t n, const double *restrict x, const double *restrict y, double *restrict z);
void hlo_fast64_atan2(int64_t n, const double *restrict x, const double *restrict y, double *restrict z);
void hlo_fast64_fmod(int64_t n, const double *restrict x, const double *restrict y, double *restrict z);

// The same from first approximations y, within 2^-40.
void hlo_fast64_cbrt_refine(int64_t n, const double *restrict x, const double *restrict y, double *restrict z);
void hlo_fast64_rsqrt_refine(int64_t n, const double *restrict x, const double *restrict y, double *restrict z);

// Whole loops of f64 operations: the fast function by blocks, the library where it gave NaN.
void hlo_fast64_unary(int64_t n, const double *in, double *out, hlo_fast64_unary_fn fast,
                      long double (*exact)(long double));
void hlo_fast64_binary(int64_t n, const double *a, const double *b, double *out, hlo_fast64_binary_fn fast,
                       long double (*exact)(long double, long double));

#endif
