// SPDX-License-Identifier: Apache-2.0
// Status: what every fallible function returns.
//
// A status is one pointer; NULL is success. A failure carries a code and a message, to which callers add context on
// the way up ("while compiling module m: ..."). A failure is owned by whoever holds it and ends in lemnos_status_free
// (LEMNOS_TRY passes ownership on). If memory for the message cannot be had, a static OUT_OF_MEMORY status is returned,
// so making a status never fails. Functions write their out_ parameters only on success.
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include <stdarg.h>
#include <stdbool.h>

#include "base/attr.h"

// clang-format off
typedef enum lemnos_status_code {
#define S(name, value, text) LEMNOS_##name = value,
#include "base/status_codes.def"
#undef S
} lemnos_status_code;
// clang-format on

typedef struct lemnos_status_record *lemnos_status;

#define LEMNOS_SUCCESS ((lemnos_status)0)

// A new failure with a printf-style message (no trailing newline, no "error:" prefix).
LEMNOS_NODISCARD lemnos_status lemnos_status_make(lemnos_status_code code, const char *format, ...) LEMNOS_PRINTF(2, 3);
LEMNOS_NODISCARD lemnos_status lemnos_status_makev(lemnos_status_code code, const char *format, va_list args);

// Puts "context: " in front of the message; consumes status and returns it. Success passes through untouched.
LEMNOS_NODISCARD lemnos_status lemnos_status_annotate(lemnos_status status, const char *format, ...)
    LEMNOS_PRINTF(2, 3);

// LEMNOS_OK for success.
lemnos_status_code lemnos_status_get_code(lemnos_status status);
// Valid until status is freed; "ok" for success.
const char *lemnos_status_message(lemnos_status status);
// "invalid argument" and so on, a static string.
const char *lemnos_status_code_text(lemnos_status_code code);
void lemnos_status_free(lemnos_status status);

// Returns from the enclosing function on failure.
#define LEMNOS_TRY(expr)                                                     \
  do {                                                                       \
    lemnos_status lemnos_try_status_ = (expr);                               \
    if (LEMNOS_UNLIKELY(lemnos_try_status_ != 0)) return lemnos_try_status_; \
  } while (0)

// For functions with cleanup: needs `lemnos_status status` and a label `done:` in scope.
#define LEMNOS_TRY_GOTO(expr)                    \
  do {                                           \
    status = (expr);                             \
    if (LEMNOS_UNLIKELY(status != 0)) goto done; \
  } while (0)

// Broken invariants of our own (never input): prints file, line and message, then aborts.
LEMNOS_NORETURN void lemnos_panic(const char *file, int line, const char *format, ...) LEMNOS_PRINTF(3, 4);
#define LEMNOS_PANIC(...) lemnos_panic(__FILE__, __LINE__, __VA_ARGS__)
#define LEMNOS_ASSERT(cond)                                          \
  do {                                                               \
    if (LEMNOS_UNLIKELY(!(cond))) LEMNOS_PANIC("broken: %s", #cond); \
  } while (0)

#endif
