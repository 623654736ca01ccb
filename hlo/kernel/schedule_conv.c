// SPDX-License-Identifier: Apache-2.0
// Convolution with fused epilogue. CPU schedule: schedule_conv_cpu.c (owner h14); GPU: schedule_conv_gpu.c (owner h15).
#include "hlo/kernel/emit.h"

lemnos_status schedule_conv(emit_ctx *c) { return schedule_elementwise(c); }
