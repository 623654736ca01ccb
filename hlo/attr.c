// SPDX-License-Identifier: Apache-2.0
// Attributes: the descriptor tables generated from attrs.def, and the generic functions that walk them.
//
// Each kind has one copy, one equality and one hash function, named copy_<kind>, equal_<kind>, hash_<kind>; the three
// switches at the end are generated from HLO_ATTR_KINDS, so a new kind does not compile until it has all three.
#include "hlo/attr.h"

#include <string.h>

// --- tables --------------------------------------------------------------------------------------

// A row knows its field but not its struct. Hence the row macro that a list gets is not one name but the beginning of
// an initialiser, "{.offset = address of S->", which the row's own expansion goes on with: "field, .kind = ...},".
#define REQ true
#define OPT false
// clang-format off
#define REST_OF_ROW(kind_, field_, text, stablehlo, req, def) \
  field_, .kind = HLO_ATTR_KIND_##kind_, .field = #field_, .text_key = text, .stablehlo_name = stablehlo, \
  .required = req, .default_value = def},
// The closing row keeps an empty list's table from being empty; it is not counted.
#define DESCS(list)                                                                            \
  static const hlo_attr_desc descs_##list[] = {                                                         \
      HLO_ATTRS_##list({.offset = (uint32_t)(uintptr_t)&((hlo_attrs_##list *)0)->REST_OF_ROW){          \
          .kind = HLO_ATTR_KIND_COUNT, .field = "", .text_key = "", .stablehlo_name = ""}};
// clang-format on
HLO_ATTR_LISTS(DESCS)

const hlo_attr_list_info hlo_attr_list_table[HLO_ATTR_LIST_COUNT] = {
#define INFO(list) {#list, sizeof(hlo_attrs_##list), sizeof descs_##list / sizeof descs_##list[0] - 1, descs_##list},
    HLO_ATTR_LISTS(INFO)
#undef INFO
};

_Static_assert(HLO_ATTR_LIST_none == 0, "a zeroed list number means no attributes");
_Static_assert(HLO_ATTR_LIST_COUNT <= 255, "hlo_op_info.attrs is one byte");

// --- enumerations --------------------------------------------------------------------------------

#define NAME(KIND, VALUE) #VALUE,
#define NAMES(kind) static const char *const names_##kind[] = {HLO_ENUM_##kind(NAME)};
HLO_ENUMS(NAMES)

static const char *const *enum_names(hlo_attr_kind kind, int *n) {
  switch (kind) {
#define CASE(kind_) \
  case HLO_ATTR_KIND_##kind_: *n = (int)(sizeof names_##kind_ / sizeof names_##kind_[0]); return names_##kind_;
    HLO_ENUMS(CASE)
#undef CASE
    default: *n = 0; return NULL;
  }
}

const char *hlo_enum_name(hlo_attr_kind kind, int value) {
  int n;
  const char *const *names = enum_names(kind, &n);
  return value >= 0 && value < n ? names[value] : NULL;
}

bool hlo_enum_parse(hlo_attr_kind kind, strv text, int *out) {
  int n;
  const char *const *names = enum_names(kind, &n);
  for (int i = 0; i < n; i++)
    if (strv_eq_cstr(text, names[i])) return *out = i, true;
  return false;
}

// --- lists of integers ---------------------------------------------------------------------------

hlo_i64s hlo_i64s_copy(arena *a, const int64_t *data, int n) {
  return (hlo_i64s){arena_copy(a, data, sizeof(int64_t) * (size_t)n), n};
}

bool hlo_i64s_contains(hlo_i64s l, int64_t x) {
  for (int i = 0; i < l.n; i++)
    if (l.data[i] == x) return true;
  return false;
}

static const void *copy_bytes(arena *a, const void *data, size_t size) {
  return size ? arena_copy(a, data, size) : NULL;
}

static bool bytes_equal(const void *a, const void *b, size_t size) {
  return size == 0 || !memcmp(a, b, size);
}

static uint64_t bytes_hash(const void *data, size_t size, uint64_t h) {
  return hash_u64((uint64_t)size, size ? hash_bytes(data, size, h) : h);
}

// --- one copy, equality and hash for each kind ---------------------------------------------------

#define SCALAR(kind)                                                             \
  static void copy_##kind(arena *a, hlo_attr_##kind *x) {                        \
    (void)a, (void)x;                                                            \
  }                                                                              \
  static bool equal_##kind(const hlo_attr_##kind *x, const hlo_attr_##kind *y) { \
    return *x == *y;                                                             \
  }                                                                              \
  static uint64_t hash_##kind(const hlo_attr_##kind *x, uint64_t h) {            \
    return hash_u64((uint64_t)*x, h);                                            \
  }
SCALAR(i64)
SCALAR(flag)
HLO_ENUMS(SCALAR)

// Bitwise: -0 differs from 0, and a NaN equals itself.
static void copy_f64(arena *a, double *x) {
  (void)a, (void)x;
}
static bool equal_f64(const double *x, const double *y) {
  return !memcmp(x, y, sizeof *x);
}
static uint64_t hash_f64(const double *x, uint64_t h) {
  return hash_bytes(x, sizeof *x, h);
}

static void copy_string(arena *a, strv *x) {
  if (x->len) *x = arena_strv(a, *x);
}
static bool equal_string(const strv *x, const strv *y) {
  return strv_eq(*x, *y);
}
static uint64_t hash_string(const strv *x, uint64_t h) {
  return bytes_hash(x->data, x->len, h);
}

// {data, n} with elements that compare bytewise (no padding); `per` counts scalars of one element.
#define ARRAY(kind, field, per)                                                                      \
  static void copy_##kind(arena *a, hlo_attr_##kind *x) {                                            \
    x->field = copy_bytes(a, x->field, sizeof *x->field * (size_t)x->n * (per));                     \
  }                                                                                                  \
  static bool equal_##kind(const hlo_attr_##kind *x, const hlo_attr_##kind *y) {                     \
    return x->n == y->n && bytes_equal(x->field, y->field, sizeof *x->field * (size_t)x->n * (per)); \
  }                                                                                                  \
  static uint64_t hash_##kind(const hlo_attr_##kind *x, uint64_t h) {                                \
    return bytes_hash(x->field, sizeof *x->field * (size_t)x->n * (per), h);                         \
  }
ARRAY(i64s, data, 1)
ARRAY(padding, dims, 1)
ARRAY(precisions, data, 1)
ARRAY(pairs, data, 2)

static void copy_window(arena *a, hlo_window *x) {
  x->dims = copy_bytes(a, x->dims, sizeof *x->dims * (size_t)x->n);
}
static bool equal_window(const hlo_window *x, const hlo_window *y) {
  if (x->n != y->n) return false;
  for (int i = 0; i < x->n; i++) {
    const hlo_window_dim *p = &x->dims[i], *q = &y->dims[i];
    if (p->size != q->size || p->stride != q->stride || p->pad_low != q->pad_low || p->pad_high != q->pad_high ||
        p->base_dilation != q->base_dilation || p->window_dilation != q->window_dilation || p->reversal != q->reversal)
      return false;
  }
  return true;
}
static uint64_t hash_window(const hlo_window *x, uint64_t h) {
  h = hash_u64((uint64_t)x->n, h);
  for (int i = 0; i < x->n; i++) {
    const hlo_window_dim *d = &x->dims[i];
    int64_t fields[] = {d->size, d->stride, d->pad_low, d->pad_high, d->base_dilation, d->window_dilation, d->reversal};
    h = hash_bytes(fields, sizeof fields, h);
  }
  return h;
}

static void copy_slice(arena *a, hlo_slice *x) {
  size_t size = sizeof(int64_t) * (size_t)x->n;
  x->start = copy_bytes(a, x->start, size);
  x->limit = copy_bytes(a, x->limit, size);
  x->stride = copy_bytes(a, x->stride, size);
}
static bool equal_slice(const hlo_slice *x, const hlo_slice *y) {
  size_t size = sizeof(int64_t) * (size_t)x->n;
  return x->n == y->n && bytes_equal(x->start, y->start, size) && bytes_equal(x->limit, y->limit, size) &&
         bytes_equal(x->stride, y->stride, size);
}
static uint64_t hash_slice(const hlo_slice *x, uint64_t h) {
  size_t size = sizeof(int64_t) * (size_t)x->n;
  return bytes_hash(x->stride, size, bytes_hash(x->limit, size, bytes_hash(x->start, size, h)));
}

static void copy_groups(arena *a, hlo_groups *x) {
  x->data = copy_bytes(a, x->data, sizeof(int64_t) * (size_t)x->rows * (size_t)x->cols);
}
static bool equal_groups(const hlo_groups *x, const hlo_groups *y) {
  return x->rows == y->rows && x->cols == y->cols &&
         bytes_equal(x->data, y->data, sizeof(int64_t) * (size_t)x->rows * (size_t)x->cols);
}
static uint64_t hash_groups(const hlo_groups *x, uint64_t h) {
  return bytes_hash(x->data, sizeof(int64_t) * (size_t)x->rows * (size_t)x->cols, hash_u64((uint64_t)x->rows, h));
}

static void copy_dict(arena *a, hlo_dict *x) {
  if (!x->n) return;
  hlo_dict_entry *entries = arena_copy(a, x->entries, sizeof *entries * (size_t)x->n);
  for (int i = 0; i < x->n; i++) {
    copy_string(a, &entries[i].name);
    copy_string(a, &entries[i].value);
  }
  x->entries = entries;
}
static bool equal_dict(const hlo_dict *x, const hlo_dict *y) {
  if (x->n != y->n) return false;
  for (int i = 0; i < x->n; i++) {
    const hlo_dict_entry *p = &x->entries[i], *q = &y->entries[i];
    if (!strv_eq(p->name, q->name) || !strv_eq(p->value, q->value) || p->is_string != q->is_string) return false;
  }
  return true;
}
static uint64_t hash_dict(const hlo_dict *x, uint64_t h) {
  h = hash_u64((uint64_t)x->n, h);
  for (int i = 0; i < x->n; i++) h = hash_string(&x->entries[i].value, hash_string(&x->entries[i].name, h));
  return h;
}

// Immutable, hence shared by copies.
static void copy_literal(arena *a, const hlo_literal **x) {
  (void)a, (void)x;
}
static bool equal_literal(const hlo_literal *const *x, const hlo_literal *const *y) {
  if (!*x || !*y) return *x == *y;
  return hlo_literal_equal(*x, *y);
}
static uint64_t hash_literal(const hlo_literal *const *x, uint64_t h) {
  return hash_u64(*x ? hlo_literal_hash(*x) : 0, h);
}

// Dimension numbers: structs of integer lists (L) and integers (I).
#define COPY_L(f) copy_i64s(a, &x->f);
#define COPY_I(f)
#define EQUAL_L(f) &&equal_i64s(&x->f, &y->f)
#define EQUAL_I(f) &&x->f == y->f
#define HASH_L(f) h = hash_i64s(&x->f, h);
#define HASH_I(f) h = hash_u64((uint64_t)x->f, h);
#define DNUMS(kind, FIELDS)                                            \
  static void copy_##kind(arena *a, hlo_##kind *x) {                   \
    FIELDS(COPY_L, COPY_I)                                             \
  }                                                                    \
  static bool equal_##kind(const hlo_##kind *x, const hlo_##kind *y) { \
    return true FIELDS(EQUAL_L, EQUAL_I);                              \
  }                                                                    \
  static uint64_t hash_##kind(const hlo_##kind *x, uint64_t h) {       \
    FIELDS(HASH_L, HASH_I)                                             \
    return h;                                                          \
  }
#define DOT_FIELDS(L, I) L(lhs_batch) L(rhs_batch) L(lhs_contracting) L(rhs_contracting)
// clang-format off
#define CONV_FIELDS(L, I)                                                                             \
  I(input_batch)                                                                                      \
  I(input_feature)                                                                                    \
  L(input_spatial) I(kernel_input_feature) I(kernel_output_feature) L(kernel_spatial) I(output_batch) \
      I(output_feature) L(output_spatial)
#define GATHER_FIELDS(L, I) \
  L(offset_dims)            \
  L(collapsed_slice_dims) L(operand_batching_dims) L(start_indices_batching_dims) L(start_index_map) I(index_vector_dim)
#define SCATTER_FIELDS(L, I) \
  L(update_window_dims)      \
  L(inserted_window_dims)    \
  L(input_batching_dims) L(scatter_indices_batching_dims) L(scatter_dims_to_operand_dims) I(index_vector_dim)
DNUMS(dot_dnums, DOT_FIELDS)
DNUMS(conv_dnums, CONV_FIELDS)
DNUMS(gather_dnums, GATHER_FIELDS)
DNUMS(scatter_dnums, SCATTER_FIELDS)
// clang-format on

// --- whole structs -------------------------------------------------------------------------------

static void set_default(hlo_attr_kind kind, void *field, int64_t value) {
  switch (kind) {
    case HLO_ATTR_KIND_i64: *(int64_t *)field = value; break;
    case HLO_ATTR_KIND_f64: *(double *)field = (double)value; break;
    case HLO_ATTR_KIND_flag: *(bool *)field = value != 0; break;
#define CASE(kind_) \
  case HLO_ATTR_KIND_##kind_: *(hlo_attr_##kind_ *)field = (hlo_attr_##kind_)value; break;
      HLO_ENUMS(CASE)
#undef CASE
    default: break;  // lists and strings: empty
  }
}

void *hlo_attrs_create(arena *a, hlo_attr_list list) {
  const hlo_attr_list_info *info = &hlo_attr_list_table[list];
  if (!info->n) return NULL;
  char *attrs = arena_alloc(a, info->size);
  for (int i = 0; i < info->n; i++)
    set_default(info->descs[i].kind, attrs + info->descs[i].offset, info->descs[i].default_value);
  return attrs;
}

void *hlo_attrs_clone(arena *a, hlo_attr_list list, const void *attrs) {
  const hlo_attr_list_info *info = &hlo_attr_list_table[list];
  if (!info->n || !attrs) return NULL;
  char *copy = arena_copy(a, attrs, info->size);
  for (int i = 0; i < info->n; i++) {
    void *field = copy + info->descs[i].offset;
    switch (info->descs[i].kind) {
#define CASE(kind) \
  case HLO_ATTR_KIND_##kind: copy_##kind(a, field); break;
      HLO_ATTR_KINDS(CASE)
#undef CASE
      case HLO_ATTR_KIND_COUNT: break;
    }
  }
  return copy;
}

static bool field_equal(hlo_attr_kind kind, const void *x, const void *y) {
  switch (kind) {
#define CASE(kind) \
  case HLO_ATTR_KIND_##kind: return equal_##kind(x, y);
    HLO_ATTR_KINDS(CASE)
#undef CASE
    case HLO_ATTR_KIND_COUNT: break;
  }
  return false;
}

bool hlo_attrs_equal(hlo_attr_list list, const void *a, const void *b) {
  const hlo_attr_list_info *info = &hlo_attr_list_table[list];
  if (!info->n || a == b) return true;
  if (!a || !b) return false;
  for (int i = 0; i < info->n; i++) {
    uint32_t offset = info->descs[i].offset;
    if (!field_equal(info->descs[i].kind, (const char *)a + offset, (const char *)b + offset)) return false;
  }
  return true;
}

uint64_t hlo_attrs_hash(hlo_attr_list list, const void *attrs) {
  const hlo_attr_list_info *info = &hlo_attr_list_table[list];
  uint64_t h = hash_u64((uint64_t)list, 0xa77);
  for (int i = 0; attrs && i < info->n; i++) {
    const void *field = (const char *)attrs + info->descs[i].offset;
    switch (info->descs[i].kind) {
#define CASE(kind) \
  case HLO_ATTR_KIND_##kind: h = hash_##kind(field, h); break;
      HLO_ATTR_KINDS(CASE)
#undef CASE
      case HLO_ATTR_KIND_COUNT: break;
    }
  }
  return h;
}
