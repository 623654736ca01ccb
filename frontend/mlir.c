// SPDX-License-Identifier: Apache-2.0
// The generic MLIR module: type uniquing, operation construction, attribute lookup, structural equality.
//
// Types of one module are uniqued by a hash table over their structure, so that equal types are equal pointers. Only
// encodings (attributes, which are not uniqued) are compared by structure. Equality across modules (mlir_equal) walks
// both modules in step, with a map from the values of one to the values of the other; types are compared by structure
// there, since the two modules have different tables.
#include "frontend/mlir.h"

#include <string.h>

typedef struct type_node {
  const mlir_type *type;
  struct type_node *next;
} type_node;

struct mlir_type_table {
  arena *arena;
  u64map by_hash;  // hash -> type_node list
};

// --- equality of types and attributes ------------------------------------------------------------

static bool attr_equal(const mlir_attr *a, const mlir_attr *b);

static bool quant_equal(const mlir_quant *a, const mlir_quant *b);

static bool type_equal(const mlir_type *a, const mlir_type *b) {
  if (a == b) return true;
  if (!a || !b || a->kind != b->kind || a->width != b->width || a->signedness != b->signedness || a->rank != b->rank ||
      a->n_types != b->n_types || a->n_inputs != b->n_inputs || !strv_eq(a->name, b->name))
    return false;
  if (a->rank > 0 && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) != 0) return false;
  if (!type_equal(a->element, b->element)) return false;
  for (int32_t i = 0; i < a->n_types; i++)
    if (!type_equal(a->types[i], b->types[i])) return false;
  return attr_equal(a->encoding, b->encoding) && quant_equal(a->quant, b->quant);
}

static bool quant_equal(const mlir_quant *a, const mlir_quant *b) {
  if (a == b) return true;
  if (!a || !b || a->storage_min != b->storage_min || a->storage_max != b->storage_max || a->axis != b->axis ||
      a->n_scales != b->n_scales || a->n_block_dims != b->n_block_dims)
    return false;
  if (!type_equal(a->storage, b->storage) || !type_equal(a->expressed, b->expressed)) return false;
  for (int32_t i = 0; i < a->n_scales; i++)
    if (a->scales[i] != b->scales[i] || a->zero_points[i] != b->zero_points[i]) return false;
  for (int32_t i = 0; i < a->n_block_dims; i++)
    if (a->block_axes[i] != b->block_axes[i] || a->block_sizes[i] != b->block_sizes[i]) return false;
  return true;
}

// A splat equals the same elements written out.
static bool dense_data_equal(const mlir_attr *a, const mlir_attr *b) {
  for (int32_t i = 0; a->kind == MLIR_ATTR_DENSE && a->type && i < a->type->rank; i++)
    if (a->type->dims[i] == 0) return true;
  if (a->splat == b->splat) {
    if (a->data_size != b->data_size) return false;
    return a->data_size == 0 || memcmp(a->data, b->data, a->data_size) == 0;
  }
  const mlir_attr *splat = a->splat ? a : b, *full = a->splat ? b : a;
  size_t n = splat->data_size;
  if (n == 0 || full->data_size % n != 0) return full->data_size == n;
  for (size_t i = 0; i < full->data_size; i += n)
    if (memcmp((const char *)full->data + i, splat->data, n) != 0) return false;
  return true;
}

static bool entries_equal(const mlir_named_attr *a, int32_t na, const mlir_named_attr *b, int32_t nb) {
  if (na != nb) return false;  // names are unique, so one direction is enough
  for (int32_t i = 0; i < na; i++) {
    // Both sides usually have the same order; look around only when they do not.
    const mlir_attr *other = NULL;
    if (strv_eq(a[i].name, b[i].name)) other = b[i].value;
    for (int32_t j = 0; !other && j < nb; j++)
      if (strv_eq(a[i].name, b[j].name)) other = b[j].value;
    if (!other || !attr_equal(a[i].value, other)) return false;
  }
  return true;
}

static bool attr_equal(const mlir_attr *a, const mlir_attr *b) {
  if (a == b) return true;
  if (!a || !b || a->kind != b->kind) return false;
  if (a->kind == MLIR_ATTR_LOCATION) return true;
  if (!type_equal(a->type, b->type) || a->integer != b->integer || memcmp(&a->real, &b->real, sizeof a->real) != 0)
    return false;
  if (!strv_eq(a->string, b->string) || !strv_eq(a->dialect, b->dialect) || !strv_eq(a->mnemonic, b->mnemonic))
    return false;
  if (a->n_items != b->n_items) return false;
  for (int32_t i = 0; i < a->n_items; i++)
    if (!attr_equal(a->items[i], b->items[i])) return false;
  if (!entries_equal(a->entries, a->n_entries, b->entries, b->n_entries)) return false;
  if (a->kind == MLIR_ATTR_DENSE || a->kind == MLIR_ATTR_DENSE_ARRAY) return dense_data_equal(a, b);
  return true;
}

// --- types ---------------------------------------------------------------------------------------

struct mlir_type_table *mlir_type_table_create(arena *a) {
  struct mlir_type_table *t = ARENA_NEW(a, struct mlir_type_table);
  t->arena = a;
  return t;
}

static uint64_t quant_hash(const mlir_quant *q) {
  uint64_t h = hash_u64((uint64_t)(uintptr_t)q->storage, (uint64_t)(uintptr_t)q->expressed);
  h = hash_u64((uint64_t)q->storage_min, h);
  h = hash_u64((uint64_t)q->storage_max, h);
  h = hash_u64((uint64_t)(int64_t)q->axis, h);
  h = hash_u64((uint64_t)q->n_block_dims, h);
  if (q->n_scales > 0) {
    h = hash_bytes(q->scales, (size_t)q->n_scales * sizeof *q->scales, h);
    h = hash_bytes(q->zero_points, (size_t)q->n_scales * sizeof *q->zero_points, h);
  }
  return h;
}

static uint64_t type_hash(const mlir_type *t) {
  uint64_t h = hash_u64((uint64_t)t->kind, (uint64_t)t->width);
  h = hash_u64((uint64_t)t->signedness, h);
  h = hash_u64((uint64_t)(uintptr_t)t->element, h);
  h = hash_u64((uint64_t)t->n_inputs, h);
  if (t->name.len > 0) h = hash_bytes(t->name.data, t->name.len, h);
  if (t->rank > 0) h = hash_bytes(t->dims, (size_t)t->rank * sizeof *t->dims, h);
  if (t->n_types > 0) h = hash_bytes(t->types, (size_t)t->n_types * sizeof *t->types, h);
  if (t->quant) h = quant_hash(t->quant) ^ h;
  return hash_u64(t->encoding != NULL, h);
}

static const mlir_quant *quant_copy(arena *a, const mlir_quant *q) {
  mlir_quant *copy = arena_copy(a, q, sizeof *q);
  copy->scales = arena_copy(a, q->scales, (size_t)q->n_scales * sizeof *q->scales);
  copy->zero_points = arena_copy(a, q->zero_points, (size_t)q->n_scales * sizeof *q->zero_points);
  if (q->n_block_dims > 0) {
    copy->block_axes = arena_copy(a, q->block_axes, (size_t)q->n_block_dims * sizeof *q->block_axes);
    copy->block_sizes = arena_copy(a, q->block_sizes, (size_t)q->n_block_dims * sizeof *q->block_sizes);
  }
  return copy;
}

const mlir_type *mlir_type_unique(struct mlir_type_table *t, const mlir_type *proto) {
  uint64_t h = type_hash(proto);
  uint64_t found = 0;
  type_node *head = u64map_get(&t->by_hash, h, &found) ? (type_node *)(uintptr_t)found : NULL;
  for (type_node *n = head; n; n = n->next)
    if (type_equal(n->type, proto)) return n->type;
  mlir_type *copy = arena_copy(t->arena, proto, sizeof *proto);
  if (proto->name.len > 0) copy->name = arena_strv(t->arena, proto->name);
  if (proto->rank > 0) copy->dims = arena_copy(t->arena, proto->dims, (size_t)proto->rank * sizeof *proto->dims);
  if (proto->n_types > 0)
    copy->types = arena_copy(t->arena, proto->types, (size_t)proto->n_types * sizeof *proto->types);
  if (proto->quant) copy->quant = quant_copy(t->arena, proto->quant);
  type_node *node = ARENA_NEW(t->arena, type_node);
  node->type = copy;
  node->next = head;
  u64map_put(t->arena, &t->by_hash, h, (uint64_t)(uintptr_t)node);
  return copy;
}

// --- operations ----------------------------------------------------------------------------------

mlir_op *mlir_op_create(arena *a, strv name, const loc *l, int n_operands, int n_results, int n_attrs, int n_regions) {
  mlir_op *op = ARENA_NEW(a, mlir_op);
  op->name = name;
  op->loc = l;
  op->n_operands = n_operands;
  op->n_results = n_results;
  op->n_attrs = n_attrs;
  op->n_regions = n_regions;
  if (n_operands > 0) op->operands = ARENA_ARRAY(a, mlir_value *, n_operands);
  if (n_results > 0) op->results = ARENA_ARRAY(a, mlir_value, n_results);
  if (n_attrs > 0) op->attrs = ARENA_ARRAY(a, mlir_named_attr, n_attrs);
  if (n_regions > 0) op->regions = ARENA_ARRAY(a, mlir_region, n_regions);
  for (int i = 0; i < n_results; i++) {
    op->results[i].op = op;
    op->results[i].index = i;
  }
  for (int i = 0; i < n_regions; i++) op->regions[i].parent = op;
  return op;
}

void mlir_block_append(mlir_block *b, mlir_op *op) {
  op->parent = b;
  op->prev = b->last;
  op->next = NULL;
  if (b->last)
    b->last->next = op;
  else
    b->first = op;
  b->last = op;
}

const mlir_attr *mlir_op_attr(const mlir_op *op, const char *name) {
  for (int32_t i = 0; i < op->n_attrs; i++)
    if (strv_eq_cstr(op->attrs[i].name, name)) return op->attrs[i].value;
  return NULL;
}

const mlir_attr *mlir_attr_entry(const mlir_attr *dict_or_dialect, const char *name) {
  if (!dict_or_dialect) return NULL;
  for (int32_t i = 0; i < dict_or_dialect->n_entries; i++)
    if (strv_eq_cstr(dict_or_dialect->entries[i].name, name)) return dict_or_dialect->entries[i].value;
  return NULL;
}

// --- equality of modules -------------------------------------------------------------------------

typedef struct equal_ctx {
  arena *arena;
  u64map values;  // value of the first module -> value of the second
  const char *why;
} equal_ctx;

static bool differ(equal_ctx *c, const mlir_op *op, const char *what) {
  if (!c->why) {
    strbuf where = {0};
    loc_print(&where, op->loc);
    c->why = arena_printf(c->arena, STRV_FMT " at " STRV_FMT ": %s", STRV_ARG(op->name), STRV_ARG(strbuf_view(&where)),
                          what);
    strbuf_deinit(&where);
  }
  return false;
}

// Says which attribute differs, and how it reads on both sides (clipped).
static bool differ_attr(equal_ctx *c, const mlir_op *op, strv name, const mlir_attr *a, const mlir_attr *b) {
  if (c->why) return false;
  strbuf text_a = {0}, text_b = {0};
  if (a) mlir_attr_print(&text_a, a);
  if (b) mlir_attr_print(&text_b, b);
  strv va = strv_take(strbuf_view(&text_a), 200), vb = strv_take(strbuf_view(&text_b), 200);
  differ(c, op,
         arena_printf(c->arena, "attribute '" STRV_FMT "' is '" STRV_FMT "' against '" STRV_FMT "'", STRV_ARG(name),
                      STRV_ARG(va), STRV_ARG(vb)));
  strbuf_deinit(&text_a);
  strbuf_deinit(&text_b);
  return false;
}

static bool differ_type(equal_ctx *c, const mlir_op *op, const char *what, const mlir_type *a, const mlir_type *b) {
  if (c->why) return false;
  strbuf text_a = {0}, text_b = {0};
  mlir_type_print(&text_a, a);
  mlir_type_print(&text_b, b);
  differ(c, op,
         arena_printf(c->arena, "%s is '" STRV_FMT "' against '" STRV_FMT "'", what, STRV_ARG(strbuf_view(&text_a)),
                      STRV_ARG(strbuf_view(&text_b))));
  strbuf_deinit(&text_a);
  strbuf_deinit(&text_b);
  return false;
}

static bool op_equal(equal_ctx *c, const mlir_op *a, const mlir_op *b);

static bool block_equal(equal_ctx *c, const mlir_op *op, const mlir_block *a, const mlir_block *b) {
  if (a->n_args != b->n_args) return differ(c, op, "number of block arguments");
  for (int32_t i = 0; i < a->n_args; i++) {
    if (!type_equal(a->args[i].type, b->args[i].type))
      return differ_type(c, op, "type of a block argument", a->args[i].type, b->args[i].type);
    ptrmap_put(c->arena, &c->values, &a->args[i], &b->args[i]);
  }
  const mlir_op *oa = a->first, *ob = b->first;
  for (; oa && ob; oa = oa->next, ob = ob->next)
    if (!op_equal(c, oa, ob)) return false;
  if (oa || ob) return differ(c, oa ? oa : ob, "operation is missing on the other side");
  return true;
}

static bool attrs_equal(equal_ctx *c, const mlir_op *a, const mlir_op *b) {
  for (int32_t i = 0; i < a->n_attrs; i++) {
    strv name = a->attrs[i].name;
    const mlir_attr *other = NULL;
    for (int32_t j = 0; j < b->n_attrs && !other; j++)
      if (strv_eq(b->attrs[j].name, name)) other = b->attrs[j].value;
    if (!other || !attr_equal(a->attrs[i].value, other)) return differ_attr(c, a, name, a->attrs[i].value, other);
  }
  for (int32_t j = 0; j < b->n_attrs && a->n_attrs != b->n_attrs; j++) {
    bool found = false;
    for (int32_t i = 0; i < a->n_attrs && !found; i++) found = strv_eq(a->attrs[i].name, b->attrs[j].name);
    if (!found) return differ_attr(c, a, b->attrs[j].name, NULL, b->attrs[j].value);
  }
  return true;
}

static bool op_equal(equal_ctx *c, const mlir_op *a, const mlir_op *b) {
  if (!strv_eq(a->name, b->name))
    return differ(c, a,
                  arena_printf(c->arena, "operation is '" STRV_FMT "' against '" STRV_FMT "'", STRV_ARG(a->name),
                               STRV_ARG(b->name)));
  if (a->n_operands != b->n_operands) return differ(c, a, "number of operands");
  if (a->n_results != b->n_results) return differ(c, a, "number of results");
  if (a->n_regions != b->n_regions) return differ(c, a, "number of regions");
  for (int32_t i = 0; i < a->n_operands; i++)
    if (ptrmap_get(&c->values, a->operands[i]) != (void *)b->operands[i])
      return differ(c, a, arena_printf(c->arena, "operand %d is another value", i));
  for (int32_t i = 0; i < a->n_results; i++) {
    if (!type_equal(a->results[i].type, b->results[i].type))
      return differ_type(c, a, "type of a result", a->results[i].type, b->results[i].type);
    ptrmap_put(c->arena, &c->values, &a->results[i], &b->results[i]);
  }
  if (!attrs_equal(c, a, b)) return false;
  for (int32_t i = 0; i < a->n_regions; i++) {
    const mlir_block *ba = a->regions[i].first, *bb = b->regions[i].first;
    for (; ba && bb; ba = ba->next, bb = bb->next)
      if (!block_equal(c, a, ba, bb)) return false;
    if (ba || bb) return differ(c, a, "number of blocks");
  }
  return true;
}

bool mlir_equal(const mlir_module *a, const mlir_module *b, const char **out_why) {
  arena *scratch = arena_create();
  equal_ctx c = {.arena = scratch};
  bool equal = op_equal(&c, a->op, b->op);
  if (!equal && out_why) *out_why = arena_printf(a->arena, "%s", c.why ? c.why : "modules differ");
  arena_destroy(scratch);
  return equal;
}
