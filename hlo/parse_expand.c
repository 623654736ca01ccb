// SPDX-License-Identifier: Apache-2.0
// What XLA's HLO text says with one instruction and our form with another one, with several, or with none.
//
// Asynchronous pairs: "x-start" is the operation itself, whose result is the part of the start's tuple that the pair
// ends with; "x-update" and "x-done" pass it on, so their names stand for the start's instruction. Names of starts are
// noted in p->restated, since texts that repeat operands' shapes have XLA's there. "add-dependency" and "domain" pass
// on their first operand: what has side effects keeps its order anyway. Fusions of kind kCustom name the way in which a
// backend of XLA computes what is fused; what they compute is a call. "topk" of the least, and @TopK
// with a comparator of its own (of two values, and perhaps their indices), is a stable sort and two slices. A
// constant of tuple shape is a tuple of constants.
#include "hlo/builder.h"
#include "hlo/text_internal.h"

// --- operations by name --------------------------------------------------------------------------

static bool without_end(strv word, const char *end, strv *base) {
  strv e = strv_from_cstr(end);
  if (word.len <= e.len || !strv_eq_cstr(strv_drop(word, word.len - e.len), end)) return false;
  *base = strv_take(word, word.len - e.len);
  return true;
}

// The part of a start's shape that the pair ends with: ((operands), result, context..), (operand, result, context..),
// copy: (result, operand, context).
static const hlo_shape *shape_at_the_end(hlo_op op, const hlo_shape *s) {
  int part = op == HLO_OP_COPY ? 0 : 1;
  return op == HLO_OP_ALL_REDUCE || !hlo_shape_is_tuple(s) || s->n_elements < 2 ? s : s->elements[part];
}

static bool is_context_and_token(const hlo_shape *s) {  // behind what send and recv give
  return hlo_shape_is_tuple(s) && s->n_elements == 3 && s->elements[1]->dtype == HLO_U32 &&
         s->elements[2]->dtype == HLO_TOKEN;
}

// ((operands), result, context..)
static bool is_start_of(const hlo_shape *s, const hlo_text_operands *list) {
  if (!hlo_shape_is_tuple(s) || s->n_elements < 2 || !hlo_shape_is_tuple(s->elements[0]) ||
      s->elements[0]->n_elements != list->len)
    return false;
  for (int k = 0; k < list->len; k++) {
    const hlo_shape *said = s->elements[0]->elements[k], *is = list->data[k]->shape;
    if (said != is && (said->dtype != is->dtype || !hlo_shape_is_array(is) || !hlo_shape_same_dims(said, is)))
      return false;
  }
  return true;
}

void hlo_parse_restate(hlo_parser *p, hlo_text_instr *i, const hlo_text_operands *list, bool of_restated) {
  const hlo_shape *s = i->shape;
  if (i->op == HLO_OP_ASYNC_DONE && of_restated) {  // of a start that became a call
    i->passes_on = true;
  } else if (i->op == HLO_OP_ASYNC_START && is_start_of(s, list)) {
    i->op = HLO_OP_CALL;
    i->shape = s->elements[1];
    i->restated = true;
  } else if (i->op == HLO_OP_SEND && is_context_and_token(s)) {
    i->shape = s->elements[2];
    i->restated = true;
  } else if (i->op == HLO_OP_RECV && is_context_and_token(s)) {
    i->shape = hlo_shape_tuple(p->module->shapes, 2, (const hlo_shape *[]){s->elements[0], s->elements[2]});
    i->restated = true;
  }
}

// XLA says only whether the other side is the host.
void hlo_parse_set_channel_type(hlo_text_instr *i) {
  if (i->op != HLO_OP_SEND && i->op != HLO_OP_RECV) return;
  hlo_attrs_send_recv *a = i->attrs;
  a->channel_type = !a->is_host_transfer ? 1 : i->op == HLO_OP_SEND ? 2 : 3;
}

bool hlo_parse_operation(strv word, hlo_text_instr *i) {
  strv base;
  if (hlo_op_from_text(word, &i->op)) return true;
  bool update = without_end(word, "-update", &base), known;
  if (update || without_end(word, "-done", &base)) {
    known = strv_eq_cstr(base, "async") || hlo_op_from_text(base, &i->op);
    i->restated = update;
  } else if (without_end(word, "-start", &base)) {
    if (!hlo_op_from_text(base, &i->op)) return false;
    i->shape = shape_at_the_end(i->op, i->shape);
    return i->restated = true;
  } else {
    known = strv_eq_cstr(word, "add-dependency") || strv_eq_cstr(word, "domain");
  }
  i->op = HLO_OP_TUPLE;  // takes any operands, has no attributes
  return i->passes_on = known;
}

// --- constants of tuple shape --------------------------------------------------------------------

static hlo_instr *constant_of(hlo_parser *p, hlo_computation *c, const hlo_shape *shape, const loc *l) {
  if (!hlo_shape_is_tuple(shape)) {
    hlo_attrs_constant *a = hlo_attrs_create(p->arena, HLO_ATTR_LIST_constant);
    if (!hlo_parse_literal(p, shape, &a->value)) return NULL;
    return hlo_instr_create(c, NULL, HLO_OP_CONSTANT, shape, 0, NULL, 0, NULL, a, l, (strv){0});
  }
  hlo_text_operands elements = {0};
  hlo_instr *tuple = NULL;
  if (hlo_parse_elements(p, c, shape, l, &elements))
    tuple = hlo_instr_create(c, NULL, HLO_OP_TUPLE, shape, elements.len, elements.data, 0, NULL, NULL, l, (strv){0});
  vec_deinit(&elements);
  return tuple;
}

bool hlo_parse_elements(hlo_parser *p, hlo_computation *c, const hlo_shape *tuple, const loc *l,
                        hlo_text_operands *out) {
  if (!hlo_parse_expect(p, '(', "before the elements of a tuple")) return false;
  for (int e = 0; e < tuple->n_elements; e++) {  // as deep as the shape, which was parsed within limits
    if (e && !hlo_parse_expect(p, ',', "between the elements of a tuple")) return false;
    hlo_instr *element = constant_of(p, c, tuple->elements[e], l);
    if (!element) return false;
    vec_push(NULL, out, element);
  }
  return hlo_parse_expect(p, ')', "after the elements of a tuple");
}

// --- more operands -------------------------------------------------------------------------------

// XLA's rng takes the shape from its result; ours has it as an operand.
void hlo_parse_add_rng_shape(hlo_parser *p, hlo_computation *c, const hlo_text_instr *i, hlo_text_operands *list) {
  if (i->op != HLO_OP_RNG || list->len != 2 || !hlo_shape_is_array(i->shape) || !hlo_shape_is_static(i->shape)) return;
  int64_t rank = i->shape->rank;
  hlo_literal *l;
  lemnos_status status = hlo_literal_create(p->arena, hlo_shape_array(p->module->shapes, HLO_S64, 1, &rank), &l);
  if (status) {
    lemnos_status_free(status);
    return;
  }
  for (int k = 0; k < rank; k++) ((int64_t *)l->data)[k] = i->shape->dims[k];
  hlo_attrs_constant *a = hlo_attrs_create(p->arena, HLO_ATTR_LIST_constant);
  a->value = l;
  vec_push(NULL, list,
           hlo_instr_create(c, NULL, HLO_OP_CONSTANT, l->shape, 0, NULL, 0, NULL, a, i->loc, STRV("shape")));
}

// --- the first k ---------------------------------------------------------------------------------

// (value, value, index, index) -> does the first one come first, by an order of two values or by being less (total
// order)?
static hlo_computation *order_of_pairs(hlo_parser *p, const hlo_shape *value, const hlo_shape *index,
                                       hlo_computation *order) {
  hlo_computation *body = hlo_computation_create(p->module, STRV("order_of_pairs"));
  vec_push(NULL, &p->made, body);
  hlo_builder b = hlo_builder_end(body);
  hlo_instr *x[2] = {hlo_build_parameter(&b, value, (strv){0}), hlo_build_parameter(&b, value, (strv){0})};
  hlo_build_parameter(&b, index, (strv){0});
  hlo_build_parameter(&b, index, (strv){0});
  if (order) {
    body->root = hlo_build(&b, HLO_OP_CALL, order->root->shape, 2, x, 1, &order, NULL);
    return body;
  }
  hlo_attrs_compare *attrs = hlo_attrs_create(p->arena, HLO_ATTR_LIST_compare);
  attrs->direction = HLO_COMPARISON_DIRECTION_LT;
  if (hlo_dtype_is_float(value->dtype)) attrs->type = HLO_COMPARISON_TYPE_TOTALORDER;
  body->root = hlo_build(&b, HLO_OP_COMPARE, NULL, 2, x, 0, NULL, attrs);
  return body;
}

static bool can_take_first(const hlo_shape *x, int64_t k, const hlo_shape *result) {
  if (!hlo_shape_is_array(x) || x->quant || !x->rank || !hlo_shape_is_static(x) || k < 0 || k > x->dims[x->rank - 1] ||
      !(hlo_dtype_is_float(x->dtype) || hlo_dtype_is_integer(x->dtype)) || !hlo_shape_is_tuple(result) ||
      result->n_elements != 2)
    return false;
  for (int e = 0; e < 2; e++) {
    const hlo_shape *s = result->elements[e];
    if (!hlo_shape_is_array(s) || s->dtype != (e ? HLO_S32 : x->dtype) || s->rank != x->rank || s->quant) return false;
    for (int d = 0; d < x->rank; d++)
      if (s->dims[d] != (d == x->rank - 1 ? k : x->dims[d])) return false;
  }
  return true;
}

static hlo_instr *first_k(hlo_parser *p, hlo_computation *c, const hlo_text_instr *i, hlo_instr *x, int64_t k,
                          hlo_computation *order) {
  hlo_module *m = p->module;
  const hlo_shape *s = x->shape;
  int last = s->rank - 1;
  hlo_builder b = hlo_builder_end(c);
  b.loc = i->loc;
  hlo_instr *both[2] = {x, hlo_build_iota(&b, hlo_shape_array(m->shapes, HLO_S32, s->rank, s->dims), last)};
  if (!order || order->n_params == 2)
    order = order_of_pairs(p, hlo_shape_array(m->shapes, s->dtype, 0, NULL),
                           hlo_shape_array(m->shapes, HLO_S32, 0, NULL), order);
  hlo_attrs_sort *attrs = hlo_attrs_create(p->arena, HLO_ATTR_LIST_sort);
  attrs->dimension = last;
  attrs->is_stable = true;
  hlo_instr *sorted = hlo_build(&b, HLO_OP_SORT, NULL, 2, both, 1, &order, attrs);
  int64_t *start = ARENA_ARRAY(p->arena, int64_t, s->rank);
  int64_t *limit = arena_copy(p->arena, s->dims, sizeof *limit * (size_t)s->rank);
  limit[last] = k;
  for (int e = 0; e < 2; e++) both[e] = hlo_build_slice(&b, hlo_build_get(&b, sorted, e), start, limit, NULL);
  return hlo_build_tuple(&b, 2, both);
}

hlo_instr *hlo_parse_least_k(hlo_parser *p, hlo_computation *c, const hlo_text_instr *i, hlo_instr *x, const char *at) {
  int64_t k = ((const hlo_attrs_top_k *)i->attrs)->k;
  if (can_take_first(x->shape, k, i->shape)) return first_k(p, c, i, x, k, NULL);
  hlo_parse_fail(p, at,
                 "topk with largest=false takes an array of static shape, of integers or floats, and gives the "
                 "first k of its last dimension with their indices (s32)");
  return NULL;
}

static bool is_order(const hlo_computation *f, hlo_dtype t) {
  if ((f->n_params != 2 && f->n_params != 4) || !f->root || f->root->shape->dtype != HLO_PRED || f->root->shape->rank)
    return false;
  for (int k = 0; k < f->n_params; k++) {
    const hlo_shape *s = f->params[k] ? f->params[k]->shape : NULL;
    if (!s || s->dtype != (k < 2 ? t : HLO_S32) || s->rank || s->quant) return false;
  }
  return true;
}

bool hlo_parse_is_first_k(const hlo_text_instr *i, const hlo_text_operands *list, int n_called,
                          hlo_computation *const *called) {
  if (i->op != HLO_OP_CUSTOM_CALL || !strv_eq_cstr(((const hlo_attrs_custom_call *)i->attrs)->target, "TopK") ||
      list->len != 1 || n_called != 1 || !hlo_shape_is_tuple(i->shape) || i->shape->n_elements != 2)
    return false;
  const hlo_shape *x = list->data[0]->shape, *values = i->shape->elements[0];
  if (!hlo_shape_is_array(values) || !values->rank) return false;
  return can_take_first(x, values->dims[values->rank - 1], i->shape) && is_order(called[0], x->dtype);
}

hlo_instr *hlo_parse_first_k(hlo_parser *p, hlo_computation *c, const hlo_text_instr *i, hlo_instr *x,
                             hlo_computation *order) {
  const hlo_shape *values = i->shape->elements[0];
  return first_k(p, c, i, x, values->dims[values->rank - 1], order);
}
