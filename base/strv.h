// SPDX-License-Identifier: Apache-2.0
// String views (pointer and length, not owned, not necessarily NUL-terminated) and a growable string builder.
#ifndef BASE_STRV_H
#define BASE_STRV_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

typedef struct strv {
  const char *data;
  size_t len;
} strv;

#define STRV(literal) ((strv){"" literal, sizeof(literal) - 1})
#define STRV_FMT "%.*s"
#define STRV_ARG(s) (int)(s).len, (s).data

strv strv_from_cstr(const char *s);  // NULL gives the empty view
bool strv_eq(strv a, strv b);
bool strv_eq_cstr(strv a, const char *b);
int strv_compare(strv a, strv b);  // memcmp order, then length
bool strv_starts_with(strv s, strv prefix);
bool strv_ends_with(strv s, strv suffix);
strv strv_drop(strv s, size_t n);  // without the first n bytes (clamped)
strv strv_take(strv s, size_t n);  // the first n bytes (clamped)
strv strv_trim(strv s);            // without ASCII blanks at both ends
// Splits at the first `sep`: *head before it, *rest after it. False (head = s, rest empty) if there is none.
bool strv_split(strv s, char sep, strv *head, strv *rest);
bool strv_parse_i64(strv s, int64_t *out);  // whole string, decimal, optional sign; false on overflow
bool strv_parse_u64(strv s, uint64_t *out);
bool strv_parse_f64(strv s, double *out);  // whole string, locale-independent; also inf, nan
uint64_t strv_hash(strv s);

// The nearest of several names to one that is unknown, for "did you mean": start with {.wanted = name}, try each.
// `best` stays empty if none is a slip of the keyboard away. A prefix up to the last dot may be wrong on its own.
typedef struct strv_near {
  strv wanted, best;
  int distance;
} strv_near;
void strv_near_try(strv_near *n, strv candidate);

// Growable byte string on the heap. Always NUL-terminated behind len. Zero-initialise; strbuf_deinit frees.
typedef struct strbuf {
  char *data;
  size_t len, cap;
} strbuf;

void strbuf_deinit(strbuf *b);
void strbuf_clear(strbuf *b);
void strbuf_append(strbuf *b, strv s);
void strbuf_append_cstr(strbuf *b, const char *s);
void strbuf_append_char(strbuf *b, char c);
void strbuf_printf(strbuf *b, const char *format, ...) LEMNOS_PRINTF(2, 3);
void strbuf_vprintf(strbuf *b, const char *format, va_list args);
strv strbuf_view(const strbuf *b);

#endif
