// SPDX-License-Identifier: Apache-2.0
// Export: HLO as StableHLO text in MLIR's generic form.
//
// Tuples are flattened: a value is the list of its leaves' SSA names, so tuple and get_tuple_element vanish, an
// instruction with a tuple shape is an operation with several results, and a tuple parameter several arguments.
// Computations of while, reduce, sort, ... become regions; those of call, composite and custom_call functions. A branch
// of a conditional sees its operand's values directly, as StableHLO has it. Fusions become calls.
#include <stdio.h>

#include "frontend/export_internal.h"
#include "frontend/import.h"

typedef struct names {
  const char **leaf;
  int n;
} names;

typedef struct exporter {
  strbuf *out;
  arena *arena;
  u64map values;   // hlo_instr* -> names*
  u64map symbols;  // hlo_computation* -> char*
  VEC(const hlo_computation *) functions;
  int next, indent;
} exporter;

static void computation_body(exporter *e, const hlo_computation *c, const char *terminator);

static names *names_of(exporter *e, const hlo_instr *i) {
  return ptrmap_get(&e->values, i);
}

static names *new_names(exporter *e, int n) {
  names *x = ARENA_NEW(e->arena, names);
  x->n = n;
  x->leaf = ARENA_ARRAY(e->arena, const char *, n);
  return x;
}

static void line(exporter *e) {
  for (int i = 0; i < e->indent; i++) strbuf_append_cstr(e->out, "  ");
}

static void put_type(exporter *e, const hlo_shape *s) {
  hlo_shape_print_stablehlo(e->out, s);
}

static const char *symbol(exporter *e, const hlo_computation *c) {
  char *known = ptrmap_get(&e->symbols, c);
  if (known) return known;
  bool entry = c == c->module->entry;
  char *name = arena_printf(e->arena, entry ? "main" : STRV_FMT "%s", STRV_ARG(c->name),
                            strv_eq_cstr(c->name, "main") ? "_inner" : "");
  for (char *p = name; *p; p++)
    if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || *p == '_' || *p == '.' ||
          *p == '$'))
      *p = '_';
  ptrmap_put(e->arena, &e->symbols, c, name);
  vec_push(e->arena, &e->functions, c);
  return name;
}

// --- values --------------------------------------------------------------------------------------

static void operand_leaves(exporter *e, const hlo_instr *i, int first, int n, names *out) {
  int total = 0;
  for (int k = first; k < first + n; k++) total += names_of(e, i->operands[k])->n;
  *out = *new_names(e, total);
  total = 0;
  for (int k = first; k < first + n; k++) {
    const names *x = names_of(e, i->operands[k]);
    for (int j = 0; j < x->n; j++) out->leaf[total++] = x->leaf[j];
  }
}

static void put_names(exporter *e, const names *n) {
  for (int i = 0; i < n->n; i++) strbuf_printf(e->out, "%s%s", i ? ", " : "", n->leaf[i]);
}

static void put_leaf_types(exporter *e, const hlo_shape *s, bool *first) {
  for (int i = 0; i < hlo_shape_leaves(s); i++) {
    strbuf_append_cstr(e->out, *first ? "" : ", ");
    *first = false;
    put_type(e, hlo_shape_leaf(s, i));
  }
}

// Names the results of i and starts its line: "%5:2 = ".
static void start(exporter *e, const hlo_instr *i) {
  int n = hlo_shape_leaves(i->shape);
  names *x = new_names(e, n);
  line(e);
  if (n) {
    int id = e->next++;
    for (int k = 0; k < n; k++)
      x->leaf[k] = n == 1 ? arena_printf(e->arena, "%%%d", id) : arena_printf(e->arena, "%%%d#%d", id, k);
    strbuf_printf(e->out, n == 1 ? "%%%d = " : "%%%d:%d = ", id, n);
  }
  ptrmap_put(e->arena, &e->values, i, x);
}

// " : (operand types) -> (result types)"
static void finish(exporter *e, const hlo_instr *i, int first_operand, int n_operands) {
  bool first = true;
  strbuf_append_cstr(e->out, " : (");
  for (int k = first_operand; k < first_operand + n_operands; k++) put_leaf_types(e, i->operands[k]->shape, &first);
  strbuf_append_cstr(e->out, ") -> (");
  first = true;
  put_leaf_types(e, i->shape, &first);
  strbuf_append_cstr(e->out, ")\n");
}

// --- regions -------------------------------------------------------------------------------------

// Parameters as block arguments.
static void region(exporter *e, const hlo_computation *c, bool first) {
  strbuf_append_cstr(e->out, first ? "({\n" : ", {\n");
  bool any = false;
  for (int p = 0; p < c->n_params; p++) {
    int n = hlo_shape_leaves(c->params[p]->shape);
    names *x = new_names(e, n);
    for (int k = 0; k < n; k++) {
      if (!any) {
        line(e);
        strbuf_append_cstr(e->out, "^bb0(");
      }
      x->leaf[k] = arena_printf(e->arena, "%%%d", e->next++);
      strbuf_printf(e->out, "%s%s: ", any ? ", " : "", x->leaf[k]);
      put_type(e, hlo_shape_leaf(c->params[p]->shape, k));
      any = true;
    }
    ptrmap_put(e->arena, &e->values, c->params[p], x);
  }
  if (any) strbuf_append_cstr(e->out, "):\n");
  computation_body(e, c, "stablehlo.return");
  line(e);
  strbuf_append_char(e->out, '}');
}

// A branch sees the conditional's operand directly.
static void branch(exporter *e, const hlo_instr *i, int k) {
  strbuf_append_cstr(e->out, k ? ", {\n" : "({\n");
  const hlo_computation *c = i->called[k];
  if (c->n_params) ptrmap_put(e->arena, &e->values, c->params[0], names_of(e, i->operands[k + 1]));
  computation_body(e, c, "stablehlo.return");
  line(e);
  strbuf_append_char(e->out, '}');
}

// --- instructions --------------------------------------------------------------------------------

static void alias(exporter *e, const hlo_instr *i, const names *x, int first, int n) {
  names *y = new_names(e, n);
  for (int k = 0; k < n; k++) y->leaf[k] = x->leaf[first + k];
  ptrmap_put(e->arena, &e->values, i, y);
}

static void put_op(exporter *e, const hlo_instr *i, const char *op, bool regions) {
  names operands;
  bool first = true;
  operand_leaves(e, i, 0, i->n_operands, &operands);
  start(e, i);
  strbuf_printf(e->out, "\"%s\"(", op);
  put_names(e, &operands);
  strbuf_append_char(e->out, ')');
  strbuf attrs = {0};
  export_attrs(&attrs, i, &first);
  if (i->op == HLO_OP_COMPOSITE) {
    export_key(&attrs, &first, "decomposition");
    strbuf_printf(&attrs, "@%s", symbol(e, i->called[0]));
  }
  if (i->op == HLO_OP_CUSTOM_CALL && i->n_called) {
    export_key(&attrs, &first, "called_computations");
    for (int k = 0; k < i->n_called; k++) strbuf_printf(&attrs, "%s@%s", k ? ", " : "[", symbol(e, i->called[k]));
    strbuf_append_char(&attrs, ']');
  }
  if (attrs.len) strbuf_printf(e->out, " <{%s}>", attrs.data);
  strbuf_deinit(&attrs);
  if (regions && i->n_called) {
    strbuf_append_char(e->out, ' ');
    e->indent++;
    for (int k = 0; k < i->n_called; k++) region(e, i->called[k], k == 0);
    e->indent--;
    strbuf_append_char(e->out, ')');
  }
  finish(e, i, 0, i->n_operands);
}

static void put_call(exporter *e, const hlo_instr *i) {
  names operands;
  const char *callee = symbol(e, i->called[0]);
  operand_leaves(e, i, 0, i->n_operands, &operands);
  start(e, i);
  strbuf_append_cstr(e->out, "\"func.call\"(");
  put_names(e, &operands);
  strbuf_printf(e->out, ") <{callee = @%s}>", callee);
  finish(e, i, 0, i->n_operands);
}

static void put_conditional(exporter *e, const hlo_instr *i) {
  const names *selector = names_of(e, i->operands[0]);
  bool two = i->operands[0]->shape->dtype == HLO_PRED;
  start(e, i);
  strbuf_printf(e->out, "\"stablehlo.%s\"(%s) ", two ? "if" : "case", selector->leaf[0]);
  e->indent++;
  for (int k = 0; k < i->n_called; k++) branch(e, i, k);
  e->indent--;
  strbuf_append_char(e->out, ')');
  finish(e, i, 0, 1);
}

static void put_instr(exporter *e, const hlo_instr *i) {
  switch (i->op) {
    case HLO_OP_PARAMETER: return;
    case HLO_OP_TUPLE: {
      names all;
      operand_leaves(e, i, 0, i->n_operands, &all);
      alias(e, i, &all, 0, all.n);
      return;
    }
    case HLO_OP_GET_TUPLE_ELEMENT: {
      const hlo_shape *t = i->operands[0]->shape;
      int first = 0;
      for (int64_t k = 0; k < HLO_ATTRS(i, get_tuple_element)->index; k++) first += hlo_shape_leaves(t->elements[k]);
      alias(e, i, names_of(e, i->operands[0]), first, hlo_shape_leaves(i->shape));
      return;
    }
    case HLO_OP_COPY: alias(e, i, names_of(e, i->operands[0]), 0, hlo_shape_leaves(i->shape)); return;
    case HLO_OP_BITCAST:
      put_op(e, i, i->shape->dtype == i->operands[0]->shape->dtype ? "stablehlo.reshape" : "stablehlo.bitcast_convert",
             false);
      return;
    case HLO_OP_CALL:
    case HLO_OP_FUSION: put_call(e, i); return;
    case HLO_OP_CONDITIONAL: put_conditional(e, i); return;
    case HLO_OP_COMPOSITE:
    case HLO_OP_CUSTOM_CALL: put_op(e, i, hlo_op_table[i->op].stablehlo_name, false); return;
    default: put_op(e, i, hlo_op_table[i->op].stablehlo_name, true);
  }
}

static void computation_body(exporter *e, const hlo_computation *c, const char *terminator) {
  e->indent++;
  HLO_FOR_EACH (i, c) put_instr(e, i);
  bool first = true;
  line(e);
  strbuf_printf(e->out, "\"%s\"(", terminator);
  put_names(e, names_of(e, c->root));
  strbuf_append_cstr(e->out, ") : (");
  put_leaf_types(e, c->root->shape, &first);
  strbuf_append_cstr(e->out, ") -> ()\n");
  e->indent--;
}

// --- functions -----------------------------------------------------------------------------------

static void donation(exporter *e, const hlo_module *m, int param) {
  if (!m->param_donated || !m->param_donated[param]) return;
  for (int k = 0; k < m->n_aliases; k++) {
    if (m->aliases[k].param != param) continue;
    strbuf_printf(e->out, " {tf.aliasing_output = %d : i32}", m->aliases[k].result);
    return;
  }
  strbuf_append_cstr(e->out, " {jax.buffer_donor = true}");
}

static void function(exporter *e, const hlo_computation *c) {
  const hlo_module *m = c->module;
  bool entry = c == m->entry, any = false, first = true;
  strbuf_printf(e->out, "  func.func %s @%s(", entry ? "public" : "private", symbol(e, c));
  for (int p = 0; p < c->n_params; p++) {
    int n = hlo_shape_leaves(c->params[p]->shape);
    names *x = new_names(e, n);
    for (int k = 0; k < n; k++) {
      x->leaf[k] = arena_printf(e->arena, "%%arg%d", e->next++);
      strbuf_printf(e->out, "%s%s: ", any ? ", " : "", x->leaf[k]);
      put_type(e, hlo_shape_leaf(c->params[p]->shape, k));
      if (entry && n == 1) donation(e, m, p);
      any = true;
    }
    ptrmap_put(e->arena, &e->values, c->params[p], x);
  }
  strbuf_append_cstr(e->out, ") -> (");
  put_leaf_types(e, c->root->shape, &first);
  strbuf_append_cstr(e->out, ") {\n");
  e->indent = 1;
  computation_body(e, c, "func.return");
  strbuf_append_cstr(e->out, "  }\n");
}

void export_stablehlo(strbuf *out, const hlo_module *m) {
  exporter e = {.out = out, .arena = arena_create()};
  strbuf_append_cstr(out, "module @");
  for (size_t i = 0; i < m->name.len; i++) {
    char ch = m->name.data[i];
    bool plain = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_' || (i && ch >= '0' && ch <= '9');
    strbuf_append_char(out, plain ? ch : '_');
  }
  if (!m->name.len) strbuf_append_cstr(out, "module");
  if (m->n_replicas > 1 || m->n_partitions > 1 || m->frontend_attributes.len) {
    strbuf_printf(out, " attributes {mhlo.num_partitions = %d : i32, mhlo.num_replicas = %d : i32", m->n_partitions,
                  m->n_replicas);
    if (m->frontend_attributes.len)
      strbuf_printf(out, ", mhlo.frontend_attributes = " STRV_FMT, STRV_ARG(m->frontend_attributes));
    strbuf_append_char(out, '}');
  }
  strbuf_append_cstr(out, " {\n");
  symbol(&e, m->entry);
  for (int i = 0; i < e.functions.len; i++) {  // grows while functions are printed
    e.next = 0;
    function(&e, e.functions.data[i]);
  }
  strbuf_append_cstr(out, "}\n");
  arena_destroy(e.arena);
}
