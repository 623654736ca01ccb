// SPDX-License-Identifier: Apache-2.0
// A main for Check suites, and the few helpers that all of them want.
//
//   START_TEST(adds) { ck_assert_int_eq(1 + 1, 2); } END_TEST
//   HARNESS_MAIN("thing", adds, subtracts)
//
// harness_shared() is the folder of optional test data (LEMNOS_SHARED, else ../shared beside the source tree), or NULL.
#ifndef TESTS_HARNESS_H
#define TESTS_HARNESS_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base.h"

enum { HARNESS_SKIPPED = 77, HARNESS_TIMEOUT = 120 };

static inline int harness_run(const char *name, const TTest *const *tests, int n) {
  Suite *suite = suite_create(name);
  TCase *tcase = tcase_create(name);
  tcase_set_timeout(tcase, HARNESS_TIMEOUT);
  for (int i = 0; i < n; i++) tcase_add_test(tcase, tests[i]);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define HARNESS_MAIN(name, ...)                                             \
  int main(void) {                                                          \
    const TTest *const tests[] = {__VA_ARGS__};                             \
    return harness_run(name, tests, (int)(sizeof tests / sizeof tests[0])); \
  }

// Like ck_assert, for hot loops: Check's own sends a message through a pipe each time, even when all is well.
#define ASSERT_QUICK(cond)                  \
  do {                                      \
    if (!(cond)) ck_abort_msg("%s", #cond); \
  } while (0)

// Fails the test with the status's message, if it is a failure.
#define ASSERT_OK(expr)                                                                                \
  do {                                                                                                 \
    lemnos_status harness_status_ = (expr);                                                            \
    if (harness_status_) ck_abort_msg("%s failed: %s", #expr, lemnos_status_message(harness_status_)); \
  } while (0)

// Expects a failure with this code whose message contains `text`.
#define ASSERT_FAILS(expr, expected_code, text)                                                                  \
  do {                                                                                                           \
    lemnos_status harness_status_ = (expr);                                                                      \
    ck_assert_msg(harness_status_ != NULL, "%s succeeded", #expr);                                               \
    ck_assert_int_eq(lemnos_status_get_code(harness_status_), expected_code);                                    \
    ck_assert_msg(strstr(lemnos_status_message(harness_status_), text) != NULL, "'%s' not in message: %s", text, \
                  lemnos_status_message(harness_status_));                                                       \
    lemnos_status_free(harness_status_);                                                                         \
  } while (0)

static inline const char *harness_shared(void) {
  const char *path = getenv("LEMNOS_SHARED");
  struct stat st;
  if (!path || !*path) path = LEMNOS_SOURCE_ROOT "/../shared";
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? path : NULL;
}

#endif
