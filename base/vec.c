// SPDX-License-Identifier: Apache-2.0
// Growth of typed arrays: by half again as much, at least 8 elements. In an arena the old copy stays behind.
#include "base/vec.h"

#include <limits.h>
#include <stdlib.h>

#include "base/status.h"

void *vec_grow(arena *a, void *data, int len, int *cap, int need, size_t element_size) {
  int64_t grown = (int64_t)*cap + *cap / 2;
  if (grown < need) grown = need;
  if (grown < 8) grown = 8;
  if (grown > INT_MAX) grown = INT_MAX;
  LEMNOS_ASSERT(need >= 0 && grown >= need);
  size_t bytes = (size_t)grown * element_size;
  *cap = (int)grown;
  if (!a) return heap_realloc(data, bytes);
  void *p = arena_alloc(a, bytes);
  if (len) memcpy(p, data, (size_t)len * element_size);
  return p;
}
