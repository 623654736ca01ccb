// SPDX-License-Identifier: Apache-2.0
// scatter: windows of updates are dropped element by element where they fall outside, and the rest is applied in order
// of the update array, into the operand when it dies here.
//
// The elements of one window have different targets, so their order does not matter: a window is clipped to the operand
// as a box, whose dimensions are coalesced as for a strided copy, and applied a row at a time. A body that returns the
// update is that copy; one binary operation is a typed loop over the row; any other body runs over blocks of lanes.
#include "interp/index_internal.h"

typedef struct scatter {
  int n;           // inputs
  bool assign;     // body returns the update
  hlo_eval_fn fn;  // body is one binary operation
  hlo_eval_param param;
  bool swapped;
  interp_region *region;
} scatter;

typedef struct scatter_state {
  const scatter *s;
  interp_call *c;
  // Per input:
  char **in;
  const char **updates;
  int *bytes;
  char **x, **u;  // lanes of rows that are not contiguous
  const void **region_in;
  void **region_out;
  void *scratch;
  int64_t lanes;  // at most INTERP_LANES
  // Of the operand's dimensions: its stride, the window's dimension (-1: none), and of that the size and stride.
  int rank;
  int64_t dims[INTERP_MAX_RANK], strides[INTERP_MAX_RANK];
  int window_of[INTERP_MAX_RANK];
  int64_t window[INTERP_MAX_RANK], window_stride[INTERP_MAX_RANK];
  interp_copy whole;  // of a window that lies inside
} scatter_state;

// n targets at `to`, spaced by ts, take updates at `from`, spaced by us.
static lemnos_status apply_lanes(scatter_state *t, int64_t n, int64_t to, int64_t ts, int64_t from, int64_t us) {
  const scatter *s = t->s;
  const void **in = t->region_in;
  void **out = t->region_out;
  for (int k = 0; k < s->n; k++) {
    int b = t->bytes[k];
    char *x = t->in[k] + to * b;
    const char *u = t->updates[k] + from * b;
    if (ts != 1 && n > 1) interp_copy_line(n, b, t->x[k], 1, x, ts), x = t->x[k];
    if (us != 1 && n > 1) interp_copy_line(n, b, t->u[k], 1, u, us), u = t->u[k];
    in[k] = out[k] = x;
    in[s->n + k] = u;
  }
  if (s->fn) {
    const void *pair[2] = {s->swapped ? in[1] : in[0], s->swapped ? in[0] : in[1]};
    s->fn(&s->param, n, pair, out[0]);
  } else {
    LEMNOS_TRY(interp_region_run(s->region, t->c->cx, t->scratch, n, in, out));
  }
  for (int k = 0; k < s->n && ts != 1 && n > 1; k++)
    interp_copy_line(n, t->bytes[k], t->in[k] + to * t->bytes[k], ts, t->x[k], 1);
  return LEMNOS_SUCCESS;
}

// Level d of a box whose targets begin at `to` and updates at `from`.
static lemnos_status apply_box(scatter_state *t, const interp_copy *p, int d, int64_t to, int64_t from) {
  if (d < p->rank - 1) {
    for (int64_t k = 0; k < p->dims[d]; k++)
      LEMNOS_TRY(apply_box(t, p, d + 1, to + k * p->out[d], from + k * p->in[d]));
    return LEMNOS_SUCCESS;
  }
  int64_t n = p->rank ? p->dims[d] : 1, ts = p->rank ? p->out[d] : 1, us = p->rank ? p->in[d] : 1;
  for (int64_t at = 0; at < n; at += t->lanes) {
    int64_t m = n - at < t->lanes ? n - at : t->lanes;
    LEMNOS_TRY(apply_lanes(t, m, to + at * ts, ts, from + at * us, us));
  }
  return LEMNOS_SUCCESS;
}

// The window at start (one index per dimension of the operand), with updates from `from` on.
static lemnos_status apply_window(scatter_state *t, const int64_t *start, int64_t from) {
  int64_t to = 0, box[INTERP_MAX_RANK];
  bool inside = true;
  for (int d = 0; d < t->rank; d++) {
    int64_t low = start[d], size = t->window_of[d] < 0 ? 1 : t->window[d];
    if (low >= t->dims[d] || low <= -size) return LEMNOS_SUCCESS;  // all of it falls outside
    int64_t first = low < 0 ? -low : 0, room = t->dims[d] - low, end = size < room ? size : room;
    box[d] = end - first;
    if (box[d] <= 0) return LEMNOS_SUCCESS;
    inside = inside && box[d] == size;
    to += (low + first) * t->strides[d];
    from += first * t->window_stride[d];
  }
  interp_copy clipped;
  const interp_copy *p = &t->whole;
  if (!inside) {
    interp_copy_plan(&clipped, t->bytes[0], t->rank, box, t->strides, t->window_stride);
    p = &clipped;
  }
  if (!t->s->assign) return apply_box(t, p, 0, to, from);
  interp_copy_run(p, t->in[0] + to * t->bytes[0], t->updates[0] + from * t->bytes[0]);
  return LEMNOS_SUCCESS;
}

static bool allocate(interp_ctx *cx, scatter_state *t) {
  size_t n = (size_t)t->s->n;
  t->in = interp_scratch(cx, n * sizeof *t->in);
  t->updates = interp_scratch(cx, n * sizeof *t->updates);
  t->bytes = interp_scratch(cx, n * sizeof *t->bytes);
  t->x = interp_scratch(cx, n * sizeof *t->x);
  t->u = interp_scratch(cx, n * sizeof *t->u);
  t->region_in = interp_scratch(cx, 2 * n * sizeof *t->region_in);
  t->region_out = interp_scratch(cx, n * sizeof *t->region_out);
  return t->in && t->updates && t->bytes && t->x && t->u && t->region_in && t->region_out;
}

static lemnos_status prepare_lanes(interp_call *c, scatter_state *t) {
  const scatter *s = t->s;
  if (!allocate(c->cx, t)) return interp_scratch_failed(c);
  t->lanes = interp_count(interp_arg(c, s->n + 1));  // no row of a window is longer than all updates
  if (t->lanes > INTERP_LANES) t->lanes = INTERP_LANES;
  for (int k = 0; k < s->n; k++) {
    interp_array *in = interp_arg(c, k), *out = interp_result(c, k);
    if (out->data != in->data) memcpy(out->data, in->data, (size_t)interp_bytes(out));
    t->in[k] = out->data;
    t->updates[k] = interp_arg(c, s->n + 1 + k)->data;
    t->bytes[k] = hlo_dtype_bytes(in->dtype);
    if (s->assign) continue;
    size_t bytes = (size_t)t->lanes * 16;
    t->x[k] = interp_scratch(c->cx, bytes);
    t->u[k] = interp_scratch(c->cx, bytes);
    if (!t->x[k] || !t->u[k]) return interp_scratch_failed(c);
  }
  if (!s->region) return LEMNOS_SUCCESS;
  size_t bytes = interp_region_scratch(s->region, t->lanes);
  t->scratch = interp_scratch(c->cx, bytes);
  return t->scratch ? LEMNOS_SUCCESS : interp_scratch_failed(c);
}

static void prepare_window(scatter_state *t, const hlo_scatter_dnums *d, const interp_array *in,
                           const interp_array *updates) {
  int64_t us[INTERP_MAX_RANK], box[INTERP_MAX_RANK];
  interp_strides(in, t->strides);
  interp_strides(updates, us);
  t->rank = in->rank;
  int at = 0;
  for (int k = 0; k < in->rank; k++) {
    t->dims[k] = in->dims[k];
    bool inserted = hlo_i64s_contains(d->inserted_window_dims, k) || hlo_i64s_contains(d->input_batching_dims, k);
    t->window_of[k] = inserted ? -1 : at;
    t->window[k] = inserted ? 1 : updates->dims[d->update_window_dims.data[at]];
    t->window_stride[k] = inserted ? 0 : us[d->update_window_dims.data[at++]];
    box[k] = t->window[k];
  }
  interp_copy_plan(&t->whole, t->bytes[0], t->rank, box, t->strides, t->window_stride);
}

static lemnos_status run_scatter(interp_call *c) {
  scatter_state t = {.s = c->in->aux, .c = c};
  const hlo_scatter_dnums *d = &HLO_ATTRS(c->in->src, scatter)->dnums;
  LEMNOS_TRY(prepare_lanes(c, &t));
  const interp_array *in = interp_arg(c, 0), *updates = interp_arg(c, t.s->n + 1);
  if (interp_count(updates) == 0) return LEMNOS_SUCCESS;
  prepare_window(&t, d, in, updates);
  index_vectors v;
  index_vectors_init(&v, interp_arg(c, t.s->n), d->index_vector_dim);
  int64_t us[INTERP_MAX_RANK], update_batch[INTERP_MAX_RANK], start[INTERP_MAX_RANK] = {0};
  interp_strides(updates, us);
  int n_batch = 0;
  for (int k = 0; k < updates->rank; k++)
    if (!hlo_i64s_contains(d->update_window_dims, k)) update_batch[n_batch++] = us[k];
  do {
    int64_t vector = index_vectors_offset(&v), from = 0;
    for (int k = 0; k < d->scatter_dims_to_operand_dims.n; k++)
      start[d->scatter_dims_to_operand_dims.data[k]] = interp_index_get(v.a, vector + k * v.step);
    for (int k = 0; k < d->input_batching_dims.n; k++)
      start[d->input_batching_dims.data[k]] = index_vectors_at(&v, d->scatter_indices_batching_dims.data[k]);
    for (int k = 0; k < v.n_batch; k++) from += v.w.index[k] * update_batch[k];
    LEMNOS_TRY(apply_window(&t, start, from));
  } while (walker_next(&v.w));
  return LEMNOS_SUCCESS;
}

lemnos_status interp_compile_scatter(interp_compiler *c, interp_insn *in) {
  scatter *s = ARENA_NEW(c->a, scatter);
  const hlo_computation *body = in->src->called[0];
  s->n = (in->n_args - 1) / 2;
  hlo_op op;
  hlo_dtype t = in->arg_types[0].dtype;
  if (s->n == 1 && body->n_params == 2 && body->root == body->params[1] && body->params[1]->shape->dtype == t) {
    s->assign = true;
  } else if (s->n == 1 && hlo_computation_is_binary(body, &op, &s->swapped) && op != HLO_OP_COMPARE &&
             body->params[0]->shape->dtype == t && body->params[1]->shape->dtype == t && !body->root->shape->quant) {
    hlo_dtype types[2] = {t, t};
    const char *reason = NULL;
    s->fn = hlo_eval_lookup(op, body->root->attrs, 2, types, t, &s->param, &reason);
  }
  if (!s->assign && !s->fn) LEMNOS_TRY(interp_region_compile(c, body, &s->region));
  for (int k = 0; k < in->n_results; k++) in->in_place[k] = (int16_t)k;
  in->aux = s;
  in->fn = run_scatter;
  return LEMNOS_SUCCESS;
}
