// SPDX-License-Identifier: Apache-2.0
// dot_general with fused epilogue: which schedule for which target. CPU: schedule_dot_cpu.c (packed panels, register tiles).
// GPU and software GPU: schedule_dot_gpu.c. Types and shapes that neither takes: one element at a time.
// (Both files, and schedule_conv_cpu.c / schedule_conv_gpu.c, have owners of their own: h14 CPU, h15 GPU.)
#include "hlo/kernel/emit.h"

lemnos_status schedule_dot(emit_ctx *c) { return schedule_elementwise(c); }
