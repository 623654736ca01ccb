// SPDX-License-Identifier: Apache-2.0
// Literals: dense array values, row-major, elements as dtypes.def says. Immutable once attached to an instruction.
#ifndef HLO_LITERAL_H
#define HLO_LITERAL_H

#include "hlo/shape.h"

typedef struct hlo_literal {
  const hlo_shape *shape;  // static array, row-major
  // hlo_shape_bytes(shape) bytes. Owned by the module's arena, or by whoever gave the module its input
  void *data;
  bool splat;  // all elements are bitwise equal: data then holds ONE element only
} hlo_literal;

// Uninitialised full-size literal; OUT_OF_MEMORY if it cannot be had.
LEMNOS_NODISCARD lemnos_status hlo_literal_create(arena *a, const hlo_shape *shape, hlo_literal **out);
hlo_literal *hlo_literal_splat(arena *a, const hlo_shape *shape, const void *element);
// Any splat made full (out may equal in's data if it was).
LEMNOS_NODISCARD lemnos_status hlo_literal_expand(arena *a, const hlo_literal *l, const hlo_literal **out);
bool hlo_literal_equal(const hlo_literal *a, const hlo_literal *b);  // bitwise, splat or not
uint64_t hlo_literal_hash(const hlo_literal *l);

// Element access by linear index, through wider types (exact where the wider type can hold the value).
// Complex: `part` 0 real, 1 imaginary (ignored otherwise).
double hlo_literal_get_f64(const hlo_literal *l, int64_t i, int part);
int64_t hlo_literal_get_i64(const hlo_literal *l, int64_t i);  // integers and pred (unsigned 64-bit: reinterpret)
// The same for raw memory.
double hlo_element_get_f64(hlo_dtype t, const void *data, int64_t i, int part);
int64_t hlo_element_get_i64(hlo_dtype t, const void *data, int64_t i);
void hlo_element_set_f64(hlo_dtype t, void *data, int64_t i, int part, double x);  // rounds once; integers saturate
void hlo_element_set_i64(hlo_dtype t, void *data, int64_t i, int64_t x);           // integers wrap
// One element as text that parses back to the same bits ("1.5", "nan", "-0", "(1, 2)", "true").
void hlo_element_print(strbuf *out, hlo_dtype t, const void *data, int64_t i);
// The inverse; false if the text is none of the type's values (integers out of range too).
bool hlo_element_parse(hlo_dtype t, strv text, void *data, int64_t i);
// HLO text form: "{ {1, 2}, {3, 4} }", or a scalar, or "splat 1.5", or "{}" without elements. limit > 0 shortens long
// ones with "...": for people, not for parsing.
void hlo_literal_print(strbuf *out, const hlo_literal *l, int64_t limit);

#endif
