// SPDX-License-Identifier: Apache-2.0
// Turning a row of verify_cases.def into a module: the computations that rows may call, parameters, root.
#ifndef TESTS_HLO_CASES_H
#define TESTS_HLO_CASES_H

#include "hlo/builder.h"
#include "hlo/hlo.h"
#include "tests/harness.h"

static const char *const prelude =
    "HloModule cases\n"
    "add_f32 { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b)\n}\n"
    "lt_f32 { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=LT\n}\n"
    "add_pair { a = f32[] parameter(0)\n b = s32[] parameter(1)\n c = f32[] parameter(2)\n d = s32[] parameter(3)\n"
    " e = f32[] add(a, c)\n f = s32[] add(b, d)\n ROOT r = (f32[], s32[]) tuple(e, f)\n}\n"
    "lt_pair { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = s32[] parameter(2)\n d = s32[] parameter(3)\n"
    " ROOT r = pred[] compare(a, b), direction=LT\n}\n"
    "lt_ten { a = s32[] parameter(0)\n b = s32[] constant(10)\n ROOT r = pred[] compare(a, b), direction=LT\n}\n"
    "next { a = s32[] parameter(0)\n b = s32[] constant(1)\n ROOT r = s32[] add(a, b)\n}\n"
    "first_two { a = f32[4] parameter(0)\n ROOT r = f32[2] slice(a), slice={[0:2]}\n}\n"
    "accumulate { a = f32[] parameter(0)\n b = f32[] parameter(1)\n s = f32[] add(a, b)\n"
    " ROOT r = (f32[], f32[]) tuple(s, s)\n}\n"
    "narrow_sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n s = s32[] convert(b)\n"
    " ROOT r = (f32[], s32[]) tuple(a, s)\n}\n"
    "same { ROOT a = s32[] parameter(0)\n}\n"
    "narrow { a = s64[] parameter(0)\n ROOT r = s32[] convert(a)\n}\n"
    "next64 { a = s64[] parameter(0)\n b = s64[] constant(1)\n ROOT r = s64[] add(a, b)\n}\n";

// The text of a case: `params` are shapes separated by ';', `root` has $k for parameter k.
static void case_text(strbuf *out, const char *params, const char *root) {
  strv rest = strv_from_cstr(params), shape;
  int n = 0;
  strbuf_append_cstr(out, prelude);
  strbuf_append_cstr(out, "ENTRY main {\n");
  while (rest.len) {
    strv_split(rest, ';', &shape, &rest);
    strbuf_printf(out, " p%d = " STRV_FMT " parameter(%d)\n", n, STRV_ARG(shape), n);
    n++;
  }
  strbuf_append_cstr(out, strstr(root, "ROOT") ? " " : " ROOT result = ");
  for (; *root; root++) {
    if (*root == '$')
      strbuf_append_char(out, 'p');
    else
      strbuf_append_char(out, *root);
  }
  strbuf_append_cstr(out, "\n}\n");
}

static lemnos_status case_parse(arena *a, const char *params, const char *root, hlo_module **out) {
  strbuf text = {0};
  case_text(&text, params, root);
  strv kept = arena_strv(a, strbuf_view(&text));
  strbuf_deinit(&text);
  return hlo_parse(a, STRV("case.hlo"), kept, NULL, out);
}

// A text that does not parse fails the test.
static inline hlo_module *case_module(arena *a, const char *params, const char *root) {
  hlo_module *m = NULL;
  lemnos_status s = case_parse(a, params, root, &m);
  if (s) ck_abort_msg("%s | %s: does not parse: %s", params, root, lemnos_status_message(s));
  return m;
}

#endif
