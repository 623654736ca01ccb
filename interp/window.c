// SPDX-License-Identifier: Apache-2.0
// reduce_window and select_and_scatter, with strides, both dilations and padding of any sign.
//
// reduce_window works on a row of outputs (the last dimension) at a time: for each window position, in row-major order,
// the row of input elements it meets is gathered (padding gives the init value) and folded. select_and_scatter keeps,
// for each window, the index of the element the selection prefers; padding takes no part. Scattering runs in source
// order.
#include "interp/interp_internal.h"

typedef struct window_job {
  const interp_fold *f;
  interp_ctx *cx;
  const hlo_window_dim *w;
  int rank;
  int64_t in_dims[INTERP_MAX_RANK], out_dims[INTERP_MAX_RANK], is[INTERP_MAX_RANK];
  int64_t taps, row;  // window positions; outputs per row
  int64_t lanes;      // at most INTERP_LANES
  interp_fold_arrays a;
  char **scratch;
  lemnos_status *status;
} window_job;

// Input index met by output o and window position k in dimension d; false: padding or a hole of the base dilation.
static bool window_index(const hlo_window_dim *w, int64_t size, int64_t o, int64_t k, int64_t *x) {
  *x = o * w->stride + k * w->window_dilation - w->pad_low;
  if (*x < 0) return false;
  if (w->base_dilation > 1) {
    if (*x % w->base_dilation) return false;
    *x /= w->base_dilation;
  }
  return *x < size;
}

// Gathers outputs [o0, o0 + n) of the last dimension at window position k of it; base is the offset of the row.
static void gather_row(const window_job *j, int operand, int64_t base, int64_t o0, int64_t n, int64_t k, char *out) {
  int d = j->rank - 1, bytes = j->a.bytes[operand];
  const hlo_window_dim *w = &j->w[d];
  const char *in = j->a.in[operand];
  int64_t x;
  if (w->base_dilation > 1) {
    for (int64_t i = 0; i < n; i++)
      memcpy(out + i * bytes,
             window_index(w, j->in_dims[d], o0 + i, k, &x) ? in + (base + x * j->is[d]) * bytes : j->a.init[operand],
             (size_t)bytes);
    return;
  }
  int64_t shift = k * w->window_dilation - w->pad_low;  // x = o * stride + shift
  int64_t lo = shift >= 0 ? 0 : (-shift + w->stride - 1) / w->stride;
  int64_t hi = j->in_dims[d] - 1 - shift;
  hi = hi < 0 ? 0 : hi / w->stride + 1;
  lo = lo < o0 ? o0 : lo > o0 + n ? o0 + n : lo;
  hi = hi > o0 + n ? o0 + n : hi < lo ? lo : hi;
  interp_fill(out, j->a.init[operand], bytes, lo - o0);
  if (hi > lo)
    interp_copy_line(hi - lo, bytes, out + (lo - o0) * bytes, 1,
                     in + (base + (lo * w->stride + shift) * j->is[d]) * bytes, w->stride * j->is[d]);
  interp_fill(out + (hi - o0) * bytes, j->a.init[operand], bytes, o0 + n - hi);
}

static lemnos_status reduce_row(const window_job *j, int64_t row, int64_t o0, int64_t n, char *scratch) {
  const interp_fold *f = j->f;
  interp_fold_lanes l = interp_fold_lanes_at(f, scratch, j->lanes);
  char **acc = l.acc, **x = l.x, one[16];
  for (int k = 0; k < f->n; k++) {
    interp_fold_widen(f, k, 1, j->a.init[k], one);
    interp_fill(acc[k], one, hlo_dtype_bytes(f->acc_types[k]), n);
  }
  int64_t o[INTERP_MAX_RANK], index[INTERP_MAX_RANK] = {0}, rest = row;
  for (int d = j->rank - 2; d >= 0; d--) {
    o[d] = rest % j->out_dims[d];
    rest /= j->out_dims[d];
  }
  for (int64_t tap = 0; tap < j->taps; tap++) {
    int64_t base = 0, at;
    bool inside = true;
    for (int d = 0; d < j->rank - 1 && inside; d++) {
      inside = window_index(&j->w[d], j->in_dims[d], o[d], index[d], &at);
      base += at * j->is[d];
    }
    for (int k = 0; k < f->n; k++) {
      if (inside)
        gather_row(j, k, base, o0, n, index[j->rank - 1], x[k]);
      else
        interp_fill(x[k], j->a.init[k], j->a.bytes[k], n);
    }
    LEMNOS_TRY(interp_fold_step(f, j->cx, l.fold, n, (const void *const *)x, (void *const *)acc));
    for (int d = j->rank - 1; d >= 0 && ++index[d] == j->w[d].size; d--) index[d] = 0;
  }
  for (int k = 0; k < f->n; k++) interp_fold_narrow(f, k, n, acc[k], j->a.out[k] + (row * j->row + o0) * j->a.bytes[k]);
  return LEMNOS_SUCCESS;
}

static void reduce_rows(void *ctx, int64_t begin, int64_t end, int worker) {
  window_job *j = ctx;
  for (int64_t r = begin; r < end; r++)
    for (int64_t o = 0; o < j->row && !j->status[worker]; o += j->lanes)
      j->status[worker] = reduce_row(j, r, o, j->row - o < j->lanes ? j->row - o : j->lanes, j->scratch[worker]);
}

static lemnos_status run_reduce_window(interp_call *c) {
  const interp_fold *f = c->in->aux;
  const interp_array *in = interp_arg(c, 0), *out = interp_result(c, 0);
  window_job j = {.cx = c->cx, .w = HLO_ATTRS(c->in->src, reduce_window)->window.dims, .rank = in->rank, .taps = 1};
  static const hlo_window_dim unit = {.size = 1, .stride = 1, .base_dilation = 1, .window_dilation = 1};
  interp_strides(in, j.is);
  if (in->rank == 0) {  // as one dimension of size 1
    j.rank = 1;
    j.w = &unit;
    j.in_dims[0] = j.out_dims[0] = j.is[0] = 1;
  }
  for (int d = 0; d < in->rank; d++) {
    j.in_dims[d] = in->dims[d];
    j.out_dims[d] = out->dims[d];
    j.taps *= j.w[d].size;
  }
  int64_t total = interp_count(out);
  if (total == 0) return LEMNOS_SUCCESS;
  j.f = f = interp_fold_for(f, j.taps);
  j.row = j.out_dims[j.rank - 1];
  if (!interp_fold_arrays_init(c, f, &j.a)) return interp_scratch_failed(c);
  bool parallel = !f->region || interp_region_is_lanes(f->region);
  int64_t rows = total / j.row, grain = parallel ? INTERP_GRAIN / (j.row * j.taps + 1) + 1 : rows;
  int workers = interp_workers(c->cx, rows, grain);
  j.lanes = j.row < INTERP_LANES ? j.row : INTERP_LANES;
  size_t bytes = interp_fold_lanes_bytes(f, j.lanes);
  j.status = interp_scratch(c->cx, sizeof *j.status * (size_t)workers);
  j.scratch = interp_worker_blocks(c->cx, workers, bytes);
  if (!j.status || !j.scratch) return interp_scratch_failed(c);
  for (int t = 0; t < workers; t++) j.status[t] = LEMNOS_SUCCESS;
  interp_parallel(c->cx, rows, grain, reduce_rows, &j);
  lemnos_status s = LEMNOS_SUCCESS;
  for (int t = 0; t < workers; t++) {
    if (!s)
      s = j.status[t];
    else
      lemnos_status_free(j.status[t]);
  }
  return s;
}

// --- select_and_scatter --------------------------------------------------------------------------

typedef struct select_scatter {
  interp_region *select;  // (best, x) -> keep best
  interp_fold *scatter;
} select_scatter;

static lemnos_status pick(interp_call *c, const interp_region *select, void *scratch, const hlo_window_dim *w,
                          const interp_array *in, const int64_t *is, const int64_t *o, int64_t taps, int64_t *best) {
  int64_t index[INTERP_MAX_RANK] = {0};
  int bytes = hlo_dtype_bytes(in->dtype);
  *best = -1;
  for (int64_t tap = 0; tap < taps; tap++) {
    int64_t at = 0, x;
    bool inside = true;
    for (int d = 0; d < in->rank && inside; d++) {
      inside = window_index(&w[d], in->dims[d], o[d], index[d], &x);
      at += x * is[d];
    }
    if (inside && *best < 0) {
      *best = at;
    } else if (inside) {
      uint8_t keep = 0;
      const void *args[2] = {(char *)in->data + *best * bytes, (char *)in->data + at * bytes};
      void *out[1] = {&keep};
      LEMNOS_TRY(interp_region_run(select, c->cx, scratch, 1, args, out));
      if (!keep) *best = at;
    }
    for (int d = in->rank - 1; d >= 0 && ++index[d] == w[d].size; d--) index[d] = 0;
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status run_select_and_scatter(interp_call *c) {
  const select_scatter *s = c->in->aux;
  const hlo_window *window = &HLO_ATTRS(c->in->src, select_and_scatter)->window;
  const interp_array *in = interp_arg(c, 0), *source = interp_arg(c, 1), *init = interp_arg(c, 2);
  interp_array *out = interp_result(c, 0);
  int bytes = hlo_dtype_bytes(in->dtype), wide = hlo_dtype_bytes(s->scatter->acc_types[0]);
  int64_t is[INTERP_MAX_RANK], o[INTERP_MAX_RANK] = {0}, taps = 1, total = interp_count(out), n = interp_count(source),
                               best;
  interp_strides(in, is);
  for (int d = 0; d < in->rank; d++) taps *= window->dims[d].size;
  size_t bytes1 = interp_region_scratch(s->select, 1), bytes2 = interp_fold_scratch(s->scatter, 1);
  void *scratch1 = interp_scratch(c->cx, bytes1), *scratch2 = interp_scratch(c->cx, bytes2);
  char *acc = interp_scratch(c->cx, (size_t)(total * wide)), one[16];
  if (!scratch1 || !scratch2 || !acc) return interp_scratch_failed(c);
  interp_fold_widen(s->scatter, 0, 1, init->data, one);
  interp_fill(acc, one, wide, total);
  for (int64_t e = 0; e < n; e++) {
    LEMNOS_TRY(pick(c, s->select, scratch1, window->dims, in, is, o, taps, &best));
    if (best >= 0) {
      const void *x[1] = {(char *)source->data + e * bytes};
      void *a[1] = {acc + best * wide};
      LEMNOS_TRY(interp_fold_step(s->scatter, c->cx, scratch2, 1, x, a));
    }
    for (int d = in->rank - 1; d >= 0 && ++o[d] == source->dims[d]; d--) o[d] = 0;
  }
  interp_fold_narrow(s->scatter, 0, total, acc, out->data);
  return LEMNOS_SUCCESS;
}

lemnos_status interp_compile_window(interp_compiler *c, interp_insn *in) {
  if (in->src->op == HLO_OP_REDUCE_WINDOW) {
    interp_fold *f;
    LEMNOS_TRY(interp_fold_compile(c, in->src->called[0], in->n_args / 2, in->arg_types, &f));
    in->aux = f;
    in->fn = run_reduce_window;
    return LEMNOS_SUCCESS;
  }
  select_scatter *s = ARENA_NEW(c->a, select_scatter);
  LEMNOS_TRY(interp_region_compile(c, in->src->called[0], &s->select));
  LEMNOS_TRY(interp_fold_compile(c, in->src->called[1], 1, in->arg_types, &s->scatter));
  in->aux = s;
  in->fn = run_select_and_scatter;
  return LEMNOS_SUCCESS;
}
