// SPDX-License-Identifier: Apache-2.0
// Shared by the contraction schedules (dot, convolution).
#ifndef HLO_KERNEL_DOT_H
#define HLO_KERNEL_DOT_H

#include "hlo/kernel/emit.h"

typedef struct dot_side {
  const hlo_instr *operand;
  hlo_i64s batch, free, contracting;   // dimensions of the operand
  bool is_buffer;
  int64_t batch_stride, free_stride, k_stride;  // elements; 0: one element; -1: not evenly spaced
} dot_side;

typedef struct dot_plan {
  const hlo_instr *dot, *root;
  dot_side lhs, rhs;
  int64_t batch, m, n, k;
  hlo_dtype sum;          // type of accumulators and panels
  kernel_scalar scalar;
} dot_plan;

void dot_plan_init(emit_ctx *c, dot_plan *p, const hlo_instr *dot);
// Operand element(s) at (batch, free, k), converted to the sum's type.
emit_value dot_operand(emit_ctx *c, const dot_plan *p, const dot_side *s, emit_coord batch, emit_coord at, emit_coord k,
                       int lanes);
// The epilogue of a finished sum, and its stores.
void dot_store(emit_ctx *c, const dot_plan *p, emit_coord batch, emit_coord m, emit_coord n, int lanes,
               kernel_value *sum);
kernel_mem dot_side_mem(emit_ctx *c, const dot_side *s);
kernel_value **dot_tile(emit_ctx *c, const kernel_tile *t, kernel_value *a_base, kernel_value *b_base, kernel_value *k,
                        kernel_value *const *acc);
lemnos_status schedule_dot_cpu(emit_ctx *c, const dot_plan *p);

// The packed-panel matrix product, given how elements are fetched and where sums go (schedule_panels.c).
typedef struct panel_product {
  int64_t batch, m, n, k;
  int n_k_dims;            // k as nested loops: product of k_dims; only the last may be split into blocks, if it is alone
  const int64_t *k_dims;
  kernel_scalar scalar;    // of sums and panels, f32 or f64
  bool a_k_vectors;        // A is fetched by vectors along the last k dimension
  bool b_n_vectors;        // B is fetched by vectors along n ...
  bool b_k_vectors;        // ... or along the last k dimension
  void *user;
  kernel_value *(*fetch_a)(emit_ctx *c, void *user, emit_coord batch, emit_coord m, const emit_coord *k, int lanes);
  kernel_value *(*fetch_b)(emit_ctx *c, void *user, emit_coord batch, const emit_coord *k, emit_coord n, int lanes);
  void (*store)(emit_ctx *c, void *user, emit_coord batch, emit_coord m, emit_coord n, int lanes, kernel_value *sum);
} panel_product;
lemnos_status emit_panel_product(emit_ctx *c, const panel_product *p);
// x[i] lane j <-> x[j] lane i, for lanes vectors of as many lanes (a power of two).
void emit_transpose(emit_ctx *c, kernel_value **x, int lanes);

#endif
