// SPDX-License-Identifier: Apache-2.0
// Developer's tool: runs a program in the interpreter on raw files.
//   run_model MODULE ARG_DIR OUT_DIR [--threads N] [--profile] [--max-bytes N] [--repeat N]
// ARG_DIR holds arg0.bin, arg1.bin, ...: elements as hlo/dtypes.def lays them out, and shapes.txt: one line of dims per
// argument (needed for dynamic dimensions only). OUT_DIR receives out0.bin, ... and shapes.txt.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/import.h"
#include "interp/interp.h"

static lemnos_status load_arg(const char *dir, int k, const hlo_shape *s, const char *line, interp_array *out) {
  char path[1024];
  *out = (interp_array){.dtype = s->dtype, .rank = s->rank};
  for (int d = 0; d < s->rank; d++) {
    char *end = NULL;
    out->dims[d] = s->dims[d];
    if (!line) continue;
    int64_t n = strtoll(line, &end, 10);
    if (end != line && s->dims[d] < 0) out->dims[d] = n;
    line = end;
  }
  snprintf(path, sizeof path, "%s/arg%d.bin", dir, k);
  size_t size, want = (size_t)hlo_dtype_bytes(s->dtype);
  for (int d = 0; d < s->rank; d++) want *= (size_t)out->dims[d];
  char *data = NULL;
  LEMNOS_TRY(io_read_file(path, &data, &size));
  out->data = data;
  if (size != want) return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "%s: %zu bytes, expected %zu", path, size, want);
  return LEMNOS_SUCCESS;
}

static lemnos_status write_results(const char *dir, int n, const interp_array *results) {
  char path[1024];
  strbuf shapes = {0};
  lemnos_status s = LEMNOS_SUCCESS;
  for (int k = 0; k < n && !s; k++) {
    size_t size = (size_t)hlo_dtype_bytes(results[k].dtype);
    for (int d = 0; d < results[k].rank; d++) {
      size *= (size_t)results[k].dims[d];
      strbuf_printf(&shapes, "%lld ", (long long)results[k].dims[d]);
    }
    strbuf_append_char(&shapes, '\n');
    snprintf(path, sizeof path, "%s/out%d.bin", dir, k);
    s = io_write_file(path, results[k].data, size);
  }
  snprintf(path, sizeof path, "%s/shapes.txt", dir);
  if (!s) s = io_write_file(path, shapes.data ? shapes.data : "", shapes.len);
  strbuf_deinit(&shapes);
  return s;
}

typedef struct options {
  const char *module, *args, *out;
  int threads, repeat;
  bool profile;
  int64_t max_bytes;
} options;

static lemnos_status run(arena *a, diag_sink *sink, const options *o) {
  char *data = NULL, *text = NULL, path[1024];
  size_t size, text_size;
  LEMNOS_TRY(io_read_file(o->module, &data, &size));
  hlo_module *m = NULL;
  double start = io_seconds();
  LEMNOS_TRY(import_program(a, strv_from_cstr(o->module), data, size, NULL, sink, &m));
  double imported = io_seconds();
  interp_program *p = NULL;
  LEMNOS_TRY(interp_compile(m, &p));
  double compiled = io_seconds();
  int n_args = interp_program_n_args(p), n_results = interp_program_n_results(p), n = 0;
  interp_array *args = heap_alloc(sizeof *args * (size_t)(n_args + 1)),
               *results = heap_alloc(sizeof *results * (size_t)(n_results + 1));
  snprintf(path, sizeof path, "%s/shapes.txt", o->args);
  lemnos_status_free(io_read_file(path, &text, &text_size));
  strv rest = strv_from_cstr(text), line;
  for (int k = 0; k < m->entry->n_params; k++)
    for (int j = 0; j < hlo_shape_leaves(m->entry->params[k]->shape); j++, n++) {
      strv_split(rest, '\n', &line, &rest);
      LEMNOS_TRY(
          load_arg(o->args, n, hlo_shape_leaf(m->entry->params[k]->shape, j), text ? line.data : NULL, &args[n]));
    }
  thread_pool *pool = NULL;
  LEMNOS_TRY(thread_pool_create(o->threads, &pool));
  int64_t peak = 0;
  interp_profile profile = {.arena = a};
  for (int r = 0; r < o->repeat; r++) {
    interp_run_options run_options = {
        .pool = pool, .max_bytes = o->max_bytes, .peak_bytes = &peak, .profile = o->profile ? &profile : NULL};
    for (int k = 0; k < n_results; k++) {
      heap_aligned_free(results[k].data);
      results[k].data = NULL;
    }
    double begin = io_seconds();
    LEMNOS_TRY(interp_run(p, &run_options, n_args, args, n_results, results));
    printf("import %.1f ms, compile %.1f ms, run %.1f ms, peak %.1f MiB\n", (imported - start) * 1e3,
           (compiled - imported) * 1e3, (io_seconds() - begin) * 1e3, (double)peak / 1048576);
  }
  if (o->profile) {
    strbuf table = {0};
    interp_profile_print(&profile, &table);
    fputs(table.data, stdout);
    strbuf_deinit(&table);
  }
  lemnos_status s = write_results(o->out, n_results, results);
  for (int k = 0; k < n_results; k++) heap_aligned_free(results[k].data);
  for (int k = 0; k < n_args; k++) heap_aligned_free(args[k].data);
  free(args);
  free(results);
  thread_pool_destroy(pool);
  interp_program_destroy(p);
  heap_aligned_free(text);
  heap_aligned_free(data);
  return s;
}

int main(int argc, char **argv) {
  options o = {.threads = 0, .repeat = 1};
  int n = 0;
  for (int k = 1; k < argc; k++) {
    if (!strcmp(argv[k], "--threads") && k + 1 < argc)
      o.threads = atoi(argv[++k]);
    else if (!strcmp(argv[k], "--repeat") && k + 1 < argc)
      o.repeat = atoi(argv[++k]);
    else if (!strcmp(argv[k], "--max-bytes") && k + 1 < argc)
      o.max_bytes = atoll(argv[++k]);
    else if (!strcmp(argv[k], "--profile"))
      o.profile = true;
    else if (n < 3)
      *(const char **[]){&o.module, &o.args, &o.out}[n++] = argv[k];
  }
  if (n < 3)
    return fprintf(stderr, "usage: run_model MODULE ARG_DIR OUT_DIR [--threads N] [--profile] [--repeat N]\n"), 2;
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  lemnos_status s = run(a, &sink, &o);
  if (s)
    fprintf(stderr, "error: %s: %s\n", lemnos_status_code_text(lemnos_status_get_code(s)), lemnos_status_message(s));
  int rc = s ? 1 : 0;
  lemnos_status_free(s);
  diag_sink_deinit(&sink);
  arena_destroy(a);
  return rc;
}
