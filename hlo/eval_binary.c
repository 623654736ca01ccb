// SPDX-License-Identifier: Apache-2.0
// Two-operand loops on integers, pred and floats, expanded from scalar.def.
//
// For each float row three loops are made: f32, f64, and `wide` (double to double, in place) which the small floats use
// on decoded blocks. Operands and result may be the same memory, so the loops carry no restrict; LEMNOS_IVDEP says that
// no iteration touches another's element.
#include "hlo/eval_fast.h"
#include "hlo/eval_fast64.h"

// --- integers
#define INT_BINARY_LOOP(ENUM, T_, W_, WS_, BITS_, SIGNED_, OP, expr)                                  \
  static void OP##_##ENUM(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    typedef T_ T;                                                                                     \
    typedef W_ W;                                                                                     \
    typedef WS_ WS;                                                                                   \
    enum { BITS = BITS_, SIGNED = SIGNED_ };                                                          \
    (void)sizeof(WS);                                                                                 \
    const T *x = in[0], *z = in[1];                                                                   \
    T *y = out;                                                                                       \
    LEMNOS_IVDEP for (int64_t i = 0; i < n; i++) {                                                    \
      T a = x[i], b = z[i];                                                                           \
      y[i] = eval_wrap_##ENUM(expr);                                                                  \
    }                                                                                                 \
  }
#define INT_BINARY(OP, expr) EVAL_INTS(INT_BINARY_LOOP, OP, expr)

// A block at once, as many rounds as its highest exponent has bits. A negative exponent gives 0 unless the base is 1 or
// -1.
#define INT_POWER_LOOP(ENUM, T_, W_, WS_, BITS_, SIGNED_, OP, unused)                                               \
  LEMNOS_CLONES static void OP##_##ENUM(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    enum { SIGNED = SIGNED_, top = sizeof(W_) * 8 - 1 };                                                            \
    const T_ *x = in[0], *z = in[1];                                                                                \
    T_ *y = out;                                                                                                    \
    W_ a[EVAL_BLOCK], b[EVAL_BLOCK], r[EVAL_BLOCK];                                                                 \
    for (int64_t i = 0; i < n; i += EVAL_BLOCK) {                                                                   \
      int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;                                                          \
      W_ bits = 0;                                                                                                  \
      for (int64_t k = 0; k < m; k++) {                                                                             \
        a[k] = (W_)x[i + k];                                                                                        \
        b[k] = SIGNED && (W_)z[i + k] >> top ? 0 : (W_)z[i + k];                                                    \
        r[k] = 1;                                                                                                   \
        bits |= b[k];                                                                                               \
      }                                                                                                             \
      for (; bits; bits >>= 1)                                                                                      \
        for (int64_t k = 0; k < m; k++) {                                                                           \
          r[k] *= b[k] & 1 ? a[k] : 1;                                                                              \
          a[k] *= a[k];                                                                                             \
          b[k] >>= 1;                                                                                               \
        }                                                                                                           \
      LEMNOS_IVDEP for (int64_t k = 0; k < m; k++) {                                                                \
        T_ base = x[i + k], e = z[i + k];                                                                           \
        W_ minus = (W_)-1, odd = e & 1 ? minus : 1, inverse = base == 1 ? 1 : (W_)base == minus ? odd : 0;          \
        y[i + k] = eval_wrap_##ENUM(SIGNED && (W_)e >> top ? inverse : r[k]);                                       \
      }                                                                                                             \
    }                                                                                                               \
  }
#define INT_POWER(OP) EVAL_INTS(INT_POWER_LOOP, OP, )

#define TYPED_BINARY_LOOP(NAME, TI, TO, expr)                                                                \
  LEMNOS_CLONES static void NAME(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    const TI *x = in[0], *z = in[1];                                                                         \
    TO *y = out;                                                                                             \
    LEMNOS_IVDEP for (int64_t i = 0; i < n; i++) {                                                           \
      TI a = x[i], b = z[i];                                                                                 \
      y[i] = (TO)(expr);                                                                                     \
    }                                                                                                        \
  }
#define WIDE_BINARY_LOOP(OP, expr)                                             \
  LEMNOS_CLONES static void OP##_wide(int64_t n, double *x, const double *z) { \
    for (int64_t i = 0; i < n; i++) {                                          \
      double a = x[i], b = z[i];                                               \
      x[i] = (expr);                                                           \
    }                                                                          \
  }
#define SMALL_BINARY(OP, via_float)                                                                  \
  static void OP##_small(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    small_binary(param->in_type, n, in, out, OP##_wide, via_float);                                  \
  }

static void small_binary(hlo_dtype t, int64_t n, const void *const *in, void *out, eval_wide_binary_fn fn,
                         bool via_float) {
  double x[EVAL_BLOCK], z[EVAL_BLOCK];
  int64_t bytes = hlo_dtype_bytes(t);
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    hlo_small_decode(t, m, (const char *)in[0] + i * bytes, x);
    hlo_small_decode(t, m, (const char *)in[1] + i * bytes, z);
    fn(m, x, z);
    hlo_small_encode(t, m, x, (char *)out + i * bytes, via_float);
  }
}

static void fast_f32(int64_t n, const float *a, const float *b, float *out, hlo_fast_binary_fn fast,
                     double (*exact)(double, double)) {
  double x[EVAL_BLOCK], y[EVAL_BLOCK], z[EVAL_BLOCK];
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    for (int64_t k = 0; k < m; k++) x[k] = a[i + k], y[k] = b[i + k];
    fast(m, x, y, z);
    hlo_fast_settle_binary(m, x, y, z, HLO_FAST_LOW_F32, exact);
    for (int64_t k = 0; k < m; k++) out[i + k] = (float)z[k];
  }
}

#define PRED_BINARY(OP, expr) TYPED_BINARY_LOOP(OP##_PRED, uint8_t, uint8_t, expr)
// In floats: one operation rounded to f32 and then to 16 bits is the same as rounded once (see hlo_small_encode).
#define HALF_BINARY_LOOP(NAME, half, expr)                                                                   \
  LEMNOS_CLONES static void NAME(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    const uint16_t *x = in[0], *z = in[1];                                                                   \
    uint16_t *y = out;                                                                                       \
    LEMNOS_IVDEP for (int64_t i = 0; i < n; i++) {                                                           \
      float a = half##_to_f32(x[i]), b = half##_to_f32(z[i]);                                                \
      y[i] = half##_from_f32(expr);                                                                          \
    }                                                                                                        \
  }
// clang-format off
#define FLOAT_BINARY(OP, expr32, expr64)            \
  TYPED_BINARY_LOOP(OP##_F32, float, float, expr32)   \
  TYPED_BINARY_LOOP(OP##_F64, double, double, expr64) \
  HALF_BINARY_LOOP(OP##_BF16, bf16, expr32)           \
  HALF_BINARY_LOOP(OP##_F16, f16, expr32)             \
  WIDE_BINARY_LOOP(OP, expr64)                        \
  SMALL_BINARY(OP, true)
// clang-format on
#define LIBRARY_BINARY_LOOP(NAME, TI, TO, expr)                                                \
  static void NAME(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    const TI *x = in[0], *z = in[1];                                                           \
    TO *y = out;                                                                               \
    for (int64_t i = 0; i < n; i++) {                                                          \
      TI a = x[i], b = z[i];                                                                   \
      y[i] = (TO)(expr);                                                                       \
    }                                                                                          \
  }
#define EXACT_BINARY(OP, fn, fast)                                                                 \
  static void OP##_F32(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    const float *a = in[0], *b = in[1];                                                            \
    float *o = out;                                                                                \
    double x[EVAL_BLOCK], y[EVAL_BLOCK], z[EVAL_BLOCK];                                            \
    for (int64_t i = 0; i < n; i += EVAL_BLOCK) {                                                  \
      int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;                                         \
      for (int64_t k = 0; k < m; k++) x[k] = a[i + k], y[k] = b[i + k];                            \
      hlo_fast_##fast(m, x, y, z);                                                                 \
      hlo_fast_settle_exact(m, x, y, z, fn);                                                       \
      for (int64_t k = 0; k < m; k++) o[i + k] = (float)z[k];                                      \
    }                                                                                              \
  }                                                                                                \
  static void OP##_F64(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    hlo_fast64_binary(n, in[0], in[1], out, &hlo_fast64_##fast, fn##l);                            \
  }                                                                                                \
  static void OP##_wide(int64_t n, double *x, const double *z) {                                   \
    double y[EVAL_BLOCK];                                                                          \
    hlo_fast_##fast(n, x, z, y);                                                                   \
    hlo_fast_settle_exact(n, x, z, y, fn);                                                         \
    memcpy(x, y, sizeof *x *(size_t)n);                                                            \
  }                                                                                                \
  SMALL_BINARY(OP, true)
#define FAST_BINARY(OP, fn, fast)                                                                  \
  static void OP##_F32(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    fast_f32(n, in[0], in[1], out, hlo_fast_##fast, fn);                                           \
  }                                                                                                \
  static void OP##_F64(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    hlo_fast64_binary(n, in[0], in[1], out, &hlo_fast64_##fast, fn##l);                            \
  }                                                                                                \
  static void OP##_wide(int64_t n, double *x, const double *z) {                                   \
    double y[EVAL_BLOCK];                                                                          \
    hlo_fast_##fast(n, x, z, y);                                                                   \
    hlo_fast_settle_binary(n, x, z, y, HLO_FAST_LOW_SMALL, fn);                                    \
    memcpy(x, y, sizeof *x *(size_t)n);                                                            \
  }                                                                                                \
  SMALL_BINARY(OP, false)
#define WIDE_BINARY(OP, fn)                                                            \
  LIBRARY_BINARY_LOOP(OP##_F32, float, float, fn((double)a, (double)b))                \
  LIBRARY_BINARY_LOOP(OP##_F64, double, double, fn##l((long double)a, (long double)b)) \
  WIDE_BINARY_LOOP(OP, fn(a, b))                                                       \
  SMALL_BINARY(OP, false)
#include "hlo/scalar.def"

// --- lookup
// An op has rows of several classes, so each class has its own switch.
static hlo_eval_fn find_int(hlo_op op, hlo_dtype t) {
  switch (op) {
#define INT_BINARY(OP, expr)                            \
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
#define PRED_BINARY(OP, expr) \
  case HLO_OP_##OP: return OP##_PRED;
// clang-format on
#include "hlo/scalar.def"
    default: return NULL;
  }
}

static hlo_eval_fn find_float(hlo_op op, hlo_dtype t) {
  switch (op) {
#define FLOAT_BINARY(OP, expr32, expr64) EVAL_HALF_CASE(OP)
#define EXACT_BINARY(OP, fn, fast) EVAL_FLOAT_CASE(OP)
#define WIDE_BINARY(OP, fn) EVAL_FLOAT_CASE(OP)
#include "hlo/scalar.def"
    default: return NULL;
  }
}

hlo_eval_fn hlo_eval_find_binary(hlo_op op, hlo_dtype in, hlo_dtype out) {
  if (in != out) return NULL;
  if (hlo_dtype_is_integer(in)) return find_int(op, in);
  if (in == HLO_PRED) return find_pred(op);
  if (hlo_dtype_is_float(in)) return find_float(op, in);
  return NULL;
}
