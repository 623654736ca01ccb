// SPDX-License-Identifier: Apache-2.0
// The kernel verifier: structure, types, dominance, memory references, and, given a target, what that target can take.
// Reports every failure, with the kernel's text behind them; a failure is a bug of lowering or of a pass, never the
// user's.
#include "hlo/kernel/kernel.h"

typedef struct checker {
  const kernel *k;
  const hlo_target *t;
  strbuf errors;
  int n_errors;
  uint8_t *visible;  // by value id
  int loop_depth;
} checker;

static void fail(checker *c, const kernel_instr *i, const char *what) {
  if (c->n_errors++ < 10)
    strbuf_printf(&c->errors, "%s%s: %s", c->n_errors > 1 ? "; " : "", i ? kernel_op_table[i->op].name : "kernel",
                  what);
}

static bool is_float(kernel_type t) {
  return kernel_scalar_table[t.scalar].is_float;
}
static bool same_types(const kernel_value *a, const kernel_value *b) {
  return kernel_type_eq(a->type, b->type);
}

static void check_index(checker *c, const kernel_instr *i, const kernel_value *v) {
  if (v->type.scalar != KERNEL_I32 && v->type.scalar != KERNEL_I64) fail(c, i, "index is not i32 or i64");
}

static void check_mem(checker *c, const kernel_instr *i) {
  kernel_mem m = i->mem;
  kernel_scalar elem;
  if (m.space == KERNEL_PARAM) {
    if (m.index >= c->k->n_params) return fail(c, i, "no such parameter");
    elem = c->k->params[m.index].elem;
    if (c->k->params[m.index].readonly && i->op != KERNEL_OP_LOAD) fail(c, i, "write to a read-only parameter");
  } else {
    if (m.index >= c->k->arrays.len || c->k->arrays.data[m.index].space != (kernel_space)m.space)
      return fail(c, i, "no such array");
    elem = c->k->arrays.data[m.index].elem;
    if (m.space == KERNEL_SHARED && !c->k->workgroup) fail(c, i, "shared memory in a core kernel");
  }
  if (i->align < 1 || (i->align & (i->align - 1))) fail(c, i, "alignment is not a power of two");
  check_index(c, i, i->operands[0]);
  const kernel_value *value = i->op == KERNEL_OP_LOAD ? &i->results[0] : i->n_operands > 1 ? i->operands[1] : NULL;
  if (!value) return fail(c, i, "no value");
  if (value->type.scalar != elem) fail(c, i, "value type differs from the memory's");
  int lanes = i->operands[0]->type.lanes;
  if (lanes > 1 && value->type.lanes != lanes) fail(c, i, "lanes of index and value differ");
  int mask = i->op == KERNEL_OP_LOAD ? 1 : 2;
  if ((i->op == KERNEL_OP_LOAD || i->op == KERNEL_OP_STORE) && i->n_operands > mask &&
      (i->operands[mask]->type.scalar != KERNEL_I1 || i->operands[mask]->type.lanes != value->type.lanes))
    fail(c, i, "mask is not i1 of the value's lanes");
}

static void check_yield(checker *c, const kernel_instr *i, const kernel_block *b, int n, const kernel_value *types) {
  const kernel_instr *y = b->last;
  if (!y || y->op != KERNEL_OP_YIELD) return fail(c, i, "block does not end in yield");
  if (y->n_operands != n) return fail(c, i, "yield has the wrong number of values");
  for (int o = 0; o < n; o++)
    if (!same_types(y->operands[o], &types[o])) fail(c, i, "yield of another type");
}

static void check_block(checker *c, const kernel_block *b);

static void check_control(checker *c, const kernel_instr *i) {
  switch (i->op) {
    case KERNEL_OP_FOR: {
      if (i->n_operands < 3 || i->n_blocks != 1 || i->n_results != i->n_operands - 3 ||
          i->blocks[0]->n_args != i->n_operands - 2)
        return fail(c, i, "malformed");
      for (int o = 1; o < 3; o++)
        if (!same_types(i->operands[0], i->operands[o])) fail(c, i, "bounds of different types");
      if (!same_types(i->operands[0], &i->blocks[0]->args[0])) fail(c, i, "induction variable of another type");
      for (int r = 0; r < i->n_results; r++)
        if (!same_types(&i->results[r], i->operands[r + 3]) || !same_types(&i->results[r], &i->blocks[0]->args[r + 1]))
          fail(c, i, "carried value of another type");
      check_block(c, i->blocks[0]);
      check_yield(c, i, i->blocks[0], i->n_results, i->results);
      break;
    }
    case KERNEL_OP_WHILE: {
      if (i->n_blocks != 2 || i->n_results != i->n_operands) return fail(c, i, "malformed");
      for (int r = 0; r < i->n_results; r++)
        if (!same_types(&i->results[r], i->operands[r]) || !same_types(&i->results[r], &i->blocks[0]->args[r]) ||
            !same_types(&i->results[r], &i->blocks[1]->args[r]))
          fail(c, i, "carried value of another type");
      kernel_value pred = {.type = {KERNEL_I1, 1}};
      check_block(c, i->blocks[0]);
      check_yield(c, i, i->blocks[0], 1, &pred);
      check_block(c, i->blocks[1]);
      check_yield(c, i, i->blocks[1], i->n_results, i->results);
      break;
    }
    case KERNEL_OP_IF:
      if (i->n_blocks != 2 || i->n_operands != 1 || i->operands[0]->type.scalar != KERNEL_I1 ||
          i->operands[0]->type.lanes != 1)
        return fail(c, i, "condition is not a scalar i1");
      for (int n = 0; n < 2; n++) {
        check_block(c, i->blocks[n]);
        check_yield(c, i, i->blocks[n], i->n_results, i->results);
      }
      break;
    case KERNEL_OP_YIELD:
      if (i->next) fail(c, i, "not last in its block");
      break;
    default: break;
  }
}

static void check_types(checker *c, const kernel_instr *i) {
  const kernel_value *r = i->results;
  kernel_value *const *x = i->operands;
  switch ((kernel_op_class)kernel_op_table[i->op].cls) {
    case KERNEL_CLASS_INT:
    case KERNEL_CLASS_FLOAT:
    case KERNEL_CLASS_ANY:
    case KERNEL_CLASS_MATH:
      if (i->op == KERNEL_OP_SELECT) {
        if (x[0]->type.scalar != KERNEL_I1 || (x[0]->type.lanes != 1 && x[0]->type.lanes != r->type.lanes))
          fail(c, i, "condition is not i1 of the same lanes");
        if (!same_types(x[1], r) || !same_types(x[2], r)) fail(c, i, "arms of another type");
        return;
      }
      for (int o = 0; o < i->n_operands; o++)
        if (!same_types(x[o], r)) fail(c, i, "operand of another type");
      if (kernel_op_table[i->op].cls == KERNEL_CLASS_INT && is_float(r->type))
        fail(c, i, "integer operation on floats");
      if ((kernel_op_table[i->op].cls == KERNEL_CLASS_FLOAT || kernel_op_table[i->op].cls == KERNEL_CLASS_MATH) &&
          !is_float(r->type))
        fail(c, i, "float operation on integers");
      break;
    case KERNEL_CLASS_CMP:
      if (!same_types(x[0], x[1])) fail(c, i, "operands of different types");
      if (r->type.scalar != KERNEL_I1 || r->type.lanes != x[0]->type.lanes)
        fail(c, i, "result is not i1 of the same lanes");
      if ((i->op == KERNEL_OP_LT || i->op == KERNEL_OP_LE) != is_float(x[0]->type) && i->op != KERNEL_OP_EQ &&
          i->op != KERNEL_OP_NE)
        fail(c, i, "comparison of the wrong kind");
      break;
    case KERNEL_CLASS_CONV: {
      if (i->op == KERNEL_OP_BITCAST) {
        int from = kernel_scalar_table[x[0]->type.scalar].bits * x[0]->type.lanes;
        int to = kernel_scalar_table[r->type.scalar].bits * r->type.lanes;
        if (from != to) fail(c, i, "sizes differ");
        break;
      }
      if (x[0]->type.lanes != r->type.lanes) fail(c, i, "lanes differ");
      int from = kernel_scalar_table[x[0]->type.scalar].bits, to = kernel_scalar_table[r->type.scalar].bits;
      if (i->op == KERNEL_OP_TRUNCATE && !(to < from)) fail(c, i, "not narrower");
      if ((i->op == KERNEL_OP_EXTEND_S || i->op == KERNEL_OP_EXTEND_U) && !(to > from)) fail(c, i, "not wider");
      break;
    }
    case KERNEL_CLASS_VEC:
      if (i->op == KERNEL_OP_SPLAT && (x[0]->type.lanes != 1 || x[0]->type.scalar != r->type.scalar))
        fail(c, i, "bad types");
      if (i->op == KERNEL_OP_BUILD && i->n_operands != r->type.lanes) fail(c, i, "one operand a lane expected");
      if (i->op == KERNEL_OP_EXTRACT &&
          (i->imm.i < 0 || i->imm.i + r->type.lanes > x[0]->type.lanes || x[0]->type.scalar != r->type.scalar))
        fail(c, i, "lane out of range");
      if (i->op == KERNEL_OP_SHUFFLE)
        for (int l = 0; l < r->type.lanes; l++)
          if (i->imm.list[l] < 0 || i->imm.list[l] >= x[0]->type.lanes + x[1]->type.lanes)
            fail(c, i, "lane out of range");
      break;
    case KERNEL_CLASS_MEM: check_mem(c, i); break;
    case KERNEL_CLASS_CTRL: check_control(c, i); break;
    case KERNEL_CLASS_GROUP:
      if (!c->k->workgroup) fail(c, i, "group operation in a core kernel");
      break;
    case KERNEL_CLASS_CONST:
    case KERNEL_CLASS_ID:
    case KERNEL_CLASS_TILE: break;
  }
}

static void check_target_type(checker *c, const kernel_instr *i, kernel_type type) {
  const hlo_target *t = c->t;
  bool ok = true;
  switch ((kernel_scalar)type.scalar) {
    case KERNEL_I1:
    case KERNEL_I32:
    case KERNEL_F32: break;
    case KERNEL_I8: ok = t->i8; break;
    case KERNEL_I16: ok = t->i16; break;
    case KERNEL_I64: ok = t->i64; break;
    case KERNEL_F64: ok = t->f64; break;
    case KERNEL_F16: ok = t->f16; break;
    default: ok = false;
  }
  if (!ok) fail(c, i, kernel_scalar_table[type.scalar].name);
  if (t->cls != HLO_TARGET_CPU && type.lanes > 4) fail(c, i, "more than four lanes");
}

static void check_target(checker *c, const kernel_instr *i) {
  if (!c->t) return;
  for (int r = 0; r < i->n_results; r++) check_target_type(c, i, i->results[r].type);
  kernel_op_class cls = (kernel_op_class)kernel_op_table[i->op].cls;
  if (cls == KERNEL_CLASS_MATH || cls == KERNEL_CLASS_TILE) fail(c, i, "not expanded");
  if (i->op >= KERNEL_OP_SUBGROUP_LANE && i->op <= KERNEL_OP_SUBGROUP_MAX && !c->t->subgroup)
    fail(c, i, "no subgroup operations here");
  if (i->op == KERNEL_OP_BARRIER && !c->t->group_ops) fail(c, i, "no barriers here");
}

static void check_block(checker *c, const kernel_block *b) {
  // Values become visible as they are defined and stay so: ids are unique, and siblings' values are caught by clearing
  // at the end.
  for (int a = 0; a < b->n_args; a++) c->visible[b->args[a].id] = 1;
  for (const kernel_instr *i = b->first; i; i = i->next) {
    const kernel_op_info *info = &kernel_op_table[i->op];
    if (i->parent != b) fail(c, i, "wrong parent");
    bool shape_ok = (info->n_operands < 0 || info->n_operands == i->n_operands) &&
                    (info->n_results < 0 || info->n_results == i->n_results);
    if (!shape_ok) {
      fail(c, i, "wrong number of operands or results");
      continue;
    }
    bool seen = true;
    for (int o = 0; o < i->n_operands; o++)
      seen &= i->operands[o]->id < c->k->next_id && c->visible[i->operands[o]->id];
    if (!seen) fail(c, i, "operand is not defined here");
    check_types(c, i);
    check_target(c, i);
    for (int r = 0; r < i->n_results; r++) c->visible[i->results[r].id] = 1;
  }
  for (int a = 0; a < b->n_args; a++) c->visible[b->args[a].id] = 0;
  for (const kernel_instr *i = b->first; i; i = i->next)
    for (int r = 0; r < i->n_results; r++) c->visible[i->results[r].id] = 0;
}

static void check_limits(checker *c) {
  const kernel *k = c->k;
  if (k->grid < 0) fail(c, NULL, "negative grid");
  if (k->workgroup && k->grid % k->workgroup) fail(c, NULL, "grid is not a multiple of the workgroup");
  if (!c->t) return;
  if (k->n_params > c->t->max_buffers && c->t->max_buffers) fail(c, NULL, "more parameters than the target's buffers");
  if (k->workgroup > c->t->max_workgroup && c->t->max_workgroup) fail(c, NULL, "workgroup too large for the target");
  for (int p = 0; p < k->n_params; p++)
    if (c->t->max_storage_range &&
        k->params[p].n_elems * kernel_scalar_table[k->params[p].elem].bytes > c->t->max_storage_range)
      fail(c, NULL, "a parameter is larger than the target's storage range");
}

lemnos_status kernel_verify(const kernel *k, const hlo_target *target) {
  checker c = {.k = k, .t = target, .visible = heap_alloc((size_t)k->next_id + 1)};
  check_limits(&c);
  // Yields are checked before their block's values are hidden again, so control is checked inside check_block.
  check_block(&c, k->body);
  free(c.visible);
  if (!c.n_errors) return LEMNOS_SUCCESS;
  lemnos_status s =
      lemnos_status_make(LEMNOS_INTERNAL, "kernel " STRV_FMT " is malformed: %s", STRV_ARG(k->name), c.errors.data);
  strbuf_deinit(&c.errors);
  return s;
}
