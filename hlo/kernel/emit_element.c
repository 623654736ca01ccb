// SPDX-License-Identifier: Apache-2.0
// The element emitter: the value of an instruction at an index. Dispatch by operation, memoisation, memory access,
// bodies.
//
// What an op needs from its operands is a list of (operand, derived index) pairs; derived indices are memoised too, so
// that operands reached twice through the same op are emitted once. Ops that cannot be emitted record c->error and give
// zeros; schedules check it before they finish a kernel.
#include <stdarg.h>
#include <stdio.h>

#include "hlo/kernel/emit.h"

void emit_fail(emit_ctx *c, const char *format, ...) {
  if (c->error) return;
  char text[300];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  c->error = arena_printf(c->a, "%s", text);
}

bool emit_visible(const emit_ctx *c, const kernel_value *v) {
  const kernel_block *home = v->def ? v->def->parent : v->block;
  for (const kernel_block *b = c->b.block; b; b = b->parent ? b->parent->parent : NULL)
    if (b == home) return true;
  return false;
}

// --- memo ----------------------------------------------------------------------------------------

static emit_memo *memo_slot(emit_ctx *c, const hlo_instr *i, const emit_index *x, int slot) {
  uint64_t key = hash_u64((uint64_t)(uintptr_t)i, hash_u64((uint64_t)(uintptr_t)x, (uint64_t)(slot + 2)));
  for (;; key = hash_u64(key, 1)) {
    uint64_t p;
    if (!u64map_get(&c->scope->memo, key, &p)) {
      emit_memo *m = ARENA_NEW(c->a, emit_memo);
      *m = (emit_memo){.instr = i, .index = x, .slot = slot};
      u64map_put(c->a, &c->scope->memo, key, (uint64_t)(uintptr_t)m);
      return m;
    }
    emit_memo *m = (emit_memo *)(uintptr_t)p;
    if (m->instr == i && m->index == x && m->slot == slot) return m;
  }
}

static bool values_visible(const emit_ctx *c, const emit_value *v, int n) {
  for (int i = 0; i < n; i++)
    if (!emit_visible(c, v[i].re) || (v[i].im && !emit_visible(c, v[i].im))) return false;
  return true;
}

static bool index_visible(const emit_ctx *c, const emit_index *x) {
  for (int g = 0; g < x->n_groups; g++)
    if (!emit_visible(c, x->groups[g].at.base) || (x->groups[g].at.vec && !emit_visible(c, x->groups[g].at.vec)))
      return false;
  return true;
}

void emit_scope_push(emit_ctx *c, emit_scope *s, const hlo_computation *body, const emit_value *params) {
  *s = (emit_scope){.body = body, .params = params, .outer = c->scope};
  c->scope = s;
}

void emit_scope_pop(emit_ctx *c) {
  c->scope = c->scope->outer;
}

// --- memory --------------------------------------------------------------------------------------

static kernel_mem use_buffer(emit_ctx *c, emit_buffer *buffer) {
  if (buffer->param < 0) {
    const hlo_shape *s = buffer->shape;
    bool complex = hlo_dtype_is_complex(s->dtype);
    int64_t n = hlo_shape_elements(s);
    buffer->param = c->k->n_params++;
    LEMNOS_ASSERT(buffer->param < c->cap_params);
    c->k->params[buffer->param] = (kernel_param){.elem = kernel_scalar_of(s->dtype),
                                                 .n_elems = complex ? 2 * n : n,
                                                 .align = 256,
                                                 .readonly = true,
                                                 .writeonly = true,
                                                 .noalias = true};
    vec_push(c->a, &c->args, buffer->arg);
  }
  return kernel_param_mem(buffer->param);
}

kernel_mem emit_buffer_mem(emit_ctx *c, kernel_arg_kind kind, int index, const hlo_shape *shape) {
  if (kind == KERNEL_ARG_RESULT && c->options && c->options->result_aliases && c->options->result_aliases[index] >= 0)
    kind = KERNEL_ARG_OPERAND, index = c->options->result_aliases[index];
  for (int i = 0; i < c->buffers.len; i++) {
    emit_buffer *b = &c->buffers.data[i];
    if (b->arg.kind == kind && b->arg.index == index) return use_buffer(c, b);
  }
  emit_buffer b = {.arg = {.kind = kind, .index = index}, .shape = shape, .param = -1};
  vec_push(c->a, &c->buffers, b);
  return use_buffer(c, &vec_last(&c->buffers));
}

kernel_mem emit_scratch_mem(emit_ctx *c, int index, const hlo_shape *shape) {
  return emit_buffer_mem(c, KERNEL_ARG_SCRATCH, index, shape);
}

int emit_add_scratch(emit_ctx *c, int64_t bytes) {
  vec_push(c->a, &c->out->scratch, bytes);
  return c->out->scratch.len - 1;
}

static int align_of(emit_coord at, int lanes) {
  int64_t m = at.multiple == 0 ? 64 : at.multiple;
  int align = (int)(m & -m) > 64 || (m & -m) <= 0 ? 64 : (int)(m & -m);
  return align > lanes ? lanes : align;
}

static void mark(emit_ctx *c, kernel_mem m, bool write) {
  if (m.space != KERNEL_PARAM) return;
  if (write)
    c->k->params[m.index].readonly = false;
  else
    c->k->params[m.index].writeonly = false;
}

// Lanes `stride` elements apart.
static kernel_value *load_part(emit_ctx *c, kernel_mem m, emit_coord at, int lanes) {
  mark(c, m, false);
  if (!emit_coord_varies(at)) return kernel_load(&c->b, m, at.base, 1, 1, NULL);
  if (!at.vec && at.stride == 1) return kernel_load(&c->b, m, at.base, lanes, align_of(at, lanes), NULL);
  if (!at.vec && at.stride == -1) {
    kernel_value *low = kernel_bin(&c->b, KERNEL_OP_SUB, at.base, kernel_index(&c->b, lanes - 1));
    kernel_value *v = kernel_load(&c->b, m, low, lanes, 1, NULL), *operands[] = {v, v};
    kernel_instr *shuffle = kernel_emit(&c->b, KERNEL_OP_SHUFFLE, 1, &v->type, 2, operands);
    shuffle->imm.list = ARENA_ARRAY(c->k->arena, int32_t, lanes);
    for (int l = 0; l < lanes; l++) shuffle->imm.list[l] = lanes - 1 - l;
    return &shuffle->results[0];
  }
  return kernel_load(&c->b, m, emit_coord_value(c, at, lanes), lanes, 1, NULL);
}

static kernel_value *shuffle2(emit_ctx *c, kernel_value *x, kernel_value *y, int lanes, int first, int step,
                              int other) {
  kernel_value *operands[] = {x, y};
  kernel_type t = kernel_type_make((kernel_scalar)x->type.scalar, lanes);
  kernel_instr *s = kernel_emit(&c->b, KERNEL_OP_SHUFFLE, 1, &t, 2, operands);
  s->imm.list = ARENA_ARRAY(c->k->arena, int32_t, lanes);
  for (int l = 0; l < lanes; l++) s->imm.list[l] = other ? (l & 1 ? other : 0) + l / 2 : first + step * l;
  return &s->results[0];
}

// Lanes of complex values that are moved as one vector of both parts.
static int pair_limit(const emit_ctx *c) {
  return c->t->cls == HLO_TARGET_CPU ? 32 : 2;
}

emit_value emit_load(emit_ctx *c, kernel_mem m, hlo_dtype t, emit_coord at, int lanes) {
  if (!hlo_dtype_is_complex(t)) return (emit_value){load_part(c, m, at, lanes), NULL};
  bool pairs = !at.vec && at.stride == 1 && lanes > 1 && lanes <= pair_limit(c);
  at = emit_coord_scale(c, at, 2);
  if (pairs) {
    mark(c, m, false);
    kernel_value *v = kernel_load(&c->b, m, at.base, 2 * lanes, align_of(at, 2 * lanes), NULL);
    return (emit_value){shuffle2(c, v, v, lanes, 0, 2, 0), shuffle2(c, v, v, lanes, 1, 2, 0)};
  }
  emit_value v = {load_part(c, m, at, lanes), NULL};
  v.im = load_part(c, m, emit_coord_offset(c, at, 1), lanes);
  return v;
}

static void store_part(emit_ctx *c, kernel_mem m, emit_coord at, int lanes, kernel_value *v) {
  mark(c, m, true);
  if (!emit_coord_varies(at)) {
    kernel_store(&c->b, m, at.base, v, 1, NULL);
  } else if (!at.vec && at.stride == 1) {
    kernel_store(&c->b, m, at.base, kernel_splat(&c->b, v, lanes), align_of(at, lanes), NULL);
  } else {
    kernel_store(&c->b, m, emit_coord_value(c, at, lanes), kernel_splat(&c->b, v, lanes), 1, NULL);
  }
}

void emit_store(emit_ctx *c, kernel_mem m, hlo_dtype t, emit_coord at, int lanes, emit_value v) {
  if (!hlo_dtype_is_complex(t)) {
    store_part(c, m, at, lanes, v.re);
    return;
  }
  bool pairs = !at.vec && at.stride == 1 && lanes > 1 && lanes <= pair_limit(c);
  at = emit_coord_scale(c, at, 2);
  if (pairs) {
    mark(c, m, true);
    kernel_value *re = kernel_splat(&c->b, v.re, lanes), *im = kernel_splat(&c->b, v.im, lanes);
    kernel_value *both = shuffle2(c, re, im, 2 * lanes, 0, 0, lanes);
    kernel_store(&c->b, m, at.base, both, align_of(at, 2 * lanes), NULL);
    return;
  }
  store_part(c, m, at, lanes, v.re);
  store_part(c, m, emit_coord_offset(c, at, 1), lanes, v.im);
}

void emit_store_result(emit_ctx *c, int leaf, emit_index *x, emit_value v) {
  const hlo_shape *s = hlo_shape_leaf(c->instr->shape, leaf);
  emit_store(c, emit_buffer_mem(c, KERNEL_ARG_RESULT, leaf, s), s->dtype, emit_index_linear(c, x, s), x->lanes, v);
}

// --- leaves of the computation -------------------------------------------------------------------

static emit_value scalar_constant(emit_ctx *c, hlo_dtype t, const hlo_literal *l, int64_t i, int part) {
  kernel_scalar s = kernel_scalar_of(t);
  if (kernel_scalar_table[s].is_float)
    return (emit_value){kernel_float(&c->b, s, hlo_literal_get_f64(l, i, part)), NULL};
  return (emit_value){kernel_int(&c->b, s, hlo_literal_get_i64(l, i)), NULL};
}

emit_value emit_constant(emit_ctx *c, const hlo_literal *l, int64_t i) {
  hlo_dtype t = l->shape->dtype;
  if (l->splat) i = 0;
  emit_value v = scalar_constant(c, t, l, i, 0);
  if (hlo_dtype_is_complex(t)) v.im = scalar_constant(c, t, l, i, 1).re;
  return v;
}

emit_value emit_zero(emit_ctx *c, hlo_dtype t) {
  kernel_scalar s = kernel_scalar_of(t);
  kernel_value *zero = kernel_scalar_table[s].is_float ? kernel_float(&c->b, s, 0) : kernel_int(&c->b, s, 0);
  return (emit_value){zero, hlo_dtype_is_complex(t) ? zero : NULL};
}

static emit_value constant_element(emit_ctx *c, const hlo_instr *i, emit_index *x) {
  const hlo_literal *l = hlo_constant_value(i);
  if (l->splat || hlo_shape_elements(i->shape) == 1) return emit_constant(c, l, 0);
  int n = 0;
  while (n < c->out->constants.len && c->out->constants.data[n] != l) n++;
  if (n == c->out->constants.len) vec_push(c->a, &c->out->constants, l);
  kernel_mem m = emit_buffer_mem(c, KERNEL_ARG_CONSTANT, n, l->shape);
  return emit_load(c, m, i->shape->dtype, emit_index_linear(c, x, l->shape), x->lanes);
}

// Leaf of an operand's buffer, if `i` stands for one.
static bool buffer_leaf(emit_ctx *c, const hlo_instr *i, int leaf, emit_index *x, emit_value *out) {
  uint64_t first;
  if (!u64map_get(&c->operand_leaves, (uint64_t)(uintptr_t)i, &first)) return false;
  const hlo_shape *s = hlo_shape_leaf(i->shape, leaf);
  kernel_mem m = emit_buffer_mem(c, KERNEL_ARG_OPERAND, (int)first - 1 + leaf, s);
  *out = emit_load(c, m, s->dtype, emit_index_linear(c, x, s), x->lanes);
  return true;
}

// --- dispatch ------------------------------------------------------------------------------------

static emit_index *select_operand(emit_ctx *c, emit_index *x, const hlo_shape *in, const int64_t *source) {
  return emit_index_select(c, x, in->rank, in->dims, source, NULL);
}

static emit_index *broadcast_index(emit_ctx *c, const hlo_instr *i, emit_index *x) {
  return select_operand(c, x, i->operands[0]->shape, HLO_ATTRS(i, broadcast)->dimensions.data);
}

static emit_index *transpose_index(emit_ctx *c, const hlo_instr *i, emit_index *x) {
  int64_t source[64];
  hlo_i64s p = HLO_ATTRS(i, transpose)->permutation;
  for (int d = 0; d < p.n; d++) source[p.data[d]] = d;
  return select_operand(c, x, i->operands[0]->shape, source);
}

static emit_index *slice_index(emit_ctx *c, const hlo_instr *i, emit_index *x) {
  hlo_slice s = HLO_ATTRS(i, slice)->slice;
  const hlo_shape *in = i->operands[0]->shape;
  int64_t source[64];
  emit_coord fixed[64];
  for (int d = 0; d < in->rank; d++) {
    source[d] = in->dims[d] == i->shape->dims[d] ? d : -1;
    if (source[d] >= 0) continue;
    fixed[d] = emit_coord_offset(c, emit_coord_scale(c, emit_index_coord(c, x, d), s.stride[d]), s.start[d]);
  }
  return emit_index_select(c, x, in->rank, in->dims, source, fixed);
}

static emit_index *reverse_index(emit_ctx *c, const hlo_instr *i, emit_index *x) {
  const hlo_shape *in = i->operands[0]->shape;
  int64_t source[64];
  emit_coord fixed[64];
  for (int d = 0; d < in->rank; d++) {
    source[d] = hlo_i64s_contains(HLO_ATTRS(i, dimensions)->dimensions, d) ? -1 : d;
    if (source[d] >= 0) continue;
    emit_coord at = emit_coord_scale(c, emit_index_coord(c, x, d), -1);
    fixed[d] = emit_coord_offset(c, at, in->dims[d] - 1);
  }
  return emit_index_select(c, x, in->rank, in->dims, source, fixed);
}

// Same bytes: through the dimensions in memory order.
static emit_index *bitcast_index(emit_ctx *c, const hlo_instr *i, emit_index *x) {
  const hlo_shape *in = i->operands[0]->shape, *out = i->shape;
  if (!in->layout && !out->layout) return emit_index_reshape(c, x, in->rank, in->dims);
  int64_t dims[64], source[64];
  for (int n = 0; n < out->rank; n++) {
    source[n] = out->layout ? out->layout[out->rank - 1 - n] : n;
    dims[n] = out->dims[source[n]];
  }
  emit_index *memory = emit_index_select(c, x, out->rank, dims, source, NULL);
  for (int n = 0; n < in->rank; n++) dims[n] = in->dims[in->layout ? in->layout[in->rank - 1 - n] : n];
  memory = emit_index_reshape(c, memory, in->rank, dims);
  for (int n = 0; n < in->rank; n++) source[in->layout ? in->layout[in->rank - 1 - n] : n] = n;
  return emit_index_select(c, memory, in->rank, in->dims, source, NULL);
}

static emit_index *derive(emit_ctx *c, const hlo_instr *i, emit_index *x) {
  emit_memo *m = memo_slot(c, i, x, 0);
  if (m->derived && index_visible(c, m->derived)) return m->derived;
  switch (i->op) {
    case HLO_OP_BROADCAST_IN_DIM: m->derived = broadcast_index(c, i, x); break;
    case HLO_OP_TRANSPOSE: m->derived = transpose_index(c, i, x); break;
    case HLO_OP_SLICE: m->derived = slice_index(c, i, x); break;
    case HLO_OP_REVERSE: m->derived = reverse_index(c, i, x); break;
    case HLO_OP_BITCAST: m->derived = bitcast_index(c, i, x); break;
    default: m->derived = emit_index_reshape(c, x, i->operands[0]->shape->rank, i->operands[0]->shape->dims);
  }
  return m->derived;
}

static emit_value iota_element(emit_ctx *c, const hlo_instr *i, emit_index *x) {
  emit_coord at = emit_index_coord(c, x, (int)HLO_ATTRS(i, iota)->dimension);
  kernel_value *v = emit_coord_value(c, at, x->lanes);
  hlo_dtype index = c->k->index == KERNEL_I64 ? HLO_S64 : HLO_S32;
  return emit_convert(c, index, i->shape->dtype, (emit_value){v, NULL});
}

static void map_element(emit_ctx *c, const hlo_instr *i, emit_index *x, emit_value *results) {
  emit_value *args = ARENA_ARRAY(c->a, emit_value, i->n_operands + 1);
  for (int o = 0; o < i->n_operands; o++) args[o] = emit_element(c, i->operands[o], x);
  emit_body(c, i->called[0], args, results);
}

static emit_index *operand_index(emit_ctx *c, const hlo_instr *i, int o, emit_index *x) {
  return i->operands[o]->shape->rank == 0 ? &c->scalar_index : x;
}

static emit_value elementwise(emit_ctx *c, const hlo_instr *i, emit_index *x) {
  const char *refusal = emit_elementwise_refusal(i);
  hlo_dtype out = i->shape->dtype, in = i->operands[0]->shape->dtype;
  if (refusal) {
    emit_fail(c, "%s: %s", hlo_op_table[i->op].text_name, refusal);
    return emit_zero(c, out);
  }
  emit_value v[3];
  for (int o = 0; o < i->n_operands && o < 3; o++) v[o] = emit_element(c, i->operands[o], operand_index(c, i, o, x));
  switch (i->op) {
    case HLO_OP_SELECT: return emit_select(c, v[0].re, v[1], v[2]);
    case HLO_OP_CLAMP: return emit_clamp(c, out, v[0], v[1], v[2]);
    case HLO_OP_CONVERT: return emit_convert(c, in, out, v[0]);
    case HLO_OP_COMPARE:
      return emit_compare(c, HLO_ATTRS(i, compare)->direction, HLO_ATTRS(i, compare)->type, in, v[0], v[1]);
    case HLO_OP_COMPLEX: return (emit_value){v[0].re, v[1].re};
    default: return i->n_operands == 1 ? emit_unary(c, i, in, out, v[0]) : emit_binary(c, i->op, in, v[0], v[1]);
  }
}

static emit_value array_element(emit_ctx *c, const hlo_instr *i, emit_index *x) {
  switch (i->op) {
    case HLO_OP_CONSTANT: return constant_element(c, i, x);
    case HLO_OP_IOTA: return iota_element(c, i, x);
    case HLO_OP_COPY:
    case HLO_OP_OPTIMIZATION_BARRIER: return emit_element(c, i->operands[0], x);
    case HLO_OP_BROADCAST_IN_DIM:
    case HLO_OP_TRANSPOSE:
    case HLO_OP_SLICE:
    case HLO_OP_REVERSE:
    case HLO_OP_RESHAPE:
    case HLO_OP_BITCAST: return emit_element(c, i->operands[0], derive(c, i, x));
    case HLO_OP_PAD: return emit_pad(c, i, x);
    case HLO_OP_CONCATENATE: return emit_concatenate(c, i, x);
    case HLO_OP_GATHER: return emit_gather(c, i, x);
    case HLO_OP_TORCH_INDEX_SELECT: return emit_torch_index_select(c, i, x);
    case HLO_OP_DYNAMIC_SLICE: return emit_dynamic_slice(c, i, x);
    case HLO_OP_DYNAMIC_UPDATE_SLICE: return emit_dynamic_update_slice(c, i, x);
    case HLO_OP_BITCAST_CONVERT: return emit_bitcast_convert(c, i, x);
    case HLO_OP_DOT_GENERAL: return emit_dot(c, i, x);
    case HLO_OP_CONVOLUTION: return emit_convolution(c, i, x);
    default:
      if (hlo_op_has(i->op, HLO_TRAIT_E)) return elementwise(c, i, x);
      emit_fail(c, "%s has no element form", hlo_op_table[i->op].text_name);
      return emit_zero(c, hlo_shape_is_array(i->shape) ? i->shape->dtype : HLO_F32);
  }
}

// All leaves of i at x.
static void emit_all(emit_ctx *c, const hlo_instr *i, emit_index *x, emit_value *out) {
  switch (i->op) {
    case HLO_OP_REDUCE: emit_reduce(c, i, x, out); return;
    case HLO_OP_REDUCE_WINDOW: emit_reduce_window(c, i, x, out); return;
    case HLO_OP_MAP: map_element(c, i, x, out); return;
    default: out[0] = array_element(c, i, x);
  }
}

emit_value emit_leaf(emit_ctx *c, const hlo_instr *i, int leaf, emit_index *x) {
  const hlo_shape *s = hlo_shape_leaf(i->shape, leaf);
  if (s->rank == 0) x = &c->scalar_index;
  emit_value *override = ptrmap_get(&c->overrides, i);
  if (override && c->scope == &c->root_scope) return override[leaf];
  if (c->scope->params && i->op == HLO_OP_PARAMETER) return c->scope->params[HLO_ATTRS(i, parameter)->number];
  if (i->op == HLO_OP_GET_TUPLE_ELEMENT) {
    const hlo_instr *tuple = i->operands[0];
    int first = 0;
    for (int e = 0; e < HLO_ATTRS(i, get_tuple_element)->index; e++)
      first += hlo_shape_leaves(tuple->shape->elements[e]);
    if (!ptrmap_get(&c->operand_leaves, i)) return emit_leaf(c, tuple, first + leaf, x);
  }
  if (i->op == HLO_OP_TUPLE && !ptrmap_get(&c->operand_leaves, i)) {
    for (int o = 0; o < i->n_operands; o++) {
      int n = hlo_shape_leaves(i->operands[o]->shape);
      if (leaf < n) return emit_leaf(c, i->operands[o], leaf, x);
      leaf -= n;
    }
  }
  emit_memo *m = memo_slot(c, i, x, ptrmap_get(&c->operand_leaves, i) ? -2 - leaf : -1);
  int n = hlo_shape_leaves(i->shape);
  if (m->slot < -1) {
    if (!m->values || !values_visible(c, m->values, 1)) {
      emit_value v = {0};
      buffer_leaf(c, i, leaf, x, &v);
      m->values = ARENA_NEW(c->a, emit_value);
      m->values[0] = v;
    }
    return m->values[0];
  }
  if (!m->values || !values_visible(c, m->values, n)) {
    emit_value *values = ARENA_ARRAY(c->a, emit_value, n);
    emit_all(c, i, x, values);
    m->values = values;
  }
  return m->values[leaf];
}

emit_value emit_element(emit_ctx *c, const hlo_instr *i, emit_index *x) {
  return emit_leaf(c, i, 0, x);
}

void emit_body(emit_ctx *c, const hlo_computation *body, const emit_value *args, emit_value *results) {
  emit_scope scope;
  emit_scope_push(c, &scope, body, args);
  int n = hlo_shape_leaves(body->root->shape);
  for (int leaf = 0; leaf < n; leaf++) results[leaf] = emit_leaf(c, body->root, leaf, &c->scalar_index);
  emit_scope_pop(c);
}
