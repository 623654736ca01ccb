// SPDX-License-Identifier: Apache-2.0
// Import: MLIR types to shapes. Quantized element types keep their parameters, bounds and dynamic sizes are carried;
// buffers are the arrays they hold; what HLO has no shape for (sparse tensors, sub-channel quantization,
// vectors, memrefs with a layout, tensors without a rank that no operand gives) is refused by name.
#include "frontend/import_internal.h"

strv import_type_text(import_ctx *c, const mlir_type *t) {
  strbuf b = {0};
  mlir_type_print(&b, t);
  strv s = arena_strv(c->arena, strbuf_view(&b));
  strbuf_deinit(&b);
  return s;
}

static const char *type_text(import_ctx *c, const mlir_type *t) {
  return import_type_text(c, t).data;
}

static bool integer_type(const mlir_type *t, hlo_dtype *out) {
  bool u = t->signedness == MLIR_UNSIGNED;
  switch (t->width) {
    case 1: *out = HLO_PRED; return t->signedness == MLIR_SIGNLESS;
    case 2: *out = u ? HLO_U2 : HLO_S2; return true;
    case 4: *out = u ? HLO_U4 : HLO_S4; return true;
    case 8: *out = u ? HLO_U8 : HLO_S8; return true;
    case 16: *out = u ? HLO_U16 : HLO_S16; return true;
    case 32: *out = u ? HLO_U32 : HLO_S32; return true;
    case 64: *out = u ? HLO_U64 : HLO_S64; return true;
    default: return false;
  }
}

static bool plain_type(const mlir_type *t, hlo_dtype *out) {
  switch (t->kind) {
    case MLIR_TYPE_INTEGER: return integer_type(t, out);
    case MLIR_TYPE_INDEX: *out = HLO_S64; return true;
    case MLIR_TYPE_FLOAT: return hlo_dtype_from_stablehlo(t->name, out) && hlo_dtype_is_float(*out);
    case MLIR_TYPE_COMPLEX:
      if (!plain_type(t->element, out)) return false;
      if (*out == HLO_F32)
        *out = HLO_C64;
      else if (*out == HLO_F64)
        *out = HLO_C128;
      else
        return false;
      return true;
    default: return false;
  }
}

static bool quantized_type(import_ctx *c, const mlir_type *t, const loc *l, hlo_dtype *out,
                           const hlo_quant **out_quant) {
  const mlir_quant *q = t->quant;
  if (q->n_block_dims) return import_refuse(c, l, "sub-channel quantization (%s) is not supported", type_text(c, t));
  hlo_quant *h = ARENA_NEW(c->arena, hlo_quant);
  if (!plain_type(q->storage, out) || !hlo_dtype_is_integer(*out) || !plain_type(q->expressed, &h->expressed) ||
      !hlo_dtype_is_float(h->expressed))
    return import_refuse(c, l, "the quantized type %s is not supported", type_text(c, t));
  h->storage_min = q->storage_min;
  h->storage_max = q->storage_max;
  h->axis = q->axis;
  h->n_scales = q->n_scales;
  h->scales = q->scales;
  h->zero_points = q->zero_points;
  *out_quant = h;
  return true;
}

static bool element_type(import_ctx *c, const mlir_type *t, const loc *l, hlo_dtype *out, const hlo_quant **out_quant) {
  *out_quant = NULL;
  if (t->kind == MLIR_TYPE_QUANTIZED) return quantized_type(c, t, l, out, out_quant);
  if (plain_type(t, out)) return true;
  return import_refuse(c, l, "the element type %s is not supported", type_text(c, t));
}

static bool encoding(import_ctx *c, const mlir_type *t, const loc *l, hlo_shape *proto) {
  const mlir_attr *e = t->encoding;
  if (!e) return true;
  if (e->kind == MLIR_ATTR_DIALECT &&
      (strv_eq_cstr(e->mnemonic, "bounds") || strv_eq_cstr(e->mnemonic, "type_extensions"))) {
    hlo_i64s bounds;
    const mlir_attr *list = import_entry(e, "bounds");
    if (!list || !import_i64s(c, list, &bounds) || bounds.n != t->rank)
      return import_fail(c, l, "the bounds of %s are not one size for each dimension", type_text(c, t));
    for (int i = 0; i < t->rank; i++)
      if (bounds.data[i] != MLIR_DYNAMIC && t->dims[i] != MLIR_DYNAMIC)
        return import_fail(c, l, "%s gives a bound for dimension %d, whose size is known", type_text(c, t), i);
    proto->bounds = bounds.data;
    return true;
  }
  return import_refuse(c, l, "tensors with an encoding such as %s (sparse ones) are not supported", type_text(c, t));
}

static const hlo_shape *tensor_type(import_ctx *c, const mlir_type *t, const loc *l) {
  hlo_shape proto = {.rank = t->rank, .dims = t->dims};
  if (!element_type(c, t->element, l, &proto.dtype, &proto.quant) || !encoding(c, t, l, &proto)) return NULL;
  return hlo_shape_intern(c->module->shapes, &proto);
}

static const hlo_shape *tuple_type(import_ctx *c, const mlir_type *t, const loc *l) {
  const hlo_shape **elements = ARENA_ARRAY(c->arena, const hlo_shape *, t->n_types);
  for (int i = 0; i < t->n_types; i++)
    if (!(elements[i] = import_type(c, t->types[i], l))) return NULL;
  if (t->kind == MLIR_TYPE_FUTURE && t->n_types == 1) return elements[0];
  return hlo_shape_tuple(c->module->shapes, t->n_types, elements);
}

static const hlo_shape *make_type(import_ctx *c, const mlir_type *t, const loc *l) {
  hlo_shape proto = {0};
  switch (t->kind) {
    case MLIR_TYPE_TENSOR: return tensor_type(c, t, l);
    case MLIR_TYPE_MEMREF:
      if (t->encoding) break;  // layouts and memory spaces
      return tensor_type(c, t, l);
    case MLIR_TYPE_TUPLE:
    case MLIR_TYPE_FUTURE: return tuple_type(c, t, l);
    case MLIR_TYPE_TOKEN: return hlo_shape_token(c->module->shapes);
    case MLIR_TYPE_INTEGER:
    case MLIR_TYPE_INDEX:
    case MLIR_TYPE_FLOAT:
    case MLIR_TYPE_COMPLEX:
    case MLIR_TYPE_QUANTIZED:
      if (!element_type(c, t, l, &proto.dtype, &proto.quant)) return NULL;
      return hlo_shape_intern(c->module->shapes, &proto);
    case MLIR_TYPE_UNRANKED_TENSOR:
      import_refuse(c, l, "%s has no rank, and none follows from operands", type_text(c, t));
      return NULL;
    default: break;
  }
  import_refuse(c, l, "values of type %s are not supported", type_text(c, t));
  return NULL;
}

const hlo_shape *import_type(import_ctx *c, const mlir_type *t, const loc *l) {
  hlo_shape *known = ptrmap_get(&c->types, t);
  if (known) return known;
  const hlo_shape *shape = make_type(c, t, l);
  if (shape) ptrmap_put(c->arena, &c->types, t, (void *)shape);
  return shape;
}

bool import_declared_shape(import_ctx *c, const mlir_op *op, const hlo_shape **out) {
  *out = NULL;
  for (int i = 0; i < op->n_results; i++)
    if (op->results[i].type->kind == MLIR_TYPE_UNRANKED_TENSOR) return true;
  return (*out = import_result_shape(c, op)) != NULL;
}

const hlo_shape *import_result_shape(import_ctx *c, const mlir_op *op) {
  if (op->n_results == 1) return import_type(c, op->results[0].type, op->loc);
  const hlo_shape **elements = ARENA_ARRAY(c->arena, const hlo_shape *, op->n_results);
  for (int i = 0; i < op->n_results; i++)
    if (!(elements[i] = import_type(c, op->results[i].type, op->loc))) return NULL;
  return hlo_shape_tuple(c->module->shapes, op->n_results, elements);
}
