// SPDX-License-Identifier: Apache-2.0
// Operations of the interpreter on small constants. Expected values were worked out by hand from the specification or
// with NumPy (noted where so).
#include "tests/interp/interp_test.h"

#define M(body) "HloModule m\nENTRY main {\n" body "\n}\n"
#define SUM "sum {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b)\n}\n"

static void run_all(const test_case *cases, int n) {
  for (int k = 0; k < n; k++) test_run_case(&cases[k]);
}
#define RUN(cases) run_all(cases, (int)(sizeof cases / sizeof cases[0]))

START_TEST(movement) {
  const test_case cases[] = {
      {"pad", M("x = f32[3] constant({1, 2, 3})\n z = f32[] constant(0)\n ROOT p = f32[8] pad(x, z), padding=1_2_1"), 0,
       W(0, 1, 0, 2, 0, 3, 0, 0)},
      {"negative pad",
       M("x = f32[4] constant({1, 2, 3, 4})\n z = f32[] constant(9)\n ROOT p = f32[2] pad(x, z), padding=-1_-1"), 0,
       W(2, 3)},
      {"negative pad, interior",
       M("x = f32[3] constant({1, 2, 3})\n z = f32[] constant(9)\n ROOT p = f32[3] pad(x, z), padding=-1_-1_1"), 0,
       W(9, 2, 9)},
      {"negative pad beyond",
       M("x = f32[2] constant({1, 2})\n z = f32[] constant(9)\n ROOT p = f32[1] pad(x, z), padding=-3_2"), 0, W(9)},
      {"reverse", M("x = s32[2,3] constant({ {1, 2, 3}, {4, 5, 6} })\n ROOT r = s32[2,3] reverse(x), dimensions={1}"),
       0, W(3, 2, 1, 6, 5, 4)},
      {"slice",
       M("x = s32[2,5] constant({ {0, 1, 2, 3, 4}, {5, 6, 7, 8, 9} })\n ROOT r = s32[1,2] slice(x), slice={[1:2], "
         "[1:5:2]}"),
       0, W(6, 8)},
      {"transpose",
       M("x = s8[1,2,3] constant({ { {1, 2, 3}, {4, 5, 6} } })\n ROOT r = s8[3,1,2] transpose(x), dimensions={2,0,1}"),
       0, W(1, 4, 2, 5, 3, 6)},
      {"broadcast", M("x = u16[2] constant({7, 9})\n ROOT r = u16[2,3] broadcast(x), dimensions={0}"), 0,
       W(7, 7, 7, 9, 9, 9)},
      {"concatenate",
       M("x = s64[2,1] constant({ {1}, {2} })\n y = s64[2,2] constant({ {3, 4}, {5, 6} })\n ROOT r = s64[2,3] "
         "concatenate(x, y), dimensions={1}"),
       0, W(1, 3, 4, 2, 5, 6)},
      {"iota", M("ROOT r = bf16[2,3] iota(), iota_dimension=1"), 0, W(0, 1, 2, 0, 1, 2)},
      {"bitcast narrower", M("x = s32[2] constant({16909060, -1})\n ROOT r = u8[2,4] bitcast-convert(x)"), 0,
       W(4, 3, 2, 1, 255, 255, 255, 255)},
      {"bitcast wider", M("x = u8[1,4] constant({ {0, 0, 128, 63} })\n ROOT r = f32[1] bitcast-convert(x)"), 0, W(1)},
      {"bitcast to 4 bits", M("x = s8[2] constant({33, -16})\n ROOT r = s4[2,2] bitcast-convert(x)"), 0,
       W(1, 2, 0, -1)},
  };
  RUN(cases);
}
END_TEST

START_TEST(elementwise) {
  const test_case cases[] = {
      {"select by scalar",
       M("p = pred[] constant(false)\n x = f32[3] constant({1, 2, 3})\n y = f32[3] constant({4, 5, 6})\n ROOT r = "
         "f32[3] select(p, x, y)"),
       0, W(4, 5, 6)},
      {"clamp by scalars",
       M("l = s32[] constant(-1)\n x = s32[4] constant({-5, 0, 1, 9})\n h = s32[] constant(1)\n ROOT r = s32[4] "
         "clamp(l, x, h)"),
       0, W(-1, 0, 1, 1)},
      {"wrap", M("x = s8[2] constant({127, -128})\n y = s8[2] constant({1, -1})\n ROOT r = s8[2] add(x, y)"), 0,
       W(-128, 127)},
      {"division",
       M("x = s32[4] constant({7, -7, 5, -2147483648})\n y = s32[4] constant({2, 2, 0, -1})\n ROOT r = s32[4] "
         "divide(x, y)"),
       0, W(3, -3, -1, -2147483648.0)},
      {"same operand twice", M("x = f32[2] constant({3, 4})\n y = f32[2] negate(x)\n ROOT r = f32[2] multiply(y, y)"),
       0, W(9, 16)},
  };
  RUN(cases);
}
END_TEST

START_TEST(indexing) {
  const test_case cases[] = {
      {"dynamic-slice clamps",
       M("x = f32[4] constant({1, 2, 3, 4})\n i = s32[] constant(3)\n ROOT r = f32[2] dynamic-slice(x, i), "
         "dynamic_slice_sizes={2}"),
       0, W(3, 4)},
      {"unsigned index",
       M("x = f32[4] constant({1, 2, 3, 4})\n i = u8[] constant(255)\n ROOT r = f32[2] dynamic-slice(x, i), "
         "dynamic_slice_sizes={2}"),
       0, W(3, 4)},
      {"negative index",
       M("x = f32[4] constant({1, 2, 3, 4})\n i = s8[] constant(-1)\n ROOT r = f32[2] dynamic-slice(x, i), "
         "dynamic_slice_sizes={2}"),
       0, W(1, 2)},
      {"dynamic-update-slice",
       M("x = f32[4] constant({1, 2, 3, 4})\n u = f32[2] constant({8, 9})\n i = s32[] constant(1)\n ROOT r = f32[4] "
         "dynamic-update-slice(x, u, i)"),
       0, W(1, 8, 9, 4)},
      {"gather rows",
       M("x = s32[3,2] constant({ {1, 2}, {3, 4}, {5, 6} })\n i = s32[2] constant({2, 7})\n ROOT r = s32[2,2] "
         "gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
         "slice_sizes={1,2}"),
       0, W(5, 6, 5, 6)},
      {"scatter adds, drops outside",
       "HloModule m\n" SUM "ENTRY main {\n x = f32[3] constant({1, 2, 3})\n i = s32[4,1] constant({ {0}, {2}, {0}, {5} "
       "})\n u = f32[4] constant({10, 20, 30, 40})\n"
       " ROOT r = f32[3] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum\n}\n",
       0, W(41, 2, 23)},
  };
  RUN(cases);
}
END_TEST

START_TEST(reductions) {
  const test_case cases[] = {
      {"reduce rows",
       "HloModule m\n" SUM "ENTRY main {\n x = f32[2,3] constant({ {1, 2, 3}, {4, 5, 6} })\n z = f32[] constant(100)\n "
       "ROOT r = f32[2] reduce(x, z), dimensions={1}, to_apply=sum\n}\n",
       0, W(106, 115)},
      {"reduce columns",
       "HloModule m\n" SUM "ENTRY main {\n x = f32[2,3] constant({ {1, 2, 3}, {4, 5, 6} })\n z = f32[] constant(0)\n "
       "ROOT r = f32[3] reduce(x, z), dimensions={0}, to_apply=sum\n}\n",
       0, W(5, 7, 9)},
      {"reduce nothing",
       "HloModule m\n" SUM "ENTRY main {\n x = f32[2,0] constant({ {}, {} })\n z = f32[] constant(7)\n ROOT r = f32[2] "
       "reduce(x, z), dimensions={1}, to_apply=sum\n}\n",
       0, W(7, 7)},
      {"argmax",
       "HloModule m\nam {\n v = f32[] parameter(0)\n i = s32[] parameter(1)\n w = f32[] parameter(2)\n j = s32[] "
       "parameter(3)\n g = pred[] compare(v, w), direction=GE\n"
       " a = f32[] select(g, v, w)\n b = s32[] select(g, i, j)\n ROOT t = (f32[], s32[]) tuple(a, b)\n}\nENTRY main "
       "{\n x = f32[4] constant({1, 9, 9, 2})\n k = s32[4] iota(), iota_dimension=0\n"
       " n = f32[] constant(-inf)\n z = s32[] constant(-1)\n ROOT r = (f32[], s32[]) reduce(x, k, n, z), "
       "dimensions={0}, to_apply=am\n}\n",
       0, W(9, 1)},
      {"window with padding",
       "HloModule m\n" SUM "ENTRY main {\n x = f32[4] constant({1, 2, 3, 4})\n z = f32[] constant(0)\n ROOT r = f32[4] "
       "reduce-window(x, z), window={size=4 pad=3_0}, to_apply=sum\n}\n",
       0, W(1, 3, 6, 10)},
      {"window, dilations",
       "HloModule m\n" SUM "ENTRY main {\n x = f32[3] constant({1, 2, 3})\n z = f32[] constant(0)\n ROOT r = f32[3] "
       "reduce-window(x, z), window={size=2 lhs_dilate=2 rhs_dilate=2}, to_apply=sum\n}\n",
       0, W(3, 0, 5)},
      {"window, negative padding",
       "HloModule m\n" SUM "ENTRY main {\n x = f32[4] constant({1, 2, 3, 4})\n z = f32[] constant(0)\n ROOT r = f32[1] "
       "reduce-window(x, z), window={size=2 pad=-1_-1}, to_apply=sum\n}\n",
       0, W(5)},
      {"select-and-scatter",
       "HloModule m\nge {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), "
       "direction=GE\n}\n" SUM
       "ENTRY main {\n x = f32[4] constant({1, 5, 2, 3})\n s = f32[3] constant({10, 20, 30})\n z = f32[] constant(0)\n "
       "ROOT r = f32[4] select-and-scatter(x, s, z), window={size=2}, select=ge, scatter=sum\n}\n",
       0, W(0, 30, 0, 30)},
      {"map",
       "HloModule m\nf {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] multiply(a, b)\n ROOT r = f32[] "
       "subtract(c, a)\n}\nENTRY main {\n x = f32[2] constant({1, 2})\n y = f32[2] constant({3, 5})\n ROOT r = f32[2] "
       "map(x, y), dimensions={0}, to_apply=f\n}\n",
       0, W(2, 8)},
  };
  RUN(cases);
}
END_TEST

START_TEST(sorting) {
  const test_case cases[] = {
      {"two operands, stable",
       "HloModule m\nlt {\n a = s32[] parameter(0)\n b = s32[] parameter(1)\n c = f32[] parameter(2)\n d = f32[] "
       "parameter(3)\n ROOT r = pred[] compare(a, b), direction=LT\n}\nENTRY main {\n"
       " k = s32[5] constant({3, 1, 2, 1, 3})\n v = f32[5] constant({0, 1, 2, 3, 4})\n ROOT r = (s32[5], f32[5]) "
       "sort(k, v), dimensions={0}, is_stable=true, to_apply=lt\n}\n",
       0, W(1, 1, 2, 3, 3, 1, 3, 2, 0, 4)},
      {"columns, descending, unsigned",
       "HloModule m\ngt {\n a = u8[] parameter(0)\n b = u8[] parameter(1)\n ROOT r = pred[] compare(a, b), "
       "direction=GT\n}\nENTRY main {\n x = u8[3,2] constant({ {1, 200}, {255, 3}, {7, 9} })\n"
       " ROOT r = u8[3,2] sort(x), dimensions={0}, to_apply=gt\n}\n",
       0, W(255, 200, 7, 9, 1, 3)},
      {"by absolute value",
       "HloModule m\nlt {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] abs(a)\n d = f32[] abs(b)\n "
       "ROOT r = pred[] compare(c, d), direction=LT\n}\nENTRY main {\n x = f32[4] constant({-3, 1, -2, 2})\n"
       " ROOT r = f32[4] sort(x), dimensions={0}, to_apply=lt\n}\n",
       0, W(1, -2, 2, -3)},
      {"zeros are equal, not total",
       "HloModule m\nlt {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = s32[] parameter(2)\n d = s32[] "
       "parameter(3)\n ROOT r = pred[] compare(a, b), direction=LT\n}\nENTRY main {\n x = f32[3] constant({0, -0, "
       "-1})\n"
       " i = s32[3] iota(), iota_dimension=0\n s = (f32[3], s32[3]) sort(x, i), dimensions={0}, to_apply=lt\n ROOT r = "
       "s32[3] get-tuple-element(s), index=1\n}\n",
       0, W(2, 0, 1)},
      {"top-k", M("x = f32[5] constant({1, 7, nan, 7, -inf})\n ROOT r = (f32[3], s32[3]) topk(x), k=3"), 0,
       W(NAN_, 7, 7, 2, 1, 3)},
  };
  RUN(cases);
}
END_TEST

START_TEST(contractions) {
  const test_case cases[] = {
      {"matmul",
       M("x = f32[2,3] constant({ {1, 2, 3}, {4, 5, 6} })\n y = f32[3,2] constant({ {1, 0}, {0, 1}, {1, 1} })\n ROOT r "
         "= f32[2,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
       0, W(4, 5, 10, 11)},
      {"int8 to int32",
       M("x = s8[1,2] constant({ {-128, 127} })\n y = s8[2,1] constant({ {-128}, {127} })\n ROOT r = s32[1,1] dot(x, "
         "y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
       0, W(32513)},
      {"int8 wraps",
       M("x = s8[2] constant({100, 100})\n y = s8[2] constant({2, 1})\n ROOT r = s8[] dot(x, y), "
         "lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
       0, W(44)},
      {"complex",
       M("x = c64[2] constant({(1, 2), (0, 1)})\n y = c64[2] constant({(3, -1), (2, 2)})\n ROOT r = c64[] dot(x, y), "
         "lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
       0, W(3, 7)},
      {"batch",
       M("x = f32[2,1,2] constant({ { {1, 2} }, { {3, 4} } })\n y = f32[2,2] constant({ {5, 6}, {7, 8} })\n ROOT r = "
         "f32[2,1] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
         "rhs_contracting_dims={1}"),
       0, W(17, 53)},
      {"nothing to sum",
       M("x = f32[2,0] constant({ {}, {} })\n y = f32[0,1] constant({})\n ROOT r = f32[2,1] dot(x, y), "
         "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
       0, W(0, 0)},
      // NumPy: np.convolve and hand counts.
      {"convolution",
       M("x = f32[1,1,4] constant({ { {1, 2, 3, 4} } })\n k = f32[1,1,2] constant({ { {1, 10} } })\n ROOT r = "
         "f32[1,1,3] convolution(x, k), window={size=2}, dim_labels=bf0_oi0->bf0"),
       0, W(21, 32, 43)},
      {"convolution, reversed",
       M("x = f32[1,1,4] constant({ { {1, 2, 3, 4} } })\n k = f32[1,1,2] constant({ { {1, 10} } })\n ROOT r = "
         "f32[1,1,3] convolution(x, k), window={size=2 rhs_reversal=1}, dim_labels=bf0_oi0->bf0"),
       0, W(12, 23, 34)},
      {"convolution, dilated, padded",
       M("x = f32[1,1,2] constant({ { {1, 2} } })\n k = f32[1,1,2] constant({ { {1, 10} } })\n ROOT r = f32[1,1,3] "
         "convolution(x, k), window={size=2 pad=1_1 lhs_dilate=2 rhs_dilate=2}, dim_labels=bf0_oi0->bf0"),
       0, W(0, 21, 0)},
      {"depthwise",
       M("x = f32[1,2,2] constant({ { {1, 2}, {3, 4} } })\n k = f32[2,1,1] constant({ { {10} }, { {100} } })\n ROOT r "
         "= f32[1,2,2] convolution(x, k), window={size=1}, dim_labels=bf0_oi0->bf0, feature_group_count=2"),
       0, W(10, 20, 300, 400)},
      {"batch groups",
       M("x = f32[2,1,1] constant({ { {3} }, { {4} } })\n k = f32[2,1,1] constant({ { {10} }, { {100} } })\n ROOT r = "
         "f32[1,2,1] convolution(x, k), window={size=1}, dim_labels=bf0_oi0->bf0, batch_group_count=2"),
       0, W(30, 400)},
  };
  RUN(cases);
}
END_TEST

START_TEST(linear_algebra) {
  const test_case cases[] = {
      {"cholesky", M("a = f32[2,2] constant({ {4, 99}, {2, 5} })\n ROOT r = f32[2,2] cholesky(a), lower=true"), 0,
       W(2, 0, 1, 2)},
      {"cholesky, upper", M("a = f32[2,2] constant({ {4, 2}, {99, 5} })\n ROOT r = f32[2,2] cholesky(a)"), 0,
       W(2, 1, 0, 2)},
      {"triangular-solve",
       M("a = f64[2,2] constant({ {2, 99}, {1, 4} })\n b = f64[2,1] constant({ {4}, {10} })\n ROOT r = f64[2,1] "
         "triangular-solve(a, b), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE"),
       1e-15, W(2, 2)},
      {"triangular-solve, right, transposed",
       M("a = f64[2,2] constant({ {2, 99}, {1, 4} })\n b = f64[1,2] constant({ {4, 10} })\n ROOT r = f64[1,2] "
         "triangular-solve(a, b), left_side=false, lower=true, unit_diagonal=false, transpose_a=TRANSPOSE"),
       1e-15, W(2, 2)},
      // NumPy: np.fft.fft([1, 2, 3]), np.fft.rfft([1, 2, 3, 4]), np.fft.irfft([10, -2+2j, -2])
      {"fft of 3",
       M("x = c128[3] constant({(1, 0), (2, 0), (3, 0)})\n ROOT r = c128[3] fft(x), fft_type=FFT, fft_length={3}"),
       1e-15, W(6, 0, -1.5, 0.8660254037844386, -1.5, -0.8660254037844386)},
      {"rfft", M("x = f32[4] constant({1, 2, 3, 4})\n ROOT r = c64[3] fft(x), fft_type=RFFT, fft_length={4}"), 0,
       W(10, 0, -2, 2, -2, 0)},
      {"irfft",
       M("x = c64[3] constant({(10, 0), (-2, 2), (-2, 0)})\n ROOT r = f32[4] fft(x), fft_type=IRFFT, fft_length={4}"),
       0, W(1, 2, 3, 4)},
      {"batch-norm-inference",
       M("x = f32[1,2] constant({ {3, 5} })\n s = f32[2] constant({2, 1})\n o = f32[2] constant({1, 0})\n m = f32[2] "
         "constant({1, 5})\n v = f32[2] constant({4, 9})\n ROOT r = f32[1,2] batch-norm-inference(x, s, o, m, v), "
         "epsilon=0, feature_index=1"),
       1e-7, W(3, 0)},
  };
  RUN(cases);
}
END_TEST

// Known answers of Random123's kat_vectors (threefry2x32 and philox4x32, 20 and 10 rounds) and of XLA (jaxlib 0.10.2).
START_TEST(random_bits) {
  const test_case cases[] = {
      {"threefry zeros",
       M("s = u64[2] constant({0, 0})\n ROOT r = (u64[2], u32[2]) rng-bit-generator(s), algorithm=rng_three_fry"), 0,
       W(0, 1, 0x6b200159, 0x99ba4efe)},
      {"philox",
       M("s = u64[2] constant({1, 2})\n ROOT r = (u64[2], u32[5]) rng-bit-generator(s), algorithm=rng_philox"), 0,
       W(1, 4, 0x7d34a749, 0xa9b8bbe8, 0x7ba423d7, 0x2fb324d9, 0x6cf923fe)},
      {"philox zeros",
       M("s = u64[3] constant({0, 0, 0})\n ROOT r = (u64[3], u32[4]) rng-bit-generator(s), algorithm=rng_philox"), 0,
       W(0, 1, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8)},
  };
  RUN(cases);
}
END_TEST

// jaxlib 0.10.2's CPU client, the first rng of a process; the second run of the same executable for "second".
#define RNG(type, size, like, a, b, distribution)                                                \
  " a = " like " constant(" a ")\n b = " like " constant(" b ")\n n = " size "\n ROOT r = " type \
  " rng(a, b, n), distribution=rng_" distribution
START_TEST(rng_values) {
  const test_case cases[] = {
      {"f32", M(RNG("f32[5]", "s64[1] constant({5})", "f32[]", "2", "7", "uniform")), 1e-7,
       W(3.1004691123962402, 4.798736572265625, 4.41166353225708, 2.2934134006500244, 3.4733476638793945)},
      {"f64", M(RNG("f64[3]", "s64[1] constant({3})", "f64[]", "0", "1", "uniform")), 0,
       W(0.559747454295888, 0.05868279386366071, 0.4742466356360049)},
      {"f16", M(RNG("f16[3]", "s64[1] constant({3})", "f16[]", "0", "1", "uniform")), 0,
       W(0.2200927734375, 0.5595703125, 0.482421875)},
      {"s32", M(RNG("s32[5]", "s64[1] constant({5})", "s32[]", "-3", "100", "uniform")), 0, W(28, 66, 75, 89, 92)},
      {"s64", M(RNG("s64[3]", "s64[1] constant({3})", "s64[]", "-3", "100000000000", "uniform")), 0,
       W(34996915647, 79900729422, 15132718969)},
      {"normal f32", M(RNG("f32[3,4]", "s64[2] constant({3, 4})", "f32[]", "1", "2", "normal")), 1e-6,
       W(-0.27589404582977295, -2.237545967102051, 1.870460867881775, 3.252835273742676, 1.503709316253662,
         -2.0856902599334717, 2.7564523220062256, 1.599346399307251, 0.040198445320129395, -0.05614447593688965,
         1.2812082767486572, 1.719728946685791)},
      {"normal, odd", M(RNG("f32[3]", "s64[1] constant({3})", "f32[]", "0", "1", "normal")), 1e-6,
       W(-0.6379470229148865, -1.6187729835510254, 0.43523043394088745)},
      {"normal f64", M(RNG("f64[3]", "s64[1] constant({3})", "f64[]", "0", "1", "normal")), 1e-9,
       W(0.3882711552810316, 1.0048804171965013, 1.1560480088992577)},
      {"second",
       M(" z = f32[] constant(0)\n o = f32[] constant(1)\n n = s64[1] constant({3})\n x = f32[3] rng(z, o, n), "
         "distribution=rng_uniform\n"
         " y = f32[3] rng(z, o, n), distribution=rng_uniform\n ROOT r = (f32[3], f32[3]) tuple(x, y)"),
       1e-7,
       W(0.22009384632110596, 0.5597473382949829, 0.482332706451416, 0.7280347347259521, 0.7832000255584717,
         0.1661510467529297)},
  };
  RUN(cases);
}
END_TEST

START_TEST(control) {
  const test_case cases[] = {
      {"while",
       "HloModule m\nc {\n p = (s32[], f32[]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n n = s32[] "
       "constant(5)\n ROOT r = pred[] compare(i, n), direction=LT\n}\n"
       "b {\n p = (s32[], f32[]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n x = f32[] "
       "get-tuple-element(p), index=1\n one = s32[] constant(1)\n j = s32[] add(i, one)\n y = f32[] add(x, x)\n ROOT r "
       "= (s32[], f32[]) tuple(j, y)\n}\n"
       "ENTRY main {\n z = s32[] constant(0)\n x = f32[] constant(1)\n t = (s32[], f32[]) tuple(z, x)\n ROOT w = "
       "(s32[], f32[]) while(t), condition=c, body=b\n}\n",
       0, W(5, 32)},
      {"while swaps",
       "HloModule m\nc {\n p = (s32[], f32[], f32[]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n n = "
       "s32[] constant(3)\n ROOT r = pred[] compare(i, n), direction=LT\n}\n"
       "b {\n p = (s32[], f32[], f32[]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n x = f32[] "
       "get-tuple-element(p), index=1\n y = f32[] get-tuple-element(p), index=2\n one = s32[] constant(1)\n j = s32[] "
       "add(i, one)\n ROOT r = (s32[], f32[], f32[]) tuple(j, y, x)\n}\n"
       "ENTRY main {\n z = s32[] constant(0)\n x = f32[] constant(1)\n y = f32[] constant(2)\n t = (s32[], f32[], "
       "f32[]) tuple(z, x, y)\n ROOT w = (s32[], f32[], f32[]) while(t), condition=c, body=b\n}\n",
       0, W(3, 2, 1)},
      // a, b, b again (not c), and a condition that is a carried value: 1 + 2 + 2 + 2
      {"while hands values on",
       "HloModule m\nc {\n p = (s32[], f32[], f32[], f32[], pred[]) parameter(0)\n ROOT r = pred[] "
       "get-tuple-element(p), index=4\n}\n"
       "b {\n p = (s32[], f32[], f32[], f32[], pred[]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n a = "
       "f32[] get-tuple-element(p), index=1\n b = f32[] get-tuple-element(p), index=2\n one = s32[] constant(1)\n "
       "n = s32[] constant(3)\n j = s32[] add(i, one)\n d = f32[] add(a, b)\n g = pred[] compare(j, n), "
       "direction=LT\n ROOT r = (s32[], f32[], f32[], f32[], pred[]) tuple(j, d, b, b, g)\n}\n"
       "ENTRY main {\n z = s32[] constant(0)\n x = f32[] constant(1)\n y = f32[] constant(2)\n w = f32[] "
       "constant(5)\n g = pred[] constant(true)\n t = (s32[], f32[], f32[], f32[], pred[]) tuple(z, x, y, w, g)\n "
       "ROOT r = (s32[], f32[], f32[], f32[], pred[]) while(t), condition=c, body=b\n}\n",
       0, W(3, 7, 2, 2, 0)},
      {"while with constant results",
       "HloModule m\nc {\n p = (s32[], f32[], f32[]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n n = "
       "s32[] constant(2)\n ROOT r = pred[] compare(i, n), direction=LT\n}\n"
       "b {\n p = (s32[], f32[], f32[]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n one = s32[] "
       "constant(1)\n k = f32[] constant(9)\n j = s32[] add(i, one)\n ROOT r = (s32[], f32[], f32[]) tuple(j, k, "
       "k)\n}\n"
       "ENTRY main {\n z = s32[] constant(0)\n x = f32[] constant(1)\n t = (s32[], f32[], f32[]) tuple(z, x, x)\n "
       "ROOT w = (s32[], f32[], f32[]) while(t), condition=c, body=b\n}\n",
       0, W(2, 9, 9)},
      // Adds 1, 2 and 4 (doubled by the inner loop) to three elements.
      {"while in a while",
       "HloModule m\nc {\n p = (s32[], f32[3], f32[3]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n n = "
       "s32[] constant(3)\n ROOT r = pred[] compare(i, n), direction=LT\n}\n"
       "e {\n p = (s32[], f32[3]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n x = f32[3] "
       "get-tuple-element(p), index=1\n one = s32[] constant(1)\n j = s32[] add(i, one)\n y = f32[3] add(x, x)\n "
       "ROOT r = (s32[], f32[3]) tuple(j, y)\n}\n"
       "d {\n p = (s32[], f32[3]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n one = s32[] "
       "constant(1)\n ROOT r = pred[] compare(i, one), direction=LT\n}\n"
       "b {\n p = (s32[], f32[3], f32[3]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n x = f32[3] "
       "get-tuple-element(p), index=1\n y = f32[3] get-tuple-element(p), index=2\n z = s32[] constant(0)\n one = "
       "s32[] constant(1)\n j = s32[] add(i, one)\n s = f32[3] add(x, y)\n t = (s32[], f32[3]) tuple(z, y)\n w = "
       "(s32[], f32[3]) while(t), condition=d, body=e\n u = f32[3] get-tuple-element(w), index=1\n ROOT r = (s32[], "
       "f32[3], f32[3]) tuple(j, s, u)\n}\n"
       "ENTRY main {\n z = s32[] constant(0)\n x = f32[3] constant({10, 20, 30})\n y = f32[3] constant({1, 1, 2})\n "
       "t = (s32[], f32[3], f32[3]) tuple(z, x, y)\n ROOT w = (s32[], f32[3], f32[3]) while(t), condition=c, "
       "body=b\n}\n",
       0, W(3, 17, 27, 44, 8, 8, 16)},
      {"conditional clamps",
       "HloModule m\nf {\n a = f32[] parameter(0)\n ROOT r = f32[] negate(a)\n}\ng {\n a = f32[] parameter(0)\n ROOT r "
       "= f32[] add(a, a)\n}\n"
       "ENTRY main {\n i = s32[] constant(-7)\n x = f32[] constant(3)\n ROOT r = f32[] conditional(i, x, x), "
       "branch_computations={f, g}\n}\n",
       0, W(6)},
      {"predicate",
       "HloModule m\nf {\n a = f32[] parameter(0)\n ROOT r = f32[] negate(a)\n}\ng {\n a = f32[] parameter(0)\n ROOT r "
       "= f32[] add(a, a)\n}\n"
       "ENTRY main {\n i = pred[] constant(true)\n x = f32[] constant(3)\n ROOT r = f32[] conditional(i, x, x), "
       "true_computation=f, false_computation=g\n}\n",
       0, W(-3)},
      {"call with a repeated result",
       "HloModule m\nf {\n a = f32[2] parameter(0)\n b = f32[2] negate(a)\n ROOT r = (f32[2], f32[2], f32[2]) tuple(b, "
       "a, b)\n}\nENTRY main {\n x = f32[2] constant({1, 2})\n ROOT r = (f32[2], f32[2], f32[2]) call(x), "
       "to_apply=f\n}\n",
       0, W(-1, -2, 1, 2, -1, -2)},
  };
  RUN(cases);
}
END_TEST

HARNESS_MAIN("interp_ops", movement, elementwise, indexing, reductions, sorting, contractions, linear_algebra,
             random_bits, rng_values, control)
