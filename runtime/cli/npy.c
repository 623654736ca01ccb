// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files (versions 1 to 3): one header, a Python dictionary literal, then the elements.
//
// Read: little- and big-endian, C and Fortran order, bool, signed and unsigned integers, f16/f32/f64, complex, and raw
// bits (V1, V2: what ml_dtypes saves). Types that NumPy lacks are kept as unsigned bits of their width (bf16, f8, f6,
// f4) or as int8/uint8 (i2, i4, ui2, ui4); the reader is told which type is wanted.
#include <string.h>

#include "runtime/cli/cli.h"

typedef struct header {
  bool big, fortran;
  char kind;  // b i u f c V
  int width;  // bytes of an element
  int rank;
  int64_t dims[INTERP_MAX_RANK];
  size_t data_at;  // offset of the elements
} header;

static lemnos_status bad(const char *name, const char *what) {
  return lemnos_status_make(LEMNOS_DATA_LOSS, "%s: not a .npy file that can be read: %s", name, what);
}

// The text behind 'key': in the dictionary, blanks skipped; empty if absent.
static strv find_key(strv dict, const char *key) {
  size_t n = strlen(key);
  for (size_t i = 0; i + n + 2 <= dict.len; i++) {
    char q = dict.data[i];
    if ((q != '\'' && q != '"') || memcmp(dict.data + i + 1, key, n) != 0 || dict.data[i + 1 + n] != q) continue;
    strv rest = strv_trim(strv_drop(dict, i + n + 2));
    if (rest.len && rest.data[0] == ':') return strv_trim(strv_drop(rest, 1));
  }
  return (strv){0};
}

static lemnos_status read_descr(const char *name, strv text, header *h) {
  if (text.len && text.data[0] == '[')
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "%s: structured arrays are not supported", name);
  if (text.len < 4 || (text.data[0] != '\'' && text.data[0] != '"')) return bad(name, "no descr");
  strv head, rest;
  if (!strv_split(strv_drop(text, 1), text.data[0], &head, &rest) || head.len < 2) return bad(name, "no descr");
  char order = head.data[0];
  if (order == '<' || order == '>' || order == '|' || order == '=') head = strv_drop(head, 1);
  int64_t width;
  if (head.len < 2 || !strv_parse_i64(strv_drop(head, 1), &width) || !strchr("biufcV", head.data[0]) || width < 1 ||
      width > 16)
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "%s: element type '" STRV_FMT "' is not supported", name,
                              STRV_ARG(head));
  h->big = order == '>';
  h->kind = head.data[0];
  h->width = (int)width;
  return LEMNOS_SUCCESS;
}

static lemnos_status read_dims(const char *name, strv text, header *h) {
  if (!text.len || text.data[0] != '(') return bad(name, "no shape");
  text = strv_drop(text, 1);
  for (;;) {
    text = strv_trim(text);
    if (!text.len) return bad(name, "the shape does not end");
    if (text.data[0] == ')') return LEMNOS_SUCCESS;
    if (text.data[0] == ',') {
      text = strv_drop(text, 1);
      continue;
    }
    size_t n = 0;
    while (n < text.len && text.data[n] >= '0' && text.data[n] <= '9') n++;
    int64_t dim;
    if (!n || !strv_parse_i64(strv_take(text, n), &dim)) return bad(name, "a dimension is not a number");
    if (h->rank == INTERP_MAX_RANK) return bad(name, "too many dimensions");
    h->dims[h->rank++] = dim;
    text = strv_drop(text, n);
    if (text.len && text.data[0] == 'L') text = strv_drop(text, 1);  // Python 2
  }
}

static lemnos_status read_header(const char *name, strv bytes, header *h) {
  const unsigned char *p = (const unsigned char *)bytes.data;
  memset(h, 0, sizeof *h);
  if (bytes.len < 10 || memcmp(p, "\x93NUMPY", 6) != 0) return bad(name, "it does not begin with \\x93NUMPY");
  int major = p[6];
  if (major < 1 || major > 3) return bad(name, "unknown version");
  size_t fixed = major == 1 ? 10 : 12, n = p[8] | (size_t)p[9] << 8;
  if (bytes.len < fixed) return bad(name, "it is cut short");
  if (major > 1) n |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
  if (n > bytes.len - fixed) return bad(name, "it is cut short");
  strv dict = {bytes.data + fixed, n};
  h->data_at = fixed + n;
  LEMNOS_TRY(read_descr(name, find_key(dict, "descr"), h));
  strv order = find_key(dict, "fortran_order");
  if (!strv_starts_with(order, STRV("True")) && !strv_starts_with(order, STRV("False")))
    return bad(name, "no fortran_order");
  h->fortran = order.data[0] == 'T';
  return read_dims(name, find_key(dict, "shape"), h);
}

// The element type a file names by itself; HLO_DTYPE_COUNT: none.
static hlo_dtype natural_type(const header *h) {
  for (int t = 0; t < HLO_TOKEN; t++) {
    const hlo_dtype_info *d = &hlo_dtype_table[t];
    if (d->bytes != h->width || d->bits != 8 * d->bytes) continue;
    if ((h->kind == 'i' && d->cls == HLO_CLASS_SINT) || (h->kind == 'u' && d->cls == HLO_CLASS_UINT) ||
        (h->kind == 'c' && d->cls == HLO_CLASS_COMPLEX) ||
        (h->kind == 'f' && (t == HLO_F16 || t == HLO_F32 || t == HLO_F64)))
      return (hlo_dtype)t;
  }
  return h->kind == 'b' && h->width == 1 ? HLO_PRED : HLO_DTYPE_COUNT;
}

static bool is_kept_as_bits(hlo_dtype t) {
  return hlo_dtype_is_float(t) && t != HLO_F16 && t != HLO_F32 && t != HLO_F64;
}

// May the file's elements be taken as `want`?
static bool fits_type(const header *h, hlo_dtype want) {
  if (natural_type(h) == want) return true;
  if (hlo_dtype_bytes(want) != h->width) return false;
  if (h->kind == 'V') return true;
  if (is_kept_as_bits(want)) return h->kind == 'u';
  if (want == HLO_S2 || want == HLO_S4) return h->kind == 'i';
  if (want == HLO_U2 || want == HLO_U4) return h->kind == 'u';
  return false;
}

static void swap_bytes(char *data, size_t n, int width) {
  for (size_t i = 0; i < n; i++, data += width)
    for (int a = 0, b = width - 1; a < b; a++, b--) {
      char t = data[a];
      data[a] = data[b];
      data[b] = t;
    }
}

// Column-major elements to row-major ones.
static void from_fortran(const char *src, const interp_array *a, int width) {
  int64_t n = array_elements(a), index[INTERP_MAX_RANK] = {0}, stride[INTERP_MAX_RANK], at = 0, step = 1;
  for (int d = 0; d < a->rank; d++) stride[d] = step, step *= a->dims[d];
  char *dst = a->data;
  for (int64_t i = 0; i < n; i++, dst += width) {
    memcpy(dst, src + at * width, (size_t)width);
    for (int d = a->rank - 1; d >= 0; d--) {
      at += stride[d];
      if (++index[d] < a->dims[d]) break;
      at -= stride[d] * a->dims[d];
      index[d] = 0;
    }
  }
}

// Values outside the type's range in narrow types; booleans made 0 or 1.
static lemnos_status check_narrow(const char *name, const interp_array *a) {
  hlo_dtype t = a->dtype;
  int bits = hlo_dtype_table[t].bits;
  int64_t n = array_elements(a);
  unsigned char *p = a->data;
  if (t == HLO_PRED)
    for (int64_t i = 0; i < n; i++) p[i] = p[i] != 0;
  if (t == HLO_PRED || bits >= 8) return LEMNOS_SUCCESS;
  for (int64_t i = 0; i < n; i++) {
    bool fits = hlo_dtype_is_signed(t) ? (signed char)p[i] >= -(1 << (bits - 1)) && (signed char)p[i] < 1 << (bits - 1)
                                       : p[i] < 1u << bits;
    if (!fits)
      return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "%s: element %lld does not fit in %s", name, (long long)i,
                                hlo_dtype_table[t].stablehlo_name);
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status wrong_type(const char *name, const header *h, hlo_dtype want) {
  const char *how = is_kept_as_bits(want)              ? " (kept in .npy as unsigned bits of its width)"
                    : want == HLO_S2 || want == HLO_S4 ? " (kept in .npy as int8)"
                    : want == HLO_U2 || want == HLO_U4 ? " (kept in .npy as uint8)"
                                                       : "";
  hlo_dtype found = natural_type(h);
  if (found != HLO_DTYPE_COUNT)
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "%s holds elements of type %s, expected %s%s", name,
                              hlo_dtype_table[found].stablehlo_name, hlo_dtype_table[want].stablehlo_name, how);
  return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "%s holds elements of type '%c%d', expected %s%s", name, h->kind,
                            h->width, hlo_dtype_table[want].stablehlo_name, how);
}

lemnos_status npy_read(const char *name, strv bytes, hlo_dtype want, interp_array *out) {
  header h;
  LEMNOS_TRY(read_header(name, bytes, &h));
  hlo_dtype t = want == HLO_DTYPE_COUNT ? natural_type(&h) : want;
  if (t == HLO_DTYPE_COUNT)
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "%s: element type '%c%d' is not supported", name, h.kind,
                              h.width);
  if (!fits_type(&h, t)) return wrong_type(name, &h, t);
  interp_array a = {.dtype = t, .rank = h.rank};
  memcpy(a.dims, h.dims, sizeof a.dims);
  int64_t size = interp_array_bytes(&a);
  if (size < 0 || (uint64_t)size > bytes.len - h.data_at) return bad(name, "it is cut short");
  if ((uint64_t)size < bytes.len - h.data_at) return bad(name, "there are bytes behind its elements");
  LEMNOS_TRY(array_allocate(&a));
  const char *src = bytes.data + h.data_at;
  if (h.fortran && size)
    from_fortran(src, &a, h.width);
  else
    memcpy(a.data, src, (size_t)size);
  if (h.big) {
    int unit = h.kind == 'c' ? h.width / 2 : h.width;
    swap_bytes(a.data, (size_t)size / (size_t)unit, unit);
  }
  lemnos_status status = check_narrow(name, &a);
  if (status)
    heap_aligned_free(a.data);
  else
    *out = a;
  return status;
}

static void print_descr(strbuf *out, hlo_dtype t) {
  const hlo_dtype_info *d = &hlo_dtype_table[t];
  char kind = t == HLO_PRED                                      ? 'b'
              : d->cls == HLO_CLASS_SINT                         ? 'i'
              : d->cls == HLO_CLASS_COMPLEX                      ? 'c'
              : d->cls == HLO_CLASS_FLOAT && !is_kept_as_bits(t) ? 'f'
                                                                 : 'u';
  strbuf_printf(out, "%c%c%d", d->bytes > 1 ? '<' : '|', kind, d->bytes);
}

void npy_header(strbuf *out, const interp_array *a) {
  strbuf dict = {0};
  strbuf_append_cstr(&dict, "{'descr': '");
  print_descr(&dict, a->dtype);
  strbuf_append_cstr(&dict, "', 'fortran_order': False, 'shape': (");
  for (int d = 0; d < a->rank; d++)
    strbuf_printf(&dict, "%lld%s", (long long)a->dims[d], a->rank == 1 || d + 1 < a->rank ? "," : "");
  strbuf_append_cstr(&dict, "), }");
  while ((10 + dict.len + 1) % 64) strbuf_append_char(&dict, ' ');
  strbuf_append_char(&dict, '\n');
  // At most INTERP_MAX_RANK dimensions of 20 characters: version 1's 65,535 bytes are never exceeded.
  strbuf_append(out, STRV("\x93NUMPY\x01"));
  strbuf_append_char(out, 0);
  strbuf_append_char(out, (char)(dict.len & 255));
  strbuf_append_char(out, (char)(dict.len >> 8));
  strbuf_append(out, strbuf_view(&dict));
  strbuf_deinit(&dict);
}

lemnos_status npy_write_file(const char *path, const interp_array *a) {
  strbuf h = {0};
  npy_header(&h, a);
  size_t data = (size_t)interp_array_bytes(a);
  char *all = heap_try_alloc_aligned(h.len + data);
  if (!all) {
    strbuf_deinit(&h);
    return lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "no memory to write '%s'", path);
  }
  memcpy(all, h.data, h.len);
  if (data) memcpy(all + h.len, a->data, data);
  lemnos_status status = io_write_file(path, all, h.len + data);
  heap_aligned_free(all);
  strbuf_deinit(&h);
  return status;
}
