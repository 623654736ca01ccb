// SPDX-License-Identifier: Apache-2.0
// Fork-join thread pool.
//
// A run is published through one 64-bit word, the gate:
//
//   bit 63: open | bits 32..62: number of the run | bits 0..31: workers inside
//
// A worker enters an open run that it has not yet worked on by a compare-and-swap that counts itself in, takes indices
// from an atomic counter until none is left, and counts itself out. The caller works too; when the counter is used up
// it closes the gate and waits for those still inside. Workers that never woke up are not waited for, so a short run
// costs no more than its own work. Both sides spin briefly before they sleep. A sleeper counts itself before it looks
// at the gate for the last time, and the caller opens the gate before it looks at that count, both sequentially
// consistent: one of the two sees the other.
//
// A task that calls thread_pool_run is recognised by its thread (a worker, or the caller of the present run) and gets a
// serial loop. No thread-local state is needed for that.
#define _GNU_SOURCE
#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"

#define OPEN (UINT64_C(1) << 63)
#define INSIDE UINT64_C(0xffffffff)

enum { SPINS = 2000, MAX_THREADS = 4096 };

typedef struct worker {
  thread_pool *pool;
  pthread_t thread;
  int index;  // 1..size-1
} worker;

struct thread_pool {
  int size;
  int n_started;             // workers that exist
  worker *workers;           // size - 1
  pthread_mutex_t run_lock;  // held for a whole run: calls queue up here
  pthread_mutex_t lock;      // for sleeping only
  pthread_cond_t work, done;
  // The present run; written by its caller while the gate is closed and empty.
  thread_pool_fn fn;
  void *ctx;
  int64_t n;
  atomic_uintptr_t caller;  // pthread_self() of the present run's caller, 0 between runs
  atomic_int sleepers;
  atomic_bool stop;
  char pad0[64];
  atomic_uint_fast64_t gate;
  char pad1[64];
  atomic_int_fast64_t next;
  char pad2[64];
};

static inline void spin_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

int thread_usable_cpus(void) {
#if defined(__linux__)
  for (int n = 1024; n <= 1 << 20; n *= 2) {
    cpu_set_t *set = CPU_ALLOC(n);
    if (!set) break;
    size_t size = CPU_ALLOC_SIZE(n);
    int count = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
#endif
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? (int)n : 1;
}

static void work_off(thread_pool *p, int thread) {
  for (;;) {
    int64_t i = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
    if (i >= p->n) return;
    p->fn(p->ctx, i, thread);
  }
}

// Is there something for a worker that last worked on run `seen`?
static bool has_work(uint64_t gate, uint64_t seen) {
  return (gate & OPEN) && (gate >> 32) != seen;
}

// Waits for an open run other than `seen`; false when the pool ends.
static bool wait_for_work(thread_pool *p, uint64_t seen) {
  for (int i = 0; i < SPINS; i++) {
    if (has_work(atomic_load_explicit(&p->gate, memory_order_relaxed), seen)) return true;
    spin_pause();
  }
  pthread_mutex_lock(&p->lock);
  atomic_fetch_add(&p->sleepers, 1);
  while (!atomic_load(&p->stop) && !has_work(atomic_load(&p->gate), seen)) pthread_cond_wait(&p->work, &p->lock);
  atomic_fetch_sub(&p->sleepers, 1);
  pthread_mutex_unlock(&p->lock);
  return !atomic_load(&p->stop);
}

static void *worker_main(void *arg) {
  worker *w = arg;
  thread_pool *p = w->pool;
  uint64_t seen = 0;  // gate >> 32 of the run last worked on; 0 is never open
  while (wait_for_work(p, seen)) {
    uint64_t gate = atomic_load(&p->gate);
    if (!has_work(gate, seen) || !atomic_compare_exchange_strong(&p->gate, &gate, gate + 1)) continue;
    seen = gate >> 32;
    work_off(p, w->index);
    uint64_t before = atomic_fetch_sub(&p->gate, 1);
    if (!(before & OPEN) && (before & INSIDE) == 1) {  // the last one out of a closed run
      pthread_mutex_lock(&p->lock);
      pthread_cond_signal(&p->done);
      pthread_mutex_unlock(&p->lock);
    }
  }
  return NULL;
}

lemnos_status thread_pool_create(int n_threads, thread_pool **out_pool) {
  if (n_threads < 0 || n_threads > MAX_THREADS) {
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "a pool of %d threads: expected 0 to %d", n_threads,
                              MAX_THREADS);
  }
  if (n_threads == 0) n_threads = thread_usable_cpus();
  if (n_threads > MAX_THREADS) n_threads = MAX_THREADS;
  thread_pool *p = heap_alloc(sizeof *p);
  p->size = n_threads;
  p->workers = heap_alloc(sizeof *p->workers * (size_t)n_threads);
  pthread_mutex_init(&p->run_lock, NULL);
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->work, NULL);
  pthread_cond_init(&p->done, NULL);
  // Signals belong to the application's threads.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int e = 0;
  for (int i = 0; i < n_threads - 1 && !e; i++) {
    worker *w = &p->workers[i];
    *w = (worker){.pool = p, .index = i + 1};
    e = pthread_create(&w->thread, NULL, worker_main, w);
    if (!e) p->n_started++;
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (e) {
    thread_pool_destroy(p);
    return lemnos_status_make(LEMNOS_UNAVAILABLE, "cannot start a pool of %d threads (error %d)", n_threads, e);
  }
  *out_pool = p;
  return LEMNOS_SUCCESS;
}

void thread_pool_destroy(thread_pool *p) {
  if (!p) return;
  pthread_mutex_lock(&p->run_lock);  // a run in progress ends first
  pthread_mutex_lock(&p->lock);
  atomic_store(&p->stop, true);
  pthread_cond_broadcast(&p->work);
  pthread_mutex_unlock(&p->lock);
  for (int i = 0; i < p->n_started; i++) pthread_join(p->workers[i].thread, NULL);
  pthread_mutex_unlock(&p->run_lock);
  pthread_cond_destroy(&p->work);
  pthread_cond_destroy(&p->done);
  pthread_mutex_destroy(&p->lock);
  pthread_mutex_destroy(&p->run_lock);
  free(p->workers);
  free(p);
}

int thread_pool_size(const thread_pool *p) {
  return p->size;
}

// The index of the calling thread if it is inside a task of this pool, else -1. Only a thread itself can have stored
// its own id in `caller`, so a relaxed load decides.
static int task_thread(thread_pool *p) {
  pthread_t self = pthread_self();
  if (atomic_load_explicit(&p->caller, memory_order_relaxed) == (uintptr_t)self) return 0;
  for (int i = 0; i < p->n_started; i++) {
    if (pthread_equal(p->workers[i].thread, self)) return p->workers[i].index;
  }
  return -1;
}

// Opens the gate for the run described in p and wakes as many sleepers as can be of use.
static void open_gate(thread_pool *p) {
  uint64_t run = (atomic_load(&p->gate) >> 32) + 1;
  run &= UINT64_C(0x7fffffff);
  // `seen` in a worker includes the open bit, so it is never 0.
  atomic_store(&p->gate, OPEN | run << 32);
  int64_t wanted = p->n - 1;
  if (atomic_load(&p->sleepers) == 0) return;
  pthread_mutex_lock(&p->lock);
  if (wanted >= p->size - 1) {
    pthread_cond_broadcast(&p->work);
  } else {
    for (int64_t i = 0; i < wanted; i++) pthread_cond_signal(&p->work);
  }
  pthread_mutex_unlock(&p->lock);
}

// Closes the gate and waits until nobody is inside.
static void close_gate(thread_pool *p) {
  uint64_t gate = atomic_fetch_and(&p->gate, ~OPEN);
  for (int i = 0; i < SPINS && (gate & INSIDE); i++) {
    spin_pause();
    gate = atomic_load(&p->gate);
  }
  if (!(gate & INSIDE)) return;
  pthread_mutex_lock(&p->lock);
  while (atomic_load(&p->gate) & INSIDE) pthread_cond_wait(&p->done, &p->lock);
  pthread_mutex_unlock(&p->lock);
}

void thread_pool_run(thread_pool *p, int64_t n, thread_pool_fn fn, void *ctx) {
  if (n <= 0) return;
  int thread = task_thread(p);
  if (thread >= 0) {
    for (int64_t i = 0; i < n; i++) fn(ctx, i, thread);
    return;
  }
  pthread_mutex_lock(&p->run_lock);
  atomic_store_explicit(&p->caller, (uintptr_t)pthread_self(), memory_order_relaxed);
  if (p->size == 1 || n == 1) {
    for (int64_t i = 0; i < n; i++) fn(ctx, i, 0);
  } else {
    p->fn = fn;
    p->ctx = ctx;
    p->n = n;
    atomic_store_explicit(&p->next, 0, memory_order_relaxed);
    open_gate(p);
    work_off(p, 0);
    close_gate(p);
  }
  atomic_store_explicit(&p->caller, 0, memory_order_relaxed);
  pthread_mutex_unlock(&p->run_lock);
}
