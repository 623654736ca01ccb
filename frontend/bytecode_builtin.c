// SPDX-License-Identifier: Apache-2.0
// Attributes, types and locations of the builtin dialect, in binary form and (for those without a code) in text form.
// The forms that VHLO and others encode in the same way are bc_read_*.
#include <string.h>

#include "frontend/bytecode.h"

// --- locations -----------------------------------------------------------------------------------

static const mlir_attr *new_location(bc_reader *r, const loc *l) {
  mlir_attr *a = bc_new(r, MLIR_ATTR_LOCATION);
  a->loc = l;
  return a;
}

static const mlir_attr *file_location(bc_reader *r, bc_cursor *c, bool is_range) {
  const mlir_attr *file = bc_attr_ref(r, c);
  uint64_t line = 0, col = 0;
  if (!is_range) {
    line = bc_varint(r, c);
    col = bc_varint(r, c);
  } else {
    uint32_t n = bc_count(r, c);
    if (n > 4 && !r->failed) return bc_fail(r, c->pos, "a location with %u numbers", n), NULL;
    for (uint32_t i = 0; i < n; i++) {
      uint64_t v = bc_varint(r, c);
      if (i == 0) line = v;
      if (i == 1) col = v;
    }
  }
  if (bc_stop(r)) return NULL;
  if (file->kind != MLIR_ATTR_STRING) return bc_fail(r, c->pos, "a location's file name is no string"), NULL;
  loc *l = ARENA_NEW(r->arena, loc);
  l->kind = LOC_FILE;
  l->name = file->string;
  l->line = line > INT32_MAX ? INT32_MAX : (int32_t)line;
  l->col = col > INT32_MAX ? INT32_MAX : (int32_t)col;
  return new_location(r, l);
}

static bool check_location(bc_reader *r, const bc_cursor *c, const mlir_attr *a) {
  return a->kind == MLIR_ATTR_LOCATION || bc_fail(r, c->pos, "expected a location");
}

// Keeps what walks over locations bounded: an overlong call stack loses its outer frames, and a location that shares
// its parts so often that it unfolds beyond all measure is dropped.
static bool too_large(bc_reader *r) {
  bool large = r->cur_depth > BC_MAX_LOC_DEPTH || r->cur_weight > BC_MAX_LOC_SIZE;
  if (large) r->cur_depth = r->cur_weight = 1;
  return large;
}

static const mlir_attr *pair_location(bc_reader *r, bc_cursor *c, bool is_name) {
  const mlir_attr *a = bc_attr_ref(r, c), *b = bc_attr_ref(r, c);
  if (bc_stop(r)) return NULL;
  if (!check_location(r, c, b) || (!is_name && !check_location(r, c, a))) return NULL;
  if (is_name && a->kind != MLIR_ATTR_STRING) return bc_fail(r, c->pos, "a location's name is no string"), NULL;
  bool cut = too_large(r);
  loc *l = ARENA_NEW(r->arena, loc);
  l->kind = is_name ? LOC_NAME : LOC_CALLSITE;
  if (is_name) {
    l->name = a->string;
    l->child = cut ? NULL : b->loc;
  } else {
    l->child = a->loc && a->loc->kind == LOC_FILE ? a->loc : cut ? NULL : a->loc;
    l->caller = cut ? NULL : b->loc;
  }
  return new_location(r, l);
}

static const mlir_attr *fused_location(bc_reader *r, bc_cursor *c, bool has_metadata) {
  int32_t n = 0;
  const mlir_attr **parts = bc_attr_list(r, c, &n);
  if (has_metadata) bc_index(r, c, r->n_attrs, "attribute");  // not used
  if (bc_stop(r)) return NULL;
  loc *l = ARENA_NEW(r->arena, loc);
  const loc **fused = ARENA_ARRAY(r->arena, const loc *, n);
  l->kind = LOC_FUSED;
  for (int32_t i = 0; i < n; i++) {
    if (!check_location(r, c, parts[i])) return NULL;
    if (parts[i]->loc) fused[l->n_fused++] = parts[i]->loc;
  }
  l->fused = fused;
  if (n > 0 && too_large(r)) return new_location(r, NULL);
  return new_location(r, l);
}

// --- attributes ----------------------------------------------------------------------------------

const mlir_attr *bc_read_array(bc_reader *r, bc_cursor *c) {
  int32_t n = 0;
  const mlir_attr **items = bc_attr_list(r, c, &n);
  if (bc_stop(r)) return NULL;
  mlir_attr *a = bc_new(r, MLIR_ATTR_ARRAY);
  a->items = items;
  a->n_items = n;
  return a;
}

const mlir_attr *bc_read_dict(bc_reader *r, bc_cursor *c) {
  uint32_t n = bc_count(r, c);
  mlir_named_attr *entries = ARENA_ARRAY(r->arena, mlir_named_attr, n);
  strmap seen = {0};
  for (uint32_t i = 0; i < n && !r->failed; i++) {
    const mlir_attr *name = bc_attr_ref(r, c);
    entries[i].value = bc_attr_ref(r, c);
    if (!name) continue;
    if (name->kind != MLIR_ATTR_STRING) return bc_fail(r, c->pos, "a dictionary's key is no string"), NULL;
    if (strmap_has(&seen, name->string))
      return bc_fail(r, c->pos, "a dictionary has '" STRV_FMT "' twice", STRV_ARG(name->string)), NULL;
    strmap_put(r->arena, &seen, name->string, entries);
    entries[i].name = name->string;
  }
  if (bc_stop(r)) return NULL;
  mlir_attr *a = bc_new(r, MLIR_ATTR_DICT);
  a->entries = entries;
  a->n_entries = (int32_t)n;
  return a;
}

static const mlir_attr *symbol_attr(bc_reader *r, bc_cursor *c, bool nested) {
  const mlir_attr *root = bc_attr_ref(r, c);
  int32_t n = 0;
  const mlir_attr **items = nested ? bc_attr_list(r, c, &n) : NULL;
  if (bc_stop(r)) return NULL;
  if (root->kind != MLIR_ATTR_STRING) return bc_fail(r, c->pos, "a symbol's name is no string"), NULL;
  mlir_attr *a = bc_new(r, MLIR_ATTR_SYMBOL);
  a->string = root->string;
  a->items = items;
  a->n_items = n;
  return a;
}

const mlir_attr *bc_read_number(bc_reader *r, bc_cursor *c, bool is_float) {
  const mlir_type *type = bc_type_ref(r, c);
  if (bc_stop(r)) return NULL;
  size_t pos = c->pos;
  if (is_float) {
    int width = type->kind == MLIR_TYPE_FLOAT ? bc_float_width(type->name) : 0;
    if (width == 0) return bc_fail(r, pos, "a number's type is no float type"), NULL;
    uint64_t bits = bc_apint(r, c, width);
    return bc_stop(r) ? NULL : bc_new_float(r, type, bits, pos);
  }
  if (type->kind != MLIR_TYPE_INTEGER && type->kind != MLIR_TYPE_INDEX)
    return bc_fail(r, pos, "a number's type is no integer type"), NULL;
  uint64_t bits = bc_apint(r, c, type->kind == MLIR_TYPE_INDEX ? 64 : type->width);
  return bc_stop(r) ? NULL : bc_new_integer(r, type, bits);
}

// Reads a blob's length; its bytes are at *out_pos.
static size_t blob(bc_reader *r, bc_cursor *c, size_t *out_pos) {
  uint64_t size = bc_varint(r, c);
  *out_pos = c->pos;
  if (!r->failed && size > bc_left(c)) bc_fail(r, c->pos, "a constant is cut off");
  bc_bytes(r, c, (size_t)size);
  return r->failed ? 0 : (size_t)size;
}

const mlir_attr *bc_read_dense(bc_reader *r, bc_cursor *c) {
  const mlir_type *type = bc_type_ref(r, c);
  size_t pos = 0, size = blob(r, c, &pos);
  return bc_stop(r) ? NULL : bc_new_dense(r, type, pos, size);
}

// The same without the packing of i1, and never a splat: made as a dense tensor of n elements, then renamed.
static const mlir_attr *dense_array_attr(bc_reader *r, bc_cursor *c) {
  const mlir_type *element = bc_type_ref(r, c);
  size_t at = c->pos;
  uint64_t n = bc_varint(r, c);
  size_t pos = 0, size = blob(r, c, &pos);
  if (bc_stop(r)) return NULL;
  if (n > size) return bc_fail(r, at, "an array of %llu elements in %zu bytes", (unsigned long long)n, size), NULL;
  if (element->kind != MLIR_TYPE_INTEGER && element->kind != MLIR_TYPE_FLOAT)
    return bc_fail(r, at, "an array of neither integers nor floats"), NULL;
  bool is_bool = element->kind == MLIR_TYPE_INTEGER && element->width == 1;
  int64_t dim = (int64_t)n;
  mlir_type tensor = {.kind = MLIR_TYPE_TENSOR,
                      .rank = 1,
                      .dims = &dim,
                      .element = is_bool ? bc_int_type(r, 8, MLIR_SIGNLESS) : element};
  const mlir_attr *dense = bc_new_dense(r, &tensor, pos, size);
  if (!dense) return NULL;
  if (dense->data_size != size || (dense->splat && n != 1))
    return bc_fail(r, at, "an array of %llu elements in %zu bytes", (unsigned long long)n, size), NULL;
  mlir_attr *a = bc_new(r, MLIR_ATTR_DENSE_ARRAY);
  a->type = element;
  a->data = dense->data;
  a->data_size = size;
  return a;
}

static const mlir_attr *resource_attr(bc_reader *r, bc_cursor *c) {
  const mlir_type *type = bc_type_ref(r, c);
  uint32_t i = bc_index(r, c, (uint64_t)r->resources.len, "resource");
  if (bc_stop(r)) return NULL;
  const bc_resource *res = &r->resources.data[i];
  if (res->kind != 0 || res->pos == 0)
    return bc_fail(r, c->pos, "resource '" STRV_FMT "' has no data", STRV_ARG(res->key)), NULL;
  return bc_new_dense(r, type, res->pos, res->size);
}

// dense<"..."> of strings, sparse<...>: kept as text only, since nothing can compute with them.
static const mlir_attr *unusual_attr(bc_reader *r, bc_cursor *c, const char *text) {
  c->pos = c->end;
  return bc_new_string(r, MLIR_ATTR_OPAQUE, strv_from_cstr(text));
}

const mlir_attr *bc_builtin_attr(bc_reader *r, bc_cursor *c) {
  size_t pos = c->pos;
  uint64_t code = bc_varint(r, c);
  if (r->failed) return NULL;
  switch (code) {
    case 0: return bc_read_array(r, c);
    case 1: return bc_read_dict(r, c);
    case 2: return bc_new_string(r, MLIR_ATTR_STRING, bc_string(r, c));
    case 3: {
      mlir_attr *a = bc_new(r, MLIR_ATTR_STRING);
      a->string = bc_string(r, c);
      a->type = bc_type_ref(r, c);
      return a;
    }
    case 4:
    case 5: return symbol_attr(r, c, code == 5);
    case 6: {
      mlir_attr *a = bc_new(r, MLIR_ATTR_TYPE);
      a->type = bc_type_ref(r, c);
      return a;
    }
    case 7: return bc_new(r, MLIR_ATTR_UNIT);
    case 8:
    case 9: return bc_read_number(r, c, code == 9);
    case 10:
    case 14: return pair_location(r, c, code == 14);
    case 11:
    case 22: return file_location(r, c, code == 22);
    case 12:
    case 13: return fused_location(r, c, code == 13);
    case 15: return new_location(r, NULL);
    case 16: return resource_attr(r, c);
    case 17: return dense_array_attr(r, c);
    case 18: return bc_read_dense(r, c);
    case 19: return unusual_attr(r, c, "dense<...>");
    case 20: return unusual_attr(r, c, "sparse<...>");
    case 21: return unusual_attr(r, c, "distinct[0]<>");
    default:
      bc_unimplemented(r, pos, "builtin attribute code %llu is not known%s", (unsigned long long)code,
                       bc_version_note(r));
      return NULL;
  }
}

// --- types ---------------------------------------------------------------------------------------

const mlir_type *bc_read_shaped_type(bc_reader *r, bc_cursor *c, mlir_type_kind kind, const mlir_attr *encoding) {
  mlir_type t = {.kind = kind, .encoding = encoding};
  t.dims = bc_svarint_list(r, c, &t.rank);
  t.element = bc_type_ref(r, c);
  if (bc_stop(r)) return NULL;
  for (int32_t i = 0; i < t.rank; i++)
    if (t.dims[i] < 0 && t.dims[i] != MLIR_DYNAMIC)
      return bc_fail(r, c->pos, "a dimension of size %lld", (long long)t.dims[i]), NULL;
  return mlir_type_unique(r->types, &t);
}

const mlir_type *bc_read_list_type(bc_reader *r, bc_cursor *c, mlir_type_kind kind) {
  mlir_type t = {.kind = kind};
  t.types = bc_type_list(r, c, &t.n_types);
  if (bc_stop(r)) return NULL;
  return mlir_type_unique(r->types, &t);
}

const mlir_type *bc_read_function_type(bc_reader *r, bc_cursor *c) {
  int32_t n_in = 0, n_out = 0;
  const mlir_type **in = bc_type_list(r, c, &n_in), **out = bc_type_list(r, c, &n_out);
  if (bc_stop(r)) return NULL;
  const mlir_type **all = ARENA_ARRAY(r->scratch, const mlir_type *, (size_t)n_in + (size_t)n_out);
  if (n_in > 0) memcpy(all, in, (size_t)n_in * sizeof *in);
  if (n_out > 0) memcpy(all + n_in, out, (size_t)n_out * sizeof *out);
  mlir_type t = {.kind = MLIR_TYPE_FUNCTION, .types = all, .n_types = n_in + n_out, .n_inputs = n_in};
  return mlir_type_unique(r->types, &t);
}

const mlir_type *bc_read_element_type(bc_reader *r, bc_cursor *c, mlir_type_kind kind) {
  size_t pos = c->pos;
  mlir_type t = {.kind = kind, .element = bc_type_ref(r, c)};
  if (bc_stop(r)) return NULL;
  if (kind == MLIR_TYPE_COMPLEX && t.element->kind != MLIR_TYPE_FLOAT && t.element->kind != MLIR_TYPE_INTEGER)
    return bc_fail(r, pos, "a complex type is of something that is neither float nor integer"), NULL;
  return mlir_type_unique(r->types, &t);
}

static const mlir_type *integer_type(bc_reader *r, bc_cursor *c) {
  size_t pos = c->pos;
  uint64_t v = bc_varint(r, c);
  if (r->failed) return NULL;
  if ((v & 3) == 3 || v >> 2 > (1 << 24)) return bc_fail(r, pos, "bad integer type"), NULL;
  return bc_int_type(r, (int)(v >> 2), (mlir_signedness)(v & 3));
}

static const mlir_type *memref_type(bc_reader *r, bc_cursor *c, bool has_space) {
  if (has_space) bc_index(r, c, r->n_attrs, "attribute");
  const mlir_type *t = bc_read_shaped_type(r, c, MLIR_TYPE_MEMREF, NULL);
  bc_index(r, c, r->n_attrs, "attribute");  // the layout; only the identity is of use here
  return t;
}

// Codes from 21 on are younger than LLVM 22: before, those types came as text.
static const char *const float_codes[] = {[3] = "bf16",
                                          [4] = "f16",
                                          [5] = "f32",
                                          [6] = "f64",
                                          [7] = "f80",
                                          [8] = "f128",
                                          [21] = "tf32",
                                          [22] = "f8E5M2",
                                          [23] = "f8E4M3",
                                          [24] = "f8E4M3FN",
                                          [25] = "f8E5M2FNUZ",
                                          [26] = "f8E4M3FNUZ",
                                          [27] = "f8E4M3B11FNUZ",
                                          [28] = "f8E3M4",
                                          [29] = "f4E2M1FN",
                                          [30] = "f6E2M3FN",
                                          [31] = "f6E3M2FN",
                                          [32] = "f8E8M0FNU"};

const mlir_type *bc_builtin_type(bc_reader *r, bc_cursor *c) {
  size_t pos = c->pos;
  uint64_t code = bc_varint(r, c);
  if (r->failed) return NULL;
  if (code < sizeof float_codes / sizeof *float_codes && float_codes[code])
    return bc_float_type(r, strv_from_cstr(float_codes[code]));
  switch (code) {
    case 0: return integer_type(r, c);
    case 1: return bc_simple_type(r, MLIR_TYPE_INDEX);
    case 2: return bc_read_function_type(r, c);
    case 9: return bc_read_element_type(r, c, MLIR_TYPE_COMPLEX);
    case 10:
    case 11: return memref_type(r, c, code == 11);
    case 12: return bc_simple_type(r, MLIR_TYPE_NONE);
    case 13: return bc_read_shaped_type(r, c, MLIR_TYPE_TENSOR, NULL);
    case 14: {
      const mlir_attr *encoding = bc_attr_ref(r, c);
      return bc_read_shaped_type(r, c, MLIR_TYPE_TENSOR, encoding);
    }
    case 15: return bc_read_list_type(r, c, MLIR_TYPE_TUPLE);
    case 18: return bc_read_element_type(r, c, MLIR_TYPE_UNRANKED_TENSOR);
    case 19: return bc_read_shaped_type(r, c, MLIR_TYPE_VECTOR, NULL);
    case 16:
    case 17:
    case 20: c->pos = c->end; return bc_opaque_type(r, code == 20 ? STRV("vector<[scalable]>") : STRV("memref<*>"));
    default:
      bc_unimplemented(r, pos, "builtin type code %llu is not known%s", (unsigned long long)code, bc_version_note(r));
      return NULL;
  }
}

// --- text forms ----------------------------------------------------------------------------------

const mlir_type *bc_asm_type(bc_reader *r, strv text) {
  if (bc_float_width(text) > 0) return bc_float_type(r, text);
  if (strv_eq_cstr(text, "!stablehlo.token")) return bc_simple_type(r, MLIR_TYPE_TOKEN);
  return bc_opaque_type(r, text);
}

static bool is_word(strv s) {
  for (size_t i = 0; i < s.len; i++) {
    char ch = s.data[i];
    if (!(ch == '_' || (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z'))) return false;
  }
  return s.len > 0;
}

// "#chlo<precision HIGH>" and "#stablehlo.result_accuracy_mode<HIGHEST>" are enumerations; the rest stays text.
const mlir_attr *bc_asm_attr(bc_reader *r, strv text) {
  strv head = {0}, tail = {0};
  bool known = strv_starts_with(text, STRV("#chlo")) || strv_starts_with(text, STRV("#stablehlo"));
  if (known && strv_ends_with(text, STRV(">")) && strv_split(text, '<', &head, &tail)) {
    strv dialect = strv_drop(head, 1), mnemonic = {0}, keyword = strv_take(tail, tail.len - 1);
    bool dotted = strv_split(dialect, '.', &dialect, &mnemonic);
    if (!dotted) strv_split(keyword, ' ', &mnemonic, &keyword);
    if (is_word(mnemonic) && is_word(keyword)) {
      mlir_attr *a = bc_new(r, MLIR_ATTR_DIALECT);
      a->dialect = dialect;
      a->mnemonic = mnemonic;
      a->string = keyword;
      return a;
    }
  }
  if (strv_eq_cstr(text, "unit")) return bc_new(r, MLIR_ATTR_UNIT);
  return bc_new_string(r, MLIR_ATTR_OPAQUE, text);
}
