// SPDX-License-Identifier: Apache-2.0
// Special functions that libm lacks: erf_inv, digamma, polygamma, Hurwitz zeta, bessel_i1e, and a reentrant lgamma.
//
// Each is computed in long double (about 1e-18) and the double form, which serves f32 and narrower, calls it:
//   erf_inv     Giles' single-precision approximation ("Approximating the erfinv function", 2012), then Halley steps; near
//               +-1 on erfc, so that 1 - x keeps its digits
//   digamma     Taylor series about its positive root; else recurrence up to x >= 16, then the asymptotic series;
//               reflection for negative x (absolute accuracy near the negative roots)
//   zeta(s, q)  Euler-Maclaurin from q >= 16 + 2s; for q < 0 (integer s) both sides of zero are positive-q zetas
//   polygamma   (-1)^(n+1) n! zeta(n+1, x)
//   bessel_i1e  power series up to 30 (all terms positive), then the asymptotic series
// Poles and domains follow CHLO's decompositions: digamma at 0, -1, .. is NaN, zeta there is +inf, zeta(1, q) = +inf,
// zeta(s < 1, q) = NaN, polygamma of a negative or fractional n is NaN.
#define _DEFAULT_SOURCE  // lgamma_r
#include "hlo/eval_internal.h"

// the positive root of digamma: a double and the rest
#define DIGAMMA_ROOT_HIGH 1.46163214496836224576270524267L
#define DIGAMMA_ROOT_LOW 9.549995429965697715184199e-17L

double hlo_lgamma(double x) {
  int sign;
  return isinf(x) ? INFINITY : lgamma_r(x, &sign);
}
long double hlo_lgammal(long double x) {
  int sign;
  return isinf(x) ? (long double)INFINITY : lgammal_r(x, &sign);
}

static double erf_inv_start(double x) {
  static const double central[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                   -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
  static const double tail[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                                -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
  double w = -log((1 - x) * (1 + x));
  const double *c = w < 5 ? central : tail;
  w = w < 5 ? w - 2.5 : sqrt(w) - 3;
  double p = c[0];
  for (int i = 1; i < 9; i++) p = p * w + c[i];
  return p * x;
}

long double hlo_erf_invl(long double x) {
  if (x != x || x < -1 || x > 1) return NAN;
  if (x == 1 || x == -1) return x * (long double)INFINITY;
  if (fabsl(x) < 1e-12L) return x * (sqrtl(EVAL_PI) / 2);  // the next term is x^2 pi/12 smaller
  long double u = fabsl(x), y = erf_inv_start((double)u);
  if (!isfinite(y)) y = 5.9L;     // u rounded to 1 in double
  for (int i = 0; i < 40; i++) {  // two or three; more in the far tail, where the start is poor
    long double f = u > 0.5L ? (1 - u) - erfcl(y) : erfl(y) - u;
    long double step = f / (2 / sqrtl(EVAL_PI) * expl(-y * y));
    y -= step / (1 + y * step);
    if (fabsl(step) < 1e-8L * y) break;  // cubic: the next step is below 1e-20
  }
  return copysignl(y, x);
}
double hlo_erf_inv(double x) {
  return (double)hlo_erf_invl(x);
}

// digamma(root + d) = sum c[k] d^(k+1)
static long double digamma_near_root(long double d) {
  // clang-format off
  static const long double c[] = {
#include "hlo/eval_digamma_root.def"
  };
  // clang-format on
  long double s = 0;
  for (int k = (int)(sizeof c / sizeof c[0]) - 1; k >= 0; k--) s = s * d + c[k];
  return s * d;
}

long double hlo_digammal(long double x) {
  // B_2k / 2k
  static const long double b[] = {1 / 12.0L,       -1 / 120.0L, 1 / 252.0L,      -1 / 240.0L,      1 / 132.0L,
                                  -691 / 32760.0L, 1 / 12.0L,   -3617 / 8160.0L, 43867 / 14364.0L, -174611 / 6600.0L};
  if (x != x || x == -(long double)INFINITY || (x <= 0 && x == floorl(x))) return NAN;
  if (x == (long double)INFINITY) return x;
  if (x < 0) {
    long double f = x - rintl(x);  // tan has period 1 here; exact
    return hlo_digammal(1 - x) - EVAL_PI / tanl(EVAL_PI * f);
  }
  long double d = x - DIGAMMA_ROOT_HIGH - DIGAMMA_ROOT_LOW;
  if (fabsl(d) < 0.25L) return digamma_near_root(d);
  long double shift = 0;
  for (; x < 16; x += 1) shift += 1 / x;
  long double y = 1 / (x * x), s = 0;
  for (int k = 9; k >= 0; k--) s = (s + b[k]) * y;
  return logl(x) - 0.5L / x - s - shift;
}
double hlo_digamma(double x) {
  return (double)hlo_digammal(x);
}

// q > 0, s > 1, both finite
static long double zeta_positive(long double s, long double q) {
  // B_2j / (2j)!
  static const long double b[] = {1 / 12.0L,
                                  -1 / 720.0L,
                                  1 / 30240.0L,
                                  -1 / 1209600.0L,
                                  1 / 47900160.0L,
                                  -691 / 1307674368000.0L,
                                  1 / 74724249600.0L,
                                  -3617 / 10670622842880000.0L,
                                  43867 / 5109094217170944000.0L,
                                  -174611 / 802857662698291200000.0L};
  const long double far = 16 + 2 * s;
  long double sum = 0, term = 0;
  for (; q < far; q += 1) {
    term = powl(q, -s);
    sum += term;
    if (term <= sum * 1e-21L || isinf(sum)) return sum;
  }
  long double power = powl(q, -s), tail = q * power / (s - 1) + power / 2;
  long double factor = s * power / q;  // s (s+1) .. (s+2j-2) q^(-s-2j+1)
  for (int j = 0; j < 10; j++) {
    term = b[j] * factor;
    tail += term;
    if (fabsl(term) < fabsl(tail + sum) * 1e-21L) break;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2) / (q * q);
  }
  return sum + tail;
}

long double hlo_zetal(long double s, long double q) {
  if (s != s || q != q) return NAN;
  if (s == 1 || (q <= 0 && q == floorl(q))) return INFINITY;
  if (s < 1) return NAN;
  if (q <= 0) {
    if (s != floorl(s) || isinf(s)) return NAN;
    long double m = floorl(-q) + 1, sign = fmodl(s, 2) == 0 ? 1 : -1;  // terms q, q+1, .. q+m-1 are negative
    if (sign < 0 && m < 64) {  // (f+j)^-s - (g+j)^-s nearly cancel where f is near 1/2
      long double f = q + m, g = -(q + m - 1), sum = zeta_positive(s, f + m);
      for (long double j = m - 1; j >= 0; j--) sum += powl(g + j, -s) * expm1l(-s * log1pl((f - g) / (g + j)));
      return sum;
    }
    return zeta_positive(s, q + m) + sign * (zeta_positive(s, -(q + m - 1)) - zeta_positive(s, 1 - q));
  }
  if (isinf(q)) return 0;
  if (isinf(s)) return q > 1 ? 0 : q == 1 ? 1 : (long double)INFINITY;
  return zeta_positive(s, q);
}
double hlo_zeta(double s, double q) {
  return (double)hlo_zetal(s, q);
}

long double hlo_polygammal(long double n, long double x) {
  if (n != n || x != x || n < 0 || n != floorl(n) || isinf(n)) return NAN;
  if (n == 0) return hlo_digammal(x);
  long double z = hlo_zetal(n + 1, x), factorial = tgammal(n + 1), r = factorial * z;
  if (isinf(factorial)) r = z == 0 ? 0 : copysignl(expl(hlo_lgammal(n + 1) + logl(fabsl(z))), z);
  return fmodl(n, 2) == 0 ? -r : r;
}
double hlo_polygamma(double n, double x) {
  return (double)hlo_polygammal(n, x);
}

long double hlo_bessel_i1el(long double x) {
  if (x != x) return x;
  long double a = fabsl(x), r;
  if (isinf(a)) return copysignl(0, x);
  if (a <= 30) {  // x/2 sum (x^2/4)^k / (k! (k+1)!)
    long double y = a * a / 4, term = 1, sum = 1;
    for (int k = 1; k < 200 && term > sum * 1e-21L; k++) {
      term *= y / ((long double)k * (k + 1));
      sum += term;
    }
    r = a / 2 * sum * expl(-a);
  } else {  // product form of sum (-1)^k prod (4 - (2j-1)^2) / (k! (8x)^k)
    long double term = 1, sum = 1;
    for (int k = 1; k < 30 && fabsl(term) > 1e-21L; k++) {
      long double odd = 2 * k - 1;
      term *= -(4 - odd * odd) / (k * 8 * a);
      sum += term;
    }
    r = sum / sqrtl(2 * EVAL_PI * a);
  }
  return copysignl(r, x);
}
double hlo_bessel_i1e(double x) {
  return (double)hlo_bessel_i1el(x);
}
