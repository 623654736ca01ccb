// SPDX-License-Identifier: Apache-2.0
// Hash maps: a table of slots (entry number + 1, 0 is empty; linear probing, at most half full) over an array of
// entries in insertion order. There is no removal, hence no tombstones.
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static int32_t *new_slots(arena *a, int n) {
  return a ? ARENA_ARRAY(a, int32_t, n) : heap_alloc(sizeof(int32_t) * (size_t)n);
}

// The slot where key stands or would stand.
static int32_t *str_slot(const strmap *m, strv key) {
  for (uint64_t i = strv_hash(key);; i++) {
    int32_t *slot = &m->slots[i & (uint64_t)(m->n_slots - 1)];
    if (!*slot || strv_eq(m->entries[*slot - 1].key, key)) return slot;
  }
}

void strmap_put(arena *a, strmap *m, strv key, void *value) {
  if (2 * (m->len + 1) > m->n_slots) {
    if (!a) free(m->slots);
    m->n_slots = m->n_slots ? 2 * m->n_slots : 16;
    m->slots = new_slots(a, m->n_slots);
    for (int i = 0; i < m->len; i++) *str_slot(m, m->entries[i].key) = i + 1;
  }
  int32_t *slot = str_slot(m, key);
  if (*slot) {
    m->entries[*slot - 1].value = value;
    return;
  }
  if (m->len == m->cap) m->entries = vec_grow(a, m->entries, m->len, &m->cap, m->len + 1, sizeof *m->entries);
  m->entries[m->len++] = (strmap_entry){key, value};
  *slot = m->len;
}

void *strmap_get(const strmap *m, strv key) {
  int32_t slot = m->n_slots ? *str_slot(m, key) : 0;
  return slot ? m->entries[slot - 1].value : NULL;
}

bool strmap_has(const strmap *m, strv key) {
  return m->n_slots && *str_slot(m, key);
}

void strmap_deinit(strmap *m) {
  free(m->entries);
  free(m->slots);
  *m = (strmap){0};
}

static int32_t *u64_slot(const u64map *m, uint64_t key) {
  for (uint64_t i = hash_u64(key, 0);; i++) {
    int32_t *slot = &m->slots[i & (uint64_t)(m->n_slots - 1)];
    if (!*slot || m->entries[*slot - 1].key == key) return slot;
  }
}

void u64map_put(arena *a, u64map *m, uint64_t key, uint64_t value) {
  if (2 * (m->len + 1) > m->n_slots) {
    if (!a) free(m->slots);
    m->n_slots = m->n_slots ? 2 * m->n_slots : 16;
    m->slots = new_slots(a, m->n_slots);
    for (int i = 0; i < m->len; i++) *u64_slot(m, m->entries[i].key) = i + 1;
  }
  int32_t *slot = u64_slot(m, key);
  if (*slot) {
    m->entries[*slot - 1].value = value;
    return;
  }
  if (m->len == m->cap) m->entries = vec_grow(a, m->entries, m->len, &m->cap, m->len + 1, sizeof *m->entries);
  m->entries[m->len++] = (u64map_entry){key, value};
  *slot = m->len;
}

bool u64map_get(const u64map *m, uint64_t key, uint64_t *out_value) {
  int32_t slot = m->n_slots ? *u64_slot(m, key) : 0;
  if (slot) *out_value = m->entries[slot - 1].value;
  return slot != 0;
}

void u64map_deinit(u64map *m) {
  free(m->entries);
  free(m->slots);
  *m = (u64map){0};
}

// Eight bytes a step in four lanes (so that the multiplies overlap on long inputs), then one avalanche per lane.
uint64_t hash_bytes(const void *data, size_t size, uint64_t seed) {
  const unsigned char *p = data;
  const uint64_t k = 0x9FB21C651E98DF25u;
  uint64_t lane[4] = {seed ^ size * UINT64_C(0xD6E8FEB86659FD93), seed + k, seed ^ (k << 1), seed - k};
  size_t left = size;
  for (; left >= 32; left -= 32, p += 32) {
    for (int i = 0; i < 4; i++) {
      uint64_t w;
      memcpy(&w, p + 8 * i, 8);
      w = (lane[i] ^ w) * k;
      lane[i] = w ^ (w >> 29);
    }
  }
  for (int i = 0; left; i++) {
    uint64_t w = 0;
    size_t n = left < 8 ? left : 8;
    memcpy(&w, p, n);
    w = (lane[i] ^ w) * k;
    lane[i] = w ^ (w >> 29);
    p += n;
    left -= n;
  }
  return hash_u64(lane[0], hash_u64(lane[1], hash_u64(lane[2], hash_u64(lane[3], seed))));
}
