// SPDX-License-Identifier: Apache-2.0
// Convolution with fused epilogue: GPUs and software GPUs take it as a contraction; what is none, element by element.
#include "hlo/kernel/contraction.h"

lemnos_status schedule_conv(emit_ctx *c) {
  contraction p;
  if (c->t->cls != HLO_TARGET_CPU && contraction_of_conv(c, &p)) return schedule_contraction(c, &p);
  return schedule_elementwise(c);
}
