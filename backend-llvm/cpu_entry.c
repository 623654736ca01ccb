// SPDX-License-Identifier: Apache-2.0
// The CPU's way into a kernel: void name(void *const *params, i64 begin, i64 end, void *scratch), a loop over items.
#include "backend-llvm/codegen.h"
#include "backend-llvm/llvmgen.h"

typedef LLVMValueRef V;

static void add_attribute(LLVMContextRef c, V f, const char *key, const char *value) {
  LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                          LLVMCreateStringAttribute(c, key, (unsigned)strlen(key), value, (unsigned)strlen(value)));
}

static void make_arrays(llvmgen *g, V scratch) {
  LLVMTypeRef i8 = LLVMInt8TypeInContext(g->context), i64 = LLVMInt64TypeInContext(g->context);
  bool in_scratch = llvm_scratch_bytes(g->k) > 0;
  int64_t offset = 0;
  for (int a = 0; a < g->k->arrays.len; a++) {
    const kernel_array *array = &g->k->arrays.data[a];
    int64_t bytes = array->n_elems * kernel_scalar_table[array->elem].bytes;
    if (in_scratch) {
      V at = LLVMConstInt(i64, (unsigned long long)offset, 0);
      g->arrays[a] = LLVMBuildInBoundsGEP2(g->builder, i8, scratch, &at, 1, "");
    } else {
      g->arrays[a] = LLVMBuildAlloca(g->builder, LLVMArrayType2(i8, (uint64_t)(bytes ? bytes : 1)), "");
      LLVMSetAlignment(g->arrays[a], 64);
    }
    offset += (bytes + 63) / 64 * 64;
  }
}

lemnos_status llvmgen_cpu_kernel(LLVMContextRef context, LLVMModuleRef module, const hlo_target *t, const kernel *k,
                                 const char *name) {
  LLVMTypeRef ptr = LLVMPointerTypeInContext(context, 0), i64 = LLVMInt64TypeInContext(context);
  LLVMTypeRef args[] = {ptr, i64, i64, ptr};
  V f = LLVMAddFunction(module, name, LLVMFunctionType(LLVMVoidTypeInContext(context), args, 4, 0));
  add_attribute(context, f, "prefer-vector-width",
                t->vector_bytes >= 64   ? "512"
                : t->vector_bytes >= 32 ? "256"
                                        : "128");
  llvmgen g = {.context = context,
               .module = module,
               .builder = LLVMCreateBuilderInContext(context),
               .function = f,
               .target = t,
               .k = k};
  g.params = heap_alloc(sizeof *g.params * ((size_t)k->n_params + 1));
  g.arrays = heap_alloc(sizeof *g.arrays * ((size_t)k->arrays.len + 1));
  LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(context, f, "entry");
  LLVMBasicBlockRef loop = LLVMAppendBasicBlockInContext(context, f, "items");
  LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(context, f, "done");
  LLVMPositionBuilderAtEnd(g.builder, entry);
  unsigned invariant = LLVMGetMDKindIDInContext(context, "invariant.load", 14);
  for (int p = 0; p < k->n_params; p++) {
    V at = LLVMConstInt(i64, (unsigned long long)p, 0);
    V slot = LLVMBuildInBoundsGEP2(g.builder, ptr, LLVMGetParam(f, 0), &at, 1, "");
    g.params[p] = LLVMBuildLoad2(g.builder, ptr, slot, "");
    LLVMSetMetadata(g.params[p], invariant, LLVMMetadataAsValue(context, LLVMMDNodeInContext2(context, NULL, 0)));
  }
  make_arrays(&g, LLVMGetParam(f, 3));
  V begin = LLVMGetParam(f, 1), end = LLVMGetParam(f, 2);
  LLVMBuildCondBr(g.builder, LLVMBuildICmp(g.builder, LLVMIntSLT, begin, end, ""), loop, after);
  LLVMPositionBuilderAtEnd(g.builder, loop);
  V item = LLVMBuildPhi(g.builder, i64, "item");
  LLVMAddIncoming(item, &begin, &entry, 1);
  g.item = k->index == KERNEL_I64 ? item : LLVMBuildTrunc(g.builder, item, LLVMInt32TypeInContext(context), "");
  lemnos_status status = llvmgen_body(&g);
  V next = LLVMBuildNSWAdd(g.builder, item, LLVMConstInt(i64, 1, 0), "");
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(g.builder);
  LLVMBuildCondBr(g.builder, LLVMBuildICmp(g.builder, LLVMIntSLT, next, end, ""), loop, after);
  LLVMAddIncoming(item, &next, &latch, 1);
  LLVMPositionBuilderAtEnd(g.builder, after);
  if (g.streams) LLVMBuildFence(g.builder, LLVMAtomicOrderingSequentiallyConsistent, 0, "");
  LLVMBuildRetVoid(g.builder);
  LLVMDisposeBuilder(g.builder);
  free(g.params);
  free(g.arrays);
  return lemnos_status_annotate(status, "kernel " STRV_FMT, STRV_ARG(k->name));
}
