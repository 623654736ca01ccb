// SPDX-License-Identifier: Apache-2.0
// Algebraic simplification by shapes and attributes: data movement that is none, pairs of movements that are one,
// conversions that are exact, indexing with constant indices, reductions of nothing, transposes that a dot can read by
// itself. One function per operation, listed at the end; each returns the replacement, built in front of the
// instruction, or NULL.
#include "hlo/opt/algsimp.h"

#define MAX_RANK 32
typedef int64_t dims_t[MAX_RANK];

static bool plain_shape(const hlo_shape *s) {
  if (!hlo_shape_is_array(s) || s->layout || s->quant || s->rank > MAX_RANK) return false;
  for (int d = 0; d < s->rank; d++)
    if (s->dims[d] < 0) return false;
  return true;
}

bool algsimp_plain(const hlo_instr *i) {
  if (!plain_shape(i->shape)) return false;
  for (int k = 0; k < i->n_operands; k++)
    if (!plain_shape(i->operands[k]->shape)) return false;
  return true;
}

bool algsimp_constant(const hlo_instr *i) {
  return i->op == HLO_OP_CONSTANT || (i->op == HLO_OP_BROADCAST_IN_DIM && i->operands[0]->op == HLO_OP_CONSTANT);
}

const hlo_literal *algsimp_uniform(const hlo_instr *i) {
  while (i->op == HLO_OP_BROADCAST_IN_DIM || i->op == HLO_OP_RESHAPE) i = i->operands[0];
  if (i->op != HLO_OP_CONSTANT) return NULL;
  const hlo_literal *l = hlo_constant_value(i);
  return l->shape->quant == NULL && (l->splat || hlo_shape_elements(l->shape) == 1) ? l : NULL;
}

hlo_instr *algsimp_splat(hlo_builder *b, const hlo_shape *shape, const void *element) {
  return hlo_build_constant(b, hlo_literal_splat(b->module->arena, shape, element));
}

static hlo_instr *zero_of(hlo_builder *b, const hlo_shape *shape) {
  uint64_t zero[2] = {0, 0};
  return algsimp_splat(b, shape, zero);
}

static hlo_instr *same_if(hlo_instr *i, hlo_instr *x) {
  return x->shape == i->shape ? x : NULL;
}

// --- reshape, transpose, broadcast ---------------------------------------------------------------

static hlo_instr *simplify_reshape(hlo_instr *i) {
  hlo_instr *x = i->operands[0];
  hlo_builder b = hlo_builder_before(i);
  if (x->shape == i->shape) return x;
  if (x->op == HLO_OP_RESHAPE && algsimp_plain(x))
    return hlo_build_reshape(&b, x->operands[0], i->shape->rank, i->shape->dims);
  if (x->op != HLO_OP_BROADCAST_IN_DIM || !algsimp_plain(x)) return NULL;
  // reshape(broadcast(x)): of one element, a broadcast; else where only dimensions of size 1 come and go.
  hlo_instr *y = x->operands[0];
  if (hlo_shape_elements(y->shape) == 1) {
    hlo_instr *scalar = y->shape->rank ? hlo_build_reshape(&b, y, 0, NULL) : y;
    return hlo_build_broadcast(&b, scalar, i->shape->rank, i->shape->dims, 0, NULL);
  }
  dims_t to, map;  // dimension of x -> of i, for those not of size 1
  int at = 0;
  for (int d = 0; d < x->shape->rank; d++) {
    to[d] = -1;
    if (x->shape->dims[d] == 1) continue;
    while (at < i->shape->rank && i->shape->dims[at] == 1) at++;
    if (at == i->shape->rank || i->shape->dims[at] != x->shape->dims[d]) return NULL;
    to[d] = at++;
  }
  for (int k = 0; k < y->shape->rank; k++) {
    map[k] = to[HLO_ATTRS(x, broadcast)->dimensions.data[k]];
    if (map[k] < 0) return NULL;
  }
  return hlo_build_broadcast(&b, y, i->shape->rank, i->shape->dims, y->shape->rank, map);
}

// Dimensions of size other than 1 keep their order.
static bool moves_only_ones(const hlo_shape *from, hlo_i64s permutation) {
  int64_t last = -1;
  for (int d = 0; d < permutation.n; d++) {
    if (from->dims[permutation.data[d]] == 1) continue;
    if (permutation.data[d] < last) return false;
    last = permutation.data[d];
  }
  return true;
}

static hlo_instr *simplify_transpose(hlo_instr *i) {
  hlo_instr *x = i->operands[0];
  hlo_i64s p = HLO_ATTRS(i, transpose)->permutation;
  hlo_builder b = hlo_builder_before(i);
  if (moves_only_ones(x->shape, p)) {
    if (x->shape == i->shape) return x;
    return hlo_build_reshape(&b, x, i->shape->rank, i->shape->dims);
  }
  if (!algsimp_plain(x)) return NULL;
  dims_t map;
  if (x->op == HLO_OP_TRANSPOSE) {
    for (int d = 0; d < p.n; d++) map[d] = HLO_ATTRS(x, transpose)->permutation.data[p.data[d]];
    return hlo_build_transpose(&b, x->operands[0], map);
  }
  if (x->op == HLO_OP_BROADCAST_IN_DIM) {  // a broadcast may put dimensions anywhere
    hlo_i64s from = HLO_ATTRS(x, broadcast)->dimensions;
    for (int k = 0; k < from.n; k++)
      for (int d = 0; d < p.n; d++)
        if (p.data[d] == from.data[k]) map[k] = d;
    return hlo_build_broadcast(&b, x->operands[0], i->shape->rank, i->shape->dims, from.n, map);
  }
  return NULL;
}

static bool ascending(hlo_i64s l) {
  for (int k = 1; k < l.n; k++)
    if (l.data[k] < l.data[k - 1]) return false;
  return true;
}

static hlo_instr *simplify_broadcast(hlo_instr *i) {
  hlo_instr *x = i->operands[0];
  hlo_i64s map = HLO_ATTRS(i, broadcast)->dimensions;
  hlo_builder b = hlo_builder_before(i);
  int rank = i->shape->rank;
  const hlo_literal *l = algsimp_uniform(x);
  if (l) return algsimp_splat(&b, i->shape, l->data);
  if (ascending(map) && hlo_shape_elements(x->shape) == hlo_shape_elements(i->shape)) {
    if (x->shape == i->shape) return x;
    return hlo_build_reshape(&b, x, rank, i->shape->dims);
  }
  if (!algsimp_plain(x)) return NULL;
  dims_t to;
  if (x->op == HLO_OP_BROADCAST_IN_DIM) {
    hlo_i64s inner = HLO_ATTRS(x, broadcast)->dimensions;
    for (int k = 0; k < inner.n; k++) to[k] = map.data[inner.data[k]];
    return hlo_build_broadcast(&b, x->operands[0], rank, i->shape->dims, inner.n, to);
  }
  // Dimensions of size 1 say nothing: without those that are stretched, the operand is a reshape that may vanish.
  dims_t kept;
  int n = 0;
  for (int d = 0; d < x->shape->rank; d++) {
    if (x->shape->dims[d] == 1) continue;
    to[n] = map.data[d];
    kept[n++] = x->shape->dims[d];
  }
  if (n == x->shape->rank) return NULL;
  hlo_instr *y = x->op == HLO_OP_RESHAPE ? x->operands[0] : x;
  if (y->shape->rank != n || !hlo_shape_same_dims(y->shape, hlo_shape_with_dims(b.module->shapes, y->shape, n, kept))) {
    if (x->op != HLO_OP_RESHAPE) y = x;
    y = hlo_build_reshape(&b, y, n, kept);
  }
  return hlo_build_broadcast(&b, y, rank, i->shape->dims, n, to);
}

// op(broadcast(x), broadcast(y), splat) = broadcast(op(x, y, splat)), the same broadcast throughout.
static hlo_instr *sink_broadcast(hlo_instr *i) {
  const hlo_instr *first = NULL;
  if (i->n_operands > 3 || i->n_operands == 0) return NULL;
  for (int k = 0; k < i->n_operands; k++) {
    const hlo_instr *x = i->operands[k];
    if (!hlo_shape_same_dims(x->shape, i->shape)) return NULL;
    if (x->op != HLO_OP_BROADCAST_IN_DIM) {
      if (!algsimp_uniform(x)) return NULL;
      continue;
    }
    if (!first) first = x;
    if (!algsimp_plain(x) || !hlo_shape_same_dims(first->operands[0]->shape, x->operands[0]->shape)) return NULL;
    if (!hlo_attrs_equal(HLO_ATTR_LIST_broadcast, first->attrs, x->attrs)) return NULL;
  }
  if (!first || 2 * hlo_shape_elements(first->operands[0]->shape) > hlo_shape_elements(i->shape)) return NULL;
  const hlo_shape *small = first->operands[0]->shape;
  hlo_builder b = hlo_builder_before(i);
  hlo_instr *args[3];
  for (int k = 0; k < i->n_operands; k++) {
    hlo_instr *x = i->operands[k];
    const hlo_shape *s = hlo_shape_with_dims(b.module->shapes, x->shape, small->rank, small->dims);
    args[k] = x->op == HLO_OP_BROADCAST_IN_DIM ? x->operands[0] : algsimp_splat(&b, s, algsimp_uniform(x)->data);
  }
  const hlo_shape *result = hlo_shape_with_dims(b.module->shapes, i->shape, small->rank, small->dims);
  hlo_instr *y = hlo_build(&b, i->op, result, i->n_operands, args, 0, NULL, i->attrs);
  hlo_i64s map = HLO_ATTRS(first, broadcast)->dimensions;
  return hlo_build_broadcast(&b, y, i->shape->rank, i->shape->dims, map.n, map.data);
}

// --- slice, pad, concatenate, reverse ------------------------------------------------------------

static hlo_instr *slice_of_concatenate(hlo_instr *i, hlo_instr *x) {
  hlo_slice s = HLO_ATTRS(i, slice)->slice;
  int64_t d = HLO_ATTRS(x, concatenate)->dimension, begin = 0;
  if (s.limit[d] <= s.start[d]) return NULL;
  int64_t last = s.start[d] + (s.limit[d] - s.start[d] - 1) / s.stride[d] * s.stride[d];
  for (int k = 0; k < x->n_operands; k++) {
    int64_t size = x->operands[k]->shape->dims[d];
    if (s.start[d] >= begin && last < begin + size) {
      dims_t start, limit;
      for (int e = 0; e < s.n; e++) start[e] = s.start[e], limit[e] = s.limit[e];
      start[d] -= begin;
      limit[d] = last + 1 - begin;
      hlo_builder b = hlo_builder_before(i);
      return hlo_build_slice(&b, x->operands[k], start, limit, s.stride);
    }
    begin += size;
  }
  return NULL;
}

static hlo_instr *simplify_slice(hlo_instr *i) {
  hlo_instr *x = i->operands[0];
  hlo_slice s = HLO_ATTRS(i, slice)->slice;
  hlo_builder b = hlo_builder_before(i);
  if (x->shape == i->shape) {
    bool whole = true;  // of one element a stride says nothing
    for (int d = 0; d < s.n; d++) whole &= s.start[d] == 0;
    if (whole) return x;
  }
  const hlo_literal *l = algsimp_uniform(x);
  if (l) return algsimp_splat(&b, i->shape, l->data);
  if (!algsimp_plain(x)) return NULL;
  if (x->op == HLO_OP_SLICE) {
    hlo_slice in = HLO_ATTRS(x, slice)->slice;
    dims_t start, limit, stride;
    for (int d = 0; d < s.n; d++) {
      int64_t n = i->shape->dims[d];
      start[d] = in.start[d] + s.start[d] * in.stride[d];
      stride[d] = s.stride[d] * in.stride[d];
      limit[d] = n ? start[d] + (n - 1) * stride[d] + 1 : start[d];
    }
    return hlo_build_slice(&b, x->operands[0], start, limit, stride);
  }
  return x->op == HLO_OP_CONCATENATE ? slice_of_concatenate(i, x) : NULL;
}

static hlo_instr *simplify_pad(hlo_instr *i) {
  hlo_padding p = HLO_ATTRS(i, pad)->padding;
  hlo_instr *x = i->operands[0];
  hlo_builder b = hlo_builder_before(i);
  bool none = true, only_cuts = true;
  for (int d = 0; d < p.n; d++) {
    bool interior = p.dims[d].interior && x->shape->dims[d] > 1;
    none &= !p.dims[d].low && !p.dims[d].high && !interior;
    only_cuts &= p.dims[d].low <= 0 && p.dims[d].high <= 0 && !interior &&
                 x->shape->dims[d] + p.dims[d].low + p.dims[d].high >= 0;
  }
  if (none) return same_if(i, x);
  if (hlo_shape_elements(x->shape) == 0)
    return hlo_build_broadcast(&b, i->operands[1], i->shape->rank, i->shape->dims, 0, NULL);
  const hlo_literal *l = algsimp_uniform(x), *v = algsimp_uniform(i->operands[1]);
  if (l && v && !memcmp(l->data, v->data, (size_t)hlo_dtype_bytes(i->shape->dtype)))
    return algsimp_splat(&b, i->shape, l->data);
  if (!only_cuts) return NULL;
  dims_t start, limit;
  for (int d = 0; d < p.n; d++) {
    start[d] = -p.dims[d].low;
    limit[d] = x->shape->dims[d] + p.dims[d].high;
    if (limit[d] < start[d]) return NULL;
  }
  return hlo_build_slice(&b, x, start, limit, NULL);
}

static hlo_instr *simplify_concatenate(hlo_instr *i) {
  int64_t d = HLO_ATTRS(i, concatenate)->dimension;
  if (i->n_operands == 1) return same_if(i, i->operands[0]);
  int n = 0;
  bool nested = false;
  for (int k = 0; k < i->n_operands; k++) {
    const hlo_instr *x = i->operands[k];
    bool flat =
        x->op == HLO_OP_CONCATENATE && HLO_ATTRS(x, concatenate)->dimension == d && x->n_uses == 1 && algsimp_plain(x);
    nested |= flat || x->shape->dims[d] == 0;
    n += flat ? x->n_operands : 1;
  }
  if (!nested) return NULL;
  hlo_instr **parts = heap_alloc(sizeof *parts * (size_t)n);
  n = 0;
  for (int k = 0; k < i->n_operands; k++) {
    hlo_instr *x = i->operands[k];
    bool flat =
        x->op == HLO_OP_CONCATENATE && HLO_ATTRS(x, concatenate)->dimension == d && x->n_uses == 1 && algsimp_plain(x);
    if (x->shape->dims[d] == 0) continue;
    if (!flat) parts[n++] = x;
    for (int j = 0; flat && j < x->n_operands; j++) parts[n++] = x->operands[j];
  }
  hlo_builder b = hlo_builder_before(i);
  hlo_instr *r = n == 0 ? i->operands[0] : n == 1 ? parts[0] : hlo_build_concatenate(&b, n, parts, d);
  free(parts);
  return same_if(i, r);
}

static hlo_instr *simplify_reverse(hlo_instr *i) {
  hlo_i64s dims = HLO_ATTRS(i, dimensions)->dimensions;
  hlo_instr *x = i->operands[0];
  dims_t kept;
  int n = 0;
  for (int k = 0; k < dims.n; k++)
    if (x->shape->dims[dims.data[k]] > 1) kept[n++] = dims.data[k];
  if (n == 0 || algsimp_uniform(x)) return x;
  if (x->op == HLO_OP_REVERSE && hlo_attrs_equal(HLO_ATTR_LIST_dimensions, x->attrs, i->attrs)) return x->operands[0];
  if (n == dims.n) return NULL;
  hlo_builder b = hlo_builder_before(i);
  hlo_attrs_dimensions *attrs = hlo_attrs_create(b.module->arena, HLO_ATTR_LIST_dimensions);
  attrs->dimensions = hlo_i64s_copy(b.module->arena, kept, n);
  return hlo_build(&b, HLO_OP_REVERSE, i->shape, 1, &x, 0, NULL, attrs);
}

static hlo_instr *simplify_iota(hlo_instr *i) {
  hlo_builder b = hlo_builder_before(i);
  return i->shape->dims[HLO_ATTRS(i, iota)->dimension] == 1 ? zero_of(&b, i->shape) : NULL;
}

// --- conversions ---------------------------------------------------------------------------------

// Mantissa bits with the implicit one, smallest and largest exponent; false for floats without a zero or an ordinary
// layout.
static bool float_format(hlo_dtype t, int *mantissa, int *low, int *high) {
  switch (t) {
    case HLO_F64: *mantissa = 53, *low = -1074, *high = 1023; return true;
    case HLO_F32: *mantissa = 24, *low = -149, *high = 127; return true;
    case HLO_BF16: *mantissa = 8, *low = -133, *high = 127; return true;
    case HLO_F16: *mantissa = 11, *low = -24, *high = 15; return true;
    case HLO_F8E5M2: *mantissa = 3, *low = -16, *high = 15; return true;
    case HLO_F8E4M3: *mantissa = 4, *low = -9, *high = 7; return true;
    case HLO_F8E3M4: *mantissa = 5, *low = -6, *high = 3; return true;
    case HLO_F8E4M3FN: *mantissa = 4, *low = -9, *high = 8; return true;
    case HLO_F8E5M2FNUZ: *mantissa = 3, *low = -17, *high = 15; return true;
    case HLO_F8E4M3FNUZ: *mantissa = 4, *low = -10, *high = 7; return true;
    default: return false;
  }
}

// Every value of `from` is a value of `to`, and convert finds it.
static bool converts_exactly(hlo_dtype from, hlo_dtype to) {
  int fm, fl, fh, tm, tl, th;
  int bits = hlo_dtype_table[from].bits, to_bits = hlo_dtype_table[to].bits;
  bool from_int = hlo_dtype_is_integer(from), to_int = hlo_dtype_is_integer(to), is_signed = hlo_dtype_is_signed(from);
  if (from == to) return true;
  if (from == HLO_PRED)
    return (to_int && to_bits > 1 && !(hlo_dtype_is_signed(to) && to_bits < 2)) || float_format(to, &tm, &tl, &th);
  if (from_int && to_int) {
    if (is_signed) return hlo_dtype_is_signed(to) && to_bits >= bits;
    return hlo_dtype_is_signed(to) ? to_bits > bits : to_bits >= bits;
  }
  if (!float_format(to, &tm, &tl, &th)) return false;
  if (from_int) return bits - (is_signed ? 1 : 0) <= tm && bits <= th;
  if (!float_format(from, &fm, &fl, &fh)) return false;
  // Only into the wide formats, which have infinities, NaNs and both zeros.
  return (to == HLO_F64 || to == HLO_F32 || to == HLO_BF16 || to == HLO_F16) && fm <= tm && fl >= tl && fh <= th;
}

static hlo_instr *simplify_convert(hlo_instr *i) {
  hlo_instr *x = i->operands[0];
  hlo_dtype to = i->shape->dtype;
  if (x->shape == i->shape) return x;
  if (x->op != HLO_OP_CONVERT || !algsimp_plain(x)) return NULL;
  hlo_dtype from = x->operands[0]->shape->dtype, mid = x->shape->dtype;
  if (!converts_exactly(from, mid)) return NULL;
  if (from == to) return x->operands[0];
  // An integer that went through a float saturates on the way to another integer; directly it wraps.
  if (hlo_dtype_is_complex(to) || (hlo_dtype_is_integer(from) && hlo_dtype_is_float(mid) && hlo_dtype_is_integer(to)))
    return NULL;
  hlo_builder b = hlo_builder_before(i);
  return hlo_build_convert(&b, x->operands[0], to);
}

static hlo_instr *simplify_bitcast_convert(hlo_instr *i) {
  hlo_instr *x = i->operands[0];
  if (x->shape == i->shape) return x;
  if (x->op != HLO_OP_BITCAST_CONVERT || !algsimp_plain(x)) return NULL;
  return x->operands[0]->shape == i->shape ? x->operands[0] : NULL;
}

static hlo_instr *simplify_reduce_precision(hlo_instr *i) {
  const hlo_attrs_reduce_precision *a = HLO_ATTRS(i, reduce_precision);
  int e, m;
  switch (i->shape->dtype) {
    case HLO_F64: e = 11, m = 52; break;
    case HLO_F32: e = 8, m = 23; break;
    case HLO_BF16: e = 8, m = 7; break;
    case HLO_F16: e = 5, m = 10; break;
    default: return NULL;
  }
  return a->exponent_bits >= e && a->mantissa_bits >= m ? i->operands[0] : NULL;
}

// --- dynamic indices -----------------------------------------------------------------------------

// The value of a constant scalar index; unsigned ones beyond int64 become the largest.
static bool constant_index(const hlo_instr *i, int64_t *out) {
  const hlo_literal *l = algsimp_uniform(i);
  if (!l || !hlo_dtype_is_integer(l->shape->dtype)) return false;
  *out = hlo_literal_get_i64(l, 0);
  if (*out < 0 && !hlo_dtype_is_signed(l->shape->dtype)) *out = INT64_MAX;
  return true;
}

static int64_t clamp_index(int64_t x, int64_t high) {
  return x < 0 ? 0 : x > high ? high : x;
}

static hlo_instr *simplify_dynamic_slice(hlo_instr *i) {
  hlo_instr *x = i->operands[0];
  if (x->shape == i->shape) return x;
  hlo_builder b = hlo_builder_before(i);
  const hlo_literal *l = algsimp_uniform(x);
  if (l) return algsimp_splat(&b, i->shape, l->data);
  if (i->n_operands != x->shape->rank + 1) return NULL;
  dims_t start, limit;
  for (int d = 0; d < x->shape->rank; d++) {
    int64_t room = x->shape->dims[d] - i->shape->dims[d];
    start[d] = 0;
    if (room > 0 && !constant_index(i->operands[d + 1], &start[d])) return NULL;
    start[d] = clamp_index(start[d], room);
    limit[d] = start[d] + i->shape->dims[d];
  }
  return hlo_build_slice(&b, x, start, limit, NULL);
}

static hlo_instr *simplify_dynamic_update_slice(hlo_instr *i) {
  hlo_instr *x = i->operands[0], *update = i->operands[1];
  if (update->shape == i->shape) return update;
  return hlo_shape_elements(update->shape) == 0 ? same_if(i, x) : NULL;
}

// A gather of one slice is a dynamic_slice: both clamp the start.
static hlo_instr *simplify_gather(hlo_instr *i) {
  const hlo_attrs_gather *a = HLO_ATTRS(i, gather);
  const hlo_gather_dnums *n = &a->dnums;
  hlo_instr *x = i->operands[0], *indices = i->operands[1];
  if (n->operand_batching_dims.n || indices->shape->rank > 1 || hlo_shape_elements(i->shape) == 0) return NULL;
  if (indices->shape->rank == 1 && n->index_vector_dim != 0) return NULL;
  hlo_builder b = hlo_builder_before(i);
  hlo_instr *args[MAX_RANK + 1] = {x};
  hlo_instr *zero = zero_of(&b, hlo_shape_array(b.module->shapes, indices->shape->dtype, 0, NULL));
  for (int d = 0; d < x->shape->rank; d++) args[d + 1] = zero;
  for (int k = 0; k < n->start_index_map.n; k++) {
    hlo_instr *at = indices;
    int64_t start = k, limit = k + 1;
    if (indices->shape->rank) at = hlo_build_reshape(&b, hlo_build_slice(&b, indices, &start, &limit, NULL), 0, NULL);
    args[n->start_index_map.data[k] + 1] = at;
  }
  hlo_attrs_dynamic_slice *attrs = hlo_attrs_create(b.module->arena, HLO_ATTR_LIST_dynamic_slice);
  attrs->slice_sizes = hlo_i64s_copy(b.module->arena, a->slice_sizes.data, a->slice_sizes.n);
  hlo_instr *r = hlo_build(&b, HLO_OP_DYNAMIC_SLICE, NULL, x->shape->rank + 1, args, 0, NULL, attrs);
  return hlo_build_reshape(&b, r, i->shape->rank, i->shape->dims);
}

static hlo_instr *simplify_get_dimension_size(hlo_instr *i) {
  hlo_builder b = hlo_builder_before(i);
  return hlo_build_scalar_i64(&b, i->shape->dtype, i->operands[0]->shape->dims[HLO_ATTRS(i, dimension)->dimension]);
}

// --- reductions, sort, dot, scatter --------------------------------------------------------------

// Over dimensions of size 1 with a body of one operation: op(init, x).
static hlo_instr *simplify_reduce(hlo_instr *i) {
  if (i->n_operands != 2) return NULL;
  hlo_instr *x = i->operands[0], *init = i->operands[1];
  hlo_i64s dims = HLO_ATTRS(i, dimensions)->dimensions;
  hlo_builder b = hlo_builder_before(i);
  if (init->shape->dtype != i->shape->dtype) return NULL;
  if (hlo_shape_elements(x->shape) == 0) return hlo_build_broadcast(&b, init, i->shape->rank, i->shape->dims, 0, NULL);
  for (int k = 0; k < dims.n; k++)
    if (x->shape->dims[dims.data[k]] != 1) return NULL;
  hlo_op op;
  bool swapped;
  if (!hlo_computation_is_binary(i->called[0], &op, &swapped) || op == HLO_OP_COMPARE) return NULL;
  if (x->shape->dtype != i->shape->dtype || i->called[0]->root->shape->dtype != i->shape->dtype) return NULL;
  hlo_instr *y = hlo_build_reshape(&b, x, i->shape->rank, i->shape->dims);
  hlo_instr *z = hlo_build_broadcast(&b, init, i->shape->rank, i->shape->dims, 0, NULL);
  return swapped ? hlo_build_binary(&b, op, y, z) : hlo_build_binary(&b, op, z, y);
}

static hlo_instr *simplify_sort(hlo_instr *i) {
  if (i->n_operands != 1) return NULL;
  int64_t d = HLO_ATTRS(i, sort)->dimension;
  int rank = i->shape->rank;
  if (d < 0) d += rank;
  return rank == 0 || i->shape->dims[d] <= 1 ? i->operands[0] : NULL;
}

static hlo_instr *simplify_scatter(hlo_instr *i) {
  return i->n_operands == 3 && hlo_shape_elements(i->operands[2]->shape) == 0 ? same_if(i, i->operands[0]) : NULL;
}

// What dot may read in place of operand k: the transpose's source, if the free dimensions keep their order.
static bool untranspose(const hlo_instr *x, hlo_i64s batch, hlo_i64s contracting, hlo_instr **out, dims_t new_batch,
                        dims_t new_contracting) {
  if (x->op != HLO_OP_TRANSPOSE || !algsimp_plain(x)) return false;
  hlo_i64s p = HLO_ATTRS(x, transpose)->permutation;
  int64_t last = -1;
  for (int d = 0; d < p.n; d++) {
    if (hlo_i64s_contains(batch, d) || hlo_i64s_contains(contracting, d)) continue;
    if (p.data[d] < last) return false;
    last = p.data[d];
  }
  for (int k = 0; k < batch.n; k++) new_batch[k] = p.data[batch.data[k]];
  for (int k = 0; k < contracting.n; k++) new_contracting[k] = p.data[contracting.data[k]];
  *out = x->operands[0];
  return true;
}

static hlo_instr *simplify_dot(hlo_instr *i) {
  const hlo_attrs_dot_general *a = HLO_ATTRS(i, dot_general);
  hlo_dot_dnums n = a->dnums;
  hlo_builder b = hlo_builder_before(i);
  hlo_instr *x = i->operands[0], *y = i->operands[1];
  for (int k = 0; k < n.lhs_contracting.n; k++)
    if (x->shape->dims[n.lhs_contracting.data[k]] == 0) return zero_of(&b, i->shape);
  dims_t batch, contracting;
  arena *m = b.module->arena;
  bool left = untranspose(x, n.lhs_batch, n.lhs_contracting, &x, batch, contracting);
  if (left) {
    n.lhs_batch = hlo_i64s_copy(m, batch, n.lhs_batch.n);
    n.lhs_contracting = hlo_i64s_copy(m, contracting, n.lhs_contracting.n);
  }
  bool right = untranspose(y, n.rhs_batch, n.rhs_contracting, &y, batch, contracting);
  if (right) {
    n.rhs_batch = hlo_i64s_copy(m, batch, n.rhs_batch.n);
    n.rhs_contracting = hlo_i64s_copy(m, contracting, n.rhs_contracting.n);
  }
  if (!left && !right) return NULL;
  hlo_attrs_dot_general *attrs = hlo_attrs_clone(m, HLO_ATTR_LIST_dot_general, a);
  attrs->dnums = n;
  return hlo_build(&b, HLO_OP_DOT_GENERAL, i->shape, 2, (hlo_instr *[]){x, y}, 0, NULL, attrs);
}

static hlo_instr *by_operation(hlo_instr *i) {
  switch (i->op) {
    case HLO_OP_RESHAPE: return simplify_reshape(i);
    case HLO_OP_TRANSPOSE: return simplify_transpose(i);
    case HLO_OP_BROADCAST_IN_DIM: return simplify_broadcast(i);
    case HLO_OP_SLICE: return simplify_slice(i);
    case HLO_OP_PAD: return simplify_pad(i);
    case HLO_OP_CONCATENATE: return simplify_concatenate(i);
    case HLO_OP_REVERSE: return simplify_reverse(i);
    case HLO_OP_IOTA: return simplify_iota(i);
    case HLO_OP_CONVERT: return simplify_convert(i);
    case HLO_OP_BITCAST_CONVERT: return simplify_bitcast_convert(i);
    case HLO_OP_REDUCE_PRECISION: return simplify_reduce_precision(i);
    case HLO_OP_DYNAMIC_SLICE: return simplify_dynamic_slice(i);
    case HLO_OP_DYNAMIC_UPDATE_SLICE: return simplify_dynamic_update_slice(i);
    case HLO_OP_GATHER: return simplify_gather(i);
    case HLO_OP_GET_DIMENSION_SIZE: return simplify_get_dimension_size(i);
    case HLO_OP_REDUCE: return simplify_reduce(i);
    case HLO_OP_SORT: return simplify_sort(i);
    case HLO_OP_SCATTER: return simplify_scatter(i);
    case HLO_OP_DOT_GENERAL: return simplify_dot(i);
    default: return NULL;
  }
}

hlo_instr *algsimp_structure(hlo_instr *i) {
  if (i->op == HLO_OP_CONSTANT || i->op == HLO_OP_PARAMETER || hlo_instr_has_side_effect(i)) return NULL;
  if (hlo_shape_elements(i->shape) == 0 && i->op != HLO_OP_CUSTOM_CALL && i->op != HLO_OP_WHILE &&
      i->op != HLO_OP_CONDITIONAL) {
    hlo_builder b = hlo_builder_before(i);
    return zero_of(&b, i->shape);
  }
  hlo_instr *r = by_operation(i);
  if (!r && hlo_op_has(i->op, HLO_TRAIT_E)) r = sink_broadcast(i);
  return r;
}
