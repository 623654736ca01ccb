// SPDX-License-Identifier: Apache-2.0
// Developer tool: parses MLIR text files (paths on the command line, or one per line on standard input with "-"),
// prints them in generic form, parses that again, and compares the two modules. Files with several modules separated
// by "// -----" lines are split. Prints each failure and a closing count; exit 1 if a file failed.
//   parse_all [--no-round-trip] [--print] FILE... | -
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/mlir.h"

typedef struct options {
  bool round_trip, print;
} options;

static void report(const char *path, const char *what, lemnos_status status) {
  printf("%s: %s\n%s\n", path, what, lemnos_status_message(status));
  lemnos_status_free(status);
}

static bool check_text(const char *path, strv text, const options *o) {
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  mlir_module *m = NULL, *again = NULL;
  strbuf printed = {0};
  bool ok = false;
  lemnos_status status = mlir_parse_text(a, strv_from_cstr(path), text, &sink, &m);
  if (status) {
    report(path, "does not parse", status);
    goto done;
  }
  if (o->round_trip || o->print) mlir_print(&printed, m, false);
  if (o->print) fwrite(printed.data, 1, printed.len, stdout);
  if (o->round_trip) {
    status = mlir_parse_text(a, STRV("printed"), strbuf_view(&printed), &sink, &again);
    if (status) {
      report(path, "its generic form does not parse", status);
      goto done;
    }
    const char *why = NULL;
    if (!mlir_equal(m, again, &why)) {
      printf("%s: round trip differs: %s\n", path, why);
      goto done;
    }
    strbuf_clear(&printed);
    mlir_print(&printed, m, true);
    status = mlir_parse_text(a, STRV("printed with locations"), strbuf_view(&printed), &sink, &again);
    if (status) {
      report(path, "its generic form with locations does not parse", status);
      goto done;
    }
  }
  ok = true;
done:
  strbuf_deinit(&printed);
  diag_sink_deinit(&sink);
  arena_destroy(a);
  return ok;
}

static bool check_file(const char *path, const options *o) {
  char *data = NULL;
  size_t size = 0;
  lemnos_status status = io_read_file(path, &data, &size);
  if (status) {
    report(path, "cannot be read", status);
    return false;
  }
  bool ok = true;
  strv rest = {data, size};
  while (rest.len > 0) {
    const char *cut = rest.len > 8 ? memmem(rest.data, rest.len, "\n// -----", 9) : NULL;
    size_t n = cut ? (size_t)(cut - rest.data) + 1 : rest.len;
    ok = check_text(path, strv_take(rest, n), o) && ok;
    rest = strv_drop(rest, n);
    if (cut) {
      const char *newline = memchr(rest.data, '\n', rest.len);
      rest = newline ? strv_drop(rest, (size_t)(newline - rest.data) + 1) : (strv){0};
    }
  }
  heap_aligned_free(data);
  return ok;
}

int main(int argc, char **argv) {
  options o = {.round_trip = true};
  int passed = 0, failed = 0;
  double start = io_seconds();
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--no-round-trip") == 0) {
      o.round_trip = false;
    } else if (strcmp(argv[i], "--print") == 0) {
      o.print = true;
    } else if (strcmp(argv[i], "-") == 0) {
      char line[4096];
      while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (check_file(line, &o)) passed++; else failed++;
      }
    } else if (check_file(argv[i], &o)) {
      passed++;
    } else {
      failed++;
    }
  }
  printf("%d passed, %d failed, %.2f s\n", passed, failed, io_seconds() - start);
  return failed != 0;
}
