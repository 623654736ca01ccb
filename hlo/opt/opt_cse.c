// SPDX-License-Identifier: Apache-2.0
// Common subexpression elimination within a computation: in execution order, an instruction with the same op,
// attributes, operands, shape and called computations as an earlier one is replaced by it. Left alone: side effects,
// random numbers, parameters. Computations called are compared by pointer. Needs: nothing. Leaves: no two such equals
// in a computation.
#include "hlo/opt/opt_internal.h"

static bool is_candidate(const hlo_instr *i) {
  return i->op != HLO_OP_PARAMETER && !hlo_op_has(i->op, HLO_TRAIT_D) && !hlo_instr_has_side_effect(i) &&
         !hlo_shape_is_token(i->shape);
}

static uint64_t hash_of(const hlo_instr *i) {
  uint64_t h = hash_u64((uint64_t)i->op, (uint64_t)(uintptr_t)i->shape);
  for (int o = 0; o < i->n_operands; o++) h = hash_u64((uint64_t)i->operands[o]->id, h);
  for (int c = 0; c < i->n_called; c++) h = hash_u64((uint64_t)i->called[c]->id, h);
  return i->attrs ? hash_u64(hlo_attrs_hash(hlo_op_table[i->op].attrs, i->attrs), h) : h;
}

static bool same(const hlo_instr *a, const hlo_instr *b) {
  if (a->op != b->op || a->shape != b->shape || a->n_operands != b->n_operands || a->n_called != b->n_called)
    return false;
  for (int o = 0; o < a->n_operands; o++)
    if (a->operands[o] != b->operands[o]) return false;
  for (int c = 0; c < a->n_called; c++)
    if (a->called[c] != b->called[c]) return false;
  return !a->attrs || a->attrs == b->attrs || hlo_attrs_equal(hlo_op_table[a->op].attrs, a->attrs, b->attrs);
}

lemnos_status hlo_opt_cse(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  for (int c = 0; c < m->n_computations; c++) {
    u64map seen = {0};  // hash -> instruction; a collision only costs an opportunity
    HLO_FOR_EACH_SAFE (i, m->computations[c]) {
      if (!is_candidate(i)) continue;
      uint64_t h = hash_of(i), found = 0;
      if (u64map_get(&seen, h, &found)) {
        hlo_instr *earlier = (hlo_instr *)(uintptr_t)found;
        if (same(earlier, i) && hlo_opt_allowed(ctx)) {
          hlo_instr_replace_uses(i, earlier);
          hlo_instr_remove(i);
          *changed = true;
        }
        continue;
      }
      u64map_put(ctx->scratch, &seen, h, (uint64_t)(uintptr_t)i);
    }
  }
  return LEMNOS_SUCCESS;
}
