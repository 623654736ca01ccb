// SPDX-License-Identifier: Apache-2.0
// Developer's tool: runs self-checking modules through the interpreter.
//   run_check [--threads N] [--time] [--dis] [-q] FILE...
//   run_check --conformance    all of stablehlo-testdata in $LEMNOS_SHARED (else ../shared), apart from known[]; 77:
//   not there
// A file may hold several modules separated by lines "// -----". main is run, or every function without arguments; a
// main with arguments gets made-up ones (dynamic dimensions 8, i64 scalars 8, other scalars 0, small numbers elsewhere)
// and passes if it runs and, when it has dynamic shapes, gives the same bits after import_refine_values made them
// static. An operation refused by name counts as skipped.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/import.h"
#include "interp/interp.h"

// Modules whose expected values are not what the specification or exact arithmetic gives; all but the two of chlo are
// switched off in openxla/stablehlo too.
static const char *const known[] = {
    "cosh_float32_20_20_chlo.mlir",
    "sinh_float32_20_20_chlo.mlir",  // values of a decomposition in f32
    "cumprod_complex64_8_9.mlir",
    "pow_complex64_20_30_complex64_20_30.mlir",
    "sin_complex64_20_20.mlir",  // inexact
    "fft_complex128_14_15_16_17.mlir",
    "fft_complex64_14_15_16_17.mlir",
    "fft_float32_14_15_16_17.mlir",
    "fft_float64_14_15_16_17.mlir",
    "triangular_solve_float32_2_8_8_float32_2_10_8.mlir",  // inexact
    "sort_float32_5.mlir",
    "top_k_float32_5_chlo.mlir",  // expect_eq of NaNs
    "conv_general_dilated_1d_stride_2_even_dynamic.mlir",
    "conv_general_dilated_1d_stride_2_odd_dynamic.mlir",  // two strides, one dimension
};

static int n_passed, n_failed, n_skipped, n_known;
static bool conformance;
static thread_pool *pool;
static bool show_time, quiet, disassemble;

static void finish(const char *file, strv entry, lemnos_status s) {
  if (!s) {
    n_passed++;
    if (!quiet) printf("PASS %s @" STRV_FMT "\n", file, STRV_ARG(entry));
    return;
  }
  bool skip = lemnos_status_get_code(s) == LEMNOS_UNIMPLEMENTED;
  const char *slash = strrchr(file, '/');
  for (size_t k = 0; conformance && k < sizeof known / sizeof *known; k++) {
    if (strcmp(slash ? slash + 1 : file, known[k])) continue;
    n_known++;
    lemnos_status_free(s);
    return;
  }
  skip ? n_skipped++ : n_failed++;
  printf("%s %s @" STRV_FMT ": %s: %s\n", skip ? "SKIP" : "FAIL", file, STRV_ARG(entry),
         lemnos_status_code_text(lemnos_status_get_code(s)), lemnos_status_message(s));
  lemnos_status_free(s);
}

static void make_up(arena *a, const hlo_shape *s, interp_array *out) {
  *out = (interp_array){.dtype = s->dtype, .rank = s->rank};
  int64_t n = 1;
  for (int d = 0; d < s->rank; d++) n *= out->dims[d] = s->dims[d] < 0 ? 8 : s->dims[d];
  out->data = arena_alloc(a, (size_t)(n * hlo_dtype_bytes(s->dtype)) + 64);
  for (int64_t i = 0; i < n; i++) {
    if (hlo_dtype_is_integer(s->dtype) || s->dtype == HLO_PRED)
      hlo_element_set_i64(s->dtype, out->data, i, s->rank == 0 ? (s->dtype == HLO_S64 ? 8 : 0) : i % 3);
    else if (s->dtype < HLO_TOKEN)
      hlo_element_set_f64(s->dtype, out->data, i, 0, 0.25 * (double)(i % 17) - 1);
  }
}

typedef struct run_state {
  int n_args, n_results;
  interp_array *args, *results;
} run_state;

static void run_free(run_state *r) {
  for (int k = 0; r->results && k < r->n_results; k++) heap_aligned_free(r->results[k].data);
  free(r->args);
  free(r->results);
}

static lemnos_status run_program(arena *a, hlo_module *m, run_state *r) {
  interp_program *p = NULL;
  LEMNOS_TRY(interp_compile(m, &p));
  if (disassemble) {
    strbuf b = {0};
    interp_program_disassemble(p, &b);
    fwrite(b.data, 1, b.len, stdout);
    strbuf_deinit(&b);
  }
  int n = 0;
  r->n_results = interp_program_n_results(p);
  r->results = heap_alloc(sizeof *r->results * (size_t)(r->n_results + 1));
  if (!r->args) {
    r->n_args = interp_program_n_args(p);
    r->args = heap_alloc(sizeof *r->args * (size_t)(r->n_args + 1));
    for (int k = 0; k < m->entry->n_params; k++)
      for (int j = 0; j < hlo_shape_leaves(m->entry->params[k]->shape); j++)
        make_up(a, hlo_shape_leaf(m->entry->params[k]->shape, j), &r->args[n++]);
  }
  interp_run_options o = {.pool = pool, .deadline = io_seconds() + 100};
  lemnos_status s = interp_run(p, &o, r->n_args, r->args, r->n_results, r->results);
  interp_program_destroy(p);
  return s;
}

static bool is_dynamic(const hlo_module *m) {
  for (int k = 0; k < m->entry->n_params; k++)
    if (!hlo_shape_is_static(m->entry->params[k]->shape)) return true;
  return false;
}

static lemnos_status compare(const run_state *x, const run_state *y) {
  for (int k = 0; k < x->n_results; k++) {
    const interp_array *p = &x->results[k], *q = &y->results[k];
    size_t bytes = (size_t)hlo_dtype_bytes(p->dtype);
    bool same = p->rank == q->rank && p->dtype == q->dtype;
    for (int d = 0; same && d < p->rank; d++) {
      same = p->dims[d] == q->dims[d];
      bytes *= (size_t)p->dims[d];
    }
    if (!same || (bytes && memcmp(p->data, q->data, bytes)))
      return lemnos_status_make(LEMNOS_CHECK_FAILED, "result %d changes when dynamic shapes are refined", k);
  }
  return LEMNOS_SUCCESS;
}

// The same arguments, after refinement for their shapes and integer values.
static lemnos_status run_refined(arena *a, hlo_module *m, diag_sink *sink, const run_state *first) {
  const hlo_shape **shapes = ARENA_ARRAY(a, const hlo_shape *, first->n_args + 1);
  const hlo_literal **values = ARENA_ARRAY(a, const hlo_literal *, first->n_args + 1);
  for (int k = 0; k < first->n_args; k++) {
    const interp_array *x = &first->args[k];
    shapes[k] = hlo_shape_array(m->shapes, x->dtype, x->rank, x->dims);
    if (!hlo_dtype_is_integer(x->dtype) || x->rank) continue;
    hlo_literal *l = ARENA_NEW(a, hlo_literal);
    *l = (hlo_literal){.shape = shapes[k], .data = x->data};
    values[k] = l;
  }
  LEMNOS_TRY(import_refine_values(m, first->n_args, shapes, values, sink));
  run_state second = {.n_args = first->n_args};
  second.args = heap_alloc(sizeof *second.args * (size_t)(first->n_args + 1));
  memcpy(second.args, first->args, sizeof *second.args * (size_t)first->n_args);
  lemnos_status s = run_program(a, m, &second);
  if (!s) s = compare(first, &second);
  run_free(&second);
  return lemnos_status_annotate(s, "refined");
}

static lemnos_status run_entry(const mlir_module *mlir, strv entry, arena *a) {
  diag_sink sink;
  diag_sink_init(&sink, a);
  hlo_module *m = NULL;
  import_options o = {.entry = entry};
  run_state r = {0};
  lemnos_status s = import_module(mlir, &o, a, &sink, &m);
  if (!s) s = run_program(a, m, &r);
  if (!s && is_dynamic(m)) {
    s = import_module(mlir, &o, a, &sink, &m);
    if (!s) s = run_refined(a, m, &sink, &r);
  }
  run_free(&r);
  diag_sink_deinit(&sink);
  return s;
}

static void run_module(const char *file, strv text) {
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  mlir_module *mlir = NULL;
  strv *entries = NULL;
  int n = 0;
  double start = io_seconds();
  lemnos_status s = mlir_parse_text(a, strv_from_cstr(file), text, &sink, &mlir);
  if (!s) s = import_list_entries(mlir, a, &entries, &n);
  if (s) finish(file, STRV("?"), s);
  for (int k = 0; k < n; k++) finish(file, entries[k], run_entry(mlir, entries[k], a));
  if (show_time) printf("%8.1f ms %s\n", (io_seconds() - start) * 1e3, file);
  diag_sink_deinit(&sink);
  arena_destroy(a);
}

static bool has_code(strv s) {
  while (s.len) {
    strv line, rest;
    strv_split(s, '\n', &line, &rest);
    line = strv_trim(line);
    if (line.len && !strv_starts_with(line, STRV("//"))) return true;
    s = rest;
  }
  return false;
}

static void run_file(const char *path) {
  char *data = NULL;
  size_t size = 0;
  lemnos_status s = io_read_file(path, &data, &size);
  if (s) return finish(path, STRV("?"), s);
  strv text = {data, size};
  size_t begin = 0, at = 0;
  while (at <= text.len) {
    size_t end = at;
    while (end < text.len && text.data[end] != '\n') end++;
    strv line = strv_trim((strv){text.data + at, end - at});
    if (end >= text.len || strv_eq(line, STRV("// -----"))) {
      strv part = {text.data + begin, (end >= text.len ? text.len : at) - begin};
      if (has_code(part)) run_module(path, part);
      begin = end + 1;
    }
    at = end + 1;
  }
  heap_aligned_free(data);
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool run_folder(const char *folder) {
  DIR *d = opendir(folder);
  if (!d) return false;
  VEC(char *) names = {0};
  for (struct dirent *e; (e = readdir(d));) {
    size_t n = strlen(e->d_name);
    if (n < 5 || strcmp(e->d_name + n - 5, ".mlir")) continue;
    char *path = heap_alloc(strlen(folder) + n + 2);
    sprintf(path, "%s/%s", folder, e->d_name);
    vec_push(NULL, &names, path);
  }
  closedir(d);
  qsort(names.data, (size_t)names.len, sizeof *names.data, by_name);
  for (int k = 0; k < names.len; k++) {
    run_file(names.data[k]);
    free(names.data[k]);
  }
  vec_deinit(&names);
  return true;
}

static int run_conformance(void) {
  const char *shared = getenv("LEMNOS_SHARED");
  if (!shared || !*shared) shared = LEMNOS_SOURCE_ROOT "/../shared";
  static const char *const folders[] = {"", "/dynamic", "/quantized"};
  conformance = quiet = true;
  for (int k = 0; k < 3; k++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/stablehlo-testdata%s", shared, folders[k]);
    if (!run_folder(path)) return printf("skipped: no folder %s\n", path), 77;
  }
  printf("%d passed, %d failed, %d skipped, %d known to differ\n", n_passed, n_failed, n_skipped, n_known);
  return n_failed || n_skipped ? 1 : 0;
}

int main(int argc, char **argv) {
  if (argc == 2 && !strcmp(argv[1], "--conformance")) return run_conformance();
  for (int k = 1; k < argc; k++) {
    if (!strcmp(argv[k], "--threads") && k + 1 < argc) {
      lemnos_status s = thread_pool_create(atoi(argv[++k]), &pool);
      if (s) return lemnos_status_free(s), 1;
    } else if (!strcmp(argv[k], "--time")) {
      show_time = true;
    } else if (!strcmp(argv[k], "--dis")) {
      disassemble = true;
    } else if (!strcmp(argv[k], "-q")) {
      quiet = true;
    } else {
      run_file(argv[k]);
    }
  }
  if (pool) thread_pool_destroy(pool);
  printf("%d passed, %d failed, %d skipped\n", n_passed, n_failed, n_skipped);
  return n_failed ? 1 : 0;
}
