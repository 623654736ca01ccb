// SPDX-License-Identifier: Apache-2.0
// Data movement: everything is one strided copy of an n-dimensional box whose dimensions are first coalesced. Inner
// loops are by element size; a box whose input is contiguous along another dimension than the output is copied in
// tiles.
#include "interp/interp_internal.h"

#define TILE 16

// --- strided copies ------------------------------------------------------------------------------

void interp_copy_plan(interp_copy *p, int element_bytes, int rank, const int64_t *dims, const int64_t *out_strides,
                      const int64_t *in_strides) {
  p->element_bytes = element_bytes;
  p->rank = 0;
  for (int d = 0; d < rank; d++) {
    if (dims[d] == 1) continue;
    int r = p->rank;
    if (r > 0 && p->out[r - 1] == out_strides[d] * dims[d] && p->in[r - 1] == in_strides[d] * dims[d]) {
      p->dims[r - 1] *= dims[d];
      p->out[r - 1] = out_strides[d];
      p->in[r - 1] = in_strides[d];
      continue;
    }
    p->dims[r] = dims[d];
    p->out[r] = out_strides[d];
    p->in[r] = in_strides[d];
    p->rank++;
  }
  // A tiled transposition wants the dimension that is contiguous in the input beside the innermost one.
  int r = p->rank;
  if (r >= 3 && p->in[r - 1] != 1 && p->in[r - 1] != 0) {
    for (int d = 0; d < r - 2; d++) {
      if (p->in[d] != 1) continue;
      int64_t n = p->dims[d], o = p->out[d], i = p->in[d];
      for (int e = d; e < r - 2; e++) {
        p->dims[e] = p->dims[e + 1];
        p->out[e] = p->out[e + 1];
        p->in[e] = p->in[e + 1];
      }
      p->dims[r - 2] = n;
      p->out[r - 2] = o;
      p->in[r - 2] = i;
      break;
    }
  }
}

typedef struct b16 {
  uint64_t v[2];
} b16;

#define DEFINE_LOOPS(NAME, T)                                                                                     \
  static void line_##NAME(int64_t n, void *out, int64_t os, const void *in, int64_t is) {                         \
    T *restrict o = out;                                                                                          \
    const T *restrict x = in;                                                                                     \
    if (os == 1 && is == 1) {                                                                                     \
      memcpy(o, x, (size_t)n * sizeof(T));                                                                        \
      return;                                                                                                     \
    }                                                                                                             \
    if (os == 1 && is == 0) {                                                                                     \
      T v = *x;                                                                                                   \
      for (int64_t k = 0; k < n; k++) o[k] = v;                                                                   \
      return;                                                                                                     \
    }                                                                                                             \
    if (os == 1) {                                                                                                \
      for (int64_t k = 0; k < n; k++) o[k] = x[k * is];                                                           \
      return;                                                                                                     \
    }                                                                                                             \
    for (int64_t k = 0; k < n; k++) o[k * os] = x[k * is];                                                        \
  }                                                                                                               \
  static void tile_##NAME(int64_t m, int64_t n, void *out, int64_t om, int64_t on, const void *in, int64_t im,    \
                          int64_t is) {                                                                           \
    T *restrict o = out;                                                                                          \
    const T *restrict x = in;                                                                                     \
    T block[TILE][TILE];                                                                                          \
    for (int64_t a = 0; a < m; a += TILE)                                                                         \
      for (int64_t b = 0; b < n; b += TILE) {                                                                     \
        int64_t ae = a + TILE < m ? a + TILE : m, be = b + TILE < n ? b + TILE : n;                               \
        if (ae - a == TILE && be - b == TILE && im == 1 && on == 1) { /* whole cache lines in, whole lines out */ \
          for (int j = 0; j < TILE; j++) memcpy(block[j], x + a + (b + j) * is, sizeof block[j]);                 \
          for (int i = 0; i < TILE; i++)                                                                          \
            for (int j = 0; j < TILE; j++) o[(a + i) * om + b + j] = block[j][i];                                 \
          continue;                                                                                               \
        }                                                                                                         \
        for (int64_t i = a; i < ae; i++)                                                                          \
          for (int64_t j = b; j < be; j++) o[i * om + j * on] = x[i * im + j * is];                               \
      }                                                                                                           \
  }
DEFINE_LOOPS(1, uint8_t)
DEFINE_LOOPS(2, uint16_t)
DEFINE_LOOPS(4, uint32_t)
DEFINE_LOOPS(8, uint64_t)
DEFINE_LOOPS(16, b16)

void interp_copy_line(int64_t n, int bytes, void *out, int64_t os, const void *in, int64_t is) {
  if (n <= 0) return;
  switch (bytes) {
    case 1: line_1(n, out, os, in, is); break;
    case 2: line_2(n, out, os, in, is); break;
    case 4: line_4(n, out, os, in, is); break;
    case 8: line_8(n, out, os, in, is); break;
    default: line_16(n, out, os, in, is); break;
  }
}

static void tile(const interp_copy *p, int d, char *out, const char *in) {
  int64_t m = p->dims[d], n = p->dims[d + 1], om = p->out[d], on = p->out[d + 1], im = p->in[d], is = p->in[d + 1];
  switch (p->element_bytes) {
    case 1: tile_1(m, n, out, om, on, in, im, is); break;
    case 2: tile_2(m, n, out, om, on, in, im, is); break;
    case 4: tile_4(m, n, out, om, on, in, im, is); break;
    case 8: tile_8(m, n, out, om, on, in, im, is); break;
    default: tile_16(m, n, out, om, on, in, im, is); break;
  }
}

static void copy_level(const interp_copy *p, int d, char *out, const char *in) {
  int left = p->rank - d, bytes = p->element_bytes;
  if (left == 0) {
    memcpy(out, in, (size_t)bytes);
  } else if (left == 1) {
    interp_copy_line(p->dims[d], bytes, out, p->out[d], in, p->in[d]);
  } else if (left == 2 && p->in[d] == 1 && p->in[d + 1] != 1) {
    tile(p, d, out, in);
  } else {
    for (int64_t k = 0; k < p->dims[d]; k++)
      copy_level(p, d + 1, out + k * p->out[d] * bytes, in + k * p->in[d] * bytes);
  }
}

static int64_t copy_elements(const interp_copy *p) {
  int64_t n = 1;
  for (int d = 0; d < p->rank; d++) n *= p->dims[d];
  return n;
}

void interp_copy_run(const interp_copy *p, void *out, const void *in) {
  if (copy_elements(p) > 0) copy_level(p, 0, out, in);
}

typedef struct copy_job {
  const interp_copy *p;
  char *out;
  const char *in;
} copy_job;

static void copy_range(void *ctx, int64_t begin, int64_t end, int thread) {
  const copy_job *j = ctx;
  interp_copy part = *j->p;
  int64_t bytes = part.element_bytes;
  part.dims[0] = end - begin;
  copy_level(&part, 0, j->out + begin * part.out[0] * bytes, j->in + begin * part.in[0] * bytes);
}

void interp_copy_run_parallel(interp_ctx *cx, const interp_copy *p, void *out, const void *in) {
  int64_t n = copy_elements(p);
  if (!cx->pool || p->rank == 0 || n < 4 * INTERP_GRAIN || p->dims[0] < 2) return interp_copy_run(p, out, in);
  copy_job j = {.p = p, .out = out, .in = in};
  int64_t grain = p->dims[0] * INTERP_GRAIN / n;
  interp_parallel(cx, p->dims[0], grain < 1 ? 1 : grain, copy_range, &j);
}

void interp_fill(void *out, const void *element, int element_bytes, int64_t n) {
  interp_copy_line(n, element_bytes, out, 1, element, 0);
}

void interp_copy_box(interp_ctx *cx, const interp_array *in, const int64_t *start, const int64_t *dims, void *out) {
  int64_t is[INTERP_MAX_RANK], os[INTERP_MAX_RANK] = {0}, s = 1, offset = 0;
  interp_strides(in, is);
  for (int d = in->rank - 1; d >= 0; d--) {
    os[d] = s;
    s *= dims[d];
    offset += start[d] * is[d];
  }
  interp_copy p;
  interp_copy_plan(&p, hlo_dtype_bytes(in->dtype), in->rank, dims, os, is);
  if (s > 0) interp_copy_run_parallel(cx, &p, out, (const char *)in->data + offset * p.element_bytes);
}

// --- operations with concrete parameters ---------------------------------------------------------

lemnos_status interp_move_broadcast(interp_call *c, const interp_array *in, interp_array *out, const int64_t *map) {
  int64_t is[INTERP_MAX_RANK], bs[INTERP_MAX_RANK] = {0}, os[INTERP_MAX_RANK];
  interp_strides(in, is);
  interp_strides(out, os);
  for (int d = 0; d < in->rank; d++) {
    if (in->dims[d] != 1 && in->dims[d] != out->dims[map[d]])
      return interp_error(c, LEMNOS_INVALID_ARGUMENT, "dimension %d of size %lld cannot be broadcast to size %lld", d,
                          (long long)in->dims[d], (long long)out->dims[map[d]]);
    if (in->dims[d] != 1) bs[map[d]] = is[d];
  }
  interp_copy p;
  interp_copy_plan(&p, hlo_dtype_bytes(in->dtype), out->rank, out->dims, os, bs);
  if (interp_count(out) > 0) interp_copy_run_parallel(c->cx, &p, out->data, in->data);
  return LEMNOS_SUCCESS;
}

// Fills with the padding value, then copies the part of the input that lands inside.
lemnos_status interp_move_pad(interp_call *c, const interp_array *in, const interp_array *value, interp_array *out,
                              const int64_t *low, const int64_t *interior) {
  int64_t is[INTERP_MAX_RANK], os[INTERP_MAX_RANK], dims[INTERP_MAX_RANK], in_at = 0, out_at = 0;
  interp_strides(in, is);
  interp_strides(out, os);
  int bytes = hlo_dtype_bytes(in->dtype);
  bool any = true;
  for (int d = 0; d < in->rank; d++) {
    int64_t step = interior[d] + 1;
    int64_t first = low[d] < 0 ? (-low[d] + step - 1) / step : 0;  // first input index at or after 0
    int64_t last = out->dims[d] - 1 - low[d];                      // highest position inside
    last = last < 0 ? -1 : last / step;
    if (last > in->dims[d] - 1) last = in->dims[d] - 1;
    dims[d] = last - first + 1;
    if (dims[d] <= 0) any = false;
    in_at += first * is[d];
    out_at += (low[d] + first * step) * os[d];
    os[d] *= step;
  }
  interp_fill(out->data, value->data, bytes, interp_count(out));
  if (!any) return LEMNOS_SUCCESS;
  interp_copy p;
  interp_copy_plan(&p, bytes, in->rank, dims, os, is);
  interp_copy_run_parallel(c->cx, &p, (char *)out->data + out_at * bytes, (const char *)in->data + in_at * bytes);
  return LEMNOS_SUCCESS;
}

lemnos_status interp_move_slice(interp_call *c, const interp_array *in, interp_array *out, const int64_t *start,
                                const int64_t *stride) {
  int64_t is[INTERP_MAX_RANK], os[INTERP_MAX_RANK], at = 0;
  interp_strides(in, is);
  interp_strides(out, os);
  if (interp_count(out) == 0) return LEMNOS_SUCCESS;
  for (int d = 0; d < in->rank; d++) {
    int64_t last = start[d] + (out->dims[d] - 1) * stride[d];
    if (start[d] < 0 || last < 0 || last >= in->dims[d])
      return interp_error(c, LEMNOS_INVALID_ARGUMENT, "slice of dimension %d leaves its size %lld", d,
                          (long long)in->dims[d]);
    at += start[d] * is[d];
    is[d] *= stride[d];
  }
  interp_copy p;
  interp_copy_plan(&p, hlo_dtype_bytes(in->dtype), in->rank, out->dims, os, is);
  interp_copy_run_parallel(c->cx, &p, out->data, (const char *)in->data + at * p.element_bytes);
  return LEMNOS_SUCCESS;
}

lemnos_status interp_move_iota(interp_call *c, interp_array *out, int64_t dimension) {
  int64_t n = out->dims[dimension];
  if (interp_count(out) == 0) return LEMNOS_SUCCESS;
  interp_cvt v;
  if (!interp_cvt_init(&v, HLO_S64, out->dtype))
    return interp_error(c, LEMNOS_UNIMPLEMENTED, "no conversion to this type");
  size_t bytes = (size_t)hlo_dtype_bytes(out->dtype);
  bool whole = interp_count(out) == n;  // all other dimensions are 1
  char *row = whole ? out->data : interp_scratch(c->cx, (size_t)n * bytes);
  if (!row) return interp_scratch_failed(c);
  int64_t count[512];
  for (int64_t at = 0; at < n; at += 512) {
    int64_t part = n - at < 512 ? n - at : 512;
    for (int64_t k = 0; k < part; k++) count[k] = at + k;
    interp_cvt_run(&v, part, count, row + (size_t)at * bytes);
  }
  if (whole) return LEMNOS_SUCCESS;
  int64_t is[INTERP_MAX_RANK] = {0}, os[INTERP_MAX_RANK];
  is[dimension] = 1;
  interp_strides(out, os);
  interp_copy p;
  interp_copy_plan(&p, hlo_dtype_bytes(out->dtype), out->rank, out->dims, os, is);
  interp_copy_run_parallel(c->cx, &p, out->data, row);
  return LEMNOS_SUCCESS;
}

// --- handlers ------------------------------------------------------------------------------------

static lemnos_status run_constant(interp_call *c) {
  const hlo_literal *l = c->in->aux;
  interp_value *v = interp_result_value(c, 0);
  const interp_type *t = &c->in->result_types[0];
  interp_array_set_type(&v->a, t->dtype, t->rank, t->dims);
  if (!l->splat || t->n == 1) return interp_value_borrow(c->cx, v, l->data);
  LEMNOS_TRY(interp_value_alloc(c->cx, v));
  interp_fill(v->a.data, l->data, hlo_dtype_bytes(t->dtype), t->n);
  return LEMNOS_SUCCESS;
}

bool interp_is_borrowed_constant(const interp_insn *in) {
  const hlo_literal *l = in->aux;
  return in->fn == run_constant && (!l->splat || in->result_types[0].n == 1);
}

static lemnos_status compile_constant(interp_compiler *c, interp_insn *in) {
  const hlo_literal *l = hlo_constant_value(in->src);
  const interp_type *t = &in->result_types[0];
  int bytes = hlo_dtype_bytes(t->dtype);
  if (!t->is_static) return interp_refuse(in->src, "constant of a dynamic shape");
  if (l->splat && t->n > 1 && t->n * bytes <= 4096) {
    hlo_literal *full = ARENA_NEW(c->a, hlo_literal);
    *full = (hlo_literal){.shape = l->shape, .data = arena_alloc(c->a, (size_t)(t->n * bytes))};
    interp_fill(full->data, l->data, bytes, t->n);
    l = full;
  }
  in->aux = (void *)l;
  in->flags |= INTERP_SELF_ALLOC;
  in->fn = run_constant;
  return LEMNOS_SUCCESS;
}

static lemnos_status run_iota(interp_call *c) {
  return interp_move_iota(c, interp_result(c, 0), HLO_ATTRS(c->in->src, iota)->dimension);
}

static lemnos_status run_broadcast(interp_call *c) {
  return interp_move_broadcast(c, interp_arg(c, 0), interp_result(c, 0),
                               HLO_ATTRS(c->in->src, broadcast)->dimensions.data);
}

lemnos_status interp_alias_reshape(interp_call *c) {
  interp_value *v = interp_result_value(c, 0);
  const interp_type *t = &c->in->result_types[0];
  if (c->in->flags & INTERP_DYNAMIC)
    LEMNOS_TRY(interp_infer_dims(c));
  else
    interp_array_set_type(&v->a, t->dtype, t->rank, t->dims);
  int rank = v->a.rank;
  int64_t dims[INTERP_MAX_RANK];
  memcpy(dims, v->a.dims, sizeof(int64_t) * (size_t)rank);
  int64_t n = interp_count(&v->a), m = interp_count(interp_arg(c, 0));
  if (n != m)
    return interp_error(c, LEMNOS_INVALID_ARGUMENT, "%lld elements cannot be reshaped to %lld", (long long)m,
                        (long long)n);
  interp_take_arg(c, 0, v);
  interp_array_set_type(&v->a, t->dtype, rank, dims);
  return LEMNOS_SUCCESS;
}

static lemnos_status run_bitcast_convert(interp_call *c) {
  const interp_array *in = interp_arg(c, 0);
  interp_array *out = interp_result(c, 0);
  int ib = hlo_dtype_table[in->dtype].bits, ob = hlo_dtype_table[out->dtype].bits;
  if (ib >= 8 && ob >= 8) {  // little-endian parts, in order
    memcpy(out->data, in->data, (size_t)interp_bytes(out));
  } else {
    // 2- to 6-bit types, which memory holds unpacked, sign- or zero-extended: through a stream of bits, least
    // significant first.
    const uint8_t *x = in->data;
    uint8_t *y = out->data;
    int64_t n = interp_count(out), total = n * ob, written = 0;
    int in_bytes = hlo_dtype_bytes(in->dtype), out_bytes = hlo_dtype_bytes(out->dtype);
    memset(y, 0, (size_t)(n * out_bytes));
    for (; written < total; written++) {
      int64_t e = written / ib, b = written % ib, f = written / ob, g = written % ob;
      int bit = x[e * in_bytes + b / 8] >> (b % 8) & 1;
      y[f * out_bytes + g / 8] |= (uint8_t)(bit << (g % 8));
    }
    if (ob < 8 && hlo_dtype_is_signed(out->dtype))
      for (int64_t k = 0; k < n; k++)
        if (y[k] >> (ob - 1) & 1) y[k] |= (uint8_t)(0xff << ob);
    if (out->dtype == HLO_PRED)
      for (int64_t k = 0; k < n; k++) y[k] &= 1;
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status run_transpose(interp_call *c) {
  const interp_array *in = interp_arg(c, 0);
  interp_array *out = interp_result(c, 0);
  const int64_t *perm = HLO_ATTRS(c->in->src, transpose)->permutation.data;
  int64_t is[INTERP_MAX_RANK], ps[INTERP_MAX_RANK], os[INTERP_MAX_RANK];
  interp_strides(in, is);
  interp_strides(out, os);
  for (int d = 0; d < out->rank; d++) ps[d] = is[perm[d]];
  interp_copy p;
  interp_copy_plan(&p, hlo_dtype_bytes(in->dtype), out->rank, out->dims, os, ps);
  if (interp_count(out) > 0) interp_copy_run_parallel(c->cx, &p, out->data, in->data);
  return LEMNOS_SUCCESS;
}

static lemnos_status run_slice(interp_call *c) {
  const hlo_slice *s = &HLO_ATTRS(c->in->src, slice)->slice;
  return interp_move_slice(c, interp_arg(c, 0), interp_result(c, 0), s->start, s->stride);
}

static lemnos_status run_reverse(interp_call *c) {
  const interp_array *in = interp_arg(c, 0);
  interp_array *out = interp_result(c, 0);
  hlo_i64s dims = HLO_ATTRS(c->in->src, dimensions)->dimensions;
  int64_t is[INTERP_MAX_RANK], os[INTERP_MAX_RANK], at = 0;
  interp_strides(in, is);
  interp_strides(out, os);
  if (interp_count(out) == 0) return LEMNOS_SUCCESS;
  for (int k = 0; k < dims.n; k++) {
    int64_t d = dims.data[k];
    at += (in->dims[d] - 1) * is[d];
    is[d] = -is[d];
  }
  interp_copy p;
  interp_copy_plan(&p, hlo_dtype_bytes(in->dtype), in->rank, out->dims, os, is);
  interp_copy_run_parallel(c->cx, &p, out->data, (const char *)in->data + at * p.element_bytes);
  return LEMNOS_SUCCESS;
}

static lemnos_status run_pad(interp_call *c) {
  const hlo_padding *pad = &HLO_ATTRS(c->in->src, pad)->padding;
  int64_t low[INTERP_MAX_RANK], interior[INTERP_MAX_RANK];
  for (int d = 0; d < pad->n; d++) low[d] = pad->dims[d].low, interior[d] = pad->dims[d].interior;
  return interp_move_pad(c, interp_arg(c, 0), interp_arg(c, 1), interp_result(c, 0), low, interior);
}

static lemnos_status run_concatenate(interp_call *c) {
  interp_array *out = interp_result(c, 0);
  int64_t dim = HLO_ATTRS(c->in->src, concatenate)->dimension, os[INTERP_MAX_RANK], at = 0;
  interp_strides(out, os);
  for (int k = 0; k < c->in->n_args; k++) {
    const interp_array *in = interp_arg(c, k);
    int64_t is[INTERP_MAX_RANK];
    interp_strides(in, is);
    interp_copy p;
    interp_copy_plan(&p, hlo_dtype_bytes(in->dtype), in->rank, in->dims, os, is);
    if (interp_count(in) > 0)
      interp_copy_run_parallel(c->cx, &p, (char *)out->data + at * os[dim] * p.element_bytes, in->data);
    at += in->dims[dim];
  }
  return LEMNOS_SUCCESS;
}

lemnos_status interp_compile_move(interp_compiler *c, interp_insn *in) {
  switch (in->src->op) {
    case HLO_OP_CONSTANT: return compile_constant(c, in);
    case HLO_OP_IOTA: in->fn = run_iota; break;
    case HLO_OP_BROADCAST_IN_DIM: in->fn = run_broadcast; break;
    case HLO_OP_RESHAPE:
      in->fn = interp_alias_reshape;
      in->flags |= INTERP_SELF_ALLOC;
      break;
    case HLO_OP_BITCAST:
      if (in->src->shape->layout || in->src->operands[0]->shape->layout)
        return interp_refuse(in->src, "bitcast between layouts");
      in->fn = interp_alias_reshape;
      in->flags |= INTERP_SELF_ALLOC;
      break;
    case HLO_OP_BITCAST_CONVERT: in->fn = run_bitcast_convert; break;
    case HLO_OP_TRANSPOSE: in->fn = run_transpose; break;
    case HLO_OP_SLICE: in->fn = run_slice; break;
    case HLO_OP_REVERSE: in->fn = run_reverse; break;
    case HLO_OP_PAD: in->fn = run_pad; break;
    case HLO_OP_CONCATENATE: in->fn = run_concatenate; break;
    default: return interp_refuse(in->src, "operation is not supported");
  }
  return LEMNOS_SUCCESS;
}
