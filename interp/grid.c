// SPDX-License-Identifier: Apache-2.0
// The turns of virtual devices. The one that waits or ends picks the next, round robin from itself: a device that has
// not started, or whose wait is over. If there is none and some are left, they wait for each other for ever; the run
// then fails with a message that says where each stands. After a failure every device gets one more turn, in which its
// wait fails and it unwinds.
#include "interp/grid.h"

#define STACK_BYTES ((size_t)16 << 20)
#define SHOWN 8

// --- meetings and channels -----------------------------------------------------------------------

static bool is_meeting(const interp_meeting *m, hlo_op op, int64_t channel, int32_t n, const int32_t *members) {
  return m->op == op && m->channel == channel && m->n == n && !memcmp(m->members, members, sizeof *members * (size_t)n);
}

interp_meeting *interp_grid_meet(interp_call *c, int64_t channel, int32_t n, const int32_t *members, bool *out_full) {
  interp_device *d = c->cx->device;
  hlo_op op = c->in->src->op;
  int seat = 0;
  while (members[seat] != d->index) seat++;
  interp_meeting **end = &d->grid->meetings, *m;
  for (; (m = *end); end = &m->next)
    if (is_meeting(m, op, channel, n, members) && !m->seats[seat].cx) break;
  if (!m) {
    *end = m = heap_alloc(sizeof *m);
    *m = (interp_meeting){.op = op, .channel = channel, .n = n};
    m->members = heap_alloc(sizeof *members * (size_t)n);
    memcpy(m->members, members, sizeof *members * (size_t)n);
    m->seats = heap_alloc(sizeof *m->seats * (size_t)n);
  }
  m->seats[seat] = *c;
  *out_full = ++m->n_present == n;
  return m;
}

static void meeting_free(interp_meeting *m) {
  free(m->members);
  free(m->seats);
  free(m);
}

void interp_grid_leave(interp_grid *g, interp_meeting *m) {
  if (++m->n_left < m->n) return;
  interp_meeting **p = &g->meetings;
  while (*p != m) p = &(*p)->next;
  *p = m->next;
  meeting_free(m);
}

interp_channel *interp_grid_channel(interp_grid *g, int64_t id, int32_t source, int32_t target) {
  interp_channel **end = &g->channels, *ch;
  for (; (ch = *end); end = &ch->next)
    if (ch->id == id && ch->source == source && ch->target == target) return ch;
  *end = ch = heap_alloc(sizeof *ch);
  *ch = (interp_channel){.id = id, .source = source, .target = target};
  return ch;
}

void interp_channel_put(interp_channel *ch, interp_parcel *p) {
  p->next = NULL;
  if (!ch->first) ch->end = &ch->first;
  *ch->end = p;
  ch->end = &p->next;
  ch->ready = true;
}

interp_parcel *interp_channel_take(interp_channel *ch) {
  interp_parcel *p = ch->first;
  ch->first = p->next;
  ch->ready = ch->first != NULL;
  return p;
}

interp_parcel *interp_parcel_create(int n) {
  interp_parcel *p = heap_alloc(sizeof *p + sizeof(interp_value) * (size_t)n);
  p->n = n;
  return p;
}

void interp_parcel_destroy(interp_ctx *cx, interp_parcel *p) {
  for (int k = 0; k < p->n; k++) interp_value_release(cx, &p->values[k]);
  free(p);
}

static void channel_drain(interp_ctx *cx, interp_channel *ch) {
  while (ch->first) interp_parcel_destroy(cx, interp_channel_take(ch));
}

// --- turns ---------------------------------------------------------------------------------------

static void print_process(strbuf *out, const interp_device *d) {
  strbuf_printf(out, "(%d, %d)", d->replica_id, d->partition_id);
}

// Whom a waiting device waits for: who has not come to its meeting, or who would send.
static void print_awaited(strbuf *out, const interp_grid *g, const interp_device *d) {
  int shown = 0;
  for (const interp_meeting *m = g->meetings; m; m = m->next) {
    if (d->until != &m->complete) continue;
    for (int k = 0; k < m->n; k++) {
      if (m->seats[k].cx) continue;
      if (shown++ >= SHOWN) continue;
      strbuf_append_cstr(out, shown == 1 ? ", for " : ", ");
      print_process(out, &g->devices[m->members[k]]);
    }
    if (shown > SHOWN) strbuf_printf(out, " and %d more", shown - SHOWN);
  }
  for (const interp_channel *ch = g->channels; ch; ch = ch->next) {
    if (d->until != &ch->ready) continue;
    strbuf_append_cstr(out, ", for ");
    if (ch->source >= 0)
      print_process(out, &g->devices[ch->source]);
    else
      strbuf_append_cstr(out, "a send to the host");
    strbuf_printf(out, " on channel %lld", (long long)ch->id);
  }
}

static lemnos_status deadlock(const interp_grid *g) {
  strbuf text = {0};
  int shown = 0, done = 0;
  for (int k = 0; k < g->n; k++) {
    const interp_device *d = &g->devices[k];
    if (d->state == INTERP_DEVICE_DONE) {
      done++;
      continue;
    }
    if (shown++ >= SHOWN) continue;
    strbuf_append_cstr(&text, "\n  process ");
    print_process(&text, d);
    strbuf_printf(&text, " waits at %s (%%" STRV_FMT "), ", hlo_op_table[d->at->src->op].text_name,
                  STRV_ARG(d->at->src->name));
    loc_print(&text, d->at->src->loc);
    print_awaited(&text, g, d);
  }
  if (shown > SHOWN) strbuf_printf(&text, "\n  and %d more", shown - SHOWN);
  if (done) strbuf_printf(&text, "\n  (%d of %d processes have ended)", done, g->n);
  lemnos_status s = lemnos_status_make(LEMNOS_FAILED_PRECONDITION, "deadlock: every process that is left waits%s",
                                       text.data ? text.data : "");
  strbuf_deinit(&text);
  return s;
}

static void fail(interp_grid *g, lemnos_status s) {
  if (g->failing) {
    lemnos_status_free(s);
    return;
  }
  g->failing = true;
  g->failure = s;
}

// The next device to run after `from`, which may be `from` itself; -1: all are done.
static int next_device(interp_grid *g, int from) {
  bool left = false;
  for (int k = 1; k <= g->n; k++) {
    int i = (from + k) % g->n;
    const interp_device *d = &g->devices[i];
    if (d->state == INTERP_DEVICE_DONE) continue;
    left = true;
    if (g->failing || d->state == INTERP_DEVICE_READY || *d->until) return i;
  }
  if (!left) return -1;
  fail(g, deadlock(g));
  return next_device(g, from);
}

static void hand_on(interp_grid *g, int from) {
  int next = next_device(g, from);
  if (next < 0) return;
  g->turn = next;
  if (next != from) pthread_cond_signal(&g->devices[next].turn);
}

static void await_turn(interp_device *d) {
  while (d->grid->turn != d->index) pthread_cond_wait(&d->turn, &d->grid->lock);
}

lemnos_status interp_grid_wait(interp_device *d, const bool *until, const interp_insn *at) {
  interp_grid *g = d->grid;
  if (!g->failing && *until) return LEMNOS_SUCCESS;
  double start = d->cx.options->profile ? io_seconds() : 0;
  pthread_mutex_lock(&g->lock);
  d->until = until;
  d->at = at;
  d->state = INTERP_DEVICE_WAITING;
  hand_on(g, d->index);
  await_turn(d);
  d->state = INTERP_DEVICE_READY;
  pthread_mutex_unlock(&g->lock);
  if (d->cx.options->profile) d->cx.inner_seconds += io_seconds() - start;
  return g->failing ? lemnos_status_make(LEMNOS_CANCELLED, "another process failed") : LEMNOS_SUCCESS;
}

// --- a device ------------------------------------------------------------------------------------

static lemnos_status device_run(interp_device *d) {
  if (d->grid->failing) return LEMNOS_SUCCESS;
  interp_frame frame = {0};
  lemnos_status s = interp_frame_init(&d->cx, &frame, d->code);
  if (!s) s = interp_frame_run(&d->cx, &frame, d->args, d->results);
  interp_frame_deinit(&d->cx, &frame);
  for (interp_pending *p; (p = d->pending);) {
    lemnos_status ended = s ? LEMNOS_SUCCESS : interp_pending_finish(d, p);
    if (ended) s = ended;
    d->pending = p->next;
    interp_frame_deinit(&d->cx, &p->frame);
    free(p);
  }
  return s;
}

static void *device_main(void *ctx) {
  interp_device *d = ctx;
  interp_grid *g = d->grid;
  pthread_mutex_lock(&g->lock);
  await_turn(d);
  pthread_mutex_unlock(&g->lock);
  lemnos_status s = device_run(d);
  if (s && g->n > 1 && !g->failing) s = lemnos_status_annotate(s, "process (%d, %d)", d->replica_id, d->partition_id);
  pthread_mutex_lock(&g->lock);
  if (s) fail(g, s);
  d->state = INTERP_DEVICE_DONE;
  hand_on(g, d->index);
  pthread_mutex_unlock(&g->lock);
  return NULL;
}

// The first device runs on the caller's thread.
static void run_all(interp_grid *g) {
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, STACK_BYTES);
  for (int k = 1; k < g->n; k++) {
    interp_device *d = &g->devices[k];
    d->has_thread = !g->failing && !pthread_create(&d->thread, &attr, device_main, d);
    if (d->has_thread) continue;
    // The threads that are there wait for the lock, or for their turn, which the first device has.
    pthread_mutex_lock(&g->lock);
    fail(g, lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "interpreter: no thread for process %d of %d", k, g->n));
    d->state = INTERP_DEVICE_DONE;
    pthread_mutex_unlock(&g->lock);
  }
  pthread_attr_destroy(&attr);
  device_main(&g->devices[0]);
  for (int k = 1; k < g->n; k++)
    if (g->devices[k].has_thread) pthread_join(g->devices[k].thread, NULL);
}

// --- the grid ------------------------------------------------------------------------------------

static void grid_deinit(interp_grid *g, interp_ctx *parent) {
  for (interp_meeting *m = g->meetings, *next; m; m = next) {
    next = m->next;
    meeting_free(m);
  }
  for (interp_channel *ch = g->channels, *next; ch; ch = next) {
    next = ch->next;
    if (ch->first && ch->source >= 0 && !g->failing)
      fail(g,
           lemnos_status_make(LEMNOS_FAILED_PRECONDITION,
                              "process (%d, %d) sent on channel %lld what process (%d, %d) did not receive",
                              g->devices[ch->source].replica_id, g->devices[ch->source].partition_id, (long long)ch->id,
                              g->devices[ch->target].replica_id, g->devices[ch->target].partition_id));
    channel_drain(parent, ch);
    free(ch);
  }
  channel_drain(parent, &g->infeed);
  for (int k = 0; k < g->n; k++) pthread_cond_destroy(&g->devices[k].turn);
  pthread_mutex_destroy(&g->lock);
  free(g->devices);
}

lemnos_status interp_grid_run(interp_ctx *parent, int32_t n_replicas, int32_t n_partitions,
                              const interp_code *const *codes, interp_value *args, interp_value *results,
                              interp_channel *infeed) {
  if (n_replicas < 1 || n_partitions < 1 || n_replicas > INTERP_MAX_DEVICES ||
      n_partitions > INTERP_MAX_DEVICES / n_replicas)
    return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "interpreter: a grid of %d x %d processes, limit %d", n_replicas,
                              n_partitions, INTERP_MAX_DEVICES);
  interp_shared *shared = parent->shared;
  if (n_replicas * n_partitions > INTERP_MAX_DEVICES_IN_ALL - shared->n_devices)
    return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "interpreter: grids within grids of %d processes, limit %d",
                              shared->n_devices + n_replicas * n_partitions, INTERP_MAX_DEVICES_IN_ALL);
  shared->n_devices += n_replicas * n_partitions;
  interp_grid g = {.n_replicas = n_replicas, .n_partitions = n_partitions, .n = n_replicas * n_partitions};
  if (infeed) {
    g.has_infeed = true;
    while (infeed->first) interp_channel_put(&g.infeed, interp_channel_take(infeed));
  }
  g.devices = heap_alloc(sizeof *g.devices * (size_t)g.n);
  pthread_mutex_init(&g.lock, NULL);
  for (int k = 0; k < g.n; k++) {
    interp_device *d = &g.devices[k];
    *d = (interp_device){.grid = &g,
                         .index = k,
                         .replica_id = k / n_partitions,
                         .partition_id = k % n_partitions,
                         .code = codes[k],
                         .args = args,
                         .results = results};
    d->cx = (interp_ctx){.options = parent->options,
                         .pool = parent->pool,
                         .n_threads = parent->n_threads,
                         .shared = parent->shared,
                         .device = d,
                         .depth = parent->depth,
                         .drawn = parent->drawn,
                         .counting = parent->counting && k == 0};
    pthread_cond_init(&d->turn, NULL);
    args += codes[k]->n_params;
    results += codes[k]->n_results;
  }
  run_all(&g);
  shared->n_devices -= g.n;
  parent->drawn = g.devices[0].cx.drawn;
  grid_deinit(&g, parent);
  return g.failure;
}
