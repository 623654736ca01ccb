// SPDX-License-Identifier: Apache-2.0
// Attributes in HLO text. A key is looked up in the op's descriptor table, then among the keys that several-key kinds
// (dimension numbers) are spread over, then among those that name computations, then among XLA's keys that change
// nothing that we represent and are skipped; anything else is an error.
#include <stddef.h>
#include <string.h>

#include "hlo/text_internal.h"

// --- values that are one string of digits and letters --------------------------------------------

// One integer of "1_2x3": *s moves behind it.
static bool take_int(strv *s, int64_t *out) {
  size_t n = s->len && s->data[0] == '-' ? 1 : 0;
  while (n < s->len && s->data[n] >= '0' && s->data[n] <= '9') n++;
  if (!strv_parse_i64(strv_take(*s, n), out)) return false;
  *s = strv_drop(*s, n);
  return true;
}

static bool take_char(strv *s, char c) {
  if (!s->len || s->data[0] != c) return false;
  *s = strv_drop(*s, 1);
  return true;
}

static bool parse_window_field(hlo_parser *p, strv key, strv text, hlo_window_dim *dims, int *n) {
  strv rest = text;
  int i = 0;
  bool pad = strv_eq_cstr(key, "pad");
  do {
    int64_t low, high = 0;
    if (!take_int(&rest, &low) || (pad && (!take_char(&rest, '_') || !take_int(&rest, &high))))
      return hlo_parse_fail(p, text.data, "expected numbers like %s", pad ? "0_1x2_3" : "2x3");
    if (i == HLO_TEXT_MAX_RANK) return hlo_parse_fail(p, text.data, "more than %d dimensions", HLO_TEXT_MAX_RANK);
    hlo_window_dim *d = &dims[i++];
    if (strv_eq_cstr(key, "size"))
      d->size = low;
    else if (strv_eq_cstr(key, "stride"))
      d->stride = low;
    else if (pad)
      d->pad_low = low, d->pad_high = high;
    else if (strv_eq_cstr(key, "lhs_dilate"))
      d->base_dilation = low;
    else if (strv_eq_cstr(key, "rhs_dilate"))
      d->window_dilation = low;
    else if (strv_eq_cstr(key, "rhs_reversal"))
      d->reversal = low != 0;
    else
      return hlo_parse_fail(p, key.data, "a window has no '" STRV_FMT "'", STRV_ARG(key));
  } while (take_char(&rest, 'x'));
  if (rest.len) return hlo_parse_fail(p, rest.data, "expected 'x' or the end of these numbers");
  if (*n >= 0 && *n != i) return hlo_parse_fail(p, text.data, "%d numbers for a window of %d dimensions", i, *n);
  *n = i;
  return true;
}

static bool parse_window(hlo_parser *p, hlo_window *out) {
  hlo_window_dim dims[HLO_TEXT_MAX_RANK];
  for (int i = 0; i < HLO_TEXT_MAX_RANK; i++) dims[i] = (hlo_window_dim){1, 1, 0, 0, 1, 1, false};
  int n = -1;
  if (!hlo_parse_expect(p, '{', "before a window")) return false;
  while (!hlo_parse_accept(p, '}')) {
    strv key = hlo_parse_word(p);
    if (!hlo_parse_expect(p, '=', "in a window")) return false;
    if (!parse_window_field(p, key, hlo_parse_raw(p), dims, &n)) return false;
  }
  if (n < 0) n = 0;
  *out = (hlo_window){n ? arena_copy(p->arena, dims, sizeof *dims * (size_t)n) : NULL, n};
  return true;
}

static bool parse_padding(hlo_parser *p, hlo_padding *out) {
  if (hlo_parse_accept(p, '{')) return hlo_parse_expect(p, '}', "in an empty padding");
  strv text = hlo_parse_raw(p), rest = text;
  VEC(hlo_padding_dim) v = {0};
  bool ok = true;
  if (text.len) {
    do {
      hlo_padding_dim d = {0};
      ok = take_int(&rest, &d.low) && take_char(&rest, '_') && take_int(&rest, &d.high) &&
           (!take_char(&rest, '_') || take_int(&rest, &d.interior));
      vec_push(NULL, &v, d);
    } while (ok && take_char(&rest, 'x'));
  }
  ok = ok && !rest.len;
  if (ok) *out = (hlo_padding){v.len ? arena_copy(p->arena, v.data, sizeof *v.data * (size_t)v.len) : NULL, v.len};
  vec_deinit(&v);
  return ok ? true : hlo_parse_fail(p, text.data, "expected padding like 0_1x2_3_1 (low_high, or low_high_interior)");
}

static bool parse_slice(hlo_parser *p, hlo_slice *out) {
  VEC(int64_t) v = {0};  // start, limit, stride of each dimension
  bool ok = hlo_parse_expect(p, '{', "before the ranges of a slice");
  if (ok && !hlo_parse_accept(p, '}')) {
    do {
      int64_t x[3] = {0, 0, 1};
      ok = hlo_parse_expect(p, '[', "before a range") && hlo_parse_int(p, &x[0]) &&
           hlo_parse_expect(p, ':', "in a range") && hlo_parse_int(p, &x[1]) &&
           (!hlo_parse_accept(p, ':') || hlo_parse_int(p, &x[2])) && hlo_parse_expect(p, ']', "after a range");
      vec_append(NULL, &v, x, 3);
    } while (ok && hlo_parse_accept(p, ','));
    ok = ok && hlo_parse_expect(p, '}', "after the ranges of a slice");
  }
  int n = v.len / 3;
  if (ok && n) {
    int64_t *data = ARENA_ARRAY(p->arena, int64_t, 3 * n);
    for (int i = 0; i < n; i++)
      for (int k = 0; k < 3; k++) data[k * n + i] = v.data[3 * i + k];
    *out = (hlo_slice){data, data + n, data + 2 * n, n};
  }
  vec_deinit(&v);
  return ok;
}

// "b01f": a and b are the letters of the two special dimensions.
static bool parse_labels(hlo_parser *p, strv text, char a, char b, int64_t *out_a, int64_t *out_b, hlo_i64s *spatial) {
  int n = (int)text.len - 2;
  if (n < 0 || n > 36) return hlo_parse_fail(p, text.data, "expected labels like %c01%c", a, b);
  int64_t *data = ARENA_ARRAY(p->arena, int64_t, n);
  for (int i = 0; i < n; i++) data[i] = -1;
  *out_a = *out_b = -1;
  for (int d = 0; d < n + 2; d++) {
    char c = text.data[d];
    int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'Z' ? c - 'A' + 10 : -1;
    int64_t *slot = c == a ? out_a : c == b ? out_b : digit >= 0 && digit < n ? &data[digit] : NULL;
    if (!slot || *slot >= 0)
      return hlo_parse_fail(p, text.data + d, "labels must name '%c', '%c' and each of %d spatial dimensions once", a,
                            b, n);
    *slot = d;
  }
  *spatial = (hlo_i64s){n ? data : NULL, n};
  return true;
}

static bool parse_conv_dnums(hlo_parser *p, hlo_conv_dnums *d) {
  strv text = hlo_parse_raw(p), input, kernel, output;
  if (!strv_split(text, '_', &input, &kernel) || !strv_split(kernel, '-', &kernel, &output) || !take_char(&output, '>'))
    return hlo_parse_fail(p, text.data, "expected labels like b01f_01io->b01f");
  return parse_labels(p, input, 'b', 'f', &d->input_batch, &d->input_feature, &d->input_spatial) &&
         parse_labels(p, kernel, 'i', 'o', &d->kernel_input_feature, &d->kernel_output_feature, &d->kernel_spatial) &&
         parse_labels(p, output, 'b', 'f', &d->output_batch, &d->output_feature, &d->output_spatial);
}

// --- lists ---------------------------------------------------------------------------------------

static bool parse_precisions(hlo_parser *p, hlo_precisions *out) {
  VEC(hlo_precision) v = {0};
  bool ok = hlo_parse_expect(p, '{', "before the precisions");
  if (ok && !hlo_parse_accept(p, '}')) {
    do {
      strv word = hlo_parse_word(p);
      int value;
      ok = hlo_text_parse_enum(HLO_ATTR_KIND_precision, word, &value);
      if (!ok)
        hlo_parse_fail(p, word.data, "expected default, high or highest, found '" STRV_FMT "'", STRV_ARG(word));
      else
        vec_push(NULL, &v, (hlo_precision)value);
    } while (ok && hlo_parse_accept(p, ','));
    ok = ok && hlo_parse_expect(p, '}', "after the precisions");
  }
  if (ok) *out = (hlo_precisions){v.len ? arena_copy(p->arena, v.data, sizeof *v.data * (size_t)v.len) : NULL, v.len};
  vec_deinit(&v);
  return ok;
}

// "[2,4]<=[8]" or "[4,2]<=[2,4]T(1,0)": ids 0, 1, ... shaped as behind "<=", transposed, then cut into rows.
static bool parse_iota_groups(hlo_parser *p, hlo_groups *out) {
  const char *at = hlo_parse_place(p);
  int64_t size[2], dims[8], permutation[8];
  int n = 0, n_permutation = 0;
  if (!hlo_parse_expect(p, '[', "before a group shape") || !hlo_parse_int(p, &size[0]) ||
      !hlo_parse_expect(p, ',', "in a group shape") || !hlo_parse_int(p, &size[1]) ||
      !hlo_parse_expect(p, ']', "after a group shape") || !hlo_parse_expect(p, '<', "after a group shape") ||
      !hlo_parse_expect(p, '=', "after '<'") || !hlo_parse_expect(p, '[', "before the shape of the ids"))
    return false;
  do {
    if (n == 8) return hlo_parse_fail(p, at, "more than 8 dimensions of ids");
    if (!hlo_parse_int(p, &dims[n])) return false;
    permutation[n] = n;
    n++;
  } while (hlo_parse_accept(p, ','));
  if (!hlo_parse_expect(p, ']', "after the shape of the ids")) return false;
  if (p->at < p->end && *p->at == 'T') {
    p->at++;
    if (!hlo_parse_expect(p, '(', "before a permutation")) return false;
    do {
      if (n_permutation == n || !hlo_parse_int(p, &permutation[n_permutation])) return false;
      n_permutation++;
    } while (hlo_parse_accept(p, ','));
    if (!hlo_parse_expect(p, ')', "after a permutation")) return false;
  }
  int64_t total = 1;
  uint32_t used = 0;
  for (int i = 0; i < n; i++) {
    if (dims[i] < 1 || total > (1 << 24) / dims[i]) return hlo_parse_fail(p, at, "this group shape is out of range");
    total *= dims[i];
    if (permutation[i] >= 0 && permutation[i] < n) used |= 1u << permutation[i];
  }
  if (used != (1u << n) - 1 || (n_permutation && n_permutation != n))
    return hlo_parse_fail(p, at, "the permutation does not name each dimension once");
  if (size[0] < 0 || size[0] > total || size[1] < 0 || size[1] > total || size[0] * size[1] != total)
    return hlo_parse_fail(p, at, "the groups do not hold %lld ids", (long long)total);
  int64_t *data = ARENA_ARRAY(p->arena, int64_t, total), index[8] = {0};
  for (int64_t k = 0; k < total; k++) {  // index runs over the transposed shape
    int64_t id = 0, full[8];
    for (int i = 0; i < n; i++) full[permutation[i]] = index[i];
    for (int i = 0; i < n; i++) id = id * dims[i] + full[i];
    data[k] = id;
    for (int i = n - 1; i >= 0 && ++index[i] == dims[permutation[i]]; i--) index[i] = 0;
  }
  *out = (hlo_groups){data, (int32_t)size[0], (int32_t)size[1]};
  return true;
}

static bool parse_groups(hlo_parser *p, hlo_groups *out) {
  if (hlo_parse_peek(p, '[')) return parse_iota_groups(p, out);
  VEC(hlo_i64s) rows = {0};
  int cols = 0;
  bool ok = hlo_parse_expect(p, '{', "before the groups");
  if (ok && !hlo_parse_accept(p, '}')) {
    do {
      hlo_i64s row;
      if (!(ok = hlo_parse_ints(p, &row))) break;
      if (row.n > cols) cols = row.n;
      vec_push(NULL, &rows, row);
    } while (hlo_parse_accept(p, ','));
    ok = ok && hlo_parse_expect(p, '}', "after the groups");
  }
  if (ok && rows.len) {
    int64_t *data = ARENA_ARRAY(p->arena, int64_t, (int64_t)rows.len * cols);
    for (int r = 0; r < rows.len; r++)
      for (int c = 0; c < cols; c++) data[(int64_t)r * cols + c] = c < rows.data[r].n ? rows.data[r].data[c] : -1;
    *out = (hlo_groups){data, rows.len, cols};
  }
  vec_deinit(&rows);
  return ok;
}

static bool parse_pairs(hlo_parser *p, hlo_pairs *out) {
  const char *at = hlo_parse_place(p);
  hlo_groups g = {0};
  if (!parse_groups(p, &g)) return false;
  if (g.rows && g.cols != 2) return hlo_parse_fail(p, at, "expected pairs");
  for (int64_t i = 0; i < 2 * (int64_t)g.rows; i++)
    if (g.data[i] < 0) return hlo_parse_fail(p, at, "expected pairs of numbers that are not negative");
  *out = (hlo_pairs){g.data, g.rows};
  return true;
}

static bool parse_dict(hlo_parser *p, hlo_dict *out) {
  VEC(hlo_dict_entry) v = {0};
  bool ok = hlo_parse_expect(p, '{', "before the attributes");
  if (ok && !hlo_parse_accept(p, '}')) {
    do {
      hlo_dict_entry e;
      ok = hlo_parse_string(p, &e.name) && hlo_parse_expect(p, '=', "after an attribute's name");
      e.is_string = ok && !hlo_parse_accept_word(p, "mlir");
      ok = ok && hlo_parse_string(p, &e.value);
      vec_push(NULL, &v, e);
    } while (ok && hlo_parse_accept(p, ','));
    ok = ok && hlo_parse_expect(p, '}', "after the attributes");
  }
  if (ok) *out = (hlo_dict){v.len ? arena_copy(p->arena, v.data, sizeof *v.data * (size_t)v.len) : NULL, v.len};
  vec_deinit(&v);
  return ok;
}

// "{2}" gives 2, "{}" gives `whole`.
static bool parse_leaf(hlo_parser *p, int64_t whole, int64_t *out) {
  hlo_i64s l;
  const char *at = hlo_parse_place(p);
  if (!hlo_parse_ints(p, &l)) return false;
  if (l.n > 1 || (l.n && l.data[0] < 0)) return hlo_parse_fail(p, at, "expected {} or one number of a leaf");
  *out = l.n ? l.data[0] : whole;
  return true;
}

static bool parse_aliasing(hlo_parser *p, hlo_i64s *out) {
  VEC(int64_t) v = {0};
  bool ok = hlo_parse_expect(p, '{', "before the aliases");
  if (ok && !hlo_parse_accept(p, '}')) {
    do {
      int64_t x[3] = {0};
      ok = parse_leaf(p, 0, &x[0]) && hlo_parse_expect(p, ':', "after a result") &&
           hlo_parse_expect(p, '(', "before an operand") && hlo_parse_int(p, &x[1]) &&
           hlo_parse_expect(p, ',', "after an operand") && parse_leaf(p, -1, &x[2]) &&
           hlo_parse_expect(p, ')', "after an operand");
      vec_append(NULL, &v, x, 3);
    } while (ok && hlo_parse_accept(p, ','));
    ok = ok && hlo_parse_expect(p, '}', "after the aliases");
  }
  if (ok) *out = (hlo_i64s){v.len ? arena_copy(p->arena, v.data, sizeof *v.data * (size_t)v.len) : NULL, v.len};
  vec_deinit(&v);
  return ok;
}

// --- scalars -------------------------------------------------------------------------------------

static bool parse_flag(hlo_parser *p, bool *out) {
  strv word = hlo_parse_word(p);
  *out = strv_eq_cstr(word, "true");
  if (*out || strv_eq_cstr(word, "false")) return true;
  return hlo_parse_fail(p, word.data, "expected true or false, found '" STRV_FMT "'", STRV_ARG(word));
}

static bool parse_i64(hlo_parser *p, const hlo_attr_desc *d, int64_t *out) {
  static const char *const versions[] = {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL",
                                         "API_VERSION_STATUS_RETURNING", "API_VERSION_STATUS_RETURNING_UNIFIED",
                                         "API_VERSION_TYPED_FFI"};
  for (int i = 0; i < 5 && !strcmp(d->text_key, "api_version"); i++)
    if (hlo_parse_accept_word(p, versions[i])) return *out = i, true;
  if (!hlo_parse_peek(p, '{')) return hlo_parse_int(p, out);
  const char *at = hlo_parse_place(p);
  hlo_i64s l;
  if (!hlo_parse_ints(p, &l)) return false;
  if (l.n != 1) return hlo_parse_fail(p, at, "%s takes one number here", d->text_key);
  *out = l.data[0];
  return true;
}

static bool parse_f64(hlo_parser *p, double *out) {
  hlo_parse_skip_blanks(p);
  const char *from = p->at;
  while (p->at < p->end && !strchr(",} \t\r\n", *p->at)) p->at++;
  strv text = {from, (size_t)(p->at - from)};
  if (hlo_element_parse(HLO_F64, text, out, 0)) return true;
  return hlo_parse_fail(p, from, "expected a number, found '" STRV_FMT "'", STRV_ARG(text));
}

static bool parse_enum(hlo_parser *p, hlo_attr_kind kind, int *out) {
  strv word = hlo_parse_word(p);
  if (hlo_text_parse_enum(kind, word, out)) return true;
  return hlo_parse_fail(p, word.data, "unknown value '" STRV_FMT "'", STRV_ARG(word));
}

static bool parse_string_or_word(hlo_parser *p, strv *out) {
  if (hlo_parse_peek(p, '"')) return hlo_parse_string(p, out);
  strv word = hlo_parse_word(p);
  if (!word.len) return hlo_parse_fail(p, p->at, "expected a string");
  *out = arena_strv(p->arena, word);
  return true;
}

static bool parse_value(hlo_parser *p, const hlo_attr_desc *d, void *field) {
  switch (d->kind) {
    case HLO_ATTR_KIND_i64: return parse_i64(p, d, field);
    case HLO_ATTR_KIND_i64s:
      return strcmp(d->text_key, "output_to_operand_aliasing") ? hlo_parse_ints(p, field) : parse_aliasing(p, field);
    case HLO_ATTR_KIND_f64: return parse_f64(p, field);
    case HLO_ATTR_KIND_flag: return parse_flag(p, field);
    case HLO_ATTR_KIND_string: return parse_string_or_word(p, field);
    case HLO_ATTR_KIND_window: return parse_window(p, field);
    case HLO_ATTR_KIND_padding: return parse_padding(p, field);
    case HLO_ATTR_KIND_slice: return parse_slice(p, field);
    case HLO_ATTR_KIND_conv_dnums: return parse_conv_dnums(p, field);
    case HLO_ATTR_KIND_precisions: return parse_precisions(p, field);
    case HLO_ATTR_KIND_groups: return parse_groups(p, field);
    case HLO_ATTR_KIND_pairs: return parse_pairs(p, field);
    case HLO_ATTR_KIND_dict: return parse_dict(p, field);
    case HLO_ATTR_KIND_literal: {
      const hlo_shape *shape;
      return hlo_parse_shape(p, &shape) && hlo_parse_literal(p, shape, field);
    }
#define CASE(kind_)                                       \
  case HLO_ATTR_KIND_##kind_: {                           \
    int value;                                            \
    if (!parse_enum(p, d->kind, &value)) return false;    \
    *(hlo_attr_##kind_ *)field = (hlo_attr_##kind_)value; \
    return true;                                          \
  }
      HLO_ENUMS(CASE)
#undef CASE
    default: return hlo_parse_fail(p, p->at, "this attribute has no text form");
  }
}

// --- keys ----------------------------------------------------------------------------------------

#define SUB(kind, type, field, text) \
  { HLO_ATTR_KIND_##kind, text, offsetof(type, field) }
static const struct sub_key {
  hlo_attr_kind kind;
  const char *key;
  size_t offset;
} sub_keys[] = {
    SUB(dot_dnums, hlo_dot_dnums, lhs_batch, "lhs_batch_dims"),
    SUB(dot_dnums, hlo_dot_dnums, rhs_batch, "rhs_batch_dims"),
    SUB(dot_dnums, hlo_dot_dnums, lhs_contracting, "lhs_contracting_dims"),
    SUB(dot_dnums, hlo_dot_dnums, rhs_contracting, "rhs_contracting_dims"),
    SUB(gather_dnums, hlo_gather_dnums, offset_dims, "offset_dims"),
    SUB(gather_dnums, hlo_gather_dnums, collapsed_slice_dims, "collapsed_slice_dims"),
    SUB(gather_dnums, hlo_gather_dnums, operand_batching_dims, "operand_batching_dims"),
    SUB(gather_dnums, hlo_gather_dnums, start_indices_batching_dims, "start_indices_batching_dims"),
    SUB(gather_dnums, hlo_gather_dnums, start_index_map, "start_index_map"),
    SUB(gather_dnums, hlo_gather_dnums, index_vector_dim, "index_vector_dim"),
    SUB(scatter_dnums, hlo_scatter_dnums, update_window_dims, "update_window_dims"),
    SUB(scatter_dnums, hlo_scatter_dnums, inserted_window_dims, "inserted_window_dims"),
    SUB(scatter_dnums, hlo_scatter_dnums, input_batching_dims, "input_batching_dims"),
    SUB(scatter_dnums, hlo_scatter_dnums, scatter_indices_batching_dims, "scatter_indices_batching_dims"),
    SUB(scatter_dnums, hlo_scatter_dnums, scatter_dims_to_operand_dims, "scatter_dims_to_operand_dims"),
    SUB(scatter_dnums, hlo_scatter_dnums, index_vector_dim, "index_vector_dim"),
};

static const struct called_key {
  const char *key;
  int slot;  // 2: a list
} called_keys[] = {
    {"to_apply", 0},
    {"calls", 0},
    {"condition", 0},
    {"body", 1},
    {"select", 0},
    {"scatter", 1},
    {"true_computation", 0},
    {"false_computation", 1},
    {"branch_computations", 2},
    {"called_computations", 2},
};

// Of XLA: without meaning here, or with one that our form carries otherwise.
static const char *const skipped_keys[] = {
    "sharding",
    "frontend_attributes",
    "backend_config",
    "control-predecessors",
    "statistics",
    "parameter_replication",
    "outer_dimension_partitions",
    "origin",
    "original_value",
    "operand_layout_constraints",
    "constrain_layout",
    "schedule",
    "custom_call_schedule",
    "outfeed_shape",
    "result_accuracy",
    "is_composite",
    "async_execution_thread",
    "padding_type",
    "output_streaming",
    "implementation",
    "nested_region",
    "inplace",
    "output_to_operand_aliasing",
    "async_group_id",
    "cross_program_prefetch_index",
};

static bool parse_called(hlo_parser *p, hlo_text_instr *i, int slot) {
  if (slot < 2) return (i->called[slot] = hlo_parse_computation_ref(p)) != NULL;
  if (!hlo_parse_expect(p, '{', "before a list of computations")) return false;
  if (hlo_parse_accept(p, '}')) return true;
  do {
    hlo_computation *c = hlo_parse_computation_ref(p);
    if (!c) return false;
    vec_push(NULL, &i->called_list, c);
  } while (hlo_parse_accept(p, ','));
  return hlo_parse_expect(p, '}', "after a list of computations");
}

static bool parse_metadata(hlo_parser *p, hlo_text_instr *i) {
  strv name = {0}, file = {0}, ignored;
  int64_t line = 0, column = 0;
  if (!hlo_parse_expect(p, '{', "before metadata")) return false;
  while (!hlo_parse_accept(p, '}')) {
    strv key = hlo_parse_word(p);
    if (!key.len) return hlo_parse_fail(p, p->at, "expected '}' after metadata");
    if (!hlo_parse_expect(p, '=', "in metadata")) return false;
    bool ok;
    if (strv_eq_cstr(key, "op_name"))
      ok = hlo_parse_string(p, &name);
    else if (strv_eq_cstr(key, "source_file"))
      ok = hlo_parse_string(p, &file);
    else if (strv_eq_cstr(key, "source_line"))
      ok = hlo_parse_int(p, &line);
    else if (strv_eq_cstr(key, "source_column"))
      ok = hlo_parse_int(p, &column);
    else if (hlo_parse_peek(p, '"'))
      ok = hlo_parse_string(p, &ignored);
    else if (hlo_parse_peek(p, '{'))
      ok = hlo_parse_skip_value(p);
    else
      ok = (hlo_parse_raw(p), true);
    if (!ok) return false;
    hlo_parse_accept(p, ',');
  }
  loc *l = NULL;
  if (file.len) {
    l = ARENA_NEW(p->arena, loc);
    *l = (loc){.kind = LOC_FILE, .name = file, .line = (int32_t)line, .col = (int32_t)column};
  }
  if (name.len) {
    loc *outer = ARENA_NEW(p->arena, loc);
    *outer = (loc){.kind = LOC_NAME, .name = name, .child = l};
    l = outer;
  }
  if (l) i->loc = l;
  return true;
}

static void add_entry(hlo_parser *p, hlo_attrs_custom_call *a, hlo_dict_entry entry) {
  hlo_dict_entry *entries = ARENA_ARRAY(p->arena, hlo_dict_entry, a->attributes.n + 1);
  if (a->attributes.n) memcpy(entries, a->attributes.entries, sizeof *entries * (size_t)a->attributes.n);
  entries[a->attributes.n] = entry;
  a->attributes = (hlo_dict){entries, a->attributes.n + 1};
}

// A value's own text.
static bool parse_text(hlo_parser *p, strv *out) {
  const char *from = hlo_parse_place(p);
  if (!hlo_parse_skip_value(p)) return false;
  *out = strv_trim(arena_strv(p->arena, (strv){from, (size_t)(p->at - from)}));
  return true;
}

bool hlo_parse_frontend_attributes(hlo_parser *p, strv *out) {
  strbuf text = {0};
  bool ok = hlo_parse_expect(p, '{', "before frontend attributes");
  strbuf_append_char(&text, '{');
  while (ok && !hlo_parse_accept(p, '}')) {
    strv key = hlo_parse_word(p), value = {0};
    if (!key.len) ok = hlo_parse_fail(p, p->at, "expected '}' after frontend attributes");
    ok = ok && hlo_parse_expect(p, '=', "in frontend attributes");
    ok = ok && (hlo_parse_peek(p, '"') ? hlo_parse_string(p, &value) : parse_text(p, &value));
    if (!ok) break;
    strbuf_printf(&text, "%s" STRV_FMT " = ", text.len > 1 ? ", " : "", STRV_ARG(key));
    hlo_text_print_string(&text, value);
    hlo_parse_accept(p, ',');
  }
  strbuf_append_char(&text, '}');
  if (ok) *out = arena_strv(p->arena, (strv){text.data, text.len});
  strbuf_deinit(&text);
  return ok;
}

// Shardings mean something only at marks for partitioners.
static bool is_mark(strv target) {
  return strv_eq_cstr(target, "Sharding") || strv_starts_with(target, STRV("SPMD")) ||
         strv_starts_with(target, STRV("xla.sdy."));
}

// MLIR's "{uplo = 76 : ui8}" (of calls with API_VERSION_TYPED_FFI), rather than JSON's "{"uplo":76}".
static bool is_dictionary(strv text) {
  if (text.len < 2 || text.data[0] != '{') return false;
  strv inside = strv_trim(strv_drop(text, 1));
  char c = inside.data[0];
  return c == '}' || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// What XLA says differently from us; *handled tells whether the key was one of these.
static bool parse_foreign(hlo_parser *p, hlo_text_instr *i, strv key, bool *handled) {
  *handled = true;
  if (i->op == HLO_OP_ALL_TO_ALL && strv_eq_cstr(key, "dimensions")) {
    hlo_attrs_all_to_all *a = i->attrs;
    hlo_i64s dims;
    const char *at = hlo_parse_place(p);
    if (!hlo_parse_ints(p, &dims)) return false;
    if (dims.n != 1) return hlo_parse_fail(p, at, "an all-to-all has one dimension");
    a->split_dimension = a->concat_dimension = dims.data[0];
    i->split_by_group = true;
    i->seen |= 7;
    return true;
  }
  if (i->op == HLO_OP_CUSTOM_CALL && strv_eq_cstr(key, "backend_config")) {
    hlo_attrs_custom_call *a = i->attrs;
    hlo_dict_entry e = {.name = STRV("backend_config"), .is_string = true};
    if (!(hlo_parse_peek(p, '"') ? hlo_parse_string(p, &e.value) : parse_text(p, &e.value))) return false;
    if (is_dictionary(e.value)) e = (hlo_dict_entry){.name = STRV("mhlo.backend_config"), .value = e.value};
    add_entry(p, a, e);
    return true;
  }
  if (i->op == HLO_OP_CUSTOM_CALL && strv_eq_cstr(key, "sharding") &&
      is_mark(((hlo_attrs_custom_call *)i->attrs)->target)) {
    hlo_dict_entry e = {.name = STRV("mhlo.sharding"), .is_string = true};
    if (!parse_text(p, &e.value)) return false;
    add_entry(p, i->attrs, e);
    return true;
  }
  if (i->op == HLO_OP_CUSTOM_CALL && strv_eq_cstr(key, "frontend_attributes") &&
      is_mark(((hlo_attrs_custom_call *)i->attrs)->target)) {
    hlo_dict_entry e = {.name = STRV("mhlo.frontend_attributes")};
    if (!hlo_parse_frontend_attributes(p, &e.value)) return false;
    add_entry(p, i->attrs, e);
    return true;
  }
  if (i->op == HLO_OP_TOP_K && strv_eq_cstr(key, "largest")) {
    bool largest;
    if (!parse_flag(p, &largest)) return false;
    i->least = !largest;
    return true;
  }
  if (i->op == HLO_OP_FUSION && strv_eq_cstr(key, "kind") && hlo_parse_accept_word(p, "kCustom")) {
    i->op = HLO_OP_CALL;  // how it is computed is the XLA backend's, what is computed stands in the computation
    i->attrs = NULL;
    return true;
  }
  *handled = false;
  return true;
}

bool hlo_parse_attr(hlo_parser *p, hlo_text_instr *i, strv key, const char *key_at) {
  const hlo_attr_list_info *info = &hlo_attr_list_table[hlo_op_table[i->op].attrs];
  bool handled;
  if (!parse_foreign(p, i, key, &handled)) return false;
  if (handled) return true;
  for (int k = 0; k < info->n; k++) {
    const hlo_attr_desc *d = &info->descs[k];
    char *field = (char *)i->attrs + d->offset;
    if (d->text_key[0] && strv_eq_cstr(key, d->text_key)) {
      if (i->seen >> k & 1) return hlo_parse_fail(p, key_at, "'" STRV_FMT "' is given twice", STRV_ARG(key));
      i->seen |= UINT64_C(1) << k;
      return parse_value(p, d, field);
    }
    for (size_t s = 0; s < sizeof sub_keys / sizeof sub_keys[0]; s++) {
      if (sub_keys[s].kind != d->kind || !strv_eq_cstr(key, sub_keys[s].key)) continue;
      i->seen |= UINT64_C(1) << k;
      void *part = field + sub_keys[s].offset;
      return strcmp(sub_keys[s].key, "index_vector_dim") ? hlo_parse_ints(p, part) : hlo_parse_int(p, part);
    }
  }
  if (strv_eq_cstr(key, "metadata")) return parse_metadata(p, i);
  for (size_t k = 0; hlo_op_table[i->op].n_called && k < sizeof called_keys / sizeof called_keys[0]; k++)
    if (strv_eq_cstr(key, called_keys[k].key)) return parse_called(p, i, called_keys[k].slot);
  for (size_t k = 0; k < sizeof skipped_keys / sizeof skipped_keys[0]; k++)
    if (strv_eq_cstr(key, skipped_keys[k])) return hlo_parse_skip_value(p);
  return hlo_parse_fail(p, key_at, "%s has no attribute '" STRV_FMT "'", hlo_op_table[i->op].text_name, STRV_ARG(key));
}
