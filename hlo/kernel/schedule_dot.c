// SPDX-License-Identifier: Apache-2.0
// dot_general with fused epilogue.
#include "hlo/kernel/emit.h"

lemnos_status schedule_dot(emit_ctx *c) { return schedule_elementwise(c); }
