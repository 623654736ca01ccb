// SPDX-License-Identifier: Apache-2.0
// The vector versions of transcendental functions (hlo/eval_fast.c) against the C library, bit for bit: each function on
// f32 patterns in steps of LEMNOS_EVAL_STEP (default 4,099; 1 is all of them), on all bf16 and f16 patterns, and on random
// pairs. Where the library is expected to have been asked does not show: only results count.
#include <math.h>

#include "hlo/eval.h"
#include "tests/harness.h"

static double logistic(double x) {
  return 1 / (1 + exp(-x));
}

static const struct {
  hlo_op op;
  double (*library)(double);
} unary[] = {{HLO_OP_CBRT, cbrt},       {HLO_OP_COSINE, cos},     {HLO_OP_EXPONENTIAL, exp}, {HLO_OP_EXPONENTIAL_MINUS_ONE, expm1},
             {HLO_OP_LOG, log},         {HLO_OP_SINE, sin},       {HLO_OP_TAN, tan},         {HLO_OP_LOG_PLUS_ONE, log1p},
             {HLO_OP_LOGISTIC, logistic}, {HLO_OP_TANH, tanh}};
static const struct {
  hlo_op op;
  double (*library)(double, double);
} binary[] = {{HLO_OP_ATAN2, atan2}, {HLO_OP_POWER, pow}, {HLO_OP_REMAINDER, fmod}};

enum { BLOCK = 1024 };

static hlo_eval_fn find(hlo_op op, int n, hlo_dtype from, hlo_dtype to, hlo_eval_param *param) {
  const char *reason = NULL;
  hlo_dtype types[2] = {from, from};
  hlo_eval_fn fn = hlo_eval_lookup(op, NULL, n, types, to, param, &reason);
  ck_assert_msg(fn != NULL, "no loop: %s", reason ? reason : "");
  return fn;
}

static void same(hlo_op op, const float *x, const float *z, const float *got, const float *want, int n) {
  for (int k = 0; k < n; k++)
    if (memcmp(&got[k], &want[k], 4) && !(isnan(got[k]) && isnan(want[k])))
      ck_abort_msg("%s(%a, %a) = %a, not %a", hlo_op_table[op].text_name, x[k], z ? z[k] : 0, got[k], want[k]);
}

START_TEST(f32_patterns) {
  const char *step_text = getenv("LEMNOS_EVAL_STEP");
  uint64_t step = step_text ? strtoull(step_text, NULL, 10) : 4099;
  for (size_t f = 0; f < sizeof unary / sizeof *unary; f++) {
    hlo_eval_param param;
    hlo_eval_fn fn = find(unary[f].op, 1, HLO_F32, HLO_F32, &param);
    float x[BLOCK], got[BLOCK], want[BLOCK];
    for (uint64_t at = 0; at < UINT64_C(1) << 32;) {
      int n = 0;
      for (; n < BLOCK && at < UINT64_C(1) << 32; n++, at += step) {
        uint32_t u = (uint32_t)at;
        memcpy(&x[n], &u, 4);
        want[n] = (float)unary[f].library(x[n]);
      }
      const void *in = x;
      fn(&param, n, &in, got);
      same(unary[f].op, x, NULL, got, want, n);
    }
  }
}
END_TEST

// Values where rounding is decided by a hair, or special: both neighbours of powers of two, small integers, ends of ranges.
START_TEST(f32_edges) {
  float x[BLOCK], got[BLOCK], want[BLOCK];
  int n = 0;
  for (int e = -149; e < 128; e++) x[n++] = ldexpf(1, e), x[n++] = -ldexpf(1, e);
  for (int k = -100; k <= 100; k++) x[n++] = (float)k, x[n++] = (float)(k * M_PI / 2);
  const float ends[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 88.722839f, 88.72284f, -103.97208f, -103.97209f, 1e5f, 689.9f, 690};
  for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) x[n++] = ends[k];
  ck_assert_int_le(n, BLOCK);
  for (size_t f = 0; f < sizeof unary / sizeof *unary; f++) {
    hlo_eval_param param;
    hlo_eval_fn fn = find(unary[f].op, 1, HLO_F32, HLO_F32, &param);
    const void *in = x;
    fn(&param, n, &in, got);
    for (int k = 0; k < n; k++) want[k] = (float)unary[f].library(x[k]);
    same(unary[f].op, x, NULL, got, want, n);
    memcpy(got, x, sizeof x);  // in place
    in = got;
    fn(&param, n, &in, got);
    same(unary[f].op, x, NULL, got, want, n);
  }
}
END_TEST

START_TEST(small_types) {
  for (size_t f = 0; f < sizeof unary / sizeof *unary; f++)
    for (int t = 0; t < 2; t++) {
      hlo_dtype type = t ? HLO_F16 : HLO_BF16;
      hlo_eval_param param, widen, narrow;
      hlo_eval_fn fn = find(unary[f].op, 1, type, type, &param), to = find(HLO_OP_CONVERT, 1, type, HLO_F64, &widen),
                  from = find(HLO_OP_CONVERT, 1, HLO_F64, type, &narrow);
      uint16_t x[BLOCK], got[BLOCK], want[BLOCK];
      double wide[BLOCK];
      for (int at = 0; at < 65536; at += BLOCK) {
        for (int k = 0; k < BLOCK; k++) x[k] = (uint16_t)(at + k);
        const void *in = x;
        fn(&param, BLOCK, &in, got);
        to(&widen, BLOCK, &in, wide);
        for (int k = 0; k < BLOCK; k++) wide[k] = unary[f].library(wide[k]);
        in = wide;
        from(&narrow, BLOCK, &in, want);
        for (int k = 0; k < BLOCK; k++)
          if (got[k] != want[k] && !isnan(wide[k]))
            ck_abort_msg("%s of %s 0x%x: 0x%x, not 0x%x", hlo_op_table[unary[f].op].text_name, hlo_dtype_table[type].hlo_name, x[k], got[k], want[k]);
      }
    }
}
END_TEST

static uint64_t next(uint64_t *s) {  // xorshift64*
  *s ^= *s >> 12, *s ^= *s << 25, *s ^= *s >> 27;
  return *s * UINT64_C(2685821657736338717);
}

START_TEST(f32_pairs) {
  const char *step_text = getenv("LEMNOS_EVAL_STEP");
  uint64_t s = 88172645463325252, step = step_text ? strtoull(step_text, NULL, 10) : 4099;
  const float special[] = {0.0f, -0.0f, 1, -1, 2, -2, 3, 0.5f, INFINITY, -INFINITY, NAN, 0x1p-149f, 3.4028235e38f, 10, 100};
  for (size_t f = 0; f < sizeof binary / sizeof *binary; f++) {
    hlo_eval_param param;
    hlo_eval_fn fn = find(binary[f].op, 2, HLO_F32, HLO_F32, &param);
    for (uint64_t done = 0; done < (UINT64_C(1) << 32) / step; done += BLOCK) {
      float x[BLOCK], z[BLOCK], got[BLOCK], want[BLOCK];
      for (int k = 0; k < BLOCK; k++) {
        uint64_t r = next(&s);
        uint32_t a = (uint32_t)r, b = (uint32_t)(r >> 32);
        memcpy(&x[k], &a, 4);
        memcpy(&z[k], &b, 4);
        uint64_t how = next(&s) >> 32;
        if (how % 4 == 0) x[k] = (float)(a % 4096) / 64, z[k] = (float)(int)(b % 1024 - 512) / 32;  // exact powers among them
        if (how % 4 == 1) x[k] = ldexpf((float)a, -31), z[k] = ldexpf((float)(int32_t)b, -26);
        if (how % 16 == 5) x[k] = z[k] * (float)(b % 1024);  // multiples: a remainder of zero, or of nearly the divisor
        if (how % 64 == 2) x[k] = special[a % 15];
        if (how % 64 == 3) z[k] = special[b % 15];
        want[k] = (float)binary[f].library(x[k], z[k]);
      }
      const void *in[2] = {x, z};
      fn(&param, BLOCK, in, got);
      same(binary[f].op, x, z, got, want, BLOCK);
    }
  }
}
END_TEST

HARNESS_MAIN("hlo_eval_fast", f32_patterns, f32_edges, small_types, f32_pairs)
