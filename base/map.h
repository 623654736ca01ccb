// SPDX-License-Identifier: Apache-2.0
// Hash maps (open addressing): strings to pointers, and 64-bit keys (pointers too) to 64-bit values.
// Zero-initialise. With an arena, memory is the arena's; with NULL it is the heap's, ended by *_deinit.
// String keys are not copied: they must outlive the map. Iteration order is insertion order (deterministic).
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/arena.h"

typedef struct strmap_entry {
  strv key;
  void *value;
} strmap_entry;

typedef struct strmap {
  strmap_entry *entries;  // 0..len-1, insertion order
  int len, cap;
  int32_t *slots;
  int n_slots;
} strmap;

void strmap_put(arena *a, strmap *m, strv key, void *value);  // replaces
void *strmap_get(const strmap *m, strv key);                  // NULL if absent
bool strmap_has(const strmap *m, strv key);
void strmap_deinit(strmap *m);

typedef struct u64map_entry {
  uint64_t key, value;
} u64map_entry;

typedef struct u64map {
  u64map_entry *entries;
  int len, cap;
  int32_t *slots;
  int n_slots;
} u64map;

void u64map_put(arena *a, u64map *m, uint64_t key, uint64_t value);  // replaces
bool u64map_get(const u64map *m, uint64_t key, uint64_t *out_value);
void u64map_deinit(u64map *m);

static inline void ptrmap_put(arena *a, u64map *m, const void *key, void *value) {
  u64map_put(a, m, (uint64_t)(uintptr_t)key, (uint64_t)(uintptr_t)value);
}
static inline void *ptrmap_get(const u64map *m, const void *key) {
  uint64_t v = 0;
  return u64map_get(m, (uint64_t)(uintptr_t)key, &v) ? (void *)(uintptr_t)v : NULL;
}

uint64_t hash_bytes(const void *data, size_t size, uint64_t seed);
static inline uint64_t hash_u64(uint64_t x, uint64_t seed) {
  x ^= seed + 0x9E3779B97F4A7C15u + (seed << 6) + (seed >> 2);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

#endif
