// SPDX-License-Identifier: Apache-2.0
// Import: values of the enclosing function that the region of a reduce, sort, map... uses.
//
// Such a region becomes a closed computation on scalars, so a captured scalar is made an input of its own, broadcast to
// the inputs' shape: what is at every position is what the region sees.
//
//   map             one more parameter
//   sort            one more operand, which is sorted along
//   reduce, reduce_window, scatter   one more input; its initial value and updates are the scalar again, its result too
//
// What a region computes from a captured tensor alone (a slice of it, say) is computed in front of the operation, so
// that a scalar is left to capture. select_and_scatter, all_reduce and reduce_scatter have no place for more operands
// and become operations that have (import_captured_ops.c). In the regions of any other only what can be made anew
// inside (import_is_clonable) may be used, the rest is refused by name.
#include "frontend/import_internal.h"

static bool is_reducer(hlo_op op) {
  return op == HLO_OP_REDUCE || op == HLO_OP_REDUCE_WINDOW || op == HLO_OP_SCATTER;
}

static bool takes_captures(hlo_op op) {
  return is_reducer(op) || op == HLO_OP_MAP || op == HLO_OP_SORT || import_is_rewritten(op);
}

// --- computing in front --------------------------------------------------------------------------

static bool is_scalar(const mlir_value *v) {
  return v->type->kind == MLIR_TYPE_TENSOR && v->type->rank == 0;
}

// Operations without effects or regions, each of whose operands is from outside (or moved there), one of them no
// scalar.
static bool is_movable(const mlir_op *op, const mlir_region *region, const u64map *moved) {
  hlo_op hop;
  bool tensor = false;
  if (op->n_results != 1 || op->n_regions || !op->n_operands || !hlo_op_from_stablehlo(op->name, &hop) ||
      hlo_op_has(hop, HLO_TRAIT_S | HLO_TRAIT_D) || hop == HLO_OP_CUSTOM_CALL)
    return false;
  for (int i = 0; i < op->n_operands; i++) {
    const mlir_value *v = op->operands[i];
    if (import_is_inside(v, region) && !ptrmap_get(moved, v) && !import_is_clonable(v, true, 0)) return false;
    tensor |= !is_scalar(v) && !import_is_clonable(v, false, 0);
  }
  return tensor;
}

static bool move_out(import_ctx *c, import_scope *s, const mlir_region *region) {
  u64map moved = {0};
  for (const mlir_op *x = region->first ? region->first->first : NULL; x; x = x->next) {
    if (!is_movable(x, region, &moved)) continue;
    for (int i = 0; i < x->n_operands; i++) {  // constants of the region
      const mlir_value *v = x->operands[i];
      if (import_is_inside(v, region) && !ptrmap_get(&s->values, v) && !import_op(c, s, v->op)) return false;
    }
    if (!import_op(c, s, x)) return false;
    ptrmap_put(c->arena, &moved, &x->results[0], (void *)x);
  }
  return true;
}

// --- finding -------------------------------------------------------------------------------------

bool import_find_captures(import_ctx *c, import_scope *s, const mlir_op *op, hlo_op hop, import_captures *out) {
  u64map seen = {0};
  *out = (import_captures){0};
  if (!takes_captures(hop)) return true;
  for (int i = 0; i < op->n_regions; i++) {
    if (!move_out(c, s, &op->regions[i])) return false;
    import_collect_captures(c, s, &op->regions[i], &seen, &out->values);
  }
  out->instrs = ARENA_ARRAY(c->arena, hlo_instr *, out->values.len);
  for (int i = 0; i < out->values.len; i++) {
    const mlir_value *v = out->values.data[i];
    if (!(out->instrs[i] = import_value(c, s, v, op->loc))) return false;
    const hlo_shape *shape = out->instrs[i]->shape;
    if (hlo_shape_is_array(shape) && shape->rank == 0) continue;
    return import_refuse(c, op->loc,
                         "a region of '" STRV_FMT "' uses %%" STRV_FMT ", which is no scalar, from outside of it",
                         STRV_ARG(op->name), STRV_ARG(v->name));
  }
  return true;
}

// --- the region ----------------------------------------------------------------------------------

// A parameter for each capture; bound: the region sees it there.
static bool capture_params(import_ctx *c, import_scope *s, const mlir_op *op, const import_captures *caps, bool bound,
                           hlo_instr **out) {
  hlo_builder b = import_builder(s, op->loc);
  for (int i = 0; i < caps->values.len; i++) {
    hlo_instr *p = hlo_build_parameter(&b, caps->instrs[i]->shape, (strv){0});
    if (bound) import_bind(c, s, caps->values.data[i], p);
    if (out) out[i] = p;
  }
  return true;
}

static bool block_params(import_ctx *c, import_scope *s, const mlir_op *op, const mlir_block *b, int from, int to) {
  hlo_builder builder = import_builder(s, op->loc);
  for (int i = from; i < to; i++) {
    const hlo_shape *shape = import_type(c, b->args[i].type, op->loc);
    if (!shape) return false;
    import_bind(c, s, &b->args[i], hlo_build_parameter(&builder, shape, (strv){0}));
  }
  return true;
}

hlo_computation *import_captured_region(import_ctx *c, import_scope *outer, const mlir_op *op, int region, hlo_op hop,
                                        const import_captures *caps) {
  const mlir_block *b = NULL;
  import_scope s;
  import_values results = {0};
  int n = caps->values.len;
  hlo_instr **params = ARENA_ARRAY(c->arena, hlo_instr *, n);
  if (!import_region_block(c, op, region, &b)) return NULL;
  s = import_scope_create(c, outer, op, "_body");
  if (is_reducer(hop)) {
    int half = b->n_args / 2;
    if (!block_params(c, &s, op, b, 0, half) || !capture_params(c, &s, op, caps, true, params) ||
        !block_params(c, &s, op, b, half, b->n_args) || !capture_params(c, &s, op, caps, false, NULL))
      return NULL;
  } else if (!block_params(c, &s, op, b, 0, b->n_args)) {
    return NULL;
  } else if (hop == HLO_OP_SORT) {
    for (int i = 0; i < n; i++) {
      import_captures one = {.instrs = &caps->instrs[i]};
      vec_push(c->arena, &one.values, caps->values.data[i]);
      capture_params(c, &s, op, &one, true, NULL);
      capture_params(c, &s, op, &one, false, NULL);
    }
  } else {
    capture_params(c, &s, op, caps, true, params);
  }
  if (!import_scope_body(c, &s, b, &results)) return NULL;
  if (is_reducer(hop)) vec_append(c->arena, &results, params, n);
  import_set_root(c, &s, &results, op->loc);
  return s.computation;
}

// --- the operation -------------------------------------------------------------------------------

typedef struct widening {
  import_ctx *c;
  import_scope *s;
  const mlir_op *op;
  const import_captures *caps;
  import_values operands;
} widening;

static void take(widening *w, hlo_instr *const *operands, int from, int to) {
  vec_append(w->c->arena, &w->operands, operands + from, to - from);
}

// The captures as they are (like is NULL), or broadcast to the shape of `like`.
static bool add_captures(widening *w, hlo_instr *like) {
  for (int i = 0; i < w->caps->values.len; i++) {
    hlo_instr *x = w->caps->instrs[i];
    if (like && !(x = import_broadcast_like(w->c, w->s, x, like, w->op->loc))) return false;
    vec_push(w->c->arena, &w->operands, x);
  }
  return true;
}

static bool widen_operands(widening *w, hlo_op hop, hlo_instr *const *operands) {
  int n = w->op->n_operands, inputs = hop == HLO_OP_SCATTER ? (n - 1) / 2 : n / 2;
  if (!is_reducer(hop)) {
    take(w, operands, 0, n);
    return add_captures(w, operands[0]);
  }
  take(w, operands, 0, inputs);
  if (!add_captures(w, operands[0])) return false;
  take(w, operands, inputs, n);  // scatter: the indices, too
  return add_captures(w, hop == HLO_OP_SCATTER ? operands[n - 1] : NULL);
}

bool import_emit_captured(import_ctx *c, import_scope *s, const mlir_op *op, hlo_op hop, hlo_instr *const *operands,
                          hlo_computation *const *called, void *attrs, const import_captures *caps) {
  widening w = {.c = c, .s = s, .op = op, .caps = caps};
  const hlo_shape *declared = import_result_shape(c, op);
  if (!declared || !widen_operands(&w, hop, operands)) return false;
  int n = caps->values.len, results = op->n_results;
  if (hop != HLO_OP_MAP) {
    const hlo_shape **shapes = ARENA_ARRAY(c->arena, const hlo_shape *, results + n);
    for (int i = 0; i < results; i++)
      if (!(shapes[i] = import_type(c, op->results[i].type, op->loc))) return false;
    for (int i = 0; i < n; i++) {
      const hlo_shape *own = caps->instrs[i]->shape;
      shapes[results + i] = results ? import_shape_of_elements(c, shapes[0], own) : own;
    }
    declared = hlo_shape_tuple(c->module->shapes, results + n, shapes);
  }
  hlo_instr *i =
      import_emit(c, s, hop, declared, w.operands.len, w.operands.data, op->n_regions, called, attrs, op->loc);
  if (!i || hop == HLO_OP_MAP) return i && import_bind_results(c, s, op, i);
  hlo_builder b = import_builder(s, op->loc);
  for (int k = 0; k < results; k++) import_bind(c, s, &op->results[k], hlo_build_get(&b, i, k));
  return true;
}
