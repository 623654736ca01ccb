// SPDX-License-Identifier: Apache-2.0
// Loads, stores, gathers, scatters, masks and atomics of the translator.
#include "backend-llvm/llvmgen.h"

typedef LLVMValueRef V;

static V base(llvmgen *g, kernel_mem m) { return m.space == KERNEL_PARAM ? g->params[m.index] : g->arrays[m.index]; }

static kernel_scalar elem(llvmgen *g, kernel_mem m) {
  return m.space == KERNEL_PARAM ? g->k->params[m.index].elem : g->k->arrays.data[m.index].elem;
}

// Byte alignment of an access at an index that is a multiple of `align` elements.
static unsigned alignment(llvmgen *g, const kernel_instr *i) {
  int bytes = kernel_scalar_table[elem(g, i->mem)].bytes;
  int limit = i->mem.space == KERNEL_PARAM ? g->k->params[i->mem.index].align : 64;
  int a = i->align * bytes;
  return (unsigned)(a < limit ? a : limit < bytes ? bytes : limit);
}

static V index64(llvmgen *g, V index) {
  LLVMTypeRef i64 = LLVMInt64TypeInContext(g->context), t = LLVMTypeOf(index);
  if (LLVMGetTypeKind(t) == LLVMVectorTypeKind) i64 = LLVMVectorType(i64, LLVMGetVectorSize(t));
  return t == i64 ? index : LLVMBuildSExt(g->builder, index, i64, "");
}

static V address(llvmgen *g, const kernel_instr *i) {
  V index = index64(g, g->values[i->operands[0]->id]);
  return LLVMBuildInBoundsGEP2(g->builder, llvmgen_scalar(g, elem(g, i->mem)), base(g, i->mem), &index, 1, "");
}

static bool is_invariant(llvmgen *g, kernel_mem m) {
  return m.space == KERNEL_PARAM && g->k->params[m.index].readonly && g->k->params[m.index].noalias;
}

static V all_true(llvmgen *g, int lanes) { return LLVMConstAllOnes(LLVMVectorType(LLVMInt1TypeInContext(g->context), (unsigned)lanes)); }

void llvmgen_load(llvmgen *g, const kernel_instr *i) {
  const kernel_value *r = &i->results[0];
  LLVMTypeRef type = llvmgen_type(g, r->type), i32 = LLVMInt32TypeInContext(g->context);
  V where = address(g, i), mask = i->n_operands > 1 ? g->values[i->operands[1]->id] : NULL, out;
  bool gather = i->operands[0]->type.lanes > 1;
  if (gather || (mask && r->type.lanes > 1)) {
    V args[] = {where, LLVMConstInt(i32, alignment(g, i), 0), mask ? mask : all_true(g, r->type.lanes), LLVMConstNull(type)};
    if (gather) {
      args[1] = LLVMConstInt(i32, kernel_scalar_table[r->type.scalar].bytes, 0);
      LLVMTypeRef overloads[] = {type, LLVMTypeOf(where)};
      out = llvmgen_intrinsic(g, "llvm.masked.gather", 2, overloads, 4, args);
    } else {
      LLVMTypeRef overloads[] = {type, LLVMTypeOf(where)};
      out = llvmgen_intrinsic(g, "llvm.masked.load", 2, overloads, 4, args);
    }
  } else if (mask) {  // scalar: a branch
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->builder);
    LLVMBasicBlockRef then = LLVMAppendBasicBlockInContext(g->context, g->function, "load");
    LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(g->context, g->function, "loaded");
    LLVMBuildCondBr(g->builder, mask, then, after);
    LLVMPositionBuilderAtEnd(g->builder, then);
    V loaded = LLVMBuildLoad2(g->builder, type, where, ""), none = LLVMConstNull(type);
    LLVMSetAlignment(loaded, alignment(g, i));
    LLVMBuildBr(g->builder, after);
    LLVMPositionBuilderAtEnd(g->builder, after);
    out = LLVMBuildPhi(g->builder, type, "");
    LLVMAddIncoming(out, &loaded, &then, 1);
    LLVMAddIncoming(out, &none, &before, 1);
  } else {
    out = LLVMBuildLoad2(g->builder, type, where, "");
    LLVMSetAlignment(out, alignment(g, i));
    if (is_invariant(g, i->mem))
      LLVMSetMetadata(out, g->invariant_kind, LLVMMetadataAsValue(g->context, LLVMMDNodeInContext2(g->context, NULL, 0)));
  }
  g->values[r->id] = out;
}

void llvmgen_store(llvmgen *g, const kernel_instr *i) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(g->context);
  V where = address(g, i), value = g->values[i->operands[1]->id], mask = i->n_operands > 2 ? g->values[i->operands[2]->id] : NULL;
  kernel_type t = i->operands[1]->type;
  bool scatter = i->operands[0]->type.lanes > 1;
  if (scatter || (mask && t.lanes > 1)) {
    unsigned align = scatter ? kernel_scalar_table[t.scalar].bytes : alignment(g, i);
    V args[] = {value, where, LLVMConstInt(i32, align, 0), mask ? mask : all_true(g, t.lanes)};
    LLVMTypeRef overloads[] = {LLVMTypeOf(value), LLVMTypeOf(where)};
    llvmgen_intrinsic(g, scatter ? "llvm.masked.scatter" : "llvm.masked.store", 2, overloads, 4, args);
    return;
  }
  LLVMBasicBlockRef after = NULL;
  if (mask) {
    LLVMBasicBlockRef then = LLVMAppendBasicBlockInContext(g->context, g->function, "store");
    after = LLVMAppendBasicBlockInContext(g->context, g->function, "stored");
    LLVMBuildCondBr(g->builder, mask, then, after);
    LLVMPositionBuilderAtEnd(g->builder, then);
  }
  LLVMSetAlignment(LLVMBuildStore(g->builder, value, where), alignment(g, i));
  if (mask) {
    LLVMBuildBr(g->builder, after);
    LLVMPositionBuilderAtEnd(g->builder, after);
  }
}

void llvmgen_atomic(llvmgen *g, const kernel_instr *i) {
  V where = address(g, i), x = g->values[i->operands[1]->id], out;
  LLVMAtomicOrdering relaxed = LLVMAtomicOrderingMonotonic;
  if (i->op == KERNEL_OP_ATOMIC_CAS) {
    V pair = LLVMBuildAtomicCmpXchg(g->builder, where, x, g->values[i->operands[2]->id], relaxed, relaxed, 0);
    out = LLVMBuildExtractValue(g->builder, pair, 0, "");
  } else {
    LLVMAtomicRMWBinOp op = i->op == KERNEL_OP_ATOMIC_ADD     ? LLVMAtomicRMWBinOpAdd
                            : i->op == KERNEL_OP_ATOMIC_MIN_S ? LLVMAtomicRMWBinOpMin
                                                              : LLVMAtomicRMWBinOpMax;
    out = LLVMBuildAtomicRMW(g->builder, op, where, x, relaxed, 0);
  }
  g->values[i->results[0].id] = out;
}
