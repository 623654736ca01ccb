// SPDX-License-Identifier: Apache-2.0
// Developer's tool: every program through target passes, against itself without them, in the interpreter, bit for bit.
//   run_fused [--passes LIST] [--before LIST] [--dump] [--lower] [--time] [--gpu] [--no-run] [--seconds N] FILE...
// --before: passes that both sides get. Arguments are random. Prints kernels (executed instructions that cost a launch)
// before and after, and what differs; with --lower (give --passes default) also buffers, kernels, and what has no
// kernel.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/import.h"
#include "hlo/analysis/buffers.h"
#include "hlo/kernel/lower.h"
#include "hlo/opt/pass.h"
#include "interp/interp.h"

typedef struct options {
  const char *passes, *before;
  bool dump, no_run, lower, verbose, time;
  double seconds;
  hlo_target target;
} options;

typedef struct side {
  arena *a;
  hlo_module *m;
  interp_program *p;
  interp_array *results;
  int n_results;
} side;

static bool is_launch(const hlo_instr *i) {
  switch (i->op) {
    case HLO_OP_PARAMETER:
    case HLO_OP_CONSTANT:
    case HLO_OP_TUPLE:
    case HLO_OP_GET_TUPLE_ELEMENT:
    case HLO_OP_BITCAST:
    case HLO_OP_RESHAPE:
    case HLO_OP_OPTIMIZATION_BARRIER:
    case HLO_OP_WHILE:
    case HLO_OP_CONDITIONAL:
    case HLO_OP_CALL:
    case HLO_OP_AFTER_ALL:
    case HLO_OP_CREATE_TOKEN: return false;
    default: return true;
  }
}

static int count_launches(const hlo_computation *c, int *fusions) {
  int n = 0;
  HLO_FOR_EACH (i, c) {
    n += is_launch(i);
    *fusions += i->op == HLO_OP_FUSION;
    if (i->op == HLO_OP_WHILE || i->op == HLO_OP_CONDITIONAL || i->op == HLO_OP_CALL)
      for (int k = 0; k < i->n_called; k++) n += count_launches(i->called[k], fusions);
  }
  return n;
}

static uint64_t random_bits(uint64_t *state) {
  return *state = hash_u64(*state, 11);
}

static void fill(interp_array *x, const hlo_shape *s, uint64_t *state) {
  int64_t n = hlo_shape_elements(s);
  *x = (interp_array){.dtype = s->dtype, .rank = s->rank};
  for (int d = 0; d < s->rank; d++) x->dims[d] = s->dims[d];
  x->data = heap_try_alloc_aligned((size_t)hlo_shape_bytes(s) + 64);
  for (int64_t i = 0; i < n; i++) {
    uint64_t r = random_bits(state);
    if (hlo_dtype_is_float(s->dtype) || hlo_dtype_is_complex(s->dtype)) {
      hlo_element_set_f64(s->dtype, x->data, i, 0, (double)(int64_t)(r >> 40) / (1 << 24) - 0.25);
      if (hlo_dtype_is_complex(s->dtype)) hlo_element_set_f64(s->dtype, x->data, i, 1, (double)(r & 0xffff) / 65536);
    } else {
      hlo_element_set_i64(s->dtype, x->data, i, (int64_t)(s->dtype == HLO_PRED ? r >> 33 & 1 : (r >> 33) % 7));
    }
  }
}

static lemnos_status load(side *s, const char *path, const options *o, const char *data, size_t size, bool fuse) {
  s->a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, s->a);
  LEMNOS_TRY(import_program(s->a, strv_from_cstr(path), data, size, NULL, &sink, &s->m));
  hlo_pipeline_options p = {.passes = strv_from_cstr(o->before), .opt_bisect_limit = -1};
  LEMNOS_TRY(hlo_run_pipeline(s->m, &p));
  if (!fuse) return LEMNOS_SUCCESS;
  p = (hlo_pipeline_options){.passes = strv_from_cstr(o->passes),
                             .opt_bisect_limit = -1,
                             .verify_each = true,
                             .round_trip_each = true,
                             .target = &o->target,
                             .can_fuse = kernel_can_fuse_elementwise};
  strbuf times = {0};
  if (o->time) p.verify_each = p.round_trip_each = false, p.time_passes = true, p.dump = &times;
  double start = io_seconds();
  LEMNOS_TRY(hlo_run_pipeline(s->m, &p));
  if (times.len) printf("%s", times.data);
  strbuf_deinit(&times);
  printf("  passes %.1f ms\n", (io_seconds() - start) * 1e3);
  return LEMNOS_SUCCESS;
}

static lemnos_status execute(side *s, const options *o, int n_args, const interp_array *args) {
  LEMNOS_TRY(interp_compile(s->m, &s->p));
  s->n_results = interp_program_n_results(s->p);
  s->results = calloc((size_t)s->n_results + 1, sizeof *s->results);
  thread_pool *pool = NULL;
  LEMNOS_TRY(thread_pool_create(2, &pool));
  interp_run_options run = {.pool = pool, .deadline = io_seconds() + o->seconds};
  lemnos_status status = interp_run(s->p, &run, n_args, args, s->n_results, s->results);
  thread_pool_destroy(pool);
  return status;
}

static void finish(side *s) {
  for (int k = 0; k < s->n_results; k++) heap_aligned_free(s->results[k].data);
  free(s->results);
  interp_program_destroy(s->p);
  if (s->a) arena_destroy(s->a);
}

static lemnos_status compare(const side *x, const side *y) {
  for (int k = 0; k < x->n_results; k++) {
    size_t size = (size_t)hlo_dtype_bytes(x->results[k].dtype);
    for (int d = 0; d < x->results[k].rank; d++) size *= (size_t)x->results[k].dims[d];
    if (size && memcmp(x->results[k].data, y->results[k].data, size))
      return lemnos_status_make(LEMNOS_CHECK_FAILED, "result %d differs", k);
  }
  return LEMNOS_SUCCESS;
}

static bool is_executed(const hlo_module *m, const hlo_computation *c, int depth) {
  if (c == m->entry) return true;
  for (int k = 0; k < m->n_computations && depth < 16; k++)
    HLO_FOR_EACH (i, m->computations[k])
      if (i->op == HLO_OP_WHILE || i->op == HLO_OP_CONDITIONAL)
        for (int n = 0; n < i->n_called; n++)
          if (i->called[n] == c && is_executed(m, m->computations[k], depth + 1)) return true;
  return false;
}

// Buffers, and kernels for every instruction: what is refused, by reason.
static lemnos_status lower(const side *s, const options *o) {
  hlo_buffer_assignment *ba;
  LEMNOS_TRY(hlo_assign_buffers(s->m, s->a, &ba));
  LEMNOS_TRY(hlo_buffers_verify(s->m, ba));
  int kernels = 0, refused = 0, in_place = 0, copies = 0;
  double start = io_seconds();
  for (int c = 0; c < s->m->n_computations; c++) {
    if (!is_executed(s->m, s->m->computations[c], 0)) continue;
    HLO_FOR_EACH (i, s->m->computations[c]) {
      if (i->op == HLO_OP_WHILE || i->op == HLO_OP_CONDITIONAL) continue;
      copies += i->op == HLO_OP_COPY;
      int32_t aliases[64];
      int n = hlo_shape_leaves(i->shape);
      for (int l = 0; l < n && l < 64; l++) in_place += (aliases[l] = hlo_buffer_shared_operand(ba, i, l)) >= 0;
      kernel_lowering out;
      if (o->verbose) fprintf(stderr, "  lowering " STRV_FMT "\n", STRV_ARG(i->name));
      lemnos_status status = kernel_lower(s->a, &o->target, i, &(kernel_lower_options){n <= 64 ? aliases : NULL}, &out);
      kernels += status ? 0 : out.launches.len;
      refused += status != NULL;
      if (status) printf("  refused: %s\n", lemnos_status_message(status));
      lemnos_status_free(status);
    }
  }
  printf("  %d kernels in %.0f ms, %d refused, %d leaves in place, %d copies, arena %.2f MiB, peak live %.2f MiB\n",
         kernels, (io_seconds() - start) * 1e3, refused, in_place, copies, (double)ba->arena_bytes / 1048576,
         (double)ba->peak_live_bytes / 1048576);
  return LEMNOS_SUCCESS;
}

static lemnos_status run_file(const char *path, const options *o) {
  char *data = NULL;
  size_t size;
  side x = {0}, y = {0};
  LEMNOS_TRY(io_read_file(path, &data, &size));
  LEMNOS_TRY(load(&x, path, o, data, size, false));
  LEMNOS_TRY(load(&y, path, o, data, size, true));
  int fusions = 0, nothing = 0, before = count_launches(x.m->entry, &nothing);
  int after = count_launches(y.m->entry, &fusions);
  printf("  %d launches before, %d after, %d of them fusions\n", before, after, fusions);
  if (o->dump) {
    strbuf text = {0};
    hlo_print_module(&text, y.m, &(hlo_print_options){.literal_limit = 8});
    printf("%s\n", text.data);
    strbuf_deinit(&text);
  }
  if (o->lower) LEMNOS_TRY(lower(&y, o));
  if (o->no_run) return LEMNOS_SUCCESS;
  uint64_t state = 5;
  VEC(interp_array) args = {0};
  for (int p = 0; p < x.m->entry->n_params; p++)
    for (int l = 0; l < hlo_shape_leaves(x.m->entry->params[p]->shape); l++) {
      const hlo_shape *s = hlo_shape_leaf(x.m->entry->params[p]->shape, l);
      if (!hlo_shape_is_static(s)) return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "dynamic arguments");
      interp_array a;
      fill(&a, s, &state);
      vec_push(NULL, &args, a);
    }
  double start = io_seconds();
  LEMNOS_TRY(execute(&x, o, args.len, args.data));
  double middle = io_seconds();
  LEMNOS_TRY(execute(&y, o, args.len, args.data));
  printf("  ran %.2f s, %.2f s\n", middle - start, io_seconds() - middle);
  LEMNOS_TRY(compare(&x, &y));
  for (int k = 0; k < args.len; k++) heap_aligned_free(args.data[k].data);
  vec_deinit(&args);
  finish(&x);
  finish(&y);
  heap_aligned_free(data);
  return LEMNOS_SUCCESS;
}

int main(int argc, char **argv) {
  options o = {.passes = "reshape-to-bitcast,instruction-fusion,multi-output-fusion,memory-scheduler",
               .before = "call-inliner,dce,fix(tuple-simplifier,cse,dce)",
               .seconds = 60};
  o.target = (hlo_target){.name = "cpu",
                          .cls = HLO_TARGET_CPU,
                          .f64 = true,
                          .i8 = true,
                          .i16 = true,
                          .i64 = true,
                          .vector_bytes = 32,
                          .vector_registers = 16,
                          .threads = 2,
                          .max_storage_range = INT64_MAX};
  int failed = 0;
  for (int k = 1; k < argc; k++) {
    if (!strcmp(argv[k], "--passes") && k + 1 < argc)
      o.passes = argv[++k];
    else if (!strcmp(argv[k], "--before") && k + 1 < argc)
      o.before = argv[++k];
    else if (!strcmp(argv[k], "--seconds") && k + 1 < argc)
      o.seconds = atof(argv[++k]);
    else if (!strcmp(argv[k], "--gpu"))
      o.target.cls = HLO_TARGET_GPU, o.target.max_buffers = 16, o.target.max_storage_range = 128 << 20;
    else if (!strcmp(argv[k], "--dump"))
      o.dump = true;
    else if (!strcmp(argv[k], "--lower"))
      o.lower = true;
    else if (!strcmp(argv[k], "--verbose"))
      o.verbose = true;
    else if (!strcmp(argv[k], "--time"))
      o.time = true;
    else if (!strcmp(argv[k], "--no-run"))
      o.no_run = true;
    else {
      printf("%s\n", argv[k]);
      lemnos_status s = run_file(argv[k], &o);
      if (s) printf("  FAILED: %s\n", lemnos_status_message(s));
      failed += s != NULL;
      lemnos_status_free(s);
      fflush(stdout);
    }
  }
  return failed != 0;
}
