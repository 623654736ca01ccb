// SPDX-License-Identifier: Apache-2.0
// The work in a program, for GFLOP/s and GB/s: floating-point operations of dots, convolutions (padding left out),
// elementwise arithmetic and reductions (one an element, complex ones as their real parts), and the bytes of arguments
// and results, which is the least that can be moved. A loop counts as often as its trip count says, once if that is
// unknown; of a conditional the dearest branch counts.
#include "runtime/cli/cli.h"

static double computation_flops(const hlo_computation *c);

static double elements(const hlo_shape *s) {
  if (!hlo_shape_is_array(s) || !hlo_shape_is_static(s)) return 0;
  int64_t n = hlo_shape_elements(s);
  return n > 0 ? (double)n : 0;
}

static bool is_floating(const hlo_shape *s) {
  return hlo_dtype_is_float(s->dtype) || hlo_dtype_is_complex(s->dtype);
}

static double dot_flops(const hlo_instr *i) {
  const hlo_dot_dnums *d = &HLO_ATTRS(i, dot_general)->dnums;
  double n = 2 * elements(i->shape);
  for (int k = 0; k < d->lhs_contracting.n; k++) n *= (double)i->operands[0]->shape->dims[d->lhs_contracting.data[k]];
  return hlo_dtype_is_complex(i->shape->dtype) ? 4 * n : n;
}

// Pairs of output position and window element that hit the input, in one spatial dimension.
static double valid_taps(const hlo_window_dim *w, int64_t input, int64_t output) {
  double n = 0;
  int64_t dilated = input > 0 ? (input - 1) * w->base_dilation + 1 : 0;
  for (int64_t o = 0; o < output; o++)
    for (int64_t k = 0; k < w->size; k++) {
      int64_t at = o * w->stride - w->pad_low + k * w->window_dilation;
      n += at >= 0 && at < dilated && at % w->base_dilation == 0;
    }
  return n;
}

static double conv_flops(const hlo_instr *i) {
  const hlo_conv_dnums *d = &HLO_ATTRS(i, convolution)->dnums;
  const hlo_window *w = &HLO_ATTRS(i, convolution)->window;
  const hlo_shape *in = i->operands[0]->shape, *kernel = i->operands[1]->shape, *out = i->shape;
  if (!elements(out) || !elements(in) || !elements(kernel)) return 0;
  double n = 2.0 * (double)out->dims[d->output_batch] * (double)out->dims[d->output_feature] *
             (double)kernel->dims[d->kernel_input_feature];
  for (int k = 0; k < w->n; k++)
    n *= valid_taps(&w->dims[k], in->dims[d->input_spatial.data[k]], out->dims[d->output_spatial.data[k]]);
  return hlo_dtype_is_complex(out->dtype) ? 4 * n : n;
}

static double elementwise_flops(const hlo_instr *i) {
  switch (i->op) {
    case HLO_OP_CONVERT:
    case HLO_OP_COMPARE:
    case HLO_OP_SELECT:
    case HLO_OP_REAL:
    case HLO_OP_IMAG:
    case HLO_OP_COMPLEX: return 0;
    case HLO_OP_MULTIPLY:
    case HLO_OP_DIVIDE: return elements(i->shape) * (hlo_dtype_is_complex(i->shape->dtype) ? 6 : 1);
    default: return elements(i->shape) * (hlo_dtype_is_complex(i->shape->dtype) ? 2 : 1);
  }
}

static double instr_flops(const hlo_instr *i) {
  switch (i->op) {
    case HLO_OP_DOT_GENERAL: return is_floating(i->shape) ? dot_flops(i) : 0;
    case HLO_OP_CONVOLUTION: return is_floating(i->shape) ? conv_flops(i) : 0;
    case HLO_OP_REDUCE:
    case HLO_OP_MAP: return elements(i->operands[0]->shape) * computation_flops(i->called[0]);
    case HLO_OP_SCATTER: return elements(i->operands[i->n_operands - 1]->shape) * computation_flops(i->called[0]);
    case HLO_OP_REDUCE_WINDOW: {
      const hlo_window *w = &HLO_ATTRS(i, reduce_window)->window;
      double n = elements(hlo_shape_leaf(i->shape, 0)) * computation_flops(i->called[0]);
      for (int k = 0; k < w->n; k++) n *= (double)w->dims[k].size;
      return n;
    }
    case HLO_OP_SELECT_AND_SCATTER: return elements(i->operands[1]->shape) * computation_flops(i->called[1]);
    case HLO_OP_FUSION:
    case HLO_OP_CALL:
    case HLO_OP_COMPOSITE: return computation_flops(i->called[0]);
    case HLO_OP_WHILE: {
      int64_t trips = HLO_ATTRS(i, while)->known_trip_count;
      return (trips >= 0 ? (double)trips : 1) * (computation_flops(i->called[0]) + computation_flops(i->called[1]));
    }
    case HLO_OP_CONDITIONAL: {
      double most = 0;
      for (int b = 0; b < i->n_called; b++) {
        double n = computation_flops(i->called[b]);
        if (n > most) most = n;
      }
      return most;
    }
    default: break;
  }
  return hlo_op_has(i->op, HLO_TRAIT_E) && is_floating(i->shape) ? elementwise_flops(i) : 0;
}

static double computation_flops(const hlo_computation *c) {
  double n = 0;
  HLO_FOR_EACH (i, c) n += instr_flops(i);
  return n;
}

static double shape_bytes(const hlo_shape *s) {
  double n = 0;
  for (int k = 0; k < hlo_shape_leaves(s); k++) {
    const hlo_shape *leaf = hlo_shape_leaf(s, k);
    n += elements(leaf) * hlo_dtype_bytes(leaf->dtype);
  }
  return n;
}

cli_cost module_cost(const hlo_module *m) {
  cli_cost c = {.flops = computation_flops(m->entry), .bytes = shape_bytes(m->entry->root->shape)};
  for (int p = 0; p < m->entry->n_params; p++) c.bytes += shape_bytes(m->entry->params[p]->shape);
  return c;
}
