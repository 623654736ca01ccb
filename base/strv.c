// SPDX-License-Identifier: Apache-2.0
// String views, number parsing and the string builder.
//
// Decimal floats take a fast path when the value is exact in one operation (at most 2^53 in the digits and a power of
// ten up to 22: Clinger 1990); everything else goes to strtod in the C locale, which rounds correctly.
#define _GNU_SOURCE
#include "base/strv.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"

strv strv_from_cstr(const char *s) {
  return s ? (strv){s, strlen(s)} : (strv){0};
}

bool strv_eq(strv a, strv b) {
  return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

bool strv_eq_cstr(strv a, const char *b) {
  return strv_eq(a, strv_from_cstr(b));
}

int strv_compare(strv a, strv b) {
  size_t n = a.len < b.len ? a.len : b.len;
  int order = n ? memcmp(a.data, b.data, n) : 0;
  return order ? order : (a.len > b.len) - (a.len < b.len);
}

bool strv_starts_with(strv s, strv prefix) {
  return s.len >= prefix.len && strv_eq(strv_take(s, prefix.len), prefix);
}

bool strv_ends_with(strv s, strv suffix) {
  return s.len >= suffix.len && strv_eq(strv_drop(s, s.len - suffix.len), suffix);
}

strv strv_drop(strv s, size_t n) {
  if (n > s.len) n = s.len;
  return n ? (strv){s.data + n, s.len - n} : s;
}

strv strv_take(strv s, size_t n) {
  return (strv){s.data, n < s.len ? n : s.len};
}

static bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

strv strv_trim(strv s) {
  while (s.len && is_blank(s.data[0])) s = strv_drop(s, 1);
  while (s.len && is_blank(s.data[s.len - 1])) s.len--;
  return s;
}

bool strv_split(strv s, char sep, strv *head, strv *rest) {
  const char *p = s.len ? memchr(s.data, sep, s.len) : NULL;
  if (!p) {
    *head = s;
    *rest = (strv){0};
    return false;
  }
  size_t n = (size_t)(p - s.data);
  *head = strv_take(s, n);
  *rest = strv_drop(s, n + 1);
  return true;
}

bool strv_parse_u64(strv s, uint64_t *out) {
  uint64_t v = 0;
  if (s.len && s.data[0] == '+') s = strv_drop(s, 1);
  if (!s.len) return false;
  for (size_t i = 0; i < s.len; i++) {
    unsigned digit = (unsigned)s.data[i] - '0';
    if (digit > 9 || v > UINT64_MAX / 10 || v * 10 > UINT64_MAX - digit) return false;
    v = v * 10 + digit;
  }
  *out = v;
  return true;
}

bool strv_parse_i64(strv s, int64_t *out) {
  bool negative = s.len && s.data[0] == '-';
  uint64_t v;
  if (negative) s = strv_drop(s, 1);
  if (negative && s.len && s.data[0] == '+') return false;
  if (!strv_parse_u64(s, &v)) return false;
  if (v > (uint64_t)INT64_MAX + negative) return false;
  *out = negative ? (int64_t)(0 - v) : (int64_t)v;
  return true;
}

// A decimal number taken apart: value = digits * 10^exponent, exact if no digit was dropped.
typedef struct decimal {
  uint64_t digits;
  int n_digits;  // significant ones in `digits`
  bool dropped;
  int64_t exponent;
} decimal;

// Reads a run of digits into d; `fraction`: each moves the exponent down. Returns how many characters.
static size_t scan_digits(strv s, bool fraction, decimal *d) {
  size_t i = 0;
  for (; i < s.len && (unsigned)s.data[i] - '0' <= 9; i++) {
    if (d->n_digits < 18) {
      d->digits = d->digits * 10 + ((unsigned)s.data[i] - '0');
      if (d->digits) d->n_digits++;
      if (fraction) d->exponent--;
    } else {
      d->dropped = true;
      if (!fraction) d->exponent++;
    }
  }
  return i;
}

static bool scan_decimal(strv s, decimal *d) {
  size_t n_int = scan_digits(s, false, d), n_frac = 0;
  s = strv_drop(s, n_int);
  if (s.len && s.data[0] == '.') {
    s = strv_drop(s, 1);
    n_frac = scan_digits(s, true, d);
    s = strv_drop(s, n_frac);
  }
  if (n_int + n_frac == 0) return false;
  if (!s.len) return true;
  if (s.data[0] != 'e' && s.data[0] != 'E') return false;
  s = strv_drop(s, 1);
  bool negative = s.len && s.data[0] == '-';
  if (s.len && (s.data[0] == '-' || s.data[0] == '+')) s = strv_drop(s, 1);
  if (!s.len) return false;
  int64_t e = 0;
  for (size_t i = 0; i < s.len; i++) {
    unsigned digit = (unsigned)s.data[i] - '0';
    if (digit > 9) return false;
    if (e < 100000000) e = e * 10 + digit;
  }
  d->exponent += negative ? -e : e;
  return true;
}

static bool eq_ignore_case(strv s, const char *lower) {
  size_t n = strlen(lower);
  if (s.len != n) return false;
  for (size_t i = 0; i < n; i++) {
    char c = s.data[i];
    if (c >= 'A' && c <= 'Z') c = (char)(c + ('a' - 'A'));
    if (c != lower[i]) return false;
  }
  return true;
}

// s is a checked decimal without sign. glibc's newlocale for "C" gives a static object: no allocation.
static double parse_slowly(strv s) {
  char small[64];
  char *text = s.len < sizeof small ? small : heap_alloc(s.len + 1);
  memcpy(text, s.data, s.len);
  text[s.len] = 0;
  locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  double v = c_locale ? strtod_l(text, NULL, c_locale) : strtod(text, NULL);
  if (c_locale) freelocale(c_locale);
  if (text != small) free(text);
  return v;
}

bool strv_parse_f64(strv s, double *out) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  bool negative = s.len && s.data[0] == '-';
  if (s.len && (s.data[0] == '-' || s.data[0] == '+')) s = strv_drop(s, 1);
  decimal d = {0};
  double v;
  if (eq_ignore_case(s, "inf") || eq_ignore_case(s, "infinity")) {
    v = INFINITY;
  } else if (eq_ignore_case(s, "nan")) {
    v = NAN;
  } else if (!scan_decimal(s, &d)) {
    return false;
  } else if (!d.dropped && d.digits <= UINT64_C(1) << 53 && d.exponent >= -22 && d.exponent <= 22) {
    v = d.exponent < 0 ? (double)d.digits / powers[-d.exponent] : (double)d.digits * powers[d.exponent];
  } else {
    v = parse_slowly(s);
  }
  *out = negative ? -v : v;
  return true;
}

uint64_t strv_hash(strv s) {
  return hash_bytes(s.data, s.len, 0);
}

// Letters inserted, left out, replaced, or swapped with the next; more than NEAR_MAX letters are never near.
enum { NEAR_MAX = 48 };
static int edits(strv a, strv b) {
  int row[3][NEAR_MAX + 1];
  for (int j = 0; j <= (int)b.len; j++) row[0][j] = j;
  for (int i = 1; i <= (int)a.len; i++) {
    int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
    now[0] = i;
    for (int j = 1; j <= (int)b.len; j++) {
      int least = last[j - 1] + (a.data[i - 1] != b.data[j - 1]);
      if (last[j] + 1 < least) least = last[j] + 1;
      if (now[j - 1] + 1 < least) least = now[j - 1] + 1;
      if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1] &&
          before[j - 2] + 1 < least)
        least = before[j - 2] + 1;
      now[j] = least;
    }
  }
  return row[a.len % 3][b.len];
}

static strv behind_last_dot(strv s) {
  for (size_t i = s.len; i > 0; i--)
    if (s.data[i - 1] == '.') return strv_drop(s, i);
  return s;
}

void strv_near_try(strv_near *n, strv candidate) {
  strv name = behind_last_dot(n->wanted), other = behind_last_dot(candidate);
  if (!name.len || !other.len || n->wanted.len > NEAR_MAX || candidate.len > NEAR_MAX) return;
  int allowed = 1 + (int)name.len / 5, distance = edits(n->wanted, candidate);
  if (name.len < n->wanted.len && strv_eq(name, other) && distance > 1) distance = 1;  // another dialect's name
  if (distance > allowed || (n->best.len && distance >= n->distance)) return;
  n->best = candidate;
  n->distance = distance;
}

void strbuf_deinit(strbuf *b) {
  free(b->data);
  *b = (strbuf){0};
}

void strbuf_clear(strbuf *b) {
  b->len = 0;
  if (b->data) b->data[0] = 0;
}

// Room for n more bytes and the NUL.
static void strbuf_reserve(strbuf *b, size_t n) {
  size_t need = b->len + n + 1;
  if (need <= b->cap) return;
  size_t cap = b->cap + b->cap / 2;
  if (cap < need) cap = need;
  if (cap < 64) cap = 64;
  b->data = heap_realloc(b->data, cap);
  b->cap = cap;
}

void strbuf_append(strbuf *b, strv s) {
  strbuf_reserve(b, s.len);
  if (s.len) memcpy(b->data + b->len, s.data, s.len);
  b->len += s.len;
  b->data[b->len] = 0;
}

void strbuf_append_cstr(strbuf *b, const char *s) {
  strbuf_append(b, strv_from_cstr(s));
}

void strbuf_append_char(strbuf *b, char c) {
  strbuf_reserve(b, 1);
  b->data[b->len++] = c;
  b->data[b->len] = 0;
}

void strbuf_vprintf(strbuf *b, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  strbuf_reserve(b, 63);
  size_t room = b->cap - b->len;
  int n = vsnprintf(b->data + b->len, room, format, args);
  if (n >= 0 && (size_t)n >= room) {
    strbuf_reserve(b, (size_t)n);
    n = vsnprintf(b->data + b->len, b->cap - b->len, format, again);
  }
  va_end(again);
  if (n > 0) b->len += (size_t)n;
  b->data[b->len] = 0;
}

void strbuf_printf(strbuf *b, const char *format, ...) {
  va_list args;
  va_start(args, format);
  strbuf_vprintf(b, format, args);
  va_end(args);
}

strv strbuf_view(const strbuf *b) {
  return (strv){b->data ? b->data : "", b->len};
}
