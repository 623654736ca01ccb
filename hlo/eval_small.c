// SPDX-License-Identifier: Apache-2.0
// Block codecs of small floats (f4, f6, f8, bf16, f16): the results of base/half.h, in loops without branches.
//
// A value is decoded to a float, in which all are exact, and encoded from one: the magnitude's bits are rebased and
// rounded as an integer, a carry moving into the exponent by itself; subnormal results are rounded by adding the float
// whose last bit has the value of theirs. Doubles are first rounded to odd floats (see odd_floats), so that only one
// rounding counts.
#include "hlo/eval_internal.h"

typedef enum kind { IEEE, FN, FNUZ, FINITE, E8M0 } kind;  // as in base/half.h

// --- formats of a byte

static inline float byte_to_float(uint32_t p, int exponent, int mantissa, int bias, kind kind) {
  if (kind == E8M0) {
    uint32_t u = p ? p << 23 : 1u << 22;
    return half_float_of(p == 0xff ? 0x7fc00000 : u);
  }
  uint32_t sign_bit = 1u << (exponent + mantissa), magnitude = p & (sign_bit - 1), sign = p & sign_bit ? 1u << 31 : 0;
  uint32_t infinity = ((1u << exponent) - 1) << mantissa;
  uint32_t shifted = magnitude << (23 - mantissa), unit = (uint32_t)(128 - bias) << 23;
  uint32_t u = shifted + ((uint32_t)(127 - bias) << 23);
  uint32_t tiny = half_bits_of(half_float_of(shifted + unit) - half_float_of(unit));
  u = magnitude < 1u << mantissa ? tiny : u;
  if (kind == IEEE) {
    uint32_t special = 0x7f800000 | shifted | (magnitude > infinity ? 1u << 22 : 0);
    u = magnitude >= infinity ? special : u;
  }
  if (kind == FN) u = magnitude == sign_bit - 1 ? 0x7fc00000 : u;
  u |= sign;
  if (kind == FNUZ) u = (p & (2 * sign_bit - 1)) == sign_bit ? 0x7fc00000 : u;
  return half_float_of(u);
}

static inline uint32_t byte_from_float(float x, int exponent, int mantissa, int bias, kind kind) {
  uint32_t u = half_bits_of(x), magnitude = u & 0x7fffffff;
  if (kind == E8M0) {  // halfway cases go up; what is not positive is NaN
    uint32_t code = magnitude < 0x800000 ? magnitude >= 0x600000 : (magnitude + 0x400000) >> 23;
    return u - 1 >= 0x7f7fffff ? 0xff : code;
  }
  const int cut = 23 - mantissa;
  const uint32_t unit = (uint32_t)(128 - bias + cut) << 23;  // its last bit is worth the smallest value
  uint32_t sign_bit = 1u << (exponent + mantissa), infinity = ((1u << exponent) - 1) << mantissa;
  uint32_t sign = u >> 31 ? sign_bit : 0;
  uint32_t code =
      ((magnitude + (1u << (cut - 1)) - 1 + (magnitude >> cut & 1)) >> cut) - ((uint32_t)(127 - bias) << mantissa);
  uint32_t tiny = half_bits_of(half_float_of(magnitude) + half_float_of(unit)) - unit;
  code = magnitude < (uint32_t)(128 - bias) << 23 ? tiny : code;
  bool nan = magnitude > 0x7f800000;
  if (kind == IEEE) {
    code = code < infinity ? code : infinity;
    code = nan ? ((1u << (exponent + 1)) - 1) << (mantissa - 1) : code;
  }
  if (kind == FN) code = code < sign_bit - 1 ? code : sign_bit - 1;
  if (kind == FNUZ) return code >= sign_bit ? sign_bit : code ? sign | code : 0;
  if (kind == FINITE) {
    code = code < sign_bit ? code : sign_bit - 1;
    return nan ? sign ^ sign_bit : sign | code;
  }
  return sign | code;
}

// X(dtype, name, exponent bits, mantissa bits, bias, kind): one row of SMALL_FLOATS each
// clang-format off
#define BYTE_FORMATS(X)                       \
  X(F8E5M2, f8E5M2, 5, 2, 15, IEEE)           \
  X(F8E4M3, f8E4M3, 4, 3, 7, IEEE)            \
  X(F8E3M4, f8E3M4, 3, 4, 3, IEEE)            \
  X(F8E4M3FN, f8E4M3FN, 4, 3, 7, FN)          \
  X(F8E4M3FNUZ, f8E4M3FNUZ, 4, 3, 8, FNUZ)    \
  X(F8E5M2FNUZ, f8E5M2FNUZ, 5, 2, 16, FNUZ)   \
  X(F8E4M3B11FNUZ, f8E4M3B11FNUZ, 4, 3, 11, FNUZ) \
  X(F8E8M0FNU, f8E8M0FNU, 8, 0, 127, E8M0)    \
  X(F6E2M3FN, f6E2M3FN, 2, 3, 1, FINITE)      \
  X(F6E3M2FN, f6E3M2FN, 3, 2, 3, FINITE)      \
  X(F4E2M1FN, f4E2M1FN, 2, 1, 1, FINITE)
// clang-format on

#define BYTE_LOOPS(ENUM, name, e, m, bias, kind)                                                          \
  LEMNOS_CLONES static void name##_to_floats(int64_t n, const uint8_t *restrict x, float *restrict y) {   \
    for (int64_t i = 0; i < n; i++) y[i] = byte_to_float(x[i], e, m, bias, kind);                         \
  }                                                                                                       \
  LEMNOS_CLONES static void name##_from_floats(int64_t n, const float *restrict x, uint8_t *restrict y) { \
    for (int64_t i = 0; i < n; i++) y[i] = (uint8_t)byte_from_float(x[i], e, m, bias, kind);              \
  }
BYTE_FORMATS(BYTE_LOOPS)

// --- 16 bits

static inline float quiet(float x) {
  uint32_t u = half_bits_of(x);
  return half_float_of((u & 0x7fffffff) > 0x7f800000 ? u | 1u << 22 : u);
}

#define HALF_LOOPS(name)                                                                                   \
  LEMNOS_CLONES static void name##_to_floats(int64_t n, const uint16_t *restrict x, float *restrict y) {   \
    for (int64_t i = 0; i < n; i++) y[i] = quiet(name##_to_f32(x[i]));                                     \
  }                                                                                                        \
  LEMNOS_CLONES static void name##_from_floats(int64_t n, const float *restrict x, uint16_t *restrict y) { \
    for (int64_t i = 0; i < n; i++) y[i] = name##_from_f32(x[i]);                                          \
  }
HALF_LOOPS(bf16)
HALF_LOOPS(f16)

// --- all

void hlo_small_to_floats(hlo_dtype t, int64_t n, const void *in, float *out) {
  switch (t) {
#define CASE(ENUM, name, ...) \
  case HLO_##ENUM: name##_to_floats(n, in, out); return;
    BYTE_FORMATS(CASE)
    CASE(BF16, bf16)
    CASE(F16, f16)
#undef CASE
    default: return;
  }
}

void hlo_small_from_floats(hlo_dtype t, int64_t n, const float *in, void *out) {
  switch (t) {
#define CASE(ENUM, name, ...) \
  case HLO_##ENUM: name##_from_floats(n, in, out); return;
    BYTE_FORMATS(CASE)
    CASE(BF16, bf16)
    CASE(F16, f16)
#undef CASE
    default: return;
  }
}

LEMNOS_CLONES static void widen(int64_t n, const float *restrict in, double *restrict out) {
  for (int64_t i = 0; i < n; i++) out[i] = in[i];
}

LEMNOS_CLONES static void narrow(int64_t n, const double *restrict in, float *restrict out) {
  for (int64_t i = 0; i < n; i++) out[i] = (float)in[i];
}

// Doubles as floats rounded to odd: the last bit is set if anything was cut off, so that a second rounding to at most
// 22 bits is right. false: some are below the normal floats, where this does not hold, or NaN, whose bits it would
// change.
LEMNOS_CLONES static bool odd_floats(int64_t n, const double *restrict in, float *restrict out) {
  const uint64_t cut = (UINT64_C(1) << 29) - 1;
  uint64_t tiny = 0;
  for (int64_t i = 0; i < n; i++) {
    uint64_t u;
    double x = in[i];
    memcpy(&u, &x, 8);
    u = (u | ((u & cut) + cut)) & ~cut;
    memcpy(&x, &u, 8);
    out[i] = (float)x;
    tiny |= (uint64_t)(((fabs(in[i]) < 0x1p-126) & (in[i] != 0)) | (in[i] != in[i]));
  }
  return !tiny;
}

void hlo_small_decode(hlo_dtype t, int64_t n, const void *in, double *out) {
  float f[EVAL_BLOCK];
  int64_t bytes = hlo_dtype_bytes(t);
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    hlo_small_to_floats(t, m, (const char *)in + i * bytes, f);
    widen(m, f, out + i);
  }
}

static void encode_each(hlo_dtype t, int64_t n, const double *in, void *out) {
  uint16_t *h = out;
  uint8_t *b = out;
  switch (t) {
#define CASE(ENUM, name, ...)                                               \
  case HLO_##ENUM:                                                          \
    for (int64_t i = 0; i < n; i++) b[i] = (uint8_t)name##_from_f64(in[i]); \
    return;
    BYTE_FORMATS(CASE)
#undef CASE
    case HLO_BF16:
      for (int64_t i = 0; i < n; i++) h[i] = (uint16_t)bf16_from_f64(in[i]);
      return;
    case HLO_F16:
      for (int64_t i = 0; i < n; i++) h[i] = (uint16_t)f16_from_f64(in[i]);
      return;
    default: return;
  }
}

void hlo_small_encode(hlo_dtype t, int64_t n, const double *in, void *out, bool via_float) {
  float f[EVAL_BLOCK];
  int64_t bytes = hlo_dtype_bytes(t);
  if (t == HLO_F8E8M0FNU) via_float = false;  // its values reach below the normal floats
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    char *to = (char *)out + i * bytes;
    if (via_float)
      narrow(m, in + i, f);
    else if (!odd_floats(m, in + i, f)) {
      encode_each(t, m, in + i, to);
      continue;
    }
    hlo_small_from_floats(t, m, f, to);
  }
}
