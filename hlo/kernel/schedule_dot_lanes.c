// SPDX-License-Identifier: Apache-2.0
// Contractions by register tiles straight from the buffers: no shared memory, no barriers.
//
// An invocation owns tm rows x (nv vectors of vn columns) of sums. A workgroup of lx * ly invocations covers lx vectors
// of columns side by side (nv times) and ly blocks of rows. On the software drivers a load costs the same for every
// lane whether the lanes want one value or as many different ones: so the lanes of a subgroup, which own the same rows,
// each load other rows (four k at a time) and hand the values round at constant lanes, which is a register permute
// ("share"). Where that does not pay (few columns, GPUs, whose uniform loads are scalar ones) each invocation loads its
// own rows.
//
// Operands whose memory runs along k are loaded by vectors of four k, others by vectors along their free coordinate:
// transposing in registers is free, as a vector's components are registers of their own. Rows and columns beyond the
// edge are computed from clamped coordinates and not stored; a k remainder is done step by step.
#include "hlo/kernel/contraction.h"

#define BIN(op, x, y) kernel_bin(&c->b, KERNEL_OP_##op, (x), (y))

enum {
  MAX_ACC = 256,
  MAX_BODY = 512,  // multiply-adds of a lane in a loop: twice as many run slower, they are more code than the first
                   // cache holds
};

typedef struct tile {
  int tm, nv, vn, lx, ly;
  bool share;
  int lanes;  // that share rows; 1: none
} tile;

typedef struct body {
  emit_ctx *c;
  const contraction *p;
  tile t;
  bool rows_by_k;  // vectors of the rows' side run along k, else along rows
  int n_row_places, n_col_places;
  contraction_place row_place[64], col_place[32];
  kernel_value *acc[MAX_ACC];
  emit_coord k[CONTRACTION_MAX_K];
} body;

// --- choice of the tile --------------------------------------------------------------------------

static int64_t up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

static int pow2_at_least(int64_t n, int limit) {
  int p = 1;
  while (p < n && p < limit) p *= 2;
  return p;
}

// Compile time of a tile in the same unit, spread over a hundred runs: a software driver takes about 0.7 ms for a
// multiply-add and 5 ms for a memory access in a kernel, and does about 10^9 multiply-adds of a vector register a
// second on a thread.
static double compile_cost(const contraction *p, const tile *x, double row_loads, double col_loads) {
  double macs = 4.0 * x->tm * x->nv * x->vn, stores = (double)x->tm * x->nv * (p->n % x->vn ? 4 : 1);
  bool remainder = p->k[p->n_k - 1] % 4 != 0;
  if (remainder) macs += (double)x->tm * x->nv * x->vn * (double)(p->k[p->n_k - 1] % 4), row_loads *= 2, col_loads *= 2;
  double seconds = 0.7e-3 * macs + 5e-3 * (row_loads + col_loads + stores);
  return seconds * 1e9 / 100;
}

// Time for everything, in multiply-adds of a lane on one thread.
static double cost(const hlo_target *t, const contraction *p, const tile *x) {
  double load = t->load_vec4 > 0 ? t->load_vec4 : 16, cross = t->cross_lane > 0 ? t->cross_lane : 4;
  int tn = x->nv * x->vn;
  int64_t groups = p->batch * up(p->m, (int64_t)x->tm * x->ly) * up(p->n, (int64_t)x->lx * tn);
  int threads = t->threads > 0 ? t->threads : 1;
  double subgroups = (double)up(groups, threads) * x->lx * x->ly / (t->subgroup > 0 ? t->subgroup : 1);
  double rows = up(x->tm, x->lanes),
         cols = (p->cols.along_k ? tn : 4 * x->nv) * (x->vn == 4 || p->cols.along_k ? 1 : 0.6);
  bool row_vectors = p->rows.along_k ? p->k[p->n_k - 1] % 4 == 0 : p->m % 4 == 0 && x->tm % (4 * x->lanes) == 0;
  if (!row_vectors) rows *= 2.5;
  if (!(p->cols.along_k ? p->k[p->n_k - 1] % 4 == 0 : p->n % 4 == 0)) cols *= 2.5;
  double step = 4.0 * x->tm * tn + (x->share ? cross * 4 * x->tm : 0) + load * (rows + cols);
  double k = 1;
  for (int l = 0; l < p->n_k; l++) k *= (double)p->k[l];
  double run = subgroups * (step * (double)up((int64_t)k, 4) + (double)x->tm * x->nv * load * (p->n % 4 ? 4 : 1));
  return run + compile_cost(p, x, rows, cols);
}

static void try_tile(const hlo_target *t, const contraction *p, tile x, tile *best, double *least) {
  if (x.tm * x.nv > MAX_ACC / 2 || x.tm * x.nv * x.vn > t->acc_max || x.tm > 64) return;
  if (x.share && x.tm % x.lanes) return;
  int body = 4 * x.tm * x.nv * x.vn;
  if (body > t->body_max || body > MAX_BODY) return;
  double now = cost(t, p, &x);
  if (now < *least) *least = now, *best = x;
}

static tile choose_like(const hlo_target *t, const contraction *p) {
  int width = t->subgroup > 0 ? t->subgroup : 4;
  int vn = p->n >= 3 ? 4 : (int)p->n;
  bool can_share = t->subgroup > 1 && t->subgroup_shuffle && kernel_scalar_table[p->scalar].bytes == 4;
  tile best = {.tm = 1, .nv = 1, .vn = vn, .lx = width, .ly = 1, .lanes = 1};
  double least = cost(t, p, &best);
  int tallest = p->n % vn ? 16 : 64;  // stores lane by lane are much code
  for (int tm = 1; tm <= tallest; tm *= 2)
    for (int nv = 1; nv <= 2; nv++) {
      if (can_share)
        try_tile(t, p, (tile){.tm = tm, .nv = nv, .vn = vn, .lx = width, .ly = 1, .share = true, .lanes = width}, &best,
                 &least);
      for (int lx = 1; lx <= width && tm * nv <= 16; lx *= 2)
        try_tile(t, p, (tile){.tm = tm, .nv = nv, .vn = vn, .lx = lx, .ly = width / lx, .lanes = 1}, &best, &least);
    }
  // Several subgroups a workgroup save starts, as long as there is a share for every thread.
  int64_t cols = up(p->n, (int64_t)best.lx * best.nv * best.vn);
  while (best.ly < 4 * (best.share ? 1 : width / best.lx) && p->m % (2 * best.ly * best.tm) == 0 &&
         p->batch * cols * (p->m / (2 * best.ly * best.tm)) >= 8 * (t->threads > 0 ? t->threads : 1))
    best.ly *= 2;
  return best;
}

// GPUs: a subgroup's invocations side by side along the columns, so that addresses of the rows are uniform.
static tile choose_gpu(const hlo_target *t, const contraction *p) {
  int width = t->subgroup > 0 ? t->subgroup : 32;
  int vn = p->n % 4 == 0 && p->batch * p->m * p->n >= 16384 ? 4 : 1;
  tile x = {.tm = pow2_at_least(p->m, 16), .nv = 1, .vn = vn, .lanes = 1};
  while (x.tm > 1 && (p->batch * up(p->m, x.tm) * up(p->n, vn) < 8192 || x.tm * vn > t->acc_max)) x.tm /= 2;
  x.lx = pow2_at_least(up(p->n, vn), width);
  x.ly = width / x.lx;
  // Rows that differ within the subgroup are loaded into registers of their own, and an image's rows carry their
  // positions.
  int tallest = p->rows.kind == CONTRACTION_IMAGE ? 4 : x.ly > 1 ? 8 : 16;
  if (x.tm > tallest) x.tm = tallest;
  return x;
}

// --- the kernel ----------------------------------------------------------------------------------

static kernel_value *hand_round(body *s, kernel_value *v, int lane) {
  emit_ctx *c = s->c;
  if (s->t.lanes == 1) return v;
  if (c->t->shuffle_is_broadcast) {
    kernel_instr *i = kernel_emit(&c->b, KERNEL_OP_SUBGROUP_BROADCAST, 1, &v->type, 1, &v);
    i->imm.i = lane;
    return &i->results[0];
  }
  kernel_value *operands[] = {v, kernel_int(&c->b, KERNEL_I32, lane)};
  return &kernel_emit(&c->b, KERNEL_OP_SUBGROUP_SHUFFLE, 1, &v->type, 2, operands)->results[0];
}

static emit_coord along(emit_coord k, int lanes) {
  k.stride = lanes > 1;
  return k;
}

// `steps` (4 or 1) of k from `at`.
static void k_step(body *s, emit_coord at, int steps) {
  emit_ctx *c = s->c;
  const contraction *p = s->p;
  const tile *t = &s->t;
  emit_coord *k = s->k;
  int last = p->n_k - 1;
  kernel_value *rows[64], *cols[32][4], *row_at[4][64];
  bool rows_by_k = s->rows_by_k, cols_by_k = p->cols.along_k;
  k[last] = along(at, steps);
  if (rows_by_k)
    for (int i = 0; i < s->n_row_places; i++) rows[i] = contraction_load(c, p, &p->rows, &s->row_place[i], k, steps);
  if (cols_by_k)
    for (int j = 0; j < s->n_col_places; j++) {
      kernel_value *v = contraction_load(c, p, &p->cols, &s->col_place[j], k, steps);
      for (int u = 0; u < steps; u++) cols[j][u] = kernel_extract(&c->b, v, u);
    }
  for (int u = 0; u < steps; u++) {
    k[last] = emit_coord_offset(c, at, u);
    kernel_value *b[32];
    for (int j = 0; j < t->nv; j++) {
      if (cols_by_k) {
        kernel_value *parts[4];
        for (int e = 0; e < t->vn; e++) parts[e] = cols[j * t->vn + e][u];
        b[j] = kernel_build_vector(&c->b, t->vn, parts);
      } else {
        b[j] = contraction_load(c, p, &p->cols, &s->col_place[j], k, t->vn);
      }
    }
    if (!rows_by_k)
      for (int i = 0; i < s->n_row_places; i++) row_at[u][i] = contraction_load(c, p, &p->rows, &s->row_place[i], k, 4);
    for (int i = 0; i < t->tm; i++) {
      int vector = rows_by_k ? i : i / 4;
      kernel_value *from = rows_by_k ? rows[vector / t->lanes] : row_at[u][vector / t->lanes];
      kernel_value *a = hand_round(s, kernel_extract(&c->b, from, rows_by_k ? u : i % 4), vector % t->lanes);
      for (int j = 0; j < t->nv; j++) s->acc[i * t->nv + j] = contraction_fma(c, p, a, b[j], s->acc[i * t->nv + j]);
    }
  }
}

static void k_inner(body *s) {
  emit_ctx *c = s->c;
  kernel_builder *b = &c->b;
  int n = s->t.tm * s->t.nv, last = s->p->n_k - 1;
  int64_t size = s->p->k[last], bulk = size / 4 * 4;
  int unroll = 1;
  while (unroll < 4 && 4 * n * s->t.vn * unroll * 2 <= 128 && bulk % (8 * unroll) == 0) unroll *= 2;
  if (bulk == 4 * unroll) {
    for (int u = 0; u < unroll; u++) k_step(s, emit_coord_const(c, 4 * u), 4);
  } else if (bulk) {
    kernel_for f =
        kernel_for_begin(b, kernel_index(b, 0), kernel_index(b, bulk), kernel_index(b, 4 * unroll), n, s->acc);
    memcpy(s->acc, f.args, sizeof *f.args * (size_t)n);
    for (int u = 0; u < unroll; u++) k_step(s, emit_coord_offset(c, emit_coord_of(f.iv, 4), 4 * u), 4);
    kernel_for_end(b, &f, s->acc);
    memcpy(s->acc, f.results, sizeof *f.results * (size_t)n);
  }
  for (int64_t k = bulk; k < size; k++) k_step(s, emit_coord_const(c, k), 1);
}

static void k_loops(body *s, int level) {
  kernel_builder *b = &s->c->b;
  if (level == s->p->n_k - 1) {
    k_inner(s);
    return;
  }
  int n = s->t.tm * s->t.nv;
  s->k[level] = emit_coord_const(s->c, 0);
  if (s->p->k[level] == 1) {
    k_loops(s, level + 1);
    return;
  }
  kernel_for f =
      kernel_for_begin(b, kernel_index(b, 0), kernel_index(b, s->p->k[level]), kernel_index(b, 1), n, s->acc);
  memcpy(s->acc, f.args, sizeof *f.args * (size_t)n);
  s->k[level] = emit_coord_of(f.iv, 1);
  k_loops(s, level + 1);
  kernel_for_end(b, &f, s->acc);
  memcpy(s->acc, f.results, sizeof *f.results * (size_t)n);
}

static void make_places(body *s, emit_coord batch, kernel_value *row0, bool row_edge, kernel_value *lane,
                        kernel_value *const *col, bool col_edge) {
  emit_ctx *c = s->c;
  const contraction *p = s->p;
  const tile *t = &s->t;
  int vector = s->rows_by_k ? 1 : 4;
  s->n_row_places = t->tm / (vector * t->lanes);
  for (int i = 0; i < s->n_row_places; i++) {
    kernel_value *row = BIN(ADD, row0, kernel_index(&c->b, (int64_t)i * vector * t->lanes));
    if (t->lanes > 1) row = BIN(ADD, row, BIN(MUL, lane, kernel_index(&c->b, vector)));
    emit_coord at = contraction_inside(c, row, vector, p->m, row_edge, vector);
    s->row_place[i] = contraction_place_of(c, p, &p->rows, batch, at, vector);
  }
  s->n_col_places = p->cols.along_k ? t->nv * t->vn : t->nv;
  for (int j = 0; j < s->n_col_places; j++) {
    if (p->cols.along_k) {
      kernel_value *at = BIN(ADD, col[j / t->vn], kernel_index(&c->b, j % t->vn));
      s->col_place[j] = contraction_place_of(c, p, &p->cols, batch, contraction_inside(c, at, 1, p->n, col_edge, 1), 1);
    } else {
      s->col_place[j] = contraction_place_of(c, p, &p->cols, batch,
                                             contraction_inside(c, col[j], t->vn, p->n, col_edge, t->vn), t->vn);
    }
  }
}

static lemnos_status emit_tiles(emit_ctx *c, const contraction *p, tile t) {
  kernel_builder *b = &c->b;
  int width = t.lx * t.ly;
  int64_t col_blocks = up(p->n, (int64_t)t.lx * t.nv * t.vn), row_blocks = up(p->m, (int64_t)t.ly * t.tm);
  bool row_edge = p->m % ((int64_t)t.ly * t.tm) != 0, col_edge = p->n % ((int64_t)t.lx * t.nv * t.vn) != 0;
  emit_kernel_begin(c, "", p->batch * row_blocks * col_blocks * width, emit_index_type(c));
  bool groups = t.share || c->t->cls == HLO_TARGET_GPU;  // a group of a GPU has uniform rows
  if (groups) c->k->workgroup = width;
  body *s = ARENA_NEW(c->a, body);
  *s = (body){.c = c, .p = p, .t = t};
  s->rows_by_k = p->rows.along_k || t.tm % (4 * t.lanes) != 0;
  emit_coord group, local, rest, col_block, row_block, batch, ly, lx;
  if (groups) {
    group = emit_coord_of(contraction_id(c, KERNEL_OP_GROUP_ID), 1);
    local = emit_coord_of(contraction_id(c, KERNEL_OP_LOCAL_ID), 1);
  } else {
    emit_coord_divide(c, emit_coord_of(kernel_item(b), 1), width, 1, &group, &local);
  }
  emit_coord_divide(c, group, col_blocks, 1, &rest, &col_block);
  emit_coord_divide(c, rest, row_blocks, 1, &batch, &row_block);
  if (p->batch == 1) batch = emit_coord_const(c, 0);
  if (p->batch == 1 && row_blocks == 1) row_block = emit_coord_const(c, 0);
  emit_coord_divide(c, local, t.lx, 1, &ly, &lx);
  if (t.ly == 1) ly = emit_coord_const(c, 0), lx = local;
  kernel_value *row0 = BIN(ADD, BIN(MUL, row_block.base, kernel_index(b, t.ly)), ly.base);
  row0 = BIN(MUL, row0, kernel_index(b, t.tm));
  kernel_value *col[32];
  for (int j = 0; j < t.nv; j++) {
    kernel_value *v = BIN(ADD, BIN(MUL, col_block.base, kernel_index(b, (int64_t)t.lx * t.nv)), lx.base);
    col[j] = BIN(MUL, BIN(ADD, v, kernel_index(b, (int64_t)j * t.lx)), kernel_index(b, t.vn));
  }
  kernel_value *lane = t.lanes == t.lx ? lx.base : BIN(REM_U, lx.base, kernel_index(b, t.lanes));
  make_places(s, batch, row0, row_edge, lane, col, col_edge);
  kernel_value *zero = kernel_splat(b, emit_zero(c, p->sum).re, t.vn);
  for (int i = 0; i < t.tm * t.nv; i++) s->acc[i] = zero;
  k_loops(s, 0);
  for (int i = 0; i < t.tm; i++)
    for (int j = 0; j < t.nv; j++)
      contraction_store(c, p, batch, BIN(ADD, row0, kernel_index(b, i)), row_edge, col[j], col_edge, t.vn,
                        s->acc[i * t.nv + j]);
  return emit_kernel_end(c);
}

lemnos_status schedule_contraction_tiles(emit_ctx *c, const contraction *p) {
  return emit_tiles(c, p, c->t->cls == HLO_TARGET_GPU ? choose_gpu(c->t, p) : choose_like(c->t, p));
}
