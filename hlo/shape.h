// SPDX-License-Identifier: Apache-2.0
// Shapes: element type, dimensions, layout; or a tuple of shapes; or a token.
//
// Shapes are immutable and interned per module: within one module, equal shapes are the same pointer, so `==` compares.
// Make them only through the functions here.
#ifndef HLO_SHAPE_H
#define HLO_SHAPE_H

#include "hlo/dtype.h"

#define HLO_DYNAMIC INT64_MIN  // size of a dimension that is not known

// Quantization parameters (StableHLO spec, "Quantized types"): real = (stored - zero_point) * scale.
typedef struct hlo_quant {
  hlo_dtype expressed;  // float type
  int64_t storage_min, storage_max;
  int32_t axis;      // -1: per tensor
  int32_t n_scales;  // 1 if per tensor
  const double *scales;
  const int64_t *zero_points;
} hlo_quant;

typedef struct hlo_shape {
  hlo_dtype dtype;  // HLO_TUPLE: see elements. Quantized: the storage type
  int32_t rank;
  const int64_t *dims;    // sizes, >= 0, or HLO_DYNAMIC
  const int64_t *bounds;  // NULL, or per dimension the bound of a dynamic one (HLO_DYNAMIC: none)
  // minor-to-major permutation, or NULL for row-major (normalised: never a row-major array)
  const int32_t *layout;
  const hlo_quant *quant;  // NULL: not quantized
  int32_t n_elements;      // of a tuple
  const struct hlo_shape *const *elements;
  uint64_t hash;
} hlo_shape;

typedef struct hlo_shape_table hlo_shape_table;
hlo_shape_table *hlo_shape_table_create(arena *a);
// The interned shape equal to *proto (whose arrays are copied).
const hlo_shape *hlo_shape_intern(hlo_shape_table *t, const hlo_shape *proto);
const hlo_shape *hlo_shape_array(hlo_shape_table *t, hlo_dtype dtype, int rank, const int64_t *dims);
const hlo_shape *hlo_shape_tuple(hlo_shape_table *t, int n, const hlo_shape *const *elements);
const hlo_shape *hlo_shape_token(hlo_shape_table *t);
// s with another element type (quantization dropped); with other dims (layout, bounds dropped).
const hlo_shape *hlo_shape_with_dtype(hlo_shape_table *t, const hlo_shape *s, hlo_dtype dtype);
const hlo_shape *hlo_shape_with_dims(hlo_shape_table *t, const hlo_shape *s, int rank, const int64_t *dims);

static inline bool hlo_shape_is_tuple(const hlo_shape *s) {
  return s->dtype == HLO_TUPLE;
}
static inline bool hlo_shape_is_token(const hlo_shape *s) {
  return s->dtype == HLO_TOKEN;
}
static inline bool hlo_shape_is_array(const hlo_shape *s) {
  return s->dtype < HLO_TOKEN;
}
bool hlo_shape_is_static(const hlo_shape *s);                      // no dynamic dimension anywhere
bool hlo_shape_same_dims(const hlo_shape *a, const hlo_shape *b);  // arrays, sizes only
// array, static: product of dims (1 for rank 0); -1 on overflow of 2^62
int64_t hlo_shape_elements(const hlo_shape *s);
// of an array in memory, unpadded; 0 for token; -1 on overflow or dynamic
int64_t hlo_shape_bytes(const hlo_shape *s);
int hlo_shape_leaves(const hlo_shape *s);  // arrays and tokens inside, depth first; 1 for an array
const hlo_shape *hlo_shape_leaf(const hlo_shape *s, int i);
void hlo_shape_print(strbuf *out, const hlo_shape *s);            // HLO text: f32[2,3]{1,0}, (f32[], s32[4])
void hlo_shape_print_stablehlo(strbuf *out, const hlo_shape *s);  // tensor<2x3xf32>

#endif
