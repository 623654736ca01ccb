// SPDX-License-Identifier: Apache-2.0
// See run.h.
#include "tests/fuzz/run.h"

enum { MAX_BYTES = 8 << 20, MAX_ARG_BYTES = 1 << 16 };

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

static lemnos_status run(const hlo_module *m, const interp_program *p, double seconds, fuzz_run_result *out) {
  int n_args = interp_program_n_args(p), n = 0;
  interp_array *args = heap_alloc(sizeof *args * (size_t)(n_args + 1));
  out->n = interp_program_n_results(p);
  out->arrays = heap_alloc(sizeof *out->arrays * (size_t)(out->n + 1));
  bool fits = true;
  for (int k = 0; k < m->entry->n_params && fits; k++) {
    const hlo_shape *s = m->entry->params[k]->shape;
    for (int j = 0; j < hlo_shape_leaves(s) && fits; j++) fits = make_arg(hlo_shape_leaf(s, j), &args[n++]);
  }
  interp_run_options options = {.max_bytes = MAX_BYTES, .deadline = io_seconds() + seconds};
  lemnos_status s = fits ? interp_run(p, &options, n_args, args, out->n, out->arrays)
                         : lemnos_status_make(LEMNOS_UNIMPLEMENTED, "large arguments");
  for (int k = 0; k < n; k++) heap_aligned_free(args[k].data);
  free(args);
  return s;
}

lemnos_status fuzz_run(const hlo_module *m, double seconds, fuzz_run_result *out) {
  *out = (fuzz_run_result){0};
  if ((int64_t)m->n_replicas * m->n_partitions > 4) return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "many processes");
  interp_program *p = NULL;
  LEMNOS_TRY(interp_compile(m, &p));
  lemnos_status s = run(m, p, seconds, out);
  interp_program_destroy(p);
  return s;
}

void fuzz_run_free(fuzz_run_result *r) {
  for (int k = 0; k < r->n; k++) heap_aligned_free(r->arrays[k].data);
  free(r->arrays);
  *r = (fuzz_run_result){0};
}
