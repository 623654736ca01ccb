// SPDX-License-Identifier: Apache-2.0
// Arena: bump allocation, freed all at once. One arena owns all of a module's IR; a pass has a scratch arena of its
// own.
//
// Small allocations (IR nodes) cannot fail: if the system has no memory left, the process ends with one message, since
// no IR-level caller could do anything else. Allocations whose size comes from the input (tensor data) go through
// arena_try_alloc or heap_try_alloc, which return NULL. Not thread-safe: one arena, one thread at a time.
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/strv.h"

typedef struct arena arena;

arena *arena_create(void);
void arena_destroy(arena *a);  // NULL is allowed
// Zeroed memory, aligned to 16.
void *arena_alloc(arena *a, size_t size);
// Zeroed, aligned to `align` (a power of two, at most 4096); NULL if there is no memory.
void *arena_try_alloc(arena *a, size_t size, size_t align);
void *arena_copy(arena *a, const void *data, size_t size);  // size 0 gives a valid pointer
strv arena_strv(arena *a, strv s);                          // a copy, NUL-terminated
char *arena_printf(arena *a, const char *format, ...) LEMNOS_PRINTF(2, 3);
size_t arena_bytes(const arena *a);  // bytes handed out so far

#define ARENA_NEW(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_alloc((a), sizeof(type) * (size_t)(n)))

// Heap allocation of small things: ends the process with one message when memory is exhausted.
void *heap_alloc(size_t size);  // zeroed
void *heap_realloc(void *p, size_t size);
// Heap allocation of input-sized things: NULL on failure; not zeroed; aligned to 64; freed by heap_aligned_free.
void *heap_try_alloc_aligned(size_t size);
void heap_aligned_free(void *p);

#endif
