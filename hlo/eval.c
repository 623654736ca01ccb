// SPDX-License-Identifier: Apache-2.0
// Lookup of elementwise loops: checks operand types, asks the file of the op's kind, and says why there is none.
#include "hlo/eval.h"

#include "hlo/eval_internal.h"

// A strided copy of one element size; strides are in bytes.
#define COPY_LOOP(T) \
  for (int64_t i = 0; i < n; i++) memcpy((char *)out + i * out_stride, (const char *)in + i * in_stride, sizeof(T))

void hlo_copy_strided(int64_t n, int element_bytes, void *out, int64_t out_stride, const void *in, int64_t in_stride) {
  if (n <= 0) return;
  if (out_stride == element_bytes && in_stride == element_bytes) {
    memmove(out, in, (size_t)n * (size_t)element_bytes);
    return;
  }
  switch (element_bytes) {
    case 1: COPY_LOOP(uint8_t); return;
    case 2: COPY_LOOP(uint16_t); return;
    case 4: COPY_LOOP(uint32_t); return;
    case 8: COPY_LOOP(uint64_t); return;
    case 16: COPY_LOOP(uint64_t[2]); return;
    default:
      for (int64_t i = 0; i < n; i++)
        memcpy((char *)out + i * out_stride, (const char *)in + i * in_stride, (size_t)element_bytes);
  }
}

static hlo_eval_fn find(hlo_op op, const void *attrs, const hlo_dtype *in, hlo_dtype out, hlo_eval_param *param) {
  switch (op) {
    case HLO_OP_COMPARE: {
      const hlo_attrs_compare *c = attrs;
      if (c == NULL || out != HLO_PRED) return NULL;
      param->i[0] = c->direction;
      param->i[1] = c->type;
      return hlo_eval_find_compare(c->direction, c->type, in[0]);
    }
    case HLO_OP_REDUCE_PRECISION: {
      const hlo_attrs_reduce_precision *r = attrs;
      if (r == NULL || in[0] != out) return NULL;
      param->i[0] = r->exponent_bits;
      param->i[1] = r->mantissa_bits;
      return hlo_eval_find_bits(op, in[0]);
    }
    case HLO_OP_NEXT_AFTER: return in[0] == out ? hlo_eval_find_bits(op, in[0]) : NULL;
    case HLO_OP_CONVERT: return hlo_eval_find_convert(in[0], out);
    case HLO_OP_SELECT: return in[0] == HLO_PRED ? hlo_eval_find_ternary(op, in[1], out) : NULL;
    case HLO_OP_CLAMP: return hlo_eval_find_ternary(op, in[1], out);
    case HLO_OP_UNIFORM_QUANTIZE:
    case HLO_OP_UNIFORM_DEQUANTIZE: return hlo_eval_find_quant(op, in[0], out);
    default: break;
  }
  if (hlo_dtype_is_complex(in[0]) || hlo_dtype_is_complex(out)) return hlo_eval_find_complex(op, in[0], out);
  return hlo_op_table[op].min_operands == 1 ? hlo_eval_find_unary(op, in[0], out)
                                            : hlo_eval_find_binary(op, in[0], out);
}

hlo_eval_fn hlo_eval_lookup(hlo_op op, const void *attrs, int n_operands, const hlo_dtype *in, hlo_dtype out,
                            hlo_eval_param *out_param, const char **out_reason) {
  static const char *const not_elementwise = "not an elementwise operation",
                           *const bad_count = "wrong number of operands",
                           *const mixed = "operands of different element types",
                           *const undefined = "operation not defined for this element type";
  const char *reason = NULL;
  hlo_eval_fn fn = NULL;
  memset(out_param, 0, sizeof *out_param);
  if ((unsigned)op >= HLO_OP_COUNT || !hlo_op_has(op, HLO_TRAIT_E)) {
    reason = not_elementwise;
  } else if (n_operands != hlo_op_table[op].min_operands) {
    reason = bad_count;
  } else {
    int data = op == HLO_OP_SELECT ? 1 : 0;  // the first operand whose type must agree with the next ones
    for (int k = data + 1; k < n_operands; k++)
      if (in[k] != in[data]) reason = mixed;
    if (reason == NULL) {
      out_param->in_type = in[data];
      out_param->out_type = out;
      fn = find(op, attrs, in, out, out_param);
      if (fn == NULL) reason = undefined;
    }
  }
  if (out_reason != NULL) *out_reason = reason;
  return fn;
}
