// SPDX-License-Identifier: Apache-2.0
// Kernel IR -> LLVM IR. The translator proper knows nothing of how a kernel is entered: the caller makes the function,
// says where parameters, arrays and the item number are, and gets the body translated at the builder's position. The
// CPU entry (cpu_entry.c) loops over items; another target makes one of its own.
#ifndef BACKEND_LLVM_LLVMGEN_H
#define BACKEND_LLVM_LLVMGEN_H

#include <llvm-c/Core.h>

#include "hlo/kernel/kernel.h"

typedef struct llvmgen {
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  LLVMValueRef function;
  const hlo_target *target;
  const kernel *k;
  // Set by the caller:
  LLVMValueRef *params;  // pointer per parameter
  LLVMValueRef *arrays;  // pointer per array
  LLVMValueRef item;     // of the kernel's index type
  // The translator's own:
  LLVMValueRef *values;     // by kernel value id
  unsigned invariant_kind;  // metadata kind "invariant.load"
  bool streams;             // some stores are non-temporal: a fence has to follow them
  lemnos_status status;     // first failure
} llvmgen;

LLVMTypeRef llvmgen_type(llvmgen *g, kernel_type t);
LLVMTypeRef llvmgen_scalar(llvmgen *g, kernel_scalar s);
// Translates k's body at the builder's position; the builder ends where control continues. UNIMPLEMENTED for operations
// the translator does not take (group operations: those are the target's).
LEMNOS_NODISCARD lemnos_status llvmgen_body(llvmgen *g);
// Calls an overloaded intrinsic: llvm.<name>.<type of the first overload>.
LLVMValueRef llvmgen_intrinsic(llvmgen *g, const char *name, int n_overloads, LLVMTypeRef *overloads, int n,
                               LLVMValueRef *args);

// Memory operations (llvmgen_memory.c).
void llvmgen_load(llvmgen *g, const kernel_instr *i);
void llvmgen_store(llvmgen *g, const kernel_instr *i);
void llvmgen_atomic(llvmgen *g, const kernel_instr *i);

// CPU entry point: adds function `name` of type llvm_kernel_fn for k to the module.
LEMNOS_NODISCARD lemnos_status llvmgen_cpu_kernel(LLVMContextRef context, LLVMModuleRef module, const hlo_target *t,
                                                  const kernel *k, const char *name);

#endif
