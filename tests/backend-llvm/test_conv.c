// SPDX-License-Identifier: Apache-2.0
// convolution on the CPU device, for each vector level this machine can run, against the interpreter: dimension orders,
// strides, paddings (negative too), dilations of both sides, reversals, groups, odd sizes, element types, one to three
// spatial dimensions, with and without an epilogue.
#include "tests/backend-llvm/cpu_test.h"

typedef struct conv_case {
  const char *in, *out, *layouts;  // element types; "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
  int b, f, o, h, w, kh, kw;
  int stride[2], pad[4], lhs[2], rhs[2];
  bool reverse[2];
  int groups, batch_groups;
  bool epilogue;
} conv_case;

static const char nhwc[] = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]";
static const char nchw[] = "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]";
static const char hwcn[] = "[0, 1, f, b]x[i, 0, 1, o]->[0, 1, b, f]";
static const char mixed[] = "[b, 0, f, 1]x[o, 0, 1, i]->[f, 0, b, 1]";
static const char to_nchw[] = "[b, 0, 1, f]x[0, 1, i, o]->[b, f, 0, 1]";
static const char to_nhwc[] = "[b, f, 0, 1]x[o, i, 0, 1]->[b, 0, 1, f]";

// tensor<...> of one part of the layouts, from sizes by letter.
static const char *shape(char *out, const char *part, const char *dtype, const char *letters, const int *sizes) {
  char *p = out + sprintf(out, "tensor<");
  for (const char *c = part + 1; *c != ']'; c++) {
    const char *at = strchr(letters, *c);
    if (*c != ' ' && *c != ',') p += sprintf(p, "%dx", sizes[at - letters]);
  }
  sprintf(p, "%s>", dtype);
  return out;
}

static int out_size(int n, int k, int stride, int low, int high, int lhs, int rhs) {
  int padded = (n - 1) * lhs + 1 + low + high, window = (k - 1) * rhs + 1;
  return padded < window ? 0 : (padded - window) / stride + 1;
}

static void run_case(const conv_case *given) {
  conv_case c = *given;
  for (int d = 0; d < 2; d++) {
    if (!c.stride[d]) c.stride[d] = 1;
    if (!c.lhs[d]) c.lhs[d] = 1;
    if (!c.rhs[d]) c.rhs[d] = 1;
  }
  if (!c.groups) c.groups = 1;
  if (!c.batch_groups) c.batch_groups = 1;
  const char *second = strchr(c.layouts, 'x') + 1, *third = strchr(c.layouts, '>') + 1;
  char l[96], r[96], o[96], text[3000], more[600] = "";
  int oh = out_size(c.h, c.kh, c.stride[0], c.pad[0], c.pad[1], c.lhs[0], c.rhs[0]);
  int ow = out_size(c.w, c.kw, c.stride[1], c.pad[2], c.pad[3], c.lhs[1], c.rhs[1]);
  shape(l, c.layouts, c.in, "b01f", (int[]){c.b, c.h, c.w, c.f});
  shape(r, second, c.in, "01io", (int[]){c.kh, c.kw, c.f / c.groups, c.o});
  shape(o, third, c.out, "b01f", (int[]){c.b / c.batch_groups, oh, ow, c.o});
  if (c.epilogue)
    snprintf(more, sizeof more, "%%1 = stablehlo.add %%0, %%d : %s\n%%2 = stablehlo.maximum %%1, %%d : %s\n", o, o);
  snprintf(text, sizeof text,
           "func.func @main(%%a: %s, %%b: %s, %%d: %s) -> %s {\n%%0 = stablehlo.convolution(%%a, %%b) dim_numbers = "
           "%s, window = "
           "{stride = [%d, %d], pad = [[%d, %d], [%d, %d]], lhs_dilate = [%d, %d], rhs_dilate = [%d, %d], reverse = "
           "[%s, %s]} "
           "{batch_group_count = %d : i64, feature_group_count = %d : i64} : (%s, %s) -> %s\n%sreturn %%%d : %s\n}\n",
           l, r, o, o, c.layouts, c.stride[0], c.stride[1], c.pad[0], c.pad[1], c.pad[2], c.pad[3], c.lhs[0], c.lhs[1],
           c.rhs[0], c.rhs[1], c.reverse[0] ? "true" : "false", c.reverse[1] ? "true" : "false", c.batch_groups,
           c.groups, l, r, o, more, c.epilogue ? 2 : 0, o);
  compare(text);
}

static void run_cases(const conv_case *cases, size_t n) {
  for (size_t i = 0; i < n; i++) run_case(&cases[i]);
}
#define RUN(cases) run_cases(cases, sizeof cases / sizeof *cases)

START_TEST(plain) {
  static const conv_case cases[] = {
      {"f32", "f32", nhwc, 2, 16, 24, 9, 7, 3, 3, .pad = {1, 1, 1, 1}, .epilogue = true},
      {"f32", "f32", nhwc, 1, 3, 40, 20, 21, 7, 7, {2, 2}, {3, 3, 3, 3}},
      {"f32", "f32", nhwc, 3, 1, 16, 8, 8, 3, 3, .pad = {1, 1, 1, 1}},
      {"f32", "f32", nhwc, 1, 40, 33, 14, 14, 1, 1, .epilogue = true},
      {"f32", "f32", nhwc, 1, 32, 64, 14, 14, 1, 1, {2, 2}},
      {"f32", "f32", nhwc, 1, 24, 5, 6, 6, 2, 3},
      {"f32", "f32", nhwc, 1, 8, 1, 10, 10, 3, 3},
      {"f32", "f32", nhwc, 1, 512, 70, 4, 4, 3, 3, .pad = {1, 1, 1, 1}},
      {"f32", "f32", nchw, 2, 16, 24, 9, 7, 3, 3, .pad = {1, 1, 1, 1}, .epilogue = true},
      {"f32", "f32", nchw, 1, 3, 40, 20, 21, 7, 7, {2, 2}, {3, 3, 3, 3}},
      {"f32", "f32", nchw, 1, 40, 33, 14, 14, 1, 1, .epilogue = true},
      {"f32", "f32", nchw, 3, 20, 130, 16, 16, 3, 3},
      {"f32", "f32", nchw, 1, 300, 20, 5, 5, 3, 3, .pad = {1, 1, 1, 1}},
      {"f32", "f32", nchw, 1, 30, 3, 8, 8, 1, 1},
      {"f32", "f32", nchw, 1, 96, 24, 1, 1, 1, 1},
      {"f32", "f32", hwcn, 20, 6, 18, 7, 6, 3, 2, {1, 2}, {1, 0, 0, 1}},
      {"f32", "f32", mixed, 2, 10, 20, 9, 9, 3, 3, .pad = {1, 1, 1, 1}},
      {"f32", "f32", to_nchw, 2, 16, 20, 9, 9, 3, 3, .pad = {1, 1, 1, 1}, .epilogue = true},
      {"f32", "f32", to_nhwc, 2, 16, 20, 9, 9, 3, 3, .pad = {1, 1, 1, 1}},
  };
  RUN(cases);
}
END_TEST

START_TEST(windows) {
  static const conv_case cases[] = {
      {"f32", "f32", nhwc, 1, 16, 20, 9, 9, 4, 4, {1, 1}, {2, 2, 2, 2}, {2, 2}},
      {"f32", "f32", nchw, 1, 16, 20, 9, 9, 4, 4, {1, 1}, {2, 2, 2, 2}, {2, 2}},
      {"f32", "f32", nhwc, 2, 8, 17, 12, 11, 3, 3, {1, 1}, {2, 2, 2, 2}, {1, 1}, {2, 2}, {true, false}},
      {"f32", "f32", nchw, 2, 8, 17, 12, 11, 3, 3, {2, 1}, {0, 3, -1, 2}, {1, 2}, {2, 1}, {true, true}},
      {"f32", "f32", nhwc, 1, 8, 20, 12, 12, 3, 3, {1, 1}, {-1, -2, -2, -1}},
      {"f32", "f32", nhwc, 1, 8, 20, 3, 3, 3, 3, {3, 3}, {5, 5, 7, 7}},
      {"f32", "f32", nchw, 1, 4, 20, 10, 32, 1, 5, {1, 1}, {0, 0, 2, 2}},
  };
  RUN(cases);
}
END_TEST

START_TEST(groups) {
  static const conv_case cases[] = {
      {"f32", "f32", nhwc, 2, 24, 24, 9, 9, 3, 3, .pad = {1, 1, 1, 1}, .groups = 24, .epilogue = true},
      {"f32", "f32", nchw, 2, 24, 24, 9, 9, 3, 3, .pad = {1, 1, 1, 1}, .groups = 24},
      {"f32", "f32", nhwc, 1, 8, 32, 9, 9, 3, 3, .groups = 8},
      {"f32", "f32", nhwc, 1, 32, 48, 7, 7, 3, 3, .pad = {1, 1, 1, 1}, .groups = 4, .epilogue = true},
      {"f32", "f32", nchw, 2, 32, 48, 7, 7, 3, 3, .pad = {1, 1, 1, 1}, .groups = 4},
      {"f32", "f32", nhwc, 1, 12, 16, 6, 6, 1, 1, .groups = 2},
      {"f32", "f32", nchw, 1, 12, 16, 6, 6, 1, 1, .groups = 2},
      {"f32", "f32", nhwc, 6, 8, 12, 6, 6, 3, 3, .batch_groups = 3},
  };
  RUN(cases);
}
END_TEST

START_TEST(types) {
  static const char *const pairs[][2] = {{"f64", "f64"},  {"bf16", "bf16"}, {"f16", "f16"},
                                         {"bf16", "f32"}, {"i8", "i32"},    {"ui8", "ui8"},
                                         {"i32", "i32"},  {"i64", "i64"},   {"i16", "i16"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    for (int l = 0; l < 2; l++)
      run_case(&(conv_case){pairs[i][0], pairs[i][1], l ? nchw : nhwc, 2, 8, 12, 8, 9, 3, 3, .pad = {1, 1, 1, 1},
                            .epilogue = l});
}
END_TEST

START_TEST(other_ranks) {
  static const char *const texts[] = {
      "func.func @main(%a: tensor<2x50x8xf32>, %b: tensor<5x8x16xf32>) -> tensor<2x46x16xf32> {\n"
      "%0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1]} "
      "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x50x8xf32>, tensor<5x8x16xf32>) -> "
      "tensor<2x46x16xf32>\nreturn %0 : tensor<2x46x16xf32>\n}\n",
      "func.func @main(%a: tensor<2x8x50xf32>, %b: tensor<16x8x5xf32>) -> tensor<2x16x50xf32> {\n"
      "%0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = "
      "[[2, 2]]} "
      "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x50xf32>, tensor<16x8x5xf32>) -> "
      "tensor<2x16x50xf32>\nreturn %0 : tensor<2x16x50xf32>\n}\n",
      "func.func @main(%a: tensor<1x6x7x5x4xf32>, %b: tensor<3x3x2x4x18xf32>) -> tensor<1x6x5x4x18xf32> {\n"
      "%0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f], window = "
      "{stride = "
      "[1, 1, 1], pad = [[1, 1], [0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
      "(tensor<1x6x7x5x4xf32>, tensor<3x3x2x4x18xf32>) -> tensor<1x6x5x4x18xf32>\nreturn %0 : "
      "tensor<1x6x5x4x18xf32>\n}\n",
      "func.func @main(%a: tensor<20x30xf32>, %b: tensor<30x18xf32>) -> tensor<20x18xf32> {\n"
      "%0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f]x[i, o]->[b, f], window = {} "
      "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<20x30xf32>, tensor<30x18xf32>) -> "
      "tensor<20x18xf32>\nreturn %0 : tensor<20x18xf32>\n}\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) compare(texts[i]);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {plain, windows, groups, types, other_ranks};
  return cpu_test_main("backend_llvm_conv", tests, 5);
}
