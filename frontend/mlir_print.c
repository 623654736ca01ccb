// SPDX-License-Identifier: Apache-2.0
// Printer of generic MLIR modules: every operation in quoted generic form, with its attributes in one dictionary, so
// that what is printed depends on nothing but the module, and mlir_parse_text reads an equal module back.
//
// Values are numbered (%0, %1, ...; block arguments %arg0, ...) in order of appearance. Numbers that decimal text
// would not carry exactly (NaN, infinities) and long dense data are written as bit patterns.
#include <math.h>
#include <string.h>

#include "frontend/mlir.h"

#define MAX_LISTED_ELEMENTS 64  // longer dense data are printed as one hexadecimal string

// --- strings and numbers -------------------------------------------------------------------------

static void print_quoted(strbuf *out, strv s) {
  strbuf_append_char(out, '"');
  for (size_t i = 0; i < s.len; i++) {
    unsigned char c = (unsigned char)s.data[i];
    if (c == '"' || c == '\\' || c < 32 || c >= 127)
      strbuf_printf(out, "\\%02X", c);
    else
      strbuf_append_char(out, (char)c);
  }
  strbuf_append_char(out, '"');
}

bool mlir_is_bare_name(strv s) {
  if (s.len == 0) return false;
  for (size_t i = 0; i < s.len; i++) {
    char c = s.data[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '$' || c == '.'))) return false;
  }
  return true;
}

static void print_name(strbuf *out, strv s) {
  if (mlir_is_bare_name(s))
    strbuf_append(out, s);
  else
    print_quoted(out, s);
}

static void print_symbol(strbuf *out, strv s) {
  strbuf_append_char(out, '@');
  print_name(out, s);
}

static void print_int(strbuf *out, int64_t v) {
  strbuf_printf(out, "%lld", (long long)v);
}

static void print_dim(strbuf *out, int64_t v) {
  if (v == MLIR_DYNAMIC)
    strbuf_append_char(out, '?');
  else
    print_int(out, v);
}

// 17 significant digits, with '.' whatever the locale says.
static void print_finite(strbuf *out, double d) {
  char text[64];
  strbuf b = {0};
  strbuf_printf(&b, "%.16e", d);
  size_t n = b.len < sizeof text - 1 ? b.len : sizeof text - 1;
  memcpy(text, b.data, n);
  text[n] = 0;
  for (size_t i = 0; i < n; i++)
    if ((text[i] < '0' || text[i] > '9') && text[i] != '-' && text[i] != '+' && text[i] != 'e') text[i] = '.';
  strbuf_append_cstr(out, text);
  strbuf_deinit(&b);
}

// Bit pattern of a value in a named format, and the width of that in bits (0: unknown format).
static int float_bits(strv format, double d, uint64_t *out) {
  float f = (float)d;
  uint32_t u = 0;
  *out = 0;
  if (strv_eq_cstr(format, "f64")) return memcpy(out, &d, 8), 64;
  if (strv_eq_cstr(format, "f32")) {
    memcpy(&u, &f, 4);
    *out = u;
    return 32;
  }
#define M(name, bits, e, m, bias, kind) \
  if (strv_eq_cstr(format, #name)) return *out = name##_from_f64(d), bits;
  SMALL_FLOATS(M)
#undef M
  return 0;
}

static double float_from_bits(strv format, uint64_t bits) {
  double d = 0;
  float f = 0;
  if (strv_eq_cstr(format, "f64")) return memcpy(&d, &bits, 8), d;
  if (strv_eq_cstr(format, "f32")) {
    uint32_t u = (uint32_t)bits;
    memcpy(&f, &u, 4);
    return f;
  }
#define M(name, nbits, e, m, bias, kind) \
  if (strv_eq_cstr(format, #name)) return name##_to_f64((uint32_t)bits);
  SMALL_FLOATS(M)
#undef M
  return d;
}

static void print_hex_bits(strbuf *out, uint64_t bits, int width) {
  strbuf_printf(out, "0x%0*llX", (width + 3) / 4, (unsigned long long)bits);
}

static void print_float(strbuf *out, strv format, double d) {
  uint64_t bits = 0;
  int width = float_bits(format, d, &bits);
  if (isfinite(d) || width == 0)
    print_finite(out, d);
  else
    print_hex_bits(out, bits, width);
}

// --- types ---------------------------------------------------------------------------------------

static void print_types(strbuf *out, const mlir_type *const *types, int n) {
  for (int i = 0; i < n; i++) {
    if (i) strbuf_append_cstr(out, ", ");
    mlir_type_print(out, types[i]);
  }
}

static void print_dims(strbuf *out, const mlir_type *t) {
  for (int i = 0; i < t->rank; i++) {
    print_dim(out, t->dims[i]);
    strbuf_append_char(out, 'x');
  }
}

static void print_shaped(strbuf *out, const mlir_type *t, const char *name) {
  strbuf_printf(out, "%s<", name);
  if (t->kind == MLIR_TYPE_UNRANKED_TENSOR)
    strbuf_append_cstr(out, "*x");
  else
    print_dims(out, t);
  mlir_type_print(out, t->element);
  if (t->encoding) {
    strbuf_append_cstr(out, ", ");
    mlir_attr_print(out, t->encoding);
  }
  strbuf_append_char(out, '>');
}

static void print_scale(strbuf *out, const mlir_quant *q, int i) {
  print_finite(out, q->scales[i]);
  if (q->zero_points[i] != 0) strbuf_printf(out, ":%lld", (long long)q->zero_points[i]);
}

static void print_quant(strbuf *out, const mlir_quant *q) {
  bool is_unsigned = q->storage->signedness == MLIR_UNSIGNED;
  int width = q->storage->width;
  bool is_signed = q->storage->signedness == MLIR_SIGNED;
  strbuf_printf(out, "!quant.uniform<%s%d", is_unsigned ? "u" : is_signed ? "si" : "i", width);
  int64_t low = is_unsigned ? 0 : -(INT64_C(1) << (width - 1));
  int64_t high = is_unsigned ? (INT64_C(1) << width) - 1 : (INT64_C(1) << (width - 1)) - 1;
  if (q->storage_min != low || q->storage_max != high)
    strbuf_printf(out, "<%lld:%lld>", (long long)q->storage_min, (long long)q->storage_max);
  strbuf_append_char(out, ':');
  mlir_type_print(out, q->expressed);
  if (q->n_block_dims > 0) {
    strbuf_append_cstr(out, ":{");
    for (int i = 0; i < q->n_block_dims; i++)
      strbuf_printf(out, "%s%d:%lld", i ? ", " : "", (int)q->block_axes[i], (long long)q->block_sizes[i]);
    strbuf_append_char(out, '}');
  } else if (q->axis >= 0) {
    strbuf_printf(out, ":%d", (int)q->axis);
  }
  strbuf_append_cstr(out, ", ");
  bool braces = q->axis >= 0 || q->n_block_dims > 0;
  if (braces) strbuf_append_char(out, '{');
  for (int i = 0; i < q->n_scales; i++) {
    if (i) strbuf_append_cstr(out, ", ");
    print_scale(out, q, i);
  }
  if (braces) strbuf_append_char(out, '}');
  strbuf_append_char(out, '>');
}

static void print_function(strbuf *out, const mlir_type *t) {
  int n_results = t->n_types - t->n_inputs;
  const mlir_type *only = n_results == 1 ? t->types[t->n_inputs] : NULL;
  strbuf_append_char(out, '(');
  print_types(out, t->types, t->n_inputs);
  strbuf_append_cstr(out, ") -> ");
  bool parens = !only || only->kind == MLIR_TYPE_FUNCTION;
  if (parens) strbuf_append_char(out, '(');
  print_types(out, t->types + t->n_inputs, n_results);
  if (parens) strbuf_append_char(out, ')');
}

void mlir_type_print(strbuf *out, const mlir_type *t) {
  if (!t) {
    strbuf_append_cstr(out, "<<no type>>");
    return;
  }
  switch (t->kind) {
    case MLIR_TYPE_INTEGER:
      strbuf_printf(out, "%s%d",
                    t->signedness == MLIR_SIGNLESS ? "i"
                    : t->signedness == MLIR_SIGNED ? "si"
                                                   : "ui",
                    (int)t->width);
      break;
    case MLIR_TYPE_INDEX: strbuf_append_cstr(out, "index"); break;
    case MLIR_TYPE_NONE: strbuf_append_cstr(out, "none"); break;
    case MLIR_TYPE_FLOAT:
    case MLIR_TYPE_OPAQUE: strbuf_append(out, t->name); break;
    case MLIR_TYPE_COMPLEX:
      strbuf_append_cstr(out, "complex<");
      mlir_type_print(out, t->element);
      strbuf_append_char(out, '>');
      break;
    case MLIR_TYPE_TENSOR:
    case MLIR_TYPE_UNRANKED_TENSOR: print_shaped(out, t, "tensor"); break;
    case MLIR_TYPE_VECTOR: print_shaped(out, t, "vector"); break;
    case MLIR_TYPE_MEMREF: print_shaped(out, t, "memref"); break;
    case MLIR_TYPE_TUPLE:
    case MLIR_TYPE_FUTURE:
      strbuf_append_cstr(out, t->kind == MLIR_TYPE_TUPLE ? "tuple<" : "!stablehlo.future<");
      print_types(out, t->types, t->n_types);
      strbuf_append_char(out, '>');
      break;
    case MLIR_TYPE_FUNCTION: print_function(out, t); break;
    case MLIR_TYPE_TOKEN: strbuf_append_cstr(out, "!stablehlo.token"); break;
    case MLIR_TYPE_QUANTIZED: print_quant(out, t->quant); break;
  }
}

// --- dense data ----------------------------------------------------------------------------------

static size_t scalar_size(const mlir_type *t) {
  uint64_t bits = 0;
  if (t->kind == MLIR_TYPE_INDEX) return 8;
  if (t->kind == MLIR_TYPE_INTEGER) return (size_t)(t->width + 7) / 8;
  if (t->kind == MLIR_TYPE_FLOAT) return (size_t)(float_bits(t->name, 0, &bits) + 7) / 8;
  if (t->kind == MLIR_TYPE_QUANTIZED) return scalar_size(t->quant->storage);
  return 0;
}

static void print_scalar(strbuf *out, const mlir_type *t, const unsigned char *data) {
  if (t->kind == MLIR_TYPE_QUANTIZED) t = t->quant->storage;
  size_t size = scalar_size(t);
  uint64_t bits = 0;
  memcpy(&bits, data, size < 8 ? size : 8);
  if (t->kind == MLIR_TYPE_FLOAT) {
    uint64_t again = 0;
    double d = float_from_bits(t->name, bits);
    int width = float_bits(t->name, d, &again);
    if (isfinite(d))
      print_finite(out, d);
    else
      print_hex_bits(out, bits, width);
  } else if (t->kind == MLIR_TYPE_INTEGER && t->width == 1) {
    strbuf_append_cstr(out, bits ? "true" : "false");
  } else if (t->signedness == MLIR_UNSIGNED) {
    strbuf_printf(out, "%llu", (unsigned long long)bits);
  } else {
    int shift = size < 8 ? 64 - 8 * (int)size : 0;
    print_int(out, (int64_t)(bits << shift) >> shift);
  }
}

static void print_element(strbuf *out, const mlir_type *t, const unsigned char *data) {
  if (t->kind != MLIR_TYPE_COMPLEX) {
    print_scalar(out, t, data);
    return;
  }
  strbuf_append_char(out, '(');
  print_scalar(out, t->element, data);
  strbuf_append_cstr(out, ", ");
  print_scalar(out, t->element, data + scalar_size(t->element));
  strbuf_append_char(out, ')');
}

static const unsigned char *print_list(strbuf *out, const mlir_type *t, int level, size_t size,
                                       const unsigned char *data) {
  if (level == t->rank) {
    print_element(out, t->element, data);
    return data + size;
  }
  strbuf_append_char(out, '[');
  for (int64_t i = 0; i < t->dims[level]; i++) {
    if (i) strbuf_append_cstr(out, ", ");
    data = print_list(out, t, level + 1, size, data);
  }
  strbuf_append_char(out, ']');
  return data;
}

static void print_hex_data(strbuf *out, const unsigned char *data, size_t size) {
  static const char digits[] = "0123456789ABCDEF";
  strbuf_append_cstr(out, "\"0x");
  char chunk[512];
  for (size_t i = 0; i < size;) {
    size_t n = 0;
    for (; i < size && n < sizeof chunk; i++) {
      chunk[n++] = digits[data[i] >> 4];
      chunk[n++] = digits[data[i] & 15];
    }
    strbuf_append(out, (strv){chunk, n});
  }
  strbuf_append_char(out, '"');
}

static void print_string_items(strbuf *out, const mlir_attr *a, int level, int *next) {
  if (level == a->type->rank) {
    if (*next < a->n_items) print_quoted(out, a->items[(*next)++]->string);
    return;
  }
  strbuf_append_char(out, '[');
  for (int64_t i = 0; i < a->type->dims[level] && *next < a->n_items; i++) {
    if (i) strbuf_append_cstr(out, ", ");
    print_string_items(out, a, level + 1, next);
  }
  strbuf_append_char(out, ']');
}

static void print_dense(strbuf *out, const mlir_attr *a) {
  const mlir_type *e = a->type->element;
  size_t size = e->kind == MLIR_TYPE_COMPLEX ? 2 * scalar_size(e->element) : scalar_size(e);
  strbuf_append_cstr(out, "dense<");
  if (a->n_items > 0) {
    int next = 0;
    if (a->splat)
      print_quoted(out, a->items[0]->string);
    else
      print_string_items(out, a, 0, &next);
  } else if (a->splat && a->data_size >= size && size > 0) {
    print_element(out, e, a->data);
  } else if (a->data_size > 0 && size > 0) {
    bool is_bool = e->kind == MLIR_TYPE_INTEGER && e->width == 1;
    if (!is_bool && a->data_size / size > MAX_LISTED_ELEMENTS)
      print_hex_data(out, a->data, a->data_size);
    else
      print_list(out, a->type, 0, size, a->data);
  }
  strbuf_append_cstr(out, "> : ");
  mlir_type_print(out, a->type);
}

static void print_dense_array(strbuf *out, const mlir_attr *a) {
  size_t size = scalar_size(a->type);
  strbuf_append_cstr(out, "array<");
  mlir_type_print(out, a->type);
  for (size_t i = 0; size > 0 && i + size <= a->data_size; i += size) {
    strbuf_append_cstr(out, i ? ", " : ": ");
    print_scalar(out, a->type, (const unsigned char *)a->data + i);
  }
  strbuf_append_char(out, '>');
}

// --- locations -----------------------------------------------------------------------------------

static void print_loc_inner(strbuf *out, const loc *l) {
  if (!l) {
    strbuf_append_cstr(out, "unknown");
    return;
  }
  switch (l->kind) {
    case LOC_FILE:
      print_quoted(out, l->name);
      strbuf_printf(out, ":%d:%d", (int)l->line, (int)l->col);
      break;
    case LOC_NAME:
      print_quoted(out, l->name);
      if (!l->child) break;
      strbuf_append_char(out, '(');
      print_loc_inner(out, l->child);
      strbuf_append_char(out, ')');
      break;
    case LOC_CALLSITE:
      strbuf_append_cstr(out, "callsite(");
      print_loc_inner(out, l->child);
      strbuf_append_cstr(out, " at ");
      print_loc_inner(out, l->caller);
      strbuf_append_char(out, ')');
      break;
    case LOC_FUSED:
      strbuf_append_cstr(out, "fused[");
      for (int i = 0; i < l->n_fused; i++) {
        if (i) strbuf_append_cstr(out, ", ");
        print_loc_inner(out, l->fused[i]);
      }
      strbuf_append_char(out, ']');
      break;
  }
}

static void print_loc(strbuf *out, const loc *l) {
  strbuf_append_cstr(out, "loc(");
  print_loc_inner(out, l);
  strbuf_append_char(out, ')');
}

// --- attributes ----------------------------------------------------------------------------------

static void print_entries(strbuf *out, const mlir_named_attr *entries, int n) {
  strbuf_append_char(out, '{');
  for (int i = 0; i < n; i++) {
    if (i) strbuf_append_cstr(out, ", ");
    print_name(out, entries[i].name);
    if (entries[i].value->kind == MLIR_ATTR_UNIT) continue;
    strbuf_append_cstr(out, " = ");
    mlir_attr_print(out, entries[i].value);
  }
  strbuf_append_char(out, '}');
}

static void print_i64_list(strbuf *out, const mlir_attr *a) {
  strbuf_append_char(out, '[');
  for (size_t i = 0; i + 8 <= a->data_size; i += 8) {
    int64_t v;
    memcpy(&v, (const char *)a->data + i, 8);
    if (i) strbuf_append_cstr(out, ", ");
    print_dim(out, v);
  }
  strbuf_append_char(out, ']');
}

// A field of a struct attribute, written without its type.
static void print_field(strbuf *out, const mlir_attr *a) {
  switch (a->kind) {
    case MLIR_ATTR_DENSE_ARRAY: print_i64_list(out, a); break;
    case MLIR_ATTR_INTEGER: print_int(out, a->integer); break;
    case MLIR_ATTR_FLOAT: print_finite(out, a->real); break;
    case MLIR_ATTR_DIALECT:
      if (strv_eq_cstr(a->mnemonic, "sub_axis_info") && a->n_entries == 2) {
        strbuf_printf(out, "(%lld)%lld", (long long)a->entries[0].value->integer,
                      (long long)a->entries[1].value->integer);
        break;
      }
      mlir_attr_print(out, a);
      break;
    default: mlir_attr_print(out, a); break;
  }
}

static void print_dialect_attr(strbuf *out, const mlir_attr *a) {
  strbuf_append_char(out, '#');
  strbuf_append(out, a->dialect);
  if (a->n_entries == 0 && a->string.len > 0) {
    bool angle = strv_eq_cstr(a->mnemonic, "result_accuracy_mode");
    strbuf_append_cstr(out, angle ? "." : "<");
    strbuf_append(out, a->mnemonic);
    strbuf_append_char(out, angle ? '<' : ' ');
    strbuf_append(out, a->string);
    strbuf_append_char(out, '>');
    return;
  }
  bool bounds = strv_eq_cstr(a->mnemonic, "bounds");
  strbuf_append_char(out, '.');
  strbuf_append_cstr(out, bounds ? "type_extensions" : "");
  if (!bounds) strbuf_append(out, a->mnemonic);
  strbuf_append_cstr(out, strv_eq_cstr(a->mnemonic, "conv") ? "<raw " : "<");
  for (int i = 0; i < a->n_entries; i++) {
    if (i) strbuf_append_cstr(out, ", ");
    strbuf_append(out, a->entries[i].name);
    strbuf_append_cstr(out, " = ");
    print_field(out, a->entries[i].value);
  }
  strbuf_append_char(out, '>');
}

static void print_typed_number(strbuf *out, const mlir_attr *a) {
  if (a->kind == MLIR_ATTR_FLOAT)
    print_float(out, a->type->name, a->real);
  else if (a->type->signedness == MLIR_UNSIGNED)
    strbuf_printf(out, "%llu", (unsigned long long)a->integer);
  else
    print_int(out, a->integer);
  strbuf_append_cstr(out, " : ");
  mlir_type_print(out, a->type);
}

void mlir_attr_print(strbuf *out, const mlir_attr *a) {
  switch (a->kind) {
    case MLIR_ATTR_UNIT: strbuf_append_cstr(out, "unit"); break;
    case MLIR_ATTR_BOOL: strbuf_append_cstr(out, a->integer ? "true" : "false"); break;
    case MLIR_ATTR_INTEGER:
    case MLIR_ATTR_FLOAT: print_typed_number(out, a); break;
    case MLIR_ATTR_STRING:
      print_quoted(out, a->string);
      if (!a->type || a->type->kind == MLIR_TYPE_NONE) break;
      strbuf_append_cstr(out, " : ");
      mlir_type_print(out, a->type);
      break;
    case MLIR_ATTR_TYPE: mlir_type_print(out, a->type); break;
    case MLIR_ATTR_ARRAY:
      strbuf_append_char(out, '[');
      for (int i = 0; i < a->n_items; i++) {
        if (i) strbuf_append_cstr(out, ", ");
        mlir_attr_print(out, a->items[i]);
      }
      strbuf_append_char(out, ']');
      break;
    case MLIR_ATTR_DICT: print_entries(out, a->entries, a->n_entries); break;
    case MLIR_ATTR_SYMBOL:
      print_symbol(out, a->string);
      for (int i = 0; i < a->n_items; i++) {
        strbuf_append_cstr(out, "::");
        print_symbol(out, a->items[i]->string);
      }
      break;
    case MLIR_ATTR_DENSE: print_dense(out, a); break;
    case MLIR_ATTR_DENSE_ARRAY: print_dense_array(out, a); break;
    case MLIR_ATTR_DIALECT: print_dialect_attr(out, a); break;
    case MLIR_ATTR_LOCATION: print_loc(out, a->loc); break;
    case MLIR_ATTR_OPAQUE: strbuf_append(out, a->string); break;
  }
}

// --- operations ----------------------------------------------------------------------------------

typedef struct printer {
  strbuf *out;
  bool with_locs;
  arena *scratch;
  u64map numbers;  // value -> number * 2 + (1 for a block argument)
  int next_value, next_arg;
} printer;

static void print_value(printer *p, const mlir_value *v) {
  uint64_t n = 0;
  if (!u64map_get(&p->numbers, (uint64_t)(uintptr_t)v, &n)) {
    strbuf_append_cstr(p->out, "%undefined");
    return;
  }
  strbuf_printf(p->out, n & 1 ? "%%arg%llu" : "%%%llu", (unsigned long long)(n >> 1));
}

static void number(printer *p, const mlir_value *v, bool is_arg) {
  uint64_t n = (uint64_t)(is_arg ? p->next_arg++ : p->next_value++);
  u64map_put(p->scratch, &p->numbers, (uint64_t)(uintptr_t)v, n * 2 + is_arg);
}

static void print_op(printer *p, const mlir_op *op, int indent);

static void print_indent(printer *p, int indent) {
  for (int i = 0; i < indent; i++) strbuf_append_cstr(p->out, "  ");
}

static void print_block(printer *p, const mlir_block *b, int index, int indent) {
  if (b->n_args > 0 || index > 0 || !b->first) {
    print_indent(p, indent);
    strbuf_printf(p->out, "^bb%d", index);
    for (int i = 0; i < b->n_args; i++) {
      strbuf_append_cstr(p->out, i ? ", " : "(");
      number(p, &b->args[i], true);
      print_value(p, &b->args[i]);
      strbuf_append_cstr(p->out, ": ");
      mlir_type_print(p->out, b->args[i].type);
    }
    strbuf_append_cstr(p->out, b->n_args > 0 ? "):\n" : ":\n");
  }
  for (const mlir_op *op = b->first; op; op = op->next) print_op(p, op, indent + 1);
}

static void print_regions(printer *p, const mlir_op *op, int indent) {
  strbuf_append_cstr(p->out, " (");
  for (int i = 0; i < op->n_regions; i++) {
    strbuf_append_cstr(p->out, i ? ", {\n" : "{\n");
    int index = 0;
    for (const mlir_block *b = op->regions[i].first; b; b = b->next) print_block(p, b, index++, indent);
    print_indent(p, indent);
    strbuf_append_char(p->out, '}');
  }
  strbuf_append_char(p->out, ')');
}

static void print_op_type(printer *p, const mlir_op *op) {
  strbuf_append_cstr(p->out, " : (");
  for (int i = 0; i < op->n_operands; i++) {
    if (i) strbuf_append_cstr(p->out, ", ");
    mlir_type_print(p->out, op->operands[i]->type);
  }
  strbuf_append_cstr(p->out, ") -> ");
  bool parens = op->n_results != 1 || op->results[0].type->kind == MLIR_TYPE_FUNCTION;
  if (parens) strbuf_append_char(p->out, '(');
  for (int i = 0; i < op->n_results; i++) {
    if (i) strbuf_append_cstr(p->out, ", ");
    mlir_type_print(p->out, op->results[i].type);
  }
  if (parens) strbuf_append_char(p->out, ')');
}

static void print_op(printer *p, const mlir_op *op, int indent) {
  print_indent(p, indent);
  for (int i = 0; i < op->n_results; i++) {
    if (i) strbuf_append_cstr(p->out, ", ");
    number(p, &op->results[i], false);
    print_value(p, &op->results[i]);
  }
  if (op->n_results > 0) strbuf_append_cstr(p->out, " = ");
  print_quoted(p->out, op->name);
  strbuf_append_char(p->out, '(');
  for (int i = 0; i < op->n_operands; i++) {
    if (i) strbuf_append_cstr(p->out, ", ");
    print_value(p, op->operands[i]);
  }
  strbuf_append_char(p->out, ')');
  if (op->n_regions > 0) print_regions(p, op, indent);
  if (op->n_attrs > 0) {
    strbuf_append_char(p->out, ' ');
    print_entries(p->out, op->attrs, op->n_attrs);
  }
  print_op_type(p, op);
  if (p->with_locs) {
    strbuf_append_char(p->out, ' ');
    print_loc(p->out, op->loc);
  }
  strbuf_append_char(p->out, '\n');
}

void mlir_print(strbuf *out, const mlir_module *m, bool with_locs) {
  printer p = {.out = out, .with_locs = with_locs, .scratch = arena_create()};
  print_op(&p, m->op, 0);
  arena_destroy(p.scratch);
}
