/* SPDX-License-Identifier: Apache-2.0
 *
 * Lemnos: compile StableHLO programs and run them on whatever the machine has.
 *
 *   lemnos_context *ctx;  lemnos_module *m;  lemnos_device *d;  lemnos_executable *exe;
 *   lemnos_context_create(NULL, &ctx);
 *   lemnos_module_load_file(ctx, "model.mlir", &m);
 *   lemnos_device_open(ctx, NULL, &d);                    // LEMNOS_DEVICE, or the best device
 *   lemnos_compile(m, d, NULL, &exe);
 *   lemnos_execute(exe, n_args, args, results, NULL);
 *
 * Ownership: every lemnos_X_create, _open, _load..., lemnos_compile and lemnos_execute gives objects that the caller ends
 * with the matching lemnos_X_free. Objects keep what they depend on alive: they may be freed in any order, except that
 * the context is freed last. Functions write their out parameters only on success.
 *
 * Threads: a context, device, executable may be used from several threads at once. A module must not be used by two
 * calls at once. A buffer may be read (as argument, by lemnos_buffer_read) by several threads at once.
 *
 * Errors: functions that can fail return a lemnos_status: NULL is success, anything else is owned by the caller and ended with
 * lemnos_status_release. lemnos_status_text says what happened, lemnos_status_code_of its class (listed below).
 */
#ifndef LEMNOS_LEMNOS_H
#define LEMNOS_LEMNOS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define LEMNOS_API __declspec(dllexport)
#else
#define LEMNOS_API __attribute__((visibility("default")))
#endif

#define LEMNOS_VERSION_MAJOR 0
#define LEMNOS_VERSION_MINOR 1
#define LEMNOS_VERSION_STRING "0.1.0"

/* --- status: codes 0 ok, 1 invalid argument, 2 unimplemented, 3 not found, 4 out of memory, 5 input/output error,
 * 6 failed precondition, 7 internal, 8 unavailable, 9 cancelled, 10 check failed, 11 corrupt data ------------------- */
typedef struct lemnos_status_record *lemnos_status;
LEMNOS_API const char *lemnos_status_text(lemnos_status status); /* message; valid until freed; "ok" for success */
LEMNOS_API int lemnos_status_code_of(lemnos_status status);      /* 0 for success */
LEMNOS_API void lemnos_status_release(lemnos_status status);     /* NULL allowed */

/* --- element types: names as StableHLO spells them: "f32", "ui8", "i1", "bf16", "complex<f32>" ---------------------- */
#define LEMNOS_MAX_RANK 32
typedef struct lemnos_array {
  const char *dtype; /* static string when it comes from Lemnos */
  int32_t rank;
  int64_t dims[LEMNOS_MAX_RANK];
  /* dense, row-major; i1 one byte (0, 1); i2, i4, f4, f6 one byte an element. NULL where only the type is meant */
  void *data;
} lemnos_array;
LEMNOS_API int64_t lemnos_array_bytes(const lemnos_array *a); /* -1: unknown dtype or overflow */

/* --- context --------------------------------------------------------------------------------------------------------- */
typedef struct lemnos_context lemnos_context;
typedef struct lemnos_context_options {
  const char *cache_dir; /* compiled code of drivers is kept here; NULL: $XDG_CACHE_HOME/lemnos; "": nowhere */
  int32_t threads;       /* for compilation, the CPU device and the interpreter; 0: all usable CPUs */
} lemnos_context_options;
LEMNOS_API lemnos_status lemnos_context_create(const lemnos_context_options *options, lemnos_context **out);
LEMNOS_API void lemnos_context_free(lemnos_context *c);

/* --- custom calls: targets of stablehlo.custom_call that Lemnos does not know, implemented by the embedder on the host ----- */
typedef struct lemnos_custom_call {
  const char *target;
  /* of the call, without its target: backend_config, ...; what the program wrote */
  int32_t n_attributes;
  const char *const *attribute_names;
  const char *const *attribute_values; /* the text of a string, else MLIR's text of the attribute */
  int32_t n_args, n_results;           /* tuples are counted by leaf; tokens are left out */
  const lemnos_array *args;            /* to be read */
  /* data is there, zeroed or not, to be filled in; the types are the program's */
  lemnos_array *results;
} lemnos_custom_call;
/* Everything in *call is valid during the call. Returns NULL, or why it failed (copied at once), which ends the run with
 * UNAVAILABLE. Called from any thread, by several runs at once. */
typedef const char *(*lemnos_custom_call_fn)(void *user, const lemnos_custom_call *call);
/* From now on runs on any device of the context call fn where they meet the target: as a step of the host between the
 * device's own, so that data goes to the host and back (lemnos_executable_explain shows it). Registering a target again
 * replaces its function. A target that is built in is refused. Calls without has_side_effect may be left out, or done
 * once for several with the same operands. Not while another thread uses the context. Results of unknown size are
 * UNIMPLEMENTED. target is copied; user must stay valid as long as the context. */
LEMNOS_API lemnos_status lemnos_custom_call_register(lemnos_context *c, const char *target, lemnos_custom_call_fn fn,
                                                     void *user);

/* --- devices --------------------------------------------------------------------------------------------------------- */
typedef struct lemnos_device lemnos_device;
typedef struct lemnos_device_info {
  char id[64];   /* "cpu:0", "vulkan:1", "interp": what lemnos_device_open takes */
  char kind[24]; /* "discrete GPU", "integrated GPU", "CPU", "software GPU", "interpreter" */
  char name[128], driver[128];
  int64_t memory_bytes;
  bool compile_only;
  char capabilities[512]; /* one line for people */
} lemnos_device_info;
/* All devices in the order of preference; *out_infos is ended with free(). *out_absent (may be NULL; free()): why backends or devices are missing, one line each. */
LEMNOS_API lemnos_status lemnos_devices(lemnos_context *c, lemnos_device_info **out_infos, int32_t *out_n,
                                        char **out_absent);
/* id: "cpu", "vulkan:1", "interp", ...; NULL or "": the environment variable LEMNOS_DEVICE, else the most preferred device.
 * NOT_FOUND lists what there is. */
LEMNOS_API lemnos_status lemnos_device_open(lemnos_context *c, const char *id, lemnos_device **out);
LEMNOS_API void lemnos_device_free(lemnos_device *d);
LEMNOS_API const char *lemnos_device_id(const lemnos_device *d);
LEMNOS_API const char *lemnos_device_name(const lemnos_device *d);

/* --- modules --------------------------------------------------------------------------------------------------------- */
typedef struct lemnos_module lemnos_module;
/* MLIR text, MLIR bytecode (portable artifact) or HLO text. Bytes are copied. name is for messages. */
LEMNOS_API lemnos_status lemnos_module_load(lemnos_context *c, const char *name, const void *data, size_t size,
                                            const char *entry, lemnos_module **out);
LEMNOS_API lemnos_status lemnos_module_load_file(lemnos_context *c, const char *path, lemnos_module **out);
LEMNOS_API void lemnos_module_free(lemnos_module *m);
LEMNOS_API int32_t lemnos_module_n_args(const lemnos_module *m); /* tuples are counted by leaf */
LEMNOS_API int32_t lemnos_module_n_results(const lemnos_module *m);
/* Type of argument or result i; data is NULL; a dimension that is not known is -1. */
LEMNOS_API lemnos_status lemnos_module_arg(const lemnos_module *m, int32_t i, lemnos_array *out);
LEMNOS_API lemnos_status lemnos_module_result(const lemnos_module *m, int32_t i, lemnos_array *out);

/* --- compilation ------------------------------------------------------------------------------------------------------ */
typedef struct lemnos_executable lemnos_executable;
typedef struct lemnos_compile_options {
  const lemnos_array *args; /* concrete argument types for modules with dynamic shapes; NULL: as declared */
  int64_t opt_bisect_limit; /* passes allowed to change something; 0: all */
  bool verify_each;
  /* no constant folding: self-checking programs then compute on the device what they check */
  bool keep_constants;
  int64_t max_bytes; /* limit of the memory that the program's constants take on the device; 0: none */
} lemnos_compile_options;
LEMNOS_API lemnos_status lemnos_compile(lemnos_module *m, lemnos_device *d, const lemnos_compile_options *options,
                                        lemnos_executable **out);
LEMNOS_API void lemnos_executable_free(lemnos_executable *e);
typedef struct lemnos_executable_stats {
  double compile_seconds;
  int64_t peak_bytes; /* arguments, results, constants and temporaries during a run */
  int64_t temp_bytes; /* temporaries, scratch included */
  int64_t scratch_bytes;
  int64_t constant_bytes;
  int32_t n_kernels, n_launches, n_host_steps;
} lemnos_executable_stats;
LEMNOS_API void lemnos_executable_get_stats(const lemnos_executable *e, lemnos_executable_stats *out);
/* What runs where and why, for people; free(). */
LEMNOS_API char *lemnos_executable_explain(const lemnos_executable *e);

/* --- buffers and execution --------------------------------------------------------------------------------------------- */
typedef struct lemnos_buffer lemnos_buffer;
/* copies */
LEMNOS_API lemnos_status lemnos_buffer_from_host(lemnos_device *d, const lemnos_array *a, lemnos_buffer **out);
LEMNOS_API void lemnos_buffer_free(lemnos_buffer *b);
LEMNOS_API void lemnos_buffer_type(const lemnos_buffer *b, lemnos_array *out); /* data NULL */
/* Waits until the buffer is computed, then copies into a->data (whose type must be the buffer's, room included). */
LEMNOS_API lemnos_status lemnos_buffer_read(lemnos_buffer *b, lemnos_array *a);

/* The host's end of a run: where infeed and recv from the host come from, where outfeed, send to the host, and what
 * interpreter.print and interpreter.probe see go. Callbacks come one at a time, from any thread; they return NULL, or why
 * they failed (copied at once), which ends the run. One that is NULL: outfeed and prints are dropped, infeed fails, and
 * host transfers meet each other (a recv takes what a send on its channel gave). */
typedef struct lemnos_transfer {
  int32_t replica_id, partition_id;
  int64_t channel_id; /* send, recv */
  int32_t n;
  /* infeed, recv: data is there to be filled in; outfeed, send: to be read. Valid during the call */
  lemnos_array *arrays;
} lemnos_transfer;
typedef struct lemnos_host {
  void *user;
  const char *(*infeed)(void *user, const lemnos_transfer *t);
  const char *(*outfeed)(void *user, const lemnos_transfer *t);
  const char *(*send)(void *user, const lemnos_transfer *t);
  const char *(*recv)(void *user, const lemnos_transfer *t);
  void (*print)(void *user, const char *text, size_t size); /* not NUL-terminated */
} lemnos_host;

typedef struct lemnos_event lemnos_event;
/* What a run is at. Counts are for people: read while the run goes on, they may be a little apart. On devices that
 * work through a queue, steps count when they are handed to the device. */
typedef struct lemnos_progress {
  double seconds; /* since the run began */
  /* HLO name of the operation that runs ("dot"); NULL: none, the host waits for the device. Static */
  const char *op;
  /* instructions or steps of the whole program; a loop counts as one; total 0: not known yet */
  int64_t done, total;
  int64_t loop_done;   /* iterations of the outermost loop that runs; */
  int64_t loop_total;  /* in all, -1: not known, 0: no loop runs */
  double loop_seconds; /* since that loop began */
} lemnos_progress;
typedef struct lemnos_execute_options {
  /* arguments the program marks as donated may be overwritten: the caller must not use them afterwards */
  bool donate;
  double timeout_seconds;     /* 0: none. Beyond: CANCELLED */
  int64_t max_bytes;          /* limit of the run's memory: constants, temporaries, results; 0: none */
  const volatile int *cancel; /* nonzero: CANCELLED as soon as possible */
  const lemnos_host *host;    /* NULL: none; stays the caller's, valid until the run has ended */
  /* NULL: lemnos_execute returns when all is done. Else it may return early, *event tells when; free it */
  lemnos_event **event;
  /* NULL, or called every progress_seconds (0: every tenth of a second) while the run goes on, first when that time has passed. It is called on
   * a thread of its own, one call at a time, never again once lemnos_execute has returned or the event is ready; the run
   * does not wait for it, but ends no sooner than a call that has begun. It may set *cancel; it must not call Lemnos. `p` is valid during the call. */
  void (*progress)(void *user, const lemnos_progress *p);
  void *progress_user;
  double progress_seconds;
} lemnos_execute_options;
/* args: lemnos_module_n_args buffers of the device; results: lemnos_module_n_results new buffers. options may be NULL. */
LEMNOS_API lemnos_status lemnos_execute(lemnos_executable *e, int32_t n_args, lemnos_buffer *const *args,
                                        int32_t n_results, lemnos_buffer **results,
                                        const lemnos_execute_options *options);
/* the run's own error, once finished; may be called again */
LEMNOS_API lemnos_status lemnos_event_wait(lemnos_event *e);
LEMNOS_API bool lemnos_event_ready(lemnos_event *e);
LEMNOS_API void lemnos_event_free(lemnos_event *e);
/* Host arrays in, host arrays out: results[i].data is allocated by malloc when NULL (then the caller's to free()). */
LEMNOS_API lemnos_status lemnos_execute_host(lemnos_executable *e, int32_t n_args, const lemnos_array *args,
                                             int32_t n_results, lemnos_array *results,
                                             const lemnos_execute_options *options);

/* A module for several processes (mhlo.num_replicas times mhlo.num_partitions; 1 where it does not say). lemnos_execute gives
 * all of them the same arguments and returns the first one's results. */
LEMNOS_API void lemnos_module_grid(const lemnos_module *m, int32_t *out_replicas, int32_t *out_partitions);
/* One run with arguments and results of each process: those of the first, then those of the second, ... (by replica, then
 * partition); n_args and n_results are of all. A deadlock is a FAILED_PRECONDITION that says who waits where. Otherwise as
 * lemnos_execute_host. */
LEMNOS_API lemnos_status lemnos_execute_processes(lemnos_executable *e, int32_t n_args, const lemnos_array *args,
                                                  int32_t n_results, lemnos_array *results,
                                                  const lemnos_execute_options *options);

/* Time per kernel or op of one run, for people. Rows are sorted by time; free() *out. */
LEMNOS_API lemnos_status lemnos_profile(lemnos_executable *e, int32_t n_args, lemnos_buffer *const *args, char **out);

#ifdef __cplusplus
}
#endif
#endif
