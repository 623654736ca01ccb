// SPDX-License-Identifier: Apache-2.0
// The module that brings LLVM: kernels to object code (in parallel, one LLVM context a worker), text forms, and loading
// through ORC. Exports lemnos_llvm_codegen only.
//
// Code blob: u64 number of objects; then for each object u64 size and its bytes, padded to 8. Kernel n is symbol "kN"
// in some object.
#include "backend-llvm/codegen.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>

#include "backend-llvm/llvmgen.h"

// Enough for code that is already vectorised, unrolled and in registers.
static const char *const pass_list =
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,loop-mssa(licm),simplifycfg,early-cse,instcombine<"
    "no-verify-fixpoint>)";

static void initialize(void) {
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
  LLVMInitializeNativeAsmParser();
}

static lemnos_status error_status(LLVMErrorRef e, const char *what) {
  char *message = LLVMGetErrorMessage(e);
  lemnos_status s = lemnos_status_make(LEMNOS_INTERNAL, "LLVM, %s: %s", what, message);
  LLVMDisposeErrorMessage(message);
  return s;
}

// CPU name and features of a target spec ("cpu" is the host; "cpu:avx2" and so on are x86-64 levels).
static void cpu_of(const hlo_target *t, char **out_cpu, char **out_features) {
  strv spec = strv_from_cstr(t->spec), level, rest;
  strv_split(spec, ':', &level, &rest);
  if (rest.len == 0) {
    *out_cpu = LLVMGetHostCPUName();
    *out_features = LLVMGetHostCPUFeatures();
  } else {
    const char *cpu = strv_eq_cstr(rest, "avx512") ? "x86-64-v4"
                      : strv_eq_cstr(rest, "avx2") ? "x86-64-v3"
                                                   : "x86-64-v2";
    *out_cpu = LLVMCreateMessage(cpu);
    *out_features = LLVMCreateMessage("");
  }
}

static lemnos_status make_machine(const hlo_target *t, LLVMTargetMachineRef *out) {
  char *triple = LLVMGetDefaultTargetTriple(), *error = NULL, *cpu, *features;
  LLVMTargetRef target;
  if (LLVMGetTargetFromTriple(triple, &target, &error)) {
    lemnos_status s = lemnos_status_make(LEMNOS_UNAVAILABLE, "LLVM has no target for %s: %s", triple, error);
    LLVMDisposeMessage(error);
    LLVMDisposeMessage(triple);
    return s;
  }
  cpu_of(t, &cpu, &features);
  *out = LLVMCreateTargetMachine(target, triple, cpu, features, LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                 LLVMCodeModelDefault);
  LLVMDisposeMessage(cpu);
  LLVMDisposeMessage(features);
  LLVMDisposeMessage(triple);
  return LEMNOS_SUCCESS;
}

static lemnos_status optimize(LLVMModuleRef m, LLVMTargetMachineRef machine) {
#ifdef LEMNOS_VERIFY_LLVM
  char *error = NULL;
  if (LLVMVerifyModule(m, LLVMReturnStatusAction, &error)) {
    lemnos_status s = lemnos_status_make(LEMNOS_INTERNAL, "malformed LLVM IR: %s", error);
    LLVMDisposeMessage(error);
    return s;
  }
  LLVMDisposeMessage(error);
#endif
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef e = LLVMRunPasses(m, pass_list, machine, options);
  LLVMDisposePassBuilderOptions(options);
  return e ? error_status(e, "optimizing") : LEMNOS_SUCCESS;
}

static LLVMModuleRef new_module(LLVMContextRef context, LLVMTargetMachineRef machine) {
  LLVMModuleRef m = LLVMModuleCreateWithNameInContext("lemnos", context);
  char *triple = LLVMGetTargetMachineTriple(machine);
  LLVMSetTarget(m, triple);
  LLVMDisposeMessage(triple);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
  LLVMSetModuleDataLayout(m, layout);
  LLVMDisposeTargetData(layout);
  return m;
}

// Kernels [first, last) as one LLVM module; *out_context is disposed of by the caller after the module.
static lemnos_status build(const hlo_target *t, kernel *const *kernels, int first, int last, LLVMContextRef context,
                           LLVMTargetMachineRef machine, LLVMModuleRef *out) {
  LLVMModuleRef m = new_module(context, machine);
  lemnos_status status = LEMNOS_SUCCESS;
  for (int i = first; i < last && !status; i++) {
    char name[32];
    snprintf(name, sizeof name, "k%d", i);
    status = llvmgen_cpu_kernel(context, m, t, kernels[i], name);
  }
  if (!status) status = optimize(m, machine);
  if (status)
    LLVMDisposeModule(m);
  else
    *out = m;
  return status;
}

// --- compile -------------------------------------------------------------------------------------

typedef struct batch {
  int first, last;
  LLVMMemoryBufferRef object;
  lemnos_status status;
} batch;

typedef struct job {
  const hlo_target *t;
  kernel *const *kernels;
  batch *batches;
} job;

static void compile_batch(void *ctx, int64_t index, int thread) {
  (void)thread;
  job *j = ctx;
  batch *b = &j->batches[index];
  LLVMTargetMachineRef machine;
  if ((b->status = make_machine(j->t, &machine))) return;
  LLVMContextRef context = LLVMContextCreate();
  LLVMModuleRef m;
  b->status = build(j->t, j->kernels, b->first, b->last, context, machine, &m);
  if (!b->status) {
    char *error = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, m, LLVMObjectFile, &error, &b->object)) {
      b->status = lemnos_status_make(LEMNOS_INTERNAL, "LLVM cannot emit code: %s", error);
      LLVMDisposeMessage(error);
    }
    LLVMDisposeModule(m);
  }
  LLVMContextDispose(context);
  LLVMDisposeTargetMachine(machine);
}

static int kernel_size(const kernel_block *b) {
  int n = 0;
  for (const kernel_instr *i = b->first; i; i = i->next) {
    n += 1 + (i->n_results > 0 && i->results[0].type.lanes > 16 ? 4 : 0);
    for (int c = 0; c < i->n_blocks; c++) n += kernel_size(i->blocks[c]);
  }
  return n;
}

// Consecutive kernels are batched until a batch is worth the fixed cost of a module (about two milliseconds).
static int make_batches(kernel *const *kernels, int n, batch *out) {
  int count = 0, size = 0;
  for (int i = 0; i < n; i++) {
    int s = kernel_size(kernels[i]->body);
    if (count == 0 || size + s > 600) {
      out[count++] = (batch){.first = i, .last = i};
      size = 0;
    }
    out[count - 1].last = i + 1;
    size += s;
  }
  return count;
}

static lemnos_status pack(batch *batches, int n, backend_code *out) {
  size_t size = 8;
  for (int i = 0; i < n; i++) size += 8 + (LLVMGetBufferSize(batches[i].object) + 7) / 8 * 8;
  char *data = heap_try_alloc_aligned(size), *p = data;
  if (!data) return lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "no memory for %zu bytes of code", size);
  memset(data, 0, size);
  uint64_t count = (uint64_t)n;
  memcpy(p, &count, 8);
  p += 8;
  for (int i = 0; i < n; i++) {
    uint64_t bytes = LLVMGetBufferSize(batches[i].object);
    memcpy(p, &bytes, 8);
    memcpy(p + 8, LLVMGetBufferStart(batches[i].object), bytes);
    p += 8 + (bytes + 7) / 8 * 8;
  }
  out->data = data;
  out->size = size;
  return LEMNOS_SUCCESS;
}

static lemnos_status compile(const hlo_target *t, kernel *const *kernels, int n, thread_pool *pool, backend_code *out) {
  batch *batches = heap_alloc(sizeof *batches * ((size_t)n + 1));
  int count = make_batches(kernels, n, batches);
  job j = {.t = t, .kernels = kernels, .batches = batches};
  if (pool)
    thread_pool_run(pool, count, compile_batch, &j);
  else
    for (int i = 0; i < count; i++) compile_batch(&j, i, 0);
  lemnos_status status = LEMNOS_SUCCESS;
  for (int i = 0; i < count; i++) {
    if (!status)
      status = batches[i].status;
    else
      lemnos_status_free(batches[i].status);
  }
  if (!status) status = pack(batches, count, out);
  for (int i = 0; i < count; i++)
    if (batches[i].object) LLVMDisposeMemoryBuffer(batches[i].object);
  free(batches);
  return status;
}

static lemnos_status emit_text(const hlo_target *t, const kernel *k, backend_emit what, strbuf *out) {
  if (what == BACKEND_EMIT_STATS)
    return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "there are no driver statistics for the CPU; see --emit=asm");
  LLVMTargetMachineRef machine;
  LEMNOS_TRY(make_machine(t, &machine));
  LLVMContextRef context = LLVMContextCreate();
  LLVMModuleRef m;
  kernel *one[] = {(kernel *)k};
  lemnos_status status = build(t, one, 0, 1, context, machine, &m);
  if (!status && what == BACKEND_EMIT_IR) {
    char *text = LLVMPrintModuleToString(m);
    strbuf_append_cstr(out, text);
    LLVMDisposeMessage(text);
  } else if (!status) {
    LLVMMemoryBufferRef buffer;
    char *error = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, m, LLVMAssemblyFile, &error, &buffer)) {
      status = lemnos_status_make(LEMNOS_INTERNAL, "LLVM cannot emit assembly: %s", error);
      LLVMDisposeMessage(error);
    } else {
      strbuf_append(out, (strv){LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer)});
      LLVMDisposeMemoryBuffer(buffer);
    }
  }
  if (!status) LLVMDisposeModule(m);
  LLVMContextDispose(context);
  LLVMDisposeTargetMachine(machine);
  return status;
}

// --- load ----------------------------------------------------------------------------------------

struct llvm_loaded {
  LLVMOrcLLJITRef jit;
  llvm_kernel_fn *functions;
};

static void unload(llvm_loaded *l) {
  if (!l) return;
  LLVMErrorRef e = LLVMOrcDisposeLLJIT(l->jit);
  if (e) LLVMConsumeError(e);
  free(l->functions);
  free(l);
}

static lemnos_status add_objects(LLVMOrcLLJITRef jit, const backend_code *code) {
  const char *p = code->data, *end = p + code->size;
  uint64_t count, bytes;
  if (code->size < 8) return lemnos_status_make(LEMNOS_DATA_LOSS, "truncated code");
  memcpy(&count, p, 8);
  p += 8;
  for (uint64_t i = 0; i < count; i++) {
    if (end - p < 8) return lemnos_status_make(LEMNOS_DATA_LOSS, "truncated code");
    memcpy(&bytes, p, 8);
    if ((uint64_t)(end - p - 8) < bytes) return lemnos_status_make(LEMNOS_DATA_LOSS, "truncated code");
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(p + 8, bytes, "kernels");
    LLVMErrorRef e = LLVMOrcLLJITAddObjectFile(jit, LLVMOrcLLJITGetMainJITDylib(jit), buffer);
    if (e) return error_status(e, "adding code");
    p += 8 + (bytes + 7) / 8 * 8;
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status load(const backend_code *code, int n, llvm_loaded **out, llvm_kernel_fn **out_functions) {
  llvm_loaded *l = heap_alloc(sizeof *l);
  LLVMErrorRef e = LLVMOrcCreateLLJIT(&l->jit, NULL);
  if (e) {
    free(l);
    return error_status(e, "starting the linker");
  }
  // Code may call memset, memcpy and the like.
  LLVMOrcDefinitionGeneratorRef process;
  e = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&process, LLVMOrcLLJITGetGlobalPrefix(l->jit), NULL, NULL);
  if (!e)
    LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(l->jit), process);
  else
    LLVMConsumeError(e);
  lemnos_status status = add_objects(l->jit, code);
  l->functions = heap_alloc(sizeof *l->functions * ((size_t)n + 1));
  for (int i = 0; i < n && !status; i++) {
    char name[32];
    snprintf(name, sizeof name, "k%d", i);
    LLVMOrcExecutorAddress address = 0;
    e = LLVMOrcLLJITLookup(l->jit, &address, name);
    if (e) status = error_status(e, "linking");
    l->functions[i] = (llvm_kernel_fn)(uintptr_t)address;
  }
  if (status) {
    unload(l);
    return status;
  }
  *out = l;
  *out_functions = l->functions;
  return LEMNOS_SUCCESS;
}

extern const llvm_codegen lemnos_llvm_codegen;
LEMNOS_EXPORT const llvm_codegen lemnos_llvm_codegen = {.abi = LLVM_CODEGEN_ABI,
                                                        .initialize = initialize,
                                                        .compile = compile,
                                                        .emit_text = emit_text,
                                                        .load = load,
                                                        .unload = unload};
