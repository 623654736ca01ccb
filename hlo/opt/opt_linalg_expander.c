// SPDX-License-Identifier: Apache-2.0
// cholesky and triangular_solve as loops over columns and rows, for devices that have no form of their own for them.
//
//   cholesky (lower)  L = 0; for j: v = a[:, j] - L conj(L[j, :])^T; d = sqrt(v[j]); L[:, j] = v / d below j, d at j
//   triangular_solve  x = 0; for rows i in order: x[i, :] = (b[i, :] - e[i, :] x) / e[i, i]
// An upper factor is the conjugate transpose of the lower one; a solve from the right, or with a transposed matrix, is
// a solve from the left with matrices transposed. Only the triangle that the operation reads is used: the other may
// hold anything.
// Types narrower than f32 are computed in f32, and those up to f32 in f64 where that costs little. Matrices of at most
// UNROLL rows are unrolled.
// Needs: nothing. Leaves: neither operation, but for dynamic shapes.
#include "hlo/opt/algsimp.h"
#include "hlo/opt/expand.h"

enum { UNROLL = 4, MAX_RANK = 32 };

typedef struct matrix_loop {
  hlo_builder b;  // cursor of the step
  hlo_module *m;
  int rank;  // of the matrices, batch dimensions first
  const int64_t *batch;
  int64_t n, columns;  // rows; columns of the right-hand sides
  bool backward, unit;
} matrix_loop;

static hv index_constant(matrix_loop *l, int64_t v) {
  return hlo_build_scalar_i64(&l->b, HLO_S32, v);
}

// x[..., row, column] of the given sizes, from (i or 0).
static hv window(matrix_loop *l, hv x, hv row, hv column, int64_t rows, int64_t columns) {
  hv args[MAX_RANK + 1] = {x}, zero = index_constant(l, 0);
  int64_t sizes[MAX_RANK];
  for (int d = 0; d < l->rank; d++) args[d + 1] = zero, sizes[d] = x->shape->dims[d];
  args[l->rank - 1] = row ? row : zero;
  args[l->rank] = column ? column : zero;
  sizes[l->rank - 2] = rows;
  sizes[l->rank - 1] = columns;
  hlo_attrs_dynamic_slice *attrs = hlo_attrs_create(l->m->arena, HLO_ATTR_LIST_dynamic_slice);
  attrs->slice_sizes = hlo_i64s_copy(l->m->arena, sizes, l->rank);
  return hlo_build(&l->b, HLO_OP_DYNAMIC_SLICE, NULL, l->rank + 1, args, 0, NULL, attrs);
}

static hv update(matrix_loop *l, hv x, hv part, hv row, hv column) {
  hv args[MAX_RANK + 2] = {x, part}, zero = index_constant(l, 0);
  for (int d = 0; d < l->rank; d++) args[d + 2] = zero;
  if (row) args[l->rank] = row;
  if (column) args[l->rank + 1] = column;
  return hlo_build(&l->b, HLO_OP_DYNAMIC_UPDATE_SLICE, NULL, l->rank + 2, args, 0, NULL, NULL);
}

// x y over the last and the last but one dimension (or y's last, transposed).
static hv product(matrix_loop *l, hv x, hv y, bool transposed) {
  hlo_attrs_dot_general *attrs = hlo_attrs_create(l->m->arena, HLO_ATTR_LIST_dot_general);
  int64_t batch[MAX_RANK], last = l->rank - 1, other = transposed ? last : last - 1;
  hlo_precision highest[2] = {HLO_PRECISION_HIGHEST, HLO_PRECISION_HIGHEST};
  for (int d = 0; d < l->rank - 2; d++) batch[d] = d;
  attrs->dnums.lhs_batch = attrs->dnums.rhs_batch = hlo_i64s_copy(l->m->arena, batch, l->rank - 2);
  attrs->dnums.lhs_contracting = hlo_i64s_copy(l->m->arena, &last, 1);
  attrs->dnums.rhs_contracting = hlo_i64s_copy(l->m->arena, &other, 1);
  attrs->precision = (hlo_precisions){arena_copy(l->m->arena, highest, sizeof highest), 2};
  return hlo_build(&l->b, HLO_OP_DOT_GENERAL, NULL, 2, (hv[]){x, y}, 0, NULL, attrs);
}

static hv conjugate(matrix_loop *l, hv x) {
  expand x_ = {.b = l->b}, *e = &x_;
  return hlo_dtype_is_complex(x->shape->dtype) ? COMPLEX(REAL(x), NEG(IMAG(x))) : x;
}

static hv transposed(hlo_builder *b, hv x) {
  int64_t permutation[MAX_RANK];
  int rank = x->shape->rank;
  for (int d = 0; d < rank; d++) permutation[d] = d;
  permutation[rank - 2] = rank - 1;
  permutation[rank - 1] = rank - 2;
  return hlo_build_transpose(b, x, permutation);
}

// Compares the index along dimension `dim` of x with scalar i.
static hv along(matrix_loop *l, hv x, int dim, hlo_comparison_direction d, hv i) {
  const hlo_shape *s = hlo_shape_with_dtype(l->m->shapes, x->shape, HLO_S32);
  hv at = hlo_build_broadcast(&l->b, i, s->rank, s->dims, 0, NULL);
  return hlo_build_compare(&l->b, d, hlo_build_iota(&l->b, s, dim), at);
}

static hv zero_like(matrix_loop *l, hv x) {
  return hlo_build_splat_f64(&l->b, x->shape, 0);
}

static hv spread_to(matrix_loop *l, hv x, const hlo_shape *s) {  // sizes 1 stretched
  int64_t map[MAX_RANK];
  for (int d = 0; d < s->rank; d++) map[d] = d;
  return hlo_build_broadcast(&l->b, x, s->rank, s->dims, s->rank, map);
}

static hv cholesky_step(matrix_loop *l, hv j, hv a, hv result) {
  expand x_ = {.b = l->b}, *e = &x_;
  hv v =
      SUB(window(l, a, NULL, j, l->n, 1), product(l, result, conjugate(l, window(l, result, j, NULL, 1, l->n)), true));
  hv pivot = window(l, v, j, NULL, 1, 1), d;
  bool complex = hlo_dtype_is_complex(v->shape->dtype);
  if (complex) {
    d = SQRT(REAL(pivot));
    d = COMPLEX(d, hlo_build_splat_f64(&l->b, d->shape, 0));
  } else {
    d = SQRT(pivot);
  }
  d = spread_to(l, d, v->shape);
  hv below = SELECT(along(l, v, l->rank - 2, HLO_COMPARISON_DIRECTION_GT, j), DIV(v, d), zero_like(l, v));
  hv column = SELECT(along(l, v, l->rank - 2, HLO_COMPARISON_DIRECTION_EQ, j), d, below);
  return update(l, result, column, NULL, j);
}

static hv solve_step(matrix_loop *l, hv t, hv a, hv b, hv result) {
  expand x_ = {.b = l->b}, *e = &x_;
  hv i = l->backward ? SUB(index_constant(l, l->n - 1), t) : t;
  hv row = window(l, a, i, NULL, 1, l->n);
  hlo_comparison_direction done = l->backward ? HLO_COMPARISON_DIRECTION_GT : HLO_COMPARISON_DIRECTION_LT;
  row = SELECT(along(l, row, l->rank - 1, done, i), row, zero_like(l, row));
  hv x = SUB(window(l, b, i, NULL, 1, l->columns), product(l, row, result, false));
  if (!l->unit) x = DIV(x, spread_to(l, window(l, a, i, i, 1, 1), x->shape));
  return update(l, result, x, i, NULL);
}

// carried: t, inputs.., result
static hv run_loop(matrix_loop *l, int n_inputs, hv *inputs, const hlo_shape *result_shape,
                   hv (*step)(matrix_loop *l, hv t, hv *inputs, hv result)) {
  hv result = hlo_build_splat_f64(&l->b, result_shape, 0);
  if (l->n <= UNROLL) {
    for (int64_t t = 0; t < l->n; t++) result = step(l, index_constant(l, t), inputs, result);
    return result;
  }
  hlo_builder outer = l->b;
  hv init[4] = {index_constant(l, 0)}, now[4];
  for (int k = 0; k < n_inputs; k++) init[k + 1] = inputs[k];
  init[n_inputs + 1] = result;
  int n = n_inputs + 2;
  hv tuple = hlo_build_tuple(&outer, n, init);
  hlo_computation *called[2];
  for (int c = 0; c < 2; c++) {
    called[c] = hlo_computation_create(l->m, c ? STRV("linalg_body") : STRV("linalg_condition"));
    l->b = hlo_builder_end(called[c]);
    l->b.loc = outer.loc;
    hv p = hlo_build_parameter(&l->b, tuple->shape, STRV("carried"));
    for (int k = 0; k < n; k++) now[k] = c || !k ? hlo_build_get(&l->b, p, k) : NULL;
    if (!c) {
      called[c]->root = hlo_build_compare(&l->b, HLO_COMPARISON_DIRECTION_LT, now[0], index_constant(l, l->n));
      continue;
    }
    hv next = step(l, now[0], now + 1, now[n - 1]);
    now[0] = hlo_build_binary(&l->b, HLO_OP_ADD, now[0], index_constant(l, 1));
    now[n - 1] = next;
    called[c]->root = hlo_build_tuple(&l->b, n, now);
  }
  l->b = outer;
  hlo_attrs_while *attrs = hlo_attrs_create(l->m->arena, HLO_ATTR_LIST_while);
  attrs->known_trip_count = l->n;
  hv loop = hlo_build(&l->b, HLO_OP_WHILE, NULL, 1, &tuple, 2, called, attrs);
  return hlo_build_get(&l->b, loop, n - 1);
}

static hv cholesky_adapter(matrix_loop *l, hv t, hv *inputs, hv result) {
  return cholesky_step(l, t, inputs[0], result);
}
static hv solve_adapter(matrix_loop *l, hv t, hv *inputs, hv result) {
  return solve_step(l, t, inputs[0], inputs[1], result);
}

static matrix_loop begin(hlo_instr *i, bool wide, hlo_dtype *type) {
  matrix_loop l = {.b = hlo_builder_before(i), .m = i->parent->module, .rank = i->shape->rank};
  hlo_dtype t = i->shape->dtype;
  *type = t == HLO_C64 && wide ? HLO_C128 : hlo_dtype_is_complex(t) || t == HLO_F64 ? t : wide ? HLO_F64 : HLO_F32;
  return l;
}

static hlo_instr *expand_cholesky(hlo_instr *i, bool wide) {
  hlo_dtype type;
  matrix_loop l = begin(i, wide, &type);
  bool lower = HLO_ATTRS(i, cholesky)->lower;
  hv a = hlo_build_convert(&l.b, i->operands[0], type);
  l.n = i->shape->dims[l.rank - 1];
  if (!lower) a = conjugate(&l, transposed(&l.b, a));
  hv r = run_loop(&l, 1, &a, a->shape, cholesky_adapter);
  if (!lower) r = conjugate(&l, transposed(&l.b, r));
  return hlo_build_convert(&l.b, r, i->shape->dtype);
}

static hlo_instr *expand_solve(hlo_instr *i, bool wide) {
  const hlo_attrs_triangular_solve *at = HLO_ATTRS(i, triangular_solve);
  hlo_dtype type;
  matrix_loop l = begin(i, wide, &type);
  hv in[2] = {hlo_build_convert(&l.b, i->operands[0], type), hlo_build_convert(&l.b, i->operands[1], type)};
  bool adjoint = at->transpose_a == HLO_TRANSPOSE_ADJOINT,
       turned = adjoint || at->transpose_a == HLO_TRANSPOSE_TRANSPOSE;
  bool flip = turned != !at->left_side;
  if (flip) in[0] = transposed(&l.b, in[0]);
  if (adjoint) in[0] = conjugate(&l, in[0]);
  if (!at->left_side) in[1] = transposed(&l.b, in[1]);
  l.n = in[0]->shape->dims[l.rank - 1];
  l.columns = in[1]->shape->dims[l.rank - 1];
  l.backward = at->lower == flip;
  l.unit = at->unit_diagonal;
  hv r = run_loop(&l, 2, in, in[1]->shape, solve_adapter);
  if (!at->left_side) r = transposed(&l.b, r);
  return hlo_build_convert(&l.b, r, i->shape->dtype);
}

lemnos_status hlo_opt_linalg_expander(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  for (int c = 0; c < m->n_computations; c++)
    HLO_FOR_EACH_SAFE (i, m->computations[c]) {
      if (i->op != HLO_OP_CHOLESKY && i->op != HLO_OP_TRIANGULAR_SOLVE) continue;
      if (!algsimp_plain(i) || i->shape->rank > MAX_RANK - 2 || hlo_shape_elements(i->shape) == 0 ||
          !hlo_opt_allowed(ctx))
        continue;
      bool wide = hlo_opt_wide_inside(ctx);
      hlo_instr *r = i->op == HLO_OP_CHOLESKY ? expand_cholesky(i, wide) : expand_solve(i, wide);
      if (r->shape != i->shape) LEMNOS_PANIC("linalg-expander: %s changes its shape", hlo_op_table[i->op].text_name);
      expand_finish(i, r);
      *changed = true;
    }
  return LEMNOS_SUCCESS;
}
