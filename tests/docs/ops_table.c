// SPDX-License-Identifier: Apache-2.0
// Prints docs/ops.md from the op table: ops_table > docs/ops.md. With a file as argument it compares instead: exit status 1 if
// the file is not what the table says now.
#include <stdio.h>

#include "hlo/kernel/lower.h"

static const char *const family_names[] = {"unary", "binary", "ternary", "convert", "data movement", "index", "reduce", "window",
                                           "sort", "dot", "convolution", "linear algebra", "normalisation", "random",
                                           "control", "structure", "dynamic shapes", "quantization", "collective", "host",
                                           "custom", "check", "CHLO"};

// Ops that a pass replaces before lowering (hlo/opt), so that their row's host reason does not show on devices.
static const char *expander(hlo_op op) {
  switch (op) {
    case HLO_OP_BATCH_NORM_GRAD: case HLO_OP_BATCH_NORM_INFERENCE: case HLO_OP_BATCH_NORM_TRAINING: return "batch-norm-expander";
    case HLO_OP_RNG_BIT_GENERATOR: return "rng-bit-generator-expander";
    case HLO_OP_CHOLESKY: return "cholesky-expander";
    case HLO_OP_TRIANGULAR_SOLVE: return "triangular-solve-expander";
    case HLO_OP_CALL: case HLO_OP_COMPOSITE: return "call-inliner";
    case HLO_OP_WHILE: case HLO_OP_CONDITIONAL: return "the plan";
    case HLO_OP_TOP_K: case HLO_OP_BESSEL_I1E: case HLO_OP_DIGAMMA: case HLO_OP_ERF_INV: case HLO_OP_LGAMMA:
    case HLO_OP_POLYGAMMA: case HLO_OP_ZETA: case HLO_OP_ASIN_ACOS_KERNEL: return "chlo-expander";
    default: return NULL;
  }
}

static const char *types_text(const char *t) {
  static const char *const table[][2] = {{"A", "any"}, {"N", "integer, float, complex"}, {"R", "integer, float"}, {"F", "float"},
                                         {"FC", "float, complex"}, {"I", "integer"}, {"IB", "integer, i1"}, {"P", "i1"},
                                         {"C", "complex"}, {"SFC", "signed integer, float, complex"}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (strv_eq_cstr(strv_from_cstr(t), table[i][0])) return table[i][1];
  return t;
}

static void print_row(strbuf *out, hlo_op op) {
  const hlo_op_info *o = &hlo_op_table[op];
  if (o->stablehlo_name[0]) strbuf_printf(out, "| `%s` | `%s` | ", o->stablehlo_name, o->text_name);
  else strbuf_printf(out, "| (HLO only) | `%s` | ", o->text_name);
  if (o->max_operands < 0) strbuf_printf(out, "%d or more", o->min_operands);
  else if (o->max_operands != o->min_operands) strbuf_printf(out, "%d to %d", o->min_operands, o->max_operands);
  else strbuf_printf(out, "%d", o->min_operands);
  strbuf_printf(out, " | %s | %s | ", types_text(o->types), family_names[o->family]);
  const hlo_attr_list_info *attrs = &hlo_attr_list_table[o->attrs];
  for (int a = 0; a < attrs->n; a++) {
    const hlo_attr_desc *d = &attrs->descs[a];
    strbuf_printf(out, "%s%s%s", a ? ", " : "", d->stablehlo_name[0] ? d->stablehlo_name : d->field, d->required ? "" : "?");
  }
  const char *reason = kernel_lower_host_reason(op), *pass = expander(op);
  if (!reason) strbuf_append_cstr(out, " | kernel");
  else if (pass) strbuf_printf(out, " | %s", pass);
  else strbuf_printf(out, " | host: %s", reason);
  strbuf_append_cstr(out, " |\n");
}

int main(int argc, char **argv) {
  strbuf out = {0};
  strbuf_append_cstr(&out,
                     "# Operations\n\nMade from the op table by `build/tests/ops_table > docs/ops.md`. The constraints of each operation, by the labels of StableHLO's specification, are "
                     "checked in `hlo/infer_*.c`;\n`tests/hlo/verify_cases.def` has a case for each. The interpreter runs every row. *Devices* says what the kernel path does: `kernel`; a pass "
                     "that replaces the operation; or the reason why it is left to the host.\nWhich element types work where, tried: [status.md](status.md). `?` marks optional attributes.\n\n"
                     "| StableHLO | HLO text | operands | element types | family | attributes | devices |\n| --- | --- | --- | --- | --- | --- | --- |\n");
  for (int op = 0; op < HLO_OP_COUNT; op++) print_row(&out, (hlo_op)op);
  int code = 0;
  if (argc > 1) {
    char *data;
    size_t size;
    lemnos_status s = io_read_file(argv[1], &data, &size);
    if (s || !strv_eq((strv){data, size}, strbuf_view(&out))) {
      printf("%s is not what the op table says: ops_table > %s\n", argv[1], argv[1]);
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
