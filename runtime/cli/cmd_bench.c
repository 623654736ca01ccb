// SPDX-License-Identifier: Apache-2.0
// lemnos bench: compile time, run times, rates, memory of one program on one device.
//
// Arguments are uploaded once. One run warms up; then runs are timed one by one until --runs are done, or, without
// --runs, until a second has passed and at least five are done (at most 1,000).
#include <stdio.h>
#include <stdlib.h>

#include "runtime/cli/cli.h"

#define LONG_RUN 0.1  // seconds

typedef struct bench_options {
  cli_program program;
  int64_t runs;
  bool json, profile, quiet;
} bench_options;

typedef struct bench_result {
  double first, median, min;
  double cpu;  // median of the process's CPU time, all threads
  int runs;
} bench_result;

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y ? 1 : 0;
}

static double sorted_median(double *x, int n) {
  qsort(x, (size_t)n, sizeof *x, by_value);
  return n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

static lemnos_status one_run(cli_session *s, const cli_program *p, cli_interrupt *interrupt, lemnos_buffer **results,
                             double *seconds, double *cpu_seconds) {
  cli_watch_run(interrupt, p->timeout);
  double start = io_seconds(), cpu = io_cpu_seconds();
  LEMNOS_TRY(session_run(s, p, false, interrupt, results));
  *seconds = io_seconds() - start;
  *cpu_seconds = io_cpu_seconds() - cpu;
  session_free_results(s, results);
  return LEMNOS_SUCCESS;
}

static lemnos_status measure(cli_session *s, const bench_options *o, cli_interrupt *interrupt, bench_result *out) {
  enum { MOST = 1000, LEAST = 5 };
  int most = o->runs > 0 ? (int)o->runs : MOST;
  double *times = heap_alloc(sizeof *times * 2 * (size_t)most), *cpu = times + most, total = 0;
  lemnos_buffer **results = heap_alloc(sizeof *results * (size_t)(s->n_results + 1));
  // The thread that watches a run for the progress line takes some 50 us to make: only runs that are long have one.
  cli_progress *progress = s->progress;
  cli_progress_phase(progress, "first run");
  lemnos_status status = one_run(s, &o->program, interrupt, results, &out->first, &out->cpu);
  if (out->first < LONG_RUN) s->progress = NULL;
  int n = 0;
  cli_progress_phase(progress, "timed runs");
  double said = 0;
  while (!status && n < most && (o->runs > 0 || n < LEAST || total < 1)) {
    if (progress && io_seconds() - said > 0.05) {
      cli_progress_count(progress, "runs", n, o->runs > 0 || n >= LEAST ? most : LEAST, o->runs > 0, NULL);
      said = io_seconds();
    }
    status = one_run(s, &o->program, interrupt, results, &times[n], &cpu[n]);
    if (!status) total += times[n++];
  }
  s->progress = progress;
  if (!status) {
    out->runs = n;
    out->median = sorted_median(times, n);
    out->cpu = sorted_median(cpu, n);
    out->min = times[0];
  }
  free(results);
  free(times);
  return status;
}

static void print_json(strbuf *b, const cli_session *s, const char *module, const bench_result *r, const cli_cost *c,
                       const lemnos_executable_stats *st) {
  strbuf_append_cstr(b, "{\"module\": ");
  json_print_string(b, strv_from_cstr(module));
  strbuf_append_cstr(b, ", \"device\": ");
  json_print_string(b, strv_from_cstr(lemnos_device_id(s->device)));
  strbuf_append_cstr(b, ", \"device_name\": ");
  json_print_string(b, strv_from_cstr(lemnos_device_name(s->device)));
  strbuf_printf(b,
                ", \"import_ms\": %.6f, \"compile_ms\": %.6f, \"first_ms\": %.6f, \"median_ms\": %.6f, \"min_ms\": "
                "%.6f, \"cpu_ms\": %.6f, \"runs\": %d",
                s->import_seconds * 1e3, st->compile_seconds * 1e3, r->first * 1e3, r->median * 1e3, r->min * 1e3,
                r->cpu * 1e3, r->runs);
  strbuf_printf(b, ", \"flops\": %.0f, \"gflops_per_s\": %.6f, \"io_bytes\": %.0f, \"gb_per_s\": %.6f", c->flops,
                c->flops / r->median * 1e-9, c->bytes, c->bytes / r->median * 1e-9);
  strbuf_printf(b, ", \"peak_bytes\": %lld, \"temp_bytes\": %lld, \"scratch_bytes\": %lld, \"constant_bytes\": %lld",
                (long long)st->peak_bytes, (long long)st->temp_bytes, (long long)st->scratch_bytes,
                (long long)st->constant_bytes);
  if (s->executable->program)
    strbuf_printf(b, ", \"live_bytes\": %lld", (long long)interp_program_live_bytes(s->executable->program));
  strbuf_printf(b, ", \"kernels\": %d, \"launches\": %d, \"host_steps\": %d}\n", st->n_kernels, st->n_launches,
                st->n_host_steps);
}

static void print_text(strbuf *b, const cli_session *s, const bench_result *r, const cli_cost *c,
                       const lemnos_executable_stats *st) {
  strbuf_printf(b, "device    %s (%s)\n", lemnos_device_id(s->device), lemnos_device_name(s->device));
  strbuf_printf(b, "import    %10.3f ms\ncompile   %10.3f ms\n", s->import_seconds * 1e3, st->compile_seconds * 1e3);
  strbuf_printf(b, "first run %10.3f ms\nmedian    %10.3f ms of %d runs\nmin       %10.3f ms\n", r->first * 1e3,
                r->median * 1e3, r->runs, r->min * 1e3);
  strbuf_printf(b, "rate      %10.3f GFLOP/s (%.6g operations), %.3f GB/s (arguments and results, %.6g bytes)\n",
                c->flops / r->median * 1e-9, c->flops, c->bytes / r->median * 1e-9, c->bytes);
  strbuf_printf(b, "memory    peak %lld bytes, temporaries %lld (scratch %lld), constants %lld\n",
                (long long)st->peak_bytes, (long long)st->temp_bytes, (long long)st->scratch_bytes,
                (long long)st->constant_bytes);
  strbuf_printf(b, "plan      %d kernels, %d launches, %d host steps\n", st->n_kernels, st->n_launches,
                st->n_host_steps);
}

static lemnos_status bench(void *options, cli_session *s, cli_interrupt *interrupt) {
  const bench_options *o = options;
  cli_watch_run(interrupt, o->program.timeout);
  LEMNOS_TRY(session_open(&o->program, s));
  bench_result r = {0};
  cli_interrupt_phase(interrupt, CLI_PHASE_RUN);
  lemnos_status status = measure(s, o, interrupt, &r);
  cli_interrupt_phase(interrupt, CLI_PHASE_IDLE);
  cli_watch(interrupt, 0);
  LEMNOS_TRY(status);
  lemnos_executable_stats st;
  lemnos_executable_get_stats(s->executable, &st);
  // Of a program with dynamic shapes the refined copy says what was run.
  cli_cost c = module_cost(s->executable->program ? s->executable->module : s->module->hlo);
  strbuf text = {0};
  if (o->json)
    print_json(&text, s, o->program.module, &r, &c, &st);
  else
    print_text(&text, s, &r, &c, &st);
  if (o->profile) {
    char *profile = NULL;
    cli_progress_phase(s->progress, "measuring kernels");
    cli_watch_run(interrupt, o->program.timeout);
    status = lemnos_profile(s->executable, s->n_args, s->buffers, &profile);
    cli_watch(interrupt, 0);
    cli_session_quiet(s);
    if (!status && o->json)
      fputs(profile, stderr);
    else if (!status)
      strbuf_append_cstr(&text, profile);
    free(profile);
  }
  cli_session_quiet(s);
  if (!status) status = cli_put(strbuf_view(&text));
  strbuf_deinit(&text);
  return status;
}

int cmd_bench(int argc, char **argv, cli_interrupt *interrupt) {
  bench_options o = {.program = CLI_PROGRAM_INIT};
  const cli_option options[] = {
      CLI_PROGRAM_OPTIONS(&o.program),
      {"--runs", CLI_INT, &o.runs, "N", "timed runs (default: as many as a second holds, 5 to 1000)"},
      {"--json", CLI_FLAG, &o.json, NULL,
       "one JSON object: compile_ms, median_ms, min_ms, peak_bytes, temp_bytes, ..."},
      {"--profile", CLI_FLAG, &o.profile, NULL,
       "time of each kernel or operation, too (to standard error with --json)"},
      {"--quiet", CLI_FLAG, &o.quiet, NULL, "no progress line on a terminal"},
      {0}};
  int code = cli_parse_program("bench", argc, argv, options, &o.program);
  if (code == CLI_GO_ON && (o.runs < 0 || o.runs > 10000000))
    code = cli_usage_error("bench", "--runs=%lld is not a number of runs", (long long)o.runs);
  if (code == CLI_GO_ON) code = cli_with_session("bench", o.quiet, bench, &o, interrupt);
  vec_deinit(&o.program.in.input);
  return code;
}
