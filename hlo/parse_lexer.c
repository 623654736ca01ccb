// SPDX-License-Identifier: Apache-2.0
// The HLO text parser's cursor: blanks, words, numbers, strings, skipping, and errors with their place.
//
// There is no token stream: what a character means depends on the attribute being read ("1_1x0_0", "b01f_01io->b01f").
#include <stdio.h>
#include <string.h>

#include "hlo/text_internal.h"

// --- places and errors ---------------------------------------------------------------------------

const loc *hlo_parse_loc(hlo_parser *p, const char *at) {
  if (at < p->line_mark) {  // rarely: an error in what was read long ago
    p->line_mark = p->begin;
    p->line_of_mark = 1;
  }
  for (const char *nl; (nl = memchr(p->line_mark, '\n', (size_t)(at - p->line_mark)));) {
    p->line_mark = nl + 1;
    p->line_of_mark++;
  }
  loc *l = ARENA_NEW(p->arena, loc);
  *l = (loc){.kind = LOC_FILE, .name = p->file, .line = p->line_of_mark};
  ptrdiff_t col = at - p->line_mark + 1;
  l->col = col > INT32_MAX ? INT32_MAX : (int32_t)col;
  return l;
}

static strv line_around(const hlo_parser *p, const char *at) {
  const char *from = at, *to = at;
  while (from > p->begin && from[-1] != '\n') from--;
  while (to < p->end && *to != '\n') to++;
  return (strv){from, (size_t)(to - from)};
}

bool hlo_parse_fail(hlo_parser *p, const char *at, const char *format, ...) {
  const loc *l = hlo_parse_loc(p, at);
  va_list args;
  va_start(args, format);
  diag_addv(p->sink, DIAG_ERROR, l, line_around(p, at), format, args);
  va_end(args);
  return false;
}

// --- characters and words ------------------------------------------------------------------------

void hlo_parse_skip_blanks(hlo_parser *p) {
  for (;;) {
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r')) p->at++;
    if (p->end - p->at < 2 || p->at[0] != '/') return;
    if (p->at[1] == '/') {
      while (p->at < p->end && *p->at != '\n') p->at++;
    } else if (p->at[1] == '*') {
      p->at += 2;
      while (p->end - p->at >= 2 && (p->at[0] != '*' || p->at[1] != '/')) p->at++;
      p->at = p->end - p->at >= 2 ? p->at + 2 : p->end;
    } else {
      return;
    }
  }
}

bool hlo_parse_accept(hlo_parser *p, char c) {
  const char *from = p->at;
  hlo_parse_skip_blanks(p);
  if (p->at < p->end && *p->at == c) return p->at++, true;
  p->at = from;  // an instruction that ends here leaves the cursor on its line
  return false;
}

bool hlo_parse_peek(hlo_parser *p, char c) {
  const char *from = p->at;
  bool found = hlo_parse_accept(p, c);
  p->at = from;
  return found;
}

static bool is_word_char(const char *at, const char *end) {
  char c = *at;
  if (c == '-') return at + 1 == end || at[1] != '>';  // "->" ends a word
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

strv hlo_parse_word(hlo_parser *p) {
  hlo_parse_skip_blanks(p);
  const char *from = p->at;
  while (p->at < p->end && is_word_char(p->at, p->end)) p->at++;
  return (strv){from, (size_t)(p->at - from)};
}

bool hlo_parse_accept_word(hlo_parser *p, const char *word) {
  hlo_parse_skip_blanks(p);
  const char *from = p->at;
  if (strv_eq_cstr(hlo_parse_word(p), word)) return true;
  p->at = from;
  return false;
}

strv hlo_parse_raw(hlo_parser *p) {
  hlo_parse_skip_blanks(p);
  const char *from = p->at;
  while (p->at < p->end && !strchr(",}) \t\r\n", *p->at)) p->at++;
  return (strv){from, (size_t)(p->at - from)};
}

// What stands at the cursor, for messages.
static const char *found(hlo_parser *p, char *buffer, size_t size) {
  hlo_parse_skip_blanks(p);
  if (p->at >= p->end) return "the end of the text";
  const char *to = p->at;
  while (to < p->end && is_word_char(to, p->end) && to - p->at < 40) to++;
  if (to == p->at) to++;
  snprintf(buffer, size, "'%.*s'", (int)(to - p->at), p->at);
  return buffer;
}

bool hlo_parse_expect(hlo_parser *p, char c, const char *what) {
  if (hlo_parse_accept(p, c)) return true;
  char buffer[64];
  const char *text = found(p, buffer, sizeof buffer);
  return hlo_parse_fail(p, p->at, "expected '%c' %s, found %s", c, what, text);
}

// --- numbers, strings, lists ---------------------------------------------------------------------

bool hlo_parse_int(hlo_parser *p, int64_t *out) {
  hlo_parse_skip_blanks(p);
  const char *from = p->at;
  if (p->at < p->end && *p->at == '-') p->at++;
  while (p->at < p->end && *p->at >= '0' && *p->at <= '9') p->at++;
  if (strv_parse_i64((strv){from, (size_t)(p->at - from)}, out)) return true;
  bool digits = p->at > from && p->at[-1] != '-';
  p->at = from;
  char buffer[64];
  const char *text = found(p, buffer, sizeof buffer);
  return digits ? hlo_parse_fail(p, from, "the integer %s does not fit in 64 bits", text)
                : hlo_parse_fail(p, from, "expected an integer, found %s", text);
}

// The byte that an escape stands for; p->at is behind the backslash.
static char unescape(hlo_parser *p) {
  char c = *p->at++;
  switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case 'x': {
      int value = 0;
      for (int k = 0; k < 2 && p->at < p->end; k++, p->at++) {
        int digit = *p->at | 32;
        if (digit >= '0' && digit <= '9')
          value = value * 16 + digit - '0';
        else if (digit >= 'a' && digit <= 'f')
          value = value * 16 + digit - 'a' + 10;
        else
          break;
      }
      return (char)value;
    }
    default: break;
  }
  if (c < '0' || c > '7') return c;
  int value = c - '0';
  for (int k = 0; k < 2 && p->at < p->end && *p->at >= '0' && *p->at <= '7'; k++) value = value * 8 + *p->at++ - '0';
  return (char)value;
}

bool hlo_parse_string(hlo_parser *p, strv *out) {
  if (!hlo_parse_expect(p, '"', "before a string")) return false;
  const char *from = p->at;
  strbuf text = {0};
  while (p->at < p->end && *p->at != '"' && *p->at != '\n') {
    char c = *p->at++;
    if (c == '\\' && p->at < p->end) c = unescape(p);
    strbuf_append_char(&text, c);
  }
  *out = text.len ? arena_strv(p->arena, strbuf_view(&text)) : (strv){0};
  strbuf_deinit(&text);
  if (p->at >= p->end || *p->at != '"') return hlo_parse_fail(p, from - 1, "this string does not end on its line");
  p->at++;
  return true;
}

bool hlo_parse_ints(hlo_parser *p, hlo_i64s *out) {
  if (!hlo_parse_expect(p, '{', "before a list of integers")) return false;
  VEC(int64_t) v = {0};
  if (!hlo_parse_accept(p, '}')) {
    do {
      int64_t x;
      if (!hlo_parse_int(p, &x)) return vec_deinit(&v), false;
      vec_push(NULL, &v, x);
    } while (hlo_parse_accept(p, ','));
    if (!hlo_parse_expect(p, '}', "after a list of integers")) return vec_deinit(&v), false;
  }
  *out = (hlo_i64s){v.len ? arena_copy(p->arena, v.data, sizeof(int64_t) * (size_t)v.len) : NULL, v.len};
  vec_deinit(&v);
  return true;
}

bool hlo_parse_skip_value(hlo_parser *p) {
  hlo_parse_skip_blanks(p);
  const char *from = p->at;
  int depth = 0;
  for (; p->at < p->end; p->at++) {
    char c = *p->at;
    if (c == '"') {
      for (p->at++; p->at < p->end && *p->at != '"'; p->at++)
        if (*p->at == '\\' && p->at + 1 < p->end) p->at++;
      if (p->at >= p->end) return hlo_parse_fail(p, from, "a string in this value does not end");
    } else if (c == '(' || c == '{' || c == '[') {
      depth++;
    } else if (c == ')' || c == '}' || c == ']') {
      if (!depth) return true;
      depth--;
    } else if (!depth && (c == ',' || c == '\n')) {
      return true;
    }
  }
  return depth ? hlo_parse_fail(p, from, "a bracket in this value is not closed") : true;
}
