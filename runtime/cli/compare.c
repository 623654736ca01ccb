// SPDX-License-Identifier: Apache-2.0
// Results against expected ones.
//
// An element passes when |actual - expected| <= atol + rtol * |expected|; NaN matches NaN, an infinity itself; integers
// and booleans must be equal, but for `may_differ` elements. meta.json ("outputs": name, rtol, atol, golden_stride,
// may_differ) gives tolerances by output; golden_stride n means that the expected file keeps flat[::n].
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/cli/cli.h"

void compare_default_tolerance(hlo_dtype t, double *rtol, double *atol) {
  hlo_dtype r = hlo_dtype_real_part(t);
  double x = 0;
  if (hlo_dtype_is_float(r)) {
    if (r == HLO_F64)
      x = 1e-9;
    else if (r == HLO_F32)
      x = 1e-5;
    else if (r == HLO_F16)
      x = 2e-3;
    else if (r == HLO_BF16)
      x = 1.6e-2;
    else
      x = 0.25;
  }
  *rtol = *atol = x;
}

// Takes one element's error into the report.
static void take_float(compare_report *r, double a, double g, int64_t at) {
  if (a == g || (isnan(a) && isnan(g))) return;
  double d = fabs(a - g), allowed = r->atol + r->rtol * fabs(g);
  bool finite = isfinite(a) && isfinite(g);
  if (finite) {
    if (d > r->max_abs) r->max_abs = d;
    double rel = g != 0 ? d / fabs(g) : INFINITY;
    if (rel > r->max_rel) r->max_rel = rel;
    double used = allowed > 0 ? d / allowed : INFINITY;
    if (used > r->used) r->used = used;
  } else {
    r->max_abs = r->used = INFINITY;
  }
  if (finite && d <= allowed) return;
  if (r->first < 0) r->first = at;
  if (r->first == at && r->differing) return;  // the other part of the same complex element
  r->differing++;
}

void compare_arrays(const interp_array *actual, const interp_array *golden, int64_t stride, double rtol, double atol,
                    int64_t may_differ, compare_report *out) {
  compare_report r = {.first = -1, .rtol = rtol, .atol = atol};
  hlo_dtype t = actual->dtype;
  r.elements = array_elements(actual);
  r.compared = stride > 0 ? (r.elements + stride - 1) / stride : 0;
  bool complex_ = hlo_dtype_is_complex(t);
  if (hlo_dtype_is_float(t) || complex_) {
    for (int64_t i = 0; i < r.compared; i++) {
      int64_t at = i * stride, before = r.differing;
      take_float(&r, hlo_element_get_f64(t, actual->data, at, 0), hlo_element_get_f64(t, golden->data, i, 0), at);
      if (complex_ && r.differing == before)
        take_float(&r, hlo_element_get_f64(t, actual->data, at, 1), hlo_element_get_f64(t, golden->data, i, 1), at);
    }
  } else {
    bool is_signed = hlo_dtype_is_signed(t);
    for (int64_t i = 0; i < r.compared; i++) {
      int64_t at = i * stride, a = hlo_element_get_i64(t, actual->data, at),
              g = hlo_element_get_i64(t, golden->data, i);
      if (a == g) continue;
      bool above = is_signed ? a > g : (uint64_t)a > (uint64_t)g;
      double d = (double)(above ? (uint64_t)a - (uint64_t)g : (uint64_t)g - (uint64_t)a);
      if (d > r.max_abs) r.max_abs = d;
      if (r.first < 0) r.first = at;
      r.differing++;
    }
    r.used = r.differing ? (may_differ > 0 ? (double)r.differing / (double)may_differ : INFINITY) : 0;
  }
  r.passed = r.differing <= may_differ;
  *out = r;
}

// --- one result against the archive --------------------------------------------------------------

typedef struct rule {
  double rtol, atol;
  int64_t stride, may_differ;
} rule;

static rule find_rule(const cli_expect *e, const json_value *meta, int index, hlo_dtype t) {
  rule r = {.stride = 1};
  compare_default_tolerance(t, &r.rtol, &r.atol);
  const json_value *outputs = json_get(meta, "outputs");
  if (outputs && outputs->kind == JSON_ARRAY && index < outputs->n) {
    const json_value *o = &outputs->items[index];
    (void)json_get_number(o, "rtol", &r.rtol);
    (void)json_get_number(o, "atol", &r.atol);
    (void)json_get_integer(o, "golden_stride", &r.stride);
    (void)json_get_integer(o, "may_differ", &r.may_differ);
    if (r.stride < 1) r.stride = 1;
  }
  if (e->rtol >= 0) r.rtol = e->rtol;
  if (e->atol >= 0) r.atol = e->atol;
  if ((e->rtol >= 0) != (e->atol >= 0)) {  // one of them given: it alone counts
    if (e->rtol < 0)
      r.rtol = 0;
    else
      r.atol = 0;
  }
  return r;
}

void result_name(char *out, int index, int n_results) {
  if (n_results)
    snprintf(out, CLI_RESULT_NAME, "out%d@%d", index % n_results, index / n_results);
  else
    snprintf(out, CLI_RESULT_NAME, "out%d", index);
}

static bool shapes_fit(const interp_array *a, const interp_array *g, int64_t stride) {
  if (stride > 1) return g->rank == 1 && g->dims[0] == (array_elements(a) + stride - 1) / stride;
  if (a->rank != g->rank) return false;
  for (int d = 0; d < a->rank; d++)
    if (a->dims[d] != g->dims[d]) return false;
  return true;
}

static void print_report(strbuf *text, const char *name, const interp_array *a, const interp_array *g, const rule *r,
                         const compare_report *c) {
  strbuf_printf(text, "%s ", name);
  array_print_type(text, a);
  strbuf_printf(text, ": %s", c->passed ? "ok" : "DIFFERS");
  if (hlo_dtype_is_float(a->dtype) || hlo_dtype_is_complex(a->dtype)) {
    strbuf_printf(text, ", max abs error %.3g, max rel error %.3g", c->max_abs, c->max_rel);
    if (c->passed) strbuf_printf(text, ", %.2g of the tolerance", c->used);
    strbuf_printf(text, " (rtol %g, atol %g)", r->rtol, r->atol);
  } else if (c->differing) {
    strbuf_printf(text, ", max abs error %.17g", c->max_abs);
  }
  if (r->stride > 1) strbuf_printf(text, ", every %lldth element compared", (long long)r->stride);
  if (c->differing) {
    strbuf_printf(text, ", %lld of %lld elements differ", (long long)c->differing, (long long)c->compared);
    if (r->may_differ) strbuf_printf(text, " (%lld may)", (long long)r->may_differ);
    strbuf_append_cstr(text, "\n  first at ");
    print_index(text, a, c->first);
    strbuf_append_cstr(text, ": actual ");
    hlo_element_print(text, a->dtype, a->data, c->first);
    strbuf_append_cstr(text, ", expected ");
    hlo_element_print(text, a->dtype, g->data, c->first / r->stride);
  }
  strbuf_append_char(text, '\n');
}

static lemnos_status compare_one(const cli_expect *e, const npz *z, const json_value *meta, int index,
                                 const interp_array *a, strbuf *text, bool *passed) {
  char name[CLI_RESULT_NAME];
  result_name(name, index, e->n_results);
  if (a->dtype == HLO_TOKEN) return LEMNOS_SUCCESS;
  const npz_entry *entry = npz_find(z, strv_from_cstr(name));
  if (!entry) return lemnos_status_make(LEMNOS_NOT_FOUND, "%s holds no %s", z->path, name);
  interp_array g;
  LEMNOS_TRY(npz_read(z, entry, a->dtype, &g));
  rule r = find_rule(e, meta, e->n_results ? index % e->n_results : index, a->dtype);
  if (!shapes_fit(a, &g, r.stride)) {
    strbuf_printf(text, "%s: DIFFERS, it is ", name);
    array_print_type(text, a);
    strbuf_append_cstr(text, ", expected ");
    array_print_type(text, &g);
    strbuf_append_char(text, '\n');
    *passed = false;
  } else {
    compare_report c;
    compare_arrays(a, &g, r.stride, r.rtol, r.atol, r.may_differ, &c);
    print_report(text, name, a, &g, &r, &c);
    *passed &= c.passed;
  }
  heap_aligned_free(g.data);
  return LEMNOS_SUCCESS;
}

// --- all of them ---------------------------------------------------------------------------------

static lemnos_status read_meta(arena *a, const cli_expect *e, const char *archive, json_value **out) {
  const char *path = e->meta;
  struct stat st;
  *out = NULL;
  if (path && !*path) return LEMNOS_SUCCESS;
  if (!path) {
    const char *slash = strrchr(archive, '/');
    path = slash ? arena_printf(a, "%.*s/meta.json", (int)(slash - archive), archive) : "meta.json";
    if (stat(path, &st) != 0) return LEMNOS_SUCCESS;
  }
  char *bytes;
  size_t size;
  LEMNOS_TRY(io_read_file(path, &bytes, &size));
  lemnos_status status = json_parse(a, path, (strv){bytes, size}, out);
  heap_aligned_free(bytes);
  return status;
}

// A file with more results than the program has is of another program. n: 0 if there are several processes.
static lemnos_status check_names(const npz *z, int n) {
  for (int k = 0; n && k < z->entries.len; k++) {
    strv name = z->entries.data[k].name;
    int64_t i;
    if (strv_starts_with(name, STRV("out")) && strv_parse_i64(strv_drop(name, 3), &i) && i >= n)
      return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "%s holds " STRV_FMT ", but the program has %d result%s",
                                z->path, STRV_ARG(name), n, n == 1 ? "" : "s");
  }
  return LEMNOS_SUCCESS;
}

lemnos_status compare_results(const cli_expect *e, int n, const interp_array *results, strbuf *text) {
  arena *a = arena_create();
  struct stat st;
  const char *path = e->expected;
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) path = arena_printf(a, "%s/expected.npz", path);
  json_value *meta = NULL;
  npz z = {0};
  bool passed = true;
  lemnos_status status = read_meta(a, e, path, &meta);
  if (!status) status = npz_open(path, &z);
  if (!status) {
    status = check_names(&z, e->n_results ? 0 : n);
    for (int i = 0; !status && i < n; i++) status = compare_one(e, &z, meta, i, &results[i], text, &passed);
    npz_close(&z);
  }
  arena_destroy(a);
  LEMNOS_TRY(status);
  return passed ? LEMNOS_SUCCESS
                : lemnos_status_make(LEMNOS_CHECK_FAILED, "the results are not those of %s", e->expected);
}
