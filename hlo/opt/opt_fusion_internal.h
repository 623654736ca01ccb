// SPDX-License-Identifier: Apache-2.0
// What the fusion passes share: which operations may go where, what they cost, and how a fusion instruction is made.
// Private to hlo/opt.
//
// Costs are in lane operations: one multiply-add of one vector lane is 1. They decide only what is worth while; nothing
// depends on them for correctness.
#ifndef HLO_OPT_OPT_FUSION_INTERNAL_H
#define HLO_OPT_OPT_FUSION_INTERNAL_H

#include "hlo/opt/opt_internal.h"

typedef VEC(hlo_instr *) fusion_list;
typedef VEC(hlo_computation *) fusion_computations;

enum {
  FUSION_MAX_MEMBERS = 64,  // instructions in one fusion
  FUSION_MAX_COPIES = 160,  // of element code, counting an instruction once for each index it is evaluated at
  FUSION_MAX_WEIGHT = 700,  // of that code: an exponential is some 20 instructions
};

// The computations that are executed as such: the entry, bodies of while, conditional and call.
fusion_computations fusion_executed(arena *scratch, const hlo_module *m);
// May i be one element's computation in a loop over another instruction's elements?
bool fusion_is_loop_op(const hlo_pass_ctx *ctx, const hlo_instr *i);
// All arrays that i touches can be bound as parameters of a kernel.
bool fusion_fits(const hlo_pass_ctx *ctx, const hlo_instr *i);
// The one operation of a fusion that is more than elementwise: dot_general, convolution, reduce.
bool fusion_is_hero(const hlo_instr *i);
// Same bytes in another row-major shape: reshape, bitcast.
bool fusion_is_reshape(const hlo_instr *i);
// A transpose after which neighbours in memory are no longer neighbours.
bool fusion_moves_minor(const hlo_instr *i);
int fusion_weight(const hlo_instr *i);        // lane operations of one element
int64_t fusion_elements(const hlo_shape *s);  // of the largest array in s
int64_t fusion_bytes(const hlo_shape *s);     // of all arrays in s
double fusion_launch_cost(const hlo_target *t);
int fusion_max_operands(const hlo_target *t, int n_outputs);

// The fusion of `members` (of one computation, in execution order, the root last) in front of `before`; its operands
// are what the members use and are not themselves. The body holds clones; the members are left as they are.
typedef struct fusion_spec {
  hlo_instr *const *members;
  int n;
  hlo_instr *root;
  hlo_fusion_kind kind;
  // Not NULL: the values in `retyped` (from the hero to the root) are computed with the dimensions of this shape
  // instead of their own; reshapes between them vanish.
  const hlo_shape *dims;
  const bitset *retyped;  // by id
} fusion_spec;
hlo_instr *fusion_create(arena *scratch, const fusion_spec *spec, hlo_instr *before);
// "exponential_dot_add": the heaviest two operations and the root's.
const char *fusion_name(arena *scratch, hlo_instr *const *list, int n, const hlo_instr *root);
// Callees before callers.
void fusion_order_computations(arena *scratch, hlo_module *m);

#endif
