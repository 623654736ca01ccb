// SPDX-License-Identifier: Apache-2.0
// Copying computations and modules.
//
// A cloner maps old instructions to new ones by id, and old computations, literals and locations by address. Into the
// same module everything immutable is shared; into another one it is copied (shapes are interned there), so that the
// copy needs nothing of the original's arena.
#include <string.h>

#include "hlo/hlo.h"

typedef struct cloner {
  const hlo_module *from;
  hlo_module *into;
  bool share;           // into == from
  hlo_instr **instrs;   // by old id
  u64map computations;  // old -> new
  u64map locs;
  u64map literals;
  bool out_of_memory;
} cloner;

static const loc *clone_loc(cloner *c, const loc *l) {
  if (!l || c->share) return l;
  const loc *known = ptrmap_get(&c->locs, l);
  if (known) return known;
  arena *a = c->into->arena;
  loc *copy = arena_copy(a, l, sizeof *l);
  copy->name = arena_strv(a, l->name);
  copy->child = clone_loc(c, l->child);
  copy->caller = clone_loc(c, l->caller);
  if (l->n_fused) {
    const loc **fused = ARENA_ARRAY(a, const loc *, l->n_fused);
    for (int i = 0; i < l->n_fused; i++) fused[i] = clone_loc(c, l->fused[i]);
    copy->fused = fused;
  }
  ptrmap_put(NULL, &c->locs, l, copy);
  return copy;
}

static const hlo_literal *clone_literal(cloner *c, const hlo_literal *l) {
  if (!l) return NULL;
  const hlo_literal *known = ptrmap_get(&c->literals, l);
  if (known) return known;
  const hlo_shape *shape = hlo_shape_intern(c->into->shapes, l->shape);
  hlo_literal *copy = NULL;
  if (l->splat) {
    copy = hlo_literal_splat(c->into->arena, shape, l->data);
  } else {
    lemnos_status status = hlo_literal_create(c->into->arena, shape, &copy);
    if (status) {
      lemnos_status_free(status);
      c->out_of_memory = true;
      return NULL;
    }
    memcpy(copy->data, l->data, (size_t)hlo_shape_bytes(shape));
  }
  ptrmap_put(NULL, &c->literals, l, copy);
  return copy;
}

static void *clone_attrs(cloner *c, const hlo_instr *i) {
  if (c->share) return i->attrs;
  hlo_attr_list list = (hlo_attr_list)hlo_op_table[i->op].attrs;
  char *attrs = hlo_attrs_clone(c->into->arena, list, i->attrs);
  const hlo_attr_list_info *info = &hlo_attr_list_table[list];
  for (int k = 0; attrs && k < info->n; k++) {
    if (info->descs[k].kind != HLO_ATTR_KIND_literal) continue;
    const hlo_literal **field = (const hlo_literal **)(attrs + info->descs[k].offset);
    *field = clone_literal(c, *field);
  }
  return attrs;
}

static hlo_computation *clone_computation(cloner *c, const hlo_computation *old);

static hlo_instr *clone_instr(cloner *c, const hlo_instr *i, hlo_computation *into) {
  hlo_instr *small_operands[8], **operands = small_operands;
  hlo_computation *small_called[8], **called = small_called;
  if (i->n_operands > 8) operands = heap_alloc(sizeof(*operands) * (size_t)i->n_operands);
  if (i->n_called > 8) called = heap_alloc(sizeof(*called) * (size_t)i->n_called);
  for (int k = 0; k < i->n_operands; k++) operands[k] = c->instrs[i->operands[k]->id];
  for (int k = 0; k < i->n_called; k++) called[k] = clone_computation(c, i->called[k]);
  const hlo_shape *shape = c->share ? i->shape : hlo_shape_intern(c->into->shapes, i->shape);
  hlo_instr *copy = hlo_instr_create(into, NULL, i->op, shape, i->n_operands, operands, i->n_called, called,
                                     clone_attrs(c, i), clone_loc(c, i->loc), i->name);
  if (operands != small_operands) free(operands);
  if (called != small_called) free(called);
  return copy;
}

// The copy of `old`, made on first use. Callees are made before it, so their order in the module stays right.
static hlo_computation *clone_computation(cloner *c, const hlo_computation *old) {
  hlo_computation *copy = ptrmap_get(&c->computations, old);
  if (copy) return copy;
  HLO_FOR_EACH (i, old)
    for (int k = 0; k < i->n_called; k++) (void)clone_computation(c, i->called[k]);
  copy = hlo_computation_create(c->into, old->name);
  ptrmap_put(NULL, &c->computations, old, copy);
  HLO_FOR_EACH (i, old) c->instrs[i->id] = clone_instr(c, i, copy);
  if (old->root) copy->root = c->instrs[old->root->id];
  return copy;
}

static void cloner_init(cloner *c, const hlo_module *from, hlo_module *into) {
  *c = (cloner){.from = from, .into = into, .share = from == into};
  c->instrs = heap_alloc(sizeof(*c->instrs) * (size_t)(from->next_id + 1));
}

static void cloner_deinit(cloner *c) {
  free(c->instrs);
  u64map_deinit(&c->computations);
  u64map_deinit(&c->locs);
  u64map_deinit(&c->literals);
}

hlo_computation *hlo_computation_clone(const hlo_computation *c, hlo_module *into) {
  cloner state;
  cloner_init(&state, c->module, into);
  hlo_computation *copy = clone_computation(&state, c);
  bool failed = state.out_of_memory;
  cloner_deinit(&state);
  return failed ? NULL : copy;
}

hlo_module *hlo_module_clone(const hlo_module *m, arena *a) {
  hlo_module *copy = hlo_module_create(a, m->name);
  cloner state;
  cloner_init(&state, m, copy);
  for (int i = 0; i < m->n_computations; i++) (void)clone_computation(&state, m->computations[i]);
  if (m->entry) copy->entry = ptrmap_get(&state.computations, m->entry);
  if (m->n_aliases) copy->aliases = arena_copy(a, m->aliases, sizeof(*m->aliases) * (size_t)m->n_aliases);
  copy->n_aliases = m->n_aliases;
  if (m->param_donated && m->entry)
    copy->param_donated = arena_copy(a, m->param_donated, sizeof(bool) * (size_t)m->entry->n_params);
  copy->n_replicas = m->n_replicas;
  copy->n_partitions = m->n_partitions;
  copy->sharded = m->sharded;
  if (m->source.len) copy->source = arena_strv(a, m->source);
  bool failed = state.out_of_memory;
  cloner_deinit(&state);
  return failed ? NULL : copy;
}
