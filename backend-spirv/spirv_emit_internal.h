// SPDX-License-Identifier: Apache-2.0
// The emitter's state and the pieces that its files share. Private to backend-spirv.
//
// Errors: the first one is kept in `status`, emission goes on with id 0 and the result is thrown away.
#ifndef BACKEND_SPIRV_SPIRV_EMIT_INTERNAL_H
#define BACKEND_SPIRV_SPIRV_EMIT_INTERNAL_H

#include "backend-spirv/spirv_emit.h"

enum { SPIRV_LANES_LOG2_MAX = 2 };

typedef struct spirv_param_state {
  // bound: the variable with elements of 1, 2, 4 lanes; addressed: the pointer
  spirv_id views[SPIRV_LANES_LOG2_MAX + 1];
  spirv_id offset;  // pushed element offset (in the index type), 0: none
} spirv_param_state;

typedef struct spirv_emitter {
  spirv_writer w;
  const kernel *k;
  const hlo_target *t;
  const spirv_caps *caps;
  spirv_kernel_info *info;
  spirv_id *values;  // by kernel value id
  // value / 2, value / 4 where it is exact and was asked for; visible in its block
  spirv_id *quotients[SPIRV_LANES_LOG2_MAX];
  VEC(spirv_id *) quotient_log;  // entries set since the start of the enclosing blocks
  spirv_id label;                // of the block being written
  spirv_param_state params[SPIRV_MAX_PARAMS];
  spirv_id *arrays;                         // variables of kernel->arrays
  spirv_id push;                            // push constant block
  spirv_id push_members[SPIRV_MAX_PARAMS];  // constants: member number of a parameter
  spirv_id push_types[SPIRV_MAX_PARAMS];    // addressed: pointer type
  spirv_id item, local, group;              // index type
  spirv_id subgroup_lane;                   // variable
  bool uses_subgroup;
  bool uses_float[3];  // 16, 32, 64 bits
  lemnos_status status;
} spirv_emitter;

void spirv_emit_fail(spirv_emitter *e, const char *format, ...) LEMNOS_PRINTF(2, 3);

// --- types and constants of kernel types
spirv_id spirv_emit_scalar_type(spirv_emitter *e, kernel_scalar s);
spirv_id spirv_emit_type(spirv_emitter *e, kernel_type t);
spirv_id spirv_emit_int(spirv_emitter *e, kernel_type t, int64_t x);  // splat; t may be i1
spirv_id spirv_emit_float(spirv_emitter *e, kernel_type t, double x);
static inline kernel_type spirv_with_scalar(kernel_type t, kernel_scalar s) {
  return kernel_type_make(s, t.lanes);
}
static inline kernel_type spirv_scalar_of(kernel_type t) {
  return kernel_type_make((kernel_scalar)t.scalar, 1);
}
static inline int spirv_bits(kernel_type t) {
  return kernel_scalar_table[t.scalar].bits;
}
static inline bool spirv_is_float(kernel_type t) {
  return kernel_scalar_table[t.scalar].is_float;
}

// --- operations on kernel types
spirv_id spirv_u1(spirv_emitter *e, SpvOp op, kernel_type result, spirv_id a);
spirv_id spirv_u2(spirv_emitter *e, SpvOp op, kernel_type result, spirv_id a, spirv_id b);
spirv_id spirv_select(spirv_emitter *e, kernel_type t, spirv_id cond, spirv_id a, spirv_id b);  // cond: lanes of t
spirv_id spirv_select_minus_one(spirv_emitter *e, kernel_type t, spirv_id cond);  // cond ? -1.0 : 0.0 (spirv_ops.c)
spirv_id spirv_math1(spirv_emitter *e, enum GLSLstd450 inst, kernel_type t, spirv_id a);
spirv_id spirv_math2(spirv_emitter *e, enum GLSLstd450 inst, kernel_type t, spirv_id a, spirv_id b);
spirv_id spirv_splat(spirv_emitter *e, kernel_type t, spirv_id scalar);              // to t.lanes
spirv_id spirv_extract(spirv_emitter *e, kernel_type vector, spirv_id v, int lane);  // v itself for one lane
spirv_id spirv_gather(spirv_emitter *e, kernel_type vector, const spirv_id *lanes);  // one scalar a lane
void spirv_exact(spirv_emitter *e, spirv_id result);                                 // no contraction
// Two-operand arithmetic of the kernel IR (spirv_ops.c).
spirv_id spirv_emit_binary(spirv_emitter *e, kernel_op op, kernel_type t, spirv_id a, spirv_id b);

static inline spirv_id spirv_value(const spirv_emitter *e, const kernel_value *v) {
  return e->values[v->id];
}
static inline void spirv_define(spirv_emitter *e, const kernel_value *v, spirv_id id) {
  e->values[v->id] = id;
}

void spirv_begin_block(spirv_emitter *e, spirv_id label);
void spirv_branch(spirv_emitter *e, spirv_id label);
void spirv_branch_if(spirv_emitter *e, spirv_id cond, spirv_id then_label, spirv_id else_label);

// --- handlers, one group a file
void spirv_emit_instr(spirv_emitter *e, const kernel_instr *i);  // by the table (spirv_ops.c)
void spirv_emit_block(spirv_emitter *e, const kernel_block *b);  // up to its yield
void spirv_emit_load(spirv_emitter *e, const kernel_instr *i);
void spirv_emit_store(spirv_emitter *e, const kernel_instr *i);
void spirv_emit_atomic(spirv_emitter *e, const kernel_instr *i);
// v / 2^log2 without a division, if v's expression shows that it is a multiple; else 0.
spirv_id spirv_quotient(spirv_emitter *e, const kernel_value *v, int log2);
void spirv_emit_for(spirv_emitter *e, const kernel_instr *i);
void spirv_emit_while(spirv_emitter *e, const kernel_instr *i);
void spirv_emit_if(spirv_emitter *e, const kernel_instr *i);
void spirv_emit_conversion(spirv_emitter *e, const kernel_instr *i);
// The reason why the table has no translation for op, NULL if it has one (for tests: no holes).
const char *spirv_op_unsupported(kernel_op op);
bool spirv_op_listed(kernel_op op);

#endif
