// SPDX-License-Identifier: Apache-2.0
// while, conditional, call, composite, fusion, and tokens. Called computations run in frames of their own; arguments
// are handed over (moved where they die), results come back, nothing is copied. A while loop keeps a frame of its body
// for all iterations and moves its carried values within it, so that a body that updates them can do so in place; its
// condition has a frame that only borrows them.
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

// How a result of the body becomes the next iteration's parameter.
enum { STAYS, SHARED, MOVED };

typedef struct while_plan {
  uint8_t *how;  // per carried value
} while_plan;

// A value that the body hands on as it is stays in its register.
static void plan_while(interp_compiler *c, interp_insn *in, const interp_code *body) {
  while_plan *w = ARENA_NEW(c->a, while_plan);
  w->how = ARENA_ARRAY(c->a, uint8_t, in->n_args + 1);
  for (int k = 0; k < in->n_args; k++)
    w->how[k] = body->result_param[k] == k ? STAYS : body->result_shared[k] ? SHARED : MOVED;
  for (int k = 0; k < in->n_args; k++) {
    if (w->how[k] != STAYS) continue;
    for (int j = 0; j < in->n_args; j++)
      if (w->how[j] == MOVED && body->result_regs[j] == body->result_regs[k]) w->how[j] = SHARED;
  }
  in->aux = w;
}

// The condition's register shows what `value` holds, without counting: a condition neither releases nor overwrites its
// parameters. Nor does it use their registers for anything else, so that a static type is set once.
static inline void lend(interp_frame *cond, int k, const interp_value *value, bool first) {
  int32_t r = cond->code->param_regs[k];
  if (r < 0) return;
  interp_value *to = &cond->regs[r];
  if (first || !cond->code->param_types[k].is_static)
    interp_array_set_type(&to->a, value->a.dtype, value->a.rank, value->a.dims);
  to->a.data = value->a.data;
  to->buf = value->buf;
}

static void take_back(interp_frame *cond) {
  for (int k = 0; k < cond->code->n_params; k++)
    if (cond->code->param_regs[k] >= 0) cond->regs[cond->code->param_regs[k]].buf = NULL;
}

static lemnos_status test(interp_ctx *cx, interp_frame *cond, bool *go) {
  LEMNOS_TRY(interp_frame_step(cx, cond));
  interp_value *pred = &cond->regs[cond->code->result_regs[0]];
  *go = *(const uint8_t *)pred->a.data != 0;
  if (cond->code->result_param[0] < 0 && !cond->code->result_shared[0]) interp_value_release(cx, pred);
  return LEMNOS_SUCCESS;
}

// The carried values are in `state` when the condition is tested, but for those that stay: they are in the body's
// registers from the first iteration on.
static lemnos_status loop(interp_call *c, interp_frame *cond, interp_frame *body, interp_value *state) {
  const while_plan *w = c->in->aux;
  const interp_code *code = body->code;
  int n = c->in->n_args;
  interp_progress *progress = interp_progress_loop(c->cx, c->in, state);
  bool go;
  for (int k = 0; k < n; k++)
    if (w->how[k] == STAYS) {
      interp_value_move(&body->regs[code->param_regs[k]], &state[k]);
      lend(cond, k, &body->regs[code->param_regs[k]], true);
    }
  for (bool first = true;; first = false) {
    LEMNOS_TRY(interp_poll_often(c->cx));
    for (int k = 0; k < n; k++)
      if (w->how[k] != STAYS) lend(cond, k, &state[k], first);
    LEMNOS_TRY(test(c->cx, cond, &go));
    if (!go) break;
    for (int k = 0; k < n; k++) {
      if (w->how[k] == STAYS) continue;
      if (code->param_regs[k] >= 0)
        interp_value_move(&body->regs[code->param_regs[k]], &state[k]);
      else
        interp_value_release(c->cx, &state[k]);
    }
    LEMNOS_TRY(interp_frame_step(c->cx, body));
    for (int k = 0; k < n; k++) {
      if (w->how[k] == MOVED)
        interp_value_move(&state[k], &body->regs[code->result_regs[k]]);
      else if (w->how[k] == SHARED)
        interp_value_share(&state[k], &body->regs[code->result_regs[k]]);
    }
    if (progress) interp_progress_step(&progress->trip);
  }
  for (int k = 0; k < n; k++)
    if (w->how[k] == STAYS) interp_value_move(&state[k], &body->regs[code->param_regs[k]]);
  if (progress) interp_progress_set(&progress->trips, 0);
  return LEMNOS_SUCCESS;
}

static lemnos_status run_while(interp_call *c) {
  const interp_insn *in = c->in;
  int n = in->n_args;
  if (c->cx->depth >= INTERP_MAX_DEPTH) return interp_error(c, LEMNOS_UNIMPLEMENTED, "calls nested too deep");
  interp_frame cond = {0}, body = {0};
  interp_value *state = calloc((size_t)n + 1, sizeof *state);
  if (!state) return interp_error(c, LEMNOS_OUT_OF_MEMORY, "no memory for a frame");
  lemnos_status s = interp_frame_init(c->cx, &cond, in->subs[0]);
  if (!s) s = interp_frame_init(c->cx, &body, in->subs[1]);
  if (!s) {
    for (int k = 0; k < n; k++) interp_take_arg(c, k, &state[k]);
    c->cx->depth++;
    s = loop(c, &cond, &body, state);
    c->cx->depth--;
    take_back(&cond);
  }
  for (int k = 0; k < n && !s; k++) interp_value_move(interp_result_value(c, k), &state[k]);
  for (int k = 0; k < n; k++) interp_value_release(c->cx, &state[k]);
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
  for (int k = 0; k < i->n_called; k++) {
    bool loops = i->op == HLO_OP_WHILE;
    interp_code_use use = !loops ? INTERP_CODE_ONCE : k == 0 ? INTERP_CODE_CONDITION : INTERP_CODE_BODY;
    LEMNOS_TRY(interp_compile_code(c, i->called[k], use, &subs[k]));
  }
  interp_insn_set_subs(c, in, i->n_called, subs);
  in->flags |= INTERP_SELF_ALLOC;
  switch (i->op) {
    case HLO_OP_WHILE:
      if (in->n_subs != 2 || subs[0]->n_params != in->n_args || subs[1]->n_params != in->n_args ||
          subs[1]->n_results != in->n_args || subs[0]->n_results != 1)
        return interp_refuse(i, "carried values do not match");
      plan_while(c, in, subs[1]);
      in->fn = run_while;
      return LEMNOS_SUCCESS;
    case HLO_OP_CONDITIONAL: in->fn = run_conditional; return LEMNOS_SUCCESS;
    case HLO_OP_CALL:
    case HLO_OP_COMPOSITE:
    case HLO_OP_FUSION: in->fn = interp_run_call; return LEMNOS_SUCCESS;
    default: return interp_refuse(i, "operation is not supported");
  }
}
