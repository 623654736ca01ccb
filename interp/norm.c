// SPDX-License-Identifier: Apache-2.0
// batch_norm_inference, _training, _grad: statistics over all dimensions but the feature one, computed in f64 and
// rounded once per result element.
#include <math.h>

#include "interp/interp_internal.h"

// Element i of an array seen as [outer][feature][inner].
typedef struct view {
  int64_t outer, features, inner;
} view;

static view view_of(const interp_array *a, int64_t feature) {
  view v = {1, a->dims[feature], 1};
  for (int d = 0; d < feature; d++) v.outer *= a->dims[d];
  for (int d = (int)feature + 1; d < a->rank; d++) v.inner *= a->dims[d];
  return v;
}

static double *to_f64(interp_call *c, const interp_array *a) {
  int64_t n = interp_count(a);
  double *x = interp_scratch(c->cx, (size_t)n * 8 + 8);
  interp_cvt v;
  if (x && interp_cvt_init(&v, a->dtype, HLO_F64)) interp_cvt_run(&v, n, a->data, x);
  return x;
}

static void from_f64(interp_array *out, const double *x) {
  interp_cvt v;
  if (interp_cvt_init(&v, HLO_F64, out->dtype)) interp_cvt_run(&v, interp_count(out), x, out->data);
}

// Sizes that were not known while compiling: a vector per feature, or (grad_output) an array like the operand.
static lemnos_status check_sizes(const interp_call *c, int64_t features) {
  const interp_array *x = interp_arg(c, 0);
  for (int k = 1; k < c->in->n_args; k++) {
    const interp_array *a = interp_arg(c, k);
    bool is_output = k == 4 && c->in->src->op == HLO_OP_BATCH_NORM_GRAD;
    bool ok = is_output ? a->rank == x->rank && !memcmp(a->dims, x->dims, sizeof *x->dims * (size_t)x->rank)
                        : a->rank == 1 && a->dims[0] == features;
    if (!ok)
      return interp_error(c, LEMNOS_INVALID_ARGUMENT,
                          "operand %d does not have the sizes of an operand with %lld features", k,
                          (long long)features);
  }
  return LEMNOS_SUCCESS;
}

#define FOR_FEATURE(f, at)                 \
  for (int64_t o_ = 0; o_ < v.outer; o_++) \
    for (int64_t i_ = 0, at; i_ < v.inner && ((at = (o_ * v.features + (f)) * v.inner + i_), 1); i_++)

static lemnos_status run_inference(interp_call *c) {
  const hlo_attrs_batch_norm *a = HLO_ATTRS(c->in->src, batch_norm);
  view v = view_of(interp_arg(c, 0), a->feature_index);
  LEMNOS_TRY(check_sizes(c, v.features));
  double *x[5];
  for (int k = 0; k < 5; k++)
    if (!(x[k] = to_f64(c, interp_arg(c, k)))) return interp_scratch_failed(c);
  for (int64_t f = 0; f < v.features; f++) {
    double s = sqrt(x[4][f] + a->epsilon);
    FOR_FEATURE(f, at) x[0][at] = (x[0][at] - x[3][f]) / s * x[1][f] + x[2][f];
  }
  from_f64(interp_result(c, 0), x[0]);
  return LEMNOS_SUCCESS;
}

static lemnos_status run_training(interp_call *c) {
  const hlo_attrs_batch_norm *a = HLO_ATTRS(c->in->src, batch_norm);
  view v = view_of(interp_arg(c, 0), a->feature_index);
  LEMNOS_TRY(check_sizes(c, v.features));
  double *x[3], n = (double)(v.outer * v.inner);
  for (int k = 0; k < 3; k++)
    if (!(x[k] = to_f64(c, interp_arg(c, k)))) return interp_scratch_failed(c);
  double *mean = interp_scratch(c->cx, (size_t)v.features * 16 + 16), *var = mean + v.features;
  if (!mean) return interp_scratch_failed(c);
  for (int64_t f = 0; f < v.features; f++) {
    double sum = 0, square = 0;
    FOR_FEATURE(f, at) sum += x[0][at];
    mean[f] = sum / n;
    FOR_FEATURE(f, at) square += (x[0][at] - mean[f]) * (x[0][at] - mean[f]);
    var[f] = square / n;
    double s = sqrt(var[f] + a->epsilon);
    FOR_FEATURE(f, at) x[0][at] = (x[0][at] - mean[f]) / s * x[1][f] + x[2][f];
  }
  from_f64(interp_result(c, 0), x[0]);
  from_f64(interp_result(c, 1), mean);
  from_f64(interp_result(c, 2), var);
  return LEMNOS_SUCCESS;
}

// Operands: operand, scale, mean, variance, grad_output; results: grad_operand, grad_scale, grad_offset.
static lemnos_status run_grad(interp_call *c) {
  const hlo_attrs_batch_norm *a = HLO_ATTRS(c->in->src, batch_norm);
  view v = view_of(interp_arg(c, 0), a->feature_index);
  LEMNOS_TRY(check_sizes(c, v.features));
  double *x[5], n = (double)(v.outer * v.inner);
  for (int k = 0; k < 5; k++)
    if (!(x[k] = to_f64(c, interp_arg(c, k)))) return interp_scratch_failed(c);
  double *scale = interp_scratch(c->cx, (size_t)v.features * 16 + 16), *offset = scale + v.features;
  if (!scale) return interp_scratch_failed(c);
  for (int64_t f = 0; f < v.features; f++) {
    double s = sqrt(x[3][f] + a->epsilon), dot = 0, sum = 0;
    FOR_FEATURE(f, at) {
      dot += x[4][at] * (x[0][at] - x[2][f]);
      sum += x[4][at];
    }
    scale[f] = dot / s;
    offset[f] = sum;
    FOR_FEATURE(f, at) {
      double centered = x[0][at] - x[2][f];
      x[0][at] = x[1][f] / s / n * (n * x[4][at] - sum - centered * dot / (x[3][f] + a->epsilon));
    }
  }
  from_f64(interp_result(c, 0), x[0]);
  from_f64(interp_result(c, 1), scale);
  from_f64(interp_result(c, 2), offset);
  return LEMNOS_SUCCESS;
}

lemnos_status interp_compile_norm(interp_compiler *c, interp_insn *in) {
  switch (in->src->op) {
    case HLO_OP_BATCH_NORM_INFERENCE: in->fn = run_inference; break;
    case HLO_OP_BATCH_NORM_TRAINING: in->fn = run_training; break;
    case HLO_OP_BATCH_NORM_GRAD: in->fn = run_grad; break;
    default: return interp_refuse(in->src, "operation is not supported");
  }
  return LEMNOS_SUCCESS;
}
