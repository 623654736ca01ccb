// SPDX-License-Identifier: Apache-2.0
// Import of HLO text: layouts, products of two element types, and marks for partitioners.
//
// Layouts say where XLA would put elements. Values do not depend on them, and arguments and results are row-major here;
// only a bitcast's meaning depends on them, so one between other layouts becomes transposes around a row-major one.
// For several devices, what XLA dumps before partitioning has marks where a manual computation begins and ends
// (SPMDFullToShardShape and its inverse, xla.sdy.GlobalToLocalShape and its inverse). The MLIR importer knows what they
// mean (import_manual.c), so such a module takes the way through StableHLO's text.
#include "frontend/import_internal.h"

// --- layouts -------------------------------------------------------------------------------------

typedef struct laid_bitcast {
  hlo_instr *instr;
  const hlo_shape *from, *to;  // with their layouts
} laid_bitcast;

static const hlo_shape *row_major(hlo_module *m, const hlo_shape *s) {
  if (hlo_shape_is_tuple(s)) {
    const hlo_shape **elements = ARENA_ARRAY(m->arena, const hlo_shape *, s->n_elements + 1);
    for (int e = 0; e < s->n_elements; e++) elements[e] = row_major(m, s->elements[e]);
    return hlo_shape_tuple(m->shapes, s->n_elements, elements);
  }
  if (!s->layout) return s;
  hlo_shape plain = *s;
  plain.layout = NULL;
  return hlo_shape_intern(m->shapes, &plain);
}

static bool is_laid_bitcast(const hlo_instr *i) {
  if (i->op != HLO_OP_BITCAST || i->n_operands != 1) return false;
  const hlo_shape *from = i->operands[0]->shape, *to = i->shape;
  return hlo_shape_is_array(from) && hlo_shape_is_array(to) && hlo_shape_is_static(from) && hlo_shape_is_static(to) &&
         (from->layout || to->layout);
}

// order[n]: the dimension that is n-th from the outermost one in memory; inverse: where dimension d stands there.
static void memory_order(const hlo_shape *s, int64_t *order, int64_t *inverse) {
  for (int n = 0; n < s->rank; n++) {
    order[n] = s->layout ? s->layout[s->rank - 1 - n] : n;
    inverse[order[n]] = n;
  }
}

static void restate_bitcast(laid_bitcast x) {
  hlo_instr *i = x.instr, *value = i->operands[0];
  arena *a = i->parent->module->arena;
  int64_t *order = ARENA_ARRAY(a, int64_t, 3 * (x.from->rank + x.to->rank) + 1);
  int64_t *inverse = order + x.from->rank + x.to->rank, *dims = inverse + x.from->rank + x.to->rank;
  hlo_builder b = hlo_builder_before(i);
  memory_order(x.from, order, inverse);
  if (x.from->layout) value = hlo_build_transpose(&b, value, order);
  memory_order(x.to, order, inverse);
  for (int n = 0; n < x.to->rank; n++) dims[n] = x.to->dims[order[n]];
  value =
      hlo_instr_create(i->parent, i, HLO_OP_BITCAST, hlo_shape_array(b.module->shapes, x.to->dtype, x.to->rank, dims),
                       1, &value, 0, NULL, NULL, i->loc, (strv){0});
  if (x.to->layout) value = hlo_build_transpose(&b, value, inverse);
  hlo_instr_replace_uses(i, value);
  hlo_instr_remove(i);
}

static void drop_layouts(hlo_module *m) {
  VEC(laid_bitcast) bitcasts = {0};
  for (int c = 0; c < m->n_computations; c++)
    HLO_FOR_EACH (i, m->computations[c])
      if (is_laid_bitcast(i)) vec_push(NULL, &bitcasts, ((laid_bitcast){i, i->operands[0]->shape, i->shape}));
  for (int c = 0; c < m->n_computations; c++) {
    HLO_FOR_EACH (i, m->computations[c]) {
      const hlo_shape *plain = row_major(m, i->shape);
      if (i->op == HLO_OP_CONSTANT && plain != i->shape) {
        hlo_literal *copy = arena_copy(m->arena, hlo_constant_value(i), sizeof *copy);
        copy->shape = plain;
        HLO_ATTRS(i, constant)->value = copy;
      }
      i->shape = plain;
    }
  }
  for (int k = 0; k < bitcasts.len; k++) restate_bitcast(bitcasts.data[k]);
  vec_deinit(&bitcasts);
}

// --- products ------------------------------------------------------------------------------------

// XLA lets a dot or convolution have operands of two element types (JAX's lowering for TPUs makes such); it computes
// with both converted to the result's.
static void convert_factors(hlo_instr *i) {
  if (i->n_operands != 2 || !hlo_shape_is_array(i->shape)) return;
  const hlo_shape *s[2] = {i->operands[0]->shape, i->operands[1]->shape};
  if (!hlo_shape_is_array(s[0]) || !hlo_shape_is_array(s[1]) || s[0]->quant || s[1]->quant ||
      s[0]->dtype == s[1]->dtype)
    return;
  hlo_builder b = hlo_builder_before(i);
  for (int k = 0; k < 2; k++) hlo_instr_set_operand(i, k, hlo_build_convert(&b, i->operands[k], i->shape->dtype));
}

void import_restate_hlo(hlo_module *m) {
  drop_layouts(m);
  for (int c = 0; c < m->n_computations; c++)
    HLO_FOR_EACH (i, m->computations[c])
      if (i->op == HLO_OP_DOT_GENERAL || i->op == HLO_OP_CONVOLUTION) convert_factors(i);
}

// --- marks for partitioners ----------------------------------------------------------------------

static bool is_place_mark(const hlo_instr *i) {
  static const char *const names[] = {"SPMDFullToShardShape", "SPMDShardToFullShape", "xla.sdy.GlobalToLocalShape",
                                      "xla.sdy.LocalToGlobalShape"};
  if (i->op != HLO_OP_CUSTOM_CALL) return false;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (strv_eq_cstr(HLO_ATTRS(i, custom_call)->target, names[k])) return true;
  return false;
}

static bool has_place_marks(const hlo_module *m) {
  for (int k = 0; k < m->n_computations; k++)
    HLO_FOR_EACH (i, m->computations[k])
      if (is_place_mark(i)) return true;
  return false;
}

lemnos_status import_marked_hlo(arena *a, strv file_name, const import_options *options, diag_sink *sink,
                                hlo_module **module) {
  if (!has_place_marks(*module)) return LEMNOS_SUCCESS;
  strbuf out = {0};
  mlir_module *m = NULL;
  export_stablehlo(&out, *module);
  strv text = arena_strv(a, (strv){out.data, out.len});
  strbuf_deinit(&out);
  LEMNOS_TRY(mlir_parse_text(a, file_name, text, sink, &m));
  return import_module(m, options, a, sink, module);
}
