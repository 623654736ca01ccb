// SPDX-License-Identifier: Apache-2.0
// Import: replica groups given by the axes of a mesh, written out.
//
// The mesh numbers its devices row-major by its axes (device_ids renames them). Every axis is cut into factors where a
// sub-axis begins or ends, most significant first. Devices that differ only in the factors that the attribute lists are
// one group, ordered by these factors as listed; the groups are ordered by the other factors, in the mesh's order.
#include "frontend/import_mesh.h"

enum { MAX_FACTORS = IMPORT_MESH_AXES };

typedef struct factor {
  int axis;
  int64_t from, to;  // products of the sizes before it, and with it, within its axis
  int64_t stride;    // in device numbers
  bool listed;
} factor;

typedef struct factors {
  factor data[MAX_FACTORS];
  int n;
} factors;

// Axis and range of a reference: all of the axis, or a sub-axis.
static bool read_ref(const import_mesh *m, const mlir_attr *a, int *axis, int64_t *from, int64_t *to) {
  const mlir_attr *name = import_entry(a, "name"), *sub = import_entry(a, "sub_axis_info");
  int64_t pre = 1, size;
  if (!name || name->kind != MLIR_ATTR_STRING || (*axis = import_mesh_axis(m, name->string)) < 0) return false;
  int64_t whole = size = m->axes[*axis].size;
  if (sub) {
    const mlir_attr *p = import_entry(sub, "pre_size"), *s = import_entry(sub, "size");
    if (!p || !s || !import_int(p, &pre) || !import_int(s, &size)) return false;
  }
  if (pre < 1 || size < 1 || pre > whole || size > whole / pre) return false;
  *from = pre;
  *to = pre * size;
  return whole % *to == 0;
}

// Cuts the factor that holds the point; false if it does not divide.
static bool cut(factors *f, int axis, int64_t at) {
  for (int k = 0; k < f->n; k++) {
    factor *x = &f->data[k];
    if (x->axis != axis || at <= x->from || at >= x->to) continue;
    if (at % x->from || x->to % at || f->n == MAX_FACTORS) return false;
    memmove(x + 1, x, sizeof *x * (size_t)(f->n++ - k));
    x[0].to = x[1].from = at;
    return true;
  }
  return true;
}

static bool make_factors(const import_mesh *m, const mlir_attr *refs, factors *f) {
  int axis;
  int64_t from, to, stride = 1;
  for (int k = 0; k < m->n; k++) f->data[f->n++] = (factor){.axis = k, .from = 1, .to = m->axes[k].size};
  for (int r = 0; r < refs->n_items; r++)
    if (!read_ref(m, refs->items[r], &axis, &from, &to) || !cut(f, axis, from) || !cut(f, axis, to)) return false;
  for (int k = f->n; k-- > 0;) {
    f->data[k].stride = stride;
    stride *= f->data[k].to / f->data[k].from;
  }
  return true;
}

// First the factors that are not listed, then those that are, as listed.
static bool order_factors(const import_mesh *m, const mlir_attr *refs, factors *f, factors *order, int64_t *group) {
  int axis;
  int64_t from, to;
  factors listed = {.n = 0};
  *group = 1;
  for (int r = 0; r < refs->n_items; r++) {
    if (!read_ref(m, refs->items[r], &axis, &from, &to)) return false;
    for (int k = 0; k < f->n; k++) {
      factor *x = &f->data[k];
      if (x->axis != axis || x->from < from || x->to > to || x->from == x->to) continue;
      if (x->listed) return false;
      x->listed = true;
      *group *= x->to / x->from;
      listed.data[listed.n++] = *x;
    }
  }
  for (int k = 0; k < f->n; k++)
    if (!f->data[k].listed) order->data[order->n++] = f->data[k];
  for (int k = 0; k < listed.n; k++) order->data[order->n++] = listed.data[k];
  return true;
}

bool import_mesh_groups(import_ctx *c, const mlir_op *op, const mlir_attr *a, hlo_groups *out) {
  import_mesh m = {.devices = 1};
  factors f = {.n = 0}, order = {.n = 0};
  int64_t group;
  const mlir_attr *where = import_entry(a, "mesh"), *refs = import_entry(a, "axes");
  if (where && where->kind == MLIR_ATTR_SYMBOL && !import_mesh_find(c, where->string, NULL))
    return import_refuse(c, op->loc,
                         "'" STRV_FMT "': replica groups by the mesh @" STRV_FMT ", which is not one of this module's",
                         STRV_ARG(op->name), STRV_ARG(where->string));
  if (!where || !refs || refs->kind != MLIR_ATTR_ARRAY || !import_mesh_read(c, where, &m) ||
      !make_factors(&m, refs, &f) || !order_factors(&m, refs, &f, &order, &group))
    return import_fail(c, op->loc, "'" STRV_FMT "': the replica groups' axes do not fit the mesh", STRV_ARG(op->name));
  int64_t *ids = ARENA_ARRAY(c->arena, int64_t, m.devices);
  for (int64_t i = 0; i < m.devices; i++) {
    int64_t rest = i, device = 0;
    for (int k = order.n; k-- > 0;) {
      int64_t size = order.data[k].to / order.data[k].from;
      device += rest % size * order.data[k].stride;
      rest /= size;
    }
    ids[i] = m.ids.n ? m.ids.data[device] : device;
  }
  *out = (hlo_groups){ids, (int32_t)(m.devices / group), (int32_t)group};
  return true;
}
