// SPDX-License-Identifier: Apache-2.0
// Transcendental functions for f64 in vectors, correctly rounded wherever they answer.
//
// A value is computed as an unevaluated sum of two doubles (double-double: Dekker 1971; products by FMA). Leading terms
// of the series are double-doubles, and a tail is plain double where it is so small that its rounding (2^-52 of it)
// does not matter. With the error bound EPS of each function, hi + (lo - EPS hi) and hi + (lo + EPS hi) round to the
// same number almost always, which then is the correctly rounded result (Ziv 1991). Otherwise, and outside the domain,
// the answer is NaN. A first pass (eval_fast64_first.h) is shorter and leaves about one element in a hundred to the
// second one (eval_fast64_dd.h); that one leaves one in some 10,000 to the C library in long double (error about 2^-64,
// so it may miss in these). What the first pass decides the second one would decide, too: results do not depend on it.
//
// Bounds of the second pass, relative: the sum of truncation, of the tail's rounding, and of double-double steps
// (2^-100 each).
//   exp     2^-69  tail r^5/720 + ... <= 2^-17.1 of exp(r) - 1, rounded by 2^-52; truncated at r^18/19! < 2^-83
//   log     2^-80  tail z^5/11 + ... <= 2^-28.7 of the result; truncated at z^18/37 < 2^-96
//   sin     2^-69  tail z^4/9! or z^4/8! <= 2^-18; pi/2 in three parts of 53 bits for |x| < 2^20: x - k P1 is exact by
//                  FMA (a multiple of 2^-53 below 1), the rest is within 2^-138, and |r| >= 2^-62 there
//   atan2   2^-69  tail z^6/13 <= 2^-18.9, truncated at z^28/57 < 2^-76
//   cbrt, rsqrt    2^-88: one Newton step from 2^-46
// Combined ones (tanh, logistic, expm1, tan) stay below 2^-69, too; pow below 2^-69 (log's error times 690, and exp's).
// EPS is 2^-67, of pow 2^-66: above every bound by a factor of four or more.
//
// The loops have no branches, calls or tables, so that compilers turn them into vectors.
#include "hlo/eval_fast64.h"

#include "hlo/eval_fast.h"
#include "hlo/eval_fast64_first.h"

// --- functions of several blocks
INLINE double atan2_within(double y, double x, double v) {
  double a = fabs(y), b = fabs(x), low = a < b ? a : b, high = a < b ? b : a;
  return ((low > 0x1p-400) & (high < 0x1p400)) ? v : NAN;
}
INLINE double pow_second_one(double a, double b) {
  dd e = mul_d(log_dd(a), b);
  bool inside = fabs(e.h) < 690;
  double r = settle(exp_dd(pick(inside, e, (dd){0, 0})), EPS_POW);
  return (inside & (a > 0x1p-1000) & (a < 0x1p1000) & (fabs(b) > 0x1p-500)) ? r : NAN;
}
// The quotient rounded to an integer misses by less than 5/8, so the remainder has no more bits than b: it is exact.
INLINE double fmod_any(double x, double y) {
  double a = fabs(x), b = fabs(y), q = a / b, k = q + ROUNDER - ROUNDER, r = fma_(-k, b, a);
  r = r < 0 ? r + b : r;
  r = of_bits(bits_of(r) | (bits_of(x) & UINT64_C(1) << 63));
  return ((q < 0x1p50) & (a < 0x1p1000) & (b > 0x1p-900)) ? r : NAN;
}

// --- loops
#define UNARY_PASS(NAME, domain, expr) \
  INLINE double NAME##_one(double a) { \
    bool fine = true;                  \
    double r = expr;                   \
    return ((domain)&fine) ? r : NAN;  \
  }                                    \
  VERSIONS(NAME, (int64_t n, const double *restrict x, double *restrict y), (n, x, y), y, NAME##_one(x[i]))
#define UNARY(NAME, domain, eps, first, second)              \
  UNARY_PASS(NAME##_first, domain, settle_first(first, eps)) \
  UNARY_PASS(NAME##_second, domain, settle(second, EPS))     \
  const hlo_fast64_unary_passes hlo_fast64_##NAME = {hlo_fast64_##NAME##_first, hlo_fast64_##NAME##_second};

// Domains: what the reductions bear, and where neither a result nor an error term is subnormal.
UNARY(exp, fabs(a) < 600, FIRST_EXP, exp_first(a), exp_dd((dd){a, 0}))
UNARY(expm1, (fabs(a) < 600) & (fabs(a) > 0x1p-900), FIRST_EXPM1, expm1_first(a), expm1_dd(a))
UNARY(logistic, fabs(a) < 600, FIRST_EXP, logistic_first(a), logistic_dd(a))
UNARY(log, (a > 0x1p-1000) & (a < 0x1p1000) & (a != 1), FIRST_LOG, log_first(a), log_dd(a))
UNARY(log1p, (a > -1) & (a < 0x1p1000) & (fabs(a) > 0x1p-400), FIRST_LOG, log1p_first(a), log1p_dd(a))
UNARY(tanh, fabs(a) > 0x1p-900, FIRST_TANH, tanh_first(a), tanh_dd(a))
UNARY(sin, (fabs(a) < 0x1p20) & (fabs(a) > 0x1p-400), FIRST_SIN, sine_first(a, &fine), sine(a))
UNARY(cos, fabs(a) < 0x1p20, FIRST_SIN, cosine_first(a, &fine), cosine(a))
UNARY(tan, (fabs(a) < 0x1p20) & (fabs(a) > 0x1p-400), FIRST_TAN, tangent_first(a, &fine), tangent(a))

UNARY(atan, (fabs(a) > 0x1p-400) & (fabs(a) < 0x1p400), FIRST_ATAN, atan2_first(a, 1), atan2_dd(a, 1))

INLINE double cbrt_one(double a, double y) {
  double r = settle(cbrt_from(a, y), EPS);
  return ((fabs(a) > 0x1p-800) & (fabs(a) < 0x1p800)) ? r : NAN;
}
INLINE double rsqrt_one(double a, double y) {
  double r = settle(rsqrt_from(a, y), EPS);
  return ((a > 0x1p-900) & (a < 0x1p900)) ? r : NAN;
}
#define BINARY(NAME, expr)                                                                                             \
  VERSIONS(NAME, (int64_t n, const double *restrict x, const double *restrict y, double *restrict z), (n, x, y, z), z, \
           expr)
BINARY(cbrt_refine, cbrt_one(x[i], y[i]))
BINARY(rsqrt_refine, rsqrt_one(x[i], y[i]))
BINARY(atan2_first, atan2_within(x[i], y[i], settle_first(atan2_first(x[i], y[i]), FIRST_ATAN)))
BINARY(pow_second, pow_second_one(x[i], y[i]))
BINARY(atan2_second, atan2_within(x[i], y[i], settle(atan2_dd(x[i], y[i]), EPS)))
// pow in two loops, which together wait less for their own results: b log a as h + l, then its exponential.
#define POW_LOG_LOOP                      \
  {                                       \
    for (int64_t i = 0; i < n; i++) {     \
      dd e = mul_d(log_fine(x[i]), y[i]); \
      h[i] = e.h, l[i] = e.l;             \
    }                                     \
  }
#define POW_EXP_LOOP                                                                     \
  {                                                                                      \
    for (int64_t i = 0; i < n; i++) {                                                    \
      dd e = {h[i], l[i]};                                                               \
      z[i] = ((fabs(e.h) < 690) & (x[i] > 0x1p-1000) & (x[i] < 0x1p1000))                \
                 ? settle_first(pow_first(e), fma_(fabs(e.h), FIRST_POW_LOG, FIRST_EXP)) \
                 : NAN;                                                                  \
    }                                                                                    \
  }
VERSIONS_OF(pow_log,
            (int64_t n, const double *restrict x, const double *restrict y, double *restrict h, double *restrict l),
            (n, x, y, h, l), POW_LOG_LOOP)
VERSIONS_OF(pow_exp,
            (int64_t n, const double *restrict x, const double *restrict y, const double *restrict h,
             const double *restrict l, double *restrict z),
            (n, x, y, h, l, z), POW_EXP_LOOP)
static void hlo_fast64_pow_first(int64_t n, const double *restrict x, const double *restrict y, double *restrict z) {
  double h[EVAL_BLOCK], l[EVAL_BLOCK];
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    hlo_fast64_pow_log(m, x + i, y + i, h, l);
    hlo_fast64_pow_exp(m, x + i, y + i, h, l, z + i);
  }
}
BINARY(fmod_first, fmod_any(x[i], y[i]))
const hlo_fast64_binary_passes hlo_fast64_pow = {hlo_fast64_pow_first, hlo_fast64_pow_second};
const hlo_fast64_binary_passes hlo_fast64_atan2 = {hlo_fast64_atan2_first, hlo_fast64_atan2_second};
const hlo_fast64_binary_passes hlo_fast64_fmod = {hlo_fast64_fmod_first, NULL};

// First approximations: what serves f32.
#define FROM_START(NAME)                                                             \
  static void NAME##_both(int64_t n, const double *restrict x, double *restrict y) { \
    double start[EVAL_BLOCK];                                                        \
    for (int64_t i = 0; i < n; i += EVAL_BLOCK) {                                    \
      int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;                           \
      hlo_fast_##NAME(m, x + i, start);                                              \
      hlo_fast64_##NAME##_refine(m, x + i, start, y + i);                            \
    }                                                                                \
  }                                                                                  \
  const hlo_fast64_unary_passes hlo_fast64_##NAME = {NAME##_both, NULL};
FROM_START(cbrt)
FROM_START(rsqrt)

// --- both passes, then the library
// What the first pass left undecided is gathered, from several blocks: the second one wants full vectors, too.
enum { PENDING = 256, LANES = 8 };
typedef struct pending {
  int n;
  int64_t at[PENDING + EVAL_BLOCK];
  double x[PENDING + EVAL_BLOCK], y[PENDING + EVAL_BLOCK];
} pending;

// Appends the positions of NaN in r, which holds the results `from` on, and their operands.
LEMNOS_CLONES static void gather(pending *p, int64_t n, const double *restrict r, int64_t from, const double *x,
                                 const double *y) {
  enum { GROUP = 32 };
  for (int64_t i = 0; i < n; i += GROUP) {
    int64_t end = i + GROUP < n ? i + GROUP : n;
    uint64_t any = 0;
    if (end - i == GROUP)
      for (int64_t k = i; k < i + GROUP; k++) any |= (uint64_t)(r[k] != r[k]);
    else
      any = 1;
    for (int64_t k = i; any && k < end; k++)
      if (r[k] != r[k]) p->at[p->n] = from + k, p->x[p->n] = x[k], p->y[p->n++] = y[k];
  }
}

static void pad(pending *p) {
  for (int k = p->n; k < (p->n + LANES - 1) / LANES * LANES; k++) p->x[k] = p->x[k - 1], p->y[k] = p->y[k - 1];
}

static void finish_unary(pending *p, double *out, const hlo_fast64_unary_passes *fast,
                         long double (*exact)(long double)) {
  double r[PENDING + EVAL_BLOCK];
  if (!p->n) return;
  pad(p);
  if (fast->second) fast->second((p->n + LANES - 1) / LANES * LANES, p->x, r);
  for (int k = 0; k < p->n; k++)
    out[p->at[k]] = fast->second && r[k] == r[k] ? r[k] : (double)exact((long double)p->x[k]);
  p->n = 0;
}

void hlo_fast64_unary(int64_t n, const double *in, double *out, const hlo_fast64_unary_passes *fast,
                      long double (*exact)(long double)) {
  double block[EVAL_BLOCK];
  pending p;
  p.n = 0;
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    double *y = in == out ? block : out + i;
    fast->first(m, in + i, y);
    gather(&p, m, y, i, in + i, in + i);
    if (in == out) memcpy(out + i, y, sizeof *y * (size_t)m);
    if (p.n >= PENDING) finish_unary(&p, out, fast, exact);
  }
  finish_unary(&p, out, fast, exact);
}

static void finish_binary(pending *p, double *out, const hlo_fast64_binary_passes *fast,
                          long double (*exact)(long double, long double)) {
  double r[PENDING + EVAL_BLOCK];
  if (!p->n) return;
  pad(p);
  if (fast->second) fast->second((p->n + LANES - 1) / LANES * LANES, p->x, p->y, r);
  for (int k = 0; k < p->n; k++)
    out[p->at[k]] = fast->second && r[k] == r[k] ? r[k] : (double)exact((long double)p->x[k], (long double)p->y[k]);
  p->n = 0;
}

void hlo_fast64_binary(int64_t n, const double *a, const double *b, double *out, const hlo_fast64_binary_passes *fast,
                       long double (*exact)(long double, long double)) {
  double block[EVAL_BLOCK];
  bool in_place = a == out || b == out;
  pending p;
  p.n = 0;
  for (int64_t i = 0; i < n; i += EVAL_BLOCK) {
    int64_t m = n - i < EVAL_BLOCK ? n - i : EVAL_BLOCK;
    double *z = in_place ? block : out + i;
    fast->first(m, a + i, b + i, z);
    gather(&p, m, z, i, a + i, b + i);
    if (in_place) memcpy(out + i, z, sizeof *z * (size_t)m);
    if (p.n >= PENDING) finish_binary(&p, out, fast, exact);
  }
  finish_binary(&p, out, fast, exact);
}
