// SPDX-License-Identifier: Apache-2.0
// Tells the caller of lemnos_execute what a run is at. The run only stores counters (interp_progress); a thread of this
// file wakes up at intervals, reads them and calls back, so that the report goes on during a single long operation, and
// costs the run nothing. The thread is made for the run and joined before the run counts as finished.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/internal.h"

struct progress_watch {
  interp_progress record;
  void (*fn)(void *user, const lemnos_progress *p);
  void *user;
  double start, interval;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  bool over;
};

static int64_t get(const atomic_llong *from) {
  return atomic_load_explicit(from, memory_order_relaxed);
}

static void report(progress_watch *w) {
  const interp_progress *r = &w->record;
  double now = io_seconds();
  const hlo_instr *i = atomic_load_explicit(&r->now, memory_order_relaxed);
  lemnos_progress p = {.seconds = now - w->start,
                       .op = i ? hlo_op_table[i->op].text_name : NULL,
                       .done = get(&r->done),
                       .total = get(&r->total),
                       .loop_total = get(&r->trips)};
  if (p.done > p.total) p.done = p.total;
  if (p.loop_total) {
    p.loop_done = get(&r->trip);
    p.loop_seconds = now - atomic_load_explicit(&r->loop_since, memory_order_relaxed);
  }
  if (p.loop_total > 0 && p.loop_done > p.loop_total) p.loop_done = p.loop_total;
  w->fn(w->user, &p);
}

static struct timespec after(double seconds) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  double whole = (double)(int64_t)seconds;
  t.tv_sec += (time_t)whole;
  t.tv_nsec += (long)((seconds - whole) * 1e9);
  if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
  return t;
}

static void *watch(void *ctx) {
  progress_watch *w = ctx;
  pthread_mutex_lock(&w->lock);
  while (!w->over) {
    struct timespec until = after(w->interval);
    while (!w->over && pthread_cond_timedwait(&w->wake, &w->lock, &until) != ETIMEDOUT) {
    }
    if (w->over) break;
    pthread_mutex_unlock(&w->lock);
    report(w);
    pthread_mutex_lock(&w->lock);
  }
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

static void release(progress_watch *w) {
  pthread_cond_destroy(&w->wake);
  pthread_mutex_destroy(&w->lock);
  free(w);
}

progress_watch *progress_start(const lemnos_execute_options *options) {
  if (!options->progress) return NULL;
  progress_watch *w = heap_alloc(sizeof *w);
  w->fn = options->progress;
  w->user = options->progress_user;
  w->start = io_seconds();
  w->interval = options->progress_seconds > 0 ? options->progress_seconds : 0.1;
  if (w->interval > 1e6) w->interval = 1e6;
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&w->wake, &clock);
  pthread_condattr_destroy(&clock);
  pthread_mutex_init(&w->lock, NULL);
  if (pthread_create(&w->thread, NULL, watch, w) == 0) return w;
  release(w);
  return NULL;
}

interp_progress *progress_record(progress_watch *w) {
  return w ? &w->record : NULL;
}

void progress_stop(progress_watch *w) {
  if (!w) return;
  pthread_mutex_lock(&w->lock);
  w->over = true;
  pthread_cond_signal(&w->wake);
  pthread_mutex_unlock(&w->lock);
  pthread_join(w->thread, NULL);
  release(w);
}
