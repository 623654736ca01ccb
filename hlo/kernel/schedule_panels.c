// SPDX-License-Identifier: Apache-2.0
// The packed matrix product of CPUs (after Goto and van de Geijn), given how elements are fetched and where sums go.
//
// An item computes a block of MB x NB results of one batch. It copies its rows of A to a private array (row by row, padded
// against cache set conflicts), then for each panel of NR columns copies B (k by k, NR columns together) and runs the microkernel
// (TILE_FMA: MR x NV vectors of accumulators in registers) down the rows:
//
//     PA [MB][K + pad]     PB [K][NR]     CT [MR][NR]: sums, from which the epilogue reads rows
//
// Long k is split in blocks of KC; then CT holds the whole MB x NB block of partial sums. Rows and columns beyond the edge repeat
// the last one and are not stored. For each result the order of summation is ascending k.
#include "hlo/kernel/dot.h"

#define BIN(op, x, y) kernel_bin(b, KERNEL_OP_##op, (x), (y))

typedef struct blocks {
  const panel_product *p;
  int lanes, mr, nv, nr;
  int64_t mb, nb, kc, kp;        // rows and columns of an item, k of a block, stride of PA
  int64_t row_blocks, col_blocks, k_blocks;
  kernel_mem pa, pb, ct;
  // values of the item
  emit_coord batch;
  kernel_value *i0, *j0, *row_panels, *col_panels, *k0, *k_count;
} blocks;

static int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

static void choose_tile(emit_ctx *c, blocks *s) {
  const panel_product *p = s->p;
  bool many = c->t->vector_registers >= 32;
  int most = many ? 14 : 6;
  s->lanes = c->t->vector_bytes / kernel_scalar_table[p->scalar].bytes;
  if (s->lanes < 1) s->lanes = 1;
  s->nv = p->n > s->lanes ? 2 : 1;
  while (s->lanes > 1 && s->lanes / 2 >= p->n) s->lanes /= 2;
  int64_t best = INT64_MAX;
  for (int mr = most; mr >= (most + 1) / 2 && mr >= 1; mr--) {  // fewest padded rows, then the tallest
    int64_t rows = round_up(p->m, mr);
    if (rows < best) best = rows, s->mr = mr;
  }
  if (p->m < most) s->mr = (int)p->m;
  s->nr = s->nv * s->lanes;
}

static void choose_blocks(emit_ctx *c, blocks *s) {
  const panel_product *p = s->p;
  int64_t bytes = kernel_scalar_table[p->scalar].bytes, l2 = c->t->l2_bytes > 0 ? c->t->l2_bytes : 256 << 10;
  int64_t kc = l2 >= (1 << 20) ? 512 : 256;
  s->kc = p->n_k_dims == 1 && p->k > kc + kc / 2 ? kc : p->k;
  s->k_blocks = (p->k + s->kc - 1) / s->kc;
  s->kp = round_up(s->kc, 64 / bytes) + 64 / bytes;
  s->mb = l2 * 11 / 20 / (s->kp * bytes) / s->mr * s->mr;
  if (s->mb < s->mr) s->mb = s->mr;
  int64_t row_blocks = (p->m + s->mb - 1) / s->mb;
  s->mb = round_up((p->m + row_blocks - 1) / row_blocks, s->mr);
  int64_t target = 256;
  s->nb = round_up(target, s->nr);
  if (s->nb > round_up(p->n, s->nr)) s->nb = round_up(p->n, s->nr);
  // Enough items to share: split columns, then rows, while pieces stay worth packing for.
  double work = (double)p->m * (double)p->n * (double)p->k * (double)p->batch;
  for (;;) {
    s->row_blocks = (p->m + s->mb - 1) / s->mb, s->col_blocks = (p->n + s->nb - 1) / s->nb;
    int64_t items = p->batch * s->row_blocks * s->col_blocks;
    if (items >= 8 || work / (double)items < 1 << 18) break;
    if (s->nb > 4 * s->nr || (s->nb > s->nr && s->mb <= 2 * s->mr)) s->nb = round_up(s->nb / 2, s->nr);
    else if (s->mb > 2 * s->mr) s->mb = round_up(s->mb / 2, s->mr);
    else break;
  }
}

// --- packing -----------------------------------------------------------------------------------------------------------------

typedef struct k_nest {
  kernel_for loops[64];
  emit_coord at[64];   // coordinates of the k dimensions but the last
  kernel_value *linear;  // of those, times the last dimension's size
} k_nest;

static void k_outer_begin(emit_ctx *c, const blocks *s, k_nest *n) {
  kernel_builder *b = &c->b;
  n->linear = kernel_index(b, 0);
  for (int d = 0; d + 1 < s->p->n_k_dims; d++) {
    n->loops[d] = kernel_for_begin(b, kernel_index(b, 0), kernel_index(b, s->p->k_dims[d]), kernel_index(b, 1), 0, NULL);
    n->at[d] = emit_coord_of(n->loops[d].iv, 1);
    n->linear = BIN(ADD, BIN(MUL, n->linear, kernel_index(b, s->p->k_dims[d])), n->loops[d].iv);
  }
  n->linear = BIN(MUL, n->linear, kernel_index(b, s->p->k_dims[s->p->n_k_dims - 1]));
}

static void k_outer_end(emit_ctx *c, const blocks *s, k_nest *n) {
  for (int d = s->p->n_k_dims - 2; d >= 0; d--) kernel_for_end(&c->b, &n->loops[d], NULL);
}

// How many of the innermost k are in this block, and where they begin.
static kernel_value *k_inner_count(emit_ctx *c, const blocks *s) {
  return s->p->n_k_dims == 1 ? s->k_count : kernel_index(&c->b, s->p->k_dims[s->p->n_k_dims - 1]);
}

static void set_k(emit_ctx *c, const blocks *s, k_nest *n, kernel_value *k, int lanes) {
  kernel_builder *b = &c->b;
  emit_coord at = emit_coord_of(s->p->n_k_dims == 1 ? BIN(ADD, s->k0, k) : k, lanes);
  at.stride = lanes > 1 ? 1 : 0;
  n->at[s->p->n_k_dims - 1] = at;
}

typedef void (*k_body)(emit_ctx *c, const blocks *s, k_nest *n, kernel_value *k, int lanes, void *user);

// The innermost k: vectors while they fit, then single ones.
static void k_inner(emit_ctx *c, const blocks *s, k_nest *n, int lanes, k_body body, void *user) {
  kernel_builder *b = &c->b;
  kernel_value *count = k_inner_count(c, s), *zero = kernel_index(b, 0);
  int64_t size = s->p->k_dims[s->p->n_k_dims - 1];
  bool whole = lanes == 1 || (size % lanes == 0 && s->kc % lanes == 0);
  kernel_value *bulk = whole ? count : BIN(SUB, count, BIN(REM_U, count, kernel_index(b, lanes)));
  kernel_for f = kernel_for_begin(b, zero, bulk, kernel_index(b, lanes), 0, NULL);
  set_k(c, s, n, f.iv, lanes);
  body(c, s, n, f.iv, lanes, user);
  kernel_for_end(b, &f, NULL);
  if (whole) return;
  f = kernel_for_begin(b, bulk, count, kernel_index(b, 1), 0, NULL);
  set_k(c, s, n, f.iv, 1);
  body(c, s, n, f.iv, 1, user);
  kernel_for_end(b, &f, NULL);
}

typedef struct row_state {
  kernel_value *base;   // of the row in PA
  emit_coord m;
} row_state;

static void copy_a(emit_ctx *c, const blocks *s, k_nest *n, kernel_value *k, int lanes, void *user) {
  const row_state *row = user;
  kernel_builder *b = &c->b;
  kernel_value *v = s->p->fetch_a(c, s->p->user, s->batch, row->m, n->at, lanes);
  kernel_value *at = BIN(ADD, BIN(ADD, row->base, n->linear), k);
  kernel_store(b, s->pa, at, kernel_splat(b, v, lanes), 1, NULL);
}

static void pack_a(emit_ctx *c, const blocks *s) {
  kernel_builder *b = &c->b;
  kernel_value *rows = BIN(MUL, s->row_panels, kernel_index(b, s->mr));
  kernel_for f = kernel_for_begin(b, kernel_index(b, 0), rows, kernel_index(b, 1), 0, NULL);
  kernel_value *m = BIN(ADD, s->i0, f.iv);
  if (s->p->m % s->mr) m = BIN(MIN_S, m, kernel_index(b, s->p->m - 1));
  row_state row = {BIN(MUL, f.iv, kernel_index(b, s->kp)), emit_coord_of(m, 1)};
  k_nest n;
  k_outer_begin(c, s, &n);
  k_inner(c, s, &n, s->p->a_k_vectors ? s->lanes : 1, copy_a, &row);
  k_outer_end(c, s, &n);
  kernel_for_end(b, &f, NULL);
}

typedef struct panel_state {
  kernel_value *j;      // first column of the panel
  bool whole;           // all columns exist
} panel_state;

static kernel_value *panel_at(emit_ctx *c, const blocks *s, k_nest *n, kernel_value *k, int64_t column) {
  kernel_builder *b = &c->b;
  return BIN(ADD, BIN(MUL, BIN(ADD, n->linear, k), kernel_index(b, s->nr)), kernel_index(b, column));
}

// One k, all columns by vectors along n.
static void copy_b_row(emit_ctx *c, const blocks *s, k_nest *n, kernel_value *k, int lanes, void *user) {
  const panel_state *panel = user;
  for (int v = 0; v < s->nv; v++) {
    emit_coord j = emit_coord_offset(c, emit_coord_of(panel->j, s->nr), (int64_t)v * s->lanes);
    j.stride = s->lanes > 1 ? 1 : 0;
    kernel_value *x = kernel_splat(&c->b, s->p->fetch_b(c, s->p->user, s->batch, n->at, j, s->lanes), s->lanes);
    kernel_store(&c->b, s->pb, panel_at(c, s, n, k, (int64_t)v * s->lanes), x, s->lanes, NULL);
  }
}

static emit_coord clamped_column(emit_ctx *c, const blocks *s, kernel_value *j) {
  kernel_builder *b = &c->b;
  return emit_coord_of(BIN(MIN_S, j, kernel_index(b, s->p->n - 1)), 1);
}

// One k, one column after the other (the panel at the edge).
static void copy_b_scalars(emit_ctx *c, const blocks *s, k_nest *n, kernel_value *k, int lanes, void *user) {
  const panel_state *panel = user;
  kernel_builder *b = &c->b;
  kernel_for f = kernel_for_begin(b, kernel_index(b, 0), kernel_index(b, s->nr), kernel_index(b, 1), 0, NULL);
  emit_coord j = clamped_column(c, s, BIN(ADD, panel->j, f.iv));
  kernel_value *x = s->p->fetch_b(c, s->p->user, s->batch, n->at, j, 1);
  kernel_store(b, s->pb, BIN(ADD, panel_at(c, s, n, k, 0), f.iv), x, 1, NULL);
  kernel_for_end(b, &f, NULL);
}

// `lanes` k by as many columns at a time: vectors along k, transposed in registers.
static void copy_b_blocks(emit_ctx *c, const blocks *s, k_nest *n, kernel_value *k, int lanes, void *user) {
  const panel_state *panel = user;
  kernel_builder *b = &c->b;
  if (lanes == 1) {
    copy_b_scalars(c, s, n, k, 1, user);
    return;
  }
  for (int v = 0; v < s->nv; v++) {
    kernel_value *x[64];
    for (int l = 0; l < lanes; l++) {
      kernel_value *j = BIN(ADD, panel->j, kernel_index(b, (int64_t)v * lanes + l));
      emit_coord at = panel->whole ? emit_coord_of(j, 1) : clamped_column(c, s, j);
      x[l] = kernel_splat(b, s->p->fetch_b(c, s->p->user, s->batch, n->at, at, lanes), lanes);
    }
    emit_transpose(c, x, lanes);
    for (int l = 0; l < lanes; l++) {
      kernel_value *row = BIN(ADD, k, kernel_index(b, l));
      kernel_store(b, s->pb, panel_at(c, s, n, row, (int64_t)v * lanes), x[l], lanes, NULL);
    }
  }
}

static void pack_b(emit_ctx *c, const blocks *s, kernel_value *j) {
  kernel_builder *b = &c->b;
  bool edge = s->p->n % s->nr != 0;
  panel_state panel = {j, !edge};
  k_nest n;
  if (!s->p->b_n_vectors) {
    k_outer_begin(c, s, &n);
    k_inner(c, s, &n, s->p->b_k_vectors ? s->lanes : 1, s->p->b_k_vectors ? copy_b_blocks : copy_b_scalars, &panel);
    k_outer_end(c, s, &n);
    return;
  }
  kernel_if f;
  if (edge) f = kernel_if_begin(b, BIN(LE_S, BIN(ADD, j, kernel_index(b, s->nr)), kernel_index(b, s->p->n)), 0, NULL);
  k_outer_begin(c, s, &n);
  k_inner(c, s, &n, 1, copy_b_row, &panel);
  k_outer_end(c, s, &n);
  if (!edge) return;
  kernel_if_else(b, &f, NULL);
  k_outer_begin(c, s, &n);
  k_inner(c, s, &n, 1, copy_b_scalars, &panel);
  k_outer_end(c, s, &n);
  kernel_if_end(b, &f, NULL);
}

// --- computing and storing ----------------------------------------------------------------------------------------------------

static void store_tile(emit_ctx *c, const blocks *s, kernel_value *tile, kernel_value *i, kernel_value *j) {
  kernel_builder *b = &c->b;
  const panel_product *p = s->p;
  kernel_value *rows = kernel_index(b, s->mr), *cols = kernel_index(b, s->nr), *zero = kernel_index(b, 0);
  if (p->m % s->mr) rows = BIN(MIN_S, rows, BIN(SUB, kernel_index(b, p->m), i));
  if (p->n % s->nr) cols = BIN(MIN_S, cols, BIN(SUB, kernel_index(b, p->n), j));
  kernel_for r = kernel_for_begin(b, zero, rows, kernel_index(b, 1), 0, NULL);
  emit_coord m = emit_coord_of(BIN(ADD, i, r.iv), 1);
  kernel_value *row = BIN(ADD, tile, BIN(MUL, r.iv, kernel_index(b, s->nr)));
  kernel_value *bulk = p->n % s->lanes ? BIN(SUB, cols, BIN(REM_U, cols, kernel_index(b, s->lanes))) : cols;
  kernel_for f = kernel_for_begin(b, zero, bulk, kernel_index(b, s->lanes), 0, NULL);
  emit_coord n = emit_coord_add(c, emit_coord_of(j, s->nr), emit_coord_of(f.iv, s->lanes), s->lanes);
  n.stride = s->lanes > 1 ? 1 : 0;
  p->store(c, p->user, s->batch, m, n, s->lanes, kernel_load(b, s->ct, BIN(ADD, row, f.iv), s->lanes, s->lanes, NULL));
  kernel_for_end(b, &f, NULL);
  if (p->n % s->lanes) {
    f = kernel_for_begin(b, bulk, cols, kernel_index(b, 1), 0, NULL);
    n = emit_coord_of(BIN(ADD, j, f.iv), 1);
    p->store(c, p->user, s->batch, m, n, 1, kernel_load(b, s->ct, BIN(ADD, row, f.iv), 1, 1, NULL));
    kernel_for_end(b, &f, NULL);
  }
  kernel_for_end(b, &r, NULL);
}

static kernel_value *tile_at(emit_ctx *c, const blocks *s, kernel_value *jp, kernel_value *ip) {
  kernel_builder *b = &c->b;
  if (s->k_blocks == 1) return kernel_index(b, 0);
  kernel_value *number = BIN(ADD, BIN(MUL, jp, kernel_index(b, s->mb / s->mr)), ip);
  return BIN(MUL, number, kernel_index(b, (int64_t)s->mr * s->nr));
}

static void compute_tile(emit_ctx *c, const blocks *s, kernel_value *jp, kernel_value *ip) {
  kernel_builder *b = &c->b;
  kernel_value *tile = tile_at(c, s, jp, ip), *acc[64];
  for (int i = 0; i < s->mr * s->nv; i++) {
    kernel_value *at = BIN(ADD, tile, kernel_index(b, (int64_t)i * s->lanes));
    acc[i] = s->k_blocks > 1 ? kernel_load(b, s->ct, at, s->lanes, s->lanes, NULL)
                             : kernel_splat(b, kernel_float(b, s->p->scalar, 0), s->lanes);
  }
  int unroll = s->mr * s->nv > 16 ? 2 : 4;
  kernel_tile t = {.a = s->pa, .b = s->pb, .m = s->mr, .nv = s->nv, .lanes = s->lanes, .a_stride_m = s->kp,
                   .a_stride_k = 1, .b_stride_k = s->nr, .k_unroll = unroll,
                   .k_multiple = s->p->k % unroll == 0 && s->kc % unroll == 0};
  kernel_value *a_base = BIN(MUL, ip, kernel_index(b, s->mr * s->kp));
  kernel_value **out = dot_tile(c, &t, a_base, kernel_index(b, 0), s->k_count, acc);
  for (int i = 0; i < s->mr * s->nv; i++)
    kernel_store(b, s->ct, BIN(ADD, tile, kernel_index(b, (int64_t)i * s->lanes)), out[i], s->lanes, NULL);
}

static kernel_value *panel_start(kernel_builder *b, kernel_value *first, kernel_value *panel, int size) {
  return BIN(ADD, first, BIN(MUL, panel, kernel_index(b, size)));
}

static void block_of_k(emit_ctx *c, blocks *s) {
  kernel_builder *b = &c->b;
  kernel_value *zero = kernel_index(b, 0), *one = kernel_index(b, 1);
  pack_a(c, s);
  kernel_for jf = kernel_for_begin(b, zero, s->col_panels, one, 0, NULL);
  kernel_value *j = panel_start(b, s->j0, jf.iv, s->nr);
  pack_b(c, s, j);
  kernel_for f = kernel_for_begin(b, zero, s->row_panels, one, 0, NULL);
  compute_tile(c, s, jf.iv, f.iv);
  if (s->k_blocks == 1) store_tile(c, s, zero, panel_start(b, s->i0, f.iv, s->mr), j);
  kernel_for_end(b, &f, NULL);
  kernel_for_end(b, &jf, NULL);
}

static void clear_sums(emit_ctx *c, const blocks *s) {
  kernel_builder *b = &c->b;
  kernel_for f = kernel_for_begin(b, kernel_index(b, 0), kernel_index(b, s->mb * s->nb), kernel_index(b, s->lanes), 0, NULL);
  kernel_store(b, s->ct, f.iv, kernel_splat(b, kernel_float(b, s->p->scalar, 0), s->lanes), s->lanes, NULL);
  kernel_for_end(b, &f, NULL);
}

static void all_blocks_of_k(emit_ctx *c, blocks *s) {
  kernel_builder *b = &c->b;
  kernel_value *zero = kernel_index(b, 0), *one = kernel_index(b, 1);
  clear_sums(c, s);
  kernel_for kf = kernel_for_begin(b, zero, kernel_index(b, s->k_blocks), one, 0, NULL);
  s->k0 = BIN(MUL, kf.iv, kernel_index(b, s->kc));
  s->k_count = kernel_index(b, s->kc);
  if (s->p->k % s->kc) s->k_count = BIN(MIN_S, s->k_count, BIN(SUB, kernel_index(b, s->p->k), s->k0));
  block_of_k(c, s);
  kernel_for_end(b, &kf, NULL);
  kernel_for jf = kernel_for_begin(b, zero, s->col_panels, one, 0, NULL);
  kernel_for f = kernel_for_begin(b, zero, s->row_panels, one, 0, NULL);
  store_tile(c, s, tile_at(c, s, jf.iv, f.iv), panel_start(b, s->i0, f.iv, s->mr), panel_start(b, s->j0, jf.iv, s->nr));
  kernel_for_end(b, &f, NULL);
  kernel_for_end(b, &jf, NULL);
}

// Panels from `first` on that hold anything: all of a block, or those up to the edge.
static kernel_value *panels(kernel_builder *b, int64_t total, int64_t block, int panel, kernel_value *first) {
  if (total % block == 0) return kernel_index(b, block / panel);
  kernel_value *left = BIN(SUB, kernel_index(b, total + panel - 1), first);
  return BIN(MIN_S, kernel_index(b, block / panel), BIN(DIV_U, left, kernel_index(b, panel)));
}

lemnos_status emit_panel_product(emit_ctx *c, const panel_product *p) {
  blocks s = {.p = p};
  kernel_builder *b = &c->b;
  choose_tile(c, &s);
  choose_blocks(c, &s);
  emit_kernel_begin(c, "", p->batch * s.row_blocks * s.col_blocks, emit_index_type(c));
  s.pa = kernel_array_mem(c->k, kernel_add_array(c->k, KERNEL_PRIVATE, p->scalar, s.lanes, s.mb * s.kp));
  s.pb = kernel_array_mem(c->k, kernel_add_array(c->k, KERNEL_PRIVATE, p->scalar, s.lanes, s.kc * s.nr));
  int64_t sums = s.k_blocks == 1 ? (int64_t)s.mr * s.nr : s.mb * s.nb;
  s.ct = kernel_array_mem(c->k, kernel_add_array(c->k, KERNEL_PRIVATE, p->scalar, s.lanes, sums));
  emit_coord item = emit_coord_of(kernel_item(b), 1), rest, row, col;
  if (p->batch * s.row_blocks * s.col_blocks == 1) item = emit_coord_const(c, 0);
  emit_coord_divide(c, item, s.row_blocks, 1, &rest, &row);
  emit_coord_divide(c, rest, s.col_blocks, 1, &s.batch, &col);
  if (p->batch == 1) s.batch = emit_coord_const(c, 0), col = rest;
  s.i0 = BIN(MUL, row.base, kernel_index(b, s.mb));
  s.j0 = BIN(MUL, col.base, kernel_index(b, s.nb));
  s.row_panels = panels(b, p->m, s.mb, s.mr, s.i0);
  s.col_panels = panels(b, p->n, s.nb, s.nr, s.j0);
  s.k0 = kernel_index(b, 0), s.k_count = kernel_index(b, p->k);
  if (s.k_blocks == 1) block_of_k(c, &s);
  else all_blocks_of_k(c, &s);
  return emit_kernel_end(c);
}
