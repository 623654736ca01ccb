// SPDX-License-Identifier: Apache-2.0
// Files on POSIX systems.
//
// A write goes to "<path>.tmp-<pid>-<n>" in the same folder, then rename() puts it in place: a reader sees the old file
// or the whole new one. What is not a regular file (a pipe, /dev/null) is written to directly; a symbolic link is
// followed first, so that it stays one.
#define _GNU_SOURCE
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/strv.h"

// A failure named after errno `e`.
LEMNOS_NODISCARD static lemnos_status io_failure(int e, const char *doing, const char *path) {
  char text[128];
#if defined(__GLIBC__)
  const char *reason = strerror_r(e, text, sizeof text);
#else
  const char *reason = strerror_r(e, text, sizeof text) == 0 ? text : "unknown error";
#endif
  lemnos_status_code code = e == ENOENT || e == ENOTDIR ? LEMNOS_NOT_FOUND
                            : e == EISDIR               ? LEMNOS_INVALID_ARGUMENT
                            : e == ENOMEM               ? LEMNOS_OUT_OF_MEMORY
                                                        : LEMNOS_IO_ERROR;
  return lemnos_status_make(code, "cannot %s '%s': %s", doing, path, reason);
}

// Reads to the end of fd into a buffer that starts with room for `expected` bytes; 0 or an errno.
static int read_all(int fd, size_t expected, char **out_data, size_t *out_size) {
  size_t cap = expected + 64, size = 0;
  char *data = heap_try_alloc_aligned(cap);
  if (!data) return ENOMEM;
  for (;;) {
    if (size + 1 >= cap) {
      size_t grown = cap * 2;
      char *larger = heap_try_alloc_aligned(grown);
      if (larger) memcpy(larger, data, size);
      heap_aligned_free(data);
      if (!larger) return ENOMEM;
      data = larger;
      cap = grown;
    }
    size_t want = cap - size - 1;
    ssize_t n = read(fd, data + size, want < 1 << 30 ? want : 1 << 30);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      int e = errno;
      heap_aligned_free(data);
      return e;
    }
    if (n == 0) break;
    size += (size_t)n;
  }
  data[size] = 0;
  *out_data = data;
  *out_size = size;
  return 0;
}

lemnos_status io_read_file(const char *path, char **out_data, size_t *out_size) {
  if (strcmp(path, "-") == 0) {
    int e = read_all(STDIN_FILENO, 1 << 16, out_data, out_size);
    return e ? io_failure(e, "read", "standard input") : LEMNOS_SUCCESS;
  }
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return io_failure(errno, "open", path);
  struct stat st;
  int e = fstat(fd, &st) != 0 ? errno : 0;
  size_t expected = !e && S_ISREG(st.st_mode) && st.st_size > 0 ? (size_t)st.st_size : 1 << 16;
  if (!e) e = read_all(fd, expected, out_data, out_size);
  close(fd);
  return e ? io_failure(e, "read", path) : LEMNOS_SUCCESS;
}

// 0 or an errno.
static int write_all(int fd, const char *data, size_t size) {
  while (size) {
    ssize_t n = write(fd, data, size < 1 << 30 ? size : 1 << 30);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    data += n;
    size -= (size_t)n;
  }
  return 0;
}

LEMNOS_NODISCARD static lemnos_status write_in_place(const char *path, const void *data, size_t size) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return io_failure(errno, "open", path);
  int e = write_all(fd, data, size);
  if (close(fd) != 0 && !e) e = errno;
  return e ? io_failure(e, "write", path) : LEMNOS_SUCCESS;
}

// Creates a new file beside `target`; its name goes to `temporary`. Returns the descriptor, or -1 with errno.
static int open_temporary(const char *target, strbuf *temporary) {
  for (int i = 0; i < 1000; i++) {
    strbuf_clear(temporary);
    strbuf_printf(temporary, "%s.tmp-%ld-%d", target, (long)getpid(), i);
    int fd = open(temporary->data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

lemnos_status io_write_file(const char *path, const void *data, size_t size) {
  struct stat st;
  bool exists = stat(path, &st) == 0;
  if (exists && S_ISDIR(st.st_mode)) return io_failure(EISDIR, "write", path);
  if (exists && !S_ISREG(st.st_mode)) return write_in_place(path, data, size);
  char *resolved = exists ? realpath(path, NULL) : NULL;
  const char *target = resolved ? resolved : path;
  strbuf temporary = {0};
  int e = 0, fd = open_temporary(target, &temporary);
  if (fd < 0) {
    e = errno;
  } else {
    if (exists) (void)!fchmod(fd, st.st_mode & 0777);  // best effort
    e = write_all(fd, data, size);
    if (close(fd) != 0 && !e) e = errno;
    if (!e && rename(temporary.data, target) != 0) e = errno;
    if (e) unlink(temporary.data);
  }
  strbuf_deinit(&temporary);
  free(resolved);
  return e ? io_failure(e, "write", path) : LEMNOS_SUCCESS;
}

lemnos_status io_make_dirs(const char *path) {
  strbuf prefix = {0};
  int e = 0;
  for (size_t i = 0; !e; i++) {
    if (path[i] == '/' || path[i] == 0) {
      struct stat st;
      if (prefix.len && mkdir(prefix.data, 0777) != 0) {
        e = errno;
        if (stat(prefix.data, &st) == 0) e = S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
      }
      if (path[i] == 0) break;
    }
    strbuf_append_char(&prefix, path[i]);
  }
  strbuf_deinit(&prefix);
  return e ? io_failure(e, "make the folder", path) : LEMNOS_SUCCESS;
}

double io_cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double io_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
