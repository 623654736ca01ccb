// SPDX-License-Identifier: Apache-2.0
// HLO text of whole programs: XLA's own dumps (tests/hlo/data), and, where the optional data folder is there, every
// program of it that can be imported. Each is printed, read, and must be the same module; so must its clone.
#include <dirent.h>

#include "frontend/import.h"
#include "tests/harness.h"

static void check_round_trip(const char *path, const hlo_module *m) {
  arena *a = arena_create();
  strbuf text = {0}, again = {0};
  hlo_print_module(&text, m, NULL);
  hlo_module *parsed = NULL;
  lemnos_status status = hlo_parse(a, strv_from_cstr(path), strbuf_view(&text), NULL, &parsed);
  if (status) ck_abort_msg("%s: %.900s", path, lemnos_status_message(status));
  hlo_print_module(&again, parsed, NULL);
  const char *why = "";
  if (!strv_eq(strbuf_view(&text), strbuf_view(&again))) ck_abort_msg("%s: prints differently", path);
  if (!hlo_module_equal(m, parsed, &why)) ck_abort_msg("%s: differs in %s", path, why);
  if (!hlo_module_equal(m, hlo_module_clone(m, a), &why)) ck_abort_msg("%s: clone differs in %s", path, why);
  strbuf_deinit(&text);
  strbuf_deinit(&again);
  arena_destroy(a);
}

// 1 if the file holds a program that can be read.
static int check_file(const char *path, bool must_read) {
  arena *a = arena_create();
  char *data;
  size_t size;
  ASSERT_OK(io_read_file(path, &data, &size));
  hlo_module *m = NULL;
  lemnos_status status = must_read ? hlo_parse(a, strv_from_cstr(path), (strv){data, size}, NULL, &m)
                                   : import_program(a, strv_from_cstr(path), data, size, NULL, NULL, &m);
  if (status && must_read) ck_abort_msg("%.900s", lemnos_status_message(status));
  if (m) check_round_trip(path, m);
  lemnos_status_free(status);
  heap_aligned_free(data);
  arena_destroy(a);
  return m != NULL;
}

// Files whose names end in `suffix`, in `folder` and the folders below it.
static void check_folder(const char *folder, const char *suffix, bool must_read, int *n_files, int *n_read) {
  DIR *dir = opendir(folder);
  if (!dir) return;
  for (struct dirent *e; (e = readdir(dir));) {
    char path[1024];
    struct stat st;
    if (e->d_name[0] == '.' || snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= (int)sizeof path) continue;
    if (stat(path, &st)) continue;
    if (S_ISDIR(st.st_mode)) {
      check_folder(path, suffix, must_read, n_files, n_read);
    } else if (strv_ends_with(strv_from_cstr(path), strv_from_cstr(suffix))) {
      ++*n_files;
      *n_read += check_file(path, must_read);
    }
  }
  closedir(dir);
}

START_TEST(xla_dumps) {
  int n_files = 0, n_read = 0;
  check_folder(LEMNOS_SOURCE_ROOT "/tests/hlo/data", ".hlo", true, &n_files, &n_read);
  ck_assert_int_eq(n_files, 10);
  ck_assert_int_eq(n_read, 10);
}
END_TEST

START_TEST(shared_programs) {
  static const char *const folders[] = {"models", "stablehlo-testdata", "pjrt/programs"};
  for (int k = 0; harness_shared() && k < 3; k++) {
    char path[1024];
    int n_files = 0, n_read = 0;
    snprintf(path, sizeof path, "%s/%s", harness_shared(), folders[k]);
    check_folder(path, k == 2 ? ".bc" : ".mlir", false, &n_files, &n_read);
    printf("%s: %d programs of %d files make the round trip\n", folders[k], n_read, n_files);
    ck_assert_int_ge(n_read, n_files - n_files / 10);  // what cannot be imported is the frontend's tests' matter
  }
}
END_TEST

HARNESS_MAIN("hlo_text_data", xla_dumps, shared_programs)
