// SPDX-License-Identifier: Apache-2.0
// Expands TILE_FMA: a loop over k, unrolled k_unroll times, each step loading nv vectors of B and m scalars of A and
// doing m * nv multiply-adds on accumulators carried in registers. A remainder loop follows unless k_count is known to
// be a multiple.
// Operands of small float types are brought to the accumulators' type as they are loaded.
// Needs: nothing. Leaves: no TILE operation. Multiply-adds of floats are FMA operations (fused where the target fuses).
#include "hlo/kernel/builder.h"
#include "hlo/kernel/walk.h"

typedef struct state {
  kernel *k;
  const hlo_target *target;
  kernel_rewrite rewrite;
} state;

static kernel_value *scaled(kernel_builder *b, kernel_value *base, kernel_value *k, int64_t stride, int64_t offset) {
  kernel_scalar s = (kernel_scalar)base->type.scalar;
  kernel_value *x = kernel_bin(b, KERNEL_OP_ADD, base, kernel_bin(b, KERNEL_OP_MUL, k, kernel_int(b, s, stride)));
  return kernel_bin(b, KERNEL_OP_ADD, x, kernel_int(b, s, offset));
}

static kernel_value *load(kernel_builder *b, kernel_mem mem, kernel_value *at, int lanes, int align, kernel_scalar to) {
  kernel_value *v = kernel_load(b, mem, at, lanes, align, NULL);
  return v->type.scalar == to ? v : kernel_conv(b, KERNEL_OP_FLOAT_CONVERT, v, to);
}

static kernel_value *multiply_add(kernel_builder *b, kernel_value *x, kernel_value *y, kernel_value *z) {
  if (kernel_scalar_table[z->type.scalar].is_float) return kernel_fma(b, x, y, z);
  return kernel_bin(b, KERNEL_OP_ADD, kernel_bin(b, KERNEL_OP_MUL, x, y), z);
}

// One step k: acc += A(:, k) B(k, :).
static void step(kernel_builder *b, const kernel_tile *t, kernel_value *a_base, kernel_value *b_base, kernel_value *k,
                 int unrolled, kernel_value **acc) {
  kernel_value *bv[16];
  kernel_scalar type = (kernel_scalar)acc[0]->type.scalar;
  for (int j = 0; j < t->nv; j++) {
    kernel_value *at = scaled(b, b_base, k, t->b_stride_k, unrolled * t->b_stride_k + (int64_t)j * t->lanes);
    int align = t->b_stride_k % t->lanes == 0 ? t->lanes : 1;
    // Base alignment is unknown here: schedules that align their panels say so through the array's lanes.
    if (t->b.space == KERNEL_PARAM || b->k->arrays.data[t->b.index].lanes < t->lanes) align = 1;
    bv[j] = load(b, t->b, at, t->lanes, align, type);
  }
  for (int i = 0; i < t->m; i++) {
    kernel_value *at = scaled(b, a_base, k, t->a_stride_k, unrolled * t->a_stride_k + (int64_t)i * t->a_stride_m);
    kernel_value *a = kernel_splat(b, load(b, t->a, at, 1, 1, type), t->lanes);
    for (int j = 0; j < t->nv; j++) acc[i * t->nv + j] = multiply_add(b, a, bv[j], acc[i * t->nv + j]);
  }
}

static kernel_value **loop(kernel_builder *b, const kernel_tile *t, kernel_value *a_base, kernel_value *b_base,
                           kernel_value *lo, kernel_value *hi, int unroll, kernel_value **acc) {
  int n = t->m * t->nv;
  kernel_scalar s = (kernel_scalar)lo->type.scalar;
  kernel_for f = kernel_for_begin(b, lo, hi, kernel_int(b, s, unroll), n, acc);
  kernel_value **next = ARENA_ARRAY(b->k->arena, kernel_value *, n);
  memcpy(next, f.args, sizeof *next * (size_t)n);
  for (int u = 0; u < unroll; u++) step(b, t, a_base, b_base, f.iv, u, next);
  kernel_for_end(b, &f, next);
  return f.results;
}

static void visit(void *user, kernel_instr *i) {
  state *s = user;
  if (i->op != KERNEL_OP_TILE_FMA) return;
  const kernel_tile *t = i->imm.tile;
  kernel_builder b = {.k = s->k, .block = i->parent, .before = i};
  kernel_value *a_base = i->operands[0], *b_base = i->operands[1], *count = i->operands[2];
  kernel_scalar type = (kernel_scalar)count->type.scalar;
  int unroll = t->k_unroll > 1 ? t->k_unroll : 1;
  kernel_value **acc = i->operands + 3, *zero = kernel_int(&b, type, 0), *bulk = count;
  if (unroll > 1 && !t->k_multiple) {
    kernel_value *rest = kernel_bin(&b, KERNEL_OP_REM_U, count, kernel_int(&b, type, unroll));
    bulk = kernel_bin(&b, KERNEL_OP_SUB, count, rest);
  }
  acc = loop(&b, t, a_base, b_base, zero, bulk, unroll, acc);
  if (bulk != count) acc = loop(&b, t, a_base, b_base, bulk, count, 1, acc);
  for (int r = 0; r < i->n_results; r++) kernel_rewrite_set(&s->rewrite, &i->results[r], acc[r]);
  kernel_instr_unlink(i);
}

void kernel_pass_expand_tiles(kernel *k, const hlo_target *t) {
  state s = {.k = k, .target = t};
  kernel_walk(k->body, visit, &s);
  kernel_rewrite_apply(&s.rewrite, k);
}
