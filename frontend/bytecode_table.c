// SPDX-License-Identifier: Apache-2.0
// The attribute and type tables: an index first, then decoding on demand, and constructors for what is decoded.
//
// Resolution (bc_resolve) keeps a stack of entries. The top one is attempted; references to entries that are not done
// come back as NULL and are pushed; the attempt is then thrown away and repeated once those are done. An entry is thus
// attempted two or three times at most, nothing recurses however long a chain of locations is, and a cycle shows as a
// reference to an entry that is being attempted (BC_ACTIVE), since exactly the ancestors of the top are.
#include <string.h>

#include "frontend/bytecode.h"

// --- the index -----------------------------------------------------------------------------------

static bool read_entries(bc_reader *r, bc_cursor *c, uint32_t first, uint32_t n, size_t *pos, size_t end) {
  for (uint32_t i = 0; i < n && !r->failed;) {
    uint32_t dialect = bc_index(r, c, r->n_dialects, "dialect");
    size_t at = c->pos;
    uint32_t count = bc_count(r, c);
    if (r->failed) return false;
    if (count == 0 || count > n - i) return bc_fail(r, at, "bad size of a group of attributes or types: %u", count);
    for (uint32_t k = 0; k < count && !r->failed; k++, i++) {
      bc_entry *e = &r->entries[first + i];
      uint64_t size = bc_flagged(r, c, &e->custom);
      if (!r->failed && size > end - *pos) return bc_fail(r, c->pos, "an attribute or type reaches past its section");
      e->dialect = dialect;
      e->pos = *pos;
      e->size = (size_t)size;
      *pos += (size_t)size;
    }
  }
  return !r->failed;
}

bool bc_read_tables(bc_reader *r) {
  bc_cursor c = r->sections[BC_SECTION_ATTR_TYPE_OFFSET], body = r->sections[BC_SECTION_ATTR_TYPE];
  uint32_t n_attrs = bc_count(r, &c), n_types = bc_count(r, &c);
  if (r->failed) return false;
  r->entries = arena_try_alloc(r->scratch, ((size_t)n_attrs + n_types + 1) * sizeof *r->entries, 16);
  if (!r->entries) return bc_fail(r, c.pos, "no memory for %u attributes and %u types", n_attrs, n_types);
  r->n_attrs = n_attrs;
  r->n_types = n_types;
  size_t pos = body.pos;
  if (!read_entries(r, &c, 0, n_attrs, &pos, body.end)) return false;
  if (!read_entries(r, &c, n_attrs, n_types, &pos, body.end)) return false;
  if (bc_left(&c) > 0) return bc_fail(r, c.pos, "bytes left after the table of attributes and types");
  if (pos != body.end) return bc_fail(r, pos, "bytes left after the attributes and types");
  return true;
}

// --- resolution ----------------------------------------------------------------------------------

static const void *custom_value(bc_reader *r, const bc_entry *e, bool is_attr, bc_cursor *c) {
  switch (r->dialects[e->dialect].kind) {
    case BC_BUILTIN: return is_attr ? (const void *)bc_builtin_attr(r, c) : (const void *)bc_builtin_type(r, c);
    case BC_VHLO: return is_attr ? (const void *)bc_vhlo_attr(r, c) : (const void *)bc_vhlo_type(r, c);
    case BC_STABLEHLO: return is_attr ? (const void *)bc_stablehlo_attr(r, c) : (const void *)bc_stablehlo_type(r, c);
    case BC_SDY:
      if (is_attr) return bc_sdy_attr(r, c);
      break;
    case BC_CHLO:
      if (is_attr) return bc_chlo_attr(r, c);
      break;
    case BC_OTHER: break;
  }
  bc_unimplemented(r, e->pos, "the encoding of %s of dialect '" STRV_FMT "' is not known",
                   is_attr ? "attributes" : "types", STRV_ARG(r->dialects[e->dialect].name));
  return NULL;
}

// One attempt at the entry; NULL if it failed or something below it is missing.
static const void *attempt(bc_reader *r, uint32_t id) {
  bc_entry *e = &r->entries[id];
  bool is_attr = id < r->n_attrs;
  bc_cursor c = {e->pos, e->pos + e->size};
  r->missing = 0;
  r->cur_depth = 0;
  r->cur_weight = 1;
  const void *value = NULL;
  if (e->custom) {
    value = custom_value(r, e, is_attr, &c);
  } else {
    const uint8_t *nul = memchr(r->data + c.pos, 0, bc_left(&c));
    if (!nul) return bc_fail(r, c.pos, "an attribute or type in text form has no end"), NULL;
    strv text = {(const char *)r->data + c.pos, (size_t)(nul - (r->data + c.pos))};
    c.pos += text.len + 1;
    value = is_attr ? (const void *)bc_asm_attr(r, text) : (const void *)bc_asm_type(r, text);
  }
  if (bc_stop(r)) return NULL;
  if (!value) return bc_fail(r, e->pos, "bad %s", is_attr ? "attribute" : "type"), NULL;
  if (bc_left(&c) > 0)
    return bc_fail(r, c.pos, "%zu bytes left in %s", bc_left(&c), is_attr ? "an attribute" : "a type"), NULL;
  return value;
}

static bool check_limits(bc_reader *r, const bc_entry *e, uint32_t id, const void *value) {
  if (id < r->n_attrs && ((const mlir_attr *)value)->kind == MLIR_ATTR_LOCATION) return true;
  if (r->cur_depth > BC_MAX_DEPTH)
    return bc_fail(r, e->pos, "attributes or types are nested more than %d deep", BC_MAX_DEPTH);
  if (r->cur_weight > BC_MAX_SIZE)
    return bc_fail(r, e->pos, "an attribute or type unfolds to more than %d nodes", BC_MAX_SIZE);
  return true;
}

static const void *bc_resolve(bc_reader *r, uint32_t id) {
  if (r->entries[id].state == BC_DONE) return r->entries[id].value;
  if (r->failed) return NULL;
  r->stack.len = 0;
  vec_push(r->scratch, &r->stack, id);
  while (r->stack.len > 0) {
    uint32_t top = vec_last(&r->stack);
    bc_entry *e = &r->entries[top];
    if (e->state == BC_DONE) {
      r->stack.len--;
      continue;
    }
    e->state = BC_ACTIVE;
    const void *value = attempt(r, top);
    if (r->failed) return NULL;
    if (!value) continue;  // what is missing has been pushed
    if (!check_limits(r, e, top, value)) return NULL;
    e->value = value;
    e->depth = r->cur_depth;
    e->weight = r->cur_weight;
    e->state = BC_DONE;
    r->stack.len--;
  }
  r->missing = 0;
  return r->entries[id].value;
}

// A reference from the entry being attempted.
static const void *reference(bc_reader *r, uint32_t id, size_t pos) {
  if (r->failed) return NULL;
  bc_entry *e = &r->entries[id];
  if (e->state == BC_DONE) {
    if (r->cur_depth < e->depth + 1) r->cur_depth = e->depth + 1;
    uint64_t weight = (uint64_t)r->cur_weight + e->weight;
    r->cur_weight = weight > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)weight;
    return e->value;
  }
  if (e->state == BC_ACTIVE) return bc_fail(r, pos, "an attribute or type contains itself"), NULL;
  r->missing++;
  vec_push(r->scratch, &r->stack, id);
  return NULL;
}

const mlir_attr *bc_attr_ref(bc_reader *r, bc_cursor *c) {
  size_t pos = c->pos;
  uint32_t i = bc_index(r, c, r->n_attrs, "attribute");
  return r->failed ? NULL : reference(r, i, pos);
}

const mlir_attr *bc_opt_attr_ref(bc_reader *r, bc_cursor *c) {
  size_t pos = c->pos;
  bool present = false;
  uint64_t i = bc_flagged(r, c, &present);
  if (r->failed || !present) return NULL;
  if (i >= r->n_attrs) return bc_fail(r, pos, "attribute %llu is out of range", (unsigned long long)i), NULL;
  return reference(r, (uint32_t)i, pos);
}

const mlir_type *bc_type_ref(bc_reader *r, bc_cursor *c) {
  size_t pos = c->pos;
  uint32_t i = bc_index(r, c, r->n_types, "type");
  return r->failed ? NULL : reference(r, r->n_attrs + i, pos);
}

const mlir_attr **bc_attr_list(bc_reader *r, bc_cursor *c, int32_t *out_n) {
  uint32_t n = bc_count(r, c);
  const mlir_attr **list = ARENA_ARRAY(r->missing ? r->scratch : r->arena, const mlir_attr *, n);
  for (uint32_t i = 0; i < n && !r->failed; i++) list[i] = bc_attr_ref(r, c);
  *out_n = (int32_t)n;
  return list;
}

const mlir_type **bc_type_list(bc_reader *r, bc_cursor *c, int32_t *out_n) {
  uint32_t n = bc_count(r, c);
  const mlir_type **list = ARENA_ARRAY(r->scratch, const mlir_type *, n);
  for (uint32_t i = 0; i < n && !r->failed; i++) list[i] = bc_type_ref(r, c);
  *out_n = (int32_t)n;
  return list;
}

int64_t *bc_svarint_list(bc_reader *r, bc_cursor *c, int32_t *out_n) {
  uint32_t n = bc_count(r, c);
  int64_t *list = ARENA_ARRAY(r->scratch, int64_t, n);
  for (uint32_t i = 0; i < n && !r->failed; i++) list[i] = bc_svarint(r, c);
  *out_n = (int32_t)n;
  return list;
}

const mlir_attr *bc_get_attr(bc_reader *r, uint64_t index, size_t pos) {
  if (r->failed) return NULL;
  if (index >= r->n_attrs)
    return bc_fail(r, pos, "attribute %llu is out of range, there are %u", (unsigned long long)index, r->n_attrs), NULL;
  return bc_resolve(r, (uint32_t)index);
}

const mlir_type *bc_get_type(bc_reader *r, uint64_t index, size_t pos) {
  if (r->failed) return NULL;
  if (index >= r->n_types)
    return bc_fail(r, pos, "type %llu is out of range, there are %u", (unsigned long long)index, r->n_types), NULL;
  return bc_resolve(r, r->n_attrs + (uint32_t)index);
}

// --- constructors --------------------------------------------------------------------------------

mlir_attr *bc_new(bc_reader *r, mlir_attr_kind kind) {
  mlir_attr *a = ARENA_NEW(r->arena, mlir_attr);
  a->kind = kind;
  return a;
}

const mlir_attr *bc_new_string(bc_reader *r, mlir_attr_kind kind, strv s) {
  mlir_attr *a = bc_new(r, kind);
  a->string = s;
  return a;
}

const mlir_attr *bc_new_bool(bc_reader *r, bool value) {
  mlir_attr *a = bc_new(r, MLIR_ATTR_BOOL);
  a->integer = value;
  return a;
}

static int64_t extend(uint64_t bits, int width, bool is_signed) {
  if (width >= 64) return (int64_t)bits;
  bits &= (UINT64_C(1) << width) - 1;
  if (is_signed && bits >> (width - 1)) bits |= ~UINT64_C(0) << width;
  return (int64_t)bits;
}

const mlir_attr *bc_new_integer(bc_reader *r, const mlir_type *type, uint64_t bits) {
  int width = type->kind == MLIR_TYPE_INTEGER ? type->width : 64;
  if (width == 1 && type->signedness == MLIR_SIGNLESS && type->kind == MLIR_TYPE_INTEGER)
    return bc_new_bool(r, bits & 1);
  mlir_attr *a = bc_new(r, MLIR_ATTR_INTEGER);
  a->type = type;
  a->integer = width <= 0 ? 0 : extend(bits, width, type->signedness != MLIR_UNSIGNED);
  return a;
}

const mlir_attr *bc_new_i64(bc_reader *r, int64_t value) {
  return bc_new_integer(r, bc_int_type(r, 64, MLIR_SIGNLESS), (uint64_t)value);
}

static bool float_value(strv name, uint64_t bits, double *out) {
#define M(fmt, width, e, m, bias, kind) \
  if (strv_eq_cstr(name, #fmt)) return *out = fmt##_to_f64((uint32_t)bits), true;
  SMALL_FLOATS(M)
#undef M
  if (strv_eq_cstr(name, "f64")) return memcpy(out, &bits, 8), true;
  bool tf32 = strv_eq_cstr(name, "tf32");
  if (!tf32 && !strv_eq_cstr(name, "f32")) return false;
  uint32_t word = (uint32_t)bits << (tf32 ? 13 : 0);
  float f;
  memcpy(&f, &word, 4);
  *out = f;
  return true;
}

const mlir_attr *bc_new_float(bc_reader *r, const mlir_type *type, uint64_t bits, size_t pos) {
  mlir_attr *a = bc_new(r, MLIR_ATTR_FLOAT);
  a->type = type;
  if (!float_value(type->name, bits, &a->real))
    return bc_unimplemented(r, pos, "a number of type " STRV_FMT, STRV_ARG(type->name)), NULL;
  return a;
}

const mlir_attr *bc_new_i64_array(bc_reader *r, const int64_t *values, int32_t n) {
  mlir_attr *a = bc_new(r, MLIR_ATTR_DENSE_ARRAY);
  a->type = bc_int_type(r, 64, MLIR_SIGNLESS);
  a->data_size = (size_t)n * sizeof *values;
  a->data = arena_copy(r->arena, values, a->data_size);
  return a;
}

const mlir_attr *bc_new_enum(bc_reader *r, strv dialect, const char *mnemonic, const char *keyword) {
  mlir_attr *a = bc_new(r, MLIR_ATTR_DIALECT);
  a->dialect = dialect;
  a->mnemonic = strv_from_cstr(mnemonic);
  a->string = strv_from_cstr(keyword);
  return a;
}

mlir_attr *bc_new_struct(bc_reader *r, const char *mnemonic, int n) {
  mlir_attr *a = bc_new(r, MLIR_ATTR_DIALECT);
  a->dialect = STRV("stablehlo");
  a->mnemonic = strv_from_cstr(mnemonic);
  a->entries = ARENA_ARRAY(r->arena, mlir_named_attr, n);
  return a;
}

void bc_put(mlir_attr *a, const char *name, const mlir_attr *value) {
  mlir_named_attr *entries = (mlir_named_attr *)a->entries;  // made by bc_new_struct, not shared yet
  entries[a->n_entries++] = (mlir_named_attr){strv_from_cstr(name), value};
}

const mlir_type *bc_simple_type(bc_reader *r, mlir_type_kind kind) {
  mlir_type t = {.kind = kind};
  return mlir_type_unique(r->types, &t);
}

const mlir_type *bc_int_type(bc_reader *r, int width, mlir_signedness s) {
  mlir_type t = {.kind = MLIR_TYPE_INTEGER, .width = width, .signedness = s};
  return mlir_type_unique(r->types, &t);
}

const mlir_type *bc_float_type(bc_reader *r, strv name) {
  mlir_type t = {.kind = MLIR_TYPE_FLOAT, .name = name};
  return mlir_type_unique(r->types, &t);
}

const mlir_type *bc_opaque_type(bc_reader *r, strv text) {
  mlir_type t = {.kind = MLIR_TYPE_OPAQUE, .name = text};
  return mlir_type_unique(r->types, &t);
}

int bc_float_width(strv name) {
#define M(fmt, width, e, m, bias, kind) \
  if (strv_eq_cstr(name, #fmt)) return width;
  SMALL_FLOATS(M)
#undef M
  static const struct {
    const char *name;
    int width;
  } others[] = {{"f32", 32}, {"f64", 64}, {"tf32", 19}, {"f80", 80}, {"f128", 128}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strv_eq_cstr(name, others[i].name)) return others[i].width;
  return 0;
}

// --- dense payloads ------------------------------------------------------------------------------

// Bytes of one element as stored in the file, and the number of value bits where it is less (for masking), else 0.
static size_t element_size(const mlir_type *e, int *out_narrow, size_t *out_align) {
  *out_narrow = 0;
  int bits = 0;
  switch (e->kind) {
    case MLIR_TYPE_INTEGER: bits = e->width; break;
    case MLIR_TYPE_INDEX: bits = 64; break;
    case MLIR_TYPE_FLOAT: bits = bc_float_width(e->name); break;
    case MLIR_TYPE_COMPLEX: return 2 * element_size(e->element, out_narrow, out_align);
    case MLIR_TYPE_QUANTIZED: return element_size(e->quant->storage, out_narrow, out_align);
    default: return 0;
  }
  if (bits < 8) *out_narrow = bits;
  size_t size = ((size_t)bits + 7) / 8;
  *out_align = size >= 8 ? 8 : size == 4 ? 4 : size == 2 ? 2 : 1;
  return size;
}

static bool count_elements(bc_reader *r, const mlir_type *type, size_t pos, uint64_t *out_n) {
  uint64_t n = 1;
  bool empty = false;
  for (int32_t i = 0; i < type->rank; i++) {
    int64_t d = type->dims[i];
    if (d < 0) return bc_fail(r, pos, "a constant's shape is not static");
    if (d == 0) empty = true;
    if (!empty && n > (uint64_t)INT64_MAX / (uint64_t)d) return bc_fail(r, pos, "a constant's shape is too large");
    n = empty ? 0 : n * (uint64_t)d;
  }
  *out_n = n;
  return true;
}

// i1: one byte FF is a splat of true; ceil(n/8) bytes are packed bits, the low bit first; else a byte per element.
static const mlir_attr *new_dense_bool(bc_reader *r, mlir_attr *a, uint64_t n, size_t pos, size_t size) {
  const uint8_t *data = r->data + pos;
  size_t packed = (size_t)(n / 8 + (n % 8 != 0));
  bool is_packed = size == packed && size != n && !(size == 1 && data[0] == 0xFF);
  a->splat = !is_packed && size == 1;
  if (!is_packed && !a->splat && size != n)
    return bc_fail(r, pos, "a constant has %zu bytes for %llu elements of i1", size, (unsigned long long)n), NULL;
  if (is_packed && size == 1 && n > 1 && data[0] == 0) a->splat = true;
  a->data_size = a->splat ? 1 : (size_t)n;
  uint8_t *out = arena_try_alloc(r->arena, a->data_size, 16);
  if (!out) return bc_fail(r, pos, "no memory for a constant of %zu bytes", a->data_size), NULL;
  for (size_t i = 0; i < a->data_size; i++) out[i] = is_packed ? data[i / 8] >> (i % 8) & 1 : data[i] != 0;
  a->data = out;
  return a;
}

// Elements narrower than a byte have unspecified upper bits in the file: extends them as mlir.h says.
static void extend_bytes(uint8_t *out, const uint8_t *in, size_t n, int width, bool is_signed) {
  for (size_t i = 0; i < n; i++) out[i] = (uint8_t)extend(in[i], width, is_signed);
}

static bool is_signed_element(const mlir_type *e) {
  if (e->kind == MLIR_TYPE_QUANTIZED) e = e->quant->storage;
  return e->kind == MLIR_TYPE_INTEGER && e->signedness != MLIR_UNSIGNED;
}

const mlir_attr *bc_new_dense(bc_reader *r, const mlir_type *type, size_t pos, size_t size) {
  if (type->kind != MLIR_TYPE_TENSOR && type->kind != MLIR_TYPE_VECTOR)
    return bc_fail(r, pos, "a constant's type is no tensor"), NULL;
  mlir_attr *a = bc_new(r, MLIR_ATTR_DENSE);
  a->type = type;
  uint64_t n = 0;
  if (!count_elements(r, type, pos, &n)) return NULL;
  if (type->element->kind == MLIR_TYPE_INTEGER && type->element->width == 1) return new_dense_bool(r, a, n, pos, size);
  int narrow = 0;
  size_t align = 1;
  size_t element = element_size(type->element, &narrow, &align);
  if (element == 0) return bc_unimplemented(r, pos, "constants of this element type"), NULL;
  a->splat = size == element && n != 0;
  bool ignored_splat = size == element && n == 0;  // a splat of no elements still has its data
  if (!a->splat && !ignored_splat && (size / element != n || size % element != 0))
    return bc_fail(r, pos, "a constant has %zu bytes, expected %llu elements of %zu", size, (unsigned long long)n,
                   element),
           NULL;
  a->data_size = ignored_splat ? 0 : size;
  a->data = r->data + pos;
  if (narrow == 0 && ((uintptr_t)a->data & (align - 1)) == 0) return a;
  uint8_t *out = arena_try_alloc(r->arena, a->data_size, 64);
  if (!out) return bc_fail(r, pos, "no memory for a constant of %zu bytes", a->data_size), NULL;
  if (narrow > 0)
    extend_bytes(out, a->data, a->data_size, narrow, is_signed_element(type->element));
  else if (a->data_size > 0)
    memcpy(out, a->data, a->data_size);
  a->data = out;
  return a;
}
