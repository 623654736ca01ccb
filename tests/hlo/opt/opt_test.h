// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of passes: a module from HLO text, passes run on it, the result as one expression.
//
//   ASSERT_BECOMES("algebraic-simplifier", "f32[2] x, f32[2] y", "ROOT r = f32[2] add(x, y)", "add(p0, p1)")
// Parameters are p0, p1, ..; constants const(value); attributes follow in braces as HLO text has them;
// get-tuple-element(t, k) is t#k.
#ifndef TESTS_HLO_OPT_TEST_H
#define TESTS_HLO_OPT_TEST_H

#include "hlo/hlo.h"
#include "hlo/opt/pass.h"
#include "tests/harness.h"

static inline hlo_module *opt_parse(arena *a, const char *text) {
  hlo_module *m = NULL;
  diag_sink sink;
  diag_sink_init(&sink, a);
  ASSERT_OK(hlo_parse(a, STRV("t.hlo"), strv_from_cstr(text), &sink, &m));
  ASSERT_OK(hlo_verify(m, &sink));
  diag_sink_deinit(&sink);
  return m;
}

static inline void opt_run(hlo_module *m, const char *passes) {
  hlo_pipeline_options o = {
      .passes = strv_from_cstr(passes), .opt_bisect_limit = -1, .verify_each = true, .round_trip_each = true};
  ASSERT_OK(hlo_run_pipeline(m, &o));
}

static inline void opt_expression(strbuf *out, const hlo_instr *i) {
  if (i->op == HLO_OP_PARAMETER) {
    strbuf_printf(out, "p%d", (int)HLO_ATTRS(i, parameter)->number);
  } else if (i->op == HLO_OP_CONSTANT) {
    strbuf_printf(out, "const(");
    hlo_literal_print(out, hlo_constant_value(i), 0);
    strbuf_printf(out, ")");
  } else if (i->op == HLO_OP_GET_TUPLE_ELEMENT) {
    opt_expression(out, i->operands[0]);
    strbuf_printf(out, "#%d", (int)HLO_ATTRS(i, get_tuple_element)->index);
  } else {
    strbuf text = {0};
    hlo_print_instr(&text, i, NULL);
    const char *attrs = strstr(text.data, "), ");
    strbuf_printf(out, "%s(", hlo_op_table[i->op].text_name);
    for (int k = 0; k < i->n_operands; k++) {
      strbuf_printf(out, k ? ", " : "");
      opt_expression(out, i->operands[k]);
    }
    strbuf_printf(out, ")");
    if (attrs && !i->n_called) {
      size_t n = strcspn(attrs + 3, "\n");
      strbuf_printf(out, "{%.*s}", (int)n, attrs + 3);
    }
    strbuf_deinit(&text);
  }
}

static inline char *opt_root(arena *a, const hlo_module *m) {
  strbuf out = {0};
  opt_expression(&out, m->entry->root);
  char *copy = (char *)arena_strv(a, strbuf_view(&out)).data;
  strbuf_deinit(&out);
  return copy;
}

// The entry is `body` with the parameters ("f32[2] x, f32[] y"); its root has `result` as shape.
static inline hlo_module *opt_entry(arena *a, const char *params, const char *body) {
  strbuf t = {0};
  strbuf_printf(&t, "HloModule t\n\nENTRY main {\n");
  strv rest = strv_from_cstr(params), one;
  for (int n = 0; rest.len; n++) {
    size_t depth = 0, k = 0;
    for (; k < rest.len && (depth || rest.data[k] != ','); k++) depth += (rest.data[k] == '[') - (rest.data[k] == ']');
    one = strv_trim(strv_take(rest, k));
    rest = strv_drop(rest, k < rest.len ? k + 1 : k);
    size_t blank = one.len;
    while (one.data[blank - 1] != ' ') blank--;
    strbuf_printf(&t, "  %.*s = %.*s parameter(%d)\n", (int)(one.len - blank), one.data + blank, (int)blank - 1,
                  one.data, n);
  }
  strbuf_printf(&t, "  %s\n}\n", body);
  char *text = (char *)arena_strv(a, strbuf_view(&t)).data;
  strbuf_deinit(&t);
  return opt_parse(a, text);
}

static inline void opt_assert_becomes(int line, const char *passes, const char *params, const char *body,
                                      const char *expected) {
  arena *a = arena_create();
  hlo_module *m = opt_entry(a, params, body);
  opt_run(m, passes);
  const char *got = opt_root(a, m);
  ck_assert_msg(!strcmp(got, expected), "line %d: %s\n  gives    %s\n  expected %s", line, body, got, expected);
  arena_destroy(a);
}

#define ASSERT_BECOMES(passes, params, body, expected) opt_assert_becomes(__LINE__, passes, params, body, expected)

static inline int opt_count(const hlo_module *m, hlo_op op) {
  int n = 0;
  for (int c = 0; c < m->n_computations; c++)
    HLO_FOR_EACH (i, m->computations[c]) n += i->op == op;
  return n;
}

#endif
