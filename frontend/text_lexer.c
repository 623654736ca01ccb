// SPDX-License-Identifier: Apache-2.0
// Lexer of the MLIR text parser, and its error messages.
//
// Tokens are made on demand from the whole text in memory. Lines are counted as the lexer passes them. Places in the
// text that want characters rather than tokens (dimension lists, dense literals, opaque dialect text) read from a
// token's start and then seek forward.
#include <stdarg.h>
#include <string.h>

#include "frontend/text_internal.h"

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Moves to s, counting the lines between.
static void move_to(text_lexer *l, const char *s) {
  while (l->pos < s) {
    const char *newline = memchr(l->pos, '\n', (size_t)(s - l->pos));
    if (!newline) break;
    l->line++;
    l->line_start = newline + 1;
    l->pos = newline + 1;
  }
  l->pos = s;
}

const char *text_skip_blanks(const text_parser *p, const char *s) {
  const char *end = p->lex.end;
  while (s < end) {
    if (*s == ' ' || *s == '\t' || *s == '\r' || *s == '\n') {
      s++;
    } else if (*s == '/' && s + 1 < end && s[1] == '/') {
      const char *newline = memchr(s, '\n', (size_t)(end - s));
      s = newline ? newline : end;
    } else {
      break;
    }
  }
  return s;
}

const char *text_skip_string(const text_parser *p, const char *s) {
  const char *end = p->lex.end;
  s++;
  // Long strings (hexadecimal data) have neither escapes nor newlines: three fast searches settle them.
  const char *quote = memchr(s, '"', (size_t)(end - s));
  if (!quote) return NULL;
  if (!memchr(s, '\\', (size_t)(quote - s))) return memchr(s, '\n', (size_t)(quote - s)) ? NULL : quote + 1;
  for (; s < end; s++) {
    if (*s == '"') return s + 1;
    if (*s == '\n') return NULL;
    if (*s == '\\' && ++s >= end) return NULL;
  }
  return NULL;
}

// The end of the name behind a sigil: digits only, or a letter or one of $._- and then any of these and digits.
static const char *scan_suffix(const char *s, const char *end) {
  if (s < end && is_digit(*s)) {
    while (s < end && is_digit(*s)) s++;
    return s;
  }
  while (s < end && (is_letter(*s) || is_digit(*s) || *s == '$' || *s == '.' || *s == '_' || *s == '-')) {
    if (*s == '-' && s + 1 < end && s[1] == '>') break;  // '->' follows
    s++;
  }
  return s;
}

static const char *scan_number(const char *s, const char *end, tok_kind *kind) {
  *kind = TOK_INT;
  if (*s == '0' && s + 2 < end && s[1] == 'x' && is_hex(s[2])) {
    s += 2;
    while (s < end && is_hex(*s)) s++;
    return s;
  }
  while (s < end && is_digit(*s)) s++;
  if (s < end && *s == '.' && s + 1 < end && is_digit(s[1])) {
    *kind = TOK_FLOAT;
    s++;
    while (s < end && is_digit(*s)) s++;
  } else if (s < end && *s == '.') {
    *kind = TOK_FLOAT;
    s++;
  }
  if (s < end && (*s == 'e' || *s == 'E')) {
    const char *e = s + 1;
    if (e < end && (*e == '+' || *e == '-')) e++;
    if (e < end && is_digit(*e)) {
      *kind = TOK_FLOAT;
      while (e < end && is_digit(*e)) e++;
      s = e;
    }
  }
  return s;
}

static tok_kind punctuation(char c) {
  switch (c) {
    case '(': return TOK_LPAREN;
    case ')': return TOK_RPAREN;
    case '{': return TOK_LBRACE;
    case '}': return TOK_RBRACE;
    case '[': return TOK_LSQUARE;
    case ']': return TOK_RSQUARE;
    case '<': return TOK_LESS;
    case '>': return TOK_GREATER;
    case ',': return TOK_COMMA;
    case ':': return TOK_COLON;
    case '=': return TOK_EQUAL;
    case '-': return TOK_MINUS;
    case '+': return TOK_PLUS;
    case '*': return TOK_STAR;
    case '/': return TOK_SLASH;
    case '?': return TOK_QUESTION;
    case '|': return TOK_BAR;
    default: return TOK_BAD;
  }
}

// Kind and end of the token at s (s < end).
static const char *scan_token(const text_parser *p, const char *s, tok_kind *kind) {
  const char *end = p->lex.end;
  char c = *s;
  if (is_letter(c) || c == '_') {
    *kind = TOK_ID;
    while (s < end && (is_letter(*s) || is_digit(*s) || *s == '_' || *s == '$' || *s == '.')) s++;
    return s;
  }
  if (is_digit(c)) return scan_number(s, end, kind);
  if (c == '"') {
    const char *e = text_skip_string(p, s);
    *kind = e ? TOK_STRING : TOK_BAD;
    return e ? e : s + 1;
  }
  if (c == '-' && s + 1 < end && s[1] == '>') return *kind = TOK_ARROW, s + 2;
  if (c == '{' && s + 2 < end && s[1] == '-' && s[2] == '#') return *kind = TOK_META_OPEN, s + 3;
  if (c == '#' && s + 2 < end && s[1] == '-' && s[2] == '}') return *kind = TOK_META_CLOSE, s + 3;
  if (c == '@' && s + 1 < end && s[1] == '"') {
    const char *e = text_skip_string(p, s + 1);
    *kind = e ? TOK_AT : TOK_BAD;
    return e ? e : s + 1;
  }
  if (c == '@' || c == '%' || c == '#' || c == '!' || c == '^') {
    const char *e = scan_suffix(s + 1, end);
    *kind = e == s + 1 ? TOK_BAD
            : c == '@' ? TOK_AT
            : c == '%' ? TOK_PERCENT
            : c == '#' ? TOK_HASH
            : c == '!' ? TOK_BANG
                       : TOK_CARET;
    return e;
  }
  *kind = punctuation(c);
  return s + 1;
}

static void lex_token(text_parser *p) {
  text_lexer *l = &p->lex;
  int32_t line_before = l->line;
  const char *s = text_skip_blanks(p, l->pos);
  bool was_at_begin = l->pos == l->begin;
  move_to(l, s);
  token *t = &p->tok;
  t->line = l->line;
  t->line_start = l->line_start;
  t->start = s;
  t->first_on_line = was_at_begin || l->line != line_before;
  if (s >= l->end) {
    t->kind = TOK_EOF;
    t->end = s;
    t->first_on_line = true;
    return;
  }
  t->end = scan_token(p, s, &t->kind);
  move_to(l, t->end);
}

void text_advance(text_parser *p) {
  p->prev_end = p->tok.end;
  lex_token(p);
}

void text_seek(text_parser *p, const char *pos) {
  // The lexer stands behind the current token; a place inside that token is on the token's line.
  if (pos < p->lex.pos) {
    p->lex.pos = p->tok.start;
    p->lex.line = p->tok.line;
    p->lex.line_start = p->tok.line_start;
  }
  move_to(&p->lex, pos);
  p->prev_end = pos;
  lex_token(p);
}

// --- errors --------------------------------------------------------------------------------------

const loc *text_file_loc(text_parser *p, const char *at) {
  loc *l = ARENA_NEW(p->arena, loc);
  l->kind = LOC_FILE;
  l->name = p->file_name;
  int32_t line = 1;
  const char *start = p->lex.begin;
  while (start < at) {
    const char *newline = memchr(start, '\n', (size_t)(at - start));
    if (!newline) break;
    line++;
    start = newline + 1;
  }
  l->line = line;
  l->col = (int32_t)(at - start) + 1;
  return l;
}

const loc *text_token_loc(text_parser *p) {
  loc *l = ARENA_NEW(p->arena, loc);
  l->kind = LOC_FILE;
  l->name = p->file_name;
  l->line = p->tok.line;
  l->col = (int32_t)(p->tok.start - p->tok.line_start) + 1;
  return l;
}

bool text_error(text_parser *p, const char *at, const char *format, ...) {
  p->n_errors++;
  if (p->n_errors > TEXT_MAX_ERRORS) return false;
  const loc *l = text_file_loc(p, at);
  const char *start = at - (l->col - 1);
  const char *newline = memchr(start, '\n', (size_t)(p->lex.end - start));
  strv line = {start, (size_t)((newline ? newline : p->lex.end) - start)};
  if (line.len > 0 && line.data[line.len - 1] == '\r') line.len--;
  va_list args;
  va_start(args, format);
  diag_addv(p->sink, DIAG_ERROR, l, line, format, args);
  va_end(args);
  return false;
}

bool text_expected(text_parser *p, const char *what) {
  if (p->tok.kind == TOK_EOF) return text_error(p, p->tok.start, "expected %s, found the end of the file", what);
  if (p->tok.kind == TOK_BAD && *p->tok.start == '"')
    return text_error(p, p->tok.start, "expected %s, found a string that does not end on its line", what);
  strv t = text_token(p);
  if (t.len > 40) return text_error(p, p->tok.start, "expected %s, found '%.37s...'", what, t.data);
  return text_error(p, p->tok.start, "expected %s, found '" STRV_FMT "'", what, STRV_ARG(t));
}

// --- token helpers -------------------------------------------------------------------------------

bool text_accept(text_parser *p, tok_kind kind) {
  if (p->tok.kind != kind) return false;
  text_advance(p);
  return true;
}

bool text_expect(text_parser *p, tok_kind kind, const char *what) {
  return text_accept(p, kind) || text_expected(p, what);
}

strv text_token(const text_parser *p) {
  return (strv){p->tok.start, (size_t)(p->tok.end - p->tok.start)};
}

bool text_at_keyword(const text_parser *p, const char *word) {
  return p->tok.kind == TOK_ID && strv_eq_cstr(text_token(p), word);
}

bool text_accept_keyword(text_parser *p, const char *word) {
  if (!text_at_keyword(p, word)) return false;
  text_advance(p);
  return true;
}

bool text_expect_keyword(text_parser *p, const char *word) {
  if (text_accept_keyword(p, word)) return true;
  char what[64] = "'";
  size_t n = strlen(word);
  if (n > sizeof what - 3) n = sizeof what - 3;
  memcpy(what + 1, word, n);
  what[n + 1] = '\'';
  what[n + 2] = 0;
  return text_expected(p, what);
}

static int hex_digit(char c) {
  return is_digit(c) ? c - '0' : (c | 32) - 'a' + 10;
}

// The contents between s (behind the opening quote) and end (the closing quote).
static strv unescape(text_parser *p, const char *s, const char *end) {
  if (!memchr(s, '\\', (size_t)(end - s))) return (strv){s, (size_t)(end - s)};
  char *out = ARENA_ARRAY(p->arena, char, end - s + 1);
  size_t n = 0;
  while (s < end) {
    if (*s != '\\') {
      out[n++] = *s++;
    } else if (s + 2 < end && is_hex(s[1]) && is_hex(s[2])) {
      out[n++] = (char)(hex_digit(s[1]) * 16 + hex_digit(s[2]));
      s += 3;
    } else {
      char c = s + 1 < end ? s[1] : '\\';
      out[n++] = c == 'n' ? '\n' : c == 't' ? '\t' : c;
      s += 2;
    }
  }
  return (strv){out, n};
}

strv text_token_name(text_parser *p) {
  if (p->tok.end - p->tok.start > 2 && p->tok.start[1] == '"') return unescape(p, p->tok.start + 2, p->tok.end - 1);
  return (strv){p->tok.start + 1, (size_t)(p->tok.end - p->tok.start - 1)};
}

bool text_parse_string(text_parser *p, strv *out) {
  if (p->tok.kind != TOK_STRING) return text_expected(p, "a string");
  *out = unescape(p, p->tok.start + 1, p->tok.end - 1);
  text_advance(p);
  return true;
}

bool text_parse_name(text_parser *p, strv *out) {
  if (p->tok.kind == TOK_STRING) return text_parse_string(p, out);
  if (p->tok.kind != TOK_ID) return text_expected(p, "a name");
  *out = text_token(p);
  text_advance(p);
  return true;
}

bool text_parse_integer(text_parser *p, int64_t *out) {
  bool negative = text_accept(p, TOK_MINUS);
  if (p->tok.kind != TOK_INT) return text_expected(p, "an integer");
  uint64_t value = 0;
  strv t = text_token(p);
  bool fits = true;
  if (t.len > 2 && t.data[1] == 'x') {
    fits = t.len <= 18;
    for (size_t i = 2; i < t.len && fits; i++) value = value * 16 + (uint64_t)hex_digit(t.data[i]);
  } else {
    for (size_t i = 0; i < t.len && fits; i++) {
      uint64_t d = (uint64_t)(t.data[i] - '0');
      fits = value <= (UINT64_MAX - d) / 10;
      value = value * 10 + d;
    }
  }
  if (!fits || (negative && value > UINT64_C(1) << 63))
    return text_error(p, p->tok.start, "integer does not fit into 64 bits");
  *out = (int64_t)(negative ? 0 - value : value);
  text_advance(p);
  return true;
}

bool text_parse_float(text_parser *p, double *out) {
  bool negative = text_accept(p, TOK_MINUS);
  if (p->tok.kind != TOK_INT && p->tok.kind != TOK_FLOAT) return text_expected(p, "a number");
  uint64_t bits = 0;
  if (!text_round_float(text_token(p), negative, text_float_type(p, "f64"), &bits))
    return text_error(p, p->tok.start, "not a floating-point number");
  memcpy(out, &bits, sizeof *out);
  text_advance(p);
  return true;
}

strv text_intern(text_parser *p, strv s) {
  strv *known = strmap_get(&p->names, s);
  if (known) return *known;
  known = ARENA_NEW(p->arena, strv);
  *known = arena_strv(p->arena, s);
  strmap_put(p->scratch, &p->names, *known, known);
  return *known;
}

// No more errors are shown, and recovery goes to the end of the file: from each of hundreds of levels it would have to
// be read again.
static bool give_up(text_parser *p) {
  if (p->n_errors < TEXT_MAX_ERRORS) p->n_errors = TEXT_MAX_ERRORS + 1;
  return false;
}

bool text_enter(text_parser *p) {
  if (p->depth >= TEXT_MAX_DEPTH) {
    (void)text_error(p, p->tok.start, "nesting is deeper than %d levels", TEXT_MAX_DEPTH);
    return give_up(p);
  }
  if (++p->weight > TEXT_MAX_WEIGHT) {
    (void)text_error(p, p->tok.start, "attributes and types are too large");
    return give_up(p);
  }
  p->depth++;
  if (p->depth > p->peak) p->peak = p->depth;
  return true;
}

void text_leave(text_parser *p) {
  p->depth--;
}

static char closing(char open) {
  return open == '<' ? '>' : open == '(' ? ')' : open == '[' ? ']' : '}';
}

const char *text_skip_balanced(text_parser *p, const char *s) {
  const char *begin = s, *end = p->lex.end;
  char stack[TEXT_MAX_DEPTH];
  int n = 0;
  while (s < end) {
    char c = *s;
    if (c == '"') {
      const char *e = text_skip_string(p, s);
      if (!e) return text_error(p, s, "string does not end on its line"), NULL;
      s = e;
      continue;
    }
    if (c == '-' && s + 1 < end && s[1] == '>') {
      s += 2;
      continue;
    }
    if (c == '<' || c == '(' || c == '[' || c == '{') {
      if (n == TEXT_MAX_DEPTH) return text_error(p, s, "nesting is deeper than %d levels", TEXT_MAX_DEPTH), NULL;
      stack[n++] = closing(c);
    } else if (c == '>' || c == ')' || c == ']' || c == '}') {
      if (stack[n - 1] != c) return text_error(p, s, "expected '%c' before '%c'", stack[n - 1], c), NULL;
      if (--n == 0) return s + 1;
    }
    s++;
  }
  text_error(p, begin, "this '%c' is never closed", *begin);
  return NULL;
}
