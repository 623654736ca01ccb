// SPDX-License-Identifier: Apache-2.0
// Constant folding: values by hand, splats stay splats, budgets, what must stay.
#include "tests/hlo/opt/opt_test.h"

#define BECOMES(params, body, expected) ASSERT_BECOMES("constant-folding,dce", params, body, expected)

START_TEST(elementwise) {
  BECOMES("", "a = f32[3] constant({1, -0, nan}) b = f32[3] constant({2, 0, 1}) ROOT r = f32[3] add(a, b)",
          "const({3, 0, nan})");
  BECOMES("",
          "a = f32[1000,1000] constant(splat 2) b = f32[1000,1000] constant(splat 3) ROOT r = f32[1000,1000] "
          "multiply(a, b)",
          "const(splat 6)");
  BECOMES("", "a = f32[] constant(2) b = f32[9,9] broadcast(a), dimensions={} ROOT r = f32[9,9] negate(b)",
          "const(splat -2)");
  BECOMES("", "a = s8[2] constant({-128, 7}) b = s8[2] constant({-1, 0}) ROOT r = s8[2] divide(a, b)",
          "const({-128, -1})");
  BECOMES("", "a = f32[2] constant({300, nan}) ROOT r = s8[2] convert(a)", "const({127, 0})");
  BECOMES("",
          "a = f32[3] constant({1, 2, 3}) b = f32[3] constant(splat 2) ROOT r = pred[3] compare(a, b), direction=LT",
          "const({true, false, false})");
  BECOMES("",
          "p = pred[] constant(true) a = f32[2] constant({1, 2}) b = f32[2] constant({3, 4}) ROOT r = f32[2] select(p, "
          "a, b)",
          "const({1, 2})");
  BECOMES("f32[2] x", "a = f32[2] constant({1, 2}) ROOT r = f32[2] add(x, a)", "add(p0, const({1, 2}))");
}
END_TEST

START_TEST(movement) {
  BECOMES("", "a = s32[2,3] constant({{1, 2, 3}, {4, 5, 6}}) ROOT r = s32[3,2] transpose(a), dimensions={1,0}",
          "const({ {1, 4}, {2, 5}, {3, 6} })");
  BECOMES("", "a = s32[2,3] constant({{1, 2, 3}, {4, 5, 6}}) ROOT r = s32[2,2] slice(a), slice={[0:2], [0:3:2]}",
          "const({ {1, 3}, {4, 6} })");
  BECOMES("", "a = s32[2,3] constant({{1, 2, 3}, {4, 5, 6}}) ROOT r = s32[2,3] reverse(a), dimensions={1}",
          "const({ {3, 2, 1}, {6, 5, 4} })");
  BECOMES("", "a = s32[2] constant({1, 2}) b = s32[1] constant({3}) ROOT r = s32[3] concatenate(a, b), dimensions={0}",
          "const({1, 2, 3})");
  BECOMES("", "a = s32[2] constant({1, 2}) v = s32[] constant(9) ROOT r = s32[6] pad(a, v), padding=1_2_1",
          "const({9, 1, 9, 2, 9, 9})");
  BECOMES("", "a = f32[2] constant({1, 2}) ROOT r = s32[2] bitcast-convert(a)", "const({1065353216, 1073741824})");
  BECOMES("", "a = f32[2] constant({1, 2}) ROOT r = f32[3,2] broadcast(a), dimensions={1}",
          "broadcast(const({1, 2})){dimensions={1}}");
  BECOMES("", "ROOT r = s32[4] iota(), iota_dimension=0", "iota(){iota_dimension=0}");
}
END_TEST

START_TEST(does_not_grow) {
  // 64 KiB from 8 bytes
  BECOMES("", "a = f32[2] constant({1, 2}) v = f32[] constant(0) ROOT r = f32[16384] pad(a, v), padding=0_16382",
          "pad(const({1, 2}), const(0)){padding=0_16382}");
  BECOMES("", "ROOT r = f32[0,3] constant({})", "const({})");
}
END_TEST

START_TEST(reductions) {
  arena *a = arena_create();
  hlo_module *m = opt_parse(
      a,
      "HloModule t\n\n%sum (x: s32[], y: s32[]) -> s32[] {\n  %x = s32[] parameter(0)\n  %y = s32[] parameter(1)\n"
      "  ROOT %s = s32[] add(%x, %y)\n}\n\nENTRY %main () -> s32[2] {\n"
      "  %p = s32[2,3]{1,0} constant({ {1, 2, 3}, {4, 5, 6} })\n"
      "  %z = s32[] constant(10)\n  ROOT %r = s32[2]{0} reduce(%p, %z), dimensions={1}, to_apply=%sum\n}\n");
  opt_run(m, "constant-folding,dce");
  ck_assert_str_eq(opt_root(a, m), "const({16, 25})");
  arena_destroy(a);
}
END_TEST

HARNESS_MAIN("constant_folding", elementwise, movement, does_not_grow, reductions)
