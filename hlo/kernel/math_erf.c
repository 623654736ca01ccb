// SPDX-License-Identifier: Apache-2.0
// Error function and its complement, as kernel IR: rational approximations (Cephes ndtr.c, after W. J. Cody, "Rational
// Chebyshev approximations for the error function", 1969), exp(-x^2) with the square carried in two parts.
#include <math.h>

#include "hlo/kernel/math_internal.h"

// erf for |x| <= 1
static val erf_small(math *m, val x) {
  static const double t[] = {9.60497373987051638749E0, 9.00260197203842689217E1, 2.23200534594684319226E3,
                             7.00332514112805075473E3, 5.55923013010394962768E4};
  static const double u[] = {1.0,
                             3.35617141647503099647E1,
                             5.21357949780152679795E2,
                             4.59432382970980127987E3,
                             2.26290000613890934246E4,
                             4.92673942608635921086E4};
  val z = m_mul(m, x, x);
  return m_mul(m, x, m_div(m, m_poly(m, z, 5, t), m_poly(m, z, 6, u)));
}

// exp(-a^2): a = h + l with h short, so that h^2 is exact.
static val exp_minus_square(math *m, val a) {
  int64_t mask = m_is64(m) ? ~INT64_C(0x7ffffff) : ~INT64_C(0xfff);
  val h = m_float(m, kernel_bin(&m->b, KERNEL_OP_AND, m_bits(m, a), m_i(m, mask)));
  val e1 = math_exp(m, m_neg(m, m_mul(m, h, h)));
  val e2 = math_exp(m, m_neg(m, m_mul(m, m_sub(m, a, h), m_add(m, a, h))));
  return m_mul(m, e1, e2);
}

// erfc for a >= 1
static val erfc_large(math *m, val a) {
  static const double p[] = {2.46196981473530512524E-10, 5.64189564831068821977E-1, 7.46321056442269912687E0,
                             4.86371970985681366614E1,   1.96520832956077098242E2,  5.26445194995477358631E2,
                             9.34528527171957607540E2,   1.02755188689515710272E3,  5.57535335369399327526E2};
  static const double q[] = {1.0,
                             1.32281951154744992508E1,
                             8.67072140885989742329E1,
                             3.54937778887819891062E2,
                             9.75708501743205489753E2,
                             1.82390916687909736289E3,
                             2.24633760818710981792E3,
                             1.65666309194161350182E3,
                             5.57535340817727675546E2};
  static const double r[] = {5.64189583547755073984E-1, 1.27536670759978104416E0, 5.01905042251180477414E0,
                             6.16021097993053585195E0,  7.40974269950448939160E0, 2.97886665372100240670E0};
  static const double s[] = {1.0,
                             2.26052863220117276590E0,
                             9.39603524938001434673E0,
                             1.20489539808096656605E1,
                             1.70814450747565897222E1,
                             9.60896809063285878198E0,
                             3.36907645100081516050E0};
  double limit = m_is64(m) ? 28 : 10.2;  // beyond: zero
  val c = m_sel(m, m_lt(m, m_c(m, limit), a), m_c(m, limit), a);
  val near = m_lt(m, c, m_c(m, 8));
  val num = m_sel(m, near, m_poly(m, c, 9, p), m_poly(m, c, 6, r));
  val den = m_sel(m, near, m_poly(m, c, 9, q), m_poly(m, c, 7, s));
  val y = m_mul(m, exp_minus_square(m, c), m_div(m, num, den));
  return m_sel(m, m_lt(m, m_c(m, limit), a), m_c(m, 0), y);
}

val math_erf(math *m, val x) {
  val a = m_abs(m, x), big = m_lt(m, m_c(m, 1), a);
  val large = m_copysign(m, m_sub(m, m_c(m, 1), erfc_large(m, m_sel(m, big, a, m_c(m, 1)))), x);
  return m_sel(m, big, large, erf_small(m, m_sel(m, big, m_c(m, 0), x)));
}

val math_erfc(math *m, val x) {
  val a = m_abs(m, x), big = m_lt(m, m_c(m, 1), a);
  val large = erfc_large(m, m_sel(m, big, a, m_c(m, 1)));
  large = m_sel(m, m_lt(m, x, m_c(m, 0)), m_sub(m, m_c(m, 2), large), large);
  return m_sel(m, big, large, m_sub(m, m_c(m, 1), erf_small(m, m_sel(m, big, m_c(m, 0), x))));
}
