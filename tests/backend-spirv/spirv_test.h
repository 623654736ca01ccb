// SPDX-License-Identifier: Apache-2.0
// What the suites of this folder share: devices, buffers, running one kernel, validating modules with spirv-val.
#ifndef TESTS_BACKEND_SPIRV_SPIRV_TEST_H
#define TESTS_BACKEND_SPIRV_SPIRV_TEST_H

#include <math.h>
#include <unistd.h>

#include "backend-spirv/vulkan_internal.h"
#include "hlo/kernel/builder.h"
#include "tests/harness.h"

extern const lemnos_backend lemnos_backend_spirv;

typedef kernel_value *val;
typedef struct rig {
  backend_state *state;
  backend_device_info infos[VULKAN_MAX_GPUS];
  int n;
} rig;

static inline bool rig_open_at(rig *r, const char *cache_dir) {
  lemnos_status s = lemnos_backend_spirv.open(cache_dir, &r->state);
  if (s) {
    printf("skipped: %s\n", lemnos_status_message(s));
    lemnos_status_free(s);
    return false;
  }
  return true;
}

static inline void rig_list(rig *r) {
  strbuf why = {0};
  ASSERT_OK(lemnos_backend_spirv.enumerate(r->state, VULKAN_MAX_GPUS, r->infos, &r->n, &why));
  strbuf_deinit(&why);
}

static inline bool rig_open(rig *r) {
  if (!rig_open_at(r, NULL)) return false;
  rig_list(r);
  if (!r->n) printf("skipped: no Vulkan device here\n");
  return r->n > 0;
}

static inline void rig_close(rig *r) {
  lemnos_backend_spirv.close(r->state);
}

// spirv-val on a module; says once if it is not installed.
static inline void validate_words(const uint32_t *words, int n, const char *what) {
  static int there = -1;
  if (there < 0) {
    there = system("spirv-val --version >/dev/null 2>&1") == 0;
    if (!there) printf("skipped: spirv-val is not installed, modules are not validated\n");
  }
  if (!there) return;
  char path[] = "/tmp/lemnos-test-XXXXXX", command[128];
  int fd = mkstemp(path);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, words, sizeof *words * (size_t)n), (ssize_t)(sizeof *words * (size_t)n));
  close(fd);
  snprintf(command, sizeof command, "spirv-val --target-env vulkan1.1 %s", path);
  int rc = system(command);
  if (rc) {
    strbuf text = {0};
    ASSERT_OK(spirv_disassemble(words, n, &text));
    fprintf(stderr, "%s\n", text.data);
  }
  unlink(path);
  ck_assert_msg(rc == 0, "spirv-val rejects %s", what);
}

static inline void validate_code(const backend_code *code, const char *what) {
  int n;
  ASSERT_OK(spirv_code_count(code, &n));
  for (int i = 0; i < n; i++) {
    spirv_kernel_info info;
    const uint32_t *words;
    int count;
    ASSERT_OK(spirv_code_kernel(code, i, &info, &words, &count));
    validate_words(words, count, what);
  }
}

typedef struct buffer {
  void *data;  // uploaded before, downloaded after
  int64_t bytes;
  int64_t offset;  // where in its allocation it is bound
} buffer;

// Runs k on an opened device; buffers one a parameter.
static inline void run_on(rig *r, backend_device *d, const hlo_target *t, kernel *k, const buffer *buffers) {
  const lemnos_backend *b = &lemnos_backend_spirv;
  backend_code code;
  backend_program *program;
  backend_queue *q;
  backend_memory *memory[SPIRV_MAX_PARAMS];
  backend_binding bindings[SPIRV_MAX_PARAMS];
  ASSERT_OK(kernel_verify(k, t));
  ASSERT_OK(b->compile(r->state, t, &k, 1, NULL, &code));
  validate_code(&code, k->name.data);
  ASSERT_OK(b->load(d, &code, &k, 1, &program));
  backend_code_deinit(&code);
  ASSERT_OK(b->queue_create(d, &q));
  for (int p = 0; p < k->n_params; p++) {
    ASSERT_OK(b->alloc(d, buffers[p].bytes + buffers[p].offset, &memory[p]));
    ASSERT_OK(b->upload(d, memory[p], buffers[p].offset, buffers[p].data, buffers[p].bytes));
    bindings[p] = (backend_binding){memory[p], buffers[p].offset, buffers[p].bytes};
  }
  ASSERT_OK(b->launch(q, program, 0, bindings));
  ASSERT_OK(b->wait(q));
  for (int p = 0; p < k->n_params; p++)
    if (!k->params[p].readonly)
      ASSERT_OK(b->download(d, memory[p], buffers[p].offset, buffers[p].data, buffers[p].bytes));
  b->queue_destroy(q);
  for (int p = 0; p < k->n_params; p++) b->free(d, memory[p]);
  b->unload(d, program);
}

// Calls fn for each device that runs, opened.
static inline void each_device(void (*fn)(rig *r, backend_device *d, const hlo_target *t)) {
  rig r;
  if (!rig_open(&r)) return;
  for (int i = 0; i < r.n; i++) {
    backend_device *d;
    if (r.infos[i].compile_only) continue;
    ASSERT_OK(lemnos_backend_spirv.device_open(r.state, i, 2, &d));
    printf("  on %s\n", r.infos[i].name);
    fn(&r, d, &r.infos[i].target);
    lemnos_backend_spirv.device_close(d);
  }
  rig_close(&r);
}

static inline kernel_param param_of(kernel_scalar s, int64_t n, bool readonly) {
  return (kernel_param){.elem = s, .n_elems = n, .align = 256, .readonly = readonly, .noalias = true};
}

#endif
