// SPDX-License-Identifier: Apache-2.0
// Import over the whole test data (skipped where it is not there): every program imports, and the interpreter gets the
// same results, bit for bit, from it, from its HLO text read back, from its StableHLO text imported again, and, where
// sizes are dynamic, from the module refined for the arguments' shapes and sizes.
#include <dirent.h>

#include "frontend/import.h"
#include "interp/interp.h"
#include "tests/harness.h"

enum { MAX_VALUES = 256, SIZE = 8 };

typedef struct outcome {
  lemnos_status status;
  int n;
  interp_array results[MAX_VALUES];
} outcome;

static int n_programs, n_dynamic, n_refined;

// --- running -------------------------------------------------------------------------------------

static void make_up(arena *a, const hlo_shape *s, interp_array *out) {
  *out = (interp_array){.dtype = s->dtype, .rank = s->rank};
  int64_t n = 1;
  for (int d = 0; d < s->rank; d++) n *= out->dims[d] = s->dims[d] == HLO_DYNAMIC ? SIZE : s->dims[d];
  out->data = arena_alloc(a, (size_t)(n * hlo_dtype_bytes(s->dtype)) + 64);
  for (int64_t i = 0; i < n; i++) {
    if (hlo_dtype_is_integer(s->dtype) || s->dtype == HLO_PRED)
      hlo_element_set_i64(s->dtype, out->data, i, s->rank == 0 ? SIZE : i % 3);
    else if (hlo_shape_is_array(s))
      hlo_element_set_f64(s->dtype, out->data, i, 0, 0.25 * (double)(i % 17) - 1);
  }
}

static int arguments(arena *a, const hlo_module *m, interp_array *args, const hlo_shape **shapes,
                     const hlo_literal **values) {
  int n = 0;
  for (int p = 0; p < m->entry->n_params; p++) {
    const hlo_shape *all = m->entry->params[p]->shape;
    for (int j = 0; j < hlo_shape_leaves(all); j++, n++) {
      ck_assert_int_lt(n, MAX_VALUES);
      const hlo_shape *leaf = hlo_shape_leaf(all, j);
      make_up(a, leaf, &args[n]);
      shapes[n] = hlo_shape_with_dims(m->shapes, leaf, leaf->rank, args[n].dims);
      values[n] =
          leaf->rank == 0 && hlo_dtype_is_integer(leaf->dtype) ? hlo_literal_splat(a, shapes[n], args[n].data) : NULL;
    }
  }
  return n;
}

static void run(arena *a, const hlo_module *m, outcome *out) {
  interp_program *p = NULL;
  interp_array args[MAX_VALUES];
  const hlo_shape *shapes[MAX_VALUES];
  const hlo_literal *values[MAX_VALUES];
  memset(out, 0, sizeof *out);
  int n = arguments(a, m, args, shapes, values);
  if ((out->status = interp_compile(m, &p))) return;
  int results = interp_program_n_results(p);
  ck_assert_int_le(results, MAX_VALUES);
  interp_run_options o = {.deadline = io_seconds() + 60};
  out->status = interp_run(p, &o, n, args, results, out->results);
  if (!out->status) out->n = results;
  interp_program_destroy(p);
}

static void drop(outcome *o) {
  lemnos_status_free(o->status);
  for (int i = 0; i < o->n; i++) heap_aligned_free(o->results[i].data);
}

static void compare(arena *a, const char *path, const char *what, const outcome *expected, const hlo_module *m) {
  outcome other;
  run(a, m, &other);
  const char *message = lemnos_status_message(other.status);
  ck_assert_msg(lemnos_status_get_code(expected->status) == lemnos_status_get_code(other.status), "%s: %s: now %s",
                path, what, message);
  ck_assert_int_eq(expected->n, other.n);
  for (int i = 0; i < other.n; i++) {
    const interp_array *x = &expected->results[i], *y = &other.results[i];
    int64_t bytes = hlo_dtype_bytes(x->dtype);
    ck_assert_msg(x->dtype == y->dtype && x->rank == y->rank, "%s: %s: result %d has another type", path, what, i);
    for (int d = 0; d < x->rank; d++) {
      ck_assert_msg(x->dims[d] == y->dims[d], "%s: %s: result %d has another shape", path, what, i);
      bytes *= x->dims[d];
    }
    ck_assert_msg(bytes == 0 || memcmp(x->data, y->data, (size_t)bytes) == 0, "%s: %s: result %d differs", path, what,
                  i);
  }
  drop(&other);
}

// --- one program ---------------------------------------------------------------------------------

static bool is_dynamic(const hlo_module *m) {
  for (int i = 0; i < m->n_computations; i++)
    HLO_FOR_EACH (x, m->computations[i])
      if (!hlo_shape_is_static(x->shape) || hlo_op_table[x->op].family == HLO_FAMILY_DYNAMIC) return true;
  return false;
}

static void check_refined(arena *a, const char *path, const outcome *expected, hlo_module *m) {
  interp_array args[MAX_VALUES];
  const hlo_shape *shapes[MAX_VALUES];
  const hlo_literal *values[MAX_VALUES];
  int n = arguments(a, m, args, shapes, values);
  lemnos_status s = import_refine_values(m, n, shapes, values, NULL);
  n_dynamic++;
  if (s) {  // then it could not run either
    ck_assert_msg(expected->status != NULL, "%s: refinement: %s", path, lemnos_status_message(s));
    lemnos_status_free(s);
    return;
  }
  n_refined += !is_dynamic(m);
  compare(a, path, "refined", expected, m);
}

static void check_program(arena *a, const char *path, hlo_module *m) {
  outcome expected;
  hlo_module *again;
  mlir_module *mlir;
  diag_sink sink;
  strbuf text = {0};
  n_programs++;
  diag_sink_init(&sink, a);
  run(a, m, &expected);
  hlo_print_module(&text, m, NULL);
  ASSERT_OK(hlo_parse(a, strv_from_cstr(path), arena_strv(a, strbuf_view(&text)), &sink, &again));
  compare(a, path, "HLO text", &expected, again);
  strbuf_clear(&text);
  export_stablehlo(&text, m);
  ASSERT_OK(mlir_parse_text(a, strv_from_cstr(path), arena_strv(a, strbuf_view(&text)), &sink, &mlir));
  ASSERT_OK(import_module(mlir, NULL, a, &sink, &again));
  compare(a, path, "StableHLO text", &expected, again);
  if (is_dynamic(m)) check_refined(a, path, &expected, m);
  strbuf_deinit(&text);
  diag_sink_deinit(&sink);
  drop(&expected);
}

static void check_text(const char *path, strv text) {
  arena *a = arena_create();
  diag_sink sink;
  mlir_module *mlir;
  strv *names;
  int n;
  diag_sink_init(&sink, a);
  ASSERT_OK(mlir_parse_text(a, strv_from_cstr(path), text, &sink, &mlir));
  ASSERT_OK(import_list_entries(mlir, a, &names, &n));
  for (int i = 0; i < n; i++) {
    hlo_module *m;
    import_options options = {.entry = names[i]};
    lemnos_status s = import_module(mlir, &options, a, &sink, &m);
    // Two strides for one spatial dimension: against dynamic_conv_c2, and in these two files only.
    if (s && strstr(path, "conv_general_dilated_1d_stride_2_")) {
      lemnos_status_free(s);
      continue;
    }
    ck_assert_msg(!s, "%s: %s", path, lemnos_status_message(s));
    check_program(a, path, m);
  }
  diag_sink_deinit(&sink);
  arena_destroy(a);
}

static void check_folder(const char *folder) {
  char path[4096];
  struct dirent **list;
  snprintf(path, sizeof path, "%s/%s", harness_shared(), folder);
  int n = scandir(path, &list, NULL, alphasort);
  ck_assert_int_gt(n, 0);
  for (int i = 0; i < n; i++) {
    char *data;
    size_t size, from = 0;
    bool module = strv_ends_with(strv_from_cstr(list[i]->d_name), STRV(".mlir"));
    snprintf(path, sizeof path, "%s/%s/%s", harness_shared(), folder, list[i]->d_name);
    free(list[i]);
    if (!module) continue;
    ASSERT_OK(io_read_file(path, &data, &size));
    for (size_t k = 0; k <= size; k++) {
      if (k < size && !(strncmp(data + k, "// -----", 8) == 0 && (k == 0 || data[k - 1] == '\n'))) continue;
      check_text(path, (strv){data + from, k - from});
      from = k;
    }
    heap_aligned_free(data);
  }
  free(list);
}

START_TEST(static_programs) {
  check_folder("stablehlo-testdata");
}
END_TEST

START_TEST(quantized_programs) {
  check_folder("stablehlo-testdata/quantized");
}
END_TEST

START_TEST(dynamic_programs) {
  check_folder("stablehlo-testdata/dynamic");
  // What is left decides its sizes by data.
  ck_assert_int_ge(n_dynamic, 386);
  ck_assert_int_ge(n_refined, n_dynamic - 2);
}
END_TEST

START_TEST(dynamic_network) {
  check_folder("models/digits_cnn_dynamic");
}
END_TEST

int main(void) {
  const TTest *const tests[] = {static_programs, quantized_programs, dynamic_programs, dynamic_network};
  if (!harness_shared()) {
    puts("no test data (LEMNOS_SHARED): skipped");
    return HARNESS_SKIPPED;
  }
  return harness_run("import_folders", tests, 4);
}
