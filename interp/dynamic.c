// SPDX-License-Identifier: Apache-2.0
// Dynamic shapes: the concrete dims of results at run time, for every operation, and the dynamic_* operations, which
// read them from operands. A declared static dimension is checked against what the operands say.
#include "interp/interp_internal.h"

static int64_t ceil_div(int64_t a, int64_t b) {
  return a <= 0 ? 0 : (a + b - 1) / b;
}

static int64_t dilated(int64_t n, int64_t d) {
  return n == 0 ? 0 : (n - 1) * d + 1;
}

static int64_t window_out(int64_t size, const hlo_window_dim *w) {
  int64_t padded = dilated(size, w->base_dilation) + w->pad_low + w->pad_high,
          window = dilated(w->size, w->window_dilation);
  return padded < window || padded == 0 ? 0 : (padded - window) / w->stride + 1;
}

static void set_dims(interp_array *out, int rank, const int64_t *dims) {
  out->rank = rank;
  memcpy(out->dims, dims, sizeof(int64_t) * (size_t)rank);
}

static void dims_from_operand(interp_array *out, const interp_array *shape) {
  out->rank = (int32_t)interp_count(shape);
  if (out->rank > INTERP_MAX_RANK) out->rank = INTERP_MAX_RANK;
  for (int d = 0; d < out->rank; d++) out->dims[d] = interp_index_get(shape, d);
}

static void infer_conv(const interp_call *c, interp_array *out) {
  const hlo_attrs_convolution *a = HLO_ATTRS(c->in->src, convolution);
  const interp_array *in = interp_arg(c, 0), *kernel = interp_arg(c, 1);
  const hlo_conv_dnums *d = &a->dnums;
  out->rank = in->rank;
  out->dims[d->output_batch] = in->dims[d->input_batch] / (a->batch_group_count > 1 ? a->batch_group_count : 1);
  out->dims[d->output_feature] = kernel->dims[d->kernel_output_feature];
  for (int s = 0; s < d->input_spatial.n; s++) {
    hlo_window_dim w =
        s < a->window.n ? a->window.dims[s] : (hlo_window_dim){.stride = 1, .base_dilation = 1, .window_dilation = 1};
    w.size = kernel->dims[d->kernel_spatial.data[s]];
    if (c->in->src->op == HLO_OP_DYNAMIC_CONV) {
      w.pad_low = interp_index_get(interp_arg(c, 2), 2 * s);
      w.pad_high = interp_index_get(interp_arg(c, 2), 2 * s + 1);
    }
    out->dims[d->output_spatial.data[s]] = window_out(in->dims[d->input_spatial.data[s]], &w);
  }
}

static void infer_dot(const interp_call *c, interp_array *out) {
  const hlo_dot_dnums *d = &HLO_ATTRS(c->in->src, dot_general)->dnums;
  const interp_array *l = interp_arg(c, 0), *r = interp_arg(c, 1);
  out->rank = 0;
  for (int k = 0; k < d->lhs_batch.n; k++) out->dims[out->rank++] = l->dims[d->lhs_batch.data[k]];
  for (int k = 0; k < l->rank; k++)
    if (!hlo_i64s_contains(d->lhs_batch, k) && !hlo_i64s_contains(d->lhs_contracting, k))
      out->dims[out->rank++] = l->dims[k];
  for (int k = 0; k < r->rank; k++)
    if (!hlo_i64s_contains(d->rhs_batch, k) && !hlo_i64s_contains(d->rhs_contracting, k))
      out->dims[out->rank++] = r->dims[k];
}

static void infer_ragged_dot(const interp_call *c, interp_array *out) {
  const hlo_attrs_ragged_dot *at = HLO_ATTRS(c->in->src, ragged_dot);
  const hlo_dot_dnums *d = &at->dnums;
  const interp_array *l = interp_arg(c, 0), *r = interp_arg(c, 1), *sizes = interp_arg(c, 2);
  out->rank = 0;
  if (hlo_i64s_contains(d->lhs_contracting, at->lhs_ragged_dimensions.data[0]))
    out->dims[out->rank++] = sizes->dims[sizes->rank - 1];
  for (int k = 0; k < d->lhs_batch.n; k++) out->dims[out->rank++] = l->dims[d->lhs_batch.data[k]];
  for (int k = 0; k < l->rank; k++)
    if (!hlo_i64s_contains(d->lhs_batch, k) && !hlo_i64s_contains(d->lhs_contracting, k))
      out->dims[out->rank++] = l->dims[k];
  for (int k = 0; k < r->rank; k++)
    if (!hlo_i64s_contains(d->rhs_batch, k) && !hlo_i64s_contains(d->rhs_contracting, k) &&
        !hlo_i64s_contains(at->rhs_group_dimensions, k))
      out->dims[out->rank++] = r->dims[k];
}

static void infer_fft(const interp_call *c, interp_array *out) {
  const hlo_attrs_fft *a = HLO_ATTRS(c->in->src, fft);
  const interp_array *in = interp_arg(c, 0);
  int64_t last = a->fft_length.data[a->fft_length.n - 1];
  set_dims(out, in->rank, in->dims);
  if (a->fft_type == HLO_FFT_TYPE_RFFT) out->dims[in->rank - 1] = last / 2 + 1;
  if (a->fft_type == HLO_FFT_TYPE_IRFFT) out->dims[in->rank - 1] = last;
}

static void infer_gather(const interp_call *c, const hlo_gather_dnums *d, const int64_t *sizes, interp_array *out) {
  const interp_array *in = interp_arg(c, 0), *index = interp_arg(c, 1);
  int64_t batch[INTERP_MAX_RANK], offset[INTERP_MAX_RANK];
  int nb = 0, no = 0;
  for (int k = 0; k < index->rank; k++)
    if (k != d->index_vector_dim) batch[nb++] = index->dims[k];
  for (int k = 0; k < in->rank; k++)
    if (!hlo_i64s_contains(d->collapsed_slice_dims, k) && !hlo_i64s_contains(d->operand_batching_dims, k))
      offset[no++] = sizes[k];
  out->rank = nb + no;
  nb = no = 0;
  for (int k = 0; k < out->rank; k++) out->dims[k] = hlo_i64s_contains(d->offset_dims, k) ? offset[no++] : batch[nb++];
}

static void gather_sizes(const interp_call *c, int64_t *sizes) {
  const interp_array *s = interp_arg(c, 2);
  for (int k = 0; k < interp_arg(c, 0)->rank; k++) sizes[k] = interp_index_get(s, k);
}

static lemnos_status infer_reshape(interp_call *c, interp_array *out) {
  const interp_type *t = &c->in->result_types[0];
  int64_t n = interp_count(interp_arg(c, 0)), known = 1;
  int open = -1;
  out->rank = t->rank;
  for (int d = 0; d < t->rank; d++) {
    out->dims[d] = t->dims[d];
    if (t->dims[d] >= 0)
      known *= t->dims[d];
    else if (open < 0)
      open = d;
    else
      return interp_error(c, LEMNOS_UNIMPLEMENTED, "reshape to more than one unknown dimension");
  }
  if (open >= 0) out->dims[open] = known ? n / known : 0;
  return LEMNOS_SUCCESS;
}

static lemnos_status infer_op(interp_call *c, int k, interp_array *out) {
  const hlo_instr *i = c->in->src;
  const interp_array *a = c->in->n_args ? interp_arg(c, 0) : NULL;
  const interp_type *t = &c->in->result_types[k];
  if (hlo_op_has(i->op, HLO_TRAIT_E)) {
    for (int n = 1; n < c->in->n_args; n++)
      if (interp_arg(c, n)->rank > a->rank) a = interp_arg(c, n);
    return set_dims(out, a->rank, a->dims), LEMNOS_SUCCESS;
  }
  if (!a) return interp_error(c, LEMNOS_UNIMPLEMENTED, "result of unknown size");
  switch (i->op) {
    case HLO_OP_DYNAMIC_BROADCAST_IN_DIM:
    case HLO_OP_DYNAMIC_RESHAPE: return dims_from_operand(out, interp_arg(c, 1)), LEMNOS_SUCCESS;
    case HLO_OP_DYNAMIC_IOTA: return dims_from_operand(out, a), LEMNOS_SUCCESS;
    case HLO_OP_DYNAMIC_CONV:
    case HLO_OP_CONVOLUTION: return infer_conv(c, out), LEMNOS_SUCCESS;
    case HLO_OP_DYNAMIC_GATHER: {
      int64_t sizes[INTERP_MAX_RANK];
      gather_sizes(c, sizes);
      return infer_gather(c, &HLO_ATTRS(i, dynamic_gather)->dnums, sizes, out), LEMNOS_SUCCESS;
    }
    case HLO_OP_GATHER:
      return infer_gather(c, &HLO_ATTRS(i, gather)->dnums, HLO_ATTRS(i, gather)->slice_sizes.data, out), LEMNOS_SUCCESS;
    case HLO_OP_DYNAMIC_PAD:
      out->rank = a->rank;
      for (int d = 0; d < a->rank; d++)
        out->dims[d] = dilated(a->dims[d], interp_index_get(interp_arg(c, 4), d) + 1) +
                       interp_index_get(interp_arg(c, 2), d) + interp_index_get(interp_arg(c, 3), d);
      return LEMNOS_SUCCESS;
    case HLO_OP_PAD:
      out->rank = a->rank;
      for (int d = 0; d < a->rank; d++) {
        const hlo_padding_dim *p = &HLO_ATTRS(i, pad)->padding.dims[d];
        out->dims[d] = dilated(a->dims[d], p->interior + 1) + p->low + p->high;
      }
      return LEMNOS_SUCCESS;
    case HLO_OP_REAL_DYNAMIC_SLICE:
      out->rank = a->rank;
      for (int d = 0; d < a->rank; d++) {
        int64_t stride = interp_index_get(interp_arg(c, 3), d);
        if (stride <= 0) return interp_error(c, LEMNOS_INVALID_ARGUMENT, "stride %lld", (long long)stride);
        out->dims[d] = ceil_div(interp_index_get(interp_arg(c, 2), d) - interp_index_get(interp_arg(c, 1), d), stride);
      }
      return LEMNOS_SUCCESS;
    case HLO_OP_SET_DIMENSION_SIZE:
      set_dims(out, a->rank, a->dims);
      out->dims[HLO_ATTRS(i, dimension)->dimension] = interp_index_get(interp_arg(c, 1), 0);
      return LEMNOS_SUCCESS;
    case HLO_OP_RESHAPE:
    case HLO_OP_BITCAST: return infer_reshape(c, out);
    case HLO_OP_TRANSPOSE:
      out->rank = a->rank;
      for (int d = 0; d < a->rank; d++) out->dims[d] = a->dims[HLO_ATTRS(i, transpose)->permutation.data[d]];
      return LEMNOS_SUCCESS;
    case HLO_OP_CONCATENATE:
      set_dims(out, a->rank, a->dims);
      for (int n = 1; n < c->in->n_args; n++)
        out->dims[HLO_ATTRS(i, concatenate)->dimension] += interp_arg(c, n)->dims[HLO_ATTRS(i, concatenate)->dimension];
      return LEMNOS_SUCCESS;
    case HLO_OP_SLICE: {
      const hlo_slice *s = &HLO_ATTRS(i, slice)->slice;
      out->rank = a->rank;
      for (int d = 0; d < a->rank; d++) {
        int64_t limit = s->limit[d] < 0 || s->limit[d] > a->dims[d] ? a->dims[d] : s->limit[d];
        out->dims[d] = ceil_div(limit - s->start[d], s->stride[d]);
      }
      return LEMNOS_SUCCESS;
    }
    case HLO_OP_DYNAMIC_SLICE:
      return set_dims(out, a->rank, HLO_ATTRS(i, dynamic_slice)->slice_sizes.data), LEMNOS_SUCCESS;
    case HLO_OP_REDUCE: {
      hlo_i64s dims = HLO_ATTRS(i, dimensions)->dimensions;
      out->rank = 0;
      for (int d = 0; d < a->rank; d++)
        if (!hlo_i64s_contains(dims, d)) out->dims[out->rank++] = a->dims[d];
      return LEMNOS_SUCCESS;
    }
    case HLO_OP_REDUCE_WINDOW:
      out->rank = a->rank;
      for (int d = 0; d < a->rank; d++)
        out->dims[d] = window_out(a->dims[d], &HLO_ATTRS(i, reduce_window)->window.dims[d]);
      return LEMNOS_SUCCESS;
    case HLO_OP_DOT_GENERAL: return infer_dot(c, out), LEMNOS_SUCCESS;
    case HLO_OP_RAGGED_DOT: return infer_ragged_dot(c, out), LEMNOS_SUCCESS;
    case HLO_OP_FFT: return infer_fft(c, out), LEMNOS_SUCCESS;
    case HLO_OP_BATCH_NORM_TRAINING:
    case HLO_OP_BATCH_NORM_GRAD:  // an array like the operand, then vectors like the scale
      if (k > 0) a = interp_arg(c, 1);
      return set_dims(out, a->rank, a->dims), LEMNOS_SUCCESS;
    case HLO_OP_TOP_K:
      set_dims(out, a->rank, a->dims);
      out->dims[a->rank - 1] = HLO_ATTRS(i, top_k)->k;
      return LEMNOS_SUCCESS;
    case HLO_OP_BITCAST_CONVERT: {
      int ib = hlo_dtype_table[a->dtype].bits, ob = hlo_dtype_table[t->dtype].bits;
      set_dims(out, a->rank, a->dims);
      if (ib > ob) out->dims[out->rank++] = ib / ob;
      if (ib < ob) out->rank--;
      return LEMNOS_SUCCESS;
    }
    case HLO_OP_RNG: return dims_from_operand(out, interp_arg(c, 2)), LEMNOS_SUCCESS;
    case HLO_OP_SORT:
    case HLO_OP_SCATTER: return set_dims(out, interp_arg(c, k)->rank, interp_arg(c, k)->dims), LEMNOS_SUCCESS;
    case HLO_OP_DYNAMIC_UPDATE_SLICE:
    case HLO_OP_REVERSE:
    case HLO_OP_MAP:
    case HLO_OP_SELECT_AND_SCATTER:
    case HLO_OP_CHOLESKY:
    case HLO_OP_BATCH_NORM_INFERENCE:
    case HLO_OP_UNIFORM_QUANTIZE:
    case HLO_OP_UNIFORM_DEQUANTIZE: return set_dims(out, a->rank, a->dims), LEMNOS_SUCCESS;
    case HLO_OP_TRIANGULAR_SOLVE: return set_dims(out, interp_arg(c, 1)->rank, interp_arg(c, 1)->dims), LEMNOS_SUCCESS;
    default: break;
  }
  if (t->is_static) return set_dims(out, t->rank, t->dims), LEMNOS_SUCCESS;
  return interp_error(c, LEMNOS_UNIMPLEMENTED, "result of unknown size");
}

lemnos_status interp_infer_dims(interp_call *c) {
  for (int k = 0; k < c->in->n_results; k++) {
    interp_array *out = interp_result(c, k);
    const interp_type *t = &c->in->result_types[k];
    if (t->dtype == HLO_TOKEN) continue;
    if (t->is_static) {
      set_dims(out, t->rank, t->dims);
      continue;
    }
    LEMNOS_TRY(infer_op(c, k, out));
    if (out->rank != t->rank)
      return interp_error(c, LEMNOS_INVALID_ARGUMENT, "result of rank %d, expected %d", out->rank, t->rank);
    for (int d = 0; d < t->rank; d++)
      if (out->dims[d] < 0 || (t->dims[d] >= 0 && t->dims[d] != out->dims[d]))
        return interp_error(c, LEMNOS_INVALID_ARGUMENT, "dimension %d of the result is %lld at run time, expected %lld",
                            d, (long long)out->dims[d], (long long)(t->dims[d] >= 0 ? t->dims[d] : 0));
  }
  return LEMNOS_SUCCESS;
}

// --- operations ----------------------------------------------------------------------------------

static lemnos_status run_get_dimension_size(interp_call *c) {
  interp_array *out = interp_result(c, 0);
  hlo_element_set_i64(out->dtype, out->data, 0, interp_arg(c, 0)->dims[HLO_ATTRS(c->in->src, dimension)->dimension]);
  return LEMNOS_SUCCESS;
}

// A smaller size drops elements; a larger one, up to the bound, adds zeros.
static lemnos_status run_set_dimension_size(interp_call *c) {
  const interp_array *in = interp_arg(c, 0);
  interp_array *out = interp_result(c, 0);
  int64_t start[INTERP_MAX_RANK] = {0}, d = HLO_ATTRS(c->in->src, dimension)->dimension,
          size = interp_index_get(interp_arg(c, 1), 0), bound = in->dims[d];
  const hlo_shape *types[2] = {c->in->arg_types[0].shape, c->in->result_types[0].shape};
  for (int k = 0; k < 2; k++)
    if (types[k]->bounds && types[k]->bounds[d] > bound) bound = types[k]->bounds[d];
  if (size < 0 || size > bound)
    return interp_error(c, LEMNOS_INVALID_ARGUMENT, "size %lld of dimension %lld is not within [0, %lld]",
                        (long long)size, (long long)d, (long long)bound);
  if (size <= in->dims[d]) {
    interp_copy_box(c->cx, in, start, out->dims, out->data);
    return LEMNOS_SUCCESS;
  }
  int64_t os[INTERP_MAX_RANK], is[INTERP_MAX_RANK];
  interp_strides(out, os);
  interp_strides(in, is);
  memset(out->data, 0, (size_t)interp_bytes(out));
  interp_copy p;
  interp_copy_plan(&p, hlo_dtype_bytes(in->dtype), in->rank, in->dims, os, is);
  if (interp_count(in)) interp_copy_run(&p, out->data, in->data);
  return LEMNOS_SUCCESS;
}

static lemnos_status run_dynamic_broadcast(interp_call *c) {
  return interp_move_broadcast(c, interp_arg(c, 0), interp_result(c, 0),
                               HLO_ATTRS(c->in->src, dynamic_broadcast)->dimensions.data);
}

static lemnos_status run_dynamic_iota(interp_call *c) {
  return interp_move_iota(c, interp_result(c, 0), HLO_ATTRS(c->in->src, iota)->dimension);
}

static lemnos_status run_dynamic_gather(interp_call *c) {
  int64_t sizes[INTERP_MAX_RANK];
  gather_sizes(c, sizes);
  return interp_gather_run(c, &HLO_ATTRS(c->in->src, dynamic_gather)->dnums, sizes);
}

static lemnos_status run_dynamic_pad(interp_call *c) {
  int64_t low[INTERP_MAX_RANK], interior[INTERP_MAX_RANK];
  for (int d = 0; d < interp_arg(c, 0)->rank; d++) {
    low[d] = interp_index_get(interp_arg(c, 2), d);
    interior[d] = interp_index_get(interp_arg(c, 4), d);
    if (interior[d] < 0) return interp_error(c, LEMNOS_INVALID_ARGUMENT, "negative interior padding");
  }
  return interp_move_pad(c, interp_arg(c, 0), interp_arg(c, 1), interp_result(c, 0), low, interior);
}

static lemnos_status run_real_dynamic_slice(interp_call *c) {
  int64_t start[INTERP_MAX_RANK], stride[INTERP_MAX_RANK];
  for (int d = 0; d < interp_arg(c, 0)->rank; d++) {
    start[d] = interp_index_get(interp_arg(c, 1), d);
    stride[d] = interp_index_get(interp_arg(c, 3), d);
  }
  return interp_move_slice(c, interp_arg(c, 0), interp_result(c, 0), start, stride);
}

lemnos_status interp_compile_dynamic(interp_compiler *c, interp_insn *in) {
  switch (in->src->op) {
    case HLO_OP_GET_DIMENSION_SIZE: in->fn = run_get_dimension_size; break;
    case HLO_OP_SET_DIMENSION_SIZE: in->fn = run_set_dimension_size; break;
    case HLO_OP_DYNAMIC_BROADCAST_IN_DIM: in->fn = run_dynamic_broadcast; break;
    case HLO_OP_DYNAMIC_CONV: return interp_compile_conv(c, in);
    case HLO_OP_DYNAMIC_GATHER: in->fn = run_dynamic_gather; break;
    case HLO_OP_DYNAMIC_IOTA: in->fn = run_dynamic_iota; break;
    case HLO_OP_DYNAMIC_PAD: in->fn = run_dynamic_pad; break;
    case HLO_OP_DYNAMIC_RESHAPE:
      in->fn = interp_alias_reshape;
      in->flags |= INTERP_SELF_ALLOC;
      break;
    case HLO_OP_REAL_DYNAMIC_SLICE: in->fn = run_real_dynamic_slice; break;
    default: return interp_refuse(in->src, "operation is not supported");
  }
  return LEMNOS_SUCCESS;
}
