// SPDX-License-Identifier: Apache-2.0
// The IR: module, computation, instruction.
//
//   hlo_module ── computations[] ── hlo_computation ── first..last ── hlo_instr ── operands, users, called, attrs
//
// SSA over tensors. An instruction has one result; several results are a tuple, taken apart by get_tuple_element (as in
// XLA).
// Everything lives in the module's arena and dies with it. Computations are closed: an instruction's operands belong
// to its own computation. The order of a computation's instruction list is a valid execution order (operands before
// users), and side-effecting instructions run in that order. Operand and use lists change only through hlo_instr_*.
// Not thread-safe; a module that nobody changes may be read by several threads.
#ifndef HLO_HLO_H
#define HLO_HLO_H

#include "hlo/attr.h"

// clang-format off
typedef enum hlo_op {
#define OP(ENUM, stablehlo, text, min, max, called, traits, FAMILY, attrs, TYPES) HLO_OP_##ENUM,
#include "hlo/ops.def"
#undef OP
  HLO_OP_COUNT
} hlo_op;
// clang-format on

typedef enum hlo_op_family {
  HLO_FAMILY_UNARY,
  HLO_FAMILY_BINARY,
  HLO_FAMILY_TERNARY,
  HLO_FAMILY_CONVERT,
  HLO_FAMILY_SHAPE,
  HLO_FAMILY_INDEX,
  HLO_FAMILY_REDUCE,
  HLO_FAMILY_WINDOW,
  HLO_FAMILY_SORT,
  HLO_FAMILY_DOT,
  HLO_FAMILY_CONV,
  HLO_FAMILY_LINALG,
  HLO_FAMILY_NORM,
  HLO_FAMILY_RNG,
  HLO_FAMILY_CONTROL,
  HLO_FAMILY_TUPLE,
  HLO_FAMILY_DYNAMIC,
  HLO_FAMILY_QUANT,
  HLO_FAMILY_COLLECTIVE,
  HLO_FAMILY_HOST,
  HLO_FAMILY_CUSTOM,
  HLO_FAMILY_CHECK,
  HLO_FAMILY_CHLO,
} hlo_op_family;

enum {               // traits
  HLO_TRAIT_E = 1,   // elementwise
  HLO_TRAIT_C = 2,   // commutative
  HLO_TRAIT_S = 4,   // side effect
  HLO_TRAIT_B = 8,   // moves bits, no arithmetic
  HLO_TRAIT_D = 16,  // equal operands may give different results
  HLO_TRAIT_H = 32,  // exists only in HLO
};

typedef struct hlo_op_info {
  const char *stablehlo_name;
  const char *text_name;
  int16_t min_operands, max_operands, n_called;  // -1: any
  uint8_t traits;
  uint8_t family;
  uint8_t attrs;      // hlo_attr_list
  const char *types;  // type class column
} hlo_op_info;

extern const hlo_op_info hlo_op_table[HLO_OP_COUNT];
bool hlo_op_from_stablehlo(strv name, hlo_op *out);  // "stablehlo.add", "chlo.erf", "check.expect_eq"
// "; did you mean 'stablehlo.add'?", or nothing: the end of a message about an unknown name of an operation.
const char *hlo_op_suggestion(arena *a, strv name, bool text);
bool hlo_op_from_text(strv name, hlo_op *out);  // "get-tuple-element"
static inline bool hlo_op_has(hlo_op op, int trait) {
  return (hlo_op_table[op].traits & trait) != 0;
}

typedef struct hlo_instr hlo_instr;
typedef struct hlo_computation hlo_computation;
typedef struct hlo_module hlo_module;

typedef struct hlo_use {
  hlo_instr *user;
  int32_t operand;  // user->operands[operand] is the used instruction
} hlo_use;

struct hlo_instr {
  hlo_op op;
  int32_t id;  // unique in the module, below module->next_id; never reused: index of side arrays
  strv name;   // unique in the module; without '%'
  const hlo_shape *shape;
  hlo_instr **operands;  // change through hlo_instr_set_operand and friends only
  int32_t *use_slots;    // operands[k]->uses[use_slots[k]] is the entry of operand k
  int32_t n_operands, cap_operands;
  int32_t n_uses, cap_uses;
  hlo_use *uses;             // one entry for each operand slot that refers to this instruction; order unspecified
  hlo_computation **called;  // while: condition, body; select_and_scatter: select, scatter; ...
  int32_t n_called;
  void *attrs;  // hlo_attrs_<list>; NULL if the list is `none`
  const loc *loc;
  hlo_computation *parent;
  hlo_instr *prev, *next;
  int64_t scratch;  // free for the running pass; garbage before and after it
};

struct hlo_computation {
  hlo_module *module;
  strv name;  // unique in the module
  int32_t id;
  hlo_instr *first, *last;  // list, in execution order
  hlo_instr **params;       // parameter instructions by number
  int32_t n_params, cap_params;
  hlo_instr *root;  // its value is the computation's; NULL only while being built
};

// Entry-level facts about main's arguments and results.
typedef struct hlo_alias {
  int32_t result;  // leaf index of the root's shape
  int32_t param;   // parameter number: donated, may be overwritten by this result
} hlo_alias;

struct hlo_module {
  arena *arena;
  strv name;
  hlo_shape_table *shapes;
  hlo_computation **computations;  // callees before callers once verified
  int32_t n_computations, cap_computations;
  hlo_computation *entry;
  int32_t next_id, next_computation_id;
  strmap names;        // used names of instructions and computations
  hlo_alias *aliases;  // donations that main's attributes ask for
  int32_t n_aliases;
  bool *param_donated;               // per entry parameter, NULL: none (jax.buffer_donor, tf.aliasing_output)
  int32_t n_replicas, n_partitions;  // 1 unless the module says otherwise
  bool sharded;                      // main's arguments or results have shardings: whole arrays, not parts of processes
  strv frontend_attributes;          // as HLO text has them, as an MLIR dictionary: the meshes of marks
  strv source;                       // text the module was read from, for carets; may be empty
};

// --- modules and computations --------------------------------------------------------------------

hlo_module *hlo_module_create(arena *a, strv name);                 // the module lives in `a` and never frees it
hlo_computation *hlo_computation_create(hlo_module *m, strv name);  // name made unique
void hlo_computation_remove(hlo_computation *c);                    // nobody may call it any more
// Removes parameter n, which has no uses; those above it get the next lower number. Callers' operands are the caller's.
void hlo_computation_remove_parameter(hlo_computation *c, int n);
hlo_computation *hlo_module_find(const hlo_module *m, strv name);  // computation by name, or NULL
// Deep copy into `a`, literals and locations too; ids are compacted. NULL if there is no memory for the literals.
hlo_module *hlo_module_clone(const hlo_module *m, arena *a);
// A copy of `c` (and of what it calls, once each) in module `into`, which may be c's own (then attributes are shared).
// NULL if there is no memory for the literals.
hlo_computation *hlo_computation_clone(const hlo_computation *c, hlo_module *into);
// Equal in everything that the text form shows: computations and instructions in order, names, shapes, operands,
// callees, attributes, aliases (not ids, not locations). If not, *why (may be NULL) is a static string that says what
// differs.
bool hlo_module_equal(const hlo_module *a, const hlo_module *b, const char **why);
// Is c nothing but root = op(param0, param1) (either order reported by *swapped)? For reduce bodies.
bool hlo_computation_is_binary(const hlo_computation *c, hlo_op *out_op, bool *out_swapped);

// --- instructions --------------------------------------------------------------------------------

// Raw creation: appended at the end of c (or before `before` if not NULL); arrays are copied; attrs is taken as it is.
// No checks: use builder.h, which infers the shape, unless the shape is known. name may be empty.
hlo_instr *hlo_instr_create(hlo_computation *c, hlo_instr *before, hlo_op op, const hlo_shape *shape, int n_operands,
                            hlo_instr *const *operands, int n_called, hlo_computation *const *called, void *attrs,
                            const loc *l, strv name);
void hlo_instr_set_operand(hlo_instr *i, int n, hlo_instr *value);
void hlo_instr_add_operand(hlo_instr *i, hlo_instr *value);
void hlo_instr_remove_operand(hlo_instr *i, int n);
// All uses of `old` (other than in `replacement` itself), and old's role as root, go to `replacement`. Shapes must be
// equal unless allowed by the caller's later fix-up.
void hlo_instr_replace_uses(hlo_instr *old, hlo_instr *replacement);
void hlo_instr_remove(hlo_instr *i);                            // no uses left, not the root; its operands lose a use
void hlo_instr_move_before(hlo_instr *i, hlo_instr *position);  // same computation; NULL: to the end
// Same op, attrs (shared), called computations; other operands; in computation c before `before`.
hlo_instr *hlo_instr_clone(const hlo_instr *i, hlo_computation *c, hlo_instr *before, hlo_instr *const *operands);
bool hlo_instr_has_side_effect(const hlo_instr *i);  // of its own or in what it calls; custom calls by attribute

#define HLO_ATTRS(instr, list) ((hlo_attrs_##list *)(instr)->attrs)
#define HLO_FOR_EACH(instr, computation) for (hlo_instr *instr = (computation)->first; instr; instr = instr->next)
// Safe when the body removes `instr`.
#define HLO_FOR_EACH_SAFE(instr, computation)                                                      \
  for (hlo_instr *instr = (computation)->first, *instr##_next = instr ? instr->next : NULL; instr; \
       instr = instr##_next, instr##_next = instr ? instr->next : NULL)

static inline const hlo_literal *hlo_constant_value(const hlo_instr *i) {
  return HLO_ATTRS(i, constant)->value;
}
static inline bool hlo_is_constant(const hlo_instr *i) {
  return i->op == HLO_OP_CONSTANT;
}

// --- text ----------------------------------------------------------------------------------------

typedef struct hlo_print_options {
  bool locations;         // metadata={source_file=... source_line=...}
  int64_t literal_limit;  // 0: whole literals (round trip exact); n: shorten those of more elements
} hlo_print_options;

// XLA's HLO text syntax. With default options (NULL) hlo_parse gives the same module back.
void hlo_print_module(strbuf *out, const hlo_module *m, const hlo_print_options *options);
void hlo_print_computation(strbuf *out, const hlo_computation *c, const hlo_print_options *options);
void hlo_print_instr(strbuf *out, const hlo_instr *i, const hlo_print_options *options);
// Parses HLO text (also XLA's own dumps: layouts, metadata, sharding, frontend_attributes, backend_config accepted).
// Names, arity, literals and required attributes are checked, calls are acyclic; the rest is hlo_verify's. Locations
// are metadata's, else places in the text. An operation that we do not have is refused by name: UNIMPLEMENTED if
// nothing else is wrong. text must outlive the module (module->source).
LEMNOS_NODISCARD lemnos_status hlo_parse(arena *a, strv file_name, strv text, diag_sink *sink, hlo_module **out);

// --- checking ------------------------------------------------------------------------------------

// Structure (lists, uses, ids, order, closedness) and every op's constraints from the specification. Reports all
// failures, each citing the spec's label ("dot_general_c12"), at the instruction's location.
LEMNOS_NODISCARD lemnos_status hlo_verify(const hlo_module *m, diag_sink *sink);

#endif
