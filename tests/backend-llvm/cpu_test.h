// SPDX-License-Identifier: Apache-2.0
// What the suites of this folder share: a program run on the CPU device at each vector level of this machine, against
// the interpreter. Arguments are small halves, so that sums are exact and any order of summation gives the same bits.
#ifndef TESTS_BACKEND_LLVM_CPU_TEST_H
#define TESTS_BACKEND_LLVM_CPU_TEST_H

#include <math.h>

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
    if (complex || !strcmp(a->dtype, "f32"))
      ((float *)a->data)[i] = (float)x * 0.5f;
    else if (!strcmp(a->dtype, "f64"))
      ((double *)a->data)[i] = x * 0.5;
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

static void run_on(lemnos_module *m, const char *device, int n_args, lemnos_array *args, lemnos_array *out,
                   const char *text) {
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

static void setup(void) {
  ASSERT_OK(lemnos_context_create(NULL, &context));
}
static void teardown(void) {
  lemnos_context_free(context);
}

static int cpu_test_main(const char *name, const TTest *const *tests, int n) {
  lemnos_device *d;
  lemnos_status s = lemnos_context_create(NULL, &context);
  if (!s) s = lemnos_device_open(context, "cpu", &d);
  if (s) {
    printf("skipped: %s\n", lemnos_status_message(s));
    return HARNESS_SKIPPED;
  }
  lemnos_device_free(d);
  lemnos_context_free(context);  // threads do not survive the fork that each test runs in
  TCase *t = tcase_create(name);
  tcase_set_timeout(t, 280);
  tcase_add_checked_fixture(t, setup, teardown);
  for (int i = 0; i < n; i++) tcase_add_test(t, tests[i]);
  Suite *suite = suite_create(name);
  suite_add_tcase(suite, t);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
