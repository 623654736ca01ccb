// SPDX-License-Identifier: Apache-2.0
// Attribute kinds and the structs generated from attrs.def.
//
// Access:   HLO_ATTRS(instr, slice)->slice.start[0]
// where the second argument is the op's attribute LIST in ops.def. Attributes are arena-owned; passes may replace the
// struct of an instruction they own (hlo_attrs_clone), never change one shared with another instruction.
#ifndef HLO_ATTR_H
#define HLO_ATTR_H

#include "hlo/literal.h"

#define V(KIND, VALUE) HLO_##KIND##_##VALUE,
#include "hlo/enums.def"
#define HLO_DEFINE_ENUM(kind) typedef enum hlo_##kind{HLO_ENUM_##kind(V)} hlo_##kind;
HLO_ENUMS(HLO_DEFINE_ENUM)
#undef HLO_DEFINE_ENUM
#undef V

typedef struct hlo_i64s {
  const int64_t *data;
  int32_t n;
} hlo_i64s;

typedef struct hlo_window_dim {
  int64_t size, stride, pad_low, pad_high;  // padding may be negative
  int64_t base_dilation;                    // lhs_dilate
  int64_t window_dilation;                  // rhs_dilate
  bool reversal;
} hlo_window_dim;

typedef struct hlo_window {
  // reduce_window, select_and_scatter: one per operand dimension; convolution: per spatial one
  const hlo_window_dim *dims;
  int32_t n;
} hlo_window;

typedef struct hlo_padding_dim {
  int64_t low, high, interior;
} hlo_padding_dim;

typedef struct hlo_padding {
  const hlo_padding_dim *dims;
  int32_t n;
} hlo_padding;

typedef struct hlo_slice {
  const int64_t *start, *limit, *stride;  // n each
  int32_t n;
} hlo_slice;

typedef struct hlo_dot_dnums {
  hlo_i64s lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;
} hlo_dot_dnums;

typedef struct hlo_conv_dnums {
  int64_t input_batch, input_feature;
  hlo_i64s input_spatial;
  int64_t kernel_input_feature, kernel_output_feature;
  hlo_i64s kernel_spatial;
  int64_t output_batch, output_feature;
  hlo_i64s output_spatial;
} hlo_conv_dnums;

typedef struct hlo_gather_dnums {
  hlo_i64s offset_dims, collapsed_slice_dims, operand_batching_dims, start_indices_batching_dims, start_index_map;
  int64_t index_vector_dim;
} hlo_gather_dnums;

typedef struct hlo_scatter_dnums {
  hlo_i64s update_window_dims, inserted_window_dims, input_batching_dims, scatter_indices_batching_dims,
      scatter_dims_to_operand_dims;
  int64_t index_vector_dim;
} hlo_scatter_dnums;

typedef struct hlo_precisions {
  const hlo_precision *data;
  int32_t n;
} hlo_precisions;

typedef struct hlo_groups {
  const int64_t *data;  // rows x cols, -1 pads
  int32_t rows, cols;
} hlo_groups;

typedef struct hlo_pairs {
  const int64_t *data;  // n pairs: source, target
  int32_t n;
} hlo_pairs;

// Attributes kept for custom calls: names and values as MLIR text ("backend_config" and the like). Strings are unquoted
// in `value` when is_string.
typedef struct hlo_dict_entry {
  strv name, value;
  bool is_string;
} hlo_dict_entry;

typedef struct hlo_dict {
  const hlo_dict_entry *entries;
  int32_t n;
} hlo_dict;

typedef int64_t hlo_attr_i64;
typedef hlo_i64s hlo_attr_i64s;
typedef double hlo_attr_f64;
typedef bool hlo_attr_flag;
typedef strv hlo_attr_string;
typedef hlo_window hlo_attr_window;
typedef hlo_padding hlo_attr_padding;
typedef hlo_slice hlo_attr_slice;
typedef hlo_dot_dnums hlo_attr_dot_dnums;
typedef hlo_conv_dnums hlo_attr_conv_dnums;
typedef hlo_gather_dnums hlo_attr_gather_dnums;
typedef hlo_scatter_dnums hlo_attr_scatter_dnums;
typedef hlo_precisions hlo_attr_precisions;
typedef hlo_groups hlo_attr_groups;
typedef hlo_pairs hlo_attr_pairs;
typedef hlo_dict hlo_attr_dict;
typedef const hlo_literal *hlo_attr_literal;
#define HLO_DEFINE_ENUM_ATTR(kind) typedef hlo_##kind hlo_attr_##kind;
#include "hlo/attrs.def"
HLO_ENUMS(HLO_DEFINE_ENUM_ATTR)
#undef HLO_DEFINE_ENUM_ATTR

// clang-format off
#define HLO_ATTR_KINDS(K)                                                                                    \
  K(i64) K(i64s) K(f64) K(flag) K(string) K(window) K(padding) K(slice) K(dot_dnums) K(conv_dnums)           \
  K(gather_dnums) K(scatter_dnums) K(precisions) K(groups) K(pairs) K(dict) K(literal) HLO_ENUMS(K)

typedef enum hlo_attr_kind {
#define HLO_DEFINE_KIND(kind) HLO_ATTR_KIND_##kind,
  HLO_ATTR_KINDS(HLO_DEFINE_KIND)
#undef HLO_DEFINE_KIND
  HLO_ATTR_KIND_COUNT
} hlo_attr_kind;
// clang-format on

// struct hlo_attrs_<list>
#define HLO_DEFINE_FIELD(kind, field, text, stablehlo, req, def) hlo_attr_##kind field;
#define HLO_DEFINE_STRUCT(list)        \
  typedef struct hlo_attrs_##list {    \
    HLO_ATTRS_##list(HLO_DEFINE_FIELD) \
  } hlo_attrs_##list;
HLO_ATTR_LISTS(HLO_DEFINE_STRUCT)
#undef HLO_DEFINE_STRUCT
#undef HLO_DEFINE_FIELD

typedef struct hlo_attr_desc {
  hlo_attr_kind kind;
  const char *field;           // C name
  const char *text_key;        // HLO text key; "": printed in a special way
  const char *stablehlo_name;  // "": computed by import
  uint32_t offset;             // in the struct
  bool required;
  int64_t default_value;  // scalars
} hlo_attr_desc;

typedef struct hlo_attr_list_info {
  const char *name;
  uint32_t size;  // of the struct
  int32_t n;
  const hlo_attr_desc *descs;
} hlo_attr_list_info;

// clang-format off
typedef enum hlo_attr_list {
#define HLO_DEFINE_LIST(list) HLO_ATTR_LIST_##list,
  HLO_ATTR_LISTS(HLO_DEFINE_LIST)
#undef HLO_DEFINE_LIST
  HLO_ATTR_LIST_COUNT
} hlo_attr_list;
// clang-format on

extern const hlo_attr_list_info hlo_attr_list_table[HLO_ATTR_LIST_COUNT];

// A zeroed struct with the defaults filled in.
void *hlo_attrs_create(arena *a, hlo_attr_list list);
// Deep copy (literals are shared).
void *hlo_attrs_clone(arena *a, hlo_attr_list list, const void *attrs);
bool hlo_attrs_equal(hlo_attr_list list, const void *a, const void *b);
uint64_t hlo_attrs_hash(hlo_attr_list list, const void *attrs);
hlo_i64s hlo_i64s_copy(arena *a, const int64_t *data, int n);
bool hlo_i64s_contains(hlo_i64s l, int64_t x);
const char *hlo_enum_name(hlo_attr_kind kind, int value);  // "LT"; NULL out of range or not an enum
bool hlo_enum_parse(hlo_attr_kind kind, strv text, int *out);

#endif
