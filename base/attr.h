// SPDX-License-Identifier: Apache-2.0
// Compiler attributes; the only place with compiler-specific syntax.
#ifndef BASE_ATTR_H
#define BASE_ATTR_H

#if defined(__GNUC__) || defined(__clang__)
#define LEMNOS_NODISCARD __attribute__((warn_unused_result))
#define LEMNOS_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define LEMNOS_LIKELY(x) __builtin_expect(!!(x), 1)
#define LEMNOS_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LEMNOS_EXPORT __attribute__((visibility("default")))
#define LEMNOS_NORETURN __attribute__((noreturn))
#define LEMNOS_UNUSED __attribute__((unused))
#define LEMNOS_NOINLINE __attribute__((noinline))
// Before a for loop: no iteration touches what another writes. (clang warns wherever such a hint cannot be followed.)
#if defined(__clang__)
#define LEMNOS_IVDEP
#else
#define LEMNOS_IVDEP _Pragma("GCC ivdep")
#endif
#else
#define LEMNOS_NODISCARD
#define LEMNOS_PRINTF(fmt, args)
#define LEMNOS_LIKELY(x) (x)
#define LEMNOS_UNLIKELY(x) (x)
#define LEMNOS_EXPORT
#define LEMNOS_NORETURN
#define LEMNOS_UNUSED
#define LEMNOS_NOINLINE
#define LEMNOS_IVDEP
#endif

// Of a function with a hot loop: versions of it for what the CPU has. Results do not differ (no contraction, fixed
// order).
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LEMNOS_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define LEMNOS_CLONES
#endif

#endif
