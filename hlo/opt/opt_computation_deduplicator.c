// SPDX-License-Identifier: Apache-2.0
// Equal bodies of reduce, sort, scatter and the like become one computation, so that CSE, which compares called
// computations by pointer, sees that their callers are equal (exporters write a body for every reduction). Executed
// computations (while, conditional, call) are left alone: their buffers are their own. Needs: nothing. Leaves: unused
// computations, for dce.
#include "hlo/opt/opt_fusion_internal.h"

static uint64_t hash_of(const hlo_computation *c) {
  uint64_t h = (uint64_t)c->n_params;
  HLO_FOR_EACH (i, c) {
    h = hash_u64((uint64_t)i->op, hash_u64((uint64_t)(uintptr_t)i->shape, h));
    if (i->attrs) h = hash_u64(hlo_attrs_hash(hlo_op_table[i->op].attrs, i->attrs), h);
  }
  return h;
}

static bool same_instr(const hlo_instr *x, const hlo_instr *y) {
  if (x->op != y->op || x->shape != y->shape || x->n_operands != y->n_operands || x->n_called != y->n_called)
    return false;
  for (int o = 0; o < x->n_operands; o++)
    if (x->operands[o]->scratch != y->operands[o]->scratch) return false;
  for (int n = 0; n < x->n_called; n++)
    if (x->called[n] != y->called[n]) return false;
  return !x->attrs || hlo_attrs_equal(hlo_op_table[x->op].attrs, x->attrs, y->attrs);
}

static int number(hlo_computation *c) {
  int n = 0;
  HLO_FOR_EACH (i, c) i->scratch = n++;
  return n;
}

static bool same(hlo_computation *a, hlo_computation *b) {
  if (a->n_params != b->n_params || number(a) != number(b) || a->root->scratch != b->root->scratch) return false;
  for (const hlo_instr *x = a->first, *y = b->first; x; x = x->next, y = y->next)
    if (!same_instr(x, y)) return false;
  return true;
}

static bool redirect(hlo_module *m, hlo_computation *const *instead) {
  bool any = false;
  for (int c = 0; c < m->n_computations; c++)
    HLO_FOR_EACH (i, m->computations[c])
      for (int n = 0; n < i->n_called; n++)
        if (instead[i->called[n]->id]) i->called[n] = instead[i->called[n]->id], any = true;
  return any;
}

lemnos_status hlo_opt_computation_deduplicator(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  fusion_computations executed = fusion_executed(ctx->scratch, m);
  bitset own = bitset_create(ctx->scratch, m->next_computation_id);
  for (int n = 0; n < executed.len; n++) bitset_set(&own, executed.data[n]->id);
  hlo_computation **instead = ARENA_ARRAY(ctx->scratch, hlo_computation *, m->next_computation_id + 1);
  u64map seen = {0};
  for (int n = 0; n < m->n_computations; n++) {
    hlo_computation *c = m->computations[n];
    if (bitset_get(&own, c->id)) continue;
    uint64_t found = 0, h = hash_of(c);
    if (!u64map_get(&seen, h, &found)) {
      u64map_put(ctx->scratch, &seen, h, (uint64_t)(uintptr_t)c);
      continue;
    }
    hlo_computation *first = (hlo_computation *)(uintptr_t)found;
    if (same(first, c) && hlo_opt_allowed(ctx)) instead[c->id] = first;
  }
  *changed |= redirect(m, instead);
  return LEMNOS_SUCCESS;
}
