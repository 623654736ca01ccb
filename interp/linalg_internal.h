// SPDX-License-Identifier: Apache-2.0
// What linalg.c and lapack.c share: complex f64 numbers, and matrices brought to them and back.
#ifndef INTERP_LINALG_INTERNAL_H
#define INTERP_LINALG_INTERNAL_H

#include <math.h>

#include "interp/interp_internal.h"

typedef struct cplx {
  double re, im;
} cplx;

static inline cplx c_mul(cplx a, cplx b) {
  return (cplx){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static inline cplx c_sub(cplx a, cplx b) {
  return (cplx){a.re - b.re, a.im - b.im};
}
static inline cplx c_add(cplx a, cplx b) {
  return (cplx){a.re + b.re, a.im + b.im};
}
static inline cplx c_conj(cplx a) {
  return (cplx){a.re, -a.im};
}
static inline cplx c_scale(cplx a, double s) {
  return (cplx){a.re * s, a.im * s};
}
static inline double c_norm2(cplx a) {
  return a.re * a.re + a.im * a.im;
}

static inline cplx c_div(cplx a, cplx b) {
  if (b.im == 0) return (cplx){a.re / b.re, a.im / b.re};
  if (fabs(b.re) >= fabs(b.im)) {
    double r = b.im / b.re, d = b.re + b.im * r;
    return (cplx){(a.re + a.im * r) / d, (a.im - a.re * r) / d};
  }
  double r = b.re / b.im, d = b.re * r + b.im;
  return (cplx){(a.re * r + a.im) / d, (a.im * r - a.re) / d};
}

static inline cplx *load(interp_call *c, const interp_array *a) {
  interp_cvt v;
  int64_t n = interp_count(a);
  cplx *x = interp_scratch(c->cx, (size_t)n * sizeof *x + 16);
  if (x && interp_cvt_init(&v, a->dtype, HLO_C128)) interp_cvt_run(&v, n, a->data, x);
  return x;
}

// n elements from number `at` on, spaced by stride; raw: room for n elements where the stride is not 1.
static inline void load_line(const interp_array *a, int64_t at, int64_t stride, int64_t n, cplx *out, void *raw) {
  interp_cvt v;
  int bytes = hlo_dtype_bytes(a->dtype);
  const char *from = (const char *)a->data + at * bytes;
  if (stride != 1 && n > 1) {
    interp_copy_line(n, bytes, raw, 1, from, stride);
    from = raw;
  }
  if (interp_cvt_init(&v, a->dtype, HLO_C128)) interp_cvt_run(&v, n, from, out);
}

static inline void store(const interp_array *out, int64_t at, int64_t n, cplx *x) {
  interp_cvt v;
  bool complex = hlo_dtype_is_complex(out->dtype);
  if (!complex)
    for (int64_t k = 0; k < n; k++) ((double *)x)[k] = x[k].re;
  if (interp_cvt_init(&v, complex ? HLO_C128 : HLO_F64, out->dtype))
    interp_cvt_run(&v, n, x, (char *)out->data + at * hlo_dtype_bytes(out->dtype));
}

// Result 0 from argument 0 (and 1), batched.
lemnos_status interp_cholesky(interp_call *c, bool lower);
lemnos_status interp_triangular_solve(interp_call *c, const hlo_attrs_triangular_solve *at);

#endif
