// SPDX-License-Identifier: Apache-2.0
// From VHLO operations of any version to StableHLO's attributes.
//
// Upgrading an old version means supplying what it did not have yet. All of these additions are defaults of StableHLO
// (default accuracy, no algorithm...), so in StableHLO's form there is nothing to supply except the batching dimensions
// of gather and scatter, and one table row per version (vhlo_tables.def) is enough: which attributes it has and what
// becomes of each.
#include <string.h>

#include "frontend/bytecode.h"
#include "frontend/defaults.h"

#define VHLO_CURRENT UINT32_MAX

// clang-format off
static const vhlo_op_info vhlo_ops[] = {
#define VHLO_OP(name, target, introduced, last, struct_attr, struct_mnemonic, attrs) \
  {name, target, introduced, last, struct_attr, struct_mnemonic, attrs},
#include "frontend/vhlo_tables.def"
#undef VHLO_OP
};
// clang-format on

const vhlo_op_info *vhlo_op_find(strv name) {
  size_t low = 0, high = sizeof vhlo_ops / sizeof *vhlo_ops;
  while (low < high) {
    size_t mid = (low + high) / 2;
    int order = strv_compare(name, strv_from_cstr(vhlo_ops[mid].name));
    if (order == 0) return &vhlo_ops[mid];
    if (order < 0)
      high = mid;
    else
      low = mid + 1;
  }
  return NULL;
}

// --- conversions of single attributes ------------------------------------------------------------

typedef struct upgrade {
  bc_reader *r;
  const vhlo_op_info *info;
  size_t pos;
  mlir_named_attr *out;
  int n_out;
  mlir_attr *dims;  // the struct attribute being put together
  mlir_attr *algorithm;
  int algorithm_absent;  // members of it that are the none type
} upgrade;

static bool fail(upgrade *u, strv name, const char *expected) {
  return bc_fail(u->r, u->pos, "%s: attribute '" STRV_FMT "' is not %s", u->info->name, STRV_ARG(name), expected);
}

static void put(upgrade *u, const char *name, strv name_view, const mlir_attr *value) {
  u->out[u->n_out++] = (mlir_named_attr){name ? strv_from_cstr(name) : name_view, value};
}

static int64_t n_elements(const mlir_attr *dense) {
  int64_t n = 1;
  for (int32_t i = 0; i < dense->type->rank; i++) n *= dense->type->dims[i];  // checked when it was decoded
  return n;
}

// A dense tensor of i64 or i1 as a plain list; splats are written out.
static const mlir_attr *to_array(upgrade *u, strv name, const mlir_attr *v, int width) {
  if (v->kind == MLIR_ATTR_DENSE_ARRAY) return v;  // some other producer's
  const mlir_type *e = v->kind == MLIR_ATTR_DENSE ? v->type->element : NULL;
  if (!e || e->kind != MLIR_TYPE_INTEGER || e->width != width || v->type->rank > 1)
    return fail(u, name, width == 1 ? "a list of truth values" : "a list of 64-bit numbers"), NULL;
  int64_t n = n_elements(v);
  size_t size = (size_t)width / 8 + (width % 8 != 0);
  // A splat makes n elements out of one: no dimension list is that long.
  if (n > INT16_MAX) return fail(u, name, "a list of sensible length"), NULL;
  mlir_attr *a = bc_new(u->r, MLIR_ATTR_DENSE_ARRAY);
  a->type = e;
  a->data_size = (size_t)n * size;
  if (!v->splat || n == 1) {
    a->data = v->data;
    return a;
  }
  char *data = arena_alloc(u->r->arena, a->data_size);
  for (int64_t i = 0; i < n; i++) memcpy(data + (size_t)i * size, v->data, size);
  a->data = data;
  return a;
}

static const mlir_attr *to_symbol(upgrade *u, strv name, const mlir_attr *v) {
  if (v->kind == MLIR_ATTR_SYMBOL) return v;
  if (v->kind != MLIR_ATTR_STRING) return fail(u, name, "a string"), NULL;
  return bc_new_string(u->r, MLIR_ATTR_SYMBOL, v->string);
}

static const mlir_attr *to_symbols(upgrade *u, strv name, const mlir_attr *v) {
  if (v->kind != MLIR_ATTR_ARRAY) return fail(u, name, "an array of strings"), NULL;
  mlir_attr *a = bc_new(u->r, MLIR_ATTR_ARRAY);
  const mlir_attr **items = ARENA_ARRAY(u->r->arena, const mlir_attr *, v->n_items);
  for (int32_t i = 0; i < v->n_items; i++) {
    items[i] = to_symbol(u, name, v->items[i]);
    if (!items[i]) return NULL;
  }
  a->items = items;
  a->n_items = v->n_items;
  return a;
}

static bool add_channel(upgrade *u, strv name, const mlir_attr *v) {
  if (v->kind != MLIR_ATTR_INTEGER) return fail(u, name, "a number");
  mlir_attr *a = bc_new_struct(u->r, "channel_handle", 2);
  bc_put(a, "handle", v);
  bc_put(a, "type", bc_new_i64(u->r, 0));
  put(u, "channel_handle", (strv){0}, a);
  return true;
}

// A member of dot, gather, scatter, conv or channel_handle: a number or a list of them.
static bool add_member(upgrade *u, strv name, const mlir_attr *v) {
  if (!u->dims) u->dims = bc_new_struct(u->r, u->info->struct_mnemonic, 9);
  strv short_name = name;
  if (strv_eq_cstr(name, "channel_id")) short_name = STRV("handle");
  if (strv_eq_cstr(name, "channel_type")) short_name = STRV("type");
  if (v->kind != MLIR_ATTR_INTEGER) v = to_array(u, name, v, 64);
  if (!v) return false;
  mlir_named_attr *entries = (mlir_named_attr *)u->dims->entries;
  entries[u->dims->n_entries++] = (mlir_named_attr){short_name, v};
  return true;
}

static bool add_algorithm(upgrade *u, strv name, const mlir_attr *v) {
  if (!u->algorithm) u->algorithm = bc_new_struct(u->r, "dot_algorithm", 7);
  bool is_type = v->kind == MLIR_ATTR_TYPE, absent = is_type && v->type->kind == MLIR_TYPE_NONE;
  bool fits = strv_ends_with(name, STRV("_type"))                  ? is_type && v->type->kind == MLIR_TYPE_FLOAT
              : strv_eq_cstr(name, "allow_imprecise_accumulation") ? v->kind == MLIR_ATTR_BOOL
                                                                   : v->kind == MLIR_ATTR_INTEGER;
  if (!absent && !fits)
    return bc_fail(u->r, u->pos, "%s: " STRV_FMT " of the dot algorithm is of the wrong kind", u->info->name,
                   STRV_ARG(name));
  u->algorithm_absent += absent;
  mlir_named_attr *entries = (mlir_named_attr *)u->algorithm->entries;
  entries[u->algorithm->n_entries++] = (mlir_named_attr){name, v};
  return true;
}

static bool add(upgrade *u, char what, strv name, const mlir_attr *v) {
  switch (what) {
    case 'A':
    case 'B': v = to_array(u, name, v, what == 'A' ? 64 : 1); break;
    case 'S': v = to_symbol(u, name, v); break;
    case 'Y': v = to_symbols(u, name, v); break;
    case 'U':
      if (v->kind != MLIR_ATTR_BOOL && v->kind != MLIR_ATTR_UNIT) return fail(u, name, "a truth value");
      if (v->kind == MLIR_ATTR_BOOL && !v->integer) return true;
      v = bc_new(u->r, MLIR_ATTR_UNIT);
      break;
    case 'C': return add_channel(u, name, v);
    case 'D': return add_member(u, name, v);
    case 'G': return add_algorithm(u, name, v);
    case 'X': return true;
    default: break;
  }
  if (!v) return false;
  put(u, NULL, name, v);
  return true;
}

// --- an operation's attributes -------------------------------------------------------------------

static int find(const mlir_named_attr *in, int n_in, strv name) {
  for (int i = 0; i < n_in; i++)
    if (strv_eq(in[i].name, name)) return i;
  return -1;
}

// The first versions of gather and scatter had no batching dimensions.
static void complete_dims(upgrade *u) {
  static const char *const later[] = {"operand_batching_dims", "start_indices_batching_dims", "input_batching_dims",
                                      "scatter_indices_batching_dims"};
  bool is_gather = strv_eq_cstr(u->dims->mnemonic, "gather"), is_scatter = strv_eq_cstr(u->dims->mnemonic, "scatter");
  for (int i = 0; i < 4; i++)
    if ((i < 2 ? is_gather : is_scatter) && !mlir_attr_entry(u->dims, later[i]))
      bc_put(u->dims, later[i], bc_new_i64_array(u->r, NULL, 0));
}

// VHLO has the members as attributes of the operation, by name; StableHLO's order is that of its text.
static void sort_algorithm(mlir_attr *a) {
  static const char *const order[] = {"lhs_precision_type",          "rhs_precision_type",  "accumulation_type",
                                      "lhs_component_count",         "rhs_component_count", "num_primitive_operations",
                                      "allow_imprecise_accumulation"};
  mlir_named_attr *entries = (mlir_named_attr *)a->entries;
  int done = 0;
  for (size_t k = 0; k < sizeof order / sizeof *order; k++)
    for (int i = done; i < a->n_entries; i++)
      if (strv_eq_cstr(entries[i].name, order[k])) {
        mlir_named_attr found = entries[i];
        entries[i] = entries[done];
        entries[done++] = found;
        break;
      }
}

// Puts the struct attribute and the algorithm in place.
static bool add_structs(upgrade *u) {
  if (u->dims) complete_dims(u);
  if (u->dims) put(u, u->info->struct_attr, (strv){0}, u->dims);
  if (!u->algorithm || u->algorithm_absent == u->algorithm->n_entries) return true;
  if (u->algorithm_absent > 0)
    return bc_fail(u->r, u->pos, "%s: the dot algorithm is only partly there", u->info->name);
  sort_algorithm(u->algorithm);
  put(u, "algorithm", (strv){0}, u->algorithm);
  return true;
}

bool bc_upgrade_attrs(bc_reader *r, const vhlo_op_info *info, const mlir_named_attr *in, int n_in, size_t pos,
                      mlir_named_attr **out, int *out_n) {
  upgrade u = {.r = r, .info = info, .pos = pos};
  u.out = ARENA_ARRAY(r->arena, mlir_named_attr, n_in + 2);
  bool *used = ARENA_ARRAY(r->scratch, bool, n_in);
  strv rest = strv_from_cstr(info->attrs);
  while (rest.len > 0) {
    strv word = rest, tail = {0};
    strv_split(rest, ' ', &word, &tail);
    rest = tail;
    strv name = strv_drop(word, 1);
    int i = find(in, n_in, name);
    if (i < 0) return bc_fail(r, pos, "%s: attribute '" STRV_FMT "' is missing", info->name, STRV_ARG(name));
    used[i] = true;
    if (!add(&u, word.data[0], in[i].name, in[i].value)) return false;
  }
  if (!add_structs(&u)) return false;
  for (int i = 0; i < n_in; i++)
    if (!used[i]) u.out[u.n_out++] = in[i];
  *out = u.out;
  *out_n = mlir_attrs_drop_defaults(strv_from_cstr(info->target), u.out, u.n_out);
  return true;
}

// --- operations of other dialects ----------------------------------------------------------------

static const struct {
  const char *name, *properties;
} foreign_ops[] = {
#define FOREIGN_OP(name, properties) {name, properties},
#include "frontend/foreign_ops.def"
#undef FOREIGN_OP
};

const char *bc_foreign_properties(strv name) {
  for (size_t i = 0; i < sizeof foreign_ops / sizeof *foreign_ops; i++)
    if (strv_eq_cstr(name, foreign_ops[i].name)) return foreign_ops[i].properties;
  return NULL;
}
