// SPDX-License-Identifier: Apache-2.0
// The builder: every function fills in the op's attributes, infers the shape, and creates the instruction at the
// cursor. A shape that cannot be inferred is a bug of the caller and panics with inference's own message.
#include "hlo/builder.h"

#include <stdlib.h>

hlo_builder hlo_builder_before(hlo_instr *position) {
  return (hlo_builder){position->parent->module, position->parent, position, position->loc};
}

hlo_builder hlo_builder_end(hlo_computation *c) {
  return (hlo_builder){c->module, c, NULL, NULL};
}

static hlo_instr *create(hlo_builder *b, hlo_op op, const hlo_shape *shape, int n_operands, hlo_instr *const *operands,
                         int n_called, hlo_computation *const *called, void *attrs) {
  return hlo_instr_create(b->computation, b->before, op, shape, n_operands, operands, n_called, called, attrs, b->loc,
                          (strv){0});
}

hlo_instr *hlo_build(hlo_builder *b, hlo_op op, const hlo_shape *declared, int n_operands, hlo_instr *const *operands,
                     int n_called, hlo_computation *const *called, void *attrs) {
  const hlo_shape *shape = NULL;
  arena *scratch = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, scratch);
  lemnos_status status =
      hlo_infer_shape(b->module, op, n_operands, operands, n_called, called, attrs, declared, b->loc, &sink, &shape);
  if (status) LEMNOS_PANIC("building %s: %s", hlo_op_table[op].text_name, lemnos_status_message(status));
  diag_sink_deinit(&sink);
  arena_destroy(scratch);
  return create(b, op, shape, n_operands, operands, n_called, called, attrs);
}

#define NEW_ATTRS(list) ((hlo_attrs_##list *)hlo_attrs_create(b->module->arena, HLO_ATTR_LIST_##list))

static hlo_i64s copy_list(hlo_builder *b, int n, const int64_t *data) {
  return hlo_i64s_copy(b->module->arena, data, n);
}

hlo_instr *hlo_build_parameter(hlo_builder *b, const hlo_shape *shape, strv name) {
  hlo_attrs_parameter *attrs = NEW_ATTRS(parameter);
  attrs->number = b->computation->n_params;
  return hlo_instr_create(b->computation, b->before, HLO_OP_PARAMETER, shape, 0, NULL, 0, NULL, attrs, b->loc, name);
}

hlo_instr *hlo_build_constant(hlo_builder *b, const hlo_literal *literal) {
  hlo_attrs_constant *attrs = NEW_ATTRS(constant);
  attrs->value = literal;
  return create(b, HLO_OP_CONSTANT, literal->shape, 0, NULL, 0, NULL, attrs);
}

static hlo_instr *splat(hlo_builder *b, const hlo_shape *shape, const void *element) {
  return hlo_build_constant(b, hlo_literal_splat(b->module->arena, shape, element));
}

hlo_instr *hlo_build_splat_f64(hlo_builder *b, const hlo_shape *shape, double x) {
  double element[2] = {0, 0};
  hlo_element_set_f64(shape->dtype, element, 0, 0, x);
  return splat(b, shape, element);
}

hlo_instr *hlo_build_scalar_f64(hlo_builder *b, hlo_dtype t, double x) {
  return hlo_build_splat_f64(b, hlo_shape_array(b->module->shapes, t, 0, NULL), x);
}

hlo_instr *hlo_build_scalar_i64(hlo_builder *b, hlo_dtype t, int64_t x) {
  double element[2] = {0, 0};
  hlo_element_set_i64(t, element, 0, x);
  return splat(b, hlo_shape_array(b->module->shapes, t, 0, NULL), element);
}

hlo_instr *hlo_build_unary(hlo_builder *b, hlo_op op, hlo_instr *x) {
  return hlo_build(b, op, NULL, 1, &x, 0, NULL, NULL);
}

hlo_instr *hlo_build_binary(hlo_builder *b, hlo_op op, hlo_instr *x, hlo_instr *y) {
  return hlo_build(b, op, NULL, 2, (hlo_instr *[]){x, y}, 0, NULL, NULL);
}

hlo_instr *hlo_build_compare(hlo_builder *b, hlo_comparison_direction d, hlo_instr *x, hlo_instr *y) {
  hlo_attrs_compare *attrs = NEW_ATTRS(compare);
  attrs->direction = d;
  return hlo_build(b, HLO_OP_COMPARE, NULL, 2, (hlo_instr *[]){x, y}, 0, NULL, attrs);
}

hlo_instr *hlo_build_select(hlo_builder *b, hlo_instr *pred, hlo_instr *x, hlo_instr *y) {
  return hlo_build(b, HLO_OP_SELECT, NULL, 3, (hlo_instr *[]){pred, x, y}, 0, NULL, NULL);
}

hlo_instr *hlo_build_convert(hlo_builder *b, hlo_instr *x, hlo_dtype t) {
  if (x->shape->dtype == t) return x;
  return hlo_build(b, HLO_OP_CONVERT, hlo_shape_with_dtype(b->module->shapes, x->shape, t), 1, &x, 0, NULL, NULL);
}

hlo_instr *hlo_build_bitcast_convert(hlo_builder *b, hlo_instr *x, const hlo_shape *shape) {
  return hlo_build(b, HLO_OP_BITCAST_CONVERT, shape, 1, &x, 0, NULL, NULL);
}

hlo_instr *hlo_build_reshape(hlo_builder *b, hlo_instr *x, int rank, const int64_t *dims) {
  const hlo_shape *shape = hlo_shape_with_dims(b->module->shapes, x->shape, rank, dims);
  return hlo_build(b, HLO_OP_RESHAPE, shape, 1, &x, 0, NULL, NULL);
}

hlo_instr *hlo_build_broadcast(hlo_builder *b, hlo_instr *x, int rank, const int64_t *dims, int n, const int64_t *map) {
  hlo_attrs_broadcast *attrs = NEW_ATTRS(broadcast);
  attrs->dimensions = copy_list(b, n, map);
  const hlo_shape *shape = hlo_shape_with_dims(b->module->shapes, x->shape, rank, dims);
  return hlo_build(b, HLO_OP_BROADCAST_IN_DIM, shape, 1, &x, 0, NULL, attrs);
}

hlo_instr *hlo_build_transpose(hlo_builder *b, hlo_instr *x, const int64_t *permutation) {
  hlo_attrs_transpose *attrs = NEW_ATTRS(transpose);
  attrs->permutation = copy_list(b, x->shape->rank, permutation);
  return hlo_build(b, HLO_OP_TRANSPOSE, NULL, 1, &x, 0, NULL, attrs);
}

hlo_instr *hlo_build_slice(hlo_builder *b, hlo_instr *x, const int64_t *start, const int64_t *limit,
                           const int64_t *stride) {
  hlo_attrs_slice *attrs = NEW_ATTRS(slice);
  int rank = x->shape->rank;
  int64_t *strides = ARENA_ARRAY(b->module->arena, int64_t, rank);
  for (int i = 0; i < rank; i++) strides[i] = stride ? stride[i] : 1;
  attrs->slice = (hlo_slice){copy_list(b, rank, start).data, copy_list(b, rank, limit).data, strides, rank};
  return hlo_build(b, HLO_OP_SLICE, NULL, 1, &x, 0, NULL, attrs);
}

hlo_instr *hlo_build_pad(hlo_builder *b, hlo_instr *x, hlo_instr *value, const hlo_padding_dim *dims) {
  hlo_attrs_pad *attrs = NEW_ATTRS(pad);
  int rank = x->shape->rank;
  attrs->padding = (hlo_padding){arena_copy(b->module->arena, dims, sizeof(*dims) * (size_t)rank), rank};
  return hlo_build(b, HLO_OP_PAD, NULL, 2, (hlo_instr *[]){x, value}, 0, NULL, attrs);
}

hlo_instr *hlo_build_concatenate(hlo_builder *b, int n, hlo_instr *const *xs, int64_t dimension) {
  hlo_attrs_concatenate *attrs = NEW_ATTRS(concatenate);
  attrs->dimension = dimension;
  return hlo_build(b, HLO_OP_CONCATENATE, NULL, n, xs, 0, NULL, attrs);
}

hlo_instr *hlo_build_iota(hlo_builder *b, const hlo_shape *shape, int64_t dimension) {
  hlo_attrs_iota *attrs = NEW_ATTRS(iota);
  attrs->dimension = dimension;
  return hlo_build(b, HLO_OP_IOTA, shape, 0, NULL, 0, NULL, attrs);
}

hlo_instr *hlo_build_reduce(hlo_builder *b, hlo_instr *x, hlo_instr *init, int n, const int64_t *dims,
                            hlo_computation *body) {
  hlo_attrs_dimensions *attrs = NEW_ATTRS(dimensions);
  attrs->dimensions = copy_list(b, n, dims);
  return hlo_build(b, HLO_OP_REDUCE, NULL, 2, (hlo_instr *[]){x, init}, 1, &body, attrs);
}

hlo_instr *hlo_build_tuple(hlo_builder *b, int n, hlo_instr *const *xs) {
  const hlo_shape **shapes = heap_alloc(sizeof(*shapes) * (size_t)(n + 1));
  for (int i = 0; i < n; i++) shapes[i] = xs[i]->shape;
  const hlo_shape *shape = hlo_shape_tuple(b->module->shapes, n, shapes);
  free(shapes);
  return create(b, HLO_OP_TUPLE, shape, n, xs, 0, NULL, NULL);
}

hlo_instr *hlo_build_get(hlo_builder *b, hlo_instr *tuple, int index) {
  LEMNOS_ASSERT(hlo_shape_is_tuple(tuple->shape) && index >= 0 && index < tuple->shape->n_elements);
  if (tuple->op == HLO_OP_TUPLE) return tuple->operands[index];
  hlo_attrs_get_tuple_element *attrs = NEW_ATTRS(get_tuple_element);
  attrs->index = index;
  return create(b, HLO_OP_GET_TUPLE_ELEMENT, tuple->shape->elements[index], 1, &tuple, 0, NULL, attrs);
}

hlo_computation *hlo_build_binary_computation(hlo_module *m, hlo_op op, hlo_dtype t) {
  hlo_computation *c = hlo_computation_create(m, strv_from_cstr(hlo_op_table[op].text_name));
  hlo_builder b = hlo_builder_end(c);
  const hlo_shape *scalar = hlo_shape_array(m->shapes, t, 0, NULL);
  hlo_instr *x = hlo_build_parameter(&b, scalar, STRV("x"));
  hlo_instr *y = hlo_build_parameter(&b, scalar, STRV("y"));
  c->root = hlo_build_binary(&b, op, x, y);
  return c;
}
