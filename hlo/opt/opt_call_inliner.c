// SPDX-License-Identifier: Apache-2.0
// Puts the bodies of calls and composites in place of the calls, callees first, so that one sweep is enough.
// Sharding-like calls stay what they are (custom calls). Needs: no recursion (the verifier sees to it). Leaves: no call
// or composite instruction.
// Refuses programs whose calls in line would be more than MAX_COPIES instructions.
#include "hlo/opt/opt_internal.h"

enum { MAX_COPIES = 1 << 20 };

typedef struct inliner {
  bitset done;     // computations
  int64_t copies;  // instructions made so far: two calls a function double with every level
  bool changed;
} inliner;

static void inline_call(inliner *x, hlo_instr *call) {
  const hlo_computation *body = call->called[0];
  u64map map = {0};
  hlo_instr **operands = NULL;
  int cap = 0;
  HLO_FOR_EACH (i, body) {
    if (i->op == HLO_OP_PARAMETER) {
      ptrmap_put(NULL, &map, i, call->operands[HLO_ATTRS(i, parameter)->number]);
      continue;
    }
    if (i->n_operands > cap) operands = heap_realloc(operands, sizeof *operands * (size_t)(cap = i->n_operands * 2));
    for (int o = 0; o < i->n_operands; o++) operands[o] = ptrmap_get(&map, i->operands[o]);
    hlo_instr *copy = hlo_instr_clone(i, call->parent, call, operands);
    ptrmap_put(NULL, &map, i, copy);
    x->copies++;
  }
  hlo_instr_replace_uses(call, ptrmap_get(&map, body->root));
  hlo_instr_remove(call);
  free(operands);
  u64map_deinit(&map);
}

static lemnos_status visit(inliner *x, hlo_computation *c) {
  if (bitset_get(&x->done, c->id)) return LEMNOS_SUCCESS;
  bitset_set(&x->done, c->id);
  HLO_FOR_EACH_SAFE (i, c) {
    for (int n = 0; n < i->n_called; n++) LEMNOS_TRY(visit(x, i->called[n]));
    if (i->op != HLO_OP_CALL && i->op != HLO_OP_COMPOSITE) continue;
    if (x->copies > MAX_COPIES)
      return lemnos_status_make(LEMNOS_UNIMPLEMENTED,
                                STRV_FMT ": with every call in line the program has more than %d operations",
                                STRV_ARG(i->name), MAX_COPIES);
    inline_call(x, i);
    x->changed = true;
  }
  return LEMNOS_SUCCESS;
}

lemnos_status hlo_opt_call_inliner(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  inliner x = {.done = bitset_create(ctx->scratch, m->next_computation_id)};
  lemnos_status status = visit(&x, m->entry);
  *changed |= x.changed;
  return status;
}
