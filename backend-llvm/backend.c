// SPDX-License-Identifier: Apache-2.0
// The CPU backend as the registry sees it: opening the LLVM module when it is first needed, memory, and a queue that
// runs each launch at once on the device's thread pool. Items of a grid are handed out in chunks fixed by the grid and
// the number of threads' maximum, and are independent, so results do not depend on threads or timing.
#define _GNU_SOURCE  // dladdr
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend-llvm/codegen.h"
#include "backend-llvm/target.h"

struct backend_state {
  pthread_mutex_t lock;
  void *library;  // of the module; never closed while code of it may run
  const llvm_codegen *codegen;
  pthread_t opener;  // opens the module while the program is still being read
  bool opening;
};

struct backend_memory {
  void *data;
  int64_t size;
  size_t room;
};

// Large blocks given back are kept for a while, the latest last: fresh pages cost as much as writing them once.
enum { KEPT_BLOCKS = 16, KEPT_LEAST = 1 << 20, KEPT_MOST = 512 << 20 };

struct backend_device {
  backend_state *state;
  thread_pool *pool;
  pthread_mutex_t lock;  // of what follows
  backend_memory *kept[KEPT_BLOCKS];
  int n_kept;
  size_t kept_bytes;
};

struct backend_program {
  backend_state *state;
  llvm_loaded *loaded;
  llvm_kernel_fn *functions;
  int64_t *grid;
  int32_t *grain, *n_params;
  int64_t *scratch;
  int n;
};

struct backend_queue {
  backend_device *device;
  void **scratch;  // per thread
  int64_t *scratch_size;
  bool profiling;
  VEC(double) seconds;
};

static lemnos_status backend_open(const char *cache_dir, backend_state **out) {
  (void)cache_dir;
  backend_state *s = heap_alloc(sizeof *s);
  pthread_mutex_init(&s->lock, NULL);
  *out = s;
  return LEMNOS_SUCCESS;
}

static void backend_close(backend_state *s) {
  if (s->opening) pthread_join(s->opener, NULL);
  pthread_mutex_destroy(&s->lock);
  free(s);  // libLLVM stays: its static destructors and its threads make unloading unsafe
}

// --- the module ----------------------------------------------------------------------------------

// Beside the executable or library that this code is in, in the build tree or installed; LEMNOS_LLVM_MODULE overrides.
static void *open_library(strbuf *tried) {
  const char *name = "liblemnos-llvm.so", *forced = getenv("LEMNOS_LLVM_MODULE");
  const char *folders[] = {"",        "backend-llvm/",       "../backend-llvm/",      "../lib/lemnos/",
                           "lemnos/", "../../backend-llvm/", "../../../backend-llvm/"};
  void *handle;
  if (forced && *forced) {
    handle = dlopen(forced, RTLD_NOW | RTLD_LOCAL);
    if (!handle) strbuf_printf(tried, "%s", dlerror());
    return handle;
  }
  Dl_info info;
  char path[PATH_MAX * 2];
  if (!dladdr((void *)backend_open, &info) || !realpath(info.dli_fname, path)) return NULL;
  char *slash = strrchr(path, '/');
  size_t room = slash ? (size_t)(slash + 1 - path) : 0;
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    snprintf(path + room, sizeof path - room, "%s%s", folders[i], name);
    if (access(path, R_OK) != 0) continue;
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle) return handle;
    strbuf_printf(tried, "%s", dlerror());
    return NULL;
  }
  path[room] = 0;
  strbuf_printf(tried, "%s was not found near %s", name, path);
  return NULL;
}

static lemnos_status get_codegen(backend_state *s, const llvm_codegen **out) {
  pthread_mutex_lock(&s->lock);
  lemnos_status status = LEMNOS_SUCCESS;
  if (!s->codegen) {
    strbuf tried = {0};
    s->library = open_library(&tried);
    const llvm_codegen *c = s->library ? dlsym(s->library, LLVM_CODEGEN_SYMBOL) : NULL;
    if (c && c->abi == LLVM_CODEGEN_ABI) {
      c->initialize();
      s->codegen = c;
    } else {
      status = lemnos_status_make(LEMNOS_UNAVAILABLE, "the CPU code generator could not be opened: %s",
                                  tried.data ? tried.data : "wrong version");
    }
    strbuf_deinit(&tried);
  }
  *out = s->codegen;
  pthread_mutex_unlock(&s->lock);
  return status;
}

static void *open_early(void *p) {
  const llvm_codegen *c;
  lemnos_status_free(get_codegen(p, &c));  // a failure is met again by whoever needs the module
  return NULL;
}

// A device that is opened will compile: libLLVM takes tens of milliseconds to map and relocate, which the reading of
// the program hides.
static void start_opening(backend_state *s) {
  pthread_mutex_lock(&s->lock);
  if (!s->codegen && !s->opening) s->opening = pthread_create(&s->opener, NULL, open_early, s) == 0;
  pthread_mutex_unlock(&s->lock);
}

static lemnos_status parse_target(backend_state *s, strv spec, hlo_target *out) {
  (void)s;
  return llvm_target_parse(spec, out);
}

static lemnos_status compile(backend_state *s, const hlo_target *t, kernel *const *kernels, int n, thread_pool *pool,
                             backend_code *out) {
  const llvm_codegen *c;
  LEMNOS_TRY(get_codegen(s, &c));
  return c->compile(t, kernels, n, pool, out);
}

static lemnos_status emit_text(backend_state *s, const hlo_target *t, const kernel *k, backend_emit what, strbuf *out) {
  const llvm_codegen *c;
  LEMNOS_TRY(get_codegen(s, &c));
  return c->emit_text(t, k, what, out);
}

// --- device --------------------------------------------------------------------------------------

static void cpu_name(char *out, size_t room) {
  snprintf(out, room, "CPU");
  FILE *f = fopen("/proc/cpuinfo", "r");
  char line[256];
  while (f && fgets(line, sizeof line, f)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon) continue;
    line[strcspn(line, "\n")] = 0;
    snprintf(out, room, "%s", colon + 2);
    break;
  }
  if (f) fclose(f);
}

static lemnos_status enumerate(backend_state *s, int max, backend_device_info *out, int *out_n, strbuf *why) {
  (void)s;
  (void)why;
  *out_n = 0;
  if (max < 1) return LEMNOS_SUCCESS;
  memset(out, 0, sizeof *out);
  cpu_name(out->name, sizeof out->name);
  snprintf(out->driver, sizeof out->driver, "LLVM " LEMNOS_LLVM_VERSION);
  out->kind = BACKEND_CPU;
  llvm_target_host(0, &out->target);
  out->memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  *out_n = 1;
  return LEMNOS_SUCCESS;
}

static lemnos_status device_open(backend_state *s, int ordinal, int threads, backend_device **out) {
  (void)ordinal;
  thread_pool *pool;
  LEMNOS_TRY(thread_pool_create(threads, &pool));
  start_opening(s);
  backend_device *d = heap_alloc(sizeof *d);
  d->state = s;
  d->pool = pool;
  pthread_mutex_init(&d->lock, NULL);
  *out = d;
  return LEMNOS_SUCCESS;
}

// Takes kept block n out of the list.
static backend_memory *take_kept(backend_device *d, int n) {
  backend_memory *m = d->kept[n];
  d->n_kept--;
  d->kept_bytes -= m->room;
  memmove(&d->kept[n], &d->kept[n + 1], sizeof *d->kept * (size_t)(d->n_kept - n));
  return m;
}

static void release_memory(backend_memory *m) {
  free(m->data);
  free(m);
}

static void release_kept(backend_device *d) {
  pthread_mutex_lock(&d->lock);
  while (d->n_kept) release_memory(take_kept(d, d->n_kept - 1));
  pthread_mutex_unlock(&d->lock);
}

static void device_close(backend_device *d) {
  release_kept(d);
  pthread_mutex_destroy(&d->lock);
  thread_pool_destroy(d->pool);
  free(d);
}

// A kept block of that size or an eighth more, or NULL.
static backend_memory *reuse(backend_device *d, size_t room) {
  backend_memory *m = NULL;
  pthread_mutex_lock(&d->lock);
  for (int i = d->n_kept - 1; i >= 0 && !m; i--)
    if (d->kept[i]->room >= room && d->kept[i]->room - room <= room / 8) m = take_kept(d, i);
  pthread_mutex_unlock(&d->lock);
  return m;
}

static lemnos_status alloc(backend_device *d, int64_t size, backend_memory **out) {
  size_t room = ((size_t)size + 255) / 256 * 256 + 256;
  backend_memory *m = room >= KEPT_LEAST ? reuse(d, room) : NULL;
  if (!m) {
    size_t huge = (size_t)2 << 20, align = (size_t)size >= huge ? huge : 256;
    m = heap_alloc(sizeof *m);
    m->room = room;
    if (posix_memalign(&m->data, align, room) != 0) {
      release_kept(d);
      if (posix_memalign(&m->data, align, room) != 0) {
        free(m);
        return lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "no memory for a CPU buffer of %lld bytes", (long long)size);
      }
    }
#ifdef MADV_HUGEPAGE
    if (align > 256) madvise(m->data, room & ~(huge - 1), MADV_HUGEPAGE);
#endif
  }
  m->size = size;
  *out = m;
  return LEMNOS_SUCCESS;
}

static void free_memory(backend_device *d, backend_memory *m) {
  if (!m) return;
  if (m->room < KEPT_LEAST || m->room > KEPT_MOST) {
    release_memory(m);
    return;
  }
  pthread_mutex_lock(&d->lock);
  while (d->n_kept == KEPT_BLOCKS || (d->n_kept && d->kept_bytes + m->room > KEPT_MOST))
    release_memory(take_kept(d, 0));
  d->kept[d->n_kept++] = m;
  d->kept_bytes += m->room;
  pthread_mutex_unlock(&d->lock);
}

static void *map(backend_device *d, backend_memory *m) {
  (void)d;
  return m->data;
}

static lemnos_status upload(backend_device *d, backend_memory *m, int64_t offset, const void *data, int64_t size) {
  (void)d;
  memcpy((char *)m->data + offset, data, (size_t)size);
  return LEMNOS_SUCCESS;
}

static lemnos_status download(backend_device *d, backend_memory *m, int64_t offset, void *data, int64_t size) {
  (void)d;
  memcpy(data, (char *)m->data + offset, (size_t)size);
  return LEMNOS_SUCCESS;
}

// --- code ----------------------------------------------------------------------------------------

static void unload(backend_device *d, backend_program *p) {
  (void)d;
  if (p->loaded) p->state->codegen->unload(p->loaded);
  free(p->grid), free(p->grain), free(p->n_params), free(p->scratch);
  free(p);
}

static lemnos_status load(backend_device *d, const backend_code *code, kernel *const *kernels, int n,
                          backend_program **out) {
  const llvm_codegen *c;
  LEMNOS_TRY(get_codegen(d->state, &c));
  backend_program *p = heap_alloc(sizeof *p);
  p->state = d->state;
  p->n = n;
  size_t room = (size_t)n + 1;
  p->grid = heap_alloc(sizeof *p->grid * room);
  p->grain = heap_alloc(sizeof *p->grain * room);
  p->n_params = heap_alloc(sizeof *p->n_params * room);
  p->scratch = heap_alloc(sizeof *p->scratch * room);
  for (int i = 0; i < n; i++) {
    p->grid[i] = kernels[i]->grid;
    p->grain[i] = kernels[i]->grain > 0 ? kernels[i]->grain : 1;
    p->n_params[i] = kernels[i]->n_params;
    p->scratch[i] = llvm_scratch_bytes(kernels[i]);
  }
  lemnos_status status = c->load(code, n, &p->loaded, &p->functions);
  if (status) {
    unload(d, p);
    return status;
  }
  *out = p;
  return LEMNOS_SUCCESS;
}

// --- queue ---------------------------------------------------------------------------------------

static lemnos_status queue_create(backend_device *d, backend_queue **out) {
  backend_queue *q = heap_alloc(sizeof *q);
  q->device = d;
  size_t n = (size_t)thread_pool_size(d->pool);
  q->scratch = heap_alloc(sizeof *q->scratch * n);
  q->scratch_size = heap_alloc(sizeof *q->scratch_size * n);
  *out = q;
  return LEMNOS_SUCCESS;
}

static void queue_destroy(backend_queue *q) {
  for (int i = 0; i < thread_pool_size(q->device->pool); i++) heap_aligned_free(q->scratch[i]);
  free(q->scratch);
  free(q->scratch_size);
  vec_deinit(&q->seconds);
  free(q);
}

static lemnos_status reserve_scratch(backend_queue *q, int64_t bytes) {
  for (int i = 0; bytes && i < thread_pool_size(q->device->pool); i++) {
    if (q->scratch_size[i] >= bytes) continue;
    heap_aligned_free(q->scratch[i]);
    q->scratch_size[i] = 0;
    q->scratch[i] = heap_try_alloc_aligned((size_t)bytes);
    if (!q->scratch[i])
      return lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "no memory for %lld bytes of scratch", (long long)bytes);
    q->scratch_size[i] = bytes;
  }
  return LEMNOS_SUCCESS;
}

typedef struct launch_job {
  llvm_kernel_fn fn;
  void *const *params;
  int64_t grid, chunk;
  void *const *scratch;
} launch_job;

static void run_chunk(void *ctx, int64_t index, int thread) {
  const launch_job *j = ctx;
  int64_t begin = index * j->chunk, end = begin + j->chunk < j->grid ? begin + j->chunk : j->grid;
  j->fn(j->params, begin, end, j->scratch[thread]);
}

static lemnos_status launch(backend_queue *q, backend_program *p, int kernel, const backend_binding *bindings) {
  void *params[64], **list = params;
  int n = p->n_params[kernel];
  if (n > 64) list = heap_alloc(sizeof *list * (size_t)n);
  for (int i = 0; i < n; i++)
    list[i] = bindings[i].memory ? (char *)bindings[i].memory->data + bindings[i].offset : NULL;
  double start = q->profiling ? io_seconds() : 0;
  lemnos_status status = reserve_scratch(q, p->scratch[kernel]);
  if (!status) {
    int64_t grid = p->grid[kernel], grain = p->grain[kernel];
    int threads = thread_pool_size(q->device->pool);
    int64_t chunks = threads > 1 ? (grid + grain - 1) / grain : 1;
    if (chunks > threads * 8) chunks = threads * 8;  // a few per thread level out uneven ones
    if (chunks < 1) chunks = 1;
    launch_job j = {.fn = p->functions[kernel],
                    .params = list,
                    .grid = grid,
                    .chunk = (grid + chunks - 1) / chunks,
                    .scratch = q->scratch};
    if (chunks == 1)
      run_chunk(&j, 0, 0);
    else
      thread_pool_run(q->device->pool, (grid + j.chunk - 1) / j.chunk, run_chunk, &j);
  }
  if (q->profiling) vec_push(NULL, &q->seconds, io_seconds() - start);
  if (list != params) free(list);
  return status;
}

static lemnos_status copy(backend_queue *q, backend_binding dst, backend_binding src) {
  (void)q;
  memmove((char *)dst.memory->data + dst.offset, (char *)src.memory->data + src.offset, (size_t)dst.size);
  return LEMNOS_SUCCESS;
}

static lemnos_status submit(backend_queue *q) {
  (void)q;
  return LEMNOS_SUCCESS;
}

static lemnos_status profile_begin(backend_queue *q) {
  q->profiling = true;
  q->seconds.len = 0;
  return LEMNOS_SUCCESS;
}

static lemnos_status profile_end(backend_queue *q, int max, double *seconds, int *out_n) {
  q->profiling = false;
  int n = q->seconds.len < max ? q->seconds.len : max;
  if (n) memcpy(seconds, q->seconds.data, sizeof *seconds * (size_t)n);
  *out_n = n;
  return LEMNOS_SUCCESS;
}

extern const lemnos_backend lemnos_backend_llvm;
const lemnos_backend lemnos_backend_llvm = {
    .name = "llvm",
    .device_prefix = "cpu",
    .open = backend_open,
    .close = backend_close,
    .target_parse = parse_target,
    .compile = compile,
    .emit_text = emit_text,
    .enumerate = enumerate,
    .device_open = device_open,
    .device_close = device_close,
    .alloc = alloc,
    .free = free_memory,
    .map = map,
    .upload = upload,
    .download = download,
    .load = load,
    .unload = unload,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .launch = launch,
    .copy = copy,
    .submit = submit,
    .wait = submit,
    .profile_begin = profile_begin,
    .profile_end = profile_end,
};
