// SPDX-License-Identifier: Apache-2.0
// Lowering: HLO text to kernels for every forced target, verified, run by kernel_eval, compared with values worked out
// by hand.
#include <check.h>
#include <math.h>
#include <stdio.h>

#include "hlo/kernel/lower.h"
#include "tests/hlo/kernel/kernel_eval.h"
#include "tests/hlo/kernel/targets.h"

enum { MAX_VALUES = 64, MAX_ARGS = 4 };

typedef struct lower_case {
  const char *name;
  const char *computations;  // text before the entry
  const char *entry;         // the entry's instructions
  int n[MAX_ARGS];           // elements of each parameter
  double args[MAX_ARGS][MAX_VALUES];
  int n_want;
  double want[MAX_VALUES];
  // operand leaf whose buffer the result takes; -1 or absent (0 with in_place false): none
  int alias;
  bool in_place;
  bool f64, i64;  // needs them
} lower_case;

static const char *const targets[] = {"avx512", "avx2", "sse", "gpu", "cpu_like"};

#define ADD_BODY "add_f32 {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT z = f32[] add(x, y)\n}\n\n"
#define GE_BODY \
  "ge_f32 {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT z = pred[] compare(x, y), direction=GE\n}\n\n"
#define LT_BODY                                                                                                    \
  "lt {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  i = s32[] parameter(2)\n  j = s32[] parameter(3)\n" \
  "  ROOT z = pred[] compare(x, y), direction=LT\n}\n\n"

static const lower_case cases[] = {
    {.name = "add, ragged",
     .entry = "a = f32[5] parameter(0)\n b = f32[5] parameter(1)\n ROOT r = f32[5] add(a, b)",
     .n = {5, 5},
     .args = {{1, 2, 3, 4, 5}, {10, 20, 30, 40, 50}},
     .n_want = 5,
     .want = {11, 22, 33, 44, 55}},
    {.name = "add, in place",
     .entry = "a = f32[5] parameter(0)\n b = f32[5] parameter(1)\n ROOT r = f32[5] add(a, b)",
     .n = {5, 5},
     .args = {{1, 2, 3, 4, 5}, {10, 20, 30, 40, 50}},
     .n_want = 5,
     .want = {11, 22, 33, 44, 55},
     .in_place = true},
    {.name = "broadcast along rows",
     .entry = "a = f32[3] parameter(0)\n ROOT r = f32[2,3] broadcast(a), dimensions={1}",
     .n = {3},
     .args = {{1, 2, 3}},
     .n_want = 6,
     .want = {1, 2, 3, 1, 2, 3}},
    {.name = "broadcast along columns",
     .entry = "a = f32[2] parameter(0)\n ROOT r = f32[2,3] broadcast(a), dimensions={0}",
     .n = {2},
     .args = {{1, 2}},
     .n_want = 6,
     .want = {1, 1, 1, 2, 2, 2}},
    {.name = "transpose",
     .entry = "a = f32[2,3] parameter(0)\n ROOT r = f32[3,2] transpose(a), dimensions={1,0}",
     .n = {6},
     .args = {{1, 2, 3, 4, 5, 6}},
     .n_want = 6,
     .want = {1, 4, 2, 5, 3, 6}},
    {.name = "slice with stride",
     .entry = "a = f32[8] parameter(0)\n ROOT r = f32[3] slice(a), slice={[1:7:2]}",
     .n = {8},
     .args = {{0, 1, 2, 3, 4, 5, 6, 7}},
     .n_want = 3,
     .want = {1, 3, 5}},
    {.name = "reverse",
     .entry = "a = f32[4] parameter(0)\n ROOT r = f32[4] reverse(a), dimensions={0}",
     .n = {4},
     .args = {{1, 2, 3, 4}},
     .n_want = 4,
     .want = {4, 3, 2, 1}},
    {.name = "pad, low, high and interior",
     .entry = "a = f32[2] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[6] pad(a, b), padding=1_2_1",
     .n = {2, 1},
     .args = {{1, 2}, {9}},
     .n_want = 6,
     .want = {9, 1, 9, 2, 9, 9}},
    {.name = "concatenate",
     .entry = "a = f32[2] parameter(0)\n b = f32[3] parameter(1)\n ROOT r = f32[5] concatenate(a, b), dimensions={0}",
     .n = {2, 3},
     .args = {{1, 2}, {3, 4, 5}},
     .n_want = 5,
     .want = {1, 2, 3, 4, 5}},
    {.name = "iota", .entry = "ROOT r = f32[2,3] iota(), iota_dimension=1", .n_want = 6, .want = {0, 1, 2, 0, 1, 2}},
    {.name = "dynamic_slice clamps",
     .entry = "a = f32[5] parameter(0)\n b = s32[] parameter(1)\n ROOT r = f32[2] dynamic-slice(a, b), "
              "dynamic_slice_sizes={2}",
     .n = {5, 1},
     .args = {{0, 1, 2, 3, 4}, {9}},
     .n_want = 2,
     .want = {3, 4}},
    {.name = "dynamic_update_slice",
     .entry = "a = f32[4] parameter(0)\n b = f32[2] parameter(1)\n c = s32[] parameter(2)\n ROOT r = f32[4] "
              "dynamic-update-slice(a, b, c)",
     .n = {4, 2, 1},
     .args = {{0, 1, 2, 3}, {8, 9}, {1}},
     .n_want = 4,
     .want = {0, 8, 9, 3}},
    {.name = "dynamic_update_slice in place",
     .entry = "a = f32[4] parameter(0)\n b = f32[2] parameter(1)\n c = s32[] parameter(2)\n ROOT r = f32[4] "
              "dynamic-update-slice(a, b, c)",
     .n = {4, 2, 1},
     .args = {{0, 1, 2, 3}, {8, 9}, {7}},
     .n_want = 4,
     .want = {0, 1, 8, 9},
     .in_place = true},
    {.name = "integer division",
     .entry = "a = s32[5] parameter(0)\n b = s32[5] parameter(1)\n ROOT r = s32[5] divide(a, b)",
     .n = {5, 5},
     .args = {{7, -7, 5, -2147483648.0, 0}, {2, 2, 0, -1, 0}},
     .n_want = 5,
     .want = {3, -3, -1, -2147483648.0, -1}},
    {.name = "integer remainder",
     .entry = "a = s32[4] parameter(0)\n b = s32[4] parameter(1)\n ROOT r = s32[4] remainder(a, b)",
     .n = {4, 4},
     .args = {{7, -7, 5, -2147483648.0}, {3, 3, 0, -1}},
     .n_want = 4,
     .want = {1, -1, 5, 0}},
    {.name = "wide shifts",
     .entry = "a = s32[3] parameter(0)\n b = s32[3] parameter(1)\n ROOT r = s32[3] shift-right-arithmetic(a, b)",
     .n = {3, 3},
     .args = {{-8, -8, 8}, {1, 40, 32}},
     .n_want = 3,
     .want = {-4, -1, 0}},
    {.name = "float to integer saturates",
     .entry = "a = f32[4] parameter(0)\n ROOT r = s8[4] convert(a)",
     .n = {4},
     .args = {{1.9, 300, -1e9, NAN}},
     .n_want = 4,
     .want = {1, 127, -128, 0}},
    {.name = "4-bit integers wrap",
     .entry = "a = s4[3] parameter(0)\n b = s4[3] parameter(1)\n ROOT r = s4[3] add(a, b)",
     .n = {3, 3},
     .args = {{7, -8, 3}, {1, -1, 2}},
     .n_want = 3,
     .want = {-8, 7, 5}},
    {.name = "bf16 rounds once an operation",  // 1 + 2^-9 -> 1 (tie to even), 1 + 3 * 2^-8 -> 1 + 2^-6
     .entry = "a = bf16[2] parameter(0)\n b = bf16[2] parameter(1)\n ROOT r = bf16[2] add(a, b)",
     .n = {2, 2},
     .args = {{1, 1}, {0.001953125, 0.01171875}},
     .n_want = 2,
     .want = {1, 1.015625}},
    {.name = "maximum propagates NaN",
     .entry = "a = f32[2] parameter(0)\n b = f32[2] parameter(1)\n ROOT r = f32[2] maximum(a, b)",
     .n = {2, 2},
     .args = {{NAN, 1}, {1, 2}},
     .n_want = 2,
     .want = {NAN, 2}},
    {.name = "reduce rows",
     .computations = ADD_BODY,
     .entry = "a = f32[2,3] parameter(0)\n z = f32[] constant(1)\n ROOT r = f32[2] reduce(a, z), dimensions={1}, "
              "to_apply=add_f32",
     .n = {6},
     .args = {{1, 2, 3, 4, 5, 6}},
     .n_want = 2,
     .want = {7, 16}},
    {.name = "reduce columns",
     .computations = ADD_BODY,
     .entry = "a = f32[2,3] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[3] reduce(a, z), dimensions={0}, "
              "to_apply=add_f32",
     .n = {6},
     .args = {{1, 2, 3, 4, 5, 6}},
     .n_want = 3,
     .want = {5, 7, 9}},
    // sum of 0 .. 65535, all partial sums exact
    {.name = "reduce everything in two launches",
     .computations = ADD_BODY,
     .entry = "z = f32[] constant(0)\n p = f32[1] parameter(0)\n ROOT r = f32[] fusion(p), kind=kInput, calls=sum_iota",
     .n = {1},
     .args = {{0.5}},
     .n_want = 1,
     .want = {32768}},
    {.name = "dot",
     .entry = "a = f32[2,3] parameter(0)\n b = f32[3,2] parameter(1)\n"
              " ROOT r = f32[2,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     .n = {6, 6},
     .args = {{1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}},
     .n_want = 4,
     .want = {22, 28, 49, 64}},
    {.name = "dot of integers, batched",
     .entry = "a = s32[2,1,2] parameter(0)\n b = s32[2,2,1] parameter(1)\n"
              " ROOT r = s32[2,1,1] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
              "rhs_contracting_dims={1}",
     .n = {4, 4},
     .args = {{1, 2, 3, 4}, {5, 6, 7, 8}},
     .n_want = 2,
     .want = {17, 53}},
    {.name = "convolution",
     .entry = "a = f32[1,4,1] parameter(0)\n b = f32[3,1,1] parameter(1)\n"
              " ROOT r = f32[1,4,1] convolution(a, b), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f",
     .n = {4, 3},
     .args = {{1, 2, 3, 4}, {1, 10, 100}},
     .n_want = 4,
     .want = {210, 321, 432, 43}},
    {.name = "gather rows",
     .entry = "a = f32[3,2] parameter(0)\n b = s32[2] parameter(1)\n"
              " ROOT r = f32[2,2] gather(a, b), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
              "index_vector_dim=1, slice_sizes={1,2}",
     .n = {6, 2},
     .args = {{1, 2, 3, 4, 5, 6}, {2, 0}},
     .n_want = 4,
     .want = {5, 6, 1, 2}},
    {.name = "scatter drops what is outside",
     .computations = ADD_BODY,
     .entry = "a = f32[3] parameter(0)\n i = s32[4,1] parameter(1)\n u = f32[4] parameter(2)\n"
              " ROOT r = f32[3] scatter(a, i, u), update_window_dims={}, inserted_window_dims={0}, "
              "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f32",
     .n = {3, 4, 4},
     .args = {{10, 20, 30}, {1, 1, 5, -1}, {1, 2, 3, 4}},
     .n_want = 3,
     .want = {10, 23, 30}},
    {.name = "reduce_window",
     .computations = ADD_BODY,
     .entry = "a = f32[5] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[3] reduce-window(a, z), window={size=3 "
              "stride=2 pad=1_1}, to_apply=add_f32",
     .n = {5},
     .args = {{1, 2, 3, 4, 5}},
     .n_want = 3,
     .want = {3, 9, 9}},
    {.name = "select_and_scatter",
     .computations = ADD_BODY GE_BODY,
     .entry = "a = f32[4] parameter(0)\n s = f32[2] parameter(1)\n z = f32[] constant(0)\n"
              " ROOT r = f32[4] select-and-scatter(a, s, z), window={size=2 stride=2}, select=ge_f32, scatter=add_f32",
     .n = {4, 2},
     .args = {{1, 5, 7, 3}, {10, 20}},
     .n_want = 4,
     .want = {0, 10, 20, 0}},
    {.name = "sort is stable",
     .computations = LT_BODY,
     .entry = "a = f32[6] parameter(0)\n b = s32[6] parameter(1)\n s = (f32[6], s32[6]) sort(a, b), dimensions={0}, "
              "is_stable=true, to_apply=lt\n"
              " ROOT r = (f32[6], s32[6]) tuple(s)",
     .n = {6, 6},
     .args = {{3, 1, 2, 1, 3, 0}, {0, 1, 2, 3, 4, 5}},
     .n_want = 0},
};

static arena *mem;

// The instruction to lower: the entry's last one that is not a parameter, constant or tuple.
static hlo_instr *find_instr(hlo_module *m) {
  hlo_instr *found = NULL;
  HLO_FOR_EACH (i, m->entry)
    if (i->op != HLO_OP_PARAMETER && i->op != HLO_OP_CONSTANT && i->op != HLO_OP_TUPLE) found = i;
  return found;
}

static const char *const fused_sum =
    "sum_iota {\n  p = f32[1] parameter(0)\n  z = f32[] constant(0)\n  ps = f32[] reshape(p)\n"
    "  b = f32[65536] broadcast(ps), dimensions={}\n  ROOT s = f32[] reduce(b, z), dimensions={0}, "
    "to_apply=add_f32\n}\n\n";

static hlo_module *parse(const lower_case *c) {
  const char *computations = c->computations ? c->computations : "";
  const char *more = strstr(c->entry, "sum_iota") ? fused_sum : "";
  char *text = arena_printf(mem, "HloModule t\n\n%s%sENTRY main {\n%s\n}\n", computations, more, c->entry);
  diag_sink sink;
  diag_sink_init(&sink, mem);
  hlo_module *m = NULL;
  lemnos_status s = hlo_parse(mem, STRV("test"), strv_from_cstr(text), &sink, &m);
  ck_assert_msg(s == NULL, "%s: %s", c->name, lemnos_status_message(s));
  return m;
}

static void fill(const hlo_shape *s, void *data, const double *values, int n) {
  for (int e = 0; e < n; e++) {
    if (hlo_dtype_is_float(s->dtype))
      hlo_element_set_f64(s->dtype, data, e, 0, values[e]);
    else
      hlo_element_set_i64(s->dtype, data, e, (int64_t)values[e]);
  }
}

static void *room(const hlo_shape *s) {
  return arena_alloc(mem, (size_t)hlo_shape_bytes(s) + 64);
}

static void run_case(const lower_case *c, const char *target_name) {
  hlo_target t;
  ck_assert(test_target(target_name, &t));
  hlo_module *m = parse(c);
  hlo_instr *i = find_instr(m);
  int32_t alias = 0;
  kernel_lower_options options = {&alias};
  kernel_lowering l;
  lemnos_status s = kernel_lower(mem, &t, i, c->in_place ? &options : NULL, &l);
  ck_assert_msg(s == NULL, "%s on %s: %s", c->name, target_name, lemnos_status_message(s));
  void *operands[8], *results[4], *scratch[8];
  for (int o = 0; o < i->n_operands; o++) {
    const hlo_instr *from = i->operands[o];
    operands[o] = room(from->shape);
    if (from->op == HLO_OP_PARAMETER) {
      int number = (int)HLO_ATTRS(from, parameter)->number;
      fill(from->shape, operands[o], c->args[number], c->n[number]);
    } else {
      memcpy(operands[o], hlo_constant_value(from)->data, (size_t)hlo_dtype_bytes(from->shape->dtype));
    }
  }
  for (int r = 0; r < hlo_shape_leaves(i->shape); r++) results[r] = room(hlo_shape_leaf(i->shape, r));
  for (int k = 0; k < l.scratch.len; k++) scratch[k] = arena_alloc(mem, (size_t)l.scratch.data[k] + 64);
  if (c->in_place) results[0] = operands[0];
  for (int k = 0; k < l.launches.len; k++) {
    const kernel_launch *launch = &l.launches.data[k];
    void *params[16];
    for (int p = 0; p < launch->kernel->n_params; p++) {
      const kernel_arg *arg = &launch->args[p];
      params[p] = arg->kind == KERNEL_ARG_OPERAND   ? operands[arg->index]
                  : arg->kind == KERNEL_ARG_RESULT  ? results[arg->index]
                  : arg->kind == KERNEL_ARG_SCRATCH ? scratch[arg->index]
                                                    : l.constants.data[arg->index]->data;
    }
    const char *error = kernel_eval(launch->kernel, params);
    ck_assert_msg(error == NULL, "%s on %s: %s", c->name, target_name, error);
  }
  const hlo_shape *out = hlo_shape_leaf(i->shape, 0);
  for (int e = 0; e < c->n_want; e++) {
    bool is_float = hlo_dtype_is_float(out->dtype);
    double got = is_float ? hlo_element_get_f64(out->dtype, results[0], e, 0)
                          : (double)hlo_element_get_i64(out->dtype, results[0], e);
    bool same = isnan(c->want[e]) ? isnan(got) : got == c->want[e];
    ck_assert_msg(same, "%s on %s: element %d is %g, expected %g", c->name, target_name, e, got, c->want[e]);
  }
  if (i->op == HLO_OP_SORT) {
    static const int64_t order[] = {5, 1, 3, 2, 0, 4};
    for (int e = 0; e < 6; e++) ck_assert_int_eq(hlo_element_get_i64(HLO_S32, results[1], e), order[e]);
  }
}

START_TEST(values) {
  mem = arena_create();
  for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) run_case(&cases[_i], targets[t]);
  arena_destroy(mem);
}
END_TEST

static lemnos_status lower_text(const char *entry, const char *target_name, kernel_lowering *l) {
  lower_case c = {.name = entry, .entry = entry};
  hlo_target t;
  ck_assert(test_target(target_name, &t));
  return kernel_lower(mem, &t, find_instr(parse(&c)), NULL, l);
}

static void refused(const char *entry, const char *target_name, const char *word) {
  kernel_lowering l;
  lemnos_status s = lower_text(entry, target_name, &l);
  ck_assert_int_eq(lemnos_status_get_code(s), LEMNOS_UNIMPLEMENTED);
  ck_assert_msg(strstr(lemnos_status_message(s), word) != NULL, "%s", lemnos_status_message(s));
  lemnos_status_free(s);
}

START_TEST(refusals) {
  mem = arena_create();
  refused("a = c64[8] parameter(0)\n ROOT r = c64[8] fft(a), fft_type=FFT, fft_length={8}", "avx2", "host");
  refused("a = f32[4] parameter(0)\n ROOT r = f32[4] lgamma(a)", "avx2", "no kernel form");
  refused("a = f64[4] parameter(0)\n ROOT r = f64[4] add(a, a)", "cpu_like", "f64");
  refused("a = s8[3000000000] parameter(0)\n ROOT r = s8[3000000000] add(a, a)", "cpu_like", "2^31");
  arena_destroy(mem);
}
END_TEST

START_TEST(addresses) {
  mem = arena_create();
  lower_case c = {.entry = "a = f32[1000] parameter(0)\n b = f32[1000] parameter(1)\n ROOT r = f32[1000] add(a, b)"};
  hlo_target t;
  ck_assert(test_target("gpu", &t));
  t.max_bound_range = 4000;
  kernel_lowering l;
  ck_assert_ptr_null(kernel_lower(mem, &t, find_instr(parse(&c)), NULL, &l));
  t.max_bound_range = 3999, t.max_addresses = 3;
  ck_assert_ptr_null(kernel_lower(mem, &t, find_instr(parse(&c)), NULL, &l));
  t.max_addresses = 2;
  lemnos_status s = kernel_lower(mem, &t, find_instr(parse(&c)), NULL, &l);
  ck_assert_int_eq(lemnos_status_get_code(s), LEMNOS_UNIMPLEMENTED);
  ck_assert_str_eq(lemnos_status_message(s), "r: 3 buffers of more than 3999 bytes, of which the device takes 2");
  lemnos_status_free(s);
  arena_destroy(mem);
}
END_TEST

START_TEST(nothing_to_do) {
  mem = arena_create();
  kernel_lowering l;
  ck_assert_ptr_null(lower_text("a = f32[0,4] parameter(0)\n ROOT r = f32[0,4] add(a, a)", "avx2", &l));
  ck_assert_int_eq(l.launches.len, 0);
  ck_assert_ptr_null(lower_text("a = f32[2,4] parameter(0)\n ROOT r = f32[8] bitcast(a)", "avx2", &l));
  ck_assert_int_eq(l.launches.len, 0);
  arena_destroy(mem);
}
END_TEST

// What schedules promise: one parameter for an operand used twice; flat loops; two launches for a large sum.
START_TEST(shapes_of_kernels) {
  mem = arena_create();
  kernel_lowering l;
  ck_assert_ptr_null(lower_text("a = f32[4096] parameter(0)\n ROOT r = f32[4096] multiply(a, a)", "avx2", &l));
  ck_assert_int_eq(l.launches.len, 1);
  ck_assert_int_eq(l.launches.data[0].kernel->n_params, 2);
  ck_assert_int_eq(l.launches.data[0].kernel->index, KERNEL_I32);
  ck_assert(l.launches.data[0].kernel->params[0].readonly && l.launches.data[0].kernel->params[0].noalias);
  ck_assert_ptr_null(lower_text("a = f32[5,4096] parameter(0)\n ROOT r = f32[5,4096] add(a, a)", "gpu", &l));
  ck_assert_int_eq(l.launches.data[0].kernel->grid, 5 * 4096 / 4);
  ck_assert_ptr_null(lower_text("a = s8[3000000000] parameter(0)\n ROOT r = s8[3000000000] add(a, a)", "avx2", &l));
  ck_assert_int_eq(l.launches.data[0].kernel->index, KERNEL_I64);
  arena_destroy(mem);
}
END_TEST

int main(void) {
  Suite *s = suite_create("lower");
  TCase *c = tcase_create("lower");
  tcase_add_loop_test(c, values, 0, (int)(sizeof cases / sizeof *cases));
  tcase_add_test(c, refusals);
  tcase_add_test(c, addresses);
  tcase_add_test(c, nothing_to_do);
  tcase_add_test(c, shapes_of_kernels);
  tcase_set_timeout(c, 60);
  suite_add_tcase(s, c);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
