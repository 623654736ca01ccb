// SPDX-License-Identifier: Apache-2.0
// Marks while loops whose number of iterations follows from constants: an element that starts at a constant, is changed
// by a constant each time, and is compared with a constant (or with an invariant element that starts as one). Loops
// whose variable would wrap around before the end are not marked.
// Needs: constants folded, tuples simplified. Leaves: known_trip_count on such loops.
#include "hlo/opt/control.h"

lemnos_status hlo_opt_while_loop_trip_count_annotator(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  for (int c = 0; c < m->n_computations; c++)
    HLO_FOR_EACH (w, m->computations[c]) {
      control_induction v;
      if (w->op != HLO_OP_WHILE || HLO_ATTRS(w, while)->known_trip_count >= 0 || !control_find_induction(w, &v))
        continue;
      if (!hlo_opt_allowed(ctx)) return LEMNOS_SUCCESS;
      hlo_attrs_while *attrs = hlo_attrs_clone(m->arena, HLO_ATTR_LIST_while, w->attrs);
      attrs->known_trip_count = v.trip_count;
      w->attrs = attrs;
      *changed = true;
    }
  return LEMNOS_SUCCESS;
}
