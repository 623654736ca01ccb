// SPDX-License-Identifier: Apache-2.0
// What gather and scatter share: walking an index space, and finding the index vector of each batch position in the
// array of indices.
#ifndef INTERP_INDEX_INTERNAL_H
#define INTERP_INDEX_INTERNAL_H

#include "interp/interp_internal.h"

// Iterates over an index space while keeping offsets in several arrays.
typedef struct walker {
  int n;
  int64_t dims[INTERP_MAX_RANK], index[INTERP_MAX_RANK];
} walker;

static inline bool walker_next(walker *w) {
  for (int d = w->n - 1; d >= 0; d--) {
    if (++w->index[d] < w->dims[d]) return true;
    w->index[d] = 0;
  }
  return false;
}

// Offset of the index vector of a batch position in the indices array; *step is the stride along the vector.
typedef struct index_vectors {
  const interp_array *a;
  int64_t strides[INTERP_MAX_RANK], batch_stride[INTERP_MAX_RANK], step;
  int n_batch, batch_dim[INTERP_MAX_RANK];
  walker w;
} index_vectors;

static inline void index_vectors_init(index_vectors *v, const interp_array *a, int64_t vector_dim) {
  *v = (index_vectors){.a = a};
  interp_strides(a, v->strides);
  v->step = vector_dim < a->rank ? v->strides[vector_dim] : 0;
  for (int d = 0; d < a->rank; d++) {
    if (d == vector_dim) continue;
    v->batch_dim[v->n_batch] = d;
    v->batch_stride[v->n_batch] = v->strides[d];
    v->w.dims[v->n_batch++] = a->dims[d];
  }
  v->w.n = v->n_batch;
}

static inline int64_t index_vectors_offset(const index_vectors *v) {
  int64_t at = 0;
  for (int d = 0; d < v->n_batch; d++) at += v->w.index[d] * v->batch_stride[d];
  return at;
}

// Position among the batch dimensions of dimension d of the indices array.
static inline int64_t index_vectors_at(const index_vectors *v, int64_t d) {
  for (int k = 0; k < v->n_batch; k++)
    if (v->batch_dim[k] == d) return v->w.index[k];
  return 0;
}

lemnos_status interp_compile_scatter(interp_compiler *c, interp_insn *in);  // scatter.c

#endif
