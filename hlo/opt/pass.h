// SPDX-License-Identifier: Apache-2.0
// Passes: one signature, one file each, listed in passes.def; pipelines are lists of names; one runner does
// verification, dumps, timing and bisection.
//
// A pass says in its header comment what it needs and what it leaves. It sets *changed truly. No pass changes a value:
// x + 0.0, x * 0.0, reassociation and the like are rewritten only where IEEE 754 makes them exact.
#ifndef HLO_OPT_PASS_H
#define HLO_OPT_PASS_H

#include "hlo/hlo.h"
#include "hlo/target.h"

typedef struct hlo_pass_ctx {
  arena *scratch;            // emptied after the pass
  const hlo_target *target;  // NULL for target-independent pipelines
  int64_t fold_budget;       // constant folding: bytes of results it may make in all
  // May `i` join an elementwise fusion on the target? Set by whoever has the kernel lowering (hlo/kernel/lower.h);
  // NULL: the op traits decide.
  bool (*can_fuse)(const hlo_target *t, const hlo_instr *i);
  // --opt-bisect-limit: passes ask before each rewrite group whether it is still allowed. Counts up. -1: no limit.
  int64_t bisect_limit, bisect_count;
} hlo_pass_ctx;

typedef lemnos_status (*hlo_pass_fn)(hlo_pass_ctx *ctx, hlo_module *m, bool *changed);

typedef struct hlo_pass_info {
  const char *name;  // "algebraic-simplifier": XLA's names where XLA has the pass
  hlo_pass_fn run;
  const char *summary;
  bool needs_target;
} hlo_pass_info;

// All passes, from passes.def: P(name, function, "summary", needs_target)
extern const hlo_pass_info hlo_pass_table[];
extern const int hlo_pass_count;

typedef struct hlo_pipeline_options {
  strv passes;               // comma-separated names, "default" included as an element; empty: the default pipeline
  strv dump_after;           // pass name, or "all"; empty: none
  strbuf *dump;              // receives dumps
  int64_t opt_bisect_limit;  // -1: none
  int64_t fold_budget;       // bytes of results that constant folding may make; 0: the default, -1: none
  bool verify_each;          // after every pass (default in debug builds)
  bool round_trip_each;      // print, parse, compare after every pass
  bool time_passes;          // a table of milliseconds into dump
  const hlo_target *target;
  bool (*can_fuse)(const hlo_target *t, const hlo_instr *i);
  // Called after each pass that changed something (debug: compare with the oracle); may be NULL.
  lemnos_status (*after_pass)(void *user, const char *pass, const hlo_module *m);
  void *user;
} hlo_pipeline_options;

// The default pipeline ends with a module that is fused, copy-inserted and scheduled for buffer assignment
// (hlo/analysis/buffers.h) when options->target is given; target-independent simplification otherwise.
LEMNOS_NODISCARD lemnos_status hlo_run_pipeline(hlo_module *m, const hlo_pipeline_options *options);
extern const char *const hlo_default_pipeline;  // names, comma-separated, readable on one screen
// Inlining only what every consumer wants inlined (calls, composites by their decomposition): the oracle's front half.
LEMNOS_NODISCARD lemnos_status hlo_run_inliner(hlo_module *m);

#endif
