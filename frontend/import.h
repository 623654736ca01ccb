// SPDX-License-Identifier: Apache-2.0
// From a generic MLIR module (mlir.h) to HLO, and the one entry that takes any input file.
#ifndef FRONTEND_IMPORT_H
#define FRONTEND_IMPORT_H

#include "frontend/mlir.h"
#include "hlo/hlo.h"

typedef struct import_options {
  strv
      // function to be the entry; empty: "main", else the only function, else an error that lists the functions
      entry;
} import_options;

// Translates. Every StableHLO op with one result becomes one instruction, with several a tuple and get_tuple_elements;
// regions become computations; values captured by while/if/case regions become operands; func.call becomes call
// (inlining is a pass); broadcasting CHLO forms become StableHLO ops; check.* custom calls become check ops; deprecated
// dot/broadcast/einsum become their successors; sdy ops become identities, manual computations calls
// that virtual devices run (import_manual.c); unknown dialect attributes are dropped after being parsed. Result is
// verified (hlo_verify). Unknown operations are refused by name with their location.
LEMNOS_NODISCARD lemnos_status import_module(const mlir_module *m, const import_options *options, arena *a,
                                             diag_sink *sink, hlo_module **out);
// Names of the functions that could be entries: main if there, else every public function without arguments (for
// `lemnos check`).
LEMNOS_NODISCARD lemnos_status import_list_entries(const mlir_module *m, arena *a, strv **out_names, int *out_n);

// The text in the bytes of a file, without byte order mark; INVALID_ARGUMENT says what else they seem to be.
LEMNOS_NODISCARD lemnos_status import_find_text(strv file_name, const void *data, size_t size, strv *out);
bool import_is_hlo_text(strv text);

// Reads any program: MLIR bytecode, MLIR text (one module), or HLO text, told apart by content. Bytes must outlive the
// module.
LEMNOS_NODISCARD lemnos_status import_program(arena *a, strv file_name, const void *data, size_t size,
                                              const import_options *options, diag_sink *sink, hlo_module **out);

// Specialises the entry for concrete argument shapes (leaves in order) and refines every dynamic shape that follows
// from them, removing dynamic_* ops and shape_assertions that become static. A violated shape_assertion is an error.
// What stays dynamic stays.
LEMNOS_NODISCARD lemnos_status import_refine(hlo_module *m, int n_args, const hlo_shape *const *args, diag_sink *sink);
// The same with values for some arguments (values may be NULL, and so may its entries): for programs whose sizes are
// passed in as integer arguments. The result is good for these values only; the arguments stay, unused. Values must
// outlive the module.
LEMNOS_NODISCARD lemnos_status import_refine_values(hlo_module *m, int n_args, const hlo_shape *const *args,
                                                    const hlo_literal *const *values, diag_sink *sink);

// Text for testing and conversion: the module as StableHLO text.
void export_stablehlo(strbuf *out, const hlo_module *m);

#endif
