// SPDX-License-Identifier: Apache-2.0
// What fuzz targets share. A target is one function on bytes, LLVMFuzzerTestOneInput; libFuzzer calls it in a build with
// -Dfuzz=true (./dev fuzz), driver.c in every build (the smoke tests). It must neither crash, leak, nor hang, whatever
// the bytes are; beyond that, FUZZ_REQUIRE states what must hold for input that is accepted. corpus/TARGET/ holds its
// seeds; an input that once went wrong is kept there, too, as crash-WHAT.
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_REQUIRE(cond, ...)                                                \
  do {                                                                         \
    if (!(cond)) {                                                             \
      fprintf(stderr, "%s:%d: required: %s: ", __FILE__, __LINE__, #cond);     \
      fprintf(stderr, __VA_ARGS__);                                            \
      fputc('\n', stderr);                                                     \
      abort();                                                                 \
    }                                                                          \
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
