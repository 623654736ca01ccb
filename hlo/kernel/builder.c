// SPDX-License-Identifier: Apache-2.0
// Kernel construction with on-the-fly folding of constants and identities. Folding is exact: floats only where IEEE 754
// leaves no doubt (two constants; nothing like x + 0).
#include "hlo/kernel/builder.h"

#include <math.h>

#include "hlo/kernel/walk.h"

kernel *kernel_create(arena *a, strv name, int n_params, const kernel_param *params, int64_t grid, int workgroup,
                      kernel_scalar index) {
  kernel *k = ARENA_NEW(a, kernel);
  k->arena = a;
  k->name = arena_strv(a, name);
  k->n_params = n_params;
  k->params = arena_copy(a, params, sizeof *params * (size_t)n_params);
  for (int i = 0; i < n_params; i++)
    if (k->params[i].align < 1) k->params[i].align = kernel_scalar_table[k->params[i].elem].bytes;
  k->grid = grid;
  k->workgroup = workgroup;
  k->grain = 1;
  k->index = index;
  k->body = kernel_block_alloc(k, NULL, 0, NULL);
  return k;
}

kernel_builder kernel_builder_create(kernel *k) {
  return (kernel_builder){.k = k, .block = k->body};
}

int kernel_add_array(kernel *k, kernel_space space, kernel_scalar elem, int lanes, int64_t n_elems) {
  kernel_array array = {.elem = elem, .lanes = (uint16_t)lanes, .space = space, .n_elems = n_elems};
  vec_push(k->arena, &k->arrays, array);
  return k->arrays.len - 1;
}

kernel_mem kernel_array_mem(const kernel *k, int array) {
  return (kernel_mem){(uint16_t)k->arrays.data[array].space, (uint16_t)array};
}

static void insert(kernel_builder *b, kernel_instr *i) {
  kernel_instr *before = b->before;
  if (!before && b->block->last && b->block->last->op == KERNEL_OP_YIELD && i->op != KERNEL_OP_YIELD)
    before = b->block->last;
  kernel_instr_insert(b->block, before, i);
}

kernel_instr *kernel_emit(kernel_builder *b, kernel_op op, int n_results, const kernel_type *types, int n_operands,
                          kernel_value *const *operands) {
  kernel_instr *i = kernel_instr_alloc(b->k, op, n_results, types, n_operands, operands, 0);
  insert(b, i);
  return i;
}

static kernel_value *emit1(kernel_builder *b, kernel_op op, kernel_type type, int n, kernel_value *const *operands) {
  return &kernel_emit(b, op, 1, &type, n, operands)->results[0];
}

// --- constants -----------------------------------------------------------------------------------

static int64_t wrap(int64_t x, int bits) {  // canonical form of integer constants: sign-extended; i1: 0 or 1
  if (bits == 1) return x & 1;
  if (bits >= 64) return x;
  return (int64_t)((uint64_t)x << (64 - bits)) >> (64 - bits);
}

static kernel_value *const_int(kernel_builder *b, kernel_type t, int64_t x) {
  kernel_value *v = emit1(b, KERNEL_OP_CONST, t, 0, NULL);
  v->def->imm.i = wrap(x, kernel_scalar_table[t.scalar].bits);
  return v;
}

static kernel_value *const_float(kernel_builder *b, kernel_type t, double x) {
  kernel_value *v = emit1(b, KERNEL_OP_CONST, t, 0, NULL);
  v->def->imm.f = t.scalar == KERNEL_F32 ? (double)(float)x : x;
  return v;
}

kernel_value *kernel_int(kernel_builder *b, kernel_scalar s, int64_t x) {
  return const_int(b, kernel_type_make(s, 1), x);
}
kernel_value *kernel_index(kernel_builder *b, int64_t x) {
  return kernel_int(b, b->k->index, x);
}
kernel_value *kernel_float(kernel_builder *b, kernel_scalar s, double x) {
  return const_float(b, kernel_type_make(s, 1), x);
}
kernel_value *kernel_const_like(kernel_builder *b, const kernel_value *v, double x) {
  return kernel_scalar_table[v->type.scalar].is_float ? const_float(b, v->type, x) : const_int(b, v->type, (int64_t)x);
}

static bool is_const(const kernel_value *v) {
  return v->def && v->def->op == KERNEL_OP_CONST;
}
static bool is_int(const kernel_value *v) {
  return !kernel_scalar_table[v->type.scalar].is_float;
}

// --- integer folding -----------------------------------------------------------------------------

static bool fold_int(kernel_op op, int bits, int64_t x, int64_t y, int64_t *out) {
  uint64_t mask = bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1, ux = (uint64_t)x & mask,
           uy = (uint64_t)y & mask;
  switch (op) {
    case KERNEL_OP_ADD: *out = (int64_t)((uint64_t)x + (uint64_t)y); return true;
    case KERNEL_OP_SUB: *out = (int64_t)((uint64_t)x - (uint64_t)y); return true;
    case KERNEL_OP_MUL: *out = (int64_t)((uint64_t)x * (uint64_t)y); return true;
    case KERNEL_OP_DIV_S:
      if (y == 0 || y == -1) return false;
      *out = x / y;
      return true;
    case KERNEL_OP_REM_S:
      if (y == 0 || y == -1) return false;
      *out = x % y;
      return true;
    case KERNEL_OP_DIV_U:
      if (uy == 0) return false;
      *out = (int64_t)(ux / uy);
      return true;
    case KERNEL_OP_REM_U:
      if (uy == 0) return false;
      *out = (int64_t)(ux % uy);
      return true;
    case KERNEL_OP_MIN_S: *out = x < y ? x : y; return true;
    case KERNEL_OP_MAX_S: *out = x > y ? x : y; return true;
    case KERNEL_OP_MIN_U: *out = ux < uy ? x : y; return true;
    case KERNEL_OP_MAX_U: *out = ux > uy ? x : y; return true;
    case KERNEL_OP_AND: *out = x & y; return true;
    case KERNEL_OP_OR: *out = x | y; return true;
    case KERNEL_OP_XOR: *out = x ^ y; return true;
    case KERNEL_OP_SHL:
      if (uy >= (uint64_t)bits) return false;
      *out = (int64_t)(ux << uy);
      return true;
    case KERNEL_OP_SHR_U:
      if (uy >= (uint64_t)bits) return false;
      *out = (int64_t)(ux >> uy);
      return true;
    case KERNEL_OP_SHR_S:
      if (uy >= (uint64_t)bits) return false;
      *out = x >> uy;
      return true;
    case KERNEL_OP_EQ: *out = x == y; return true;
    case KERNEL_OP_NE: *out = x != y; return true;
    case KERNEL_OP_LT_S: *out = x < y; return true;
    case KERNEL_OP_LE_S: *out = x <= y; return true;
    case KERNEL_OP_LT_U: *out = ux < uy; return true;
    case KERNEL_OP_LE_U: *out = ux <= uy; return true;
    default: return false;
  }
}

static bool is_compare(kernel_op op) {
  return kernel_op_table[op].cls == KERNEL_CLASS_CMP;
}

// x op const, without needing x's value; NULL if nothing applies. i1 constants are 0 or 1, others sign-extended.
static kernel_value *fold_identity(kernel_builder *b, kernel_op op, kernel_value *x, kernel_value *y) {
  if (!is_const(y) || !is_int(y)) return NULL;
  int64_t c = y->def->imm.i, ones = x->type.scalar == KERNEL_I1 ? 1 : -1;
  switch (op) {
    case KERNEL_OP_ADD:
    case KERNEL_OP_SUB:
    case KERNEL_OP_SHL:
    case KERNEL_OP_SHR_S:
    case KERNEL_OP_SHR_U:
    case KERNEL_OP_XOR: return c == 0 ? x : NULL;
    case KERNEL_OP_OR: return c == 0 ? x : c == ones ? y : NULL;
    case KERNEL_OP_AND: return c == ones ? x : c == 0 ? y : NULL;
    case KERNEL_OP_MUL: return c == 1 ? x : c == 0 ? y : NULL;
    case KERNEL_OP_DIV_S:
    case KERNEL_OP_DIV_U: return c == 1 ? x : NULL;
    case KERNEL_OP_REM_S:
    case KERNEL_OP_REM_U: return c == 1 ? const_int(b, x->type, 0) : NULL;
    default: return NULL;
  }
}

kernel_value *kernel_un(kernel_builder *b, kernel_op op, kernel_value *x) {
  if (is_const(x) && is_int(x)) {
    int64_t c = x->def->imm.i;
    if (op == KERNEL_OP_NEG) return const_int(b, x->type, (int64_t)(0 - (uint64_t)c));
    if (op == KERNEL_OP_NOT) return const_int(b, x->type, ~c);
  }
  return emit1(b, op, x->type, 1, &x);
}

kernel_value *kernel_bin(kernel_builder *b, kernel_op op, kernel_value *x, kernel_value *y) {
  if (x->type.lanes < y->type.lanes) x = kernel_splat(b, x, y->type.lanes);
  if (y->type.lanes < x->type.lanes) y = kernel_splat(b, y, x->type.lanes);
  LEMNOS_ASSERT(kernel_type_eq(x->type, y->type));
  kernel_type result = is_compare(op) ? kernel_type_make(KERNEL_I1, x->type.lanes) : x->type;
  if (is_const(x) && is_const(y) && is_int(x)) {
    int64_t folded;
    if (fold_int(op, kernel_scalar_table[x->type.scalar].bits, x->def->imm.i, y->def->imm.i, &folded))
      return const_int(b, result, folded);
  }
  bool commutes =
      op == KERNEL_OP_ADD || op == KERNEL_OP_MUL || op == KERNEL_OP_AND || op == KERNEL_OP_OR || op == KERNEL_OP_XOR;
  if (is_int(x)) {
    kernel_value *same = fold_identity(b, op, x, y);
    if (!same && commutes) same = fold_identity(b, op, y, x);
    if (same) return same;
    if (commutes && is_const(x)) {  // constants to the right, for matching
      kernel_value *t = x;
      x = y;
      y = t;
    }
  }
  kernel_value *operands[] = {x, y};
  return emit1(b, op, result, 2, operands);
}

kernel_value *kernel_fma(kernel_builder *b, kernel_value *x, kernel_value *y, kernel_value *z) {
  int lanes = x->type.lanes;
  if (y->type.lanes > lanes) lanes = y->type.lanes;
  if (z->type.lanes > lanes) lanes = z->type.lanes;
  kernel_value *operands[] = {kernel_splat(b, x, lanes), kernel_splat(b, y, lanes), kernel_splat(b, z, lanes)};
  return emit1(b, KERNEL_OP_FMA, operands[0]->type, 3, operands);
}

kernel_value *kernel_select(kernel_builder *b, kernel_value *c, kernel_value *x, kernel_value *y) {
  if (x == y) return x;
  if (is_const(c)) return c->def->imm.i ? kernel_splat(b, x, y->type.lanes) : kernel_splat(b, y, x->type.lanes);
  int lanes = x->type.lanes > y->type.lanes ? x->type.lanes : y->type.lanes;
  if (c->type.lanes > lanes) lanes = c->type.lanes;
  kernel_value *operands[] = {c, kernel_splat(b, x, lanes), kernel_splat(b, y, lanes)};
  return emit1(b, KERNEL_OP_SELECT, operands[1]->type, 3, operands);
}

kernel_value *kernel_conv(kernel_builder *b, kernel_op op, kernel_value *x, kernel_scalar to) {
  kernel_type t = kernel_type_make(to, x->type.lanes);
  if ((op == KERNEL_OP_TRUNCATE || op == KERNEL_OP_EXTEND_S || op == KERNEL_OP_EXTEND_U ||
       op == KERNEL_OP_FLOAT_CONVERT) &&
      x->type.scalar == to)
    return x;
  if (is_const(x)) {
    int bits = kernel_scalar_table[x->type.scalar].bits;
    int64_t c = x->def->imm.i;
    uint64_t mask = bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
    if (op == KERNEL_OP_TRUNCATE) return const_int(b, t, c);
    if (op == KERNEL_OP_EXTEND_S) return const_int(b, t, bits == 1 ? -c : c);
    if (op == KERNEL_OP_EXTEND_U) return const_int(b, t, (int64_t)((uint64_t)c & mask));
    if (op == KERNEL_OP_FROM_INT_S && to == KERNEL_F64 && bits > 1) return const_float(b, t, (double)c);
    if (op == KERNEL_OP_FROM_INT_S && to == KERNEL_F32 && bits > 1) return const_float(b, t, (float)c);
  }
  return emit1(b, op, t, 1, &x);
}

kernel_value *kernel_bitcast(kernel_builder *b, kernel_value *x, kernel_type to) {
  return kernel_type_eq(x->type, to) ? x : emit1(b, KERNEL_OP_BITCAST, to, 1, &x);
}

// --- vectors -------------------------------------------------------------------------------------

kernel_value *kernel_splat(kernel_builder *b, kernel_value *x, int lanes) {
  if (x->type.lanes == lanes) return x;
  if (lanes == 1) return x;
  LEMNOS_ASSERT(x->type.lanes == 1);
  kernel_type t = kernel_type_make((kernel_scalar)x->type.scalar, lanes);
  if (is_const(x)) return is_int(x) ? const_int(b, t, x->def->imm.i) : const_float(b, t, x->def->imm.f);
  return emit1(b, KERNEL_OP_SPLAT, t, 1, &x);
}

kernel_value *kernel_lanes(kernel_builder *b, kernel_scalar s, int lanes) {
  return lanes == 1 ? kernel_int(b, s, 0) : emit1(b, KERNEL_OP_LANES, kernel_type_make(s, lanes), 0, NULL);
}

kernel_value *kernel_extract(kernel_builder *b, kernel_value *x, int lane) {
  if (x->type.lanes == 1) return x;
  kernel_type t = kernel_type_make((kernel_scalar)x->type.scalar, 1);
  if (x->def && x->def->op == KERNEL_OP_SPLAT) return x->def->operands[0];
  if (x->def && x->def->op == KERNEL_OP_BUILD) return x->def->operands[lane];
  if (is_const(x)) return is_int(x) ? const_int(b, t, x->def->imm.i) : const_float(b, t, x->def->imm.f);
  kernel_value *v = emit1(b, KERNEL_OP_EXTRACT, t, 1, &x);
  v->def->imm.i = lane;
  return v;
}

kernel_value *kernel_build_vector(kernel_builder *b, int lanes, kernel_value *const *xs) {
  if (lanes == 1) return xs[0];
  bool same = true;
  for (int i = 1; i < lanes; i++) same &= xs[i] == xs[0];
  if (same) return kernel_splat(b, xs[0], lanes);
  return emit1(b, KERNEL_OP_BUILD, kernel_type_make((kernel_scalar)xs[0]->type.scalar, lanes), lanes, xs);
}

kernel_value *kernel_reduce(kernel_builder *b, kernel_op op, kernel_value *x) {
  if (x->type.lanes == 1) return x;
  return emit1(b, op, kernel_type_make((kernel_scalar)x->type.scalar, 1), 1, &x);
}

// --- memory --------------------------------------------------------------------------------------

static kernel_scalar mem_elem(const kernel *k, kernel_mem m) {
  return m.space == KERNEL_PARAM ? k->params[m.index].elem : k->arrays.data[m.index].elem;
}

kernel_value *kernel_load(kernel_builder *b, kernel_mem mem, kernel_value *index, int lanes, int align,
                          kernel_value *mask) {
  if (index->type.lanes > 1) lanes = index->type.lanes;
  kernel_value *operands[] = {index, mask};
  kernel_value *v = emit1(b, KERNEL_OP_LOAD, kernel_type_make(mem_elem(b->k, mem), lanes), mask ? 2 : 1, operands);
  v->def->mem = mem;
  v->def->align = align < 1 ? 1 : align;
  return v;
}

void kernel_store(kernel_builder *b, kernel_mem mem, kernel_value *index, kernel_value *value, int align,
                  kernel_value *mask) {
  LEMNOS_ASSERT(value->type.scalar == (uint16_t)mem_elem(b->k, mem));
  if (index->type.lanes > 1) value = kernel_splat(b, value, index->type.lanes);
  kernel_value *operands[] = {index, value, mask};
  kernel_instr *i = kernel_emit(b, KERNEL_OP_STORE, 0, NULL, mask ? 3 : 2, operands);
  i->mem = mem;
  i->align = align < 1 ? 1 : align;
}

// --- structured control --------------------------------------------------------------------------

static kernel_instr *emit_control(kernel_builder *b, kernel_op op, int n_results, const kernel_type *types,
                                  int n_operands, kernel_value *const *operands, int n_blocks) {
  kernel_instr *i = kernel_instr_alloc(b->k, op, n_results, types, n_operands, operands, n_blocks);
  insert(b, i);
  return i;
}

static void yield(kernel_builder *b, int n, kernel_value *const *values) {
  kernel_emit(b, KERNEL_OP_YIELD, 0, NULL, n, values);
}

static void leave(kernel_builder *b, kernel_instr *control) {
  b->block = control->parent;
  b->before = control->next;
}

static kernel_value **addresses(kernel_builder *b, kernel_value *values, int n) {
  kernel_value **p = ARENA_ARRAY(b->k->arena, kernel_value *, n + 1);
  for (int i = 0; i < n; i++) p[i] = &values[i];
  return p;
}

kernel_for kernel_for_begin(kernel_builder *b, kernel_value *lo, kernel_value *hi, kernel_value *step, int n,
                            kernel_value *const *init) {
  kernel_value **operands = ARENA_ARRAY(b->k->arena, kernel_value *, n + 3);
  kernel_type *types = ARENA_ARRAY(b->k->arena, kernel_type, n + 1);
  operands[0] = lo, operands[1] = hi, operands[2] = step;
  types[0] = lo->type;
  for (int i = 0; i < n; i++) operands[i + 3] = init[i], types[i + 1] = init[i]->type;
  kernel_instr *instr = emit_control(b, KERNEL_OP_FOR, n, types + 1, n + 3, operands, 1);
  kernel_block *body = instr->blocks[0] = kernel_block_alloc(b->k, instr, n + 1, types);
  b->block = body;
  b->before = NULL;
  return (kernel_for){.instr = instr,
                      .iv = &body->args[0],
                      .args = addresses(b, body->args + 1, n),
                      .results = addresses(b, instr->results, n),
                      .n = n};
}

void kernel_for_end(kernel_builder *b, kernel_for *f, kernel_value *const *next) {
  yield(b, f->n, next);
  leave(b, f->instr);
}

kernel_if kernel_if_begin(kernel_builder *b, kernel_value *cond, int n, const kernel_type *types) {
  kernel_instr *instr = emit_control(b, KERNEL_OP_IF, n, types, 1, &cond, 2);
  for (int i = 0; i < 2; i++) instr->blocks[i] = kernel_block_alloc(b->k, instr, 0, NULL);
  b->block = instr->blocks[0];
  b->before = NULL;
  return (kernel_if){.instr = instr, .results = addresses(b, instr->results, n), .n = n};
}

void kernel_if_else(kernel_builder *b, kernel_if *c, kernel_value *const *values) {
  yield(b, c->n, values);
  b->block = c->instr->blocks[1];
  b->before = NULL;
}

void kernel_if_end(kernel_builder *b, kernel_if *c, kernel_value *const *values) {
  yield(b, c->n, values);
  leave(b, c->instr);
}

kernel_while kernel_while_begin(kernel_builder *b, int n, kernel_value *const *init) {
  kernel_type *types = ARENA_ARRAY(b->k->arena, kernel_type, n + 1);
  for (int i = 0; i < n; i++) types[i] = init[i]->type;
  kernel_instr *instr = emit_control(b, KERNEL_OP_WHILE, n, types, n, init, 2);
  for (int i = 0; i < 2; i++) instr->blocks[i] = kernel_block_alloc(b->k, instr, n, types);
  b->block = instr->blocks[0];
  b->before = NULL;
  return (kernel_while){.instr = instr,
                        .args = addresses(b, instr->blocks[0]->args, n),
                        .results = addresses(b, instr->results, n),
                        .n = n};
}

void kernel_while_body(kernel_builder *b, kernel_while *w, kernel_value *cond) {
  yield(b, 1, &cond);
  b->block = w->instr->blocks[1];
  b->before = NULL;
  w->args = addresses(b, b->block->args, w->n);
}

void kernel_while_end(kernel_builder *b, kernel_while *w, kernel_value *const *next) {
  yield(b, w->n, next);
  leave(b, w->instr);
}

kernel_value *kernel_item(kernel_builder *b) {
  return emit1(b, KERNEL_OP_ITEM, kernel_type_make(b->k->index, 1), 0, NULL);
}
