// SPDX-License-Identifier: Apache-2.0
// The table of default values, and the pass over a module that removes them.
#include "frontend/defaults.h"

#include <string.h>

typedef enum default_kind {
  IS_EMPTY,  // empty string, array, dictionary, dense
  IS_FALSE,
  IS_INT,       // a number equal to `value`
  IS_KEYWORD,   // an enumeration's `keyword`
  ALL_INT,      // a list or tensor of numbers, not empty, that all equal `value`
  ALL_KEYWORD,  // an array of enumerations that are all `keyword`
  ALL_EMPTY,    // an array whose items are all empty
} default_kind;

typedef struct default_row {
  const char *op, *attr;  // op without "stablehlo.", or the whole name if it has a dot
  default_kind kind;
  int64_t value;
  const char *keyword;
} default_row;

static const default_row rows[] = {
    {"all_gather", "use_global_device_ids", IS_FALSE, 0, NULL},
    {"all_reduce", "use_global_device_ids", IS_FALSE, 0, NULL},
    {"cholesky", "lower", IS_FALSE, 0, NULL},
    {"collective_broadcast", "has_dynamic_root", IS_FALSE, 0, NULL},
    {"collective_reduce", "has_dynamic_root", IS_FALSE, 0, NULL},
    {"collective_reduce", "use_global_device_ids", IS_FALSE, 0, NULL},
    {"compare", "compare_type", IS_KEYWORD, 0, "NOTYPE"},
    {"composite", "composite_attributes", IS_EMPTY, 0, NULL},
    {"composite", "version", IS_INT, 0, NULL},
    {"convolution", "lhs_dilation", ALL_INT, 1, NULL},
    {"convolution", "padding", ALL_INT, 0, NULL},
    {"convolution", "precision_config", ALL_KEYWORD, 0, "DEFAULT"},
    {"convolution", "rhs_dilation", ALL_INT, 1, NULL},
    {"convolution", "window_reversal", ALL_INT, 0, NULL},
    {"convolution", "window_strides", ALL_INT, 1, NULL},
    {"custom_call", "api_version", IS_INT, 1, NULL},
    {"custom_call", "backend_config", IS_EMPTY, 0, NULL},
    {"custom_call", "called_computations", IS_EMPTY, 0, NULL},
    {"custom_call", "has_side_effect", IS_FALSE, 0, NULL},
    {"custom_call", "operand_layouts", IS_EMPTY, 0, NULL},
    {"custom_call", "output_operand_aliases", IS_EMPTY, 0, NULL},
    {"custom_call", "result_layouts", IS_EMPTY, 0, NULL},
    {"custom_call", "result_tilings", IS_EMPTY, 0, NULL},
    {"dot", "precision_config", ALL_KEYWORD, 0, "DEFAULT"},
    {"dot_general", "precision_config", ALL_KEYWORD, 0, "DEFAULT"},
    {"dynamic_broadcast_in_dim", "known_expanding_dimensions", IS_EMPTY, 0, NULL},
    {"dynamic_broadcast_in_dim", "known_nonexpanding_dimensions", IS_EMPTY, 0, NULL},
    {"dynamic_conv", "lhs_dilation", ALL_INT, 1, NULL},
    {"dynamic_conv", "precision_config", ALL_KEYWORD, 0, "DEFAULT"},
    {"dynamic_conv", "rhs_dilation", ALL_INT, 1, NULL},
    {"dynamic_conv", "window_reversal", ALL_INT, 0, NULL},
    {"dynamic_conv", "window_strides", ALL_INT, 1, NULL},
    {"dynamic_gather", "indices_are_sorted", IS_FALSE, 0, NULL},
    {"gather", "indices_are_sorted", IS_FALSE, 0, NULL},
    {"func.func", "arg_attrs", ALL_EMPTY, 0, NULL},
    {"func.func", "res_attrs", ALL_EMPTY, 0, NULL},
    {"func.func", "sym_visibility", IS_EMPTY, 0, NULL},
    {"infeed", "infeed_config", IS_EMPTY, 0, NULL},
    {"infeed", "layout", IS_EMPTY, 0, NULL},
    {"outfeed", "outfeed_config", IS_EMPTY, 0, NULL},
    {"recv", "is_host_transfer", IS_FALSE, 0, NULL},
    {"recv", "source_target_pairs", IS_EMPTY, 0, NULL},
    {"reduce_scatter", "use_global_device_ids", IS_FALSE, 0, NULL},
    {"reduce_window", "base_dilations", ALL_INT, 1, NULL},
    {"reduce_window", "padding", ALL_INT, 0, NULL},
    {"reduce_window", "window_dilations", ALL_INT, 1, NULL},
    {"reduce_window", "window_strides", ALL_INT, 1, NULL},
    {"scatter", "indices_are_sorted", IS_FALSE, 0, NULL},
    {"scatter", "unique_indices", IS_FALSE, 0, NULL},
    {"select_and_scatter", "padding", ALL_INT, 0, NULL},
    {"select_and_scatter", "window_strides", ALL_INT, 1, NULL},
    {"send", "is_host_transfer", IS_FALSE, 0, NULL},
    {"send", "source_target_pairs", IS_EMPTY, 0, NULL},
    {"sort", "dimension", IS_INT, -1, NULL},
    {"sort", "is_stable", IS_FALSE, 0, NULL},
};

static bool is_empty(const mlir_attr *a) {
  switch (a->kind) {
    case MLIR_ATTR_STRING: return a->string.len == 0;
    case MLIR_ATTR_ARRAY: return a->n_items == 0;
    case MLIR_ATTR_DICT: return a->n_entries == 0;
    case MLIR_ATTR_DENSE:
    case MLIR_ATTR_DENSE_ARRAY: return a->data_size == 0;
    default: return false;
  }
}

// Elements of one or eight bytes (i1, i64): the only ones that such attributes have.
static bool all_int(const mlir_attr *a, int64_t value) {
  if (a->kind != MLIR_ATTR_DENSE && a->kind != MLIR_ATTR_DENSE_ARRAY) return false;
  const mlir_type *e = a->kind == MLIR_ATTR_DENSE ? a->type->element : a->type;
  if (!e || e->kind != MLIR_TYPE_INTEGER) return false;
  size_t size = e->width == 1 ? 1 : 8;
  // an empty list is kept, as StableHLO does
  if ((e->width != 1 && e->width != 64) || a->data_size == 0) return false;
  for (size_t i = 0; i + size <= a->data_size; i += size) {
    int64_t v = 0;
    memcpy(&v, (const char *)a->data + i, size);
    if (size == 1) v = v != 0;
    if (v != value) return false;
  }
  return true;
}

static bool all_items(const mlir_attr *a, const char *keyword) {
  if (a->kind != MLIR_ATTR_ARRAY) return false;
  for (int32_t i = 0; i < a->n_items; i++) {
    const mlir_attr *item = a->items[i];
    bool same = keyword ? item->kind == MLIR_ATTR_DIALECT && strv_eq_cstr(item->string, keyword) : is_empty(item);
    if (!same) return false;
  }
  return true;
}

static bool is_default_accuracy(const mlir_attr *a) {
  const mlir_attr *atol = mlir_attr_entry(a, "atol"), *rtol = mlir_attr_entry(a, "rtol");
  const mlir_attr *ulps = mlir_attr_entry(a, "ulps"), *mode = mlir_attr_entry(a, "mode");
  if (a->kind != MLIR_ATTR_DIALECT || !strv_eq_cstr(a->mnemonic, "result_accuracy")) return false;
  return (!atol || atol->real == 0) && (!rtol || rtol->real == 0) && (!ulps || ulps->integer == 0) &&
         (!mode || strv_eq_cstr(mode->string, "DEFAULT"));
}

static bool row_holds(const default_row *row, const mlir_attr *a) {
  switch (row->kind) {
    case IS_EMPTY: return is_empty(a);
    case IS_FALSE: return a->kind == MLIR_ATTR_BOOL && a->integer == 0;
    case IS_INT: return a->kind == MLIR_ATTR_INTEGER && a->integer == row->value;
    case IS_KEYWORD: return a->kind == MLIR_ATTR_DIALECT && strv_eq_cstr(a->string, row->keyword);
    case ALL_INT: return all_int(a, row->value);
    case ALL_KEYWORD: return all_items(a, row->keyword);
    case ALL_EMPTY: return all_items(a, NULL);
  }
  return false;
}

bool mlir_attr_is_default(strv op_name, strv name, const mlir_attr *value) {
  strv prefix = STRV("stablehlo.");
  strv op = strv_starts_with(op_name, prefix) ? strv_drop(op_name, prefix.len) : op_name;
  if (op.data != op_name.data && strv_eq_cstr(name, "result_accuracy")) return is_default_accuracy(value);
  // A channel handle with id 0 is none, except where it is required.
  if (strv_eq_cstr(name, "channel_handle") && op.data != op_name.data && !strv_eq_cstr(op, "send") &&
      !strv_eq_cstr(op, "recv")) {
    const mlir_attr *handle = mlir_attr_entry(value, "handle");
    return handle && handle->integer == 0;
  }
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strv_eq_cstr(op, rows[i].op) && strv_eq_cstr(name, rows[i].attr)) return row_holds(&rows[i], value);
  return false;
}

int mlir_attrs_drop_defaults(strv op_name, mlir_named_attr *attrs, int n) {
  bool layouts = false;  // one of the two layout lists says something: both stay
  for (int i = 0; i < n; i++)
    layouts |= (strv_eq_cstr(attrs[i].name, "operand_layouts") || strv_eq_cstr(attrs[i].name, "result_layouts")) &&
               !is_empty(attrs[i].value);
  int kept = 0;
  for (int i = 0; i < n; i++) {
    const mlir_named_attr at = attrs[i];
    bool is_layout = strv_eq_cstr(at.name, "operand_layouts") || strv_eq_cstr(at.name, "result_layouts");
    if (!(is_layout && layouts) && mlir_attr_is_default(op_name, at.name, at.value)) continue;
    attrs[kept++] = at;
  }
  return kept;
}

static void drop_in_op(mlir_op *op) {
  op->n_attrs = mlir_attrs_drop_defaults(op->name, op->attrs, op->n_attrs);
  for (int32_t i = 0; i < op->n_regions; i++)
    for (mlir_block *b = op->regions[i].first; b; b = b->next)
      for (mlir_op *o = b->first; o; o = o->next) drop_in_op(o);
}

void mlir_module_drop_defaults(mlir_module *m) {
  drop_in_op(m->op);
}
