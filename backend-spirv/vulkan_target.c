// SPDX-License-Identifier: Apache-2.0
// Physical devices as target descriptions, the list of devices, and named targets.
//
// Devices come from the loader, in its order. SwiftShader, which Chromium's package brings without telling the loader,
// is opened directly behind them unless the user chose drivers (VK_ICD_FILENAMES, VK_DRIVER_FILES) or the loader
// already shows it. RADV's null hardware ("radv:navi21") is opened directly, too: only pipelines can be made there.
#include <ctype.h>
#include <glob.h>
#include <stdio.h>

#include "backend-spirv/vulkan_internal.h"

#define SWIFTSHADER_MANIFEST "/usr/lib/chromium/vk_swiftshader_icd.json"

const char *vulkan_result_name(VkResult r) {
  switch (r) {
    case VK_SUCCESS: return "success";
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "out of host memory";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "out of device memory";
    case VK_ERROR_INITIALIZATION_FAILED: return "initialization failed";
    case VK_ERROR_DEVICE_LOST: return "device lost";
    case VK_ERROR_MEMORY_MAP_FAILED: return "memory cannot be mapped";
    case VK_ERROR_FEATURE_NOT_PRESENT: return "feature not present";
    case VK_ERROR_EXTENSION_NOT_PRESENT: return "extension not present";
    case VK_ERROR_INCOMPATIBLE_DRIVER: return "incompatible driver";
    case VK_ERROR_TOO_MANY_OBJECTS: return "too many objects";
    case VK_ERROR_OUT_OF_POOL_MEMORY: return "out of pool memory";
    default: return "error";
  }
}

lemnos_status vulkan_result_status(VkResult r, const char *what) {
  if (r == VK_SUCCESS) return LEMNOS_SUCCESS;
  lemnos_status_code code = r == VK_ERROR_OUT_OF_HOST_MEMORY || r == VK_ERROR_OUT_OF_DEVICE_MEMORY
                                ? LEMNOS_OUT_OF_MEMORY
                            : r == VK_ERROR_DEVICE_LOST ? LEMNOS_UNAVAILABLE
                                                        : LEMNOS_INTERNAL;
  return lemnos_status_make(code, "%s: %s (%d)", what, vulkan_result_name(r), (int)r);
}

// --- description ---------------------------------------------------------------------------------

typedef struct query {
  VkPhysicalDeviceProperties2 props;
  VkPhysicalDeviceVulkan12Properties p12;
  VkPhysicalDeviceSubgroupProperties subgroup;
  VkPhysicalDeviceMaintenance3Properties m3;
  VkPhysicalDeviceSubgroupSizeControlProperties size;
  VkPhysicalDeviceFeatures2 features;
  VkPhysicalDevice16BitStorageFeatures f16;
  VkPhysicalDeviceVulkan12Features f12;
  VkPhysicalDeviceVulkan13Features f13;
} query;

static void ask(const vulkan_driver *d, VkPhysicalDevice p, query *q) {
  *q = (query){.props.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
               .p12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES,
               .subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
               .m3.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES,
               .size.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES,
               .features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
               .f16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
               .f12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
               .f13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  VkPhysicalDeviceProperties first;
  d->vkGetPhysicalDeviceProperties(p, &first);
  q->props.pNext = &q->subgroup;
  q->subgroup.pNext = &q->m3;
  q->features.pNext = &q->f16;
  if (first.apiVersion >= VK_API_VERSION_1_2) {
    q->m3.pNext = &q->p12;
    q->f16.pNext = &q->f12;
  }
  if (first.apiVersion >= VK_API_VERSION_1_3) {
    q->p12.pNext = &q->size;
    q->f12.pNext = &q->f13;
  }
  d->vkGetPhysicalDeviceProperties2(p, &q->props);
  d->vkGetPhysicalDeviceFeatures2(p, &q->features);
}

static bool is_llvmpipe(const query *q) {
  return q->p12.driverID == VK_DRIVER_ID_MESA_LLVMPIPE || strstr(q->props.properties.deviceName, "llvmpipe");
}
static bool is_swiftshader(const query *q) {
  return q->p12.driverID == VK_DRIVER_ID_GOOGLE_SWIFTSHADER || strstr(q->props.properties.deviceName, "SwiftShader");
}

static bool is_mesa(const query *q) {
  switch (q->p12.driverID) {
    case VK_DRIVER_ID_MESA_RADV:
    case VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA:
    case VK_DRIVER_ID_MESA_LLVMPIPE:
    case VK_DRIVER_ID_MESA_TURNIP:
    case VK_DRIVER_ID_MESA_V3DV:
    case VK_DRIVER_ID_MESA_PANVK:
    case VK_DRIVER_ID_MESA_VENUS:
    case VK_DRIVER_ID_MESA_DOZEN: return true;
    default: return is_llvmpipe(q);
  }
}

static void fill_caps(const query *q, spirv_caps *c) {
  const VkPhysicalDeviceLimits *l = &q->props.properties.limits;
  const VkPhysicalDeviceVulkan12Properties *p = &q->p12;
  bool v12 = q->props.properties.apiVersion >= VK_API_VERSION_1_2;
  *c = (spirv_caps){
      .physical_storage = v12 && q->f12.bufferDeviceAddress,
      .int64_atomics = v12 && q->f12.shaderBufferInt64Atomics,
      .shared_int64_atomics = v12 && q->f12.shaderSharedInt64Atomics,
      .subgroup_extended = v12 && q->f12.shaderSubgroupExtendedTypes,
      .float_controls = v12,
      .preserve_inf_nan = {p->shaderSignedZeroInfNanPreserveFloat16, p->shaderSignedZeroInfNanPreserveFloat32,
                           p->shaderSignedZeroInfNanPreserveFloat64},
      .preserve_denorms = {p->shaderDenormPreserveFloat16, p->shaderDenormPreserveFloat32,
                           p->shaderDenormPreserveFloat64},
      .round_even = {p->shaderRoundingModeRTEFloat16, p->shaderRoundingModeRTEFloat32, p->shaderRoundingModeRTEFloat64},
      .denorm_independent = p->denormBehaviorIndependence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL,
      .rounding_independent = p->roundingModeIndependence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL,
      .u32_to_f32_rounds_twice = is_swiftshader(q),
      .narrows_comparisons_wrongly = is_mesa(q),
      .no_pointer_casts = is_swiftshader(q),
      .descriptor_range = l->maxStorageBufferRange,
      .descriptor_align = l->minStorageBufferOffsetAlignment < 16 ? 16 : (int32_t)l->minStorageBufferOffsetAlignment,
      .push_bytes = l->maxPushConstantsSize > 256 ? 256 : (int32_t)l->maxPushConstantsSize,
      .max_local_x = (int32_t)l->maxComputeWorkGroupSize[0],
  };
  uint32_t n = l->maxPerStageDescriptorStorageBuffers;
  if (l->maxDescriptorSetStorageBuffers < n) n = l->maxDescriptorSetStorageBuffers;
  if (l->maxPerStageResources < n) n = l->maxPerStageResources;
  c->descriptors = n > SPIRV_MAX_PARAMS ? SPIRV_MAX_PARAMS : (int32_t)n;
}

typedef struct cost_row {
  hlo_target_class cls;
  float load_vec4, load_scalar, shared_over_load, barrier, cross_lane;
  bool shuffle_is_broadcast, uniform_load_free;
  int32_t acc_max, body_max, elementwise_workgroup;
  float dispatch_us;
} cost_row;

// Measured on the software drivers; for GPUs the compilers' figures (registers, waves) decide and costs stay unknown
// (0).
static const cost_row LAVAPIPE = {HLO_TARGET_CPU_LIKE, 80, 54, 0.8f, 22, 5, false, false, 256, 1024, 64, 19};
static const cost_row SWIFTSHADER = {HLO_TARGET_CPU_LIKE, 55, 14, 1.7f, 370, 6, true, false, 128, 512, 256, 13};
static const cost_row OTHER_CPU = {HLO_TARGET_CPU_LIKE, 60, 30, 1, 100, 10, false, false, 128, 512, 64, 20};
static const cost_row GPU = {HLO_TARGET_GPU, 0, 0, 0, 0, 1, false, true, 64, 1024, 256, 0};

static const cost_row *costs_of(const query *q) {
  if (is_llvmpipe(q)) return &LAVAPIPE;
  if (is_swiftshader(q)) return &SWIFTSHADER;
  return q->props.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU ? &OTHER_CPU : &GPU;
}

static void fill_target(const query *q, const spirv_caps *caps, hlo_target *t) {
  const VkPhysicalDeviceLimits *l = &q->props.properties.limits;
  const cost_row *c = costs_of(q);
  bool v12 = q->props.properties.apiVersion >= VK_API_VERSION_1_2;
  snprintf(t->name, sizeof t->name, "vulkan:%.56s", q->props.properties.deviceName);
  t->cls = c->cls;
  t->storage_16 = q->f16.storageBuffer16BitAccess;
  t->storage_8 = v12 && q->f12.storageBuffer8BitAccess;
  t->f16 = v12 && q->f12.shaderFloat16 && t->storage_16;
  t->f64 = q->features.features.shaderFloat64;
  t->i8 = v12 && q->f12.shaderInt8 && t->storage_8;
  t->i16 = q->features.features.shaderInt16 && t->storage_16;
  t->i64 = q->features.features.shaderInt64;
  if (!t->i8) t->storage_8 = false;  // nothing to load into
  if (!t->i16) t->storage_16 = t->f16 = false;
  t->subnormals_f32 = is_llvmpipe(q) || (caps->float_controls && caps->preserve_denorms[1]);
  t->fused_fma = c->cls == HLO_TARGET_GPU;
  t->vector_bytes = 16;
  t->vector_registers = 64;
  t->threads = c->cls == HLO_TARGET_GPU ? 1 : thread_usable_cpus();
  t->group_ops = true;
  VkSubgroupFeatureFlags ops = q->subgroup.supportedOperations;
  bool in_compute = q->subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT;
  t->subgroup_shuffle = in_compute && (ops & VK_SUBGROUP_FEATURE_SHUFFLE_BIT) && (ops & VK_SUBGROUP_FEATURE_BALLOT_BIT);
  t->subgroup_arithmetic = t->subgroup_shuffle;  // reductions are built from shuffles
  t->subgroup = t->subgroup_shuffle ? (int32_t)q->subgroup.subgroupSize : 0;
  t->max_workgroup = (int32_t)l->maxComputeWorkGroupInvocations;
  if ((int32_t)l->maxComputeWorkGroupSize[0] < t->max_workgroup)
    t->max_workgroup = (int32_t)l->maxComputeWorkGroupSize[0];
  t->shared_bytes = l->maxComputeSharedMemorySize;
  for (int d = 0; d < 3; d++) t->max_groups[d] = l->maxComputeWorkGroupCount[d];
  t->int_atomics = true;
  t->max_storage_range = caps->physical_storage ? INT64_MAX : caps->descriptor_range;
  t->max_buffers = caps->descriptors;
  if (caps->physical_storage) t->max_buffers += caps->push_bytes / 16;  // half of the push constants for addresses
  if (t->max_buffers > SPIRV_MAX_PARAMS) t->max_buffers = SPIRV_MAX_PARAMS;
  t->max_bound_range = caps->descriptor_range;
  t->max_addresses = caps->physical_storage ? caps->push_bytes / 8 - 2 : 0;  // the rest for offsets of bound ones
  t->buffer_align = caps->descriptor_align;
  t->max_alloc = (int64_t)q->m3.maxMemoryAllocationSize;
  t->load_vec4 = c->load_vec4, t->load_scalar = c->load_scalar, t->shared_over_load = c->shared_over_load;
  t->barrier = c->barrier, t->cross_lane = c->cross_lane;
  t->shuffle_is_broadcast = c->shuffle_is_broadcast, t->uniform_load_free = c->uniform_load_free;
  t->acc_max = c->acc_max, t->body_max = c->body_max, t->dispatch_us = c->dispatch_us;
  t->folds_zero = is_llvmpipe(q);  // lp_build_mul, lp_build_add, lp_build_div
  // gallivm counts all loops of an invocation together and leaves them at 65,535
  if (is_llvmpipe(q)) t->max_iterations = 65000;
  t->elementwise_workgroup = c->elementwise_workgroup < t->max_workgroup ? c->elementwise_workgroup : t->max_workgroup;
}

static bool find_queue(const vulkan_driver *d, vulkan_gpu *g) {
  VkQueueFamilyProperties families[32];
  uint32_t n = 32;
  d->vkGetPhysicalDeviceQueueFamilyProperties(g->physical, &n, families);
  for (uint32_t f = 0; f < n; f++)
    if (families[f].queueFlags & VK_QUEUE_COMPUTE_BIT) {
      g->queue_family = f;
      g->timestamp_bits = families[f].timestampValidBits;
      return true;
    }
  return false;
}

static void find_extensions(const vulkan_driver *d, vulkan_gpu *g) {
  uint32_t n = 0;
  if (d->vkEnumerateDeviceExtensionProperties(g->physical, NULL, &n, NULL) || !n) return;
  VkExtensionProperties *e = heap_alloc(sizeof *e * n);
  d->vkEnumerateDeviceExtensionProperties(g->physical, NULL, &n, e);
  for (uint32_t i = 0; i < n; i++) {
    g->push_descriptors |= !strcmp(e[i].extensionName, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
    g->pipeline_statistics |= !strcmp(e[i].extensionName, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
  }
  free(e);
}

static backend_device_kind kind_of(VkPhysicalDeviceType t) {
  switch (t) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return BACKEND_DISCRETE_GPU;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return BACKEND_INTEGRATED_GPU;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return BACKEND_SOFTWARE_GPU;
    default: return BACKEND_OTHER;
  }
}

static void fill_info(const query *q, vulkan_gpu *g) {
  const VkPhysicalDeviceProperties *p = &q->props.properties;
  snprintf(g->info.name, sizeof g->info.name, "%.127s", p->deviceName);
  if (p->apiVersion >= VK_API_VERSION_1_2)
    snprintf(g->info.driver, sizeof g->info.driver, "%.60s%s%.60s", q->p12.driverName, q->p12.driverInfo[0] ? ", " : "",
             q->p12.driverInfo);
  else
    snprintf(g->info.driver, sizeof g->info.driver, "Vulkan %u.%u", VK_API_VERSION_MAJOR(p->apiVersion),
             VK_API_VERSION_MINOR(p->apiVersion));
  g->info.kind = kind_of(p->deviceType);
  g->info.compile_only = strstr(p->deviceName, "Null hardware") != NULL;
  VkPhysicalDeviceMemoryProperties m;
  g->driver->vkGetPhysicalDeviceMemoryProperties(g->physical, &m);
  for (uint32_t h = 0; h < m.memoryHeapCount; h++)
    if (m.memoryHeaps[h].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT &&
        (int64_t)m.memoryHeaps[h].size > g->info.memory_bytes)
      g->info.memory_bytes = (int64_t)m.memoryHeaps[h].size;
}

lemnos_status vulkan_gpu_describe(vulkan_driver *d, VkPhysicalDevice p, vulkan_gpu *out) {
  *out = (vulkan_gpu){.driver = d, .physical = p};
  query *q = heap_alloc(sizeof *q);
  ask(d, p, q);
  const VkPhysicalDeviceProperties *props = &q->props.properties;
  lemnos_status status = LEMNOS_SUCCESS;
  out->api_version = props->apiVersion;
  if (props->apiVersion < VK_API_VERSION_1_1)
    status = lemnos_status_make(LEMNOS_UNAVAILABLE, "%s: Vulkan 1.0, 1.1 is needed", props->deviceName);
  else if (!find_queue(d, out))
    status = lemnos_status_make(LEMNOS_UNAVAILABLE, "%s: it has no compute queue", props->deviceName);
  if (!status) {
    find_extensions(d, out);
    fill_caps(q, &out->caps);
    fill_info(q, out);
    fill_target(q, &out->caps, &out->info.target);
    out->timestamp_ns = props->limits.timestampPeriod;
    out->subgroup_control = props->apiVersion >= VK_API_VERSION_1_3 && q->f13.subgroupSizeControl &&
                            (q->size.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT);
    out->subgroup_min = q->size.minSubgroupSize, out->subgroup_max = q->size.maxSubgroupSize;
    out->is_software = props->deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    memcpy(out->cache_uuid, props->pipelineCacheUUID, VK_UUID_SIZE);
    out->driver_version = props->driverVersion, out->vendor = props->vendorID, out->device = props->deviceID;
  }
  free(q);
  return status;
}

// --- the list ------------------------------------------------------------------------------------

static void note(backend_state *s, lemnos_status status) {
  strbuf_printf(&s->why, "vulkan: %s\n", lemnos_status_message(status));
  lemnos_status_free(status);
}

static void add_devices(backend_state *s, vulkan_driver *d) {
  VkPhysicalDevice physical[VULKAN_MAX_GPUS];
  uint32_t n = VULKAN_MAX_GPUS;
  VkResult r = d->vkEnumeratePhysicalDevices(d->instance, &n, physical);
  if (r && r != VK_INCOMPLETE) return note(s, vulkan_result_status(r, "vkEnumeratePhysicalDevices"));
  for (uint32_t i = 0; i < n && s->n_gpus < VULKAN_MAX_GPUS; i++) {
    vulkan_gpu *g = &s->gpus[s->n_gpus];
    lemnos_status status = vulkan_gpu_describe(d, physical[i], g);
    if (status) {
      note(s, status);
      continue;
    }
    snprintf(g->info.target.spec, sizeof g->info.target.spec, "vulkan:%d", s->n_gpus++);
  }
}

static bool user_chose_drivers(void) {
  const char *a = getenv("VK_ICD_FILENAMES"), *b = getenv("VK_DRIVER_FILES");
  return (a && *a) || (b && *b);
}

static bool has_swiftshader(const backend_state *s) {
  for (int i = 0; i < s->n_gpus; i++)
    if (strstr(s->gpus[i].info.name, "SwiftShader")) return true;
  return false;
}

static void enumerate_locked(backend_state *s) {
  s->enumerated = true;
  if (s->drivers[0]) {
    lemnos_status status = vulkan_driver_start(s->drivers[0], s->validate ? s->validation_log : NULL);
    if (status)
      note(s, status);
    else
      add_devices(s, s->drivers[0]);
  }
  if (user_chose_drivers() || has_swiftshader(s)) return;
  FILE *there = fopen(SWIFTSHADER_MANIFEST, "r");
  if (!there) return;
  fclose(there);
  lemnos_status status = vulkan_driver_open_icd(SWIFTSHADER_MANIFEST, &s->drivers[1]);
  if (!status) status = vulkan_driver_start(s->drivers[1], NULL);
  if (status)
    note(s, status);
  else
    add_devices(s, s->drivers[1]);
}

lemnos_status vulkan_state_enumerate(backend_state *s) {
  pthread_mutex_lock(&s->lock);
  if (!s->enumerated) enumerate_locked(s);
  pthread_mutex_unlock(&s->lock);
  return LEMNOS_SUCCESS;
}

// --- named targets -------------------------------------------------------------------------------

static vulkan_driver *open_radv(lemnos_status *status) {
  static const char *const folders[] = {"/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d",
                                        "/etc/vulkan/icd.d"};
  vulkan_driver *d = NULL;
  *status = LEMNOS_SUCCESS;
  for (int f = 0; f < 3 && !d; f++) {
    char pattern[128];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/radeon_icd*.json", folders[f]);
    if (glob(pattern, 0, NULL, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc && !d; i++) {
        lemnos_status_free(*status);
        *status = vulkan_driver_open_icd(found.gl_pathv[i], &d);
      }
      globfree(&found);
    }
  }
  if (!d && !*status)
    *status = lemnos_status_make(LEMNOS_UNAVAILABLE,
                                 "RADV (Mesa's driver for AMD GPUs, mesa-vulkan-drivers) is not installed");
  return d;
}

// RADV reads RADV_FORCE_FAMILY when it lists devices. The environment is the process's: it is changed here for the
// moment of that call (under the state's lock) and put back. Only named targets, a developer's tool, come here.
static lemnos_status open_null_hardware(vulkan_named *n, const char *family) {
  lemnos_status status;
  n->driver = open_radv(&status);
  if (status) return status;
  const char *old = getenv("RADV_FORCE_FAMILY");
  char *keep = old ? strdup(old) : NULL;
  setenv("RADV_FORCE_FAMILY", family, 1);
  status = vulkan_driver_start(n->driver, NULL);
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  uint32_t count = 1;
  if (!status) {
    VkResult r = n->driver->vkEnumeratePhysicalDevices(n->driver->instance, &count, &physical);
    if ((r && r != VK_INCOMPLETE) || !count || !physical)
      status = lemnos_status_make(LEMNOS_NOT_FOUND, "RADV knows no GPU family '%s'", family);
  }
  if (!status) status = vulkan_gpu_describe(n->driver, physical, &n->gpu);
  if (keep)
    setenv("RADV_FORCE_FAMILY", keep, 1);
  else
    unsetenv("RADV_FORCE_FAMILY");
  free(keep);
  if (status || n->gpu.info.compile_only) return status;
  return lemnos_status_make(LEMNOS_UNAVAILABLE, "RADV gave %s instead of its null hardware", n->gpu.info.name);
}

// RADV ends the process at a name it does not know, so only names that Mesa 22.3 knows are handed on.
static bool family_known(const char *name) {
  static const char *const families[] = {
      "TAHITI", "BONAIRE", "HAWAII", "TONGA",  "FIJI",    "POLARIS10", "POLARIS11", "POLARIS12", "VEGAM",
      "VEGA10", "VEGA12",  "VEGA20", "RAVEN",  "RAVEN2",  "RENOIR",    "NAVI10",    "NAVI12",    "NAVI14",
      "NAVI21", "NAVI22",  "NAVI23", "NAVI24", "VANGOGH", "REMBRANDT", "GFX1100",   "GFX1102",   "GFX1103_R1"};
  for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
    if (!strcmp(name, families[i])) return true;
  return false;
}

static lemnos_status add_named(backend_state *s, strv spec, const vulkan_gpu **out) {
  char family[32] = {0};
  strv name = strv_drop(spec, strlen("radv:"));
  if (name.len == 0 || name.len >= sizeof family)
    return lemnos_status_make(LEMNOS_NOT_FOUND, "no GPU family '" STRV_FMT "'", STRV_ARG(name));
  for (size_t i = 0; i < name.len && i < sizeof family - 1; i++) family[i] = (char)toupper((unsigned char)name.data[i]);
  if (!family_known(family))
    return lemnos_status_make(LEMNOS_NOT_FOUND, "no GPU family '%s' is known for RADV", family);
  if (s->n_named == VULKAN_MAX_NAMED)
    return lemnos_status_make(LEMNOS_UNAVAILABLE, "more than %d named targets in one process", VULKAN_MAX_NAMED);
  vulkan_named *n = &s->named[s->n_named];
  *n = (vulkan_named){0};
  lemnos_status status = open_null_hardware(n, family);
  if (status) {
    vulkan_driver_close(n->driver);
    return status;
  }
  snprintf(n->spec, sizeof n->spec, STRV_FMT, STRV_ARG(spec));
  snprintf(n->gpu.info.target.spec, sizeof n->gpu.info.target.spec, STRV_FMT, STRV_ARG(spec));
  snprintf(n->gpu.info.target.name, sizeof n->gpu.info.target.name, STRV_FMT, STRV_ARG(spec));
  s->n_named++;
  *out = &n->gpu;
  return LEMNOS_SUCCESS;
}

lemnos_status vulkan_gpu_of_spec(backend_state *s, strv spec, const vulkan_gpu **out) {
  if (strv_starts_with(spec, STRV("radv:"))) {
    pthread_mutex_lock(&s->lock);
    lemnos_status status = LEMNOS_SUCCESS;
    *out = NULL;
    for (int i = 0; i < s->n_named && !*out; i++)
      if (strv_eq_cstr(spec, s->named[i].spec)) *out = &s->named[i].gpu;
    if (!*out) status = add_named(s, spec, out);
    pthread_mutex_unlock(&s->lock);
    return status;
  }
  int64_t n = 0;
  strv number = strv_drop(spec, strlen("vulkan:"));
  if (!strv_eq_cstr(spec, "vulkan") && !(strv_starts_with(spec, STRV("vulkan:")) && strv_parse_i64(number, &n)))
    return lemnos_status_make(LEMNOS_NOT_FOUND, "'" STRV_FMT "' is no Vulkan target (vulkan:N, radv:FAMILY)",
                              STRV_ARG(spec));
  LEMNOS_TRY(vulkan_state_enumerate(s));
  if (n < 0 || n >= s->n_gpus)
    return lemnos_status_make(LEMNOS_NOT_FOUND, "there are %d Vulkan devices, no '" STRV_FMT "'", s->n_gpus,
                              STRV_ARG(spec));
  *out = &s->gpus[n];
  return LEMNOS_SUCCESS;
}
