// SPDX-License-Identifier: Apache-2.0
// HLO text: what print*.c and parse*.c share. The syntax is XLA's; the extensions, for what XLA cannot say:
//
//   s8[4]{0}!quant(f32,-128:127,axis=0,{0.5:0,0.25:3})   quantized shapes: expressed type, storage range, axis (left
//   out
//                                                        when per tensor), scale:zero_point for each slice
//   f32[?,<=8]{1,0}                                      a dynamic dimension without, with a bound (XLA's own)
//   constant(splat 1.5)       all elements equal          constant({})   no elements, whatever the rank
//   nan(0x200001), -nan       NaNs with their mantissa bits
//   value=f32[2]{0} {1, 2}    a literal among the attributes (check-expect-eq-const)
//   kind=kInPlace             fusion into an operand's own buffer
//   output_to_operand_aliasing={{0}: (1, {})}            numbers of leaves; {} is 0 for a result, the whole (-1) for an
//                                                        operand
//   mhlo_attributes={"name"="string", "other"=mlir"#dialect.attr<1>"}    custom calls
//   known_trip_count=5 (while), composite_name="..." and such: attributes of XLA's backend_config, in the open
//   all-to-all: split_dimension=0, concat_dimension=1, split_count=2 (XLA's dimensions={0} is read, too)
//   opcodes of StableHLO and CHLO that XLA has not (dynamic-pad, digamma, ...), spelled with '-'
//
// Operands print without shapes; both forms are read. Layouts are always printed. Names always print with '%'.
#ifndef HLO_TEXT_INTERNAL_H
#define HLO_TEXT_INTERNAL_H

#include "hlo/hlo.h"

enum { HLO_TEXT_MAX_RANK = 256, HLO_TEXT_MAX_NESTING = 64 };

// --- printing ------------------------------------------------------------------------------------

void hlo_text_print_string(strbuf *out, strv s);  // quoted, C escapes
// ", key=value" for each attribute that is not its default.
void hlo_text_print_attrs(strbuf *out, const hlo_instr *i);

// --- enumerations whose text differs from StableHLO's --------------------------------------------

void hlo_text_print_enum(strbuf *out, hlo_attr_kind kind, int value);
bool hlo_text_parse_enum(hlo_attr_kind kind, strv text, int *out);

// --- parsing -------------------------------------------------------------------------------------

// The parse functions skip leading blanks and comments, return false after reporting an error, and leave p->at
// anywhere then: the caller goes on at the next line.
typedef struct hlo_parser {
  arena *arena;
  strv file;
  const char *begin, *at, *end;
  const char *line_mark;  // a place whose line number is known, for counting on from there
  int32_t line_of_mark;
  diag_sink *sink;
  int n_unimplemented;  // errors that say that we lack something, rather than that the text is wrong
  hlo_module *module;
  strmap computations;          // text name -> hlo_text_computation
  VEC(hlo_computation *) made;  // that the text does not have (heap)
  strmap restated;              // text names of this computation whose shape is not the text's (parse_expand.c)
  strmap scope;                 // text name -> hlo_instr of this computation, or the parser itself for a broken one
} hlo_parser;

typedef VEC(hlo_instr *) hlo_text_operands;  // heap

// What the attributes of one instruction are collected in.
typedef struct hlo_text_instr {
  hlo_op op;
  const hlo_shape *shape;
  void *attrs;
  uint64_t seen;                       // bit per descriptor
  hlo_computation *called[2];          // by the keys that name one
  bool split_by_group;                 // all-to-all: split_count is the size of a group
  bool passes_on;                      // the name stands for the first operand
  bool restated;                       // shape is not the text's
  bool least;                          // topk with largest=false
  VEC(hlo_computation *) called_list;  // branch_computations, called_computations (heap)
  const loc *loc;
} hlo_text_instr;

bool hlo_parse_fail(hlo_parser *p, const char *at, const char *format, ...) LEMNOS_PRINTF(3, 4);  // always false
const loc *hlo_parse_loc(hlo_parser *p, const char *at);
void hlo_parse_skip_blanks(hlo_parser *p);
static inline const char *hlo_parse_place(hlo_parser *p) {
  return hlo_parse_skip_blanks(p), p->at;
}  // of what comes next
bool hlo_parse_peek(hlo_parser *p, char c);
bool hlo_parse_accept(hlo_parser *p, char c);
bool hlo_parse_accept_word(hlo_parser *p, const char *word);  // a whole word
bool hlo_parse_expect(hlo_parser *p, char c, const char *what);
strv hlo_parse_word(hlo_parser *p);  // letters, digits, _ . -; may be empty
strv hlo_parse_raw(hlo_parser *p);   // up to , } ) or a blank; may be empty
bool hlo_parse_int(hlo_parser *p, int64_t *out);
bool hlo_parse_string(hlo_parser *p, strv *out);    // quoted
bool hlo_parse_ints(hlo_parser *p, hlo_i64s *out);  // {1,2,3}
bool hlo_parse_skip_value(hlo_parser *p);           // any attribute value, brackets balanced
bool hlo_parse_shape(hlo_parser *p, const hlo_shape **out);
bool hlo_parse_literal(hlo_parser *p, const hlo_shape *shape, const hlo_literal **out);
hlo_computation *hlo_parse_computation_ref(hlo_parser *p);  // NULL after an error
// key has been read, and '='; consumes the value.
// {key="value",key={anything},..} as an MLIR dictionary of strings.
bool hlo_parse_frontend_attributes(hlo_parser *p, strv *out);
bool hlo_parse_attr(hlo_parser *p, hlo_text_instr *i, strv key, const char *key_at);

// --- parse_expand.c ------------------------------------------------------------------------------

// Sets i->op, and for XLA's own ways to say it i->shape, passes_on and restated; false: there is no such operation.
bool hlo_parse_operation(strv word, hlo_text_instr *i);
// The same where it takes the operands to tell; of_restated: one of them is in p->restated.
void hlo_parse_restate(hlo_parser *p, hlo_text_instr *i, const hlo_text_operands *list, bool of_restated);
void hlo_parse_set_channel_type(hlo_text_instr *i);  // once its attributes are read; of a restated one
// The elements of a constant of tuple shape, each a new constant (or a tuple of them).
bool hlo_parse_elements(hlo_parser *p, hlo_computation *c, const hlo_shape *tuple, const loc *l,
                        hlo_text_operands *out);
void hlo_parse_add_rng_shape(hlo_parser *p, hlo_computation *c, const hlo_text_instr *i, hlo_text_operands *list);
// The first k of x's last dimension, the least first, as a tuple; NULL after an error.
hlo_instr *hlo_parse_least_k(hlo_parser *p, hlo_computation *c, const hlo_text_instr *i, hlo_instr *x, const char *at);
// @TopK with a comparator, which decides what comes first.
bool hlo_parse_is_first_k(const hlo_text_instr *i, const hlo_text_operands *list, int n_called,
                          hlo_computation *const *called);
hlo_instr *hlo_parse_first_k(hlo_parser *p, hlo_computation *c, const hlo_text_instr *i, hlo_instr *x,
                             hlo_computation *order);

#endif
