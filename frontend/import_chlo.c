// SPDX-License-Identifier: Apache-2.0
// Import: CHLO forms that HLO does not keep. Broadcasting binary operations get explicit broadcast_in_dim operations,
// chlo.constant_like becomes a constant. Where sizes are unknown, the result's are computed at run time and
// dynamic_broadcast_in_dim takes them.
#include "frontend/import_internal.h"

// --- broadcasting --------------------------------------------------------------------------------

// x broadcast to dims of `rank`; its dimension i becomes map[i].
static hlo_instr *broadcast_to(import_ctx *c, import_scope *s, hlo_instr *x, int rank, const int64_t *dims,
                               const int64_t *map, const loc *l) {
  hlo_shape proto = {.dtype = x->shape->dtype, .rank = rank, .dims = dims, .quant = x->shape->quant};
  const hlo_shape *shape = hlo_shape_intern(c->module->shapes, &proto);
  if (shape == x->shape) return x;
  hlo_attrs_broadcast *a = hlo_attrs_create(c->arena, HLO_ATTR_LIST_broadcast);
  a->dimensions = hlo_i64s_copy(c->arena, map, x->shape->rank);
  return import_emit(c, s, HLO_OP_BROADCAST_IN_DIM, shape, 1, &x, 0, NULL, a, l);
}

// The size of dimension d of x as an s32 scalar.
hlo_instr *import_size_of(import_ctx *c, import_scope *s, hlo_instr *x, int d, const loc *l) {
  hlo_builder b = import_builder(s, l);
  if (x->shape->dims[d] != HLO_DYNAMIC) return hlo_build_scalar_i64(&b, HLO_S32, x->shape->dims[d]);
  hlo_attrs_dimension *a = hlo_attrs_create(c->arena, HLO_ATTR_LIST_dimension);
  a->dimension = d;
  return import_emit(c, s, HLO_OP_GET_DIMENSION_SIZE, hlo_shape_array(c->module->shapes, HLO_S32, 0, NULL), 1, &x, 0,
                     NULL, a, l);
}

hlo_instr *import_vector_of(import_ctx *c, import_scope *s, hlo_instr **scalars, int64_t n, const loc *l) {
  int64_t one = 1;
  const hlo_shape *single = hlo_shape_array(c->module->shapes, HLO_S32, 1, &one);
  for (int i = 0; i < n; i++)
    if (!scalars[i] || !(scalars[i] = import_emit(c, s, HLO_OP_RESHAPE, single, 1, &scalars[i], 0, NULL, NULL, l)))
      return NULL;
  if (!n) {
    hlo_builder b = import_builder(s, l);
    const hlo_shape *none = hlo_shape_array(c->module->shapes, HLO_S32, 1, &n);
    return hlo_build_constant(&b, hlo_literal_splat(c->arena, none, arena_alloc(c->arena, 16)));
  }
  hlo_attrs_concatenate *a = hlo_attrs_create(c->arena, HLO_ATTR_LIST_concatenate);
  return import_emit(c, s, HLO_OP_CONCATENATE, hlo_shape_array(c->module->shapes, HLO_S32, 1, &n), (int)n, scalars, 0,
                     NULL, a, l);
}

const hlo_shape *import_shape_of_elements(import_ctx *c, const hlo_shape *s, const hlo_shape *element) {
  const hlo_shape *plain = hlo_shape_with_dtype(c->module->shapes, s, element->dtype);
  if (!element->quant) return plain;
  hlo_shape quantized = *plain;
  quantized.quant = element->quant;
  return hlo_shape_intern(c->module->shapes, &quantized);
}

hlo_instr *import_broadcast_like(import_ctx *c, import_scope *s, hlo_instr *scalar, hlo_instr *like, const loc *l) {
  const hlo_shape *shape = import_shape_of_elements(c, like->shape, scalar->shape);
  if (shape == scalar->shape) return scalar;
  if (hlo_shape_is_static(shape)) {
    void *attrs = hlo_attrs_create(c->arena, HLO_ATTR_LIST_broadcast);
    return import_emit(c, s, HLO_OP_BROADCAST_IN_DIM, shape, 1, &scalar, 0, NULL, attrs, l);
  }
  hlo_instr **sizes = ARENA_ARRAY(c->arena, hlo_instr *, like->shape->rank);
  for (int i = 0; i < like->shape->rank; i++) sizes[i] = import_size_of(c, s, like, i, l);
  hlo_instr *operands[2] = {scalar, import_vector_of(c, s, sizes, like->shape->rank, l)};
  if (!operands[1]) return NULL;
  void *attrs = hlo_attrs_create(c->arena, HLO_ATTR_LIST_dynamic_broadcast);
  return import_emit(c, s, HLO_OP_DYNAMIC_BROADCAST_IN_DIM, shape, 2, operands, 0, NULL, attrs, l);
}

// Result sizes at run time: of two sizes the one that is not 1. maps: operand dimension -> result dimension, `rank`
// apart.
static bool dynamic_operands(import_ctx *c, import_scope *s, const mlir_op *op, hlo_instr **operands, int n, int rank,
                             const int64_t *maps) {
  const loc *l = op->loc;
  hlo_instr **sizes = ARENA_ARRAY(c->arena, hlo_instr *, rank);
  int64_t *dims = ARENA_ARRAY(c->arena, int64_t, rank);  // 1: only ones so far
  for (int d = 0; d < rank; d++) {
    hlo_builder b = import_builder(s, l);
    sizes[d] = NULL;
    dims[d] = 1;
    for (int i = 0; i < n; i++) {
      for (int k = 0; k < operands[i]->shape->rank; k++) {
        int64_t size = operands[i]->shape->dims[k];
        if (maps[i * rank + k] != d || size == 1 || (dims[d] != HLO_DYNAMIC && dims[d] != 1)) continue;
        hlo_instr *own = import_size_of(c, s, operands[i], k, l);
        if (!own) return false;
        if (sizes[d] && size == HLO_DYNAMIC) {
          hlo_instr *is_one =
              hlo_build_compare(&b, HLO_COMPARISON_DIRECTION_EQ, sizes[d], hlo_build_scalar_i64(&b, HLO_S32, 1));
          own = hlo_build_select(&b, is_one, own, sizes[d]);
        }
        sizes[d] = own;
        dims[d] = size;
      }
    }
    if (!sizes[d]) sizes[d] = hlo_build_scalar_i64(&b, HLO_S32, 1);
  }
  hlo_instr *shape = import_vector_of(c, s, sizes, rank, l);
  if (!shape) return false;
  for (int i = 0; i < n; i++) {
    hlo_instr *pair[2] = {operands[i], shape};
    hlo_shape proto = {
        .dtype = operands[i]->shape->dtype, .rank = rank, .dims = dims, .quant = operands[i]->shape->quant};
    hlo_attrs_dynamic_broadcast *a = hlo_attrs_create(c->arena, HLO_ATTR_LIST_dynamic_broadcast);
    a->dimensions = hlo_i64s_copy(c->arena, maps + i * rank, operands[i]->shape->rank);
    operands[i] = import_emit(c, s, HLO_OP_DYNAMIC_BROADCAST_IN_DIM, hlo_shape_intern(c->module->shapes, &proto), 2,
                              pair, 0, NULL, a, l);
    if (!operands[i]) return false;
  }
  return true;
}

static bool broadcast_operands(import_ctx *c, import_scope *s, const mlir_op *op, hlo_instr **operands, int n) {
  int rank = 0;
  hlo_i64s given;
  bool dynamic = false, has_map = mlir_op_attr(op, "broadcast_dimensions") != NULL;
  if (!import_named_i64s(c, op, "broadcast_dimensions", false, &given)) return false;
  for (int i = 0; i < n; i++) {
    if (!hlo_shape_is_array(operands[i]->shape))
      return import_fail(c, op->loc, "operand %d of '" STRV_FMT "' is not a tensor", i, STRV_ARG(op->name));
    if (operands[i]->shape->rank > rank) rank = operands[i]->shape->rank;
    dynamic |= !hlo_shape_is_static(operands[i]->shape);
  }
  int64_t *dims = ARENA_ARRAY(c->arena, int64_t, rank);
  int64_t *maps = ARENA_ARRAY(c->arena, int64_t, n * rank);
  for (int i = 0; i < rank; i++) dims[i] = 1;
  for (int i = 0; i < n; i++) {
    const hlo_shape *x = operands[i]->shape;
    bool mapped = has_map && x->rank < rank;
    if (mapped && given.n != x->rank)
      return import_fail(c, op->loc, "'" STRV_FMT "': broadcast_dimensions has %d entries for an operand of rank %d",
                         STRV_ARG(op->name), given.n, x->rank);
    for (int k = 0; k < x->rank; k++) {
      int64_t to = maps[i * rank + k] = mapped ? given.data[k] : rank - x->rank + k;
      if (to < 0 || to >= rank)
        return import_fail(c, op->loc, "'" STRV_FMT "': broadcast dimension out of range", STRV_ARG(op->name));
      if (x->dims[k] == 1 || dynamic) continue;
      if (dims[to] != 1 && dims[to] != x->dims[k])
        return import_fail(c, op->loc, "'" STRV_FMT "': sizes %lld and %lld cannot be broadcast together",
                           STRV_ARG(op->name), (long long)dims[to], (long long)x->dims[k]);
      dims[to] = x->dims[k];
    }
  }
  if (dynamic) return dynamic_operands(c, s, op, operands, n, rank, maps);
  for (int i = 0; i < n; i++)
    if (!(operands[i] = broadcast_to(c, s, operands[i], rank, dims, maps + i * rank, op->loc))) return false;
  return true;
}

static const struct {
  const char *name;
  hlo_op op;
} broadcasting[] = {
    {"chlo.broadcast_add", HLO_OP_ADD},
    {"chlo.broadcast_and", HLO_OP_AND},
    {"chlo.broadcast_atan2", HLO_OP_ATAN2},
    {"chlo.broadcast_compare", HLO_OP_COMPARE},
    {"chlo.broadcast_complex", HLO_OP_COMPLEX},
    {"chlo.broadcast_divide", HLO_OP_DIVIDE},
    {"chlo.broadcast_maximum", HLO_OP_MAXIMUM},
    {"chlo.broadcast_minimum", HLO_OP_MINIMUM},
    {"chlo.broadcast_multiply", HLO_OP_MULTIPLY},
    {"chlo.broadcast_next_after", HLO_OP_NEXT_AFTER},
    {"chlo.broadcast_or", HLO_OP_OR},
    {"chlo.broadcast_polygamma", HLO_OP_POLYGAMMA},
    {"chlo.broadcast_power", HLO_OP_POWER},
    {"chlo.broadcast_remainder", HLO_OP_REMAINDER},
    {"chlo.broadcast_select", HLO_OP_SELECT},
    {"chlo.broadcast_shift_left", HLO_OP_SHIFT_LEFT},
    {"chlo.broadcast_shift_right_arithmetic", HLO_OP_SHIFT_RIGHT_ARITHMETIC},
    {"chlo.broadcast_shift_right_logical", HLO_OP_SHIFT_RIGHT_LOGICAL},
    {"chlo.broadcast_subtract", HLO_OP_SUBTRACT},
    {"chlo.broadcast_xor", HLO_OP_XOR},
    {"chlo.broadcast_zeta", HLO_OP_ZETA},
};

static bool op_broadcasting(import_ctx *c, import_scope *s, const mlir_op *op) {
  bool ok;
  size_t k = 0;
  while (!strv_eq_cstr(op->name, broadcasting[k].name)) k++;
  hlo_op hop = broadcasting[k].op;
  int n = hlo_op_table[hop].max_operands;
  if (op->n_operands != n || op->n_results != 1)
    return import_fail(c, op->loc, "'" STRV_FMT "' has %d operands, expected %d", STRV_ARG(op->name), op->n_operands,
                       n);
  hlo_instr **operands = import_operands(c, s, op);
  const hlo_shape *shape = operands ? import_result_shape(c, op) : NULL;
  if (!shape || !broadcast_operands(c, s, op, operands, n)) return false;
  void *attrs = import_attrs(c, op, (hlo_attr_list)hlo_op_table[hop].attrs, &ok);
  if (!ok) return false;
  hlo_instr *i = import_emit(c, s, hop, shape, n, operands, 0, NULL, attrs, op->loc);
  return i && import_bind_results(c, s, op, i);
}

// --- constants, other names ----------------------------------------------------------------------

static bool op_constant(import_ctx *c, import_scope *s, const mlir_op *op) {
  return import_generic(c, s, op, HLO_OP_CONSTANT);
}
static bool op_tan(import_ctx *c, import_scope *s, const mlir_op *op) {
  return import_generic(c, s, op, HLO_OP_TAN);
}

// #complex.number<:f32 1.0, 2.0>: the parts, from the text of the attribute.
static bool complex_element(hlo_dtype t, strv text, void *element) {
  const char *comma = memchr(text.data, ',', text.len), *blank = memchr(text.data, ' ', text.len);
  double re, im;
  if (!strv_starts_with(text, STRV("#complex.number<:")) || !comma || !blank || blank > comma) return false;
  if (!strv_parse_f64(strv_trim((strv){blank, (size_t)(comma - blank)}), &re) ||
      !strv_parse_f64(strv_trim((strv){comma + 1, (size_t)(text.data + text.len - comma - 2)}), &im))
    return false;
  hlo_element_set_f64(t, element, 0, 0, re);
  hlo_element_set_f64(t, element, 0, 1, im);
  return true;
}

static bool scalar_element(hlo_dtype t, const mlir_attr *v, void *element) {
  if (v->kind == MLIR_ATTR_OPAQUE) return hlo_dtype_is_complex(t) && complex_element(t, v->string, element);
  for (int part = 0; part < (hlo_dtype_is_complex(t) ? 2 : 1); part++) {
    const mlir_attr *x = v;
    if (v->kind == MLIR_ATTR_ARRAY) {
      if (v->n_items != 2) return false;
      x = v->items[part];
    } else if (part) {
      hlo_element_set_f64(t, element, 0, 1, 0);
      return true;
    }
    if (x->kind == MLIR_ATTR_FLOAT)
      hlo_element_set_f64(t, element, 0, part, x->real);
    else if (x->kind != MLIR_ATTR_INTEGER && x->kind != MLIR_ATTR_BOOL)
      return false;
    else if (hlo_dtype_is_float(t) || hlo_dtype_is_complex(t))
      hlo_element_set_f64(t, element, 0, part, (double)x->integer);
    else
      hlo_element_set_i64(t, element, 0, x->integer);
  }
  return true;
}

static bool op_constant_like(import_ctx *c, import_scope *s, const mlir_op *op) {
  const mlir_attr *v = mlir_op_attr(op, "value");
  if (op->n_operands != 1 || op->n_results != 1 || !v)
    return import_fail(c, op->loc, "'chlo.constant_like' needs one operand and the attribute 'value'");
  hlo_instr *like = import_value(c, s, op->operands[0], op->loc);
  const hlo_shape *shape = like ? import_result_shape(c, op) : NULL;
  if (!shape) return false;
  if (!hlo_shape_is_array(shape) || shape->quant || !hlo_shape_is_array(like->shape))
    return import_fail(c, op->loc, "'chlo.constant_like' needs a tensor of numbers");
  if ((v->kind == MLIR_ATTR_FLOAT || v->kind == MLIR_ATTR_INTEGER) && v->type) {
    const hlo_shape *own = import_type(c, v->type, op->loc);
    if (!own) return false;
    if (own->dtype != shape->dtype)
      return import_fail(c, op->loc, "constant_like: the value has type %s; expected the result's element type %s",
                         hlo_dtype_table[own->dtype].hlo_name, hlo_dtype_table[shape->dtype].hlo_name);
  }
  void *element = arena_alloc(c->arena, 16);
  const hlo_shape *scalar = hlo_shape_array(c->module->shapes, shape->dtype, 0, NULL);
  if (v->kind == MLIR_ATTR_DENSE && v->splat && v->data_size == (size_t)hlo_dtype_bytes(shape->dtype))
    memcpy(element, v->data, v->data_size);
  else if (!scalar_element(shape->dtype, v, element))
    return import_refuse(c, op->loc, "'chlo.constant_like' with the value " STRV_FMT " is not supported",
                         STRV_ARG(import_attr_text(c, v)));
  hlo_builder b = import_builder(s, op->loc);
  bool fixed = hlo_shape_is_static(shape);
  hlo_instr *i = hlo_build_constant(&b, hlo_literal_splat(c->arena, fixed ? shape : scalar, element));
  if (!fixed && !(i = import_broadcast_like(c, s, i, like, op->loc))) return false;
  import_bind(c, s, &op->results[0], i);
  return true;
}

#define B(name) \
  { "chlo.broadcast_" name, op_broadcasting }
const import_handler import_chlo_handlers[] = {
    B("add"),
    B("and"),
    B("atan2"),
    B("compare"),
    B("complex"),
    B("divide"),
    B("maximum"),
    B("minimum"),
    B("multiply"),
    B("next_after"),
    B("or"),
    B("polygamma"),
    B("power"),
    B("remainder"),
    B("select"),
    B("shift_left"),
    B("shift_right_arithmetic"),
    B("shift_right_logical"),
    B("subtract"),
    B("xor"),
    B("zeta"),
    {"chlo.constant", op_constant},
    {"chlo.constant_like", op_constant_like},
    {"chlo.tan", op_tan},
    {NULL, NULL},
};
