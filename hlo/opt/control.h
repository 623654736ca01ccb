// SPDX-License-Identifier: Apache-2.0
// Shared by the passes on while, conditional and map: inlining a computation, loop-carried elements, induction
// variables.
#ifndef HLO_OPT_CONTROL_H
#define HLO_OPT_CONTROL_H

#include "hlo/opt/opt_internal.h"

// Copies c's instructions in front of `before`, its parameters being args; returns the value of its root.
hlo_instr *control_inline(const hlo_computation *c, hlo_instr *const *args, hlo_instr *before);

// --- while: element k of the carried tuple (a single carried value is element 0)

int control_n_carried(const hlo_instr *w);
// Is x element *k of the parameter of its computation?
bool control_is_carried(const hlo_instr *x, int *k);
// What the body gives for element k; NULL if the root hides it (it is no tuple instruction).
hlo_instr *control_next(const hlo_instr *w, int k);
// The initial value of element k if it is visible (the operand is a tuple instruction), else NULL.
hlo_instr *control_init(const hlo_instr *w, int k);
// Element k is passed on unchanged.
bool control_is_invariant(const hlo_instr *w, int k);

// A variable that starts at a constant, grows by a constant, and is compared with a constant.
typedef struct control_induction {
  int element;
  int64_t init, step, bound;
  int64_t trip_count;
} control_induction;
bool control_find_induction(const hlo_instr *w, control_induction *out);

// Gives w condition and body computations of its own, a body whose root is a tuple, and parameters used by
// get_tuple_element only; uses of w other than get_tuple_element become those of a tuple of its elements. False if w
// carries no tuple.
bool control_normalize(hlo_instr *w);
// w normalized: appends loop-invariant elements; in_body[n] are their gets in the body.
void control_add_carried(hlo_instr *w, int n, hlo_instr *const *values, hlo_instr **in_body);
// w normalized: removes the elements of `dead`, which nothing but their own computation uses.
void control_remove_carried(hlo_instr *w, const bitset *dead);

#endif
