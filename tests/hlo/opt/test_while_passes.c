// SPDX-License-Identifier: Apache-2.0
// Trip counts, loops of no and one iteration, unneeded and unchanged elements, invariant computations; conditionals and
// maps.
#include "tests/hlo/opt/opt_test.h"

// A loop over (s32 i, f32[4] x, f32[4] y): i from `init` by `step` while i `direction` bound; x = x * y or as `body`
// says.
static hlo_module *loop(arena *a, const char *type, int init, int step, const char *direction, int bound,
                        const char *body) {
  strbuf t = {0};
  strbuf_printf(
      &t,
      "HloModule t\n\n%%cond (p: (%s[], f32[4], f32[4])) -> pred[] {\n  %%p = (%s[], f32[4], f32[4]) parameter(0)\n"
      "  %%i = %s[] get-tuple-element(%%p), index=0\n  %%n = %s[] constant(%d)\n"
      "  ROOT %%c = pred[] compare(%%i, %%n), direction=%s\n}\n\n",
      type, type, type, type, bound, direction);
  strbuf_printf(
      &t,
      "%%body (q: (%s[], f32[4], f32[4])) -> (%s[], f32[4], f32[4]) {\n  %%q = (%s[], f32[4], f32[4]) parameter(0)\n"
      "  %%j = %s[] get-tuple-element(%%q), index=0\n  %%x = f32[4] get-tuple-element(%%q), index=1\n"
      "  %%y = f32[4] get-tuple-element(%%q), index=2\n  %%s = %s[] constant(%d)\n  %%k = %s[] add(%%j, %%s)\n%s"
      "  ROOT %%t = (%s[], f32[4], f32[4]) tuple(%%k, %%z, %%y)\n}\n\n",
      type, type, type, type, type, step, type, body, type);
  strbuf_printf(
      &t,
      "ENTRY %%main (a: f32[4], b: f32[4]) -> f32[4] {\n  %%a = f32[4] parameter(0)\n  %%b = f32[4] parameter(1)\n"
      "  %%zero = %s[] constant(%d)\n  %%start = (%s[], f32[4], f32[4]) tuple(%%zero, %%a, %%b)\n"
      "  %%w = (%s[], f32[4], f32[4]) while(%%start), condition=%%cond, body=%%body\n"
      "  ROOT %%out = f32[4] get-tuple-element(%%w), index=1\n}\n",
      type, init, type, type);
  char *text = (char *)arena_strv(a, strbuf_view(&t)).data;
  strbuf_deinit(&t);
  return opt_parse(a, text);
}

static const char multiply[] = "  %z = f32[4] multiply(%x, %y)\n";

static hlo_instr *find(hlo_module *m, hlo_op op) {
  HLO_FOR_EACH (i, m->entry)
    if (i->op == op) return i;
  return NULL;
}

static int64_t trips(const char *type, int init, int step, const char *direction, int bound) {
  arena *a = arena_create();
  hlo_module *m = loop(a, type, init, step, direction, bound, multiply);
  opt_run(m, "while-loop-trip-count-annotator");
  int64_t n = HLO_ATTRS(find(m, HLO_OP_WHILE), while)->known_trip_count;
  arena_destroy(a);
  return n;
}

START_TEST(trip_counts) {
  ck_assert_int_eq(trips("s32", 0, 1, "LT", 10), 10);
  ck_assert_int_eq(trips("s32", 0, 3, "LT", 10), 4);
  ck_assert_int_eq(trips("s32", 0, 3, "LE", 9), 4);
  ck_assert_int_eq(trips("s32", 10, -1, "GT", 0), 10);
  ck_assert_int_eq(trips("s32", 10, -4, "GE", 0), 3);
  ck_assert_int_eq(trips("s32", 0, 2, "NE", 8), 4);
  ck_assert_int_eq(trips("s32", 0, 3, "NE", 8), -1);  // jumps over
  ck_assert_int_eq(trips("s32", 5, 1, "LT", 5), 0);
  ck_assert_int_eq(trips("s32", 0, -1, "LT", 5), -1);  // wraps
  ck_assert_int_eq(trips("s8", 100, 20, "LT", 120), 1);
  ck_assert_int_eq(trips("s8", 100, 30, "LE", 120), -1);  // 130 wraps
  ck_assert_int_eq(trips("u8", 0, 1, "LT", 255), 255);
}
END_TEST

START_TEST(no_and_one_iteration) {
  arena *a = arena_create();
  hlo_module *m = loop(a, "s32", 3, 1, "LT", 3, multiply);
  opt_run(m, "while-loop-trip-count-annotator,while-loop-simplifier,tuple-simplifier,dce");
  ck_assert_str_eq(opt_root(a, m), "p0");
  m = loop(a, "s32", 2, 1, "LT", 3, multiply);
  opt_run(m, "while-loop-trip-count-annotator,while-loop-simplifier,tuple-simplifier,dce");
  ck_assert_str_eq(opt_root(a, m), "multiply(p0, p1)");
  m = loop(a, "s32", 1, 1, "LT", 3, multiply);
  opt_run(m, "while-loop-trip-count-annotator,while-loop-simplifier,tuple-simplifier,dce");
  ck_assert_int_eq(opt_count(m, HLO_OP_WHILE), 1);
  arena_destroy(a);
}
END_TEST

START_TEST(unneeded_elements_go) {
  arena *a = arena_create();
  hlo_module *m = loop(a, "s32", 0, 1, "LT", 3, "  %z = f32[4] negate(%x)\n");
  opt_run(m, "while-loop-simplifier,dce");
  ck_assert_int_eq(find(m, HLO_OP_WHILE)->shape->n_elements, 2);  // y is not used
  m = loop(a, "s32", 0, 1, "LT", 3, multiply);
  opt_run(m, "while-loop-simplifier,dce");
  ck_assert_int_eq(find(m, HLO_OP_WHILE)->shape->n_elements, 3);
  arena_destroy(a);
}
END_TEST

START_TEST(invariants_move) {
  arena *a = arena_create();
  hlo_module *m = loop(a, "s32", 0, 1, "LT", 3, "  %e = f32[4] exponential(%y)\n  %z = f32[4] multiply(%x, %e)\n");
  opt_run(m, "while-loop-trip-count-annotator,while-loop-invariant-code-motion,while-loop-simplifier,dce");
  hlo_instr *w = find(m, HLO_OP_WHILE);
  ck_assert_ptr_nonnull(find(m, HLO_OP_EXPONENTIAL));
  ck_assert_int_eq(opt_count(m, HLO_OP_EXPONENTIAL), 1);
  ck_assert_int_eq(w->shape->n_elements, 3);  // i, x, exp(y)
  m = loop(a, "s32", 0, 1, "LT", 3, "  %e = f32[4] exponential(%x)\n  %z = f32[4] multiply(%e, %y)\n");
  opt_run(m, "while-loop-invariant-code-motion");
  ck_assert_ptr_null(find(m, HLO_OP_EXPONENTIAL));
  // A broadcast alone stays where it is.
  m = loop(a, "s32", 0, 1, "LT", 3, "  %v = f32[4] reverse(%y), dimensions={0}\n  %z = f32[4] multiply(%x, %v)\n");
  opt_run(m, "while-loop-invariant-code-motion");
  ck_assert_ptr_null(find(m, HLO_OP_REVERSE));
  arena_destroy(a);
}
END_TEST

static const char branches[] =
    "HloModule t\n\n%yes (x: f32[2]) -> f32[2] {\n  ROOT %x = f32[2]{0} parameter(0)\n}\n\n%no (y: f32[2]) -> f32[2] "
    "{\n"
    "  %y = f32[2]{0} parameter(0)\n  ROOT %n = f32[2]{0} negate(%y)\n}\n\nENTRY %main (a: f32[2], b: f32[2]) -> "
    "f32[2] {\n"
    "  %a = f32[2]{0} parameter(0)\n  %b = f32[2]{0} parameter(1)\n  %p = ";

START_TEST(conditionals) {
  static const struct {
    const char *selector, *call, *expected;
  } cases[] = {
      {"pred[] constant(true)", "true_computation=%yes, false_computation=%no", "p0"},
      {"pred[] constant(false)", "true_computation=%yes, false_computation=%no", "negate(p1)"},
      {"s32[] constant(0)", "branch_computations={%yes, %no}", "p0"},
      {"s32[] constant(1)", "branch_computations={%yes, %no}", "negate(p1)"},
      {"s32[] constant(7)", "branch_computations={%yes, %no}", "negate(p1)"},
      {"s32[] constant(-1)", "branch_computations={%yes, %no}", "negate(p1)"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    arena *a = arena_create();
    const char *text = arena_printf(a, "%s%s\n  ROOT %%c = f32[2]{0} conditional(%%p, %%a, %%b), %s\n}\n", branches,
                                    cases[k].selector, cases[k].call);
    hlo_module *m = opt_parse(a, text);
    opt_run(m, "conditional-simplifier,dce");
    ck_assert_str_eq(opt_root(a, m), cases[k].expected);
    arena_destroy(a);
  }
}
END_TEST

START_TEST(maps) {
  arena *a = arena_create();
  hlo_module *m = opt_parse(
      a,
      "HloModule t\n\n%f (x: f32[], y: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  %y = f32[] parameter(1)\n"
      "  %two = f32[] constant(2)\n  %m = f32[] multiply(%x, %two)\n  ROOT %s = f32[] add(%m, %y)\n}\n\n"
      "ENTRY %main (a: f32[3], b: f32[3]) -> f32[3] {\n  %a = f32[3]{0} parameter(0)\n"
      "  %b = f32[3]{0} parameter(1)\n  ROOT %r = f32[3]{0} map(%a, %b), dimensions={0}, to_apply=%f\n}\n");
  opt_run(m, "map-inliner,dce");
  ck_assert_str_eq(opt_root(a, m), "add(multiply(p0, const(splat 2)), p1)");
  arena_destroy(a);
}
END_TEST

HARNESS_MAIN("while_passes", trip_counts, no_and_one_iteration, unneeded_elements_go, invariants_move, conditionals,
             maps)
