// SPDX-License-Identifier: Apache-2.0
// CHLO operations (and complex StableHLO ones) without a kernel form become formulas of operations that have one:
// special functions (expand_special.c; narrower floats are computed in f32 and rounded once), complex functions
// (expand_complex.c), top_k as a stable sort of values and positions, scan as a while.
// The interpreter never runs this: it has these operations itself, more accurately.
// Needs: nothing. Leaves: no CHLO operation but those that kernels have (see hlo/kernel/lower.c), dynamic shapes and
// quantized types.
#include "hlo/opt/algsimp.h"
#include "hlo/opt/expand.h"

// --- elementwise ---------------------------------------------------------------------------------

static hlo_instr *expand_elementwise(hlo_instr *i) {
  hlo_dtype t = i->operands[0]->shape->dtype;
  expand x = {.b = hlo_builder_before(i), .s = i->operands[0]->shape}, *e = &x;
  hlo_shape_table *shapes = x.b.module->shapes;
  hv a = i->operands[0], b = i->n_operands > 1 ? i->operands[1] : NULL;
  if (i->n_operands > 2 || !algsimp_plain(i)) return NULL;
  if (hlo_dtype_is_complex(t)) {
    x.s = hlo_shape_with_dtype(shapes, x.s, hlo_dtype_real_part(t));
    return expand_complex(e, i->op, a, b);
  }
  if (!hlo_dtype_is_float(t) || hlo_op_table[i->op].family != HLO_FAMILY_CHLO) return NULL;
  if (t == HLO_F32 || t == HLO_F64) return expand_special(e, i->op, a, b);
  x.s = hlo_shape_with_dtype(shapes, x.s, HLO_F32);
  a = hlo_build_convert(&x.b, a, HLO_F32);
  if (b) b = hlo_build_convert(&x.b, b, HLO_F32);
  hv y = expand_special(e, i->op, a, b);
  if (y) return hlo_build_convert(&x.b, y, t);
  hlo_opt_remove_dead(a);
  if (b) hlo_opt_remove_dead(b);
  return NULL;
}

// --- top_k ---------------------------------------------------------------------------------------

static hlo_computation *greater_computation(hlo_module *m, hlo_dtype t, hlo_dtype index) {
  hlo_computation *c = hlo_computation_create(m, STRV("greater"));
  hlo_builder b = hlo_builder_end(c);
  const hlo_shape *value = hlo_shape_array(m->shapes, t, 0, NULL),
                  *position = hlo_shape_array(m->shapes, index, 0, NULL);
  hlo_instr *x = hlo_build_parameter(&b, value, STRV("x")), *y = hlo_build_parameter(&b, value, STRV("y"));
  (void)hlo_build_parameter(&b, position, STRV("i"));
  (void)hlo_build_parameter(&b, position, STRV("j"));
  hlo_attrs_compare *attrs = hlo_attrs_create(m->arena, HLO_ATTR_LIST_compare);
  attrs->direction = HLO_COMPARISON_DIRECTION_GT;
  attrs->type = hlo_dtype_is_float(t) ? HLO_COMPARISON_TYPE_TOTALORDER : HLO_COMPARISON_TYPE_NOTYPE;
  c->root = hlo_build(&b, HLO_OP_COMPARE, NULL, 2, (hlo_instr *[]){x, y}, 0, NULL, attrs);
  return c;
}

static hlo_instr *expand_top_k(hlo_instr *i) {
  hlo_instr *x = i->operands[0], *out[2];
  if (!hlo_shape_is_tuple(i->shape) || i->shape->n_elements != 2 || x->shape->layout || x->shape->quant ||
      !hlo_shape_is_static(x->shape))
    return NULL;
  hlo_builder b = hlo_builder_before(i);
  hlo_module *m = b.module;
  hlo_dtype t = x->shape->dtype, index = i->shape->elements[1]->dtype;
  int rank = x->shape->rank;
  int64_t start[32] = {0}, limit[32], k = HLO_ATTRS(i, top_k)->k;
  hlo_instr *positions = hlo_build_iota(&b, hlo_shape_with_dtype(m->shapes, x->shape, index), rank - 1);
  hlo_attrs_sort *attrs = hlo_attrs_create(m->arena, HLO_ATTR_LIST_sort);
  attrs->dimension = rank - 1;
  attrs->is_stable = true;
  hlo_computation *greater = greater_computation(m, t, index);
  hlo_instr *sorted = hlo_build(&b, HLO_OP_SORT, NULL, 2, (hlo_instr *[]){x, positions}, 1, &greater, attrs);
  for (int d = 0; d < rank; d++) limit[d] = x->shape->dims[d];
  limit[rank - 1] = k;
  for (int n = 0; n < 2; n++) out[n] = hlo_build_slice(&b, hlo_build_get(&b, sorted, n), start, limit, NULL);
  return hlo_build_tuple(&b, 2, out);
}

// --- driver --------------------------------------------------------------------------------------

static hlo_instr *expand_one(hlo_instr *i) {
  if (i->op == HLO_OP_TOP_K) return expand_top_k(i);
  return hlo_op_has(i->op, HLO_TRAIT_E) ? expand_elementwise(i) : NULL;
}

lemnos_status hlo_opt_chlo_expander(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  for (int c = 0; c < m->n_computations; c++)
    HLO_FOR_EACH_SAFE (i, m->computations[c]) {
      bool candidate =
          hlo_op_table[i->op].family == HLO_FAMILY_CHLO || i->op == HLO_OP_TOP_K ||
          (hlo_op_has(i->op, HLO_TRAIT_E) && i->n_operands && hlo_dtype_is_complex(i->operands[0]->shape->dtype));
      if (!candidate) continue;
      hlo_instr *r = expand_one(i);
      if (!r) continue;
      if (r->shape != i->shape) LEMNOS_PANIC("chlo-expander: %s changes its shape", hlo_op_table[i->op].text_name);
      if (hlo_opt_allowed(ctx)) {
        expand_finish(i, r);
        *changed = true;
      } else {
        hlo_opt_remove_dead(r);
      }
    }
  return LEMNOS_SUCCESS;
}
