// SPDX-License-Identifier: Apache-2.0
// Completeness: every constraint that StableHLO's specification (docs/spec.md) numbers has a case that must be
// refused by its label, or stands in a list here with the reason why it cannot be broken in this IR.
#include "tests/harness.h"

typedef struct labelled {
  const char *op;
  int constraints;
} labelled;

// The operations and how many constraints each has.
// clang-format off
static const labelled spec[] = {
    {"abs", 2}, {"add", 7}, {"all_gather", 6}, {"all_reduce", 7}, {"all_to_all", 9}, {"and", 1}, {"async_done", 1},
    {"async_start", 4}, {"atan2", 1}, {"batch_norm_grad", 5}, {"batch_norm_inference", 7}, {"batch_norm_training", 7},
    {"bitcast_convert", 2}, {"broadcast_in_dim", 6}, {"case", 4}, {"cbrt", 1}, {"ceil", 1}, {"cholesky", 3},
    {"clamp", 4}, {"collective_broadcast", 6}, {"collective_permute", 5}, {"collective_reduce", 4}, {"compare", 3},
    {"complex", 3}, {"composite", 4}, {"concatenate", 6}, {"constant", 1}, {"convert", 1}, {"convolution", 34},
    {"cosine", 1}, {"count_leading_zeros", 1}, {"divide", 1}, {"dot_general", 24}, {"dynamic_broadcast_in_dim", 10},
    {"dynamic_conv", 34}, {"dynamic_gather", 14}, {"dynamic_iota", 2}, {"dynamic_pad", 4}, {"dynamic_reshape", 4},
    {"dynamic_slice", 5}, {"dynamic_update_slice", 6}, {"exponential", 1}, {"exponential_minus_one", 1}, {"fft", 5},
    {"floor", 1}, {"gather", 23}, {"get_dimension_size", 1}, {"get_tuple_element", 2}, {"if", 3}, {"imag", 2},
    {"infeed", 3}, {"iota", 1}, {"is_finite", 1}, {"log", 1}, {"log_plus_one", 1}, {"logistic", 1}, {"map", 4},
    {"maximum", 1}, {"minimum", 1}, {"multiply", 1}, {"negate", 1}, {"not", 1}, {"optimization_barrier", 1},
    {"or", 1}, {"pad", 4}, {"popcnt", 1}, {"power", 1}, {"real", 2}, {"recv", 5}, {"reduce", 8},
    {"reduce_precision", 3}, {"reduce_scatter", 9}, {"reduce_window", 16}, {"remainder", 1}, {"reshape", 3},
    {"reverse", 3}, {"rng", 3}, {"rng_bit_generator", 2}, {"round_nearest_afz", 1}, {"round_nearest_even", 1},
    {"rsqrt", 1}, {"scatter", 25}, {"select", 2}, {"select_and_scatter", 12}, {"send", 5}, {"shift_left", 1},
    {"shift_right_arithmetic", 1}, {"shift_right_logical", 1}, {"sign", 1}, {"sine", 1}, {"slice", 5}, {"sort", 5},
    {"sqrt", 1}, {"subtract", 1}, {"tan", 1}, {"tanh", 1}, {"transpose", 4}, {"triangular_solve", 4}, {"tuple", 1},
    {"uniform_dequantize", 2}, {"uniform_quantize", 2}, {"while", 3}, {"xor", 1},
};
// clang-format on

typedef struct exemption {
  const char *label, *why;
} exemption;

static const exemption exemptions[] = {
    {"all_gather_c3", "how many processes there are is known at launch only"},
    {"all_reduce_c2", "how many processes there are is known at launch only"},
    {"all_to_all_c6", "how many processes there are is known at launch only"},
    {"reduce_scatter_c4", "how many processes there are is known at launch only"},
    {"collective_broadcast_c6", "the root is a value"},
    {"collective_broadcast_c5", "results are made from the operands, one by one: reported as the next constraint"},
    {"reduce_window_c14", "results are made from the operands, one by one: reported as the next constraint"},
    {"convolution_c4", "a window has one record for each dimension"},
    {"convolution_c5", "a window has one record for each dimension"},
    {"convolution_c7", "a window has one record for each dimension"},
    {"convolution_c9", "a window has one record for each dimension"},
    {"dynamic_conv_c5", "a window has one record for each dimension"},
    {"dynamic_conv_c7", "a window has one record for each dimension"},
    {"dynamic_conv_c9", "a window has one record for each dimension"},
    {"reduce_window_c6", "a window has one record for each dimension"},
    {"reduce_window_c8", "a window has one record for each dimension"},
    {"reduce_window_c10", "a window has one record for each dimension"},
    {"reduce_window_c12", "a window has one record for each dimension"},
    {"select_and_scatter_c6", "a window has one record for each dimension"},
    {"select_and_scatter_c8", "a window has one record for each dimension"},
    {"collective_permute_c1", "pairs are pairs"},
    {"send_c1", "pairs are pairs"},
    {"recv_c1", "pairs are pairs"},
    {"concatenate_c3", "the table's operand counts: reported as <op>_operands"},
    {"infeed_c1", "the table's operand counts: reported as <op>_operands"},
    {"map_c2", "the table's operand counts: reported as <op>_operands"},
    {"sort_c1", "the table's operand counts: reported as <op>_operands"},
    {"scatter_c5", "the table's operand counts: reported as <op>_operands"},
    {"reduce_window_c1", "the table's operand counts: reported as <op>_operands"},
    {"composite_c2", "the table's region counts: reported as composite_regions"},
};

// Tested elsewhere: test_verify.c's elementwise_types (c1 of these) and its tests of attributes that text cannot
// express.
static const char *const elementwise[] = {"cbrt",
                                          "ceil",
                                          "count_leading_zeros",
                                          "cosine",
                                          "exponential",
                                          "exponential_minus_one",
                                          "floor",
                                          "log",
                                          "log_plus_one",
                                          "logistic",
                                          "negate",
                                          "not",
                                          "popcnt",
                                          "round_nearest_afz",
                                          "round_nearest_even",
                                          "rsqrt",
                                          "sign",
                                          "sine",
                                          "sqrt",
                                          "tan",
                                          "tanh",
                                          "is_finite",
                                          "reduce_precision",
                                          "atan2",
                                          "divide",
                                          "maximum",
                                          "minimum",
                                          "multiply",
                                          "power",
                                          "remainder",
                                          "shift_left",
                                          "shift_right_arithmetic",
                                          "shift_right_logical",
                                          "subtract",
                                          "and",
                                          "or",
                                          "xor"};
static const char *const by_hand[] = {"convolution_c13",  "convolution_c18",  "convolution_c20",
                                      "dynamic_conv_c13", "dynamic_conv_c18", "dynamic_conv_c20",
                                      "constant_c1",      "case_c1",          "collective_permute_c4",
                                      "send_c4",          "recv_c4"};

START_TEST(every_label) {
  // clang-format off
  static const char *const cases[] = {
#define GOOD(params, root)
#define GIVEN(params, root)
#define BAD(label, params, root) label,
#include "tests/hlo/verify_cases.def"
#undef GOOD
#undef GIVEN
#undef BAD
  };
  // clang-format on
  strmap seen = {0};
  static char text[sizeof elementwise / sizeof *elementwise][40];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) strmap_put(NULL, &seen, strv_from_cstr(cases[i]), &seen);
  for (size_t i = 0; i < sizeof by_hand / sizeof *by_hand; i++)
    strmap_put(NULL, &seen, strv_from_cstr(by_hand[i]), &seen);
  for (size_t i = 0; i < sizeof elementwise / sizeof *elementwise; i++) {
    snprintf(text[i], sizeof text[i], "%s_c1", elementwise[i]);
    strmap_put(NULL, &seen, strv_from_cstr(text[i]), &seen);
  }
  for (size_t i = 0; i < sizeof exemptions / sizeof *exemptions; i++) {
    ck_assert_msg(!strmap_has(&seen, strv_from_cstr(exemptions[i].label)), "%s is tested: no exemption needed",
                  exemptions[i].label);
    strmap_put(NULL, &seen, strv_from_cstr(exemptions[i].label), &seen);
  }
  int labels = 0;
  for (size_t i = 0; i < sizeof spec / sizeof *spec; i++) {
    for (int k = 1; k <= spec[i].constraints; k++, labels++) {
      char label[64];
      snprintf(label, sizeof label, "%s_c%d", spec[i].op, k);
      ck_assert_msg(strmap_has(&seen, strv_from_cstr(label)), "%s has no case in verify_cases.def", label);
    }
  }
  ck_assert_int_eq(labels, 453);
  strmap_deinit(&seen);
}
END_TEST

HARNESS_MAIN("hlo_verify_labels", every_label)
