// SPDX-License-Identifier: Apache-2.0
// What all schedules share: starting and finishing kernels, index types, vector widths, costs, and the loop nest over
// an index space. A space is a list of groups of dimensions; the last group is the vector direction.
//
//   CPU: an item takes a chunk of a long row, or several short rows; inside, a loop over vectors and one over what
//   remains.
//   GPU, CPU_LIKE: an item is one vector (where the row divides) or one element.
#include "hlo/kernel/emit.h"

const hlo_instr *emit_root(const emit_ctx *c) {
  return c->fused ? c->fused->root : c->instr;
}

// --- kernels -------------------------------------------------------------------------------------

void emit_kernel_begin(emit_ctx *c, const char *suffix, int64_t grid, kernel_scalar index) {
  strv name = strv_from_cstr(arena_printf(c->a, STRV_FMT "%s", STRV_ARG(c->instr->name), suffix));
  c->k = kernel_create(c->a, name, 0, NULL, grid, 0, index);
  c->cap_params = c->buffers.len + 64;
  for (int o = 0; o < c->instr->n_operands; o++) c->cap_params += hlo_shape_leaves(c->instr->operands[o]->shape);
  c->cap_params += hlo_shape_leaves(c->instr->shape);
  if (c->fused)
    HLO_FOR_EACH (i, c->fused) c->cap_params += i->op == HLO_OP_CONSTANT;
  c->k->params = ARENA_ARRAY(c->a, kernel_param, c->cap_params);
  c->b = kernel_builder_create(c->k);
  for (int i = 0; i < c->buffers.len; i++) c->buffers.data[i].param = -1;
  c->args.data = NULL, c->args.len = c->args.cap = 0;
  c->root_scope = (emit_scope){0};
  c->scope = &c->root_scope;
  c->overrides = (u64map){0};
  c->scalar_index = (emit_index){.lanes = 1};
}

lemnos_status emit_kernel_end(emit_ctx *c) {
  if (c->error) return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "%s", c->error);
  bool shared = false;
  if (c->options && c->options->result_aliases)
    for (int r = 0; r < hlo_shape_leaves(c->instr->shape); r++) shared |= c->options->result_aliases[r] >= 0;
  int addresses = 0;
  for (int p = 0; p < c->k->n_params; p++) {
    kernel_param *param = &c->k->params[p];
    if (param->readonly) param->writeonly = false;
    if (shared) param->noalias = false;
    int64_t bytes = param->n_elems * kernel_scalar_table[param->elem].bytes;
    if (bytes > c->t->max_storage_range && c->t->max_storage_range > 0)
      return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "a buffer of %lld bytes exceeds the device's range of %lld",
                                (long long)bytes, (long long)c->t->max_storage_range);
    addresses += c->t->max_bound_range > 0 && bytes > c->t->max_bound_range;
  }
  if (addresses > c->t->max_addresses)
    return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "%d buffers of more than %lld bytes, of which the device takes %d",
                              addresses, (long long)c->t->max_bound_range, c->t->max_addresses);
  if (c->t->max_buffers > 0 && c->k->n_params > c->t->max_buffers)
    return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "%d buffers, of which the device binds %d", c->k->n_params,
                              c->t->max_buffers);
  LEMNOS_TRY(kernel_finish(c->k, c->t));
  LEMNOS_TRY(kernel_verify(c->k, c->t));
  kernel_launch launch = {c->k, c->args.data};
  vec_push(c->a, &c->out->launches, launch);
  return LEMNOS_SUCCESS;
}

static int64_t most_elements(const hlo_shape *s) {
  int64_t most = 0;
  for (int l = 0; l < hlo_shape_leaves(s); l++) {
    const hlo_shape *leaf = hlo_shape_leaf(s, l);
    if (!hlo_shape_is_array(leaf)) continue;
    int64_t n = hlo_shape_elements(leaf) * (hlo_dtype_is_complex(leaf->dtype) ? 2 : 1);
    if (n > most) most = n;
  }
  return most;
}

kernel_scalar emit_index_type(const emit_ctx *c) {
  int64_t most = most_elements(c->instr->shape), other;
  for (int o = 0; o < c->instr->n_operands; o++)
    if ((other = most_elements(c->instr->operands[o]->shape)) > most) most = other;
  if (c->fused)
    HLO_FOR_EACH (i, c->fused)
      if ((other = most_elements(i->shape)) > most) most = other;
  return most < INT64_C(0x7fff0000) ? KERNEL_I32 : KERNEL_I64;
}

static void widest(const hlo_shape *s, int *bytes, bool *complex) {
  for (int l = 0; l < hlo_shape_leaves(s); l++) {
    const hlo_shape *leaf = hlo_shape_leaf(s, l);
    if (!hlo_shape_is_array(leaf) || leaf->rank == 0) continue;
    int n = kernel_scalar_table[emit_compute_scalar(leaf->dtype)].bytes;
    if (n > *bytes) *bytes = n;
    *complex |= hlo_dtype_is_complex(leaf->dtype);
  }
}

int emit_vector_lanes(const emit_ctx *c) {
  int bytes = 1;
  bool complex = false;
  widest(c->instr->shape, &bytes, &complex);
  for (int o = 0; o < c->instr->n_operands; o++) widest(c->instr->operands[o]->shape, &bytes, &complex);
  if (c->fused)
    HLO_FOR_EACH (i, c->fused) widest(i->shape, &bytes, &complex);
  int lanes = c->t->vector_bytes / bytes, limit = c->t->cls == HLO_TARGET_CPU ? complex ? 32 : 64 : complex ? 2 : 4;
  if (lanes > limit) lanes = limit;
  return lanes < 1 ? 1 : lanes;
}

// --- which dimensions must be told apart ---------------------------------------------------------

typedef struct collapse {
  emit_ctx *c;
  int64_t dims[64];
  bool split[64];  // between root dimension d and the next one larger than 1
  int rank;
  u64map seen;
} collapse;

static int next_large(const collapse *s, int d) {
  do d++;
  while (d < s->rank && s->dims[d] == 1);
  return d;
}

static int previous_large(const collapse *s, int d) {
  do d--;
  while (d >= 0 && s->dims[d] == 1);
  return d;
}

static void isolate(collapse *s, int64_t d) {
  if (d < 0 || s->dims[d] == 1) return;
  s->split[d] = true;
  int p = previous_large(s, (int)d);
  if (p >= 0) s->split[p] = true;
}

static void isolate_all(collapse *s, int rank, const int64_t *map) {
  for (int d = 0; d < rank; d++) isolate(s, map[d]);
}

// An array whose dimension d is root dimension map[d] (-1: none) is read in memory order.
static void need_memory_order(collapse *s, const hlo_shape *shape, const int64_t *map) {
  int64_t position[64];
  int at = 0;
  for (int d = 0; d < s->rank; d++) position[d] = -1;
  for (int d = 0; d < shape->rank; d++) {
    if (shape->dims[d] == 1) continue;
    if (map[d] >= 0) position[map[d]] = at;
    at++;
  }
  for (int d = 0; d < s->rank; d++) {
    if (s->dims[d] == 1) continue;
    int e = next_large(s, d);
    if (e >= s->rank) break;
    bool together = position[d] < 0 ? position[e] < 0 : position[e] == position[d] + 1;
    if (!together) s->split[d] = true;
  }
  if (shape->layout) isolate_all(s, shape->rank, map);
}

static void visit(collapse *s, const hlo_instr *i, const int64_t *map);

static void visit_reshape(collapse *s, const hlo_instr *i, const int64_t *map) {
  const hlo_shape *in = i->operands[0]->shape, *out = i->shape;
  int64_t inner[64], a = 1, b = 1;
  need_memory_order(s, out, map);
  int d = 0;
  for (int e = 0; e < in->rank; e++) {  // a, b: products of dimensions before d and e
    while (d < out->rank && a < b) a *= out->dims[d++];
    while (d < out->rank && out->dims[d] == 1 && in->dims[e] != 1) d++;
    bool same = a == b && d < out->rank && out->dims[d] == in->dims[e];
    inner[e] = same ? map[d] : -1;
    b *= in->dims[e];
  }
  visit(s, i->operands[0], inner);
}

static void visit_gather(collapse *s, const hlo_instr *i, const int64_t *map) {
  const hlo_gather_dnums *n = &HLO_ATTRS(i, gather)->dnums;
  for (int d = 0; d + 1 < i->shape->rank; d++) {
    bool here = hlo_i64s_contains(n->offset_dims, d), next = hlo_i64s_contains(n->offset_dims, d + 1);
    if (here && next) continue;
    if (here == next && n->operand_batching_dims.n == 0) continue;
    isolate(s, map[d + 1]);
    isolate(s, map[d]);
  }
}

static void visit_dot(collapse *s, const hlo_instr *i, const int64_t *map) {
  const hlo_dot_dnums *n = &HLO_ATTRS(i, dot_general)->dnums;
  for (int side = 0; side < 2; side++) {
    const hlo_shape *in = i->operands[side]->shape;
    hlo_i64s batch = side ? n->rhs_batch : n->lhs_batch, k = side ? n->rhs_contracting : n->lhs_contracting;
    int64_t inner[64];
    int free = batch.n + (side ? i->operands[0]->shape->rank - n->lhs_batch.n - n->lhs_contracting.n : 0);
    for (int d = 0; d < in->rank; d++) {
      inner[d] = -1;
      for (int b = 0; b < batch.n; b++)
        if (batch.data[b] == d) inner[d] = map[b];
      if (!hlo_i64s_contains(batch, d) && !hlo_i64s_contains(k, d)) inner[d] = map[free++];
    }
    visit(s, i->operands[side], inner);
  }
}

static void visit_reduce(collapse *s, const hlo_instr *i, const int64_t *map) {
  const hlo_shape *in = i->operands[0]->shape;
  int64_t inner[64];
  int kept = 0;
  for (int d = 0; d < in->rank; d++)
    inner[d] = hlo_i64s_contains(HLO_ATTRS(i, dimensions)->dimensions, d) ? -1 : map[kept++];
  for (int o = 0; o < i->n_operands / 2; o++) visit(s, i->operands[o], inner);
}

static void visit_moved(collapse *s, const hlo_instr *i, const int64_t *map) {  // same rank, some dimensions shifted
  for (int d = 0; d < i->shape->rank; d++) {
    bool moved = i->operands[0]->shape->dims[d] != i->shape->dims[d];
    if (i->op == HLO_OP_REVERSE) moved = hlo_i64s_contains(HLO_ATTRS(i, dimensions)->dimensions, d);
    if (i->op == HLO_OP_CONCATENATE) moved = d == HLO_ATTRS(i, concatenate)->dimension;
    if (i->op == HLO_OP_DYNAMIC_UPDATE_SLICE) moved = i->operands[1]->shape->dims[d] != i->shape->dims[d];
    if (i->op == HLO_OP_PAD) {
      const hlo_padding_dim *p = &HLO_ATTRS(i, pad)->padding.dims[d];
      moved = p->low || p->high || p->interior;
    }
    if (moved) isolate(s, map[d]);
  }
  int n = i->op == HLO_OP_CONCATENATE ? i->n_operands : i->op == HLO_OP_DYNAMIC_UPDATE_SLICE ? 2 : 1;
  for (int o = 0; o < n; o++) visit(s, i->operands[o], map);
}

static bool seen_before(collapse *s, const hlo_instr *i, const int64_t *map, int rank) {
  uint64_t key = hash_bytes(map, sizeof *map * (size_t)rank, (uint64_t)(uintptr_t)i), there;
  if (u64map_get(&s->seen, key, &there)) return true;
  u64map_put(s->c->a, &s->seen, key, 1);
  return false;
}

static void visit(collapse *s, const hlo_instr *i, const int64_t *map) {
  int64_t inner[64];
  const hlo_shape *shape = hlo_shape_leaf(i->shape, 0);
  if (shape->rank == 0 || seen_before(s, i, map, shape->rank)) return;
  if (ptrmap_get(&s->c->operand_leaves, i)) {
    need_memory_order(s, shape, map);
    return;
  }
  switch (i->op) {
    case HLO_OP_CONSTANT:
      if (!hlo_constant_value(i)->splat) need_memory_order(s, shape, map);
      return;
    case HLO_OP_IOTA: isolate(s, map[HLO_ATTRS(i, iota)->dimension]); return;
    case HLO_OP_BROADCAST_IN_DIM: {
      const hlo_shape *in = i->operands[0]->shape;
      for (int d = 0; d < in->rank; d++) {
        int64_t out = HLO_ATTRS(i, broadcast)->dimensions.data[d];
        inner[d] = in->dims[d] == 1 ? -1 : map[out];
      }
      visit(s, i->operands[0], inner);
      return;
    }
    case HLO_OP_TRANSPOSE: {
      hlo_i64s p = HLO_ATTRS(i, transpose)->permutation;
      for (int d = 0; d < p.n; d++) inner[p.data[d]] = map[d];
      visit(s, i->operands[0], inner);
      return;
    }
    case HLO_OP_RESHAPE:
    case HLO_OP_BITCAST: visit_reshape(s, i, map); return;
    case HLO_OP_SLICE:
    case HLO_OP_PAD:
    case HLO_OP_REVERSE:
    case HLO_OP_CONCATENATE:
    case HLO_OP_DYNAMIC_SLICE:
    case HLO_OP_DYNAMIC_UPDATE_SLICE: visit_moved(s, i, map); return;
    case HLO_OP_GATHER: visit_gather(s, i, map); return;
    case HLO_OP_REDUCE: visit_reduce(s, i, map); return;
    case HLO_OP_DOT_GENERAL: visit_dot(s, i, map); return;
    case HLO_OP_GET_TUPLE_ELEMENT: visit(s, i->operands[0], map); return;
    case HLO_OP_COPY: visit(s, i->operands[0], map); return;
    case HLO_OP_TUPLE:
      for (int o = 0; o < i->n_operands; o++)
        if (hlo_shape_same_dims(i->operands[o]->shape, shape)) visit(s, i->operands[o], map);
      return;
    default:
      if (!hlo_op_has(i->op, HLO_TRAIT_E) && i->op != HLO_OP_MAP) {
        isolate_all(s, shape->rank, map);
        return;
      }
      for (int o = 0; o < i->n_operands; o++) visit(s, i->operands[o], map);
  }
}

// --- costs ---------------------------------------------------------------------------------------

static int64_t instr_cost(const hlo_instr *i, int64_t n) {
  switch (i->op) {
    case HLO_OP_REDUCE: return most_elements(i->operands[0]->shape) / n + 1;
    case HLO_OP_DOT_GENERAL: {
      int64_t k = 1;
      hlo_i64s dims = HLO_ATTRS(i, dot_general)->dnums.lhs_contracting;
      for (int d = 0; d < dims.n; d++) k *= i->operands[0]->shape->dims[dims.data[d]];
      return k + 1;
    }
    case HLO_OP_CONVOLUTION: {
      int64_t out = i->operands[1]->shape->dims[HLO_ATTRS(i, convolution)->dnums.kernel_output_feature];
      return most_elements(i->operands[1]->shape) / (out > 0 ? out : 1) + 1;
    }
    case HLO_OP_REDUCE_WINDOW: {
      int64_t k = 1;
      hlo_window w = HLO_ATTRS(i, reduce_window)->window;
      for (int d = 0; d < w.n; d++) k *= w.dims[d].size;
      return 4 * k;
    }
    case HLO_OP_EXPONENTIAL:
    case HLO_OP_LOG:
    case HLO_OP_TANH:
    case HLO_OP_LOGISTIC:
    case HLO_OP_SINE:
    case HLO_OP_COSINE:
    case HLO_OP_POWER:
    case HLO_OP_ERF:
    case HLO_OP_ATAN2:
    case HLO_OP_LOG_PLUS_ONE:
    case HLO_OP_EXPONENTIAL_MINUS_ONE:
    case HLO_OP_CBRT:
    case HLO_OP_TAN:
    case HLO_OP_ERFC: return 8;
    case HLO_OP_GATHER:
    case HLO_OP_TRANSPOSE: return 4;
    default: return 1;
  }
}

static int64_t element_cost(const emit_ctx *c, int64_t n) {
  if (n < 1) n = 1;
  if (!c->fused) return instr_cost(c->instr, n);
  int64_t sum = 0;
  HLO_FOR_EACH (i, c->fused) {
    int64_t own = most_elements(i->shape);
    if (i->op != HLO_OP_PARAMETER && own > 0) sum += instr_cost(i, own) * ((own + n - 1) / n);
  }
  return sum < 1 ? 1 : sum;
}

emit_space emit_space_of(emit_ctx *c, const hlo_instr *root, const hlo_shape *shape, const bool *apart) {
  collapse s = {.c = c, .rank = shape->rank};
  int64_t identity[64];
  for (int d = 0; d < shape->rank; d++) s.dims[d] = shape->dims[d], identity[d] = d;
  if (shape->layout) isolate_all(&s, shape->rank, identity);
  for (int d = 0; apart && d < shape->rank; d++)
    if (apart[d]) isolate(&s, d);
  if (root->op == HLO_OP_TUPLE && !ptrmap_get(&c->operand_leaves, root)) {
    for (int o = 0; o < root->n_operands; o++)
      if (hlo_shape_is_array(root->operands[o]->shape) && hlo_shape_same_dims(root->operands[o]->shape, shape))
        visit(&s, root->operands[o], identity);
  } else {
    visit(&s, root, identity);
  }
  emit_space space = {.rank = shape->rank, .dims = shape->dims, .lanes = emit_vector_lanes(c)};
  space.groups = ARENA_ARRAY(c->a, int32_t, shape->rank + 1);
  space.cost = element_cost(c, hlo_shape_elements(shape));
  int start = 0;
  for (int d = 0; d < shape->rank; d++) {
    int e = next_large(&s, d);
    bool end = shape->dims[d] != 1 && s.split[d] && e < shape->rank;
    if (end || d + 1 == shape->rank) {
      space.groups[space.n_groups++] = d + 1 - start;
      start = d + 1;
    }
  }
  return space;
}

// --- the nest ------------------------------------------------------------------------------------

typedef struct walk {
  emit_ctx *c;
  const emit_space *s;
  emit_space_fn fn;
  void *user;
  emit_group *groups;
  int64_t sizes[64];  // of the groups
} walk;

static void call_at(walk *w, kernel_value *minor, int lanes, int64_t multiple) {
  emit_ctx *c = w->c;
  int last = w->s->n_groups - 1;
  if (last >= 0) {
    emit_coord at = emit_coord_of(minor, multiple);
    at.stride = lanes > 1 ? 1 : 0;
    w->groups[last].at = at;
  }
  w->fn(c, w->user, emit_index_create(c, w->s->rank, w->s->dims, lanes, w->s->n_groups, w->groups));
}

static int64_t const_of(const kernel_value *v) {
  return v->def && v->def->op == KERNEL_OP_CONST ? v->def->imm.i : -1;
}

static void minor_loop(walk *w, kernel_value *lo, kernel_value *hi, int lanes, int64_t multiple) {
  kernel_builder *b = &w->c->b;
  int64_t l = const_of(lo), h = const_of(hi);
  if (l >= 0 && h >= 0) {
    if (h <= l) return;
    if (h - l <= lanes) {
      call_at(w, lo, lanes, multiple);
      return;
    }
  }
  kernel_for f = kernel_for_begin(b, lo, hi, kernel_index(b, lanes), 0, NULL);
  call_at(w, f.iv, lanes, multiple);
  kernel_for_end(b, &f, NULL);
}

// Elements lo .. hi of the last group: vectors, then what is left. lo is a multiple of the lanes.
static void row(walk *w, kernel_value *lo, kernel_value *hi, int lanes, int64_t lo_multiple, bool whole) {
  kernel_builder *b = &w->c->b;
  if (lanes == 1 || whole) {
    minor_loop(w, lo, hi, lanes, lanes);
    return;
  }
  kernel_value *n = kernel_bin(b, KERNEL_OP_SUB, hi, lo);
  n = kernel_bin(b, KERNEL_OP_SUB, n, kernel_bin(b, KERNEL_OP_REM_U, n, kernel_index(b, lanes)));
  kernel_value *middle = kernel_bin(b, KERNEL_OP_ADD, lo, n);
  minor_loop(w, lo, middle, lanes, lanes);
  minor_loop(w, middle, hi, 1, 1);
}

static void set_outer(walk *w, kernel_value *outer) {
  emit_coord rest = emit_coord_of(outer, 1);
  for (int g = w->s->n_groups - 2; g >= 0; g--) {
    emit_coord q = rest;
    if (g == 0)
      w->groups[g].at = rest;
    else
      emit_coord_divide(w->c, rest, w->sizes[g], 1, &q, &w->groups[g].at);
    rest = q;
  }
}

static lemnos_status cpu_space(walk *w, const char *suffix, int64_t outer, int64_t minor) {
  emit_ctx *c = w->c;
  int lanes = w->s->lanes;
  while (lanes > minor) lanes /= 2;
  int64_t block = 16384 / w->s->cost;
  block = (block < lanes ? lanes : block) / lanes * lanes;
  kernel_scalar index = emit_index_type(c);
  kernel_builder *b = &c->b;
  if (minor > block || outer == 1) {  // chunks of a row
    int64_t chunks = (minor + block - 1) / block;
    emit_kernel_begin(c, suffix, outer * chunks, index);
    emit_coord o, chunk, item = emit_coord_of(kernel_item(b), 1);
    if (outer == 1)
      o = emit_coord_const(c, 0), chunk = item;
    else
      emit_coord_divide(c, item, chunks, 1, &o, &chunk);
    if (outer * chunks == 1) chunk = emit_coord_const(c, 0);
    set_outer(w, o.base);
    kernel_value *lo = kernel_bin(b, KERNEL_OP_MUL, chunk.base, kernel_index(b, block));
    kernel_value *hi = kernel_bin(b, KERNEL_OP_ADD, lo, kernel_index(b, block));
    if (minor % block) hi = kernel_bin(b, KERNEL_OP_MIN_S, hi, kernel_index(b, minor));
    row(w, lo, hi, lanes, block, minor % lanes == 0);
    c->k->grain = 1;
  } else {
    int64_t rows = block / minor < 1 ? 1 : block / minor, items = (outer + rows - 1) / rows;
    emit_kernel_begin(c, suffix, items, index);
    kernel_value *item = items == 1 ? kernel_index(b, 0) : kernel_item(b);
    kernel_value *lo = kernel_bin(b, KERNEL_OP_MUL, item, kernel_index(b, rows));
    kernel_value *hi = kernel_bin(b, KERNEL_OP_ADD, lo, kernel_index(b, rows));
    if (outer % rows) hi = kernel_bin(b, KERNEL_OP_MIN_S, hi, kernel_index(b, outer));
    bool loop = rows > 1;
    kernel_for f = {0};
    if (loop) f = kernel_for_begin(b, lo, hi, kernel_index(b, 1), 0, NULL);
    set_outer(w, loop ? f.iv : lo);
    row(w, kernel_index(b, 0), kernel_index(b, minor), lanes, 0, minor % lanes == 0);
    if (loop) kernel_for_end(b, &f, NULL);
  }
  return emit_kernel_end(c);
}

// A long flat space that the vectors do not divide: one more item does what is left.
static lemnos_status flat_with_rest(walk *w, const char *suffix, int64_t minor) {
  emit_ctx *c = w->c;
  kernel_builder *b = &c->b;
  int lanes = w->s->lanes;
  int64_t whole = minor / lanes;
  emit_kernel_begin(c, suffix, whole + 1, emit_index_type(c));
  kernel_value *item = kernel_item(b);
  kernel_if f = kernel_if_begin(b, kernel_bin(b, KERNEL_OP_LT_S, item, kernel_index(b, whole)), 0, NULL);
  call_at(w, kernel_bin(b, KERNEL_OP_MUL, item, kernel_index(b, lanes)), lanes, lanes);
  kernel_if_else(b, &f, NULL);
  minor_loop(w, kernel_index(b, whole * lanes), kernel_index(b, minor), 1, 1);
  kernel_if_end(b, &f, NULL);
  return emit_kernel_end(c);
}

static lemnos_status invocation_space(walk *w, const char *suffix, int64_t outer, int64_t minor) {
  emit_ctx *c = w->c;
  int lanes = w->s->lanes;
  if (outer == 1 && minor % lanes && minor >= 64 && w->s->cost <= 64) return flat_with_rest(w, suffix, minor);
  while (minor % lanes) lanes /= 2;
  int64_t per_row = minor / lanes;
  emit_kernel_begin(c, suffix, outer * per_row, emit_index_type(c));
  emit_coord item = emit_coord_of(kernel_item(&c->b), 1), o, m;
  if (outer == 1)
    o = emit_coord_const(c, 0), m = item;
  else
    emit_coord_divide(c, item, per_row, 1, &o, &m);
  set_outer(w, o.base);
  call_at(w, kernel_bin(&c->b, KERNEL_OP_MUL, m.base, kernel_index(&c->b, lanes)), lanes, lanes);
  return emit_kernel_end(c);
}

lemnos_status emit_over_space(emit_ctx *c, const char *suffix, const emit_space *s, emit_space_fn fn, void *user) {
  walk w = {.c = c, .s = s, .fn = fn, .user = user};
  w.groups = ARENA_ARRAY(c->a, emit_group, s->n_groups + 1);
  int64_t outer = 1, minor = 1;
  int d = 0;
  for (int g = 0; g < s->n_groups; g++) {
    w.groups[g] = (emit_group){d, s->groups[g], {0}};
    w.sizes[g] = 1;
    for (int e = 0; e < s->groups[g]; e++) w.sizes[g] *= s->dims[d++];
    if (g + 1 < s->n_groups)
      outer *= w.sizes[g];
    else
      minor = w.sizes[g];
  }
  if (outer * minor == 0) return LEMNOS_SUCCESS;
  return c->t->cls == HLO_TARGET_CPU ? cpu_space(&w, suffix, outer, minor) : invocation_space(&w, suffix, outer, minor);
}

// --- helpers -------------------------------------------------------------------------------------

const hlo_shape *emit_shape(emit_ctx *c, hlo_dtype t, int rank, const int64_t *dims) {
  hlo_shape *s = ARENA_NEW(c->a, hlo_shape);
  *s = (hlo_shape){.dtype = t, .rank = rank, .dims = arena_copy(c->a, dims, sizeof *dims * (size_t)rank)};
  return s;
}

int emit_alias_of(const emit_ctx *c, int leaf) {
  return c->options && c->options->result_aliases ? c->options->result_aliases[leaf] : -1;
}

typedef struct copy_state {
  const hlo_instr *i;
  kernel_arg_kind kind;
  int index;
  const hlo_shape *shape;
} copy_state;

static void copy_element(emit_ctx *c, void *user, emit_index *x) {
  copy_state *s = user;
  emit_value v = emit_element(c, s->i, x);
  kernel_mem m = emit_buffer_mem(c, s->kind, s->index, s->shape);
  emit_store(c, m, s->shape->dtype, emit_index_linear(c, x, s->shape), x->lanes, v);
}

lemnos_status emit_copy_to(emit_ctx *c, const char *suffix, const hlo_instr *i, kernel_arg_kind kind, int index,
                           const hlo_shape *shape) {
  copy_state s = {i, kind, index, shape};
  emit_space space = emit_space_of(c, i, shape, NULL);
  return emit_over_space(c, suffix, &space, copy_element, &s);
}
