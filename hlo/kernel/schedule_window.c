// SPDX-License-Identifier: Apache-2.0
// reduce_window (element by element) and select_and_scatter.
//
// select_and_scatter in two launches: the first finds, for every window, the operand element it selects; the second
// adds up, for every operand element, the source values of the windows that selected it, in the windows' order. No
// atomics.
#include "hlo/kernel/emit.h"

#define BIN(op, x, y) kernel_bin(b, KERNEL_OP_##op, (x), (y))

typedef struct select_scatter {
  const hlo_instr *root;
  const hlo_shape *chosen;  // scratch: linear index in the operand, per window
} select_scatter;

// Candidate (index and value) against what is selected so far; the first candidate is always taken.
static void select_window(emit_ctx *c, void *user, emit_index *x) {
  const select_scatter *s = user;
  kernel_builder *b = &c->b;
  const hlo_instr *operand = s->root->operands[0];
  hlo_window w = HLO_ATTRS(s->root, select_and_scatter)->window;
  emit_value zero = emit_zero(c, operand->shape->dtype);
  bool complex = zero.im != NULL;
  kernel_value *carried[4] = {kernel_index(b, -1), zero.re, zero.im};
  int n = complex ? 3 : 2;
  kernel_for loops[64];
  emit_coord at[64];
  kernel_value *inside = NULL, **now = carried;
  for (int d = 0; d < w.n; d++) {
    loops[d] = kernel_for_begin(b, kernel_index(b, 0), kernel_index(b, w.dims[d].size), kernel_index(b, 1), n, now);
    now = loops[d].args;
    emit_coord p = emit_coord_scale(c, emit_index_coord(c, x, d), w.dims[d].stride);
    p = emit_coord_offset(c, emit_coord_add(c, p, emit_coord_of(loops[d].iv, 1), 1), -w.dims[d].pad_low);
    kernel_value *last = kernel_index(b, operand->shape->dims[d] - 1), *first = kernel_index(b, 0);
    kernel_value *ok = BIN(AND, BIN(LE_S, first, p.base), BIN(LE_S, p.base, last));
    inside = inside ? BIN(AND, inside, ok) : ok;
    at[d] = emit_coord_of(BIN(MIN_S, BIN(MAX_S, p.base, first), last), 1);
  }
  emit_index *from = w.n ? emit_index_of(c, w.n, operand->shape->dims, 1, at) : &c->scalar_index;
  emit_value args[2] = {{now[1], complex ? now[2] : NULL}, emit_element(c, operand, from)}, keep;
  emit_body(c, s->root->called[0], args, &keep);
  kernel_value *none = BIN(LT_S, now[0], kernel_index(b, 0));
  kernel_value *take = BIN(OR, none, kernel_un(b, KERNEL_OP_NOT, keep.re));
  if (inside) take = BIN(AND, take, inside);
  const hlo_shape *row_major = emit_shape(c, operand->shape->dtype, operand->shape->rank, operand->shape->dims);
  kernel_value *next[3] = {kernel_select(b, take, emit_index_linear(c, from, row_major).base, now[0]),
                           kernel_select(b, take, args[1].re, now[1]),
                           complex ? kernel_select(b, take, args[1].im, now[2]) : NULL};
  kernel_value **out = next;
  for (int d = w.n - 1; d >= 0; d--) {
    kernel_for_end(b, &loops[d], out);
    out = loops[d].results;
  }
  kernel_mem m = emit_scratch_mem(c, 0, s->chosen);
  emit_store(c, m, s->chosen->dtype, emit_index_linear(c, x, s->chosen), 1, (emit_value){out[0], NULL});
}

static void gather_windows(emit_ctx *c, void *user, emit_index *x) {
  const select_scatter *s = user;
  kernel_builder *b = &c->b;
  const hlo_instr *source = s->root->operands[1];
  hlo_window w = HLO_ATTRS(s->root, select_and_scatter)->window;
  emit_value init = emit_element(c, s->root->operands[2], &c->scalar_index);
  bool complex = init.im != NULL;
  kernel_value *carried[2] = {init.re, init.im}, **now = carried, *covers = NULL;
  int n = complex ? 2 : 1;
  kernel_for loops[64];
  emit_coord at[64];
  for (int d = 0; d < w.n; d++) {  // windows last - (count - 1) .. last, last = floor((p + pad) / stride)
    const hlo_window_dim *wd = &w.dims[d];
    int64_t count = (wd->size + wd->stride - 1) / wd->stride;
    loops[d] = kernel_for_begin(b, kernel_index(b, 0), kernel_index(b, count), kernel_index(b, 1), n, now);
    now = loops[d].args;
    kernel_value *p = BIN(ADD, emit_index_coord(c, x, d).base, kernel_index(b, wd->pad_low));
    kernel_value *last = BIN(DIV_S, p, kernel_index(b, wd->stride));
    kernel_value *o = BIN(ADD, BIN(SUB, last, kernel_index(b, count - 1)), loops[d].iv);
    kernel_value *start = BIN(MUL, o, kernel_index(b, wd->stride)), *zero = kernel_index(b, 0);
    kernel_value *top = kernel_index(b, source->shape->dims[d] - 1);
    kernel_value *ok = BIN(AND, BIN(LE_S, zero, o), BIN(LE_S, o, top));
    ok = BIN(AND, ok, BIN(AND, BIN(LE_S, start, p), BIN(LT_S, p, BIN(ADD, start, kernel_index(b, wd->size)))));
    covers = covers ? BIN(AND, covers, ok) : ok;
    at[d] = emit_coord_of(BIN(MIN_S, BIN(MAX_S, o, zero), top), 1);
  }
  emit_index *from = w.n ? emit_index_of(c, w.n, source->shape->dims, 1, at) : &c->scalar_index;
  kernel_mem m = emit_scratch_mem(c, 0, s->chosen);
  emit_value chosen = emit_load(c, m, s->chosen->dtype, emit_index_linear(c, from, s->chosen), 1);
  const hlo_shape *out = s->root->shape, *row_major = emit_shape(c, out->dtype, out->rank, out->dims);
  kernel_value *mine = BIN(EQ, chosen.re, emit_index_linear(c, x, row_major).base);
  if (covers) mine = BIN(AND, mine, covers);
  emit_value args[2] = {{now[0], complex ? now[1] : NULL}, emit_element(c, source, from)}, sum;
  emit_body(c, s->root->called[1], args, &sum);
  sum = emit_select(c, mine, sum, args[0]);
  kernel_value *next[2] = {sum.re, sum.im}, **results = next;
  for (int d = w.n - 1; d >= 0; d--) {
    kernel_for_end(b, &loops[d], results);
    results = loops[d].results;
  }
  emit_store_result(c, 0, x, (emit_value){results[0], complex ? results[1] : NULL});
}

static emit_space plain_space(emit_ctx *c, const hlo_shape *shape, int64_t cost) {
  emit_space space = {.rank = shape->rank, .dims = shape->dims, .n_groups = shape->rank, .lanes = 1, .cost = cost};
  space.groups = ARENA_ARRAY(c->a, int32_t, shape->rank + 1);
  for (int d = 0; d < shape->rank; d++) space.groups[d] = 1;
  return space;
}

lemnos_status schedule_window(emit_ctx *c) {
  const hlo_instr *root = emit_root(c);
  if (root->op != HLO_OP_SELECT_AND_SCATTER) return schedule_elementwise(c);
  if (hlo_shape_elements(root->shape) == 0) return LEMNOS_SUCCESS;
  if (emit_alias_of(c, 0) >= 0) return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "select_and_scatter in place");
  const hlo_shape *source = root->operands[1]->shape;
  if (hlo_shape_elements(source) == 0) return emit_copy_to(c, "", root->operands[2], KERNEL_ARG_RESULT, 0, root->shape);
  hlo_dtype index = emit_index_type(c) == KERNEL_I64 ? HLO_S64 : HLO_S32;
  select_scatter s = {root, emit_shape(c, index, source->rank, source->dims)};
  emit_add_scratch(c, hlo_shape_bytes(s.chosen));
  hlo_window w = HLO_ATTRS(root, select_and_scatter)->window;
  int64_t cost = 8;
  for (int d = 0; d < w.n; d++) cost *= w.dims[d].size;
  emit_space over_source = plain_space(c, source, cost), over_result = plain_space(c, root->shape, cost);
  LEMNOS_TRY(emit_over_space(c, "_select", &over_source, select_window, &s));
  return emit_over_space(c, "_scatter", &over_result, gather_windows, &s);
}
