// SPDX-License-Identifier: Apache-2.0
// Reductions of rows on GPUs: the invocations of a subgroup, or of an aligned power-of-two part of one, share a row.
//
// Each takes every width-th vector of the row (neighbours read neighbouring memory), and a butterfly of shuffles
// combines their sums, without shared memory or barriers. Reductions that share the fusion run one after another over
// the same row. Rows beyond the last are computed again and not stored, so that all invocations take part in every
// shuffle.
#include <math.h>

#include "hlo/kernel/emit.h"

enum { MAX_GROUPS = 48 };

static bool op_of(const hlo_instr *hero, hlo_op *op) {
  bool swapped;
  if (hero->n_operands != 2 || hero->called[0]->n_params != 2 ||
      !hlo_computation_is_binary(hero->called[0], op, &swapped))
    return false;
  switch (*op) {
    case HLO_OP_ADD:
    case HLO_OP_MULTIPLY:
    case HLO_OP_MAXIMUM:
    case HLO_OP_MINIMUM:
    case HLO_OP_AND:
    case HLO_OP_OR:
    case HLO_OP_XOR: return true;
    default: return false;
  }
}

static kernel_value *identity(emit_ctx *c, hlo_op op, hlo_dtype t) {
  kernel_scalar s = kernel_scalar_of(t);
  bool is_signed = hlo_dtype_is_signed(t);
  if (hlo_dtype_is_float(t)) {
    double x = op == HLO_OP_ADD ? -0.0 : op == HLO_OP_MULTIPLY ? 1 : op == HLO_OP_MAXIMUM ? -INFINITY : INFINITY;
    return kernel_float(&c->b, s, x);
  }
  int64_t x = op == HLO_OP_MULTIPLY ? 1 : op == HLO_OP_AND ? -1 : 0;
  if (op == HLO_OP_MAXIMUM) x = is_signed ? INT32_MIN : 0;
  if (op == HLO_OP_MINIMUM) x = is_signed ? INT32_MAX : -1;
  return kernel_int(&c->b, s, x);
}

typedef struct rows {
  emit_ctx *c;
  int64_t count, trailing;
  int width, lanes;              // invocations a row; elements of a vector
  kernel_value *first;           // this invocation's first element
  int n_groups, trailing_first;  // of the rows' index; first dimension of the trailing run
  emit_group groups[MAX_GROUPS];
} rows;

// Do the reduced dimensions come last, in a run that every hero walks as one?
static bool trailing_rows(emit_ctx *c, const hlo_instr *const *heroes, int n, int64_t *trailing) {
  for (int h = 0; h < n; h++) {
    const hlo_instr *i = heroes[h];
    const hlo_shape *in = i->operands[0]->shape;
    hlo_op op;
    hlo_dtype t = emit_reduce_dtype(i, 0);
    if (!op_of(i, &op) || hlo_dtype_is_complex(t) || kernel_scalar_table[kernel_scalar_of(t)].bytes != 4) return false;
    hlo_i64s dims = HLO_ATTRS(i, dimensions)->dimensions;
    int64_t elements = 1;
    for (int d = 0; d < dims.n; d++) elements *= in->dims[dims.data[d]];
    for (int d = 0; d < dims.n; d++)
      if (!hlo_i64s_contains(dims, in->rank - 1 - d)) return false;
    if (emit_reduce_trailing(c, i) != elements || (h && elements != *trailing)) return false;
    *trailing = elements;
  }
  return true;
}

static kernel_value *halves(emit_ctx *c, hlo_op op, hlo_dtype t, kernel_value *v) {
  while (v->type.lanes > 1) {
    kernel_type half = kernel_type_make((kernel_scalar)v->type.scalar, v->type.lanes / 2);
    emit_value part[2];
    for (int h = 0; h < 2; h++) {
      kernel_instr *e = kernel_emit(&c->b, KERNEL_OP_EXTRACT, 1, &half, 1, &v);
      e->imm.i = h * half.lanes;
      part[h] = (emit_value){&e->results[0], NULL};
    }
    v = emit_binary(c, op, t, part[0], part[1]).re;
  }
  return v;
}

static emit_value reduce_row(rows *r, const hlo_instr *hero) {
  emit_ctx *c = r->c;
  kernel_builder *b = &c->b;
  const hlo_shape *in = hero->operands[0]->shape;
  hlo_dtype t = emit_reduce_dtype(hero, 0);
  hlo_op op = HLO_OP_ADD;
  op_of(hero, &op);
  kernel_value *acc = kernel_splat(b, identity(c, op, t), r->lanes);
  kernel_for f = kernel_for_begin(b, r->first, kernel_index(b, r->trailing),
                                  kernel_index(b, (int64_t)r->width * r->lanes), 1, &acc);
  emit_coord at = emit_coord_of(f.iv, r->lanes);
  at.stride = r->lanes > 1;
  emit_group groups[MAX_GROUPS + 1];
  memcpy(groups, r->groups, sizeof *groups * (size_t)r->n_groups);
  groups[r->n_groups] = (emit_group){r->trailing_first, in->rank - r->trailing_first, at};
  emit_index *x = emit_index_create(c, in->rank, in->dims, r->lanes, r->n_groups + 1, groups);
  emit_value v = emit_element(c, hero->operands[0], x);
  v.re = kernel_splat(b, t == hero->operands[0]->shape->dtype ? v.re : emit_up(c, v.re), r->lanes);
  kernel_value *next = emit_binary(c, op, t, (emit_value){f.args[0], NULL}, v).re;
  kernel_for_end(b, &f, &next);
  kernel_value *sum = halves(c, op, t, f.results[0]);
  for (int mask = r->width / 2; mask > 0; mask /= 2) {
    kernel_instr *other = kernel_emit(b, KERNEL_OP_SUBGROUP_SHUFFLE_XOR, 1, &sum->type, 1, &sum);
    other->imm.i = mask;
    sum = emit_binary(c, op, t, (emit_value){sum, NULL}, (emit_value){&other->results[0], NULL}).re;
  }
  kernel_value *init = emit_element(c, hero->operands[1], &c->scalar_index).re;
  if (t != hero->operands[0]->shape->dtype) init = emit_up(c, init);
  sum = emit_binary(c, op, t, (emit_value){init, NULL}, (emit_value){sum, NULL}).re;
  return (emit_value){t == hero->operands[0]->shape->dtype ? sum : emit_down(c, sum, hero->operands[0]->shape->dtype),
                      NULL};
}

static void store_row(rows *r, const hlo_instr *const *heroes, int n, kernel_value *mine) {
  emit_ctx *c = r->c;
  for (int h = 0; h < n; h++) {
    emit_value *v = ARENA_NEW(c->a, emit_value);
    *v = reduce_row(r, heroes[h]);
    ptrmap_put(c->a, &c->overrides, heroes[h], v);
  }
  const hlo_instr *root = emit_root(c);
  const hlo_shape *out = hlo_shape_leaf(heroes[0]->shape, 0);
  emit_index *x = emit_index_create(c, out->rank, out->dims, 1, r->n_groups, r->groups);
  kernel_if f = kernel_if_begin(&c->b, mine, 0, NULL);
  int leaves = hlo_shape_leaves(root->shape);
  emit_value *values = ARENA_ARRAY(c->a, emit_value, leaves);
  for (int l = 0; l < leaves; l++) values[l] = emit_leaf(c, root, l, x);
  for (int l = 0; l < leaves; l++) emit_store_result(c, l, x, values[l]);
  kernel_if_else(&c->b, &f, NULL);
  kernel_if_end(&c->b, &f, NULL);
}

// The rows' coordinate, divided into the groups that the reduced operand's producers want, once.
static bool divide_row(rows *r, const hlo_instr *hero, emit_coord row) {
  emit_ctx *c = r->c;
  const hlo_shape *in = hero->operands[0]->shape;
  emit_space s = emit_space_of(c, hero->operands[0], in, NULL);
  int first = in->rank - HLO_ATTRS(hero, dimensions)->dimensions.n, d = 0;
  r->trailing_first = first;
  for (int g = 0; g < s.n_groups && d < first; g++) {
    int count = d + s.groups[g] > first ? first - d : s.groups[g];
    if (r->n_groups == MAX_GROUPS) return false;
    r->groups[r->n_groups++] = (emit_group){.first = d, .count = count};
    d += count;
  }
  for (int g = r->n_groups - 1; g >= 0; g--) {
    int64_t size = 1;
    for (int e = 0; e < r->groups[g].count; e++) size *= in->dims[r->groups[g].first + e];
    emit_coord q = row;
    if (g == 0)
      r->groups[g].at = row;
    else
      emit_coord_divide(c, row, size, 1, &q, &r->groups[g].at);
    row = q;
  }
  return d == first;
}

// *done: the fusion was of this kind. A kernel's context must have been begun (for the questions about spaces).
lemnos_status schedule_reduce_rows(emit_ctx *c, const hlo_instr *const *heroes, int n, bool *done) {
  const hlo_target *t = c->t;
  rows r = {.c = c};
  *done = false;
  if (t->cls != HLO_TARGET_GPU || !t->subgroup_shuffle || t->subgroup < 4) return LEMNOS_SUCCESS;
  if (!trailing_rows(c, heroes, n, &r.trailing)) return LEMNOS_SUCCESS;
  r.count = hlo_shape_elements(hlo_shape_leaf(heroes[0]->shape, 0));
  r.lanes = r.trailing % 4 == 0 && r.trailing >= 4 * t->subgroup ? 4 : 1;
  for (r.width = 1; r.width < t->subgroup && 2 * r.width * r.lanes <= r.trailing;) r.width *= 2;
  if (r.width < 4 || r.count == 0) return LEMNOS_SUCCESS;
  if (r.count < 256 && r.trailing > 16384) return LEMNOS_SUCCESS;  // better in parts
  int group = t->subgroup;
  while (2 * group <= t->max_workgroup && 2 * group <= 256 && r.count * r.width >= 64 * group) group *= 2;
  int64_t per_group = group / r.width, groups = (r.count + per_group - 1) / per_group;
  emit_kernel_begin(c, "", groups * group, emit_index_type(c));
  c->k->workgroup = group;
  kernel_builder *b = &c->b;
  kernel_type index = kernel_type_make(c->k->index, 1);
  kernel_value *number = &kernel_emit(b, KERNEL_OP_GROUP_ID, 1, &index, 0, NULL)->results[0];
  kernel_value *local = &kernel_emit(b, KERNEL_OP_LOCAL_ID, 1, &index, 0, NULL)->results[0];
  emit_coord in_group, lane;
  emit_coord_divide(c, emit_coord_of(local, 1), r.width, 1, &in_group, &lane);
  kernel_value *row = kernel_bin(b, KERNEL_OP_MUL, number, kernel_index(b, per_group));
  row = kernel_bin(b, KERNEL_OP_ADD, row, in_group.base);
  kernel_value *mine = kernel_bin(b, KERNEL_OP_EQ, lane.base, kernel_index(b, 0));
  if (r.count % per_group) {
    mine = kernel_bin(b, KERNEL_OP_AND, mine, kernel_bin(b, KERNEL_OP_LT_S, row, kernel_index(b, r.count)));
    row = kernel_bin(b, KERNEL_OP_MIN_S, row, kernel_index(b, r.count - 1));
  }
  r.first = kernel_bin(b, KERNEL_OP_MUL, lane.base, kernel_index(b, r.lanes));
  if (!divide_row(&r, heroes[0], r.count == 1 ? emit_coord_const(c, 0) : emit_coord_of(row, 1))) return LEMNOS_SUCCESS;
  store_row(&r, heroes, n, mine);
  *done = true;
  return emit_kernel_end(c);
}
