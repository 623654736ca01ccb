// SPDX-License-Identifier: Apache-2.0
// Developer tool: parses MLIR text files (paths on the command line, or one per line on standard input with "-"),
// prints them in generic form, parses that again, and compares the two modules. Files with several modules separated
// by "// -----" lines are split. Prints each failure and a closing count; exit 1 if a file failed.
//   parse_all [--no-round-trip] [--print] [--mutate=N] FILE... | -
// --mutate=N damages each file in N ways (cuts, flipped and moved bytes) and only demands that nothing crashes and that
// what still parses survives the round trip.
#define _GNU_SOURCE  // memmem
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/mlir.h"

typedef struct options {
  bool round_trip, print, quiet;
  int mutations;
} options;

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

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
    ok = o->quiet;
    if (!ok) report(path, "does not parse", status);
    if (ok) lemnos_status_free(status);
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

// One damaged copy of text, on the heap.
static char *damage(strv text, uint64_t *state, size_t *out_size) {
  char *copy = heap_alloc(2 * text.len + 16);
  memcpy(copy, text.data, text.len);
  size_t n = text.len;
  int changes = 1 + (int)(next_random(state) % 4);
  for (int c = 0; c < changes && n > 0; c++) {
    size_t at = next_random(state) % n, len = 1 + next_random(state) % 20, from = next_random(state) % n;
    if (at + len > n) len = n - at;
    if (from + len > n) len = n - from;
    switch (next_random(state) % 6) {
      case 0: n = at; break;
      case 1: copy[at] = (char)(copy[at] ^ (1 << next_random(state) % 8)); break;
      case 2: copy[at] = "(){}[]<>,:=\"%#!@^-0x1?*/"[next_random(state) % 24]; break;
      case 3:
        memmove(copy + at, copy + at + len, n - at - len);
        n -= len;
        break;
      case 4: memmove(copy + at, copy + from, len <= n - at ? len : n - at); break;
      default:
        memmove(copy + at + len, copy + at, n - at);
        n += len;
        break;
    }
    if (n > text.len + 256) n = text.len;
  }
  *out_size = n;
  return copy;
}

static bool mutate(const char *path, strv text, const options *o) {
  uint64_t state = hash_bytes(path, strlen(path), 1) | 1;
  options quiet = {.round_trip = true, .quiet = true};
  bool ok = true;
  for (int i = 0; i < o->mutations && ok; i++) {
    size_t n = 0;
    char *copy = damage(text, &state, &n);
    // An exact allocation, so that a sanitizer sees reads beyond the end.
    char *exact = heap_alloc(n ? n : 1);
    memcpy(exact, copy, n);
    free(copy);
    ok = check_text(path, (strv){exact, n}, &quiet);
    if (!ok) {
      lemnos_status_free(io_write_file("parse_all.failed.mlir", exact, n));
      printf("%s: damaged copy number %d is kept in parse_all.failed.mlir\n", path, i);
    }
    free(exact);
  }
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
  if (o->mutations > 0) {
    ok = mutate(path, rest, o);
    rest.len = 0;
  }
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
    } else if (strncmp(argv[i], "--mutate=", 9) == 0) {
      o.mutations = atoi(argv[i] + 9);
    } else if (strcmp(argv[i], "--print") == 0) {
      o.print = true;
    } else if (strcmp(argv[i], "-") == 0) {
      char line[4096];
      while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (check_file(line, &o))
          passed++;
        else
          failed++;
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
