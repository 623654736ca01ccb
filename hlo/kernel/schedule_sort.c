// SPDX-License-Identifier: Apache-2.0
// sort, stable, any comparator and any number of operands: ranks, then merges.
//
// Pass 0 sorts blocks of RANK elements: an element's place is the number of elements that go before it. Each later pass
// merges pairs of runs. On CPUs an item merges one pair from front to back; elsewhere every element is an item: its
// place is its own position plus the number of elements of the other run that go before it, found by binary search.
// Passes write alternately to scratch and to the results. The comparator must be a strict weak order (specification).
#include "hlo/kernel/emit.h"

enum { RANK = 16, FROM_OPERANDS = -1, RESULTS = -2 };

typedef struct sort {
  const hlo_instr *root;
  int n, dim;  // operands; dimension sorted along
  int64_t length;
  int64_t run;         // length of sorted runs before this pass (0: the ranking pass)
  int source, target;  // first number of the scratch set, FROM_OPERANDS or RESULTS
  const hlo_shape **shapes;
} sort;

static emit_value read_at(emit_ctx *c, const sort *s, int k, emit_index *x) {
  if (s->source == FROM_OPERANDS) return emit_element(c, s->root->operands[k], x);
  const hlo_shape *shape = s->source == RESULTS ? hlo_shape_leaf(c->instr->shape, k) : s->shapes[k];
  kernel_mem m = s->source == RESULTS ? emit_buffer_mem(c, KERNEL_ARG_RESULT, k, shape)
                                      : emit_scratch_mem(c, s->source + k, shape);
  return emit_load(c, m, shape->dtype, emit_index_linear(c, x, shape), 1);
}

static emit_index *with_position(emit_ctx *c, const sort *s, emit_index *x, kernel_value *position) {
  int64_t source[64];
  emit_coord fixed[64];
  for (int d = 0; d < x->rank; d++) source[d] = d;
  source[s->dim] = -1;
  fixed[s->dim] = emit_coord_of(position, 1);
  return emit_index_select(c, x, x->rank, x->dims, source, fixed);
}

// less(first, second), the pair being (x, y) or, if swap, (y, x).
static kernel_value *less(emit_ctx *c, const sort *s, kernel_value *swap, const emit_value *x, const emit_value *y) {
  emit_value *args = ARENA_ARRAY(c->a, emit_value, 2 * s->n), out;
  for (int k = 0; k < s->n; k++) {
    args[2 * k] = emit_select(c, swap, y[k], x[k]);
    args[2 * k + 1] = emit_select(c, swap, x[k], y[k]);
  }
  emit_body(c, s->root->called[0], args, &out);
  return out.re;
}

static void store_at(emit_ctx *c, const sort *s, emit_index *x, const emit_value *own, kernel_value *place) {
  emit_index *to = with_position(c, s, x, place);
  for (int k = 0; k < s->n; k++) {
    if (s->target == RESULTS) {
      emit_store_result(c, k, to, own[k]);
      continue;
    }
    kernel_mem m = emit_scratch_mem(c, s->target + k, s->shapes[k]);
    emit_store(c, m, s->shapes[k]->dtype, emit_index_linear(c, to, s->shapes[k]), 1, own[k]);
  }
}

#define BIN(op, x, y) kernel_bin(b, KERNEL_OP_##op, (x), (y))

static void rank_element(emit_ctx *c, const sort *s, emit_index *x, kernel_value *p, const emit_value *own) {
  kernel_builder *b = &c->b;
  kernel_value *zero = kernel_index(b, 0), *one = kernel_index(b, 1), *block = kernel_index(b, RANK);
  kernel_value *start = BIN(SUB, p, BIN(REM_U, p, block)), *end = BIN(ADD, start, block);
  end = BIN(MIN_S, end, kernel_index(b, s->length));
  kernel_for f = kernel_for_begin(b, start, end, one, 1, &zero);
  emit_value *other = ARENA_ARRAY(c->a, emit_value, s->n);
  emit_index *at = with_position(c, s, x, f.iv);
  for (int k = 0; k < s->n; k++) other[k] = read_at(c, s, k, at);
  // before p: other goes first unless own < other; behind p: only if other < own.
  kernel_value *before = BIN(LT_S, f.iv, p);
  kernel_value *r = BIN(XOR, less(c, s, before, other, own), before);
  r = BIN(AND, r, BIN(NE, f.iv, p));
  kernel_value *next = BIN(ADD, f.args[0], kernel_select(b, r, one, zero));
  kernel_for_end(b, &f, &next);
  store_at(c, s, x, own, BIN(ADD, start, f.results[0]));
}

static void merge_element(emit_ctx *c, const sort *s, emit_index *x, kernel_value *p, const emit_value *own) {
  kernel_builder *b = &c->b;
  kernel_value *one = kernel_index(b, 1), *run = kernel_index(b, s->run), *length = kernel_index(b, s->length);
  kernel_value *within = BIN(REM_U, p, kernel_index(b, 2 * s->run)), *base = BIN(SUB, p, within);
  kernel_value *left = BIN(LT_S, within, run);  // own run is the left one
  kernel_value *middle = BIN(MIN_S, BIN(ADD, base, run), length), *end = BIN(MIN_S, BIN(ADD, middle, run), length);
  kernel_value *lo = kernel_select(b, left, middle, base), *hi = kernel_select(b, left, end, middle);
  kernel_value *init[] = {lo, hi};
  kernel_while w = kernel_while_begin(b, 2, init);
  kernel_while_body(b, &w, BIN(LT_S, w.args[0], w.args[1]));
  kernel_value *mid = BIN(ADD, w.args[0], BIN(SHR_U, BIN(SUB, w.args[1], w.args[0]), one));
  emit_value *other = ARENA_ARRAY(c->a, emit_value, s->n);
  emit_index *at = with_position(c, s, x, mid);
  for (int k = 0; k < s->n; k++) other[k] = read_at(c, s, k, at);
  // left: others that are less go first; right: others unless own is less.
  kernel_value *right = kernel_un(b, KERNEL_OP_NOT, left);
  kernel_value *first = BIN(XOR, less(c, s, right, other, own), right);
  kernel_value *next[] = {kernel_select(b, first, BIN(ADD, mid, one), w.args[0]),
                          kernel_select(b, first, w.args[1], mid)};
  kernel_while_end(b, &w, next);
  store_at(c, s, x, own, BIN(SUB, BIN(ADD, p, w.results[0]), middle));
}

// place: left: p + (found - middle); right: (p - middle + base) + (found - base) = the same.
static void sort_element(emit_ctx *c, void *user, emit_index *x) {
  const sort *s = user;
  kernel_value *p = emit_index_coord(c, x, s->dim).base;
  emit_value *own = ARENA_ARRAY(c->a, emit_value, s->n);
  for (int k = 0; k < s->n; k++) own[k] = read_at(c, s, k, x);
  if (s->run == 0)
    rank_element(c, s, x, p, own);
  else
    merge_element(c, s, x, p, own);
}

// CPU: the pair of runs of this item, one output position after the other.
static void merge_runs(emit_ctx *c, void *user, emit_index *x) {
  const sort *s = user;
  kernel_builder *b = &c->b;
  kernel_value *one = kernel_index(b, 1), *run = kernel_index(b, s->run), *length = kernel_index(b, s->length);
  kernel_value *base = BIN(MUL, emit_index_coord(c, x, s->dim).base, kernel_index(b, 2 * s->run));
  kernel_value *middle = BIN(MIN_S, BIN(ADD, base, run), length), *end = BIN(MIN_S, BIN(ADD, middle, run), length);
  const hlo_shape *shape = s->shapes[0];
  int64_t source[64];
  emit_coord fixed[64];
  for (int d = 0; d < shape->rank; d++) source[d] = d;
  source[s->dim] = -1;
  fixed[s->dim] = emit_coord_const(c, 0);
  emit_index *row = emit_index_select(c, x, shape->rank, shape->dims, source, fixed);
  kernel_value *init[] = {base, middle};
  kernel_for f = kernel_for_begin(b, base, end, one, 2, init);
  kernel_value *left = f.args[0], *right = f.args[1];
  emit_value *l = ARENA_ARRAY(c->a, emit_value, s->n), *r = ARENA_ARRAY(c->a, emit_value, s->n);
  emit_index *at_left = with_position(c, s, row, BIN(MIN_S, left, BIN(SUB, middle, one)));
  emit_index *at_right = with_position(c, s, row, BIN(MIN_S, right, BIN(SUB, length, one)));
  for (int k = 0; k < s->n; k++) l[k] = read_at(c, s, k, at_left), r[k] = read_at(c, s, k, at_right);
  kernel_value *no = kernel_int(b, KERNEL_I1, 0);
  kernel_value *smaller = less(c, s, no, r, l);  // right goes first only if it is less
  kernel_value *take = BIN(AND, BIN(LT_S, right, end), BIN(OR, smaller, BIN(LE_S, middle, left)));
  for (int k = 0; k < s->n; k++) l[k] = emit_select(c, take, r[k], l[k]);
  store_at(c, s, row, l, f.iv);
  kernel_value *next[] = {kernel_select(b, take, left, BIN(ADD, left, one)),
                          kernel_select(b, take, BIN(ADD, right, one), right)};
  kernel_for_end(b, &f, next);
}

static lemnos_status merge_pass(emit_ctx *c, const sort *s, const emit_space *elements, const char *suffix) {
  if (c->t->cls != HLO_TARGET_CPU || s->run == 0) return emit_over_space(c, suffix, elements, sort_element, (void *)s);
  emit_space pairs = *elements;
  int64_t *dims = arena_copy(c->a, elements->dims, sizeof *dims * (size_t)elements->rank);
  dims[s->dim] = (s->length + 2 * s->run - 1) / (2 * s->run);
  pairs.dims = dims;
  pairs.cost = 16 * s->run;
  return emit_over_space(c, suffix, &pairs, merge_runs, (void *)s);
}

static int add_scratch_set(emit_ctx *c, const sort *s) {
  int first = c->out->scratch.len;
  for (int k = 0; k < s->n; k++) emit_add_scratch(c, hlo_shape_bytes(s->shapes[k]));
  return first;
}

lemnos_status schedule_sort(emit_ctx *c) {
  sort s = {.root = emit_root(c), .source = FROM_OPERANDS};
  s.n = s.root->n_operands;
  const hlo_shape *shape = s.root->operands[0]->shape;
  int64_t dim = HLO_ATTRS(s.root, sort)->dimension;
  s.dim = (int)(dim < 0 ? dim + shape->rank : dim);
  if (hlo_shape_elements(shape) == 0) return LEMNOS_SUCCESS;
  s.length = shape->rank ? shape->dims[s.dim] : 1;
  s.shapes = ARENA_ARRAY(c->a, const hlo_shape *, s.n);
  bool shared = false;
  for (int k = 0; k < s.n; k++) {
    s.shapes[k] = emit_shape(c, s.root->operands[k]->shape->dtype, shape->rank, shape->dims);
    shared |= emit_alias_of(c, k) >= 0;
  }
  int passes = 1, scratch = -1;
  for (int64_t run = RANK; run < s.length; run *= 2) passes++;
  bool copy_first = shared && passes % 2 == 1;  // the first pass would write what it reads
  if (passes > 1 || copy_first) scratch = add_scratch_set(c, &s);
  for (int k = 0; copy_first && k < s.n; k++)
    LEMNOS_TRY(emit_copy_to(c, arena_printf(c->a, "_in%d", k), s.root->operands[k], KERNEL_ARG_SCRATCH, scratch + k,
                            s.shapes[k]));
  s.source = copy_first ? scratch : FROM_OPERANDS;
  emit_space space = {.rank = shape->rank, .dims = shape->dims, .n_groups = shape->rank, .lanes = 1, .cost = 64};
  space.groups = ARENA_ARRAY(c->a, int32_t, shape->rank + 1);
  for (int d = 0; d < shape->rank; d++) space.groups[d] = 1;
  for (int p = 0; p < passes; p++) {
    s.run = p == 0 ? 0 : (int64_t)RANK << (p - 1);
    s.target = (passes - 1 - p) % 2 == 0 ? RESULTS : scratch;
    LEMNOS_TRY(merge_pass(c, &s, &space, arena_printf(c->a, "_pass%d", p)));
    s.source = s.target;
  }
  return LEMNOS_SUCCESS;
}
