// SPDX-License-Identifier: Apache-2.0
// What a driver reports about a compiled kernel (VK_KHR_pipeline_executable_properties): registers, spills, code size,
// latency, and its machine code. On RADV's null hardware this is the real compiler's answer for a GPU that is not
// there.
#include "backend-spirv/vulkan_internal.h"

enum { MAX_EXECUTABLES = 4, MAX_STATISTICS = 64, MAX_REPRESENTATIONS = 8 };

static void put_statistic(strbuf *out, const VkPipelineExecutableStatisticKHR *s) {
  strbuf_printf(out, "  %-28s ", s->name);
  switch (s->format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
      strbuf_printf(out, "%s\n", s->value.b32 ? "true" : "false");
      break;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
      strbuf_printf(out, "%lld\n", (long long)s->value.i64);
      break;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR: strbuf_printf(out, "%g\n", s->value.f64); break;
    default: strbuf_printf(out, "%llu\n", (unsigned long long)s->value.u64); break;
  }
}

static lemnos_status put_statistics(backend_device *d, const VkPipelineExecutableInfoKHR *which, strbuf *out) {
  VkPipelineExecutableStatisticKHR stats[MAX_STATISTICS];
  for (int i = 0; i < MAX_STATISTICS; i++)
    stats[i] = (VkPipelineExecutableStatisticKHR){.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR};
  uint32_t n = MAX_STATISTICS;
  VkResult r = d->vk.vkGetPipelineExecutableStatisticsKHR(d->device, which, &n, stats);
  if (r && r != VK_INCOMPLETE) return vulkan_result_status(r, "vkGetPipelineExecutableStatisticsKHR");
  for (uint32_t i = 0; i < n; i++) put_statistic(out, &stats[i]);
  return LEMNOS_SUCCESS;
}

// The last representation is the machine code.
static lemnos_status put_assembly(backend_device *d, const VkPipelineExecutableInfoKHR *which, strbuf *out) {
  VkPipelineExecutableInternalRepresentationKHR r[MAX_REPRESENTATIONS];
  memset(r, 0, sizeof r);
  for (int i = 0; i < MAX_REPRESENTATIONS; i++)
    r[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR;
  uint32_t n = MAX_REPRESENTATIONS;
  PFN_vkGetPipelineExecutableInternalRepresentationsKHR get = d->vk.vkGetPipelineExecutableInternalRepresentationsKHR;
  VkResult result = get(d->device, which, &n, r);
  if (result && result != VK_INCOMPLETE)
    return vulkan_result_status(result, "vkGetPipelineExecutableInternalRepresentationsKHR");
  for (uint32_t i = 0; i < n; i++) r[i].pData = heap_alloc(r[i].dataSize + 1);
  result = n ? get(d->device, which, &n, r) : VK_SUCCESS;
  if (!result && n && r[n - 1].isText) strbuf_append_cstr(out, r[n - 1].pData);
  for (uint32_t i = 0; i < n; i++) free(r[i].pData);
  if (result) return vulkan_result_status(result, "vkGetPipelineExecutableInternalRepresentationsKHR");
  return n ? LEMNOS_SUCCESS : lemnos_status_make(LEMNOS_UNIMPLEMENTED, "%s shows no machine code", d->gpu->info.name);
}

static lemnos_status put_pipeline(backend_device *d, const vulkan_pipeline *p, const kernel *k, bool assembly,
                                  strbuf *out) {
  VkPipelineInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pipeline = p->pipeline};
  VkPipelineExecutablePropertiesKHR properties[MAX_EXECUTABLES];
  for (int i = 0; i < MAX_EXECUTABLES; i++)
    properties[i] = (VkPipelineExecutablePropertiesKHR){.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR};
  uint32_t n = MAX_EXECUTABLES;
  VkResult r = d->vk.vkGetPipelineExecutablePropertiesKHR(d->device, &info, &n, properties);
  if (r && r != VK_INCOMPLETE) return vulkan_result_status(r, "vkGetPipelineExecutablePropertiesKHR");
  for (uint32_t e = 0; e < n; e++) {
    strbuf_printf(out, "; kernel " STRV_FMT " on %s: %s, subgroup %u\n", STRV_ARG(k->name), d->gpu->info.name,
                  properties[e].name, properties[e].subgroupSize);
    VkPipelineExecutableInfoKHR which = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, .pipeline = p->pipeline, .executableIndex = e};
    LEMNOS_TRY(assembly ? put_assembly(d, &which, out) : put_statistics(d, &which, out));
  }
  return LEMNOS_SUCCESS;
}

lemnos_status vulkan_emit_stats(backend_state *s, const vulkan_gpu *gpu, const kernel *k, bool assembly, strbuf *out) {
  if (!gpu->pipeline_statistics)
    return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "%s has no VK_KHR_pipeline_executable_properties", gpu->info.name);
  spirv_kernel_info info;
  spirv_words words = {0};
  backend_device *d = NULL;
  vulkan_pipeline p = {0};
  lemnos_status status = spirv_emit_kernel(k, &gpu->info.target, &gpu->caps, &info, &words);
  if (!status) status = vulkan_device_create(s, gpu, 1, &d);
  if (!status && !d->vk.vkGetPipelineExecutablePropertiesKHR)
    status = lemnos_status_make(LEMNOS_UNIMPLEMENTED, "%s has no pipeline statistics", gpu->info.name);
  if (!status) status = vulkan_pipeline_create(d, &info, words.data, words.len, true, &p);
  if (!status) status = put_pipeline(d, &p, k, assembly, out);
  if (d) {
    vulkan_pipeline_destroy(d, &p);
    vulkan_device_destroy(d);
  }
  vec_deinit(&words);
  return status;
}
