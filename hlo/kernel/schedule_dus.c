// SPDX-License-Identifier: Apache-2.0
// dynamic_update_slice: in place only the window is written; otherwise the result is computed element by element.
//
// The update may read the operand it will overwrite (x[i] += v). If it reads anything but the very elements it
// replaces, it is computed into scratch memory first.
#include "hlo/kernel/emit.h"

typedef struct update {
  const hlo_instr *root;
  const hlo_shape *scratch;  // NULL: compute the update on the spot
} update;

static void store_window(emit_ctx *c, void *user, emit_index *x) {
  const update *u = user;
  const hlo_shape *out = u->root->shape, *window = u->root->operands[1]->shape;
  emit_value v;
  if (u->scratch)
    v = emit_load(c, emit_scratch_mem(c, 0, u->scratch), out->dtype, emit_index_linear(c, x, u->scratch), x->lanes);
  else
    v = emit_element(c, u->root->operands[1], x);
  int64_t source[64];
  emit_coord fixed[64];
  for (int d = 0; d < out->rank; d++) {
    source[d] = out->dims[d] == window->dims[d] ? d : -1;
    if (source[d] >= 0) continue;
    kernel_value *start =
        emit_start_index(c, u->root->operands[2 + d], &c->scalar_index, out->dims[d] - window->dims[d]);
    fixed[d] = emit_coord_add(c, emit_index_coord(c, x, d), emit_coord_of(start, 1), x->lanes);
  }
  emit_store_result(c, 0, emit_index_select(c, x, out->rank, out->dims, source, fixed), v);
}

static bool same_start(const hlo_instr *slice, const hlo_instr *root) {
  if (slice->op != HLO_OP_DYNAMIC_SLICE || !hlo_shape_same_dims(slice->shape, root->operands[1]->shape)) return false;
  for (int d = 0; d < root->shape->rank; d++)
    if (slice->operands[1 + d] != root->operands[2 + d]) return false;
  return true;
}

// Does the path from a slice of the target to the update keep every element at its place? After *budget steps: perhaps
// not.
static bool elementwise_path(const hlo_instr *i, const hlo_instr *root, int *budget) {
  if (--*budget < 0) return false;
  for (int u = 0; u < i->n_uses; u++) {
    const hlo_instr *user = i->uses[u].user;
    if (user == root) continue;
    if (!hlo_op_has(user->op, HLO_TRAIT_E) || !elementwise_path(user, root, budget)) return false;
  }
  return true;
}

static bool reads_elsewhere(const hlo_instr *root) {
  const hlo_instr *target = root->operands[0];
  int budget = 500;
  for (int u = 0; u < target->n_uses; u++) {
    const hlo_instr *user = target->uses[u].user;
    if (user == root ? target->uses[u].operand != 0
                     : !(same_start(user, root) && elementwise_path(user, root, &budget)))
      return true;
  }
  return false;
}

lemnos_status schedule_dus(emit_ctx *c) {
  const hlo_instr *root = emit_root(c);
  uint64_t first = 0;
  bool is_buffer = u64map_get(&c->operand_leaves, (uint64_t)(uintptr_t)root->operands[0], &first);
  int alias = emit_alias_of(c, 0);
  if (alias < 0) return schedule_elementwise(c);
  if (!is_buffer || (int)first - 1 != alias)
    return lemnos_status_make(LEMNOS_UNIMPLEMENTED,
                              "a result that shares its buffer with another operand than the updated one");
  const hlo_shape *window = root->operands[1]->shape;
  update u = {root, NULL};
  if (c->fused && reads_elsewhere(root)) {
    u.scratch = emit_shape(c, window->dtype, window->rank, window->dims);
    int s = emit_add_scratch(c, hlo_shape_bytes(window));
    LEMNOS_TRY(emit_copy_to(c, "_update", root->operands[1], KERNEL_ARG_SCRATCH, s, u.scratch));
  }
  bool apart[64];
  for (int d = 0; d < window->rank; d++) apart[d] = window->dims[d] != root->shape->dims[d];
  emit_space space = emit_space_of(c, root->operands[1], window, apart);
  return emit_over_space(c, "", &space, store_window, &u);
}
