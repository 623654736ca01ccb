// SPDX-License-Identifier: Apache-2.0
// Pretty forms of Shardy's operations. Its attributes are kept as their text, as the bytecode reader makes it.
//
// Most are: an attribute, the operand, an attribute behind a keyword, the type. A row of the table says which.
#include <string.h>

#include "frontend/text_internal.h"

// Something in brackets, as the opaque attribute prefix<...>.
static const mlir_attr *opaque_body(text_parser *p, const char *prefix, const char *suffix) {
  if (p->tok.kind != TOK_LESS && p->tok.kind != TOK_LSQUARE && p->tok.kind != TOK_LBRACE)
    return text_expected(p, "'<', '[' or '{' of an attribute"), NULL;
  const char *start = p->tok.start, *end = text_skip_balanced(p, start);
  if (!end) return NULL;
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_OPAQUE);
  a->string = strv_from_cstr(arena_printf(p->arena, "%s" STRV_FMT "%s", prefix, (int)(end - start), start, suffix));
  text_seek(p, end);
  return a;
}

static bool add_body(text_parser *p, op_state *s, const char *name, const char *prefix, const char *suffix) {
  const mlir_attr *a = opaque_body(p, prefix, suffix);
  if (a) text_add_attr(p, &s->attrs, name, a);
  return a != NULL;
}

// sdy.mesh @mesh = <["x"=2]>
static bool parse_mesh(text_parser *p, op_state *s) {
  if (p->tok.kind != TOK_AT) return text_expected(p, "a mesh name, as @mesh");
  text_add_attr(p, &s->attrs, "sym_name", text_string_attr(p, text_token_name(p)));
  text_advance(p);
  return text_expect(p, TOK_EQUAL, "'='") && add_body(p, s, "mesh", "#sdy.mesh", "") &&
         text_parse_optional_attr_dict(p, &s->attrs);
}

// --- one operand ---------------------------------------------------------------------------------

typedef enum value_kind { SHARDING, INTEGER, KEYWORD } value_kind;

typedef struct simple_format {
  const char *name, *before, *keyword, *attr;  // before: NULL if nothing; keyword "": none, attr: behind it
  value_kind kind;
  bool optional, no_result;
} simple_format;

static const simple_format SIMPLE[] = {
    // sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : type
    {.name = "sdy.sharding_constraint", .keyword = "", .attr = "sharding"},
    {.name = "sdy.reshard", .keyword = "", .attr = "sharding"},
    // sdy.all_gather [{"x"}, {}] %0 out_sharding=<@mesh, [{}, {}]> : type
    {.name = "sdy.all_gather", .before = "gathering_axes", .keyword = "out_sharding", .attr = "out_sharding"},
    {.name = "sdy.all_slice", .before = "slicing_axes", .keyword = "out_sharding", .attr = "out_sharding"},
    {.name = "sdy.all_to_all", .before = "params", .keyword = "out_sharding", .attr = "out_sharding"},
    {.name = "sdy.all_reduce", .before = "reduction_axes", .keyword = "out_sharding", .attr = "out_sharding"},
    {.name = "sdy.reduce_scatter", .before = "reduce_scatter_axes", .keyword = "out_sharding", .attr = "out_sharding"},
    {.name = "sdy.collective_permute", .keyword = "out_sharding", .attr = "out_sharding"},
    {.name = "sdy.replicated_to_unreduced", .before = "axes", .keyword = "out_sharding", .attr = "out_sharding"},
    {.name = "sdy.sharded_to_unreduced", .before = "axes", .keyword = "out_sharding", .attr = "out_sharding"},
    {.name = "sdy.data_flow_edge", .keyword = "sharding", .attr = "sharding", .optional = true},
    {.name = "sdy.propagation_barrier", .keyword = "allowed_direction", .attr = "allowed_direction", .kind = KEYWORD},
    {.name = "sdy.sharding_group", .keyword = "group_id", .attr = "group_id", .kind = INTEGER, .no_result = true},
};

static bool parse_value(text_parser *p, op_state *s, const simple_format *f) {
  int64_t x = 0;
  strv word = {0};
  switch (f->kind) {
    case SHARDING: return add_body(p, s, f->attr, "#sdy.sharding", "");
    case INTEGER:
      if (!text_parse_integer(p, &x)) return false;
      text_add_attr(p, &s->attrs, f->attr, text_int_attr(p, text_integer_type(p, 64, MLIR_SIGNLESS), x));
      return true;
    case KEYWORD: break;
  }
  if (!text_parse_name(p, &word)) return false;
  text_add_attr(p, &s->attrs, f->attr, text_string_attr(p, text_intern(p, word)));
  return true;
}

static bool parse_simple(text_parser *p, op_state *s) {
  const simple_format *f = SIMPLE;
  operand_ref ref = {0};
  while (!strv_eq_cstr(s->name, f->name)) f++;
  if (f->before && !add_body(p, s, f->before, "", "")) return false;
  if (!text_parse_operand(p, &ref)) return false;
  vec_push(p->scratch, &s->operands, ref);
  if (!f->optional || text_at_keyword(p, f->keyword)) {
    if (*f->keyword && (!text_expect_keyword(p, f->keyword) || !text_expect(p, TOK_EQUAL, "'='"))) return false;
    if (!parse_value(p, s, f)) return false;
  }
  if (!text_parse_optional_attr_dict(p, &s->attrs) || !text_expect(p, TOK_COLON, "':' before the type")) return false;
  const mlir_type *t = text_parse_type(p);
  if (!t) return false;
  vec_push(p->scratch, &s->operand_types, t);
  if (!f->no_result) vec_push(p->scratch, &s->result_types, t);
  return true;
}

// --- regions -------------------------------------------------------------------------------------

// keyword=[<...>, ...] if it is there
static bool parse_shardings(text_parser *p, op_state *s, const char *keyword, bool required) {
  if (!required && !text_at_keyword(p, keyword)) return true;
  return text_expect_keyword(p, keyword) && text_expect(p, TOK_EQUAL, "'='") &&
         add_body(p, s, keyword, "#sdy.sharding_per_value<", ">");
}

// (%arg: type, ...) {region} attributes : (types) -> types
static bool parse_body(text_parser *p, op_state *s) {
  VEC(block_arg) args = {0};
  mlir_region region = {0};
  if (!text_expect(p, TOK_LPAREN, "'(' before the region's arguments")) return false;
  while (p->tok.kind != TOK_RPAREN) {
    block_arg a = {0};
    if (!text_parse_block_arg(p, &a)) return false;
    vec_push(p->scratch, &args, a);
    if (!text_accept(p, TOK_COMMA)) break;
  }
  if (!text_expect(p, TOK_RPAREN, "',' or ')'") || !text_parse_region(p, args.data, args.len, true, &region))
    return false;
  vec_push(p->scratch, &s->regions, region);
  return text_parse_optional_attr_dict(p, &s->attrs) && text_expect(p, TOK_COLON, "':' before the types") &&
         text_parse_function_type(p, &s->operand_types, &s->result_types);
}

static bool parse_operands(text_parser *p, op_state *s) {
  return text_expect(p, TOK_LPAREN, "'(' before the operands") && text_parse_operand_list(p, &s->operands) &&
         text_expect(p, TOK_RPAREN, "',' or ')' after an operand");
}

static bool parse_manual(text_parser *p, op_state *s) {
  return parse_operands(p, s) && parse_shardings(p, s, "in_shardings", true) &&
         parse_shardings(p, s, "out_shardings", true) && text_expect_keyword(p, "manual_axes") &&
         text_expect(p, TOK_EQUAL, "'='") && add_body(p, s, "manual_axes", "#sdy<manual_axes", ">") && parse_body(p, s);
}

// sdy.named_computation<"name">(%0) in_shardings=[..] out_shardings=[..] (%arg: type) {...} : (type) -> type
static bool parse_named(text_parser *p, op_state *s) {
  strv name = {0};
  if (!text_expect(p, TOK_LESS, "'<'") || !text_parse_string(p, &name) || !text_expect(p, TOK_GREATER, "'>'"))
    return false;
  text_add_attr(p, &s->attrs, "name", text_string_attr(p, name));
  return parse_operands(p, s) && parse_shardings(p, s, "in_shardings", false) &&
         parse_shardings(p, s, "out_shardings", false) && parse_body(p, s);
}

text_op_parser text_find_sdy(strv name) {
  if (strv_eq_cstr(name, "sdy.mesh")) return parse_mesh;
  if (strv_eq_cstr(name, "sdy.manual_computation")) return parse_manual;
  if (strv_eq_cstr(name, "sdy.named_computation")) return parse_named;
  for (size_t i = 0; i < sizeof SIMPLE / sizeof *SIMPLE; i++)
    if (strv_eq_cstr(name, SIMPLE[i].name)) return parse_simple;
  return NULL;
}
