// SPDX-License-Identifier: Apache-2.0
// Inserts the copies that make buffer assignment's forced aliases legal (hlo/analysis/buffers.h), then removes those
// that liveness shows to be needless. The last pass: the order of instructions is final afterwards.
//
// 1. Every while and conditional gets computations of its own (buffers belong to one call).
// 2. Copies stand at: each leaf of the entry's root; each leaf of a while's operand; each leaf of a body's root
//   (through a second copy when it
//    is another slot of the carried value, since all slots are written before any old one may be read again); branch
//    roots.
// 3. For each copy, in that order, source and copy are merged if their groups do not interfere (alias.h); the copy then
//   goes away.
// Needs: calls inlined. Leaves: no illegal sharing; no copy that the analysis can do without.
#include "hlo/analysis/alias.h"
#include "hlo/opt/opt_internal.h"

typedef struct state {
  hlo_module *m;
  VEC(hlo_instr *) copies;  // in the order of attempts
  arena *scratch;
} state;

static void own_computations(hlo_computation *c, bitset *claimed, bool *changed) {
  HLO_FOR_EACH (i, c) {
    if (i->op != HLO_OP_WHILE && i->op != HLO_OP_CONDITIONAL) continue;
    for (int n = 0; n < i->n_called; n++) {
      if (i->called[n]->id < claimed->n_bits && !bitset_get(claimed, i->called[n]->id)) {
        bitset_set(claimed, i->called[n]->id);
      } else {
        i->called[n] = hlo_computation_clone(i->called[n], c->module);
        *changed = true;
      }
      own_computations(i->called[n], claimed, changed);
    }
  }
}

static hlo_instr *copy_of(state *s, hlo_builder *b, hlo_instr *x) {
  hlo_instr *copy = hlo_build(b, HLO_OP_COPY, x->shape, 1, &x, 0, NULL, NULL);
  vec_push(s->scratch, &s->copies, copy);
  return copy;
}

// The same value with every array in a buffer of its own.
static hlo_instr *copied(state *s, hlo_builder *b, hlo_instr *x) {
  if (hlo_shape_is_token(x->shape)) return x;
  if (!hlo_shape_is_tuple(x->shape)) return copy_of(s, b, x);
  int n = x->shape->n_elements;
  hlo_instr **parts = ARENA_ARRAY(s->scratch, hlo_instr *, n + 1);
  for (int e = 0; e < n; e++) parts[e] = copied(s, b, hlo_build_get(b, x, e));
  return hlo_build_tuple(b, n, parts);
}

static void copy_root(state *s, hlo_computation *c) {
  hlo_builder b = hlo_builder_end(c);
  b.loc = c->root->loc;
  c->root = copied(s, &b, c->root);
}

// The parameter leaf that x is, through get_tuple_element; -1 if it is something else.
static const hlo_instr *through_free(const hlo_instr *x) {
  while (x->op == HLO_OP_GET_TUPLE_ELEMENT || x->op == HLO_OP_BITCAST || x->op == HLO_OP_OPTIMIZATION_BARRIER) {
    if (x->op == HLO_OP_GET_TUPLE_ELEMENT && x->operands[0]->op == HLO_OP_TUPLE)
      x = x->operands[0]->operands[HLO_ATTRS(x, get_tuple_element)->index];
    else
      x = x->operands[0];
  }
  return x;
}

static void copy_body_root(state *s, hlo_computation *body) {
  hlo_builder b = hlo_builder_end(body);
  hlo_instr *root = body->root, *param = body->params[0];
  b.loc = root->loc;
  if (!hlo_shape_is_tuple(root->shape)) {
    body->root = root == param ? root : copied(s, &b, root);
    return;
  }
  int n = root->shape->n_elements;
  hlo_instr **parts = ARENA_ARRAY(s->scratch, hlo_instr *, n + 1);
  bool *own = ARENA_ARRAY(s->scratch, bool, n + 1);
  for (int e = 0; e < n; e++) {
    parts[e] = hlo_build_get(&b, root, e);
    own[e] = parts[e]->op == HLO_OP_GET_TUPLE_ELEMENT && parts[e]->operands[0] == param &&
             HLO_ATTRS(parts[e], get_tuple_element)->index == e;
  }
  // First all that comes straight from other slots (or twice from one value), then the writes.
  for (int e = 0; e < n; e++)
    if (!own[e] && through_free(parts[e]) == param) parts[e] = copied(s, &b, parts[e]);
  for (int e = 0; e < n; e++)
    if (!own[e]) parts[e] = copied(s, &b, parts[e]);
  body->root = hlo_build_tuple(&b, n, parts);
}

static void insert(state *s, hlo_computation *c) {
  HLO_FOR_EACH_SAFE (i, c) {
    if (i->op == HLO_OP_WHILE) {
      copy_body_root(s, i->called[1]);
      hlo_builder b = hlo_builder_before(i);
      hlo_instr_set_operand(i, 0, copied(s, &b, i->operands[0]));
    } else if (i->op == HLO_OP_CONDITIONAL) {
      for (int n = 0; n < i->n_called; n++) copy_root(s, i->called[n]);
    } else {
      continue;
    }
    for (int n = 0; n < i->n_called; n++) insert(s, i->called[n]);
  }
}

static void remove_needless(hlo_pass_ctx *ctx, state *s) {
  alias_analysis *a = alias_analyze(s->m, s->scratch);
  for (int n = 0; n < s->copies.len; n++) {
    hlo_instr *c = s->copies.data[n], *x = c->operands[0];
    bool all = true;
    for (int l = 0; l < hlo_shape_leaves(c->shape) && all; l++)
      all = alias_try_merge(a, alias_value_of(a, c, l), alias_value_of(a, x, l));
    if (!all || (ctx->bisect_limit >= 0 && ctx->bisect_count++ >= ctx->bisect_limit)) continue;
    // The analysis stays valid: positions do not move, and the copy's value now is x's.
    hlo_instr_replace_uses(c, x);
    hlo_instr_remove(c);
  }
}

lemnos_status hlo_opt_copy_insertion(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  state s = {.m = m, .scratch = ctx->scratch};
  bitset claimed = bitset_create(ctx->scratch, m->next_computation_id);
  own_computations(m->entry, &claimed, changed);
  copy_root(&s, m->entry);
  insert(&s, m->entry);
  int before = s.copies.len;
  remove_needless(ctx, &s);
  *changed |= before > 0;
  bool more = true;  // tuples taken apart for copies that went away
  while (more) {
    more = false;
    LEMNOS_TRY(hlo_opt_dce(ctx, m, &more));
  }
  return LEMNOS_SUCCESS;
}
