// SPDX-License-Identifier: Apache-2.0
// Private to import*.c: the state of one translation and what its parts offer each other.
//
// Functions return false (or NULL) after having reported; the status is made once, at the end, from the sink and the
// code of the first report. A scope is one computation under construction; MLIR values are looked up in it. A value of
// an enclosing scope is a capture: while, if and case bind captures to extra parameters before their regions are
// translated, reduce, reduce_window, sort, map and scatter make inputs of them (import_captures.c), select_and_scatter,
// all_reduce and reduce_scatter become such operations (import_captured_ops.c); everywhere else only values that can be
// computed anew inside (constants and cheap pure chains of them) are allowed.
#ifndef FRONTEND_IMPORT_INTERNAL_H
#define FRONTEND_IMPORT_INTERNAL_H

#include "frontend/import.h"
#include "hlo/builder.h"

typedef struct import_scope {
  struct import_scope *outer;  // NULL for a function's body
  hlo_computation *computation;
  u64map values;     // mlir_value* -> hlo_instr*
  const char *what;  // "function @main", "the region of stablehlo.reduce"
} import_scope;

typedef struct import_func {
  const mlir_op *op;
  strv name;
  hlo_computation *computation[2];  // NULL until translated; [1]: inside a grid, where marks mean something else
  bool active;                      // being translated: a call now is a recursion
} import_func;

typedef struct import_ctx {
  const mlir_module *source;
  arena *arena;
  diag_sink *sink;
  hlo_module *module;
  strmap funcs;             // name -> import_func*
  strmap handlers;          // op name -> const import_handler*
  u64map types;             // mlir_type* -> hlo_shape*
  lemnos_status_code code;  // of the first report
  int32_t depth;            // nesting of functions and regions
  int32_t grid;             // devices of the manual computation that is being translated; 0: in none
  int64_t next_channel;     // of collectives that have no counterpart in the source
} import_ctx;

typedef bool (*import_handler_fn)(import_ctx *c, import_scope *s, const mlir_op *op);
typedef struct import_handler {
  const char *name;
  import_handler_fn fn;
} import_handler;

typedef VEC(hlo_instr *) import_values;
typedef VEC(const mlir_value *) import_mlir_values;

// What a region uses from outside of it, and where that is in the scope around.
typedef struct import_captures {
  import_mlir_values values;
  hlo_instr **instrs;
} import_captures;

enum { IMPORT_MAX_DEPTH = 800 };

// --- import.c ------------------------------------------------------------------------------------

// Reports at l; always false.
bool import_fail(import_ctx *c, const loc *l, const char *format, ...) LEMNOS_PRINTF(3, 4);
bool import_refuse(import_ctx *c, const loc *l, const char *format, ...) LEMNOS_PRINTF(3, 4);  // UNIMPLEMENTED
// The instruction of a value, translated into this scope if it is a capture that can be; NULL after a report.
hlo_instr *import_value(import_ctx *c, import_scope *s, const mlir_value *v, const loc *l);
void import_bind(import_ctx *c, import_scope *s, const mlir_value *v, hlo_instr *i);
// Binds the op's results to i, or to its tuple elements if there are several.
bool import_bind_results(import_ctx *c, import_scope *s, const mlir_op *op, hlo_instr *i);
// All operands of op, in the context's arena.
hlo_instr **import_operands(import_ctx *c, import_scope *s, const mlir_op *op);
bool import_op(import_ctx *c, import_scope *s, const mlir_op *op);
// The operations of a block up to its terminator, whose operands go to *out (arena).
bool import_block(import_ctx *c, import_scope *s, const mlir_block *b, import_values *out);
// The computation's root: the value, or a tuple of several (or none).
void import_set_root(import_ctx *c, import_scope *s, const import_values *v, const loc *l);
// A checked instruction at the end of the scope's computation. declared may be NULL where the op determines its shape.
hlo_instr *import_emit(import_ctx *c, import_scope *s, hlo_op op, const hlo_shape *declared, int n_operands,
                       hlo_instr *const *operands, int n_called, hlo_computation *const *called, void *attrs,
                       const loc *l);
hlo_builder import_builder(import_scope *s, const loc *l);
// The function's computation, translated now if it was not yet.
hlo_computation *import_function(import_ctx *c, strv name, const loc *l);
bool import_is_terminator(const mlir_op *op);
// Was the operation, of a region inside the scope, computed in the scope already?
bool import_is_moved_out(const import_scope *s, const mlir_op *op);

// --- import_types.c ------------------------------------------------------------------------------

const hlo_shape *import_type(import_ctx *c, const mlir_type *t, const loc *l);
strv import_type_text(import_ctx *c, const mlir_type *t);  // as MLIR writes it; ends with a NUL
// One type: its shape; several or none: a tuple.
const hlo_shape *import_result_shape(import_ctx *c, const mlir_op *op);
// The same; NULL if a result is a tensor without a rank, which has to follow from the operands. false after a report.
bool import_declared_shape(import_ctx *c, const mlir_op *op, const hlo_shape **out);

// --- import_attrs.c ------------------------------------------------------------------------------

// A new attribute struct for list, filled in from the op's attributes; *ok false after a report. NULL for `none`.
void *import_attrs(import_ctx *c, const mlir_op *op, hlo_attr_list list, bool *ok);
bool import_i64s(import_ctx *c, const mlir_attr *a, hlo_i64s *out);  // false without a report
bool import_named_i64s(import_ctx *c, const mlir_op *op, const char *name, bool required, hlo_i64s *out);
bool import_int(const mlir_attr *a, int64_t *out);
// The operation as constraints cite it: "reduce_window" of stablehlo.reduce_window.
strv import_op_label(const mlir_op *op);
int64_t import_api_version(const mlir_attr *a);  // of a custom call; 1 if absent
const hlo_literal *import_literal(import_ctx *c, const mlir_attr *a, const hlo_shape *shape, const loc *l);
// A struct attribute's entry; underscores and case of its name do not matter.
const mlir_attr *import_entry(const mlir_attr *a, const char *name);
strv import_attr_text(import_ctx *c, const mlir_attr *a);

// import_groups.c: replica groups by the axes of a mesh; false after a report
bool import_mesh_groups(import_ctx *c, const mlir_op *op, const mlir_attr *a, hlo_groups *out);

// --- import_regions.c ----------------------------------------------------------------------------

bool import_is_inside(const mlir_value *v, const mlir_region *r);
// Appends the values from outside that the region uses, but for those that can be made anew (and, where the scope has
// them already, those that were moved out of it).
void import_collect_captures(import_ctx *c, const import_scope *s, const mlir_region *r, u64map *seen,
                             import_mlir_values *out);
bool import_while(import_ctx *c, import_scope *s, const mlir_op *op);
bool import_conditional(import_ctx *c, import_scope *s, const mlir_op *op);
bool import_inline_region(import_ctx *c, import_scope *s, const mlir_op *op);  // sdy.named_computation and the like
// The only block of a region; a computation for it; its operations translated.
bool import_region_block(import_ctx *c, const mlir_op *op, int region, const mlir_block **out);
import_scope import_scope_create(import_ctx *c, import_scope *outer, const mlir_op *op, const char *suffix);
bool import_scope_body(import_ctx *c, import_scope *s, const mlir_block *b, import_values *out);
// Can the value be computed anew in another scope? cheap_only: constants only.
bool import_is_clonable(const mlir_value *v, bool constants_only, int depth);

// --- import_manual.c -----------------------------------------------------------------------------

bool import_manual_computation(import_ctx *c, import_scope *s, const mlir_op *op);
// XLA's custom calls for the same; x is the only operand.
bool import_shard_mark(import_ctx *c, import_scope *s, const mlir_op *op, strv target, hlo_instr *x);
// xla.sdy.GlobalToLocalShape
bool import_local_mark(import_ctx *c, import_scope *s, const mlir_op *op, bool to_local);

// --- import_captures.c ---------------------------------------------------------------------------

// What the regions of op use from outside and what is to be passed in; none for operations that cannot take it.
bool import_find_captures(import_ctx *c, import_scope *s, const mlir_op *op, hlo_op hop, import_captures *out);
// The region with parameters for the captures, and the operation with operands for them, its results bound.
hlo_computation *import_captured_region(import_ctx *c, import_scope *outer, const mlir_op *op, int region, hlo_op hop,
                                        const import_captures *caps);
bool import_emit_captured(import_ctx *c, import_scope *s, const mlir_op *op, hlo_op hop, hlo_instr *const *operands,
                          hlo_computation *const *called, void *attrs, const import_captures *caps);
// import_captured_ops.c: the same for operations without a place for more operands, which others stand for.
bool import_is_rewritten(hlo_op op);
bool import_emit_rewritten(import_ctx *c, import_scope *s, const mlir_op *op, hlo_op hop, hlo_instr *const *operands,
                           void *attrs, const import_captures *caps);

// --- import_hlo_text.c ---------------------------------------------------------------------------

void import_restate_hlo(hlo_module *m);  // drops layouts, converts operands of two types
// Replaces *module by what its marks for several devices mean, if it has any.
lemnos_status import_marked_hlo(arena *a, strv file_name, const import_options *options, diag_sink *sink,
                                hlo_module **module);

// --- import_top_k.c ------------------------------------------------------------------------------

// (values, indices) of the first k of op's operand along its last dimension by order; NULL: the least. *done false: it
// is no such operation that could be imported.
bool import_first_k(import_ctx *c, import_scope *s, const mlir_op *op, int64_t k, hlo_computation *order, bool *done);

// --- import_checks.c -----------------------------------------------------------------------------

// What HLO does not keep: tolerances, layouts of custom calls, buffers. false after a report.
bool import_check_op(import_ctx *c, const mlir_op *op);
bool import_is_buffer_call(strv target);  // CreateBuffer, Pin, Unpin

// --- import_ops.c, import_chlo.c, import_einsum.c ------------------------------------------------

bool import_generic(import_ctx *c, import_scope *s, const mlir_op *op, hlo_op hop);
extern const import_handler import_op_handlers[];  // ends with a NULL name
extern const import_handler import_chlo_handlers[];
bool import_einsum(import_ctx *c, import_scope *s, const mlir_op *op);
bool import_unary_einsum(import_ctx *c, import_scope *s, const mlir_op *op);
// The size of dimension d of x as an s32 scalar; n such scalars as a vector.
hlo_instr *import_size_of(import_ctx *c, import_scope *s, hlo_instr *x, int d, const loc *l);
hlo_instr *import_vector_of(import_ctx *c, import_scope *s, hlo_instr **scalars, int64_t n, const loc *l);
// Like s, with elements of the type that `element` has, quantized ones too.
const hlo_shape *import_shape_of_elements(import_ctx *c, const hlo_shape *s, const hlo_shape *element);
// v broadcast to the (dynamic) shape of `like`.
hlo_instr *import_broadcast_like(import_ctx *c, import_scope *s, hlo_instr *scalar, hlo_instr *like, const loc *l);

#endif
