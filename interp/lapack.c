// SPDX-License-Identifier: Apache-2.0
// The custom calls lapack_?NAME_ffi that JAX exports for CPUs: potrf, trsm, getrf, geqrf, orgqr/ungqr, syevd/heevd,
// gesdd; and LuDecomposition, which it exports for TPUs. Like the rest of linalg: complex f64, rounded once. Signs and
// phases of vectors may differ from LAPACK's. gesdd uses one-sided Jacobi rotations (Hestenes); info is 0 unless getrf
// meets an exact zero pivot.
#include "interp/linalg_internal.h"

// Value of an integer entry of the call's mhlo.backend_config, e.g. "{uplo = 76 : ui8}"; fallback if absent.
static int config(const hlo_instr *i, const char *key, int fallback) {
  const hlo_dict *d = &HLO_ATTRS(i, custom_call)->attributes;
  for (int k = 0; k < d->n; k++) {
    if (!strv_ends_with(d->entries[k].name, STRV("backend_config"))) continue;  // mhlo.backend_config, or HLO text's
    strv v = d->entries[k].value;
    size_t n = strlen(key);
    for (size_t at = 0; at + n < v.len; at++) {
      if (memcmp(v.data + at, key, n) || (at > 0 && v.data[at - 1] != ' ' && v.data[at - 1] != '{')) continue;
      size_t p = at + n;
      int value = 0;
      while (p < v.len && (v.data[p] == ' ' || v.data[p] == '=')) p++;
      if (p >= v.len || v.data[p] < '0' || v.data[p] > '9') continue;
      for (; p < v.len && v.data[p] >= '0' && v.data[p] <= '9' && value < 100000; p++)
        value = value * 10 + v.data[p] - '0';
      return value;
    }
  }
  return fallback;
}

static void clear_info(interp_call *c, int k) {
  interp_array *info = interp_result(c, k);
  memset(info->data, 0, (size_t)interp_bytes(info));
}

static lemnos_status run_potrf(interp_call *c) {
  clear_info(c, 1);
  return interp_cholesky(c, config(c->in->src, "uplo", 'L') == 'L');
}

static lemnos_status run_trsm(interp_call *c) {
  const hlo_instr *i = c->in->src;
  int trans = config(i, "trans_x", 'N');
  hlo_attrs_triangular_solve at = {
      .left_side = config(i, "side", 'L') == 'L',
      .lower = config(i, "uplo", 'L') == 'L',
      .unit_diagonal = config(i, "diag", 'N') == 'U',
      .transpose_a = trans == 'N'   ? HLO_TRANSPOSE_NO_TRANSPOSE
                     : trans == 'T' ? HLO_TRANSPOSE_TRANSPOSE
                                    : HLO_TRANSPOSE_ADJOINT,
  };
  return interp_triangular_solve(c, &at);
}

static lemnos_status run_syevd(interp_call *c) {
  clear_info(c, 2);
  return interp_run_eigh(c);
}

static lemnos_status run_geqrf(interp_call *c) {
  return interp_run_qr(c);
}
static lemnos_status run_orgqr(interp_call *c) {
  return interp_run_householder(c);
}

// LU factors of a [m][n] in place, with row exchanges: row j was exchanged with row exchanged[j]. Returns 1 + the
// column of the first zero pivot, or 0.
static int64_t factor_lu(int64_t m, int64_t n, cplx *a, int64_t *exchanged) {
  int64_t zero = 0;
  for (int64_t j = 0; j < (m < n ? m : n); j++) {
    int64_t p = j;
    for (int64_t i = j + 1; i < m; i++)
      if (fabs(a[i * n + j].re) + fabs(a[i * n + j].im) > fabs(a[p * n + j].re) + fabs(a[p * n + j].im)) p = i;
    exchanged[j] = p;
    for (int64_t q = 0; p != j && q < n; q++) {
      cplx t = a[j * n + q];
      a[j * n + q] = a[p * n + q];
      a[p * n + q] = t;
    }
    if (c_norm2(a[j * n + j]) == 0) {
      if (!zero) zero = j + 1;
      continue;
    }
    for (int64_t i = j + 1; i < m; i++) {
      cplx f = a[i * n + j] = c_div(a[i * n + j], a[j * n + j]);
      for (int64_t q = j + 1; q < n; q++) a[i * n + q] = c_sub(a[i * n + q], c_mul(f, a[j * n + q]));
    }
  }
  return zero;
}

// Results: factors, rows exchanged, and info (getrf, which counts rows from 1) or the permutation of the rows
// (LuDecomposition, which counts from 0).
static lemnos_status run_lu(interp_call *c, bool lapack) {
  const interp_array *in = interp_arg(c, 0);
  interp_array *pivots = interp_result(c, 1), *third = interp_result(c, 2);
  int64_t m = in->dims[in->rank - 2], n = in->dims[in->rank - 1], k = m < n ? m : n;
  int64_t batches = m > 0 && n > 0 ? interp_count(in) / (m * n) : 0;
  cplx *x = load(c, in);
  int64_t *exchanged = interp_scratch(c->cx, (size_t)(k + m + 1) * sizeof *exchanged), *order = exchanged + k;
  if (!x || !exchanged) return interp_scratch_failed(c);
  clear_info(c, 2);
  for (int64_t b = 0; b < batches; b++) {
    cplx *a = x + b * m * n;
    LEMNOS_TRY(interp_poll(c->cx));
    int64_t zero = factor_lu(m, n, a, exchanged);
    for (int64_t i = 0; i < m; i++) order[i] = i;
    for (int64_t j = 0; j < k; j++) {
      int64_t p = exchanged[j], t = order[j];
      order[j] = order[p];
      order[p] = t;
      hlo_element_set_i64(pivots->dtype, pivots->data, b * k + j, p + lapack);
    }
    if (lapack && interp_count(third) > b) hlo_element_set_i64(third->dtype, third->data, b, zero);
    for (int64_t i = 0; !lapack && i < m; i++) hlo_element_set_i64(third->dtype, third->data, b * m + i, order[i]);
    store(interp_result(c, 0), b * m * n, m * n, a);
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status run_getrf(interp_call *c) {
  return run_lu(c, true);
}

lemnos_status interp_run_lu_decomposition(interp_call *c) {
  return run_lu(c, false);
}

lemnos_status interp_compile_lu_decomposition(interp_compiler *c, interp_insn *in) {
  const interp_type *a = &in->arg_types[0], *r = in->result_types;
  bool ok = in->n_args == 1 && in->n_results == 3 && a->rank >= 2 && a->is_static && !(in->flags & INTERP_DYNAMIC) &&
            interp_same_type(a, &r[0]) && r[1].is_static && r[2].is_static;
  if (ok) {
    int64_t m = a->dims[a->rank - 2], n = a->dims[a->rank - 1], k = m < n ? m : n, batches = k > 0 ? a->n / (m * n) : 0;
    ok = k > 0 && hlo_dtype_is_integer(r[1].dtype) && hlo_dtype_is_integer(r[2].dtype) && r[1].n == batches * k &&
         r[2].n == batches * m;
  }
  return ok ? LEMNOS_SUCCESS : interp_refuse(in->src, "this form of LuDecomposition");
}

// --- singular values -----------------------------------------------------------------------------

// Columns of a [m][n], m >= n, are rotated until they are orthogonal; v [n][n] collects the rotations.
static void orthogonalize(int64_t m, int64_t n, cplx *a, cplx *v) {
  for (int64_t i = 0; i < n * n; i++) v[i] = (cplx){i % (n + 1) == 0, 0};
  for (int sweep = 0; sweep < 60; sweep++) {
    bool changed = false;
    for (int64_t p = 0; p < n; p++)
      for (int64_t q = p + 1; q < n; q++) {
        double x = 0, y = 0;
        cplx g = {0, 0};
        for (int64_t i = 0; i < m; i++) {
          x += c_norm2(a[i * n + p]);
          y += c_norm2(a[i * n + q]);
          g = c_add(g, c_mul(c_conj(a[i * n + p]), a[i * n + q]));
        }
        double r = sqrt(c_norm2(g));
        if (r == 0 || r <= 1e-16 * sqrt(x) * sqrt(y)) continue;
        changed = true;
        cplx phase = c_conj(c_scale(g, 1 / r));
        double theta = (y - x) / (2 * r), t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
        double cs = 1 / sqrt(t * t + 1), sn = t * cs;
        for (int64_t i = 0; i < m + n; i++) {
          cplx *row = i < m ? a + i * n : v + (i - m) * n, s = row[p], w = c_mul(row[q], phase);
          row[p] = c_sub(c_scale(s, cs), c_scale(w, sn));
          row[q] = c_add(c_scale(s, sn), c_scale(w, cs));
        }
      }
    if (!changed) return;
  }
}

// Column `at` of u [m][cols]: a unit vector orthogonal to the columns before it.
static void complete_column(int64_t m, int64_t cols, cplx *u, int64_t at) {
  for (int64_t start = 0; start < m; start++) {
    for (int64_t i = 0; i < m; i++) u[i * cols + at] = (cplx){i == start, 0};
    double norm = 0;
    for (int pass = 0; pass < 2; pass++) {
      for (int64_t j = 0; j < at; j++) {
        cplx d = {0, 0};
        for (int64_t i = 0; i < m; i++) d = c_add(d, c_mul(c_conj(u[i * cols + j]), u[i * cols + at]));
        for (int64_t i = 0; i < m; i++) u[i * cols + at] = c_sub(u[i * cols + at], c_mul(d, u[i * cols + j]));
      }
      norm = 0;
      for (int64_t i = 0; i < m; i++) norm += c_norm2(u[i * cols + at]);
    }
    if (norm < 0.25 / (double)m) continue;
    for (int64_t i = 0; i < m; i++) u[i * cols + at] = c_scale(u[i * cols + at], 1 / sqrt(norm));
    return;
  }
}

// a [m][n], m >= n (destroyed): s [n] descending, u [m][u_cols], v [n][n].
static void svd_tall(int64_t m, int64_t n, cplx *a, cplx *work, int64_t *order, cplx *s, cplx *u, int64_t u_cols,
                     cplx *v) {
  orthogonalize(m, n, a, work);
  for (int64_t j = 0; j < n; j++) {
    double norm = 0;
    for (int64_t i = 0; i < m; i++) norm += c_norm2(a[i * n + j]);
    s[j] = (cplx){sqrt(norm), (double)j};
    int64_t at = j;
    for (; at > 0 && s[order[at - 1]].re < s[j].re; at--) order[at] = order[at - 1];
    order[at] = j;
  }
  double largest = n ? s[order[0]].re : 0;
  for (int64_t j = 0; j < u_cols; j++) {
    double norm = j < n ? s[order[j]].re : 0;
    if (j < n && norm > 1e-300 && norm > largest * 1e-15)
      for (int64_t i = 0; i < m; i++) u[i * u_cols + j] = c_scale(a[i * n + order[j]], 1 / norm);
    else
      complete_column(m, u_cols, u, j);
  }
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) v[i * n + j] = work[i * n + order[j]];
  for (int64_t j = 0; j < n; j++) a[j] = (cplx){s[order[j]].re, 0};
  memcpy(s, a, (size_t)n * sizeof *s);
}

// Results: overwritten operand (here: the operand), singular values, u, v^H, info.
static lemnos_status run_gesdd(interp_call *c) {
  const interp_array *in = interp_arg(c, 0), *ru = interp_result(c, 2), *rv = interp_result(c, 3);
  int64_t m = in->dims[in->rank - 2], n = in->dims[in->rank - 1],
          batches = m > 0 && n > 0 ? interp_count(in) / (m * n) : 0;
  bool vectors = config(c->in->src, "mode", 'S') != 'N';
  int64_t tall = m > n ? m : n, k = m < n ? m : n;
  int64_t u_cols = vectors ? ru->dims[ru->rank - 1] : 0, v_rows = vectors ? rv->dims[rv->rank - 2] : 0;
  cplx *x = load(c, in);
  size_t bytes = (size_t)(tall * k + k * k + k + tall * tall + k * k + tall * tall + 1) * sizeof(cplx);
  cplx *a = interp_scratch(c->cx, bytes), *work = a + tall * k, *s = work + k * k, *u = s + k, *v = u + tall * tall,
       *out = v + k * k;
  int64_t *order = interp_scratch(c->cx, (size_t)(k + 1) * 8);
  if (!x || !a || !order) return interp_scratch_failed(c);
  for (int r = 2; r < 5; r++) clear_info(c, r);
  memcpy(interp_result(c, 0)->data, in->data, (size_t)interp_bytes(in));
  for (int64_t b = 0; b < batches; b++) {
    const cplx *y = x + b * m * n;
    LEMNOS_TRY(interp_poll(c->cx));
    for (int64_t i = 0; i < tall; i++)
      for (int64_t j = 0; j < k; j++) a[i * k + j] = m >= n ? y[i * n + j] : c_conj(y[j * n + i]);
    int64_t want = m >= n ? u_cols : v_rows;
    if (want < k) want = k;
    svd_tall(tall, k, a, work, order, s, u, want, v);
    store(interp_result(c, 1), b * k, k, s);
    // m >= n: a = u s v^H. Else a^H = u s v^H, so a = v s u^H.
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < u_cols; j++) out[i * u_cols + j] = m >= n ? u[i * want + j] : v[i * k + j];
    store(ru, b * m * u_cols, m * u_cols, out);
    for (int64_t i = 0; i < v_rows; i++)
      for (int64_t j = 0; j < n; j++) out[i * n + j] = c_conj(m >= n ? v[j * k + i] : u[j * want + i]);
    store(rv, b * v_rows * n, v_rows * n, out);
  }
  return LEMNOS_SUCCESS;
}

// Nobody has verified the shapes of a custom call.
static bool shapes_fit(const interp_insn *in, interp_fn fn) {
  const interp_type *a = &in->arg_types[0], *r = in->result_types;
  if (a->rank < 2 || !interp_same_type(fn == run_trsm ? &in->arg_types[1] : a, &r[0])) return false;
  int64_t m = a->dims[a->rank - 2], n = a->dims[a->rank - 1], k = m < n ? m : n, batches = k > 0 ? a->n / (m * n) : 0;
  if (fn == run_potrf) return m == n;
  if (fn == run_syevd) return m == n && r[1].n == batches * n;
  if (fn == run_getrf) return r[1].n == batches * k && hlo_dtype_is_integer(r[1].dtype);
  if (fn == run_geqrf) return r[1].n == batches * k;
  if (fn == run_orgqr)
    return m >= n && in->arg_types[1].rank == a->rank - 1 && in->arg_types[1].dims[a->rank - 2] <= n &&
           in->arg_types[1].n == batches * in->arg_types[1].dims[a->rank - 2];
  if (fn == run_trsm) {
    const interp_type *b = &in->arg_types[1];
    int64_t side = b->rank < 2 ? -1 : b->dims[config(in->src, "side", 'L') == 'L' ? b->rank - 2 : b->rank - 1];
    return m == n && side == n && (b->n == 0 || batches == b->n / (b->dims[b->rank - 2] * b->dims[b->rank - 1]));
  }
  if (r[1].n != batches * k) return false;
  if (config(in->src, "mode", 'S') == 'N') return true;
  const interp_type *u = &r[2], *v = &r[3];
  if (u->rank != a->rank || v->rank != a->rank || u->dims[u->rank - 2] != m || v->dims[v->rank - 1] != n) return false;
  int64_t u_cols = u->dims[u->rank - 1], v_rows = v->dims[v->rank - 2];
  return u_cols <= m && v_rows <= n && u->n == batches * m * u_cols && v->n == batches * v_rows * n &&
         (m >= n || u_cols <= k) && (m < n || v_rows <= k);
}

static const struct routine {
  const char *name;
  interp_fn fn;
  int n_args, n_results;
} routines[] = {
    {"potrf", run_potrf, 1, 2}, {"trsm", run_trsm, 2, 1},   {"getrf", run_getrf, 1, 3},
    {"geqrf", run_geqrf, 1, 2}, {"orgqr", run_orgqr, 2, 1}, {"ungqr", run_orgqr, 2, 1},
    {"syevd", run_syevd, 1, 3}, {"heevd", run_syevd, 1, 3}, {"gesdd", run_gesdd, 1, 5},
};

// lapack_<letter of the type><name>_ffi
static const struct routine *routine_of(strv target) {
  if (!strv_starts_with(target, STRV("lapack_")) || !strv_ends_with(target, STRV("_ffi")) || target.len < 13)
    return NULL;
  strv op = {target.data + 8, target.len - 12};
  for (size_t k = 0; k < sizeof routines / sizeof *routines; k++)
    if (strv_eq_cstr(op, routines[k].name)) return &routines[k];
  return NULL;
}

bool interp_lapack_is_known(strv target) {
  return routine_of(target) != NULL;
}

bool interp_compile_lapack(interp_compiler *c, interp_insn *in) {
  const struct routine *r = routine_of(HLO_ATTRS(in->src, custom_call)->target);
  if (!r || (in->flags & INTERP_DYNAMIC)) return false;
  if (in->n_args != r->n_args || in->n_results != r->n_results || !shapes_fit(in, r->fn)) return false;
  if (r->fn == run_syevd && config(in->src, "uplo", 'L') != 'L') return false;
  in->fn = r->fn;
  return true;
}
