// SPDX-License-Identifier: Apache-2.0
// Arena and heap helpers.
//
// An arena is a list of blocks from calloc, newest first; allocation bumps a cursor in the newest one. Because nothing
// is ever given back before the arena ends, memory from a block is still zero when it is handed out: no memset, and
// untouched pages of big blocks cost nothing. An allocation over a quarter of the block size gets a block of its own,
// put behind the newest so that the room left there is not lost.
#define _POSIX_C_SOURCE 200809L
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

enum { FIRST_BLOCK = 16 << 10, MAX_BLOCK = 1 << 20, MIN_ALIGN = 16, MAX_ALIGN = 4096 };

typedef struct block {
  struct block *next;
  size_t size;  // of the whole block, this header included
} block;

struct arena {
  block *newest;
  char *cursor, *end;  // free room in the newest block
  size_t next_size;    // of the next ordinary block
  size_t bytes;
};

LEMNOS_NORETURN static void out_of_memory(size_t size) {
  fprintf(stderr, "lemnos: out of memory (%zu bytes wanted)\n", size);
  exit(EXIT_FAILURE);
}

arena *arena_create(void) {
  arena *a = heap_alloc(sizeof *a);
  a->next_size = FIRST_BLOCK;
  return a;
}

void arena_destroy(arena *a) {
  if (!a) return;
  for (block *b = a->newest; b;) {
    block *next = b->next;
    free(b);
    b = next;
  }
  free(a);
}

static char *align_up(char *p, size_t align) {
  return p + (-(uintptr_t)p & (align - 1));
}

// A block for this allocation alone.
static void *alloc_large(arena *a, size_t size, size_t align) {
  size_t total = sizeof(block) + align + size;
  block *b = calloc(1, total);
  if (!b) return NULL;
  b->size = total;
  if (a->newest) {
    b->next = a->newest->next;
    a->newest->next = b;
  } else {
    a->newest = b;  // cursor and end stay NULL: no room left in it
  }
  a->bytes += size;
  return align_up((char *)(b + 1), align);
}

void *arena_try_alloc(arena *a, size_t size, size_t align) {
  LEMNOS_ASSERT(align != 0 && (align & (align - 1)) == 0 && align <= MAX_ALIGN);
  if (align < MIN_ALIGN) align = MIN_ALIGN;
  if (size > SIZE_MAX / 2) return NULL;
  if (size == 0) size = 1;  // distinct, valid pointers
  if (a->cursor) {
    char *p = align_up(a->cursor, align);
    if (p <= a->end && (size_t)(a->end - p) >= size) {
      a->cursor = p + size;
      a->bytes += size;
      return p;
    }
  }
  if (size + align > a->next_size / 4) return alloc_large(a, size, align);
  block *b = calloc(1, a->next_size);
  if (!b) return NULL;
  b->size = a->next_size;
  b->next = a->newest;
  a->newest = b;
  char *p = align_up((char *)(b + 1), align);
  a->cursor = p + size;
  a->end = (char *)b + b->size;
  a->bytes += size;
  if (a->next_size < MAX_BLOCK) a->next_size *= 2;
  return p;
}

void *arena_alloc(arena *a, size_t size) {
  void *p = arena_try_alloc(a, size, MIN_ALIGN);
  if (LEMNOS_UNLIKELY(!p)) out_of_memory(size);
  return p;
}

void *arena_copy(arena *a, const void *data, size_t size) {
  void *p = arena_alloc(a, size);
  if (size) memcpy(p, data, size);
  return p;
}

strv arena_strv(arena *a, strv s) {
  char *p = arena_alloc(a, s.len + 1);  // zeroed: the NUL is there
  if (s.len) memcpy(p, s.data, s.len);
  return (strv){p, s.len};
}

char *arena_printf(arena *a, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  LEMNOS_ASSERT(n >= 0);
  char *p = arena_alloc(a, (size_t)n + 1);
  vsnprintf(p, (size_t)n + 1, format, again);
  va_end(again);
  return p;
}

size_t arena_bytes(const arena *a) {
  return a->bytes;
}

void *heap_alloc(size_t size) {
  void *p = calloc(1, size ? size : 1);
  if (LEMNOS_UNLIKELY(!p)) out_of_memory(size);
  return p;
}

void *heap_realloc(void *p, size_t size) {
  void *q = realloc(p, size ? size : 1);
  if (LEMNOS_UNLIKELY(!q)) out_of_memory(size);
  return q;
}

void *heap_try_alloc_aligned(size_t size) {
  void *p = NULL;
  if (size > SIZE_MAX / 2) return NULL;
  return posix_memalign(&p, 64, size ? size : 64) == 0 ? p : NULL;
}

void heap_aligned_free(void *p) {
  free(p);
}
