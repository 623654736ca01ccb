// SPDX-License-Identifier: Apache-2.0
// Modules as text, in the manner of spirv-dis: `%7 = OpFAdd %float %5 %6`. Knows the instructions that the emitter
// writes (the table below) with the form of their operands; others are shown by number. Enumerants stay numbers.
#include "backend-spirv/spirv_emit.h"

// I(name, form): t result type, r result; then operands: i id, l literal, s string, * the last one repeated.
// clang-format off
#define INSTRUCTIONS(I)                                                                                               \
  I(Extension, "s") I(ExtInstImport, "rs") I(ExtInst, "tril*") I(MemoryModel, "ll") I(EntryPoint, "lisi*")            \
  I(ExecutionMode, "ill*") I(Capability, "l") I(TypeVoid, "r") I(TypeBool, "r") I(TypeInt, "rll") I(TypeFloat, "rl")  \
  I(TypeVector, "ril") I(TypeArray, "rii") I(TypeRuntimeArray, "ri") I(TypeStruct, "ri*") I(TypePointer, "rli")       \
  I(TypeFunction, "rii*") I(ConstantTrue, "tr") I(ConstantFalse, "tr") I(Constant, "trl*")                            \
  I(ConstantComposite, "tri*") I(Function, "trli") I(FunctionEnd, "") I(Variable, "trl") I(Load, "tril*")             \
  I(Store, "iil*") I(AccessChain, "trii*") I(Decorate, "ill*") I(MemberDecorate, "illl*") I(VectorShuffle, "triil*")  \
  I(CompositeConstruct, "tri*") I(CompositeExtract, "tril*") I(CompositeInsert, "triil*") I(CopyObject, "tri")        \
  I(ConvertFToU, "tri") I(ConvertFToS, "tri") I(ConvertSToF, "tri") I(ConvertUToF, "tri") I(UConvert, "tri")          \
  I(SConvert, "tri") I(FConvert, "tri") I(Bitcast, "tri") I(SNegate, "tri") I(FNegate, "tri") I(IAdd, "trii")         \
  I(FAdd, "trii") I(ISub, "trii") I(FSub, "trii") I(IMul, "trii") I(FMul, "trii") I(UDiv, "trii") I(SDiv, "trii")     \
  I(FDiv, "trii") I(UMod, "trii") I(UMulExtended, "trii") I(LogicalEqual, "trii") I(LogicalNotEqual, "trii")          \
  I(LogicalOr, "trii") I(LogicalAnd, "trii") I(LogicalNot, "tri") I(Select, "triii") I(IEqual, "trii")                \
  I(INotEqual, "trii") I(UGreaterThan, "trii") I(SGreaterThan, "trii") I(ULessThan, "trii") I(SLessThan, "trii")      \
  I(ULessThanEqual, "trii") I(SLessThanEqual, "trii") I(FOrdEqual, "trii") I(FOrdNotEqual, "trii")                    \
  I(FUnordNotEqual, "trii") I(FOrdLessThan, "trii") I(FOrdGreaterThan, "trii") I(FOrdLessThanEqual, "trii")           \
  I(FOrdGreaterThanEqual, "trii") I(ShiftRightLogical, "trii") I(ShiftRightArithmetic, "trii")                        \
  I(ShiftLeftLogical, "trii") I(BitwiseOr, "trii") I(BitwiseXor, "trii") I(BitwiseAnd, "trii") I(Not, "tri")          \
  I(BitCount, "tri") I(ControlBarrier, "iii") I(AtomicCompareExchange, "triiiiii") I(AtomicIAdd, "triiii")            \
  I(AtomicSMin, "triiii") I(AtomicSMax, "triiii") I(Phi, "trii*") I(LoopMerge, "iil") I(SelectionMerge, "il")         \
  I(Label, "r") I(Branch, "i") I(BranchConditional, "iii") I(Return, "") I(GroupNonUniformBroadcast, "triii")         \
  I(GroupNonUniformShuffle, "triii") I(GroupNonUniformShuffleXor, "triii")
// clang-format on

typedef struct form {
  uint16_t op;
  const char *name, *operands;
} form;

// clang-format off
static const form forms[] = {
#define I(name, operands) {SpvOp##name, "Op" #name, operands},
    INSTRUCTIONS(I)
#undef I
};
// clang-format on

static const form *form_of(uint32_t op) {
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
    if (forms[i].op == op) return &forms[i];
  return NULL;
}

// A NUL-terminated string in words; the number of words it takes, 0 if it does not end.
static int put_string(strbuf *out, const uint32_t *words, int n) {
  strbuf_append_cstr(out, " \"");
  for (int w = 0; w < n; w++)
    for (int b = 0; b < 4; b++) {
      char c = (char)(words[w] >> (8 * b));
      if (!c) {
        strbuf_append_char(out, '"');
        return w + 1;
      }
      strbuf_append_char(out, c);
    }
  return 0;
}

static bool put_operands(strbuf *out, const char *f, const uint32_t *words, int n) {
  char last = 'l';
  for (int at = 0; at < n;) {
    if (*f && *f != '*') last = *f++;
    if (last == 's') {
      int used = put_string(out, words + at, n - at);
      if (!used) return false;
      at += used;
    } else {
      strbuf_printf(out, last == 'i' ? " %%%u" : " %u", words[at++]);
    }
  }
  return true;
}

static bool put_instruction(strbuf *out, const uint32_t *words, int n) {
  const form *f = form_of(words[0] & SpvOpCodeMask);
  if (!f) {
    strbuf_printf(out, "Op#%u", words[0] & SpvOpCodeMask);
    return put_operands(out, "l*", words + 1, n - 1);
  }
  const char *operands = f->operands;
  uint32_t type = 0;
  int at = 1;
  if (*operands == 't' && at < n) type = words[at++], operands++;
  if (*operands == 'r' && at < n) strbuf_printf(out, "%%%u = ", words[at++]), operands++;
  strbuf_append_cstr(out, f->name);
  if (type) strbuf_printf(out, " %%%u", type);
  return put_operands(out, operands, words + at, n - at);
}

lemnos_status spirv_disassemble(const uint32_t *words, int n, strbuf *out) {
  if (n < 5 || words[0] != SpvMagicNumber) return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "not a SPIR-V module");
  strbuf_printf(out, "; SPIR-V %u.%u, bound %u\n", words[1] >> 16 & 255, words[1] >> 8 & 255, words[3]);
  for (int at = 5; at < n;) {
    int count = (int)(words[at] >> SpvWordCountShift);
    if (count == 0 || count > n - at || !put_instruction(out, words + at, count))
      return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "a malformed SPIR-V instruction at word %d", at);
    strbuf_append_char(out, '\n');
    at += count;
  }
  return LEMNOS_SUCCESS;
}
