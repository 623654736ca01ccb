// SPDX-License-Identifier: Apache-2.0
// ragged_dot in its general form, element by element (dot.c has a faster path for the common case of a leading ragged
// dimension without batches). The ragged dimension of lhs is split into consecutive groups of the given sizes:
//   free:        out[b,m,n]   = sum over k of lhs[b,m,k] * rhs[group of m,b,k,n]; 0 behind the last group
//   contracting: out[g,b,m,n] = sum over the k of group g
//   batching:    a plain dot
#include "interp/interp_internal.h"

typedef struct axis {  // one dimension of the iteration space: strides in the arrays that it indexes
  int64_t size, lhs, rhs, out, prefix;
} axis;

typedef struct ragged {
  int n_outer, n_inner;
  axis outer[2 * INTERP_MAX_RANK], inner[INTERP_MAX_RANK];
  int ragged_outer, ragged_inner;  // which axis is ragged, -1: not there
  int64_t groups, length;
  int32_t *group_of;             // [prefix][length], -1: none
  int64_t rhs_group, out_group;  // strides by group
  interp_math math;
  const char *lhs, *rhs;  // converted
} ragged;

static lemnos_status groups_init(interp_call *c, ragged *r, const interp_array *sizes, int64_t length) {
  r->groups = sizes->dims[sizes->rank - 1];
  r->length = length;
  int64_t prefixes = r->groups ? interp_count(sizes) / r->groups : 1;
  size_t bytes = sizeof(int32_t) * (size_t)(prefixes * length) + 4;
  r->group_of = interp_scratch(c->cx, bytes);
  if (!r->group_of) return interp_scratch_failed(c);
  for (int64_t p = 0; p < prefixes; p++) {
    int64_t at = 0;
    for (int64_t g = 0; g < r->groups; g++) {
      int64_t n = interp_index_get(sizes, p * r->groups + g);
      for (int64_t k = 0; k < n && at < length; k++) r->group_of[p * length + at++] = (int32_t)g;
    }
    while (at < length) r->group_of[p * length + at++] = -1;
  }
  return LEMNOS_SUCCESS;
}

static void accumulate(const ragged *r, int64_t l, int64_t x, void *sum) {
  if (r->math == INTERP_MATH_INT) {
    *(uint64_t *)sum += ((const uint64_t *)r->lhs)[l] * ((const uint64_t *)r->rhs)[x];
  } else if (r->math == INTERP_MATH_F64) {
    *(double *)sum += ((const double *)r->lhs)[l] * ((const double *)r->rhs)[x];
  } else {
    const double *a = (const double *)r->lhs + 2 * l, *b = (const double *)r->rhs + 2 * x;
    double *s = sum;
    s[0] += a[0] * b[0] - a[1] * b[1];
    s[1] += a[0] * b[1] + a[1] * b[0];
  }
}

// The sum for one output position; group: of a free ragged dimension, or the output's group of a contracting one (-1:
// all).
static void sum_at(const ragged *r, int64_t l, int64_t x, int64_t prefix, int64_t group, void *sum) {
  int64_t index[INTERP_MAX_RANK] = {0}, total = 1;
  for (int k = 0; k < r->n_inner; k++) total *= r->inner[k].size;
  for (int64_t t = 0; t < total; t++) {
    bool take = true;
    if (r->ragged_inner >= 0) {
      int64_t p = prefix;
      for (int k = 0; k < r->n_inner; k++) p += index[k] * r->inner[k].prefix;
      take = r->group_of[p * r->length + index[r->ragged_inner]] == group;
    }
    if (take) accumulate(r, l, x, sum);
    for (int k = r->n_inner - 1; k >= 0; k--) {
      l += r->inner[k].lhs;
      x += r->inner[k].rhs;
      if (++index[k] < r->inner[k].size) break;
      l -= index[k] * r->inner[k].lhs;
      x -= index[k] * r->inner[k].rhs;
      index[k] = 0;
    }
  }
}

static lemnos_status loop(interp_call *c, const ragged *r, char *out, interp_array *result) {
  int64_t index[2 * INTERP_MAX_RANK] = {0}, total = 1, mb = interp_math_bytes(r->math);
  for (int k = 0; k < r->n_outer; k++) total *= r->outer[k].size;
  for (int64_t t = 0; t < total; t++) {
    if ((t & 1023) == 0) LEMNOS_TRY(interp_poll(c->cx));
    int64_t l = 0, x = 0, o = 0, prefix = 0;
    for (int k = 0; k < r->n_outer; k++) {
      l += index[k] * r->outer[k].lhs;
      x += index[k] * r->outer[k].rhs;
      o += index[k] * r->outer[k].out;
      prefix += index[k] * r->outer[k].prefix;
    }
    if (r->ragged_inner >= 0) {
      for (int64_t g = 0; g < r->groups; g++) sum_at(r, l, x, prefix, g, out + (o + g * r->out_group) * mb);
    } else {
      int64_t g = r->ragged_outer >= 0 ? r->group_of[prefix * r->length + index[r->ragged_outer]] : 0;
      if (g >= 0) sum_at(r, l, x + g * r->rhs_group, prefix, g, out + o * mb);
    }
    for (int k = r->n_outer - 1; k >= 0 && ++index[k] == r->outer[k].size; k--) index[k] = 0;
  }
  interp_cvt v;
  if (!interp_cvt_init(&v, interp_math_dtype(r->math), result->dtype))
    return interp_error(c, LEMNOS_UNIMPLEMENTED, "no conversion to the result's element type");
  interp_cvt_run(&v, interp_count(result), out, result->data);
  return LEMNOS_SUCCESS;
}

static lemnos_status widen(interp_call *c, const interp_array *a, interp_math m, const char **out) {
  interp_cvt v;
  size_t bytes = (size_t)(interp_count(a) * interp_math_bytes(m)) + 16;
  char *x = interp_scratch(c->cx, bytes);
  if (!x) return interp_scratch_failed(c);
  if (!interp_cvt_init(&v, a->dtype, interp_math_dtype(m)))
    return interp_error(c, LEMNOS_UNIMPLEMENTED, "no conversion of this element type");
  interp_cvt_run(&v, interp_count(a), a->data, x);
  *out = x;
  return LEMNOS_SUCCESS;
}

// What dynamic sizes leave to be checked: batch and contracted sizes, groups of rhs, sizes of groups per prefix.
static lemnos_status check_sizes(const interp_call *c, bool batch, bool contracting) {
  const hlo_attrs_ragged_dot *at = HLO_ATTRS(c->in->src, ragged_dot);
  const hlo_dot_dnums *d = &at->dnums;
  const interp_array *lhs = interp_arg(c, 0), *rhs = interp_arg(c, 1), *sizes = interp_arg(c, 2);
  int64_t dim = at->lhs_ragged_dimensions.data[0];
  bool ok = true;
  int used = 0, n_prefix = sizes->rank - 1;
  for (int k = 0; k < d->lhs_batch.n; k++) {
    ok = ok && lhs->dims[d->lhs_batch.data[k]] == rhs->dims[d->rhs_batch.data[k]];
    if (!batch && used < n_prefix) ok = ok && sizes->dims[used++] == lhs->dims[d->lhs_batch.data[k]];
  }
  for (int k = 0; k < lhs->rank && !batch && !contracting && k < dim; k++)
    if (!hlo_i64s_contains(d->lhs_batch, k) && !hlo_i64s_contains(d->lhs_contracting, k) && used < n_prefix)
      ok = ok && sizes->dims[used++] == lhs->dims[k];
  for (int k = 0; k < d->lhs_contracting.n; k++) {
    int64_t a = d->lhs_contracting.data[k];
    ok = ok && lhs->dims[a] == rhs->dims[d->rhs_contracting.data[k]];
    if (a == dim) used = n_prefix;
    if (contracting && used < n_prefix) ok = ok && sizes->dims[used++] == lhs->dims[a];
  }
  if (at->rhs_group_dimensions.n)
    ok = ok && rhs->dims[at->rhs_group_dimensions.data[0]] == sizes->dims[sizes->rank - 1];
  return ok ? LEMNOS_SUCCESS : interp_error(c, LEMNOS_INVALID_ARGUMENT, "operands whose sizes do not fit each other");
}

lemnos_status interp_run_ragged_dot(interp_call *c) {
  const hlo_attrs_ragged_dot *at = HLO_ATTRS(c->in->src, ragged_dot);
  const hlo_dot_dnums *d = &at->dnums;
  const interp_array *lhs = interp_arg(c, 0), *rhs = interp_arg(c, 1), *sizes = interp_arg(c, 2);
  interp_array *out = interp_result(c, 0);
  int64_t ls[INTERP_MAX_RANK], rs[INTERP_MAX_RANK], os[INTERP_MAX_RANK], dim = at->lhs_ragged_dimensions.data[0],
                                                                         prefix_sizes[INTERP_MAX_RANK];
  bool batch = hlo_i64s_contains(d->lhs_batch, dim), contracting = hlo_i64s_contains(d->lhs_contracting, dim);
  ragged r = {.ragged_outer = -1, .ragged_inner = -1, .math = interp_math_for(lhs->dtype, out->dtype, INT64_MAX)};
  LEMNOS_TRY(check_sizes(c, batch, contracting));
  interp_strides(lhs, ls);
  interp_strides(rhs, rs);
  interp_strides(out, os);
  int o = contracting ? 1 : 0, n_prefix = sizes->rank - 1, used = 0;
  if (contracting) r.out_group = os[0];
  if (at->rhs_group_dimensions.n) r.rhs_group = rs[at->rhs_group_dimensions.data[0]];
  for (int k = n_prefix - 1, s = 1; k >= 0; k--) prefix_sizes[k] = s, s *= (int)sizes->dims[k];
  for (int k = 0; k < d->lhs_batch.n; k++) {
    int64_t a = d->lhs_batch.data[k], b = d->rhs_batch.data[k];
    r.outer[r.n_outer++] =
        (axis){lhs->dims[a], ls[a], rs[b], os[o++], !batch && used < n_prefix ? prefix_sizes[used] : 0};
    used++;
  }
  for (int k = 0; k < lhs->rank; k++) {
    if (hlo_i64s_contains(d->lhs_batch, k) || hlo_i64s_contains(d->lhs_contracting, k)) continue;
    bool before = !batch && !contracting && k < dim;
    if (k == dim) r.ragged_outer = r.n_outer;
    r.outer[r.n_outer++] = (axis){lhs->dims[k], ls[k], 0, os[o++], before && used < n_prefix ? prefix_sizes[used] : 0};
    used += before;
  }
  for (int k = 0; k < rhs->rank; k++)
    if (!hlo_i64s_contains(d->rhs_batch, k) && !hlo_i64s_contains(d->rhs_contracting, k) &&
        !hlo_i64s_contains(at->rhs_group_dimensions, k))
      r.outer[r.n_outer++] = (axis){rhs->dims[k], 0, rs[k], os[o++], 0};
  bool passed = false;
  for (int k = 0; k < d->lhs_contracting.n; k++) {
    int64_t a = d->lhs_contracting.data[k], b = d->rhs_contracting.data[k];
    if (a == dim) r.ragged_inner = r.n_inner, passed = true;
    bool before = contracting && !passed;
    r.inner[r.n_inner++] = (axis){lhs->dims[a], ls[a], rs[b], 0, before && used < n_prefix ? prefix_sizes[used] : 0};
    used += before;
  }
  if (interp_count(out) == 0) return LEMNOS_SUCCESS;
  LEMNOS_TRY(groups_init(c, &r, sizes, lhs->dims[dim]));
  LEMNOS_TRY(widen(c, lhs, r.math, &r.lhs));
  LEMNOS_TRY(widen(c, rhs, r.math, &r.rhs));
  size_t bytes = (size_t)(interp_count(out) * interp_math_bytes(r.math)) + 16;
  char *sums = interp_scratch(c->cx, bytes);
  if (!sums) return interp_scratch_failed(c);
  memset(sums, 0, bytes);
  return loop(c, &r, sums, out);
}
