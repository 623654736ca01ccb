// SPDX-License-Identifier: Apache-2.0
// The error bounds of the f64 functions (hlo/eval_fast64_first.h, hlo/eval_fast64_dd.h): results before rounding
// against exact ones. The rounding test of a pass allows for FIRST_... or EPS; its errors must stay below that, and
// those of both below their difference.
#include "hlo/eval_fast64_first.h"
#include "tests/harness.h"

static double relative_error(dd got, double high, double low) {
  return fabs(((got.h - high) + (got.l - low)) / high);
}

static void check(const char *name, double x, double y, double error, double bound) {
  if (!(error <= bound)) ck_abort_msg("%s(%a, %a): error 2^%.2f, bound 2^%.2f", name, x, y, log2(error), log2(bound));
}

static dd plain_first(dd r, bool *fine) {
  *fine = true;
  return r;
}

// X(name, first pass, its bound, second pass)
// clang-format off
#define UNARY(X)                                                                      \
  X(exp, plain_first(exp_first(x), &fine), FIRST_EXP - EPS, exp_dd((dd){x, 0}))       \
  X(expm1, plain_first(expm1_first(x), &fine), FIRST_EXPM1 - EPS, expm1_dd(x))        \
  X(logistic, plain_first(logistic_first(x), &fine), FIRST_EXP - EPS, logistic_dd(x)) \
  X(log, plain_first(log_first(x), &fine), FIRST_LOG - EPS, log_dd(x))                \
  X(log1p, plain_first(log1p_first(x), &fine), FIRST_LOG - EPS, log1p_dd(x))          \
  X(log_fine, plain_first(log_fine(x), &fine), FIRST_POW_LOG / 2, log_dd(x))          \
  X(tanh, plain_first(tanh_first(x), &fine), FIRST_TANH - EPS, tanh_dd(x))            \
  X(sin, sine_first(x, &fine), FIRST_SIN - EPS, sine(x))                              \
  X(cos, cosine_first(x, &fine), FIRST_SIN - EPS, cosine(x))                          \
  X(tan, tangent_first(x, &fine), FIRST_TAN - EPS, tangent(x))
// clang-format on

START_TEST(unary) {
  int n = 0, n_fine = 0;
#define D1(NAME, x, high, low) {#NAME, x, high, low},
#define D2(NAME, x, y, high, low)
  static const struct {
    const char *name;
    double x, high, low;
  } cases[] = {
#include "tests/hlo/eval_fast64_bounds.def"
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double x = cases[i].x, high = cases[i].high, low = cases[i].low;
    bool fine = false, known = false;
#define CHECK(NAME, first, bound, second)                                                  \
  if (!strcmp(cases[i].name, #NAME)) {                                                     \
    dd a = first;                                                                          \
    known = true;                                                                          \
    if (fine) check(#NAME ", first", x, 0, relative_error(a, high, low), bound), n_fine++; \
    check(#NAME ", second", x, 0, relative_error(second, high, low), EPS / 4);             \
  }
    UNARY(CHECK)
    ck_assert_msg(known, "%s", cases[i].name);
    n++;
  }
  ck_assert_int_ge(n, 200);
  ck_assert_int_ge(n_fine, n - 20);  // the others are next to multiples of pi / 2
}
END_TEST
#undef D1
#undef D2

START_TEST(binary) {
#define D1(NAME, x, high, low)
#define D2(NAME, x, y, high, low) {#NAME[0] == 'p', x, y, high, low},
  static const struct {
    bool is_pow;
    double x, y, high, low;
  } cases[] = {
#include "tests/hlo/eval_fast64_bounds.def"
  };
  ck_assert_int_ge((int)(sizeof cases / sizeof *cases), 100);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double x = cases[i].x, y = cases[i].y, high = cases[i].high, low = cases[i].low;
    if (cases[i].is_pow) {
      dd e = mul_d(log_fine(x), y);
      check("pow, first", x, y, relative_error(pow_first(e), high, low),
            FIRST_EXP + fabs(e.h) * FIRST_POW_LOG - EPS_POW);
      check("pow, second", x, y, relative_error(exp_dd(mul_d(log_dd(x), y)), high, low), EPS_POW / 4);
    } else {
      check("atan2, first", x, y, relative_error(atan2_first(x, y), high, low), FIRST_ATAN - EPS);
      check("atan2, second", x, y, relative_error(atan2_dd(x, y), high, low), EPS / 4);
    }
  }
}
END_TEST

HARNESS_MAIN("hlo_eval_fast64", unary, binary)
