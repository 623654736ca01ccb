// SPDX-License-Identifier: Apache-2.0
// One program on one device: context, module, arguments, device, executable, in the order in which failures are
// cheapest to find.
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"

#define CLI_MAX_PROCESSES 1024

lemnos_status session_context(const cli_program *p, lemnos_context **out) {
  if (p->threads < 0 || p->threads > 4096)
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "--threads=%lld is not a number of threads",
                              (long long)p->threads);
  lemnos_context_options o = {.cache_dir = p->no_cache ? "" : p->cache_dir, .threads = (int32_t)p->threads};
  return lemnos_context_create(&o, out);
}

lemnos_status session_load_module(lemnos_context *c, const char *path, const char *entry, lemnos_module **out) {
  if (!entry) return lemnos_module_load_file(c, path, out);
  char *bytes;
  size_t size;
  LEMNOS_TRY(io_read_file(path, &bytes, &size));
  lemnos_status status = lemnos_module_load(c, path, bytes, size, entry, out);
  heap_aligned_free(bytes);
  return status;
}

lemnos_status session_compile(cli_session *s, const cli_program *p) {
  lemnos_array *types = heap_alloc(sizeof *types * (size_t)(s->n_args + 1));
  for (int i = 0; i < s->n_args; i++) array_from_interp(&s->args[i], &types[i]);
  lemnos_compile_options o = {.args = types,
                              .opt_bisect_limit = p->opt_bisect_limit,
                              .verify_each = p->verify_each,
                              .keep_constants = p->keep_constants,
                              .max_bytes = p->max_memory};
  lemnos_status status = lemnos_compile(s->module, s->device, &o, &s->executable);
  free(types);
  if (!status) s->n_results = s->executable->n_results;
  return status;
}

lemnos_status session_upload(cli_session *s, bool keep) {
  s->buffers = heap_alloc(sizeof *s->buffers * (size_t)(s->n_args + 1));
  for (int i = 0; i < s->n_args; i++) {
    if (s->args[i].dtype == HLO_TOKEN) continue;
    lemnos_array a;
    array_from_interp(&s->args[i], &a);
    lemnos_status status = keep ? lemnos_buffer_from_host(s->device, &a, &s->buffers[i])
                                : buffer_from_array(s->device, &s->args[i], &s->buffers[i]);
    LEMNOS_TRY(lemnos_status_annotate(status, "argument %d", i));
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status open_module(const cli_program *p, cli_session *s, cli_inputs *in) {
  *in = p->in;
  if (!in->safetensors) in->safetensors = getenv("LEMNOS_SAFETENSORS");
  LEMNOS_TRY(session_context(p, &s->context));
  double start = io_seconds();
  cli_progress_phase(s->progress, "reading the program");
  LEMNOS_TRY(session_load_module(s->context, p->module, p->entry, &s->module));
  s->import_seconds = io_seconds() - start;
  return LEMNOS_SUCCESS;
}

lemnos_status session_open_processes(const cli_program *p, cli_session *s, int *out_n) {
  cli_inputs in;
  int32_t replicas, partitions;
  LEMNOS_TRY(open_module(p, s, &in));
  lemnos_module_grid(s->module, &replicas, &partitions);
  int64_t n = (int64_t)replicas * partitions;
  if (n > CLI_MAX_PROCESSES)
    return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "the module is for %lld processes, limit %d", (long long)n,
                              CLI_MAX_PROCESSES);
  *out_n = (int)n;
  int n_args = lemnos_module_n_args(s->module);
  s->args = heap_alloc(sizeof *s->args * ((size_t)(n * n_args) + 1));
  for (int k = 0; k < n; k++) {
    interp_array *args;
    in.per_process = true;
    in.process = k;
    LEMNOS_TRY(lemnos_status_annotate(inputs_load(&in, s->module, &n_args, &args), "process %d", k));
    if (n_args) memcpy(s->args + (int64_t)k * n_args, args, sizeof *args * (size_t)n_args);
    s->n_args += n_args;
    free(args);
  }
  cli_progress_phase(s->progress, "compiling");
  LEMNOS_TRY(lemnos_device_open(s->context, p->device, &s->device));
  int all = s->n_args;
  s->n_args = n_args;
  lemnos_status status = session_compile(s, p);
  s->n_args = all;
  return status;
}

lemnos_status session_run_processes(cli_session *s, const cli_program *p, int n, cli_interrupt *interrupt,
                                    interp_array **out) {
  int n_results = n * s->n_results;
  lemnos_execute_options o = {
      .timeout_seconds = p->timeout, .max_bytes = p->max_memory, .cancel = &interrupt->cancelled, .host = s->host};
  if (s->progress) o.progress = cli_progress_run, o.progress_user = s->progress;
  lemnos_array *arrays = heap_alloc(sizeof *arrays * (size_t)(s->n_args + n_results + 1)),
               *results = arrays + s->n_args;
  for (int k = 0; k < s->n_args; k++) array_from_interp(&s->args[k], &arrays[k]);
  lemnos_status status = lemnos_execute_processes(s->executable, s->n_args, arrays, n_results, results, &o);
  interp_array *taken = heap_alloc(sizeof *taken * (size_t)(n_results + 1));
  for (int k = 0; k < n_results && !status; k++) {
    status = array_to_interp(&results[k], &taken[k]);
    taken[k].data = NULL;
    if (!status && taken[k].dtype != HLO_TOKEN) status = array_allocate(&taken[k]);
    if (taken[k].data) memcpy(taken[k].data, results[k].data, (size_t)interp_array_bytes(&taken[k]));
  }
  for (int k = 0; k < n_results; k++) free(results[k].data);
  free(arrays);
  if (status)
    arrays_free(n_results, taken);
  else
    *out = taken;
  return status;
}

lemnos_status session_open(const cli_program *p, cli_session *s) {
  cli_inputs in;
  LEMNOS_TRY(open_module(p, s, &in));
  cli_progress_phase(s->progress, "reading the arguments");
  LEMNOS_TRY(inputs_load(&in, s->module, &s->n_args, &s->args));
  cli_progress_phase(s->progress, "compiling");
  LEMNOS_TRY(lemnos_device_open(s->context, p->device, &s->device));
  LEMNOS_TRY(session_compile(s, p));
  cli_progress_phase(s->progress, "copying the arguments");
  return session_upload(s, false);
}

lemnos_status session_run(cli_session *s, const cli_program *p, bool donate, cli_interrupt *interrupt,
                          lemnos_buffer **results) {
  lemnos_execute_options o = {.donate = donate,
                              .timeout_seconds = p->timeout,
                              .max_bytes = p->max_memory,
                              .cancel = &interrupt->cancelled,
                              .host = s->host};
  if (s->progress) o.progress = cli_progress_run, o.progress_user = s->progress;
  return lemnos_execute(s->executable, s->n_args, s->buffers, s->n_results, results, &o);
}

lemnos_status session_read(cli_session *s, lemnos_buffer **results, interp_array **out) {
  interp_array *arrays = heap_alloc(sizeof *arrays * (size_t)(s->n_results + 1));
  lemnos_status status = LEMNOS_SUCCESS;
  for (int i = 0; !status && i < s->n_results; i++) {
    arrays[i] = results[i]->type;
    if (arrays[i].dtype == HLO_TOKEN) continue;
    status = array_allocate(&arrays[i]);
    lemnos_array a;
    array_from_interp(&arrays[i], &a);
    if (!status) status = lemnos_buffer_read(results[i], &a);
    lemnos_buffer_free(results[i]);
    results[i] = NULL;
  }
  if (status)
    arrays_free(s->n_results, arrays);
  else
    *out = arrays;
  return status;
}

void session_free_results(cli_session *s, lemnos_buffer **results) {
  for (int i = 0; i < s->n_results; i++) {
    lemnos_buffer_free(results[i]);
    results[i] = NULL;
  }
}

void session_close(cli_session *s) {
  for (int i = 0; s->buffers && i < s->n_args; i++) lemnos_buffer_free(s->buffers[i]);
  free(s->buffers);
  lemnos_executable_free(s->executable);
  lemnos_device_free(s->device);
  arrays_free(s->n_args, s->args);
  lemnos_module_free(s->module);
  lemnos_context_free(s->context);
  *s = (cli_session){0};
}

// --- commands that take one program --------------------------------------------------------------

int cli_parse_program(const char *command, int argc, char **argv, const cli_option *options, cli_program *p) {
  cli_strings files = {0};
  int code = cli_parse(command, argc, argv, options, &files);
  if (code == CLI_GO_ON && files.len == 1)
    p->module = files.data[0];
  else if (code == CLI_GO_ON && files.len)
    code = cli_usage_error(command, "one module, please: found %s and %s", files.data[0], files.data[1]);
  else if (code == CLI_GO_ON)
    code = cli_usage_error(command, "no module is given");
  vec_deinit(&files);
  return code;
}

void cli_session_quiet(cli_session *s) {
  cli_progress_stop(s->progress);
  s->progress = NULL;
}

int cli_with_session(const char *command, bool quiet, cli_session_fn fn, void *options, cli_interrupt *interrupt) {
  cli_interrupt_start(interrupt);
  cli_session s = {.progress = cli_progress_start(quiet)};
  lemnos_status status = fn(options, &s, interrupt);
  cli_session_quiet(&s);
  session_close(&s);
  return status ? cli_fail(command, status, interrupt) : CLI_OK;
}
