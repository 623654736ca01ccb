// SPDX-License-Identifier: Apache-2.0
// A generic MLIR module in memory: what both readers (text, bytecode) make and what import (import.h) consumes.
//
// Operations are kept in generic form whatever syntax they were written in: name, operands, attributes under their ODS
// names (`broadcast_dimensions`, `comparison_direction`, ...), regions, result types. The bytecode reader translates
// VHLO to StableHLO names, attributes and types while reading, so a portable artifact and its text twin give equal
// modules. Types and attributes are immutable and arena-owned; types are uniqued within one module (equal types are
// equal pointers), attributes are not.
#ifndef FRONTEND_MLIR_H
#define FRONTEND_MLIR_H

#include "base/base.h"

typedef struct mlir_type mlir_type;
typedef struct mlir_attr mlir_attr;
typedef struct mlir_op mlir_op;
typedef struct mlir_block mlir_block;
typedef struct mlir_region mlir_region;

typedef enum mlir_type_kind {
  MLIR_TYPE_INTEGER,  // width, signedness
  MLIR_TYPE_INDEX,
  MLIR_TYPE_FLOAT,            // name: "f32", "bf16", "f8E4M3FN", "tf32", ...
  MLIR_TYPE_COMPLEX,          // element
  MLIR_TYPE_TENSOR,           // element, dims, encoding
  MLIR_TYPE_UNRANKED_TENSOR,  // element
  MLIR_TYPE_VECTOR,           // element, dims
  MLIR_TYPE_MEMREF,           // element, dims
  MLIR_TYPE_TUPLE,            // types
  MLIR_TYPE_FUNCTION,         // types = inputs then results; n_inputs
  MLIR_TYPE_TOKEN,            // !stablehlo.token
  MLIR_TYPE_FUTURE,           // !stablehlo.future<types>
  MLIR_TYPE_QUANTIZED,        // !quant.uniform<...>: quant
  MLIR_TYPE_NONE,
  MLIR_TYPE_OPAQUE,  // any other dialect type, name = its text ("!foo.bar<...>")
} mlir_type_kind;

typedef enum mlir_signedness { MLIR_SIGNLESS, MLIR_SIGNED, MLIR_UNSIGNED } mlir_signedness;

#define MLIR_DYNAMIC INT64_MIN  // a `?` dimension

typedef struct mlir_quant {
  const mlir_type *storage;    // integer type: i8 is signless (signed values), u8 is MLIR_UNSIGNED
  const mlir_type *expressed;  // float type
  int64_t storage_min, storage_max;
  int32_t axis;      // quantized dimension, -1 for per-tensor
  int32_t n_scales;  // 1 for per-tensor; product of block counts for sub-channel
  const double *scales;
  const int64_t *zero_points;
  int32_t n_block_dims;  // sub-channel: block sizes by axis (0 otherwise)
  const int32_t *block_axes;
  const int64_t *block_sizes;
} mlir_quant;

struct mlir_type {
  mlir_type_kind kind;
  int32_t width;
  mlir_signedness signedness;
  strv name;
  const mlir_type *element;
  int32_t rank;
  const int64_t *dims;        // MLIR_DYNAMIC for ?
  const mlir_attr *encoding;  // tensor encoding (#stablehlo.bounds<...>, sparsity), or NULL
  int32_t n_types, n_inputs;
  const mlir_type *const *types;
  const mlir_quant *quant;
};

typedef enum mlir_attr_kind {
  MLIR_ATTR_UNIT,
  MLIR_ATTR_BOOL,         // integer: 0, 1
  MLIR_ATTR_INTEGER,      // type, integer (two's complement; the low 64 bits)
  MLIR_ATTR_FLOAT,        // type, real (exact for f64 and narrower)
  MLIR_ATTR_STRING,       // string (unescaped; may hold NULs)
  MLIR_ATTR_TYPE,         // type
  MLIR_ATTR_ARRAY,        // items
  MLIR_ATTR_DICT,         // entries
  MLIR_ATTR_SYMBOL,       // string = root symbol without '@'; items = nested references (symbols)
  MLIR_ATTR_DENSE,        // dense<...>, dense_resource<...>, splat or not: type (tensor), data
  MLIR_ATTR_DENSE_ARRAY,  // array<i64: ...>: type = element type, data
  MLIR_ATTR_DIALECT,      // #stablehlo.dot<a = [..]>: dialect, mnemonic, entries. See below
  MLIR_ATTR_LOCATION,     // loc
  MLIR_ATTR_OPAQUE,       // anything else, string = its text
} mlir_attr_kind;

// MLIR_ATTR_DIALECT, canonical forms that both readers make for dialects stablehlo, chlo, check, vhlo:
// - enumerations: mnemonic = the enum ("comparison_direction", "comparison_type", "precision", "fft_type", "transpose",
//   "rng_distribution", "rng_algorithm", "result_accuracy_mode", "custom_call_api_version"...), string = the keyword
//   ("LT").
// - structs: mnemonic "dot", "gather", "scatter", "conv", "channel_handle", "output_operand_alias", "dot_algorithm",
//   "result_accuracy", "bounds" ("type_extensions" the same), "replica_group_mesh_axes"; entries by ODS parameter name.
//   Lists of integers are
//   MLIR_ATTR_DENSE_ARRAY of i64. conv's entries: input_batch_dimension, input_feature_dimension,
//   input_spatial_dimensions, kernel_input_feature_dimension, kernel_output_feature_dimension,
//   kernel_spatial_dimensions, output_batch_dimension, output_feature_dimension, output_spatial_dimensions.
//   bounds: one entry "bounds", MLIR_DYNAMIC for ?. Absent optional parameters have no entry; lists and numbers that
//   the text leaves out (gather, scatter) have an entry, empty or 0.
typedef struct mlir_named_attr {
  strv name;
  const mlir_attr *value;
} mlir_named_attr;

struct mlir_attr {
  mlir_attr_kind kind;
  const mlir_type *type;
  int64_t integer;
  double real;
  strv string;
  strv dialect, mnemonic;
  int32_t n_items;
  const mlir_attr *const *items;
  int32_t n_entries;
  const mlir_named_attr *entries;
  // Dense data: elements row-major, little-endian, unpacked: i1 takes one byte, 0 or 1; integers of 2 to 8 bits take
  // one byte each (sign- or zero-extended by signedness; signless as signed), i16.. their width, f6/f4 one byte,
  // complex two elements. A splat holds one element. A tensor of strings has string attributes in `items` instead. May
  // point into the input buffer: the caller keeps that alive.
  bool splat;
  const void *data;
  size_t data_size;
  const loc *loc;
};

typedef struct mlir_value {
  const mlir_type *type;
  mlir_op *op;        // defining operation, or NULL for a block argument
  mlir_block *block;  // for a block argument
  int32_t index;      // result or argument number
  strv name;          // without '%'; may be empty
  void *user;         // for whoever walks the module (import maps values here)
} mlir_value;

struct mlir_op {
  strv name;  // "stablehlo.add", "func.func", "builtin.module"
  const loc *loc;
  mlir_value **operands;
  int32_t n_operands;
  mlir_value *results;
  int32_t n_results;
  mlir_named_attr *attrs;  // inherent and discardable together
  int32_t n_attrs;
  mlir_region *regions;
  int32_t n_regions;
  mlir_block *parent;
  mlir_op *prev, *next;  // in parent
};

struct mlir_block {
  mlir_value *args;
  int32_t n_args;
  mlir_op *first, *last;
  mlir_region *parent;
  mlir_block *next;
};

struct mlir_region {
  mlir_block *first;  // NULL: empty region
  mlir_op *parent;
};

typedef struct mlir_module {
  arena *arena;  // owns everything
  mlir_op *op;   // builtin.module; its region 0 holds one block with the functions
  strv file_name;
  strv source;  // text, for carets; empty for bytecode
  struct mlir_type_table *types;
} mlir_module;

// --- construction (mlir.c), used by both readers -------------------------------------------------

struct mlir_type_table *mlir_type_table_create(arena *a);
const mlir_type *mlir_type_unique(struct mlir_type_table *t, const mlir_type *proto);  // copies proto's arrays
mlir_op *mlir_op_create(arena *a, strv name, const loc *l, int n_operands, int n_results, int n_attrs, int n_regions);
void mlir_block_append(mlir_block *b, mlir_op *op);
const mlir_attr *mlir_op_attr(const mlir_op *op, const char *name);  // NULL if absent
const mlir_attr *mlir_attr_entry(const mlir_attr *dict_or_dialect, const char *name);
void mlir_type_print(strbuf *out, const mlir_type *t);
void mlir_attr_print(strbuf *out, const mlir_attr *a);
// The module in MLIR's generic form, parseable by mlir_parse_text; with_locs adds locations.
void mlir_print(strbuf *out, const mlir_module *m, bool with_locs);
// Whether a name of an attribute or symbol needs no quotes (MLIR's bare-id).
bool mlir_is_bare_name(strv s);
// Structural equality, ignoring value names and locations; on difference *out_why tells where (arena of a).
bool mlir_equal(const mlir_module *a, const mlir_module *b, const char **out_why);

// --- readers -------------------------------------------------------------------------------------

// Parses MLIR text. `text` must outlive the module. file_name is for messages. All errors go to sink, with line and
// caret; returns INVALID_ARGUMENT if there was one. The module lives in `a`.
LEMNOS_NODISCARD lemnos_status mlir_parse_text(arena *a, strv file_name, strv text, diag_sink *sink,
                                               mlir_module **out_module);
// Reads MLIR bytecode: VHLO portable artifacts 0.9.0 and later, and plain MLIR bytecode of func/stablehlo/chlo where
// the encodings are known. Bytes must outlive the module (constants point into them).
LEMNOS_NODISCARD lemnos_status mlir_read_bytecode(arena *a, strv file_name, const void *data, size_t size,
                                                  diag_sink *sink, mlir_module **out_module);
bool mlir_is_bytecode(const void *data, size_t size);  // starts with 4D 4C EF 52

#endif
