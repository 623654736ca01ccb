// SPDX-License-Identifier: Apache-2.0
// Element types. One table (dtypes.def); everything about a type is looked up there.
#ifndef HLO_DTYPE_H
#define HLO_DTYPE_H

#include "base/base.h"

// clang-format off
typedef enum hlo_dtype {
#define D(ENUM, stablehlo, hlo, bytes, bits, CLASS) HLO_##ENUM,
#include "hlo/dtypes.def"
#undef D
  HLO_DTYPE_COUNT
} hlo_dtype;
// clang-format on

typedef enum hlo_dtype_class {
  HLO_CLASS_NONE,
  HLO_CLASS_PRED,
  HLO_CLASS_SINT,
  HLO_CLASS_UINT,
  HLO_CLASS_FLOAT,
  HLO_CLASS_COMPLEX,
} hlo_dtype_class;

typedef struct hlo_dtype_info {
  const char *stablehlo_name;  // "ui8", "complex<f32>"
  const char *hlo_name;        // "u8", "c64"
  uint8_t bytes;               // size of one element in memory (dtypes.def); 0 for token and tuple
  uint8_t bits;                // significant bits
  uint8_t cls;                 // hlo_dtype_class
} hlo_dtype_info;

extern const hlo_dtype_info hlo_dtype_table[HLO_DTYPE_COUNT];

static inline int hlo_dtype_bytes(hlo_dtype t) {
  return hlo_dtype_table[t].bytes;
}
static inline hlo_dtype_class hlo_dtype_cls(hlo_dtype t) {
  return (hlo_dtype_class)hlo_dtype_table[t].cls;
}
static inline bool hlo_dtype_is_signed(hlo_dtype t) {
  return hlo_dtype_cls(t) == HLO_CLASS_SINT;
}
static inline bool hlo_dtype_is_integer(hlo_dtype t) {
  return hlo_dtype_cls(t) == HLO_CLASS_SINT || hlo_dtype_cls(t) == HLO_CLASS_UINT;
}
static inline bool hlo_dtype_is_float(hlo_dtype t) {
  return hlo_dtype_cls(t) == HLO_CLASS_FLOAT;
}
static inline bool hlo_dtype_is_complex(hlo_dtype t) {
  return hlo_dtype_cls(t) == HLO_CLASS_COMPLEX;
}
// c64 -> f32, c128 -> f64, others themselves.
hlo_dtype hlo_dtype_real_part(hlo_dtype t);
// false if unknown
bool hlo_dtype_from_stablehlo(strv name, hlo_dtype *out);
bool hlo_dtype_from_hlo(strv name, hlo_dtype *out);

#endif
