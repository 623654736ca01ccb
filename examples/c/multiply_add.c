// SPDX-License-Identifier: Apache-2.0
// The smallest program that uses Lemnos as a library: compiles x * y + z from StableHLO text and runs it on a device.
//
//   multiply_add [DEVICE]        DEVICE: "cpu", "vulkan:0", "interp", ...; default: the best one here
//
// It prints the results, and the same once more computed asynchronously on buffers that stay on the device.
#include <stdio.h>
#include <stdlib.h>

#include "lemnos/lemnos.h"

static const char program[] =
    "func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>, %z: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
    "  %0 = stablehlo.multiply %x, %y : tensor<2x3xf32>\n"
    "  %1 = stablehlo.add %0, %z : tensor<2x3xf32>\n"
    "  return %1 : tensor<2x3xf32>\n"
    "}\n";

// Every call that can fail returns a status; NULL is success. A failure is ours to release.
static int failed(lemnos_status status) {
  if (!status) return 0;
  fprintf(stderr, "multiply_add: error %d: %s\n", lemnos_status_code_of(status), lemnos_status_text(status));
  lemnos_status_release(status);
  return 1;
}

static lemnos_array matrix(float *data) {
  lemnos_array a = {.dtype = "f32", .rank = 2, .dims = {2, 3}, .data = data};
  return a;
}

static void print(const char *title, const float *x) {
  printf("%s: %g %g %g / %g %g %g\n", title, x[0], x[1], x[2], x[3], x[4], x[5]);
}

// Host arrays in, host arrays out.
static int run_on_host_arrays(lemnos_executable *e, const lemnos_array *args) {
  float out[6];
  lemnos_array result = matrix(out);  // data is set: Lemnos writes there. NULL: it allocates, we free
  if (failed(lemnos_execute_host(e, 3, args, 1, &result, NULL))) return 1;
  print("x * y + z", out);
  return 0;
}

// Buffers on the device; the first result is an argument of the second run, which starts without waiting for it.
static int run_on_buffers(lemnos_device *d, lemnos_executable *e, const lemnos_array *args) {
  lemnos_buffer *in[3] = {NULL, NULL, NULL}, *first = NULL, *second = NULL;
  lemnos_event *events[2] = {NULL, NULL};
  float out[6];
  lemnos_array result = matrix(out);
  int bad = 0;
  for (int i = 0; i < 3 && !bad; i++) bad = failed(lemnos_buffer_from_host(d, &args[i], &in[i]));
  lemnos_execute_options options = {.event = &events[0]};
  if (!bad) bad = failed(lemnos_execute(e, 3, in, 1, &first, &options));
  lemnos_buffer *again[3] = {first, in[1], in[2]};
  options.event = &events[1];
  if (!bad) bad = failed(lemnos_execute(e, 3, again, 1, &second, &options));
  if (!bad) bad = failed(lemnos_event_wait(events[1]));
  if (!bad) bad = failed(lemnos_buffer_read(second, &result));
  if (!bad) print("(x * y + z) * y + z", out);
  for (int i = 0; i < 3; i++) lemnos_buffer_free(in[i]);
  lemnos_buffer_free(first);
  lemnos_buffer_free(second);
  lemnos_event_free(events[0]);
  lemnos_event_free(events[1]);
  return bad;
}

int main(int argc, char **argv) {
  float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {2, 2, 2, 3, 3, 3}, z[6] = {0.5f, 0.5f, 0.5f, -1, -1, -1};
  const lemnos_array args[3] = {matrix(x), matrix(y), matrix(z)};
  lemnos_context *context = NULL;
  lemnos_module *module = NULL;
  lemnos_device *device = NULL;
  lemnos_executable *executable = NULL;
  int bad = failed(lemnos_context_create(NULL, &context));
  if (!bad) bad = failed(lemnos_module_load(context, "multiply_add", program, sizeof program - 1, NULL, &module));
  if (!bad) bad = failed(lemnos_device_open(context, argc > 1 ? argv[1] : NULL, &device));
  if (!bad) bad = failed(lemnos_compile(module, device, NULL, &executable));
  if (!bad) printf("device: %s\n", lemnos_device_id(device));
  if (!bad) bad = run_on_host_arrays(executable, args);
  if (!bad) bad = run_on_buffers(device, executable, args);
  // Any order will do, but the context goes last.
  lemnos_executable_free(executable);
  lemnos_module_free(module);
  lemnos_device_free(device);
  lemnos_context_free(context);
  return bad;
}
