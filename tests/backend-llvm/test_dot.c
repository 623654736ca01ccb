// SPDX-License-Identifier: Apache-2.0
// dot_general on the CPU device, for each vector level this machine can run, against the interpreter: every schedule's
// edges (one row, one column, odd sizes, sizes around tiles and blocks of k, batches, several dimensions a class, all
// layouts, all element types), with and without an epilogue.
#include "tests/backend-llvm/cpu_test.h"

// B x M x K times B x K x N; layout "NN", "NT", ...; epilogue: + bias over n, then maximum with 0, times the residual.
static void product(const char *in, const char *out, int b, int m, int n, int k, const char *layout, bool epilogue) {
  char l[64], r[64], o[64], text[2000];
  bool ta = layout[0] == 'T', tb = layout[1] == 'T';
  snprintf(l, sizeof l, "tensor<%dx%dx%dx%s>", b, ta ? k : m, ta ? m : k, in);
  snprintf(r, sizeof r, "tensor<%dx%dx%dx%s>", b, tb ? n : k, tb ? k : n, in);
  snprintf(o, sizeof o, "tensor<%dx%dx%dx%s>", b, m, n, out);
  const char *tail = "return %0";
  char more[900] = "";
  if (epilogue) {
    snprintf(more, sizeof more,
             "%%1 = stablehlo.broadcast_in_dim %%c, dims = [2] : (tensor<%dx%s>) -> %s\n"
             "%%2 = stablehlo.add %%0, %%1 : %s\n%%3 = stablehlo.maximum %%2, %%d : %s\n%%4 = stablehlo.subtract %%3, "
             "%%1 : %s\n",
             n, out, o, o, o, o);
    tail = "return %4";
  }
  snprintf(text, sizeof text,
           "func.func @main(%%a: %s, %%b: %s, %%c: tensor<%dx%s>, %%d: %s) -> %s {\n"
           "%%0 = stablehlo.dot_general %%a, %%b, batching_dims = [0] x [0], contracting_dims = [%d] x [%d] : (%s, %s) "
           "-> %s\n"
           "%s%s : %s\n}\n",
           l, r, n, out, o, o, ta ? 1 : 2, tb ? 2 : 1, l, r, o, more, tail, o);
  compare(text);
}

static const char *const layouts[] = {"NN", "NT", "TN", "TT"};

START_TEST(shapes) {
  static const int sizes[][4] = {
      // b, m, n, k
      {1, 1, 1, 70},   {1, 1, 37, 65},    {1, 1, 256, 33}, {1, 3, 300, 21}, {2, 1, 530, 40},  {1, 2, 19, 48},
      {1, 3, 130, 17}, {1, 4, 5, 128},    {1, 5, 33, 20},  {1, 14, 32, 16}, {1, 15, 33, 17},  {1, 13, 31, 15},
      {1, 28, 64, 64}, {1, 29, 10, 100},  {1, 97, 1, 30},  {1, 61, 3, 19},  {1, 70, 48, 7},   {1, 100, 100, 1},
      {1, 100, 16, 2}, {3, 20, 18, 9},    {5, 1, 40, 24},  {4, 33, 1, 16},  {2, 150, 70, 90}, {7, 8, 8, 8},
      {1, 6, 16, 300}, {1, 130, 129, 131}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int l = 0; l < 4; l++) {
      const int *s = sizes[i];
      product("f32", "f32", s[0], s[1], s[2], s[3], layouts[l], (i + (size_t)l) % 2 == 0);
    }
}
END_TEST

START_TEST(large) {  // several blocks of rows, of columns, and of k
  product("f32", "f32", 1, 200, 90, 300, "NN", false);
  product("f32", "f32", 1, 250, 64, 64, "TT", true);
  product("f32", "f32", 1, 40, 50, 5000, "NT", true);
  product("f32", "f32", 1, 20, 1100, 2500, "NN", false);
  product("f32", "f32", 2, 130, 40, 4100, "TN", false);
  product("f64", "f64", 1, 90, 33, 3000, "NT", false);
}
END_TEST

START_TEST(types) {
  static const char *const pairs[][2] = {{"f64", "f64"}, {"bf16", "bf16"}, {"f16", "f16"},  {"bf16", "f32"},
                                         {"f16", "f32"}, {"i8", "i32"},    {"ui8", "ui32"}, {"i8", "i8"},
                                         {"ui8", "ui8"}, {"i16", "i32"},   {"i32", "i32"},  {"ui32", "ui32"},
                                         {"i64", "i64"}, {"i16", "i16"},   {"ui16", "ui16"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    const char *in = pairs[i][0], *out = pairs[i][1];
    product(in, out, 1, 33, 35, 37, layouts[i % 4], false);
    product(in, out, 1, 1, 70, 40, "NN", false);
    product(in, out, 1, 2, 520, 35, "NN", true);
    product(in, out, 2, 1, 21, 40, "NT", false);
    product(in, out, 1, 30, 1, 19, "NN", true);
    product(in, out, 3, 17, 18, 16, layouts[(i + 1) % 4], true);
  }
}
END_TEST

START_TEST(dimensions) {  // classes of several dimensions, apart from each other, in another order on the right
  static const char *const texts[] = {
      "func.func @main(%a: tensor<3x4x5x6xf32>, %b: tensor<6x4x7x2xf32>) -> tensor<3x5x7x2xf32> {\n"
      "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1, 3] x [1, 0] : (tensor<3x4x5x6xf32>, "
      "tensor<6x4x7x2xf32>) "
      "-> tensor<3x5x7x2xf32>\nreturn %0 : tensor<3x5x7x2xf32>\n}\n",
      "func.func @main(%a: tensor<4x3x9x32xf32>, %b: tensor<4x8x3x32xf32>) -> tensor<3x4x9x8xf32> {\n"
      "%0 = stablehlo.dot_general %a, %b, batching_dims = [1, 0] x [2, 0], contracting_dims = [3] x [3] : "
      "(tensor<4x3x9x32xf32>, tensor<4x8x3x32xf32>) -> tensor<3x4x9x8xf32>\nreturn %0 : tensor<3x4x9x8xf32>\n}\n",
      "func.func @main(%a: tensor<5x6x7x1x8xf32>, %b: tensor<7x8x1x20xf32>) -> tensor<5x6x1x1x20xf32> {\n"
      "%0 = stablehlo.dot_general %a, %b, contracting_dims = [2, 4] x [0, 1] : (tensor<5x6x7x1x8xf32>, "
      "tensor<7x8x1x20xf32>) -> tensor<5x6x1x1x20xf32>\nreturn %0 : tensor<5x6x1x1x20xf32>\n}\n",
      "func.func @main(%a: tensor<20x30xf32>, %b: tensor<16x18xf32>) -> tensor<20x30x16x18xf32> {\n"
      "%0 = stablehlo.dot_general %a, %b, contracting_dims = [] x [] : (tensor<20x30xf32>, tensor<16x18xf32>) -> "
      "tensor<20x30x16x18xf32>\nreturn %0 : tensor<20x30x16x18xf32>\n}\n",
      "func.func @main(%a: tensor<300xf32>, %b: tensor<300xf32>) -> tensor<f32> {\n"
      "%0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<300xf32>, tensor<300xf32>) -> "
      "tensor<f32>\n"
      "return %0 : tensor<f32>\n}\n",
      "func.func @main(%a: tensor<0x30xf32>, %b: tensor<30x18xf32>) -> tensor<0x18xf32> {\n"
      "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<0x30xf32>, tensor<30x18xf32>) -> "
      "tensor<0x18xf32>\nreturn %0 : tensor<0x18xf32>\n}\n",
      "func.func @main(%a: tensor<20x0xf32>, %b: tensor<0x18xf32>) -> tensor<20x18xf32> {\n"
      "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<20x0xf32>, tensor<0x18xf32>) -> "
      "tensor<20x18xf32>\nreturn %0 : tensor<20x18xf32>\n}\n",
      "func.func @main(%a: tensor<16x24xcomplex<f32>>, %b: tensor<24x18xcomplex<f32>>) -> tensor<16x18xcomplex<f32>> "
      "{\n"
      "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<16x24xcomplex<f32>>, "
      "tensor<24x18xcomplex<f32>>) -> tensor<16x18xcomplex<f32>>\nreturn %0 : tensor<16x18xcomplex<f32>>\n}\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) compare(texts[i]);
}
END_TEST

static void *with_threads(int threads, const char *text, float *a, float *b, int64_t *bytes) {
  lemnos_context_options options = {.threads = threads};
  lemnos_context *c;
  lemnos_device *d;
  lemnos_module *m;
  lemnos_executable *e;
  lemnos_array args[2] = {{0}}, out = {0};
  ASSERT_OK(lemnos_context_create(&options, &c));
  ASSERT_OK(lemnos_device_open(c, "cpu", &d));
  ASSERT_OK(lemnos_module_load(c, "dot", text, strlen(text), NULL, &m));
  for (int i = 0; i < 2; i++) ASSERT_OK(lemnos_module_arg(m, i, &args[i]));
  args[0].data = a, args[1].data = b;
  ASSERT_OK(lemnos_compile(m, d, NULL, &e));
  ASSERT_OK(lemnos_execute_host(e, 2, args, 1, &out, NULL));
  *bytes = lemnos_array_bytes(&out);
  lemnos_executable_free(e);
  lemnos_module_free(m);
  lemnos_device_free(d);
  lemnos_context_free(c);
  return out.data;
}

// Sums that round: the same bits whatever the number of threads.
START_TEST(same_bits_by_threads) {
  static const int sizes[][3] = {{1, 700, 900}, {3, 600, 400}, {20, 500, 2300}, {300, 65, 500}, {2, 40, 2000}};
  enum { MOST = 2300 * 500 };
  float *a = malloc(sizeof *a * MOST), *b = malloc(sizeof *b * MOST);
  for (int i = 0; i < MOST; i++)
    a[i] = (float)next_random() * 0x1p-31f - 0.5f, b[i] = (float)next_random() * 0x1p-31f - 0.5f;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int nt = 0; nt < 2; nt++) {
      int m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
      char r[64], text[600];
      snprintf(r, sizeof r, "tensor<%dx%dxf32>", nt ? n : k, nt ? k : n);
      snprintf(text, sizeof text,
               "func.func @main(%%a: tensor<%dx%dxf32>, %%b: %s) -> tensor<%dx%dxf32> {\n%%0 = stablehlo.dot_general "
               "%%a, %%b, "
               "contracting_dims = [1] x [%d] : (tensor<%dx%dxf32>, %s) -> tensor<%dx%dxf32>\nreturn %%0 : "
               "tensor<%dx%dxf32>\n}\n",
               m, k, r, m, n, nt, m, k, r, m, n, m, n);
      int64_t bytes;
      void *one = with_threads(1, text, a, b, &bytes);
      for (int threads = 2; threads <= 5; threads += 3) {
        void *more = with_threads(threads, text, a, b, &bytes);
        ck_assert_msg(!memcmp(one, more, (size_t)bytes), "%d threads differ:\n%s", threads, text);
        free(more);
      }
      free(one);
    }
  free(a), free(b);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {shapes, large, types, dimensions, same_bits_by_threads};
  return cpu_test_main("backend_llvm_dot", tests, 5);
}
