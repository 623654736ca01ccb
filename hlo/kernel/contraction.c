// SPDX-License-Identifier: Apache-2.0
// Contractions: which dot and convolution fusions are one, how their operands are read, how their results are stored.
#include "hlo/kernel/contraction.h"

#define BIN(op, x, y) kernel_bin(&c->b, KERNEL_OP_##op, (x), (y))

// --- the fusion around the hero ------------------------------------------------------------------

static bool is_plain(const hlo_instr *i, const hlo_instr *hero) {
  if (i->op == HLO_OP_TUPLE) {
    for (int o = 0; o < i->n_operands; o++)
      if (!hlo_shape_is_array(i->operands[o]->shape) || !hlo_shape_same_dims(i->operands[o]->shape, hero->shape))
        return false;
    return true;
  }
  if (i->op != HLO_OP_COPY && i->op != HLO_OP_MAP && !hlo_op_has(i->op, HLO_TRAIT_E)) return false;
  return hlo_shape_same_dims(i->shape, hero->shape);
}

// Everything between hero and root that depends on the hero is elementwise on its dimensions. One walk in order: what
// depends on the hero is known when its users are met.
static bool plain_epilogue(const emit_ctx *c, const hlo_instr *root, const hlo_instr *hero) {
  if (root == hero) return true;
  u64map after = {0};
  ptrmap_put(c->a, &after, hero, (void *)hero);
  for (const hlo_instr *i = hero->next; i; i = i->next) {
    bool depends = false;
    for (int o = 0; o < i->n_operands && !depends; o++) depends = ptrmap_get(&after, i->operands[o]) != NULL;
    if (depends) {
      if (!is_plain(i, hero)) return false;
      ptrmap_put(c->a, &after, i, (void *)i);
    }
    if (i == root) break;
  }
  return true;
}

static const hlo_instr *find_hero(const emit_ctx *c, hlo_op op) {
  if (!c->fused) return c->instr;
  const hlo_instr *hero = NULL;
  HLO_FOR_EACH (i, c->fused) {
    if (i->op == HLO_OP_REDUCE || i->op == HLO_OP_REDUCE_WINDOW) return NULL;
    if (i->op != HLO_OP_DOT_GENERAL && i->op != HLO_OP_CONVOLUTION) continue;
    if (hero || i->op != op) return NULL;
    hero = i;
  }
  return hero;
}

static bool take_fusion(emit_ctx *c, contraction *p, const hlo_instr *hero) {
  p->hero = hero;
  p->root = emit_root(c);
  while (p->root != hero && p->n_tail < 8 &&
         (p->root->op == HLO_OP_RESHAPE || p->root->op == HLO_OP_TRANSPOSE || p->root->op == HLO_OP_BITCAST ||
          p->root->op == HLO_OP_COPY)) {
    if (p->root->op == HLO_OP_BITCAST && (p->root->shape->layout || p->root->operands[0]->shape->layout)) return false;
    p->tail[p->n_tail++] = p->root;
    p->root = p->root->operands[0];
  }
  for (int l = 0; l < hlo_shape_leaves(p->root->shape); l++)
    if (hlo_dtype_is_complex(hlo_shape_leaf(p->root->shape, l)->dtype)) return false;
  hlo_dtype t = hero->shape->dtype;
  if (hlo_dtype_is_complex(t) || t == HLO_PRED) return false;
  p->sum = emit_dtype_is_small(t) ? HLO_F32 : t;
  p->scalar = kernel_scalar_of(p->sum);
  return plain_epilogue(c, p->root, hero);
}

// --- runs of dimensions --------------------------------------------------------------------------

static bool run_add(contraction_run *r, const hlo_shape *s, int64_t dim) {
  if (r->n == CONTRACTION_MAX_RANK) return false;
  r->joined = r->n == 0 || (r->joined && dim == r->dims[r->n - 1] + 1 && !s->layout);
  r->dims[r->n] = (int)dim;
  r->sizes[r->n++] = s->dims[dim];
  return true;
}

static int64_t run_size(const contraction_run *r) {
  int64_t n = 1;
  for (int i = 0; i < r->n; i++) n *= r->sizes[i];
  return n;
}

// A run's coordinate, divided into those of its dimensions unless they stay together.
static void run_divide(emit_ctx *c, const contraction_run *r, emit_coord x, int lanes, emit_coord *at) {
  if (r->n == 0) return;
  if (!r->joined)
    for (int i = r->n - 1; i > 0; i--) {
      emit_coord q;
      emit_coord_divide(c, x, r->sizes[i], lanes, &q, &at[r->dims[i]]);
      x = q;
    }
  at[r->dims[0]] = x;
}

static int run_groups(const contraction_run *r, const emit_coord *at, emit_group *groups, int n) {
  if (r->n && r->joined) {
    groups[n++] = (emit_group){r->dims[0], r->n, at[r->dims[0]]};
    return n;
  }
  for (int i = 0; i < r->n; i++) groups[n++] = (emit_group){r->dims[i], 1, at[r->dims[i]]};
  return n;
}

static void sort_groups(emit_group *g, int n) {
  for (int i = 1; i < n; i++)
    for (int j = i; j > 0 && g[j - 1].first > g[j].first; j--) {
      emit_group t = g[j];
      g[j] = g[j - 1];
      g[j - 1] = t;
    }
}

// --- in which direction memory runs --------------------------------------------------------------

static int minor_dim(const emit_ctx *c, const hlo_instr *i) {
  const hlo_shape *s = i->shape;
  bool leaf = ptrmap_get(&c->operand_leaves, i) != NULL;
  if (!leaf && i->op == HLO_OP_TRANSPOSE) {
    int m = minor_dim(c, i->operands[0]);
    hlo_i64s p = HLO_ATTRS(i, transpose)->permutation;
    for (int d = 0; d < p.n; d++)
      if (p.data[d] == m) return d;
  }
  if (!leaf && i->n_operands == 1 && (hlo_op_has(i->op, HLO_TRAIT_E) || i->op == HLO_OP_COPY))
    return minor_dim(c, i->operands[0]);
  for (int n = 0; n < s->rank; n++) {
    int d = s->layout ? s->layout[n] : s->rank - 1 - n;
    if (s->dims[d] > 1) return d;
  }
  return -1;
}

static bool run_has(const contraction_run *r, int d) {
  for (int i = 0; i < r->n; i++)
    if (r->dims[i] == d) return true;
  return false;
}

static void find_direction(const emit_ctx *c, const contraction *p, contraction_side *s) {
  int d = minor_dim(c, s->operand), last = p->n_k - 1;
  s->along_k = d >= s->k_dim[last] && d < s->k_dim[last] + s->k_count[last] && p->k[last] > 1;
}

static void swap_sides(contraction *p) {
  contraction_side side = p->rows;
  p->rows = p->cols;
  p->cols = side;
  contraction_run run = p->out_rows;
  p->out_rows = p->out_cols;
  p->out_cols = run;
  int64_t n = p->m;
  p->m = p->n;
  p->n = n;
}

static bool finish(emit_ctx *c, contraction *p) {
  p->batch = run_size(&p->out_batch), p->m = run_size(&p->out_rows), p->n = run_size(&p->out_cols);
  int64_t size = p->batch * p->m * p->n;
  for (int l = 0; l < p->n_k; l++) size *= p->k[l];
  if (size == 0) return false;
  const hlo_shape *out = p->hero->shape;
  int minor = -1;
  for (int n = 0; n < out->rank && minor < 0; n++) {
    int d = out->layout ? out->layout[n] : out->rank - 1 - n;
    if (out->dims[d] > 1) minor = d;
  }
  if (run_has(&p->out_rows, minor)) swap_sides(p);
  find_direction(c, p, &p->rows);
  find_direction(c, p, &p->cols);
  return true;
}

// --- dot -----------------------------------------------------------------------------------------

static bool fill_array(contraction_side *s, const hlo_instr *operand, hlo_i64s batch, hlo_i64s k) {
  s->kind = CONTRACTION_ARRAY;
  s->operand = operand;
  bool ok = true;
  for (int d = 0; d < batch.n; d++) ok &= run_add(&s->batch, operand->shape, batch.data[d]);
  for (int d = 0; d < operand->shape->rank; d++)
    if (!hlo_i64s_contains(batch, d) && !hlo_i64s_contains(k, d)) ok &= run_add(&s->free, operand->shape, d);
  return ok;
}

bool contraction_of_dot(emit_ctx *c, contraction *p) {
  *p = (contraction){0};
  const hlo_instr *hero = find_hero(c, HLO_OP_DOT_GENERAL);
  if (!hero || !take_fusion(c, p, hero)) return false;
  const hlo_dot_dnums *n = &HLO_ATTRS(hero, dot_general)->dnums;
  const hlo_shape *l = hero->operands[0]->shape, *r = hero->operands[1]->shape;
  if (l->rank > CONTRACTION_MAX_RANK || r->rank > CONTRACTION_MAX_RANK || hero->shape->rank > CONTRACTION_MAX_RANK)
    return false;
  if (!fill_array(&p->rows, hero->operands[0], n->lhs_batch, n->lhs_contracting) ||
      !fill_array(&p->cols, hero->operands[1], n->rhs_batch, n->rhs_contracting))
    return false;
  hlo_i64s lk = n->lhs_contracting, rk = n->rhs_contracting;
  for (int d = 0; d < lk.n; d++) {
    bool joins =
        d > 0 && lk.data[d] == lk.data[d - 1] + 1 && rk.data[d] == rk.data[d - 1] + 1 && !l->layout && !r->layout;
    if (!joins) {
      if (p->n_k == CONTRACTION_MAX_K) return false;
      p->rows.k_dim[p->n_k] = (int)lk.data[d], p->cols.k_dim[p->n_k] = (int)rk.data[d];
      p->k[p->n_k++] = 1;
    }
    p->rows.k_count[p->n_k - 1]++, p->cols.k_count[p->n_k - 1]++;
    p->k[p->n_k - 1] *= l->dims[lk.data[d]];
  }
  if (p->n_k == 0) return false;  // an outer product
  int out = 0;
  for (int d = 0; d < n->lhs_batch.n; d++) run_add(&p->out_batch, hero->shape, out++);
  for (int d = 0; d < p->rows.free.n; d++) run_add(&p->out_rows, hero->shape, out++);
  for (int d = 0; d < p->cols.free.n; d++) run_add(&p->out_cols, hero->shape, out++);
  return finish(c, p);
}

// --- convolution ---------------------------------------------------------------------------------

// Rows: output positions of the image; columns: output features of a feature group, which is the batch. Loops: the
// window's dimensions, then the input features of the group.
bool contraction_of_conv(emit_ctx *c, contraction *p) {
  *p = (contraction){0};
  const hlo_instr *hero = find_hero(c, HLO_OP_CONVOLUTION);
  if (!hero || !take_fusion(c, p, hero)) return false;
  const hlo_attrs_convolution *attrs = HLO_ATTRS(hero, convolution);
  const hlo_conv_dnums *n = &attrs->dnums;
  const hlo_shape *image = hero->operands[0]->shape, *kernel = hero->operands[1]->shape, *out = hero->shape;
  int64_t groups = attrs->feature_group_count;
  if (attrs->batch_group_count > 1 || out->rank > CONTRACTION_MAX_RANK || n->kernel_spatial.n + 1 > CONTRACTION_MAX_K)
    return false;
  if (hlo_shape_elements(image) == 0) return false;
  p->rows.kind = CONTRACTION_IMAGE, p->rows.operand = hero->operands[0];
  p->cols.kind = CONTRACTION_KERNEL, p->cols.operand = hero->operands[1];
  for (int d = 0; d < n->kernel_spatial.n; d++) {
    p->rows.k_dim[d] = (int)n->input_spatial.data[d], p->cols.k_dim[d] = (int)n->kernel_spatial.data[d];
    p->rows.k_count[d] = p->cols.k_count[d] = 1;
    p->k[d] = kernel->dims[n->kernel_spatial.data[d]];
  }
  p->n_k = n->kernel_spatial.n + 1;
  p->rows.k_dim[p->n_k - 1] = (int)n->input_feature, p->cols.k_dim[p->n_k - 1] = (int)n->kernel_input_feature;
  p->rows.k_count[p->n_k - 1] = p->cols.k_count[p->n_k - 1] = 1;
  p->k[p->n_k - 1] = kernel->dims[n->kernel_input_feature];
  run_add(&p->out_rows, out, n->output_batch);
  for (int d = 0; d < n->output_spatial.n; d++) run_add(&p->out_rows, out, n->output_spatial.data[d]);
  run_add(&p->out_cols, out, n->output_feature);
  p->out_cols.sizes[0] /= groups;
  p->out_batch = (contraction_run){.n = groups > 1, .dims = {(int)n->output_feature}, .sizes = {groups}};
  if (groups > 1 && p->out_cols.sizes[0] < 4) return false;  // depthwise: by elements
  return finish(c, p);
}

// --- reading -------------------------------------------------------------------------------------

contraction_place contraction_place_of(emit_ctx *c, const contraction *p, const contraction_side *s, emit_coord batch,
                                       emit_coord at, int lanes) {
  contraction_place place = {0};
  if (s->kind == CONTRACTION_ARRAY) {
    run_divide(c, &s->batch, batch, lanes, place.at);
    run_divide(c, &s->free, at, lanes, place.at);
    return place;
  }
  const hlo_attrs_convolution *attrs = HLO_ATTRS(p->hero, convolution);
  const hlo_conv_dnums *n = &attrs->dnums;
  bool grouped = attrs->feature_group_count > 1;
  if (s->kind == CONTRACTION_KERNEL) {
    int64_t features = p->hero->shape->dims[n->output_feature] / attrs->feature_group_count;
    place.at[n->kernel_output_feature] =
        grouped ? emit_coord_add(c, emit_coord_scale(c, batch, features), at, lanes) : at;
    return place;
  }
  const contraction_run *run = run_has(&p->out_cols, (int)n->output_feature) ? &p->out_rows : &p->out_cols;
  contraction_run apart = *run;
  apart.joined = false;
  emit_coord out[CONTRACTION_MAX_RANK];
  run_divide(c, &apart, at, lanes, out);
  place.at[n->input_batch] = out[n->output_batch];
  for (int d = 0; d < n->input_spatial.n; d++) {  // the window's origin
    const hlo_window_dim *w = &attrs->window.dims[d];
    emit_coord x = emit_coord_scale(c, out[n->output_spatial.data[d]], w->stride);
    place.at[n->input_spatial.data[d]] = emit_coord_offset(c, x, -w->pad_low);
  }
  if (grouped) place.at[n->input_feature] = emit_coord_scale(c, batch, p->k[p->n_k - 1]);
  return place;
}

// Is the window ever outside, or between dilated elements?
static bool window_leaves(const hlo_window_dim *w, int64_t size, int64_t positions) {
  int64_t reach = (positions - 1) * w->stride + (w->size - 1) * w->window_dilation - w->pad_low;
  return w->pad_low > 0 || reach > size - 1 || w->base_dilation > 1;
}

static emit_coord window_position(emit_ctx *c, const hlo_window_dim *w, int64_t size, emit_coord at, int lanes,
                                  kernel_value **ok) {
  bool varies = emit_coord_varies(at);
  kernel_value *v = emit_coord_value(c, at, lanes), *zero = kernel_const_like(&c->b, v, 0);
  int64_t extent = (size - 1) * w->base_dilation + 1;
  kernel_value *last = kernel_const_like(&c->b, v, (double)(extent - 1));
  kernel_value *in = BIN(LE_U, v, last);  // negative positions are large
  v = BIN(MIN_S, BIN(MAX_S, v, zero), last);
  if (w->base_dilation > 1) {
    kernel_value *step = kernel_const_like(&c->b, v, (double)w->base_dilation);
    in = BIN(AND, in, BIN(EQ, BIN(REM_U, v, step), zero));
    v = BIN(DIV_U, v, step);
  }
  *ok = *ok ? BIN(AND, *ok, in) : in;
  return varies ? (emit_coord){.base = kernel_index(&c->b, 0), .vec = v, .multiple = 1} : emit_coord_of(v, 1);
}

static kernel_value *load_image(emit_ctx *c, const contraction *p, const contraction_side *s,
                                const contraction_place *place, const emit_coord *k, int lanes, kernel_value **ok) {
  const hlo_attrs_convolution *attrs = HLO_ATTRS(p->hero, convolution);
  const hlo_conv_dnums *n = &attrs->dnums;
  const hlo_shape *shape = s->operand->shape;
  emit_coord at[CONTRACTION_MAX_RANK];
  at[n->input_batch] = place->at[n->input_batch];
  int f = (int)n->input_feature;
  at[f] = place->at[f].base ? emit_coord_add(c, place->at[f], k[p->n_k - 1], lanes) : k[p->n_k - 1];
  for (int d = 0; d < n->input_spatial.n; d++) {
    const hlo_window_dim *w = &attrs->window.dims[d];
    int dim = (int)n->input_spatial.data[d];
    at[dim] = emit_coord_add(c, place->at[dim], emit_coord_scale(c, k[d], w->window_dilation), lanes);
    if (window_leaves(w, shape->dims[dim], p->hero->shape->dims[n->output_spatial.data[d]]))
      at[dim] = window_position(c, w, shape->dims[dim], at[dim], lanes, ok);
  }
  return emit_convert(c, shape->dtype, p->sum,
                      emit_element(c, s->operand, emit_index_of(c, shape->rank, shape->dims, lanes, at)))
      .re;
}

static kernel_value *load_array(emit_ctx *c, const contraction *p, const contraction_side *s,
                                const contraction_place *place, const emit_coord *k, int lanes) {
  const hlo_shape *shape = s->operand->shape;
  emit_group groups[2 * CONTRACTION_MAX_RANK];
  int n = 0;
  if (s->kind == CONTRACTION_ARRAY) {
    n = run_groups(&s->batch, place->at, groups, n);
    n = run_groups(&s->free, place->at, groups, n);
  } else {
    int oc = (int)HLO_ATTRS(p->hero, convolution)->dnums.kernel_output_feature;
    groups[n++] = (emit_group){oc, 1, place->at[oc]};
  }
  for (int l = 0; l < p->n_k; l++) {
    emit_coord at = k[l];
    if (s->kind == CONTRACTION_KERNEL && l + 1 < p->n_k && HLO_ATTRS(p->hero, convolution)->window.dims[l].reversal)
      at = emit_coord_offset(c, emit_coord_scale(c, at, -1), p->k[l] - 1);
    groups[n++] = (emit_group){s->k_dim[l], s->k_count[l], at};
  }
  sort_groups(groups, n);
  emit_index *x = emit_index_create(c, shape->rank, shape->dims, lanes, n, groups);
  return emit_convert(c, shape->dtype, p->sum, emit_element(c, s->operand, x)).re;
}

kernel_value *contraction_load(emit_ctx *c, const contraction *p, const contraction_side *s,
                               const contraction_place *at, const emit_coord *k, int lanes) {
  kernel_value *ok = NULL;
  kernel_value *v =
      s->kind == CONTRACTION_IMAGE ? load_image(c, p, s, at, k, lanes, &ok) : load_array(c, p, s, at, k, lanes);
  v = kernel_splat(&c->b, v, lanes);
  return ok ? kernel_select(&c->b, ok, v, kernel_const_like(&c->b, v, 0)) : v;
}

emit_coord contraction_inside(emit_ctx *c, kernel_value *base, int64_t multiple, int64_t size, bool edge, int lanes) {
  if (!edge || size % lanes == 0) {
    kernel_value *at = edge ? BIN(MIN_S, base, kernel_index(&c->b, size - lanes)) : base;
    emit_coord x = emit_coord_of(at, edge ? lanes : multiple);
    x.stride = lanes > 1;
    return x;
  }
  kernel_value *v = BIN(ADD, kernel_splat(&c->b, base, lanes), kernel_lanes(&c->b, c->k->index, lanes));
  v = BIN(MIN_S, v, kernel_splat(&c->b, kernel_index(&c->b, size - 1), lanes));
  return (emit_coord){.base = kernel_index(&c->b, 0), .vec = v, .multiple = 1};
}

kernel_value *contraction_fma(emit_ctx *c, const contraction *p, kernel_value *x, kernel_value *y, kernel_value *acc) {
  if (hlo_dtype_is_float(p->sum)) return kernel_fma(&c->b, x, y, acc);
  emit_value v = emit_binary(c, HLO_OP_MULTIPLY, p->sum, (emit_value){kernel_splat(&c->b, x, y->type.lanes), NULL},
                             (emit_value){y, NULL});
  return emit_binary(c, HLO_OP_ADD, p->sum, (emit_value){acc, NULL}, v).re;
}

// --- storing -------------------------------------------------------------------------------------

static emit_index *out_index(emit_ctx *c, const contraction *p, emit_coord batch, emit_coord row, emit_coord col,
                             int lanes) {
  const hlo_shape *out = p->hero->shape;
  emit_coord at[CONTRACTION_MAX_RANK];
  emit_group groups[CONTRACTION_MAX_RANK];
  int n = 0;
  if (p->hero->op == HLO_OP_CONVOLUTION && p->out_batch.n) {  // the group is part of the output feature
    const contraction_run *f = run_has(&p->out_cols, p->out_batch.dims[0]) ? &p->out_cols : &p->out_rows;
    emit_coord *x = f == &p->out_cols ? &col : &row;
    *x = emit_coord_add(c, emit_coord_scale(c, batch, f->sizes[0]), *x, lanes);
  } else {
    run_divide(c, &p->out_batch, batch, lanes, at);
    n = run_groups(&p->out_batch, at, groups, n);
  }
  run_divide(c, &p->out_rows, row, lanes, at);
  n = run_groups(&p->out_rows, at, groups, n);
  run_divide(c, &p->out_cols, col, lanes, at);
  n = run_groups(&p->out_cols, at, groups, n);
  sort_groups(groups, n);
  return emit_index_create(c, out->rank, out->dims, lanes, n, groups);
}

// The same element in the fusion's result.
static emit_index *tail_index(emit_ctx *c, const contraction *p, emit_index *x) {
  for (int t = p->n_tail - 1; t >= 0; t--) {
    const hlo_instr *i = p->tail[t];
    if (i->op == HLO_OP_TRANSPOSE)
      x = emit_index_select(c, x, i->shape->rank, i->shape->dims, HLO_ATTRS(i, transpose)->permutation.data, NULL);
    else if (i->op != HLO_OP_COPY)
      x = emit_index_reshape(c, x, i->shape->rank, i->shape->dims);
  }
  return x;
}

static void masked_store(emit_ctx *c, int leaf, emit_index *x, emit_value v, kernel_value *mask) {
  const hlo_shape *s = hlo_shape_leaf(c->instr->shape, leaf);
  kernel_mem m = emit_buffer_mem(c, KERNEL_ARG_RESULT, leaf, s);
  c->k->params[m.index].readonly = false;
  emit_coord at = emit_index_linear(c, x, s);
  kernel_value *index =
      at.vec || at.stride != 1 ? kernel_splat(&c->b, emit_coord_value(c, at, x->lanes), x->lanes) : at.base;
  kernel_store(&c->b, m, index, kernel_splat(&c->b, v.re, x->lanes), 1, mask);
}

static void store_at(emit_ctx *c, const contraction *p, emit_index *at, emit_index *to, kernel_value *sum,
                     kernel_value *mask) {
  emit_value *value = ARENA_NEW(c->a, emit_value);
  *value = emit_convert(c, p->sum, p->hero->shape->dtype, (emit_value){sum, NULL});
  ptrmap_put(c->a, &c->overrides, p->hero, value);
  int leaves = hlo_shape_leaves(c->instr->shape);
  emit_value *results = ARENA_ARRAY(c->a, emit_value, leaves);
  for (int l = 0; l < leaves; l++) results[l] = emit_leaf(c, p->root, l, at);
  to = tail_index(c, p, to);
  for (int l = 0; l < leaves; l++) {
    if (mask)
      masked_store(c, l, to, results[l], mask);
    else
      emit_store_result(c, l, to, results[l]);
  }
}

void contraction_store(emit_ctx *c, const contraction *p, emit_coord batch, kernel_value *row, bool row_edge,
                       kernel_value *col, bool col_edge, int lanes, kernel_value *sum) {
  kernel_builder *b = &c->b;
  kernel_value *in = row_edge ? BIN(LT_S, row, kernel_index(b, p->m)) : NULL;
  emit_coord r = emit_coord_of(row, 1);
  if (!col_edge || p->n % lanes == 0) {
    kernel_value *col_in = col_edge ? BIN(LT_S, col, kernel_index(b, p->n)) : NULL;
    if (col_in) in = in ? BIN(AND, in, col_in) : col_in;
    kernel_if f;
    if (in) f = kernel_if_begin(b, in, 0, NULL);
    emit_coord x = emit_coord_of(col, lanes);
    x.stride = lanes > 1;
    emit_index *at = out_index(c, p, batch, r, x, lanes);
    store_at(c, p, at, at, sum, NULL);
    if (in) {
      kernel_if_else(b, &f, NULL);
      kernel_if_end(b, &f, NULL);
    }
    return;
  }
  kernel_value *v = BIN(ADD, kernel_splat(b, col, lanes), kernel_lanes(b, c->k->index, lanes));
  kernel_value *mask = BIN(LT_S, v, kernel_splat(b, kernel_index(b, p->n), lanes));
  if (in) mask = BIN(AND, mask, kernel_splat(b, in, lanes));
  if (row_edge) r = emit_coord_of(BIN(MIN_S, row, kernel_index(b, p->m - 1)), 1);
  emit_index *at = out_index(c, p, batch, r, contraction_inside(c, col, lanes, p->n, true, lanes), lanes);
  store_at(c, p, at, at, sum, mask);
}

kernel_value *contraction_id(emit_ctx *c, kernel_op op) {
  kernel_type t = kernel_type_make(c->k->index, 1);
  return &kernel_emit(&c->b, op, 1, &t, 0, NULL)->results[0];
}

lemnos_status schedule_contraction(emit_ctx *c, const contraction *p) {
  if (contraction_wants_shared(c, p)) return schedule_contraction_shared(c, p);
  return schedule_contraction_tiles(c, p);
}
