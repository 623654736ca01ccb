// SPDX-License-Identifier: Apache-2.0
// The progress callback of lemnos_execute: numbers of iterations by hand; when it is called, and when no more.
//
// The programs would run for hours: the callback ends them when it has seen enough.
#include <time.h>

#include "lemnos/lemnos.h"
#include "tests/harness.h"

// A loop over an i64 from FIRST: `compare DIRECTION, OPERANDS`, `next = STEP`.
#define LOOP(FIRST, COMPARE, STEP)                                                         \
  "  %first = stablehlo.constant dense<" FIRST                                             \
  "> : tensor<i64>\n"                                                                      \
  "  %bound = stablehlo.constant dense<1000000000000> : tensor<i64>\n"                     \
  "  %r:2 = stablehlo.while(%i = %first, %n = %bound) : tensor<i64>, tensor<i64> cond {\n" \
  "    %one = stablehlo.constant dense<1> : tensor<i64>\n"                                 \
  "    %c = stablehlo.compare " COMPARE                                                    \
  " : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"                                          \
  "    stablehlo.return %c : tensor<i1>\n"                                                 \
  "  } do {\n"                                                                             \
  "    %two = stablehlo.constant dense<2> : tensor<i64>\n"                                 \
  "    %next = stablehlo." STEP                                                            \
  " : tensor<i64>\n"                                                                       \
  "    stablehlo.return %next, %n : tensor<i64>, tensor<i64>\n"                            \
  "  }\n"
#define MAIN(LOOP) "func.func @main() -> tensor<i64> {\n" LOOP "  return %r#0 : tensor<i64>\n}\n"

typedef struct watcher {
  volatile int cancel;
  int calls, enough;
  bool backwards, wrong;
  double seconds;
  lemnos_progress last;
} watcher;

static void on_progress(void *user, const lemnos_progress *p) {
  watcher *w = user;
  w->backwards |= w->calls && (p->loop_done < w->last.loop_done || p->seconds <= w->last.seconds);
  w->wrong |= p->done > p->total || p->loop_seconds > p->seconds;
  w->last = *p;
  if (++w->calls >= w->enough && p->loop_done > 0) w->cancel = 1;
}

// Runs main, which takes nothing, until the callback has seen three reports.
static watcher watch(const char *text, const char *device) {
  lemnos_context *context;
  lemnos_module *module;
  lemnos_device *d;
  lemnos_executable *executable;
  ASSERT_OK(lemnos_context_create(NULL, &context));
  ASSERT_OK(lemnos_module_load(context, "t.mlir", text, strlen(text), NULL, &module));
  ASSERT_OK(lemnos_device_open(context, device, &d));
  ASSERT_OK(lemnos_compile(module, d, NULL, &executable));
  watcher w = {.enough = 3};
  lemnos_execute_options o = {.cancel = &w.cancel,
                              .progress = on_progress,
                              .progress_user = &w,
                              .progress_seconds = 0.01,
                              .timeout_seconds = 60};
  lemnos_buffer *result;
  ASSERT_FAILS(lemnos_execute(executable, 0, NULL, 1, &result, &o), LEMNOS_CANCELLED, "cancelled");
  int calls = w.calls;
  nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
  ck_assert_int_eq(w.calls, calls);  // the run is over
  ck_assert_int_ge(calls, 3);
  ck_assert(!w.backwards && !w.wrong && w.last.op != NULL);
  ck_assert(w.last.seconds >= 0.03 && w.last.seconds < 60);
  lemnos_executable_free(executable);
  lemnos_device_free(d);
  lemnos_module_free(module);
  lemnos_context_free(context);
  return w;
}

START_TEST(trip_counts) {
  static const struct {
    const char *text;
    int64_t trips;
  } cases[] = {
      {MAIN(LOOP("0", "LT, %i, %n", "add %i, %two")), 500000000000},
      {MAIN(LOOP("0", "LE, %i, %n", "add %two, %i")), 500000000001},
      {MAIN(LOOP("-1", "GT, %n, %i", "add %i, %two")), 500000000001},
      {MAIN(LOOP("3000000000001", "GE, %i, %n", "subtract %i, %two")), 1000000000001},
      {MAIN(LOOP("4", "NE, %i, %n", "add %i, %two")), 499999999998},
      {MAIN(LOOP("3000000000000", "LT, %one, %i", "subtract %i, %two")), 1500000000000},
      {MAIN(LOOP("1", "NE, %i, %n", "add %i, %two")), -1},       // never equal before it wraps
      {MAIN(LOOP("0", "LT, %i, %n", "multiply %i, %two")), -1},  // no counter
      {MAIN(LOOP("0", "LT, %i, %n", "subtract %i, %two")), -1},  // away from the bound
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    watcher w = watch(cases[k].text, "interp");
    ck_assert_msg(w.last.loop_total == cases[k].trips, "case %d: %lld", (int)k, (long long)w.last.loop_total);
  }
}
END_TEST

START_TEST(whole_program) {
  // Within the call: first, bound, the loop; without: an add before, the call, an add after. Constants count.
  watcher w = watch(
      "func.func private @f(%x: tensor<i64>) -> tensor<i64> {\n" LOOP("0", "LT, %i, %n", "add %i, %two")
      "  return %r#0 : tensor<i64>\n}\n"
      "func.func @main() -> tensor<i64> {\n"
      "  %a = stablehlo.constant dense<7> : tensor<i64>\n"
      "  %b = stablehlo.add %a, %a : tensor<i64>\n"
      "  %c = func.call @f(%b) : (tensor<i64>) -> tensor<i64>\n"
      "  %d = stablehlo.add %c, %b : tensor<i64>\n"
      "  return %d : tensor<i64>\n}\n",
      "interp");
  ck_assert_int_eq(w.last.total, 7);
  ck_assert_int_eq(w.last.done, 4);
  ck_assert_int_eq(w.last.loop_total, 500000000000);
  ck_assert(!strcmp(w.last.op, "add") || !strcmp(w.last.op, "compare") || !strcmp(w.last.op, "constant") ||
            !strcmp(w.last.op, "while"));
}
END_TEST

// The same on the best device there is.
START_TEST(device) {
  watcher w = watch(MAIN(LOOP("0", "LT, %i, %n", "add %i, %two")), NULL);
  ck_assert_int_eq(w.last.loop_total, 500000000000);
}
END_TEST

HARNESS_MAIN("runtime_progress", trip_counts, whole_program, device)
