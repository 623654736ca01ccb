// SPDX-License-Identifier: Apache-2.0
// Programs of unknown content on small arguments in the interpreter, with limits on memory and time.
#ifndef TESTS_FUZZ_RUN_H
#define TESTS_FUZZ_RUN_H

#include "interp/interp.h"
#include "tests/fuzz/fuzz.h"

typedef struct fuzz_run_result {
  interp_array *arrays;
  int n;
} fuzz_run_result;

// Compiles and runs `m` on made-up arguments: elements -2, -1, 0, 1, 2, ... Not run at all (UNIMPLEMENTED) if arguments
// are large or of unknown size, or if the module is for more than 4 processes. Results are for fuzz_run_free, always.
LEMNOS_NODISCARD lemnos_status fuzz_run(const hlo_module *m, double seconds, fuzz_run_result *out);
void fuzz_run_free(fuzz_run_result *r);

#endif
