// SPDX-License-Identifier: Apache-2.0
// Shared by eval_*.c only: the list of integer types, small helpers that scalar.def's expressions use, block conversion
// of small floats, and the per-file lookup functions that eval.c asks in turn.
//
// Small floats (everything narrower than f32) go through blocks of EVAL_BLOCK doubles: decode, run the `wide` loop of
// the operation (double -> double), encode with one rounding. That is one dispatch per block, none per element.
#ifndef HLO_EVAL_INTERNAL_H
#define HLO_EVAL_INTERNAL_H

#include <complex.h>
#include <math.h>

#include "hlo/eval.h"

// X(dtype, C type, working type, signed working type, bits, signed, A, B): A and B are passed on, and may be empty.
// clang-format off
#define EVAL_INTS(X, A, B) \
  X(S2, int8_t, uint32_t, int32_t, 2, 1, A, B) \
  X(S4, int8_t, uint32_t, int32_t, 4, 1, A, B) \
  X(S8, int8_t, uint32_t, int32_t, 8, 1, A, B) \
  X(S16, int16_t, uint32_t, int32_t, 16, 1, A, B) \
  X(S32, int32_t, uint32_t, int32_t, 32, 1, A, B) \
  X(S64, int64_t, uint64_t, int64_t, 64, 1, A, B) \
  X(U2, uint8_t, uint32_t, int32_t, 2, 0, A, B) \
  X(U4, uint8_t, uint32_t, int32_t, 4, 0, A, B) \
  X(U8, uint8_t, uint32_t, int32_t, 8, 0, A, B) \
  X(U16, uint16_t, uint32_t, int32_t, 16, 0, A, B) \
  X(U32, uint32_t, uint32_t, int32_t, 32, 0, A, B) \
  X(U64, uint64_t, uint64_t, int64_t, 64, 0, A, B)
// clang-format on

// Wraps a value to the type: narrower than a byte it is kept sign- or zero-extended in the byte.
static inline int8_t eval_wrap_S2(uint64_t v) {
  return (int8_t)((int8_t)(uint8_t)(v << 6) >> 6);
}
static inline int8_t eval_wrap_S4(uint64_t v) {
  return (int8_t)((int8_t)(uint8_t)(v << 4) >> 4);
}
static inline int8_t eval_wrap_S8(uint64_t v) {
  return (int8_t)v;
}
static inline int16_t eval_wrap_S16(uint64_t v) {
  return (int16_t)v;
}
static inline int32_t eval_wrap_S32(uint64_t v) {
  return (int32_t)v;
}
static inline int64_t eval_wrap_S64(uint64_t v) {
  return (int64_t)v;
}
static inline uint8_t eval_wrap_U2(uint64_t v) {
  return (uint8_t)(v & 3);
}
static inline uint8_t eval_wrap_U4(uint64_t v) {
  return (uint8_t)(v & 15);
}
static inline uint8_t eval_wrap_U8(uint64_t v) {
  return (uint8_t)v;
}
static inline uint16_t eval_wrap_U16(uint64_t v) {
  return (uint16_t)v;
}
static inline uint32_t eval_wrap_U32(uint64_t v) {
  return (uint32_t)v;
}
static inline uint64_t eval_wrap_U64(uint64_t v) {
  return v;
}

static inline int eval_popcount(uint64_t v) {
  v = v - ((v >> 1) & 0x5555555555555555u);
  v = (v & 0x3333333333333333u) + ((v >> 2) & 0x3333333333333333u);
  v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return (int)((v * 0x0101010101010101u) >> 56);
}

// Of the low `bits` bits; `bits` for zero. v has no bits above them.
static inline int eval_leading_zeros(uint64_t v, int bits) {
  for (int s = 1; s < 64; s <<= 1) v |= v >> s;
  return bits - eval_popcount(v);
}

// The high half of the 2*bits wide product of a and b, both sign-extended to 64 bits.
static inline uint64_t eval_mul_high(uint64_t a, uint64_t b, int bits, bool is_signed) {
  if (bits <= 32) return (uint64_t)(is_signed ? (int64_t)(a * b) >> bits : (int64_t)((a * b) >> bits));
  uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
  uint64_t mid = ah * bl + (al * bl >> 32), mid2 = al * bh + (uint32_t)mid;
  uint64_t high = ah * bh + (mid >> 32) + (mid2 >> 32);
  if (is_signed) high -= ((int64_t)a < 0 ? b : 0) + ((int64_t)b < 0 ? a : 0);
  return high;
}

// IEEE 754-2019 maximum and minimum: NaN wins, -0 < +0.
#define EVAL_MIN_MAX(T, U, name)                                              \
  static inline T eval_max_##name(T a, T b) {                                 \
    U x, y;                                                                   \
    memcpy(&x, &a, sizeof x), memcpy(&y, &b, sizeof y);                       \
    x &= y; /* of equal numbers only zeros differ */                          \
    T equal;                                                                  \
    memcpy(&equal, &x, sizeof x);                                             \
    T r = a > b ? a : b, s = (a != a ? a : b) + 0; /* the first NaN, quiet */ \
    r = a == b ? equal : r;                                                   \
    return a != a || b != b ? s : r;                                          \
  }                                                                           \
  static inline T eval_min_##name(T a, T b) {                                 \
    U x, y;                                                                   \
    memcpy(&x, &a, sizeof x), memcpy(&y, &b, sizeof y);                       \
    x |= y;                                                                   \
    T equal;                                                                  \
    memcpy(&equal, &x, sizeof x);                                             \
    T r = a < b ? a : b, s = (a != a ? a : b) + 0;                            \
    r = a == b ? equal : r;                                                   \
    return a != a || b != b ? s : r;                                          \
  }
EVAL_MIN_MAX(float, uint32_t, f32)
EVAL_MIN_MAX(double, uint64_t, f64)

static inline double eval_logistic(double x) {
  return 1 / (1 + exp(-x));
}
static inline long double eval_logisticl(long double x) {
  return 1 / (1 + expl(-x));
}
static inline double eval_rsqrt(double x) {
  return 1 / sqrt(x);
}
static inline long double eval_rsqrtl(long double x) {
  return 1 / sqrtl(x);
}

// eval_special.c
double hlo_erf_inv(double x);
long double hlo_erf_invl(long double x);
double hlo_lgamma(double x);
long double hlo_lgammal(long double x);
double hlo_digamma(double x);
long double hlo_digammal(long double x);
double hlo_bessel_i1e(double x);
long double hlo_bessel_i1el(long double x);
double hlo_polygamma(double n, double x);
long double hlo_polygammal(long double n, long double x);
double hlo_zeta(double x, double q);
long double hlo_zetal(long double x, long double q);

#define EVAL_PI 3.141592653589793238462643383279502884L
enum { EVAL_BLOCK = 256 };

// true for f4, f6, f8, bf16, f16
static inline bool eval_is_small(hlo_dtype t) {
  return t >= HLO_F4E2M1FN && t <= HLO_F16;
}
// eval_small.c. Every value of every small type is exact in a float. `out` must not overlap `in`.
void hlo_small_to_floats(hlo_dtype t, int64_t n, const void *in, float *out);
void hlo_small_from_floats(hlo_dtype t, int64_t n, const float *in, void *out);  // rounded to nearest even
void hlo_small_decode(hlo_dtype t, int64_t n, const void *in, double *out);
// via_float: the values were rounded (or are exact) in f32 already, or are results of + - * / sqrt on small floats, for
// which rounding twice is the same as rounding once (f32's 24 bits >= 2 * 11 + 2); allows faster code for f16 and bf16.
void hlo_small_encode(hlo_dtype t, int64_t n, const double *in, void *out, bool via_float);
typedef void (*eval_wide_unary_fn)(int64_t n, double *x);                    // in place
typedef void (*eval_wide_binary_fn)(int64_t n, double *x, const double *y);  // into x

// Lookup per file: the loop for op on operands of type `in` (of the data operands), or NULL.
hlo_eval_fn hlo_eval_find_unary(hlo_op op, hlo_dtype in, hlo_dtype out);
hlo_eval_fn hlo_eval_find_binary(hlo_op op, hlo_dtype in, hlo_dtype out);
hlo_eval_fn hlo_eval_find_ternary(hlo_op op, hlo_dtype in, hlo_dtype out);
hlo_eval_fn hlo_eval_find_compare(int direction, int type, hlo_dtype in);
hlo_eval_fn hlo_eval_find_convert(hlo_dtype in, hlo_dtype out);
hlo_eval_fn hlo_eval_find_complex(hlo_op op, hlo_dtype in, hlo_dtype out);
hlo_eval_fn hlo_eval_find_bits(hlo_op op, hlo_dtype in);  // reduce_precision, next_after
hlo_eval_fn hlo_eval_find_quant(hlo_op op, hlo_dtype in, hlo_dtype out);

// --- what the files expanded from scalar.def share
// For its integer expressions: a value sign- or zero-extended from BITS.
#define SX(v) ((WS)((W)(v) << (sizeof(W) * 8 - BITS)) >> (sizeof(W) * 8 - BITS))
#define UX(v) ((W)(v) & ((W)-1 >> (sizeof(W) * 8 - BITS)))

// Lookup: a row of functions by integer type, from HLO_S2 on; the case of a float operation.
_Static_assert(HLO_U64 - HLO_S2 == 11 && HLO_U2 - HLO_S2 == 6, "order of dtypes.def");

#define EVAL_ALL_INTS(OP) \
  { OP##_S2, OP##_S4, OP##_S8, OP##_S16, OP##_S32, OP##_S64, OP##_U2, OP##_U4, OP##_U8, OP##_U16, OP##_U32, OP##_U64 }
#define EVAL_FLOAT_CASE(OP) \
  case HLO_OP_##OP: return t == HLO_F32 ? OP##_F32 : t == HLO_F64 ? OP##_F64 : OP##_small;

// The same with loops of their own for bf16 and f16.
#define EVAL_HALF_CASE(OP)             \
  case HLO_OP_##OP:                    \
    return t == HLO_F32    ? OP##_F32  \
           : t == HLO_F64  ? OP##_F64  \
           : t == HLO_BF16 ? OP##_BF16 \
           : t == HLO_F16  ? OP##_F16  \
                           : OP##_small;

#endif
