// SPDX-License-Identifier: Apache-2.0
// Tables, hashing, equality and cloning of kernels. Construction is in builder.c, checks in verify.c, text in print.c.
#include "hlo/kernel/kernel.h"

#include "hlo/kernel/walk.h"

const kernel_scalar_info kernel_scalar_table[KERNEL_SCALAR_COUNT] = {
#define S(ENUM, name, bytes, bits, is_float, dtype) [KERNEL_##ENUM] = {name, bytes, bits, is_float, dtype},
    KERNEL_SCALARS(S)
#undef S
};

const kernel_op_info kernel_op_table[KERNEL_OP_COUNT] = {
#define K(ENUM, name, operands, results, CLASS, meaning) \
  [KERNEL_OP_##ENUM] = {name, operands, results, KERNEL_CLASS_##CLASS},
#include "hlo/kernel/ops.def"
#undef K
};

kernel_scalar kernel_scalar_of(hlo_dtype t) {
  t = hlo_dtype_real_part(t);
  if (t == HLO_PRED) return KERNEL_I1;
  if (hlo_dtype_is_float(t)) {
    for (int s = 0; s < KERNEL_SCALAR_COUNT; s++)
      if (kernel_scalar_table[s].is_float && kernel_scalar_table[s].dtype == t) return (kernel_scalar)s;
  }
  switch (hlo_dtype_bytes(t)) {
    case 2: return KERNEL_I16;
    case 4: return KERNEL_I32;
    case 8: return KERNEL_I64;
    default: return KERNEL_I8;
  }
}

// --- hash and equality: walk both in order, numbering values as they are defined -----------------

static uint64_t hash_instr_payload(const kernel_instr *i, uint64_t h) {
  h = hash_u64((uint64_t)i->op | (uint64_t)i->n_operands << 16 | (uint64_t)i->n_results << 40, h);
  if (kernel_op_table[i->op].cls == KERNEL_CLASS_MEM)
    h = hash_u64((uint64_t)i->mem.space | (uint64_t)i->mem.index << 16 | (uint64_t)(uint32_t)i->align << 32, h);
  if (i->op == KERNEL_OP_SHUFFLE)
    h = hash_bytes(i->imm.list, sizeof(int32_t) * i->results[0].type.lanes, h);
  else if (i->op == KERNEL_OP_TILE_FMA)
    h = hash_bytes(i->imm.tile, sizeof *i->imm.tile, h);
  else
    h = hash_u64((uint64_t)i->imm.i, h);
  for (int r = 0; r < i->n_results; r++) h = hash_u64(i->results[r].type.scalar | i->results[r].type.lanes << 16, h);
  return h;
}

static uint64_t hash_block(const kernel_block *b, const int32_t *number, uint64_t h) {
  for (const kernel_instr *i = b->first; i; i = i->next) {
    h = hash_instr_payload(i, h);
    for (int o = 0; o < i->n_operands; o++) h = hash_u64((uint64_t)number[i->operands[o]->id], h);
    for (int n = 0; n < i->n_blocks; n++) h = hash_block(i->blocks[n], number, hash_u64(77, h));
  }
  return h;
}

static void number_block(const kernel_block *b, int32_t *number, int32_t *next) {
  for (int a = 0; a < b->n_args; a++) number[b->args[a].id] = (*next)++;
  for (const kernel_instr *i = b->first; i; i = i->next) {
    for (int r = 0; r < i->n_results; r++) number[i->results[r].id] = (*next)++;
    for (int n = 0; n < i->n_blocks; n++) number_block(i->blocks[n], number, next);
  }
}

static int32_t *number_values(const kernel *k) {
  int32_t *number = heap_alloc(sizeof(int32_t) * (size_t)(k->next_id + 1)), next = 0;
  number_block(k->body, number, &next);
  return number;
}

static bool params_equal(const kernel *a, const kernel *b) {
  if (a->n_params != b->n_params || a->arrays.len != b->arrays.len || a->grid != b->grid ||
      a->workgroup != b->workgroup || a->index != b->index || a->grain != b->grain)
    return false;
  for (int i = 0; i < a->n_params; i++) {
    const kernel_param *p = &a->params[i], *q = &b->params[i];
    if (p->elem != q->elem || p->n_elems != q->n_elems || p->align != q->align || p->readonly != q->readonly ||
        p->writeonly != q->writeonly || p->noalias != q->noalias)
      return false;
  }
  for (int i = 0; i < a->arrays.len; i++) {
    const kernel_array *p = &a->arrays.data[i], *q = &b->arrays.data[i];
    if (p->elem != q->elem || p->lanes != q->lanes || p->space != q->space || p->n_elems != q->n_elems) return false;
  }
  return true;
}

uint64_t kernel_hash(const kernel *k) {
  uint64_t h = hash_u64((uint64_t)k->grid, (uint64_t)k->workgroup * 31 + k->index);
  for (int i = 0; i < k->n_params; i++)
    h = hash_u64((uint64_t)k->params[i].n_elems * 64 + k->params[i].elem * 2 + k->params[i].readonly, h);
  for (int i = 0; i < k->arrays.len; i++) h = hash_u64((uint64_t)k->arrays.data[i].n_elems, h);
  int32_t *number = number_values(k);
  h = hash_block(k->body, number, h);
  free(number);
  return h;
}

static bool instr_payload_equal(const kernel_instr *a, const kernel_instr *b) {
  if (a->op != b->op || a->n_operands != b->n_operands || a->n_results != b->n_results || a->n_blocks != b->n_blocks)
    return false;
  if (kernel_op_table[a->op].cls == KERNEL_CLASS_MEM &&
      (a->mem.space != b->mem.space || a->mem.index != b->mem.index || a->align != b->align))
    return false;
  for (int r = 0; r < a->n_results; r++)
    if (!kernel_type_eq(a->results[r].type, b->results[r].type)) return false;
  if (a->op == KERNEL_OP_SHUFFLE)
    return memcmp(a->imm.list, b->imm.list, sizeof(int32_t) * a->results[0].type.lanes) == 0;
  if (a->op == KERNEL_OP_TILE_FMA) return memcmp(a->imm.tile, b->imm.tile, sizeof *a->imm.tile) == 0;
  return a->imm.i == b->imm.i;
}

static bool block_equal(const kernel_block *a, const kernel_block *b, const int32_t *na, const int32_t *nb) {
  if (a->n_args != b->n_args) return false;
  const kernel_instr *i = a->first, *j = b->first;
  for (; i && j; i = i->next, j = j->next) {
    if (!instr_payload_equal(i, j)) return false;
    for (int o = 0; o < i->n_operands; o++)
      if (na[i->operands[o]->id] != nb[j->operands[o]->id]) return false;
    for (int n = 0; n < i->n_blocks; n++)
      if (!block_equal(i->blocks[n], j->blocks[n], na, nb)) return false;
  }
  return !i && !j;
}

bool kernel_equal(const kernel *a, const kernel *b) {
  if (!params_equal(a, b)) return false;
  int32_t *na = number_values(a), *nb = number_values(b);
  bool equal = block_equal(a->body, b->body, na, nb);
  free(na);
  free(nb);
  return equal;
}

// --- walking and cloning -------------------------------------------------------------------------

void kernel_walk(kernel_block *b, void (*fn)(void *user, kernel_instr *i), void *user) {
  for (kernel_instr *i = b->first, *next; i; i = next) {
    next = i->next;
    for (int n = 0; n < i->n_blocks; n++) kernel_walk(i->blocks[n], fn, user);
    fn(user, i);
  }
}

kernel_instr *kernel_instr_alloc(kernel *k, kernel_op op, int n_results, const kernel_type *types, int n_operands,
                                 kernel_value *const *operands, int n_blocks) {
  kernel_instr *i = ARENA_NEW(k->arena, kernel_instr);
  i->op = op;
  i->n_results = n_results;
  i->n_operands = n_operands;
  i->n_blocks = n_blocks;
  i->align = 1;
  i->results = ARENA_ARRAY(k->arena, kernel_value, n_results);
  for (int r = 0; r < n_results; r++)
    i->results[r] = (kernel_value){.type = types[r], .id = k->next_id++, .index = r, .def = i};
  i->operands = ARENA_ARRAY(k->arena, kernel_value *, n_operands);
  for (int o = 0; o < n_operands; o++) i->operands[o] = operands[o];
  i->blocks = ARENA_ARRAY(k->arena, kernel_block *, n_blocks);
  return i;
}

kernel_block *kernel_block_alloc(kernel *k, kernel_instr *parent, int n_args, const kernel_type *types) {
  kernel_block *b = ARENA_NEW(k->arena, kernel_block);
  b->parent = parent;
  b->n_args = n_args;
  b->args = ARENA_ARRAY(k->arena, kernel_value, n_args);
  for (int a = 0; a < n_args; a++)
    b->args[a] = (kernel_value){.type = types[a], .id = k->next_id++, .index = a, .block = b};
  return b;
}

void kernel_instr_insert(kernel_block *b, kernel_instr *before, kernel_instr *i) {
  i->parent = b;
  i->next = before;
  i->prev = before ? before->prev : b->last;
  if (i->prev)
    i->prev->next = i;
  else
    b->first = i;
  if (before)
    before->prev = i;
  else
    b->last = i;
}

void kernel_instr_unlink(kernel_instr *i) {
  kernel_block *b = i->parent;
  if (i->prev)
    i->prev->next = i->next;
  else
    b->first = i->next;
  if (i->next)
    i->next->prev = i->prev;
  else
    b->last = i->prev;
  i->prev = i->next = NULL;
  i->parent = NULL;
}

kernel_instr *kernel_instr_copy(kernel *k, const kernel_instr *i, kernel_value **map);

kernel_block *kernel_block_copy(kernel *k, const kernel_block *b, kernel_instr *parent, kernel_value **map) {
  kernel_type types[b->n_args ? b->n_args : 1];
  for (int a = 0; a < b->n_args; a++) types[a] = b->args[a].type;
  kernel_block *copy = kernel_block_alloc(k, parent, b->n_args, types);
  for (int a = 0; a < b->n_args; a++) map[b->args[a].id] = &copy->args[a];
  for (const kernel_instr *i = b->first; i; i = i->next) kernel_instr_insert(copy, NULL, kernel_instr_copy(k, i, map));
  return copy;
}

kernel_instr *kernel_instr_copy(kernel *k, const kernel_instr *i, kernel_value **map) {
  int nr = i->n_results, no = i->n_operands;
  kernel_type *types = heap_alloc(sizeof *types * (size_t)(nr + 1));
  for (int r = 0; r < nr; r++) types[r] = i->results[r].type;
  kernel_instr *copy = kernel_instr_alloc(k, i->op, nr, types, no, i->operands, i->n_blocks);
  free(types);
  for (int o = 0; o < no; o++)
    if (map[i->operands[o]->id]) copy->operands[o] = map[i->operands[o]->id];
  for (int r = 0; r < nr; r++) map[i->results[r].id] = &copy->results[r];
  copy->imm = i->imm;
  copy->mem = i->mem;
  copy->align = i->align;
  if (i->op == KERNEL_OP_SHUFFLE)
    copy->imm.list = arena_copy(k->arena, i->imm.list, sizeof(int32_t) * i->results[0].type.lanes);
  if (i->op == KERNEL_OP_TILE_FMA) copy->imm.tile = arena_copy(k->arena, i->imm.tile, sizeof *i->imm.tile);
  for (int n = 0; n < i->n_blocks; n++) copy->blocks[n] = kernel_block_copy(k, i->blocks[n], copy, map);
  return copy;
}

kernel *kernel_clone(const kernel *k, arena *a) {
  kernel *copy = ARENA_NEW(a, kernel);
  *copy = *k;
  copy->arena = a;
  copy->name = arena_strv(a, k->name);
  copy->params = arena_copy(a, k->params, sizeof *k->params * (size_t)k->n_params);
  memset(&copy->arrays, 0, sizeof copy->arrays);
  vec_append(a, &copy->arrays, k->arrays.data, k->arrays.len);
  copy->next_id = 0;
  kernel_value **map = heap_alloc(sizeof *map * (size_t)(k->next_id + 1));
  copy->body = kernel_block_copy(copy, k->body, NULL, map);
  free(map);
  return copy;
}

void kernel_rewrite_set(kernel_rewrite *r, const kernel_value *old, kernel_value *replacement) {
  if (old->id >= r->cap) {
    int cap = old->id * 2 + 64;
    r->map = heap_realloc(r->map, sizeof *r->map * (size_t)cap);
    memset(r->map + r->cap, 0, sizeof *r->map * (size_t)(cap - r->cap));
    r->cap = cap;
  }
  r->map[old->id] = replacement;
}

static void rewrite_block(const kernel_rewrite *r, kernel_block *b) {
  for (kernel_instr *i = b->first; i; i = i->next) {
    for (int o = 0; o < i->n_operands; o++)
      while (i->operands[o]->id < r->cap && r->map[i->operands[o]->id]) i->operands[o] = r->map[i->operands[o]->id];
    for (int n = 0; n < i->n_blocks; n++) rewrite_block(r, i->blocks[n]);
  }
}

void kernel_rewrite_apply(kernel_rewrite *r, kernel *k) {
  if (r->map) rewrite_block(r, k->body);
  free(r->map);
  *r = (kernel_rewrite){0};
}
