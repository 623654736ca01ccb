// SPDX-License-Identifier: Apache-2.0
// dot_general on CPUs: batch, free and contracting dimensions in any order and number, seen as one matrix product
// (matmul.h).
//
// A class of dimensions (batch, rows, k) is one coordinate. Dimensions of a class that are neighbours in an operand in
// the class's order stay one group there; where they are not, the coordinate is divided.
#include "hlo/kernel/matmul.h"

enum { CLASS_BATCH, CLASS_ROWS, CLASS_K, CLASSES };

typedef struct side_dims {
  const hlo_instr *operand;
  hlo_i64s dims[CLASSES];  // of the operand, in the class's order
} side_dims;

typedef struct dot_state {
  const hlo_instr *dot;
  side_dims side[2];
  hlo_dtype sum;
  bool swapped;  // sides 0 and 1 of the product are rhs and lhs: few columns make better rows
} dot_state;

static hlo_i64s without_ones(emit_ctx *c, const hlo_shape *s, hlo_i64s dims) {
  int64_t *out = ARENA_ARRAY(c->a, int64_t, dims.n + 1);
  int n = 0;
  for (int d = 0; d < dims.n; d++)
    if (s->dims[dims.data[d]] != 1) out[n++] = dims.data[d];
  return (hlo_i64s){out, n};
}

static int64_t product(const hlo_shape *s, hlo_i64s dims) {
  int64_t n = 1;
  for (int d = 0; d < dims.n; d++) n *= s->dims[dims.data[d]];
  return n;
}

static side_dims side_of(emit_ctx *c, const hlo_instr *operand, hlo_i64s batch, hlo_i64s k) {
  const hlo_shape *s = operand->shape;
  int64_t *free = ARENA_ARRAY(c->a, int64_t, s->rank + 1);
  int n = 0;
  for (int d = 0; d < s->rank; d++)
    if (!hlo_i64s_contains(batch, d) && !hlo_i64s_contains(k, d)) free[n++] = d;
  side_dims x = {.operand = operand};
  x.dims[CLASS_BATCH] = without_ones(c, s, batch);
  x.dims[CLASS_ROWS] = without_ones(c, s, (hlo_i64s){free, n});
  x.dims[CLASS_K] = without_ones(c, s, k);
  return x;
}

static emit_index *operand_index(emit_ctx *c, const side_dims *x, emit_coord batch, emit_coord row, emit_coord k,
                                 int lanes) {
  const emit_coord at[CLASSES] = {batch, row, k};
  return matmul_index(c, x->operand->shape, lanes, CLASSES, x->dims, at);
}

static kernel_value *fetch(emit_ctx *c, const matmul *p, int side, emit_coord batch, emit_coord row, emit_coord k,
                           int lanes) {
  const dot_state *s = p->user;
  const side_dims *x = &s->side[side];
  emit_index *at = operand_index(c, x, batch, row, k, lanes);
  return emit_convert(c, x->operand->shape->dtype, s->sum, emit_element(c, x->operand, at)).re;
}

static kernel_value *base(emit_ctx *c, const matmul *p, int side, emit_coord batch, kernel_mem *mem) {
  const dot_state *s = p->user;
  const side_dims *x = &s->side[side];
  uint64_t first = 0;
  u64map_get(&c->operand_leaves, (uint64_t)(uintptr_t)x->operand, &first);
  *mem = emit_buffer_mem(c, KERNEL_ARG_OPERAND, (int)first - 1, x->operand->shape);
  c->k->params[mem->index].writeonly = false;
  emit_coord zero = emit_coord_const(c, 0);
  return emit_index_linear(c, operand_index(c, x, batch, zero, zero, 1), x->operand->shape).base;
}

static void store(emit_ctx *c, const matmul *p, emit_coord batch, emit_coord m, emit_coord n, int lanes,
                  kernel_value *sum) {
  const dot_state *s = p->user;
  const hlo_shape *out = s->dot->shape;
  const hlo_dot_dnums *d = &HLO_ATTRS(s->dot, dot_general)->dnums;
  int lhs_free = s->dot->operands[0]->shape->rank - d->lhs_batch.n - d->lhs_contracting.n;
  int counts[3] = {d->lhs_batch.n, lhs_free, out->rank - d->lhs_batch.n - lhs_free};
  const emit_coord at[3] = {batch, s->swapped ? n : m, s->swapped ? m : n};
  emit_group groups[3];
  int n_groups = 0, first = 0;
  for (int g = 0; g < 3; g++) {
    if (counts[g]) groups[n_groups++] = (emit_group){first, counts[g], at[g]};
    first += counts[g];
  }
  emit_index *x = emit_index_create(c, out->rank, out->dims, lanes, n_groups, groups);
  matmul_finish(c, s->dot, x, s->sum, sum);
}

// Neighbours of a class are `stride` elements apart throughout; -1: not evenly.
static int64_t even_stride(const hlo_shape *s, hlo_i64s dims, const int64_t *strides) {
  int64_t extent = 1, stride = 0;
  for (int d = dims.n - 1; d >= 0; d--) {
    if (d == dims.n - 1)
      stride = strides[dims.data[d]];
    else if (strides[dims.data[d]] != stride * extent)
      return -1;
    extent *= s->dims[dims.data[d]];
  }
  return stride;
}

static void describe_side(emit_ctx *c, matmul *p, const dot_state *s, int side) {
  const side_dims *x = &s->side[side];
  const hlo_shape *shape = x->operand->shape;
  int64_t strides[64];
  emit_strides(shape, strides);
  p->rows[side] = product(shape, x->dims[CLASS_ROWS]);
  int fastest = -1;
  for (int d = 0; d < shape->rank; d++)
    if (shape->dims[d] > 1 && (fastest < 0 || strides[d] < strides[fastest])) fastest = d;
  p->k_vectors[side] = fastest >= 0 && hlo_i64s_contains(x->dims[CLASS_K], fastest);
  hlo_i64s run = x->dims[p->k_vectors[side] ? CLASS_K : CLASS_ROWS];
  int64_t inner = 1;
  int last = run.n - 1;
  while (last > 0 && run.data[last - 1] + 1 == run.data[last]) inner *= shape->dims[run.data[last--]];
  if (last > 0) p->pack_lanes[side] = matmul_run_lanes(inner * shape->dims[run.data[last]]);
  matmul_direct *d = &p->direct[side];
  d->row_stride = even_stride(shape, x->dims[CLASS_ROWS], strides);
  d->k_stride = even_stride(shape, x->dims[CLASS_K], strides);
  bool same =
      shape->dtype == s->sum || (hlo_dtype_is_float(shape->dtype) && s->sum == HLO_F32 && shape->dtype != HLO_F64);
  if (!hlo_dtype_is_float(shape->dtype)) same = kernel_scalar_of(shape->dtype) == p->scalar;
  d->ok = same && d->row_stride >= 0 && d->k_stride >= 0 && ptrmap_get(&c->operand_leaves, x->operand) != NULL;
}

lemnos_status schedule_dot_cpu(emit_ctx *c, bool *done) {
  const hlo_instr *dot = matmul_hero(c);
  dot_state s = {.dot = dot};
  *done = false;
  if (!dot || dot->op != HLO_OP_DOT_GENERAL || !matmul_sum_dtype(dot->shape->dtype, &s.sum)) return LEMNOS_SUCCESS;
  for (int o = 0; o < 2; o++) {
    hlo_dtype in = dot->operands[o]->shape->dtype;
    if (hlo_dtype_is_complex(in) || hlo_dtype_is_float(in) != hlo_dtype_is_float(s.sum)) return LEMNOS_SUCCESS;
  }
  const hlo_dot_dnums *n = &HLO_ATTRS(dot, dot_general)->dnums;
  s.side[0] = side_of(c, dot->operands[0], n->lhs_batch, n->lhs_contracting);
  s.side[1] = side_of(c, dot->operands[1], n->rhs_batch, n->rhs_contracting);
  int64_t rows = product(dot->operands[0]->shape, s.side[0].dims[CLASS_ROWS]);
  int64_t columns = product(dot->operands[1]->shape, s.side[1].dims[CLASS_ROWS]);
  s.swapped = columns <= 4 && columns < rows;
  if (s.swapped) {
    side_dims lhs = s.side[0];
    s.side[0] = s.side[1], s.side[1] = lhs;
  }
  matmul p = {.user = &s,
              .sum = s.sum,
              .scalar = kernel_scalar_of(s.sum),
              .gather = -1,
              .fetch = fetch,
              .base = base,
              .store = store};
  p.batch = product(s.side[0].operand->shape, s.side[0].dims[CLASS_BATCH]);
  p.k = product(s.side[0].operand->shape, s.side[0].dims[CLASS_K]);
  for (int side = 0; side < 2; side++) describe_side(c, &p, &s, side);
  double work = (double)p.rows[0] * (double)p.rows[1] * (double)p.k;
  if (work * (double)p.batch == 0 || work < 64) return LEMNOS_SUCCESS;
  *done = true;
  return matmul_emit(c, &p);
}
