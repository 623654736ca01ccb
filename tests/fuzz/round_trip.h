// SPDX-License-Identifier: Apache-2.0
// What must come back as it was, of modules that were accepted.
#ifndef TESTS_FUZZ_ROUND_TRIP_H
#define TESTS_FUZZ_ROUND_TRIP_H

#include "tests/fuzz/fuzz.h"

void fuzz_check_text(const mlir_module *m);   // printed in generic form and parsed: an equal module
void fuzz_check_export(const hlo_module *m);  // exported and imported: exported again it reads the same

#endif
