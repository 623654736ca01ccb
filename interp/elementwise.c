// SPDX-License-Identifier: Apache-2.0
// Elementwise operations: typed loops of hlo/eval.h over whole arrays in chunks, on threads where there is enough work.
// A scalar operand (predicate of select, bounds of clamp) is spread over one block, which the loop then reads again and
// again. An operand that dies and has elements of the result's size is overwritten in place. A few elements are done by
// the run loop itself.
#include "interp/interp_internal.h"

typedef struct elementwise {
  hlo_eval_fn fn;
  hlo_eval_param param;
  int n;
  uint8_t bytes[3], out_bytes;
  int64_t grain;
} elementwise;

typedef struct job {
  const elementwise *e;
  const char *in[3];
  bool scalar[3];
  char *out;
} job;

static void run_range(void *ctx, int64_t begin, int64_t end, int thread) {
  const job *j = ctx;
  const elementwise *e = j->e;
  bool blocks = j->scalar[0] || j->scalar[1] || j->scalar[2];
  int64_t step = blocks ? INTERP_BLOCK : end - begin;
  for (int64_t at = begin; at < end; at += step) {
    int64_t n = end - at < step ? end - at : step;
    const void *in[3];
    for (int k = 0; k < e->n; k++) in[k] = j->scalar[k] ? j->in[k] : j->in[k] + at * e->bytes[k];
    e->fn(&e->param, n, in, j->out + at * e->out_bytes);
  }
}

static lemnos_status run(interp_call *c) {
  const elementwise *e = c->in->aux;
  interp_array *out = interp_result(c, 0);
  int64_t n = interp_count(out);
  if (n == 0) return LEMNOS_SUCCESS;
  job j = {.e = e, .out = out->data};
  for (int k = 0; k < e->n; k++) {
    const interp_array *a = interp_arg(c, k);
    j.in[k] = a->data;
    int64_t count = interp_count(a);
    if (count == n) continue;
    if (count != 1)
      return interp_error(c, LEMNOS_INVALID_ARGUMENT, "operand %d has %lld elements, expected %lld", k,
                          (long long)count, (long long)n);
    size_t bytes = (size_t)e->bytes[k] * INTERP_BLOCK;
    char *block = interp_scratch(c->cx, bytes);
    if (!block) return interp_scratch_failed(c);
    interp_fill(block, a->data, e->bytes[k], n < INTERP_BLOCK ? n : INTERP_BLOCK);
    j.in[k] = block;
    j.scalar[k] = true;
  }
  interp_parallel(c->cx, n, e->grain, run_range, &j);
  return LEMNOS_SUCCESS;
}

// Few elements of static shape: how the run loop does them. NULL: it does not.
static const interp_small *small_plan(interp_compiler *c, const interp_insn *in, const elementwise *e) {
  const interp_type *t = &in->result_types[0];
  if (!t->is_static || t->n < 1 || t->n > INTERP_SMALL) return NULL;
  interp_small *s = ARENA_NEW(c->a, interp_small);
  *s = (interp_small){.fn = e->fn, .param = e->param, .n = (int32_t)t->n};
  s->result_bytes = (int32_t)interp_align((size_t)t->n * e->out_bytes);
  for (int k = 0; k < e->n; k++) {
    const interp_type *a = &in->arg_types[k];
    if (!a->is_static || (a->n != t->n && a->n != 1)) return NULL;
    s->bytes[k] = e->bytes[k];
    s->is_scalar[k] = a->n != t->n;
    s->any_scalar |= s->is_scalar[k];
    s->fits[k] = !s->is_scalar[k] && e->bytes[k] == e->out_bytes;
  }
  return s;
}

lemnos_status interp_compile_elementwise(interp_compiler *c, interp_insn *in) {
  const hlo_instr *i = in->src;
  if (in->n_args < 1 || in->n_args > 3 || in->n_results != 1) return interp_refuse(i, "not an elementwise operation");
  hlo_dtype types[3];
  elementwise *e = ARENA_NEW(c->a, elementwise);
  e->n = in->n_args;
  e->out_bytes = (uint8_t)hlo_dtype_bytes(in->result_types[0].dtype);
  for (int k = 0; k < e->n; k++) {
    types[k] = in->arg_types[k].dtype;
    e->bytes[k] = (uint8_t)hlo_dtype_bytes(types[k]);
  }
  const char *reason = NULL;
  e->fn = hlo_eval_lookup(i->op, i->attrs, e->n, types, in->result_types[0].dtype, &e->param, &reason);
  if (!e->fn) return interp_refuse(i, "not supported for this element type: %s", reason ? reason : "no loop");
  bool cheap = i->op == HLO_OP_ADD || i->op == HLO_OP_SUBTRACT || i->op == HLO_OP_MULTIPLY || i->op == HLO_OP_SELECT ||
               i->op == HLO_OP_COMPARE || i->op == HLO_OP_MAXIMUM || i->op == HLO_OP_MINIMUM;
  e->grain = cheap ? 4 * INTERP_GRAIN : INTERP_GRAIN / 4;
  in->in_place[0] = INTERP_IN_PLACE_ANY;
  in->aux = e;
  in->small = small_plan(c, in, e);
  in->fn = run;
  return LEMNOS_SUCCESS;
}
