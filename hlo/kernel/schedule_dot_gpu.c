// SPDX-License-Identifier: Apache-2.0
// Contractions on GPUs: panels of both operands in shared memory, a register tile an invocation.
//
// A workgroup of bm/tm * bn/4nv invocations computes bm x bn results in panels of bk deep: the next panel is loaded
// into registers while this one is multiplied. Panels are kept as [k][row] and [k][col], so that both are read by
// vectors; operands that run along k are turned round when they are stored, into lines padded by a vector against bank
// conflicts. (A panel of rows kept as it comes, [row][k], takes a quarter more registers.) The k loops are one loop
// over panels; coordinates outside the operands are clamped, and values beyond the end of k replaced by zero in both
// panels.
#include "hlo/kernel/contraction.h"

#define BIN(op, x, y) kernel_bin(&c->b, KERNEL_OP_##op, (x), (y))

enum { MAX_LOADS = 8 };

typedef struct shared_tile {
  int bm, bn, bk, tm, nv;  // nv vectors of four columns an invocation
} shared_tile;

typedef struct panel {  // of one side
  const contraction_side *side;
  kernel_mem mem;
  int extent;  // rows or columns of it
  bool by_k;   // loaded by vectors along k
  int line;    // elements of a line of it, padding included
  int n;       // vectors an invocation loads
  contraction_place place[MAX_LOADS];
  kernel_value *k[MAX_LOADS];  // within the panel
  kernel_value *store[MAX_LOADS];
} panel;

typedef struct shared_body {
  emit_ctx *c;
  const contraction *p;
  shared_tile t;
  int64_t panels;  // along the last k
  panel a, b;
} shared_body;

static int64_t up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

static int threads_of(shared_tile t) {
  return t.bm / t.tm * (t.bn / (4 * t.nv));
}

static bool choose(const hlo_target *t, const contraction *p, shared_tile *out) {
  // Largest first; the next one if there would be too few workgroups to fill a GPU or most of the tile would lie
  // outside.
  static const shared_tile tiles[] = {{128, 128, 8, 8, 2}, {128, 64, 16, 8, 1}, {64, 64, 16, 4, 1}, {32, 32, 16, 4, 1}};
  for (int i = 0; i < 4; i++) {
    shared_tile x = tiles[i];
    int64_t groups = p->batch * up(p->m, x.bm) * up(p->n, x.bn);
    double used = (double)(p->batch * p->m * p->n) / ((double)groups * x.bm * x.bn);
    int threads = threads_of(x);
    int64_t bytes = 4 * (int64_t)x.bk * (x.bm + x.bn + 8);
    if (4 * x.tm * x.nv > t->acc_max || x.bk * 4 * x.tm * x.nv > t->body_max) continue;
    if (threads > t->max_workgroup || bytes > t->shared_bytes) continue;
    if (used < (i == 3 ? 0.3 : 0.6) || (i < 3 && groups < 32)) continue;
    *out = x;
    return true;
  }
  return false;
}

bool contraction_wants_shared(const emit_ctx *c, const contraction *p) {
  shared_tile t;
  int64_t k = p->k[p->n_k - 1];
  return c->t->cls == HLO_TARGET_GPU && c->t->group_ops && kernel_scalar_table[p->scalar].bytes == 4 && p->m >= 16 &&
         p->n >= 16 && k >= 8 && choose(c->t, p, &t);
}

// --- panels --------------------------------------------------------------------------------------

static void panel_init(shared_body *s, panel *x, const contraction_side *side, int extent, int64_t size,
                       emit_coord batch, kernel_value *first, kernel_value *t) {
  emit_ctx *c = s->c;
  kernel_builder *b = &c->b;
  int bk = s->t.bk, threads = threads_of(s->t);
  *x = (panel){.side = side, .extent = extent, .by_k = side->along_k, .line = extent + (side->along_k ? 4 : 0)};
  int array = kernel_add_array(c->k, KERNEL_SHARED, s->p->scalar, 4, (int64_t)bk * x->line);
  x->mem = kernel_array_mem(c->k, array);
  x->n = extent * bk / 4 / threads;
  bool edge = size % extent != 0;
  int per = (x->by_k ? bk : extent) / 4;  // vectors in a line of the panel
  for (int i = 0; i < x->n; i++) {
    // Lines are `per` vectors; threads is a multiple of per, or the reverse.
    kernel_value *v = BIN(ADD, t, kernel_index(b, (int64_t)i * threads));
    kernel_value *line, *in;
    if (threads % per == 0) {
      line = BIN(ADD, BIN(DIV_U, t, kernel_index(b, per)), kernel_index(b, (int64_t)i * (threads / per)));
      in = BIN(MUL, BIN(REM_U, t, kernel_index(b, per)), kernel_index(b, 4));
    } else {
      line = BIN(DIV_U, v, kernel_index(b, per));
      in = BIN(MUL, BIN(REM_U, v, kernel_index(b, per)), kernel_index(b, 4));
    }
    kernel_value *free = x->by_k ? line : in, *k = x->by_k ? in : line;
    int lanes = x->by_k ? 1 : 4;
    emit_coord at = contraction_inside(c, BIN(ADD, first, free), lanes, size, edge, lanes);
    x->place[i] = contraction_place_of(c, s->p, side, batch, at, lanes);
    x->k[i] = k;
    x->store[i] = BIN(ADD, BIN(MUL, k, kernel_index(b, x->line)), free);
  }
}

// The k loops' coordinates of a panel; the last one at its start.
static void panel_coords(shared_body *s, kernel_value *number, emit_coord *k) {
  emit_ctx *c = s->c;
  const contraction *p = s->p;
  emit_coord rest = emit_coord_of(number, 1), inner;
  int last = p->n_k - 1;
  bool outer = false;
  for (int l = 0; l < last; l++) outer |= p->k[l] > 1;
  if (outer)
    emit_coord_divide(c, rest, s->panels, 1, &rest, &inner);
  else
    inner = rest;
  k[last] = emit_coord_scale(c, inner, s->t.bk);
  int first = 0;
  while (first < last && p->k[first] == 1) k[first++] = emit_coord_const(c, 0);
  for (int l = last - 1; l >= first; l--) {
    emit_coord q = rest;
    if (p->k[l] == 1)
      k[l] = emit_coord_const(c, 0);
    else if (l == first)
      k[l] = rest;
    else
      emit_coord_divide(c, rest, p->k[l], 1, &q, &k[l]);
    rest = q;
  }
}

static kernel_value *panel_load(shared_body *s, const panel *x, int i, const emit_coord *coords) {
  emit_ctx *c = s->c;
  kernel_builder *b = &c->b;
  const contraction *p = s->p;
  int last = p->n_k - 1;
  int64_t size = p->k[last];
  emit_coord k[CONTRACTION_MAX_K];
  memcpy(k, coords, sizeof *k * (size_t)p->n_k);
  kernel_value *at = BIN(ADD, k[last].base, x->k[i]), *in = NULL;
  bool edge = size % s->t.bk != 0;
  if (x->by_k) {
    k[last] = contraction_inside(c, at, 4, size, edge, 4);
    if (edge && size % 4 == 0)
      in = BIN(LT_S, at, kernel_index(b, size));
    else if (edge)
      in = BIN(LT_S, BIN(ADD, kernel_splat(b, at, 4), kernel_lanes(b, c->k->index, 4)),
               kernel_splat(b, kernel_index(b, size), 4));
  } else {
    k[last] = contraction_inside(c, at, 1, size, edge, 1);
    if (edge) in = BIN(LT_S, at, kernel_index(b, size));
  }
  kernel_value *v = contraction_load(c, p, x->side, &x->place[i], k, 4);
  return in ? kernel_select(b, in, v, kernel_const_like(b, v, 0)) : v;
}

static void panel_store(shared_body *s, const panel *x, int i, kernel_value *v) {
  emit_ctx *c = s->c;
  kernel_builder *b = &c->b;
  if (!x->by_k) {
    kernel_store(b, x->mem, x->store[i], v, 4, NULL);
    return;
  }
  for (int e = 0; e < 4; e++)  // turned round
    kernel_store(b, x->mem, BIN(ADD, x->store[i], kernel_index(b, (int64_t)e * x->line)), kernel_extract(b, v, e), 1,
                 NULL);
}

// --- the loop ------------------------------------------------------------------------------------

static void multiply(shared_body *s, kernel_value *row, kernel_value *const *col, kernel_value **acc) {
  emit_ctx *c = s->c;
  kernel_builder *b = &c->b;
  const shared_tile *t = &s->t;
  int wide = t->tm < 4 ? t->tm : 4;
  for (int k = 0; k < t->bk; k++) {
    kernel_value *bv[4], *av[4];
    for (int j = 0; j < t->nv; j++)
      bv[j] = kernel_load(b, s->b.mem, BIN(ADD, col[j], kernel_index(b, (int64_t)k * s->b.line)), 4, 4, NULL);
    for (int i = 0; i < t->tm / wide; i++)
      av[i] =
          kernel_load(b, s->a.mem, BIN(ADD, row, kernel_index(b, (int64_t)k * s->a.line + 4 * i)), wide, wide, NULL);
    for (int i = 0; i < t->tm; i++) {
      kernel_value *x = kernel_extract(b, av[i / wide], i % wide);
      for (int j = 0; j < t->nv; j++) acc[i * t->nv + j] = contraction_fma(c, s->p, x, bv[j], acc[i * t->nv + j]);
    }
  }
}

static void load_panels(shared_body *s, kernel_value *number, kernel_value **out) {
  emit_coord k[CONTRACTION_MAX_K];
  panel_coords(s, number, k);
  int n = 0;
  for (int i = 0; i < s->a.n; i++) out[n++] = panel_load(s, &s->a, i, k);
  for (int i = 0; i < s->b.n; i++) out[n++] = panel_load(s, &s->b, i, k);
}

static void barrier(emit_ctx *c) {
  kernel_emit(&c->b, KERNEL_OP_BARRIER, 0, NULL, 0, NULL);
}

static void run_panels(shared_body *s, kernel_value *row, kernel_value *const *col, kernel_value **acc) {
  emit_ctx *c = s->c;
  kernel_builder *b = &c->b;
  int n_acc = s->t.tm * s->t.nv, n_loads = s->a.n + s->b.n;
  int64_t total = s->panels;
  for (int l = 0; l + 1 < s->p->n_k; l++) total *= s->p->k[l];
  kernel_value *carried[64 + 2 * MAX_LOADS];
  memcpy(carried, acc, sizeof *acc * (size_t)n_acc);
  load_panels(s, kernel_index(b, 0), carried + n_acc);
  kernel_for f =
      kernel_for_begin(b, kernel_index(b, 0), kernel_index(b, total), kernel_index(b, 1), n_acc + n_loads, carried);
  memcpy(carried, f.args, sizeof *carried * (size_t)(n_acc + n_loads));
  barrier(c);  // everyone is done with the panel before
  for (int i = 0; i < s->a.n; i++) panel_store(s, &s->a, i, carried[n_acc + i]);
  for (int i = 0; i < s->b.n; i++) panel_store(s, &s->b, i, carried[n_acc + s->a.n + i]);
  barrier(c);
  // The panel after the last one is the last one again: it exists, and is not used.
  kernel_value *next = BIN(MIN_S, BIN(ADD, f.iv, kernel_index(b, 1)), kernel_index(b, total - 1));
  load_panels(s, next, carried + n_acc);
  multiply(s, row, col, carried);
  kernel_for_end(b, &f, carried);
  memcpy(acc, f.results, sizeof *acc * (size_t)n_acc);
}

lemnos_status schedule_contraction_shared(emit_ctx *c, const contraction *p) {
  shared_body *s = ARENA_NEW(c->a, shared_body);
  *s = (shared_body){.c = c, .p = p};
  if (!choose(c->t, p, &s->t)) return schedule_contraction_tiles(c, p);
  shared_tile t = s->t;
  kernel_builder *b = &c->b;
  int threads = threads_of(t), across = t.bn / (4 * t.nv);
  int64_t row_blocks = up(p->m, t.bm), col_blocks = up(p->n, t.bn);
  s->panels = up(p->k[p->n_k - 1], t.bk);
  emit_kernel_begin(c, "", p->batch * row_blocks * col_blocks * threads, emit_index_type(c));
  c->k->workgroup = threads;
  emit_coord group = emit_coord_of(contraction_id(c, KERNEL_OP_GROUP_ID), 1), rest, col_block, row_block, batch;
  emit_coord_divide(c, group, col_blocks, 1, &rest, &col_block);
  emit_coord_divide(c, rest, row_blocks, 1, &batch, &row_block);
  if (p->batch == 1) batch = emit_coord_const(c, 0);
  if (p->batch == 1 && row_blocks == 1) row_block = emit_coord_const(c, 0);
  kernel_value *local = contraction_id(c, KERNEL_OP_LOCAL_ID);
  kernel_value *tx = BIN(REM_U, local, kernel_index(b, across)), *ty = BIN(DIV_U, local, kernel_index(b, across));
  kernel_value *row0 = BIN(MUL, row_block.base, kernel_index(b, t.bm)),
               *col0 = BIN(MUL, col_block.base, kernel_index(b, t.bn));
  panel_init(s, &s->a, &p->rows, t.bm, p->m, batch, row0, local);
  panel_init(s, &s->b, &p->cols, t.bn, p->n, batch, col0, local);
  kernel_value *row = BIN(MUL, ty, kernel_index(b, t.tm)), *col[4], *acc[64];
  for (int j = 0; j < t.nv; j++)
    col[j] = BIN(MUL, BIN(ADD, tx, kernel_index(b, (int64_t)j * across)), kernel_index(b, 4));
  kernel_value *zero = kernel_splat(b, emit_zero(c, p->sum).re, 4);
  for (int i = 0; i < t.tm * t.nv; i++) acc[i] = zero;
  run_panels(s, row, col, acc);
  for (int i = 0; i < t.tm; i++)
    for (int j = 0; j < t.nv; j++)
      contraction_store(c, p, batch, BIN(ADD, BIN(ADD, row0, row), kernel_index(b, i)), p->m % t.bm != 0,
                        BIN(ADD, col0, col[j]), p->n % t.bn != 0, 4, acc[i * t.nv + j]);
  return emit_kernel_end(c);
}
