// SPDX-License-Identifier: Apache-2.0
// batch_norm_inference, _training and _grad as reductions, broadcasts and elementwise operations. Floats narrower than
// f32 are computed in f32 and rounded once per result; the variance is the mean of squared distances from the mean (two
// passes).
// Needs: nothing. Leaves: no batch_norm of static shape.
#include "hlo/opt/algsimp.h"
#include "hlo/opt/expand.h"

typedef struct norm {
  expand whole, feature;  // cursors with the shapes of the operand and of one value per feature
  int64_t axis;
  hlo_dtype type;  // computed in
  double count;    // elements per feature
  double epsilon;
} norm;

static norm begin(hlo_instr *i) {
  const hlo_attrs_batch_norm *a = HLO_ATTRS(i, batch_norm);
  const hlo_shape *s = i->operands[0]->shape, *f = i->operands[1]->shape;
  norm n = {.axis = a->feature_index, .epsilon = a->epsilon};
  n.whole.b = n.feature.b = hlo_builder_before(i);
  hlo_shape_table *shapes = n.whole.b.module->shapes;
  n.type = s->dtype == HLO_F64 ? HLO_F64 : HLO_F32;
  n.whole.s = hlo_shape_with_dtype(shapes, s, n.type);
  n.feature.s = hlo_shape_with_dtype(shapes, f, n.type);
  n.count = s->dims[n.axis] ? (double)(hlo_shape_elements(s) / s->dims[n.axis]) : 0;
  return n;
}

static hv spread(norm *n, hv x) {  // one value per feature to all elements
  return hlo_build_broadcast(&n->whole.b, x, n->whole.s->rank, n->whole.s->dims, 1, &n->axis);
}

static hv sum(norm *n, hv x) {
  int64_t dims[32];
  int k = 0;
  for (int d = 0; d < n->whole.s->rank; d++)
    if (d != n->axis) dims[k++] = d;
  hlo_builder *b = &n->whole.b;
  hlo_computation *add = hlo_build_binary_computation(b->module, HLO_OP_ADD, n->type);
  return hlo_build_reduce(b, x, hlo_build_scalar_f64(b, n->type, 0), k, dims, add);
}

static hv up(norm *n, hv x) {
  return hlo_build_convert(&n->whole.b, x, n->type);
}
static hv down(norm *n, hv x, hlo_dtype t) {
  return hlo_build_convert(&n->whole.b, x, t);
}

static hv mean_of(norm *n, hv x) {
  expand *e = &n->feature;
  return DIV(sum(n, x), K(n->count));
}

static hv deviation(norm *n, hv variance) {
  expand *e = &n->feature;
  return SQRT(ADD(variance, K(n->epsilon)));
}

// (x - mean) / deviation * scale + offset
static hv normalize(norm *n, hv x, hv scale, hv offset, hv mean, hv variance) {
  expand *e = &n->whole;
  hv centered = SUB(x, spread(n, mean));
  return ADD(MUL(DIV(centered, spread(n, deviation(n, variance))), spread(n, scale)), spread(n, offset));
}

static hlo_instr *inference(hlo_instr *i) {
  norm n = begin(i);
  hv y = normalize(&n, up(&n, i->operands[0]), up(&n, i->operands[1]), up(&n, i->operands[2]), up(&n, i->operands[3]),
                   up(&n, i->operands[4]));
  return down(&n, y, i->shape->dtype);
}

static hlo_instr *training(hlo_instr *i) {
  norm n = begin(i);
  expand *e = &n.whole;
  hv x = up(&n, i->operands[0]), mean = mean_of(&n, x), centered = SUB(x, spread(&n, mean));
  hv variance = mean_of(&n, MUL(centered, centered));
  hv y = normalize(&n, x, up(&n, i->operands[1]), up(&n, i->operands[2]), mean, variance);
  hlo_dtype t = i->shape->elements[0]->dtype;
  return hlo_build_tuple(&e->b, 3, (hlo_instr *[]){down(&n, y, t), down(&n, mean, t), down(&n, variance, t)});
}

// With c = x - mean and v = variance + epsilon: grad_offset = sum g, grad_scale = sum(g c) / sqrt v,
// grad_operand = scale / sqrt(v) * (g - grad_offset / count - c * sum(g c) / (count v)).
static hlo_instr *grad(hlo_instr *i) {
  norm n = begin(i);
  hv x = up(&n, i->operands[0]), scale = up(&n, i->operands[1]), mean = up(&n, i->operands[2]);
  hv variance = up(&n, i->operands[3]), g = up(&n, i->operands[4]);
  expand *e = &n.whole;
  hv centered = SUB(x, spread(&n, mean)), dot = sum(&n, MUL(g, centered)), total = sum(&n, g);
  e = &n.feature;
  hv root = deviation(&n, variance), grad_scale = DIV(dot, root), factor = DIV(scale, root);
  hv shift = DIV(total, K(n.count)), slope = DIV(DIV(dot, ADD(variance, K(n.epsilon))), K(n.count));
  e = &n.whole;
  hv dx = MUL(spread(&n, factor), SUB(SUB(g, spread(&n, shift)), MUL(centered, spread(&n, slope))));
  hlo_dtype t = i->shape->elements[0]->dtype;
  return hlo_build_tuple(&e->b, 3, (hlo_instr *[]){down(&n, dx, t), down(&n, grad_scale, t), down(&n, total, t)});
}

static bool expandable(const hlo_instr *i) {
  for (int k = 0; k < i->n_operands; k++) {
    const hlo_shape *s = i->operands[k]->shape;
    if (!hlo_shape_is_static(s) || s->layout || s->quant || s->rank > 32) return false;
  }
  return true;
}

lemnos_status hlo_opt_batch_norm_expander(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  for (int c = 0; c < m->n_computations; c++)
    HLO_FOR_EACH_SAFE (i, m->computations[c]) {
      if (hlo_op_table[i->op].family != HLO_FAMILY_NORM || !expandable(i) || !hlo_opt_allowed(ctx)) continue;
      hlo_instr *r = i->op == HLO_OP_BATCH_NORM_INFERENCE  ? inference(i)
                     : i->op == HLO_OP_BATCH_NORM_TRAINING ? training(i)
                                                           : grad(i);
      if (r->shape != i->shape)
        LEMNOS_PANIC("batch-norm-expander: %s changes its shape", hlo_op_table[i->op].text_name);
      expand_finish(i, r);
      *changed = true;
    }
  return LEMNOS_SUCCESS;
}
