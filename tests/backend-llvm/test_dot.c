// SPDX-License-Identifier: Apache-2.0
// dot_general on the CPU device, for each vector level this machine can run, against the interpreter: every schedule's edges
// (one row, one column, odd sizes, sizes around tiles and blocks of k, batches, several dimensions a class, all layouts, all
// element types), with and without an epilogue.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lemnos/lemnos.h"
#include "tests/harness.h"

static lemnos_context *context;
static const char *const levels[] = {"cpu:avx512", "cpu:avx2", "cpu:sse", "cpu"};
enum { LEVELS = 4 };

static uint64_t state = 1;
static uint32_t next_random(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33);
}

// Small integers and halves: exact in every float type here as long as the sums stay small.
static void fill(lemnos_array *a) {
  int64_t bytes = lemnos_array_bytes(a), n = 1;
  for (int d = 0; d < a->rank; d++) n *= a->dims[d];
  a->data = calloc(1, (size_t)bytes + 8);
  bool complex = !strcmp(a->dtype, "complex<f32>");
  for (int64_t i = 0; i < (complex ? 2 * n : n); i++) {
    int x = (int)(next_random() % 9) - 4;
    if (complex || !strcmp(a->dtype, "f32")) ((float *)a->data)[i] = (float)x * 0.5f;
    else if (!strcmp(a->dtype, "f64")) ((double *)a->data)[i] = x * 0.5;
    else if (!strcmp(a->dtype, "bf16")) {
      float f = (float)x * 0.5f;
      uint32_t bits;
      memcpy(&bits, &f, 4);
      ((uint16_t *)a->data)[i] = (uint16_t)(bits >> 16);
    } else if (!strcmp(a->dtype, "f16")) {
      static const uint16_t halves[] = {0xc000, 0xbe00, 0xbc00, 0xb800, 0, 0x3800, 0x3c00, 0x3e00, 0x4000};
      ((uint16_t *)a->data)[i] = halves[x + 4];
    } else {
      uint64_t v = (uint64_t)(next_random() | (uint64_t)next_random() << 32);
      int64_t each = bytes / n;
      memcpy((char *)a->data + i * each, &v, (size_t)each);
    }
  }
}

static void run_on(lemnos_module *m, const char *device, int n_args, lemnos_array *args, lemnos_array *out, const char *text) {
  lemnos_device *d;
  lemnos_executable *e;
  ASSERT_OK(lemnos_device_open(context, device, &d));
  ASSERT_OK(lemnos_compile(m, d, NULL, &e));
  lemnos_executable_stats stats;
  lemnos_executable_get_stats(e, &stats);
  if (strcmp(device, "interp")) ck_assert_msg(stats.n_host_steps == 0, "%s: on the host:\n%s", device, text);
  ASSERT_OK(lemnos_execute_host(e, n_args, args, 1, out, NULL));
  lemnos_executable_free(e);
  lemnos_device_free(d);
}

// Values are exact, so any order of summation gives the same bits.
static void compare(const char *text) {
  lemnos_module *m;
  lemnos_status s = lemnos_module_load(context, "dot", text, strlen(text), NULL, &m);
  ck_assert_msg(!s, "%s\n%s", lemnos_status_message(s), text);
  lemnos_array args[4] = {{0}}, expected = {0};
  int n = lemnos_module_n_args(m);
  for (int i = 0; i < n; i++) {
    ASSERT_OK(lemnos_module_arg(m, i, &args[i]));
    fill(&args[i]);
  }
  run_on(m, "interp", n, args, &expected, text);
  for (int l = 0; l < LEVELS; l++) {
    lemnos_device *d;
    s = lemnos_device_open(context, levels[l], &d);
    if (s) {  // a level above this machine's
      lemnos_status_free(s);
      continue;
    }
    lemnos_device_free(d);
    lemnos_array out = {0};
    run_on(m, levels[l], n, args, &out, text);
    int64_t bytes = lemnos_array_bytes(&out);
    if (memcmp(out.data, expected.data, (size_t)bytes)) {
      int64_t at = 0, count = 1;
      while (((char *)out.data)[at] == ((char *)expected.data)[at]) at++;
      for (int i = 0; i < out.rank; i++) count *= out.dims[i];
      ck_abort_msg("%s: element %lld differs:\n%s", levels[l], (long long)(at / (bytes / count)), text);
    }
    free(out.data);
  }
  free(expected.data);
  for (int i = 0; i < n; i++) free(args[i].data);
  lemnos_module_free(m);
}

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
             "%%2 = stablehlo.add %%0, %%1 : %s\n%%3 = stablehlo.maximum %%2, %%d : %s\n%%4 = stablehlo.subtract %%3, %%1 : %s\n",
             n, out, o, o, o, o);
    tail = "return %4";
  }
  snprintf(text, sizeof text,
           "func.func @main(%%a: %s, %%b: %s, %%c: tensor<%dx%s>, %%d: %s) -> %s {\n"
           "%%0 = stablehlo.dot_general %%a, %%b, batching_dims = [0] x [0], contracting_dims = [%d] x [%d] : (%s, %s) -> %s\n"
           "%s%s : %s\n}\n",
           l, r, n, out, o, o, ta ? 1 : 2, tb ? 2 : 1, l, r, o, more, tail, o);
  compare(text);
}

static const char *const layouts[] = {"NN", "NT", "TN", "TT"};

START_TEST(shapes) {
  static const int sizes[][4] = {  // b, m, n, k
      {1, 1, 1, 70},  {1, 1, 37, 65},  {1, 1, 256, 33}, {1, 2, 19, 48},  {1, 3, 130, 17}, {1, 4, 5, 128},  {1, 5, 33, 20},
      {1, 14, 32, 16}, {1, 15, 33, 17}, {1, 13, 31, 15}, {1, 28, 64, 64}, {1, 29, 10, 100}, {1, 97, 1, 30}, {1, 61, 3, 19},
      {1, 70, 48, 7},  {1, 100, 100, 1}, {1, 100, 16, 2}, {3, 20, 18, 9},  {5, 1, 40, 24},  {4, 33, 1, 16},  {2, 150, 70, 90},
      {7, 8, 8, 8},    {1, 6, 16, 300},  {1, 130, 129, 131}};
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
  static const char *const pairs[][2] = {{"f64", "f64"}, {"bf16", "bf16"}, {"f16", "f16"},  {"bf16", "f32"}, {"f16", "f32"},
                                         {"i8", "i32"},  {"ui8", "ui32"},  {"i8", "i8"},    {"ui8", "ui8"},  {"i16", "i32"},
                                         {"i32", "i32"}, {"ui32", "ui32"}, {"i64", "i64"},  {"i16", "i16"}, {"ui16", "ui16"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    const char *in = pairs[i][0], *out = pairs[i][1];
    product(in, out, 1, 33, 35, 37, layouts[i % 4], false);
    product(in, out, 1, 1, 70, 40, "NN", false);
    product(in, out, 2, 1, 21, 40, "NT", false);
    product(in, out, 1, 30, 1, 19, "NN", true);
    product(in, out, 3, 17, 18, 16, layouts[(i + 1) % 4], true);
  }
}
END_TEST

START_TEST(dimensions) {  // classes of several dimensions, apart from each other, in another order on the right
  static const char *const texts[] = {
      "func.func @main(%a: tensor<3x4x5x6xf32>, %b: tensor<6x4x7x2xf32>) -> tensor<3x5x7x2xf32> {\n"
      "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1, 3] x [1, 0] : (tensor<3x4x5x6xf32>, tensor<6x4x7x2xf32>) "
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
      "%0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<300xf32>, tensor<300xf32>) -> tensor<f32>\n"
      "return %0 : tensor<f32>\n}\n",
      "func.func @main(%a: tensor<0x30xf32>, %b: tensor<30x18xf32>) -> tensor<0x18xf32> {\n"
      "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<0x30xf32>, tensor<30x18xf32>) -> "
      "tensor<0x18xf32>\nreturn %0 : tensor<0x18xf32>\n}\n",
      "func.func @main(%a: tensor<20x0xf32>, %b: tensor<0x18xf32>) -> tensor<20x18xf32> {\n"
      "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<20x0xf32>, tensor<0x18xf32>) -> "
      "tensor<20x18xf32>\nreturn %0 : tensor<20x18xf32>\n}\n",
      "func.func @main(%a: tensor<16x24xcomplex<f32>>, %b: tensor<24x18xcomplex<f32>>) -> tensor<16x18xcomplex<f32>> {\n"
      "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<16x24xcomplex<f32>>, "
      "tensor<24x18xcomplex<f32>>) -> tensor<16x18xcomplex<f32>>\nreturn %0 : tensor<16x18xcomplex<f32>>\n}\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) compare(texts[i]);
}
END_TEST

static void setup(void) { ASSERT_OK(lemnos_context_create(NULL, &context)); }
static void teardown(void) { lemnos_context_free(context); }

int main(void) {
  lemnos_device *d;
  lemnos_status s = lemnos_context_create(NULL, &context);
  if (!s) s = lemnos_device_open(context, "cpu", &d);
  if (s) {
    printf("skipped: %s\n", lemnos_status_message(s));
    return HARNESS_SKIPPED;
  }
  lemnos_device_free(d);
  lemnos_context_free(context);  // threads do not survive the fork that each test runs in
  TCase *t = tcase_create("dot");
  tcase_set_timeout(t, 280);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, shapes);
  tcase_add_test(t, large);
  tcase_add_test(t, types);
  tcase_add_test(t, dimensions);
  Suite *suite = suite_create("backend_llvm_dot");
  suite_add_tcase(suite, t);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
