// SPDX-License-Identifier: Apache-2.0
// See alias.h. Positions by one walk over the executed computations; last uses by another; must-alias groups by
// union-find.
#include "hlo/analysis/alias.h"

bool alias_is_free(const hlo_instr *i) {
  return i->op == HLO_OP_TUPLE || i->op == HLO_OP_GET_TUPLE_ELEMENT || i->op == HLO_OP_BITCAST ||
         i->op == HLO_OP_OPTIMIZATION_BARRIER;
}

void alias_operand_leaf(const hlo_instr *i, int leaf, hlo_instr **out_operand, int *out_leaf) {
  for (int o = 0; o < i->n_operands; o++) {
    int n = hlo_shape_leaves(i->operands[o]->shape);
    if (leaf < n) {
      *out_operand = i->operands[o];
      *out_leaf = leaf;
      return;
    }
    leaf -= n;
  }
  LEMNOS_PANIC("operand leaf out of range");
}

// --- positions -----------------------------------------------------------------------------------

static bool is_executed_call(const hlo_instr *i) {
  return i->op == HLO_OP_WHILE || i->op == HLO_OP_CONDITIONAL;
}

static void add_values(alias_analysis *a, const hlo_instr *i, int32_t at) {
  a->base[i->id] = a->n_values;
  for (int l = 0; l < hlo_shape_leaves(i->shape); l++) {
    a->values[a->n_values] =
        (alias_value){.instr = i, .leaf = l, .def = at, .last = at, .parent = a->n_values, .next = a->n_values};
    a->n_values++;
  }
}

// Returns the position after the computation. Parameters are defined at its first position.
static int32_t place(alias_analysis *a, const hlo_computation *c, int32_t at) {
  int32_t begin = at++;
  HLO_FOR_EACH (i, c) {
    if (i->op == HLO_OP_PARAMETER) {
      add_values(a, i, begin);
      continue;
    }
    int32_t here = at++;
    if (is_executed_call(i)) {
      for (int n = 0; n < i->n_called; n++) at = place(a, i->called[n], at);
      ((hlo_instr *)i)->scratch = here;  // where its operands are read
      here = at++;
    } else {
      ((hlo_instr *)i)->scratch = here;
    }
    add_values(a, i, here);
  }
  return at + 1;  // one position for the root's use
}

static int count_values(const hlo_module *m) {
  int n = 0;
  for (int c = 0; c < m->n_computations; c++)
    HLO_FOR_EACH (i, m->computations[c]) n += hlo_shape_leaves(i->shape);
  return n;
}

static void extend(alias_analysis *a, int32_t v, int32_t at) {
  if (a->values[v].last < at) a->values[v].last = at;
}

static void use(alias_analysis *a, const hlo_instr *x, const hlo_instr *user) {
  int32_t at = (int32_t)user->scratch, base = a->base[x->id];
  if (user->op == HLO_OP_GET_TUPLE_ELEMENT) {  // only the leaves taken
    int first = 0, index = (int)HLO_ATTRS(user, get_tuple_element)->index;
    for (int e = 0; e < index; e++) first += hlo_shape_leaves(x->shape->elements[e]);
    for (int l = 0; l < hlo_shape_leaves(user->shape); l++) extend(a, base + first + l, at);
    return;
  }
  for (int l = 0; l < hlo_shape_leaves(x->shape); l++) extend(a, base + l, at);
}

static void find_uses(alias_analysis *a, const hlo_computation *c, int32_t end) {
  HLO_FOR_EACH (i, c) {
    for (int o = 0; o < i->n_operands; o++) use(a, i->operands[o], i);
    if (!is_executed_call(i)) continue;
    for (int n = 0; n < i->n_called; n++) {
      // The end of each nested computation: the position before the next one's begin, or before the result's.
      const hlo_computation *next = n + 1 < i->n_called ? i->called[n + 1] : NULL;
      int32_t stop;
      if (next && next->n_params)
        stop = a->values[a->base[next->params[0]->id]].def - 1;
      else
        stop = a->values[a->base[i->id]].def - 1;
      find_uses(a, i->called[n], stop);
    }
  }
  for (int l = 0; l < hlo_shape_leaves(c->root->shape); l++) extend(a, alias_value_of(a, c->root, l), end);
}

// --- groups --------------------------------------------------------------------------------------

int32_t alias_find(const alias_analysis *a, int32_t v) {
  while (a->values[v].parent != v) v = a->values[v].parent = a->values[a->values[v].parent].parent;
  return v;
}

static int32_t unite(alias_analysis *a, int32_t x, int32_t y) {
  x = alias_find(a, x);
  y = alias_find(a, y);
  if (x == y) return x;
  a->values[y].parent = x;
  int32_t t = a->values[x].next;
  a->values[x].next = a->values[y].next;
  a->values[y].next = t;
  alias_group *g = &a->groups[x];
  const alias_group *h = &a->groups[y];
  if (h->def < g->def) g->def = h->def;
  if (h->last > g->last) g->last = h->last;
  if (h->param >= 0) g->param = h->param;
  if (h->root >= 0) g->root = h->root;
  g->constant |= h->constant;
  g->donated |= h->donated;
  return x;
}

static void unite_leaves(alias_analysis *a, const hlo_instr *x, int first_x, const hlo_instr *y, int first_y, int n) {
  for (int l = 0; l < n; l++) unite(a, alias_value_of(a, x, first_x + l), alias_value_of(a, y, first_y + l));
}

static void must_alias(alias_analysis *a, const hlo_instr *i) {
  int n = hlo_shape_leaves(i->shape);
  switch (i->op) {
    case HLO_OP_GET_TUPLE_ELEMENT: {
      int first = 0;
      for (int e = 0; e < HLO_ATTRS(i, get_tuple_element)->index; e++)
        first += hlo_shape_leaves(i->operands[0]->shape->elements[e]);
      unite_leaves(a, i, 0, i->operands[0], first, n);
      break;
    }
    case HLO_OP_TUPLE: {
      int first = 0;
      for (int o = 0; o < i->n_operands; o++) {
        int leaves = hlo_shape_leaves(i->operands[o]->shape);
        unite_leaves(a, i, first, i->operands[o], 0, leaves);
        first += leaves;
      }
      break;
    }
    case HLO_OP_BITCAST:
    case HLO_OP_OPTIMIZATION_BARRIER: unite_leaves(a, i, 0, i->operands[0], 0, n); break;
    case HLO_OP_WHILE:
      unite_leaves(a, i, 0, i->operands[0], 0, n);
      unite_leaves(a, i, 0, i->called[0]->params[0], 0, n);
      unite_leaves(a, i, 0, i->called[1]->params[0], 0, n);
      unite_leaves(a, i, 0, i->called[1]->root, 0, n);
      break;
    case HLO_OP_CONDITIONAL:
      for (int c = 0; c < i->n_called; c++) {
        if (i->called[c]->n_params) {
          const hlo_instr *p = i->called[c]->params[0];
          unite_leaves(a, p, 0, i->operands[c + 1], 0, hlo_shape_leaves(p->shape));
        }
        unite_leaves(a, i, 0, i->called[c]->root, 0, n);
      }
      break;
    default: break;
  }
}

static void walk_executed(alias_analysis *a, const hlo_computation *c,
                          void (*fn)(alias_analysis *, const hlo_instr *)) {
  HLO_FOR_EACH (i, c) {
    if (is_executed_call(i))
      for (int n = 0; n < i->n_called; n++) walk_executed(a, i->called[n], fn);
    fn(a, i);
  }
}

// Loop state must survive the condition: the condition's parameter is live to its end, so that the body finds it.
static void extend_loop_state(alias_analysis *a, const hlo_instr *i) {
  if (i->op != HLO_OP_WHILE) return;
  const hlo_instr *cond = i->called[0]->params[0], *body = i->called[1]->params[0];
  for (int l = 0; l < hlo_shape_leaves(i->shape); l++)
    extend(a, alias_value_of(a, cond, l), a->values[alias_value_of(a, body, l)].def - 1);
}

static void describe_entry(alias_analysis *a) {
  const hlo_module *m = a->m;
  int leaf = 0, n_params = 0;
  for (int p = 0; p < m->entry->n_params; p++) n_params += hlo_shape_leaves(m->entry->params[p]->shape);
  a->param_alias = ARENA_ARRAY(a->arena, int32_t, n_params + 1);
  for (int p = 0; p < m->entry->n_params; p++) {
    const hlo_instr *param = m->entry->params[p];
    bool donated = m->param_donated && m->param_donated[p];
    int32_t target = donated ? -1 : -2;
    for (int n = 0; n < m->n_aliases; n++)
      if (m->aliases[n].param == p) target = m->aliases[n].result;
    for (int l = 0; l < hlo_shape_leaves(param->shape); l++, leaf++) {
      int32_t v = alias_value_of(a, param, l);
      a->param_alias[leaf] = hlo_shape_is_array(param->shape) ? target : -2;
      a->groups[v].param = leaf;
      a->groups[v].donated = a->param_alias[leaf] != -2;
      if (!a->groups[v].donated) a->values[v].last = a->groups[v].last = a->end;
    }
  }
}

alias_analysis *alias_analyze(const hlo_module *m, arena *arena_) {
  alias_analysis *a = ARENA_NEW(arena_, alias_analysis);
  a->m = m;
  a->arena = arena_;
  int n = count_values(m);
  a->values = ARENA_ARRAY(arena_, alias_value, n + 1);
  a->groups = ARENA_ARRAY(arena_, alias_group, n + 1);
  a->n_base = m->next_id;
  a->base = ARENA_ARRAY(arena_, int32_t, m->next_id + 1);
  for (int i = 0; i < m->next_id; i++) a->base[i] = -1;
  a->end = place(a, m->entry, 0) + 1;
  find_uses(a, m->entry, a->end);
  walk_executed(a, m->entry, extend_loop_state);
  for (int v = 0; v < a->n_values; v++) {
    const hlo_instr *i = a->values[v].instr;
    if (i->op == HLO_OP_CONSTANT) a->values[v].def = 0, a->values[v].last = a->end;
    a->groups[v] = (alias_group){.def = a->values[v].def,
                                 .last = a->values[v].last,
                                 .param = -1,
                                 .root = -1,
                                 .constant = i->op == HLO_OP_CONSTANT};
  }
  describe_entry(a);
  for (int l = 0; l < hlo_shape_leaves(m->entry->root->shape); l++) {
    alias_group *g = &a->groups[alias_value_of(a, m->entry->root, l)];
    if (g->root < 0) g->root = l;
  }
  walk_executed(a, m->entry, must_alias);
  return a;
}

// --- in place ------------------------------------------------------------------------------------

// One element type too: a kernel sees a shared buffer as one parameter.
static bool same_array(const hlo_shape *a, const hlo_shape *b) {
  return hlo_shape_is_array(a) && hlo_shape_is_array(b) && hlo_shape_same_dims(a, b) && a->layout == b->layout &&
         a->dtype == b->dtype;
}

// A loop fusion computes all results of an index before it stores any, if they have the same dimensions.
static bool has_equal_dims(const hlo_shape *s) {
  for (int l = 0; l < hlo_shape_leaves(s); l++)
    if (!hlo_shape_same_dims(hlo_shape_leaf(s, l), hlo_shape_leaf(s, 0))) return false;
  return true;
}

// Inside a fusion: is every use of x elementwise on arrays of x's dimensions, down to the root?
static bool only_elementwise_uses(const hlo_instr *x, int depth) {
  if (depth > 64) return false;
  for (int u = 0; u < x->n_uses; u++) {
    const hlo_instr *user = x->uses[u].user;
    if (user->op == HLO_OP_TUPLE) continue;
    if (!hlo_op_has(user->op, HLO_TRAIT_E) || !hlo_shape_same_dims(user->shape, x->shape)) return false;
    if (!only_elementwise_uses(user, depth + 1)) return false;
  }
  return true;
}

static const hlo_instr *fusion_leaf(const hlo_instr *fusion, int leaf) {
  const hlo_instr *root = fusion->called[0]->root;
  return root->op == HLO_OP_TUPLE ? root->operands[leaf] : root;
}

// The parameter number that an in-place root updates, or -1.
static int updated_parameter(const hlo_instr *root) {
  while (root->op == HLO_OP_BITCAST || root->op == HLO_OP_RESHAPE) root = root->operands[0];
  if (root->op != HLO_OP_DYNAMIC_UPDATE_SLICE && root->op != HLO_OP_SCATTER) return -1;
  const hlo_instr *x = root->operands[0];
  while (x->op == HLO_OP_BITCAST || x->op == HLO_OP_RESHAPE) x = x->operands[0];
  return x->op == HLO_OP_PARAMETER && x->n_uses == 1 ? (int)HLO_ATTRS(x, parameter)->number : -1;
}

int alias_in_place_operand(const hlo_instr *i, int leaf, int *cursor) {
  int at = *cursor;
  switch (i->op) {
    case HLO_OP_DYNAMIC_UPDATE_SLICE: *cursor = 1; return at == 0 ? 0 : -1;
    case HLO_OP_SCATTER: *cursor = 1; return at == 0 ? leaf : -1;
    case HLO_OP_FUSION: {
      const hlo_attrs_fusion *f = HLO_ATTRS(i, fusion);
      const hlo_instr *root = fusion_leaf(i, leaf);
      if (f->kind == HLO_FUSION_KIND_IN_PLACE) {
        *cursor = i->n_operands;
        return at == 0 ? updated_parameter(root) : -1;
      }
      if (f->kind != HLO_FUSION_KIND_LOOP || !has_equal_dims(i->shape)) return -1;
      for (; at < i->n_operands; at++) {
        const hlo_instr *p = i->called[0]->params[at];
        if (!same_array(p->shape, root->shape) || !only_elementwise_uses(p, 0)) continue;
        *cursor = at + 1;
        return at;
      }
      return -1;
    }
    default:
      if (!hlo_op_has(i->op, HLO_TRAIT_E)) return -1;
      for (; at < i->n_operands; at++) {
        if (!same_array(i->operands[at]->shape, i->shape)) continue;
        *cursor = at + 1;
        return at;
      }
      return -1;
  }
}

// Value w is written by an instruction that may overwrite operand value r, and reads r for the last time.
static bool may_overwrite(const alias_analysis *a, const alias_value *w, int32_t r) {
  int cursor = 0, operand;
  while ((operand = alias_in_place_operand(w->instr, w->leaf, &cursor)) >= 0) {
    hlo_instr *x;
    int leaf;
    alias_operand_leaf(w->instr, operand, &x, &leaf);
    if (alias_value_of(a, x, leaf) != r) continue;
    // Any other operand that shares r's buffer must be read in place as well: refuse when r is an operand twice.
    int times = 0;
    for (int o = 0; o < w->instr->n_operands; o++) times += w->instr->operands[o] == x;
    if (times == 1 || hlo_op_has(w->instr->op, HLO_TRAIT_E)) return true;
  }
  return false;
}

static bool interferes(const alias_analysis *a, int32_t x, int32_t y) {
  const alias_value *p = &a->values[x], *q = &a->values[y];
  if (p->last < q->def || q->last < p->def) return false;
  if (p->last == q->def && p->def < q->def) {
    if (alias_is_free(q->instr) || q->instr->op == HLO_OP_COPY) return false;
    return !may_overwrite(a, q, x);
  }
  if (q->last == p->def && q->def < p->def) {
    if (alias_is_free(p->instr) || p->instr->op == HLO_OP_COPY) return false;
    return !may_overwrite(a, p, y);
  }
  return true;
}

bool alias_try_merge(alias_analysis *a, int32_t x, int32_t y) {
  int32_t gx = alias_find(a, x), gy = alias_find(a, y);
  if (gx == gy) return true;
  const alias_group *p = &a->groups[gx], *q = &a->groups[gy];
  if (p->constant || q->constant) return false;
  if (p->root >= 0 && q->root >= 0) return false;
  if (p->param >= 0 && q->param >= 0) return false;
  if (p->param >= 0 || q->param >= 0) {
    // A parameter's buffer may be written only if it is donated to the result that shares it.
    int32_t param = p->param >= 0 ? p->param : q->param, root = p->root >= 0 ? p->root : q->root;
    bool donated = p->param >= 0 ? p->donated : q->donated;
    if (!donated || root < 0 || (a->param_alias[param] >= 0 && a->param_alias[param] != root)) return false;
  }
  int64_t bx = hlo_shape_bytes(hlo_shape_leaf(a->values[x].instr->shape, a->values[x].leaf));
  int64_t by = hlo_shape_bytes(hlo_shape_leaf(a->values[y].instr->shape, a->values[y].leaf));
  if (bx != by) return false;
  int32_t v = gx;
  do {
    int32_t w = gy;
    do {
      if (interferes(a, v, w)) return false;
      w = a->values[w].next;
    } while (w != gy);
    v = a->values[v].next;
  } while (v != gx);
  unite(a, gx, gy);
  return true;
}
