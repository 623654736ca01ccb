// SPDX-License-Identifier: Apache-2.0
// Typed growable arrays, in an arena or on the heap.
//
//   VEC(int) v = {0};
//   vec_push(arena, &v, 3);           // arena NULL: heap, ended by vec_deinit
//   for (int i = 0; i < v.len; i++) use(v.data[i]);
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

#define VEC(type) \
  struct {        \
    type *data;   \
    int len, cap; \
  }

// Room for `need` elements; returns the new data pointer. Internal to the macros.
void *vec_grow(arena *a, void *data, int len, int *cap, int need, size_t element_size);

#define vec_reserve(a, v, n) \
  ((v)->cap < (n) ? ((v)->data = vec_grow((a), (v)->data, (v)->len, &(v)->cap, (n), sizeof *(v)->data), 0) : 0)
#define vec_push(a, v, x) (vec_reserve((a), (v), (v)->len + 1), (void)((v)->data[(v)->len++] = (x)))
#define vec_append(a, v, p, n)            \
  (vec_reserve((a), (v), (v)->len + (n)), \
   (n) ? (void)memcpy((v)->data + (v)->len, (p), (size_t)(n) * sizeof *(v)->data) : (void)0, (v)->len += (n))
#define vec_pop(v) ((v)->data[--(v)->len])
#define vec_last(v) ((v)->data[(v)->len - 1])
#define vec_deinit(v) (free((v)->data), (v)->data = NULL, (v)->len = (v)->cap = 0)

#endif
