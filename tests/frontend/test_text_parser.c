// SPDX-License-Identifier: Apache-2.0
// The MLIR text parser and printer on literals: types, attributes, dense data, locations, pretty forms against their
// generic forms, errors and how parsing goes on after them, damaged text.
#include "frontend/mlir.h"
#include "tests/harness.h"

static arena *ar;
static diag_sink sink;

static void setup(void) {
  ar = arena_create();
  diag_sink_init(&sink, ar);
}

static void teardown(void) {
  diag_sink_deinit(&sink);
  arena_destroy(ar);
}

static mlir_module *parse(const char *text) {
  mlir_module *m = NULL;
  ASSERT_OK(mlir_parse_text(ar, STRV("t.mlir"), strv_from_cstr(text), &sink, &m));
  return m;
}

static mlir_op *first_op(mlir_module *m) {
  return m->op->regions[0].first->first;
}

// The attribute written in text, through an operation that carries it.
static const mlir_attr *attr(const char *text) {
  mlir_op *op = first_op(parse(arena_printf(ar, "\"test.op\"() {a = %s} : () -> ()", text)));
  return mlir_op_attr(op, "a");
}

static const mlir_type *type(const char *text) {
  return first_op(parse(arena_printf(ar, "%%0 = \"test.op\"() : () -> (%s)", text)))->results[0].type;
}

static void expect_printed(const char *expected, void (*print)(strbuf *, const void *), const void *what) {
  strbuf out = {0};
  print(&out, what);
  ck_assert_str_eq(out.data, expected);
  strbuf_deinit(&out);
}

static void print_type(strbuf *out, const void *t) {
  mlir_type_print(out, t);
}
static void print_attr(strbuf *out, const void *a) {
  mlir_attr_print(out, a);
}

// Parsing fails with this count of errors, and the first error reads so.
static void expect_error(const char *text, int n_errors, const char *message) {
  diag_sink s;
  diag_sink_init(&s, ar);
  mlir_module *m = NULL;
  lemnos_status status = mlir_parse_text(ar, STRV("t.mlir"), strv_from_cstr(text), &s, &m);
  ck_assert_msg(status != NULL, "accepted: %s", text);
  ck_assert_int_eq(lemnos_status_get_code(status), LEMNOS_INVALID_ARGUMENT);
  ck_assert_msg(strstr(lemnos_status_message(status), message) != NULL, "'%s' not in: %s", message,
                lemnos_status_message(status));
  ck_assert_msg(s.n_errors == n_errors, "%d errors, expected %d: %s", s.n_errors, n_errors,
                lemnos_status_message(status));
  ck_assert(m == NULL);
  lemnos_status_free(status);
  diag_sink_deinit(&s);
}

static void expect_equal(const char *a, const char *b) {
  const char *why = NULL;
  bool equal = mlir_equal(parse(a), parse(b), &why);
  ck_assert_msg(equal, "%s\n%s\n%s", why, a, b);
}

START_TEST(types_print_as_written) {
  setup();
  static const char *const texts[] = {
      "i1",
      "si8",
      "ui64",
      "index",
      "none",
      "f32",
      "bf16",
      "f8E4M3B11FNUZ",
      "f4E2M1FN",
      "f6E3M2FN",
      "tf32",
      "complex<f64>",
      "tensor<f32>",
      "tensor<0x1x4294967296xi8>",
      "tensor<?x3xcomplex<f32>>",
      "tensor<*xf32>",
      "tensor<2x?xf32, #stablehlo.type_extensions<bounds = [?, 4]>>",
      "vector<4xi32>",
      "memref<2x?xf32>",
      "tuple<>",
      "tuple<tensor<i1>, tuple<i8>>",
      "!stablehlo.token",
      "!stablehlo.future<tensor<f32>, tensor<i8>>",
      "!foo.bar<\"a>b\", [1 -> {2}]>",
      "tensor<4x!foo.bar>",
      "(i1, i2) -> (i3, i4)",
      "() -> ()",
      "((i1) -> i2) -> ((i3) -> i4)",
      "!quant.uniform<i8:f32, 5.0000000000000000e-01:5>",
      "!quant.uniform<u4<1:9>:bf16:1, {1.0000000000000000e+00, 2.5000000000000000e-01:-3}>",
      "!quant.uniform<i8:f32:{0:1, 1:2}, {1.0000000000000000e+00, 2.0000000000000000e+00:7}>",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) expect_printed(texts[i], print_type, type(texts[i]));
  expect_printed("tensor<2x?xf32, #stablehlo.type_extensions<bounds = [4, ?]>>", print_type,
                 type("tensor<2x?xf32, #stablehlo.bounds<4, ?>>"));
  mlir_module *m = parse("!t = tensor<2xf32>\n%0, %1 = \"test.op\"() : () -> (!t, tensor<2 x f32>)");
  ck_assert_ptr_eq(first_op(m)->results[0].type, first_op(m)->results[1].type);
  const mlir_quant *q = type("!quant.uniform<i8:f32:1, {0.5:-4, 2.0}>")->quant;
  ck_assert(q->axis == 1 && q->n_scales == 2 && q->scales[0] == 0.5 && q->zero_points[0] == -4);
  ck_assert(q->storage_min == -128 && q->storage_max == 127 && q->n_block_dims == 0);
  q = type("!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0, 2.0}, {3.0, 4.0:1}}>")->quant;
  ck_assert(q->n_block_dims == 2 && q->block_axes[1] == 1 && q->block_sizes[1] == 2 && q->n_scales == 4);
  ck_assert(q->scales[2] == 3.0 && q->zero_points[3] == 1);
  teardown();
}
END_TEST

START_TEST(attributes_have_their_values) {
  setup();
  ck_assert_int_eq(attr("unit")->kind, MLIR_ATTR_UNIT);
  ck_assert(attr("true")->kind == MLIR_ATTR_BOOL && attr("1 : i1")->integer == 1);
  ck_assert(attr("-7 : i32")->integer == -7 && attr("-7 : i32")->type->width == 32);
  ck_assert(attr("255 : i8")->integer == -1 && attr("255 : ui8")->integer == 255);
  ck_assert(attr("18446744073709551615 : ui64")->integer == -1 && attr("0xFF")->integer == 255);
  ck_assert(attr("1.5")->real == 1.5 && strv_eq_cstr(attr("1.5")->type->name, "f64"));
  ck_assert(attr("0.1 : f32")->real == (double)0.1f && attr("0x3F80 : bf16")->real == 1.0);
  ck_assert(attr("0x7FF0000000000000 : f64")->real > 1e308 && attr("-2.5e-1 : f16")->real == -0.25);
  const mlir_attr *s = attr("\"a\\n\\22\\00\\5Cb\"");
  ck_assert(s->string.len == 6 && memcmp(s->string.data, "a\n\"\0\\b", 6) == 0);
  const mlir_attr *sym = attr("@a::@\"b c\"");
  ck_assert(strv_eq_cstr(sym->string, "a") && sym->n_items == 1 && strv_eq_cstr(sym->items[0]->string, "b c"));
  const mlir_attr *list = attr("[1, \"x\", {k, l = i8}]");
  ck_assert(list->n_items == 3 && list->items[2]->n_entries == 2);
  ck_assert_int_eq(mlir_attr_entry(list->items[2], "k")->kind, MLIR_ATTR_UNIT);
  const mlir_attr *array = attr("array<i64: 1, -2>");
  ck_assert(array->data_size == 16 && ((const int64_t *)array->data)[1] == -2 && attr("array<i8>")->data_size == 0);
  ck_assert(((const uint8_t *)attr("array<i1: false, true>")->data)[1] == 1);
  static const char *const opaque[] = {"#sdy.sharding<@mesh, [{\"x\"}, {}]>", "#mhlo.sharding", "#foo<a -> b>",
                                       "affine_map<(d0) -> (d0)>"};
  for (int i = 0; i < 4; i++) {
    ck_assert_int_eq(attr(opaque[i])->kind, MLIR_ATTR_OPAQUE);
    expect_printed(opaque[i], print_attr, attr(opaque[i]));
  }
  teardown();
}
END_TEST

START_TEST(dialect_attributes_are_canonical) {
  setup();
  const mlir_attr *a = attr("#stablehlo<comparison_direction LT>");
  ck_assert(a->kind == MLIR_ATTR_DIALECT && strv_eq_cstr(a->dialect, "stablehlo"));
  ck_assert(strv_eq_cstr(a->mnemonic, "comparison_direction") && strv_eq_cstr(a->string, "LT"));
  a = attr("#stablehlo.gather<offset_dims = [1], index_vector_dim = 2>");
  const mlir_attr *offset = mlir_attr_entry(a, "offset_dims");
  ck_assert(offset->kind == MLIR_ATTR_DENSE_ARRAY && offset->data_size == 8 && *(const int64_t *)offset->data == 1);
  ck_assert_uint_eq(mlir_attr_entry(a, "start_index_map")->data_size, 0);
  ck_assert_int_eq(mlir_attr_entry(a, "index_vector_dim")->integer, 2);
  a = attr("#stablehlo.conv<[b, 1, 0, f]x[i, 0, 1, o]->[f, 0, 1, b]>");
  ck_assert_int_eq(mlir_attr_entry(a, "input_feature_dimension")->integer, 3);
  const int64_t *spatial = mlir_attr_entry(a, "input_spatial_dimensions")->data;
  ck_assert(spatial[0] == 2 && spatial[1] == 1);
  ck_assert_int_eq(mlir_attr_entry(a, "kernel_input_feature_dimension")->integer, 0);
  ck_assert_int_eq(mlir_attr_entry(a, "output_batch_dimension")->integer, 3);
  a = attr("#stablehlo.result_accuracy<rtol = 0.5, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>");
  ck_assert(mlir_attr_entry(a, "rtol")->real == 0.5 && mlir_attr_entry(a, "atol")->real == 0);
  ck_assert(strv_eq_cstr(mlir_attr_entry(a, "mode")->string, "TOLERANCE"));
  a = attr(
      "#stablehlo.dot_algorithm<lhs_precision_type = bf16, rhs_precision_type = tf32, accumulation_type = f32, "
      "lhs_component_count = 1, rhs_component_count = 2, num_primitive_operations = 3, "
      "allow_imprecise_accumulation = true>");
  ck_assert(strv_eq_cstr(mlir_attr_entry(a, "rhs_precision_type")->type->name, "tf32"));
  ck_assert_int_eq(mlir_attr_entry(a, "allow_imprecise_accumulation")->integer, 1);
  a = attr("#stablehlo.axis_ref<name = \"x\", sub_axis_info = (1)2>");
  ck_assert_int_eq(mlir_attr_entry(mlir_attr_entry(a, "sub_axis_info"), "size")->integer, 2);
  teardown();
}
END_TEST

// Bytes of a dense literal, as hexadecimal digits; a splat has "splat " in front.
static void expect_dense(const char *text, const char *expected) {
  const mlir_attr *a = attr(text);
  ck_assert_int_eq(a->kind, MLIR_ATTR_DENSE);
  strbuf out = {0};
  strbuf_append_cstr(&out, a->splat ? "splat " : "");
  for (size_t i = 0; i < a->data_size; i++) strbuf_printf(&out, "%02x", ((const uint8_t *)a->data)[i]);
  ck_assert_msg(strcmp(out.data, expected) == 0, "%s gives %s, not %s", text, out.data, expected);
  strbuf_deinit(&out);
}

START_TEST(dense_literals) {
  setup();
  expect_dense("dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>", "01fe0304");
  expect_dense("dense<7> : tensor<3xi16>", "splat 0700");
  expect_dense("dense<> : tensor<0x3xf32>", "");
  expect_dense("dense<[true, false]> : tensor<2xi1>", "0100");
  expect_dense("dense<[15, -8, 7]> : tensor<3xi4>", "fff807");
  expect_dense("dense<[15, 1]> : tensor<2xui4>", "0f01");
  expect_dense("dense<[1.0, -0.5]> : tensor<2xf32>", "0000803f000000bf");
  expect_dense("dense<0x7FC00000> : tensor<f32>", "splat 0000c07f");
  expect_dense("dense<0xFF80> : tensor<2xbf16>", "splat 80ff");
  expect_dense("dense<[1.0, 65504.0, 0.1]> : tensor<3xf16>", "003cff7b662e");
  expect_dense("dense<[1.0, 448.0, -0.0]> : tensor<3xf8E4M3FN>", "387e80");
  expect_dense("dense<[6.0, 0.5]> : tensor<2xf4E2M1FN>", "0701");
  expect_dense("dense<[(1.0, 2.0), (0.0, -1.0)]> : tensor<2xcomplex<f32>>", "0000803f0000004000000000000080bf");
  expect_dense("dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>", "splat 0000803f00000040");
  expect_dense("dense<\"0x0102030405060708\"> : tensor<2xi32>", "0102030405060708");
  expect_dense("dense<\"0x01020304\"> : tensor<2xi32>", "splat 01020304");
  expect_dense("dense<\"0x0B\"> : tensor<4xi1>", "01010001");  // packed, lowest bit first
  expect_dense("dense<\"0x0100\"> : tensor<2xi1>", "0100");    // a byte each
  expect_dense("dense<\"0xFF\"> : tensor<100xi1>", "splat 01");
  expect_dense("dense<\"0x0F01\"> : tensor<2xi4>", "ff01");
  // One rounding only: this is above the middle of two f32, but its nearest double is that middle.
  expect_dense("dense<1.00000005960464477539062500001> : tensor<f32>", "splat 0100803f");
  expect_dense("dense<1.000000059604644775390625> : tensor<f32>", "splat 0000803f");
  expect_dense("dense<16777217.0> : tensor<f32>", "splat 0000804b");
  const mlir_attr *strings = attr("dense<[\"a\", \"b\\22\"]> : tensor<2x!foo.string>");
  ck_assert(strings->n_items == 2 && strv_eq_cstr(strings->items[1]->string, "b\""));
  mlir_module *m = parse(
      "\"test.op\"() {a = dense_resource<blob> : tensor<2xi16>} : () -> ()\n"
      "{-# dialect_resources: { builtin: { other: \"0x\", blob: \"0x0200000001000200\" } }, "
      "external_resources: { x: { y: true } } #-}\n");
  const mlir_attr *a = mlir_op_attr(first_op(m), "a");
  ck_assert(a->kind == MLIR_ATTR_DENSE && a->data_size == 4 && memcmp(a->data, "\1\0\2\0", 4) == 0);
  expect_equal("\"t.o\"() {a = dense<[5, 5]> : tensor<2xi8>} : () -> ()",
               "\"t.o\"() {a = dense<5> : tensor<2xi8>} : () -> ()");
  teardown();
}
END_TEST

START_TEST(locations) {
  setup();
  mlir_module *m = parse(
      "#loc = loc(unknown)\n"
      "\"t.a\"() : () -> () loc(\"f.py\":3:7)\n"
      "\"t.b\"() : () -> () loc(\"f.py\":3:7 to :9)\n"
      "\"t.c\"() : () -> () loc(\"name\"(#late))\n"
      "\"t.d\"() : () -> () loc(callsite(\"g\" at fused<\"m\">[#late, unknown]))\n"
      "\"t.e\"() : () -> () loc(#loc)\n"
      "  \"t.f\"() : () -> ()\n"
      "\"t.g\"() {l = loc(\"f.py\":1:2)} : () -> () loc(#late)\n"
      "#late = loc(\"late.py\":8:9)\n");
  mlir_op *op = first_op(m);
  ck_assert(op->loc->kind == LOC_FILE && op->loc->line == 3 && op->loc->col == 7);
  op = op->next;
  ck_assert(op->loc->kind == LOC_FILE && op->loc->line == 3 && op->loc->col == 7);
  op = op->next;
  ck_assert(op->loc->kind == LOC_NAME && strv_eq_cstr(op->loc->name, "name") && op->loc->child->line == 8);
  op = op->next;
  ck_assert(op->loc->kind == LOC_CALLSITE && strv_eq_cstr(op->loc->child->name, "g"));
  ck_assert(op->loc->caller->kind == LOC_FUSED && op->loc->caller->n_fused == 2);
  ck_assert(op->loc->caller->fused[0]->col == 9 && op->loc->caller->fused[1] == NULL);
  op = op->next;
  ck_assert_ptr_null(op->loc);
  op = op->next;  // without a location: where it stands in the text
  ck_assert(op->loc->kind == LOC_FILE && op->loc->line == 7 && op->loc->col == 3);
  ck_assert(strv_eq_cstr(op->loc->name, "t.mlir"));
  ck_assert(strv_eq_cstr(op->next->loc->name, "late.py"));
  // What "applies" stands for takes the location of the reduction, also one that is defined later.
  m = parse(
      "func.func @f(%a: tensor<4xf32>, %s: tensor<f32>) {\n"
      "  %0 = stablehlo.reduce(%a init: %s) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, "
      "tensor<f32>) -> tensor<f32> loc(#l)\n  return\n}\n#l = loc(\"here\")\n");
  op = first_op(m)->regions[0].first->first;
  ck_assert(strv_eq_cstr(op->loc->name, "here") && op->regions[0].first->first->loc == op->loc);
  ck_assert_ptr_eq(op->regions[0].first->last->loc, op->loc);
  teardown();
}
END_TEST

START_TEST(functions) {
  setup();
  mlir_module *m = parse(
      "module @jit_f attributes {mhlo.num_partitions = 1 : i32} {\n"
      "  func.func public @main(%arg0: tensor<f32> {mhlo.sharding = \"x\"} loc(\"a\"), %b: i1) -> "
      "(tensor<f32> {jax.result_info = \"y\"}) attributes {noinline} {\n"
      "    %0:2 = call @g(%arg0) : (tensor<f32>) -> (tensor<f32>, tensor<f32>) loc(\"c\")\n"
      "    return %0#1 : tensor<f32>\n  }\n"
      "  func.func private @g(tensor<f32>) -> (tensor<f32>, tensor<f32>)\n}\n");
  ck_assert_str_eq(arena_strv(ar, m->op->name).data, "builtin.module");
  ck_assert_int_eq(mlir_op_attr(m->op, "mhlo.num_partitions")->integer, 1);
  mlir_op *f = first_op(m);
  ck_assert(strv_eq_cstr(f->name, "func.func") && strv_eq_cstr(mlir_op_attr(f, "sym_name")->string, "main"));
  ck_assert(strv_eq_cstr(mlir_op_attr(f, "sym_visibility")->string, "public"));
  const mlir_type *t = mlir_op_attr(f, "function_type")->type;
  ck_assert(t->kind == MLIR_TYPE_FUNCTION && t->n_inputs == 2 && t->n_types == 3);
  ck_assert(mlir_op_attr(f, "arg_attrs")->n_items == 2 && mlir_op_attr(f, "arg_attrs")->items[1]->n_entries == 0);
  ck_assert(mlir_op_attr(f, "res_attrs")->n_items == 1 && mlir_op_attr(f, "noinline")->kind == MLIR_ATTR_UNIT);
  mlir_block *body = f->regions[0].first;
  ck_assert(body->n_args == 2 && strv_eq_cstr(body->args[1].name, "b") && body->parent == &f->regions[0]);
  mlir_op *call = body->first, *ret = body->last;
  ck_assert(strv_eq_cstr(call->name, "func.call") && strv_eq_cstr(mlir_op_attr(call, "callee")->string, "g"));
  ck_assert(ret->operands[0] == &call->results[1] && call->operands[0] == &body->args[0]);
  ck_assert(f->next->regions[0].first == NULL && mlir_op_attr(f->next, "arg_attrs") == NULL);
  teardown();
}
END_TEST

// A pretty operation in a function against its generic form; %a, %b: tensor<2x3xf32>, %i: tensor<i32>, %p:
// tensor<2x3xi1>.
static void expect_form(const char *pretty, const char *generic) {
  static const char head[] =
      "func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %i: tensor<i32>, %p: tensor<2x3xi1>, %s: tensor<f32>, "
      "%t: !stablehlo.token, %z: tensor<2x3xcomplex<f32>>, %v: tensor<2xi64>) {\n  ";
  expect_equal(arena_printf(ar, "%s%s\n  return\n}\n", head, pretty),
               arena_printf(ar, "%s%s\n  \"func.return\"() : () -> ()\n}\n", head, generic));
}

#define F "tensor<2x3xf32>"

START_TEST(pretty_elementwise_forms) {
  setup();
  expect_form("%0 = stablehlo.add %a, %b {x = 1 : i32} : " F,
              "%0 = \"stablehlo.add\"(%a, %b) <{x = 1 : i32}> : (" F ", " F ") -> " F);
  expect_form("%0 = stablehlo.convert %a : (" F ") -> tensor<2x3xi1>",
              "%0 = \"stablehlo.convert\"(%a) : (" F ") -> tensor<2x3xi1>");
  expect_form("%0 = stablehlo.complex %a, %b : tensor<2x3xcomplex<f32>>",
              "%0 = \"stablehlo.complex\"(%a, %b) : (" F ", " F ") -> tensor<2x3xcomplex<f32>>");
  expect_form("%0 = stablehlo.compare  LT, %a, %b,  FLOAT : (" F ", " F ") -> tensor<2x3xi1>",
              "%0 = \"stablehlo.compare\"(%a, %b) {comparison_direction = #stablehlo<comparison_direction LT>, "
              "compare_type = #stablehlo.comparison_type<FLOAT>} : (" F ", " F ") -> tensor<2x3xi1>");
  expect_form("%0 = stablehlo.select %p, %a, %b : tensor<2x3xi1>, " F,
              "%0 = \"stablehlo.select\"(%p, %a, %b) : (tensor<2x3xi1>, " F ", " F ") -> " F);
  expect_form("%0 = stablehlo.clamp %s, %a, %s : (tensor<f32>, " F ", tensor<f32>) -> " F,
              "%0 = \"stablehlo.clamp\"(%s, %a, %s) : (tensor<f32>, " F ", tensor<f32>) -> " F);
  expect_form("%0 = stablehlo.reduce_precision %a, format = e5m10 : " F,
              "%0 = \"stablehlo.reduce_precision\"(%a) {exponent_bits = 5 : i32, mantissa_bits = 10 : i32} : (" F
              ") -> " F);
  expect_form("%0 = chlo.next_after %a, %b : " F ", " F " -> " F,
              "%0 = \"chlo.next_after\"(%a, %b) : (" F ", " F ") -> " F);
  expect_form("%0 = chlo.broadcast_add %a, %s {broadcast_dimensions = array<i64>} : (" F ", tensor<f32>) -> " F,
              "%0 = \"chlo.broadcast_add\"(%a, %s) {broadcast_dimensions = array<i64>} : (" F ", tensor<f32>) -> " F);
  expect_form("%0:2 = chlo.top_k(%a, k = 2, is_stable = false) : " F " -> (tensor<2x2xf32>, tensor<2x2xi32>)",
              "%0:2 = \"chlo.top_k\"(%a) {k = 2 : i64, is_stable = false} : (" F
              ") -> (tensor<2x2xf32>, tensor<2x2xi32>)");
  expect_form("check.expect_almost_eq_const %s, dense<1.0> : tensor<f32>, tolerance = 0.5",
              "\"check.expect_almost_eq_const\"(%s) {value = dense<1.0> : tensor<f32>, tolerance = 0.5 : f64} : "
              "(tensor<f32>) -> ()");
  expect_form("check.expect_almost_eq %a, %b, tolerance = 0.5 : " F,
              "\"check.expect_almost_eq\"(%a, %b) {tolerance = 0.5 : f64} : (" F ", " F ") -> ()");
  expect_form("check.expect_close %a, %b, max_ulp_difference = 3 : " F ", " F,
              "\"check.expect_close\"(%a, %b) {max_ulp_difference = 3 : ui64} : (" F ", " F ") -> ()");
  teardown();
}
END_TEST

START_TEST(pretty_data_movement_forms) {
  setup();
  expect_form("%0 = stablehlo.constant {k} dense<1.0> : tensor<4xf32>",
              "%0 = \"stablehlo.constant\"() {value = dense<1.0> : tensor<4xf32>, k} : () -> tensor<4xf32>");
  expect_form("%0 = stablehlo.iota dim = 1 : tensor<2x3xi32>",
              "%0 = \"stablehlo.iota\"() {iota_dimension = 1 : i64} : () -> tensor<2x3xi32>");
  expect_form("%0 = stablehlo.slice %a [0:2, 0:3:2] : (" F ") -> tensor<2x2xf32>",
              "%0 = \"stablehlo.slice\"(%a) {start_indices = array<i64: 0, 0>, limit_indices = array<i64: 2, 3>, "
              "strides = array<i64: 1, 2>} : (" F ") -> tensor<2x2xf32>");
  expect_form("%0 = stablehlo.dynamic_slice %a, %i, %i, sizes = [1, 2] : (" F
              ", tensor<i32>, tensor<i32>) -> "
              "tensor<1x2xf32>",
              "%0 = \"stablehlo.dynamic_slice\"(%a, %i, %i) {slice_sizes = array<i64: 1, 2>} : (" F
              ", tensor<i32>, tensor<i32>) -> tensor<1x2xf32>");
  expect_form("%0 = stablehlo.pad %a, %s, low = [0, -1], high = [2, 0], interior = [0, 1] : (" F
              ", tensor<f32>) -> "
              "tensor<4x4xf32>",
              "%0 = \"stablehlo.pad\"(%a, %s) {edge_padding_low = array<i64: 0, -1>, edge_padding_high = "
              "array<i64: 2, 0>, interior_padding = array<i64: 0, 1>} : (" F ", tensor<f32>) -> tensor<4x4xf32>");
  expect_form("%0 = stablehlo.concatenate %a, %b, dim = 0 : (" F ", " F ") -> tensor<4x3xf32>",
              "%0 = \"stablehlo.concatenate\"(%a, %b) {dimension = 0 : i64} : (" F ", " F ") -> tensor<4x3xf32>");
  expect_form("%0 = stablehlo.transpose %a, dims = [1, 0] : (" F ") -> tensor<3x2xf32>",
              "%0 = \"stablehlo.transpose\"(%a) {permutation = array<i64: 1, 0>} : (" F ") -> tensor<3x2xf32>");
  expect_form(
      "%0 = stablehlo.dynamic_broadcast_in_dim %s, %v, dims = [] : (tensor<f32>, tensor<2xi64>) -> "
      "tensor<?x?xf32>",
      "%0 = \"stablehlo.dynamic_broadcast_in_dim\"(%s, %v) {broadcast_dimensions = array<i64>} : "
      "(tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>");
  expect_form(
      "%0 = stablehlo.tuple %s, %t : tuple<tensor<f32>, !stablehlo.token>\n"
      "%1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<f32>, !stablehlo.token>) -> tensor<f32>",
      "%0 = \"stablehlo.tuple\"(%s, %t) : (tensor<f32>, !stablehlo.token) -> "
      "tuple<tensor<f32>, !stablehlo.token>\n%1 = \"stablehlo.get_tuple_element\"(%0) {index = 0 : i32} : "
      "(tuple<tensor<f32>, !stablehlo.token>) -> tensor<f32>");
  expect_form("stablehlo.custom_call @\"t x\"(%s) {has_side_effect = true} : (tensor<f32>) -> ()",
              "\"stablehlo.custom_call\"(%s) {call_target_name = \"t x\", has_side_effect = true} : "
              "(tensor<f32>) -> ()");
  expect_form("%0 = stablehlo.composite \"n.s\" %s {decomposition = @d} : (tensor<f32>) -> tensor<f32>",
              "%0 = \"stablehlo.composite\"(%s) {name = \"n.s\", decomposition = @d} : (tensor<f32>) -> tensor<f32>");
  expect_form(
      "stablehlo.optimization_barrier ()\n%0:2 = stablehlo.optimization_barrier %s, %t : tensor<f32>, "
      "!stablehlo.token",
      "\"stablehlo.optimization_barrier\"() : () -> ()\n%0:2 = \"stablehlo.optimization_barrier\"(%s, %t) : "
      "(tensor<f32>, !stablehlo.token) -> (tensor<f32>, !stablehlo.token)");
  expect_form("%0 = stablehlo.after_all %t, %t : !stablehlo.token\n%1 = stablehlo.replica_id : tensor<ui32>",
              "%0 = \"stablehlo.after_all\"(%t, %t) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token\n"
              "%1 = \"stablehlo.replica_id\"() : () -> tensor<ui32>");
  expect_form("%0 = stablehlo.cholesky %a, lower = true : " F
              "\n%1 = stablehlo.fft %z, type = RFFT, length = [3] : "
              "(tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>",
              "%0 = \"stablehlo.cholesky\"(%a) {lower = true} : (" F ") -> " F
              "\n%1 = \"stablehlo.fft\"(%z) "
              "{fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 3>} : (tensor<2x3xcomplex<f32>>) -> "
              "tensor<2x3xcomplex<f32>>");
  teardown();
}
END_TEST

START_TEST(pretty_contractions) {
  setup();
  expect_form(
      "%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1], "
      "precision = [DEFAULT, HIGHEST] : (" F ", " F ") -> tensor<2xf32>",
      "%0 = \"stablehlo.dot_general\"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<"
      "lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], "
      "rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, "
      "#stablehlo<precision HIGHEST>]} : (" F ", " F ") -> tensor<2xf32>");
  expect_form(
      "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1], algorithm = <lhs_precision_type = f32, "
      "rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, "
      "num_primitive_operations = 1, allow_imprecise_accumulation = false> : (" F ", " F ") -> tensor<2x2xf32>",
      "%0 = \"stablehlo.dot_general\"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<"
      "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, algorithm = "
      "#stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, "
      "lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, "
      "allow_imprecise_accumulation = false>} : (" F ", " F ") -> tensor<2x2xf32>");
  expect_form(
      "%0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f]x[i, o]->[b, f], window = {stride = [], "
      "pad = [[1, 2], [3, 4]], reverse = [true, false]} {feature_group_count = 1 : i64} : (" F ", " F ") -> " F,
      "%0 = \"stablehlo.convolution\"(%a, %b) {dimension_numbers = #stablehlo.conv<raw input_batch_dimension = "
      "0, input_feature_dimension = 1, input_spatial_dimensions = [], kernel_input_feature_dimension = 0, "
      "kernel_output_feature_dimension = 1, kernel_spatial_dimensions = [], output_batch_dimension = 0, "
      "output_feature_dimension = 1, output_spatial_dimensions = []>, window_strides = array<i64>, padding = "
      "dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>, window_reversal = array<i1: true, false>, "
      "feature_group_count = 1 : i64} : (" F ", " F ") -> " F);
  teardown();
}
END_TEST

START_TEST(pretty_regions) {
  setup();
  static const char *const reduce =
      "%0 = \"stablehlo.reduce\"(%a, %s) <{dimensions = array<i64: 1>}> ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
      "  %1 = \"stablehlo.add\"(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"
      "  \"stablehlo.return\"(%1) : (tensor<f32>) -> ()\n}) : (" F ", tensor<f32>) -> tensor<2xf32>";
  expect_form("%0 = stablehlo.reduce(%a init: %s) applies stablehlo.add across dimensions = [1] : (" F
              ", tensor<f32>) -> tensor<2xf32>",
              reduce);
  expect_form("%0 = stablehlo.reduce(%a init: %s) across dimensions = [1] : (" F
              ", tensor<f32>) -> tensor<2xf32>\n"
              " reducer(%x: tensor<f32> loc(unknown), %y: tensor<f32>) {\n    %1 = stablehlo.add %x, %y : tensor<f32>\n"
              "    stablehlo.return %1 : tensor<f32>\n  } loc(\"r\")",
              reduce);
  // Two inputs: the block's arguments are the elements first, then the accumulators.
  mlir_module *m = parse(
      "func.func @f(%a: tensor<2xf32>, %b: tensor<2xi32>, %s: tensor<f32>, %i: tensor<i32>) {\n"
      "  %0:2 = stablehlo.reduce(%a init: %s), (%b init: %i) across dimensions = [0] : (tensor<2xf32>, tensor<2xi32>, "
      "tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)\n"
      "   reducer(%x: tensor<f32>, %y: tensor<f32>) (%z: tensor<i32>, %w: tensor<i32>) {\n"
      "    stablehlo.return %x, %w : tensor<f32>, tensor<i32>\n  }\n  return\n}\n");
  mlir_block *body = first_op(m)->regions[0].first->first->regions[0].first;
  ck_assert(body->n_args == 4 && strv_eq_cstr(body->args[1].name, "z") && strv_eq_cstr(body->args[2].name, "y"));
  ck_assert(first_op(m)->regions[0].first->first->operands[2] == &first_op(m)->regions[0].first->args[2]);
  expect_form(
      "%0:2 = stablehlo.while(%j = %i, %k = %s) : tensor<i32>, tensor<f32> attributes {u}\n cond {\n"
      "  %c = stablehlo.compare LT, %j, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "  stablehlo.return %c : tensor<i1>\n} do {\n  stablehlo.return %j, %k : tensor<i32>, tensor<f32>\n}",
      "%0:2 = \"stablehlo.while\"(%i, %s) ({\n^bb0(%j: tensor<i32>, %k: tensor<f32>):\n"
      "  %c = \"stablehlo.compare\"(%j, %j) {comparison_direction = #stablehlo<comparison_direction LT>} : "
      "(tensor<i32>, tensor<i32>) -> tensor<i1>\n  \"stablehlo.return\"(%c) : (tensor<i1>) -> ()\n}, {\n"
      "^bb0(%j: tensor<i32>, %k: tensor<f32>):\n  \"stablehlo.return\"(%j, %k) : (tensor<i32>, tensor<f32>) -> "
      "()\n}) {u} : (tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>)");
  teardown();
}
END_TEST

START_TEST(errors_show_place_and_expectation) {
  setup();
  expect_error("%0 = stablehlo.add %a, %a : tensor<f32>", 2, "t.mlir:1:20: error: use of undefined value '%a'");
  expect_error(
      "func.func @f(%a: tensor<f32>) {\n  %0 = stablehlo.abs %a : tensor<i8>\n  return\n}", 1,
      "t.mlir:2:22: error: value '%a' is used with type 'tensor<i8>', but was defined with type 'tensor<f32>'\n"
      "    %0 = stablehlo.abs %a : tensor<i8>\n                       ^");
  expect_error("func.func @f(%a: i1) {\n  %a = \"t.o\"() : () -> i1\n}", 1,
               "2:3: error: value '%a' is already defined in line 1");
  expect_error("%0:2 = \"t.o\"() : () -> i1", 1, "has 1 result(s), but 2 are named");
  expect_error("%0 = \"t.o\"() : () -> i1\n\"t.p\"(%0#1) : (i1) -> ()", 1, "has 1 result(s), there is no #1");
  expect_error("%0 = \"t.o\"() : () -> i1\nfunc.func @f() { \"t.p\"(%0) : (i1) -> () }", 1,
               "defined outside this function");
  expect_error("\"t.o\"() : (i1) -> ()", 1, "0 operands, but 1 operand types");
  expect_error("\"t.o\"() {a = 1, a = 2} : () -> ()", 1, "1:17: error: attribute 'a' is given twice");
  expect_error("\"t.o\"() {a = 300 : i8} : () -> ()", 1, "does not fit into 8 bits");
  expect_error("\"t.o\"() {a = 1 : f32} : () -> ()", 1, "expected a floating-point literal");
  expect_error("\"t.o\"() {a = dense<[1, 2]> : tensor<3xi8>} : () -> ()", 1,
               "2 elements in dimension 0, where the type has 3");
  expect_error("\"t.o\"() {a = dense<[[1], 2]> : tensor<2x1xi8>} : () -> ()", 1,
               "1:26: error: expected '[', found '2'");
  expect_error("\"t.o\"() {a = dense<[1]> : tensor<9999999999xi8>} : () -> ()", 1, "fewer elements");
  expect_error("\"t.o\"() {a = dense<\"0x01\"> : tensor<3xi16>} : () -> ()", 1,
               "1 bytes, where the type has 3 elements");
  expect_error("\"t.o\"() {a = dense_resource<x> : tensor<3xi16>} : () -> ()", 1, "resource 'x' is not in the file");
  expect_error("\"t.o\"() {a = #nope} : () -> ()", 1, "expected an attribute alias that is defined above");
  expect_error("\"t.o\"() : () -> () loc(#nope)", 1, "location alias '#nope' is not defined");
  expect_error("\"t.o\"() {a = #stablehlo<fft_type X>} : () -> ()", 1,
               "expected one of FFT IFFT RFFT IRFFT, found 'X'");
  expect_error("\"t.o\"() {a = #stablehlo.gather<x = 1>} : () -> ()", 1, "'x' is not a field of #stablehlo.gather");
  expect_error("\"t.o\"() : () -> tensor<4yf32>", 1, "1:25: error: expected 'x' after the dimension");
  expect_error("foo.bar %a", 1, "unknown operation 'foo.bar'");
  expect_error("module {\n", 1, "1:8: error: this region is never closed");
  expect_error("\"t.o", 1, "a string that does not end on its line");
  expect_error("", 1, "the file is empty");
  teardown();
}
END_TEST

// After an error the parser goes on with the next statement, and uses of a value whose operation failed are silent.
START_TEST(parsing_goes_on) {
  setup();
  expect_error(
      "func.func @f(%a: tensor<f32>) -> tensor<f32> {\n"
      "  %0 = stablehlo.add %a %a : tensor<f32>\n"
      "  %1 = stablehlo.abs %0 : tensor<f32>\n"
      "  %2 = stablehlo.while(%i = %a) : tensor<f32> cond {\n"
      "    %3 = stablehlo.constant dense<x> : tensor<i1>\n"
      "    stablehlo.return %3 : tensor<i1>\n"
      "  } do {\n    stablehlo.return %i : tensor<f64>\n  }\n"
      "  return %2 : tensor<f32>\n}\n"
      "func.func @g() {\n  %0 = stablehlo.what\n  return\n}\n",
      4, "t.mlir:2:25: error: expected ',', found '%a'");
  teardown();
}
END_TEST

static char *repeat(const char *s, int n) {
  strbuf b = {0};
  for (int i = 0; i < n; i++) strbuf_append_cstr(&b, s);
  char *out = arena_copy(ar, b.data, b.len + 1);
  strbuf_deinit(&b);
  return out;
}

START_TEST(hostile_nesting_is_refused) {
  setup();
  const char *deep = "nesting is deeper than 256 levels";
  expect_error(arena_printf(ar, "\"t.o\"() {a = %s", repeat("[", 100000)), 1, deep);
  expect_error(arena_printf(ar, "\"t.o\"() : () -> %s", repeat("tuple<", 100000)), 1, deep);
  expect_error(arena_printf(ar, "\"t.o\"() : () -> () loc(%s", repeat("callsite(", 100000)), 1, deep);
  expect_error(arena_printf(ar, "\"t.o\"() {a = #foo<%s", repeat("<", 100000)), 1, deep);
  diag_sink s;
  diag_sink_init(&s, ar);
  mlir_module *m = NULL;
  lemnos_status status = mlir_parse_text(ar, STRV("t"), strv_from_cstr(repeat("module {", 100000)), &s, &m);
  ck_assert(status != NULL);
  lemnos_status_free(status);
  // Aliases that double each time, and aliases that nest one deeper each time.
  strbuf doubling = {0}, chain = {0};
  strbuf_append_cstr(&doubling, "#a0 = [1, 1]\n");
  strbuf_append_cstr(&chain, "#a0 = [1]\n");
  for (int i = 1; i < 1000; i++) {
    strbuf_printf(&doubling, "#a%d = [#a%d, #a%d]\n", i, i - 1, i - 1);
    strbuf_printf(&chain, "#a%d = [#a%d]\n", i, i - 1);
  }
  for (int i = 0; i < 2; i++) {
    diag_sink_deinit(&s);
    diag_sink_init(&s, ar);
    status = mlir_parse_text(ar, STRV("t"), strbuf_view(i ? &chain : &doubling), &s, &m);
    ck_assert(status != NULL && strstr(lemnos_status_message(status), "makes the attribute too large"));
    lemnos_status_free(status);
  }
  strbuf_deinit(&doubling);
  strbuf_deinit(&chain);
  diag_sink_deinit(&s);
  teardown();
}
END_TEST

static const char sample[] =
    "#l0 = loc(\"f.py\":1:2)\n!t = tensor<2x2xf32>\nmodule @m attributes {a.b = [1, {c = \"d\\22\"}]} {\n"
    "  func.func public @main(%arg0: !t {x.y = #sdy.s<@m, [{\"x\"}]>}, %arg1: tensor<f32>) -> (tensor<2xf32>, i1) {\n"
    "    %0:2 = \"t.o\"(%arg0) <{p = array<i64: 1, 2>}> ({\n    ^bb0(%x: i1, %y: !quant.uniform<i8:f32:0, {0.1:3, "
    "2.0}>):\n"
    "      \"t.r\"(%x) : (i1) -> ()\n    }, {\n    }) {q = dense<\"0x0102\"> : tensor<2xi8>} : (!t) -> (i1, i1)\n"
    "    %1 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.maximum across dimensions = [1] : (!t, "
    "tensor<f32>) "
    "-> tensor<2xf32> loc(callsite(\"a\"(#l0) at fused[#l0, unknown]))\n"
    "    %2 = stablehlo.constant dense<[(1.0, 0x7FC00000), (-2.5e-3, 0.0)]> : tensor<2xcomplex<f32>>\n"
    "    %3 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [0], precision = [HIGH, DEFAULT] : (!t, !t) "
    "-> !t\n"
    "    return %1, %0#1 : tensor<2xf32>, i1 loc(#late)\n  }\n}\n#late = loc(\"z\")\n"
    "{-# dialect_resources: { builtin: { k: \"0x0400000000\" } } #-}\n";

START_TEST(damaged_text) {
  setup();
  (void)parse(sample);
  uint64_t random = 5;
  int accepted = 0;
  size_t size = sizeof sample - 1;
  for (int i = 0; i < 6000; i++) {
    arena *a = arena_create();
    diag_sink s;
    diag_sink_init(&s, a);
    size_t n = size;
    char *copy = heap_alloc(size);
    memcpy(copy, sample, size);
    random = hash_u64((uint64_t)i, random);
    size_t at = random % size;
    if (i % 3 == 0)
      n = at;
    else if (i % 3 == 1)
      copy[at] = (char)(copy[at] ^ (1 << (random >> 40 & 7)));
    else
      copy[at] = "(){}[]<>,:=\"%#!@^-0"[random >> 40 & 15];
    char *exact = heap_alloc(n + 1);  // what lies behind the text must not matter
    memcpy(exact, copy, n);
    mlir_module *m = NULL;
    lemnos_status status = mlir_parse_text(a, STRV("t"), (strv){exact, n}, &s, &m);
    accepted += status == NULL;
    lemnos_status_free(status);
    free(exact);
    free(copy);
    diag_sink_deinit(&s);
    arena_destroy(a);
  }
  ck_assert_int_gt(accepted, 0);
  teardown();
}
END_TEST

START_TEST(printed_modules_parse_to_equals) {
  setup();
  mlir_module *m = parse(sample);
  for (int locs = 0; locs < 2; locs++) {
    strbuf out = {0};
    mlir_print(&out, m, locs);
    mlir_module *again = parse(arena_strv(ar, strbuf_view(&out)).data);
    const char *why = NULL;
    ck_assert_msg(mlir_equal(m, again, &why), "%s", why);
    strbuf_deinit(&out);
  }
  const char *why = NULL;
  mlir_module *other = parse("module @m {}");
  ck_assert(!mlir_equal(m, other, &why) && strstr(why, "a.b"));
  teardown();
}
END_TEST

HARNESS_MAIN("text_parser", types_print_as_written, attributes_have_their_values, dialect_attributes_are_canonical,
             dense_literals, locations, functions, pretty_elementwise_forms, pretty_data_movement_forms,
             pretty_contractions, pretty_regions, errors_show_place_and_expectation, parsing_goes_on,
             hostile_nesting_is_refused, damaged_text, printed_modules_parse_to_equals)
