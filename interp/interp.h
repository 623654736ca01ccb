// SPDX-License-Identifier: Apache-2.0
// The interpreter: a whole HLO module compiled to bytecode and run by a virtual machine. The reference semantics of
// every operation and type, the oracle for all devices, and the executor of host steps.
//
// It takes modules as imported (CHLO ops, calls, composites, dynamic shapes included), never needs the optimizer, and
// shares nothing with the kernel path but hlo/. Numerics: hlo/eval.h and docs/numerics.md; dot and convolution of f32
// and narrower accumulate in f64 in ascending order of the contracted index, so results depend on nothing but the
// inputs. Sums of at most 16 terms of f32 or c64, and folds of at most 16 terms, are rounded to the element type after
// every step, as the specification's formulas read.
#ifndef INTERP_INTERP_H
#define INTERP_INTERP_H

#include <stdatomic.h>

#include "hlo/hlo.h"

// A dense row-major array at run time. dims are concrete, at most INTERP_MAX_RANK.
#define INTERP_MAX_RANK 32
typedef struct interp_array {
  hlo_dtype dtype;  // HLO_TOKEN: no data
  int32_t rank;
  void *data;  // element layout as in hlo/dtypes.def
  int64_t dims[INTERP_MAX_RANK];
} interp_array;

typedef struct interp_program interp_program;

// Compiles the entry computation (verified). The program keeps pointers into the module, which must outlive it.
// UNIMPLEMENTED names the first operation it cannot run and where. Immutable afterwards: may run in several threads.
LEMNOS_NODISCARD lemnos_status interp_compile(const hlo_module *m, interp_program **out_program);
void interp_program_destroy(interp_program *p);
void interp_program_disassemble(const interp_program *p, strbuf *out);  // lemnos opt --emit=interp
int interp_program_n_args(const interp_program *p);                     // leaves of the entry's parameters, in order
int interp_program_n_results(const interp_program *p);                  // leaves of the root's shape

bool interp_custom_call_is_built_in(strv target);

// A custom call implemented by the embedder, for targets that are not built in: args are operand leaves; results have
// dtype, dims and data set up to be filled in.
typedef lemnos_status (*interp_custom_call_fn)(void *user, const hlo_instr *call, int n_args, const interp_array *args,
                                               int n_results, interp_array *results);
typedef struct interp_custom_call {
  const char *target;
  interp_custom_call_fn fn;
  void *user;
} interp_custom_call;

// Where infeed and host transfers come from and outfeed, host transfers and what interpreter.print and probe see go to.
// A callback that is NULL: outfeed and prints are dropped, infeed fails, and host transfers meet each other: a recv
// takes what a send of any device put into the channel. Callbacks come one at a time, from several threads.
typedef struct interp_transfer {
  const hlo_instr *instr;
  int32_t replica_id, partition_id;
  int64_t channel_id;    // send, recv
  int32_t n;             // arrays, without the token
  interp_array *arrays;  // infeed, recv: dtype, dims and data are set up, to be filled in; else: to be read
} interp_transfer;
typedef struct interp_host {
  void *user;
  lemnos_status (*infeed)(void *user, const interp_transfer *t);
  lemnos_status (*outfeed)(void *user, const interp_transfer *t);
  lemnos_status (*send)(void *user, const interp_transfer *t);
  lemnos_status (*recv)(void *user, const interp_transfer *t);
  void (*print)(void *user, strv text);
} interp_host;

// Time per instruction. The caller sets arena, zeroes the rest, and may use it for several runs.
typedef struct interp_profile_row {
  const hlo_instr *instr;
  int64_t calls;
  double seconds, total_seconds;  // own, and with what it runs in turn (bodies, branches, functions)
  struct interp_profile_row *next;
} interp_profile_row;
typedef struct interp_profile {
  arena *arena;
  u64map rows;  // hlo_instr -> interp_profile_row
  interp_profile_row *first;
} interp_profile;
// A table by operation and shapes, most time first.
void interp_profile_print(const interp_profile *p, strbuf *out);

// What a run is at. The run writes it with relaxed stores; another thread may read it at any time. Zeroed by the
// caller.
typedef struct interp_progress {
  _Atomic(const hlo_instr *) now;  // the instruction that runs, of an inner computation too; NULL: none
  atomic_llong done, total;        // instructions of the entry computation and of what it calls; a loop counts as one
  atomic_llong trip, trips;        // of the outermost loop that runs: iterations done, and in all (-1: not known);
                                   // trips 0: no loop runs
  _Atomic(double) loop_since;      // io_seconds() when it began
} interp_progress;
static inline void interp_progress_set(atomic_llong *to, int64_t value) {
  atomic_store_explicit(to, value, memory_order_relaxed);
}
static inline void interp_progress_step(atomic_llong *counter) {  // by the one thread that writes it
  interp_progress_set(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1);
}
static inline void interp_progress_now(interp_progress *p, const hlo_instr *i) {
  atomic_store_explicit(&p->now, i, memory_order_relaxed);
}
void interp_progress_begin_loop(interp_progress *p, int64_t trips);

typedef struct interp_run_options {
  thread_pool *pool;           // NULL: serial. Results are the same
  int64_t max_bytes;           // limit on live buffer memory, 0: none. Beyond: OUT_OF_MEMORY
  double deadline;             // io_seconds() value after which the run ends with CANCELLED; 0: none
  const volatile int *cancel;  // if not NULL and nonzero: CANCELLED
  const interp_custom_call *custom_calls;
  int32_t n_custom_calls;
  int32_t replica_id, partition_id;  // of a run on one device
  const interp_host *host;           // NULL: none
  uint64_t *drawn;  // what rng has drawn before, and then in all: for a run in several pieces. NULL: nothing before
  // out, optional
  interp_progress *progress;
  int64_t *peak_bytes;
  interp_profile *profile;
} interp_run_options;

// Runs the program. args: one per argument leaf, shapes must be what the program was compiled for (dynamic dimensions:
// any size within the bound). results[i].data: if not NULL, room for the result, which is written there (static shapes
// only); if NULL, allocated with heap_try_alloc_aligned, then the caller's to free. All of results is filled in only on
// success. A failed check.* operation gives CHECK_FAILED with its location and the first differing elements. options
// may be NULL.
// A module for several devices (n_replicas * n_partitions) with operations by which they meet runs on that many virtual
// devices, all with these arguments; the results are those of the first.
LEMNOS_NODISCARD lemnos_status interp_run(const interp_program *p, const interp_run_options *options, int n_args,
                                          const interp_array *args, int n_results, interp_array *results);

// Runs n_replicas * n_partitions programs (by replica, then partition; they may be the same) as the processes of one
// grid. args and results: those of the first process, then those of the second, and so on. Collectives and channels
// connect the processes. The processes take turns, in a fixed order: the next one runs when one has to wait. So nothing
// depends on timing, and a deadlock (all that are left wait) is found: FAILED_PRECONDITION says who waits where. If one
// process fails, all end, with its error.
LEMNOS_NODISCARD lemnos_status interp_run_parallel(const interp_program *const *programs, int32_t n_replicas,
                                                   int32_t n_partitions, const interp_run_options *options, int n_args,
                                                   const interp_array *args, int n_results, interp_array *results);
// Does interp_run run the program on more than one virtual device?
bool interp_program_is_parallel(const interp_program *p);

// The live set of a run in bytes, as live.c defines it: arguments, results and constants included. -1: not known
// (dynamic shapes, several devices). Takes time as a run with nothing to compute does.
int64_t interp_program_live_bytes(const interp_program *p);
// literals, which the program borrows from the module
int64_t interp_program_constant_bytes(const interp_program *p);

#endif
