// SPDX-License-Identifier: Apache-2.0
// Transposes in registers and of whole arrays.
#include "hlo/kernel/dot.h"

// Stage by stage, pairs of vectors `half` apart exchange blocks of `half` lanes.
void emit_transpose(emit_ctx *c, kernel_value **x, int lanes) {
  kernel_type t = x[0]->type;
  for (int half = 1; half < lanes; half *= 2) {
    for (int i = 0; i < lanes; i++) {
      if (i & half) continue;
      kernel_value *operands[] = {x[i], x[i + half]};
      for (int side = 0; side < 2; side++) {
        kernel_instr *s = kernel_emit(&c->b, KERNEL_OP_SHUFFLE, 1, &t, 2, operands);
        s->imm.list = ARENA_ARRAY(c->k->arena, int32_t, lanes);
        for (int l = 0; l < lanes; l++) {
          // side 0 keeps lanes without the bit and takes the partner's for those with it; side 1 the other way round
          bool bit = (l & half) != 0;
          if (side == 0) s->imm.list[l] = bit ? lanes + l - half : l;
          else s->imm.list[l] = bit ? lanes + l : l + half;
        }
        x[i + side * half] = &s->results[0];
      }
    }
  }
}

lemnos_status schedule_transpose(emit_ctx *c) { return schedule_elementwise(c); }
