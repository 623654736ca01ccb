// SPDX-License-Identifier: Apache-2.0
// Import of HLO text for several devices: what XLA dumps before partitioning has marks where a manual computation begins
// and ends (SPMDFullToShardShape and its inverse, xla.sdy.GlobalToLocalShape and its inverse). The MLIR importer knows
// what they mean (import_manual.c), so such a module takes the way through StableHLO's text.
#include "frontend/import_internal.h"

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
    HLO_FOR_EACH(i, m->computations[k])
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
