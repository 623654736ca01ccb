// SPDX-License-Identifier: Apache-2.0
// get_tuple_element(tuple(a, b), i) -> a or b; tuple(get(t, 0), get(t, 1), ...) of all elements -> t;
// optimization_barrier stays.
// Needs: nothing. Leaves: neither pattern.
#include "hlo/opt/opt_internal.h"

static hlo_instr *whole_of(const hlo_instr *tuple) {
  if (tuple->n_operands == 0) return NULL;
  hlo_instr *from = NULL;
  for (int n = 0; n < tuple->n_operands; n++) {
    hlo_instr *x = tuple->operands[n];
    if (x->op != HLO_OP_GET_TUPLE_ELEMENT || HLO_ATTRS(x, get_tuple_element)->index != n) return NULL;
    if (from && x->operands[0] != from) return NULL;
    from = x->operands[0];
  }
  return from->shape == tuple->shape ? from : NULL;
}

lemnos_status hlo_opt_tuple_simplifier(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  for (int c = 0; c < m->n_computations; c++) {
    HLO_FOR_EACH_SAFE (i, m->computations[c]) {
      hlo_instr *same = NULL;
      if (i->op == HLO_OP_GET_TUPLE_ELEMENT && i->operands[0]->op == HLO_OP_TUPLE)
        same = i->operands[0]->operands[HLO_ATTRS(i, get_tuple_element)->index];
      else if (i->op == HLO_OP_TUPLE)
        same = whole_of(i);
      if (!same || !hlo_opt_allowed(ctx)) continue;
      hlo_instr_replace_uses(i, same);
      if (hlo_opt_is_removable(i)) hlo_instr_remove(i);
      *changed = true;
    }
  }
  return LEMNOS_SUCCESS;
}
