// SPDX-License-Identifier: Apache-2.0
// What fuzz targets share. A target is one function on bytes, LLVMFuzzerTestOneInput; libFuzzer calls it in a build
// with -Dfuzz=true (./dev fuzz), driver.c in every build (the smoke tests). It must neither crash, leak, nor hang,
// whatever the bytes are; beyond that, FUZZ_REQUIRE states what must hold for input that is accepted. corpus/TARGET/
// holds its seeds; op_* are programs of one operation, one for each and some types; an input that once
// went wrong is kept there, too, as crash-WHAT.
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// What a target with a mutator of its own has (mutate_*.c), and what such a mutator may call for changes of bytes:
// libFuzzer's or driver.c's. All change `data` in place and return its new size.
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2, size_t size2, uint8_t *out,
                                 size_t max_size, unsigned seed);

static inline uint64_t fuzz_random(uint64_t *state) {  // SplitMix64
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static inline size_t fuzz_below(uint64_t *state, size_t n) {
  return n ? (size_t)(fuzz_random(state) % n) : 0;
}

#define FUZZ_REQUIRE(cond, ...)                                            \
  do {                                                                     \
    if (!(cond)) {                                                         \
      fprintf(stderr, "%s:%d: required: %s: ", __FILE__, __LINE__, #cond); \
      fprintf(stderr, __VA_ARGS__);                                        \
      fputc('\n', stderr);                                                 \
      abort();                                                             \
    }                                                                      \
  } while (0)

// The input in a block of its own with a NUL behind it that is not part of it, as io_read_file gives files. free() it.
static inline char *fuzz_copy(const uint8_t *data, size_t size) {
  char *copy = malloc(size + 1);
  if (!copy) abort();
  if (size) memcpy(copy, data, size);
  copy[size] = 0;
  return copy;
}

// Ends a status and tells whether it was success.
static inline bool fuzz_ok(lemnos_status s) {
  bool ok = !s;
  lemnos_status_free(s);
  return ok;
}

#endif
