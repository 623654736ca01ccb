// SPDX-License-Identifier: Apache-2.0
// Import: meshes and shardings, from the text that both readers keep of Shardy's attributes, and from XLA's notation.
//
//   #sdy.mesh<["x"=2, "y"=4], device_ids=[..]>
//   #sdy.sharding<@mesh, [{"x", "y":(1)2, ?}, {}], replicated={"z"}, unreduced={"w"}>      p1 behind a } is a priority
//   {devices=[2,1,4]<=[2,4]T(1,0) last_tile_dim_replicate}, {devices=[2]0,1}, {replicated}, {manual}
//
// Of an axis of size n the sub-axis (pre)size is the digit of that size below the pre most significant ones.
#include "frontend/import_mesh.h"

// --- a scanner -----------------------------------------------------------------------------------

typedef struct scanner {
  strv rest;
} scanner;

static bool at(scanner *s, const char *word) {
  s->rest = strv_trim(s->rest);
  return strv_starts_with(s->rest, strv_from_cstr(word));
}

static bool take(scanner *s, const char *word) {
  if (!at(s, word)) return false;
  s->rest = strv_drop(s->rest, strlen(word));
  return true;
}

static bool take_int(scanner *s, int64_t *out) {
  s->rest = strv_trim(s->rest);
  size_t n = 0;
  int64_t x = 0;
  for (; n < s->rest.len && s->rest.data[n] >= '0' && s->rest.data[n] <= '9'; n++)
    if (__builtin_mul_overflow(x, (int64_t)10, &x) || __builtin_add_overflow(x, (int64_t)(s->rest.data[n] - '0'), &x))
      return false;
  s->rest = strv_drop(s->rest, n);
  *out = x;
  return n > 0;
}

static bool take_string(scanner *s, strv *out) {
  if (!take(s, "\"")) return false;
  size_t n = 0;
  while (n < s->rest.len && s->rest.data[n] != '"') n++;
  if (n == s->rest.len) return false;
  *out = (strv){s->rest.data, n};
  s->rest = strv_drop(s->rest, n + 1);
  return true;
}

static bool take_symbol(scanner *s, strv *out) {
  if (!take(s, "@")) return false;
  if (at(s, "\"")) return take_string(s, out);
  size_t n = 0;
  while (n < s->rest.len && !strchr(",>] \t\n", s->rest.data[n])) n++;
  *out = (strv){s->rest.data, n};
  s->rest = strv_drop(s->rest, n);
  return n > 0;
}

// [1, 2, 3]
static bool take_ints(import_ctx *c, scanner *s, const char *close, hlo_i64s *out) {
  VEC(int64_t) list = {0};
  int64_t x;
  while (!take(s, close)) {
    if (list.len && !take(s, ",")) return false;
    if (!take_int(s, &x)) return false;
    vec_push(c->arena, &list, x);
  }
  *out = (hlo_i64s){list.data, list.len};
  return true;
}

// --- meshes --------------------------------------------------------------------------------------

static bool add_axis(import_mesh *m, strv name, int64_t size) {
  if (m->n == IMPORT_MESH_AXES || size < 1 || size > IMPORT_MAX_DEVICES / m->devices) return false;
  if (import_mesh_axis(m, name) >= 0) return false;
  m->axes[m->n].name = name;
  m->axes[m->n++].size = size;
  m->devices *= size;
  return true;
}

int import_mesh_axis(const import_mesh *m, strv name) {
  for (int k = 0; k < m->n; k++)
    if (strv_eq(m->axes[k].name, name)) return k;
  return -1;
}

// Device ids name every device of the mesh once; one alone, of a mesh without axes, may be any.
static bool check_ids(import_ctx *c, const import_mesh *m) {
  if (m->ids.n == 0) return true;
  if (m->ids.n != m->devices) return false;
  uint8_t *seen = ARENA_ARRAY(c->arena, uint8_t, m->devices);
  for (int k = 0; k < m->ids.n && m->n; k++) {
    if (m->ids.data[k] < 0 || m->ids.data[k] >= m->devices || seen[m->ids.data[k]]) return false;
    seen[m->ids.data[k]] = 1;
  }
  return true;
}

// <["x"=2], device_ids=[0, 1]>
static bool mesh_text(import_ctx *c, scanner *s, import_mesh *m) {
  strv name;
  int64_t size;
  *m = (import_mesh){.devices = 1};
  if (!take(s, "<") || !take(s, "[")) return false;
  while (!take(s, "]")) {
    if (m->n && !take(s, ",")) return false;
    if (!take_string(s, &name) || !take(s, "=") || !take_int(s, &size) || !add_axis(m, name, size)) return false;
  }
  if (take(s, ",") && !(take(s, "device_ids") && take(s, "=") && take(s, "[") && take_ints(c, s, "]", &m->ids)))
    return false;
  return take(s, ">") && check_ids(c, m);
}

// axes = [{name, size}, ...], as structs or dictionaries; device_ids
static bool mesh_struct(import_ctx *c, const mlir_attr *a, import_mesh *m) {
  const mlir_attr *axes = import_entry(a, "axes"), *ids = import_entry(a, "device_ids");
  *m = (import_mesh){.devices = 1};
  if (!axes || axes->kind != MLIR_ATTR_ARRAY) return false;
  for (int i = 0; i < axes->n_items; i++) {
    const mlir_attr *name = import_entry(axes->items[i], "name"), *size = import_entry(axes->items[i], "size");
    int64_t n;
    if (!name || name->kind != MLIR_ATTR_STRING || !size || !import_int(size, &n) || !add_axis(m, name->string, n))
      return false;
  }
  return (!ids || import_i64s(c, ids, &m->ids)) && check_ids(c, m);
}

strv import_unescaped(import_ctx *c, strv text) {
  char *data = ARENA_ARRAY(c->arena, char, text.len + 1);
  size_t n = 0;
  for (size_t i = 0; i < text.len; i++)
    if (text.data[i] != '\\') data[n++] = text.data[i];
  return (strv){data, n};
}

// xla.sdy.meshes = "{mesh = #sdy.mesh<[..]>, other = ...}"
static bool frontend_mesh(import_ctx *c, const mlir_op *module, strv symbol, import_mesh *out) {
  const mlir_attr *a = mlir_attr_entry(mlir_op_attr(module, "mhlo.frontend_attributes"), "xla.sdy.meshes");
  if (!a || a->kind != MLIR_ATTR_STRING) return false;
  scanner s = {import_unescaped(c, a->string)};
  if (!take(&s, "{")) return false;
  do {
    size_t n = 0;
    s.rest = strv_trim(s.rest);
    while (n < s.rest.len && !strchr("= }", s.rest.data[n])) n++;
    strv name = strv_take(s.rest, n);
    s.rest = strv_drop(s.rest, n);
    if (!take(&s, "=") || !take(&s, "#sdy.mesh") || !mesh_text(c, &s, out)) return false;
    if (strv_eq(name, symbol)) return true;
  } while (take(&s, ","));
  return false;
}

bool import_mesh_find(import_ctx *c, strv symbol, import_mesh *out) {
  const mlir_op *module = c->source->op;
  const mlir_block *b = module && module->n_regions ? module->regions[0].first : NULL;
  import_mesh unused;
  for (const mlir_op *op = b ? b->first : NULL; op; op = op->next) {
    const mlir_attr *name = mlir_op_attr(op, "sym_name");
    if (!name || name->kind != MLIR_ATTR_STRING || !strv_eq(name->string, symbol)) continue;
    const mlir_attr *mesh = mlir_op_attr(op, "mesh");
    if (!mesh) mesh = mlir_op_attr(op, "stablehlo.mesh");
    return mesh && mesh->kind != MLIR_ATTR_SYMBOL && import_mesh_read(c, mesh, out ? out : &unused);
  }
  return module && frontend_mesh(c, module, symbol, out ? out : &unused);
}

bool import_mesh_read(import_ctx *c, const mlir_attr *a, import_mesh *out) {
  if (a->kind == MLIR_ATTR_SYMBOL) return import_mesh_find(c, a->string, out);
  if (a->kind != MLIR_ATTR_OPAQUE) return mesh_struct(c, a, out);
  scanner s = {a->string};
  return take(&s, "#sdy.mesh") && mesh_text(c, &s, out);
}

// --- Shardy's shardings --------------------------------------------------------------------------

// Past the > that belongs to a < already taken; brackets inside strings do not count.
static bool take_balanced(scanner *s, strv *out) {
  int depth = 1;
  bool quoted = false;
  for (size_t i = 0; i < s->rest.len; i++) {
    char ch = s->rest.data[i];
    if (ch == '"') quoted = !quoted;
    if (quoted) continue;
    depth += (ch == '<') - (ch == '>');
    if (depth) continue;
    *out = (strv){s->rest.data, i};
    s->rest = strv_drop(s->rest, i + 1);
    return true;
  }
  return false;
}

bool import_shardings(import_ctx *c, strv text, import_names *out) {
  scanner s = {text};
  strv one;
  if (take(&s, "#sdy.sharding<")) {
    if (!take_balanced(&s, &one)) return false;
    vec_push(c->arena, out, one);
    return true;
  }
  take(&s, "#sdy.sharding_per_value<");
  if (!take(&s, "[")) return false;
  for (bool first = true; !take(&s, "]"); first = false) {
    if (!first && !take(&s, ",")) return false;
    take(&s, "#sdy.sharding");
    if (!take(&s, "<") || !take_balanced(&s, &one)) return false;
    vec_push(c->arena, out, one);
  }
  return true;
}

bool import_axis_names(import_ctx *c, strv text, import_names *out) {
  size_t start = 0;
  while (start < text.len && text.data[start] != '{') start++;
  scanner s = {strv_drop(text, start)};
  strv name;
  if (!take(&s, "{")) return false;
  for (bool first = true; !take(&s, "}"); first = false) {
    if ((!first && !take(&s, ",")) || !take_string(&s, &name)) return false;
    vec_push(c->arena, out, name);
  }
  return true;
}

static bool sharding_mesh(import_ctx *c, scanner *s, import_mesh *m) {
  strv symbol;
  if (take_symbol(s, &symbol)) return import_mesh_find(c, symbol, m);
  return (take(s, "#sdy.mesh") || take(s, "mesh")) && mesh_text(c, s, m);
}

bool import_sharding_mesh(import_ctx *c, strv text, import_mesh *out) {
  scanner s = {text};
  return sharding_mesh(c, &s, out);
}

typedef struct axis_ref {
  int axis, dim;
  int64_t stride, size;  // of the digit, in positions within the axis
} axis_ref;

typedef struct sharding {
  import_mesh mesh;
  axis_ref refs[IMPORT_MESH_AXES];  // of manual axes, most significant first for each dim
  int n;
} sharding;

static bool take_ref(scanner *s, const import_names *manual, int dim, sharding *out) {
  strv name;
  int64_t pre = 1, size;
  if (!take_string(s, &name)) return false;
  axis_ref r = {.axis = import_mesh_axis(&out->mesh, name), .dim = dim};
  if (r.axis < 0) return false;
  int64_t whole = size = out->mesh.axes[r.axis].size;
  if (take(s, ":") && !(take(s, "(") && take_int(s, &pre) && take(s, ")") && take_int(s, &size))) return false;
  if (pre < 1 || size < 1 || pre > whole || size > whole / pre || whole % (pre * size)) return false;
  r.stride = whole / (pre * size);
  r.size = size;
  bool is_manual = false;
  for (int k = 0; k < manual->len; k++) is_manual |= strv_eq(manual->data[k], name);
  if (!is_manual || dim < 0) return true;
  for (int k = 0; k < out->n; k++) {
    const axis_ref *o = &out->refs[k];
    if (o->axis == r.axis && o->stride < r.stride * r.size && r.stride < o->stride * o->size) return false;
  }
  if (out->n == IMPORT_MESH_AXES) return false;
  out->refs[out->n++] = r;
  return true;
}

// {"x", ?} behind the brace, with its priority
static bool take_refs(scanner *s, const import_names *manual, int dim, sharding *out) {
  int64_t priority;
  for (bool first = true; !take(s, "}"); first = false) {
    if (!first && !take(s, ",")) return false;
    if (!take(s, "?") && !take_ref(s, manual, dim, out)) return false;
  }
  return !take(s, "p") || take_int(s, &priority);
}

static bool parse_sharding(import_ctx *c, strv text, const import_names *manual, int rank, sharding *out,
                           const char **why) {
  scanner s = {text};
  int dims = 0;
  int64_t kind = 0;
  *why = "its mesh is not one of this module's";
  if (!sharding_mesh(c, &s, &out->mesh)) return false;
  *why = "its axes do not fit the mesh";
  if (!take(&s, ",") || !take(&s, "[")) return false;
  for (; !take(&s, "]"); dims++)
    if ((dims && !take(&s, ",")) || !take(&s, "{") || !take_refs(&s, manual, dims, out)) return false;
  while (take(&s, ",")) {
    if (take(&s, "replicated") && take(&s, "=") && take(&s, "{")) {
      if (!take_refs(&s, manual, -1, out)) return false;
    } else if (take(&s, "unreduced") && take(&s, "=") && take(&s, "{")) {
      if (!take_refs(&s, manual, rank, out)) return false;
    } else if (take(&s, "reduction") && take(&s, "=") && take_int(&s, &kind)) {
      continue;
    } else {
      return *why = "it has parts that are not known", false;
    }
  }
  for (int k = 0; k < out->n && kind; k++)
    if (out->refs[k].dim == rank) return *why = "it is unreduced by something else than addition", false;
  s.rest = strv_trim(s.rest);
  if (s.rest.len) return *why = "it has parts that are not known", false;
  *why = "it is for a tensor of another rank";
  return dims == rank;
}

static void placement_create(import_ctx *c, int n, int rank, import_placement *out) {
  *out = (import_placement){.n_devices = n, .rank = rank};
  out->counts = ARENA_ARRAY(c->arena, int64_t, rank + 1);
  out->coords = ARENA_ARRAY(c->arena, int64_t, (size_t)n * (size_t)(rank + 1));
  out->rest = ARENA_ARRAY(c->arena, int64_t, n);
  for (int d = 0; d <= rank; d++) out->counts[d] = 1;
}

bool import_sharding_placement(import_ctx *c, strv text, const import_names *manual, int rank, import_placement *out,
                               const char **why) {
  sharding *sh = ARENA_NEW(c->arena, sharding);
  if (!parse_sharding(c, text, manual, rank, sh, why)) return false;
  const import_mesh *m = &sh->mesh;
  *why = "its mesh has too many devices to run";
  if (m->devices > IMPORT_MAX_GRID) return false;
  int64_t strides[IMPORT_MESH_AXES], stride = 1;
  for (int k = m->n; k-- > 0; stride *= m->axes[k].size) strides[k] = stride;
  placement_create(c, (int)m->devices, rank, out);
  for (int k = 0; k < sh->n; k++) out->counts[sh->refs[k].dim] *= sh->refs[k].size;
  for (int64_t at = 0; at < m->devices; at++) {
    int64_t device = m->ids.n && m->n ? m->ids.data[at] : at, *coords = out->coords + device * (rank + 1);
    out->rest[device] = at;
    for (int k = 0; k < sh->n; k++) {
      const axis_ref *r = &sh->refs[k];
      int64_t step = strides[r->axis] * r->stride, digit = at / step % r->size;
      coords[r->dim] = coords[r->dim] * r->size + digit;
      out->rest[device] -= digit * step;
    }
  }
  return true;
}

// --- XLA's notation ------------------------------------------------------------------------------

// The devices in the order of the tiles: 0,1,2 or <=[2,4]T(1,0): numbers reshaped, transposed.
static bool tile_order(import_ctx *c, scanner *s, int64_t n, hlo_i64s *out) {
  hlo_i64s dims, perm = {0};
  if (!take(s, "<=[")) {
    VEC(int64_t) list = {0};
    int64_t x;
    do {
      if (!take_int(s, &x) || x >= n) return false;
      vec_push(c->arena, &list, x);
    } while (take(s, ","));
    *out = (hlo_i64s){list.data, list.len};
    return list.len == n;
  }
  if (!take_ints(c, s, "]", &dims) || dims.n > IMPORT_MESH_AXES) return false;
  if (take(s, "T(") && (!take_ints(c, s, ")", &perm) || perm.n != dims.n)) return false;
  int64_t *list = ARENA_ARRAY(c->arena, int64_t, n), strides[IMPORT_MESH_AXES], total = 1;
  uint64_t seen = 0;
  for (int k = dims.n; k-- > 0; total *= dims.data[k]) {
    if (dims.data[k] < 1 || dims.data[k] > n / total) return false;
    strides[k] = total;
  }
  for (int k = 0; k < perm.n; k++) {
    if (perm.data[k] >= dims.n || seen >> perm.data[k] & 1) return false;
    seen |= (uint64_t)1 << perm.data[k];
  }
  if (total != n) return false;
  for (int64_t i = 0; i < n; i++) {
    int64_t left = i;
    for (int k = dims.n; k-- > 0;) {
      int d = perm.n ? (int)perm.data[k] : k;
      list[i] += left % dims.data[d] * strides[d];
      left /= dims.data[d];
    }
  }
  *out = (hlo_i64s){list, (int32_t)n};
  return true;
}

// Tile dimensions behind the tensor's own: replication and manual subgroups.
static bool tile_rest(scanner *s, int extra) {
  if (take(s, "last_tile_dim_replicate")) return extra == 1;
  if (!take(s, "last_tile_dims={")) return extra == 0;
  for (int k = 0; k < extra; k++)
    if ((k && !take(s, ",")) || !(take(s, "replicated") || take(s, "manual"))) return false;
  return take(s, "}");
}

bool import_xla_placement(import_ctx *c, strv text, int n_devices, int rank, import_placement *out, const char **why) {
  scanner s = {text};
  hlo_i64s tiles, order;
  *why = "it is malformed, or of a form that is not supported";
  placement_create(c, n_devices, rank, out);
  if (!take(&s, "{")) return false;
  if (at(&s, "replicated}") || at(&s, "manual}") || at(&s, "maximal ")) return true;
  if (!take(&s, "devices=[") || !take_ints(c, &s, "]", &tiles)) return false;
  *why = "it is for a tensor of another rank";
  if (tiles.n < rank || tiles.n > IMPORT_MESH_AXES) return false;
  *why = "its tiles are not as many as the devices";
  int64_t total = 1;
  for (int d = 0; d < tiles.n; total *= tiles.data[d++])
    if (tiles.data[d] < 1 || tiles.data[d] > n_devices / total) return false;
  if (total != n_devices || !tile_order(c, &s, n_devices, &order)) return false;
  *why = "it is malformed, or of a form that is not supported";
  if (!tile_rest(&s, tiles.n - rank) || !take(&s, "}")) return false;
  for (int d = 0; d < rank; d++) out->counts[d] = tiles.data[d];
  for (int64_t i = 0; i < n_devices; i++) {
    int64_t left = i, device = order.data[i], scale = 1;
    for (int d = tiles.n; d-- > 0; left /= tiles.data[d]) {
      int64_t digit = left % tiles.data[d];
      if (d < rank) {
        out->coords[device * (rank + 1) + d] = digit;
      } else {
        out->rest[device] += digit * scale;
        scale *= tiles.data[d];
      }
    }
  }
  return true;
}
