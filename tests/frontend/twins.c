// SPDX-License-Identifier: Apache-2.0
// Whether portable artifacts say the same as texts: for portable_artifacts.py.
//
//   twins TEXT ARTIFACT [TEXT ARTIFACT]...
//
// One line for each pair: "equal", or "different", "text" (it does not parse), "artifact" (it is not read), each with a
// tab and why. Locations and names of values do not count, nor do attributes that have their defaults.
#include <stdio.h>

#include "frontend/defaults.h"
#include "frontend/mlir.h"

static void say(const char *what, strv why) {
  printf("%s\t", what);
  for (size_t i = 0; i < why.len; i++) putchar(why.data[i] == '\n' || why.data[i] == '\t' ? ' ' : why.data[i]);
  putchar('\n');
}

static bool say_status(const char *what, lemnos_status s) {
  if (!s) return true;
  say(what, strv_from_cstr(lemnos_status_message(s)));
  lemnos_status_free(s);
  return false;
}

static void compare(arena *a, const char *text_path, const char *artifact_path) {
  char *text = NULL, *data = NULL;
  size_t text_size, size;
  mlir_module *x = NULL, *y = NULL;
  const char *why = NULL;
  diag_sink sink;
  diag_sink_init(&sink, a);
  bool ok = say_status("text", io_read_file(text_path, &text, &text_size)) &&
            say_status("text", mlir_parse_text(a, strv_from_cstr(text_path), (strv){text, text_size}, &sink, &x)) &&
            say_status("artifact", io_read_file(artifact_path, &data, &size)) &&
            say_status("artifact", mlir_read_bytecode(a, strv_from_cstr(artifact_path), data, size, &sink, &y));
  if (ok) {
    mlir_module_drop_defaults(x);
    mlir_module_drop_defaults(y);
    if (mlir_equal(x, y, &why))
      say("equal", (strv){0});
    else
      say("different", strv_from_cstr(why));
  }
  diag_sink_deinit(&sink);
  heap_aligned_free(text);
  heap_aligned_free(data);
}

int main(int argc, char **argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    arena *a = arena_create();
    compare(a, argv[i], argv[i + 1]);
    arena_destroy(a);
  }
  return argc % 2 ? 0 : 2;
}
