// SPDX-License-Identifier: Apache-2.0
// The device half of the backend: allocation, copies, hazards, queues on several threads, profiling, staging, the
// pipeline cache, damaged code, refusals, and silence of the validation layers.
#include <glob.h>
#include <sys/stat.h>

#include "tests/backend-spirv/spirv_test.h"

static const lemnos_backend *const B = &lemnos_backend_spirv;

// p1[i] = p0[i] * factor + 1
static kernel *scale_kernel(arena *a, int64_t n, int factor) {
  kernel_param params[] = {param_of(KERNEL_I32, n, true), param_of(KERNEL_I32, n, false)};
  kernel *k = kernel_create(a, STRV("scale"), 2, params, n, 0, KERNEL_I32);
  kernel_builder b = kernel_builder_create(k);
  val item = kernel_item(&b), x = kernel_load(&b, kernel_param_mem(0), item, 1, 1, NULL);
  x = kernel_bin(&b, KERNEL_OP_ADD, kernel_bin(&b, KERNEL_OP_MUL, x, kernel_index(&b, factor)), kernel_index(&b, 1));
  kernel_store(&b, kernel_param_mem(1), item, x, 1, NULL);
  return k;
}

static backend_program *load_kernels(rig *r, backend_device *d, const hlo_target *t, kernel **k, int n) {
  backend_code code;
  backend_program *p;
  ASSERT_OK(B->compile(r->state, t, k, n, NULL, &code));
  ASSERT_OK(B->load(d, &code, k, n, &p));
  backend_code_deinit(&code);
  return p;
}

// 1,500 dependent launches and copies through two buffers, submitted in pieces: x -> 3 x + 1 -> copy -> ... in 32 bits.
static void chain(backend_device *d, backend_program *p, int start) {
  enum { N = 200, STEPS = 500 };
  backend_queue *q;
  backend_memory *x, *y;
  int32_t data[N], want[N];
  ASSERT_OK(B->queue_create(d, &q));
  ASSERT_OK(B->alloc(d, sizeof data, &x));
  ASSERT_OK(B->alloc(d, 2 * 1024, &y));
  for (int i = 0; i < N; i++) data[i] = want[i] = start + i;
  ASSERT_OK(B->upload(d, x, 0, data, sizeof data));
  backend_binding bx = {x, 0, sizeof data}, by = {y, 0, sizeof data}, bz = {y, 1024, sizeof data};
  for (int s = 0; s < STEPS; s++) {
    ASSERT_OK(B->launch(q, p, 0, (backend_binding[]){bx, by}));
    ASSERT_OK(B->copy(q, bz, by));
    ASSERT_OK(B->copy(q, bx, bz));
    if (s % 50 == 49) ASSERT_OK(B->submit(q));
    for (int i = 0; i < N; i++) want[i] = (int32_t)((uint32_t)want[i] * 3u + 1u);
  }
  ASSERT_OK(B->wait(q));
  ASSERT_OK(B->download(d, x, 0, data, sizeof data));
  for (int i = 0; i < N; i++) ASSERT_QUICK(data[i] == want[i]);
  B->queue_destroy(q);
  B->free(d, x);
  B->free(d, y);
}

static void chain_on(rig *r, backend_device *d, const hlo_target *t) {
  arena *a = arena_create();
  kernel *k = scale_kernel(a, 200, 3);
  backend_program *p = load_kernels(r, d, t, &k, 1);
  chain(d, p, 5);
  B->unload(d, p);
  arena_destroy(a);
}
START_TEST(hazards) {
  each_device(chain_on);
}
END_TEST

typedef struct worker {
  rig *r;
  backend_device *d;
  backend_program *p;
} worker;
static void chain_task(void *ctx, int64_t i, int thread) {
  worker *w = ctx;
  chain(w->d, w->p, (int)i * 1000);
}

static void threads_on(rig *r, backend_device *d, const hlo_target *t) {
  arena *a = arena_create();
  kernel *k = scale_kernel(a, 200, 3);
  worker w = {r, d, load_kernels(r, d, t, &k, 1)};
  thread_pool *pool;
  ASSERT_OK(thread_pool_create(4, &pool));
  thread_pool_run(pool, 8, chain_task, &w);
  thread_pool_destroy(pool);
  B->unload(d, w.p);
  arena_destroy(a);
}
START_TEST(queues_on_threads) {
  each_device(threads_on);
}
END_TEST

static void allocation_on(rig *r, backend_device *d, const hlo_target *t) {
  enum { N = 200 };
  backend_memory *m[N] = {0};
  uint32_t seed = 1;
  char *mapped[N];
  int64_t sizes[N];
  for (int round = 0; round < 1000; round++) {
    seed = seed * 1664525u + 1013904223u;
    int i = (int)(seed >> 8) % N;
    if (m[i]) {
      for (int64_t c = 0; c < sizes[i]; c += 997) ASSERT_QUICK(mapped[i][c] == (char)i);
      B->free(d, m[i]);
      m[i] = NULL;
    } else {
      sizes[i] = (seed >> 4) % 200000;
      ASSERT_OK(B->alloc(d, sizes[i], &m[i]));
      mapped[i] = B->map(d, m[i]);
      ck_assert_ptr_nonnull(mapped[i]);
      ASSERT_QUICK((uintptr_t)(m[i]->offset) % 256 == 0);
      memset(mapped[i], i, (size_t)sizes[i]);
    }
  }
  for (int i = 0; i < N; i++)
    if (m[i]) {
      for (int64_t c = 0; c < sizes[i]; c += 997) ASSERT_QUICK(mapped[i][c] == (char)i);
      B->free(d, m[i]);
    }
  for (int b = 0; b < d->blocks.len; b++) {  // all has come back, as one hole a block
    ck_assert_int_eq(d->blocks.data[b]->holes.len, 1);
    ck_assert_int_eq(d->blocks.data[b]->holes.data[0].size, d->blocks.data[b]->size);
  }
  backend_memory *big;
  ASSERT_OK(B->alloc(d, 100 << 20, &big));
  B->free(d, big);
  ASSERT_FAILS(B->alloc(d, t->max_alloc + 1, &big), LEMNOS_OUT_OF_MEMORY, "bytes");
}
START_TEST(allocation) {
  each_device(allocation_on);
}
END_TEST

static void profile_on(rig *r, backend_device *d, const hlo_target *t) {
  arena *a = arena_create();
  kernel *k = scale_kernel(a, 200, 3);
  backend_program *p = load_kernels(r, d, t, &k, 1);
  backend_queue *q;
  backend_memory *x;
  double seconds[1000];
  int n = 0;
  ASSERT_OK(B->queue_create(d, &q));
  ASSERT_OK(B->alloc(d, 2048, &x));
  ASSERT_OK(B->profile_begin(q));
  for (int i = 0; i < 700; i++) ASSERT_OK(B->launch(q, p, 0, (backend_binding[]){{x, 0, 800}, {x, 1024, 800}}));
  ASSERT_OK(B->profile_end(q, 1000, seconds, &n));
  ck_assert_int_eq(n, 700);
  for (int i = 0; i < n; i++) ck_assert(seconds[i] >= 0 && seconds[i] < 1);
  ASSERT_OK(B->launch(q, p, 0, (backend_binding[]){{x, 0, 800}, {x, 1024, 800}}));  // unprofiled again
  ASSERT_OK(B->wait(q));
  B->queue_destroy(q);
  B->free(d, x);
  B->unload(d, p);
  arena_destroy(a);
}
START_TEST(profiling) {
  each_device(profile_on);
}
END_TEST

static void refusals_on(rig *r, backend_device *d, const hlo_target *t) {
  arena *a = arena_create();
  kernel *k = scale_kernel(a, 200, 3);
  backend_code code;
  backend_program *p;
  ASSERT_OK(B->compile(r->state, t, &k, 1, NULL, &code));
  uint32_t *words = code.data;
  for (size_t cut = 0; cut < code.size; cut += 97) {
    backend_code shorter = {code.data, cut};
    lemnos_status s = B->load(d, &shorter, &k, 1, &p);
    ck_assert_int_eq(lemnos_status_get_code(s), LEMNOS_DATA_LOSS);
    lemnos_status_free(s);
  }
  words[0] ^= 1;
  ASSERT_FAILS(B->load(d, &code, &k, 1, &p), LEMNOS_DATA_LOSS, "damaged");
  words[0] ^= 1;
  words[4] = 0x7fffffff;  // number of words
  ASSERT_FAILS(B->load(d, &code, &k, 1, &p), LEMNOS_DATA_LOSS, "damaged");
  backend_code_deinit(&code);
  p = load_kernels(r, d, t, &k, 1);
  backend_queue *q;
  backend_memory *x;
  ASSERT_OK(B->queue_create(d, &q));
  ASSERT_OK(B->alloc(d, 2048, &x));
  ASSERT_FAILS(B->launch(q, p, 1, NULL), LEMNOS_INTERNAL, "no kernel 1");
  ASSERT_FAILS(B->launch(q, p, 0, (backend_binding[]){{x, 0, 800}, {x, 1500, 800}}), LEMNOS_INTERNAL,
               "outside its allocation");
  ASSERT_FAILS(B->launch(q, p, 0, (backend_binding[]){{x, 0, 800}, {x, 1026, 800}}), LEMNOS_INTERNAL, "not a multiple");
  ASSERT_FAILS(B->launch(q, p, 0, (backend_binding[]){{x, 4, 800}, {x, 1024, 800}}), LEMNOS_INTERNAL, "less aligned");
  ASSERT_FAILS(B->copy(q, (backend_binding){x, 0, 100}, (backend_binding){x, 50, 100}), LEMNOS_INTERNAL, "overlapping");
  ASSERT_OK(B->launch(q, p, 0, (backend_binding[]){{x, 0, 800}, {x, 1024, 800}}));
  ASSERT_OK(B->wait(q));  // refusals leave the queue usable
  B->queue_destroy(q);
  B->free(d, x);
  B->unload(d, p);
  arena_destroy(a);
  ASSERT_FAILS(B->device_open(r->state, 99, 1, &d), LEMNOS_NOT_FOUND, "vulkan:99");
}
START_TEST(refusals) {
  each_device(refusals_on);
}
END_TEST

// A program of no kernels, and many kernels loaded in parallel.
static void programs_on(rig *r, backend_device *d, const hlo_target *t) {
  arena *a = arena_create();
  kernel *k[9];
  for (int i = 0; i < 9; i++) k[i] = scale_kernel(a, 50, i);
  backend_program *none = load_kernels(r, d, t, k, 0), *p = load_kernels(r, d, t, k, 9);
  backend_queue *q;
  backend_memory *x;
  ASSERT_OK(B->queue_create(d, &q));
  ASSERT_OK(B->alloc(d, 10 * 256, &x));
  for (int i = 0; i < 10 * 64; i++) ((int32_t *)B->map(d, x))[i] = 2;
  for (int i = 0; i < 9; i++) ASSERT_OK(B->launch(q, p, i, (backend_binding[]){{x, 0, 200}, {x, (i + 1) * 256, 200}}));
  ASSERT_OK(B->wait(q));
  for (int i = 0; i < 9; i++) ck_assert_int_eq(((int32_t *)B->map(d, x))[(i + 1) * 64 + 49], 2 * i + 1);
  B->queue_destroy(q);
  B->free(d, x);
  B->unload(d, p);
  B->unload(d, none);
  arena_destroy(a);
}
START_TEST(programs) {
  each_device(programs_on);
}
END_TEST

// Memory that the host cannot map, as on discrete GPUs.
START_TEST(staging) {
  rig r;
  if (!rig_open_at(&r, NULL)) return;
  r.state->force_staging = true;
  rig_list(&r);
  for (int i = 0; i < r.n; i++) {
    backend_device *d;
    backend_memory *m;
    enum { SIZE = 9 << 20 };
    if (r.infos[i].compile_only) continue;
    ASSERT_OK(B->device_open(r.state, i, 1, &d));
    ASSERT_OK(B->alloc(d, SIZE + 100, &m));
    ck_assert_ptr_null(B->map(d, m));
    char *up = heap_alloc(SIZE), *down = heap_alloc(SIZE);
    for (int c = 0; c < SIZE; c++) up[c] = (char)(c * 31 >> 3);
    ASSERT_OK(B->upload(d, m, 44, up, SIZE));
    ASSERT_OK(B->download(d, m, 44, down, SIZE));
    ck_assert_int_eq(memcmp(up, down, SIZE), 0);
    ASSERT_FAILS(B->upload(d, m, 512, up, SIZE), LEMNOS_INVALID_ARGUMENT, "of an allocation");
    chain_on(&r, d, &r.infos[i].target);
    free(up);
    free(down);
    B->free(d, m);
    B->device_close(d);
  }
  rig_close(&r);
}
END_TEST

// --- the cache -----------------------------------------------------------------------------------

static void use_cache(const char *dir) {
  rig r;
  if (!rig_open_at(&r, dir)) return;
  rig_list(&r);
  for (int i = 0; i < r.n; i++) {
    backend_device *d;
    if (r.infos[i].compile_only) continue;
    ASSERT_OK(B->device_open(r.state, i, 1, &d));
    chain_on(&r, d, &r.infos[i].target);
    B->device_close(d);
  }
  rig_close(&r);
}

START_TEST(pipeline_cache) {
  char dir[] = "/tmp/lemnos-cache-XXXXXX", path[600];
  ck_assert_ptr_nonnull(mkdtemp(dir));
  use_cache(dir);
  // Damaged files under every name a device uses are ignored.
  rig r;
  if (!rig_open(&r)) return;
  for (int i = 0; i < r.n; i++) {
    const vulkan_gpu *g = &r.state->gpus[i];
    int n = snprintf(path, sizeof path, "%s/vulkan-%04x-%04x-", dir, g->vendor, g->device);
    for (int b = 0; b < VK_UUID_SIZE; b++) n += snprintf(path + n, sizeof path - (size_t)n, "%02x", g->cache_uuid[b]);
    snprintf(path + n, sizeof path - (size_t)n, "-%08x-1.cache", g->driver_version);
    FILE *f = fopen(path, "wb");
    fprintf(f, "LMNVKPC1 this is no pipeline cache at all, but long enough to be one");
    fclose(f);
  }
  rig_close(&r);
  use_cache(dir);
  use_cache("/proc/no-such-folder");  // cannot be written: no error
  glob_t found;
  snprintf(path, sizeof path, "%s/*", dir);
  if (glob(path, 0, NULL, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; i++) unlink(found.gl_pathv[i]);
    globfree(&found);
  }
  rmdir(dir);
}
END_TEST

// --- validation layers ---------------------------------------------------------------------------

static void validated(const char *icd) {
  struct stat there;
  if (stat("/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json", &there) || stat(icd, &there)) {
    printf("skipped: no validation layer or no %s\n", icd);
    return;
  }
  setenv("VK_ICD_FILENAMES", icd, 1);
  rig r;
  strbuf log = {0};
  if (!rig_open_at(&r, NULL)) return;
  r.state->validate = true;
  r.state->validation_log = &log;
  rig_list(&r);
  for (int i = 0; i < r.n; i++) {
    backend_device *d;
    if (r.infos[i].compile_only) continue;
    printf("  validated: %s\n", r.infos[i].name);
    ASSERT_OK(B->device_open(r.state, i, 2, &d));
    const hlo_target *t = &r.infos[i].target;
    chain_on(&r, d, t);
    profile_on(&r, d, t);
    programs_on(&r, d, t);
    ck_assert_msg(log.len == 0, "the validation layer says: %s", log.data);
    // That it is awake: a buffer of no bytes is an error.
    VkBufferCreateInfo empty = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    VkBuffer buffer = VK_NULL_HANDLE;
    d->vk.vkCreateBuffer(d->device, &empty, NULL, &buffer);
    if (buffer) d->vk.vkDestroyBuffer(d->device, buffer, NULL);
    ck_assert_ptr_nonnull(strstr(log.data, "VUID-VkBufferCreateInfo-size"));
    strbuf_clear(&log);
    B->device_close(d);
  }
  rig_close(&r);
  ck_assert_msg(log.len == 0, "the validation layer says: %s", log.data);
  strbuf_deinit(&log);
}
START_TEST(validation_lavapipe) {
  validated("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json");
}
END_TEST
START_TEST(validation_swiftshader) {
  validated("/usr/lib/chromium/vk_swiftshader_icd.json");
}
END_TEST

HARNESS_MAIN("backend_spirv_device", hazards, queues_on_threads, allocation, profiling, refusals, programs, staging,
             pipeline_cache, validation_lavapipe, validation_swiftshader)
