// SPDX-License-Identifier: Apache-2.0
// Where a kernel's private arrays live (codegen.h); used on both sides of the module boundary.
#include "backend-llvm/codegen.h"

int64_t llvm_scratch_bytes(const kernel *k) {
  int64_t sum = 0;
  for (int i = 0; i < k->arrays.len; i++) {
    const kernel_array *a = &k->arrays.data[i];
    sum += (a->n_elems * kernel_scalar_table[a->elem].bytes + 63) / 64 * 64;
  }
  return sum > LLVM_STACK_BYTES ? sum : 0;
}
