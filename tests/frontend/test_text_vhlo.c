// SPDX-License-Identifier: Apache-2.0
// VHLO as text: the seed tests/fuzz/corpus/fuzz_text/vhlo.mlir, which jaxlib printed (--stablehlo-legalize-to-vhlo) of
// the program here, and what is not VHLO. portable_artifacts.py compares every operation.
#include <string.h>

#include "frontend/defaults.h"
#include "frontend/mlir.h"
#include "tests/harness.h"

// clang-format off
static const char program[] =
    "func.func @main(%a: tensor<4x?xf32, #stablehlo.bounds<?, 5>>, %b: tensor<2x3xbf16>, %k: tensor<3x2xbf16>) -> (tensor<i1>, tensor<2x2xf32>) {\n"
    "  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>\n"
    "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %d = stablehlo.dot_general %b, %k, contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT] : (tensor<2x3xbf16>, tensor<3x2xbf16>) -> tensor<2x2xf32>\n"
    "  %r = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>\n"
    "  %1 = stablehlo.compare GT, %r, %z : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "  %2 = call @f(%1) : (tensor<i1>) -> tensor<i1>\n"
    "  %3:2 = stablehlo.custom_call @foo(%2) {backend_config = {a = 1 : i32}, api_version = 4 : i32} : (tensor<i1>) -> (tensor<i1>, !stablehlo.token)\n"
    "  return %3#0, %d : tensor<i1>, tensor<2x2xf32>\n"
    "}\n"
    "func.func private @f(%a: tensor<i1>) -> tensor<i1> { return %a : tensor<i1> }\n";
// clang-format on

static mlir_module *parsed(arena *a, diag_sink *sink, strv text) {
  mlir_module *m = NULL;
  ASSERT_OK(mlir_parse_text(a, STRV("t.mlir"), text, sink, &m));
  mlir_module_drop_defaults(m);
  return m;
}

START_TEST(is_its_stablehlo) {
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  char *data = NULL;
  size_t size = 0;
  ASSERT_OK(io_read_file(LEMNOS_SOURCE_ROOT "/tests/fuzz/corpus/fuzz_text/vhlo.mlir", &data, &size));
  mlir_module *have = parsed(a, &sink, (strv){data, size}), *want = parsed(a, &sink, strv_from_cstr(program));
  const char *why = NULL;
  ck_assert_msg(mlir_equal(have, want, &why), "%s", why);
  diag_sink_deinit(&sink);
  heap_aligned_free(data);
  arena_destroy(a);
}
END_TEST

#define FUNC(type, body)                                                                              \
  "vhlo.func_v1 @main(%arg0: " type ") -> (" type ") {\n" body "  \"vhlo.return_v1\"(%arg0) : (" type \
  ") -> ()\n"                                                                                         \
  "} {arg_attrs = #vhlo.array_v1<[]>, res_attrs = #vhlo.array_v1<[]>, sym_visibility = #vhlo.string_v1<\"\">}\n"
#define F32 "!vhlo.tensor_v1<!vhlo.f32_v1>"
#define QUANT(rest) "!vhlo.tensor_v1<2x!vhlo." rest ">"

START_TEST(quantized) {
  static const struct {
    const char *vhlo, *type;
  } cases[] = {
      // As in StableHLO's stablehlo_legalize_to_vhlo.mlir.
      {FUNC(QUANT("quant_v1<!vhlo.i8_v1:!vhlo.f32_v1, 3.400000e+01:16, -128:127, 1>"), ""),
       "tensor<2x!quant.uniform<i8:f32, 34.0:16>>"},
      {FUNC(QUANT("quant_per_axis_v1<!vhlo.i8_v1:!vhlo.f32_v1, 0, [3.400000e+01, 2.0], [16, 3], -128:127, 1>"), ""),
       "tensor<2x!quant.uniform<i8:f32:0, {34.0:16, 2.0:3}>>"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    arena *a = arena_create();
    diag_sink sink;
    diag_sink_init(&sink, a);
    const char *twin = arena_printf(a, "func.func @main(%%arg0: %s) -> %s {\n  return %%arg0 : %s\n}\n", cases[k].type,
                                    cases[k].type, cases[k].type);
    const char *why = NULL;
    ck_assert_msg(
        mlir_equal(parsed(a, &sink, strv_from_cstr(cases[k].vhlo)), parsed(a, &sink, strv_from_cstr(twin)), &why), "%s",
        why);
    diag_sink_deinit(&sink);
    arena_destroy(a);
  }
}
END_TEST

START_TEST(refused) {
  static const struct {
    const char *text, *want;
  } cases[] = {
      {FUNC(F32, "  %0 = \"vhlo.constant_v99\"() : () -> " F32 "\n"), "operation 'vhlo.constant_v99' is not known"},
      {FUNC(F32, "  %0 = \"vhlo.iota_v1\"() : () -> " F32 "\n"), "vhlo.iota_v1: attribute 'iota_dimension' is missing"},
      {FUNC("!vhlo.tensor_v1<!vhlo.f33_v1>", ""), "'!vhlo.f33_v1' is no type of VHLO that is known"},
      {FUNC(QUANT("quant_per_axis_v1<!vhlo.i8_v1:!vhlo.f32_v1, 0, [3.0, 2.0], [16], -128:127, 1>"), ""),
       "2 scales but 1 zero points"},
      {FUNC(QUANT("quant_v1<!vhlo.f32_v1:!vhlo.f32_v1, 3.0:16, -128:127, 1>"), ""), "bad storage or expressed type"},
      {FUNC(F32,
            "  %0 = \"vhlo.call_v1\"(%arg0) <{callee = #vhlo.dict_v1<{1 : i32 = 2 : i32}>}> : (" F32 ") -> " F32 "\n"),
       "expected a string as name"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    arena *a = arena_create();
    diag_sink sink;
    diag_sink_init(&sink, a);
    mlir_module *m = NULL;
    lemnos_status s = mlir_parse_text(a, STRV("t.mlir"), strv_from_cstr(cases[k].text), &sink, &m);
    ck_assert(s != LEMNOS_SUCCESS);
    ck_assert_msg(strstr(lemnos_status_message(s), cases[k].want) != NULL, "%s", lemnos_status_message(s));
    lemnos_status_free(s);
    diag_sink_deinit(&sink);
    arena_destroy(a);
  }
}
END_TEST

HARNESS_MAIN("frontend_text_vhlo", is_its_stablehlo, quantized, refused)
