// SPDX-License-Identifier: Apache-2.0
// Shape inference of collectives and of asynchronous operations.
//
// How many processes there are is not always known where a module is checked (replica counts come with the launch), so
// replica ids are only checked to be distinct and, where the specification wants all of them, to leave no gap; where
// the size of a group is not known either, a declared result size is taken as it is when it is a multiple.
//
// A future<T> is represented by T itself: async_start has its body's result type, async_done passes it on.
#include "hlo/infer_internal.h"

typedef struct group_labels {
  const char *unique, *range;
} group_labels;

// -1 pads ragged groups where `ragged` is set. With `all`, ids 0..n-1 must all occur.
static bool check_groups(infer *f, const hlo_groups *g, bool ragged, bool all, const group_labels *l) {
  int64_t cells = (int64_t)g->rows * g->cols, n = 0;
  if (cells == 0) return true;
  int64_t *seen = ARENA_ARRAY(f->arena, int64_t, cells);  // 1 + index of the cell that holds this id
  for (int64_t i = 0; i < cells; i++) {
    int64_t id = g->data[i];
    if (id == -1 && ragged) continue;
    REQUIRE(f, id >= 0, l->range, "replica_groups has id %lld; expected ids >= 0", (long long)id);
    n++;
    if (id >= cells) {
      REQUIRE(f, !all, l->range, "replica_groups has id %lld; expected ids in [0, %lld)", (long long)id,
              (long long)cells);
      for (int64_t k = 0; k < i; k++)
        REQUIRE(f, g->data[k] != id, l->unique, "replica_groups has id %lld twice; expected distinct ids",
                (long long)id);
      continue;
    }
    REQUIRE(f, !seen[id], l->unique, "replica_groups has id %lld twice; expected distinct ids", (long long)id);
    seen[id] = i + 1;
  }
  for (int64_t id = 0; all && id < n; id++)
    REQUIRE(f, seen[id], l->range, "replica_groups lacks id %lld; expected all of 0..%lld", (long long)id,
            (long long)(n - 1));
  return true;
}

static bool check_channel(infer *f, bool global, int64_t channel, const hlo_groups *g, const char *label) {
  REQUIRE(f, !global || channel > 0, label, "use_global_device_ids with channel_id %lld; expected one > 0",
          (long long)channel);
  REQUIRE(f, !global || (int64_t)g->rows * g->cols > 0, label,
          "use_global_device_ids with no replica groups; expected some");
  return true;
}

// Members of one process group; 0 if not known here: without groups, all processes are one; with a channel and no
// global ids (cross_replica_and_partition), the group's replicas come with all their partitions.
static int64_t group_size(const hlo_groups *g, int64_t channel, bool global) {
  if (g->rows == 0 || g->cols == 0 || (channel > 0 && !global)) return 0;
  return g->cols;
}

static bool data_operands(infer *f, int n) {
  for (int i = 0; i < n; i++) {
    CHECK(infer_array(f, i, "i1"));
    CHECK(infer_not_per_axis(f, i, "i1"));
  }
  return true;
}

// Declared type of result i of n; NULL if none was declared.
static const hlo_shape *declared_result(const infer *f, int i, int n) {
  const hlo_shape *r = f->declared;
  if (!r) return NULL;
  if (n == 1) return hlo_shape_is_array(r) ? r : NULL;
  return hlo_shape_is_tuple(r) && r->n_elements == n && hlo_shape_is_array(r->elements[i]) ? r->elements[i] : NULL;
}

INFER(ALL_GATHER) {
  static const group_labels labels = {"c2", "c4"};
  const hlo_attrs_all_gather *a = INFER_ATTRS(f, all_gather);
  const hlo_shape **results = ARENA_ARRAY(f->arena, const hlo_shape *, f->n);
  CHECK(data_operands(f, f->n));
  CHECK(check_groups(f, &a->replica_groups, false, true, &labels));
  CHECK(check_channel(f, a->use_global_device_ids, a->channel_id, &a->replica_groups, "c5"));
  int64_t group = group_size(&a->replica_groups, a->channel_id, a->use_global_device_ids);
  for (int i = 0; i < f->n; i++) {
    const hlo_shape *x = infer_in(f, i), *r = declared_result(f, i, f->n);
    REQUIRE(f, a->dimension >= 0 && a->dimension < x->rank, "c1", "all_gather_dim is %lld; expected one in [0, %d)",
            (long long)a->dimension, x->rank);
    infer_dims d = infer_dims_of(x);
    int64_t size = x->dims[a->dimension], *to = &d.size[a->dimension];
    if (group == 0) {
      REQUIRE(f, r && r->rank == x->rank, "c6", "the group size is not known and no result type was given");
      int64_t have = r->dims[a->dimension];
      REQUIRE(f, infer_is_dynamic(size) || infer_is_dynamic(have) || (size == 0 ? have == 0 : have % size == 0), "c6",
              "the result has size %s in dimension %lld; expected a multiple of %s", infer_text_dim(f, have),
              (long long)a->dimension, infer_text_dim(f, size));
      *to = have;
    } else {
      REQUIRE(f, infer_is_dynamic(size) || infer_mul(size, group, to), "c6",
              "the result's size does not fit into 62 bits");
    }
    if (!infer_is_dynamic(*to)) d.bound[a->dimension] = HLO_DYNAMIC;
    results[i] = infer_make(f, &d, x);
    CHECK(results[i]);
  }
  f->result_label = "c6";
  return infer_one_or_tuple(f, f->n, results);
}

// Results of the operands' shapes with the computation's element type.
static const hlo_shape *reduced(infer *f, int n, const char *label, const char *result_label, const char *type_label) {
  const hlo_shape **results = ARENA_ARRAY(f->arena, const hlo_shape *, n);
  CHECK(data_operands(f, n));
  for (int i = 0; i < n; i++) {
    const hlo_shape *x = infer_in(f, i), *e;
    CHECK(infer_reducer(f, f->called[0], 1, &x, label, &e));
    infer_dims d = infer_dims_of(x);
    results[i] = infer_make(f, &d, e);
    CHECK(results[i]);
  }
  f->result_label = result_label;
  f->type_label = type_label;
  return infer_one_or_tuple(f, n, results);
}

// Number of data operands. With a dynamic root the last operand holds a root for each of the others.
static int data_count(infer *f, bool dynamic_root, const char *label) {
  if (!dynamic_root) return f->n;
  REQUIRE(f, f->n >= 2, label, "%d operands with a dynamic root; expected at least 2", f->n);
  const hlo_shape *root = infer_in(f, f->n - 1);
  REQUIRE(f, root->dtype == HLO_S32 && root->rank == 1 && infer_size_ok(root->dims[0], f->n - 1), label,
          "the root operand has type %s; expected s32[%d]", infer_text(f, root), f->n - 1);
  return f->n - 1;
}

INFER(ALL_REDUCE) {
  static const group_labels labels = {"c1", "c3"};
  const hlo_attrs_all_reduce *a = INFER_ATTRS(f, all_reduce);
  CHECK(check_groups(f, &a->replica_groups, true, true, &labels));
  CHECK(check_channel(f, a->use_global_device_ids, a->channel_id, &a->replica_groups, "c4"));
  return reduced(f, f->n, "c5", "c6", "c7");
}

INFER(COLLECTIVE_REDUCE) {
  static const group_labels labels = {"c1", "c2"};
  const hlo_attrs_all_reduce *a = INFER_ATTRS(f, all_reduce);
  CHECK(check_groups(f, &a->replica_groups, true, false, &labels));
  CHECK(check_channel(f, a->use_global_device_ids, a->channel_id, &a->replica_groups, "i3"));
  int n = data_count(f, a->has_dynamic_root, "c3");
  CHECK(n);
  return reduced(f, n, "c4", "c3", "c4");
}

INFER(REDUCE_SCATTER) {
  static const group_labels labels = {"c3", "c5"};
  const hlo_attrs_reduce_scatter *a = INFER_ATTRS(f, reduce_scatter);
  CHECK(data_operands(f, 1));
  const hlo_shape *x = infer_in(f, 0), *r = declared_result(f, 0, 1), *e;
  REQUIRE(f, a->dimension >= 0 && a->dimension < x->rank, "c2", "scatter_dimension is %lld; expected one in [0, %d)",
          (long long)a->dimension, x->rank);
  CHECK(check_groups(f, &a->replica_groups, false, true, &labels));
  CHECK(check_channel(f, a->use_global_device_ids, a->channel_id, &a->replica_groups, "c6"));
  CHECK(infer_reducer(f, f->called[0], 1, &x, "c7", &e));
  infer_dims d = infer_dims_of(x);
  int64_t size = x->dims[a->dimension], group = group_size(&a->replica_groups, a->channel_id, a->use_global_device_ids);
  int64_t *to = &d.size[a->dimension];
  if (group == 0) {
    REQUIRE(f, r && r->rank == x->rank, "c8", "the group size is not known and no result type was given");
    int64_t have = r->dims[a->dimension];
    REQUIRE(f, infer_is_dynamic(size) || infer_is_dynamic(have) || (have > 0 && size % have == 0), "c8",
            "the result has size %s in dimension %lld; expected a divisor of %s", infer_text_dim(f, have),
            (long long)a->dimension, infer_text_dim(f, size));
    *to = have;
  } else {
    REQUIRE(f, infer_is_dynamic(size) || size % group == 0, "c1",
            "dimension %lld has size %s; expected a multiple of the group size %lld", (long long)a->dimension,
            infer_text_dim(f, size), (long long)group);
    if (!infer_is_dynamic(size)) *to = size / group;
  }
  if (!infer_is_dynamic(*to)) d.bound[a->dimension] = HLO_DYNAMIC;
  f->result_label = "c8";
  f->type_label = "c9";
  return infer_make(f, &d, e);
}

INFER(ALL_TO_ALL) {
  static const group_labels labels = {"c5", "c7"};
  const hlo_attrs_all_to_all *a = INFER_ATTRS(f, all_to_all);
  const hlo_shape **results = ARENA_ARRAY(f->arena, const hlo_shape *, f->n);
  long long count = a->split_count;
  CHECK(data_operands(f, f->n));
  REQUIRE(f, count > 0, "c4", "split_count is %lld; expected > 0", count);
  CHECK(check_groups(f, &a->replica_groups, false, true, &labels));
  REQUIRE(f, a->replica_groups.cols == count && a->replica_groups.rows > 0, "c8",
          "replica groups have %d members; expected split_count %lld", a->replica_groups.cols, count);
  for (int i = 0; i < f->n; i++) {
    const hlo_shape *x = infer_in(f, i);
    int64_t split = a->split_dimension, concat = a->concat_dimension;
    REQUIRE(f, split >= 0 && split < x->rank, "c1", "split_dimension is %lld; expected one in [0, %d)",
            (long long)split, x->rank);
    REQUIRE(f, infer_is_dynamic(x->dims[split]) || x->dims[split] % count == 0, "c2",
            "dimension %lld has size %s; expected a multiple of split_count %lld", (long long)split,
            infer_text_dim(f, x->dims[split]), count);
    REQUIRE(f, concat >= 0 && concat < x->rank, "c3", "concat_dimension is %lld; expected one in [0, %d)",
            (long long)concat, x->rank);
    infer_dims d = infer_dims_of(x);
    if (split != concat) {
      if (!infer_is_dynamic(d.size[split])) d.size[split] /= count;
      d.bound[split] = HLO_DYNAMIC;
      REQUIRE(f, infer_is_dynamic(d.size[concat]) || infer_mul(d.size[concat], count, &d.size[concat]), "c9",
              "the result's size does not fit into 62 bits");
      d.bound[concat] = HLO_DYNAMIC;
    }
    results[i] = infer_make(f, &d, x);
    CHECK(results[i]);
  }
  f->result_label = "c9";
  return infer_one_or_tuple(f, f->n, results);
}

static const hlo_shape *operands_as_results(infer *f, int n, const char *label) {
  const hlo_shape **results = ARENA_ARRAY(f->arena, const hlo_shape *, n);
  CHECK(data_operands(f, n));
  for (int i = 0; i < n; i++) results[i] = infer_in(f, i);
  f->result_label = label;
  return infer_one_or_tuple(f, n, results);
}

INFER(COLLECTIVE_BROADCAST) {
  static const group_labels labels = {"c1", "c2"};
  const hlo_attrs_collective_broadcast *a = INFER_ATTRS(f, collective_broadcast);
  CHECK(check_groups(f, &a->replica_groups, false, false, &labels));
  int n = data_count(f, a->has_dynamic_root, "c4");
  CHECK(n);
  return operands_as_results(f, n, a->has_dynamic_root ? "c4" : "c3");
}

INFER(COLLECTIVE_PERMUTE) {
  const hlo_pairs *pairs = &INFER_ATTRS(f, collective_permute)->source_target_pairs;
  const int64_t *p = pairs->data;
  for (int i = 0; i < pairs->n; i++) {
    REQUIRE(f, p[2 * i] >= 0 && p[2 * i + 1] >= 0, "c4", "pair %d is (%lld, %lld); expected ids >= 0", i,
            (long long)p[2 * i], (long long)p[2 * i + 1]);
    for (int k = 0; k < i; k++) {
      REQUIRE(f, p[2 * i] != p[2 * k], "c2", "source %lld stands in pairs %d and %d; expected distinct sources",
              (long long)p[2 * i], k, i);
      REQUIRE(f, p[2 * i + 1] != p[2 * k + 1], "c3", "target %lld stands in pairs %d and %d; expected distinct targets",
              (long long)p[2 * i + 1], k, i);
    }
  }
  return operands_as_results(f, f->n, "c5");
}

static const hlo_shape *id(infer *f) {
  int64_t none = 0;
  return hlo_shape_array(f->shapes, HLO_U32, 0, &none);
}
INFER(PARTITION_ID) {
  return id(f);
}
INFER(REPLICA_ID) {
  return id(f);
}

// --- asynchronous operations ---------------------------------------------------------------------

static bool may_be_async(hlo_op op) {
  switch (op) {
    case HLO_OP_ALL_REDUCE:
    case HLO_OP_ALL_GATHER:
    case HLO_OP_ALL_TO_ALL:
    case HLO_OP_COLLECTIVE_PERMUTE:
    case HLO_OP_REDUCE_SCATTER:
    case HLO_OP_COLLECTIVE_BROADCAST:
    case HLO_OP_COLLECTIVE_REDUCE:
    case HLO_OP_SLICE:
    case HLO_OP_DYNAMIC_SLICE:
    case HLO_OP_DYNAMIC_UPDATE_SLICE: return true;
    default: return false;
  }
}

INFER(ASYNC_START) {
  const hlo_computation *c = f->called[0];
  int ops = 0;
  HLO_FOR_EACH (i, c) {
    // Parameters, and what packs several results, are no operations of the region's.
    if (i->op == HLO_OP_PARAMETER || i->op == HLO_OP_TUPLE || i->op == HLO_OP_GET_TUPLE_ELEMENT) continue;
    ops++;
    REQUIRE(f, may_be_async(i->op), "c2", "the body has %s; expected a collective or a slice",
            hlo_op_table[i->op].text_name);
  }
  REQUIRE(f, ops == 1, "c1", "the body has %d operations; expected one", ops);
  CHECK(infer_params_match(f, c, 0, f->n, "c3"));
  f->result_label = "c4";
  return c->root->shape;
}

INFER(ASYNC_DONE) {
  f->result_label = "c1";
  return infer_in(f, 0);
}
