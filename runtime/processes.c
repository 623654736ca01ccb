// SPDX-License-Identifier: Apache-2.0
// Runs of several processes with arguments of their own, and the host's end of a run.
//
// Programs in which processes meet run whole in the interpreter, on its grid of virtual devices (compile.c). In others
// no process can know of another: they run one after the other, on the device.
#include <stdlib.h>

#include "runtime/internal.h"

// --- the host's end ------------------------------------------------------------------------------

lemnos_status host_failed(const hlo_instr *i, const char *why) {
  lemnos_status status = lemnos_status_make(LEMNOS_UNAVAILABLE, "%s (%%" STRV_FMT "): %s",
                                            hlo_op_table[i->op].text_name, STRV_ARG(i->name), why);
  if (!i->loc) return status;
  strbuf where = {0};
  loc_print(&where, i->loc);
  status = lemnos_status_annotate(status, "%s", where.data);
  strbuf_deinit(&where);
  return status;
}

typedef const char *(*transfer_fn)(void *user, const lemnos_transfer *t);

static lemnos_status transfer(const lemnos_host *target, transfer_fn fn, const interp_transfer *t) {
  lemnos_array *arrays = heap_alloc(sizeof *arrays * (size_t)(t->n + 1));
  for (int i = 0; i < t->n; i++) array_from_interp(&t->arrays[i], &arrays[i]);
  lemnos_transfer out = {.replica_id = t->replica_id,
                         .partition_id = t->partition_id,
                         .channel_id = t->channel_id,
                         .n = t->n,
                         .arrays = arrays};
  const char *why = fn(target->user, &out);
  lemnos_status status = why ? host_failed(t->instr, why) : LEMNOS_SUCCESS;
  free(arrays);
  return status;
}

static lemnos_status on_infeed(void *user, const interp_transfer *t) {
  const lemnos_host *h = ((host_adapter *)user)->target;
  return transfer(h, h->infeed, t);
}
static lemnos_status on_outfeed(void *user, const interp_transfer *t) {
  const lemnos_host *h = ((host_adapter *)user)->target;
  return transfer(h, h->outfeed, t);
}
static lemnos_status on_send(void *user, const interp_transfer *t) {
  const lemnos_host *h = ((host_adapter *)user)->target;
  return transfer(h, h->send, t);
}
static lemnos_status on_recv(void *user, const interp_transfer *t) {
  const lemnos_host *h = ((host_adapter *)user)->target;
  return transfer(h, h->recv, t);
}
static void on_print(void *user, strv text) {
  const lemnos_host *h = ((host_adapter *)user)->target;
  h->print(h->user, text.data, text.len);
}

void host_adapter_init(host_adapter *h, const lemnos_host *target) {
  *h = (host_adapter){.target = target};
  h->host.user = h;
  if (!target) return;
  if (target->infeed) h->host.infeed = on_infeed;
  if (target->outfeed) h->host.outfeed = on_outfeed;
  if (target->send) h->host.send = on_send;
  if (target->recv) h->host.recv = on_recv;
  if (target->print) h->host.print = on_print;
}

// --- several processes ---------------------------------------------------------------------------

void lemnos_module_grid(const lemnos_module *m, int32_t *out_replicas, int32_t *out_partitions) {
  *out_replicas = m->hlo->n_replicas;
  *out_partitions = m->hlo->n_partitions;
}

static lemnos_status check_args(const lemnos_executable *e, int n, const lemnos_array *args, interp_array *out) {
  for (int k = 0; k < n; k++) {
    const hlo_shape *s = module_param_leaf(e->module, k % e->n_params);
    if (hlo_shape_is_token(s)) {
      out[k].dtype = HLO_TOKEN;
      continue;
    }
    lemnos_status status = array_to_interp(&args[k], &out[k]);
    if (!status) status = array_check(s, &out[k], k % e->n_params);
    if (status) return lemnos_status_annotate(status, "process %d", k / e->n_params);
  }
  return LEMNOS_SUCCESS;
}

// Hands out what the interpreter made; room the caller has given is used.
static lemnos_status take_results(int n, interp_array *from, lemnos_array *results) {
  lemnos_status status = LEMNOS_SUCCESS;
  for (int k = 0; k < n && !status; k++) {
    void *room = results[k].data;
    array_from_interp(&from[k], &results[k]);
    int64_t bytes = interp_array_bytes(&from[k]);
    results[k].data = room ? room : malloc((size_t)(bytes > 0 ? bytes : 1));
    if (!results[k].data)
      status = lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "no memory for result %d", k);
    else if (bytes && from[k].dtype != HLO_TOKEN)
      memcpy(results[k].data, from[k].data, (size_t)bytes);
  }
  return status;
}

static lemnos_status run_grid(lemnos_executable *e, int n, int n_args, const lemnos_array *args, int n_results,
                              lemnos_array *results, const lemnos_execute_options *options) {
  interp_array *in = heap_alloc(sizeof *in * (size_t)(n_args + n_results + 1)), *out = in + n_args;
  const interp_program **programs = heap_alloc(sizeof(void *) * (size_t)n);
  host_adapter host;
  progress_watch *watch = progress_start(options);
  int64_t peak = 0;
  host_adapter_init(&host, options->host);
  for (int p = 0; p < n; p++) programs[p] = e->program;
  interp_run_options o = {.pool = e->device->context->pool,
                          .cancel = options->cancel,
                          .max_bytes = options->max_bytes,
                          .peak_bytes = &peak,
                          .host = &host.host,
                          .custom_calls = e->device->context->custom_calls.data,
                          .n_custom_calls = e->device->context->custom_calls.len,
                          .progress = progress_record(watch)};
  if (options->timeout_seconds > 0) o.deadline = io_seconds() + options->timeout_seconds;
  lemnos_status status = check_args(e, n_args, args, in);
  if (!status)
    status =
        interp_run_parallel(programs, e->module->n_replicas, e->module->n_partitions, &o, n_args, in, n_results, out);
  progress_stop(watch);
  if (!status) status = take_results(n_results, out, results);
  for (int k = 0; k < n_results; k++) heap_aligned_free(out[k].data);
  free(programs);
  free(in);
  return status;
}

lemnos_status lemnos_execute_processes(lemnos_executable *e, int32_t n_args, const lemnos_array *args,
                                       int32_t n_results, lemnos_array *results,
                                       const lemnos_execute_options *options) {
  lemnos_execute_options none = {0};
  if (!options) options = &none;
  int64_t n = (int64_t)e->module->n_replicas * e->module->n_partitions;
  if (n_args != n * e->n_params || n_results != n * e->n_results)
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT,
                              "each of the %lld processes has %d arguments and %d results, found %d and %d in all",
                              (long long)n, e->n_params, e->n_results, n_args, n_results);
  if (e->program) return run_grid(e, (int)n, n_args, args, n_results, results, options);
  for (int p = 0; p < n; p++) {
    lemnos_status status = lemnos_execute_host(e, e->n_params, args + (int64_t)p * e->n_params, e->n_results,
                                               results + (int64_t)p * e->n_results, options);
    if (status) return lemnos_status_annotate(status, "process %d", p);
  }
  return LEMNOS_SUCCESS;
}
