// SPDX-License-Identifier: Apache-2.0
// Buffer assignment: groups of alias.c get a place each. Groups with a constant, an entry parameter or an entry result
// live there; all others share one arena: largest first, each at the lowest offset where no group that is live at the
// same time stands (best-fit by interval; Pisarchyk and Lee, "Efficient memory management for deep neural net
// inference", 2020, greedy by size).
#include "hlo/analysis/buffers.h"

#include <stdlib.h>

#include "hlo/analysis/alias.h"

enum { ALIGN = 256 };

typedef struct item {
  int32_t group;  // representative value
  int32_t def, last;
  int64_t size;  // aligned
  int64_t offset;
} item;

static int64_t align_up(int64_t x) {
  return (x + ALIGN - 1) / ALIGN * ALIGN;
}

static int64_t value_bytes(const alias_value *v) {
  const hlo_shape *s = hlo_shape_leaf(v->instr->shape, v->leaf);
  return hlo_shape_is_array(s) ? hlo_shape_bytes(s) : 0;
}

static int by_size(const void *a, const void *b) {
  const item *x = a, *y = b;
  if (x->size != y->size) return x->size < y->size ? 1 : -1;
  return x->def != y->def ? (x->def < y->def ? -1 : 1) : x->group - y->group;
}

static int by_offset(const void *a, const void *b) {
  const item *x = *(item *const *)a, *y = *(item *const *)b;
  return x->offset < y->offset ? -1 : x->offset > y->offset;
}

// Each item in turn at the lowest hole among placed items that overlap it in time.
static int64_t pack(item *items, int n, item **placed) {
  int64_t total = 0;
  int n_placed = 0;
  for (int i = 0; i < n; i++) {
    item *x = &items[i];
    int64_t at = 0, best = -1, best_room = INT64_MAX;
    for (int p = 0; p < n_placed; p++) {  // sorted by offset
      const item *y = placed[p];
      if (y->last < x->def || x->last < y->def) continue;
      int64_t room = y->offset - at;
      if (room >= x->size && room < best_room) best = at, best_room = room;
      if (y->offset + y->size > at) at = y->offset + y->size;
    }
    x->offset = best >= 0 ? best : at;
    if (x->offset + x->size > total) total = x->offset + x->size;
    int where = n_placed++;
    while (where > 0 && by_offset(&placed[where - 1], &(item *){x}) > 0) {
      placed[where] = placed[where - 1];
      where--;
    }
    placed[where] = x;
  }
  return total;
}

// Largest sum of sizes live at once.
static int64_t peak_of(const item *items, int n, int32_t end) {
  int64_t *change = heap_alloc(sizeof *change * ((size_t)end + 3)), now = 0, peak = 0;
  for (int i = 0; i < n; i++) {
    change[items[i].def] += items[i].size;
    change[items[i].last + 1] -= items[i].size;
  }
  for (int32_t t = 0; t <= end + 1; t++) {
    now += change[t];
    if (now > peak) peak = now;
  }
  free(change);
  return peak;
}

// In-place updates that are not forced by loops or results: the operand dies at its update, so both may share.
static void merge_in_place(alias_analysis *a) {
  for (int32_t v = 0; v < a->n_values; v++) {
    const hlo_instr *i = a->values[v].instr;
    if (i->op != HLO_OP_DYNAMIC_UPDATE_SLICE && i->op != HLO_OP_SCATTER && i->op != HLO_OP_FUSION &&
        !hlo_op_has(i->op, HLO_TRAIT_E))
      continue;
    int cursor = 0, operand;
    while ((operand = alias_in_place_operand(i, a->values[v].leaf, &cursor)) >= 0) {
      hlo_instr *x;
      int leaf;
      alias_operand_leaf(i, operand, &x, &leaf);
      if (alias_try_merge(a, v, alias_value_of(a, x, leaf))) break;
    }
  }
}

static void collect_constants(alias_analysis *a, hlo_buffer_assignment *ba, int32_t *number) {
  for (int32_t v = 0; v < a->n_values; v++) {
    const hlo_instr *i = a->values[v].instr;
    if (i->op != HLO_OP_CONSTANT) continue;
    number[v] = ba->n_constants;
    ba->constants[ba->n_constants++] = hlo_constant_value(i);
  }
}

static int32_t constant_in(const alias_analysis *a, int32_t group, const int32_t *number) {
  int32_t v = group;
  do {
    if (a->values[v].instr->op == HLO_OP_CONSTANT) return number[v];
    v = a->values[v].next;
  } while (v != group);
  return -1;
}

static void count_leaves(const hlo_module *m, hlo_buffer_assignment *ba) {
  for (int p = 0; p < m->entry->n_params; p++) ba->n_params += hlo_shape_leaves(m->entry->params[p]->shape);
  ba->n_results = hlo_shape_leaves(m->entry->root->shape);
}

lemnos_status hlo_assign_buffers(const hlo_module *m, arena *arena_, hlo_buffer_assignment **out) {
  alias_analysis *a = alias_analyze(m, arena_);
  merge_in_place(a);
  hlo_buffer_assignment *ba = ARENA_NEW(arena_, hlo_buffer_assignment);
  ba->arena = arena_;
  ba->n_instrs = m->next_id;
  ba->of = ARENA_ARRAY(arena_, hlo_buffer *, m->next_id + 1);
  ba->constants = ARENA_ARRAY(arena_, const hlo_literal *, a->n_values + 1);
  count_leaves(m, ba);
  ba->result_alias = ARENA_ARRAY(arena_, int32_t, ba->n_results + 1);
  for (int l = 0; l < ba->n_results; l++) ba->result_alias[l] = -1;
  int32_t *number = ARENA_ARRAY(arena_, int32_t, a->n_values + 1);
  collect_constants(a, ba, number);
  // Arena groups.
  item *items = heap_alloc(sizeof *items * ((size_t)a->n_values + 1));
  int64_t *offset_of = ARENA_ARRAY(arena_, int64_t, a->n_values + 1);
  int n = 0;
  for (int32_t v = 0; v < a->n_values; v++) {
    const alias_group *g = &a->groups[v];
    if (alias_find(a, v) != v) continue;
    if (g->root >= 0 && g->param >= 0) ba->result_alias[g->root] = g->param;
    if (g->constant || g->param >= 0 || g->root >= 0) continue;
    int64_t bytes = value_bytes(&a->values[v]);
    if (bytes) items[n++] = (item){.group = v, .def = g->def, .last = g->last, .size = align_up(bytes)};
  }
  qsort(items, (size_t)n, sizeof *items, by_size);
  item **placed = heap_alloc(sizeof *placed * ((size_t)n + 1));
  ba->arena_bytes = pack(items, n, placed);
  ba->peak_live_bytes = peak_of(items, n, a->end);
  for (int i = 0; i < n; i++) offset_of[items[i].group] = items[i].offset;
  free(placed);
  free(items);
  // Every value's place.
  for (int32_t v = 0; v < a->n_values; v++) {
    const alias_value *x = &a->values[v];
    if (!ba->of[x->instr->id])
      ba->of[x->instr->id] = ARENA_ARRAY(arena_, hlo_buffer, hlo_shape_leaves(x->instr->shape) + 1);
    int32_t group = alias_find(a, v);
    const alias_group *g = &a->groups[group];
    hlo_buffer b = {.size = value_bytes(x)};
    if (!hlo_shape_is_array(hlo_shape_leaf(x->instr->shape, x->leaf)))
      b.kind = HLO_BUFFER_NONE;
    else if (g->constant)
      b.kind = HLO_BUFFER_CONSTANT, b.index = constant_in(a, group, number);
    else if (g->param >= 0)
      b.kind = HLO_BUFFER_PARAM, b.index = g->param;
    else if (g->root >= 0)
      b.kind = HLO_BUFFER_RESULT, b.index = g->root;
    else
      b.kind = HLO_BUFFER_ARENA, b.offset = offset_of[group];
    ba->of[x->instr->id][x->leaf] = b;
  }
  *out = ba;
  return LEMNOS_SUCCESS;
}

static bool same_place(const hlo_buffer *x, const hlo_buffer *y) {
  return x->kind == y->kind && x->kind != HLO_BUFFER_NONE && x->index == y->index && x->offset == y->offset &&
         x->size == y->size;
}

int hlo_buffer_shared_operand(const hlo_buffer_assignment *ba, const hlo_instr *i, int leaf) {
  const hlo_buffer *mine = &ba->of[i->id][leaf];
  int n = 0;
  if (mine->kind == HLO_BUFFER_NONE || mine->size == 0) return -1;
  for (int o = 0; o < i->n_operands; o++)
    for (int l = 0; l < hlo_shape_leaves(i->operands[o]->shape); l++, n++)
      if (same_place(mine, &ba->of[i->operands[o]->id][l])) return n;
  return -1;
}

static bool overlap(const hlo_buffer *x, const hlo_buffer *y) {
  if (x->kind != y->kind || x->kind == HLO_BUFFER_NONE || x->size == 0 || y->size == 0) return false;
  if (x->kind != HLO_BUFFER_ARENA) return x->index == y->index;
  return x->offset < y->offset + y->size && y->offset < x->offset + x->size;
}

lemnos_status hlo_buffers_verify(const hlo_module *m, const hlo_buffer_assignment *ba) {
  arena *scratch = arena_create();
  alias_analysis *a = alias_analyze(m, scratch);
  merge_in_place(a);
  lemnos_status status = LEMNOS_SUCCESS;
  for (int32_t v = 0; v < a->n_values && !status; v++) {
    const alias_value *x = &a->values[v];
    const hlo_buffer *bx = &ba->of[x->instr->id][x->leaf];
    for (int32_t w = v + 1; w < a->n_values && !status; w++) {
      const alias_value *y = &a->values[w];
      if (alias_find(a, v) == alias_find(a, w) || !overlap(bx, &ba->of[y->instr->id][y->leaf])) continue;
      if (bx->kind == HLO_BUFFER_CONSTANT) continue;
      if (x->last < y->def || y->last < x->def) continue;
      status = lemnos_status_make(LEMNOS_INTERNAL, STRV_FMT " and " STRV_FMT " are live together and share memory",
                                  STRV_ARG(x->instr->name), STRV_ARG(y->instr->name));
    }
  }
  arena_destroy(scratch);
  return status;
}

void hlo_buffers_print(strbuf *out, const hlo_module *m, const hlo_buffer_assignment *ba) {
  static const char *const kinds[] = {"none", "arena", "param", "result", "constant"};
  strbuf_printf(out, "arena %lld bytes, live peak %lld bytes\n", (long long)ba->arena_bytes,
                (long long)ba->peak_live_bytes);
  for (int c = 0; c < m->n_computations; c++) {
    HLO_FOR_EACH (i, m->computations[c]) {
      if (!ba->of[i->id]) continue;
      for (int l = 0; l < hlo_shape_leaves(i->shape); l++) {
        const hlo_buffer *b = &ba->of[i->id][l];
        strbuf_printf(out, "%-32.*s %d %s %d+%lld, %lld bytes\n", STRV_ARG(i->name), l, kinds[b->kind], b->index,
                      (long long)b->offset, (long long)b->size);
      }
    }
  }
}
