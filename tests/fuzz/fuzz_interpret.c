// SPDX-License-Identifier: Apache-2.0
// A program in any form, from file to result: imported, verified, compiled to bytecode and run in the interpreter on
// small arguments, with limits on memory and time. Programs whose arguments are large or of unknown size do not run.
#include "tests/fuzz/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *copy = fuzz_copy(data, size);
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  hlo_module *m = NULL;
  if (fuzz_ok(import_program(a, STRV("fuzz"), copy, size, NULL, &sink, &m)) && fuzz_ok(hlo_verify(m, &sink))) {
    fuzz_run_result r;
    lemnos_status_free(fuzz_run(m, 0.3, &r));
    fuzz_run_free(&r);
  }
  diag_sink_deinit(&sink);
  arena_destroy(a);
  free(copy);
  return 0;
}
