// SPDX-License-Identifier: Apache-2.0
// dynamic_slice, dynamic_update_slice, gather, torch_index_select.
//
// Start indices are clamped so that slices stay inside. Index elements of unsigned type are unsigned.
// dynamic_update_slice writes into its operand when it dies here.
#include "interp/index_internal.h"

int64_t interp_index_get(const interp_array *a, int64_t i) {
  int64_t x = hlo_element_get_i64(a->dtype, a->data, i);
  return a->dtype == HLO_U64 && x < 0 ? INT64_MAX : x;
}

static int64_t clamp(int64_t x, int64_t high) {
  return x < 0 ? 0 : x > high ? high : x;
}

// --- dynamic slices ------------------------------------------------------------------------------

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

// --- gather --------------------------------------------------------------------------------------

// A window of a gather: often one element or one line.
static inline void copy_window(const interp_copy *p, char *out, const char *in) {
  if (p->rank == 1 && p->in[0] == 1 && p->out[0] == 1) {
    memcpy(out, in, (size_t)(p->dims[0] * p->element_bytes));
  } else if (p->rank == 0 && p->element_bytes == 4) {
    memcpy(out, in, 4);
  } else if (p->rank == 0 && p->element_bytes == 8) {
    memcpy(out, in, 8);
  } else {
    interp_copy_run(p, out, in);
  }
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
    copy_window(&p, (char *)out->data + to * p.element_bytes, (const char *)in->data + from * p.element_bytes);
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

lemnos_status interp_compile_index(interp_compiler *c, interp_insn *in) {
  switch (in->src->op) {
    case HLO_OP_DYNAMIC_SLICE: in->fn = run_dynamic_slice; break;
    case HLO_OP_DYNAMIC_UPDATE_SLICE:
      in->fn = run_dynamic_update_slice;
      in->in_place[0] = 0;
      break;
    case HLO_OP_GATHER: in->fn = run_gather; break;
    case HLO_OP_SCATTER: return interp_compile_scatter(c, in);
    case HLO_OP_TORCH_INDEX_SELECT: in->fn = run_torch_index_select; break;
    default: return interp_refuse(in->src, "operation is not supported");
  }
  return LEMNOS_SUCCESS;
}
