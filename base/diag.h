// SPDX-License-Identifier: Apache-2.0
// Diagnostics about user input: collected in a sink, so that a parser or verifier can go on and report more.
//
//   model.mlir:12:5: error: expected ':' before the type, found '->'
//     %0 = stablehlo.add %a, %b -> tensor<f32>
//                               ^
//
// A function that reports to a sink returns diag_sink_status() at its end: success if no error was added since the
// mark, else INVALID_ARGUMENT with the first error's text. Not thread-safe.
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include "base/arena.h"
#include "base/loc.h"
#include "base/status.h"

typedef enum diag_severity { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE } diag_severity;

typedef struct diag {
  diag_severity severity;
  const loc *loc;  // may be NULL
  strv message;
  strv source_line;  // the text of the line (of a very long one, a window of it); empty if unknown
  int32_t caret;     // byte offset in source_line at which the caret stands; -1: none
} diag;

typedef struct diag_sink {
  arena *arena;  // owns messages
  struct diag *items;
  int len, cap;
  int n_errors;
  int max_errors;  // further ones are counted, not kept; 20 by default
} diag_sink;

void diag_sink_init(diag_sink *sink, arena *a);
void diag_sink_deinit(diag_sink *sink);
// source_line may be empty. A NULL sink is allowed: the diagnostic is dropped.
void diag_add(diag_sink *sink, diag_severity severity, const loc *l, strv source_line, const char *format, ...)
    LEMNOS_PRINTF(5, 6);
void diag_addv(diag_sink *sink, diag_severity severity, const loc *l, strv source_line, const char *format,
               va_list args);
#define diag_error(sink, l, ...) diag_add((sink), DIAG_ERROR, (l), (strv){0}, __VA_ARGS__)
// All diagnostics as text, with source line and caret where known, and a closing count when some were dropped.
void diag_print(const diag_sink *sink, strbuf *out);
// Success if sink->n_errors == mark; else INVALID_ARGUMENT carrying all errors since mark, printed as by diag_print.
LEMNOS_NODISCARD lemnos_status diag_sink_status(const diag_sink *sink, int mark);

#endif
