// SPDX-License-Identifier: Apache-2.0
// Libraries, instances and function pointers. See vulkan_loader.h.
#define _GNU_SOURCE  // RTLD_NODELETE
#include "backend-spirv/vulkan_loader.h"

#include <dlfcn.h>
#include <stdio.h>

typedef PFN_vkVoidFunction(VKAPI_PTR *icd_get_fn)(VkInstance instance, const char *name);
typedef VkResult(VKAPI_PTR *icd_negotiate_fn)(uint32_t *version);

static lemnos_status open_library(const char *path, const char *symbol, vulkan_driver **out) {
  // drivers keep threads and memory of their own
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) return lemnos_status_make(LEMNOS_UNAVAILABLE, "%s cannot be opened (%s)", path, dlerror());
  void *get = dlsym(library, symbol);
  if (!get) {
    dlclose(library);
    return lemnos_status_make(LEMNOS_UNAVAILABLE, "%s has no %s", path, symbol);
  }
  vulkan_driver *d = heap_alloc(sizeof *d);
  d->library = library;
  memcpy(&d->get, &get, sizeof get);
  *out = d;
  return LEMNOS_SUCCESS;
}

lemnos_status vulkan_driver_open_loader(vulkan_driver **out) {
  return open_library("libvulkan.so.1", "vkGetInstanceProcAddr", out);
}

// The value of "library_path" in a manifest, which is JSON of a few lines. A name without a leading slash but with one
// inside is relative to the manifest's folder.
static char *library_of_manifest(const char *manifest) {
  char *text;
  size_t size;
  lemnos_status status = io_read_file(manifest, &text, &size);
  if (status) {
    lemnos_status_free(status);
    return NULL;
  }
  char *at = strstr(text, "\"library_path\""), *result = NULL;
  if (at) at = strchr(at + 14, '"');
  char *end = at ? strchr(at + 1, '"') : NULL;
  if (end) {
    *end = 0;
    const char *slash = strrchr(manifest, '/');
    int folder = at[1] != '/' && strchr(at + 1, '/') && slash ? (int)(slash - manifest + 1) : 0;
    size_t room = (size_t)folder + strlen(at + 1) + 1;
    result = heap_alloc(room);
    snprintf(result, room, "%.*s%s", folder, manifest, at + 1);
  }
  heap_aligned_free(text);
  return result;
}

lemnos_status vulkan_driver_open_icd(const char *manifest, vulkan_driver **out) {
  char *path = library_of_manifest(manifest);
  if (!path) return lemnos_status_make(LEMNOS_UNAVAILABLE, "%s names no driver library", manifest);
  vulkan_driver *d = NULL;
  lemnos_status status = open_library(path, "vk_icdGetInstanceProcAddr", &d);
  free(path);
  if (status) return status;
  void *negotiate = dlsym(d->library, "vk_icdNegotiateLoaderICDInterfaceVersion");
  if (negotiate) {
    icd_negotiate_fn fn;
    memcpy(&fn, &negotiate, sizeof fn);
    uint32_t version = 5;
    fn(&version);
  }
  *out = d;
  return LEMNOS_SUCCESS;
}

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) {
  strbuf_printf(user, "%s\n", data->pMessage);
  return VK_FALSE;
}

static lemnos_status create_instance(vulkan_driver *d, strbuf *log) {
  PFN_vkCreateInstance create = (PFN_vkCreateInstance)d->get(NULL, "vkCreateInstance");
  PFN_vkEnumerateInstanceVersion version = (PFN_vkEnumerateInstanceVersion)d->get(NULL, "vkEnumerateInstanceVersion");
  if (!create) return lemnos_status_make(LEMNOS_UNAVAILABLE, "the Vulkan library has no vkCreateInstance");
  uint32_t v = VK_API_VERSION_1_0;
  if (version) version(&v);
  if (v < VK_API_VERSION_1_1)
    return lemnos_status_make(LEMNOS_UNAVAILABLE, "the Vulkan library is of version 1.0, 1.1 is needed");
  const char *layer = "VK_LAYER_KHRONOS_validation", *extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  VkDebugUtilsMessengerCreateInfoEXT messenger = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
                                                  .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                                                                     VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
                                                  .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
                                                  .pfnUserCallback = on_message,
                                                  .pUserData = log};
  VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                           .pApplicationName = "Lemnos",
                           .pEngineName = "Lemnos",
                           .apiVersion = VK_API_VERSION_1_3};
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
  if (log) {
    info.pNext = &messenger;
    info.enabledLayerCount = 1, info.ppEnabledLayerNames = &layer;
    info.enabledExtensionCount = 1, info.ppEnabledExtensionNames = &extension;
  }
  VkResult r = create(&info, NULL, &d->instance);
  if (r) return lemnos_status_make(LEMNOS_UNAVAILABLE, "vkCreateInstance failed (%d)", (int)r);
  if (log) {
    PFN_vkCreateDebugUtilsMessengerEXT make =
        (PFN_vkCreateDebugUtilsMessengerEXT)d->get(d->instance, "vkCreateDebugUtilsMessengerEXT");
    if (make) make(d->instance, &messenger, NULL, &d->messenger);
  }
  return LEMNOS_SUCCESS;
}

lemnos_status vulkan_driver_start(vulkan_driver *d, strbuf *log) {
  LEMNOS_TRY(create_instance(d, log));
#define S(name)                                     \
  d->name = (PFN_##name)d->get(d->instance, #name); \
  if (!d->name) return lemnos_status_make(LEMNOS_UNAVAILABLE, "the Vulkan library has no %s", #name);
  VULKAN_INSTANCE_SYMBOLS(S)
#undef S
  return LEMNOS_SUCCESS;
}

void vulkan_driver_close(vulkan_driver *d) {
  if (!d) return;
  if (d->messenger) {
    PFN_vkDestroyDebugUtilsMessengerEXT destroy =
        (PFN_vkDestroyDebugUtilsMessengerEXT)d->get(d->instance, "vkDestroyDebugUtilsMessengerEXT");
    if (destroy) destroy(d->instance, d->messenger, NULL);
  }
  if (d->instance && d->vkDestroyInstance) d->vkDestroyInstance(d->instance, NULL);
  // The library stays open: drivers leave threads and thread-local destructors behind that must not lose their code.
  free(d);
}

lemnos_status vulkan_device_symbols_load(const vulkan_driver *d, VkDevice device, vulkan_device_symbols *out) {
#define S(name, needed)                                          \
  out->name = (PFN_##name)d->vkGetDeviceProcAddr(device, #name); \
  if (needed && !out->name) return lemnos_status_make(LEMNOS_UNAVAILABLE, "the Vulkan driver has no %s", #name);
  VULKAN_DEVICE_SYMBOLS(S)
#undef S
  return LEMNOS_SUCCESS;
}
