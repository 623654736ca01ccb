// SPDX-License-Identifier: Apache-2.0
// Device memory: blocks of one VkBuffer each, sub-allocated first fit in multiples of 256 bytes.
//
// Shared blocks grow from 1 MiB to 64 MiB (a driver may clear what it allocates); an allocation larger than half a
// shared block gets a block of its own, which is given back with it. Memory is of a type that the host can map,
// coherent and preferably cached, where such memory is the device's own; on a discrete GPU without it, copies go
// through a staging block.
#include "backend-spirv/vulkan_internal.h"

enum { ALIGN = 256, FIRST_BLOCK = 1 << 20, LAST_BLOCK = 64 << 20, STAGING = 4 << 20 };

#define HOST_COHERENT (VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)

static bool find_type(const VkPhysicalDeviceMemoryProperties *m, VkMemoryPropertyFlags wanted, uint32_t *out) {
  for (uint32_t i = 0; i < m->memoryTypeCount; i++)
    if ((m->memoryTypes[i].propertyFlags & wanted) == wanted) {
      *out = i;
      return true;
    }
  return false;
}

lemnos_status vulkan_memory_choose_types(backend_device *d) {
  VkPhysicalDeviceMemoryProperties m;
  d->driver->vkGetPhysicalDeviceMemoryProperties(d->gpu->physical, &m);
  d->next_block = FIRST_BLOCK;
  const VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  if (!find_type(&m, HOST_COHERENT | cached, &d->staging_type) && !find_type(&m, HOST_COHERENT, &d->staging_type))
    return lemnos_status_make(LEMNOS_UNAVAILABLE, "no memory that the host can map");
  d->mapped = true;
  bool discrete = d->gpu->info.kind == BACKEND_DISCRETE_GPU;
  if (!d->state->force_staging) {
    if (find_type(&m, HOST_COHERENT | cached | local, &d->memory_type)) return LEMNOS_SUCCESS;
    if (!discrete && find_type(&m, HOST_COHERENT | local, &d->memory_type)) return LEMNOS_SUCCESS;
    if (!discrete && find_type(&m, HOST_COHERENT, &d->memory_type)) return LEMNOS_SUCCESS;
  }
  d->mapped = false;
  if (find_type(&m, local, &d->memory_type)) return LEMNOS_SUCCESS;
  d->memory_type = d->staging_type;
  return LEMNOS_SUCCESS;
}

// --- blocks --------------------------------------------------------------------------------------

static lemnos_status fill_block(backend_device *d, vulkan_block *b, uint32_t type, bool map) {
  const vulkan_device_symbols *vk = &d->vk;
  VkBufferUsageFlags usage =
      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  bool addressed = d->gpu->caps.physical_storage && vk->vkGetBufferDeviceAddress;
  if (addressed) usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                             .size = (VkDeviceSize)b->size,
                             .usage = usage,
                             .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
  LEMNOS_TRY(vulkan_result_status(vk->vkCreateBuffer(d->device, &info, NULL, &b->buffer), "vkCreateBuffer"));
  VkMemoryRequirements need;
  vk->vkGetBufferMemoryRequirements(d->device, b->buffer, &need);
  if (!(need.memoryTypeBits & 1u << type))
    return lemnos_status_make(LEMNOS_INTERNAL, "memory type %u cannot hold buffers", type);
  VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                     .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  VkMemoryAllocateInfo alloc = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                .pNext = addressed ? &flags : NULL,
                                .allocationSize = need.size,
                                .memoryTypeIndex = type};
  LEMNOS_TRY(vulkan_result_status(vk->vkAllocateMemory(d->device, &alloc, NULL, &b->memory), "vkAllocateMemory"));
  LEMNOS_TRY(vulkan_result_status(vk->vkBindBufferMemory(d->device, b->buffer, b->memory, 0), "vkBindBufferMemory"));
  if (addressed) {
    VkBufferDeviceAddressInfo which = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = b->buffer};
    b->address = vk->vkGetBufferDeviceAddress(d->device, &which);
  }
  void *mapped = NULL;
  if (map)
    LEMNOS_TRY(
        vulkan_result_status(vk->vkMapMemory(d->device, b->memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory"));
  b->mapped = mapped;
  return LEMNOS_SUCCESS;
}

void vulkan_block_destroy(backend_device *d, vulkan_block *b) {
  if (b->mapped) d->vk.vkUnmapMemory(d->device, b->memory);
  if (b->buffer) d->vk.vkDestroyBuffer(d->device, b->buffer, NULL);
  if (b->memory) d->vk.vkFreeMemory(d->device, b->memory, NULL);
  vec_deinit(&b->holes);
  free(b);
}

lemnos_status vulkan_block_create(backend_device *d, int64_t size, uint32_t type, bool map, vulkan_block **out) {
  vulkan_block *b = heap_alloc(sizeof *b);
  b->size = size;
  lemnos_status status = fill_block(d, b, type, map);
  if (status) {
    vulkan_block_destroy(d, b);
    return status;
  }
  vec_reserve(NULL, &b->holes, 4);
  b->holes.data[0].offset = 0, b->holes.data[0].size = size;
  b->holes.len = 1;
  *out = b;
  return LEMNOS_SUCCESS;
}

static bool take(vulkan_block *b, int64_t size, int64_t *offset) {
  for (int h = 0; h < b->holes.len; h++) {
    if (b->holes.data[h].size < size) continue;
    *offset = b->holes.data[h].offset;
    b->holes.data[h].offset += size;
    b->holes.data[h].size -= size;
    if (!b->holes.data[h].size) {
      memmove(&b->holes.data[h], &b->holes.data[h + 1], sizeof *b->holes.data * (size_t)(b->holes.len - h - 1));
      b->holes.len--;
    }
    return true;
  }
  return false;
}

static void give_back(vulkan_block *b, int64_t offset, int64_t size) {
  int at = 0;
  while (at < b->holes.len && b->holes.data[at].offset < offset) at++;
  vec_reserve(NULL, &b->holes, b->holes.len + 1);
  memmove(&b->holes.data[at + 1], &b->holes.data[at], sizeof *b->holes.data * (size_t)(b->holes.len - at));
  b->holes.data[at].offset = offset, b->holes.data[at].size = size;
  b->holes.len++;
  for (int h = at > 0 ? at - 1 : 0; h + 1 < b->holes.len && h <= at;) {
    if (b->holes.data[h].offset + b->holes.data[h].size != b->holes.data[h + 1].offset) {
      h++;
      continue;
    }
    b->holes.data[h].size += b->holes.data[h + 1].size;
    memmove(&b->holes.data[h + 1], &b->holes.data[h + 2], sizeof *b->holes.data * (size_t)(b->holes.len - h - 2));
    b->holes.len--;
    at--;
  }
}

// --- allocation ----------------------------------------------------------------------------------

static lemnos_status alloc_locked(backend_device *d, int64_t size, vulkan_block **block, int64_t *offset) {
  bool own = size > LAST_BLOCK / 2;
  if (!own)
    for (int i = 0; i < d->blocks.len; i++)
      if (!d->blocks.data[i]->own && take(d->blocks.data[i], size, offset)) {
        *block = d->blocks.data[i];
        return LEMNOS_SUCCESS;
      }
  int64_t room = d->next_block;
  while (!own && room < 2 * size && room < LAST_BLOCK) room *= 2;
  vulkan_block *b = NULL;
  lemnos_status status = vulkan_block_create(d, own ? size : room, d->memory_type, d->mapped, &b);
  if (status) return status;
  b->own = own;
  if (!own && room < LAST_BLOCK) d->next_block = room * 2;
  vec_push(NULL, &d->blocks, b);
  take(b, size, offset);
  *block = b;
  return LEMNOS_SUCCESS;
}

lemnos_status vulkan_memory_alloc(backend_device *d, int64_t size, backend_memory **out) {
  if (size < 0) return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "an allocation of %lld bytes", (long long)size);
  int64_t max = d->gpu->info.target.max_alloc;
  if ((max > 0 && size > max) || size > INT64_MAX / 2)
    return lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "%lld bytes, %s allocates at most %lld at once", (long long)size,
                              d->gpu->info.name, (long long)max);
  int64_t padded = size == 0 ? ALIGN : (size + ALIGN - 1) / ALIGN * ALIGN;
  backend_memory *m = heap_alloc(sizeof *m);
  m->size = padded;
  pthread_mutex_lock(&d->memory_lock);
  lemnos_status status = alloc_locked(d, padded, &m->block, &m->offset);
  pthread_mutex_unlock(&d->memory_lock);
  if (status) {
    free(m);
    return lemnos_status_annotate(status, "%lld bytes on %s", (long long)size, d->gpu->info.name);
  }
  *out = m;
  return LEMNOS_SUCCESS;
}

void vulkan_memory_free(backend_device *d, backend_memory *m) {
  if (!m) return;
  pthread_mutex_lock(&d->memory_lock);
  if (m->block->own) {
    for (int i = 0; i < d->blocks.len; i++)
      if (d->blocks.data[i] == m->block) {
        d->blocks.data[i] = vec_last(&d->blocks);
        d->blocks.len--;
        break;
      }
    vulkan_block_destroy(d, m->block);
  } else {
    give_back(m->block, m->offset, m->size);
  }
  pthread_mutex_unlock(&d->memory_lock);
  free(m);
}

void vulkan_memory_release_all(backend_device *d) {
  for (int i = 0; i < d->blocks.len; i++) vulkan_block_destroy(d, d->blocks.data[i]);
  vec_deinit(&d->blocks);
}

void *vulkan_memory_map(backend_device *d, backend_memory *m) {
  return m->block->mapped ? m->block->mapped + m->offset : NULL;
}

// --- copies through staging ----------------------------------------------------------------------

static lemnos_status check_range(const backend_memory *m, int64_t offset, int64_t size) {
  if (offset >= 0 && size >= 0 && offset <= m->size && size <= m->size - offset) return LEMNOS_SUCCESS;
  return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "bytes %lld to %lld of an allocation of %lld", (long long)offset,
                            (long long)(offset + size), (long long)m->size);
}

static lemnos_status staged(backend_device *d, backend_memory *m, int64_t offset, char *data, int64_t size, bool up) {
  backend_memory stage = {.size = STAGING};
  backend_queue *q = NULL;
  LEMNOS_TRY(vulkan_block_create(d, STAGING, d->staging_type, true, &stage.block));
  lemnos_status status = vulkan_queue_create(d, &q);
  for (int64_t at = 0; !status && at < size; at += STAGING) {
    int64_t n = size - at < STAGING ? size - at : STAGING;
    backend_binding here = {.memory = &stage, .offset = 0, .size = n},
                    there = {.memory = m, .offset = offset + at, .size = n};
    if (up) memcpy(stage.block->mapped, data + at, (size_t)n);
    status = up ? vulkan_queue_copy(q, there, here) : vulkan_queue_copy(q, here, there);
    if (!status) status = vulkan_queue_wait(q);
    if (!status && !up) memcpy(data + at, stage.block->mapped, (size_t)n);
  }
  if (q) vulkan_queue_destroy(q);
  vulkan_block_destroy(d, stage.block);
  return status;
}

lemnos_status vulkan_memory_upload(backend_device *d, backend_memory *m, int64_t offset, const void *data,
                                   int64_t size) {
  LEMNOS_TRY(check_range(m, offset, size));
  if (!m->block->mapped) return staged(d, m, offset, (char *)(uintptr_t)data, size, true);
  if (size) memcpy(m->block->mapped + m->offset + offset, data, (size_t)size);
  return LEMNOS_SUCCESS;
}

lemnos_status vulkan_memory_download(backend_device *d, backend_memory *m, int64_t offset, void *data, int64_t size) {
  LEMNOS_TRY(check_range(m, offset, size));
  if (!m->block->mapped) return staged(d, m, offset, data, size, false);
  if (size) memcpy(data, m->block->mapped + m->offset + offset, (size_t)size);
  return LEMNOS_SUCCESS;
}
