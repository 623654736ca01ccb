// SPDX-License-Identifier: Apache-2.0
// Elements of reductions, with any body and any number of operands.
//
// Reduced dimensions become loops, outermost first. The run of reduced dimensions at the end, where elements are
// neighbours, is one loop: by vectors, each lane with an accumulator of its own (started from the body's identity, or
// from the first vector where that is not known), then the lanes are combined by a halving tree, then with what was
// left over. When the index itself varies over the lanes (a column reduction), every lane reduces its own column. Order
// depends on shape and target only.
#include <math.h>

#include "hlo/kernel/emit_nest.h"

#define BIN(op, x, y) kernel_bin(b, KERNEL_OP_##op, (x), (y))

// Sums and products of small floats are accumulated in f32 and rounded once at the end.
static bool binary_body(const hlo_instr *i, hlo_op *op) {
  bool swapped;
  return i->called[0]->n_params == 2 && hlo_computation_is_binary(i->called[0], op, &swapped) &&
         hlo_op_has(*op, HLO_TRAIT_C);
}

static bool wide_body(const hlo_instr *i, hlo_op *op) {
  return binary_body(i, op) && emit_dtype_is_small(i->operands[0]->shape->dtype) &&
         (*op == HLO_OP_ADD || *op == HLO_OP_MULTIPLY);
}

hlo_dtype emit_reduce_dtype(const hlo_instr *i, int leaf) {
  hlo_op op;
  return wide_body(i, &op) ? HLO_F32 : i->operands[leaf]->shape->dtype;
}

void emit_reduce_combine(emit_ctx *c, const hlo_instr *i, const emit_value *acc, const emit_value *x, emit_value *out) {
  hlo_op op;
  int n = i->n_operands / 2;
  if (wide_body(i, &op)) {
    out[0] = emit_binary(c, op, HLO_F32, acc[0], (emit_value){emit_up(c, x[0].re), NULL});
    return;
  }
  emit_value *args = ARENA_ARRAY(c->a, emit_value, 2 * n);
  memcpy(args, acc, sizeof *acc * (size_t)n);
  memcpy(args + n, x, sizeof *x * (size_t)n);
  emit_body(c, i->called[0], args, out);
}

// The value that changes nothing: for the bodies that have a vector form of their own.
static bool identity(emit_ctx *c, hlo_op op, hlo_dtype t, emit_value *out) {
  kernel_builder *b = &c->b;
  kernel_scalar s = kernel_scalar_of(t);
  bool is_float = hlo_dtype_is_float(t), is_signed = hlo_dtype_is_signed(t);
  int bits = hlo_dtype_table[t].bits;
  if (hlo_dtype_is_complex(t) || (is_float && emit_dtype_is_small(t))) return false;
  int64_t ones = t == HLO_PRED ? 1 : is_signed || bits == 64 ? -1 : (INT64_C(1) << bits) - 1;
  int64_t most = t == HLO_PRED || !is_signed ? ones : (int64_t)((UINT64_C(1) << (bits - 1)) - 1);
  int64_t least = is_signed ? -most - 1 : 0;
  switch (op) {
    case HLO_OP_ADD: out->re = is_float ? kernel_float(b, s, -0.0) : kernel_int(b, s, 0); break;
    case HLO_OP_MULTIPLY: out->re = is_float ? kernel_float(b, s, 1) : kernel_int(b, s, 1); break;
    case HLO_OP_MAXIMUM: out->re = is_float ? kernel_float(b, s, -INFINITY) : kernel_int(b, s, least); break;
    case HLO_OP_MINIMUM: out->re = is_float ? kernel_float(b, s, INFINITY) : kernel_int(b, s, most); break;
    case HLO_OP_AND: out->re = kernel_int(b, s, ones); break;
    case HLO_OP_OR:
    case HLO_OP_XOR: out->re = kernel_int(b, s, 0); break;
    default: return false;
  }
  out->im = NULL;
  return true;
}

// Lanes into one: halves are combined by the body until one lane is left.
static void combine_lanes(emit_ctx *c, const hlo_instr *i, int n, int lanes, emit_value *v) {
  emit_value *halves[2] = {ARENA_ARRAY(c->a, emit_value, n), ARENA_ARRAY(c->a, emit_value, n)};
  while (lanes > 1) {
    lanes /= 2;
    for (int h = 0; h < 2; h++)
      for (int k = 0; k < n; k++)
        for (int part = 0; part < (v[k].im ? 2 : 1); part++) {
          kernel_value *x = part ? v[k].im : v[k].re;
          kernel_type t = kernel_type_make((kernel_scalar)x->type.scalar, lanes);
          kernel_instr *e = kernel_emit(&c->b, KERNEL_OP_EXTRACT, 1, &t, 1, &x);
          e->imm.i = h * lanes;
          if (part)
            halves[h][k].im = &e->results[0];
          else
            halves[h][k] = (emit_value){&e->results[0], NULL};
        }
    emit_reduce_combine(c, i, halves[0], halves[1], v);
  }
}

// --- which loops ---------------------------------------------------------------------------------

static bool is_reduced(const hlo_instr *i, int d) {
  return hlo_i64s_contains(HLO_ATTRS(i, dimensions)->dimensions, d);
}

// First dimension of the trailing run: reduced (or of size 1), and together in what the operands are computed from.
static int trailing_first(emit_ctx *c, const hlo_instr *i) {
  const hlo_shape *in = i->operands[0]->shape;
  int first = in->rank;
  while (first > 0 && is_reduced(i, first - 1)) first--;
  for (int o = 0; o < i->n_operands / 2; o++) {
    emit_space s = emit_space_of(c, i->operands[o], in, NULL);
    int start = s.n_groups ? in->rank - s.groups[s.n_groups - 1] : in->rank;
    if (start > first && first < in->rank) first = start;
  }
  return first;
}

int64_t emit_reduce_trailing(emit_ctx *c, const hlo_instr *i) {
  const hlo_shape *in = i->operands[0]->shape;
  int64_t n = 1;
  int first = trailing_first(c, i);
  if (first == in->rank) return 0;
  for (int d = first; d < in->rank; d++) n *= in->dims[d];
  return n;
}

typedef struct reduction {
  const hlo_instr *i;
  emit_index *x;
  int n, first;      // operands, first dimension of the trailing run
  int64_t trailing;  // its elements, 0: none
  int kept[64];      // input dimension -> dimension of x
  nest outer;
  int loop_of[64];
  kernel_value *lo, *hi;  // of the split coordinate; NULL: all
  int64_t lo_multiple;
} reduction;

static emit_index *input_index(emit_ctx *c, reduction *r, emit_coord trailing, int lanes) {
  const hlo_shape *in = r->i->operands[0]->shape;
  emit_group groups[64];
  int n = 0;
  for (int d = 0; d < r->first; d++) {
    emit_coord at = is_reduced(r->i, d) ? r->outer.at[r->loop_of[d]] : emit_index_coord(c, r->x, r->kept[d]);
    groups[n++] = (emit_group){d, 1, at};
  }
  if (r->first < in->rank) groups[n++] = (emit_group){r->first, in->rank - r->first, trailing};
  return emit_index_create(c, in->rank, in->dims, lanes, n, groups);
}

static void step(emit_ctx *c, reduction *r, emit_index *at, int lanes, kernel_value *const *acc, const emit_value *like,
                 kernel_value **next) {
  emit_value *now = ARENA_ARRAY(c->a, emit_value, r->n), *x = ARENA_ARRAY(c->a, emit_value, r->n);
  unflatten(acc, like, r->n, now);
  for (int o = 0; o < r->n; o++) {
    x[o] = emit_element(c, r->i->operands[o], at);
    x[o].re = kernel_splat(&c->b, x[o].re, lanes);
    if (x[o].im) x[o].im = kernel_splat(&c->b, x[o].im, lanes);
  }
  emit_reduce_combine(c, r->i, now, x, x);
  flatten(c, x, r->n, lanes, next);
}

// One loop over the trailing run from lo to hi.
static kernel_value **trailing_loop(emit_ctx *c, reduction *r, kernel_value *lo, kernel_value *hi, int lanes,
                                    int n_flat, kernel_value *const *acc, const emit_value *like, int64_t multiple) {
  kernel_builder *b = &c->b;
  kernel_for f = kernel_for_begin(b, lo, hi, kernel_index(b, lanes), n_flat, acc);
  emit_coord at = emit_coord_of(f.iv, multiple);
  at.stride = lanes > 1 ? 1 : 0;
  kernel_value *next[256];
  step(c, r, input_index(c, r, at, lanes), lanes, f.args, like, next);
  kernel_for_end(b, &f, next);
  return f.results;
}

// Vectors over the trailing run. Carried: vector accumulators, then scalar ones for what is left over.
static void reduce_vectors(emit_ctx *c, reduction *r, int lanes, const emit_value *start, const int64_t *sizes,
                           int n_outer, const emit_value *init, emit_value *results) {
  kernel_builder *b = &c->b;
  kernel_value *flat[256];
  int n_flat = flatten(c, start, r->n, lanes, flat);
  flatten(c, init, r->n, 1, flat + n_flat);
  nest_begin(c, &r->outer, n_outer, sizes, 2 * n_flat, flat);
  kernel_value *lo = r->lo ? r->lo : kernel_index(b, 0), *hi = r->hi ? r->hi : kernel_index(b, r->trailing), *bulk = hi;
  bool whole = r->trailing % lanes == 0 && (!r->lo || r->lo_multiple % lanes == 0);
  if (!whole) {
    kernel_value *size = BIN(SUB, hi, lo);
    bulk = BIN(SUB, hi, BIN(REM_U, size, kernel_index(b, lanes)));
  }
  int64_t multiple = r->lo_multiple % lanes == 0 ? lanes : 1;
  kernel_value *next[256];
  kernel_value **vectors = trailing_loop(c, r, lo, bulk, lanes, n_flat, r->outer.carried, start, multiple);
  memcpy(next, vectors, sizeof *next * (size_t)n_flat);
  kernel_value **scalars = r->outer.carried + n_flat;
  if (!whole) scalars = trailing_loop(c, r, bulk, hi, 1, n_flat, scalars, init, 1);
  memcpy(next + n_flat, scalars, sizeof *next * (size_t)n_flat);
  kernel_value **out = nest_end(c, &r->outer, next);
  emit_value *wide = ARENA_ARRAY(c->a, emit_value, r->n), *narrow = ARENA_ARRAY(c->a, emit_value, r->n);
  unflatten(out, start, r->n, wide);
  unflatten(out + n_flat, init, r->n, narrow);
  combine_lanes(c, r->i, r->n, lanes, wide);
  emit_reduce_combine(c, r->i, narrow, wide, results);
}

static void reduce_scalars(emit_ctx *c, reduction *r, const int64_t *sizes, int n_outer, const emit_value *init,
                           emit_value *results) {
  kernel_builder *b = &c->b;
  int lanes = emit_index_varies(r->x) ? r->x->lanes : 1;
  kernel_value *flat[256], *next[256];
  int n_flat = flatten(c, init, r->n, lanes, flat);
  bool split_outer = r->lo && r->trailing == 0;
  kernel_for split = {0};
  kernel_value **acc = flat;
  if (split_outer) {  // the first reduced dimension is walked from lo to hi
    split = kernel_for_begin(b, r->lo, r->hi, kernel_index(b, 1), n_flat, flat);
    acc = split.args;
    nest_begin(c, &r->outer, n_outer - 1, sizes + 1, n_flat, acc);
    for (int l = n_outer - 1; l > 0; l--) r->outer.at[l] = r->outer.at[l - 1];
    r->outer.at[0] = emit_coord_of(split.iv, 1);
  } else {
    nest_begin(c, &r->outer, n_outer, sizes, n_flat, acc);
  }
  kernel_value **out;
  if (r->trailing) {
    kernel_value *lo = r->lo ? r->lo : kernel_index(b, 0), *hi = r->hi ? r->hi : kernel_index(b, r->trailing);
    kernel_for f = kernel_for_begin(b, lo, hi, kernel_index(b, 1), n_flat, r->outer.carried);
    step(c, r, input_index(c, r, emit_coord_of(f.iv, 1), r->x->lanes), lanes, f.args, init, next);
    kernel_for_end(b, &f, next);
    out = nest_end(c, &r->outer, f.results);
  } else {
    step(c, r, input_index(c, r, (emit_coord){0}, r->x->lanes), lanes, r->outer.carried, init, next);
    out = nest_end(c, &r->outer, next);
  }
  if (split_outer) {
    kernel_for_end(b, &split, out);
    out = split.results;
  }
  unflatten(out, init, r->n, results);
}

void emit_reduce_range(emit_ctx *c, const hlo_instr *i, emit_index *x, kernel_value *lo, kernel_value *hi,
                       int64_t lo_multiple, emit_value *results) {
  reduction r = {.i = i, .x = x, .n = i->n_operands / 2, .lo = lo, .hi = hi, .lo_multiple = lo ? lo_multiple : 0};
  const hlo_shape *in = i->operands[0]->shape;
  int64_t sizes[64];
  int kept = 0, n_outer = 0;
  r.first = trailing_first(c, i);
  r.trailing = r.first < in->rank ? emit_reduce_trailing(c, i) : 0;
  bool empty = false;
  for (int d = 0; d < in->rank; d++) {
    if (!is_reduced(i, d)) {
      r.kept[d] = kept++;
    } else {
      empty |= in->dims[d] == 0;
      if (d >= r.first) continue;
      r.loop_of[d] = n_outer;
      sizes[n_outer++] = in->dims[d];
    }
  }
  emit_value *init = ARENA_ARRAY(c->a, emit_value, r.n), *start = ARENA_ARRAY(c->a, emit_value, r.n);
  for (int o = 0; o < r.n; o++) {
    init[o] = emit_element(c, i->operands[r.n + o], &c->scalar_index);
    init[o].re = emit_reduce_dtype(i, o) == i->operands[o]->shape->dtype ? init[o].re : emit_up(c, init[o].re);
  }
  hlo_op op;
  int lanes = emit_vector_lanes(c);
  if (c->t->cls == HLO_TARGET_CPU && r.n == 1 && lanes * 4 <= 64 && r.trailing >= lanes * 16) lanes *= 4;
  bool vectors = !emit_index_varies(x) && lanes > 1 && r.trailing >= 2 * lanes;
  if (c->t->cls != HLO_TARGET_CPU) vectors &= r.trailing % lanes == 0 && (!lo || lo_multiple % lanes == 0);
  if (vectors) vectors = r.n == 1 && binary_body(i, &op) && identity(c, op, emit_reduce_dtype(i, 0), &start[0]);
  if (empty)
    memcpy(results, init, sizeof *init * (size_t)r.n);
  else if (vectors)
    reduce_vectors(c, &r, lanes, start, sizes, n_outer, init, results);
  else
    reduce_scalars(c, &r, sizes, n_outer, init, results);
}

void emit_reduce(emit_ctx *c, const hlo_instr *i, emit_index *x, emit_value *results) {
  emit_reduce_range(c, i, x, NULL, NULL, 0, results);
  for (int o = 0; o < i->n_operands / 2; o++) {
    hlo_dtype t = i->operands[o]->shape->dtype;
    if (emit_reduce_dtype(i, o) != t) results[o].re = emit_down(c, results[o].re, t);
  }
}
