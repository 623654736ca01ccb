// SPDX-License-Identifier: Apache-2.0
// Structured control: loops and branches with carried values as phis.
//
//   for/while:  before -> header (phis; loop merge) -> test -> body ... -> continue -> header;  test -> merge
//   if:         before (selection merge) -> then ..., else ... -> merge (phis)
// A loop's results are its header's phis: the header dominates the merge block.
#include "backend-spirv/spirv_emit_internal.h"

void spirv_begin_block(spirv_emitter *e, spirv_id label) {
  spirv_label(&e->w, label);
  e->label = label;
}

void spirv_branch(spirv_emitter *e, spirv_id label) {
  spirv_op_void(&e->w, SpvOpBranch, 1, &label);
}

void spirv_branch_if(spirv_emitter *e, spirv_id cond, spirv_id then_label, spirv_id else_label) {
  uint32_t words[] = {cond, then_label, else_label};
  spirv_op_void(&e->w, SpvOpBranchConditional, 3, words);
}

void spirv_emit_block(spirv_emitter *e, const kernel_block *b) {
  int quotients = e->quotient_log.len;
  for (const kernel_instr *i = b->first; i && !e->status; i = i->next) spirv_emit_instr(e, i);
  while (e->quotient_log.len > quotients) *vec_pop(&e->quotient_log) = 0;  // they do not dominate what follows
}

typedef struct loop {
  spirv_id before, header, test, body, next, merge;
  int phis_at;  // word of the first carried phi: their second values are patched in when the body is done
} loop;

enum { PHI_WORDS = 7, PHI_NEXT_VALUE = 5 };  // op, type, result, value, block, value, block

static loop loop_begin(spirv_emitter *e) {
  loop l = {.before = e->label};
  l.header = spirv_writer_id(&e->w), l.test = spirv_writer_id(&e->w), l.body = spirv_writer_id(&e->w);
  l.next = spirv_writer_id(&e->w), l.merge = spirv_writer_id(&e->w);
  spirv_branch(e, l.header);
  spirv_begin_block(e, l.header);
  return l;
}

static spirv_id phi(spirv_emitter *e, const loop *l, kernel_type t, spirv_id initial, spirv_id next) {
  uint32_t words[] = {initial, l->before, next, l->next};
  return spirv_op(&e->w, SpvOpPhi, spirv_emit_type(e, t), 4, words);
}

static int count_instrs(const kernel_block *b, int limit) {
  int n = 0;
  for (const kernel_instr *i = b->first; i && n < limit; i = i->next) {
    n++;
    for (int k = 0; k < i->n_blocks; k++) n += count_instrs(i->blocks[k], limit - n);
  }
  return n;
}

// Schedules unroll what pays: drivers that unroll large bodies again (Mesa does, up to 32 turns) only add registers and
// compile time.
enum { LARGE_BODY = 64 };

static void loop_merge(spirv_emitter *e, const loop *l, const kernel_block *body) {
  bool large = count_instrs(body, LARGE_BODY) >= LARGE_BODY;
  uint32_t words[] = {l->merge, l->next, large ? SpvLoopControlDontUnrollMask : SpvLoopControlMaskNone};
  spirv_op_void(&e->w, SpvOpLoopMerge, 3, words);
  spirv_branch(e, l->test);
  spirv_begin_block(e, l->test);
}

// Phis for the carried values, which become the loop's results and the arguments of its blocks.
static void carried_phis(spirv_emitter *e, loop *l, const kernel_instr *i, int first_operand, int first_arg) {
  for (int r = 0; r < i->n_results; r++) spirv_emit_type(e, i->results[r].type);
  l->phis_at = e->w.body.len;
  for (int r = 0; r < i->n_results; r++) {
    spirv_id id = phi(e, l, i->results[r].type, spirv_value(e, i->operands[first_operand + r]), 0);
    spirv_define(e, &i->results[r], id);
    for (int n = 0; n < i->n_blocks; n++) spirv_define(e, &i->blocks[n]->args[first_arg + r], id);
  }
}

static void patch_phis(spirv_emitter *e, const loop *l, const kernel_instr *i, const kernel_block *body) {
  for (int r = 0; r < i->n_results; r++)
    e->w.body.data[l->phis_at + r * PHI_WORDS + PHI_NEXT_VALUE] = spirv_value(e, body->last->operands[r]);
}

// Beside the induction variable, its half and quarter run along where bounds and step are multiples: wide accesses in
// the loop then need no shift. The drivers remove those that are not used.
typedef struct counter {
  spirv_id phi, next, step;
} counter;

static void count_quotients(spirv_emitter *e, const loop *l, const kernel_instr *i, const spirv_id lower[],
                            counter c[]) {
  for (int q = 0; q < SPIRV_LANES_LOG2_MAX; q++) {
    if (!lower[q]) continue;
    kernel_type t = i->operands[0]->type;
    c[q] =
        (counter){.next = spirv_writer_id(&e->w), .step = spirv_emit_int(e, t, i->operands[2]->def->imm.i >> (q + 1))};
    c[q].phi = phi(e, l, t, lower[q], c[q].next);
    e->quotients[q][i->blocks[0]->args[0].id] = c[q].phi;  // only visible in the body, by its id
  }
}

static void lower_quotients(spirv_emitter *e, const kernel_instr *i, spirv_id lower[]) {
  const kernel_instr *step = i->operands[2]->def;
  for (int q = 0; q < SPIRV_LANES_LOG2_MAX; q++) {
    bool multiple = step && step->op == KERNEL_OP_CONST && step->imm.i % (2 << q) == 0;
    lower[q] = multiple ? spirv_quotient(e, i->operands[0], q + 1) : 0;
  }
}

void spirv_emit_for(spirv_emitter *e, const kernel_instr *i) {
  const kernel_block *body = i->blocks[0];
  spirv_id lower[SPIRV_LANES_LOG2_MAX];
  counter counters[SPIRV_LANES_LOG2_MAX] = {0};
  lower_quotients(e, i, lower);
  kernel_type t = i->operands[0]->type, cond = kernel_type_make(KERNEL_I1, 1);
  loop l = loop_begin(e);
  spirv_id next_iv = spirv_writer_id(&e->w);
  spirv_id iv = phi(e, &l, t, spirv_value(e, i->operands[0]), next_iv);
  spirv_define(e, &body->args[0], iv);
  count_quotients(e, &l, i, lower, counters);
  carried_phis(e, &l, i, 3, 1);
  loop_merge(e, &l, body);
  spirv_branch_if(e, spirv_u2(e, SpvOpSLessThan, cond, iv, spirv_value(e, i->operands[1])), l.body, l.merge);
  spirv_begin_block(e, l.body);
  spirv_emit_block(e, body);
  if (e->status) return;
  spirv_branch(e, l.next);
  spirv_begin_block(e, l.next);
  uint32_t sum[] = {iv, spirv_value(e, i->operands[2])};
  spirv_op_into(&e->w, SpvOpIAdd, spirv_emit_type(e, t), next_iv, 2, sum);
  for (int q = 0; q < SPIRV_LANES_LOG2_MAX; q++) {
    uint32_t words[] = {counters[q].phi, counters[q].step};
    if (counters[q].phi) spirv_op_into(&e->w, SpvOpIAdd, spirv_emit_type(e, t), counters[q].next, 2, words);
  }
  spirv_branch(e, l.header);
  patch_phis(e, &l, i, body);
  spirv_begin_block(e, l.merge);
}

void spirv_emit_while(spirv_emitter *e, const kernel_instr *i) {
  loop l = loop_begin(e);
  carried_phis(e, &l, i, 0, 0);
  loop_merge(e, &l, i->blocks[1]);
  spirv_emit_block(e, i->blocks[0]);
  if (e->status) return;
  spirv_branch_if(e, spirv_value(e, i->blocks[0]->last->operands[0]), l.body, l.merge);
  spirv_begin_block(e, l.body);
  spirv_emit_block(e, i->blocks[1]);
  if (e->status) return;
  spirv_branch(e, l.next);
  spirv_begin_block(e, l.next);
  spirv_branch(e, l.header);
  patch_phis(e, &l, i, i->blocks[1]);
  spirv_begin_block(e, l.merge);
}

void spirv_emit_if(spirv_emitter *e, const kernel_instr *i) {
  spirv_id labels[2] = {spirv_writer_id(&e->w), spirv_writer_id(&e->w)}, ends[2], merge = spirv_writer_id(&e->w);
  bool has_else = i->n_results > 0 || i->blocks[1]->first != i->blocks[1]->last;
  uint32_t words[] = {merge, SpvSelectionControlMaskNone};
  spirv_op_void(&e->w, SpvOpSelectionMerge, 2, words);
  spirv_branch_if(e, spirv_value(e, i->operands[0]), labels[0], has_else ? labels[1] : merge);
  for (int n = 0; n < (has_else ? 2 : 1); n++) {
    spirv_begin_block(e, labels[n]);
    spirv_emit_block(e, i->blocks[n]);
    if (e->status) return;
    ends[n] = e->label;
    spirv_branch(e, merge);
  }
  spirv_begin_block(e, merge);
  for (int r = 0; r < i->n_results; r++) {
    uint32_t phi_words[] = {spirv_value(e, i->blocks[0]->last->operands[r]), ends[0],
                            spirv_value(e, i->blocks[1]->last->operands[r]), ends[1]};
    spirv_define(e, &i->results[r], spirv_op(&e->w, SpvOpPhi, spirv_emit_type(e, i->results[r].type), 4, phi_words));
  }
}
