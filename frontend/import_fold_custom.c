// SPDX-License-Identifier: Apache-2.0
// Custom calls that stand for operations with sizes given by operands, as JAX exports them under shape polymorphism:
// @stablehlo.dynamic_reduce_window, @stablehlo.dynamic_rng_bit_generator, @stablehlo.dynamic_top_k. With those operands
// known, they are the operations themselves. Any other call may name operands that hold the shapes of its results
// (indices_of_shape_operands); with those known it has these shapes, and the operands go.
#include "frontend/import_fold.h"

static const int64_t *ints(arena *a, const hlo_literal *l, int64_t n) {
  if (!l || hlo_shape_elements(l->shape) != n) return NULL;
  int64_t *data = ARENA_ARRAY(a, int64_t, n);
  for (int64_t i = 0; i < n; i++) data[i] = hlo_literal_get_i64(l, i);
  return data;
}

// Operands: inputs, initial values, then window sizes, strides, base dilations, window dilations, padding.
static bool reduce_window(arena *a, const hlo_instr *i, const hlo_literal *const *values, import_static_form *out) {
  int n = i->n_operands - 5;
  if (n < 2 || n % 2 || i->n_called != 1) return false;
  int64_t rank = i->operands[0]->shape->rank;
  const int64_t *lists[5];
  for (int k = 0; k < 5; k++)
    if (!(lists[k] = ints(a, values[n + k], k == 4 ? 2 * rank : rank))) return false;
  hlo_window_dim *dims = ARENA_ARRAY(a, hlo_window_dim, rank);
  for (int64_t d = 0; d < rank; d++)
    dims[d] = (hlo_window_dim){lists[0][d], lists[1][d], lists[4][2 * d], lists[4][2 * d + 1], lists[2][d],
                               lists[3][d], false};
  hlo_attrs_reduce_window *attrs = hlo_attrs_create(a, HLO_ATTR_LIST_reduce_window);
  attrs->window = (hlo_window){dims, (int32_t)rank};
  *out = (import_static_form){.op = HLO_OP_REDUCE_WINDOW, .n_operands = n, .attrs = attrs};
  return true;
}

static bool algorithm(const hlo_instr *i, hlo_rng_algorithm *out) {
  const hlo_dict *d = &HLO_ATTRS(i, custom_call)->attributes;
  for (int k = 0; k < d->n; k++) {
    if (!strv_eq_cstr(d->entries[k].name, "rng_algorithm")) continue;
    strv text = d->entries[k].value;
    static const struct {
      const char *name;
      hlo_rng_algorithm value;
    } names[] = {{"THREE_FRY", HLO_RNG_ALGORITHM_THREE_FRY},
                 {"PHILOX", HLO_RNG_ALGORITHM_PHILOX},
                 {"DEFAULT", HLO_RNG_ALGORITHM_DEFAULT}};
    for (int j = 0; j < 3; j++) {
      strv name = strv_from_cstr(names[j].name);
      for (size_t p = 0; p + name.len <= text.len; p++)
        if (strv_eq(strv_take(strv_drop(text, p), name.len), name)) {
          *out = names[j].value;
          return true;
        }
    }
  }
  return false;
}

static bool rng_bit_generator(arena *a, hlo_shape_table *shapes, const hlo_instr *i, const hlo_literal *const *values,
                              import_static_form *out) {
  const hlo_shape *result = i->shape;
  hlo_rng_algorithm which;
  if (i->n_operands != 2 || !hlo_shape_is_tuple(result) || result->n_elements != 2 || !algorithm(i, &which))
    return false;
  const hlo_shape *bits = result->elements[1];
  const int64_t *dims = hlo_shape_is_array(bits) ? ints(a, values[1], bits->rank) : NULL;
  if (!dims) return false;
  const hlo_shape *elements[2] = {result->elements[0], hlo_shape_with_dims(shapes, bits, bits->rank, dims)};
  hlo_attrs_rng_bit_generator *attrs = hlo_attrs_create(a, HLO_ATTR_LIST_rng_bit_generator);
  attrs->algorithm = which;
  *out = (import_static_form){.op = HLO_OP_RNG_BIT_GENERATOR,
                              .n_operands = 1,
                              .attrs = attrs,
                              .declared = hlo_shape_tuple(shapes, 2, elements)};
  return true;
}

static bool top_k(arena *a, const hlo_instr *i, const hlo_literal *const *values, import_static_form *out) {
  const int64_t *k = i->n_operands == 2 ? ints(a, values[1], 1) : NULL;
  if (!k) return false;
  hlo_attrs_top_k *attrs = hlo_attrs_create(a, HLO_ATTR_LIST_top_k);
  attrs->k = *k;
  *out = (import_static_form){.op = HLO_OP_TOP_K, .n_operands = 1, .attrs = attrs};
  return true;
}

static const strv *attribute(const hlo_instr *i, const char *name) {
  const hlo_dict *d = &HLO_ATTRS(i, custom_call)->attributes;
  for (int k = 0; k < d->n; k++)
    if (strv_eq_cstr(d->entries[k].name, name)) return &d->entries[k].value;
  return NULL;
}

// Number k of "dense<[1, 2]> : tensor<2xi64>"; dense<1> is 1 for all k. -1 if there is none.
static int64_t dense_element(strv text, int k) {
  size_t at = 0;
  while (at < text.len && text.data[at] != '<') at++;
  bool list = at + 1 < text.len && text.data[at + 1] == '[';
  for (; list && k > 0 && at < text.len && text.data[at] != ']'; at++) k -= text.data[at] == ',';
  int64_t value = -1;
  for (; at < text.len && text.data[at] != '>' && text.data[at] != ',' && text.data[at] != ']'; at++)
    if (text.data[at] >= '0' && text.data[at] <= '9' && value < 1000000)
      value = (value < 0 ? 0 : value) * 10 + (text.data[at] - '0');
  return k > 0 && list ? -1 : value;
}

typedef struct shape_reader {
  arena *arena;
  hlo_shape_table *shapes;
  const hlo_instr *call;
  strv indices;
  const hlo_literal *const *values;
  bool *used;  // by operand: it holds a shape
  int leaf;
  const char *error;
} shape_reader;

static const hlo_shape *mismatch(shape_reader *r, const hlo_shape *s, const int64_t *dims) {
  strbuf have = {0}, want = {0};
  for (int d = 0; d < s->rank; d++) strbuf_printf(&have, "%s%lld", d ? ", " : "", (long long)dims[d]);
  hlo_shape_print_stablehlo(&want, s);
  r->error = arena_printf(r->arena,
                          "indices_of_shape_operands: the operand for result %d holds [" STRV_FMT
                          "]; expected "
                          "sizes that %s can have",
                          r->leaf - 1, STRV_ARG(strbuf_view(&have)), want.data);
  strbuf_deinit(&have);
  strbuf_deinit(&want);
  return NULL;
}

// The shape whose leaves, from r->leaf on, have the sizes that the operands named by `indices` hold.
static const hlo_shape *shape_by_operands(shape_reader *r, const hlo_shape *s) {
  if (hlo_shape_is_tuple(s)) {
    const hlo_shape **e = ARENA_ARRAY(r->arena, const hlo_shape *, s->n_elements);
    for (int k = 0; k < s->n_elements; k++)
      if (!(e[k] = shape_by_operands(r, s->elements[k]))) return NULL;
    return hlo_shape_tuple(r->shapes, s->n_elements, e);
  }
  int64_t at = dense_element(r->indices, r->leaf++);
  if (at < 0 || at >= r->call->n_operands || !hlo_shape_is_array(s)) return NULL;
  const int64_t *dims = ints(r->arena, r->values[at], s->rank);
  if (!dims) return NULL;
  for (int d = 0; d < s->rank; d++)
    if (dims[d] < 0 || (s->dims[d] != HLO_DYNAMIC && s->dims[d] != dims[d])) return mismatch(r, s, dims);
  r->used[at] = true;
  return hlo_shape_with_dims(r->shapes, s, s->rank, dims);
}

static bool shape_operands(shape_reader *r, import_static_form *out) {
  const hlo_instr *i = r->call;
  r->used = ARENA_ARRAY(r->arena, bool, i->n_operands);
  const hlo_shape *shape = shape_by_operands(r, i->shape);
  if (!shape) return false;
  int *operands = ARENA_ARRAY(r->arena, int, i->n_operands);
  int n_operands = 0;
  for (int k = 0; k < i->n_operands; k++)
    if (!r->used[k]) operands[n_operands++] = k;
  hlo_attrs_custom_call *attrs = hlo_attrs_clone(r->arena, HLO_ATTR_LIST_custom_call, i->attrs);
  hlo_dict *d = &attrs->attributes;
  hlo_dict_entry *kept = ARENA_ARRAY(r->arena, hlo_dict_entry, d->n);
  int n = 0;
  for (int k = 0; k < d->n; k++) {
    strv name = d->entries[k].name;  // layouts are one per operand
    if (!strv_eq_cstr(name, "indices_of_shape_operands") && !strv_eq_cstr(name, "operand_layouts") &&
        !strv_eq_cstr(name, "result_layouts"))
      kept[n++] = d->entries[k];
  }
  *d = (hlo_dict){kept, n};
  *out = (import_static_form){HLO_OP_CUSTOM_CALL, n_operands, operands, attrs, shape};
  return true;
}

bool import_fold_custom(arena *a, hlo_shape_table *shapes, const hlo_instr *i, const hlo_literal *const *values,
                        import_static_form *out, const char **error) {
  *error = NULL;
  strv target = HLO_ATTRS(i, custom_call)->target;
  if (strv_eq_cstr(target, "stablehlo.dynamic_reduce_window")) return reduce_window(a, i, values, out);
  if (strv_eq_cstr(target, "stablehlo.dynamic_rng_bit_generator")) return rng_bit_generator(a, shapes, i, values, out);
  if (strv_eq_cstr(target, "stablehlo.dynamic_top_k")) return top_k(a, i, values, out);
  const strv *indices = attribute(i, "indices_of_shape_operands");
  if (!indices) return false;
  shape_reader r = {.arena = a, .shapes = shapes, .call = i, .indices = *indices, .values = values};
  bool ok = shape_operands(&r, out);
  *error = r.error;
  return ok;
}
