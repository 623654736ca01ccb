// SPDX-License-Identifier: Apache-2.0
// Results of custom calls whose sizes, or whose rank, are given by operands (indices_of_shape_operands), and tensors
// without a rank. What is expected follows StableHLO's getShapeRefinements and the tests of
// --stablehlo-canonicalize-dynamism.
#include <string.h>

#include "frontend/import.h"
#include "tests/harness.h"

static lemnos_status import(const char *text, arena *a, diag_sink *sink, hlo_module **out) {
  mlir_module *m = NULL;
  lemnos_status s = mlir_parse_text(a, STRV("t.mlir"), strv_from_cstr(text), sink, &m);
  if (!s) s = import_module(m, NULL, a, sink, out);
  if (!s) {
    const hlo_shape *args[8];
    for (int i = 0; i < (*out)->entry->n_params; i++) args[i] = (*out)->entry->params[i]->shape;
    s = import_refine(*out, (*out)->entry->n_params, args, sink);
  }
  return s;
}

#define CALL(operands, attrs, types)                                                                  \
  "func.func @main(%x: tensor<4xf32>) -> tensor<1x2xf32> {\n"                                         \
  "  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi64>\n"                                         \
  "  %1 = stablehlo.constant dense<[1, 1]> : tensor<2xi64>\n"                                         \
  "  %2 = stablehlo.custom_call @foo(" operands ") {indices_of_shape_operands = " attrs "} : (" types \
  ") -> "                                                                                             \
  "tensor<1x2xf32>\n"                                                                                 \
  "  return %2 : tensor<1x2xf32>\n}\n"
#define TYPES "tensor<4xf32>, tensor<2xi64>"

START_TEST(ill_formed) {
  static const struct {
    const char *text, *want;
  } cases[] = {
      {CALL("%x, %0, %1", "dense<[1, 2]> : tensor<2xi64>", TYPES ", tensor<2xi64>"),
       "2 elements; expected one for each of the 1 results"},
      {CALL("%x, %0", "dense<[[1]]> : tensor<1x1xi64>", TYPES), "rank 2; expected 1"},
      {CALL("%x, %0", "dense<[1]> : tensor<1xi32>", TYPES), "type i32; expected i64"},
      {CALL("%x, %0", "dense<[2]> : tensor<1xi64>", TYPES), "element 0 is 2; expected one in [0, 2)"},
      {CALL("%x, %0", "dense<[-1]> : tensor<1xi64>", TYPES), "element 0 is -1; expected one in [0, 2)"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    arena *a = arena_create();
    diag_sink sink;
    diag_sink_init(&sink, a);
    hlo_module *m = NULL;
    lemnos_status s = import(cases[k].text, a, &sink, &m);
    ck_assert(s != LEMNOS_SUCCESS);
    ck_assert_msg(strstr(lemnos_status_message(s), cases[k].want) != NULL, "%s", lemnos_status_message(s));
    lemnos_status_free(s);
    diag_sink_deinit(&sink);
    arena_destroy(a);
  }
}
END_TEST

// Sizes that the result's type cannot have: seen where they are known, in refinement, of a call that has something
// dynamic.
START_TEST(wrong_sizes) {
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  hlo_module *m = NULL;
  lemnos_status s = import(
      "func.func @main(%x: tensor<4xf32>) -> tensor<1x?xf32> {\n"
      "  %0 = stablehlo.constant dense<[2, 1]> : tensor<2xi64>\n"
      "  %1 = stablehlo.custom_call @foo(%x, %0) {indices_of_shape_operands = dense<[1]> : tensor<1xi64>} : "
      "(tensor<4xf32>, tensor<2xi64>) -> tensor<1x?xf32>\n"
      "  return %1 : tensor<1x?xf32>\n}\n",
      a, &sink, &m);
  ck_assert(s != LEMNOS_SUCCESS);
  ck_assert_msg(strstr(lemnos_status_message(s), "holds [2, 1]") != NULL, "%s", lemnos_status_message(s));
  lemnos_status_free(s);
  diag_sink_deinit(&sink);
  arena_destroy(a);
}
END_TEST

// Shape operands may stand anywhere (custom_call_success_mixed_positions); what is not one stays, in order.
START_TEST(mixed_positions) {
  arena *a = arena_create();
  hlo_module *m = NULL;
  diag_sink sink;
  diag_sink_init(&sink, a);
  ASSERT_OK(
      import("func.func @main(%x: tensor<4xf32>, %y: tensor<i32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {\n"
             "  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi64>\n"
             "  %1 = stablehlo.constant dense<[3, 4]> : tensor<2xi64>\n"
             "  %2:2 = stablehlo.custom_call @foo(%0, %x, %1, %y) {indices_of_shape_operands = dense<[0, 2]> : "
             "tensor<2xi64>} : "
             "(tensor<2xi64>, tensor<4xf32>, tensor<2xi64>, tensor<i32>) -> (tensor<?x?xf32>, tensor<?x?xf32>)\n"
             "  return %2#0, %2#1 : tensor<?x?xf32>, tensor<?x?xf32>\n}\n",
             a, &sink, &m));
  const hlo_instr *call = NULL;
  HLO_FOR_EACH (i, m->entry)
    if (i->op == HLO_OP_CUSTOM_CALL) call = i;
  ck_assert_ptr_nonnull(call);
  ck_assert_int_eq(call->n_operands, 2);
  ck_assert_ptr_eq(call->operands[0], m->entry->params[0]);
  ck_assert_ptr_eq(call->operands[1], m->entry->params[1]);
  ck_assert_ptr_eq(call->shape->elements[0], hlo_shape_array(m->shapes, HLO_F32, 2, (int64_t[]){1, 2}));
  ck_assert_ptr_eq(call->shape->elements[1], hlo_shape_array(m->shapes, HLO_F32, 2, (int64_t[]){3, 4}));
  diag_sink_deinit(&sink);
  arena_destroy(a);
}
END_TEST

// Ranks follow from operand wrappers, shape operands, functions and what an operation infers.
START_TEST(without_rank) {
  arena *a = arena_create();
  hlo_module *m = NULL;
  diag_sink sink;
  diag_sink_init(&sink, a);
  ASSERT_OK(import(
      "func.func @main(%x: tensor<2x3xf32>) -> (tensor<*xf32>, tensor<*xf32>) {\n"
      "  %0 = stablehlo.constant dense<[2, 3]> : tensor<2xi64>\n"
      "  %1 = stablehlo.custom_call @stablehlo.shape_refinement_operand_wrapper(%x, %0) "
      "{indices_of_shape_operands = dense<1> : tensor<1xi64>} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>\n"
      "  %2 = call @twice(%x) : (tensor<2x3xf32>) -> tensor<*xf32>\n"
      "  %3 = stablehlo.add %1, %2 : tensor<*xf32>\n"
      "  %4 = stablehlo.custom_call @foo(%3, %0) {indices_of_shape_operands = dense<1> : tensor<1xi64>} : "
      "(tensor<*xf32>, tensor<2xi64>) -> tensor<*xf32>\n"
      "  return %3, %4 : tensor<*xf32>, tensor<*xf32>\n}\n"
      "func.func private @twice(%x: tensor<2x3xf32>) -> tensor<*xf32> {\n"
      "  %0 = stablehlo.add %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<*xf32>\n"
      "  return %0 : tensor<*xf32>\n}\n",
      a, &sink, &m));
  const hlo_shape *want = hlo_shape_array(m->shapes, HLO_F32, 2, (int64_t[]){2, 3});
  const hlo_instr *root = m->entry->root;
  ck_assert_int_eq(root->op, HLO_OP_TUPLE);
  ck_assert_ptr_eq(root->operands[0]->shape, want);
  ck_assert_int_eq(root->operands[0]->op, HLO_OP_ADD);
  ck_assert_ptr_eq(root->operands[0]->operands[0], m->entry->params[0]);
  ck_assert_ptr_eq(root->operands[1]->shape, want);
  ck_assert_int_eq(root->operands[1]->n_operands, 1);
  diag_sink_deinit(&sink);
  arena_destroy(a);
}
END_TEST

// Nothing says what an argument without a rank is.
START_TEST(argument_without_rank) {
  arena *a = arena_create();
  hlo_module *m = NULL;
  diag_sink sink;
  diag_sink_init(&sink, a);
  lemnos_status s =
      import("func.func @main(%x: tensor<*xf32>) -> tensor<*xf32> {\n  return %x : tensor<*xf32>\n}\n", a, &sink, &m);
  ck_assert(s != LEMNOS_SUCCESS);
  ck_assert_msg(strstr(lemnos_status_message(s), "tensor<*xf32> has no rank") != NULL, "%s", lemnos_status_message(s));
  lemnos_status_free(s);
  diag_sink_deinit(&sink);
  arena_destroy(a);
}
END_TEST

HARNESS_MAIN("frontend_import_shape_operands", ill_formed, wrong_sizes, mixed_positions, without_rank,
             argument_without_rank)
