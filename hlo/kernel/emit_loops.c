// SPDX-License-Identifier: Apache-2.0
// Elements that are loops: dot_general, convolution, reduce_window. One element (or one vector of neighbouring
// elements) at a time, in the order of the operand's dimensions; correct for every shape and type. The schedules for
// large cases are elsewhere; these serve fusions, odd types and small shapes.
#include "hlo/kernel/emit_nest.h"

#define BIN(op, x, y) kernel_bin(b, KERNEL_OP_##op, (x), (y))

// --- dot -----------------------------------------------------------------------------------------

static emit_value multiply_add(emit_ctx *c, hlo_dtype t, emit_value acc, emit_value x, emit_value y) {
  if (hlo_dtype_is_float(t)) return (emit_value){kernel_fma(&c->b, x.re, y.re, acc.re), NULL};
  return emit_binary(c, HLO_OP_ADD, t, acc, emit_binary(c, HLO_OP_MULTIPLY, t, x, y));
}

// The type sums are kept in, and an operand of element type `in` brought to it.
static hlo_dtype sum_dtype(hlo_dtype out) {
  return emit_dtype_is_small(out) ? HLO_F32 : out;
}

static emit_value to_sum(emit_ctx *c, hlo_dtype in, hlo_dtype sum, emit_value v) {
  return emit_convert(c, in, sum, v);
}

emit_value emit_dot(emit_ctx *c, const hlo_instr *i, emit_index *x) {
  const hlo_dot_dnums *n = &HLO_ATTRS(i, dot_general)->dnums;
  const hlo_shape *l = i->operands[0]->shape, *r = i->operands[1]->shape;
  int64_t ls[64], rs[64], sizes[64];
  int out = n->lhs_batch.n, nk = n->lhs_contracting.n, lanes = emit_index_varies(x) ? x->lanes : 1;
  for (int d = 0; d < 64; d++) ls[d] = rs[d] = -2;
  for (int k = 0; k < n->lhs_batch.n; k++) ls[n->lhs_batch.data[k]] = rs[n->rhs_batch.data[k]] = k;
  for (int k = 0; k < nk; k++) {
    ls[n->lhs_contracting.data[k]] = rs[n->rhs_contracting.data[k]] = -1;
    sizes[k] = l->dims[n->lhs_contracting.data[k]];
  }
  for (int d = 0; d < l->rank; d++)
    if (ls[d] == -2) ls[d] = out++;
  for (int d = 0; d < r->rank; d++)
    if (rs[d] == -2) rs[d] = out++;
  hlo_dtype sum = sum_dtype(i->shape->dtype);
  emit_value acc = emit_zero(c, sum);
  for (int k = 0; k < nk; k++)
    if (sizes[k] == 0) return emit_convert(c, sum, i->shape->dtype, acc);
  kernel_value *flat[2];
  int n_flat = flatten(c, &acc, 1, lanes, flat);
  nest s;
  nest_begin(c, &s, nk, sizes, n_flat, flat);
  emit_coord lf[64], rf[64];
  for (int k = 0; k < nk; k++) lf[n->lhs_contracting.data[k]] = rf[n->rhs_contracting.data[k]] = s.at[k];
  emit_index *lx = emit_index_select(c, x, l->rank, l->dims, ls, lf);
  emit_index *rx = emit_index_select(c, x, r->rank, r->dims, rs, rf);
  emit_value a = to_sum(c, l->dtype, sum, emit_element(c, i->operands[0], lx));
  emit_value bv = to_sum(c, r->dtype, sum, emit_element(c, i->operands[1], rx));
  emit_value now;
  unflatten(s.carried, &acc, 1, &now);
  now = multiply_add(c, sum, now, a, bv);
  flatten(c, &now, 1, lanes, flat);
  unflatten(nest_end(c, &s, flat), &acc, 1, &now);
  return emit_convert(c, sum, i->shape->dtype, now);
}

// --- convolution ---------------------------------------------------------------------------------

// Position of a window element in the operand: out * stride + k * window_dilation - pad_low, in units of base_dilation.
// *ok (AND-ed) says whether it holds an element; the coordinate is clamped into the operand.
static emit_coord window_position(emit_ctx *c, const hlo_window_dim *w, int64_t size, emit_coord out, emit_coord k,
                                  int lanes, kernel_value **ok) {
  kernel_builder *b = &c->b;
  emit_coord at =
      emit_coord_add(c, emit_coord_scale(c, out, w->stride), emit_coord_scale(c, k, w->window_dilation), lanes);
  at = emit_coord_offset(c, at, -w->pad_low);
  if (w->pad_low == 0 && w->pad_high <= 0 && w->base_dilation == 1) return at;
  bool varies = emit_coord_varies(at);
  kernel_value *v = emit_coord_value(c, at, lanes);
  kernel_value *zero = kernel_const_like(b, v, 0);
  kernel_value *last = kernel_const_like(b, v, (double)((size - 1) * w->base_dilation));
  kernel_value *in = BIN(AND, BIN(LE_S, zero, v), BIN(LE_S, v, last));
  v = BIN(MIN_S, BIN(MAX_S, v, zero), last);
  if (w->base_dilation > 1) {
    kernel_value *step = kernel_const_like(b, v, (double)w->base_dilation);
    in = BIN(AND, in, BIN(EQ, BIN(REM_U, v, step), zero));
    v = BIN(DIV_U, v, step);
  }
  *ok = *ok ? BIN(AND, *ok, in) : in;
  return varies ? (emit_coord){.base = kernel_index(b, 0), .vec = v, .multiple = 1} : emit_coord_of(v, 1);
}

emit_value emit_convolution(emit_ctx *c, const hlo_instr *i, emit_index *x) {
  hlo_attrs_convolution *p = HLO_ATTRS(i, convolution);
  const hlo_conv_dnums *n = &p->dnums;
  const hlo_shape *l = i->operands[0]->shape, *r = i->operands[1]->shape;
  int ns = n->input_spatial.n, lanes = emit_index_varies(x) ? x->lanes : 1;
  int64_t sizes[64], features = r->dims[n->kernel_input_feature];
  for (int d = 0; d < ns; d++) sizes[d] = r->dims[n->kernel_spatial.data[d]];
  sizes[ns] = features;
  hlo_dtype sum = sum_dtype(i->shape->dtype);
  emit_value acc = emit_zero(c, sum);
  bool empty = hlo_shape_elements(l) == 0;
  for (int d = 0; d <= ns; d++) empty |= sizes[d] == 0;
  if (empty) return emit_convert(c, sum, i->shape->dtype, acc);
  kernel_value *flat[2], *ok = NULL;
  int n_flat = flatten(c, &acc, 1, lanes, flat);
  emit_coord oc = emit_index_coord(c, x, (int)n->output_feature), batch = emit_index_coord(c, x, (int)n->output_batch);
  emit_coord group = {0}, unused;
  int64_t outputs = i->shape->dims[n->output_feature];
  if (p->feature_group_count > 1) emit_coord_divide(c, oc, outputs / p->feature_group_count, x->lanes, &group, &unused);
  if (p->batch_group_count > 1) {
    emit_coord bg;
    emit_coord_divide(c, oc, outputs / p->batch_group_count, x->lanes, &bg, &unused);
    bg = emit_coord_scale(c, bg, l->dims[n->input_batch] / p->batch_group_count);
    batch = emit_coord_add(c, batch, bg, x->lanes);
  }
  nest s;
  nest_begin(c, &s, ns + 1, sizes, n_flat, flat);
  emit_coord lf[64], rf[64];
  lf[n->input_batch] = batch;
  lf[n->input_feature] = s.at[ns];
  if (group.base) lf[n->input_feature] = emit_coord_add(c, emit_coord_scale(c, group, features), s.at[ns], x->lanes);
  rf[n->kernel_input_feature] = s.at[ns];
  rf[n->kernel_output_feature] = oc;
  for (int d = 0; d < ns; d++) {
    const hlo_window_dim *w = &p->window.dims[d];
    emit_coord out = emit_index_coord(c, x, (int)n->output_spatial.data[d]);
    int64_t in_size = l->dims[n->input_spatial.data[d]];
    lf[n->input_spatial.data[d]] = window_position(c, w, in_size, out, s.at[d], x->lanes, &ok);
    rf[n->kernel_spatial.data[d]] =
        w->reversal ? emit_coord_offset(c, emit_coord_scale(c, s.at[d], -1), sizes[d] - 1) : s.at[d];
  }
  emit_index *lx = emit_index_of(c, l->rank, l->dims, x->lanes, lf);
  emit_index *rx = emit_index_of(c, r->rank, r->dims, x->lanes, rf);
  emit_value a = to_sum(c, l->dtype, sum, emit_element(c, i->operands[0], lx));
  emit_value w = to_sum(c, r->dtype, sum, emit_element(c, i->operands[1], rx));
  if (ok) a = emit_select(c, ok, a, emit_zero(c, sum));
  emit_value now;
  unflatten(s.carried, &acc, 1, &now);
  now = multiply_add(c, sum, now, a, w);
  flatten(c, &now, 1, lanes, flat);
  unflatten(nest_end(c, &s, flat), &acc, 1, &now);
  return emit_convert(c, sum, i->shape->dtype, now);
}

// --- reduce_window -------------------------------------------------------------------------------

void emit_reduce_window(emit_ctx *c, const hlo_instr *i, emit_index *x, emit_value *results) {
  int n = i->n_operands / 2, lanes = emit_index_varies(x) ? x->lanes : 1;
  const hlo_shape *in = i->operands[0]->shape;
  hlo_window w = HLO_ATTRS(i, reduce_window)->window;
  int64_t sizes[64] = {1};
  emit_value *acc = ARENA_ARRAY(c->a, emit_value, n), *init = ARENA_ARRAY(c->a, emit_value, n);
  emit_value *args = ARENA_ARRAY(c->a, emit_value, 2 * n), *next = ARENA_ARRAY(c->a, emit_value, n);
  for (int o = 0; o < n; o++) acc[o] = init[o] = emit_element(c, i->operands[n + o], &c->scalar_index);
  bool empty = hlo_shape_elements(in) == 0;
  for (int d = 0; d < w.n; d++) sizes[d] = w.dims[d].size;
  kernel_value *flat[256], *ok = NULL;
  int n_flat = flatten(c, acc, n, lanes, flat);
  nest s;
  nest_begin(c, &s, w.n, sizes, n_flat, flat);
  emit_coord at[64];
  for (int d = 0; d < w.n; d++)
    at[d] = window_position(c, &w.dims[d], in->dims[d], emit_index_coord(c, x, d), s.at[d], x->lanes, &ok);
  emit_index *inner = emit_index_of(c, in->rank, in->dims, x->lanes, at);
  unflatten(s.carried, acc, n, args);
  for (int o = 0; o < n; o++) {
    args[n + o] = empty ? init[o] : emit_element(c, i->operands[o], inner);
    if (ok && !empty) args[n + o] = emit_select(c, ok, args[n + o], init[o]);
  }
  emit_body(c, i->called[0], args, next);
  flatten(c, next, n, lanes, flat);
  unflatten(nest_end(c, &s, flat), acc, n, results);
}
