// SPDX-License-Identifier: Apache-2.0
// Attributes as HLO text: the op's descriptor table is walked, one print function for each kind.
#include <ctype.h>
#include <string.h>

#include "hlo/text_internal.h"

void hlo_text_print_string(strbuf *out, strv s) {
  strbuf_append_char(out, '"');
  for (size_t i = 0; i < s.len; i++) {
    unsigned char c = (unsigned char)s.data[i];
    if (c == '"' || c == '\\')
      strbuf_printf(out, "\\%c", c);
    else if (c == '\n')
      strbuf_append_cstr(out, "\\n");
    else if (c == '\t')
      strbuf_append_cstr(out, "\\t");
    else if (c == '\r')
      strbuf_append_cstr(out, "\\r");
    else if (c < 32 || c >= 127)
      strbuf_printf(out, "\\%03o", c);
    else
      strbuf_append_char(out, (char)c);
  }
  strbuf_append_char(out, '"');
}

// --- enumerations --------------------------------------------------------------------------------

static const char *const fusion_kinds[] = {"kLoop", "kInput", "kOutput", "kInPlace"};
_Static_assert(HLO_FUSION_KIND_LOOP == 0 && HLO_FUSION_KIND_IN_PLACE == 3, "fusion_kinds follows enums.def");

// XLA writes some in lower case, some with a prefix.
static const char *enum_prefix(hlo_attr_kind kind) {
  return kind == HLO_ATTR_KIND_rng_distribution || kind == HLO_ATTR_KIND_rng_algorithm ? "rng_" : "";
}

static bool is_lower_case(hlo_attr_kind kind) {
  return kind == HLO_ATTR_KIND_rng_distribution || kind == HLO_ATTR_KIND_rng_algorithm ||
         kind == HLO_ATTR_KIND_precision;
}

void hlo_text_print_enum(strbuf *out, hlo_attr_kind kind, int value) {
  const char *name = hlo_enum_name(kind, value);
  if (!name) {
    strbuf_printf(out, "?%d", value);
  } else if (kind == HLO_ATTR_KIND_fusion_kind) {
    strbuf_append_cstr(out, fusion_kinds[value]);
  } else {
    strbuf_append_cstr(out, enum_prefix(kind));
    for (; *name; name++) strbuf_append_char(out, is_lower_case(kind) ? (char)tolower(*name) : *name);
  }
}

bool hlo_text_parse_enum(hlo_attr_kind kind, strv text, int *out) {
  if (kind == HLO_ATTR_KIND_fusion_kind) {
    for (int i = 0; i < 4; i++)
      if (strv_eq_cstr(text, fusion_kinds[i])) return *out = i, true;
    return false;
  }
  strv prefix = strv_from_cstr(enum_prefix(kind));
  if (strv_starts_with(text, prefix)) text = strv_drop(text, prefix.len);
  char upper[32];
  if (text.len >= sizeof upper) return false;
  for (size_t i = 0; i < text.len; i++) upper[i] = (char)toupper((unsigned char)text.data[i]);
  return hlo_enum_parse(kind, (strv){upper, text.len}, out);
}

// --- one function for each kind ------------------------------------------------------------------

static void key(strbuf *out, const char *name) {
  strbuf_printf(out, ", %s=", name);
}

static void print_ints(strbuf *out, hlo_i64s l) {
  strbuf_append_char(out, '{');
  for (int i = 0; i < l.n; i++) strbuf_printf(out, "%s%lld", i ? "," : "", (long long)l.data[i]);
  strbuf_append_char(out, '}');
}

static void print_named_ints(strbuf *out, const char *name, hlo_i64s l, bool always) {
  if (!l.n && !always) return;
  key(out, name);
  print_ints(out, l);
}

static int64_t window_field(const hlo_window_dim *d, int field) {
  switch (field) {
    case 0: return d->size;
    case 1: return d->stride;
    case 2: return d->base_dilation;
    case 3: return d->window_dilation;
    default: return d->reversal;
  }
}

static void print_window_field(strbuf *out, hlo_window w, const char *name, int field, int64_t normal) {
  bool any = false;
  for (int i = 0; i < w.n; i++) any |= window_field(&w.dims[i], field) != normal;
  if (!any) return;
  strbuf_append_cstr(out, name);
  for (int i = 0; i < w.n; i++) strbuf_printf(out, "%s%lld", i ? "x" : "", (long long)window_field(&w.dims[i], field));
}

static void print_window(strbuf *out, hlo_window w) {
  strbuf_append_char(out, '{');
  print_window_field(out, w, "size=", 0, INT64_MIN);  // always
  print_window_field(out, w, " stride=", 1, 1);
  bool padded = false;
  for (int i = 0; i < w.n; i++) padded |= w.dims[i].pad_low || w.dims[i].pad_high;
  if (padded) {
    strbuf_append_cstr(out, " pad=");
    for (int i = 0; i < w.n; i++)
      strbuf_printf(out, "%s%lld_%lld", i ? "x" : "", (long long)w.dims[i].pad_low, (long long)w.dims[i].pad_high);
  }
  print_window_field(out, w, " lhs_dilate=", 2, 1);
  print_window_field(out, w, " rhs_dilate=", 3, 1);
  print_window_field(out, w, " rhs_reversal=", 4, 0);
  strbuf_append_char(out, '}');
}

static void print_padding(strbuf *out, hlo_padding p) {
  if (!p.n) strbuf_append_cstr(out, "{}");
  for (int i = 0; i < p.n; i++) {
    strbuf_printf(out, "%s%lld_%lld", i ? "x" : "", (long long)p.dims[i].low, (long long)p.dims[i].high);
    if (p.dims[i].interior) strbuf_printf(out, "_%lld", (long long)p.dims[i].interior);
  }
}

static void print_slice(strbuf *out, hlo_slice s) {
  strbuf_append_char(out, '{');
  for (int i = 0; i < s.n; i++) {
    strbuf_printf(out, "%s[%lld:%lld", i ? ", " : "", (long long)s.start[i], (long long)s.limit[i]);
    if (s.stride[i] != 1) strbuf_printf(out, ":%lld", (long long)s.stride[i]);
    strbuf_append_char(out, ']');
  }
  strbuf_append_char(out, '}');
}

static void print_dot_dnums(strbuf *out, const hlo_dot_dnums *d) {
  print_named_ints(out, "lhs_batch_dims", d->lhs_batch, false);
  print_named_ints(out, "lhs_contracting_dims", d->lhs_contracting, true);
  print_named_ints(out, "rhs_batch_dims", d->rhs_batch, false);
  print_named_ints(out, "rhs_contracting_dims", d->rhs_contracting, true);
}

static void print_gather_dnums(strbuf *out, const hlo_gather_dnums *d) {
  print_named_ints(out, "offset_dims", d->offset_dims, true);
  print_named_ints(out, "collapsed_slice_dims", d->collapsed_slice_dims, true);
  print_named_ints(out, "start_index_map", d->start_index_map, true);
  print_named_ints(out, "operand_batching_dims", d->operand_batching_dims, false);
  print_named_ints(out, "start_indices_batching_dims", d->start_indices_batching_dims, false);
  strbuf_printf(out, ", index_vector_dim=%lld", (long long)d->index_vector_dim);
}

static void print_scatter_dnums(strbuf *out, const hlo_scatter_dnums *d) {
  print_named_ints(out, "update_window_dims", d->update_window_dims, true);
  print_named_ints(out, "inserted_window_dims", d->inserted_window_dims, true);
  print_named_ints(out, "scatter_dims_to_operand_dims", d->scatter_dims_to_operand_dims, true);
  print_named_ints(out, "input_batching_dims", d->input_batching_dims, false);
  print_named_ints(out, "scatter_indices_batching_dims", d->scatter_indices_batching_dims, false);
  strbuf_printf(out, ", index_vector_dim=%lld", (long long)d->index_vector_dim);
}

// One letter or digit for each dimension; '?' where (in an invalid module) nothing stands.
static void print_labels(strbuf *out, int64_t a, char a_label, int64_t b, char b_label, hlo_i64s spatial) {
  for (int64_t d = 0; d < spatial.n + 2; d++) {
    char c = d == a ? a_label : d == b ? b_label : '?';
    for (int i = 0; i < spatial.n && i < 36; i++)
      if (spatial.data[i] == d) c = (char)(i < 10 ? '0' + i : 'A' + i - 10);
    strbuf_append_char(out, c);
  }
}

static void print_conv_dnums(strbuf *out, const hlo_conv_dnums *d) {
  print_labels(out, d->input_batch, 'b', d->input_feature, 'f', d->input_spatial);
  strbuf_append_char(out, '_');
  print_labels(out, d->kernel_input_feature, 'i', d->kernel_output_feature, 'o', d->kernel_spatial);
  strbuf_append_cstr(out, "->");
  print_labels(out, d->output_batch, 'b', d->output_feature, 'f', d->output_spatial);
}

static void print_precisions(strbuf *out, hlo_precisions p) {
  strbuf_append_char(out, '{');
  for (int i = 0; i < p.n; i++) {
    if (i) strbuf_append_char(out, ',');
    hlo_text_print_enum(out, HLO_ATTR_KIND_precision, p.data[i]);
  }
  strbuf_append_char(out, '}');
}

// Rows without their -1 padding, unless the number of columns could not be told from what is left.
static void print_groups(strbuf *out, hlo_groups g) {
  int longest = 0;
  for (int r = 0; r < g.rows; r++) {
    int n = g.cols;
    while (n && g.data[r * g.cols + n - 1] == -1) n--;
    if (n > longest) longest = n;
  }
  strbuf_append_char(out, '{');
  for (int r = 0; r < g.rows; r++) {
    const int64_t *row = g.data + (int64_t)r * g.cols;
    int n = g.cols;
    while (longest == g.cols && n && row[n - 1] == -1) n--;
    if (r) strbuf_append_char(out, ',');
    print_ints(out, (hlo_i64s){row, n});
  }
  strbuf_append_char(out, '}');
}

static void print_pairs(strbuf *out, hlo_pairs p) {
  strbuf_append_char(out, '{');
  for (int i = 0; i < p.n; i++) {
    if (i) strbuf_append_char(out, ',');
    print_ints(out, (hlo_i64s){p.data + 2 * i, 2});
  }
  strbuf_append_char(out, '}');
}

static void print_dict(strbuf *out, hlo_dict d) {
  strbuf_append_char(out, '{');
  for (int i = 0; i < d.n; i++) {
    if (i) strbuf_append_cstr(out, ", ");
    hlo_text_print_string(out, d.entries[i].name);
    strbuf_append_cstr(out, d.entries[i].is_string ? "=" : "=mlir");
    hlo_text_print_string(out, d.entries[i].value);
  }
  strbuf_append_char(out, '}');
}

static void print_aliasing(strbuf *out, hlo_i64s l) {
  strbuf_append_char(out, '{');
  for (int i = 0; i + 2 < l.n; i += 3) {
    if (i) strbuf_append_cstr(out, ", ");
    print_ints(out, (hlo_i64s){l.data + i, l.data[i] >= 0});
    strbuf_printf(out, ": (%lld, ", (long long)l.data[i + 1]);
    print_ints(out, (hlo_i64s){l.data + i + 2, l.data[i + 2] >= 0});
    strbuf_append_char(out, ')');
  }
  strbuf_append_char(out, '}');
}

static void print_value(strbuf *out, const hlo_attr_desc *d, const void *field) {
  switch (d->kind) {
    case HLO_ATTR_KIND_i64:
      if (!strcmp(d->text_key, "dimensions"))  // one number here, a list in XLA's text
        print_ints(out, (hlo_i64s){field, 1});
      else
        strbuf_printf(out, "%lld", (long long)*(const int64_t *)field);
      break;
    case HLO_ATTR_KIND_i64s:
      if (!strcmp(d->text_key, "output_to_operand_aliasing"))
        print_aliasing(out, *(const hlo_i64s *)field);
      else
        print_ints(out, *(const hlo_i64s *)field);
      break;
    case HLO_ATTR_KIND_f64: hlo_element_print(out, HLO_F64, field, 0); break;
    case HLO_ATTR_KIND_flag: strbuf_append_cstr(out, *(const bool *)field ? "true" : "false"); break;
    case HLO_ATTR_KIND_string: hlo_text_print_string(out, *(const strv *)field); break;
    case HLO_ATTR_KIND_window: print_window(out, *(const hlo_window *)field); break;
    case HLO_ATTR_KIND_padding: print_padding(out, *(const hlo_padding *)field); break;
    case HLO_ATTR_KIND_slice: print_slice(out, *(const hlo_slice *)field); break;
    case HLO_ATTR_KIND_conv_dnums: print_conv_dnums(out, field); break;
    case HLO_ATTR_KIND_precisions: print_precisions(out, *(const hlo_precisions *)field); break;
    case HLO_ATTR_KIND_groups: print_groups(out, *(const hlo_groups *)field); break;
    case HLO_ATTR_KIND_pairs: print_pairs(out, *(const hlo_pairs *)field); break;
    case HLO_ATTR_KIND_dict: print_dict(out, *(const hlo_dict *)field); break;
    case HLO_ATTR_KIND_literal: {
      const hlo_literal *l = *(const hlo_literal *const *)field;
      hlo_shape_print(out, l->shape);
      strbuf_append_char(out, ' ');
      hlo_literal_print(out, l, 0);
      break;
    }
#define CASE(kind_) \
  case HLO_ATTR_KIND_##kind_: hlo_text_print_enum(out, d->kind, (int)*(const hlo_attr_##kind_ *)field); break;
      HLO_ENUMS(CASE)
#undef CASE
    case HLO_ATTR_KIND_dot_dnums:
    case HLO_ATTR_KIND_gather_dnums:
    case HLO_ATTR_KIND_scatter_dnums:
    case HLO_ATTR_KIND_COUNT: break;  // several keys: print_one
  }
}

static bool is_default(const hlo_attr_desc *d, const void *field) {
  switch (d->kind) {
    case HLO_ATTR_KIND_i64: return *(const int64_t *)field == d->default_value;
    case HLO_ATTR_KIND_flag: return *(const bool *)field == (d->default_value != 0);
    case HLO_ATTR_KIND_f64: {
      double normal = (double)d->default_value;
      return !memcmp(field, &normal, sizeof normal);
    }
    case HLO_ATTR_KIND_string: return !((const strv *)field)->len;
    case HLO_ATTR_KIND_i64s: return !((const hlo_i64s *)field)->n;
    case HLO_ATTR_KIND_precisions: return !((const hlo_precisions *)field)->n;
    case HLO_ATTR_KIND_pairs: return !((const hlo_pairs *)field)->n;
    case HLO_ATTR_KIND_groups: return !((const hlo_groups *)field)->rows;
    case HLO_ATTR_KIND_dict: return !((const hlo_dict *)field)->n;
#define CASE(kind_) \
  case HLO_ATTR_KIND_##kind_: return (int64_t) * (const hlo_attr_##kind_ *)field == d->default_value;
      HLO_ENUMS(CASE)
#undef CASE
    default: return false;
  }
}

static void print_one(strbuf *out, const hlo_attr_desc *d, const void *field) {
  switch (d->kind) {
    case HLO_ATTR_KIND_dot_dnums: print_dot_dnums(out, field); return;
    case HLO_ATTR_KIND_gather_dnums: print_gather_dnums(out, field); return;
    case HLO_ATTR_KIND_scatter_dnums: print_scatter_dnums(out, field); return;
    default: break;
  }
  if (!d->text_key[0]) return;  // stands between the parentheses
  if (!d->required && is_default(d, field)) return;
  key(out, d->text_key);
  print_value(out, d, field);
}

void hlo_text_print_attrs(strbuf *out, const hlo_instr *i) {
  const hlo_attr_list_info *info = &hlo_attr_list_table[hlo_op_table[i->op].attrs];
  for (int k = 0; i->attrs && k < info->n; k++)
    print_one(out, &info->descs[k], (const char *)i->attrs + info->descs[k].offset);
}
