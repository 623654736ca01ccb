// SPDX-License-Identifier: Apache-2.0
// The verifier: each constraint of verify_cases.def is refused by its label and each good case accepted; elementwise
// operations are tried with every element type; broken structures of every kind are reported, never followed.
#include "tests/hlo/cases.h"

START_TEST(cases_verify) {
  static const struct {
    const char *label, *params, *root;
  } rows[] = {
#define GOOD(params, root) {NULL, params, root},
#define GIVEN(params, root) {NULL, params, root},
#define BAD(label, params, root) {label, params, root},
#include "tests/hlo/verify_cases.def"
#undef GOOD
#undef GIVEN
#undef BAD
  };
  strbuf wrong = {0};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    arena *a = arena_create();
    hlo_module *m = NULL;
    lemnos_status s = case_parse(a, rows[i].params, rows[i].root, &m);
    if (!s) s = hlo_verify(m, NULL);
    strbuf want = {0};
    strbuf_printf(&want, "%s: ", rows[i].label ? rows[i].label : "");
    bool ok = rows[i].label ? s && strstr(lemnos_status_message(s), want.data) : !s;
    if (!ok) {
      strbuf_printf(&wrong, "\n%s | %s\n  expected %s, found %s", rows[i].params, rows[i].root,
                    rows[i].label ? rows[i].label : "success", s ? lemnos_status_message(s) : "success");
    }
    strbuf_deinit(&want);
    lemnos_status_free(s);
    arena_destroy(a);
  }
  ck_assert_msg(wrong.len == 0, "%s", wrong.data);
  strbuf_deinit(&wrong);
}
END_TEST

// Dimension numbers that the text form cannot express, for convolution and dynamic_conv.
static void check_dimension_numbers(const char *op, const char *params, const char *root) {
  static const struct {
    const char *constraint;
    size_t field;
    int64_t value;
  } rows[] = {
      {"c13", offsetof(hlo_conv_dnums, input_batch), 1},
      {"c13", offsetof(hlo_conv_dnums, input_feature), 4},
      {"c18", offsetof(hlo_conv_dnums, kernel_input_feature), 0},
      {"c18", offsetof(hlo_conv_dnums, kernel_output_feature), -1},
      {"c20", offsetof(hlo_conv_dnums, output_batch), 3},
      {"c20", offsetof(hlo_conv_dnums, output_feature), INT64_MAX},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    arena *a = arena_create();
    hlo_module *m = case_module(a, params, root);
    char label[40];
    snprintf(label, sizeof label, "%s_%s: ", op, rows[i].constraint);
    ASSERT_OK(hlo_verify(m, NULL));
    *(int64_t *)((char *)&HLO_ATTRS(m->entry->root, convolution)->dnums + rows[i].field) = rows[i].value;
    ASSERT_FAILS(hlo_verify(m, NULL), LEMNOS_INVALID_ARGUMENT, label);
    arena_destroy(a);
  }
}

START_TEST(convolution_dimension_numbers) {
  check_dimension_numbers("convolution", "f32[1,4,4,6];f32[2,2,6,8]",
                          "f32[1,3,3,8] convolution($0, $1), window={size=2x2}, dim_labels=b01f_01io->b01f");
  check_dimension_numbers(
      "dynamic_conv", "f32[1,4,4,6];f32[2,2,6,8];s64[2,2]",
      "f32[1,3,3,8] dynamic-convolution($0, $1, $2), window={size=2x2}, dim_labels=b01f_01io->b01f");
}
END_TEST

// More attributes that the parser would not let through.
START_TEST(attributes) {
  arena *a = arena_create();
  hlo_module *m = case_module(a, "f32[2]", "s32[2] constant({1, 2})");
  m->entry->root->shape = hlo_shape_array(m->shapes, HLO_S32, 1, (int64_t[]){3});
  ASSERT_FAILS(hlo_verify(m, NULL), LEMNOS_INVALID_ARGUMENT, "constant_c1: ");
  m->entry->root->shape = hlo_shape_array(m->shapes, HLO_S64, 1, (int64_t[]){2});
  ASSERT_FAILS(hlo_verify(m, NULL), LEMNOS_INVALID_ARGUMENT, "constant_c1: ");
  m = case_module(a, "s32[];s32[]", "s32[] conditional($0, $1), branch_computations={next}");
  ASSERT_OK(hlo_verify(m, NULL));
  m->entry->root->n_called = 0;
  ASSERT_FAILS(hlo_verify(m, NULL), LEMNOS_INVALID_ARGUMENT, "case_c1: ");
  m = case_module(a, "f32[4]", "f32[4] collective-permute($0), source_target_pairs={{0,1},{1,0}}");
  ((int64_t *)HLO_ATTRS(m->entry->root, collective_permute)->source_target_pairs.data)[2] = -1;
  ASSERT_FAILS(hlo_verify(m, NULL), LEMNOS_INVALID_ARGUMENT, "collective_permute_c4: ");
  m = case_module(a, "f32[2];token[]", "token[] send($0, $1), channel_id=1, source_target_pairs={{0,1}}");
  ((int64_t *)HLO_ATTRS(m->entry->root, send_recv)->source_target_pairs.data)[0] = -1;
  ASSERT_FAILS(hlo_verify(m, NULL), LEMNOS_INVALID_ARGUMENT, "send_c4: ");
  m = case_module(a, "token[]", "(f32[2], token[]) recv($0), channel_id=1, source_target_pairs={{0,1}}");
  ((int64_t *)HLO_ATTRS(m->entry->root, send_recv)->source_target_pairs.data)[0] = -1;
  ASSERT_FAILS(hlo_verify(m, NULL), LEMNOS_INVALID_ARGUMENT, "recv_c4: ");
  arena_destroy(a);
}
END_TEST

// --- every elementwise operation with every element type -----------------------------------------

static bool class_has(const char *types, hlo_dtype t) {
  hlo_dtype_class c = hlo_dtype_cls(t);
  bool integer = c == HLO_CLASS_SINT || c == HLO_CLASS_UINT, flt = c == HLO_CLASS_FLOAT, cpx = c == HLO_CLASS_COMPLEX;
  if (!strcmp(types, "A")) return true;
  if (!strcmp(types, "N")) return integer || flt || cpx;
  if (!strcmp(types, "R")) return integer || flt;
  if (!strcmp(types, "F")) return flt;
  if (!strcmp(types, "FC")) return flt || cpx;
  if (!strcmp(types, "I")) return integer;
  if (!strcmp(types, "IB")) return integer || c == HLO_CLASS_PRED;
  if (!strcmp(types, "P")) return c == HLO_CLASS_PRED;
  if (!strcmp(types, "C")) return cpx;
  if (!strcmp(types, "SFC")) return c == HLO_CLASS_SINT || flt || cpx;
  ck_abort_msg("type class %s", types);
  return false;
}

static hlo_instr *parameter(hlo_computation *c, int n, const hlo_shape *s) {
  hlo_attrs_parameter *p = hlo_attrs_create(c->module->arena, HLO_ATTR_LIST_parameter);
  p->number = n;
  return hlo_instr_create(c, NULL, HLO_OP_PARAMETER, s, 0, NULL, 0, NULL, p, NULL, (strv){0});
}

// op on operands of type t and shape [2, 3], result of that type and of dims `dims`.
static lemnos_status verify_elementwise(hlo_op op, hlo_dtype t, hlo_dtype result, const int64_t dims[2]) {
  arena *a = arena_create();
  hlo_module *m = hlo_module_create(a, STRV("m"));
  hlo_computation *c = hlo_computation_create(m, STRV("main"));
  m->entry = c;
  hlo_instr *in[3];
  for (int i = 0; i < hlo_op_table[op].min_operands; i++)
    in[i] = parameter(c, i, hlo_shape_array(m->shapes, t, 2, (int64_t[]){2, 3}));
  void *attrs = hlo_attr_list_table[hlo_op_table[op].attrs].n ? hlo_attrs_create(a, hlo_op_table[op].attrs) : NULL;
  if (op == HLO_OP_REDUCE_PRECISION) ((hlo_attrs_reduce_precision *)attrs)->exponent_bits = 5;
  c->root = hlo_instr_create(c, NULL, op, hlo_shape_array(m->shapes, result, 2, dims), hlo_op_table[op].min_operands,
                             in, 0, NULL, attrs, NULL, (strv){0});
  lemnos_status s = hlo_verify(m, NULL);
  arena_destroy(a);
  return s;
}

// What the specification says of the result's type, for operations whose result differs from the operands.
static hlo_dtype result_type(hlo_op op, hlo_dtype t) {
  switch (op) {
    case HLO_OP_COMPARE:
    case HLO_OP_IS_FINITE:
    case HLO_OP_IS_INF:
    case HLO_OP_IS_POS_INF:
    case HLO_OP_IS_NEG_INF: return HLO_PRED;
    case HLO_OP_ABS:
    case HLO_OP_REAL:
    case HLO_OP_IMAG: return hlo_dtype_real_part(t);
    default: return t;
  }
}

START_TEST(elementwise_types) {
  int tried = 0;
  for (int op = 0; op < HLO_OP_COUNT; op++) {
    const hlo_op_info *info = &hlo_op_table[op];
    if (!(info->traits & HLO_TRAIT_E) || info->family == HLO_FAMILY_QUANT || op == HLO_OP_SELECT ||
        op == HLO_OP_COMPLEX || op == HLO_OP_CONVERT)
      continue;
    for (int t = 0; t < HLO_TOKEN; t++) {
      hlo_dtype r = result_type((hlo_op)op, (hlo_dtype)t);
      bool allowed = class_has(info->types, (hlo_dtype)t);
      lemnos_status s = verify_elementwise((hlo_op)op, (hlo_dtype)t, r, (int64_t[]){2, 3});
      ck_assert_msg(!s == allowed, "%s of %s: %s", info->text_name, hlo_dtype_table[t].hlo_name,
                    s ? lemnos_status_message(s) : "accepted");
      if (s) ck_assert_ptr_nonnull(strstr(lemnos_status_message(s), "_i1: "));
      lemnos_status_free(s);
      tried++;
      if (!allowed) continue;
      s = verify_elementwise((hlo_op)op, (hlo_dtype)t, r, (int64_t[]){3, 2});
      const char *label = op == HLO_OP_COMPARE ? "_c2: " : op == HLO_OP_CLAMP ? "_c4: " : "_c1: ";
      ck_assert_msg(s && strstr(lemnos_status_message(s), label), "%s of %s with a wrong shape", info->text_name,
                    hlo_dtype_table[t].hlo_name);
      lemnos_status_free(s);
      s = verify_elementwise((hlo_op)op, (hlo_dtype)t, r == HLO_F32 ? HLO_F64 : HLO_F32, (int64_t[]){2, 3});
      ck_assert_msg(s && strstr(lemnos_status_message(s), "expected"), "%s of %s with a wrong type", info->text_name,
                    hlo_dtype_table[t].hlo_name);
      lemnos_status_free(s);
    }
  }
  ck_assert_int_gt(tried, 1500);
}
END_TEST

// --- structure -----------------------------------------------------------------------------------

typedef struct fixture {
  arena *a;
  hlo_module *m;
  hlo_computation *main, *other;
  // main: p, q, sum = p + q, twice = sum + sum (root); other: one parameter, its root
  hlo_instr *p, *q, *sum, *twice;
} fixture;

static fixture fixture_create(void) {
  fixture f = {.a = arena_create()};
  f.m = hlo_module_create(f.a, STRV("m"));
  f.other = hlo_computation_create(f.m, STRV("other"));
  f.main = hlo_computation_create(f.m, STRV("main"));
  f.m->entry = f.main;
  const hlo_shape *s = hlo_shape_array(f.m->shapes, HLO_F32, 1, (int64_t[]){4});
  f.other->root = parameter(f.other, 0, s);
  f.p = parameter(f.main, 0, s);
  f.q = parameter(f.main, 1, s);
  f.sum = hlo_instr_create(f.main, NULL, HLO_OP_ADD, s, 2, (hlo_instr *[]){f.p, f.q}, 0, NULL, NULL, NULL, STRV("sum"));
  f.twice = hlo_instr_create(f.main, NULL, HLO_OP_ADD, s, 2, (hlo_instr *[]){f.sum, f.sum}, 0, NULL, NULL, NULL,
                             STRV("twice"));
  f.main->root = f.twice;
  return f;
}

#define BROKEN(what, label)                                                   \
  do {                                                                        \
    fixture f = fixture_create();                                             \
    ASSERT_OK(hlo_verify(f.m, NULL));                                         \
    what;                                                                     \
    ASSERT_FAILS(hlo_verify(f.m, NULL), LEMNOS_INVALID_ARGUMENT, label ": "); \
    arena_destroy(f.a);                                                       \
  } while (0)

START_TEST(structure) {
  BROKEN(f.m->entry = NULL, "structure_entry");
  BROKEN(f.main->root = NULL, "structure_root");
  BROKEN(f.main->root = f.other->root, "structure_root");
  BROKEN(f.sum->parent = f.other, "structure_list");
  BROKEN(f.sum->prev = NULL, "structure_list");
  BROKEN(f.main->last = f.sum, "structure_list");
  BROKEN(f.sum->id = f.p->id, "structure_id");
  BROKEN(f.sum->id = f.m->next_id, "structure_id");
  BROKEN(f.sum->id = -1, "structure_id");
  BROKEN(f.sum->name = f.p->name, "structure_name");
  BROKEN(f.sum->name = (strv){0}, "structure_name");
  BROKEN(f.other->name = f.main->name, "structure_name");
  BROKEN(f.sum->operands[0] = NULL, "structure_operand");
  BROKEN(f.sum->operands[0] = f.other->root, "structure_operand");
  BROKEN(f.sum->operands[0] = f.twice, "structure_order");
  BROKEN(f.sum->operands[0] = f.sum, "structure_order");
  BROKEN(f.sum->operands[0] = f.q, "structure_uses");
  BROKEN(f.p->n_uses = 0, "structure_uses");
  BROKEN(f.sum->uses[1] = f.sum->uses[0], "structure_uses");
  BROKEN(f.p->uses[0].operand = 7, "structure_uses");
  BROKEN(f.main->params[0] = f.q, "structure_parameter");
  BROKEN(f.main->n_params = 1, "structure_parameter");
  BROKEN(HLO_ATTRS(f.p, parameter)->number = 5, "structure_parameter");
  BROKEN(f.sum->op = (hlo_op)HLO_OP_COUNT, "structure_op");
  BROKEN(f.sum->shape = NULL, "structure_shape");
  BROKEN(f.sum->op = HLO_OP_NEGATE, "negate_operands");
  BROKEN(f.sum->op = HLO_OP_CALL, "call_regions");
  BROKEN(f.sum->op = HLO_OP_COMPARE, "compare_attributes");
  BROKEN(f.m->computations[0] = f.main, "structure_computation");
}
END_TEST

static void call(fixture *f, hlo_computation *from, hlo_computation *callee, hlo_instr *x) {
  hlo_instr_create(from, NULL, HLO_OP_CALL, x->shape, 1, &x, 1, &callee, NULL, NULL, STRV("c"));
}

START_TEST(calls) {
  fixture f = fixture_create();
  call(&f, f.main, f.other, f.sum);
  ASSERT_OK(hlo_verify(f.m, NULL));
  arena_destroy(f.a);
  BROKEN(call(&f, f.other, f.other, f.other->root), "structure_call");
  BROKEN(call(&f, f.other, f.main, f.other->root), "structure_call");
  BROKEN((call(&f, f.main, f.other, f.sum), f.main->last->called[0] = NULL), "structure_call");
  BROKEN(
      (call(&f, f.main, f.other, f.sum), f.main->last->called[0] = (hlo_computation *)ARENA_NEW(f.a, hlo_computation)),
      "structure_call");
}
END_TEST

static const hlo_shape *huge(hlo_module *m, int rank, int64_t size) {
  int64_t dims[64];
  for (int i = 0; i < rank; i++) dims[i] = size;
  return hlo_shape_array(m->shapes, HLO_F32, rank, dims);
}

static const hlo_shape *quantized(hlo_module *m, int axis, int n_scales) {
  static const double scales[] = {0.5, 0.5, 0.5, 0.5, 0.5};
  static const int64_t zero_points[5], dims[] = {4};
  hlo_quant q = {HLO_F32, -128, 127, axis, n_scales, scales, zero_points};
  return hlo_shape_intern(m->shapes, &(hlo_shape){.dtype = HLO_S8, .rank = 1, .dims = dims, .quant = &q});
}

START_TEST(limits) {
  BROKEN(f.p->shape = quantized(f.m, 0, 5), "quantized_type_c13");
  BROKEN(f.p->shape = quantized(f.m, -1, 2), "quantized_type_c10");
  BROKEN(f.p->shape = quantized(f.m, 1, 4), "quantized_type_c12");
  BROKEN(f.p->shape = huge(f.m, 33, 1), "parameter_result");
  BROKEN(f.p->shape = huge(f.m, 2, INT64_C(1) << 31), "parameter_result");
  BROKEN(f.p->shape = huge(f.m, 1, -5), "parameter_result");
  BROKEN((f.m->aliases = ARENA_NEW(f.a, hlo_alias), f.m->n_aliases = 1, f.m->aliases[0].param = 2), "structure_alias");
}
END_TEST

// All failures are reported, each at its location.
START_TEST(reports_all) {
  fixture f = fixture_create();
  diag_sink sink;
  diag_sink_init(&sink, f.a);
  loc *l = ARENA_NEW(f.a, loc);
  *l = (loc){.kind = LOC_FILE, .name = STRV("model.mlir"), .line = 12, .col = 5};
  f.sum->loc = l;
  f.sum->shape = hlo_shape_array(f.m->shapes, HLO_F32, 1, (int64_t[]){5});
  f.twice->shape = hlo_shape_array(f.m->shapes, HLO_F64, 1, (int64_t[]){5});
  ASSERT_FAILS(hlo_verify(f.m, &sink), LEMNOS_INVALID_ARGUMENT,
               "model.mlir:12:5: error: add_c1: the result has type f32[5], expected f32[4] (in %sum)");
  ck_assert_int_eq(sink.n_errors, 2);
  diag_sink_deinit(&sink);
  arena_destroy(f.a);
}
END_TEST

HARNESS_MAIN("hlo_verify", cases_verify, convolution_dimension_numbers, attributes, elementwise_types, structure, calls,
             limits, reports_all)
