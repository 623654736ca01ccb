// SPDX-License-Identifier: Apache-2.0
// What a run is at: written here and by the run loop, read by another thread (interp_progress in interp.h).
//
// Counted are the instructions of the entry computation and of what it calls; a loop or a conditional counts as one.
// For the outermost loop, iterations are counted as well. Their number in all is worked out when the loop starts, from
// the values then: its condition compares a carried integer with a constant or with a carried value that never
// changes, and its body adds a constant to that integer. It is shown to people and decides nothing.
#include "interp/interp_internal.h"

int64_t interp_progress_count(const interp_code *code) {
  int64_t n = code->n_insns;
  for (int k = 0; k < code->n_insns; k++)
    if (code->insns[k].fn == interp_run_call) n += interp_progress_count(code->insns[k].subs[0]);
  return n;
}

// The leaf of the loop's state that `i` is in a condition or body; -1: none, or of a nested tuple.
static int carried(const hlo_instr *i) {
  if (i->op == HLO_OP_PARAMETER) return hlo_shape_is_tuple(i->shape) ? -1 : (int)HLO_ATTRS(i, parameter)->number;
  if (i->op != HLO_OP_GET_TUPLE_ELEMENT || i->operands[0]->op != HLO_OP_PARAMETER) return -1;
  const hlo_shape *state = i->operands[0]->shape;
  for (int k = 0; k < state->n_elements; k++)
    if (hlo_shape_is_tuple(state->elements[k])) return -1;
  return (int)HLO_ATTRS(i, get_tuple_element)->index;
}

static const hlo_instr *next_of(const hlo_computation *body, int leaf) {
  if (body->root->op != HLO_OP_TUPLE) return leaf == 0 && !hlo_shape_is_tuple(body->root->shape) ? body->root : NULL;
  return leaf < body->root->n_operands ? body->root->operands[leaf] : NULL;
}

// The value of `i`, which is the same in every iteration; false if that is not plain to see.
static bool fixed_value(const hlo_computation *body, const interp_value *state, const hlo_instr *i, int64_t *out) {
  if (i->shape->rank || !hlo_dtype_is_integer(i->shape->dtype)) return false;
  if (i->op == HLO_OP_CONSTANT) return *out = hlo_literal_get_i64(hlo_constant_value(i), 0), true;
  int leaf = carried(i);
  const hlo_instr *next = leaf < 0 ? NULL : next_of(body, leaf);
  if (!next || carried(next) != leaf) return false;
  return *out = hlo_element_get_i64(i->shape->dtype, state[leaf].a.data, 0), true;
}

static bool find_step(const hlo_computation *body, const interp_value *state, int leaf, int64_t *step) {
  const hlo_instr *next = next_of(body, leaf);
  if (!next || (next->op != HLO_OP_ADD && next->op != HLO_OP_SUBTRACT)) return false;
  int by = carried(next->operands[0]) == leaf ? 1 : 0;
  if (carried(next->operands[1 - by]) != leaf || (by == 0 && next->op == HLO_OP_SUBTRACT)) return false;
  if (!fixed_value(body, state, next->operands[by], step) || *step == INT64_MIN) return false;
  if (next->op == HLO_OP_SUBTRACT) *step = -*step;
  return true;
}

static int64_t trips(hlo_comparison_direction d, int64_t init, int64_t step, int64_t bound) {
  bool down = d == HLO_COMPARISON_DIRECTION_GT || d == HLO_COMPARISON_DIRECTION_GE;
  bool or_equal = d == HLO_COMPARISON_DIRECTION_LE || d == HLO_COMPARISON_DIRECTION_GE;
  if (d == HLO_COMPARISON_DIRECTION_EQ || !step) return -1;
  if (d == HLO_COMPARISON_DIRECTION_NE) down = step < 0;
  __int128 distance = down ? (__int128)init - bound : (__int128)bound - init, by = down ? -(__int128)step : step;
  if (by < 0) return -1;
  if (distance < 0) return d == HLO_COMPARISON_DIRECTION_NE ? -1 : 0;
  if (d == HLO_COMPARISON_DIRECTION_NE && distance % by != 0) return -1;
  __int128 n = or_equal ? distance / by + 1 : (distance + by - 1) / by;
  return n > INT64_MAX ? -1 : (int64_t)n;
}

static int64_t count_trips(const interp_insn *in, const interp_value *state) {
  const hlo_computation *body = in->subs[1]->src;
  const hlo_instr *test = in->subs[0]->src->root;
  if (test->op != HLO_OP_COMPARE) return -1;
  for (int side = 0; side < 2; side++) {
    const hlo_instr *i = test->operands[side];
    int leaf = carried(i);
    int64_t bound, step;
    if (leaf < 0 || i->shape->rank || !hlo_dtype_is_integer(i->shape->dtype)) continue;
    if (!fixed_value(body, state, test->operands[1 - side], &bound) || !find_step(body, state, leaf, &step)) continue;
    hlo_comparison_direction d = HLO_ATTRS(test, compare)->direction, mirrored = d;
    if (d == HLO_COMPARISON_DIRECTION_LT) mirrored = HLO_COMPARISON_DIRECTION_GT;
    if (d == HLO_COMPARISON_DIRECTION_LE) mirrored = HLO_COMPARISON_DIRECTION_GE;
    if (d == HLO_COMPARISON_DIRECTION_GT) mirrored = HLO_COMPARISON_DIRECTION_LT;
    if (d == HLO_COMPARISON_DIRECTION_GE) mirrored = HLO_COMPARISON_DIRECTION_LE;
    int64_t init = hlo_element_get_i64(i->shape->dtype, state[leaf].a.data, 0);
    return trips(side ? mirrored : d, init, step, bound);
  }
  return -1;
}

interp_progress *interp_progress_loop(interp_ctx *cx, const interp_insn *in, const interp_value *state) {
  interp_progress *p = cx->counting ? cx->options->progress : NULL;
  if (!p) return NULL;
  cx->counting = false;  // inner loops are part of an iteration
  interp_progress_begin_loop(p, count_trips(in, state));
  return p;
}

void interp_progress_begin_loop(interp_progress *p, int64_t n) {
  atomic_store_explicit(&p->loop_since, io_seconds(), memory_order_relaxed);
  interp_progress_set(&p->trip, 0);
  interp_progress_set(&p->trips, n < 0 ? -1 : n);
}
