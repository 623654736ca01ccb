// SPDX-License-Identifier: Apache-2.0
// cholesky, triangular_solve, and the custom calls Qr, ProductOfElementaryHouseholderReflectors and Eigh. All are
// computed on complex f64 matrices, whatever the element type, and rounded once.
#include <float.h>
#include <math.h>

#include "interp/linalg_internal.h"

// Lower factor of the Hermitian a (lower triangle read), in place; the rest becomes zero.
static void cholesky(int64_t n, cplx *a) {
  for (int64_t j = 0; j < n; j++) {
    double d = a[j * n + j].re;
    for (int64_t k = 0; k < j; k++) d -= c_norm2(a[j * n + k]);
    d = sqrt(d);
    a[j * n + j] = (cplx){d, 0};
    for (int64_t i = j + 1; i < n; i++) {
      cplx s = a[i * n + j];
      for (int64_t k = 0; k < j; k++) s = c_sub(s, c_mul(a[i * n + k], c_conj(a[j * n + k])));
      a[i * n + j] = (cplx){s.re / d, s.im / d};
    }
    for (int64_t i = 0; i < j; i++) a[i * n + j] = (cplx){0, 0};
  }
}

static void conj_transpose(int64_t n, cplx *a) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++) {
      cplx x = a[i * n + j], y = a[j * n + i];
      a[i * n + j] = c_conj(y);
      a[j * n + i] = c_conj(x);
    }
}

lemnos_status interp_cholesky(interp_call *c, bool lower) {
  const interp_array *in = interp_arg(c, 0);
  int64_t n = in->dims[in->rank - 1], size = n * n, batches = size ? interp_count(in) / size : 0;
  cplx *x = load(c, in);
  if (!x) return interp_scratch_failed(c);
  for (int64_t b = 0; b < batches; b++) {
    LEMNOS_TRY(interp_poll(c->cx));
    cplx *a = x + b * size;
    if (!lower) conj_transpose(n, a);
    cholesky(n, a);
    if (!lower) conj_transpose(n, a);
    store(interp_result(c, 0), b * size, size, a);
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status run_cholesky(interp_call *c) {
  return interp_cholesky(c, HLO_ATTRS(c->in->src, cholesky)->lower);
}

// Triangular solve, one matrix after another: the coefficients are read row by row where they are, only the right side
// is brought to complex f64.
typedef struct triangle {
  const interp_array *a;
  int64_t n;
  bool lower, unit, flip, adjoint;  // of e, which is a as said by flip (transposed) and adjoint (conjugated)
  cplx *row, *raw;                  // n each
} triangle;

// Row i of e, from matrix number q of a.
static const cplx *triangle_row(const triangle *t, int64_t q, int64_t i) {
  int64_t at = q * t->n * t->n + (t->flip ? i : i * t->n);
  load_line(t->a, at, t->flip ? t->n : 1, t->n, t->row, t->raw);
  for (int64_t k = 0; k < t->n && t->adjoint; k++) t->row[k] = c_conj(t->row[k]);
  return t->row;
}

// Solves e x = b in place for x [n][m].
static void substitute(const triangle *t, int64_t q, int64_t m, cplx *x) {
  int64_t n = t->n;
  for (int64_t s = 0; s < n; s++) {
    int64_t i = t->lower ? s : n - 1 - s;
    const cplx *e = triangle_row(t, q, i);
    for (int64_t k = t->lower ? 0 : i + 1; k < (t->lower ? i : n); k++) {
      cplx f = e[k];
      for (int64_t j = 0; j < m; j++) x[i * m + j] = c_sub(x[i * m + j], c_mul(f, x[k * m + j]));
    }
    if (t->unit) continue;
    for (int64_t j = 0; j < m; j++) x[i * m + j] = c_div(x[i * m + j], e[i]);
  }
}

lemnos_status interp_triangular_solve(interp_call *c, const hlo_attrs_triangular_solve *at) {
  const interp_array *a = interp_arg(c, 0), *b = interp_arg(c, 1);
  int64_t n = a->dims[a->rank - 1], rows = b->dims[b->rank - 2], cols = b->dims[b->rank - 1];
  int64_t m = at->left_side ? cols : rows, batches = n ? interp_count(a) / (n * n) : 0;
  if (interp_count(b) == 0) return LEMNOS_SUCCESS;
  cplx *x = interp_scratch(c->cx, (size_t)(n * m + 3 * n) * sizeof *x);
  if (!x) return interp_scratch_failed(c);
  bool transposed = at->transpose_a == HLO_TRANSPOSE_TRANSPOSE || at->transpose_a == HLO_TRANSPOSE_ADJOINT;
  bool flip = transposed != !at->left_side;
  triangle t = {.a = a,
                .n = n,
                .lower = at->lower != flip,
                .unit = at->unit_diagonal,
                .flip = flip,
                .adjoint = at->transpose_a == HLO_TRANSPOSE_ADJOINT,
                .row = x + n * m,
                .raw = x + n * m + n};
  cplx *line = t.raw + n;  // a row of b, of a system solved from the right: x holds its transpose
  for (int64_t q = 0; q < batches; q++) {
    LEMNOS_TRY(interp_poll(c->cx));
    int64_t first = q * n * m;
    if (at->left_side) {
      load_line(b, first, 1, n * m, x, NULL);
      substitute(&t, q, m, x);
      store(interp_result(c, 0), first, n * m, x);
      continue;
    }
    for (int64_t i = 0; i < m; i++) {
      load_line(b, first + i * n, 1, n, line, NULL);
      interp_copy_line(n, sizeof *x, x + i, m, line, 1);
    }
    substitute(&t, q, m, x);
    for (int64_t i = 0; i < m; i++) {
      interp_copy_line(n, sizeof *x, line, 1, x + i, m);
      store(interp_result(c, 0), first + i * n, n, line);
    }
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status run_triangular_solve(interp_call *c) {
  return interp_triangular_solve(c, HLO_ATTRS(c->in->src, triangular_solve));
}

// --- custom calls --------------------------------------------------------------------------------

// a[i..m, j] -= f * v * (v^H a)[j]; v[k] = 1 for k == at, packed column `at` of q below.
static void reflect(int64_t m, int64_t n, cplx *a, const cplx *v, int64_t at, int64_t first, cplx tau) {
  for (int64_t j = first; j < n; j++) {
    cplx s = a[at * n + j];
    for (int64_t i = at + 1; i < m; i++) s = c_add(s, c_mul(c_conj(v[i]), a[i * n + j]));
    s = c_mul(s, tau);
    a[at * n + j] = c_sub(a[at * n + j], s);
    for (int64_t i = at + 1; i < m; i++) a[i * n + j] = c_sub(a[i * n + j], c_mul(v[i], s));
  }
}

// As LAPACK's geqrf: R above, reflectors below the diagonal, H = I - tau v v^H.
lemnos_status interp_run_qr(interp_call *c) {
  const interp_array *in = interp_arg(c, 0);
  int64_t m = in->dims[in->rank - 2], n = in->dims[in->rank - 1], k = m < n ? m : n,
          batches = m > 0 && n > 0 ? interp_count(in) / (m * n) : 0;
  cplx *x = load(c, in), *tau = interp_scratch(c->cx, (size_t)(k + 1) * sizeof *tau),
       *v = interp_scratch(c->cx, (size_t)(m + 1) * sizeof *v);
  if (!x || !tau || !v) return interp_scratch_failed(c);
  for (int64_t b = 0; b < batches; b++) {
    cplx *a = x + b * m * n;
    for (int64_t j = 0; j < k; j++) {
      double norm = 0;
      for (int64_t i = j + 1; i < m; i++) norm += c_norm2(a[i * n + j]);
      cplx alpha = a[j * n + j];
      tau[j] = (cplx){0, 0};
      if (norm == 0 && alpha.im == 0) continue;
      double beta = -copysign(sqrt(c_norm2(alpha) + norm), alpha.re);
      tau[j] = (cplx){(beta - alpha.re) / beta, -alpha.im / beta};
      cplx d = {alpha.re - beta, alpha.im};
      for (int64_t i = j + 1; i < m; i++) v[i] = a[i * n + j] = c_div(a[i * n + j], d);
      a[j * n + j] = (cplx){beta, 0};
      reflect(m, n, a, v, j, j + 1, c_conj(tau[j]));
    }
    store(interp_result(c, 0), b * m * n, m * n, a);
    store(interp_result(c, 1), b * k, k, tau);
  }
  return LEMNOS_SUCCESS;
}

// Q = H_0 H_1 ... of a packed factorisation, the first n columns.
lemnos_status interp_run_householder(interp_call *c) {
  const interp_array *in = interp_arg(c, 0), *taus = interp_arg(c, 1);
  int64_t m = in->dims[in->rank - 2], n = in->dims[in->rank - 1], k = taus->dims[taus->rank - 1];
  int64_t batches = m > 0 && n > 0 ? interp_count(in) / (m * n) : 0;
  cplx *x = load(c, in), *t = load(c, taus), *q = interp_scratch(c->cx, (size_t)(m * n + 1) * sizeof *q),
       *v = interp_scratch(c->cx, (size_t)(m + 1) * sizeof *v);
  if (!x || !t || !q || !v) return interp_scratch_failed(c);
  for (int64_t b = 0; b < batches; b++) {
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) q[i * n + j] = (cplx){i == j, 0};
    for (int64_t j = k - 1; j >= 0; j--) {
      for (int64_t i = j + 1; i < m; i++) v[i] = x[b * m * n + i * n + j];
      reflect(m, n, q, v, j, 0, t[b * k + j]);
    }
    store(interp_result(c, 0), b * m * n, m * n, q);
  }
  return LEMNOS_SUCCESS;
}

// Two-sided Jacobi on a Hermitian matrix (Brent and Luk, "The solution of singular-value and symmetric eigenvalue
// problems on multiprocessor arrays", 1985); eigenvectors in the columns of v. The order of the pairs and the signs of
// the rotations are those of XLA's expansion of the call, so that eigenvectors have the signs it gives them.

// Rotates rows and columns p and q of a so that a[p][q] becomes zero; v follows. False if it is as good as zero.
static bool jacobi_rotate(int64_t n, cplx *a, cplx *v, int64_t p, int64_t q, bool complex) {
  cplx g = a[p * n + q], phase = {1, 0};
  double x = a[p * n + p].re, y = a[q * n + q].re, r = g.re;
  if (complex) {
    r = hypot(g.re, g.im);
    if (r != 0) phase = c_scale(c_conj(g), 1 / r);
  }
  if (fabs(r) <= 0.1 * DBL_EPSILON * fmin(fabs(x), fabs(y))) return false;
  double tau = (y - x) / (2 * r), root = sqrt(1 + tau * tau), t = 1 / (tau + (tau >= 0 ? root : -root));
  double cs = 1 / sqrt(1 + t * t);
  cplx sn = c_scale(phase, t * cs), conj = c_conj(sn);
  for (int64_t k = 0; k < n; k++) {  // rows of a
    cplx top = a[p * n + k], bottom = a[q * n + k];
    a[p * n + k] = c_sub(c_scale(top, cs), c_mul(bottom, conj));
    a[q * n + k] = c_add(c_mul(top, sn), c_scale(bottom, cs));
  }
  for (int64_t k = 0; k < n; k++) {  // columns of a and v
    cplx left = a[k * n + p], right = a[k * n + q];
    a[k * n + p] = c_sub(c_scale(left, cs), c_mul(right, sn));
    a[k * n + q] = c_add(c_mul(left, conj), c_scale(right, cs));
    left = v[k * n + p], right = v[k * n + q];
    v[k * n + p] = c_sub(c_scale(left, cs), c_mul(right, sn));
    v[k * n + q] = c_add(c_mul(left, conj), c_scale(right, cs));
  }
  a[p * n + p] = (cplx){x - t * r, 0};
  a[q * n + q] = (cplx){y + t * r, 0};
  a[p * n + q] = a[q * n + p] = (cplx){0, 0};
  return true;
}

// seats: room for n + 1 indices. Pairs sit opposite each other in two rows of k seats; after each round all but the
// first move one seat on, so that n - 1 rounds (n even; an odd one has a dummy that is skipped) bring all pairs
// together once.
static void jacobi(int64_t n, cplx *a, cplx *v, int64_t *seats, bool complex) {
  int64_t k = (n + 1) / 2, *top = seats, *bottom = seats + k;
  for (int64_t i = 0; i < 2 * k; i++) seats[i] = i;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) v[i * n + j] = (cplx){i == j, 0};
  bool changed = true;
  for (int sweep = 0; changed && sweep < 60; sweep++) {
    changed = false;
    for (int64_t round = 0; round < 2 * k - 1; round++) {
      for (int64_t i = 0; i < k; i++)
        if (bottom[i] < n && top[i] < n && jacobi_rotate(n, a, v, top[i], bottom[i], complex)) changed = true;
      if (k == 1) continue;
      int64_t last = top[k - 1], first = bottom[0];
      memmove(top + 2, top + 1, (size_t)(k - 2) * sizeof *top);
      memmove(bottom, bottom + 1, (size_t)(k - 1) * sizeof *bottom);
      top[1] = first;
      bottom[k - 1] = last;
    }
  }
}

// Number `index` (0 lower, 1 sort) of Eigh's configuration "lower,sort,max_iterations,tolerance"; true if there is
// none.
static bool eigh_flag(const hlo_instr *i, int index) {
  const hlo_dict *d = &HLO_ATTRS(i, custom_call)->attributes;
  for (int k = 0; k < d->n; k++) {
    strv config = d->entries[k].value;
    if (!strv_eq(d->entries[k].name, STRV("backend_config"))) continue;
    for (size_t at = 0; at < config.len; at++) {
      if (index == 0 && config.data[at] >= '0' && config.data[at] <= '9') return config.data[at] != '0';
      index -= config.data[at] == ',';
    }
  }
  return true;
}

// Eigh(a) -> (vectors, values); the lower triangle is read, and values ascend, unless the configuration says otherwise.
lemnos_status interp_run_eigh(interp_call *c) {
  const interp_array *in = interp_arg(c, 0);
  int64_t n = in->dims[in->rank - 1], size = n * n, batches = size ? interp_count(in) / size : 0;
  bool lower = eigh_flag(c->in->src, 0), sort = eigh_flag(c->in->src, 1);
  cplx *x = load(c, in), *v = interp_scratch(c->cx, (size_t)(2 * size + n + 1) * sizeof *v);
  int64_t *order = interp_scratch(c->cx, (size_t)(n + 1) * 8);
  if (!x || !v || !order) return interp_scratch_failed(c);
  cplx *sorted = v + size, *values = sorted + size;
  for (int64_t b = 0; b < batches; b++) {
    LEMNOS_TRY(interp_poll(c->cx));
    cplx *a = x + b * size;
    for (int64_t i = 0; i < n; i++) {
      a[i * n + i].im = 0;
      for (int64_t j = 0; j < i; j++)
        if (lower)
          a[j * n + i] = c_conj(a[i * n + j]);
        else
          a[i * n + j] = c_conj(a[j * n + i]);
    }
    jacobi(n, a, v, order, hlo_dtype_is_complex(in->dtype));
    for (int64_t i = 0; i < n; i++) {
      int64_t at = i;
      for (; sort && at > 0 && a[order[at - 1] * n + order[at - 1]].re > a[i * n + i].re; at--)
        order[at] = order[at - 1];
      order[at] = i;
    }
    for (int64_t j = 0; j < n; j++) {
      values[j] = (cplx){a[order[j] * n + order[j]].re, 0};
      for (int64_t i = 0; i < n; i++) sorted[i * n + j] = v[i * n + order[j]];
    }
    store(interp_result(c, 0), b * size, size, sorted);
    store(interp_result(c, 1), b * n, n, values);
  }
  return LEMNOS_SUCCESS;
}

lemnos_status interp_compile_qr(interp_compiler *c, interp_insn *in) {
  bool householder = in->n_args == 2, eigh = strv_eq(HLO_ATTRS(in->src, custom_call)->target, STRV("Eigh"));
  const interp_type *a = &in->arg_types[0], *r = in->result_types;
  bool ok = (in->n_args == 1 || householder) && in->n_results == (householder ? 1 : 2) && a->rank >= 2 &&
            !(in->flags & INTERP_DYNAMIC);
  ok = ok && a->is_static && interp_same_type(a, &r[0]);
  if (ok) {
    int64_t m = a->dims[a->rank - 2], n = a->dims[a->rank - 1], k = m < n ? m : n, batches = k > 0 ? a->n / (m * n) : 0;
    const interp_type *v = householder ? &in->arg_types[1] : &r[1];
    ok = v->is_static && v->rank == a->rank - 1 && v->n == batches * v->dims[v->rank - 1] && v->dims[v->rank - 1] <= k;
    ok = ok && (householder ? m >= n : v->dims[v->rank - 1] == k) && (!eigh || m == n);
  }
  return ok ? LEMNOS_SUCCESS : interp_refuse(in->src, "operands and results of other types than this custom call has");
}

lemnos_status interp_compile_linalg(interp_compiler *c, interp_insn *in) {
  if (in->arg_types[0].rank < 2) return interp_refuse(in->src, "operand of rank below 2");
  switch (in->src->op) {
    case HLO_OP_CHOLESKY: in->fn = run_cholesky; return LEMNOS_SUCCESS;
    case HLO_OP_TRIANGULAR_SOLVE: in->fn = run_triangular_solve; return LEMNOS_SUCCESS;
    default: return interp_refuse(in->src, "operation is not supported");
  }
}
