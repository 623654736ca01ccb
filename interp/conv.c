// SPDX-License-Identifier: Apache-2.0
// Convolution with all of its dimension numbers, strides, dilations, reversal, feature and batch groups.
//
// Per group it is a product kernel[m][k] * patches[k][n]: m output features of the group, n output positions (batch and
// space), k window positions times input features, ascending (window row-major slowest, feature fastest). Patches are
// gathered panel by panel into the packed form of dot.c's kernel; what lies in the padding or between dilated elements
// is zero.
#include "interp/dot_internal.h"

typedef struct conv_job {
  const hlo_conv_dnums *d;
  const hlo_window_dim *w;
  int n_spatial;
  interp_math math;
  const char *in, *kernel;
  char *out;
  int in_bytes, kernel_bytes, out_bytes;
  interp_cvt in_cvt, kernel_cvt, out_cvt;
  int64_t is[INTERP_MAX_RANK], ks[INTERP_MAX_RANK], os[INTERP_MAX_RANK];                      // strides, elements
  int64_t in_size[INTERP_MAX_RANK], out_size[INTERP_MAX_RANK], kernel_size[INTERP_MAX_RANK];  // spatial
  int64_t batch, m, n, k, features, taps;
  bool batch_minor;  // positions are numbered with the batch fastest (gradients of kernels), else slowest
  int64_t in_feature0, in_batch0, out_feature0;  // of the group at hand
  char *a_panels;
  char **panel, **tmp;  // per worker
} conv_job;

static void pack_kernel(void *ctx, int64_t begin, int64_t end, int worker) {
  conv_job *j = ctx;
  const hlo_conv_dnums *d = j->d;
  int mb = interp_math_bytes(j->math);
  char *raw = j->tmp[worker], *wide = raw + (size_t)j->k * 16;
  for (int64_t t = begin; t < end; t++) {
    char *out = j->a_panels + t * j->k * INTERP_MR * mb;
    memset(out, 0, (size_t)(j->k * INTERP_MR * mb));
    for (int64_t r = 0; r < INTERP_MR && t * INTERP_MR + r < j->m; r++) {
      int64_t feature = j->out_feature0 + t * INTERP_MR + r;
      int64_t index[INTERP_MAX_RANK] = {0};
      for (int64_t tap = 0; tap < j->taps; tap++) {
        int64_t at = feature * j->ks[d->kernel_output_feature];
        for (int s = 0; s < j->n_spatial; s++) {
          int64_t x = j->w[s].reversal ? j->kernel_size[s] - 1 - index[s] : index[s];
          at += x * j->ks[d->kernel_spatial.data[s]];
        }
        interp_copy_line(j->features, j->kernel_bytes, raw + tap * j->features * j->kernel_bytes, 1,
                         j->kernel + at * j->kernel_bytes, j->ks[d->kernel_input_feature]);
        for (int s = j->n_spatial - 1; s >= 0 && ++index[s] == j->kernel_size[s]; s--) index[s] = 0;
      }
      interp_cvt_run(&j->kernel_cvt, j->k, raw, wide);
      interp_copy_line(j->k, mb, out + r * mb, INTERP_MR, wide, 1);
    }
  }
}

// Splits a position into spatial indices; gives its batch index.
static int64_t split_position(const conv_job *j, int64_t p, int64_t *o) {
  int64_t b = 0;
  if (j->batch_minor) {
    b = p % j->batch;
    p /= j->batch;
  }
  for (int s = j->n_spatial - 1; s >= 0; s--) {
    o[s] = p % j->out_size[s];
    p /= j->out_size[s];
  }
  return j->batch_minor ? b : p;
}

// Adds to *at the offset of the input element that output o meets at window position `index`; false: none.
static bool locate(const conv_job *j, const int64_t *o, const int64_t *index, int64_t *at) {
  for (int s = 0; s < j->n_spatial; s++) {
    int64_t x = o[s] * j->w[s].stride + index[s] * j->w[s].window_dilation - j->w[s].pad_low;
    if (x < 0) return false;
    if (j->w[s].base_dilation != 1) {
      if (x % j->w[s].base_dilation) return false;
      x /= j->w[s].base_dilation;
    }
    if (x >= j->in_size[s]) return false;
    *at += x * j->is[j->d->input_spatial.data[s]];
  }
  return true;
}

// Columns of `count` neighbours in the batch, starting at position p: rows of a panel [k][NR] of the input's type.
static void gather_rows(const conv_job *j, int64_t p, int64_t count, char *panel) {
  const hlo_conv_dnums *d = j->d;
  int64_t o[INTERP_MAX_RANK], index[INTERP_MAX_RANK] = {0}, b = split_position(j, p, o), step = INTERP_NR * j->in_bytes;
  int64_t base = (j->in_batch0 + b) * j->is[d->input_batch] + j->in_feature0 * j->is[d->input_feature];
  size_t line = (size_t)(count * j->in_bytes);
  for (int64_t tap = 0; tap < j->taps; tap++) {
    int64_t at = base, stride = j->is[d->input_feature];
    bool inside = locate(j, o, index, &at);
    for (int64_t f = 0; f < j->features; f++, panel += step, at += stride) {
      if (inside)
        memcpy(panel, j->in + at * j->in_bytes, line);
      else
        memset(panel, 0, line);
    }
    for (int s = j->n_spatial - 1; s >= 0 && ++index[s] == j->kernel_size[s]; s--) index[s] = 0;
  }
}

// The patch of output position p as k elements of the input's type in `raw`.
static void gather_patch(const conv_job *j, int64_t p, char *raw) {
  const hlo_conv_dnums *d = j->d;
  int64_t o[INTERP_MAX_RANK], index[INTERP_MAX_RANK] = {0}, b = split_position(j, p, o);
  int64_t base = (j->in_batch0 + b) * j->is[d->input_batch] + j->in_feature0 * j->is[d->input_feature];
  size_t tap_bytes = (size_t)(j->features * j->in_bytes);
  for (int64_t tap = 0; tap < j->taps; tap++, raw += tap_bytes) {
    int64_t at = base;
    if (locate(j, o, index, &at))
      interp_copy_line(j->features, j->in_bytes, raw, 1, j->in + at * j->in_bytes, j->is[d->input_feature]);
    else
      memset(raw, 0, tap_bytes);
    for (int s = j->n_spatial - 1; s >= 0 && ++index[s] == j->kernel_size[s]; s--) index[s] = 0;
  }
}

static int64_t out_offset(const conv_job *j, int64_t p) {
  const hlo_conv_dnums *d = j->d;
  int64_t o[INTERP_MAX_RANK], at = split_position(j, p, o) * j->os[d->output_batch];
  for (int s = 0; s < j->n_spatial; s++) at += o[s] * j->os[d->output_spatial.data[s]];
  return at;
}

// Packs positions [n0, n0 + nn) as b [k][NR].
static void pack_patches(const conv_job *j, int64_t n0, int64_t nn, char *raw, char *b) {
  int mb = interp_math_bytes(j->math);
  if (j->batch_minor) {
    if (nn < INTERP_NR) memset(raw, 0, (size_t)(j->k * INTERP_NR * j->in_bytes));
    for (int64_t q = 0; q < nn;) {
      int64_t left = j->batch - (n0 + q) % j->batch, run = nn - q < left ? nn - q : left;
      gather_rows(j, n0 + q, run, raw + q * j->in_bytes);
      q += run;
    }
    interp_cvt_run(&j->in_cvt, j->k * INTERP_NR, raw, b);
    return;
  }
  char *wide = raw + (size_t)j->k * 16;
  if (nn < INTERP_NR) memset(b, 0, (size_t)(j->k * INTERP_NR * mb));
  for (int64_t q = 0; q < nn; q++) {
    gather_patch(j, n0 + q, raw);
    interp_cvt_run(&j->in_cvt, j->k, raw, wide);
    interp_copy_line(j->k, mb, b + q * mb, INTERP_NR, wide, 1);
  }
}

static void multiply(void *ctx, int64_t begin, int64_t end, int worker) {
  conv_job *j = ctx;
  int mb = interp_math_bytes(j->math);
  _Alignas(64) char c[INTERP_MR * INTERP_NR * 16];
  char row[INTERP_NR * 16];
  char *b = j->panel[worker];
  for (int64_t t = begin; t < end; t++) {
    int64_t n0 = t * INTERP_NR, nn = j->n - n0 < INTERP_NR ? j->n - n0 : INTERP_NR, at[INTERP_NR];
    pack_patches(j, n0, nn, j->tmp[worker], b);
    for (int64_t q = 0; q < nn; q++) at[q] = out_offset(j, n0 + q);
    for (int64_t m0 = 0; m0 < j->m; m0 += INTERP_MR) {
      interp_dot_tile(j->math, j->k, j->a_panels + m0 * j->k * mb, b, c);
      for (int64_t i = 0; i < INTERP_MR && m0 + i < j->m; i++) {
        interp_cvt_run(&j->out_cvt, nn, c + i * INTERP_NR * mb, row);
        int64_t feature = (j->out_feature0 + m0 + i) * j->os[j->d->output_feature];
        for (int64_t q = 0; q < nn; q++)
          memcpy(j->out + (at[q] + feature) * j->out_bytes, row + q * j->out_bytes, (size_t)j->out_bytes);
      }
    }
  }
}

// --- depthwise -----------------------------------------------------------------------------------

// One input feature per group, features contiguous in input: the packed product would be mostly padding, so positions
// are computed one by one with channels as vectors. Same order of terms, same rounding.
typedef struct depthwise {
  const conv_job *j;
  const double *in, *kernel;  // the whole input; [tap][output feature]
  int64_t features, multiplier;
  char **acc, **line;  // per worker
} depthwise;

LEMNOS_CLONES static void multiply_add_f64(int64_t n, double *restrict acc, const double *restrict x,
                                           const double *restrict k) {
  for (int64_t i = 0; i < n; i++) acc[i] += x[i] * k[i];
}

LEMNOS_CLONES static void multiply_add_f32(int64_t n, double *restrict acc, const double *restrict x,
                                           const double *restrict k) {
  for (int64_t i = 0; i < n; i++) acc[i] = (float)(acc[i] + (double)(float)(x[i] * k[i]));
}

static void depthwise_range(void *ctx, int64_t begin, int64_t end, int worker) {
  const depthwise *w = ctx;
  const conv_job *j = w->j;
  double *acc = (double *)w->acc[worker], *line = (double *)w->line[worker];
  int64_t n = w->features;
  for (int64_t p = begin; p < end; p++) {
    int64_t o[INTERP_MAX_RANK], index[INTERP_MAX_RANK] = {0}, b = split_position(j, p, o);
    memset(acc, 0, sizeof *acc * (size_t)n);
    for (int64_t tap = 0; tap < j->taps; tap++) {
      int64_t at = b * j->is[j->d->input_batch];
      const double *x = line, *k = w->kernel + tap * n;
      if (!locate(j, o, index, &at))
        memset(line, 0, sizeof *line * (size_t)n);
      else if (w->multiplier == 1)
        x = w->in + at;
      else
        for (int64_t f = 0; f < n; f++) line[f] = w->in[at + f / w->multiplier];
      if (j->math == INTERP_MATH_F32)
        multiply_add_f32(n, acc, x, k);
      else
        multiply_add_f64(n, acc, x, k);
      for (int s = j->n_spatial - 1; s >= 0 && ++index[s] == j->kernel_size[s]; s--) index[s] = 0;
    }
    interp_cvt_run(&j->out_cvt, n, acc, line);
    interp_copy_line(n, j->out_bytes, j->out + out_offset(j, p) * j->out_bytes, j->os[j->d->output_feature], line, 1);
  }
}

static lemnos_status conv_depthwise(interp_call *c, conv_job *j, int64_t groups, int64_t n_in) {
  depthwise w = {.j = j, .features = groups * j->m, .multiplier = j->m};
  int64_t n = w.features;
  j->batch_minor = false;
  double *in = interp_scratch(c->cx, (size_t)n_in * 8), *kernel = interp_scratch(c->cx, (size_t)(j->taps * n) * 8);
  char *raw = interp_scratch(c->cx, (size_t)(j->taps * n * j->kernel_bytes));
  if (!in || !kernel || !raw) return interp_scratch_failed(c);
  int64_t grain = INTERP_GRAIN / (j->taps * n + 1) + 1;
  int workers = interp_workers(c->cx, j->n, grain);
  w.acc = interp_worker_blocks(c->cx, workers, (size_t)n * 8);
  w.line = interp_worker_blocks(c->cx, workers, (size_t)n * 8);
  if (!w.acc || !w.line) return interp_scratch_failed(c);
  interp_cvt_run(&j->in_cvt, n_in, j->in, in);
  int64_t index[INTERP_MAX_RANK] = {0};
  for (int64_t tap = 0; tap < j->taps; tap++) {
    int64_t at = 0;
    for (int s = 0; s < j->n_spatial; s++)
      at += (j->w[s].reversal ? j->kernel_size[s] - 1 - index[s] : index[s]) * j->ks[j->d->kernel_spatial.data[s]];
    interp_copy_line(n, j->kernel_bytes, raw + tap * n * j->kernel_bytes, 1, j->kernel + at * j->kernel_bytes,
                     j->ks[j->d->kernel_output_feature]);
    for (int s = j->n_spatial - 1; s >= 0 && ++index[s] == j->kernel_size[s]; s--) index[s] = 0;
  }
  interp_cvt_run(&j->kernel_cvt, j->taps * n, raw, kernel);
  w.in = in;
  w.kernel = kernel;
  interp_parallel(c->cx, j->n, grain, depthwise_range, &w);
  return LEMNOS_SUCCESS;
}

// The packed kernel, and of every worker the panel of patches that it works on and room to gather one.
static lemnos_status allocate_panels(interp_call *c, conv_job *j, int64_t panels, int64_t pack_grain, int64_t tiles,
                                     int64_t grain) {
  int mb = interp_math_bytes(j->math), workers = interp_workers(c->cx, tiles, grain);
  int packers = interp_workers(c->cx, panels, pack_grain);
  size_t bytes = (size_t)(panels * INTERP_MR * (j->k + 1) * mb), panel = (size_t)(j->k + 1) * INTERP_NR * (size_t)mb;
  size_t row = (size_t)(j->k + 1) * (j->batch_minor && j->in_bytes > 2 ? INTERP_NR * (size_t)j->in_bytes : 32);
  j->a_panels = interp_scratch(c->cx, bytes);
  j->panel = interp_worker_blocks(c->cx, workers, panel);
  j->tmp = interp_worker_blocks(c->cx, workers > packers ? workers : packers, row);
  return j->a_panels && j->panel && j->tmp ? LEMNOS_SUCCESS : interp_scratch_failed(c);
}

// --- little work ---------------------------------------------------------------------------------

// Features contiguous in all arrays: positions by fours against the kernel where it lies, tap by tap. Packing pays only
// for more work.
#define DIRECT_WORK (1 << 20)  // products
#define DIRECT_FEATURES 256

static bool fits_direct(const conv_job *j) {
  bool f32 = j->math == INTERP_MATH_F64 && j->in_cvt.from == HLO_F32 && j->kernel_cvt.from == HLO_F32 &&
             j->out_cvt.to == HLO_F32;
  return f32 && !j->batch_minor && j->is[j->d->input_feature] == 1 && j->ks[j->d->kernel_output_feature] == 1 &&
         j->os[j->d->output_feature] == 1 && j->m % DOT_COLS == 0 && j->m <= DIRECT_FEATURES &&
         j->features <= DIRECT_FEATURES && j->n * j->m <= DIRECT_WORK / j->k;
}

static void direct_positions(void *ctx, int64_t begin, int64_t end, int worker) {
  (void)worker;
  static const float zeros[DIRECT_FEATURES];
  const conv_job *j = ctx;
  const hlo_conv_dnums *d = j->d;
  _Alignas(64) double sums[DIRECT_FEATURES * DOT_ROWS];  // [tile of features][position][feature]
  for (int64_t p0 = begin * DOT_ROWS; p0 < end * DOT_ROWS && p0 < j->n; p0 += DOT_ROWS) {
    int64_t o[DOT_ROWS][INTERP_MAX_RANK], base[DOT_ROWS], index[INTERP_MAX_RANK] = {0};
    int rows = j->n - p0 < DOT_ROWS ? (int)(j->n - p0) : DOT_ROWS;
    for (int i = 0; i < rows; i++)
      base[i] = (j->in_batch0 + split_position(j, p0 + i, o[i])) * j->is[d->input_batch] + j->in_feature0;
    memset(sums, 0, sizeof *sums * (size_t)(j->m * DOT_ROWS));
    for (int64_t tap = 0; tap < j->taps; tap++) {
      const float *a[DOT_ROWS];
      for (int i = 0; i < DOT_ROWS; i++) {
        int64_t at = i < rows ? base[i] : 0;
        a[i] = i < rows && locate(j, o[i], index, &at) ? (const float *)j->in + at : zeros;
      }
      int64_t at = j->out_feature0;
      for (int s = 0; s < j->n_spatial; s++)
        at += (j->w[s].reversal ? j->kernel_size[s] - 1 - index[s] : index[s]) * j->ks[d->kernel_spatial.data[s]];
      for (int64_t f = 0; f < j->m; f += DOT_COLS)
        dot_rows_f32(j->features, a, 1, (const float *)j->kernel + at + f, j->ks[d->kernel_input_feature],
                     sums + f * DOT_ROWS);
      for (int s = j->n_spatial - 1; s >= 0 && ++index[s] == j->kernel_size[s]; s--) index[s] = 0;
    }
    for (int i = 0; i < rows; i++) {
      float *out = (float *)j->out + out_offset(j, p0 + i) + j->out_feature0;
      for (int64_t f = 0; f < j->m; f += DOT_COLS)
        interp_cvt_run(&j->out_cvt, DOT_COLS, sums + f * DOT_ROWS + i * DOT_COLS, out + f);
    }
  }
}

static lemnos_status conv(interp_call *c, const interp_array *in, const interp_array *kernel, interp_array *out,
                          const hlo_window_dim *w) {
  const hlo_attrs_convolution *a = HLO_ATTRS(c->in->src, convolution);
  conv_job j = {.d = &a->dnums,
                .w = w,
                .n_spatial = a->dnums.input_spatial.n,
                .in = in->data,
                .kernel = kernel->data,
                .out = out->data};
  j.in_bytes = hlo_dtype_bytes(in->dtype);
  j.kernel_bytes = hlo_dtype_bytes(kernel->dtype);
  j.out_bytes = hlo_dtype_bytes(out->dtype);
  interp_strides(in, j.is);
  interp_strides(kernel, j.ks);
  interp_strides(out, j.os);
  j.taps = 1;
  int64_t positions = 1;
  for (int s = 0; s < j.n_spatial; s++) {
    j.in_size[s] = in->dims[a->dnums.input_spatial.data[s]];
    j.kernel_size[s] = kernel->dims[a->dnums.kernel_spatial.data[s]];
    j.out_size[s] = out->dims[a->dnums.output_spatial.data[s]];
    j.taps *= j.kernel_size[s];
    positions *= j.out_size[s];
  }
  int64_t groups = a->feature_group_count > 1 ? a->feature_group_count : a->batch_group_count;
  if (groups < 1) groups = 1;
  j.features = kernel->dims[a->dnums.kernel_input_feature];
  j.batch = out->dims[a->dnums.output_batch];
  j.k = j.taps * j.features;
  j.math = interp_math_for(in->dtype, out->dtype, in->dtype == kernel->dtype ? j.k : INT64_MAX);
  hlo_dtype t = interp_math_dtype(j.math);
  if (!interp_cvt_init(&j.in_cvt, in->dtype, t) || !interp_cvt_init(&j.kernel_cvt, kernel->dtype, t) ||
      !interp_cvt_init(&j.out_cvt, t, out->dtype))
    return interp_error(c, LEMNOS_UNIMPLEMENTED, "no conversion of this element type");
  j.m = out->dims[a->dnums.output_feature] / groups;
  j.n = j.batch * positions;
  j.batch_minor = j.is[a->dnums.input_batch] == 1 && j.is[a->dnums.input_feature] != 1 && j.batch >= 4;
  if (interp_count(out) == 0) return LEMNOS_SUCCESS;
  if (a->feature_group_count > 1 && j.features == 1 && j.is[a->dnums.input_feature] == 1 && groups * j.m >= 4 &&
      interp_count(in) <= (int64_t)1 << 26 && (j.math == INTERP_MATH_F64 || j.math == INTERP_MATH_F32))
    return conv_depthwise(c, &j, groups, interp_count(in));
  bool direct = fits_direct(&j);
  int64_t panels = (j.m + INTERP_MR - 1) / INTERP_MR, tiles = (j.n + INTERP_NR - 1) / INTERP_NR;
  int64_t grain = 2 * INTERP_GRAIN / ((j.k + 1) * (j.m + 8) * INTERP_NR) + 1;
  int64_t pack_grain = INTERP_GRAIN / (j.k * INTERP_MR + 1) + 1;
  if (!direct) LEMNOS_TRY(allocate_panels(c, &j, panels, pack_grain, tiles, grain));
  for (int64_t g = 0; g < groups; g++) {
    LEMNOS_TRY(interp_poll(c->cx));
    j.in_feature0 = a->feature_group_count > 1 ? g * j.features : 0;
    j.in_batch0 = a->batch_group_count > 1 ? g * (in->dims[a->dnums.input_batch] / groups) : 0;
    j.out_feature0 = g * j.m;
    if (direct) {
      interp_parallel(c->cx, (j.n + DOT_ROWS - 1) / DOT_ROWS, 2 * INTERP_GRAIN / ((j.k + 1) * j.m * DOT_ROWS) + 1,
                      direct_positions, &j);
      continue;
    }
    interp_parallel(c->cx, panels, pack_grain, pack_kernel, &j);
    interp_parallel(c->cx, tiles, grain, multiply, &j);
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status run_convolution(interp_call *c) {
  return conv(c, interp_arg(c, 0), interp_arg(c, 1), interp_result(c, 0),
              HLO_ATTRS(c->in->src, convolution)->window.dims);
}

// As convolution, with the padding given by the third operand [spatial][2].
static lemnos_status run_dynamic_conv(interp_call *c) {
  const hlo_attrs_convolution *a = HLO_ATTRS(c->in->src, convolution);
  hlo_window_dim w[INTERP_MAX_RANK];
  const interp_array *kernel = interp_arg(c, 1), *padding = interp_arg(c, 2);
  for (int s = 0; s < a->dnums.input_spatial.n; s++) {
    w[s] =
        s < a->window.n ? a->window.dims[s] : (hlo_window_dim){.stride = 1, .base_dilation = 1, .window_dilation = 1};
    w[s].size = kernel->dims[a->dnums.kernel_spatial.data[s]];
    w[s].pad_low = interp_index_get(padding, 2 * s);
    w[s].pad_high = interp_index_get(padding, 2 * s + 1);
  }
  return conv(c, interp_arg(c, 0), kernel, interp_result(c, 0), w);
}

lemnos_status interp_compile_conv(interp_compiler *c, interp_insn *in) {
  in->fn = in->src->op == HLO_OP_DYNAMIC_CONV ? run_dynamic_conv : run_convolution;
  return LEMNOS_SUCCESS;
}
