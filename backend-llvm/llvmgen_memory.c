// SPDX-License-Identifier: Apache-2.0
// Loads, stores, gathers, scatters, masks and atomics of the translator.
#include "backend-llvm/llvmgen.h"

typedef LLVMValueRef V;

enum { STREAMING_BYTES = 32 << 20 };

static V base(llvmgen *g, kernel_mem m) {
  return m.space == KERNEL_PARAM ? g->params[m.index] : g->arrays[m.index];
}

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

static V all_true(llvmgen *g, int lanes) {
  return LLVMConstAllOnes(LLVMVectorType(LLVMInt1TypeInContext(g->context), (unsigned)lanes));
}

void llvmgen_load(llvmgen *g, const kernel_instr *i) {
  const kernel_value *r = &i->results[0];
  LLVMTypeRef type = llvmgen_type(g, r->type), i32 = LLVMInt32TypeInContext(g->context);
  V where = address(g, i), mask = i->n_operands > 1 ? g->values[i->operands[1]->id] : NULL, out;
  bool gather = i->operands[0]->type.lanes > 1;
  if (gather || (mask && r->type.lanes > 1)) {
    V args[] = {where, LLVMConstInt(i32, alignment(g, i), 0), mask ? mask : all_true(g, r->type.lanes),
                LLVMConstNull(type)};
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
      LLVMSetMetadata(out, g->invariant_kind,
                      LLVMMetadataAsValue(g->context, LLVMMDNodeInContext2(g->context, NULL, 0)));
  }
  g->values[r->id] = out;
}

static bool loads_from(const kernel_block *b, kernel_mem m) {
  for (const kernel_instr *i = b->first; i; i = i->next) {
    int class = kernel_op_table[i->op].cls;
    if (class == KERNEL_CLASS_TILE) return true;
    if (class == KERNEL_CLASS_MEM && i->op != KERNEL_OP_STORE && i->mem.space == m.space && i->mem.index == m.index)
      return true;
    for (int c = 0; c < i->n_blocks; c++)
      if (loads_from(i->blocks[c], m)) return true;
  }
  return false;
}

// Does a store pass the caches by? When a loop writes consecutive vectors to memory too large to be found there later,
// which nothing here reads: lines need not be fetched to be overwritten.
static bool is_streaming(llvmgen *g, const kernel_instr *i) {
  if (i->mem.space != KERNEL_PARAM || g->target->cls != HLO_TARGET_CPU) return false;
  const kernel_param *p = &g->k->params[i->mem.index];
  kernel_type t = i->operands[1]->type;
  int bytes = kernel_scalar_table[t.scalar].bytes;
  if (p->n_elems * bytes < STREAMING_BYTES || !p->noalias || t.lanes * bytes < 16 ||
      alignment(g, i) < (unsigned)(t.lanes * bytes))
    return false;
  const kernel_value *index = i->operands[0];
  if (index->def || index->index != 0 || !index->block->parent || index->block->parent->op != KERNEL_OP_FOR)
    return false;
  const kernel_instr *step = index->block->parent->operands[2]->def;
  return step && step->op == KERNEL_OP_CONST && step->imm.i == t.lanes && !loads_from(g->k->body, i->mem);
}

void llvmgen_store(llvmgen *g, const kernel_instr *i) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(g->context);
  V where = address(g, i), value = g->values[i->operands[1]->id],
    mask = i->n_operands > 2 ? g->values[i->operands[2]->id] : NULL;
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
  V store = LLVMBuildStore(g->builder, value, where);
  LLVMSetAlignment(store, alignment(g, i));
  if (!mask && is_streaming(g, i)) {
    LLVMMetadataRef one = LLVMValueAsMetadata(LLVMConstInt(i32, 1, 0));
    LLVMSetMetadata(store, LLVMGetMDKindIDInContext(g->context, "nontemporal", 11),
                    LLVMMetadataAsValue(g->context, LLVMMDNodeInContext2(g->context, &one, 1)));
    g->streams = true;
  }
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
