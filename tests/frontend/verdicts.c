// SPDX-License-Identifier: Apache-2.0
// What the reader and the verifier say of every function in MLIR texts: for stablehlo_own.py, and for a developer's
// eyes.
//
//   verdicts [--refine] FILE...
//
// A file may hold several modules separated by lines that start with "// -----". Each module is parsed alone, then each
// function with a body is imported and verified as the entry. Output, one line each, tabs between the fields, line
// numbers (of the file):
//
//   PIECE  file  first-line  last-line
//   PARSE  line  message                     the module was refused as a text; no FUNC lines follow
//   FUNC   line  name  ok
//   FUNC   line  name  refused  line  message   of the first error; line 0: unknown
//
// With --refine, only the entry that import finds by itself is imported, then refined for the shapes its arguments have
// anyway (import_refine). The refined module follows as StableHLO text, each line behind "TEXT" and a tab.
//
// Exit status 0 unless a file cannot be read.
#include <stdio.h>
#include <string.h>

#include "frontend/import.h"

static void one_line(strv s) {
  for (size_t i = 0; i < s.len; i++) putchar(s.data[i] == '\n' || s.data[i] == '\t' ? ' ' : s.data[i]);
  putchar('\n');
}

static int line_of(const loc *l, int before) {
  const loc *f = loc_file(l);
  return f ? f->line + before : 0;
}

// The first error of the sink; the status where a stage failed without one.
static void print_error(const diag_sink *sink, lemnos_status status, int before) {
  for (int i = 0; i < sink->len; i++) {
    if (sink->items[i].severity != DIAG_ERROR) continue;
    printf("%d\t", line_of(sink->items[i].loc, before));
    one_line(sink->items[i].message);
    return;
  }
  printf("0\t");
  one_line(strv_from_cstr(lemnos_status_message(status)));
}

static void collect_leaves(const hlo_shape *s, const hlo_shape **out, int *n) {
  if (!hlo_shape_is_tuple(s)) {
    out[(*n)++] = s;
    return;
  }
  for (int i = 0; i < s->n_elements; i++) collect_leaves(s->elements[i], out, n);
}

static lemnos_status refine(hlo_module *h, arena *a, diag_sink *sink) {
  const hlo_shape **leaves = NULL;
  int n = 0, total = 0;
  for (int i = 0; i < h->entry->n_params; i++) total += hlo_shape_leaves(h->entry->params[i]->shape);
  leaves = ARENA_ARRAY(a, const hlo_shape *, total + 1);
  for (int i = 0; i < h->entry->n_params; i++) collect_leaves(h->entry->params[i]->shape, leaves, &n);
  return import_refine(h, n, leaves, sink);
}

static void print_text(const hlo_module *h) {
  strbuf text = {0};
  export_stablehlo(&text, h);
  for (strv rest = strbuf_view(&text), line; rest.len;) {
    size_t n = 0;
    while (n < rest.len && rest.data[n] != '\n') n++;
    line = (strv){rest.data, n};
    rest = (strv){rest.data + n + (n < rest.len), rest.len - n - (n < rest.len)};
    printf("TEXT\t");
    one_line(line);
  }
  strbuf_deinit(&text);
}

static void check_functions(arena *a, const mlir_module *m, int before, bool refined) {
  const mlir_block *body = m->op && m->op->n_regions ? m->op->regions[0].first : NULL;
  for (const mlir_op *op = body ? body->first : NULL; op; op = op->next) {
    const mlir_attr *name = mlir_op_attr(op, "sym_name");
    if (!strv_eq_cstr(op->name, "func.func") || !op->n_regions || !op->regions[0].first || !name) continue;
    diag_sink sink;
    hlo_module *h;
    diag_sink_init(&sink, a);
    lemnos_status status =
        import_module(m, &(import_options){.entry = refined ? (strv){0} : name->string}, a, &sink, &h);
    if (!status && refined) status = refine(h, a, &sink);
    printf("FUNC\t%d\t" STRV_FMT "\t%s", line_of(op->loc, before), STRV_ARG(name->string),
           status ? "refused\t" : "ok\n");
    if (status) print_error(&sink, status, before);
    if (!status && refined) print_text(h);
    lemnos_status_free(status);
    diag_sink_deinit(&sink);
    if (refined) return;
  }
}

static void check_piece(const char *path, strv text, int before, int n_lines, bool refined) {
  arena *a = arena_create();
  diag_sink sink;
  mlir_module *m = NULL;
  diag_sink_init(&sink, a);
  printf("PIECE\t%s\t%d\t%d\n", path, before + 1, before + n_lines);
  lemnos_status status = mlir_parse_text(a, strv_from_cstr(path), text, &sink, &m);
  if (status) {
    printf("PARSE\t");
    print_error(&sink, status, before);
    lemnos_status_free(status);
  } else {
    check_functions(a, m, before, refined);
  }
  diag_sink_deinit(&sink);
  arena_destroy(a);
}

static bool check_file(const char *path, bool refined) {
  char *data;
  size_t size, from = 0;
  int line = 0, first = 0;
  lemnos_status status = io_read_file(path, &data, &size);
  if (status) {
    fprintf(stderr, "%s\n", lemnos_status_message(status));
    lemnos_status_free(status);
    return false;
  }
  for (size_t i = 0; i <= size; i++) {
    bool end = i == size;
    if (end || (strv_starts_with((strv){data + i, size - i}, STRV("// -----")) && (i == 0 || data[i - 1] == '\n'))) {
      if (strv_trim((strv){data + from, i - from}).len)
        check_piece(path, (strv){data + from, i - from}, first, line - first, refined);
      from = i;
      first = line;
    }
    if (!end && data[i] == '\n') line++;
  }
  heap_aligned_free(data);
  return true;
}

int main(int argc, char **argv) {
  bool ok = true, refined = argc > 1 && !strcmp(argv[1], "--refine");
  for (int i = 1 + refined; i < argc; i++) ok = check_file(argv[i], refined) && ok;
  return ok ? 0 : 1;
}
