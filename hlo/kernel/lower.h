// SPDX-License-Identifier: Apache-2.0
// From one scheduled HLO instruction (a fusion or a single op) to kernel launches.
#ifndef HLO_KERNEL_LOWER_H
#define HLO_KERNEL_LOWER_H

#include "hlo/hlo.h"
#include "hlo/kernel/kernel.h"

typedef enum kernel_arg_kind {
  KERNEL_ARG_OPERAND,   // leaf `index` counted over all operands' leaves in order
  KERNEL_ARG_RESULT,    // leaf `index` of the instruction's shape
  KERNEL_ARG_SCRATCH,   // scratch buffer `index` of this lowering
  KERNEL_ARG_CONSTANT,  // constant `index` of this lowering
} kernel_arg_kind;

typedef struct kernel_arg {
  kernel_arg_kind kind;
  int32_t index;
  int64_t offset;  // bytes, into the buffer
} kernel_arg;

typedef struct kernel_launch {
  kernel *kernel;
  kernel_arg *args;  // kernel->n_params
} kernel_launch;

// The launches run in order, each seeing what the ones before wrote. Scratch and constants belong to this instruction
// only.
typedef struct kernel_lowering {
  VEC(kernel_launch) launches;
  VEC(int64_t) scratch;  // bytes
  VEC(const hlo_literal *) constants;
} kernel_lowering;

// Facts about buffers that the lowering may rely on.
typedef struct kernel_lower_options {
  // Operand leaf that result leaf i shares its buffer with (in-place), or -1. Never aliased otherwise. NULL: no
  // sharing.
  const int32_t *result_aliases;
} kernel_lower_options;

// Schedules `i` for the target. UNIMPLEMENTED with a reason in words if it has no lowering: the caller runs it on the
// host.
// Kernels come back finished (kernel_finish has run) and verified. Ops that need no kernel (tuple, bitcast, parameter,
// ...) give no launches.
LEMNOS_NODISCARD lemnos_status kernel_lower(arena *a, const hlo_target *t, const hlo_instr *i,
                                            const kernel_lower_options *options, kernel_lowering *out);

// The lowering table's answer without doing it, for fusion decisions: may `i` be fused into an elementwise loop (as
// producer or consumer)?
bool kernel_can_fuse_elementwise(const hlo_target *t, const hlo_instr *i);

// Why instructions of this kind never have a kernel; NULL: they have, or need none. For tables (docs/ops.md).
const char *kernel_lower_host_reason(hlo_op op);

#endif
