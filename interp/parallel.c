// SPDX-License-Identifier: Apache-2.0
// Custom calls that run a grid of processes of their own: StableHLO's interpreter dialect, which its own tests are
// written with, and what import makes of sdy.manual_computation.
//
//   interpreter.run_parallel     runs the called computations as the processes of a grid, replicas x partitions of them
//                                by replica, then partition; the operands are the arguments of all of them in that
//                                order, and so the results. What is called beyond them computes the infeed queue.
//   sdy.manual_computation       runs the called computation on `devices` partitions, all with these operands; of the
//                                results the first one's are kept
//   interpreter.probe            remembers its operand's value under a name
//   check.expect_serialized_eq   compares with what a probe of that name saw, the `iteration`-th time
#include "interp/grid.h"

typedef struct parallel {
  int32_t n_replicas, n_partitions, n_infeed;
} parallel;

static strv entry(const interp_insn *in, const char *name) {
  const hlo_dict *d = &HLO_ATTRS(in->src, custom_call)->attributes;
  for (int k = 0; k < d->n; k++)
    if (strv_eq_cstr(d->entries[k].name, name)) return d->entries[k].value;
  return (strv){0};
}

static int64_t int_entry(const interp_insn *in, const char *name) {
  int64_t x = 0;
  strv text = entry(in, name), number, type;
  if (strv_split(text, ':', &number, &type)) text = strv_trim(number);  // "2 : i64"
  return text.len && hlo_element_parse(HLO_S64, text, &x, 0) ? x : 0;
}

// --- run_parallel --------------------------------------------------------------------------------

lemnos_status interp_compile_run_parallel(interp_compiler *c, interp_insn *in) {
  const hlo_instr *i = in->src;
  int64_t r = int_entry(in, "replicas"), p = int_entry(in, "partitions");
  if (r < 1 || p < 1 || r > INTERP_MAX_DEVICES || p > INTERP_MAX_DEVICES / r || r * p > i->n_called)
    return interp_refuse(i, "a grid of %lld x %lld processes of %d programs", (long long)r, (long long)p, i->n_called);
  const interp_code **subs = ARENA_ARRAY(c->a, const interp_code *, i->n_called);
  parallel *v = ARENA_NEW(c->a, parallel);
  *v = (parallel){.n_replicas = (int32_t)r, .n_partitions = (int32_t)p, .n_infeed = i->n_called - (int32_t)(r * p)};
  in->aux = v;
  // The programs' own meetings are within this call: they do not make the module one for several devices.
  bool meets = c->meets;
  int n_args = 0, n_results = 0;
  for (int k = 0; k < i->n_called; k++) {
    LEMNOS_TRY(interp_compile_computation(c, i->called[k], &subs[k]));
    if (k >= r * p) {
      if (subs[k]->n_params) return interp_refuse(i, "an infeed function with parameters");
      continue;
    }
    for (int a = 0; a < subs[k]->n_params; a++, n_args++)
      if (n_args >= in->n_args || !interp_same_type(&subs[k]->param_types[a], &in->arg_types[n_args]))
        return interp_refuse(i, "operand %d is not of the type of its program's parameter", n_args);
    for (int a = 0; a < subs[k]->n_results; a++, n_results++)
      if (n_results >= in->n_results || !interp_same_type(&subs[k]->result_types[a], &in->result_types[n_results]))
        return interp_refuse(i, "result %d is not of the type of its program's result", n_results);
  }
  c->meets = meets;
  if (n_args != in->n_args || n_results != in->n_results)
    return interp_refuse(i, "programs with %d arguments and %d results, found %d and %d", n_args, n_results, in->n_args,
                         in->n_results);
  interp_insn_set_subs(c, in, i->n_called, subs);
  return LEMNOS_SUCCESS;
}

// Runs the functions that give the infeed's values, in order.
static lemnos_status feed(interp_call *c, const interp_code *code, interp_channel *queue) {
  interp_frame f = {0};
  interp_parcel *p = interp_parcel_create(code->n_results);
  lemnos_status s = interp_frame_init(c->cx, &f, code);
  if (!s) s = interp_frame_run(c->cx, &f, NULL, p->values);
  interp_frame_deinit(c->cx, &f);
  if (s)
    interp_parcel_destroy(c->cx, p);
  else
    interp_channel_put(queue, p);
  return s;
}

lemnos_status interp_run_run_parallel(interp_call *c) {
  const interp_insn *in = c->in;
  const parallel *v = in->aux;
  int n = v->n_replicas * v->n_partitions;
  interp_channel queue = {0};
  interp_value *args = calloc((size_t)(in->n_args + in->n_results) + 1, sizeof *args), *results = args + in->n_args;
  if (!args) return interp_error(c, LEMNOS_OUT_OF_MEMORY, "no memory for a frame");
  lemnos_status s = LEMNOS_SUCCESS;
  for (int k = 0; k < v->n_infeed && !s; k++) s = feed(c, in->subs[n + k], &queue);
  if (!s) {
    for (int k = 0; k < in->n_args; k++) interp_take_arg(c, k, &args[k]);
    s = interp_grid_run(c->cx, v->n_replicas, v->n_partitions, in->subs, args, results, v->n_infeed ? &queue : NULL);
  }
  while (queue.first) interp_parcel_destroy(c->cx, interp_channel_take(&queue));
  for (int k = 0; k < in->n_results && !s; k++) interp_value_move(interp_result_value(c, k), &results[k]);
  for (int k = 0; k < in->n_args + in->n_results; k++) interp_value_release(c->cx, &args[k]);
  free(args);
  return s;
}

// --- manual computations -------------------------------------------------------------------------

lemnos_status interp_compile_manual(interp_compiler *c, interp_insn *in) {
  const hlo_instr *i = in->src;
  int64_t n = int_entry(in, "devices");
  const interp_code *code;
  if (i->n_called != 1 || n < 1 || n > INTERP_MAX_DEVICES)
    return interp_refuse(i, "%lld devices, limit %d", (long long)n, INTERP_MAX_DEVICES);
  parallel *v = in->aux = ARENA_NEW(c->a, parallel);
  *v = (parallel){.n_replicas = 1, .n_partitions = (int32_t)n};
  bool meets = c->meets;  // as above
  LEMNOS_TRY(interp_compile_computation(c, i->called[0], &code));
  c->meets = meets;
  bool ok = code->n_params == in->n_args && code->n_results == in->n_results;
  for (int k = 0; ok && k < in->n_args; k++) ok = interp_same_type(&code->param_types[k], &in->arg_types[k]);
  for (int k = 0; ok && k < in->n_results; k++) ok = interp_same_type(&code->result_types[k], &in->result_types[k]);
  if (!ok) return interp_refuse(i, "a computation of another type");
  interp_insn_set_subs(c, in, 1, &code);
  return LEMNOS_SUCCESS;
}

lemnos_status interp_run_manual(interp_call *c) {
  const interp_insn *in = c->in;
  const parallel *v = in->aux;
  int n = v->n_partitions, n_args = n * in->n_args, n_results = n * in->n_results;
  interp_value *args = calloc((size_t)n_args + (size_t)n_results + 1, sizeof *args), *results = args + n_args;
  const interp_code **codes = interp_scratch(c->cx, sizeof(void *) * (size_t)n);
  if (!args || !codes) {
    free(args);
    return interp_error(c, LEMNOS_OUT_OF_MEMORY, "no memory for a frame");
  }
  for (int d = 0; d < n; d++) {
    codes[d] = in->subs[0];
    for (int k = 0; k < in->n_args; k++) interp_value_share(&args[d * in->n_args + k], interp_arg_value(c, k));
  }
  lemnos_status s = interp_grid_run(c->cx, 1, n, codes, args, results, NULL);
  for (int k = 0; k < in->n_results && !s; k++) interp_value_move(interp_result_value(c, k), &results[k]);
  for (int k = 0; k < n_args + n_results; k++) interp_value_release(c->cx, &args[k]);
  free(args);
  return s;
}

// --- probes --------------------------------------------------------------------------------------

lemnos_status interp_compile_probe(interp_compiler *c, interp_insn *in) {
  bool ok = in->n_args == 1 && in->n_results == 1 && interp_same_type(&in->arg_types[0], &in->result_types[0]);
  return ok ? LEMNOS_SUCCESS : interp_refuse(in->src, "a result that is not its operand");
}

lemnos_status interp_run_probe(interp_call *c) {
  interp_shared *shared = c->cx->shared;
  strbuf title = {0};
  strbuf_printf(&title, "probe " STRV_FMT, STRV_ARG(entry(c->in, "probe_id")));
  interp_print_value(c, strbuf_view(&title), interp_arg(c, 0));
  strbuf_deinit(&title);
  if (shared->keep_probes) {
    interp_probe p = {.id = entry(c->in, "probe_id")};
    interp_value_share(&p.value, interp_arg_value(c, 0));
    vec_push(NULL, &shared->probes, p);
  }
  interp_take_arg(c, 0, interp_result_value(c, 0));
  return LEMNOS_SUCCESS;
}

lemnos_status interp_compile_serialized_eq(interp_compiler *c, interp_insn *in) {
  if (in->n_args != 1 || in->n_results != 0) return interp_refuse(in->src, "more than one operand");
  c->keeps_probes = true;
  return LEMNOS_SUCCESS;
}

lemnos_status interp_run_serialized_eq(interp_call *c) {
  const interp_shared *shared = c->cx->shared;
  strv id = entry(c->in, "probe_id");
  int64_t want = int_entry(c->in, "iteration"), at = 0;
  const interp_array *a = interp_arg(c, 0);
  for (int k = 0; k < shared->probes.len; k++) {
    const interp_probe *p = &shared->probes.data[k];
    if (!strv_eq(p->id, id) || at++ != want) continue;
    const interp_array *b = &p->value.a;
    bool same = a->dtype == b->dtype && a->rank == b->rank &&
                !memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank) &&
                !memcmp(a->data, b->data, (size_t)interp_bytes(a));
    return same
               ? LEMNOS_SUCCESS
               : interp_error(c, LEMNOS_CHECK_FAILED, "the value is not what probe \"" STRV_FMT "\" saw", STRV_ARG(id));
  }
  return interp_error(c, LEMNOS_CHECK_FAILED, "probe \"" STRV_FMT "\" saw %lld values, expected more than %lld",
                      STRV_ARG(id), (long long)at, (long long)want);
}
