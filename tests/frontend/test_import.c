// SPDX-License-Identifier: Apache-2.0
// Import, refinement and export on small programs. What is expected is HLO text written by hand after the conventions
// of hlo/ops.def and StableHLO's specification.
#include "frontend/import.h"
#include "tests/harness.h"

static arena *memory;

static lemnos_status import_text(const char *text, const char *entry, hlo_module **out) {
  mlir_module *m;
  diag_sink sink;
  import_options options = {.entry = strv_from_cstr(entry)};
  if (!memory) memory = arena_create();
  diag_sink_init(&sink, memory);
  lemnos_status s = mlir_parse_text(memory, STRV("t.mlir"), strv_from_cstr(text), &sink, &m);
  ck_assert_msg(!s, "%s", lemnos_status_message(s));
  s = import_module(m, &options, memory, &sink, out);
  diag_sink_deinit(&sink);
  return s;
}

static hlo_module *imported(const char *text) {
  hlo_module *m = NULL;
  ASSERT_OK(import_text(text, NULL, &m));
  return m;
}

// The module's text behind its first line.
static void check_hlo(const hlo_module *m, const char *expected) {
  strbuf b = {0};
  hlo_print_module(&b, m, NULL);
  const char *body = strstr(b.data, "\n\n");
  ck_assert_ptr_nonnull(body);
  ck_assert_str_eq(body + 2, expected);
  strbuf_deinit(&b);
}

static void check_import(const char *text, const char *expected) {
  check_hlo(imported(text), expected);
}

// A function around a body.
#define FUNC(params, results, body) "func.func @main(" params ") -> " results " {\n" body "\n}\n"

START_TEST(calls_and_names) {
  check_import(
      "module @m {\n"
      "  func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xi8>) {\n"
      "    %0:2 = call @f(%x) : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xi8>)\n"
      "    return %0#0, %0#1 : tensor<2x3xf32>, tensor<2xi8>\n"
      "  }\n"
      "  func.func private @unused(%x: tensor<*xf32>) { return }\n"
      "  func.func private @f(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xi8>) {\n"
      "    %c = stablehlo.constant dense<[-1, 7]> : tensor<2xi8>\n"
      "    %0 = stablehlo.add %x, %x : tensor<2x3xf32>\n"
      "    return %0, %c : tensor<2x3xf32>, tensor<2xi8>\n"
      "  }\n"
      "}\n",
      "%f (parameter.1: f32[2,3]{1,0}) -> (f32[2,3]{1,0}, s8[2]{0}) {\n"
      "  %parameter.1 = f32[2,3]{1,0} parameter(0)\n"
      "  %constant = s8[2]{0} constant({-1, 7})\n"
      "  %add = f32[2,3]{1,0} add(%parameter.1, %parameter.1)\n"
      "  ROOT %tuple = (f32[2,3]{1,0}, s8[2]{0}) tuple(%add, %constant)\n"
      "}\n\n"
      "ENTRY %main (parameter: f32[2,3]{1,0}) -> (f32[2,3]{1,0}, s8[2]{0}) {\n"
      "  %parameter = f32[2,3]{1,0} parameter(0)\n"
      "  %call = (f32[2,3]{1,0}, s8[2]{0}) call(%parameter), to_apply=%f\n"
      "  %get-tuple-element = f32[2,3]{1,0} get-tuple-element(%call), index=0\n"
      "  %get-tuple-element.1 = s8[2]{0} get-tuple-element(%call), index=1\n"
      "  ROOT %tuple.1 = (f32[2,3]{1,0}, s8[2]{0}) tuple(%get-tuple-element, %get-tuple-element.1)\n"
      "}\n");
}
END_TEST

START_TEST(while_captures) {
  check_import(FUNC("%n: tensor<i32>, %x: tensor<f32>", "tensor<i32>",
                    "%two = stablehlo.constant dense<2> : tensor<i32>\n"
                    "%0 = stablehlo.while(%i = %two) : tensor<i32> cond {\n"
                    "  %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                    "  stablehlo.return %c : tensor<i1>\n"
                    "} do {\n"
                    "  %d = stablehlo.multiply %i, %two : tensor<i32>\n"
                    "  stablehlo.return %d : tensor<i32>\n"
                    "}\n"
                    "return %0 : tensor<i32>"),
               "%while_cond (parameter.2: (s32[], s32[])) -> pred[] {\n"
               "  %parameter.2 = (s32[], s32[]) parameter(0)\n"
               "  %get-tuple-element = s32[] get-tuple-element(%parameter.2), index=0\n"
               "  %get-tuple-element.1 = s32[] get-tuple-element(%parameter.2), index=1\n"
               "  ROOT %compare = pred[] compare(%get-tuple-element, %get-tuple-element.1), direction=LT\n"
               "}\n\n"
               "%while_body (parameter.3: (s32[], s32[])) -> (s32[], s32[]) {\n"
               "  %parameter.3 = (s32[], s32[]) parameter(0)\n"
               "  %get-tuple-element.2 = s32[] get-tuple-element(%parameter.3), index=0\n"
               "  %get-tuple-element.3 = s32[] get-tuple-element(%parameter.3), index=1\n"
               "  %constant.1 = s32[] constant(2)\n"
               "  %multiply = s32[] multiply(%get-tuple-element.2, %constant.1)\n"
               "  ROOT %tuple.1 = (s32[], s32[]) tuple(%multiply, %get-tuple-element.3)\n"
               "}\n\n"
               "ENTRY %main (parameter: s32[], parameter.1: f32[]) -> s32[] {\n"
               "  %parameter = s32[] parameter(0)\n"
               "  %parameter.1 = f32[] parameter(1)\n"
               "  %constant = s32[] constant(2)\n"
               "  %tuple = (s32[], s32[]) tuple(%constant, %parameter)\n"
               "  %while = (s32[], s32[]) while(%tuple), condition=%while_cond, body=%while_body\n"
               "  ROOT %get-tuple-element.4 = s32[] get-tuple-element(%while), index=0\n"
               "}\n");
}
END_TEST

START_TEST(branch_captures) {
  check_import(FUNC("%p: tensor<i1>, %x: tensor<f32>, %y: tensor<f32>", "tensor<f32>",
                    "%0 = \"stablehlo.if\"(%p) ({\n"
                    "  %a = stablehlo.add %x, %y : tensor<f32>\n"
                    "  stablehlo.return %a : tensor<f32>\n"
                    "}, {\n"
                    "  %one = stablehlo.constant dense<1.0> : tensor<f32>\n"
                    "  stablehlo.return %one : tensor<f32>\n"
                    "}) : (tensor<i1>) -> tensor<f32>\n"
                    "return %0 : tensor<f32>"),
               "%if_branch (parameter.3: (f32[], f32[])) -> f32[] {\n"
               "  %parameter.3 = (f32[], f32[]) parameter(0)\n"
               "  %get-tuple-element = f32[] get-tuple-element(%parameter.3), index=0\n"
               "  %get-tuple-element.1 = f32[] get-tuple-element(%parameter.3), index=1\n"
               "  ROOT %add = f32[] add(%get-tuple-element, %get-tuple-element.1)\n"
               "}\n\n"
               "%if_branch.1 (parameter.4: ()) -> f32[] {\n"
               "  %parameter.4 = () parameter(0)\n"
               "  ROOT %constant = f32[] constant(1)\n"
               "}\n\n"
               "ENTRY %main (parameter: pred[], parameter.1: f32[], parameter.2: f32[]) -> f32[] {\n"
               "  %parameter = pred[] parameter(0)\n"
               "  %parameter.1 = f32[] parameter(1)\n"
               "  %parameter.2 = f32[] parameter(2)\n"
               "  %tuple = (f32[], f32[]) tuple(%parameter.1, %parameter.2)\n"
               "  %tuple.1 = () tuple()\n"
               "  ROOT %conditional = f32[] conditional(%parameter, %tuple, %tuple.1), true_computation=%if_branch, "
               "false_computation=%if_branch.1\n"
               "}\n");
}
END_TEST

// A reducer that uses a constant from outside gets its own; absent window attributes are ones and zeros.
START_TEST(windows_and_reducers) {
  hlo_module *m = imported(FUNC("%x: tensor<4x6xf32>", "tensor<2x6xf32>",
                                "%c = stablehlo.constant dense<0.5> : tensor<f32>\n"
                                "%0 = \"stablehlo.reduce_window\"(%x, %c) <{window_dimensions = array<i64: 2, 1>, "
                                "window_strides = array<i64: 2, 1>}> ({\n"
                                "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
                                "  %s = stablehlo.add %a, %b : tensor<f32>\n"
                                "  %t = stablehlo.multiply %s, %c : tensor<f32>\n"
                                "  stablehlo.return %t : tensor<f32>\n"
                                "}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x6xf32>\n"
                                "return %0 : tensor<2x6xf32>"));
  const hlo_instr *w = m->entry->root;
  ck_assert_int_eq(w->op, HLO_OP_REDUCE_WINDOW);
  const hlo_window *win = &HLO_ATTRS(w, reduce_window)->window;
  ck_assert_int_eq(win->n, 2);
  for (int i = 0; i < 2; i++) {
    hlo_window_dim d = win->dims[i];
    ck_assert_int_eq(d.size, i ? 1 : 2);
    ck_assert_int_eq(d.stride, i ? 1 : 2);
    ck_assert(d.pad_low == 0 && d.pad_high == 0 && d.base_dilation == 1 && d.window_dilation == 1 && !d.reversal);
  }
  const hlo_instr *product = w->called[0]->root;
  ck_assert_int_eq(product->op, HLO_OP_MULTIPLY);
  ck_assert_int_eq(product->operands[1]->op, HLO_OP_CONSTANT);
  ck_assert_double_eq(hlo_literal_get_f64(hlo_constant_value(product->operands[1]), 0, 0), 0.5);
}
END_TEST

START_TEST(convolution_window) {
  hlo_module *m = imported(FUNC("%x: tensor<1x8x8x3xf32>, %k: tensor<3x5x3x4xf32>", "tensor<1x5x12x4xf32>",
                                "%0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, "
                                "f], window = {stride = [2, 1], "
                                "pad = [[2, 2], [0, 1]], lhs_dilate = [1, 2], reverse = [false, true]} "
                                "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} "
                                ": (tensor<1x8x8x3xf32>, tensor<3x5x3x4xf32>) -> tensor<1x5x12x4xf32>\n"
                                "return %0 : tensor<1x5x12x4xf32>"));
  const hlo_attrs_convolution *a = HLO_ATTRS(m->entry->root, convolution);
  ck_assert_int_eq(a->window.n, 2);
  hlo_window_dim x = a->window.dims[0], y = a->window.dims[1];
  ck_assert(x.size == 3 && x.stride == 2 && x.pad_low == 2 && x.pad_high == 2 && x.base_dilation == 1 && !x.reversal);
  ck_assert(y.size == 5 && y.stride == 1 && y.pad_low == 0 && y.pad_high == 1 && y.base_dilation == 2 && y.reversal);
  ck_assert_int_eq(a->dnums.kernel_output_feature, 3);
}
END_TEST

START_TEST(deprecated_forms) {
  check_import(
      FUNC("%x: tensor<2x3xf32>, %y: tensor<3xf32>", "tensor<5x2xf32>",
           "%0 = \"stablehlo.dot\"(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>\n"
           "%1 = \"stablehlo.broadcast\"(%0) <{broadcast_sizes = array<i64: 5>}> : (tensor<2xf32>) -> tensor<5x2xf32>\n"
           "return %1 : tensor<5x2xf32>"),
      "ENTRY %main (parameter: f32[2,3]{1,0}, parameter.1: f32[3]{0}) -> f32[5,2]{1,0} {\n"
      "  %parameter = f32[2,3]{1,0} parameter(0)\n"
      "  %parameter.1 = f32[3]{0} parameter(1)\n"
      "  %dot = f32[2]{0} dot(%parameter, %parameter.1), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  ROOT %broadcast = f32[5,2]{1,0} broadcast(%dot), dimensions={1}\n"
      "}\n");
}
END_TEST

// b is a batch dimension, k contracted, z summed first; the result's order asks for a transpose.
START_TEST(einsum) {
  check_import(FUNC("%x: tensor<4x2x3xf32>, %y: tensor<3x5x4x6xf32>", "tensor<5x2x4xf32>",
                    "%0 = \"stablehlo.einsum\"(%x, %y) <{einsum_config = \"bmk,knbz->nmb\"}> : (tensor<4x2x3xf32>, "
                    "tensor<3x5x4x6xf32>) -> tensor<5x2x4xf32>\n"
                    "return %0 : tensor<5x2x4xf32>"),
               "%add (x: f64[], y: f64[]) -> f64[] {\n"
               "  %x = f64[] parameter(0)\n"
               "  %y = f64[] parameter(1)\n"
               "  ROOT %add.1 = f64[] add(%x, %y)\n"
               "}\n\n"
               "ENTRY %main (parameter: f32[4,2,3]{2,1,0}, parameter.1: f32[3,5,4,6]{3,2,1,0}) -> f32[5,2,4]{2,1,0} {\n"
               "  %parameter = f32[4,2,3]{2,1,0} parameter(0)\n"
               "  %parameter.1 = f32[3,5,4,6]{3,2,1,0} parameter(1)\n"
               "  %convert = f64[4,2,3]{2,1,0} convert(%parameter)\n"
               "  %convert.1 = f64[3,5,4,6]{3,2,1,0} convert(%parameter.1)\n"
               "  %constant = f64[] constant(0)\n"
               "  %reduce = f64[3,5,4]{2,1,0} reduce(%convert.1, %constant), dimensions={3}, to_apply=%add\n"
               "  %dot = f64[4,2,5]{2,1,0} dot(%convert, %reduce), lhs_batch_dims={0}, lhs_contracting_dims={2}, "
               "rhs_batch_dims={2}, rhs_contracting_dims={0}\n"
               "  %convert.2 = f32[4,2,5]{2,1,0} convert(%dot)\n"
               "  ROOT %transpose = f32[5,2,4]{2,1,0} transpose(%convert.2), dimensions={2,1,0}\n"
               "}\n");
}
END_TEST

START_TEST(chlo_broadcasting) {
  check_import(
      FUNC("%x: tensor<2x1xf32>, %y: tensor<3xf32>, %z: tensor<2xf32>", "tensor<2x3xi1>",
           "%0 = chlo.broadcast_add %x, %y : (tensor<2x1xf32>, tensor<3xf32>) -> tensor<2x3xf32>\n"
           "%1 = chlo.broadcast_compare %0, %z {broadcast_dimensions = array<i64: 0>, comparison_direction = "
           "#chlo<comparison_direction GT>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xi1>\n"
           "return %1 : tensor<2x3xi1>"),
      "ENTRY %main (parameter: f32[2,1]{1,0}, parameter.1: f32[3]{0}, parameter.2: f32[2]{0}) -> pred[2,3]{1,0} {\n"
      "  %parameter = f32[2,1]{1,0} parameter(0)\n"
      "  %parameter.1 = f32[3]{0} parameter(1)\n"
      "  %parameter.2 = f32[2]{0} parameter(2)\n"
      "  %broadcast = f32[2,3]{1,0} broadcast(%parameter), dimensions={0,1}\n"
      "  %broadcast.1 = f32[2,3]{1,0} broadcast(%parameter.1), dimensions={1}\n"
      "  %add = f32[2,3]{1,0} add(%broadcast, %broadcast.1)\n"
      "  %broadcast.2 = f32[2,3]{1,0} broadcast(%parameter.2), dimensions={0}\n"
      "  ROOT %compare = pred[2,3]{1,0} compare(%add, %broadcast.2), direction=GT\n"
      "}\n");
}
END_TEST

START_TEST(checks) {
  hlo_module *m =
      imported(FUNC("%x: tensor<2xf32>, %y: tensor<2xf32>", "tensor<i1>",
                    "stablehlo.custom_call @check.expect_close(%x, %y) {has_side_effect = true} : (tensor<2xf32>, "
                    "tensor<2xf32>) -> ()\n"
                    "stablehlo.custom_call @check.expect_almost_eq(%x, %y) {has_side_effect = true} : (tensor<2xf32>, "
                    "tensor<2xf32>) -> ()\n"
                    "check.expect_close %x, %y, max_ulp_difference = 7 : tensor<2xf32>, tensor<2xf32>\n"
                    "check.expect_eq_const %x, dense<1.0> : tensor<2xf32>\n"
                    "%0 = stablehlo.custom_call @check.eq(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<i1>\n"
                    "return %0 : tensor<i1>"));
  const hlo_instr *i = m->entry->params[1]->next;
  ck_assert_int_eq(i->op, HLO_OP_CHECK_EXPECT_CLOSE);
  ck_assert_int_eq(HLO_ATTRS(i, check_close)->max_ulp_difference, 3);
  i = i->next;
  ck_assert_int_eq(i->op, HLO_OP_CHECK_EXPECT_ALMOST_EQ);
  ck_assert_double_eq(HLO_ATTRS(i, check_almost)->tolerance, 0.001);
  i = i->next;
  ck_assert_int_eq(i->op, HLO_OP_CHECK_EXPECT_CLOSE);
  ck_assert_int_eq(HLO_ATTRS(i, check_close)->max_ulp_difference, 7);
  i = i->next;
  ck_assert_int_eq(i->op, HLO_OP_CHECK_EXPECT_EQ_CONST);
  ck_assert(HLO_ATTRS(i, check_const)->value->splat);
  ck_assert_int_eq(m->entry->root->op, HLO_OP_CHECK_EQ);
}
END_TEST

START_TEST(structure) {
  hlo_module *m = imported(
      "module {\n"
      "sdy.mesh @mesh = <[\"a\"=1]>\n"
      "func.func @main(%x: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>, tensor<f32>) {\n"
      "  %0 = sdy.sharding_constraint %x <@mesh, [{\"a\"}]> : tensor<4xf32>\n"
      "  %1 = \"sdy.manual_computation\"(%0) ({\n"
      "  ^bb0(%y: tensor<4xf32>):\n"
      "    %2 = stablehlo.negate %y : tensor<4xf32>\n"
      "    \"sdy.return\"(%2) : (tensor<4xf32>) -> ()\n"
      "  }) {in_shardings = #sdy.sharding_per_value<[<@mesh, [{\"a\"}]>]>, out_shardings = "
      "#sdy.sharding_per_value<[<@mesh, [{}]>]>, manual_axes = #sdy<manual_axes{\"a\"}>} : (tensor<4xf32>) -> "
      "tensor<4xf32>\n"
      "  %3 = stablehlo.custom_call @Sharding(%1) : (tensor<4xf32>) -> tensor<4xf32>\n"
      "  %4 = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %5:2 = stablehlo.optimization_barrier %3, %4 : tensor<4xf32>, tensor<f32>\n"
      "  %6 = stablehlo.custom_call @mhlo.erf(%5#0) : (tensor<4xf32>) -> tensor<4xf32>\n"
      "  %7:2 = stablehlo.custom_call @mhlo.topk(%6) {mhlo.attributes = {k = 2 : i64, largest = true}} : "
      "(tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>)\n"
      "  %8 = stablehlo.composite \"my.op\" %5#1 {composite_attributes = {n = 1 : i64}, decomposition = @d, version = "
      "3 : i32} : "
      "(tensor<f32>) -> tensor<f32>\n"
      "  return %7#0, %7#1, %8 : tensor<2xf32>, tensor<2xi32>, tensor<f32>\n"
      "}\n"
      "func.func private @d(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }\n"
      "}\n");
  static const hlo_op expected[] = {HLO_OP_PARAMETER,
                                    HLO_OP_NEGATE,
                                    HLO_OP_CONSTANT,
                                    HLO_OP_TUPLE,
                                    HLO_OP_OPTIMIZATION_BARRIER,
                                    HLO_OP_GET_TUPLE_ELEMENT,
                                    HLO_OP_GET_TUPLE_ELEMENT,
                                    HLO_OP_ERF,
                                    HLO_OP_TOP_K,
                                    HLO_OP_GET_TUPLE_ELEMENT,
                                    HLO_OP_GET_TUPLE_ELEMENT,
                                    HLO_OP_COMPOSITE,
                                    HLO_OP_TUPLE};
  int n = 0;
  HLO_FOR_EACH (i, m->entry) ck_assert_int_eq(i->op, expected[n++]);
  ck_assert_int_eq(n, (int)(sizeof expected / sizeof *expected));
  const hlo_instr *composite = m->entry->root->operands[2];
  ck_assert(strv_eq_cstr(composite->called[0]->name, "d"));
  ck_assert(strv_eq_cstr(HLO_ATTRS(composite, composite)->name, "my.op"));
  ck_assert_int_eq(HLO_ATTRS(composite, composite)->version, 3);
}
END_TEST

START_TEST(donation) {
  hlo_module *m = imported(
      "module attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 4 : i32} {\n"
      "func.func @main(%a: tensor<2xf32> {tf.aliasing_output = 1 : i32}, %b: tensor<2xf32> {jax.buffer_donor = true}, "
      "%c: tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>) {\n"
      "  %s = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  return %s, %b : tensor<f32>, tensor<2xf32>\n"
      "}}\n");
  ck_assert_int_eq(m->n_replicas, 2);
  ck_assert_int_eq(m->n_partitions, 4);
  ck_assert_int_eq(m->n_aliases, 1);
  ck_assert(m->aliases[0].result == 1 && m->aliases[0].param == 0);
  ck_assert(m->param_donated[0] && m->param_donated[1] && !m->param_donated[2]);
}
END_TEST

START_TEST(entries) {
  const char *text =
      "func.func @a() { return }\nfunc.func @b(%x: tensor<f32>) { return }\nfunc.func private @c() { return }\n"
      "func.func public @d() { return }\n";
  hlo_module *m;
  mlir_module *parsed;
  diag_sink sink;
  strv *names;
  int n;
  ASSERT_FAILS(import_text(text, NULL, &m), LEMNOS_INVALID_ARGUMENT, "several to choose from: @a, @b, @c, @d");
  ASSERT_FAILS(import_text(text, "x", &m), LEMNOS_INVALID_ARGUMENT, "no function @x; the module has @a, @b, @c, @d");
  ASSERT_OK(import_text(text, "b", &m));
  ck_assert(strv_eq_cstr(m->entry->name, "b"));
  diag_sink_init(&sink, memory);
  ASSERT_OK(mlir_parse_text(memory, STRV("t.mlir"), strv_from_cstr(text), &sink, &parsed));
  ASSERT_OK(import_list_entries(parsed, memory, &names, &n));
  ck_assert_int_eq(n, 2);
  ck_assert(strv_eq_cstr(names[0], "a") && strv_eq_cstr(names[1], "d"));
  diag_sink_deinit(&sink);
}
END_TEST

START_TEST(refusals) {
  hlo_module *m;
  ASSERT_FAILS(import_text(FUNC("%x: tensor<2xf32>", "tensor<2xf32>",
                                "%0 = \"foo.bar\"(%x) : (tensor<2xf32>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>"),
                           NULL, &m),
               LEMNOS_UNIMPLEMENTED, "t.mlir:2:");
  ASSERT_FAILS(import_text(FUNC("%x: tensor<2xf32>", "tensor<2xf32>",
                                "%0 = \"foo.bar\"(%x) : (tensor<2xf32>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>"),
                           NULL, &m),
               LEMNOS_UNIMPLEMENTED, "operation 'foo.bar' is not supported");
  ASSERT_FAILS(import_text("func.func @main() { call @main() : () -> ()\n return }", NULL, &m), LEMNOS_UNIMPLEMENTED,
               "function @main calls itself");
  ASSERT_FAILS(import_text("func.func @main() { call @f() : () -> ()\n return }", NULL, &m), LEMNOS_INVALID_ARGUMENT,
               "there is no function @f");
  ASSERT_FAILS(import_text("func.func @main(%x: tensor<*xf32>) { return }", NULL, &m), LEMNOS_UNIMPLEMENTED,
               "tensor<*xf32>");
  ASSERT_FAILS(import_text(FUNC("%x: tensor<?xf32>, %y: tensor<f32>", "tensor<?xf32>",
                                "%0 = \"stablehlo.all_reduce\"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({\n"
                                "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
                                "  %s = stablehlo.add %a, %y : tensor<f32>\n"
                                "  stablehlo.return %s : tensor<f32>\n"
                                "}) : (tensor<?xf32>) -> tensor<?xf32>\nreturn %0 : tensor<?xf32>"),
                           NULL, &m),
               LEMNOS_UNIMPLEMENTED, "'stablehlo.all_reduce' of unknown sizes uses");
  ASSERT_FAILS(
      import_text(FUNC("%x: tensor<4xf32>, %s: tensor<3xf32>, %y: tensor<f32>", "tensor<?xf32>",
                       "%0 = \"stablehlo.select_and_scatter\"(%x, %s, %y) <{window_dimensions = array<i64: 2>}> ({\n"
                       "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
                       "  %k = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                       "  stablehlo.return %k : tensor<i1>\n}, {\n"
                       "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
                       "  %t = stablehlo.add %a, %y : tensor<f32>\n"
                       "  stablehlo.return %t : tensor<f32>\n"
                       "}) : (tensor<4xf32>, tensor<3xf32>, tensor<f32>) -> tensor<?xf32>\nreturn %0 : tensor<?xf32>"),
                  NULL, &m),
      LEMNOS_INVALID_ARGUMENT, "result 0 of 'stablehlo.select_and_scatter' has another type");
  ASSERT_FAILS(
      import_text(
          FUNC("%x: tensor<4xf32>", "tensor<4xf32>",
               "%0 = \"stablehlo.transpose\"(%x) : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>"),
          NULL, &m),
      LEMNOS_INVALID_ARGUMENT, "'stablehlo.transpose' lacks the attribute 'permutation'");
}
END_TEST

// The specification's constraints are checked on the way in, with labels; declared types let the check go on.
START_TEST(constraints) {
  hlo_module *m;
  const char *text = FUNC("%x: tensor<2x3xf32>", "tensor<2x3xf32>",
                          "%0 = stablehlo.transpose %x, dims = [0, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>\n"
                          "%1 = stablehlo.reshape %0 : (tensor<2x3xf32>) -> tensor<7xf32>\n"
                          "return %0 : tensor<2x3xf32>");
  ASSERT_FAILS(import_text(text, NULL, &m), LEMNOS_INVALID_ARGUMENT, "transpose_c2");
  ASSERT_FAILS(import_text(text, NULL, &m), LEMNOS_INVALID_ARGUMENT, "reshape_c2");
  // A region that captures, so that other operations stand for it: 4 elements have 3 windows of 2.
  text = FUNC("%x: tensor<4xf32>, %s: tensor<2xf32>, %y: tensor<f32>", "tensor<4xf32>",
              "%0 = \"stablehlo.select_and_scatter\"(%x, %s, %y) <{window_dimensions = array<i64: 2>}> ({\n"
              "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
              "  %k = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
              "  stablehlo.return %k : tensor<i1>\n}, {\n"
              "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
              "  %t = stablehlo.add %a, %y : tensor<f32>\n"
              "  stablehlo.return %t : tensor<f32>\n"
              "}) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>");
  ASSERT_FAILS(import_text(text, NULL, &m), LEMNOS_INVALID_ARGUMENT, "select_and_scatter_c2");
}
END_TEST

// What only the MLIR form can violate: each with the words of its report.
START_TEST(attribute_constraints) {
  static const struct {
    const char *body, *message;
  } cases[] = {
      {"%0 = \"stablehlo.constant\"() <{value = dense<0> : tensor<i32>}> : () -> tensor<3xi32>",
       "constant_c1: the value has type tensor<i32>; expected that of the result, tensor<3xi32>"},
      {"%0 = \"stablehlo.constant\"() <{value = dense<1> : tensor<2xui8>}> : () -> tensor<2x!quant.uniform<i8:f32, "
       "2.0:15>>",
       "constant_c1"},
      {"%0 = \"stablehlo.broadcast\"(%v) <{broadcast_sizes = array<i64: 2>}> : (tensor<3xf32>) -> tensor<1x3xf32>",
       "broadcast: dimension 0 of the result has size 1; expected broadcast_sizes[0], 2"},
      {"%0 = \"stablehlo.sort\"(%v) <{dimension = -3 : i64}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
       "%c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\nstablehlo.return %c : "
       "tensor<i1>\n"
       "}) : (tensor<3xf32>) -> tensor<3xf32>",
       "sort_c4: dimension is -3; expected one in [-1, 1)"},
      {"%0 = \"stablehlo.reduce_window\"(%v, %s) <{window_strides = array<i64: 1>}> ("
       "{\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
       "stablehlo.return %a : tensor<f32>\n}) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>",
       "reduce_window_c4: window_dimensions is missing; expected 1 sizes"},
      {"%0 = \"stablehlo.reduce_window\"(%v, %s) <{window_dimensions = array<i64>}> ("
       "{\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
       "stablehlo.return %a : tensor<f32>\n}) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>",
       "reduce_window_c4: window_dimensions has 0 entries; expected 1"},
      {"%0 = \"stablehlo.reduce_window\"(%v, %s) <{window_dimensions = array<i64: 1>, padding = dense<[[1], [1]]> : "
       "tensor<2x1xi64>}> "
       "({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
       "stablehlo.return %a : tensor<f32>\n}) : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>",
       "reduce_window_c12: padding has shape [2, 1]; expected [1, 2]"},
      {"%0 = \"stablehlo.while\"(%v) ({\n^bb0(%a: tensor<2xf32>):\n%t = stablehlo.constant dense<true> : tensor<i1>\n"
       "stablehlo.return %t : tensor<i1>\n}, {\n^bb0(%a: tensor<3xf32>):\nstablehlo.return %a : tensor<3xf32>\n"
       "}) : (tensor<3xf32>) -> tensor<3xf32>",
       "while_c1: the condition's parameter has type f32[2]; expected f32[3]"},
      {"%0 = \"stablehlo.while\"(%v) ({\n^bb0(%a: tensor<3xf32>):\n%t = stablehlo.constant dense<true> : tensor<i1>\n"
       "stablehlo.return %t : tensor<i1>\n}, {\n^bb0(%a: tensor<3xf32>):\nstablehlo.return %a : tensor<3xf32>\n"
       "}) : (tensor<3xf32>) -> tensor<2xf32>",
       "while_c3"},
      {"%0 = stablehlo.tanh %v {result_accuracy = #stablehlo.result_accuracy<atol = 1.0, rtol = 0.0, ulps = 4, mode = "
       "#stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<3xf32>",
       "tanh_result_accuracy: tolerances are 1, 0 and 4 ulp; expected zeros with mode HIGHEST"},
      {"%0 = stablehlo.custom_call @f(%v) {operand_layouts = [dense<[1]> : tensor<1xindex>], result_layouts = "
       "[dense<0> : "
       "tensor<1xindex>]} : (tensor<3xf32>) -> tensor<3xf32>",
       "custom_call_layouts: layout of operand 0 is"},
      {"%0 = stablehlo.custom_call @f(%v) {api_version = 4 : i32, backend_config = \"a\"} : (tensor<3xf32>) -> "
       "tensor<3xf32>",
       "custom_call_i4: backend_config is \"a\"; expected a dictionary"},
      {"%0 = stablehlo.custom_call @Pin(%v) {api_version = 4 : i32} : (tensor<3xf32>) -> tensor<3xf32>",
       "custom_call_i1: Pin makes tensor<3xf32> of tensor<3xf32>; expected a buffer of a tensor"},
      {"%m = stablehlo.custom_call @Pin(%v) {api_version = 4 : i32} : (tensor<3xf32>) -> memref<3xf32>\n"
       "%0 = \"stablehlo.abs\"(%m) : (memref<3xf32>) -> tensor<3xf32>",
       "abs_i1: operand 0 has type memref<3xf32>; expected no buffer"},
      {"%0 = stablehlo.custom_call @CreateBuffer() {api_version = 4 : i32} : () -> memref<3xf32>\n"
       "%1 = stablehlo.custom_call @f(%0) {api_version = 4 : i32} : (memref<3xf32>) -> memref<3xf32>",
       "custom_call_i7: a result of type memref<3xf32> is in 0 pairs of output_operand_aliases; expected 1"},
      {"%0 = \"chlo.constant_like\"(%v) {value = 3 : i32} : (tensor<3xf32>) -> tensor<3xf32>",
       "constant_like: the value has type s32; expected the result's element type f32"},
      {"%0 = \"stablehlo.composite\"(%v) {name = \"a.b\", decomposition = @nowhere} : (tensor<3xf32>) -> tensor<3xf32>",
       "composite_c2: there is no function @nowhere"},
      {"%0 = \"stablehlo.concatenate\"() {dimension = 0 : i64} : () -> tensor<0xf32>",
       "concatenate_c3: 0 operands; expected at least 1"},
  };
  if (!memory) memory = arena_create();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hlo_module *m;
    const char *text =
        arena_printf(memory, "func.func @main(%%v: tensor<3xf32>, %%s: tensor<f32>) {\n%s\nreturn\n}\n", cases[i].body);
    ASSERT_FAILS(import_text(text, NULL, &m), LEMNOS_INVALID_ARGUMENT, cases[i].message);
    ASSERT_FAILS(import_text(text, NULL, &m), LEMNOS_INVALID_ARGUMENT, "t.mlir:");
  }
}
END_TEST

// --- refinement ----------------------------------------------------------------------------------

static lemnos_status refined(hlo_module *m, int64_t size) {
  const hlo_shape *args[4];
  for (int i = 0; i < m->entry->n_params; i++) {
    const hlo_shape *s = m->entry->params[i]->shape;
    int64_t dims[8];
    for (int k = 0; k < s->rank; k++) dims[k] = s->dims[k] == HLO_DYNAMIC ? size : s->dims[k];
    args[i] = hlo_shape_with_dims(m->shapes, s, s->rank, dims);
  }
  return import_refine(m, m->entry->n_params, args, NULL);
}

static const char dynamic_program[] =
    "func.func @main(%x: tensor<?x4xf32>) -> tensor<?xf32> {\n"
    "  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>\n"
    "  %two = stablehlo.constant dense<2> : tensor<i32>\n"
    "  %ok = stablehlo.compare GE, %n, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "  stablehlo.custom_call @shape_assertion(%ok, %n) {error_message = \"at least 2 rows, not {0}\", has_side_effect "
    "= true} : "
    "(tensor<i1>, tensor<i32>) -> ()\n"
    "  %0 = call @flat(%n, %x) : (tensor<i32>, tensor<?x4xf32>) -> tensor<?xf32>\n"
    "  return %0 : tensor<?xf32>\n"
    "}\n"
    "func.func private @flat(%n: tensor<i32>, %x: tensor<?x4xf32>) -> tensor<?xf32> {\n"
    "  %four = stablehlo.constant dense<4> : tensor<i32>\n"
    "  %one = stablehlo.constant dense<1.0> : tensor<f32>\n"
    "  %m = stablehlo.multiply %n, %four : tensor<i32>\n"
    "  %s = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>\n"
    "  %f = stablehlo.dynamic_reshape %x, %s : (tensor<?x4xf32>, tensor<1xi32>) -> tensor<?xf32>\n"
    "  %b = stablehlo.dynamic_broadcast_in_dim %one, %s, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>\n"
    "  %r = stablehlo.add %f, %b : tensor<?xf32>\n"
    "  return %r : tensor<?xf32>\n"
    "}\n";

START_TEST(refinement) {
  hlo_module *m = imported(dynamic_program);
  ASSERT_OK(refined(m, 3));
  ck_assert_int_eq(m->n_computations, 2);
  ck_assert_int_eq(m->entry->root->op, HLO_OP_CALL);
  ck_assert_ptr_eq(m->entry->root->shape, hlo_shape_array(m->shapes, HLO_F32, 1, (int64_t[]){12}));
  for (int i = 0; i < 2; i++)
    HLO_FOR_EACH (x, m->computations[i]) {
      ck_assert(hlo_shape_is_static(x->shape));
      ck_assert_int_ne(x->op, HLO_OP_CUSTOM_CALL);
      ck_assert_int_ne(hlo_op_table[x->op].family, HLO_FAMILY_DYNAMIC);
    }
  const hlo_instr *add = m->computations[0]->root;
  ck_assert_int_eq(add->op, HLO_OP_ADD);
  ck_assert_int_eq(add->operands[0]->op, HLO_OP_RESHAPE);
  ck_assert_int_eq(add->operands[1]->op, HLO_OP_BROADCAST_IN_DIM);
}
END_TEST

START_TEST(refinement_failures) {
  hlo_module *m = imported(dynamic_program);
  ASSERT_FAILS(refined(m, 1), LEMNOS_INVALID_ARGUMENT, "at least 2 rows, not 1");
  const hlo_shape *args[2] = {hlo_shape_array(m->shapes, HLO_F32, 2, (int64_t[]){2, 5})};
  ASSERT_FAILS(import_refine(m, 1, args, NULL), LEMNOS_INVALID_ARGUMENT, "argument 0 has the shape f32[2,5]");
  ASSERT_FAILS(import_refine(m, 2, args, NULL), LEMNOS_INVALID_ARGUMENT, "takes 1 arguments, 2 were given");
  ASSERT_OK(hlo_verify(m, NULL));  // and is still what it was
  ASSERT_OK(refined(m, 2));
}
END_TEST

static const hlo_shape *vector(const hlo_module *m, int64_t size) {
  return hlo_shape_array(m->shapes, HLO_F32, 1, &size);
}

// Sizes that come out of calls as constants; shapes of custom calls given by operands, which then go; wrappers of
// operands.
START_TEST(refinement_of_calls) {
  hlo_module *m = imported(
      "func.func @main(%x: tensor<4xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {\n"
      "  %t = stablehlo.create_token : !stablehlo.token\n"
      "  %n:2 = call @size(%t) : (!stablehlo.token) -> (!stablehlo.token, tensor<1xi64>)\n"
      "  %0 = stablehlo.dynamic_iota %n#1, dim = 0 : (tensor<1xi64>) -> tensor<?xf32>\n"
      "  %1 = stablehlo.custom_call @of_shape(%x, %n#1) {indices_of_shape_operands = dense<[1]> : tensor<1xi64>} : "
      "(tensor<4xf32>, tensor<1xi64>) -> tensor<?xf32>\n"
      "  %2 = stablehlo.custom_call @stablehlo.shape_refinement_operand_wrapper(%x, %n#1) "
      "{indices_of_shape_operands = dense<1> : tensor<1xi64>} : (tensor<4xf32>, tensor<1xi64>) -> tensor<?xf32>\n"
      "  return %0, %1, %2 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>\n"
      "}\n"
      "func.func private @size(%t: !stablehlo.token) -> (!stablehlo.token, tensor<1xi64>) {\n"
      "  %n = call @inner() : () -> tensor<1xi64>\n"
      "  return %t, %n : !stablehlo.token, tensor<1xi64>\n"
      "}\n"
      "func.func private @inner() -> tensor<1xi64> {\n"
      "  %n = stablehlo.constant dense<7> : tensor<1xi64>\n"
      "  return %n : tensor<1xi64>\n"
      "}\n");
  ASSERT_OK(refined(m, 4));
  const hlo_instr *root = m->entry->root;
  ck_assert_int_eq(root->op, HLO_OP_TUPLE);
  ck_assert_ptr_eq(root->operands[0]->shape, vector(m, 7));
  ck_assert_int_eq(root->operands[1]->op, HLO_OP_CUSTOM_CALL);
  ck_assert_int_eq(root->operands[1]->n_operands, 1);
  ck_assert_int_eq(HLO_ATTRS(root->operands[1], custom_call)->attributes.n, 0);
  ck_assert_ptr_eq(root->operands[1]->shape, vector(m, 7));
  ck_assert_ptr_eq(root->operands[2], m->entry->params[0]);
}
END_TEST

// A slice of known size from an unknown start becomes a dynamic_slice.
START_TEST(refinement_of_slices) {
  hlo_module *m = imported(
      "func.func @main(%x: tensor<?x4xf32>, %s: tensor<2xi32>) -> tensor<?x?xf32> {\n"
      "  %n = stablehlo.constant dense<[2, 1]> : tensor<2xi32>\n"
      "  %one = stablehlo.constant dense<1> : tensor<2xi32>\n"
      "  %l = stablehlo.add %n, %s : tensor<2xi32>\n"
      "  %r = stablehlo.real_dynamic_slice %x, %s, %l, %one : "
      "(tensor<?x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>\n"
      "  return %r : tensor<?x?xf32>\n"
      "}\n");
  ASSERT_OK(refined(m, 5));
  ck_assert_int_eq(m->entry->root->op, HLO_OP_DYNAMIC_SLICE);
  ck_assert_int_eq(m->entry->root->n_operands, 3);
  ck_assert_ptr_eq(m->entry->root->shape, hlo_shape_array(m->shapes, HLO_F32, 2, (int64_t[]){2, 1}));
}
END_TEST

// What a loop carries grows in each iteration: its size stays unknown, the rest does not.
START_TEST(refinement_of_growth) {
  hlo_module *m = imported(
      "func.func @main(%x: tensor<?xf32>, %n: tensor<i32>) -> (tensor<?xf32>, tensor<?xf32>) {\n"
      "  %z = stablehlo.constant dense<0> : tensor<i32>\n"
      "  %o = stablehlo.constant dense<1> : tensor<i32>\n"
      "  %w:3 = stablehlo.while(%i = %z, %a = %x, %b = %x) : tensor<i32>, tensor<?xf32>, tensor<?xf32> cond {\n"
      "    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "    stablehlo.return %c : tensor<i1>\n"
      "  } do {\n"
      "    %j = stablehlo.add %i, %o : tensor<i32>\n"
      "    %d = stablehlo.concatenate %a, %b, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>\n"
      "    %e = stablehlo.negate %b : tensor<?xf32>\n"
      "    stablehlo.return %j, %d, %e : tensor<i32>, tensor<?xf32>, tensor<?xf32>\n"
      "  }\n"
      "  return %w#1, %w#2 : tensor<?xf32>, tensor<?xf32>\n"
      "}\n");
  ASSERT_OK(refined(m, 3));
  const hlo_instr *root = m->entry->root;
  ck_assert_ptr_eq(root->operands[0]->shape, vector(m, HLO_DYNAMIC));
  ck_assert_ptr_eq(root->operands[1]->shape, vector(m, 3));
}
END_TEST

// A size passed as an argument, and one kept through a loop.
START_TEST(refinement_by_value) {
  hlo_module *m = imported(
      "func.func @main(%n: tensor<i64>) -> tensor<?xi32> {\n"
      "  %z = stablehlo.constant dense<0> : tensor<i64>\n"
      "  %one = stablehlo.constant dense<1> : tensor<i64>\n"
      "  %0:2 = stablehlo.while(%i = %z, %k = %n) : tensor<i64>, tensor<i64> cond {\n"
      "    %c = stablehlo.compare LT, %i, %k : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
      "    stablehlo.return %c : tensor<i1>\n"
      "  } do {\n"
      "    %j = stablehlo.add %i, %one : tensor<i64>\n"
      "    stablehlo.return %j, %k : tensor<i64>, tensor<i64>\n"
      "  }\n"
      "  %s = stablehlo.reshape %0#1 : (tensor<i64>) -> tensor<1xi64>\n"
      "  %r = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>\n"
      "  return %r : tensor<?xi32>\n"
      "}\n");
  const hlo_shape *scalar = hlo_shape_array(m->shapes, HLO_S64, 0, NULL);
  int64_t nine = 9;
  const hlo_literal *value = hlo_literal_splat(memory, scalar, &nine);
  ASSERT_OK(import_refine_values(m, 1, &scalar, &value, NULL));
  ck_assert_int_eq(m->entry->root->op, HLO_OP_IOTA);
  ck_assert_ptr_eq(m->entry->root->shape, hlo_shape_array(m->shapes, HLO_S32, 1, &nine));
}
END_TEST

// A complex number is an attribute of the complex dialect, with its type behind it.
START_TEST(complex_constant_like) {
  check_import(FUNC("%x: tensor<2xcomplex<f32>>", "tensor<2xcomplex<f32>>",
                    "%0 = \"chlo.constant_like\"(%x) <{value = #complex.number<:f32 2.0, -3.0> : complex<f32>}> : "
                    "(tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>\n"
                    "return %0 : tensor<2xcomplex<f32>>"),
               "ENTRY %main (parameter: c64[2]{0}) -> c64[2]{0} {\n"
               "  %parameter = c64[2]{0} parameter(0)\n"
               "  ROOT %constant = c64[2]{0} constant(splat (2, -3))\n"
               "}\n");
}
END_TEST

// Sizes 1 and 3 broadcast together at run time.
START_TEST(dynamic_broadcasting) {
  hlo_module *m =
      imported(FUNC("%x: tensor<?x2xf32>, %y: tensor<3x1xf32>, %z: tensor<f32>", "tensor<?x?xf32>",
                    "%0 = chlo.broadcast_subtract %x, %y : (tensor<?x2xf32>, tensor<3x1xf32>) -> tensor<?x?xf32>\n"
                    "%1 = chlo.broadcast_multiply %0, %z : (tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xf32>\n"
                    "%2 = \"chlo.constant_like\"(%1) <{value = 2.0 : f32}> : (tensor<?x?xf32>) -> tensor<?x?xf32>\n"
                    "%3 = chlo.broadcast_add %1, %2 : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>\n"
                    "return %3 : tensor<?x?xf32>"));
  ASSERT_OK(refined(m, 1));
  check_hlo(
      m,
      "ENTRY %main (parameter.3: f32[1,2]{1,0}, parameter.4: f32[3,1]{1,0}, parameter.5: f32[]) -> f32[3,2]{1,0} {\n"
      "  %parameter.3 = f32[1,2]{1,0} parameter(0)\n"
      "  %parameter.4 = f32[3,1]{1,0} parameter(1)\n"
      "  %parameter.5 = f32[] parameter(2)\n"
      "  %broadcast = f32[3,2]{1,0} broadcast(%parameter.3), dimensions={0,1}\n"
      "  %broadcast.1 = f32[3,2]{1,0} broadcast(%parameter.4), dimensions={0,1}\n"
      "  %subtract.1 = f32[3,2]{1,0} subtract(%broadcast, %broadcast.1)\n"
      "  %broadcast.2 = f32[3,2]{1,0} broadcast(%parameter.5), dimensions={}\n"
      "  %multiply.1 = f32[3,2]{1,0} multiply(%subtract.1, %broadcast.2)\n"
      "  %constant.5 = f32[] constant(2)\n"
      "  %broadcast.3 = f32[3,2]{1,0} broadcast(%constant.5), dimensions={}\n"
      "  ROOT %add.1 = f32[3,2]{1,0} add(%multiply.1, %broadcast.3)\n"
      "}\n");
}
END_TEST

// Custom calls that stand for operations with sizes as operands.
START_TEST(dynamic_custom_calls) {
  hlo_module *m = imported(
      "func.func @main(%x: tensor<?xf32>, %key: tensor<2xui64>) -> (tensor<?xf32>, tensor<?xi32>, tensor<2xui64>, "
      "tensor<?xui32>, tensor<?xf32>) {\n"
      "  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>\n"
      "  %s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>\n"
      "  %one = stablehlo.constant dense<1> : tensor<1xi32>\n"
      "  %two = stablehlo.constant dense<2> : tensor<1xi32>\n"
      "  %pad = stablehlo.constant dense<0> : tensor<1x2xi32>\n"
      "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %0:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%x, %n) : "
      "(tensor<?xf32>, tensor<i32>) -> (tensor<?xf32>, tensor<?xi32>)\n"
      "  %1:2 = stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%key, %s) {rng_algorithm = "
      "#stablehlo<rng_algorithm THREE_FRY>} : "
      "(tensor<2xui64>, tensor<1xi32>) -> (tensor<2xui64>, tensor<?xui32>)\n"
      "  %2 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %zero, %two, %two, %one, %one, %pad) "
      "{called_computations = [@add]} : "
      "(tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1x2xi32>) -> "
      "tensor<?xf32>\n"
      "  return %0#0, %0#1, %1#0, %1#1, %2 : tensor<?xf32>, tensor<?xi32>, tensor<2xui64>, tensor<?xui32>, "
      "tensor<?xf32>\n"
      "}\n"
      "func.func private @add(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {\n"
      "  %0 = stablehlo.add %a, %b : tensor<f32>\n"
      "  return %0 : tensor<f32>\n"
      "}\n");
  ASSERT_OK(refined(m, 6));
  strbuf b = {0};
  hlo_shape_print(&b, m->entry->root->shape);
  ck_assert_str_eq(b.data, "(f32[6]{0}, s32[6]{0}, u64[2]{0}, u32[6]{0}, f32[3]{0})");
  strbuf_deinit(&b);
  HLO_FOR_EACH (x, m->entry) ck_assert_int_ne(x->op, HLO_OP_CUSTOM_CALL);
}
END_TEST

// --- export --------------------------------------------------------------------------------------

START_TEST(exporting) {
  hlo_module *m = imported(
      "module @m {\n"
      "func.func @main(%p: tensor<i1>, %x: tensor<2xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<2xf32>, "
      "tensor<2xi32>) {\n"
      "  %i = stablehlo.iota dim = 0 : tensor<2xi32>\n"
      "  %0:2 = \"stablehlo.sort\"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({\n"
      "  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):\n"
      "    %l = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "    stablehlo.return %l : tensor<i1>\n"
      "  }) : (tensor<2xf32>, tensor<2xi32>) -> (tensor<2xf32>, tensor<2xi32>)\n"
      "  %c = stablehlo.constant dense<[0x7FC00000, -1.5]> : tensor<2xf32>\n"
      "  %1 = \"stablehlo.if\"(%p) ({ stablehlo.return %0#0 : tensor<2xf32> }, { stablehlo.return %c : tensor<2xf32> "
      "}) : "
      "(tensor<i1>) -> tensor<2xf32>\n"
      "  return %1, %0#1 : tensor<2xf32>, tensor<2xi32>\n"
      "}}\n");
  strbuf b = {0};
  export_stablehlo(&b, m);
  ck_assert_str_eq(b.data,
                   "module @m {\n"
                   "  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<2xf32> {tf.aliasing_output = 0 : i32}) "
                   "-> (tensor<2xf32>, tensor<2xi32>) {\n"
                   "    %2 = \"stablehlo.iota\"() <{iota_dimension = 0 : i64}> : () -> (tensor<2xi32>)\n"
                   "    %3:2 = \"stablehlo.sort\"(%arg1, %2) <{dimension = 0 : i64, is_stable = true}> ({\n"
                   "      ^bb0(%4: tensor<f32>, %5: tensor<f32>, %6: tensor<i32>, %7: tensor<i32>):\n"
                   "        %8 = \"stablehlo.compare\"(%4, %5) <{comparison_direction = "
                   "#stablehlo<comparison_direction LT>, compare_type = "
                   "#stablehlo<comparison_type TOTALORDER>}> : (tensor<f32>, tensor<f32>) -> (tensor<i1>)\n"
                   "        \"stablehlo.return\"(%8) : (tensor<i1>) -> ()\n"
                   "      }) : (tensor<2xf32>, tensor<2xi32>) -> (tensor<2xf32>, tensor<2xi32>)\n"
                   "    %9 = \"stablehlo.constant\"() <{value = dense<[0x7FC00000, -1.5]> : tensor<2xf32>}> : () -> "
                   "(tensor<2xf32>)\n"
                   "    %10 = \"stablehlo.if\"(%arg0) ({\n"
                   "        \"stablehlo.return\"(%3#0) : (tensor<2xf32>) -> ()\n"
                   "      }, {\n"
                   "        %11 = \"stablehlo.constant\"() <{value = dense<[0x7FC00000, -1.5]> : tensor<2xf32>}> : () "
                   "-> (tensor<2xf32>)\n"
                   "        \"stablehlo.return\"(%11) : (tensor<2xf32>) -> ()\n"
                   "      }) : (tensor<i1>) -> (tensor<2xf32>)\n"
                   "    \"func.return\"(%10, %3#1) : (tensor<2xf32>, tensor<2xi32>) -> ()\n"
                   "  }\n"
                   "}\n");
  strbuf_deinit(&b);
}
END_TEST

START_TEST(any_program) {
  static const char mlir[] =
      "// HloModule, no\nfunc.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }\n";
  static const char hlo[] =
      "// a comment\nHloModule m\n\nENTRY %main (x: f32[]) -> f32[] {\n  ROOT %x = f32[] parameter(0)\n}\n";
  hlo_module *m;
  diag_sink sink;
  if (!memory) memory = arena_create();
  diag_sink_init(&sink, memory);
  ASSERT_OK(import_program(memory, STRV("a"), mlir, sizeof mlir - 1, NULL, &sink, &m));
  ck_assert_int_eq(m->entry->n_params, 1);
  ASSERT_OK(import_program(memory, STRV("b"), hlo, sizeof hlo - 1, NULL, &sink, &m));
  ck_assert_int_eq(m->entry->n_params, 1);
  ASSERT_FAILS(import_program(memory, STRV("c"), "ML\xEFRx", 5, NULL, &sink, &m), LEMNOS_INVALID_ARGUMENT, "c");
  diag_sink_deinit(&sink);
}
END_TEST

HARNESS_MAIN("import", calls_and_names, while_captures, branch_captures, windows_and_reducers, convolution_window,
             deprecated_forms, einsum, chlo_broadcasting, checks, structure, donation, entries, refusals, constraints,
             attribute_constraints, refinement, refinement_failures, refinement_of_calls, refinement_of_growth,
             refinement_of_slices, refinement_by_value, dynamic_broadcasting, complex_constant_like,
             dynamic_custom_calls, exporting, any_program)
