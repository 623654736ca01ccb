// SPDX-License-Identifier: Apache-2.0
// Multi-output fusion: two loops over the same dimensions become one with a tuple of results, when
//   - both read an array of at least that size (siblings), or
//   - one reads the other's result, which is needed elsewhere too, element by element (producer and consumer), or
//   - both are tiny and read nothing but parameters (the scales of many batch norms): then only launches are saved.
// The merged fusion stands where the later of the two stood; what depends on the earlier one in between moves behind
// it, which is refused if the later one needs any of that, or if it has side effects. Needs: instruction fusion has
// run. Leaves: LOOP fusions with tuple roots whose elements all have the same dimensions.
#include "hlo/opt/opt_fusion_internal.h"

enum { MAX_RESULTS = 8, MAX_DISTANCE = 256, MAX_USES = 16, TINY = 4096 };

// A loop that may be merged: the dimensions of its results, or NULL.
static const hlo_shape *loop_shape(const hlo_pass_ctx *ctx, const hlo_instr *i) {
  if (i->op == HLO_OP_FUSION) {
    if (HLO_ATTRS(i, fusion)->kind != HLO_FUSION_KIND_LOOP || !fusion_fits(ctx, i)) return NULL;
    const hlo_instr *root = i->called[0]->root;
    if (root->op == HLO_OP_TRANSPOSE) return NULL;
    return hlo_shape_is_tuple(i->shape) ? i->shape->elements[0] : i->shape;
  }
  if (fusion_is_reshape(i) || i->op == HLO_OP_CONSTANT || i->op == HLO_OP_COPY || i->op == HLO_OP_TRANSPOSE ||
      !i->n_operands)
    return NULL;
  return fusion_is_loop_op(ctx, i) ? i->shape : NULL;
}

static int n_results(const hlo_instr *i) {
  return hlo_shape_leaves(i->shape);
}

static void add_cost(const hlo_instr *i, int *members, int *weight) {
  if (i->op == HLO_OP_PARAMETER || i->op == HLO_OP_TUPLE) return;
  ++*members;
  *weight += fusion_weight(i);
}

static void cost(const hlo_instr *i, int *members, int *weight) {
  if (i->op != HLO_OP_FUSION)
    add_cost(i, members, weight);
  else
    HLO_FOR_EACH (x, i->called[0]) add_cost(x, members, weight);
}

static bool is_result_of(const hlo_instr *x, const hlo_instr *a) {
  return x == a || (x->op == HLO_OP_GET_TUPLE_ELEMENT && x->operands[0] == a);
}

static bool within_limits(const hlo_pass_ctx *ctx, const hlo_instr *a, const hlo_instr *b) {
  int members = 0, weight = 0, results = n_results(a) + n_results(b), operands = a->n_operands;
  cost(a, &members, &weight);
  cost(b, &members, &weight);
  for (int o = 0; o < b->n_operands; o++) {
    bool have = is_result_of(b->operands[o], a);
    for (int k = 0; k < a->n_operands && !have; k++) have = a->operands[k] == b->operands[o];
    operands += !have;
  }
  return members <= FUSION_MAX_MEMBERS && weight <= FUSION_MAX_WEIGHT && results <= MAX_RESULTS &&
         operands <= fusion_max_operands(ctx->target, results);
}

// Is x, in a fused body, used only at the index of the results?
static bool used_in_place(const hlo_instr *x, const hlo_shape *dims, int depth) {
  if (depth > 32) return false;
  for (int u = 0; u < x->n_uses; u++) {
    const hlo_instr *user = x->uses[u].user;
    if (user->op == HLO_OP_TUPLE) continue;
    if (!hlo_op_has(user->op, HLO_TRAIT_E) || !hlo_shape_same_dims(user->shape, dims) ||
        !used_in_place(user, dims, depth + 1))
      return false;
  }
  return true;
}

static bool reads_in_place(const hlo_instr *b, int o, const hlo_shape *dims) {
  if (!hlo_shape_same_dims(b->operands[o]->shape, dims)) return false;
  return b->op == HLO_OP_FUSION ? used_in_place(b->called[0]->params[o], dims, 0) : hlo_op_has(b->op, HLO_TRAIT_E);
}

// a stands before b. What in between depends on a goes to `behind`; false if b needs any of it, or b uses a other than
// in place.
static bool may_join(const hlo_instr *a, const hlo_instr *b, const hlo_shape *dims, arena *scratch, bitset *marked,
                     fusion_list *behind) {
  int distance = 0;
  behind->len = 0;
  bool ok = true;
  bitset_set(marked, a->id);
  hlo_instr *i = a->next;
  for (; i && i != b && ok; i = i->next) {
    if (++distance > MAX_DISTANCE) ok = false;
    bool depends = false;
    for (int o = 0; o < i->n_operands; o++) depends |= bitset_get(marked, i->operands[o]->id);
    if (!depends) continue;
    bitset_set(marked, i->id);
    vec_push(scratch, behind, i);
    if (hlo_instr_has_side_effect(i)) ok = false;
  }
  ok = ok && i == b;
  for (int o = 0; o < b->n_operands && ok; o++) {
    const hlo_instr *x = b->operands[o];
    if (bitset_get(marked, x->id)) ok = is_result_of(x, a) && reads_in_place(b, o, dims);
  }
  bitset_clear(marked, a->id);
  for (int n = 0; n < behind->len; n++) bitset_clear(marked, behind->data[n]->id);
  return ok;
}

// --- merging -------------------------------------------------------------------------------------

typedef struct merger {
  hlo_computation *body;
  arena *scratch;
  u64map params;  // operand -> parameter
  fusion_list operands, results;
} merger;

static hlo_instr *parameter_for(merger *g, hlo_instr *x) {
  hlo_instr *p = ptrmap_get(&g->params, x);
  if (p) return p;
  hlo_builder b = hlo_builder_end(g->body);
  b.before = g->body->n_params ? g->body->params[g->body->n_params - 1]->next : g->body->first;
  b.loc = x->loc;
  p = hlo_build_parameter(&b, x->shape, (strv){0});
  vec_push(g->scratch, &g->operands, x);
  ptrmap_put(g->scratch, &g->params, x, p);
  return p;
}

// The value of i's operand o in the merged body; results of `a` (the first n_a) are there already.
static hlo_instr *operand_value(merger *g, const hlo_instr *i, int o, const hlo_instr *a) {
  hlo_instr *x = i->operands[o];
  if (x == a) return g->results.data[0];
  if (x->op == HLO_OP_GET_TUPLE_ELEMENT && x->operands[0] == a)
    return g->results.data[HLO_ATTRS(x, get_tuple_element)->index];
  return parameter_for(g, x);
}

static void clone_loop(merger *g, const hlo_instr *i, const hlo_instr *a) {
  hlo_instr *operands[64 + FUSION_MAX_MEMBERS];
  if (i->op != HLO_OP_FUSION) {
    for (int o = 0; o < i->n_operands; o++) operands[o] = operand_value(g, i, o, a);
    vec_push(g->scratch, &g->results, hlo_instr_clone(i, g->body, NULL, operands));
    return;
  }
  u64map clones = {0};
  const hlo_computation *from = i->called[0];
  for (int p = 0; p < from->n_params; p++) ptrmap_put(g->scratch, &clones, from->params[p], operand_value(g, i, p, a));
  HLO_FOR_EACH (x, from) {
    if (x->op == HLO_OP_PARAMETER || (x == from->root && x->op == HLO_OP_TUPLE)) continue;
    for (int o = 0; o < x->n_operands; o++) operands[o] = ptrmap_get(&clones, x->operands[o]);
    ptrmap_put(g->scratch, &clones, x, hlo_instr_clone(x, g->body, NULL, operands));
  }
  if (from->root->op != HLO_OP_TUPLE) {
    vec_push(g->scratch, &g->results, ptrmap_get(&clones, from->root));
    return;
  }
  for (int o = 0; o < from->root->n_operands; o++)
    vec_push(g->scratch, &g->results, ptrmap_get(&clones, from->root->operands[o]));
}

static void named_members(arena *scratch, const hlo_instr *i, fusion_list *list) {
  if (i->op != HLO_OP_FUSION)
    vec_push(scratch, list, (hlo_instr *)i);
  else
    HLO_FOR_EACH (x, i->called[0]) vec_push(scratch, list, x);
}

static const hlo_instr *last_result(const hlo_instr *i) {
  if (i->op != HLO_OP_FUSION) return i;
  const hlo_instr *root = i->called[0]->root;
  return root->op == HLO_OP_TUPLE ? root->operands[root->n_operands - 1] : root;
}

// Uses of i's results go to elements first.. of the merged fusion; i goes.
static void redirect(hlo_instr *i, hlo_instr *fusion, int first, hlo_instr **elements, hlo_instr *before) {
  hlo_builder b = hlo_builder_before(fusion);
  b.before = before;
  int n = n_results(i);
  bool tuple = hlo_shape_is_tuple(i->shape);
  for (int k = 0; k < n; k++) {
    b.loc = i->loc;
    elements[first + k] = hlo_build_get(&b, fusion, first + k);
  }
  if (!tuple) hlo_instr_replace_uses(i, elements[first]);
  while (tuple && i->n_uses) {
    hlo_instr *get = i->uses[0].user;  // only get_tuple_element: checked by the caller
    hlo_instr_replace_uses(get, elements[first + HLO_ATTRS(get, get_tuple_element)->index]);
    hlo_instr_remove(get);
  }
}

static hlo_instr *merge(arena *scratch, hlo_instr *a, hlo_instr *b, const fusion_list *behind) {
  hlo_module *m = a->parent->module;
  fusion_list all = {0};
  named_members(scratch, a, &all);
  named_members(scratch, b, &all);
  const char *name = fusion_name(scratch, all.data, all.len, last_result(b));
  merger g = {.scratch = scratch};
  g.body = hlo_computation_create(m, strv_from_cstr(arena_printf(scratch, "fused_%s", name)));
  clone_loop(&g, a, a);
  clone_loop(&g, b, a);
  hlo_builder tuple = hlo_builder_end(g.body);
  tuple.loc = b->loc;
  g.body->root = hlo_build_tuple(&tuple, g.results.len, g.results.data);
  hlo_attrs_fusion *attrs = hlo_attrs_create(m->arena, HLO_ATTR_LIST_fusion);
  attrs->kind = HLO_FUSION_KIND_LOOP;
  hlo_instr *fusion =
      hlo_instr_create(b->parent, b, HLO_OP_FUSION, g.body->root->shape, g.operands.len, g.operands.data, 1, &g.body,
                       attrs, b->loc, strv_from_cstr(arena_printf(scratch, "%s_fusion", name)));
  hlo_instr *elements[2 * MAX_RESULTS], *next = b->next;
  // Old get_tuple_elements of a are among `behind` and go away: keep those that stay.
  fusion_list stay = {0};
  for (int n = 0; n < behind->len; n++)
    if (!is_result_of(behind->data[n], a)) vec_push(scratch, &stay, behind->data[n]);
  while (next && is_result_of(next, b)) next = next->next;
  redirect(a, fusion, 0, elements, b);
  redirect(b, fusion, n_results(a), elements, b);
  for (int n = 0; n < stay.len; n++) hlo_instr_move_before(stay.data[n], next);
  hlo_instr_remove(b);
  hlo_instr_remove(a);
  return fusion;
}

static bool only_taken_apart(const hlo_instr *i) {
  if (!hlo_shape_is_tuple(i->shape)) return true;
  for (int u = 0; u < i->n_uses; u++)
    if (i->uses[u].user->op != HLO_OP_GET_TUPLE_ELEMENT || i->uses[u].user == i->parent->root) return false;
  return i != i->parent->root;
}

// --- search --------------------------------------------------------------------------------------

typedef struct search {
  hlo_pass_ctx *ctx;
  bitset marked;
  int32_t n_ids;
} search;

static bool try_merge(search *s, hlo_instr *a, hlo_instr *b, hlo_instr **merged) {
  const hlo_shape *x = loop_shape(s->ctx, a), *y = a == b ? NULL : loop_shape(s->ctx, b);
  if (!x || !y || !hlo_shape_same_dims(x, y) || x->layout || y->layout) return false;
  if (!only_taken_apart(a) || !only_taken_apart(b) || !within_limits(s->ctx, a, b)) return false;
  if (s->ctx->scratch && a->parent->module->next_id > s->n_ids) {  // new instructions since the set was made
    s->n_ids = a->parent->module->next_id + 256;
    s->marked = bitset_create(s->ctx->scratch, s->n_ids);
  }
  fusion_list behind = {0};
  if (!may_join(a, b, x, s->ctx->scratch, &s->marked, &behind) || !hlo_opt_allowed(s->ctx)) return false;
  *merged = merge(s->ctx->scratch, a, b, &behind);
  return true;
}

// Users of x, which is a result or an operand of a.
static bool merge_with_user(search *s, hlo_instr *a, hlo_instr *x, hlo_instr **merged) {
  int n = x->n_uses < MAX_USES ? x->n_uses : MAX_USES;
  for (int u = 0; u < n; u++) {
    hlo_instr *b = x->uses[u].user;
    if (b != a && try_merge(s, a, b, merged)) return true;
  }
  return false;
}

static bool merge_something(search *s, hlo_instr *a, hlo_instr **merged) {
  const hlo_shape *dims = loop_shape(s->ctx, a);
  if (!dims) return false;
  if (!hlo_shape_is_tuple(a->shape)) {
    if (merge_with_user(s, a, a, merged)) return true;
  } else {
    for (int u = 0; u < a->n_uses; u++)
      if (a->uses[u].user->op == HLO_OP_GET_TUPLE_ELEMENT && merge_with_user(s, a, a->uses[u].user, merged))
        return true;
  }
  for (int o = 0; o < a->n_operands; o++)
    if (fusion_elements(a->operands[o]->shape) >= hlo_shape_elements(dims) && a->operands[o]->shape->rank > 0 &&
        merge_with_user(s, a, a->operands[o], merged))
      return true;
  return false;
}

static bool is_tiny(const hlo_pass_ctx *ctx, const hlo_instr *i) {
  const hlo_shape *dims = loop_shape(ctx, i);
  if (!dims || hlo_shape_elements(dims) > TINY) return false;
  for (int o = 0; o < i->n_operands; o++)
    if (i->operands[o]->op != HLO_OP_PARAMETER) return false;
  return true;
}

// Tiny loops that read only parameters move up behind the first of their dimensions and are merged with it.
static bool merge_tiny(search *s, hlo_computation *c) {
  fusion_list firsts = {0};
  bool changed = false;
  for (hlo_instr *i = c->first, *next; i; i = next) {
    next = i->next;
    if (!is_tiny(s->ctx, i)) continue;
    bool done = false;
    for (int n = 0; n < firsts.len && !done; n++) {
      hlo_instr *a = firsts.data[n], *merged;
      if (!hlo_shape_same_dims(loop_shape(s->ctx, a), loop_shape(s->ctx, i)) || !within_limits(s->ctx, a, i) ||
          !only_taken_apart(i))
        continue;
      hlo_instr_move_before(i, a->next);
      done = try_merge(s, a, i, &merged);
      if (done) firsts.data[n] = merged;
    }
    changed |= done;
    if (!done) vec_push(s->ctx->scratch, &firsts, i);
  }
  return changed;
}

lemnos_status hlo_opt_multi_output_fusion(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  fusion_computations list = fusion_executed(ctx->scratch, m);
  search s = {.ctx = ctx};
  for (int n = 0; n < list.len; n++) *changed |= merge_tiny(&s, list.data[n]);
  for (int n = 0; n < list.len; n++)
    for (hlo_instr *i = list.data[n]->first, *next; i; i = next) {
      hlo_instr *merged, *previous = i->prev;
      next = i->next;
      if (!merge_something(&s, i, &merged)) continue;
      *changed = true;
      next = previous ? previous->next : list.data[n]->first;  // what stood behind i, if it is still there
    }
  if (!*changed) return LEMNOS_SUCCESS;
  bool swept = false;
  LEMNOS_TRY(hlo_opt_dce(ctx, m, &swept));
  fusion_order_computations(ctx->scratch, m);
  return LEMNOS_SUCCESS;
}
