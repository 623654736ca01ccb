// SPDX-License-Identifier: Apache-2.0
// Moves computations that are the same in every iteration in front of their loop; their results join the carried tuple
// as elements that are passed on unchanged.
//
// Invariant are elements passed on unchanged, constants, and what is computed from them without effects. A value is
// moved if the loop uses it for something that is not invariant and it costs more than it holds: data movement,
// broadcasts and iota alone stay (they would only grow the carried tuple), and so does whatever is larger than all it
// is computed from and than SMALL bytes.
// Nothing that may not end is moved; all else may be computed for a loop that never runs, for no operation traps.
// Needs: trip counts, to see that inner loops end. Leaves: invariant computations outside.
#include "hlo/opt/control.h"

enum { SMALL = 1024, MAX_MOVED = 64 };

static bool is_cheap(hlo_op op) {
  return hlo_op_has(op, HLO_TRAIT_B) || op == HLO_OP_IOTA || op == HLO_OP_PARAMETER;
}

static int64_t shape_bytes(const hlo_shape *s) {
  int64_t sum = 0;
  for (int k = 0; k < hlo_shape_leaves(s); k++) sum += hlo_shape_bytes(hlo_shape_leaf(s, k));
  return sum;
}

typedef struct motion {
  hlo_pass_ctx *ctx;
  hlo_instr *w;
  bitset invariant, worth;  // by id
  u64map moved;             // body instruction -> its copy outside
} motion;

static bool may_move(const hlo_instr *i) {
  if (i->op == HLO_OP_PARAMETER || hlo_op_has(i->op, HLO_TRAIT_D) || hlo_instr_has_side_effect(i)) return false;
  if (i->op == HLO_OP_WHILE && HLO_ATTRS(i, while)->known_trip_count < 0) return false;
  if (hlo_shape_is_token(i->shape) || (hlo_shape_is_array(i->shape) && !hlo_shape_is_static(i->shape))) return false;
  return i->op != HLO_OP_OPTIMIZATION_BARRIER && i->op != HLO_OP_CUSTOM_CALL;
}

static void find_invariants(motion *s) {
  const hlo_computation *body = s->w->called[1];
  HLO_FOR_EACH (i, body) {
    int k;
    bool all = may_move(i), worth = !is_cheap(i->op);
    if (i->op == HLO_OP_GET_TUPLE_ELEMENT && control_is_carried(i, &k)) {
      if (control_is_invariant(s->w, k)) bitset_set(&s->invariant, i->id);
      continue;
    }
    for (int o = 0; o < i->n_operands; o++) {
      all &= bitset_get(&s->invariant, i->operands[o]->id);
      worth |= bitset_get(&s->worth, i->operands[o]->id);
    }
    if (!all) continue;
    bitset_set(&s->invariant, i->id);
    if (worth) bitset_set(&s->worth, i->id);
  }
}

// Bytes of the carried elements that x is computed from.
static int64_t source_bytes(const hlo_instr *x, int depth) {
  int k;
  if (control_is_carried(x, &k)) return hlo_shape_is_array(x->shape) ? hlo_shape_bytes(x->shape) : 0;
  int64_t sum = 0;
  for (int o = 0; o < x->n_operands && depth < 8; o++) sum += source_bytes(x->operands[o], depth + 1);
  return sum;
}

static bool should_move(const motion *s, const hlo_instr *i) {
  if (!bitset_get(&s->invariant, i->id) || !bitset_get(&s->worth, i->id) || !hlo_shape_is_array(i->shape)) return false;
  bool needed = false;  // by something that stays
  for (int u = 0; u < i->n_uses; u++) {
    const hlo_instr *user = i->uses[u].user;
    needed |= !bitset_get(&s->invariant, user->id);
  }
  int64_t bytes = shape_bytes(i->shape);
  return needed && (bytes <= SMALL || bytes <= source_bytes(i, 0));
}

static hlo_instr *move_out(motion *s, hlo_instr *x) {
  hlo_instr *copy = ptrmap_get(&s->moved, x);
  int k;
  if (copy) return copy;
  if (x->op == HLO_OP_GET_TUPLE_ELEMENT && control_is_carried(x, &k)) {
    hlo_builder b = hlo_builder_before(s->w);
    copy = hlo_build_get(&b, s->w->operands[0], k);
  } else {
    hlo_instr **operands = ARENA_ARRAY(s->ctx->scratch, hlo_instr *, x->n_operands + 1);
    for (int o = 0; o < x->n_operands; o++) operands[o] = move_out(s, x->operands[o]);
    copy = hlo_instr_clone(x, s->w->parent, s->w, operands);
  }
  ptrmap_put(NULL, &s->moved, x, copy);
  return copy;
}

static bool move_from(hlo_pass_ctx *ctx, hlo_instr *w) {
  int64_t trips = HLO_ATTRS(w, while)->known_trip_count;
  if (!hlo_shape_is_tuple(w->shape) || w->called[1]->root->op != HLO_OP_TUPLE || (trips >= 0 && trips < 2))
    return false;
  int ids = w->parent->module->next_id, n = 0;
  motion s = {
      .ctx = ctx, .w = w, .invariant = bitset_create(ctx->scratch, ids), .worth = bitset_create(ctx->scratch, ids)};
  find_invariants(&s);
  bool any = false;
  HLO_FOR_EACH (i, w->called[1]) any |= should_move(&s, i);
  if (!any || !hlo_opt_allowed(ctx) || !control_normalize(w)) return false;
  // Normalizing may have made copies of the computations, with new ids.
  ids = w->parent->module->next_id;
  s.invariant = bitset_create(ctx->scratch, ids);
  s.worth = bitset_create(ctx->scratch, ids);
  find_invariants(&s);
  hlo_instr *inside[MAX_MOVED], *outside[MAX_MOVED], *gets[MAX_MOVED];
  HLO_FOR_EACH (i, w->called[1])
    if (n < MAX_MOVED && should_move(&s, i)) inside[n++] = i;
  for (int k = 0; k < n; k++) outside[k] = move_out(&s, inside[k]);
  control_add_carried(w, n, outside, gets);
  for (int k = 0; k < n; k++) {
    hlo_instr_replace_uses(inside[k], gets[k]);
  }
  for (int k = n - 1; k >= 0; k--) hlo_opt_remove_dead(inside[k]);
  u64map_deinit(&s.moved);
  return n > 0;
}

lemnos_status hlo_opt_while_loop_invariant_code_motion(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  for (int c = 0; c < m->n_computations; c++) {
    hlo_computation *computation = m->computations[c];
    HLO_FOR_EACH (w, computation)
      if (w->op == HLO_OP_WHILE) *changed |= move_from(ctx, w);
    while (m->computations[c] != computation) c++;
  }
  return LEMNOS_SUCCESS;
}
