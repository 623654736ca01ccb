// SPDX-License-Identifier: Apache-2.0
// lemnos run: one program, once.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"

typedef struct run_options {
  cli_program program;
  cli_expect expect;
  const char *outputs, *infeed, *outfeed;
  bool explain, profile, full, quiet, per_process;
} run_options;

static lemnos_status write_outputs(const char *path, int n, int of_each, const interp_array *results) {
  strv name = strv_from_cstr(path);
  if (strv_ends_with(name, STRV(".npy"))) {
    if (n != 1)
      return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "the program has %d results: --outputs takes an .npz", n);
    return npy_write_file(path, results);
  }
  arena *a = arena_create();
  strv *names = ARENA_ARRAY(a, strv, n + 1);
  interp_array *arrays = ARENA_ARRAY(a, interp_array, n + 1);
  int kept = 0;
  for (int i = 0; i < n; i++) {
    if (results[i].dtype == HLO_TOKEN) continue;
    char *name = ARENA_ARRAY(a, char, CLI_RESULT_NAME);
    result_name(name, i, of_each);
    names[kept] = strv_from_cstr(name);
    arrays[kept++] = results[i];
  }
  lemnos_status status = npz_write_file(path, kept, names, arrays);
  arena_destroy(a);
  return status;
}

static void print_results(strbuf *out, int n, int of_each, const interp_array *results, bool full) {
  char name[CLI_RESULT_NAME];
  for (int i = 0; i < n; i++) {
    if (results[i].dtype == HLO_TOKEN) continue;
    result_name(name, i, of_each);
    strbuf_printf(out, "%s: ", name);
    array_print_type(out, &results[i]);
    strbuf_append_char(out, '\n');
    print_array(out, &results[i], full);
  }
}

static lemnos_status put_and_free(char *text) {
  lemnos_status status = cli_put(strv_from_cstr(text));
  free(text);
  return status;
}

static lemnos_status finish(const run_options *o, const cli_feeds *feeds, int n, const interp_array *results,
                            cli_interrupt *interrupt) {
  int of_each = o->expect.n_results;
  strbuf text = {0};
  lemnos_status status = LEMNOS_SUCCESS;
  if (o->outputs) {
    cli_interrupt_phase(interrupt, CLI_PHASE_WRITE);
    status = write_outputs(o->outputs, n, of_each, results);
    cli_interrupt_phase(interrupt, CLI_PHASE_IDLE);
  }
  if (!status && o->outfeed) status = feeds_write(feeds, o->outfeed);
  if (!status && !o->outputs && !o->expect.expected && !o->quiet) print_results(&text, n, of_each, results, o->full);
  if (!status && o->expect.expected) status = compare_results(&o->expect, n, results, &text);
  if (o->quiet) strbuf_clear(&text);
  lemnos_status put = cli_put(strbuf_view(&text));
  strbuf_deinit(&text);
  if (!status) return put;
  lemnos_status_free(put);
  return status;
}

static lemnos_status explain(const cli_session *s) {
  cli_progress_hide(s->progress);
  strbuf head = {0};
  strbuf_printf(&head, "device %s: %s\n", lemnos_device_id(s->device), lemnos_device_name(s->device));
  lemnos_status status = cli_put(strbuf_view(&head));
  strbuf_deinit(&head);
  LEMNOS_TRY(status);
  return put_and_free(lemnos_executable_explain(s->executable));
}

static void watch(const run_options *o, cli_interrupt *interrupt) {
  cli_watch_run(interrupt, o->program.timeout);
}

// Every process with its own arguments; the results of all.
static lemnos_status run_processes(run_options *o, cli_session *s, cli_feeds **feeds, cli_interrupt *interrupt) {
  int n;
  if (o->profile) return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "--profile of several processes");
  watch(o, interrupt);
  LEMNOS_TRY(session_open_processes(&o->program, s, &n));
  LEMNOS_TRY(feeds_open(o->infeed, o->outfeed != NULL, true, s->module, feeds));
  s->host = feeds_host(*feeds);
  feeds_hide(*feeds, s->progress);
  if (o->explain) LEMNOS_TRY(explain(s));
  if (n > 1 && s->module->hlo->sharded) {
    cli_progress_hide(s->progress);
    fprintf(
        stderr,
        "lemnos run: warning: the program's arguments or results have shardings: they are whole arrays, and each of "
        "the %d processes computes all of it; without --per-process it runs once\n",
        n);
  }
  interp_array *results = NULL;
  cli_progress_phase(s->progress, "running");
  watch(o, interrupt);
  cli_interrupt_phase(interrupt, CLI_PHASE_RUN);
  lemnos_status status = session_run_processes(s, &o->program, n, interrupt, &results);
  if (!status && interrupt->cancelled) status = lemnos_status_make(LEMNOS_CANCELLED, "interrupted");
  cli_interrupt_phase(interrupt, CLI_PHASE_IDLE);
  cli_watch(interrupt, 0);
  o->expect.n_results = s->n_results;
  cli_session_quiet(s);
  if (!status) status = finish(o, *feeds, n * s->n_results, results, interrupt);
  arrays_free(results ? n * s->n_results : 0, results);
  return status;
}

static lemnos_status run(const run_options *o, cli_session *s, cli_feeds **feeds, cli_interrupt *interrupt) {
  watch(o, interrupt);
  LEMNOS_TRY(session_open(&o->program, s));
  LEMNOS_TRY(feeds_open(o->infeed, o->outfeed != NULL, false, s->module, feeds));
  s->host = feeds_host(*feeds);
  feeds_hide(*feeds, s->progress);
  if (o->explain) LEMNOS_TRY(explain(s));
  if (o->profile) {
    watch(o, interrupt);
    char *text;
    cli_progress_phase(s->progress, "measuring");
    LEMNOS_TRY(lemnos_profile(s->executable, s->n_args, s->buffers, &text));
    cli_progress_hide(s->progress);
    LEMNOS_TRY(put_and_free(text));
  }
  if (interrupt->cancelled) return lemnos_status_make(LEMNOS_CANCELLED, "interrupted");
  lemnos_buffer **buffers = heap_alloc(sizeof *buffers * (size_t)(s->n_results + 1));
  cli_progress_phase(s->progress, "running");
  watch(o, interrupt);
  cli_interrupt_phase(interrupt, CLI_PHASE_RUN);
  lemnos_status status = session_run(s, &o->program, true, interrupt, buffers);
  interp_array *results = NULL;
  if (!status && interrupt->cancelled) status = lemnos_status_make(LEMNOS_CANCELLED, "interrupted");
  cli_progress_phase(s->progress, "copying the results");
  if (!status) status = session_read(s, buffers, &results);
  cli_interrupt_phase(interrupt, CLI_PHASE_IDLE);
  cli_watch(interrupt, 0);
  session_free_results(s, buffers);
  free(buffers);
  cli_session_quiet(s);
  if (!status) status = finish(o, *feeds, s->n_results, results, interrupt);
  arrays_free(results ? s->n_results : 0, results);
  return status;
}

static lemnos_status run_any(void *options, cli_session *s, cli_interrupt *interrupt) {
  run_options *o = options;
  cli_feeds *feeds = NULL;
  lemnos_status status = o->per_process ? run_processes(o, s, &feeds, interrupt) : run(o, s, &feeds, interrupt);
  feeds_close(feeds);
  return status;
}

int cmd_run(int argc, char **argv, cli_interrupt *interrupt) {
  run_options o = {.program = CLI_PROGRAM_INIT, .expect = {.rtol = -1, .atol = -1}};
  const cli_option options[] = {
      CLI_PROGRAM_OPTIONS(&o.program),
      {"--outputs", CLI_STRING, &o.outputs, "FILE",
       "write the results to FILE: an .npz, or an .npy if there is one result"},
      {"--expect", CLI_STRING, &o.expect.expected, "FILE",
       "compare the results with an .npz of out0, out1, ...; a folder means its expected.npz"},
      {"--rtol", CLI_REAL, &o.expect.rtol, "X",
       "|actual - expected| <= atol + rtol * |expected|; of the two the one not given is 0. Default: meta.json's, else "
       "by type (f32 1e-5, f64 1e-9, f16 2e-3, bf16 1.6e-2, integers equal)"},
      {"--atol", CLI_REAL, &o.expect.atol, "X", "see --rtol"},
      {"--meta", CLI_STRING, &o.expect.meta, "FILE",
       "tolerances by output (default: meta.json beside the expected file; empty: none)"},
      {"--per-process", CLI_FLAG, &o.per_process, NULL,
       "of a module for several processes (replicas x partitions, numbered by replica, then partition): argN@P is the "
       "argument of process P alone, argN of all that have none; results are those of every process, outN@P. Without "
       "it "
       "all processes get the same arguments and the results are process 0's"},
      {"--infeed", CLI_STRING, &o.infeed, "FILE",
       "an .npz with what infeed takes: infeed0, infeed1, ... in this order; what host recv on channel C takes: "
       "recvC.0, "
       "recvC.1, ...; with --per-process NAME@P is for process P alone"},
      {"--outfeed", CLI_STRING, &o.outfeed, "FILE",
       "write what outfeed and host sends give to an .npz: outfeed0, ...; sendC.0, ...; with --per-process NAME@P"},
      {"--full", CLI_FLAG, &o.full, NULL, "print long arrays whole"},
      {"--quiet", CLI_FLAG, &o.quiet, NULL, "print no results, no comparison and, on a terminal, no progress line"},
      {"--explain", CLI_FLAG, &o.explain, NULL, "print step by step what runs where and why"},
      {"--profile", CLI_FLAG, &o.profile, NULL, "print the time of each kernel or operation"},
      {0}};
  int code = cli_parse_program("run", argc, argv, options, &o.program);
  if (code == CLI_GO_ON) code = cli_with_session("run", o.quiet, run_any, &o, interrupt);
  vec_deinit(&o.program.in.input);
  return code;
}
