// SPDX-License-Identifier: Apache-2.0
// Constant evaluation of shape arithmetic, for refinement: elementwise operations through hlo/eval.h, and the data
// movement that shapes are put together with. Only integers and pred, at most IMPORT_FOLD_MAX elements; everything else
// is left alone (the optimizer has a folder of its own).
#include "frontend/import_fold.h"

#include "hlo/eval.h"

static hlo_literal *fresh(arena *a, const hlo_shape *shape) {
  hlo_literal *l = NULL;
  lemnos_status status = hlo_literal_create(a, shape, &l);
  lemnos_status_free(status);
  return l;
}

static const hlo_literal *expand(arena *a, const hlo_literal *l) {
  const hlo_literal *full = NULL;
  lemnos_status status = hlo_literal_expand(a, l, &full);
  lemnos_status_free(status);
  return full;
}

bool import_fold_small(const hlo_shape *s) {
  if (!hlo_shape_is_array(s) || s->quant || !hlo_shape_is_static(s)) return false;
  if (s->dtype != HLO_PRED && !hlo_dtype_is_integer(s->dtype)) return false;
  int64_t n = hlo_shape_elements(s);
  return n >= 0 && n <= IMPORT_FOLD_MAX;
}

// `x` with scalar operands of select and clamp made as large as the result.
static const hlo_literal *as_large(arena *a, hlo_shape_table *shapes, const hlo_literal *x, const hlo_shape *result) {
  if (x->shape->rank == 0 && result->rank != 0) {
    const hlo_shape *s = hlo_shape_with_dtype(shapes, result, x->shape->dtype);
    return expand(a, hlo_literal_splat(a, s, x->data));
  }
  return expand(a, x);
}

static const hlo_literal *elementwise(arena *a, hlo_shape_table *shapes, const hlo_instr *i, const hlo_shape *result,
                                      const hlo_literal *const *in) {
  hlo_dtype types[3];
  const void *data[3];
  hlo_eval_param param = {0};
  const char *reason;
  if (i->n_operands > 3) return NULL;
  for (int k = 0; k < i->n_operands; k++) {
    const hlo_literal *x = as_large(a, shapes, in[k], result);
    // Sizes that only claimed to agree are left to inference, which reports.
    if (!x || hlo_shape_elements(x->shape) != hlo_shape_elements(result)) return NULL;
    types[k] = x->shape->dtype;
    data[k] = x->data;
  }
  hlo_eval_fn fn = hlo_eval_lookup(i->op, i->attrs, i->n_operands, types, result->dtype, &param, &reason);
  hlo_literal *out = fn ? fresh(a, result) : NULL;
  if (!out) return NULL;
  fn(&param, hlo_shape_elements(result), data, out->data);
  return out;
}

// --- data movement -------------------------------------------------------------------------------

static bool next_index(const hlo_shape *s, int64_t *index) {
  for (int i = s->rank; i-- > 0;) {
    if (++index[i] < s->dims[i]) return true;
    index[i] = 0;
  }
  return false;
}

static int64_t linear(const hlo_shape *s, const int64_t *index) {
  int64_t n = 0;
  for (int i = 0; i < s->rank; i++) n = n * s->dims[i] + index[i];
  return n;
}

// out[index] = x[start + stride * index[map]] for every index of out.
static const hlo_literal *gather(arena *a, const hlo_literal *x, const hlo_shape *result, const int64_t *start,
                                 const int64_t *stride, const int64_t *map) {
  int64_t index[32] = {0}, from[32];
  int bytes = hlo_dtype_bytes(result->dtype);
  hlo_literal *out = fresh(a, result);
  x = expand(a, x);
  if (!out || !x || result->rank > 32 || x->shape->rank > 32) return NULL;
  if (hlo_shape_elements(result) == 0) return out;
  int64_t to = 0;
  do {
    for (int i = 0; i < x->shape->rank; i++) {
      from[i] = (start ? start[i] : 0) + (stride ? stride[i] : 1) * index[map ? map[i] : i];
      if (from[i] < 0 || from[i] >= x->shape->dims[i]) return NULL;
    }
    memcpy((char *)out->data + bytes * to++, (const char *)x->data + bytes * linear(x->shape, from), (size_t)bytes);
  } while (next_index(result, index));
  return out;
}

static const hlo_literal *broadcast(arena *a, const hlo_instr *i, const hlo_shape *result, const hlo_literal *x) {
  int64_t stride[32];
  if (x->splat || x->shape->rank == 0) return hlo_literal_splat(a, result, x->data);
  if (x->shape->rank > 32) return NULL;
  for (int k = 0; k < x->shape->rank; k++) stride[k] = x->shape->dims[k] == 1 ? 0 : 1;
  return gather(a, x, result, NULL, stride, HLO_ATTRS(i, broadcast)->dimensions.data);
}

static const hlo_literal *transpose(arena *a, const hlo_instr *i, const hlo_shape *result, const hlo_literal *x) {
  int64_t map[32];
  if (result->rank > 32) return NULL;
  for (int k = 0; k < result->rank; k++) map[HLO_ATTRS(i, transpose)->permutation.data[k]] = k;
  return gather(a, x, result, NULL, NULL, map);
}

static const hlo_literal *reshape(arena *a, const hlo_shape *result, const hlo_literal *x) {
  hlo_literal *out = ARENA_NEW(a, hlo_literal);
  *out = *x;
  out->shape = result;
  return out;
}

static const hlo_literal *concatenate(arena *a, const hlo_instr *i, const hlo_shape *result,
                                      const hlo_literal *const *in) {
  int64_t d = HLO_ATTRS(i, concatenate)->dimension, at = 0;
  int bytes = hlo_dtype_bytes(result->dtype);
  int64_t total = 0;
  hlo_literal *out = fresh(a, result);
  if (!out || result->rank > 32) return NULL;
  for (int k = 0; k < i->n_operands; k++) {
    if (in[k]->shape->rank != result->rank) return NULL;
    for (int j = 0; j < result->rank; j++)
      if (j != d && in[k]->shape->dims[j] != result->dims[j]) return NULL;
    total += in[k]->shape->dims[d];
  }
  if (total != result->dims[d]) return NULL;
  for (int k = 0; k < i->n_operands; k++) {
    const hlo_literal *x = expand(a, in[k]);
    int64_t index[32] = {0}, to[32], n = 0;
    if (!x) return NULL;
    if (hlo_shape_elements(x->shape) > 0) {
      do {
        memcpy(to, index, sizeof to);
        to[d] += at;
        memcpy((char *)out->data + bytes * linear(result, to), (const char *)x->data + bytes * n++, (size_t)bytes);
      } while (next_index(x->shape, index));
    }
    at += x->shape->dims[d];
  }
  return out;
}

static const hlo_literal *dynamic_slice(arena *a, const hlo_instr *i, const hlo_shape *result,
                                        const hlo_literal *const *in) {
  int64_t start[32];
  const hlo_shape *x = in[0]->shape;
  if (x->rank > 32) return NULL;
  for (int k = 0; k < x->rank; k++) {
    int64_t most = x->dims[k] - result->dims[k];
    start[k] = hlo_literal_get_i64(in[k + 1], 0);
    if (start[k] > most) start[k] = most;
    if (start[k] < 0) start[k] = 0;
  }
  return gather(a, in[0], result, start, NULL, NULL);
}

static const hlo_literal *iota(arena *a, const hlo_instr *i, const hlo_shape *result) {
  int64_t index[32] = {0}, n = 0;
  hlo_literal *out = fresh(a, result);
  if (!out || result->rank > 32) return NULL;
  if (hlo_shape_elements(result) == 0) return out;
  do {
    hlo_element_set_i64(result->dtype, out->data, n++, index[HLO_ATTRS(i, iota)->dimension]);
  } while (next_index(result, index));
  return out;
}

// A reduction of everything to a scalar by one binary operation.
static const hlo_literal *reduce(arena *a, const hlo_instr *i, const hlo_shape *result, const hlo_literal *const *in) {
  hlo_op op;
  bool swapped;
  const char *reason;
  hlo_eval_param param = {0};
  if (i->n_operands != 2 || result->rank != 0 || !hlo_computation_is_binary(i->called[0], &op, &swapped)) return NULL;
  hlo_dtype types[2] = {result->dtype, result->dtype};
  if (in[0]->shape->dtype != result->dtype || in[1]->shape->dtype != result->dtype) return NULL;
  hlo_eval_fn fn = hlo_eval_lookup(op, i->called[0]->root->attrs, 2, types, result->dtype, &param, &reason);
  const hlo_literal *x = expand(a, in[0]);
  hlo_literal *out = fresh(a, result);
  if (!fn || !x || !out) return NULL;
  int bytes = hlo_dtype_bytes(result->dtype);
  memcpy(out->data, in[1]->data, (size_t)bytes);
  int64_t n = hlo_shape_elements(x->shape);
  for (int64_t k = 0; k < n; k++) {
    const void *element = (const char *)x->data + bytes * k;
    const void *data[2] = {swapped ? element : out->data, swapped ? out->data : element};
    fn(&param, 1, data, out->data);
  }
  return out;
}

const hlo_literal *import_fold(arena *a, hlo_shape_table *shapes, const hlo_instr *i, const hlo_shape *result,
                               const hlo_literal *const *in) {
  if (!import_fold_small(result)) return NULL;
  switch (i->op) {
    case HLO_OP_RESHAPE:
      return hlo_shape_elements(result) == hlo_shape_elements(in[0]->shape) ? reshape(a, result, in[0]) : NULL;
    case HLO_OP_BROADCAST_IN_DIM: return broadcast(a, i, result, in[0]);
    case HLO_OP_TRANSPOSE: return transpose(a, i, result, in[0]);
    case HLO_OP_CONCATENATE: return concatenate(a, i, result, in);
    case HLO_OP_SLICE: {
      const hlo_slice *s = &HLO_ATTRS(i, slice)->slice;
      return gather(a, in[0], result, s->start, s->stride, NULL);
    }
    case HLO_OP_DYNAMIC_SLICE: return dynamic_slice(a, i, result, in);
    case HLO_OP_IOTA: return hlo_shape_elements(result) <= 64 ? iota(a, i, result) : NULL;
    case HLO_OP_REDUCE: return reduce(a, i, result, in);
    default: break;
  }
  if (!hlo_op_has(i->op, HLO_TRAIT_E)) return NULL;
  return elementwise(a, shapes, i, result, in);
}
