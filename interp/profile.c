// SPDX-License-Identifier: Apache-2.0
// Profiles: time per instruction while running, and the text of them: instructions of the same operation on the same
// types are one line. "own" leaves out what an instruction runs in turn (loop bodies, branches, called functions,
// regions that are run as code), which has lines of its own, so that the own times add up to the whole.
#include "interp/interp_internal.h"

interp_profile_row *interp_profile_row_of(interp_profile *p, const hlo_instr *i) {
  interp_profile_row *row = ptrmap_get(&p->rows, i);
  if (row) return row;
  row = ARENA_NEW(p->arena, interp_profile_row);
  row->instr = i;
  row->next = p->first;
  p->first = row;
  ptrmap_put(p->arena, &p->rows, i, row);
  return row;
}

typedef struct line {
  char *text;
  int64_t calls;
  int32_t instrs;
  double own, total;
} line;

static int by_text(const void *a, const void *b) {
  return strcmp(((const line *)a)->text, ((const line *)b)->text);
}

static int by_own(const void *a, const void *b) {
  double x = ((const line *)a)->own, y = ((const line *)b)->own;
  return x < y ? 1 : x > y ? -1 : by_text(a, b);
}

// dot_general f32[8,4] (f32[8,2], f32[2,4]); of loops and calls only what they are called.
static char *describe(arena *a, const hlo_instr *i) {
  strbuf b = {0};
  strbuf_append_cstr(&b, hlo_op_table[i->op].text_name);
  if (i->op == HLO_OP_WHILE || i->op == HLO_OP_CALL || i->op == HLO_OP_CONDITIONAL || i->op == HLO_OP_COMPOSITE) {
    strbuf_printf(&b, " %%" STRV_FMT, STRV_ARG(i->name));
    if (i->op == HLO_OP_CALL && i->n_called) strbuf_printf(&b, " of " STRV_FMT, STRV_ARG(i->called[0]->name));
  } else {
    strbuf_append_cstr(&b, " ");
    hlo_shape_print(&b, i->shape);
    for (int k = 0; k < i->n_operands && k < 3; k++) {
      strbuf_append_cstr(&b, k ? ", " : " (");
      hlo_shape_print(&b, i->operands[k]->shape);
    }
    if (i->n_operands > 0) strbuf_append_cstr(&b, i->n_operands > 3 ? ", ...)" : ")");
  }
  char *text = arena_printf(a, "%.*s", (int)b.len, b.data);
  strbuf_deinit(&b);
  return text;
}

void interp_profile_print(const interp_profile *p, strbuf *out) {
  int n = 0, kept = 0;
  for (const interp_profile_row *r = p->first; r; r = r->next) n++;
  line *lines = ARENA_ARRAY(p->arena, line, n + 1);
  double sum = 0;
  n = 0;
  for (const interp_profile_row *r = p->first; r; r = r->next) {
    lines[n++] = (line){describe(p->arena, r->instr), r->calls, 1, r->seconds, r->total_seconds};
    sum += r->seconds;
  }
  qsort(lines, (size_t)n, sizeof *lines, by_text);
  for (int k = 0; k < n; k++) {
    line *last = kept ? &lines[kept - 1] : NULL;
    if (last && strcmp(last->text, lines[k].text) == 0) {
      last->calls += lines[k].calls;
      last->instrs++;
      last->own += lines[k].own;
      last->total += lines[k].total;
    } else {
      lines[kept++] = lines[k];
    }
  }
  qsort(lines, (size_t)kept, sizeof *lines, by_own);
  strbuf_printf(out, "%10s %6s %10s %8s %6s  %s\n", "own ms", "share", "total ms", "calls", "instrs",
                "operation, result (operands)");
  for (int k = 0; k < kept; k++)
    strbuf_printf(out, "%10.4f %5.1f%% %10.4f %8lld %6d  %s\n", lines[k].own * 1e3,
                  100 * lines[k].own / (sum > 0 ? sum : 1), lines[k].total * 1e3, (long long)lines[k].calls,
                  (int)lines[k].instrs, lines[k].text);
  strbuf_printf(out, "%10.4f  total of own times\n", sum * 1e3);
}
