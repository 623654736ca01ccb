// SPDX-License-Identifier: Apache-2.0
// Modules, computations and instructions as HLO text (text_internal.h lists the extensions to XLA's syntax).
#include "hlo/text_internal.h"

static void print_metadata(strbuf *out, const loc *l) {
  const loc *file = loc_file(l);
  const loc *name = l;
  while (name && name->kind != LOC_NAME) name = name->kind == LOC_CALLSITE ? name->child : NULL;
  if (!file && !name) return;
  strbuf_append_cstr(out, ", metadata={");
  if (name) {
    strbuf_append_cstr(out, "op_name=");
    hlo_text_print_string(out, name->name);
  }
  if (file) {
    strbuf_append_cstr(out, name ? " source_file=" : "source_file=");
    hlo_text_print_string(out, file->name);
    strbuf_printf(out, " source_line=%d", file->line);
    if (file->col) strbuf_printf(out, " source_column=%d", file->col);
  }
  strbuf_append_char(out, '}');
}

static void print_computation_list(strbuf *out, const char *key, const hlo_instr *i) {
  strbuf_printf(out, ", %s={", key);
  for (int k = 0; k < i->n_called; k++)
    strbuf_printf(out, "%s%%" STRV_FMT, k ? ", " : "", STRV_ARG(i->called[k]->name));
  strbuf_append_char(out, '}');
}

static void print_two(strbuf *out, const char *first, const char *second, const hlo_instr *i) {
  strbuf_printf(out, ", %s=%%" STRV_FMT ", %s=%%" STRV_FMT, first, STRV_ARG(i->called[0]->name), second,
                STRV_ARG(i->called[1]->name));
}

static void print_called(strbuf *out, const hlo_instr *i) {
  if (!i->n_called) return;
  if (i->op == HLO_OP_WHILE && i->n_called == 2)
    print_two(out, "condition", "body", i);
  else if (i->op == HLO_OP_SELECT_AND_SCATTER && i->n_called == 2)
    print_two(out, "select", "scatter", i);
  else if (i->op == HLO_OP_CONDITIONAL && i->n_called == 2 && i->n_operands && i->operands[0]->shape->dtype == HLO_PRED)
    print_two(out, "true_computation", "false_computation", i);
  else if (i->op == HLO_OP_CONDITIONAL)
    print_computation_list(out, "branch_computations", i);
  else if (i->op == HLO_OP_CUSTOM_CALL || i->n_called > 1)
    print_computation_list(out, "called_computations", i);
  else
    strbuf_printf(out, ", %s=%%" STRV_FMT, i->op == HLO_OP_FUSION || i->op == HLO_OP_ASYNC_START ? "calls" : "to_apply",
                  STRV_ARG(i->called[0]->name));
}

void hlo_print_instr(strbuf *out, const hlo_instr *i, const hlo_print_options *options) {
  strbuf_printf(out, "%%" STRV_FMT " = ", STRV_ARG(i->name));
  hlo_shape_print(out, i->shape);
  strbuf_printf(out, " %s(", hlo_op_table[i->op].text_name);
  if (i->op == HLO_OP_PARAMETER)
    strbuf_printf(out, "%lld", (long long)HLO_ATTRS(i, parameter)->number);
  else if (i->op == HLO_OP_CONSTANT)
    hlo_literal_print(out, hlo_constant_value(i), options ? options->literal_limit : 0);
  for (int k = 0; k < i->n_operands; k++)
    strbuf_printf(out, "%s%%" STRV_FMT, k ? ", " : "", STRV_ARG(i->operands[k]->name));
  strbuf_append_char(out, ')');
  hlo_text_print_attrs(out, i);
  print_called(out, i);
  if (options && options->locations) print_metadata(out, i->loc);
}

void hlo_print_computation(strbuf *out, const hlo_computation *c, const hlo_print_options *options) {
  if (c->module->entry == c) strbuf_append_cstr(out, "ENTRY ");
  strbuf_printf(out, "%%" STRV_FMT " (", STRV_ARG(c->name));
  for (int k = 0; k < c->n_params; k++) {
    if (k) strbuf_append_cstr(out, ", ");
    if (!c->params[k]) continue;
    strbuf_printf(out, STRV_FMT ": ", STRV_ARG(c->params[k]->name));
    hlo_shape_print(out, c->params[k]->shape);
  }
  strbuf_append_cstr(out, ")");
  if (c->root) {
    strbuf_append_cstr(out, " -> ");
    hlo_shape_print(out, c->root->shape);
  }
  strbuf_append_cstr(out, " {\n");
  HLO_FOR_EACH (i, c) {
    strbuf_append_cstr(out, i == c->root ? "  ROOT " : "  ");
    hlo_print_instr(out, i, options);
    strbuf_append_char(out, '\n');
  }
  strbuf_append_cstr(out, "}\n");
}

// The path of tuple indices to leaf number `leaf`.
static void print_path(strbuf *out, const hlo_shape *s, int leaf) {
  strbuf_append_char(out, '{');
  for (bool first = true; s && s->dtype == HLO_TUPLE; first = false) {
    int k = 0;
    for (; k < s->n_elements; k++) {
      int n = hlo_shape_leaves(s->elements[k]);
      if (leaf < n) break;
      leaf -= n;
    }
    if (k == s->n_elements) break;  // out of range: an invalid module
    strbuf_printf(out, "%s%d", first ? "" : ",", k);
    s = s->elements[k];
  }
  strbuf_append_char(out, '}');
}

static void print_header(strbuf *out, const hlo_module *m) {
  strbuf_printf(out, "HloModule " STRV_FMT, STRV_ARG(m->name));
  const hlo_computation *c = m->entry;
  if (c && c->root) {
    strbuf_append_cstr(out, ", entry_computation_layout={(");
    for (int k = 0; k < c->n_params; k++) {
      if (k) strbuf_append_cstr(out, ", ");
      if (c->params[k]) hlo_shape_print(out, c->params[k]->shape);
    }
    strbuf_append_cstr(out, ")->");
    hlo_shape_print(out, c->root->shape);
    strbuf_append_char(out, '}');
  }
  if (m->n_aliases) {
    strbuf_append_cstr(out, ", input_output_alias={");
    for (int k = 0; k < m->n_aliases; k++) {
      strbuf_append_cstr(out, k ? ", " : " ");
      print_path(out, c && c->root ? c->root->shape : NULL, m->aliases[k].result);
      strbuf_printf(out, ": (%d, {}, may-alias)", m->aliases[k].param);
    }
    strbuf_append_cstr(out, " }");
  }
  bool any = false;
  for (int k = 0; m->param_donated && c && k < c->n_params; k++) {
    if (!m->param_donated[k]) continue;
    strbuf_printf(out, "%s (%d, {})", any ? "," : ", buffer_donor={", k);
    any = true;
  }
  if (any) strbuf_append_cstr(out, " }");
  if (m->n_replicas != 1) strbuf_printf(out, ", replica_count=%d", m->n_replicas);
  if (m->n_partitions != 1) strbuf_printf(out, ", num_partitions=%d", m->n_partitions);
  strbuf_append_cstr(out, "\n");
}

void hlo_print_module(strbuf *out, const hlo_module *m, const hlo_print_options *options) {
  print_header(out, m);
  for (int k = 0; k < m->n_computations; k++) {
    strbuf_append_char(out, '\n');
    hlo_print_computation(out, m->computations[k], options);
  }
}
