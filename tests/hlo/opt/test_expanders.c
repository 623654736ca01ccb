// SPDX-License-Identifier: Apache-2.0
// Expanders: the formulas, run by the interpreter's basic operations, against values from tables (DLMF, mpmath,
// Python's cmath), Random123's known answers, and matrices and transforms in closed form.
#include <math.h>

#include "interp/interp.h"
#include "tests/hlo/opt/opt_test.h"

enum { MAX_RESULTS = 4 };

typedef struct results {
  int n;
  interp_array r[MAX_RESULTS];
} results;

static results run(arena *a, hlo_module *m) {
  results out = {0};
  interp_program *p = NULL;
  (void)a;
  ASSERT_OK(interp_compile(m, &p));
  out.n = interp_program_n_results(p);
  ck_assert_int_le(out.n, MAX_RESULTS);
  ASSERT_OK(interp_run(p, NULL, 0, NULL, out.n, out.r));
  interp_program_destroy(p);
  return out;
}

static void done(results *r) {
  for (int k = 0; k < r->n; k++) heap_aligned_free(r->r[k].data);
}

static double at(const results *r, int k, int64_t i, int part) {
  return hlo_element_get_f64(r->r[k].dtype, r->r[k].data, i, part);
}

static void assert_near(const char *what, double got, double expected, double tolerance) {
  bool same = got == expected || (isnan(got) && isnan(expected)) ||
              fabs(got - expected) <= tolerance * fmax(fabs(expected), 1e-3);
  ck_assert_msg(same, "%s: %.17g, expected %.17g", what, got, expected);
}

// The module has lost every operation of this kind.
static results expand_and_run(arena *a, hlo_module *m, const char *passes, hlo_op op) {
  opt_run(m, passes);
  ck_assert_int_eq(opt_count(m, op), 0);
  return run(a, m);
}

// --- special functions ---------------------------------------------------------------------------

typedef struct special {
  const char *op;
  double x, y;  // y: NAN if there is none
  double value;
} special;

static const special specials[] = {
    {"erf-inv", 0.5, NAN, 0.47693627620446987338},
    {"erf-inv", -0.1, NAN, -0.088855990494257687016},
    {"erf-inv", 0.999, NAN, 2.3267537655135246},
    {"erf-inv", 0.999999999161295, NAN, 4.339813889909601},  // 1 - x x cancels; SciPy's erfcinv(1 - x)
    {"erf-inv", 1, NAN, INFINITY},
    {"erf-inv", 0, NAN, 0},
    {"lgamma", 0.1, NAN, 2.2527126517342059599},
    {"lgamma", 10, NAN, 12.801827480081469611},
    {"lgamma", -0.5, NAN, 1.2655121234846453965},
    {"lgamma", 1, NAN, 0},
    {"lgamma", 2, NAN, 0},
    {"lgamma", 1.5, NAN, -0.12078223763524522235},
    {"lgamma", 0, NAN, INFINITY},
    {"lgamma", INFINITY, NAN, INFINITY},
    {"digamma", 1, NAN, -0.57721566490153286061},
    {"digamma", 0.5, NAN, -1.9635100260214234794},
    {"digamma", -0.5, NAN, 0.036489973978576520559},
    {"digamma", 10, NAN, 2.2517525890667211077},
    {"digamma", -2, NAN, NAN},
    {"zeta", 2, 1, 1.6449340668482264365},
    {"zeta", 4, 1, 1.0823232337111381915},
    {"zeta", 1, 3, INFINITY},
    {"zeta", 0.5, 1, NAN},
    {"polygamma", 0, 1, -0.57721566490153286061},
    {"polygamma", 1, 1, 1.6449340668482264365},
    {"polygamma", 2, 1, -2.4041138063191885708},
    {"polygamma", 3, 0.5, 97.409091034002437236},
    {"polygamma", 1.5, 1, NAN},
    {"bessel-i1e", 1, NAN, 0.20791041534970844887},
    {"bessel-i1e", -1, NAN, -0.20791041534970844887},
    {"bessel-i1e", 10, NAN, 0.12126268138445551},
};

START_TEST(special_functions) {
  static const struct {
    const char *type;
    double tolerance;
  } types[] = {{"f32", 4e-6}, {"f64", 2e-13}, {"f16", 1e-3}, {"bf16", 8e-3}};
  for (size_t t = 0; t < 4; t++)
    for (size_t k = 0; k < sizeof specials / sizeof specials[0]; k++) {
      const special *s = &specials[k];
      // 0.1 and 0.999 are not 16-bit floats, and the functions are steep there.
      if (t >= 2 && (s->x == 0.999 || fabs(s->x) == 0.1)) continue;
      if (t != 1 && s->x > 0.999 && s->x < 1) continue;  // an f64 number only
      arena *a = arena_create();
      const char *body =
          isnan(s->y) ? arena_printf(a, "x = %s[] constant(%.17g) ROOT r = %s[] %s(x)", types[t].type, s->x,
                                     types[t].type, s->op)
                      : arena_printf(a, "x = %s[] constant(%.17g) y = %s[] constant(%.17g) ROOT r = %s[] %s(x, y)",
                                     types[t].type, s->x, types[t].type, s->y, types[t].type, s->op);
      hlo_module *m = opt_entry(a, "", body);
      hlo_op op = m->entry->root->op;
      results r = expand_and_run(a, m, "chlo-expander,dce", op);
      assert_near(body, at(&r, 0, 0, 0), s->value, types[t].tolerance);
      done(&r);
      arena_destroy(a);
    }
}
END_TEST

START_TEST(complex_functions) {
  static const struct {
    const char *op;
    double x, y, re, im;
  } cases[] = {
      {"asin", 2, 1, 1.0634400235777521, 1.4693517443681852},
      {"acos", 2, 1, 0.5073563032171445, -1.4693517443681852},
      {"acosh", 2, 1, 1.4693517443681852, 0.5073563032171445},
      {"asinh", 2, 1, 1.5285709194809982, 0.42707858639247614},
      {"atan", 2, 1, 1.1780972450961724, 0.17328679513998632},
      {"atanh", 2, 1, 0.40235947810852509, 1.3389725222944935},
      {"asin", 0.5, -0.0, 0.52359877559829893, -0.0},
      {"acos", -2, 0.0, 3.1415926535897931, -1.3169578969248166},
      {"asinh", 1e30, 1e30, 70.117273560661289, 0.78539816339744828},
      {"cbrt", 0, 8, 1.7320508075688774, 1},
  };
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
    for (int wide = 0; wide < 2; wide++) {
      arena *a = arena_create();
      const char *type = wide ? "c128" : "c64";
      const char *body = arena_printf(a, "x = %s[] constant((%.17g, %.17g)) ROOT r = %s[] %s(x)", type, cases[k].x,
                                      cases[k].y, type, cases[k].op);
      hlo_module *m = opt_entry(a, "", body);
      hlo_op op = m->entry->root->op;
      opt_run(m, "chlo-expander,dce");
      ck_assert(m->entry->root->op != op);
      results r = run(a, m);
      assert_near(body, at(&r, 0, 0, 0), cases[k].re, wide ? 1e-14 : 1e-6);
      assert_near(body, at(&r, 0, 0, 1), cases[k].im, wide ? 1e-14 : 1e-6);
      if (cases[k].im == 0) ck_assert_msg(!signbit(at(&r, 0, 0, 1)) == !signbit(cases[k].im), "%s: sign of zero", body);
      done(&r);
      arena_destroy(a);
    }
}
END_TEST

START_TEST(top_k) {
  arena *a = arena_create();
  hlo_module *m = opt_entry(
      a, "", "x = f32[2,4] constant({{1, 3, 3, 2}, {-0, 0, nan, -inf}}) ROOT r = (f32[2,2], s32[2,2]) topk(x), k=2");
  results r = expand_and_run(a, m, "chlo-expander,dce", HLO_OP_TOP_K);
  static const double values[] = {3, 3, NAN, 0}, indices[] = {1, 2, 2, 1};
  for (int k = 0; k < 4; k++) {
    assert_near("value", at(&r, 0, k, 0), values[k], 0);
    ck_assert_int_eq(hlo_element_get_i64(HLO_S32, r.r[1].data, k), (int64_t)indices[k]);
  }
  done(&r);
  arena_destroy(a);
}
END_TEST

START_TEST(scan) {
  for (int reverse = 0; reverse < 2; reverse++) {
    arena *a = arena_create();
    // running sums along dimension 1, and the totals
    hlo_module *m = opt_parse(
        a,
        arena_printf(a,
                     "HloModule t\n\n%%f (x: f32[2], c: f32[2]) -> (f32[2], f32[2]) {\n  %%x = f32[2] parameter(0)\n"
                     "  %%c = f32[2] parameter(1)\n  %%s = f32[2] add(%%x, %%c)\n  ROOT %%t = (f32[2], f32[2]) "
                     "tuple(%%s, %%s)\n}\n\n"
                     "ENTRY %%main () -> (f32[2,3], f32[2]) {\n  %%x = f32[2,3] constant({ {1, 2, 3}, {10, 20, 30} })\n"
                     "  %%z = f32[2] constant({100, 0})\n"
                     "  ROOT %%r = (f32[2,3], f32[2]) scan(%%x, %%z), dimension=1, %snum_carries=1, to_apply=%%f\n}\n",
                     reverse ? "is_reverse=true, " : ""));
    results r = expand_and_run(a, m, "scan-expander,dce", HLO_OP_SCAN);
    static const double sums[2][6] = {{101, 103, 106, 10, 30, 60}, {106, 105, 103, 60, 50, 30}};
    for (int k = 0; k < 6; k++) assert_near("scan", at(&r, 0, k, 0), sums[reverse][k], 0);
    assert_near("total", at(&r, 1, 0, 0), 106, 0);
    assert_near("total", at(&r, 1, 1, 0), 60, 0);
    done(&r);
    arena_destroy(a);
  }
}
END_TEST

// --- random bits: Random123's known answers ------------------------------------------------------

START_TEST(random_bits) {
  static const struct {
    const char *algorithm, *state, *type;
    uint64_t bits[4], next;
  } cases[] = {
      {"threefry", "{0, 0}", "u32[2]", {0x6b200159, 0x99ba4efe}, 1},
      {"threefry", "{0, 0}", "u64[1]", {UINT64_C(0x99ba4efe6b200159)}, 1},
      {"threefry", "{18446744073709551615, 18446744073709551615}", "u32[2]", {0x1cb996fc, 0xbb002be7}, 0},
      {"philox", "{0, 0, 0}", "u32[4]", {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}, 1},
      {"philox",
       "{18446744073709551615, 18446744073709551615, 18446744073709551615}",
       "u32[4]",
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
       0},
      {"philox", "{0, 0, 0}", "u8[2]", {0xd5, 0x8d}, 1},
      {"philox", "{0, 0, 0}", "u64[2]", {UINT64_C(0xe169c58d6627e8d5), UINT64_C(0x9b00dbd8bc57ac4c)}, 1},
  };
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    arena *a = arena_create();
    bool philox = cases[k].algorithm[0] == 'p';
    const char *state = philox ? "u64[3]" : "u64[2]";
    hlo_module *m =
        opt_entry(a, "",
                  arena_printf(a, "s = %s constant(%s) ROOT r = (%s, %s) rng-bit-generator(s), algorithm=%s", state,
                               cases[k].state, state, cases[k].type, philox ? "rng_philox" : "rng_three_fry"));
    results r = expand_and_run(a, m, "rng-bit-generator-expander,dce", HLO_OP_RNG_BIT_GENERATOR);
    for (int64_t i = 0; i < r.r[1].dims[0]; i++)
      ck_assert_uint_eq((uint64_t)hlo_element_get_i64(r.r[1].dtype, r.r[1].data, i), cases[k].bits[i]);
    ck_assert_uint_eq(((uint64_t *)r.r[0].data)[1], cases[k].next);
    done(&r);
    arena_destroy(a);
  }
}
END_TEST

// --- batch norm ----------------------------------------------------------------------------------

START_TEST(batch_norm) {
  arena *a = arena_create();
  hlo_module *m =
      opt_entry(a, "",
                "x = f32[2,2] constant({{1, 2}, {3, 6}}) s = f32[2] constant({2, 3}) o = f32[2] constant({10, 20}) "
                "ROOT r = (f32[2,2], f32[2], f32[2]) batch-norm-training(x, s, o), epsilon=0, feature_index=1");
  results r = expand_and_run(a, m, "batch-norm-expander,dce", HLO_OP_BATCH_NORM_TRAINING);
  static const double y[] = {8, 17, 12, 23}, mean[] = {2, 4}, variance[] = {1, 4};
  for (int k = 0; k < 4; k++) assert_near("training", at(&r, 0, k, 0), y[k], 1e-6);
  for (int k = 0; k < 2; k++)
    assert_near("mean", at(&r, 1, k, 0), mean[k], 1e-6), assert_near("variance", at(&r, 2, k, 0), variance[k], 1e-6);
  done(&r);
  m = opt_entry(a, "",
                "x = f32[2,2] constant({{1, 2}, {3, 6}}) s = f32[2] constant({2, 3}) o = f32[2] constant({10, 20}) "
                "m = f32[2] constant({1, 2}) v = f32[2] constant({3, 15}) "
                "ROOT r = f32[2,2] batch-norm-inference(x, s, o, m, v), epsilon=1, feature_index=1");
  r = expand_and_run(a, m, "batch-norm-expander,dce", HLO_OP_BATCH_NORM_INFERENCE);
  static const double z[] = {10, 20, 12, 23};
  for (int k = 0; k < 4; k++) assert_near("inference", at(&r, 0, k, 0), z[k], 1e-6);
  done(&r);
  // One feature, x = (1, 3), mean 2, variance 1: with g = (1, 0): grad_scale = -1, grad_offset = 1, grad_x = s (g - 1/2
  // + c/2) = 0
  m = opt_entry(
      a, "",
      "x = f32[2,1] constant({{1}, {3}}) s = f32[1] constant({2}) m = f32[1] constant({2}) v = f32[1] constant({1}) "
      "g = f32[2,1] constant({{1}, {0}}) ROOT r = (f32[2,1], f32[1], f32[1]) batch-norm-grad(x, s, m, v, g), "
      "epsilon=0, feature_index=1");
  r = expand_and_run(a, m, "batch-norm-expander,dce", HLO_OP_BATCH_NORM_GRAD);
  assert_near("grad_x", at(&r, 0, 0, 0), 0, 1e-6);
  assert_near("grad_x", at(&r, 0, 1, 0), 0, 1e-6);
  assert_near("grad_scale", at(&r, 1, 0, 0), -1, 1e-6);
  assert_near("grad_offset", at(&r, 2, 0, 0), 1, 1e-6);
  done(&r);
  arena_destroy(a);
}
END_TEST

// --- matrices ------------------------------------------------------------------------------------

enum { N = 6 };
static double lower(int i, int j) {
  return i == j ? i + 1 : i > j ? 1 + (i + j) % 2 : 0;
}

static void matrix_text(strbuf *t, int rows, int columns, double (*f)(int, int)) {
  strbuf_printf(t, "{");
  for (int i = 0; i < rows; i++) {
    strbuf_printf(t, "%s{", i ? ", " : "");
    for (int j = 0; j < columns; j++) strbuf_printf(t, isnan(f(i, j)) ? "%snan" : "%s%.17g", j ? ", " : "", f(i, j));
    strbuf_printf(t, "}");
  }
  strbuf_printf(t, "}");
}

static double gram_lower(int i, int j) {  // L L^T, the upper triangle unreadable
  double s = 0;
  for (int k = 0; k < N; k++) s += lower(i, k) * lower(j, k);
  return i < j ? NAN : s;
}
static double gram_upper(int i, int j) {
  return i > j ? NAN : gram_lower(j, i);
}

START_TEST(cholesky) {
  for (int is_lower = 0; is_lower < 2; is_lower++) {
    arena *a = arena_create();
    strbuf t = {0};
    strbuf_printf(&t, "a = f32[%d,%d] constant(", N, N);
    matrix_text(&t, N, N, is_lower ? gram_lower : gram_upper);
    strbuf_printf(&t, ") ROOT r = f32[%d,%d] cholesky(a), lower=%s", N, N, is_lower ? "true" : "false");
    results r = expand_and_run(a, opt_entry(a, "", t.data), "linalg-expander,dce", HLO_OP_CHOLESKY);
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++)
        assert_near("factor", at(&r, 0, i * N + j, 0), is_lower ? lower(i, j) : lower(j, i), 1e-5);
    done(&r);
    strbuf_deinit(&t);
    arena_destroy(a);
  }
}
END_TEST

// op(E) x = b or x op(E) = b with x[i][j] = i - 2 j + 1; E lower or upper, the other triangle unreadable.
static bool e_lower, e_transposed, e_left;
static double e_matrix(int i, int j) {
  return e_lower ? i < j ? NAN : lower(i, j) : i > j ? NAN : lower(j, i);
}
static double e_applied(int i, int j) {
  double v = e_transposed ? e_matrix(j, i) : e_matrix(i, j);
  return isnan(v) ? 0 : v;
}
static double x_matrix(int i, int j) {
  return i - 2 * j + 1;
}
static double b_matrix(int i, int j) {
  double s = 0;
  for (int k = 0; k < N; k++) s += e_left ? e_applied(i, k) * x_matrix(k, j) : x_matrix(i, k) * e_applied(k, j);
  return s;
}

START_TEST(triangular_solve) {
  for (int form = 0; form < 8; form++) {
    e_lower = form & 1, e_transposed = form & 2, e_left = form & 4;
    int rows = e_left ? N : 2, columns = e_left ? 2 : N;
    arena *a = arena_create();
    strbuf t = {0};
    strbuf_printf(&t, "a = f32[%d,%d] constant(", N, N);
    matrix_text(&t, N, N, e_matrix);
    strbuf_printf(&t, ") b = f32[%d,%d] constant(", rows, columns);
    matrix_text(&t, rows, columns, b_matrix);
    strbuf_printf(
        &t, ") ROOT r = f32[%d,%d] triangular-solve(a, b), left_side=%s, lower=%s, unit_diagonal=false, transpose_a=%s",
        rows, columns, e_left ? "true" : "false", e_lower ? "true" : "false",
        e_transposed ? "TRANSPOSE" : "NO_TRANSPOSE");
    results r = expand_and_run(a, opt_entry(a, "", t.data), "linalg-expander,dce", HLO_OP_TRIANGULAR_SOLVE);
    for (int i = 0; i < rows; i++)
      for (int j = 0; j < columns; j++) assert_near(t.data, at(&r, 0, i * columns + j, 0), x_matrix(i, j), 1e-4);
    done(&r);
    strbuf_deinit(&t);
    arena_destroy(a);
  }
}
END_TEST

// --- Fourier -------------------------------------------------------------------------------------

// The transform of a unit impulse at index 1 (and 2 in the second row) is a wave.
START_TEST(fft_of_impulses) {
  static const int lengths[] = {1, 2, 5, 31, 33, 37, 48, 64, 100, 128, 1024};
  for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++)
    for (int inverse = 0; inverse < 2; inverse++) {
      int n = lengths[k];
      arena *a = arena_create();
      const char *body = arena_printf(
          a,
          "i = s32[2,%d] iota(), iota_dimension=1 p = s32[2] iota(), iota_dimension=0 q = s32[2,%d] broadcast(p), "
          "dimensions={0} "
          "o = s32[2,%d] constant(splat 1) w = s32[2,%d] add(q, o) c = pred[2,%d] compare(i, w), direction=EQ "
          "x = c128[2,%d] convert(c) ROOT r = c128[2,%d] fft(x), fft_type=%s, fft_length={%d}",
          n, n, n, n, n, n, n, inverse ? "IFFT" : "FFT", n);
      results r = expand_and_run(a, opt_entry(a, "", body), "fft-expander,dce", HLO_OP_FFT);
      for (int row = 0; row < 2; row++)
        for (int j = 0; j < n; j++) {
          int where = row + 1;
          double angle = (inverse ? 2 : -2) * M_PI * where * j / n, scale = inverse ? 1.0 / n : 1;
          double re = where < n ? cos(angle) * scale : 0, im = where < n ? sin(angle) * scale : 0;
          ck_assert_msg(fabs(at(&r, 0, row * n + j, 0) - re) < 1e-13 && fabs(at(&r, 0, row * n + j, 1) - im) < 1e-13,
                        "n = %d, %d: (%g, %g)", n, j, at(&r, 0, row * n + j, 0), at(&r, 0, row * n + j, 1));
        }
      done(&r);
      arena_destroy(a);
    }
}
END_TEST

START_TEST(real_fft) {
  arena *a = arena_create();
  results r = expand_and_run(
      a, opt_entry(a, "", "x = f32[4] constant({1, 2, 3, 5}) ROOT r = c64[3] fft(x), fft_type=RFFT, fft_length={4}"),
      "fft-expander,dce", HLO_OP_FFT);
  static const double expected[] = {11, 0, -2, 3, -3, 0};
  for (int k = 0; k < 6; k++) assert_near("rfft", at(&r, 0, k / 2, k & 1), expected[k], 1e-5);
  done(&r);
  r = expand_and_run(
      a,
      opt_entry(
          a, "",
          "x = c64[3] constant({(11, 0), (-2, 3), (-3, 0)}) ROOT r = f32[4] fft(x), fft_type=IRFFT, fft_length={4}"),
      "fft-expander,dce", HLO_OP_FFT);
  static const double back[] = {1, 2, 3, 5};
  for (int k = 0; k < 4; k++) assert_near("irfft", at(&r, 0, k, 0), back[k], 1e-5);
  done(&r);
  // A prime beyond the largest factor stays.
  hlo_module *m =
      opt_entry(a, "", "x = c64[263] constant(splat (1, 0)) ROOT r = c64[263] fft(x), fft_type=FFT, fft_length={263}");
  opt_run(m, "fft-expander");
  ck_assert_int_eq(opt_count(m, HLO_OP_FFT), 1);
  arena_destroy(a);
}
END_TEST

HARNESS_MAIN("expanders", special_functions, complex_functions, top_k, scan, random_bits, batch_norm, cholesky,
             triangular_solve, fft_of_impulses, real_fft)
