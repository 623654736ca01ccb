// SPDX-License-Identifier: Apache-2.0
// Element types and shapes: tables, interning, sizes, leaves, both spellings.
#include "hlo/hlo.h"
#include "tests/harness.h"

static void check_print(const hlo_shape *s, const char *hlo, const char *stablehlo) {
  strbuf out = {0};
  hlo_shape_print(&out, s);
  ck_assert_str_eq(out.data, hlo);
  strbuf_clear(&out);
  hlo_shape_print_stablehlo(&out, s);
  ck_assert_str_eq(out.data, stablehlo);
  strbuf_deinit(&out);
}

START_TEST(dtypes) {
  ck_assert_int_eq(HLO_DTYPE_COUNT, 32);
  for (int i = 0; i < HLO_DTYPE_COUNT; i++) {
    hlo_dtype t;
    ck_assert(hlo_dtype_from_stablehlo(strv_from_cstr(hlo_dtype_table[i].stablehlo_name), &t) && t == (hlo_dtype)i);
    ck_assert(hlo_dtype_from_hlo(strv_from_cstr(hlo_dtype_table[i].hlo_name), &t) && t == (hlo_dtype)i);
    int bytes = hlo_dtype_table[i].bytes, bits = hlo_dtype_table[i].bits;
    ck_assert(i >= HLO_TOKEN ? !bytes : i == HLO_PRED || bits < 8 ? bytes == 1 : bytes * 8 == bits);
  }
  hlo_dtype t;
  ck_assert(!hlo_dtype_from_hlo(STRV("f33"), &t));
  ck_assert(hlo_dtype_real_part(HLO_C64) == HLO_F32 && hlo_dtype_real_part(HLO_C128) == HLO_F64);
  ck_assert(hlo_dtype_real_part(HLO_S8) == HLO_S8);
}
END_TEST

START_TEST(interning) {
  arena *a = arena_create();
  hlo_shape_table *t = hlo_shape_table_create(a);
  const hlo_shape *first[400];
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 400; i++) {
      int64_t dims[] = {i, 400 - i, 3};
      const hlo_shape *s = hlo_shape_array(t, (hlo_dtype)(i % HLO_TOKEN), i % 4, dims);
      dims[0] = -5;  // copied
      if (!round)
        first[i] = s;
      else
        ck_assert_ptr_eq(first[i], s);
    }
  }
  int64_t dims[] = {2, 3}, dynamic[] = {2, HLO_DYNAMIC}, bounds[] = {7, 5}, no_bounds[] = {7, HLO_DYNAMIC};
  int32_t row_major[] = {1, 0}, column_major[] = {0, 1};
  const hlo_shape *s = hlo_shape_array(t, HLO_F32, 2, dims);
  hlo_shape proto = {.dtype = HLO_F32, .rank = 2, .dims = dims, .layout = row_major, .bounds = bounds};
  ck_assert_ptr_eq(hlo_shape_intern(t, &proto), s);  // a row-major layout and bounds of static dimensions are nothing
  proto.layout = column_major;
  const hlo_shape *transposed = hlo_shape_intern(t, &proto);
  ck_assert(transposed != s && transposed->layout[0] == 0 && hlo_shape_same_dims(s, transposed));
  check_print(transposed, "f32[2,3]{0,1}", "tensor<2x3xf32>");
  ck_assert_ptr_eq(hlo_shape_with_dims(t, transposed, 2, dims), s);
  ck_assert_int_eq(hlo_shape_with_dtype(t, transposed, HLO_S8)->layout[0], 0);
  proto = (hlo_shape){.dtype = HLO_F32, .rank = 2, .dims = dynamic, .bounds = no_bounds};
  ck_assert_ptr_eq(hlo_shape_intern(t, &proto), hlo_shape_array(t, HLO_F32, 2, dynamic));
  proto.bounds = bounds;
  const hlo_shape *bounded = hlo_shape_intern(t, &proto);
  ck_assert(bounded->bounds[0] == HLO_DYNAMIC && bounded->bounds[1] == 5 && !hlo_shape_is_static(bounded));
  check_print(bounded, "f32[2,<=5]{1,0}", "tensor<2x?xf32, #stablehlo.bounds<?, 5>>");
  check_print(hlo_shape_array(t, HLO_F32, 2, dynamic), "f32[2,?]{1,0}", "tensor<2x?xf32>");
  hlo_shape_table *other = hlo_shape_table_create(a);
  const hlo_shape *pair[] = {s, bounded};
  const hlo_shape *tuple = hlo_shape_tuple(t, 2, pair), *there = hlo_shape_intern(other, tuple);
  ck_assert(there != tuple && there->elements[0] != s && there->hash == tuple->hash);
  ck_assert_ptr_eq(hlo_shape_intern(t, there), tuple);
  arena_destroy(a);
}
END_TEST

START_TEST(quantized) {
  arena *a = arena_create();
  hlo_shape_table *t = hlo_shape_table_create(a);
  int64_t dims[] = {2, 3}, zeros[] = {3, -4};
  double scales[] = {0.5, 0.1};
  hlo_quant q = {HLO_F32, -128, 127, -1, 1, scales, zeros};
  hlo_shape proto = {.dtype = HLO_S8, .rank = 2, .dims = dims, .quant = &q};
  const hlo_shape *s = hlo_shape_intern(t, &proto);
  ck_assert_ptr_eq(hlo_shape_intern(t, &proto), s);
  ck_assert(s != hlo_shape_array(t, HLO_S8, 2, dims));
  check_print(s, "s8[2,3]{1,0}!quant(f32,-128:127,{0.5:3})", "tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>");
  q = (hlo_quant){HLO_BF16, -100, 127, 0, 2, scales, zeros};
  const hlo_shape *axis = hlo_shape_intern(t, &proto);
  ck_assert(axis != s);
  check_print(axis, "s8[2,3]{1,0}!quant(bf16,-100:127,axis=0,{0.5:3,0.1:-4})",
              "tensor<2x3x!quant.uniform<i8<-100:127>:bf16:0, {0.5:3,0.1:-4}>>");
  ck_assert_ptr_eq(hlo_shape_with_dtype(t, axis, HLO_F32), hlo_shape_array(t, HLO_F32, 2, dims));
  arena_destroy(a);
}
END_TEST

START_TEST(sizes_and_leaves) {
  arena *a = arena_create();
  hlo_shape_table *t = hlo_shape_table_create(a);
  int64_t dims[] = {2, 3}, big[] = {INT64_C(1) << 40, INT64_C(1) << 40}, huge_empty[] = {INT64_C(1) << 62, 8, 0};
  const hlo_shape *s = hlo_shape_array(t, HLO_C64, 2, dims), *scalar = hlo_shape_array(t, HLO_S4, 0, NULL);
  const hlo_shape *token = hlo_shape_token(t);
  ck_assert_int_eq(hlo_shape_elements(s), 6);
  ck_assert_int_eq(hlo_shape_bytes(s), 48);
  ck_assert_int_eq(hlo_shape_elements(scalar), 1);
  ck_assert_int_eq(hlo_shape_bytes(scalar), 1);
  ck_assert_int_eq(hlo_shape_elements(hlo_shape_array(t, HLO_F32, 2, big)), -1);
  ck_assert_int_eq(hlo_shape_bytes(hlo_shape_array(t, HLO_F32, 2, big)), -1);
  ck_assert_int_eq(hlo_shape_bytes(hlo_shape_array(t, HLO_F32, 3, huge_empty)), 0);
  ck_assert_int_eq(hlo_shape_bytes(token), 0);
  check_print(token, "token[]", "!stablehlo.token");
  const hlo_shape *inner[] = {s, token}, *empty = hlo_shape_tuple(t, 0, NULL);
  const hlo_shape *outer[] = {scalar, hlo_shape_tuple(t, 2, inner), empty, s};
  const hlo_shape *tuple = hlo_shape_tuple(t, 4, outer);
  ck_assert_int_eq(hlo_shape_leaves(tuple), 4);
  const hlo_shape *leaves[] = {scalar, s, token, s};
  for (int i = 0; i < 4; i++) ck_assert_ptr_eq(hlo_shape_leaf(tuple, i), leaves[i]);
  ck_assert_ptr_null(hlo_shape_leaf(tuple, 4));
  check_print(
      tuple, "(s4[], (c64[2,3]{1,0}, token[]), (), c64[2,3]{1,0})",
      "tuple<tensor<i4>, tuple<tensor<2x3xcomplex<f32>>, !stablehlo.token>, tuple<>, tensor<2x3xcomplex<f32>>>");
  ck_assert_int_eq(hlo_shape_bytes(tuple), -1);
  arena_destroy(a);
}
END_TEST

HARNESS_MAIN("hlo_shape", dtypes, interning, quantized, sizes_and_leaves)
