// SPDX-License-Identifier: Apache-2.0
// Small floating-point formats: one exact encoder and decoder for all, specialised per format by constant folding.
//
// Encoding works on the bits of the double: the significand is shifted to the target's precision, rounded to nearest
// even, and a carry moves into the exponent by itself, since the code of the next binade follows directly. Formats that
// lack infinity or NaN follow ml_dtypes:
//   IEEE    overflow is infinity; a NaN becomes quiet and, in 16 bits, keeps the top of its payload
//   FN      overflow and infinity are NaN (all ones below the sign)
//   FNUZ    overflow and infinity are NaN (the pattern of -0); there is no negative zero
//   FINITE  overflow and infinity saturate; NaN becomes the zero of the opposite sign
//   E8M0    NaN, infinity, overflow, zero and negative values are NaN (255); halfway cases go up (the significand 1 is
//           odd); positive values below 2^-127 become 2^-127
// Known difference: ml_dtypes narrows to E8M0 through float, and rounds all of (2^-127, 2^-126) up; here it is nearest.
#include "base/half.h"

#include "base/attr.h"

#if defined(__GNUC__) || defined(__clang__)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE static inline
#endif

typedef enum kind { IEEE, FN, FNUZ, FINITE, E8M0 } kind;

typedef struct format {
  int bits, exponent, mantissa, bias;
  kind kind;
} format;

static double double_from_bits(uint64_t u) {
  double d;
  memcpy(&d, &u, 8);
  return d;
}

// 2^e for e in the normal range.
static double power_of_two(int e) {
  return double_from_bits((uint64_t)(e + 1023) << 52);
}

static const uint64_t quiet_nan = UINT64_C(0x7ff8) << 48;

ALWAYS_INLINE double decode(uint32_t pattern, format f) {
  if (f.kind == E8M0) {
    pattern &= 0xff;
    return pattern == 0xff ? double_from_bits(quiet_nan) : power_of_two((int)pattern - f.bias);
  }
  int sign_shift = f.exponent + f.mantissa;
  uint32_t magnitude = pattern & ((1u << sign_shift) - 1);
  uint64_t sign = (uint64_t)(pattern >> sign_shift & 1) << 63;
  uint32_t top = (1u << f.exponent) - 1, exponent = magnitude >> f.mantissa;
  uint64_t fraction = magnitude & ((1u << f.mantissa) - 1);
  if (f.kind == IEEE && exponent == top) {
    if (!fraction) return double_from_bits(sign | UINT64_C(0x7ff) << 52);
    return double_from_bits(sign | quiet_nan | fraction << (52 - f.mantissa));
  }
  if (f.kind == FN && magnitude == (1u << sign_shift) - 1) return double_from_bits(sign | quiet_nan);
  if (f.kind == FNUZ && sign && !magnitude) return double_from_bits(quiet_nan);
  double value = exponent ? (double)(fraction | 1u << f.mantissa) * power_of_two((int)exponent - f.bias - f.mantissa)
                          : (double)fraction * power_of_two(1 - f.bias - f.mantissa);
  return sign ? -value : value;
}

ALWAYS_INLINE uint32_t nan_code(uint64_t fraction, uint32_t sign_bit, uint32_t sign, format f) {
  switch (f.kind) {
    case IEEE:
      return sign | ((1u << (f.exponent + 1)) - 1) << (f.mantissa ? f.mantissa - 1 : 0) |
             (f.bits == 16 ? (uint32_t)(fraction >> (52 - f.mantissa)) : 0);
    case FN: return sign | (sign_bit - 1);
    case FNUZ: return sign_bit;
    case FINITE: return sign ^ sign_bit;
    case E8M0: break;
  }
  return 0xff;
}

ALWAYS_INLINE uint32_t encode(double x, format f) {
  uint64_t u;
  memcpy(&u, &x, 8);
  uint32_t sign_bit = f.kind == E8M0 ? 0x100 : 1u << (f.exponent + f.mantissa);
  uint32_t sign = u >> 63 ? sign_bit : 0;
  int exponent = (int)(u >> 52 & 0x7ff);
  uint64_t fraction = u & ((UINT64_C(1) << 52) - 1);
  if (exponent == 0x7ff && fraction) return nan_code(fraction, sign_bit, sign, f);
  if (f.kind == E8M0 && (sign || !(exponent | fraction))) return 0xff;

  // Doubles below 2^-1022 are far below half the smallest value of every format.
  int64_t code = 0;
  if (exponent) {
    uint64_t significand = fraction | UINT64_C(1) << 52;
    int e = exponent - 1023 + f.bias;  // the target's exponent field, were there no limits
    int lowest = f.kind == E8M0 ? 0 : 1;
    int shift = 52 - f.mantissa + (e < lowest ? lowest - e : 0);
    if (shift < 54) {
      uint64_t kept = significand >> shift, rest = significand & ((UINT64_C(1) << shift) - 1);
      uint64_t half = UINT64_C(1) << (shift - 1);
      kept += rest > half || (rest == half && (kept & 1));
      code = (int64_t)kept;
      if (f.kind == E8M0) code = e < lowest ? 0 : e + (int64_t)kept - 1;
      if (f.kind != E8M0 && e >= 1) code += ((int64_t)e - 1) * (INT64_C(1) << f.mantissa);
    }
  }
  int64_t infinity = (int64_t)((1u << f.exponent) - 1) << f.mantissa;
  switch (f.kind) {
    case IEEE: return sign | (uint32_t)(code < infinity ? code : infinity);
    case FN: return sign | (code < (int64_t)sign_bit - 1 ? (uint32_t)code : sign_bit - 1);
    case FNUZ:
      if (code >= (int64_t)sign_bit) return sign_bit;
      return code ? sign | (uint32_t)code : 0;
    case FINITE: return sign | (code < (int64_t)sign_bit ? (uint32_t)code : sign_bit - 1);
    case E8M0: break;
  }
  return code < 0xff ? (uint32_t)code : 0xff;
}

#define M(name, bits, e, m, bias, kind)                       \
  double name##_to_f64(uint32_t pattern) {                    \
    return decode(pattern, (format){bits, e, m, bias, kind}); \
  }                                                           \
  uint32_t name##_from_f64(double x) {                        \
    return encode(x, (format){bits, e, m, bias, kind});       \
  }
SMALL_FLOATS(M)
#undef M
