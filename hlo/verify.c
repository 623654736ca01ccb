// SPDX-License-Identifier: Apache-2.0
// The verifier: structure first (lists, ids, uses, order, closedness, calls), then every operation's constraints.
//
// The second part infers each instruction's shape again, from its operands, in a shape table and arena of its own (the
// module is not touched), and compares: infer_run reports with the specification's labels. It runs only over
// computations whose structure is sound, since inference follows pointers that a broken structure would not answer for.
//
// Structural errors cite "structure_<what>". All failures are reported, up to the sink's limit.
#include <string.h>

#include "hlo/infer_internal.h"

typedef struct verifier {
  const hlo_module *m;
  diag_sink *sink;
  arena *arena;
  hlo_shape_table *shapes;
  const hlo_instr **by_id;        // instruction with this id, NULL if none was seen
  const hlo_computation **sound;  // computations without structural errors
  int n_sound;
  int32_t *slot_base;  // of an instruction's operands among all of the module's
  bitset slot_seen;    // operand slots that a use has named
  u64map known;        // computations of the module's list -> 1 + index
} verifier;

static void fail(verifier *v, const hlo_computation *c, const hlo_instr *i, const char *label, const char *format, ...)
    LEMNOS_PRINTF(5, 6);
static void fail(verifier *v, const hlo_computation *c, const hlo_instr *i, const char *label, const char *format,
                 ...) {
  strbuf text = {0};
  va_list args;
  va_start(args, format);
  strbuf_vprintf(&text, format, args);
  va_end(args);
  if (i) strbuf_printf(&text, " (in %%" STRV_FMT ")", STRV_ARG(i->name));
  if (c) strbuf_printf(&text, " (computation %%" STRV_FMT ")", STRV_ARG(c->name));
  diag_error(v->sink, i ? i->loc : NULL, "structure_%s: " STRV_FMT, label, STRV_ARG(strbuf_view(&text)));
  strbuf_deinit(&text);
}

// --- lists ---------------------------------------------------------------------------------------

// Links, parents, ids, names. False if the list cannot be walked any further.
static bool check_list(verifier *v, const hlo_computation *c) {
  const hlo_instr *prev = NULL;
  int64_t n = 0;
  for (const hlo_instr *i = c->first; i; prev = i, i = i->next) {
    if (i->prev != prev || i->parent != c) {
      fail(v, c, i, "list", "the instruction's %s is wrong", i->parent != c ? "parent" : "predecessor");
      return false;
    }
    if (i->id < 0 || i->id >= v->m->next_id || v->by_id[i->id]) {
      fail(v, c, i, "id", "id %d is out of range or taken; expected a unique one below %d", i->id, v->m->next_id);
      return false;
    }
    if (++n > v->m->next_id) {
      fail(v, c, i, "list", "the list does not end");
      return false;
    }
    v->by_id[i->id] = i;
  }
  if (c->last != prev) {
    fail(v, c, NULL, "list", "the last instruction is not the list's end");
    return false;
  }
  return true;
}

static void check_names(verifier *v, strmap *names) {
  for (int k = 0; k < v->m->n_computations; k++) {
    const hlo_computation *c = v->m->computations[k];
    if (!c->name.len || strmap_has(names, c->name))
      fail(v, c, NULL, "name", "the name is empty or taken; expected a unique one");
    strmap_put(v->arena, names, c->name, (void *)c);
  }
  for (int id = 0; id < v->m->next_id; id++) {
    const hlo_instr *i = v->by_id[id];
    if (!i) continue;
    if (!i->name.len || strmap_has(names, i->name))
      fail(v, NULL, i, "name", "the name is empty or taken; expected a unique one");
    strmap_put(v->arena, names, i->name, (void *)i);
  }
}

// --- instructions --------------------------------------------------------------------------------

// order[id]: 1 + position in its computation, 0 before the walk has reached it.
static bool check_operands(verifier *v, const hlo_computation *c, const hlo_instr *i, const int32_t *order) {
  bool ok = true;
  for (int k = 0; k < i->n_operands; k++) {
    const hlo_instr *x = i->operands[k];
    if (!x) {
      fail(v, c, i, "operand", "operand %d is missing", k);
      ok = false;
    } else if (x->id < 0 || x->id >= v->m->next_id || v->by_id[x->id] != x || x->parent != c) {
      fail(v, c, i, "operand", "operand %d does not belong to the computation", k);
      ok = false;
    } else if (!order[x->id]) {
      fail(v, c, i, "order", "operand %d, %%" STRV_FMT ", comes after its user", k, STRV_ARG(x->name));
      ok = false;
    }
  }
  return ok;
}

// Each use names a slot that holds the instruction, no slot is named twice, and there are as many uses as slots: hence
// uses and slots match one to one.
static bool check_uses(verifier *v, const hlo_computation *c, const hlo_instr *i, const int64_t *slots) {
  bool ok = true;
  for (int k = 0; k < i->n_uses; k++) {
    const hlo_instr *u = i->uses[k].user;
    int o = i->uses[k].operand;
    bool valid = u && u->id >= 0 && u->id < v->m->next_id && v->by_id[u->id] == u && u->parent == c && o >= 0 &&
                 o < u->n_operands && u->operands[o] == i;
    if (!valid) {
      fail(v, c, i, "uses", "use %d does not name an operand that is this instruction", k);
      ok = false;
    } else if (bitset_get(&v->slot_seen, v->slot_base[u->id] + o)) {
      fail(v, c, i, "uses", "operand %d of %%" STRV_FMT " is listed more than once", o, STRV_ARG(u->name));
      ok = false;
    } else {
      bitset_set(&v->slot_seen, v->slot_base[u->id] + o);
    }
  }
  if (slots[i->id] != i->n_uses) {
    fail(v, c, i, "uses", "%d uses are listed; expected %lld", i->n_uses, (long long)slots[i->id]);
    ok = false;
  }
  return ok;
}

static bool check_called(verifier *v, const hlo_computation *c, const hlo_instr *i) {
  bool ok = true;
  for (int k = 0; k < i->n_called; k++) {
    uint64_t index;
    if (!i->called[k] || !u64map_get(&v->known, (uint64_t)(uintptr_t)i->called[k], &index)) {
      fail(v, c, i, "call", "called computation %d is not one of the module's", k);
      ok = false;
    } else if (i->called[k] == v->m->entry) {
      fail(v, c, i, "call", "the entry computation is called");
      ok = false;
    }
  }
  return ok;
}

static bool check_instr(verifier *v, const hlo_computation *c, const hlo_instr *i, int32_t *order, int position,
                        int64_t *slots) {
  bool ok = true;
  if ((unsigned)i->op >= HLO_OP_COUNT) {
    fail(v, c, i, "op", "there is no operation %d", (int)i->op);
    return false;
  }
  if (!i->shape) {
    fail(v, c, i, "shape", "the shape is missing");
    ok = false;
  }
  if (i->n_operands < 0 || i->n_called < 0 || (i->n_operands && !i->operands) || (i->n_called && !i->called)) {
    fail(v, c, i, "operand", "%d operands, %d called computations, or their arrays are missing", i->n_operands,
         i->n_called);
    return false;
  }
  ok = check_operands(v, c, i, order) && ok;
  ok = check_called(v, c, i) && ok;
  order[i->id] = position + 1;
  if (ok)
    for (int k = 0; k < i->n_operands; k++) slots[i->operands[k]->id]++;
  return ok;
}

static bool check_params(verifier *v, const hlo_computation *c) {
  int seen = 0;
  for (const hlo_instr *i = c->first; i; i = i->next) {
    if (i->op != HLO_OP_PARAMETER) continue;
    int64_t number = i->attrs ? HLO_ATTRS(i, parameter)->number : -1;
    if (number < 0 || number >= c->n_params || c->params[number] != i) {
      fail(v, c, i, "parameter", "parameter number %lld is not listed as such; the computation has %d parameters",
           (long long)number, c->n_params);
      return false;
    }
    seen++;
  }
  if (seen != c->n_params) {
    fail(v, c, NULL, "parameter", "%d parameter instructions; expected %d", seen, c->n_params);
    return false;
  }
  return true;
}

// Numbers all operand slots of the module. False if there are more than 2^31.
static bool number_slots(verifier *v) {
  int64_t n = 0;
  v->slot_base = ARENA_ARRAY(v->arena, int32_t, v->m->next_id + 1);
  for (int id = 0; id < v->m->next_id; id++) {
    v->slot_base[id] = (int32_t)n;
    if (v->by_id[id] && v->by_id[id]->n_operands > 0) n += v->by_id[id]->n_operands;
    if (n >= INT32_MAX) {
      fail(v, NULL, v->by_id[id], "operand", "the module has too many operands");
      return false;
    }
  }
  v->slot_seen = bitset_create(v->arena, (int)n + 1);
  return true;
}

static bool check_computation(verifier *v, const hlo_computation *c, int32_t *order, int64_t *slots) {
  bool ok = true;
  int position = 0;
  for (const hlo_instr *i = c->first; i; i = i->next) ok = check_instr(v, c, i, order, position++, slots) && ok;
  ok = check_params(v, c) && ok;
  for (const hlo_instr *i = c->first; ok && i; i = i->next) ok = check_uses(v, c, i, slots) && ok;
  if (!c->root || c->root->id < 0 || c->root->id >= v->m->next_id || v->by_id[c->root->id] != c->root ||
      c->root->parent != c) {
    fail(v, c, NULL, "root", "the root is missing or not in the computation");
    ok = false;
  }
  return ok;
}

// --- the call graph ------------------------------------------------------------------------------

// Depth-first search with an explicit stack: state 0 unseen, 1 on the path, 2 done.
typedef struct frame {
  const hlo_computation *c;
  const hlo_instr *next;
  int called;
} frame;

static bool check_acyclic(verifier *v) {
  int n = v->m->n_computations, depth = 0;
  char *state = ARENA_ARRAY(v->arena, char, n + 1);
  frame *stack = ARENA_ARRAY(v->arena, frame, n + 1);
  for (int s = 0; s < n; s++) {
    if (state[s]) continue;
    stack[depth++] = (frame){v->m->computations[s], v->m->computations[s]->first, 0};
    state[s] = 1;
    while (depth) {
      frame *f = &stack[depth - 1];
      while (f->next && f->called >= f->next->n_called) *f = (frame){f->c, f->next->next, 0};
      uint64_t at = 0;
      if (!f->next) {
        u64map_get(&v->known, (uint64_t)(uintptr_t)f->c, &at);
        state[at - 1] = 2;
        depth--;
        continue;
      }
      const hlo_computation *callee = f->next->called[f->called++];
      u64map_get(&v->known, (uint64_t)(uintptr_t)callee, &at);
      if (state[at - 1] == 1) {
        fail(v, callee, f->next, "call", "the computation calls itself, directly or through others");
        return false;
      }
      if (state[at - 1] == 0) {
        state[at - 1] = 1;
        stack[depth++] = (frame){callee, callee->first, 0};
      }
    }
  }
  return true;
}

static void check_entry(verifier *v) {
  const hlo_module *m = v->m;
  uint64_t at;
  if (!m->entry || !u64map_get(&v->known, (uint64_t)(uintptr_t)m->entry, &at)) {
    fail(v, NULL, NULL, "entry", "the module has no entry computation");
    return;
  }
  if (!m->entry->root || !m->entry->root->shape) return;
  int leaves = hlo_shape_leaves(m->entry->root->shape);
  for (int k = 0; k < m->n_aliases; k++) {
    const hlo_alias *a = &m->aliases[k];
    if (a->result < 0 || a->result >= leaves || a->param < 0 || a->param >= m->entry->n_params)
      fail(v, m->entry, NULL, "alias", "result %d aliases parameter %d; expected one of %d results and %d parameters",
           a->result, a->param, leaves, m->entry->n_params);
  }
}

// --- the whole -----------------------------------------------------------------------------------

static bool check_structure(verifier *v) {
  const hlo_module *m = v->m;
  int mark = v->sink->n_errors;
  strmap names = {0};
  v->by_id = ARENA_ARRAY(v->arena, const hlo_instr *, m->next_id + 1);
  int32_t *order = ARENA_ARRAY(v->arena, int32_t, m->next_id + 1);
  int64_t *slots = ARENA_ARRAY(v->arena, int64_t, m->next_id + 1);
  v->sound = ARENA_ARRAY(v->arena, const hlo_computation *, m->n_computations + 1);
  for (int k = 0; k < m->n_computations; k++) {
    const hlo_computation *c = m->computations[k];
    uint64_t at;
    if (!c || c->module != m || u64map_get(&v->known, (uint64_t)(uintptr_t)c, &at)) {
      fail(v, NULL, NULL, "computation", "computation %d is missing, listed twice, or another module's", k);
      return false;
    }
    u64map_put(v->arena, &v->known, (uint64_t)(uintptr_t)c, (uint64_t)k + 1);
  }
  for (int k = 0; k < m->n_computations; k++)
    if (!check_list(v, m->computations[k])) return false;  // ids and links are what all later checks stand on
  check_names(v, &names);
  if (!number_slots(v)) return false;
  for (int k = 0; k < m->n_computations; k++)
    if (check_computation(v, m->computations[k], order, slots)) v->sound[v->n_sound++] = m->computations[k];
  check_entry(v);
  // Inference looks into called computations: a broken callee spoils its callers.
  return v->n_sound == m->n_computations && check_acyclic(v) && v->sink->n_errors == mark;
}

static void check_constraints(verifier *v) {
  for (int k = 0; k < v->n_sound; k++) {
    for (const hlo_instr *i = v->sound[k]->first; i; i = i->next) {
      infer f = {.arena = v->arena,
                 .shapes = v->shapes,
                 .module = v->m,
                 .op = i->op,
                 .n = i->n_operands,
                 .in = i->operands,
                 .n_called = i->n_called,
                 .called = i->called,
                 .attrs = i->attrs,
                 .declared = i->shape,
                 .loc = i->loc,
                 .sink = v->sink,
                 .name = i->name};
      const hlo_shape *inferred;
      (void)infer_run(&f, &inferred);
    }
  }
}

lemnos_status hlo_verify(const hlo_module *m, diag_sink *sink) {
  arena *a = arena_create();
  diag_sink local;
  diag_sink_init(&local, a);
  verifier v = {.m = m, .sink = sink ? sink : &local, .arena = a, .shapes = hlo_shape_table_create(a)};
  int mark = v.sink->n_errors;
  if (check_structure(&v)) check_constraints(&v);
  lemnos_status status = diag_sink_status(v.sink, mark);
  diag_sink_deinit(&local);
  arena_destroy(a);
  return status;
}
