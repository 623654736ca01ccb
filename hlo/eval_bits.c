// SPDX-License-Identifier: Apache-2.0
// Operations on the bits of a float: reduce_precision and next_after, for every float type by its exponent and mantissa
// widths. Every format here is sign-magnitude (but E8M0, which is positive), so neighbours differ by one in the
// pattern.
#include "hlo/eval_internal.h"

typedef struct format {
  int bits, exponent, mantissa;
} format;

static format format_of(hlo_dtype t) {
  switch (t) {
#define M(name, bits, e, m, bias, kind) \
  case FORMAT_##name:                   \
    return (format){bits, e, m};
#define FORMAT_f16 HLO_F16
#define FORMAT_bf16 HLO_BF16
#define FORMAT_f8E5M2 HLO_F8E5M2
#define FORMAT_f8E4M3 HLO_F8E4M3
#define FORMAT_f8E3M4 HLO_F8E3M4
#define FORMAT_f8E4M3FN HLO_F8E4M3FN
#define FORMAT_f8E4M3FNUZ HLO_F8E4M3FNUZ
#define FORMAT_f8E5M2FNUZ HLO_F8E5M2FNUZ
#define FORMAT_f8E4M3B11FNUZ HLO_F8E4M3B11FNUZ
#define FORMAT_f8E8M0FNU HLO_F8E8M0FNU
#define FORMAT_f6E2M3FN HLO_F6E2M3FN
#define FORMAT_f6E3M2FN HLO_F6E3M2FN
#define FORMAT_f4E2M1FN HLO_F4E2M1FN
    SMALL_FLOATS(M)
#undef M
    case HLO_F32: return (format){32, 8, 23};
    default: return (format){64, 11, 52};
  }
}

static uint64_t load(const void *p, int64_t i, int bytes) {
  switch (bytes) {
    case 1: return ((const uint8_t *)p)[i];
    case 2: return ((const uint16_t *)p)[i];
    case 4: return ((const uint32_t *)p)[i];
    default: return ((const uint64_t *)p)[i];
  }
}
static void store(void *p, int64_t i, int bytes, uint64_t v) {
  switch (bytes) {
    case 1: ((uint8_t *)p)[i] = (uint8_t)v; return;
    case 2: ((uint16_t *)p)[i] = (uint16_t)v; return;
    case 4: ((uint32_t *)p)[i] = (uint32_t)v; return;
    default: ((uint64_t *)p)[i] = v; return;
  }
}

static double value_of(hlo_dtype t, uint64_t bits) {
  double x;
  float f;
  uint32_t u = (uint32_t)bits;
  uint16_t h = (uint16_t)bits;
  uint8_t b = (uint8_t)bits;
  if (t == HLO_F64) {
    memcpy(&x, &bits, 8);
  } else if (t == HLO_F32) {
    memcpy(&f, &u, 4);
    x = f;
  } else {
    hlo_small_decode(t, 1, hlo_dtype_bytes(t) == 2 ? (const void *)&h : (const void *)&b, &x);
  }
  return x;
}

static uint64_t infinity_of(hlo_dtype t, format f, uint64_t sign) {
  uint8_t b;
  double x = sign ? -INFINITY : INFINITY;
  if (f.bits >= 16) return sign | (((uint64_t)1 << f.exponent) - 1) << f.mantissa;
  hlo_small_encode(t, 1, &x, &b, false);
  return b;
}

// The exponent field of 1: FNUZ formats have other biases than IEEE 754's.
static int64_t bias_of(hlo_dtype t, format f) {
  uint8_t b;
  double one = 1;
  if (f.bits >= 16) return ((int64_t)1 << (f.exponent - 1)) - 1;
  hlo_small_encode(t, 1, &one, &b, false);
  return b >> f.mantissa;
}

// In FNUZ formats the pattern of -0 is NaN; they have only +0.
static uint64_t zero_of(hlo_dtype t, uint64_t sign) {
  return sign && value_of(t, sign) != 0 ? 0 : sign;
}

// Rounds the mantissa to m bits (ties to even, carrying into the exponent); then what exceeds the exponent range of e
// bits becomes infinity or zero. NaN stays, or becomes infinity when no mantissa bit is left to tell it apart (as in
// XLA).
static uint64_t reduce_one(hlo_dtype t, format f, uint64_t x, int64_t e, int64_t m) {
  uint64_t sign = f.exponent + f.mantissa < f.bits ? x & ((uint64_t)1 << (f.bits - 1)) : 0;
  uint64_t magnitude = x ^ sign;
  double value = value_of(t, x);
  if (value != value) return m > 0 ? x : infinity_of(t, f, sign);
  if (isinf(value)) return x;
  if (m < f.mantissa) {
    int cut = f.mantissa - (int)m;
    uint64_t last = (uint64_t)1 << cut;
    magnitude = (magnitude + (last >> 1) - 1 + (magnitude >> cut & 1)) & ~(last - 1);
  }
  if (e < f.exponent) {
    int64_t bias = bias_of(t, f), range = ((int64_t)1 << (e - 1)) - 1;
    int64_t exponent = (int64_t)(magnitude >> f.mantissa);
    if (exponent > bias + range) return infinity_of(t, f, sign);
    if (exponent <= bias - range) return zero_of(t, sign);
  }
  if (magnitude >> (f.exponent + f.mantissa)) return infinity_of(t, f, sign);  // carried out of the top
  return magnitude ? sign | magnitude : zero_of(t, sign);
}

// reduce_one for the formats of IEEE 754, without branches.
#define REDUCE_LOOP(NAME, U, EXPONENT, MANTISSA)                                                                     \
  LEMNOS_CLONES static void NAME(int64_t n, const U *x, U *y, int64_t e, int64_t m) {                                \
    const U sign_bit = (U)1 << (EXPONENT + MANTISSA), infinity = (U)(sign_bit - ((U)1 << MANTISSA));                 \
    const int64_t bias = ((int64_t)1 << (EXPONENT - 1)) - 1, range = e < EXPONENT ? ((int64_t)1 << (e - 1)) - 1 : 0; \
    const int cut = m < MANTISSA ? MANTISSA - (int)m : 0;                                                            \
    const U kept = (U) ~(((U)1 << cut) - 1), half = cut ? (U)(((U)1 << (cut - 1)) - 1) : 0, last = cut != 0;         \
    const U high = e < EXPONENT ? (U)((U)(bias + range + 1) << MANTISSA) : infinity;                                 \
    const U low = e < EXPONENT ? (U)((U)(bias - range + 1) << MANTISSA) : 0, keep_nan = m > 0 ? (U)-1 : 0;           \
    LEMNOS_IVDEP for (int64_t i = 0; i < n; i++) {                                                                   \
      U u = x[i], sign = u & sign_bit, magnitude = u ^ sign;                                                         \
      U r = (U)(magnitude + half + ((U)(magnitude >> cut) & last)) & kept;                                           \
      r = r < low ? 0 : r;                                                                                           \
      r = r >= high ? infinity : r;                                                                                  \
      r = magnitude >= infinity ? infinity : r;                                                                      \
      r = magnitude > infinity ? (U)((magnitude & keep_nan) | infinity) : r;                                         \
      y[i] = sign | r;                                                                                               \
    }                                                                                                                \
  }
REDUCE_LOOP(reduce_f64, uint64_t, 11, 52)
REDUCE_LOOP(reduce_f32, uint32_t, 8, 23)
REDUCE_LOOP(reduce_bf16, uint16_t, 8, 7)
REDUCE_LOOP(reduce_f16, uint16_t, 5, 10)

static void reduce_precision(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {
  hlo_dtype t = param->in_type;
  int64_t e = param->i[0], m = param->i[1];
  switch (t) {
    case HLO_F64: return reduce_f64(n, in[0], out, e, m);
    case HLO_F32: return reduce_f32(n, in[0], out, e, m);
    case HLO_BF16: return reduce_bf16(n, in[0], out, e, m);
    case HLO_F16: return reduce_f16(n, in[0], out, e, m);
    default: break;
  }
  format f = format_of(t);
  const uint8_t *x = in[0];
  uint8_t *y = out, table[256];
  if (n < 256) {
    for (int64_t i = 0; i < n; i++) y[i] = (uint8_t)reduce_one(t, f, x[i], e, m);
    return;
  }
  for (int p = 0; p < 256; p++) table[p] = (uint8_t)reduce_one(t, f, (uint64_t)p, e, m);
  for (int64_t i = 0; i < n; i++) y[i] = table[x[i]];
}

static uint64_t next_one(hlo_dtype t, format f, uint64_t xb, uint64_t yb) {
  double x = value_of(t, xb), y = value_of(t, yb);
  if (x != x) return xb;
  if (y != y) return yb;
  if (x == y) return yb;
  bool has_sign = f.exponent + f.mantissa < f.bits;
  uint64_t sign_bit = has_sign ? (uint64_t)1 << (f.bits - 1) : 0;
  if (x == 0) return y < 0 ? sign_bit | 1 : 1;
  bool grow = (y > x) == (x > 0);
  uint64_t r = grow ? xb + 1 : xb - 1;
  // In FNUZ formats the pattern of -0 is NaN.
  if (r == sign_bit && value_of(t, r) != 0) r = 0;
  return r;
}

static void next_after(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {
  hlo_dtype t = param->in_type;
  format f = format_of(t);
  int bytes = hlo_dtype_bytes(t);
  for (int64_t i = 0; i < n; i++) store(out, i, bytes, next_one(t, f, load(in[0], i, bytes), load(in[1], i, bytes)));
}

hlo_eval_fn hlo_eval_find_bits(hlo_op op, hlo_dtype in) {
  if (!hlo_dtype_is_float(in)) return NULL;
  return op == HLO_OP_REDUCE_PRECISION ? reduce_precision : next_after;
}
