// SPDX-License-Identifier: Apache-2.0
// Prints docs/ops.md: ops_table ROOT > docs/ops.md, ROOT being the source tree. With a second argument, a file, it
// compares instead: exit status 1 if the file is not what would be printed.
//
// From the op table come names, counts, types, attributes; from the sources, where a function stands; from
// verify_cases.def, the constraints: each case is verified, and what the verifier says about it is printed.
#include <dirent.h>
#include <stdio.h>

#include "hlo/kernel/lower.h"
#include "tests/hlo/cases.h"

static const struct {
  const char *label, *params, *root;
} cases[] = {
#define GOOD(params, root)
#define GIVEN(params, root)
#define BAD(label, params, root) {label, params, root},
#include "tests/hlo/verify_cases.def"
#undef GOOD
#undef GIVEN
#undef BAD
};
enum { N_CASES = sizeof cases / sizeof *cases };

// clang-format off
static const char *const enum_names[] = {
#define OP(ENUM, ...) #ENUM,
#include "hlo/ops.def"
#undef OP
};
static const char *const kind_names[] = {
#define KIND(kind) #kind,
    HLO_ATTR_KINDS(KIND)
#undef KIND
};
// clang-format on

static const char *const family_names[] = {"unary",          "binary",       "ternary",     "convert",
                                           "data movement",  "index",        "reduce",      "window",
                                           "sort",           "dot",          "convolution", "linear algebra",
                                           "normalisation",  "random",       "control",     "structure",
                                           "dynamic shapes", "quantization", "collective",  "host",
                                           "custom",         "check",        "CHLO"};

// Ops that a pass replaces before lowering (hlo/opt), so that their row's host reason does not show on devices.
static const char *expander(hlo_op op) {
  switch (op) {
    case HLO_OP_BATCH_NORM_GRAD:
    case HLO_OP_BATCH_NORM_INFERENCE:
    case HLO_OP_BATCH_NORM_TRAINING: return "batch-norm-expander";
    case HLO_OP_RNG_BIT_GENERATOR: return "rng-bit-generator-expander";
    case HLO_OP_CHOLESKY: return "cholesky-expander";
    case HLO_OP_TRIANGULAR_SOLVE: return "triangular-solve-expander";
    case HLO_OP_CALL:
    case HLO_OP_COMPOSITE: return "call-inliner";
    case HLO_OP_WHILE:
    case HLO_OP_CONDITIONAL: return "the plan";
    case HLO_OP_TOP_K:
    case HLO_OP_BESSEL_I1E:
    case HLO_OP_DIGAMMA:
    case HLO_OP_ERF_INV:
    case HLO_OP_LGAMMA:
    case HLO_OP_POLYGAMMA:
    case HLO_OP_ZETA:
    case HLO_OP_ASIN_ACOS_KERNEL: return "chlo-expander";
    default: return NULL;
  }
}

static const char *types_text(const char *t) {
  static const char *const table[][2] = {{"A", "any"},
                                         {"N", "integer, float, complex"},
                                         {"R", "integer, float"},
                                         {"F", "float"},
                                         {"FC", "float, complex"},
                                         {"I", "integer"},
                                         {"IB", "integer, i1"},
                                         {"P", "i1"},
                                         {"C", "complex"},
                                         {"SFC", "signed integer, float, complex"}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (strv_eq_cstr(strv_from_cstr(t), table[i][0])) return table[i][1];
  return t;
}

// --- where things stand in the sources -----------------------------------------------------------

typedef struct source {
  char path[64];
  char *text;
} source;
typedef VEC(source) sources;

static int by_path(const void *a, const void *b) {
  return strcmp(((const source *)a)->path, ((const source *)b)->path);
}

// The C files of a folder whose names start with `prefix`, sorted.
static void read_sources(const char *root, const char *folder, const char *prefix, sources *out) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", root, folder);
  DIR *d = opendir(path);
  for (struct dirent *e; d && (e = readdir(d));) {
    size_t n = strlen(e->d_name), size;
    if (n < 3 || strcmp(e->d_name + n - 2, ".c") != 0 || strncmp(e->d_name, prefix, strlen(prefix)) != 0) continue;
    source s;
    snprintf(s.path, sizeof s.path, "%s/%.50s", folder, e->d_name);
    snprintf(path, sizeof path, "%s/%s", root, s.path);
    lemnos_status failed = io_read_file(path, &s.text, &size);
    if (!failed) vec_push(NULL, out, s);
    lemnos_status_free(failed);
  }
  if (d) closedir(d);
  qsort(out->data, (size_t)out->len, sizeof *out->data, by_path);
}

// The file with this text; NULL: none.
static const char *find_source(const sources *in, const char *text) {
  for (int k = 0; k < in->len; k++)
    if (strstr(in->data[k].text, text)) return in->data[k].path;
  return NULL;
}

static const char *infer_file(const sources *hlo, hlo_op op) {
  char text[96];
  const char *path;
  // the function, or a row of a macro that makes it
  static const char *const forms[] = {"INFER(%s)", "(%s)", "(%s,"};
  for (int k = 0; k < 3; k++) {
    snprintf(text, sizeof text, forms[k], enum_names[op]);
    if ((path = find_source(hlo, text))) return path;
  }
  return NULL;
}

// --- constraints ---------------------------------------------------------------------------------

static bool is_number_behind(const char *label, size_t n) {
  const char *p = label + n;
  if (*p != '_') return false;
  if (strcmp(p, "_result") == 0) return true;
  return (p[1] == 'c' || p[1] == 'i') && p[2] && strspn(p + 2, "0123456789") == strlen(p + 2);
}

// "_result" last, _i before _c, then by number.
static int label_order(const char *label, size_t n) {
  const char *p = label + n + 1;
  return *p == 'r' ? 100000 : (*p == 'c' ? 1000 : 0) + atoi(p + 1);
}

// What the verifier says about case k, without place and instruction.
static void print_refusal(strbuf *out, int k) {
  arena *a = arena_create();
  hlo_module *m = NULL;
  lemnos_status s = case_parse(a, cases[k].params, cases[k].root, &m);
  if (!s) s = hlo_verify(m, NULL);
  const char *text = s ? lemnos_status_message(s) : "(accepted)", *found = strstr(text, cases[k].label);
  if (found) text = found + strlen(cases[k].label) + 2;
  size_t n = strcspn(text, "\n");
  for (size_t i = 0; i + 5 < n; i++)
    if (strncmp(text + i, " (in %", 6) == 0) n = i;
  for (size_t i = 0; i < n; i++) {
    if (strchr("|<>*_", text[i])) strbuf_append_char(out, '\\');
    strbuf_append_char(out, text[i]);
  }
  lemnos_status_free(s);
  arena_destroy(a);
}

static void print_constraints(strbuf *out, hlo_op op) {
  char name[64];
  size_t n = 0;
  for (const char *p = enum_names[op]; *p && n + 1 < sizeof name; p++) name[n++] = (char)(*p == '_' ? '_' : *p | 32);
  name[n] = 0;
  bool done[N_CASES] = {false};
  for (int printed = 0;; printed++) {
    int next = -1;
    for (int k = 0; k < N_CASES; k++) {
      if (done[k] || strncmp(cases[k].label, name, n) != 0 || !is_number_behind(cases[k].label, n)) continue;
      if (next < 0 || label_order(cases[k].label, n) < label_order(cases[next].label, n)) next = k;
    }
    if (next < 0) return;
    if (!printed)
      strbuf_append_cstr(out, "\n| constraint | what is said of a program that breaks it |\n| --- | --- |\n");
    strbuf_printf(out, "| %s | ", cases[next].label);
    print_refusal(out, next);
    strbuf_append_cstr(out, " |\n");
    for (int k = 0; k < N_CASES; k++) done[k] |= strcmp(cases[k].label, cases[next].label) == 0;
  }
}

// --- an operation --------------------------------------------------------------------------------

static void print_attribute(strbuf *out, const hlo_attr_desc *d) {
  strbuf_printf(out, "`%s` (%s", d->stablehlo_name[0] ? d->stablehlo_name : d->field, kind_names[d->kind]);
  if (!d->stablehlo_name[0]) strbuf_append_cstr(out, ", HLO only");
  if (d->required)
    strbuf_append_cstr(out, ")");
  else if (d->kind == HLO_ATTR_KIND_flag)
    strbuf_printf(out, ", default %s)", d->default_value ? "true" : "false");
  else if (d->kind == HLO_ATTR_KIND_i64)
    strbuf_printf(out, ", default %lld)", (long long)d->default_value);
  else
    strbuf_append_cstr(out, ", optional)");
}

static void print_count(strbuf *out, int least, int most) {
  if (most < 0)
    strbuf_printf(out, "%d or more", least);
  else if (most != least)
    strbuf_printf(out, "%d to %d", least, most);
  else
    strbuf_printf(out, "%d", least);
}

// The interpreter's file: where its program.c sends the family. An operation on quantized values is wrapped by quant.c.
static const char *interp_file(const sources *interp, hlo_op op) {
  static const char *const names[] = {
      "elementwise", "elementwise", "elementwise", "elementwise", "move",   "index", "reduce",     "window",
      "sort",        "dot",         "conv",        "linalg",      "norm",   "rng",   "control",    NULL,
      "dynamic",     "quant",       "collective",  "host",        "custom", "check", "elementwise"};
  char text[96];
  const char *name = names[hlo_op_table[op].family];
  if (op == HLO_OP_BITCAST_CONVERT) name = "move";
  if (op == HLO_OP_FFT) name = "fft";
  if (op == HLO_OP_UNIFORM_QUANTIZE || op == HLO_OP_UNIFORM_DEQUANTIZE) name = "quant";
  if (op == HLO_OP_AFTER_ALL || op == HLO_OP_CREATE_TOKEN) name = "control";
  if (!name) return NULL;  // tuples are flattened away
  snprintf(text, sizeof text, "\nlemnos_status interp_compile_%s(", name);
  return find_source(interp, text);
}

static void print_op(strbuf *out, hlo_op op, const sources *hlo, const sources *interp) {
  const hlo_op_info *o = &hlo_op_table[op];
  strbuf_printf(out, "\n### %s\n\n", o->stablehlo_name[0] ? o->stablehlo_name : o->text_name);
  strbuf_printf(out, "HLO text `%s`%s. ", o->text_name, o->stablehlo_name[0] ? "" : " (HLO only)");
  strv name = strv_from_cstr(o->stablehlo_name);
  if (strv_starts_with(name, STRV("stablehlo.")))
    strbuf_printf(out, "[Specification](https://github.com/openxla/stablehlo/blob/main/docs/spec.md#%s). ",
                  strv_drop(name, 10).data);
  strbuf_append_cstr(out, "Operands: ");
  print_count(out, o->min_operands, o->max_operands);
  strbuf_append_cstr(out, "; regions or called computations: ");
  if (o->n_called < 0)
    strbuf_append_cstr(out, "any number");
  else
    strbuf_printf(out, "%d", o->n_called);
  strbuf_printf(out, "; element types: %s", types_text(o->types));
  static const struct {
    int trait;
    const char *text;
  } traits[] = {{HLO_TRAIT_E, "elementwise"},
                {HLO_TRAIT_C, "commutative"},
                {HLO_TRAIT_S, "has side effects"},
                {HLO_TRAIT_B, "moves bits unchanged"},
                {HLO_TRAIT_D, "random"}};
  for (size_t k = 0; k < sizeof traits / sizeof *traits; k++)
    if (o->traits & traits[k].trait) strbuf_printf(out, "; %s", traits[k].text);
  strbuf_append_cstr(out, ".\n");
  const hlo_attr_list_info *attrs = &hlo_attr_list_table[o->attrs];
  for (int a = 0; a < attrs->n; a++) {
    strbuf_append_cstr(out, a ? ", " : "Attributes: ");
    print_attribute(out, &attrs->descs[a]);
  }
  if (attrs->n) strbuf_append_cstr(out, ".\n");
  const char *reason = kernel_lower_host_reason(op), *pass = expander(op), *infer = infer_file(hlo, op);
  const char *run = interp_file(interp, op);
  strbuf_printf(out, "Result type: `%s`. Interpreter: ", infer ? infer : "?");
  if (run && strcmp(run, "interp/elementwise.c") == 0)
    strbuf_append_cstr(out, "`interp/elementwise.c`, `hlo/eval*.c`. Devices: ");
  else if (run)
    strbuf_printf(out, "`%s`. Devices: ", run);
  else
    strbuf_append_cstr(out, "nothing to do. Devices: ");
  if (!reason)
    strbuf_append_cstr(out, "compiled to kernels");
  else if (pass)
    strbuf_printf(out, "replaced by %s (what it leaves runs on the host)", pass);
  else
    strbuf_printf(out, "on the host, in the interpreter: %s", reason);
  strbuf_append_cstr(out, ".\n");
  print_constraints(out, op);
}

static void print_page(strbuf *out, const char *root) {
  sources hlo = {0}, interp = {0};
  read_sources(root, "hlo", "infer", &hlo);
  read_sources(root, "interp", "", &interp);
  strbuf_append_cstr(
      out,
      "# Operations\n\nMade by `build/tests/ops_table . > docs/ops.md` from the op table (`hlo/ops.def`, "
      "`hlo/attrs.def`), the sources and the cases that the verifier is tested with.\n\n"
      "- The interpreter runs every operation, for every type in its row. *Devices* says what CPU and Vulkan do with "
      "it: both compile the same kernels, so there is one answer; a combination of types "
      "that one of them lacks is left to the host. What was tried, by type and device: [status.md](status.md).\n"
      "- *Result type* is the file with the rule, which also checks the constraints. Constraints have the labels of "
      "StableHLO's specification (`_c` constraint, `_i` type of an input, `_result` ours: what the "
      "result must be); the text is the verifier's answer to a wrong program of `tests/hlo/verify_cases.def`. Types "
      "that the column *element types* excludes are refused too.\n"
      "- Quantized types may stand wherever floats may (per axis in `add`, dots, convolutions, `uniform_quantize`, "
      "`uniform_dequantize` and data movement), but not in CHLO and where a constraint says otherwise; devices leave "
      "them "
      "to the host.\n"
      "- What the operations compute: [numerics.md](numerics.md).\n");
  for (int f = 0; f < (int)(sizeof family_names / sizeof *family_names); f++) {
    strbuf_printf(out, "\n## %c%s\n", family_names[f][0] & ~32, family_names[f] + 1);
    for (int op = 0; op < HLO_OP_COUNT; op++)
      if (hlo_op_table[op].family == f) print_op(out, (hlo_op)op, &hlo, &interp);
  }
  for (int k = 0; k < hlo.len; k++) heap_aligned_free(hlo.data[k].text);
  for (int k = 0; k < interp.len; k++) heap_aligned_free(interp.data[k].text);
  vec_deinit(&hlo);
  vec_deinit(&interp);
}

int main(int argc, char **argv) {
  if (argc < 2) return fprintf(stderr, "ops_table ROOT [FILE]\n"), 2;
  strbuf out = {0};
  print_page(&out, argv[1]);
  int code = 0;
  if (argc > 2) {
    char *data;
    size_t size;
    lemnos_status s = io_read_file(argv[2], &data, &size);
    if (s || !strv_eq((strv){data, size}, strbuf_view(&out))) {
      printf("%s is not up to date: ops_table . > %s\n", argv[2], argv[2]);
      code = 1;
    }
    if (!s) heap_aligned_free(data);
    lemnos_status_free(s);
  } else {
    fwrite(out.data, 1, out.len, stdout);
  }
  strbuf_deinit(&out);
  return code;
}
