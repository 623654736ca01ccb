// SPDX-License-Identifier: Apache-2.0
// Describes CPUs: the host from cpuid and the system, and the x86-64 levels "cpu:avx512", "cpu:avx2", "cpu:sse" that
// tests force.
#include "backend-llvm/target.h"

#include <stdio.h>
#include <unistd.h>

typedef struct level {
  const char *name;
  int vector_bytes, registers;
  bool fma, f16c;
} level;

static const level levels[] = {
    {"avx512", 64, 32, true, true}, {"avx2", 32, 16, true, true}, {"sse", 16, 16, false, false}};

static int host_level(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return 0;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 1;
#endif
  return 2;
}

static int64_t cache(int name, int64_t fallback) {
  long x = sysconf(name);
  return x > 0 ? x : fallback;
}

static void fill(const level *l, int threads, hlo_target *t) {
  memset(t, 0, sizeof *t);
  t->cls = HLO_TARGET_CPU;
  t->f16 = l->f16c;
  t->f64 = t->i8 = t->i16 = t->i64 = t->storage_8 = t->storage_16 = t->subnormals_f32 = true;
  t->fused_fma = l->fma;
  t->vector_bytes = l->vector_bytes;
  t->vector_registers = l->registers;
  t->threads = threads;
  t->l1_bytes = cache(_SC_LEVEL1_DCACHE_SIZE, 32 << 10);
  t->l2_bytes = cache(_SC_LEVEL2_CACHE_SIZE, 1 << 20);
  t->l3_bytes = cache(_SC_LEVEL3_CACHE_SIZE, 8 << 20);
  t->max_storage_range = t->max_alloc = INT64_MAX;
  t->max_buffers = 0;  // no limit
  t->buffer_align = 1;
  t->int_atomics = true;
}

void llvm_target_host(int threads, hlo_target *out) {
  const level *l = &levels[host_level()];
  fill(l, threads > 0 ? threads : thread_usable_cpus(), out);
  snprintf(out->name, sizeof out->name, "cpu (%s)", l->name);
  snprintf(out->spec, sizeof out->spec, "cpu");
}

lemnos_status llvm_target_parse(strv spec, hlo_target *out) {
  strv head, rest;
  strv_split(spec, ':', &head, &rest);
  if (!strv_eq_cstr(head, "cpu"))
    return lemnos_status_make(LEMNOS_NOT_FOUND, "'" STRV_FMT "' is not a CPU target", STRV_ARG(spec));
  if (rest.len == 0 || strv_eq_cstr(rest, "0")) {
    llvm_target_host(0, out);
    return LEMNOS_SUCCESS;
  }
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
    if (!strv_eq_cstr(rest, levels[i].name)) continue;
    // Nothing of this machine: a forced level describes the same CPU everywhere.
    fill(&levels[i], 8, out);
    out->l1_bytes = 32 << 10, out->l2_bytes = 1 << 20, out->l3_bytes = 32 << 20;
    snprintf(out->name, sizeof out->name, "cpu (%s)", levels[i].name);
    snprintf(out->spec, sizeof out->spec, "cpu:%s", levels[i].name);
    return LEMNOS_SUCCESS;
  }
  return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "unknown CPU level '" STRV_FMT "': avx512, avx2 or sse",
                            STRV_ARG(rest));
}
