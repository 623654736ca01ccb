// SPDX-License-Identifier: Apache-2.0
// Programs: a pipeline a kernel, made in parallel and warmed, so that no launch compiles anything.
#include <stdio.h>

#include "backend-spirv/vulkan_internal.h"

void vulkan_pipeline_destroy(backend_device *d, vulkan_pipeline *p) {
  if (p->pipeline) d->vk.vkDestroyPipeline(d->device, p->pipeline, NULL);
  if (p->layout) d->vk.vkDestroyPipelineLayout(d->device, p->layout, NULL);
  if (p->set_layout) d->vk.vkDestroyDescriptorSetLayout(d->device, p->set_layout, NULL);
  *p = (vulkan_pipeline){0};
}

static lemnos_status create_layout(backend_device *d, vulkan_pipeline *p) {
  VkDescriptorSetLayoutBinding bindings[SPIRV_MAX_PARAMS];
  for (uint32_t i = 0; i < p->info.n_bindings; i++)
    bindings[i] = (VkDescriptorSetLayoutBinding){.binding = i,
                                                 .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                 .descriptorCount = 1,
                                                 .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
  VkDescriptorSetLayoutCreateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                         .bindingCount = p->info.n_bindings,
                                         .pBindings = bindings};
  if (d->gpu->push_descriptors) set.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
  LEMNOS_TRY(vulkan_device_failed(d, d->vk.vkCreateDescriptorSetLayout(d->device, &set, NULL, &p->set_layout),
                                  "vkCreateDescriptorSetLayout"));
  VkPushConstantRange range = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = p->info.push_bytes};
  VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                       .setLayoutCount = 1,
                                       .pSetLayouts = &p->set_layout,
                                       .pushConstantRangeCount = p->info.push_bytes ? 1 : 0,
                                       .pPushConstantRanges = &range};
  return vulkan_device_failed(d, d->vk.vkCreatePipelineLayout(d->device, &layout, NULL, &p->layout),
                              "vkCreatePipelineLayout");
}

static lemnos_status create_pipeline(backend_device *d, vulkan_pipeline *p, VkShaderModule module, bool capture) {
  uint32_t subgroup = p->info.subgroup;
  const vulkan_gpu *g = d->gpu;
  bool require = subgroup && g->subgroup_control && g->subgroup_min != g->subgroup_max;
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
      .requiredSubgroupSize = subgroup};
  if (require && (subgroup < g->subgroup_min || subgroup > g->subgroup_max))
    return lemnos_status_make(LEMNOS_FAILED_PRECONDITION, "made for subgroups of %u, %s has %u to %u", subgroup,
                              g->info.name, g->subgroup_min, g->subgroup_max);
  VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                      .flags = capture ? VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR |
                                                             VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR
                                                       : 0,
                                      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                .pNext = require ? &size : NULL,
                                                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                .module = module,
                                                .pName = "main"},
                                      .layout = p->layout};
  return vulkan_device_failed(
      d, d->vk.vkCreateComputePipelines(d->device, capture ? VK_NULL_HANDLE : d->cache, 1, &info, NULL, &p->pipeline),
      "vkCreateComputePipelines");
}

lemnos_status vulkan_pipeline_create(backend_device *d, const spirv_kernel_info *info, const uint32_t *words, int n,
                                     bool capture, vulkan_pipeline *out) {
  *out = (vulkan_pipeline){.info = *info};
  VkShaderModule module = VK_NULL_HANDLE;
  VkShaderModuleCreateInfo create = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = 4 * (size_t)n, .pCode = words};
  lemnos_status status = create_layout(d, out);
  if (!status)
    status =
        vulkan_device_failed(d, d->vk.vkCreateShaderModule(d->device, &create, NULL, &module), "vkCreateShaderModule");
  if (!status) status = create_pipeline(d, out, module, capture);
  if (module) d->vk.vkDestroyShaderModule(d->device, module, NULL);
  if (status) vulkan_pipeline_destroy(d, out);
  return status;
}

// --- programs ------------------------------------------------------------------------------------

typedef struct job {
  backend_device *d;
  const backend_code *code;
  kernel *const *kernels;
  backend_program *program;
  lemnos_status *status;
} job;

static void load_one(void *ctx, int64_t i, int thread) {
  job *j = ctx;
  spirv_kernel_info info;
  const uint32_t *words;
  int n;
  lemnos_status status = spirv_code_kernel(j->code, (int)i, &info, &words, &n);
  if (!status && j->kernels && (int)info.n_params != j->kernels[i]->n_params)
    status = lemnos_status_make(LEMNOS_DATA_LOSS, "the code is of another kernel");
  if (!status && (info.n_bindings > (uint32_t)j->d->gpu->caps.descriptors ||
                  info.push_bytes > (uint32_t)j->d->gpu->caps.push_bytes))
    status = lemnos_status_make(LEMNOS_FAILED_PRECONDITION, "made for a device with larger limits than %s",
                                j->d->gpu->info.name);
  if (!status) status = vulkan_pipeline_create(j->d, &info, words, n, false, &j->program->pipelines[i]);
  j->status[i] = !status || !j->kernels
                     ? status
                     : lemnos_status_annotate(status, "kernel " STRV_FMT, STRV_ARG(j->kernels[i]->name));
}

static lemnos_status warm(backend_device *d, backend_program *p) {
  backend_queue *q;
  LEMNOS_TRY(vulkan_queue_create(d, &q));
  lemnos_status status = vulkan_queue_warm(q, p);
  vulkan_queue_destroy(q);
  return status;
}

lemnos_status vulkan_program_load(backend_device *d, const backend_code *code, kernel *const *kernels, int n,
                                  backend_program **out) {
  int count;
  LEMNOS_TRY(spirv_code_count(code, &count));
  if (count != n) return lemnos_status_make(LEMNOS_DATA_LOSS, "the code has %d kernels, %d are wanted", count, n);
  backend_program *p = heap_alloc(sizeof *p);
  p->n = n;
  p->pipelines = heap_alloc(sizeof *p->pipelines * (size_t)(n + 1));
  job j = {
      .d = d, .code = code, .kernels = kernels, .program = p, .status = heap_alloc(sizeof *j.status * (size_t)(n + 1))};
  thread_pool_run(d->pool, n, load_one, &j);
  lemnos_status status = LEMNOS_SUCCESS;
  for (int i = 0; i < n; i++) {
    if (!status)
      status = j.status[i];
    else
      lemnos_status_free(j.status[i]);
  }
  free(j.status);
  if (!status && n) status = warm(d, p);
  if (status) {
    vulkan_program_unload(d, p);
    return status;
  }
  *out = p;
  return LEMNOS_SUCCESS;
}

void vulkan_program_unload(backend_device *d, backend_program *p) {
  if (!p) return;
  for (int i = 0; i < p->n; i++) vulkan_pipeline_destroy(d, &p->pipelines[i]);
  free(p->pipelines);
  free(p);
}
