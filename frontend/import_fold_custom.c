// SPDX-License-Identifier: Apache-2.0
// Custom calls that stand for operations with sizes given by operands, as JAX exports them under shape polymorphism:
// @stablehlo.dynamic_reduce_window, @stablehlo.dynamic_rng_bit_generator, @stablehlo.dynamic_top_k. With those operands
// known, they are the operations themselves.
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
  *out = (import_static_form){HLO_OP_REDUCE_WINDOW, n, attrs, NULL};
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
  *out = (import_static_form){HLO_OP_RNG_BIT_GENERATOR, 1, attrs, hlo_shape_tuple(shapes, 2, elements)};
  return true;
}

static bool top_k(arena *a, const hlo_instr *i, const hlo_literal *const *values, import_static_form *out) {
  const int64_t *k = i->n_operands == 2 ? ints(a, values[1], 1) : NULL;
  if (!k) return false;
  hlo_attrs_top_k *attrs = hlo_attrs_create(a, HLO_ATTR_LIST_top_k);
  attrs->k = *k;
  *out = (import_static_form){HLO_OP_TOP_K, 1, attrs, NULL};
  return true;
}

bool import_fold_custom(arena *a, hlo_shape_table *shapes, const hlo_instr *i, const hlo_literal *const *values,
                        import_static_form *out) {
  strv target = HLO_ATTRS(i, custom_call)->target;
  if (strv_eq_cstr(target, "stablehlo.dynamic_reduce_window")) return reduce_window(a, i, values, out);
  if (strv_eq_cstr(target, "stablehlo.dynamic_rng_bit_generator")) return rng_bit_generator(a, shapes, i, values, out);
  if (strv_eq_cstr(target, "stablehlo.dynamic_top_k")) return top_k(a, i, values, out);
  return false;
}
