// SPDX-License-Identifier: Apache-2.0
// Shapes: interning (open addressing over the stored hash), derived sizes, and printing in both spellings.
//
// Normal form, which makes pointer equality mean equality: a row-major layout is NULL; bounds exist only where some
// dynamic dimension has one, and are HLO_DYNAMIC elsewhere; quantization parameters are compared bitwise; a tuple's
// elements are interned in the same table. An array, a tuple and a token leave each other's fields zero.
#include "hlo/shape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct hlo_shape_table {
  arena *arena;
  const hlo_shape **slots;
  int n_slots, len;
};

hlo_shape_table *hlo_shape_table_create(arena *a) {
  hlo_shape_table *t = ARENA_NEW(a, hlo_shape_table);
  t->arena = a;
  t->n_slots = 64;
  t->slots = ARENA_ARRAY(a, const hlo_shape *, t->n_slots);
  return t;
}

// --- normal form, hash, equality -----------------------------------------------------------------

static bool is_row_major(const int32_t *layout, int rank) {
  for (int i = 0; i < rank; i++)
    if (layout[i] != rank - 1 - i) return false;
  return true;
}

static bool has_bounds(const hlo_shape *s) {
  for (int i = 0; s->bounds && i < s->rank; i++)
    if (s->dims[i] == HLO_DYNAMIC && s->bounds[i] != HLO_DYNAMIC) return true;
  return false;
}

static uint64_t hash_quant(const hlo_quant *q, uint64_t h) {
  h = hash_u64((uint64_t)q->expressed, h);
  h = hash_u64((uint64_t)q->storage_min, h);
  h = hash_u64((uint64_t)q->storage_max, h);
  h = hash_u64((uint64_t)(int64_t)q->axis, h);
  h = hash_bytes(q->scales, sizeof(double) * (size_t)q->n_scales, h);
  return hash_bytes(q->zero_points, sizeof(int64_t) * (size_t)q->n_scales, h);
}

static uint64_t hash_shape(const hlo_shape *s) {
  uint64_t h = hash_u64((uint64_t)s->dtype, 0x5ba9e);
  if (s->dtype == HLO_TUPLE) {
    for (int i = 0; i < s->n_elements; i++) h = hash_u64(s->elements[i]->hash, h);
    return hash_u64((uint64_t)s->n_elements, h);
  }
  h = hash_u64((uint64_t)s->rank, h);
  for (int i = 0; i < s->rank; i++) h = hash_u64((uint64_t)s->dims[i], h);
  for (int i = 0; s->bounds && i < s->rank; i++) h = hash_u64((uint64_t)s->bounds[i], h);
  for (int i = 0; s->layout && i < s->rank; i++) h = hash_u64((uint64_t)s->layout[i], h);
  return s->quant ? hash_quant(s->quant, h) : h;
}

static bool quant_equal(const hlo_quant *a, const hlo_quant *b) {
  if (a == b) return true;
  if (!a || !b) return false;
  return a->expressed == b->expressed && a->storage_min == b->storage_min && a->storage_max == b->storage_max &&
         a->axis == b->axis && a->n_scales == b->n_scales &&
         !memcmp(a->scales, b->scales, sizeof(double) * (size_t)a->n_scales) &&
         !memcmp(a->zero_points, b->zero_points, sizeof(int64_t) * (size_t)a->n_scales);
}

static bool arrays_equal(const void *a, const void *b, size_t size) {
  if (!a || !b) return a == b;
  return size == 0 || !memcmp(a, b, size);
}

// Both in normal form.
static bool shape_equal(const hlo_shape *a, const hlo_shape *b) {
  if (a->hash != b->hash || a->dtype != b->dtype || a->rank != b->rank || a->n_elements != b->n_elements) return false;
  size_t n = (size_t)a->rank;
  for (size_t i = 0; i < n; i++)
    if (a->dims[i] != b->dims[i]) return false;
  for (int i = 0; i < a->n_elements; i++)
    if (a->elements[i] != b->elements[i]) return false;
  return arrays_equal(a->bounds, b->bounds, n * sizeof(int64_t)) &&
         arrays_equal(a->layout, b->layout, n * sizeof(int32_t)) && quant_equal(a->quant, b->quant);
}

static const hlo_quant *copy_quant(arena *a, const hlo_quant *q) {
  hlo_quant *copy = arena_copy(a, q, sizeof *q);
  copy->scales = arena_copy(a, q->scales, sizeof(double) * (size_t)q->n_scales);
  copy->zero_points = arena_copy(a, q->zero_points, sizeof(int64_t) * (size_t)q->n_scales);
  return copy;
}

static const int64_t *copy_bounds(arena *a, const hlo_shape *s) {
  int64_t *bounds = arena_copy(a, s->bounds, sizeof(int64_t) * (size_t)s->rank);
  for (int i = 0; i < s->rank; i++)
    if (s->dims[i] != HLO_DYNAMIC) bounds[i] = HLO_DYNAMIC;
  return bounds;
}

static void grow(hlo_shape_table *t) {
  const hlo_shape **old = t->slots;
  int n = t->n_slots;
  t->n_slots *= 2;
  t->slots = ARENA_ARRAY(t->arena, const hlo_shape *, t->n_slots);
  for (int i = 0; i < n; i++) {
    if (!old[i]) continue;
    uint64_t k = old[i]->hash;
    while (t->slots[k & (uint64_t)(t->n_slots - 1)]) k++;
    t->slots[k & (uint64_t)(t->n_slots - 1)] = old[i];
  }
}

// s is in normal form, its hash set, its arrays not yet owned by the table.
static const hlo_shape *find_or_add(hlo_shape_table *t, const hlo_shape *s) {
  if (2 * (t->len + 1) > t->n_slots) grow(t);
  const hlo_shape **slot;
  for (uint64_t k = s->hash;; k++) {
    slot = &t->slots[k & (uint64_t)(t->n_slots - 1)];
    if (!*slot) break;
    if (shape_equal(*slot, s)) return *slot;
  }
  hlo_shape *copy = arena_copy(t->arena, s, sizeof *s);
  if (s->dtype == HLO_TUPLE) {
    copy->elements = arena_copy(t->arena, s->elements, sizeof(*s->elements) * (size_t)s->n_elements);
  } else {
    copy->dims = arena_copy(t->arena, s->dims, sizeof(int64_t) * (size_t)s->rank);
    if (s->bounds) copy->bounds = copy_bounds(t->arena, s);
    if (s->layout) copy->layout = arena_copy(t->arena, s->layout, sizeof(int32_t) * (size_t)s->rank);
    if (s->quant) copy->quant = copy_quant(t->arena, s->quant);
  }
  t->len++;
  return *slot = copy;
}

const hlo_shape *hlo_shape_intern(hlo_shape_table *t, const hlo_shape *proto) {
  if (proto->dtype == HLO_TOKEN) return hlo_shape_token(t);
  if (proto->dtype == HLO_TUPLE) return hlo_shape_tuple(t, proto->n_elements, proto->elements);
  hlo_shape s = {.dtype = proto->dtype, .rank = proto->rank, .dims = proto->dims, .quant = proto->quant};
  int64_t small[8], *bounds = NULL;
  if (has_bounds(proto)) {
    bounds = s.rank <= 8 ? small : heap_alloc(sizeof(int64_t) * (size_t)s.rank);
    for (int i = 0; i < s.rank; i++) bounds[i] = s.dims[i] == HLO_DYNAMIC ? proto->bounds[i] : HLO_DYNAMIC;
    s.bounds = bounds;
  }
  if (proto->layout && !is_row_major(proto->layout, s.rank)) s.layout = proto->layout;
  s.hash = hash_shape(&s);
  const hlo_shape *found = find_or_add(t, &s);
  if (bounds != small) free(bounds);
  return found;
}

const hlo_shape *hlo_shape_array(hlo_shape_table *t, hlo_dtype dtype, int rank, const int64_t *dims) {
  hlo_shape s = {.dtype = dtype, .rank = rank, .dims = dims};
  s.hash = hash_shape(&s);
  return find_or_add(t, &s);
}

const hlo_shape *hlo_shape_tuple(hlo_shape_table *t, int n, const hlo_shape *const *elements) {
  const hlo_shape *small[8];
  const hlo_shape **own = n <= 8 ? small : heap_alloc(sizeof(*own) * (size_t)n);
  for (int i = 0; i < n; i++) own[i] = hlo_shape_intern(t, elements[i]);
  hlo_shape s = {.dtype = HLO_TUPLE, .n_elements = n, .elements = own};
  s.hash = hash_shape(&s);
  const hlo_shape *found = find_or_add(t, &s);
  if (own != small) free(own);
  return found;
}

const hlo_shape *hlo_shape_token(hlo_shape_table *t) {
  return hlo_shape_array(t, HLO_TOKEN, 0, NULL);
}

const hlo_shape *hlo_shape_with_dtype(hlo_shape_table *t, const hlo_shape *s, hlo_dtype dtype) {
  hlo_shape copy = *s;
  copy.dtype = dtype;
  copy.quant = NULL;
  return hlo_shape_intern(t, &copy);
}

const hlo_shape *hlo_shape_with_dims(hlo_shape_table *t, const hlo_shape *s, int rank, const int64_t *dims) {
  hlo_shape copy = {.dtype = s->dtype, .rank = rank, .dims = dims, .quant = s->quant};
  return hlo_shape_intern(t, &copy);
}

// --- derived facts -------------------------------------------------------------------------------

bool hlo_shape_is_static(const hlo_shape *s) {
  for (int i = 0; i < s->rank; i++)
    if (s->dims[i] == HLO_DYNAMIC) return false;
  for (int i = 0; i < s->n_elements; i++)
    if (!hlo_shape_is_static(s->elements[i])) return false;
  return true;
}

bool hlo_shape_same_dims(const hlo_shape *a, const hlo_shape *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i]) return false;
  return true;
}

int64_t hlo_shape_elements(const hlo_shape *s) {
  const int64_t limit = INT64_C(1) << 62;
  int64_t n = 1;
  for (int i = 0; i < s->rank; i++)
    if (s->dims[i] == 0) return 0;  // whatever the others would overflow to
  for (int i = 0; i < s->rank; i++) {
    if (s->dims[i] < 0 || n > limit / s->dims[i]) return -1;
    n *= s->dims[i];
  }
  return n;
}

int64_t hlo_shape_bytes(const hlo_shape *s) {
  if (s->dtype == HLO_TOKEN) return 0;
  if (s->dtype == HLO_TUPLE || !hlo_shape_is_static(s)) return -1;
  int64_t n = hlo_shape_elements(s), size = hlo_dtype_bytes(s->dtype);
  if (n < 0 || n > (INT64_C(1) << 62) / size) return -1;
  return n * size;
}

int hlo_shape_leaves(const hlo_shape *s) {
  if (s->dtype != HLO_TUPLE) return 1;
  int n = 0;
  for (int i = 0; i < s->n_elements; i++) n += hlo_shape_leaves(s->elements[i]);
  return n;
}

const hlo_shape *hlo_shape_leaf(const hlo_shape *s, int i) {
  if (s->dtype != HLO_TUPLE) return i == 0 ? s : NULL;
  for (int k = 0; k < s->n_elements; k++) {
    int n = hlo_shape_leaves(s->elements[k]);
    if (i < n) return hlo_shape_leaf(s->elements[k], i);
    i -= n;
  }
  return NULL;
}

// --- printing ------------------------------------------------------------------------------------

// Shortest decimal form that reads back as the same double.
static void print_scale(strbuf *out, double x) {
  char text[40];
  for (int digits = 6; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, x);
    double back;
    if (strv_parse_f64(strv_from_cstr(text), &back) && back == x) break;
  }
  strbuf_append_cstr(out, text);
  if (!strpbrk(text, ".einf")) strbuf_append_cstr(out, ".0");
}

static void print_scales(strbuf *out, const hlo_quant *q) {
  for (int i = 0; i < q->n_scales; i++) {
    if (i) strbuf_append_char(out, ',');
    print_scale(out, q->scales[i]);
    strbuf_printf(out, ":%lld", (long long)q->zero_points[i]);
  }
}

void hlo_shape_print(strbuf *out, const hlo_shape *s) {
  if (s->dtype == HLO_TUPLE) {
    strbuf_append_char(out, '(');
    for (int i = 0; i < s->n_elements; i++) {
      if (i) strbuf_append_cstr(out, ", ");
      hlo_shape_print(out, s->elements[i]);
    }
    strbuf_append_char(out, ')');
    return;
  }
  strbuf_printf(out, "%s[", hlo_dtype_table[s->dtype].hlo_name);
  for (int i = 0; i < s->rank; i++) {
    if (i) strbuf_append_char(out, ',');
    if (s->dims[i] != HLO_DYNAMIC)
      strbuf_printf(out, "%lld", (long long)s->dims[i]);
    else if (s->bounds && s->bounds[i] != HLO_DYNAMIC)
      strbuf_printf(out, "<=%lld", (long long)s->bounds[i]);
    else
      strbuf_append_char(out, '?');
  }
  strbuf_append_char(out, ']');
  if (s->rank) {
    for (int i = 0; i < s->rank; i++)
      strbuf_printf(out, "%c%d", i ? ',' : '{', s->layout ? s->layout[i] : s->rank - 1 - i);
    strbuf_append_char(out, '}');
  }
  if (!s->quant) return;
  strbuf_printf(out, "!quant(%s,%lld:%lld,", hlo_dtype_table[s->quant->expressed].hlo_name,
                (long long)s->quant->storage_min, (long long)s->quant->storage_max);
  if (s->quant->axis >= 0) strbuf_printf(out, "axis=%d,", s->quant->axis);
  strbuf_append_char(out, '{');
  print_scales(out, s->quant);
  strbuf_append_cstr(out, "})");
}

static void print_quant_stablehlo(strbuf *out, const hlo_shape *s) {
  const hlo_quant *q = s->quant;
  int bits = hlo_dtype_table[s->dtype].bits;
  bool is_signed = hlo_dtype_is_signed(s->dtype);
  int64_t low = is_signed ? -(INT64_C(1) << (bits - 1)) : 0;
  int64_t high = (INT64_C(1) << (bits - (is_signed ? 1 : 0))) - 1;
  strbuf_printf(out, "!quant.uniform<%c%d", is_signed ? 'i' : 'u', bits);
  if (q->storage_min != low || q->storage_max != high)
    strbuf_printf(out, "<%lld:%lld>", (long long)q->storage_min, (long long)q->storage_max);
  strbuf_printf(out, ":%s", hlo_dtype_table[q->expressed].stablehlo_name);
  if (q->axis >= 0) strbuf_printf(out, ":%d", q->axis);
  strbuf_append_cstr(out, q->axis >= 0 ? ", {" : ", ");
  print_scales(out, q);
  strbuf_append_cstr(out, q->axis >= 0 ? "}>" : ">");
}

void hlo_shape_print_stablehlo(strbuf *out, const hlo_shape *s) {
  if (s->dtype == HLO_TOKEN) {
    strbuf_append_cstr(out, "!stablehlo.token");
    return;
  }
  if (s->dtype == HLO_TUPLE) {
    strbuf_append_cstr(out, "tuple<");
    for (int i = 0; i < s->n_elements; i++) {
      if (i) strbuf_append_cstr(out, ", ");
      hlo_shape_print_stablehlo(out, s->elements[i]);
    }
    strbuf_append_char(out, '>');
    return;
  }
  strbuf_append_cstr(out, "tensor<");
  for (int i = 0; i < s->rank; i++) {
    if (s->dims[i] == HLO_DYNAMIC)
      strbuf_append_cstr(out, "?x");
    else
      strbuf_printf(out, "%lldx", (long long)s->dims[i]);
  }
  if (s->quant)
    print_quant_stablehlo(out, s);
  else
    strbuf_append_cstr(out, hlo_dtype_table[s->dtype].stablehlo_name);
  if (s->bounds) {
    strbuf_append_cstr(out, ", #stablehlo.bounds<");
    for (int i = 0; i < s->rank; i++) {
      if (i) strbuf_append_cstr(out, ", ");
      if (s->bounds[i] == HLO_DYNAMIC)
        strbuf_append_char(out, '?');
      else
        strbuf_printf(out, "%lld", (long long)s->bounds[i]);
    }
    strbuf_append_char(out, '>');
  }
  strbuf_append_char(out, '>');
}
