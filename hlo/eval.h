// SPDX-License-Identifier: Apache-2.0
// Elementwise semantics, once: typed inner loops over contiguous elements for every elementwise op and element type.
// The interpreter runs them over blocks, the constant folder over literals; nothing else defines what an op computes.
//
// Numerics contract (docs/numerics.md): integers wrap; division by zero gives all ones, remainder by zero the dividend,
// INT_MIN / -1 = INT_MIN, INT_MIN rem -1 = 0; shifts by >= width give 0 (or the sign); float -> integer saturates, NaN
// -> 0; min/max propagate NaN (and order -0 < +0); transcendental functions are computed in a wider type (f32 and
// narrower in double, f64 in long double) and rounded once; subnormals kept.
#ifndef HLO_EVAL_H
#define HLO_EVAL_H

#include "hlo/hlo.h"

// Computes n elements. in[k] points to n contiguous elements of operand k; out to n elements of the result type. in[k]
// may equal out (same index, element sizes equal). param is what hlo_eval_lookup filled in. Reentrant, no allocation.
typedef struct hlo_eval_param {
  int64_t i[2];  // reduce_precision: exponent, mantissa bits; compare: direction, type
  // Set by the caller after lookup for uniform_quantize (of the result) and uniform_dequantize (of the operand);
  // per-axis:
  // the caller splits by axis and sets `channel`. in_quant and in_channel: the operand's when quantized -> quantized.
  const hlo_quant *quant, *in_quant;
  int64_t channel, in_channel;
  hlo_dtype in_type, out_type;
} hlo_eval_param;

typedef void (*hlo_eval_fn)(const hlo_eval_param *param, int64_t n, const void *const *in, void *out);

// The loop for an elementwise instruction (trait E: all of unary, binary, ternary, convert, quant, chlo families and
// compare) given the element types of its operands and result; operand broadcasting (scalar pred of select, scalar
// bounds of clamp) is the caller's. NULL if the op is not elementwise or not defined for these types (then *out_reason
// says why, static string).
hlo_eval_fn hlo_eval_lookup(hlo_op op, const void *attrs, int n_operands, const hlo_dtype *in, hlo_dtype out,
                            hlo_eval_param *out_param, const char **out_reason);

// Element i of a float type as a number that orders as IEEE 754's totalOrder does: -NaN < -inf < .. < -0 < +0 < .. <
// NaN, NaNs by their payloads. The NaN of the formats without -0 (FNUZ) has a sign, and comes first.
uint64_t hlo_total_order_key(hlo_dtype t, const void *data, int64_t i);

// Copies n elements from x[0], x[stride].. for any element size (a building block of data movement).
void hlo_copy_strided(int64_t n, int element_bytes, void *out, int64_t out_stride, const void *in, int64_t in_stride);

#endif
