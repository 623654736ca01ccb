// SPDX-License-Identifier: Apache-2.0
// Buffers, events and execution.
//
// A run takes an arena and a queue from its executable's idle list (or makes them), so that one executable may run from
// several threads at once. With an event the run goes on a thread of its own; buffers it computes carry the event, and
// whoever uses them waits.
#include <stdlib.h>

#include "runtime/internal.h"

struct executable_run {
  executable_run *next;
  backend_queue *queue;
  backend_memory *arena;
};

// --- buffer memory -------------------------------------------------------------------------------

// host and memory NULL: a run of the interpreter will bring it.
static buffer_memory *memory_create(lemnos_device *d, int64_t bytes, backend_memory *memory, void *host) {
  buffer_memory *m = heap_alloc(sizeof *m);
  atomic_init(&m->refs, 1);
  m->device = d;
  device_retain(d);
  m->memory = memory;
  m->host = host;
  m->bytes = bytes;
  return m;
}

lemnos_status buffer_memory_create(lemnos_device *d, int64_t bytes, buffer_memory **out) {
  backend_memory *memory = NULL;
  void *host = NULL;
  if (d->device) {
    LEMNOS_TRY(d->entry.backend->alloc(d->device, bytes, &memory));
  } else if (!(host = heap_try_alloc_aligned((size_t)(bytes ? bytes : 1)))) {
    return lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "no memory for a buffer of %lld bytes", (long long)bytes);
  }
  *out = memory_create(d, bytes, memory, host);
  return LEMNOS_SUCCESS;
}

buffer_memory *buffer_memory_retain(buffer_memory *m) {
  atomic_fetch_add(&m->refs, 1);
  return m;
}

void buffer_memory_release(buffer_memory *m) {
  if (!m || atomic_fetch_sub(&m->refs, 1) != 1) return;
  if (m->memory) m->device->entry.backend->free(m->device->device, m->memory);
  heap_aligned_free(m->host);
  device_release(m->device);
  free(m);
}

static void *memory_map(const buffer_memory *m) {
  if (m->host || !m->memory) return m->host;
  return m->device->entry.backend->map(m->device->device, m->memory);
}

static lemnos_status memory_write(buffer_memory *m, const void *data, int64_t bytes) {
  void *mapped = memory_map(m);
  if (!mapped) return m->device->entry.backend->upload(m->device->device, m->memory, 0, data, bytes);
  memcpy(mapped, data, (size_t)bytes);
  return LEMNOS_SUCCESS;
}

static lemnos_status memory_read(const buffer_memory *m, void *data, int64_t bytes) {
  void *mapped = memory_map(m);
  if (!mapped && !m->memory)
    return lemnos_status_make(LEMNOS_FAILED_PRECONDITION, "the run that was to fill this buffer failed");
  if (!mapped) return m->device->entry.backend->download(m->device->device, m->memory, 0, data, bytes);
  memcpy(data, mapped, (size_t)bytes);
  return LEMNOS_SUCCESS;
}

// --- events --------------------------------------------------------------------------------------

static lemnos_event *event_create(void) {
  lemnos_event *e = heap_alloc(sizeof *e);
  atomic_init(&e->refs, 1);
  pthread_mutex_init(&e->lock, NULL);
  pthread_cond_init(&e->done_cond, NULL);
  return e;
}

static lemnos_event *event_retain(lemnos_event *e) {
  if (e) atomic_fetch_add(&e->refs, 1);
  return e;
}

void lemnos_event_free(lemnos_event *e) {
  if (!e || atomic_fetch_sub(&e->refs, 1) != 1) return;
  pthread_cond_destroy(&e->done_cond);
  pthread_mutex_destroy(&e->lock);
  free(e->message);
  free(e);
}

static void event_signal(lemnos_event *e, lemnos_status status) {
  pthread_mutex_lock(&e->lock);
  e->done = true;
  e->code = lemnos_status_get_code(status);
  if (status) {
    e->message = heap_alloc(strlen(lemnos_status_message(status)) + 1);
    strcpy(e->message, lemnos_status_message(status));
  }
  pthread_cond_broadcast(&e->done_cond);
  pthread_mutex_unlock(&e->lock);
  lemnos_status_free(status);
}

lemnos_status lemnos_event_wait(lemnos_event *e) {
  pthread_mutex_lock(&e->lock);
  while (!e->done) pthread_cond_wait(&e->done_cond, &e->lock);
  pthread_mutex_unlock(&e->lock);
  return e->code == LEMNOS_OK ? LEMNOS_SUCCESS : lemnos_status_make(e->code, "%s", e->message);
}

bool lemnos_event_ready(lemnos_event *e) {
  pthread_mutex_lock(&e->lock);
  bool done = e->done;
  pthread_mutex_unlock(&e->lock);
  return done;
}

// --- buffers -------------------------------------------------------------------------------------

static lemnos_buffer *buffer_create(const interp_array *type, buffer_memory *m, lemnos_event *event) {
  lemnos_buffer *b = heap_alloc(sizeof *b);
  b->type = *type;
  b->type.data = NULL;
  b->memory = m;
  b->event = event_retain(event);
  return b;
}

lemnos_status lemnos_buffer_from_host(lemnos_device *d, const lemnos_array *a, lemnos_buffer **out) {
  interp_array x;
  LEMNOS_TRY(array_to_interp(a, &x));
  buffer_memory *m;
  int64_t bytes = interp_array_bytes(&x);
  LEMNOS_TRY(buffer_memory_create(d, bytes, &m));
  lemnos_status status = bytes ? memory_write(m, a->data, bytes) : LEMNOS_SUCCESS;
  if (status) {
    buffer_memory_release(m);
    return status;
  }
  *out = buffer_create(&x, m, NULL);
  return LEMNOS_SUCCESS;
}

lemnos_status buffer_from_array(lemnos_device *d, interp_array *a, lemnos_buffer **out) {
  if (d->device) {
    lemnos_array x;
    array_from_interp(a, &x);
    LEMNOS_TRY(lemnos_buffer_from_host(d, &x, out));
    heap_aligned_free(a->data);
  } else {
    *out = buffer_create(a, memory_create(d, interp_array_bytes(a), NULL, a->data), NULL);
  }
  a->data = NULL;
  return LEMNOS_SUCCESS;
}

void lemnos_buffer_free(lemnos_buffer *b) {
  if (!b) return;
  if (b->event) lemnos_status_free(lemnos_event_wait(b->event));
  lemnos_event_free(b->event);
  buffer_memory_release(b->memory);
  free(b);
}

void lemnos_buffer_type(const lemnos_buffer *b, lemnos_array *out) {
  array_from_interp(&b->type, out);
}

lemnos_status lemnos_buffer_read(lemnos_buffer *b, lemnos_array *a) {
  if (!b->memory) return lemnos_status_make(LEMNOS_FAILED_PRECONDITION, "the buffer was donated to a run");
  if (b->event) LEMNOS_TRY(lemnos_event_wait(b->event));
  interp_array x;
  LEMNOS_TRY(array_to_interp(a, &x));
  if (x.dtype != b->type.dtype || interp_array_bytes(&x) != interp_array_bytes(&b->type))
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "the array to read into is not of the buffer's type");
  int64_t bytes = interp_array_bytes(&x);
  return bytes ? memory_read(b->memory, a->data, bytes) : LEMNOS_SUCCESS;
}

// --- executables' runs ---------------------------------------------------------------------------

static void run_destroy(lemnos_executable *e, executable_run *r) {
  const lemnos_backend *b = e->device->entry.backend;
  if (r->queue) b->queue_destroy(r->queue);
  if (r->arena) b->free(e->device->device, r->arena);
  free(r);
}

void executable_retain(lemnos_executable *e) {
  atomic_fetch_add(&e->refs, 1);
}

void executable_release(lemnos_executable *e) {
  if (!e || atomic_fetch_sub(&e->refs, 1) != 1) return;
  const lemnos_backend *b = e->device->entry.backend;
  for (executable_run *r = e->idle, *next; r; r = next) {
    next = r->next;
    run_destroy(e, r);
  }
  if (e->code) b->unload(e->device->device, e->code);
  if (e->constants) b->free(e->device->device, e->constants);
  if (e->plan) plan_deinit(e->plan);
  if (e->program) interp_program_destroy(e->program);
  arena_destroy(e->arena);
  pthread_mutex_destroy(&e->lock);
  device_release(e->device);
  free(e);
}

static lemnos_status run_acquire(lemnos_executable *e, executable_run **out) {
  pthread_mutex_lock(&e->lock);
  executable_run *r = e->idle;
  if (r) e->idle = r->next;
  pthread_mutex_unlock(&e->lock);
  if (!r) {
    const lemnos_backend *b = e->device->entry.backend;
    r = heap_alloc(sizeof *r);
    lemnos_status status = b->queue_create(e->device->device, &r->queue);
    if (!status && e->plan->arena_bytes) {
      status = b->alloc(e->device->device, e->plan->arena_bytes, &r->arena);
      status = lemnos_status_annotate(status, "temporaries of the program");
    }
    if (status) {
      run_destroy(e, r);
      return status;
    }
  }
  *out = r;
  return LEMNOS_SUCCESS;
}

static void run_release(lemnos_executable *e, executable_run *r) {
  pthread_mutex_lock(&e->lock);
  r->next = e->idle;
  e->idle = r;
  pthread_mutex_unlock(&e->lock);
}

// One execution: everything it needs, owned, so that it can go to a thread of its own.
typedef struct execution {
  lemnos_executable *executable;
  buffer_memory **args;  // retained
  interp_array *arg_types;
  lemnos_event **waits;     // retained, of the arguments; NULL entries
  buffer_memory **results;  // retained; dynamic results: filled in by the run
  interp_array *result_types;
  bool *moved;  // per result leaf: it took over a donated argument's memory
  double deadline;
  int64_t max_bytes;
  const volatile int *cancel;
  host_adapter host;
  progress_watch *watch;  // NULL: nobody watches
  lemnos_event *event;    // NULL: synchronous
  lemnos_buffer **out;    // synchronous interpreter runs of dynamic shape: types to update
} execution;

static void execution_free(execution *x) {
  lemnos_executable *e = x->executable;
  progress_stop(x->watch);
  for (int i = 0; i < e->n_params; i++) {
    buffer_memory_release(x->args[i]);
    lemnos_event_free(x->waits[i]);
  }
  for (int i = 0; i < e->n_results; i++) buffer_memory_release(x->results[i]);
  lemnos_event_free(x->event);
  free(x->args), free(x->arg_types), free(x->waits), free(x->results), free(x->result_types), free(x->moved);
  executable_release(e);
  free(x);
}

static lemnos_status run_planned(execution *x, const plan_run_options *options) {
  lemnos_executable *e = x->executable;
  const plan *p = e->plan;
  const lemnos_backend *b = e->device->entry.backend;
  executable_run *run;
  LEMNOS_TRY(run_acquire(e, &run));
  backend_binding *params = heap_alloc(sizeof *params * (size_t)(p->n_params + p->n_results + 1));
  backend_binding *results = params + p->n_params;
  for (int i = 0; i < p->n_params; i++)
    params[i] = (backend_binding){.memory = x->args[i] ? x->args[i]->memory : NULL,
                                  .size = hlo_shape_bytes(p->params[i].shape)};
  for (int i = 0; i < p->n_results; i++)
    results[i] = (backend_binding){.memory = x->results[i]->memory, .size = hlo_shape_bytes(p->results[i].shape)};
  lemnos_status status = LEMNOS_SUCCESS;
  for (int i = 0; !status && i < p->n_results; i++) {
    int j = p->results[i].alias;
    if (j < 0) continue;
    if (!x->moved[i] && results[i].size) status = b->copy(run->queue, results[i], params[j]);
    params[j] = results[i];
  }
  plan_run_memory memory = {.params = params, .results = results, .arena = run->arena, .constants = e->constants};
  if (!status) status = plan_run(p, b, e->device->device, e->code, run->queue, &memory, options);
  free(params);
  if (status)
    run_destroy(e, run);  // a queue that failed is not used again
  else
    run_release(e, run);
  return status;
}

// Host copies of device buffers for programs that run whole in the interpreter.
static lemnos_status interp_args(execution *x, interp_array *args, void **owned) {
  for (int i = 0; i < x->executable->n_params; i++) {
    args[i] = x->arg_types[i];
    if (!x->args[i]) continue;
    args[i].data = memory_map(x->args[i]);
    if (args[i].data) continue;
    int64_t bytes = x->args[i]->bytes;
    owned[i] = args[i].data = heap_try_alloc_aligned((size_t)(bytes ? bytes : 1));
    if (!owned[i]) return lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "no host memory for argument %d", i);
    if (bytes) LEMNOS_TRY(memory_read(x->args[i], owned[i], bytes));
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status run_interpreted(execution *x) {
  lemnos_executable *e = x->executable;
  int na = e->n_params, nr = e->n_results;
  interp_array *args = heap_alloc(sizeof *args * (size_t)(na + nr + 1)), *results = args + na;
  void **owned = heap_alloc(sizeof *owned * (size_t)(na + 1));
  lemnos_status status = interp_args(x, args, owned);
  int64_t peak = 0;
  interp_run_options options = {.pool = e->device->context->pool,
                                .deadline = x->deadline,
                                .cancel = x->cancel,
                                .max_bytes = x->max_bytes,
                                .peak_bytes = &peak,
                                .host = &x->host.host,
                                .custom_calls = e->device->context->custom_calls.data,
                                .n_custom_calls = e->device->context->custom_calls.len,
                                .progress = progress_record(x->watch)};
  for (int i = 0; i < nr; i++) {
    results[i] = x->result_types[i];
    results[i].data = x->results[i] ? x->results[i]->host : NULL;
  }
  if (!status) status = interp_run(e->program, &options, na, args, nr, results);
  for (int i = 0; !status && i < nr; i++) {
    if (results[i].data && x->results[i] && x->results[i]->host == results[i].data) continue;
    if (x->results[i] && !x->results[i]->host && !x->results[i]->memory &&
        interp_array_bytes(&results[i]) == x->results[i]->bytes) {
      x->results[i]->host = results[i].data;
      continue;
    }
    x->result_types[i] = results[i];
    x->result_types[i].data = NULL;
    buffer_memory_release(x->results[i]);
    x->results[i] = NULL;
    int64_t bytes = interp_array_bytes(&results[i]);
    status = buffer_memory_create(e->device, bytes, &x->results[i]);
    if (!status && bytes) status = memory_write(x->results[i], results[i].data, bytes);
    heap_aligned_free(results[i].data);
  }
  for (int i = 0; i < na; i++) peak += x->args[i] ? x->args[i]->bytes : 0;
  peak += interp_program_constant_bytes(e->program);
  if (!status && peak > e->stats.peak_bytes) e->stats.peak_bytes = peak;
  for (int i = 0; i < na; i++) heap_aligned_free(owned[i]);
  free(owned);
  free(args);
  return status;
}

static int64_t results_bytes(const execution *x) {
  int64_t sum = 0;
  for (int i = 0; i < x->executable->n_results; i++)
    if (x->results[i] && !x->moved[i]) sum += x->results[i]->bytes;
  return sum;
}

static lemnos_status execution_run(execution *x) {
  for (int i = 0; i < x->executable->n_params; i++)
    if (x->waits[i])
      LEMNOS_TRY(lemnos_status_annotate(lemnos_event_wait(x->waits[i]), "the run that computes argument %d", i));
  if (x->executable->program) return run_interpreted(x);
  plan_run_options options = {.progress = progress_record(x->watch),
                              .cancel = x->cancel,
                              .deadline = x->deadline,
                              .pool = x->executable->device->context->pool,
                              .host = &x->host.host,
                              .custom_calls = x->executable->device->context->custom_calls.data,
                              .n_custom_calls = x->executable->device->context->custom_calls.len};
  if (x->max_bytes) {  // what needs more was refused by lemnos_execute
    const plan *p = x->executable->plan;
    int64_t rest = x->max_bytes - p->constant_bytes - p->arena_bytes - results_bytes(x);
    options.max_bytes = rest > 0 ? rest : 1;
  }
  return run_planned(x, &options);
}

static void *execution_thread(void *p) {
  execution *x = p;
  lemnos_event *event = event_retain(x->event);
  lemnos_status status = execution_run(x);
  execution_free(x);
  event_signal(event, status);
  lemnos_event_free(event);
  return NULL;
}

// --- the public call -----------------------------------------------------------------------------

static lemnos_status check_call(const lemnos_executable *e, int n_args, lemnos_buffer *const *args, int n_results) {
  if (n_args != e->n_params)
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "the program takes %d arguments, %d were given", e->n_params,
                              n_args);
  if (n_results != e->n_results)
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "the program has %d results, room for %d was given",
                              e->n_results, n_results);
  for (int i = 0; i < n_args; i++) {
    const hlo_shape *s = module_param_leaf(e->module, i);
    if (hlo_shape_is_token(s)) continue;
    if (!args[i] || !args[i]->memory)
      return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "argument %d is missing or was donated", i);
    LEMNOS_TRY(array_check(s, &args[i]->type, i));
    if (args[i]->memory->device != e->device && args[i]->memory->device->device != e->device->device)
      return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "argument %d is on device %s, the program runs on %s", i,
                                args[i]->memory->device->entry.id, e->device->entry.id);
  }
  return LEMNOS_SUCCESS;
}

static execution *execution_create(lemnos_executable *e, lemnos_buffer *const *args) {
  execution *x = heap_alloc(sizeof *x);
  size_t na = (size_t)e->n_params + 1, nr = (size_t)e->n_results + 1;
  x->executable = e;
  executable_retain(e);
  x->args = heap_alloc(sizeof *x->args * na);
  x->arg_types = heap_alloc(sizeof *x->arg_types * na);
  x->waits = heap_alloc(sizeof *x->waits * na);
  x->results = heap_alloc(sizeof *x->results * nr);
  x->result_types = heap_alloc(sizeof *x->result_types * nr);
  x->moved = heap_alloc(sizeof *x->moved * nr);
  for (int i = 0; i < e->n_params; i++) {
    if (!args[i]) {
      x->arg_types[i].dtype = HLO_TOKEN;
      continue;
    }
    x->args[i] = buffer_memory_retain(args[i]->memory);
    x->arg_types[i] = args[i]->type;
    x->waits[i] = event_retain(args[i]->event);
  }
  return x;
}

// Result memory: a donated argument's when allowed, otherwise new; none yet for dynamic shapes.
static lemnos_status prepare_results(execution *x, lemnos_buffer *const *args, bool donate) {
  lemnos_executable *e = x->executable;
  for (int i = 0; i < e->n_results; i++) {
    const hlo_shape *s = hlo_shape_leaf(e->module->entry->root->shape, i);
    interp_array *t = &x->result_types[i];
    t->dtype = s->dtype;
    t->rank = s->rank;
    if (!hlo_shape_is_static(s)) continue;
    for (int d = 0; d < s->rank; d++) t->dims[d] = s->dims[d];
    int alias = e->plan ? e->plan->results[i].alias : -1;
    if (alias >= 0 && donate && args[alias] && args[alias]->memory && atomic_load(&args[alias]->memory->refs) == 2) {
      x->results[i] = buffer_memory_retain(args[alias]->memory);
      x->moved[i] = true;
    } else if (e->program && !e->device->device) {  // the run's own buffer becomes the result's
      x->results[i] = memory_create(e->device, interp_array_bytes(t), NULL, NULL);
    } else {
      LEMNOS_TRY(buffer_memory_create(e->device, interp_array_bytes(t), &x->results[i]));
    }
  }
  return LEMNOS_SUCCESS;
}

static void hand_out(execution *x, lemnos_buffer *const *args, bool donate, lemnos_event *event,
                     lemnos_buffer **results) {
  lemnos_executable *e = x->executable;
  for (int i = 0; i < e->n_results; i++)
    results[i] = buffer_create(&x->result_types[i], x->results[i] ? buffer_memory_retain(x->results[i]) : NULL, event);
  if (!donate || !e->plan) return;
  for (int i = 0; i < e->n_results; i++)
    if (x->moved[i]) {
      buffer_memory_release(args[e->plan->results[i].alias]->memory);
      args[e->plan->results[i].alias]->memory = NULL;
    }
}

lemnos_status lemnos_execute(lemnos_executable *e, int32_t n_args, lemnos_buffer *const *args, int32_t n_results,
                             lemnos_buffer **results, const lemnos_execute_options *options) {
  lemnos_execute_options none = {0};
  if (!options) options = &none;
  LEMNOS_TRY(check_call(e, n_args, args, n_results));
  execution *x = execution_create(e, args);
  x->deadline = options->timeout_seconds > 0 ? io_seconds() + options->timeout_seconds : 0;
  x->max_bytes = options->max_bytes;
  x->cancel = options->cancel;
  host_adapter_init(&x->host, options->host);
  x->watch = progress_start(options);
  lemnos_status status = prepare_results(x, args, options->donate);
  int64_t need = e->plan ? e->plan->constant_bytes + e->plan->arena_bytes + results_bytes(x) : 0;
  if (!status && options->max_bytes && need > options->max_bytes)
    status = lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "the run needs %lld bytes, the limit is %lld", (long long)need,
                                (long long)options->max_bytes);
  bool dynamic = false;
  for (int i = 0; i < e->n_results; i++) dynamic |= !x->results[i];
  if (!status && options->event && !dynamic) {
    x->event = event_create();
    lemnos_event *event = event_retain(x->event);
    hand_out(x, args, options->donate, event, results);
    pthread_t thread;
    if (pthread_create(&thread, NULL, execution_thread, x) != 0) {
      execution_thread(x);  // no thread to be had: run now
    } else {
      pthread_detach(thread);
    }
    *options->event = event;
    return LEMNOS_SUCCESS;
  }
  if (!status) status = execution_run(x);
  if (!status) hand_out(x, args, options->donate, NULL, results);
  if (!status && options->event) {
    *options->event = event_create();
    event_signal(*options->event, LEMNOS_SUCCESS);
  }
  execution_free(x);
  return status;
}

lemnos_status lemnos_execute_host(lemnos_executable *e, int32_t n_args, const lemnos_array *args, int32_t n_results,
                                  lemnos_array *results, const lemnos_execute_options *options) {
  lemnos_execute_options sync = options ? *options : (lemnos_execute_options){0};
  sync.event = NULL;
  sync.donate = true;
  if (n_args != e->n_params || n_results != e->n_results)
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "the program has %d arguments and %d results", e->n_params,
                              e->n_results);
  lemnos_buffer **in = heap_alloc(sizeof *in * (size_t)(n_args + n_results + 1)), **res = in + n_args;
  lemnos_status status = LEMNOS_SUCCESS;
  for (int i = 0; !status && i < n_args; i++) status = lemnos_buffer_from_host(e->device, &args[i], &in[i]);
  if (!status) status = lemnos_execute(e, n_args, in, n_results, res, &sync);
  for (int i = 0; !status && i < n_results; i++) {
    void *data = results[i].data;
    lemnos_buffer_type(res[i], &results[i]);
    int64_t bytes = lemnos_array_bytes(&results[i]);
    results[i].data = data ? data : malloc((size_t)(bytes > 0 ? bytes : 1));
    if (!results[i].data)
      status = lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "no memory for result %d", i);
    else if (res[i]->type.dtype != HLO_TOKEN)
      status = lemnos_buffer_read(res[i], &results[i]);
  }
  for (int i = 0; i < n_args + n_results; i++) lemnos_buffer_free(in[i]);
  free(in);
  return status;
}

// --- profiling -----------------------------------------------------------------------------------

typedef struct profile_row {
  const hlo_instr *instr;
  double seconds;
  int64_t calls;
} profile_row;

static int by_time(const void *a, const void *b) {
  double x = ((const profile_row *)a)->seconds, y = ((const profile_row *)b)->seconds;
  return x < y ? 1 : x > y ? -1 : 0;
}

static void print_profile(strbuf *out, const plan_run_options *o) {
  int n = o->step_seconds->len, rows_n = 0;
  profile_row *rows = heap_alloc(sizeof *rows * (size_t)(n + 1));
  u64map seen = {0};
  double total = 0;
  for (int i = 0; i < n; i++) {
    const hlo_instr *instr = o->step_instrs->data[i];
    uint64_t at = (uint64_t)rows_n;
    if (!u64map_get(&seen, (uint64_t)(uintptr_t)instr, &at)) {
      u64map_put(NULL, &seen, (uint64_t)(uintptr_t)instr, at);
      rows[rows_n++].instr = instr;
    }
    rows[at].seconds += o->step_seconds->data[i];
    rows[at].calls++;
    total += o->step_seconds->data[i];
  }
  u64map_deinit(&seen);
  qsort(rows, (size_t)rows_n, sizeof *rows, by_time);
  strbuf_printf(out, "%10s %6s %7s  %s\n", "ms", "share", "calls", "step");
  for (int i = 0; i < rows_n; i++) {
    strbuf_printf(out, "%10.4f %5.1f%% %7lld  ", rows[i].seconds * 1e3, 100 * rows[i].seconds / (total > 0 ? total : 1),
                  (long long)rows[i].calls);
    strbuf_printf(out, STRV_FMT " %s ", STRV_ARG(rows[i].instr->name), hlo_op_table[rows[i].instr->op].text_name);
    hlo_shape_print(out, rows[i].instr->shape);
    strbuf_append_cstr(out, "\n");
  }
  strbuf_printf(out, "%10.4f  total (each step waited for: the sum is above an ordinary run)\n", total * 1e3);
  free(rows);
}

static lemnos_status profile_interp(execution *x, strbuf *out) {
  lemnos_executable *e = x->executable;
  interp_array *args = heap_alloc(sizeof *args * (size_t)(e->n_params + e->n_results + 1));
  interp_array *results = args + e->n_params;
  void **owned = heap_alloc(sizeof *owned * (size_t)(e->n_params + 1));
  interp_profile profile = {.arena = arena_create()};
  interp_run_options options = {.pool = e->device->context->pool,
                                .profile = &profile,
                                .custom_calls = e->device->context->custom_calls.data,
                                .n_custom_calls = e->device->context->custom_calls.len};
  lemnos_status status = interp_args(x, args, owned);
  if (!status) status = interp_run(e->program, &options, e->n_params, args, e->n_results, results);
  for (int i = 0; !status && i < e->n_results; i++) heap_aligned_free(results[i].data);
  if (!status) interp_profile_print(&profile, out);
  for (int i = 0; i < e->n_params; i++) heap_aligned_free(owned[i]);
  arena_destroy(profile.arena);
  free(owned), free(args);
  return status;
}

lemnos_status lemnos_profile(lemnos_executable *e, int32_t n_args, lemnos_buffer *const *args, char **out) {
  LEMNOS_TRY(check_call(e, n_args, args, e->n_results));
  execution *x = execution_create(e, args);
  strbuf text = {0};
  lemnos_status status;
  if (e->program) {
    status = profile_interp(x, &text);
  } else {
    plan_seconds seconds = {0};
    plan_instrs instrs = {0};
    plan_run_options options = {.pool = e->device->context->pool,
                                .step_seconds = &seconds,
                                .custom_calls = e->device->context->custom_calls.data,
                                .n_custom_calls = e->device->context->custom_calls.len,
                                .step_instrs = &instrs};
    status = prepare_results(x, args, false);
    if (!status) status = run_planned(x, &options);
    if (!status) print_profile(&text, &options);
    vec_deinit(&seconds);
    vec_deinit(&instrs);
  }
  execution_free(x);
  if (status)
    strbuf_deinit(&text);
  else
    *out = text.data;
  return status;
}
