// SPDX-License-Identifier: Apache-2.0
// The MLIR bytecode container: header, sections, strings, dialects and operation names, property records, resources.
//
// All sections are indexed first, since strings come near the end of the file but are needed first. Every count is
// bounded by the bytes left before memory is asked for it: each element takes at least one byte.
#include <stdio.h>
#include <string.h>

#include "frontend/bytecode.h"

// --- errors --------------------------------------------------------------------------------------

static bool fail_v(bc_reader *r, lemnos_status_code code, size_t pos, const char *format, va_list args) {
  if (r->failed) return false;
  r->failed = true;
  r->code = code;
  strbuf text = {0};
  strbuf_vprintf(&text, format, args);
  loc *l = ARENA_NEW(r->arena, loc);
  l->kind = LOC_NAME;
  l->name = strv_from_cstr(
      arena_printf(r->arena, STRV_FMT ": byte %zu", STRV_ARG(r->file_name), pos < r->size ? pos : r->size));
  r->message = arena_printf(r->arena, STRV_FMT ": " STRV_FMT, STRV_ARG(l->name), STRV_ARG(strbuf_view(&text)));
  diag_add(r->sink, DIAG_ERROR, l, (strv){0}, STRV_FMT, STRV_ARG(strbuf_view(&text)));
  strbuf_deinit(&text);
  return false;
}

bool bc_fail(bc_reader *r, size_t pos, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fail_v(r, LEMNOS_INVALID_ARGUMENT, pos, format, args);
  va_end(args);
  return false;
}

bool bc_unimplemented(bc_reader *r, size_t pos, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fail_v(r, LEMNOS_UNIMPLEMENTED, pos, format, args);
  va_end(args);
  return false;
}

const char *bc_version_note(bc_reader *r) {
  if (r->vhlo_version == 0) return arena_printf(r->scratch, " (written by '" STRV_FMT "')", STRV_ARG(r->producer));
  return arena_printf(r->scratch, " (the file is for StableHLO %u.%u.%u; known are 0.9.0 to 1.20.0)",
                      r->vhlo_version >> 16, r->vhlo_version >> 8 & 255, r->vhlo_version & 255);
}

// --- primitives ----------------------------------------------------------------------------------

uint8_t bc_byte(bc_reader *r, bc_cursor *c) {
  if (r->failed) return 0;
  if (c->pos >= c->end) {
    bc_fail(r, c->pos, "the data ends in the middle of a record");
    return 0;
  }
  return r->data[c->pos++];
}

const uint8_t *bc_bytes(bc_reader *r, bc_cursor *c, size_t n) {
  if (r->failed) return NULL;
  if (n > bc_left(c)) {
    bc_fail(r, c->pos, "expected %zu bytes, found only %zu", n, bc_left(c));
    return NULL;
  }
  const uint8_t *p = r->data + c->pos;
  c->pos += n;
  return p;
}

// The number of trailing zero bits of the first byte is the number of bytes that follow; 8 when it is zero.
uint64_t bc_varint(bc_reader *r, bc_cursor *c) {
  uint8_t first = bc_byte(r, c);
  if (first & 1) return first >> 1;
  int more = first == 0 ? 8 : __builtin_ctz(first);
  const uint8_t *p = bc_bytes(r, c, (size_t)more);
  if (!p) return 0;
  uint64_t v = 0;
  for (int i = 0; i < more; i++) v |= (uint64_t)p[i] << (8 * i);
  return first == 0 ? v : (v << (7 - more)) | (uint64_t)(first >> (more + 1));
}

int64_t bc_svarint(bc_reader *r, bc_cursor *c) {
  uint64_t u = bc_varint(r, c);
  return (int64_t)((u >> 1) ^ (0 - (u & 1)));
}

uint64_t bc_flagged(bc_reader *r, bc_cursor *c, bool *out_flag) {
  uint64_t u = bc_varint(r, c);
  *out_flag = u & 1;
  return u >> 1;
}

static uint32_t check_index(bc_reader *r, size_t pos, uint64_t v, uint64_t limit, const char *what) {
  if (r->failed) return 0;
  if (v >= limit) {
    bc_fail(r, pos, "%s %llu is out of range, there are %llu", what, (unsigned long long)v, (unsigned long long)limit);
    return 0;
  }
  return (uint32_t)v;
}

uint32_t bc_index(bc_reader *r, bc_cursor *c, uint64_t limit, const char *what) {
  size_t pos = c->pos;
  return check_index(r, pos, bc_varint(r, c), limit, what);
}

static uint32_t check_count(bc_reader *r, const bc_cursor *c, size_t pos, uint64_t n) {
  if (r->failed) return 0;
  if (n > bc_left(c) || n > INT32_MAX) {
    bc_fail(r, pos, "a list of %llu elements does not fit in the %zu bytes left", (unsigned long long)n, bc_left(c));
    return 0;
  }
  return (uint32_t)n;
}

uint32_t bc_count(bc_reader *r, bc_cursor *c) {
  size_t pos = c->pos;
  uint64_t n = bc_varint(r, c);
  return check_count(r, c, pos, n);
}

strv bc_string(bc_reader *r, bc_cursor *c) {
  uint32_t i = bc_index(r, c, r->n_strings, "string");
  return r->failed ? (strv){0} : r->strings[i];
}

bool bc_align(bc_reader *r, bc_cursor *c, uint64_t alignment) {
  if (alignment == 0 || (alignment & (alignment - 1)) || alignment > r->size + 1)
    return bc_fail(r, c->pos, "bad alignment %llu", (unsigned long long)alignment);
  while (!r->failed && (c->pos & (alignment - 1))) {
    size_t pos = c->pos;
    if (bc_byte(r, c) != 0xCB && !r->failed) return bc_fail(r, pos, "bad padding byte");
  }
  return !r->failed;
}

bool bc_section(bc_reader *r, bc_cursor *c, int *out_id, bc_cursor *out_body) {
  uint8_t head = bc_byte(r, c);
  uint64_t size = bc_varint(r, c);
  if (head & 0x80) bc_align(r, c, bc_varint(r, c));
  if (r->failed) return false;
  if (size > bc_left(c))
    return bc_fail(r, c->pos, "section %d has %llu bytes, but only %zu are left", head & 0x7f, (unsigned long long)size,
                   bc_left(c));
  *out_id = head & 0x7f;
  *out_body = (bc_cursor){c->pos, c->pos + (size_t)size};
  c->pos += (size_t)size;
  return true;
}

uint64_t bc_apint(bc_reader *r, bc_cursor *c, int width) {
  uint64_t mask = width >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << width) - 1;
  if (width <= 8) return bc_byte(r, c) & mask;
  if (width <= 64) return (uint64_t)bc_svarint(r, c) & mask;
  uint32_t n = bc_count(r, c);
  uint64_t low = 0;
  for (uint32_t i = 0; i < n && !r->failed; i++) {
    uint64_t word = (uint64_t)bc_svarint(r, c);
    if (i == 0) low = word;
  }
  return low;
}

// --- sections ------------------------------------------------------------------------------------

static const char *const section_names[BC_N_SECTIONS] = {"String",    "Dialect",  "AttrType",       "AttrTypeOffset",
                                                         "IR",        "Resource", "ResourceOffset", "DialectVersions",
                                                         "Properties"};

// "StableHLO_v1.16.2" to 0x011002; 0 if the producer is another one.
static uint32_t parse_producer(strv producer) {
  strv prefix = STRV("StableHLO_v");
  if (!strv_starts_with(producer, prefix)) return 0;
  strv rest = strv_drop(producer, prefix.len);
  uint32_t v = 0;
  for (int i = 0; i < 3; i++) {
    strv head = rest, tail = {0};
    strv_split(rest, '.', &head, &tail);
    uint64_t n = 0;
    if (!strv_parse_u64(head, &n) || n > 255) return 0;
    v = v << 8 | (uint32_t)n;
    rest = tail;
  }
  return v;
}

static bool read_header(bc_reader *r, bc_cursor *c) {
  if (!mlir_is_bytecode(r->data, r->size))
    return bc_fail(r, 0, "this is no MLIR bytecode: the magic number is missing");
  c->pos = 4;
  r->version = bc_varint(r, c);
  if (r->failed) return false;
  if (r->version > BC_MAX_VERSION)
    return bc_unimplemented(r, 4, "bytecode version %llu is not known, the newest known is %d",
                            (unsigned long long)r->version, BC_MAX_VERSION);
  const uint8_t *start = r->data + c->pos;
  const uint8_t *nul = memchr(start, 0, bc_left(c));
  if (!nul) return bc_fail(r, c->pos, "the producer string has no end");
  r->producer = (strv){(const char *)start, (size_t)(nul - start)};
  c->pos += r->producer.len + 1;
  r->vhlo_version = parse_producer(r->producer);
  if (r->vhlo_version >> 16 > 1)
    return bc_unimplemented(r, 4, "StableHLO version " STRV_FMT " is not known, the newest that can be read is 1.x",
                            STRV_ARG(strv_drop(r->producer, strlen("StableHLO_v"))));
  return true;
}

static bool index_sections(bc_reader *r) {
  bc_cursor c = {0, r->size};
  if (!read_header(r, &c)) return false;
  while (bc_left(&c) > 0) {
    size_t pos = c.pos;
    int id = 0;
    bc_cursor body = {0};
    if (!bc_section(r, &c, &id, &body)) return false;
    if (id >= BC_N_SECTIONS) return bc_fail(r, pos, "unknown section %d", id);
    if (r->has_section[id]) return bc_fail(r, pos, "a second section '%s'", section_names[id]);
    r->has_section[id] = true;
    r->sections[id] = body;
  }
  for (int id = 0; id < BC_N_SECTIONS; id++) {
    bool needed = id <= BC_SECTION_IR || (id == BC_SECTION_PROPERTIES && r->version >= 5);
    if (needed && !r->has_section[id]) return bc_fail(r, r->size, "section '%s' is missing", section_names[id]);
  }
  if (r->has_section[BC_SECTION_RESOURCE] != r->has_section[BC_SECTION_RESOURCE_OFFSET])
    return bc_fail(r, r->size, "of the two resource sections only one is there");
  return true;
}

// Lengths come last string first, each counting its NUL; the strings fill the end of the section.
static bool read_strings(bc_reader *r) {
  bc_cursor c = r->sections[BC_SECTION_STRING];
  uint32_t n = bc_count(r, &c);
  r->strings = ARENA_ARRAY(r->scratch, strv, n);
  r->n_strings = n;
  size_t end = c.end;
  for (uint32_t i = n; i-- > 0 && !r->failed;) {
    size_t pos = c.pos;
    uint64_t len = bc_varint(r, &c);
    if (r->failed) return false;
    if (c.pos > end || len < 1 || len > end - c.pos)
      return bc_fail(r, pos, "bad string length %llu", (unsigned long long)len);
    end -= (size_t)len;
    if (r->data[end + len - 1] != 0) return bc_fail(r, end, "a string has no NUL at its end");
    r->strings[i] = (strv){(const char *)r->data + end, (size_t)len - 1};
  }
  if (!r->failed && end != c.pos) return bc_fail(r, c.pos, "the strings do not fill their section");
  return !r->failed;
}

static bc_dialect_kind dialect_kind(strv name) {
  static const struct {
    const char *name;
    bc_dialect_kind kind;
  } known[] = {
      {"builtin", BC_BUILTIN}, {"vhlo", BC_VHLO}, {"sdy", BC_SDY}, {"chlo", BC_CHLO}, {"stablehlo", BC_STABLEHLO}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strv_eq_cstr(name, known[i].name)) return known[i].kind;
  return BC_OTHER;
}

static bool read_dialect_names(bc_reader *r, bc_cursor *c) {
  r->n_dialects = bc_count(r, c);
  r->dialects = ARENA_ARRAY(r->scratch, bc_dialect, r->n_dialects);
  for (uint32_t i = 0; i < r->n_dialects && !r->failed; i++) {
    size_t pos = c->pos;
    bool has_version = false;
    uint64_t s = r->version < 1 ? bc_varint(r, c) : bc_flagged(r, c, &has_version);
    uint32_t index = check_index(r, pos, s, r->n_strings, "string");
    if (r->failed) return false;
    r->dialects[i] = (bc_dialect){r->strings[index], dialect_kind(r->strings[index])};
    int id = 0;
    bc_cursor body = {0};
    if (has_version && bc_section(r, c, &id, &body) && id != BC_SECTION_DIALECT_VERSIONS)
      return bc_fail(r, pos, "expected a dialect's version, found section %d", id);
  }
  return !r->failed;
}

static bool read_dialects(bc_reader *r) {
  bc_cursor c = r->sections[BC_SECTION_DIALECT];
  if (!read_dialect_names(r, &c)) return false;
  uint64_t expected = r->version >= 4 ? bc_varint(r, &c) : 0;
  while (!r->failed && bc_left(&c) > 0) {
    uint32_t d = bc_index(r, &c, r->n_dialects, "dialect");
    uint32_t n = bc_count(r, &c);
    for (uint32_t i = 0; i < n && !r->failed; i++) {
      bool registered = true;
      size_t pos = c.pos;
      uint64_t s = r->version < 5 ? bc_varint(r, &c) : bc_flagged(r, &c, &registered);
      uint32_t index = check_index(r, pos, s, r->n_strings, "string");
      if (r->failed) return false;
      strv dialect = r->dialects[d].name, op = r->strings[index];
      bc_op_name name = {.registered = registered, .dialect = r->dialects[d].kind};
      name.name = op.len == 0
                      ? dialect
                      : strv_from_cstr(arena_printf(r->arena, STRV_FMT "." STRV_FMT, STRV_ARG(dialect), STRV_ARG(op)));
      name.vhlo = vhlo_op_find(name.name);
      vec_push(r->scratch, &r->op_names, name);
    }
  }
  if (!r->failed && r->version >= 4 && expected != (uint64_t)r->op_names.len)
    return bc_fail(r, c.pos, "%llu operation names announced, %d found", (unsigned long long)expected, r->op_names.len);
  return !r->failed;
}

static bool read_properties(bc_reader *r) {
  bc_cursor c = r->sections[BC_SECTION_PROPERTIES];
  if (!r->has_section[BC_SECTION_PROPERTIES] || bc_left(&c) == 0) return true;
  r->n_props = bc_count(r, &c);
  r->props = ARENA_ARRAY(r->scratch, bc_cursor, r->n_props);
  for (uint32_t i = 0; i < r->n_props && !r->failed; i++) {
    uint64_t size = bc_varint(r, &c);
    size_t pos = c.pos;
    if (!r->failed && size > bc_left(&c)) return bc_fail(r, pos, "a property record is cut off");
    bc_bytes(r, &c, (size_t)size);
    r->props[i] = (bc_cursor){pos, c.pos};
  }
  if (!r->failed && bc_left(&c) > 0) return bc_fail(r, c.pos, "bytes left after the property records");
  return !r->failed;
}

// --- resources -----------------------------------------------------------------------------------

static bool read_resource_body(bc_reader *r, bc_cursor body, bc_resource *res) {
  if (bc_left(&body) == 0) return true;  // declared only
  if (res->kind == 0) {
    uint64_t alignment = bc_varint(r, &body), size = bc_varint(r, &body);
    bc_align(r, &body, alignment);
    if (!r->failed && size > bc_left(&body)) return bc_fail(r, body.pos, "a resource is cut off");
    res->pos = body.pos;
    res->size = (size_t)size;
    bc_bytes(r, &body, (size_t)size);
  } else if (res->kind == 1) {
    bc_byte(r, &body);
  } else if (res->kind == 2) {
    bc_string(r, &body);
  } else {
    return bc_fail(r, body.pos, "unknown kind of resource %d", res->kind);
  }
  if (!r->failed && bc_left(&body) > 0) return bc_fail(r, body.pos, "bytes left in a resource");
  return !r->failed;
}

static bool read_resource_group(bc_reader *r, bc_cursor *offsets, bc_cursor *bodies, bool keep) {
  uint32_t n = bc_count(r, offsets);
  for (uint32_t i = 0; i < n && !r->failed; i++) {
    bc_resource res = {.key = bc_string(r, offsets)};
    uint64_t size = bc_varint(r, offsets);
    res.kind = bc_byte(r, offsets);
    if (r->failed) return false;
    if (size > bc_left(bodies)) return bc_fail(r, offsets->pos, "a resource reaches past the end of its section");
    bc_cursor body = {bodies->pos, bodies->pos + (size_t)size};
    bodies->pos = body.end;
    if (!read_resource_body(r, body, &res)) return false;
    if (keep) vec_push(r->scratch, &r->resources, res);
  }
  return !r->failed;
}

static bool read_resources(bc_reader *r) {
  if (!r->has_section[BC_SECTION_RESOURCE]) return true;
  bc_cursor offsets = r->sections[BC_SECTION_RESOURCE_OFFSET], bodies = r->sections[BC_SECTION_RESOURCE];
  uint32_t n_external = bc_count(r, &offsets);
  for (uint32_t i = 0; i < n_external && !r->failed; i++) {
    bc_string(r, &offsets);  // the provider
    read_resource_group(r, &offsets, &bodies, false);
  }
  while (!r->failed && bc_left(&offsets) > 0) {
    bc_index(r, &offsets, r->n_dialects, "dialect");
    read_resource_group(r, &offsets, &bodies, true);
  }
  return !r->failed;
}

// --- entry ---------------------------------------------------------------------------------------

bool mlir_is_bytecode(const void *data, size_t size) {
  return data && size >= 4 && memcmp(data, "ML\xEFR", 4) == 0;
}

lemnos_status mlir_read_bytecode(arena *a, strv file_name, const void *data, size_t size, diag_sink *sink,
                                 mlir_module **out_module) {
  bc_reader r = {.arena = a,
                 .scratch = arena_create(),
                 .file_name = arena_strv(a, file_name),
                 .data = data,
                 .size = size,
                 .sink = sink};
  r.types = mlir_type_table_create(a);
  mlir_module *m = ARENA_NEW(a, mlir_module);
  m->arena = a;
  m->file_name = r.file_name;
  m->types = r.types;
  bool ok = index_sections(&r) && read_strings(&r) && read_properties(&r) && read_dialects(&r) && read_resources(&r) &&
            bc_read_tables(&r) && bc_read_ir(&r, m);
  arena_destroy(r.scratch);
  if (!ok || r.failed)
    return lemnos_status_make(r.code ? r.code : LEMNOS_INTERNAL, "%s", r.message ? r.message : "no message");
  *out_module = m;
  return LEMNOS_SUCCESS;
}
