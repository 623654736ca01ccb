// SPDX-License-Identifier: Apache-2.0
// Constant folding: elementwise operations (by the loops of hlo/eval.h, so that results are those of the interpreter
// bit for bit), convert, data movement and small reductions, when all operands are constants.
//
// Splats stay splats: op(splat, splat) is computed on one element whatever the shape. Everything else is folded only if
// the result is at most SMALL bytes, or no larger than its largest full-size operand, and within the pass's budget: a
// program does not grow. A broadcast that is not uniform, and iota, stay as they are; they cost less than their values.
// Needs: nothing. Leaves: no elementwise instruction whose operands are all splats.
#include "hlo/eval.h"
#include "hlo/opt/algsimp.h"

enum { SMALL = 4096, MAX_RANK = 32, MAX_OPERANDS = 64, REDUCE_LIMIT = 1 << 16 };

typedef struct folder {
  hlo_pass_ctx *ctx;
  hlo_module *m;
  hlo_instr *i;
  const hlo_literal *in[MAX_OPERANDS];
  int n;
  bool all_splat;
} folder;

static bool is_splat(const hlo_literal *l) {
  return l->splat || hlo_shape_elements(l->shape) == 1;
}

// The literals of all operands; a broadcast of a splat counts as one. False if some operand is none.
static bool gather_operands(folder *f) {
  f->n = f->i->n_operands;
  f->all_splat = true;
  if (f->n > MAX_OPERANDS) return false;
  for (int k = 0; k < f->n; k++) {
    const hlo_instr *x = f->i->operands[k];
    const hlo_literal *l = x->op == HLO_OP_CONSTANT ? hlo_constant_value(x) : algsimp_uniform(x);
    if (!l) return false;
    if (x->op != HLO_OP_CONSTANT) l = hlo_literal_splat(f->ctx->scratch, x->shape, l->data);
    f->in[k] = l;
    f->all_splat &= is_splat(l);
  }
  return true;
}

static bool worth_folding(folder *f) {
  int64_t bytes = hlo_shape_bytes(f->i->shape), largest = SMALL;
  for (int k = 0; k < f->n; k++) {
    int64_t b = f->in[k]->splat ? 0 : hlo_shape_bytes(f->in[k]->shape);
    if (b > largest) largest = b;
  }
  return bytes >= 0 && bytes <= largest && bytes <= f->ctx->fold_budget;
}

static hlo_literal *create(folder *f) {
  hlo_literal *out = NULL;
  lemnos_status s = hlo_literal_create(f->m->arena, f->i->shape, &out);
  if (s) return lemnos_status_free(s), NULL;  // no memory: not folded
  f->ctx->fold_budget -= hlo_shape_bytes(f->i->shape);
  return out;
}

static const hlo_literal *full(folder *f, const hlo_literal *l) {
  const hlo_literal *out = NULL;
  lemnos_status s = hlo_literal_expand(f->ctx->scratch, l, &out);
  if (s) return lemnos_status_free(s), NULL;
  return out;
}

// --- elementwise ---------------------------------------------------------------------------------

static const hlo_literal *fold_elementwise(folder *f) {
  hlo_dtype types[3];
  hlo_eval_param param;
  if (f->n > 3 || f->i->shape->quant) return NULL;
  for (int k = 0; k < f->n; k++) {
    types[k] = f->in[k]->shape->dtype;
    if (f->in[k]->shape->quant) return NULL;
  }
  hlo_eval_fn fn = hlo_eval_lookup(f->i->op, f->i->attrs, f->n, types, f->i->shape->dtype, &param, NULL);
  if (!fn) return NULL;
  const void *in[3];
  if (f->all_splat) {
    uint64_t element[2] = {0, 0};
    for (int k = 0; k < f->n; k++) in[k] = f->in[k]->data;
    fn(&param, 1, in, element);
    return hlo_literal_splat(f->m->arena, f->i->shape, element);
  }
  if (!worth_folding(f)) return NULL;
  for (int k = 0; k < f->n; k++) {
    const hlo_literal *l = f->in[k];
    // The scalar predicate of select and the scalar bounds of clamp.
    if (is_splat(l))
      l = full(f,
               hlo_literal_splat(f->ctx->scratch, hlo_shape_with_dtype(f->m->shapes, f->i->shape, types[k]), l->data));
    if (!l || !hlo_shape_same_dims(l->shape, f->i->shape)) return NULL;
    in[k] = l->data;
  }
  hlo_literal *out = create(f);
  if (out) fn(&param, hlo_shape_elements(f->i->shape), in, out->data);
  return out;
}

// --- data movement -------------------------------------------------------------------------------

static void row_major_strides(const hlo_shape *s, int64_t *stride) {
  int64_t n = 1;
  for (int d = s->rank - 1; d >= 0; d--) {
    stride[d] = n;
    n *= s->dims[d];
  }
}

// out[index] = in[first + sum step[d] * index[d]], for the index space `dims`; written at first_out with steps
// out_step.
static void move_elements(int rank, const int64_t *dims, int bytes, char *out, int64_t first_out,
                          const int64_t *out_step, const char *in, int64_t first, const int64_t *step) {
  int64_t index[MAX_RANK] = {0}, n = 1;
  for (int d = 0; d < rank; d++) n *= dims[d];
  for (int64_t k = 0; k < n; k++) {
    memcpy(out + first_out * bytes, in + first * bytes, (size_t)bytes);
    for (int d = rank - 1; d >= 0; d--) {
      first += step[d], first_out += out_step[d];
      if (++index[d] < dims[d]) break;
      first -= step[d] * dims[d], first_out -= out_step[d] * dims[d];
      index[d] = 0;
    }
  }
}

static const hlo_literal *fold_strided(folder *f, int64_t first, const int64_t *step) {
  const hlo_literal *in = full(f, f->in[0]);
  hlo_literal *out = in ? create(f) : NULL;
  int64_t out_step[MAX_RANK];
  row_major_strides(f->i->shape, out_step);
  if (out)
    move_elements(f->i->shape->rank, f->i->shape->dims, hlo_dtype_bytes(f->i->shape->dtype), out->data, 0, out_step,
                  in->data, first, step);
  return out;
}

static const hlo_literal *fold_concatenate(folder *f) {
  hlo_literal *out = create(f);
  if (!out) return NULL;
  int64_t d = HLO_ATTRS(f->i, concatenate)->dimension, out_step[MAX_RANK], step[MAX_RANK], at = 0;
  row_major_strides(f->i->shape, out_step);
  for (int k = 0; k < f->n; k++) {
    const hlo_literal *in = full(f, f->in[k]);
    if (!in) return NULL;
    row_major_strides(in->shape, step);
    move_elements(in->shape->rank, in->shape->dims, hlo_dtype_bytes(in->shape->dtype), out->data, at * out_step[d],
                  out_step, in->data, 0, step);
    at += in->shape->dims[d];
  }
  return out;
}

static const hlo_literal *fold_pad(folder *f) {
  const hlo_padding p = HLO_ATTRS(f->i, pad)->padding;
  const hlo_literal *in = full(f, f->in[0]);
  int64_t out_step[MAX_RANK], step[MAX_RANK], first = 0;
  for (int d = 0; d < p.n; d++)
    if (p.dims[d].low < 0 || p.dims[d].high < 0) return NULL;
  hlo_literal *out = in ? create(f) : NULL;
  if (!out) return NULL;
  int bytes = hlo_dtype_bytes(f->i->shape->dtype);
  for (int64_t k = 0; k < hlo_shape_elements(f->i->shape); k++)
    memcpy((char *)out->data + k * bytes, f->in[1]->data, (size_t)bytes);
  row_major_strides(f->i->shape, out_step);
  row_major_strides(in->shape, step);
  for (int d = 0; d < p.n; d++) {
    first += p.dims[d].low * out_step[d];
    out_step[d] *= 1 + p.dims[d].interior;
  }
  move_elements(p.n, in->shape->dims, bytes, out->data, first, out_step, in->data, 0, step);
  return out;
}

static const hlo_literal *fold_movement(folder *f) {
  const hlo_shape *from = f->in[0]->shape;
  int64_t stride[MAX_RANK], step[MAX_RANK], first = 0;
  if (from->rank > MAX_RANK || f->i->shape->rank > MAX_RANK) return NULL;
  if (f->i->op == HLO_OP_RESHAPE && f->all_splat) return hlo_literal_splat(f->m->arena, f->i->shape, f->in[0]->data);
  if (f->i->op == HLO_OP_TRANSPOSE && f->all_splat) return hlo_literal_splat(f->m->arena, f->i->shape, f->in[0]->data);
  if (!worth_folding(f)) return NULL;
  row_major_strides(from, stride);
  switch (f->i->op) {
    case HLO_OP_RESHAPE: row_major_strides(f->i->shape, step); return fold_strided(f, 0, step);
    case HLO_OP_TRANSPOSE:
      for (int d = 0; d < from->rank; d++) step[d] = stride[HLO_ATTRS(f->i, transpose)->permutation.data[d]];
      return fold_strided(f, 0, step);
    case HLO_OP_SLICE: {
      hlo_slice s = HLO_ATTRS(f->i, slice)->slice;
      for (int d = 0; d < from->rank; d++) {
        step[d] = stride[d] * s.stride[d];
        first += stride[d] * s.start[d];
      }
      return fold_strided(f, first, step);
    }
    case HLO_OP_REVERSE: {
      hlo_i64s dims = HLO_ATTRS(f->i, dimensions)->dimensions;
      for (int d = 0; d < from->rank; d++) {
        bool turned = hlo_i64s_contains(dims, d);
        step[d] = turned ? -stride[d] : stride[d];
        if (turned) first += stride[d] * (from->dims[d] - 1);
      }
      return fold_strided(f, first, step);
    }
    case HLO_OP_CONCATENATE: return fold_concatenate(f);
    case HLO_OP_PAD: return fold_pad(f);
    default: return NULL;
  }
}

static const hlo_literal *fold_bitcast(folder *f) {
  const hlo_literal *in = f->in[0];
  if (hlo_dtype_bytes(in->shape->dtype) != hlo_dtype_bytes(f->i->shape->dtype)) return NULL;
  if (hlo_dtype_table[in->shape->dtype].bits != hlo_dtype_table[f->i->shape->dtype].bits ||
      hlo_dtype_table[in->shape->dtype].bits < 8)
    return NULL;
  if (f->all_splat) return hlo_literal_splat(f->m->arena, f->i->shape, in->data);
  hlo_literal *out = worth_folding(f) ? create(f) : NULL;
  if (out) memcpy(out->data, in->data, (size_t)hlo_shape_bytes(f->i->shape));
  return out;
}

// --- reductions of integers by one associative operation -----------------------------------------

static const hlo_literal *fold_reduce(folder *f) {
  hlo_op op;
  bool swapped;
  hlo_dtype t = f->i->shape->dtype, types[2] = {t, t};
  hlo_eval_param param;
  if (f->n != 2 || f->in[0]->shape->dtype != t || f->in[1]->shape->dtype != t ||
      !(hlo_dtype_is_integer(t) || t == HLO_PRED))
    return NULL;
  if (!hlo_computation_is_binary(f->i->called[0], &op, &swapped) || !hlo_op_has(op, HLO_TRAIT_C)) return NULL;
  if (f->i->called[0]->root->shape->dtype != t || hlo_shape_elements(f->in[0]->shape) > REDUCE_LIMIT ||
      !worth_folding(f))
    return NULL;
  hlo_eval_fn fn = hlo_eval_lookup(op, NULL, 2, types, t, &param, NULL);
  const hlo_literal *in = full(f, f->in[0]);
  hlo_literal *out = fn && in ? create(f) : NULL;
  if (!out) return NULL;
  int bytes = hlo_dtype_bytes(t), rank = in->shape->rank, kept = 0;
  int64_t stride[MAX_RANK], step[MAX_RANK] = {0}, n = hlo_shape_elements(in->shape), index[MAX_RANK] = {0}, at = 0;
  row_major_strides(f->i->shape, stride);
  for (int d = 0; d < rank; d++)
    if (!hlo_i64s_contains(HLO_ATTRS(f->i, dimensions)->dimensions, d)) step[d] = stride[kept++];
  for (int64_t k = 0; k < hlo_shape_elements(f->i->shape); k++)
    memcpy((char *)out->data + k * bytes, f->in[1]->data, (size_t)bytes);
  for (int64_t k = 0; k < n; k++) {
    char *to = (char *)out->data + at * bytes;
    fn(&param, 1, (const void *const[]){to, (const char *)in->data + k * bytes}, to);
    for (int d = rank - 1; d >= 0; d--) {
      at += step[d];
      if (++index[d] < in->shape->dims[d]) break;
      at -= step[d] * in->shape->dims[d];
      index[d] = 0;
    }
  }
  return out;
}

static const hlo_literal *fold(folder *f) {
  const hlo_instr *i = f->i;
  if (i->n_operands == 0 || !algsimp_plain(i) || hlo_shape_elements(i->shape) == 0) return NULL;
  if (!gather_operands(f)) return NULL;
  switch (i->op) {
    case HLO_OP_RESHAPE:
    case HLO_OP_TRANSPOSE:
    case HLO_OP_SLICE:
    case HLO_OP_REVERSE:
    case HLO_OP_CONCATENATE:
    case HLO_OP_PAD: return fold_movement(f);
    case HLO_OP_BITCAST_CONVERT: return fold_bitcast(f);
    case HLO_OP_REDUCE: return fold_reduce(f);
    default: return hlo_op_has(i->op, HLO_TRAIT_E) ? fold_elementwise(f) : NULL;
  }
}

lemnos_status hlo_opt_constant_folding(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  for (int c = 0; c < m->n_computations; c++)
    HLO_FOR_EACH_SAFE (i, m->computations[c]) {
      if (i->n_uses == 0 && m->computations[c]->root != i) continue;
      folder f = {.ctx = ctx, .m = m, .i = i};
      const hlo_literal *l = fold(&f);
      if (!l || !hlo_opt_allowed(ctx)) continue;
      hlo_builder b = hlo_builder_before(i);
      hlo_instr_replace_uses(i, hlo_build_constant(&b, l));
      hlo_opt_remove_dead(i);
      *changed = true;
    }
  return LEMNOS_SUCCESS;
}
