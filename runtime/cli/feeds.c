// SPDX-License-Identifier: Apache-2.0
// The host's end of a run, for the tool: infeed and host recv read arrays of an .npz one after the other, outfeed and
// host sends are collected for another, prints go to stderr.
//
// Every process has counters of its own. Without --per-process all read the same arrays, and what process 0 gives is
// kept, as with arguments and results. Host transfers of a program whose recvs have no arrays meet each other instead.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"

typedef struct feed_counter {
  int process;
  int64_t channel;
  const char *kind;
  int64_t next;
} feed_counter;

struct cli_feeds {
  lemnos_host host;
  arena *arena;
  npz in;
  bool has_in, per_process;
  cli_progress *progress;
  int32_t n_partitions;
  VEC(feed_counter) counters;
  VEC(strv) names;  // of what was given
  VEC(interp_array) arrays;
  char why[256];
};

static int64_t *counter(cli_feeds *f, const char *kind, int process, int64_t channel) {
  for (int k = 0; k < f->counters.len; k++) {
    feed_counter *c = &f->counters.data[k];
    if (c->process == process && c->channel == channel && !strcmp(c->kind, kind)) return &c->next;
  }
  feed_counter c = {.process = process, .channel = channel, .kind = kind};
  vec_push(f->arena, &f->counters, c);
  return &vec_last(&f->counters).next;
}

// infeed3, recv7.3, with @P
static char *name_of(cli_feeds *f, const char *kind, const lemnos_transfer *t, int64_t index, int process) {
  char *base = t->channel_id ? arena_printf(f->arena, "%s%lld.%lld", kind, (long long)t->channel_id, (long long)index)
                             : arena_printf(f->arena, "%s%lld", kind, (long long)index);
  return process < 0 ? base : arena_printf(f->arena, "%s@%d", base, process);
}

static const char *take(cli_feeds *f, const char *kind, const lemnos_transfer *t) {
  int process = t->replica_id * f->n_partitions + t->partition_id;
  for (int k = 0; k < t->n; k++) {
    int64_t index = (*counter(f, kind, process, t->channel_id))++;
    const npz_entry *e = NULL;
    if (f->per_process) e = npz_find(&f->in, strv_from_cstr(name_of(f, kind, t, index, process)));
    char *name = name_of(f, kind, t, index, -1);
    if (!e) e = npz_find(&f->in, strv_from_cstr(name));
    if (!e) {
      snprintf(f->why, sizeof f->why, "%s holds no %s", f->in.path, name);
      return f->why;
    }
    interp_array want, got;
    lemnos_status status = array_to_interp(&t->arrays[k], &want);
    if (!status) status = npz_read(&f->in, e, want.dtype, &got);
    if (status) {
      snprintf(f->why, sizeof f->why, "%s", lemnos_status_message(status));
      lemnos_status_free(status);
      return f->why;
    }
    bool fits = got.rank == want.rank && !memcmp(got.dims, want.dims, sizeof *got.dims * (size_t)got.rank);
    if (fits) memcpy(want.data, got.data, (size_t)interp_array_bytes(&got));
    heap_aligned_free(got.data);
    if (!fits) {
      snprintf(f->why, sizeof f->why, "%s is not of the type that the program takes", name);
      return f->why;
    }
  }
  return NULL;
}

static const char *give(cli_feeds *f, const char *kind, const lemnos_transfer *t) {
  int process = t->replica_id * f->n_partitions + t->partition_id;
  if (!f->per_process && process) return NULL;
  for (int k = 0; k < t->n; k++) {
    int64_t index = (*counter(f, kind, process, t->channel_id))++;
    interp_array from, copy;
    lemnos_status status = array_to_interp(&t->arrays[k], &from);
    copy = from;
    if (!status) status = array_allocate(&copy);
    if (status) {
      snprintf(f->why, sizeof f->why, "%s", lemnos_status_message(status));
      lemnos_status_free(status);
      return f->why;
    }
    memcpy(copy.data, from.data, (size_t)interp_array_bytes(&from));
    vec_push(f->arena, &f->names, strv_from_cstr(name_of(f, kind, t, index, f->per_process ? process : -1)));
    vec_push(f->arena, &f->arrays, copy);
  }
  return NULL;
}

static const char *on_infeed(void *user, const lemnos_transfer *t) {
  return take(user, "infeed", t);
}
static const char *on_outfeed(void *user, const lemnos_transfer *t) {
  return give(user, "outfeed", t);
}
static const char *on_send(void *user, const lemnos_transfer *t) {
  return give(user, "send", t);
}
static const char *on_recv(void *user, const lemnos_transfer *t) {
  return take(user, "recv", t);
}
static void on_print(void *user, const char *text, size_t size) {
  cli_progress_hide(((cli_feeds *)user)->progress);
  fwrite(text, 1, size, stderr);
}

static bool takes_from_host(const hlo_module *m) {
  for (int c = 0; c < m->n_computations; c++)
    HLO_FOR_EACH (i, m->computations[c])
      if (i->op == HLO_OP_RECV && HLO_ATTRS(i, send_recv)->is_host_transfer) return true;
  return false;
}

lemnos_status feeds_open(const char *infeed, bool outfeed, bool per_process, const lemnos_module *m, cli_feeds **out) {
  cli_feeds *f = heap_alloc(sizeof *f);
  int32_t replicas;
  *out = f;
  f->arena = arena_create();
  f->per_process = per_process;
  lemnos_module_grid(m, &replicas, &f->n_partitions);
  f->host = (lemnos_host){.user = f, .print = on_print};
  bool received = false;
  if (infeed) {
    LEMNOS_TRY(npz_open(infeed, &f->in));
    f->has_in = true;
    f->host.infeed = on_infeed;
    for (int k = 0; k < f->in.entries.len; k++) received |= strv_starts_with(f->in.entries.data[k].name, STRV("recv"));
  }
  if (outfeed) f->host.outfeed = on_outfeed;
  if (received) f->host.recv = on_recv;
  if (received || (outfeed && !takes_from_host(m->hlo))) f->host.send = on_send;
  return LEMNOS_SUCCESS;
}

void feeds_hide(cli_feeds *f, cli_progress *p) {
  f->progress = p;
}

const lemnos_host *feeds_host(cli_feeds *f) {
  return &f->host;
}

lemnos_status feeds_write(const cli_feeds *f, const char *path) {
  return npz_write_file(path, f->names.len, f->names.data, f->arrays.data);
}

void feeds_close(cli_feeds *f) {
  if (!f) return;
  if (f->has_in) npz_close(&f->in);
  for (int k = 0; k < f->arrays.len; k++) heap_aligned_free(f->arrays.data[k].data);
  arena_destroy(f->arena);
  free(f);
}
