// SPDX-License-Identifier: Apache-2.0
// Statuses: codes, context, propagation.
#include "tests/harness.h"

LEMNOS_NODISCARD static lemnos_status inner(int fail) {
  if (fail) return lemnos_status_make(LEMNOS_NOT_FOUND, "no file '%s'", "a.mlir");
  return LEMNOS_SUCCESS;
}

LEMNOS_NODISCARD static lemnos_status outer(int fail, int *reached) {
  LEMNOS_TRY(inner(fail));
  *reached = 1;
  return LEMNOS_SUCCESS;
}

LEMNOS_NODISCARD static lemnos_status with_cleanup(int fail, int *cleaned) {
  lemnos_status status = LEMNOS_SUCCESS;
  LEMNOS_TRY_GOTO(inner(fail));
done:
  *cleaned = 1;
  return status;
}

START_TEST(success) {
  int reached = 0, cleaned = 0;
  ck_assert_ptr_null(outer(0, &reached));
  ck_assert_int_eq(reached, 1);
  ck_assert_ptr_null(with_cleanup(0, &cleaned));
  ck_assert_int_eq(lemnos_status_get_code(LEMNOS_SUCCESS), LEMNOS_OK);
  ck_assert_str_eq(lemnos_status_message(LEMNOS_SUCCESS), "ok");
  ck_assert_ptr_null(lemnos_status_annotate(LEMNOS_SUCCESS, "ignored"));
  lemnos_status_free(LEMNOS_SUCCESS);
}
END_TEST

START_TEST(failure_with_context) {
  int reached = 0, cleaned = 0;
  lemnos_status s = outer(1, &reached);
  ck_assert_int_eq(reached, 0);
  s = lemnos_status_annotate(s, "while compiling %s", "m");
  s = lemnos_status_annotate(s, "in run %d", 3);
  ck_assert_int_eq(lemnos_status_get_code(s), LEMNOS_NOT_FOUND);
  ck_assert_str_eq(lemnos_status_message(s), "in run 3: while compiling m: no file 'a.mlir'");
  lemnos_status_free(s);
  s = with_cleanup(1, &cleaned);
  ck_assert_int_eq(cleaned, 1);
  lemnos_status_free(s);
}
END_TEST

START_TEST(code_texts) {
  ck_assert_str_eq(lemnos_status_code_text(LEMNOS_UNIMPLEMENTED), "unimplemented");
  ck_assert_str_eq(lemnos_status_code_text(LEMNOS_DATA_LOSS), "corrupt data");
  ck_assert_int_eq(LEMNOS_CHECK_FAILED, 10);
  ck_assert_str_eq(lemnos_status_code_text((lemnos_status_code)999), "unknown status");
}
END_TEST

START_TEST(long_messages) {
  strbuf b = {0};
  for (int i = 0; i < 10000; i++) strbuf_append_char(&b, 'x');
  lemnos_status s = lemnos_status_make(LEMNOS_INTERNAL, "%s", b.data);
  ck_assert_uint_eq(strlen(lemnos_status_message(s)), 10000);
  lemnos_status_free(s);
  strbuf_deinit(&b);
}
END_TEST

HARNESS_MAIN("base/status", success, failure_with_context, code_texts, long_messages)
