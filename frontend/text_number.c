// SPDX-License-Identifier: Apache-2.0
// Floating-point literals of the MLIR text parser: one correct rounding from decimal to any format.
//
// Short decimals (mantissa below 2^53, power of ten up to 22) are exact or once rounded in double arithmetic
// (W. D. Clinger, "How to read floating point numbers accurately", 1990); others go through the C library. A narrower
// format is then rounded from that double, which is right unless the double lies exactly on a rounding boundary of
// the narrower format (boundaries are doubles themselves, and rounding is monotonic). In that case the decimal is
// compared with the double digit by digit, and the double is moved one step towards the decimal.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "frontend/text_internal.h"

typedef struct float_format {
  const char *name;
  int bits;
  double (*to_f64)(uint32_t pattern);
  uint32_t (*from_f64)(double x);
} float_format;

static double f32_to_f64(uint32_t pattern) {
  float f;
  memcpy(&f, &pattern, sizeof f);
  return (double)f;
}

static uint32_t f32_from_f64(double x) {
  float f = (float)x;
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}

static const float_format FORMATS[] = {{"f32", 32, f32_to_f64, f32_from_f64},
                                       {"f64", 64, NULL, NULL},
#define M(name, bits, e, m, bias, kind) {#name, bits, name##_to_f64, name##_from_f64},
                                       SMALL_FLOATS(M)
#undef M
};

static const float_format *find_format(const mlir_type *type) {
  for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++)
    if (strv_eq_cstr(type->name, FORMATS[i].name)) return &FORMATS[i];
  return NULL;
}

static const double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Decimal to the nearest double.
static bool parse_double(strv s, double *out) {
  uint64_t mantissa = 0;
  int64_t exponent = 0;
  bool exact = true, seen = false;
  size_t i = 0;
  for (; i < s.len && s.data[i] >= '0' && s.data[i] <= '9'; i++, seen = true) {
    if (mantissa > (UINT64_MAX - 9) / 10)
      exact = false;
    else
      mantissa = mantissa * 10 + (uint64_t)(s.data[i] - '0');
  }
  if (i < s.len && s.data[i] == '.') {
    for (i++; i < s.len && s.data[i] >= '0' && s.data[i] <= '9'; i++, seen = true) {
      if (mantissa > (UINT64_MAX - 9) / 10) {
        exact = false;
      } else {
        mantissa = mantissa * 10 + (uint64_t)(s.data[i] - '0');
        exponent--;
      }
    }
  }
  if (!seen) return false;
  if (i < s.len && (s.data[i] | 32) == 'e') {
    bool negative = ++i < s.len && s.data[i] == '-';
    if (i < s.len && (s.data[i] == '-' || s.data[i] == '+')) i++;
    if (i == s.len) return false;
    int64_t e = 0;
    for (; i < s.len && s.data[i] >= '0' && s.data[i] <= '9'; i++)
      if (e < 1000000) e = e * 10 + (s.data[i] - '0');
    exponent += negative ? -e : e;
  }
  if (i != s.len) return false;
  if (exact && mantissa <= UINT64_C(1) << 53 && exponent >= -22 && exponent <= 22) {
    double m = (double)mantissa;
    *out = exponent < 0 ? m / POWERS[-exponent] : m * POWERS[exponent];
    return true;
  }
  return strv_parse_f64(s, out);
}

// Reads the digits of a decimal one by one, leading zeros left out.
typedef struct digit_reader {
  strv s;
  size_t i;
} digit_reader;

static int next_digit(digit_reader *r) {
  while (r->i < r->s.len) {
    char c = r->s.data[r->i++];
    if (c >= '0' && c <= '9') return c - '0';
    if ((c | 32) == 'e') break;
  }
  r->i = r->s.len;
  return -1;
}

// Power of ten of the first nonzero digit; the reader is left standing in front of that digit.
static int64_t leading_power(digit_reader *r) {
  size_t point = r->s.len, first = r->s.len, end = r->s.len;
  int64_t exponent = 0;
  for (size_t i = 0; i < r->s.len; i++) {
    char c = r->s.data[i];
    if ((c | 32) == 'e') {
      end = i;
      bool negative = i + 1 < r->s.len && r->s.data[i + 1] == '-';
      for (size_t j = i + 1; j < r->s.len; j++)
        if (r->s.data[j] >= '0' && r->s.data[j] <= '9' && exponent < 1000000)
          exponent = exponent * 10 + (r->s.data[j] - '0');
      if (negative) exponent = -exponent;
      break;
    }
    if (c == '.') point = i;
    if (c >= '1' && c <= '9' && first == r->s.len) first = i;
  }
  if (point > end) point = end;
  r->i = first;
  int64_t place = first < point ? (int64_t)(point - first) - 1 : -(int64_t)(first - point);
  return place + exponent;
}

// Sign of (decimal - d), both positive.
static int compare_decimal(strv decimal, double d) {
  char exact[1200];
  // 1074 fraction digits at most; "%e" writes one digit, a decimal point of the locale, and the rest.
  int n = snprintf(exact, sizeof exact, "%.1080e", d);
  if (n <= 0 || n >= (int)sizeof exact) return 0;
  for (char *s = exact + 1; *s && (*s < '0' || *s > '9'); s++) *s = s == exact + 1 ? '.' : '0';
  digit_reader a = {decimal, 0}, b = {{exact, (size_t)n}, 0};
  int64_t power_a = leading_power(&a), power_b = leading_power(&b);
  if (power_a != power_b) return power_a > power_b ? 1 : -1;
  for (;;) {
    int da = next_digit(&a), db = next_digit(&b);
    if (da < 0 && db < 0) return 0;
    if (da < 0) da = 0;
    if (db < 0) db = 0;
    if (da != db) return da > db ? 1 : -1;
  }
}

// Rounds d, the double nearest to the decimal, once more to the format.
static uint32_t narrow(const float_format *f, strv decimal, double d) {
  uint64_t bits;
  memcpy(&bits, &d, sizeof bits);
  // Quick answer for most f32: a normal result whose cut-off bits are not exactly one half.
  if (f->bits == 32 && d > 1.2e-38 && d < 3.4e38 && (bits & 0x1FFFFFFF) != 0x10000000) return f32_from_f64(d);
  if (d == 0 || isinf(d)) return f->from_f64(d);
  double above = nextafter(d, INFINITY), below = nextafter(d, 0);
  if (f->from_f64(above) == f->from_f64(below)) return f->from_f64(d);
  int side = compare_decimal(decimal, d);
  return f->from_f64(side > 0 ? above : side < 0 ? below : d);
}

static bool parse_bits(strv hex, int width, uint64_t *out) {
  uint64_t value = 0;
  for (size_t i = 2; i < hex.len; i++) {
    char c = hex.data[i];
    if (value >> 60) return false;
    value = value * 16 + (uint64_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
  }
  *out = value;
  return width == 64 || value >> width == 0;
}

bool text_round_float(strv literal, bool negative, const mlir_type *type, uint64_t *out_bits) {
  const float_format *f = find_format(type);
  if (!f) return false;
  if (literal.len > 2 && literal.data[1] == 'x') return !negative && parse_bits(literal, f->bits, out_bits);
  double d = 0;
  if (!parse_double(literal, &d)) return false;
  if (f->bits == 64) {
    if (negative) d = -d;
    memcpy(out_bits, &d, sizeof d);
    return true;
  }
  if (!negative) {
    *out_bits = narrow(f, literal, d);
    return true;
  }
  // Rounding is symmetric, so the magnitude is rounded and then negated (formats without a sign or without a
  // negative zero see to that themselves).
  *out_bits = f->from_f64(-f->to_f64(narrow(f, literal, d)));
  return true;
}

double text_float_value(const mlir_type *type, uint64_t bits) {
  const float_format *f = find_format(type);
  double d = 0;
  if (!f) return d;
  if (f->bits != 64) return f->to_f64((uint32_t)bits);
  memcpy(&d, &bits, sizeof d);
  return d;
}
