// SPDX-License-Identifier: Apache-2.0
// The live set of a program: the least memory that it needs with its order of instructions. It is the maximum over the
// instructions of the bytes of all values that are live there: values computed before and read later (or results of the
// program), the operands and the results of the instruction itself, all arguments and constants during the whole run.
//
// Computed by going through the bytecode with sizes instead of data. Aliases (reshape, tuple elements, carried values
// of loops) are one value. A result takes its operand's place where that dies and the operation can overwrite it. A
// loop's body is gone through twice, since what aliases what may change after the first step. What an instruction needs
// for itself while it runs (packed copies, wider sums) is not live: that is what a peak is allowed above this.
#include "interp/interp_internal.h"

typedef struct live_value {
  int64_t bytes;
  int32_t refs;
  bool owned;
} live_value;

typedef struct live_run {
  arena *a;
  int64_t now, peak;
  bool unknown;
} live_run;

static live_value *make(live_run *r, int64_t bytes, bool owned) {
  live_value *v = ARENA_NEW(r->a, live_value);
  *v = (live_value){bytes, 1, owned};
  if (owned) r->now += bytes;
  if (r->now > r->peak) r->peak = r->now;
  return v;
}

static void drop(live_run *r, live_value **v) {
  if (*v && --(*v)->refs == 0 && (*v)->owned) r->now -= (*v)->bytes;
  *v = NULL;
}

static live_value *share(live_value *v) {
  if (v) v->refs++;
  return v;
}

static int64_t bytes_of(live_run *r, const interp_type *t) {
  if (!t->is_static) r->unknown = true;
  return t->is_static ? t->n * hlo_dtype_bytes(t->dtype) : 0;
}

static void run_code(live_run *r, const interp_code *code, live_value **args, live_value **results, int depth);

static live_value *take(const interp_insn *in, live_value **regs, int k) {
  live_value **from = &regs[in->args[k]], *v = *from;
  if (!in->dies[k]) return share(v);
  *from = NULL;
  return v;
}

static void run_while(live_run *r, const interp_insn *in, live_value **regs, live_value **out, int depth) {
  int n = in->n_args;
  live_value **state = ARENA_ARRAY(r->a, live_value *, 2 * n + 1), **next = state + n, *pred[1];
  for (int k = 0; k < n; k++) state[k] = take(in, regs, k);
  for (int step = 0; step < 2; step++) {
    for (int k = 0; k < n; k++) next[k] = share(state[k]);
    run_code(r, in->subs[0], next, pred, depth);
    drop(r, &pred[0]);
    for (int k = 0; k < n; k++)
      if (in->subs[0]->param_regs[k] >= 0) drop(r, &next[k]);  // a condition keeps its parameters
    run_code(r, in->subs[1], state, next, depth);
    memcpy(state, next, sizeof *state * (size_t)n);
  }
  memcpy(out, state, sizeof *state * (size_t)n);
}

// All branches, each with the arguments as they are; the results are the last one's.
static void run_conditional(live_run *r, const interp_insn *in, live_value **regs, live_value **out, int depth) {
  int first = 1;
  for (int b = 0; b < in->n_subs; b++) {
    const interp_code *code = in->subs[b];
    live_value **args = ARENA_ARRAY(r->a, live_value *, code->n_params + 1);
    for (int k = 0; k < code->n_params; k++) args[k] = share(regs[in->args[first + k]]);
    if (b > 0)
      for (int k = 0; k < in->n_results; k++) drop(r, &out[k]);
    run_code(r, code, args, out, depth);
    first += code->n_params;
  }
}

static bool overwrites(const interp_insn *in, live_value **regs, int k, int arg) {
  const live_value *v = regs[in->args[arg]];
  const interp_type *from = &in->arg_types[arg], *to = &in->result_types[k];
  bool same = hlo_dtype_bytes(from->dtype) == hlo_dtype_bytes(to->dtype) && from->n == to->n;
  return same && in->dies[arg] && v && v->owned && v->refs == 1;
}

static live_value *make_result(live_run *r, const interp_insn *in, live_value **regs, int k) {
  const interp_type *t = &in->result_types[k];
  int any = in->in_place[k] == INTERP_IN_PLACE_ANY, first = any ? 0 : in->in_place[k];
  for (int a = first; a >= 0 && a < (any ? in->n_args : first + 1); a++)
    if (overwrites(in, regs, k, a)) return share(regs[in->args[a]]);
  return make(r, bytes_of(r, t), true);
}

static void run_insn(live_run *r, const interp_insn *in, live_value **regs, int depth) {
  live_value **out = ARENA_ARRAY(r->a, live_value *, in->n_results + 1);
  hlo_op op = in->src->op;
  if (op == HLO_OP_WHILE) {
    run_while(r, in, regs, out, depth);
  } else if (op == HLO_OP_CONDITIONAL) {
    run_conditional(r, in, regs, out, depth);
  } else if (in->fn == interp_run_call) {
    live_value **args = ARENA_ARRAY(r->a, live_value *, in->n_args + 1);
    for (int k = 0; k < in->n_args; k++) args[k] = take(in, regs, k);
    run_code(r, in->subs[0], args, out, depth);
  } else if (in->fn == interp_alias_reshape) {
    out[0] = take(in, regs, 0);
  } else if (op == HLO_OP_CONSTANT && !(hlo_constant_value(in->src)->splat && in->result_types[0].n > 1)) {
    out[0] = make(r, 0, false);  // counted with the program
  } else {
    for (int k = 0; k < in->n_results; k++) out[k] = make_result(r, in, regs, k);
  }
  for (int k = 0; k < in->n_args; k++)
    if (in->dies[k]) drop(r, &regs[in->args[k]]);
  for (int k = 0; k < in->n_results; k++) regs[in->results[k]] = out[k];
  for (int k = 0; k < in->n_release; k++) drop(r, &regs[in->release[k]]);
}

static void run_code(live_run *r, const interp_code *code, live_value **args, live_value **results, int depth) {
  live_value **regs = ARENA_ARRAY(r->a, live_value *, code->n_regs + 1);
  for (int k = 0; k < code->n_params; k++) {
    if (code->param_regs[k] >= 0)
      regs[code->param_regs[k]] = args[k];
    else
      drop(r, &args[k]);
  }
  for (int t = 0; t < code->n_insns; t++) run_insn(r, &code->insns[t], regs, depth + 1);
  for (int k = 0; k < code->n_results; k++) results[k] = share(regs[code->result_regs[k]]);
  for (int k = 0; k < code->n_results; k++) {
    live_value **v = &regs[code->result_regs[k]];
    if (*v && !code->result_shared[k])
      drop(r, v);
    else if (*v)
      (*v)->refs--;
  }
}

int64_t interp_program_constant_bytes(const interp_program *p) {
  int64_t sum = 0;
  for (int c = 0; c < p->n_codes; c++)
    for (int t = 0; t < p->codes[c]->n_insns; t++) {
      const interp_insn *in = &p->codes[c]->insns[t];
      if (in->src->op != HLO_OP_CONSTANT) continue;
      const interp_type *type = &in->result_types[0];
      sum += (hlo_constant_value(in->src)->splat ? 1 : type->n) * hlo_dtype_bytes(type->dtype);
    }
  return sum;
}

int64_t interp_program_live_bytes(const interp_program *p) {
  const interp_code *entry = p->entry;
  if (interp_program_is_parallel(p)) return -1;
  live_run r = {.a = arena_create()};
  live_value **args = ARENA_ARRAY(r.a, live_value *, entry->n_params + 1),
             **results = ARENA_ARRAY(r.a, live_value *, entry->n_results + 1);
  int64_t given = interp_program_constant_bytes(p);
  for (int k = 0; k < entry->n_params; k++) {
    args[k] = make(&r, 0, false);
    given += bytes_of(&r, &entry->param_types[k]);
  }
  run_code(&r, entry, args, results, 0);
  int64_t copies = 0;  // results that are arguments or constants: the caller gets memory of its own
  for (int k = 0; k < entry->n_results; k++)
    if (results[k] && !results[k]->owned) copies += bytes_of(&r, &entry->result_types[k]);
  int64_t peak = r.peak > r.now + copies ? r.peak : r.now + copies;
  arena_destroy(r.a);
  return r.unknown ? -1 : given + peak;
}
