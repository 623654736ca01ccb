// SPDX-License-Identifier: Apache-2.0
// Shape inference of operations on dynamic shapes: the result's sizes come from operands.
//
// The declared result type is checked for rank, and, where the size operand is a constant, against its values, which
// also refine the result.
#include "hlo/infer_internal.h"

// Operand i is a list of integers, one for each of `rank` dimensions (any number if rank < 0).
static bool size_list(infer *f, int i, int rank, const char *type_label, const char *size_label) {
  CHECK(infer_class(f, i, "I", type_label));
  const hlo_shape *s = infer_in(f, i);
  REQUIRE(f, s->rank == 1 && !s->quant, type_label, "operand %d has type %s; expected one dimension", i,
          infer_text(f, s));
  REQUIRE(f, !infer_is_dynamic(s->dims[0]), type_label, "operand %d has type %s; expected a static number of entries",
          i, infer_text(f, s));
  REQUIRE(f, rank < 0 || s->dims[0] == rank, size_label, "operand %d has %s entries; expected %d", i,
          infer_text_dim(f, s->dims[0]), rank);
  return true;
}

// The declared type with unknown sizes filled in from the constant operand i, which must agree with the known ones.
static const hlo_shape *refined(infer *f, int i, const char *label) {
  const hlo_shape *r = f->declared;
  int64_t sizes[INFER_MAX_RANK];
  int n;
  if (!infer_constant(f, i, sizes, INFER_MAX_RANK, &n)) return r;
  REQUIRE(f, n == r->rank, label, "operand %d gives %d sizes; expected the result's rank %d", i, n, r->rank);
  infer_dims d = {.n = 0};
  for (int k = 0; k < n; k++) {
    REQUIRE(f, sizes[k] >= 0 && infer_size_ok(r->dims[k], sizes[k]), label,
            "the result has size %s in dimension %d; expected %lld", infer_text_dim(f, r->dims[k]), k,
            (long long)sizes[k]);
    infer_push(&d, sizes[k], HLO_DYNAMIC);
  }
  return infer_make(f, &d, r);
}

INFER(GET_DIMENSION_SIZE) {
  CHECK(infer_array(f, 0, "i1"));
  int64_t d = INFER_ATTRS(f, dimension)->dimension, none = 0;
  REQUIRE(f, d >= 0 && d < infer_in(f, 0)->rank, "c1", "dimension is %lld; expected one in [0, %d)", (long long)d,
          infer_in(f, 0)->rank);
  return hlo_shape_array(f->shapes, HLO_S32, 0, &none);
}

// The dimension becomes dynamic, bounded by what it was; a constant equal to that keeps it static.
INFER(SET_DIMENSION_SIZE) {
  CHECK(infer_array(f, 0, "i1"));
  CHECK(infer_scalar(f, 1, "i2"));
  CHECK(infer_class(f, 1, "I", "i2"));
  const hlo_shape *x = infer_in(f, 0);
  int64_t k = INFER_ATTRS(f, dimension)->dimension, size;
  int n;
  REQUIRE(f, k >= 0 && k < x->rank, "c1", "dimension is %lld; expected one in [0, %d)", (long long)k, x->rank);
  infer_dims d = infer_dims_of(x);
  if (!infer_is_dynamic(d.size[k])) d.bound[k] = d.size[k];
  d.size[k] = HLO_DYNAMIC;
  if (infer_constant(f, 1, &size, 1, &n) && n == 1) {
    REQUIRE(f, size >= 0 && (infer_is_dynamic(d.bound[k]) || size <= d.bound[k]), "c2",
            "the size is %lld; expected one in [0, %s]", (long long)size, infer_text_dim(f, d.bound[k]));
    if (size == d.bound[k]) {
      d.size[k] = size;
      d.bound[k] = HLO_DYNAMIC;
    }
  }
  return infer_make(f, &d, x);
}

INFER(DYNAMIC_BROADCAST_IN_DIM) {
  CHECK(infer_array(f, 0, "i1"));
  CHECK(infer_need_declared_array(f));
  const hlo_attrs_dynamic_broadcast *a = INFER_ATTRS(f, dynamic_broadcast);
  const hlo_shape *x = infer_in(f, 0);
  hlo_i64s lists[2] = {a->known_expanding_dimensions, a->known_nonexpanding_dimensions};
  CHECK(size_list(f, 1, f->declared->rank, "i2", "c7"));
  CHECK(infer_broadcast(f, a->dimensions));
  for (int i = 0; i < 2; i++) {
    REQUIRE(f, infer_unique(lists[i]), "c8", "known dimensions are %s; expected distinct entries",
            infer_text_list(f, lists[i]));
    REQUIRE(f, infer_in_range(lists[i], x->rank), i ? "c10" : "c9",
            "known dimensions are %s; expected entries in [0, %d)", infer_text_list(f, lists[i]), x->rank);
  }
  for (int i = 0; i < lists[0].n; i++)
    REQUIRE(f, !hlo_i64s_contains(lists[1], lists[0].data[i]), "c8",
            "dimension %lld is known to expand and not to expand", (long long)lists[0].data[i]);
  const hlo_shape *r = refined(f, 1, "c7");
  CHECK(r);
  for (int i = 0; i < x->rank; i++)
    REQUIRE(f, x->dims[i] == 1 || infer_size_ok(x->dims[i], r->dims[a->dimensions.data[i]]), "c5",
            "operand dimension %d has size %s; expected 1 or %s", i, infer_text_dim(f, x->dims[i]),
            infer_text_dim(f, r->dims[a->dimensions.data[i]]));
  return r;
}

INFER(DYNAMIC_IOTA) {
  CHECK(infer_need_declared_array(f));
  const hlo_shape *r = f->declared;
  int64_t d = INFER_ATTRS(f, iota)->dimension;
  CHECK(size_list(f, 0, r->rank, "i1", "c2"));
  REQUIRE(f, d >= 0 && d < r->rank, "c1", "iota_dimension is %lld; expected one in [0, %d)", (long long)d, r->rank);
  REQUIRE(f, infer_class_has("N", r->quant ? r->quant->expressed : r->dtype), "result",
          "the result has type %s; expected integer, floating-point or complex elements", infer_text(f, r));
  return refined(f, 0, "c2");
}

INFER(DYNAMIC_RESHAPE) {
  CHECK(infer_array(f, 0, "i1"));
  CHECK(infer_need_declared_array(f));
  CHECK(size_list(f, 1, f->declared->rank, "i2", "c4"));
  CHECK(infer_reshape(f));
  const hlo_shape *r = refined(f, 1, "c4"), *x = infer_in(f, 0);
  CHECK(r);
  if (hlo_shape_is_static(r) && hlo_shape_is_static(x))
    REQUIRE(f, hlo_shape_elements(r) == hlo_shape_elements(x), "c2",
            "the result %s has %lld elements; expected those of %s, %lld", infer_text(f, r),
            (long long)hlo_shape_elements(r), infer_text(f, x), (long long)hlo_shape_elements(x));
  return r;
}

INFER(DYNAMIC_PAD) {
  CHECK(infer_array(f, 0, "i1"));
  CHECK(infer_scalar(f, 1, "i2"));
  const hlo_shape *x = infer_in(f, 0);
  int64_t values[3][INFER_MAX_RANK];
  int n;
  bool known[3];
  static const char *const inputs[] = {"i3", "i4", "i5"};
  REQUIRE(f, infer_same_type(x, infer_in(f, 1)), "c1", "the padding value has type %s; expected %s",
          infer_text_type(f, infer_in(f, 1)), infer_text_type(f, x));
  for (int i = 0; i < 3; i++) {
    CHECK(size_list(f, 2 + i, x->rank, inputs[i], "c2"));
    known[i] = infer_constant(f, 2 + i, values[i], INFER_MAX_RANK, &n) && n == x->rank;
  }
  infer_dims d = {.n = 0};
  for (int i = 0; i < x->rank; i++) {
    REQUIRE(f, !known[2] || values[2][i] >= 0, "c3", "interior padding of dimension %d is %lld; expected >= 0", i,
            (long long)values[2][i]);
    int64_t size = x->dims[i], to = HLO_DYNAMIC, inner;
    if (known[0] && known[1] && known[2] && !infer_is_dynamic(size)) {
      bool fits = infer_mul(size > 0 ? size - 1 : 0, values[2][i], &inner) && infer_add(size, inner, &to) &&
                  infer_add(to, values[0][i], &to) && infer_add(to, values[1][i], &to);
      REQUIRE(f, fits && to >= 0, "c4", "the padded size of dimension %d is negative or does not fit into 62 bits", i);
    }
    infer_push(&d, to, HLO_DYNAMIC);
  }
  f->result_label = "c4";
  return infer_make(f, &d, x);
}

INFER(REAL_DYNAMIC_SLICE) {
  CHECK(infer_array(f, 0, "i1"));
  const hlo_shape *x = infer_in(f, 0);
  int64_t v[3][INFER_MAX_RANK];
  int n;
  bool known = true;
  static const char *const inputs[] = {"i2", "i3", "i4"};
  for (int i = 0; i < 3; i++) {
    CHECK(size_list(f, 1 + i, x->rank, inputs[i], "c2"));
    REQUIRE(f, infer_in(f, 1 + i)->dtype == infer_in(f, 1)->dtype, "c3", "operand %d has type %s; expected %s", 1 + i,
            infer_text(f, infer_in(f, 1 + i)), infer_text(f, infer_in(f, 1)));
    known = infer_constant(f, 1 + i, v[i], INFER_MAX_RANK, &n) && n == x->rank && known;
  }
  infer_dims d = {.n = 0};
  for (int i = 0; i < x->rank; i++) {
    int64_t to = HLO_DYNAMIC;
    if (known) {
      REQUIRE(f, v[0][i] >= 0 && v[0][i] <= v[1][i] && (infer_is_dynamic(x->dims[i]) || v[1][i] <= x->dims[i]), "c4",
              "dimension %d is sliced from %lld to %lld; expected 0 <= start <= limit <= %s", i, (long long)v[0][i],
              (long long)v[1][i], infer_text_dim(f, x->dims[i]));
      REQUIRE(f, v[2][i] > 0, "c5", "dimension %d has stride %lld; expected > 0", i, (long long)v[2][i]);
      to = (v[1][i] - v[0][i]) / v[2][i] + ((v[1][i] - v[0][i]) % v[2][i] != 0);
    }
    infer_push(&d, to, HLO_DYNAMIC);
  }
  return infer_make(f, &d, x);
}
