// SPDX-License-Identifier: Apache-2.0
// String views, number parsing, the string builder.
#include <locale.h>
#include <math.h>

#include "tests/harness.h"

START_TEST(views) {
  strv s = STRV("abc.def.ghi"), head, rest;
  ck_assert(strv_eq_cstr(strv_take(s, 3), "abc"));
  ck_assert(strv_eq_cstr(strv_drop(s, 8), "ghi"));
  ck_assert_uint_eq(strv_drop(s, 100).len, 0);
  ck_assert_uint_eq(strv_take(s, 100).len, 11);
  ck_assert(strv_split(s, '.', &head, &rest));
  ck_assert(strv_eq_cstr(head, "abc") && strv_eq_cstr(rest, "def.ghi"));
  ck_assert(!strv_split(head, '.', &head, &rest));
  ck_assert(strv_eq_cstr(head, "abc") && rest.len == 0);
  ck_assert(strv_split(STRV("a."), '.', &head, &rest) && rest.len == 0);
  ck_assert(strv_starts_with(s, STRV("abc")) && !strv_starts_with(s, STRV("abd")));
  ck_assert(strv_ends_with(s, STRV(".ghi")) && !strv_ends_with(STRV("hi"), STRV("ghi")));
  ck_assert(strv_starts_with(s, (strv){0}));
  ck_assert(strv_eq_cstr(strv_trim(STRV(" \t\n x y \r\n")), "x y"));
  ck_assert_uint_eq(strv_trim(STRV("  ")).len, 0);
  ck_assert_int_eq(strv_compare(STRV("ab"), STRV("abc")), -1);
  ck_assert_int_gt(strv_compare(STRV("b"), STRV("abc")), 0);
  ck_assert_int_eq(strv_compare((strv){0}, STRV("")), 0);
  ck_assert(strv_eq(strv_from_cstr(NULL), (strv){0}));
  ck_assert(strv_hash(STRV("abc")) == strv_hash(strv_take(STRV("abcd"), 3)));
  ck_assert(strv_hash(STRV("abc")) != strv_hash(STRV("abd")));
}
END_TEST

START_TEST(integers) {
  int64_t i;
  uint64_t u;
  ck_assert(strv_parse_i64(STRV("-9223372036854775808"), &i) && i == INT64_MIN);
  ck_assert(strv_parse_i64(STRV("9223372036854775807"), &i) && i == INT64_MAX);
  ck_assert(strv_parse_i64(STRV("+7"), &i) && i == 7);
  ck_assert(strv_parse_i64(STRV("-0"), &i) && i == 0);
  ck_assert(strv_parse_u64(STRV("18446744073709551615"), &u) && u == UINT64_MAX);
  const char *const bad[] = {"",
                             "-",
                             "+",
                             "-+1",
                             "+-1",
                             "1 ",
                             " 1",
                             "1.0",
                             "0x10",
                             "9223372036854775808",
                             "-9223372036854775809",
                             "99999999999999999999999"};
  for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) ck_assert(!strv_parse_i64(strv_from_cstr(bad[k]), &i));
  ck_assert(!strv_parse_u64(STRV("18446744073709551616"), &u));
  ck_assert(!strv_parse_u64(STRV("-1"), &u));
}
END_TEST

START_TEST(floats) {
  static const struct {
    const char *text;
    double value;
  } good[] = {
      {"0", 0.0},
      {"1", 1.0},
      {"-1.5", -1.5},
      {".5", 0.5},
      {"5.", 5.0},
      {"1e3", 1000.0},
      {"+1E-3", 1e-3},
      {"3.14159274", 3.14159274},
      {"9007199254740993", 9007199254740992.0},
      {"1e22", 1e22},
      {"1e23", 1e23},
      {"1.7976931348623157e308", 0x1.fffffffffffffp1023},
      {"5e-324", 0x1p-1074},
      {"2.4703282292062328e-324", 0x1p-1074},
      {"2.4703282292062327e-324", 0.0},
      {"1e999", INFINITY},
      {"1e-999", 0.0},
      {"0e999999999999", 0.0},
      {"0.1000000000000000055511151231257827021181583404541015625", 0.1},
      {"123456789012345678901234567890", 0x1.8ee90ff6c373ep96},
      {"inf", INFINITY},
      {"-Infinity", -INFINITY},
      {"-INF", -INFINITY},
      {"000000000000000000000000000000000001.5", 1.5},
      {"0.000000000000000000000000000000000015e35", 1.5},
  };
  double v;
  setlocale(LC_ALL, "de_DE.UTF-8");  // a decimal comma there must not matter (no harm if the locale is missing)
  for (size_t k = 0; k < sizeof good / sizeof good[0]; k++) {
    ck_assert_msg(strv_parse_f64(strv_from_cstr(good[k].text), &v), "%s", good[k].text);
    ck_assert_msg(v == good[k].value, "%s gave %a", good[k].text, v);
  }
  ck_assert(strv_parse_f64(STRV("-0.0"), &v) && v == 0 && signbit(v));
  ck_assert(strv_parse_f64(STRV("nan"), &v) && isnan(v) && !signbit(v));
  ck_assert(strv_parse_f64(STRV("-NaN"), &v) && isnan(v) && signbit(v));
  ck_assert(strv_parse_f64(strv_take(STRV("1.25xyz"), 4), &v) && v == 1.25);  // reads no further than the view
  const char *const bad[] = {"",     ".",  "-",    "e5",   "1e",    "1e+",  "1,5", "0x1p3",
                             "1.5 ", " 1", "1..2", "nanx", "infin", "1e5.", "--1", "1f"};
  for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
    ck_assert_msg(!strv_parse_f64(strv_from_cstr(bad[k]), &v), "'%s'", bad[k]);
  }
}
END_TEST

// Every value printed with 17 digits reads back as itself.
START_TEST(floats_round_trip) {
  uint64_t x = 88172645463325252u;
  for (int i = 0; i < 200000; i++) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    double d, back;
    memcpy(&d, &x, 8);
    if (!isfinite(d)) continue;
    if (i & 1) d = (double)(int64_t)x * 0x1p-40;
    char text[64];
    snprintf(text, sizeof text, i % 3 ? "%.17g" : "%.17e", d);
    ASSERT_QUICK(strv_parse_f64(strv_from_cstr(text), &back));
    if (back != d) ck_abort_msg("%s", text);
  }
}
END_TEST

START_TEST(builder) {
  strbuf b = {0};
  ck_assert_str_eq(strbuf_view(&b).data, "");
  for (int i = 0; i < 300; i++) strbuf_printf(&b, "%d,", i);
  strbuf_append_cstr(&b, "end");
  strbuf_append_char(&b, '!');
  strbuf_append(&b, strv_take(STRV("xyz"), 2));
  ck_assert(strv_ends_with(strbuf_view(&b), STRV("298,299,end!xy")));
  ck_assert_uint_eq(b.len, strlen(b.data));
  strbuf_clear(&b);
  ck_assert_uint_eq(b.len, 0);
  strbuf_printf(&b, "%0500d", 1);
  ck_assert_uint_eq(b.len, 500);
  strbuf_deinit(&b);
  ck_assert_ptr_null(b.data);
}
END_TEST

HARNESS_MAIN("base/strv", views, integers, floats, floats_round_trip, builder)
