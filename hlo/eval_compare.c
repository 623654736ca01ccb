// SPDX-License-Identifier: Apache-2.0
// compare, select, clamp.
//
// TOTALORDER compares floats by integer keys: -NaN < -inf < ... < -0 < +0 < ... < +inf < +NaN, and EQ is equality of
// bits. Small floats are decoded to doubles first, which keeps order, signs and payload order. Complex numbers compare
// lexicographically. clamp is minimum(maximum(x, low), high).
#include "hlo/eval_internal.h"

static inline int32_t key_f32(float x) {
  int32_t i;
  memcpy(&i, &x, 4);
  return i ^ (int32_t)((uint32_t)(i >> 31) >> 1);
}
static inline int64_t key_f64(double x) {
  int64_t i;
  memcpy(&i, &x, 8);
  return i ^ (int64_t)((uint64_t)(i >> 63) >> 1);
}

// D(direction, operator)
// clang-format off
#define DIRECTIONS(D, ...) \
  D(EQ, ==, __VA_ARGS__) D(NE, !=, __VA_ARGS__) D(GE, >=, __VA_ARGS__) D(GT, >, __VA_ARGS__)                \
  D(LE, <=, __VA_ARGS__) D(LT, <, __VA_ARGS__)
// clang-format on
#define COMPARE_LOOP(DIR, o, NAME, T, KEY)                                                             \
  static void DIR##_##NAME(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    const T *x = in[0], *z = in[1];                                                                    \
    uint8_t *y = out;                                                                                  \
    LEMNOS_IVDEP for (int64_t i = 0; i < n; i++) y[i] = KEY(x[i]) o KEY(z[i]);                         \
  }
#define SAME(x) (x)
DIRECTIONS(COMPARE_LOOP, S8, int8_t, SAME)
DIRECTIONS(COMPARE_LOOP, S16, int16_t, SAME)
DIRECTIONS(COMPARE_LOOP, S32, int32_t, SAME)
DIRECTIONS(COMPARE_LOOP, S64, int64_t, SAME)
DIRECTIONS(COMPARE_LOOP, U8, uint8_t, SAME)
DIRECTIONS(COMPARE_LOOP, U16, uint16_t, SAME)
DIRECTIONS(COMPARE_LOOP, U32, uint32_t, SAME)
DIRECTIONS(COMPARE_LOOP, U64, uint64_t, SAME)
DIRECTIONS(COMPARE_LOOP, F32, float, SAME)
DIRECTIONS(COMPARE_LOOP, F64, double, SAME)
DIRECTIONS(COMPARE_LOOP, T32, float, key_f32)
DIRECTIONS(COMPARE_LOOP, T64, double, key_f64)

// Complex: K is SAME, or a key for total order of both parts.
#define COMPLEX_LOOP(DIR, o, NAME, T, K)                                                                              \
  static void DIR##_##NAME(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {                \
    const T *x = in[0], *z = in[1];                                                                                   \
    uint8_t *y = out;                                                                                                 \
    for (int64_t i = 0; i < n; i++) {                                                                                 \
      y[i] = COMPLEX_##DIR(K(x[2 * i]) == K(z[2 * i]), K(x[2 * i]) o K(z[2 * i]), K(x[2 * i + 1]) o K(z[2 * i + 1])); \
    }                                                                                                                 \
  }
#define COMPLEX_EQ(same, re, im) ((re) && (im))
#define COMPLEX_NE(same, re, im) ((re) || (im))
#define COMPLEX_GE(same, re, im) (same ? (im) : (re))
#define COMPLEX_GT(same, re, im) (same ? (im) : (re))
#define COMPLEX_LE(same, re, im) (same ? (im) : (re))
#define COMPLEX_LT(same, re, im) (same ? (im) : (re))
DIRECTIONS(COMPLEX_LOOP, C64, float, SAME)
DIRECTIONS(COMPLEX_LOOP, C128, double, SAME)
DIRECTIONS(COMPLEX_LOOP, CT64, float, key_f32)
DIRECTIONS(COMPLEX_LOOP, CT128, double, key_f64)

uint64_t hlo_total_order_key(hlo_dtype t, const void *data, int64_t i) {
  int bits = hlo_dtype_table[t].bits;
  uint64_t u = 0, sign = (uint64_t)1 << (bits - 1);
  memcpy(&u, (const char *)data + i * hlo_dtype_bytes(t), (size_t)hlo_dtype_bytes(t));
  if (t == HLO_F8E8M0FNU) return u;  // no sign; its NaN is the highest pattern
  bool fnuz = t == HLO_F8E4M3FNUZ || t == HLO_F8E5M2FNUZ || t == HLO_F8E4M3B11FNUZ;
  if (fnuz && u == sign) return 0;
  return (u & sign ? ~u & (sign | (sign - 1)) : u | sign) + fnuz;
}

// By patterns: decoding would make signaling NaNs quiet.
static void compare_small_total(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {
  hlo_eval_fn fn = hlo_eval_find_compare((int)param->i[0], HLO_COMPARISON_TYPE_NOTYPE, HLO_U64);
  uint64_t x[EVAL_BLOCK], z[EVAL_BLOCK];
  const void *xs[] = {x, z};
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    for (int64_t k = 0; k < m; k++) {
      x[k] = hlo_total_order_key(param->in_type, in[0], i + k);
      z[k] = hlo_total_order_key(param->in_type, in[1], i + k);
    }
    fn(param, m, xs, (uint8_t *)out + i);
  }
}

static void compare_small(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {
  hlo_eval_fn fn = hlo_eval_find_compare((int)param->i[0], (int)param->i[1], HLO_F32);
  int64_t bytes = hlo_dtype_bytes(param->in_type);
  float x[EVAL_BLOCK], z[EVAL_BLOCK];
  const void *xs[] = {x, z};
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    hlo_small_to_floats(param->in_type, m, (const char *)in[0] + i * bytes, x);
    hlo_small_to_floats(param->in_type, m, (const char *)in[1] + i * bytes, z);
    fn(param, m, xs, (uint8_t *)out + i);
  }
}

hlo_eval_fn hlo_eval_find_compare(int direction, int type, hlo_dtype in) {
  // rows in the order of hlo_comparison_direction
  _Static_assert(HLO_COMPARISON_DIRECTION_EQ == 0 && HLO_COMPARISON_DIRECTION_NE == 1 &&
                     HLO_COMPARISON_DIRECTION_GE == 2 && HLO_COMPARISON_DIRECTION_GT == 3 &&
                     HLO_COMPARISON_DIRECTION_LE == 4 && HLO_COMPARISON_DIRECTION_LT == 5,
                 "order of enums.def");
#define CASE(ENUM, NAME)                                                                                 \
  case HLO_##ENUM: {                                                                                     \
    static const hlo_eval_fn row[] = {EQ_##NAME, NE_##NAME, GE_##NAME, GT_##NAME, LE_##NAME, LT_##NAME}; \
    return row[direction];                                                                               \
  }
  if (direction < 0 || direction > HLO_COMPARISON_DIRECTION_LT) return NULL;
  if (eval_is_small(in)) return type == HLO_COMPARISON_TYPE_TOTALORDER ? compare_small_total : compare_small;
  if (type == HLO_COMPARISON_TYPE_TOTALORDER) switch (in) {
      // clang-format off
      CASE(F32, T32) CASE(F64, T64) CASE(C64, CT64) CASE(C128, CT128)
      default: break;
      // clang-format on
    }
  switch (in) {
    // clang-format off
    CASE(PRED, U8) CASE(S2, S8) CASE(S4, S8) CASE(S8, S8) CASE(S16, S16) CASE(S32, S32) CASE(S64, S64)
    CASE(U2, U8) CASE(U4, U8) CASE(U8, U8) CASE(U16, U16) CASE(U32, U32) CASE(U64, U64)
    CASE(F32, F32) CASE(F64, F64) CASE(C64, C64) CASE(C128, C128)
    default: return NULL;
    // clang-format on
  }
#undef CASE
}

// --- select: bits by element size

typedef struct bits128 {
  uint64_t u[2];
} bits128;
#define SELECT_LOOP(NAME, T)                                                                   \
  static void NAME(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    const uint8_t *p = in[0];                                                                  \
    const T *x = in[1], *z = in[2];                                                            \
    T *y = out;                                                                                \
    LEMNOS_IVDEP for (int64_t i = 0; i < n; i++) {                                             \
      T a = x[i], b = z[i];                                                                    \
      y[i] = p[i] ? a : b;                                                                     \
    }                                                                                          \
  }
SELECT_LOOP(select_1, uint8_t)
SELECT_LOOP(select_2, uint16_t)
SELECT_LOOP(select_4, uint32_t)
SELECT_LOOP(select_8, uint64_t)
SELECT_LOOP(select_16, bits128)

// --- clamp

#define CLAMP_LOOP(NAME, T, MAX, MIN)                                                                        \
  LEMNOS_CLONES static void NAME(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    const T *low = in[0], *x = in[1], *high = in[2];                                                         \
    T *y = out;                                                                                              \
    LEMNOS_IVDEP for (int64_t i = 0; i < n; i++) {                                                           \
      T v = x[i], l = low[i], h = high[i];                                                                   \
      v = MAX(v, l);                                                                                         \
      y[i] = MIN(v, h);                                                                                      \
    }                                                                                                        \
  }
#define INT_MAX_OF(a, b) ((a) > (b) ? (a) : (b))
#define INT_MIN_OF(a, b) ((a) < (b) ? (a) : (b))
CLAMP_LOOP(clamp_S8, int8_t, INT_MAX_OF, INT_MIN_OF)
CLAMP_LOOP(clamp_S16, int16_t, INT_MAX_OF, INT_MIN_OF)
CLAMP_LOOP(clamp_S32, int32_t, INT_MAX_OF, INT_MIN_OF)
CLAMP_LOOP(clamp_S64, int64_t, INT_MAX_OF, INT_MIN_OF)
CLAMP_LOOP(clamp_U8, uint8_t, INT_MAX_OF, INT_MIN_OF)
CLAMP_LOOP(clamp_U16, uint16_t, INT_MAX_OF, INT_MIN_OF)
CLAMP_LOOP(clamp_U32, uint32_t, INT_MAX_OF, INT_MIN_OF)
CLAMP_LOOP(clamp_U64, uint64_t, INT_MAX_OF, INT_MIN_OF)
CLAMP_LOOP(clamp_F32, float, eval_max_f32, eval_min_f32)
CLAMP_LOOP(clamp_F64, double, eval_max_f64, eval_min_f64)

static void clamp_small(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {
  hlo_dtype t = param->in_type;
  int64_t bytes = hlo_dtype_bytes(t);
  float low[EVAL_BLOCK], x[EVAL_BLOCK], high[EVAL_BLOCK];
  const void *xs[] = {low, x, high};
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    hlo_small_to_floats(t, m, (const char *)in[0] + i * bytes, low);
    hlo_small_to_floats(t, m, (const char *)in[1] + i * bytes, x);
    hlo_small_to_floats(t, m, (const char *)in[2] + i * bytes, high);
    clamp_F32(param, m, xs, x);
    hlo_small_from_floats(t, m, x, (char *)out + i * bytes);
  }
}

// In blocks, so that out may be any of the operands.
static void clamp_complex(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {
  hlo_eval_fn max = hlo_eval_find_complex(HLO_OP_MAXIMUM, param->in_type, param->in_type);
  hlo_eval_fn min = hlo_eval_find_complex(HLO_OP_MINIMUM, param->in_type, param->in_type);
  int64_t bytes = hlo_dtype_bytes(param->in_type);
  double buffer[2 * EVAL_BLOCK];
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    const void *first[] = {(const char *)in[1] + i * bytes, (const char *)in[0] + i * bytes};
    const void *second[] = {buffer, (const char *)in[2] + i * bytes};
    max(param, m, first, buffer);
    min(param, m, second, (char *)out + i * bytes);
  }
}

hlo_eval_fn hlo_eval_find_ternary(hlo_op op, hlo_dtype in, hlo_dtype out) {
  if (in != out || in >= HLO_TOKEN) return NULL;
  if (op == HLO_OP_SELECT) switch (hlo_dtype_bytes(in)) {
      case 1: return select_1;
      case 2: return select_2;
      case 4: return select_4;
      case 8: return select_8;
      case 16: return select_16;
      default: return NULL;
    }
  if (op != HLO_OP_CLAMP) return NULL;
  if (eval_is_small(in)) return clamp_small;
  if (hlo_dtype_is_complex(in)) return clamp_complex;
  switch (in) {
    case HLO_S2:
    case HLO_S4:
    case HLO_S8: return clamp_S8;
    case HLO_S16: return clamp_S16;
    case HLO_S32: return clamp_S32;
    case HLO_S64: return clamp_S64;
    case HLO_PRED:
    case HLO_U2:
    case HLO_U4:
    case HLO_U8: return clamp_U8;
    case HLO_U16: return clamp_U16;
    case HLO_U32: return clamp_U32;
    case HLO_U64: return clamp_U64;
    case HLO_F32: return clamp_F32;
    case HLO_F64: return clamp_F64;
    default: return NULL;
  }
}
