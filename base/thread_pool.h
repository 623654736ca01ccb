// SPDX-License-Identifier: Apache-2.0
// A fixed pool of worker threads for fork-join parallelism and background tasks.
#ifndef BASE_THREAD_POOL_H
#define BASE_THREAD_POOL_H

#include <stdint.h>

#include "base/status.h"

typedef struct thread_pool thread_pool;

// n_threads includes the caller of thread_pool_run: 1 makes no thread at all. 0: the number of usable CPUs
// (the affinity mask is respected).
LEMNOS_NODISCARD lemnos_status thread_pool_create(int n_threads, thread_pool **out_pool);
void thread_pool_destroy(thread_pool *pool);  // waits for running work
int thread_pool_size(const thread_pool *pool);

// Calls fn(ctx, i, thread) for i in [0, n), each once, on the pool's threads and the caller's; thread is in
// [0, size). Returns when all are done. Tasks are handed out in order, one at a time. May be called from several
// threads at once (calls queue up) but not from inside a task (runs serially there, on the calling thread).
// Which thread runs which task is not deterministic: results must not depend on it.
typedef void (*thread_pool_fn)(void *ctx, int64_t index, int thread);
void thread_pool_run(thread_pool *pool, int64_t n, thread_pool_fn fn, void *ctx);

int thread_usable_cpus(void);

#endif
