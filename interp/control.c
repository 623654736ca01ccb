// SPDX-License-Identifier: Apache-2.0
// while, conditional, call, composite, fusion, and tokens. Called computations run in frames of their own; arguments
// are handed over (moved where they die), results come back, nothing is copied. A while loop keeps one frame for all
// iterations and moves its carried values in and out of it, so that a body that updates them can do so in place.
#include "interp/interp_internal.h"

lemnos_status interp_run_call(interp_call *c) {
  const interp_insn *in = c->in;
  interp_frame f = {0};
  interp_value *args = calloc((size_t)(in->n_args + in->n_results) + 1, sizeof *args), *results = args + in->n_args;
  if (!args) return interp_error(c, LEMNOS_OUT_OF_MEMORY, "no memory for a frame");
  lemnos_status s = interp_frame_init(c->cx, &f, in->subs[0]);
  if (!s) {
    for (int k = 0; k < in->n_args; k++) interp_take_arg(c, k, &args[k]);
    s = interp_frame_run(c->cx, &f, args, results);
  }
  for (int k = 0; k < in->n_results && !s; k++) interp_value_move(interp_result_value(c, k), &results[k]);
  for (int k = 0; k < in->n_args; k++) interp_value_release(c->cx, &args[k]);
  interp_frame_deinit(c->cx, &f);
  free(args);
  return s;
}

static lemnos_status loop(interp_call *c, interp_frame *cond, interp_frame *body, interp_value *state,
                          interp_value *next) {
  int n = c->in->n_args;
  interp_progress *progress = interp_progress_loop(c->cx, c->in, state);
  interp_value pred = {0};
  for (;;) {
    LEMNOS_TRY(interp_poll(c->cx));
    for (int k = 0; k < n; k++)
      if (cond->code->param_regs[k] >= 0) interp_value_share(&next[k], &state[k]);
    LEMNOS_TRY(interp_frame_run(c->cx, cond, next, &pred));
    bool go = *(const uint8_t *)pred.a.data != 0;
    interp_value_release(c->cx, &pred);
    if (!go) break;
    LEMNOS_TRY(interp_frame_run(c->cx, body, state, next));
    for (int k = 0; k < n; k++) interp_value_move(&state[k], &next[k]);
    if (progress) interp_progress_step(&progress->trip);
  }
  if (progress) interp_progress_set(&progress->trips, 0);
  return LEMNOS_SUCCESS;
}

static lemnos_status run_while(interp_call *c) {
  const interp_insn *in = c->in;
  int n = in->n_args;
  interp_frame cond = {0}, body = {0};
  interp_value *state = calloc((size_t)(2 * n) + 1, sizeof *state), *next = state + n;
  if (!state) return interp_error(c, LEMNOS_OUT_OF_MEMORY, "no memory for a frame");
  lemnos_status s = interp_frame_init(c->cx, &cond, in->subs[0]);
  if (!s) s = interp_frame_init(c->cx, &body, in->subs[1]);
  if (!s) {
    for (int k = 0; k < n; k++) interp_take_arg(c, k, &state[k]);
    s = loop(c, &cond, &body, state, next);
  }
  for (int k = 0; k < n && !s; k++) interp_value_move(interp_result_value(c, k), &state[k]);
  for (int k = 0; k < 2 * n; k++) interp_value_release(c->cx, &state[k]);
  interp_frame_deinit(c->cx, &cond);
  interp_frame_deinit(c->cx, &body);
  free(state);
  return s;
}

// A pred selects branch 0 when true; an index out of range selects the last branch.
static lemnos_status run_conditional(interp_call *c) {
  const interp_insn *in = c->in;
  const interp_array *selector = interp_arg(c, 0);
  int64_t which = interp_index_get(selector, 0);
  if (selector->dtype == HLO_PRED)
    which = which ? 0 : 1;
  else if (which < 0 || which >= in->n_subs)
    which = in->n_subs - 1;
  const interp_code *code = in->subs[which];
  int first = 1;
  for (int k = 0; k < which; k++) first += in->subs[k]->n_params;
  interp_frame f = {0};
  interp_value *args = calloc((size_t)(code->n_params + in->n_results) + 1, sizeof *args),
               *results = args + code->n_params;
  if (!args) return interp_error(c, LEMNOS_OUT_OF_MEMORY, "no memory for a frame");
  lemnos_status s = interp_frame_init(c->cx, &f, code);
  if (!s) {
    for (int k = 0; k < code->n_params; k++) {
      int a = first + k;
      bool moved_later = false;  // the register may be listed again for this branch
      for (int b = a + 1; b < first + code->n_params; b++) moved_later = moved_later || in->args[b] == in->args[a];
      if (moved_later)
        interp_value_share(&args[k], interp_arg_value(c, a));
      else
        interp_take_arg(c, a, &args[k]);
    }
    s = interp_frame_run(c->cx, &f, args, results);
  }
  for (int k = 0; k < in->n_results && !s; k++) interp_value_move(interp_result_value(c, k), &results[k]);
  for (int k = 0; k < code->n_params; k++) interp_value_release(c->cx, &args[k]);
  interp_frame_deinit(c->cx, &f);
  free(args);
  return s;
}

static lemnos_status run_token(interp_call *c) {
  interp_array_set_type(interp_result(c, 0), HLO_TOKEN, 0, NULL);
  return LEMNOS_SUCCESS;
}

lemnos_status interp_compile_control(interp_compiler *c, interp_insn *in) {
  const hlo_instr *i = in->src;
  if (i->op == HLO_OP_AFTER_ALL || i->op == HLO_OP_CREATE_TOKEN) {
    in->fn = run_token;
    return LEMNOS_SUCCESS;
  }
  const interp_code **subs = ARENA_ARRAY(c->a, const interp_code *, i->n_called + 1);
  for (int k = 0; k < i->n_called; k++) LEMNOS_TRY(interp_compile_computation(c, i->called[k], &subs[k]));
  interp_insn_set_subs(c, in, i->n_called, subs);
  in->flags |= INTERP_SELF_ALLOC;
  switch (i->op) {
    case HLO_OP_WHILE:
      if (in->n_subs != 2 || subs[0]->n_params != in->n_args || subs[1]->n_params != in->n_args ||
          subs[1]->n_results != in->n_args)
        return interp_refuse(i, "carried values do not match");
      in->fn = run_while;
      return LEMNOS_SUCCESS;
    case HLO_OP_CONDITIONAL:
      in->fn = run_conditional;
      return LEMNOS_SUCCESS;
    case HLO_OP_CALL:
    case HLO_OP_COMPOSITE:
    case HLO_OP_FUSION:
      in->fn = interp_run_call;
      return LEMNOS_SUCCESS;
    default:
      return interp_refuse(i, "operation is not supported");
  }
}
