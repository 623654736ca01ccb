// SPDX-License-Identifier: Apache-2.0
// Files: reads, atomic writes, folders.
#include <dirent.h>
#include <unistd.h>

#include "tests/harness.h"

static void check_content(const char *path, const char *expected) {
  char *data;
  size_t size;
  ASSERT_OK(io_read_file(path, &data, &size));
  ck_assert_uint_eq(size, strlen(expected));
  ck_assert_str_eq(data, expected);  // a NUL stands behind the end
  ck_assert_uint_eq((uintptr_t)data % 64, 0);
  heap_aligned_free(data);
}

static int count_files(const char *folder) {
  DIR *d = opendir(folder);
  int n = 0;
  for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
  closedir(d);
  return n;
}

START_TEST(write_and_read) {
  char folder[] = "/tmp/lemnos-test-XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(folder));
  arena *a = arena_create();
  const char *path = arena_printf(a, "%s/a/b//c/file", folder), *link = arena_printf(a, "%s/link", folder);
  ASSERT_OK(io_make_dirs(arena_printf(a, "%s/a/b//c", folder)));
  ASSERT_OK(io_make_dirs(arena_printf(a, "%s/a/b/c/", folder)));
  ASSERT_OK(io_write_file(path, "first", 5));
  check_content(path, "first");
  ck_assert_int_eq(chmod(path, 0640), 0);
  ck_assert_int_eq(symlink(path, link), 0);
  ASSERT_OK(io_write_file(link, "second, longer", 14));
  check_content(path, "second, longer");
  struct stat st;
  ck_assert(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
  ck_assert(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640);
  ASSERT_OK(io_write_file(path, NULL, 0));
  check_content(path, "");
  ck_assert_int_eq(count_files(arena_printf(a, "%s/a/b/c", folder)), 1);
  char *big = arena_alloc(a, 3000001);
  memset(big, 'b', 3000000);
  ASSERT_OK(io_write_file(path, big, 3000000));
  check_content(path, big);
  ASSERT_FAILS(io_make_dirs(arena_printf(a, "%s/x", path)), LEMNOS_NOT_FOUND, "cannot make the folder");
  ck_assert_int_eq(system(arena_printf(a, "rm -r %s", folder)), 0);
  arena_destroy(a);
}
END_TEST

START_TEST(failures) {
  char *data;
  size_t size;
  ASSERT_FAILS(io_read_file("/nonexistent/x", &data, &size), LEMNOS_NOT_FOUND, "/nonexistent/x");
  ASSERT_FAILS(io_read_file("/", &data, &size), LEMNOS_INVALID_ARGUMENT, "cannot read '/'");
  ASSERT_FAILS(io_write_file("/nonexistent/x", "a", 1), LEMNOS_NOT_FOUND, "cannot write");
  ASSERT_FAILS(io_write_file("/", "a", 1), LEMNOS_INVALID_ARGUMENT, "cannot write '/'");
  ASSERT_OK(io_write_file("/dev/null", "abc", 3));
  if (access("/dev/full", W_OK) == 0) ASSERT_FAILS(io_write_file("/dev/full", "a", 1), LEMNOS_IO_ERROR, "No space");
}
END_TEST

START_TEST(clock_moves) {
  double start = io_seconds();
  usleep(2000);
  double passed = io_seconds() - start;
  ck_assert(passed >= 0.0019 && passed < 60);
}
END_TEST

HARNESS_MAIN("base/io", write_and_read, failures, clock_moves)
