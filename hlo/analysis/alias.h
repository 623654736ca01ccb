// SPDX-License-Identifier: Apache-2.0
// Which values share a buffer, and when each is live: the common ground of copy insertion and buffer assignment.
//
// A value is one array: leaf `l` of instruction `i`. The executed computations (entry, bodies of while and conditional)
// are laid out on one line of positions; a value is live from the position that writes it to the last one that reads
// it:
//
//   while at b:  b  [cond: b+1 .. c]  [body: c+1 .. e]  e+1 = the while's result is defined
//
// Values that must share (buffers.h lists them) are put in one group. Two groups may be merged when no value of one is
// live while a value of the other is, touching allowed only where the writer reads its operand element by element in
// place.
#ifndef HLO_ANALYSIS_ALIAS_H
#define HLO_ANALYSIS_ALIAS_H

#include "hlo/hlo.h"

typedef struct alias_value {
  const hlo_instr *instr;
  int32_t leaf;
  int32_t def, last;  // positions
  int32_t parent;     // union-find
  int32_t next;       // ring of the group's members
} alias_value;

typedef struct alias_group {  // facts of a representative
  int32_t def, last;          // hull
  int32_t param;              // leaf number of an entry parameter in it, or -1
  int32_t root;               // leaf number of the entry's root in it, or -1
  bool constant;
  bool donated;  // the parameter may be overwritten
} alias_group;

typedef struct alias_analysis {
  const hlo_module *m;
  arena *arena;
  alias_value *values;
  alias_group *groups;  // by representative value
  int32_t n_values;
  int32_t *base;  // [instr->id]: number of its leaf 0; -1: not executed
  int32_t n_base;
  int32_t end;           // position after everything
  int32_t *param_alias;  // per entry parameter leaf: result leaf that its donation is for, -1 any, -2 not donated
} alias_analysis;

// Analyses m in its present order. Each executed computation must be called from one place only.
alias_analysis *alias_analyze(const hlo_module *m, arena *a);
static inline int32_t alias_value_of(const alias_analysis *a, const hlo_instr *i, int leaf) {
  return a->base[i->id] + leaf;
}
int32_t alias_find(const alias_analysis *a, int32_t value);
// Merges the groups of x and y if that is legal; false if not.
bool alias_try_merge(alias_analysis *a, int32_t x, int32_t y);
// The operand leaf (counted over all operands' leaves) that leaf `leaf` of i may be computed into, trying candidates
// from *cursor on (start with 0); -1: no further one. In place means: element by element, each read before it is
// written.
int alias_in_place_operand(const hlo_instr *i, int leaf, int *cursor);
// Leaf `leaf` counted over all of i's operands: which operand and which of its leaves.
void alias_operand_leaf(const hlo_instr *i, int leaf, hlo_instr **out_operand, int *out_leaf);
// The value is another's buffer, without work: tuple, get_tuple_element, bitcast, optimization_barrier.
bool alias_is_free(const hlo_instr *i);

#endif
