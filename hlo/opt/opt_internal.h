// SPDX-License-Identifier: Apache-2.0
// What passes share: declarations of all of them (from passes.def) and small helpers. Private to hlo/opt.
#ifndef HLO_OPT_OPT_INTERNAL_H
#define HLO_OPT_OPT_INTERNAL_H

#include "hlo/builder.h"
#include "hlo/opt/pass.h"

#define P(name, function, summary, needs_target) \
  lemnos_status function(hlo_pass_ctx *ctx, hlo_module *m, bool *changed);
#include "hlo/opt/passes.def"
#undef P

// May a pass change one more thing? Counts; false once the bisect limit is reached.
static inline bool hlo_opt_allowed(hlo_pass_ctx *ctx) {
  if (ctx->bisect_limit >= 0 && ctx->bisect_count >= ctx->bisect_limit) return false;
  ctx->bisect_count++;
  return true;
}

// May an expansion of an f32 operation compute in f64 to round once? Where that costs little: not on GPUs.
static inline bool hlo_opt_wide_inside(const hlo_pass_ctx *ctx) {
  return ctx->target && ctx->target->f64 && ctx->target->cls != HLO_TARGET_GPU;
}

// Removes i and then every operand that has lost its last use and has no side effect; parameters stay.
void hlo_opt_remove_dead(hlo_instr *i);
// Can i be removed when nobody uses it?
bool hlo_opt_is_removable(const hlo_instr *i);

#endif
