// SPDX-License-Identifier: Apache-2.0
// The whole contract between Lemnos and a family of devices. A folder backend-NAME/ that defines one
//     const lemnos_backend lemnos_backend_NAME
// and lists itself in its meson.build is all it takes to add one (docs/adding-a-device.md).
//
// Two halves that can exist without each other: the *target* half (describe, generate code: needs no hardware, so code
// for absent devices can be made) and the *device* half (enumerate, allocate, copy, load, launch, synchronise).
//
// Threading: target functions may be called from several threads at once. Device functions may be called from several
// threads at once; a queue belongs to one thread at a time. Errors: every status message says what was tried.
#ifndef RUNTIME_BACKEND_H
#define RUNTIME_BACKEND_H

#include "base/base.h"
#include "hlo/kernel/kernel.h"
#include "hlo/target.h"

typedef struct lemnos_backend lemnos_backend;
typedef struct backend_state backend_state;      // a backend's own: loaded libraries, instance
typedef struct backend_device backend_device;    // an opened device
typedef struct backend_memory backend_memory;    // a device allocation
typedef struct backend_program backend_program;  // loaded code
typedef struct backend_queue backend_queue;

typedef enum backend_device_kind {  // registry order
  BACKEND_DISCRETE_GPU,
  BACKEND_INTEGRATED_GPU,
  BACKEND_CPU,
  BACKEND_SOFTWARE_GPU,
  BACKEND_OTHER,
  BACKEND_INTERPRETER,
} backend_device_kind;

typedef struct backend_device_info {
  char name[128];    // "llvmpipe (LLVM 15.0.6, 256 bits)"
  char driver[128];  // driver and version
  backend_device_kind kind;
  bool compile_only;  // RADV null hardware: code can be generated, nothing runs
  hlo_target target;
  int64_t memory_bytes;
} backend_device_info;

// Result of code generation: one blob per kernel or one for all, position-independent bytes that backend->load accepts
// and that a file may hold. Heap-owned by the caller: backend_code_deinit.
typedef struct backend_code {
  void *data;
  size_t size;
} backend_code;
static inline void backend_code_deinit(backend_code *c) {
  heap_aligned_free(c->data);
  c->data = NULL;
}

// llvm | spirv text; asm; driver statistics
typedef enum backend_emit { BACKEND_EMIT_IR, BACKEND_EMIT_ASM, BACKEND_EMIT_STATS } backend_emit;

// One buffer binding: range of an allocation.
typedef struct backend_binding {
  backend_memory *memory;
  int64_t offset, size;
} backend_binding;

struct lemnos_backend {
  const char *name;           // "llvm", "spirv", "cuda"
  const char *device_prefix;  // "cpu", "vulkan", "cuda": devices are PREFIX:N

  // Opens libraries. UNAVAILABLE with a reason ("libvulkan.so.1 not found") leaves the backend out, said by `lemnos
  // devices`.
  // Must be quick (no LLVM is opened before it is needed). cache_dir: where compiled code may be kept, NULL: nowhere.
  lemnos_status (*open)(const char *cache_dir, backend_state **out);
  void (*close)(backend_state *s);

  // --- target half
  // Describes a target by name without a device ("cpu", "cpu:avx2", "radv:navi21"); NOT_FOUND if the name is not this
  // backend's.
  lemnos_status (*target_parse)(backend_state *s, strv spec, hlo_target *out);
  // Finished kernels (kernel_finish ran for this target) to loadable code. pool may be NULL.
  lemnos_status (*compile)(backend_state *s, const hlo_target *t, kernel *const *kernels, int n, thread_pool *pool,
                           backend_code *out);
  // For people: one kernel as IR, assembly or statistics; UNIMPLEMENTED if there is no such form.
  lemnos_status (*emit_text)(backend_state *s, const hlo_target *t, const kernel *k, backend_emit what, strbuf *out);

  // --- device half
  // Describes devices 0..*n-1; at most max. Devices that are unusable are left out and described in `why` (one line
  // each).
  lemnos_status (*enumerate)(backend_state *s, int max, backend_device_info *out, int *out_n, strbuf *why);
  // threads 0: all (CPU)
  lemnos_status (*device_open)(backend_state *s, int ordinal, int threads, backend_device **out);
  void (*device_close)(backend_device *d);

  // Memory: aligned to 256, room padded to 4 bytes and never empty. OUT_OF_MEMORY names the size.
  lemnos_status (*alloc)(backend_device *d, int64_t size, backend_memory **out);
  void (*free)(backend_device *d, backend_memory *m);  // nothing on a queue uses it any more
  // Host address of the memory if the host can read and write it directly (coherent once queue_wait has returned), else
  // NULL.
  void *(*map)(backend_device *d, backend_memory *m);
  // Blocking copies, for devices whose memory is not mapped; never while a queue writes the range.
  lemnos_status (*upload)(backend_device *d, backend_memory *m, int64_t offset, const void *data, int64_t size);
  lemnos_status (*download)(backend_device *d, backend_memory *m, int64_t offset, void *data, int64_t size);
  // Optional (NULL if absent): memory of the caller's, used in place until freed. FAILED_PRECONDITION if it cannot
  // (alignment).
  lemnos_status (*import_host)(backend_device *d, void *data, int64_t size, backend_memory **out);

  // Code: kernels in the order given to compile. Warm: ready to launch without compiling later.
  lemnos_status (*load)(backend_device *d, const backend_code *code, kernel *const *kernels, int n,
                        backend_program **out);
  void (*unload)(backend_device *d, backend_program *p);

  // Queue: launches and copies in order of hazards: an operation sees the writes of all before it that touch the same
  // ranges.
  // Work may be held back until submit. A failure while running is reported by wait (and by everything after).
  lemnos_status (*queue_create)(backend_device *d, backend_queue **out);
  void (*queue_destroy)(backend_queue *q);  // waits
  lemnos_status (*launch)(backend_queue *q, backend_program *p, int kernel, const backend_binding *bindings);
  lemnos_status (*copy)(backend_queue *q, backend_binding dst, backend_binding src);  // sizes equal
  lemnos_status (*submit)(backend_queue *q);
  lemnos_status (*wait)(backend_queue *q);  // submits, then waits for all
  // Optional: profiling. After profile_begin, each launch is timed; profile_end (after wait) gives seconds per launch
  // in order.
  lemnos_status (*profile_begin)(backend_queue *q);
  lemnos_status (*profile_end)(backend_queue *q, int max, double *seconds, int *out_n);
};

#endif
