// SPDX-License-Identifier: Apache-2.0
// Dense bitsets in an arena.
#ifndef BASE_BITSET_H
#define BASE_BITSET_H

#include "base/arena.h"

typedef struct bitset {
  uint64_t *words;
  int n_bits;
} bitset;

bitset bitset_create(arena *a, int n_bits);  // all clear
static inline bool bitset_get(const bitset *b, int i) {
  return b->words[i >> 6] >> (i & 63) & 1;
}
static inline void bitset_set(bitset *b, int i) {
  b->words[i >> 6] |= UINT64_C(1) << (i & 63);
}
static inline void bitset_clear(bitset *b, int i) {
  b->words[i >> 6] &= ~(UINT64_C(1) << (i & 63));
}
bool bitset_union(bitset *into, const bitset *from);  // true if `into` changed; equal sizes
int bitset_count(const bitset *b);

#endif
