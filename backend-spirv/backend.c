// SPDX-License-Identifier: Apache-2.0
// The backend's table of functions (runtime/backend.h), opening and closing.
#include <stdio.h>

#include "backend-spirv/vulkan_internal.h"

static lemnos_status spirv_open(const char *cache_dir, backend_state **out) {
  backend_state *s = heap_alloc(sizeof *s);
  lemnos_status status = vulkan_driver_open_loader(&s->drivers[0]);
  if (status) {
    free(s);
    return lemnos_status_annotate(status, "the Vulkan loader");
  }
  pthread_mutex_init(&s->lock, NULL);
  if (cache_dir) {
    s->cache_dir = heap_alloc(strlen(cache_dir) + 1);
    strcpy(s->cache_dir, cache_dir);
  }
  *out = s;
  return LEMNOS_SUCCESS;
}

static void spirv_close(backend_state *s) {
  if (!s) return;
  for (int i = 0; i < s->n_named; i++) vulkan_driver_close(s->named[i].driver);
  for (int i = 0; i < 2; i++) vulkan_driver_close(s->drivers[i]);
  strbuf_deinit(&s->why);
  free(s->cache_dir);
  pthread_mutex_destroy(&s->lock);
  free(s);
}

// --- target half ---------------------------------------------------------------------------------

static lemnos_status target_parse(backend_state *s, strv spec, hlo_target *out) {
  const vulkan_gpu *g;
  LEMNOS_TRY(vulkan_gpu_of_spec(s, spec, &g));
  *out = g->info.target;
  return LEMNOS_SUCCESS;
}

// What the driver behind t allows; the guaranteed minimum if t describes a device that is not here.
static spirv_caps caps_of(backend_state *s, const hlo_target *t) {
  const vulkan_gpu *g;
  lemnos_status status = vulkan_gpu_of_spec(s, strv_from_cstr(t->spec), &g);
  if (!status) return g->caps;
  lemnos_status_free(status);
  return spirv_caps_minimum();
}

static lemnos_status compile(backend_state *s, const hlo_target *t, kernel *const *kernels, int n, thread_pool *pool,
                             backend_code *out) {
  spirv_caps caps = caps_of(s, t);
  return spirv_code_compile(t, &caps, kernels, n, pool, out);
}

static lemnos_status emit_ir(backend_state *s, const hlo_target *t, const kernel *k, strbuf *out) {
  spirv_caps caps = caps_of(s, t);
  spirv_kernel_info info;
  spirv_words words = {0};
  lemnos_status status = spirv_emit_kernel(k, t, &caps, &info, &words);
  if (!status) {
    strbuf_printf(out, "; kernel " STRV_FMT ": %u x %u x %u workgroups of %u\n", STRV_ARG(k->name), info.groups[0],
                  info.groups[1], info.groups[2], info.local);
    status = spirv_disassemble(words.data, words.len, out);
  }
  vec_deinit(&words);
  return status;
}

static lemnos_status emit_text(backend_state *s, const hlo_target *t, const kernel *k, backend_emit what, strbuf *out) {
  if (what == BACKEND_EMIT_IR) return emit_ir(s, t, k, out);
  const vulkan_gpu *g;
  LEMNOS_TRY(vulkan_gpu_of_spec(s, strv_from_cstr(t->spec), &g));
  return vulkan_emit_stats(s, g, k, what == BACKEND_EMIT_ASM, out);
}

// --- device half ---------------------------------------------------------------------------------

static lemnos_status enumerate(backend_state *s, int max, backend_device_info *out, int *out_n, strbuf *why) {
  LEMNOS_TRY(vulkan_state_enumerate(s));
  int n = 0;
  for (; n < s->n_gpus && n < max; n++) out[n] = s->gpus[n].info;
  if (s->why.len) strbuf_append(why, strbuf_view(&s->why));
  *out_n = n;
  return LEMNOS_SUCCESS;
}

static lemnos_status device_open(backend_state *s, int ordinal, int threads, backend_device **out) {
  LEMNOS_TRY(vulkan_state_enumerate(s));
  if (ordinal < 0 || ordinal >= s->n_gpus)
    return lemnos_status_make(LEMNOS_NOT_FOUND, "there are %d Vulkan devices, no vulkan:%d", s->n_gpus, ordinal);
  const vulkan_gpu *g = &s->gpus[ordinal];
  if (g->info.compile_only)
    return lemnos_status_make(LEMNOS_FAILED_PRECONDITION, "%s compiles only, nothing runs there", g->info.name);
  return vulkan_device_create(s, g, threads, out);
}

const lemnos_backend lemnos_backend_spirv = {
    .name = "spirv",
    .device_prefix = "vulkan",
    .open = spirv_open,
    .close = spirv_close,
    .target_parse = target_parse,
    .compile = compile,
    .emit_text = emit_text,
    .enumerate = enumerate,
    .device_open = device_open,
    .device_close = vulkan_device_destroy,
    .alloc = vulkan_memory_alloc,
    .free = vulkan_memory_free,
    .map = vulkan_memory_map,
    .upload = vulkan_memory_upload,
    .download = vulkan_memory_download,
    .load = vulkan_program_load,
    .unload = vulkan_program_unload,
    .queue_create = vulkan_queue_create,
    .queue_destroy = vulkan_queue_destroy,
    .launch = vulkan_queue_launch,
    .copy = vulkan_queue_copy,
    .submit = vulkan_queue_submit,
    .wait = vulkan_queue_wait,
    .profile_begin = vulkan_queue_profile_begin,
    .profile_end = vulkan_queue_profile_end,
};
