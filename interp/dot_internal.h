// SPDX-License-Identifier: Apache-2.0
// What dot.c and dot_direct.c share: the operands of a product as rows of k elements.
#ifndef INTERP_DOT_INTERNAL_H
#define INTERP_DOT_INTERNAL_H

#include "interp/interp_internal.h"

// Some dimensions of an array, numbered together in row-major order.
typedef struct dims_set {
  int n;
  int64_t size[INTERP_MAX_RANK], stride[INTERP_MAX_RANK], total;
} dims_set;

static inline int64_t dims_offset(const dims_set *s, int64_t index) {
  int64_t at = 0;
  for (int k = s->n - 1; k >= 0; k--) {
    at += index % s->size[k] * s->stride[k];
    index /= s->size[k];
  }
  return at;
}

// Are the elements of s, in order, evenly spaced?
bool dims_even(const dims_set *s, int64_t *stride);

// One operand seen as rows of k elements.
typedef struct dot_side {
  const char *data;
  int bytes;
  dims_set batch, rows, k;
  bool k_even;  // evenly spaced by k_stride
  int64_t k_stride;
  int64_t *k_offsets;  // of a product that is packed, where not even
  interp_cvt cvt;
} dot_side;

// c[DOT_ROWS][DOT_COLS] += sum over p (ascending) of a[row][p * ak] * b[p * ldb + column]
#define DOT_ROWS 4
#define DOT_COLS 16
void dot_rows_f32(int64_t k, const float *const *a, int64_t ak, const float *b, int64_t ldb, double *c);

// out[batch][lhs row][rhs row] straight from the operands, without memory of its own; false: not of this kind.
bool dot_direct(interp_ctx *cx, const dot_side *lhs, const dot_side *rhs, interp_math math, const interp_array *out);

#endif
