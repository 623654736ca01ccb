// SPDX-License-Identifier: Apache-2.0
// Files: whole reads, atomic writes, a monotonic clock.
#ifndef BASE_IO_H
#define BASE_IO_H

#include "base/arena.h"
#include "base/status.h"

// Whole file into heap memory (aligned to 64, one NUL behind the end); freed by heap_aligned_free. "-" is standard
// input.
LEMNOS_NODISCARD lemnos_status io_read_file(const char *path, char **out_data, size_t *out_size);
// Writes to a temporary name beside path, then renames, so that path is either old or whole. Full disk is an error.
LEMNOS_NODISCARD lemnos_status io_write_file(const char *path, const void *data, size_t size);
LEMNOS_NODISCARD lemnos_status io_make_dirs(const char *path);
double io_seconds(void);      // monotonic
double io_cpu_seconds(void);  // CPU time of the process, all threads

#endif
