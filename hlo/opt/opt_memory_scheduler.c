// SPDX-License-Identifier: Apache-2.0
// Memory scheduling: reorders each executed computation for the least peak of live bytes. Three orders are tried and
// simulated, the best is kept (the present one if nothing is better):
//   - the present order,
//   - list scheduling: of the instructions that are ready, the one that frees most more than it allocates,
//   - depth first from the root, operands that need more memory first (after Sethi and Ullman).
// Side effects stay in their order. Arrays are counted by leaf: tuple, get_tuple_element, bitcast, and while states
// share their operands' bytes; an update in place takes over a dying operand; parameters and constants stand elsewhere
// and do not count. What a while or conditional needs inside is added while it runs. An update in place comes after
// whatever else reads the old value, where that is possible: otherwise the old value would have to be copied. Needs:
// fusion is over. Leaves: a valid order; nothing else changes. Before copy insertion, which reads liveness off the
// order.
#include "hlo/analysis/alias.h"
#include "hlo/opt/opt_fusion_internal.h"

enum { MAX_INSTRUCTIONS = 20000 };

typedef struct node {
  hlo_instr *i;
  int *reads, n_reads;  // buffers read, each once
  int *made, n_made;    // buffers allocated
  // made[0] may use target's memory if nothing else needs that any more: taken_over its number
  int taken_over, target;
  int *after, n_after;  // nodes that must come before (operands, earlier side effect), each once
  int *users, n_users;  // the inverse
  int64_t inside;       // bytes needed while it runs
} node;

typedef struct plan {
  arena *a;
  hlo_computation *c;
  node *nodes;
  int n;
  int64_t *bytes;  // of buffers
  int *n_reads;    // of buffers: how many nodes
  int n_buffers;
  int **leaves;  // [node] -> buffer of each leaf, -1: not counted
} plan;

static int new_buffer(plan *p, int64_t bytes) {
  p->bytes[p->n_buffers] = bytes < 0 ? 0 : (bytes + 255) / 256 * 256;
  return p->n_buffers++;
}

static bool shares_operand(const hlo_instr *i) {
  return alias_is_free(i) || i->op == HLO_OP_WHILE;
}

static void leaves_of(plan *p, node *x, int at) {
  hlo_instr *i = x->i;
  int n = hlo_shape_leaves(i->shape);
  int *out = p->leaves[at] = ARENA_ARRAY(p->a, int, n + 1);
  if (i->op == HLO_OP_PARAMETER || i->op == HLO_OP_CONSTANT) {
    for (int l = 0; l < n; l++) out[l] = -1;
    return;
  }
  if (i->op == HLO_OP_TUPLE) {
    for (int o = 0, l = 0; o < i->n_operands; o++) {
      int m = hlo_shape_leaves(i->operands[o]->shape);
      memcpy(out + l, p->leaves[i->operands[o]->scratch], sizeof *out * (size_t)m);
      l += m;
    }
    return;
  }
  if (shares_operand(i)) {
    const int *in = p->leaves[i->operands[0]->scratch];
    int first = 0;
    if (i->op == HLO_OP_GET_TUPLE_ELEMENT)
      for (int e = 0; e < HLO_ATTRS(i, get_tuple_element)->index; e++)
        first += hlo_shape_leaves(i->operands[0]->shape->elements[e]);
    memcpy(out, in + first, sizeof *out * (size_t)n);
    if (i->op != HLO_OP_WHILE) return;
  }
  x->made = ARENA_ARRAY(p->a, int, n + 1);
  for (int l = 0; l < n; l++) {
    const hlo_shape *s = hlo_shape_leaf(i->shape, l);
    if (i->op == HLO_OP_WHILE && out[l] >= 0) continue;  // a carried parameter is copied
    out[l] = hlo_shape_is_array(s) ? new_buffer(p, hlo_shape_bytes(s)) : -1;
    if (out[l] >= 0) x->made[x->n_made++] = out[l];
  }
}

static void find_take_over(plan *p, node *x) {
  int cursor = 0, leaf, operand = alias_in_place_operand(x->i, 0, &cursor);
  x->taken_over = x->target = -1;
  if (operand < 0 || x->n_made != 1 || !hlo_shape_is_array(x->i->shape)) return;
  hlo_instr *from;
  alias_operand_leaf(x->i, operand, &from, &leaf);
  x->target = p->leaves[from->scratch][leaf];
  if (x->target >= 0 && p->bytes[x->target] == p->bytes[x->made[0]]) x->taken_over = x->made[0];
}

static bool add_once(arena *a, int **list, int *n, int capacity, int value) {
  for (int k = 0; k < *n; k++)
    if ((*list)[k] == value) return false;
  if (!*list) *list = ARENA_ARRAY(a, int, capacity + 1);
  (*list)[(*n)++] = value;
  return true;
}

static void find_reads(plan *p, node *x) {
  int capacity = 0;
  for (int o = 0; o < x->i->n_operands; o++) capacity += hlo_shape_leaves(x->i->operands[o]->shape);
  if (alias_is_free(x->i)) return;  // users of its leaves are the readers
  if (capacity > 0) x->reads = ARENA_ARRAY(p->a, int, capacity);
  for (int o = 0; o < x->i->n_operands; o++) {
    const int *leaves = p->leaves[x->i->operands[o]->scratch];
    for (int l = 0; l < hlo_shape_leaves(x->i->operands[o]->shape); l++)
      if (leaves[l] >= 0 && add_once(p->a, &x->reads, &x->n_reads, capacity, leaves[l])) p->n_reads[leaves[l]]++;
  }
}

// The array that i updates in place, or NULL.
static hlo_instr *updated_array(const hlo_instr *i) {
  int cursor = 0, leaf, operand;
  bool update = i->op == HLO_OP_DYNAMIC_UPDATE_SLICE || i->op == HLO_OP_SCATTER ||
                (i->op == HLO_OP_FUSION && HLO_ATTRS(i, fusion)->kind == HLO_FUSION_KIND_IN_PLACE);
  if (!update || (operand = alias_in_place_operand(i, 0, &cursor)) < 0) return NULL;
  hlo_instr *x;
  alias_operand_leaf(i, operand, &x, &leaf);
  return x;
}

// Moves update i, with what depends on it, behind `reader`, unless that depends on i. scratch: positions.
static void sink_update(arena *a, hlo_instr *i, hlo_instr *reader) {
  fusion_list moved = {0};
  bitset marked = bitset_create(a, i->parent->module->next_id);
  bitset_set(&marked, i->id);
  vec_push(a, &moved, i);
  for (hlo_instr *x = i->next; x; x = x->next) {
    bool depends = false;
    for (int o = 0; o < x->n_operands; o++) depends |= bitset_get(&marked, x->operands[o]->id);
    if (depends && (x == reader || hlo_instr_has_side_effect(x))) return;
    if (x == reader) break;
    if (!depends) continue;
    bitset_set(&marked, x->id);
    vec_push(a, &moved, x);
  }
  hlo_instr *position = reader->next;
  for (int n = 0; n < moved.len; n++) hlo_instr_move_before(moved.data[n], position);
}

static void sink_updates(arena *a, hlo_computation *c) {
  int64_t n = 0;
  fusion_list updates = {0};  // each is moved once
  HLO_FOR_EACH (i, c) {
    i->scratch = n++;
    if (updated_array(i) && !hlo_instr_has_side_effect(i)) vec_push(a, &updates, i);
  }
  for (int k = 0; k < updates.len && n <= MAX_INSTRUCTIONS; k++) {
    hlo_instr *i = updates.data[k], *x = updated_array(i), *last = NULL;
    for (int u = 0; u < x->n_uses; u++) {
      hlo_instr *reader = x->uses[u].user;
      if (reader != i && reader->scratch > i->scratch && (!last || reader->scratch > last->scratch)) last = reader;
    }
    if (!last) continue;
    sink_update(a, i, last);
    n = 0;
    HLO_FOR_EACH (y, c) y->scratch = n++;
  }
}

static void find_order(plan *p) {
  int last_effect = -1;
  for (int n = 0; n < p->n; n++) {
    node *x = &p->nodes[n];
    bool effect = hlo_instr_has_side_effect(x->i);
    const hlo_instr *array = updated_array(x->i);
    int readers = array ? array->n_uses : 0, capacity = x->i->n_operands + 1 + readers;
    for (int u = 0; u < readers; u++)
      if (array->uses[u].user->scratch < n)
        add_once(p->a, &x->after, &x->n_after, capacity, (int)array->uses[u].user->scratch);
    for (int o = 0; o < x->i->n_operands; o++)
      add_once(p->a, &x->after, &x->n_after, capacity, (int)x->i->operands[o]->scratch);
    if (effect && last_effect >= 0) add_once(p->a, &x->after, &x->n_after, capacity, last_effect);
    if (effect) last_effect = n;
  }
  for (int n = 0; n < p->n; n++)
    for (int k = 0; k < p->nodes[n].n_after; k++) p->nodes[p->nodes[n].after[k]].n_users++;
  for (int n = 0; n < p->n; n++) {
    p->nodes[n].users = ARENA_ARRAY(p->a, int, p->nodes[n].n_users + 1);
    p->nodes[n].n_users = 0;
  }
  for (int n = 0; n < p->n; n++)
    for (int k = 0; k < p->nodes[n].n_after; k++) {
      node *x = &p->nodes[p->nodes[n].after[k]];
      x->users[x->n_users++] = n;
    }
}

static plan make_plan(arena *a, hlo_computation *c, const int64_t *peaks) {
  plan p = {.a = a, .c = c};
  int leaves = 0;
  HLO_FOR_EACH (i, c) {
    i->scratch = p.n++;
    leaves += hlo_shape_leaves(i->shape);
  }
  p.nodes = ARENA_ARRAY(a, node, p.n + 1);
  p.leaves = ARENA_ARRAY(a, int *, p.n + 1);
  p.bytes = ARENA_ARRAY(a, int64_t, leaves + 1);
  p.n_reads = ARENA_ARRAY(a, int, leaves + 1);
  int n = 0;
  HLO_FOR_EACH (i, c) {
    node *x = &p.nodes[n];
    x->i = i;
    leaves_of(&p, x, n++);
    if (i->op == HLO_OP_WHILE || i->op == HLO_OP_CONDITIONAL || i->op == HLO_OP_CALL)
      for (int k = 0; k < i->n_called; k++)
        if (peaks[i->called[k]->id] > x->inside) x->inside = peaks[i->called[k]->id];
  }
  for (n = 0; n < p.n; n++) find_reads(&p, &p.nodes[n]);
  for (n = 0; n < p.n; n++) find_take_over(&p, &p.nodes[n]);
  const int *root = p.leaves[c->root->scratch];
  for (int l = 0; l < hlo_shape_leaves(c->root->shape); l++)
    if (root[l] >= 0) p.n_reads[root[l]]++;  // never freed
  find_order(&p);
  return p;
}

// --- simulation ----------------------------------------------------------------------------------

typedef struct memory {
  int64_t live, peak;
  int *reads_left;
} memory;

static memory empty_memory(const plan *p) {
  memory m = {.reads_left = ARENA_ARRAY(p->a, int, p->n_buffers + 1)};
  if (p->n_buffers) memcpy(m.reads_left, p->n_reads, sizeof *m.reads_left * (size_t)p->n_buffers);
  return m;
}

static int64_t allocated(const plan *p, const memory *m, const node *x) {
  int64_t sum = 0;
  for (int k = 0; k < x->n_made; k++) sum += p->bytes[x->made[k]];
  if (x->taken_over >= 0 && m->reads_left[x->target] == 1) sum -= p->bytes[x->taken_over];
  return sum;
}

static int64_t freed(const plan *p, const memory *m, const node *x) {
  int64_t sum = 0;
  for (int k = 0; k < x->n_reads; k++)
    if (m->reads_left[x->reads[k]] == 1) sum += p->bytes[x->reads[k]];
  if (x->taken_over >= 0 && m->reads_left[x->target] == 1) sum -= p->bytes[x->target];
  for (int k = 0; k < x->n_made; k++)
    if (p->n_reads[x->made[k]] == 0) sum += p->bytes[x->made[k]];
  return sum;
}

static void execute(const plan *p, memory *m, const node *x) {
  int64_t add = allocated(p, m, x), sub = freed(p, m, x);
  m->live += add;
  if (m->live + x->inside > m->peak) m->peak = m->live + x->inside;
  m->live -= sub;
  for (int k = 0; k < x->n_reads; k++) m->reads_left[x->reads[k]]--;
}

static int64_t simulate(const plan *p, const int *order) {
  memory m = empty_memory(p);
  for (int n = 0; n < p->n; n++) execute(p, &m, &p->nodes[order ? order[n] : n]);
  return m.peak;
}

// --- orders --------------------------------------------------------------------------------------

static int *list_order(const plan *p) {
  int *order = ARENA_ARRAY(p->a, int, p->n + 1), *waiting = ARENA_ARRAY(p->a, int, p->n + 1);
  int *ready = ARENA_ARRAY(p->a, int, p->n + 1), n_ready = 0, n = 0;
  memory m = empty_memory(p);
  for (int k = 0; k < p->n; k++)
    if ((waiting[k] = p->nodes[k].n_after) == 0) ready[n_ready++] = k;
  while (n_ready) {
    int best = 0;
    int64_t most = INT64_MIN;
    for (int k = 0; k < n_ready; k++) {
      const node *x = &p->nodes[ready[k]];
      int64_t gain = freed(p, &m, x) - allocated(p, &m, x);
      if (gain < most || (gain == most && ready[k] > ready[best])) continue;
      most = gain;
      best = k;
    }
    int at = ready[best];
    ready[best] = ready[--n_ready];
    order[n++] = at;
    execute(p, &m, &p->nodes[at]);
    for (int u = 0; u < p->nodes[at].n_users; u++)
      if (--waiting[p->nodes[at].users[u]] == 0) ready[n_ready++] = p->nodes[at].users[u];
  }
  return order;
}

// Bytes that a value's computation needs at least: its own result, its operands', and the largest of their needs.
static int64_t *needs(const plan *p) {
  int64_t *need = ARENA_ARRAY(p->a, int64_t, p->n + 1);
  for (int n = 0; n < p->n; n++) {
    const node *x = &p->nodes[n];
    int64_t own = x->inside;
    for (int k = 0; k < x->n_made; k++) own += p->bytes[x->made[k]];
    for (int k = 0; k < x->n_reads; k++) own += p->bytes[x->reads[k]];
    for (int k = 0; k < x->n_after; k++)
      if (need[x->after[k]] > own) own = need[x->after[k]];
    need[n] = own;
  }
  return need;
}

static int *depth_first_order(const plan *p) {
  const int64_t *need = needs(p);
  int *order = ARENA_ARRAY(p->a, int, p->n + 1), *stack = ARENA_ARRAY(p->a, int, p->n + 1), n = 0;
  char *state = ARENA_ARRAY(p->a, char, p->n + 1);  // 1: on the stack, 2: done
  for (int k = 0; k < p->n; k++)                    // parameters keep their places at the front
    if (p->nodes[k].i->op == HLO_OP_PARAMETER) order[n++] = k, state[k] = 2;
  for (int start = 0; start < p->n; start++) {
    int depth = 0;
    if (state[start] || (p->nodes[start].n_users && start != (int)p->c->root->scratch)) continue;
    stack[depth++] = start;
    state[start] = 1;
    while (depth) {
      const node *x = &p->nodes[stack[depth - 1]];
      int next = -1;
      for (int k = 0; k < x->n_after; k++)
        if (!state[x->after[k]] && (next < 0 || need[x->after[k]] > need[next])) next = x->after[k];
      if (next >= 0) {
        state[next] = 1;
        stack[depth++] = next;
        continue;
      }
      state[stack[depth - 1]] = 2;
      order[n++] = stack[--depth];
    }
  }
  return n == p->n ? order : NULL;
}

static bool schedule(hlo_pass_ctx *ctx, hlo_computation *c, int64_t *peaks) {
  sink_updates(ctx->scratch, c);
  plan p = make_plan(ctx->scratch, c, peaks);
  int64_t best = simulate(&p, NULL);
  int *chosen = NULL, *orders[2] = {NULL, NULL};
  if (p.n <= MAX_INSTRUCTIONS) {
    orders[0] = depth_first_order(&p);
    orders[1] = list_order(&p);
  }
  for (int k = 0; k < 2; k++) {
    int64_t peak = orders[k] ? simulate(&p, orders[k]) : INT64_MAX;
    if (peak < best) best = peak, chosen = orders[k];
  }
  if (!chosen || !hlo_opt_allowed(ctx)) {
    peaks[c->id] = simulate(&p, NULL);
    return false;
  }
  peaks[c->id] = best;
  for (int n = 0; n < p.n; n++) hlo_instr_move_before(p.nodes[chosen[n]].i, NULL);
  return true;
}

lemnos_status hlo_opt_memory_scheduler(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  fusion_computations list = fusion_executed(ctx->scratch, m);  // callees first
  int64_t *peaks = ARENA_ARRAY(ctx->scratch, int64_t, m->next_computation_id + 1);
  for (int n = 0; n < list.len; n++) *changed |= schedule(ctx, list.data[n], peaks);
  return LEMNOS_SUCCESS;
}
