// SPDX-License-Identifier: Apache-2.0
// Private to the bytecode reader (bytecode*.c): its state, cursors over the file, and what its parts offer each other.
//
// The reader indexes the sections, then decodes attributes and types on demand and the operations in order. Failure is
// sticky: the first bc_fail records the message with its byte offset, and every later read gives zeros, so that
// straight-line decoding needs no checks except where a pointer is followed or a loop is bounded.
// Attributes and types refer to each other by index in any order. They are decoded without recursion: a decoder that
// needs an entry which is not there yet gets NULL (bc_reader.missing counts those), the entry goes on a work stack, and
// the decoder runs again later. See bc_resolve in bytecode_table.c.
#ifndef FRONTEND_BYTECODE_H
#define FRONTEND_BYTECODE_H

#include "frontend/mlir.h"

enum {
  BC_MAX_VERSION = 6,
  BC_SECTION_STRING = 0,
  BC_SECTION_DIALECT,
  BC_SECTION_ATTR_TYPE,
  BC_SECTION_ATTR_TYPE_OFFSET,
  BC_SECTION_IR,
  BC_SECTION_RESOURCE,
  BC_SECTION_RESOURCE_OFFSET,
  BC_SECTION_DIALECT_VERSIONS,
  BC_SECTION_PROPERTIES,
  BC_N_SECTIONS,

  BC_MAX_DEPTH = 128,         // nesting of attributes and types
  BC_MAX_LOC_DEPTH = 4096,    // longer call stacks are cut
  BC_MAX_LOC_SIZE = 1 << 20,  // locations that unfold to more than this are dropped
  BC_MAX_SIZE = 1 << 26,      // attributes and types that unfold to more nodes than this are refused
  BC_MAX_REGION_DEPTH = 200,
};

typedef enum bc_dialect_kind { BC_OTHER, BC_BUILTIN, BC_VHLO, BC_SDY, BC_CHLO, BC_STABLEHLO } bc_dialect_kind;

// A part of the file; positions are absolute offsets, so that alignment is the file's.
typedef struct bc_cursor {
  size_t pos, end;
} bc_cursor;

typedef struct bc_dialect {
  strv name;
  bc_dialect_kind kind;
} bc_dialect;

// What an attribute of a VHLO operation becomes; the letters of vhlo_tables.def.
typedef struct vhlo_op_info {
  const char *name, *target;
  uint32_t introduced, last;
  const char *struct_attr, *struct_mnemonic;
  const char *attrs;
} vhlo_op_info;

typedef struct bc_op_name {
  strv name;
  bool registered;
  bc_dialect_kind dialect;
  const vhlo_op_info *vhlo;  // NULL if none of that name is known
} bc_op_name;

typedef struct bc_resource {
  strv key;
  uint8_t kind;  // 0 blob, 1 bool, 2 string
  size_t pos, size;
} bc_resource;

typedef enum bc_state { BC_NEW, BC_ACTIVE, BC_DONE } bc_state;

// One attribute or type. `value` is a mlir_attr or a mlir_type.
typedef struct bc_entry {
  uint32_t dialect;
  bool custom;
  uint8_t state;
  uint32_t depth, weight;  // height of the tree below, and its unfolded size
  size_t pos, size;
  const void *value;
} bc_entry;

typedef struct bc_reader {
  arena *arena;    // the module's
  arena *scratch;  // the tables here
  strv file_name;
  const uint8_t *data;
  size_t size;
  diag_sink *sink;
  bool failed;
  lemnos_status_code code;
  char *message;

  uint64_t version;
  strv producer;
  uint32_t vhlo_version;  // 0xMMmmpp of a portable artifact, else 0
  bool has_section[BC_N_SECTIONS];
  bc_cursor sections[BC_N_SECTIONS];
  strv *strings;
  uint32_t n_strings;
  bc_dialect *dialects;
  uint32_t n_dialects;
  VEC(bc_op_name) op_names;
  bc_cursor *props;
  uint32_t n_props;
  VEC(bc_resource) resources;
  bc_entry *entries;  // attributes, then types
  uint32_t n_attrs, n_types;

  // Resolution of entries.
  VEC(uint32_t) stack;
  int missing;
  uint32_t cur_depth, cur_weight;

  size_t text_bytes;  // of sdy attributes so far, to bound it
  struct mlir_type_table *types;
} bc_reader;

// --- bytecode_reader.c: errors and primitives ----------------------------------------------------

// Records the first error, at byte `pos`. Always returns false.
bool bc_fail(bc_reader *r, size_t pos, const char *format, ...) LEMNOS_PRINTF(3, 4);
bool bc_unimplemented(bc_reader *r, size_t pos, const char *format, ...) LEMNOS_PRINTF(3, 4);
uint8_t bc_byte(bc_reader *r, bc_cursor *c);
uint64_t bc_varint(bc_reader *r, bc_cursor *c);
int64_t bc_svarint(bc_reader *r, bc_cursor *c);
uint64_t bc_flagged(bc_reader *r, bc_cursor *c, bool *out_flag);
// A varint below `limit`, else an error about `what`.
uint32_t bc_index(bc_reader *r, bc_cursor *c, uint64_t limit, const char *what);
// A list's length: at most one element per byte left.
uint32_t bc_count(bc_reader *r, bc_cursor *c);
strv bc_string(bc_reader *r, bc_cursor *c);
const uint8_t *bc_bytes(bc_reader *r, bc_cursor *c, size_t n);  // NULL on failure
bool bc_align(bc_reader *r, bc_cursor *c, uint64_t alignment);
bool bc_section(bc_reader *r, bc_cursor *c, int *out_id, bc_cursor *out_body);
// The low 64 bits of an APInt of `width` bits, zero-extended.
uint64_t bc_apint(bc_reader *r, bc_cursor *c, int width);
static inline size_t bc_left(const bc_cursor *c) {
  return c->end - c->pos;
}
// " (written for StableHLO 2.0.0, newest known is 1.20.0)" or "": for messages about unknown things.
const char *bc_version_note(bc_reader *r);

// --- bytecode_table.c: the attribute and type tables ---------------------------------------------

bool bc_read_tables(bc_reader *r);
// For decoders: read a reference; NULL if it is not decoded yet (then r->missing is not 0) or on failure.
const mlir_attr *bc_attr_ref(bc_reader *r, bc_cursor *c);
const mlir_attr *bc_opt_attr_ref(bc_reader *r, bc_cursor *c);  // NULL also if absent
const mlir_type *bc_type_ref(bc_reader *r, bc_cursor *c);
const mlir_attr **bc_attr_list(bc_reader *r, bc_cursor *c, int32_t *out_n);  // never NULL
const mlir_type **bc_type_list(bc_reader *r, bc_cursor *c, int32_t *out_n);
int64_t *bc_svarint_list(bc_reader *r, bc_cursor *c, int32_t *out_n);
static inline bool bc_stop(const bc_reader *r) {
  return r->failed || r->missing > 0;
}
// For everyone else: decode now; NULL on failure.
const mlir_attr *bc_get_attr(bc_reader *r, uint64_t index, size_t pos);
const mlir_type *bc_get_type(bc_reader *r, uint64_t index, size_t pos);

// Constructors.
mlir_attr *bc_new(bc_reader *r, mlir_attr_kind kind);
const mlir_attr *bc_new_string(bc_reader *r, mlir_attr_kind kind, strv s);
const mlir_attr *bc_new_integer(bc_reader *r, const mlir_type *type, uint64_t bits);  // i1 gives a BOOL
const mlir_attr *bc_new_i64(bc_reader *r, int64_t value);
const mlir_attr *bc_new_bool(bc_reader *r, bool value);
const mlir_attr *bc_new_float(bc_reader *r, const mlir_type *type, uint64_t bits, size_t pos);
const mlir_attr *bc_new_i64_array(bc_reader *r, const int64_t *values, int32_t n);
const mlir_attr *bc_new_enum(bc_reader *r, strv dialect, const char *mnemonic, const char *keyword);
// A DIALECT attribute of dialect stablehlo with room for n entries.
mlir_attr *bc_new_struct(bc_reader *r, const char *mnemonic, int n);
void bc_put(mlir_attr *a, const char *name, const mlir_attr *value);  // appends an entry
const mlir_type *bc_simple_type(bc_reader *r, mlir_type_kind kind);
const mlir_type *bc_int_type(bc_reader *r, int width, mlir_signedness s);
const mlir_type *bc_float_type(bc_reader *r, strv name);
const mlir_type *bc_opaque_type(bc_reader *r, strv text);
int bc_float_width(strv name);  // in bits, 0 if it is no float type's name
// A dense attribute of tensor type `type` from its payload at pos; NULL on failure.
const mlir_attr *bc_new_dense(bc_reader *r, const mlir_type *type, size_t pos, size_t size);

// --- decoders: the value of one entry, NULL if something is missing or wrong ---------------------

const mlir_attr *bc_builtin_attr(bc_reader *r, bc_cursor *c);  // bytecode_builtin.c
const mlir_type *bc_builtin_type(bc_reader *r, bc_cursor *c);
// Parts of the encoding that dialects share.
const mlir_attr *bc_read_array(bc_reader *r, bc_cursor *c);
const mlir_attr *bc_read_dict(bc_reader *r, bc_cursor *c);
const mlir_attr *bc_read_number(bc_reader *r, bc_cursor *c, bool is_float);
const mlir_attr *bc_read_dense(bc_reader *r, bc_cursor *c);
const mlir_type *bc_read_shaped_type(bc_reader *r, bc_cursor *c, mlir_type_kind kind, const mlir_attr *encoding);
const mlir_type *bc_read_list_type(bc_reader *r, bc_cursor *c, mlir_type_kind kind);
const mlir_type *bc_read_function_type(bc_reader *r, bc_cursor *c);
const mlir_type *bc_read_element_type(bc_reader *r, bc_cursor *c, mlir_type_kind kind);
const mlir_attr *bc_asm_attr(bc_reader *r, strv text);  // text form
const mlir_type *bc_asm_type(bc_reader *r, strv text);
const mlir_attr *bc_vhlo_attr(bc_reader *r, bc_cursor *c);  // bytecode_vhlo.c
const mlir_type *bc_vhlo_type(bc_reader *r, bc_cursor *c);
const mlir_attr *bc_stablehlo_attr(bc_reader *r, bc_cursor *c);                                  // bytecode_stablehlo.c
const mlir_attr *bc_stablehlo_attr_body(bc_reader *r, bc_cursor *c, uint64_t code, size_t pos);  // behind the code
const mlir_type *bc_stablehlo_type(bc_reader *r, bc_cursor *c);
const mlir_attr *bc_chlo_attr(bc_reader *r, bc_cursor *c);
const mlir_attr *bc_sdy_attr(bc_reader *r, bc_cursor *c);  // bytecode_sdy.c

// Enumerations by number, shared by VHLO and native StableHLO; NULL if there is none of that number.
typedef enum bc_enum {
  BC_ENUM_COMPARISON_DIRECTION,
  BC_ENUM_COMPARISON_TYPE,
  BC_ENUM_API_VERSION,
  BC_ENUM_FFT_TYPE,
  BC_ENUM_PRECISION,
  BC_ENUM_RNG_ALGORITHM,
  BC_ENUM_RNG_DISTRIBUTION,
  BC_ENUM_TRANSPOSE,
  BC_ENUM_RESULT_ACCURACY_MODE,
} bc_enum;
const mlir_attr *bc_read_enum(bc_reader *r, bc_cursor *c, bc_enum which, strv dialect);

// --- bytecode_ir.c, bytecode_upgrade.c -----------------------------------------------------------

bool bc_read_ir(bc_reader *r, mlir_module *m);
const vhlo_op_info *vhlo_op_find(strv name);
// The VHLO attributes `in` of one operation under StableHLO's names and forms, defaults dropped; *out is the arena's.
bool bc_upgrade_attrs(bc_reader *r, const vhlo_op_info *info, const mlir_named_attr *in, int n_in, size_t pos,
                      mlir_named_attr **out, int *out_n);
// Attribute names of a known operation outside VHLO in the order of its property record, marked as foreign_ops.def
// says; NULL if the operation is not known.
const char *bc_foreign_properties(strv name);

#endif
