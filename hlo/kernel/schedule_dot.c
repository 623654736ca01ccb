// SPDX-License-Identifier: Apache-2.0
// dot_general with any dimensions and fused producers and epilogue: choice of schedule and what the schedules share.
//
// A contraction is seen as out[batch, m, n] = sum over k of lhs[batch, m, k] * rhs[batch, n, k], each letter a run of
// dimensions flattened to one coordinate. Sums of small floats are kept in f32 and rounded once. Per element the order of
// summation is fixed by the shape and the target's vector width, never by threads.
//
//   CPU: packed panels (schedule_dot_cpu.c); streaming for few rows (schedule_dot_few.c)
//   GPU, CPU_LIKE: register tiles straight from memory (here)
//   everything else (integers, complex numbers, odd strides): element by element, vectors along n
#include "hlo/kernel/contraction.h"
#include "hlo/kernel/dot.h"
#include "hlo/kernel/matmul.h"

static int64_t product(const hlo_shape *s, hlo_i64s dims) {
  int64_t n = 1;
  for (int d = 0; d < dims.n; d++) n *= s->dims[dims.data[d]];
  return n;
}

static hlo_i64s free_dims(emit_ctx *c, const hlo_shape *s, hlo_i64s batch, hlo_i64s contracting) {
  int64_t *dims = ARENA_ARRAY(c->a, int64_t, s->rank + 1);
  int n = 0;
  for (int d = 0; d < s->rank; d++)
    if (!hlo_i64s_contains(batch, d) && !hlo_i64s_contains(contracting, d)) dims[n++] = d;
  return (hlo_i64s){dims, n};
}

// Elements between neighbours along a run of dimensions seen as one, or -1 if they are not evenly spaced.
static int64_t run_stride(emit_ctx *c, const hlo_shape *s, hlo_i64s dims) {
  int64_t *strides = ARENA_ARRAY(c->a, int64_t, s->rank + 1), stride = 0, extent = 1;
  emit_strides(s, strides);
  for (int d = dims.n - 1; d >= 0; d--) {
    if (s->dims[dims.data[d]] == 1) continue;
    if (stride == 0) stride = strides[dims.data[d]];
    else if (strides[dims.data[d]] != stride * extent) return -1;
    extent *= s->dims[dims.data[d]];
  }
  return stride;
}

static void fill_side(emit_ctx *c, dot_side *s, const hlo_instr *operand, hlo_i64s batch, hlo_i64s contracting) {
  *s = (dot_side){.operand = operand, .batch = batch, .contracting = contracting};
  s->free = free_dims(c, operand->shape, batch, contracting);
  s->is_buffer = ptrmap_get(&c->operand_leaves, operand) != NULL;
  s->batch_stride = run_stride(c, operand->shape, batch);
  s->free_stride = run_stride(c, operand->shape, s->free);
  s->k_stride = run_stride(c, operand->shape, contracting);
}

static const hlo_instr *find_dot(const emit_ctx *c) {
  if (!c->fused) return c->instr;
  HLO_FOR_EACH(i, c->fused) if (i->op == HLO_OP_DOT_GENERAL) return i;
  return NULL;
}

void dot_plan_init(emit_ctx *c, dot_plan *p, const hlo_instr *dot) {
  const hlo_dot_dnums *n = &HLO_ATTRS(dot, dot_general)->dnums;
  *p = (dot_plan){.dot = dot, .root = emit_root(c)};
  fill_side(c, &p->lhs, dot->operands[0], n->lhs_batch, n->lhs_contracting);
  fill_side(c, &p->rhs, dot->operands[1], n->rhs_batch, n->rhs_contracting);
  p->batch = product(dot->operands[0]->shape, n->lhs_batch);
  p->k = product(dot->operands[0]->shape, n->lhs_contracting);
  p->m = product(dot->operands[0]->shape, p->lhs.free);
  p->n = product(dot->operands[1]->shape, p->rhs.free);
  p->sum = emit_dtype_is_small(dot->shape->dtype) ? HLO_F32 : dot->shape->dtype;
  p->scalar = kernel_scalar_of(p->sum);
}

emit_value dot_operand(emit_ctx *c, const dot_plan *p, const dot_side *s, emit_coord batch, emit_coord at, emit_coord k,
                       int lanes) {
  const hlo_shape *shape = s->operand->shape;
  int64_t dims[64], source[64];
  emit_group groups[3];
  const hlo_i64s runs[3] = {s->batch, s->free, s->contracting};
  const emit_coord coords[3] = {batch, at, k};
  int rank = 0, n = 0;
  for (int r = 0; r < 3; r++) {
    if (runs[r].n == 0) continue;
    groups[n++] = (emit_group){rank, runs[r].n, coords[r]};
    for (int d = 0; d < runs[r].n; d++) {
      source[runs[r].data[d]] = rank;
      dims[rank++] = shape->dims[runs[r].data[d]];
    }
  }
  emit_index *canonical = emit_index_create(c, rank, dims, lanes, n, groups);
  emit_index *x = emit_index_select(c, canonical, shape->rank, shape->dims, source, NULL);
  return emit_convert(c, shape->dtype, p->sum, emit_element(c, s->operand, x));
}

// A sum at (batch, m, n), all in the sum's type, goes through the epilogue and into the results.
void dot_store(emit_ctx *c, const dot_plan *p, emit_coord batch, emit_coord m, emit_coord n, int lanes,
               kernel_value *sum) {
  const hlo_shape *out = p->dot->shape;
  emit_group groups[3];
  const int counts[3] = {p->lhs.batch.n, p->lhs.free.n, p->rhs.free.n};
  const emit_coord coords[3] = {batch, m, n};
  int rank = 0, g = 0;
  for (int r = 0; r < 3; r++) {
    if (counts[r] == 0) continue;
    groups[g++] = (emit_group){rank, counts[r], coords[r]};
    rank += counts[r];
  }
  emit_index *x = emit_index_create(c, rank, out->dims, lanes, g, groups);
  emit_value *value = ARENA_NEW(c->a, emit_value);
  *value = emit_convert(c, p->sum, out->dtype, (emit_value){sum, NULL});
  ptrmap_put(c->a, &c->overrides, p->dot, value);
  c->root_scope.memo = (u64map){0};
  int leaves = hlo_shape_leaves(c->instr->shape);
  emit_value *results = ARENA_ARRAY(c->a, emit_value, leaves);
  emit_index *rx = x;
  for (int l = 0; l < leaves; l++) results[l] = emit_leaf(c, p->root, l, rx);
  for (int l = 0; l < leaves; l++) emit_store_result(c, l, rx, results[l]);
}

// --- is the fusion one that the schedules handle: dot at the bottom, only ops at the dot's own index above it? ---------------

static bool depends_on(const hlo_instr *i, const hlo_instr *dot) {
  if (i == dot) return true;
  for (int o = 0; o < i->n_operands; o++)
    if (depends_on(i->operands[o], dot)) return true;
  return false;
}

static bool plain_epilogue(const hlo_instr *i, const hlo_instr *dot) {
  if (i == dot || !depends_on(i, dot)) return true;
  if (i->op == HLO_OP_TUPLE) {
    for (int o = 0; o < i->n_operands; o++)
      if (!hlo_shape_same_dims(i->operands[o]->shape, dot->shape) || !plain_epilogue(i->operands[o], dot)) return false;
    return true;
  }
  if (!hlo_op_has(i->op, HLO_TRAIT_E) && i->op != HLO_OP_COPY) return false;
  if (!hlo_shape_same_dims(i->shape, dot->shape)) return false;
  for (int o = 0; o < i->n_operands; o++)
    if (!plain_epilogue(i->operands[o], dot)) return false;
  return true;
}

static bool one_dot(const emit_ctx *c) {
  int n = 0;
  if (!c->fused) return true;
  HLO_FOR_EACH(i, c->fused) n += i->op == HLO_OP_DOT_GENERAL || i->op == HLO_OP_CONVOLUTION || i->op == HLO_OP_REDUCE;
  return n == 1;
}

// --- register tiles for invocations -------------------------------------------------------------------------------------------

static int largest_divisor(int64_t n, int limit) {
  for (int d = limit; d > 1; d /= 2)
    if (n % d == 0) return d;
  return 1;
}

static bool strided_buffer(const dot_plan *p, const dot_side *s) {
  return s->is_buffer && s->batch_stride >= 0 && s->free_stride >= 0 && s->k_stride >= 0 &&
         s->operand->shape->dtype == p->sum;
}

static kernel_value *offset_of(kernel_builder *b, kernel_value *x, int64_t stride) {
  return kernel_bin(b, KERNEL_OP_MUL, x, kernel_index(b, stride));
}

kernel_mem dot_side_mem(emit_ctx *c, const dot_side *s) {
  uint64_t first = 0;
  u64map_get(&c->operand_leaves, (uint64_t)(uintptr_t)s->operand, &first);
  kernel_mem m = emit_buffer_mem(c, KERNEL_ARG_OPERAND, (int)first - 1, s->operand->shape);
  c->k->params[m.index].writeonly = false;
  return m;
}

static lemnos_status tiles_from_memory(emit_ctx *c, const dot_plan *p, int tm, int nv, int lanes) {
  kernel_builder *b = &c->b;
  int64_t cols = p->n / (nv * lanes), rows = p->m / tm;
  emit_kernel_begin(c, "", p->batch * rows * cols, emit_index_type(c));
  emit_coord item = emit_coord_of(kernel_item(b), 1), row, col, batch, rest;
  emit_coord_divide(c, item, cols, 1, &rest, &col);
  emit_coord_divide(c, rest, rows, 1, &batch, &row);
  if (p->batch == 1) batch = emit_coord_const(c, 0);
  if (p->batch == 1 && rows == 1) row = emit_coord_const(c, 0);
  emit_coord m = emit_coord_scale(c, row, tm), n = emit_coord_scale(c, col, nv * lanes);
  kernel_value *acc[256], *zero = kernel_splat(b, kernel_float(b, p->scalar, 0), lanes);
  for (int i = 0; i < tm * nv; i++) acc[i] = zero;
  kernel_value *a_base = kernel_bin(b, KERNEL_OP_ADD, offset_of(b, batch.base, p->lhs.batch_stride),
                                    offset_of(b, m.base, p->lhs.free_stride));
  kernel_value *b_base = kernel_bin(b, KERNEL_OP_ADD, offset_of(b, batch.base, p->rhs.batch_stride), n.base);
  kernel_tile tile = {.a = dot_side_mem(c, &p->lhs), .b = dot_side_mem(c, &p->rhs), .m = tm, .nv = nv, .lanes = lanes,
                      .a_stride_m = p->lhs.free_stride, .a_stride_k = p->lhs.k_stride, .b_stride_k = p->rhs.k_stride,
                      .k_unroll = p->k % 4 == 0 && tm * nv <= 16 ? 4 : 1, .k_multiple = true};
  kernel_value **out = dot_tile(c, &tile, a_base, b_base, kernel_index(b, p->k), acc);
  for (int i = 0; i < tm; i++)
    for (int v = 0; v < nv; v++) {
      emit_coord col_at = emit_coord_offset(c, n, (int64_t)v * lanes);
      col_at.stride = lanes > 1 ? 1 : 0;
      dot_store(c, p, batch, emit_coord_offset(c, m, i), col_at, lanes, out[i * nv + v]);
    }
  return emit_kernel_end(c);
}

kernel_value **dot_tile(emit_ctx *c, const kernel_tile *t, kernel_value *a_base, kernel_value *b_base, kernel_value *k,
                        kernel_value *const *acc) {
  int n = t->m * t->nv;
  kernel_value **operands = ARENA_ARRAY(c->k->arena, kernel_value *, n + 3);
  kernel_type *types = ARENA_ARRAY(c->k->arena, kernel_type, n);
  operands[0] = a_base, operands[1] = b_base, operands[2] = k;
  for (int i = 0; i < n; i++) operands[3 + i] = acc[i], types[i] = acc[i]->type;
  kernel_instr *instr = kernel_emit(&c->b, KERNEL_OP_TILE_FMA, n, types, n + 3, operands);
  instr->imm.tile = ARENA_NEW(c->k->arena, kernel_tile);
  *instr->imm.tile = *t;
  kernel_value **results = ARENA_ARRAY(c->k->arena, kernel_value *, n);
  for (int i = 0; i < n; i++) results[i] = &instr->results[i];
  return results;
}

static lemnos_status invocations(emit_ctx *c, const dot_plan *p) {
  int lanes = largest_divisor(p->n, p->sum == HLO_F64 ? 2 : 4);
  bool direct = strided_buffer(p, &p->lhs) && strided_buffer(p, &p->rhs) && (p->n == 1 || p->rhs.free_stride == 1);
  if (!direct || lanes == 1 || c->t->acc_max == 1) return schedule_elementwise(c);
  int tm = largest_divisor(p->m, 8), nv = largest_divisor(p->n / lanes, 2);
  while (tm * nv * lanes > 64 || (tm > 1 && p->batch * p->m * p->n / (tm * nv * lanes) < 64)) tm /= 2;
  return tiles_from_memory(c, p, tm, nv, lanes);
}

lemnos_status schedule_dot(emit_ctx *c) {
  const hlo_instr *dot = find_dot(c);
  dot_plan p;
  contraction q;
  if (c->t->cls != HLO_TARGET_CPU && contraction_of_dot(c, &q)) return schedule_contraction(c, &q);
  if (c->t->cls == HLO_TARGET_CPU) {
    bool done;
    LEMNOS_TRY(schedule_dot_packed(c, &done));
    if (done) return LEMNOS_SUCCESS;
  }
  if (!dot || !hlo_dtype_is_float(dot->shape->dtype) || !one_dot(c) || !plain_epilogue(emit_root(c), dot))
    return schedule_elementwise(c);
  dot_plan_init(c, &p, dot);
  if (p.batch * p.m * p.n == 0 || p.k == 0) return schedule_elementwise(c);
  if (c->t->cls != HLO_TARGET_CPU) return invocations(c, &p);
  return schedule_dot_cpu(c, &p);
}
