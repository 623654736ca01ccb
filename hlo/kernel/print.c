// SPDX-License-Identifier: Apache-2.0
// Kernels as text, for people and for `--emit=kernel`. The form is described in kernel.h. Values are numbered in order.
#include <math.h>

#include "hlo/kernel/kernel.h"

typedef struct printer {
  strbuf *out;
  const kernel *k;
  int32_t *number;
  int32_t next;
} printer;

static void print_type(strbuf *out, kernel_type t) {
  strbuf_append_cstr(out, kernel_scalar_table[t.scalar].name);
  if (t.lanes > 1) strbuf_printf(out, "x%d", t.lanes);
}

static void print_value(printer *p, const kernel_value *v) {
  strbuf_printf(p->out, "%%%d", p->number[v->id]);
}

static void define(printer *p, const kernel_value *v) {
  p->number[v->id] = p->next++;
  print_value(p, v);
  strbuf_append_char(p->out, ':');
  print_type(p->out, v->type);
}

static void print_mem(printer *p, kernel_mem m) {
  strbuf_printf(p->out, "%s%d",
                m.space == KERNEL_PARAM    ? "p"
                : m.space == KERNEL_SHARED ? "shared"
                                           : "private",
                m.index);
}

static void print_block(printer *p, const kernel_block *b, int depth);

static void print_imm(printer *p, const kernel_instr *i) {
  switch (i->op) {
    case KERNEL_OP_CONST:
      if (kernel_scalar_table[i->results[0].type.scalar].is_float)
        strbuf_printf(p->out, " %.17g", i->imm.f);
      else
        strbuf_printf(p->out, " %lld", (long long)i->imm.i);
      break;
    case KERNEL_OP_SHUFFLE:
      strbuf_append_cstr(p->out, " [");
      for (int l = 0; l < i->results[0].type.lanes; l++) strbuf_printf(p->out, l ? ", %d" : "%d", i->imm.list[l]);
      strbuf_append_cstr(p->out, "]");
      break;
    case KERNEL_OP_EXTRACT:
    case KERNEL_OP_INSERT:
    case KERNEL_OP_PARAM_SIZE:
    case KERNEL_OP_SUBGROUP_BROADCAST:
    case KERNEL_OP_SUBGROUP_SHUFFLE_XOR: strbuf_printf(p->out, " #%lld", (long long)i->imm.i); break;
    case KERNEL_OP_TILE_FMA: {
      const kernel_tile *t = i->imm.tile;
      strbuf_printf(p->out, " %dx%dx%d a=", t->m, t->nv, t->lanes);
      print_mem(p, t->a);
      strbuf_printf(p->out, "(%lld,%lld) b=", (long long)t->a_stride_m, (long long)t->a_stride_k);
      print_mem(p, t->b);
      strbuf_printf(p->out, "(%lld) unroll %d", (long long)t->b_stride_k, t->k_unroll);
      break;
    }
    default: break;
  }
}

static void print_instr(printer *p, const kernel_instr *i, int depth) {
  strbuf *out = p->out;
  strbuf_printf(out, "%*s", depth * 2, "");
  for (int r = 0; r < i->n_results; r++) {
    if (r) strbuf_append_cstr(out, ", ");
    define(p, &i->results[r]);
  }
  if (i->n_results) strbuf_append_cstr(out, " = ");
  strbuf_append_cstr(out, kernel_op_table[i->op].name);
  print_imm(p, i);
  int first = 0;
  if (kernel_op_table[i->op].cls == KERNEL_CLASS_MEM) {
    strbuf_append_char(out, ' ');
    print_mem(p, i->mem);
    strbuf_append_char(out, '[');
    print_value(p, i->operands[0]);
    strbuf_append_char(out, ']');
    first = 1;
  }
  for (int o = first; o < i->n_operands; o++) {
    strbuf_append_cstr(out, o ? ", " : " ");
    print_value(p, i->operands[o]);
  }
  if (i->align > 1) strbuf_printf(out, " align %d", i->align);
  for (int n = 0; n < i->n_blocks; n++) print_block(p, i->blocks[n], depth);
  strbuf_append_char(out, '\n');
}

static void print_block(printer *p, const kernel_block *b, int depth) {
  strbuf_append_cstr(p->out, " {");
  if (b->n_args) {
    strbuf_append_cstr(p->out, " (");
    for (int a = 0; a < b->n_args; a++) {
      if (a) strbuf_append_cstr(p->out, ", ");
      define(p, &b->args[a]);
    }
    strbuf_append_cstr(p->out, ")");
  }
  strbuf_append_char(p->out, '\n');
  for (const kernel_instr *i = b->first; i; i = i->next) print_instr(p, i, depth + 1);
  strbuf_printf(p->out, "%*s}", depth * 2, "");
}

void kernel_print(strbuf *out, const kernel *k) {
  printer p = {.out = out, .k = k, .number = heap_alloc(sizeof(int32_t) * ((size_t)k->next_id + 1))};
  strbuf_printf(out, "kernel @" STRV_FMT " grid=%lld", STRV_ARG(k->name), (long long)k->grid);
  if (k->workgroup) strbuf_printf(out, " workgroup=%d", k->workgroup);
  strbuf_printf(out, " index=%s (", kernel_scalar_table[k->index].name);
  for (int i = 0; i < k->n_params; i++) {
    const kernel_param *q = &k->params[i];
    strbuf_printf(out, "%s%s%sp%d: %s[%lld] align %d", i ? ", " : "", q->readonly ? "readonly " : "",
                  q->noalias ? "noalias " : "", i, kernel_scalar_table[q->elem].name, (long long)q->n_elems, q->align);
  }
  strbuf_append_cstr(out, ")");
  for (int i = 0; i < k->arrays.len; i++) {
    const kernel_array *a = &k->arrays.data[i];
    strbuf_printf(out, "\n  %s%d: %s[%lld] by %d", a->space == KERNEL_SHARED ? "shared" : "private", i,
                  kernel_scalar_table[a->elem].name, (long long)a->n_elems, a->lanes);
  }
  print_block(&p, k->body, 0);
  strbuf_append_char(out, '\n');
  free(p.number);
}
