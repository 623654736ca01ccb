// SPDX-License-Identifier: Apache-2.0
// Attributes of the dialects stablehlo and chlo in the canonical form that mlir.h states: enumerations, and structs
// whose fields stand in one table. Both spellings are read: #stablehlo.dot<...> and #stablehlo<dot<...>>. VHLO's become
// StableHLO's. Attributes
// of any other dialect, and unknown ones of these, are kept as text.
//
// Every field that is not optional has an entry, in the table's order, with an empty list or zero where the text
// leaves it out (as gather and scatter do).
#include <string.h>

#include "frontend/text_internal.h"

typedef enum field_kind { F_INTS, F_INT, F_BOOL, F_TYPE, F_REAL, F_ATTR, F_STRING, F_SUB_AXIS, F_MESH_AXES } field_kind;

typedef struct field {
  const char *name;
  field_kind kind;
  bool optional;
} field;

typedef struct struct_schema {
  const char *mnemonic;
  field fields[9];
} struct_schema;

#define INTS(n) \
  { n, F_INTS, false }
#define INT(n) \
  { n, F_INT, false }
static const struct_schema STRUCTS[] = {
    {"dot",
     {INTS("lhs_batching_dimensions"), INTS("rhs_batching_dimensions"), INTS("lhs_contracting_dimensions"),
      INTS("rhs_contracting_dimensions")}},
    {"ragged_dot",
     {INTS("lhs_batching_dimensions"), INTS("rhs_batching_dimensions"), INTS("lhs_contracting_dimensions"),
      INTS("rhs_contracting_dimensions"), INTS("lhs_ragged_dimensions"), INTS("rhs_group_dimensions")}},
    {"gather",
     {INTS("offset_dims"), INTS("collapsed_slice_dims"), INTS("operand_batching_dims"),
      INTS("start_indices_batching_dims"), INTS("start_index_map"), INT("index_vector_dim")}},
    {"scatter",
     {INTS("update_window_dims"), INTS("inserted_window_dims"), INTS("input_batching_dims"),
      INTS("scatter_indices_batching_dims"), INTS("scatter_dims_to_operand_dims"), INT("index_vector_dim")}},
    {"conv",
     {INT("input_batch_dimension"), INT("input_feature_dimension"), INTS("input_spatial_dimensions"),
      INT("kernel_input_feature_dimension"), INT("kernel_output_feature_dimension"), INTS("kernel_spatial_dimensions"),
      INT("output_batch_dimension"), INT("output_feature_dimension"), INTS("output_spatial_dimensions")}},
    {"channel_handle", {INT("handle"), INT("type")}},
    {"output_operand_alias", {INTS("output_tuple_indices"), INT("operand_index"), INTS("operand_tuple_indices")}},
    {"dot_algorithm",
     {{"lhs_precision_type", F_TYPE, false},
      {"rhs_precision_type", F_TYPE, false},
      {"accumulation_type", F_TYPE, false},
      INT("lhs_component_count"),
      INT("rhs_component_count"),
      INT("num_primitive_operations"),
      {"allow_imprecise_accumulation", F_BOOL, false}}},
    {"result_accuracy", {{"atol", F_REAL, false}, {"rtol", F_REAL, false}, INT("ulps"), {"mode", F_ATTR, true}}},
    {"bounds", {INTS("bounds")}},
    {"axis_ref", {{"name", F_STRING, false}, {"sub_axis_info", F_SUB_AXIS, true}}},
    {"mesh_axis", {{"name", F_STRING, false}, INT("size")}},
    {"mesh", {{"axes", F_MESH_AXES, false}, {"device_ids", F_ATTR, true}}},
    {"sub_axis_info", {INT("pre_size"), INT("size")}},
    {"replica_group_mesh_axes", {{"mesh", F_ATTR, false}, {"axes", F_ATTR, false}}},
};
#undef INTS
#undef INT

static const struct {
  const char *mnemonic, *keywords;
} ENUMS[] = {
    {"comparison_direction", "EQ NE GE GT LE LT"},
    {"comparison_type", "NOTYPE FLOAT TOTALORDER SIGNED UNSIGNED"},
    {"precision", "DEFAULT HIGH HIGHEST"},
    {"fft_type", "FFT IFFT RFFT IRFFT"},
    {"transpose", "TRANSPOSE_INVALID NO_TRANSPOSE TRANSPOSE ADJOINT"},
    {"rng_distribution", "UNIFORM NORMAL"},
    {"rng_algorithm", "DEFAULT THREE_FRY PHILOX"},
    {"result_accuracy_mode", "DEFAULT HIGHEST TOLERANCE"},
    {"custom_call_api_version",
     "API_VERSION_UNSPECIFIED API_VERSION_ORIGINAL API_VERSION_STATUS_RETURNING "
     "API_VERSION_STATUS_RETURNING_UNIFIED API_VERSION_TYPED_FFI"},
};

static const struct_schema *find_struct(strv mnemonic) {
  if (strv_eq_cstr(mnemonic, "type_extensions")) mnemonic = STRV("bounds");
  for (size_t i = 0; i < sizeof STRUCTS / sizeof *STRUCTS; i++)
    if (strv_eq_cstr(mnemonic, STRUCTS[i].mnemonic)) return &STRUCTS[i];
  return NULL;
}

// Index in ENUMS, or -1.
static int find_enum(strv mnemonic) {
  for (size_t i = 0; i < sizeof ENUMS / sizeof *ENUMS; i++)
    if (strv_eq_cstr(mnemonic, ENUMS[i].mnemonic)) return (int)i;
  return -1;
}

// Its number in the list, or -1.
static int find_keyword(const char *list, strv word) {
  int number = 0;
  for (const char *s = list; *s; number++) {
    size_t n = strcspn(s, " ");
    if (n == word.len && memcmp(s, word.data, n) == 0) return number;
    s += n;
    if (*s) s++;
  }
  return -1;
}

static const mlir_attr *parse_enum_keyword(text_parser *p, strv dialect, int index) {
  strv word = text_token(p);
  if (p->tok.kind != TOK_ID || find_keyword(ENUMS[index].keywords, word) < 0) {
    char what[200];
    strv list = strv_take(strv_from_cstr(ENUMS[index].keywords), 180);
    memcpy(what, "one of ", 7);
    memcpy(what + 7, list.data, list.len);
    what[7 + list.len] = 0;
    text_expected(p, what);
    return NULL;
  }
  text_advance(p);
  return text_enum_attr(p, dialect, ENUMS[index].mnemonic, word);
}

const mlir_attr *text_parse_enum(text_parser *p, strv dialect, strv mnemonic) {
  if (p->tok.kind == TOK_HASH) return text_parse_attr(p);
  int index = find_enum(mnemonic);
  return index < 0 ? (text_expected(p, "a known enumeration"), NULL) : parse_enum_keyword(p, dialect, index);
}

// --- structs -------------------------------------------------------------------------------------

// (1)2: pre-size and size
static const mlir_attr *parse_sub_axis(text_parser *p, strv dialect) {
  int64_t pre_size = 0, size = 0;
  if (!text_expect(p, TOK_LPAREN, "'('") || !text_parse_integer(p, &pre_size) || !text_expect(p, TOK_RPAREN, "')'") ||
      !text_parse_integer(p, &size))
    return NULL;
  mlir_named_attr *entries = ARENA_ARRAY(p->arena, mlir_named_attr, 2);
  const mlir_type *i64 = text_integer_type(p, 64, MLIR_SIGNLESS);
  entries[0] = (mlir_named_attr){STRV("pre_size"), text_int_attr(p, i64, pre_size)};
  entries[1] = (mlir_named_attr){STRV("size"), text_int_attr(p, i64, size)};
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_DIALECT);
  a->dialect = dialect;
  a->mnemonic = STRV("sub_axis_info");
  a->entries = entries;
  a->n_entries = 2;
  return a;
}

static const mlir_attr *real_attr(text_parser *p, double value) {
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_FLOAT);
  a->type = text_float_type(p, "f64");
  a->real = value;
  return a;
}

// [<name = "x", size = 2>, ...], each with or without its #stablehlo.mesh_axis
static const mlir_attr *parse_mesh_axes(text_parser *p, strv dialect) {
  VEC(const mlir_attr *) items = {0};
  if (!text_expect(p, TOK_LSQUARE, "'[' of the mesh's axes")) return NULL;
  while (p->tok.kind != TOK_RSQUARE) {
    const mlir_attr *a = p->tok.kind == TOK_LESS ? text_parse_struct(p, dialect, "mesh_axis") : text_parse_attr(p);
    if (!a) return NULL;
    vec_push(p->scratch, &items, a);
    if (!text_accept(p, TOK_COMMA)) break;
  }
  if (!text_expect(p, TOK_RSQUARE, "',' or ']'")) return NULL;
  return text_array_attr(p, items.data, items.len);
}

static const mlir_attr *parse_field(text_parser *p, strv dialect, field_kind kind) {
  int64_t integer = 0;
  double real = 0;
  strv string = {0};
  switch (kind) {
    case F_INTS: return text_parse_int_list(p);
    case F_INT:
      if (!text_parse_integer(p, &integer)) return NULL;
      return text_int_attr(p, text_integer_type(p, 64, MLIR_SIGNLESS), integer);
    case F_BOOL:
      if (text_accept_keyword(p, "true")) return text_bool_attr(p, true);
      if (text_accept_keyword(p, "false")) return text_bool_attr(p, false);
      return text_expected(p, "'true' or 'false'"), NULL;
    case F_TYPE: {
      const mlir_type *t = text_parse_type(p);
      return t ? text_type_attr(p, t) : NULL;
    }
    case F_REAL: return text_parse_float(p, &real) ? real_attr(p, real) : NULL;
    case F_ATTR: return text_parse_attr(p);
    case F_STRING:
      if (p->tok.kind == TOK_HASH) return text_parse_attr(p);
      return text_parse_string(p, &string) ? text_string_attr(p, string) : NULL;
    case F_SUB_AXIS:
      if (p->tok.kind == TOK_HASH) return text_parse_attr(p);
      return parse_sub_axis(p, dialect);
    case F_MESH_AXES:
      if (p->tok.kind == TOK_HASH) return text_parse_attr(p);
      return parse_mesh_axes(p, dialect);
  }
  return NULL;
}

static const mlir_attr *default_field(text_parser *p, field_kind kind) {
  switch (kind) {
    case F_INTS: return text_i64_array(p, NULL, 0);
    case F_INT: return text_int_attr(p, text_integer_type(p, 64, MLIR_SIGNLESS), 0);
    case F_REAL: return real_attr(p, 0);
    default: return NULL;
  }
}

static const mlir_attr *build_struct(text_parser *p, strv dialect, const struct_schema *schema,
                                     const mlir_attr **values, const char *at) {
  mlir_named_attr *entries = ARENA_ARRAY(p->arena, mlir_named_attr, 9);
  int n = 0;
  for (int i = 0; i < 9 && schema->fields[i].name; i++) {
    const field *f = &schema->fields[i];
    if (!values[i] && !f->optional) values[i] = default_field(p, f->kind);
    if (!values[i] && !f->optional)
      return text_error(p, at, "'%s' is missing in #" STRV_FMT ".%s", f->name, STRV_ARG(dialect), schema->mnemonic),
             NULL;
    if (values[i]) entries[n++] = (mlir_named_attr){strv_from_cstr(f->name), values[i]};
  }
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_DIALECT);
  a->dialect = dialect;
  a->mnemonic = strv_from_cstr(schema->mnemonic);
  a->entries = entries;
  a->n_entries = n;
  return a;
}

// VHLO spells some of them operandIndex, not operand_index.
static bool is_field(strv name, const char *field) {
  size_t i = 0;
  for (; *field; field++, i++) {
    char c = *field;
    if (c == '_' && i < name.len && name.data[i] >= 'A' && name.data[i] <= 'Z') c = (char)(*++field - 'a' + 'A');
    if (i >= name.len || name.data[i] != c) return false;
  }
  return i == name.len;
}

// name = value, ... up to the closing '>'.
static const mlir_attr *parse_fields(text_parser *p, strv dialect, const struct_schema *schema) {
  const mlir_attr *values[9] = {0};
  const char *start = p->tok.start;
  while (p->tok.kind != TOK_GREATER) {
    const char *at = p->tok.start;
    strv name = text_token(p);
    int i = 0;
    while (i < 9 && schema->fields[i].name && !is_field(name, schema->fields[i].name)) i++;
    if (p->tok.kind != TOK_ID || i == 9 || !schema->fields[i].name)
      return text_error(p, at, "'" STRV_FMT "' is not a field of #" STRV_FMT ".%s", STRV_ARG(strv_take(name, 40)),
                        STRV_ARG(dialect), schema->mnemonic),
             NULL;
    if (values[i]) return text_error(p, at, "'%s' is given twice", schema->fields[i].name), NULL;
    text_advance(p);
    if (!text_expect(p, TOK_EQUAL, "'='")) return NULL;
    values[i] = parse_field(p, dialect, schema->fields[i].kind);
    if (!values[i]) return NULL;
    if (strcmp(schema->fields[i].name, "mesh") == 0 && values[i]->kind == MLIR_ATTR_STRING) {  // VHLO's symbol
      mlir_attr *symbol = text_new_attr(p, MLIR_ATTR_SYMBOL);
      symbol->string = values[i]->string;
      values[i] = symbol;
    }
    if (!text_accept(p, TOK_COMMA)) break;
  }
  if (!text_expect(p, TOK_GREATER, "',' or '>'")) return NULL;
  return build_struct(p, dialect, schema, values, start);
}

// #stablehlo.bounds<4, ?>
static const mlir_attr *parse_bounds(text_parser *p, strv dialect, const struct_schema *schema) {
  const mlir_attr *values[9] = {0};
  const char *start = p->tok.start;
  VEC(int64_t) bounds = {0};
  while (p->tok.kind != TOK_GREATER) {
    int64_t v = MLIR_DYNAMIC;
    if (!text_accept(p, TOK_QUESTION) && !text_parse_integer(p, &v)) return NULL;
    vec_push(p->scratch, &bounds, v);
    if (!text_accept(p, TOK_COMMA)) break;
  }
  if (!text_expect(p, TOK_GREATER, "',' or '>'")) return NULL;
  values[0] = text_i64_array(p, bounds.data, bounds.len);
  return build_struct(p, dialect, schema, values, start);
}

static const mlir_attr *parse_struct_body(text_parser *p, strv dialect, const struct_schema *schema) {
  if (!text_expect(p, TOK_LESS, "'<'")) return NULL;
  bool is_bounds = strcmp(schema->mnemonic, "bounds") == 0;
  if (is_bounds && !text_at_keyword(p, "bounds")) return parse_bounds(p, dialect, schema);
  if (strcmp(schema->mnemonic, "conv") == 0 && !text_accept_keyword(p, "raw")) {
    const mlir_attr *a = text_parse_conv_dims(p);
    return a && text_expect(p, TOK_GREATER, "'>'") ? a : NULL;
  }
  if (strcmp(schema->mnemonic, "sub_axis_info") == 0 && p->tok.kind == TOK_LPAREN) {
    const mlir_attr *a = parse_sub_axis(p, dialect);
    return a && text_expect(p, TOK_GREATER, "'>'") ? a : NULL;
  }
  return parse_fields(p, dialect, schema);
}

const mlir_attr *text_parse_struct(text_parser *p, strv dialect, const char *mnemonic) {
  return parse_struct_body(p, dialect, find_struct(strv_from_cstr(mnemonic)));
}

const mlir_attr *text_dot_dims(text_parser *p, const mlir_attr *lhs_batch, const mlir_attr *rhs_batch,
                               const mlir_attr *lhs_contract, const mlir_attr *rhs_contract) {
  const mlir_attr *values[9] = {lhs_batch, rhs_batch, lhs_contract, rhs_contract};
  return build_struct(p, STRV("stablehlo"), find_struct(STRV("dot")), values, p->tok.start);
}

// --- convolution dimensions ----------------------------------------------------------------------

#define MAX_CONV_DIMS 64

typedef struct conv_dims {
  int64_t named[2];  // positions of the two letters
  int64_t spatial[MAX_CONV_DIMS];
  int n_spatial;
} conv_dims;

// [b, 0, 1, f]: each place names what that dimension is. `letters` are the two that must be there.
static bool parse_conv_list(text_parser *p, const char *letters, conv_dims *out) {
  const char *start = p->tok.start;
  bool seen[MAX_CONV_DIMS] = {0};
  out->named[0] = out->named[1] = -1;
  out->n_spatial = 0;
  if (!text_expect(p, TOK_LSQUARE, "'[' of a dimension list")) return false;
  int position = 0;
  do {
    const char *at = p->tok.start;
    strv t = text_token(p);
    int64_t dim = 0;
    if (position >= MAX_CONV_DIMS) return text_error(p, at, "more than %d dimensions", MAX_CONV_DIMS);
    if (p->tok.kind == TOK_ID && t.len == 1 && strchr(letters, t.data[0])) {
      int which = t.data[0] == letters[1];
      if (out->named[which] >= 0) return text_error(p, at, "dimension '%c' is given twice", t.data[0]);
      out->named[which] = position;
      text_advance(p);
    } else if (p->tok.kind == TOK_INT) {
      if (!text_parse_integer(p, &dim)) return false;
      if (dim < 0 || dim >= MAX_CONV_DIMS || seen[dim])
        return text_error(p, at, "spatial dimension is out of range or given twice");
      seen[dim] = true;
      out->spatial[dim] = position;
      out->n_spatial++;
    } else if (!text_accept(p, TOK_QUESTION)) {  // '?': a dimension without a role
      return text_error(p, at, "expected '%c', '%c' or a spatial dimension", letters[0], letters[1]);
    }
    position++;
  } while (text_accept(p, TOK_COMMA));
  if (out->named[0] < 0 || out->named[1] < 0)
    return text_error(p, start, "dimension '%c' is missing", letters[out->named[0] < 0 ? 0 : 1]);
  for (int i = 0; i < out->n_spatial; i++)
    if (!seen[i]) return text_error(p, start, "spatial dimension %d is missing", i);
  return text_expect(p, TOK_RSQUARE, "',' or ']'");
}

const mlir_attr *text_parse_conv_dims(text_parser *p) {
  conv_dims in, kernel, out;
  const char *start = p->tok.start;
  if (!parse_conv_list(p, "bf", &in) || !text_expect_keyword(p, "x")) return NULL;
  if (!parse_conv_list(p, "io", &kernel) || !text_expect(p, TOK_ARROW, "'->'")) return NULL;
  if (!parse_conv_list(p, "bf", &out)) return NULL;
  const mlir_type *i64 = text_integer_type(p, 64, MLIR_SIGNLESS);
  const mlir_attr *values[9];
  const conv_dims *all[3] = {&in, &kernel, &out};
  for (int i = 0; i < 3; i++) {
    values[3 * i] = text_int_attr(p, i64, all[i]->named[0]);
    values[3 * i + 1] = text_int_attr(p, i64, all[i]->named[1]);
    values[3 * i + 2] = text_i64_array(p, all[i]->spatial, all[i]->n_spatial);
  }
  return build_struct(p, STRV("stablehlo"), find_struct(STRV("conv")), values, start);
}

// --- entry ---------------------------------------------------------------------------------------

static const mlir_attr *parse_opaque(text_parser *p) {
  const char *start = p->tok.start, *end = p->tok.end;
  if (end < p->lex.end && *end == '<' && !(end = text_skip_balanced(p, end))) return NULL;
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_OPAQUE);
  a->string = (strv){start, (size_t)(end - start)};
  text_seek(p, end);
  // any dialect's attribute may be typed
  if (text_accept(p, TOK_COLON) && !(a->type = text_parse_type(p))) return NULL;
  return a;
}

// #stablehlo<mnemonic ...>: the mnemonic, without consuming anything.
static strv peek_mnemonic(const text_parser *p) {
  const char *s = text_skip_blanks(p, p->tok.end);
  if (s >= p->lex.end || *s != '<') return (strv){0};
  s = text_skip_blanks(p, s + 1);
  const char *e = s;
  while (e < p->lex.end && ((*e >= 'a' && *e <= 'z') || *e == '_')) e++;
  return (strv){s, (size_t)(e - s)};
}

const mlir_attr *text_parse_dialect_attr(text_parser *p) {
  strv name = text_token_name(p), dialect = {0}, mnemonic = {0};
  bool has_dot = strv_split(name, '.', &dialect, &mnemonic), is_vhlo = strv_eq_cstr(dialect, "vhlo");
  const mlir_attr *plain;
  if (!is_vhlo && !strv_eq_cstr(dialect, "stablehlo") && !strv_eq_cstr(dialect, "chlo")) return parse_opaque(p);
  if (is_vhlo && has_dot && text_parse_vhlo_attr(p, mnemonic, &plain)) return plain;
  if (!has_dot) mnemonic = peek_mnemonic(p);
  if (is_vhlo) {
    dialect = STRV("stablehlo");
    mnemonic = text_vhlo_unversioned(mnemonic);
    if (strv_eq_cstr(mnemonic, "api_version")) mnemonic = STRV("custom_call_api_version");
  }
  const struct_schema *schema = find_struct(mnemonic);
  int index = find_enum(mnemonic);
  if (!schema && index < 0) return parse_opaque(p);
  text_advance(p);
  const mlir_attr *a = NULL;
  if (!has_dot) {
    text_advance(p);  // '<'
    text_advance(p);  // mnemonic
  }
  if (schema) {
    a = parse_struct_body(p, dialect, schema);
  } else {
    bool angle = text_accept(p, TOK_LESS);
    a = parse_enum_keyword(p, dialect, index);
    if (a && angle && !text_expect(p, TOK_GREATER, "'>'")) return NULL;
    if (a && is_vhlo && strv_eq_cstr(mnemonic, "custom_call_api_version"))  // a number in StableHLO
      a = text_int_attr(p, text_integer_type(p, 32, MLIR_SIGNLESS), find_keyword(ENUMS[index].keywords, a->string));
  }
  if (a && !has_dot && !text_expect(p, TOK_GREATER, "'>' at the end of the attribute")) return NULL;
  return a;
}
