// SPDX-License-Identifier: Apache-2.0
// Coordinates and indices of the element emitter: affine-over-lanes arithmetic, splitting and merging of dimension
// groups.
//
// Divisibility does the work: a vector of lanes stays inside one row of length d exactly when base and d share a factor
// that the lanes' extent does not exceed; then quotient and remainder are affine again. Only otherwise are vectors
// divided.
#include "hlo/kernel/emit.h"

static int64_t gcd(int64_t x, int64_t y) {
  while (y) {
    int64_t r = x % y;
    x = y, y = r;
  }
  return x < 0 ? -x : x;
}

emit_coord emit_coord_of(kernel_value *v, int64_t multiple) {
  if (v->def && v->def->op == KERNEL_OP_CONST) multiple = v->def->imm.i;
  return (emit_coord){.base = v, .multiple = multiple};
}

emit_coord emit_coord_const(emit_ctx *c, int64_t x) {
  return emit_coord_of(kernel_index(&c->b, x), 1);
}

bool emit_coord_varies(emit_coord x) {
  return x.vec || x.stride != 0;
}

static kernel_value *splat_vector(emit_ctx *c, emit_coord x, int lanes) {
  if (x.vec) return x.vec;
  kernel_value *base = kernel_splat(&c->b, x.base, lanes);
  if (x.stride == 0 || lanes == 1) return base;
  kernel_value *lane = kernel_lanes(&c->b, c->k->index, lanes);
  lane = kernel_bin(&c->b, KERNEL_OP_MUL, lane, kernel_index(&c->b, x.stride));
  return kernel_bin(&c->b, KERNEL_OP_ADD, base, lane);
}

kernel_value *emit_coord_value(emit_ctx *c, emit_coord x, int lanes) {
  return emit_coord_varies(x) ? splat_vector(c, x, lanes) : x.base;
}

emit_coord emit_coord_add(emit_ctx *c, emit_coord x, emit_coord y, int lanes) {
  if (x.vec || y.vec) {
    kernel_value *v = kernel_bin(&c->b, KERNEL_OP_ADD, splat_vector(c, x, lanes), splat_vector(c, y, lanes));
    return (emit_coord){.base = kernel_index(&c->b, 0), .vec = v, .multiple = 1};
  }
  emit_coord r = emit_coord_of(kernel_bin(&c->b, KERNEL_OP_ADD, x.base, y.base), gcd(x.multiple, y.multiple));
  r.stride = x.stride + y.stride;
  return r;
}

emit_coord emit_coord_scale(emit_ctx *c, emit_coord x, int64_t k) {
  if (x.vec) {
    x.vec = kernel_bin(&c->b, KERNEL_OP_MUL, x.vec, kernel_index(&c->b, k));
    return x;
  }
  emit_coord r = emit_coord_of(kernel_bin(&c->b, KERNEL_OP_MUL, x.base, kernel_index(&c->b, k)), x.multiple * k);
  r.stride = x.stride * k;
  return r;
}

emit_coord emit_coord_offset(emit_ctx *c, emit_coord x, int64_t k) {
  if (k == 0) return x;
  if (x.vec) {
    x.vec = kernel_bin(&c->b, KERNEL_OP_ADD, x.vec, kernel_index(&c->b, k));
    return x;
  }
  emit_coord r = emit_coord_of(kernel_bin(&c->b, KERNEL_OP_ADD, x.base, kernel_index(&c->b, k)), gcd(x.multiple, k));
  r.stride = x.stride;
  return r;
}

static emit_coord divide_base(emit_ctx *c, emit_coord x, int64_t d) {
  kernel_value *q = kernel_bin(&c->b, KERNEL_OP_DIV_U, x.base, kernel_index(&c->b, d));
  return emit_coord_of(q, x.multiple % d == 0 ? x.multiple / d : 1);
}

static emit_coord remainder_base(emit_ctx *c, emit_coord x, int64_t d) {
  if (x.multiple % d == 0) return emit_coord_const(c, 0);
  return emit_coord_of(kernel_bin(&c->b, KERNEL_OP_REM_U, x.base, kernel_index(&c->b, d)), gcd(x.multiple, d));
}

void emit_coord_divide(emit_ctx *c, emit_coord x, int64_t d, int lanes, emit_coord *q, emit_coord *r) {
  if (d == 1) {
    *q = x, *r = emit_coord_const(c, 0);
    return;
  }
  if (!x.vec) {
    int64_t g = gcd(x.multiple, d), reach = x.stride * (lanes - 1);
    bool one_row = x.stride == 0 || (x.stride > 0 && reach < (g == 0 ? d : g));
    if (one_row || x.stride % d == 0) {
      *q = divide_base(c, x, d), *r = remainder_base(c, x, d);
      if (one_row)
        r->stride = x.stride;
      else
        q->stride = x.stride / d;
      return;
    }
  }
  kernel_value *v = splat_vector(c, x, lanes), *dv = kernel_index(&c->b, d);
  kernel_value *zero = kernel_index(&c->b, 0);
  *q = (emit_coord){.base = zero, .vec = kernel_bin(&c->b, KERNEL_OP_DIV_U, v, dv), .multiple = 1};
  *r = (emit_coord){.base = zero, .vec = kernel_bin(&c->b, KERNEL_OP_REM_U, v, dv), .multiple = 1};
}

// --- indices -------------------------------------------------------------------------------------

emit_index *emit_index_create(emit_ctx *c, int rank, const int64_t *dims, int lanes, int n_groups,
                              const emit_group *groups) {
  emit_index *x = ARENA_NEW(c->a, emit_index);
  x->rank = rank;
  x->dims = arena_copy(c->a, dims, sizeof *dims * (size_t)rank);
  x->lanes = lanes;
  x->n_groups = n_groups;
  x->groups = arena_copy(c->a, groups, sizeof *groups * (size_t)n_groups);
  x->coords = ARENA_ARRAY(c->a, emit_coord, rank + 1);
  return x;
}

emit_index *emit_index_of(emit_ctx *c, int rank, const int64_t *dims, int lanes, const emit_coord *coords) {
  emit_group *groups = ARENA_ARRAY(c->a, emit_group, rank + 1);
  for (int d = 0; d < rank; d++) groups[d] = (emit_group){d, 1, coords[d]};
  return emit_index_create(c, rank, dims, lanes, rank, groups);
}

bool emit_index_varies(const emit_index *x) {
  if (x->lanes == 1) return false;
  for (int g = 0; g < x->n_groups; g++)
    if (emit_coord_varies(x->groups[g].at)) return true;
  return false;
}

static bool coord_visible(const emit_ctx *c, emit_coord x) {
  return x.base && emit_visible(c, x.base) && (!x.vec || emit_visible(c, x.vec));
}

static void split_group(emit_ctx *c, emit_index *x, const emit_group *g) {
  emit_coord rest = g->at;
  for (int d = g->first + g->count - 1; d > g->first; d--) {
    emit_coord q;
    emit_coord_divide(c, rest, x->dims[d], x->lanes, &q, &x->coords[d]);
    rest = q;
  }
  x->coords[g->first] = rest;
}

emit_coord emit_index_coord(emit_ctx *c, emit_index *x, int d) {
  for (int g = 0; g < x->n_groups; g++) {
    const emit_group *group = &x->groups[g];
    if (d < group->first || d >= group->first + group->count) continue;
    if (group->count == 1) return group->at;
    if (x->dims[d] == 1) return emit_coord_const(c, 0);
    if (!coord_visible(c, x->coords[d])) split_group(c, x, group);
    return x->coords[d];
  }
  LEMNOS_PANIC("dimension %d is in no group", d);
}

void emit_strides(const hlo_shape *s, int64_t *strides) {
  int64_t stride = 1;
  for (int n = 0; n < s->rank; n++) {
    int d = s->layout ? s->layout[n] : s->rank - 1 - n;
    strides[d] = stride;
    stride *= s->dims[d];
  }
}

emit_coord emit_index_linear(emit_ctx *c, emit_index *x, const hlo_shape *s) {
  int64_t *strides = ARENA_ARRAY(c->a, int64_t, x->rank + 1);
  emit_strides(s, strides);
  emit_coord sum = {0};
  for (int g = 0; g < x->n_groups; g++) {
    const emit_group *group = &x->groups[g];
    for (int d = s->layout ? group->first : group->first + group->count - 1; d < group->first + group->count; d++) {
      if (s->layout && s->dims[d] == 1) continue;
      emit_coord at = s->layout ? emit_index_coord(c, x, d) : group->at;
      at = emit_coord_scale(c, at, strides[d]);
      sum = sum.base ? emit_coord_add(c, sum, at, x->lanes) : at;
    }
  }
  return sum.base ? sum : emit_coord_const(c, 0);
}

emit_index *emit_index_select(emit_ctx *c, emit_index *x, int rank, const int64_t *dims, const int64_t *source,
                              const emit_coord *fixed) {
  if (rank == 0) return &c->scalar_index;
  emit_group *groups = ARENA_ARRAY(c->a, emit_group, rank + 1);
  int n = 0;
  for (int d = 0; d < rank;) {
    if (source[d] < 0) {
      groups[n++] = (emit_group){d, 1, fixed[d]};
      d++;
      continue;
    }
    int whole = 0;
    for (int g = 0; g < x->n_groups; g++) {
      const emit_group *group = &x->groups[g];
      if (group->first != source[d] || d + group->count > rank) continue;
      whole = group->count;
      for (int e = 0; e < group->count; e++)
        if (source[d + e] != group->first + e || dims[d + e] != x->dims[group->first + e]) whole = 0;
      if (whole) groups[n++] = (emit_group){d, whole, group->at};
      break;
    }
    if (whole == 0) {
      groups[n++] = (emit_group){d, 1, dims[d] == 1 ? emit_coord_const(c, 0) : emit_index_coord(c, x, (int)source[d])};
      whole = 1;
    }
    d += whole;
  }
  return emit_index_create(c, rank, dims, x->lanes, n, groups);
}

static int64_t group_size(const emit_index *x, int g) {
  int64_t n = 1;
  for (int d = 0; d < x->groups[g].count; d++) n *= x->dims[x->groups[g].first + d];
  return n;
}

// Matches runs of x's groups with runs of new dimensions of the same product; each match becomes one group.
emit_index *emit_index_reshape(emit_ctx *c, emit_index *x, int rank, const int64_t *dims) {
  if (rank == 0) return &c->scalar_index;
  emit_group *groups = ARENA_ARRAY(c->a, emit_group, rank + 1);
  int n = 0, g = 0;
  for (int d = 0; d < rank;) {
    emit_coord at = {0};
    int64_t old_product = 1, new_product = 1;
    int first = d;
    do {
      if (new_product <= old_product && d < rank && !(new_product == old_product && d > first)) {
        new_product *= dims[d++];
      } else if (g < x->n_groups) {
        int64_t size = group_size(x, g);
        at = at.base ? emit_coord_add(c, emit_coord_scale(c, at, size), x->groups[g].at, x->lanes) : x->groups[g].at;
        old_product *= size;
        g++;
      } else if (d < rank) {
        new_product *= dims[d++];
      } else {
        break;
      }
    } while (new_product != old_product);
    while (d < rank && dims[d] == 1) d++;
    groups[n++] = (emit_group){first, d - first, at.base ? at : emit_coord_const(c, 0)};
  }
  return emit_index_create(c, rank, dims, x->lanes, n, groups);
}
