// SPDX-License-Identifier: Apache-2.0
// Further operations of the interpreter: normalisation, einsum, dynamic shapes, quantized values, collectives of one,
// custom calls. Expected values by hand, or NumPy where said.
#include "tests/interp/interp_test.h"

#define SQRT_HALF 0.70710678118654752
#define M(body) "HloModule m\nENTRY main {\n" body "\n}\n"

static void run_all(const test_case *cases, int n) {
  for (int k = 0; k < n; k++) test_run_case(&cases[k]);
}
#define RUN(cases) run_all(cases, (int)(sizeof cases / sizeof cases[0]))

START_TEST(batch_norm) {
  // NumPy: mean and var over axis 0 of [[1, 2], [3, 6]]; (x - mean) / sqrt(var) * scale + offset.
  const test_case cases[] = {
      {"training",
       M("x = f32[2,2] constant({ {1, 2}, {3, 6} })\n s = f32[2] constant({1, 10})\n o = f32[2] constant({0, 5})\n"
         " ROOT r = (f32[2,2], f32[2], f32[2]) batch-norm-training(x, s, o), epsilon=0, feature_index=1"),
       1e-6, W(-1, -5, 1, 15, 2, 4, 1, 4)},
      // d/dx of sum(g * bn(x)) with x = [1, 3], mean 2, var 1, scale 2: symmetric pair gives zero; grad_scale,
      // grad_offset by hand.
      {"grad",
       M("x = f32[2,1] constant({ {1}, {3} })\n s = f32[1] constant({2})\n m = f32[1] constant({2})\n v = f32[1] "
         "constant({1})\n"
         " g = f32[2,1] constant({ {1}, {4} })\n ROOT r = (f32[2,1], f32[1], f32[1]) batch-norm-grad(x, s, m, v, g), "
         "epsilon=0, feature_index=1"),
       1e-6, W(0, 0, 3, 5)},
  };
  RUN(cases);
}
END_TEST

#define Q "!quant(f32,-128:127,{0.5:3})"
// Found by random programs. By the specification: iota quantizes the index, q = i / 0.5 + 3; batch_norm_training goes
// through f32, and its mean of 1 and 3 (stored 5 and 9) is 2, stored 7; f8E8M0FNU's NaN has no sign and is above all in
// a total order.
START_TEST(quantized_and_unsigned) {
  const test_case cases[] = {
      {"iota", M("q = s8[3]" Q " iota(), iota_dimension=0\n ROOT r = s8[3] bitcast-convert(q)"), 0, W(3, 5, 7)},
      {"training",
       M("a = s8[2,1] constant({ {5}, {9} })\n b = s8[1] constant({5})\n x = s8[2,1]" Q " bitcast-convert(a)\n"
         " s = s8[1]" Q " bitcast-convert(b)\n t = (s8[2,1]" Q ", s8[1]" Q ", s8[1]" Q
         ") batch-norm-training(x, s, s), epsilon=0, feature_index=1\n"
         " m = s8[1]" Q " get-tuple-element(t), index=1\n ROOT r = s8[1] bitcast-convert(m)"),
       0, W(7)},
      {"topk",
       M("x = f8e8m0fnu[3] constant({4, nan, 2})\n t = (f8e8m0fnu[3], s32[3]) topk(x), k=3, largest=true\n"
         " ROOT r = s32[3] get-tuple-element(t), index=1"),
       0, W(1, 0, 2)},
  };
  RUN(cases);
}
END_TEST

START_TEST(dynamic_shapes) {
  const test_case cases[] = {
      {"broadcast",
       M("x = f32[2] constant({1, 2})\n d = s32[2] constant({3, 2})\n ROOT r = f32[3,2] dynamic-broadcast-in-dim(x, "
         "d), dimensions={1}"),
       0, W(1, 2, 1, 2, 1, 2)},
      {"pad",
       M("x = f32[2] constant({1, 2})\n z = f32[] constant(0)\n l = s32[1] constant({1})\n h = s32[1] constant({-1})\n "
         "i = s32[1] constant({1})\n"
         " ROOT r = f32[3] dynamic-pad(x, z, l, h, i)"),
       0, W(0, 1, 0)},
      {"slice",
       M("x = f32[5] constant({0, 1, 2, 3, 4})\n s = s32[1] constant({1})\n l = s32[1] constant({5})\n t = s32[1] "
         "constant({2})\n ROOT r = f32[2] real-dynamic-slice(x, s, l, t)"),
       0, W(1, 3)},
      {"size", M("x = f32[2,7] iota(), iota_dimension=0\n ROOT r = s32[] get-dimension-size(x), dimensions={1}"), 0,
       W(7)},
      // A size set to 1 and back to 3: what was cut off is zero.
      {"grown",
       M("w = f32[3] constant({1, 2, 3})\n a = s32[] constant(1)\n b = s32[] constant(3)\n x = f32[<=3] "
         "set-dimension-size(w, a), dimensions={0}\n"
         " ROOT r = f32[<=3] set-dimension-size(x, b), dimensions={0}"),
       0, W(1, 0, 0)},
      {"fft",
       M("w = f32[2,4] constant({ {1, 2, 3, 4}, {4, 4, 4, 4} })\n"
         "s = s32[2] constant({0, 0})\n l = s32[2] constant({2, 4})\n t = s32[2] constant({1, 1})\n x = f32[?,4] "
         "real-dynamic-slice(w, s, l, t)\n"
         " ROOT r = c64[?,3] fft(x), fft_type=RFFT, fft_length={4}"),
       1e-6, W(10, 0, -2, 2, -2, 0, 16, 0, 0, 0, 0, 0)},
      {"batch norm",
       M("w = f32[2,2] constant({ {1, 2}, {3, 6} })\n g = f32[2] constant({1, 1})\n o = f32[2] constant({0, 0})\n"
         "s = s32[2] constant({0, 0})\n l = s32[2] constant({2, 2})\n t = s32[2] constant({1, 1})\n x = f32[?,2] "
         "real-dynamic-slice(w, s, l, t)\n"
         " ROOT r = (f32[?,2], f32[2], f32[2]) batch-norm-training(x, g, o), epsilon=0, feature_index=1"),
       0, W(-1, -1, 1, 1, 2, 4, 1, 4)},
      {"ragged dot",
       M("w = f32[3,1] constant({ {1}, {2}, {3} })\n y = f32[2,1,1] constant({ { {10} }, { {100} } })\n n = s32[2] "
         "constant({1, 2})\n s = s32[2] constant({0, 0})\n"
         " l = s32[2] constant({3, 1})\n t = s32[2] constant({1, 1})\n x = f32[?,1] real-dynamic-slice(w, s, l, t)\n"
         " ROOT r = f32[?,1] ragged-dot(x, y, n), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
         "lhs_ragged_dims={0}, rhs_group_dims={0}"),
       0, W(10, 200, 300)},
      {"scan",
       "HloModule m\nbody {\n x = f32[2] parameter(0)\n c = f32[2] parameter(1)\n y = f32[2] add(x, c)\n ROOT r = "
       "(f32[2], f32[2]) tuple(y, y)\n}\nENTRY main {\n"
       " w = f32[2,2] constant({ {1, 2}, {3, 6} })\n z = f32[2] constant({0, 10})\n"
       "s = s32[2] constant({0, 0})\n l = s32[2] constant({2, 2})\n t = s32[2] constant({1, 1})\n x = f32[?,2] "
       "real-dynamic-slice(w, s, l, t)\n"
       " ROOT r = (f32[?,2], f32[2]) scan(x, z), dimension=0, num_carries=1, to_apply=body\n}\n",
       0, W(1, 12, 4, 18, 4, 18)},
  };
  RUN(cases);
}
END_TEST

START_TEST(einsums) {
  const test_case cases[] = {
      {"trace of rows",
       M("x = f32[2,3] constant({ {1, 2, 3}, {4, 5, 6} })\n ROOT r = f32[3] unary-einsum(x), einsum_config=\"ab->b\""),
       0, W(5, 7, 9)},
      {"diagonal",
       M("x = f32[2,2,2] constant({ { {1, 2}, {3, 4} }, { {5, 6}, {7, 8} } })\n ROOT r = f32[2,2] unary-einsum(x), "
         "einsum_config=\"aba->ba\""),
       0, W(1, 6, 3, 8)},
      {"trace", M("x = s32[2,2] constant({ {1, 2}, {3, 4} })\n ROOT r = s32[] unary-einsum(x), einsum_config=\"aa->\""),
       0, W(5)},
      // y summed over c is (3, 7); the diagonal of x is (1, 4).
      {"diagonal and a sum",
       M("x = f32[2,2] constant({ {1, 2}, {3, 4} })\n y = f32[2,2] constant({ {1, 2}, {3, 4} })\n ROOT r = f32[2] "
         "einsum(x, y), einsum_config=\"aa,ac->a\""),
       0, W(3, 28)},
      {"sums of each",
       M("x = f32[2,2] constant({ {1, 2}, {3, 4} })\n y = f32[3] constant({1, 2, 3})\n ROOT r = f32[2] einsum(x, y), "
         "einsum_config=\"ab,c->b\""),
       0, W(24, 36)},
      // (256 + 1 + 1) (1 + 2^-7) = 260.015625: only the result is rounded, in steps of 2.
      {"rounded once",
       M("x = bf16[3] constant({256, 1, 1})\n y = bf16[2] constant({1, 0.0078125})\n ROOT r = bf16[] einsum(x, y), "
         "einsum_config=\"a,b->\""),
       0, W(260)},
      {"transposed product",
       M("x = f32[2,2] constant({ {1, 2}, {3, 4} })\n y = f32[2,2] constant({ {1, 0}, {1, 1} })\n ROOT r = f32[2,2] "
         "einsum(x, y), einsum_config=\"ab,bc->ca\""),
       0, W(3, 7, 2, 4)},
  };
  RUN(cases);
}
END_TEST

START_TEST(one_participant) {
  const test_case cases[] = {
      {"all-reduce",
       "HloModule m\nsum {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b)\n}\nENTRY main "
       "{\n x = f32[2] constant({1, 2})\n"
       " ROOT r = f32[2] all-reduce(x), replica_groups={{0}}, to_apply=sum\n}\n",
       0, W(1, 2)},
      {"replica", M("ROOT r = u32[] replica-id()"), 0, W(0)},
      {"permute without a source",
       M("x = f32[2] constant({1, 2})\n ROOT r = f32[2] collective-permute(x), source_target_pairs={}"), 0, W(0, 0)},
  };
  RUN(cases);
}
END_TEST

// A = [[3, 0], [4, 5]]: the first Householder reflection maps (3, 4) to (-5, 0), tau = 1.6, v = (1, 0.5).
START_TEST(custom_linear_algebra) {
  const test_case cases[] = {
      {"Qr",
       M("x = f64[2,2] constant({ {3, 0}, {4, 5} })\n ROOT r = (f64[2,2], f64[2]) custom-call(x), "
         "custom_call_target=\"Qr\""),
       1e-15, W(-5, -4, 0.5, 3, 1.6, 0)},
      {"Q",
       M("x = f64[2,2] constant({ {-5, -4}, {0.5, 3} })\n t = f64[2] constant({1.6, 0})\n ROOT r = f64[2,2] "
         "custom-call(x, t), custom_call_target=\"ProductOfElementaryHouseholderReflectors\""),
       1e-15, W(-0.6, -0.8, -0.8, 0.6)},
      {"Eigh",
       M("x = f64[2,2] constant({ {2, 99}, {1, 2} })\n e = (f64[2,2], f64[2]) custom-call(x), "
         "custom_call_target=\"Eigh\"\n ROOT r = f64[2] get-tuple-element(e), index=1"),
       1e-15, W(1, 3)},
      // By hand, in XLA's order and signs: a rotation by t = 1 (tau = 0), columns (c, -s) and (s, c); then sorted, or
      // the upper triangle not sorted.
      {"Eigh, signs",
       M("x = f64[2,2] constant({ {2, 99}, {1, 2} })\n ROOT r = (f64[2,2], f64[2]) custom-call(x), "
         "custom_call_target=\"Eigh\""),
       1e-15, W(SQRT_HALF, SQRT_HALF, -SQRT_HALF, SQRT_HALF, 1, 3)},
      {"Eigh, negative",
       M("x = f64[2,2] constant({ {2, 99}, {-1, 2} })\n ROOT r = (f64[2,2], f64[2]) custom-call(x), "
         "custom_call_target=\"Eigh\", mhlo_attributes={\"backend_config\"=\"1,1,100,1e-6\"}"),
       1e-15, W(SQRT_HALF, SQRT_HALF, SQRT_HALF, -SQRT_HALF, 1, 3)},
      {"Eigh, upper, unsorted",
       M("x = f64[2,2] constant({ {2, -1}, {99, 2} })\n ROOT r = (f64[2,2], f64[2]) custom-call(x), "
         "custom_call_target=\"Eigh\", mhlo_attributes={\"backend_config\"=\"0,0,100,1e-6\"}"),
       1e-15, W(SQRT_HALF, SQRT_HALF, -SQRT_HALF, SQRT_HALF, 3, 1)},
      {"LU",
       M("x = f32[2,2] constant({ {1, 2}, {4, 8} })\n ROOT r = (f32[2,2], s32[2], s32[]) custom-call(x), "
         "custom_call_target=\"lapack_sgetrf_ffi\""),
       0, W(4, 8, 0.25, 0, 2, 2, 2)},
      {"LU, counted from 0",
       M("x = f32[2,2] constant({ {1, 2}, {4, 8} })\n ROOT r = (f32[2,2], s32[2], s32[2]) custom-call(x), "
         "custom_call_target=\"LuDecomposition\""),
       0, W(4, 8, 0.25, 0, 1, 1, 1, 0)},
      {"assertion holds",
       M("p = pred[] constant(true)\n a = () custom-call(p), custom_call_target=\"shape_assertion\", "
         "custom_call_has_side_effect=true\n ROOT r = s32[] constant(1)"),
       0, W(1)},
  };
  RUN(cases);
}
END_TEST

START_TEST(selection) {
  const test_case cases[] = {
      {"torch-index-select",
       M("x = f32[2,2] constant({ {1, 2}, {3, 4} })\n i = s32[3] constant({1, 0, 1})\n ROOT r = f32[3,2] "
         "torch-index-select(x, i), dim=0, batch_dims=0"),
       0, W(3, 4, 1, 2, 3, 4)},
      {"gather, batching dims",
       M("x = f32[2,3] constant({ {1, 2, 3}, {4, 5, 6} })\n i = s32[2,1] constant({ {2}, {0} })\n ROOT r = f32[2] "
         "gather(x, i), offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, "
         "start_indices_batching_dims={0}, index_vector_dim=1, slice_sizes={1,1}"),
       0, W(3, 4)},
      {"scatter of two arrays",
       "HloModule m\nf {\n a = f32[] parameter(0)\n b = s32[] parameter(1)\n c = f32[] parameter(2)\n d = s32[] "
       "parameter(3)\n x = f32[] maximum(a, c)\n y = s32[] add(b, d)\n ROOT t = (f32[], s32[]) tuple(x, y)\n}\n"
       "ENTRY main {\n x = f32[2] constant({1, 5})\n n = s32[2] constant({0, 0})\n i = s32[3,1] constant({ {0}, {0}, "
       "{1} })\n u = f32[3] constant({3, 2, 4})\n one = s32[3] constant({1, 1, 1})\n"
       " ROOT r = (f32[2], s32[2]) scatter(x, n, i, u, one), update_window_dims={}, inserted_window_dims={0}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f\n}\n",
       0, W(3, 5, 2, 1)},
  };
  RUN(cases);
}
END_TEST

// Products of all the ways of computing them (few rows, one row, few terms, packed), with operands in any order,
// against the sum that the header of interp.h promises: f64 in ascending order, or f32 after every step for at most 16
// terms.
static float product_element(const float *a, int64_t ai, int64_t ak, const float *b, int64_t bj, int64_t bk, int k) {
  float narrow = 0;
  double wide = 0;
  for (int p = 0; p < k; p++) {
    volatile float term = a[ai + p * ak] * b[bj + p * bk];
    narrow += term;
    wide += (double)a[ai + p * ak] * (double)b[bj + p * bk];
  }
  return k <= 16 ? narrow : (float)wide;
}

static void check_product(int m, int n, int k, bool lhs_transposed, bool rhs_transposed) {
  char text[512];
  snprintf(text, sizeof text,
           "HloModule m\nENTRY main {\n a = f32[2,%d,%d] parameter(0)\n b = f32[2,%d,%d] parameter(1)\n ROOT r = "
           "f32[2,%d,%d] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={%d}, "
           "rhs_contracting_dims={%d}\n}\n",
           lhs_transposed ? k : m, lhs_transposed ? m : k, rhs_transposed ? n : k, rhs_transposed ? k : n, m, n,
           lhs_transposed ? 1 : 2, rhs_transposed ? 2 : 1);
  float *a = malloc(sizeof *a * (size_t)(2 * m * k)), *b = malloc(sizeof *b * (size_t)(2 * k * n));
  uint32_t seed = 1;
  for (int e = 0; e < 2 * m * k; e++) a[e] = (float)(int32_t)(seed = seed * 1664525u + 1013904223u) * 0x1p-31f;
  for (int e = 0; e < 2 * k * n; e++) b[e] = (float)(int32_t)(seed = seed * 1664525u + 1013904223u) * 0x1p-29f;
  test_program t = test_compile(text);
  int64_t ad[3] = {2, lhs_transposed ? k : m, lhs_transposed ? m : k};
  int64_t bd[3] = {2, rhs_transposed ? n : k, rhs_transposed ? k : n};
  interp_array args[2] = {test_array(HLO_F32, 3, ad, a), test_array(HLO_F32, 3, bd, b)}, result = {0};
  ASSERT_OK(interp_run(t.program, NULL, 2, args, 1, &result));
  for (int e = 0; e < 2 * m * n; e++) {
    int q = e / (m * n), i = e / n % m, j = e % n;
    float want = product_element(a + q * m * k, lhs_transposed ? i : (int64_t)i * k, lhs_transposed ? m : 1,
                                 b + q * k * n, rhs_transposed ? (int64_t)j * k : j, rhs_transposed ? 1 : n, k);
    ck_assert_msg(((float *)result.data)[e] == want, "%dx%dx%d %d%d [%d,%d,%d]: %a, expected %a", m, n, k,
                  lhs_transposed, rhs_transposed, q, i, j, (double)((float *)result.data)[e], (double)want);
  }
  heap_aligned_free(result.data);
  test_free(&t);
  free(a);
  free(b);
}

START_TEST(products) {
  static const int rows[] = {1, 2, 7, 8, 9, 37}, columns[] = {1, 15, 16, 17, 64, 100};
  static const int terms[] = {1, 5, 16, 17, 63, 64, 200};
  for (size_t m = 0; m < sizeof rows / sizeof *rows; m++)
    for (size_t n = 0; n < sizeof columns / sizeof *columns; n++)
      for (size_t k = 0; k < sizeof terms / sizeof *terms; k++)
        for (int order = 0; order < 4; order++) check_product(rows[m], columns[n], terms[k], order & 1, order & 2);
}
END_TEST

// A convolution with everything (padding, stride, dilation, reversal, groups) against its definition, summed as above.
static void check_convolution(int groups, int features) {
  enum { B = 2, H = 5, W = 6, C = 8, OH = 3, OW = 4 };
  char text[512];
  snprintf(text, sizeof text,
           "HloModule m\nENTRY main {\n x = f32[2,5,6,%d] parameter(0)\n k = f32[3,3,8,%d] parameter(1)\n ROOT r = "
           "f32[2,3,4,%d] convolution(x, k), window={size=3x3 stride=2x1 pad=1_1x0_2 rhs_dilate=1x2 rhs_reversal=1x0}, "
           "dim_labels=b01f_01io->b01f, feature_group_count=%d\n}\n",
           C * groups, features * groups, features * groups, groups);
  int n_in = B * H * W * C * groups, n_kernel = 9 * C * features * groups, n_out = B * OH * OW * features * groups;
  float *x = malloc(sizeof *x * (size_t)n_in), *k = malloc(sizeof *k * (size_t)n_kernel);
  uint32_t seed = 7;
  for (int e = 0; e < n_in; e++) x[e] = (float)(int32_t)(seed = seed * 1664525u + 1013904223u) * 0x1p-31f;
  for (int e = 0; e < n_kernel; e++) k[e] = (float)(int32_t)(seed = seed * 1664525u + 1013904223u) * 0x1p-30f;
  test_program t = test_compile(text);
  int64_t xd[4] = {B, H, W, C * groups}, kd[4] = {3, 3, C, features * groups};
  interp_array args[2] = {test_array(HLO_F32, 4, xd, x), test_array(HLO_F32, 4, kd, k)}, result = {0};
  ASSERT_OK(interp_run(t.program, NULL, 2, args, 1, &result));
  for (int e = 0; e < n_out; e++) {
    int f = e % (features * groups), p = e / (features * groups), ox = p % OW, oy = p / OW % OH, b = p / OW / OH;
    double want = 0;
    for (int ky = 0; ky < 3; ky++)
      for (int kx = 0; kx < 3; kx++)
        for (int c = 0; c < C; c++) {
          int y = 2 * oy + ky - 1, z = ox + 2 * kx;
          float in = y < 0 || y >= H || z >= W ? 0 : x[((b * H + y) * W + z) * C * groups + f / features * C + c];
          want += (double)in * (double)k[(((2 - ky) * 3 + kx) * C + c) * features * groups + f];
        }
    ck_assert_msg(((float *)result.data)[e] == (float)want, "%d groups of %d, element %d: %a, expected %a", groups,
                  features, e, (double)((float *)result.data)[e], want);
  }
  heap_aligned_free(result.data);
  test_free(&t);
  free(x);
  free(k);
}

START_TEST(convolutions) {
  for (int groups = 1; groups <= 2; groups++)
    for (int features = 15; features <= 48; features++) check_convolution(groups, features);
}
END_TEST

HARNESS_MAIN("interp_more", products, convolutions, batch_norm, quantized_and_unsigned, dynamic_shapes, einsums,
             one_participant, custom_linear_algebra, selection)
