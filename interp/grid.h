// SPDX-License-Identifier: Apache-2.0
// Virtual devices: the processes of one parallel run, how they take turns, meet and send each other values.
//
// Every device has a thread, but only the one whose turn it is runs; it hands the turn on when it has to wait or ends.
// All that is below is therefore used without locks, by the device whose turn it is; the lock around the turn orders
// memory. When nobody is left who can go on, the run is a deadlock.
#ifndef INTERP_GRID_H
#define INTERP_GRID_H

#include <pthread.h>

#include "interp/interp_internal.h"

#define INTERP_MAX_DEVICES 1024
#define INTERP_MAX_DEVICES_IN_ALL 4096  // of grids within each other

typedef struct interp_grid interp_grid;

// A collective that all of a process group's members have to come to. Its key is the operation, the channel and the
// members; a member that comes twice before the others have come once waits for the next meeting with that key.
typedef struct interp_meeting {
  struct interp_meeting *next;
  hlo_op op;
  int64_t channel;
  int32_t n, n_present, n_left;
  bool complete;       // everybody's results are there
  int32_t *members;    // device numbers in group order
  interp_call *seats;  // cx NULL: not there yet
} interp_meeting;

// Values under way: from a device to another on a channel, or through the host.
typedef struct interp_parcel {
  struct interp_parcel *next;
  int32_t n;
  interp_value values[];
} interp_parcel;

typedef struct interp_channel {
  struct interp_channel *next;
  int64_t id;
  int32_t source, target;  // -1: host
  bool ready;              // first != NULL
  interp_parcel *first, **end;
} interp_channel;

// An asynchronous collective that has been started: its frame holds operands and results until it is done.
typedef struct interp_pending {
  struct interp_pending *next;
  interp_frame frame;
  interp_meeting *meeting;  // NULL: done at once
} interp_pending;

typedef struct interp_device {
  interp_grid *grid;
  int32_t index, replica_id, partition_id;
  enum { INTERP_DEVICE_READY, INTERP_DEVICE_WAITING, INTERP_DEVICE_DONE } state;
  const bool *until;      // waiting: goes on when this is true
  const interp_insn *at;  // waiting: where
  pthread_cond_t turn;
  pthread_t thread;
  bool has_thread;
  interp_ctx cx;
  const interp_code *code;
  interp_value *args, *results;
  interp_pending *pending;
} interp_device;

struct interp_grid {
  int32_t n_replicas, n_partitions, n;
  interp_device *devices;
  pthread_mutex_t lock;
  int32_t turn;  // the device that runs
  bool failing;
  lemnos_status failure;  // the first one
  interp_meeting *meetings;
  interp_channel *channels;
  bool has_infeed;
  interp_channel infeed;
};

// Runs codes[d] on device d; args and results of all devices one after another. infeed: parcels for infeed operations
// (consumed), or NULL: the options' callback. parent: whoever starts the run; its results and arguments share memory
// with it.
LEMNOS_NODISCARD lemnos_status interp_grid_run(interp_ctx *parent, int32_t n_replicas, int32_t n_partitions,
                                               const interp_code *const *codes, interp_value *args,
                                               interp_value *results, interp_channel *infeed);
// Hands the turn on until *until is true. Fails if the run is ending because somebody failed.
LEMNOS_NODISCARD lemnos_status interp_grid_wait(interp_device *d, const bool *until, const interp_insn *at);
// Takes the seat of c's device in the meeting; the one that makes it full has to compute all results and set complete.
interp_meeting *interp_grid_meet(interp_call *c, int64_t channel, int32_t n, const int32_t *members, bool *out_full);
void interp_grid_leave(interp_grid *g, interp_meeting *m);  // when complete; every member once
interp_channel *interp_grid_channel(interp_grid *g, int64_t id, int32_t source, int32_t target);
void interp_channel_put(interp_channel *ch, interp_parcel *p);
interp_parcel *interp_channel_take(interp_channel *ch);
interp_parcel *interp_parcel_create(int n);
void interp_parcel_destroy(interp_ctx *cx, interp_parcel *p);  // releases its values

// collective.c: waits for what was started and lets go of it.
LEMNOS_NODISCARD lemnos_status interp_pending_finish(interp_device *d, interp_pending *p);

#endif
