// SPDX-License-Identifier: Apache-2.0
// Forced targets for kernel tests: what the schedules are to be tried on, whatever this machine is.
#ifndef TESTS_HLO_KERNEL_TARGETS_H
#define TESTS_HLO_KERNEL_TARGETS_H

#include <string.h>

#include "hlo/target.h"

static inline hlo_target test_target_cpu(const char *name, int vector_bytes, int registers) {
  hlo_target t = {.cls = HLO_TARGET_CPU,
                  .f64 = true,
                  .i8 = true,
                  .i16 = true,
                  .i64 = true,
                  .storage_8 = true,
                  .storage_16 = true,
                  .subnormals_f32 = true,
                  .fused_fma = true,
                  .vector_bytes = vector_bytes,
                  .vector_registers = registers,
                  .threads = 2,
                  .l1_bytes = 32768,
                  .l2_bytes = 1 << 20,
                  .l3_bytes = 32 << 20,
                  .max_storage_range = INT64_MAX,
                  .max_buffers = 1000,
                  .buffer_align = 64,
                  .max_alloc = INT64_MAX};
  strncpy(t.name, name, sizeof t.name - 1);
  return t;
}

// A GPU with everything, and one software driver with nothing: no f16, f64, i8, i16, i64; no group operations.
static inline hlo_target test_target_gpu(const char *name, bool like) {
  hlo_target t = {.cls = like ? HLO_TARGET_CPU_LIKE : HLO_TARGET_GPU,
                  .f16 = !like,
                  .f64 = !like,
                  .i8 = !like,
                  .i16 = !like,
                  .i64 = !like,
                  .storage_8 = !like,
                  .storage_16 = !like,
                  .subnormals_f32 = !like,
                  .vector_bytes = 16,
                  .vector_registers = 64,
                  .group_ops = !like,
                  .subgroup = 4,
                  .max_workgroup = 256,
                  .shared_bytes = 32768,
                  .max_groups = {65535, 65535, 65535},
                  .int_atomics = true,
                  .max_storage_range = 1 << 27,
                  .max_buffers = 30,
                  .buffer_align = 256,
                  .max_alloc = 1 << 30,
                  .acc_max = 64,
                  .body_max = 256};
  strncpy(t.name, name, sizeof t.name - 1);
  return t;
}

static inline bool test_target(const char *name, hlo_target *out) {
  if (!strcmp(name, "avx512"))
    *out = test_target_cpu(name, 64, 32);
  else if (!strcmp(name, "avx2"))
    *out = test_target_cpu(name, 32, 16);
  else if (!strcmp(name, "sse"))
    *out = test_target_cpu(name, 16, 16);
  else if (!strcmp(name, "gpu"))
    *out = test_target_gpu(name, false);
  else if (!strcmp(name, "cpu_like"))
    *out = test_target_gpu(name, true);
  else
    return false;
  return true;
}

#endif
