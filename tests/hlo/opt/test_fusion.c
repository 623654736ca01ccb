// SPDX-License-Identifier: Apache-2.0
// Fusion, bitcasts, multi-output fusion, deduplication of bodies, memory scheduling: HLO text in, structure out. What
// the passes must do and must not do is worked out by hand in each case.
#include "hlo/kernel/lower.h"
#include "tests/hlo/opt/opt_test.h"

static hlo_target target(hlo_target_class cls) {
  return (hlo_target){.name = "t",
                      .cls = cls,
                      .f64 = true,
                      .i8 = true,
                      .i16 = true,
                      .i64 = true,
                      .vector_bytes = 32,
                      .vector_registers = 16,
                      .threads = 2,
                      .max_storage_range = INT64_MAX};
}

static void run_on(hlo_module *m, const char *passes, const hlo_target *t) {
  hlo_pipeline_options o = {.passes = strv_from_cstr(passes),
                            .opt_bisect_limit = -1,
                            .verify_each = true,
                            .round_trip_each = true,
                            .target = t,
                            .can_fuse = kernel_can_fuse_elementwise};
  ASSERT_OK(hlo_run_pipeline(m, &o));
}

// The entry's instructions that do work, in order, as text: "kLoop:fused_add(p0,p1); dot(...)". Operands are left out.
static const char *work_of(arena *a, const hlo_module *m) {
  static const char *const kinds[] = {"kLoop", "kInput", "kOutput", "kInPlace"};
  char *out = arena_printf(a, "%s", "");
  HLO_FOR_EACH (i, m->entry) {
    if (i->op == HLO_OP_PARAMETER || i->op == HLO_OP_CONSTANT || i->op == HLO_OP_TUPLE ||
        i->op == HLO_OP_GET_TUPLE_ELEMENT)
      continue;
    const char *sep = *out ? " " : "";
    if (i->op == HLO_OP_FUSION)
      out = arena_printf(a, "%s%s%s:" STRV_FMT, out, sep, kinds[HLO_ATTRS(i, fusion)->kind], STRV_ARG(i->name));
    else
      out = arena_printf(a, "%s%s%s", out, sep, hlo_op_table[i->op].text_name);
  }
  return out;
}

static void check(const char *passes, hlo_target_class cls, const char *params, const char *body, const char *expected,
                  const char *file, int line) {
  arena *a = arena_create();
  hlo_module *m = opt_entry(a, params, body);
  hlo_target t = target(cls);
  run_on(m, passes, &t);
  const char *got = work_of(a, m);
  ck_assert_msg(!strcmp(got, expected), "%s:%d: got '%s', expected '%s'", file, line, got, expected);
  arena_destroy(a);
}

#define FUSES(params, body, expected) \
  check("instruction-fusion", HLO_TARGET_CPU, params, body, expected, __FILE__, __LINE__)
#define WITH(passes, params, body, expected) check(passes, HLO_TARGET_CPU, params, body, expected, __FILE__, __LINE__)
#define SUM "add_f32 { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) } "

START_TEST(loops) {
  FUSES("f32[8] x, f32[8] y", "a = f32[8] add(x, y) ROOT r = f32[8] multiply(a, x)", "kLoop:add_multiply_fusion");
  FUSES("f32[8] x", "ROOT r = f32[8] negate(x)", "negate");
  // The constant moves in: no array of it is made.
  FUSES("f32[8] x", "c = f32[8] constant(splat 2) ROOT r = f32[8] multiply(x, c)", "kLoop:multiply_fusion");
  FUSES("f32[4] x", "c = f32[4] constant({1, 2, 3, 4}) ROOT r = f32[4] multiply(x, c)", "multiply");
  FUSES("f32[8] b, f32[4,8] x", "c = f32[4,8] broadcast(b), dimensions={1} ROOT r = f32[4,8] add(x, c)",
        "kLoop:broadcast_add_fusion");
  // Side by side, a value that is needed as a result too is not taken in.
  FUSES("f32[100000] x",
        "a = f32[100000] exponential(x) r = f32[100000] negate(a) ROOT t = (f32[100000], f32[100000]) tuple(a, r)",
        "exponential negate");
}
END_TEST

START_TEST(duplication) {
  // Cheap and used twice: computed twice rather than stored. Expensive: stored.
  FUSES("f32[100000] x",
        "a = f32[100000] negate(x) r = f32[100000] sine(a) q = f32[100000] cosine(a) ROOT t = (f32[100000], "
        "f32[100000]) tuple(r, q)",
        "kLoop:negate_sine_fusion kLoop:negate_cosine_fusion");
  FUSES("f32[100000] x",
        "a = f32[100000] exponential(x) r = f32[100000] sine(a) q = f32[100000] cosine(a) ROOT t = (f32[100000], "
        "f32[100000]) tuple(r, q)",
        "exponential sine cosine");
  // A broadcast costs nothing to repeat; what it broadcasts does.
  FUSES("f32[4096] b",
        "e = f32[4096] exponential(b) c = f32[512,4096] broadcast(e), dimensions={1} ROOT r = f32[512,4096] negate(c)",
        "exponential kLoop:broadcast_negate_fusion");
  // Along rows, it is computed once a row on a CPU.
  FUSES("f32[512] b",
        "e = f32[512] exponential(b) c = f32[512,4096] broadcast(e), dimensions={0} ROOT r = f32[512,4096] negate(c)",
        "kLoop:exponential_broadcast_negate_fusion");
}
END_TEST

START_TEST(transposes) {
  FUSES("f32[512,512] x",
        "a = f32[512,512] negate(x) t = f32[512,512] transpose(a), dimensions={1,0} ROOT r = f32[512,512] sine(t)",
        "negate transpose sine");  // strided reads of more than the cache
  FUSES("f32[8,64,8,64] x",
        "a = f32[8,64,8,64] negate(x) t = f32[8,8,64,64] transpose(a), dimensions={0,2,1,3} ROOT r = f32[8,8,64,64] "
        "sine(t)",
        "kLoop:negate_transpose_sine_fusion");  // rows stay whole
}
END_TEST

START_TEST(epilogues) {
  FUSES("f32[64,32] x, f32[32,16] w, f32[16] b",
        "d = f32[64,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} c = f32[64,16] broadcast(b), "
        "dimensions={1}"
        " s = f32[64,16] add(d, c) z = f32[64,16] constant(splat 0) ROOT r = f32[64,16] maximum(s, z)",
        "kOutput:dot_add_maximum_fusion");
  // x * sigmoid(x): the product is used twice, but only inside.
  FUSES("f32[64,32] x, f32[32,16] w",
        "d = f32[64,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} l = f32[64,16] logistic(d)"
        " ROOT r = f32[64,16] multiply(d, l)",
        "kOutput:dot_logistic_multiply_fusion");
  // Through a reshape: computed with the product's dimensions, then seen as others.
  FUSES("f32[64,32] x, f32[32,16] w, f32[16] b",
        "d = f32[64,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} e = f32[8,8,16] reshape(d)"
        " c = f32[8,8,16] broadcast(b), dimensions={2} ROOT r = f32[8,8,16] add(e, c)",
        "kOutput:dot_broadcast_add_fusion bitcast");
  // Nothing is fused into the operands; the product that is a result itself keeps its place.
  FUSES("f32[64,32] x, f32[32,16] w",
        "n = f32[64,32] negate(x) d = f32[64,16] dot(n, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
        " r = f32[64,16] negate(d) ROOT t = (f32[64,16], f32[64,16]) tuple(d, r)",
        "negate dot negate");
  // One product only.
  FUSES("f32[64,32] x, f32[32,16] w",
        "d = f32[64,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
        " e = f32[64,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} ROOT r = f32[64,16] subtract(d, "
        "e)",
        "dot kOutput:dot_subtract_fusion");
}
END_TEST

START_TEST(windows_of_products) {
  const char *params = "f32[4,64,32] x, f32[32,16] w";
  const char *body =
      "s = f32[1,64,32] slice(x), slice={[2:3], [0:64], [0:32]} e = f32[64,32] bitcast(s)"
      " ROOT d = f32[64,16] dot(e, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  check("instruction-fusion", HLO_TARGET_CPU, params, body, "kOutput:slice_dot_fusion", __FILE__, __LINE__);
  check("instruction-fusion", HLO_TARGET_GPU, params, body, "slice bitcast dot", __FILE__, __LINE__);
}
END_TEST

static hlo_module *with_reduce(arena *a, const char *entry) {
  return opt_parse(a,
                   arena_printf(a,
                                "HloModule t\n" SUM
                                "other { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n%s",
                                entry));
}

static void check_module(const char *passes, const char *entry, const char *expected) {
  arena *a = arena_create();
  hlo_module *m = with_reduce(a, entry);
  hlo_target t = target(HLO_TARGET_CPU);
  run_on(m, passes, &t);
  ck_assert_str_eq(work_of(a, m), expected);
  arena_destroy(a);
}

START_TEST(reductions) {
  check_module("instruction-fusion",
               "ENTRY e { x = f32[64,128] parameter(0) q = f32[64,128] multiply(x, x) z = f32[] constant(0)"
               " s = f32[64] reduce(q, z), dimensions={1}, to_apply=add_f32 n = f32[64] constant(splat 0.5) ROOT r = "
               "f32[64] multiply(s, n) }",
               "kInput:reduce_multiply_fusion");
  // What broadcasts a sum back does not recompute it.
  check_module("instruction-fusion",
               "ENTRY e { x = f32[64,128] parameter(0) z = f32[] constant(0) s = f32[64] reduce(x, z), dimensions={1}, "
               "to_apply=add_f32"
               " b = f32[64,128] broadcast(s), dimensions={0} ROOT r = f32[64,128] subtract(x, b) }",
               "kInput:reduce_fusion kLoop:broadcast_subtract_fusion");
  // Equal sums with bodies of their own are one after deduplication.
  check_module("computation-deduplicator,dce,cse,dce",
               "ENTRY e { x = f32[64,128] parameter(0) z = f32[] constant(0) s = f32[64] reduce(x, z), dimensions={1}, "
               "to_apply=add_f32"
               " u = f32[64] reduce(x, z), dimensions={1}, to_apply=other ROOT r = f32[64] subtract(s, u) }",
               "reduce subtract");
}
END_TEST

START_TEST(in_place) {
  FUSES("f32[16,8] x, f32[1,8] u, s32[] i",
        "z = s32[] constant(0) n = f32[1,8] negate(u) ROOT r = f32[16,8] dynamic-update-slice(x, n, i, z)",
        "kInPlace:negate_dynamic_update_slice_fusion");
  // x[i] += u: the old row is read first, so that x is a parameter with one use.
  FUSES("f32[16,8] x, f32[1,8] u, s32[] i",
        "z = s32[] constant(0) o = f32[1,8] dynamic-slice(x, i, z), dynamic_slice_sizes={1,8} n = f32[1,8] add(o, u)"
        " ROOT r = f32[16,8] dynamic-update-slice(x, n, i, z)",
        "kLoop:dynamic_slice_fusion kInPlace:add_dynamic_update_slice_fusion");
  // The updated array itself is never computed inside.
  FUSES("f32[16,8] x, f32[1,8] u, s32[] i",
        "z = s32[] constant(0) n = f32[16,8] negate(x) ROOT r = f32[16,8] dynamic-update-slice(n, u, i, z)",
        "negate kInPlace:dynamic_update_slice_fusion");
}
END_TEST

START_TEST(limits) {
  arena *a = arena_create();
  hlo_module *m = opt_entry(a, "f32[8] a, f32[8] b, f32[8] c, f32[8] d",
                            "x = f32[8] add(a, b) y = f32[8] add(x, c) ROOT z = f32[8] add(y, d)");
  hlo_target t = target(HLO_TARGET_GPU);
  t.max_buffers = 5;  // three operands, a result, one to spare
  run_on(m, "instruction-fusion", &t);
  HLO_FOR_EACH (i, m->entry) ck_assert_int_le(i->n_operands, 3);
  arena_destroy(a);
  // A buffer beyond the range of a binding keeps its instruction apart.
  a = arena_create();
  m = opt_entry(a, "f32[1000,8] t, s32[4,1] i",
                "g = f32[4,8] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
                "index_vector_dim=1, slice_sizes={1,8}"
                " ROOT r = f32[4,8] negate(g)");
  t = target(HLO_TARGET_GPU);
  t.max_storage_range = 16000;
  run_on(m, "instruction-fusion", &t);
  ck_assert_str_eq(work_of(a, m), "gather negate");
  arena_destroy(a);
}
END_TEST

// Long chains stop at the limit, and doubling index computations do not explode.
START_TEST(growth) {
  arena *a = arena_create();
  strbuf body = {0};
  strbuf_printf(&body, "v0 = f32[64] add(x, x) ");
  for (int n = 0; n < 300; n++) strbuf_printf(&body, "v%d = f32[64] sine(v%d) ", n + 1, n);
  strbuf_printf(&body, "ROOT r = f32[64] negate(v300)");
  hlo_module *m = opt_entry(a, "f32[64] x", body.data);
  hlo_target t = target(HLO_TARGET_CPU);
  run_on(m, "instruction-fusion", &t);
  HLO_FOR_EACH (i, m->entry) {
    int n = 0;
    if (i->op == HLO_OP_FUSION)
      HLO_FOR_EACH (x, i->called[0]) n += x->op != HLO_OP_PARAMETER;
    ck_assert_int_le(n, 64);
  }
  arena_destroy(a);
  body.len = 0;
  a = arena_create();
  for (int n = 0; n < 20; n++)
    strbuf_printf(&body,
                  "a%d = f32[64] slice(v%d), slice={[0:64]} b%d = f32[64] reverse(v%d), dimensions={0} v%d = f32[64] "
                  "add(a%d, b%d) ",
                  n, n, n, n, n + 1, n, n);
  strbuf_printf(&body, "ROOT r = f32[64] negate(v20)");
  m = opt_entry(a, "f32[64] v0", body.data);
  run_on(m, "instruction-fusion", &t);
  int fusions = 0;
  HLO_FOR_EACH (i, m->entry) fusions += i->op == HLO_OP_FUSION;
  ck_assert_int_ge(fusions, 5);  // at most eight indices each: three doublings
  arena_destroy(a);
  strbuf_deinit(&body);
}
END_TEST

START_TEST(bitcasts) {
  WITH("reshape-to-bitcast", "f32[4,8] x", "ROOT r = f32[32] reshape(x)", "bitcast");
  WITH("reshape-to-bitcast", "f32[4,8] x", "ROOT r = f32[4,1,8] broadcast(x), dimensions={0,2}", "bitcast");
  WITH("reshape-to-bitcast", "f32[4,8] x", "ROOT r = f32[8,4] broadcast(x), dimensions={1,0}", "broadcast");
  WITH("reshape-to-bitcast", "f32[4,8] x", "ROOT r = f32[4,2,8] broadcast(x), dimensions={0,2}", "broadcast");
  WITH("reshape-to-bitcast", "f32[4,1,8] x", "ROOT r = f32[1,4,8] transpose(x), dimensions={1,0,2}", "bitcast");
  WITH("reshape-to-bitcast", "f32[4,1,8] x", "ROOT r = f32[8,1,4] transpose(x), dimensions={2,1,0}", "transpose");
  WITH("reshape-to-bitcast,dce", "f32[4,8] x",
       "a = f32[32] reshape(x) b = f32[2,16] reshape(a) ROOT r = f32[2,16] negate(b)", "bitcast negate");
  WITH("reshape-to-bitcast,dce", "f32[4,8] x",
       "a = f32[32] reshape(x) b = f32[4,8] reshape(a) ROOT r = f32[4,8] negate(b)", "negate");
}
END_TEST

START_TEST(multi_output) {
  // Siblings over one array; then a producer that is a result and its consumer.
  WITH("multi-output-fusion", "f32[64] x",
       "a = f32[64] sine(x) b = f32[64] cosine(x) ROOT t = (f32[64], f32[64]) tuple(a, b)", "kLoop:sine_cosine_fusion");
  WITH("multi-output-fusion", "f32[64] x",
       "a = f32[64] exponential(x) b = f32[64] negate(a) ROOT t = (f32[64], f32[64]) tuple(a, b)",
       "kLoop:exponential_negate_fusion");
  // Not over other dimensions, nor when the second needs the first through something else.
  WITH("multi-output-fusion", "f32[64] x",
       "a = f32[64] sine(x) y = f32[32] slice(x), slice={[0:32]} ROOT t = (f32[64], f32[32]) tuple(a, y)",
       "sine slice");
  WITH("multi-output-fusion", "f32[8,8] x",
       "a = f32[8,8] sine(x) d = f32[8,8] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0} b = f32[8,8] "
       "add(d, x)"
       " ROOT t = (f32[8,8], f32[8,8]) tuple(a, b)",
       "sine dot add");
  // What depends on the first moves behind.
  WITH("multi-output-fusion", "f32[8,8] x",
       "a = f32[8,8] sine(x) d = f32[8,8] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0} b = f32[8,8] "
       "cosine(x)"
       " ROOT t = (f32[8,8], f32[8,8]) tuple(d, b)",
       "kLoop:sine_cosine_fusion dot");
  // Tiny loops over parameters share a launch, wherever they stand.
  WITH("multi-output-fusion", "f32[8] x, f32[8] y",
       "a = f32[8] sine(x) n = f32[8] dot(a, a), lhs_batch_dims={0}, rhs_batch_dims={0}"
       " b = f32[8] cosine(y) ROOT t = (f32[8], f32[8]) tuple(n, b)",
       "kLoop:sine_cosine_fusion dot");
}
END_TEST

// Two big temporaries that each become small: one after the other needs half the memory.
START_TEST(memory_order) {
  arena *a = arena_create();
  hlo_module *m = with_reduce(
      a,
      "ENTRY e { x = f32[65536] parameter(0) z = f32[] constant(0) a = f32[65536] sine(x) b = f32[65536] cosine(x)"
      " s = f32[] reduce(a, z), dimensions={0}, to_apply=add_f32 u = f32[] reduce(b, z), dimensions={0}, "
      "to_apply=add_f32"
      " ROOT r = f32[] add(s, u) }");
  hlo_target t = target(HLO_TARGET_CPU);
  run_on(m, "memory-scheduler", &t);
  const char *order = work_of(a, m);
  ck_assert_msg(!strcmp(order, "sine reduce cosine reduce add") || !strcmp(order, "cosine reduce sine reduce add"),
                "%s", order);
  arena_destroy(a);
}
END_TEST

// The update moves behind the last reader of the old value, so that no copy is needed.
START_TEST(updates_come_last) {
  WITH("memory-scheduler,copy-insertion", "f32[16] x, f32[1] u, s32[] i",
       "y = f32[16] sine(x) r = f32[16] dynamic-update-slice(y, u, i) n = f32[16] cosine(y) ROOT t = (f32[16], "
       "f32[16]) tuple(r, n)",
       "sine cosine dynamic-update-slice");
}
END_TEST

START_TEST(effects_stay_in_order) {
  arena *a = arena_create();
  hlo_module *m = opt_entry(a, "f32[4096] x",
                            "a = f32[4096] sine(x) b = f32[4096] cosine(x)"
                            " c = f32[1] custom-call(a), custom_call_target=\"one\", custom_call_has_side_effect=true"
                            " d = f32[1] custom-call(b), custom_call_target=\"two\", custom_call_has_side_effect=true "
                            "ROOT t = (f32[1], f32[1]) tuple(d, c)");
  hlo_target t = target(HLO_TARGET_CPU);
  run_on(m, "instruction-fusion,multi-output-fusion,memory-scheduler", &t);
  int seen = 0;
  HLO_FOR_EACH (i, m->entry) {
    if (i->op != HLO_OP_CUSTOM_CALL) continue;
    ck_assert(strv_eq_cstr(HLO_ATTRS(i, custom_call)->target, seen++ ? "two" : "one"));
  }
  ck_assert_int_eq(seen, 2);
  arena_destroy(a);
}
END_TEST

// Loops' bodies are fused too, and the bisect limit holds passes back.
START_TEST(bodies_and_bisection) {
  const char *text =
      "HloModule t\n cond { p = (s32[], f32[64]) parameter(0) i = s32[] get-tuple-element(p), index=0 n = s32[] "
      "constant(8)"
      " ROOT c = pred[] compare(i, n), direction=LT }\n"
      "body { p = (s32[], f32[64]) parameter(0) i = s32[] get-tuple-element(p), index=0 x = f32[64] "
      "get-tuple-element(p), index=1"
      " o = s32[] constant(1) j = s32[] add(i, o) y = f32[64] multiply(x, x) z = f32[64] sine(y) ROOT t = (s32[], "
      "f32[64]) tuple(j, z) }\n"
      "ENTRY e { i = s32[] parameter(0) x = f32[64] parameter(1) t = (s32[], f32[64]) tuple(i, x)"
      " ROOT w = (s32[], f32[64]) while(t), condition=cond, body=body }";
  for (int limit = -1; limit < 3; limit++) {
    arena *a = arena_create();
    hlo_module *m = opt_parse(a, text);
    hlo_target t = target(HLO_TARGET_CPU);
    hlo_pipeline_options o = {
        .passes = STRV("instruction-fusion"), .opt_bisect_limit = limit, .verify_each = true, .target = &t};
    ASSERT_OK(hlo_run_pipeline(m, &o));
    int fusions = 0;
    for (int c = 0; c < m->n_computations; c++)
      HLO_FOR_EACH (i, m->computations[c]) fusions += i->op == HLO_OP_FUSION;
    ck_assert_int_eq(fusions, limit < 0 ? 3 : limit);
    arena_destroy(a);
  }
}
END_TEST

HARNESS_MAIN("fusion", loops, duplication, transposes, epilogues, windows_of_products, reductions, in_place, limits,
             growth, bitcasts, multi_output, memory_order, updates_come_last, effects_stay_in_order,
             bodies_and_bisection)
