// SPDX-License-Identifier: Apache-2.0
// fft as dots and elementwise operations: Cooley and Tukey's splitting over the factors of the length, each factor's
// transform a dot with a constant matrix, which suits every device and costs 4 p operations a point for a factor p.
//
//   X[k1 + n1 k2] = sum_j2 w_n^(j2 k1) w_n2^(j2 k2) sum_j1 x[j1 n2 + j2] w_n1^(j1 k1)
// Real and imaginary parts are separate arrays, side by side in the dot: [re im] [c s; -s c]. Twiddle factors are
// computed in double with the exponent reduced exactly, and rounded once. RFFT transforms with zero imaginary parts and
// keeps n/2 + 1; IRFFT first puts the conjugates in place. Lengths with a prime factor above MAX_FACTOR stay.
// f32 is computed in f64 where that costs little. f64 is left to the host when there is a target: the loss of a dozen
// ulp in small elements that a direct sum has would show there.
// Needs: nothing. Leaves: no fft, but such.
#include <math.h>

#include "hlo/opt/algsimp.h"
#include "hlo/opt/expand.h"

enum { GOOD_FACTOR = 32, MAX_FACTOR = 256, MAX_RANK = 32 };

typedef struct fft {
  hlo_builder b;
  hlo_module *m;
  hlo_dtype type;  // of the parts
  double sign;     // of the exponent
} fft;

typedef struct pair {
  hv re, im;
} pair;

// The factor to split off: n itself if small, else the largest divisor up to GOOD_FACTOR, else the smallest prime.
static int64_t factor_of(int64_t n) {
  if (n <= GOOD_FACTOR) return n;
  for (int64_t p = GOOD_FACTOR; p > 1; p--)
    if (n % p == 0) return p;
  for (int64_t p = 2; p * p <= n; p++)
    if (n % p == 0) return p;
  return n;
}

static bool can_transform(int64_t n) {
  while (n > 1) {
    int64_t p = factor_of(n);
    if (p > MAX_FACTOR) return false;
    n /= p;
  }
  return n == 1;
}

static hlo_literal *new_literal(fft *f, int rank, const int64_t *dims) {
  hlo_literal *l = NULL;
  lemnos_status s = hlo_literal_create(f->m->arena, hlo_shape_array(f->m->shapes, f->type, rank, dims), &l);
  if (s) LEMNOS_PANIC("%s", lemnos_status_message(s));  // a few hundred KiB at most
  return l;
}

static double angle(fft *f, int64_t a, int64_t b, int64_t n) {  // of w_n^(a b)
  return f->sign * 2 * M_PI * (double)((a % n) * (b % n) % n) / (double)n;
}

static hv reshape(fft *f, hv x, int rank, const int64_t *dims) {
  return hlo_build_reshape(&f->b, x, rank, dims);
}

static hv transpose(fft *f, hv x, int a, int b) {
  int64_t permutation[MAX_RANK];
  for (int d = 0; d < x->shape->rank; d++) permutation[d] = d == a ? b : d == b ? a : d;
  return hlo_build_transpose(&f->b, x, permutation);
}

// x [rows, p] by one dot.
static pair base(fft *f, pair x, int64_t rows, int64_t p) {
  int64_t dims[2] = {2 * p, 2 * p}, zero = 0, one = 1, start[2] = {0, 0}, middle[2] = {0, p}, half[2] = {rows, p},
          end[2] = {rows, 2 * p};
  if (p == 1) return x;
  hlo_literal *l = new_literal(f, 2, dims);
  for (int64_t j = 0; j < p; j++)
    for (int64_t k = 0; k < p; k++) {
      double t = angle(f, j, k, p), c = cos(t), s = sin(t);
      hlo_element_set_f64(f->type, l->data, j * 2 * p + k, 0, c);
      hlo_element_set_f64(f->type, l->data, j * 2 * p + p + k, 0, s);
      hlo_element_set_f64(f->type, l->data, (p + j) * 2 * p + k, 0, -s);
      hlo_element_set_f64(f->type, l->data, (p + j) * 2 * p + p + k, 0, c);
    }
  hlo_attrs_dot_general *attrs = hlo_attrs_create(f->m->arena, HLO_ATTR_LIST_dot_general);
  hlo_precision highest[2] = {HLO_PRECISION_HIGHEST, HLO_PRECISION_HIGHEST};
  attrs->dnums.lhs_contracting = hlo_i64s_copy(f->m->arena, &one, 1);
  attrs->dnums.rhs_contracting = hlo_i64s_copy(f->m->arena, &zero, 1);
  attrs->precision = (hlo_precisions){arena_copy(f->m->arena, highest, sizeof highest), 2};
  hv both = hlo_build_concatenate(&f->b, 2, (hv[]){x.re, x.im}, 1);
  hv y = hlo_build(&f->b, HLO_OP_DOT_GENERAL, NULL, 2, (hv[]){both, hlo_build_constant(&f->b, l)}, 0, NULL, attrs);
  return (pair){hlo_build_slice(&f->b, y, start, half, NULL), hlo_build_slice(&f->b, y, middle, end, NULL)};
}

// x [rows, n2, n1] times w_n^(j2 k1)
static pair twiddle(fft *f, pair x, int64_t n1, int64_t n2) {
  int64_t dims[2] = {n2, n1}, map[2] = {1, 2};
  hlo_literal *c = new_literal(f, 2, dims), *s = new_literal(f, 2, dims);
  for (int64_t j = 0; j < n2; j++)
    for (int64_t k = 0; k < n1; k++) {
      double t = angle(f, j, k, n1 * n2);
      hlo_element_set_f64(f->type, c->data, j * n1 + k, 0, cos(t));
      hlo_element_set_f64(f->type, s->data, j * n1 + k, 0, sin(t));
    }
  expand e_ = {.b = f->b}, *e = &e_;
  const hlo_shape *full = x.re->shape;
  hv cos_ = hlo_build_broadcast(&f->b, hlo_build_constant(&f->b, c), 3, full->dims, 2, map);
  hv sin_ = hlo_build_broadcast(&f->b, hlo_build_constant(&f->b, s), 3, full->dims, 2, map);
  return (pair){SUB(MUL(x.re, cos_), MUL(x.im, sin_)), ADD(MUL(x.re, sin_), MUL(x.im, cos_))};
}

#define BOTH(x, expr) \
  do {                \
    hv v = (x).re;    \
    (x).re = (expr);  \
    v = (x).im;       \
    (x).im = (expr);  \
  } while (0)

// x [rows, n] along the last dimension.
static pair transform(fft *f, pair x, int64_t rows, int64_t n) {
  int64_t n1 = factor_of(n), n2 = n / n1;
  if (n2 == 1) return base(f, x, rows, n);
  int64_t split[3] = {rows, n1, n2}, by_j2[2] = {rows * n2, n1}, turned[3] = {rows, n2, n1}, by_k1[2] = {rows * n1, n2},
          whole[2] = {rows, n};
  BOTH(x, reshape(f, transpose(f, reshape(f, v, 3, split), 1, 2), 2, by_j2));
  x = base(f, x, rows * n2, n1);
  BOTH(x, reshape(f, v, 3, turned));
  x = twiddle(f, x, n1, n2);
  BOTH(x, reshape(f, transpose(f, v, 1, 2), 2, by_k1));
  x = transform(f, x, rows * n1, n2);
  BOTH(x, reshape(f, transpose(f, reshape(f, v, 3, split), 1, 2), 2, whole));
  return x;
}

// Along dimension d of any array.
static pair transform_dimension(fft *f, pair x, int d) {
  const hlo_shape *s = x.re->shape;
  int last = s->rank - 1;
  int64_t n = s->dims[d], flat[2] = {hlo_shape_elements(s) / n, n};
  if (d != last) BOTH(x, transpose(f, v, d, last));
  const hlo_shape *t = x.re->shape;
  BOTH(x, reshape(f, v, 2, flat));
  x = transform(f, x, flat[0], n);
  BOTH(x, reshape(f, v, t->rank, t->dims));
  if (d != last) BOTH(x, transpose(f, v, d, last));
  return x;
}

static hv keep(fft *f, hv x, int64_t start, int64_t limit) {  // of the last dimension
  int64_t from[MAX_RANK] = {0}, to[MAX_RANK];
  int last = x->shape->rank - 1;
  for (int d = 0; d <= last; d++) to[d] = x->shape->dims[d];
  from[last] = start;
  to[last] = limit;
  return hlo_build_slice(&f->b, x, from, to, NULL);
}

// From n/2 + 1 values to n, X[n - k] = conj X[k].
static hv mirror(fft *f, hv x, int64_t n, bool negate) {
  int64_t last = x->shape->rank - 1;
  if (n - n / 2 <= 1) return keep(f, x, 0, n);
  hlo_attrs_dimensions *attrs = hlo_attrs_create(f->m->arena, HLO_ATTR_LIST_dimensions);
  attrs->dimensions = hlo_i64s_copy(f->m->arena, &last, 1);
  hv tail = keep(f, x, 1, n - n / 2);
  tail = hlo_build(&f->b, HLO_OP_REVERSE, tail->shape, 1, &tail, 0, NULL, attrs);
  if (negate) tail = hlo_build_unary(&f->b, HLO_OP_NEGATE, tail);
  return hlo_build_concatenate(&f->b, 2, (hv[]){x, tail}, last);
}

static hv scaled(fft *f, hv x, double factor) {
  return hlo_build_binary(&f->b, HLO_OP_MULTIPLY, x, hlo_build_splat_f64(&f->b, x->shape, factor));
}

static hlo_instr *expand_fft(hlo_instr *i, const hlo_pass_ctx *ctx) {
  const hlo_attrs_fft *a = HLO_ATTRS(i, fft);
  hlo_instr *in = i->operands[0];
  int rank = in->shape->rank, dims = a->fft_length.n;
  bool inverse = a->fft_type == HLO_FFT_TYPE_IFFT || a->fft_type == HLO_FFT_TYPE_IRFFT;
  fft f = {.b = hlo_builder_before(i), .m = i->parent->module, .sign = inverse ? 1 : -1};
  double count = 1;
  if (dims < 1 || dims > rank || hlo_shape_elements(in->shape) == 0) return NULL;
  for (int k = 0; k < dims; k++) {
    if (!can_transform(a->fft_length.data[k])) return NULL;
    count *= (double)a->fft_length.data[k];
  }
  hlo_dtype type = f.type = hlo_dtype_real_part(in->shape->dtype);
  if (type != HLO_F32 && (type != HLO_F64 || ctx->target)) return NULL;
  if (type == HLO_F32 && hlo_opt_wide_inside(ctx)) f.type = HLO_F64;
  expand e_ = {.b = f.b, .s = hlo_shape_with_dtype(f.m->shapes, in->shape, type)}, *e = &e_;
  pair x = {in, NULL};
  if (hlo_dtype_is_complex(in->shape->dtype))
    x = (pair){REAL(in), IMAG(in)};
  else
    x.im = K(0);
  BOTH(x, hlo_build_convert(&f.b, v, f.type));
  int64_t n = a->fft_length.data[dims - 1];
  if (a->fft_type == HLO_FFT_TYPE_IRFFT) {
    for (int d = rank - dims; d < rank - 1; d++) x = transform_dimension(&f, x, d);
    x = (pair){mirror(&f, x.re, n, false), mirror(&f, x.im, n, true)};
    x = transform_dimension(&f, x, rank - 1);
    return hlo_build_convert(&f.b, scaled(&f, x.re, 1 / count), type);
  }
  x = transform_dimension(&f, x, rank - 1);
  if (a->fft_type == HLO_FFT_TYPE_RFFT) BOTH(x, keep(&f, v, 0, n / 2 + 1));
  for (int d = rank - 2; d >= rank - dims; d--) x = transform_dimension(&f, x, d);
  if (inverse) BOTH(x, scaled(&f, v, 1 / count));
  BOTH(x, hlo_build_convert(&f.b, v, type));
  return hlo_build_binary(&f.b, HLO_OP_COMPLEX, x.re, x.im);
}

lemnos_status hlo_opt_fft_expander(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  for (int c = 0; c < m->n_computations; c++)
    HLO_FOR_EACH_SAFE (i, m->computations[c]) {
      if (i->op != HLO_OP_FFT || !algsimp_plain(i) || i->shape->rank > MAX_RANK || !hlo_opt_allowed(ctx)) continue;
      hlo_instr *r = expand_fft(i, ctx);
      if (!r) continue;
      if (r->shape != i->shape) LEMNOS_PANIC("fft-expander changes a shape");
      expand_finish(i, r);
      *changed = true;
    }
  return LEMNOS_SUCCESS;
}
