// SPDX-License-Identifier: Apache-2.0
// Diagnostics and locations.
#include "tests/harness.h"

static loc at(const char *name, int line, int col) {
  return (loc){.kind = LOC_FILE, .name = strv_from_cstr(name), .line = line, .col = col};
}

static void check_loc(const loc *l, const char *expected) {
  strbuf b = {0};
  loc_print(&b, l);
  ck_assert_str_eq(strbuf_view(&b).data, expected);
  strbuf_deinit(&b);
}

START_TEST(locations) {
  loc file = at("m.mlir", 12, 5), other = at("n.py", 3, 0);
  loc name = {.kind = LOC_NAME, .name = STRV("add"), .child = &file};
  loc bare = {.kind = LOC_NAME, .name = STRV("mul")};
  loc call = {.kind = LOC_CALLSITE, .child = &bare, .caller = &other};
  const loc *parts[] = {NULL, &bare, &name};
  loc fused = {.kind = LOC_FUSED, .fused = parts, .n_fused = 3};
  check_loc(&file, "m.mlir:12:5");
  check_loc(&other, "n.py:3");
  check_loc(&name, "m.mlir:12:5");
  check_loc(&bare, "mul");
  check_loc(&call, "n.py:3");
  check_loc(&fused, "m.mlir:12:5");
  check_loc(NULL, "unknown location");
  parts[2] = NULL;
  check_loc(&fused, "mul");
}
END_TEST

START_TEST(printed_with_caret) {
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  loc l = at("model.mlir", 12, 8), tabbed = at("t.mlir", 1, 4);
  diag_add(&sink, DIAG_ERROR, &l, STRV("  %0 = add %a"), "expected '%c', found '%s'", ':', "->");
  diag_error(&sink, NULL, "no location");
  diag_add(&sink, DIAG_NOTE, &tabbed, STRV("\t\xc3\xa4x\n"), "here");
  strbuf b = {0};
  diag_print(&sink, &b);
  ck_assert_str_eq(b.data,
                   "model.mlir:12:8: error: expected ':', found '->'\n"
                   "    %0 = add %a\n"
                   "         ^\n"
                   "error: no location\n"
                   "t.mlir:1:4: note: here\n"
                   "  \t\xc3\xa4x\n"
                   "  \t ^\n");
  strbuf_deinit(&b);
  diag_sink_deinit(&sink);
  arena_destroy(a);
}
END_TEST

START_TEST(long_lines_are_cut) {
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  char *line = arena_alloc(a, 5000001);
  memset(line, 'a', 5000000);
  line[3999999] = 'X';
  loc l = at("m", 1, 4000000);
  diag_add(&sink, DIAG_ERROR, &l, strv_from_cstr(line), "bad");
  ck_assert_uint_lt(sink.items[0].source_line.len, 200);
  ck_assert_int_eq(sink.items[0].source_line.data[sink.items[0].caret], 'X');
  ck_assert(strv_starts_with(sink.items[0].source_line, STRV("...aaa")));
  l.col = 9000000;  // a column behind the end must do no harm
  diag_add(&sink, DIAG_ERROR, &l, STRV("short"), "bad");
  ck_assert_int_eq(sink.items[1].caret, 5);
  diag_sink_deinit(&sink);
  arena_destroy(a);
}
END_TEST

START_TEST(statuses) {
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  sink.max_errors = 3;
  diag_add(&sink, DIAG_WARNING, NULL, (strv){0}, "only a warning");
  ASSERT_OK(diag_sink_status(&sink, 0));
  diag_error(&sink, NULL, "first");
  int mark = sink.n_errors;
  ASSERT_OK(diag_sink_status(&sink, mark));
  diag_error(&sink, NULL, "second");
  lemnos_status s = diag_sink_status(&sink, mark);
  ck_assert_str_eq(lemnos_status_message(s), "error: second");
  ck_assert_int_eq(lemnos_status_get_code(s), LEMNOS_INVALID_ARGUMENT);
  lemnos_status_free(s);
  for (int i = 0; i < 4; i++) diag_error(&sink, NULL, "more");
  ck_assert_int_eq(sink.n_errors, 6);
  s = diag_sink_status(&sink, mark);
  ck_assert_str_eq(lemnos_status_message(s), "error: second\nerror: more\n3 more errors not shown");
  lemnos_status_free(s);
  s = diag_sink_status(&sink, 5);
  ck_assert_str_eq(lemnos_status_message(s), "1 more error not shown");
  lemnos_status_free(s);
  diag_error(NULL, NULL, "dropped");
  diag_sink_deinit(&sink);
  arena_destroy(a);
}
END_TEST

HARNESS_MAIN("base/diag", locations, printed_with_caret, long_lines_are_cut, statuses)
