// SPDX-License-Identifier: Apache-2.0
// Removes instructions whose results nobody uses and that write nothing, carried values of loops that are never read
// included only when the whole loop is dead. Needs: nothing. Leaves: only live code.
#include "hlo/kernel/kernel.h"
#include "hlo/kernel/walk.h"

static bool has_effect(const kernel_instr *i) {
  switch (i->op) {
    case KERNEL_OP_STORE:
    case KERNEL_OP_YIELD:
    case KERNEL_OP_BARRIER:
    case KERNEL_OP_ATOMIC_ADD:
    case KERNEL_OP_ATOMIC_MIN_S:
    case KERNEL_OP_ATOMIC_MAX_S:
    case KERNEL_OP_ATOMIC_CAS:
    case KERNEL_OP_WHILE: return true;  // a while may not end: it is kept
    default: return false;
  }
}

static bool block_has_effect(const kernel_block *b);
static bool deep_effect(const kernel_instr *i) {
  if (has_effect(i)) return true;
  for (int n = 0; n < i->n_blocks; n++)
    if (block_has_effect(i->blocks[n])) return true;
  return false;
}
static bool block_has_effect(const kernel_block *b) {
  for (const kernel_instr *i = b->first; i; i = i->next)
    if (i->op != KERNEL_OP_YIELD && deep_effect(i)) return true;
  return false;
}

static void mark(const kernel_instr *i, uint8_t *live) {
  for (int o = 0; o < i->n_operands; o++) live[i->operands[o]->id] = 1;
}

// Backwards: users are seen before definitions, except across loop back edges, which yields cover (always live).
static void sweep(kernel_block *b, uint8_t *live, bool *changed) {
  for (kernel_instr *i = b->last, *prev; i; i = prev) {
    prev = i->prev;
    bool needed = deep_effect(i);
    for (int r = 0; r < i->n_results; r++) needed |= live[i->results[r].id];
    if (!needed) {
      kernel_instr_unlink(i);
      *changed = true;
      continue;
    }
    for (int n = 0; n < i->n_blocks; n++) sweep(i->blocks[n], live, changed);
    mark(i, live);
  }
}

bool kernel_pass_dce(kernel *k) {
  uint8_t *live = heap_alloc((size_t)k->next_id + 1);
  bool changed = false;
  sweep(k->body, live, &changed);
  free(live);
  return changed;
}
