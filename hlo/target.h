// SPDX-License-Identifier: Apache-2.0
// Target description: what a device can do and what things cost there. The only thing that target-specific passes,
// schedules and legalization know about a device; backends fill it in (runtime/backend.h). Plain data, copied freely.
#ifndef HLO_TARGET_H
#define HLO_TARGET_H

#include "base/base.h"

typedef enum hlo_target_class {
  HLO_TARGET_CPU,       // few threads, wide vectors, caches: schedules use explicit vectors, no group operations
  HLO_TARGET_GPU,       // many invocations: workgroup tiles in shared memory, barriers
  HLO_TARGET_CPU_LIKE,  // a software GPU driver: invocations, but no barriers or shared memory; few and wide loads
} hlo_target_class;

typedef struct hlo_target {
  char name[64];  // "cpu:skylake-avx512", "vulkan:llvmpipe (LLVM 15.0.6, 256 bits)"
  char spec[64];  // what re-creates this description: "cpu", "cpu:avx2", "vulkan:0", "radv:navi21"
  hlo_target_class cls;

  // --- element types: arithmetic in registers; `storage_N`: loads and stores of N-bit elements
  bool f16, f64, i8, i16, i64;
  bool storage_8, storage_16;
  bool subnormals_f32;  // kept, not flushed
  // the compiler folds x * 0, x + 0, 0 / x whatever x is (llvmpipe): zeros are hidden from it
  bool folds_zero;
  bool fused_fma;  // fma rounds once and is as quick as a multiply

  // --- vectors (CPU) and registers
  int32_t vector_bytes;                  // widest register: 16 SSE, 32 AVX2, 64 AVX-512; GPU: 16 (vec4)
  int32_t vector_registers;              // 16, 32
  int32_t threads;                       // hardware threads used
  int64_t l1_bytes, l2_bytes, l3_bytes;  // data caches (L1, L2 of one core); 0 unknown

  // --- groups (GPU and CPU_LIKE)
  bool group_ops;  // workgroups with shared memory and barriers may be used by schedules
  bool subgroup_shuffle, subgroup_arithmetic;
  int32_t subgroup;       // lanes; 0: no subgroup operations
  int32_t max_workgroup;  // invocations
  int64_t shared_bytes;
  int64_t max_groups[3];  // workgroups per grid dimension
  bool int_atomics;

  // --- buffers
  int64_t max_storage_range;  // bytes one kernel parameter may span; INT64_MAX: no limit
  int32_t max_buffers;        // parameters of a kernel
  // bytes of a parameter that is bound; one that spans more is passed by its address. 0: no limit
  int64_t max_bound_range;
  int32_t max_addresses;  // of one kernel, where max_bound_range is a limit
  int32_t buffer_align;   // offset alignment of a binding (bytes); arena offsets are multiples of 256 anyway
  int64_t max_alloc;      // bytes in one allocation

  // --- costs, in f32 multiply-adds of a lane (0: unknown). Measured by the backend.
  float load_vec4, load_scalar, shared_over_load, barrier, cross_lane;
  bool shuffle_is_broadcast;  // hand values round by broadcast rather than by shuffle at a constant lane
  bool uniform_load_free;
  int32_t acc_max;   // accumulators an invocation may hold
  int32_t body_max;  // multiply-adds in a loop body (compile time)
  // loop iterations an invocation may make in all; 0: no limit (llvmpipe stops loops silently)
  int64_t max_iterations;
  int32_t elementwise_workgroup;
  float dispatch_us;
  bool builtin_math;  // native exp/log/sin.. of the driver are allowed where accurate enough
} hlo_target;

#endif
