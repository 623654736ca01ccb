// SPDX-License-Identifier: Apache-2.0
// The pipeline cache on disk: what the driver gives, in a file named by the device, the driver and the version of our
// code generator. A file that is damaged, of another driver or unreadable is ignored; one that cannot be written is no
// error, since the next run only compiles again. Written under a temporary name and renamed (io_write_file).
#include <stdio.h>

#include "backend-spirv/vulkan_internal.h"

enum { GENERATOR_VERSION = 1, HEAD = 32 };
static const char MAGIC[8] = "LMNVKPC1";

static char *cache_path(const backend_device *d) {
  const char *dir = d->state->cache_dir;
  if (!dir) return NULL;
  const vulkan_gpu *g = d->gpu;
  strbuf b = {0};
  strbuf_printf(&b, "%s/vulkan-%04x-%04x-", dir, g->vendor, g->device);
  for (int i = 0; i < VK_UUID_SIZE; i++) strbuf_printf(&b, "%02x", g->cache_uuid[i]);
  strbuf_printf(&b, "-%08x-%d.cache", g->driver_version, GENERATOR_VERSION);
  return b.data;
}

// File: magic, size of the data, hash of the data, padding; data.
static const void *checked(const char *file, size_t size, size_t *out_size) {
  uint64_t length, hash;
  if (size < HEAD || memcmp(file, MAGIC, sizeof MAGIC)) return NULL;
  memcpy(&length, file + 8, 8);
  memcpy(&hash, file + 16, 8);
  if (length != size - HEAD || hash != hash_bytes(file + HEAD, length, 1)) return NULL;
  *out_size = length;
  return file + HEAD;
}

void vulkan_cache_open(backend_device *d) {
  char *path = cache_path(d), *file = NULL;
  size_t size = 0, data_size = 0;
  const void *data = NULL;
  if (path) {
    lemnos_status status = io_read_file(path, &file, &size);
    if (status)
      lemnos_status_free(status), file = NULL;
    else
      data = checked(file, size, &data_size);
  }
  VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                    .initialDataSize = data ? data_size : 0,
                                    .pInitialData = data};
  // works without, too
  if (d->vk.vkCreatePipelineCache(d->device, &info, NULL, &d->cache)) d->cache = VK_NULL_HANDLE;
  d->cache_size = data ? data_size : 0;
  heap_aligned_free(file);
  free(path);
}

static void save(backend_device *d, const char *path) {
  size_t size = 0;
  if (d->vk.vkGetPipelineCacheData(d->device, d->cache, &size, NULL) ||
      size <= sizeof(VkPipelineCacheHeaderVersionOne) || size == d->cache_size)
    return;  // nothing beyond the header (lavapipe, SwiftShader), or nothing new
  char *file = heap_try_alloc_aligned(size + HEAD);
  if (!file) return;
  memset(file, 0, HEAD);
  if (!d->vk.vkGetPipelineCacheData(d->device, d->cache, &size, file + HEAD)) {
    uint64_t length = size, hash = hash_bytes(file + HEAD, size, 1);
    memcpy(file, MAGIC, sizeof MAGIC);
    memcpy(file + 8, &length, 8);
    memcpy(file + 16, &hash, 8);
    lemnos_status status = io_make_dirs(d->state->cache_dir);
    if (!status) status = io_write_file(path, file, size + HEAD);
    lemnos_status_free(status);
  }
  heap_aligned_free(file);
}

void vulkan_cache_close(backend_device *d) {
  if (!d->cache) return;
  char *path = cache_path(d);
  if (path && !d->lost) save(d, path);
  d->vk.vkDestroyPipelineCache(d->device, d->cache, NULL);
  d->cache = VK_NULL_HANDLE;
  free(path);
}
