// SPDX-License-Identifier: Apache-2.0
// Native attributes and types of StableHLO and CHLO (programs that were not serialized through VHLO), and the
// enumerations, which VHLO numbers in the same way.
#include "frontend/bytecode.h"

// --- enumerations --------------------------------------------------------------------------------

enum { MAX_ENUM = 6 };

static const struct {
  const char *mnemonic;
  const char *keywords[MAX_ENUM];
} enums[] = {
    [BC_ENUM_COMPARISON_DIRECTION] = {"comparison_direction", {"EQ", "NE", "GE", "GT", "LE", "LT"}},
    [BC_ENUM_COMPARISON_TYPE] = {"comparison_type", {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}},
    [BC_ENUM_API_VERSION] = {"custom_call_api_version",
                             {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
                              "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"}},
    [BC_ENUM_FFT_TYPE] = {"fft_type", {"FFT", "IFFT", "RFFT", "IRFFT"}},
    [BC_ENUM_PRECISION] = {"precision", {"DEFAULT", "HIGH", "HIGHEST"}},
    [BC_ENUM_RNG_ALGORITHM] = {"rng_algorithm", {"DEFAULT", "THREE_FRY", "PHILOX"}},
    [BC_ENUM_RNG_DISTRIBUTION] = {"rng_distribution", {NULL, "UNIFORM", "NORMAL"}},
    [BC_ENUM_TRANSPOSE] = {"transpose", {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}},
    [BC_ENUM_RESULT_ACCURACY_MODE] = {"result_accuracy_mode", {"DEFAULT", "HIGHEST", "TOLERANCE"}},
};

const mlir_attr *bc_read_enum(bc_reader *r, bc_cursor *c, bc_enum which, strv dialect) {
  size_t pos = c->pos;
  uint64_t v = bc_varint(r, c);
  if (r->failed) return NULL;
  if (v >= MAX_ENUM || !enums[which].keywords[v]) {
    bc_unimplemented(r, pos, "value %llu of enumeration '%s' is not known%s", (unsigned long long)v,
                     enums[which].mnemonic, bc_version_note(r));
    return NULL;
  }
  // The API version is an i32 number in StableHLO, without an attribute of its own.
  if (which == BC_ENUM_API_VERSION) return bc_new_integer(r, bc_int_type(r, 32, MLIR_SIGNLESS), v);
  return bc_new_enum(r, dialect, enums[which].mnemonic, enums[which].keywords[v]);
}

// --- structs -------------------------------------------------------------------------------------

// Fields in the order of the encoding: 'n' for a number, 'N' for a list.
static const mlir_attr *read_struct(bc_reader *r, bc_cursor *c, const char *mnemonic, const char *kinds,
                                    const char *const *names) {
  mlir_attr *a = bc_new_struct(r, mnemonic, 12);
  for (int i = 0; kinds[i] && !r->failed; i++) {
    bool is_list = kinds[i] == 'N';
    int32_t n = 0;
    int64_t v = 0;
    const int64_t *list = is_list ? bc_svarint_list(r, c, &n) : NULL;
    if (!is_list) v = bc_svarint(r, c);
    if (r->failed) return NULL;
    bc_put(a, names[i], is_list ? bc_new_i64_array(r, list, n) : bc_new_i64(r, v));
  }
  return a;
}

static const mlir_attr *dot_algorithm(bc_reader *r, bc_cursor *c) {
  static const char *const type_names[] = {"lhs_precision_type", "rhs_precision_type", "accumulation_type"};
  static const char *const int_names[] = {"lhs_component_count", "rhs_component_count", "num_primitive_operations"};
  mlir_attr *a = bc_new_struct(r, "dot_algorithm", 7);
  for (int i = 0; i < 3; i++) {
    mlir_attr *t = bc_new(r, MLIR_ATTR_TYPE);
    t->type = bc_type_ref(r, c);
    bc_put(a, type_names[i], t);
  }
  for (int i = 0; i < 3; i++) bc_put(a, int_names[i], bc_new_i64(r, bc_svarint(r, c)));
  bc_put(a, "allow_imprecise_accumulation", bc_new_bool(r, bc_byte(r, c)));
  return a;
}

static const mlir_attr *result_accuracy(bc_reader *r, bc_cursor *c) {
  const mlir_type *f64 = bc_float_type(r, STRV("f64"));
  mlir_attr *a = bc_new_struct(r, "result_accuracy", 4);
  bc_put(a, "atol", bc_new_float(r, f64, bc_apint(r, c, 64), c->pos));
  bc_put(a, "rtol", bc_new_float(r, f64, bc_apint(r, c, 64), c->pos));
  bc_put(a, "ulps", bc_new_i64(r, bc_svarint(r, c)));
  bc_put(a, "mode", bc_attr_ref(r, c));
  return a;
}

static const mlir_attr *named_part(bc_reader *r, bc_cursor *c, bool is_mesh_axis) {
  mlir_attr *a = bc_new_struct(r, is_mesh_axis ? "mesh_axis" : "axis_ref", 2);
  bc_put(a, "name", bc_new_string(r, MLIR_ATTR_STRING, bc_string(r, c)));
  if (is_mesh_axis)
    bc_put(a, "size", bc_new_i64(r, bc_svarint(r, c)));
  else if (bc_byte(r, c))
    bc_put(a, "sub_axis_info", bc_attr_ref(r, c));
  return a;
}

static const mlir_attr *mesh(bc_reader *r, bc_cursor *c) {
  mlir_attr *a = bc_new_struct(r, "mesh", 2);
  bc_put(a, "axes", bc_attr_ref(r, c));
  if (bc_byte(r, c)) bc_put(a, "device_ids", bc_attr_ref(r, c));
  return a;
}

static const mlir_attr *replica_group_mesh_axes(bc_reader *r, bc_cursor *c) {
  mlir_attr *a = bc_new_struct(r, "replica_group_mesh_axes", 2), *axes = bc_new(r, MLIR_ATTR_ARRAY);
  bc_put(a, "mesh", bc_attr_ref(r, c));
  axes->items = bc_attr_list(r, c, &axes->n_items);
  bc_put(a, "axes", axes);
  return a;
}

static const char *const channel_names[] = {"handle", "type"};
static const char *const conv_names[] = {
    "input_batch_dimension",          "input_feature_dimension",         "input_spatial_dimensions",
    "kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions",
    "output_batch_dimension",         "output_feature_dimension",        "output_spatial_dimensions"};
static const char *const dot_names[] = {"lhs_batching_dimensions", "rhs_batching_dimensions",
                                        "lhs_contracting_dimensions", "rhs_contracting_dimensions"};
static const char *const gather_names[] = {"offset_dims",           "collapsed_slice_dims",
                                           "operand_batching_dims", "start_indices_batching_dims",
                                           "start_index_map",       "index_vector_dim"};
static const char *const scatter_names[] = {"update_window_dims",           "inserted_window_dims",
                                            "input_batching_dims",          "scatter_indices_batching_dims",
                                            "scatter_dims_to_operand_dims", "index_vector_dim"};
static const char *const alias_names[] = {"output_tuple_indices", "operand_index", "operand_tuple_indices"};
static const char *const bounds_names[] = {"bounds"};
static const char *const sub_axis_names[] = {"pre_size", "size"};

const mlir_attr *bc_stablehlo_attr_body(bc_reader *r, bc_cursor *c, uint64_t code, size_t pos) {
  static const int8_t enum_of[] = {[2] = BC_ENUM_COMPARISON_DIRECTION + 1,
                                   [3] = BC_ENUM_COMPARISON_TYPE + 1,
                                   [6] = BC_ENUM_FFT_TYPE + 1,
                                   [8] = BC_ENUM_PRECISION + 1,
                                   [9] = BC_ENUM_RNG_ALGORITHM + 1,
                                   [10] = BC_ENUM_RNG_DISTRIBUTION + 1,
                                   [12] = BC_ENUM_TRANSPOSE + 1,
                                   [16] = BC_ENUM_RESULT_ACCURACY_MODE + 1};
  if (code < sizeof enum_of && enum_of[code])
    return bc_read_enum(r, c, (bc_enum)(enum_of[code] - 1), STRV("stablehlo"));
  switch (code) {
    case 1: return read_struct(r, c, "channel_handle", "nn", channel_names);
    case 4: return read_struct(r, c, "conv", "nnNnnNnnN", conv_names);
    case 5: return read_struct(r, c, "dot", "NNNN", dot_names);
    case 7: return read_struct(r, c, "gather", "NNNNNn", gather_names);
    case 11: return read_struct(r, c, "scatter", "NNNNNn", scatter_names);
    case 13: return read_struct(r, c, "bounds", "N", bounds_names);
    case 14: return read_struct(r, c, "output_operand_alias", "NnN", alias_names);
    case 15: return dot_algorithm(r, c);
    case 17: return result_accuracy(r, c);
    case 18: return replica_group_mesh_axes(r, c);
    case 19: return read_struct(r, c, "sub_axis_info", "nn", sub_axis_names);
    case 20:
    case 21: return named_part(r, c, code == 21);
    case 22: return mesh(r, c);
    default:
      bc_unimplemented(r, pos, "stablehlo attribute code %llu is not known", (unsigned long long)code);
      return NULL;
  }
}

const mlir_attr *bc_stablehlo_attr(bc_reader *r, bc_cursor *c) {
  size_t pos = c->pos;
  uint64_t code = bc_varint(r, c);
  return r->failed ? NULL : bc_stablehlo_attr_body(r, c, code, pos);
}

const mlir_type *bc_stablehlo_type(bc_reader *r, bc_cursor *c) {
  size_t pos = c->pos;
  uint64_t code = bc_varint(r, c);
  if (r->failed) return NULL;
  if (code == 0) return bc_simple_type(r, MLIR_TYPE_TOKEN);
  if (code == 1) {
    mlir_type t = {.kind = MLIR_TYPE_FUTURE};
    t.types = bc_type_list(r, c, &t.n_types);
    return bc_stop(r) ? NULL : mlir_type_unique(r->types, &t);
  }
  bc_unimplemented(r, pos, "stablehlo type code %llu is not known", (unsigned long long)code);
  return NULL;
}

const mlir_attr *bc_chlo_attr(bc_reader *r, bc_cursor *c) {
  size_t pos = c->pos;
  uint64_t code = bc_varint(r, c);
  if (r->failed) return NULL;
  if (code < 2)
    return bc_read_enum(r, c, code == 0 ? BC_ENUM_COMPARISON_DIRECTION : BC_ENUM_COMPARISON_TYPE, STRV("chlo"));
  bc_unimplemented(r, pos, "chlo attribute code %llu is not known", (unsigned long long)code);
  return NULL;
}
