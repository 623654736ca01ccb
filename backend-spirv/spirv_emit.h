// SPDX-License-Identifier: Apache-2.0
// Kernel IR to SPIR-V: what goes in (a finished kernel, the target, what the driver allows) and what comes out (words,
// and how the module is to be launched).
//
// A kernel becomes one module of version 1.3 with entry point `main`. Parameters are storage buffers of descriptor set
// 0, bound in order; one whose range may exceed what a descriptor spans, or that is beyond the descriptor count, is
// *addressed*: a pointer to physical storage in the push constants. The grid is folded into workgroup counts of at most
// max_groups a dimension, with a bounds check where the fold is not exact. Push constants: 8 bytes for each addressed
// parameter, in order, then 4 bytes (an element offset) for each bound parameter whose address is less aligned than
// descriptors have to be.
#ifndef BACKEND_SPIRV_SPIRV_EMIT_H
#define BACKEND_SPIRV_SPIRV_EMIT_H

#include "backend-spirv/spirv_writer.h"
#include "hlo/kernel/kernel.h"

enum { SPIRV_MAX_PARAMS = 96 };

// What a driver allows beyond hlo_target. Arrays by float width: [0] 16, [1] 32, [2] 64 bits.
typedef struct spirv_caps {
  bool physical_storage;  // buffer device address
  bool int64_atomics;     // on buffers
  bool shared_int64_atomics;
  bool subgroup_extended;  // subgroup operations on 8-, 16-, 64-bit types
  bool float_controls;     // the extension or Vulkan 1.2
  bool preserve_inf_nan[3], preserve_denorms[3], round_even[3];
  bool denorm_independent, rounding_independent;  // may differ between all widths
  bool u32_to_f32_rounds_twice;                   // SwiftShader: converts the halves
  bool no_pointer_casts;                          // SwiftShader ends the process at a bitcast between pointers
  bool narrows_comparisons_wrongly;               // Mesa: of sign extensions to 64 bits
  int64_t descriptor_range;                       // maxStorageBufferRange
  int32_t descriptors;                            // storage buffers a stage
  int32_t descriptor_align;                       // minStorageBufferOffsetAlignment
  int32_t push_bytes;                             // maxPushConstantsSize
  int32_t max_local_x;                            // maxComputeWorkGroupSize[0]
} spirv_caps;

// What Vulkan guarantees: for code made without a device to ask.
spirv_caps spirv_caps_minimum(void);

typedef struct spirv_param_info {
  uint8_t addressed;      // by pointer, else by descriptor `binding`
  uint8_t offset_pushed;  // bound, and an element offset is pushed
  uint8_t written;
  uint8_t elem_bytes;
  int16_t binding;
  uint16_t push_offset;  // of the pointer or the offset
} spirv_param_info;

// Plain data: part of the code blob.
typedef struct spirv_kernel_info {
  uint32_t local;      // invocations a workgroup
  uint32_t groups[3];  // 0 groups: nothing to launch
  uint32_t n_params, n_bindings, push_bytes;
  uint32_t subgroup;  // the size it was made for, 0: any
  spirv_param_info params[SPIRV_MAX_PARAMS];
} spirv_kernel_info;

// UNIMPLEMENTED names what cannot be translated (no such operation on the type, limits of the driver). words: on the
// heap.
LEMNOS_NODISCARD lemnos_status spirv_emit_kernel(const kernel *k, const hlo_target *t, const spirv_caps *caps,
                                                 spirv_kernel_info *info, spirv_words *words);

// Text of a module, one instruction a line. INVALID_ARGUMENT if it is not a well-formed sequence of instructions.
LEMNOS_NODISCARD lemnos_status spirv_disassemble(const uint32_t *words, int n, strbuf *out);

#endif
