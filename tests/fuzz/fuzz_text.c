// SPDX-License-Identifier: Apache-2.0
// MLIR text: parsed, printed in generic form and parsed again (the two must be equal); imported and verified; exported,
// and what was exported imported again (the same operations, types and attributes, and a second export that reads the
// same).
#include "tests/fuzz/round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *copy = fuzz_copy(data, size);
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  mlir_module *m = NULL;
  hlo_module *hlo = NULL;
  if (fuzz_ok(mlir_parse_text(a, STRV("fuzz"), (strv){copy, size}, &sink, &m))) {
    fuzz_check_text(m);
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
