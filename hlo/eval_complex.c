// SPDX-License-Identifier: Apache-2.0
// Complex loops: c64 computed in double, c128 in long double, each part rounded once.
//
// Negation, addition, subtraction, max, min and conjugation are exact or correctly rounded that way too; c64
// multiplication's products are exact in double, so each part is rounded twice at most (sum, result).
#include <float.h>

#include "hlo/eval_complex_fast.h"
#include "hlo/eval_internal.h"

// Pieces of constants, smallest first, that add up to more than any long double has.
enum { POWER_PARTS = 5 };
static const double power_log2[POWER_PARTS] = {-0x1.23a2a82ea0c24p-219, -0x1.ace93a4ebe5d1p-165, 0x1.7b57a079a1934p-111,
                                               0x1.abc9e3b39803fp-56, 0x1.62e42fefa39efp-1};
static const double power_pi[POWER_PARTS] = {0x1.31d89cd9128a5p-217, 0x1.4cf98e804177dp-163, -0x1.f1976b7ed8fbcp-109,
                                             0x1.1a62633145c07p-53, 0x1.921fb54442d18p+1};

#define R double
#define DIGITS DBL_MANT_DIG
#define N(name) name##_d
#define M(name) name
#include "hlo/eval_complex_body.h"
#include "hlo/eval_power_body.h"
#undef R
#undef DIGITS
#undef N
#undef M
#define R long double
#define DIGITS LDBL_MANT_DIG
#define N(name) name##_l
#define M(name) name##l
#include "hlo/eval_complex_body.h"
#include "hlo/eval_power_body.h"
#undef R
#undef DIGITS
#undef N
#undef M

#define UNARY_LOOP(NAME, T, S, fn)                                                             \
  static void NAME(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    const T *x = in[0];                                                                        \
    T *y = out;                                                                                \
    for (int64_t i = 0; i < 2 * n; i += 2) {                                                   \
      cplx_##S r = fn##_##S(c_make_##S(x[i], x[i + 1]));                                       \
      y[i] = (T)r.re;                                                                          \
      y[i + 1] = (T)r.im;                                                                      \
    }                                                                                          \
  }
#define BINARY_LOOP(NAME, T, S, fn)                                                            \
  static void NAME(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    const T *x = in[0], *z = in[1];                                                            \
    T *y = out;                                                                                \
    for (int64_t i = 0; i < 2 * n; i += 2) {                                                   \
      cplx_##S r = fn##_##S(c_make_##S(x[i], x[i + 1]), c_make_##S(z[i], z[i + 1]));           \
      y[i] = (T)r.re;                                                                          \
      y[i + 1] = (T)r.im;                                                                      \
    }                                                                                          \
  }
#define COMPLEX_UNARY(OP, fn)        \
  UNARY_LOOP(OP##_C64, float, d, fn) \
  UNARY_LOOP(OP##_C128, double, l, fn)
#define COMPLEX_BINARY(OP, fn)        \
  BINARY_LOOP(OP##_C64, float, d, fn) \
  BINARY_LOOP(OP##_C128, double, l, fn)
// c64 by blocks in vectors, the scalar loop where those are unsure.
#define COMPLEX_FAST_UNARY(OP, fn, fast)                                                           \
  UNARY_LOOP(OP##_exact, float, d, fn)                                                             \
  UNARY_LOOP(OP##_C128, double, l, fn)                                                             \
  static void OP##_C64(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    hlo_complex_fast_unary(n, in[0], out, 2, hlo_complex_##fast, OP##_exact);                      \
  }
#define COMPLEX_FAST_BINARY(OP, fn, fast)                                                          \
  BINARY_LOOP(OP##_exact, float, d, fn)                                                            \
  BINARY_LOOP(OP##_C128, double, l, fn)                                                            \
  static void OP##_C64(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    hlo_complex_fast_binary(n, in[0], in[1], out, hlo_complex_##fast, OP##_exact);                 \
  }
// Formulas that the fast file has, too.
#define COMPLEX_WHOLE_BINARY(OP, fn, fast)                                                         \
  BINARY_LOOP(OP##_C128, double, l, fn)                                                            \
  static void OP##_C64(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    hlo_complex_##fast(n, in[0], in[1], out);                                                      \
  }
#include "hlo/scalar.def"

// --- between complex and its parts

#define PARTS(SUFFIX, T, hypotenuse)                                                                         \
  static void real_##SUFFIX(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {      \
    hlo_copy_strided(n, sizeof(T), out, sizeof(T), in[0], 2 * sizeof(T));                                    \
  }                                                                                                          \
  static void imag_##SUFFIX(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {      \
    hlo_copy_strided(n, sizeof(T), out, sizeof(T), (const T *)in[0] + 1, 2 * sizeof(T));                     \
  }                                                                                                          \
  static void abs_exact_##SUFFIX(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) { \
    const T *x = in[0];                                                                                      \
    T *y = out;                                                                                              \
    for (int64_t i = 0; i < n; i++) y[i] = (T)(hypotenuse);                                                  \
  }                                                                                                          \
  static void complex_##SUFFIX(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {   \
    hlo_copy_strided(n, sizeof(T), out, 2 * sizeof(T), in[0], sizeof(T));                                    \
    hlo_copy_strided(n, sizeof(T), (T *)out + 1, 2 * sizeof(T), in[1], sizeof(T));                           \
  }
PARTS(C64, float, hypot(x[2 * i], x[2 * i + 1]))
PARTS(C128, double, hypotl(x[2 * i], x[2 * i + 1]))

static void abs_C64(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {
  hlo_complex_fast_unary(n, in[0], out, 1, hlo_complex_abs, abs_exact_C64);
}

static hlo_eval_fn find_parts(hlo_op op, bool is_c64) {
  switch (op) {
    case HLO_OP_REAL: return is_c64 ? real_C64 : real_C128;
    case HLO_OP_IMAG: return is_c64 ? imag_C64 : imag_C128;
    case HLO_OP_ABS: return is_c64 ? abs_C64 : abs_exact_C128;
    case HLO_OP_COMPLEX: return is_c64 ? complex_C64 : complex_C128;
    default: return NULL;
  }
}

hlo_eval_fn hlo_eval_find_complex(hlo_op op, hlo_dtype in, hlo_dtype out) {
  if (in != out) {
    hlo_dtype whole = op == HLO_OP_COMPLEX ? out : in, part = op == HLO_OP_COMPLEX ? in : out;
    if (!hlo_dtype_is_complex(whole) || hlo_dtype_real_part(whole) != part) return NULL;
    return find_parts(op, whole == HLO_C64);
  }
  switch (op) {
#define COMPLEX_UNARY(OP, fn) \
  case HLO_OP_##OP: return in == HLO_C64 ? OP##_C64 : OP##_C128;
// clang-format off
#define COMPLEX_BINARY(OP, fn) \
  case HLO_OP_##OP: return in == HLO_C64 ? OP##_C64 : OP##_C128;
// clang-format on
#include "hlo/scalar.def"
    default: return NULL;
  }
}
