// SPDX-License-Identifier: Apache-2.0
// Pretty forms of operations: a table of formats and their interpreter.
//
// A format is a list of directives, separated by blanks, in the order of the text:
//   %        one operand                     %*       operands separated by commas, maybe none
//   %*,      operands, each with a comma behind it
//   , ( ) [ ] = : ->                         that token
//   'word'   that keyword                    D        attribute dictionary, maybe absent
//   i64=a i32=a ui64=a f64=a bool=a          attribute a of that type, written without the type (a typed one is fine)
//   ints=a   [1, 2]      str=a  "text"       attr=a   any attribute
//   sym=a    @name, kept as a string         enum=a/m keyword of the enumeration m
//   ?X ... ; the directives up to ';' only if the next token is X (',', ':' or '(')
// and for types:
//   F  (operand types) -> result types       S        one type for all operands and the result, or F
//   R  list of result types                  T        list of operand types
//   O  one type for all operands             V        the operands have attribute value's type
//   W  the result has attribute value's type
// Other words are functions (see CUSTOM below). Operations with syntax beyond that are in text_pretty_ops.c.
#include <string.h>

#include "frontend/text_internal.h"
#include "hlo/hlo.h"

typedef struct pretty_format {
  const char *name, *format;
} pretty_format;

#define UNARY "% D : S"
#define BINARY "% , % D : S"
#define FUNCTIONAL "%* D : F"
#define CHLO_UNARY "% D : T -> R"
#define CHLO_BINARY "% , % D : T -> R"
#define NO_OPERANDS "D : R"

static const pretty_format FORMATS[] = {
    // elementwise
    {"stablehlo.abs", UNARY},
    {"stablehlo.cbrt", UNARY},
    {"stablehlo.ceil", UNARY},
    {"stablehlo.convert", UNARY},
    {"stablehlo.count_leading_zeros", UNARY},
    {"stablehlo.cosine", UNARY},
    {"stablehlo.exponential", UNARY},
    {"stablehlo.exponential_minus_one", UNARY},
    {"stablehlo.floor", UNARY},
    {"stablehlo.imag", UNARY},
    {"stablehlo.is_finite", UNARY},
    {"stablehlo.log", UNARY},
    {"stablehlo.log_plus_one", UNARY},
    {"stablehlo.logistic", UNARY},
    {"stablehlo.not", UNARY},
    {"stablehlo.negate", UNARY},
    {"stablehlo.popcnt", UNARY},
    {"stablehlo.real", UNARY},
    {"stablehlo.round_nearest_afz", UNARY},
    {"stablehlo.round_nearest_even", UNARY},
    {"stablehlo.rsqrt", UNARY},
    {"stablehlo.sign", UNARY},
    {"stablehlo.sine", UNARY},
    {"stablehlo.sqrt", UNARY},
    {"stablehlo.tan", UNARY},
    {"stablehlo.tanh", UNARY},
    {"stablehlo.uniform_quantize", UNARY},
    {"stablehlo.uniform_dequantize", UNARY},
    {"stablehlo.add", BINARY},
    {"stablehlo.atan2", BINARY},
    {"stablehlo.divide", BINARY},
    {"stablehlo.maximum", BINARY},
    {"stablehlo.minimum", BINARY},
    {"stablehlo.multiply", BINARY},
    {"stablehlo.power", BINARY},
    {"stablehlo.remainder", BINARY},
    {"stablehlo.shift_left", BINARY},
    {"stablehlo.shift_right_arithmetic", BINARY},
    {"stablehlo.shift_right_logical", BINARY},
    {"stablehlo.subtract", BINARY},
    {"stablehlo.and", BINARY},
    {"stablehlo.or", BINARY},
    {"stablehlo.xor", BINARY},
    {"stablehlo.complex", "% , % D : complex_types"},
    {"stablehlo.compare",
     "enum=comparison_direction/comparison_direction , % , % "
     "?, , enum=compare_type/comparison_type ; D : F"},
    {"stablehlo.select", "% , % , % D : select_types"},
    {"stablehlo.clamp", "% , % , % D : S"},
    // shape and data movement
    {"stablehlo.iota", "'dim' = i64=iota_dimension D : R"},
    {"stablehlo.dynamic_iota", "% , 'dim' = i64=iota_dimension D : F"},
    {"stablehlo.reshape", FUNCTIONAL},
    {"stablehlo.dynamic_reshape", FUNCTIONAL},
    {"stablehlo.bitcast_convert", FUNCTIONAL},
    {"stablehlo.dynamic_update_slice", FUNCTIONAL},
    {"stablehlo.real_dynamic_slice", FUNCTIONAL},
    {"stablehlo.dynamic_pad", FUNCTIONAL},
    {"stablehlo.broadcast", "% , 'sizes' = ints=broadcast_sizes D : F"},
    {"stablehlo.broadcast_in_dim", "% , 'dims' = ints=broadcast_dimensions D : F"},
    {"stablehlo.dynamic_broadcast_in_dim", "% , % , 'dims' = ints=broadcast_dimensions D : F"},
    {"stablehlo.concatenate", "%*, 'dim' = i64=dimension D : F"},
    {"stablehlo.slice", "% slice_ranges D : F"},
    {"stablehlo.dynamic_slice", "% , %*, 'sizes' = ints=slice_sizes D : F"},
    {"stablehlo.pad",
     "% , % , 'low' = ints=edge_padding_low , 'high' = ints=edge_padding_high , "
     "'interior' = ints=interior_padding D : F"},
    {"stablehlo.transpose", "% , 'dims' = ints=permutation D : F"},
    {"stablehlo.reverse", "% , 'dims' = ints=dimensions D : S"},
    {"stablehlo.get_dimension_size", "% , 'dim' = i64=dimension D : F"},
    {"stablehlo.set_dimension_size", "% , % , 'dim' = i64=dimension D : F"},
    // linear algebra and others
    {"stablehlo.dot", "% , % precision D : F"},
    {"stablehlo.dot_general", "% , % , dot_dimensions precision_algorithm D : F"},
    {"stablehlo.convolution", "( %* ) 'dim_numbers' = conv_dimensions , 'window' = window D : F"},
    {"stablehlo.einsum", "% , % , 'config' = str=einsum_config D : F"},
    {"stablehlo.unary_einsum", "% , 'config' = str=einsum_config D : F"},
    {"stablehlo.cholesky", "% ?, , 'lower' = bool=lower ; D : S"},
    {"stablehlo.fft", "% , 'type' = enum=fft_type/fft_type , 'length' = ints=fft_length D : F"},
    {"stablehlo.rng", "% , % , % , 'distribution' = enum=rng_distribution/rng_distribution D : F"},
    {"stablehlo.rng_bit_generator", "% , 'algorithm' = enum=rng_algorithm/rng_algorithm D : F"},
    {"stablehlo.reduce_precision", "% , 'format' = exponent_mantissa D : S"},
    // control, tuples, tokens
    {"stablehlo.return", "%* D ?: : T ;"},
    {"func.return", "%* D ?: : T ;"},
    {"sdy.return", "%* D ?: : T ;"},
    {"func.call", "symbol=callee ( %* ) D : F"},
    {"stablehlo.custom_call", "sym=call_target_name ( %* ) D : F"},
    {"stablehlo.composite", "str=name %* ?( ( regions ) ; D : F"},
    {"stablehlo.create_token", NO_OPERANDS},
    {"stablehlo.replica_id", NO_OPERANDS},
    {"stablehlo.partition_id", NO_OPERANDS},
    {"stablehlo.after_all", "%* D : S"},
    {"stablehlo.get_tuple_element", "% [ i32=index ] D : F"},
    {"stablehlo.tuple", "%* D : tuple_types"},
    // chlo
    {"chlo.broadcast_add", "% , % D : F"},
    {"chlo.broadcast_atan2", "% , % D : F"},
    {"chlo.broadcast_divide", "% , % D : F"},
    {"chlo.broadcast_maximum", "% , % D : F"},
    {"chlo.broadcast_minimum", "% , % D : F"},
    {"chlo.broadcast_multiply", "% , % D : F"},
    {"chlo.broadcast_next_after", "% , % D : F"},
    {"chlo.broadcast_polygamma", "% , % D : F"},
    {"chlo.broadcast_power", "% , % D : F"},
    {"chlo.broadcast_remainder", "% , % D : F"},
    {"chlo.broadcast_shift_left", "% , % D : F"},
    {"chlo.broadcast_shift_right_arithmetic", "% , % D : F"},
    {"chlo.broadcast_shift_right_logical", "% , % D : F"},
    {"chlo.broadcast_subtract", "% , % D : F"},
    {"chlo.broadcast_zeta", "% , % D : F"},
    {"chlo.broadcast_and", "% , % D : F"},
    {"chlo.broadcast_or", "% , % D : F"},
    {"chlo.broadcast_xor", "% , % D : F"},
    {"chlo.broadcast_complex", "% , % D : F"},
    {"chlo.broadcast_compare", "% , % D : F"},
    {"chlo.broadcast_select", "% , % , % D : F"},
    {"chlo.next_after", CHLO_BINARY},
    {"chlo.polygamma", CHLO_BINARY},
    {"chlo.zeta", CHLO_BINARY},
    {"chlo.mulhi", CHLO_BINARY},
    {"chlo._asin_acos_kernel", CHLO_UNARY},
    {"chlo.acos", CHLO_UNARY},
    {"chlo.acosh", CHLO_UNARY},
    {"chlo.asin", CHLO_UNARY},
    {"chlo.asinh", CHLO_UNARY},
    {"chlo.atan", CHLO_UNARY},
    {"chlo.atanh", CHLO_UNARY},
    {"chlo.bessel_i1e", CHLO_UNARY},
    {"chlo.conj", CHLO_UNARY},
    {"chlo.cosh", CHLO_UNARY},
    {"chlo.sinh", CHLO_UNARY},
    {"chlo.tan", CHLO_UNARY},
    {"chlo.digamma", CHLO_UNARY},
    {"chlo.erf", CHLO_UNARY},
    {"chlo.erf_inv", CHLO_UNARY},
    {"chlo.erfc", CHLO_UNARY},
    {"chlo.is_inf", CHLO_UNARY},
    {"chlo.is_neg_inf", CHLO_UNARY},
    {"chlo.is_pos_inf", CHLO_UNARY},
    {"chlo.lgamma", CHLO_UNARY},
    {"chlo.square", CHLO_UNARY},
    {"chlo.top_k", "( % , 'k' = i64=k ?, , 'is_stable' = bool=is_stable ; ) D : T -> R"},
    {"chlo.constant", "D attr=value W"},
    // check
    {"check.expect_eq", "% , % D : O"},
    {"check.expect_eq_const", "% , attr=value D V"},
    {"check.expect_almost_eq", "% , % ?, , 'tolerance' = f64=tolerance ; D : O"},
    {"check.expect_almost_eq_const", "% , attr=value ?, , 'tolerance' = f64=tolerance ; D V"},
    {"check.expect_close",
     "% , % , 'max_ulp_difference' = ui64=max_ulp_difference "
     "?, , 'min_ulp_difference' = ui64=min_ulp_difference ; : D T"},
    {"check.expect_serialized_eq", "% , 'probe_id' = str=probe_id ?, , 'iter' = ui32=iteration ; D : O"},
    {"interpreter.print", "% D : O"},
    {"interpreter.probe", "% , 'probe_id' = str=probe_id D : S"},
    // arith, tensor, shape: what appears beside StableHLO in programs with dynamic shapes
    {"arith.constant", "D attr=value W"},
    {"arith.addi", BINARY},
    {"arith.subi", BINARY},
    {"arith.muli", BINARY},
    {"arith.maxsi", BINARY},
    {"arith.minsi", BINARY},
    {"arith.addf", BINARY},
    {"arith.subf", BINARY},
    {"arith.mulf", BINARY},
    {"arith.index_cast", "% D : T 'to' R"},
    {"tensor.dim", "% , % D : tensor_dim_types"},
    {"tensor.cast", "% D : T 'to' R"},
    {"tensor.from_elements", "%* D : from_elements_types"},
    {"tensor.extract", "% [ %* ] D : extract_types"},
    {"shape.shape_of", "% D : T -> R"},
    {"shape.num_elements", "% D : T -> R"},
    {"shape.broadcast", "%* D : T -> R"},
    {"builtin.unrealized_conversion_cast", "%* ?: : T ; 'to' R D"},
};

// One step of a format: attributes that are written as `kind=name`.
static const mlir_attr *parse_typed(text_parser *p, strv kind) {
  if (strv_eq_cstr(kind, "bool")) {
    if (text_accept_keyword(p, "true")) return text_bool_attr(p, true);
    if (text_accept_keyword(p, "false")) return text_bool_attr(p, false);
    return text_expected(p, "'true' or 'false'"), NULL;
  }
  strv string = {0};
  if (strv_eq_cstr(kind, "str")) return text_parse_string(p, &string) ? text_string_attr(p, string) : NULL;
  if (strv_eq_cstr(kind, "ints")) return text_parse_int_list(p);
  if (strv_eq_cstr(kind, "attr")) return text_parse_attr(p);
  if (strv_eq_cstr(kind, "symbol")) return text_symbol_attr(p);
  if (strv_eq_cstr(kind, "sym")) {
    if (p->tok.kind != TOK_AT) return text_expected(p, "a name, as @target"), NULL;
    string = text_token_name(p);
    text_advance(p);
    return text_string_attr(p, string);
  }
  if (strv_eq_cstr(kind, "f64")) {
    double real = 0;
    if (!text_parse_float(p, &real)) return NULL;
    // Older text has "0.001 : f64 : tensor<...>", where the first type is the number's.
    const char *next = p->tok.kind == TOK_COLON ? text_skip_blanks(p, p->tok.end) : p->lex.end;
    if (p->lex.end - next > 3 && memcmp(next, "f64", 3) == 0) {
      text_advance(p);
      text_advance(p);
    }
    mlir_attr *a = text_new_attr(p, MLIR_ATTR_FLOAT);
    a->type = text_float_type(p, "f64");
    a->real = real;
    return a;
  }
  int64_t value = 0;
  if (!text_parse_integer(p, &value)) return NULL;
  bool is_unsigned = kind.data[0] == 'u';
  int width = kind.data[kind.len - 1] == '2' ? 32 : 64;
  const mlir_type *type = text_integer_type(p, width, is_unsigned ? MLIR_UNSIGNED : MLIR_SIGNLESS);
  return text_int_attr(p, type, value);
}

static bool parse_enum(text_parser *p, op_state *s, strv name_and_enum) {
  strv name = {0}, mnemonic = {0};
  strv_split(name_and_enum, '/', &name, &mnemonic);
  const mlir_attr *a = text_parse_enum(p, STRV("stablehlo"), mnemonic);
  if (a) text_add_attr(p, &s->attrs, text_intern(p, name).data, a);
  return a != NULL;
}

// --- type directives -----------------------------------------------------------------------------

static void set_all_operand_types(text_parser *p, op_state *s, const mlir_type *t) {
  s->operand_types.len = 0;
  for (int i = 0; i < s->operands.len; i++) vec_push(p->scratch, &s->operand_types, t);
}

static bool spread_function(text_parser *p, op_state *s, const mlir_type *f) {
  for (int i = 0; i < f->n_types; i++) {
    if (i < f->n_inputs)
      vec_push(p->scratch, &s->operand_types, f->types[i]);
    else
      vec_push(p->scratch, &s->result_types, f->types[i]);
  }
  return true;
}

static bool parse_same_types(text_parser *p, op_state *s) {
  const mlir_type *t = text_parse_type(p);
  if (!t) return false;
  if (t->kind == MLIR_TYPE_FUNCTION) return spread_function(p, s, t);
  set_all_operand_types(p, s, t);
  vec_push(p->scratch, &s->result_types, t);
  return true;
}

static bool parse_complex_types(text_parser *p, op_state *s) {
  const char *at = p->tok.start;
  const mlir_type *t = text_parse_type(p);
  if (!t) return false;
  if (t->kind == MLIR_TYPE_FUNCTION) return spread_function(p, s, t);
  if (!t->element || t->element->kind != MLIR_TYPE_COMPLEX)
    return text_error(p, at, "expected a tensor of complex elements");
  mlir_type real = *t;
  real.element = t->element->element;
  set_all_operand_types(p, s, mlir_type_unique(p->types, &real));
  vec_push(p->scratch, &s->result_types, t);
  return true;
}

// <predicate>, <result and branches>, or a function type
static bool parse_select_types(text_parser *p, op_state *s) {
  const mlir_type *pred = text_parse_type(p);
  if (!pred) return false;
  if (pred->kind == MLIR_TYPE_FUNCTION) return spread_function(p, s, pred);
  if (!text_expect(p, TOK_COMMA, "',' and the result type")) return false;
  const mlir_type *t = text_parse_type(p);
  if (!t) return false;
  set_all_operand_types(p, s, t);
  if (s->operand_types.len > 0) s->operand_types.data[0] = pred;
  vec_push(p->scratch, &s->result_types, t);
  return true;
}

static bool parse_tuple_types(text_parser *p, op_state *s) {
  const char *at = p->tok.start;
  const mlir_type *t = text_parse_type(p);
  if (!t) return false;
  if (t->kind == MLIR_TYPE_FUNCTION) return spread_function(p, s, t);
  if (t->kind != MLIR_TYPE_TUPLE) return text_error(p, at, "expected a tuple type");
  vec_append(p->scratch, &s->operand_types, t->types, t->n_types);
  vec_push(p->scratch, &s->result_types, t);
  return true;
}

static const mlir_type *index_type(text_parser *p) {
  mlir_type proto = {.kind = MLIR_TYPE_INDEX};
  return mlir_type_unique(p->types, &proto);
}

static bool parse_tensor_dim_types(text_parser *p, op_state *s) {
  const mlir_type *t = text_parse_type(p);
  if (!t) return false;
  const mlir_type *index = index_type(p);
  vec_push(p->scratch, &s->operand_types, t);
  vec_push(p->scratch, &s->operand_types, index);
  vec_push(p->scratch, &s->result_types, index);
  return true;
}

// The tensor's type; the indices are of type index, the result is an element.
static bool parse_extract_types(text_parser *p, op_state *s) {
  const char *at = p->tok.start;
  const mlir_type *t = text_parse_type(p);
  if (!t) return false;
  if (t->kind != MLIR_TYPE_TENSOR) return text_error(p, at, "expected a tensor type");
  set_all_operand_types(p, s, index_type(p));
  s->operand_types.data[0] = t;
  vec_push(p->scratch, &s->result_types, t->element);
  return true;
}

static bool parse_from_elements_types(text_parser *p, op_state *s) {
  const char *at = p->tok.start;
  const mlir_type *t = text_parse_type(p);
  if (!t) return false;
  if (t->kind != MLIR_TYPE_TENSOR) return text_error(p, at, "expected a tensor type");
  set_all_operand_types(p, s, t->element);
  vec_push(p->scratch, &s->result_types, t);
  return true;
}

// Operands or results get the type of attribute `value`.
static bool use_value_type(text_parser *p, op_state *s, bool results) {
  for (int i = 0; i < s->attrs.len; i++) {
    const mlir_attr *a = s->attrs.data[i].value;
    if (!strv_eq_cstr(s->attrs.data[i].name, "value")) continue;
    const mlir_type *t = a->type;
    if (a->kind == MLIR_ATTR_BOOL) t = text_integer_type(p, 1, MLIR_SIGNLESS);
    if (!t || a->kind == MLIR_ATTR_TYPE) return text_error(p, s->at, "expected a value with a type");
    if (results)
      vec_push(p->scratch, &s->result_types, t);
    else
      set_all_operand_types(p, s, t);
    return true;
  }
  return text_error(p, s->at, "the value is missing");
}

static bool parse_type_directive(text_parser *p, op_state *s, char c) {
  const mlir_type *t = NULL;
  switch (c) {
    case 'F': return text_parse_function_type(p, &s->operand_types, &s->result_types);
    case 'S': return parse_same_types(p, s);
    case 'R':
      return p->tok.kind == TOK_LPAREN ? text_parse_results(p, &s->result_types)
                                       : text_parse_type_list(p, &s->result_types);
    case 'T': return text_parse_type_list(p, &s->operand_types);
    case 'V': return use_value_type(p, s, false);
    case 'W': return use_value_type(p, s, true);
    case 'O':
      t = text_parse_type(p);
      if (t) set_all_operand_types(p, s, t);
      return t != NULL;
    default: return false;
  }
}

// --- words that are functions --------------------------------------------------------------------

// [start:limit:stride, ...]
static bool parse_slice_ranges(text_parser *p, op_state *s) {
  VEC(int64_t) lists[3] = {0};
  if (!text_expect(p, TOK_LSQUARE, "'[' of the slice's ranges")) return false;
  if (p->tok.kind != TOK_RSQUARE) {
    do {
      int64_t v[3] = {0, 0, 1};
      if (!text_parse_integer(p, &v[0]) || !text_expect(p, TOK_COLON, "':'") || !text_parse_integer(p, &v[1]))
        return false;
      if (text_accept(p, TOK_COLON) && !text_parse_integer(p, &v[2])) return false;
      for (int i = 0; i < 3; i++) vec_push(p->scratch, &lists[i], v[i]);
    } while (text_accept(p, TOK_COMMA));
  }
  static const char *const names[] = {"start_indices", "limit_indices", "strides"};
  for (int i = 0; i < 3; i++) text_add_attr(p, &s->attrs, names[i], text_i64_array(p, lists[i].data, lists[i].len));
  return text_expect(p, TOK_RSQUARE, "',' or ']' after a range");
}

static bool parse_dim_pair(text_parser *p, const mlir_attr **lhs, const mlir_attr **rhs) {
  return text_expect(p, TOK_EQUAL, "'='") && (*lhs = text_parse_int_list(p)) && text_expect_keyword(p, "x") &&
         (*rhs = text_parse_int_list(p));
}

// batching_dims = [0] x [0], contracting_dims = [2] x [1]
static bool parse_dot_dimensions(text_parser *p, op_state *s) {
  const mlir_attr *lb = NULL, *rb = NULL, *lc = NULL, *rc = NULL;
  if (text_accept_keyword(p, "batching_dims") && !(parse_dim_pair(p, &lb, &rb) && text_expect(p, TOK_COMMA, "','")))
    return false;
  if (!text_expect_keyword(p, "contracting_dims") || !parse_dim_pair(p, &lc, &rc)) return false;
  const mlir_attr *a = text_dot_dims(p, lb, rb, lc, rc);
  if (a) text_add_attr(p, &s->attrs, "dot_dimension_numbers", a);
  return a != NULL;
}

static bool parse_conv_dimensions(text_parser *p, op_state *s) {
  const mlir_attr *a = text_parse_conv_dims(p);
  if (a) text_add_attr(p, &s->attrs, "dimension_numbers", a);
  return a != NULL;
}

// e5m10
static bool parse_exponent_mantissa(text_parser *p, op_state *s) {
  strv t = text_token(p), e = {0}, m = {0};
  uint64_t exponent = 0, mantissa = 0;
  bool ok = p->tok.kind == TOK_ID && t.data[0] == 'e' && strv_split(strv_drop(t, 1), 'm', &e, &m) &&
            strv_parse_u64(e, &exponent) && strv_parse_u64(m, &mantissa) && exponent <= INT32_MAX &&
            mantissa <= INT32_MAX;
  if (!ok) return text_expected(p, "a format, as e5m10");
  text_advance(p);
  const mlir_type *i32 = text_integer_type(p, 32, MLIR_SIGNLESS);
  text_add_attr(p, &s->attrs, "exponent_bits", text_int_attr(p, i32, (int64_t)exponent));
  text_add_attr(p, &s->attrs, "mantissa_bits", text_int_attr(p, i32, (int64_t)mantissa));
  return true;
}

static bool parse_precision_only(text_parser *p, op_state *s) {
  return text_parse_precision(p, s, false);
}
static bool parse_precision_algorithm(text_parser *p, op_state *s) {
  return text_parse_precision(p, s, true);
}

static bool parse_regions(text_parser *p, op_state *s) {
  do {
    mlir_region region = {0};
    if (!text_parse_region(p, NULL, -1, false, &region)) return false;
    vec_push(p->scratch, &s->regions, region);
  } while (text_accept(p, TOK_COMMA));
  return true;
}

static const struct {
  const char *word;
  text_op_parser parse;
} CUSTOM[] = {
    {"complex_types", parse_complex_types},
    {"select_types", parse_select_types},
    {"tuple_types", parse_tuple_types},
    {"tensor_dim_types", parse_tensor_dim_types},
    {"from_elements_types", parse_from_elements_types},
    {"extract_types", parse_extract_types},
    {"slice_ranges", parse_slice_ranges},
    {"dot_dimensions", parse_dot_dimensions},
    {"conv_dimensions", parse_conv_dimensions},
    {"window", text_parse_window},
    {"precision", parse_precision_only},
    {"precision_algorithm", parse_precision_algorithm},
    {"exponent_mantissa", parse_exponent_mantissa},
    {"regions", parse_regions},
};

// --- the interpreter -----------------------------------------------------------------------------

static tok_kind token_kind(strv word) {
  if (word.len == 2) return TOK_ARROW;
  switch (word.data[0]) {
    case ',': return TOK_COMMA;
    case '(': return TOK_LPAREN;
    case ')': return TOK_RPAREN;
    case '[': return TOK_LSQUARE;
    case ']': return TOK_RSQUARE;
    case '=': return TOK_EQUAL;
    default: return TOK_COLON;
  }
}

static bool parse_operands_with_commas(text_parser *p, op_state *s) {
  while (p->tok.kind == TOK_PERCENT) {
    operand_ref ref = {0};
    if (!text_parse_operand(p, &ref)) return false;
    vec_push(p->scratch, &s->operands, ref);
    if (!text_expect(p, TOK_COMMA, "',' after the operand")) return false;
  }
  return true;
}

static bool parse_word(text_parser *p, op_state *s, strv word) {
  operand_ref ref = {0};
  char c = word.data[0];
  if (strv_eq_cstr(word, "%")) {
    if (!text_parse_operand(p, &ref)) return false;
    vec_push(p->scratch, &s->operands, ref);
    return true;
  }
  if (strv_eq_cstr(word, "%*")) return text_parse_operand_list(p, &s->operands);
  if (strv_eq_cstr(word, "%*,")) return parse_operands_with_commas(p, s);
  if (c == '\'') {
    char keyword[32] = {0};
    memcpy(keyword, word.data + 1, word.len - 2 < 31 ? word.len - 2 : 31);
    return text_expect_keyword(p, keyword);
  }
  if (strv_eq_cstr(word, "D")) return text_parse_optional_attr_dict(p, &s->attrs);
  if (word.len == 1 && c >= 'A' && c <= 'Z') return parse_type_directive(p, s, c);
  for (size_t i = 0; i < sizeof CUSTOM / sizeof *CUSTOM; i++)
    if (strv_eq_cstr(word, CUSTOM[i].word)) return CUSTOM[i].parse(p, s);
  strv kind = {0}, name = {0};
  if (word.len > 1 && strv_split(word, '=', &kind, &name) && kind.len > 0) {
    if (strv_eq_cstr(kind, "enum")) return parse_enum(p, s, name);
    const mlir_attr *a = parse_typed(p, kind);
    if (a) text_add_attr(p, &s->attrs, text_intern(p, name).data, a);
    return a != NULL;
  }
  char what[8] = "'";
  memcpy(what + 1, word.data, word.len < 3 ? word.len : 2);
  what[1 + (word.len < 3 ? word.len : 2)] = '\'';
  return text_expect(p, token_kind(word), what);
}

static bool parse_format(text_parser *p, op_state *s, const char *format) {
  bool skipping = false;
  for (const char *f = format; *f;) {
    size_t n = strcspn(f, " ");
    strv word = {f, n};
    f += n;
    while (*f == ' ') f++;
    if (word.data[0] == ';') {
      skipping = false;
    } else if (word.data[0] == '?' && word.len > 1) {
      skipping = p->tok.kind != token_kind(strv_drop(word, 1));
    } else if (!skipping && !parse_word(p, s, word)) {
      return false;
    }
  }
  return true;
}

// The table is searched once per name and file; what was found is remembered.
static const char *find_format(text_parser *p, strv name) {
  const pretty_format *found = strmap_get(&p->formats, name);
  for (size_t i = 0; !found && i < sizeof FORMATS / sizeof *FORMATS; i++)
    if (strv_eq_cstr(name, FORMATS[i].name)) {
      found = &FORMATS[i];
      strmap_put(p->scratch, &p->formats, strv_from_cstr(found->name), (void *)(uintptr_t)found);
    }
  return found ? found->format : NULL;
}

// The dictionary may repeat an attribute that the format has already: that is an error of the text.
static bool check_duplicates(text_parser *p, const op_state *s) {
  for (int i = 0; i < s->attrs.len; i++)
    for (int j = 0; j < i; j++)
      if (strv_eq(s->attrs.data[i].name, s->attrs.data[j].name))
        return text_error(p, s->at, "attribute '" STRV_FMT "' is given twice", STRV_ARG(s->attrs.data[i].name));
  return true;
}

bool text_parse_pretty(text_parser *p, op_state *s) {
  text_op_parser custom = text_find_custom(s->name);
  if (custom) return custom(p, s) && (s->attrs.len > 64 || check_duplicates(p, s));
  const char *format = find_format(p, s->name);
  hlo_op known;
  if (!format && !hlo_op_from_stablehlo(s->name, &known))
    return text_error(p, s->at, "unknown operation '" STRV_FMT "'%s", STRV_ARG(strv_take(s->name, 60)),
                      hlo_op_suggestion(p->arena, s->name, false));
  if (!format)
    return text_error(p, s->at, "no pretty form of '" STRV_FMT "' is known; write it in generic form, with quotes",
                      STRV_ARG(strv_take(s->name, 60)));
  return parse_format(p, s, format) && (s->attrs.len > 64 || check_duplicates(p, s));
}
