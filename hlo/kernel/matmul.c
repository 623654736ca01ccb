// SPDX-License-Identifier: Apache-2.0
// The packed matrix product (after Goto and van de Geijn) and the streaming ones for few rows.
//
// Packed: an item computes some panels of rows (mr each) by some panels of columns (nr = nv vectors each) of one batch,
// with TILE_FMA as the microkernel: mr x nv accumulators in registers. A and B are each packed either by the item into
// a private array, or by a launch of its own into scratch that all items read; what is cheaper follows from how often a
// panel is used.
//
//     A panel [k][mr], or [mr][k] if A is contiguous along k   B panel [k][nr]   tile [mr][nr]: finished sums, from which the epilogue reads rows
//
// Long k is cut in blocks of kc; partial sums of an item then live in one tile per pair of panels.
//
// Few rows (all in one panel): B is read once, so packing gains nothing. Contiguous along n, the microkernel reads it
// in place; contiguous along k, an item forms inner products by vectors along k, added up by a fixed tree.
#include "hlo/kernel/matmul.h"

#define BIN(op, x, y) kernel_bin(b, KERNEL_OP_##op, (x), (y))

typedef enum side_mode { SIDE_PRIVATE, SIDE_SHARED, SIDE_DIRECT } side_mode;

typedef struct plan {
  const matmul *p;
  int lanes, mr, nv, nr;
  int width[2];                // mr, nr
  int64_t panels[2];           // of all rows
  int64_t blocks[2], most[2];  // an item takes one block of panels on each side; panels in the largest
  int64_t kc, k_blocks;
  bool wide;         // B is packed by whole rows of the item's columns, all its panels at once
  int64_t a_stride;  // between rows of an A panel; 0: [k][mr]
  side_mode mode[2];
  int scratch[2];
  // values of the kernel being built
  kernel_mem mem[2], tile;
  emit_coord batch;
  kernel_value *lo[2], *hi[2];  // panels of the item
  kernel_value *k0, *k_count;
} plan;

static int64_t divide_up(int64_t x, int64_t y) {
  return (x + y - 1) / y;
}
static int64_t smaller(int64_t x, int64_t y) {
  return x < y ? x : y;
}
static int64_t larger(int64_t x, int64_t y) {
  return x > y ? x : y;
}
static int64_t bytes_of(const plan *s) {
  return kernel_scalar_table[s->p->scalar].bytes;
}

// --- choices -------------------------------------------------------------------------------------

static int register_rows(const emit_ctx *c, int nv) {
  bool many = c->t->vector_registers >= 32;
  int rows = ((many ? 32 : 16) - 2 - nv) / nv;  // B vectors, a broadcast and a spare beside the accumulators
  return rows > 14 ? 14 : rows < 1 ? 1 : rows;
}

// Tile with the least work, padding counted; a step of k costs its multiply-adds or its loads.
static void choose_tile(const emit_ctx *c, plan *s) {
  const matmul *p = s->p;
  s->lanes = c->t->vector_bytes / (int)bytes_of(s);
  if (s->lanes < 1) s->lanes = 1;
  while (s->lanes > 1 && s->lanes / 2 >= p->rows[1]) s->lanes /= 2;
  double best = 0;
  for (int nv = 1; nv <= 4; nv++) {
    int most = register_rows(c, nv);
    int64_t mp = divide_up(p->rows[0], most), mr = divide_up(p->rows[0], mp);
    int64_t np = divide_up(p->rows[1], (int64_t)nv * s->lanes);
    double step = (double)(mr * nv), loads = 0.8 * (double)(mr + 2 * nv);
    if (loads > step) step = loads;
    double cost = (double)mp * (double)np * (step + 0.5);
    if (s->mr && cost > best * (nv == 2 ? 1.02 : 0.98)) continue;
    best = cost;
    s->mr = (int)mr, s->nv = nv;
  }
  s->nr = s->nv * s->lanes;
  s->width[0] = s->mr, s->width[1] = s->nr;
  for (int side = 0; side < 2; side++) s->panels[side] = divide_up(p->rows[side], s->width[side]);
}

static void choose_depth(const emit_ctx *c, plan *s) {
  int64_t l2 = c->t->l2_bytes > 0 ? c->t->l2_bytes : 256 << 10, k = s->p->k;
  int64_t most = larger(256, l2 / 4 / (s->nr * bytes_of(s)));
  s->k_blocks = divide_up(k, most);
  s->kc = k;
  if (s->k_blocks > 1) {
    s->kc = divide_up(divide_up(k, s->k_blocks), 64) * 64;
    s->k_blocks = divide_up(k, s->kc);
  }
}

static void set_blocks(plan *s, int side, int64_t n) {
  s->blocks[side] = larger(1, smaller(n, s->panels[side]));
  s->most[side] = divide_up(s->panels[side], s->blocks[side]);
}

static void choose_blocks(const emit_ctx *c, plan *s) {
  const matmul *p = s->p;
  int64_t l2 = c->t->l2_bytes > 0 ? c->t->l2_bytes : 256 << 10, threads = c->t->threads > 0 ? c->t->threads : 1;
  double steps = (double)p->batch * (double)s->panels[0] * (double)s->panels[1] * (double)p->k * s->mr * s->nv;
  int64_t want = larger(1, smaller((int64_t)(steps / 20000), 8 * threads));  // items worth handing out
  int64_t a_most = larger(1, l2 / 2 / (s->mr * s->kc * bytes_of(s)));
  int64_t need = divide_up(want, p->batch), m_least = divide_up(s->panels[0], a_most), n_blocks = 1, m_blocks = m_least;
  bool patches_b = p->gather == 1 && p->batch * s->panels[1] >= 2 * threads;
  if (patches_b) {  // B is packed by the item that uses it; A is read by all
    m_blocks = 1;
    n_blocks = need;
  } else if (s->panels[0] <= 24 || (p->gather == 0 && s->panels[0] < 2 * need)) {
    n_blocks = divide_up(need, m_blocks);
  } else if (m_blocks < need) {
    m_blocks = smaller(need, s->panels[0] / 2);
    n_blocks = divide_up(need, m_blocks);
  }
  if (s->k_blocks > 1) n_blocks = larger(n_blocks, divide_up(s->panels[1] * s->nr, 1024));
  if (m_blocks > threads && m_blocks % threads) m_blocks += threads - m_blocks % threads;
  set_blocks(s, 0, m_blocks);
  set_blocks(s, 1, n_blocks);
  // A panel that several items would pack alike is packed once, unless that is little work against its use.
  s->mode[0] = patches_b || s->blocks[1] > (p->gather == 0 ? 1 : 4) || (s->blocks[1] > 1 && s->most[1] <= 4)
                   ? SIDE_SHARED
                   : SIDE_PRIVATE;
  s->mode[1] = s->blocks[0] > 1 ? SIDE_SHARED : SIDE_PRIVATE;
  // Few rows: reading B decides. Memory delivers long rows best, so k is cut until all columns of an item fit.
  int64_t row = s->most[1] * s->nr * bytes_of(s);
  s->wide = s->mode[1] == SIDE_PRIVATE && !p->k_vectors[1] && p->gather != 1 && s->panels[0] <= 3 && s->most[1] > 1 &&
            p->rows[1] >= s->nr && row <= l2 / 2 / 64;
  if (s->wide) {
    s->kc = smaller(p->k, l2 / 2 / row / 64 * 64);
    s->k_blocks = divide_up(p->k, s->kc);
  }
}

// --- the pieces of a kernel ----------------------------------------------------------------------

kernel_value *matmul_multiply_add(kernel_builder *b, kernel_value *x, kernel_value *y, kernel_value *z) {
  return kernel_scalar_table[z->type.scalar].is_float ? kernel_fma(b, x, y, z) : BIN(ADD, BIN(MUL, x, y), z);
}

static kernel_value *zero_of(kernel_builder *b, const matmul *p, int lanes) {
  kernel_value *zero =
      kernel_scalar_table[p->scalar].is_float ? kernel_float(b, p->scalar, 0) : kernel_int(b, p->scalar, 0);
  return kernel_splat(b, zero, lanes);
}

static kernel_value **tile_fma(emit_ctx *c, const kernel_tile *t, kernel_value *a, kernel_value *bb, kernel_value *k,
                               kernel_value *const *acc) {
  int n = t->m * t->nv;
  kernel_value **operands = ARENA_ARRAY(c->k->arena, kernel_value *, n + 3);
  kernel_type *types = ARENA_ARRAY(c->k->arena, kernel_type, n);
  operands[0] = a, operands[1] = bb, operands[2] = k;
  for (int i = 0; i < n; i++) operands[3 + i] = acc[i], types[i] = acc[i]->type;
  kernel_instr *instr = kernel_emit(&c->b, KERNEL_OP_TILE_FMA, n, types, n + 3, operands);
  instr->imm.tile = ARENA_NEW(c->k->arena, kernel_tile);
  *instr->imm.tile = *t;
  kernel_value **results = ARENA_ARRAY(c->k->arena, kernel_value *, n);
  for (int i = 0; i < n; i++) results[i] = &instr->results[i];
  return results;
}

static kernel_mem private_array(emit_ctx *c, const matmul *p, int lanes, int64_t n) {
  return kernel_array_mem(c->k, kernel_add_array(c->k, KERNEL_PRIVATE, p->scalar, lanes, n));
}

static int64_t panel_elements(const plan *s, int side, int64_t k) {
  return (side == 0 && s->a_stride ? s->a_stride : k) * s->width[side];
}

static const hlo_shape *scratch_shape(emit_ctx *c, const plan *s, int side) {
  int64_t n = s->p->batch * s->panels[side] * panel_elements(s, side, s->p->k);
  return emit_shape(c, s->p->sum, 1, &n);
}

static kernel_mem scratch_mem(emit_ctx *c, const plan *s, int side) {
  kernel_mem m = emit_scratch_mem(c, s->scratch[side], scratch_shape(c, s, side));
  c->k->params[m.index].writeonly = false;
  return m;
}

static int piece(int64_t left, int lanes) {
  while (lanes > left) lanes /= 2;
  return lanes;
}

// Rows of a tile (from element `tile`, `stride` apart) to results (m0 + row, n0 ..) of `columns` columns.
static void store_rows(emit_ctx *c, const plan *s, kernel_value *tile, int64_t stride, kernel_value *m0,
                       kernel_value *rows, emit_coord n0, int64_t columns, int lanes) {
  kernel_builder *b = &c->b;
  const matmul *p = s->p;
  bool one = p->rows[0] == 1;
  kernel_for f = {.iv = kernel_index(b, 0)};
  if (!one) f = kernel_for_begin(b, f.iv, rows, kernel_index(b, 1), 0, NULL);
  emit_coord m = emit_coord_of(BIN(ADD, m0, f.iv), 1);
  kernel_value *row = BIN(ADD, tile, BIN(MUL, f.iv, kernel_index(b, stride)));
  for (int64_t j = 0; j < columns;) {
    int n = piece(columns - j, lanes);
    int align = (stride | j) % n == 0 ? n : 1;
    kernel_value *v = kernel_load(b, s->tile, BIN(ADD, row, kernel_index(b, j)), n, align, NULL);
    emit_coord at = emit_coord_offset(c, n0, j);
    at.stride = n > 1 ? 1 : 0;
    p->store(c, p, s->batch, m, at, n, v);
    j += n;
  }
  if (!one) kernel_for_end(b, &f, NULL);
}

static kernel_value *rows_of_panel(emit_ctx *c, const plan *s, kernel_value *m0) {
  kernel_builder *b = &c->b;
  kernel_value *rows = kernel_index(b, s->mr);
  return s->p->rows[0] % s->mr ? BIN(MIN_S, rows, BIN(SUB, kernel_index(b, s->p->rows[0]), m0)) : rows;
}

// The sums of panels (i, j), at `tile`.
static void store_tile(emit_ctx *c, const plan *s, kernel_value *i, kernel_value *j, kernel_value *tile) {
  kernel_builder *b = &c->b;
  kernel_value *m0 = BIN(MUL, i, kernel_index(b, s->mr)), *rows = rows_of_panel(c, s, m0);
  emit_coord n0 = emit_coord_of(BIN(MUL, j, kernel_index(b, s->nr)), s->nr);
  int64_t rest = s->p->rows[1] % s->nr;
  if (rest == 0 || s->panels[1] == 1) {
    store_rows(c, s, tile, s->nr, m0, rows, n0, rest ? rest : s->nr, s->lanes);
    return;
  }
  kernel_if f = kernel_if_begin(b, BIN(LT_S, j, kernel_index(b, s->panels[1] - 1)), 0, NULL);
  store_rows(c, s, tile, s->nr, m0, rows, n0, s->nr, s->lanes);
  kernel_if_else(b, &f, NULL);
  store_rows(c, s, tile, s->nr, m0, rows, n0, rest, s->lanes);
  kernel_if_end(b, &f, NULL);
}

// Where a panel (of this block of k) begins in mem[side].
static kernel_value *panel_at(emit_ctx *c, const plan *s, int side, kernel_value *panel) {
  kernel_builder *b = &c->b;
  int64_t w = s->width[side];
  if (s->mode[side] == SIDE_SHARED) {
    kernel_value *n = BIN(ADD, BIN(MUL, s->batch.base, kernel_index(b, s->panels[side])), panel);
    int64_t step = side == 0 && s->a_stride ? 1 : w;
    return BIN(ADD, BIN(MUL, n, kernel_index(b, panel_elements(s, side, s->p->k))),
               BIN(MUL, s->k0, kernel_index(b, step)));
  }
  if (side == 1 && !s->wide) return kernel_index(b, 0);
  return BIN(MUL, BIN(SUB, panel, s->lo[side]), kernel_index(b, panel_elements(s, side, s->kc)));
}

static void pack_panel(emit_ctx *c, const plan *s, int side, kernel_value *panel) {
  kernel_builder *b = &c->b;
  int lanes = s->lanes;
  if (s->p->pack_lanes[side] && s->p->pack_lanes[side] < lanes) lanes = s->p->pack_lanes[side];
  bool whole = s->p->k % lanes == 0 && s->kc % lanes == 0;
  matmul_panel x = {.side = side,
                    .width = s->width[side],
                    .lanes = lanes,
                    .batch = s->batch,
                    .k0 = s->k0,
                    .count = s->k_count,
                    .whole = whole,
                    .mem = s->mem[side]};
  x.row_stride = side == 0 ? s->a_stride : 0;
  x.row = BIN(MUL, panel, kernel_index(b, s->width[side]));
  x.at = panel_at(c, s, side, panel);
  matmul_pack(c, s->p, &x);
}

static kernel_value *tile_at(emit_ctx *c, const plan *s, kernel_value *i, kernel_value *j) {
  kernel_builder *b = &c->b;
  if (s->k_blocks == 1) return kernel_index(b, 0);
  kernel_value *n = BIN(MUL, BIN(SUB, j, s->lo[1]), kernel_index(b, s->most[0]));
  return BIN(MUL, BIN(ADD, n, BIN(SUB, i, s->lo[0])), kernel_index(b, (int64_t)s->mr * s->nr));
}

static void multiply_panels(emit_ctx *c, const plan *s, kernel_value *i, kernel_value *j) {
  kernel_builder *b = &c->b;
  kernel_value *tile = tile_at(c, s, i, j), *acc[256];
  int n = s->mr * s->nv;
  for (int a = 0; a < n; a++) {
    kernel_value *at = BIN(ADD, tile, kernel_index(b, (int64_t)a * s->lanes));
    acc[a] = s->k_blocks > 1 ? kernel_load(b, s->tile, at, s->lanes, s->lanes, NULL) : zero_of(b, s->p, s->lanes);
  }
  kernel_tile t = {.a = s->mem[0],
                   .b = s->mem[1],
                   .m = s->mr,
                   .nv = s->nv,
                   .lanes = s->lanes,
                   .a_stride_m = s->a_stride ? s->a_stride : 1,
                   .a_stride_k = s->a_stride ? 1 : s->mr,
                   .b_stride_k = s->nr,
                   .k_unroll = n > 16  ? 1
                               : n > 8 ? 2
                                       : 4};
  t.k_multiple = s->p->k % t.k_unroll == 0 && s->kc % t.k_unroll == 0;
  kernel_value **out = tile_fma(c, &t, panel_at(c, s, 0, i), panel_at(c, s, 1, j), s->k_count, acc);
  for (int a = 0; a < n; a++)
    kernel_store(b, s->tile, BIN(ADD, tile, kernel_index(b, (int64_t)a * s->lanes)), out[a], s->lanes, NULL);
}

// Panels of block n of `blocks`: n * panels / blocks .. (n + 1) * panels / blocks.
static void block_range(emit_ctx *c, plan *s, int side, kernel_value *n) {
  kernel_builder *b = &c->b;
  kernel_value *panels = kernel_index(b, s->panels[side]), *blocks = kernel_index(b, s->blocks[side]);
  if (s->blocks[side] == 1) {
    s->lo[side] = kernel_index(b, 0), s->hi[side] = panels;
    return;
  }
  s->lo[side] = BIN(DIV_U, BIN(MUL, n, panels), blocks);
  s->hi[side] = BIN(DIV_U, BIN(MUL, BIN(ADD, n, kernel_index(b, 1)), panels), blocks);
}

// item -> batch, x, y with y fastest
static void split_item(emit_ctx *c, const matmul *p, int64_t nx, int64_t ny, emit_coord *batch, kernel_value **x,
                       kernel_value **y) {
  kernel_builder *b = &c->b;
  kernel_value *item = p->batch * nx * ny == 1 ? kernel_index(b, 0) : kernel_item(b);
  kernel_value *rest = ny == 1 ? item : BIN(DIV_U, item, kernel_index(b, ny));
  *y = ny == 1 ? kernel_index(b, 0) : BIN(REM_U, item, kernel_index(b, ny));
  *x = nx == 1 ? kernel_index(b, 0) : p->batch == 1 ? rest : BIN(REM_U, rest, kernel_index(b, nx));
  *batch =
      p->batch == 1 ? emit_coord_const(c, 0) : emit_coord_of(nx == 1 ? rest : BIN(DIV_U, rest, kernel_index(b, nx)), 1);
}

// --- packing launches ----------------------------------------------------------------------------

static lemnos_status pack_all(emit_ctx *c, plan *s, int side) {
  const matmul *p = s->p;
  s->scratch[side] = emit_add_scratch(c, hlo_shape_elements(scratch_shape(c, s, side)) * bytes_of(s));
  emit_kernel_begin(c, side ? "_pack_rhs" : "_pack_lhs", p->batch * s->panels[side], KERNEL_I64);
  kernel_value *panel, *none;
  split_item(c, p, s->panels[side], 1, &s->batch, &panel, &none);
  s->mem[side] = scratch_mem(c, s, side);
  s->k0 = kernel_index(&c->b, 0), s->k_count = kernel_index(&c->b, p->k);
  pack_panel(c, s, side, panel);
  c->k->grain = (int32_t)larger(1, 20000 / (p->k * s->width[side] + 1));
  return emit_kernel_end(c);
}

// --- the packed product --------------------------------------------------------------------------

// All panels of B of the item, k by k; the one at the edge by itself.
static void pack_wide(emit_ctx *c, const plan *s) {
  kernel_builder *b = &c->b;
  const matmul *p = s->p;
  kernel_value *one = kernel_index(b, 1), *full = BIN(MIN_S, s->hi[1], kernel_index(b, p->rows[1] / s->nr));
  kernel_for kf = kernel_for_begin(b, kernel_index(b, 0), s->k_count, one, 0, NULL);
  kernel_for jf = kernel_for_begin(b, s->lo[1], full, one, 0, NULL);
  emit_coord k = emit_coord_of(BIN(ADD, s->k0, kf.iv), 1);
  emit_coord to = emit_coord_of(BIN(ADD, panel_at(c, s, 1, jf.iv), BIN(MUL, kf.iv, kernel_index(b, s->nr))), s->lanes);
  int lanes = s->lanes;
  if (p->pack_lanes[1] && p->pack_lanes[1] < lanes) lanes = p->pack_lanes[1];
  for (int r = 0; r < s->nr; r += lanes) {
    emit_coord row = emit_coord_offset(c, emit_coord_of(BIN(MUL, jf.iv, kernel_index(b, s->nr)), s->nr), r);
    emit_coord at = emit_coord_offset(c, to, r);
    row.stride = at.stride = lanes > 1 ? 1 : 0;
    kernel_value *v = kernel_splat(b, p->fetch(c, p, 1, s->batch, row, k, lanes), lanes);
    emit_store(c, s->mem[1], p->sum, at, lanes, (emit_value){v, NULL});
  }
  kernel_for_end(b, &jf, NULL);
  kernel_for_end(b, &kf, NULL);
  if (p->rows[1] % s->nr == 0) return;
  jf = kernel_for_begin(b, full, s->hi[1], one, 0, NULL);
  pack_panel(c, s, 1, jf.iv);
  kernel_for_end(b, &jf, NULL);
}

static void block_of_k(emit_ctx *c, plan *s) {
  kernel_builder *b = &c->b;
  kernel_value *one = kernel_index(b, 1);
  if (s->mode[0] == SIDE_PRIVATE) {
    kernel_for f = kernel_for_begin(b, s->lo[0], s->hi[0], one, 0, NULL);
    pack_panel(c, s, 0, f.iv);
    kernel_for_end(b, &f, NULL);
  }
  if (s->wide) pack_wide(c, s);
  kernel_for jf = kernel_for_begin(b, s->lo[1], s->hi[1], one, 0, NULL);
  if (s->mode[1] == SIDE_PRIVATE && !s->wide) pack_panel(c, s, 1, jf.iv);
  kernel_for f = kernel_for_begin(b, s->lo[0], s->hi[0], one, 0, NULL);
  multiply_panels(c, s, f.iv, jf.iv);
  if (s->k_blocks == 1) store_tile(c, s, f.iv, jf.iv, kernel_index(b, 0));
  kernel_for_end(b, &f, NULL);
  kernel_for_end(b, &jf, NULL);
}

static void all_blocks_of_k(emit_ctx *c, plan *s, int64_t sums) {
  kernel_builder *b = &c->b;
  kernel_value *zero = kernel_index(b, 0), *one = kernel_index(b, 1);
  kernel_for f = kernel_for_begin(b, zero, kernel_index(b, sums), kernel_index(b, s->lanes), 0, NULL);
  kernel_store(b, s->tile, f.iv, zero_of(b, s->p, s->lanes), s->lanes, NULL);
  kernel_for_end(b, &f, NULL);
  kernel_for kf = kernel_for_begin(b, zero, kernel_index(b, s->k_blocks), one, 0, NULL);
  s->k0 = BIN(MUL, kf.iv, kernel_index(b, s->kc));
  s->k_count = kernel_index(b, s->kc);
  if (s->p->k % s->kc) s->k_count = BIN(MIN_S, s->k_count, BIN(SUB, kernel_index(b, s->p->k), s->k0));
  block_of_k(c, s);
  kernel_for_end(b, &kf, NULL);
  kernel_for jf = kernel_for_begin(b, s->lo[1], s->hi[1], one, 0, NULL);
  f = kernel_for_begin(b, s->lo[0], s->hi[0], one, 0, NULL);
  store_tile(c, s, f.iv, jf.iv, tile_at(c, s, f.iv, jf.iv));
  kernel_for_end(b, &f, NULL);
  kernel_for_end(b, &jf, NULL);
}

static lemnos_status packed(emit_ctx *c, plan *s) {
  const matmul *p = s->p;
  kernel_builder *b = &c->b;
  choose_depth(c, s);
  choose_blocks(c, s);
  if (p->k_vectors[0]) {  // odd numbers of cache lines
    int64_t line = larger(1, 64 / bytes_of(s)), lines = divide_up(s->mode[0] == SIDE_SHARED ? p->k : s->kc, line);
    s->a_stride = (lines | 1) * line;
  }
  for (int side = 1; side >= 0; side--)
    if (s->mode[side] == SIDE_SHARED) LEMNOS_TRY(pack_all(c, s, side));
  emit_kernel_begin(c, "", p->batch * s->blocks[0] * s->blocks[1], KERNEL_I64);
  int64_t sums = (int64_t)s->mr * s->nr * (s->k_blocks > 1 ? s->most[0] * s->most[1] : 1);
  s->tile = private_array(c, p, s->lanes, sums);
  int64_t room[2] = {s->most[0] * panel_elements(s, 0, s->kc), s->kc * s->nr * (s->wide ? s->most[1] : 1)};
  for (int side = 0; side < 2; side++)
    s->mem[side] =
        s->mode[side] == SIDE_SHARED ? scratch_mem(c, s, side) : private_array(c, p, side ? s->lanes : 1, room[side]);
  kernel_value *i, *j;
  split_item(c, p, s->blocks[1], s->blocks[0], &s->batch, &j, &i);
  block_range(c, s, 0, i);
  block_range(c, s, 1, j);
  s->k0 = kernel_index(b, 0), s->k_count = kernel_index(b, p->k);
  if (s->k_blocks == 1)
    block_of_k(c, s);
  else
    all_blocks_of_k(c, s, sums);
  double work = (double)s->most[0] * (double)s->most[1] * (double)p->k * s->mr * s->nv;
  c->k->grain = (int32_t)larger(1, (int64_t)(10000 / (work + 1)));
  return emit_kernel_end(c);
}

// --- few rows, B read in place along n -----------------------------------------------------------

static void stream_columns(emit_ctx *c, const plan *s, kernel_value *a_base, kernel_value *b_base, kernel_value *n0,
                           int64_t multiple, int nv, int lanes) {
  kernel_builder *b = &c->b;
  const matmul *p = s->p;
  kernel_value *acc[256];
  int n = s->mr * nv;
  for (int a = 0; a < n; a++) acc[a] = zero_of(b, p, lanes);
  bool direct = s->mode[0] == SIDE_DIRECT;
  kernel_tile t = {.a = s->mem[0],
                   .b = s->mem[1],
                   .m = s->mr,
                   .nv = nv,
                   .lanes = lanes,
                   .a_stride_m = direct ? p->direct[0].row_stride : 1,
                   .a_stride_k = direct ? p->direct[0].k_stride : s->mr,
                   .b_stride_k = p->direct[1].k_stride,
                   .k_unroll = n > 8 ? 2 : 4};
  t.k_multiple = p->k % t.k_unroll == 0;
  kernel_value **out = tile_fma(c, &t, a_base, BIN(ADD, b_base, n0), kernel_index(b, p->k), acc);
  for (int a = 0; a < n; a++) kernel_store(b, s->tile, kernel_index(b, (int64_t)a * lanes), out[a], lanes, NULL);
  kernel_value *zero = kernel_index(b, 0);
  store_rows(c, s, zero, (int64_t)nv * lanes, zero, kernel_index(b, s->mr), emit_coord_of(n0, multiple),
             (int64_t)nv * lanes, lanes);
}

// The same for very few rows and many columns: whole rows of B are what memory delivers best, so sums stay in a private
// array (in L1) and a few rows of B at a time run along all columns lo .. hi.
static void stream_rows(emit_ctx *c, const plan *s, kernel_value *a_base, kernel_value *b_base, kernel_value *lo,
                        kernel_value *hi, int64_t k_lo, int64_t k_hi, int depth) {
  kernel_builder *b = &c->b;
  const matmul *p = s->p;
  int m = (int)p->rows[0];
  bool direct = s->mode[0] == SIDE_DIRECT;
  int64_t stride_m = direct ? p->direct[0].row_stride : 1, stride_k = direct ? p->direct[0].k_stride : s->mr;
  if (k_lo >= k_hi) return;
  kernel_for kf = kernel_for_begin(b, kernel_index(b, k_lo), kernel_index(b, k_hi), kernel_index(b, depth), 0, NULL);
  kernel_value *a[64];
  for (int i = 0; i < m * depth; i++) {
    kernel_value *at = BIN(ADD, a_base, BIN(MUL, kf.iv, kernel_index(b, stride_k)));
    at = BIN(ADD, at, kernel_index(b, i / depth * stride_m + i % depth * stride_k));
    a[i] = kernel_load(b, s->mem[0], at, 1, 1, NULL);
    if (a[i]->type.scalar != p->scalar) a[i] = kernel_conv(b, KERNEL_OP_FLOAT_CONVERT, a[i], p->scalar);
    a[i] = kernel_splat(b, a[i], s->lanes);
  }
  kernel_value *row = BIN(ADD, b_base, BIN(MUL, kf.iv, kernel_index(b, p->direct[1].k_stride)));
  kernel_for f = kernel_for_begin(b, lo, hi, kernel_index(b, s->lanes), 0, NULL);
  kernel_value *at = BIN(ADD, row, f.iv), *x[16];
  for (int u = 0; u < depth; u++) {
    x[u] = kernel_load(b, s->mem[1], BIN(ADD, at, kernel_index(b, u * p->direct[1].k_stride)), s->lanes, 1, NULL);
    if (x[u]->type.scalar != p->scalar) x[u] = kernel_conv(b, KERNEL_OP_FLOAT_CONVERT, x[u], p->scalar);
  }
  for (int i = 0; i < m; i++) {
    kernel_value *to = BIN(ADD, BIN(SUB, f.iv, lo), kernel_index(b, i * s->kc));  // kc: columns of an item here
    kernel_value *acc = kernel_load(b, s->tile, to, s->lanes, s->lanes, NULL);
    for (int u = 0; u < depth; u++) acc = matmul_multiply_add(b, a[i * depth + u], x[u], acc);
    kernel_store(b, s->tile, to, acc, s->lanes, NULL);
  }
  kernel_for_end(b, &f, NULL);
  kernel_for_end(b, &kf, NULL);
}

static void stream_whole_rows(emit_ctx *c, const plan *s, kernel_value *a_base, kernel_value *b_base, kernel_value *lo,
                              kernel_value *hi) {
  kernel_builder *b = &c->b;
  const matmul *p = s->p;
  int m = (int)p->rows[0], depth = (c->t->vector_registers >= 32 ? 16 : 8) / (m < 2 ? 2 : m);
  kernel_value *zero = kernel_index(b, 0), *step = kernel_index(b, s->lanes);
  kernel_for z = kernel_for_begin(b, zero, kernel_index(b, m * s->kc), step, 0, NULL);
  kernel_store(b, s->tile, z.iv, zero_of(b, p, s->lanes), s->lanes, NULL);
  kernel_for_end(b, &z, NULL);
  int64_t bulk = p->k / depth * depth;
  stream_rows(c, s, a_base, b_base, lo, hi, 0, bulk, depth);
  stream_rows(c, s, a_base, b_base, lo, hi, bulk, p->k, 1);
  for (int i = 0; i < m; i++) {
    kernel_for f = kernel_for_begin(b, lo, hi, step, 0, NULL);
    kernel_value *at = BIN(ADD, BIN(SUB, f.iv, lo), kernel_index(b, i * s->kc));
    emit_coord n = emit_coord_of(f.iv, s->lanes);
    n.stride = s->lanes > 1 ? 1 : 0;
    p->store(c, p, s->batch, emit_coord_const(c, i), n, s->lanes,
             kernel_load(b, s->tile, at, s->lanes, s->lanes, NULL));
    kernel_for_end(b, &f, NULL);
  }
}

static int stream_width(const emit_ctx *c, const plan *s) {
  int registers = c->t->vector_registers >= 32 ? 32 : 16, nv = (registers - 2) / (s->mr + 1);
  if (nv > 8) nv = 8;
  nv = (int)smaller(nv, s->p->rows[1] / s->lanes);
  return nv < 1 ? 1 : nv;
}

static lemnos_status stream(emit_ctx *c, plan *s) {
  const matmul *p = s->p;
  kernel_builder *b = &c->b;
  s->mr = (int)p->rows[0];
  s->lanes = piece(p->rows[1], c->t->vector_bytes / (int)bytes_of(s));
  int nv = stream_width(c, s);
  int64_t strip = (int64_t)nv * s->lanes;
  bool wide = p->rows[0] <= 4 && p->rows[1] >= 16 * s->lanes && p->k >= 16;
  if (wide) {
    int64_t threads = c->t->threads > 1 ? c->t->threads : 1, most = c->t->l1_bytes / 2 / (p->rows[0] * bytes_of(s));
    strip = smaller(most, p->rows[1] / (threads > 1 ? 2 * threads : 1));
    strip = larger(strip / s->lanes, 8) * s->lanes;
    s->kc = strip;
  }
  int64_t strips = p->rows[1] / strip, rest = p->rows[1] % strip;
  s->width[0] = s->mr, s->panels[0] = 1;
  s->mode[0] = p->direct[0].ok ? SIDE_DIRECT : SIDE_SHARED;
  if (s->mode[0] == SIDE_SHARED) LEMNOS_TRY(pack_all(c, s, 0));
  int64_t items = strips + (rest > 0);
  emit_kernel_begin(c, "", p->batch * items, KERNEL_I64);
  s->tile = private_array(c, p, s->lanes, s->mr * strip);
  kernel_value *n, *none, *a_base;
  split_item(c, p, items, 1, &s->batch, &n, &none);
  s->k0 = kernel_index(b, 0), s->lo[0] = s->k0;
  if (s->mode[0] == SIDE_DIRECT)
    a_base = p->base(c, p, 0, s->batch, &s->mem[0]);
  else
    s->mem[0] = scratch_mem(c, s, 0), a_base = panel_at(c, s, 0, kernel_index(b, 0));
  kernel_value *b_base = p->base(c, p, 1, s->batch, &s->mem[1]);
  kernel_if f;
  if (rest) f = kernel_if_begin(b, BIN(LT_S, n, kernel_index(b, strips)), 0, NULL);
  kernel_value *n0 = BIN(MUL, n, kernel_index(b, strip));
  if (wide)
    stream_whole_rows(c, s, a_base, b_base, n0, BIN(ADD, n0, kernel_index(b, strip)));
  else
    stream_columns(c, s, a_base, b_base, n0, strip, nv, s->lanes);
  if (rest) {
    kernel_if_else(b, &f, NULL);
    int64_t at = strips * strip;
    if (wide && rest >= s->lanes) {
      int64_t end = p->rows[1] / s->lanes * s->lanes;
      stream_whole_rows(c, s, a_base, b_base, kernel_index(b, at), kernel_index(b, end));
      at = end;
    }
    while (at < p->rows[1]) {
      int whole = (int)((p->rows[1] - at) / s->lanes), lanes = whole ? s->lanes : piece(p->rows[1] - at, s->lanes);
      stream_columns(c, s, a_base, b_base, kernel_index(b, at), 1, whole ? whole : 1, lanes);
      at += (int64_t)(whole ? whole : 1) * lanes;
    }
    kernel_if_end(b, &f, NULL);
  }
  double work = (double)p->k * (double)strip * s->mr / s->lanes;
  c->k->grain = (int32_t)larger(1, (int64_t)(5000 / (work + 1)));
  return emit_kernel_end(c);
}

// --- few rows, both contiguous along k -----------------------------------------------------------

static void inner_loop(emit_ctx *c, const plan *s, kernel_value *n0, int count, int64_t lo, int64_t hi, int lanes,
                       kernel_value **acc) {
  kernel_builder *b = &c->b;
  const matmul *p = s->p;
  int m = (int)p->rows[0];
  if (lo >= hi) return;
  kernel_for f = kernel_for_begin(b, kernel_index(b, lo), kernel_index(b, hi), kernel_index(b, lanes), m * count, acc);
  emit_coord k = emit_coord_of(f.iv, lanes);
  k.stride = lanes > 1 ? 1 : 0;
  kernel_value *rows[16], *next[64];
  for (int i = 0; i < m; i++)
    rows[i] = kernel_splat(b, p->fetch(c, p, 0, s->batch, emit_coord_const(c, i), k, lanes), lanes);
  for (int u = 0; u < count; u++) {
    emit_coord n = emit_coord_of(BIN(ADD, n0, kernel_index(b, u)), 1);
    kernel_value *x = kernel_splat(b, p->fetch(c, p, 1, s->batch, n, k, lanes), lanes);
    for (int i = 0; i < m; i++) next[i * count + u] = matmul_multiply_add(b, rows[i], x, f.args[i * count + u]);
  }
  kernel_for_end(b, &f, next);
  memcpy(acc, f.results, sizeof *acc * (size_t)(m * count));
}

static void inner_columns(emit_ctx *c, const plan *s, kernel_value *n0, int count) {
  kernel_builder *b = &c->b;
  const matmul *p = s->p;
  int m = (int)p->rows[0];
  int64_t bulk = p->k / s->lanes * s->lanes;
  kernel_value *acc[64];
  for (int i = 0; i < m * count; i++) acc[i] = zero_of(b, p, s->lanes);
  inner_loop(c, s, n0, count, 0, bulk, s->lanes, acc);
  for (int i = 0; i < m * count; i++) acc[i] = kernel_reduce(b, KERNEL_OP_REDUCE_ADD, acc[i]);
  if (s->lanes > 1) inner_loop(c, s, n0, count, bulk, p->k, 1, acc);
  for (int i = 0; i < m * count; i++) kernel_store(b, s->tile, kernel_index(b, i), acc[i], 1, NULL);
  kernel_value *zero = kernel_index(b, 0);
  store_rows(c, s, zero, count, zero, kernel_index(b, m), emit_coord_of(n0, count), count, s->lanes);
}

static lemnos_status inner(emit_ctx *c, plan *s) {
  const matmul *p = s->p;
  kernel_builder *b = &c->b;
  s->lanes = piece(p->k, c->t->vector_bytes / (int)bytes_of(s));
  int registers = c->t->vector_registers >= 32 ? 24 : 10, count = 8;
  while (count > 1 && (count * p->rows[0] > registers || count > p->rows[1])) count /= 2;
  int64_t groups = p->rows[1] / count, rest = p->rows[1] % count, items = groups + (rest > 0);
  emit_kernel_begin(c, "", p->batch * items, KERNEL_I64);
  s->tile = private_array(c, p, 1, p->rows[0] * count);
  kernel_value *n, *none;
  split_item(c, p, items, 1, &s->batch, &n, &none);
  kernel_if f;
  if (rest) f = kernel_if_begin(b, BIN(LT_S, n, kernel_index(b, groups)), 0, NULL);
  inner_columns(c, s, BIN(MUL, n, kernel_index(b, count)), count);
  if (rest) {
    kernel_if_else(b, &f, NULL);
    int64_t at = groups * count;
    for (int u = count; at < p->rows[1]; at += u) {
      u = piece(p->rows[1] - at, u);
      inner_columns(c, s, kernel_index(b, at), u);
    }
    kernel_if_end(b, &f, NULL);
  }
  double work = (double)p->k * count * (double)p->rows[0] / s->lanes;
  c->k->grain = (int32_t)larger(1, (int64_t)(5000 / (work + 1)));
  return emit_kernel_end(c);
}

// --- choice --------------------------------------------------------------------------------------

lemnos_status matmul_emit(emit_ctx *c, const matmul *p) {
  plan s = {.p = p};
  choose_tile(c, &s);
  int64_t b_bytes = p->rows[1] * p->k * bytes_of(&s), l2 = c->t->l2_bytes > 0 ? c->t->l2_bytes : 256 << 10;
  bool few = p->rows[0] <= 4 || (p->rows[0] <= register_rows(c, 2) && b_bytes <= l2);
  if (few && p->direct[1].ok && (p->direct[1].row_stride == 1 || p->rows[1] == 1)) return stream(c, &s);
  if (p->rows[0] <= 4 && p->k_vectors[0] && p->k_vectors[1]) return inner(c, &s);
  return packed(c, &s);
}
