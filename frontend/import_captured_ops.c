// SPDX-License-Identifier: Apache-2.0
// Import: regions with captures of operations that have no place for more operands, in terms of those that have.
//
// select_and_scatter is what the specification says it is: a reduce_window finds the place that the selection prefers
// in each window (value and linear index are reduced together; padding has index -1 and is passed over), and a scatter
// brings the source there; windows of padding alone keep -1, which scatter drops.
//
//   all_reduce      all_gather along a new dimension, which a reduce folds in the order of the group
//   reduce_scatter  the same, then the slice at the process's place in its group
//
// That fold has no initial value: a flag beside the accumulator says whether anything is in it yet.
#include "frontend/import_internal.h"

// What a rewrite is made from.
typedef struct rewrite {
  import_ctx *c;
  import_scope *s;
  const mlir_op *op;
  hlo_instr *const *operands;
  const import_captures *caps;
} rewrite;

static hlo_instr *emit(const rewrite *w, hlo_op op, const hlo_shape *declared, int n, hlo_instr *const *operands,
                       hlo_computation *body, void *attrs) {
  return import_emit(w->c, w->s, op, declared, n, operands, body ? 1 : 0, &body, attrs, w->op->loc);
}

static bool is_scalar(const rewrite *w, const hlo_shape *s) {
  if (hlo_shape_is_array(s) && s->rank == 0) return true;
  return import_fail(w->c, w->op->loc, "an argument of a region of '" STRV_FMT "' is no scalar", STRV_ARG(w->op->name));
}

// Binds result k, of the type that the program says it has.
static bool bind_result(const rewrite *w, int k, hlo_instr *r) {
  const hlo_shape *declared = r ? import_type(w->c, w->op->results[k].type, w->op->loc) : NULL;
  if (!declared) return false;
  if (declared != r->shape)
    return import_fail(w->c, w->op->loc, "result %d of '" STRV_FMT "' has another type than its operands give", k,
                       STRV_ARG(w->op->name));
  import_bind(w->c, w->s, &w->op->results[k], r);
  return true;
}

static const hlo_shape *vector_shape(const rewrite *w, hlo_dtype t, int64_t n) {
  return hlo_shape_array(w->c->module->shapes, t, 1, &n);
}

// x converted to the type of an argument of the region, which may be a wider one.
static hlo_instr *promoted(const rewrite *w, hlo_instr *x, const hlo_shape *argument) {
  hlo_builder b = import_builder(w->s, w->op->loc);
  if (x->shape->dtype == argument->dtype && x->shape->quant == argument->quant) return x;
  if (x->shape->quant || argument->quant) {
    import_refuse(w->c, w->op->loc,
                  "a region of '" STRV_FMT
                  "' of another quantized type than its operands, with values from outside of it",
                  STRV_ARG(w->op->name));
    return NULL;
  }
  return hlo_build_convert(&b, x, argument->dtype);
}

// The captures, each broadcast to the shape of `like` (NULL: scalars as they are), behind the n operands there are.
static bool with_captures(const rewrite *w, hlo_instr *like, hlo_instr **operands, int *n) {
  for (int i = 0; i < w->caps->values.len; i++) {
    hlo_instr *x = w->caps->instrs[i];
    if (like && !(x = import_broadcast_like(w->c, w->s, x, like, w->op->loc))) return false;
    operands[(*n)++] = x;
  }
  return true;
}

// --- a fold of two values with captures ----------------------------------------------------------

typedef struct fold_params {
  hlo_instr *a[2], *b[2];  // accumulator and element: value, and what stands beside it
  hlo_instr **caps;
} fold_params;

// Parameters (value, beside, captures..) twice; the region's two arguments are the values.
static bool open_fold(const rewrite *w, import_scope *s, const mlir_block *block, const hlo_shape *beside,
                      fold_params *p) {
  hlo_builder b = import_builder(s, w->op->loc);
  if (block->n_args != 2)
    return import_fail(w->c, w->op->loc, "a region of '" STRV_FMT "' takes %d arguments; expected 2",
                       STRV_ARG(w->op->name), block->n_args);
  p->caps = ARENA_ARRAY(w->c->arena, hlo_instr *, w->caps->values.len + 1);
  for (int side = 0; side < 2; side++) {
    hlo_instr **to = side ? p->b : p->a;
    const hlo_shape *shape = import_type(w->c, block->args[side].type, w->op->loc);
    if (!shape || !is_scalar(w, shape)) return false;
    to[0] = hlo_build_parameter(&b, shape, (strv){0});
    to[1] = hlo_build_parameter(&b, beside, (strv){0});
    import_bind(w->c, s, &block->args[side], to[0]);
    for (int i = 0; i < w->caps->values.len; i++) {
      hlo_instr *cap = hlo_build_parameter(&b, w->caps->instrs[i]->shape, (strv){0});
      if (side) continue;
      import_bind(w->c, s, w->caps->values.data[i], cap);
      p->caps[i] = cap;
    }
  }
  return true;
}

static hlo_computation *close_fold(const rewrite *w, import_scope *s, const fold_params *p, hlo_instr *value,
                                   hlo_instr *beside) {
  import_values root = {0};
  vec_push(w->c->arena, &root, value);
  vec_push(w->c->arena, &root, beside);
  vec_append(w->c->arena, &root, p->caps, w->caps->values.len);
  import_set_root(w->c, s, &root, w->op->loc);
  return s->computation;
}

// The region's only result.
static hlo_instr *region_result(const rewrite *w, import_scope *s, const mlir_block *block) {
  import_values results = {0};
  if (!import_scope_body(w->c, s, block, &results)) return NULL;
  if (results.len == 1) return results.data[0];
  import_fail(w->c, w->op->loc, "a region of '" STRV_FMT "' has %d results; expected 1", STRV_ARG(w->op->name),
              (int)results.len);
  return NULL;
}

// --- select_and_scatter --------------------------------------------------------------------------

// (best, its index, ..), (x, its index, ..) -> the one that stays; index -1: padding.
static hlo_computation *selection(const rewrite *w, const hlo_shape *index) {
  const mlir_block *block = NULL;
  fold_params p;
  if (!import_region_block(w->c, w->op, 0, &block)) return NULL;
  import_scope s = import_scope_create(w->c, w->s, w->op, "_select");
  if (!open_fold(w, &s, block, index, &p)) return NULL;
  hlo_instr *keep = region_result(w, &s, block);
  if (!keep) return NULL;
  if (keep->shape->dtype != HLO_PRED || keep->shape->rank) {
    import_fail(w->c, w->op->loc, "select_and_scatter_c9: select's result is no tensor<i1>");
    return NULL;
  }
  hlo_builder b = import_builder(&s, w->op->loc);
  hlo_instr *zero = hlo_build_scalar_i64(&b, index->dtype, 0);
  hlo_instr *none = hlo_build_compare(&b, HLO_COMPARISON_DIRECTION_LT, p.a[1], zero);
  hlo_instr *other = hlo_build_compare(&b, HLO_COMPARISON_DIRECTION_GE, p.b[1], zero);
  hlo_instr *better = hlo_build_binary(&b, HLO_OP_AND, other, hlo_build_unary(&b, HLO_OP_NOT, keep));
  hlo_instr *take = hlo_build_binary(&b, HLO_OP_OR, none, better);
  return close_fold(w, &s, &p, hlo_build_select(&b, take, p.b[0], p.a[0]), hlo_build_select(&b, take, p.b[1], p.a[1]));
}

// Linear indices of the selected elements, one per window, in one dimension.
static hlo_instr *selected(const rewrite *w, const hlo_attrs_select_and_scatter *attrs, hlo_dtype t) {
  hlo_instr *x = w->operands[0];
  int n = 2 * (2 + w->caps->values.len), have = 0;
  hlo_instr **operands = ARENA_ARRAY(w->c->arena, hlo_instr *, n);
  hlo_computation *body = selection(w, hlo_shape_array(w->c->module->shapes, t, 0, NULL));
  if (!body) return NULL;
  hlo_builder b = import_builder(w->s, w->op->loc);
  operands[have++] = x;
  hlo_instr *places = hlo_build_iota(&b, vector_shape(w, t, hlo_shape_elements(x->shape)), 0);
  operands[have++] = hlo_build_reshape(&b, places, x->shape->rank, x->shape->dims);
  if (!with_captures(w, x, operands, &have)) return NULL;
  operands[have++] = w->operands[2];
  operands[have++] = hlo_build_scalar_i64(&b, t, -1);
  if (!with_captures(w, NULL, operands, &have)) return NULL;
  hlo_attrs_reduce_window *window = hlo_attrs_create(w->c->arena, HLO_ATTR_LIST_reduce_window);
  window->window = attrs->window;
  hlo_instr *both = emit(w, HLO_OP_REDUCE_WINDOW, NULL, n, operands, body, window);
  if (!both) return NULL;
  b = import_builder(w->s, w->op->loc);
  hlo_instr *index = hlo_build_get(&b, both, 1);
  return hlo_build_reshape(&b, index, 2, (int64_t[]){hlo_shape_elements(index->shape), 1});
}

static hlo_instr *scattered(const rewrite *w, hlo_instr *index) {
  import_ctx *c = w->c;
  int n = 2 * (1 + w->caps->values.len) + 1, have = 0;
  hlo_instr **operands = ARENA_ARRAY(c->arena, hlo_instr *, n);
  hlo_computation *body = import_captured_region(c, w->s, w->op, 1, HLO_OP_SCATTER, w->caps);
  if (!body || !body->n_params || !is_scalar(w, body->params[0]->shape)) return NULL;
  hlo_instr *source = promoted(w, w->operands[1], body->params[0]->shape);
  hlo_instr *init = source ? promoted(w, w->operands[2], body->params[0]->shape) : NULL;
  if (!init) return NULL;
  hlo_builder b = import_builder(w->s, w->op->loc);
  int64_t to = hlo_shape_elements(w->operands[0]->shape), from = index->shape->dims[0];
  hlo_instr *places = hlo_build_iota(&b, vector_shape(w, HLO_S32, to), 0);
  hlo_instr *flat = hlo_build_reshape(&b, source, 1, &from);
  if (!(operands[have++] = import_broadcast_like(c, w->s, init, places, w->op->loc)) ||
      !with_captures(w, places, operands, &have))
    return NULL;
  operands[have++] = index;
  operands[have++] = flat;
  if (!with_captures(w, flat, operands, &have)) return NULL;
  hlo_attrs_scatter *attrs = hlo_attrs_create(c->arena, HLO_ATTR_LIST_scatter);
  attrs->dnums.inserted_window_dims = hlo_i64s_copy(c->arena, (int64_t[]){0}, 1);
  attrs->dnums.scatter_dims_to_operand_dims = hlo_i64s_copy(c->arena, (int64_t[]){0}, 1);
  attrs->dnums.index_vector_dim = 1;
  hlo_instr *all = emit(w, HLO_OP_SCATTER, NULL, n, operands, body, attrs);
  if (!all) return NULL;
  b = import_builder(w->s, w->op->loc);
  const hlo_shape *shape = w->operands[0]->shape;
  return hlo_build_reshape(&b, hlo_build_get(&b, all, 0), shape->rank, shape->dims);
}

static bool select_and_scatter(const rewrite *w, const void *attrs) {
  const hlo_shape *x = w->operands[0]->shape;
  // The operation as it stands says what is wrong with its types; this one is built on operands that fit.
  for (int i = 0; i < 3; i++)
    if (!hlo_shape_is_array(w->operands[i]->shape) || !hlo_shape_is_static(w->operands[i]->shape))
      return import_refuse(w->c, w->op->loc,
                           "a region of '" STRV_FMT "' of unknown sizes uses values from outside of it",
                           STRV_ARG(w->op->name));
  hlo_instr *index = selected(w, attrs, hlo_shape_elements(x) <= INT32_MAX ? HLO_S32 : HLO_S64);
  if (!index) return false;
  if (hlo_shape_elements(w->operands[1]->shape) != index->shape->dims[0])
    return import_fail(w->c, w->op->loc,
                       "select_and_scatter_c2: the source has %lld elements; expected one for each of %lld windows",
                       (long long)hlo_shape_elements(w->operands[1]->shape), (long long)index->shape->dims[0]);
  return bind_result(w, 0, scattered(w, index));
}

// --- all_reduce, reduce_scatter ------------------------------------------------------------------

// (acc, has anything, ..), (x, true, ..) -> (acc folded with x, true, ..)
static hlo_computation *folding(const rewrite *w, const hlo_shape **type) {
  const mlir_block *block = NULL;
  fold_params p;
  if (!import_region_block(w->c, w->op, 0, &block)) return NULL;
  import_scope s = import_scope_create(w->c, w->s, w->op, "_fold");
  if (!open_fold(w, &s, block, hlo_shape_array(w->c->module->shapes, HLO_PRED, 0, NULL), &p)) return NULL;
  hlo_instr *r = region_result(w, &s, block);
  if (!r) return NULL;
  *type = p.a[0]->shape;
  if (r->shape != *type) {
    import_fail(w->c, w->op->loc, "the region of '" STRV_FMT "' has a result of another type than its arguments",
                STRV_ARG(w->op->name));
    return NULL;
  }
  hlo_builder b = import_builder(&s, w->op->loc);
  hlo_instr *value = hlo_build_select(&b, p.a[1], r, p.b[0]);
  return close_fold(w, &s, &p, value, hlo_build_binary(&b, HLO_OP_OR, p.a[1], p.b[1]));
}

// The members' x, along a new first dimension.
static hlo_instr *gathered(const rewrite *w, hlo_instr *x, const hlo_attrs_all_reduce *a) {
  int rank = x->shape->rank;
  int64_t *dims = ARENA_ARRAY(w->c->arena, int64_t, rank + 1);
  hlo_builder b = import_builder(w->s, w->op->loc);
  if (!hlo_shape_is_static(x->shape)) {
    import_refuse(w->c, w->op->loc, "a region of '" STRV_FMT "' of unknown sizes uses values from outside of it",
                  STRV_ARG(w->op->name));
    return NULL;
  }
  dims[0] = 1;
  for (int i = 0; i < rank; i++) dims[i + 1] = x->shape->dims[i];
  x = hlo_build_reshape(&b, x, rank + 1, dims);
  hlo_attrs_all_gather *gather = hlo_attrs_create(w->c->arena, HLO_ATTR_LIST_all_gather);
  gather->replica_groups = a->replica_groups;
  gather->channel_id = a->channel_id;
  gather->use_global_device_ids = a->use_global_device_ids;
  bool known = a->replica_groups.rows && a->replica_groups.cols && (a->channel_id <= 0 || a->use_global_device_ids);
  dims[0] = known ? a->replica_groups.cols : HLO_DYNAMIC;
  const hlo_shape *shape = hlo_shape_with_dims(w->c->module->shapes, x->shape, rank + 1, dims);
  return emit(w, HLO_OP_ALL_GATHER, shape, 1, &x, NULL, gather);
}

static hlo_instr *folded(const rewrite *w, hlo_instr *x, const hlo_attrs_all_reduce *a, hlo_computation *body,
                         const hlo_shape *type) {
  int n = 2 * (2 + w->caps->values.len), have = 0;
  hlo_instr **operands = ARENA_ARRAY(w->c->arena, hlo_instr *, n);
  for (int i = 0; i < a->replica_groups.rows * a->replica_groups.cols; i++)
    if (a->replica_groups.data[i] < 0) {
      import_refuse(w->c, w->op->loc,
                    "a region of '" STRV_FMT "' over groups of several sizes uses values from outside of it",
                    STRV_ARG(w->op->name));
      return NULL;
    }
  if (!(x = promoted(w, x, type)) || !(x = gathered(w, x, a))) return NULL;
  hlo_builder b = import_builder(w->s, w->op->loc);
  hlo_instr *yes = hlo_build_scalar_i64(&b, HLO_PRED, 1);
  operands[have++] = x;
  if (!(operands[have++] = import_broadcast_like(w->c, w->s, yes, x, w->op->loc)) ||
      !with_captures(w, x, operands, &have))
    return NULL;
  b = import_builder(w->s, w->op->loc);
  hlo_instr *first = hlo_build_scalar_i64(&b, type->dtype, 0);
  operands[have++] = first;
  operands[have++] = hlo_build_scalar_i64(&b, HLO_PRED, 0);
  if (!with_captures(w, NULL, operands, &have)) return NULL;
  hlo_attrs_dimensions *attrs = hlo_attrs_create(w->c->arena, HLO_ATTR_LIST_dimensions);
  attrs->dimensions = hlo_i64s_copy(w->c->arena, (int64_t[]){0}, 1);
  hlo_instr *all = emit(w, HLO_OP_REDUCE, NULL, n, operands, body, attrs);
  b = import_builder(w->s, w->op->loc);
  return all ? hlo_build_get(&b, all, 0) : NULL;
}

static bool all_reduce(const rewrite *w, const hlo_attrs_all_reduce *a) {
  const hlo_shape *type;
  hlo_computation *body = folding(w, &type);
  if (!body) return false;
  if (w->op->n_results != w->op->n_operands)
    return import_fail(w->c, w->op->loc, "all_reduce_c6: %d results of %d operands", w->op->n_results,
                       w->op->n_operands);
  for (int k = 0; k < w->op->n_results; k++)
    if (!bind_result(w, k, folded(w, w->operands[k], a, body, type))) return false;
  return true;
}

// Where the process stands in its group of n: what a reduce_scatter of 0, 1, .. n - 1 leaves with it.
static hlo_instr *place_in_group(const rewrite *w, const hlo_attrs_reduce_scatter *a, int64_t n) {
  hlo_builder b = import_builder(w->s, w->op->loc);
  hlo_instr *all = hlo_build_iota(&b, vector_shape(w, HLO_S32, n), 0);
  hlo_attrs_reduce_scatter *attrs = arena_copy(w->c->arena, a, sizeof *a);
  attrs->dimension = 0;
  hlo_computation *body = hlo_build_binary_computation(w->c->module, HLO_OP_MAXIMUM, HLO_S32);
  hlo_instr *own = emit(w, HLO_OP_REDUCE_SCATTER, vector_shape(w, HLO_S32, 1), 1, &all, body, attrs);
  b = import_builder(w->s, w->op->loc);
  return own ? hlo_build_reshape(&b, own, 0, NULL) : NULL;
}

static bool reduce_scatter(const rewrite *w, const hlo_attrs_reduce_scatter *a) {
  const hlo_shape *type, *x = w->operands[0]->shape, *result = import_result_shape(w->c, w->op);
  int64_t d = a->dimension;
  hlo_computation *body = result ? folding(w, &type) : NULL;
  if (!body) return false;
  if (!hlo_shape_is_array(result) || result->rank != x->rank || d < 0 || d >= x->rank || result->dims[d] <= 0 ||
      x->dims[d] <= 0)
    return import_refuse(w->c, w->op->loc,
                         "a region of '" STRV_FMT "' of unknown or no sizes uses values from outside of it",
                         STRV_ARG(w->op->name));
  const hlo_attrs_all_reduce groups = {.replica_groups = a->replica_groups,
                                       .channel_id = a->channel_id,
                                       .use_global_device_ids = a->use_global_device_ids};
  hlo_instr *all = folded(w, w->operands[0], &groups, body, type);
  hlo_instr *place = all ? place_in_group(w, a, x->dims[d] / result->dims[d]) : NULL;
  if (!place) return false;
  hlo_builder b = import_builder(w->s, w->op->loc);
  hlo_instr **operands = ARENA_ARRAY(w->c->arena, hlo_instr *, x->rank + 1);
  operands[0] = all;
  for (int k = 0; k < x->rank; k++) operands[k + 1] = hlo_build_scalar_i64(&b, HLO_S32, 0);
  operands[d + 1] = hlo_build_binary(&b, HLO_OP_MULTIPLY, place, hlo_build_scalar_i64(&b, HLO_S32, result->dims[d]));
  hlo_attrs_dynamic_slice *attrs = hlo_attrs_create(w->c->arena, HLO_ATTR_LIST_dynamic_slice);
  attrs->slice_sizes = hlo_i64s_copy(w->c->arena, result->dims, result->rank);
  hlo_instr *r = emit(w, HLO_OP_DYNAMIC_SLICE, result, x->rank + 1, operands, NULL, attrs);
  return bind_result(w, 0, r);
}

bool import_is_rewritten(hlo_op op) {
  return op == HLO_OP_SELECT_AND_SCATTER || op == HLO_OP_ALL_REDUCE || op == HLO_OP_REDUCE_SCATTER;
}

bool import_emit_rewritten(import_ctx *c, import_scope *s, const mlir_op *op, hlo_op hop, hlo_instr *const *operands,
                           void *attrs, const import_captures *caps) {
  const rewrite w = {.c = c, .s = s, .op = op, .operands = operands, .caps = caps};
  if (hop == HLO_OP_SELECT_AND_SCATTER) return select_and_scatter(&w, attrs);
  if (hop == HLO_OP_REDUCE_SCATTER) return reduce_scatter(&w, attrs);
  return all_reduce(&w, attrs);
}
