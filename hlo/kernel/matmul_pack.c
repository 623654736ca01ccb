// SPDX-License-Identifier: Apache-2.0
// Copying rows of an operand into panels: [k][width], so that the microkernel reads both operands front to back.
//
// Operands contiguous along their rows are copied by vectors of rows, k by k. Those contiguous along k are read by
// vectors along k, as many rows as a vector has lanes, and transposed in registers; or, where the microkernel reads
// scalars (A), simply copied, rows apart by a stride that spreads them over the cache's sets. A panel that ends behind
// the last row repeats that row:
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

// `n` lanes of a vector, from `first` on.
static kernel_value *lanes_of(emit_ctx *c, kernel_value *x, int first, int n) {
  kernel_type t = kernel_type_make((kernel_scalar)x->type.scalar, n);
  kernel_instr *e = kernel_emit(&c->b, KERNEL_OP_EXTRACT, 1, &t, 1, &x);
  e->imm.i = first;
  return &e->results[0];
}

// `lanes` k at a time: vectors along k, transposed in registers; then what is left of k.
static void copy_transposed(emit_ctx *c, const matmul *p, const matmul_panel *s, bool clamp) {
  kernel_builder *b = &c->b;
  kernel_value *bulk = s->count;
  if (!s->whole) bulk = BIN(SUB, s->count, BIN(REM_U, s->count, kernel_index(b, s->lanes)));
  kernel_for f = kernel_for_begin(b, kernel_index(b, 0), bulk, kernel_index(b, s->lanes), 0, NULL);
  for (int r = 0; r < s->width; r += s->lanes) {
    kernel_value *x[64];
    for (int l = 0; l < s->lanes; l++) {
      int own = r + l < s->width ? r + l : s->width - 1;  // lanes behind the panel's rows are not stored
      kernel_value *row = BIN(ADD, s->row, kernel_index(b, own));
      if (clamp) row = BIN(MIN_S, row, kernel_index(b, p->rows[s->side] - 1));
      emit_coord k = vector_coord(k_at(c, s, f.iv), s->lanes, s->lanes);
      x[l] = kernel_splat(b, p->fetch(c, p, s->side, s->batch, emit_coord_of(row, 1), k, s->lanes), s->lanes);
    }
    matmul_transpose(c, x, s->lanes);
    for (int l = 0; l < s->lanes; l++)
      for (int done = 0, n; done < s->lanes && r + done < s->width; done += n) {
        n = piece(s->width - r - done, s->lanes);
        put(c, p, s, place(c, s, f.iv, l, r + done, n), n, n < s->lanes ? lanes_of(c, x[l], done, n) : x[l]);
      }
  }
  kernel_for_end(b, &f, NULL);
  if (!s->whole) copy_scalars(c, p, s, bulk, clamp);
}

// Row by row, vectors along k.
static void copy_along_k(emit_ctx *c, const matmul *p, const matmul_panel *s, bool clamp) {
  kernel_builder *b = &c->b;
  kernel_for rf = kernel_for_begin(b, kernel_index(b, 0), kernel_index(b, s->width), kernel_index(b, 1), 0, NULL);
  kernel_value *row = BIN(ADD, s->row, rf.iv), *to = BIN(ADD, s->at, BIN(MUL, rf.iv, kernel_index(b, s->row_stride)));
  if (clamp) row = BIN(MIN_S, row, kernel_index(b, p->rows[s->side] - 1));
  kernel_value *bulk = s->count;
  if (!s->whole) bulk = BIN(SUB, s->count, BIN(REM_U, s->count, kernel_index(b, s->lanes)));
  for (int lanes = s->lanes; lanes; lanes = lanes > 1 && !s->whole ? 1 : 0) {
    kernel_value *lo = lanes == s->lanes ? kernel_index(b, 0) : bulk, *hi = lanes == s->lanes ? bulk : s->count;
    kernel_for f = kernel_for_begin(b, lo, hi, kernel_index(b, lanes), 0, NULL);
    kernel_value *v =
        p->fetch(c, p, s->side, s->batch, emit_coord_of(row, 1), vector_coord(k_at(c, s, f.iv), lanes, lanes), lanes);
    put(c, p, s, vector_coord(BIN(ADD, to, f.iv), 1, lanes), lanes, v);
    kernel_for_end(b, &f, NULL);
  }
  kernel_for_end(b, &rf, NULL);
}

void matmul_pack(emit_ctx *c, const matmul *p, const matmul_panel *s) {
  kernel_builder *b = &c->b;
  int64_t rows = p->rows[s->side];
  bool edge = rows % s->width != 0;
  if (s->row_stride) {
    copy_along_k(c, p, s, edge);
  } else if (p->k_vectors[s->side] && s->lanes > 1) {
    copy_transposed(c, p, s, edge);
  } else if (!edge) {
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
