// SPDX-License-Identifier: Apache-2.0
// VHLO in text, as StableHLO's --stablehlo-legalize-to-vhlo prints it: types, attributes and operations become what
// they stand for while they are parsed, as the bytecode reader does (bytecode_vhlo.c). What a version's attributes are
// under StableHLO's names is bytecode_upgrade.c's knowledge, for both.
#include <string.h>

#include "frontend/bytecode.h"
#include "frontend/text_internal.h"

// "tensor" of "tensor_v1"; what comes behind the last "_v" says the version of the form, and forms have had but one so
// far.
strv text_vhlo_unversioned(strv name) {
  for (size_t n = name.len; n >= 2; n--)
    if (name.data[n - 2] == '_' && name.data[n - 1] == 'v') return strv_take(name, n - 2);
  return name;
}

// --- types ---------------------------------------------------------------------------------------

// storage : expressed, then of a type with one scale  scale : zero point, else  axis, [scales], [zero points];
// then  least : greatest stored value, flags (1: signed).
static const mlir_type *parse_quant(text_parser *p, bool per_axis) {
  mlir_quant q = {.axis = -1};
  VEC(double) scales = {0};
  VEC(int64_t) zero_points = {0};
  int64_t integer = 0, flags = 0;
  double real = 0;
  const char *at = p->tok.start;
  if (!text_expect(p, TOK_LESS, "'<'") || !(q.storage = text_parse_type(p)) || !text_expect(p, TOK_COLON, "':'") ||
      !(q.expressed = text_parse_type(p)) || !text_expect(p, TOK_COMMA, "','"))
    return NULL;
  if (per_axis) {
    if (!text_parse_integer(p, &integer) || !text_expect(p, TOK_COMMA, "','")) return NULL;
    if (integer < 0 || integer > INT32_MAX) return text_error(p, at, "quantized dimension is out of range"), NULL;
    q.axis = (int32_t)integer;
    if (!text_expect(p, TOK_LSQUARE, "'[' of the scales")) return NULL;
    do {
      if (!text_parse_float(p, &real)) return NULL;
      vec_push(p->scratch, &scales, real);
    } while (text_accept(p, TOK_COMMA));
    if (!text_expect(p, TOK_RSQUARE, "']'") || !text_expect(p, TOK_COMMA, "','") ||
        !text_expect(p, TOK_LSQUARE, "'[' of the zero points"))
      return NULL;
    do {
      if (!text_parse_integer(p, &integer)) return NULL;
      vec_push(p->scratch, &zero_points, integer);
    } while (text_accept(p, TOK_COMMA));
    if (!text_expect(p, TOK_RSQUARE, "']'")) return NULL;
  } else {
    if (!text_parse_float(p, &real) || !text_expect(p, TOK_COLON, "':'") || !text_parse_integer(p, &integer))
      return NULL;
    vec_push(p->scratch, &scales, real);
    vec_push(p->scratch, &zero_points, integer);
  }
  if (!text_expect(p, TOK_COMMA, "','") || !text_parse_integer(p, &q.storage_min) ||
      !text_expect(p, TOK_COLON, "':'") || !text_parse_integer(p, &q.storage_max) ||
      !text_expect(p, TOK_COMMA, "','") || !text_parse_integer(p, &flags) || !text_expect(p, TOK_GREATER, "'>'"))
    return NULL;
  if (q.storage->kind != MLIR_TYPE_INTEGER || q.expressed->kind != MLIR_TYPE_FLOAT)
    return text_error(p, at, "bad storage or expressed type of a quantized type"), NULL;
  if (scales.len != zero_points.len)
    return text_error(p, at, "%d scales but %d zero points", scales.len, zero_points.len), NULL;
  q.storage = text_integer_type(p, q.storage->width, flags & 1 ? MLIR_SIGNLESS : MLIR_UNSIGNED);
  q.n_scales = scales.len;
  q.scales = scales.data;
  q.zero_points = zero_points.data;
  mlir_type t = {.kind = MLIR_TYPE_QUANTIZED, .quant = &q};
  return mlir_type_unique(p->types, &t);
}

// Types up to `end`; an empty list is "()".
static bool parse_type_array(text_parser *p, tok_kind end, type_list *out) {
  if (p->tok.kind == end) return true;
  if (text_accept(p, TOK_LPAREN)) return text_expect(p, TOK_RPAREN, "')'");
  return text_parse_type_list(p, out);
}

// <(inputs) -> outputs>
static const mlir_type *parse_function(text_parser *p) {
  type_list inputs = {0}, outputs = {0};
  if (!text_expect(p, TOK_LESS, "'<'") || !text_expect(p, TOK_LPAREN, "'('") ||
      !parse_type_array(p, TOK_RPAREN, &inputs) || !text_expect(p, TOK_RPAREN, "')'") ||
      !text_expect(p, TOK_ARROW, "'->'") || !parse_type_array(p, TOK_GREATER, &outputs) ||
      !text_expect(p, TOK_GREATER, "'>'"))
    return NULL;
  return text_make_function(p, &inputs, &outputs);
}

const mlir_type *text_parse_vhlo_type(text_parser *p) {
  const char *at = p->tok.start;
  strv name = text_token_name(p), word = text_vhlo_unversioned(strv_drop(name, sizeof "vhlo." - 1));
  mlir_type leaf = {.kind = MLIR_TYPE_TOKEN};
  text_advance(p);
  if (strv_eq_cstr(word, "token")) return mlir_type_unique(p->types, &leaf);
  if (strv_eq_cstr(word, "tensor")) return text_parse_tensor_body(p);
  if (strv_eq_cstr(word, "buffer")) return text_parse_shaped_body(p, MLIR_TYPE_MEMREF);
  if (strv_eq_cstr(word, "complex")) return text_parse_complex_body(p);
  if (strv_eq_cstr(word, "tuple")) return text_parse_tuple_body(p, MLIR_TYPE_TUPLE);
  if (strv_eq_cstr(word, "future")) return text_parse_tuple_body(p, MLIR_TYPE_FUTURE);
  if (strv_eq_cstr(word, "func")) return parse_function(p);
  if (strv_eq_cstr(word, "quant") || strv_eq_cstr(word, "quant_per_axis")) return parse_quant(p, word.len > 5);
  if (strv_eq_cstr(word, "unranked_tensor")) {
    leaf.kind = MLIR_TYPE_UNRANKED_TENSOR;
    if (!text_expect(p, TOK_LESS, "'<'") || !(leaf.element = text_parse_type(p)) || !text_expect(p, TOK_GREATER, "'>'"))
      return NULL;
    return mlir_type_unique(p->types, &leaf);
  }
  // VHLO's names for these two have a story of their own.
  if (strv_eq_cstr(word, "bool")) word = STRV("i1");
  if (strv_eq_cstr(word, "tf31")) word = STRV("tf32");
  const mlir_type *t = text_leaf_type(p, word);
  if (!t) text_error(p, at, "'!" STRV_FMT "' is no type of VHLO that is known", STRV_ARG(name));
  return t;
}

// --- attributes ----------------------------------------------------------------------------------

// {#vhlo.string_v1<"name"> = value, ...}
static const mlir_attr *parse_dict(text_parser *p) {
  attr_list entries = {0};
  if (!text_expect(p, TOK_LBRACE, "'{'")) return NULL;
  while (p->tok.kind != TOK_RBRACE) {
    const char *at = p->tok.start;
    const mlir_attr *name = text_parse_attr(p);
    if (!name) return NULL;
    if (name->kind != MLIR_ATTR_STRING) return text_error(p, at, "expected a string as name"), NULL;
    mlir_named_attr entry = {.name = text_intern(p, name->string)};
    if (!text_expect(p, TOK_EQUAL, "'='") || !(entry.value = text_parse_attr(p))) return NULL;
    vec_push(p->scratch, &entries, entry);
    if (!text_accept(p, TOK_COMMA)) break;
  }
  if (!text_expect(p, TOK_RBRACE, "',' or '}'")) return NULL;
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_DICT);
  a->n_entries = entries.len;
  a->entries = arena_copy(p->arena, entries.data, (size_t)entries.len * sizeof *entries.data);
  return a;
}

static const mlir_attr *parse_body(text_parser *p, strv word) {
  strv text = {0};
  if (strv_eq_cstr(word, "string")) return text_parse_string(p, &text) ? text_string_attr(p, text) : NULL;
  if (strv_eq_cstr(word, "dict")) return parse_dict(p);
  if (!strv_eq_cstr(word, "type")) return text_parse_attr(p);
  const mlir_type *t = text_parse_type(p);
  return t ? text_type_attr(p, t) : NULL;
}

bool text_parse_vhlo_attr(text_parser *p, strv mnemonic, const mlir_attr **out) {
  static const char *const plain[] = {"string", "dict", "type", "array", "bool", "float", "integer", "tensor"};
  strv word = text_vhlo_unversioned(mnemonic);
  size_t i = 0;
  while (i < sizeof plain / sizeof *plain && !strv_eq_cstr(word, plain[i])) i++;
  if (i == sizeof plain / sizeof *plain) return false;
  text_advance(p);
  *out = NULL;
  if (!text_expect(p, TOK_LESS, "'<'")) return true;
  const mlir_attr *a = parse_body(p, word);
  if (a && text_expect(p, TOK_GREATER, "'>'")) *out = a;
  return true;
}

// --- operations ----------------------------------------------------------------------------------

bool text_upgrade_vhlo(text_parser *p, op_state *s) {
  const vhlo_op_info *info = vhlo_op_find(s->name);
  if (!info) return text_error(p, s->at, "operation '" STRV_FMT "' is not known", STRV_ARG(s->name));
  bc_reader r = {.arena = p->arena, .scratch = p->scratch, .types = p->types};
  mlir_named_attr *attrs = NULL;
  int n = 0;
  if (!bc_upgrade_attrs(&r, info, s->attrs.data, s->attrs.len, 0, &attrs, &n))
    return text_error(p, s->at, "%s", r.message);
  s->attrs.len = 0;
  vec_append(p->scratch, &s->attrs, attrs, n);
  s->name = strv_from_cstr(info->target);
  if (!strv_eq_cstr(s->name, "func.func")) return true;
  for (int i = 0; i < s->regions.len; i++)  // VHLO has one return
    for (mlir_block *b = s->regions.data[i].first; b; b = b->next)
      if (b->last && strv_eq_cstr(b->last->name, "stablehlo.return")) b->last->name = STRV("func.return");
  return true;
}
