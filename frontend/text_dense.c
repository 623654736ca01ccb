// SPDX-License-Identifier: Apache-2.0
// Dense literals of the MLIR text parser: dense<...> (nested lists, splats, hexadecimal strings, strings),
// dense_resource<...> with its blobs in the file's trailer, array<i64: ...>.
//
// The type stands behind the literal, so the literal is skipped first and read, character by character, once its type
// is known; elements go straight into their final place, unpacked as mlir.h states.
#include <string.h>

#include "frontend/text_internal.h"

typedef struct reader {
  text_parser *p;
  const char *s, *end;
  const mlir_type *element;
  size_t size;  // bytes of one element
  unsigned char *out;
  int64_t i, n;
} reader;

size_t text_element_size(const mlir_type *element) {
  switch (element->kind) {
    case MLIR_TYPE_INTEGER: return element->width > 64 ? 0 : (size_t)(element->width + 7) / 8;
    case MLIR_TYPE_INDEX: return 8;
    case MLIR_TYPE_QUANTIZED: return text_element_size(element->quant->storage);
    case MLIR_TYPE_COMPLEX: return 2 * text_element_size(element->element);
    case MLIR_TYPE_FLOAT:
      if (strv_eq_cstr(element->name, "f64")) return 8;
      if (strv_eq_cstr(element->name, "f32")) return 4;
      if (strv_eq_cstr(element->name, "f16") || strv_eq_cstr(element->name, "bf16")) return 2;
      return strv_starts_with(element->name, STRV("f8E")) || strv_starts_with(element->name, STRV("f6E")) ||
             strv_starts_with(element->name, STRV("f4E"));
    default: return 0;
  }
}

// Number of elements of a static shape; -1 if it is dynamic or does not fit.
static int64_t count_elements(const mlir_type *t) {
  int64_t n = 1;
  for (int32_t i = 0; i < t->rank; i++)
    if (t->dims[i] == 0) return 0;
  for (int32_t i = 0; i < t->rank; i++) {
    if (t->dims[i] < 0 || n > INT64_MAX / t->dims[i]) return -1;
    n *= t->dims[i];
  }
  return n;
}

// --- elements ------------------------------------------------------------------------------------

static void skip(reader *r) {
  while (r->s < r->end && (*r->s == ' ' || *r->s == '\n' || *r->s == '\t' || *r->s == '\r')) r->s++;
  if (r->s < r->end && *r->s == '/') r->s = text_skip_blanks(r->p, r->s);
  if (r->s > r->end) r->s = r->end;
}

static bool accept(reader *r, char c) {
  skip(r);
  if (r->s >= r->end || *r->s != c) return false;
  r->s++;
  return true;
}

static bool expect(reader *r, char c) {
  if (accept(r, c)) return true;
  if (r->s >= r->end) return text_error(r->p, r->s, "expected '%c', found the end of the literal", c);
  return text_error(r->p, r->s, "expected '%c', found '%c'", c, *r->s);
}

static bool accept_word(reader *r, const char *word) {
  size_t n = strlen(word);
  if ((size_t)(r->end - r->s) < n || memcmp(r->s, word, n) != 0) return false;
  r->s += n;
  return true;
}

static strv scan_literal(reader *r) {
  const char *start = r->s, *s = r->s;
  while (s < r->end && ((*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '.' ||
                        ((*s == '+' || *s == '-') && s > start && (s[-1] | 32) == 'e')))
    s++;
  r->s = s;
  return (strv){start, (size_t)(s - start)};
}

// Magnitude of an integer literal; false if it is none or too large.
static bool integer_literal(strv t, uint64_t *out) {
  uint64_t v = 0;
  if (t.len > 2 && t.data[0] == '0' && t.data[1] == 'x') {
    for (size_t i = 2; i < t.len; i++) {
      char c = t.data[i];
      int d = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
      if (d < 0 || v >> 60) return false;
      v = v * 16 + (uint64_t)d;
    }
    *out = v;
    return true;
  }
  for (size_t i = 0; i < t.len; i++) {
    uint64_t d = (uint64_t)(t.data[i] - '0');
    if (d > 9 || v > (UINT64_MAX - d) / 10) return false;
    v = v * 10 + d;
  }
  *out = v;
  return t.len > 0;
}

static bool read_integer(reader *r, const mlir_type *t, unsigned char *out) {
  int width = t->kind == MLIR_TYPE_INDEX ? 64 : t->width;
  const char *at = r->s;
  if (width == 1 && (accept_word(r, "true") || accept_word(r, "false"))) {
    *out = *at == 't';
    return true;
  }
  bool negative = accept(r, '-');
  if (negative) skip(r);
  uint64_t v = 0;
  if (!integer_literal(scan_literal(r), &v))
    return width == 1 ? text_error(r->p, at, "expected 'true', 'false', 0 or 1")
                      : text_error(r->p, at, "expected an integer of %d bits", width);
  uint64_t limit = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
  if (t->signedness == MLIR_SIGNED) limit >>= 1;
  if (negative) limit = t->signedness == MLIR_UNSIGNED ? 0 : UINT64_C(1) << (width - 1);
  if (v > limit) return text_error(r->p, at, "integer does not fit into %d bits", width);
  if (negative) v = 0 - v;
  if (width == 1) v &= 1;
  // Sub-byte signless values are stored sign-extended, so 15 as i4 is -1.
  if (width > 1 && width < 8 && t->signedness != MLIR_UNSIGNED)
    v = (uint64_t)((int64_t)(v << (64 - width)) >> (64 - width));
  memcpy(out, &v, (size_t)(width + 7) / 8);
  return true;
}

static bool read_float(reader *r, const mlir_type *t, unsigned char *out) {
  const char *at = r->s;
  bool negative = accept(r, '-');
  if (negative) skip(r);
  uint64_t bits = 0;
  strv literal = scan_literal(r);
  if (!text_round_float(literal, negative, t, &bits))
    return text_error(r->p, at, "expected a number of type " STRV_FMT, STRV_ARG(t->name));
  memcpy(out, &bits, text_element_size(t));
  return true;
}

static bool read_scalar(reader *r, const mlir_type *t, unsigned char *out) {
  skip(r);
  return t->kind == MLIR_TYPE_FLOAT ? read_float(r, t, out) : read_integer(r, t, out);
}

static bool read_element(reader *r, unsigned char *out) {
  const mlir_type *t = r->element;
  if (t->kind == MLIR_TYPE_QUANTIZED) t = t->quant->storage;
  if (t->kind != MLIR_TYPE_COMPLEX) return read_scalar(r, t, out);
  return expect(r, '(') && read_scalar(r, t->element, out) && expect(r, ',') &&
         read_scalar(r, t->element, out + r->size / 2) && expect(r, ')');
}

// A nested list of the shape dims[level..rank).
static bool read_list(reader *r, const mlir_type *type, int level) {
  if (level == type->rank) {
    if (r->i >= r->n) return text_error(r->p, r->s, "more elements than the type has");
    return read_element(r, r->out + r->size * (size_t)r->i++);
  }
  const char *at = r->s;
  if (!expect(r, '[')) return false;
  int64_t count = 0;
  if (!accept(r, ']')) {
    do {
      if (!read_list(r, type, level + 1)) return false;
      count++;
    } while (accept(r, ','));
    if (!expect(r, ']')) return false;
  }
  if (count == type->dims[level]) return true;
  return text_error(r->p, at, "%lld elements in dimension %d, where the type has %lld", (long long)count, level,
                    (long long)type->dims[level]);
}

// --- hexadecimal strings -------------------------------------------------------------------------

// Value of a hexadecimal digit plus one; 0 for any other character.
static const unsigned char hex_digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

static unsigned char *decode_hex(text_parser *p, strv hex, const char *at, size_t *out_size) {
  if (hex.len < 2 || hex.data[0] != '0' || hex.data[1] != 'x' || hex.len % 2 != 0)
    return text_error(p, at, "expected a string of the form \"0x...\" with an even number of digits"), NULL;
  size_t n = hex.len / 2 - 1;
  unsigned char *out = arena_try_alloc(p->arena, n + 1, 64);
  if (!out) return text_error(p, at, "no memory for %zu bytes", n), NULL;
  const unsigned char *digits = (const unsigned char *)hex.data + 2;
  for (size_t i = 0; i < n; i++) {
    unsigned high = hex_digits[digits[2 * i]], low = hex_digits[digits[2 * i + 1]];
    if (!high || !low)
      return text_error(p, at, "'%c' is not a hexadecimal digit", hex.data[2 * i + (high ? 3 : 2)]), NULL;
    out[i] = (unsigned char)((high - 1) * 16 + (low - 1));
  }
  *out_size = n;
  return out;
}

// i1: one byte per element, or packed bits, or one byte (0x00, 0xFF) for a splat.
static bool unpack_bits(text_parser *p, mlir_attr *a, const unsigned char *raw, size_t size, int64_t n,
                        const char *at) {
  bool bytes = size == (size_t)n, one = size == 1 && (raw[0] == 0 || raw[0] == 0xFF);
  if (!bytes && !one && size != (size_t)(n / 8 + (n % 8 != 0)))
    return text_error(p, at, "%zu bytes for %lld elements of i1", size, (long long)n);
  size_t count = one ? 1 : (size_t)n;
  unsigned char *out = arena_try_alloc(p->arena, count + 1, 64);
  if (!out) return text_error(p, at, "no memory for %zu bytes", count);
  for (size_t i = 0; i < count; i++) out[i] = one || bytes ? raw[i] != 0 : raw[i / 8] >> (i % 8) & 1;
  a->splat = one;
  a->data = out;
  a->data_size = count;
  return true;
}

// Sets data, data_size and splat from raw little-endian bytes, which become the attribute's own.
static bool set_raw(text_parser *p, mlir_attr *a, unsigned char *raw, size_t size, const char *at) {
  const mlir_type *element = a->type->element;
  int64_t n = count_elements(a->type);
  if (element->kind == MLIR_TYPE_INTEGER && element->width == 1) return unpack_bits(p, a, raw, size, n, at);
  size_t one = text_element_size(element);
  bool full = n == 0 ? size == 0 : size % (size_t)n == 0 && size / (size_t)n == one;
  if (!full && size != one)
    return text_error(p, at, "%zu bytes, where the type has %lld elements of %zu bytes", size, (long long)n, one);
  const mlir_type *t = element->kind == MLIR_TYPE_QUANTIZED ? element->quant->storage : element;
  if (t->kind == MLIR_TYPE_INTEGER && t->width < 8) {
    int shift = 8 - t->width;
    for (size_t i = 0; i < size; i++) {
      unsigned char b = (unsigned char)(raw[i] << shift);
      raw[i] = t->signedness == MLIR_UNSIGNED ? (unsigned char)(b >> shift) : (unsigned char)((int8_t)b >> shift);
    }
  }
  a->splat = !full || n == 1;
  a->data = raw;
  a->data_size = n == 0 ? 0 : size;
  return true;
}

// --- dense<...> ----------------------------------------------------------------------------------

// The '>' that ends the literal beginning at s; strings and comments are passed over.
static const char *find_end(text_parser *p, const char *s) {
  const char *end = memchr(s, '>', (size_t)(p->lex.end - s));
  if (end && !memchr(s, '"', (size_t)(end - s)) && !memchr(s, '/', (size_t)(end - s))) return end;
  while (s && s < p->lex.end && *s != '>') {
    if (*s == '"') {
      s = text_skip_string(p, s);
    } else if (*s == '/') {
      const char *next = text_skip_blanks(p, s);
      s = next == s ? s + 1 : next;
    } else {
      s++;
    }
  }
  return s && s < p->lex.end ? s : NULL;
}

static bool check_type(text_parser *p, const mlir_type *t, const char *at, bool strings) {
  if (t->kind != MLIR_TYPE_TENSOR && t->kind != MLIR_TYPE_VECTOR)
    return text_error(p, at, "expected a tensor type for a dense literal");
  for (int32_t i = 0; i < t->rank; i++)
    if (t->dims[i] < 0) return text_error(p, at, "a dense literal needs a static shape");
  if (count_elements(t) < 0) return text_error(p, at, "the number of elements does not fit into 63 bits");
  if (!strings && text_element_size(t->element) == 0)
    return text_error(p, at, "dense literals of this element type are not supported");
  return true;
}

// dense<["a", "b"]>: the items are string attributes.
static bool read_strings(reader *r, mlir_attr *a, int64_t n) {
  VEC(const mlir_attr *) items = {0};
  text_parser *p = r->p;
  for (skip(r); r->s < r->end; skip(r)) {
    if (accept(r, '[') || accept(r, ']') || accept(r, ',')) continue;
    if (*r->s != '"') return text_error(p, r->s, "expected a string");
    const char *e = text_skip_string(p, r->s);
    if (!e || e > r->end) return text_error(p, r->s, "expected a string");
    // The lexer unescapes strings only at its current token; here the characters are taken as they are unless escaped.
    token saved = p->tok;
    p->tok.start = r->s - 1;
    p->tok.end = e;
    mlir_attr *item = text_new_attr(p, MLIR_ATTR_STRING);
    item->string = text_token_name(p);
    p->tok = saved;
    vec_push(p->scratch, &items, item);
    r->s = e;
  }
  if (items.len != n && items.len != 1)
    return text_error(p, r->s, "%d strings, where the type has %lld elements", items.len, (long long)n);
  a->splat = items.len == 1;
  a->n_items = items.len;
  a->items = arena_copy(p->arena, items.data, (size_t)items.len * sizeof *items.data);
  return true;
}

static bool read_body(reader *r, mlir_attr *a) {
  text_parser *p = r->p;
  int64_t n = count_elements(a->type);
  const char *start = r->s;
  bool is_string_type = text_element_size(a->type->element) == 0;
  skip(r);
  if (is_string_type) return read_strings(r, a, n);
  if (r->s < r->end && *r->s == '"') {
    const char *e = text_skip_string(p, r->s);
    size_t size = 0;
    if (!e || e > r->end) return text_error(p, r->s, "expected a string");
    unsigned char *raw = decode_hex(p, (strv){r->s + 1, (size_t)(e - r->s - 2)}, r->s, &size);
    if (!raw || !set_raw(p, a, raw, size, r->s)) return false;
    r->s = e;
  } else {
    bool is_list = r->s < r->end && *r->s == '[';
    bool is_empty = r->s >= r->end;
    if (is_empty && n != 0) return text_error(p, start, "expected %lld elements, found none", (long long)n);
    r->size = text_element_size(a->type->element);
    // A list has at least two characters per element but for the last, so a lie in the type cannot make us allocate.
    if (is_list && n > r->end - r->s)
      return text_error(p, r->s, "fewer elements than the %lld of the type", (long long)n);
    r->n = is_list ? n : 1;
    r->out = arena_try_alloc(p->arena, (size_t)r->n * r->size + 1, 64);
    if (!r->out) return text_error(p, r->s, "no memory for %lld elements", (long long)n);
    r->element = a->type->element;
    if (is_list && !read_list(r, a->type, 0)) return false;
    if (!is_list && !is_empty && !read_element(r, r->out)) return false;
    a->splat = !is_list && n != 0;
    a->data = r->out;
    a->data_size = n == 0 ? 0 : (size_t)r->n * r->size;
  }
  skip(r);
  if (r->s < r->end) return text_error(p, r->s, "expected '>' at the end of the dense literal, found '%c'", *r->s);
  return true;
}

const mlir_attr *text_parse_dense(text_parser *p) {
  const char *at = p->tok.start;
  text_advance(p);
  if (p->tok.kind != TOK_LESS) return text_expected(p, "'<' after 'dense'"), NULL;
  reader r = {.p = p, .s = p->tok.end};
  r.end = find_end(p, r.s);
  if (!r.end) return text_error(p, at, "this dense literal is never closed"), NULL;
  text_seek(p, r.end);
  text_advance(p);
  if (!text_expect(p, TOK_COLON, "':' and the type of the dense literal")) return NULL;
  const char *type_at = p->tok.start;
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_DENSE);
  a->type = text_parse_type(p);
  if (!a->type) return NULL;
  bool strings = a->type->element && a->type->element->kind == MLIR_TYPE_OPAQUE;
  return check_type(p, a->type, type_at, strings) && read_body(&r, a) ? a : NULL;
}

// --- dense_resource<...> and the trailer ---------------------------------------------------------

const mlir_attr *text_parse_dense_resource(text_parser *p) {
  text_advance(p);
  if (!text_expect(p, TOK_LESS, "'<' after 'dense_resource'")) return NULL;
  resource_fixup f = {.at = p->tok.start};
  if (!text_parse_name(p, &f.key) || !text_expect(p, TOK_GREATER, "'>'")) return NULL;
  if (!text_expect(p, TOK_COLON, "':' and the type of the resource")) return NULL;
  const char *type_at = p->tok.start;
  f.attr = text_new_attr(p, MLIR_ATTR_DENSE);
  f.attr->type = text_parse_type(p);
  if (!f.attr->type || !check_type(p, f.attr->type, type_at, false)) return NULL;
  vec_push(p->scratch, &p->resource_fixups, f);
  return f.attr;
}

// One level of "name: value, ..."; blobs of dialect_resources stand at level 2.
static bool parse_resource_level(text_parser *p, int level, bool is_dialect) {
  if (!text_enter(p)) return false;
  while (p->tok.kind != TOK_RBRACE && p->tok.kind != TOK_META_CLOSE && p->tok.kind != TOK_EOF) {
    strv name = {0};
    bool dialect = level == 0 ? text_at_keyword(p, "dialect_resources") : is_dialect;
    if (!text_parse_name(p, &name) || !text_expect(p, TOK_COLON, "':'")) return false;
    if (text_accept(p, TOK_LBRACE)) {
      if (!parse_resource_level(p, level + 1, dialect) || !text_expect(p, TOK_RBRACE, "',' or '}'")) return false;
    } else if (p->tok.kind == TOK_STRING || p->tok.kind == TOK_ID || p->tok.kind == TOK_INT) {
      if (dialect && level == 2 && p->tok.kind == TOK_STRING) {
        strv *value = ARENA_NEW(p->scratch, strv);
        *value = (strv){p->tok.start + 1, (size_t)(p->tok.end - p->tok.start - 2)};
        strmap_put(p->scratch, &p->resources, name, value);
      }
      text_advance(p);
    } else {
      return text_expected(p, "a resource");
    }
    if (!text_accept(p, TOK_COMMA)) break;
  }
  text_leave(p);
  return true;
}

bool text_parse_trailer(text_parser *p) {
  text_advance(p);
  return parse_resource_level(p, 0, false) && text_expect(p, TOK_META_CLOSE, "'#-}'");
}

void text_resolve_resources(text_parser *p) {
  for (int i = 0; i < p->resource_fixups.len; i++) {
    resource_fixup *f = &p->resource_fixups.data[i];
    strv *hex = strmap_get(&p->resources, f->key);
    if (!hex) {
      text_error(p, f->at, "resource '" STRV_FMT "' is not in the file", STRV_ARG(f->key));
      continue;
    }
    size_t size = 0;
    unsigned char *raw = decode_hex(p, *hex, hex->data, &size);
    if (!raw) continue;
    if (size < 4) {
      text_error(p, hex->data, "a resource begins with four bytes of alignment");
      continue;
    }
    // The blob follows its alignment; it is moved down so that elements are aligned.
    memmove(raw, raw + 4, size - 4);
    (void)set_raw(p, f->attr, raw, size - 4, hex->data);
  }
}

// --- array<i64: ...> -----------------------------------------------------------------------------

const mlir_attr *text_parse_dense_array(text_parser *p) {
  text_advance(p);
  if (!text_expect(p, TOK_LESS, "'<' after 'array'")) return NULL;
  const char *at = p->tok.start;
  mlir_attr *a = text_new_attr(p, MLIR_ATTR_DENSE_ARRAY);
  a->type = text_parse_type(p);
  if (!a->type) return NULL;
  if ((a->type->kind != MLIR_TYPE_INTEGER && a->type->kind != MLIR_TYPE_FLOAT) || text_element_size(a->type) == 0)
    return text_error(p, at, "expected an integer or float type for the elements of an array"), NULL;
  reader r = {.p = p, .s = p->tok.end, .end = p->lex.end, .element = a->type, .size = text_element_size(a->type)};
  a->data = arena_alloc(p->arena, 16);
  if (p->tok.kind == TOK_COLON) {
    VEC(unsigned char) bytes = {0};
    unsigned char element[16];
    do {
      if (!read_element(&r, element)) return NULL;
      vec_append(p->scratch, &bytes, element, (int)r.size);
    } while (accept(&r, ','));
    a->data_size = (size_t)bytes.len;
    a->data = arena_copy(p->arena, bytes.data, a->data_size);
    text_seek(p, r.s);
  }
  return text_expect(p, TOK_GREATER, "',' or '>' in an array") ? a : NULL;
}
