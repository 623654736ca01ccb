// SPDX-License-Identifier: Apache-2.0
// Literals: creation, comparison, element access through wider types, and element text.
//
// Text of an element gives back the same bits. Finite floats print with the fewest digits that do. NaNs print as
// "nan" (the quiet one of zero payload), "-nan", or with the mantissa bits, as XLA writes them: "nan(0x200001)".
#include "hlo/literal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// --- creation, comparison ------------------------------------------------------------------------

lemnos_status hlo_literal_create(arena *a, const hlo_shape *shape, hlo_literal **out) {
  int64_t bytes = hlo_shape_is_array(shape) ? hlo_shape_bytes(shape) : -1;
  if (bytes < 0) {
    strbuf text = {0};
    hlo_shape_print(&text, shape);
    lemnos_status status = lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "no literal can have the shape %s", text.data);
    strbuf_deinit(&text);
    return status;
  }
  void *data = arena_try_alloc(a, bytes ? (size_t)bytes : 1, 64);
  if (!data) return lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "no memory for a literal of %lld bytes", (long long)bytes);
  hlo_literal *l = ARENA_NEW(a, hlo_literal);
  *l = (hlo_literal){.shape = shape, .data = data};
  *out = l;
  return LEMNOS_SUCCESS;
}

hlo_literal *hlo_literal_splat(arena *a, const hlo_shape *shape, const void *element) {
  hlo_literal *l = ARENA_NEW(a, hlo_literal);
  *l = (hlo_literal){
      .shape = shape, .data = arena_copy(a, element, (size_t)hlo_dtype_bytes(shape->dtype)), .splat = true};
  return l;
}

// Fills n elements of `size` bytes by doubling what is already there.
static void fill(void *data, const void *element, int64_t n, size_t size) {
  if (n <= 0) return;
  size_t total = size * (size_t)n, done = size;
  memcpy(data, element, size);
  while (done < total) {
    size_t step = done < total - done ? done : total - done;
    memcpy((char *)data + done, data, step);
    done += step;
  }
}

lemnos_status hlo_literal_expand(arena *a, const hlo_literal *l, const hlo_literal **out) {
  if (!l->splat) {
    *out = l;
    return LEMNOS_SUCCESS;
  }
  hlo_literal *full;
  LEMNOS_TRY(hlo_literal_create(a, l->shape, &full));
  fill(full->data, l->data, hlo_shape_elements(l->shape), (size_t)hlo_dtype_bytes(l->shape->dtype));
  *out = full;
  return LEMNOS_SUCCESS;
}

static bool all_equal_to(const char *data, const char *element, int64_t n, size_t size) {
  if (n <= 0) return true;
  if (memcmp(data, element, size)) return false;
  return !memcmp(data, data + size, size * (size_t)(n - 1));  // each equals its successor
}

bool hlo_literal_equal(const hlo_literal *a, const hlo_literal *b) {
  if (a == b) return true;
  if (a->shape->dtype != b->shape->dtype || !hlo_shape_same_dims(a->shape, b->shape)) return false;
  size_t size = (size_t)hlo_dtype_bytes(a->shape->dtype);
  int64_t n = hlo_shape_elements(a->shape);
  if (n <= 0) return true;
  if (a->splat && b->splat) return !memcmp(a->data, b->data, size);
  if (a->splat) return all_equal_to(b->data, a->data, n, size);
  if (b->splat) return all_equal_to(a->data, b->data, n, size);
  return !memcmp(a->data, b->data, size * (size_t)n);
}

// Equal literals must hash alike whether splat or not, so only some elements are looked at.
uint64_t hlo_literal_hash(const hlo_literal *l) {
  size_t size = (size_t)hlo_dtype_bytes(l->shape->dtype);
  int64_t n = hlo_shape_elements(l->shape);
  uint64_t h = hash_u64((uint64_t)l->shape->dtype, 0x117);
  for (int i = 0; i < l->shape->rank; i++) h = hash_u64((uint64_t)l->shape->dims[i], h);
  int64_t step = n > 64 ? n / 61 : 1;
  for (int64_t i = 0; i < n; i += step) h = hash_bytes((const char *)l->data + (l->splat ? 0 : i) * size, size, h);
  return h;
}

// --- element access ------------------------------------------------------------------------------

#define LOAD(type) (((const type *)data)[i])
#define STORE(type, x) (((type *)data)[i] = (type)(x))

// The raw bits of a float format of at most 16 bits.
static uint32_t small_bits(hlo_dtype t, const void *data, int64_t i) {
  return hlo_dtype_bytes(t) == 2 ? LOAD(uint16_t) : LOAD(uint8_t);
}

// F(enum, prefix of base/half.h's functions)
// clang-format off
#define NARROW_FLOATS(F)          \
  F(F16, f16)                     \
  F(BF16, bf16)                   \
  F(F8E5M2, f8E5M2)               \
  F(F8E4M3, f8E4M3)               \
  F(F8E3M4, f8E3M4)               \
  F(F8E4M3FN, f8E4M3FN)           \
  F(F8E4M3FNUZ, f8E4M3FNUZ)       \
  F(F8E5M2FNUZ, f8E5M2FNUZ)       \
  F(F8E4M3B11FNUZ, f8E4M3B11FNUZ) \
  F(F8E8M0FNU, f8E8M0FNU)         \
  F(F6E2M3FN, f6E2M3FN)           \
  F(F6E3M2FN, f6E3M2FN)           \
  F(F4E2M1FN, f4E2M1FN)
// clang-format on

static double small_to_f64(hlo_dtype t, uint32_t bits) {
  switch (t) {
#define CASE(ENUM, name) \
  case HLO_##ENUM: return name##_to_f64(bits);
    NARROW_FLOATS(CASE)
#undef CASE
    default: return 0;
  }
}

static uint32_t small_from_f64(hlo_dtype t, double x) {
  switch (t) {
#define CASE(ENUM, name) \
  case HLO_##ENUM: return name##_from_f64(x);
    NARROW_FLOATS(CASE)
#undef CASE
    default: return 0;
  }
}

int64_t hlo_element_get_i64(hlo_dtype t, const void *data, int64_t i) {
  switch (t) {
    case HLO_PRED:
    case HLO_U2:
    case HLO_U4:
    case HLO_U8: return LOAD(uint8_t);
    case HLO_S2:
    case HLO_S4:
    case HLO_S8: return LOAD(int8_t);
    case HLO_S16: return LOAD(int16_t);
    case HLO_S32: return LOAD(int32_t);
    case HLO_S64: return LOAD(int64_t);
    case HLO_U16: return LOAD(uint16_t);
    case HLO_U32: return LOAD(uint32_t);
    case HLO_U64: return (int64_t)LOAD(uint64_t);
    default: return 0;
  }
}

double hlo_element_get_f64(hlo_dtype t, const void *data, int64_t i, int part) {
  switch (t) {
    case HLO_F32: return LOAD(float);
    case HLO_F64: return LOAD(double);
    case HLO_C64: return ((const float *)data)[2 * i + part];
    case HLO_C128: return ((const double *)data)[2 * i + part];
    case HLO_U64: return (double)LOAD(uint64_t);
    default:
      if (hlo_dtype_is_float(t)) return small_to_f64(t, small_bits(t, data, i));
      return (double)hlo_element_get_i64(t, data, i);
  }
}

double hlo_literal_get_f64(const hlo_literal *l, int64_t i, int part) {
  return hlo_element_get_f64(l->shape->dtype, l->data, l->splat ? 0 : i, part);
}

int64_t hlo_literal_get_i64(const hlo_literal *l, int64_t i) {
  return hlo_element_get_i64(l->shape->dtype, l->data, l->splat ? 0 : i);
}

void hlo_element_set_i64(hlo_dtype t, void *data, int64_t i, int64_t x) {
  switch (t) {
    case HLO_PRED: STORE(uint8_t, x != 0); break;
    case HLO_S2:
      STORE(int8_t, ((x & 3) ^ 2) - 2);  // sign-extended from bit 1
      break;
    case HLO_S4: STORE(int8_t, ((x & 15) ^ 8) - 8); break;
    case HLO_U2: STORE(uint8_t, x & 3); break;
    case HLO_U4: STORE(uint8_t, x & 15); break;
    case HLO_S8:
    case HLO_U8: STORE(uint8_t, x); break;
    case HLO_S16:
    case HLO_U16: STORE(uint16_t, x); break;
    case HLO_S32:
    case HLO_U32: STORE(uint32_t, x); break;
    case HLO_S64:
    case HLO_U64: STORE(uint64_t, x); break;
    default: hlo_element_set_f64(t, data, i, 0, (double)x); break;
  }
}

// x rounded towards zero, clamped to the integer type t; NaN gives 0.
static int64_t saturate(hlo_dtype t, double x) {
  if (isnan(x)) return 0;
  int bits = hlo_dtype_table[t].bits;
  bool is_signed = hlo_dtype_is_signed(t);
  double high = ldexp(1.0, bits - (is_signed ? 1 : 0)), low = is_signed ? -high : 0;
  if (x >= high) return is_signed ? (int64_t)((UINT64_C(1) << (bits - 1)) - 1) : (int64_t)(UINT64_MAX >> (64 - bits));
  if (x <= low) return is_signed ? (int64_t)(UINT64_MAX << (bits - 1)) : 0;
  return is_signed ? (int64_t)x : (int64_t)(uint64_t)x;
}

void hlo_element_set_f64(hlo_dtype t, void *data, int64_t i, int part, double x) {
  switch (t) {
    case HLO_F32: STORE(float, x); break;
    case HLO_F64: STORE(double, x); break;
    case HLO_C64: ((float *)data)[2 * i + part] = (float)x; break;
    case HLO_C128: ((double *)data)[2 * i + part] = x; break;
    case HLO_PRED: STORE(uint8_t, x != 0); break;
    case HLO_F16:
    case HLO_BF16: STORE(uint16_t, small_from_f64(t, x)); break;
    default:
      if (hlo_dtype_is_float(t))
        STORE(uint8_t, small_from_f64(t, x));
      else
        hlo_element_set_i64(t, data, i, saturate(t, x));
  }
}

// --- text ----------------------------------------------------------------------------------------

// Layout of a float format's NaNs: mantissa bits if the format has payloads (IEEE-like), else 0.
static int payload_bits(hlo_dtype t) {
  switch (t) {
    case HLO_F64: return 52;
    case HLO_F32: return 23;
    case HLO_F16: return 10;
    case HLO_BF16: return 7;
    case HLO_F8E5M2: return 2;
    case HLO_F8E4M3: return 3;
    case HLO_F8E3M4: return 4;
    default: return 0;
  }
}

static uint64_t float_bits(hlo_dtype t, const void *data, int64_t i) {
  if (t == HLO_F64) return LOAD(uint64_t);
  if (t == HLO_F32) return LOAD(uint32_t);
  return small_bits(t, data, i);
}

static void set_float_bits(hlo_dtype t, void *data, int64_t i, uint64_t bits) {
  switch (hlo_dtype_bytes(t)) {
    case 8: STORE(uint64_t, bits); break;
    case 4: STORE(uint32_t, bits); break;
    case 2: STORE(uint16_t, bits); break;
    default: STORE(uint8_t, bits); break;
  }
}

static void print_nan(strbuf *out, hlo_dtype t, uint64_t bits) {
  int width = hlo_dtype_table[t].bits, m = payload_bits(t);
  bool one_nan = t == HLO_F8E4M3FNUZ || t == HLO_F8E5M2FNUZ || t == HLO_F8E4M3B11FNUZ || t == HLO_F8E8M0FNU;
  if (!one_nan && bits >> (width - 1) & 1) strbuf_append_char(out, '-');
  strbuf_append_cstr(out, "nan");
  if (!m) return;
  uint64_t mantissa = bits & ((UINT64_C(1) << m) - 1);
  if (mantissa != UINT64_C(1) << (m - 1)) strbuf_printf(out, "(0x%llx)", (unsigned long long)mantissa);
}

static void print_float(strbuf *out, hlo_dtype t, const void *data, int64_t i) {
  double x = hlo_element_get_f64(t, data, i, 0);
  if (isnan(x)) {
    print_nan(out, t, float_bits(t, data, i));
    return;
  }
  if (isinf(x)) {
    strbuf_append_cstr(out, x < 0 ? "-inf" : "inf");
    return;
  }
  if (fabs(x) < 1e6 && x == (double)(int32_t)x && !(x == 0 && signbit(x))) {  // the common case, exact in any format
    strbuf_printf(out, "%d", (int)x);
    return;
  }
  char text[40];
  uint64_t bits = float_bits(t, data, i);
  for (int digits = t == HLO_F64 ? 15 : t == HLO_F32 ? 6 : 1; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, x);
    double back;
    uint64_t again = 0;
    if (!strv_parse_f64(strv_from_cstr(text), &back)) continue;
    hlo_element_set_f64(t, &again, 0, 0, back);
    if (again == bits) break;
  }
  strbuf_append_cstr(out, text);
}

void hlo_element_print(strbuf *out, hlo_dtype t, const void *data, int64_t i) {
  switch (hlo_dtype_cls(t)) {
    case HLO_CLASS_PRED: strbuf_append_cstr(out, LOAD(uint8_t) ? "true" : "false"); break;
    case HLO_CLASS_SINT: strbuf_printf(out, "%lld", (long long)hlo_element_get_i64(t, data, i)); break;
    case HLO_CLASS_UINT: strbuf_printf(out, "%llu", (unsigned long long)hlo_element_get_i64(t, data, i)); break;
    case HLO_CLASS_FLOAT: print_float(out, t, data, i); break;
    case HLO_CLASS_COMPLEX:
      strbuf_append_char(out, '(');
      print_float(out, hlo_dtype_real_part(t), data, 2 * i);
      strbuf_append_cstr(out, ", ");
      print_float(out, hlo_dtype_real_part(t), data, 2 * i + 1);
      strbuf_append_char(out, ')');
      break;
    case HLO_CLASS_NONE: break;
  }
}

static bool parse_nan(hlo_dtype t, strv text, bool negative, void *data, int64_t i) {
  int m = payload_bits(t), width = hlo_dtype_table[t].bits;
  if (text.len == 3 && !m) {
    hlo_element_set_f64(t, data, i, 0, negative ? -(double)NAN : (double)NAN);
    if (!isnan(hlo_element_get_f64(t, data, i, 0))) return false;  // f4 and f6 have no NaN
    if (negative && t == HLO_F8E4M3FN) ((uint8_t *)data)[i] |= 0x80;
    return true;
  }
  if (!m) return false;
  uint64_t mantissa = UINT64_C(1) << (m - 1);
  if (text.len != 3) {
    if (text.len < 8 || text.data[3] != '(' || text.data[text.len - 1] != ')' || text.data[4] != '0' ||
        (text.data[5] | 32) != 'x' || text.len - 7 > 13)
      return false;
    mantissa = 0;
    for (size_t k = 6; k + 1 < text.len; k++) {
      int c = text.data[k] | 32;
      int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
      if (digit < 0) return false;
      mantissa = mantissa << 4 | (unsigned)digit;
    }
    if (!mantissa || mantissa >> m) return false;
  }
  uint64_t exponent = (UINT64_C(1) << (width - 1 - m)) - 1;
  set_float_bits(t, data, i, (uint64_t)negative << (width - 1) | exponent << m | mantissa);
  return true;
}

static bool parse_float(hlo_dtype t, strv text, void *data, int64_t i) {
  bool negative = text.len && text.data[0] == '-';
  strv rest = negative ? strv_drop(text, 1) : text;
  if (strv_starts_with(rest, STRV("nan"))) return parse_nan(t, rest, negative, data, i);
  double x;
  if (!strv_parse_f64(text, &x)) return false;
  hlo_element_set_f64(t, data, i, 0, x);
  return true;
}

bool hlo_element_parse(hlo_dtype t, strv text, void *data, int64_t i) {
  int64_t x;
  uint64_t u;
  strv head, rest;
  switch (hlo_dtype_cls(t)) {
    case HLO_CLASS_PRED:
      if (strv_eq_cstr(text, "true") || strv_eq_cstr(text, "1")) return STORE(uint8_t, 1), true;
      if (strv_eq_cstr(text, "false") || strv_eq_cstr(text, "0")) return STORE(uint8_t, 0), true;
      return false;
    case HLO_CLASS_SINT:
      if (!strv_parse_i64(text, &x)) return false;
      hlo_element_set_i64(t, data, i, x);
      return hlo_element_get_i64(t, data, i) == x;
    case HLO_CLASS_UINT:
      if (!strv_parse_u64(text, &u)) return false;
      hlo_element_set_i64(t, data, i, (int64_t)u);
      return (uint64_t)hlo_element_get_i64(t, data, i) == u;
    case HLO_CLASS_FLOAT: return parse_float(t, text, data, i);
    case HLO_CLASS_COMPLEX:
      if (text.len < 2 || text.data[0] != '(' || text.data[text.len - 1] != ')') return false;
      if (!strv_split(strv_take(strv_drop(text, 1), text.len - 2), ',', &head, &rest)) return false;
      t = hlo_dtype_real_part(t);
      return parse_float(t, strv_trim(head), data, 2 * i) && parse_float(t, strv_trim(rest), data, 2 * i + 1);
    case HLO_CLASS_NONE: break;
  }
  return false;
}

typedef struct literal_printer {
  strbuf *out;
  const hlo_literal *literal;
  int64_t next, left;  // next linear index; elements that may still be printed
} literal_printer;

static void print_dims(literal_printer *p, int dim) {
  const hlo_shape *s = p->literal->shape;
  if (dim == s->rank) {
    hlo_element_print(p->out, s->dtype, p->literal->data, p->literal->splat ? 0 : p->next);
    p->next++;
    p->left--;
    return;
  }
  bool inner = dim == s->rank - 1;
  strbuf_append_cstr(p->out, inner ? "{" : "{ ");
  for (int64_t i = 0; i < s->dims[dim]; i++) {
    if (i) strbuf_append_cstr(p->out, ", ");
    if (p->left <= 0) {
      strbuf_append_cstr(p->out, "...");
      break;
    }
    print_dims(p, dim + 1);
  }
  strbuf_append_cstr(p->out, inner ? "}" : " }");
}

void hlo_literal_print(strbuf *out, const hlo_literal *l, int64_t limit) {
  int64_t n = hlo_shape_elements(l->shape);
  if (n <= 0) {
    strbuf_append_cstr(out, "{}");
    return;
  }
  if (l->splat && l->shape->rank) {
    strbuf_append_cstr(out, "splat ");
    hlo_element_print(out, l->shape->dtype, l->data, 0);
    return;
  }
  literal_printer p = {out, l, 0, limit > 0 && limit < n ? limit : n};
  print_dims(&p, 0);
}
