// SPDX-License-Identifier: Apache-2.0
// Puts the bodies of calls and composites in place of the calls, callees first, so that one sweep is enough. Sharding-like calls
// stay what they are (custom calls). Needs: no recursion (the verifier sees to it). Leaves: no call or composite instruction.
#include "hlo/opt/opt_internal.h"

static void inline_call(hlo_instr *call) {
  const hlo_computation *body = call->called[0];
  u64map map = {0};
  hlo_instr **operands = NULL;
  int cap = 0;
  HLO_FOR_EACH(i, body) {
    if (i->op == HLO_OP_PARAMETER) {
      ptrmap_put(NULL, &map, i, call->operands[HLO_ATTRS(i, parameter)->number]);
      continue;
    }
    if (i->n_operands > cap) operands = heap_realloc(operands, sizeof *operands * (size_t)(cap = i->n_operands * 2));
    for (int o = 0; o < i->n_operands; o++) operands[o] = ptrmap_get(&map, i->operands[o]);
    hlo_instr *copy = hlo_instr_clone(i, call->parent, call, operands);
    ptrmap_put(NULL, &map, i, copy);
  }
  hlo_instr_replace_uses(call, ptrmap_get(&map, body->root));
  hlo_instr_remove(call);
  free(operands);
  u64map_deinit(&map);
}

static void visit(hlo_computation *c, bitset *done, bool *changed) {
  if (bitset_get(done, c->id)) return;
  bitset_set(done, c->id);
  HLO_FOR_EACH_SAFE(i, c) {
    for (int n = 0; n < i->n_called; n++) visit(i->called[n], done, changed);
    if (i->op != HLO_OP_CALL && i->op != HLO_OP_COMPOSITE) continue;
    inline_call(i);
    *changed = true;
  }
}

lemnos_status hlo_opt_call_inliner(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  bitset done = bitset_create(ctx->scratch, m->next_computation_id);
  visit(m->entry, &done, changed);
  return LEMNOS_SUCCESS;
}
