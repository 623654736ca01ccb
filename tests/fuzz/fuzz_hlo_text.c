// SPDX-License-Identifier: Apache-2.0
// XLA's HLO text: parsed and verified; what is valid is printed, parsed again, and printed to the same text.
#include "tests/fuzz/fuzz.h"

static void check_round_trip(const hlo_module *m) {
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  strbuf first = {0}, second = {0};
  hlo_print_module(&first, m, NULL);
  hlo_module *again = NULL;
  lemnos_status s = hlo_parse(a, STRV("again"), (strv){first.data, first.len}, &sink, &again);
  FUZZ_REQUIRE(!s, "%s\n%s", lemnos_status_message(s), first.data);
  hlo_print_module(&second, again, NULL);
  FUZZ_REQUIRE(strcmp(first.data, second.data) == 0, "first\n%s\nsecond\n%s", first.data, second.data);
  strbuf_deinit(&first);
  strbuf_deinit(&second);
  diag_sink_deinit(&sink);
  arena_destroy(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *copy = fuzz_copy(data, size);
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  hlo_module *m = NULL;
  if (fuzz_ok(hlo_parse(a, STRV("fuzz"), (strv){copy, size}, &sink, &m)) && fuzz_ok(hlo_verify(m, &sink)))
    check_round_trip(m);
  diag_sink_deinit(&sink);
  arena_destroy(a);
  free(copy);
  return 0;
}
