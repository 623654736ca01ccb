// SPDX-License-Identifier: Apache-2.0
// The Vulkan side: drivers, devices, memory, programs, queues. Private to backend-spirv.
//
//   backend_state ── driver (the loader's, or one ICD opened directly) ── gpu (a physical device, described)
//   backend_device ── memory blocks ── backend_memory (a range of a block)
//                  └─ backend_program (pipelines)     backend_queue (command buffers of one thread)
#ifndef BACKEND_SPIRV_VULKAN_INTERNAL_H
#define BACKEND_SPIRV_VULKAN_INTERNAL_H

#include <pthread.h>

#include "backend-spirv/spirv_emit.h"
#include "backend-spirv/vulkan_loader.h"
#include "runtime/backend.h"

enum { VULKAN_MAX_GPUS = 16, VULKAN_MAX_NAMED = 8 };

typedef struct vulkan_gpu {
  vulkan_driver *driver;
  VkPhysicalDevice physical;
  backend_device_info info;
  spirv_caps caps;
  uint32_t api_version;
  uint32_t queue_family;
  uint32_t timestamp_bits;
  float timestamp_ns;
  uint32_t subgroup_min, subgroup_max;
  bool subgroup_control;  // a required size may be asked for
  bool push_descriptors;
  bool pipeline_statistics;  // VK_KHR_pipeline_executable_properties
  bool is_software;
  uint8_t cache_uuid[VK_UUID_SIZE];
  uint32_t driver_version, vendor, device;
} vulkan_gpu;

// Targets without a device: RADV's null hardware, by spec.
typedef struct vulkan_named {
  char spec[64];
  vulkan_driver *driver;
  vulkan_gpu gpu;
} vulkan_named;

struct backend_state {
  pthread_mutex_t lock;  // guards all below while it is being filled in
  char *cache_dir;
  bool enumerated;
  vulkan_driver *drivers[2];  // through the loader; SwiftShader beside it
  int n_gpus;
  vulkan_gpu gpus[VULKAN_MAX_GPUS];
  strbuf why;  // devices left out, one line each
  int n_named;
  vulkan_named named[VULKAN_MAX_NAMED];
  // For tests, set between open and the first use: validation layers on, messages counted; no mapped memory.
  bool validate, force_staging;
  strbuf *validation_log;
};

// --- vulkan_target.c
lemnos_status vulkan_state_enumerate(backend_state *s);  // once; lock is taken inside
// The description behind a target: "vulkan:N" or "radv:FAMILY". NOT_FOUND for other specs.
lemnos_status vulkan_gpu_of_spec(backend_state *s, strv spec, const vulkan_gpu **out);
lemnos_status vulkan_gpu_describe(vulkan_driver *d, VkPhysicalDevice p, vulkan_gpu *out);
lemnos_status vulkan_result_status(VkResult r, const char *what);  // success for VK_SUCCESS
const char *vulkan_result_name(VkResult r);

// --- vulkan_device.c
typedef struct vulkan_block vulkan_block;

struct backend_device {
  backend_state *state;
  const vulkan_gpu *gpu;
  vulkan_driver *driver;
  vulkan_device_symbols vk;
  VkDevice device;
  VkQueue queue;
  pthread_mutex_t queue_lock;  // vkQueueSubmit
  pthread_mutex_t memory_lock;
  VEC(vulkan_block *) blocks;
  int64_t next_block;  // size of the next shared block
  uint32_t memory_type;
  bool mapped;  // memory is seen by the host
  uint32_t staging_type;
  VkPipelineCache cache;
  size_t cache_size;  // as read from disk
  thread_pool *pool;
  bool lost;
};

// Device creation for statistics, too: a device that only compiles pipelines.
lemnos_status vulkan_device_create(backend_state *s, const vulkan_gpu *gpu, int threads, backend_device **out);
void vulkan_device_destroy(backend_device *d);
lemnos_status vulkan_device_failed(backend_device *d, VkResult r, const char *what);  // notes a lost device

// --- vulkan_memory.c
typedef struct vulkan_hole {
  int64_t offset, size;
} vulkan_hole;

struct vulkan_block {
  VkDeviceMemory memory;
  VkBuffer buffer;
  VkDeviceAddress address;  // 0: none
  char *mapped;
  int64_t size;
  bool own;                // of one allocation
  VEC(vulkan_hole) holes;  // sorted, coalesced
};

struct backend_memory {
  vulkan_block *block;
  int64_t offset, size;  // size as given out (multiple of 256)
};

lemnos_status vulkan_memory_alloc(backend_device *d, int64_t size, backend_memory **out);
void vulkan_memory_free(backend_device *d, backend_memory *m);
void *vulkan_memory_map(backend_device *d, backend_memory *m);
lemnos_status vulkan_memory_upload(backend_device *d, backend_memory *m, int64_t offset, const void *data,
                                   int64_t size);
lemnos_status vulkan_memory_download(backend_device *d, backend_memory *m, int64_t offset, void *data, int64_t size);
lemnos_status vulkan_memory_choose_types(backend_device *d);
void vulkan_memory_release_all(backend_device *d);
lemnos_status vulkan_block_create(backend_device *d, int64_t size, uint32_t type, bool map, vulkan_block **out);
void vulkan_block_destroy(backend_device *d, vulkan_block *b);

// --- vulkan_program.c
typedef struct vulkan_pipeline {
  spirv_kernel_info info;
  VkDescriptorSetLayout set_layout;
  VkPipelineLayout layout;
  VkPipeline pipeline;
} vulkan_pipeline;

struct backend_program {
  int n;
  vulkan_pipeline *pipelines;
};

lemnos_status vulkan_program_load(backend_device *d, const backend_code *code, kernel *const *kernels, int n,
                                  backend_program **out);
void vulkan_program_unload(backend_device *d, backend_program *p);
// One pipeline from words; capture: keep what pipeline statistics need.
lemnos_status vulkan_pipeline_create(backend_device *d, const spirv_kernel_info *info, const uint32_t *words, int n,
                                     bool capture, vulkan_pipeline *out);
void vulkan_pipeline_destroy(backend_device *d, vulkan_pipeline *p);

// --- vulkan_cache.c: the pipeline cache on disk
void vulkan_cache_open(backend_device *d);
void vulkan_cache_close(backend_device *d);

// --- vulkan_queue.c
lemnos_status vulkan_queue_create(backend_device *d, backend_queue **out);
void vulkan_queue_destroy(backend_queue *q);
lemnos_status vulkan_queue_launch(backend_queue *q, backend_program *p, int kernel, const backend_binding *bindings);
lemnos_status vulkan_queue_copy(backend_queue *q, backend_binding dst, backend_binding src);
lemnos_status vulkan_queue_submit(backend_queue *q);
lemnos_status vulkan_queue_wait(backend_queue *q);
lemnos_status vulkan_queue_profile_begin(backend_queue *q);
lemnos_status vulkan_queue_profile_end(backend_queue *q, int max, double *seconds, int *out_n);
// Runs every pipeline of a program with no workgroups: lavapipe compiles at the first dispatch.
lemnos_status vulkan_queue_warm(backend_queue *q, backend_program *p);

// --- vulkan_stats.c
lemnos_status vulkan_emit_stats(backend_state *s, const vulkan_gpu *gpu, const kernel *k, bool assembly, strbuf *out);

// --- spirv_code.c: the blob
lemnos_status spirv_code_compile(const hlo_target *t, const spirv_caps *caps, kernel *const *kernels, int n,
                                 thread_pool *pool, backend_code *out);
// Kernel i of a blob; DATA_LOSS if it is not one. Everything is checked here: a blob may come from a file.
lemnos_status spirv_code_count(const backend_code *code, int *out_n);
lemnos_status spirv_code_kernel(const backend_code *code, int i, spirv_kernel_info *info, const uint32_t **words,
                                int *n);

#endif
