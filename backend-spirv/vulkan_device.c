// SPDX-License-Identifier: Apache-2.0
// Logical devices: every feature that the target description promises is enabled, nothing else.
#include "backend-spirv/vulkan_internal.h"

typedef struct features {
  VkPhysicalDeviceFeatures2 f;
  VkPhysicalDevice16BitStorageFeatures f16;
  VkPhysicalDeviceVulkan12Features f12;
  VkPhysicalDeviceVulkan13Features f13;
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executable;
} features;

static void want(const vulkan_gpu *g, features *w) {
  const hlo_target *t = &g->info.target;
  *w = (features){
      .f = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
            .features = {.shaderFloat64 = t->f64, .shaderInt64 = t->i64, .shaderInt16 = t->i16}},
      .f16 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
              .storageBuffer16BitAccess = t->storage_16},
      .f12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
              .storageBuffer8BitAccess = t->storage_8,
              .shaderFloat16 = t->f16,
              .shaderInt8 = t->i8,
              .bufferDeviceAddress = g->caps.physical_storage,
              .shaderBufferInt64Atomics = g->caps.int64_atomics,
              .shaderSharedInt64Atomics = g->caps.shared_int64_atomics,
              .shaderSubgroupExtendedTypes = g->caps.subgroup_extended},
      .f13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
              .subgroupSizeControl = g->subgroup_control},
      .executable = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
                     .pipelineExecutableInfo = VK_TRUE},
  };
  w->f.pNext = &w->f16;
  void **last = &w->f16.pNext;
  if (g->api_version >= VK_API_VERSION_1_2) *last = &w->f12, last = &w->f12.pNext;
  if (g->api_version >= VK_API_VERSION_1_3) *last = &w->f13, last = &w->f13.pNext;
  if (g->pipeline_statistics) *last = &w->executable;
}

static lemnos_status create_device(backend_device *d) {
  const vulkan_gpu *g = d->gpu;
  features w;
  want(g, &w);
  const char *extensions[4];
  uint32_t n = 0;
  if (g->push_descriptors) extensions[n++] = VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME;
  if (g->pipeline_statistics) extensions[n++] = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
  float priority = 1;
  VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                   .queueFamilyIndex = g->queue_family,
                                   .queueCount = 1,
                                   .pQueuePriorities = &priority};
  VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                             .pNext = &w.f,
                             .queueCreateInfoCount = 1,
                             .pQueueCreateInfos = &queue,
                             .enabledExtensionCount = n,
                             .ppEnabledExtensionNames = extensions};
  LEMNOS_TRY(vulkan_result_status(d->driver->vkCreateDevice(g->physical, &info, NULL, &d->device), "vkCreateDevice"));
  LEMNOS_TRY(vulkan_device_symbols_load(d->driver, d->device, &d->vk));
  d->vk.vkGetDeviceQueue(d->device, g->queue_family, 0, &d->queue);
  return LEMNOS_SUCCESS;
}

lemnos_status vulkan_device_create(backend_state *s, const vulkan_gpu *gpu, int threads, backend_device **out) {
  backend_device *d = heap_alloc(sizeof *d);
  d->state = s, d->gpu = gpu, d->driver = gpu->driver;
  pthread_mutex_init(&d->queue_lock, NULL);
  pthread_mutex_init(&d->memory_lock, NULL);
  lemnos_status status = create_device(d);
  // Null hardware makes pipelines; it has neither memory types nor a queue that could be waited for.
  if (!status && !gpu->info.compile_only) status = vulkan_memory_choose_types(d);
  if (!status) status = thread_pool_create(threads, &d->pool);
  if (status) {
    lemnos_status annotated = lemnos_status_annotate(status, "opening %s", gpu->info.name);
    vulkan_device_destroy(d);
    return annotated;
  }
  vulkan_cache_open(d);
  *out = d;
  return LEMNOS_SUCCESS;
}

void vulkan_device_destroy(backend_device *d) {
  if (!d) return;
  if (d->device && d->vk.vkDeviceWaitIdle) {
    if (!d->gpu->info.compile_only) d->vk.vkDeviceWaitIdle(d->device);
    vulkan_cache_close(d);
    vulkan_memory_release_all(d);
    d->vk.vkDestroyDevice(d->device, NULL);
  }
  if (d->pool) thread_pool_destroy(d->pool);
  pthread_mutex_destroy(&d->queue_lock);
  pthread_mutex_destroy(&d->memory_lock);
  free(d);
}

lemnos_status vulkan_device_failed(backend_device *d, VkResult r, const char *what) {
  if (r == VK_ERROR_DEVICE_LOST) d->lost = true;
  return lemnos_status_annotate(vulkan_result_status(r, what), "%s", d->gpu->info.name);
}
