// SPDX-License-Identifier: Apache-2.0
// Rewrites what a target lacks, in stages: predicates in memory become bytes; small floats become integers with
// arithmetic in f32; narrow integers become i32 with memory packed in words. What cannot be rewritten is refused with
// the reason: f64, 64-bit integers, more buffers or larger ones than the target binds: the instruction then runs on the
// host.
#include "hlo/kernel/legalize_internal.h"

typedef struct pred_stage {
  legalizer *l;
  const uint8_t *is_pred_param, *is_pred_array;
} pred_stage;

static void visit_pred(void *user, kernel_instr *i) {
  pred_stage *s = user;
  if (kernel_op_table[i->op].cls != KERNEL_CLASS_MEM) return;
  const uint8_t *table = i->mem.space == KERNEL_PARAM ? s->is_pred_param : s->is_pred_array;
  if (!table[i->mem.index]) return;
  if (i->op == KERNEL_OP_LOAD) {
    kernel_builder b = legalize_after(s->l, i);
    kernel_value *loaded = &i->results[0];
    // The load's own result becomes the byte; its users get the comparison.
    kernel_type t = kernel_type_make(KERNEL_I8, loaded->type.lanes);
    kernel_instr *copy = kernel_emit(&b, KERNEL_OP_LOAD, 1, &t, i->n_operands, i->operands);
    copy->mem = i->mem;
    copy->align = i->align;
    kernel_value *zero = kernel_splat(&b, kernel_int(&b, KERNEL_I8, 0), t.lanes);
    kernel_rewrite_set(&s->l->rewrite, loaded, kernel_bin(&b, KERNEL_OP_NE, &copy->results[0], zero));
    kernel_instr_unlink(i);
  } else if (i->op == KERNEL_OP_STORE) {
    kernel_builder b = legalize_before(s->l, i);
    i->operands[1] = kernel_conv(&b, KERNEL_OP_EXTEND_U, i->operands[1], KERNEL_I8);
  }
}

void legalize_pred_memory(legalizer *l) {
  kernel *k = l->k;
  uint8_t *params = heap_alloc((size_t)k->n_params + 1), *arrays = heap_alloc((size_t)k->arrays.len + 1);
  bool any = false;
  for (int p = 0; p < k->n_params; p++) any |= params[p] = k->params[p].elem == KERNEL_I1;
  for (int a = 0; a < k->arrays.len; a++) any |= arrays[a] = k->arrays.data[a].elem == KERNEL_I1;
  if (any) {
    pred_stage s = {l, params, arrays};
    kernel_walk(k->body, visit_pred, &s);
    kernel_rewrite_apply(&l->rewrite, k);
    for (int p = 0; p < k->n_params; p++)
      if (params[p]) k->params[p].elem = KERNEL_I8;
    for (int a = 0; a < k->arrays.len; a++)
      if (arrays[a]) k->arrays.data[a].elem = KERNEL_I8;
  }
  free(params);
  free(arrays);
}

typedef struct lack {
  const hlo_target *t;
  const char *what;
} lack;

static void visit_types(void *user, kernel_instr *i) {
  lack *l = user;
  for (int r = 0; r < i->n_results + i->n_operands; r++) {
    kernel_type t = r < i->n_results ? i->results[r].type : i->operands[r - i->n_results]->type;
    if (t.scalar == KERNEL_I64 && !l->t->i64) l->what = "64-bit integers, which the device lacks";
    if (t.scalar == KERNEL_F64 && !l->t->f64) l->what = "f64, which the device lacks";
  }
  if (i->op == KERNEL_OP_BARRIER && !l->t->group_ops) l->what = "barriers, which the device should not use";
}

static lemnos_status check_limits(const kernel *k, const hlo_target *t) {
  if (t->max_buffers && k->n_params > t->max_buffers)
    return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "it takes %d buffers, the device binds %d", k->n_params,
                              t->max_buffers);
  for (int p = 0; p < k->n_params; p++) {
    int64_t bytes = k->params[p].n_elems * kernel_scalar_table[k->params[p].elem].bytes;
    if (t->max_storage_range && bytes > t->max_storage_range)
      return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "a buffer of %lld bytes is beyond the device's range of %lld",
                                (long long)bytes, (long long)t->max_storage_range);
  }
  return LEMNOS_SUCCESS;
}

static bool const_value(const kernel_value *v, int64_t *out) {
  if (!v->def || v->def->op != KERNEL_OP_CONST) return false;
  *out = v->def->imm.i;
  return true;
}

// v = start + n with a constant n?
static bool is_start_plus(const kernel_value *v, const kernel_value *start, int64_t *n) {
  const kernel_instr *sum = v->def;
  if (!sum || sum->op != KERNEL_OP_ADD) return false;
  return (sum->operands[0] == start && const_value(sum->operands[1], n)) ||
         (sum->operands[1] == start && const_value(sum->operands[0], n));
}

// The most times that a for loop can run, from constants: hi - lo, or the length of a range [x, x + n) or
// [x, min(x + n, ...)); else hi alone.
static int64_t trips(const kernel_instr *loop) {
  int64_t lo, hi, step, n = 4096;
  if (!const_value(loop->operands[2], &step) || step < 1) step = 1;
  const kernel_value *h = loop->operands[1];
  if (const_value(h, &hi)) {
    n = const_value(loop->operands[0], &lo) ? hi - lo : hi;
  } else if (is_start_plus(h, loop->operands[0], &hi)) {
    n = hi;
  } else if (h->def && h->def->op == KERNEL_OP_MIN_S) {
    for (int o = 0; o < 2; o++) {
      int64_t c;
      if (const_value(h->def->operands[o], &c) && c < n) n = c;
      if (is_start_plus(h->def->operands[o], loop->operands[0], &c)) n = c;
    }
  }
  return n <= 0 ? 0 : (n + step - 1) / step;
}

static int64_t iterations(const kernel_block *b) {
  int64_t sum = 0;
  for (const kernel_instr *i = b->first; i && sum < INT32_MAX; i = i->next) {
    int64_t times = i->op == KERNEL_OP_FOR ? trips(i) : 1;
    for (int n = 0; n < i->n_blocks && times; n++) {
      int64_t inner = iterations(i->blocks[n]) + (i->op == KERNEL_OP_FOR);
      sum += inner > INT32_MAX / times ? INT32_MAX : inner * times;
    }
  }
  return sum;
}

lemnos_status kernel_pass_legalize(kernel *k, const hlo_target *t) {
  legalizer l = {.k = k, .t = t};
  legalize_pred_memory(&l);
  legalize_small_floats(&l);
  lack missing = {.t = t};
  kernel_walk(k->body, visit_types, &missing);
  if (!missing.what && k->index == KERNEL_I64 && !t->i64) missing.what = "64-bit indices, which the device lacks";
  if (missing.what) return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "it needs %s", missing.what);
  LEMNOS_TRY(legalize_narrow(&l));
  if (t->folds_zero) legalize_zeros(&l);
  if (t->max_iterations && iterations(k->body) > t->max_iterations)
    return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "an invocation would loop %lld times, the driver stops at %lld",
                              (long long)iterations(k->body), (long long)t->max_iterations);
  return check_limits(k, t);
}
