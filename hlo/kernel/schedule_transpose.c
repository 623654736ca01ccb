// SPDX-License-Identifier: Apache-2.0
// Transposes and copies that change the layout.
#include "hlo/kernel/emit.h"

lemnos_status schedule_transpose(emit_ctx *c) { return schedule_elementwise(c); }
