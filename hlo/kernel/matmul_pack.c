// SPDX-License-Identifier: Apache-2.0
// Copying rows of an operand into panels: [k][width], so that the microkernel reads both operands front to back.
//
// Operands contiguous along their rows are copied by vectors of rows, k by k. Those contiguous along k are read by vectors along k,
// as many rows as a vector has lanes, and transposed in registers. A panel that ends behind the last row repeats that row:
// its sums are never stored.
#include "hlo/kernel/matmul.h"

#define BIN(op, x, y) kernel_bin(b, KERNEL_OP_##op, (x), (y))

static kernel_value *shuffle(emit_ctx *c, kernel_value *x, kernel_value *y, int lanes, const int32_t *list) {
  kernel_value *operands[] = {x, y};
  kernel_type t = kernel_type_make((kernel_scalar)x->type.scalar, lanes);
  kernel_instr *s = kernel_emit(&c->b, KERNEL_OP_SHUFFLE, 1, &t, 2, operands);
  s->imm.list = arena_copy(c->k->arena, list, sizeof *list * (size_t)lanes);
  return &s->results[0];
}

// Blocks of d x d off the diagonal change places, for d = 1, 2, 4, ...
void matmul_transpose(emit_ctx *c, kernel_value **x, int lanes) {
  for (int d = 1; d < lanes; d *= 2) {
    int32_t low[64], high[64];
    for (int l = 0; l < lanes; l++) {
      low[l] = l & d ? lanes + l - d : l;
      high[l] = l & d ? lanes + l : l + d;
    }
    for (int i = 0; i < lanes; i++) {
      if (i & d) continue;
      kernel_value *a = x[i], *e = x[i + d];
      x[i] = shuffle(c, a, e, lanes, low);
      x[i + d] = shuffle(c, a, e, lanes, high);
    }
  }
}

static emit_coord vector_coord(kernel_value *v, int64_t multiple, int lanes) {
  emit_coord at = emit_coord_of(v, multiple);
  at.stride = lanes > 1 ? 1 : 0;
  return at;
}

static void put(emit_ctx *c, const matmul *p, const matmul_panel *s, emit_coord at, int lanes, kernel_value *v) {
  emit_store(c, s->mem, p->sum, at, lanes, (emit_value){kernel_splat(&c->b, v, lanes), NULL});
}

// Where element (row, k) of the panel is.
static emit_coord place(emit_ctx *c, const matmul_panel *s, kernel_value *k, int64_t k_offset, int row, int lanes) {
  kernel_builder *b = &c->b;
  kernel_value *at = BIN(ADD, s->at, BIN(MUL, k, kernel_index(b, s->width)));
  int64_t constant = k_offset * s->width + row, width = s->width;
  int64_t multiple = width % s->lanes == 0 && constant % s->lanes == 0 ? s->lanes : 1;
  return vector_coord(BIN(ADD, at, kernel_index(b, constant)), multiple, lanes);
}

static kernel_value *k_at(emit_ctx *c, const matmul_panel *s, kernel_value *k) {
  return kernel_bin(&c->b, KERNEL_OP_ADD, s->k0, k);
}

static int piece(int left, int lanes) {
  while (lanes > left) lanes /= 2;
  return lanes;
}

// k by k, vectors of rows.
static void copy_rows(emit_ctx *c, const matmul *p, const matmul_panel *s) {
  kernel_builder *b = &c->b;
  kernel_for f = kernel_for_begin(b, kernel_index(b, 0), s->count, kernel_index(b, 1), 0, NULL);
  emit_coord k = emit_coord_of(k_at(c, s, f.iv), 1);
  for (int r = 0, n; r < s->width; r += n) {
    n = piece(s->width - r, s->lanes);
    emit_coord row = emit_coord_offset(c, emit_coord_of(s->row, s->width), r);
    row.stride = n > 1 ? 1 : 0;
    put(c, p, s, place(c, s, f.iv, 0, r, n), n, p->fetch(c, p, s->side, s->batch, row, k, n));
  }
  kernel_for_end(b, &f, NULL);
}

// One element after the other, for k from lo to the end.
static void copy_scalars(emit_ctx *c, const matmul *p, const matmul_panel *s, kernel_value *lo, bool clamp) {
  kernel_builder *b = &c->b;
  kernel_for f = kernel_for_begin(b, lo, s->count, kernel_index(b, 1), 0, NULL);
  kernel_for r = kernel_for_begin(b, kernel_index(b, 0), kernel_index(b, s->width), kernel_index(b, 1), 0, NULL);
  kernel_value *row = BIN(ADD, s->row, r.iv);
  if (clamp) row = BIN(MIN_S, row, kernel_index(b, p->rows[s->side] - 1));
  kernel_value *v = p->fetch(c, p, s->side, s->batch, emit_coord_of(row, 1), emit_coord_of(k_at(c, s, f.iv), 1), 1);
  kernel_value *at = BIN(ADD, BIN(ADD, s->at, BIN(MUL, f.iv, kernel_index(b, s->width))), r.iv);
  put(c, p, s, emit_coord_of(at, 1), 1, v);
  kernel_for_end(b, &r, NULL);
  kernel_for_end(b, &f, NULL);
}

static kernel_value *first_lanes(emit_ctx *c, kernel_value *v, int from, int lanes) {
  if (lanes == v->type.lanes) return v;
  if (lanes == 1) return kernel_extract(&c->b, v, from);
  int32_t list[64];
  for (int l = 0; l < lanes; l++) list[l] = from + l;
  return shuffle(c, v, v, lanes, list);
}

// The transposed vector x, of which `height` lanes count, to (row.., k + l).
static void put_column(emit_ctx *c, const matmul *p, const matmul_panel *s, kernel_value *x, kernel_value *k, int l, int row,
                       int height) {
  // A store over the panel's edge spoils the next k, which is written afterwards: only if one vector holds all rows.
  if (height == s->lanes || (s->slack && s->width <= s->lanes)) {
    emit_coord at = place(c, s, k, l, row, s->lanes);
    put(c, p, s, at, s->lanes, x);
    return;
  }
  for (int r = 0, n; r < height; r += n) {
    n = piece(height - r, s->lanes);
    put(c, p, s, place(c, s, k, l, row + r, n), n, first_lanes(c, x, r, n));
  }
}

// `lanes` k at a time: vectors along k, transposed in registers; then what is left of k.
static void copy_transposed(emit_ctx *c, const matmul *p, const matmul_panel *s, bool clamp) {
  kernel_builder *b = &c->b;
  kernel_value *bulk = s->count;
  if (!s->whole) bulk = BIN(SUB, s->count, BIN(REM_U, s->count, kernel_index(b, s->lanes)));
  kernel_for f = kernel_for_begin(b, kernel_index(b, 0), bulk, kernel_index(b, s->lanes), 0, NULL);
  for (int r = 0; r < s->width; r += s->lanes) {
    int height = s->width - r < s->lanes ? s->width - r : s->lanes;
    kernel_value *x[64];
    for (int l = 0; l < s->lanes; l++) {
      if (l >= height) {
        x[l] = x[height - 1];
        continue;
      }
      kernel_value *row = BIN(ADD, s->row, kernel_index(b, r + l));
      if (clamp) row = BIN(MIN_S, row, kernel_index(b, p->rows[s->side] - 1));
      emit_coord k = vector_coord(k_at(c, s, f.iv), s->lanes, s->lanes);
      x[l] = kernel_splat(b, p->fetch(c, p, s->side, s->batch, emit_coord_of(row, 1), k, s->lanes), s->lanes);
    }
    matmul_transpose(c, x, s->lanes);
    for (int l = 0; l < s->lanes; l++) put_column(c, p, s, x[l], f.iv, l, r, height);
  }
  kernel_for_end(b, &f, NULL);
  if (!s->whole) copy_scalars(c, p, s, bulk, clamp);
}

void matmul_pack(emit_ctx *c, const matmul *p, const matmul_panel *s) {
  kernel_builder *b = &c->b;
  int64_t rows = p->rows[s->side];
  bool edge = rows % s->width != 0;
  if (p->k_vectors[s->side] && s->lanes > 1) {
    copy_transposed(c, p, s, edge);
    return;
  }
  if (!edge) {
    copy_rows(c, p, s);
  } else if (rows < s->width) {
    copy_scalars(c, p, s, kernel_index(b, 0), true);
  } else {
    kernel_value *end = BIN(ADD, s->row, kernel_index(b, s->width));
    kernel_if f = kernel_if_begin(b, BIN(LE_S, end, kernel_index(b, rows)), 0, NULL);
    copy_rows(c, p, s);
    kernel_if_else(b, &f, NULL);
    copy_scalars(c, p, s, kernel_index(b, 0), true);
    kernel_if_end(b, &f, NULL);
  }
}
