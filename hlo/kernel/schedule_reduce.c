// SPDX-License-Identifier: Apache-2.0
// Reductions with fused producers and an elementwise epilogue.
#include "hlo/kernel/emit.h"

lemnos_status schedule_reduce(emit_ctx *c) { return schedule_elementwise(c); }
