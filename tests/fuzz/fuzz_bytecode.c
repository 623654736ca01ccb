// SPDX-License-Identifier: Apache-2.0
// MLIR bytecode (portable artifacts): read, printed, imported and verified. What can be imported is exported as text,
// imported again, and exported once more: to the same text.
#include "tests/fuzz/round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *copy = fuzz_copy(data, size);
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  mlir_module *m = NULL;
  hlo_module *hlo = NULL;
  if (fuzz_ok(mlir_read_bytecode(a, STRV("fuzz"), copy, size, &sink, &m))) {
    strbuf out = {0};
    mlir_print(&out, m, true);
    strbuf_deinit(&out);
    if (fuzz_ok(import_module(m, NULL, a, &sink, &hlo))) {
      FUZZ_REQUIRE(fuzz_ok(hlo_verify(hlo, &sink)), "import gave a module that is not valid");
      fuzz_check_export(hlo);
    }
  }
  diag_sink_deinit(&sink);
  arena_destroy(a);
  free(copy);
  return 0;
}
