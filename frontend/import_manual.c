// SPDX-License-Identifier: Apache-2.0
// Import: regions that run on every device of a mesh, on its part of the operands.
//
// sdy.manual_computation becomes the custom call @sdy.manual_computation {devices = n}: n devices run the called
// computation, all on the same global operands, and the first one's results are the call's. The computation begins by
// cutting this device's part out (a table of offsets, looked up by partition_id) and ends by putting the parts together
// (all_gather along each dimension, all_reduce where they are addends), so whatever reads it sees ordinary operations.
// A manual computation within another does the same in place; on a mesh of one device it is its region.
//
// XLA's marks SPMDFullToShardShape and SPMDShardToFullShape (xla.sdy.GlobalToLocalShape and back) have no region: there
// every device runs the whole program on global values, and the marks cut and put together.
#include "frontend/import_mesh.h"

// --- parts ---------------------------------------------------------------------------------------

// table[partition_id]
static hlo_instr *look_up(import_ctx *c, import_scope *s, hlo_dtype t, int n, const int64_t *table, const loc *l) {
  hlo_builder b = import_builder(s, l);
  int64_t dims[1] = {n};
  hlo_literal *values;
  lemnos_status status = hlo_literal_create(c->arena, hlo_shape_array(c->module->shapes, t, 1, dims), &values);
  if (status) return lemnos_status_free(status), import_fail(c, l, "no memory for a table of offsets"), NULL;
  for (int i = 0; i < n; i++) hlo_element_set_i64(t, values->data, i, table[i]);
  hlo_instr *operands[2] = {hlo_build_constant(&b, values),
                            hlo_build(&b, HLO_OP_PARTITION_ID, NULL, 0, NULL, 0, NULL, NULL)};
  hlo_attrs_dynamic_slice *attrs = hlo_attrs_create(c->arena, HLO_ATTR_LIST_dynamic_slice);
  int64_t one = 1;
  attrs->slice_sizes = hlo_i64s_copy(c->arena, &one, 1);
  hlo_instr *found = hlo_build(&b, HLO_OP_DYNAMIC_SLICE, NULL, 2, operands, 0, NULL, attrs);
  return hlo_build_reshape(&b, found, 0, NULL);
}

// Column k of the coordinates, times `scale`.
static int64_t *column(import_ctx *c, const import_placement *p, int k, int64_t scale) {
  int64_t *out = ARENA_ARRAY(c->arena, int64_t, p->n_devices);
  for (int i = 0; i < p->n_devices; i++) out[i] = p->coords[(int64_t)i * (p->rank + 1) + k] * scale;
  return out;
}

// The first device of those that hold addends gets the value, the others zeros.
static hlo_instr *first_only(import_ctx *c, import_scope *s, const import_placement *p, hlo_instr *x, const loc *l) {
  int64_t *first = column(c, p, p->rank, 1);
  for (int i = 0; i < p->n_devices; i++) first[i] = first[i] == 0;
  hlo_instr *pred = look_up(c, s, HLO_PRED, p->n_devices, first, l);
  if (!pred) return NULL;
  hlo_builder b = import_builder(s, l);
  pred = hlo_build_broadcast(&b, pred, x->shape->rank, x->shape->dims, 0, NULL);
  return hlo_build_select(&b, pred, x, hlo_build_splat_f64(&b, x->shape, 0));
}

// This device's part of x.
static hlo_instr *cut(import_ctx *c, import_scope *s, const import_placement *p, hlo_instr *x, const loc *l) {
  int rank = x->shape->rank;
  bool any = false;
  if (p->counts[rank] > 1 && !(x = first_only(c, s, p, x, l))) return NULL;
  int64_t *sizes = ARENA_ARRAY(c->arena, int64_t, rank + 1);
  hlo_instr **operands = ARENA_ARRAY(c->arena, hlo_instr *, rank + 1);
  hlo_builder b = import_builder(s, l);
  operands[0] = x;
  for (int d = 0; d < rank; d++) {
    sizes[d] = x->shape->dims[d] / p->counts[d];
    any |= p->counts[d] > 1;
    operands[d + 1] = p->counts[d] > 1 ? look_up(c, s, HLO_S64, p->n_devices, column(c, p, d, sizes[d]), l)
                                       : hlo_build_scalar_i64(&b, HLO_S64, 0);
    if (!operands[d + 1]) return NULL;
  }
  if (!any) return x;
  hlo_attrs_dynamic_slice *attrs = hlo_attrs_create(c->arena, HLO_ATTR_LIST_dynamic_slice);
  attrs->slice_sizes = (hlo_i64s){sizes, rank};
  return hlo_build(&b, HLO_OP_DYNAMIC_SLICE, NULL, rank + 1, operands, 0, NULL, attrs);
}

static bool same_but(const import_placement *p, int a, int b, int k) {
  if (p->rest[a] != p->rest[b]) return false;
  for (int d = 0; d <= p->rank; d++)
    if (d != k && p->coords[(int64_t)a * (p->rank + 1) + d] != p->coords[(int64_t)b * (p->rank + 1) + d]) return false;
  return true;
}

// Devices that differ in coordinate k only, in its order.
static hlo_groups groups_along(import_ctx *c, const import_placement *p, int k) {
  int64_t n = p->counts[k], *ids = ARENA_ARRAY(c->arena, int64_t, p->n_devices);
  uint8_t *seen = ARENA_ARRAY(c->arena, uint8_t, p->n_devices);
  int32_t rows = 0;
  for (int i = 0; i < p->n_devices; i++) {
    if (seen[i]) continue;
    for (int j = i; j < p->n_devices; j++) {
      if (seen[j] || !same_but(p, i, j, k)) continue;
      seen[j] = 1;
      ids[rows * n + p->coords[(int64_t)j * (p->rank + 1) + k]] = j;
    }
    rows++;
  }
  return (hlo_groups){ids, rows, (int32_t)n};
}

// The whole of what the devices hold parts of.
static hlo_instr *join(import_ctx *c, import_scope *s, const import_placement *p, hlo_instr *x, const loc *l) {
  int rank = x->shape->rank;
  for (int d = 0; d < rank; d++) {
    if (p->counts[d] == 1) continue;
    hlo_attrs_all_gather *attrs = hlo_attrs_create(c->arena, HLO_ATTR_LIST_all_gather);
    attrs->dimension = d;
    attrs->replica_groups = groups_along(c, p, d);
    attrs->channel_id = ++c->next_channel;
    attrs->use_global_device_ids = true;
    int64_t *dims = arena_copy(c->arena, x->shape->dims, sizeof *dims * (size_t)rank);
    if (__builtin_mul_overflow(dims[d], p->counts[d], &dims[d]))
      return import_fail(c, l, "the whole is too large"), NULL;
    const hlo_shape *shape = hlo_shape_with_dims(c->module->shapes, x->shape, rank, dims);
    if (!(x = import_emit(c, s, HLO_OP_ALL_GATHER, shape, 1, &x, 0, NULL, attrs, l))) return NULL;
  }
  if (p->counts[rank] == 1) return x;
  hlo_attrs_all_reduce *attrs = hlo_attrs_create(c->arena, HLO_ATTR_LIST_all_reduce);
  attrs->replica_groups = groups_along(c, p, rank);
  attrs->channel_id = ++c->next_channel;
  attrs->use_global_device_ids = true;
  hlo_computation *sum = hlo_build_binary_computation(c->module, HLO_OP_ADD, x->shape->dtype);
  return import_emit(c, s, HLO_OP_ALL_REDUCE, x->shape, 1, &x, 1, &sum, attrs, l);
}

// Does a placement of `whole` give parts of shape `part`?
static bool fits(const import_placement *p, const hlo_shape *whole, const hlo_shape *part) {
  if (whole->dtype != part->dtype || whole->rank != part->rank || whole->quant != part->quant) return false;
  for (int d = 0; d < whole->rank; d++)
    if (part->dims[d] < 0 || whole->dims[d] < 0 || whole->dims[d] / p->counts[d] != part->dims[d] ||
        whole->dims[d] % p->counts[d])
      return false;
  return p->counts[whole->rank] == 1 || (!whole->quant && whole->dtype != HLO_PRED);
}

// --- sdy.manual_computation ----------------------------------------------------------------------

typedef struct manual {
  import_names in, out, axes;
  int devices;
} manual;

static bool read_text(import_ctx *c, const mlir_op *op, const char *name,
                      bool (*read)(import_ctx *, strv, import_names *), import_names *out) {
  const mlir_attr *a = mlir_op_attr(op, name);
  if (a && (a->kind == MLIR_ATTR_OPAQUE || a->kind == MLIR_ATTR_STRING) && read(c, a->string, out)) return true;
  return import_fail(c, op->loc, "'" STRV_FMT "': '%s' is missing or malformed", STRV_ARG(op->name), name);
}

static bool read_manual(import_ctx *c, const mlir_op *op, manual *m) {
  import_mesh mesh;
  m->devices = 1;
  if (!read_text(c, op, "in_shardings", import_shardings, &m->in) ||
      !read_text(c, op, "out_shardings", import_shardings, &m->out) ||
      !read_text(c, op, "manual_axes", import_axis_names, &m->axes))
    return false;
  if (m->in.len != op->n_operands || m->out.len != op->n_results)
    return import_fail(c, op->loc, "'" STRV_FMT "' has %d operands and %d results, but %d and %d shardings",
                       STRV_ARG(op->name), op->n_operands, op->n_results, m->in.len, m->out.len);
  for (int k = 0; k < m->in.len + m->out.len; k++) {
    strv text = k < m->in.len ? m->in.data[k] : m->out.data[k - m->in.len];
    if (!import_sharding_mesh(c, text, &mesh))
      return import_fail(c, op->loc, "'" STRV_FMT "': the mesh of '" STRV_FMT "' is not one of this module's",
                         STRV_ARG(op->name), STRV_ARG(text));
    if (k && mesh.devices != m->devices)
      return import_fail(c, op->loc, "'" STRV_FMT "' has shardings on meshes of %d and %lld devices",
                         STRV_ARG(op->name), m->devices, (long long)mesh.devices);
    if (mesh.devices > IMPORT_MAX_GRID)
      return import_refuse(c, op->loc, "'" STRV_FMT "' on a mesh of %lld devices, limit %d", STRV_ARG(op->name),
                           (long long)mesh.devices, IMPORT_MAX_GRID);
    m->devices = (int)mesh.devices;
  }
  if (c->grid && m->devices > 1 && m->devices != c->grid)
    return import_refuse(c, op->loc, "'" STRV_FMT "' on a mesh of %d devices inside one on %d", STRV_ARG(op->name),
                         m->devices, c->grid);
  return true;
}

static bool place(import_ctx *c, const mlir_op *op, const manual *m, bool is_result, int k, const hlo_shape *whole,
                  const hlo_shape *part, import_placement *out) {
  const char *why;
  const char *what = is_result ? "result" : "operand";
  strv text = is_result ? m->out.data[k] : m->in.data[k];
  if (!hlo_shape_is_array(whole))
    return import_refuse(c, op->loc, "'" STRV_FMT "': %s %d is no tensor", STRV_ARG(op->name), what, k);
  if (!import_sharding_placement(c, text, &m->axes, whole->rank, out, &why))
    return import_fail(c, op->loc, "'" STRV_FMT "': %s %d's sharding '" STRV_FMT "': %s", STRV_ARG(op->name), what, k,
                       STRV_ARG(text), why);
  if (fits(out, whole, part)) return true;
  strbuf a = {0}, b = {0};
  hlo_shape_print_stablehlo(&a, whole);
  hlo_shape_print_stablehlo(&b, part);
  import_fail(c, op->loc, "'" STRV_FMT "': %s %d's sharding '" STRV_FMT "' does not divide %s into parts of %s",
              STRV_ARG(op->name), what, k, STRV_ARG(text), a.data, b.data);
  strbuf_deinit(&a);
  strbuf_deinit(&b);
  return false;
}

// In scope s: cuts the operands, translates the region, puts the results together.
static bool manual_body(import_ctx *c, import_scope *s, const mlir_op *op, const mlir_block *b, const manual *m,
                        hlo_instr *const *operands, import_values *out) {
  import_placement p;
  import_values parts = {0};
  for (int k = 0; k < b->n_args; k++) {
    const hlo_shape *part = import_type(c, b->args[k].type, op->loc);
    if (!part) return false;
    hlo_instr *x = operands[k];
    if (!hlo_shape_is_token(part) &&
        (!place(c, op, m, false, k, x->shape, part, &p) || !(x = cut(c, s, &p, x, op->loc))))
      return false;
    import_bind(c, s, &b->args[k], x);
  }
  if (!import_scope_body(c, s, b, &parts)) return false;
  if (parts.len != op->n_results)
    return import_fail(c, op->loc, "'" STRV_FMT "' has %d results, its region returns %d", STRV_ARG(op->name),
                       op->n_results, parts.len);
  for (int k = 0; k < parts.len; k++) {
    hlo_instr *x = parts.data[k];
    const hlo_shape *whole = import_type(c, op->results[k].type, op->loc);
    if (!whole) return false;
    if (!hlo_shape_is_token(whole) &&
        (!place(c, op, m, true, k, whole, x->shape, &p) || !(x = join(c, s, &p, x, op->loc))))
      return false;
    vec_push(c->arena, out, x);
  }
  return true;
}

static bool emit_call(import_ctx *c, import_scope *s, const mlir_op *op, int devices, hlo_instr **operands,
                      hlo_computation *body) {
  const hlo_shape *shape = import_result_shape(c, op);
  if (!shape) return false;
  hlo_attrs_custom_call *a = hlo_attrs_create(c->arena, HLO_ATTR_LIST_custom_call);
  hlo_dict_entry entry = {STRV("devices"), strv_from_cstr(arena_printf(c->arena, "%d : i64", devices)), false};
  a->target = STRV("sdy.manual_computation");
  a->attributes = (hlo_dict){arena_copy(c->arena, &entry, sizeof entry), 1};
  hlo_instr *i = import_emit(c, s, HLO_OP_CUSTOM_CALL, shape, op->n_operands, operands, 1, &body, a, op->loc);
  return i && import_bind_results(c, s, op, i);
}

bool import_manual_computation(import_ctx *c, import_scope *s, const mlir_op *op) {
  const mlir_block *b = NULL;
  manual m = {0};
  import_values results = {0};
  if (!read_manual(c, op, &m)) return false;
  if (m.devices == 1) return import_inline_region(c, s, op);
  if (!import_region_block(c, op, 0, &b)) return false;
  hlo_instr **operands = import_operands(c, s, op);
  if (!operands) return false;
  if (b->n_args != op->n_operands)
    return import_fail(c, op->loc, "'" STRV_FMT "' has %d operands, its region %d arguments", STRV_ARG(op->name),
                       op->n_operands, b->n_args);
  if (c->grid) {
    if (!manual_body(c, s, op, b, &m, operands, &results)) return false;
    for (int k = 0; k < results.len; k++) import_bind(c, s, &op->results[k], results.data[k]);
    return true;
  }
  import_scope inner = import_scope_create(c, s, op, "_body");
  hlo_builder builder = import_builder(&inner, op->loc);
  hlo_instr **params = ARENA_ARRAY(c->arena, hlo_instr *, op->n_operands);
  for (int k = 0; k < op->n_operands; k++) params[k] = hlo_build_parameter(&builder, operands[k]->shape, (strv){0});
  c->grid = m.devices;
  bool ok = manual_body(c, &inner, op, b, &m, params, &results);
  c->grid = 0;
  if (!ok) return false;
  import_set_root(c, &inner, &results, op->loc);
  return emit_call(c, s, op, m.devices, operands, inner.computation);
}

// --- Shardy's marks between its passes and XLA ---------------------------------------------------
//
// xla.sdy.GlobalToLocalShape(operands), a call of the body, xla.sdy.LocalToGlobalShape(its results). Shardings and axes
// are strings among the frontend attributes of a mark, or of the call.

static const mlir_attr *frontend_entry(const mlir_op *op, const char *name) {
  return op ? mlir_attr_entry(mlir_op_attr(op, "mhlo.frontend_attributes"), name) : NULL;
}

static bool uses(const mlir_op *op, const mlir_op *of) {
  for (int k = 0; k < op->n_operands; k++)
    if (op->operands[k]->op == of) return true;
  return false;
}

// The call that the marks are around.
static const mlir_op *marked_call(const mlir_op *mark, bool to_local) {
  if (!to_local) return mark->n_operands ? mark->operands[0]->op : NULL;
  const mlir_op *user = mark->next;
  while (user && !uses(user, mark)) user = user->next;
  return user;
}

static bool mark_text(import_ctx *c, const mlir_op *mark, const mlir_op *call, const char *name,
                      bool (*read)(import_ctx *, strv, import_names *), import_names *out) {
  const mlir_attr *a = frontend_entry(mark, name);
  if (!a) a = frontend_entry(call, name);
  if (a && a->kind == MLIR_ATTR_STRING && read(c, import_unescaped(c, a->string), out)) return true;
  return import_fail(c, mark->loc, "@" STRV_FMT ": '%s' is missing among its frontend attributes, or malformed",
                     STRV_ARG(mlir_op_attr(mark, "call_target_name")->string), name);
}

bool import_local_mark(import_ctx *c, import_scope *s, const mlir_op *op, bool to_local) {
  const mlir_op *call = marked_call(op, to_local);
  manual m = {.devices = c->grid ? c->grid : c->module->n_partitions};
  import_names *shardings = to_local ? &m.in : &m.out;
  import_placement p;
  hlo_instr **operands = import_operands(c, s, op);
  if (!operands) return false;
  if (op->n_operands != op->n_results)
    return import_fail(c, op->loc, "a mark with %d operands and %d results", op->n_operands, op->n_results);
  if (!mark_text(c, op, call, to_local ? "xla.sdy.in_shardings" : "xla.sdy.out_shardings", import_shardings,
                 shardings) ||
      !mark_text(c, op, call, "xla.sdy.manual_axes", import_axis_names, &m.axes))
    return false;
  if (shardings->len != op->n_operands)
    return import_fail(c, op->loc, "a mark of %d values with %d shardings", op->n_operands, shardings->len);
  for (int k = 0; k < op->n_operands; k++) {
    const hlo_shape *shape = import_type(c, op->results[k].type, op->loc);
    hlo_instr *x = operands[k];
    if (!shape) return false;
    if (!hlo_shape_is_token(shape)) {
      if (!place(c, op, &m, !to_local, k, to_local ? x->shape : shape, to_local ? shape : x->shape, &p)) return false;
      if (p.n_devices > 1 && p.n_devices != m.devices)
        return import_refuse(c, op->loc, "shardings on %d devices in a module for %d (mhlo.num_partitions)",
                             p.n_devices, m.devices);
      if (!(x = to_local ? cut(c, s, &p, x, op->loc) : join(c, s, &p, x, op->loc))) return false;
    }
    import_bind(c, s, &op->results[k], x);
  }
  return true;
}

// --- XLA's marks ---------------------------------------------------------------------------------

static const mlir_attr *string_attr(const mlir_op *op, const char *name) {
  const mlir_attr *a = op ? mlir_op_attr(op, name) : NULL;
  return a && a->kind == MLIR_ATTR_STRING ? a : NULL;
}

bool import_shard_mark(import_ctx *c, import_scope *s, const mlir_op *op, strv target, hlo_instr *x) {
  bool to_shard = strv_eq_cstr(target, "SPMDFullToShardShape");
  int devices = c->grid ? c->grid : c->module->n_partitions;
  const hlo_shape *shape = import_result_shape(c, op);
  // How the whole lies on the devices is said by what makes it, and by the mark that makes it.
  const mlir_attr *text = string_attr(to_shard ? op->operands[0]->op : op, "mhlo.sharding");
  import_placement p;
  const char *why;
  if (!shape) return false;
  if (devices < 2 || devices > IMPORT_MAX_GRID)
    return import_refuse(c, op->loc, "@" STRV_FMT " in a module for %d devices (mhlo.num_partitions)", STRV_ARG(target),
                         devices);
  if (!text) return import_refuse(c, op->loc, "@" STRV_FMT " of a value without mhlo.sharding", STRV_ARG(target));
  if (!import_xla_placement(c, text->string, devices, shape->rank, &p, &why))
    return import_refuse(c, op->loc, "@" STRV_FMT ": mhlo.sharding '" STRV_FMT "': %s", STRV_ARG(target),
                         STRV_ARG(text->string), why);
  if (!fits(&p, to_shard ? x->shape : shape, to_shard ? shape : x->shape))
    return import_fail(c, op->loc, "@" STRV_FMT ": mhlo.sharding '" STRV_FMT "' does not fit the shapes",
                       STRV_ARG(target), STRV_ARG(text->string));
  x = to_shard ? cut(c, s, &p, x, op->loc) : join(c, s, &p, x, op->loc);
  if (!x) return false;
  import_bind(c, s, &op->results[0], x);
  return true;
}
