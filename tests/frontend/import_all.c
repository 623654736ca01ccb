// SPDX-License-Identifier: Apache-2.0
// Developer's tool: imports every program below the given folders and files (*.mlir, *.mlir.bc, *.mlirbc), verifies it,
// and sends it through HLO text and back, and through StableHLO text and back. A file may hold several modules
// separated by
// "// -----"; a module without @main has each of its entries imported.
//
//   import_all [--hlo|--stablehlo] [--refine=N] FOLDER|FILE...
//
// --hlo and --stablehlo print the (refined) modules; --refine=N specialises dynamic argument sizes (and integer
// scalars) to N and says what stays dynamic. Failures are printed one a line, then counted by reason. Exit status 1 if
// there was one.
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "frontend/import.h"

typedef struct totals {
  int files, modules, imported, refined, dynamic_left, failures;
  int show;  // 1: HLO, 2: StableHLO
  int64_t refine;
} totals;

static void complain(totals *t, const char *path, const char *stage, const char *message) {
  t->failures++;
  printf("FAIL %s: %s: ", stage, path);
  for (int n = 0; *message && n < 400; message++, n++) putchar(*message == '\n' ? ' ' : *message);
  putchar('\n');
}

static bool take(totals *t, const char *path, const char *stage, lemnos_status status) {
  if (!status) return true;
  complain(t, path, stage, lemnos_status_message(status));
  lemnos_status_free(status);
  return false;
}

static void through_hlo_text(totals *t, const char *path, arena *a, const hlo_module *m) {
  strbuf first = {0}, second = {0};
  diag_sink sink;
  hlo_module *again;
  hlo_print_module(&first, m, NULL);
  diag_sink_init(&sink, a);
  if (take(t, path, "HLO parse", hlo_parse(a, strv_from_cstr(path), strbuf_view(&first), &sink, &again)) &&
      take(t, path, "HLO verify", hlo_verify(again, &sink))) {
    hlo_print_module(&second, again, NULL);
    if (!strv_eq(strbuf_view(&first), strbuf_view(&second))) {
      size_t i = 0;
      while (i < first.len && i < second.len && first.data[i] == second.data[i]) i++;
      size_t from = i > 60 ? i - 60 : 0;
      char *text =
          arena_printf(a, "at byte %zu: <<%.120s>> became <<%.120s>>", i, first.data + from, second.data + from);
      complain(t, path, "HLO round trip", text);
    }
  }
  diag_sink_deinit(&sink);
  strbuf_deinit(&first);
  strbuf_deinit(&second);
}

// Without names and numbers, which a detour may change: what every instruction is, in order.
static void outline(strbuf *out, const hlo_module *m) {
  for (int i = 0; i < m->n_computations; i++) {
    HLO_FOR_EACH (x, m->computations[i]) {
      if (x->op == HLO_OP_TUPLE || x->op == HLO_OP_GET_TUPLE_ELEMENT || x->op == HLO_OP_PARAMETER) continue;
      strbuf_printf(out, "%s ", hlo_op_table[x->op].text_name);
      if (hlo_shape_is_array(x->shape)) hlo_shape_print(out, x->shape);
      strbuf_append_char(out, '\n');
    }
  }
}

static void through_stablehlo(totals *t, const char *path, arena *a, const hlo_module *m) {
  strbuf text = {0}, before = {0}, after = {0};
  diag_sink sink;
  mlir_module *parsed;
  hlo_module *again;
  export_stablehlo(&text, m);
  diag_sink_init(&sink, a);
  if (take(t, path, "export parse", mlir_parse_text(a, strv_from_cstr(path), strbuf_view(&text), &sink, &parsed)) &&
      take(t, path, "export import", import_module(parsed, NULL, a, &sink, &again))) {
    outline(&before, m);
    outline(&after, again);
    if (!strv_eq(strbuf_view(&before), strbuf_view(&after))) complain(t, path, "export round trip", "other operations");
  }
  diag_sink_deinit(&sink);
  strbuf_deinit(&text);
  strbuf_deinit(&before);
  strbuf_deinit(&after);
}

// Integer scalars are taken for sizes, too.
static const hlo_literal *size_value(totals *t, arena *a, const hlo_shape *s) {
  if (!hlo_shape_is_array(s) || s->rank || !hlo_dtype_is_integer(s->dtype)) return NULL;
  void *element = arena_alloc(a, 16);
  hlo_element_set_i64(s->dtype, element, 0, t->refine);
  return hlo_literal_splat(a, s, element);
}

static void collect_args(totals *t, arena *a, hlo_module *m, const hlo_shape *s, const hlo_shape **out, int *n) {
  for (int i = 0; i < hlo_shape_leaves(s); i++) {
    const hlo_shape *leaf = hlo_shape_leaf(s, i);
    int64_t *dims = ARENA_ARRAY(a, int64_t, leaf->rank);
    for (int k = 0; k < leaf->rank; k++) dims[k] = leaf->dims[k] == HLO_DYNAMIC ? t->refine : leaf->dims[k];
    out[(*n)++] = hlo_shape_is_array(leaf) ? hlo_shape_with_dims(m->shapes, leaf, leaf->rank, dims) : leaf;
  }
}

static void refine(totals *t, const char *path, arena *a, hlo_module *m) {
  int leaves = 0, n = 0;
  diag_sink sink;
  for (int i = 0; i < m->entry->n_params; i++) leaves += hlo_shape_leaves(m->entry->params[i]->shape);
  const hlo_shape **args = ARENA_ARRAY(a, const hlo_shape *, leaves);
  for (int i = 0; i < m->entry->n_params; i++) collect_args(t, a, m, m->entry->params[i]->shape, args, &n);
  const hlo_literal **values = ARENA_ARRAY(a, const hlo_literal *, leaves);
  for (int i = 0; i < n; i++) values[i] = size_value(t, a, args[i]);
  diag_sink_init(&sink, a);
  if (take(t, path, "refine", import_refine_values(m, n, args, values, &sink))) {
    const char *left = NULL;
    for (int i = 0; i < m->n_computations; i++)
      HLO_FOR_EACH (x, m->computations[i])
        if (!left && (!hlo_shape_is_static(x->shape) || hlo_op_table[x->op].family == HLO_FAMILY_DYNAMIC))
          left = hlo_op_table[x->op].text_name;
    if (left) {
      printf("DYNAMIC %s: %s\n", path, left);
      t->dynamic_left++;
    } else {
      t->refined++;
    }
  }
  diag_sink_deinit(&sink);
}

static void check_module(totals *t, const char *path, arena *a, hlo_module *m) {
  t->imported++;
  if (t->refine >= 0) refine(t, path, a, m);
  strbuf text = {0};
  if (t->show == 1) hlo_print_module(&text, m, NULL);
  if (t->show == 2) export_stablehlo(&text, m);
  if (text.len) fwrite(text.data, 1, text.len, stdout);
  strbuf_deinit(&text);
  through_hlo_text(t, path, a, m);
  through_stablehlo(t, path, a, m);
}

static void check_text(totals *t, const char *path, const char *data, size_t size) {
  arena *a = arena_create();
  diag_sink sink;
  mlir_module *m = NULL;
  strv *names = NULL;
  int n = 0;
  diag_sink_init(&sink, a);
  t->modules++;
  strv file = strv_from_cstr(path);
  lemnos_status status = mlir_is_bytecode(data, size) ? mlir_read_bytecode(a, file, data, size, &sink, &m)
                                                      : mlir_parse_text(a, file, (strv){data, size}, &sink, &m);
  if (take(t, path, "read", status) && take(t, path, "entries", import_list_entries(m, a, &names, &n))) {
    for (int i = 0; i < (n ? n : 1); i++) {
      hlo_module *h;
      import_options options = {.entry = n ? names[i] : (strv){0}};
      if (take(t, path, "import", import_module(m, &options, a, &sink, &h))) check_module(t, path, a, h);
    }
  }
  diag_sink_deinit(&sink);
  arena_destroy(a);
}

static void check_file(totals *t, const char *path) {
  char *data;
  size_t size, from = 0;
  if (!take(t, path, "read", io_read_file(path, &data, &size))) return;
  t->files++;
  if (mlir_is_bytecode(data, size)) {
    check_text(t, path, data, size);
  } else {
    for (size_t i = 0; i <= size; i++) {
      bool end = i == size;
      if (!end && !(strncmp(data + i, "// -----", 8) == 0 && (i == 0 || data[i - 1] == '\n'))) continue;
      if (strv_trim((strv){data + from, i - from}).len) check_text(t, path, data + from, i - from);
      while (!end && i < size && data[i] != '\n') i++;
      from = i;
    }
  }
  heap_aligned_free(data);
}

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static void check_path(totals *t, const char *path, bool named) {
  struct stat st;
  if (stat(path, &st)) {
    complain(t, path, "open", "no such file");
    return;
  }
  strv p = strv_from_cstr(path);
  if (!S_ISDIR(st.st_mode)) {
    if (named || strv_ends_with(p, STRV(".mlir")) || strv_ends_with(p, STRV(".bc")) ||
        strv_ends_with(p, STRV(".mlirbc")))
      check_file(t, path);
    return;
  }
  struct dirent **list;
  int n = scandir(path, &list, NULL, by_name);
  for (int i = 0; i < n; i++) {
    if (list[i]->d_name[0] != '.') {
      strbuf sub = {0};
      strbuf_printf(&sub, "%s/%s", path, list[i]->d_name);
      check_path(t, sub.data, false);
      strbuf_deinit(&sub);
    }
    free(list[i]);
  }
  if (n >= 0) free(list);
}

int main(int argc, char **argv) {
  totals t = {.refine = -1};
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--hlo"))
      t.show = 1;
    else if (!strcmp(argv[i], "--stablehlo"))
      t.show = 2;
    else if (!strncmp(argv[i], "--refine=", 9))
      t.refine = atoll(argv[i] + 9);
    else
      check_path(&t, argv[i], true);
  }
  printf("%d files, %d modules, %d programs imported and verified, %d failures\n", t.files, t.modules, t.imported,
         t.failures);
  if (t.refine >= 0) printf("refined to static shapes: %d, still dynamic: %d\n", t.refined, t.dynamic_left);
  return t.failures ? 1 : 0;
}
