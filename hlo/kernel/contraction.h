// SPDX-License-Identifier: Apache-2.0
// dot_general and convolution as one problem, for the GPU and software-GPU schedules:
//
//   out[batch, row, col] = sum over k_0, k_1, ... of rows(batch, row, k) * cols(batch, col, k)
//
// Columns are the side that the result's memory runs along. A side is an array whose dimensions are each batch, free or
// one of the k loops (dot operands, convolution kernels), or an image seen through a window (rows or columns are its
// output positions, k the window's positions and the input features). Coordinates are divided into dimensions once,
// outside the k loops: a contraction_place.
#ifndef HLO_KERNEL_CONTRACTION_H
#define HLO_KERNEL_CONTRACTION_H

#include "hlo/kernel/emit.h"

enum { CONTRACTION_MAX_K = 16, CONTRACTION_MAX_RANK = 16 };

typedef enum contraction_kind { CONTRACTION_ARRAY, CONTRACTION_KERNEL, CONTRACTION_IMAGE } contraction_kind;

typedef struct contraction_run {  // consecutive coordinates of a side or of the output
  int n;
  int dims[CONTRACTION_MAX_RANK];  // of the array
  int64_t sizes[CONTRACTION_MAX_RANK];
  bool joined;  // consecutive dimensions in memory order: one group of an index
} contraction_run;

typedef struct contraction_side {
  contraction_kind kind;
  const hlo_instr *operand;
  contraction_run batch, free;
  int k_dim[CONTRACTION_MAX_K];    // first dimension of each k loop
  int k_count[CONTRACTION_MAX_K];  // dimensions of it (more than one: joined)
  bool along_k;                    // memory runs along the last k loop, else along the free coordinate (or neither)
} contraction_side;

typedef struct contraction {
  const hlo_instr *hero;
  const hlo_instr *root;     // elementwise on the hero's dimensions
  const hlo_instr *tail[8];  // reshapes and transposes between it and the fusion's root, outermost first
  int n_tail;
  int64_t batch, m, n;
  int n_k;
  int64_t k[CONTRACTION_MAX_K];
  hlo_dtype sum;
  kernel_scalar scalar;
  contraction_side rows, cols;
  contraction_run out_batch, out_rows, out_cols;  // dimensions of the hero's result
} contraction;

typedef struct contraction_place {
  emit_coord
      // by dimension of the operand; of a joined run at its first; images: output positions
      at[CONTRACTION_MAX_RANK];
} contraction_place;

// False: not a problem that the tiled schedules take (types, sizes, epilogue); it is then computed by elements.
bool contraction_of_dot(emit_ctx *c, contraction *p);
bool contraction_of_conv(emit_ctx *c, contraction *p);

contraction_place contraction_place_of(emit_ctx *c, const contraction *p, const contraction_side *s, emit_coord batch,
                                       emit_coord at, int lanes);
// Value(s) at a place and k (one coordinate a loop), in the sum's type; `lanes` of them if a coordinate varies.
kernel_value *contraction_load(emit_ctx *c, const contraction *p, const contraction_side *s,
                               const contraction_place *at, const emit_coord *k, int lanes);
// Runs the epilogue on a sum of `lanes` columns from `col` (a multiple of lanes) and stores the results. Rows or
// columns that may lie outside are tested for when the edge flag says so.
void contraction_store(emit_ctx *c, const contraction *p, emit_coord batch, kernel_value *row, bool row_edge,
                       kernel_value *col, bool col_edge, int lanes, kernel_value *sum);
kernel_value *contraction_fma(emit_ctx *c, const contraction *p, kernel_value *x, kernel_value *y, kernel_value *acc);

// `lanes` coordinates from base (a multiple of `multiple`) brought inside [0, size); base may lie beyond it if `edge`.
emit_coord contraction_inside(emit_ctx *c, kernel_value *base, int64_t multiple, int64_t size, bool edge, int lanes);

lemnos_status schedule_contraction(emit_ctx *c, const contraction *p);  // by target
lemnos_status schedule_contraction_tiles(emit_ctx *c,
                                         const contraction *p);  // register tiles, rows handed round by lanes
lemnos_status schedule_contraction_shared(emit_ctx *c, const contraction *p);  // GPU: panels in shared memory
bool contraction_wants_shared(const emit_ctx *c, const contraction *p);
kernel_value *contraction_id(emit_ctx *c, kernel_op op);  // LOCAL_ID or GROUP_ID

#endif
