// SPDX-License-Identifier: Apache-2.0
// Import: the first k of the last dimension in another order than top_k's, as a stable sort of the values with their
// indices and two slices. That is what XLA makes of mhlo.topk with largest = false (the least first, by total order)
// and of @TopK with a comparator of its own.
#include "frontend/import_internal.h"

// (value, value, index, index) -> does the first one come first?
static hlo_computation *pair_order(import_ctx *c, hlo_dtype t, hlo_computation *order) {
  hlo_computation *body = hlo_computation_create(c->module, STRV("top_k_order"));
  hlo_builder b = hlo_builder_end(body);
  const hlo_shape *value = hlo_shape_array(c->module->shapes, t, 0, NULL);
  const hlo_shape *index = hlo_shape_array(c->module->shapes, HLO_S32, 0, NULL);
  hlo_instr *x[2] = {hlo_build_parameter(&b, value, (strv){0}), hlo_build_parameter(&b, value, (strv){0})};
  hlo_build_parameter(&b, index, (strv){0});
  hlo_build_parameter(&b, index, (strv){0});
  if (order) {
    body->root = hlo_build(&b, HLO_OP_CALL, order->root->shape, 2, x, 1, &order, NULL);
    return body;
  }
  hlo_attrs_compare *attrs = hlo_attrs_create(c->arena, HLO_ATTR_LIST_compare);
  attrs->direction = HLO_COMPARISON_DIRECTION_LT;
  if (hlo_dtype_is_float(t)) attrs->type = HLO_COMPARISON_TYPE_TOTALORDER;
  body->root = hlo_build(&b, HLO_OP_COMPARE, NULL, 2, x, 0, NULL, attrs);
  return body;
}

static bool is_order_of_two(const hlo_computation *order, hlo_dtype t) {
  if (order->n_params != 2 || order->root->shape->dtype != HLO_PRED) return false;
  for (int i = 0; i < 2; i++)
    if (order->params[i]->shape->dtype != t || order->params[i]->shape->rank) return false;
  return true;
}

bool import_first_k(import_ctx *c, import_scope *s, const mlir_op *op, int64_t k, hlo_computation *order, bool *done) {
  hlo_instr **operands = import_operands(c, s, op), *both[2];
  if (!operands) return false;
  const hlo_shape *x = operands[0]->shape;
  *done = hlo_shape_is_array(x) && !x->quant && x->rank > 0 && hlo_shape_is_static(x) &&
          (!order || order->n_params == 4 || is_order_of_two(order, x->dtype));
  if (!*done) return true;
  int last = x->rank - 1;
  if (k < 0 || k > x->dims[last])
    return import_fail(c, op->loc, "'" STRV_FMT "': k is %lld; expected at most the size %lld of the last dimension",
                       STRV_ARG(op->name), (long long)k, (long long)x->dims[last]);
  hlo_builder b = import_builder(s, op->loc);
  both[0] = operands[0];
  both[1] = hlo_build_iota(&b, hlo_shape_with_dtype(c->module->shapes, x, HLO_S32), last);
  hlo_attrs_sort *attrs = hlo_attrs_create(c->arena, HLO_ATTR_LIST_sort);
  attrs->dimension = last;
  attrs->is_stable = true;
  hlo_computation *body = order && order->n_params == 4 ? order : pair_order(c, x->dtype, order);
  hlo_instr *sorted = import_emit(c, s, HLO_OP_SORT, NULL, 2, both, 1, &body, attrs, op->loc);
  if (!sorted) return false;
  b = import_builder(s, op->loc);
  int64_t *start = ARENA_ARRAY(c->arena, int64_t, x->rank),
          *limit = arena_copy(c->arena, x->dims, sizeof *limit * (size_t)x->rank);
  limit[last] = k;
  for (int i = 0; i < 2; i++) {
    hlo_instr *r = hlo_build_slice(&b, hlo_build_get(&b, sorted, i), start, limit, NULL);
    const hlo_shape *declared = import_type(c, op->results[i].type, op->loc);
    if (!declared) return false;
    if (declared != r->shape)
      return import_fail(c, op->loc, "result %d of '" STRV_FMT "' has another type than the operand and k give", i,
                         STRV_ARG(op->name));
    import_bind(c, s, &op->results[i], r);
  }
  return true;
}
