// SPDX-License-Identifier: Apache-2.0
// chlo.scan as a while: the body is inlined on slices of the inputs, its outputs are written into arrays of all steps.
//   t = 0; while t < n: s = is_reverse ? n - 1 - t : t; (outputs[s].., carries..) = body(inputs[s].., carries..); t +=
//   1
// Needs: nothing. Leaves: no scan of static shapes.
#include "hlo/opt/control.h"
#include "hlo/opt/expand.h"

enum { MAX_VALUES = 64, MAX_RANK = 32 };

typedef struct scan {
  hlo_instr *i;
  hlo_builder b;
  int n_in, n_carry, n_out;
  int64_t dim, steps;
} scan;

static bool usable(const hlo_shape *s) {
  return hlo_shape_is_array(s) && !s->layout && !s->quant && s->rank < MAX_RANK && hlo_shape_is_static(s);
}

static bool begin(hlo_instr *i, scan *s) {
  const hlo_attrs_scan *a = HLO_ATTRS(i, scan);
  int results = hlo_shape_is_tuple(i->shape) ? i->shape->n_elements : 1;
  *s = (scan){.i = i, .b = hlo_builder_before(i), .n_carry = (int)a->n_carries, .dim = a->dimension};
  s->n_in = i->n_operands - s->n_carry;
  s->n_out = results - s->n_carry;
  if (s->n_in < 1 || s->n_out < 0 || i->n_operands + s->n_out + 1 > MAX_VALUES) return false;
  for (int k = 0; k < i->n_operands; k++)
    if (!usable(i->operands[k]->shape)) return false;
  for (int k = 0; k < results; k++)
    if (!usable(hlo_shape_is_tuple(i->shape) ? i->shape->elements[k] : i->shape)) return false;
  s->steps = i->operands[0]->shape->dims[s->dim];
  return true;
}

static const hlo_shape *result_shape(const scan *s, int k) {
  return hlo_shape_is_tuple(s->i->shape) ? s->i->shape->elements[k] : s->i->shape;
}

// Start indices of slice `at` of an array, appended to args.
static int starts(scan *s, const hlo_shape *shape, hv at, hv *args) {
  for (int d = 0; d < shape->rank; d++) args[d] = d == s->dim ? at : hlo_build_scalar_i64(&s->b, HLO_S32, 0);
  return shape->rank;
}

static hv read_slice(scan *s, hv x, hv at, const hlo_shape *slice) {
  hv args[MAX_RANK + 1] = {x};
  int64_t sizes[MAX_RANK];
  int n = starts(s, x->shape, at, args + 1);
  for (int d = 0; d < n; d++) sizes[d] = d == s->dim ? 1 : x->shape->dims[d];
  hlo_attrs_dynamic_slice *attrs = hlo_attrs_create(s->b.module->arena, HLO_ATTR_LIST_dynamic_slice);
  attrs->slice_sizes = hlo_i64s_copy(s->b.module->arena, sizes, n);
  hv y = hlo_build(&s->b, HLO_OP_DYNAMIC_SLICE, NULL, n + 1, args, 0, NULL, attrs);
  return hlo_build_reshape(&s->b, y, slice->rank, slice->dims);
}

static hv write_slice(scan *s, hv into, hv slice, hv at) {
  int64_t dims[MAX_RANK];
  for (int d = 0; d < into->shape->rank; d++) dims[d] = d == s->dim ? 1 : into->shape->dims[d];
  hv args[MAX_RANK + 2] = {into, hlo_build_reshape(&s->b, slice, into->shape->rank, dims)};
  int n = starts(s, into->shape, at, args + 2);
  return hlo_build(&s->b, HLO_OP_DYNAMIC_UPDATE_SLICE, NULL, n + 2, args, 0, NULL, NULL);
}

// One step on (t, inputs.., carries.., outputs..) in place.
static void step(scan *s, hv *now) {
  const hlo_computation *body = s->i->called[0];
  hv t = now[0], args[MAX_VALUES], at = t;
  if (HLO_ATTRS(s->i, scan)->is_reverse)
    at = hlo_build_binary(&s->b, HLO_OP_SUBTRACT, hlo_build_scalar_i64(&s->b, HLO_S32, s->steps - 1), t);
  for (int k = 0; k < s->n_in; k++) args[k] = read_slice(s, now[1 + k], at, body->params[k]->shape);
  for (int k = 0; k < s->n_carry; k++) args[s->n_in + k] = now[1 + s->n_in + k];
  hv marker = hlo_build_scalar_i64(&s->b, HLO_S32, 0), root = control_inline(body, args, marker);
  hlo_instr_remove(marker);
  for (int k = 0; k < s->n_out + s->n_carry; k++) {
    hv r = hlo_shape_is_tuple(root->shape) ? hlo_build_get(&s->b, root, k) : root;
    if (k < s->n_out)
      now[1 + s->n_in + s->n_carry + k] = write_slice(s, now[1 + s->n_in + s->n_carry + k], r, at);
    else
      now[1 + s->n_in + k - s->n_out] = r;
  }
  now[0] = hlo_build_binary(&s->b, HLO_OP_ADD, t, hlo_build_scalar_i64(&s->b, HLO_S32, 1));
}

static hlo_instr *finish(scan *s, hv *now) {
  hv results[MAX_VALUES];
  for (int k = 0; k < s->n_out; k++) results[k] = now[1 + s->n_in + s->n_carry + k];
  for (int k = 0; k < s->n_carry; k++) results[s->n_out + k] = now[1 + s->n_in + k];
  return hlo_shape_is_tuple(s->i->shape) ? hlo_build_tuple(&s->b, s->n_out + s->n_carry, results) : results[0];
}

static hlo_instr *expand_scan(hlo_instr *i) {
  scan s;
  hv now[MAX_VALUES];
  hlo_computation *called[2];
  if (!begin(i, &s) || s.steps > INT32_MAX) return NULL;
  hlo_module *m = s.b.module;
  int n = 1 + i->n_operands + s.n_out;
  now[0] = hlo_build_scalar_i64(&s.b, HLO_S32, 0);
  for (int k = 0; k < i->n_operands; k++) now[1 + k] = i->operands[k];
  for (int k = 0; k < s.n_out; k++) now[1 + i->n_operands + k] = hlo_build_splat_f64(&s.b, result_shape(&s, k), 0);
  if (s.steps == 0) return finish(&s, now);
  hlo_builder outer = s.b;
  hv init = hlo_build_tuple(&outer, n, now);
  for (int c = 0; c < 2; c++) {
    called[c] = hlo_computation_create(m, c ? STRV("scan_body") : STRV("scan_condition"));
    s.b = hlo_builder_end(called[c]);
    s.b.loc = outer.loc;
    hv p = hlo_build_parameter(&s.b, init->shape, STRV("carried"));
    if (!c) {
      called[c]->root = hlo_build_compare(&s.b, HLO_COMPARISON_DIRECTION_LT, hlo_build_get(&s.b, p, 0),
                                          hlo_build_scalar_i64(&s.b, HLO_S32, s.steps));
      continue;
    }
    for (int k = 0; k < n; k++) now[k] = hlo_build_get(&s.b, p, k);
    step(&s, now);
    called[c]->root = hlo_build_tuple(&s.b, n, now);
  }
  s.b = outer;
  hlo_attrs_while *attrs = hlo_attrs_create(m->arena, HLO_ATTR_LIST_while);
  attrs->known_trip_count = s.steps;
  hv loop = hlo_build(&s.b, HLO_OP_WHILE, NULL, 1, &init, 2, called, attrs);
  for (int k = 0; k < n; k++) now[k] = hlo_build_get(&s.b, loop, k);
  return finish(&s, now);
}

lemnos_status hlo_opt_scan_expander(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  for (int c = 0; c < m->n_computations; c++)
    HLO_FOR_EACH_SAFE (i, m->computations[c]) {
      if (i->op != HLO_OP_SCAN || !hlo_opt_allowed(ctx)) continue;
      hlo_instr *r = expand_scan(i);
      if (!r) continue;
      if (r->shape != i->shape) LEMNOS_PANIC("scan-expander changes a shape");
      hlo_instr_replace_uses(i, r);
      hlo_opt_remove_dead(i);
      *changed = true;
    }
  return LEMNOS_SUCCESS;
}
