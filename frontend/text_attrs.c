// SPDX-License-Identifier: Apache-2.0
// Attributes of the MLIR text parser: builtin forms, dictionaries, symbols, aliases. Dense literals are in
// text_dense.c, dialect attributes in text_dialect.c, locations in text_locs.c.
//
// Integers are kept as MLIR does: signless ones of fewer than 64 bits sign-extended, unsigned ones zero-extended;
// an i1 is a BOOL.
#include <string.h>

#include "frontend/text_internal.h"

mlir_attr *text_new_attr(text_parser *p, mlir_attr_kind kind) {
  mlir_attr *a = ARENA_NEW(p->arena, mlir_attr);
  a->kind = kind;
  return a;
}

const mlir_attr *text_int_attr(text_parser *p, const mlir_type *type, int64_t value) {
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_INTEGER);
  a->type = type;
  a->integer = value;
  return a;
}

const mlir_attr *text_bool_attr(text_parser *p, bool value) {
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_BOOL);
  a->integer = value;
  return a;
}

const mlir_attr *text_string_attr(text_parser *p, strv value) {
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_STRING);
  a->string = value;
  return a;
}

const mlir_attr *text_type_attr(text_parser *p, const mlir_type *type) {
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_TYPE);
  a->type = type;
  return a;
}

const mlir_attr *text_enum_attr(text_parser *p, strv dialect, const char *mnemonic, strv keyword) {
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_DIALECT);
  a->dialect = dialect;
  a->mnemonic = strv_from_cstr(mnemonic);
  a->string = keyword;
  return a;
}

const mlir_attr *text_i64_array(text_parser *p, const int64_t *data, int n) {
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_DENSE_ARRAY);
  a->type = text_integer_type(p, 64, MLIR_SIGNLESS);
  a->data = arena_copy(p->arena, data, (size_t)n * sizeof *data);
  a->data_size = (size_t)n * sizeof *data;
  return a;
}

const mlir_attr *text_array_attr(text_parser *p, const mlir_attr *const *items, int n) {
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_ARRAY);
  a->n_items = n;
  a->items = arena_copy(p->arena, items, (size_t)n * sizeof *items);
  return a;
}

void text_add_attr(text_parser *p, attr_list *out, const char *name, const mlir_attr *value) {
  mlir_named_attr entry = {strv_from_cstr(name), value};
  vec_push(p->scratch, out, entry);
}

const mlir_attr *text_symbol_attr(text_parser *p) {
  if (p->tok.kind != TOK_AT) return text_expected(p, "a symbol, as @name"), NULL;
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_SYMBOL);
  a->string = text_token_name(p);
  text_advance(p);
  VEC(const mlir_attr *) nested = {0};
  while (p->tok.kind == TOK_COLON && p->tok.end < p->lex.end && *p->tok.end == ':') {
    text_advance(p);
    text_advance(p);
    if (p->tok.kind != TOK_AT) return text_expected(p, "a symbol behind '::'"), NULL;
    mlir_attr *child = text_new_attr(p, MLIR_ATTR_SYMBOL);
    child->string = text_token_name(p);
    text_advance(p);
    vec_push(p->scratch, &nested, child);
  }
  a->n_items = nested.len;
  if (nested.len > 0) a->items = arena_copy(p->arena, nested.data, (size_t)nested.len * sizeof *nested.data);
  return a;
}

// --- numbers -------------------------------------------------------------------------------------

static bool fits_width(int64_t value, bool negative, const mlir_type *type) {
  if (type->kind == MLIR_TYPE_INDEX || type->width >= 64) return true;
  if (negative) return type->signedness != MLIR_UNSIGNED && value >= -(INT64_C(1) << (type->width - 1));
  int bits = type->signedness == MLIR_SIGNED ? type->width - 1 : type->width;
  return value >= 0 && (uint64_t)value < (UINT64_C(1) << bits);
}

static int64_t normalize(int64_t value, const mlir_type *type) {
  if (type->kind == MLIR_TYPE_INDEX || type->width >= 64) return value;
  int shift = 64 - type->width;
  if (type->signedness == MLIR_UNSIGNED) return (int64_t)((uint64_t)value << shift >> shift);
  return (int64_t)((uint64_t)value << shift) >> shift;
}

static const mlir_attr *make_number(text_parser *p, const char *at, strv literal, bool negative, bool is_float,
                                    int64_t value, const mlir_type *type) {
  if (!type) type = is_float ? text_float_type(p, "f64") : text_integer_type(p, 64, MLIR_SIGNLESS);
  if (type->kind == MLIR_TYPE_FLOAT) {
    uint64_t bits = 0;
    bool is_hex = literal.len > 2 && literal.data[1] == 'x';
    if (!is_float && !is_hex)
      return text_error(p, at, "expected a floating-point literal (with '.'), found an integer"), NULL;
    if (!text_round_float(literal, negative, type, &bits))
      return text_error(p, at, "'" STRV_FMT "' is not a value of type " STRV_FMT, STRV_ARG(literal),
                        STRV_ARG(type->name)),
             NULL;
    mlir_attr *a = text_new_attr(p, MLIR_ATTR_FLOAT);
    a->type = type;
    a->real = text_float_value(type, bits);
    return a;
  }
  if (type->kind != MLIR_TYPE_INTEGER && type->kind != MLIR_TYPE_INDEX)
    return text_error(p, at, "expected an integer, index or float type for a number"), NULL;
  if (is_float) return text_error(p, at, "expected an integer, found a floating-point literal"), NULL;
  if (!fits_width(value, negative, type))
    return text_error(p, at, "integer does not fit into %d bits", (int)type->width), NULL;
  value = normalize(value, type);
  if (type->kind == MLIR_TYPE_INTEGER && type->width == 1) return text_bool_attr(p, value != 0);
  return text_int_attr(p, type, value);
}

static const mlir_attr *parse_number(text_parser *p) {
  const char *at = p->tok.start;
  bool negative = text_accept(p, TOK_MINUS);
  strv literal = text_token(p);
  bool is_float = p->tok.kind == TOK_FLOAT;
  int64_t value = 0;
  if (is_float) {
    text_advance(p);
  } else {
    if (!text_parse_integer(p, &value)) return NULL;
    if (negative && (uint64_t)value > UINT64_C(1) << 63)
      return text_error(p, at, "integer does not fit into 64 bits"), NULL;
    if (negative) value = (int64_t)(0 - (uint64_t)value);
  }
  const mlir_type *type = NULL;
  if (text_accept(p, TOK_COLON) && !(type = text_parse_type(p))) return NULL;
  return make_number(p, at, literal, negative, is_float, value, type);
}

// --- compound forms ------------------------------------------------------------------------------

const mlir_attr *text_parse_int_list(text_parser *p) {
  if (p->tok.kind != TOK_LSQUARE) {
    // Older text and generic form: array<i64: ...> or dense<...> : tensor<nxi64>.
    if (text_at_keyword(p, "array") || text_at_keyword(p, "dense")) return text_parse_attr(p);
    return text_expected(p, "'[' of a list of integers"), NULL;
  }
  text_advance(p);
  VEC(int64_t) values = {0};
  if (p->tok.kind != TOK_RSQUARE) {
    do {
      int64_t v = MLIR_DYNAMIC;
      if (!text_accept(p, TOK_QUESTION) && !text_parse_integer(p, &v)) return NULL;
      vec_push(p->scratch, &values, v);
    } while (text_accept(p, TOK_COMMA));
  }
  if (!text_expect(p, TOK_RSQUARE, "',' or ']' in a list of integers")) return NULL;
  return text_i64_array(p, values.data, values.len);
}

static const mlir_attr *parse_array(text_parser *p) {
  text_advance(p);
  VEC(const mlir_attr *) items = {0};
  if (p->tok.kind != TOK_RSQUARE) {
    do {
      const mlir_attr *a = text_parse_attr(p);
      if (!a) return NULL;
      vec_push(p->scratch, &items, a);
    } while (text_accept(p, TOK_COMMA));
  }
  if (!text_expect(p, TOK_RSQUARE, "',' or ']' in an array")) return NULL;
  return text_array_attr(p, items.data, items.len);
}

bool text_parse_attr_entries(text_parser *p, attr_list *out) {
  if (!text_expect(p, TOK_LBRACE, "'{' of a dictionary")) return false;
  if (text_accept(p, TOK_RBRACE)) return true;
  strmap seen = {0};
  for (int i = 0; i < out->len; i++) strmap_put(p->scratch, &seen, out->data[i].name, p);
  do {
    const char *at = p->tok.start;
    mlir_named_attr entry = {0};
    if (!text_parse_name(p, &entry.name)) return false;
    entry.name = text_intern(p, entry.name);
    if (strmap_has(&seen, entry.name))
      return text_error(p, at, "attribute '" STRV_FMT "' is given twice", STRV_ARG(entry.name));
    strmap_put(p->scratch, &seen, entry.name, p);
    entry.value = text_accept(p, TOK_EQUAL) ? text_parse_attr(p) : text_new_attr(p, MLIR_ATTR_UNIT);
    if (!entry.value) return false;
    vec_push(p->scratch, out, entry);
  } while (text_accept(p, TOK_COMMA));
  return text_expect(p, TOK_RBRACE, "',' or '}' in a dictionary");
}

bool text_parse_optional_attr_dict(text_parser *p, attr_list *out) {
  return p->tok.kind != TOK_LBRACE || text_parse_attr_entries(p, out);
}

static const mlir_attr *parse_dict(text_parser *p) {
  attr_list entries = {0};
  if (!text_parse_attr_entries(p, &entries)) return NULL;
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_DICT);
  a->n_entries = entries.len;
  a->entries = arena_copy(p->arena, entries.data, (size_t)entries.len * sizeof *entries.data);
  return a;
}

static const mlir_attr *parse_string_attr(text_parser *p) {
  strv value = {0};
  if (!text_parse_string(p, &value)) return NULL;
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_STRING);
  a->string = value;
  if (text_accept(p, TOK_COLON) && !(a->type = text_parse_type(p))) return NULL;
  return a;
}

static const mlir_attr *parse_hash(text_parser *p) {
  strv name = text_token_name(p);
  bool has_body = p->tok.end < p->lex.end && *p->tok.end == '<';
  if (has_body || (name.len > 0 && memchr(name.data, '.', name.len))) return text_parse_dialect_attr(p);
  text_alias *alias = strmap_get(&p->attr_aliases, name);
  if (!alias && !p->in_alias && strv_starts_with(name, STRV("loc"))) {
    mlir_attr *a = text_new_attr(p, MLIR_ATTR_LOCATION);
    loc_fixup f = {&a->loc, name, p->tok.start};
    vec_push(p->scratch, &p->loc_fixups, f);
    text_advance(p);
    return a;
  }
  if (!alias || !alias->attr) return text_expected(p, "an attribute alias that is defined above"), NULL;
  p->weight += alias->weight;
  bool is_loc = alias->attr->kind == MLIR_ATTR_LOCATION;
  int height = is_loc ? 1 : alias->height;
  if (p->depth + height > TEXT_MAX_DEPTH || p->weight > TEXT_MAX_WEIGHT)
    return text_error(p, p->tok.start, "this alias makes the attribute too large"), NULL;
  if (p->depth + height > p->peak) p->peak = p->depth + height;
  text_advance(p);
  return alias->attr;
}

// affine_map<...>, strided<...>, opaque<...>, distinct[0]<...>: kept as text.
static const mlir_attr *parse_opaque_builtin(text_parser *p) {
  const char *start = p->tok.start, *end = p->tok.end;
  if (end < p->lex.end && *end == '[' && !(end = text_skip_balanced(p, end))) return NULL;
  if (end >= p->lex.end || *end != '<') return text_expected(p, "an attribute"), NULL;
  end = text_skip_balanced(p, end);
  if (!end) return NULL;
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_OPAQUE);
  a->string = (strv){start, (size_t)(end - start)};
  text_seek(p, end);
  return a;
}

static const mlir_attr *parse_keyword_attr(text_parser *p) {
  if (text_accept_keyword(p, "true")) return text_bool_attr(p, true);
  if (text_accept_keyword(p, "false")) return text_bool_attr(p, false);
  if (text_accept_keyword(p, "unit")) return text_new_attr(p, MLIR_ATTR_UNIT);
  if (text_at_keyword(p, "dense")) return text_parse_dense(p);
  if (text_at_keyword(p, "dense_resource")) return text_parse_dense_resource(p);
  if (text_at_keyword(p, "array")) return text_parse_dense_array(p);
  if (text_at_keyword(p, "loc")) {
    mlir_attr *a = text_new_attr(p, MLIR_ATTR_LOCATION);
    return text_parse_loc(p, &a->loc) ? a : NULL;
  }
  static const char *const opaque[] = {"affine_map", "affine_set", "strided", "opaque", "distinct", "sparse"};
  for (size_t i = 0; i < sizeof opaque / sizeof *opaque; i++)
    if (text_at_keyword(p, opaque[i])) return parse_opaque_builtin(p);
  if (!text_at_type(p)) return text_expected(p, "an attribute"), NULL;
  const mlir_type *t = text_parse_type(p);
  return t ? text_type_attr(p, t) : NULL;
}

static const mlir_attr *parse_by_token(text_parser *p) {
  switch (p->tok.kind) {
    case TOK_INT:
    case TOK_FLOAT:
    case TOK_MINUS: return parse_number(p);
    case TOK_STRING: return parse_string_attr(p);
    case TOK_LSQUARE: return parse_array(p);
    case TOK_LBRACE: return parse_dict(p);
    case TOK_AT: return text_symbol_attr(p);
    case TOK_HASH: return parse_hash(p);
    case TOK_ID: return parse_keyword_attr(p);
    case TOK_LPAREN:
    case TOK_BANG: {
      const mlir_type *t = text_parse_type(p);
      return t ? text_type_attr(p, t) : NULL;
    }
    default: text_expected(p, "an attribute"); return NULL;
  }
}

const mlir_attr *text_parse_attr(text_parser *p) {
  if (!text_enter(p)) return NULL;
  const mlir_attr *a = parse_by_token(p);
  if (a) text_leave(p);
  return a;
}
