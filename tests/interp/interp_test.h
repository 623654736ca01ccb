// SPDX-License-Identifier: Apache-2.0
// Running HLO text in the interpreter, for the suites of interp/.
#ifndef TESTS_INTERP_TEST_H
#define TESTS_INTERP_TEST_H

#include <math.h>

#include "interp/interp.h"
#include "tests/harness.h"

typedef struct test_program {
  arena *arena;
  hlo_module *module;
  interp_program *program;
} test_program;

// t->module is there.
static inline void test_compile_module(test_program *t, diag_sink *sink) {
  ASSERT_OK(hlo_verify(t->module, sink));
  ASSERT_OK(interp_compile(t->module, &t->program));
}

static inline test_program test_compile(const char *text) {
  test_program t = {.arena = arena_create()};
  diag_sink sink;
  diag_sink_init(&sink, t.arena);
  ASSERT_OK(hlo_parse(t.arena, STRV("t.hlo"), strv_from_cstr(text), &sink, &t.module));
  test_compile_module(&t, &sink);
  diag_sink_deinit(&sink);
  return t;
}

static inline void test_free(test_program *t) {
  interp_program_destroy(t->program);
  arena_destroy(t->arena);
}

static inline interp_array test_array(hlo_dtype type, int rank, const int64_t *dims, void *data) {
  interp_array a = {.dtype = type, .rank = rank, .data = data};
  for (int d = 0; d < rank; d++) a.dims[d] = dims[d];
  return a;
}

static inline int64_t test_count(const interp_array *a) {
  int64_t n = 1;
  for (int d = 0; d < a->rank; d++) n *= a->dims[d];
  return n;
}

// A module whose entry takes nothing; all results one after another (complex: real, imaginary) must be `want`, within
// `tolerance` times the larger of 1 and the value. HLO_TEST_END ends want.
#define WANT_END 1e300
typedef struct test_case {
  const char *name, *text;
  double tolerance;
  const double *want;
} test_case;

static inline void test_run_compiled(const test_case *c, test_program t) {
  int n = interp_program_n_results(t.program), at = 0;
  interp_array results[16] = {0};
  lemnos_status s = interp_run(t.program, NULL, 0, NULL, n, results);
  if (s) ck_abort_msg("%s: %s", c->name, lemnos_status_message(s));
  for (int k = 0; k < n; k++) {
    hlo_dtype type = results[k].dtype;
    int parts = hlo_dtype_is_complex(type) ? 2 : 1;
    bool integer = !hlo_dtype_is_float(type) && !hlo_dtype_is_complex(type);
    for (int64_t i = 0; i < test_count(&results[k]); i++)
      for (int part = 0; part < parts; part++, at++) {
        double got = integer ? (double)hlo_element_get_i64(type, results[k].data, i)
                             : hlo_element_get_f64(type, results[k].data, i, part);
        double want = c->want[at];
        ck_assert_msg(want != WANT_END, "%s: more elements than expected", c->name);
        bool ok = isnan(want) ? isnan(got) : got == want || fabs(got - want) <= c->tolerance * fmax(1, fabs(want));
        ck_assert_msg(ok, "%s: result %d element %lld is %.17g, expected %.17g", c->name, k, (long long)i, got, want);
      }
    heap_aligned_free(results[k].data);
  }
  ck_assert_msg(c->want[at] == WANT_END, "%s: fewer elements than expected", c->name);
  test_free(&t);
}

static inline void test_run_case(const test_case *c) {
  test_run_compiled(c, test_compile(c->text));
}

#define W(...) ((const double[]){__VA_ARGS__, WANT_END})
#define NAN_ (0.0 / 0.0)

#endif
