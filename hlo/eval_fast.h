// SPDX-License-Identifier: Apache-2.0
// Vector versions of the C library's transcendental functions, for results of at most 24 bits: eval_fast.c says why
// they give the same bits.
#ifndef HLO_EVAL_FAST_H
#define HLO_EVAL_FAST_H

#include "hlo/eval_internal.h"

#define HLO_FAST_LOW_F32 ((UINT64_C(1) << 28) - 1)    // low bits that are zero where rounding to 24 bits changes
#define HLO_FAST_LOW_SMALL ((UINT64_C(1) << 40) - 1)  // to 12 bits or fewer
#define HLO_FAST_MARGIN UINT64_C(512)                 // 2^-44 of a value

typedef void (*hlo_fast_unary_fn)(int64_t n, const double *restrict x, double *restrict y);
typedef void (*hlo_fast_binary_fn)(int64_t n, const double *restrict x, const double *restrict y, double *restrict z);
void hlo_fast_exp(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast_expm1(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast_logistic(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast_log(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast_log1p(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast_tanh(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast_sin(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast_cos(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast_tan(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast_atan(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast_cbrt(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast_rsqrt(int64_t n, const double *restrict x, double *restrict y);
void hlo_fast_pow(int64_t n, const double *restrict x, const double *restrict y, double *restrict z);
void hlo_fast_fmod(int64_t n, const double *restrict x, const double *restrict y, double *restrict z);
void hlo_fast_atan2(int64_t n, const double *restrict x, const double *restrict y, double *restrict z);

// Replaces what the rounding test cannot vouch for by the library's value.
void hlo_fast_settle_unary(int64_t n, const double *x, double *y, uint64_t low, double (*exact)(double));
void hlo_fast_settle_exact(int64_t n, const double *x, const double *y, double *z, double (*exact)(double, double));
void hlo_fast_settle_binary(int64_t n, const double *x, const double *y, double *z, uint64_t low,
                            double (*exact)(double, double));

#endif
