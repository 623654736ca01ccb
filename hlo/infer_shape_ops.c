// SPDX-License-Identifier: Apache-2.0
// Shape inference of leaves, tuples and data movement.
#include "hlo/infer_internal.h"

// --- leaves and tuples ---------------------------------------------------------------------------

INFER(PARAMETER) {
  CHECK(infer_need_declared(f));
  REQUIRE(f, INFER_ATTRS(f, parameter)->number >= 0, "attributes", "parameter number %lld; expected >= 0",
          (long long)INFER_ATTRS(f, parameter)->number);
  return f->declared;
}

INFER(CONSTANT) {
  const hlo_literal *l = INFER_ATTRS(f, constant)->value;
  const hlo_shape *s = l->shape, *r = f->declared;
  f->result_label = "c1";
  REQUIRE(f, hlo_shape_is_static(s), "c1", "the literal has type %s; expected a static shape", infer_text(f, s));
  REQUIRE(f, l->data || hlo_shape_bytes(s) == 0, "c1", "the literal of type %s has no values", infer_text(f, s));
  // A quantized constant's literal may be given by its storage type alone.
  if (r && hlo_shape_is_array(r) && r->quant && !s->quant && r->dtype == s->dtype && infer_compatible_dims(r, s))
    return r;
  return s;
}

INFER(IOTA) {
  CHECK(infer_need_declared_array(f));
  const hlo_shape *r = f->declared;
  int64_t d = INFER_ATTRS(f, iota)->dimension;
  REQUIRE(f, d >= 0 && d < r->rank, "c1", "iota_dimension is %lld; expected one in [0, %d)", (long long)d, r->rank);
  REQUIRE(f, infer_class_has("N", r->quant ? r->quant->expressed : r->dtype), "result",
          "the result has type %s; expected integer, floating-point or complex elements", infer_text(f, r));
  REQUIRE(f, hlo_shape_is_static(r), "result", "the result has type %s; expected a static shape", infer_text(f, r));
  return r;
}

INFER(TUPLE) {
  const hlo_shape **elements = ARENA_ARRAY(f->arena, const hlo_shape *, f->n + 1);
  for (int i = 0; i < f->n; i++) elements[i] = infer_in(f, i);
  f->result_label = "c1";
  f->exact_layout = true;
  return hlo_shape_tuple(f->shapes, f->n, elements);
}

INFER(GET_TUPLE_ELEMENT) {
  const hlo_shape *t = infer_in(f, 0);
  int64_t i = INFER_ATTRS(f, get_tuple_element)->index;
  REQUIRE(f, hlo_shape_is_tuple(t), "i1", "operand has type %s; expected a tuple", infer_text(f, t));
  REQUIRE(f, i >= 0 && i < t->n_elements, "c1", "index is %lld; expected one in [0, %d)", (long long)i, t->n_elements);
  f->result_label = "c2";
  f->exact_layout = true;
  return t->elements[i];
}

INFER(COPY) {
  f->result_label = "c1";
  return infer_in(f, 0);
}

INFER(BITCAST) {
  CHECK(infer_array(f, 0, "i1"));
  CHECK(infer_need_declared_array(f));
  const hlo_shape *x = infer_in(f, 0), *r = f->declared;
  REQUIRE(f, !hlo_shape_is_static(x) || !hlo_shape_is_static(r) || hlo_shape_bytes(x) == hlo_shape_bytes(r), "c1",
          "the result %s has %lld bytes; expected those of %s, %lld", infer_text(f, r), (long long)hlo_shape_bytes(r),
          infer_text(f, x), (long long)hlo_shape_bytes(x));
  return r;
}

INFER(OPTIMIZATION_BARRIER) {
  const hlo_shape *x = infer_in(f, 0);
  for (int i = 0; i < hlo_shape_leaves(x); i++)
    REQUIRE(f, !infer_per_axis(hlo_shape_leaf(x, i)), "i1",
            "operand %d has type %s, quantized per axis; expected per tensor or not at all", i,
            infer_text(f, hlo_shape_leaf(x, i)));
  f->result_label = "c1";
  f->exact_layout = true;
  return infer_in(f, 0);
}

// --- broadcast, reshape, transpose ---------------------------------------------------------------

bool infer_broadcast(infer *f, hlo_i64s map) {
  const hlo_shape *x = infer_in(f, 0), *r = f->declared;
  REQUIRE(f, infer_same_type(x, r) && (infer_per_axis(x) || infer_same_quant(x, r)), "c1",
          "the result has type %s; expected the element type of %s", infer_text(f, r), infer_text(f, x));
  REQUIRE(f, map.n == x->rank, "c2", "broadcast_dimensions %s has %d entries; expected the operand's rank %d",
          infer_text_list(f, map), map.n, x->rank);
  REQUIRE(f, infer_in_range(map, r->rank), "c3", "broadcast_dimensions is %s; expected entries in [0, %d)",
          infer_text_list(f, map), r->rank);
  REQUIRE(f, infer_unique(map), "c4", "broadcast_dimensions is %s; expected distinct entries", infer_text_list(f, map));
  for (int i = 0; i < x->rank; i++) {
    int64_t size = x->dims[i], to = r->dims[map.data[i]];
    REQUIRE(f, size == 1 || infer_size_ok(size, to), "c5",
            "operand dimension %d has size %s; expected 1 or %s, that of result dimension %lld", i,
            infer_text_dim(f, size), infer_text_dim(f, to), (long long)map.data[i]);
  }
  if (!infer_per_axis(r)) return true;
  const hlo_quant *q = x->quant, *p = r->quant;
  REQUIRE(f, p->axis == map.data[q->axis], "c6", "the result's quantization dimension is %d; expected %lld", p->axis,
          (long long)map.data[q->axis]);
  if (x->dims[q->axis] != 1) return true;
  for (int i = 0; i < p->n_scales; i++)
    REQUIRE(f, p->scales[i] == q->scales[0] && p->zero_points[i] == q->zero_points[0], "c6",
            "result scale %d is %g:%lld; expected the operand's %g:%lld", i, p->scales[i], (long long)p->zero_points[i],
            q->scales[0], (long long)q->zero_points[0]);
  return true;
}

INFER(BROADCAST_IN_DIM) {
  CHECK(infer_array(f, 0, "i1"));
  CHECK(infer_need_declared_bounded(f));
  CHECK(infer_broadcast(f, INFER_ATTRS(f, broadcast)->dimensions));
  return f->declared;
}

static bool product(const hlo_shape *s, int from, int to, int64_t *out) {
  *out = 1;
  for (int i = from; i < to; i++)
    if (infer_is_dynamic(s->dims[i]) || !infer_mul(*out, s->dims[i], out)) return false;
  return true;
}

bool infer_reshape(infer *f) {
  const hlo_shape *x = infer_in(f, 0), *r = f->declared;
  REQUIRE(f, infer_same_quant(x, r), "c1", "the result has type %s; expected the element type of %s", infer_text(f, r),
          infer_text(f, x));
  int64_t have, want;
  if (product(x, 0, x->rank, &want) && product(r, 0, r->rank, &have))
    REQUIRE(f, have == want, "c2", "the result %s has %lld elements; expected those of %s, %lld", infer_text(f, r),
            (long long)have, infer_text(f, x), (long long)want);
  if (!infer_per_axis(x)) return true;
  int a = x->quant->axis, b = r->quant->axis;
  REQUIRE(f, infer_size_ok(x->dims[a], r->dims[b]), "c3", "the quantization dimension's size is %s; expected %s",
          infer_text_dim(f, r->dims[b]), infer_text_dim(f, x->dims[a]));
  if (product(x, 0, a, &want) && product(r, 0, b, &have))
    REQUIRE(f, have == want, "c3", "dimensions before the quantization dimension have %lld elements; expected %lld",
            (long long)have, (long long)want);
  if (product(x, a + 1, x->rank, &want) && product(r, b + 1, r->rank, &have))
    REQUIRE(f, have == want, "c3", "dimensions after the quantization dimension have %lld elements; expected %lld",
            (long long)have, (long long)want);
  return true;
}

INFER(RESHAPE) {
  CHECK(infer_array(f, 0, "i1"));
  CHECK(infer_need_declared_bounded(f));
  CHECK(infer_reshape(f));
  return f->declared;
}

INFER(TRANSPOSE) {
  CHECK(infer_array(f, 0, "i1"));
  const hlo_shape *x = infer_in(f, 0), *r = f->declared;
  hlo_i64s p = INFER_ATTRS(f, transpose)->permutation;
  REQUIRE(f, p.n == x->rank && infer_in_range(p, x->rank) && infer_unique(p), "c2",
          "permutation is %s; expected a permutation of 0..%d", infer_text_list(f, p), x->rank - 1);
  infer_dims d = {.n = 0};
  hlo_quant q;
  hlo_shape like = *x;
  for (int i = 0; i < p.n; i++) {
    infer_push_from(&d, x, (int)p.data[i]);
    if (infer_per_axis(x) && p.data[i] == x->quant->axis) {
      q = *x->quant;
      q.axis = i;
      like.quant = &q;
    }
  }
  if (r && hlo_shape_is_array(r) && infer_per_axis(r) && infer_per_axis(x)) {
    REQUIRE(f, r->quant->axis == like.quant->axis, "c4", "the result's quantization dimension is %d; expected %d",
            r->quant->axis, like.quant->axis);
    REQUIRE(f, infer_same_quant(x, r), "c1", "the result has type %s; expected the scales of %s", infer_text(f, r),
            infer_text(f, x));
  } else if (r && infer_per_tensor(x)) {
    REQUIRE(f, infer_same_quant(x, r), "c1", "the result has type %s; expected the scale of %s", infer_text(f, r),
            infer_text(f, x));
  }
  f->result_label = "c3";
  f->type_label = "c1";
  return infer_make(f, &d, &like);
}

INFER(REVERSE) {
  CHECK(infer_array(f, 0, "i1"));
  const hlo_shape *x = infer_in(f, 0);
  hlo_i64s dims = INFER_ATTRS(f, dimensions)->dimensions;
  CHECK(infer_not_per_axis(f, 0, "i1"));
  REQUIRE(f, infer_unique(dims), "c2", "dimensions is %s; expected distinct entries", infer_text_list(f, dims));
  REQUIRE(f, infer_in_range(dims, x->rank), "c3", "dimensions is %s; expected entries in [0, %d)",
          infer_text_list(f, dims), x->rank);
  f->result_label = "c1";
  return x;
}

// --- slice, pad, concatenate ---------------------------------------------------------------------

INFER(SLICE) {
  CHECK(infer_array(f, 0, "i1"));
  CHECK(infer_not_per_axis(f, 0, "i1"));
  const hlo_shape *x = infer_in(f, 0);
  const hlo_slice *s = &INFER_ATTRS(f, slice)->slice;
  infer_dims d = {.n = 0};
  REQUIRE(f, s->n == x->rank, "c2", "the slice has %d dimensions; expected the operand's rank %d", s->n, x->rank);
  for (int i = 0; i < s->n; i++) {
    int64_t size = infer_is_dynamic(x->dims[i]) ? infer_bound(x, i) : x->dims[i];
    long long start = s->start[i], limit = s->limit[i], stride = s->stride[i];
    REQUIRE(f, start >= 0 && start <= limit && (infer_is_dynamic(size) || limit <= size), "c3",
            "dimension %d is sliced from %lld to %lld; expected 0 <= start <= limit <= %s", i, start, limit,
            infer_text_dim(f, size));
    REQUIRE(f, stride > 0, "c4", "dimension %d has stride %lld; expected > 0", i, stride);
    infer_push(&d, (limit - start) / stride + ((limit - start) % stride != 0), HLO_DYNAMIC);
  }
  f->result_label = "c5";
  f->type_label = "c1";
  return infer_make(f, &d, x);
}

// size + low + max(size - 1, 0) * interior + high
static bool padded_size(int64_t size, const hlo_padding_dim *p, int64_t *out) {
  int64_t inner;
  return infer_mul(size > 0 ? size - 1 : 0, p->interior, &inner) && infer_add(size, inner, out) &&
         infer_add(*out, p->low, out) && infer_add(*out, p->high, out);
}

INFER(PAD) {
  CHECK(infer_array(f, 0, "i1"));
  CHECK(infer_scalar(f, 1, "i2"));
  CHECK(infer_not_per_axis(f, 0, "i1"));
  const hlo_shape *x = infer_in(f, 0);
  const hlo_padding *p = &INFER_ATTRS(f, pad)->padding;
  infer_dims d = {.n = 0};
  REQUIRE(f, infer_same_type(x, infer_in(f, 1)), "c1", "the padding value has type %s; expected %s",
          infer_text_type(f, infer_in(f, 1)), infer_text_type(f, x));
  REQUIRE(f, p->n == x->rank, "c2", "padding is given for %d dimensions; expected the operand's rank %d", p->n,
          x->rank);
  for (int i = 0; i < p->n; i++) {
    REQUIRE(f, p->dims[i].interior >= 0, "c3", "interior padding of dimension %d is %lld; expected >= 0", i,
            (long long)p->dims[i].interior);
    int64_t size = x->dims[i], most = infer_is_dynamic(size) ? infer_bound(x, i) : size, to = HLO_DYNAMIC;
    if (!infer_is_dynamic(most)) {
      REQUIRE(f, padded_size(most, &p->dims[i], &to), "c4", "the padded size of dimension %d does not fit into 62 bits",
              i);
      REQUIRE(f, to >= 0, "c4", "padding leaves dimension %d with size %lld; expected >= 0", i, (long long)to);
    }
    if (infer_is_dynamic(size))
      infer_push(&d, HLO_DYNAMIC, to);
    else
      infer_push(&d, to, HLO_DYNAMIC);
  }
  f->result_label = "c4";
  f->type_label = "c1";
  return infer_make(f, &d, x);
}

// The sum of sizes along the dimension: dynamic if one of them is, bounded if all are static or bounded.
static bool concatenated(infer *f, int axis, int64_t *out_size, int64_t *out_bound) {
  int64_t total = 0;
  bool dynamic = false, known = true;
  for (int i = 0; i < f->n; i++) {
    const hlo_shape *s = infer_in(f, i);
    int64_t size = s->dims[axis], most = infer_is_dynamic(size) ? infer_bound(s, axis) : size;
    dynamic |= infer_is_dynamic(size);
    if (infer_is_dynamic(most))
      known = false;
    else
      REQUIRE(f, infer_add(total, most, &total), "c6", "the result's size does not fit into 62 bits");
  }
  *out_size = dynamic ? HLO_DYNAMIC : total;
  *out_bound = dynamic && known ? total : HLO_DYNAMIC;
  return true;
}

INFER(CONCATENATE) {
  CHECK(infer_arrays(f, 0, f->n, "i1"));
  const hlo_shape *x = infer_in(f, 0);
  int64_t axis = INFER_ATTRS(f, concatenate)->dimension;
  REQUIRE(f, axis >= 0 && axis < x->rank, "c4", "dimension is %lld; expected one in [0, %d)", (long long)axis, x->rank);
  infer_dims d = infer_dims_of(x);
  for (int i = 0; i < f->n; i++) {
    const hlo_shape *s = infer_in(f, i);
    CHECK(infer_not_per_axis(f, i, "i1"));
    REQUIRE(f, infer_same_type(x, s), "c1", "input %d has elements of type %s; expected %s", i, infer_text_type(f, s),
            infer_text_type(f, x));
    REQUIRE(f, s->rank == x->rank, "c2", "input %d has rank %d; expected %d", i, s->rank, x->rank);
    for (int k = 0; k < x->rank; k++) {
      if (k == axis) continue;
      REQUIRE(f, infer_size_ok(d.size[k], s->dims[k]), "c2", "input %d has type %s; expected size %s in dimension %d",
              i, infer_text(f, s), infer_text_dim(f, d.size[k]), k);
      if (infer_is_dynamic(d.size[k])) {
        d.size[k] = s->dims[k];
        if (!infer_is_dynamic(s->dims[k]))
          d.bound[k] = HLO_DYNAMIC;
        else if (infer_is_dynamic(d.bound[k]))
          d.bound[k] = infer_bound(s, k);
      }
    }
  }
  CHECK(concatenated(f, (int)axis, &d.size[axis], &d.bound[axis]));
  f->result_label = "c6";
  f->type_label = "c5";
  return infer_make(f, &d, x);
}
