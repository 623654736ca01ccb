// SPDX-License-Identifier: Apache-2.0
// Source locations: where an operation came from. Immutable, arena-owned, shared by pointer; NULL is "unknown".
#ifndef BASE_LOC_H
#define BASE_LOC_H

#include "base/strv.h"

typedef enum loc_kind { LOC_FILE, LOC_NAME, LOC_CALLSITE, LOC_FUSED } loc_kind;

typedef struct loc {
  loc_kind kind;
  strv name;                       // LOC_FILE: file name; LOC_NAME: the name
  int32_t line, col;               // LOC_FILE: 1-based
  const struct loc *child;         // LOC_NAME: inner; LOC_CALLSITE: callee
  const struct loc *caller;        // LOC_CALLSITE
  const struct loc *const *fused;  // LOC_FUSED
  int32_t n_fused;
} loc;

// The most useful file location inside l (callee before caller, first of fused), or NULL.
const loc *loc_file(const loc *l);
// "model.mlir:12:5", or the name, or "unknown location".
void loc_print(strbuf *out, const loc *l);

#endif
