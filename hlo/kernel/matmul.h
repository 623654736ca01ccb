// SPDX-License-Identifier: Apache-2.0
// The matrix product of CPUs, given how elements are fetched and where sums go: shared by dot_general and convolution.
//
//   out[batch, m, n] = sum over k of A[batch, m, k] * B[batch, n, k]
//
// Each letter is one coordinate; what it means in memory is the callbacks' affair. Sums are kept in `sum` (f32 for
// small floats, i32 for small integers) and given to `store` once, where they are rounded and go through the epilogue.
// For each result the order of summation is fixed by the shape and the target's vector width, never by threads.
#ifndef HLO_KERNEL_MATMUL_H
#define HLO_KERNEL_MATMUL_H

#include "hlo/kernel/emit.h"

typedef struct matmul matmul;

// An operand that lies in one buffer with even strides, so that it can be read without packing.
typedef struct matmul_direct {
  bool ok;
  int64_t row_stride, k_stride;  // elements; 0 where there is one row or one k
} matmul_direct;

struct matmul {
  int64_t batch, rows[2], k;  // rows[0] is m, rows[1] is n
  hlo_dtype sum;              // type of sums and panels
  kernel_scalar scalar;
  bool k_vectors[2];  // A, B: neighbours in memory are neighbours in k (else in rows)
  int pack_lanes[2];  // wider vectors would not be neighbours in memory; 0: any width
  matmul_direct direct[2];
  int gather;  // the side whose elements are dear to fetch (patches): packed once; -1: none
  const void *user;
  // Elements (row, k) of side 0 (A) or 1 (B), converted to `sum`: one, or `lanes` along the coordinate whose stride is
  // 1.
  kernel_value *(*fetch)(emit_ctx *c, const matmul *p, int side, emit_coord batch, emit_coord row, emit_coord k,
                         int lanes);
  // The first element (row 0, k 0) of a batch in memory; only where direct[side].ok.
  kernel_value *(*base)(emit_ctx *c, const matmul *p, int side, emit_coord batch, kernel_mem *mem);
  void (*store)(emit_ctx *c, const matmul *p, emit_coord batch, emit_coord m, emit_coord n, int lanes,
                kernel_value *sum);
};

LEMNOS_NODISCARD lemnos_status matmul_emit(emit_ctx *c, const matmul *p);

// --- the epilogue of a hero (dot or convolution) -------------------------------------------------
// The one dot or convolution of the instruction being lowered if everything above it is computed at the hero's own (or
// a reshaped) index; NULL otherwise.
const hlo_instr *matmul_hero(const emit_ctx *c);
// The type sums of results of type t are kept in; false: no schedule (complex, pred).
bool matmul_sum_dtype(hlo_dtype t, hlo_dtype *sum);
// An index of `shape` from classes of dimensions: dims[n] (in the class's order) are numbered by at[n]. Neighbours stay
// one group; dimensions in no class are of size 1.
emit_index *matmul_index(emit_ctx *c, const hlo_shape *shape, int lanes, int n, const hlo_i64s *dims,
                         const emit_coord *at);
// The largest power of two that divides n, at most 64.
int matmul_run_lanes(int64_t n);
// A finished sum at hero index x: rounds it, evaluates the epilogue, stores the results.
void matmul_finish(emit_ctx *c, const hlo_instr *hero, emit_index *x, hlo_dtype sum, kernel_value *value);

// --- packing (matmul_pack.c) ---------------------------------------------------------------------
typedef struct matmul_panel {
  int side, width, lanes;  // width: rows of a panel
  emit_coord batch;
  kernel_value *row;         // first row, a multiple of width
  kernel_value *k0, *count;  // k0 is a multiple of lanes
  bool whole;                // count is a multiple of lanes
  kernel_mem mem;
  kernel_value *at;    // first element of the panel: [k][width] from there,
  int64_t row_stride;  // or, if not 0, rows so far apart
} matmul_panel;
void matmul_pack(emit_ctx *c, const matmul *p, const matmul_panel *panel);
// x[i] lane j <-> x[j] lane i: `lanes` vectors of as many lanes.
void matmul_transpose(emit_ctx *c, kernel_value **x, int lanes);
kernel_value *matmul_multiply_add(kernel_builder *b, kernel_value *x, kernel_value *y, kernel_value *z);

// --- schedules: *done is false where they do not apply -------------------------------------------
LEMNOS_NODISCARD lemnos_status schedule_dot_cpu(emit_ctx *c, bool *done);
LEMNOS_NODISCARD lemnos_status schedule_conv_cpu(emit_ctx *c, bool *done);

#endif
