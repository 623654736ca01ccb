// SPDX-License-Identifier: Apache-2.0
// The vector versions of complex functions (hlo/eval_complex_fast.c) against the scalar ones (hlo/eval_complex_body.h),
// bit for bit: random arguments (LEMNOS_EVAL_COMPLEX of them, default 131,072, per function) over all exponents, in the
// range of everyday values, on circles where |z| or |1 + z| is nearly 1, on the curves where a part is nearly 0, and
// every pair of special values. And against values from mpmath (eval_complex_cases.def).
#include <float.h>
#include <math.h>

#include "hlo/eval.h"
#include "hlo/eval_internal.h"
#include "tests/harness.h"

enum { POWER_PARTS = 5, BLOCK = 1000 };
static const double power_log2[POWER_PARTS] = {-0x1.23a2a82ea0c24p-219, -0x1.ace93a4ebe5d1p-165, 0x1.7b57a079a1934p-111,
                                               0x1.abc9e3b39803fp-56, 0x1.62e42fefa39efp-1};
static const double power_pi[POWER_PARTS] = {0x1.31d89cd9128a5p-217, 0x1.4cf98e804177dp-163, -0x1.f1976b7ed8fbcp-109,
                                             0x1.1a62633145c07p-53, 0x1.921fb54442d18p+1};
#define R double
#define DIGITS DBL_MANT_DIG
#define N(name) name##_d
#define M(name) name
#pragma GCC diagnostic ignored "-Wunused-function"
#include "hlo/eval_complex_body.h"
#include "hlo/eval_power_body.h"

static cplx_d c_modulus_d(cplx_d a) {
  return c_make_d(c_abs_d(a), 0);
}

static const struct {
  hlo_op op;
  cplx_d (*scalar)(cplx_d);
} unary[] = {
    {HLO_OP_ABS, c_modulus_d},
#define COMPLEX_UNARY(OP, fn) {HLO_OP_##OP, fn##_d},
#include "hlo/scalar.def"
};
static const struct {
  hlo_op op;
  cplx_d (*scalar)(cplx_d, cplx_d);
} binary[] = {
#define COMPLEX_BINARY(OP, fn) {HLO_OP_##OP, fn##_d},
#include "hlo/scalar.def"
};

static uint64_t next(uint64_t *s) {  // xorshift64*
  *s ^= *s >> 12, *s ^= *s << 25, *s ^= *s >> 27;
  return *s * UINT64_C(2685821657736338717);
}
static double unit(uint64_t *s) {  // in [-1, 1)
  return ldexp((double)(int64_t)next(s), -63);
}

static const float special[] = {0.0f,      -0.0f,   1,        -1,          2,        -2,        0.5f,
                                -0.5f,     3,       INFINITY, -INFINITY,   NAN,      0x1p-149f, -0x1p-149f,
                                FLT_MIN,   FLT_MAX, -FLT_MAX, (float)M_PI, M_PI / 2, -M_PI / 4, 88.72284f,
                                -103.972f, 1e5f,    299.99f,  0x1p-75f,    0x1p64f,  0x1p-30f,  1.5e4f};
enum { SPECIALS = sizeof special / sizeof *special };

// How arguments are drawn; most functions have their hard cases in a few of these.
static void draw(uint64_t *s, float z[2]) {
  uint64_t r = next(s), how = next(s) >> 40;
  uint32_t bits[2] = {(uint32_t)r, (uint32_t)(r >> 32)};
  double a = unit(s), b = unit(s), t = M_PI * unit(s), near = ldexp(unit(s), -(int)(how / 64 % 24));
  switch (how % 16) {
    case 0:
    case 1: memcpy(z, bits, sizeof bits); return;  // any exponents, infinities, NaN
    case 2: z[0] = (float)ldexp(a, (int)(bits[0] % 40) - 20), z[1] = (float)ldexp(b, (int)(bits[1] % 40) - 20); return;
    case 3: z[0] = (float)cos(t), z[1] = (float)sin(t); return;  // |z| = 1
    case 4: z[0] = (float)((1 + near) * cos(t)), z[1] = (float)((1 + near) * sin(t)); return;
    case 5: z[0] = (float)(cos(t) - 1), z[1] = (float)sin(t); return;  // |1 + z| = 1
    case 6: z[0] = (float)((1 + near) * cos(t) - 1), z[1] = (float)((1 + near) * sin(t)); return;
    case 7: z[1] = (float)(1.5 * a), z[0] = (float)(-log(cos(z[1])) + near); return;         // exp(x) cos y = 1
    case 8: z[1] = (float)(M_PI + 1.5 * a), z[0] = (float)(log(-cos(z[1])) + near); return;  // exp(x) = -cos y
    case 9:
      z[0] = (float)near, z[1] = (float)(M_PI / 2 * (double)(bits[0] % 64) + ldexp(b, -(int)(bits[1] % 30)));
      return;
    case 10:
      z[1] = (float)near, z[0] = (float)(M_PI / 2 * (double)(bits[0] % 64) + ldexp(b, -(int)(bits[1] % 30)));
      return;
    case 11: z[0] = (float)(int)(bits[0] % 64) - 32, z[1] = (float)(int)(bits[1] % 64) - 32; return;  // exact results
    case 12:
      z[0] = (float)a, z[1] = how / 16 % 2 ? 0.0f : -0.0f;
      if (how / 32 % 2) z[1] = z[0], z[0] = 0;
      return;
    case 13: z[0] = (float)(100 * a), z[1] = (float)(100 * b); return;
    case 14: z[0] = special[bits[0] % SPECIALS], z[1] = how / 16 % 2 ? (float)b : special[bits[1] % SPECIALS]; return;
    default: z[0] = (float)a, z[1] = (float)b; return;
  }
}

static void same(hlo_op op, const float *x, const float *z, const float *got, cplx_d want, int width) {
  float w[2] = {(float)want.re, (float)want.im};
  for (int k = 0; k < width; k++)
    if (memcmp(&got[k], &w[k], 4) && !(isnan(got[k]) && isnan(w[k])))
      ck_abort_msg("%s((%a, %a), (%a, %a)), part %d: %a, not %a", hlo_op_table[op].text_name, x[0], x[1], z ? z[0] : 0,
                   z ? z[1] : 0, k, got[k], w[k]);
}

static hlo_eval_fn find(hlo_op op, int n, hlo_eval_param *param) {
  const char *reason = NULL;
  hlo_dtype types[2] = {HLO_C64, HLO_C64};
  hlo_eval_fn fn = hlo_eval_lookup(op, NULL, n, types, op == HLO_OP_ABS ? HLO_F32 : HLO_C64, param, &reason);
  ck_assert_msg(fn != NULL, "no loop: %s", reason ? reason : "");
  return fn;
}

static void check_unary(int f, int n, const float *x) {
  float got[2 * BLOCK];
  hlo_eval_param param;
  int width = unary[f].op == HLO_OP_ABS ? 1 : 2;
  const void *in = x;
  find(unary[f].op, 1, &param)(&param, n, &in, got);
  for (int k = 0; k < n; k++)
    same(unary[f].op, x + 2 * k, NULL, got + width * k, unary[f].scalar(c_make_d(x[2 * k], x[2 * k + 1])), width);
}

static void check_binary(int f, int n, const float *x, const float *z) {
  float got[2 * BLOCK];
  hlo_eval_param param;
  const void *in[2] = {x, z};
  find(binary[f].op, 2, &param)(&param, n, in, got);
  for (int k = 0; k < n; k++)
    same(binary[f].op, x + 2 * k, z + 2 * k, got + 2 * k,
         binary[f].scalar(c_make_d(x[2 * k], x[2 * k + 1]), c_make_d(z[2 * k], z[2 * k + 1])), 2);
}

START_TEST(c64_random) {
  const char *count_text = getenv("LEMNOS_EVAL_COMPLEX");
  uint64_t s = 88172645463325252, count = count_text ? strtoull(count_text, NULL, 10) : 131072;
  float x[2 * BLOCK], z[2 * BLOCK];
  for (uint64_t done = 0; done < count;) {
    int n = 1 + (int)(next(&s) >> 32) % BLOCK;  // whole vectors or not
    for (int k = 0; k < n; k++) draw(&s, x + 2 * k), draw(&s, z + 2 * k);
    for (size_t f = 0; f < sizeof unary / sizeof *unary; f++) check_unary((int)f, n, x);
    for (size_t f = 0; f < sizeof binary / sizeof *binary; f++) check_binary((int)f, n, x, z);
    done += (uint64_t)n;
  }
}
END_TEST

START_TEST(c64_specials) {
  float x[2 * SPECIALS * SPECIALS], z[2 * SPECIALS * SPECIALS];
  int n = SPECIALS * SPECIALS;
  ck_assert_int_le(n, BLOCK);
  for (int k = 0; k < n; k++) x[2 * k] = special[k / SPECIALS], x[2 * k + 1] = special[k % SPECIALS];
  for (size_t f = 0; f < sizeof unary / sizeof *unary; f++) check_unary((int)f, n, x);
  for (int j = 0; j < n; j++) {
    for (int k = 0; k < n; k++) z[2 * k] = x[2 * j], z[2 * k + 1] = x[2 * j + 1];
    for (size_t f = 0; f < sizeof binary / sizeof *binary; f++) check_binary((int)f, n, x, z);
  }
}
END_TEST

// Results may take their operands' place.
START_TEST(c64_in_place) {
  uint64_t s = 1;
  float x[2 * BLOCK], z[2 * BLOCK], want[2 * BLOCK], got[2 * BLOCK];
  for (int k = 0; k < BLOCK; k++) draw(&s, x + 2 * k), draw(&s, z + 2 * k);
  for (size_t f = 0; f < sizeof unary / sizeof *unary + sizeof binary / sizeof *binary; f++)
    for (int place = 0; place < 2; place++) {
      size_t u = sizeof unary / sizeof *unary;
      hlo_eval_param param;
      if (f == 0 || (f < u && place == 1)) continue;  // abs: of another size
      hlo_eval_fn fn = f < u ? find(unary[f].op, 1, &param) : find(binary[f - u].op, 2, &param);
      const void *in[2] = {x, z};
      fn(&param, BLOCK, in, want);
      memcpy(got, in[place], sizeof got);
      in[place] = got;
      fn(&param, BLOCK, in, got);
      ck_assert_msg(memcmp(got, want, sizeof got) == 0, "function %d in place", (int)f);
    }
}
END_TEST

START_TEST(c64_hard) {
  static const struct {
    hlo_op op;
    int operands;
    float x[4], want[2];
  } cases[] = {
#define CU(op, x, y, re, im) {HLO_OP_##op, 1, {x, y}, {re, im}},
#define CB(op, x, y, u, v, re, im) {HLO_OP_##op, 2, {x, y, u, v}, {re, im}},
#include "tests/hlo/eval_complex_cases.def"
  };
  int n = sizeof cases / sizeof *cases;
  ck_assert_int_eq(n, 19 * 14);
  for (int k = 0; k < n; k++) {
    float x[22], z[22], got[22];  // vectors and what is left of them
    for (int i = 0; i < 22; i++) x[i] = cases[k].x[i % 2], z[i] = cases[k].x[2 + i % 2];
    hlo_eval_param param;
    const void *in[2] = {x, z};
    find(cases[k].op, cases[k].operands, &param)(&param, 11, in, got);
    int width = cases[k].op == HLO_OP_ABS ? 1 : 2;
    for (int i = 0; i < 11; i++)
      same(cases[k].op, x, z, got + width * i, c_make_d(cases[k].want[0], cases[k].want[1]), width);
  }
}
END_TEST

HARNESS_MAIN("hlo_eval_complex", c64_random, c64_specials, c64_in_place, c64_hard)
