// SPDX-License-Identifier: Apache-2.0
// A small strict JSON reader (RFC 8259): one pass, recursive, depth limited; errors name line and column.
#include <string.h>

#include "runtime/cli/cli.h"

enum { MAX_DEPTH = 64 };

typedef struct reader {
  arena *arena;
  const char *name;
  strv text;
  size_t at;
} reader;

static lemnos_status fail(const reader *r, const char *expected) {
  int line = 1, col = 1;
  for (size_t i = 0; i < r->at && i < r->text.len; i++) {
    if (r->text.data[i] == '\n')
      line++, col = 1;
    else
      col++;
  }
  return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "%s:%d:%d: error: not JSON: expected %s%s", r->name, line, col,
                            expected, r->at >= r->text.len ? ", found the end of the file" : "");
}

static int peek(const reader *r) {
  return r->at < r->text.len ? (unsigned char)r->text.data[r->at] : -1;
}

static void skip_blanks(reader *r) {
  for (int c = peek(r); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = peek(r)) r->at++;
}

static bool take(reader *r, const char *word) {
  size_t n = strlen(word);
  if (r->text.len - r->at < n || memcmp(r->text.data + r->at, word, n) != 0) return false;
  r->at += n;
  return true;
}

static bool hex4(reader *r, uint32_t *out) {
  uint32_t v = 0;
  for (int i = 0; i < 4; i++, r->at++) {
    int c = peek(r);
    int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
    if (digit < 0) return false;
    v = v * 16 + (uint32_t)digit;
  }
  *out = v;
  return true;
}

static void put_utf8(strbuf *b, uint32_t c) {
  if (c < 0x80) {
    strbuf_append_char(b, (char)c);
  } else if (c < 0x800) {
    strbuf_append_char(b, (char)(0xc0 | c >> 6));
    strbuf_append_char(b, (char)(0x80 | (c & 63)));
  } else if (c < 0x10000) {
    strbuf_append_char(b, (char)(0xe0 | c >> 12));
    strbuf_append_char(b, (char)(0x80 | (c >> 6 & 63)));
    strbuf_append_char(b, (char)(0x80 | (c & 63)));
  } else {
    strbuf_append_char(b, (char)(0xf0 | c >> 18));
    strbuf_append_char(b, (char)(0x80 | (c >> 12 & 63)));
    strbuf_append_char(b, (char)(0x80 | (c >> 6 & 63)));
    strbuf_append_char(b, (char)(0x80 | (c & 63)));
  }
}

static lemnos_status read_escape(reader *r, strbuf *b) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  int c = peek(r);
  r->at++;
  const char *p = c > 0 ? strchr(from, c) : NULL;
  if (p) {
    strbuf_append_char(b, to[p - from]);
    return LEMNOS_SUCCESS;
  }
  uint32_t code, low;
  if (c != 'u' || !hex4(r, &code)) return fail(r, "an escape sequence");
  if (code >= 0xd800 && code < 0xdc00) {
    if (!take(r, "\\u") || !hex4(r, &low) || low < 0xdc00 || low > 0xdfff)
      return fail(r, "the second half of a surrogate pair");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  } else if (code >= 0xdc00 && code < 0xe000) {
    return fail(r, "no lone surrogate");
  }
  put_utf8(b, code);
  return LEMNOS_SUCCESS;
}

static lemnos_status read_string(reader *r, strv *out) {
  if (!take(r, "\"")) return fail(r, "a string");
  strbuf b = {0};
  lemnos_status status = LEMNOS_SUCCESS;
  for (;;) {
    int c = peek(r);
    if (c < 0x20) {
      status = fail(r, "'\"'");
      break;
    }
    r->at++;
    if (c == '"') break;
    if (c == '\\')
      status = read_escape(r, &b);
    else
      strbuf_append_char(&b, (char)c);
    if (status) break;
  }
  if (!status) *out = arena_strv(r->arena, strbuf_view(&b));
  strbuf_deinit(&b);
  return status;
}

static bool digits(reader *r) {
  size_t start = r->at;
  while (peek(r) >= '0' && peek(r) <= '9') r->at++;
  return r->at > start;
}

static lemnos_status read_number(reader *r, json_value *v) {
  size_t start = r->at;
  bool negative = take(r, "-"), integer = true;
  size_t first = r->at;
  if (!digits(r)) return fail(r, "a value");
  if (r->text.data[first] == '0' && r->at - first > 1) return fail(r, "a number without leading zeros");
  if (take(r, ".")) {
    integer = false;
    if (!digits(r)) return fail(r, "a digit");
  }
  if (peek(r) == 'e' || peek(r) == 'E') {
    integer = false;
    r->at++;
    if (peek(r) == '+' || peek(r) == '-') r->at++;
    if (!digits(r)) return fail(r, "a digit");
  }
  strv text = {r->text.data + start, r->at - start};
  v->kind = JSON_NUMBER;
  int64_t i;
  if (integer && negative && strv_parse_i64(text, &i)) v->is_integer = true, v->integer = (uint64_t)i;
  if (integer && !negative) v->is_integer = strv_parse_u64(text, &v->integer);
  if (!strv_parse_f64(text, &v->number)) return fail(r, "a number");
  return LEMNOS_SUCCESS;
}

static lemnos_status read_value(reader *r, int depth, json_value *v);

static lemnos_status read_list(reader *r, int depth, json_value *v) {
  bool object = v->kind == JSON_OBJECT;
  char close = object ? '}' : ']';
  VEC(json_value) items = {0};
  VEC(strv) keys = {0};
  r->at++;
  skip_blanks(r);
  if (peek(r) == close) {
    r->at++;
    return LEMNOS_SUCCESS;
  }
  for (;;) {
    skip_blanks(r);
    if (object) {
      strv key;
      LEMNOS_TRY(read_string(r, &key));
      vec_push(r->arena, &keys, key);
      skip_blanks(r);
      if (!take(r, ":")) return fail(r, "':'");
    }
    json_value item = {0};
    LEMNOS_TRY(read_value(r, depth + 1, &item));
    vec_push(r->arena, &items, item);
    skip_blanks(r);
    if (take(r, ",")) continue;
    if (peek(r) != close) return fail(r, object ? "',' or '}'" : "',' or ']'");
    r->at++;
    break;
  }
  v->n = items.len;
  v->items = items.data;
  v->keys = keys.data;
  return LEMNOS_SUCCESS;
}

static lemnos_status read_value(reader *r, int depth, json_value *v) {
  if (depth > MAX_DEPTH) return fail(r, "less nesting");
  skip_blanks(r);
  switch (peek(r)) {
    case '{': v->kind = JSON_OBJECT; return read_list(r, depth, v);
    case '[': v->kind = JSON_ARRAY; return read_list(r, depth, v);
    case '"': v->kind = JSON_STRING; return read_string(r, &v->string);
    default: break;
  }
  if (take(r, "null")) return LEMNOS_SUCCESS;
  v->kind = JSON_BOOL;
  if (take(r, "false")) return LEMNOS_SUCCESS;
  if (take(r, "true")) return v->boolean = true, LEMNOS_SUCCESS;
  return read_number(r, v);
}

lemnos_status json_parse(arena *a, const char *name, strv text, json_value **out) {
  reader r = {.arena = a, .name = name, .text = text};
  json_value *v = ARENA_NEW(a, json_value);
  LEMNOS_TRY(read_value(&r, 0, v));
  skip_blanks(&r);
  if (r.at != text.len) return fail(&r, "nothing more");
  *out = v;
  return LEMNOS_SUCCESS;
}

const json_value *json_get(const json_value *object, const char *key) {
  if (!object || object->kind != JSON_OBJECT) return NULL;
  for (int i = 0; i < object->n; i++)
    if (strv_eq_cstr(object->keys[i], key)) return &object->items[i];
  return NULL;
}

bool json_get_number(const json_value *object, const char *key, double *out) {
  const json_value *v = json_get(object, key);
  if (!v || v->kind != JSON_NUMBER) return false;
  *out = v->number;
  return true;
}

bool json_get_integer(const json_value *object, const char *key, int64_t *out) {
  const json_value *v = json_get(object, key);
  if (!v || v->kind != JSON_NUMBER || !v->is_integer) return false;
  *out = (int64_t)v->integer;
  return true;
}

bool json_get_string(const json_value *object, const char *key, strv *out) {
  const json_value *v = json_get(object, key);
  if (!v || v->kind != JSON_STRING) return false;
  *out = v->string;
  return true;
}

void json_print_string(strbuf *out, strv s) {
  strbuf_append_char(out, '"');
  for (size_t i = 0; i < s.len; i++) {
    unsigned char c = (unsigned char)s.data[i];
    if (c == '"' || c == '\\')
      strbuf_printf(out, "\\%c", c);
    else if (c < 0x20)
      strbuf_printf(out, "\\u%04x", c);
    else
      strbuf_append_char(out, (char)c);
  }
  strbuf_append_char(out, '"');
}
