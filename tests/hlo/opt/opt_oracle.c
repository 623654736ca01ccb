// SPDX-License-Identifier: Apache-2.0
// Differential test of passes: runs programs in the interpreter before and after a pipeline and compares the results.
//   opt_oracle [--passes=LIST] [--constants] [--seconds=N] [--tolerance=X] [-q] [--dump] FILE...
// A file is an MLIR module (text or bytecode) or HLO text. Checks (check.*) are taken out, what they look at becomes
// results.
// Constants of more than one element become arguments, so that passes see data and not constants, unless --constants is
// given. Arguments without a value are made up. Results are compared bit for bit (any NaN equals any NaN); those that
// differ are reported with the largest difference, relative to the larger magnitude of the two but at least 1e-3 of the
// result's own
// largest: `close` within the tolerance (default 1e-5 for f32), else `DIFFER`. Exit code 1 if any differs, fails to
// verify or to run.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/import.h"
#include "hlo/builder.h"
#include "hlo/opt/pass.h"
#include "interp/interp.h"

static strv passes;
static bool keep_constants, quiet, dump;
static double seconds = 20, tolerance = 1e-5;
static int n_equal, n_close, n_differ, n_failed, n_skipped;

typedef struct program {
  hlo_module *m;
  arena *a;
  VEC(interp_array) args;
  VEC(interp_array) results;
} program;

// --- preparing -----------------------------------------------------------------------------------

static void make_up(arena *a, const hlo_shape *s, interp_array *out, int seed) {
  *out = (interp_array){.dtype = s->dtype, .rank = s->rank};
  int64_t n = 1;
  for (int d = 0; d < s->rank; d++) n *= out->dims[d] = s->dims[d] < 0 ? 8 : s->dims[d];
  out->data = arena_alloc(a, (size_t)(n * hlo_dtype_bytes(s->dtype)) + 64);
  for (int64_t i = 0; i < n; i++) {
    uint64_t h = hash_u64((uint64_t)i, (uint64_t)seed);
    if (hlo_dtype_is_integer(s->dtype) || s->dtype == HLO_PRED) {
      hlo_element_set_i64(s->dtype, out->data, i, s->rank == 0 ? 8 : (int64_t)(h % 3));
    } else if (s->dtype < HLO_TOKEN) {
      hlo_element_set_f64(s->dtype, out->data, i, 0, (double)(h % 2001) / 1000 - 1);
      if (hlo_dtype_is_complex(s->dtype))
        hlo_element_set_f64(s->dtype, out->data, i, 1, (double)(h / 2001 % 2001) / 1000 - 1);
    }
  }
}

static bool is_check(hlo_op op) {
  return hlo_op_table[op].family == HLO_FAMILY_CHECK;
}

// Checks out, what they look at becomes results.
static void collect_checks(hlo_module *m) {
  hlo_computation *c = m->entry;
  VEC(hlo_instr *) values = {0};
  HLO_FOR_EACH_SAFE (i, c) {
    if (!is_check(i->op) || i == c->root) continue;
    if (i->n_operands && hlo_shape_is_array(i->operands[0]->shape)) vec_push(NULL, &values, i->operands[0]);
    if (i->n_uses == 0) hlo_instr_remove(i);
  }
  if (values.len) {
    if (!hlo_shape_is_token(c->root->shape)) vec_push(NULL, &values, c->root);
    hlo_builder b = hlo_builder_end(c);
    c->root = hlo_build_tuple(&b, values.len, values.data);
    m->n_aliases = 0;
  }
  vec_deinit(&values);
}

static void constants_to_arguments(program *p) {
  hlo_computation *c = p->m->entry;
  HLO_FOR_EACH_SAFE (i, c) {
    if (i->op != HLO_OP_CONSTANT || hlo_shape_elements(i->shape) <= 1 || i->shape->quant || i->shape->layout) continue;
    bool only_data = true;  // not what must be constant, nor what is the reference of a comparison
    for (int k = 0; k < i->n_uses; k++) only_data &= hlo_op_table[i->uses[k].user->op].family != HLO_FAMILY_DYNAMIC;
    if (!only_data) continue;
    hlo_builder b = hlo_builder_before(c->first);
    hlo_instr *param = hlo_build_parameter(&b, i->shape, STRV("input"));
    const hlo_literal *l = NULL;
    lemnos_status_free(hlo_literal_expand(p->a, hlo_constant_value(i), &l));
    interp_array arg = {.dtype = i->shape->dtype, .rank = i->shape->rank, .data = l->data};
    for (int d = 0; d < i->shape->rank; d++) arg.dims[d] = i->shape->dims[d];
    vec_push(p->a, &p->args, arg);
    hlo_instr_replace_uses(i, param);
    hlo_instr_remove(i);
  }
}

static lemnos_status prepare(program *p) {
  LEMNOS_TRY(hlo_run_inliner(p->m));
  for (int k = 0; k < p->m->entry->n_params; k++)
    for (int j = 0; j < hlo_shape_leaves(p->m->entry->params[k]->shape); j++) {
      interp_array x;
      make_up(p->a, hlo_shape_leaf(p->m->entry->params[k]->shape, j), &x, k);
      vec_push(p->a, &p->args, x);
    }
  collect_checks(p->m);
  if (!keep_constants) constants_to_arguments(p);
  p->m->param_donated = NULL;
  return LEMNOS_SUCCESS;
}

// --- running and comparing -----------------------------------------------------------------------

static lemnos_status run(program *p, hlo_module *m) {
  interp_program *ip = NULL;
  LEMNOS_TRY(interp_compile(m, &ip));
  int n = interp_program_n_results(ip);
  interp_array *results = heap_alloc(sizeof *results * (size_t)(n + 1));
  interp_run_options o = {.deadline = io_seconds() + seconds};
  lemnos_status s = interp_run(ip, &o, p->args.len, p->args.data, n, results);
  p->results.len = 0;
  for (int k = 0; k < n && !s; k++) vec_push(p->a, &p->results, results[k]);
  free(results);
  interp_program_destroy(ip);
  return s;
}

static double difference(const interp_array *x, const interp_array *y) {
  int64_t n = 1;
  if (x->dtype != y->dtype || x->rank != y->rank) return INFINITY;
  for (int d = 0; d < x->rank; d++) {
    if (x->dims[d] != y->dims[d]) return INFINITY;
    n *= x->dims[d];
  }
  if (x->dtype == HLO_TOKEN || !memcmp(x->data, y->data, (size_t)(n * hlo_dtype_bytes(x->dtype)))) return 0;
  bool real = hlo_dtype_is_float(x->dtype), complex = hlo_dtype_is_complex(x->dtype);
  if (!real && !complex) return INFINITY;
  double worst = 0, largest = 0;
  for (int64_t k = 0; k < n * 2; k++) {
    double a = hlo_element_get_f64(x->dtype, x->data, k / 2, (int)(k & 1));
    if (isfinite(a) && fabs(a) > largest) largest = fabs(a);
  }
  for (int64_t k = 0; k < n; k++)
    for (int part = 0; part < (complex ? 2 : 1); part++) {
      double a = hlo_element_get_f64(x->dtype, x->data, k, part), b = hlo_element_get_f64(y->dtype, y->data, k, part);
      if ((isnan(a) && isnan(b)) || a == b) {
        if (a == 0 && signbit(a) != signbit(b) && worst < 1e-30) worst = 1e-30;  // the sign of a zero
        continue;
      }
      double scale = fmax(fmax(fabs(a), fabs(b)), largest * 1e-3);
      double d = isfinite(a) && isfinite(b) ? fabs(a - b) / scale : INFINITY;
      if (d > worst) worst = d;
    }
  return worst;
}

static double unit(hlo_dtype t) {  // tolerance, relative to f32's
  switch (t) {
    case HLO_F64:
    case HLO_C128: return 1e-6;
    case HLO_F32:
    case HLO_C64: return 1;
    case HLO_F16: return 1 << 13;
    default: return 1 << 16;
  }
}

static void report(const char *file, const char *what, double d) {
  printf("%-7s %s", what, file);
  if (d > 0) printf(": %.3g", d);
  printf("\n");
}

static lemnos_status compare(const char *file, program *p) {
  hlo_module *after = hlo_module_clone(p->m, p->a);
  LEMNOS_TRY(run(p, p->m));
  interp_array *before = arena_copy(p->a, p->results.data, sizeof *before * (size_t)p->results.len);
  int n = p->results.len;
  strbuf text = {0};
  hlo_pipeline_options o = {.passes = passes, .opt_bisect_limit = -1, .verify_each = true, .round_trip_each = true};
  LEMNOS_TRY(lemnos_status_annotate(hlo_run_pipeline(after, &o), "PIPELINE"));
  if (dump) {
    hlo_print_module(&text, after, &(hlo_print_options){.literal_limit = 16});
    fwrite(text.data, 1, text.len, stdout);
  }
  strbuf_deinit(&text);
  LEMNOS_TRY(lemnos_status_annotate(run(p, after), "AFTER"));
  double worst = n == p->results.len ? 0 : INFINITY, scaled = worst;
  for (int k = 0; k < n && k < p->results.len; k++) {
    double d = difference(&before[k], &p->results.data[k]);
    worst = fmax(worst, d);
    scaled = fmax(scaled, d / unit(before[k].dtype));
    heap_aligned_free(before[k].data);
    heap_aligned_free(p->results.data[k].data);
  }
  if (worst == 0)
    n_equal++;
  else if (scaled <= tolerance)
    n_close++;
  else
    n_differ++;
  if (scaled > tolerance || !quiet)
    report(file, worst == 0 ? "equal" : scaled <= tolerance ? "close" : "DIFFER", worst);
  return LEMNOS_SUCCESS;
}

static void finish(const char *file, lemnos_status s, bool ran) {
  if (!s) return;
  bool bad = ran && (strstr(lemnos_status_message(s), "PIPELINE") || strstr(lemnos_status_message(s), "AFTER"));
  bad ? n_failed++ : n_skipped++;
  if (bad || !quiet) printf("%s %s: %s\n", bad ? "FAILED " : "skipped", file, lemnos_status_message(s));
  lemnos_status_free(s);
}

static void run_file(const char *file) {
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  char *data = NULL;
  size_t size = 0;
  program p = {.a = a};
  lemnos_status s = io_read_file(file, &data, &size);
  if (!s) s = import_program(a, strv_from_cstr(file), data, size, NULL, &sink, &p.m);
  if (!s) s = prepare(&p);
  if (!s) s = compare(file, &p);
  finish(file, s, p.m != NULL);
  fflush(stdout);
  diag_sink_deinit(&sink);
  arena_destroy(a);
  heap_aligned_free(data);
}

int main(int argc, char **argv) {
  for (int k = 1; k < argc; k++) {
    if (!strncmp(argv[k], "--passes=", 9))
      passes = strv_from_cstr(argv[k] + 9);
    else if (!strcmp(argv[k], "--constants"))
      keep_constants = true;
    else if (!strncmp(argv[k], "--seconds=", 10))
      seconds = atof(argv[k] + 10);
    else if (!strncmp(argv[k], "--tolerance=", 12))
      tolerance = atof(argv[k] + 12);
    else if (!strcmp(argv[k], "-q"))
      quiet = true;
    else if (!strcmp(argv[k], "--dump"))
      dump = true;
    else
      run_file(argv[k]);
  }
  printf("%d equal, %d close, %d differ, %d failed, %d skipped\n", n_equal, n_close, n_differ, n_failed, n_skipped);
  return n_differ || n_failed ? 1 : 0;
}
