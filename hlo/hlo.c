// SPDX-License-Identifier: Apache-2.0
// Modules, computations, instructions: the op table, names, and the only functions that edit operand and use lists.
//
// Use lists: instruction v has in v->uses one entry for each operand slot that refers to it; the user's use_slots[k]
// is the entry's index, so that a use is removed in constant time by moving the last entry into its place.
// Names: module->names maps each used name, and each base name, to the next number to try (as base.N) when it is
// asked for again; names of removed instructions are not given out again.
#include "hlo/hlo.h"

#include <string.h>

// --- op table ------------------------------------------------------------------------------------

enum { E = HLO_TRAIT_E, C = HLO_TRAIT_C, S = HLO_TRAIT_S, B = HLO_TRAIT_B, D = HLO_TRAIT_D, H = HLO_TRAIT_H };

const hlo_op_info hlo_op_table[HLO_OP_COUNT] = {
#define OP(ENUM, stablehlo, text, min, max, called, traits, FAMILY, attrs, TYPES) \
  {stablehlo, text, min, max, called, traits, HLO_FAMILY_##FAMILY, HLO_ATTR_LIST_##attrs, #TYPES},
#include "hlo/ops.def"
#undef OP
};

_Static_assert(sizeof hlo_op_table / sizeof hlo_op_table[0] == HLO_OP_COUNT, "one row for each op");

bool hlo_op_from_stablehlo(strv name, hlo_op *out) {
  if (!name.len) return false;
  for (int i = 0; i < HLO_OP_COUNT; i++)
    if (strv_eq_cstr(name, hlo_op_table[i].stablehlo_name)) return *out = (hlo_op)i, true;
  return false;
}

const char *hlo_op_suggestion(arena *a, strv name, bool text) {
  strv_near near = {.wanted = name};
  for (int i = 0; i < HLO_OP_COUNT; i++)
    strv_near_try(&near, strv_from_cstr(text ? hlo_op_table[i].text_name : hlo_op_table[i].stablehlo_name));
  return near.best.len ? arena_printf(a, "; did you mean '" STRV_FMT "'?", STRV_ARG(near.best)) : "";
}

bool hlo_op_from_text(strv name, hlo_op *out) {
  for (int i = 0; i < HLO_OP_COUNT; i++)
    if (strv_eq_cstr(name, hlo_op_table[i].text_name)) return *out = (hlo_op)i, true;
  return false;
}

// --- names ---------------------------------------------------------------------------------------

static bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

// A copy with every byte that the text form does not allow in names replaced by '_'.
static strv sanitize(arena *a, strv name) {
  char *copy = arena_alloc(a, name.len + 1);
  for (size_t i = 0; i < name.len; i++) copy[i] = is_name_char(name.data[i]) ? name.data[i] : '_';
  return (strv){copy, name.len};
}

// "add.12" -> "add"
static strv base_name(strv name) {
  size_t n = name.len;
  while (n && name.data[n - 1] >= '0' && name.data[n - 1] <= '9') n--;
  return n > 1 && n < name.len && name.data[n - 1] == '.' ? strv_take(name, n - 1) : name;
}

static strv unique_name(hlo_module *m, strv wanted, const char *otherwise) {
  if (!wanted.len) wanted = strv_from_cstr(otherwise);
  wanted = sanitize(m->arena, wanted);
  if (!strmap_has(&m->names, wanted)) {
    strmap_put(m->arena, &m->names, wanted, (void *)(uintptr_t)1);
    return wanted;
  }
  strv base = base_name(wanted);
  uintptr_t next = (uintptr_t)strmap_get(&m->names, base);
  strv name;
  do {
    if (!next) next = 1;
    name = strv_from_cstr(arena_printf(m->arena, STRV_FMT ".%llu", STRV_ARG(base), (unsigned long long)next++));
  } while (strmap_has(&m->names, name));
  strmap_put(m->arena, &m->names, base, (void *)next);
  strmap_put(m->arena, &m->names, name, (void *)(uintptr_t)1);
  return name;
}

// --- modules and computations --------------------------------------------------------------------

hlo_module *hlo_module_create(arena *a, strv name) {
  hlo_module *m = ARENA_NEW(a, hlo_module);
  m->arena = a;
  m->name = sanitize(a, name.len ? name : STRV("module"));
  m->shapes = hlo_shape_table_create(a);
  m->n_replicas = m->n_partitions = 1;
  return m;
}

hlo_computation *hlo_computation_create(hlo_module *m, strv name) {
  hlo_computation *c = ARENA_NEW(m->arena, hlo_computation);
  c->module = m;
  c->name = unique_name(m, name, "computation");
  c->id = m->next_computation_id++;
  if (m->n_computations == m->cap_computations)
    m->computations = vec_grow(m->arena, m->computations, m->n_computations, &m->cap_computations,
                               m->n_computations + 1, sizeof(*m->computations));
  m->computations[m->n_computations++] = c;
  return c;
}

void hlo_computation_remove(hlo_computation *c) {
  hlo_module *m = c->module;
  int kept = 0;
  for (int i = 0; i < m->n_computations; i++)
    if (m->computations[i] != c) m->computations[kept++] = m->computations[i];
  m->n_computations = kept;
  if (m->entry == c) m->entry = NULL;
}

hlo_computation *hlo_module_find(const hlo_module *m, strv name) {
  if (name.len && name.data[0] == '%') name = strv_drop(name, 1);
  for (int i = 0; i < m->n_computations; i++)
    if (strv_eq(m->computations[i]->name, name)) return m->computations[i];
  return NULL;
}

bool hlo_computation_is_binary(const hlo_computation *c, hlo_op *out_op, bool *out_swapped) {
  const hlo_instr *r = c->root;
  if (c->n_params != 2 || !r || r->n_operands != 2 || r->n_called) return false;
  const hlo_instr *x = r->operands[0], *y = r->operands[1];
  bool straight = x == c->params[0] && y == c->params[1];
  bool swapped = x == c->params[1] && y == c->params[0];
  if (!straight && !swapped) return false;
  if (hlo_op_table[r->op].family != HLO_FAMILY_BINARY) return false;
  *out_op = r->op;
  *out_swapped = swapped;
  return true;
}

// --- use lists -----------------------------------------------------------------------------------

// Operand n of `user` is already set; its value's use list gets the entry.
static void add_use(hlo_instr *user, int n) {
  hlo_instr *v = user->operands[n];
  if (v->n_uses == v->cap_uses)
    v->uses = vec_grow(user->parent->module->arena, v->uses, v->n_uses, &v->cap_uses, v->n_uses + 1, sizeof(*v->uses));
  user->use_slots[n] = v->n_uses;
  v->uses[v->n_uses++] = (hlo_use){user, n};
}

static void remove_use(hlo_instr *user, int n) {
  hlo_instr *v = user->operands[n];
  int32_t slot = user->use_slots[n];
  hlo_use last = v->uses[--v->n_uses];
  v->uses[slot] = last;
  last.user->use_slots[last.operand] = slot;
}

static void reserve_operands(hlo_instr *i, int n) {
  if (n <= i->cap_operands) return;
  arena *a = i->parent->module->arena;
  int cap = i->cap_operands * 2 > n ? i->cap_operands * 2 : n;
  hlo_instr **operands = ARENA_ARRAY(a, hlo_instr *, cap);
  int32_t *slots = ARENA_ARRAY(a, int32_t, cap);
  if (i->n_operands) {
    memcpy(operands, i->operands, sizeof(*operands) * (size_t)i->n_operands);
    memcpy(slots, i->use_slots, sizeof(*slots) * (size_t)i->n_operands);
  }
  i->operands = operands;
  i->use_slots = slots;
  i->cap_operands = cap;
}

void hlo_instr_set_operand(hlo_instr *i, int n, hlo_instr *value) {
  if (i->operands[n] == value) return;
  remove_use(i, n);
  i->operands[n] = value;
  add_use(i, n);
}

void hlo_instr_add_operand(hlo_instr *i, hlo_instr *value) {
  reserve_operands(i, i->n_operands + 1);
  i->operands[i->n_operands] = value;
  add_use(i, i->n_operands++);
}

void hlo_instr_remove_operand(hlo_instr *i, int n) {
  remove_use(i, n);
  i->n_operands--;
  for (int k = n; k < i->n_operands; k++) {
    i->operands[k] = i->operands[k + 1];
    i->use_slots[k] = i->use_slots[k + 1];
    i->operands[k]->uses[i->use_slots[k]].operand = k;
  }
}

void hlo_instr_replace_uses(hlo_instr *old, hlo_instr *replacement) {
  if (old == replacement) return;
  int kept = 0;
  for (int k = 0; k < old->n_uses; k++) {
    hlo_use use = old->uses[k];
    if (use.user == replacement) {
      use.user->use_slots[use.operand] = kept;
      old->uses[kept++] = use;
      continue;
    }
    use.user->operands[use.operand] = replacement;
    add_use(use.user, use.operand);
  }
  old->n_uses = kept;
  if (old->parent->root == old) old->parent->root = replacement;
}

// --- the list of instructions --------------------------------------------------------------------

static void link_before(hlo_instr *i, hlo_instr *position) {
  hlo_computation *c = i->parent;
  i->next = position;
  i->prev = position ? position->prev : c->last;
  *(i->prev ? &i->prev->next : &c->first) = i;
  *(position ? &position->prev : &c->last) = i;
}

static void unlink_instr(hlo_instr *i) {
  *(i->prev ? &i->prev->next : &i->parent->first) = i->next;
  *(i->next ? &i->next->prev : &i->parent->last) = i->prev;
  i->prev = i->next = NULL;
}

static void register_parameter(hlo_instr *i) {
  hlo_computation *c = i->parent;
  int64_t n = HLO_ATTRS(i, parameter)->number;
  LEMNOS_ASSERT(n >= 0 && n < INT32_MAX - 1);
  if (n >= c->cap_params)
    c->params = vec_grow(c->module->arena, c->params, c->n_params, &c->cap_params, (int)n + 1, sizeof(*c->params));
  for (; c->n_params <= n; c->n_params++) c->params[c->n_params] = NULL;
  c->params[n] = i;
}

hlo_instr *hlo_instr_create(hlo_computation *c, hlo_instr *before, hlo_op op, const hlo_shape *shape, int n_operands,
                            hlo_instr *const *operands, int n_called, hlo_computation *const *called, void *attrs,
                            const loc *l, strv name) {
  arena *a = c->module->arena;
  hlo_instr *i = ARENA_NEW(a, hlo_instr);
  i->op = op;
  i->id = c->module->next_id++;
  i->name = unique_name(c->module, name, hlo_op_table[op].text_name);
  i->shape = shape;
  i->attrs = attrs;
  i->loc = l;
  i->parent = c;
  if (n_operands) reserve_operands(i, n_operands);
  i->n_operands = n_operands;
  for (int k = 0; k < n_operands; k++) {
    i->operands[k] = operands[k];
    add_use(i, k);
  }
  i->n_called = n_called;
  if (n_called) i->called = arena_copy(a, called, sizeof(*called) * (size_t)n_called);
  link_before(i, before);
  if (op == HLO_OP_PARAMETER) register_parameter(i);
  return i;
}

void hlo_instr_remove(hlo_instr *i) {
  hlo_computation *c = i->parent;
  LEMNOS_ASSERT(i->n_uses == 0 && c->root != i);
  for (int k = 0; k < i->n_operands; k++) remove_use(i, k);
  i->n_operands = 0;
  unlink_instr(i);
  if (i->op != HLO_OP_PARAMETER) return;
  int64_t n = HLO_ATTRS(i, parameter)->number;
  if (n < c->n_params && c->params[n] == i) c->params[n] = NULL;
  while (c->n_params && !c->params[c->n_params - 1]) c->n_params--;
}

void hlo_computation_remove_parameter(hlo_computation *c, int n) {
  int count = c->n_params;
  hlo_instr_remove(c->params[n]);
  for (int k = n + 1; k < count; k++) {
    hlo_instr *p = c->params[k];
    c->params[k - 1] = p;
    if (!p) continue;
    p->attrs = hlo_attrs_clone(c->module->arena, HLO_ATTR_LIST_parameter, p->attrs);  // it may be shared with a clone
    HLO_ATTRS(p, parameter)->number = k - 1;
  }
  c->n_params = count - 1;
}

void hlo_instr_move_before(hlo_instr *i, hlo_instr *position) {
  if (i == position) return;
  unlink_instr(i);
  link_before(i, position);
}

hlo_instr *hlo_instr_clone(const hlo_instr *i, hlo_computation *c, hlo_instr *before, hlo_instr *const *operands) {
  return hlo_instr_create(c, before, i->op, i->shape, i->n_operands, operands, i->n_called, i->called, i->attrs, i->loc,
                          i->name);
}

bool hlo_instr_has_side_effect(const hlo_instr *i) {
  if (hlo_op_has(i->op, HLO_TRAIT_S)) return true;
  if (i->op == HLO_OP_CUSTOM_CALL && HLO_ATTRS(i, custom_call)->has_side_effect) return true;
  for (int k = 0; k < i->n_called; k++)
    HLO_FOR_EACH (inner, i->called[k])
      if (hlo_instr_has_side_effect(inner)) return true;
  return false;
}
