// SPDX-License-Identifier: Apache-2.0
// VHLO attributes and types, turned into the builtin and StableHLO ones that they stand for while they are decoded.
// What an attribute becomes can depend on the operation that has it (a tensor or a list of numbers, a string or a
// symbol): that is bytecode_upgrade.c's part.
#include <string.h>

#include "frontend/bytecode.h"

// --- attributes ----------------------------------------------------------------------------------

// Codes 22 to 25: meshes as replica groups. A string in place of the mesh is a symbol.
static const mlir_attr *mesh_attr(bc_reader *r, bc_cursor *c, uint64_t code) {
  static const char *const mnemonics[] = {"axis_ref", "replica_group_mesh_axes", "mesh_axis", "mesh"};
  mlir_attr *a = bc_new_struct(r, mnemonics[code - 22], 2);
  const mlir_attr *m = NULL;
  switch (code) {
    case 22:
      bc_put(a, "name", bc_attr_ref(r, c));
      if (bc_varint(r, c)) bc_put(a, "sub_axis_info", bc_attr_ref(r, c));
      break;
    case 23:
      m = bc_attr_ref(r, c);
      if (m && m->kind == MLIR_ATTR_STRING) m = bc_new_string(r, MLIR_ATTR_SYMBOL, m->string);
      bc_put(a, "mesh", m);
      bc_put(a, "axes", bc_attr_ref(r, c));
      break;
    case 24:
      bc_put(a, "name", bc_attr_ref(r, c));
      bc_put(a, "size", bc_new_i64(r, bc_svarint(r, c)));
      break;
    default:
      bc_put(a, "axes", bc_attr_ref(r, c));
      m = bc_opt_attr_ref(r, c);
      if (m) bc_put(a, "device_ids", m);
      break;
  }
  return a;
}

const mlir_attr *bc_vhlo_attr(bc_reader *r, bc_cursor *c) {
  // Those that native StableHLO encodes in the same way, by its codes.
  static const uint8_t native[] = {[3] = 2,   [4] = 3,   [7] = 6,   [10] = 14, [11] = 8,  [12] = 9,
                                   [13] = 10, [16] = 12, [18] = 13, [19] = 16, [20] = 17, [21] = 19};
  size_t pos = c->pos;
  uint64_t code = bc_varint(r, c);
  if (r->failed) return NULL;
  if (code < sizeof native && native[code]) return bc_stablehlo_attr_body(r, c, native[code], pos);
  switch (code) {
    case 1: return bc_read_array(r, c);
    case 2: return bc_new_bool(r, bc_index(r, c, 2, "truth value"));
    case 5: return bc_read_enum(r, c, BC_ENUM_API_VERSION, STRV("stablehlo"));
    case 6: return bc_read_dict(r, c);
    case 8:
    case 9: return bc_read_number(r, c, code == 8);
    case 14: return bc_new_string(r, MLIR_ATTR_STRING, bc_string(r, c));
    case 15: return bc_read_dense(r, c);
    case 17: {
      mlir_attr *a = bc_new(r, MLIR_ATTR_TYPE);
      a->type = bc_type_ref(r, c);
      return a;
    }
    case 22:
    case 23:
    case 24:
    case 25: return mesh_attr(r, c, code);
    default:
      bc_unimplemented(r, pos, "VHLO attribute code %llu is not known%s", (unsigned long long)code, bc_version_note(r));
      return NULL;
  }
}

// --- types ---------------------------------------------------------------------------------------

static double read_f64(bc_reader *r, bc_cursor *c) {
  uint64_t bits = bc_apint(r, c, 64);
  double v;
  memcpy(&v, &bits, 8);
  return v;
}

static const mlir_type *quantized_type(bc_reader *r, bc_cursor *c, bool per_axis) {
  mlir_quant q = {.axis = -1, .n_scales = 1};
  uint64_t flags = bc_varint(r, c);
  q.storage = bc_type_ref(r, c);
  q.expressed = bc_type_ref(r, c);
  double scale = 0;
  int64_t zero_point = 0;
  double *scales = &scale;
  const int64_t *zero_points = &zero_point;
  if (!per_axis) {
    scale = read_f64(r, c);
    zero_point = bc_svarint(r, c);
  } else {
    q.axis = (int32_t)bc_index(r, c, INT32_MAX, "quantized dimension");
  }
  q.storage_min = bc_svarint(r, c);
  q.storage_max = bc_svarint(r, c);
  if (per_axis) {
    int32_t n_zero_points = 0;
    q.n_scales = (int32_t)bc_count(r, c);
    scales = ARENA_ARRAY(r->scratch, double, q.n_scales);
    for (int32_t i = 0; i < q.n_scales && !r->failed; i++) scales[i] = read_f64(r, c);
    zero_points = bc_svarint_list(r, c, &n_zero_points);
    if (!r->failed && n_zero_points != q.n_scales)
      return bc_fail(r, c->pos, "%d scales but %d zero points", q.n_scales, n_zero_points), NULL;
  }
  if (bc_stop(r)) return NULL;
  if (q.storage->kind != MLIR_TYPE_INTEGER || q.expressed->kind != MLIR_TYPE_FLOAT)
    return bc_fail(r, c->pos, "bad storage or expressed type of a quantized type"), NULL;
  // Whether the storage is signed stands in a flag of its own: the type is signless in either case.
  q.storage = bc_int_type(r, q.storage->width, flags & 1 ? MLIR_SIGNLESS : MLIR_UNSIGNED);
  q.scales = scales;
  q.zero_points = zero_points;
  mlir_type t = {.kind = MLIR_TYPE_QUANTIZED, .quant = &q};
  return mlir_type_unique(r->types, &t);
}

// Types without fields: a float's name, or the width of an integer (negative: unsigned).
static const struct {
  int16_t code, width;
  const char *name;
} leaf_types[] = {
    {0, 1, NULL},        {2, 0, "bf16"},      {3, 0, "f16"},         {4, 0, "f32"},         {5, 0, "f64"},
    {6, 0, "f8E4M3FN"},  {7, 0, "f8E5M2"},    {10, 4, NULL},         {11, 8, NULL},         {12, 16, NULL},
    {13, 32, NULL},      {14, 64, NULL},      {15, -4, NULL},        {16, -8, NULL},        {17, -16, NULL},
    {18, -32, NULL},     {19, -64, NULL},     {27, 0, "f8E4M3FNUZ"}, {28, 0, "f8E5M2FNUZ"}, {29, 0, "f8E4M3B11FNUZ"},
    {31, 2, NULL},       {32, -2, NULL},      {34, 0, "tf32"},       {35, 0, "f8E4M3"},     {36, 0, "f8E3M4"},
    {37, 0, "f4E2M1FN"}, {38, 0, "f6E2M3FN"}, {39, 0, "f6E3M2FN"},   {40, 0, "f8E8M0FNU"},
};

const mlir_type *bc_vhlo_type(bc_reader *r, bc_cursor *c) {
  size_t pos = c->pos;
  uint64_t code = bc_varint(r, c);
  if (r->failed) return NULL;
  for (size_t i = 0; i < sizeof leaf_types / sizeof *leaf_types; i++) {
    if ((uint64_t)leaf_types[i].code != code) continue;
    if (leaf_types[i].name) return bc_float_type(r, strv_from_cstr(leaf_types[i].name));
    int width = leaf_types[i].width;
    return bc_int_type(r, width < 0 ? -width : width, width < 0 ? MLIR_UNSIGNED : MLIR_SIGNLESS);
  }
  switch (code) {
    case 1:
    case 25: return bc_read_element_type(r, c, code == 1 ? MLIR_TYPE_COMPLEX : MLIR_TYPE_UNRANKED_TENSOR);
    case 8: return bc_read_function_type(r, c);
    case 9: return bc_simple_type(r, MLIR_TYPE_INDEX);
    case 20: return bc_read_shaped_type(r, c, MLIR_TYPE_TENSOR, NULL);
    case 21: {
      const mlir_attr *encoding = bc_attr_ref(r, c);
      return bc_read_shaped_type(r, c, MLIR_TYPE_TENSOR, encoding);
    }
    case 22: return bc_simple_type(r, MLIR_TYPE_TOKEN);
    case 23: return bc_read_list_type(r, c, MLIR_TYPE_TUPLE);
    case 24:
    case 30: return quantized_type(r, c, code == 30);
    case 26: return bc_opaque_type(r, STRV("!shape.witness"));
    case 33: return bc_simple_type(r, MLIR_TYPE_NONE);
    case 41: return bc_read_shaped_type(r, c, MLIR_TYPE_MEMREF, NULL);
    case 42: return bc_read_list_type(r, c, MLIR_TYPE_FUTURE);
    default:
      bc_unimplemented(r, pos, "VHLO type code %llu is not known%s", (unsigned long long)code, bc_version_note(r));
      return NULL;
  }
}
