// SPDX-License-Identifier: Apache-2.0
// A program in any form, from file to result: imported, verified, compiled to bytecode and run in the interpreter on
// small arguments, with limits on memory and time. Programs whose arguments are large or of unknown size do not run.
#include <math.h>

#include "interp/interp.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_BYTES = 8 << 20, MAX_ARG_BYTES = 1 << 16 };

// Elements -2, -1, 0, 1, 2, ...; false if the argument is too large.
static bool make_arg(const hlo_shape *s, interp_array *out) {
  if (hlo_shape_is_token(s)) {
    *out = (interp_array){.dtype = HLO_TOKEN};
    return true;
  }
  int64_t bytes = hlo_shape_bytes(s);
  if (bytes < 0 || bytes > MAX_ARG_BYTES || s->rank > INTERP_MAX_RANK) return false;
  *out = (interp_array){.dtype = s->dtype, .rank = s->rank, .data = heap_try_alloc_aligned((size_t)bytes + 1)};
  if (!out->data) return false;
  memset(out->data, 0, (size_t)bytes);
  for (int d = 0; d < s->rank; d++) out->dims[d] = s->dims[d];
  int64_t n = hlo_shape_elements(s);
  for (int64_t i = 0; i < n; i++) hlo_element_set_f64(s->dtype, out->data, i, 0, (double)(i % 5 - 2));
  return true;
}

static void run(const hlo_module *m, const interp_program *p) {
  int n_args = interp_program_n_args(p), n_results = interp_program_n_results(p), n = 0;
  interp_array *args = heap_alloc(sizeof *args * (size_t)(n_args + 1));
  interp_array *results = heap_alloc(sizeof *results * (size_t)(n_results + 1));
  bool fits = true;
  for (int k = 0; k < m->entry->n_params && fits; k++) {
    const hlo_shape *s = m->entry->params[k]->shape;
    for (int j = 0; j < hlo_shape_leaves(s) && fits; j++) fits = make_arg(hlo_shape_leaf(s, j), &args[n++]);
  }
  if (fits) {
    interp_run_options options = {.max_bytes = MAX_BYTES, .deadline = io_seconds() + 0.3};
    lemnos_status_free(interp_run(p, &options, n_args, args, n_results, results));
  }
  for (int k = 0; k < n_results; k++) heap_aligned_free(results[k].data);
  for (int k = 0; k < n; k++) heap_aligned_free(args[k].data);
  free(args);
  free(results);
}

// Every virtual device has a thread: programs with many are slow to run, and no different.
static bool is_small(const hlo_module *m) {
  if ((int64_t)m->n_replicas * m->n_partitions > 4) return false;
  for (int c = 0; c < m->n_computations; c++)
    HLO_FOR_EACH(i, m->computations[c]) {
      if (i->op != HLO_OP_CUSTOM_CALL || !strv_eq_cstr(HLO_ATTRS(i, custom_call)->target, "sdy.manual_computation")) continue;
      const hlo_dict *d = &HLO_ATTRS(i, custom_call)->attributes;
      for (int k = 0; k < d->n; k++)
        if (d->entries[k].value.len > 1) return false;
    }
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *copy = fuzz_copy(data, size);
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  hlo_module *m = NULL;
  interp_program *p = NULL;
  if (fuzz_ok(import_program(a, STRV("fuzz"), copy, size, NULL, &sink, &m)) && fuzz_ok(hlo_verify(m, &sink)) &&
      is_small(m) && fuzz_ok(interp_compile(m, &p))) {
    run(m, p);
    interp_program_destroy(p);
  }
  diag_sink_deinit(&sink);
  arena_destroy(a);
  free(copy);
  return 0;
}
