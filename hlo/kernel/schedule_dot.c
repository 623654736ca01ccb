// SPDX-License-Identifier: Apache-2.0
// dot_general with any dimensions and fused producers and epilogue: choice of schedule.
//
//   CPU: packed panels, streaming for few rows (schedule_dot_cpu.c, matmul.h)
//   GPU, CPU_LIKE: panels in shared memory, or register tiles with operands handed round by lanes (contraction.h)
//   what those leave (odd types, epilogues that are not elementwise): element by element, vectors along n
//   (emit_loops.c)
#include "hlo/kernel/contraction.h"
#include "hlo/kernel/matmul.h"

lemnos_status schedule_dot(emit_ctx *c) {
  contraction p;
  bool done = false;
  if (c->t->cls != HLO_TARGET_CPU) {
    if (contraction_of_dot(c, &p)) return schedule_contraction(c, &p);
  } else {
    LEMNOS_TRY(schedule_dot_cpu(c, &done));
  }
  return done ? LEMNOS_SUCCESS : schedule_elementwise(c);
}
