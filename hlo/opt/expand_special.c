// SPDX-License-Identifier: Apache-2.0
// Special functions as HLO formulas in f32 or f64: erf_inv, lgamma, digamma, zeta, polygamma, bessel_i1e.
//
//   erf_inv      Giles' polynomials in w = -log(1 - x^2)
//   lgamma,      Lanczos' approximation with g = 7, n = 9; reflection below 1/2; lgamma on [1/2, 5/2] by a series about its
//   digamma      zero at 2 (near digamma's zero and lgamma's negative ones accurate absolutely, not relatively)
//   zeta(s, q)   N terms, then Euler-Maclaurin with M Bernoulli terms
//   polygamma    (-1)^(n+1) n! zeta(n+1, x)
//   bessel_i1e   Chebyshev series
// Poles and domains are those of hlo/eval.h.
#include <math.h>

#include "hlo/opt/expand.h"

#define PI 3.14159265358979323846

#define T(name, ...) static const double name[] = {__VA_ARGS__};
#include "hlo/opt/expand_special.def"
#undef T
#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

static bool is_f64(const expand *e) {
  return e->s->dtype == HLO_F64;
}

static hv polynomial(expand *e, hv x, const double *c, int n) {
  hv p = K(c[0]);
  for (int k = 1; k < n; k++) p = ADD(MUL(p, x), K(c[k]));
  return p;
}

// --- erf_inv -------------------------------------------------------------------------------------

static hv erf_inv(expand *e, hv x) {
  // x * x loses the distance to 1 where that matters: 1 - x keeps it.
  hv near_one = LOG(MUL(SUB(K(1), x), ADD(K(1), x)));
  hv w = NEG(SELECT(CMP(LT, ABS(x), K(0.5)), LOG1P(NEG(MUL(x, x))), near_one)), root = SQRT(w), p;
  if (is_f64(e)) {
    hv near = polynomial(e, SUB(w, K(3.125)), erf_inv_f64_near, COUNT(erf_inv_f64_near));
    hv mid = polynomial(e, SUB(root, K(3.25)), erf_inv_f64_mid, COUNT(erf_inv_f64_mid));
    hv far = polynomial(e, SUB(root, K(5)), erf_inv_f64_far, COUNT(erf_inv_f64_far));
    p = SELECT(CMP(LT, w, K(6.25)), near, SELECT(CMP(LT, w, K(16)), mid, far));
  } else {
    hv near = polynomial(e, SUB(w, K(2.5)), erf_inv_f32_near, COUNT(erf_inv_f32_near));
    hv far = polynomial(e, SUB(root, K(3)), erf_inv_f32_far, COUNT(erf_inv_f32_far));
    p = SELECT(CMP(LT, w, K(5)), near, far);
  }
  return SELECT(CMP(EQ, ABS(x), K(1)), MUL(x, K(INFINITY)), MUL(p, x));
}

// --- gamma function ------------------------------------------------------------------------------

#define LANCZOS_G 7.0
static const double lanczos[] = {
    0.99999999999980993227684700473478, 676.520368121885098567009190444019, -1259.13921672240287047156078755283,
    771.3234287776530788486528258894,   -176.61502916214059906584551354,    12.507343278686904814458936853,
    -0.13857109526572011689554707,      9.984369578019570859563e-6,         1.50563273514931155834e-7};

// z = x - 1, or -x below 1/2; a = c0 + sum c_k / (z + k), a' its derivative; t = z + g + 1/2 and its logarithm.
typedef struct lanczos_terms {
  hv reflect, z, a, da, t, log_t;
} lanczos_terms;

static lanczos_terms lanczos_of(expand *e, hv x) {
  lanczos_terms r = {.reflect = CMP(LT, x, K(0.5))};
  r.z = SELECT(r.reflect, NEG(x), SUB(x, K(1)));
  r.a = K(lanczos[0]);
  r.da = K(0);
  for (int k = 1; k < COUNT(lanczos); k++) {
    hv d = ADD(r.z, K(k));
    r.a = ADD(r.a, DIV(K(lanczos[k]), d));
    r.da = SUB(r.da, DIV(K(lanczos[k]), MUL(d, d)));
  }
  r.t = ADD(r.z, K(LANCZOS_G + 0.5));
  r.log_t = ADD(K(log(LANCZOS_G + 0.5)), LOG1P(DIV(r.z, K(LANCZOS_G + 0.5))));
  return r;
}

// On [1/2, 5/2], where the zeros at 1 and 2 are: a series about 2, and lgamma(1 + d) = lgamma(2 + d) - log(1 + d).
static hv lgamma_near(expand *e, hv x) {
  int n = is_f64(e) ? COUNT(lgamma_about_two) : 14;
  hv first = CMP(LT, x, K(1.5)), d = SUB(x, SELECT(first, K(1), K(2)));
  hv y = MUL(d, polynomial(e, d, lgamma_about_two + COUNT(lgamma_about_two) - n, n));
  return SELECT(first, SUB(y, LOG1P(d)), y);
}

static hv lgamma_value(expand *e, hv x) {
  lanczos_terms r = lanczos_of(e, x);
  // (z + 1/2) log t - t, factored so that it does not overflow early.
  hv main = MUL(SUB(ADD(r.z, K(0.5)), DIV(r.t, r.log_t)), r.log_t);
  hv right = ADD(ADD(K(0.5 * log(2 * PI)), main), LOG(r.a));
  // log(pi) - log|sin(pi x)| - lgamma(1 - x), with the fraction of x folded to [0, 1/2].
  hv magnitude = ABS(x), fraction = SUB(magnitude, FLOOR(magnitude));
  fraction = SELECT(CMP(GT, fraction, K(0.5)), SUB(K(1), fraction), fraction);
  hv log_sin = LOG(SIN(MUL(K(PI), fraction)));
  hv left = SELECT(IS_FINITE(log_sin), SUB(SUB(K(log(PI)), log_sin), right), NEG(log_sin));
  hv y = SELECT(r.reflect, left, SELECT(CMP(LT, x, K(2.5)), lgamma_near(e, x), right));
  return SELECT(CMP(EQ, magnitude, K(INFINITY)), K(INFINITY), y);
}

static hv digamma(expand *e, hv x) {
  lanczos_terms r = lanczos_of(e, x);
  hv right = SUB(ADD(r.log_t, DIV(r.da, r.a)), DIV(K(LANCZOS_G), r.t));
  // digamma(1 - x) - pi cot(pi x), x reduced to [-1/2, 1/2]
  hv angle = MUL(K(PI), SUB(x, FLOOR(ADD(x, K(0.5)))));
  hv left = SUB(right, DIV(MUL(K(PI), COS(angle)), SIN(angle)));
  hv pole = AND(CMP(LE, x, K(0)), CMP(EQ, x, FLOOR(x)));
  return SELECT(pole, K(NAN), SELECT(r.reflect, left, right));
}

// --- zeta ----------------------------------------------------------------------------------------

static hv zeta(expand *e, hv s, hv q) {
  // B_2j / (2j)!
  static const double b[] = {1 / 12.0,
                             -1 / 720.0,
                             1 / 30240.0,
                             -1 / 1209600.0,
                             1 / 47900160.0,
                             -691 / 1307674368000.0,
                             1 / 74724249600.0,
                             -3617 / 10670622842880000.0,
                             43867 / 5109094217170944000.0};
  int terms = is_f64(e) ? 14 : 8;
  hv minus = NEG(s), sum = POW(q, minus), a = q;
  for (int k = 1; k < terms; k++) sum = ADD(sum, POW(ADD(q, K(k)), minus));
  a = ADD(q, K(terms));
  hv power = POW(a, minus), inverse = DIV(K(1), a), square = MUL(inverse, inverse), series = K(b[COUNT(b) - 1]);
  for (int j = COUNT(b) - 2; j >= 0; j--)
    series = ADD(K(b[j]), MUL(MUL(MUL(ADD(s, K(2 * j + 1)), ADD(s, K(2 * j + 2))), square), series));
  hv tail = MUL(power, ADD(ADD(DIV(a, SUB(s, K(1))), K(0.5)), MUL(MUL(s, inverse), series)));
  hv y = ADD(sum, SELECT(IS_FINITE(tail), tail, K(0)));  // infinite q or s: nothing is left of it
  hv whole_s = CMP(EQ, s, FLOOR(s)), positive = CMP(GT, q, K(0)), whole_q = CMP(EQ, q, FLOOR(q));
  y = SELECT(OR(positive, whole_s), y, K(NAN));
  y = SELECT(CMP(LT, s, K(1)), K(NAN), y);
  y = SELECT(OR(CMP(EQ, s, K(1)), AND(CMP(LE, q, K(0)), whole_q)), K(INFINITY), y);
  return SELECT(OR(CMP(NE, s, s), CMP(NE, q, q)), K(NAN), y);
}

static hv polygamma(expand *e, hv n, hv x) {
  hv next = ADD(n, K(1)), half = MUL(next, K(0.5));
  hv sign = SELECT(CMP(EQ, half, FLOOR(half)), K(1), K(-1));  // (-1)^(n+1)
  hv y = MUL(MUL(sign, EXP(lgamma_value(e, next))), zeta(e, next, x));
  y = SELECT(CMP(EQ, n, K(0)), digamma(e, x), y);
  hv good = AND(CMP(EQ, n, FLOOR(n)), CMP(GE, n, K(0)));
  return SELECT(AND(good, CMP(LT, n, K(INFINITY))), y, K(NAN));
}

// --- Bessel --------------------------------------------------------------------------------------

static hv chebyshev(expand *e, hv x, const double *c, int n) {
  hv b0 = K(0), b1 = K(0), b2 = K(0);
  for (int k = 0; k < n; k++) {
    b2 = b1;
    b1 = b0;
    b0 = ADD(SUB(MUL(x, b1), b2), K(c[k]));
  }
  return MUL(K(0.5), SUB(b0, b2));
}

static hv bessel_i1e(expand *e, hv x) {
  hv z = ABS(x), inside = SUB(MUL(K(0.5), z), K(2)), outside = SUB(DIV(K(32), z), K(2)), near, far;
  if (is_f64(e)) {
    near = chebyshev(e, inside, i1e_f64_near, COUNT(i1e_f64_near));
    far = chebyshev(e, outside, i1e_f64_far, COUNT(i1e_f64_far));
  } else {
    near = chebyshev(e, inside, i1e_f32_near, COUNT(i1e_f32_near));
    far = chebyshev(e, outside, i1e_f32_far, COUNT(i1e_f32_far));
  }
  hv y = SELECT(CMP(LE, z, K(8)), MUL(z, near), DIV(far, SQRT(z)));
  return SELECT(CMP(LT, x, K(0)), NEG(y), y);
}

hv expand_special(expand *e, hlo_op op, hv x, hv y) {
  switch (op) {
    case HLO_OP_ERF_INV: return erf_inv(e, x);
    case HLO_OP_LGAMMA: return lgamma_value(e, x);
    case HLO_OP_DIGAMMA: return digamma(e, x);
    case HLO_OP_ZETA: return zeta(e, x, y);
    case HLO_OP_POLYGAMMA: return polygamma(e, x, y);
    case HLO_OP_BESSEL_I1E: return bessel_i1e(e, x);
    default: return NULL;
  }
}
