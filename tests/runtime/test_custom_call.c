// SPDX-License-Identifier: Apache-2.0
// Custom calls implemented by the embedder, on every device that is here: operands, attributes, several results, what a
// failure says, and what cannot be registered. Expected values by hand.
#include <stdlib.h>
#include <string.h>

#include "lemnos/lemnos.h"
#include "tests/harness.h"

static void must(lemnos_status s) {
  if (s) ck_abort_msg("%s", lemnos_status_text(s));
}

// (x, n) -> (x scaled by backend_config's factor, x summed plus n), calls counted in *user.
static const char *scale(void *user, const lemnos_custom_call *call) {
  ++*(int *)user;
  if (strcmp(call->target, "test.scale") || call->n_args != 2 || call->n_results != 2) return "not the call expected";
  if (strcmp(call->args[0].dtype, "f32") || call->args[0].rank != 1 || call->args[0].dims[0] != 3 ||
      strcmp(call->results[1].dtype, "i32") || call->results[1].rank != 0)
    return "not the types expected";
  const char *factor = NULL;
  for (int k = 0; k < call->n_attributes; k++)
    if (!strcmp(call->attribute_names[k], "backend_config")) factor = call->attribute_values[k];
  if (!factor) return "no factor";
  const float *x = call->args[0].data;
  float *y = call->results[0].data, sum = 0;
  for (int k = 0; k < 3; k++) {
    y[k] = x[k] * (float)atof(factor);
    sum += x[k];
  }
  *(int32_t *)call->results[1].data = (int32_t)sum + *(const int32_t *)call->args[1].data;
  return NULL;
}

static const char *refuse(void *user, const lemnos_custom_call *call) {
  return "not today";
}

static const char text[] =
    "func.func @main(%x: tensor<3xf32>, %n: tensor<i32>) -> (tensor<3xf32>, tensor<i32>) {\n"
    "  %a = stablehlo.add %x, %x : tensor<3xf32>\n"
    "  %r:2 = stablehlo.custom_call @test.scale(%a, %n) {backend_config = \"10\"} : (tensor<3xf32>, tensor<i32>) -> "
    "(tensor<3xf32>, tensor<i32>)\n"
    "  %y = stablehlo.subtract %r#0, %x : tensor<3xf32>\n"
    "  return %y, %r#1 : tensor<3xf32>, tensor<i32>\n}\n";

// One run on a device; the status is the caller's.
static lemnos_status run(lemnos_context *c, const char *id, float *y, int32_t *m) {
  lemnos_module *module;
  lemnos_device *device;
  lemnos_executable *exe;
  must(lemnos_module_load(c, "call.mlir", text, sizeof text - 1, NULL, &module));
  must(lemnos_device_open(c, id, &device));
  must(lemnos_compile(module, device, NULL, &exe));
  float x[3] = {1, 2, 4};
  int32_t n = 100;
  const lemnos_array args[2] = {{.dtype = "f32", .rank = 1, .dims = {3}, .data = x}, {.dtype = "i32", .data = &n}};
  lemnos_array results[2] = {{.dtype = "f32", .rank = 1, .dims = {3}, .data = y}, {.dtype = "i32", .data = m}};
  lemnos_status s = lemnos_execute_host(exe, 2, args, 2, results, NULL);
  lemnos_executable_free(exe);
  lemnos_device_free(device);
  lemnos_module_free(module);
  return s;
}

START_TEST(every_device) {
  lemnos_context *c;
  lemnos_device_info *infos;
  int32_t n;
  int calls = 0;
  must(lemnos_context_create(NULL, &c));
  must(lemnos_custom_call_register(c, "test.scale", scale, &calls));
  must(lemnos_devices(c, &infos, &n, NULL));
  for (int k = 0; k < n; k++) {
    if (infos[k].compile_only) continue;
    float y[3];
    int32_t m;
    int before = calls;
    must(run(c, infos[k].id, y, &m));
    ck_assert_msg(calls == before + 1, "%s: %d calls", infos[k].id, calls - before);
    ck_assert_msg(y[0] == 19 && y[1] == 38 && y[2] == 76 && m == 114, "%s: %g %g %g, %d", infos[k].id, y[0], y[1], y[2],
                  m);
  }
  free(infos);
  lemnos_context_free(c);
}
END_TEST

START_TEST(failures) {
  lemnos_context *c;
  float y[3];
  int32_t m;
  must(lemnos_context_create(NULL, &c));
  lemnos_status s = run(c, "interp", y, &m);  // nobody implements it
  ck_assert_int_eq(lemnos_status_code_of(s), 2);
  ck_assert_ptr_nonnull(strstr(lemnos_status_text(s), "test.scale"));
  lemnos_status_release(s);
  must(lemnos_custom_call_register(c, "test.scale", scale, NULL));
  must(lemnos_custom_call_register(c, "test.scale", refuse, NULL));  // instead
  s = run(c, "interp", y, &m);
  ck_assert_int_eq(lemnos_status_code_of(s), 8);
  ck_assert_ptr_nonnull(strstr(lemnos_status_text(s), "not today"));
  ck_assert_ptr_nonnull(strstr(lemnos_status_text(s), "call.mlir:3"));
  lemnos_status_release(s);
  static const char *const names[] = {"Qr", "lapack_sgetrf_ffi", "ApproxTopK", ""};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    s = lemnos_custom_call_register(c, names[k], refuse, NULL);
    ck_assert_msg(lemnos_status_code_of(s) == 1, "'%s' was registered", names[k]);
    lemnos_status_release(s);
  }
  s = lemnos_custom_call_register(c, "f", NULL, NULL);
  ck_assert_int_eq(lemnos_status_code_of(s), 1);
  lemnos_status_release(s);
  lemnos_context_free(c);
}
END_TEST

HARNESS_MAIN("custom_call", every_device, failures)
