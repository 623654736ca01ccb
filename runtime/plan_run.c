// SPDX-License-Identifier: Apache-2.0
// Runs a plan through a device's queue. Launches and copies are only recorded; the host waits where it must read: host
// steps, branch selectors, predicates of loops whose trip count is not known.
#include "runtime/internal.h"

typedef struct runner {
  const plan *plan;
  const lemnos_backend *backend;
  backend_device *device;
  backend_program *code;
  backend_queue *queue;
  const plan_run_memory *memory;
  const plan_run_options *options;
  backend_binding *bindings;  // room for the largest kernel
  int unsubmitted;
  uint64_t drawn;  // by rng, over all host steps
  int depth;       // of nested lists
  bool profiling;
} runner;

enum { SUBMIT_EVERY = 512 };  // launches: keeps a software driver busy while a long loop is being recorded

static backend_binding bind(const runner *r, plan_slice s) {
  backend_binding base = {0};
  switch (s.space) {
    case PLAN_ARENA: base.memory = r->memory->arena; break;
    case PLAN_CONSTANT: base.memory = r->memory->constants; break;
    case PLAN_PARAM: base = r->memory->params[s.index]; break;
    case PLAN_RESULT: base = r->memory->results[s.index]; break;
  }
  return (backend_binding){.memory = base.memory, .offset = base.offset + s.offset, .size = s.size};
}

static void waiting(const runner *r) {
  if (r->options->progress) interp_progress_now(r->options->progress, NULL);
}

static lemnos_status check_interrupt(const runner *r) {
  const plan_run_options *o = r->options;
  if (o->cancel && *o->cancel) return lemnos_status_make(LEMNOS_CANCELLED, "the run was cancelled");
  if (o->deadline > 0 && io_seconds() > o->deadline)
    return lemnos_status_make(LEMNOS_CANCELLED, "the run took longer than its time limit");
  return LEMNOS_SUCCESS;
}

static lemnos_status submitted_some(runner *r) {
  if (++r->unsubmitted < SUBMIT_EVERY) return LEMNOS_SUCCESS;
  r->unsubmitted = 0;
  LEMNOS_TRY(check_interrupt(r));
  return r->backend->submit(r->queue);
}

// Host view of a slice. Copies through *owned when the memory is not mapped.
static lemnos_status host_view(runner *r, plan_slice s, bool download, void **out, void **owned) {
  backend_binding b = bind(r, s);
  *owned = NULL;
  char *mapped = b.memory ? r->backend->map(r->device, b.memory) : NULL;
  if (mapped) {
    *out = mapped + b.offset;
    return LEMNOS_SUCCESS;
  }
  void *copy = heap_try_alloc_aligned((size_t)(s.size ? s.size : 1));
  if (!copy) return lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "no host memory for %lld bytes", (long long)s.size);
  lemnos_status status = download && s.size ? r->backend->download(r->device, b.memory, b.offset, copy, s.size) : NULL;
  if (status) {
    heap_aligned_free(copy);
    return status;
  }
  *out = *owned = copy;
  return LEMNOS_SUCCESS;
}

static lemnos_status read_bytes(runner *r, plan_slice s, void *out, size_t size) {
  waiting(r);
  LEMNOS_TRY(r->backend->wait(r->queue));
  r->unsubmitted = 0;
  void *data = NULL, *owned;
  s.size = (int64_t)size;
  LEMNOS_TRY(host_view(r, s, true, &data, &owned));
  memcpy(out, data, size);
  heap_aligned_free(owned);
  return LEMNOS_SUCCESS;
}

static void array_of_leaf(const hlo_shape *s, void *data, interp_array *out) {
  *out = (interp_array){.dtype = s->dtype, .rank = s->rank, .data = data};
  for (int d = 0; d < s->rank; d++) out->dims[d] = s->dims[d];
}

static const hlo_shape *operand_leaf_shape(const hlo_instr *i, int leaf) {
  for (int o = 0; o < i->n_operands; o++) {
    int n = hlo_shape_leaves(i->operands[o]->shape);
    if (leaf < n) return hlo_shape_leaf(i->operands[o]->shape, leaf);
    leaf -= n;
  }
  return NULL;
}

static lemnos_status run_host(runner *r, const plan_step *s) {
  int na = s->host.n_args, nr = s->host.n_results;
  interp_array *args = heap_alloc(sizeof *args * (size_t)(na + nr + 1)), *results = args + na;
  void **owned = heap_alloc(sizeof *owned * (size_t)(na + nr + 1));
  lemnos_status status = r->backend->wait(r->queue);
  r->unsubmitted = 0;
  for (int i = 0; !status && i < na; i++) {
    void *data;
    status = host_view(r, s->host.args[i], true, &data, &owned[i]);
    if (!status) array_of_leaf(operand_leaf_shape(s->instr, i), data, &args[i]);
  }
  for (int i = 0; !status && i < nr; i++) {
    void *data;
    status = host_view(r, s->host.results[i], false, &data, &owned[na + i]);
    if (!status) array_of_leaf(hlo_shape_leaf(s->instr->shape, i), data, &results[i]);
  }
  interp_run_options options = {.pool = r->options->pool,
                                .deadline = r->options->deadline,
                                .max_bytes = r->options->max_bytes,
                                .cancel = r->options->cancel,
                                .drawn = &r->drawn,
                                .host = r->options->host,
                                .custom_calls = r->options->custom_calls,
                                .n_custom_calls = r->options->n_custom_calls};
  if (!status) status = interp_run(r->plan->host_programs[s->host.program], &options, na, args, nr, results);
  for (int i = 0; !status && i < nr; i++) {
    if (!owned[na + i] || !s->host.results[i].size) continue;
    backend_binding b = bind(r, s->host.results[i]);
    status = r->backend->upload(r->device, b.memory, b.offset, owned[na + i], s->host.results[i].size);
  }
  for (int i = 0; i < na + nr; i++) heap_aligned_free(owned[i]);
  free(owned);
  free(args);
  return status;
}

static lemnos_status run_list(runner *r, const plan_list *list);

static lemnos_status run_while(runner *r, const plan_step *s) {
  interp_progress *progress = r->depth == 1 ? r->options->progress : NULL;
  if (progress) interp_progress_begin_loop(progress, s->loop.trip_count);
  for (int64_t trip = 0;; trip++) {
    LEMNOS_TRY(check_interrupt(r));
    if (s->loop.trip_count >= 0) {
      if (trip == s->loop.trip_count) break;
    } else {
      uint8_t go;
      LEMNOS_TRY(run_list(r, &s->loop.cond));
      LEMNOS_TRY(read_bytes(r, s->loop.pred, &go, 1));
      if (!go) break;
    }
    LEMNOS_TRY(run_list(r, &s->loop.body));
    if (progress) interp_progress_step(&progress->trip);
  }
  if (progress) interp_progress_set(&progress->trips, 0);
  return LEMNOS_SUCCESS;
}

static lemnos_status run_conditional(runner *r, const plan_step *s) {
  int n = s->conditional.n_branches, taken;
  if (s->conditional.is_pred) {
    uint8_t pred;
    LEMNOS_TRY(read_bytes(r, s->conditional.selector, &pred, 1));
    taken = pred ? 0 : 1;
  } else {
    int32_t index;
    LEMNOS_TRY(read_bytes(r, s->conditional.selector, &index, 4));
    taken = index < 0 || index >= n ? n - 1 : index;
  }
  return run_list(r, &s->conditional.branches[taken]);
}

static lemnos_status run_step(runner *r, const plan_step *s) {
  switch (s->kind) {
    case PLAN_LAUNCH: {
      const kernel *k = r->plan->kernels[s->launch.kernel];
      for (int p = 0; p < k->n_params; p++) r->bindings[p] = bind(r, s->launch.args[p]);
      LEMNOS_TRY(r->backend->launch(r->queue, r->code, s->launch.kernel, r->bindings));
      return submitted_some(r);
    }
    case PLAN_COPY:
      LEMNOS_TRY(r->backend->copy(r->queue, bind(r, s->copy.dst), bind(r, s->copy.src)));
      return submitted_some(r);
    case PLAN_HOST: return run_host(r, s);
    case PLAN_WHILE: return run_while(r, s);
    case PLAN_CONDITIONAL: return run_conditional(r, s);
  }
  return lemnos_status_make(LEMNOS_INTERNAL, "unknown plan step %d", (int)s->kind);
}

static lemnos_status run_list(runner *r, const plan_list *list) {
  interp_progress *progress = r->options->progress;
  int depth = ++r->depth;
  for (int i = 0; i < list->n; i++) {
    const plan_step *s = &list->steps[i];
    if (progress) interp_progress_now(progress, s->instr);
    bool timed = r->profiling && s->kind != PLAN_WHILE && s->kind != PLAN_CONDITIONAL;
    double start = timed ? io_seconds() : 0;
    lemnos_status status = run_step(r, s);
    if (timed && !status) {
      status = r->backend->wait(r->queue);
      vec_push(NULL, r->options->step_seconds, io_seconds() - start);
      vec_push(NULL, r->options->step_instrs, s->instr);
    }
    if (status) return lemnos_status_annotate(status, "%s", s->instr->name.data);
    if (progress && depth == 1) interp_progress_step(&progress->done);
  }
  r->depth--;
  return LEMNOS_SUCCESS;
}

lemnos_status plan_run(const plan *p, const lemnos_backend *b, backend_device *d, backend_program *code,
                       backend_queue *q, const plan_run_memory *memory, const plan_run_options *options) {
  int max_params = 1;
  for (int i = 0; i < p->n_kernels; i++)
    if (p->kernels[i]->n_params > max_params) max_params = p->kernels[i]->n_params;
  runner r = {.plan = p,
              .backend = b,
              .device = d,
              .code = code,
              .queue = q,
              .memory = memory,
              .options = options,
              .profiling = options->step_seconds != NULL};
  r.bindings = heap_alloc(sizeof *r.bindings * (size_t)max_params);
  if (options->progress) interp_progress_set(&options->progress->total, p->main.n);
  lemnos_status status = run_list(&r, &p->main);
  waiting(&r);
  lemnos_status waited = b->wait(q);  // also after a failure: nothing may run on memory that is given back
  free(r.bindings);
  if (!status) return waited;
  lemnos_status_free(waited);
  return status;
}
