// SPDX-License-Identifier: Apache-2.0
// Conversions between small floating-point formats and float/double. All narrowing is round-to-nearest-even from the
// exact source value (no double rounding: narrowing takes a double, and every f32 is exact in a double).
// Formats as in StableHLO's specification (and ml_dtypes): f16, bf16, f8E5M2, f8E4M3, f8E4M3FN, f8E4M3FNUZ, f8E5M2FNUZ,
// f8E4M3B11FNUZ, f8E3M4, f8E8M0FNU, f4E2M1FN, f6E2M3FN, f6E3M2FN. Values come as their bit pattern in the low bits.
#ifndef BASE_HALF_H
#define BASE_HALF_H

#include <stdint.h>
#include <string.h>

// M(name, total bits, exponent bits, mantissa bits, bias, kind): kind is how the top exponent is used:
//   IEEE (infinities and NaNs), FN (one NaN pattern = all ones, no infinity), FNUZ (NaN = negative zero, no infinity),
//   FINITE (neither; overflow saturates), E8M0 (no sign, no mantissa; 255 is NaN).
// clang-format off
#define SMALL_FLOATS(M)              \
  M(f16, 16, 5, 10, 15, IEEE)        \
  M(bf16, 16, 8, 7, 127, IEEE)       \
  M(f8E5M2, 8, 5, 2, 15, IEEE)       \
  M(f8E4M3, 8, 4, 3, 7, IEEE)        \
  M(f8E3M4, 8, 3, 4, 3, IEEE)        \
  M(f8E4M3FN, 8, 4, 3, 7, FN)        \
  M(f8E4M3FNUZ, 8, 4, 3, 8, FNUZ)    \
  M(f8E5M2FNUZ, 8, 5, 2, 16, FNUZ)   \
  M(f8E4M3B11FNUZ, 8, 4, 3, 11, FNUZ) \
  M(f8E8M0FNU, 8, 8, 0, 127, E8M0)   \
  M(f6E2M3FN, 6, 2, 3, 1, FINITE)    \
  M(f6E3M2FN, 6, 3, 2, 3, FINITE)    \
  M(f4E2M1FN, 4, 2, 1, 1, FINITE)
// clang-format on

// double <name>_to_f64(uint32_t bits); uint32_t <name>_from_f64(double x);
#define M(name, bits, e, m, bias, kind)   \
  double name##_to_f64(uint32_t pattern); \
  uint32_t name##_from_f64(double x);
SMALL_FLOATS(M)
#undef M

// Between floats and the two that matter (same results as above). Every branch is a choice between two values, so that
// loops over them become vectors.
static inline float half_float_of(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}
static inline uint32_t half_bits_of(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}

static inline float bf16_to_f32(uint16_t h) {
  return half_float_of((uint32_t)h << 16);
}
static inline uint16_t bf16_from_f32(float f) {
  uint32_t u = half_bits_of(f), rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16, nan = u >> 16 | 0x40;
  return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

// The exponent is rebased by integer addition; subnormals are normalised by one exact float subtraction (F. Giesen,
// "half to float done quick", public domain). NaNs become quiet.
static inline float f16_to_f32(uint16_t h) {
  uint32_t magnitude = h & 0x7fff, sign = (uint32_t)(h & 0x8000) << 16, u = (magnitude << 13) + (112u << 23);
  uint32_t tiny = half_bits_of(half_float_of((magnitude << 13) + (113u << 23)) - half_float_of(113u << 23));
  uint32_t special = 0x7f800000 | magnitude << 13 | (magnitude > 0x7c00 ? 0x00400000 : 0);
  u = magnitude < 0x400 ? tiny : u;
  u = magnitude >= 0x7c00 ? special : u;
  return half_float_of(u | sign);
}

// Normal results: rebased by -112, rounded to nearest even, carrying into the exponent (and to infinity). Subnormal
// ones:
// adding 1/2, whose last bit has the value of the last bit of such a result, rounds.
static inline uint16_t f16_from_f32(float f) {
  uint32_t u = half_bits_of(f), sign = u >> 16 & 0x8000;
  u &= 0x7fffffff;
  uint32_t code = (u + 0xc8000fff + (u >> 13 & 1)) >> 13;
  uint32_t tiny = half_bits_of(half_float_of(u) + 0.5f) - 0x3f000000;
  code = u < 0x38800000 ? tiny : code;
  code = u >= 0x47800000 ? 0x7c00 : code;  // 2^16 and above
  code = u > 0x7f800000 ? 0x7e00 | (u >> 13 & 0x3ff) : code;
  return (uint16_t)(sign | code);
}

#endif
