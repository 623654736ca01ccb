// SPDX-License-Identifier: Apache-2.0
// Literals: splats, equality and hash, element access with wrapping and saturation, element text of all types.
#include <math.h>

#include "hlo/hlo.h"
#include "tests/harness.h"

START_TEST(splats) {
  arena *a = arena_create();
  hlo_shape_table *t = hlo_shape_table_create(a);
  int64_t dims[] = {7, 11}, none[] = {0};
  const hlo_shape *s = hlo_shape_array(t, HLO_F32, 2, dims);
  float x = 1.25f;
  hlo_literal *splat = hlo_literal_splat(a, s, &x);
  const hlo_literal *full;
  ASSERT_OK(hlo_literal_expand(a, splat, &full));
  ck_assert(!full->splat && hlo_literal_equal(splat, full) && hlo_literal_equal(full, splat));
  ck_assert(hlo_literal_hash(splat) == hlo_literal_hash(full));
  for (int i = 0; i < 77; i++) ck_assert(hlo_literal_get_f64(full, i, 0) == 1.25);
  ck_assert(hlo_literal_get_f64(splat, 76, 0) == 1.25);
  ((float *)full->data)[76] = 1.5f;
  ck_assert(!hlo_literal_equal(splat, full) && !hlo_literal_equal(full, splat));
  hlo_literal *empty, *bad;
  ASSERT_OK(hlo_literal_create(a, hlo_shape_array(t, HLO_F64, 1, none), &empty));
  ck_assert(hlo_literal_equal(empty, hlo_literal_splat(a, empty->shape, &(double){3})));
  ASSERT_FAILS(hlo_literal_create(a, hlo_shape_token(t), &bad), LEMNOS_INVALID_ARGUMENT, "token[]");
  int64_t dynamic[] = {HLO_DYNAMIC};
  ASSERT_FAILS(hlo_literal_create(a, hlo_shape_array(t, HLO_F64, 1, dynamic), &bad), LEMNOS_INVALID_ARGUMENT, "f64[?]");
  arena_destroy(a);
}
END_TEST

START_TEST(access) {
  int64_t room[2] = {0};
  static const struct {
    hlo_dtype t;
    int64_t in, out;
  } wraps[] = {{HLO_S2, 2, -2},          {HLO_S2, -3, 1},  {HLO_S4, 9, -7},    {HLO_S4, -9, 7},
               {HLO_U2, 5, 1},           {HLO_U4, -1, 15}, {HLO_S8, 200, -56}, {HLO_U8, -1, 255},
               {HLO_S16, 40000, -25536}, {HLO_PRED, 5, 1}, {HLO_U64, -1, -1}};
  for (size_t k = 0; k < sizeof wraps / sizeof wraps[0]; k++) {
    hlo_element_set_i64(wraps[k].t, room, 0, wraps[k].in);
    ck_assert_int_eq(hlo_element_get_i64(wraps[k].t, room, 0), wraps[k].out);
  }
  static const struct {
    hlo_dtype t;
    double in;
    int64_t out;
  } saturates[] = {{HLO_S8, 1e9, 127},
                   {HLO_S8, -128.9, -128},
                   {HLO_S8, -1.9, -1},
                   {HLO_U8, -3, 0},
                   {HLO_U8, 255.9, 255},
                   {HLO_S64, 1e300, INT64_MAX},
                   {HLO_S64, -1e300, INT64_MIN},
                   {HLO_U64, 1e300, -1},
                   {HLO_U64, 18446744073709549568.0, -2048},
                   {HLO_S4, 7.9, 7},
                   {HLO_S2, -5, -2},
                   {HLO_U4, INFINITY, 15},
                   {HLO_S32, NAN, 0}};
  for (size_t k = 0; k < sizeof saturates / sizeof saturates[0]; k++) {
    hlo_element_set_f64(saturates[k].t, room, 0, 0, saturates[k].in);
    ck_assert_int_eq(hlo_element_get_i64(saturates[k].t, room, 0), saturates[k].out);
  }
  ck_assert(hlo_element_get_f64(HLO_U64, &(uint64_t){UINT64_MAX}, 0, 0) == 18446744073709551616.0);
  hlo_element_set_f64(HLO_C64, room, 0, 1, 0.5);
  ck_assert(hlo_element_get_f64(HLO_C64, room, 0, 1) == 0.5);
  hlo_element_set_f64(HLO_F16, room, 0, 0, 65504);
  ck_assert_int_eq(((uint16_t *)room)[0], 0x7bff);
}
END_TEST

static void check_text(hlo_dtype t, const void *data, const char *text) {
  strbuf out = {0};
  hlo_element_print(&out, t, data, 0);
  ck_assert_str_eq(out.data, text);
  strbuf_deinit(&out);
}

START_TEST(element_text) {
  check_text(HLO_F32, &(float){0.1f}, "0.1");
  check_text(HLO_F32, &(float){16777216.0f}, "16777216");
  check_text(HLO_F32, &(float){-0.0f}, "-0");
  check_text(HLO_F32, &(uint32_t){0x7fc00000}, "nan");
  check_text(HLO_F32, &(uint32_t){0xffc00000}, "-nan");
  check_text(HLO_F32, &(uint32_t){0x7f800001}, "nan(0x1)");
  check_text(HLO_F32, &(uint32_t){0x00000001}, "1.4013e-45");
  check_text(HLO_F64, &(double){0.1}, "0.1");
  check_text(HLO_F64, &(double){1.0 / 3}, "0.3333333333333333");
  check_text(HLO_BF16, &(uint16_t){0x3f8e}, "1.11");  // 1.109375; neighbours are 1.1015625 and 1.1171875
  check_text(HLO_F8E4M3FN, &(uint8_t){0xff}, "-nan");
  check_text(HLO_F8E4M3FNUZ, &(uint8_t){0x80}, "nan");
  check_text(HLO_F8E8M0FNU, &(uint8_t){0xff}, "nan");
  check_text(HLO_F8E5M2, &(uint8_t){0x7d}, "nan(0x1)");
  check_text(HLO_F4E2M1FN, &(uint8_t){0x0f}, "-6");
  check_text(HLO_PRED, &(uint8_t){1}, "true");
  check_text(HLO_U64, &(uint64_t){UINT64_MAX}, "18446744073709551615");
  check_text(HLO_S2, &(int8_t){-2}, "-2");
  check_text(HLO_C64, (float[]){1.5f, -INFINITY}, "(1.5, -inf)");
}
END_TEST

// Every bit pattern of the types of at most 16 bits, and many of the others, comes back from its text.
START_TEST(element_round_trip) {
  uint64_t random = 1;
  strbuf out = {0};
  for (int t = 0; t < HLO_TOKEN; t++) {
    int bits = hlo_dtype_table[t].bits, size = hlo_dtype_bytes((hlo_dtype)t);
    int64_t n = bits <= 16 ? INT64_C(1) << bits : 20000;
    for (int64_t k = 0; k < n; k++) {
      uint64_t data[2] = {(uint64_t)k, 0}, back[2] = {0, 0};
      if (bits > 16) {
        data[0] = random = hash_u64(random, 5);
        data[1] = random = hash_u64(random, 5);
        if (k % 8 == 0) data[0] |= UINT64_C(0x7ff00000) << 32 | 0x7f800000;  // NaNs
        if (k % 8 == 1) data[0] &= UINT64_C(0x800fffff) << 32 | 0x807fffff;  // subnormals
        memset((char *)data + size, 0, sizeof data - (size_t)size);
      }
      if (hlo_dtype_cls((hlo_dtype)t) != HLO_CLASS_FLOAT && bits < 8) {
        hlo_element_set_i64((hlo_dtype)t, data, 0, k);
        memset((char *)data + 1, 0, sizeof data - 1);
      }
      strbuf_clear(&out);
      hlo_element_print(&out, (hlo_dtype)t, data, 0);
      if (!hlo_element_parse((hlo_dtype)t, strbuf_view(&out), back, 0) || memcmp(data, back, sizeof data))
        ck_abort_msg("%s %llx prints as %s, read as %llx", hlo_dtype_table[t].hlo_name, (unsigned long long)data[0],
                     out.data, (unsigned long long)back[0]);
    }
  }
  strbuf_deinit(&out);
}
END_TEST

START_TEST(refused_elements) {
  static const struct {
    hlo_dtype t;
    const char *text;
  } cases[] = {{HLO_S4, "8"},
               {HLO_U2, "4"},
               {HLO_U8, "-1"},
               {HLO_S64, "9223372036854775808"},
               {HLO_PRED, "2"},
               {HLO_F32, "x"},
               {HLO_F32, ""},
               {HLO_F32, "nan(0x0)"},
               {HLO_F32, "nan(0x800000)"},
               {HLO_F32, "nan(0x"},
               {HLO_F32, "nanx"},
               {HLO_F4E2M1FN, "nan"},
               {HLO_F8E4M3FN, "nan(0x1)"},
               {HLO_C64, "1"},
               {HLO_C64, "(1)"},
               {HLO_C64, "(1, x)"},
               {HLO_S32, "1.5"},
               {HLO_S32, ""}};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    int64_t room[2];
    ck_assert_msg(!hlo_element_parse(cases[k].t, strv_from_cstr(cases[k].text), room, 0), "%s", cases[k].text);
  }
}
END_TEST

START_TEST(whole_text) {
  arena *a = arena_create();
  hlo_shape_table *t = hlo_shape_table_create(a);
  int64_t dims[] = {2, 1, 3};
  hlo_literal *l;
  ASSERT_OK(hlo_literal_create(a, hlo_shape_array(t, HLO_S32, 3, dims), &l));
  for (int i = 0; i < 6; i++) ((int32_t *)l->data)[i] = i;
  strbuf out = {0};
  hlo_literal_print(&out, l, 0);
  ck_assert_str_eq(out.data, "{ { {0, 1, 2} }, { {3, 4, 5} } }");
  strbuf_clear(&out);
  hlo_literal_print(&out, l, 2);
  ck_assert_str_eq(out.data, "{ { {0, 1, ...} }, ... }");
  strbuf_deinit(&out);
  arena_destroy(a);
}
END_TEST

HARNESS_MAIN("hlo_literal", splats, access, element_text, element_round_trip, refused_elements, whole_text)
