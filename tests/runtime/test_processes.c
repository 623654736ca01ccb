// SPDX-License-Identifier: Apache-2.0
// The public API for programs of several processes and the host's end of a run. Expected values by hand.
#include "lemnos/lemnos.h"
#include "tests/harness.h"

#define SUM                                                                                        \
  "module attributes {mhlo.num_replicas = 2 : i32} {\n"                                            \
  "func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<ui32>) {\n"                        \
  "  %0 = \"stablehlo.all_reduce\"(%x) ({\n  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"            \
  "    %s = stablehlo.add %a, %b : tensor<f32>\n    stablehlo.return %s : tensor<f32>\n"           \
  "  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>\n" \
  "  %1 = stablehlo.replica_id : tensor<ui32>\n  return %0, %1 : tensor<2xf32>, tensor<ui32>\n}\n}\n"
#define FEED                                                                                               \
  "func.func @main() -> tensor<f32> {\n  %t = stablehlo.create_token : !stablehlo.token\n"                 \
  "  %0:2 = \"stablehlo.infeed\"(%t) {infeed_config = \"\"} : (!stablehlo.token) -> (tensor<f32>, "        \
  "!stablehlo.token)\n"                                                                                    \
  "  interpreter.print %0#0 : tensor<f32>\n"                                                               \
  "  %1 = \"stablehlo.outfeed\"(%0#0, %0#1) {outfeed_config = \"\"} : (tensor<f32>, !stablehlo.token) -> " \
  "!stablehlo.token\n  return %0#0 : tensor<f32>\n}\n"

typedef struct session {
  lemnos_context *context;
  lemnos_module *module;
  lemnos_device *device;
  lemnos_executable *executable;
} session;

static session start(const char *text, const char *device) {
  session s = {0};
  ASSERT_OK(lemnos_context_create(NULL, &s.context));
  ASSERT_OK(lemnos_module_load(s.context, "t.mlir", text, strlen(text), NULL, &s.module));
  ASSERT_OK(lemnos_device_open(s.context, device, &s.device));
  ASSERT_OK(lemnos_compile(s.module, s.device, NULL, &s.executable));
  return s;
}

static void end(session *s) {
  lemnos_executable_free(s->executable);
  lemnos_device_free(s->device);
  lemnos_module_free(s->module);
  lemnos_context_free(s->context);
}

static lemnos_array vector(float *data) {
  return (lemnos_array){.dtype = "f32", .rank = 1, .dims = {2}, .data = data};
}

START_TEST(processes) {
  session s = start(SUM, "interp");
  int32_t replicas, partitions;
  lemnos_module_grid(s.module, &replicas, &partitions);
  ck_assert_int_eq(replicas, 2);
  ck_assert_int_eq(partitions, 1);
  float in[2][2] = {{1, 2}, {10, 20}}, room[2];
  lemnos_array args[2] = {vector(in[0]), vector(in[1])};
  lemnos_array results[4] = {vector(NULL), {0}, vector(room), {0}};  // room for one only
  ASSERT_OK(lemnos_execute_processes(s.executable, 2, args, 4, results, NULL));
  const float *first = results[0].data;
  ck_assert(first[0] == 11 && first[1] == 22 && results[2].data == room && room[0] == 11 && room[1] == 22);
  ck_assert_str_eq(results[3].dtype, "ui32");
  ck_assert(*(uint32_t *)results[1].data == 0 && *(uint32_t *)results[3].data == 1);
  free(results[0].data), free(results[1].data), free(results[3].data);
  ASSERT_FAILS(lemnos_execute_processes(s.executable, 1, args, 4, results, NULL), LEMNOS_INVALID_ARGUMENT,
               "each of the 2 processes has 1 arguments and 2 results, found 1 and 4 in all");
  args[1].dims[0] = 1;
  ASSERT_FAILS(lemnos_execute_processes(s.executable, 2, args, 4, results, NULL), LEMNOS_INVALID_ARGUMENT, "process 1");
  end(&s);
}
END_TEST

typedef struct log {
  float next, given;
  char printed[64];
  const char *failure;
} log_;

static const char *infeed(void *user, const lemnos_transfer *t) {
  log_ *l = user;
  if (t->n != 1 || t->arrays[0].rank != 0) return "unexpected";
  *(float *)t->arrays[0].data = l->next++;
  return l->failure;
}

static const char *outfeed(void *user, const lemnos_transfer *t) {
  ((log_ *)user)->given = *(const float *)t->arrays[0].data;
  return NULL;
}

static void print(void *user, const char *text, size_t size) {
  snprintf(((log_ *)user)->printed, sizeof((log_ *)user)->printed, "%.*s", (int)size, text);
}

START_TEST(host) {
  session s = start(FEED, "interp");
  log_ l = {.next = 5};
  lemnos_host h = {.user = &l, .infeed = infeed, .outfeed = outfeed, .print = print};
  lemnos_execute_options o = {.host = &h};
  lemnos_array result = {0};
  ASSERT_OK(lemnos_execute_host(s.executable, 0, NULL, 1, &result, &o));
  ck_assert(*(float *)result.data == 5 && l.given == 5);
  ck_assert_str_eq(l.printed, "f32 {5}\n");
  free(result.data);
  result.data = NULL;
  lemnos_event *event = NULL;
  lemnos_buffer *buffer;
  o.event = &event;
  ASSERT_OK(lemnos_execute(s.executable, 0, NULL, 1, &buffer, &o));
  ASSERT_OK(lemnos_event_wait(event));
  ck_assert(l.given == 6);
  lemnos_event_free(event);
  lemnos_buffer_free(buffer);
  o.event = NULL;
  l.failure = "no more data";
  ASSERT_FAILS(lemnos_execute_host(s.executable, 0, NULL, 1, &result, &o), LEMNOS_UNAVAILABLE, "t.mlir:3:10: infeed");
  ASSERT_FAILS(lemnos_execute_host(s.executable, 0, NULL, 1, &result, &o), LEMNOS_UNAVAILABLE, "no more data");
  ASSERT_FAILS(lemnos_execute_host(s.executable, 0, NULL, 1, &result, NULL), LEMNOS_UNIMPLEMENTED, "nothing feeds");
  end(&s);
}
END_TEST

HARNESS_MAIN("runtime_processes", processes, host)
