// SPDX-License-Identifier: Apache-2.0
// Helpers of the control-flow passes (control.h).
#include "hlo/opt/control.h"

hlo_instr *control_inline(const hlo_computation *c, hlo_instr *const *args, hlo_instr *before) {
  u64map map = {0};
  for (int p = 0; p < c->n_params; p++) ptrmap_put(NULL, &map, c->params[p], args[p]);
  hlo_instr *small[16], **operands = small;
  int cap = 16;
  HLO_FOR_EACH (i, c) {
    if (i->op == HLO_OP_PARAMETER) continue;
    if (i->n_operands > cap) {
      hlo_instr **grown = heap_alloc(sizeof *grown * (size_t)i->n_operands);
      if (operands != small) free(operands);
      operands = grown;
      cap = i->n_operands;
    }
    for (int o = 0; o < i->n_operands; o++) operands[o] = ptrmap_get(&map, i->operands[o]);
    ptrmap_put(NULL, &map, i, hlo_instr_clone(i, before->parent, before, operands));
  }
  hlo_instr *root = ptrmap_get(&map, c->root);
  if (operands != small) free(operands);
  u64map_deinit(&map);
  return root;
}

int control_n_carried(const hlo_instr *w) {
  return hlo_shape_is_tuple(w->shape) ? w->shape->n_elements : 1;
}

bool control_is_carried(const hlo_instr *x, int *k) {
  if (x->op == HLO_OP_PARAMETER && !hlo_shape_is_tuple(x->shape)) return *k = 0, true;
  if (x->op != HLO_OP_GET_TUPLE_ELEMENT || x->operands[0]->op != HLO_OP_PARAMETER) return false;
  *k = (int)HLO_ATTRS(x, get_tuple_element)->index;
  return true;
}

hlo_instr *control_next(const hlo_instr *w, int k) {
  hlo_instr *root = w->called[1]->root;
  if (!hlo_shape_is_tuple(w->shape)) return root;
  return root->op == HLO_OP_TUPLE ? root->operands[k] : NULL;
}

hlo_instr *control_init(const hlo_instr *w, int k) {
  hlo_instr *x = w->operands[0];
  if (!hlo_shape_is_tuple(w->shape)) return x;
  return x->op == HLO_OP_TUPLE ? x->operands[k] : NULL;
}

bool control_is_invariant(const hlo_instr *w, int k) {
  const hlo_instr *next = control_next(w, k), *root = w->called[1]->root;
  int from;
  if (root->op == HLO_OP_PARAMETER) return true;
  return next && control_is_carried(next, &from) && from == k;
}

// --- induction -----------------------------------------------------------------------------------

static bool scalar_constant(const hlo_instr *x, int64_t *out) {
  if (!x || x->op != HLO_OP_CONSTANT || !hlo_dtype_is_integer(x->shape->dtype) || hlo_shape_elements(x->shape) != 1)
    return false;
  *out = hlo_literal_get_i64(hlo_constant_value(x), 0);
  return x->shape->dtype != HLO_U64 || *out >= 0;
}

// A constant in the computation, or an invariant element that starts as one.
static bool known_value(const hlo_instr *w, const hlo_instr *x, int64_t *out) {
  int k;
  if (scalar_constant(x, out)) return true;
  return control_is_carried(x, &k) && control_is_invariant(w, k) && scalar_constant(control_init(w, k), out);
}

static hlo_comparison_direction mirrored(hlo_comparison_direction d) {
  switch (d) {
    case HLO_COMPARISON_DIRECTION_LT: return HLO_COMPARISON_DIRECTION_GT;
    case HLO_COMPARISON_DIRECTION_GT: return HLO_COMPARISON_DIRECTION_LT;
    case HLO_COMPARISON_DIRECTION_LE: return HLO_COMPARISON_DIRECTION_GE;
    case HLO_COMPARISON_DIRECTION_GE: return HLO_COMPARISON_DIRECTION_LE;
    default: return d;
  }
}

static bool find_step(const hlo_instr *w, int k, int64_t *step) {
  const hlo_instr *next = control_next(w, k);
  int from;
  if (!next || (next->op != HLO_OP_ADD && next->op != HLO_OP_SUBTRACT)) return false;
  for (int side = 0; side < (next->op == HLO_OP_ADD ? 2 : 1); side++) {
    if (!control_is_carried(next->operands[side], &from) || from != k) continue;
    if (!known_value(w, next->operands[1 - side], step)) continue;
    if (*step == INT64_MIN) return false;
    if (next->op == HLO_OP_SUBTRACT) *step = -*step;
    return true;
  }
  return false;
}

static bool type_range(hlo_dtype t, int64_t *low, int64_t *high) {
  int bits = hlo_dtype_table[t].bits;
  bool is_signed = hlo_dtype_is_signed(t);
  if (bits == 64) {
    *low = INT64_MIN;
    *high = INT64_MAX;
    return is_signed;
  }
  *low = is_signed ? -(INT64_C(1) << (bits - 1)) : 0;
  *high = is_signed ? (INT64_C(1) << (bits - 1)) - 1 : (INT64_C(1) << bits) - 1;
  return true;
}

// Steps until `init + n step <direction> bound` fails; -1 if it does not, or only after wrapping.
static int64_t count_trips(hlo_dtype t, hlo_comparison_direction d, int64_t init, int64_t step, int64_t bound) {
  int64_t low, high;
  if (!type_range(t, &low, &high)) return -1;
  __int128 distance = (__int128)bound - init, n;
  switch (d) {
    case HLO_COMPARISON_DIRECTION_LE: distance += 1;  // fall through
    case HLO_COMPARISON_DIRECTION_LT:
      if (distance <= 0) return 0;
      if (step <= 0) return -1;
      n = (distance + step - 1) / step;
      break;
    case HLO_COMPARISON_DIRECTION_GE: distance -= 1;  // fall through
    case HLO_COMPARISON_DIRECTION_GT:
      if (distance >= 0) return 0;
      if (step >= 0) return -1;
      n = (-distance + -(__int128)step - 1) / -(__int128)step;
      break;
    case HLO_COMPARISON_DIRECTION_NE:
      if (distance == 0) return 0;
      if (step == 0 || distance % step != 0 || distance / step < 0) return -1;
      n = distance / step;
      break;
    default: return -1;
  }
  __int128 last = init + n * step;
  return last < low || last > high || n > INT64_MAX ? -1 : (int64_t)n;
}

bool control_find_induction(const hlo_instr *w, control_induction *out) {
  const hlo_instr *test = w->called[0]->root;
  if (test->op != HLO_OP_COMPARE) return false;
  for (int side = 0; side < 2; side++) {
    hlo_instr *x = test->operands[side];
    int k;
    if (!control_is_carried(x, &k) || !hlo_dtype_is_integer(x->shape->dtype) || x->shape->rank) continue;
    if (!known_value(w, test->operands[1 - side], &out->bound)) continue;
    if (!scalar_constant(control_init(w, k), &out->init) || !find_step(w, k, &out->step)) continue;
    // An unsigned step down is a large number: wraps by intent, which count_trips would refuse.
    hlo_comparison_direction d = HLO_ATTRS(test, compare)->direction;
    out->element = k;
    out->trip_count = count_trips(x->shape->dtype, side ? mirrored(d) : d, out->init, out->step, out->bound);
    if (out->trip_count >= 0) return true;
  }
  return false;
}

// --- changing what is carried --------------------------------------------------------------------

static int count_callers(const hlo_module *m, const hlo_computation *c) {
  int n = 0;
  for (int k = 0; k < m->n_computations; k++)
    HLO_FOR_EACH (i, m->computations[k])
      for (int j = 0; j < i->n_called; j++) n += i->called[j] == c;
  return n;
}

// Uses of `x` (a tuple) other than by get_tuple_element become those of tuple(get(x, 0), ...), placed before `before`.
static void hide_whole_uses(hlo_instr *x, hlo_instr *before) {
  bool whole = x->parent->root == x;
  for (int k = 0; k < x->n_uses; k++) whole |= x->uses[k].user->op != HLO_OP_GET_TUPLE_ELEMENT;
  if (!whole) return;
  hlo_builder b = before ? hlo_builder_before(before) : hlo_builder_end(x->parent);
  int n = x->shape->n_elements;
  hlo_instr **elements = heap_alloc(sizeof *elements * (size_t)(n + 1));
  for (int k = 0; k < n; k++) elements[k] = hlo_build_get(&b, x, k);
  hlo_instr *tuple = hlo_build_tuple(&b, n, elements);
  free(elements);
  for (int k = 0; k < x->n_uses;) {
    hlo_use use = x->uses[k];
    if (use.user->op == HLO_OP_GET_TUPLE_ELEMENT)
      k++;
    else
      hlo_instr_set_operand(use.user, use.operand, tuple);  // takes this entry out of the list
  }
  if (x->parent->root == x) x->parent->root = tuple;
}

bool control_normalize(hlo_instr *w) {
  if (!hlo_shape_is_tuple(w->shape)) return false;
  hlo_module *m = w->parent->module;
  for (int j = 0; j < 2; j++) {
    if (count_callers(m, w->called[j]) > 1) {
      hlo_computation *copy = hlo_computation_clone(w->called[j], m);
      if (!copy) return false;
      // Callees come before callers in the module's list.
      int at = 0;
      while (m->computations[at] != w->parent) at++;
      for (int k = m->n_computations - 1; k > at; k--) m->computations[k] = m->computations[k - 1];
      m->computations[at] = copy;
      w->called[j] = copy;
    }
    hlo_instr *p = w->called[j]->params[0];
    hide_whole_uses(p, p->next);
  }
  hlo_computation *body = w->called[1];
  if (body->root->op != HLO_OP_TUPLE) hide_whole_uses(body->root, NULL);
  hide_whole_uses(w, w->next);
  return true;
}

static void set_index(hlo_instr *get, int index) {
  hlo_attrs_get_tuple_element *attrs = hlo_attrs_create(get->parent->module->arena, HLO_ATTR_LIST_get_tuple_element);
  attrs->index = index;
  get->attrs = attrs;
}

static void replace_tuple(hlo_computation *c, hlo_instr *old, hlo_instr *tuple) {
  (void)c;
  hlo_instr_replace_uses(old, tuple);
  hlo_opt_remove_dead(old);
}

void control_add_carried(hlo_instr *w, int n, hlo_instr *const *values, hlo_instr **in_body) {
  int old = w->shape->n_elements;
  hlo_instr **elements = heap_alloc(sizeof *elements * (size_t)(old + n));
  hlo_builder b = hlo_builder_before(w);
  for (int k = 0; k < old; k++) elements[k] = hlo_build_get(&b, w->operands[0], k);
  for (int k = 0; k < n; k++) elements[old + k] = values[k];
  hlo_instr *init = hlo_build_tuple(&b, old + n, elements), *before = w->operands[0];
  hlo_instr_set_operand(w, 0, init);
  hlo_opt_remove_dead(before);
  w->shape = w->called[0]->params[0]->shape = w->called[1]->params[0]->shape = init->shape;
  hlo_computation *body = w->called[1];
  hlo_instr *p = body->params[0], *root = body->root;
  hlo_builder first = hlo_builder_before(p->next ? p->next : root);
  for (int k = 0; k < n; k++) in_body[k] = hlo_build_get(&first, p, old + k);
  for (int k = 0; k < old; k++) elements[k] = root->operands[k];
  for (int k = 0; k < n; k++) elements[old + k] = in_body[k];
  hlo_builder end = hlo_builder_end(body);
  replace_tuple(body, root, hlo_build_tuple(&end, old + n, elements));
  free(elements);
}

// Gets of x by old index -> by new index; those of dead elements are unused and go.
static void renumber_gets(hlo_instr *x, const int *to) {
  for (int k = x->n_uses - 1; k >= 0; k--) {
    hlo_instr *get = x->uses[k].user;
    int index = to[HLO_ATTRS(get, get_tuple_element)->index];
    if (index >= 0)
      set_index(get, index);
    else
      hlo_instr_remove(get);
  }
}

static void sweep(hlo_computation *c) {
  for (hlo_instr *i = c->last, *prev; i; i = prev) {
    prev = i->prev;
    if (hlo_opt_is_removable(i)) hlo_instr_remove(i);
  }
}

void control_remove_carried(hlo_instr *w, const bitset *dead) {
  int old = w->shape->n_elements, n = 0, *to = heap_alloc(sizeof *to * (size_t)(old + 1));
  hlo_instr **elements = heap_alloc(sizeof *elements * (size_t)(old + 1));
  for (int k = 0; k < old; k++) to[k] = bitset_get(dead, k) ? -1 : n++;
  hlo_builder b = hlo_builder_before(w);
  for (int k = 0; k < old; k++)
    if (to[k] >= 0) elements[to[k]] = hlo_build_get(&b, w->operands[0], k);
  hlo_instr *init = hlo_build_tuple(&b, n, elements), *before = w->operands[0];
  hlo_computation *body = w->called[1];
  hlo_instr *root = body->root;
  for (int k = 0; k < old; k++)
    if (to[k] >= 0) elements[to[k]] = root->operands[k];
  hlo_builder end = hlo_builder_end(body);
  replace_tuple(body, root, hlo_build_tuple(&end, n, elements));
  sweep(body);
  sweep(w->called[0]);
  hlo_instr_set_operand(w, 0, init);
  hlo_opt_remove_dead(before);
  renumber_gets(w, to);
  for (int j = 0; j < 2; j++) {
    renumber_gets(w->called[j]->params[0], to);
    w->called[j]->params[0]->shape = init->shape;
  }
  w->shape = init->shape;
  free(elements);
  free(to);
}
