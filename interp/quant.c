// SPDX-License-Identifier: Apache-2.0
// Quantized types: uniform_quantize and uniform_dequantize themselves, and arithmetic on quantized values, which is
// done as dequantize, compute in the expressed type, quantize. For that the instruction is rewritten, once, into a
// small computation of its own that is compiled like any other.
#include "hlo/builder.h"
#include "interp/interp_internal.h"

static bool has_quant(const interp_type *t, int n) {
  for (int k = 0; k < n; k++)
    if (t[k].shape->quant) return true;
  return false;
}

bool interp_needs_quant_wrap(const interp_insn *in) {
  if (!has_quant(in->arg_types, in->n_args) && !has_quant(in->result_types, in->n_results)) return false;
  hlo_op op = in->src->op;
  if (hlo_op_has(op, HLO_TRAIT_B) || op == HLO_OP_SELECT) return false;
  switch ((hlo_op_family)hlo_op_table[op].family) {
    case HLO_FAMILY_UNARY:
    case HLO_FAMILY_BINARY:
    case HLO_FAMILY_TERNARY:
    case HLO_FAMILY_CONVERT:
    case HLO_FAMILY_CHLO:
    case HLO_FAMILY_DOT:
    case HLO_FAMILY_CONV:
    case HLO_FAMILY_LINALG:
    case HLO_FAMILY_NORM: return true;
    case HLO_FAMILY_DYNAMIC: return op == HLO_OP_DYNAMIC_CONV;
    case HLO_FAMILY_SHAPE: return op == HLO_OP_IOTA;
    default: return false;  // movement, or bodies that are themselves compiled with quantized types
  }
}

static const hlo_shape *expressed(hlo_module *m, const hlo_shape *s) {
  hlo_shape proto = *s;
  if (hlo_shape_is_tuple(s)) {
    const hlo_shape **elements = ARENA_ARRAY(m->arena, const hlo_shape *, s->n_elements + 1);
    for (int k = 0; k < s->n_elements; k++) elements[k] = expressed(m, s->elements[k]);
    return hlo_shape_tuple(m->shapes, s->n_elements, elements);
  }
  if (s->quant) proto.dtype = s->quant->expressed;
  proto.quant = NULL;
  return hlo_shape_intern(m->shapes, &proto);
}

static hlo_instr *make(hlo_computation *comp, hlo_op op, const hlo_shape *shape, int n, hlo_instr *const *operands,
                       const hlo_instr *from, void *attrs) {
  return hlo_instr_create(comp, NULL, op, shape, n, operands, 0, NULL, attrs, from->loc, (strv){0});
}

// r, of the type expressed by `shape`, quantized where that is quantized; of a tuple each element.
static hlo_instr *quantized(hlo_computation *comp, const hlo_instr *from, hlo_instr *r, const hlo_shape *shape) {
  hlo_module *m = comp->module;
  if (shape->quant) return make(comp, HLO_OP_UNIFORM_QUANTIZE, hlo_shape_intern(m->shapes, shape), 1, &r, from, NULL);
  if (!hlo_shape_is_tuple(shape)) return r;
  hlo_builder b = hlo_builder_end(comp);
  hlo_instr **parts = ARENA_ARRAY(m->arena, hlo_instr *, shape->n_elements + 1);
  for (int k = 0; k < shape->n_elements; k++)
    parts[k] = quantized(comp, from, hlo_build_get(&b, r, k), shape->elements[k]);
  return hlo_build_tuple(&b, shape->n_elements, parts);
}

lemnos_status interp_compile_quant_wrap(interp_compiler *c, interp_insn *in) {
  const hlo_instr *i = in->src;
  if (in->n_args != i->n_operands) return interp_refuse(i, "quantized operands of this operation");
  hlo_module *m = hlo_module_create(c->a, STRV("quantized"));
  hlo_computation *comp = hlo_computation_create(m, i->name);
  hlo_instr **operands = ARENA_ARRAY(c->a, hlo_instr *, i->n_operands + 1);
  for (int k = 0; k < i->n_operands; k++) {
    hlo_attrs_parameter *a = ARENA_NEW(c->a, hlo_attrs_parameter);
    a->number = k;
    operands[k] = make(comp, HLO_OP_PARAMETER, hlo_shape_intern(m->shapes, i->operands[k]->shape), 0, NULL, i, a);
  }
  for (int k = 0; k < i->n_operands; k++)
    if (operands[k]->shape->quant)
      operands[k] = make(comp, HLO_OP_UNIFORM_DEQUANTIZE, expressed(m, operands[k]->shape), 1, &operands[k], i, NULL);
  hlo_instr *r = hlo_instr_create(comp, NULL, i->op, expressed(m, i->shape), i->n_operands, operands, i->n_called,
                                  i->called, i->attrs, i->loc, (strv){0});
  comp->root = quantized(comp, i, r, i->shape);
  const interp_code *code;
  LEMNOS_TRY(interp_compile_computation(c, comp, &code));
  interp_insn_set_subs(c, in, 1, &code);
  in->flags |= INTERP_SELF_ALLOC;
  in->fn = interp_run_call;
  return LEMNOS_SUCCESS;
}

typedef struct quant_op {
  hlo_eval_fn fn;
  hlo_eval_param param;
  int32_t axis, in_axis;  // -1: per tensor
} quant_op;

static int64_t channel_at(const interp_array *a, const int64_t *strides, int32_t axis, int64_t at) {
  return axis < 0 ? 0 : at / strides[axis] % a->dims[axis];
}

static lemnos_status run(interp_call *c) {
  const quant_op *q = c->in->aux;
  const interp_array *in = interp_arg(c, 0);
  interp_array *out = interp_result(c, 0);
  hlo_eval_param param = q->param;
  int32_t last = q->axis > q->in_axis ? q->axis : q->in_axis;
  int64_t n = interp_count(out), strides[INTERP_MAX_RANK];
  interp_strides(out, strides);
  int64_t run = last < 0 ? n : strides[last];  // elements that share their scales
  int ib = hlo_dtype_bytes(in->dtype), ob = hlo_dtype_bytes(out->dtype);
  for (int64_t at = 0; at < n; at += run) {
    const void *x = (char *)in->data + at * ib;
    param.channel = channel_at(out, strides, q->axis, at);
    param.in_channel = channel_at(out, strides, q->in_axis, at);
    q->fn(&param, run, &x, (char *)out->data + at * ob);
  }
  return LEMNOS_SUCCESS;
}

lemnos_status interp_compile_quant(interp_compiler *c, interp_insn *in) {
  const hlo_shape *from = in->arg_types[0].shape, *to = in->result_types[0].shape;
  quant_op *q = ARENA_NEW(c->a, quant_op);
  const char *reason = NULL;
  hlo_dtype t = from->dtype;
  q->fn = hlo_eval_lookup(in->src->op, NULL, 1, &t, to->dtype, &q->param, &reason);
  if (!q->fn) return interp_refuse(in->src, "not supported for this element type: %s", reason ? reason : "no loop");
  q->param.quant = to->quant ? to->quant : from->quant;
  q->param.in_quant = from->quant;
  if (!q->param.quant) return interp_refuse(in->src, "neither operand nor result is quantized");
  q->axis = q->param.quant->axis;
  q->in_axis = from->quant ? from->quant->axis : -1;
  in->aux = q;
  in->fn = run;
  return LEMNOS_SUCCESS;
}
