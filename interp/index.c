// SPDX-License-Identifier: Apache-2.0
// dynamic_slice, dynamic_update_slice, gather, scatter, torch_index_select.
//
// Start indices are clamped so that slices stay inside; scatter drops the updates that fall outside, element by
// element, and applies the rest in order of the update array. Index elements of unsigned type are unsigned. scatter and
// dynamic_update_slice write into their operand when it dies here.
#include "interp/interp_internal.h"

#define MAX_OPERANDS 32

int64_t interp_index_get(const interp_array *a, int64_t i) {
  int64_t x = hlo_element_get_i64(a->dtype, a->data, i);
  return a->dtype == HLO_U64 && x < 0 ? INT64_MAX : x;
}

static int64_t clamp(int64_t x, int64_t high) {
  return x < 0 ? 0 : x > high ? high : x;
}

// --- dynamic slices
// ---------------------------------------------------------------------------------------------------------

static lemnos_status run_dynamic_slice(interp_call *c) {
  const interp_array *in = interp_arg(c, 0);
  interp_array *out = interp_result(c, 0);
  int64_t start[INTERP_MAX_RANK];
  for (int d = 0; d < in->rank; d++) {
    if (out->dims[d] > in->dims[d])
      return interp_error(c, LEMNOS_INVALID_ARGUMENT, "slice is larger than dimension %d", d);
    start[d] = clamp(interp_index_get(interp_arg(c, 1 + d), 0), in->dims[d] - out->dims[d]);
  }
  interp_copy_box(c->cx, in, start, out->dims, out->data);
  return LEMNOS_SUCCESS;
}

static lemnos_status run_dynamic_update_slice(interp_call *c) {
  const interp_array *in = interp_arg(c, 0), *update = interp_arg(c, 1);
  interp_array *out = interp_result(c, 0);
  if (out->data != in->data) memcpy(out->data, in->data, (size_t)interp_bytes(out));
  if (interp_count(update) == 0) return LEMNOS_SUCCESS;
  int64_t os[INTERP_MAX_RANK], us[INTERP_MAX_RANK], at = 0;
  interp_strides(out, os);
  interp_strides(update, us);
  for (int d = 0; d < in->rank; d++) {
    if (update->dims[d] > in->dims[d])
      return interp_error(c, LEMNOS_INVALID_ARGUMENT, "update is larger than dimension %d", d);
    at += clamp(interp_index_get(interp_arg(c, 2 + d), 0), in->dims[d] - update->dims[d]) * os[d];
  }
  interp_copy p;
  interp_copy_plan(&p, hlo_dtype_bytes(in->dtype), in->rank, update->dims, os, us);
  interp_copy_run_parallel(c->cx, &p, (char *)out->data + at * p.element_bytes, update->data);
  return LEMNOS_SUCCESS;
}

// --- gather
// -----------------------------------------------------------------------------------------------------------------

// Iterates over an index space while keeping offsets in several arrays.
typedef struct walker {
  int n;
  int64_t dims[INTERP_MAX_RANK], index[INTERP_MAX_RANK];
} walker;

static bool walker_next(walker *w) {
  for (int d = w->n - 1; d >= 0; d--) {
    if (++w->index[d] < w->dims[d]) return true;
    w->index[d] = 0;
  }
  return false;
}

// Offset of the index vector of a batch position in the indices array; *step is the stride along the vector.
typedef struct index_vectors {
  const interp_array *a;
  int64_t strides[INTERP_MAX_RANK], batch_stride[INTERP_MAX_RANK], step;
  int n_batch, batch_dim[INTERP_MAX_RANK];
  walker w;
} index_vectors;

static void index_vectors_init(index_vectors *v, const interp_array *a, int64_t vector_dim) {
  *v = (index_vectors){.a = a};
  interp_strides(a, v->strides);
  v->step = vector_dim < a->rank ? v->strides[vector_dim] : 0;
  for (int d = 0; d < a->rank; d++) {
    if (d == vector_dim) continue;
    v->batch_dim[v->n_batch] = d;
    v->batch_stride[v->n_batch] = v->strides[d];
    v->w.dims[v->n_batch++] = a->dims[d];
  }
  v->w.n = v->n_batch;
}

static int64_t index_vectors_offset(const index_vectors *v) {
  int64_t at = 0;
  for (int d = 0; d < v->n_batch; d++) at += v->w.index[d] * v->batch_stride[d];
  return at;
}

// Position among the batch dimensions of dimension d of the indices array.
static int64_t index_vectors_at(const index_vectors *v, int64_t d) {
  for (int k = 0; k < v->n_batch; k++)
    if (v->batch_dim[k] == d) return v->w.index[k];
  return 0;
}

lemnos_status interp_gather_run(interp_call *c, const hlo_gather_dnums *d, const int64_t *slice_sizes) {
  const interp_array *in = interp_arg(c, 0);
  interp_array *out = interp_result(c, 0);
  if (interp_count(out) == 0) return LEMNOS_SUCCESS;
  index_vectors v;
  index_vectors_init(&v, interp_arg(c, 1), d->index_vector_dim);
  int64_t is[INTERP_MAX_RANK], os[INTERP_MAX_RANK], out_batch[INTERP_MAX_RANK], box[INTERP_MAX_RANK],
      bo[INTERP_MAX_RANK] = {0};
  interp_strides(in, is);
  interp_strides(out, os);
  int n_batch = 0, n_offset = 0;
  for (int k = 0; k < out->rank; k++)
    if (!hlo_i64s_contains(d->offset_dims, k)) out_batch[n_batch++] = os[k];
  for (int k = 0; k < in->rank; k++) {
    box[k] = slice_sizes[k];
    if (slice_sizes[k] > in->dims[k])
      return interp_error(c, LEMNOS_INVALID_ARGUMENT, "slice is larger than dimension %d", k);
    if (!hlo_i64s_contains(d->collapsed_slice_dims, k) && !hlo_i64s_contains(d->operand_batching_dims, k))
      bo[k] = os[d->offset_dims.data[n_offset++]];
    else
      box[k] = 1;
  }
  interp_copy p;
  interp_copy_plan(&p, hlo_dtype_bytes(in->dtype), in->rank, box, bo, is);
  do {
    int64_t at = index_vectors_offset(&v), from = 0, to = 0;
    for (int k = 0; k < d->start_index_map.n; k++) {
      int64_t dim = d->start_index_map.data[k];
      from += clamp(interp_index_get(v.a, at + k * v.step), in->dims[dim] - slice_sizes[dim]) * is[dim];
    }
    for (int k = 0; k < d->operand_batching_dims.n; k++)
      from += index_vectors_at(&v, d->start_indices_batching_dims.data[k]) * is[d->operand_batching_dims.data[k]];
    for (int k = 0; k < v.n_batch; k++) to += v.w.index[k] * out_batch[k];
    interp_copy_run(&p, (char *)out->data + to * p.element_bytes, (const char *)in->data + from * p.element_bytes);
  } while (walker_next(&v.w));
  return LEMNOS_SUCCESS;
}

static lemnos_status run_gather(interp_call *c) {
  const hlo_attrs_gather *a = HLO_ATTRS(c->in->src, gather);
  return interp_gather_run(c, &a->dnums, a->slice_sizes.data);
}

static lemnos_status run_torch_index_select(interp_call *c) {
  const hlo_attrs_torch_index_select *a = HLO_ATTRS(c->in->src, torch_index_select);
  const interp_array *in = interp_arg(c, 0), *index = interp_arg(c, 1);
  interp_array *out = interp_result(c, 0);
  int64_t is[INTERP_MAX_RANK], outer = 1, inner = 1, batch = 1, picks = 1,
                               dim = a->dim < 0 ? a->dim + in->rank : a->dim;
  int64_t batch_dims = a->batch_dims < 0 ? a->batch_dims + index->rank : a->batch_dims;
  interp_strides(in, is);
  for (int d = 0; d < dim; d++) outer *= in->dims[d];
  for (int d = (int)dim + 1; d < in->rank; d++) inner *= in->dims[d];
  for (int d = 0; d < batch_dims; d++) batch *= index->dims[d];
  for (int d = (int)batch_dims; d < index->rank; d++) picks *= index->dims[d];
  size_t run = (size_t)(inner * hlo_dtype_bytes(in->dtype));
  if (interp_count(out) == 0) return LEMNOS_SUCCESS;
  for (int64_t o = 0; o < outer; o++)
    for (int64_t k = 0; k < picks; k++) {
      int64_t b = o / (outer / batch), x = clamp(interp_index_get(index, b * picks + k), in->dims[dim] - 1);
      memcpy((char *)out->data + (size_t)(o * picks + k) * run,
             (char *)in->data + (size_t)(o * in->dims[dim] + x) * run, run);
    }
  return LEMNOS_SUCCESS;
}

// --- scatter
// ----------------------------------------------------------------------------------------------------------------

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
  char *in[MAX_OPERANDS];
  const char *updates[MAX_OPERANDS];
  int bytes[MAX_OPERANDS];
  int64_t *to, *from;  // lanes collected
  int64_t n;
  char *x[MAX_OPERANDS], *u[MAX_OPERANDS];
  void *scratch;
} scatter_state;

// Applies the collected lanes, whose targets are all different.
static lemnos_status flush(scatter_state *t) {
  const scatter *s = t->s;
  int64_t n = t->n;
  t->n = 0;
  if (n == 0) return LEMNOS_SUCCESS;
  for (int k = 0; k < s->n; k++) {
    int b = t->bytes[k];
    if (s->assign) {
      for (int64_t e = 0; e < n; e++) memcpy(t->in[k] + t->to[e] * b, t->updates[k] + t->from[e] * b, (size_t)b);
      continue;
    }
    for (int64_t e = 0; e < n; e++) {
      memcpy(t->x[k] + e * b, t->in[k] + t->to[e] * b, (size_t)b);
      memcpy(t->u[k] + e * b, t->updates[k] + t->from[e] * b, (size_t)b);
    }
  }
  if (s->assign) return LEMNOS_SUCCESS;
  const void *in[2 * MAX_OPERANDS];
  for (int k = 0; k < s->n; k++) in[k] = t->x[k], in[s->n + k] = t->u[k];
  if (s->fn) {
    const void *pair[2] = {s->swapped ? in[1] : in[0], s->swapped ? in[0] : in[1]};
    s->fn(&s->param, n, pair, t->x[0]);
  } else {
    LEMNOS_TRY(interp_region_run(s->region, t->c->cx, t->scratch, n, in, (void *const *)t->x));
  }
  for (int k = 0; k < s->n; k++)
    for (int64_t e = 0; e < n; e++)
      memcpy(t->in[k] + t->to[e] * t->bytes[k], t->x[k] + e * t->bytes[k], (size_t)t->bytes[k]);
  return LEMNOS_SUCCESS;
}

static lemnos_status scatter_prepare(interp_call *c, scatter_state *t) {
  const scatter *s = t->s;
  for (int k = 0; k < s->n; k++) {
    interp_array *in = interp_arg(c, k), *out = interp_result(c, k);
    if (out->data != in->data) memcpy(out->data, in->data, (size_t)interp_bytes(out));
    t->in[k] = out->data;
    t->updates[k] = interp_arg(c, s->n + 1 + k)->data;
    t->bytes[k] = hlo_dtype_bytes(in->dtype);
    t->x[k] = interp_scratch(c->cx, INTERP_LANES * 16);
    t->u[k] = interp_scratch(c->cx, INTERP_LANES * 16);
    if (!t->x[k] || !t->u[k]) return interp_scratch_failed(c, INTERP_LANES * 16);
  }
  t->to = interp_scratch(c->cx, INTERP_LANES * 8);
  t->from = interp_scratch(c->cx, INTERP_LANES * 8);
  if (s->region) t->scratch = interp_scratch(c->cx, interp_region_scratch(s->region));
  if (!t->to || !t->from || (s->region && !t->scratch)) return interp_scratch_failed(c, INTERP_LANES * 16);
  return LEMNOS_SUCCESS;
}

static lemnos_status run_scatter(interp_call *c) {
  scatter_state t = {.s = c->in->aux, .c = c};
  const hlo_scatter_dnums *d = &HLO_ATTRS(c->in->src, scatter)->dnums;
  LEMNOS_TRY(scatter_prepare(c, &t));
  const interp_array *in = interp_arg(c, 0), *updates = interp_arg(c, t.s->n + 1);
  if (interp_count(updates) == 0) return LEMNOS_SUCCESS;
  index_vectors v;
  index_vectors_init(&v, interp_arg(c, t.s->n), d->index_vector_dim);
  int64_t is[INTERP_MAX_RANK], us[INTERP_MAX_RANK], update_batch[INTERP_MAX_RANK];
  interp_strides(in, is);
  interp_strides(updates, us);
  int n_batch = 0;
  for (int k = 0; k < updates->rank; k++)
    if (!hlo_i64s_contains(d->update_window_dims, k)) update_batch[n_batch++] = us[k];
  walker w = {.n = d->update_window_dims.n};
  int64_t window_stride[INTERP_MAX_RANK], window_dim[INTERP_MAX_RANK];
  int at = 0;
  for (int k = 0; k < in->rank; k++)
    if (!hlo_i64s_contains(d->inserted_window_dims, k) && !hlo_i64s_contains(d->input_batching_dims, k))
      window_dim[at++] = k;
  for (int k = 0; k < w.n; k++) {
    w.dims[k] = updates->dims[d->update_window_dims.data[k]];
    window_stride[k] = us[d->update_window_dims.data[k]];
  }
  do {
    int64_t start[INTERP_MAX_RANK] = {0}, vector = index_vectors_offset(&v), from0 = 0, base = 0;
    for (int k = 0; k < d->scatter_dims_to_operand_dims.n; k++)
      start[d->scatter_dims_to_operand_dims.data[k]] = interp_index_get(v.a, vector + k * v.step);
    for (int k = 0; k < d->input_batching_dims.n; k++)
      start[d->input_batching_dims.data[k]] = index_vectors_at(&v, d->scatter_indices_batching_dims.data[k]);
    for (int k = 0; k < v.n_batch; k++) from0 += v.w.index[k] * update_batch[k];
    bool in_bounds = true;
    for (int k = 0; k < in->rank; k++) {
      bool window = false;
      for (int q = 0; q < w.n; q++) window = window || window_dim[q] == k;
      if (!window && (start[k] < 0 || start[k] >= in->dims[k]))
        in_bounds = false;
      else if (!window)
        base += start[k] * is[k];
    }
    if (!in_bounds) continue;
    do {
      int64_t to = base, from = from0;
      bool inside = true;
      for (int k = 0; k < w.n && inside; k++) {
        int64_t x;
        inside = !__builtin_add_overflow(start[window_dim[k]], w.index[k], &x) && x >= 0 && x < in->dims[window_dim[k]];
        to += inside ? x * is[window_dim[k]] : 0;
        from += w.index[k] * window_stride[k];
      }
      if (!inside) continue;
      t.to[t.n] = to;
      t.from[t.n++] = from;
      if (t.n == INTERP_LANES) LEMNOS_TRY(flush(&t));
    } while (walker_next(&w));
    LEMNOS_TRY(flush(&t));
  } while (walker_next(&v.w));
  return LEMNOS_SUCCESS;
}

static lemnos_status compile_scatter(interp_compiler *c, interp_insn *in) {
  scatter *s = ARENA_NEW(c->a, scatter);
  const hlo_computation *body = in->src->called[0];
  s->n = (in->n_args - 1) / 2;
  if (s->n > MAX_OPERANDS) return interp_refuse(in->src, "more than %d operands", MAX_OPERANDS);
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

lemnos_status interp_compile_index(interp_compiler *c, interp_insn *in) {
  switch (in->src->op) {
    case HLO_OP_DYNAMIC_SLICE:
      in->fn = run_dynamic_slice;
      break;
    case HLO_OP_DYNAMIC_UPDATE_SLICE:
      in->fn = run_dynamic_update_slice;
      in->in_place[0] = 0;
      break;
    case HLO_OP_GATHER:
      in->fn = run_gather;
      break;
    case HLO_OP_SCATTER:
      return compile_scatter(c, in);
    case HLO_OP_TORCH_INDEX_SELECT:
      in->fn = run_torch_index_select;
      break;
    default:
      return interp_refuse(in->src, "operation is not supported");
  }
  return LEMNOS_SUCCESS;
}
