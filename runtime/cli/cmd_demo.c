// SPDX-License-Identifier: Apache-2.0
// lemnos demo: a trained classifier on every device that runs programs, in one table.
//
// The interpreter goes first and is what the others are compared with. A device that fails keeps its row, with the
// reason.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/cli/cli.h"

typedef struct demo {
  const char *folder;
  cli_session base;  // context, module, arguments
  interp_array labels;
  interp_array reference;  // the interpreter's result
  int64_t runs;
} demo;

typedef struct demo_row {
  char id[64], name[128];
  double accuracy, difference, compile_ms, run_ms;
  lemnos_status failure;
} demo_row;

static lemnos_status load(const cli_program *p, demo *d) {
  arena *a = arena_create();
  char *bytes;
  size_t size;
  cli_inputs in = {.inputs = d->folder, .safetensors = getenv("LEMNOS_SAFETENSORS")};
  const char *module = arena_printf(a, "%s/module.mlir", d->folder),
             *labels = arena_printf(a, "%s/labels.npy", d->folder);
  lemnos_status status = session_context(p, &d->base.context);
  if (!status) status = lemnos_module_load_file(d->base.context, module, &d->base.module);
  if (!status) status = inputs_load(&in, d->base.module, &d->base.n_args, &d->base.args);
  if (!status) status = io_read_file(labels, &bytes, &size);
  if (!status) {
    status = npy_read(labels, (strv){bytes, size}, HLO_DTYPE_COUNT, &d->labels);
    heap_aligned_free(bytes);
  }
  if (!status && (!hlo_dtype_is_integer(d->labels.dtype) || d->labels.rank != 1))
    status = lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "%s is not a list of integers", labels);
  arena_destroy(a);
  return status;
}

// Share of rows whose largest score is at the label.
static double accuracy(const interp_array *scores, const interp_array *labels) {
  int64_t right = 0, n = scores->dims[0], classes = scores->dims[1];
  for (int64_t i = 0; i < n; i++) {
    int64_t best = 0;
    for (int64_t c = 1; c < classes; c++)
      if (hlo_element_get_f64(scores->dtype, scores->data, i * classes + c, 0) >
          hlo_element_get_f64(scores->dtype, scores->data, i * classes + best, 0))
        best = c;
    right += best == hlo_element_get_i64(labels->dtype, labels->data, i);
  }
  return n ? (double)right / (double)n : 0;
}

static double largest_difference(const interp_array *a, const interp_array *b) {
  double most = 0;
  int64_t n = array_elements(a);
  for (int64_t i = 0; i < n; i++) {
    double d = fabs(hlo_element_get_f64(a->dtype, a->data, i, 0) - hlo_element_get_f64(b->dtype, b->data, i, 0));
    if (!(d <= most)) most = d;  // NaN too
  }
  return most;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y ? 1 : 0;
}

static lemnos_status run_device(demo *d, cli_session *s, const cli_program *p, cli_interrupt *interrupt,
                                demo_row *row) {
  LEMNOS_TRY(lemnos_device_open(s->context, row->id, &s->device));
  LEMNOS_TRY(session_compile(s, p));
  LEMNOS_TRY(session_upload(s, true));
  lemnos_buffer **buffers = heap_alloc(sizeof *buffers * (size_t)(s->n_results + 1));
  double times[64];
  int n = 0;
  lemnos_status status = LEMNOS_SUCCESS;
  for (; !status && n <= d->runs && n < 64; n++) {  // the first warms up
    session_free_results(s, buffers);
    double start = io_seconds();
    status = session_run(s, p, false, interrupt, buffers);
    times[n] = io_seconds() - start;
  }
  interp_array *results = NULL;
  if (!status) status = session_read(s, buffers, &results);
  session_free_results(s, buffers);
  free(buffers);
  LEMNOS_TRY(status);
  const interp_array *scores = &results[0];
  if (s->n_results < 1 || scores->rank != 2 || !hlo_dtype_is_float(scores->dtype) ||
      scores->dims[0] != d->labels.dims[0]) {
    status =
        lemnos_status_make(LEMNOS_INVALID_ARGUMENT,
                           "%s: the program's first result is not a score for each class of each label", d->folder);
  } else {
    qsort(times + 1, (size_t)(n - 1), sizeof *times, by_value);
    lemnos_executable_stats st;
    lemnos_executable_get_stats(s->executable, &st);
    row->compile_ms = st.compile_seconds * 1e3;
    row->run_ms = times[1 + (n - 1) / 2] * 1e3;
    row->accuracy = accuracy(scores, &d->labels);
    if (!d->reference.data) {
      d->reference = *scores;
      results[0].data = NULL;
    } else {
      row->difference = largest_difference(scores, &d->reference);
    }
  }
  arrays_free(s->n_results, results);
  return status;
}

static void demo_device(demo *d, const cli_program *p, cli_interrupt *interrupt, demo_row *row) {
  cli_session s = {
      .context = d->base.context, .module = d->base.module, .args = d->base.args, .n_args = d->base.n_args};
  row->failure = run_device(d, &s, p, interrupt, row);
  for (int i = 0; s.buffers && i < s.n_args; i++) lemnos_buffer_free(s.buffers[i]);
  free(s.buffers);
  lemnos_executable_free(s.executable);
  lemnos_device_free(s.device);
}

static void print_table(strbuf *out, const demo *d, const demo_row *rows, int n) {
  strbuf_printf(out, "%s: %lld images\n\n", d->folder, (long long)d->labels.dims[0]);
  strbuf_printf(out, "%-10s %-42s %9s %21s %11s %9s\n", "device", "name", "accuracy", "difference from interp",
                "compile ms", "run ms");
  for (int i = 0; i < n; i++) {
    strbuf_printf(out, "%-10s %-42.42s ", rows[i].id, rows[i].name);
    if (rows[i].failure)
      strbuf_printf(out, "failed: %s\n", lemnos_status_message(rows[i].failure));
    else if (rows[i].difference == 0 && i == n - 1)
      strbuf_printf(out, "%8.2f%% %21s %12.1f %9.2f\n", rows[i].accuracy * 100, "(the reference)", rows[i].compile_ms,
                    rows[i].run_ms);
    else
      strbuf_printf(out, "%8.2f%% %21.3g %12.1f %9.2f\n", rows[i].accuracy * 100, rows[i].difference,
                    rows[i].compile_ms, rows[i].run_ms);
  }
}

static lemnos_status run_demo(demo *d, const cli_program *p, cli_interrupt *interrupt) {
  LEMNOS_TRY(load(p, d));
  lemnos_device_info *infos;
  int32_t n_infos;
  char *absent = NULL;
  LEMNOS_TRY(lemnos_devices(d->base.context, &infos, &n_infos, &absent));
  demo_row *rows = heap_alloc(sizeof *rows * (size_t)(n_infos + 1));
  int n = 0;
  for (int i = 0; i < n_infos; i++) {
    if (infos[i].compile_only) continue;
    snprintf(rows[n].id, sizeof rows[n].id, "%s", infos[i].id);
    snprintf(rows[n].name, sizeof rows[n].name, "%s", infos[i].name);
    n++;
  }
  free(infos);
  cli_interrupt_phase(interrupt, CLI_PHASE_RUN);
  for (int i = n - 1; i >= 0 && !interrupt->cancelled; i--)
    demo_device(d, p, interrupt, &rows[i]);  // the interpreter is last in the list
  cli_interrupt_phase(interrupt, CLI_PHASE_IDLE);
  lemnos_status status = interrupt->cancelled ? lemnos_status_make(LEMNOS_CANCELLED, "interrupted") : LEMNOS_SUCCESS;
  strbuf out = {0};
  print_table(&out, d, rows, n);
  if (absent && *absent) strbuf_printf(&out, "\nNot here:\n%s", absent);
  int failed = 0;
  for (int i = 0; i < n; i++) {
    failed += rows[i].failure != NULL;
    lemnos_status_free(rows[i].failure);
  }
  if (!status) status = cli_put(strbuf_view(&out));
  if (!status && failed) status = lemnos_status_make(LEMNOS_CHECK_FAILED, "%d of %d devices failed", failed, n);
  strbuf_deinit(&out);
  free(absent);
  free(rows);
  return status;
}

int cmd_demo(int argc, char **argv, cli_interrupt *interrupt) {
  demo d = {.folder = "examples/digits_cnn", .runs = 3};
  cli_program p = {0};
  const cli_option options[] = {
      {"--runs", CLI_INT, &d.runs, "N",
       "timed runs on each device, of which the median counts (default 3, at most 63)"},
      {"--threads", CLI_INT, &p.threads, "N", "host threads (default: all CPUs this process may use)"},
      {0}};
  cli_strings files = {0};
  int code = cli_parse("demo", argc, argv, options, &files);
  if (code == CLI_GO_ON && files.len > 1) code = cli_usage_error("demo", "one folder, please");
  if (code == CLI_GO_ON && (d.runs < 1 || d.runs > 63))
    code = cli_usage_error("demo", "--runs=%lld is not between 1 and 63", (long long)d.runs);
  if (code == CLI_GO_ON) {
    if (files.len) d.folder = files.data[0];
    cli_interrupt_start(interrupt);
    lemnos_status status = run_demo(&d, &p, interrupt);
    heap_aligned_free(d.labels.data);
    heap_aligned_free(d.reference.data);
    session_close(&d.base);
    code = status ? cli_fail("demo", status, interrupt) : CLI_OK;
  }
  vec_deinit(&files);
  return code;
}
