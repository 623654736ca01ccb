// SPDX-License-Identifier: Apache-2.0
// sdy.manual_computation and XLA's marks for the same, imported and run on virtual devices. Expected values by hand: x
// is 0, 1, 2, ..., device p is the one for which partition_id is p.
#include "frontend/import.h"
#include "tests/interp/interp_test.h"

#define ID \
  "    %id = stablehlo.partition_id : tensor<ui32>\n    %p = stablehlo.convert %id : (tensor<ui32>) -> tensor<f32>\n"
#define ADD_ID(n)                                                                   \
  "    %b = stablehlo.broadcast_in_dim %p, dims = [] : (tensor<f32>) -> tensor<" #n \
  "xf32>\n"                                                                         \
  "    %ten = stablehlo.constant dense<10.0> : tensor<" #n                          \
  "xf32>\n"                                                                         \
  "    %t = stablehlo.multiply %b, %ten : tensor<" #n                               \
  "xf32>\n"                                                                         \
  "    %r = stablehlo.add %y, %t : tensor<" #n                                      \
  "xf32>\n"                                                                         \
  "    sdy.return %r : tensor<" #n "xf32>\n"
// One manual computation: mesh, shardings, axes, the part's size, the body, sizes of operand and result.
#define ONE(mesh, in, out, axes, part, body, from, to)                                                             \
  "sdy.mesh @m = <" mesh                                                                                           \
  ">\n"                                                                                                            \
  "func.func @main() -> tensor<" #to                                                                               \
  "xf32> {\n"                                                                                                      \
  "  %x = stablehlo.iota dim = 0 : tensor<" #from                                                                  \
  "xf32>\n"                                                                                                        \
  "  %0 = sdy.manual_computation(%x) in_shardings=[<@m, " in ">] out_shardings=[<@m, " out ">] manual_axes={" axes \
  "} (%y: tensor<" #part "xf32>) {\n" body "  } : (tensor<" #from "xf32>) -> tensor<" #to                          \
  "xf32>\n  return %0 : tensor<" #to "xf32>\n}\n"

static lemnos_status import_text(arena *a, const char *text, hlo_module **out) {
  diag_sink sink;
  diag_sink_init(&sink, a);
  lemnos_status s = import_program(a, STRV("t.mlir"), text, strlen(text), NULL, &sink, out);
  diag_sink_deinit(&sink);
  return s;
}

// Through import, and through HLO text once more: what import makes is an ordinary program.
static void run_case(const test_case *c) {
  arena *a = arena_create();
  hlo_module *m = NULL;
  lemnos_status s = import_text(a, c->text, &m);
  if (s) ck_abort_msg("%s: %s", c->name, lemnos_status_message(s));
  strbuf text = {0};
  hlo_print_module(&text, m, NULL);
  test_run_case(&(test_case){c->name, text.data, c->tolerance, c->want});
  strbuf_deinit(&text);
  arena_destroy(a);
}

#define RUN(cases) \
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) run_case(&cases[k])

// Twice the accumulator, and the element times the number of the device whose result it is.
#define CAPTURING                                        \
  "^bb0(%u: tensor<f32>, %v: tensor<f32>):\n"            \
  "      %c = stablehlo.multiply %v, %p : tensor<f32>\n" \
  "      %d = stablehlo.add %u, %u : tensor<f32>\n"      \
  "      %e = stablehlo.add %d, %c : tensor<f32>\n"      \
  "      stablehlo.return %e : tensor<f32>\n    })"
#define ALL_REDUCE(groups)                                                                             \
  ID "    %r = \"stablehlo.all_reduce\"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, " \
     "type = 1>, " groups "}> ({\n    " CAPTURING                                                      \
     " : (tensor<1xf32>) -> tensor<1xf32>\n    sdy.return %r : tensor<1xf32>\n"
#define ALL "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids"

// Regions of collectives that use values of the process: each computes its own result with its own values.
START_TEST(captures) {
  const test_case cases[] = {
      // ((0 * 2 + 1 p) * 2 + 2 p) * 2 + 3 p = 11 p
      {"all_reduce", ONE("[\"x\"=4]", "[{\"x\"}]", "[{\"x\"}]", "\"x\"", 1, ALL_REDUCE(ALL), 4, 4), 0,
       W(0, 11, 22, 33)},
      {"group of unknown size",
       ONE("[\"x\"=4]", "[{\"x\"}]", "[{\"x\"}]", "\"x\"", 1,
           ALL_REDUCE("replica_groups = dense<[[0]]> : tensor<1x1xi64>"), 4, 4),
       0, W(0, 11, 22, 33)},
      // 2 x + p x of the other: devices 0 and 2, 3 and 1
      {"two groups",
       ONE("[\"x\"=4]", "[{\"x\"}]", "[{\"x\"}]", "\"x\"", 1,
           ALL_REDUCE("replica_groups = dense<[[0, 2], [3, 1]]> : tensor<2x2xi64>, use_global_device_ids"), 4, 4),
       0, W(0, 6 + 1, 4, 6 + 3)},
      // Device p gets the p-th of elements v_q = 4 q + p: ((2 v0 + p v1) 2 + p v2) 2 + p v3 = 52 p + 7 p p
      {"reduce_scatter",
       ONE("[\"x\"=4]", "[{\"x\"}]", "[{\"x\"}]", "\"x\"", 4,
           ID "    %r = \"stablehlo.reduce_scatter\"(%y) <{scatter_dimension = 0 : i64, channel_handle = "
              "#stablehlo.channel_handle<handle = 1, type = 1>, " ALL "}> ({\n    " CAPTURING
              " : (tensor<4xf32>) -> tensor<1xf32>\n    sdy.return %r : tensor<1xf32>\n",
           16, 4),
       0, W(0, 59, 132, 219)},
  };
  RUN(cases);
}
END_TEST

START_TEST(places) {
  const test_case cases[] = {
      {"parts", ONE("[\"x\"=4]", "[{\"x\"}]", "[{\"x\"}]", "\"x\"", 1, ID ADD_ID(1), 4, 4), 0, W(0, 11, 22, 33)},
      {"device ids",
       ONE("[\"x\"=4], device_ids=[2, 0, 3, 1]", "[{\"x\"}]", "[{\"x\"}]", "\"x\"", 1, ID ADD_ID(1), 4, 4), 0,
       W(20, 1, 32, 13)},
      // The lower bit of the device's number says which half it gets.
      {"sub-axis", ONE("[\"x\"=4]", "[{\"x\":(2)2}]", "[{\"x\"}]", "\"x\"", 1, ID ADD_ID(1), 2, 4), 0,
       W(0, 11, 20, 31)},
      {"upper sub-axis", ONE("[\"x\"=4]", "[{\"x\":(1)2, ?}p3]", "[{\"x\"}]", "\"x\"", 1, ID ADD_ID(1), 2, 4), 0,
       W(0, 10, 21, 31)},
      {"swapped axes",
       ONE("[\"x\"=2, \"y\"=2]", "[{\"y\", \"x\"}]", "[{\"x\", \"y\"}]", "\"x\", \"y\"", 1, ID ADD_ID(1), 4, 4), 0,
       W(0, 12, 21, 33)},
      // Along y all devices have the same part; the first one's result counts.
      {"replicated",
       ONE("[\"x\"=2, \"y\"=2]", "[{\"x\"}], replicated={\"y\"}", "[{\"x\"}]", "\"x\", \"y\"", 1, ID ADD_ID(1), 2, 2),
       0, W(0, 21)},
      // y is free: its place in the sharding does not count, the body sees the whole along it.
      {"free axis", ONE("[\"x\"=2, \"y\"=2]", "[{\"x\", \"y\"}]", "[{\"x\"}]", "\"x\"", 2, ID ADD_ID(2), 4, 4), 0,
       W(0, 1, 22, 23)},
      {"unreduced result", ONE("[\"x\"=4]", "[{\"x\"}]", "[{}], unreduced={\"x\"}", "\"x\"", 1, ID ADD_ID(1), 4, 1), 0,
       W(0 + 11 + 22 + 33)},
      {"unreduced operand", ONE("[\"x\"=2]", "[{}], unreduced={\"x\"}", "[{\"x\"}]", "\"x\"", 2, ID ADD_ID(2), 2, 4), 0,
       W(0, 1, 10, 10)},
      {"one device",
       ONE("[\"x\"=1]", "[{\"x\"}]", "[{\"x\"}]", "\"x\"", 2, "    sdy.return %y : tensor<2xf32>\n", 2, 2), 0, W(0, 1)},
      {"no axes", ONE("[], device_ids=[5]", "[{}]", "[{}]", "", 2, "    sdy.return %y : tensor<2xf32>\n", 2, 2), 0,
       W(0, 1)},
  };
  RUN(cases);
}
END_TEST

#define NESTED \
  "sdy.mesh @m = <[\"x\"=2, \"y\"=2]>\n"                                                                                \
  "func.func private @f(%v: tensor<2xf32>) -> tensor<2xf32> {\n"                                                        \
  "  %0 = sdy.manual_computation(%v) in_shardings=[<@m, [{\"y\"}]>] out_shardings=[<@m, [{\"y\"}]>] manual_axes={\"y\"} " \
  "(%y: tensor<1xf32>) {\n" ID ADD_ID(1)                                                                                \
  "  } : (tensor<2xf32>) -> tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\n"                                            \
  "func.func @main() -> (tensor<2xf32>, tensor<4xf32>) {\n"                                                             \
  "  %x = stablehlo.iota dim = 0 : tensor<4xf32>\n  %s = stablehlo.slice %x [0:2] : (tensor<4xf32>) -> tensor<2xf32>\n" \
  "  %a = call @f(%s) : (tensor<2xf32>) -> tensor<2xf32>\n"                                                             \
  "  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{\"x\"}]>] out_shardings=[<@m, [{\"x\"}]>] manual_axes={\"x\"} " \
  "(%y: tensor<2xf32>) {\n    %w = func.call @f(%y) : (tensor<2xf32>) -> tensor<2xf32>\n"                                \
  "    sdy.return %w : tensor<2xf32>\n  } : (tensor<4xf32>) -> tensor<4xf32>\n"                                         \
  "  return %a, %0 : tensor<2xf32>, tensor<4xf32>\n}\n"

START_TEST(nested) {
  // @f runs on a grid of its own from main (y of device (0, y)), and in place inside the manual computation.
  const test_case cases[] = {{"nested", NESTED, 0, W(0, 11, 0, 11, 22, 33)}};
  RUN(cases);
}
END_TEST

#define GSPMD(sharding)                                                                                              \
  "module attributes {mhlo.num_partitions = 4 : i32} {\nfunc.func @main() -> tensor<4xf32> {\n"                      \
  "  %x = stablehlo.iota dim = 0 : tensor<4xf32>\n"                                                                  \
  "  %s = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = \"" sharding                                          \
  "\"} : (tensor<4xf32>) -> tensor<4xf32>\n"                                                                         \
  "  %y = stablehlo.custom_call @SPMDFullToShardShape(%s) {mhlo.sharding = \"{manual}\"} : (tensor<4xf32>) -> "      \
  "tensor<1xf32>\n" ID                                                                                               \
  "  %b = stablehlo.reshape %p : (tensor<f32>) -> tensor<1xf32>\n  %ten = stablehlo.constant dense<10.0> : "         \
  "tensor<1xf32>\n  %t = stablehlo.multiply %b, %ten : tensor<1xf32>\n  %r = stablehlo.add %y, %t : tensor<1xf32>\n" \
  "  %o = stablehlo.custom_call @SPMDShardToFullShape(%r) {mhlo.sharding = \"{devices=[4]<=[4]}\"} : "               \
  "(tensor<1xf32>) -> tensor<4xf32>\n  return %o : tensor<4xf32>\n}\n}\n"

START_TEST(marks) {
  const test_case cases[] = {
      {"iota", GSPMD("{devices=[4]<=[4]}"), 0, W(0, 11, 22, 33)},
      {"transposed", GSPMD("{devices=[4]<=[2,2]T(1,0)}"), 0, W(0, 12, 21, 33)},
      {"listed", GSPMD("{devices=[4]3,1,0,2}"), 0, W(2, 11, 23, 30)},
      {"subgroups", GSPMD("{devices=[4,1]<=[4] last_tile_dims={manual}}"), 0, W(0, 11, 22, 33)},
  };
  RUN(cases);
}
END_TEST

// attributes: of the first mark, of the call, of the last mark
#define LOCAL(first, call, last)                                                                                \
  "module attributes {mhlo.num_partitions = 4 : i32, mhlo.frontend_attributes = {xla.sdy.meshes = \"{n = "      \
  "#sdy.mesh<[\\\\\\22y\\\\\\22=2]>, m = #sdy.mesh<[\\22x\\22=4]>}\"}} {\n"                                     \
  "func.func private @body(%y: tensor<1xf32>) -> tensor<1xf32> {\n" ID                                          \
  "  %b = stablehlo.reshape %p : (tensor<f32>) -> tensor<1xf32>\n  %r = stablehlo.add %y, %b : tensor<1xf32>\n" \
  "  return %r : tensor<1xf32>\n}\nfunc.func @main() -> tensor<4xf32> {\n"                                      \
  "  %x = stablehlo.iota dim = 0 : tensor<4xf32>\n"                                                             \
  "  stablehlo.custom_call @xla.sdy.ShardingGroup(%x) {has_side_effect = true} : (tensor<4xf32>) -> ()\n"       \
  "  %y = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%x) {" first                                        \
  "} : (tensor<4xf32>) -> tensor<1xf32>\n"                                                                      \
  "  %r = func.call @body(%y) {" call                                                                           \
  "} : (tensor<1xf32>) -> tensor<1xf32>\n"                                                                      \
  "  %o = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%r) {" last                                         \
  "} : (tensor<1xf32>) -> tensor<4xf32>\n"                                                                      \
  "  return %o : tensor<4xf32>\n}\n}\n"
#define IN "xla.sdy.in_shardings = \"#sdy.sharding_per_value<[<@m, [{\\22x\\22}]>]>\""
#define OUT "xla.sdy.out_shardings = \"#sdy.sharding_per_value<[<@m, [{\\22x\\22}]>]>\""
#define AXES "xla.sdy.manual_axes = \"#sdy<manual_axes{\\22x\\22}>\""

START_TEST(local_marks) {
  const test_case cases[] = {
      {"on the call", LOCAL("", "mhlo.frontend_attributes = {" IN ", " AXES ", " OUT "}", ""), 0, W(0, 2, 4, 6)},
      {"on the marks",
       LOCAL("mhlo.frontend_attributes = {" IN ", " AXES "}", "", "mhlo.frontend_attributes = {" OUT ", " AXES "}"), 0,
       W(0, 2, 4, 6)},
  };
  RUN(cases);
}
END_TEST

// Every operation of sdy in its pretty form: identities on global values.
START_TEST(identities) {
  const char *text =
      "sdy.mesh @m = <[\"x\"=2, \"y\"=2]>\n"
      "sdy.mesh @empty = <[]>\n"
      "func.func @main(%x: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{\"x\", ?}p1, {}]>}) -> (tensor<4x4xf32> "
      "{sdy.sharding = #sdy.sharding<mesh<[\"z\"=4]>, [{\"z\"}, {}]>}) {\n"
      "  %0 = sdy.sharding_constraint %x <@m, [{}, {?}], replicated={\"x\"}> : tensor<4x4xf32>\n"
      "  %1 = sdy.reshard %0 <@m, [{\"x\":(1)2}, {}]> : tensor<4x4xf32>\n"
      "  %2 = sdy.all_gather [{\"x\"}, {}] %1 out_sharding=<@m, [{}, {}]> : tensor<4x4xf32>\n"
      "  %3 = sdy.all_slice [{}, {\"y\"}] %2 out_sharding=<@m, [{}, {\"y\"}]> : tensor<4x4xf32>\n"
      "  %4 = sdy.all_to_all [{\"y\"}: 1->0] %3 out_sharding=<@m, [{\"y\"}, {}]> : tensor<4x4xf32>\n"
      "  %5 = sdy.collective_permute %4 out_sharding=<@m, [{\"x\"}, {}]> : tensor<4x4xf32>\n"
      "  %6 = sdy.all_reduce {\"y\"} %5 out_sharding=<@m, [{\"x\"}, {}]> : tensor<4x4xf32>\n"
      "  %7 = sdy.reduce_scatter [{}, {\"y\"}] %6 out_sharding=<@m, [{\"x\"}, {\"y\"}]> : tensor<4x4xf32>\n"
      "  %8 = sdy.sharded_to_unreduced [{}, {\"y\"}] %7 out_sharding=<@m, [{\"x\"}, {}], unreduced={\"y\"}> : "
      "tensor<4x4xf32>\n"
      "  %9 = sdy.replicated_to_unreduced {\"y\"} %8 out_sharding=<@m, [{}, {}], unreduced={\"y\"}> : tensor<4x4xf32>\n"
      "  sdy.sharding_group %9 group_id=3 : tensor<4x4xf32>\n"
      "  %10 = sdy.propagation_barrier %9 allowed_direction=NONE : tensor<4x4xf32>\n"
      "  %11 = sdy.data_flow_edge %10 sharding=<@m, [{}, {}]> : tensor<4x4xf32>\n"
      "  %12 = sdy.data_flow_edge %11 : tensor<4x4xf32>\n"
      "  %13 = sdy.named_computation<\"f\">(%12) in_shardings=[<@m, [{}, {}]>] out_shardings=[<@m, [{}, {}]>] (%v: "
      "tensor<4x4xf32>) {\n    %w = stablehlo.negate %v : tensor<4x4xf32>\n    sdy.return %w : tensor<4x4xf32>\n"
      "  } : (tensor<4x4xf32>) -> tensor<4x4xf32>\n"
      "  %14 = sdy.named_computation<\"g\">(%13) (%v: tensor<4x4xf32>) {\n    sdy.return %v : tensor<4x4xf32>\n"
      "  } : (tensor<4x4xf32>) -> tensor<4x4xf32>\n"
      "  return %14 : tensor<4x4xf32>\n}\n";
  arena *a = arena_create();
  hlo_module *m = NULL;
  ASSERT_OK(import_text(a, text, &m));
  ck_assert_int_eq(m->entry->root->op, HLO_OP_NEGATE);
  ck_assert_ptr_eq(m->entry->root->operands[0], m->entry->params[0]);
  arena_destroy(a);
}
END_TEST

typedef struct refused_case {
  const char *text;
  lemnos_status_code code;
  const char *want;
} refused_case;

START_TEST(what_is_refused) {
#define BODY1 "    sdy.return %y : tensor<1xf32>\n"
  const refused_case cases[] = {
      {ONE("[\"x\"=4]", "[{\"z\"}]", "[{\"x\"}]", "\"x\"", 1, BODY1, 4, 4), LEMNOS_INVALID_ARGUMENT,
       "operand 0's sharding '@m, [{\"z\"}]': its axes do not fit the mesh"},
      {ONE("[\"x\"=4]", "[{\"x\", \"x\"}]", "[{\"x\"}]", "\"x\"", 1, BODY1, 4, 4), LEMNOS_INVALID_ARGUMENT,
       "its axes do not fit the mesh"},
      {ONE("[\"x\"=4]", "[{\"x\"}]", "[{\"x\":(1)3}]", "\"x\"", 1, BODY1, 4, 3), LEMNOS_INVALID_ARGUMENT,
       "result 0's sharding '@m, [{\"x\":(1)3}]': its axes do not fit the mesh"},
      {ONE("[\"x\"=4]", "[{\"x\"}]", "[{\"x\"}]", "\"x\"", 1, BODY1, 6, 4), LEMNOS_INVALID_ARGUMENT,
       "does not divide tensor<6xf32> into parts of tensor<1xf32>"},
      {ONE("[\"x\"=4]", "[{\"x\"}]", "[{\"x\"}]", "\"x\"", 1, BODY1, 4, 8), LEMNOS_INVALID_ARGUMENT,
       "does not divide tensor<8xf32> into parts of tensor<1xf32>"},
      {ONE("[\"x\"=4]", "[{\"x\"}, {}]", "[{\"x\"}]", "\"x\"", 1, BODY1, 4, 4), LEMNOS_INVALID_ARGUMENT,
       "it is for a tensor of another rank"},
      {ONE("[\"x\"=4]", "[{\"x\"}]>, <@m, []", "[{\"x\"}]", "\"x\"", 1, BODY1, 4, 4), LEMNOS_INVALID_ARGUMENT,
       "has 1 operands and 1 results, but 2 and 1 shardings"},
      {ONE("[\"x\"=4]", "[{\"x\"}], somehow={}", "[{\"x\"}]", "\"x\"", 1, BODY1, 4, 4), LEMNOS_INVALID_ARGUMENT,
       "it has parts that are not known"},
      {ONE("[\"x\"=4], device_ids=[0, 1, 1, 2]", "[{\"x\"}]", "[{\"x\"}]", "\"x\"", 1, BODY1, 4, 4),
       LEMNOS_INVALID_ARGUMENT, "is not one of this module's"},
      {ONE("[\"x\"=2048]", "[{\"x\"}]", "[{\"x\"}]", "\"x\"", 1, BODY1, 2048, 2048), LEMNOS_UNIMPLEMENTED,
       "on a mesh of 2048 devices, limit 1024"},
      {GSPMD("{devices=[2]<=[2]}"), LEMNOS_UNIMPLEMENTED, "its tiles are not as many as the devices"},
      {GSPMD("{devices=[4]<=[4]T(1)}"), LEMNOS_UNIMPLEMENTED, "its tiles are not as many as the devices"},
      {GSPMD("{replicated}"), LEMNOS_INVALID_ARGUMENT, "does not fit the shapes"},
      {LOCAL("", "", ""), LEMNOS_INVALID_ARGUMENT, "@xla.sdy.GlobalToLocalShape: 'xla.sdy.in_shardings' is missing"},
      {GSPMD("{unknown}"), LEMNOS_UNIMPLEMENTED, "malformed, or of a form that is not supported"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    arena *a = arena_create();
    hlo_module *m = NULL;
    ASSERT_FAILS(import_text(a, cases[k].text, &m), cases[k].code, cases[k].want);
    arena_destroy(a);
  }
}
END_TEST

HARNESS_MAIN("interp_manual", places, captures, nested, marks, local_marks, identities, what_is_refused)
