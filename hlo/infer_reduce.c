// SPDX-License-Identifier: Apache-2.0
// Shape inference of reductions, windows, map, sort, top_k and scan.
#include "hlo/infer_internal.h"

// Inputs 0..n-1 have one shape, inits n..2n-1 are scalars of the inputs' types. Labels: same shape, same type, init
// type.
static bool reduction_operands(infer *f, int n, const char *shape_label, const char *type_label) {
  CHECK(infer_arrays(f, 0, n, "i1"));
  for (int i = 0; i < n; i++) {
    const hlo_shape *x = infer_in(f, i), *first = infer_in(f, 0);
    CHECK(infer_not_per_axis(f, i, "i1"));
    CHECK(infer_scalar(f, n + i, "i2"));
    REQUIRE(f, infer_compatible_dims(first, x), shape_label, "input %d has shape %s; expected that of input 0, %s", i,
            infer_text(f, x), infer_text(f, first));
    REQUIRE(f, infer_same_type(x, infer_in(f, n + i)), type_label,
            "initial value %d has type %s; expected the input's element type %s", i,
            infer_text_type(f, infer_in(f, n + i)), infer_text_type(f, x));
  }
  return true;
}

// Runs the reducer's checks over the first n operands and makes results of dimensions `d` with the reducer's types.
static const hlo_shape *reduced(infer *f, int n, const hlo_computation *body, const char *label, const infer_dims *d) {
  const hlo_shape **inputs = ARENA_ARRAY(f->arena, const hlo_shape *, n),
                  **results = ARENA_ARRAY(f->arena, const hlo_shape *, n);
  for (int i = 0; i < n; i++) inputs[i] = infer_in(f, i);
  CHECK(infer_reducer(f, body, n, inputs, label, results));
  for (int i = 0; i < n; i++) {
    results[i] = infer_make(f, d, results[i]);
    CHECK(results[i]);
  }
  return infer_one_or_tuple(f, n, results);
}

INFER(REDUCE) {
  REQUIRE(f, f->n % 2 == 0, "c3", "%d operands; expected N inputs and N initial values", f->n);
  int n = f->n / 2;
  hlo_i64s dims = INFER_ATTRS(f, dimensions)->dimensions;
  CHECK(reduction_operands(f, n, "c1", "c2"));
  const hlo_shape *x = infer_in(f, 0);
  REQUIRE(f, infer_in_range(dims, x->rank), "c4", "dimensions is %s; expected entries in [0, %d)",
          infer_text_list(f, dims), x->rank);
  REQUIRE(f, infer_unique(dims), "c5", "dimensions is %s; expected distinct entries", infer_text_list(f, dims));
  infer_dims d = {.n = 0};
  for (int i = 0; i < x->rank; i++) {
    if (hlo_i64s_contains(dims, i)) continue;
    infer_push_from(&d, x, i);
    for (int k = 1; k < n && infer_is_dynamic(d.size[d.n - 1]); k++) {  // another input may know the size
      d.n--;
      infer_push_from(&d, infer_in(f, k), i);
    }
  }
  f->result_label = "c7";
  f->type_label = "c8";
  return reduced(f, n, f->called[0], "c6", &d);
}

INFER(MAP) {
  CHECK(infer_arrays(f, 0, f->n, "i1"));
  const hlo_shape *x = infer_in(f, 0);
  const hlo_computation *c = f->called[0];
  hlo_i64s dims = INFER_ATTRS(f, dimensions)->dimensions;
  REQUIRE(f, dims.n == x->rank && infer_in_range(dims, x->rank) && infer_sorted(dims) && infer_unique(dims), "c3",
          "dimensions is %s; expected 0 to %d in order", infer_text_list(f, dims), x->rank - 1);
  REQUIRE(f, c->n_params == f->n, "c4", "the computation takes %d parameters; expected %d", c->n_params, f->n);
  for (int i = 0; i < f->n; i++) {
    const hlo_shape *xi = infer_in(f, i), *p = c->params[i]->shape;
    CHECK(infer_not_per_axis(f, i, "i1"));
    REQUIRE(f, infer_compatible_dims(x, xi), "c1", "input %d has shape %s; expected %s", i, infer_text(f, xi),
            infer_text(f, x));
    REQUIRE(f, hlo_shape_is_array(p) && p->rank == 0 && infer_same_type(p, xi), "c4",
            "parameter %d of the computation has type %s; expected a scalar %s", i, infer_text(f, p),
            infer_text_type(f, xi));
  }
  const hlo_shape *r = infer_result(c, 0, 1);
  REQUIRE(f, r && hlo_shape_is_array(r) && r->rank == 0, "c4",
          "the computation's result has type %s; expected one scalar", infer_text(f, c->root->shape));
  infer_dims d = infer_dims_of(x);
  f->result_label = "c1";
  f->type_label = "c4";
  return infer_make(f, &d, r);
}

INFER(REDUCE_WINDOW) {
  REQUIRE(f, f->n % 2 == 0, "c1", "%d operands; expected N inputs and N initial values", f->n);
  static const infer_window_labels labels = {"c5", "c7", "c9", "c11", "c15"};
  int n = f->n / 2;
  const hlo_window *w = &INFER_ATTRS(f, reduce_window)->window;
  CHECK(reduction_operands(f, n, "c2", "c3"));
  const hlo_shape *x = infer_in(f, 0);
  REQUIRE(f, w->n == x->rank, "c4", "the window has %d dimensions; expected the inputs' rank %d", w->n, x->rank);
  infer_dims d = {.n = 0};
  for (int i = 0; i < w->n; i++) {
    int64_t to;
    CHECK(infer_window(f, i, &w->dims[i], x->dims[i], &labels, &to));
    infer_push(&d, to, HLO_DYNAMIC);
  }
  f->result_label = "c15";
  f->type_label = "c16";
  return reduced(f, n, f->called[0], "c13", &d);
}

static bool check_select(infer *f, const hlo_computation *c, const hlo_shape *x) {
  REQUIRE(f, c->n_params == 2, "c9", "select takes %d parameters; expected 2", c->n_params);
  for (int i = 0; i < 2; i++) {
    const hlo_shape *p = c->params[i]->shape;
    REQUIRE(f, hlo_shape_is_array(p) && p->rank == 0 && infer_same_type(p, x), "c9",
            "parameter %d of select has type %s; expected a scalar %s", i, infer_text(f, p), infer_text_type(f, x));
  }
  const hlo_shape *r = infer_result(c, 0, 1);
  REQUIRE(f, r && hlo_shape_is_array(r) && r->rank == 0 && r->dtype == HLO_PRED, "c9",
          "select's result has type %s; expected pred[]", infer_text(f, c->root->shape));
  return true;
}

INFER(SELECT_AND_SCATTER) {
  static const infer_window_labels labels = {"c5", "c7", NULL, NULL, "c2"};
  const hlo_window *w = &INFER_ATTRS(f, select_and_scatter)->window;
  CHECK(infer_arrays(f, 0, 2, "i1"));
  CHECK(infer_scalar(f, 2, "i3"));
  CHECK(infer_not_per_axis(f, 0, "i1"));
  const hlo_shape *x = infer_in(f, 0), *source = infer_in(f, 1), *init = infer_in(f, 2);
  REQUIRE(f, infer_same_type(x, source), "c1", "the source has elements of type %s; expected %s",
          infer_text_type(f, source), infer_text_type(f, x));
  REQUIRE(f, infer_same_type(x, init), "c3", "the initial value has type %s; expected %s", infer_text_type(f, init),
          infer_text_type(f, x));
  REQUIRE(f, w->n == x->rank, "c4", "the window has %d dimensions; expected the operand's rank %d", w->n, x->rank);
  REQUIRE(f, source->rank == x->rank, "c2", "the source has rank %d; expected %d", source->rank, x->rank);
  for (int i = 0; i < w->n; i++) {
    int64_t to;
    CHECK(infer_window(f, i, &w->dims[i], x->dims[i], &labels, &to));
    REQUIRE(f, infer_size_ok(source->dims[i], to), "c2",
            "the source has size %s in dimension %d; expected the number of windows %s",
            infer_text_dim(f, source->dims[i]), i, infer_text_dim(f, to));
  }
  CHECK(check_select(f, f->called[0], x));
  infer_dims d = infer_dims_of(x);
  f->result_label = "c11";
  f->type_label = "c12";
  return reduced(f, 1, f->called[1], "c10", &d);
}

INFER(SORT) {
  CHECK(infer_arrays(f, 0, f->n, "i1"));
  const hlo_shape *x = infer_in(f, 0);
  const hlo_computation *c = f->called[0];
  int64_t axis = INFER_ATTRS(f, sort)->dimension;
  REQUIRE(f, axis >= -x->rank && axis < x->rank, "c4", "dimension is %lld; expected one in [-%d, %d)", (long long)axis,
          x->rank, x->rank);
  REQUIRE(f, c->n_params == 2 * f->n, "c5", "the comparator takes %d parameters; expected %d", c->n_params, 2 * f->n);
  const hlo_shape **results = ARENA_ARRAY(f->arena, const hlo_shape *, f->n);
  for (int i = 0; i < f->n; i++) {
    const hlo_shape *xi = infer_in(f, i);
    CHECK(infer_not_per_axis(f, i, "i1"));
    REQUIRE(f, infer_compatible_dims(x, xi), "c3", "input %d has shape %s; expected %s", i, infer_text(f, xi),
            infer_text(f, x));
    for (int k = 2 * i; k < 2 * i + 2; k++) {
      const hlo_shape *p = c->params[k]->shape;
      REQUIRE(f, hlo_shape_is_array(p) && p->rank == 0 && infer_same_type(p, xi), "c5",
              "parameter %d of the comparator has type %s; expected a scalar %s", k, infer_text(f, p),
              infer_text_type(f, xi));
    }
  }
  // What one input knows of its sizes holds for all.
  const hlo_shape *known = x;
  for (int i = 1; i < f->n; i++) {
    REQUIRE(f, infer_compatible_dims(known, infer_in(f, i)), "c3", "input %d has shape %s; expected %s", i,
            infer_text(f, infer_in(f, i)), infer_text(f, known));
    CHECK(known = infer_meet(f, known, infer_in(f, i)));
  }
  for (int i = 0; i < f->n; i++) CHECK(results[i] = infer_meet(f, infer_in(f, i), known));
  const hlo_shape *r = infer_result(c, 0, 1);
  REQUIRE(f, r && hlo_shape_is_array(r) && r->rank == 0 && r->dtype == HLO_PRED, "c5",
          "the comparator's result has type %s; expected pred[]", infer_text(f, c->root->shape));
  f->result_label = "c2";
  return infer_one_or_tuple(f, f->n, results);
}

INFER(TOP_K) {
  CHECK(infer_array(f, 0, "i1"));
  const hlo_shape *x = infer_in(f, 0);
  int64_t k = INFER_ATTRS(f, top_k)->k;
  REQUIRE(f, !x->quant && !hlo_dtype_is_complex(x->dtype), "i1",
          "operand has type %s; expected pred, integer or float elements", infer_text(f, x));
  REQUIRE(f, x->rank >= 1, "c1", "operand has rank 0; expected at least 1");
  REQUIRE(f, k >= 0 && (infer_is_dynamic(x->dims[x->rank - 1]) || k <= x->dims[x->rank - 1]), "c2",
          "k is %lld; expected one in [0, %s], the last dimension's size", (long long)k,
          infer_text_dim(f, x->dims[x->rank - 1]));
  infer_dims d = infer_dims_of(x);
  d.size[d.n - 1] = k;
  d.bound[d.n - 1] = HLO_DYNAMIC;
  const hlo_shape *parts[2] = {infer_make(f, &d, x), infer_make_dtype(f, &d, HLO_S32)};
  CHECK(parts[0] && parts[1]);
  return hlo_shape_tuple(f->shapes, 2, parts);
}

// scan: inputs.., carries..; the body takes a slice of each input and the carries, and returns a slice of each output
// and the new carries. Results: outputs.., carries...
INFER(SCAN) {
  const hlo_attrs_scan *a = INFER_ATTRS(f, scan);
  const hlo_computation *c = f->called[0];
  CHECK(infer_arrays(f, 0, f->n, "i1"));
  REQUIRE(f, a->n_carries >= 0 && a->n_carries < f->n, "c1",
          "%lld carries among %d operands; expected at least one input", (long long)a->n_carries, f->n);
  int carries = (int)a->n_carries, inputs = f->n - carries, results = infer_result_count(c),
      outputs = results - carries;
  int64_t size = HLO_DYNAMIC;
  REQUIRE(f, c->n_params == f->n, "c2", "the body takes %d parameters; expected %d", c->n_params, f->n);
  REQUIRE(f, outputs >= 0, "c3", "the body returns %d values; expected at least the %d carries", results, carries);
  for (int i = 0; i < f->n; i++) {
    const hlo_shape *x = infer_in(f, i), *want = x;
    if (i < inputs) {
      REQUIRE(f, a->dimension >= 0 && a->dimension < x->rank, "c4",
              "dimension is %lld; expected one in [0, %d) for input %d", (long long)a->dimension, x->rank, i);
      int64_t here = x->dims[a->dimension];
      REQUIRE(f, infer_size_ok(size, here), "c5", "input %d has size %s in the scanned dimension; expected %s", i,
              infer_text_dim(f, here), infer_text_dim(f, size));
      if (infer_is_dynamic(size)) size = here;
      infer_dims d = {.n = 0};
      for (int k = 0; k < x->rank; k++)
        if (k != a->dimension) infer_push_from(&d, x, k);
      want = infer_make(f, &d, x);
      CHECK(want);
    }
    REQUIRE(f, infer_compatible(want, c->params[i]->shape), "c6", "parameter %d of the body has type %s; expected %s",
            i, infer_text(f, c->params[i]->shape), infer_text(f, want));
  }
  const hlo_shape **made = ARENA_ARRAY(f->arena, const hlo_shape *, results + 1);
  for (int i = 0; i < results; i++) {
    const hlo_shape *r = infer_result(c, i, results);
    REQUIRE(f, r && hlo_shape_is_array(r), "c7", "result %d of the body is not an array", i);
    made[i] = r;
    if (i < outputs) {
      REQUIRE(f, a->dimension <= r->rank, "c7", "result %d of the body has rank %d; expected at least %lld", i, r->rank,
              (long long)a->dimension);
      infer_dims d = {.n = 0};
      for (int k = 0; k <= r->rank; k++) {
        if (k == a->dimension) infer_push(&d, size, HLO_DYNAMIC);
        if (k < r->rank) infer_push_from(&d, r, k);
      }
      made[i] = infer_make(f, &d, r);
      CHECK(made[i]);
    } else {
      REQUIRE(f, infer_compatible(r, infer_in(f, inputs + i - outputs)), "c8",
              "the body returns a carry of type %s; expected %s", infer_text(f, r),
              infer_text(f, infer_in(f, inputs + i - outputs)));
    }
  }
  return infer_one_or_tuple(f, results, made);
}
