// SPDX-License-Identifier: Apache-2.0
// The plan: what an executable does, step by step, with nested lists for while and conditional.
//
// Independent of the device that runs it: kernels are named by number, memory by slices. Built by runtime/plan_build.c
// from a buffer-assigned module; run by runtime/plan_run.c through a device's queue (backend.h). Immutable once built.
#ifndef RUNTIME_PLAN_H
#define RUNTIME_PLAN_H

#include "hlo/hlo.h"
#include "hlo/kernel/kernel.h"

typedef enum plan_space {
  PLAN_ARENA,     // one allocation per execution, plan->arena_bytes
  PLAN_PARAM,     // argument leaf
  PLAN_RESULT,    // result leaf
  PLAN_CONSTANT,  // one allocation per executable, uploaded at load; plan->constant_bytes
} plan_space;

typedef struct plan_slice {
  plan_space space;
  int32_t index;   // of the parameter or result leaf; 0 otherwise
  int64_t offset;  // bytes
  int64_t size;    // bytes
} plan_slice;

typedef enum plan_step_kind { PLAN_LAUNCH, PLAN_COPY, PLAN_HOST, PLAN_WHILE, PLAN_CONDITIONAL } plan_step_kind;

typedef struct plan_step plan_step;
typedef struct plan_list {
  plan_step *steps;
  int32_t n;
} plan_list;

struct plan_step {
  plan_step_kind kind;
  const hlo_instr *instr;  // what it came from: names, locations, --explain, --profile
  union {
    struct {
      int32_t kernel;    // number in plan->kernels
      plan_slice *args;  // kernel->n_params
    } launch;
    struct {
      plan_slice dst, src;  // equal sizes, no overlap
    } copy;
    struct {
      int32_t program;  // number in plan->host_programs
      plan_slice *args, *results;
      int32_t n_args, n_results;
      const char *reason;  // why it is not on the device
    } host;
    struct {
      plan_slice pred;  // one byte, written by cond
      plan_list cond, body;
      int64_t trip_count;  // known: cond need not run; -1 unknown
    } loop;
    struct {
      plan_slice selector;  // one byte (pred: nonzero takes branch 0) or an s32 (out of range takes the last)
      bool is_pred;
      plan_list *branches;
      int32_t n_branches;
    } conditional;
  };
};

typedef struct plan_leaf {  // of arguments and results
  const hlo_shape *shape;
  int32_t alias;  // result: argument leaf whose buffer it takes over, or -1
  bool donated;   // argument: may be overwritten
} plan_leaf;

struct interp_program;

typedef struct plan {
  arena *arena;
  const hlo_module *module;  // optimized; kept for names and locations
  plan_list main;
  kernel **kernels;  // distinct ones
  int32_t n_kernels;
  struct interp_program **host_programs;
  hlo_module **host_modules;  // what they run
  int32_t n_host_programs;
  plan_leaf *params, *results;
  int32_t n_params, n_results;
  int64_t arena_bytes, peak_live_bytes, scratch_bytes;  // scratch is part of arena_bytes
  int64_t constant_bytes;
  const hlo_literal **constants;  // at constant_offsets
  int64_t *constant_offsets;
  int32_t n_constants;
} plan;

void plan_print(strbuf *out, const plan *p);  // --emit=plan, --explain

#endif
