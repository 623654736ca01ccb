// SPDX-License-Identifier: Apache-2.0
// Thread pool: each task once, many short runs, nested runs, several callers.
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/harness.h"

typedef struct counts {
  thread_pool *pool;
  atomic_int *of_task;
  atomic_int bad_thread;
  atomic_llong nested;
} counts;

static void count_task(void *ctx, int64_t i, int thread) {
  counts *c = ctx;
  atomic_fetch_add(&c->of_task[i], 1);
  if (thread < 0 || thread >= thread_pool_size(c->pool)) atomic_fetch_add(&c->bad_thread, 1);
}

START_TEST(every_task_once) {
  for (int size = 1; size <= 9; size += 2) {
    counts c = {0};
    ASSERT_OK(thread_pool_create(size, &c.pool));
    ck_assert_int_eq(thread_pool_size(c.pool), size);
    c.of_task = heap_alloc(sizeof(atomic_int) * 1000);
    int expected[1000] = {0};
    for (int run = 0; run < 3000; run++) {
      int n = run % 7 == 0 ? run % 1000 : run % 20;
      thread_pool_run(c.pool, n, count_task, &c);
      for (int i = 0; i < n; i++) expected[i]++;
      if (run % 500 == 3) usleep(3000);  // let the workers fall asleep
      if (run % 100 == 0) {
        for (int i = 0; i < 1000; i++) ck_assert_int_eq(atomic_load(&c.of_task[i]), expected[i]);
      }
    }
    ck_assert_int_eq(atomic_load(&c.bad_thread), 0);
    thread_pool_destroy(c.pool);
    free(c.of_task);
  }
  thread_pool_destroy(NULL);
}
END_TEST

typedef struct nested_ctx {
  counts *c;
  int thread;
} nested_ctx;

static void inner_task(void *ctx, int64_t i, int thread) {
  nested_ctx *n = ctx;
  if (thread != n->thread) atomic_fetch_add(&n->c->bad_thread, 1);
  atomic_fetch_add(&n->c->nested, i);
}

static void outer_task(void *ctx, int64_t i, int thread) {
  counts *c = ctx;
  nested_ctx n = {c, thread};
  thread_pool_run(c->pool, 10, inner_task, &n);
}

START_TEST(nested_runs_are_serial) {
  for (int size = 1; size <= 4; size++) {
    counts c = {0};
    ASSERT_OK(thread_pool_create(size, &c.pool));
    thread_pool_run(c.pool, 100, outer_task, &c);
    thread_pool_run(c.pool, 1, outer_task, &c);
    ck_assert_int_eq(atomic_load(&c.nested), 101 * 45);
    ck_assert_int_eq(atomic_load(&c.bad_thread), 0);
    thread_pool_destroy(c.pool);
  }
}
END_TEST

static void *one_caller(void *arg) {
  counts *shared = arg;
  counts own = {.pool = shared->pool};
  own.of_task = heap_alloc(sizeof(atomic_int) * 50);
  for (int run = 0; run < 500; run++) thread_pool_run(own.pool, 50, count_task, &own);
  for (int i = 0; i < 50; i++) {
    if (atomic_load(&own.of_task[i]) != 500) atomic_fetch_add(&shared->bad_thread, 1);
  }
  atomic_fetch_add(&shared->bad_thread, atomic_load(&own.bad_thread));
  free(own.of_task);
  return NULL;
}

START_TEST(several_callers) {
  counts c = {0};
  pthread_t callers[4];
  ASSERT_OK(thread_pool_create(3, &c.pool));
  for (int i = 0; i < 4; i++) pthread_create(&callers[i], NULL, one_caller, &c);
  for (int i = 0; i < 4; i++) pthread_join(callers[i], NULL);
  ck_assert_int_eq(atomic_load(&c.bad_thread), 0);
  thread_pool_destroy(c.pool);
}
END_TEST

START_TEST(sizes) {
  thread_pool *p;
  ASSERT_FAILS(thread_pool_create(-1, &p), LEMNOS_INVALID_ARGUMENT, "-1 threads");
  ASSERT_FAILS(thread_pool_create(1 << 20, &p), LEMNOS_INVALID_ARGUMENT, "expected");
  ASSERT_OK(thread_pool_create(0, &p));
  ck_assert_int_eq(thread_pool_size(p), thread_usable_cpus());
  ck_assert_int_ge(thread_pool_size(p), 1);
  thread_pool_destroy(p);
}
END_TEST

HARNESS_MAIN("base/thread_pool", every_task_once, nested_runs_are_serial, several_callers, sizes)
