// SPDX-License-Identifier: Apache-2.0
// scatter: a copy of the inputs (unless in place), then the updates.
//
// Two updates can only meet in an element if they differ in a scatter dimension or in a window dimension that is also
// indexed. So the kernel's items run over the remaining window dimensions (rows of an embedding, say), and each applies
// its updates one after the other in order: deterministic, any body, no atomics. With unique indices all updates are
// independent.
#include "hlo/kernel/emit.h"

typedef struct scatter {
  const hlo_instr *root;
  int n;               // inputs
  int64_t *window_of;  // update dimension -> input dimension, -1: a scatter dimension
  int64_t *parallel;   // update dimension -> dimension of the space, -1: a loop
  bool *indexed;       // input dimension has a start index
} scatter;

static bool contains(hlo_i64s l, int64_t x) {
  return hlo_i64s_contains(l, x);
}

static void analyse(emit_ctx *c, scatter *s) {
  hlo_attrs_scatter *p = HLO_ATTRS(s->root, scatter);
  const hlo_scatter_dnums *n = &p->dnums;
  const hlo_shape *in = s->root->operands[0]->shape, *up = s->root->operands[s->n + 1]->shape;
  s->window_of = ARENA_ARRAY(c->a, int64_t, up->rank + 1);
  s->parallel = ARENA_ARRAY(c->a, int64_t, up->rank + 1);
  s->indexed = ARENA_ARRAY(c->a, bool, in->rank + 1);
  for (int k = 0; k < n->scatter_dims_to_operand_dims.n; k++)
    s->indexed[n->scatter_dims_to_operand_dims.data[k]] = true;
  int d_in = 0, space = 0;
  for (int d = 0; d < up->rank; d++) {
    s->window_of[d] = s->parallel[d] = -1;
    if (contains(n->update_window_dims, d)) {
      while (contains(n->inserted_window_dims, d_in) || contains(n->input_batching_dims, d_in)) d_in++;
      s->window_of[d] = d_in;
      if (!s->indexed[d_in] || p->unique_indices) s->parallel[d] = space++;
      d_in++;
    } else if (p->unique_indices) {
      s->parallel[d] = space++;
    }
  }
  int scatter_dim = 0;  // batching dimensions of the indices pick different input slices: independent
  for (int d = 0; d < up->rank; d++) {
    if (s->window_of[d] >= 0) continue;
    int64_t index_dim = scatter_dim >= n->index_vector_dim ? scatter_dim + 1 : scatter_dim;
    if (contains(n->scatter_indices_batching_dims, index_dim) && s->parallel[d] < 0) s->parallel[d] = space++;
    scatter_dim++;
  }
  int64_t next = 0;  // numbers in dimension order
  for (int d = 0; d < up->rank; d++)
    if (s->parallel[d] >= 0) s->parallel[d] = next++;
}

// The input index that update index `at` goes to; *ok: inside (NULL: always).
static emit_index *destination(emit_ctx *c, const scatter *s, const emit_coord *at, int lanes, kernel_value **ok) {
  kernel_builder *b = &c->b;
  const hlo_scatter_dnums *n = &HLO_ATTRS(s->root, scatter)->dnums;
  const hlo_shape *in = s->root->operands[0]->shape, *is = s->root->operands[s->n]->shape;
  const hlo_shape *up = s->root->operands[s->n + 1]->shape;
  emit_coord start[64], to[64], of_index[64];
  int next = 0;
  for (int d = 0; d < up->rank; d++) {
    if (s->window_of[d] >= 0) continue;
    if (next == n->index_vector_dim) next++;
    start[next++] = at[d];
  }
  for (int d = 0; d < in->rank; d++) to[d] = emit_coord_const(c, 0);
  for (int d = 0; d < up->rank; d++)
    if (s->window_of[d] >= 0) to[s->window_of[d]] = at[d];
  for (int k = 0; k < n->input_batching_dims.n; k++)
    to[n->input_batching_dims.data[k]] = start[n->scatter_indices_batching_dims.data[k]];
  *ok = NULL;
  for (int k = 0; k < n->scatter_dims_to_operand_dims.n; k++) {
    int64_t d = n->scatter_dims_to_operand_dims.data[k], size = in->dims[d];
    memcpy(of_index, start, sizeof start);
    if (n->index_vector_dim < is->rank) of_index[n->index_vector_dim] = emit_coord_const(c, k);
    emit_index *ix = is->rank ? emit_index_of(c, is->rank, is->dims, lanes, of_index) : &c->scalar_index;
    emit_value v = emit_element(c, s->root->operands[s->n], ix);
    kernel_value *i = emit_to_index(c, is->dtype, v.re, -size, size);
    to[d] = emit_coord_add(c, to[d], emit_coord_of(i, 1), lanes);
    kernel_value *x = to[d].base, *inside = kernel_bin(b, KERNEL_OP_LT_S, x, kernel_index(b, size));
    inside = kernel_bin(b, KERNEL_OP_AND, inside, kernel_bin(b, KERNEL_OP_LE_S, kernel_index(b, 0), x));
    *ok = *ok ? kernel_bin(b, KERNEL_OP_AND, *ok, inside) : inside;
  }
  return emit_index_of(c, in->rank, in->dims, lanes, to);
}

static void apply_update(emit_ctx *c, void *user, emit_index *x) {
  const scatter *s = user;
  kernel_builder *b = &c->b;
  const hlo_shape *up = s->root->operands[s->n + 1]->shape;
  emit_coord at[64];
  kernel_for loops[64];
  for (int d = 0; d < up->rank; d++) {
    loops[d].instr = NULL;
    if (s->parallel[d] >= 0) {
      at[d] = emit_index_coord(c, x, (int)s->parallel[d]);
    } else if (up->dims[d] == 1) {
      at[d] = emit_coord_const(c, 0);
    } else {
      loops[d] = kernel_for_begin(b, kernel_index(b, 0), kernel_index(b, up->dims[d]), kernel_index(b, 1), 0, NULL);
      at[d] = emit_coord_of(loops[d].iv, 1);
    }
  }
  kernel_value *ok;
  emit_index *to = destination(c, s, at, x->lanes, &ok);
  emit_index *from = up->rank ? emit_index_of(c, up->rank, up->dims, x->lanes, at) : &c->scalar_index;
  kernel_if inside;
  if (ok) inside = kernel_if_begin(b, ok, 0, NULL);
  emit_value *args = ARENA_ARRAY(c->a, emit_value, 2 * s->n), *out = ARENA_ARRAY(c->a, emit_value, s->n);
  for (int k = 0; k < s->n; k++) {
    const hlo_shape *result = hlo_shape_leaf(c->instr->shape, k);
    kernel_mem m = emit_buffer_mem(c, KERNEL_ARG_RESULT, k, result);
    args[k] = emit_load(c, m, result->dtype, emit_index_linear(c, to, result), x->lanes);
    args[s->n + k] = emit_element(c, s->root->operands[s->n + 1 + k], from);
  }
  emit_body(c, s->root->called[0], args, out);
  for (int k = 0; k < s->n; k++) emit_store_result(c, k, to, out[k]);
  if (ok) {
    kernel_if_else(b, &inside, NULL);
    kernel_if_end(b, &inside, NULL);
  }
  for (int d = up->rank - 1; d >= 0; d--)
    if (loops[d].instr) kernel_for_end(b, &loops[d], NULL);
}

static lemnos_status copy_inputs(emit_ctx *c, const scatter *s) {
  for (int k = 0; k < s->n; k++) {
    const hlo_instr *input = s->root->operands[k];
    uint64_t first = 0;
    bool is_buffer = u64map_get(&c->operand_leaves, (uint64_t)(uintptr_t)input, &first);
    int alias = emit_alias_of(c, k);
    if (alias >= 0) {
      if (!is_buffer || (int)first - 1 != alias)
        return lemnos_status_make(LEMNOS_UNIMPLEMENTED,
                                  "a result that shares its buffer with another operand than the scattered one");
      if (input->n_uses > 1 && c->fused)
        return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "a scatter in place whose operand is read by its updates");
      continue;
    }
    const char *suffix = arena_printf(c->a, "_copy%d", k);
    LEMNOS_TRY(emit_copy_to(c, suffix, input, KERNEL_ARG_RESULT, k, hlo_shape_leaf(c->instr->shape, k)));
  }
  return LEMNOS_SUCCESS;
}

lemnos_status schedule_scatter(emit_ctx *c) {
  scatter s = {.root = emit_root(c)};
  s.n = (s.root->n_operands - 1) / 2;
  analyse(c, &s);
  LEMNOS_TRY(copy_inputs(c, &s));
  const hlo_shape *up = s.root->operands[s.n + 1]->shape;
  if (hlo_shape_elements(up) == 0) return LEMNOS_SUCCESS;
  int64_t *dims = ARENA_ARRAY(c->a, int64_t, up->rank + 1), serial = 1;
  emit_space space = {.dims = dims, .lanes = 1};
  space.groups = ARENA_ARRAY(c->a, int32_t, up->rank + 1);
  int last = -1;
  for (int d = 0; d < up->rank; d++) {
    if (s.parallel[d] < 0) {
      serial *= up->dims[d];
      continue;
    }
    dims[space.rank++] = up->dims[d];
    space.groups[space.n_groups++] = 1;
    last = d;
  }
  bool rows = last >= 0 && s.window_of[last] >= 0 && !s.indexed[s.window_of[last]];
  if (rows) space.lanes = emit_vector_lanes(c);
  space.cost = 8 * serial;
  return emit_over_space(c, "_update", &space, apply_update, &s);
}
