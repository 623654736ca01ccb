// SPDX-License-Identifier: Apache-2.0
// Programs on several virtual devices: collectives, channels, feeds, asynchronous operations, deadlocks. Expected
// values are those of the specification's examples, or by hand.
#include "tests/interp/interp_test.h"

#define SUM "sum {\n a = s64[] parameter(0)\n b = s64[] parameter(1)\n ROOT r = s64[] add(a, b)\n}\n"
#define M(body) "HloModule m\n" SUM "ENTRY main {\n" body "\n}\n"
#define MAX_PROCESSES 16

// The same program, or programs[k] for process k. Arguments and results of all processes, flattened one after another.
typedef struct grid_case {
  const char *name, *text;
  const char *const *programs;  // text NULL
  int n_replicas, n_partitions;
  const double *args, *want;
} grid_case;

typedef struct grid_run {
  test_program programs[MAX_PROCESSES];
  const interp_program *list[MAX_PROCESSES];
  int n, n_args, n_results;
  interp_array args[64], results[64];
} grid_run;

static void set(hlo_dtype t, void *data, int64_t i, double x) {
  if (hlo_dtype_is_float(t))
    hlo_element_set_f64(t, data, i, 0, x);
  else
    hlo_element_set_i64(t, data, i, (int64_t)x);
}

static double get(hlo_dtype t, const void *data, int64_t i) {
  return hlo_dtype_is_float(t) ? hlo_element_get_f64(t, data, i, 0) : (double)hlo_element_get_i64(t, data, i);
}

static grid_run setup(const grid_case *c) {
  grid_run r = {.n = c->n_replicas * c->n_partitions};
  const double *next = c->args;
  for (int k = 0; k < r.n; k++) {
    if (k == 0 || !c->text) r.programs[k] = test_compile(c->text ? c->text : c->programs[k]);
    test_program *t = &r.programs[c->text ? 0 : k];
    r.list[k] = t->program;
    r.n_results += interp_program_n_results(t->program);
    for (int p = 0; p < t->module->entry->n_params; p++) {
      const hlo_shape *s = t->module->entry->params[p]->shape;
      interp_array *a = &r.args[r.n_args++];
      *a = test_array(s->dtype, s->rank, s->dims, NULL);
      a->data = heap_try_alloc_aligned((size_t)test_count(a) * 8 + 8);
      for (int64_t i = 0; i < test_count(a); i++) set(s->dtype, a->data, i, *next++);
    }
  }
  return r;
}

static void teardown(grid_run *r) {
  for (int k = 0; k < r->n; k++)
    if (r->programs[k].program) test_free(&r->programs[k]);
  for (int k = 0; k < r->n_args; k++) heap_aligned_free(r->args[k].data);
  for (int k = 0; k < r->n_results; k++) heap_aligned_free(r->results[k].data);
}

static lemnos_status start(const grid_case *c, grid_run *r, const interp_run_options *o) {
  *r = setup(c);
  return interp_run_parallel(r->list, c->n_replicas, c->n_partitions, o, r->n_args, r->args, r->n_results, r->results);
}

static void run_case(const grid_case *c, const interp_run_options *o) {
  grid_run r;
  lemnos_status s = start(c, &r, o);
  if (s) ck_abort_msg("%s: %s", c->name, lemnos_status_message(s));
  const double *want = c->want;
  for (int k = 0; k < r.n_results; k++)
    for (int64_t i = 0; r.results[k].dtype != HLO_TOKEN && i < test_count(&r.results[k]); i++, want++) {
      ck_assert_msg(*want != WANT_END, "%s: more elements than expected", c->name);
      double got = get(r.results[k].dtype, r.results[k].data, i);
      ck_assert_msg(got == *want, "%s: result %d element %lld is %.17g, expected %.17g", c->name, k, (long long)i, got,
                    *want);
    }
  ck_assert_msg(*want == WANT_END, "%s: fewer elements than expected", c->name);
  teardown(&r);
}

static void fails(const grid_case *c, lemnos_status_code code, const char *text) {
  grid_run r;
  ASSERT_FAILS(start(c, &r, NULL), code, text);
  teardown(&r);
}

#define RUN(cases) \
  for (size_t case_ = 0; case_ < sizeof(cases) / sizeof(cases)[0]; case_++) run_case(&(cases)[case_], NULL)

START_TEST(gathers) {
  const grid_case cases[] = {
      {"specification",
       M("x = s64[2,2] parameter(0)\n y = s64[2,2] parameter(1)\n"
         " ROOT r = (s64[2,4], s64[2,4]) all-gather(x, y), dimensions={1}, replica_groups={{0,1}}"),
       NULL, 2, 1, W(1, 2, 3, 4, 11, 12, 13, 14, 5, 6, 7, 8, 15, 16, 17, 18),
       W(1, 2, 5, 6, 3, 4, 7, 8, 11, 12, 15, 16, 13, 14, 17, 18, 1, 2, 5, 6, 3, 4, 7, 8, 11, 12, 15, 16, 13, 14, 17,
         18)},
      // Order (0, 0), (1, 0), (0, 1), (1, 1); processes are numbered (0, 0), (0, 1), (1, 0), (1, 1).
      {"replicas and partitions",
       M("x = s64[1] parameter(0)\n ROOT r = s64[4] all-gather(x), dimensions={0}, replica_groups={{0,1}}, "
         "channel_id=1"),
       NULL, 2, 2, W(1, 2, 3, 4), W(1, 3, 2, 4, 1, 3, 2, 4, 1, 3, 2, 4, 1, 3, 2, 4)},
      {"flattened ids",
       M("x = s64[1] parameter(0)\n ROOT r = s64[2] all-gather(x), dimensions={0}, replica_groups={{3,0},{1,2}}, "
         "channel_id=1, use_global_device_ids=true"),
       NULL, 2, 2, W(1, 2, 3, 4), W(4, 1, 2, 3, 2, 3, 4, 1)},
      {"replicas of each partition",
       M("x = s64[1] parameter(0)\n ROOT r = s64[2] all-gather(x), dimensions={0}, replica_groups={{1,0}}"), NULL, 2, 2,
       W(1, 2, 3, 4), W(3, 1, 4, 2, 3, 1, 4, 2)},
      {"nothing to gather",
       M("x = s64[2,0] parameter(0)\n ROOT r = s64[4,0] all-gather(x), dimensions={0}, "
         "replica_groups={{0,1}}"),
       NULL, 2, 1, W(0), W(WANT_END)},
  };
  RUN(cases);
}
END_TEST

START_TEST(reductions) {
  const grid_case cases[] = {
      {"specification",
       M("x = s64[4] parameter(0)\n ROOT r = s64[4] all-reduce(x), replica_groups={{0,1}}, to_apply=sum"), NULL, 2, 1,
       W(1, 2, 3, 4, 5, 6, 7, 8), W(6, 8, 10, 12, 6, 8, 10, 12)},
      {"no groups", M("x = s64[1] parameter(0)\n ROOT r = s64[1] all-reduce(x), replica_groups={}, to_apply=sum"), NULL,
       3, 1, W(1, 10, 100), W(111, 111, 111)},
      {"ragged groups",
       M("x = s64[1] parameter(0)\n ROOT r = s64[1] all-reduce(x), replica_groups={{0,2},{1}}, "
         "to_apply=sum"),
       NULL, 3, 1, W(1, 10, 100), W(101, 10, 101)},
      {"in the order of the group",
       "HloModule m\nsub {\n a = s64[] parameter(0)\n b = s64[] parameter(1)\n ROOT r = s64[] subtract(a, b)\n}\n"
       "ENTRY main {\n x = s64[1] parameter(0)\n ROOT r = s64[1] all-reduce(x), replica_groups={{2,0,1}}, "
       "to_apply=sub\n}\n",
       NULL, 3, 1, W(1, 10, 100), W(89, 89, 89)},
      // 2^24 + 1 is no f32; in f64 nothing is lost.
      {"in the computation's type",
       "HloModule m\nsum {\n a = f64[] parameter(0)\n b = f64[] parameter(1)\n ROOT r = f64[] add(a, b)\n}\n"
       "ENTRY main {\n x = f32[1] parameter(0)\n ROOT r = f64[1] all-reduce(x), replica_groups={{0,1}}, "
       "to_apply=sum\n}\n",
       NULL, 2, 1, W(16777216, 1), W(16777217, 16777217)},
      {"scatter, specification",
       M("x = s64[2,4] parameter(0)\n ROOT r = s64[2,2] reduce-scatter(x), dimensions={1}, replica_groups={{0,1}}, "
         "to_apply=sum"),
       NULL, 2, 1, W(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16), W(10, 12, 18, 20, 14, 16, 22, 24)},
      {"to the first, specification",
       M("x = s64[1,2] parameter(0)\n ROOT r = s64[1,2] collective-reduce(x), replica_groups={{0,1,2,3}}, "
         "to_apply=sum"),
       NULL, 4, 1, W(1, 2, 3, 4, 5, 6, 7, 8), W(16, 20, 0, 0, 0, 0, 0, 0)},
      {"to a root, specification",
       M("x = s64[1,2] parameter(0)\n t = s32[1] constant({3})\n ROOT r = s64[1,2] collective-reduce(x, t), "
         "replica_groups={{0,1,2,3}}, has_dynamic_root=true, to_apply=sum"),
       NULL, 4, 1, W(1, 2, 3, 4, 5, 6, 7, 8), W(0, 0, 0, 0, 0, 0, 16, 20)},
  };
  RUN(cases);
}
END_TEST

START_TEST(exchanges) {
  const grid_case cases[] = {
      {"all to all, specification",
       M("x = s64[2,4] parameter(0)\n y = s64[2,4] parameter(1)\n ROOT r = (s64[4,2], s64[4,2]) all-to-all(x, y), "
         "split_dimension=1, concat_dimension=0, split_count=2, replica_groups={{0,1}}"),
       NULL, 2, 1,
       W(1, 2, 3, 4, 5, 6, 7, 8, 17, 18, 19, 20, 21, 22, 23, 24, 9, 10, 11, 12, 13, 14, 15, 16, 25, 26, 27, 28, 29, 30,
         31, 32),
       W(1, 2, 5, 6, 9, 10, 13, 14, 17, 18, 21, 22, 25, 26, 29, 30, 3, 4, 7, 8, 11, 12, 15, 16, 19, 20, 23, 24, 27, 28,
         31, 32)},
      {"broadcast, specification",
       M("x = s64[1,2] parameter(0)\n ROOT r = s64[1,2] collective-broadcast(x), replica_groups={{2,1}}"), NULL, 4, 1,
       W(1, 2, 3, 4, 5, 6, 7, 8), W(0, 0, 5, 6, 5, 6, 0, 0)},
      {"broadcast from a root",
       M("x = s64[2] parameter(0)\n t = s32[1] constant({1})\n ROOT r = s64[2] collective-broadcast(x, t), "
         "replica_groups={{0,1}}, has_dynamic_root=true"),
       NULL, 2, 1, W(1, 2, 3, 4), W(3, 4, 3, 4)},
      {"permute, specification",
       M("x = s64[2,2] parameter(0)\n ROOT r = s64[2,2] collective-permute(x), source_target_pairs={{0,1},{1,2}}"),
       NULL, 3, 1, W(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), W(0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8)},
      {"permute among partitions",
       M("x = s64[] parameter(0)\n ROOT r = s64[] collective-permute(x), source_target_pairs={{0,1},{1,0},{2,2}}, "
         "channel_id=1"),
       NULL, 2, 3, W(1, 2, 3, 4, 5, 6), W(2, 1, 3, 5, 4, 6)},
      {"ids", M("p = u32[] partition-id()\n q = u32[] replica-id()\n ROOT r = (u32[], u32[]) tuple(q, p)"), NULL, 2, 3,
       NULL, W(0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2)},
  };
  RUN(cases);
}
END_TEST

// 0 -> 1 -> 2; nobody sends to 0. A ring in which all send before they receive.
START_TEST(channels) {
#define PASS_ON(pairs)                                                                                        \
  M("x = s64[2] parameter(0)\n t = token[] after-all()\n s = token[] send(x, t), channel_id=1, "              \
    "source_target_pairs=" pairs "\n v = (s64[2], token[]) recv(s), channel_id=1, source_target_pairs=" pairs \
    "\n ROOT r = s64[2] get-tuple-element(v), index=0")
  const grid_case cases[] = {
      {"replicas", PASS_ON("{{0,1},{1,2}}"), NULL, 3, 1, W(1, 2, 3, 4, 5, 6), W(0, 0, 1, 2, 3, 4)},
      {"partitions", PASS_ON("{{0,1},{1,2},{2,0}}"), NULL, 1, 3, W(1, 2, 3, 4, 5, 6), W(5, 6, 1, 2, 3, 4)},
      {"partitions of each replica", PASS_ON("{{0,1},{1,0}}"), NULL, 2, 2, W(1, 2, 3, 4, 5, 6, 7, 8),
       W(3, 4, 1, 2, 7, 8, 5, 6)},
  };
  RUN(cases);
  // Through the host, in the order in which they were sent; the receiver comes first and waits.
  const char *const programs[] = {
      M("t = token[] after-all()\n v = (s64[], token[]) recv(t), channel_id=7, channel_type=3, is_host_transfer=true\n"
        " u = token[] get-tuple-element(v), index=1\n"
        " w = (s64[], token[]) recv(u), channel_id=7, channel_type=3, is_host_transfer=true\n"
        " a = s64[] get-tuple-element(v), index=0\n b = s64[] get-tuple-element(w), index=0\n"
        " ROOT r = (s64[], s64[]) tuple(a, b)"),
      M("x = s64[] constant(5)\n y = s64[] constant(6)\n t = token[] after-all()\n"
        " s = token[] send(x, t), channel_id=7, channel_type=2, is_host_transfer=true\n"
        " ROOT u = token[] send(y, s), channel_id=7, channel_type=2, is_host_transfer=true"),
  };
  run_case(&(grid_case){"host", NULL, programs, 2, 1, NULL, W(5, 6)}, NULL);
}
END_TEST

// Process 0 may only wait for the sum after it has sent what process 1 needs in order to come to the sum.
START_TEST(asynchronous) {
#define BODY "body {\n x = s64[] parameter(0)\n ROOT r = s64[] all-reduce(x), replica_groups={{0,1}}, to_apply=sum\n}\n"
  const char *const programs[] = {
      "HloModule m\n" SUM BODY
      "ENTRY main {\n x = s64[] constant(5)\n f = s64[] async-start(x), to_apply=body\n t = token[] after-all()\n"
      " s = token[] send(x, t), channel_id=1, source_target_pairs={{0,1}}\n ROOT r = s64[] async-done(f)\n}\n",
      "HloModule m\n" SUM BODY
      "ENTRY main {\n t = token[] after-all()\n v = (s64[], token[]) recv(t), channel_id=1, "
      "source_target_pairs={{0,1}}\n"
      " x = s64[] get-tuple-element(v), index=0\n y = s64[] add(x, x)\n ROOT r = s64[] all-reduce(y), "
      "replica_groups={{0,1}}, to_apply=sum\n}\n"};
  run_case(&(grid_case){"sum", NULL, programs, 2, 1, NULL, W(15, 15)}, NULL);
  // Two under way at once, done in the other order; and one that nobody waits for.
  run_case(
      &(grid_case){
          "two",
          "HloModule m\n" SUM BODY
          "ENTRY main {\n x = s64[] parameter(0)\n y = s64[] multiply(x, x)\n f = s64[] async-start(x), to_apply=body\n"
          " g = s64[] async-start(y), to_apply=body\n h = s64[] async-start(y), to_apply=body\n"
          " b = s64[] async-done(g)\n a = s64[] async-done(f)\n ROOT r = (s64[], s64[]) tuple(a, b)\n}\n",
          NULL, 2, 1, W(3, 4), W(7, 25, 7, 25)},
      NULL);
}
END_TEST

// x = x0 + x1 in each of ten rounds: 1024 times the first sum, halved; the sum in a loop meets ten times.
START_TEST(in_loops) {
  run_case(
      &(grid_case){
          "loop",
          "HloModule m\n" SUM "cond {\n s = (s64[], s64[]) parameter(0)\n i = s64[] get-tuple-element(s), index=0\n"
          " n = s64[] constant(10)\n ROOT r = pred[] compare(i, n), direction=LT\n}\n"
          "body {\n s = (s64[], s64[]) parameter(0)\n i = s64[] get-tuple-element(s), index=0\n"
          " x = s64[] get-tuple-element(s), index=1\n one = s64[] constant(1)\n j = s64[] add(i, one)\n"
          " y = s64[] all-reduce(x), replica_groups={{0,1}}, to_apply=sum\n ROOT r = (s64[], s64[]) tuple(j, y)\n}\n"
          "ENTRY main {\n x = s64[] parameter(0)\n z = s64[] constant(0)\n s = (s64[], s64[]) tuple(z, x)\n"
          " w = (s64[], s64[]) while(s), condition=cond, body=body\n ROOT r = s64[] get-tuple-element(w), index=1\n}\n",
          NULL, 2, 1, W(3, 4), W(3584, 3584)},
      NULL);
}
END_TEST

START_TEST(what_goes_wrong) {
  const char *const alone[] = {
      M("x = s64[] constant(1)\n ROOT r = s64[] all-reduce(x), replica_groups={{0,1}}, to_apply=sum"),
      M("ROOT x = s64[] constant(1)")};
  fails(&(grid_case){"alone", NULL, alone, 2, 1, NULL, NULL}, LEMNOS_FAILED_PRECONDITION,
        "process (0, 0) waits at all-reduce (%r");
  fails(&(grid_case){"nobody sends",
                     M("t = token[] after-all()\n ROOT v = (s64[], token[]) recv(t), channel_id=1, "
                       "source_target_pairs={{0,1},{1,0}}"),
                     NULL, 2, 1, NULL, NULL},
        LEMNOS_FAILED_PRECONDITION, "process (1, 0) waits at recv (%v");
  fails(&(grid_case){"nobody receives",
                     M("x = s64[] constant(1)\n t = token[] after-all()\n ROOT v = token[] send(x, t), channel_id=3, "
                       "source_target_pairs={{0,1}}"),
                     NULL, 2, 1, NULL, NULL},
        LEMNOS_FAILED_PRECONDITION, "process (0, 0) sent on channel 3 what process (1, 0) did not receive");
  fails(&(grid_case){"too few processes",
                     M("x = s64[] constant(1)\n ROOT r = s64[] all-reduce(x), replica_groups={{0,1,2}}, to_apply=sum"),
                     NULL, 2, 1, NULL, NULL},
        LEMNOS_INVALID_ARGUMENT, "replica 2 is in the process group, but there are 2 x 1 processes");
  fails(&(grid_case){"in no group",
                     M("x = s64[] constant(1)\n ROOT r = s64[] all-reduce(x), replica_groups={{0,1}}, to_apply=sum"),
                     NULL, 3, 1, NULL, NULL},
        LEMNOS_INVALID_ARGUMENT, "process (2, 0) of 3 x 1 is in none of the process groups");
  const char *const different[] = {
      M("x = s64[] constant(1)\n ROOT r = s64[] all-reduce(x), replica_groups={{0,1}}, to_apply=sum"),
      M("x = s64[2] constant({1, 1})\n ROOT r = s64[2] all-reduce(x), replica_groups={{0,1}}, to_apply=sum")};
  fails(&(grid_case){"different", NULL, different, 2, 1, NULL, NULL}, LEMNOS_INVALID_ARGUMENT, "different types");
  // The others wait for a process that fails: they end, and its error is the run's.
  const char *const broken[] = {alone[0],
                                M("x = s64[] constant(1)\n y = s64[] constant(2)\n c = () check-expect-eq(x, y)\n"
                                  " ROOT r = s64[] all-reduce(x), replica_groups={{0,1}}, to_apply=sum")};
  fails(&(grid_case){"broken", NULL, broken, 2, 1, NULL, NULL}, LEMNOS_CHECK_FAILED, "process (1, 0): ");
}
END_TEST

typedef struct fed {
  int n_in, n_out;
  double out[4];
} fed;

static lemnos_status infeed(void *user, const interp_transfer *t) {
  fed *f = user;
  for (int64_t i = 0; i < test_count(&t->arrays[0]); i++)
    set(t->arrays[0].dtype, t->arrays[0].data, i, 10 * ++f->n_in + t->replica_id);
  return LEMNOS_SUCCESS;
}

static lemnos_status outfeed(void *user, const interp_transfer *t) {
  fed *f = user;
  ck_assert_int_eq(t->n, 1);
  f->out[f->n_out++] = get(t->arrays[0].dtype, t->arrays[0].data, 0);
  return LEMNOS_SUCCESS;
}

START_TEST(feeds) {
  const char *text =
      M("t = token[] after-all()\n v = (s64[2], token[]) infeed(t)\n x = s64[2] get-tuple-element(v), index=0\n"
        " u = token[] get-tuple-element(v), index=1\n o = token[] outfeed(x, u)\n ROOT r = s64[2] add(x, x)");
  grid_case c = {"feeds", text, NULL, 2, 1, NULL, W(20, 40, 62, 82)};
  fed f = {0};
  interp_host host = {.user = &f, .infeed = infeed, .outfeed = outfeed};
  run_case(&c, &(interp_run_options){.host = &host});
  ck_assert_int_eq(f.n_out, 2);
  ck_assert(f.out[0] == 10 && f.out[1] == 31);
  fails(&c, LEMNOS_UNIMPLEMENTED, "nothing feeds this run");
}
END_TEST

// A module that says that it is for two replicas runs twice when it is run; the first one's results come back.
START_TEST(modules_for_several) {
  test_program t =
      test_compile("HloModule m, replica_count=2\n" SUM
                   "ENTRY main {\n x = s64[] parameter(0)\n q = u32[] replica-id()\n p = s64[] convert(q)\n"
                   " y = s64[] add(x, p)\n ROOT r = s64[] all-reduce(y), replica_groups={{0,1}}, to_apply=sum\n}\n");
  int64_t five = 5, room = 0;
  interp_array arg = test_array(HLO_S64, 0, NULL, &five), result = {.data = &room};
  ck_assert(interp_program_is_parallel(t.program));
  ASSERT_OK(interp_run(t.program, NULL, 1, &arg, 1, &result));
  ck_assert_int_eq(room, 11);
  test_free(&t);
}
END_TEST

// StableHLO's interpreter dialect. Inside the run the queue of infeed is what the last function gives.
START_TEST(run_parallel) {
  const test_case cases[] = {
      {"two programs and a queue",
       "HloModule m\n" SUM
       "first {\n x = s64[] parameter(0)\n t = token[] after-all()\n v = (s64[], token[]) infeed(t)\n"
       " y = s64[] get-tuple-element(v), index=0\n z = s64[] add(x, y)\n"
       " ROOT r = s64[] all-reduce(z), replica_groups={{0,1}}, to_apply=sum\n}\n"
       "second {\n x = s64[] parameter(0)\n ROOT r = s64[] all-reduce(x), replica_groups={{0,1}}, to_apply=sum\n}\n"
       "queue {\n ROOT x = s64[] constant(100)\n}\n"
       "ENTRY main {\n x = s64[] constant(1)\n y = s64[] constant(10)\n ROOT r = (s64[], s64[]) custom-call(x, y), "
       "custom_call_target=\"interpreter.run_parallel\", called_computations={first, second, queue}, "
       "custom_call_has_side_effect=true, mhlo_attributes={\"replicas\"=mlir\"2\", \"partitions\"=mlir\"1\"}\n}\n",
       0, W(111, 111)},
  };
  test_run_case(&cases[0]);
}
END_TEST

START_TEST(limits_of_all) {
  // Four processes of 1 MiB each and the gathered 4 MiB, which they share.
  grid_case c = {"memory",
                 M("z = s64[] constant(0)\n x = s64[131072] broadcast(z), dimensions={}\n"
                   " ROOT r = s64[524288] all-gather(x), dimensions={0}, replica_groups={{0,1,2,3}}"),
                 NULL,
                 4,
                 1,
                 NULL,
                 NULL};
  grid_run r;
  int64_t peak = 0;
  ASSERT_FAILS(start(&c, &r, &(interp_run_options){.max_bytes = 6 << 20}), LEMNOS_OUT_OF_MEMORY, "above the limit");
  teardown(&r);
  ASSERT_OK(start(&c, &r, &(interp_run_options){.max_bytes = 32 << 20, .peak_bytes = &peak}));
  ck_assert(peak >= 8 << 20 && peak < 10 << 20);
  teardown(&r);
}
END_TEST

HARNESS_MAIN("interp_collective", gathers, reductions, exchanges, channels, asynchronous, in_loops, what_goes_wrong,
             feeds, modules_for_several, run_parallel, limits_of_all)
