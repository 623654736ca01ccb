// SPDX-License-Identifier: Apache-2.0
// See opt_fusion_internal.h: facts and costs of operations for fusion, creation of fusion instructions, their names.
#include <stdio.h>

#include "hlo/opt/opt_fusion_internal.h"

// --- the module ----------------------------------------------------------------------------------

static void visit(arena *scratch, hlo_computation *c, bitset *seen, fusion_computations *out) {
  if (bitset_get(seen, c->id)) return;
  bitset_set(seen, c->id);
  HLO_FOR_EACH (i, c) {
    if (i->op != HLO_OP_WHILE && i->op != HLO_OP_CONDITIONAL && i->op != HLO_OP_CALL) continue;
    for (int n = 0; n < i->n_called; n++) visit(scratch, i->called[n], seen, out);
  }
  vec_push(scratch, out, c);
}

fusion_computations fusion_executed(arena *scratch, const hlo_module *m) {
  bitset seen = bitset_create(scratch, m->next_computation_id);
  fusion_computations out = {0};
  visit(scratch, m->entry, &seen, &out);
  return out;
}

static void place(hlo_computation *c, bitset *seen, hlo_computation **order, int *n) {
  if (bitset_get(seen, c->id)) return;
  bitset_set(seen, c->id);
  HLO_FOR_EACH (i, c)
    for (int k = 0; k < i->n_called; k++) place(i->called[k], seen, order, n);
  order[(*n)++] = c;
}

void fusion_order_computations(arena *scratch, hlo_module *m) {
  bitset seen = bitset_create(scratch, m->next_computation_id);
  hlo_computation **order = ARENA_ARRAY(scratch, hlo_computation *, m->n_computations + 1);
  int n = 0;
  for (int c = 0; c < m->n_computations; c++) place(m->computations[c], &seen, order, &n);
  LEMNOS_ASSERT(n == m->n_computations);
  memcpy(m->computations, order, sizeof *order * (size_t)n);
}

// --- operations ----------------------------------------------------------------------------------

bool fusion_fits(const hlo_pass_ctx *ctx, const hlo_instr *i) {
  int64_t range = ctx->target ? ctx->target->max_storage_range : 0;
  if (range <= 0 || range == INT64_MAX) return true;
  for (int o = -1; o < i->n_operands; o++) {
    const hlo_shape *s = o < 0 ? i->shape : i->operands[o]->shape;
    for (int l = 0; l < hlo_shape_leaves(s); l++)
      if (hlo_shape_is_array(hlo_shape_leaf(s, l)) && hlo_shape_bytes(hlo_shape_leaf(s, l)) > range) return false;
  }
  return true;
}

static bool is_data_movement(const hlo_instr *i) {
  switch (i->op) {
    case HLO_OP_IOTA:
    case HLO_OP_BROADCAST_IN_DIM:
    case HLO_OP_CONCATENATE:
    case HLO_OP_PAD:
    case HLO_OP_RESHAPE:
    case HLO_OP_REVERSE:
    case HLO_OP_SLICE:
    case HLO_OP_DYNAMIC_SLICE:
    case HLO_OP_GATHER:
    case HLO_OP_TRANSPOSE:
    case HLO_OP_BITCAST:
    case HLO_OP_BITCAST_CONVERT:
    case HLO_OP_COPY: return true;
    default: return false;
  }
}

bool fusion_is_loop_op(const hlo_pass_ctx *ctx, const hlo_instr *i) {
  if (!hlo_shape_is_array(i->shape) || !hlo_shape_is_static(i->shape) || i->shape->quant) return false;
  for (int o = 0; o < i->n_operands; o++) {
    const hlo_shape *s = i->operands[o]->shape;
    if (!hlo_shape_is_array(s) || !hlo_shape_is_static(s) || s->quant) return false;
  }
  if (i->op == HLO_OP_CONSTANT) return hlo_constant_value(i)->splat || hlo_shape_elements(i->shape) == 1;
  if (!hlo_op_has(i->op, HLO_TRAIT_E) && !is_data_movement(i)) return false;
  if (i->op == HLO_OP_BITCAST && i->shape->dtype != i->operands[0]->shape->dtype) return false;
  if (i->n_called || hlo_instr_has_side_effect(i) || !fusion_fits(ctx, i)) return false;
  return !ctx->can_fuse || ctx->can_fuse(ctx->target, i);
}

bool fusion_is_hero(const hlo_instr *i) {
  if (!hlo_shape_is_static(i->shape)) return false;
  return i->op == HLO_OP_DOT_GENERAL || i->op == HLO_OP_CONVOLUTION || i->op == HLO_OP_REDUCE;
}

bool fusion_is_reshape(const hlo_instr *i) {
  if (i->op != HLO_OP_RESHAPE && i->op != HLO_OP_BITCAST) return false;
  return !i->shape->layout && !i->operands[0]->shape->layout && i->shape->dtype == i->operands[0]->shape->dtype;
}

bool fusion_moves_minor(const hlo_instr *i) {
  if (i->op != HLO_OP_TRANSPOSE) return false;
  hlo_i64s p = HLO_ATTRS(i, transpose)->permutation;
  int last_in = -1, last_out = -1;
  for (int d = 0; d < p.n; d++) {
    if (i->operands[0]->shape->dims[d] > 1) last_in = d;
    if (i->shape->dims[d] > 1) last_out = d;
  }
  return last_out >= 0 && p.data[last_out] != last_in;
}

static bool is_integer(const hlo_instr *i) {
  return !hlo_dtype_is_float(i->shape->dtype) && !hlo_dtype_is_complex(i->shape->dtype);
}

int fusion_weight(const hlo_instr *i) {
  int scale = hlo_dtype_is_complex(i->shape->dtype) ? 4 : 1;
  switch (i->op) {
    case HLO_OP_CONSTANT:
    case HLO_OP_IOTA:
    case HLO_OP_BROADCAST_IN_DIM:
    case HLO_OP_RESHAPE:
    case HLO_OP_BITCAST:
    case HLO_OP_COPY:
    case HLO_OP_SLICE:
    case HLO_OP_TRANSPOSE:
    case HLO_OP_REVERSE:
    case HLO_OP_BITCAST_CONVERT:
    case HLO_OP_REAL:
    case HLO_OP_IMAG:
    case HLO_OP_COMPLEX:
    case HLO_OP_DYNAMIC_SLICE: return 0;
    case HLO_OP_PAD:
    case HLO_OP_GATHER: return 4;
    case HLO_OP_CONCATENATE: return 3 * i->n_operands;
    case HLO_OP_DIVIDE:
    case HLO_OP_REMAINDER: return is_integer(i) ? 16 : 5 * scale;
    case HLO_OP_SQRT:
    case HLO_OP_RSQRT: return 5 * scale;
    case HLO_OP_EXPONENTIAL:
    case HLO_OP_LOG:
    case HLO_OP_EXPONENTIAL_MINUS_ONE:
    case HLO_OP_LOG_PLUS_ONE:
    case HLO_OP_LOGISTIC:
    case HLO_OP_CBRT: return 20 * scale;
    case HLO_OP_SINE:
    case HLO_OP_COSINE:
    case HLO_OP_TAN:
    case HLO_OP_TANH:
    case HLO_OP_ERF:
    case HLO_OP_ERFC:
    case HLO_OP_SINH:
    case HLO_OP_COSH:
    case HLO_OP_ASIN:
    case HLO_OP_ACOS:
    case HLO_OP_ATAN:
    case HLO_OP_ATAN2:
    case HLO_OP_ASINH:
    case HLO_OP_ACOSH:
    case HLO_OP_ATANH: return 30 * scale;
    case HLO_OP_POWER: return 50 * scale;
    default: return scale;
  }
}

int64_t fusion_elements(const hlo_shape *s) {
  int64_t most = 0;
  for (int l = 0; l < hlo_shape_leaves(s); l++) {
    const hlo_shape *leaf = hlo_shape_leaf(s, l);
    int64_t n = hlo_shape_is_array(leaf) ? hlo_shape_elements(leaf) : 0;
    if (n > most) most = n;
  }
  return most;
}

int64_t fusion_bytes(const hlo_shape *s) {
  int64_t sum = 0;
  for (int l = 0; l < hlo_shape_leaves(s); l++) {
    const hlo_shape *leaf = hlo_shape_leaf(s, l);
    if (hlo_shape_is_array(leaf)) sum += hlo_shape_bytes(leaf);
  }
  return sum;
}

double fusion_launch_cost(const hlo_target *t) {
  if (!t || t->dispatch_us <= 0) return 32 << 10;
  double cost = t->dispatch_us * 16384;
  return cost < 8192 ? 8192 : cost > (1 << 20) ? 1 << 20 : cost;
}

int fusion_max_operands(const hlo_target *t, int n_outputs) {
  int limit = t && t->max_buffers > 0 ? t->max_buffers - n_outputs - 1 : 64;  // one to spare for scratch
  return limit > 64 ? 64 : limit < 1 ? 1 : limit;
}

// --- fusion instructions -------------------------------------------------------------------------

static bool is_named(const hlo_instr *i) {
  return i->op != HLO_OP_PARAMETER && i->op != HLO_OP_CONSTANT && i->op != HLO_OP_TUPLE &&
         i->op != HLO_OP_GET_TUPLE_ELEMENT && i->op != HLO_OP_RESHAPE && i->op != HLO_OP_BITCAST;
}

const char *fusion_name(arena *scratch, hlo_instr *const *list, int n, const hlo_instr *root) {
  int best[2] = {-1, -1};  // the heaviest two that are not the root's operation
  for (int round = 0; round < 2; round++) {
    int most = -1;
    for (int k = 0; k < n; k++) {
      const hlo_instr *i = list[k];
      if (!is_named(i) || i->op == root->op || (round && (best[0] < 0 || i->op == list[best[0]]->op))) continue;
      int w = fusion_is_hero(i) ? 1000 : fusion_weight(i);
      if (w > most) most = w, best[round] = k;
    }
  }
  if (best[1] >= 0 && best[1] < best[0]) {
    int t = best[0];
    best[0] = best[1], best[1] = t;
  }
  char *out = (char *)"";
  for (int k = 0; k < 2; k++)
    if (best[k] >= 0) out = arena_printf(scratch, "%s%s_", out, hlo_op_table[list[best[k]]->op].text_name);
  out = arena_printf(scratch, "%s%s", out, hlo_op_table[root->op].text_name);
  for (char *c = out; *c; c++)
    if (*c == '-') *c = '_';
  return out;
}

typedef struct maker {
  const fusion_spec *spec;
  arena *scratch;
  hlo_computation *body;
  u64map values;    // instruction outside -> parameter or clone
  u64map reshaped;  // value in the body -> its reshape
  fusion_list operands;
} maker;

static hlo_instr *body_value(maker *k, hlo_instr *outside) {
  hlo_instr *v = ptrmap_get(&k->values, outside);
  if (v) return v;
  hlo_builder b = hlo_builder_end(k->body);
  b.before = k->body->n_params ? k->body->params[k->body->n_params - 1]->next : k->body->first;
  b.loc = outside->loc;
  v = hlo_build_parameter(&b, outside->shape, (strv){0});
  vec_push(k->scratch, &k->operands, outside);
  ptrmap_put(k->scratch, &k->values, outside, v);
  return v;
}

// A value that is used at the dimensions of spec->dims.
static hlo_instr *retyped_value(maker *k, hlo_instr *v) {
  const hlo_shape *dims = k->spec->dims;
  if (v->shape->rank == 0 || hlo_shape_same_dims(v->shape, dims)) return v;
  hlo_instr *r = ptrmap_get(&k->reshaped, v);
  if (r) return r;
  hlo_builder b = hlo_builder_end(k->body);
  b.loc = v->loc;
  r = hlo_build_reshape(&b, v, dims->rank, dims->dims);
  ptrmap_put(k->scratch, &k->reshaped, v, r);
  return r;
}

static void clone_member(maker *k, hlo_instr *m) {
  const fusion_spec *s = k->spec;
  bool retype = s->dims && bitset_get(s->retyped, m->id) && !fusion_is_hero(m);
  if (retype && fusion_is_reshape(m)) {
    ptrmap_put(k->scratch, &k->values, m, retyped_value(k, body_value(k, m->operands[0])));
    return;
  }
  hlo_instr **operands = ARENA_ARRAY(k->scratch, hlo_instr *, m->n_operands + 1);
  for (int o = 0; o < m->n_operands; o++) {
    operands[o] = body_value(k, m->operands[o]);
    if (retype && m->operands[o]->shape->rank != 0) operands[o] = retyped_value(k, operands[o]);
  }
  hlo_instr *clone = hlo_instr_clone(m, k->body, NULL, operands);
  if (retype) clone->shape = hlo_shape_with_dims(k->body->module->shapes, m->shape, s->dims->rank, s->dims->dims);
  ptrmap_put(k->scratch, &k->values, m, clone);
}

hlo_instr *fusion_create(arena *scratch, const fusion_spec *s, hlo_instr *before) {
  hlo_module *m = before->parent->module;
  const char *name = fusion_name(scratch, s->members, s->n, s->root);
  maker k = {.spec = s, .scratch = scratch};
  k.body = hlo_computation_create(m, strv_from_cstr(arena_printf(scratch, "fused_%s", name)));
  for (int n = 0; n < s->n; n++) clone_member(&k, s->members[n]);
  k.body->root = ptrmap_get(&k.values, s->root);
  hlo_attrs_fusion *attrs = hlo_attrs_create(m->arena, HLO_ATTR_LIST_fusion);
  attrs->kind = s->kind;
  return hlo_instr_create(before->parent, before, HLO_OP_FUSION, k.body->root->shape, k.operands.len, k.operands.data,
                          1, &k.body, attrs, s->root->loc, strv_from_cstr(arena_printf(scratch, "%s_fusion", name)));
}
