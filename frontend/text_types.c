// SPDX-License-Identifier: Apache-2.0
// Types of the MLIR text parser: builtin types, !stablehlo.token and .future, !quant.uniform in its three forms
// (per tensor, per axis, sub-channel), aliases, and any other dialect's type as opaque text.
//
// Dimension lists are read from characters, not tokens, since "2x0x3xf32" has no sensible tokens.
#include <string.h>

#include "frontend/text_internal.h"

static const char *const FLOAT_NAMES[] = {
    "f32",        "f64",           "f16",       "bf16",     "f8E5M2",   "f8E4M3",   "f8E4M3FN", "f8E3M4", "f8E4M3FNUZ",
    "f8E5M2FNUZ", "f8E4M3B11FNUZ", "f8E8M0FNU", "f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "tf32",     "f80",    "f128"};

const mlir_type *text_integer_type(text_parser *p, int width, mlir_signedness signedness) {
  mlir_type t = {.kind = MLIR_TYPE_INTEGER, .width = width, .signedness = signedness};
  return mlir_type_unique(p->types, &t);
}

const mlir_type *text_float_type(text_parser *p, const char *name) {
  mlir_type t = {.kind = MLIR_TYPE_FLOAT, .name = strv_from_cstr(name)};
  return mlir_type_unique(p->types, &t);
}

const mlir_type *text_tensor_type(text_parser *p, const mlir_type *element, const int64_t *dims, int rank) {
  mlir_type t = {.kind = MLIR_TYPE_TENSOR, .element = element, .rank = rank, .dims = dims};
  return mlir_type_unique(p->types, &t);
}

bool text_at_type(const text_parser *p) {
  if (p->tok.kind == TOK_BANG || p->tok.kind == TOK_LPAREN) return true;
  if (p->tok.kind != TOK_ID) return false;
  strv t = text_token(p);
  static const char *const words[] = {"tensor", "vector", "memref", "tuple", "complex", "none", "index"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strv_eq_cstr(t, words[i])) return true;
  for (size_t i = 0; i < sizeof FLOAT_NAMES / sizeof *FLOAT_NAMES; i++)
    if (strv_eq_cstr(t, FLOAT_NAMES[i])) return true;
  size_t prefix = t.data[0] == 'i' ? 1 : t.len > 2 && t.data[1] == 'i' && (*t.data == 's' || *t.data == 'u') ? 2 : 0;
  if (prefix == 0 || t.len == prefix) return false;
  for (size_t i = prefix; i < t.len; i++)
    if (t.data[i] < '0' || t.data[i] > '9') return false;
  return true;
}

// --- dimension lists -----------------------------------------------------------------------------

typedef VEC(int64_t) dim_list;

static bool is_dim_start(char c) {
  return (c >= '0' && c <= '9') || c == '?';
}

static const char *scan_dim(text_parser *p, const char *s, int64_t *out) {
  if (*s == '?') {
    *out = MLIR_DYNAMIC;
    return s + 1;
  }
  int64_t value = 0;
  for (; s < p->lex.end && *s >= '0' && *s <= '9'; s++) {
    if (value > (INT64_MAX - 9) / 10) return text_error(p, s, "dimension does not fit into 63 bits"), NULL;
    value = value * 10 + (*s - '0');
  }
  *out = value;
  return s;
}

// The "4x?x" of "4x?xf32", from the current token on.
static bool parse_dims(text_parser *p, dim_list *dims) {
  const char *s = p->tok.start;
  if (p->tok.kind == TOK_EOF || !is_dim_start(*s)) return true;
  while (s < p->lex.end && is_dim_start(*s)) {
    int64_t dim = 0;
    const char *e = scan_dim(p, s, &dim);
    if (!e) return false;
    e = text_skip_blanks(p, e);
    if (e >= p->lex.end || *e != 'x') return text_error(p, e, "expected 'x' after the dimension");
    vec_push(p->scratch, dims, dim);
    s = text_skip_blanks(p, e + 1);
  }
  text_seek(p, s);
  return true;
}

// --- builtin types -------------------------------------------------------------------------------

const mlir_type *text_parse_tensor_body(text_parser *p) {
  mlir_type t = {.kind = MLIR_TYPE_TENSOR};
  if (!text_expect(p, TOK_LESS, "'<' after 'tensor'")) return NULL;
  dim_list dims = {0};
  if (p->tok.kind == TOK_STAR) {
    const char *x = text_skip_blanks(p, p->tok.end);
    if (x >= p->lex.end || *x != 'x') return text_error(p, x, "expected 'x' after '*'"), NULL;
    text_seek(p, text_skip_blanks(p, x + 1));
    t.kind = MLIR_TYPE_UNRANKED_TENSOR;
  } else if (!parse_dims(p, &dims)) {
    return NULL;
  }
  t.element = text_parse_type(p);
  if (!t.element) return NULL;
  if (t.kind == MLIR_TYPE_TENSOR) {
    t.rank = dims.len;
    t.dims = dims.data;
    if (text_accept(p, TOK_COMMA) && !(t.encoding = text_parse_attr(p))) return NULL;
  }
  if (!text_expect(p, TOK_GREATER, "'>' at the end of the tensor type")) return NULL;
  return mlir_type_unique(p->types, &t);
}

const mlir_type *text_parse_shaped_body(text_parser *p, mlir_type_kind kind) {
  mlir_type t = {.kind = kind};
  if (!text_expect(p, TOK_LESS, "'<'")) return NULL;
  dim_list dims = {0};
  if (!parse_dims(p, &dims)) return NULL;
  t.element = text_parse_type(p);
  if (!t.element) return NULL;
  t.rank = dims.len;
  t.dims = dims.data;
  if (kind == MLIR_TYPE_MEMREF && text_accept(p, TOK_COMMA) && !(t.encoding = text_parse_attr(p))) return NULL;
  if (!text_expect(p, TOK_GREATER, "'>'")) return NULL;
  return mlir_type_unique(p->types, &t);
}

const mlir_type *text_parse_tuple_body(text_parser *p, mlir_type_kind kind) {
  type_list types = {0};
  if (!text_expect(p, TOK_LESS, "'<'")) return NULL;
  if (p->tok.kind != TOK_GREATER && !text_parse_type_list(p, &types)) return NULL;
  if (!text_expect(p, TOK_GREATER, "',' or '>'")) return NULL;
  mlir_type t = {.kind = kind, .n_types = types.len, .types = types.data};
  return mlir_type_unique(p->types, &t);
}

const mlir_type *text_parse_complex_body(text_parser *p) {
  mlir_type t = {.kind = MLIR_TYPE_COMPLEX};
  if (!text_expect(p, TOK_LESS, "'<' after 'complex'")) return NULL;
  const char *at = p->tok.start;
  t.element = text_parse_type(p);
  if (!t.element) return NULL;
  if (t.element->kind != MLIR_TYPE_FLOAT && t.element->kind != MLIR_TYPE_INTEGER)
    return text_error(p, at, "expected a float or integer type inside 'complex'"), NULL;
  if (!text_expect(p, TOK_GREATER, "'>'")) return NULL;
  return mlir_type_unique(p->types, &t);
}

// i8, si8, ui8; NULL without an error if the token is none.
static const mlir_type *integer_from_token(text_parser *p, strv t) {
  mlir_signedness sign = MLIR_SIGNLESS;
  if (strv_starts_with(t, STRV("si"))) {
    sign = MLIR_SIGNED;
    t = strv_drop(t, 2);
  } else if (strv_starts_with(t, STRV("ui"))) {
    sign = MLIR_UNSIGNED;
    t = strv_drop(t, 2);
  } else if (strv_starts_with(t, STRV("i"))) {
    t = strv_drop(t, 1);
  } else {
    return NULL;
  }
  uint64_t width = 0;
  if (t.len == 0 || t.data[0] < '0' || t.data[0] > '9' || !strv_parse_u64(t, &width)) return NULL;
  if (width == 0 || width > 16777215) return NULL;
  return text_integer_type(p, (int)width, sign);
}

const mlir_type *text_leaf_type(text_parser *p, strv t) {
  const mlir_type *type = integer_from_token(p, t);
  for (size_t i = 0; !type && i < sizeof FLOAT_NAMES / sizeof *FLOAT_NAMES; i++)
    if (strv_eq_cstr(t, FLOAT_NAMES[i])) type = text_float_type(p, FLOAT_NAMES[i]);
  if (!type && (strv_eq_cstr(t, "index") || strv_eq_cstr(t, "none"))) {
    mlir_type proto = {.kind = *t.data == 'i' ? MLIR_TYPE_INDEX : MLIR_TYPE_NONE};
    type = mlir_type_unique(p->types, &proto);
  }
  return type;
}

static const mlir_type *parse_builtin(text_parser *p) {
  const mlir_type *type = text_leaf_type(p, text_token(p));
  if (type) {
    text_advance(p);
    return type;
  }
  if (text_accept_keyword(p, "tensor")) return text_parse_tensor_body(p);
  if (text_accept_keyword(p, "complex")) return text_parse_complex_body(p);
  if (text_accept_keyword(p, "tuple")) return text_parse_tuple_body(p, MLIR_TYPE_TUPLE);
  if (text_accept_keyword(p, "vector")) return text_parse_shaped_body(p, MLIR_TYPE_VECTOR);
  if (text_accept_keyword(p, "memref")) return text_parse_shaped_body(p, MLIR_TYPE_MEMREF);
  text_expected(p, "a type");
  return NULL;
}

// --- quantized types -----------------------------------------------------------------------------

typedef struct quant_builder {
  mlir_quant q;
  VEC(double) scales;
  VEC(int64_t) zero_points;
  VEC(int32_t) axes;
  VEC(int64_t) sizes;
} quant_builder;

static bool parse_scale(text_parser *p, quant_builder *b) {
  double scale = 0;
  int64_t zero_point = 0;
  if (!text_parse_float(p, &scale)) return false;
  if (text_accept(p, TOK_COLON) && !text_parse_integer(p, &zero_point)) return false;
  vec_push(p->scratch, &b->scales, scale);
  vec_push(p->scratch, &b->zero_points, zero_point);
  return true;
}

// {0.1:5, 0.2}, nested for sub-channel types.
static bool parse_scales(text_parser *p, quant_builder *b) {
  if (p->tok.kind != TOK_LBRACE) return parse_scale(p, b);
  if (!text_enter(p)) return false;
  text_advance(p);
  do {
    if (!parse_scales(p, b)) return false;
  } while (text_accept(p, TOK_COMMA));
  text_leave(p);
  return text_expect(p, TOK_RBRACE, "',' or '}' in the list of scales");
}

// i8, u8, i8<-127:127>
static bool parse_storage(text_parser *p, quant_builder *b) {
  strv t = text_token(p);
  uint64_t width = 0;
  bool is_unsigned = t.len > 1 && t.data[0] == 'u' && t.data[1] != 'i';
  const mlir_type *type = NULL;
  if (p->tok.kind == TOK_ID && is_unsigned && strv_parse_u64(strv_drop(t, 1), &width) && width >= 1 && width <= 64)
    type = text_integer_type(p, (int)width, MLIR_UNSIGNED);
  else if (p->tok.kind == TOK_ID)
    type = integer_from_token(p, t);
  if (!type || type->width > 32) return text_expected(p, "a storage type of at most 32 bits, as i8 or u8");
  text_advance(p);
  mlir_quant *q = &b->q;
  q->storage = type;
  if (type->signedness == MLIR_UNSIGNED) {
    q->storage_max = (INT64_C(1) << type->width) - 1;
  } else {
    q->storage_min = -(INT64_C(1) << (type->width - 1));
    q->storage_max = (INT64_C(1) << (type->width - 1)) - 1;
  }
  if (!text_accept(p, TOK_LESS)) return true;
  return text_parse_integer(p, &q->storage_min) && text_expect(p, TOK_COLON, "':'") &&
         text_parse_integer(p, &q->storage_max) && text_expect(p, TOK_GREATER, "'>'");
}

// :1 (an axis) or :{0:1, 1:2} (axis and block size)
static bool parse_quant_axes(text_parser *p, quant_builder *b) {
  int64_t axis = 0, size = 0;
  const char *at = p->tok.start;
  if (!text_accept(p, TOK_LBRACE)) {
    if (!text_parse_integer(p, &axis)) return false;
    if (axis < 0 || axis > INT32_MAX) return text_error(p, at, "quantized dimension is out of range");
    b->q.axis = (int32_t)axis;
    return true;
  }
  do {
    at = p->tok.start;
    if (!text_parse_integer(p, &axis) || !text_expect(p, TOK_COLON, "':'") || !text_parse_integer(p, &size))
      return false;
    if (axis < 0 || axis > INT32_MAX) return text_error(p, at, "quantized dimension is out of range");
    vec_push(p->scratch, &b->axes, (int32_t)axis);
    vec_push(p->scratch, &b->sizes, size);
  } while (text_accept(p, TOK_COMMA));
  return text_expect(p, TOK_RBRACE, "',' or '}'");
}

static const mlir_type *parse_quant_uniform(text_parser *p) {
  quant_builder b = {.q = {.axis = -1}};
  if (!text_expect(p, TOK_LESS, "'<' after '!quant.uniform'") || !parse_storage(p, &b)) return NULL;
  if (!text_expect(p, TOK_COLON, "':' before the expressed type")) return NULL;
  const char *at = p->tok.start;
  b.q.expressed = text_parse_type(p);
  if (!b.q.expressed) return NULL;
  if (b.q.expressed->kind != MLIR_TYPE_FLOAT)
    return text_error(p, at, "the expressed type of a quantized type must be a float"), NULL;
  if (text_accept(p, TOK_COLON) && !parse_quant_axes(p, &b)) return NULL;
  if (!text_expect(p, TOK_COMMA, "',' before the scale") || !parse_scales(p, &b)) return NULL;
  if (!text_expect(p, TOK_GREATER, "'>' at the end of the quantized type")) return NULL;
  b.q.n_scales = b.scales.len;
  b.q.scales = b.scales.data;
  b.q.zero_points = b.zero_points.data;
  b.q.n_block_dims = b.axes.len;
  b.q.block_axes = b.axes.data;
  b.q.block_sizes = b.sizes.data;
  mlir_type t = {.kind = MLIR_TYPE_QUANTIZED, .quant = &b.q};
  return mlir_type_unique(p->types, &t);
}

// --- dialect types and aliases -------------------------------------------------------------------

static const mlir_type *parse_type_alias(text_parser *p) {
  text_alias *alias = strmap_get(&p->type_aliases, text_token_name(p));
  if (!alias) return text_expected(p, "a type alias that is defined above"), NULL;
  p->weight += alias->weight;
  if (p->depth + alias->height > TEXT_MAX_DEPTH || p->weight > TEXT_MAX_WEIGHT)
    return text_error(p, p->tok.start, "this alias makes the type too large"), NULL;
  if (p->depth + alias->height > p->peak) p->peak = p->depth + alias->height;
  text_advance(p);
  return alias->type;
}

static const mlir_type *parse_dialect_type(text_parser *p) {
  strv name = text_token_name(p);
  bool has_dot = name.len > 0 && memchr(name.data, '.', name.len);
  bool has_body = p->tok.end < p->lex.end && *p->tok.end == '<';
  if (!has_dot && !has_body) return parse_type_alias(p);
  mlir_type t = {.kind = MLIR_TYPE_OPAQUE};
  if (strv_eq_cstr(name, "stablehlo.token")) {
    text_advance(p);
    t.kind = MLIR_TYPE_TOKEN;
    return mlir_type_unique(p->types, &t);
  }
  if (strv_eq_cstr(name, "stablehlo.future")) {
    text_advance(p);
    const char *at = p->tok.start;
    const mlir_type *future = text_parse_tuple_body(p, MLIR_TYPE_FUTURE);
    for (int i = 0; future && i < future->n_types; i++)
      if (future->types[i]->kind != MLIR_TYPE_TENSOR)
        return text_error(p, at, "expected tensors of known rank in a future"), NULL;
    return future;
  }
  if (strv_starts_with(name, STRV("vhlo."))) return text_parse_vhlo_type(p);
  if (strv_starts_with(name, STRV("stablehlo.")) || strv_starts_with(name, STRV("chlo.")))
    return text_expected(p, "'!stablehlo.token' or '!stablehlo.future', StableHLO's own types"), NULL;
  if (strv_eq_cstr(name, "quant.uniform")) {
    text_advance(p);
    return parse_quant_uniform(p);
  }
  const char *start = p->tok.start, *end = p->tok.end;
  if (has_body && !(end = text_skip_balanced(p, end))) return NULL;
  t.name = (strv){start, (size_t)(end - start)};
  text_seek(p, end);
  return mlir_type_unique(p->types, &t);
}

// --- entry points --------------------------------------------------------------------------------

const mlir_type *text_parse_type(text_parser *p) {
  if (!text_enter(p)) return NULL;
  const mlir_type *t = NULL;
  if (p->tok.kind == TOK_LPAREN) {
    type_list inputs = {0}, results = {0};
    if (text_parse_function_type(p, &inputs, &results)) t = text_make_function(p, &inputs, &results);
  } else if (p->tok.kind == TOK_BANG) {
    t = parse_dialect_type(p);
  } else if (p->tok.kind == TOK_ID) {
    t = parse_builtin(p);
  } else {
    text_expected(p, "a type");
  }
  if (t) text_leave(p);
  return t;
}

bool text_parse_type_list(text_parser *p, type_list *out) {
  do {
    const mlir_type *t = text_parse_type(p);
    if (!t) return false;
    vec_push(p->scratch, out, t);
  } while (text_accept(p, TOK_COMMA));
  return true;
}

bool text_parse_type_list_parens(text_parser *p, type_list *out) {
  if (!text_expect(p, TOK_LPAREN, "'(' before the types")) return false;
  if (text_accept(p, TOK_RPAREN)) return true;
  return text_parse_type_list(p, out) && text_expect(p, TOK_RPAREN, "',' or ')' after a type");
}

bool text_parse_results(text_parser *p, type_list *results) {
  if (p->tok.kind == TOK_LPAREN) return text_parse_type_list_parens(p, results);
  const mlir_type *t = text_parse_type(p);
  if (!t) return false;
  vec_push(p->scratch, results, t);
  return true;
}

bool text_parse_function_type(text_parser *p, type_list *inputs, type_list *results) {
  return text_parse_type_list_parens(p, inputs) && text_expect(p, TOK_ARROW, "'->' before the result types") &&
         text_parse_results(p, results);
}

const mlir_type *text_make_function(text_parser *p, const type_list *inputs, const type_list *results) {
  type_list all = {0};
  vec_append(p->scratch, &all, inputs->data, inputs->len);
  vec_append(p->scratch, &all, results->data, results->len);
  mlir_type t = {.kind = MLIR_TYPE_FUNCTION, .n_types = all.len, .n_inputs = inputs->len, .types = all.data};
  return mlir_type_unique(p->types, &t);
}
