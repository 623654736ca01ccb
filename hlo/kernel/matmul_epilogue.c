// SPDX-License-Identifier: Apache-2.0
// What is fused around a dot or convolution: finding the hero, and evaluating everything above it where its sums are
// finished.
#include "hlo/kernel/matmul.h"

static bool is_hero(const hlo_instr *i) {
  return i->op == HLO_OP_DOT_GENERAL || i->op == HLO_OP_CONVOLUTION;
}

static bool row_major(const hlo_shape *s) {
  return s->layout == NULL;
}

// Ops that give element n of their result from element n of their operands.
static bool keeps_index(const hlo_instr *i) {
  switch (i->op) {
    case HLO_OP_TUPLE:
    case HLO_OP_COPY:
    case HLO_OP_RESHAPE: return true;
    case HLO_OP_BITCAST: return row_major(i->shape) && row_major(i->operands[0]->shape);
    default: return hlo_op_has(i->op, HLO_TRAIT_E);
  }
}

const hlo_instr *matmul_hero(const emit_ctx *c) {
  if (!c->fused) return is_hero(c->instr) ? c->instr : NULL;
  const hlo_instr *hero = NULL;
  HLO_FOR_EACH (i, c->fused) {
    if (i->op == HLO_OP_REDUCE || i->op == HLO_OP_REDUCE_WINDOW || (is_hero(i) && hero)) return NULL;
    if (is_hero(i)) hero = i;
  }
  if (!hero) return NULL;
  u64map above = {0};
  ptrmap_put(c->a, &above, hero, (void *)hero);
  int64_t n = hlo_shape_elements(hero->shape);
  HLO_FOR_EACH (i, c->fused) {
    bool uses = false;
    for (int o = 0; o < i->n_operands; o++) uses |= ptrmap_get(&above, i->operands[o]) != NULL;
    if (!uses) continue;
    if (!keeps_index(i)) return NULL;
    for (int o = 0; o < i->n_operands; o++)
      if (i->op == HLO_OP_TUPLE && hlo_shape_elements(i->operands[o]->shape) != n) return NULL;
    if (i->op != HLO_OP_TUPLE && hlo_shape_elements(i->shape) != n) return NULL;
    ptrmap_put(c->a, &above, i, (void *)i);
  }
  return ptrmap_get(&above, emit_root(c)) ? hero : NULL;
}

bool matmul_sum_dtype(hlo_dtype t, hlo_dtype *sum) {
  if (hlo_dtype_is_complex(t) || t == HLO_PRED) return false;
  if (hlo_dtype_is_float(t))
    *sum = emit_dtype_is_small(t) ? HLO_F32 : t;
  else
    *sum = kernel_scalar_table[kernel_scalar_of(t)].bytes > 4 ? HLO_S64 : HLO_S32;  // products modulo 2^n
  return true;
}

int matmul_run_lanes(int64_t n) {
  int lanes = 1;
  while (lanes < 64 && n % (lanes * 2) == 0) lanes *= 2;
  return lanes;
}

// Puts the coordinate of a class into groups of the operand's dimensions.
static int class_groups(emit_ctx *c, const hlo_shape *s, hlo_i64s dims, emit_coord at, int lanes, emit_group *out) {
  int n = 0;
  for (int end = dims.n; end > 0;) {
    int first = end - 1;
    int64_t size = s->dims[dims.data[first]];
    while (first > 0 && dims.data[first - 1] + 1 == dims.data[first]) size *= s->dims[dims.data[--first]];
    emit_coord q = at, r = at;
    if (first > 0) emit_coord_divide(c, at, size, lanes, &q, &r);
    out[n++] = (emit_group){(int32_t)dims.data[first], end - first, r};
    at = q;
    end = first;
  }
  return n;
}

emit_index *matmul_index(emit_ctx *c, const hlo_shape *s, int lanes, int n, const hlo_i64s *dims,
                         const emit_coord *at) {
  emit_group groups[64], sorted[64];
  int n_groups = 0, m = 0;
  for (int cl = 0; cl < n; cl++) n_groups += class_groups(c, s, dims[cl], at[cl], lanes, groups + n_groups);
  for (int d = 0; d < s->rank;) {
    int g = 0;
    while (g < n_groups && groups[g].first != d) g++;
    if (g < n_groups)
      sorted[m++] = groups[g];
    else
      sorted[m++] = (emit_group){d, 1, emit_coord_const(c, 0)};
    d += sorted[m - 1].count;
  }
  return emit_index_create(c, s->rank, s->dims, lanes, m, sorted);
}

void matmul_finish(emit_ctx *c, const hlo_instr *hero, emit_index *x, hlo_dtype sum, kernel_value *value) {
  const hlo_instr *root = emit_root(c);
  emit_value v = emit_convert(c, sum, hero->shape->dtype, (emit_value){value, NULL});
  if (hero == root) {
    emit_store_result(c, 0, x, v);
    return;
  }
  emit_value *finished = ARENA_NEW(c->a, emit_value);
  *finished = v;
  ptrmap_put(c->a, &c->overrides, hero, finished);
  c->root_scope.memo = (u64map){0};  // values of another element under the same index may be there
  int n = hlo_shape_leaves(root->shape);
  emit_index **at = ARENA_ARRAY(c->a, emit_index *, n);
  emit_value *results = ARENA_ARRAY(c->a, emit_value, n);
  for (int l = 0; l < n; l++) {
    const hlo_shape *s = hlo_shape_leaf(root->shape, l);
    at[l] = hlo_shape_same_dims(s, hero->shape) ? x : emit_index_reshape(c, x, s->rank, s->dims);
    results[l] = emit_leaf(c, root, l, at[l]);
  }
  for (int l = 0; l < n; l++) emit_store_result(c, l, at[l], results[l]);
}
