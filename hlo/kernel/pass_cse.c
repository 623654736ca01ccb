// SPDX-License-Identifier: Apache-2.0
// Common subexpressions: equal instructions on equal operands in the same or an enclosing block become one. Loads are
// included only from read-only parameters. Needs: nothing. Leaves: no two equal pure instructions, one dominating the
// other.
//
// A scoped hash table: entries made inside a block are dropped at its end.
#include "hlo/kernel/kernel.h"
#include "hlo/kernel/walk.h"

typedef struct entry {
  kernel_instr *instr;
  int32_t next;  // in the bucket; -1: end
  uint64_t hash;
} entry;

typedef struct state {
  kernel *k;
  VEC(entry) entries;
  int32_t *buckets;
  int n_buckets;
  kernel_rewrite rewrite;
  bool changed;
} state;

static kernel_value *resolve(const state *s, kernel_value *v) {
  while (v->id < s->rewrite.cap && s->rewrite.map[v->id]) v = s->rewrite.map[v->id];
  return v;
}

static bool is_pure(const state *s, const kernel_instr *i) {
  if (i->n_blocks || i->n_results != 1) return false;
  switch (kernel_op_table[i->op].cls) {
    case KERNEL_CLASS_MEM:
      return i->op == KERNEL_OP_LOAD && i->mem.space == KERNEL_PARAM && s->k->params[i->mem.index].readonly;
    case KERNEL_CLASS_GROUP:
      return i->op == KERNEL_OP_LOCAL_ID || i->op == KERNEL_OP_GROUP_ID || i->op == KERNEL_OP_SUBGROUP_LANE;
    case KERNEL_CLASS_CTRL:
    case KERNEL_CLASS_TILE: return false;
    default: return true;
  }
}

static uint64_t hash_of(const kernel_instr *i) {
  uint64_t h = hash_u64(
      (uint64_t)i->op | (uint64_t)i->results[0].type.scalar << 16 | (uint64_t)i->results[0].type.lanes << 32, 5);
  h = i->op == KERNEL_OP_SHUFFLE ? hash_bytes(i->imm.list, sizeof(int32_t) * i->results[0].type.lanes, h)
                                 : hash_u64((uint64_t)i->imm.i, h);
  h = hash_u64((uint64_t)i->mem.space << 16 | i->mem.index, h);
  for (int o = 0; o < i->n_operands; o++) h = hash_u64((uint64_t)i->operands[o]->id, h);
  return h;
}

static bool same(const kernel_instr *a, const kernel_instr *b) {
  if (a->op != b->op || a->n_operands != b->n_operands || !kernel_type_eq(a->results[0].type, b->results[0].type) ||
      a->mem.space != b->mem.space || a->mem.index != b->mem.index)
    return false;
  for (int o = 0; o < a->n_operands; o++)
    if (a->operands[o] != b->operands[o]) return false;
  if (a->op == KERNEL_OP_SHUFFLE)
    return memcmp(a->imm.list, b->imm.list, sizeof(int32_t) * a->results[0].type.lanes) == 0;
  return a->imm.i == b->imm.i;
}

static void rehash(state *s) {
  s->n_buckets = s->n_buckets ? s->n_buckets * 2 : 256;
  s->buckets = heap_realloc(s->buckets, sizeof *s->buckets * (size_t)s->n_buckets);
  for (int i = 0; i < s->n_buckets; i++) s->buckets[i] = -1;
  for (int e = 0; e < s->entries.len; e++) {
    int32_t *bucket = &s->buckets[s->entries.data[e].hash & (uint64_t)(s->n_buckets - 1)];
    s->entries.data[e].next = *bucket;
    *bucket = e;
  }
}

static void visit_block(state *s, kernel_block *b) {
  int mark = s->entries.len;
  for (kernel_instr *i = b->first, *next; i; i = next) {
    next = i->next;
    for (int o = 0; o < i->n_operands; o++) i->operands[o] = resolve(s, i->operands[o]);
    for (int n = 0; n < i->n_blocks; n++) visit_block(s, i->blocks[n]);
    if (!is_pure(s, i)) continue;
    uint64_t h = hash_of(i);
    kernel_instr *found = NULL;
    for (int32_t e = s->buckets[h & (uint64_t)(s->n_buckets - 1)]; e >= 0 && !found; e = s->entries.data[e].next)
      if (s->entries.data[e].hash == h && same(s->entries.data[e].instr, i)) found = s->entries.data[e].instr;
    if (found) {
      if (i->align > found->align) found->align = i->align;
      kernel_rewrite_set(&s->rewrite, &i->results[0], &found->results[0]);
      kernel_instr_unlink(i);
      s->changed = true;
      continue;
    }
    entry x = {.instr = i, .hash = h, .next = s->buckets[h & (uint64_t)(s->n_buckets - 1)]};
    s->buckets[h & (uint64_t)(s->n_buckets - 1)] = s->entries.len;
    vec_push(NULL, &s->entries, x);
    if (s->entries.len > s->n_buckets) rehash(s);
  }
  // Leave the scope: the newest entries stand at the heads of their buckets.
  while (s->entries.len > mark) {
    const entry *x = &s->entries.data[--s->entries.len];
    s->buckets[x->hash & (uint64_t)(s->n_buckets - 1)] = x->next;
  }
}

bool kernel_pass_cse(kernel *k) {
  state s = {.k = k};
  rehash(&s);
  visit_block(&s, k->body);
  kernel_rewrite_apply(&s.rewrite, k);
  vec_deinit(&s.entries);
  free(s.buckets);
  return s.changed;
}
