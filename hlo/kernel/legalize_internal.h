// SPDX-License-Identifier: Apache-2.0
// The stages of pass_legalize, one file each. Private to hlo/kernel.
#ifndef HLO_KERNEL_LEGALIZE_INTERNAL_H
#define HLO_KERNEL_LEGALIZE_INTERNAL_H

#include "hlo/kernel/builder.h"
#include "hlo/kernel/walk.h"

typedef struct legalizer {
  kernel *k;
  const hlo_target *t;
  kernel_rewrite rewrite;
} legalizer;

// i1 in memory becomes i8 (0 or 1).
void legalize_pred_memory(legalizer *l);
// Small floats that the target has no arithmetic for: arithmetic in f32 with one rounding, values carried as their
// bits.
void legalize_small_floats(legalizer *l);
// i8 and i16 that the target lacks are carried as i32; memory of such elements is addressed as i32 words.
LEMNOS_NODISCARD lemnos_status legalize_narrow(legalizer *l);
// Zeros of floats become values that the driver's compiler cannot know (target.folds_zero).
void legalize_zeros(legalizer *l);

// f32 -> bits of a small float (in i32 lanes), rounded to nearest even; and back (exact).
kernel_value *legalize_encode(kernel_builder *b, kernel_value *f32, kernel_scalar to);
kernel_value *legalize_decode(kernel_builder *b, kernel_value *bits_i32, kernel_scalar from);

static inline kernel_builder legalize_before(legalizer *l, kernel_instr *i) {
  return (kernel_builder){.k = l->k, .block = i->parent, .before = i};
}
static inline kernel_builder legalize_after(legalizer *l, kernel_instr *i) {
  // before == NULL would mean the end of the block, in front of the yield: right when i is last before it.
  return (kernel_builder){.k = l->k, .block = i->parent, .before = i->next};
}

#endif
