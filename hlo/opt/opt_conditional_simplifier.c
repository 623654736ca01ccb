// SPDX-License-Identifier: Apache-2.0
// A conditional whose selector is a constant becomes the branch it takes (an index out of range takes the last one).
// Needs: constants folded. Leaves: conditionals on values known only when running.
#include "hlo/opt/control.h"

lemnos_status hlo_opt_conditional_simplifier(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  for (int c = 0; c < m->n_computations; c++)
    HLO_FOR_EACH_SAFE (i, m->computations[c]) {
      if (i->op != HLO_OP_CONDITIONAL || i->operands[0]->op != HLO_OP_CONSTANT ||
          hlo_shape_elements(i->operands[0]->shape) != 1)
        continue;
      int64_t selector = hlo_literal_get_i64(hlo_constant_value(i->operands[0]), 0), last = i->n_called - 1;
      int64_t branch = i->operands[0]->shape->dtype == HLO_PRED ? !selector
                       : selector < 0 || selector > last        ? last
                                                                : selector;
      if (branch > last || i->called[branch]->n_params > 1 || !hlo_opt_allowed(ctx)) continue;
      hlo_instr *arg = branch + 1 < i->n_operands ? i->operands[branch + 1] : NULL;
      if (i->called[branch]->n_params == 1 && !arg) continue;
      hlo_instr_replace_uses(i, control_inline(i->called[branch], &arg, i));
      hlo_instr_remove(i);
      *changed = true;
    }
  return LEMNOS_SUCCESS;
}
