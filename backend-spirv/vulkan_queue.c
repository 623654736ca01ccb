// SPDX-License-Identifier: Apache-2.0
// Queues: launches and copies are recorded into a command buffer, submitted as a batch, and waited for by fence.
//
// Barriers come from hazards only: the ranges read and written since the last barrier are kept, and an operation that
// touches one of them (unless both only read) is put behind a barrier. The list lives on over submissions: a barrier
// also waits for earlier ones.
// Every batch ends in a barrier to the host. Descriptors: pushed where the driver can, else sets from pools that a
// batch owns and resets when it is waited for. No more than MAX_RUNNING batches are under way: one more waits for the
// oldest, so that a long loop does not fill memory with what is yet to run. A failure is kept and returned by
// everything that follows.
#include "backend-spirv/vulkan_internal.h"

enum { MAX_RANGES = 256, POOL_SETS = 256, POOL_DESCRIPTORS = 2048, QUERIES = 1024, MAX_RUNNING = 4 };

typedef struct range {
  VkBuffer buffer;
  int64_t from, to;
  bool written;
} range;

typedef struct batch {
  VkCommandBuffer commands;
  VkFence fence;
  VEC(VkDescriptorPool) pools;
  int pool;             // the one in use
  VkQueryPool queries;  // profiling
  uint32_t n_queries;
} batch;

struct backend_queue {
  backend_device *d;
  VkCommandPool commands;
  VEC(batch *) idle, running;
  batch *now;  // being recorded
  VEC(range) ranges;
  bool profiling;
  VEC(double) seconds;
  lemnos_status failed;
};

static lemnos_status again(const backend_queue *q) {  // a copy of the failure that is kept
  return q->failed ? lemnos_status_make(lemnos_status_get_code(q->failed), "%s", lemnos_status_message(q->failed))
                   : LEMNOS_SUCCESS;
}

static lemnos_status failed(backend_queue *q, VkResult r, const char *what) {
  if (r == VK_SUCCESS) return LEMNOS_SUCCESS;
  if (!q->failed) q->failed = vulkan_device_failed(q->d, r, what);
  return again(q);
}

// --- batches -------------------------------------------------------------------------------------

static void destroy_batch(backend_queue *q, batch *b) {
  const vulkan_device_symbols *vk = &q->d->vk;
  for (int i = 0; i < b->pools.len; i++) vk->vkDestroyDescriptorPool(q->d->device, b->pools.data[i], NULL);
  vec_deinit(&b->pools);
  if (b->queries) vk->vkDestroyQueryPool(q->d->device, b->queries, NULL);
  if (b->fence) vk->vkDestroyFence(q->d->device, b->fence, NULL);
  free(b);  // the command buffer goes with its pool
}

static lemnos_status create_batch(backend_queue *q, batch **out) {
  const vulkan_device_symbols *vk = &q->d->vk;
  batch *b = heap_alloc(sizeof *b);
  VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                      .commandPool = q->commands,
                                      .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                      .commandBufferCount = 1};
  VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkResult r = vk->vkAllocateCommandBuffers(q->d->device, &info, &b->commands);
  if (!r) r = vk->vkCreateFence(q->d->device, &fence, NULL, &b->fence);
  if (r) {
    destroy_batch(q, b);
    return failed(q, r, "creating a command buffer");
  }
  *out = b;
  return LEMNOS_SUCCESS;
}

static lemnos_status start_queries(backend_queue *q, batch *b) {
  VkQueryPoolCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = QUERIES};
  if (!b->queries) {
    VkResult r = q->d->vk.vkCreateQueryPool(q->d->device, &info, NULL, &b->queries);
    if (r) return failed(q, r, "vkCreateQueryPool");
  }
  q->d->vk.vkCmdResetQueryPool(b->commands, b->queries, 0, QUERIES);
  return LEMNOS_SUCCESS;
}

static lemnos_status begin(backend_queue *q) {
  if (q->failed) return again(q);
  if (q->now) return LEMNOS_SUCCESS;
  batch *b = NULL;
  if (q->idle.len)
    b = vec_pop(&q->idle);
  else
    LEMNOS_TRY(create_batch(q, &b));
  b->pool = 0, b->n_queries = 0;
  VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                   .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  VkResult r = q->d->vk.vkBeginCommandBuffer(b->commands, &info);
  if (r) {
    vec_push(NULL, &q->idle, b);
    return failed(q, r, "vkBeginCommandBuffer");
  }
  q->now = b;
  return q->profiling ? start_queries(q, b) : LEMNOS_SUCCESS;
}

// --- hazards -------------------------------------------------------------------------------------

enum { WORK_STAGES = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT };
enum { WORK_READS = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT };
enum { WORK_WRITES = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT };

static void barrier(backend_queue *q) {
  VkMemoryBarrier m = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                       .srcAccessMask = WORK_WRITES,
                       .dstAccessMask = WORK_READS | WORK_WRITES};
  q->d->vk.vkCmdPipelineBarrier(q->now->commands, WORK_STAGES, WORK_STAGES, 0, 1, &m, 0, NULL, 0, NULL);
  q->ranges.len = 0;
}

static range range_of(backend_binding b, bool written) {
  return (range){.buffer = b.memory->block->buffer,
                 .from = b.memory->offset + b.offset,
                 .to = b.memory->offset + b.offset + b.size,
                 .written = written};
}

static bool conflicts(const backend_queue *q, range r) {
  for (int i = 0; i < q->ranges.len; i++) {
    const range *o = &q->ranges.data[i];
    if (o->buffer == r.buffer && o->from < r.to && r.from < o->to && (o->written || r.written)) return true;
  }
  return false;
}

// Puts a barrier in front of an operation that touches these ranges if it has to see, or must not disturb, what came
// before.
static void order(backend_queue *q, int n, const range *ranges) {
  bool wanted = q->ranges.len + n > MAX_RANGES;
  for (int i = 0; i < n && !wanted; i++) wanted = conflicts(q, ranges[i]);
  if (wanted) barrier(q);
  for (int i = 0; i < n; i++)
    if (ranges[i].from < ranges[i].to) vec_push(NULL, &q->ranges, ranges[i]);
}

// --- descriptors ---------------------------------------------------------------------------------

static lemnos_status add_pool(backend_queue *q, batch *b) {
  VkDescriptorPoolSize size = {.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = POOL_DESCRIPTORS};
  VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                     .maxSets = POOL_SETS,
                                     .poolSizeCount = 1,
                                     .pPoolSizes = &size};
  VkDescriptorPool pool;
  VkResult r = q->d->vk.vkCreateDescriptorPool(q->d->device, &info, NULL, &pool);
  if (r) return failed(q, r, "vkCreateDescriptorPool");
  vec_push(NULL, &b->pools, pool);
  return LEMNOS_SUCCESS;
}

static lemnos_status allocate_set(backend_queue *q, VkDescriptorSetLayout layout, VkDescriptorSet *out) {
  batch *b = q->now;
  for (bool fresh = false;;) {
    if (b->pool == b->pools.len) {
      LEMNOS_TRY(add_pool(q, b));
      fresh = true;
    }
    VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorPool = b->pools.data[b->pool],
                                        .descriptorSetCount = 1,
                                        .pSetLayouts = &layout};
    VkResult r = q->d->vk.vkAllocateDescriptorSets(q->d->device, &info, out);
    if (!r) return LEMNOS_SUCCESS;
    bool full = r == VK_ERROR_OUT_OF_POOL_MEMORY || r == VK_ERROR_FRAGMENTED_POOL;
    if (!full || fresh) return failed(q, r, "vkAllocateDescriptorSets");
    b->pool++;
  }
}

static lemnos_status bind_buffers(backend_queue *q, const vulkan_pipeline *p, const VkDescriptorBufferInfo *buffers) {
  const vulkan_device_symbols *vk = &q->d->vk;
  uint32_t n = p->info.n_bindings;
  VkWriteDescriptorSet writes[SPIRV_MAX_PARAMS];
  VkDescriptorSet set = VK_NULL_HANDLE;
  if (!n) return LEMNOS_SUCCESS;
  if (!q->d->gpu->push_descriptors) LEMNOS_TRY(allocate_set(q, p->set_layout, &set));
  for (uint32_t i = 0; i < n; i++)
    writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                       .dstSet = set,
                                       .dstBinding = i,
                                       .descriptorCount = 1,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .pBufferInfo = &buffers[i]};
  if (q->d->gpu->push_descriptors) {
    vk->vkCmdPushDescriptorSetKHR(q->now->commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->layout, 0, n, writes);
  } else {
    vk->vkUpdateDescriptorSets(q->d->device, n, writes, 0, NULL);
    vk->vkCmdBindDescriptorSets(q->now->commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->layout, 0, 1, &set, 0, NULL);
  }
  return LEMNOS_SUCCESS;
}

// --- launches ------------------------------------------------------------------------------------

typedef struct arguments {
  range ranges[SPIRV_MAX_PARAMS];
  VkDescriptorBufferInfo buffers[SPIRV_MAX_PARAMS];
  char push[12 * SPIRV_MAX_PARAMS];
} arguments;

static lemnos_status fill_argument(backend_queue *q, const spirv_param_info *p, int number, backend_binding b,
                                   arguments *a) {
  if (!b.memory || b.offset < 0 || b.size < 0 || b.offset + b.size > b.memory->size)
    return lemnos_status_make(LEMNOS_INTERNAL, "argument %d: bytes %lld to %lld are outside its allocation of %lld",
                              number, (long long)b.offset, (long long)(b.offset + b.size),
                              b.memory ? (long long)b.memory->size : 0);
  int64_t at = b.memory->offset + b.offset, align = q->d->gpu->caps.descriptor_align;
  if (at % p->elem_bytes)
    return lemnos_status_make(LEMNOS_INTERNAL, "argument %d: offset %lld is not a multiple of its element's %d bytes",
                              number, (long long)at, p->elem_bytes);
  if (p->addressed) {
    uint64_t address = b.memory->block->address + (uint64_t)at;
    memcpy(a->push + p->push_offset, &address, 8);
    return LEMNOS_SUCCESS;
  }
  int64_t rest = at % align;
  if (rest && !p->offset_pushed)
    return lemnos_status_make(LEMNOS_INTERNAL, "argument %d: offset %lld is less aligned than the kernel says", number,
                              (long long)at);
  if (p->offset_pushed) {
    uint32_t elements = (uint32_t)(rest / p->elem_bytes);
    memcpy(a->push + p->push_offset, &elements, 4);
  }
  int64_t size = (b.size + 3) / 4 * 4 + rest;
  if (!b.size) {  // an empty buffer may lie at the very end: any four bytes serve
    at = 0, rest = 0, size = 4;
    if (p->offset_pushed) memset(a->push + p->push_offset, 0, 4);
  }
  a->buffers[p->binding] = (VkDescriptorBufferInfo){
      .buffer = b.memory->block->buffer, .offset = (VkDeviceSize)(at - rest), .range = (VkDeviceSize)size};
  return LEMNOS_SUCCESS;
}

static void stamp(backend_queue *q, VkPipelineStageFlagBits stage) {
  if (q->profiling) q->d->vk.vkCmdWriteTimestamp(q->now->commands, stage, q->now->queries, q->now->n_queries++);
}

static lemnos_status record(backend_queue *q, const vulkan_pipeline *p, const arguments *a, const uint32_t groups[3]) {
  const vulkan_device_symbols *vk = &q->d->vk;
  VkCommandBuffer c = q->now->commands;
  vk->vkCmdBindPipeline(c, VK_PIPELINE_BIND_POINT_COMPUTE, p->pipeline);
  LEMNOS_TRY(bind_buffers(q, p, a->buffers));
  if (p->info.push_bytes)
    vk->vkCmdPushConstants(c, p->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, p->info.push_bytes, a->push);
  stamp(q, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
  vk->vkCmdDispatch(c, groups[0], groups[1], groups[2]);
  stamp(q, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
  return LEMNOS_SUCCESS;
}

lemnos_status vulkan_queue_launch(backend_queue *q, backend_program *program, int kernel,
                                  const backend_binding *bindings) {
  if (kernel < 0 || kernel >= program->n)
    return lemnos_status_make(LEMNOS_INTERNAL, "no kernel %d in a program of %d", kernel, program->n);
  const vulkan_pipeline *p = &program->pipelines[kernel];
  if (q->profiling && q->now && q->now->n_queries + 2 > QUERIES) LEMNOS_TRY(vulkan_queue_submit(q));
  LEMNOS_TRY(begin(q));
  arguments a;
  for (uint32_t i = 0; i < p->info.n_params; i++) {
    LEMNOS_TRY(fill_argument(q, &p->info.params[i], (int)i, bindings[i], &a));
    a.ranges[i] = range_of(bindings[i], p->info.params[i].written);
  }
  if (q->profiling) barrier(q);  // launches are timed one by one
  order(q, (int)p->info.n_params, a.ranges);
  return record(q, p, &a, p->info.groups);
}

lemnos_status vulkan_queue_copy(backend_queue *q, backend_binding dst, backend_binding src) {
  if (!dst.memory || !src.memory || dst.size != src.size || dst.size < 0 || dst.offset < 0 || src.offset < 0 ||
      dst.offset + dst.size > dst.memory->size || src.offset + src.size > src.memory->size)
    return lemnos_status_make(LEMNOS_INTERNAL, "a copy of %lld bytes to %lld bytes, or outside an allocation",
                              (long long)src.size, (long long)dst.size);
  range ranges[2] = {range_of(src, false), range_of(dst, true)};
  if (!dst.size || (ranges[0].buffer == ranges[1].buffer && ranges[0].from == ranges[1].from)) return again(q);
  if (ranges[0].buffer == ranges[1].buffer && ranges[0].from < ranges[1].to && ranges[1].from < ranges[0].to)
    return lemnos_status_make(LEMNOS_INTERNAL, "a copy between overlapping ranges");
  LEMNOS_TRY(begin(q));
  order(q, 2, ranges);
  VkBufferCopy region = {.srcOffset = (VkDeviceSize)ranges[0].from,
                         .dstOffset = (VkDeviceSize)ranges[1].from,
                         .size = (VkDeviceSize)dst.size};
  q->d->vk.vkCmdCopyBuffer(q->now->commands, ranges[0].buffer, ranges[1].buffer, 1, &region);
  return LEMNOS_SUCCESS;
}

lemnos_status vulkan_queue_warm(backend_queue *q, backend_program *p) {
  backend_memory *dummy;
  LEMNOS_TRY(vulkan_memory_alloc(q->d, 256, &dummy));
  lemnos_status status = LEMNOS_SUCCESS;
  const uint32_t none[3] = {0, 0, 0};
  for (int i = 0; i < p->n && !status; i++) {
    const vulkan_pipeline *k = &p->pipelines[i];
    arguments a = {0};
    for (uint32_t b = 0; b < k->info.n_bindings; b++)
      a.buffers[b] =
          (VkDescriptorBufferInfo){.buffer = dummy->block->buffer, .offset = (VkDeviceSize)dummy->offset, .range = 256};
    status = begin(q);
    if (!status) status = record(q, k, &a, none);
  }
  lemnos_status waited = vulkan_queue_wait(q);
  vulkan_memory_free(q->d, dummy);
  if (!status) return waited;
  lemnos_status_free(waited);
  return status;
}

// --- submit and wait -----------------------------------------------------------------------------

static lemnos_status read_queries(backend_queue *q, batch *b) {
  if (!b->n_queries) return LEMNOS_SUCCESS;
  uint64_t stamps[QUERIES];
  VkResult r = q->d->vk.vkGetQueryPoolResults(q->d->device, b->queries, 0, b->n_queries, sizeof stamps, stamps, 8,
                                              VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  if (r) return failed(q, r, "vkGetQueryPoolResults");
  uint64_t mask = q->d->gpu->timestamp_bits >= 64 ? ~UINT64_C(0) : ((uint64_t)1 << q->d->gpu->timestamp_bits) - 1;
  for (uint32_t i = 0; i + 1 < b->n_queries; i += 2) {
    double seconds = (double)((stamps[i + 1] - stamps[i]) & mask) * (double)q->d->gpu->timestamp_ns * 1e-9;
    vec_push(NULL, &q->seconds, seconds);
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status finish(backend_queue *q, batch *b) {
  const vulkan_device_symbols *vk = &q->d->vk;
  VkResult r = vk->vkWaitForFences(q->d->device, 1, &b->fence, VK_TRUE, UINT64_MAX);
  lemnos_status status = failed(q, r, "waiting for the device");
  if (!status) status = read_queries(q, b);
  b->n_queries = 0;
  if (r) return status;  // lost: the fence and the buffers may still be in use, they are only destroyed
  vk->vkResetFences(q->d->device, 1, &b->fence);
  for (int i = 0; i < b->pools.len; i++) vk->vkResetDescriptorPool(q->d->device, b->pools.data[i], 0);
  return status;
}

lemnos_status vulkan_queue_submit(backend_queue *q) {
  if (q->failed) return again(q);
  if (!q->now) return LEMNOS_SUCCESS;
  const vulkan_device_symbols *vk = &q->d->vk;
  batch *b = q->now;
  q->now = NULL;
  VkMemoryBarrier m = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                       .srcAccessMask = WORK_WRITES,
                       .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
  vk->vkCmdPipelineBarrier(b->commands, WORK_STAGES, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &m, 0, NULL, 0, NULL);
  VkResult r = vk->vkEndCommandBuffer(b->commands);
  VkSubmitInfo info = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &b->commands};
  if (!r) {
    pthread_mutex_lock(&q->d->queue_lock);
    r = vk->vkQueueSubmit(q->d->queue, 1, &info, b->fence);
    pthread_mutex_unlock(&q->d->queue_lock);
  }
  if (r)
    vec_push(NULL, &q->idle, b);
  else
    vec_push(NULL, &q->running, b);
  LEMNOS_TRY(failed(q, r, "vkQueueSubmit"));
  if (q->running.len <= MAX_RUNNING) return LEMNOS_SUCCESS;
  b = q->running.data[0];
  memmove(q->running.data, q->running.data + 1, sizeof b * (size_t)(--q->running.len));
  vec_push(NULL, &q->idle, b);
  return finish(q, b);
}

lemnos_status vulkan_queue_wait(backend_queue *q) {
  lemnos_status status = vulkan_queue_submit(q);
  for (int i = 0; i < q->running.len; i++) {
    lemnos_status s = finish(q, q->running.data[i]);
    if (!status)
      status = s;
    else
      lemnos_status_free(s);
    vec_push(NULL, &q->idle, q->running.data[i]);
  }
  q->running.len = 0;
  q->ranges.len = 0;
  return status;
}

lemnos_status vulkan_queue_create(backend_device *d, backend_queue **out) {
  backend_queue *q = heap_alloc(sizeof *q);
  q->d = d;
  VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                  .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                  .queueFamilyIndex = d->gpu->queue_family};
  VkResult r = d->vk.vkCreateCommandPool(d->device, &info, NULL, &q->commands);
  if (r) {
    free(q);
    return vulkan_device_failed(d, r, "vkCreateCommandPool");
  }
  *out = q;
  return LEMNOS_SUCCESS;
}

void vulkan_queue_destroy(backend_queue *q) {
  if (!q) return;
  lemnos_status_free(vulkan_queue_wait(q));
  if (q->now) vec_push(NULL, &q->idle, q->now);  // recorded, but submission was refused
  for (int i = 0; i < q->idle.len; i++) destroy_batch(q, q->idle.data[i]);
  q->d->vk.vkDestroyCommandPool(q->d->device, q->commands, NULL);
  vec_deinit(&q->idle);
  vec_deinit(&q->running);
  vec_deinit(&q->ranges);
  vec_deinit(&q->seconds);
  lemnos_status_free(q->failed);
  free(q);
}

// --- profiling -----------------------------------------------------------------------------------

lemnos_status vulkan_queue_profile_begin(backend_queue *q) {
  if (!q->d->gpu->timestamp_bits)
    return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "%s has no timestamps", q->d->gpu->info.name);
  LEMNOS_TRY(vulkan_queue_wait(q));
  q->profiling = true;
  q->seconds.len = 0;
  return LEMNOS_SUCCESS;
}

lemnos_status vulkan_queue_profile_end(backend_queue *q, int max, double *seconds, int *out_n) {
  lemnos_status status = vulkan_queue_wait(q);
  q->profiling = false;
  if (status) return status;
  int n = q->seconds.len < max ? q->seconds.len : max;
  if (n) memcpy(seconds, q->seconds.data, sizeof *seconds * (size_t)n);
  *out_n = n;
  return LEMNOS_SUCCESS;
}
