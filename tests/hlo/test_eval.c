// SPDX-License-Identifier: Apache-2.0
// Elementwise semantics. Transcendental and complex values: eval_expected.def (mpmath). The rest are literals from the
// StableHLO specification, IEEE 754, NumPy and ml_dtypes, or worked out by hand.
#include <math.h>

#include "hlo/eval.h"
#include "tests/harness.h"

// --- running one loop

static hlo_eval_param no_param(void) {
  hlo_eval_param p;
  memset(&p, 0, sizeof p);
  return p;
}

static void run_attrs(hlo_op op, const void *attrs, int n_operands, const hlo_dtype *types, hlo_dtype out_type,
                      int64_t n, const void *const *in, void *out) {
  hlo_eval_param param = no_param();
  const char *reason = NULL;
  hlo_eval_fn fn = hlo_eval_lookup(op, attrs, n_operands, types, out_type, &param, &reason);
  ck_assert_msg(fn != NULL, "%s: %s", hlo_op_table[op].text_name, reason);
  ck_assert_ptr_null(reason);
  fn(&param, n, in, out);
}

static void run1(hlo_op op, hlo_dtype in_type, hlo_dtype out_type, int64_t n, const void *a, void *out) {
  run_attrs(op, NULL, 1, (hlo_dtype[]){in_type}, out_type, n, (const void *[]){a}, out);
}
static void run2(hlo_op op, hlo_dtype t, int64_t n, const void *a, const void *b, void *out) {
  run_attrs(op, NULL, 2, (hlo_dtype[]){t, t}, t, n, (const void *[]){a, b}, out);
}

#define COUNT(a) ((int64_t)(sizeof(a) / sizeof((a)[0])))
// expect_*: bytes must be equal (so -0 and NaN patterns count)
#define EXPECT1(op, in_type, out_type, T, U, inputs, outputs)                                                         \
  do {                                                                                                                \
    const T a_[] = inputs;                                                                                            \
    const U want_[] = outputs;                                                                                        \
    U got_[COUNT(a_)];                                                                                                \
    ck_assert_int_eq(COUNT(a_), COUNT(want_));                                                                        \
    run1(HLO_OP_##op, HLO_##in_type, HLO_##out_type, COUNT(a_), a_, got_);                                            \
    for (int64_t i_ = 0; i_ < COUNT(a_); i_++)                                                                        \
      ck_assert_msg(memcmp(&got_[i_], &want_[i_], sizeof(U)) == 0, #op " " #in_type " -> " #out_type " [%d]: got %g", \
                    (int)i_, (double)got_[i_]);                                                                       \
  } while (0)
#define EXPECT2(op, type, T, lhs, rhs, outputs)                                                            \
  do {                                                                                                     \
    const T a_[] = lhs, b_[] = rhs, want_[] = outputs;                                                     \
    T got_[COUNT(a_)];                                                                                     \
    ck_assert_int_eq(COUNT(a_), COUNT(want_));                                                             \
    ck_assert_int_eq(COUNT(b_), COUNT(want_));                                                             \
    run2(HLO_OP_##op, HLO_##type, COUNT(a_), a_, b_, got_);                                                \
    for (int64_t i_ = 0; i_ < COUNT(a_); i_++)                                                             \
      ck_assert_msg(memcmp(&got_[i_], &want_[i_], sizeof(T)) == 0, #op " " #type " [%d]: got %g", (int)i_, \
                    (double)got_[i_]);                                                                     \
  } while (0)
#define L(...) \
  { __VA_ARGS__ }
#define NAN_F __builtin_nanf("")
#define INF_F INFINITY

START_TEST(integer_arithmetic) {
  EXPECT2(ADD, S8, int8_t, L(127, -128, 5), L(1, -1, 6), L(-128, 127, 11));
  EXPECT2(SUBTRACT, U8, uint8_t, L(0, 200), L(1, 100), L(255, 100));
  EXPECT2(MULTIPLY, S32, int32_t, L(INT32_MIN, 65536, -7), L(-1, 65536, 6), L(INT32_MIN, 0, -42));
  EXPECT2(MULTIPLY, U64, uint64_t, L(UINT64_MAX), L(UINT64_MAX), L(1));
  // spec: [17, -17, 17, -17] / [3, 3, -3, -3]
  EXPECT2(DIVIDE, S64, int64_t, L(17, -17, 17, -17, INT64_MIN, 7, -7), L(3, 3, -3, -3, -1, 0, 0),
          L(5, -5, -5, 5, INT64_MIN, -1, -1));
  EXPECT2(REMAINDER, S64, int64_t, L(17, -17, 17, -17, INT64_MIN, 7, -7), L(3, 3, -3, -3, -1, 0, 0),
          L(2, -2, 2, -2, 0, 7, -7));
  EXPECT2(DIVIDE, U16, uint16_t, L(7, 65535), L(0, 2), L(65535, 32767));
  EXPECT2(REMAINDER, U32, uint32_t, L(7, 4000000000u), L(0, 7), L(7, 3));
  EXPECT2(MAXIMUM, S16, int16_t, L(-5, 3), L(2, -9), L(2, 3));
  EXPECT2(MINIMUM, U8, uint8_t, L(250, 3), L(2, 9), L(2, 3));
  // spec's example and negative exponents
  EXPECT2(POWER, S32, int32_t, L(-2, 2, 1, -1, -1, 0, 3, 0), L(3, -1, -5, -4, -3, -2, 21, 0),
          L(-8, 0, 1, 1, -1, 0, 1870418611, 1));
  EXPECT2(POWER, U8, uint8_t, L(3, 2, 255), L(5, 8, 255), L(243, 0, 255));
  EXPECT1(ABS, S8, S8, int8_t, int8_t, L(-128, -5, 5, 0), L(-128, 5, 5, 0));
  EXPECT1(NEGATE, U32, U32, uint32_t, uint32_t, L(1, 0), L(UINT32_MAX, 0));
  EXPECT1(SIGN, S64, S64, int64_t, int64_t, L(INT64_MIN, 0, 9), L(-1, 0, 1));
}
END_TEST

START_TEST(integer_bits) {
  EXPECT2(SHIFT_LEFT, S8, int8_t, L(-1, 1, 1, 1), L(1, 7, 8, -1), L(-2, -128, 0, 0));
  EXPECT2(SHIFT_RIGHT_LOGICAL, S8, int8_t, L(-1, -128, -1), L(1, 7, 9), L(127, 1, 0));
  EXPECT2(SHIFT_RIGHT_ARITHMETIC, S8, int8_t, L(-1, -128, -8, 8, -8), L(1, 7, 100, 100, -1), L(-1, -1, -1, 0, -1));
  EXPECT2(SHIFT_RIGHT_ARITHMETIC, U16, uint16_t, L(0x8000, 0x4000), L(15, 14), L(0xffff, 1));
  EXPECT2(SHIFT_LEFT, U64, uint64_t, L(1, 1), L(63, 64), L((uint64_t)1 << 63, 0));
  EXPECT1(POPCNT, S64, S64, int64_t, int64_t, L(0, 1, 2, 127, -1), L(0, 1, 1, 7, 64));
  EXPECT1(POPCNT, S4, S4, int8_t, int8_t, L(-1, 5), L(4, 2));
  EXPECT1(COUNT_LEADING_ZEROS, S64, S64, int64_t, int64_t, L(0, 1, 128, -1), L(64, 63, 56, 0));
  EXPECT1(COUNT_LEADING_ZEROS, U8, U8, uint8_t, uint8_t, L(0, 1, 255), L(8, 7, 0));
  EXPECT1(COUNT_LEADING_ZEROS, U4, U4, uint8_t, uint8_t, L(0, 1, 15), L(4, 3, 0));
  EXPECT1(COUNT_LEADING_ZEROS, S2, S2, int8_t, int8_t, L(0, 1, -1), L(-2, 1, 0));  // 2 does not fit s2: wraps
  EXPECT1(NOT, S32, S32, int32_t, int32_t, L(0, -1, 5), L(-1, 0, -6));
  EXPECT1(NOT, U2, U2, uint8_t, uint8_t, L(0, 1, 2, 3), L(3, 2, 1, 0));
  EXPECT1(NOT, PRED, PRED, uint8_t, uint8_t, L(0, 1), L(1, 0));
  EXPECT2(XOR, U4, uint8_t, L(12), L(10), L(6));
  EXPECT2(MULHI, S32, int32_t, L(INT32_MIN, -1), L(INT32_MIN, 1), L(1 << 30, -1));
  EXPECT2(MULHI, U64, uint64_t, L(UINT64_MAX), L(UINT64_MAX), L(UINT64_MAX - 1));
  EXPECT2(MULHI, S64, int64_t, L(INT64_MIN, -1), L(INT64_MIN, 1), L((int64_t)1 << 62, -1));
}
END_TEST

START_TEST(sub_byte_integers_wrap) {
  EXPECT2(ADD, S4, int8_t, L(7, -8, 3), L(1, -1, 2), L(-8, 7, 5));
  EXPECT2(MULTIPLY, U4, uint8_t, L(15, 5), L(15, 3), L(1, 15));
  EXPECT2(SUBTRACT, U2, uint8_t, L(0), L(1), L(3));
  EXPECT2(DIVIDE, S2, int8_t, L(-2, 1, -2), L(-1, 0, 1), L(-2, -1, -2));
  EXPECT2(DIVIDE, U4, uint8_t, L(9), L(0), L(15));
  EXPECT2(SHIFT_RIGHT_LOGICAL, S4, int8_t, L(-8), L(3), L(1));
  EXPECT2(SHIFT_LEFT, S4, int8_t, L(3, 1), L(2, 4), L(-4, 0));
}
END_TEST

START_TEST(pred_arithmetic) {
  EXPECT2(ADD, PRED, uint8_t, L(0, 0, 1, 1), L(0, 1, 0, 1), L(0, 1, 1, 1));
  EXPECT2(MULTIPLY, PRED, uint8_t, L(0, 0, 1, 1), L(0, 1, 0, 1), L(0, 0, 0, 1));
  EXPECT2(MAXIMUM, PRED, uint8_t, L(0, 0, 1, 1), L(0, 1, 0, 1), L(0, 1, 1, 1));
  EXPECT2(MINIMUM, PRED, uint8_t, L(0, 0, 1, 1), L(0, 1, 0, 1), L(0, 0, 0, 1));
  EXPECT2(XOR, PRED, uint8_t, L(0, 0, 1, 1), L(0, 1, 0, 1), L(0, 1, 1, 0));
}
END_TEST

START_TEST(float_arithmetic) {
  EXPECT2(ADD, F32, float, L(0.1f, 1e38f, 3e38f), L(0.2f, 1.0f, 3e38f), L(0x1.333334p-2f, 1e38f, INF_F));
  EXPECT2(MULTIPLY, F64, double, L(0.1, 1e-200), L(3.0, 1e-200), L(0x1.3333333333334p-2, 0.0));
  EXPECT2(DIVIDE, F32, float, L(1.0f, -1.0f, 17.5f), L(3.0f, 0.0f, 2.0f), L(0x1.555556p-2f, -INF_F, 8.75f));
  EXPECT2(REMAINDER, F64, double, L(17.1, -17.1, 5.0, -1.0), L(3.0, 3.0, -3.0, INFINITY),
          L(0x1.0ccccccccccd0p+1, -0x1.0ccccccccccd0p+1, 2.0, -1.0));
  EXPECT2(MAXIMUM, F32, float, L(-0.0f, 0.0f, 1.0f, -INF_F), L(0.0f, -0.0f, 2.0f, 3.0f), L(0.0f, 0.0f, 2.0f, 3.0f));
  EXPECT2(MINIMUM, F64, double, L(-0.0, 0.0, 1.0), L(0.0, -0.0, 2.0), L(-0.0, -0.0, 1.0));
  EXPECT1(ABS, F32, F32, float, float, L(-0.0f, -1.5f, -INF_F), L(0.0f, 1.5f, INF_F));
  EXPECT1(NEGATE, F64, F64, double, double, L(0.0, -2.0), L(-0.0, 2.0));
  EXPECT1(SIGN, F32, F32, float, float, L(-0.0f, 0.0f, -3.0f, INF_F), L(-0.0f, 0.0f, -1.0f, 1.0f));
  EXPECT1(CEIL, F32, F32, float, float, L(-0.8166f, 0.2f, 1.0f), L(-0.0f, 1.0f, 1.0f));
  EXPECT1(FLOOR, F64, F64, double, double, L(-0.8166, 0.2, 1.5), L(-1.0, 0.0, 1.0));
  EXPECT1(ROUND_NEAREST_AFZ, F32, F32, float, float, L(-2.5f, 0.4f, 0.5f, 2.5f, 0.49999997f),
          L(-3.0f, 0.0f, 1.0f, 3.0f, 0.0f));
  EXPECT1(ROUND_NEAREST_EVEN, F64, F64, double, double, L(-2.5, 0.4, 0.5, 1.5, 2.5), L(-2.0, 0.0, 0.0, 2.0, 2.0));
  EXPECT1(SQRT, F64, F64, double, double, L(2.0, 0.25, -0.0), L(0x1.6a09e667f3bcdp+0, 0.5, -0.0));
  EXPECT1(IS_FINITE, F32, PRED, float, uint8_t, L(1.0f, INF_F, NAN_F), L(1, 0, 0));
  EXPECT1(IS_NEG_INF, F64, PRED, double, uint8_t, L(-INFINITY, INFINITY, 0.0), L(1, 0, 0));
  EXPECT1(IS_INF, F8E5M2, PRED, uint8_t, uint8_t, L(0x7c, 0xfc, 0x7d, 0x3c), L(1, 1, 0, 0));
  EXPECT1(IMAG, F32, F32, float, float, L(2.0f, -1.0f), L(0.0f, 0.0f));
}
END_TEST

START_TEST(nan_propagates) {
  static const hlo_op ops[] = {HLO_OP_ADD, HLO_OP_MAXIMUM, HLO_OP_MINIMUM, HLO_OP_REMAINDER, HLO_OP_NEXT_AFTER};
  float a[] = {NAN, 1, NAN}, b[] = {1, NAN, NAN}, r[3];
  double c[] = {NAN, 1, NAN}, d[] = {1, NAN, NAN}, s[3];
  for (int i = 0; i < COUNT(ops); i++) {
    run2(ops[i], HLO_F32, 3, a, b, r);
    run2(ops[i], HLO_F64, 3, c, d, s);
    for (int k = 0; k < 3; k++) ck_assert(isnan(r[k]) && isnan(s[k]));
  }
  run1(HLO_OP_SIGN, HLO_F32, HLO_F32, 1, a, r);
  ck_assert(isnan(r[0]));
}
END_TEST

START_TEST(transcendental_values) {
#define REAL(op, x, want, x32, want32)                  \
  EXPECT1(op, F64, F64, double, double, L(x), L(want)); \
  EXPECT1(op, F32, F32, float, float, L((float)x32), L((float)want32));
#define REAL2(op, x, y, want, x32, y32, want32)  \
  EXPECT2(op, F64, double, L(x), L(y), L(want)); \
  EXPECT2(op, F32, float, L((float)x32), L((float)y32), L((float)want32));
#define COMPLEX(op, re, im, wre, wim, wre32, wim32)
#define COMPLEX2(op, re, im, re2, im2, wre, wim, wre32, wim32)
#include "tests/hlo/eval_expected.def"
#undef REAL
#undef REAL2
#undef COMPLEX
#undef COMPLEX2
}
END_TEST

static void check_complex(hlo_op op, int n_operands, const double *args, const double *want, const double *want32) {
  double got[2];
  float a32[4], got32[2];
  for (int i = 0; i < 2 * n_operands; i++) a32[i] = (float)args[i];
  const void *in[] = {args, args + 2}, *in32[] = {a32, a32 + 2};
  run_attrs(op, NULL, n_operands, (hlo_dtype[]){HLO_C128, HLO_C128}, HLO_C128, 1, in, got);
  run_attrs(op, NULL, n_operands, (hlo_dtype[]){HLO_C64, HLO_C64}, HLO_C64, 1, in32, got32);
  for (int i = 0; i < 2; i++) {
    ck_assert_msg(fabs(got[i] - want[i]) <= 0x1p-52 * fabs(want[i]), "%s c128 part %d: got %a, expected %a",
                  hlo_op_table[op].text_name, i, got[i], want[i]);
    ck_assert_msg(got32[i] == (float)want32[i], "%s c64 part %d: got %a, expected %a", hlo_op_table[op].text_name, i,
                  got32[i], want32[i]);
  }
}

START_TEST(complex_values) {
#define REAL(op, x, want, x32, want32)
#define REAL2(op, x, y, want, x32, y32, want32)
#define COMPLEX(op, re, im, wre, wim, wre32, wim32) \
  check_complex(HLO_OP_##op, 1, (double[]){re, im}, (double[]){wre, wim}, (double[]){wre32, wim32});
#define COMPLEX2(op, re, im, re2, im2, wre, wim, wre32, wim32) \
  check_complex(HLO_OP_##op, 2, (double[]){re, im, re2, im2}, (double[]){wre, wim}, (double[]){wre32, wim32});
#include "tests/hlo/eval_expected.def"
}
END_TEST

START_TEST(complex_parts_and_limits) {
  const float z[] = {3, -4, 3e38f, 3e38f, -INFINITY, NAN};
  float r[6];
  run1(HLO_OP_ABS, HLO_C64, HLO_F32, 3, z, r);
  ck_assert(r[0] == 5 && isinf(r[1]) && isinf(r[2]));
  run1(HLO_OP_REAL, HLO_C64, HLO_F32, 2, z, r);
  ck_assert(r[0] == 3 && r[1] == 3e38f);
  run1(HLO_OP_IMAG, HLO_C64, HLO_F32, 1, z, r);
  ck_assert(r[0] == -4);
  run_attrs(HLO_OP_COMPLEX, NULL, 2, (hlo_dtype[]){HLO_F32, HLO_F32}, HLO_C64, 2, (const void *[]){z, z + 2}, r);
  ck_assert(r[0] == 3 && r[1] == 3e38f && r[2] == -4 && r[3] == 3e38f);
  // no overflow on the way: (1e30 + 1e30i) / (1e30 + 1e30i) = 1; sqrt of (3e38, 3e38); sign of a huge number
  const float big[] = {1e30f, 1e30f};
  run2(HLO_OP_DIVIDE, HLO_C64, 1, big, big, r);
  ck_assert(r[0] == 1 && r[1] == 0);
  const double huge[] = {3e307, 4e307};
  double d[2];
  run1(HLO_OP_SIGN, HLO_C128, HLO_C128, 1, huge, d);
  ck_assert(fabs(d[0] - 0.6) < 1e-15 && fabs(d[1] - 0.8) < 1e-15);
  const float zero[] = {0, 0}, one[] = {1, 0};
  run2(HLO_OP_POWER, HLO_C64, 1, zero, zero, r);
  ck_assert(r[0] == 1 && r[1] == 0);
  run2(HLO_OP_POWER, HLO_C64, 1, zero, one, r);
  ck_assert(r[0] == 0 && r[1] == 0);
  // Axes and diagonals: (1 + i)^4 = -4, (-3)^3 = -27, (2 i)^3 = -8 i, (-4)^(1/2) = 2 i, (1 - i)^-4 = -1/4, i^(2 + 3 i)
  // = -e^(-3 pi / 2)
  const double base[] = {1, 1, -3, 0, 0, 2, -4, 0, 1, -1, 0, 1}, exponent[] = {4, 0, 3, 0, 3, 0, 0.5, 0, -4, 0, 2, 3};
  const double want[] = {-4, 0, -27, 0, 0, -8, 0, 2, -0.25, 0, -0x1.265d4e92b6b9bp-7, 0};
  double p[12];
  run2(HLO_OP_POWER, HLO_C128, 6, base, exponent, p);
  for (int k = 0; k < 12; k++) ck_assert_msg(p[k] == want[k], "part %d: %a, expected %a", k, p[k], want[k]);
  const float a[] = {1, 5, 2, 0}, b[] = {1, 4, 1, 9};  // lexicographic
  run2(HLO_OP_MAXIMUM, HLO_C64, 2, a, b, r);
  ck_assert(r[1] == 5 && r[2] == 2);
  run2(HLO_OP_MINIMUM, HLO_C64, 2, a, b, r);
  ck_assert(r[1] == 4 && r[2] == 1);
}
END_TEST

START_TEST(special_function_poles) {
  const double x[] = {0, -1, -INFINITY, INFINITY};
  double r[4];
  run1(HLO_OP_DIGAMMA, HLO_F64, HLO_F64, 4, x, r);
  ck_assert(isnan(r[0]) && isnan(r[1]) && isnan(r[2]) && isinf(r[3]));
  run1(HLO_OP_LGAMMA, HLO_F64, HLO_F64, 4, x, r);
  for (int i = 0; i < 4; i++) ck_assert(isinf(r[i]) && r[i] > 0);
  const double s[] = {1, 0.5, 2, 1e300}, q[] = {2, 2, -3, 1e300};
  run2(HLO_OP_ZETA, HLO_F64, 4, s, q, r);
  ck_assert(isinf(r[0]) && isnan(r[1]) && isinf(r[2]) && r[3] == 0);
  const double n[] = {-1, 0.5, 0, 1}, y[] = {1, 1, 1, INFINITY};
  run2(HLO_OP_POLYGAMMA, HLO_F64, 4, n, y, r);
  ck_assert(isnan(r[0]) && isnan(r[1]) && r[2] == -0x1.2788cfc6fb619p-1 && r[3] == 0);
  const double e[] = {1, -1, 1.5, 0x1.fffffffffffffp-1};
  run1(HLO_OP_ERF_INV, HLO_F64, HLO_F64, 4, e, r);
  ck_assert(isinf(r[0]) && r[1] < -1e300 && isnan(r[2]) && fabs(r[3] - 5.863584748755168) < 1e-14);
}
END_TEST

static void check_compare(hlo_comparison_direction d, hlo_comparison_type k, hlo_dtype t, int64_t n, const void *a,
                          const void *b, const uint8_t *want) {
  hlo_attrs_compare attrs = {d, k};
  uint8_t got[16];
  run_attrs(HLO_OP_COMPARE, &attrs, 2, (hlo_dtype[]){t, t}, HLO_PRED, n, (const void *[]){a, b}, got);
  for (int i = 0; i < n; i++) ck_assert_msg(got[i] == want[i], "direction %d type %d [%d]", d, k, i);
}
#define DIR(x) HLO_COMPARISON_DIRECTION_##x
#define KIND(x) HLO_COMPARISON_TYPE_##x

START_TEST(comparisons) {
  const float a[] = {1, NAN, -0.0f, 3}, b[] = {2, NAN, 0.0f, 3};
  check_compare(DIR(EQ), KIND(FLOAT), HLO_F32, 4, a, b, (uint8_t[]){0, 0, 1, 1});
  check_compare(DIR(NE), KIND(FLOAT), HLO_F32, 4, a, b, (uint8_t[]){1, 1, 0, 0});
  check_compare(DIR(LT), KIND(FLOAT), HLO_F32, 4, a, b, (uint8_t[]){1, 0, 0, 0});
  check_compare(DIR(GE), KIND(FLOAT), HLO_F32, 4, a, b, (uint8_t[]){0, 0, 1, 1});
  check_compare(DIR(EQ), KIND(TOTALORDER), HLO_F32, 4, a, b, (uint8_t[]){0, 1, 0, 1});
  check_compare(DIR(LT), KIND(TOTALORDER), HLO_F32, 4, a, b, (uint8_t[]){1, 0, 1, 0});
  const double c[] = {-NAN, -INFINITY, INFINITY}, d[] = {-INFINITY, -1, NAN};
  uint8_t lt[3];
  hlo_attrs_compare attrs = {DIR(LT), KIND(TOTALORDER)};
  double signed_nan[] = {copysign(c[0], -1), c[1], c[2]};
  run_attrs(HLO_OP_COMPARE, &attrs, 2, (hlo_dtype[]){HLO_F64, HLO_F64}, HLO_PRED, 3, (const void *[]){signed_nan, d},
            lt);
  ck_assert(lt[0] && lt[1] && lt[2]);
  const uint16_t h[] = {0x8000, 0x3f80}, g[] = {0x0000, 0x4000};  // bf16 -0, 1 against 0, 2
  check_compare(DIR(LT), KIND(FLOAT), HLO_BF16, 2, h, g, (uint8_t[]){0, 1});
  check_compare(DIR(LT), KIND(TOTALORDER), HLO_BF16, 2, h, g, (uint8_t[]){1, 1});
  check_compare(DIR(GT), KIND(UNSIGNED), HLO_U8, 1, (uint8_t[]){200}, (uint8_t[]){100}, (uint8_t[]){1});
  check_compare(DIR(GT), KIND(SIGNED), HLO_S8, 1, (int8_t[]){-56}, (int8_t[]){100}, (uint8_t[]){0});
  check_compare(DIR(LE), KIND(UNSIGNED), HLO_PRED, 2, (uint8_t[]){0, 1}, (uint8_t[]){1, 0}, (uint8_t[]){1, 0});
  const float z[] = {1, 2, 1, 2}, w[] = {1, 3, 1, 2};
  check_compare(DIR(LT), KIND(FLOAT), HLO_C64, 2, z, w, (uint8_t[]){1, 0});
  check_compare(DIR(EQ), KIND(FLOAT), HLO_C64, 2, z, w, (uint8_t[]){0, 1});
}
END_TEST

START_TEST(select_and_clamp) {
  const uint8_t p[] = {1, 0};
  const double x[] = {1, 2}, y[] = {3, 4};
  double r[2];
  run_attrs(HLO_OP_SELECT, NULL, 3, (hlo_dtype[]){HLO_PRED, HLO_F64, HLO_F64}, HLO_F64, 2, (const void *[]){p, x, y},
            r);
  ck_assert(r[0] == 1 && r[1] == 4);
  const int32_t low[] = {5, 10, 15}, v[] = {3, 13, 23}, high[] = {10, 15, 20};  // spec's example
  int32_t s[3];
  run_attrs(HLO_OP_CLAMP, NULL, 3, (hlo_dtype[]){HLO_S32, HLO_S32, HLO_S32}, HLO_S32, 3, (const void *[]){low, v, high},
            s);
  ck_assert(s[0] == 5 && s[1] == 13 && s[2] == 20);
  const float fl[] = {0, 0, 5}, fv[] = {NAN, -1, 3}, fh[] = {1, 1, 2};
  float f[3];
  run_attrs(HLO_OP_CLAMP, NULL, 3, (hlo_dtype[]){HLO_F32, HLO_F32, HLO_F32}, HLO_F32, 3, (const void *[]){fl, fv, fh},
            f);
  ck_assert(isnan(f[0]) && f[1] == 0 && f[2] == 2);
}
END_TEST

START_TEST(conversions) {
  EXPECT1(CONVERT, F32, S8, float, int8_t, L(1.9f, -1.9f, 300.0f, -300.0f, NAN_F, INF_F), L(1, -1, 127, -128, 0, 127));
  EXPECT1(CONVERT, F64, U32, double, uint32_t, L(-5.0, 4294967295.5, 1e20, -INFINITY), L(0, UINT32_MAX, UINT32_MAX, 0));
  EXPECT1(CONVERT, F32, S64, float, int64_t, L(9.3e18f, -9.3e18f, 1e10f), L(INT64_MAX, INT64_MIN, 10000000000));
  EXPECT1(CONVERT, F64, U64, double, uint64_t, L(1.8446744073709552e19, 1e19), L(UINT64_MAX, 10000000000000000000u));
  EXPECT1(CONVERT, F32, S4, float, int8_t, L(100.0f, -100.0f, 6.5f), L(7, -8, 6));
  EXPECT1(CONVERT, S32, S8, int32_t, int8_t, L(300, -129), L(44, 127));
  EXPECT1(CONVERT, S32, U4, int32_t, uint8_t, L(-1, 18), L(15, 2));
  EXPECT1(CONVERT, U8, S2, uint8_t, int8_t, L(2, 3, 5), L(-2, -1, 1));
  EXPECT1(CONVERT, F32, PRED, float, uint8_t, L(0.0f, -0.0f, 1e-45f, NAN_F), L(0, 0, 1, 1));
  EXPECT1(CONVERT, S64, PRED, int64_t, uint8_t, L(0, (int64_t)1 << 40), L(0, 1));
  EXPECT1(CONVERT, PRED, F32, uint8_t, float, L(0, 1), L(0.0f, 1.0f));
  EXPECT1(CONVERT, S64, F32, int64_t, float, L(16777217, -3), L(16777216.0f, -3.0f));
  EXPECT1(CONVERT, F64, F32, double, float, L(0.1, 1e300), L(0.1f, INF_F));
  EXPECT1(CONVERT, F32, BF16, float, uint16_t, L(1.0f, 0x1.01p0f, 0x1.03p0f), L(0x3f80, 0x3f80, 0x3f82));
  EXPECT1(CONVERT, F16, F32, uint16_t, float, L(0x3c00, 0x0001, 0xfc00), L(1.0f, 0x1p-24f, -INF_F));
  EXPECT1(CONVERT, F32, F8E4M3FN, float, uint8_t, L(448.0f, -1.0f, 0.0f), L(0x7e, 0xb8, 0));
  // halfway between bf16 neighbours plus one: 2^40 + 2^32 is a tie, + 1 must go up; a double drops the 1 in 2^62 + 2^54
  // + 1
  EXPECT1(CONVERT, S64, BF16, int64_t, uint16_t,
          L(((int64_t)1 << 40) + ((int64_t)1 << 32), ((int64_t)1 << 62) + ((int64_t)1 << 54) + 1), L(0x5380, 0x5e81));
  const float z[] = {1.5f, 7, -2, 8};
  int32_t i[2];
  run1(HLO_OP_CONVERT, HLO_C64, HLO_S32, 2, z, i);
  ck_assert(i[0] == 1 && i[1] == -2);
  double c[4];
  run1(HLO_OP_CONVERT, HLO_S32, HLO_C128, 2, i, c);
  ck_assert(c[0] == 1 && c[1] == 0 && c[2] == -2 && c[3] == 0);
  run1(HLO_OP_CONVERT, HLO_C64, HLO_C128, 2, z, c);
  ck_assert(c[0] == 1.5 && c[1] == 7 && c[2] == -2 && c[3] == 8);
}
END_TEST

START_TEST(small_floats_round_once) {
  // bf16: 1 + 2^-8 is a tie (stays 1); 1 + 3 * 2^-9: above; 3e38 + 3e38 overflows
  EXPECT2(ADD, BF16, uint16_t, L(0x3f80, 0x3f80, 0x7f61), L(0x3b80, 0x3bc0, 0x7f61), L(0x3f80, 0x3f81, 0x7f80));
  EXPECT2(MULTIPLY, F16, uint16_t, L(0x3c01, 0x7bff), L(0x3c01, 0x4000), L(0x3c02, 0x7c00));
  EXPECT1(EXPONENTIAL, F16, F16, uint16_t, uint16_t, L(0x3c00, 0), L(0x4170, 0x3c00));  // e = 2.71875
  // sqrt 4 = 2, sqrt 2 -> 1.375
  EXPECT1(SQRT, F8E4M3FN, F8E4M3FN, uint8_t, uint8_t, L(0x48, 0x40), L(0x40, 0x3b));
  EXPECT1(NEGATE, F8E4M3FNUZ, F8E4M3FNUZ, uint8_t, uint8_t, L(0, 0x40), L(0, 0xc0));  // there is no -0
  EXPECT2(ADD, F4E2M1FN, uint8_t, L(7, 1, 2), L(7, 1, 1), L(7, 2, 3));                // 6+6 -> 6, .5+.5, 1+.5
  EXPECT2(MAXIMUM, F6E3M2FN, uint8_t, L(0x3f, 0x01), L(0x02, 0x21), L(0x02, 0x01));
}
END_TEST

static float reduced(float x, int exponent, int mantissa) {
  hlo_attrs_reduce_precision attrs = {exponent, mantissa};
  float r;
  run_attrs(HLO_OP_REDUCE_PRECISION, &attrs, 1, (hlo_dtype[]){HLO_F32}, HLO_F32, 1, (const void *[]){&x}, &r);
  return r;
}

START_TEST(bit_operations_on_floats) {
  // spec's example: 5 exponent and 10 mantissa bits
  ck_assert(isinf(reduced(INFINITY, 5, 10)) && reduced(0, 5, 10) == 0 && reduced(1.5f, 5, 10) == 1.5f);
  ck_assert(isinf(reduced(65536, 5, 10)) && reduced(65504, 5, 10) == 65504);
  ck_assert(reduced(-1e-6f, 5, 10) == 0 && signbit(reduced(-1e-6f, 5, 10)));
  ck_assert(reduced(0x1.01p0f, 8, 7) == 1 && reduced(0x1.03p0f, 8, 7) == 0x1.04p0f);
  ck_assert(isnan(reduced(NAN, 8, 7)) && isinf(reduced(NAN, 8, 0)) && reduced(1.5f, 8, 0) == 2 &&
            reduced(3.5f, 8, 0) == 4);
  ck_assert(reduced(1e-45f, 8, 23) == 1e-45f);
  EXPECT2(NEXT_AFTER, F32, float, L(1.0f, 0.0f, 0.0f, -1.0f, 0x1.fffffep127f), L(2.0f, 1.0f, -1.0f, 0.0f, INF_F),
          L(0x1.000002p0f, 0x1p-149f, -0x1p-149f, -0x1.fffffep-1f, INF_F));
  EXPECT2(NEXT_AFTER, F64, double, L(1.0, 0x0p0), L(0.0, -0.0), L(0x1.fffffffffffffp-1, -0.0));
  EXPECT2(NEXT_AFTER, BF16, uint16_t, L(0x3f80, 0x0001), L(0x4000, 0x8000), L(0x3f81, 0x0000));
}
END_TEST

START_TEST(quantization) {
  // spec's examples of uniform_quantize and uniform_dequantize
  const double scales[] = {0.1, 0.5}, scales2[] = {0.1, 0.2};
  const int64_t zeros[] = {-30, -20}, zeros2[] = {-20, -30};
  const hlo_quant q = {HLO_F32, -128, 127, 0, 2, scales, zeros}, q2 = {HLO_F32, -128, 127, 0, 2, scales2, zeros2};
  const float x[] = {4.0f, 15.0f};
  const hlo_dtype s8 = HLO_S8, f32 = HLO_F32;
  int8_t stored[2], again[2];
  float back[2];
  for (int c = 0; c < 2; c++) {
    hlo_eval_param p;
    const char *reason;
    hlo_eval_fn fn = hlo_eval_lookup(HLO_OP_UNIFORM_QUANTIZE, NULL, 1, &f32, HLO_S8, &p, &reason);
    p.quant = &q;
    p.channel = c;
    fn(&p, 1, (const void *[]){x + c}, stored + c);
    fn = hlo_eval_lookup(HLO_OP_UNIFORM_DEQUANTIZE, NULL, 1, &s8, HLO_F32, &p, &reason);
    p.quant = &q;
    p.channel = c;
    fn(&p, 1, (const void *[]){stored + c}, back + c);
    fn = hlo_eval_lookup(HLO_OP_UNIFORM_QUANTIZE, NULL, 1, &s8, HLO_S8, &p, &reason);
    p.quant = &q2;
    p.in_quant = &q;
    p.channel = p.in_channel = c;
    fn(&p, 1, (const void *[]){stored + c}, again + c);
  }
  ck_assert(stored[0] == 10 && stored[1] == 10 && back[0] == 4.0f && back[1] == 15.0f && again[0] == 20 &&
            again[1] == 45);
}
END_TEST

START_TEST(refusals_have_reasons) {
  hlo_eval_param p;
  const char *reason = NULL;
  const hlo_dtype f[] = {HLO_F32, HLO_F64};
  ck_assert_ptr_null(hlo_eval_lookup(HLO_OP_RESHAPE, NULL, 1, f, HLO_F32, &p, &reason));
  ck_assert_str_eq(reason, "not an elementwise operation");
  ck_assert_ptr_null(hlo_eval_lookup(HLO_OP_ADD, NULL, 2, f, HLO_F32, &p, &reason));
  ck_assert_str_eq(reason, "operands of different element types");
  ck_assert_ptr_null(hlo_eval_lookup(HLO_OP_POPCNT, NULL, 1, f, HLO_F32, &p, &reason));
  ck_assert_str_eq(reason, "operation not defined for this element type");
  ck_assert_ptr_null(hlo_eval_lookup(HLO_OP_ADD, NULL, 1, f, HLO_F32, &p, &reason));
  ck_assert_str_eq(reason, "wrong number of operands");
}
END_TEST

// Every elementwise op has a loop for each type that its row's type class allows, or is listed here.
START_TEST(no_holes) {
  for (int op = 0; op < HLO_OP_COUNT; op++) {
    if (!hlo_op_has(op, HLO_TRAIT_E) || hlo_op_table[op].family == HLO_FAMILY_QUANT) continue;
    const char *classes = hlo_op_table[op].types;
    for (hlo_dtype t = 0; t < HLO_TOKEN; t++) {
      bool is_int = hlo_dtype_is_integer(t), is_float = hlo_dtype_is_float(t), is_complex = hlo_dtype_is_complex(t);
      bool in = strcmp(classes, "A") == 0 || (strcmp(classes, "N") == 0 && t != HLO_PRED) ||
                (strcmp(classes, "F") == 0 && is_float) || (strcmp(classes, "FC") == 0 && (is_float || is_complex)) ||
                (strcmp(classes, "I") == 0 && is_int) || (strcmp(classes, "IB") == 0 && (is_int || t == HLO_PRED)) ||
                (strcmp(classes, "C") == 0 && is_complex) ||
                (strcmp(classes, "SFC") == 0 && (hlo_dtype_is_signed(t) || is_float || is_complex));
      if (op == HLO_OP_COMPLEX) in = t == HLO_F32 || t == HLO_F64;
      if (!in) continue;
      hlo_dtype types[] = {t, t, t}, out = t;
      hlo_attrs_compare compare = {DIR(LT), KIND(FLOAT)};
      hlo_attrs_reduce_precision reduce = {5, 2};
      const void *attrs = op == HLO_OP_COMPARE ? (void *)&compare : (void *)&reduce;
      if (op == HLO_OP_SELECT) types[0] = HLO_PRED;
      if (op == HLO_OP_COMPARE || op == HLO_OP_IS_FINITE || op == HLO_OP_IS_INF || op == HLO_OP_IS_POS_INF ||
          op == HLO_OP_IS_NEG_INF)
        out = HLO_PRED;
      if (is_complex && (op == HLO_OP_ABS || op == HLO_OP_REAL || op == HLO_OP_IMAG)) out = hlo_dtype_real_part(t);
      if (op == HLO_OP_COMPLEX) out = t == HLO_F32 ? HLO_C64 : HLO_C128;
      hlo_eval_param p;
      const char *reason = NULL;
      ck_assert_msg(hlo_eval_lookup(op, attrs, hlo_op_table[op].min_operands, types, out, &p, &reason) != NULL,
                    "%s on %s: %s", hlo_op_table[op].text_name, hlo_dtype_table[t].hlo_name, reason);
    }
  }
}
END_TEST

START_TEST(blocks_and_aliasing) {
  // more than a block, odd length, result over an operand
  enum { N = 1003 };
  static uint16_t a[N], b[N];
  static float x[N];
  for (int i = 0; i < N; i++) {
    a[i] = bf16_from_f32((float)(i % 100));
    b[i] = bf16_from_f32(1);
    x[i] = (float)i;
  }
  run2(HLO_OP_ADD, HLO_BF16, N, a, b, b);
  run2(HLO_OP_MULTIPLY, HLO_F32, N, x, x, x);
  for (int i = 0; i < N; i++) {
    ASSERT_QUICK(bf16_to_f32(b[i]) == (float)(i % 100 + 1));
    ASSERT_QUICK(x[i] == (float)i * (float)i);
  }
  int16_t strided[6] = {1, 2, 3, 4, 5, 6}, packed[3];
  hlo_copy_strided(3, 2, packed, 2, strided, 4);
  ck_assert(packed[0] == 1 && packed[1] == 3 && packed[2] == 5);
}
END_TEST

HARNESS_MAIN("hlo_eval", integer_arithmetic, integer_bits, sub_byte_integers_wrap, pred_arithmetic, float_arithmetic,
             nan_propagates, transcendental_values, complex_values, complex_parts_and_limits, special_function_poles,
             comparisons, select_and_clamp, conversions, small_floats_round_once, bit_operations_on_floats,
             quantization, refusals_have_reasons, no_holes, blocks_and_aliasing)
