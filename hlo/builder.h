// SPDX-License-Identifier: Apache-2.0
// Building instructions: a cursor in a computation, shape inference, location copying.
//
//   hlo_builder b = hlo_builder_before(instr);          // new instructions go in front of instr, with its location
//   hlo_instr *sum = hlo_build_binary(&b, HLO_OP_ADD, x, y);
//
// These are for operands known to be right (passes, expanders): a shape that cannot be inferred is our own bug and
// panics. For input, call hlo_infer_shape, which reports.
#ifndef HLO_BUILDER_H
#define HLO_BUILDER_H

#include "hlo/hlo.h"

typedef struct hlo_builder {
  hlo_module *module;
  hlo_computation *computation;
  hlo_instr *before;  // NULL: at the end
  const loc *loc;
} hlo_builder;

hlo_builder hlo_builder_before(hlo_instr *position);
hlo_builder hlo_builder_end(hlo_computation *c);

// Infers the result shape of an op from operands, called computations and attributes, checking every constraint of the
// specification that inference can check; where the op leaves the result type open (convert, reshape, iota, constant,
// custom_call, ...) `declared` must be given and is checked; elsewhere `declared`, if not NULL, must be compatible and
// refines (dynamic dims).
// On failure: diagnostics with spec labels in sink, INVALID_ARGUMENT.
LEMNOS_NODISCARD lemnos_status hlo_infer_shape(hlo_module *m, hlo_op op, int n_operands, hlo_instr *const *operands,
                                               int n_called, hlo_computation *const *called, const void *attrs,
                                               const hlo_shape *declared, const loc *l, diag_sink *sink,
                                               const hlo_shape **out_shape);

// General form; declared may be NULL when the op determines its shape.
hlo_instr *hlo_build(hlo_builder *b, hlo_op op, const hlo_shape *declared, int n_operands, hlo_instr *const *operands,
                     int n_called, hlo_computation *const *called, void *attrs);

hlo_instr *hlo_build_parameter(hlo_builder *b, const hlo_shape *shape, strv name);  // the next number
hlo_instr *hlo_build_constant(hlo_builder *b, const hlo_literal *literal);
hlo_instr *hlo_build_scalar_f64(hlo_builder *b, hlo_dtype t, double x);  // any arithmetic type; complex: imaginary 0
hlo_instr *hlo_build_scalar_i64(hlo_builder *b, hlo_dtype t, int64_t x);
hlo_instr *hlo_build_splat_f64(hlo_builder *b, const hlo_shape *shape, double x);  // a splat constant
hlo_instr *hlo_build_unary(hlo_builder *b, hlo_op op, hlo_instr *x);
hlo_instr *hlo_build_binary(hlo_builder *b, hlo_op op, hlo_instr *x, hlo_instr *y);
hlo_instr *hlo_build_compare(hlo_builder *b, hlo_comparison_direction d, hlo_instr *x, hlo_instr *y);
hlo_instr *hlo_build_select(hlo_builder *b, hlo_instr *pred, hlo_instr *x, hlo_instr *y);
hlo_instr *hlo_build_convert(hlo_builder *b, hlo_instr *x, hlo_dtype t);  // x itself if it has that type
hlo_instr *hlo_build_bitcast_convert(hlo_builder *b, hlo_instr *x, const hlo_shape *shape);
hlo_instr *hlo_build_reshape(hlo_builder *b, hlo_instr *x, int rank, const int64_t *dims);
hlo_instr *hlo_build_broadcast(hlo_builder *b, hlo_instr *x, int rank, const int64_t *dims, int n, const int64_t *map);
hlo_instr *hlo_build_transpose(hlo_builder *b, hlo_instr *x, const int64_t *permutation);
hlo_instr *hlo_build_slice(hlo_builder *b, hlo_instr *x, const int64_t *start, const int64_t *limit,
                           const int64_t *stride);  // stride NULL: ones
hlo_instr *hlo_build_pad(hlo_builder *b, hlo_instr *x, hlo_instr *value, const hlo_padding_dim *dims);
hlo_instr *hlo_build_concatenate(hlo_builder *b, int n, hlo_instr *const *xs, int64_t dimension);
hlo_instr *hlo_build_iota(hlo_builder *b, const hlo_shape *shape, int64_t dimension);
hlo_instr *hlo_build_reduce(hlo_builder *b, hlo_instr *x, hlo_instr *init, int n, const int64_t *dims,
                            hlo_computation *body);
hlo_instr *hlo_build_tuple(hlo_builder *b, int n, hlo_instr *const *xs);
hlo_instr *hlo_build_get(hlo_builder *b, hlo_instr *tuple, int index);  // folds get(tuple(..))
// A new computation (t, t) -> op(p0, p1) on scalars.
hlo_computation *hlo_build_binary_computation(hlo_module *m, hlo_op op, hlo_dtype t);

#endif
