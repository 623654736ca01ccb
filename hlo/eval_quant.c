// SPDX-License-Identifier: Apache-2.0
// uniform_quantize (from float, or from another quantized type) and uniform_dequantize.
//
// As the specification's quantize() and dequantize(): each step is rounded to the expressed type. Blocks of doubles
// carry values of the expressed type, rounded after every step. The difference stored - zero_point is taken exactly,
// not in the storage type, where it could wrap. Scales are rounded to the expressed type first. NaN quantizes as
// convert does: 0, clamped to the storage range.
#include "hlo/eval_internal.h"

static void round_block(hlo_dtype t, int64_t n, double *x) {
  uint16_t buffer[EVAL_BLOCK];
  if (t == HLO_F32) {
    for (int64_t i = 0; i < n; i++) x[i] = (float)x[i];
  } else if (t != HLO_F64) {
    hlo_small_encode(t, n, x, buffer, false);
    hlo_small_decode(t, n, buffer, x);
  }
}

static double round_one(hlo_dtype t, double x) {
  round_block(t, 1, &x);
  return x;
}

static int64_t channel_of(const hlo_quant *q, int64_t channel) {
  return q->n_scales == 1 ? 0 : channel;
}

static void load_float(hlo_dtype t, int64_t n, const void *in, double *out) {
  if (t == HLO_F32)
    for (int64_t i = 0; i < n; i++) out[i] = ((const float *)in)[i];
  else if (t == HLO_F64)
    memcpy(out, in, (size_t)n * 8);
  else
    hlo_small_decode(t, n, in, out);
}

static void store_float(hlo_dtype t, int64_t n, const double *in, void *out) {
  if (t == HLO_F32)
    for (int64_t i = 0; i < n; i++) ((float *)out)[i] = (float)in[i];
  else if (t == HLO_F64)
    memcpy(out, in, (size_t)n * 8);
  else
    hlo_small_encode(t, n, in, out, false);
}

static int64_t load_int(hlo_dtype t, const void *in, int64_t i) {
  switch (t) {
#define CASE(ENUM, T, W, WS, BITS, SIGNED, A, B) \
  case HLO_##ENUM: return (int64_t)((const T *)in)[i];
    EVAL_INTS(CASE, , )
#undef CASE
    default: return 0;
  }
}

static void store_int(hlo_dtype t, void *out, int64_t i, int64_t v) {
  switch (t) {
#define CASE(ENUM, T, W, WS, BITS, SIGNED, A, B) \
  case HLO_##ENUM: ((T *)out)[i] = (T)v; return;
    EVAL_INTS(CASE, , )
#undef CASE
    default: return;
  }
}

// x: values of the expressed type, overwritten.
static void quantize_block(const hlo_quant *q, int64_t channel, hlo_dtype storage, int64_t n, double *x, void *out,
                           int64_t first) {
  hlo_dtype t = q->expressed;
  int64_t c = channel_of(q, channel);
  double scale = round_one(t, q->scales[c]), zero = round_one(t, (double)q->zero_points[c]);
  double low = round_one(t, (double)q->storage_min), high = round_one(t, (double)q->storage_max);
  for (int64_t i = 0; i < n; i++) x[i] /= scale;
  round_block(t, n, x);
  for (int64_t i = 0; i < n; i++) x[i] += zero;
  round_block(t, n, x);
  for (int64_t i = 0; i < n; i++) {
    double v = rint(x[i] < low ? low : x[i] > high ? high : x[i]);
    int64_t k = v != v ? 0 : v >= 9223372036854775808.0 ? INT64_MAX : (int64_t)v;
    // low and high may have been rounded outward
    store_int(storage, out, first + i, k < q->storage_min ? q->storage_min : k > q->storage_max ? q->storage_max : k);
  }
}

static void dequantize_block(const hlo_quant *q, int64_t channel, hlo_dtype storage, int64_t n, const void *in,
                             int64_t first, double *x) {
  hlo_dtype t = q->expressed;
  int64_t c = channel_of(q, channel), zero = q->zero_points[c];
  double scale = round_one(t, q->scales[c]);
  for (int64_t i = 0; i < n; i++) x[i] = (double)(load_int(storage, in, first + i) - zero);
  round_block(t, n, x);
  for (int64_t i = 0; i < n; i++) x[i] *= scale;
  round_block(t, n, x);
}

static void quantize(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {
  double x[EVAL_BLOCK];
  int64_t bytes = hlo_dtype_bytes(param->in_type);
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    load_float(param->in_type, m, (const char *)in[0] + i * bytes, x);
    quantize_block(param->quant, param->channel, param->out_type, m, x, out, i);
  }
}

static void dequantize(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {
  double x[EVAL_BLOCK];
  int64_t bytes = hlo_dtype_bytes(param->out_type);
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    dequantize_block(param->quant, param->channel, param->in_type, m, in[0], i, x);
    store_float(param->out_type, m, x, (char *)out + i * bytes);
  }
}

static void requantize(const hlo_eval_param *param, int64_t n, const void *const *in, void *out) {
  double x[EVAL_BLOCK];
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    dequantize_block(param->in_quant, param->in_channel, param->in_type, m, in[0], i, x);
    quantize_block(param->quant, param->channel, param->out_type, m, x, out, i);
  }
}

hlo_eval_fn hlo_eval_find_quant(hlo_op op, hlo_dtype in, hlo_dtype out) {
  if (op == HLO_OP_UNIFORM_DEQUANTIZE) return hlo_dtype_is_integer(in) && hlo_dtype_is_float(out) ? dequantize : NULL;
  if (!hlo_dtype_is_integer(out)) return NULL;
  return hlo_dtype_is_float(in) ? quantize : hlo_dtype_is_integer(in) ? requantize : NULL;
}
