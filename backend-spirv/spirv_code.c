// SPDX-License-Identifier: Apache-2.0
// The code blob: kernels one after the other, each with what a launch needs and its module.
//
//   u32 magic, version, size of spirv_kernel_info, number of kernels;  per kernel: u32 words, spirv_kernel_info,
//   words...
// Compilation is a task a kernel. Reading checks every length, since a blob may come from a file.
#include "backend-spirv/vulkan_internal.h"

enum { MAGIC = 0x5650534c /* LSPV */, VERSION = 1, HEAD_WORDS = 4, MAX_LOCAL = 4096 };

typedef struct job {
  const hlo_target *t;
  const spirv_caps *caps;
  kernel *const *kernels;
  spirv_kernel_info *infos;
  spirv_words *words;
  lemnos_status *status;
} job;

static void compile_one(void *ctx, int64_t i, int thread) {
  job *j = ctx;
  j->status[i] = spirv_emit_kernel(j->kernels[i], j->t, j->caps, &j->infos[i], &j->words[i]);
}

static lemnos_status pack(const job *j, int n, backend_code *out) {
  size_t info_size = sizeof(spirv_kernel_info), size = HEAD_WORDS * 4;
  for (int i = 0; i < n; i++) size += 4 + info_size + 4 * (size_t)j->words[i].len;
  char *data = heap_try_alloc_aligned(size), *at = data;
  if (!data) return lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "no memory for %zu bytes of code", size);
  const uint32_t head[HEAD_WORDS] = {MAGIC, VERSION, (uint32_t)info_size, (uint32_t)n};
  memcpy(at, head, sizeof head);
  at += sizeof head;
  for (int i = 0; i < n; i++) {
    uint32_t words = (uint32_t)j->words[i].len;
    memcpy(at, &words, 4);
    memcpy(at + 4, &j->infos[i], info_size);
    memcpy(at + 4 + info_size, j->words[i].data, 4 * (size_t)words);
    at += 4 + info_size + 4 * (size_t)words;
  }
  *out = (backend_code){data, size};
  return LEMNOS_SUCCESS;
}

lemnos_status spirv_code_compile(const hlo_target *t, const spirv_caps *caps, kernel *const *kernels, int n,
                                 thread_pool *pool, backend_code *out) {
  job j = {.t = t, .caps = caps, .kernels = kernels};
  j.infos = heap_alloc(sizeof *j.infos * (size_t)(n + 1));
  j.words = heap_alloc(sizeof *j.words * (size_t)(n + 1));
  j.status = heap_alloc(sizeof *j.status * (size_t)(n + 1));
  if (pool)
    thread_pool_run(pool, n, compile_one, &j);
  else
    for (int i = 0; i < n; i++) compile_one(&j, i, 0);
  lemnos_status status = LEMNOS_SUCCESS;
  for (int i = 0; i < n; i++) {
    if (!status)
      status = j.status[i];
    else
      lemnos_status_free(j.status[i]);
  }
  if (!status) status = pack(&j, n, out);
  for (int i = 0; i < n; i++) vec_deinit(&j.words[i]);
  free(j.infos);
  free(j.words);
  free(j.status);
  return status;
}

static lemnos_status damaged(const char *what) {
  return lemnos_status_make(LEMNOS_DATA_LOSS, "SPIR-V code is damaged or of another version: %s", what);
}

lemnos_status spirv_code_count(const backend_code *code, int *out_n) {
  uint32_t head[HEAD_WORDS];
  if (code->size < sizeof head) return damaged("it is too short");
  memcpy(head, code->data, sizeof head);
  if (head[0] != MAGIC || head[1] != VERSION || head[2] != sizeof(spirv_kernel_info)) return damaged("bad header");
  if (head[3] > code->size / (4 + sizeof(spirv_kernel_info))) return damaged("bad number of kernels");
  *out_n = (int)head[3];
  return LEMNOS_SUCCESS;
}

static bool info_ok(const spirv_kernel_info *i) {
  if (i->n_params > SPIRV_MAX_PARAMS || i->n_bindings > i->n_params || i->push_bytes > 12 * SPIRV_MAX_PARAMS)
    return false;
  if (i->local < 1 || i->local > MAX_LOCAL) return false;
  for (uint32_t p = 0; p < i->n_params; p++) {
    const spirv_param_info *q = &i->params[p];
    uint32_t bytes = q->addressed ? 8 : q->offset_pushed ? 4 : 0;
    if (bytes && q->push_offset + bytes > i->push_bytes) return false;
    if (!q->addressed && (q->binding < 0 || (uint32_t)q->binding >= i->n_bindings)) return false;
    if (q->elem_bytes < 1 || q->elem_bytes > 8) return false;
  }
  return true;
}

lemnos_status spirv_code_kernel(const backend_code *code, int i, spirv_kernel_info *info, const uint32_t **words,
                                int *n) {
  const char *at = code->data;
  size_t left = code->size - HEAD_WORDS * 4, info_size = sizeof *info;
  at += HEAD_WORDS * 4;
  for (int k = 0;; k++) {
    uint32_t count;
    if (left < 4 + info_size) return damaged("it ends inside a kernel");
    memcpy(&count, at, 4);
    memcpy(info, at + 4, info_size);
    at += 4 + info_size, left -= 4 + info_size;
    if (count > left / 4 || count < 5) return damaged("a module is longer than the code");
    if (k == i) {
      uint32_t magic;
      memcpy(&magic, at, 4);
      if (magic != SpvMagicNumber || !info_ok(info)) return damaged("bad kernel");
      *words = (const uint32_t *)(const void *)at;  // all lengths are multiples of 4 and the blob is aligned
      *n = (int)count;
      return LEMNOS_SUCCESS;
    }
    at += 4 * (size_t)count, left -= 4 * (size_t)count;
  }
}
