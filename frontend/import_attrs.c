// SPDX-License-Identifier: Apache-2.0
// Import: MLIR attributes to the typed structs of hlo/attr.h.
//
// Fields with a StableHLO name are read by kind, driven by the descriptor table. Fields without one (windows, slices,
// padding, channels, custom calls) are put together from several attributes by a function of their list. Lists of
// integers may be DENSE_ARRAY, DENSE or ARRAY. Absent attributes get the defaults of StableHLO's operation definitions.
#include "frontend/import_internal.h"

// --- pieces --------------------------------------------------------------------------------------

strv import_op_label(const mlir_op *op) {
  strv dialect, name;
  return strv_split(op->name, '.', &dialect, &name) ? name : op->name;
}

bool import_int(const mlir_attr *a, int64_t *out) {
  if (!a) return false;
  if (a->kind == MLIR_ATTR_INTEGER || a->kind == MLIR_ATTR_BOOL) {
    *out = a->integer;
    return true;
  }
  if (a->kind == MLIR_ATTR_UNIT) {
    *out = 1;
    return true;
  }
  return false;
}

static int integer_bytes(const mlir_type *t) {
  if (t && t->kind == MLIR_TYPE_INDEX) return 8;
  if (!t || t->kind != MLIR_TYPE_INTEGER) return 0;
  return t->width <= 8 ? 1 : t->width <= 16 ? 2 : t->width <= 32 ? 4 : t->width <= 64 ? 8 : 0;
}

static int64_t load_integer(const mlir_type *t, const void *data, int64_t i) {
  const char *p = (const char *)data + i * integer_bytes(t);
  bool u = t->signedness == MLIR_UNSIGNED || (t->kind == MLIR_TYPE_INTEGER && t->width == 1);
  union {
    int8_t s8;
    uint8_t u8;
    int16_t s16;
    uint16_t u16;
    int32_t s32;
    uint32_t u32;
    int64_t s64;
  } x;
  switch (integer_bytes(t)) {
    case 1: memcpy(&x, p, 1); return t->width == 1 ? x.u8 != 0 : u ? x.u8 : x.s8;
    case 2: memcpy(&x, p, 2); return u ? x.u16 : x.s16;
    case 4: memcpy(&x, p, 4); return u ? (int64_t)x.u32 : x.s32;
    default: memcpy(&x, p, 8); return x.s64;
  }
}

static bool dense_ints(import_ctx *c, const mlir_attr *a, hlo_i64s *out) {
  const mlir_type *element = a->kind == MLIR_ATTR_DENSE ? (a->type ? a->type->element : NULL) : a->type;
  int bytes = integer_bytes(element);
  if (!bytes) {
    *out = (hlo_i64s){0};
    return a->data_size == 0 && a->kind == MLIR_ATTR_DENSE_ARRAY;
  }
  int64_t n = (int64_t)(a->data_size / (size_t)bytes);
  if (a->kind == MLIR_ATTR_DENSE) {
    n = 1;
    for (int i = 0; i < a->type->rank; i++) {
      if (a->type->dims[i] < 0 || a->type->dims[i] > 1 << 24) return false;
      n *= a->type->dims[i];
      if (n > 1 << 24) return false;
    }
    if (a->data_size < (size_t)bytes * (size_t)(a->splat ? n > 0 : n)) return false;
  }
  if (n > 1 << 24) return false;
  int64_t *data = ARENA_ARRAY(c->arena, int64_t, n);
  for (int64_t i = 0; i < n; i++)
    data[i] = load_integer(element, a->data, a->kind == MLIR_ATTR_DENSE && a->splat ? 0 : i);
  *out = (hlo_i64s){data, (int32_t)n};
  return true;
}

bool import_i64s(import_ctx *c, const mlir_attr *a, hlo_i64s *out) {
  if (a->kind == MLIR_ATTR_DENSE || a->kind == MLIR_ATTR_DENSE_ARRAY) return dense_ints(c, a, out);
  if (a->kind != MLIR_ATTR_ARRAY) return false;
  int64_t *data = ARENA_ARRAY(c->arena, int64_t, a->n_items);
  for (int i = 0; i < a->n_items; i++)
    if (!import_int(a->items[i], &data[i])) return false;
  *out = (hlo_i64s){data, a->n_items};
  return true;
}

// The specification's lists are of si64.
static bool is_si64_list(const mlir_attr *a) {
  const mlir_type *t = a->kind == MLIR_ATTR_DENSE ? a->type ? a->type->element : NULL : a->type;
  if (a->kind == MLIR_ATTR_ARRAY) return true;
  return t && t->kind == MLIR_TYPE_INTEGER && t->width == 64 && t->signedness != MLIR_UNSIGNED;
}

static bool lacks(import_ctx *c, const mlir_op *op, const char *name) {
  strv_near near = {.wanted = strv_from_cstr(name)};
  for (int i = 0; i < op->n_attrs; i++) strv_near_try(&near, op->attrs[i].name);
  const char *found = near.best.len ? arena_printf(c->arena, "; it has '" STRV_FMT "'", STRV_ARG(near.best)) : "";
  return import_fail(c, op->loc, "'" STRV_FMT "' lacks the attribute '%s'%s", STRV_ARG(op->name), name, found);
}

bool import_named_i64s(import_ctx *c, const mlir_op *op, const char *name, bool required, hlo_i64s *out) {
  const mlir_attr *a = mlir_op_attr(op, name);
  *out = (hlo_i64s){0};
  if (!a) {
    if (!required) return true;
    return lacks(c, op, name);
  }
  if (import_i64s(c, a, out)) return true;
  return import_fail(c, op->loc, "'" STRV_FMT "': the attribute '%s' is not a list of integers", STRV_ARG(op->name),
                     name);
}

static char loose(char ch) {
  return ch >= 'A' && ch <= 'Z' ? (char)(ch - 'A' + 'a') : ch;
}

const mlir_attr *import_entry(const mlir_attr *a, const char *name) {
  for (int i = 0; a && i < a->n_entries; i++) {
    strv n = a->entries[i].name;
    const char *p = name;
    size_t k = 0;
    for (;;) {
      while (*p == '_') p++;
      while (k < n.len && n.data[k] == '_') k++;
      if (!*p || k == n.len || loose(*p) != loose(n.data[k])) break;
      p++, k++;
    }
    if (!*p && k == n.len) return a->entries[i].value;
  }
  return NULL;
}

strv import_attr_text(import_ctx *c, const mlir_attr *a) {
  strbuf b = {0};
  mlir_attr_print(&b, a);
  strv s = arena_strv(c->arena, strbuf_view(&b));
  strbuf_deinit(&b);
  return s;
}

// --- structs -------------------------------------------------------------------------------------

static bool entry_list(import_ctx *c, const mlir_attr *a, const char *name, hlo_i64s *out) {
  const mlir_attr *e = import_entry(a, name);
  *out = (hlo_i64s){0};
  return !e || import_i64s(c, e, out);
}

static bool entry_int(const mlir_attr *a, const char *name, int64_t *out) {
  const mlir_attr *e = import_entry(a, name);
  *out = 0;
  return !e || import_int(e, out);
}

static bool dot_dnums(import_ctx *c, const mlir_attr *a, hlo_dot_dnums *d) {
  return entry_list(c, a, "lhs_batching_dimensions", &d->lhs_batch) &&
         entry_list(c, a, "rhs_batching_dimensions", &d->rhs_batch) &&
         entry_list(c, a, "lhs_contracting_dimensions", &d->lhs_contracting) &&
         entry_list(c, a, "rhs_contracting_dimensions", &d->rhs_contracting);
}

static bool conv_dnums(import_ctx *c, const mlir_attr *a, hlo_conv_dnums *d) {
  return entry_int(a, "input_batch_dimension", &d->input_batch) &&
         entry_int(a, "input_feature_dimension", &d->input_feature) &&
         entry_list(c, a, "input_spatial_dimensions", &d->input_spatial) &&
         entry_int(a, "kernel_input_feature_dimension", &d->kernel_input_feature) &&
         entry_int(a, "kernel_output_feature_dimension", &d->kernel_output_feature) &&
         entry_list(c, a, "kernel_spatial_dimensions", &d->kernel_spatial) &&
         entry_int(a, "output_batch_dimension", &d->output_batch) &&
         entry_int(a, "output_feature_dimension", &d->output_feature) &&
         entry_list(c, a, "output_spatial_dimensions", &d->output_spatial);
}

static bool gather_dnums(import_ctx *c, const mlir_attr *a, hlo_gather_dnums *d) {
  return entry_list(c, a, "offset_dims", &d->offset_dims) &&
         entry_list(c, a, "collapsed_slice_dims", &d->collapsed_slice_dims) &&
         entry_list(c, a, "operand_batching_dims", &d->operand_batching_dims) &&
         entry_list(c, a, "start_indices_batching_dims", &d->start_indices_batching_dims) &&
         entry_list(c, a, "start_index_map", &d->start_index_map) &&
         entry_int(a, "index_vector_dim", &d->index_vector_dim);
}

static bool scatter_dnums(import_ctx *c, const mlir_attr *a, hlo_scatter_dnums *d) {
  return entry_list(c, a, "update_window_dims", &d->update_window_dims) &&
         entry_list(c, a, "inserted_window_dims", &d->inserted_window_dims) &&
         entry_list(c, a, "input_batching_dims", &d->input_batching_dims) &&
         entry_list(c, a, "scatter_indices_batching_dims", &d->scatter_indices_batching_dims) &&
         entry_list(c, a, "scatter_dims_to_operand_dims", &d->scatter_dims_to_operand_dims) &&
         entry_int(a, "index_vector_dim", &d->index_vector_dim);
}

static bool enum_value(hlo_attr_kind kind, const mlir_attr *a, int *out) {
  if (a->kind != MLIR_ATTR_DIALECT && a->kind != MLIR_ATTR_STRING) return false;
  return hlo_enum_parse(kind, a->string, out);
}

static bool precisions(import_ctx *c, const mlir_attr *a, hlo_precisions *out) {
  if (a->kind != MLIR_ATTR_ARRAY) return false;
  hlo_precision *data = ARENA_ARRAY(c->arena, hlo_precision, a->n_items);
  for (int i = 0; i < a->n_items; i++) {
    int v;
    if (!enum_value(HLO_ATTR_KIND_precision, a->items[i], &v)) return false;
    data[i] = (hlo_precision)v;
  }
  *out = (hlo_precisions){data, a->n_items};
  return true;
}

// A dense matrix of si64; also the empty one, whatever its rank.
static bool matrix(import_ctx *c, const mlir_attr *a, hlo_i64s *flat, int64_t *rows, int64_t *cols) {
  if (a->kind != MLIR_ATTR_DENSE || !is_si64_list(a) || !dense_ints(c, a, flat)) return false;
  *rows = *cols = 0;
  if (flat->n == 0) return true;
  if (a->type->rank != 2) return false;
  *rows = a->type->dims[0];
  *cols = a->type->dims[1];
  return true;
}

const hlo_literal *import_literal(import_ctx *c, const mlir_attr *a, const hlo_shape *shape, const loc *l) {
  if (!hlo_shape_is_array(shape) || !hlo_shape_is_static(shape)) {
    import_fail(c, l, "a constant must have a static tensor type");
    return NULL;
  }
  int64_t bytes = hlo_shape_bytes(shape);
  int size = hlo_dtype_bytes(shape->dtype);
  if (a->kind == MLIR_ATTR_INTEGER || a->kind == MLIR_ATTR_BOOL || a->kind == MLIR_ATTR_FLOAT) {
    void *element = arena_alloc(c->arena, 16);
    if (a->kind == MLIR_ATTR_FLOAT)
      hlo_element_set_f64(shape->dtype, element, 0, 0, a->real);
    else
      hlo_element_set_i64(shape->dtype, element, 0, a->integer);
    return hlo_literal_splat(c->arena, shape, element);
  }
  if (a->kind != MLIR_ATTR_DENSE) {
    import_refuse(c, l, "constants given as " STRV_FMT " are not supported", STRV_ARG(import_attr_text(c, a)));
    return NULL;
  }
  if (bytes < 0) {
    strbuf type = {0};
    hlo_shape_print_stablehlo(&type, shape);
    import_fail(c, l, "the size of %s in bytes does not fit into 62 bits", type.data);
    strbuf_deinit(&type);
    return NULL;
  }
  if (a->data_size != (size_t)(a->splat ? size : bytes)) {
    import_fail(c, l, "the constant has %zu bytes of data, its type needs %lld", a->data_size,
                (long long)(a->splat ? size : bytes));
    return NULL;
  }
  hlo_literal *lit = ARENA_NEW(c->arena, hlo_literal);
  lit->shape = shape;
  lit->splat = a->splat;
  lit->data = (void *)a->data;
  size_t align = size > 8 ? 8 : (size_t)size;
  if (!a->data || (uintptr_t)a->data % align) {  // bytecode need not align what it holds
    lit->data = arena_try_alloc(c->arena, a->data_size ? a->data_size : 1, 64);
    if (!lit->data) {
      import_fail(c, l, "no memory for a constant of %zu bytes", a->data_size);
      return NULL;
    }
    if (a->data_size) memcpy(lit->data, a->data, a->data_size);
  }
  return lit;
}

// --- one field by its kind -----------------------------------------------------------------------

// A literal's own type is the result's, or the storage type of a quantized one.
static bool literal_type_fits(import_ctx *c, const mlir_op *op, const mlir_attr *a, const hlo_shape *shape) {
  const mlir_type *t = a->type;
  if (a->kind != MLIR_ATTR_DENSE || !t || t->kind != MLIR_TYPE_TENSOR || !hlo_shape_is_array(shape)) return true;
  const hlo_shape *own = import_type(c, t, op->loc);
  if (!own) return false;
  if (own->dtype == shape->dtype && hlo_shape_same_dims(own, shape)) return true;
  strbuf have = {0}, want = {0};
  hlo_shape_print_stablehlo(&have, own);
  hlo_shape_print_stablehlo(&want, shape);
  import_fail(c, op->loc, "constant_c1: the value has type " STRV_FMT "; expected that of the result, " STRV_FMT,
              STRV_ARG(strbuf_view(&have)), STRV_ARG(strbuf_view(&want)));
  strbuf_deinit(&have);
  strbuf_deinit(&want);
  return false;
}

static bool literal_field(import_ctx *c, const mlir_op *op, const mlir_attr *a, hlo_attr_literal *out) {
  const mlir_type *t = op->n_results ? op->results[0].type : op->n_operands ? op->operands[0]->type : a->type;
  const hlo_shape *shape = import_type(c, t, op->loc);
  return shape && literal_type_fits(c, op, a, shape) && (*out = import_literal(c, a, shape, op->loc)) != NULL;
}

// StableHLO's own (epsilon) are of f32; those of check are of any type.
static bool float_field(const mlir_op *op, const mlir_attr *a, double *out) {
  if (strv_starts_with(op->name, STRV("stablehlo.")) &&
      (a->kind != MLIR_ATTR_FLOAT || !a->type || !strv_eq_cstr(a->type->name, "f32")))
    return false;
  if (a->kind == MLIR_ATTR_FLOAT)
    *out = a->real;
  else if (a->kind == MLIR_ATTR_INTEGER)
    *out = (double)a->integer;
  else
    return false;
  return true;
}

static bool groups_field(import_ctx *c, const mlir_attr *a, hlo_groups *out) {
  hlo_i64s flat;
  int64_t rows, cols;
  if (!matrix(c, a, &flat, &rows, &cols)) return false;
  *out = (hlo_groups){flat.data, (int32_t)rows, (int32_t)cols};
  return true;
}

static bool pairs_field(import_ctx *c, const mlir_attr *a, hlo_pairs *out) {
  hlo_i64s flat;
  int64_t rows, cols;
  if (!matrix(c, a, &flat, &rows, &cols) || (flat.n && cols != 2)) return false;
  *out = (hlo_pairs){flat.data, (int32_t)rows};
  return true;
}

static bool field(import_ctx *c, const mlir_op *op, hlo_attr_kind kind, const mlir_attr *a, void *to) {
  int64_t x;
  int e;
  switch (kind) {
    case HLO_ATTR_KIND_i64: return import_int(a, to);
    case HLO_ATTR_KIND_i64s: return is_si64_list(a) && import_i64s(c, a, to);
    case HLO_ATTR_KIND_f64: return float_field(op, a, to);
    case HLO_ATTR_KIND_flag:
      if (!import_int(a, &x)) return false;
      *(bool *)to = x != 0;
      return true;
    case HLO_ATTR_KIND_string:
      if (a->kind != MLIR_ATTR_STRING && a->kind != MLIR_ATTR_SYMBOL) return false;
      *(strv *)to = a->string;
      return true;
    case HLO_ATTR_KIND_dot_dnums: return a->kind == MLIR_ATTR_DIALECT && dot_dnums(c, a, to);
    case HLO_ATTR_KIND_conv_dnums: return a->kind == MLIR_ATTR_DIALECT && conv_dnums(c, a, to);
    case HLO_ATTR_KIND_gather_dnums: return a->kind == MLIR_ATTR_DIALECT && gather_dnums(c, a, to);
    case HLO_ATTR_KIND_scatter_dnums: return a->kind == MLIR_ATTR_DIALECT && scatter_dnums(c, a, to);
    case HLO_ATTR_KIND_precisions: return precisions(c, a, to);
    case HLO_ATTR_KIND_groups: return groups_field(c, a, to);
    case HLO_ATTR_KIND_pairs: return pairs_field(c, a, to);
    case HLO_ATTR_KIND_literal: return literal_field(c, op, a, to);
    case HLO_ATTR_KIND_window:
    case HLO_ATTR_KIND_padding:
    case HLO_ATTR_KIND_slice:
    case HLO_ATTR_KIND_dict:
    case HLO_ATTR_KIND_COUNT: return false;
#define ENUM_CASE(k)                            \
  case HLO_ATTR_KIND_##k:                       \
    if (!enum_value(kind, a, &e)) return false; \
    *(hlo_##k *)to = (hlo_##k)e;                \
    return true;
      HLO_ENUMS(ENUM_CASE)
#undef ENUM_CASE
  }
  return false;
}

// --- fields put together from several attributes -------------------------------------------------

// The list `name`, n long, or n times `value` if it is absent. label: the constraint on its size.
static bool list_or(import_ctx *c, const mlir_op *op, const char *name, int n, int64_t value, const char *label,
                    const int64_t **out) {
  hlo_i64s l;
  if (mlir_op_attr(op, name)) {
    if (!import_named_i64s(c, op, name, true, &l)) return false;
    if (l.n != n)
      return import_fail(c, op->loc, STRV_FMT "_%s: %s has %d entries; expected %d", STRV_ARG(import_op_label(op)),
                         label, name, l.n, n);
    *out = l.data;
    return true;
  }
  int64_t *data = ARENA_ARRAY(c->arena, int64_t, n);
  for (int i = 0; i < n; i++) data[i] = value;
  *out = data;
  return true;
}

// The same for lists of a window, where an empty one counts as absent, too.
static bool window_list(import_ctx *c, const mlir_op *op, const char *name, int n, int64_t value, const char *label,
                        const int64_t **out) {
  hlo_i64s l;
  mlir_op without = *op;
  if (!import_named_i64s(c, op, name, false, &l)) return false;
  if (!l.n) without.n_attrs = 0;
  return list_or(c, &without, name, n, value, label, out);
}

// What a window's lists are called, and the constraints on their sizes.
typedef struct window_names {
  const char *strides, *padding, *base, *base_name, *dilation, *dilation_name, *reversal;
} window_names;

static bool window_padding(import_ctx *c, const mlir_op *op, int n, const char *label, const int64_t **out) {
  const mlir_attr *a = mlir_op_attr(op, "padding");
  if (a && !is_si64_list(a))
    return import_fail(c, op->loc, STRV_FMT "_%s: padding is " STRV_FMT "; expected 64-bit integers",
                       STRV_ARG(import_op_label(op)), label, STRV_ARG(strv_take(import_attr_text(c, a), 100)));
  if (a && a->kind == MLIR_ATTR_DENSE && a->type && a->data_size &&
      (a->type->rank != 2 || a->type->dims[0] != n || a->type->dims[1] != 2)) {
    strbuf text = {0};
    for (int i = 0; i < a->type->rank; i++) strbuf_printf(&text, i ? ", %lld" : "%lld", (long long)a->type->dims[i]);
    import_fail(c, op->loc, STRV_FMT "_%s: padding has shape [" STRV_FMT "]; expected [%d, 2]",
                STRV_ARG(import_op_label(op)), label, STRV_ARG(strbuf_view(&text)), n);
    strbuf_deinit(&text);
    return false;
  }
  return window_list(c, op, "padding", 2 * n, 0, label, out);
}

static bool window(import_ctx *c, const mlir_op *op, int n, const int64_t *sizes, const window_names *names,
                   hlo_window *out) {
  const int64_t *stride = NULL, *pad = NULL, *base = NULL, *dilation = NULL, *reversal = NULL;
  if (!window_list(c, op, "window_strides", n, 1, names->strides, &stride) ||
      !window_padding(c, op, n, names->padding, &pad) ||
      !window_list(c, op, names->base_name, n, 1, names->base, &base) ||
      !window_list(c, op, names->dilation_name, n, 1, names->dilation, &dilation) ||
      !window_list(c, op, "window_reversal", n, 0, names->reversal, &reversal))
    return false;
  hlo_window_dim *dims = ARENA_ARRAY(c->arena, hlo_window_dim, n);
  for (int i = 0; i < n; i++) {
    dims[i] = (hlo_window_dim){sizes[i], stride[i], pad[2 * i], pad[2 * i + 1], base[i], dilation[i], reversal[i] != 0};
  }
  *out = (hlo_window){dims, n};
  return true;
}

static bool reduce_window(import_ctx *c, const mlir_op *op, bool select_and_scatter, hlo_window *out) {
  static const window_names names[2] = {
      {"c6", "c12", "c8", "base_dilations", "c10", "window_dilations", "attributes"},
      {"c6", "c8", "attributes", "base_dilations", "attributes", "window_dilations", "attributes"}};
  const hlo_shape *shape = op->n_operands ? import_type(c, op->operands[0]->type, op->loc) : NULL;
  const int64_t *sizes;
  if (!shape) return import_fail(c, op->loc, "'" STRV_FMT "' has no operand", STRV_ARG(op->name));
  if (!mlir_op_attr(op, "window_dimensions"))
    return import_fail(c, op->loc, STRV_FMT "_c4: window_dimensions is missing; expected %d sizes",
                       STRV_ARG(import_op_label(op)), shape->rank);
  return list_or(c, op, "window_dimensions", shape->rank, 1, "c4", &sizes) &&
         window(c, op, shape->rank, sizes, &names[select_and_scatter], out);
}

static bool convolution(import_ctx *c, const mlir_op *op, hlo_attrs_convolution *a) {
  static const window_names names = {"c2", "c4", "c5", "lhs_dilation", "c7", "rhs_dilation", "c9"};
  const hlo_shape *kernel = op->n_operands > 1 ? import_type(c, op->operands[1]->type, op->loc) : NULL;
  if (!kernel) return import_fail(c, op->loc, "'" STRV_FMT "' lacks operands", STRV_ARG(op->name));
  int n = a->dnums.kernel_spatial.n;
  int64_t *sizes = ARENA_ARRAY(c->arena, int64_t, n);
  for (int i = 0; i < n; i++) {
    int64_t d = a->dnums.kernel_spatial.data[i];
    if (d < 0 || d >= kernel->rank)
      return import_fail(c, op->loc, STRV_FMT "_c18: kernel spatial dimension %d is %lld; expected one in [0, %d)",
                         STRV_ARG(import_op_label(op)), i, (long long)d, kernel->rank);
    sizes[i] = kernel->dims[d];
  }
  return window(c, op, n, sizes, &names, &a->window);
}

static bool slice(import_ctx *c, const mlir_op *op, hlo_slice *out) {
  hlo_i64s start, limit;
  const int64_t *stride = NULL;
  if (!import_named_i64s(c, op, "start_indices", true, &start) ||
      !import_named_i64s(c, op, "limit_indices", true, &limit))
    return false;
  if (limit.n != start.n)
    return import_fail(c, op->loc, "slice_c2: %d start_indices, but %d limit_indices; expected as many", start.n,
                       limit.n);
  if (!list_or(c, op, "strides", start.n, 1, "c2", &stride)) return false;
  *out = (hlo_slice){start.data, limit.data, stride, start.n};
  return true;
}

static bool padding(import_ctx *c, const mlir_op *op, hlo_padding *out) {
  hlo_i64s low;
  const int64_t *high = NULL, *interior = NULL;
  if (!import_named_i64s(c, op, "edge_padding_low", true, &low) ||
      !list_or(c, op, "edge_padding_high", low.n, 0, "c2", &high) ||
      !list_or(c, op, "interior_padding", low.n, 0, "c2", &interior))
    return false;
  hlo_padding_dim *dims = ARENA_ARRAY(c->arena, hlo_padding_dim, low.n);
  for (int i = 0; i < low.n; i++) dims[i] = (hlo_padding_dim){low.data[i], high[i], interior[i]};
  *out = (hlo_padding){dims, low.n};
  return true;
}

static bool ragged_dot(import_ctx *c, const mlir_op *op, hlo_attrs_ragged_dot *a) {
  const mlir_attr *d = mlir_op_attr(op, "ragged_dot_dimension_numbers");
  if (d && dot_dnums(c, d, &a->dnums) && entry_list(c, d, "lhs_ragged_dimensions", &a->lhs_ragged_dimensions) &&
      entry_list(c, d, "rhs_group_dimensions", &a->rhs_group_dimensions))
    return true;
  return import_fail(c, op->loc, "'chlo.ragged_dot' lacks valid ragged_dot_dimension_numbers");
}

static bool channel(import_ctx *c, const mlir_op *op, int64_t *id, int64_t *type) {
  const mlir_attr *a = mlir_op_attr(op, "channel_handle");
  int64_t unused;
  if (!a) a = mlir_op_attr(op, "channel_id");
  if (!a || import_int(a, id)) return true;
  if (entry_int(a, "handle", id) && entry_int(a, "type", type ? type : &unused)) return true;
  return import_fail(c, op->loc, "'" STRV_FMT "': channel_handle is not a channel handle", STRV_ARG(op->name));
}

int64_t import_api_version(const mlir_attr *a) {
  static const char *const names[] = {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
                                      "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};
  int64_t x;
  if (!a) return 1;
  if (import_int(a, &x)) return x;
  for (int i = 0; i < 5; i++)
    if (strv_eq_cstr(a->string, names[i])) return i;
  return 1;
}

static bool operand_aliases(import_ctx *c, const mlir_op *op, hlo_i64s *out) {
  const mlir_attr *a = mlir_op_attr(op, "output_operand_aliases");
  if (!a || a->kind != MLIR_ATTR_ARRAY) return true;
  int64_t *data = ARENA_ARRAY(c->arena, int64_t, 3 * a->n_items);
  for (int i = 0; i < a->n_items; i++) {
    hlo_i64s result, leaf;
    if (!entry_list(c, a->items[i], "output_tuple_indices", &result) ||
        !entry_list(c, a->items[i], "operand_tuple_indices", &leaf) ||
        !entry_int(a->items[i], "operand_index", &data[3 * i + 1]))
      return import_fail(c, op->loc, "'stablehlo.custom_call': output_operand_aliases is malformed");
    data[3 * i] = result.n ? result.data[0] : 0;
    data[3 * i + 2] = leaf.n ? leaf.data[0] : -1;
  }
  *out = (hlo_i64s){data, 3 * a->n_items};
  return true;
}

static bool custom_call(import_ctx *c, const mlir_op *op, hlo_attrs_custom_call *a) {
  static const char *const own[] = {"call_target_name", "has_side_effect", "api_version", "output_operand_aliases",
                                    "called_computations"};
  a->api_version = import_api_version(mlir_op_attr(op, "api_version"));
  if (!operand_aliases(c, op, &a->operand_tuple_aliasing)) return false;
  hlo_dict_entry *entries = ARENA_ARRAY(c->arena, hlo_dict_entry, op->n_attrs);
  int n = 0;
  for (int i = 0; i < op->n_attrs; i++) {
    bool skip = false;
    for (int k = 0; k < 5; k++) skip |= strv_eq_cstr(op->attrs[i].name, own[k]);
    if (skip) continue;
    const mlir_attr *v = op->attrs[i].value;
    entries[n].name = op->attrs[i].name;
    entries[n].is_string = v->kind == MLIR_ATTR_STRING;
    entries[n].value = entries[n].is_string ? v->string : import_attr_text(c, v);
    n++;
  }
  a->attributes = (hlo_dict){entries, n};
  return true;
}

static bool special_fields(import_ctx *c, const mlir_op *op, hlo_attr_list list, void *attrs) {
  const mlir_attr *a;
  int64_t unused;
  switch (list) {
    case HLO_ATTR_LIST_slice: return slice(c, op, &((hlo_attrs_slice *)attrs)->slice);
    case HLO_ATTR_LIST_pad: return padding(c, op, &((hlo_attrs_pad *)attrs)->padding);
    case HLO_ATTR_LIST_reduce_window: return reduce_window(c, op, false, &((hlo_attrs_reduce_window *)attrs)->window);
    case HLO_ATTR_LIST_select_and_scatter:
      return reduce_window(c, op, true, &((hlo_attrs_select_and_scatter *)attrs)->window);
    case HLO_ATTR_LIST_convolution: return convolution(c, op, attrs);
    case HLO_ATTR_LIST_ragged_dot: return ragged_dot(c, op, attrs);
    case HLO_ATTR_LIST_dot_general:
      if ((a = mlir_op_attr(op, "algorithm"))) ((hlo_attrs_dot_general *)attrs)->algorithm = import_attr_text(c, a);
      return true;
    case HLO_ATTR_LIST_composite:
      a = mlir_op_attr(op, "composite_attributes");
      if (a && a->n_entries) ((hlo_attrs_composite *)attrs)->attributes = import_attr_text(c, a);
      return true;
    case HLO_ATTR_LIST_custom_call: return custom_call(c, op, attrs);
    case HLO_ATTR_LIST_send_recv: {
      hlo_attrs_send_recv *s = attrs;
      return channel(c, op, &s->channel_id, &s->channel_type);
    }
    case HLO_ATTR_LIST_all_gather: return channel(c, op, &((hlo_attrs_all_gather *)attrs)->channel_id, &unused);
    case HLO_ATTR_LIST_all_reduce: return channel(c, op, &((hlo_attrs_all_reduce *)attrs)->channel_id, &unused);
    case HLO_ATTR_LIST_reduce_scatter: return channel(c, op, &((hlo_attrs_reduce_scatter *)attrs)->channel_id, &unused);
    case HLO_ATTR_LIST_all_to_all: return channel(c, op, &((hlo_attrs_all_to_all *)attrs)->channel_id, &unused);
    case HLO_ATTR_LIST_collective_broadcast:
      return channel(c, op, &((hlo_attrs_collective_broadcast *)attrs)->channel_id, &unused);
    case HLO_ATTR_LIST_collective_permute:
      return channel(c, op, &((hlo_attrs_collective_permute *)attrs)->channel_id, &unused);
    default: return true;
  }
}

// Groups and pairs are matrices; the label is that of the operation's input, or of the constraint that pairs are pairs.
static bool bad_form(import_ctx *c, const mlir_op *op, const hlo_attr_desc *d, const mlir_attr *a) {
  bool pairs = d->kind == HLO_ATTR_KIND_pairs, groups = d->kind == HLO_ATTR_KIND_groups;
  bool matrix = a->kind == MLIR_ATTR_DENSE && a->type && a->type->rank == 2;
  const char *label = pairs ? matrix ? "c1" : "i2" : strv_eq_cstr(op->name, "stablehlo.all_gather") ? "i3" : "i2";
  if (groups && strv_eq_cstr(op->name, "stablehlo.all_to_all")) label = "i5";
  if (groups && strv_eq_cstr(op->name, "stablehlo.reduce_scatter")) label = "i3";
  if (!pairs && !groups) label = d->stablehlo_name;
  return import_fail(c, op->loc, STRV_FMT "_%s: %s is " STRV_FMT "%s", STRV_ARG(import_op_label(op)), label,
                     d->stablehlo_name, STRV_ARG(strv_take(import_attr_text(c, a), 200)),
                     pairs    ? "; expected pairs of 64-bit integers, in two dimensions"
                     : groups ? "; expected 64-bit integers in two dimensions"
                              : ", which is not a form that is expected here");
}

void *import_attrs(import_ctx *c, const mlir_op *op, hlo_attr_list list, bool *ok) {
  const hlo_attr_list_info *info = &hlo_attr_list_table[list];
  *ok = true;
  if (list == HLO_ATTR_LIST_none) return NULL;
  char *attrs = hlo_attrs_create(c->arena, list);
  for (int i = 0; i < info->n; i++) {
    const hlo_attr_desc *d = &info->descs[i];
    if (!d->stablehlo_name[0]) continue;
    const mlir_attr *a = mlir_op_attr(op, d->stablehlo_name);
    if (!a && !d->required) continue;
    if (!a) {
      *ok = lacks(c, op, d->stablehlo_name);
    } else if (a->kind == MLIR_ATTR_DIALECT && strv_eq_cstr(a->mnemonic, "replica_group_mesh_axes")) {
      *ok = d->kind == HLO_ATTR_KIND_groups && import_mesh_groups(c, op, a, (hlo_groups *)(attrs + d->offset));
    } else if (!field(c, op, d->kind, a, attrs + d->offset)) {
      if (d->kind == HLO_ATTR_KIND_literal && c->code != LEMNOS_OK)  // reported
        *ok = false;
      else
        *ok = bad_form(c, op, d, a);
    }
    if (!*ok) return NULL;
  }
  *ok = special_fields(c, op, list, attrs);
  return attrs;
}
