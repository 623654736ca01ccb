// SPDX-License-Identifier: Apache-2.0
// The pass table, the default pipeline, and the runner: verification, round trips, dumps, timing, bisection.
#include "hlo/opt/pass.h"

#include <stdio.h>

#include "hlo/opt/opt_internal.h"

const hlo_pass_info hlo_pass_table[] = {
#define P(name, function, summary, needs_target) {name, function, summary, needs_target},
#include "hlo/opt/passes.def"
#undef P
};
const int hlo_pass_count = (int)(sizeof hlo_pass_table / sizeof *hlo_pass_table);

// `fix(a,b,c)`: the passes in turn until none changes anything (at most FIX_LIMIT rounds). Passes that need a target
// are left out when there is none.
const char *const hlo_default_pipeline =
    "call-inliner,map-inliner,computation-deduplicator,dce,"
    "fix(tuple-simplifier,algebraic-simplifier,constant-folding,cse,dce),"
    "chlo-expander,scan-expander,batch-norm-expander,rng-bit-generator-expander,linalg-expander,fft-expander,"
    "fix(tuple-simplifier,algebraic-simplifier,constant-folding,conditional-simplifier,"
    "while-loop-trip-count-annotator,while-loop-simplifier,while-loop-invariant-code-motion,cse,dce),"
    "reshape-to-bitcast,instruction-fusion,reshape-to-bitcast,multi-output-fusion,memory-scheduler,copy-insertion";

enum { FIX_LIMIT = 16 };

typedef struct runner {
  hlo_module *m;
  const hlo_pipeline_options *o;
  hlo_pass_ctx ctx;
  bool stopped;  // the bisect limit is reached
} runner;

static const hlo_pass_info *find_pass(strv name) {
  for (int i = 0; i < hlo_pass_count; i++)
    if (strv_eq_cstr(name, hlo_pass_table[i].name)) return &hlo_pass_table[i];
  return NULL;
}

static lemnos_status unknown_pass(strv name) {
  strbuf list = {0};
  for (int i = 0; i < hlo_pass_count; i++) strbuf_printf(&list, "%s%s", i ? ", " : "", hlo_pass_table[i].name);
  lemnos_status s =
      lemnos_status_make(LEMNOS_NOT_FOUND, "no pass '" STRV_FMT "'; there are: %s", STRV_ARG(name), list.data);
  strbuf_deinit(&list);
  return s;
}

static lemnos_status verify(runner *r, const char *pass) {
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  lemnos_status s = hlo_verify(r->m, &sink);
  diag_sink_deinit(&sink);
  arena_destroy(a);
  return lemnos_status_annotate(s, "after pass %s", pass);
}

static lemnos_status round_trip(runner *r, const char *pass) {
  strbuf first = {0}, second = {0};
  hlo_print_module(&first, r->m, NULL);
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  hlo_module *again;
  lemnos_status s = hlo_parse(a, STRV("round trip"), strbuf_view(&first), &sink, &again);
  if (!s) {
    hlo_print_module(&second, again, NULL);
    if (!strv_eq(strbuf_view(&first), strbuf_view(&second)))
      s = lemnos_status_make(LEMNOS_INTERNAL, "the module changes when printed and parsed");
  }
  diag_sink_deinit(&sink);
  arena_destroy(a);
  strbuf_deinit(&first);
  strbuf_deinit(&second);
  return lemnos_status_annotate(s, "after pass %s", pass);
}

static void dump(runner *r, const hlo_pass_info *p) {
  strv want = r->o->dump_after;
  if (!r->o->dump || !(strv_eq_cstr(want, "all") || strv_eq_cstr(want, p->name))) return;
  strbuf_printf(r->o->dump, "// after %s\n", p->name);
  hlo_print_module(r->o->dump, r->m, &(hlo_print_options){.literal_limit = 16});
}

static lemnos_status run_pass(runner *r, const hlo_pass_info *p, bool *changed) {
  if (p->needs_target && !r->ctx.target) return LEMNOS_SUCCESS;
  bool pass_changed = false;
  double start = r->o->time_passes ? io_seconds() : 0;
  r->ctx.scratch = arena_create();
  lemnos_status s = p->run(&r->ctx, r->m, &pass_changed);
  arena_destroy(r->ctx.scratch);
  if (r->o->time_passes && r->o->dump)
    strbuf_printf(r->o->dump, "// %9.3f ms %s\n", (io_seconds() - start) * 1e3, p->name);
  LEMNOS_TRY(lemnos_status_annotate(s, "pass %s", p->name));
  *changed |= pass_changed;
  if (r->o->verify_each) LEMNOS_TRY(verify(r, p->name));
  if (r->o->round_trip_each) LEMNOS_TRY(round_trip(r, p->name));
  if (pass_changed && r->o->after_pass) LEMNOS_TRY(r->o->after_pass(r->o->user, p->name, r->m));
  dump(r, p);
  return LEMNOS_SUCCESS;
}

static lemnos_status run_list(runner *r, strv list, bool *changed);

static lemnos_status run_fix(runner *r, strv list, bool *changed) {
  for (int round = 0; round < FIX_LIMIT; round++) {
    bool again = false;
    LEMNOS_TRY(run_list(r, list, &again));
    *changed |= again;
    if (!again) break;
  }
  return LEMNOS_SUCCESS;
}

// Cuts the first element off a list, minding parentheses.
static strv next_element(strv *list) {
  size_t depth = 0, n = 0;
  for (; n < list->len; n++) {
    char c = list->data[n];
    if (c == '(') depth++;
    if (c == ')' && depth) depth--;
    if (c == ',' && !depth) break;
  }
  strv head = strv_trim(strv_take(*list, n));
  *list = strv_drop(*list, n < list->len ? n + 1 : n);
  return head;
}

static lemnos_status run_list(runner *r, strv list, bool *changed) {
  while (list.len) {
    strv name = next_element(&list);
    if (!name.len) continue;
    if (strv_eq_cstr(name, "default")) {
      LEMNOS_TRY(run_list(r, strv_from_cstr(hlo_default_pipeline), changed));
    } else if (strv_starts_with(name, STRV("fix(")) && strv_ends_with(name, STRV(")"))) {
      LEMNOS_TRY(run_fix(r, strv_take(strv_drop(name, 4), name.len - 5), changed));
    } else {
      const hlo_pass_info *p = find_pass(name);
      if (!p) return unknown_pass(name);
      LEMNOS_TRY(run_pass(r, p, changed));
    }
  }
  return LEMNOS_SUCCESS;
}

lemnos_status hlo_run_pipeline(hlo_module *m, const hlo_pipeline_options *options) {
  runner r = {.m = m, .o = options};
  r.ctx = (hlo_pass_ctx){.target = options->target,
                         .fold_budget = options->fold_budget ? options->fold_budget : 16 << 20,
                         .can_fuse = options->can_fuse,
                         .bisect_limit = options->opt_bisect_limit};
  strv passes = options->passes.len ? options->passes : strv_from_cstr(hlo_default_pipeline);
  if (options->dump_after.len && !strv_eq_cstr(options->dump_after, "all") && !find_pass(options->dump_after))
    return unknown_pass(options->dump_after);
  bool changed = false;
  return run_list(&r, passes, &changed);
}

lemnos_status hlo_run_inliner(hlo_module *m) {
  hlo_pipeline_options o = {.passes = STRV("call-inliner,dce"), .opt_bisect_limit = -1};
  return hlo_run_pipeline(m, &o);
}
