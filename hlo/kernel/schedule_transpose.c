// SPDX-License-Identifier: Apache-2.0
// Transposes in registers and of whole arrays.
//
// An array whose innermost dimension changes is moved in square tiles: `lanes` vectors are read along the input's
// innermost dimension, transposed in registers, and written along the output's. Edges go element by element. On CPUs an
// item takes a strip as wide as a cache line and as long as the output's rows; elsewhere an item is one tile.
#include "hlo/kernel/emit.h"

#define BIN(op, x, y) kernel_bin(b, KERNEL_OP_##op, (x), (y))

// Stage by stage, pairs of vectors `half` apart exchange blocks of `half` lanes.
void emit_transpose(emit_ctx *c, kernel_value **x, int lanes) {
  kernel_type t = x[0]->type;
  for (int half = 1; half < lanes; half *= 2) {
    for (int i = 0; i < lanes; i++) {
      if (i & half) continue;
      kernel_value *operands[] = {x[i], x[i + half]};
      for (int side = 0; side < 2; side++) {
        kernel_instr *s = kernel_emit(&c->b, KERNEL_OP_SHUFFLE, 1, &t, 2, operands);
        s->imm.list = ARENA_ARRAY(c->k->arena, int32_t, lanes);
        for (int l = 0; l < lanes; l++) {
          // side 0 keeps lanes without the bit and takes the partner's for those with it; side 1 the other way round
          bool bit = (l & half) != 0;
          if (side == 0)
            s->imm.list[l] = bit ? lanes + l - half : l;
          else
            s->imm.list[l] = bit ? lanes + l : l + half;
        }
        x[i + side * half] = &s->results[0];
      }
    }
  }
}

typedef struct tiling {
  const hlo_instr *root, *input;  // root = transpose or copy of input
  const int64_t *source;          // output dimension -> input dimension
  int rank, across, along;        // output dimensions: the input's innermost, the output's innermost
  int lanes, strip;               // elements across in an item
  emit_coord at[64];              // the other coordinates
} tiling;

// Value(s) of the input at (across, along), lanes along the input's innermost dimension.
static emit_value read_input(emit_ctx *c, const tiling *t, emit_coord across, emit_coord along, int lanes) {
  emit_coord in[64];
  for (int d = 0; d < t->rank; d++) in[t->source[d]] = d == t->across ? across : d == t->along ? along : t->at[d];
  const hlo_shape *s = t->input->shape;
  return emit_element(c, t->input, emit_index_of(c, s->rank, s->dims, lanes, in));
}

static void write_output(emit_ctx *c, const tiling *t, emit_coord across, emit_coord along, int lanes, emit_value v) {
  emit_coord out[64];
  memcpy(out, t->at, sizeof *out * (size_t)t->rank);
  out[t->across] = across, out[t->along] = along;
  emit_store_result(c, 0, emit_index_of(c, t->rank, t->root->shape->dims, lanes, out), v);
}

static emit_coord coord(kernel_value *v, int64_t multiple, int lanes) {
  emit_coord at = emit_coord_of(v, multiple);
  at.stride = lanes > 1 ? 1 : 0;
  return at;
}

static void move_tile(emit_ctx *c, const tiling *t, kernel_value *across, kernel_value *along) {
  kernel_builder *b = &c->b;
  kernel_value *x[64];
  for (int l = 0; l < t->lanes; l++) {
    emit_coord row = emit_coord_of(BIN(ADD, along, kernel_index(b, l)), 1);
    emit_value v = read_input(c, t, coord(across, t->lanes, t->lanes), row, t->lanes);
    x[l] = kernel_splat(b, v.re, t->lanes);
  }
  emit_transpose(c, x, t->lanes);
  for (int l = 0; l < t->lanes; l++) {
    emit_coord row = emit_coord_of(BIN(ADD, across, kernel_index(b, l)), 1);
    write_output(c, t, row, coord(along, t->lanes, t->lanes), t->lanes, (emit_value){x[l], NULL});
  }
}

static void move_elements(emit_ctx *c, const tiling *t, kernel_value *lo, kernel_value *hi, kernel_value *from,
                          kernel_value *to) {
  kernel_builder *b = &c->b;
  kernel_for f = kernel_for_begin(b, lo, hi, kernel_index(b, 1), 0, NULL);
  kernel_for g = kernel_for_begin(b, from, to, kernel_index(b, 1), 0, NULL);
  emit_coord across = emit_coord_of(f.iv, 1), along = emit_coord_of(g.iv, 1);
  write_output(c, t, across, along, 1, read_input(c, t, across, along, 1));
  kernel_for_end(b, &g, NULL);
  kernel_for_end(b, &f, NULL);
}

static void set_outer(emit_ctx *c, tiling *t, emit_coord outer) {
  for (int d = t->rank - 1; d >= 0; d--) {
    if (d == t->across || d == t->along) continue;
    emit_coord q;
    emit_coord_divide(c, outer, t->root->shape->dims[d], 1, &q, &t->at[d]);
    outer = q;
  }
}

static lemnos_status strips(emit_ctx *c, tiling *t) {
  kernel_builder *b = &c->b;
  int64_t width = t->root->shape->dims[t->across], length = t->root->shape->dims[t->along];
  int64_t per_outer = (width + t->strip - 1) / t->strip, outer = hlo_shape_elements(t->root->shape) / (width * length);
  emit_kernel_begin(c, "", outer * per_outer, emit_index_type(c));
  emit_coord item = outer * per_outer == 1 ? emit_coord_const(c, 0) : emit_coord_of(kernel_item(b), 1), rest, strip;
  emit_coord_divide(c, item, per_outer, 1, &rest, &strip);
  if (outer == 1) rest = emit_coord_const(c, 0), strip = item;
  set_outer(c, t, rest);
  kernel_value *lo = BIN(MUL, strip.base, kernel_index(b, t->strip)), *hi = BIN(ADD, lo, kernel_index(b, t->strip));
  if (width % t->strip) hi = BIN(MIN_S, hi, kernel_index(b, width));
  kernel_value *left = BIN(SUB, hi, lo), *lanes = kernel_index(b, t->lanes), *zero = kernel_index(b, 0);
  kernel_value *bulk = BIN(SUB, hi, BIN(REM_U, left, lanes));
  int64_t whole = length / t->lanes * t->lanes;
  kernel_for f = kernel_for_begin(b, zero, kernel_index(b, whole), lanes, 0, NULL);
  kernel_for g = kernel_for_begin(b, lo, bulk, lanes, 0, NULL);
  move_tile(c, t, g.iv, f.iv);
  kernel_for_end(b, &g, NULL);
  kernel_for_end(b, &f, NULL);
  if (whole < length) move_elements(c, t, lo, bulk, kernel_index(b, whole), kernel_index(b, length));
  if (width % t->lanes) move_elements(c, t, bulk, hi, zero, kernel_index(b, length));
  int64_t cost = t->strip * length;
  c->k->grain = (int32_t)(cost < 8192 ? 8192 / cost + 1 : 1);
  return emit_kernel_end(c);
}

static lemnos_status single_tiles(emit_ctx *c, tiling *t) {
  kernel_builder *b = &c->b;
  int64_t width = t->root->shape->dims[t->across] / t->lanes, length = t->root->shape->dims[t->along] / t->lanes;
  int64_t outer = hlo_shape_elements(t->root->shape) / (width * length * t->lanes * t->lanes);
  emit_kernel_begin(c, "", outer * width * length, emit_index_type(c));
  emit_coord item = emit_coord_of(kernel_item(b), 1), rest, across, along;
  emit_coord_divide(c, item, length, 1, &rest, &along);
  emit_coord_divide(c, rest, width, 1, &rest, &across);
  set_outer(c, t, rest);
  kernel_value *lanes = kernel_index(b, t->lanes);
  move_tile(c, t, BIN(MUL, across.base, lanes), BIN(MUL, along.base, lanes));
  return emit_kernel_end(c);
}

// Innermost dimension larger than 1 in memory, -1: none.
static int innermost(const hlo_shape *s) {
  for (int n = 0; n < s->rank; n++) {
    int d = s->layout ? s->layout[n] : s->rank - 1 - n;
    if (s->dims[d] > 1) return d;
  }
  return -1;
}

lemnos_status schedule_transpose(emit_ctx *c) {
  const hlo_instr *root = emit_root(c);
  if (root->op != HLO_OP_TRANSPOSE && root->op != HLO_OP_COPY) return schedule_elementwise(c);
  tiling t = {.root = root, .input = root->operands[0], .rank = root->shape->rank};
  int64_t *source = ARENA_ARRAY(c->a, int64_t, t.rank + 1);
  for (int d = 0; d < t.rank; d++)
    source[d] = root->op == HLO_OP_COPY ? d : HLO_ATTRS(root, transpose)->permutation.data[d];
  t.source = source;
  int inner_in = innermost(t.input->shape);
  t.along = innermost(root->shape), t.across = -1;
  for (int d = 0; d < t.rank; d++)
    if (source[d] == inner_in) t.across = d;
  hlo_dtype dtype = root->shape->dtype;
  t.lanes = emit_vector_lanes(c);
  if (t.lanes > 16) t.lanes = 16;
  bool cpu = c->t->cls == HLO_TARGET_CPU;
  if (t.across < 0 || t.along < 0 || t.across == t.along || hlo_dtype_is_complex(dtype) || dtype == HLO_PRED ||
      t.lanes < 2 || emit_alias_of(c, 0) >= 0)
    return schedule_elementwise(c);
  int64_t width = root->shape->dims[t.across], length = root->shape->dims[t.along];
  while (t.lanes > 1 && (cpu ? width < t.lanes || length < t.lanes : width % t.lanes || length % t.lanes)) t.lanes /= 2;
  if (t.lanes < 2 || hlo_shape_elements(root->shape) == 0) return schedule_elementwise(c);
  t.strip = 64 / hlo_dtype_bytes(dtype) > t.lanes ? 64 / hlo_dtype_bytes(dtype) : t.lanes;
  return cpu ? strips(c, &t) : single_tiles(c, &t);
}
