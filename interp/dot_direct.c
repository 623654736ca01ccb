// SPDX-License-Identifier: Apache-2.0
// Products of f32 and f64 that are not worth packing: few rows on the left, or few terms. Every output element is one
// sum in ascending order of k, as in dot.c, in the same arithmetic: f64, or f32 after every step for INTERP_MATH_F32.
//
// A tile is a number of neighbouring columns of the result, at all rows of a block. The right operand is read where it
// lies if the tile's columns lie side by side there, else brought to that order on the stack, some terms at a time.
#include "interp/dot_internal.h"

#define ROWS DOT_ROWS  // of the result that a kernel computes at once
#define COLS DOT_COLS  // of a tile
#define WIDE 64        // of a tile of one row
#define MAX_ROWS 8     // of a block
#define MAX_TERMS 64   // brought to order at once

typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x16 __attribute__((vector_size(64)));

typedef struct direct_job {
  const dot_side *lhs, *rhs;
  int64_t m, n, k, m_stride, n_stride, tile, tiles;
  char *out;
} direct_job;

// One step of a sum for COLS neighbouring columns: `b` as two vectors of f64.
#define LOAD_F64(p)                  \
  do {                               \
    memcpy(&b0, (p), sizeof b0);     \
    memcpy(&b1, (p) + 8, sizeof b1); \
  } while (0)
#define LOAD_F32(p)                                 \
  do {                                              \
    f32x8 x0, x1;                                   \
    memcpy(&x0, (p), sizeof x0);                    \
    memcpy(&x1, (p) + 8, sizeof x1);                \
    b0 = __builtin_convertvector(x0, interp_f64x8); \
    b1 = __builtin_convertvector(x1, interp_f64x8); \
  } while (0)

// c[ROWS][COLS] += sum over p of a[row][p * ak] * b[p * ldb + column]
#define KERNEL_ROWS(name, type, load)                                                                                  \
  LEMNOS_CLONES static void name(int64_t k, const type *const *a, int64_t ak, const type *b, int64_t ldb, double *c) { \
    const type *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3];                                                         \
    interp_f64x8 s[2 * ROWS], b0, b1;                                                                                  \
    memcpy(s, c, sizeof s);                                                                                            \
    for (int64_t p = 0; p < k; p++, b += ldb, a0 += ak, a1 += ak, a2 += ak, a3 += ak) {                                \
      load(b);                                                                                                         \
      s[0] += (double)*a0 * b0, s[1] += (double)*a0 * b1;                                                              \
      s[2] += (double)*a1 * b0, s[3] += (double)*a1 * b1;                                                              \
      s[4] += (double)*a2 * b0, s[5] += (double)*a2 * b1;                                                              \
      s[6] += (double)*a3 * b0, s[7] += (double)*a3 * b1;                                                              \
    }                                                                                                                  \
    memcpy(c, s, sizeof s);                                                                                            \
  }
KERNEL_ROWS(rows_f64, double, LOAD_F64)
KERNEL_ROWS(rows_f32, float, LOAD_F32)

void dot_rows_f32(int64_t k, const float *const *a, int64_t ak, const float *b, int64_t ldb, double *c) {
  rows_f32(k, a, ak, b, ldb, c);
}

// The same for one row.
#define KERNEL_ROW(name, type, load)                                                                            \
  LEMNOS_CLONES static void name(int64_t k, const type *a, int64_t ak, const type *b, int64_t ldb, double *c) { \
    interp_f64x8 s[2], b0, b1;                                                                                  \
    memcpy(s, c, sizeof s);                                                                                     \
    for (int64_t p = 0; p < k; p++, b += ldb, a += ak) {                                                        \
      load(b);                                                                                                  \
      s[0] += (double)*a * b0, s[1] += (double)*a * b1;                                                         \
    }                                                                                                           \
    memcpy(c, s, sizeof s);                                                                                     \
  }
KERNEL_ROW(row_f64, double, LOAD_F64)
KERNEL_ROW(row_f32, float, LOAD_F32)

#define KERNEL_WIDE(name, type, load)                                                                           \
  LEMNOS_CLONES static void name(int64_t k, const type *a, int64_t ak, const type *b, int64_t ldb, double *c) { \
    interp_f64x8 s[WIDE / 8], b0, b1;                                                                           \
    memcpy(s, c, sizeof s);                                                                                     \
    for (int64_t p = 0; p < k; p++, b += ldb, a += ak) {                                                        \
      double x = (double)*a;                                                                                    \
      load(b);                                                                                                  \
      s[0] += x * b0, s[1] += x * b1;                                                                           \
      load(b + COLS);                                                                                           \
      s[2] += x * b0, s[3] += x * b1;                                                                           \
      load(b + 2 * COLS);                                                                                       \
      s[4] += x * b0, s[5] += x * b1;                                                                           \
      load(b + 3 * COLS);                                                                                       \
      s[6] += x * b0, s[7] += x * b1;                                                                           \
    }                                                                                                           \
    memcpy(c, s, sizeof s);                                                                                     \
  }
KERNEL_WIDE(wide_f64, double, LOAD_F64)
KERNEL_WIDE(wide_f32, float, LOAD_F32)

// In f32: a product of f32 and a sum of f32, each rounded, is what dot.c's tile_f32 computes by way of f64.
LEMNOS_CLONES static void rows_short(int64_t k, const float *const *a, int64_t ak, const float *b, int64_t ldb,
                                     float *c) {
  const float *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3];
  f32x16 s[ROWS] = {0}, x;
  for (int64_t p = 0; p < k; p++, b += ldb, a0 += ak, a1 += ak, a2 += ak, a3 += ak) {
    memcpy(&x, b, sizeof x);
    s[0] += *a0 * x;
    s[1] += *a1 * x;
    s[2] += *a2 * x;
    s[3] += *a3 * x;
  }
  memcpy(c, s, sizeof s);
}

LEMNOS_CLONES static void to_f32(int64_t n, const double *restrict x, float *restrict y) {
  for (int64_t i = 0; i < n; i++) y[i] = (float)x[i];
}

// Tile functions, for an element type and a math each: columns [n0, n0 + COLS or what is left) of a batch.
#define ROW_POINTERS(type)                                                                    \
  const type *a[ROWS];                                                                        \
  for (int i = 0; i < ROWS; i++) {                                                            \
    int64_t row = m0 + i < j->m ? m0 + i : j->m - 1;                                          \
    a[i] = (const type *)j->lhs->data + lhs_base + row * j->m_stride + p0 * j->lhs->k_stride; \
  }

// Terms [p0, p0 + terms) of the tile's columns as [terms][COLS], in place or in `packed`.
#define COLUMNS(type)                                                                                       \
  const type *b = (const type *)j->rhs->data + rhs_base + n0 * j->n_stride + p0 * j->rhs->k_stride;         \
  int64_t ldb = j->rhs->k_stride;                                                                           \
  if (!in_place) {                                                                                          \
    if (nn < COLS) memset(packed, 0, sizeof packed);                                                        \
    for (int64_t q = 0; q < nn; q++)                                                                        \
      for (int64_t p = 0; p < terms; p++) packed[p * COLS + q] = b[q * j->n_stride + p * j->rhs->k_stride]; \
    b = packed;                                                                                             \
    ldb = COLS;                                                                                             \
  }

#define TILE_F64(name, type, rows, row, store)                                                                   \
  static void name(const direct_job *j, int64_t lhs_base, int64_t rhs_base, char *out, int64_t n0, int64_t nn) { \
    _Alignas(64) type packed[MAX_TERMS * COLS];                                                                  \
    _Alignas(64) double c[MAX_ROWS * COLS];                                                                      \
    bool in_place = j->n_stride == 1 && nn == COLS;                                                              \
    for (int64_t first = 0; first < j->m; first += MAX_ROWS) {                                                   \
      int64_t end = first + MAX_ROWS < j->m ? first + MAX_ROWS : j->m;                                           \
      memset(c, 0, sizeof *c *(size_t)(COLS * ((end - first + ROWS - 1) / ROWS * ROWS)));                        \
      for (int64_t p0 = 0; p0 < j->k;) {                                                                         \
        int64_t terms = in_place || j->k - p0 < MAX_TERMS ? j->k - p0 : MAX_TERMS;                               \
        COLUMNS(type)                                                                                            \
        for (int64_t m0 = first; m0 < end; m0 += ROWS) {                                                         \
          ROW_POINTERS(type)                                                                                     \
          if (j->m == 1)                                                                                         \
            row(terms, a[0], j->lhs->k_stride, b, ldb, c);                                                       \
          else                                                                                                   \
            rows(terms, a, j->lhs->k_stride, b, ldb, c + (m0 - first) * COLS);                                   \
        }                                                                                                        \
        p0 += terms;                                                                                             \
      }                                                                                                          \
      for (int64_t i = first; i < end; i++) store(nn, c + (i - first) * COLS, (type *)out + i * j->n + n0);      \
    }                                                                                                            \
  }
#define STORE_F64(n, from, to) memcpy(to, from, sizeof(double) * (size_t)(n))
TILE_F64(tile_of_f64, double, rows_f64, row_f64, STORE_F64)
TILE_F64(tile_of_f32, float, rows_f32, row_f32, to_f32)

static void tile_short(const direct_job *j, int64_t lhs_base, int64_t rhs_base, char *out, int64_t n0, int64_t nn) {
  _Alignas(64) float packed[INTERP_SHORT * COLS], c[ROWS * COLS];
  bool in_place = j->n_stride == 1 && nn == COLS;
  int64_t p0 = 0, terms = j->k;
  COLUMNS(float)
  for (int64_t m0 = 0; m0 < j->m; m0 += ROWS) {
    ROW_POINTERS(float)
    rows_short(terms, a, j->lhs->k_stride, b, ldb, c);
    for (int64_t i = m0; i < m0 + ROWS && i < j->m; i++)
      memcpy((float *)out + i * j->n + n0, c + (i - m0) * COLS, sizeof *c * (size_t)nn);
  }
}

static void wide_tile(const direct_job *j, int64_t lhs_base, int64_t rhs_base, char *out, int64_t n0) {
  _Alignas(64) double c[WIDE] = {0};
  int64_t ak = j->lhs->k_stride, ldb = j->rhs->k_stride;
  if (j->rhs->bytes == 8) {
    wide_f64(j->k, (const double *)j->lhs->data + lhs_base, ak, (const double *)j->rhs->data + rhs_base + n0, ldb, c);
    memcpy((double *)out + n0, c, sizeof c);
  } else {
    wide_f32(j->k, (const float *)j->lhs->data + lhs_base, ak, (const float *)j->rhs->data + rhs_base + n0, ldb, c);
    to_f32(WIDE, c, (float *)out + n0);
  }
}

typedef void (*tile_fn)(const direct_job *j, int64_t lhs_base, int64_t rhs_base, char *out, int64_t n0, int64_t nn);

typedef struct direct_run {
  direct_job j;
  tile_fn tile;
} direct_run;

static void run_tiles(void *ctx, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const direct_run *r = ctx;
  const direct_job *j = &r->j;
  for (int64_t t = begin; t < end; t++) {
    int64_t b = t / j->tiles, n0 = t % j->tiles * j->tile, n1 = n0 + j->tile < j->n ? n0 + j->tile : j->n;
    int64_t lhs_base = dims_offset(&j->lhs->batch, b), rhs_base = dims_offset(&j->rhs->batch, b);
    char *out = j->out + b * j->m * j->n * j->rhs->bytes;
    if (j->tile == WIDE && n1 - n0 == WIDE) {
      wide_tile(j, lhs_base, rhs_base, out, n0);
      continue;
    }
    for (; n0 < n1; n0 += COLS) r->tile(j, lhs_base, rhs_base, out, n0, n1 - n0 < COLS ? n1 - n0 : COLS);
  }
}

bool dot_direct(interp_ctx *cx, const dot_side *lhs, const dot_side *rhs, interp_math math, const interp_array *out) {
  direct_run r = {.j = {.lhs = lhs,
                        .rhs = rhs,
                        .m = lhs->rows.total,
                        .n = rhs->rows.total,
                        .k = lhs->k.total,
                        .tile = COLS,
                        .out = out->data}};
  direct_job *j = &r.j;
  bool is_f32 = out->dtype == HLO_F32 && lhs->cvt.from == HLO_F32 && rhs->cvt.from == HLO_F32;
  bool is_f64 = out->dtype == HLO_F64 && lhs->cvt.from == HLO_F64 && rhs->cvt.from == HLO_F64;
  if (math == INTERP_MATH_F32 && is_f32)
    r.tile = tile_short;
  else if (math == INTERP_MATH_F64 && is_f32 && j->m <= MAX_ROWS)
    r.tile = tile_of_f32;
  else if (math == INTERP_MATH_F64 && is_f64 && j->m <= MAX_ROWS)
    r.tile = tile_of_f64;
  else
    return false;
  if (!lhs->k_even || !rhs->k_even || !dims_even(&lhs->rows, &j->m_stride) || !dims_even(&rhs->rows, &j->n_stride))
    return false;
  if (j->m == 1 && j->n_stride == 1 && math == INTERP_MATH_F64) j->tile = WIDE;
  j->tiles = (j->n + j->tile - 1) / j->tile;
  int64_t rows = (j->m + ROWS - 1) / ROWS * ROWS;
  interp_parallel(cx, lhs->batch.total * j->tiles, 2 * INTERP_GRAIN / ((j->k + 1) * rows * j->tile) + 1, run_tiles, &r);
  return true;
}
