// SPDX-License-Identifier: Apache-2.0
// A program that calls a function of its embedder's: @demo.scale multiplies every element by the factor in
// backend_config.
//
//   custom_call [DEVICE]         DEVICE: "cpu", "vulkan:0", "interp", ...; default: the best one here
//
// With an installed library: cc custom_call.c $(pkg-config --cflags --libs lemnos)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lemnos/lemnos.h"

static const char program[] =
    "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %0 = stablehlo.custom_call @demo.scale(%x) {backend_config = \"2.5\"} : (tensor<4xf32>) -> tensor<4xf32>\n"
    "  %1 = stablehlo.add %0, %x : tensor<4xf32>\n"
    "  return %1 : tensor<4xf32>\n"
    "}\n";

// Any program may name the target, with any types: what does not fit is refused. The message ends the run.
static const char *scale(void *user, const lemnos_custom_call *call) {
  (void)user;
  const char *factor = NULL;
  for (int k = 0; k < call->n_attributes; k++)
    if (strcmp(call->attribute_names[k], "backend_config") == 0) factor = call->attribute_values[k];
  if (!factor || call->n_args != 1 || call->n_results != 1) return "expected one operand, one result and a factor";
  const lemnos_array *x = &call->args[0], *y = &call->results[0];
  if (strcmp(x->dtype, "f32") || strcmp(y->dtype, "f32") || lemnos_array_bytes(x) != lemnos_array_bytes(y))
    return "expected f32 arrays of one size";
  const float *from = x->data;
  float *to = y->data, by = strtof(factor, NULL);
  for (int64_t i = 0, n = lemnos_array_bytes(x) / 4; i < n; i++) to[i] = from[i] * by;
  return NULL;
}

int main(int argc, char **argv) {
  const char *device_id = argc > 1 ? argv[1] : NULL;
  lemnos_context *context = NULL;
  lemnos_module *module = NULL;
  lemnos_device *device = NULL;
  lemnos_executable *executable = NULL;
  float x[4] = {1, 2, 3, 4}, y[4];
  lemnos_array in = {.dtype = "f32", .rank = 1, .dims = {4}, .data = x}, out = in;
  out.data = y;
  lemnos_status status = lemnos_context_create(NULL, &context);
  if (!status) status = lemnos_custom_call_register(context, "demo.scale", scale, NULL);
  if (!status) status = lemnos_module_load(context, "program", program, strlen(program), NULL, &module);
  if (!status) status = lemnos_device_open(context, device_id, &device);
  if (!status) status = lemnos_compile(module, device, NULL, &executable);
  if (!status) status = lemnos_execute_host(executable, 1, &in, 1, &out, NULL);
  if (status)
    fprintf(stderr, "custom_call: error %d: %s\n", lemnos_status_code_of(status), lemnos_status_text(status));
  else
    printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
  int failed = status != NULL;
  lemnos_status_release(status);
  lemnos_executable_free(executable);
  lemnos_device_free(device);
  lemnos_module_free(module);
  lemnos_context_free(context);
  return failed;
}
