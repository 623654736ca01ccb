// SPDX-License-Identifier: Apache-2.0
// Dense bitsets: 64 bits a word; bits beyond n_bits in the last word stay clear, so whole words can be counted.
#include "base/bitset.h"

static int n_words(const bitset *b) {
  return (b->n_bits + 63) / 64;
}

bitset bitset_create(arena *a, int n_bits) {
  bitset b = {NULL, n_bits};
  b.words = ARENA_ARRAY(a, uint64_t, n_words(&b));
  return b;
}

bool bitset_union(bitset *into, const bitset *from) {
  uint64_t changed = 0;
  for (int i = 0; i < n_words(into); i++) {
    uint64_t old = into->words[i];
    into->words[i] = old | from->words[i];
    changed |= old ^ into->words[i];
  }
  return changed != 0;
}

static int count_word(uint64_t x) {
  x -= x >> 1 & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return (int)(x * 0x0101010101010101u >> 56);
}

int bitset_count(const bitset *b) {
  int n = 0;
  for (int i = 0; i < n_words(b); i++) n += count_word(b->words[i]);
  return n;
}
