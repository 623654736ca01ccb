// SPDX-License-Identifier: Apache-2.0
// Row-major arrays whose bytes do not move cost nothing: reshapes, broadcasts that only add dimensions of size 1, and
// transposes that only move such dimensions become bitcasts; a bitcast of a bitcast is one. In executed computations
// only (inside fusions they are index arithmetic anyway). Before fusion: fusion looks through bitcasts. Needs: nothing.
// Leaves: what moves data is no bitcast.
#include "hlo/opt/opt_fusion_internal.h"

// Are the dimensions larger than 1 the same ones, in the same order? place: where operand dimension d goes in the
// result.
static bool keeps_order(const hlo_shape *in, const int64_t *place) {
  int64_t last = -1;
  for (int d = 0; d < in->rank; d++) {
    if (in->dims[d] == 1) continue;
    if (place[d] < last) return false;
    last = place[d];
  }
  return true;
}

static bool moves_nothing(const hlo_instr *i) {
  if (i->n_operands != 1) return false;
  const hlo_shape *in = i->operands[0]->shape, *out = i->shape;
  if (!hlo_shape_is_array(out) || !hlo_shape_is_array(in) || !hlo_shape_is_static(in) || !hlo_shape_is_static(out))
    return false;
  if (in->layout || out->layout || in->quant || out->quant || in->dtype != out->dtype) return false;
  switch (i->op) {
    case HLO_OP_RESHAPE: return true;
    case HLO_OP_BROADCAST_IN_DIM:
      return hlo_shape_elements(in) == hlo_shape_elements(out) && hlo_shape_elements(in) > 0 &&
             keeps_order(in, HLO_ATTRS(i, broadcast)->dimensions.data);
    case HLO_OP_TRANSPOSE: {
      hlo_i64s p = HLO_ATTRS(i, transpose)->permutation;
      int64_t last = -1;
      for (int d = 0; d < p.n; d++) {
        if (out->dims[d] == 1) continue;
        if (p.data[d] < last) return false;
        last = p.data[d];
      }
      return true;
    }
    default: return false;
  }
}

static bool is_pure_bitcast(const hlo_instr *i) {
  return i->op == HLO_OP_BITCAST && fusion_is_reshape(i);
}

lemnos_status hlo_opt_reshape_to_bitcast(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  fusion_computations list = fusion_executed(ctx->scratch, m);
  for (int n = 0; n < list.len; n++)
    HLO_FOR_EACH_SAFE (i, list.data[n]) {
      bool chain = is_pure_bitcast(i) && is_pure_bitcast(i->operands[0]);
      if ((!chain && !moves_nothing(i)) || !hlo_opt_allowed(ctx)) continue;
      hlo_instr *x = i->operands[0];
      while (is_pure_bitcast(x)) x = x->operands[0];
      hlo_builder b = hlo_builder_before(i);
      hlo_instr *r = x->shape == i->shape ? x : hlo_build(&b, HLO_OP_BITCAST, i->shape, 1, &x, 0, NULL, NULL);
      hlo_instr *old = i->operands[0];
      hlo_instr_replace_uses(i, r);
      hlo_instr_remove(i);
      hlo_opt_remove_dead(old);
      *changed = true;
    }
  return LEMNOS_SUCCESS;
}
