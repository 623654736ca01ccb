// SPDX-License-Identifier: Apache-2.0
// map(xs; f) with a body of elementwise operations and constants becomes those operations on the whole arrays.
// Needs: nothing. Leaves: maps whose body does something else (a loop, a reduction), or of dynamic shape.
#include "hlo/opt/algsimp.h"

static bool inlinable(const hlo_instr *map) {
  if (!algsimp_plain(map)) return false;
  HLO_FOR_EACH (i, map->called[0]) {
    if (!hlo_shape_is_array(i->shape) || i->shape->rank) return false;
    bool elementwise =
        hlo_op_has(i->op, HLO_TRAIT_E) || (i->op == HLO_OP_BITCAST_CONVERT && i->operands[0]->shape->rank == 0);
    if (i->op != HLO_OP_PARAMETER && i->op != HLO_OP_CONSTANT && !elementwise) return false;
  }
  return true;
}

static hlo_instr *inline_map(hlo_instr *map) {
  u64map values = {0};
  hlo_builder b = hlo_builder_before(map);
  const hlo_computation *c = map->called[0];
  HLO_FOR_EACH (i, c) {
    hlo_instr *v, *args[3];
    const hlo_shape *s = hlo_shape_with_dtype(b.module->shapes, map->shape, i->shape->dtype);
    if (i->op == HLO_OP_PARAMETER) {
      v = map->operands[HLO_ATTRS(i, parameter)->number];
    } else if (i->op == HLO_OP_CONSTANT) {
      v = algsimp_splat(&b, s, hlo_constant_value(i)->data);
    } else {
      for (int k = 0; k < i->n_operands; k++) args[k] = ptrmap_get(&values, i->operands[k]);
      v = hlo_build(&b, i->op, s, i->n_operands, args, 0, NULL, i->attrs);
    }
    ptrmap_put(NULL, &values, i, v);
  }
  hlo_instr *root = ptrmap_get(&values, c->root);
  u64map_deinit(&values);
  return root;
}

lemnos_status hlo_opt_map_inliner(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  for (int c = 0; c < m->n_computations; c++)
    HLO_FOR_EACH_SAFE (i, m->computations[c]) {
      if (i->op != HLO_OP_MAP || !inlinable(i) || !hlo_opt_allowed(ctx)) continue;
      hlo_instr *r = inline_map(i);
      if (r->shape != i->shape) continue;
      hlo_instr_replace_uses(i, r);
      hlo_opt_remove_dead(i);
      *changed = true;
    }
  return LEMNOS_SUCCESS;
}
