// SPDX-License-Identifier: Apache-2.0
// Pretty forms that need more than the format table of text_pretty.c: functions, modules, constants, reduce, while,
// optimization_barrier, scan, convolution windows, dot precision, and the two Shardy operations that exported
// programs carry.
#include "frontend/text_internal.h"

// --- func.func and module ------------------------------------------------------------------------

static const mlir_attr *dict_attr(text_parser *p, const attr_list *entries) {
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_DICT);
  a->n_entries = entries->len;
  a->entries = arena_copy(p->arena, entries->data, (size_t)entries->len * sizeof *entries->data);
  return a;
}

typedef struct signature {
  VEC(block_arg) args;
  type_list inputs, results;
  VEC(const mlir_attr *) arg_attrs, result_attrs;
  bool has_arg_attrs, has_result_attrs, has_names;
} signature;

static bool skip_loc(text_parser *p) {
  if (!text_at_keyword(p, "loc")) return true;
  const loc **slot = ARENA_NEW(p->arena, const loc *);
  return text_parse_loc(p, slot);
}

// %arg0: type {attributes} loc(...), or just types in a declaration.
static bool parse_parameter(text_parser *p, signature *sig) {
  block_arg arg = {.at = p->tok.start};
  attr_list attrs = {0};
  if (p->tok.kind == TOK_PERCENT) {
    arg.name = text_token_name(p);
    sig->has_names = true;
    text_advance(p);
    if (!text_expect(p, TOK_COLON, "':' before the argument's type")) return false;
  }
  arg.type = text_parse_type(p);
  if (!arg.type || !text_parse_optional_attr_dict(p, &attrs) || !skip_loc(p)) return false;
  vec_push(p->scratch, &sig->args, arg);
  vec_push(p->scratch, &sig->inputs, arg.type);
  vec_push(p->scratch, &sig->arg_attrs, dict_attr(p, &attrs));
  if (attrs.len > 0) sig->has_arg_attrs = true;
  return true;
}

static bool parse_result(text_parser *p, signature *sig) {
  attr_list attrs = {0};
  const mlir_type *t = text_parse_type(p);
  if (!t || !text_parse_optional_attr_dict(p, &attrs)) return false;
  vec_push(p->scratch, &sig->results, t);
  vec_push(p->scratch, &sig->result_attrs, dict_attr(p, &attrs));
  if (attrs.len > 0) sig->has_result_attrs = true;
  return true;
}

static bool parse_signature(text_parser *p, signature *sig) {
  if (!text_expect(p, TOK_LPAREN, "'(' before the arguments")) return false;
  if (!text_accept(p, TOK_RPAREN)) {
    do {
      if (!parse_parameter(p, sig)) return false;
    } while (text_accept(p, TOK_COMMA));
    if (!text_expect(p, TOK_RPAREN, "',' or ')' after an argument")) return false;
  }
  if (!text_accept(p, TOK_ARROW)) return true;
  if (p->tok.kind != TOK_LPAREN) {  // one type, without attributes: a '{' begins the body
    const mlir_type *t = text_parse_type(p);
    attr_list none = {0};
    if (!t) return false;
    vec_push(p->scratch, &sig->results, t);
    vec_push(p->scratch, &sig->result_attrs, dict_attr(p, &none));
    return true;
  }
  text_advance(p);
  if (text_accept(p, TOK_RPAREN)) return true;
  do {
    if (!parse_result(p, sig)) return false;
  } while (text_accept(p, TOK_COMMA));
  return text_expect(p, TOK_RPAREN, "',' or ')' after a result type");
}

static bool parse_func(text_parser *p, op_state *s) {
  strv visibility = {0};
  if (text_at_keyword(p, "private") || text_at_keyword(p, "public") || text_at_keyword(p, "nested")) {
    visibility = text_token(p);
    text_advance(p);
  }
  if (p->tok.kind != TOK_AT) return text_expected(p, "a function name, as @main");
  text_add_attr(p, &s->attrs, "sym_name", text_string_attr(p, text_token_name(p)));
  text_advance(p);
  signature sig = {0};
  if (!parse_signature(p, &sig)) return false;
  const mlir_type *type = text_make_function(p, &sig.inputs, &sig.results);
  text_add_attr(p, &s->attrs, "function_type", text_type_attr(p, type));
  if (visibility.len > 0) text_add_attr(p, &s->attrs, "sym_visibility", text_string_attr(p, visibility));
  if (sig.has_arg_attrs)
    text_add_attr(p, &s->attrs, "arg_attrs", text_array_attr(p, sig.arg_attrs.data, sig.arg_attrs.len));
  if (sig.has_result_attrs)
    text_add_attr(p, &s->attrs, "res_attrs", text_array_attr(p, sig.result_attrs.data, sig.result_attrs.len));
  if (text_accept_keyword(p, "attributes") && !text_parse_attr_entries(p, &s->attrs)) return false;
  mlir_region region = {0};
  if (p->tok.kind == TOK_LBRACE) {
    if (sig.args.len > 0 && !sig.has_names)
      return text_error(p, p->tok.start, "a function with a body needs names for its arguments");
    if (!text_parse_region(p, sig.args.data, sig.args.len, true, &region)) return false;
  }
  vec_push(p->scratch, &s->regions, region);
  return true;
}

// @main(%arg0: type) -> (types) {...} {attributes}; the arguments' attributes are among these.
static bool parse_vhlo_func(text_parser *p, op_state *s) {
  if (p->tok.kind != TOK_AT) return text_expected(p, "a function name, as @main");
  text_add_attr(p, &s->attrs, "sym_name", text_string_attr(p, text_token_name(p)));
  text_advance(p);
  signature sig = {0};
  if (!parse_signature(p, &sig)) return false;
  const mlir_type *type = text_make_function(p, &sig.inputs, &sig.results);
  text_add_attr(p, &s->attrs, "function_type", text_type_attr(p, type));
  mlir_region region = {0};
  if (sig.args.len > 0 && !sig.has_names)
    return text_error(p, p->tok.start, "a function with a body needs names for its arguments");
  if (!text_parse_region(p, sig.args.data, sig.args.len, true, &region)) return false;
  if (!region.first->first) region.first = NULL;  // a declaration
  vec_push(p->scratch, &s->regions, region);
  return text_parse_optional_attr_dict(p, &s->attrs);
}

static bool parse_module(text_parser *p, op_state *s) {
  if (p->tok.kind == TOK_AT) {
    text_add_attr(p, &s->attrs, "sym_name", text_string_attr(p, text_token_name(p)));
    text_advance(p);
  }
  if (text_accept_keyword(p, "attributes") && !text_parse_attr_entries(p, &s->attrs)) return false;
  mlir_region region = {0};
  if (!text_parse_region(p, NULL, 0, true, &region)) return false;
  vec_push(p->scratch, &s->regions, region);
  return true;
}

// --- stablehlo.constant --------------------------------------------------------------------------

// {attributes} value, or the generic form without quotes
static bool parse_constant(text_parser *p, op_state *s) {
  if (p->tok.kind == TOK_LPAREN) return text_parse_generic_rest(p, s);
  if (!text_parse_optional_attr_dict(p, &s->attrs)) return false;
  const char *at = p->tok.start;
  const mlir_attr *value = text_parse_attr(p);
  if (!value) return false;
  if (value->kind != MLIR_ATTR_DENSE) return text_error(p, at, "expected a dense value, as dense<0.0> : tensor<f32>");
  text_add_attr(p, &s->attrs, "value", value);
  vec_push(p->scratch, &s->result_types, value->type);
  return true;
}

// --- stablehlo.reduce ----------------------------------------------------------------------------

// (%input init: %init), ...
static bool parse_reduce_operands(text_parser *p, op_state *s) {
  operand_list inits = {0};
  do {
    operand_ref input = {0}, init = {0};
    if (!text_expect(p, TOK_LPAREN, "'(' before an input of the reduction") || !text_parse_operand(p, &input) ||
        !text_expect_keyword(p, "init") || !text_expect(p, TOK_COLON, "':'") || !text_parse_operand(p, &init) ||
        !text_expect(p, TOK_RPAREN, "')'"))
      return false;
    vec_push(p->scratch, &s->operands, input);
    vec_push(p->scratch, &inits, init);
  } while (text_accept(p, TOK_COMMA));
  vec_append(p->scratch, &s->operands, inits.data, inits.len);
  return true;
}

static bool parse_reduce_tail(text_parser *p, op_state *s) {
  if (!text_expect_keyword(p, "across") || !text_expect_keyword(p, "dimensions") || !text_expect(p, TOK_EQUAL, "'='"))
    return false;
  const mlir_attr *dims = text_parse_int_list(p);
  if (!dims) return false;
  text_add_attr(p, &s->attrs, "dimensions", dims);
  return text_parse_optional_attr_dict(p, &s->attrs) && text_expect(p, TOK_COLON, "':' before the types") &&
         text_parse_function_type(p, &s->operand_types, &s->result_types);
}

// The region that "applies stablehlo.add" stands for: one operation on two scalars, and its return.
static bool make_applied_region(text_parser *p, op_state *s, strv inner_name, mlir_region *out) {
  const mlir_type *input = s->operand_types.len > 0 ? s->operand_types.data[0] : NULL;
  if (!input || !input->element) return text_error(p, s->at, "expected tensor types");
  const mlir_type *scalar = text_tensor_type(p, input->element, NULL, 0);
  mlir_block *b = ARENA_NEW(p->arena, mlir_block);
  b->n_args = 2;
  b->args = ARENA_ARRAY(p->arena, mlir_value, 2);
  mlir_op *inner = mlir_op_create(p->arena, inner_name, s->loc, 2, 1, 0, 0);
  for (int i = 0; i < 2; i++) {
    b->args[i].type = scalar;
    b->args[i].block = b;
    b->args[i].index = i;
    inner->operands[i] = &b->args[i];
  }
  inner->results[0].type = scalar;
  mlir_op *ret = mlir_op_create(p->arena, STRV("stablehlo.return"), s->loc, 1, 0, 0, 0);
  ret->operands[0] = &inner->results[0];
  mlir_block_append(b, inner);
  mlir_block_append(b, ret);
  out->first = b;
  return true;
}

static bool parse_applies(text_parser *p, op_state *s) {
  static const char *const commutative[] = {"stablehlo.add",     "stablehlo.multiply", "stablehlo.maximum",
                                            "stablehlo.minimum", "stablehlo.and",      "stablehlo.or",
                                            "stablehlo.xor"};
  strv name = {0};
  const char *at = p->tok.start;
  if (!text_parse_name(p, &name)) return false;
  bool known = false;
  for (size_t i = 0; i < sizeof commutative / sizeof *commutative; i++)
    known = known || strv_eq_cstr(name, commutative[i]);
  if (!known) return text_error(p, at, "expected a commutative operation of two operands, as stablehlo.add");
  mlir_region region = {0};
  if (!parse_reduce_tail(p, s) || !make_applied_region(p, s, text_intern(p, name), &region)) return false;
  vec_push(p->scratch, &s->regions, region);
  s->applied = true;
  return true;
}

bool text_parse_block_arg(text_parser *p, block_arg *out) {
  operand_ref ref = {0};
  if (!text_parse_operand(p, &ref) || !text_expect(p, TOK_COLON, "':' before the argument's type")) return false;
  *out = (block_arg){ref.name, text_parse_type(p), ref.at};
  return out->type && skip_loc(p);
}

static bool parse_reduce(text_parser *p, op_state *s) {
  if (!parse_reduce_operands(p, s)) return false;
  if (text_accept_keyword(p, "applies")) return parse_applies(p, s);
  if (!parse_reduce_tail(p, s) || !skip_loc(p) || !text_expect_keyword(p, "reducer")) return false;
  VEC(block_arg) args = {0}, accumulators = {0};
  while (text_accept(p, TOK_LPAREN)) {
    block_arg a = {0}, b = {0};
    if (!text_parse_block_arg(p, &a) || !text_expect(p, TOK_COMMA, "','") || !text_parse_block_arg(p, &b) ||
        !text_expect(p, TOK_RPAREN, "')'"))
      return false;
    vec_push(p->scratch, &args, a);
    vec_push(p->scratch, &accumulators, b);
  }
  vec_append(p->scratch, &args, accumulators.data, accumulators.len);
  mlir_region region = {0};
  if (!text_parse_region(p, args.data, args.len, false, &region)) return false;
  vec_push(p->scratch, &s->regions, region);
  return true;
}

// --- stablehlo.while -----------------------------------------------------------------------------

// (%i = %init, ...) : types attributes {...} cond {...} do {...}
static bool parse_while(text_parser *p, op_state *s) {
  VEC(block_arg) args = {0};
  if (!text_expect(p, TOK_LPAREN, "'(' before the loop's values")) return false;
  while (p->tok.kind != TOK_RPAREN) {
    operand_ref arg = {0}, init = {0};
    if (!text_parse_operand(p, &arg) || !text_expect(p, TOK_EQUAL, "'='") || !text_parse_operand(p, &init))
      return false;
    block_arg b = {arg.name, NULL, arg.at};
    vec_push(p->scratch, &args, b);
    vec_push(p->scratch, &s->operands, init);
    if (!text_accept(p, TOK_COMMA)) break;
  }
  if (!text_expect(p, TOK_RPAREN, "',' or ')'")) return false;
  if (args.len > 0) {
    const char *at = p->tok.start;
    if (!text_expect(p, TOK_COLON, "':' before the types") || !text_parse_type_list(p, &s->operand_types)) return false;
    if (s->operand_types.len != args.len)
      return text_error(p, at, "%d values, but %d types", args.len, s->operand_types.len);
  }
  for (int i = 0; i < args.len; i++) args.data[i].type = s->operand_types.data[i];
  vec_append(p->scratch, &s->result_types, s->operand_types.data, s->operand_types.len);
  if (!text_resolve_operands(p, s)) return false;
  if (text_accept_keyword(p, "attributes") && !text_parse_attr_entries(p, &s->attrs)) return false;
  static const char *const keywords[] = {"cond", "do"};
  for (int i = 0; i < 2; i++) {
    mlir_region region = {0};
    if (!text_expect_keyword(p, keywords[i]) || !text_parse_region(p, args.data, args.len, false, &region))
      return false;
    vec_push(p->scratch, &s->regions, region);
  }
  return true;
}

// --- other operations ----------------------------------------------------------------------------

// {attributes} %a, %b : types, or ()
static bool parse_barrier(text_parser *p, op_state *s) {
  if (!text_parse_optional_attr_dict(p, &s->attrs)) return false;
  if (text_accept(p, TOK_LPAREN)) return text_expect(p, TOK_RPAREN, "')'");
  if (p->tok.kind != TOK_PERCENT) return text_expected(p, "operands or '()'");
  if (!text_parse_operand_list(p, &s->operands) || !text_expect(p, TOK_COLON, "':' before the types") ||
      !text_parse_type_list(p, &s->operand_types))
    return false;
  vec_append(p->scratch, &s->result_types, s->operand_types.data, s->operand_types.len);
  return true;
}

static const mlir_attr *i32_array(text_parser *p, int32_t a, int32_t b) {
  int32_t values[2] = {a, b};
  mlir_attr *attr = text_new_attr(p, MLIR_ATTR_DENSE_ARRAY);
  attr->type = text_integer_type(p, 32, MLIR_SIGNLESS);
  attr->data = arena_copy(p->arena, values, sizeof values);
  attr->data_size = sizeof values;
  return attr;
}

// (inputs) inits (inits) dimension = 0 attributes {...} {region} : (types) -> types
static bool parse_scan(text_parser *p, op_state *s) {
  int64_t dimension = 0;
  if (!text_expect(p, TOK_LPAREN, "'(' before the inputs") || !text_parse_operand_list(p, &s->operands) ||
      !text_expect(p, TOK_RPAREN, "',' or ')'"))
    return false;
  int32_t n_inputs = s->operands.len;
  if (!text_expect_keyword(p, "inits") || !text_expect(p, TOK_LPAREN, "'('") ||
      !text_parse_operand_list(p, &s->operands) || !text_expect(p, TOK_RPAREN, "',' or ')'") ||
      !text_expect_keyword(p, "dimension") || !text_expect(p, TOK_EQUAL, "'='") || !text_parse_integer(p, &dimension))
    return false;
  int32_t n_carries = s->operands.len - n_inputs;
  if (text_accept_keyword(p, "attributes") && !text_parse_attr_entries(p, &s->attrs)) return false;
  mlir_region region = {0};
  if (!text_parse_region(p, NULL, -1, true, &region) || !text_expect(p, TOK_COLON, "':' before the types") ||
      !text_parse_function_type(p, &s->operand_types, &s->result_types))
    return false;
  if (s->result_types.len < n_carries) return text_error(p, s->at, "fewer results than inits");
  vec_push(p->scratch, &s->regions, region);
  text_add_attr(p, &s->attrs, "dimension", text_int_attr(p, text_integer_type(p, 64, MLIR_SIGNLESS), dimension));
  text_add_attr(p, &s->attrs, "operandSegmentSizes", i32_array(p, n_inputs, n_carries));
  text_add_attr(p, &s->attrs, "resultSegmentSizes", i32_array(p, s->result_types.len - n_carries, n_carries));
  return true;
}

text_op_parser text_find_custom(strv name) {
  static const struct {
    const char *name;
    text_op_parser parse;
  } table[] = {
      {"stablehlo.constant", parse_constant},
      {"stablehlo.reduce", parse_reduce},
      {"stablehlo.while", parse_while},
      {"func.func", parse_func},
      {"vhlo.func_v1", parse_vhlo_func},
      {"builtin.module", parse_module},
      {"stablehlo.optimization_barrier", parse_barrier},
      {"chlo.scan", parse_scan},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (strv_eq_cstr(name, table[i].name)) return table[i].parse;
  return text_find_sdy(name);
}

// --- parts that the format table names -----------------------------------------------------------

// precision = [HIGH, HIGH]
static bool parse_precision_list(text_parser *p, op_state *s) {
  VEC(const mlir_attr *) items = {0};
  if (!text_expect(p, TOK_EQUAL, "'='") || !text_expect(p, TOK_LSQUARE, "'['")) return false;
  while (p->tok.kind != TOK_RSQUARE) {
    const mlir_attr *a = text_parse_enum(p, STRV("stablehlo"), STRV("precision"));
    if (!a) return false;
    vec_push(p->scratch, &items, a);
    if (!text_accept(p, TOK_COMMA)) break;
  }
  text_add_attr(p, &s->attrs, "precision_config", text_array_attr(p, items.data, items.len));
  return text_expect(p, TOK_RSQUARE, "',' or ']'");
}

// Nothing, or ", precision = [...]", with an algorithm also ", algorithm = <...>".
bool text_parse_precision(text_parser *p, op_state *s, bool with_algorithm) {
  if (!text_accept(p, TOK_COMMA)) return true;
  bool has_precision = text_accept_keyword(p, "precision");
  if (has_precision) {
    if (!parse_precision_list(p, s)) return false;
    if (!with_algorithm || !text_accept(p, TOK_COMMA)) return true;
  }
  if (!with_algorithm) return text_expected(p, "'precision'");
  if (!text_expect_keyword(p, "algorithm") || !text_expect(p, TOK_EQUAL, "'='")) return false;
  const mlir_attr *a =
      p->tok.kind == TOK_HASH ? text_parse_attr(p) : text_parse_struct(p, STRV("stablehlo"), "dot_algorithm");
  if (a) text_add_attr(p, &s->attrs, "algorithm", a);
  return a != NULL;
}

// pad = [[low, high], ...] as a dense tensor<nx2xi64>
static const mlir_attr *parse_padding(text_parser *p) {
  VEC(int64_t) values = {0};
  if (!text_expect(p, TOK_LSQUARE, "'['")) return NULL;
  while (p->tok.kind != TOK_RSQUARE) {
    int64_t low = 0, high = 0;
    if (!text_expect(p, TOK_LSQUARE, "'[' of a pair") || !text_parse_integer(p, &low) ||
        !text_expect(p, TOK_COMMA, "','") || !text_parse_integer(p, &high) || !text_expect(p, TOK_RSQUARE, "']'"))
      return NULL;
    vec_push(p->scratch, &values, low);
    vec_push(p->scratch, &values, high);
    if (!text_accept(p, TOK_COMMA)) break;
  }
  if (!text_expect(p, TOK_RSQUARE, "',' or ']'")) return NULL;
  int64_t dims[2] = {values.len / 2, 2};
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_DENSE);
  a->type = text_tensor_type(p, text_integer_type(p, 64, MLIR_SIGNLESS), dims, 2);
  a->data_size = (size_t)values.len * sizeof(int64_t);
  a->data = arena_copy(p->arena, values.data, a->data_size);
  return a;
}

// reverse = [false, true] (also 0, 1) as array<i1: ...>
static const mlir_attr *parse_reversal(text_parser *p) {
  VEC(unsigned char) values = {0};
  if (!text_expect(p, TOK_LSQUARE, "'['")) return NULL;
  while (p->tok.kind != TOK_RSQUARE) {
    int64_t v = 0;
    if (text_accept_keyword(p, "true"))
      v = 1;
    else if (!text_accept_keyword(p, "false") && !text_parse_integer(p, &v))
      return NULL;
    vec_push(p->scratch, &values, (unsigned char)(v != 0));
    if (!text_accept(p, TOK_COMMA)) break;
  }
  if (!text_expect(p, TOK_RSQUARE, "',' or ']'")) return NULL;
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_DENSE_ARRAY);
  a->type = text_integer_type(p, 1, MLIR_SIGNLESS);
  a->data_size = (size_t)values.len;
  a->data = arena_copy(p->arena, values.data, a->data_size);
  return a;
}

// {stride = [..], pad = [[..]], lhs_dilate = [..], rhs_dilate = [..], reverse = [..]}
bool text_parse_window(text_parser *p, op_state *s) {
  static const char *const words[] = {"stride", "pad", "lhs_dilate", "rhs_dilate", "reverse"};
  static const char *const names[] = {"window_strides", "padding", "lhs_dilation", "rhs_dilation", "window_reversal"};
  if (!text_expect(p, TOK_LBRACE, "'{' of the window")) return false;
  while (p->tok.kind != TOK_RBRACE) {
    int i = 0;
    while (i < 5 && !text_at_keyword(p, words[i])) i++;
    if (i == 5) return text_expected(p, "stride, pad, lhs_dilate, rhs_dilate or reverse");
    text_advance(p);
    if (!text_expect(p, TOK_EQUAL, "'='")) return false;
    const mlir_attr *a = i == 1 ? parse_padding(p) : i == 4 ? parse_reversal(p) : text_parse_int_list(p);
    if (!a) return false;
    text_add_attr(p, &s->attrs, names[i], a);
    if (!text_accept(p, TOK_COMMA)) break;
  }
  return text_expect(p, TOK_RBRACE, "',' or '}'");
}
