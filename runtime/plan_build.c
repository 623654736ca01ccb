// SPDX-License-Identifier: Apache-2.0
// From a buffer-assigned module to a plan: every instruction becomes launches, a copy, a nested list, or, where the
// target has no lowering, a host step with the reason. Kernels are shared when equal. Scratch lies behind the assigned
// arena; it is an instruction's own, so all instructions use the same room.
#include "hlo/kernel/lower.h"
#include "runtime/internal.h"

typedef struct builder {
  arena *arena;
  plan *plan;
  const hlo_buffer_assignment *buffers;
  const hlo_target *target;
  VEC(kernel *) kernels;
  u64map kernel_numbers;  // hash -> first number + 1; equal hashes chain through next_same
  VEC(int32_t) next_same;
  VEC(struct interp_program *) programs;
  VEC(hlo_module *) modules;
  VEC(const hlo_literal *) constants;
  VEC(int64_t) constant_offsets;
} builder;

typedef VEC(plan_step) step_vec;

static int64_t align_up(int64_t x, int64_t to) {
  return (x + to - 1) / to * to;
}

static int add_constant(builder *b, const hlo_literal *l) {
  int64_t bytes = hlo_shape_bytes(l->shape);
  vec_push(b->arena, &b->constants, l);
  vec_push(b->arena, &b->constant_offsets, b->plan->constant_bytes);
  b->plan->constant_bytes += align_up(bytes ? bytes : 1, 256);
  return b->constants.len - 1;
}

static plan_slice slice_of(builder *b, const hlo_instr *i, int leaf) {
  const hlo_buffer *u = &b->buffers->of[i->id][leaf];
  plan_slice s = {.size = u->size};
  switch (u->kind) {
    case HLO_BUFFER_NONE:
      s.space = PLAN_ARENA;
      s.size = 0;
      break;
    case HLO_BUFFER_ARENA:
      s.space = PLAN_ARENA;
      s.offset = u->offset;
      break;
    case HLO_BUFFER_PARAM:
      s.space = PLAN_PARAM;
      s.index = u->index;
      break;
    case HLO_BUFFER_RESULT:
      s.space = PLAN_RESULT;
      s.index = u->index;
      break;
    case HLO_BUFFER_CONSTANT:
      s.space = PLAN_CONSTANT;
      s.offset = b->constant_offsets.data[u->index];
      break;
  }
  return s;
}

static plan_slice operand_leaf(builder *b, const hlo_instr *i, int leaf) {
  for (int o = 0; o < i->n_operands; o++) {
    int n = hlo_shape_leaves(i->operands[o]->shape);
    if (leaf < n) return slice_of(b, i->operands[o], leaf);
    leaf -= n;
  }
  LEMNOS_PANIC("operand leaf out of range");
}

static int kernel_number(builder *b, kernel *k) {
  uint64_t hash = kernel_hash(k), first = 0;
  if (u64map_get(&b->kernel_numbers, hash, &first)) {
    for (int32_t n = (int32_t)first; n >= 0; n = b->next_same.data[n])
      if (kernel_equal(b->kernels.data[n], k)) return n;
  } else {
    first = (uint64_t)-1;
  }
  int number = b->kernels.len;
  vec_push(b->arena, &b->kernels, k);
  vec_push(b->arena, &b->next_same, (int32_t)first);
  u64map_put(b->arena, &b->kernel_numbers, hash, (uint64_t)number);
  return number;
}

static lemnos_status emit_launches(builder *b, const hlo_instr *i, const kernel_lowering *low, step_vec *out) {
  int64_t *scratch = ARENA_ARRAY(b->arena, int64_t, low->scratch.len + 1), scratch_end = 0;
  for (int s = 0; s < low->scratch.len; s++) {
    scratch[s] = align_up(b->buffers->arena_bytes, 256) + scratch_end;
    scratch_end += align_up(low->scratch.data[s], 256);
  }
  if (scratch_end > b->plan->scratch_bytes) b->plan->scratch_bytes = scratch_end;
  int first_constant = b->constants.len;
  for (int c = 0; c < low->constants.len; c++) add_constant(b, low->constants.data[c]);
  for (int l = 0; l < low->launches.len; l++) {
    const kernel_launch *launch = &low->launches.data[l];
    kernel *k = launch->kernel;
    plan_step step = {.kind = PLAN_LAUNCH, .instr = i};
    step.launch.kernel = kernel_number(b, k);
    step.launch.args = ARENA_ARRAY(b->arena, plan_slice, k->n_params + 1);
    for (int p = 0; p < k->n_params; p++) {
      const kernel_arg *arg = &launch->args[p];
      plan_slice s = {0};
      switch (arg->kind) {
        case KERNEL_ARG_OPERAND: s = operand_leaf(b, i, arg->index); break;
        case KERNEL_ARG_RESULT: s = slice_of(b, i, arg->index); break;
        case KERNEL_ARG_SCRATCH:
          s = (plan_slice){.space = PLAN_ARENA, .offset = scratch[arg->index], .size = low->scratch.data[arg->index]};
          break;
        case KERNEL_ARG_CONSTANT:
          s = (plan_slice){.space = PLAN_CONSTANT,
                           .offset = b->constant_offsets.data[first_constant + arg->index],
                           .size = hlo_shape_bytes(low->constants.data[arg->index]->shape)};
          break;
      }
      s.offset += arg->offset;
      s.size = k->params[p].n_elems * kernel_scalar_table[k->params[p].elem].bytes;
      step.launch.args[p] = s;
    }
    vec_push(b->arena, out, step);
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status emit_host(builder *b, const hlo_instr *i, const char *reason, step_vec *out) {
  hlo_module *m = host_step_module(b->arena, i);
  struct interp_program *program;
  LEMNOS_TRY(lemnos_status_annotate(interp_compile(m, &program), "%s has no kernel (%s) and no host form", i->name.data,
                                    reason));
  plan_step step = {.kind = PLAN_HOST, .instr = i};
  step.host.program = b->programs.len;
  vec_push(b->arena, &b->programs, program);
  vec_push(b->arena, &b->modules, m);
  step.host.reason = arena_printf(b->arena, "%s", reason);
  int n_args = 0;
  for (int o = 0; o < i->n_operands; o++) n_args += hlo_shape_leaves(i->operands[o]->shape);
  step.host.n_args = n_args;
  step.host.args = ARENA_ARRAY(b->arena, plan_slice, n_args + 1);
  for (int l = 0; l < n_args; l++) step.host.args[l] = operand_leaf(b, i, l);
  step.host.n_results = hlo_shape_leaves(i->shape);
  step.host.results = ARENA_ARRAY(b->arena, plan_slice, step.host.n_results + 1);
  for (int l = 0; l < step.host.n_results; l++) step.host.results[l] = slice_of(b, i, l);
  vec_push(b->arena, out, step);
  return LEMNOS_SUCCESS;
}

static lemnos_status emit_computation(builder *b, const hlo_computation *c, plan_list *out);

static lemnos_status emit_while(builder *b, const hlo_instr *i, step_vec *out) {
  plan_step step = {.kind = PLAN_WHILE, .instr = i};
  step.loop.trip_count = HLO_ATTRS(i, while)->known_trip_count;
  step.loop.pred = slice_of(b, i->called[0]->root, 0);
  LEMNOS_TRY(emit_computation(b, i->called[0], &step.loop.cond));
  LEMNOS_TRY(emit_computation(b, i->called[1], &step.loop.body));
  vec_push(b->arena, out, step);
  return LEMNOS_SUCCESS;
}

static lemnos_status emit_conditional(builder *b, const hlo_instr *i, step_vec *out) {
  plan_step step = {.kind = PLAN_CONDITIONAL, .instr = i};
  step.conditional.selector = slice_of(b, i->operands[0], 0);
  step.conditional.is_pred = i->operands[0]->shape->dtype == HLO_PRED;
  step.conditional.n_branches = i->n_called;
  step.conditional.branches = ARENA_ARRAY(b->arena, plan_list, i->n_called);
  for (int n = 0; n < i->n_called; n++) LEMNOS_TRY(emit_computation(b, i->called[n], &step.conditional.branches[n]));
  vec_push(b->arena, out, step);
  return LEMNOS_SUCCESS;
}

static bool same_slice(plan_slice x, plan_slice y) {
  return x.space == y.space && x.index == y.index && x.offset == y.offset;
}

static void emit_copy(builder *b, const hlo_instr *i, step_vec *out) {
  for (int l = 0; l < hlo_shape_leaves(i->shape); l++) {
    plan_slice dst = slice_of(b, i, l), src = slice_of(b, i->operands[0], l);
    if (dst.size == 0 || same_slice(dst, src)) continue;
    plan_step step = {.kind = PLAN_COPY, .instr = i};
    step.copy.dst = dst;
    step.copy.src = src;
    vec_push(b->arena, out, step);
  }
}

static bool is_copy_of_bits(const hlo_instr *i) {
  return i->op == HLO_OP_COPY && i->shape->layout == i->operands[0]->shape->layout;
}

// Nothing to do at run time: the value is another's buffer, or no value at all.
static bool is_free(const hlo_instr *i) {
  switch (i->op) {
    case HLO_OP_PARAMETER:
    case HLO_OP_CONSTANT:
    case HLO_OP_TUPLE:
    case HLO_OP_GET_TUPLE_ELEMENT:
    case HLO_OP_BITCAST:
    case HLO_OP_OPTIMIZATION_BARRIER:
    case HLO_OP_AFTER_ALL:
    case HLO_OP_CREATE_TOKEN: return true;
    default: return false;
  }
}

static lemnos_status emit_instr(builder *b, const hlo_instr *i, step_vec *out) {
  if (is_free(i)) return LEMNOS_SUCCESS;
  if (i->op == HLO_OP_WHILE) return emit_while(b, i, out);
  if (i->op == HLO_OP_CONDITIONAL) return emit_conditional(b, i, out);
  if (is_copy_of_bits(i)) {
    emit_copy(b, i, out);
    return LEMNOS_SUCCESS;
  }
  int leaves = hlo_shape_leaves(i->shape);
  int32_t *aliases = ARENA_ARRAY(b->arena, int32_t, leaves + 1);
  for (int l = 0; l < leaves; l++) aliases[l] = hlo_buffer_shared_operand(b->buffers, i, l);
  kernel_lower_options options = {.result_aliases = aliases};
  kernel_lowering low = {0};
  lemnos_status status = kernel_lower(b->arena, b->target, i, &options, &low);
  if (!status) return emit_launches(b, i, &low, out);
  if (lemnos_status_get_code(status) != LEMNOS_UNIMPLEMENTED)
    return lemnos_status_annotate(status, "lowering %s", i->name.data);
  lemnos_status host = emit_host(b, i, lemnos_status_message(status), out);
  lemnos_status_free(status);
  return host;
}

static lemnos_status emit_computation(builder *b, const hlo_computation *c, plan_list *out) {
  step_vec steps = {0};
  HLO_FOR_EACH (i, c) LEMNOS_TRY(emit_instr(b, i, &steps));
  out->steps = steps.data;
  out->n = steps.len;
  return LEMNOS_SUCCESS;
}

static void describe_leaves(builder *b, const hlo_module *m) {
  plan *p = b->plan;
  p->n_params = b->buffers->n_params;
  p->n_results = b->buffers->n_results;
  p->params = ARENA_ARRAY(b->arena, plan_leaf, p->n_params + 1);
  p->results = ARENA_ARRAY(b->arena, plan_leaf, p->n_results + 1);
  int leaf = 0;
  for (int n = 0; n < m->entry->n_params; n++)
    for (int l = 0; l < hlo_shape_leaves(m->entry->params[n]->shape); l++, leaf++)
      p->params[leaf] = (plan_leaf){.shape = hlo_shape_leaf(m->entry->params[n]->shape, l),
                                    .alias = -1,
                                    .donated = m->param_donated && m->param_donated[n]};
  for (int l = 0; l < p->n_results; l++) {
    p->results[l] = (plan_leaf){.shape = hlo_shape_leaf(m->entry->root->shape, l),
                                .alias = b->buffers->result_alias ? b->buffers->result_alias[l] : -1};
    if (p->results[l].alias >= 0) p->params[p->results[l].alias].donated = true;
  }
}

lemnos_status plan_build(arena *a, const hlo_module *m, const hlo_buffer_assignment *ba, const hlo_target *t,
                         plan **out) {
  plan *p = ARENA_NEW(a, plan);
  builder b = {.arena = a, .plan = p, .buffers = ba, .target = t};
  p->arena = a;
  p->module = m;
  describe_leaves(&b, m);
  for (int c = 0; c < ba->n_constants; c++) add_constant(&b, ba->constants[c]);
  lemnos_status status = emit_computation(&b, m->entry, &p->main);
  p->kernels = b.kernels.data;
  p->n_kernels = b.kernels.len;
  p->host_programs = b.programs.data;
  p->host_modules = b.modules.data;
  p->n_host_programs = b.programs.len;
  p->constants = b.constants.data;
  p->constant_offsets = b.constant_offsets.data;
  p->n_constants = b.constants.len;
  p->arena_bytes = align_up(ba->arena_bytes, 256) + p->scratch_bytes;
  p->peak_live_bytes = ba->peak_live_bytes;
  if (status) {
    plan_deinit(p);
    return status;
  }
  *out = p;
  return LEMNOS_SUCCESS;
}

void plan_deinit(plan *p) {
  for (int i = 0; i < p->n_host_programs; i++) interp_program_destroy(p->host_programs[i]);
  p->n_host_programs = 0;
}
