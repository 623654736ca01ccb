// SPDX-License-Identifier: Apache-2.0
// Re-folds after other passes: instructions whose operands became constants are built anew through the folding builder;
// ifs on constants are replaced by the taken branch; for loops of no iteration by their initial values. Needs: nothing.
#include "hlo/kernel/builder.h"
#include "hlo/kernel/walk.h"

typedef struct state {
  kernel *k;
  kernel_rewrite rewrite;
  bool changed;
} state;

static kernel_value *resolve(const state *s, kernel_value *v) {
  while (v->id < s->rewrite.cap && s->rewrite.map[v->id]) v = s->rewrite.map[v->id];
  return v;
}

static bool is_const_int(const kernel_value *v) {
  return v->def && v->def->op == KERNEL_OP_CONST && !kernel_scalar_table[v->type.scalar].is_float;
}

static kernel_value *refold(kernel_builder *b, kernel_instr *i) {
  kernel_value **x = i->operands;
  bool some = false;
  for (int o = 0; o < i->n_operands; o++) some |= x[o]->def && x[o]->def->op == KERNEL_OP_CONST;
  switch (kernel_op_table[i->op].cls) {
    case KERNEL_CLASS_ANY:
      if (i->op == KERNEL_OP_SELECT) return some || x[1] == x[2] ? kernel_select(b, x[0], x[1], x[2]) : NULL;
      if (i->op == KERNEL_OP_NEG) return is_const_int(x[0]) ? kernel_un(b, i->op, x[0]) : NULL;
      return some ? kernel_bin(b, i->op, x[0], x[1]) : NULL;
    case KERNEL_CLASS_INT:
    case KERNEL_CLASS_CMP:
      if (!some || kernel_scalar_table[x[0]->type.scalar].is_float) return NULL;
      if (i->n_operands == 1) return i->op == KERNEL_OP_NOT ? kernel_un(b, i->op, x[0]) : NULL;
      return kernel_bin(b, i->op, x[0], x[1]);
    case KERNEL_CLASS_CONV:
      if (i->op == KERNEL_OP_BITCAST) return kernel_type_eq(x[0]->type, i->results[0].type) ? x[0] : NULL;
      return some ? kernel_conv(b, i->op, x[0], (kernel_scalar)i->results[0].type.scalar) : NULL;
    case KERNEL_CLASS_VEC:
      if (i->op == KERNEL_OP_SPLAT && some) return kernel_splat(b, x[0], i->results[0].type.lanes);
      if (i->op == KERNEL_OP_EXTRACT && i->results[0].type.lanes == 1 && x[0]->type.lanes > 1 && x[0]->def &&
          (x[0]->def->op == KERNEL_OP_SPLAT || x[0]->def->op == KERNEL_OP_BUILD || some))
        return kernel_extract(b, x[0], (int)i->imm.i);
      return NULL;
    default: return NULL;
  }
}

// Moves the taken block's instructions in front of the if; the yielded values replace the results.
static void splice_branch(state *s, kernel_instr *i) {
  kernel_block *taken = i->blocks[i->operands[0]->def->imm.i ? 0 : 1];
  for (kernel_instr *j = taken->first, *next; j; j = next) {
    next = j->next;
    kernel_instr_unlink(j);
    if (j->op == KERNEL_OP_YIELD) {
      for (int r = 0; r < i->n_results; r++)
        kernel_rewrite_set(&s->rewrite, &i->results[r], resolve(s, j->operands[r]));
    } else {
      kernel_instr_insert(i->parent, i, j);
    }
  }
  kernel_instr_unlink(i);
  s->changed = true;
}

static void visit_block(state *s, kernel_block *b) {
  for (kernel_instr *i = b->first, *next; i; i = next) {
    next = i->next;
    for (int o = 0; o < i->n_operands; o++) i->operands[o] = resolve(s, i->operands[o]);
    for (int n = 0; n < i->n_blocks; n++) visit_block(s, i->blocks[n]);
    if (i->op == KERNEL_OP_IF && is_const_int(i->operands[0])) {
      splice_branch(s, i);
      continue;
    }
    if (i->op == KERNEL_OP_FOR && is_const_int(i->operands[0]) && is_const_int(i->operands[1]) &&
        i->operands[0]->def->imm.i >= i->operands[1]->def->imm.i) {
      for (int r = 0; r < i->n_results; r++) kernel_rewrite_set(&s->rewrite, &i->results[r], i->operands[r + 3]);
      kernel_instr_unlink(i);
      s->changed = true;
      continue;
    }
    if (i->n_results != 1 || i->n_blocks) continue;
    kernel_builder builder = {.k = s->k, .block = b, .before = i};
    int32_t fresh = s->k->next_id;
    kernel_value *v = refold(&builder, i);
    if (!v) continue;
    // The builder made the same instruction again: keep the old one.
    if (v->id >= fresh && v->def && v->def->op == i->op && v->def->op != KERNEL_OP_CONST) {
      kernel_instr_unlink(v->def);
      continue;
    }
    kernel_rewrite_set(&s->rewrite, &i->results[0], v);
    kernel_instr_unlink(i);
    s->changed = true;
  }
}

bool kernel_pass_simplify(kernel *k) {
  state s = {.k = k};
  visit_block(&s, k->body);
  kernel_rewrite_apply(&s.rewrite, k);
  return s.changed;
}
