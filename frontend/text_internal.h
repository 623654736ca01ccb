// SPDX-License-Identifier: Apache-2.0
// What the files of the MLIR text parser share: lexer, parser state, operation state. Nothing outside frontend/text_*.c
// includes it.
//
// Recursive descent with one token of lookahead. A parse function returns false (or NULL) after it has reported one
// error; the operation parser then skips to the next statement and goes on. Nesting (types, attributes, regions,
// locations) is counted in `depth`, aliases count with the height and size of what they stand for, so that no input
// makes the parser, or whoever walks the module later, recurse without bound or expand without end.
#ifndef FRONTEND_TEXT_INTERNAL_H
#define FRONTEND_TEXT_INTERNAL_H

#include "frontend/mlir.h"

#define TEXT_MAX_DEPTH 256
#define TEXT_MAX_LOC_DEPTH 1000
#define TEXT_MAX_WEIGHT (UINT64_C(1) << 26)  // attribute and type nodes with aliases expanded
#define TEXT_MAX_ERRORS 200

typedef enum tok_kind {
  TOK_EOF,
  TOK_BAD,
  TOK_LPAREN,
  TOK_RPAREN,
  TOK_LBRACE,
  TOK_RBRACE,
  TOK_LSQUARE,
  TOK_RSQUARE,
  TOK_LESS,
  TOK_GREATER,
  TOK_COMMA,
  TOK_COLON,
  TOK_EQUAL,
  TOK_ARROW,
  TOK_MINUS,
  TOK_PLUS,
  TOK_STAR,
  TOK_SLASH,
  TOK_QUESTION,
  TOK_BAR,
  TOK_ID,       // bare identifier or keyword, may contain '.' and '$'
  TOK_AT,       // @name or @"name"
  TOK_PERCENT,  // %name
  TOK_HASH,     // #name
  TOK_BANG,     // !name
  TOK_CARET,    // ^name
  TOK_INT,      // decimal or 0x...
  TOK_FLOAT,
  TOK_STRING,      // with its quotes
  TOK_META_OPEN,   // {-#
  TOK_META_CLOSE,  // #-}
} tok_kind;

typedef struct token {
  tok_kind kind;
  bool first_on_line;
  int32_t line;
  const char *start, *end;
  const char *line_start;
} token;

typedef struct text_lexer {
  const char *begin, *end, *pos;
  const char *line_start;
  int32_t line;
} text_lexer;

// What a '%name' stands for: the results [0, n) from `first` on. first == NULL: its operation had an error.
typedef struct ssa_def {
  mlir_value *first;
  int n;
  const char *at;  // where it was defined
} ssa_def;

typedef struct ssa_scope {
  strmap names;  // name -> ssa_def
  struct ssa_scope *parent;
  bool isolated;  // names of the parent are not visible
} ssa_scope;

typedef struct text_alias {
  const mlir_attr *attr;  // for #name: attribute (a location is MLIR_ATTR_LOCATION)
  const mlir_type *type;  // for !name
  int height;             // nesting depth of the expansion
  uint64_t weight;        // nodes of the expansion
} text_alias;

typedef struct loc_fixup {
  const loc **slot;  // filled in at the end of the file
  strv name;
  const char *at;
} loc_fixup;

typedef struct resource_fixup {
  mlir_attr *attr;
  strv key;
  const char *at;
} resource_fixup;

typedef struct text_parser {
  arena *arena;    // the module's
  arena *scratch;  // lists being collected; ended with the parse
  text_lexer lex;
  token tok;
  const char *prev_end;  // end of the last consumed token
  strv file_name;
  diag_sink *sink;
  int n_errors;
  struct mlir_type_table *types;
  strmap attr_aliases, type_aliases;
  strmap names;    // interned operation and attribute names
  strmap formats;  // operation name -> its row in the table of pretty forms
  ssa_scope *scope;
  int depth, peak;
  uint64_t weight;
  bool in_alias;  // inside an alias definition: location aliases must be defined already
  VEC(loc_fixup) loc_fixups;
  VEC(resource_fixup) resource_fixups;
  strmap resources;  // key -> strv * (hex text without quotes)
} text_parser;

// A use of a value before its type is known.
typedef struct operand_ref {
  strv name;
  int32_t index;  // #N, or -1
  const char *at;
} operand_ref;

typedef VEC(operand_ref) operand_list;
typedef VEC(const mlir_type *) type_list;
typedef VEC(mlir_named_attr) attr_list;

// An operation being parsed, in whatever syntax.
typedef struct op_state {
  strv name;
  const char *at;
  const loc *loc;
  operand_list operands;
  type_list operand_types, result_types;
  attr_list attrs;
  VEC(mlir_region) regions;
  bool applied;   // a region was made from "applies stablehlo.add": its operations take this one's location
  bool resolved;  // `values` holds the operands already
  mlir_value **values;
} op_state;

// --- lexer and errors (text_lexer.c) -------------------------------------------------------------
void text_advance(text_parser *p);                                  // to the next token
void text_seek(text_parser *p, const char *pos);                    // to the token at or behind pos (forward only)
const char *text_skip_blanks(const text_parser *p, const char *s);  // blanks and comments
const char *text_skip_string(const text_parser *p, const char *s);  // behind the closing quote; NULL if there is none
bool text_error(text_parser *p, const char *at, const char *format, ...) LEMNOS_PRINTF(3, 4);  // returns false
bool text_expected(text_parser *p, const char *what);  // "expected <what>, found <token>"
bool text_accept(text_parser *p, tok_kind kind);       // consumes if it is there
bool text_expect(text_parser *p, tok_kind kind, const char *what);
bool text_at_keyword(const text_parser *p, const char *word);
bool text_accept_keyword(text_parser *p, const char *word);
bool text_expect_keyword(text_parser *p, const char *word);
strv text_token(const text_parser *p);                     // its characters
strv text_token_name(text_parser *p);                      // of @ % # ! ^: without the sigil, unquoted
const loc *text_file_loc(text_parser *p, const char *at);  // any place: counts lines from the start
const loc *text_token_loc(text_parser *p);
bool text_parse_integer(text_parser *p, int64_t *out);  // optional '-', decimal or hexadecimal
bool text_parse_float(text_parser *p, double *out);     // optional '-', integer or float literal
bool text_parse_string(text_parser *p, strv *out);      // unescaped, in the arena
bool text_parse_name(text_parser *p, strv *out);        // identifier or string
strv text_intern(text_parser *p, strv s);
bool text_enter(text_parser *p);  // one level deeper; reports when too deep. Pair with text_leave on success.
void text_leave(text_parser *p);
// Number of bytes of a balanced <...>, starting at '<'; NULL (reported) if it does not close.
const char *text_skip_balanced(text_parser *p, const char *s);

// --- types (text_types.c) ------------------------------------------------------------------------
const mlir_type *text_parse_type(text_parser *p);
// at least one, comma-separated
bool text_parse_type_list(text_parser *p, type_list *out);
bool text_parse_type_list_parens(text_parser *p, type_list *out);                      // (a, b), maybe empty
bool text_parse_function_type(text_parser *p, type_list *inputs, type_list *results);  // (a, b) -> c
bool text_parse_results(text_parser *p, type_list *results);                           // c, or (c, d)
const mlir_type *text_make_function(text_parser *p, const type_list *inputs, const type_list *results);
const mlir_type *text_integer_type(text_parser *p, int width, mlir_signedness signedness);
const mlir_type *text_float_type(text_parser *p, const char *name);
const mlir_type *text_tensor_type(text_parser *p, const mlir_type *element, const int64_t *dims, int rank);
bool text_at_type(const text_parser *p);                     // the token can begin a type
const mlir_type *text_leaf_type(text_parser *p, strv name);  // i8, f32, index, ...; NULL, not reported: there is none
// Behind the type's name, at '<'. shaped: vectors and buffers; tuple: also futures.
const mlir_type *text_parse_tensor_body(text_parser *p);
const mlir_type *text_parse_shaped_body(text_parser *p, mlir_type_kind kind);
const mlir_type *text_parse_tuple_body(text_parser *p, mlir_type_kind kind);
const mlir_type *text_parse_complex_body(text_parser *p);

// --- attributes (text_attrs.c) -------------------------------------------------------------------
const mlir_attr *text_parse_attr(text_parser *p);
bool text_parse_attr_entries(text_parser *p, attr_list *out);  // {...}; duplicates are errors
bool text_parse_optional_attr_dict(text_parser *p, attr_list *out);
const mlir_attr *text_parse_int_list(text_parser *p);  // [1, 2] (also with ?) as DENSE_ARRAY of i64
void text_add_attr(text_parser *p, attr_list *out, const char *name, const mlir_attr *value);
mlir_attr *text_new_attr(text_parser *p, mlir_attr_kind kind);
const mlir_attr *text_int_attr(text_parser *p, const mlir_type *type, int64_t value);
const mlir_attr *text_bool_attr(text_parser *p, bool value);
const mlir_attr *text_string_attr(text_parser *p, strv value);
const mlir_attr *text_type_attr(text_parser *p, const mlir_type *type);
const mlir_attr *text_enum_attr(text_parser *p, strv dialect, const char *mnemonic, strv keyword);
const mlir_attr *text_i64_array(text_parser *p, const int64_t *data, int n);
const mlir_attr *text_symbol_attr(text_parser *p);  // at '@'
const mlir_attr *text_array_attr(text_parser *p, const mlir_attr *const *items, int n);

// --- dense literals (text_dense.c) ---------------------------------------------------------------
const mlir_attr *text_parse_dense(text_parser *p);           // at `dense`
const mlir_attr *text_parse_dense_resource(text_parser *p);  // at `dense_resource`
const mlir_attr *text_parse_dense_array(text_parser *p);     // at `array`
bool text_parse_trailer(text_parser *p);                     // at `{-#`
void text_resolve_resources(text_parser *p);
size_t text_element_size(const mlir_type *element);  // unpacked; 0 if it has no fixed size
// Rounds a decimal (or hexadecimal bit pattern) once to `type`; *out_bits has its bit pattern.
bool text_round_float(strv literal, bool negative, const mlir_type *type, uint64_t *out_bits);
double text_float_value(const mlir_type *type, uint64_t bits);

// --- dialect attributes (text_dialect.c) ---------------------------------------------------------
const mlir_attr *text_parse_dialect_attr(text_parser *p);  // at #name
// The keyword of an enumeration, or its whole attribute (#stablehlo<precision HIGH>).
const mlir_attr *text_parse_enum(text_parser *p, strv dialect, strv mnemonic);
const mlir_attr *text_parse_struct(text_parser *p, strv dialect, const char *mnemonic);  // at '<'
const mlir_attr *text_parse_conv_dims(text_parser *p);  // [b, 0, f]x[0, i, o]->[b, 0, f]
const mlir_attr *text_dot_dims(text_parser *p, const mlir_attr *lhs_batch, const mlir_attr *rhs_batch,
                               const mlir_attr *lhs_contract, const mlir_attr *rhs_contract);

// --- VHLO (text_vhlo.c) --------------------------------------------------------------------------
strv text_vhlo_unversioned(strv name);                  // "tensor" of "tensor_v1"
const mlir_type *text_parse_vhlo_type(text_parser *p);  // at !vhlo.name
// At #vhlo.mnemonic. false: it is none of those that stand for a builtin attribute. *out NULL: it had an error.
bool text_parse_vhlo_attr(text_parser *p, strv mnemonic, const mlir_attr **out);
bool text_upgrade_vhlo(text_parser *p, op_state *s);  // a vhlo operation becomes the one it stands for

// --- locations (text_locs.c) ---------------------------------------------------------------------
// At `loc`: loc(...). An alias that is not defined yet is filled in through *slot at the end of the file.
bool text_parse_loc(text_parser *p, const loc **slot);
void text_resolve_locs(text_parser *p);

// --- operations (text_ops.c) ---------------------------------------------------------------------
bool text_parse_operand(text_parser *p, operand_ref *out);
bool text_parse_operand_list(text_parser *p, operand_list *out);  // maybe empty, comma-separated
mlir_value *text_resolve(text_parser *p, const operand_ref *ref, const mlir_type *type);  // type NULL: any
typedef struct block_arg {
  strv name;
  const mlir_type *type;
  const char *at;
} block_arg;
// At '{'. Entry arguments come from `args` if n_args >= 0 (the text then has none), else from the text's ^bb0(...).
bool text_parse_region(text_parser *p, const block_arg *args, int n_args, bool isolated, mlir_region *out);
bool text_resolve_operands(text_parser *p, op_state *s);
bool text_parse_generic_rest(text_parser *p, op_state *s);  // from '(' on

// --- pretty forms (text_pretty.c, text_pretty_ops.c) ---------------------------------------------
bool text_parse_pretty(text_parser *p, op_state *s);  // behind the operation's name
typedef bool (*text_op_parser)(text_parser *p, op_state *s);
text_op_parser text_find_custom(strv name);                 // NULL if the operation has no parser of its own
text_op_parser text_find_sdy(strv name);                    // text_sdy.c: the same for sdy
bool text_parse_block_arg(text_parser *p, block_arg *out);  // %name: type, maybe a location
bool text_parse_precision(text_parser *p, op_state *s, bool with_algorithm);
bool text_parse_window(text_parser *p, op_state *s);

#endif
