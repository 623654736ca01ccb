// SPDX-License-Identifier: Apache-2.0
// Moves pure instructions whose operands are defined outside a loop in front of it: address arithmetic and constants
// mostly.
// Loads stay (a loop may run zero times, and the address may then be out of range); so do divisions by values. Needs:
// nothing.
#include "hlo/kernel/kernel.h"
#include "hlo/kernel/walk.h"

typedef struct state {
  int32_t *depth;  // by value id: loop nest depth of its block
  bool changed;
} state;

static bool is_movable(const kernel_instr *i) {
  if (i->n_blocks || i->n_results != 1) return false;
  switch (kernel_op_table[i->op].cls) {
    case KERNEL_CLASS_CONST:
    case KERNEL_CLASS_ID:
    case KERNEL_CLASS_FLOAT:
    case KERNEL_CLASS_ANY:
    case KERNEL_CLASS_CMP:
    case KERNEL_CLASS_CONV:
    case KERNEL_CLASS_VEC: return true;
    case KERNEL_CLASS_INT:
      return i->op != KERNEL_OP_DIV_S && i->op != KERNEL_OP_DIV_U && i->op != KERNEL_OP_REM_S &&
             i->op != KERNEL_OP_REM_U;
    case KERNEL_CLASS_GROUP:
      return i->op == KERNEL_OP_LOCAL_ID || i->op == KERNEL_OP_GROUP_ID || i->op == KERNEL_OP_SUBGROUP_LANE;
    default: return false;
  }
}

static void define(state *s, kernel_value *v, int depth) {
  s->depth[v->id] = depth;
}

// `loop`: the innermost enclosing for or while, or NULL; its body blocks have depth `depth`.
static void visit_block(state *s, kernel_block *b, kernel_instr *loop, int depth) {
  for (int a = 0; a < b->n_args; a++) define(s, &b->args[a], depth);
  for (kernel_instr *i = b->first, *next; i; i = next) {
    next = i->next;
    int at = 0;
    for (int o = 0; o < i->n_operands; o++)
      if (s->depth[i->operands[o]->id] > at) at = s->depth[i->operands[o]->id];
    kernel_instr *to = loop;
    // Outwards as far as operands allow: from depth `depth` to depth at.
    if (loop && is_movable(i) && at < depth) {
      int d = depth;
      while (d - 1 > at) {  // the loop around `to`
        kernel_instr *outer = to->parent->parent;
        while (outer && outer->op == KERNEL_OP_IF) outer = outer->parent->parent;
        if (!outer) break;
        to = outer;
        d--;
      }
      kernel_block *target = to->parent;
      kernel_instr_unlink(i);
      kernel_instr_insert(target, to, i);
      define(s, &i->results[0], d - 1);
      s->changed = true;
      continue;
    }
    for (int r = 0; r < i->n_results; r++) define(s, &i->results[r], depth);
    bool is_loop = i->op == KERNEL_OP_FOR || i->op == KERNEL_OP_WHILE;
    for (int n = 0; n < i->n_blocks; n++) visit_block(s, i->blocks[n], is_loop ? i : loop, depth + is_loop);
  }
}

bool kernel_pass_licm(kernel *k) {
  state s = {.depth = heap_alloc(sizeof(int32_t) * ((size_t)k->next_id + 1))};
  visit_block(&s, k->body, NULL, 0);
  free(s.depth);
  return s.changed;
}
