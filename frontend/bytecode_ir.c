// SPDX-License-Identifier: Apache-2.0
// The IR section: operations, regions and blocks.
//
// Values are numbered per scope: a region's values get the slots after all those of the regions around it, and an
// isolated operation opens a fresh scope. One vector holds the slots of all open regions, `scope` is where the present
// scope begins. An operand may refer to a slot that is not defined yet; it is patched when the slot's region ends.
#include <string.h>

#include "frontend/bytecode.h"
#include "frontend/defaults.h"

typedef struct patch {
  mlir_value **where;
  int slot;
} patch;

typedef struct ir_reader {
  bc_reader *r;
  VEC(mlir_value *) slots;
  int scope;
  VEC(patch) patches;
  int depth;
} ir_reader;

// Where the values of the present region go.
typedef struct numbering {
  int next, end;
} numbering;

// An operation as it stands in the file.
typedef struct raw_op {
  size_t pos;
  const bc_op_name *name;
  const loc *loc;
  VEC(mlir_named_attr) attrs;
  int32_t n_results, n_operands, n_regions;
  const mlir_type **results;
  uint32_t *operands;
  bool isolated;
} raw_op;

static bool read_region(ir_reader *ir, bc_cursor *c, mlir_region *region);

// --- attributes ----------------------------------------------------------------------------------

static bool add_dictionary(ir_reader *ir, raw_op *raw, const mlir_attr *dict, size_t pos) {
  if (!dict) return false;
  if (dict->kind != MLIR_ATTR_DICT) return bc_fail(ir->r, pos, "an operation's attributes are no dictionary");
  for (int32_t i = 0; i < dict->n_entries; i++) vec_push(ir->r->scratch, &raw->attrs, dict->entries[i]);
  return true;
}

// Whether the record has just as many references as the list with or without its newer attributes.
static bool record_fits(bc_cursor c, const uint8_t *data, const char *list, bool with_newer) {
  int n = 0, have = 0;
  strv rest = strv_from_cstr(list);
  while (rest.len > 0) {
    strv word = rest, tail = {0};
    strv_split(rest, ' ', &word, &tail);
    rest = tail;
    if (word.data[0] != '+' || with_newer) n++;
  }
  for (; c.pos < c.end; have++) c.pos += data[c.pos] ? (size_t)__builtin_ctz(data[c.pos]) + 1 : 9;
  return have == n && c.pos == c.end;
}

static bool read_listed_properties(ir_reader *ir, raw_op *raw, bc_cursor *c, const char *list, bool has_letters) {
  bc_reader *r = ir->r;
  bool with_newer = has_letters || record_fits(*c, r->data, list, true) || !record_fits(*c, r->data, list, false);
  strv rest = strv_from_cstr(list);
  while (rest.len > 0 && !r->failed) {
    strv word = rest, tail = {0};
    strv_split(rest, ' ', &word, &tail);
    rest = tail;
    bool newer = !has_letters && word.data[0] == '+', optional = newer || word.data[0] == '?', present = true;
    if (newer && !with_newer) continue;
    if (optional || has_letters) word = strv_drop(word, 1);
    size_t pos = c->pos;
    uint64_t index = optional ? bc_flagged(r, c, &present) : bc_varint(r, c);
    if (r->failed || !present) continue;
    mlir_named_attr at = {word, bc_get_attr(r, index, pos)};
    if (at.value) vec_push(r->scratch, &raw->attrs, at);
  }
  if (!r->failed && bc_left(c) > 0)
    return bc_fail(r, c->pos, "%zu bytes left in the properties of " STRV_FMT, bc_left(c), STRV_ARG(raw->name->name));
  return !r->failed;
}

static bool read_properties(ir_reader *ir, raw_op *raw, bc_cursor *c) {
  bc_reader *r = ir->r;
  if (r->version < 5)
    return bc_fail(r, c->pos, "properties in bytecode of version %llu", (unsigned long long)r->version);
  uint32_t i = bc_index(r, c, r->n_props, "property record");
  if (r->failed) return false;
  bc_cursor record = r->props[i];
  if (raw->name->vhlo) return read_listed_properties(ir, raw, &record, raw->name->vhlo->attrs, true);
  if (!raw->name->registered) {
    size_t pos = record.pos;
    uint64_t index = bc_varint(r, &record);
    return add_dictionary(ir, raw, bc_get_attr(r, index, pos), pos);
  }
  const char *list = bc_foreign_properties(raw->name->name);
  if (!list)
    return bc_unimplemented(r, raw->pos, "the attributes of operation " STRV_FMT " cannot be read",
                            STRV_ARG(raw->name->name));
  return read_listed_properties(ir, raw, &record, list, false);
}

// --- operations ----------------------------------------------------------------------------------

static void skip_use_list(bc_reader *r, bc_cursor *c, uint32_t n_values) {
  uint64_t n = n_values > 1 ? bc_varint(r, c) : 1;
  for (uint64_t i = 0; i < n && !r->failed; i++) {
    if (n_values > 1) bc_varint(r, c);
    bool pairs = false;
    uint64_t k = bc_flagged(r, c, &pairs);
    for (uint64_t j = 0; j < k && !r->failed; j++) bc_varint(r, c);
  }
}

enum {
  HAS_ATTRS = 1,
  HAS_RESULTS = 2,
  HAS_OPERANDS = 4,
  HAS_SUCCESSORS = 8,
  HAS_REGIONS = 16,
  HAS_USE_LISTS = 32,
  HAS_PROPERTIES = 64
};

static bool read_results_and_operands(ir_reader *ir, bc_cursor *c, raw_op *raw, uint8_t mask) {
  bc_reader *r = ir->r;
  if (mask & HAS_RESULTS) {
    raw->n_results = (int32_t)bc_count(r, c);
    raw->results = ARENA_ARRAY(r->scratch, const mlir_type *, raw->n_results);
    for (int32_t i = 0; i < raw->n_results && !r->failed; i++) {
      size_t pos = c->pos;
      uint64_t index = bc_varint(r, c);
      raw->results[i] = bc_get_type(r, index, pos);
    }
  }
  if (mask & HAS_OPERANDS) {
    raw->n_operands = (int32_t)bc_count(r, c);
    raw->operands = ARENA_ARRAY(r->scratch, uint32_t, raw->n_operands);
    for (int32_t i = 0; i < raw->n_operands && !r->failed; i++)
      raw->operands[i] = bc_index(r, c, (uint64_t)(ir->slots.len - ir->scope), "value");
  }
  if (mask & HAS_SUCCESSORS && bc_count(r, c) > 0)
    return bc_unimplemented(r, raw->pos, "operation " STRV_FMT " with successor blocks", STRV_ARG(raw->name->name));
  if (mask & HAS_USE_LISTS && r->version >= 3) skip_use_list(r, c, (uint32_t)raw->n_results);
  return !r->failed;
}

static bool read_raw_op(ir_reader *ir, bc_cursor *c, raw_op *raw) {
  bc_reader *r = ir->r;
  raw->pos = c->pos;
  uint32_t name = bc_index(r, c, (uint64_t)r->op_names.len, "operation name");
  uint8_t mask = bc_byte(r, c);
  size_t pos = c->pos;
  uint64_t loc_index = bc_varint(r, c);
  if (r->failed) return false;
  raw->name = &r->op_names.data[name];
  if (mask & 0x80) return bc_fail(r, pos, "bad mask of an operation");
  if (raw->name->dialect == BC_VHLO && !raw->name->vhlo)
    return bc_unimplemented(r, raw->pos, "operation " STRV_FMT " is not known%s", STRV_ARG(raw->name->name),
                            bc_version_note(r));
  const mlir_attr *l = bc_get_attr(r, loc_index, pos);
  if (!l) return false;
  if (l->kind != MLIR_ATTR_LOCATION) return bc_fail(r, pos, "an operation's location is none");
  raw->loc = l->loc;
  const mlir_attr *dict = NULL;
  if (mask & HAS_ATTRS) {
    pos = c->pos;
    uint64_t index = bc_varint(r, c);
    dict = bc_get_attr(r, index, pos);
  }
  if (mask & HAS_PROPERTIES && !read_properties(ir, raw, c)) return false;
  if (mask & HAS_ATTRS && !add_dictionary(ir, raw, dict, pos)) return false;
  if (!read_results_and_operands(ir, c, raw, mask)) return false;
  if (mask & HAS_REGIONS) {
    pos = c->pos;
    uint64_t n = bc_flagged(r, c, &raw->isolated);
    if (!r->failed && n > bc_left(c)) return bc_fail(r, pos, "%llu regions do not fit", (unsigned long long)n);
    raw->n_regions = (int32_t)n;
  }
  return !r->failed;
}

static bool define(ir_reader *ir, numbering *n, mlir_value *value, size_t pos) {
  if (n->next >= n->end) return bc_fail(ir->r, pos, "a region defines more values than it announces");
  ir->slots.data[n->next++] = value;
  return true;
}

// A cast between VHLO's types and others is the identity here, since all types have been translated.
static bool is_identity_cast(const ir_reader *ir, const raw_op *raw) {
  if (!strv_eq_cstr(raw->name->name, "builtin.unrealized_conversion_cast")) return false;
  if (raw->n_results != raw->n_operands || raw->n_regions > 0) return false;
  for (int32_t i = 0; i < raw->n_operands; i++) {
    const mlir_value *v = ir->slots.data[ir->scope + (int)raw->operands[i]];
    if (!v || v->type != raw->results[i]) return false;
  }
  return true;
}

static void set_operand(ir_reader *ir, mlir_value **where, uint32_t number) {
  int slot = ir->scope + (int)number;
  *where = ir->slots.data[slot];
  if (*where) return;
  patch p = {where, slot};
  vec_push(ir->r->scratch, &ir->patches, p);
}

static strv op_name(const raw_op *raw, const mlir_op *parent) {
  if (!raw->name->vhlo) return raw->name->name;
  strv name = strv_from_cstr(raw->name->vhlo->target);
  if (strv_eq_cstr(name, "stablehlo.return") && parent && strv_eq_cstr(parent->name, "func.func"))
    return STRV("func.return");
  return name;
}

static mlir_op *make_op(ir_reader *ir, raw_op *raw, const mlir_op *parent) {
  bc_reader *r = ir->r;
  mlir_named_attr *attrs = raw->attrs.data;
  int n_attrs = raw->attrs.len;
  if (raw->name->vhlo) {
    if (!bc_upgrade_attrs(r, raw->name->vhlo, attrs, n_attrs, raw->pos, &attrs, &n_attrs)) return NULL;
  } else {
    n_attrs = mlir_attrs_drop_defaults(raw->name->name, attrs, n_attrs);
  }
  mlir_op *op = mlir_op_create(r->arena, op_name(raw, parent), raw->loc, raw->n_operands, raw->n_results, n_attrs,
                               raw->n_regions);
  if (n_attrs > 0) memcpy(op->attrs, attrs, (size_t)n_attrs * sizeof *attrs);
  for (int32_t i = 0; i < raw->n_results; i++) op->results[i].type = raw->results[i];
  for (int32_t i = 0; i < raw->n_operands; i++) set_operand(ir, &op->operands[i], raw->operands[i]);
  return op;
}

static bool read_regions(ir_reader *ir, bc_cursor *c, const raw_op *raw, mlir_op *op) {
  bc_reader *r = ir->r;
  if (op->n_regions == 0) return true;
  if (ir->depth >= BC_MAX_REGION_DEPTH)
    return bc_fail(r, raw->pos, "regions are nested more than %d deep", BC_MAX_REGION_DEPTH);
  bc_cursor body = *c, *from = c;
  bool section = raw->isolated && r->version >= 2;
  if (section) {
    int id = 0;
    size_t pos = c->pos;
    if (!bc_section(r, c, &id, &body)) return false;
    if (id != BC_SECTION_IR) return bc_fail(r, pos, "expected the regions of an operation, found section %d", id);
    from = &body;
  }
  int scope = ir->scope;
  if (raw->isolated) ir->scope = ir->slots.len;
  ir->depth++;
  for (int32_t i = 0; i < op->n_regions; i++)
    if (!read_region(ir, from, &op->regions[i])) return false;
  ir->depth--;
  ir->scope = scope;
  if (section && bc_left(&body) > 0) return bc_fail(r, body.pos, "bytes left after the regions of an operation");
  return true;
}

// Reads one operation and appends it to block (or returns it, without a block).
static mlir_op *read_op(ir_reader *ir, bc_cursor *c, numbering *n, mlir_block *block) {
  bc_reader *r = ir->r;
  raw_op raw = {0};
  if (!read_raw_op(ir, c, &raw)) return NULL;
  if (block && is_identity_cast(ir, &raw)) {
    for (int32_t i = 0; i < raw.n_results; i++)
      if (!define(ir, n, ir->slots.data[ir->scope + (int)raw.operands[i]], raw.pos)) return NULL;
    return NULL;
  }
  mlir_op *op = make_op(ir, &raw, block ? block->parent->parent : NULL);
  if (!op) return NULL;
  if (block) mlir_block_append(block, op);
  for (int32_t i = 0; i < op->n_results; i++)
    if (!define(ir, n, &op->results[i], raw.pos)) return NULL;
  if (!read_regions(ir, c, &raw, op)) return NULL;
  return r->failed ? NULL : op;
}

// --- regions -------------------------------------------------------------------------------------

static bool read_block_args(ir_reader *ir, bc_cursor *c, numbering *n, mlir_block *block) {
  bc_reader *r = ir->r;
  block->n_args = (int32_t)bc_count(r, c);
  block->args = ARENA_ARRAY(r->arena, mlir_value, block->n_args);
  for (int32_t i = 0; i < block->n_args && !r->failed; i++) {
    size_t pos = c->pos;
    bool has_loc = true;
    uint64_t type = r->version >= 4 ? bc_flagged(r, c, &has_loc) : bc_varint(r, c);
    if (has_loc) bc_index(r, c, r->n_attrs, "attribute");  // arguments have no location here
    block->args[i] = (mlir_value){.type = bc_get_type(r, type, pos), .block = block, .index = i};
    if (r->failed || !define(ir, n, &block->args[i], pos)) return false;
  }
  if (r->version >= 3 && bc_byte(r, c)) skip_use_list(r, c, (uint32_t)block->n_args);
  return !r->failed;
}

static bool finish_region(ir_reader *ir, size_t pos, const numbering *n, int base, int first_patch) {
  if (n->next != n->end)
    return bc_fail(ir->r, pos, "a region announces %d values and defines %d", n->end - base, n->next - base);
  int kept = first_patch;
  for (int i = first_patch; i < ir->patches.len; i++) {
    patch p = ir->patches.data[i];
    if (p.slot >= base)
      *p.where = ir->slots.data[p.slot];
    else
      ir->patches.data[kept++] = p;
  }
  ir->patches.len = kept;
  ir->slots.len = base;
  return true;
}

static bool read_region(ir_reader *ir, bc_cursor *c, mlir_region *region) {
  bc_reader *r = ir->r;
  size_t pos = c->pos;
  uint32_t n_blocks = bc_count(r, c);
  if (r->failed || n_blocks == 0) return !r->failed;
  uint32_t n_values = bc_count(r, c);  // each takes a byte at least, where it is defined
  if (r->failed) return false;
  int base = ir->slots.len, first_patch = ir->patches.len;
  for (uint32_t i = 0; i < n_values; i++) vec_push(r->scratch, &ir->slots, NULL);
  numbering n = {base, ir->slots.len};
  mlir_block **next = &region->first;
  for (uint32_t b = 0; b < n_blocks && !r->failed; b++) {
    mlir_block *block = ARENA_NEW(r->arena, mlir_block);
    block->parent = region;
    *next = block;
    next = &block->next;
    bool has_args = false;
    uint64_t n_ops = bc_flagged(r, c, &has_args);
    if (has_args && !read_block_args(ir, c, &n, block)) return false;
    for (uint64_t i = 0; i < n_ops && !r->failed; i++) read_op(ir, c, &n, block);
  }
  return !r->failed && finish_region(ir, pos, &n, base, first_patch);
}

bool bc_read_ir(bc_reader *r, mlir_module *m) {
  ir_reader ir = {.r = r};
  bc_cursor c = r->sections[BC_SECTION_IR];
  bool has_args = false;
  size_t pos = c.pos;
  uint64_t n_ops = bc_flagged(r, &c, &has_args);
  if (r->failed) return false;
  if (has_args || n_ops != 1)
    return bc_fail(r, pos, "expected one module at the top, found %llu operations", (unsigned long long)n_ops);
  numbering none = {0, 0};
  m->op = read_op(&ir, &c, &none, NULL);
  if (!m->op || r->failed) return false;
  if (!strv_eq_cstr(m->op->name, "builtin.module"))
    return bc_fail(r, pos, "expected a module at the top, found " STRV_FMT, STRV_ARG(m->op->name));
  if (m->op->n_regions != 1) return bc_fail(r, pos, "the module has %d regions, expected 1", m->op->n_regions);
  if (bc_left(&c) > 0) return bc_fail(r, c.pos, "bytes left after the module");
  return true;
}
