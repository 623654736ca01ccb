// SPDX-License-Identifier: Apache-2.0
// The virtual machine: arguments and results, limits, threads, in-place work, custom calls, checks, refusals.
#include "tests/interp/interp_test.h"

#define HEAD "HloModule m\n"
static const int64_t d4[] = {4}, d1[] = {1};

START_TEST(results_in_given_room) {
  test_program t = test_compile(
      HEAD
      "ENTRY main {\n x = f32[4] parameter(0)\n y = f32[4] negate(x)\n ROOT r = (f32[4], f32[4]) tuple(y, x)\n}\n");
  float x[4] = {1, 2, 3, 4}, room[4] = {0};
  interp_array arg = test_array(HLO_F32, 1, d4, x), results[2] = {{.data = room}};
  ck_assert_int_eq(interp_program_n_args(t.program), 1);
  ck_assert_int_eq(interp_program_n_results(t.program), 2);
  ASSERT_OK(interp_run(t.program, NULL, 1, &arg, 2, results));
  ck_assert(results[0].data == room && room[3] == -4);
  ck_assert(results[1].data != x && ((float *)results[1].data)[2] == 3);  // a copy: the argument stays the caller's
  ck_assert_int_eq(results[1].rank, 1);
  ck_assert(x[0] == 1);
  heap_aligned_free(results[1].data);
  test_free(&t);
}
END_TEST

START_TEST(wrong_arguments) {
  test_program t = test_compile(HEAD "ENTRY main {\n x = f32[4] parameter(0)\n ROOT y = f32[4] negate(x)\n}\n");
  float x[4] = {0};
  interp_array arg = test_array(HLO_F32, 1, d1, x), result = {0};
  ASSERT_FAILS(interp_run(t.program, NULL, 1, &arg, 1, &result), LEMNOS_INVALID_ARGUMENT, "expected f32[4]");
  arg = test_array(HLO_S32, 1, d4, x);
  ASSERT_FAILS(interp_run(t.program, NULL, 1, &arg, 1, &result), LEMNOS_INVALID_ARGUMENT, "found s32[4]");
  ASSERT_FAILS(interp_run(t.program, NULL, 0, NULL, 1, &result), LEMNOS_INVALID_ARGUMENT, "takes 1 arguments");
  ck_assert(result.data == NULL);
  test_free(&t);
}
END_TEST

#define LOOP(limit)                                                                                                    \
  HEAD "c {\n p = (s32[], f32[1048576]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n n = s32[] "           \
       "constant(" limit                                                                                               \
       ")\n ROOT r = pred[] compare(i, n), direction=LT\n}\n"                                                          \
       "b {\n p = (s32[], f32[1048576]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n x = f32[1048576] "    \
       "get-tuple-element(p), index=1\n one = s32[] constant(1)\n u = f32[1] constant({7})\n j = s32[] add(i, one)\n"  \
       " y = f32[1048576] dynamic-update-slice(x, u, i)\n ROOT r = (s32[], f32[1048576]) tuple(j, y)\n}\n"             \
       "ENTRY main {\n z = s32[] constant(0)\n s = f32[] constant(1)\n x = f32[1048576] broadcast(s), dimensions={}\n" \
       " t = (s32[], f32[1048576]) tuple(z, x)\n w = (s32[], f32[1048576]) while(t), condition=c, body=b\n ROOT r = "  \
       "f32[1048576] get-tuple-element(w), index=1\n}\n"

// 4 MiB carried and updated one element at a time: one buffer is enough.
START_TEST(updates_in_place) {
  test_program t = test_compile(LOOP("100000"));
  interp_array result = {0};
  int64_t peak = 0;
  interp_run_options o = {.peak_bytes = &peak};
  double start = io_seconds();
  ASSERT_OK(interp_run(t.program, &o, 0, NULL, 1, &result));
  const float *x = result.data;
  ck_assert(x[0] == 7 && x[99999] == 7 && x[100000] == 1);
  ck_assert_msg(peak < (4 << 20) + 65536, "peak %lld", (long long)peak);
  ck_assert_msg(io_seconds() - start < 20, "copies instead of working in place");
  heap_aligned_free(result.data);
  test_free(&t);
}
END_TEST

START_TEST(limits) {
  test_program t = test_compile(LOOP("2147483647"));
  interp_array result = {0};
  interp_run_options o = {.max_bytes = 1 << 20};
  ASSERT_FAILS(interp_run(t.program, &o, 0, NULL, 1, &result), LEMNOS_OUT_OF_MEMORY, "above the limit");
  o = (interp_run_options){.deadline = io_seconds() + 0.05};
  ASSERT_FAILS(interp_run(t.program, &o, 0, NULL, 1, &result), LEMNOS_CANCELLED, "time limit");
  int cancel = 1;
  o = (interp_run_options){.cancel = &cancel};
  ASSERT_FAILS(interp_run(t.program, &o, 0, NULL, 1, &result), LEMNOS_CANCELLED, "cancelled");
  ck_assert(result.data == NULL);
  test_free(&t);
}
END_TEST

// More work than one chunk everywhere; the same bits with one thread and with four.
START_TEST(threads_change_nothing) {
  test_program t = test_compile(
      HEAD
      "sum {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b)\n}\n"
      "ENTRY main {\n x = f32[300,257] parameter(0)\n z = f32[] constant(0)\n y = f32[257,300] transpose(x), "
      "dimensions={1,0}\n"
      " e = f32[300,257] tanh(x)\n d = f32[300,300] dot(e, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      " s = f32[300] reduce(d, z), dimensions={1}, to_apply=sum\n w = f32[300,300] reduce-window(d, z), "
      "window={size=3x3 pad=1_1x1_1}, to_apply=sum\n"
      " a = f32[] reduce(w, z), dimensions={0,1}, to_apply=sum\n ROOT r = (f32[300], f32[300,300], f32[]) tuple(s, w, "
      "a)\n}\n");
  const int64_t dims[] = {300, 257};
  float *x = malloc(300 * 257 * sizeof *x);
  for (int k = 0; k < 300 * 257; k++) x[k] = (float)((k * 7919) % 1000) / 500 - 1;
  interp_array arg = test_array(HLO_F32, 2, dims, x), one[3] = {0}, four[3] = {0};
  thread_pool *pool;
  ASSERT_OK(thread_pool_create(4, &pool));
  interp_run_options o = {.pool = pool};
  ASSERT_OK(interp_run(t.program, NULL, 1, &arg, 3, one));
  ASSERT_OK(interp_run(t.program, &o, 1, &arg, 3, four));
  for (int k = 0; k < 3; k++) {
    ck_assert(memcmp(one[k].data, four[k].data, (size_t)test_count(&one[k]) * 4) == 0);
    heap_aligned_free(one[k].data);
    heap_aligned_free(four[k].data);
  }
  thread_pool_destroy(pool);
  free(x);
  test_free(&t);
}
END_TEST

static lemnos_status twice(void *user, const hlo_instr *call, int n_args, const interp_array *args, int n_results,
                           interp_array *results) {
  for (int k = 0; k < 4; k++) ((float *)results[0].data)[k] = 2 * ((const float *)args[0].data)[k];
  ++*(int *)user;
  return LEMNOS_SUCCESS;
}

START_TEST(custom_calls) {
  test_program t = test_compile(
      HEAD
      "ENTRY main {\n x = f32[4] parameter(0)\n ROOT y = f32[4] custom-call(x), custom_call_target=\"twice\"\n}\n");
  float x[4] = {1, 2, 3, 4};
  interp_array arg = test_array(HLO_F32, 1, d4, x), result = {0};
  ASSERT_FAILS(interp_run(t.program, NULL, 1, &arg, 1, &result), LEMNOS_UNIMPLEMENTED, "'twice'");
  int calls = 0;
  interp_custom_call hook = {.target = "twice", .fn = twice, .user = &calls};
  interp_run_options o = {.custom_calls = &hook, .n_custom_calls = 1};
  ASSERT_OK(interp_run(t.program, &o, 1, &arg, 1, &result));
  ck_assert(calls == 1 && ((float *)result.data)[3] == 8);
  heap_aligned_free(result.data);
  test_free(&t);
}
END_TEST

START_TEST(profile_and_listing) {
  test_program t = test_compile(HEAD
                                "ENTRY main {\n x = f32[4] parameter(0)\n y = f32[4] negate(x)\n u = f32[4] add(x, "
                                "y)\n ROOT z = f32[4] negate(y)\n}\n");
  float x[4] = {0};
  interp_array arg = test_array(HLO_F32, 1, d4, x), result = {0};
  interp_profile profile = {.arena = arena_create()};
  interp_run_options o = {.profile = &profile};
  ASSERT_OK(interp_run(t.program, &o, 1, &arg, 1, &result));
  strbuf table = {0};
  interp_profile_print(&profile, &table);
  ck_assert_msg(strstr(table.data, " 2      2  negate f32[4]{0} (f32[4]{0})") != NULL, "%s", table.data);
  ck_assert_msg(strstr(table.data, "add") == NULL, "%s", table.data);  // nobody reads it
  strbuf_deinit(&table);
  arena_destroy(profile.arena);
  heap_aligned_free(result.data);
  strbuf text = {0};
  interp_program_disassemble(t.program, &text);
  ck_assert(strstr(text.data, "entry @main") && strstr(text.data, "negate") && !strstr(text.data, "add"));
  strbuf_deinit(&text);
  test_free(&t);
}
END_TEST

// A loop of three steps: its body's instructions are counted by step, its total time holds theirs.
START_TEST(profile_of_a_loop) {
  test_program t = test_compile(
      HEAD
      "body {\n p = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
      " x = f32[4] get-tuple-element(p), index=1\n one = s32[] constant(1)\n"
      " j = s32[] add(i, one)\n y = f32[4] negate(x)\n ROOT r = (s32[], f32[4]) tuple(j, y)\n}\n"
      "cond {\n p = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
      " n = s32[] constant(3)\n ROOT c = pred[] compare(i, n), direction=LT\n}\n"
      "ENTRY main {\n x = f32[4] parameter(0)\n z = s32[] constant(0)\n"
      " s = (s32[], f32[4]) tuple(z, x)\n ROOT w = (s32[], f32[4]) while(s), condition=cond, body=body\n}\n");
  float x[4] = {0};
  interp_array arg = test_array(HLO_F32, 1, d4, x), result[2] = {0};
  interp_profile profile = {.arena = arena_create()};
  interp_run_options o = {.profile = &profile};
  ASSERT_OK(interp_run(t.program, &o, 1, &arg, 2, result));
  double own = 0, total = 0;
  int64_t negates = 0, compares = 0;
  for (const interp_profile_row *r = profile.first; r; r = r->next) {
    own += r->seconds;
    if (r->instr->op == HLO_OP_NEGATE) negates += r->calls;
    if (r->instr->op == HLO_OP_COMPARE) compares += r->calls;
    if (r->instr->op == HLO_OP_WHILE) total = r->total_seconds;
  }
  ck_assert_int_eq(negates, 3);
  ck_assert_int_eq(compares, 4);
  ck_assert(total > 0 && total <= own * 1.0001);
  for (int k = 0; k < 2; k++) heap_aligned_free(result[k].data);
  arena_destroy(profile.arena);
  test_free(&t);
}
END_TEST

// Live sets worked out by hand. Of the first: x (the caller's, 4000 bytes) and y; the sum takes y's place, the result
// is z.
// Of the second the transposition cannot work in place: its operand and its result are there at once.
START_TEST(live_sets) {
  test_program t = test_compile(HEAD
                                "ENTRY main {\n x = f32[1000] parameter(0)\n y = f32[1000] negate(x)\n"
                                " ROOT z = f32[1000] add(x, y)\n}\n");
  ck_assert_int_eq(interp_program_live_bytes(t.program), 8000);
  test_free(&t);
  t = test_compile(HEAD
                   "ENTRY main {\n x = f32[10,100] parameter(0)\n y = f32[10,100] negate(x)\n"
                   " z = f32[100,10] transpose(y), dimensions={1,0}\n ROOT w = f32[1000] reshape(z)\n}\n");
  ck_assert_int_eq(interp_program_live_bytes(t.program), 12000);
  test_free(&t);
}
END_TEST

static lemnos_status run_check_text(const char *text) {
  test_program t = test_compile(text);
  lemnos_status s = interp_run(t.program, NULL, 0, NULL, 0, NULL);
  test_free(&t);
  return s;
}

#define CHECK(type, x, y, op)                                                                    \
  HEAD "ENTRY main {\n x = " type " constant(" x ")\n y = " type " constant(" y ")\n c = () " op \
       "\n ROOT t = () tuple()\n}\n"

START_TEST(checks) {
  ASSERT_OK(run_check_text(CHECK("f32[2]", "{0, 1}", "{-0, 1}", "check-expect-eq(x, y)")));
  ASSERT_FAILS(run_check_text(CHECK("s32[3]", "{1, 2, 3}", "{1, 5, 3}", "check-expect-eq(x, y)")), LEMNOS_CHECK_FAILED,
               "at [1]: actual 2, expected 5");
  ASSERT_FAILS(run_check_text(CHECK("f32[]", "nan", "nan", "check-expect-eq(x, y)")), LEMNOS_CHECK_FAILED, "1 of 1");
  ASSERT_OK(run_check_text(CHECK("f32[2]", "{nan, 1}", "{nan, 1.00009}", "check-expect-almost-eq(x, y)")));
  ASSERT_FAILS(run_check_text(CHECK("f32[]", "1", "1.0002", "check-expect-almost-eq(x, y)")), LEMNOS_CHECK_FAILED,
               "differ");
  ASSERT_FAILS(run_check_text(CHECK("f32[]", "inf", "1e38", "check-expect-almost-eq(x, y)")), LEMNOS_CHECK_FAILED,
               "differ");
  ASSERT_OK(run_check_text(CHECK("f32[]", "1", "1.00000036", "check-expect-close(x, y), max_ulp_difference=3")));
  ASSERT_FAILS(run_check_text(CHECK("f32[]", "1", "1.0000005", "check-expect-close(x, y), max_ulp_difference=3")),
               LEMNOS_CHECK_FAILED, "distance 4");
  ASSERT_OK(run_check_text(CHECK("f32[]", "1e-45", "-1e-45", "check-expect-close(x, y), max_ulp_difference=2")));
}
END_TEST

START_TEST(refused_by_name) {
  arena *a = arena_create();
  hlo_module *m = NULL;
  interp_program *p = NULL;
  ASSERT_OK(hlo_parse(a, STRV("t.hlo"),
                      STRV(HEAD "ENTRY main {\n x = f32[4] parameter(0)\n ROOT r = f32[5] custom-call(x), "
                                "custom_call_target=\"Sharding\"\n}\n"),
                      NULL, &m));
  ASSERT_FAILS(interp_compile(m, &p), LEMNOS_UNIMPLEMENTED, "custom-call (%r)");
  ck_assert(p == NULL);
  arena_destroy(a);
}
END_TEST

HARNESS_MAIN("interp_vm", results_in_given_room, wrong_arguments, updates_in_place, limits, threads_change_nothing,
             custom_calls, profile_and_listing, profile_of_a_loop, live_sets, checks, refused_by_name)
