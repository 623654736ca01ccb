// SPDX-License-Identifier: Apache-2.0
// Convolution with fused epilogue: GPUs and software GPUs take it as a contraction; what is none, element by element.
// CPUs: a packed matrix product (schedule_conv_cpu.c).
#include "hlo/kernel/contraction.h"
#include "hlo/kernel/matmul.h"

lemnos_status schedule_conv(emit_ctx *c) {
  contraction p;
  if (c->t->cls != HLO_TARGET_CPU && contraction_of_conv(c, &p)) return schedule_contraction(c, &p);
  if (c->t->cls == HLO_TARGET_CPU) {
    bool done;
    LEMNOS_TRY(schedule_conv_cpu(c, &done));
    if (done) return LEMNOS_SUCCESS;
  }
  return schedule_elementwise(c);
}
