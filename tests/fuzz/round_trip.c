// SPDX-License-Identifier: Apache-2.0
// See round_trip.h.
#include "tests/fuzz/round_trip.h"

void fuzz_check_text(const mlir_module *m) {
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  strbuf text = {0};
  mlir_print(&text, m, false);
  mlir_module *again = NULL;
  const char *why = "";
  lemnos_status s = mlir_parse_text(a, STRV("again"), (strv){text.data, text.len}, &sink, &again);
  FUZZ_REQUIRE(!s, "%s\n%s", lemnos_status_message(s), text.data);
  FUZZ_REQUIRE(mlir_equal(m, again, &why), "%s\n%s", why, text.data);
  strbuf_deinit(&text);
  diag_sink_deinit(&sink);
  arena_destroy(a);
}

void fuzz_check_export(const hlo_module *m) {
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  strbuf first = {0}, second = {0};
  export_stablehlo(&first, m);
  mlir_module *parsed = NULL;
  hlo_module *again = NULL;
  lemnos_status s = mlir_parse_text(a, STRV("export"), strbuf_view(&first), &sink, &parsed);
  if (!s) s = import_module(parsed, NULL, a, &sink, &again);
  FUZZ_REQUIRE(!s, "%s\n%s", lemnos_status_message(s), first.data);
  export_stablehlo(&second, again);
  FUZZ_REQUIRE(strv_eq(strbuf_view(&first), strbuf_view(&second)), "first\n%s\nsecond\n%s", first.data, second.data);
  strbuf_deinit(&first);
  strbuf_deinit(&second);
  diag_sink_deinit(&sink);
  arena_destroy(a);
}
