// SPDX-License-Identifier: Apache-2.0
// Diagnostics: kept in a growing array, printed in the compilers' customary form.
//
// Of a long source line (a tensor's data may be one line of many megabytes) only a window around the column is kept.
// Columns count bytes; the caret's padding repeats tabs and skips UTF-8 continuation bytes, so that it lines up.
#include "base/diag.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { DEFAULT_MAX_ERRORS = 20, WINDOW_BEFORE = 80, WINDOW_AFTER = 60, LONGEST_LINE = 160 };

void diag_sink_init(diag_sink *sink, arena *a) {
  *sink = (diag_sink){.arena = a, .max_errors = DEFAULT_MAX_ERRORS};
}

void diag_sink_deinit(diag_sink *sink) {
  free(sink->items);
  sink->items = NULL;
  sink->len = sink->cap = 0;
}

static bool is_continuation(char c) {
  return ((unsigned char)c & 0xc0) == 0x80;
}

// Sets d's source line and caret; the line is copied, since the text may be gone when the diagnostic is printed.
static void keep_line(diag_sink *sink, diag *d, strv line, int32_t col) {
  while (line.len && (line.data[line.len - 1] == '\n' || line.data[line.len - 1] == '\r')) line.len--;
  size_t at = col > 0 ? (size_t)col - 1 : 0;
  if (at > line.len) at = line.len;
  size_t from = 0, to = line.len;
  if (line.len > LONGEST_LINE) {
    if (at > WINDOW_BEFORE) from = at - WINDOW_BEFORE;
    if (to - at > WINDOW_AFTER) to = at + WINDOW_AFTER;
    while (from > 0 && is_continuation(line.data[from])) from--;
    while (to < line.len && is_continuation(line.data[to])) to++;
  }
  strbuf text = {0};
  if (from) strbuf_append_cstr(&text, "...");
  d->caret = col > 0 ? (int32_t)(text.len + at - from) : -1;
  strbuf_append(&text, strv_take(strv_drop(line, from), to - from));
  if (to < line.len) strbuf_append_cstr(&text, "...");
  d->source_line = arena_strv(sink->arena, strbuf_view(&text));
  strbuf_deinit(&text);
}

void diag_addv(diag_sink *sink, diag_severity severity, const loc *l, strv source_line, const char *format,
               va_list args) {
  if (!sink) return;
  if (severity == DIAG_ERROR) sink->n_errors++;
  if (sink->n_errors > sink->max_errors) return;
  diag d = {.severity = severity, .loc = l, .caret = -1};
  strbuf text = {0};
  strbuf_vprintf(&text, format, args);
  d.message = arena_strv(sink->arena, strbuf_view(&text));
  strbuf_deinit(&text);
  const loc *file = loc_file(l);
  if (source_line.len) keep_line(sink, &d, source_line, file ? file->col : 0);
  if (sink->len == sink->cap) {
    sink->items = vec_grow(NULL, sink->items, sink->len, &sink->cap, sink->len + 1, sizeof *sink->items);
  }
  sink->items[sink->len++] = d;
}

void diag_add(diag_sink *sink, diag_severity severity, const loc *l, strv source_line, const char *format, ...) {
  va_list args;
  va_start(args, format);
  diag_addv(sink, severity, l, source_line, format, args);
  va_end(args);
}

static void print_one(const diag *d, strbuf *out) {
  static const char *const words[] = {[DIAG_ERROR] = "error", [DIAG_WARNING] = "warning", [DIAG_NOTE] = "note"};
  if (d->loc) {
    loc_print(out, d->loc);
    strbuf_append_cstr(out, ": ");
  }
  strbuf_printf(out, "%s: " STRV_FMT "\n", words[d->severity], STRV_ARG(d->message));
  if (!d->source_line.len) return;
  strbuf_append_cstr(out, "  ");
  strbuf_append(out, d->source_line);
  strbuf_append_char(out, '\n');
  if (d->caret < 0) return;
  strbuf_append_cstr(out, "  ");
  for (int32_t i = 0; i < d->caret; i++) {
    char c = d->source_line.data[i];
    if (!is_continuation(c)) strbuf_append_char(out, c == '\t' ? '\t' : ' ');
  }
  strbuf_append_cstr(out, "^\n");
}

// Everything from the (mark + 1)-th error on.
static void print_since(const diag_sink *sink, int mark, strbuf *out) {
  int kept = 0;
  for (int i = 0; i < sink->len; i++) {
    if (sink->items[i].severity == DIAG_ERROR) kept++;
    if (mark == 0 || kept > mark) print_one(&sink->items[i], out);
  }
  int dropped = sink->n_errors - (mark > kept ? mark : kept);
  if (dropped > 0) strbuf_printf(out, "%d more error%s not shown\n", dropped, dropped == 1 ? "" : "s");
}

void diag_print(const diag_sink *sink, strbuf *out) {
  print_since(sink, 0, out);
}

lemnos_status diag_sink_status(const diag_sink *sink, int mark) {
  if (!sink || sink->n_errors == mark) return LEMNOS_SUCCESS;
  strbuf text = {0};
  print_since(sink, mark, &text);
  if (text.len && text.data[text.len - 1] == '\n') text.data[--text.len] = 0;
  lemnos_status s = lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "%s", text.data ? text.data : "errors were reported");
  strbuf_deinit(&text);
  return s;
}
