// SPDX-License-Identifier: Apache-2.0
// The translator: one case per kernel operation, structured control to basic blocks with phis. No fast-math flags; a
// fused multiply-add only where the kernel says FMA and the target fuses.
#include "backend-llvm/llvmgen.h"

#include <string.h>

typedef LLVMValueRef V;

LLVMTypeRef llvmgen_scalar(llvmgen *g, kernel_scalar s) {
  switch (s) {
    case KERNEL_F32: return LLVMFloatTypeInContext(g->context);
    case KERNEL_F64: return LLVMDoubleTypeInContext(g->context);
    case KERNEL_F16: return LLVMHalfTypeInContext(g->context);
    default: return LLVMIntTypeInContext(g->context, kernel_scalar_table[s].bits);
  }
}

LLVMTypeRef llvmgen_type(llvmgen *g, kernel_type t) {
  LLVMTypeRef s = llvmgen_scalar(g, (kernel_scalar)t.scalar);
  return t.lanes > 1 ? LLVMVectorType(s, t.lanes) : s;
}

V llvmgen_intrinsic(llvmgen *g, const char *name, int n_overloads, LLVMTypeRef *overloads, int n, V *args) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  V f = LLVMGetIntrinsicDeclaration(g->module, id, overloads, (size_t)n_overloads);
  LLVMTypeRef type = LLVMIntrinsicGetType(g->context, id, overloads, (size_t)n_overloads);
  return LLVMBuildCall2(g->builder, type, f, args, (unsigned)n, "");
}

static V val(llvmgen *g, const kernel_value *v) {
  return g->values[v->id];
}

static V splat_const(llvmgen *g, V scalar, int lanes) {
  if (lanes == 1) return scalar;
  V items[256];
  for (int i = 0; i < lanes; i++) items[i] = scalar;
  return LLVMConstVector(items, (unsigned)lanes);
}

static V const_int(llvmgen *g, kernel_type t, int64_t x) {
  return splat_const(g, LLVMConstInt(llvmgen_scalar(g, (kernel_scalar)t.scalar), (unsigned long long)x, 1), t.lanes);
}

static V splat(llvmgen *g, V x, int lanes) {
  if (lanes == 1) return x;
  LLVMTypeRef i32 = LLVMInt32TypeInContext(g->context);
  LLVMTypeRef vt = LLVMVectorType(LLVMTypeOf(x), (unsigned)lanes);
  V one = LLVMBuildInsertElement(g->builder, LLVMGetPoison(vt), x, LLVMConstInt(i32, 0, 0), "");
  return LLVMBuildShuffleVector(g->builder, one, LLVMGetPoison(vt), LLVMConstNull(LLVMVectorType(i32, (unsigned)lanes)),
                                "");
}

static V constant(llvmgen *g, const kernel_instr *i) {
  kernel_type t = i->results[0].type;
  if (!kernel_scalar_table[t.scalar].is_float) return const_int(g, t, i->imm.i);
  return splat_const(g, LLVMConstReal(llvmgen_scalar(g, (kernel_scalar)t.scalar), i->imm.f), t.lanes);
}

static V unary_intrinsic(llvmgen *g, const char *name, V x) {
  LLVMTypeRef t = LLVMTypeOf(x);
  return llvmgen_intrinsic(g, name, 1, &t, 1, &x);
}
static V binary_intrinsic(llvmgen *g, const char *name, V x, V y) {
  LLVMTypeRef t = LLVMTypeOf(x);
  V args[] = {x, y};
  return llvmgen_intrinsic(g, name, 1, &t, 2, args);
}

static bool from_half(const kernel_value *v) {
  return v->def && v->def->op == KERNEL_OP_FLOAT_CONVERT && v->def->operands[0]->type.scalar == KERNEL_F16;
}

// llvm.minimum and maximum. Of f16 by comparisons: LLVM 19 loses NaNs there; and it turns the f32 operation on extended
// halves into the one on halves, so those too.
static V min_max(llvmgen *g, const char *name, kernel_type t, bool by_comparison, V x, V y) {
  if (t.scalar != KERNEL_F16 && !by_comparison) return binary_intrinsic(g, name, x, y);
  LLVMBuilderRef b = g->builder;
  bool is_max = strcmp(name, "llvm.maximum") == 0;
  kernel_scalar carrier = t.scalar == KERNEL_F16 ? KERNEL_I16 : t.scalar == KERNEL_F32 ? KERNEL_I32 : KERNEL_I64;
  LLVMTypeRef type = LLVMTypeOf(x), bits = llvmgen_type(g, kernel_type_make(carrier, t.lanes));
  V xi = LLVMBuildBitCast(b, x, bits, ""), yi = LLVMBuildBitCast(b, y, bits, "");
  V zeros = is_max ? LLVMBuildAnd(b, xi, yi, "") : LLVMBuildOr(b, xi, yi, "");  // equal values: -0 below +0
  V less = LLVMBuildFCmp(b, is_max ? LLVMRealOLT : LLVMRealOGT, x, y, "");
  V r = LLVMBuildSelect(b, less, y, x, "");
  r = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOEQ, x, y, ""), LLVMBuildBitCast(b, zeros, type, ""), r, "");
  return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, x, y, ""), LLVMBuildFAdd(b, x, y, ""), r, "");
}

static V fma_of(llvmgen *g, V x, V y, V z) {
  LLVMTypeRef t = LLVMTypeOf(x);
  V args[] = {x, y, z};
  if (g->target->fused_fma) return llvmgen_intrinsic(g, "llvm.fma", 1, &t, 3, args);
  return LLVMBuildFAdd(g->builder, LLVMBuildFMul(g->builder, x, y, ""), z, "");
}

static V mulhi(llvmgen *g, kernel_type t, V x, V y) {
  int bits = kernel_scalar_table[t.scalar].bits;
  LLVMTypeRef wide = LLVMIntTypeInContext(g->context, (unsigned)bits * 2);
  if (t.lanes > 1) wide = LLVMVectorType(wide, t.lanes);
  V p = LLVMBuildMul(g->builder, LLVMBuildZExt(g->builder, x, wide, ""), LLVMBuildZExt(g->builder, y, wide, ""), "");
  V shift = LLVMConstInt(LLVMIntTypeInContext(g->context, (unsigned)bits * 2), (unsigned long long)bits, 0);
  p = LLVMBuildLShr(g->builder, p, splat_const(g, shift, t.lanes), "");
  return LLVMBuildTrunc(g->builder, p, llvmgen_type(g, t), "");
}

// Halving tree: lanes l and l + n/2 combine, n halves: the order every device keeps.
static V reduce(llvmgen *g, const kernel_instr *i, V x) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(g->context);
  kernel_type t = i->operands[0]->type;
  bool is_float = kernel_scalar_table[t.scalar].is_float;
  LLVMBuilderRef b = g->builder;
  for (int n = t.lanes / 2; n >= 1; n /= 2) {
    V lo[64], hi[64];
    for (int l = 0; l < n; l++)
      lo[l] = LLVMConstInt(i32, (unsigned)l, 0), hi[l] = LLVMConstInt(i32, (unsigned)(l + n), 0);
    V a = LLVMBuildShuffleVector(b, x, LLVMGetPoison(LLVMTypeOf(x)), LLVMConstVector(lo, (unsigned)n), "");
    V c = LLVMBuildShuffleVector(b, x, LLVMGetPoison(LLVMTypeOf(x)), LLVMConstVector(hi, (unsigned)n), "");
    switch (i->op) {
      case KERNEL_OP_REDUCE_ADD: x = is_float ? LLVMBuildFAdd(b, a, c, "") : LLVMBuildAdd(b, a, c, ""); break;
      case KERNEL_OP_REDUCE_MUL: x = is_float ? LLVMBuildFMul(b, a, c, "") : LLVMBuildMul(b, a, c, ""); break;
      case KERNEL_OP_REDUCE_MIN:
        if (is_float)
          x = min_max(g, "llvm.minimum", kernel_type_make((kernel_scalar)t.scalar, n), false, a, c);
        else
          x = binary_intrinsic(g, i->imm.i ? "llvm.umin" : "llvm.smin", a, c);
        break;
      case KERNEL_OP_REDUCE_MAX:
        if (is_float)
          x = min_max(g, "llvm.maximum", kernel_type_make((kernel_scalar)t.scalar, n), false, a, c);
        else
          x = binary_intrinsic(g, i->imm.i ? "llvm.umax" : "llvm.smax", a, c);
        break;
      case KERNEL_OP_REDUCE_AND: x = LLVMBuildAnd(b, a, c, ""); break;
      case KERNEL_OP_REDUCE_OR: x = LLVMBuildOr(b, a, c, ""); break;
      default: x = LLVMBuildXor(b, a, c, ""); break;
    }
  }
  return LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind
             ? LLVMBuildExtractElement(b, x, LLVMConstInt(i32, 0, 0), "")
             : x;
}

static V shuffle(llvmgen *g, V x, V y, int n, const int32_t *list) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(g->context);
  V lanes[256];
  for (int l = 0; l < n; l++) lanes[l] = LLVMConstInt(i32, (unsigned long long)list[l], 0);
  return LLVMBuildShuffleVector(g->builder, x, y, LLVMConstVector(lanes, (unsigned)n), "");
}

static V as_vector(llvmgen *g, V x) {
  if (LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind) return x;
  V zero = LLVMConstInt(LLVMInt32TypeInContext(g->context), 0, 0);
  return LLVMBuildInsertElement(g->builder, LLVMGetPoison(LLVMVectorType(LLVMTypeOf(x), 1)), x, zero, "");
}

static V vector_op(llvmgen *g, const kernel_instr *i) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(g->context);
  kernel_type t = i->results[0].type;
  LLVMBuilderRef b = g->builder;
  switch (i->op) {
    case KERNEL_OP_SPLAT: return splat(g, val(g, i->operands[0]), t.lanes);
    case KERNEL_OP_BUILD: {
      V v = LLVMGetPoison(llvmgen_type(g, t));
      for (int l = 0; l < t.lanes; l++)
        v = LLVMBuildInsertElement(b, v, val(g, i->operands[l]), LLVMConstInt(i32, (unsigned)l, 0), "");
      return v;
    }
    case KERNEL_OP_LANES: {
      V items[256];
      for (int l = 0; l < t.lanes; l++)
        items[l] = LLVMConstInt(llvmgen_scalar(g, (kernel_scalar)t.scalar), (unsigned)l, 0);
      return LLVMConstVector(items, t.lanes);
    }
    case KERNEL_OP_EXTRACT: {
      V x = val(g, i->operands[0]);
      if (t.lanes == 1) return LLVMBuildExtractElement(b, x, LLVMConstInt(i32, (unsigned long long)i->imm.i, 0), "");
      int32_t list[256];
      for (int l = 0; l < t.lanes; l++) list[l] = (int32_t)i->imm.i + l;
      return shuffle(g, x, LLVMGetPoison(LLVMTypeOf(x)), t.lanes, list);
    }
    case KERNEL_OP_INSERT:
      return LLVMBuildInsertElement(b, val(g, i->operands[0]), val(g, i->operands[1]),
                                    LLVMConstInt(i32, (unsigned long long)i->imm.i, 0), "");
    case KERNEL_OP_SHUFFLE:
      if (t.lanes == 1) {
        int at = i->imm.list[0], first = i->operands[0]->type.lanes;
        V x = val(g, i->operands[at >= first]);
        if (i->operands[at >= first]->type.lanes == 1) return x;
        return LLVMBuildExtractElement(b, x, LLVMConstInt(i32, (unsigned)(at >= first ? at - first : at), 0), "");
      }
      return shuffle(g, as_vector(g, val(g, i->operands[0])), as_vector(g, val(g, i->operands[1])), t.lanes,
                     i->imm.list);
    default: return reduce(g, i, val(g, i->operands[0]));
  }
}

static V compare(llvmgen *g, const kernel_instr *i) {
  V x = val(g, i->operands[0]), y = val(g, i->operands[1]);
  bool is_float = kernel_scalar_table[i->operands[0]->type.scalar].is_float;
  LLVMBuilderRef b = g->builder;
  switch (i->op) {
    case KERNEL_OP_EQ:
      return is_float ? LLVMBuildFCmp(b, LLVMRealOEQ, x, y, "") : LLVMBuildICmp(b, LLVMIntEQ, x, y, "");
    case KERNEL_OP_NE:
      return is_float ? LLVMBuildFCmp(b, LLVMRealUNE, x, y, "") : LLVMBuildICmp(b, LLVMIntNE, x, y, "");
    case KERNEL_OP_LT_S: return LLVMBuildICmp(b, LLVMIntSLT, x, y, "");
    case KERNEL_OP_LE_S: return LLVMBuildICmp(b, LLVMIntSLE, x, y, "");
    case KERNEL_OP_LT_U: return LLVMBuildICmp(b, LLVMIntULT, x, y, "");
    case KERNEL_OP_LE_U: return LLVMBuildICmp(b, LLVMIntULE, x, y, "");
    case KERNEL_OP_LT: return LLVMBuildFCmp(b, LLVMRealOLT, x, y, "");
    default: return LLVMBuildFCmp(b, LLVMRealOLE, x, y, "");
  }
}

static V conversion(llvmgen *g, const kernel_instr *i) {
  V x = val(g, i->operands[0]);
  LLVMTypeRef to = llvmgen_type(g, i->results[0].type), from = LLVMTypeOf(x);
  int fb = kernel_scalar_table[i->operands[0]->type.scalar].bits,
      tb = kernel_scalar_table[i->results[0].type.scalar].bits;
  LLVMBuilderRef b = g->builder;
  LLVMTypeRef overloads[] = {to, from};
  switch (i->op) {
    case KERNEL_OP_TRUNCATE: return LLVMBuildTrunc(b, x, to, "");
    case KERNEL_OP_EXTEND_S: return LLVMBuildSExt(b, x, to, "");
    case KERNEL_OP_EXTEND_U: return LLVMBuildZExt(b, x, to, "");
    case KERNEL_OP_FLOAT_CONVERT:
      return fb == tb ? x : fb < tb ? LLVMBuildFPExt(b, x, to, "") : LLVMBuildFPTrunc(b, x, to, "");
    case KERNEL_OP_FROM_INT_S: return LLVMBuildSIToFP(b, x, to, "");
    case KERNEL_OP_FROM_INT_U: return LLVMBuildUIToFP(b, x, to, "");
    case KERNEL_OP_TO_INT_S: return llvmgen_intrinsic(g, "llvm.fptosi.sat", 2, overloads, 1, &x);
    case KERNEL_OP_TO_INT_U: return llvmgen_intrinsic(g, "llvm.fptoui.sat", 2, overloads, 1, &x);
    default: return LLVMBuildBitCast(b, x, to, "");
  }
}

static V arithmetic(llvmgen *g, const kernel_instr *i) {
  kernel_type t = i->results[0].type;
  bool is_float = kernel_scalar_table[t.scalar].is_float;
  V x = val(g, i->operands[0]), y = i->n_operands > 1 ? val(g, i->operands[1]) : NULL;
  LLVMBuilderRef b = g->builder;
  switch (i->op) {
    case KERNEL_OP_ADD: return is_float ? LLVMBuildFAdd(b, x, y, "") : LLVMBuildAdd(b, x, y, "");
    case KERNEL_OP_SUB: return is_float ? LLVMBuildFSub(b, x, y, "") : LLVMBuildSub(b, x, y, "");
    case KERNEL_OP_MUL: return is_float ? LLVMBuildFMul(b, x, y, "") : LLVMBuildMul(b, x, y, "");
    case KERNEL_OP_NEG: return is_float ? LLVMBuildFNeg(b, x, "") : LLVMBuildNeg(b, x, "");
    case KERNEL_OP_MULHI_U: return mulhi(g, t, x, y);
    case KERNEL_OP_DIV_S: return LLVMBuildSDiv(b, x, y, "");
    case KERNEL_OP_DIV_U: return LLVMBuildUDiv(b, x, y, "");
    case KERNEL_OP_REM_S: return LLVMBuildSRem(b, x, y, "");
    case KERNEL_OP_REM_U: return LLVMBuildURem(b, x, y, "");
    case KERNEL_OP_MIN_S: return binary_intrinsic(g, "llvm.smin", x, y);
    case KERNEL_OP_MIN_U: return binary_intrinsic(g, "llvm.umin", x, y);
    case KERNEL_OP_MAX_S: return binary_intrinsic(g, "llvm.smax", x, y);
    case KERNEL_OP_MAX_U: return binary_intrinsic(g, "llvm.umax", x, y);
    case KERNEL_OP_AND: return LLVMBuildAnd(b, x, y, "");
    case KERNEL_OP_OR: return LLVMBuildOr(b, x, y, "");
    case KERNEL_OP_XOR: return LLVMBuildXor(b, x, y, "");
    case KERNEL_OP_NOT: return LLVMBuildNot(b, x, "");
    case KERNEL_OP_SHL: return LLVMBuildShl(b, x, y, "");
    case KERNEL_OP_SHR_S: return LLVMBuildAShr(b, x, y, "");
    case KERNEL_OP_SHR_U: return LLVMBuildLShr(b, x, y, "");
    case KERNEL_OP_POPCNT: return unary_intrinsic(g, "llvm.ctpop", x);
    case KERNEL_OP_CLZ: {
      LLVMTypeRef type = LLVMTypeOf(x);
      V args[] = {x, LLVMConstInt(LLVMInt1TypeInContext(g->context), 0, 0)};
      return llvmgen_intrinsic(g, "llvm.ctlz", 1, &type, 2, args);
    }
    case KERNEL_OP_DIV: return LLVMBuildFDiv(b, x, y, "");
    case KERNEL_OP_FMA: return fma_of(g, x, y, val(g, i->operands[2]));
    case KERNEL_OP_ABS: return unary_intrinsic(g, "llvm.fabs", x);
    case KERNEL_OP_COPYSIGN: return binary_intrinsic(g, "llvm.copysign", x, y);
    case KERNEL_OP_SQRT: return unary_intrinsic(g, "llvm.sqrt", x);
    case KERNEL_OP_FLOOR: return unary_intrinsic(g, "llvm.floor", x);
    case KERNEL_OP_CEIL: return unary_intrinsic(g, "llvm.ceil", x);
    case KERNEL_OP_TRUNC: return unary_intrinsic(g, "llvm.trunc", x);
    case KERNEL_OP_ROUND_EVEN: return unary_intrinsic(g, "llvm.rint", x);  // the default rounding mode is in force
    case KERNEL_OP_MIN:
      return min_max(g, "llvm.minimum", t, from_half(i->operands[0]) || from_half(i->operands[1]), x, y);
    case KERNEL_OP_MAX:
      return min_max(g, "llvm.maximum", t, from_half(i->operands[0]) || from_half(i->operands[1]), x, y);
    case KERNEL_OP_MIN_NUM: return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOLT, x, y, ""), x, y, "");
    case KERNEL_OP_MAX_NUM: return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOLT, y, x, ""), x, y, "");
    case KERNEL_OP_SELECT: return LLVMBuildSelect(b, x, y, val(g, i->operands[2]), "");
    default:
      if (!g->status)
        g->status = lemnos_status_make(LEMNOS_UNIMPLEMENTED, "kernel operation %s has no LLVM form",
                                       kernel_op_table[i->op].name);
      return LLVMGetPoison(llvmgen_type(g, t));
  }
}

// --- control -------------------------------------------------------------------------------------

static void block(llvmgen *g, const kernel_block *b);

static LLVMBasicBlockRef new_block(llvmgen *g, const char *name) {
  return LLVMAppendBasicBlockInContext(g->context, g->function, name);
}
static LLVMBasicBlockRef here(llvmgen *g) {
  return LLVMGetInsertBlock(g->builder);
}

static void for_loop(llvmgen *g, const kernel_instr *i) {
  LLVMBuilderRef b = g->builder;
  const kernel_block *body = i->blocks[0];
  V lo = val(g, i->operands[0]), hi = val(g, i->operands[1]), step = val(g, i->operands[2]);
  LLVMBasicBlockRef before = here(g), loop = new_block(g, "for"), after = new_block(g, "end");
  // Bottom-tested: one guard, then a body that ends in the back edge.
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, lo, hi, ""), loop, after);
  LLVMPositionBuilderAtEnd(b, loop);
  V iv = LLVMBuildPhi(b, LLVMTypeOf(lo), "i");
  g->values[body->args[0].id] = iv;
  LLVMAddIncoming(iv, &lo, &before, 1);
  for (int n = 0; n < i->n_results; n++) {
    V phi = LLVMBuildPhi(b, llvmgen_type(g, i->results[n].type), ""), init = val(g, i->operands[n + 3]);
    LLVMAddIncoming(phi, &init, &before, 1);
    g->values[body->args[n + 1].id] = phi;
  }
  block(g, body);
  V next = LLVMBuildNSWAdd(b, iv, step, "");
  V again = LLVMBuildICmp(b, LLVMIntSLT, next, hi, "");
  LLVMBasicBlockRef latch = here(g);
  LLVMBuildCondBr(b, again, loop, after);
  LLVMAddIncoming(iv, &next, &latch, 1);
  LLVMPositionBuilderAtEnd(b, after);
  for (int n = 0; n < i->n_results; n++) {
    V out = val(g, body->last->operands[n]), init = val(g, i->operands[n + 3]);
    V head = g->values[body->args[n + 1].id];
    LLVMAddIncoming(head, &out, &latch, 1);
    V phi = LLVMBuildPhi(b, llvmgen_type(g, i->results[n].type), "");
    LLVMAddIncoming(phi, &init, &before, 1);
    LLVMAddIncoming(phi, &out, &latch, 1);
    g->values[i->results[n].id] = phi;
  }
}

static void while_loop(llvmgen *g, const kernel_instr *i) {
  LLVMBuilderRef b = g->builder;
  LLVMBasicBlockRef before = here(g), head = new_block(g, "while"), body = new_block(g, "do"),
                    after = new_block(g, "end");
  LLVMBuildBr(b, head);
  LLVMPositionBuilderAtEnd(b, head);
  for (int n = 0; n < i->n_results; n++) {
    V phi = LLVMBuildPhi(b, llvmgen_type(g, i->results[n].type), ""), init = val(g, i->operands[n]);
    LLVMAddIncoming(phi, &init, &before, 1);
    g->values[i->blocks[0]->args[n].id] = g->values[i->blocks[1]->args[n].id] = g->values[i->results[n].id] = phi;
  }
  block(g, i->blocks[0]);
  LLVMBuildCondBr(b, val(g, i->blocks[0]->last->operands[0]), body, after);
  LLVMPositionBuilderAtEnd(b, body);
  block(g, i->blocks[1]);
  LLVMBasicBlockRef latch = here(g);
  LLVMBuildBr(b, head);
  for (int n = 0; n < i->n_results; n++) {
    V next = val(g, i->blocks[1]->last->operands[n]);
    LLVMAddIncoming(g->values[i->results[n].id], &next, &latch, 1);
  }
  LLVMPositionBuilderAtEnd(b, after);
}

static void if_else(llvmgen *g, const kernel_instr *i) {
  LLVMBuilderRef b = g->builder;
  LLVMBasicBlockRef arms[] = {new_block(g, "then"), new_block(g, "else")}, after = new_block(g, "end"), ends[2];
  LLVMBuildCondBr(b, val(g, i->operands[0]), arms[0], arms[1]);
  for (int n = 0; n < 2; n++) {
    LLVMPositionBuilderAtEnd(b, arms[n]);
    block(g, i->blocks[n]);
    ends[n] = here(g);
    LLVMBuildBr(b, after);
  }
  LLVMPositionBuilderAtEnd(b, after);
  for (int r = 0; r < i->n_results; r++) {
    V phi = LLVMBuildPhi(b, llvmgen_type(g, i->results[r].type), "");
    V in[] = {val(g, i->blocks[0]->last->operands[r]), val(g, i->blocks[1]->last->operands[r])};
    LLVMAddIncoming(phi, in, ends, 2);
    g->values[i->results[r].id] = phi;
  }
}

static void instr(llvmgen *g, const kernel_instr *i) {
  switch (kernel_op_table[i->op].cls) {
    case KERNEL_CLASS_CONST: g->values[i->results[0].id] = constant(g, i); return;
    case KERNEL_CLASS_ID:
      g->values[i->results[0].id] =
          i->op == KERNEL_OP_ITEM ? g->item : const_int(g, i->results[0].type, g->k->params[i->imm.i].n_elems);
      return;
    case KERNEL_CLASS_CMP: g->values[i->results[0].id] = compare(g, i); return;
    case KERNEL_CLASS_CONV: g->values[i->results[0].id] = conversion(g, i); return;
    case KERNEL_CLASS_VEC: g->values[i->results[0].id] = vector_op(g, i); return;
    case KERNEL_CLASS_MEM:
      if (i->op == KERNEL_OP_LOAD)
        llvmgen_load(g, i);
      else if (i->op == KERNEL_OP_STORE)
        llvmgen_store(g, i);
      else
        llvmgen_atomic(g, i);
      return;
    case KERNEL_CLASS_CTRL:
      if (i->op == KERNEL_OP_FOR)
        for_loop(g, i);
      else if (i->op == KERNEL_OP_WHILE)
        while_loop(g, i);
      else if (i->op == KERNEL_OP_IF)
        if_else(g, i);
      return;
    case KERNEL_CLASS_GROUP:
    case KERNEL_CLASS_TILE:
    case KERNEL_CLASS_MATH:
      if (!g->status)
        g->status = lemnos_status_make(LEMNOS_UNIMPLEMENTED, "kernel operation %s has no LLVM form",
                                       kernel_op_table[i->op].name);
      for (int r = 0; r < i->n_results; r++)
        g->values[i->results[r].id] = LLVMGetPoison(llvmgen_type(g, i->results[r].type));
      return;
    default: g->values[i->results[0].id] = arithmetic(g, i); return;
  }
}

static void block(llvmgen *g, const kernel_block *b) {
  for (const kernel_instr *i = b->first; i; i = i->next)
    if (i->op != KERNEL_OP_YIELD) instr(g, i);
}

lemnos_status llvmgen_body(llvmgen *g) {
  g->values = heap_alloc(sizeof *g->values * ((size_t)g->k->next_id + 1));
  g->invariant_kind = LLVMGetMDKindIDInContext(g->context, "invariant.load", 14);
  block(g, g->k->body);
  free(g->values);
  g->values = NULL;
  lemnos_status status = g->status;
  g->status = NULL;
  return status;
}
