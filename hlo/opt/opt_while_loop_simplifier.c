// SPDX-License-Identifier: Apache-2.0
// While loops: those that never run become their operand, those that run once become their body; elements that are
// passed on unchanged are read from the initial value outside, and inside too if that is a uniform constant; elements
// that nothing needs go.
// Needs: trip counts annotated. Leaves: loops of unknown or larger trip count, without those elements.
#include "hlo/opt/control.h"

static bool is_false(const hlo_instr *x) {
  return x->op == HLO_OP_CONSTANT && x->shape->dtype == HLO_PRED && !hlo_literal_get_i64(hlo_constant_value(x), 0);
}

static bool fold_trips(hlo_instr *w) {
  int64_t trips = HLO_ATTRS(w, while)->known_trip_count;
  if (is_false(w->called[0]->root)) trips = 0;
  if (trips != 0 && trips != 1) return false;
  for (int j = 0; j < 2; j++)
    HLO_FOR_EACH (i, w->called[j])
      if (j == 0 && hlo_instr_has_side_effect(i)) return false;
  hlo_instr *value = trips == 0 ? w->operands[0] : control_inline(w->called[1], w->operands, w);
  hlo_instr_replace_uses(w, value);
  hlo_instr_remove(w);
  return true;
}

// A constant that costs nothing wherever it stands.
static bool is_uniform_constant(const hlo_instr *x) {
  return x && x->op == HLO_OP_CONSTANT && (hlo_constant_value(x)->splat || hlo_shape_elements(x->shape) == 1);
}

static bool replace_gets(hlo_instr *tuple, int k, hlo_instr *value, hlo_computation *clone_into) {
  bool changed = false;
  for (int u = tuple->n_uses - 1; u >= 0; u--) {
    hlo_instr *get = tuple->uses[u].user;
    if (get->op != HLO_OP_GET_TUPLE_ELEMENT || HLO_ATTRS(get, get_tuple_element)->index != k) continue;
    bool only_root = clone_into && get->n_uses == 1 && get->uses[0].user == clone_into->root;
    if (get->n_uses == 0 || only_root) continue;
    hlo_instr *v = value;
    if (clone_into) v = hlo_instr_clone(value, clone_into, get, NULL);
    if (!clone_into || clone_into->root->op != HLO_OP_TUPLE) {
      hlo_instr_replace_uses(get, v);
    } else {  // the root's own slot stays: it keeps the element invariant
      for (int s = get->n_uses - 1; s >= 0; s--)
        if (get->uses[s].user != clone_into->root) hlo_instr_set_operand(get->uses[s].user, get->uses[s].operand, v);
    }
    changed = true;
  }
  return changed;
}

// Elements passed on unchanged.
static bool forward_invariants(hlo_instr *w) {
  bool changed = false;
  if (!hlo_shape_is_tuple(w->shape)) return false;
  for (int k = 0; k < w->shape->n_elements; k++) {
    hlo_instr *init = control_init(w, k);
    if (!init || !control_is_invariant(w, k)) continue;
    changed |= replace_gets(w, k, init, NULL);
    if (!is_uniform_constant(init)) continue;
    hlo_computation *cond = w->called[0], *body = w->called[1];
    // A computation that another loop uses too must not learn this one's constants.
    int users = 0;
    hlo_module *m = w->parent->module;
    for (int c = 0; c < m->n_computations; c++)
      HLO_FOR_EACH (i, m->computations[c])
        for (int j = 0; j < i->n_called; j++) users += i->called[j] == cond || i->called[j] == body;
    if (users != 2 || body->root->op != HLO_OP_TUPLE) continue;
    if (cond->params[0]->n_uses) changed |= replace_gets(cond->params[0], k, init, cond);
    changed |= replace_gets(body->params[0], k, init, body);
  }
  return changed;
}

// Marks what x needs of the body's parameter.
static void need(const hlo_instr *x, bitset *live, bitset *seen, int base, bool *grew) {
  int k;
  if (bitset_get(seen, x->id - base)) return;
  bitset_set(seen, x->id - base);
  if (x->op == HLO_OP_GET_TUPLE_ELEMENT && control_is_carried(x, &k)) {
    if (!bitset_get(live, k)) *grew = true;
    bitset_set(live, k);
    return;
  }
  for (int o = 0; o < x->n_operands; o++) need(x->operands[o], live, seen, base, grew);
}

static bool only_gets(const hlo_instr *x) {
  if (x->parent->root == x) return false;
  for (int u = 0; u < x->n_uses; u++)
    if (x->uses[u].user->op != HLO_OP_GET_TUPLE_ELEMENT) return false;
  return true;
}

static void mark_gets(const hlo_instr *x, bitset *live) {
  for (int u = 0; u < x->n_uses; u++)
    if (x->uses[u].user->n_uses || x->parent->root == x->uses[u].user)
      bitset_set(live, (int)HLO_ATTRS(x->uses[u].user, get_tuple_element)->index);
}

static bool remove_dead_elements(hlo_pass_ctx *ctx, hlo_instr *w) {
  if (!hlo_shape_is_tuple(w->shape) || w->called[1]->root->op != HLO_OP_TUPLE || !only_gets(w)) return false;
  const hlo_computation *cond = w->called[0], *body = w->called[1];
  if (!only_gets(cond->params[0]) || !only_gets(body->params[0])) return false;
  int n = w->shape->n_elements, ids = w->parent->module->next_id;
  bitset live = bitset_create(ctx->scratch, n + 1), seen = bitset_create(ctx->scratch, ids);
  mark_gets(w, &live);
  mark_gets(cond->params[0], &live);
  bool grew = true;
  HLO_FOR_EACH (i, body)
    if (hlo_instr_has_side_effect(i)) need(i, &live, &seen, 0, &grew);
  for (grew = true; grew;) {
    grew = false;
    for (int k = 0; k < n; k++)
      if (bitset_get(&live, k)) need(body->root->operands[k], &live, &seen, 0, &grew);
  }
  int alive = bitset_count(&live);
  if (alive == n || alive == 0) return false;
  bitset dead = bitset_create(ctx->scratch, n + 1);
  for (int k = 0; k < n; k++)
    if (!bitset_get(&live, k)) bitset_set(&dead, k);
  if (!control_normalize(w)) return false;
  control_remove_carried(w, &dead);
  return true;
}

lemnos_status hlo_opt_while_loop_simplifier(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  for (int c = 0; c < m->n_computations; c++) {
    hlo_computation *computation = m->computations[c];
    HLO_FOR_EACH_SAFE (w, computation) {
      if (w->op != HLO_OP_WHILE) continue;
      if (!hlo_opt_allowed(ctx)) return LEMNOS_SUCCESS;
      if (fold_trips(w)) {
        *changed = true;
        continue;
      }
      *changed |= forward_invariants(w);
      *changed |= remove_dead_elements(ctx, w);
    }
    // Copies of computations may have been put in front of this one.
    while (m->computations[c] != computation) c++;
  }
  return LEMNOS_SUCCESS;
}
