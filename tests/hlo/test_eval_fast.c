// SPDX-License-Identifier: Apache-2.0
// The vector versions of transcendental functions (hlo/eval_fast.c) against the C library, bit for bit: each function
// on f32 patterns in steps of LEMNOS_EVAL_STEP (default 4,099; 1 is all of them), on all bf16 and f16 patterns, and on
// random pairs. Where the library is expected to have been asked does not show: only results count.
//
// f64 (hlo/eval_fast64.c): hard cases from mpmath, and random arguments of all exponents against the library in long
// double, LEMNOS_EVAL_F64 of them (default 65,536) per function. A difference is allowed only where the long double's
// bits below f64's are within 6 of the middle, so that its own error may decide the rounding.
#include <float.h>
#include <math.h>

#include "hlo/eval.h"
#include "tests/harness.h"

static double logistic(double x) {
  return 1 / (1 + exp(-x));
}
static double rsqrt(double x) {
  return 1 / sqrt(x);
}

static const struct {
  hlo_op op;
  double (*library)(double);
} unary[] = {{HLO_OP_ATAN, atan},
             {HLO_OP_CBRT, cbrt},
             {HLO_OP_COSINE, cos},
             {HLO_OP_EXPONENTIAL, exp},
             {HLO_OP_EXPONENTIAL_MINUS_ONE, expm1},
             {HLO_OP_LOG, log},
             {HLO_OP_SINE, sin},
             {HLO_OP_TAN, tan},
             {HLO_OP_LOG_PLUS_ONE, log1p},
             {HLO_OP_LOGISTIC, logistic},
             {HLO_OP_TANH, tanh},
             {HLO_OP_RSQRT, rsqrt}};
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

// Values where rounding is decided by a hair, or special: both neighbours of powers of two, small integers, ends of
// ranges.
START_TEST(f32_edges) {
  float x[BLOCK], got[BLOCK], want[BLOCK];
  int n = 0;
  for (int e = -149; e < 128; e++) x[n++] = ldexpf(1, e), x[n++] = -ldexpf(1, e);
  for (int k = -100; k <= 100; k++) x[n++] = (float)k, x[n++] = (float)(k * M_PI / 2);
  const float ends[] = {0.0f,      -0.0f,       INFINITY,    -INFINITY, NAN,    88.722839f,
                        88.72284f, -103.97208f, -103.97209f, 1e5f,      689.9f, 690};
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
            ck_abort_msg("%s of %s 0x%x: 0x%x, not 0x%x", hlo_op_table[unary[f].op].text_name,
                         hlo_dtype_table[type].hlo_name, x[k], got[k], want[k]);
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
  const float special[] = {0.0f,      -0.0f,         1,  -1, 2, -2, 3, 0.5f, INFINITY, -INFINITY, NAN,
                           0x1p-149f, 3.4028235e38f, 10, 100};
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
        if (how % 4 == 0)
          x[k] = (float)(a % 4096) / 64, z[k] = (float)(int)(b % 1024 - 512) / 32;  // exact powers among them
        if (how % 4 == 1) x[k] = ldexpf((float)a, -31), z[k] = ldexpf((float)(int32_t)b, -26);
        // multiples: a remainder of zero, or of nearly the divisor
        if (how % 16 == 5) x[k] = z[k] * (float)(b % 1024);
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

static long double logisticl(long double x) {
  return 1 / (1 + expl(-x));
}
static long double rsqrtl(long double x) {
  return 1 / sqrtl(x);
}

static const struct {
  hlo_op op;
  long double (*library)(long double);
} unary64[] = {{HLO_OP_ATAN, atanl},
               {HLO_OP_CBRT, cbrtl},
               {HLO_OP_COSINE, cosl},
               {HLO_OP_EXPONENTIAL, expl},
               {HLO_OP_EXPONENTIAL_MINUS_ONE, expm1l},
               {HLO_OP_LOG, logl},
               {HLO_OP_SINE, sinl},
               {HLO_OP_TAN, tanl},
               {HLO_OP_LOG_PLUS_ONE, log1pl},
               {HLO_OP_LOGISTIC, logisticl},
               {HLO_OP_TANH, tanhl},
               {HLO_OP_RSQRT, rsqrtl}};
static const struct {
  hlo_op op;
  long double (*library)(long double, long double);
} binary64[] = {{HLO_OP_ATAN2, atan2l}, {HLO_OP_POWER, powl}, {HLO_OP_REMAINDER, fmodl}};

typedef struct hard_case {
  hlo_op op;
  double x, y, want;
} hard_case;

START_TEST(f64_hard) {
  // clang-format off
  static const hard_case cases[] = {
#define U(op, x, want) {HLO_OP_##op, x, 0, want},
#define B(op, x, y, want) {HLO_OP_##op, x, y, want},
#include "tests/hlo/eval_fast64_cases.def"
  };
  // clang-format on
  int n = sizeof cases / sizeof *cases;
  ck_assert_int_eq(n, 13 * 16);
  for (int k = 0; k < n; k++) {
    const hard_case *c = &cases[k];
    hlo_eval_param param;
    hlo_eval_fn fn = find(c->op, c->op == HLO_OP_ATAN2 || c->op == HLO_OP_POWER ? 2 : 1, HLO_F64, HLO_F64, &param);
    double x[11], y[11], got[11];  // vectors and what is left of them
    for (int i = 0; i < 11; i++) x[i] = c->x, y[i] = c->y;
    const void *in[2] = {x, y};
    fn(&param, 11, in, got);
    for (int i = 0; i < 11; i++)
      if (memcmp(&got[i], &c->want, 8))
        ck_abort_msg("%s(%a, %a)[%d] = %a, not %a", hlo_op_table[c->op].text_name, c->x, c->y, i, got[i], c->want);
  }
}
END_TEST

static void same64(hlo_op op, double x, double y, double got, long double want) {
  double rounded = (double)want;
  if (!memcmp(&got, &rounded, 8) || (isnan(got) && isnan(rounded))) return;
  if (isfinite(got) && isfinite(rounded) && op != HLO_OP_REMAINDER) {
    long double middle = ((long double)got + (long double)rounded) / 2, unit = ldexpl(1, ilogbl(want) - 63);
    if ((nextafter(got, rounded) == rounded) && fabsl(want - middle) <= 6 * unit) return;
  }
  ck_abort_msg("%s(%a, %a) = %a, not %a", hlo_op_table[op].text_name, x, y, got, rounded);
}

static double argument(uint64_t *s, const double *special, int specials) {
  uint64_t r = next(s), how = next(s) >> 40;
  double x;
  memcpy(&x, &r, 8);  // any exponent, NaN and infinities among them
  if (how % 4 == 1) x = ldexp((double)(int64_t)r, (int)(how / 4 % 24) - 76);  // up to 2^10
  if (how % 4 == 2) x = (double)(int64_t)(r >> 52) / 16 - 128;                // exact results among them
  if (how % 4 == 3) x = 1 + ldexp((double)(int64_t)r, -66 - (int)(how / 4 % 48));
  return how / 4 % 64 == 5 ? special[r % (uint64_t)specials] : x;
}

START_TEST(f64_library) {
  const char *count_text = getenv("LEMNOS_EVAL_F64");
  uint64_t s = 88172645463325252, count = count_text ? strtoull(count_text, NULL, 10) : 65536;
  const double special[] = {0.0,
                            -0.0,
                            1,
                            -1,
                            0.5,
                            2,
                            -2,
                            3,
                            INFINITY,
                            -INFINITY,
                            NAN,
                            0x1p-1074,
                            -0x1p-1074,
                            0x1p-1022,
                            DBL_MAX,
                            -DBL_MAX,
                            0x1p20,
                            -0x1p20,
                            600,
                            -600,
                            690,
                            709.78,
                            710,
                            -708.4,
                            -745.13,
                            25,
                            0x1p-400,
                            0x1p400,
                            0x1.921fb54442d18p+0,
                            0x1.921fb54442d18p+1,
                            0x1.6ac5b262ca1ffp+849};
  enum { SPECIALS = sizeof special / sizeof *special };
  int n_unary = sizeof unary64 / sizeof *unary64, n_binary = sizeof binary64 / sizeof *binary64;
  for (int f = 0; f < n_unary + n_binary; f++) {
    hlo_op op = f < n_unary ? unary64[f].op : binary64[f - n_unary].op;
    hlo_eval_param param;
    hlo_eval_fn fn = find(op, f < n_unary ? 1 : 2, HLO_F64, HLO_F64, &param);
    for (uint64_t done = 0; done < count; done += BLOCK) {
      double x[BLOCK], z[BLOCK], got[BLOCK];
      for (int k = 0; k < BLOCK; k++) {
        x[k] = argument(&s, special, SPECIALS), z[k] = argument(&s, special, SPECIALS);
        if (op == HLO_OP_REMAINDER && k % 4 == 0) z[k] = x[k] / (double)(1 + k);  // nearly a whole quotient
        if (op == HLO_OP_POWER && k % 2 == 0) x[k] = fabs(x[k]);
      }
      const void *in[2] = {x, z};
      fn(&param, BLOCK, in, got);
      for (int k = 0; k < BLOCK; k++)
        same64(op, x[k], f < n_unary ? 0 : z[k], got[k],
               f < n_unary ? unary64[f].library(x[k]) : binary64[f - n_unary].library(x[k], z[k]));
    }
  }
}
END_TEST

HARNESS_MAIN("hlo_eval_fast", f32_patterns, f32_edges, small_types, f32_pairs, f64_hard, f64_library)
