// SPDX-License-Identifier: Apache-2.0
// Replica groups by the axes of a mesh. Expected groups by hand: devices are numbered row-major by the mesh's axes.
#include "frontend/import.h"
#include "tests/harness.h"

#define AXIS(name, size) "#stablehlo.mesh_axis<name = \"" name "\", size = " #size ">"
#define MESH(axes, more) "#stablehlo.mesh<axes = [" axes "]" more ">"
#define REF(name) "#stablehlo.axis_ref<name = \"" name "\">"
#define SUB(name, pre, size) "#stablehlo.axis_ref<name = \"" name "\", sub_axis_info = (" #pre ")" #size ">"

static lemnos_status import(const char *mesh, const char *axes, arena *a, hlo_module **out) {
  char *text =
      arena_printf(a,
                   "\"sdy.mesh\"() {sym_name = \"here\", stablehlo.mesh = {axes = [{name = \"x\", size = 2 : i64}, "
                   "{name = \"y\", size = 2 : i64}], device_ids = dense<[0, 2, 1, 3]> : tensor<4xi64>}} : () -> ()\n"
                   "func.func @main(%%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                   "  %%0 = \"stablehlo.all_reduce\"(%%a) ({\n"
                   "  ^bb0(%%x: tensor<f32>, %%y: tensor<f32>):\n"
                   "    %%1 = stablehlo.add %%x, %%y : tensor<f32>\n"
                   "    stablehlo.return %%1 : tensor<f32>\n"
                   "  }) {replica_groups = #stablehlo.replica_group_mesh_axes<mesh = %s, axes = [%s]>}"
                   " : (tensor<4xf32>) -> tensor<4xf32>\n  return %%0 : tensor<4xf32>\n}\n",
                   mesh, axes);
  diag_sink sink;
  diag_sink_init(&sink, a);
  mlir_module *m = NULL;
  lemnos_status s = mlir_parse_text(a, STRV("t.mlir"), strv_from_cstr(text), &sink, &m);
  if (!s) s = import_module(m, NULL, a, &sink, out);
  diag_sink_deinit(&sink);
  return s;
}

typedef struct groups_case {
  const char *mesh, *axes;
  int rows, cols;
  const int64_t *want;
} groups_case;

#define G(...) ((const int64_t[]){__VA_ARGS__})

START_TEST(written_out) {
  const groups_case cases[] = {
      {MESH(AXIS("x", 2) ", " AXIS("y", 2), ""), REF("x"), 2, 2, G(0, 2, 1, 3)},
      {MESH(AXIS("x", 2) ", " AXIS("y", 2), ""), REF("y"), 2, 2, G(0, 1, 2, 3)},
      {MESH(AXIS("x", 2) ", " AXIS("y", 2), ""), REF("y") ", " REF("x"), 1, 4, G(0, 2, 1, 3)},
      {MESH(AXIS("x", 2) ", " AXIS("y", 3), ""), REF("x"), 3, 2, G(0, 3, 1, 4, 2, 5)},
      {MESH(AXIS("x", 2) ", " AXIS("y", 2), ", device_ids = dense<[3, 2, 1, 0]> : tensor<4xi64>"), REF("x"), 2, 2,
       G(3, 1, 2, 0)},
      {"@here", REF("x"), 2, 2, G(0, 1, 2, 3)},
      // The middle bit of eight devices, and the highest.
      {MESH(AXIS("x", 8), ""), SUB("x", 2, 2), 4, 2, G(0, 2, 1, 3, 4, 6, 5, 7)},
      {MESH(AXIS("x", 8), ""), SUB("x", 1, 2), 4, 2, G(0, 4, 1, 5, 2, 6, 3, 7)},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    arena *a = arena_create();
    hlo_module *m = NULL;
    ASSERT_OK(import(cases[k].mesh, cases[k].axes, a, &m));
    hlo_groups g = {0};
    HLO_FOR_EACH (i, m->entry)
      if (i->op == HLO_OP_ALL_REDUCE) g = HLO_ATTRS(i, all_reduce)->replica_groups;
    ck_assert_int_eq(g.rows, cases[k].rows);
    ck_assert_int_eq(g.cols, cases[k].cols);
    for (int i = 0; i < g.rows * g.cols; i++)
      ck_assert_msg(g.data[i] == cases[k].want[i], "case %zu, id %d: %lld, expected %lld", k, i, (long long)g.data[i],
                    (long long)cases[k].want[i]);
    arena_destroy(a);
  }
}
END_TEST

START_TEST(wrong) {
  arena *a = arena_create();
  hlo_module *m = NULL;
  ASSERT_FAILS(import(MESH(AXIS("x", 2), ""), REF("z"), a, &m), LEMNOS_INVALID_ARGUMENT, "do not fit the mesh");
  ASSERT_FAILS(import(MESH(AXIS("x", 6), ""), SUB("x", 4, 2), a, &m), LEMNOS_INVALID_ARGUMENT, "do not fit the mesh");
  ASSERT_FAILS(import(MESH(AXIS("x", 2), ""), REF("x") ", " REF("x"), a, &m), LEMNOS_INVALID_ARGUMENT,
               "do not fit the mesh");
  ASSERT_FAILS(import("@elsewhere", REF("x"), a, &m), LEMNOS_UNIMPLEMENTED, "mesh @elsewhere");
  arena_destroy(a);
}
END_TEST

HARNESS_MAIN("frontend_import_groups", written_out, wrong)
