// SPDX-License-Identifier: Apache-2.0
// Shared by the lowering files: the element emitter and what schedules need around it.
//
// The emitter produces the value of any instruction of a fused computation at an index. An index is a partition of the
// instruction's dimensions into consecutive groups, each with one coordinate (the row-major number within the group);
// single coordinates are split off only when an op asks for them, so that elementwise loops over flattened space stay
// flat. A coordinate is affine over the lanes (base + stride * lane) or, failing that, a vector. Values that do not
// depend on the lane stay scalar and are splat where they meet vectors. Values are memoised per (instruction, index)
// and are reused wherever the block they were made in is visible.
#ifndef HLO_KERNEL_EMIT_H
#define HLO_KERNEL_EMIT_H

#include "hlo/kernel/builder.h"
#include "hlo/kernel/lower.h"

typedef struct emit_value {
  kernel_value *re, *im;  // im: complex only
} emit_value;

typedef struct emit_coord {
  kernel_value *base;  // scalar, index type; lane l is base + stride * l ...
  kernel_value *vec;   // ... unless this is set: one coordinate a lane
  int64_t stride;
  int64_t multiple;  // base is a multiple of it (0: base is 0)
} emit_coord;

typedef struct emit_group {
  int32_t first, count;
  emit_coord at;
} emit_group;

typedef struct emit_index {
  int32_t rank, lanes, n_groups;
  const int64_t *dims;
  emit_group *groups;
  emit_coord *coords;  // made on demand; base NULL: not yet
} emit_index;

typedef struct emit_memo {
  const hlo_instr *instr;
  const emit_index *index;
  int32_t slot;  // -1: values; else the operand's index
  emit_value *values;
  emit_index *derived;
} emit_memo;

typedef struct emit_scope {     // of one computation's evaluation
  const hlo_computation *body;  // NULL: the instruction being lowered (its parameters or operands are buffers)
  const emit_value *params;     // of a body on scalars
  u64map memo;                  // hash of (instr, index, slot) -> emit_memo *
  struct emit_scope *outer;
} emit_scope;

typedef struct emit_buffer {  // where an array lives
  kernel_arg arg;
  const hlo_shape *shape;
  int32_t param;  // of the kernel being built, -1: not yet used
} emit_buffer;

typedef struct emit_ctx {
  arena *a;
  const hlo_target *t;
  const hlo_instr *instr;        // being lowered
  const hlo_computation *fused;  // its computation if it is a fusion
  const kernel_lower_options *options;
  kernel_lowering *out;
  VEC(emit_buffer) buffers;
  u64map operand_leaves;  // instr -> first leaf number + 1 of operand (fusion parameter or operand)
  kernel *k;              // being built
  kernel_builder b;
  int32_t cap_params;
  VEC(kernel_arg) args;  // of k
  emit_scope *scope;
  emit_scope root_scope;
  u64map overrides;  // instr -> emit_value *: computed by the schedule (heroes)
  emit_index scalar_index;
  const char *error;  // first thing that cannot be lowered
} emit_ctx;

// --- emit_index.c: coordinates -------------------------------------------------------------------
emit_coord emit_coord_of(kernel_value *v, int64_t multiple);  // the same for all lanes
emit_coord emit_coord_const(emit_ctx *c, int64_t x);
emit_coord emit_coord_add(emit_ctx *c, emit_coord x, emit_coord y, int lanes);
emit_coord emit_coord_scale(emit_ctx *c, emit_coord x, int64_t k);
emit_coord emit_coord_offset(emit_ctx *c, emit_coord x, int64_t k);
void emit_coord_divide(emit_ctx *c, emit_coord x, int64_t d, int lanes, emit_coord *q, emit_coord *r);
bool emit_coord_varies(emit_coord x);
kernel_value *emit_coord_value(emit_ctx *c, emit_coord x, int lanes);  // scalar if uniform, else a vector
emit_index *emit_index_create(emit_ctx *c, int rank, const int64_t *dims, int lanes, int n_groups,
                              const emit_group *groups);
// One group a dimension.
emit_index *emit_index_of(emit_ctx *c, int rank, const int64_t *dims, int lanes, const emit_coord *coords);
emit_coord emit_index_coord(emit_ctx *c, emit_index *x, int d);
emit_coord emit_index_linear(emit_ctx *c, emit_index *x, const hlo_shape *layout_of);  // element number in memory
bool emit_index_varies(const emit_index *x);

// Dimension d of the new index is dimension source[d] of x (-1: fixed[d]); groups survive where they can.
emit_index *emit_index_select(emit_ctx *c, emit_index *x, int rank, const int64_t *dims, const int64_t *source,
                              const emit_coord *fixed);
emit_index *emit_index_reshape(emit_ctx *c, emit_index *x, int rank, const int64_t *dims);
void emit_strides(const hlo_shape *s, int64_t *strides);  // elements, by layout

// --- emit_element.c ------------------------------------------------------------------------------
emit_value emit_element(emit_ctx *c, const hlo_instr *i, emit_index *x);         // arrays
emit_value emit_leaf(emit_ctx *c, const hlo_instr *i, int leaf, emit_index *x);  // leaf of a tuple-shaped one
void emit_fail(emit_ctx *c, const char *format, ...) LEMNOS_PRINTF(2, 3);
// Evaluates a computation on scalars (vectors of lanes): results by leaf of the root.
void emit_body(emit_ctx *c, const hlo_computation *body, const emit_value *args, emit_value *results);
emit_value emit_zero(emit_ctx *c, hlo_dtype t);
bool emit_visible(const emit_ctx *c, const kernel_value *v);
emit_value emit_constant(emit_ctx *c, const hlo_literal *l, int64_t i);
kernel_mem emit_buffer_mem(emit_ctx *c, kernel_arg_kind kind, int index, const hlo_shape *shape);
kernel_mem emit_scratch_mem(emit_ctx *c, int index, const hlo_shape *shape);
emit_value emit_load(emit_ctx *c, kernel_mem m, hlo_dtype t, emit_coord at, int lanes);
void emit_store(emit_ctx *c, kernel_mem m, hlo_dtype t, emit_coord at, int lanes, emit_value v);
void emit_store_result(emit_ctx *c, int leaf, emit_index *x, emit_value v);
int emit_add_scratch(emit_ctx *c, int64_t bytes);
const hlo_instr *emit_root(const emit_ctx *c);  // of the fusion, or the instruction
void emit_scope_push(emit_ctx *c, emit_scope *s, const hlo_computation *body, const emit_value *params);
void emit_scope_pop(emit_ctx *c);

// --- emit_arith.c, emit_convert.c, emit_complex.c: one elementwise op on values ------------------
emit_value emit_unary(emit_ctx *c, const hlo_instr *i, hlo_dtype in, hlo_dtype out, emit_value x);
emit_value emit_binary(emit_ctx *c, hlo_op op, hlo_dtype t, emit_value x, emit_value y);
emit_value emit_compare(emit_ctx *c, int direction, int type, hlo_dtype t, emit_value x, emit_value y);
emit_value emit_clamp(emit_ctx *c, hlo_dtype t, emit_value lo, emit_value x, emit_value hi);
emit_value emit_select(emit_ctx *c, kernel_value *pred, emit_value x, emit_value y);
emit_value emit_convert(emit_ctx *c, hlo_dtype in, hlo_dtype out, emit_value x);
emit_value emit_bitcast_convert(emit_ctx *c, const hlo_instr *i, emit_index *x);
kernel_value *emit_reduce_precision(emit_ctx *c, hlo_dtype t, kernel_value *x, int exponent, int mantissa);
emit_value emit_complex_unary(emit_ctx *c, const hlo_instr *i, hlo_dtype in, emit_value x);
emit_value emit_complex_binary(emit_ctx *c, hlo_op op, hlo_dtype t, emit_value x, emit_value y);
kernel_value *emit_up(emit_ctx *c, kernel_value *x);                 // small floats to f32; others themselves
kernel_value *emit_down(emit_ctx *c, kernel_value *x, hlo_dtype t);  // and back
kernel_value *emit_wrap(emit_ctx *c, kernel_value *x, hlo_dtype t);  // 2- and 4-bit integers
// clamped to [low, high]
kernel_value *emit_to_index(emit_ctx *c, hlo_dtype t, kernel_value *x, int64_t low, int64_t high);
bool emit_dtype_is_small(hlo_dtype t);
kernel_scalar emit_compute_scalar(hlo_dtype t);
// NULL, or why the op has no kernel form (elementwise ops).
const char *emit_elementwise_refusal(const hlo_instr *i);

// --- emit_move.c (pad, concatenate, gather, dynamic slices), emit_loops.c (reduce, dot, convolution, windows)
emit_value emit_pad(emit_ctx *c, const hlo_instr *i, emit_index *x);
emit_value emit_concatenate(emit_ctx *c, const hlo_instr *i, emit_index *x);
emit_value emit_gather(emit_ctx *c, const hlo_instr *i, emit_index *x);
emit_value emit_torch_index_select(emit_ctx *c, const hlo_instr *i, emit_index *x);
emit_value emit_dynamic_slice(emit_ctx *c, const hlo_instr *i, emit_index *x);
emit_value emit_dynamic_update_slice(emit_ctx *c, const hlo_instr *i, emit_index *x);
emit_value emit_select_range(emit_ctx *c, emit_coord at, int64_t low, int64_t high, int lanes, kernel_value **in_range,
                             emit_coord *clamped);
kernel_value *emit_start_index(emit_ctx *c, const hlo_instr *start, emit_index *x, int64_t limit);
void emit_reduce(emit_ctx *c, const hlo_instr *i, emit_index *x, emit_value *results);
// The part of a reduction whose split coordinate lies in [lo, hi): of the first reduced dimension, or (if
// emit_reduce_trailing says so) of the run of trailing ones. Results are accumulators: f32 for sums of small floats.
void emit_reduce_range(emit_ctx *c, const hlo_instr *i, emit_index *x, kernel_value *lo, kernel_value *hi,
                       int64_t lo_multiple, emit_value *results);
// Elements in the trailing run of reduced dimensions that is walked as one (by vectors), 0: the last dimension is kept.
int64_t emit_reduce_trailing(emit_ctx *c, const hlo_instr *i);
hlo_dtype emit_reduce_dtype(const hlo_instr *i, int leaf);  // of accumulators
void emit_reduce_combine(emit_ctx *c, const hlo_instr *i, const emit_value *acc, const emit_value *x, emit_value *out);
emit_value emit_dot(emit_ctx *c, const hlo_instr *i, emit_index *x);
emit_value emit_convolution(emit_ctx *c, const hlo_instr *i, emit_index *x);
void emit_reduce_window(emit_ctx *c, const hlo_instr *i, emit_index *x, emit_value *results);

// x[i] lane j <-> x[j] lane i, for lanes vectors of as many lanes (a power of two). schedule_transpose.c
void emit_transpose(emit_ctx *c, kernel_value **x, int lanes);

// --- schedules -----------------------------------------------------------------------------------
// Begins a kernel named after the instruction plus suffix; emit_kernel_end finishes it and adds the launch.
void emit_kernel_begin(emit_ctx *c, const char *suffix, int64_t grid, kernel_scalar index);
LEMNOS_NODISCARD lemnos_status emit_kernel_end(emit_ctx *c);
kernel_scalar emit_index_type(const emit_ctx *c);  // I32 if everything fits
int emit_vector_lanes(const emit_ctx *c);          // natural vector for the instruction's element types
// A loop nest over an index space: fn is called (twice: vectors, remainder) with an index to emit one element or
// vector.
typedef struct emit_space {
  int32_t rank;
  const int64_t *dims;
  int32_t n_groups;
  int32_t *groups;  // dimensions of each
  int32_t lanes;    // wanted
  int64_t cost;     // of an element, in simple operations
} emit_space;
typedef void (*emit_space_fn)(emit_ctx *c, void *user, emit_index *x);
LEMNOS_NODISCARD lemnos_status emit_over_space(emit_ctx *c, const char *suffix, const emit_space *s, emit_space_fn fn,
                                               void *user);
// Groups by what the fusion needs; dimensions with apart[d] (NULL: none) stay alone.
emit_space emit_space_of(emit_ctx *c, const hlo_instr *root, const hlo_shape *shape, const bool *apart);
lemnos_status emit_copy_to(emit_ctx *c, const char *suffix, const hlo_instr *i, kernel_arg_kind kind, int index,
                           const hlo_shape *shape);  // materialises an instruction of the fusion
const hlo_shape *emit_shape(emit_ctx *c, hlo_dtype t, int rank, const int64_t *dims);  // row-major, not interned
int emit_alias_of(const emit_ctx *c, int leaf);  // operand leaf that result leaf shares its buffer with, or -1
LEMNOS_NODISCARD lemnos_status schedule_elementwise(emit_ctx *c);
LEMNOS_NODISCARD lemnos_status schedule_elementwise_lanes(emit_ctx *c, int lanes);  // 0: as suits
LEMNOS_NODISCARD lemnos_status schedule_transpose(emit_ctx *c);
LEMNOS_NODISCARD lemnos_status schedule_reduce(emit_ctx *c);
LEMNOS_NODISCARD lemnos_status schedule_reduce_rows(emit_ctx *c, const hlo_instr *const *heroes, int n, bool *done);
LEMNOS_NODISCARD lemnos_status schedule_dot(emit_ctx *c);
LEMNOS_NODISCARD lemnos_status schedule_conv(emit_ctx *c);
LEMNOS_NODISCARD lemnos_status schedule_scatter(emit_ctx *c);
LEMNOS_NODISCARD lemnos_status schedule_dus(emit_ctx *c);
LEMNOS_NODISCARD lemnos_status schedule_sort(emit_ctx *c);
LEMNOS_NODISCARD lemnos_status schedule_window(emit_ctx *c);

#endif
