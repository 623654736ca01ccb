// SPDX-License-Identifier: Apache-2.0
// Shape inference of indexed data movement: dynamic slices, gather, scatter, index_select.
//
// dynamic_gather is gather with slice sizes that are an operand; the specification numbers its constraints differently,
// which `labels_dynamic` translates.
#include "hlo/infer_internal.h"

// --- dynamic slices ------------------------------------------------------------------------------

static bool start_indices(infer *f, int first, const char *type_label, const char *same_label) {
  for (int i = first; i < f->n; i++) {
    CHECK(infer_scalar(f, i, type_label));
    REQUIRE(f, hlo_dtype_is_integer(infer_in(f, i)->dtype) && !infer_in(f, i)->quant, type_label,
            "start index %d has type %s; expected an integer", i - first, infer_text(f, infer_in(f, i)));
    REQUIRE(f, infer_in(f, i)->dtype == infer_in(f, first)->dtype, same_label,
            "start index %d has type %s; expected %s as the first", i - first, infer_text(f, infer_in(f, i)),
            infer_text(f, infer_in(f, first)));
  }
  return true;
}

INFER(DYNAMIC_SLICE) {
  CHECK(infer_array(f, 0, "i1"));
  CHECK(infer_not_per_axis(f, 0, "i1"));
  const hlo_shape *x = infer_in(f, 0);
  hlo_i64s sizes = INFER_ATTRS(f, dynamic_slice)->slice_sizes;
  REQUIRE(f, f->n - 1 == x->rank && sizes.n == x->rank, "c2",
          "%d start indices and %d slice sizes; expected the operand's rank %d", f->n - 1, sizes.n, x->rank);
  CHECK(start_indices(f, 1, "i2", "c3"));
  infer_dims d = {.n = 0};
  for (int i = 0; i < sizes.n; i++) {
    int64_t size = infer_is_dynamic(x->dims[i]) ? infer_bound(x, i) : x->dims[i];
    REQUIRE(f, sizes.data[i] >= 0 && (infer_is_dynamic(size) || sizes.data[i] <= size), "c4",
            "slice size %lld in dimension %d; expected one in [0, %s]", (long long)sizes.data[i], i,
            infer_text_dim(f, size));
    infer_push(&d, sizes.data[i], HLO_DYNAMIC);
  }
  f->result_label = "c5";
  f->type_label = "c1";
  return infer_make(f, &d, x);
}

INFER(DYNAMIC_UPDATE_SLICE) {
  CHECK(infer_arrays(f, 0, 2, "i1"));
  CHECK(infer_not_per_axis(f, 0, "i1"));
  const hlo_shape *x = infer_in(f, 0), *u = infer_in(f, 1);
  REQUIRE(f, infer_same_type(x, u), "c2", "the update has elements of type %s; expected %s", infer_text_type(f, u),
          infer_text_type(f, x));
  REQUIRE(f, u->rank == x->rank, "c3", "the update has rank %d; expected %d", u->rank, x->rank);
  REQUIRE(f, f->n - 2 == x->rank, "c4", "%d start indices; expected the operand's rank %d", f->n - 2, x->rank);
  CHECK(start_indices(f, 2, "i3", "c5"));
  for (int i = 0; i < x->rank; i++)
    REQUIRE(f, infer_is_dynamic(u->dims[i]) || infer_is_dynamic(x->dims[i]) || u->dims[i] <= x->dims[i], "c6",
            "the update has size %s in dimension %d; expected at most %s", infer_text_dim(f, u->dims[i]), i,
            infer_text_dim(f, x->dims[i]));
  f->result_label = "c1";
  return x;
}

// --- gather --------------------------------------------------------------------------------------

// Label of gather's constraint n in the operation at hand; dynamic_gather keeps older numbers, and knows batching
// dimensions only through gather's.
static const char *gather_label(const infer *f, int n) {
  static const char *const names[] = {"",    "c1",  "c2",  "c3",  "c4",  "c5",  "c6",  "c7",
                                      "c8",  "c9",  "c10", "c11", "c12", "c13", "c14", "c15",
                                      "c16", "c17", "c18", "c19", "c20", "c21", "c22", "c23"};
  static const int8_t labels_dynamic[] = {0, 1, 2, 3, 4, 5, 6, 6, 7, 8, 6, 7, 8, 6, 7, 6, 6, 6, 9, 10, 11, 12, 13, 14};
  return names[f->op == HLO_OP_DYNAMIC_GATHER ? labels_dynamic[n] : n];
}

static hlo_i64s concatenated(infer *f, hlo_i64s a, hlo_i64s b) {
  int64_t *data = ARENA_ARRAY(f->arena, int64_t, a.n + b.n + 1);
  for (int i = 0; i < a.n; i++) data[i] = a.data[i];
  for (int i = 0; i < b.n; i++) data[a.n + i] = b.data[i];
  return (hlo_i64s){data, a.n + b.n};
}

// Batching dimensions of gather (labels first, ..) and scatter: pairs of equal dimensions of operand and indices.
static bool batching(infer *f, const hlo_shape *x, const hlo_shape *indices, hlo_i64s xs, hlo_i64s is,
                     int64_t vector_dim, const char *const label[5]) {
  REQUIRE(f, infer_unique(is), label[0], "start_indices_batching_dims is %s; expected distinct entries",
          infer_text_list(f, is));
  REQUIRE(f, infer_in_range(is, indices->rank), label[1],
          "start_indices_batching_dims is %s; expected entries in [0, %d)", infer_text_list(f, is), indices->rank);
  REQUIRE(f, !hlo_i64s_contains(is, vector_dim), label[2],
          "index_vector_dim %lld is among the indices' batching dimensions %s; expected others", (long long)vector_dim,
          infer_text_list(f, is));
  REQUIRE(f, xs.n == is.n, label[3], "%d batching dimensions of the operand, %d of the indices; expected equal numbers",
          xs.n, is.n);
  for (int i = 0; i < xs.n; i++)
    REQUIRE(f, infer_size_ok(x->dims[xs.data[i]], indices->dims[is.data[i]]), label[4],
            "batching dimension %d has size %s in the operand and %s in the indices; expected equal sizes", i,
            infer_text_dim(f, x->dims[xs.data[i]]), infer_text_dim(f, indices->dims[is.data[i]]));
  return true;
}

// Index vectors: one entry for each mapped operand dimension.
static bool index_vector(infer *f, const hlo_shape *indices, hlo_i64s map, int64_t vector_dim, const char *range_label,
                         const char *size_label) {
  REQUIRE(f, vector_dim >= 0 && vector_dim <= indices->rank, range_label,
          "index_vector_dim is %lld; expected one in [0, %d]", (long long)vector_dim, indices->rank);
  int64_t size = vector_dim < indices->rank ? indices->dims[vector_dim] : 1;
  REQUIRE(f, infer_size_ok(map.n, size), size_label,
          "the index map %s has %d entries; expected the index vector's size %s", infer_text_list(f, map), map.n,
          infer_text_dim(f, size));
  return true;
}

static bool check_gather(infer *f, const hlo_gather_dnums *g) {
#define L(n) gather_label(f, n)
  const hlo_shape *x = infer_in(f, 0), *indices = infer_in(f, 1);
  hlo_i64s collapsed = concatenated(f, g->collapsed_slice_dims, g->operand_batching_dims);
  hlo_i64s mapped = concatenated(f, g->start_index_map, g->operand_batching_dims);
  REQUIRE(f, x->rank == g->offset_dims.n + collapsed.n, L(1),
          "%d offset, %d collapsed and %d batching dimensions; expected the operand's rank %d in sum", g->offset_dims.n,
          g->collapsed_slice_dims.n, g->operand_batching_dims.n, x->rank);
  CHECK(index_vector(f, indices, g->start_index_map, g->index_vector_dim, L(2), L(3)));
  REQUIRE(f, infer_unique(g->offset_dims) && infer_sorted(g->offset_dims), L(4),
          "offset_dims is %s; expected increasing entries", infer_text_list(f, g->offset_dims));
  REQUIRE(f, infer_unique(collapsed), L(6),
          "collapsed_slice_dims and operand_batching_dims are %s and %s; expected distinct entries",
          infer_text_list(f, g->collapsed_slice_dims), infer_text_list(f, g->operand_batching_dims));
  REQUIRE(f, infer_sorted(g->collapsed_slice_dims), L(7), "collapsed_slice_dims is %s; expected increasing entries",
          infer_text_list(f, g->collapsed_slice_dims));
  REQUIRE(f, infer_in_range(g->collapsed_slice_dims, x->rank), L(8),
          "collapsed_slice_dims is %s; expected entries in [0, %d)", infer_text_list(f, g->collapsed_slice_dims),
          x->rank);
  REQUIRE(f, infer_sorted(g->operand_batching_dims), L(10), "operand_batching_dims is %s; expected increasing entries",
          infer_text_list(f, g->operand_batching_dims));
  REQUIRE(f, infer_in_range(g->operand_batching_dims, x->rank), L(11),
          "operand_batching_dims is %s; expected entries in [0, %d)", infer_text_list(f, g->operand_batching_dims),
          x->rank);
  const char *const labels[5] = {L(13), L(14), L(15), L(16), L(17)};
  CHECK(batching(f, x, indices, g->operand_batching_dims, g->start_indices_batching_dims, g->index_vector_dim, labels));
  REQUIRE(f, infer_unique(mapped), L(18),
          "start_index_map and operand_batching_dims are %s and %s; expected distinct entries",
          infer_text_list(f, g->start_index_map), infer_text_list(f, g->operand_batching_dims));
  REQUIRE(f, infer_in_range(g->start_index_map, x->rank), L(19), "start_index_map is %s; expected entries in [0, %d)",
          infer_text_list(f, g->start_index_map), x->rank);
  return true;
}

static bool check_slice_sizes(infer *f, const hlo_gather_dnums *g, hlo_i64s sizes) {
  const hlo_shape *x = infer_in(f, 0);
  REQUIRE(f, sizes.n == x->rank, L(20), "slice_sizes %s has %d entries; expected the operand's rank %d",
          infer_text_list(f, sizes), sizes.n, x->rank);
  for (int i = 0; i < sizes.n; i++) {
    int64_t size = infer_is_dynamic(x->dims[i]) ? infer_bound(x, i) : x->dims[i];
    REQUIRE(f, sizes.data[i] >= 0 && (infer_is_dynamic(size) || sizes.data[i] <= size), L(21),
            "slice size %lld in dimension %d; expected one in [0, %s]", (long long)sizes.data[i], i,
            infer_text_dim(f, size));
    if (sizes.data[i] <= 1) continue;
    REQUIRE(f, !hlo_i64s_contains(g->collapsed_slice_dims, i), L(9),
            "slice size %lld in collapsed dimension %d; expected at most 1", (long long)sizes.data[i], i);
    REQUIRE(f, !hlo_i64s_contains(g->operand_batching_dims, i), L(12),
            "slice size %lld in batching dimension %d; expected at most 1", (long long)sizes.data[i], i);
  }
  return true;
}

// Offset dimensions of the result take slice sizes in order (dynamic ones if they are not known), the others the
// dimensions of the indices.
static const hlo_shape *gather_result(infer *f, const hlo_gather_dnums *g, hlo_i64s sizes, bool known) {
  const hlo_shape *x = infer_in(f, 0), *indices = infer_in(f, 1);
  int batch_rank = indices->rank - (g->index_vector_dim < indices->rank);
  int rank = batch_rank + g->offset_dims.n, next_slice = 0, next_index = 0;
  REQUIRE(f, infer_in_range(g->offset_dims, rank), L(5), "offset_dims is %s; expected entries in [0, %d)",
          infer_text_list(f, g->offset_dims), rank);
  infer_dims d = {.n = 0};
  for (int i = 0; i < rank; i++) {
    if (hlo_i64s_contains(g->offset_dims, i)) {
      while (hlo_i64s_contains(g->collapsed_slice_dims, next_slice) ||
             hlo_i64s_contains(g->operand_batching_dims, next_slice))
        next_slice++;
      infer_push(&d, known ? sizes.data[next_slice] : HLO_DYNAMIC, HLO_DYNAMIC);
      next_slice++;
    } else {
      if (next_index == g->index_vector_dim) next_index++;
      infer_push_from(&d, indices, next_index++);
    }
  }
  f->result_label = L(22);
  f->type_label = L(23);
  return infer_make(f, &d, x);
}

static bool gather_operands(infer *f) {
  CHECK(infer_arrays(f, 0, f->n, "i1"));
  CHECK(infer_not_per_axis(f, 0, "i1"));
  CHECK(infer_class(f, 1, "I", "i2"));
  return true;
}

INFER(GATHER) {
  const hlo_attrs_gather *a = INFER_ATTRS(f, gather);
  CHECK(gather_operands(f));
  CHECK(check_gather(f, &a->dnums));
  CHECK(check_slice_sizes(f, &a->dnums, a->slice_sizes));
  return gather_result(f, &a->dnums, a->slice_sizes, true);
}

INFER(DYNAMIC_GATHER) {
  const hlo_attrs_dynamic_gather *a = INFER_ATTRS(f, dynamic_gather);
  CHECK(gather_operands(f));
  CHECK(infer_class(f, 2, "I", "i3"));
  const hlo_shape *sizes = infer_in(f, 2);
  REQUIRE(f, sizes->rank == 1, "i3", "slice_sizes has type %s; expected one dimension", infer_text(f, sizes));
  REQUIRE(f, infer_size_ok(sizes->dims[0], infer_in(f, 0)->rank), L(20),
          "slice_sizes has %s entries; expected the operand's rank %d", infer_text_dim(f, sizes->dims[0]),
          infer_in(f, 0)->rank);
  CHECK(check_gather(f, &a->dnums));
  int64_t values[INFER_MAX_RANK];
  int n = 0;
  bool known = infer_constant(f, 2, values, INFER_MAX_RANK, &n);
  if (known) CHECK(check_slice_sizes(f, &a->dnums, (hlo_i64s){values, n}));
  return gather_result(f, &a->dnums, (hlo_i64s){values, n}, known);
}
#undef L

// --- scatter -------------------------------------------------------------------------------------

static bool check_scatter_dims(infer *f, const hlo_scatter_dnums *g, const hlo_shape *x, const hlo_shape *indices,
                               const hlo_shape *u) {
  hlo_i64s inserted = concatenated(f, g->inserted_window_dims, g->input_batching_dims);
  hlo_i64s mapped = concatenated(f, g->scatter_dims_to_operand_dims, g->input_batching_dims);
  REQUIRE(f, x->rank == g->update_window_dims.n + inserted.n, "c2",
          "%d window, %d inserted and %d batching dimensions; expected the input's rank %d in sum",
          g->update_window_dims.n, g->inserted_window_dims.n, g->input_batching_dims.n, x->rank);
  REQUIRE(f, infer_unique(g->update_window_dims) && infer_sorted(g->update_window_dims), "c7",
          "update_window_dims is %s; expected increasing entries", infer_text_list(f, g->update_window_dims));
  REQUIRE(f, infer_in_range(g->update_window_dims, u->rank), "c8",
          "update_window_dims is %s; expected entries in [0, %d)", infer_text_list(f, g->update_window_dims), u->rank);
  REQUIRE(f, infer_unique(inserted), "c9",
          "inserted_window_dims and input_batching_dims are %s and %s; expected distinct entries",
          infer_text_list(f, g->inserted_window_dims), infer_text_list(f, g->input_batching_dims));
  REQUIRE(f, infer_sorted(g->inserted_window_dims), "c10", "inserted_window_dims is %s; expected increasing entries",
          infer_text_list(f, g->inserted_window_dims));
  REQUIRE(f, infer_in_range(g->inserted_window_dims, x->rank), "c11",
          "inserted_window_dims is %s; expected entries in [0, %d)", infer_text_list(f, g->inserted_window_dims),
          x->rank);
  REQUIRE(f, infer_sorted(g->input_batching_dims), "c12", "input_batching_dims is %s; expected increasing entries",
          infer_text_list(f, g->input_batching_dims));
  REQUIRE(f, infer_in_range(g->input_batching_dims, x->rank), "c13",
          "input_batching_dims is %s; expected entries in [0, %d)", infer_text_list(f, g->input_batching_dims),
          x->rank);
  static const char *const labels[5] = {"c14", "c15", "c16", "c17", "c18"};
  CHECK(batching(f, x, indices, g->input_batching_dims, g->scatter_indices_batching_dims, g->index_vector_dim, labels));
  CHECK(index_vector(f, indices, g->scatter_dims_to_operand_dims, g->index_vector_dim, "c22", "c19"));
  REQUIRE(f, infer_unique(mapped), "c20",
          "scatter_dims_to_operand_dims and input_batching_dims are %s and %s; expected distinct entries",
          infer_text_list(f, g->scatter_dims_to_operand_dims), infer_text_list(f, g->input_batching_dims));
  REQUIRE(f, infer_in_range(g->scatter_dims_to_operand_dims, x->rank), "c21",
          "scatter_dims_to_operand_dims is %s; expected entries in [0, %d)",
          infer_text_list(f, g->scatter_dims_to_operand_dims), x->rank);
  return true;
}

// Window dimensions of the updates are no larger than the input's; the others are those of the indices, in order.
static bool check_updates_shape(infer *f, const hlo_scatter_dnums *g, const hlo_shape *x, const hlo_shape *indices,
                                const hlo_shape *u) {
  int scatter_rank = indices->rank - (g->index_vector_dim < indices->rank), next_input = 0, next_index = 0;
  REQUIRE(f, u->rank == scatter_rank + g->update_window_dims.n, "c4", "updates have rank %d; expected %d", u->rank,
          scatter_rank + g->update_window_dims.n);
  for (int i = 0; i < u->rank; i++) {
    if (hlo_i64s_contains(g->update_window_dims, i)) {
      while (hlo_i64s_contains(g->inserted_window_dims, next_input) ||
             hlo_i64s_contains(g->input_batching_dims, next_input))
        next_input++;
      int64_t most = x->dims[next_input];
      REQUIRE(f, infer_is_dynamic(u->dims[i]) || infer_is_dynamic(most) || u->dims[i] <= most, "c4",
              "window dimension %d of the updates has size %s; expected at most %s, that of input dimension %d", i,
              infer_text_dim(f, u->dims[i]), infer_text_dim(f, most), next_input);
      next_input++;
    } else {
      if (next_index == g->index_vector_dim) next_index++;
      REQUIRE(f, infer_size_ok(u->dims[i], indices->dims[next_index]), "c4",
              "scatter dimension %d of the updates has size %s; expected %s, that of indices dimension %d", i,
              infer_text_dim(f, u->dims[i]), infer_text_dim(f, indices->dims[next_index]), next_index);
      next_index++;
    }
  }
  return true;
}

static bool check_scatter_operands(infer *f, int n) {
  const hlo_shape *x = infer_in(f, 0), *u = infer_in(f, n + 1);
  CHECK(infer_arrays(f, 0, n, "i1"));
  CHECK(infer_class(f, n, "I", "i2"));
  CHECK(infer_arrays(f, n + 1, n, "i3"));
  for (int i = 0; i < n; i++) {
    const hlo_shape *xi = infer_in(f, i), *ui = infer_in(f, n + 1 + i);
    CHECK(infer_not_per_axis(f, i, "i1"));
    REQUIRE(f, infer_compatible_dims(x, xi), "c1", "input %d has shape %s; expected %s", i, infer_text(f, xi),
            infer_text(f, x));
    REQUIRE(f, infer_compatible_dims(u, ui), "c3", "updates %d have shape %s; expected %s", i, infer_text(f, ui),
            infer_text(f, u));
    REQUIRE(f, infer_same_type(xi, ui), "c6", "updates %d have elements of type %s; expected those of the input, %s", i,
            infer_text_type(f, ui), infer_text_type(f, xi));
  }
  return true;
}

INFER(SCATTER) {
  REQUIRE(f, f->n % 2 == 1, "c5", "%d operands; expected N inputs, the indices, and N updates", f->n);
  int n = f->n / 2;
  const hlo_scatter_dnums *g = &INFER_ATTRS(f, scatter)->dnums;
  CHECK(check_scatter_operands(f, n));
  CHECK(check_scatter_dims(f, g, infer_in(f, 0), infer_in(f, n), infer_in(f, n + 1)));
  CHECK(check_updates_shape(f, g, infer_in(f, 0), infer_in(f, n), infer_in(f, n + 1)));
  const hlo_shape **inputs = ARENA_ARRAY(f->arena, const hlo_shape *, n),
                  **results = ARENA_ARRAY(f->arena, const hlo_shape *, n);
  for (int i = 0; i < n; i++) inputs[i] = infer_in(f, i);
  CHECK(infer_reducer(f, f->called[0], n, inputs, "c23", results));
  for (int i = 0; i < n; i++) {
    infer_dims d = infer_dims_of(inputs[i]);
    results[i] = infer_make(f, &d, results[i]);
    CHECK(results[i]);
  }
  f->result_label = "c24";
  f->type_label = "c25";
  return infer_one_or_tuple(f, n, results);
}

INFER(TORCH_INDEX_SELECT) {
  CHECK(infer_array(f, 0, "i1"));
  CHECK(infer_class(f, 1, "I", "i2"));
  const hlo_attrs_torch_index_select *a = INFER_ATTRS(f, torch_index_select);
  const hlo_shape *x = infer_in(f, 0), *index = infer_in(f, 1);
  REQUIRE(f, a->dim >= 0 && a->dim < x->rank, "c1", "dim is %lld; expected one in [0, %d)", (long long)a->dim, x->rank);
  REQUIRE(f, a->batch_dims >= 0 && a->batch_dims <= index->rank && a->batch_dims <= a->dim, "c2",
          "batch_dims is %lld; expected one in [0, min(dim %lld, index rank %d)]", (long long)a->batch_dims,
          (long long)a->dim, index->rank);
  infer_dims d = {.n = 0};
  for (int i = 0; i < a->dim; i++) infer_push_from(&d, x, i);
  for (int i = 0; i < a->batch_dims; i++)
    REQUIRE(f, infer_size_ok(x->dims[i], index->dims[i]), "c3",
            "batch dimension %d has sizes %s and %s; expected equal ones", i, infer_text_dim(f, x->dims[i]),
            infer_text_dim(f, index->dims[i]));
  for (int i = (int)a->batch_dims; i < index->rank; i++) infer_push_from(&d, index, i);
  for (int i = (int)a->dim + 1; i < x->rank; i++) infer_push_from(&d, x, i);
  return infer_make(f, &d, x);
}
