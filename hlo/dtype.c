// SPDX-License-Identifier: Apache-2.0
// Element types: the table generated from dtypes.def, and look-up by name.
#include "hlo/dtype.h"

const hlo_dtype_info hlo_dtype_table[HLO_DTYPE_COUNT] = {
#define D(ENUM, stablehlo, hlo, bytes, bits, CLASS) {stablehlo, hlo, bytes, bits, HLO_CLASS_##CLASS},
#include "hlo/dtypes.def"
#undef D
};

// hlo_shape_is_array compares with HLO_TOKEN, so the two types that are not elements must come last.
_Static_assert(HLO_TOKEN == HLO_DTYPE_COUNT - 2 && HLO_TUPLE == HLO_DTYPE_COUNT - 1, "token and tuple end the table");
_Static_assert(HLO_PRED == 0, "a zeroed dtype is pred");

hlo_dtype hlo_dtype_real_part(hlo_dtype t) {
  if (t == HLO_C64) return HLO_F32;
  if (t == HLO_C128) return HLO_F64;
  return t;
}

bool hlo_dtype_from_stablehlo(strv name, hlo_dtype *out) {
  for (int i = 0; i < HLO_DTYPE_COUNT; i++)
    if (strv_eq_cstr(name, hlo_dtype_table[i].stablehlo_name)) return *out = (hlo_dtype)i, true;
  return false;
}

bool hlo_dtype_from_hlo(strv name, hlo_dtype *out) {
  for (int i = 0; i < HLO_DTYPE_COUNT; i++)
    if (strv_eq_cstr(name, hlo_dtype_table[i].hlo_name)) return *out = (hlo_dtype)i, true;
  return false;
}
