// SPDX-License-Identifier: Apache-2.0
// What XLA's HLO text has and our own does not, imported and run: layouts that bitcasts depend on, asynchronous pairs,
// what only passes a value on, custom fusions, constants of tuple shape, topk of the least, @TopK, configurations of
// LAPACK's calls, products of two element types. Expected values were worked out by hand.
#include "frontend/import.h"
#include "tests/interp/interp_test.h"

#define M(body) "HloModule m\nENTRY main {\n" body "\n}\n"
#define SUM "sum {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b)\n}\n"
#define MATRIX " x = s32[2,3]{1,0} constant({ {1, 2, 3}, {4, 5, 6} })\n"
#define BY_COLUMN " x = s32[2,3]{0,1} constant({ {1, 2, 3}, {4, 5, 6} })\n"
#define PAIR " x = f32[2] constant({1, 2})\n"

static void import_and_run(const test_case *c) {
  test_program t = {.arena = arena_create()};
  diag_sink sink;
  diag_sink_init(&sink, t.arena);
  lemnos_status s = import_program(t.arena, STRV("t.hlo"), c->text, strlen(c->text), NULL, &sink, &t.module);
  if (s) ck_abort_msg("%s: %s", c->name, lemnos_status_message(s));
  test_compile_module(&t, &sink);
  diag_sink_deinit(&sink);
  test_run_compiled(c, t);
}

static void run_all(const test_case *cases, int n) {
  for (int k = 0; k < n; k++) import_and_run(&cases[k]);
}
#define RUN(cases) run_all(cases, (int)(sizeof cases / sizeof cases[0]))

START_TEST(bitcasts) {
  const test_case cases[] = {
      {"row-major", M(MATRIX " ROOT r = s32[3,2]{1,0} bitcast(x)"), 0, W(1, 2, 3, 4, 5, 6)},
      {"column-major is the transpose", M(BY_COLUMN " ROOT r = s32[3,2]{1,0} bitcast(x)"), 0, W(1, 4, 2, 5, 3, 6)},
      {"to column-major", M(MATRIX " ROOT r = s32[3,2]{0,1} bitcast(x)"), 0, W(1, 4, 2, 5, 3, 6)},
      {"both", M(BY_COLUMN " ROOT r = s32[3,2]{0,1} bitcast(x)"), 0, W(1, 5, 4, 3, 2, 6)},
      {"to one dimension", M(BY_COLUMN " ROOT r = s32[6]{0} bitcast(x)"), 0, W(1, 4, 2, 5, 3, 6)},
      {"three dimensions", M(MATRIX " ROOT r = s32[1,2,3]{0,1,2} bitcast(x)"), 0, W(1, 3, 5, 2, 4, 6)},
      {"another type", M(" x = f32[2,1]{0,1} constant({ {1}, {-0} })\n ROOT r = u32[1,2]{0,1} bitcast(x)"), 0,
       W(0x3f800000, 0x80000000u)},
      {"a layout without a bitcast", M(BY_COLUMN " ROOT r = s32[6]{0} reshape(x)"), 0, W(1, 2, 3, 4, 5, 6)},
  };
  RUN(cases);
}
END_TEST

START_TEST(asynchronous) {
  const test_case cases[] = {
      {"copy",
       M(PAIR " s = (f32[2]{0}, f32[2]{0}, u32[]{:S(2)}) copy-start(f32[2]{0} x), cross_program_prefetch_index=0\n"
              " ROOT d = f32[2]{0} copy-done((f32[2]{0}, f32[2]{0}, u32[]{:S(2)}) s)"),
       0, W(1, 2)},
      {"a computation, with operands' shapes",
       "HloModule m\nf {\n p = f32[2] parameter(0)\n ROOT r = f32[2] negate(p)\n}, execution_thread=\"main\"\n"
       "ENTRY main {\n" PAIR
       " s = ((f32[2]), f32[2], s32[]) async-start(f32[2] x), calls=f, async_execution_thread=\"main\"\n"
       " u = ((f32[2]), f32[2], s32[]) async-update(((f32[2]), f32[2], s32[]) s)\n"
       " ROOT d = f32[2] async-done(((f32[2]), f32[2], s32[]) u), calls=f\n}\n",
       0, W(-1, -2)},
      {"collectives",
       "HloModule m\n" SUM "ENTRY main {\n" PAIR
       " a = f32[2] all-reduce-start(x), channel_id=1, replica_groups={{0}}, use_global_device_ids=true, to_apply=sum\n"
       " b = f32[2] all-reduce-done(a)\n"
       " c = (f32[2], f32[2]) all-gather-start(b), channel_id=2, replica_groups=[1,1]<=[1], dimensions={0}, "
       "use_global_device_ids=true\n d = f32[2] all-gather-done(c)\n"
       " e = (f32[2], f32[2], u32[], u32[]) collective-permute-start(d), channel_id=3, source_target_pairs={{0,0}}\n"
       " ROOT f = f32[2] collective-permute-done(e)\n}\n",
       0, W(1, 2)},
      {"passed on",
       M(PAIR " t = token[] after-all()\n a = f32[2] add-dependency(x, t)\n"
              " d = f32[2] domain(a), domain={kind=\"sharding\", entry={maximal device=0}, exit={}}\n"
              " ROOT n = f32[2] negate(d)"),
       0, W(-1, -2)},
  };
  RUN(cases);
}
END_TEST

// (value, context, token) of XLA is a token, or a value and a token; the channel's type follows from is_host_transfer.
START_TEST(sends) {
  static const char text[] =
      M(PAIR
        " t = token[] after-all()\n"
        " s = (f32[2], u32[], token[]) send(x, t), channel_id=1, is_host_transfer=true\n"
        " d = token[] send-done((f32[2], u32[], token[]) s), channel_id=1, is_host_transfer=true\n"
        " r = (f32[2], u32[], token[]) recv(d), channel_id=2, is_host_transfer=true\n"
        " e = (f32[2], token[]) recv-done((f32[2], u32[], token[]) r), channel_id=2, is_host_transfer=true\n"
        " ROOT v = f32[2] get-tuple-element((f32[2], token[]) e), index=0");
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  hlo_module *m = NULL;
  ASSERT_OK(import_program(a, STRV("t.hlo"), text, strlen(text), NULL, &sink, &m));
  ASSERT_OK(hlo_verify(m, &sink));
  int n = 0;
  HLO_FOR_EACH (i, m->entry) {
    if (i->op != HLO_OP_SEND && i->op != HLO_OP_RECV) continue;
    ck_assert_int_eq(HLO_ATTRS(i, send_recv)->channel_type, i->op == HLO_OP_SEND ? 2 : 3);
    ck_assert_int_eq(HLO_ATTRS(i, send_recv)->channel_id, i->op == HLO_OP_SEND ? 1 : 2);
    n++;
  }
  ck_assert_int_eq(n, 2);
  diag_sink_deinit(&sink);
  arena_destroy(a);
}
END_TEST

START_TEST(other_forms) {
  const test_case cases[] = {
      {"custom fusion",
       "HloModule m\nf {\n p = f32[2] parameter(0)\n ROOT r = f32[2] add(p, p)\n}\nENTRY main {\n" PAIR
       " ROOT d = f32[2] fusion(x), kind=kCustom, output_to_operand_aliasing={{}: (0, {})}, calls=f, "
       "backend_config={\"kind\":\"__own\",\"x\":[{\"y\":\"}\"}]}\n}\n",
       0, W(2, 4)},
      {"constant of tuple shape",
       M(" t = (s32[], (f32[2]{0}, pred[])) constant(( -7, ( {1.5, inf}, true ) ))\n ROOT r = (s32[], (f32[2], "
         "pred[])) "
         "copy-done(t)"),
       0, W(-7, 1.5, INFINITY, 1)},
      {"topk of the least: total order, the lower index first",
       M(" x = f32[2,4] constant({ {0, nan, -0, 0}, {3, 1, 2, 1} })\n ROOT t = (f32[2,3], s32[2,3]) topk(x), k=3, "
         "largest=false"),
       0, W(-0.0, 0, 0, 1, 1, 2, 2, 0, 3, 1, 3, 2)},
      {"topk of the least integers",
       M(" x = u8[3] constant({200, 5, 100})\n ROOT t = (u8[2], s32[2]) topk(x), k=2, largest=false"), 0,
       W(5, 100, 1, 2)},
      {"@TopK by its comparator",
       "HloModule m\nless {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n i = s32[] parameter(2)\n j = s32[] "
       "parameter(3)\n ROOT r = pred[] compare(a, b), direction=LT\n}\nENTRY main {\n"
       " x = f32[4] constant({3, 1, 4, 1})\n ROOT t = (f32[2], s32[2]) custom-call(x), custom_call_target=\"TopK\", "
       "called_computations={less}\n}\n",
       0, W(1, 1, 1, 3)},
      {"@TopK by a comparator of values alone",
       "HloModule m\nless {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), "
       "direction=LT\n}\nENTRY main {\n x = f32[1,3] constant({ {3, 1, 2} })\n ROOT t = (f32[1,2], s32[1,2]) "
       "custom-call(x), custom_call_target=\"TopK\", called_computations={less}\n}\n",
       0, W(1, 2, 1, 2)},
      {"product of two types",
       M(" x = f32[2] constant({0.5, 2})\n y = s32[2] constant({3, 4})\n ROOT r = f32[] dot(x, y), "
         "lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
       0, W(9.5)},
  };
  RUN(cases);
}
END_TEST

// The upper triangle, its diagonal, from the right or transposed are said by the configuration alone.
START_TEST(lapack_configurations) {
#define TRSM(config)                                                                                        \
  M(" a = f32[2,2]{0,1} constant({ {2, 4}, {1, 5} })\n b = f32[2,2]{0,1} constant({ {2, 4}, {6, 8} })\n"    \
    " ROOT r = f32[2,2]{0,1} custom-call(a, b), custom_call_target=\"lapack_strsm_ffi\", "                  \
    "operand_layout_constraints={f32[2,2]{0,1}, f32[2,2]{0,1}}, output_to_operand_aliasing={{}: (1, {})}, " \
    "api_version=API_VERSION_TYPED_FFI, backend_config=" config)
  const test_case cases[] = {
      {"lower, unit", TRSM("{diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}"), 0,
       W(2, 4, 4, 4)},
      {"upper", TRSM("{diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8}"), 1e-6,
       W(-1.4, -1.2, 1.2, 1.6)},
      {"upper, transposed", TRSM("{diag = 78 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 85 : ui8}"), 1e-6,
       W(1, 2, 0.4, 0)},
      {"upper, from the right", TRSM("{diag = 78 : ui8, side = 82 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8}"), 1e-6,
       W(1, 0, 3, -0.8)},
      {"in quotes", TRSM("\"{diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}\""), 0,
       W(2, 4, 4, 4)},
  };
  RUN(cases);
}
END_TEST

START_TEST(refusals) {
  static const struct {
    const char *text, *message;
    lemnos_status_code code;
  } cases[] = {
      {M(PAIR " ROOT r = f32[2] frobnicate-done(x)"), "unknown operation 'frobnicate-done'", LEMNOS_UNIMPLEMENTED},
      {M(PAIR " ROOT r = f32[3] copy-done(x)"), "has another shape", LEMNOS_INVALID_ARGUMENT},
      {M(" ROOT r = f32[3] copy-done()"), "expected the operand that is passed on", LEMNOS_INVALID_ARGUMENT},
      {M(PAIR " ROOT r = (f32[3], s32[3]) topk(x), k=3, largest=false"), "largest=false takes",
       LEMNOS_INVALID_ARGUMENT},
      {M(PAIR " ROOT r = (f32[1], s64[1]) topk(x), k=1, largest=false"), "largest=false takes",
       LEMNOS_INVALID_ARGUMENT},
      {M(" ROOT r = (f32[], s32[]) constant((1))"), "expected ',' between the elements of a tuple",
       LEMNOS_INVALID_ARGUMENT},
      {M(" ROOT r = (f32[]) constant((1, 2))"), "expected ')' after the elements of a tuple", LEMNOS_INVALID_ARGUMENT},
      {M(" ROOT r = (token[]) constant((1))"), "constants of token shape are not supported", LEMNOS_UNIMPLEMENTED},
  };
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    arena *a = arena_create();
    hlo_module *m = NULL;
    ASSERT_FAILS(import_program(a, STRV("t.hlo"), cases[k].text, strlen(cases[k].text), NULL, NULL, &m), cases[k].code,
                 cases[k].message);
    arena_destroy(a);
  }
}
END_TEST

HARNESS_MAIN("interp_xla_text", bitcasts, asynchronous, sends, other_forms, lapack_configurations, refusals)
