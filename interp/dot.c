// SPDX-License-Identifier: Apache-2.0
// dot_general and its relatives: operands are brought to [batch][m][k] and [batch][n][k], converted to the type that
// products are summed in (f64 for floats, pairs of f64 for complex, 64-bit wrapping integers), packed into panels of
// MR rows and NR columns, and multiplied tile by tile (dot_direct.c: products that are not worth it). Every output
// element is one sum in ascending order of k, so the result does not depend on tiling or threads. Contracting
// dimensions run in the order the attribute lists them, the first slowest.
#include "interp/dot_internal.h"

interp_math interp_math_for(hlo_dtype lhs, hlo_dtype result, int64_t terms) {
  bool few = terms <= INTERP_SHORT && lhs == result;
  if (hlo_dtype_is_complex(lhs) || hlo_dtype_is_complex(result))
    return few && result == HLO_C64 ? INTERP_MATH_C64 : INTERP_MATH_C128;
  if (hlo_dtype_is_float(lhs) || hlo_dtype_is_float(result))
    return few && result == HLO_F32 ? INTERP_MATH_F32 : INTERP_MATH_F64;
  return INTERP_MATH_INT;
}

hlo_dtype interp_math_dtype(interp_math m) {
  switch (m) {
    case INTERP_MATH_C128:
    case INTERP_MATH_C64: return HLO_C128;
    case INTERP_MATH_F64:
    case INTERP_MATH_F32: return HLO_F64;
    case INTERP_MATH_INT: break;
  }
  return HLO_S64;
}

LEMNOS_CLONES static void tile_f64(int64_t k, const double *restrict a, const double *restrict b, double *restrict c) {
  // Eight vectors that stay in registers; the compiler splits them where they are wider than the machine's.
  interp_f64x8 s00 = {0}, s01 = {0}, s10 = {0}, s11 = {0}, s20 = {0}, s21 = {0}, s30 = {0}, s31 = {0}, b0, b1;
  _Static_assert(INTERP_MR == 4 && INTERP_NR == 16, "tile of 4 x 16");
  for (int64_t p = 0; p < k; p++, a += INTERP_MR, b += INTERP_NR) {
    memcpy(&b0, b, sizeof b0);
    memcpy(&b1, b + 8, sizeof b1);
    s00 += a[0] * b0, s01 += a[0] * b1;
    s10 += a[1] * b0, s11 += a[1] * b1;
    s20 += a[2] * b0, s21 += a[2] * b1;
    s30 += a[3] * b0, s31 += a[3] * b1;
  }
  const interp_f64x8 all[8] = {s00, s01, s10, s11, s20, s21, s30, s31};
  memcpy(c, all, sizeof all);
}

LEMNOS_CLONES static void tile_int(int64_t k, const uint64_t *restrict a, const uint64_t *restrict b,
                                   uint64_t *restrict c) {
  for (int64_t p = 0; p < k; p++, a += INTERP_MR, b += INTERP_NR)
    for (int i = 0; i < INTERP_MR; i++)
      for (int j = 0; j < INTERP_NR; j++) c[i * INTERP_NR + j] += a[i] * b[j];
}

static void tile_c128(int64_t k, const double *a, const double *b, double *c) {
  for (int64_t p = 0; p < k; p++, a += 2 * INTERP_MR, b += 2 * INTERP_NR)
    for (int i = 0; i < INTERP_MR; i++)
      for (int j = 0; j < INTERP_NR; j++) {
        double ar = a[2 * i], ai = a[2 * i + 1], br = b[2 * j], bi = b[2 * j + 1];
        c[2 * (i * INTERP_NR + j)] += ar * br - ai * bi;
        c[2 * (i * INTERP_NR + j) + 1] += ar * bi + ai * br;
      }
}

// The products of two f32 are exact in f64, and so is one sum for the purpose of rounding it to f32.
static void tile_f32(int64_t k, const double *a, const double *b, double *c) {
  for (int64_t p = 0; p < k; p++, a += INTERP_MR, b += INTERP_NR)
    for (int i = 0; i < INTERP_MR; i++)
      for (int j = 0; j < INTERP_NR; j++)
        c[i * INTERP_NR + j] = (float)(c[i * INTERP_NR + j] + (double)(float)(a[i] * b[j]));
}

static void tile_c64(int64_t k, const double *a, const double *b, double *c) {
  for (int64_t p = 0; p < k; p++, a += 2 * INTERP_MR, b += 2 * INTERP_NR)
    for (int i = 0; i < INTERP_MR; i++)
      for (int j = 0; j < INTERP_NR; j++) {
        float ar = (float)a[2 * i], ai = (float)a[2 * i + 1], br = (float)b[2 * j], bi = (float)b[2 * j + 1];
        float re = ar * br - ai * bi, im = ar * bi + ai * br;
        double *s = c + 2 * (i * INTERP_NR + j);
        s[0] = (float)s[0] + re;
        s[1] = (float)s[1] + im;
      }
}

void interp_dot_tile(interp_math m, int64_t k, const void *a, const void *b, void *c) {
  memset(c, 0, (size_t)(INTERP_MR * INTERP_NR * interp_math_bytes(m)));
  switch (m) {
    case INTERP_MATH_F64: tile_f64(k, a, b, c); break;
    case INTERP_MATH_C128: tile_c128(k, a, b, c); break;
    case INTERP_MATH_F32: tile_f32(k, a, b, c); break;
    case INTERP_MATH_C64: tile_c64(k, a, b, c); break;
    case INTERP_MATH_INT: tile_int(k, a, b, c); break;
  }
}

// --- canonical operands --------------------------------------------------------------------------

static dims_set dims_pick(const interp_array *a, const int64_t *dims, int n) {
  dims_set s = {.n = n, .total = 1};
  int64_t strides[INTERP_MAX_RANK];
  interp_strides(a, strides);
  for (int k = 0; k < n; k++) {
    s.size[k] = a->dims[dims[k]];
    s.stride[k] = strides[dims[k]];
    s.total *= s.size[k];
  }
  return s;
}

static dims_set dims_rest(const interp_array *a, hlo_i64s x, hlo_i64s y) {
  int64_t rest[INTERP_MAX_RANK];
  int n = 0;
  for (int d = 0; d < a->rank; d++)
    if (!hlo_i64s_contains(x, d) && !hlo_i64s_contains(y, d)) rest[n++] = d;
  return dims_pick(a, rest, n);
}

bool dims_even(const dims_set *s, int64_t *stride) {
  int64_t want = -1;
  *stride = 1;
  for (int k = s->n - 1; k >= 0; k--) {
    if (s->size[k] == 1) continue;
    if (want < 0)
      *stride = s->stride[k];
    else if (s->stride[k] != want)
      return false;
    want = s->stride[k] * s->size[k];
  }
  return true;
}

// Do indices [first, first + count) lie within the innermost dimension, and is that contiguous?
static bool rows_adjacent(const dims_set *s, int64_t first, int64_t count) {
  int d = s->n - 1;
  while (d >= 0 && s->size[d] == 1) d--;
  return d >= 0 && s->stride[d] == 1 && first % s->size[d] + count <= s->size[d];
}

// --- packing -------------------------------------------------------------------------------------

#define PACK_BYTES 4096  // of the operand that are converted at once, on the stack

// Packs rows [first, first + count) of batch b, count <= w, as [k][w], the rest zero.
static void pack(const dot_side *s, interp_math math, int64_t b, int64_t first, int64_t count, int w, int64_t k,
                 char *out) {
  _Alignas(64) char raw[PACK_BYTES], wide[PACK_BYTES];
  int mb = interp_math_bytes(math);
  int64_t base = dims_offset(&s->batch, b), row0 = dims_offset(&s->rows, first);
  if (count > 1 && rows_adjacent(&s->rows, first, count)) {
    // Rows lie side by side: w elements at a time, which is the packed order already.
    size_t line = (size_t)count * (size_t)s->bytes, step = (size_t)w * (size_t)s->bytes;
    int64_t chunk = s->cvt.fn ? PACK_BYTES / (int64_t)step : k;
    for (int64_t p0 = 0; p0 < k; p0 += chunk) {
      int64_t n = k - p0 < chunk ? k - p0 : chunk;
      char *to = s->cvt.fn ? raw : out;
      if (count < w) memset(to, 0, (size_t)n * step);
      for (int64_t p = p0; p < p0 + n; p++, to += step)
        memcpy(to, s->data + (base + row0 + (s->k_even ? p * s->k_stride : s->k_offsets[p])) * s->bytes, line);
      if (s->cvt.fn) interp_cvt_run(&s->cvt, n * w, raw, out + p0 * w * mb);
    }
    return;
  }
  if (count < w) memset(out, 0, (size_t)k * (size_t)w * (size_t)mb);
  int64_t chunk = PACK_BYTES / 16;
  for (int64_t p0 = 0; p0 < k; p0 += chunk)
    for (int64_t r = 0; r < count; r++) {
      int64_t n = k - p0 < chunk ? k - p0 : chunk;
      const char *row = s->data + (base + dims_offset(&s->rows, first + r)) * s->bytes, *line = raw;
      if (!s->k_even)
        for (int64_t p = 0; p < n; p++)
          memcpy(raw + p * s->bytes, row + s->k_offsets[p0 + p] * s->bytes, (size_t)s->bytes);
      else if (s->k_stride == 1)
        line = row + p0 * s->bytes;
      else
        interp_copy_line(n, s->bytes, raw, 1, row + p0 * s->k_stride * s->bytes, s->k_stride);
      if (s->cvt.fn) {
        interp_cvt_run(&s->cvt, n, line, wide);
        line = wide;
      }
      interp_copy_line(n, mb, out + (p0 * w + r) * mb, w, line, 1);
    }
}

// --- products of packed operands -----------------------------------------------------------------

#define KEPT_BYTES ((int64_t)32 << 20)  // of the kept operand that are packed at once
#define GROUP_BYTES (32 << 10)          // of the other one: what stays near the core while a panel goes by

// The operand whose packed form is smaller is packed once and kept, or as much of it as KEPT_BYTES hold; every worker
// packs the other one group by group: panels of MR rows of the left, of NR columns of the right operand.
typedef struct dot_job {
  dot_side lhs, rhs;
  interp_math math;
  interp_cvt out_cvt;
  char *out;
  int out_bytes;
  int64_t b, m, n, k;
  bool keeps_lhs;
  int64_t begin, end;  // rows or columns that are kept
  int64_t group;       // columns or rows of a group
  char *kept;
  char **groups;  // per worker
} dot_job;

// Packs rows or columns [begin, end) panel by panel.
static void pack_panels(const dot_job *j, bool lhs, int64_t begin, int64_t end, char *out) {
  int w = lhs ? INTERP_MR : INTERP_NR;
  for (int64_t at = begin; at < end; at += w, out += j->k * w * interp_math_bytes(j->math))
    pack(lhs ? &j->lhs : &j->rhs, j->math, j->b, at, end - at < w ? end - at : w, w, j->k, out);
}

static void pack_kept(void *ctx, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const dot_job *j = ctx;
  int w = j->keeps_lhs ? INTERP_MR : INTERP_NR;
  int64_t first = j->begin + begin * w, last = j->begin + end * w;
  pack_panels(j, j->keeps_lhs, first, last < j->end ? last : j->end,
              j->kept + begin * w * j->k * interp_math_bytes(j->math));
}

// Rows [m0, m0 + MR) and columns [n0, n0 + NR) of the result, or what there is of them, from their panels.
static void multiply_tile(const dot_job *j, int64_t m0, const char *a, int64_t n0, const char *b) {
  _Alignas(64) char c[INTERP_MR * INTERP_NR * 16];
  int mb = interp_math_bytes(j->math);
  int64_t mm = j->m - m0 < INTERP_MR ? j->m - m0 : INTERP_MR, nn = j->n - n0 < INTERP_NR ? j->n - n0 : INTERP_NR;
  interp_dot_tile(j->math, j->k, a, b, c);
  for (int64_t i = 0; i < mm; i++)
    interp_cvt_run(&j->out_cvt, nn, c + i * INTERP_NR * mb,
                   j->out + ((j->b * j->m + m0 + i) * j->n + n0) * j->out_bytes);
}

static void multiply(void *ctx, int64_t begin, int64_t end, int worker) {
  const dot_job *j = ctx;
  int64_t line = j->k * interp_math_bytes(j->math);  // bytes of a packed row or column
  char *group = j->groups[worker];
  for (int64_t t = begin; t < end; t++) {
    int64_t all = j->keeps_lhs ? j->n : j->m, first = t * j->group;
    int64_t last = first + j->group < all ? first + j->group : all;
    pack_panels(j, !j->keeps_lhs, first, last, group);
    int64_t m0 = j->keeps_lhs ? j->begin : first, m1 = j->keeps_lhs ? j->end : last;
    int64_t n0 = j->keeps_lhs ? first : j->begin, n1 = j->keeps_lhs ? last : j->end;
    const char *a = j->keeps_lhs ? j->kept : group, *b = j->keeps_lhs ? group : j->kept;
    for (int64_t n = n0; n < n1; n += INTERP_NR)
      for (int64_t m = m0; m < m1; m += INTERP_MR) multiply_tile(j, m, a + (m - m0) * line, n, b + (n - n0) * line);
  }
}

static lemnos_status side_init(interp_call *c, dot_side *s, const interp_array *a, interp_math math, hlo_i64s batch,
                               hlo_i64s contracting) {
  s->data = a->data;
  s->bytes = hlo_dtype_bytes(a->dtype);
  s->batch = dims_pick(a, batch.data, batch.n);
  s->k = dims_pick(a, contracting.data, contracting.n);
  s->rows = dims_rest(a, batch, contracting);
  s->k_even = dims_even(&s->k, &s->k_stride);
  return interp_cvt_init(&s->cvt, a->dtype, interp_math_dtype(math))
             ? LEMNOS_SUCCESS
             : interp_error(c, LEMNOS_UNIMPLEMENTED, "no conversion of this element type");
}

static lemnos_status side_offsets(interp_call *c, dot_side *s) {
  if (s->k_even) return LEMNOS_SUCCESS;
  size_t bytes = sizeof(int64_t) * (size_t)s->k.total;
  s->k_offsets = interp_scratch(c->cx, bytes);
  if (!s->k_offsets) return interp_scratch_failed(c);
  for (int64_t p = 0; p < s->k.total; p++) s->k_offsets[p] = dims_offset(&s->k, p);
  return LEMNOS_SUCCESS;
}

static int64_t round_up(int64_t n, int64_t to) {
  return (n + to - 1) / to * to;
}

static lemnos_status dot_packed(interp_call *c, dot_job *j) {
  LEMNOS_TRY(side_offsets(c, &j->lhs));
  LEMNOS_TRY(side_offsets(c, &j->rhs));
  int64_t line = (j->k + 1) * interp_math_bytes(j->math), m = round_up(j->m, INTERP_MR), n = round_up(j->n, INTERP_NR);
  j->keeps_lhs = m <= n;
  int64_t all = j->keeps_lhs ? m : n, panel = j->keeps_lhs ? INTERP_MR : INTERP_NR;
  int64_t others = j->keeps_lhs ? n : m, other_panel = j->keeps_lhs ? INTERP_NR : INTERP_MR;
  int64_t most = KEPT_BYTES / line / panel * panel;
  if (most < 2 * panel) most = 2 * panel;
  if (most > all) most = all;
  j->group = j->keeps_lhs ? INTERP_NR : GROUP_BYTES / line / INTERP_MR * INTERP_MR;
  if (j->group < other_panel) j->group = other_panel;
  if (j->group > others) j->group = others;
  int64_t groups = (others + j->group - 1) / j->group, grain = 2 * INTERP_GRAIN / ((j->k + 1) * most * j->group) + 1;
  j->kept = interp_scratch(c->cx, (size_t)(most * line));
  j->groups = interp_worker_blocks(c->cx, interp_workers(c->cx, groups, grain), (size_t)(j->group * line));
  if (!j->kept || !j->groups) return interp_scratch_failed(c);
  for (j->b = 0; j->b < j->lhs.batch.total; j->b++)
    for (j->begin = 0; j->begin < (j->keeps_lhs ? j->m : j->n); j->begin += most) {
      LEMNOS_TRY(interp_poll(c->cx));
      j->end = j->keeps_lhs ? j->m : j->n;
      if (j->begin + most < j->end) j->end = j->begin + most;
      int64_t panels = (j->end - j->begin + panel - 1) / panel;
      interp_parallel(c->cx, panels, INTERP_GRAIN / (j->k * panel + 1) + 1, pack_kept, j);
      interp_parallel(c->cx, groups, grain, multiply, j);
    }
  return LEMNOS_SUCCESS;
}

// Dynamic sizes meet only here.
static lemnos_status check_sizes(const interp_call *c, const interp_array *lhs, hlo_i64s l, const interp_array *rhs,
                                 hlo_i64s r) {
  for (int k = 0; k < l.n; k++)
    if (lhs->dims[l.data[k]] != rhs->dims[r.data[k]])
      return interp_error(c, LEMNOS_INVALID_ARGUMENT, "lhs dimension %lld has size %lld, rhs dimension %lld has %lld",
                          (long long)l.data[k], (long long)lhs->dims[l.data[k]], (long long)r.data[k],
                          (long long)rhs->dims[r.data[k]]);
  return LEMNOS_SUCCESS;
}

// out[batch..., lhs rows..., rhs rows...]; a pred result is "any product nonzero".
static lemnos_status dot(interp_call *c, const interp_array *lhs, const interp_array *rhs, interp_array *out,
                         const hlo_dot_dnums *d) {
  dot_job j = {.out = out->data};
  LEMNOS_TRY(check_sizes(c, lhs, d->lhs_batch, rhs, d->rhs_batch));
  LEMNOS_TRY(check_sizes(c, lhs, d->lhs_contracting, rhs, d->rhs_contracting));
  dims_set terms = dims_pick(lhs, d->lhs_contracting.data, d->lhs_contracting.n);
  j.math = interp_math_for(lhs->dtype, out->dtype, rhs->dtype == lhs->dtype ? terms.total : INT64_MAX);
  LEMNOS_TRY(side_init(c, &j.lhs, lhs, j.math, d->lhs_batch, d->lhs_contracting));
  LEMNOS_TRY(side_init(c, &j.rhs, rhs, j.math, d->rhs_batch, d->rhs_contracting));
  if (!interp_cvt_init(&j.out_cvt, interp_math_dtype(j.math), out->dtype))
    return interp_error(c, LEMNOS_UNIMPLEMENTED, "no conversion to the result's element type");
  j.out_bytes = hlo_dtype_bytes(out->dtype);
  j.m = j.lhs.rows.total;
  j.n = j.rhs.rows.total;
  j.k = j.lhs.k.total;
  if (interp_count(out) == 0) return LEMNOS_SUCCESS;
  if (dot_direct(c->cx, &j.lhs, &j.rhs, j.math, out)) return LEMNOS_SUCCESS;
  return dot_packed(c, &j);
}

static lemnos_status run_dot_general(interp_call *c) {
  return dot(c, interp_arg(c, 0), interp_arg(c, 1), interp_result(c, 0), &HLO_ATTRS(c->in->src, dot_general)->dnums);
}

// --- einsum --------------------------------------------------------------------------------------

// Letters only: "ab,bc->ac", "ab->ba". Every operand is first brought down to the letters that matter, each once: the
// diagonal is taken where a letter is repeated, and what neither the other operand nor the result has is summed.
#define LETTERS 32
typedef struct einsum {
  hlo_dot_dnums dnums;                            // of the operands so reduced
  char lhs[LETTERS], rhs[LETTERS], out[LETTERS];  // as written
  char lhs_kept[LETTERS], rhs_kept[LETTERS];
} einsum;

static bool einsum_parse(strv s, einsum *e) {
  char *parts[3] = {e->lhs, e->rhs, e->out};
  int part = 0, len = 0;
  for (size_t i = 0; i < s.len; i++) {
    char ch = s.data[i];
    if (ch == ' ') continue;
    if (ch == ',' && part == 0)
      part = 1, len = 0;
    else if (ch == '-' && i + 1 < s.len && s.data[i + 1] == '>' && part < 2)
      part = 2, len = 0, i++;
    else if (((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z')) && len < LETTERS - 1 &&
             (part < 2 || !strchr(parts[part], ch)))
      parts[part][len++] = ch;
    else
      return false;
  }
  return part == 2;
}

static void kept_letters(const char *have, const char *a, const char *b, char *out) {
  int n = 0;
  for (int k = 0; have[k]; k++)
    if ((strchr(a, have[k]) || strchr(b, have[k])) && !memchr(out, have[k], (size_t)n)) out[n++] = have[k];
}

// The view of `in` by distinct letters, in order of first appearance: strides of repeated ones add up.
static lemnos_status diagonal(interp_call *c, const interp_array *in, const char *have, char *letters,
                              interp_array *out) {
  int64_t is[INTERP_MAX_RANK], strides[INTERP_MAX_RANK] = {0}, os[INTERP_MAX_RANK];
  *out = (interp_array){.dtype = in->dtype};
  interp_strides(in, is);
  for (int k = 0; have[k]; k++) {
    const char *seen = memchr(letters, have[k], (size_t)out->rank);
    int d = seen ? (int)(seen - letters) : out->rank++;
    if (seen && out->dims[d] != in->dims[k])
      return interp_error(c, LEMNOS_INVALID_ARGUMENT, "the letter '%c' stands for sizes %lld and %lld", have[k],
                          (long long)out->dims[d], (long long)in->dims[k]);
    letters[d] = have[k];
    out->dims[d] = in->dims[k];
    strides[d] += is[k];
  }
  if (out->rank == in->rank) return *out = *in, LEMNOS_SUCCESS;
  size_t bytes = (size_t)interp_bytes(out);
  out->data = interp_scratch(c->cx, bytes + 64);
  if (!out->data) return interp_scratch_failed(c);
  if (!bytes) return LEMNOS_SUCCESS;
  interp_strides(out, os);
  interp_copy p;
  interp_copy_plan(&p, hlo_dtype_bytes(out->dtype), out->rank, out->dims, os, strides);
  interp_copy_run(&p, out->data, in->data);
  return LEMNOS_SUCCESS;
}

// `in` with the letters `kept` only: the others are summed, by a dot with ones whose result is of type `sum`.
static lemnos_status reduce_operand(interp_call *c, const interp_array *in, const char *have, const char *kept,
                                    hlo_dtype sum, interp_array *out) {
  char letters[LETTERS] = {0};
  interp_array x;
  LEMNOS_TRY(diagonal(c, in, have, letters, &x));
  int64_t contracted[LETTERS], order[LETTERS], total = 1;
  interp_array ones = {.dtype = in->dtype};
  *out = (interp_array){.dtype = in->dtype};
  for (int k = 0; k < x.rank; k++) {
    if (strchr(kept, letters[k])) {
      out->dims[out->rank++] = x.dims[k];
      continue;
    }
    order[ones.rank] = ones.rank;
    contracted[ones.rank] = k;
    total *= ones.dims[ones.rank++] = x.dims[k];
  }
  if (!ones.rank) return *out = x, LEMNOS_SUCCESS;
  out->dtype = sum;
  int bytes = hlo_dtype_bytes(in->dtype);
  ones.data = interp_scratch(c->cx, (size_t)(total * bytes) + 64);
  out->data = interp_scratch(c->cx, (size_t)interp_bytes(out) + 64);
  if (!ones.data || !out->data) return interp_scratch_failed(c);
  char one[16] = {0};
  hlo_element_set_f64(in->dtype, one, 0, 0, 1);
  interp_fill(ones.data, one, bytes, total);
  hlo_dot_dnums d = {.lhs_contracting = {contracted, ones.rank}, .rhs_contracting = {order, ones.rank}};
  return dot(c, &x, &ones, out, &d);
}

// A transposition from the order of `letters` to the result's.
static void to_result(interp_call *c, const einsum *e, const interp_array *x, const char *letters) {
  interp_array *out = interp_result(c, 0);
  int64_t xs[INTERP_MAX_RANK], ps[INTERP_MAX_RANK], os[INTERP_MAX_RANK];
  if (!interp_count(out)) return;
  interp_strides(x, xs);
  interp_strides(out, os);
  for (int k = 0; k < x->rank; k++) ps[strchr(e->out, letters[k]) - e->out] = xs[k];
  interp_copy p;
  interp_copy_plan(&p, hlo_dtype_bytes(out->dtype), out->rank, out->dims, os, ps);
  interp_copy_run(&p, out->data, x->data);
}

static lemnos_status run_unary_einsum(interp_call *c) {
  const einsum *e = c->in->aux;
  interp_array x;
  LEMNOS_TRY(reduce_operand(c, interp_arg(c, 0), e->lhs, e->lhs_kept, interp_result(c, 0)->dtype, &x));
  to_result(c, e, &x, e->lhs_kept);
  return LEMNOS_SUCCESS;
}

static lemnos_status run_einsum(interp_call *c) {
  const einsum *e = c->in->aux;
  interp_array product = {.dtype = interp_result(c, 0)->dtype}, lhs, rhs;
  // Sums stay in what products are computed in, so that only the result is rounded.
  hlo_dtype sum = interp_math_dtype(interp_math_for(interp_arg(c, 0)->dtype, product.dtype, INT64_MAX));
  LEMNOS_TRY(reduce_operand(c, interp_arg(c, 0), e->lhs, e->lhs_kept, sum, &lhs));
  LEMNOS_TRY(reduce_operand(c, interp_arg(c, 1), e->rhs, e->rhs_kept, sum, &rhs));
  char letters[2 * LETTERS] = {0};
  int n = 0;
  for (int k = 0; k < lhs.rank; k++)
    if (strchr(e->rhs_kept, e->lhs_kept[k]) && strchr(e->out, e->lhs_kept[k]))
      letters[n] = e->lhs_kept[k], product.dims[n++] = lhs.dims[k];
  for (int k = 0; k < lhs.rank; k++)
    if (!strchr(e->rhs_kept, e->lhs_kept[k])) letters[n] = e->lhs_kept[k], product.dims[n++] = lhs.dims[k];
  for (int k = 0; k < rhs.rank; k++)
    if (!strchr(e->lhs_kept, e->rhs_kept[k])) letters[n] = e->rhs_kept[k], product.dims[n++] = rhs.dims[k];
  product.rank = n;
  product.data = interp_scratch(c->cx, (size_t)interp_bytes(&product) + 64);
  if (!product.data) return interp_scratch_failed(c);
  LEMNOS_TRY(dot(c, &lhs, &rhs, &product, &e->dnums));
  to_result(c, e, &product, letters);
  return LEMNOS_SUCCESS;
}

static lemnos_status compile_einsum(interp_compiler *c, interp_insn *in) {
  einsum *e = ARENA_NEW(c->a, einsum);
  in->aux = e;
  bool two = in->n_args == 2;
  bool ok = einsum_parse(HLO_ATTRS(in->src, einsum)->config, e) && (int)strlen(e->lhs) == in->arg_types[0].rank &&
            (int)strlen(e->out) == in->result_types[0].rank && (int)strlen(e->rhs) == (two ? in->arg_types[1].rank : 0);
  for (int k = 0; ok && e->out[k]; k++) ok = strchr(e->lhs, e->out[k]) || strchr(e->rhs, e->out[k]);
  if (!ok) return interp_refuse(in->src, "this einsum equation");
  kept_letters(e->lhs, e->rhs, e->out, e->lhs_kept);
  kept_letters(e->rhs, e->lhs, e->out, e->rhs_kept);
  if (!two) return in->fn = run_unary_einsum, LEMNOS_SUCCESS;
  int64_t lb[LETTERS], rb[LETTERS], lc[LETTERS], rc[LETTERS];
  int nb = 0, nc = 0;
  for (int k = 0; e->lhs_kept[k]; k++) {
    const char *r = strchr(e->rhs_kept, e->lhs_kept[k]);
    if (!r) continue;
    if (strchr(e->out, e->lhs_kept[k]))
      lb[nb] = k, rb[nb++] = r - e->rhs_kept;
    else
      lc[nc] = k, rc[nc++] = r - e->rhs_kept;
  }
  e->dnums = (hlo_dot_dnums){.lhs_batch = hlo_i64s_copy(c->a, lb, nb),
                             .rhs_batch = hlo_i64s_copy(c->a, rb, nb),
                             .lhs_contracting = hlo_i64s_copy(c->a, lc, nc),
                             .rhs_contracting = hlo_i64s_copy(c->a, rc, nc)};
  in->fn = run_einsum;
  return LEMNOS_SUCCESS;
}

// --- ragged dot ----------------------------------------------------------------------------------

// lhs [m,..,k], rhs [g,k,n], group sizes [g]: rows of lhs are split into consecutive groups, each multiplied with its
// own rhs. Other forms: ragged.c.
static lemnos_status run_ragged_dot(interp_call *c) {
  const hlo_attrs_ragged_dot *a = HLO_ATTRS(c->in->src, ragged_dot);
  const interp_array *lhs = interp_arg(c, 0), *rhs = interp_arg(c, 1), *sizes = interp_arg(c, 2);
  interp_array *out = interp_result(c, 0);
  int64_t group_dim = a->rhs_group_dimensions.data[0], start = 0;
  int64_t rc[INTERP_MAX_RANK], box_start[INTERP_MAX_RANK] = {0}, box[INTERP_MAX_RANK];
  memset(out->data, 0, (size_t)interp_bytes(out));
  int64_t row = out->dims[0] ? interp_bytes(out) / out->dims[0] : 0,
          lhs_row = lhs->dims[0] ? interp_bytes(lhs) / lhs->dims[0] : 0;
  for (int k = 0; k < a->dnums.rhs_contracting.n; k++) {
    int64_t d = a->dnums.rhs_contracting.data[k];
    rc[k] = d > group_dim ? d - 1 : d;
  }
  interp_array part = {.dtype = rhs->dtype};
  for (int d = 0; d < rhs->rank; d++) {
    box[d] = d == group_dim ? 1 : rhs->dims[d];
    if (d != group_dim) part.dims[part.rank++] = rhs->dims[d];
  }
  part.data = interp_scratch(c->cx, (size_t)interp_bytes(&part) + 64);
  if (!part.data) return interp_scratch_failed(c);
  for (int64_t g = 0; g < rhs->dims[group_dim]; g++) {
    int64_t n = interp_index_get(sizes, g);
    if (n > lhs->dims[0] - start) n = lhs->dims[0] - start;
    if (n <= 0) continue;
    box_start[group_dim] = g;
    interp_copy_box(c->cx, rhs, box_start, box, part.data);
    interp_array l = *lhs, o = *out;
    l.data = (char *)lhs->data + start * lhs_row;
    o.data = (char *)out->data + start * row;
    l.dims[0] = o.dims[0] = n;
    hlo_dot_dnums d = {.lhs_contracting = a->dnums.lhs_contracting,
                       .rhs_contracting = {rc, a->dnums.rhs_contracting.n}};
    LEMNOS_TRY(dot(c, &l, &part, &o, &d));
    start += n;
  }
  return LEMNOS_SUCCESS;
}

lemnos_status interp_compile_dot(interp_compiler *c, interp_insn *in) {
  switch (in->src->op) {
    case HLO_OP_DOT_GENERAL: in->fn = run_dot_general; return LEMNOS_SUCCESS;
    case HLO_OP_EINSUM:
    case HLO_OP_UNARY_EINSUM: return compile_einsum(c, in);
    case HLO_OP_RAGGED_DOT: {
      const hlo_attrs_ragged_dot *a = HLO_ATTRS(in->src, ragged_dot);
      bool simple = !a->dnums.lhs_batch.n && a->lhs_ragged_dimensions.data[0] == 0 && a->rhs_group_dimensions.n == 1 &&
                    !hlo_i64s_contains(a->dnums.lhs_contracting, 0);
      in->fn = simple && !(in->flags & INTERP_DYNAMIC) ? run_ragged_dot : interp_run_ragged_dot;
      return LEMNOS_SUCCESS;
    }
    default: return interp_refuse(in->src, "operation is not supported");
  }
}
