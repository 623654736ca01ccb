// SPDX-License-Identifier: Apache-2.0
// Reductions with fused producers and an elementwise epilogue.
//
//   rows (the last dimension is reduced): an item takes some results, each a loop of vectors along the row
//   columns (the last dimension is kept): vectors of neighbouring results, each lane a column
//   few results out of many elements: two launches. The first reduces fixed chunks to partial results in scratch, the
//   second
//   combines those in order and runs the epilogue. Chunks follow from the shape alone.
#include "hlo/kernel/emit.h"

enum { MAX_HEROES = 16 };

typedef struct split {
  const hlo_instr *heroes[MAX_HEROES];
  int n;
  int64_t extent, chunk, parts;  // of the split coordinate
  int first_scratch[MAX_HEROES];
  const hlo_shape **shapes;  // of scratch, by number
  int64_t *dims;             // parts, then the results' dimensions
  int rank;
} split;

static int64_t elements_in(const hlo_instr *i) {
  return hlo_shape_elements(i->operands[0]->shape);
}

static bool is_hero(const split *s, const hlo_instr *i) {
  for (int h = 0; h < s->n; h++)
    if (s->heroes[h] == i) return true;
  return false;
}

// Everything computed from a hero is at the hero's own index, and no hero is computed from another. One walk in order.
static bool plain_epilogue(emit_ctx *c, const split *s, const hlo_shape *dims) {
  u64map after = {0};  // instructions that depend on a hero
  HLO_FOR_EACH (i, c->fused) {
    bool depends = false;
    for (int o = 0; o < i->n_operands; o++)
      depends |= is_hero(s, i->operands[o]) || ptrmap_get(&after, i->operands[o]) != NULL;
    if (!depends) continue;
    if (is_hero(s, i)) return false;
    bool structural = i->op == HLO_OP_TUPLE || i->op == HLO_OP_GET_TUPLE_ELEMENT;
    if (!structural && (!hlo_op_has(i->op, HLO_TRAIT_E) || !hlo_shape_same_dims(i->shape, dims))) return false;
    ptrmap_put(c->a, &after, i, i);
  }
  return true;
}

static bool same_space(const hlo_instr *x, const hlo_instr *y) {
  hlo_i64s p = HLO_ATTRS(x, dimensions)->dimensions, q = HLO_ATTRS(y, dimensions)->dimensions;
  return hlo_shape_same_dims(x->operands[0]->shape, y->operands[0]->shape) && p.n == q.n &&
         memcmp(p.data, q.data, sizeof *p.data * (size_t)p.n) == 0;
}

static bool collect(emit_ctx *c, split *s) {
  if (!c->fused) {
    s->heroes[s->n++] = c->instr;
    return true;
  }
  HLO_FOR_EACH (i, c->fused) {
    if (i->op != HLO_OP_REDUCE) continue;
    if (s->n == MAX_HEROES || (s->n && !same_space(i, s->heroes[0]))) return false;
    s->heroes[s->n++] = i;
  }
  const hlo_shape *dims = hlo_shape_leaf(s->heroes[0]->shape, 0);
  const hlo_instr *root = emit_root(c);
  for (int l = 0; l < hlo_shape_leaves(root->shape); l++)
    if (!hlo_shape_same_dims(hlo_shape_leaf(root->shape, l), dims)) return false;
  return plain_epilogue(c, s, dims);
}

static void partial(emit_ctx *c, void *user, emit_index *x) {
  const split *s = user;
  kernel_builder *b = &c->b;
  kernel_value *part = emit_index_coord(c, x, 0).base;
  kernel_value *lo = kernel_bin(b, KERNEL_OP_MUL, part, kernel_index(b, s->chunk));
  kernel_value *hi = kernel_bin(b, KERNEL_OP_ADD, lo, kernel_index(b, s->chunk));
  if (s->extent % s->chunk) hi = kernel_bin(b, KERNEL_OP_MIN_S, hi, kernel_index(b, s->extent));
  int64_t source[64];
  for (int d = 0; d + 1 < s->rank; d++) source[d] = d + 1;
  emit_index *out = emit_index_select(c, x, s->rank - 1, s->dims + 1, source, NULL);
  emit_value values[MAX_HEROES][64];
  for (int h = 0; h < s->n; h++) emit_reduce_range(c, s->heroes[h], out, lo, hi, s->chunk, values[h]);
  for (int h = 0; h < s->n; h++)
    for (int o = 0; o < s->heroes[h]->n_operands / 2; o++) {
      int number = s->first_scratch[h] + o;
      const hlo_shape *shape = s->shapes[number];
      emit_store(c, emit_scratch_mem(c, number, shape), shape->dtype, emit_index_linear(c, x, shape), x->lanes,
                 values[h][o]);
    }
}

static kernel_value *lanes_of(emit_ctx *c, kernel_value *v, int lanes) {
  return kernel_splat(&c->b, v, lanes);
}

// All parts of hero h at x, in order.
static void combine(emit_ctx *c, const split *s, int h, emit_index *x, emit_value *out) {
  kernel_builder *b = &c->b;
  const hlo_instr *hero = s->heroes[h];
  int n = hero->n_operands / 2, n_flat = 0, lanes = emit_index_varies(x) ? x->lanes : 1;
  int64_t source[64];
  emit_coord fixed[64];
  for (int d = 1; d < s->rank; d++) source[d] = d - 1;
  source[0] = -1;
  emit_value first[64], now[64], next[64];
  kernel_value *flat[128];
  for (int pass = 0; pass < 2; pass++) {
    kernel_for f;
    emit_value *into = pass ? next : first;
    if (pass) f = kernel_for_begin(b, kernel_index(b, 1), kernel_index(b, s->parts), kernel_index(b, 1), n_flat, flat);
    fixed[0] = pass ? emit_coord_of(f.iv, 1) : emit_coord_const(c, 0);
    emit_index *at = emit_index_select(c, x, s->rank, s->dims, source, fixed);
    for (int o = 0; o < n; o++) {
      const hlo_shape *shape = s->shapes[s->first_scratch[h] + o];
      into[o] = emit_load(c, emit_scratch_mem(c, s->first_scratch[h] + o, shape), shape->dtype,
                          emit_index_linear(c, at, shape), x->lanes);
      into[o].re = lanes_of(c, into[o].re, lanes);
      if (into[o].im) into[o].im = lanes_of(c, into[o].im, lanes);
    }
    if (pass) {
      int k = 0;
      for (int o = 0; o < n; o++)
        now[o] = (emit_value){f.args[k], first[o].im ? f.args[k + 1] : NULL}, k += first[o].im ? 2 : 1;
      emit_reduce_combine(c, hero, now, next, next);
    }
    n_flat = 0;
    for (int o = 0; o < n; o++) {
      flat[n_flat++] = lanes_of(c, into[o].re, lanes);
      if (into[o].im) flat[n_flat++] = lanes_of(c, into[o].im, lanes);
    }
    if (!pass) continue;
    kernel_for_end(b, &f, flat);
    int k = 0;
    for (int o = 0; o < n; o++) {
      out[o].re = f.results[k++];
      out[o].im = first[o].im ? f.results[k++] : NULL;
      hlo_dtype t = hero->operands[o]->shape->dtype;
      if (emit_reduce_dtype(hero, o) != t) out[o].re = emit_down(c, out[o].re, t);
    }
  }
}

static void finish(emit_ctx *c, void *user, emit_index *x) {
  const split *s = user;
  c->root_scope.memo = (u64map){0};
  for (int h = 0; h < s->n; h++) {
    emit_value *values = ARENA_ARRAY(c->a, emit_value, 64);
    combine(c, s, h, x, values);
    ptrmap_put(c->a, &c->overrides, s->heroes[h], values);
  }
  const hlo_instr *root = emit_root(c);
  int n = hlo_shape_leaves(root->shape);
  emit_value *values = ARENA_ARRAY(c->a, emit_value, n);
  for (int l = 0; l < n; l++) values[l] = emit_leaf(c, root, l, x);
  for (int l = 0; l < n; l++) emit_store_result(c, l, x, values[l]);
}

static lemnos_status two_launches(emit_ctx *c, split *s, int64_t trailing) {
  const hlo_shape *out = hlo_shape_leaf(s->heroes[0]->shape, 0);
  s->rank = out->rank + 1;
  s->dims = ARENA_ARRAY(c->a, int64_t, s->rank);
  s->dims[0] = s->parts;
  for (int d = 0; d < out->rank; d++) s->dims[d + 1] = out->dims[d];
  int total = 0;
  for (int h = 0; h < s->n; h++) total += s->heroes[h]->n_operands / 2;
  s->shapes = ARENA_ARRAY(c->a, const hlo_shape *, total);
  for (int h = 0; h < s->n; h++) {
    s->first_scratch[h] = c->out->scratch.len;
    for (int o = 0; o < s->heroes[h]->n_operands / 2; o++) {
      const hlo_shape *shape = emit_shape(c, emit_reduce_dtype(s->heroes[h], o), s->rank, s->dims);
      s->shapes[c->out->scratch.len] = shape;
      emit_add_scratch(c, hlo_shape_bytes(shape));
    }
  }
  emit_space over_out = emit_space_of(c, emit_root(c), out, NULL);
  emit_space space = {.rank = s->rank,
                      .dims = s->dims,
                      .n_groups = over_out.n_groups + 1,
                      .lanes = trailing ? 1 : over_out.lanes,
                      .cost = elements_in(s->heroes[0]) / hlo_shape_elements(out) / s->parts + 1};
  space.groups = ARENA_ARRAY(c->a, int32_t, space.n_groups + 1);
  space.groups[0] = 1;
  memcpy(space.groups + 1, over_out.groups, sizeof *space.groups * (size_t)over_out.n_groups);
  LEMNOS_TRY(emit_over_space(c, "_parts", &space, partial, s));
  over_out.cost = s->parts;
  return emit_over_space(c, "", &over_out, finish, s);
}

static int64_t first_reduced(const hlo_instr *i) {
  return i->operands[0]->shape->dims[HLO_ATTRS(i, dimensions)->dimensions.data[0]];
}

// Chunks of the split coordinate, so that there are enough items and each has enough to do.
// Each part starts from the initial value, so that it counts once per part: harmless where it is neutral or where
// counting it again changes nothing (minimum, maximum, and, or). The specification leaves open how often it counts; the
// interpreter counts it once.
static bool init_may_repeat(const hlo_instr *reduce) {
  hlo_op op;
  bool swapped;
  if (reduce->n_operands != 2 || !hlo_computation_is_binary(reduce->called[0], &op, &swapped)) return true;
  if (op != HLO_OP_ADD && op != HLO_OP_MULTIPLY && op != HLO_OP_XOR) return true;
  const hlo_instr *init = reduce->operands[1];
  while (init->op == HLO_OP_RESHAPE || init->op == HLO_OP_BITCAST || init->op == HLO_OP_BROADCAST_IN_DIM)
    init = init->operands[0];
  hlo_dtype t = init->shape->dtype;
  if (!hlo_is_constant(init) || t == HLO_PRED) return t == HLO_PRED;
  const hlo_literal *l = hlo_constant_value(init);
  double neutral = op == HLO_OP_MULTIPLY ? 1 : 0;
  if (hlo_dtype_is_integer(t)) return hlo_literal_get_i64(l, 0) == (int64_t)neutral;
  return hlo_literal_get_f64(l, 0, 0) == neutral && (!hlo_dtype_is_complex(t) || hlo_literal_get_f64(l, 0, 1) == 0);
}

static bool inits_may_repeat(const split *s) {
  for (int h = 0; h < s->n; h++)
    if (!init_may_repeat(s->heroes[h])) return false;
  return true;
}

static bool choose_parts(emit_ctx *c, split *s, int64_t trailing) {
  const hlo_instr *hero = s->heroes[0];
  int64_t out = hlo_shape_elements(hlo_shape_leaf(hero->shape, 0)), in = elements_in(hero);
  bool cpu = c->t->cls == HLO_TARGET_CPU;
  // items; elements of one
  int64_t wanted = cpu ? 64 : c->t->cls == HLO_TARGET_GPU ? 1024 : 256, least = cpu ? 8192 : 64;
  s->extent = trailing ? trailing : first_reduced(hero);
  int64_t per_item = trailing ? out : (out + 15) / 16;  // items there would be without a split
  if (out == 0 || in == 0 || per_item * 4 > wanted || in < 4 * least || s->extent < 8) return false;
  s->parts = wanted / (per_item < 1 ? 1 : per_item);
  if (in / s->parts < least) s->parts = in / least;
  if (s->parts > s->extent / 4) s->parts = s->extent / 4;
  if (s->parts < 2) return false;
  s->chunk = (s->extent + s->parts - 1) / s->parts;
  if (trailing) s->chunk = (s->chunk + 63) / 64 * 64;
  s->parts = (s->extent + s->chunk - 1) / s->chunk;
  return s->parts > 1;
}

lemnos_status schedule_reduce(emit_ctx *c) {
  split s = {0};
  bool plain = collect(c, &s);
  if (s.n == 0) return schedule_elementwise(c);
  emit_kernel_begin(c, "", 1, emit_index_type(c));  // the questions below need a kernel's context
  int64_t trailing = emit_reduce_trailing(c, s.heroes[0]);
  hlo_i64s dims = HLO_ATTRS(s.heroes[0], dimensions)->dimensions;
  bool ascending = dims.n > 0;
  for (int d = 1; d < dims.n; d++) ascending &= dims.data[d] > dims.data[d - 1];
  bool in_place = false;
  for (int l = 0; l < hlo_shape_leaves(c->instr->shape); l++) in_place |= emit_alias_of(c, l) >= 0;
  for (int h = 1; h < s.n; h++) plain &= emit_reduce_trailing(c, s.heroes[h]) == trailing;
  bool done = false;
  if (plain && !in_place) LEMNOS_TRY(schedule_reduce_rows(c, s.heroes, s.n, &done));
  if (done) return LEMNOS_SUCCESS;
  if (plain && ascending && !in_place && inits_may_repeat(&s) && choose_parts(c, &s, trailing))
    return two_launches(c, &s, trailing);
  int lanes = emit_vector_lanes(c);
  if (trailing >= 2 * lanes) return schedule_elementwise_lanes(c, 1);
  if (trailing == 0 && c->t->cls == HLO_TARGET_CPU && lanes <= 16) return schedule_elementwise_lanes(c, 4 * lanes);
  return schedule_elementwise(c);
}
