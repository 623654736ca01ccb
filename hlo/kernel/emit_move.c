// SPDX-License-Identifier: Apache-2.0
// Elements of ops that move data by computed indices: pad, concatenate, gather, dynamic_slice, dynamic_update_slice.
//
// Where an element may fall outside its operand, the index is clamped (so that the load is in bounds) and the value is
// selected away; where the question has one answer for all lanes, a branch is taken instead, so that only one side
// runs.
#include "hlo/kernel/emit.h"

#define BIN(op, x, y) kernel_bin(b, KERNEL_OP_##op, (x), (y))

static kernel_value *and_maybe(emit_ctx *c, kernel_value *x, kernel_value *y) {
  return x ? kernel_bin(&c->b, KERNEL_OP_AND, x, y) : y;
}

// Both sides in an if of their own; lanes of the results are unified.
typedef emit_value (*branch_fn)(emit_ctx *c, void *user, int side);

static emit_value branch(emit_ctx *c, kernel_value *cond, hlo_dtype t, int lanes, branch_fn fn, void *user) {
  kernel_builder *b = &c->b;
  bool complex = hlo_dtype_is_complex(t);
  kernel_type type = kernel_type_make(kernel_scalar_of(t), lanes), types[] = {type, type};
  kernel_if f = kernel_if_begin(b, cond, complex ? 2 : 1, types);
  for (int side = 0; side < 2; side++) {
    emit_value v = fn(c, user, side);
    kernel_value *values[2] = {kernel_splat(b, v.re, lanes), v.im ? kernel_splat(b, v.im, lanes) : NULL};
    if (side == 0)
      kernel_if_else(b, &f, values);
    else
      kernel_if_end(b, &f, values);
  }
  return (emit_value){f.results[0], complex ? f.results[1] : NULL};
}

// --- pad -----------------------------------------------------------------------------------------

typedef struct pad_state {
  const hlo_instr *i;
  emit_index *inner;
} pad_state;

static emit_value pad_side(emit_ctx *c, void *user, int side) {
  pad_state *s = user;
  return side == 0 ? emit_element(c, s->i->operands[0], s->inner)
                   : emit_element(c, s->i->operands[1], &c->scalar_index);
}

emit_value emit_pad(emit_ctx *c, const hlo_instr *i, emit_index *x) {
  kernel_builder *b = &c->b;
  const hlo_shape *in = i->operands[0]->shape;
  hlo_padding p = HLO_ATTRS(i, pad)->padding;
  emit_value fill = emit_element(c, i->operands[1], &c->scalar_index);
  if (hlo_shape_elements(in) == 0) return fill;
  int64_t source[64];
  emit_coord fixed[64];
  kernel_value *uniform = NULL, *lanewise = NULL;
  for (int d = 0; d < in->rank; d++) {
    const hlo_padding_dim *pad = &p.dims[d];
    source[d] = d;
    if (pad->low == 0 && pad->high == 0 && pad->interior == 0) continue;
    source[d] = -1;
    emit_coord at = emit_coord_offset(c, emit_index_coord(c, x, d), -pad->low);
    bool varies = emit_coord_varies(at);
    kernel_value *v = emit_coord_value(c, at, x->lanes), *ok = NULL;
    int64_t span = (in->dims[d] - 1) * (pad->interior + 1);  // last position that holds an element
    if (pad->low > 0) ok = BIN(LE_S, kernel_const_like(b, v, 0), v);
    if (pad->high > 0 || pad->interior > 0) ok = and_maybe(c, ok, BIN(LE_S, v, kernel_const_like(b, v, (double)span)));
    if (ok) v = BIN(MIN_S, BIN(MAX_S, v, kernel_const_like(b, v, 0)), kernel_const_like(b, v, (double)span));
    if (pad->interior > 0) {
      kernel_value *step = kernel_const_like(b, v, (double)(pad->interior + 1));
      ok = and_maybe(c, ok, BIN(EQ, BIN(REM_U, v, step), kernel_const_like(b, v, 0)));
      v = BIN(DIV_U, v, step);
    }
    if (!ok) {
      fixed[d] = at;
      continue;
    }
    fixed[d] = varies ? (emit_coord){.base = kernel_index(b, 0), .vec = v, .multiple = 1} : emit_coord_of(v, 1);
    if (varies)
      lanewise = and_maybe(c, lanewise, ok);
    else
      uniform = and_maybe(c, uniform, ok);
  }
  emit_index *inner = emit_index_select(c, x, in->rank, in->dims, source, fixed);
  if (uniform && !lanewise) {
    pad_state state = {i, inner};
    return branch(c, uniform, i->shape->dtype, emit_index_varies(inner) ? x->lanes : 1, pad_side, &state);
  }
  emit_value v = emit_element(c, i->operands[0], inner);
  if (uniform && lanewise) lanewise = BIN(AND, lanewise, uniform);
  return lanewise ? emit_select(c, lanewise, v, fill) : v;
}

// --- concatenate ---------------------------------------------------------------------------------

typedef struct concat_state {
  const hlo_instr *i;
  emit_index *x;
  int o;  // operand of this branch
  int64_t start;
  emit_coord at;
  int lanes;
} concat_state;

static int next_operand(const hlo_instr *i, int o, int64_t dimension) {
  do o++;
  while (o < i->n_operands && i->operands[o]->shape->dims[dimension] == 0);
  return o;
}

static emit_value concat_operand(emit_ctx *c, const concat_state *s, bool clamp) {
  const hlo_instr *x = s->i->operands[s->o];
  int64_t dim = HLO_ATTRS(s->i, concatenate)->dimension, source[64];
  emit_coord fixed[64], at = emit_coord_offset(c, s->at, -s->start);
  if (clamp) {
    kernel_builder *b = &c->b;
    kernel_value *v = emit_coord_value(c, at, s->x->lanes);
    v = BIN(MAX_S, v, kernel_const_like(b, v, 0));
    v = BIN(MIN_S, v, kernel_const_like(b, v, (double)(x->shape->dims[dim] - 1)));
    at = (emit_coord){.base = kernel_index(b, 0), .vec = v, .multiple = 1};
  }
  for (int d = 0; d < x->shape->rank; d++) source[d] = d;
  source[dim] = -1;
  fixed[dim] = at;
  return emit_element(c, x, emit_index_select(c, s->x, x->shape->rank, x->shape->dims, source, fixed));
}

static emit_value concat_side(emit_ctx *c, void *user, int side);

static emit_value concat_rest(emit_ctx *c, concat_state s) {
  int64_t dim = HLO_ATTRS(s.i, concatenate)->dimension;
  if (next_operand(s.i, s.o, dim) >= s.i->n_operands) return concat_operand(c, &s, false);
  int64_t end = s.start + s.i->operands[s.o]->shape->dims[dim];
  kernel_value *before = kernel_bin(&c->b, KERNEL_OP_LT_S, s.at.base, kernel_index(&c->b, end));
  return branch(c, before, s.i->shape->dtype, s.lanes, concat_side, &s);
}

static emit_value concat_side(emit_ctx *c, void *user, int side) {
  concat_state s = *(concat_state *)user;
  if (side == 0) return concat_operand(c, &s, false);
  int64_t dim = HLO_ATTRS(s.i, concatenate)->dimension;
  s.start += s.i->operands[s.o]->shape->dims[dim];
  s.o = next_operand(s.i, s.o, dim);
  return concat_rest(c, s);
}

emit_value emit_concatenate(emit_ctx *c, const hlo_instr *i, emit_index *x) {
  kernel_builder *b = &c->b;
  int64_t dim = HLO_ATTRS(i, concatenate)->dimension, start = 0;
  concat_state s = {.i = i, .x = x, .o = next_operand(i, -1, dim), .at = emit_index_coord(c, x, (int)dim)};
  s.lanes = emit_index_varies(x) ? x->lanes : 1;
  bool one_side = !emit_coord_varies(s.at);
  if (!s.at.vec && s.at.stride == 1) {  // does every boundary fall between vectors?
    one_side = s.at.multiple % x->lanes == 0;
    for (int o = 0; o < i->n_operands; o++) {
      start += i->operands[o]->shape->dims[dim];
      one_side &= start % x->lanes == 0;
    }
  }
  if (one_side) return concat_rest(c, s);
  kernel_value *at = emit_coord_value(c, s.at, x->lanes);
  emit_value v = {0};
  start = 0;
  for (; s.o < i->n_operands; s.o = next_operand(i, s.o, dim)) {
    s.start = start;
    emit_value part = concat_operand(c, &s, true);
    v = v.re ? emit_select(c, BIN(LT_S, at, kernel_const_like(b, at, (double)start)), v, part) : part;
    start += i->operands[s.o]->shape->dims[dim];
  }
  return v;
}

// --- dynamic slices and gather -------------------------------------------------------------------

kernel_value *emit_start_index(emit_ctx *c, const hlo_instr *start, emit_index *x, int64_t limit) {
  if (limit <= 0) return kernel_index(&c->b, 0);
  emit_value v = emit_element(c, start, x);
  return emit_to_index(c, start->shape->dtype, v.re, 0, limit);
}

static emit_coord coord_of_value(emit_ctx *c, kernel_value *v) {
  if (v->type.lanes == 1) return emit_coord_of(v, 1);
  return (emit_coord){.base = kernel_index(&c->b, 0), .vec = v, .multiple = 1};
}

emit_value emit_dynamic_slice(emit_ctx *c, const hlo_instr *i, emit_index *x) {
  const hlo_shape *in = i->operands[0]->shape;
  int64_t source[64];
  emit_coord fixed[64];
  for (int d = 0; d < in->rank; d++) {
    source[d] = in->dims[d] == i->shape->dims[d] ? d : -1;
    if (source[d] >= 0) continue;
    kernel_value *start = emit_start_index(c, i->operands[1 + d], &c->scalar_index, in->dims[d] - i->shape->dims[d]);
    fixed[d] = emit_coord_add(c, emit_index_coord(c, x, d), emit_coord_of(start, 1), x->lanes);
  }
  return emit_element(c, i->operands[0], emit_index_select(c, x, in->rank, in->dims, source, fixed));
}

typedef struct update_state {
  const hlo_instr *i;
  emit_index *x, *inner;
} update_state;

static emit_value update_side(emit_ctx *c, void *user, int side) {
  update_state *s = user;
  return side == 0 ? emit_element(c, s->i->operands[1], s->inner) : emit_element(c, s->i->operands[0], s->x);
}

emit_value emit_dynamic_update_slice(emit_ctx *c, const hlo_instr *i, emit_index *x) {
  kernel_builder *b = &c->b;
  const hlo_shape *in = i->operands[0]->shape, *update = i->operands[1]->shape;
  if (hlo_shape_elements(update) == 0) return emit_element(c, i->operands[0], x);
  int64_t source[64];
  emit_coord fixed[64];
  kernel_value *uniform = NULL, *lanewise = NULL;
  for (int d = 0; d < in->rank; d++) {
    source[d] = in->dims[d] == update->dims[d] ? d : -1;
    if (source[d] >= 0) continue;
    kernel_value *start = emit_start_index(c, i->operands[2 + d], &c->scalar_index, in->dims[d] - update->dims[d]);
    emit_coord at = emit_index_coord(c, x, d);
    bool varies = emit_coord_varies(at);
    kernel_value *v = BIN(SUB, emit_coord_value(c, at, x->lanes), start);
    kernel_value *last = kernel_const_like(b, v, (double)(update->dims[d] - 1)), *zero = kernel_const_like(b, v, 0);
    kernel_value *ok = BIN(AND, BIN(LE_S, zero, v), BIN(LE_S, v, last));
    fixed[d] = coord_of_value(c, BIN(MIN_S, BIN(MAX_S, v, zero), last));
    if (varies)
      lanewise = and_maybe(c, lanewise, ok);
    else
      uniform = and_maybe(c, uniform, ok);
  }
  update_state s = {i, x, emit_index_select(c, x, update->rank, update->dims, source, fixed)};
  if (!uniform && !lanewise) return emit_element(c, i->operands[1], s.inner);
  if (!lanewise) return branch(c, uniform, i->shape->dtype, emit_index_varies(x) ? x->lanes : 1, update_side, &s);
  if (uniform) lanewise = BIN(AND, lanewise, uniform);
  return emit_select(c, lanewise, update_side(c, &s, 0), update_side(c, &s, 1));
}

emit_value emit_gather(emit_ctx *c, const hlo_instr *i, emit_index *x) {
  const hlo_gather_dnums *n = &HLO_ATTRS(i, gather)->dnums;
  hlo_i64s sizes = HLO_ATTRS(i, gather)->slice_sizes;
  const hlo_instr *indices = i->operands[1];
  const hlo_shape *in = i->operands[0]->shape, *is = indices->shape;
  int64_t batch[64], n_batch = 0, offset = 0, source[64], start_source[64];
  for (int d = 0; d < x->rank; d++)
    if (!hlo_i64s_contains(n->offset_dims, d)) batch[n_batch++] = d;
  int next = 0;
  for (int d = 0; d < is->rank; d++) start_source[d] = d == n->index_vector_dim ? -1 : batch[next++];
  emit_coord fixed[64], start_fixed[64];
  for (int d = 0; d < in->rank; d++) {
    emit_coord at = emit_coord_const(c, 0);
    source[d] = -1;
    bool collapsed = hlo_i64s_contains(n->collapsed_slice_dims, d);
    for (int k = 0; k < n->operand_batching_dims.n; k++) {
      if (n->operand_batching_dims.data[k] != d) continue;
      int64_t sd = n->start_indices_batching_dims.data[k];
      at = emit_index_coord(c, x, (int)batch[sd > n->index_vector_dim ? sd - 1 : sd]);
      collapsed = true;
    }
    int64_t out_dim = collapsed ? -1 : n->offset_dims.data[offset++];
    for (int k = 0; k < n->start_index_map.n; k++) {
      if (n->start_index_map.data[k] != d) continue;
      start_fixed[n->index_vector_dim] = emit_coord_const(c, k);
      emit_index *sx = emit_index_select(c, x, is->rank, is->dims, start_source, start_fixed);
      at = coord_of_value(c, emit_start_index(c, indices, sx, in->dims[d] - sizes.data[d]));
    }
    bool from_zero = at.base->def && at.base->def->op == KERNEL_OP_CONST && at.base->def->imm.i == 0 && !at.vec;
    if (out_dim >= 0 && from_zero && in->dims[d] == x->dims[out_dim])
      source[d] = out_dim;
    else if (out_dim >= 0)
      at = emit_coord_add(c, at, emit_index_coord(c, x, (int)out_dim), x->lanes);
    fixed[d] = at;
  }
  return emit_element(c, i->operands[0], emit_index_select(c, x, in->rank, in->dims, source, fixed));
}

// out[batch.., pre.., indices.., post..] = operand[batch.., pre.., index, post..]
emit_value emit_torch_index_select(emit_ctx *c, const hlo_instr *i, emit_index *x) {
  int dim = (int)HLO_ATTRS(i, torch_index_select)->dim, nb = (int)HLO_ATTRS(i, torch_index_select)->batch_dims;
  const hlo_shape *in = i->operands[0]->shape, *is = i->operands[1]->shape;
  int64_t source[64], start_source[64];
  emit_coord fixed[64];
  int extra = is->rank - nb;
  for (int d = 0; d < is->rank; d++) start_source[d] = d < nb ? d : dim + d - nb;
  emit_index *sx = emit_index_select(c, x, is->rank, is->dims, start_source, NULL);
  for (int d = 0; d < in->rank; d++) source[d] = d < dim ? d : d - 1 + extra;
  source[dim] = -1;
  fixed[dim] = coord_of_value(c, emit_start_index(c, i->operands[1], sx, in->dims[dim] - 1));
  return emit_element(c, i->operands[0], emit_index_select(c, x, in->rank, in->dims, source, fixed));
}
