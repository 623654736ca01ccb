// SPDX-License-Identifier: Apache-2.0
// infeed, outfeed, send and recv.
//
// A send never waits: its values stay in the channel until they are received. Between devices a channel is the three of
// channel id, source and target; source_target_pairs holds replicas if there is one partition, partitions if there is
// one replica, else partitions for a channel id > 0 and replicas for others. A process that is no source sends nothing;
// one that is no target receives zeros. Host transfers go to the embedder, or, without one, meet each other by channel
// id, in the order in which they were sent.
#include "interp/grid.h"

static int payload_args(const interp_insn *in) {
  return in->n_args - 1;  // the token is last
}

static void set_tokens(interp_call *c) {
  for (int k = 0; k < c->in->n_results; k++)
    if (c->in->result_types[k].dtype == HLO_TOKEN) interp_array_set_type(interp_result(c, k), HLO_TOKEN, 0, NULL);
}

static int payload_results(const interp_insn *in) {
  int n = in->n_results;
  return n && in->result_types[n - 1].dtype == HLO_TOKEN ? n - 1 : n;
}

// --- through the embedder ------------------------------------------------------------------------

typedef lemnos_status (*transfer_fn)(void *user, const interp_transfer *t);

static interp_transfer transfer_of(const interp_call *c, int64_t channel, int n, interp_array *arrays) {
  const interp_device *d = c->cx->device;
  return (interp_transfer){.instr = c->in->src,
                           .replica_id = d->replica_id,
                           .partition_id = d->partition_id,
                           .channel_id = channel,
                           .n = n,
                           .arrays = arrays};
}

static lemnos_status give(interp_call *c, transfer_fn fn, int64_t channel) {
  int n = payload_args(c->in);
  interp_array *arrays = interp_scratch(c->cx, sizeof *arrays * (size_t)n + 16);
  if (!arrays) return interp_scratch_failed(c);
  for (int k = 0; k < n; k++) arrays[k] = *interp_arg(c, k);
  interp_transfer t = transfer_of(c, channel, n, arrays);
  return fn(c->cx->options->host->user, &t);
}

static lemnos_status allocate(interp_call *c) {
  for (int k = 0; k < payload_results(c->in); k++) {
    const interp_type *t = &c->in->result_types[k];
    if (!t->is_static) return interp_error(c, LEMNOS_UNIMPLEMENTED, "a result of unknown size");
    interp_array_set_type(interp_result(c, k), t->dtype, t->rank, t->dims);
    LEMNOS_TRY(interp_value_alloc(c->cx, interp_result_value(c, k)));
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status take(interp_call *c, transfer_fn fn, int64_t channel) {
  int n = payload_results(c->in);
  LEMNOS_TRY(allocate(c));
  interp_array *arrays = interp_scratch(c->cx, sizeof *arrays * (size_t)n + 16);
  if (!arrays) return interp_scratch_failed(c);
  for (int k = 0; k < n; k++) arrays[k] = *interp_result(c, k);
  interp_transfer t = transfer_of(c, channel, n, arrays);
  return fn(c->cx->options->host->user, &t);
}

// --- parcels -------------------------------------------------------------------------------------

static void put_args(interp_call *c, interp_channel *ch) {
  int n = payload_args(c->in);
  interp_parcel *p = interp_parcel_create(n);
  for (int k = 0; k < n; k++) interp_value_share(&p->values[k], interp_arg_value(c, k));
  interp_channel_put(ch, p);
}

static lemnos_status take_results(interp_call *c, interp_channel *ch) {
  interp_parcel *p = interp_channel_take(ch);
  bool ok = p->n == payload_results(c->in);
  for (int k = 0; ok && k < p->n; k++) {
    const interp_type *t = &c->in->result_types[k];
    const interp_array *a = &p->values[k].a;
    ok = a->dtype == t->dtype && a->rank == t->rank;
    for (int d = 0; ok && d < t->rank; d++) ok = t->dims[d] < 0 || t->dims[d] == a->dims[d];
  }
  for (int k = 0; ok && k < p->n; k++) interp_value_move(interp_result_value(c, k), &p->values[k]);
  interp_parcel_destroy(c->cx, p);
  return ok ? LEMNOS_SUCCESS : interp_error(c, LEMNOS_INVALID_ARGUMENT, "what arrived is not of the result's types");
}

// --- operations ----------------------------------------------------------------------------------

static lemnos_status run_infeed(interp_call *c) {
  interp_grid *g = c->cx->device->grid;
  const interp_host *host = c->cx->options->host;
  set_tokens(c);
  if (g->has_infeed)
    return g->infeed.ready ? take_results(c, &g->infeed)
                           : interp_error(c, LEMNOS_FAILED_PRECONDITION, "the infeed queue is empty");
  if (!host || !host->infeed) return interp_error(c, LEMNOS_UNIMPLEMENTED, "nothing feeds this run");
  return take(c, host->infeed, 0);
}

static lemnos_status run_outfeed(interp_call *c) {
  const interp_host *host = c->cx->options->host;
  set_tokens(c);
  return host && host->outfeed ? give(c, host->outfeed, 0) : LEMNOS_SUCCESS;
}

// The process at the other end; -1: this one has none.
static lemnos_status partner(interp_call *c, bool of_source, int32_t *out) {
  const hlo_attrs_send_recv *a = HLO_ATTRS(c->in->src, send_recv);
  const interp_device *d = c->cx->device;
  const interp_grid *g = d->grid;
  bool partitions = g->n_partitions > 1 && (g->n_replicas == 1 || a->channel_id > 0);
  int64_t own = partitions ? d->partition_id : d->replica_id, limit = partitions ? g->n_partitions : g->n_replicas;
  *out = -1;
  for (int k = 0; k < a->source_target_pairs.n; k++) {
    const int64_t *p = a->source_target_pairs.data + 2 * k;
    if (p[of_source ? 0 : 1] != own) continue;
    int64_t id = p[of_source ? 1 : 0];
    if (id >= limit)
      return interp_error(c, LEMNOS_INVALID_ARGUMENT, "pair (%lld, %lld), but there are %d x %d processes",
                          (long long)p[0], (long long)p[1], g->n_replicas, g->n_partitions);
    *out = (int32_t)(partitions ? d->replica_id * g->n_partitions + id : id * g->n_partitions + d->partition_id);
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status run_send(interp_call *c) {
  const hlo_attrs_send_recv *a = HLO_ATTRS(c->in->src, send_recv);
  const interp_host *host = c->cx->options->host;
  interp_device *d = c->cx->device;
  int32_t target = -1;
  set_tokens(c);
  if (a->is_host_transfer && host && host->send) return give(c, host->send, a->channel_id);
  if (a->is_host_transfer) return put_args(c, interp_grid_channel(d->grid, a->channel_id, -1, -1)), LEMNOS_SUCCESS;
  LEMNOS_TRY(partner(c, true, &target));
  if (target >= 0) put_args(c, interp_grid_channel(d->grid, a->channel_id, d->index, target));
  return LEMNOS_SUCCESS;
}

static lemnos_status run_recv(interp_call *c) {
  const hlo_attrs_send_recv *a = HLO_ATTRS(c->in->src, send_recv);
  const interp_host *host = c->cx->options->host;
  interp_device *d = c->cx->device;
  int32_t source = -1;
  set_tokens(c);
  if (a->is_host_transfer && host && host->recv) return take(c, host->recv, a->channel_id);
  if (!a->is_host_transfer) {
    LEMNOS_TRY(partner(c, false, &source));
    if (source < 0) {
      LEMNOS_TRY(allocate(c));
      for (int k = 0; k < payload_results(c->in); k++)
        memset(interp_result(c, k)->data, 0, (size_t)interp_bytes(interp_result(c, k)));
      return LEMNOS_SUCCESS;
    }
  }
  interp_channel *ch = interp_grid_channel(d->grid, a->channel_id, source, source < 0 ? -1 : d->index);
  LEMNOS_TRY(interp_grid_wait(d, &ch->ready, c->in));
  return take_results(c, ch);
}

lemnos_status interp_compile_host(interp_compiler *c, interp_insn *in) {
  int n = 0;
  c->meets = true;
  in->flags |= INTERP_SELF_ALLOC;
  for (int k = 0; k < in->n_results; k++) n += in->result_types[k].dtype == HLO_TOKEN;
  switch (in->src->op) {
    case HLO_OP_INFEED: in->fn = run_infeed; break;
    case HLO_OP_OUTFEED: in->fn = run_outfeed; break;
    case HLO_OP_SEND: in->fn = run_send; break;
    case HLO_OP_RECV: in->fn = run_recv; break;
    default: return interp_refuse(in->src, "operation is not supported");
  }
  return n <= 1 ? LEMNOS_SUCCESS : interp_refuse(in->src, "more than one token");
}
