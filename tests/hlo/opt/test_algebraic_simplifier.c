// SPDX-License-Identifier: Apache-2.0
// Algebraic simplification: rewrites that must happen, and rewrites that would change a value and must not. Expected
// results are worked out by hand from IEEE 754 and the specification.
#include "tests/hlo/opt/opt_test.h"

#define BECOMES(params, body, expected) ASSERT_BECOMES("algebraic-simplifier,dce", params, body, expected)

START_TEST(addition) {
  // not known to be uniform
  BECOMES("s32[2] x", "z = s32[2] constant({0, 0}) ROOT r = s32[2] add(x, z)", "add(p0, const({0, 0}))");
  BECOMES("s32[2] x", "z = s32[2] constant(splat 0) ROOT r = s32[2] add(z, x)", "p0");
  BECOMES("s32[2] x", "z = s32[] constant(0) b = s32[2] broadcast(z), dimensions={} ROOT r = s32[2] add(x, b)", "p0");
  // -0 + 0 = 0
  BECOMES("f32[2] x", "z = f32[2] constant(splat 0) ROOT r = f32[2] add(x, z)", "add(p0, const(splat 0))");
  BECOMES("f32[2] x", "z = f32[2] constant(splat -0) ROOT r = f32[2] add(x, z)", "p0");
  BECOMES("f32[2] x", "z = f32[2] constant(splat 0) ROOT r = f32[2] subtract(x, z)", "p0");
  BECOMES("f32[2] x", "z = f32[2] constant(splat -0) ROOT r = f32[2] subtract(x, z)", "subtract(p0, const(splat -0))");
  BECOMES("f32[2] x", "z = f32[2] constant(splat -0) ROOT r = f32[2] subtract(z, x)", "negate(p0)");
  BECOMES("f32[2] x", "z = f32[2] constant(splat 0) ROOT r = f32[2] subtract(z, x)", "subtract(const(splat 0), p0)");
  BECOMES("f32[2] x", "ROOT r = f32[2] subtract(x, x)", "subtract(p0, p0)");  // NaN, inf
  BECOMES("u8[2] x", "ROOT r = u8[2] subtract(x, x)", "const(splat 0)");
  BECOMES("f32[2] x, f32[2] y", "n = f32[2] negate(y) ROOT r = f32[2] add(x, n)", "subtract(p0, p1)");
  // -0
  BECOMES("f32[2] x, f32[2] y", "s = f32[2] subtract(x, y) ROOT r = f32[2] negate(s)", "negate(subtract(p0, p1))");
  BECOMES("s32[2] x, s32[2] y", "s = s32[2] subtract(x, y) ROOT r = s32[2] negate(s)", "subtract(p1, p0)");
  BECOMES("c64[2] x", "z = c64[2] constant(splat (0, 0)) ROOT r = c64[2] add(x, z)", "add(p0, const(splat (0, 0)))");
  BECOMES("f8e4m3fnuz[2] x", "z = f8e4m3fnuz[2] constant(splat 0) ROOT r = f8e4m3fnuz[2] subtract(x, z)", "p0");
}
END_TEST

START_TEST(multiplication) {
  BECOMES("f32[2] x", "z = f32[2] constant(splat 1) ROOT r = f32[2] multiply(z, x)", "p0");
  BECOMES("f32[2] x", "z = f32[2] constant(splat 0) ROOT r = f32[2] multiply(x, z)", "multiply(p0, const(splat 0))");
  BECOMES("u8[2] x", "z = u8[2] constant(splat 0) ROOT r = u8[2] multiply(x, z)", "const(splat 0)");
  BECOMES("c64[2] x", "z = c64[2] constant(splat (1, 0)) ROOT r = c64[2] multiply(x, z)",
          "multiply(p0, const(splat (1, 0)))");
  BECOMES("f32[2] x", "z = f32[2] constant(splat -1) ROOT r = f32[2] multiply(x, z)", "negate(p0)");
  BECOMES("f32[2] x", "z = f32[2] constant(splat 4) ROOT r = f32[2] divide(x, z)",
          "multiply(p0, divide(const(splat 1), const(splat 4)))");
  BECOMES("f32[2] x", "z = f32[2] constant(splat 3) ROOT r = f32[2] divide(x, z)", "divide(p0, const(splat 3))");
  BECOMES("f32[2] x", "z = f32[2] constant(splat 1.7014118e38) ROOT r = f32[2] divide(x, z)",
          "divide(p0, const(splat 1.7014118e+38))");  // 2^127: the reciprocal is subnormal
  BECOMES("u32[2] x", "z = u32[2] constant(splat 8) ROOT r = u32[2] divide(x, z)",
          "shift-right-logical(p0, const(splat 3))");
  // towards zero
  BECOMES("s32[2] x", "z = s32[2] constant(splat 8) ROOT r = s32[2] divide(x, z)", "divide(p0, const(splat 8))");
  BECOMES("u32[2] x", "z = u32[2] constant(splat 8) ROOT r = u32[2] remainder(x, z)",
          "and(p0, subtract(const(splat 8), const(splat 1)))");
  BECOMES("s32[2] x", "z = s32[2] constant(splat 0) ROOT r = s32[2] divide(x, z)", "divide(p0, const(splat 0))");
  BECOMES("s32[2] x", "ROOT r = s32[2] divide(x, x)", "divide(p0, p0)");  // 0 / 0 is -1
  BECOMES("f32[2] x", "z = f32[2] constant(splat 2) ROOT r = f32[2] power(x, z)", "multiply(p0, p0)");
  // -inf
  BECOMES("f32[2] x", "z = f32[2] constant(splat 0.5) ROOT r = f32[2] power(x, z)", "power(p0, const(splat 0.5))");
  BECOMES("f32[2] x",
          "a = f32[2] constant(splat 3) b = f32[2] constant(splat 5) m = f32[2] multiply(x, a) ROOT r = f32[2] "
          "multiply(m, b)",
          "multiply(multiply(p0, const(splat 3)), const(splat 5))");
  BECOMES("s32[2] x",
          "a = s32[2] constant(splat 3) b = s32[2] constant(splat 5) m = s32[2] multiply(x, a) ROOT r = s32[2] "
          "multiply(m, b)",
          "multiply(p0, multiply(const(splat 3), const(splat 5)))");
}
END_TEST

START_TEST(logic) {
  BECOMES("pred[2] x", "n = pred[2] not(x) ROOT r = pred[2] not(n)", "p0");
  BECOMES("u4[2] x", "o = u4[2] constant(splat 15) ROOT r = u4[2] and(x, o)", "p0");
  BECOMES("s4[2] x", "o = s4[2] constant(splat -1) ROOT r = s4[2] xor(x, o)", "not(p0)");
  BECOMES("pred[2] x", "o = pred[2] constant(splat true) ROOT r = pred[2] or(x, o)", "const(splat true)");
  BECOMES("s32[2] x", "o = s32[2] constant(splat 32) ROOT r = s32[2] shift-left(x, o)", "const(splat 0)");
  BECOMES("s32[2] x", "o = s32[2] constant(splat -1) ROOT r = s32[2] shift-right-logical(x, o)", "const(splat 0)");
  BECOMES("s32[2] x", "o = s32[2] constant(splat 40) ROOT r = s32[2] shift-right-arithmetic(x, o)",
          "shift-right-arithmetic(p0, const(splat 40))");
  BECOMES("s32[2] x", "ROOT r = pred[2] compare(x, x), direction=EQ", "const(splat true)");
  BECOMES("f32[2] x", "ROOT r = pred[2] compare(x, x), direction=EQ", "compare(p0, p0){direction=EQ}");  // NaN
  BECOMES("f32[2] x", "ROOT r = pred[2] compare(x, x), direction=LT", "const(splat false)");
  BECOMES("u32[2] x", "z = u32[2] constant(splat 0) ROOT r = pred[2] compare(x, z), direction=GE", "const(splat true)");
  BECOMES("s32[2] x", "z = s32[2] constant(splat 0) ROOT r = pred[2] compare(x, z), direction=GE",
          "compare(p0, const(splat 0)){direction=GE}");
  BECOMES("s32[2] x", "z = s32[2] constant(splat 7) ROOT r = pred[2] compare(z, x), direction=LT",
          "compare(p0, const(splat 7)){direction=GT}");
  BECOMES("s32[2] x, s32[2] y", "c = pred[2] compare(x, y), direction=LT ROOT r = pred[2] not(c)",
          "compare(p0, p1){direction=GE}");
  BECOMES("f32[2] x, f32[2] y", "c = pred[2] compare(x, y), direction=LT ROOT r = pred[2] not(c)",
          "not(compare(p0, p1){direction=LT})");
  BECOMES("f32[2] x, f32[2] y", "c = pred[2] compare(x, y), direction=EQ ROOT r = pred[2] not(c)",
          "compare(p0, p1){direction=NE}");
  BECOMES("pred[] p, f32[2] x, f32[2] y", "n = pred[] not(p) ROOT r = f32[2] select(n, x, y)", "select(p0, p2, p1)");
  BECOMES("pred[] p, pred[2] x", "z = pred[2] constant(splat false) ROOT r = pred[2] select(p, x, z)",
          "select(p0, p1, const(splat false))");
  BECOMES("pred[2] p, pred[2] x", "z = pred[2] constant(splat false) ROOT r = pred[2] select(p, x, z)", "and(p0, p1)");
  BECOMES("f32[2] x, f32[2] y", "p = pred[] constant(false) ROOT r = f32[2] select(p, x, y)", "p1");
}
END_TEST

START_TEST(movement) {
  BECOMES("f32[2,3] x", "a = f32[6] reshape(x) ROOT r = f32[3,2] reshape(a)", "reshape(p0)");
  BECOMES("f32[2,3] x", "a = f32[6] reshape(x) ROOT r = f32[2,3] reshape(a)", "p0");
  BECOMES("f32[2,3,4] x",
          "a = f32[4,2,3] transpose(x), dimensions={2,0,1} ROOT r = f32[2,3,4] transpose(a), dimensions={1,2,0}", "p0");
  BECOMES("f32[2,1,4] x", "ROOT r = f32[1,2,4] transpose(x), dimensions={1,0,2}", "reshape(p0)");
  BECOMES("f32[3] x", "a = f32[2,3] broadcast(x), dimensions={1} ROOT r = f32[4,3,2] broadcast(a), dimensions={2,1}",
          "broadcast(p0){dimensions={1}}");
  BECOMES("f32[1,3] x", "ROOT r = f32[2,3] broadcast(x), dimensions={0,1}", "broadcast(reshape(p0)){dimensions={1}}");
  BECOMES("f32[3] x", "a = f32[1,3] reshape(x) ROOT r = f32[2,3] broadcast(a), dimensions={0,1}",
          "broadcast(p0){dimensions={1}}");
  BECOMES("f32[3] x", "a = f32[2,3] broadcast(x), dimensions={1} ROOT r = f32[2,1,3] reshape(a)",
          "broadcast(p0){dimensions={2}}");
  BECOMES("f32[] x", "a = f32[2,3] broadcast(x), dimensions={} ROOT r = f32[6] reshape(a)",
          "broadcast(p0){dimensions={}}");
  BECOMES("f32[3] x", "a = f32[2,3] broadcast(x), dimensions={1} ROOT r = f32[2,3] exponential(a)",
          "broadcast(exponential(p0)){dimensions={1}}");
  BECOMES("f32[8] x", "a = f32[4] slice(x), slice={[0:8:2]} ROOT r = f32[2] slice(a), slice={[1:4:2]}",
          "slice(p0){slice={[2:7:4]}}");
  BECOMES("f32[2] x, f32[3] y", "a = f32[5] concatenate(x, y), dimensions={0} ROOT r = f32[2] slice(a), slice={[3:5]}",
          "slice(p1){slice={[1:3]}}");
  BECOMES("f32[4] x, f32[] v", "ROOT r = f32[2] pad(x, v), padding=-1_-1", "slice(p0){slice={[1:3]}}");
  BECOMES("f32[4] x, f32[] v", "ROOT r = f32[4] pad(x, v), padding=0_0", "p0");
  BECOMES("f32[1] x, f32[] v", "ROOT r = f32[1] pad(x, v), padding=0_0_3", "p0");
  BECOMES("f32[0] x, f32[2] y", "ROOT r = f32[2] concatenate(x, y), dimensions={0}", "p1");
  BECOMES("f32[1,3] x", "ROOT r = f32[1,3] reverse(x), dimensions={0}", "p0");
  BECOMES("f32[1,3] x", "ROOT r = f32[1,3] reverse(x), dimensions={0,1}", "reverse(p0){dimensions={1}}");
  BECOMES("f32[1,3] x", "ROOT r = s32[1,3] iota(), iota_dimension=0", "const(splat 0)");
  BECOMES("f32[5] x", "i = s32[] constant(9) ROOT r = f32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}",
          "slice(p0){slice={[3:5]}}");
  BECOMES("f32[5] x", "i = s32[] constant(-9) ROOT r = f32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}",
          "slice(p0){slice={[0:2]}}");
  BECOMES("f32[5] x, f32[5] y, s32[] i", "ROOT r = f32[5] dynamic-update-slice(x, y, i)", "p1");
  BECOMES("f32[5,2] x, s32[] i",
          "ROOT r = f32[2] gather(x, i), offset_dims={0}, collapsed_slice_dims={0}, start_index_map={0}, "
          "index_vector_dim=0, slice_sizes={1,2}",
          "reshape(dynamic-slice(p0, p1, const(0)){dynamic_slice_sizes={1,2}})");
}
END_TEST

START_TEST(conversion) {
  BECOMES("s8[2] x", "a = s32[2] convert(x) ROOT r = s8[2] convert(a)", "p0");
  BECOMES("s32[2] x", "a = s8[2] convert(x) ROOT r = s32[2] convert(a)", "convert(convert(p0))");
  // saturates, does not wrap
  BECOMES("s32[2] x", "a = f64[2] convert(x) ROOT r = s8[2] convert(a)", "convert(convert(p0))");
  BECOMES("bf16[2] x", "a = f32[2] convert(x) ROOT r = f16[2] convert(a)", "convert(p0)");
  BECOMES("f16[2] x", "a = f32[2] convert(x) ROOT r = f16[2] convert(a)", "p0");
  BECOMES("s32[2] x", "a = f32[2] convert(x) ROOT r = f64[2] convert(a)", "convert(convert(p0))");  // f32 rounds
  BECOMES("u16[2] x", "a = f32[2] convert(x) ROOT r = f64[2] convert(a)", "convert(p0)");
  BECOMES("s8[2] x", "a = u32[2] convert(x) ROOT r = s64[2] convert(a)", "convert(convert(p0))");
  BECOMES("f32[2] x", "a = s32[2] bitcast-convert(x) ROOT r = f32[2] bitcast-convert(a)", "p0");
  BECOMES("f32[2] x", "ROOT r = f32[2] reduce-precision(x), exponent_bits=8, mantissa_bits=23", "p0");
}
END_TEST

START_TEST(reductions) {
  arena *a = arena_create();
  hlo_module *m = opt_parse(
      a,
      "HloModule t\n\n%sum (x: f32[], y: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  %y = f32[] parameter(1)\n"
      "  ROOT %s = f32[] add(%x, %y)\n}\n\nENTRY %main (p: f32[1,3]) -> f32[3] {\n  %p = f32[1,3]{1,0} parameter(0)\n"
      "  %z = f32[] constant(0)\n  ROOT %r = f32[3]{0} reduce(%p, %z), dimensions={0}, to_apply=%sum\n}\n");
  opt_run(m, "algebraic-simplifier,dce");
  // 0 + x, which is not x for -0
  ck_assert_str_eq(opt_root(a, m), "add(reshape(p0), const(splat 0))");
  arena_destroy(a);
  BECOMES("f32[2,3] x, f32[4,3] y",
          "t = f32[3,4] transpose(y), dimensions={1,0} ROOT r = f32[2,4] dot(x, t), lhs_contracting_dims={1}, "
          "rhs_contracting_dims={0}",
          "dot(p0, p1){lhs_contracting_dims={1}, rhs_contracting_dims={1}}");
  // The free dimensions would change places.
  BECOMES("f32[2,3,4] x, f32[4] y",
          "t = f32[3,2,4] transpose(x), dimensions={1,0,2} ROOT r = f32[3,2] dot(t, y), lhs_contracting_dims={2}, "
          "rhs_contracting_dims={0}",
          "dot(transpose(p0){dimensions={1,0,2}}, p1){lhs_contracting_dims={2}, rhs_contracting_dims={0}}");
  BECOMES("f32[2,0] x, f32[0,4] y", "ROOT r = f32[2,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
          "const(splat 0)");
}
END_TEST

HARNESS_MAIN("algebraic_simplifier", addition, multiplication, logic, movement, conversion, reductions)
