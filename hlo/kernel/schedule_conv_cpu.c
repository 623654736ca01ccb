// SPDX-License-Identifier: Apache-2.0
// Convolution on CPUs as a matrix product (matmul.h): one side is the output's positions (patches of the input,
// gathered while they are packed), the other its features (the filter). All dimension numbers, strides, paddings,
// dilations, reversals, feature groups.
//
// Features last in the result (NHWC): rows are images and positions, columns features; a batch is a feature group.
// Otherwise (NCHW): rows are features, columns positions; a batch is an image and a feature group. k runs over the
// window, with the input features innermost where they are innermost in memory.
// Left to the element schedule: depthwise (vectors along features do it), batch groups.
#include "hlo/kernel/matmul.h"

#define BIN(op, x, y) kernel_bin(b, KERNEL_OP_##op, (x), (y))
enum { MAX_SPATIAL = 16 };

typedef struct conv_state {
  const hlo_instr *conv;
  const hlo_attrs_convolution *attrs;
  hlo_dtype sum;
  bool features_last, k_features_last;
  bool pointwise;  // the window is one element and moves by one: positions are the input's own
  int64_t groups, in_features, out_features;  // features of a group
  int n_spatial;
  hlo_i64s out_positions;  // dimensions of the result: images (features last) and space
  hlo_i64s in_positions;   // the same of the input
  hlo_i64s k_of_filter;    // dimensions of the filter, in the order of k
} conv_state;

static bool wants_patches(const conv_state *s, int side) {
  return (side == 0) == s->features_last;
}

// batch -> image (features last: none) and feature group
static void split_batch(emit_ctx *c, const conv_state *s, emit_coord batch, emit_coord *image, emit_coord *group) {
  if (s->features_last) {
    *image = emit_coord_const(c, 0), *group = batch;
  } else {
    emit_coord_divide(c, batch, s->groups, 1, image, group);
  }
}

// Where the window element k of an output position lies in the input; *ok (AND-ed) says whether there is anything.
static emit_coord window_position(emit_ctx *c, const hlo_window_dim *w, int64_t size, emit_coord out, emit_coord k,
                                  int lanes, kernel_value **ok) {
  kernel_builder *b = &c->b;
  emit_coord at =
      emit_coord_add(c, emit_coord_scale(c, out, w->stride), emit_coord_scale(c, k, w->window_dilation), lanes);
  at = emit_coord_offset(c, at, -w->pad_low);
  if (w->pad_low == 0 && w->pad_high <= 0 && w->base_dilation == 1) return at;
  bool varies = emit_coord_varies(at);
  kernel_value *v = emit_coord_value(c, at, lanes), *zero = kernel_const_like(b, v, 0);
  kernel_value *in = BIN(LE_U, v, kernel_const_like(b, v, (double)((size - 1) * w->base_dilation)));
  if (w->base_dilation > 1) {
    kernel_value *step = kernel_const_like(b, v, (double)w->base_dilation);
    v = kernel_select(b, in, v, zero);
    in = BIN(AND, in, BIN(EQ, BIN(REM_U, v, step), zero));
    v = BIN(DIV_U, v, step);
  }
  v = kernel_select(b, in, v, zero);
  *ok = *ok ? BIN(AND, *ok, in) : in;
  return varies ? (emit_coord){.base = kernel_index(b, 0), .vec = v, .multiple = 1} : emit_coord_of(v, 1);
}

// Coordinates of the positions' dimensions, from one number.
static void split(emit_ctx *c, emit_coord at, int n, const int64_t *sizes, int lanes, emit_coord *out) {
  for (int d = n - 1; d >= 0; d--) {
    emit_coord q = at;
    if (sizes[d] == 1) {
      out[d] = emit_coord_const(c, 0);
      continue;
    }
    int64_t before = 1;
    for (int e = 0; e < d; e++) before *= sizes[e];
    if (before == 1)
      out[d] = at;
    else
      emit_coord_divide(c, at, sizes[d], lanes, &q, &out[d]);
    at = q;
  }
}

static kernel_value *finish_fetch(emit_ctx *c, const conv_state *s, const hlo_instr *operand, emit_index *x,
                                  kernel_value *ok) {
  emit_value v = emit_convert(c, operand->shape->dtype, s->sum, emit_element(c, operand, x));
  return ok ? emit_select(c, ok, v, emit_zero(c, s->sum)).re : v.re;
}

static kernel_value *fetch_patch(emit_ctx *c, const conv_state *s, emit_coord batch, emit_coord position, emit_coord k,
                                 int lanes) {
  const hlo_conv_dnums *n = &s->attrs->dnums;
  const hlo_instr *input = s->conv->operands[0];
  const hlo_shape *in = input->shape;
  emit_coord image, group, at[64], kd[MAX_SPATIAL + 1], pd[MAX_SPATIAL + 1];
  int64_t sizes[MAX_SPATIAL + 1];
  split_batch(c, s, batch, &image, &group);
  if (s->pointwise) {
    emit_coord feature = emit_coord_add(c, emit_coord_scale(c, group, s->in_features), k, lanes);
    const hlo_i64s dims[] = {s->in_positions, {&n->input_feature, 1}, {&n->input_batch, s->features_last ? 0 : 1}};
    const emit_coord coords[] = {position, feature, image};
    return finish_fetch(c, s, input, matmul_index(c, in, lanes, 3, dims, coords), NULL);
  }
  int ns = s->n_spatial, first = s->k_features_last ? 0 : 1;
  for (int d = 0; d < ns; d++) sizes[first + d] = s->conv->operands[1]->shape->dims[n->kernel_spatial.data[d]];
  sizes[s->k_features_last ? ns : 0] = s->in_features;
  split(c, k, ns + 1, sizes, lanes, kd);
  emit_coord feature = kd[s->k_features_last ? ns : 0];
  for (int d = 0; d < s->out_positions.n; d++) sizes[d] = s->conv->shape->dims[s->out_positions.data[d]];
  split(c, position, s->out_positions.n, sizes, lanes, pd);
  if (s->features_last) image = pd[0];
  kernel_value *ok = NULL;
  for (int d = 0; d < ns; d++) {
    int dim = (int)n->input_spatial.data[d];
    at[dim] = window_position(c, &s->attrs->window.dims[d], in->dims[dim], pd[d + s->features_last], kd[first + d],
                              lanes, &ok);
  }
  at[n->input_batch] = image;
  at[n->input_feature] =
      s->groups > 1 ? emit_coord_add(c, emit_coord_scale(c, group, s->in_features), feature, lanes) : feature;
  return finish_fetch(c, s, input, emit_index_of(c, in->rank, in->dims, lanes, at), ok);
}

static kernel_value *fetch_filter(emit_ctx *c, const conv_state *s, emit_coord batch, emit_coord feature, emit_coord k,
                                  int lanes) {
  const hlo_conv_dnums *n = &s->attrs->dnums;
  const hlo_instr *filter = s->conv->operands[1];
  const hlo_shape *f = filter->shape;
  emit_coord image, group;
  split_batch(c, s, batch, &image, &group);
  if (s->groups > 1) feature = emit_coord_add(c, emit_coord_scale(c, group, s->out_features), feature, lanes);
  bool reversed = false;
  for (int d = 0; d < s->n_spatial; d++)
    reversed |= s->attrs->window.dims[d].reversal && f->dims[n->kernel_spatial.data[d]] > 1;
  const hlo_i64s dims[] = {{&n->kernel_output_feature, 1}, s->k_of_filter};
  const emit_coord coords[] = {feature, k};
  if (!reversed) return finish_fetch(c, s, filter, matmul_index(c, f, lanes, 2, dims, coords), NULL);
  emit_coord at[64], kd[MAX_SPATIAL + 1];
  int64_t sizes[MAX_SPATIAL + 1];
  for (int d = 0; d < s->k_of_filter.n; d++) sizes[d] = f->dims[s->k_of_filter.data[d]];
  split(c, k, s->k_of_filter.n, sizes, lanes, kd);
  for (int d = 0; d < f->rank; d++) at[d] = emit_coord_const(c, 0);
  for (int d = 0; d < s->k_of_filter.n; d++) {
    int64_t dim = s->k_of_filter.data[d];
    at[dim] = kd[d];
    for (int w = 0; w < s->n_spatial; w++)
      if (n->kernel_spatial.data[w] == dim && s->attrs->window.dims[w].reversal)
        at[dim] = emit_coord_offset(c, emit_coord_scale(c, kd[d], -1), f->dims[dim] - 1);
  }
  at[n->kernel_output_feature] = feature;
  return finish_fetch(c, s, filter, emit_index_of(c, f->rank, f->dims, lanes, at), NULL);
}

static kernel_value *fetch(emit_ctx *c, const matmul *p, int side, emit_coord batch, emit_coord row, emit_coord k,
                           int lanes) {
  const conv_state *s = p->user;
  return wants_patches(s, side) ? fetch_patch(c, s, batch, row, k, lanes) : fetch_filter(c, s, batch, row, k, lanes);
}

static void store(emit_ctx *c, const matmul *p, emit_coord batch, emit_coord m, emit_coord n, int lanes,
                  kernel_value *sum) {
  const conv_state *s = p->user;
  const hlo_conv_dnums *d = &s->attrs->dnums;
  emit_coord image, group, feature = s->features_last ? n : m, position = s->features_last ? m : n;
  split_batch(c, s, batch, &image, &group);
  if (s->groups > 1) feature = emit_coord_add(c, emit_coord_scale(c, group, s->out_features), feature, lanes);
  const hlo_i64s dims[] = {s->out_positions, {&d->output_feature, 1}, {&d->output_batch, s->features_last ? 0 : 1}};
  const emit_coord at[] = {position, feature, image};
  matmul_finish(c, s->conv, matmul_index(c, s->conv->shape, lanes, 3, dims, at), s->sum, sum);
}

static hlo_i64s positions(emit_ctx *c, bool with_image, int64_t image, hlo_i64s spatial) {
  int64_t *dims = ARENA_ARRAY(c->a, int64_t, spatial.n + 1);
  int n = 0;
  if (with_image) dims[n++] = image;
  for (int d = 0; d < spatial.n; d++) dims[n++] = spatial.data[d];
  return (hlo_i64s){dims, n};
}

static int fastest_dim(const hlo_shape *s) {
  int64_t strides[64];
  int fastest = -1;
  emit_strides(s, strides);
  for (int d = 0; d < s->rank; d++)
    if (s->dims[d] > 1 && (fastest < 0 || strides[d] < strides[fastest])) fastest = d;
  return fastest;
}

static void describe(emit_ctx *c, conv_state *s) {
  const hlo_conv_dnums *n = &s->attrs->dnums;
  const hlo_shape *in = s->conv->operands[0]->shape, *f = s->conv->operands[1]->shape, *out = s->conv->shape;
  s->groups = s->attrs->feature_group_count;
  s->in_features = f->dims[n->kernel_input_feature];
  s->out_features = f->dims[n->kernel_output_feature] / s->groups;
  s->n_spatial = n->input_spatial.n;
  s->features_last = n->output_feature == out->rank - 1;
  s->k_features_last = fastest_dim(in) == n->input_feature || s->n_spatial == 0;
  s->out_positions = positions(c, s->features_last, n->output_batch, n->output_spatial);
  s->in_positions = positions(c, s->features_last, n->input_batch, n->input_spatial);
  int64_t *k = ARENA_ARRAY(c->a, int64_t, s->n_spatial + 1);
  for (int d = 0; d < s->n_spatial; d++) k[d + !s->k_features_last] = n->kernel_spatial.data[d];
  k[s->k_features_last ? s->n_spatial : 0] = n->kernel_input_feature;
  s->k_of_filter = (hlo_i64s){k, s->n_spatial + 1};
  s->pointwise = true;
  for (int d = 0; d < s->n_spatial; d++) {
    const hlo_window_dim *w = &s->attrs->window.dims[d];
    s->pointwise &= f->dims[n->kernel_spatial.data[d]] == 1 && w->stride == 1 && w->pad_low == 0 && w->pad_high == 0 &&
                    w->base_dilation == 1;
  }
}

// Vectors that are neighbours in memory: along the input features, or along the last dimension of space.
static void describe_patches(const conv_state *s, matmul *p, int side) {
  const hlo_conv_dnums *n = &s->attrs->dnums;
  const hlo_shape *in = s->conv->operands[0]->shape;
  int fastest = fastest_dim(in);
  bool one = s->in_features == p->k;  // k is the input features alone
  p->gather = side;
  if (fastest == n->input_feature) {
    int lanes = one && s->groups == 1 ? 64 : matmul_run_lanes(s->in_features);
    p->k_vectors[side] = lanes >= 4;
    if (lanes >= 4) p->pack_lanes[side] = lanes;
    return;
  }
  int last = s->n_spatial - 1;
  if (last < 0 || s->pointwise || fastest != n->input_spatial.data[last]) return;
  const hlo_window_dim *w = &s->attrs->window.dims[last];
  int lanes = matmul_run_lanes(s->conv->shape->dims[n->output_spatial.data[last]]);
  bool plain = w->pad_low == 0 && w->pad_high <= 0 && w->base_dilation == 1;
  if (w->stride == 1 && plain && lanes >= 4) p->pack_lanes[side] = lanes;
}

lemnos_status schedule_conv_cpu(emit_ctx *c, bool *done) {
  conv_state s = {.conv = matmul_hero(c)};
  *done = false;
  if (!s.conv || s.conv->op != HLO_OP_CONVOLUTION || !matmul_sum_dtype(s.conv->shape->dtype, &s.sum))
    return LEMNOS_SUCCESS;
  for (int o = 0; o < 2; o++) {
    hlo_dtype in = s.conv->operands[o]->shape->dtype;
    if (hlo_dtype_is_complex(in) || hlo_dtype_is_float(in) != hlo_dtype_is_float(s.sum)) return LEMNOS_SUCCESS;
  }
  s.attrs = HLO_ATTRS(s.conv, convolution);
  const hlo_conv_dnums *n = &s.attrs->dnums;
  if (s.attrs->batch_group_count != 1 || n->input_spatial.n > MAX_SPATIAL) return LEMNOS_SUCCESS;
  if (hlo_shape_elements(s.conv->shape) == 0 || hlo_shape_elements(s.conv->operands[0]->shape) == 0)
    return LEMNOS_SUCCESS;
  describe(c, &s);
  const hlo_shape *out = s.conv->shape, *f = s.conv->operands[1]->shape;
  matmul p = {
      .user = &s, .sum = s.sum, .scalar = kernel_scalar_of(s.sum), .fetch = fetch, .store = store, .batch = s.groups};
  int64_t at = 1, k = s.in_features;
  for (int d = 0; d < s.out_positions.n; d++) at *= out->dims[s.out_positions.data[d]];
  for (int d = 0; d < s.n_spatial; d++) k *= f->dims[n->kernel_spatial.data[d]];
  if (!s.features_last) p.batch *= out->dims[n->output_batch];
  p.k = k;
  int patches = s.features_last ? 0 : 1;
  p.rows[patches] = at, p.rows[!patches] = s.out_features;
  if (k == 0 || (s.groups > 1 && s.out_features < 4) || at * k * s.out_features < 256) return LEMNOS_SUCCESS;
  int fastest = fastest_dim(f);
  for (int d = 0; d < s.k_of_filter.n; d++) p.k_vectors[!patches] |= s.k_of_filter.data[d] == fastest;
  for (int d = 0; d + 1 < s.k_of_filter.n; d++)
    if (s.k_of_filter.data[d] + 1 != s.k_of_filter.data[d + 1] && p.k_vectors[!patches])
      p.pack_lanes[!patches] = matmul_run_lanes(f->dims[s.k_of_filter.data[s.k_of_filter.n - 1]]);
  describe_patches(&s, &p, patches);
  *done = true;
  return matmul_emit(c, &p);
}
