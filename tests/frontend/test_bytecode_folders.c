// SPDX-License-Identifier: Apache-2.0
// Every portable artifact of the optional test data: all are read, and StableHLO's own give the same module as their
// text twins (locations and value names aside). The text of most `models` was taken before the export, which moves
// constants about and replaces CHLO operations: there the signatures of main are compared, and the whole only where the
// text was taken afterwards. Skipped without the data.
#include <dirent.h>

#include "frontend/defaults.h"
#include "frontend/mlir.h"
#include "tests/harness.h"

typedef struct counts {
  int read, refused, equal, different;
} counts;

static mlir_module *read_artifact(arena *a, const char *path, char **out_data, lemnos_status *out_status) {
  size_t size = 0;
  mlir_module *m = NULL;
  ASSERT_OK(io_read_file(path, out_data, &size));
  *out_status = mlir_read_bytecode(a, strv_from_cstr(path), *out_data, size, NULL, &m);
  return m;
}

static const mlir_op *main_function(const mlir_module *m) {
  for (const mlir_op *op = m->op->regions[0].first->first; op; op = op->next) {
    const mlir_attr *name = mlir_op_attr(op, "sym_name");
    if (name && strv_eq_cstr(name->string, "main")) return op;
  }
  return NULL;
}

static bool same_signature(const mlir_module *a, const mlir_module *b) {
  strbuf text_a = {0}, text_b = {0};
  mlir_attr_print(&text_a, mlir_op_attr(main_function(a), "function_type"));
  mlir_attr_print(&text_b, mlir_op_attr(main_function(b), "function_type"));
  bool same = strv_eq(strbuf_view(&text_a), strbuf_view(&text_b));
  strbuf_deinit(&text_a);
  strbuf_deinit(&text_b);
  return same;
}

// Models whose text was taken after the export.
static bool is_exported_text(const char *path) {
  static const char *const names[] = {"/digits_cnn_dynamic/", "/torch_mlp/", "/torch_encoder/", "/torch_resnet18/"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strstr(path, names[i])) return true;
  return false;
}

static void compare_with_text(arena *a, const char *path, mlir_module *m, bool whole, counts *c) {
  char *text = NULL;
  size_t size = 0;
  mlir_module *twin = NULL;
  ASSERT_OK(io_read_file(path, &text, &size));
  diag_sink sink;
  diag_sink_init(&sink, a);
  ASSERT_OK(mlir_parse_text(a, strv_from_cstr(path), (strv){text, size}, &sink, &twin));
  mlir_module_drop_defaults(twin);
  const char *why = "the signature of main differs";
  if (whole || is_exported_text(path) ? mlir_equal(m, twin, &why) : same_signature(m, twin)) {
    c->equal++;
  } else {
    c->different++;
    fprintf(stderr, "%s: %s\n", path, why);
  }
  diag_sink_deinit(&sink);
  heap_aligned_free(text);
}

// The artifact at path, and its text twin at twin_path if there is one.
static void one_file(const char *path, const char *twin_path, bool whole, counts *c) {
  arena *a = arena_create();
  char *data = NULL;
  lemnos_status s = NULL;
  mlir_module *m = read_artifact(a, path, &data, &s);
  struct stat st;
  if (s) {
    c->refused++;
    fprintf(stderr, "%s\n", lemnos_status_message(s));
    lemnos_status_free(s);
  } else {
    c->read++;
    if (twin_path && stat(twin_path, &st) == 0) compare_with_text(a, twin_path, m, whole, c);
  }
  heap_aligned_free(data);
  arena_destroy(a);
}

// Files of the folder that end in .mlir.bc, or folders in it that hold a module.mlir.bc.
static counts folder(const char *name, bool twins, bool whole) {
  counts c = {0};
  char dir_path[1024], path[2048], twin[2048];
  snprintf(dir_path, sizeof dir_path, "%s/%s", harness_shared(), name);
  DIR *dir = opendir(dir_path);
  if (!dir) return c;
  for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
    struct stat st;
    snprintf(path, sizeof path, "%s/%s/module.mlir.bc", dir_path, e->d_name);
    if (stat(path, &st) != 0) snprintf(path, sizeof path, "%s/%s", dir_path, e->d_name);
    if (!strv_ends_with(strv_from_cstr(path), STRV(".mlir.bc"))) continue;
    snprintf(twin, sizeof twin, "%.*s", (int)(strlen(path) - 3), path);
    one_file(path, twins ? twin : NULL, whole, &c);
  }
  closedir(dir);
  fprintf(stderr, "%s: %d read, %d refused, %d equal to their text, %d not\n", name, c.read, c.refused, c.equal,
          c.different);
  return c;
}

START_TEST(stablehlo_artifacts) {
  counts c = folder("stablehlo-bytecode", true, true);
  ck_assert_int_eq(c.refused, c.read ? 1 : 0);  // the one of the future
  ck_assert_int_eq(c.different, 0);
  ck_assert_int_eq(c.equal, c.read);  // each has a twin
}
END_TEST

START_TEST(models) {
  counts c = folder("models", true, false);
  ck_assert_int_eq(c.refused, 0);
  ck_assert_int_eq(c.different, 0);
  ck_assert_int_eq(c.equal, c.read);
}
END_TEST

START_TEST(pjrt_programs) {
  counts c = folder("pjrt/programs", false, false);
  ck_assert_int_eq(c.refused, 0);
}
END_TEST

int main(void) {
  if (!harness_shared()) return HARNESS_SKIPPED;
  const TTest *const tests[] = {stablehlo_artifacts, models, pjrt_programs};
  return harness_run("bytecode_folders", tests, 3);
}
