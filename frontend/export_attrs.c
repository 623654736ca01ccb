// SPDX-License-Identifier: Apache-2.0
// Export: attribute structs back to StableHLO's attributes, driven by the descriptor tables as import_attrs.c is.
// Floats are written so that they read back to the same bits: decimal where finite, as hexadecimal bits otherwise.
#include <math.h>
#include <stdio.h>

#include "frontend/export_internal.h"
#include "frontend/mlir.h"

void export_key(strbuf *out, bool *first, const char *name) {
  strbuf_printf(out, "%s%s = ", *first ? "" : ", ", name);
  *first = false;
}

void export_string(strbuf *out, strv s) {
  strbuf_append_char(out, '"');
  for (size_t i = 0; i < s.len; i++) {
    unsigned char ch = (unsigned char)s.data[i];
    if (ch == '"' || ch == '\\')
      strbuf_printf(out, "\\%c", ch);
    else if (ch < 32 || ch == 127)
      strbuf_printf(out, "\\%02X", ch);
    else
      strbuf_append_char(out, (char)ch);
  }
  strbuf_append_char(out, '"');
}

// --- values --------------------------------------------------------------------------------------

static void put_bracketed(strbuf *out, hlo_i64s l) {
  strbuf_append_char(out, '[');
  for (int i = 0; i < l.n; i++) strbuf_printf(out, "%s%lld", i ? ", " : "", (long long)l.data[i]);
  strbuf_append_char(out, ']');
}

static void put_array(strbuf *out, const int64_t *data, int n) {
  strbuf_append_cstr(out, "array<i64");
  for (int i = 0; i < n; i++) strbuf_printf(out, "%s%lld", i ? ", " : ": ", (long long)data[i]);
  strbuf_append_char(out, '>');
}

static void put_matrix(strbuf *out, const int64_t *data, int rows, int cols) {
  strbuf_append_cstr(out, "dense<");
  if (rows && cols) strbuf_append_char(out, '[');
  for (int i = 0; i < rows && cols; i++) {
    strbuf_append_cstr(out, i ? ", " : "");
    put_bracketed(out, (hlo_i64s){data + i * cols, cols});
  }
  if (rows && cols) strbuf_append_char(out, ']');
  strbuf_printf(out, "> : tensor<%dx%dxi64>", rows, cols);
}

// A decimal float as MLIR wants it: with a point.
static void put_decimal(strbuf *out, const char *text) {
  bool point = strchr(text, '.') != NULL;
  for (; *text; text++) {
    if ((*text == 'e' || *text == 'E') && !point) strbuf_append_cstr(out, ".0"), point = true;
    strbuf_append_char(out, *text);
  }
  if (!point) strbuf_append_cstr(out, ".0");
}

static void put_f64(strbuf *out, double x) {
  char text[40];
  snprintf(text, sizeof text, "%.17g", x);
  put_decimal(out, text);
}

static void put_bits(strbuf *out, const void *element, int bytes) {
  strbuf_append_cstr(out, "0x");
  for (int i = bytes; i-- > 0;) strbuf_printf(out, "%02X", ((const unsigned char *)element)[i]);
}

static void put_real(strbuf *out, hlo_dtype t, const char *data, int part) {
  hlo_dtype real = hlo_dtype_real_part(t);
  int bytes = hlo_dtype_bytes(real);
  const char *p = data + part * bytes;
  if (!isfinite(hlo_element_get_f64(real, p, 0, 0))) {
    put_bits(out, p, bytes);
    return;
  }
  strbuf text = {0};
  hlo_element_print(&text, real, p, 0);
  put_decimal(out, text.data ? text.data : "0");
  strbuf_deinit(&text);
}

static void put_element(strbuf *out, hlo_dtype t, const char *data) {
  switch (hlo_dtype_cls(t)) {
    case HLO_CLASS_PRED: strbuf_append_cstr(out, *data ? "true" : "false"); return;
    case HLO_CLASS_FLOAT: put_real(out, t, data, 0); return;
    case HLO_CLASS_COMPLEX:
      strbuf_append_char(out, '(');
      put_real(out, t, data, 0);
      strbuf_append_cstr(out, ", ");
      put_real(out, t, data, 1);
      strbuf_append_char(out, ')');
      return;
    default:
      if (hlo_dtype_is_signed(t))
        strbuf_printf(out, "%lld", (long long)hlo_element_get_i64(t, data, 0));
      else
        strbuf_printf(out, "%llu", (unsigned long long)hlo_element_get_i64(t, data, 0));
  }
}

static void put_nested(strbuf *out, const hlo_shape *s, int dim, const char **data) {
  int bytes = hlo_dtype_bytes(s->dtype);
  if (dim == s->rank) {
    put_element(out, s->dtype, *data);
    *data += bytes;
    return;
  }
  strbuf_append_char(out, '[');
  for (int64_t i = 0; i < s->dims[dim]; i++) {
    if (i) strbuf_append_cstr(out, ", ");
    put_nested(out, s, dim + 1, data);
  }
  strbuf_append_char(out, ']');
}

static void put_literal_type(strbuf *out, const hlo_shape *s) {
  hlo_shape plain = *s;
  plain.quant = NULL;  // the value of a quantized constant has the storage type
  hlo_shape_print_stablehlo(out, &plain);
}

static void put_literal(strbuf *out, const hlo_literal *l) {
  const hlo_shape *s = l->shape;
  int64_t n = hlo_shape_elements(s);
  const char *data = l->data;
  bool whole_bytes = hlo_dtype_table[s->dtype].bits == 8 * hlo_dtype_bytes(s->dtype);
  strbuf_append_cstr(out, "dense<");
  if (n == 0) {
  } else if (l->splat) {
    put_element(out, s->dtype, data);
  } else if (n > 64 && whole_bytes) {
    strbuf_append_cstr(out, "\"0x");
    for (int64_t i = 0; i < n * hlo_dtype_bytes(s->dtype); i++) strbuf_printf(out, "%02X", (unsigned char)data[i]);
    strbuf_append_char(out, '"');
  } else {
    put_nested(out, s, 0, &data);
  }
  strbuf_append_cstr(out, "> : ");
  put_literal_type(out, s);
}

// --- structs -------------------------------------------------------------------------------------

static void struct_list(strbuf *out, bool *first, const char *name, hlo_i64s l) {
  if (!l.n) return;
  export_key(out, first, name);
  put_bracketed(out, l);
}

static void put_dot(strbuf *out, const hlo_dot_dnums *d) {
  bool first = true;
  strbuf_append_cstr(out, "#stablehlo.dot<");
  struct_list(out, &first, "lhs_batching_dimensions", d->lhs_batch);
  struct_list(out, &first, "rhs_batching_dimensions", d->rhs_batch);
  struct_list(out, &first, "lhs_contracting_dimensions", d->lhs_contracting);
  struct_list(out, &first, "rhs_contracting_dimensions", d->rhs_contracting);
  strbuf_append_char(out, '>');
}

static void put_conv_side(strbuf *out, int64_t a, char a_letter, int64_t b, char b_letter, hlo_i64s spatial) {
  strbuf_append_char(out, '[');
  for (int64_t i = 0; i < spatial.n + 2; i++) {
    if (i) strbuf_append_cstr(out, ", ");
    if (i == a)
      strbuf_append_char(out, a_letter);
    else if (i == b)
      strbuf_append_char(out, b_letter);
    else
      for (int k = 0; k < spatial.n; k++)
        if (spatial.data[k] == i) strbuf_printf(out, "%d", k);
  }
  strbuf_append_char(out, ']');
}

static void put_conv(strbuf *out, const hlo_conv_dnums *d) {
  strbuf_append_cstr(out, "#stablehlo.conv<");
  put_conv_side(out, d->input_batch, 'b', d->input_feature, 'f', d->input_spatial);
  strbuf_append_char(out, 'x');
  put_conv_side(out, d->kernel_input_feature, 'i', d->kernel_output_feature, 'o', d->kernel_spatial);
  strbuf_append_cstr(out, "->");
  put_conv_side(out, d->output_batch, 'b', d->output_feature, 'f', d->output_spatial);
  strbuf_append_char(out, '>');
}

static void put_gather(strbuf *out, const hlo_gather_dnums *d) {
  bool first = true;
  strbuf_append_cstr(out, "#stablehlo.gather<");
  struct_list(out, &first, "offset_dims", d->offset_dims);
  struct_list(out, &first, "collapsed_slice_dims", d->collapsed_slice_dims);
  struct_list(out, &first, "operand_batching_dims", d->operand_batching_dims);
  struct_list(out, &first, "start_indices_batching_dims", d->start_indices_batching_dims);
  struct_list(out, &first, "start_index_map", d->start_index_map);
  export_key(out, &first, "index_vector_dim");
  strbuf_printf(out, "%lld>", (long long)d->index_vector_dim);
}

static void put_scatter(strbuf *out, const hlo_scatter_dnums *d) {
  bool first = true;
  strbuf_append_cstr(out, "#stablehlo.scatter<");
  struct_list(out, &first, "update_window_dims", d->update_window_dims);
  struct_list(out, &first, "inserted_window_dims", d->inserted_window_dims);
  struct_list(out, &first, "input_batching_dims", d->input_batching_dims);
  struct_list(out, &first, "scatter_indices_batching_dims", d->scatter_indices_batching_dims);
  struct_list(out, &first, "scatter_dims_to_operand_dims", d->scatter_dims_to_operand_dims);
  export_key(out, &first, "index_vector_dim");
  strbuf_printf(out, "%lld>", (long long)d->index_vector_dim);
}

static void put_precisions(strbuf *out, const hlo_precisions *p) {
  strbuf_append_char(out, '[');
  for (int i = 0; i < p->n; i++)
    strbuf_printf(out, "%s#stablehlo<precision %s>", i ? ", " : "", hlo_enum_name(HLO_ATTR_KIND_precision, p->data[i]));
  strbuf_append_char(out, ']');
}

static void put_window(strbuf *out, bool *first, const hlo_window *w, bool conv, bool dynamic_padding, bool dilations) {
  static const char *const names[2][4] = {{"window_dimensions", "window_strides", "base_dilations", "window_dilations"},
                                          {"", "window_strides", "lhs_dilation", "rhs_dilation"}};
  for (int k = conv ? 1 : 0; k < (dilations ? 4 : 2); k++) {
    export_key(out, first, names[conv][k]);
    strbuf_append_cstr(out, "array<i64");
    for (int i = 0; i < w->n; i++) {
      const hlo_window_dim *d = &w->dims[i];
      int64_t x = k == 0 ? d->size : k == 1 ? d->stride : k == 2 ? d->base_dilation : d->window_dilation;
      strbuf_printf(out, "%s%lld", i ? ", " : ": ", (long long)x);
    }
    strbuf_append_char(out, '>');
  }
  if (conv) {
    export_key(out, first, "window_reversal");
    strbuf_append_cstr(out, "array<i1");
    for (int i = 0; i < w->n; i++) strbuf_printf(out, "%s%s", i ? ", " : ": ", w->dims[i].reversal ? "true" : "false");
    strbuf_append_char(out, '>');
  }
  if (dynamic_padding) return;
  export_key(out, first, "padding");
  strbuf_append_cstr(out, "dense<");
  for (int i = 0; i < w->n; i++)
    strbuf_printf(out, "%s[%lld, %lld]%s", i ? ", " : "[", (long long)w->dims[i].pad_low,
                  (long long)w->dims[i].pad_high, i + 1 == w->n ? "]" : "");
  strbuf_printf(out, "> : tensor<%dx2xi64>", w->n);
}

// --- one field by its kind -----------------------------------------------------------------------

static const char *int_type(const char *name) {
  if (!strcmp(name, "exponent_bits") || !strcmp(name, "mantissa_bits") || !strcmp(name, "version")) return "i32";
  if (!strcmp(name, "max_ulp_difference") || !strcmp(name, "min_ulp_difference")) return "ui64";
  return "i64";
}

// Optional here, mandatory in StableHLO.
static bool is_group_count(const hlo_attr_desc *d) {
  return !strcmp(d->field, "feature_group_count") || !strcmp(d->field, "batch_group_count");
}

static bool is_default(const hlo_attr_desc *d, const void *p) {
  if (d->required || is_group_count(d)) return false;
  switch (d->kind) {
    case HLO_ATTR_KIND_i64: return *(const int64_t *)p == d->default_value;
    case HLO_ATTR_KIND_flag: return *(const bool *)p == (d->default_value != 0);
    case HLO_ATTR_KIND_f64: return *(const double *)p == (double)d->default_value;
    case HLO_ATTR_KIND_string: return ((const strv *)p)->len == 0;
    case HLO_ATTR_KIND_i64s: return ((const hlo_i64s *)p)->n == 0;
    case HLO_ATTR_KIND_precisions: return ((const hlo_precisions *)p)->n == 0;
    case HLO_ATTR_KIND_pairs: return ((const hlo_pairs *)p)->n == 0;
    case HLO_ATTR_KIND_comparison_type: return *(const hlo_comparison_type *)p == HLO_COMPARISON_TYPE_NOTYPE;
    default: return false;
  }
}

static void put_field(strbuf *out, const hlo_attr_desc *d, const void *p, const char *dialect) {
  switch (d->kind) {
    case HLO_ATTR_KIND_i64:
      strbuf_printf(out, "%lld : %s", (long long)*(const int64_t *)p, int_type(d->stablehlo_name));
      break;
    case HLO_ATTR_KIND_i64s: put_array(out, ((const hlo_i64s *)p)->data, ((const hlo_i64s *)p)->n); break;
    case HLO_ATTR_KIND_f64:
      put_f64(out, *(const double *)p);
      strbuf_append_cstr(out, strcmp(d->stablehlo_name, "epsilon") ? " : f64" : " : f32");
      break;
    case HLO_ATTR_KIND_flag: strbuf_append_cstr(out, *(const bool *)p ? "true" : "false"); break;
    case HLO_ATTR_KIND_string: export_string(out, *(const strv *)p); break;
    case HLO_ATTR_KIND_dot_dnums: put_dot(out, p); break;
    case HLO_ATTR_KIND_conv_dnums: put_conv(out, p); break;
    case HLO_ATTR_KIND_gather_dnums: put_gather(out, p); break;
    case HLO_ATTR_KIND_scatter_dnums: put_scatter(out, p); break;
    case HLO_ATTR_KIND_precisions: put_precisions(out, p); break;
    case HLO_ATTR_KIND_groups: {
      const hlo_groups *g = p;
      put_matrix(out, g->data, g->rows, g->cols);
      break;
    }
    case HLO_ATTR_KIND_pairs: put_matrix(out, ((const hlo_pairs *)p)->data, ((const hlo_pairs *)p)->n, 2); break;
    case HLO_ATTR_KIND_literal: put_literal(out, *(const hlo_literal *const *)p); break;
#define ENUM_CASE(k)                                                                                 \
  case HLO_ATTR_KIND_##k:                                                                            \
    strbuf_printf(out, "#%s<" #k " %s>", dialect, hlo_enum_name(d->kind, (int)*(const hlo_##k *)p)); \
    break;
      HLO_ENUMS(ENUM_CASE)
#undef ENUM_CASE
    default: strbuf_append_cstr(out, "unit"); break;
  }
}

// --- fields that are several attributes ----------------------------------------------------------

static void put_ints_of(strbuf *out, bool *first, const char *name, const int64_t *data, int n) {
  export_key(out, first, name);
  put_array(out, data, n);
}

static void put_padding(strbuf *out, bool *first, const hlo_padding *p) {
  static const char *const names[3] = {"edge_padding_low", "edge_padding_high", "interior_padding"};
  for (int k = 0; k < 3; k++) {
    export_key(out, first, names[k]);
    strbuf_append_cstr(out, "array<i64");
    for (int i = 0; i < p->n; i++) {
      const hlo_padding_dim *d = &p->dims[i];
      strbuf_printf(out, "%s%lld", i ? ", " : ": ", (long long)(k == 0 ? d->low : k == 1 ? d->high : d->interior));
    }
    strbuf_append_char(out, '>');
  }
}

static void put_channel(strbuf *out, bool *first, int64_t id, int64_t type) {
  export_key(out, first, "channel_handle");
  strbuf_printf(out, "#stablehlo.channel_handle<handle = %lld, type = %lld>", (long long)id, (long long)type);
}

// Collectives have a channel only across devices.
static void put_group_channel(strbuf *out, bool *first, int64_t id, int64_t type) {
  if (id) put_channel(out, first, id, type);
}

static void put_custom_call(strbuf *out, bool *first, const hlo_instr *i) {
  const hlo_attrs_custom_call *a = HLO_ATTRS(i, custom_call);
  export_key(out, first, "api_version");
  strbuf_printf(out, "%lld : i32", (long long)a->api_version);
  if (a->operand_tuple_aliasing.n) {
    export_key(out, first, "output_operand_aliases");
    strbuf_append_char(out, '[');
    for (int k = 0; k + 2 < a->operand_tuple_aliasing.n; k += 3) {
      const int64_t *t = a->operand_tuple_aliasing.data + k;
      strbuf_printf(out, "%s#stablehlo.output_operand_alias<output_tuple_indices = [", k ? ", " : "");
      if (hlo_shape_is_tuple(i->shape)) strbuf_printf(out, "%lld", (long long)t[0]);
      strbuf_printf(out, "], operand_index = %lld, operand_tuple_indices = [", (long long)t[1]);
      if (t[2] >= 0) strbuf_printf(out, "%lld", (long long)t[2]);
      strbuf_append_cstr(out, "]>");
    }
    strbuf_append_char(out, ']');
  }
  for (int k = 0; k < a->attributes.n; k++) {
    const hlo_dict_entry *e = &a->attributes.entries[k];
    strbuf_append_cstr(out, *first ? "" : ", ");
    if (mlir_is_bare_name(e->name))
      strbuf_append(out, e->name);
    else
      export_string(out, e->name);
    strbuf_append_cstr(out, " = ");
    *first = false;
    if (e->is_string)
      export_string(out, e->value);
    else
      strbuf_append(out, e->value);
  }
}

static void put_ragged(strbuf *out, bool *first, const hlo_attrs_ragged_dot *a) {
  bool inner = true;
  export_key(out, first, "ragged_dot_dimension_numbers");
  strbuf_append_cstr(out, "#chlo.ragged_dot<");
  struct_list(out, &inner, "lhs_batching_dimensions", a->dnums.lhs_batch);
  struct_list(out, &inner, "rhs_batching_dimensions", a->dnums.rhs_batch);
  struct_list(out, &inner, "lhs_contracting_dimensions", a->dnums.lhs_contracting);
  struct_list(out, &inner, "rhs_contracting_dimensions", a->dnums.rhs_contracting);
  struct_list(out, &inner, "lhs_ragged_dimensions", a->lhs_ragged_dimensions);
  struct_list(out, &inner, "rhs_group_dimensions", a->rhs_group_dimensions);
  strbuf_append_char(out, '>');
}

static void put_special(strbuf *out, const hlo_instr *i, bool *first) {
  hlo_attr_list list = (hlo_attr_list)hlo_op_table[i->op].attrs;
  switch (list) {
    case HLO_ATTR_LIST_slice: {
      const hlo_slice *s = &HLO_ATTRS(i, slice)->slice;
      put_ints_of(out, first, "start_indices", s->start, s->n);
      put_ints_of(out, first, "limit_indices", s->limit, s->n);
      put_ints_of(out, first, "strides", s->stride, s->n);
      break;
    }
    case HLO_ATTR_LIST_pad: put_padding(out, first, &HLO_ATTRS(i, pad)->padding); break;
    case HLO_ATTR_LIST_reduce_window:
      put_window(out, first, &HLO_ATTRS(i, reduce_window)->window, false, false, true);
      break;
    case HLO_ATTR_LIST_select_and_scatter:
      put_window(out, first, &HLO_ATTRS(i, select_and_scatter)->window, false, false, false);
      break;
    case HLO_ATTR_LIST_convolution:
      put_window(out, first, &HLO_ATTRS(i, convolution)->window, true, i->op == HLO_OP_DYNAMIC_CONV, true);
      break;
    case HLO_ATTR_LIST_dot_general:
      if (!HLO_ATTRS(i, dot_general)->algorithm.len) break;
      export_key(out, first, "algorithm");
      strbuf_append(out, HLO_ATTRS(i, dot_general)->algorithm);
      break;
    case HLO_ATTR_LIST_ragged_dot: put_ragged(out, first, HLO_ATTRS(i, ragged_dot)); break;
    case HLO_ATTR_LIST_composite:
      if (!HLO_ATTRS(i, composite)->attributes.len) break;
      export_key(out, first, "composite_attributes");
      strbuf_append(out, HLO_ATTRS(i, composite)->attributes);
      break;
    case HLO_ATTR_LIST_custom_call: put_custom_call(out, first, i); break;
    case HLO_ATTR_LIST_send_recv:
      put_channel(out, first, HLO_ATTRS(i, send_recv)->channel_id, HLO_ATTRS(i, send_recv)->channel_type);
      break;
    case HLO_ATTR_LIST_all_gather: put_group_channel(out, first, HLO_ATTRS(i, all_gather)->channel_id, 1); break;
    case HLO_ATTR_LIST_all_reduce: put_group_channel(out, first, HLO_ATTRS(i, all_reduce)->channel_id, 1); break;
    case HLO_ATTR_LIST_reduce_scatter:
      put_group_channel(out, first, HLO_ATTRS(i, reduce_scatter)->channel_id, 1);
      break;
    case HLO_ATTR_LIST_all_to_all: put_group_channel(out, first, HLO_ATTRS(i, all_to_all)->channel_id, 1); break;
    case HLO_ATTR_LIST_collective_broadcast:
      put_group_channel(out, first, HLO_ATTRS(i, collective_broadcast)->channel_id, 1);
      break;
    case HLO_ATTR_LIST_collective_permute:
      put_group_channel(out, first, HLO_ATTRS(i, collective_permute)->channel_id, 1);
      break;
    case HLO_ATTR_LIST_scan: {
      long long carries = HLO_ATTRS(i, scan)->n_carries, inputs = i->n_operands - carries;
      export_key(out, first, "operandSegmentSizes");
      strbuf_printf(out, "array<i32: %lld, %lld>", inputs, carries);
      export_key(out, first, "resultSegmentSizes");
      strbuf_printf(out, "array<i32: %lld, %lld>", hlo_shape_leaves(i->shape) - carries, carries);
      break;
    }
    default: break;
  }
}

void export_attrs(strbuf *out, const hlo_instr *i, bool *first) {
  const hlo_attr_list_info *info = &hlo_attr_list_table[hlo_op_table[i->op].attrs];
  const char *dialect = strncmp(hlo_op_table[i->op].stablehlo_name, "chlo.", 5) ? "stablehlo" : "chlo";
  for (int k = 0; k < info->n; k++) {
    const hlo_attr_desc *d = &info->descs[k];
    const void *p = (const char *)i->attrs + d->offset;
    if (!d->stablehlo_name[0] || is_default(d, p)) continue;
    if (d->kind == HLO_ATTR_KIND_flag && !strcmp(d->field, "use_global_device_ids")) {
      strbuf_printf(out, "%suse_global_device_ids", *first ? "" : ", ");
      *first = false;
      continue;
    }
    export_key(out, first, d->stablehlo_name);
    put_field(out, d, p, dialect);
  }
  put_special(out, i, first);
}
