// SPDX-License-Identifier: Apache-2.0
// One-operand loops on integers, pred and floats, expanded from scalar.def.
//
// For each float row three loops are made: f32, f64, and `wide` (double to double, in place) which the small floats use
// on decoded blocks. Operands and result may be the same memory, so the loops carry no restrict; LEMNOS_IVDEP says that
// no iteration touches another's element.
#include "hlo/eval_fast.h"
#include "hlo/eval_fast64.h"

// --- integers
#define INT_UNARY_LOOP(ENUM, T_, W_, WS_, BITS_, SIGNED_, OP, expr)                                                 \
  LEMNOS_CLONES static void OP##_##ENUM(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    typedef T_ T;                                                                                                   \
    typedef W_ W;                                                                                                   \
    typedef WS_ WS;                                                                                                 \
    enum { BITS = BITS_, SIGNED = SIGNED_ };                                                                        \
    (void)sizeof(WS);                                                                                               \
    const T *x = in[0];                                                                                             \
    T *y = out;                                                                                                     \
    LEMNOS_IVDEP for (int64_t i = 0; i < n; i++) {                                                                  \
      T a = x[i];                                                                                                   \
      y[i] = eval_wrap_##ENUM(expr);                                                                                \
    }                                                                                                               \
  }
#define INT_UNARY(OP, expr) EVAL_INTS(INT_UNARY_LOOP, OP, expr)

#define TYPED_UNARY_LOOP(NAME, TI, TO, expr)                                                                 \
  LEMNOS_CLONES static void NAME(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    const TI *x = in[0];                                                                                     \
    TO *y = out;                                                                                             \
    LEMNOS_IVDEP for (int64_t i = 0; i < n; i++) {                                                           \
      TI a = x[i];                                                                                           \
      y[i] = (TO)(expr);                                                                                     \
    }                                                                                                        \
  }
#define WIDE_UNARY_LOOP(OP, expr)                             \
  LEMNOS_CLONES static void OP##_wide(int64_t n, double *x) { \
    for (int64_t i = 0; i < n; i++) {                         \
      double a = x[i];                                        \
      x[i] = (expr);                                          \
    }                                                         \
  }
#define SMALL_UNARY(OP, via_float)                                                                   \
  static void OP##_small(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    small_unary(param->in_type, n, in[0], out, OP##_wide, via_float);                                \
  }

static void small_unary(hlo_dtype t, int64_t n, const void *in, void *out, eval_wide_unary_fn fn, bool via_float) {
  double x[EVAL_BLOCK];
  int64_t bytes = hlo_dtype_bytes(t);
  if (bytes == 1 && n > 2 * EVAL_BLOCK) {  // a table of what there is
    uint8_t table[256];
    const uint8_t *p = in;
    uint8_t *y = out;
    for (int k = 0; k < 256; k++) table[k] = (uint8_t)k;
    small_unary(t, 256, table, table, fn, via_float);
    for (int64_t i = 0; i < n; i++) y[i] = table[p[i]];
    return;
  }
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    hlo_small_decode(t, m, (const char *)in + i * bytes, x);
    fn(m, x);
    hlo_small_encode(t, m, x, (char *)out + i * bytes, via_float);
  }
}

static void fast_f32(int64_t n, const float *in, float *out, hlo_fast_unary_fn fast, double (*exact)(double)) {
  double x[EVAL_BLOCK], y[EVAL_BLOCK];
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    for (int64_t k = 0; k < m; k++) x[k] = in[i + k];
    fast(m, x, y);
    hlo_fast_settle_unary(m, x, y, HLO_FAST_LOW_F32, exact);
    for (int64_t k = 0; k < m; k++) out[i + k] = (float)y[k];
  }
}

#define PRED_UNARY(OP, expr) TYPED_UNARY_LOOP(OP##_PRED, uint8_t, uint8_t, expr)
#define HALF_UNARY_LOOP(NAME, half, expr)                                                                    \
  LEMNOS_CLONES static void NAME(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    const uint16_t *x = in[0];                                                                               \
    uint16_t *y = out;                                                                                       \
    LEMNOS_IVDEP for (int64_t i = 0; i < n; i++) {                                                           \
      float a = half##_to_f32(x[i]);                                                                         \
      y[i] = half##_from_f32(expr);                                                                          \
    }                                                                                                        \
  }
// clang-format off
#define FLOAT_UNARY(OP, expr32, expr64)            \
  TYPED_UNARY_LOOP(OP##_F32, float, float, expr32)   \
  TYPED_UNARY_LOOP(OP##_F64, double, double, expr64) \
  HALF_UNARY_LOOP(OP##_BF16, bf16, expr32)           \
  HALF_UNARY_LOOP(OP##_F16, f16, expr32)             \
  WIDE_UNARY_LOOP(OP, expr64)                        \
  SMALL_UNARY(OP, true)
// clang-format on
#define LIBRARY_UNARY_LOOP(NAME, TI, TO, expr)                                                 \
  static void NAME(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    const TI *x = in[0];                                                                       \
    TO *y = out;                                                                               \
    for (int64_t i = 0; i < n; i++) {                                                          \
      TI a = x[i];                                                                             \
      y[i] = (TO)(expr);                                                                       \
    }                                                                                          \
  }
#define FAST_UNARY(OP, fn, fast)                                                                   \
  static void OP##_F32(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    fast_f32(n, in[0], out, hlo_fast_##fast, fn);                                                  \
  }                                                                                                \
  static void OP##_F64(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    hlo_fast64_unary(n, in[0], out, &hlo_fast64_##fast, fn##l);                                    \
  }                                                                                                \
  static void OP##_wide(int64_t n, double *x) {                                                    \
    double y[EVAL_BLOCK];                                                                          \
    hlo_fast_##fast(n, x, y);                                                                      \
    hlo_fast_settle_unary(n, x, y, HLO_FAST_LOW_SMALL, fn);                                        \
    memcpy(x, y, sizeof *x *(size_t)n);                                                            \
  }                                                                                                \
  SMALL_UNARY(OP, false)
#define WIDE_UNARY(OP, fn)                                            \
  LIBRARY_UNARY_LOOP(OP##_F32, float, float, fn((double)a))           \
  LIBRARY_UNARY_LOOP(OP##_F64, double, double, fn##l((long double)a)) \
  WIDE_UNARY_LOOP(OP, fn(a))                                          \
  SMALL_UNARY(OP, false)
#define TEST_UNARY(OP, expr)                                                                         \
  TYPED_UNARY_LOOP(OP##_F32, float, uint8_t, expr)                                                   \
  TYPED_UNARY_LOOP(OP##_F64, double, uint8_t, expr)                                                  \
  static void OP##_small(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    double x[EVAL_BLOCK];                                                                            \
    uint8_t *y = out;                                                                                \
    int64_t bytes = hlo_dtype_bytes(param->in_type);                                                 \
    for (int64_t i = 0; i < n; i += EVAL_BLOCK) {                                                    \
      int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;                                           \
      hlo_small_decode(param->in_type, m, (const char *)in[0] + i * bytes, x);                       \
      for (int64_t k = 0; k < m; k++) {                                                              \
        double a = x[k];                                                                             \
        y[i + k] = (uint8_t)(expr);                                                                  \
      }                                                                                              \
    }                                                                                                \
  }
#include "hlo/scalar.def"

// --- lookup
// An op has rows of several classes, so each class has its own switch.
static hlo_eval_fn find_int(hlo_op op, hlo_dtype t) {
  switch (op) {
#define INT_UNARY(OP, expr)                             \
  case HLO_OP_##OP: {                                   \
    static const hlo_eval_fn row[] = EVAL_ALL_INTS(OP); \
    return row[t - HLO_S2];                             \
  }
#include "hlo/scalar.def"
    default: return NULL;
  }
}

static hlo_eval_fn find_pred(hlo_op op) {
  switch (op) {
// clang-format off
#define PRED_UNARY(OP, expr) \
  case HLO_OP_##OP: return OP##_PRED;
// clang-format on
#include "hlo/scalar.def"
    default: return NULL;
  }
}

static hlo_eval_fn find_float(hlo_op op, hlo_dtype t) {
  switch (op) {
#define FLOAT_UNARY(OP, expr32, expr64) EVAL_HALF_CASE(OP)
#define WIDE_UNARY(OP, fn) EVAL_FLOAT_CASE(OP)
#include "hlo/scalar.def"
    default: return NULL;
  }
}

static hlo_eval_fn find_test(hlo_op op, hlo_dtype t) {
  switch (op) {
#define TEST_UNARY(OP, expr) EVAL_FLOAT_CASE(OP)
#include "hlo/scalar.def"
    default: return NULL;
  }
}

hlo_eval_fn hlo_eval_find_unary(hlo_op op, hlo_dtype in, hlo_dtype out) {
  if (hlo_dtype_is_float(in) && out == HLO_PRED) return find_test(op, in);
  if (in != out) return NULL;
  if (hlo_dtype_is_integer(in)) return find_int(op, in);
  if (in == HLO_PRED) return find_pred(op);
  if (hlo_dtype_is_float(in)) return find_float(op, in);
  return NULL;
}
