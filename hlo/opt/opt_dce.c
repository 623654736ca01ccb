// SPDX-License-Identifier: Apache-2.0
// Dead code elimination: backwards over each computation, removes instructions without uses and without side effects,
// then computations that nobody calls. Parameters stay (their numbers are the signature). Needs: nothing. Leaves: every
// instruction is used, the root, a parameter, or has an effect; callees stand before callers. A while is removed when
// dead only if its trip count is known: it might not end.
#include <string.h>

#include "hlo/opt/opt_internal.h"

bool hlo_opt_is_removable(const hlo_instr *i) {
  if (i->op == HLO_OP_PARAMETER || i->n_uses || i->parent->root == i) return false;
  if (i->op == HLO_OP_WHILE && HLO_ATTRS(i, while)->known_trip_count < 0) return false;
  return !hlo_instr_has_side_effect(i);
}

static bool is_linked(const hlo_instr *i) {
  return i->prev || i->next || i->parent->first == i;
}

void hlo_opt_remove_dead(hlo_instr *i) {
  if (!is_linked(i) || !hlo_opt_is_removable(i)) return;  // it may have gone already as an operand's operand
  hlo_instr *operands[8], **list = operands;
  int n = i->n_operands;
  if (n > 8) list = heap_alloc(sizeof *list * (size_t)n);
  for (int o = 0; o < n; o++) list[o] = i->operands[o];
  hlo_instr_remove(i);
  for (int o = 0; o < n; o++) {
    bool again = true;  // an operand listed twice is removed once
    for (int p = 0; p < o; p++) again &= list[p] != list[o];
    if (again) hlo_opt_remove_dead(list[o]);
  }
  if (list != operands) free(list);
}

static bool sweep(hlo_computation *c) {
  bool changed = false;
  for (hlo_instr *i = c->last, *prev; i; i = prev) {
    prev = i->prev;
    if (!hlo_opt_is_removable(i)) continue;
    hlo_instr_remove(i);
    changed = true;
  }
  return changed;
}

// Marks what c calls, and puts it in front of c in `order`.
static void mark(hlo_computation *c, bitset *seen, hlo_computation **order, int *n_order) {
  if (bitset_get(seen, c->id)) return;
  bitset_set(seen, c->id);
  HLO_FOR_EACH (i, c)
    for (int n = 0; n < i->n_called; n++) mark(i->called[n], seen, order, n_order);
  order[(*n_order)++] = c;
}

lemnos_status hlo_opt_dce(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  for (int c = 0; c < m->n_computations; c++) *changed |= sweep(m->computations[c]);
  bitset seen = bitset_create(ctx->scratch, m->next_computation_id);
  hlo_computation **order = ARENA_ARRAY(ctx->scratch, hlo_computation *, m->n_computations + 1);
  int n_order = 0;
  mark(m->entry, &seen, order, &n_order);
  for (int c = m->n_computations - 1; c >= 0; c--) {
    if (bitset_get(&seen, m->computations[c]->id)) continue;
    hlo_computation_remove(m->computations[c]);
    *changed = true;
  }
  memcpy(m->computations, order, sizeof *order * (size_t)n_order);
  return LEMNOS_SUCCESS;
}
