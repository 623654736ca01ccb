// SPDX-License-Identifier: Apache-2.0
// Vulkan drivers, opened at run time: through the loader (libvulkan.so.1), or one driver's library directly, without
// it.
//
// Direct opening serves drivers that are not installed for the loader (SwiftShader inside Chromium's package) or that
// have to be told something through the environment (RADV's null hardware), without changing what the loader shows to
// the process.
#ifndef BACKEND_SPIRV_VULKAN_LOADER_H
#define BACKEND_SPIRV_VULKAN_LOADER_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include "base/base.h"

// S(name): functions of an instance.
// clang-format off
#define VULKAN_INSTANCE_SYMBOLS(S)          \
  S(vkDestroyInstance)                      \
  S(vkEnumeratePhysicalDevices)             \
  S(vkGetPhysicalDeviceProperties)          \
  S(vkGetPhysicalDeviceProperties2)         \
  S(vkGetPhysicalDeviceFeatures2)           \
  S(vkGetPhysicalDeviceMemoryProperties)    \
  S(vkGetPhysicalDeviceQueueFamilyProperties) \
  S(vkEnumerateDeviceExtensionProperties)   \
  S(vkCreateDevice)                         \
  S(vkGetDeviceProcAddr)
// clang-format on

// S(name, needed)
// clang-format off
#define VULKAN_DEVICE_SYMBOLS(S)            \
  S(vkDestroyDevice, 1)                     \
  S(vkGetDeviceQueue, 1)                    \
  S(vkDeviceWaitIdle, 1)                    \
  S(vkQueueSubmit, 1)                       \
  S(vkAllocateMemory, 1)                    \
  S(vkFreeMemory, 1)                        \
  S(vkMapMemory, 1)                         \
  S(vkUnmapMemory, 1)                       \
  S(vkCreateBuffer, 1)                      \
  S(vkDestroyBuffer, 1)                     \
  S(vkGetBufferMemoryRequirements, 1)       \
  S(vkBindBufferMemory, 1)                  \
  S(vkCreateShaderModule, 1)                \
  S(vkDestroyShaderModule, 1)               \
  S(vkCreatePipelineCache, 1)               \
  S(vkDestroyPipelineCache, 1)              \
  S(vkGetPipelineCacheData, 1)              \
  S(vkCreateComputePipelines, 1)            \
  S(vkDestroyPipeline, 1)                   \
  S(vkCreatePipelineLayout, 1)              \
  S(vkDestroyPipelineLayout, 1)             \
  S(vkCreateDescriptorSetLayout, 1)         \
  S(vkDestroyDescriptorSetLayout, 1)        \
  S(vkCreateDescriptorPool, 1)              \
  S(vkDestroyDescriptorPool, 1)             \
  S(vkResetDescriptorPool, 1)               \
  S(vkAllocateDescriptorSets, 1)            \
  S(vkUpdateDescriptorSets, 1)              \
  S(vkCreateFence, 1)                       \
  S(vkDestroyFence, 1)                      \
  S(vkResetFences, 1)                       \
  S(vkWaitForFences, 1)                     \
  S(vkCreateCommandPool, 1)                 \
  S(vkDestroyCommandPool, 1)                \
  S(vkAllocateCommandBuffers, 1)            \
  S(vkBeginCommandBuffer, 1)                \
  S(vkEndCommandBuffer, 1)                  \
  S(vkResetCommandBuffer, 1)                \
  S(vkCmdBindPipeline, 1)                   \
  S(vkCmdBindDescriptorSets, 1)             \
  S(vkCmdPushConstants, 1)                  \
  S(vkCmdDispatch, 1)                       \
  S(vkCmdCopyBuffer, 1)                     \
  S(vkCmdPipelineBarrier, 1)                \
  S(vkCreateQueryPool, 1)                   \
  S(vkDestroyQueryPool, 1)                  \
  S(vkGetQueryPoolResults, 1)               \
  S(vkCmdResetQueryPool, 1)                 \
  S(vkCmdWriteTimestamp, 1)                 \
  S(vkCmdPushDescriptorSetKHR, 0)           \
  S(vkGetBufferDeviceAddress, 0)            \
  S(vkGetPipelineExecutablePropertiesKHR, 0) \
  S(vkGetPipelineExecutableStatisticsKHR, 0) \
  S(vkGetPipelineExecutableInternalRepresentationsKHR, 0)
// clang-format on

typedef struct vulkan_device_symbols {
#define S(name, needed) PFN_##name name;
  VULKAN_DEVICE_SYMBOLS(S)
#undef S
} vulkan_device_symbols;

typedef struct vulkan_driver {
  void *library;
  PFN_vkGetInstanceProcAddr get;  // without an instance: global functions
  VkInstance instance;
  VkDebugUtilsMessengerEXT messenger;
#define S(name) PFN_##name name;
  VULKAN_INSTANCE_SYMBOLS(S)
#undef S
} vulkan_driver;

// Opens the loader's library; no instance yet. UNAVAILABLE if it is not installed.
LEMNOS_NODISCARD lemnos_status vulkan_driver_open_loader(vulkan_driver **out);
// Opens the driver library that an ICD manifest (.json) names.
LEMNOS_NODISCARD lemnos_status vulkan_driver_open_icd(const char *manifest, vulkan_driver **out);
// An instance of version 1.3 (1.1 at least). log: with the validation layer, whose messages are appended, a line each;
// or NULL.
LEMNOS_NODISCARD lemnos_status vulkan_driver_start(vulkan_driver *d, strbuf *log);
void vulkan_driver_close(vulkan_driver *d);  // NULL allowed
LEMNOS_NODISCARD lemnos_status vulkan_device_symbols_load(const vulkan_driver *d, VkDevice device,
                                                          vulkan_device_symbols *out);

#endif
