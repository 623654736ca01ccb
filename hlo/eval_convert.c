// SPDX-License-Identifier: Apache-2.0
// convert between all element types (the block codecs of small floats: eval_small.c).
//
//   to pred             nonzero (NaN is nonzero)
//   integer to integer  wraps (low bits)
//   float to integer    truncates toward zero, saturates, NaN gives 0
//   integer to float    rounded once to nearest even: 64-bit integers reach a small float through a double rounded to
//                       odd, whose last bit keeps the fact that something was cut off
//   float to float      rounded once to nearest even from the exact value
//   complex             the imaginary part is dropped, or zero
//
// The pairs among pred, integers, f32, f64 are typed loops; small floats go through blocks of floats, in which all are
// exact.
#include "hlo/eval_internal.h"

// --- typed pairs

// 2^bits as a double, exact; the first value above the range.
#define TWO_TO(bits) ((double)((uint64_t)1 << ((bits)-1)) * 2)

// f32 is exact in a double, so one saturating conversion serves both.
#define FLOAT_TO_INT(ENUM, T, W, WS, BITS, SIGNED, A, B)                                    \
  static inline T to_##ENUM(double x) {                                                     \
    const double high = SIGNED ? TWO_TO(BITS) / 2 : TWO_TO(BITS), low = SIGNED ? -high : 0; \
    const uint64_t max = (uint64_t)-1 >> (64 - BITS + SIGNED);                              \
    if (x >= high) return (T)max;                                                           \
    if (!(x > low)) return x != x ? 0 : SIGNED ? (T)(-(int64_t)(max)-1) : 0;                \
    return SIGNED ? (T)(int64_t)x : (T)(uint64_t)x;                                         \
  }
EVAL_INTS(FLOAT_TO_INT, , )

#define LOOP(NAME, TI, TO, expr)                                                                             \
  LEMNOS_CLONES static void NAME(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    const TI *x = in[0];                                                                                     \
    TO *y = out;                                                                                             \
    for (int64_t i = 0; i < n; i++) {                                                                        \
      TI a = x[i];                                                                                           \
      y[i] = (TO)(expr);                                                                                     \
    }                                                                                                        \
  }

// From an integer (or pred) type F to every type of the core.
// clang-format off
#define INT_TO_ALL(F, TI)                                        \
  LOOP(F##_to_PRED, TI, uint8_t, a != 0)                         \
  LOOP(F##_to_S2, TI, int8_t, eval_wrap_S2((uint64_t)a))         \
  LOOP(F##_to_S4, TI, int8_t, eval_wrap_S4((uint64_t)a))         \
  LOOP(F##_to_S8, TI, int8_t, a)                                 \
  LOOP(F##_to_S16, TI, int16_t, a)                               \
  LOOP(F##_to_S32, TI, int32_t, a)                               \
  LOOP(F##_to_S64, TI, int64_t, a)                               \
  LOOP(F##_to_U2, TI, uint8_t, eval_wrap_U2((uint64_t)a))        \
  LOOP(F##_to_U4, TI, uint8_t, eval_wrap_U4((uint64_t)a))        \
  LOOP(F##_to_U8, TI, uint8_t, a)                                \
  LOOP(F##_to_U16, TI, uint16_t, a)                              \
  LOOP(F##_to_U32, TI, uint32_t, a)                              \
  LOOP(F##_to_U64, TI, uint64_t, a)                              \
  LOOP(F##_to_F32, TI, float, a)                                 \
  LOOP(F##_to_F64, TI, double, a)
#define FLOAT_TO_ALL(F, TI)                   \
  LOOP(F##_to_PRED, TI, uint8_t, a != 0)      \
  LOOP(F##_to_S2, TI, int8_t, to_S2(a))       \
  LOOP(F##_to_S4, TI, int8_t, to_S4(a))       \
  LOOP(F##_to_S8, TI, int8_t, to_S8(a))       \
  LOOP(F##_to_S16, TI, int16_t, to_S16(a))    \
  LOOP(F##_to_S32, TI, int32_t, to_S32(a))    \
  LOOP(F##_to_S64, TI, int64_t, to_S64(a))    \
  LOOP(F##_to_U2, TI, uint8_t, to_U2(a))      \
  LOOP(F##_to_U4, TI, uint8_t, to_U4(a))      \
  LOOP(F##_to_U8, TI, uint8_t, to_U8(a))      \
  LOOP(F##_to_U16, TI, uint16_t, to_U16(a))   \
  LOOP(F##_to_U32, TI, uint32_t, to_U32(a))   \
  LOOP(F##_to_U64, TI, uint64_t, to_U64(a))   \
  LOOP(F##_to_F32, TI, float, a)              \
  LOOP(F##_to_F64, TI, double, a)
// clang-format on
#define INT_SOURCE(ENUM, T, W, WS, BITS, SIGNED, A, B) INT_TO_ALL(ENUM, T)
EVAL_INTS(INT_SOURCE, , )
INT_TO_ALL(PRED, uint8_t)
FLOAT_TO_ALL(F32, float)
FLOAT_TO_ALL(F64, double)

// Index of a core type in the rows below, or -1.
static int core_index(hlo_dtype t) {
  if (t <= HLO_U64) return (int)t;
  return t == HLO_F32 ? HLO_U64 + 1 : t == HLO_F64 ? HLO_U64 + 2 : -1;
}

static hlo_eval_fn find_core(hlo_dtype in, hlo_dtype out) {
#define ROW(F)                                                                                                         \
  {                                                                                                                    \
    F##_to_PRED, F##_to_S2, F##_to_S4, F##_to_S8, F##_to_S16, F##_to_S32, F##_to_S64, F##_to_U2, F##_to_U4, F##_to_U8, \
        F##_to_U16, F##_to_U32, F##_to_U64, F##_to_F32, F##_to_F64                                                     \
  }
  static const hlo_eval_fn table[15][15] = {ROW(PRED), ROW(S2),  ROW(S4),  ROW(S8),  ROW(S16),
                                            ROW(S32),  ROW(S64), ROW(U2),  ROW(U4),  ROW(U8),
                                            ROW(U16),  ROW(U32), ROW(U64), ROW(F32), ROW(F64)};
  _Static_assert(HLO_PRED == 0 && HLO_U64 == 12, "order of dtypes.def");
  int i = core_index(in), o = core_index(out);
  return i < 0 || o < 0 ? NULL : table[i][o];
}

// --- small floats and complex

static void convert_same(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {
  if (out != in[0]) memcpy(out, in[0], (size_t)n * (size_t)hlo_dtype_bytes(param->in_type));
}

static void small_to_core(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {
  hlo_eval_fn fn = find_core(HLO_F32, param->out_type);
  int64_t bi = hlo_dtype_bytes(param->in_type), bo = hlo_dtype_bytes(param->out_type);
  if (param->out_type == HLO_F32) return hlo_small_to_floats(param->in_type, n, in[0], out);
  float x[EVAL_BLOCK];
  const void *xs[] = {x};
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    hlo_small_to_floats(param->in_type, m, (const char *)in[0] + i * bi, x);
    fn(param, m, xs, (char *)out + i * bo);
  }
}

// Rounded to odd: if cut off, the last bit is set, so that a second rounding to at most 51 bits is right.
static double odd_from_u64(uint64_t v) {
  int shift = 0;
  while (v >> shift >= (uint64_t)1 << 53) shift++;
  uint64_t kept = v >> shift;
  kept |= (kept << shift) != v;
  return (double)kept * (double)((uint64_t)1 << shift);
}

static void core_to_small(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {
  if (param->in_type == HLO_F32) return hlo_small_from_floats(param->out_type, n, in[0], out);
  hlo_eval_fn fn = find_core(param->in_type, HLO_F64);
  int64_t bi = hlo_dtype_bytes(param->in_type), bo = hlo_dtype_bytes(param->out_type);
  double x[EVAL_BLOCK];
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    const void *xs[] = {(const char *)in[0] + i * bi};
    const uint64_t *u = xs[0];
    if (param->in_type == HLO_U64)
      for (int64_t k = 0; k < m; k++) x[k] = odd_from_u64(u[k]);
    else if (param->in_type == HLO_S64)
      for (int64_t k = 0; k < m; k++) x[k] = (int64_t)u[k] < 0 ? -odd_from_u64(0 - u[k]) : odd_from_u64(u[k]);
    else
      fn(param, m, xs, x);
    hlo_small_encode(param->out_type, m, x, (char *)out + i * bo, false);
  }
}

static void small_to_small(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {
  int64_t bi = hlo_dtype_bytes(param->in_type), bo = hlo_dtype_bytes(param->out_type);
  float x[EVAL_BLOCK];
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    hlo_small_to_floats(param->in_type, m, (const char *)in[0] + i * bi, x);
    hlo_small_from_floats(param->out_type, m, x, (char *)out + i * bo);
  }
}

static void complex_to_complex(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {
  hlo_eval_param parts = *param;
  parts.in_type = hlo_dtype_real_part(param->in_type);
  parts.out_type = hlo_dtype_real_part(param->out_type);
  find_core(parts.in_type, parts.out_type)(&parts, 2 * n, in, out);
}

static void complex_to_real(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {
  hlo_eval_param part = *param;
  part.in_type = hlo_dtype_real_part(param->in_type);
  hlo_eval_fn fn = hlo_eval_find_convert(part.in_type, part.out_type);
  int64_t bo = hlo_dtype_bytes(param->out_type);
  double buffer[EVAL_BLOCK];
  const void *xs[] = {buffer};
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    if (part.in_type == HLO_F32)
      hlo_copy_strided(m, 4, buffer, 4, (const char *)in[0] + i * 8, 8);
    else
      hlo_copy_strided(m, 8, buffer, 8, (const char *)in[0] + i * 16, 16);
    fn(&part, m, xs, (char *)out + i * bo);
  }
}

static void real_to_complex(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {
  hlo_eval_param part = *param;
  part.out_type = hlo_dtype_real_part(param->out_type);
  hlo_eval_fn fn = hlo_eval_find_convert(part.in_type, part.out_type);
  int64_t bi = hlo_dtype_bytes(param->in_type), bo = hlo_dtype_bytes(part.out_type);
  double buffer[EVAL_BLOCK];
  static const double zero[1] = {0};
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    const void *xs[] = {(const char *)in[0] + i * bi};
    fn(&part, m, xs, buffer);
    char *y = (char *)out + i * 2 * bo;
    hlo_copy_strided(m, (int)bo, y, 2 * bo, buffer, bo);
    hlo_copy_strided(m, (int)bo, y + bo, 2 * bo, zero, 0);
  }
}

hlo_eval_fn hlo_eval_find_convert(hlo_dtype in, hlo_dtype out) {
  if (in >= HLO_TOKEN || out >= HLO_TOKEN) return NULL;
  if (in == out) return convert_same;
  if (hlo_dtype_is_complex(in)) return hlo_dtype_is_complex(out) ? complex_to_complex : complex_to_real;
  if (hlo_dtype_is_complex(out)) return real_to_complex;
  if (eval_is_small(in)) return eval_is_small(out) ? small_to_small : small_to_core;
  if (eval_is_small(out)) return core_to_small;
  return find_core(in, out);
}
