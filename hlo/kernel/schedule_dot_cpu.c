// SPDX-License-Identifier: Apache-2.0
// dot_general on CPUs: packed panels, or, for few rows (decoding), straight from memory: a weight is read once, so nothing
// is gained by packing it.
//   few rows, rhs contiguous along n: an item takes columns and walks down k (TILE_FMA on memory)
//   few rows, rhs contiguous along k: an item takes some n; sums of products along k in vectors, added up by a fixed tree
#include "hlo/kernel/dot.h"

#define BIN(op, x, y) kernel_bin(b, KERNEL_OP_##op, (x), (y))

static kernel_value *fetch_a(emit_ctx *c, void *user, emit_coord batch, emit_coord m, const emit_coord *k, int lanes) {
  const dot_plan *p = user;
  return dot_operand(c, p, &p->lhs, batch, m, k[0], lanes).re;
}

static kernel_value *fetch_b(emit_ctx *c, void *user, emit_coord batch, const emit_coord *k, emit_coord n, int lanes) {
  const dot_plan *p = user;
  return dot_operand(c, p, &p->rhs, batch, n, k[0], lanes).re;
}

static void store(emit_ctx *c, void *user, emit_coord batch, emit_coord m, emit_coord n, int lanes, kernel_value *sum) {
  dot_store(c, user, batch, m, n, lanes, sum);
}

// --- few rows ----------------------------------------------------------------------------------------------------------------

static int vector_lanes(const emit_ctx *c, const dot_plan *p) {
  int lanes = c->t->vector_bytes / kernel_scalar_table[p->scalar].bytes;
  return lanes < 1 ? 1 : lanes;
}

// Columns j .. j + nv * lanes of all rows.
static void column_strip(emit_ctx *c, const dot_plan *p, emit_coord batch, kernel_value *j, int nv, int lanes) {
  kernel_builder *b = &c->b;
  int m = (int)p->m;
  kernel_value *acc[256], *zero = kernel_splat(b, kernel_float(b, p->scalar, 0), lanes);
  for (int i = 0; i < m * nv; i++) acc[i] = zero;
  kernel_value *one = kernel_index(b, 1);
  kernel_for f = kernel_for_begin(b, kernel_index(b, 0), kernel_index(b, p->k), one, m * nv, acc);
  kernel_value *next[256], *rows[16];
  emit_coord k = emit_coord_of(f.iv, 1);
  for (int i = 0; i < m; i++) rows[i] = dot_operand(c, p, &p->lhs, batch, emit_coord_const(c, i), k, 1).re;
  for (int v = 0; v < nv; v++) {
    emit_coord n = emit_coord_offset(c, emit_coord_of(j, lanes), (int64_t)v * lanes);
    n.stride = lanes > 1 ? 1 : 0;
    kernel_value *x = dot_operand(c, p, &p->rhs, batch, n, k, lanes).re;
    for (int i = 0; i < m; i++) next[i * nv + v] = kernel_fma(b, rows[i], kernel_splat(b, x, lanes), f.args[i * nv + v]);
  }
  kernel_for_end(b, &f, next);
  for (int i = 0; i < m; i++)
    for (int v = 0; v < nv; v++) {
      emit_coord n = emit_coord_offset(c, emit_coord_of(j, lanes), (int64_t)v * lanes);
      n.stride = lanes > 1 ? 1 : 0;
      dot_store(c, p, batch, emit_coord_const(c, i), n, lanes, f.results[i * nv + v]);
    }
}

static lemnos_status columns(emit_ctx *c, const dot_plan *p) {
  kernel_builder *b = &c->b;
  int lanes = vector_lanes(c, p), nv = p->m == 1 ? 4 : p->m <= 3 ? 3 : 2;
  while (nv > 1 && (int64_t)nv * lanes > p->n) nv--;
  while (lanes > p->n) lanes /= 2;
  int64_t strip = (int64_t)nv * lanes, strips = p->n / strip, rest = p->n % strip;
  int64_t items = strips + (rest > 0);
  emit_kernel_begin(c, "", p->batch * items, emit_index_type(c));
  emit_coord item = emit_coord_of(kernel_item(b), 1), batch, s;
  emit_coord_divide(c, item, items, 1, &batch, &s);
  if (p->batch == 1) batch = emit_coord_const(c, 0), s = item;
  if (p->batch * items == 1) s = emit_coord_const(c, 0);
  kernel_value *j = BIN(MUL, s.base, kernel_index(b, strip));
  if (rest == 0) {
    column_strip(c, p, batch, j, nv, lanes);
  } else {
    kernel_if f = kernel_if_begin(b, BIN(LT_S, s.base, kernel_index(b, strips)), 0, NULL);
    column_strip(c, p, batch, j, nv, lanes);
    kernel_if_else(b, &f, NULL);
    int64_t bulk = rest / lanes * lanes;
    kernel_value *end = BIN(ADD, j, kernel_index(b, bulk));
    if (bulk) {
      kernel_for g = kernel_for_begin(b, j, end, kernel_index(b, lanes), 0, NULL);
      column_strip(c, p, batch, g.iv, 1, lanes);
      kernel_for_end(b, &g, NULL);
    }
    if (rest > bulk) {
      kernel_for g = kernel_for_begin(b, end, kernel_index(b, p->n), kernel_index(b, 1), 0, NULL);
      column_strip(c, p, batch, g.iv, 1, 1);
      kernel_for_end(b, &g, NULL);
    }
    kernel_if_end(b, &f, NULL);
  }
  int64_t cost = p->k * strip * p->m;
  c->k->grain = (int32_t)(cost < 32768 ? 32768 / cost : 1);
  return emit_kernel_end(c);
}

// Columns n .. n + count by inner products along k.
static void inner_products(emit_ctx *c, const dot_plan *p, emit_coord batch, kernel_value *n, int count, int lanes) {
  kernel_builder *b = &c->b;
  int m = (int)p->m;
  int64_t bulk = p->k / lanes * lanes;
  kernel_value *acc[64], *next[64], *zero = kernel_splat(b, kernel_float(b, p->scalar, 0), lanes);
  emit_coord at[16];
  for (int i = 0; i < m * count; i++) acc[i] = zero;
  for (int u = 0; u < count; u++) at[u] = emit_coord_offset(c, emit_coord_of(n, 1), u);
  for (int pass = 0; pass < 2; pass++) {
    int step = pass == 0 ? lanes : 1;
    int64_t lo = pass == 0 ? 0 : bulk, hi = pass == 0 ? bulk : p->k;
    if (pass == 1)
      for (int i = 0; i < m * count; i++) acc[i] = kernel_reduce(b, KERNEL_OP_REDUCE_ADD, acc[i]);
    if (lo == hi) continue;
    kernel_for f = kernel_for_begin(b, kernel_index(b, lo), kernel_index(b, hi), kernel_index(b, step), m * count, acc);
    emit_coord k = emit_coord_of(f.iv, step);
    k.stride = step > 1 ? 1 : 0;
    kernel_value *rows[16];
    for (int i = 0; i < m; i++) rows[i] = dot_operand(c, p, &p->lhs, batch, emit_coord_const(c, i), k, step).re;
    for (int u = 0; u < count; u++) {
      kernel_value *x = dot_operand(c, p, &p->rhs, batch, at[u], k, step).re;
      for (int i = 0; i < m; i++)
        next[i * count + u] = kernel_fma(b, kernel_splat(b, rows[i], step), kernel_splat(b, x, step), f.args[i * count + u]);
    }
    kernel_for_end(b, &f, next);
    memcpy(acc, f.results, sizeof *acc * (size_t)(m * count));
  }
  for (int i = 0; i < m; i++)
    for (int u = 0; u < count; u++) dot_store(c, p, batch, emit_coord_const(c, i), at[u], 1, acc[i * count + u]);
}

static lemnos_status inner(emit_ctx *c, const dot_plan *p) {
  kernel_builder *b = &c->b;
  int lanes = vector_lanes(c, p), count = p->m <= 2 ? 4 : 2;
  while (lanes > p->k) lanes /= 2;
  if (count > p->n) count = 1;
  int64_t groups = p->n / count, rest = p->n % count, items = groups + (rest > 0);
  emit_kernel_begin(c, "", p->batch * items, emit_index_type(c));
  emit_coord item = emit_coord_of(kernel_item(b), 1), batch, s;
  emit_coord_divide(c, item, items, 1, &batch, &s);
  if (p->batch == 1) batch = emit_coord_const(c, 0), s = item;
  if (p->batch * items == 1) s = emit_coord_const(c, 0);
  kernel_value *n = BIN(MUL, s.base, kernel_index(b, count));
  kernel_if f;
  if (rest) f = kernel_if_begin(b, BIN(LT_S, s.base, kernel_index(b, groups)), 0, NULL);
  inner_products(c, p, batch, n, count, lanes);
  if (rest) {
    kernel_if_else(b, &f, NULL);
    kernel_for g = kernel_for_begin(b, n, kernel_index(b, p->n), kernel_index(b, 1), 0, NULL);
    inner_products(c, p, batch, g.iv, 1, lanes);
    kernel_for_end(b, &g, NULL);
    kernel_if_end(b, &f, NULL);
  }
  int64_t cost = p->k * count * p->m;
  c->k->grain = (int32_t)(cost < 32768 ? 32768 / cost + 1 : 1);
  return emit_kernel_end(c);
}

// Which direction neighbours in memory lie for an operand: its own stride, or a guess from its producer.
static bool contiguous(const dot_side *s, int64_t stride) { return s->is_buffer ? stride == 1 || stride == 0 : true; }

lemnos_status schedule_dot_cpu(emit_ctx *c, const dot_plan *p) {
  bool n_vectors = p->rhs.is_buffer ? p->rhs.free_stride == 1 : p->rhs.k_stride != 1;
  bool k_vectors = p->rhs.is_buffer ? p->rhs.k_stride == 1 : !n_vectors;
  if (p->m <= 4 && n_vectors) return columns(c, p);
  if (p->m <= 4 && k_vectors && contiguous(&p->lhs, p->lhs.k_stride)) return inner(c, p);
  panel_product product = {.batch = p->batch, .m = p->m, .n = p->n, .k = p->k, .scalar = p->scalar, .n_k_dims = 1,
                           .k_dims = &p->k, .b_n_vectors = n_vectors, .b_k_vectors = !n_vectors && k_vectors,
                           .a_k_vectors = p->lhs.is_buffer ? p->lhs.k_stride == 1 : p->lhs.free_stride != 1,
                           .user = (void *)p, .fetch_a = fetch_a, .fetch_b = fetch_b, .store = store};
  return emit_panel_product(c, &product);
}
