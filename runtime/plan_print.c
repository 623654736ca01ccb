// SPDX-License-Identifier: Apache-2.0
// Plans as text: what --explain and --emit=plan print.
#include "runtime/internal.h"

static void print_slice(strbuf *out, plan_slice s) {
  switch (s.space) {
    case PLAN_ARENA: strbuf_printf(out, "arena+%lld", (long long)s.offset); break;
    case PLAN_PARAM: strbuf_printf(out, "arg%d", s.index); break;
    case PLAN_RESULT: strbuf_printf(out, "out%d", s.index); break;
    case PLAN_CONSTANT: strbuf_printf(out, "const+%lld", (long long)s.offset); break;
  }
  if (s.offset && (s.space == PLAN_PARAM || s.space == PLAN_RESULT)) strbuf_printf(out, "+%lld", (long long)s.offset);
  strbuf_printf(out, "[%lld]", (long long)s.size);
}

static void print_slices(strbuf *out, const plan_slice *s, int n) {
  for (int i = 0; i < n; i++) {
    if (i) strbuf_append_cstr(out, ", ");
    print_slice(out, s[i]);
  }
}

static void print_list(strbuf *out, const plan *p, const plan_list *l, int depth);

static void print_step(strbuf *out, const plan *p, const plan_step *s, int depth) {
  strbuf_printf(out, "%*s", depth * 2, "");
  switch (s->kind) {
    case PLAN_LAUNCH: {
      const kernel *k = p->kernels[s->launch.kernel];
      strbuf_printf(out, "device  " STRV_FMT " = kernel %d " STRV_FMT " grid %lld (", STRV_ARG(s->instr->name),
                    s->launch.kernel, STRV_ARG(k->name), (long long)k->grid);
      print_slices(out, s->launch.args, k->n_params);
      strbuf_append_cstr(out, ")\n");
      break;
    }
    case PLAN_COPY:
      strbuf_printf(out, "device  " STRV_FMT " = copy ", STRV_ARG(s->instr->name));
      print_slice(out, s->copy.dst);
      strbuf_append_cstr(out, " <- ");
      print_slice(out, s->copy.src);
      strbuf_append_cstr(out, "\n");
      break;
    case PLAN_HOST:
      strbuf_printf(out, "host    " STRV_FMT " = %s (", STRV_ARG(s->instr->name), hlo_op_table[s->instr->op].text_name);
      print_slices(out, s->host.args, s->host.n_args);
      strbuf_append_cstr(out, ") -> (");
      print_slices(out, s->host.results, s->host.n_results);
      strbuf_printf(out, "): %s\n", s->host.reason);
      break;
    case PLAN_WHILE:
      if (s->loop.trip_count >= 0)
        strbuf_printf(out, "loop    " STRV_FMT ", %lld times\n", STRV_ARG(s->instr->name),
                      (long long)s->loop.trip_count);
      else
        strbuf_printf(out, "loop    " STRV_FMT ", while\n", STRV_ARG(s->instr->name));
      if (s->loop.trip_count < 0) print_list(out, p, &s->loop.cond, depth + 1);
      strbuf_printf(out, "%*sdo\n", depth * 2, "");
      print_list(out, p, &s->loop.body, depth + 1);
      break;
    case PLAN_CONDITIONAL:
      strbuf_printf(out, "branch  " STRV_FMT " on ", STRV_ARG(s->instr->name));
      print_slice(out, s->conditional.selector);
      strbuf_append_cstr(out, "\n");
      for (int b = 0; b < s->conditional.n_branches; b++) {
        strbuf_printf(out, "%*sbranch %d\n", depth * 2, "", b);
        print_list(out, p, &s->conditional.branches[b], depth + 1);
      }
      break;
  }
}

static void print_list(strbuf *out, const plan *p, const plan_list *l, int depth) {
  for (int i = 0; i < l->n; i++) print_step(out, p, &l->steps[i], depth);
}

void plan_print(strbuf *out, const plan *p) {
  strbuf_printf(
      out,
      "plan: %d kernels, %d host programs, arena %lld bytes (scratch %lld, live peak %lld), constants %lld bytes\n",
      p->n_kernels, p->n_host_programs, (long long)p->arena_bytes, (long long)p->scratch_bytes,
      (long long)p->peak_live_bytes, (long long)p->constant_bytes);
  for (int i = 0; i < p->n_results; i++)
    if (p->results[i].alias >= 0) strbuf_printf(out, "out%d takes over arg%d\n", i, p->results[i].alias);
  print_list(out, p, &p->main, 0);
}
