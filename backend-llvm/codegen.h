// SPDX-License-Identifier: Apache-2.0
// The boundary between the part of this backend that is always linked (devices, memory, threads) and the module that
// brings LLVM, which is opened when code is first generated or loaded: linking libLLVM costs a quarter of a second at a
// cold start.
// The module exports one symbol, LLVM_CODEGEN_SYMBOL, a const struct of functions; everything else in it is hidden.
#ifndef BACKEND_LLVM_CODEGEN_H
#define BACKEND_LLVM_CODEGEN_H

#include "runtime/backend.h"

// What generated code looks like from outside: runs items [begin, end). params: one address per kernel parameter;
// scratch: room of llvm_scratch_bytes(kernel) bytes of this thread's own, aligned to 64 (NULL if 0).
typedef void (*llvm_kernel_fn)(void *const *params, int64_t begin, int64_t end, void *scratch);

typedef struct llvm_loaded llvm_loaded;

typedef struct llvm_codegen {
  int32_t abi;               // LLVM_CODEGEN_ABI
  void (*initialize)(void);  // once, before anything else, by one thread
  lemnos_status (*compile)(const hlo_target *t, kernel *const *kernels, int n, thread_pool *pool, backend_code *out);
  lemnos_status (*emit_text)(const hlo_target *t, const kernel *k, backend_emit what, strbuf *out);
  // Links code into the process; *out_functions has one entry per kernel, valid until unload.
  lemnos_status (*load)(const backend_code *code, int n, llvm_loaded **out, llvm_kernel_fn **out_functions);
  void (*unload)(llvm_loaded *l);
} llvm_codegen;

#define LLVM_CODEGEN_ABI 1
#define LLVM_CODEGEN_SYMBOL "lemnos_llvm_codegen"

// Private arrays up to this many bytes in all are on the stack; beyond, all of them are in the thread's scratch.
enum { LLVM_STACK_BYTES = 16384 };
// Offsets of private arrays are multiples of 64. 0 if everything is on the stack.
int64_t llvm_scratch_bytes(const kernel *k);

#endif
