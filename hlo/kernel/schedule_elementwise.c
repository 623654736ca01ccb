// SPDX-License-Identifier: Apache-2.0
// Loop fusions and single ops that are computed element by element, with one or several results. Results of equal
// dimensions share a kernel, which computes all values of an index before it stores any (operands may share a result's
// buffer).
#include "hlo/kernel/emit.h"

typedef struct outputs {
  const hlo_instr *root;
  const int *leaves;
  int n;
} outputs;

static void store_outputs(emit_ctx *c, void *user, emit_index *x) {
  const outputs *o = user;
  emit_value *values = ARENA_ARRAY(c->a, emit_value, o->n);
  for (int n = 0; n < o->n; n++) values[n] = emit_leaf(c, o->root, o->leaves[n], x);
  for (int n = 0; n < o->n; n++) emit_store_result(c, o->leaves[n], x, values[n]);
}

lemnos_status schedule_elementwise_lanes(emit_ctx *c, int lanes) {
  const hlo_instr *root = emit_root(c);
  int n = hlo_shape_leaves(root->shape);
  bool *done = ARENA_ARRAY(c->a, bool, n + 1);
  int *leaves = ARENA_ARRAY(c->a, int, n + 1);
  for (int first = 0; first < n; first++) {
    const hlo_shape *shape = hlo_shape_leaf(root->shape, first);
    if (done[first] || !hlo_shape_is_array(shape)) continue;
    outputs o = {.root = root, .leaves = leaves};
    for (int leaf = first; leaf < n; leaf++) {
      const hlo_shape *other = hlo_shape_leaf(root->shape, leaf);
      if (!hlo_shape_is_array(other) || !hlo_shape_same_dims(other, shape) || done[leaf]) continue;
      done[leaf] = true;
      leaves[o.n++] = leaf;
    }
    bool shared = false;
    for (int leaf = 0; leaf < n; leaf++) shared |= emit_alias_of(c, leaf) >= 0;
    if (shared && o.n < n)
      return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "results of unequal dimensions computed in place");
    emit_space space = emit_space_of(c, root, shape, NULL);
    if (lanes) space.lanes = lanes;
    LEMNOS_TRY(emit_over_space(c, first ? arena_printf(c->a, "_%d", first) : "", &space, store_outputs, &o));
  }
  return LEMNOS_SUCCESS;
}

lemnos_status schedule_elementwise(emit_ctx *c) {
  return schedule_elementwise_lanes(c, 0);
}
