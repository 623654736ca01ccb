// SPDX-License-Identifier: Apache-2.0
// A program with and without the passes that promise to change no bit (all but those that expand CHLO operations,
// complex and linear algebra, fft and batch norms into formulas of their own), both in the interpreter: equal results,
// NaNs aside. Modules are verified and sent through their text after every pass. What the whole pipeline makes of the
// program then gets its buffers and its kernels, for a CPU and for a GPU: that may be refused, but for known reasons
// only.
#include "hlo/analysis/buffers.h"
#include "hlo/kernel/lower.h"
#include "hlo/opt/pass.h"
#include "tests/fuzz/run.h"

enum { MAX_LEAVES = 64 };

static const char exact_passes[] =
    "call-inliner,map-inliner,computation-deduplicator,dce,"
    "fix(tuple-simplifier,algebraic-simplifier,constant-folding,cse,dce),rng-bit-generator-expander,"
    "fix(tuple-simplifier,algebraic-simplifier,constant-folding,conditional-simplifier,"
    "while-loop-trip-count-annotator,while-loop-simplifier,while-loop-invariant-code-motion,cse,dce),"
    "reshape-to-bitcast,instruction-fusion,reshape-to-bitcast,multi-output-fusion,memory-scheduler,copy-insertion";

static const hlo_target cpu = {.name = "cpu",
                               .cls = HLO_TARGET_CPU,
                               .f64 = true,
                               .i8 = true,
                               .i16 = true,
                               .i64 = true,
                               .storage_8 = true,
                               .storage_16 = true,
                               .subnormals_f32 = true,
                               .vector_bytes = 32,
                               .vector_registers = 16,
                               .threads = 2,
                               .max_storage_range = INT64_MAX};
static const hlo_target gpu = {.name = "gpu",
                               .cls = HLO_TARGET_GPU,
                               .group_ops = true,
                               .max_workgroup = 256,
                               .shared_bytes = 32768,
                               .max_groups = {65535, 65535, 65535},
                               .vector_bytes = 16,
                               .max_storage_range = 128 << 20,
                               .max_buffers = 16};

// Static shapes, one process, nothing random, nothing with the outside: what devices compile.
static bool is_compiled(const hlo_module *m) {
  if (m->n_replicas * m->n_partitions != 1) return false;
  for (int c = 0; c < m->n_computations; c++)
    HLO_FOR_EACH (i, m->computations[c]) {
      uint8_t family = hlo_op_table[i->op].family;
      if (!hlo_shape_is_static(i->shape) || family == HLO_FAMILY_HOST || family == HLO_FAMILY_COLLECTIVE) return false;
      if (hlo_op_has(i->op, HLO_TRAIT_D) || i->op == HLO_OP_CUSTOM_CALL) return false;
    }
  return true;
}

// Ends a status that says what devices or limits cannot do; anything else is a fault of ours.
static bool ok_or_refused(lemnos_status s, const char *what, const hlo_module *m) {
  lemnos_status_code code = lemnos_status_get_code(s);
  bool allowed = !s || code == LEMNOS_UNIMPLEMENTED || code == LEMNOS_OUT_OF_MEMORY || code == LEMNOS_CANCELLED;
  if (!allowed) {
    strbuf text = {0};
    hlo_print_module(&text, m, NULL);
    FUZZ_REQUIRE(allowed, "%s: %s\n%s", what, lemnos_status_message(s), text.data);
  }
  return fuzz_ok(s);
}

static bool same(const interp_array *x, const interp_array *y) {
  if (x->dtype != y->dtype || x->rank != y->rank) return false;
  int64_t n = x->dtype == HLO_TOKEN ? 0 : 1;
  for (int d = 0; d < x->rank; d++) {
    if (x->dims[d] != y->dims[d]) return false;
    n *= x->dims[d];
  }
  size_t bytes = (size_t)hlo_dtype_bytes(x->dtype);
  if (!n || !memcmp(x->data, y->data, bytes * (size_t)n)) return true;
  hlo_dtype part = hlo_dtype_real_part(x->dtype);
  if (!hlo_dtype_is_float(part)) return false;
  size_t each = (size_t)hlo_dtype_bytes(part), parts = (size_t)n * (bytes / each);
  for (size_t i = 0; i < parts; i++) {
    const char *p = (const char *)x->data + i * each, *q = (const char *)y->data + i * each;
    double u = hlo_element_get_f64(part, p, 0, 0), v = hlo_element_get_f64(part, q, 0, 0);
    if (memcmp(p, q, each) && (u == u || v == v)) return false;
  }
  return true;
}

static void compare(const hlo_module *m, const fuzz_run_result *before, const hlo_module *optimized) {
  fuzz_run_result after;
  if (ok_or_refused(fuzz_run(optimized, 3, &after), "the optimized program", optimized)) {
    strbuf text = {0};
    hlo_print_module(&text, m, NULL);
    strbuf_append(&text, STRV("\nbecame\n"));
    hlo_print_module(&text, optimized, NULL);
    FUZZ_REQUIRE(after.n == before->n, "%s", text.data);
    for (int k = 0; k < after.n; k++)
      FUZZ_REQUIRE(same(&before->arrays[k], &after.arrays[k]), "result %d differs:\n%s", k, text.data);
    strbuf_deinit(&text);
  }
  fuzz_run_free(&after);
}

static bool optimize(hlo_module *m, const char *passes, const hlo_target *target) {
  hlo_pipeline_options o = {.passes = strv_from_cstr(passes),
                            .opt_bisect_limit = -1,
                            .verify_each = true,
                            .round_trip_each = true,
                            .target = target,
                            .can_fuse = kernel_can_fuse_elementwise};
  return ok_or_refused(hlo_run_pipeline(m, &o), "pipeline", m);
}

static void lower(arena *a, const hlo_module *m, const hlo_target *target) {
  hlo_buffer_assignment *b;
  if (!ok_or_refused(hlo_assign_buffers(m, a, &b), "buffers", m)) return;
  ok_or_refused(hlo_buffers_verify(m, b), "buffers", m);
  HLO_FOR_EACH (i, m->entry) {
    int32_t aliases[MAX_LEAVES];
    int n = hlo_shape_leaves(i->shape);
    if (i->op == HLO_OP_WHILE || i->op == HLO_OP_CONDITIONAL || n > MAX_LEAVES) continue;
    for (int l = 0; l < n; l++) aliases[l] = hlo_buffer_shared_operand(b, i, l);
    kernel_lowering out;
    ok_or_refused(kernel_lower(a, target, i, &(kernel_lower_options){aliases}, &out), "lowering", m);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *copy = fuzz_copy(data, size);
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  hlo_module *m = NULL;
  if (fuzz_ok(import_program(a, STRV("fuzz"), copy, size, NULL, &sink, &m)) && fuzz_ok(hlo_verify(m, &sink)) &&
      is_compiled(m)) {
    fuzz_run_result before;
    bool ran = fuzz_ok(fuzz_run(m, 0.2, &before));
    hlo_module *exact = hlo_module_clone(m, a);
    if (exact && optimize(exact, exact_passes, &cpu) && ran) compare(m, &before, exact);
    fuzz_run_free(&before);
    const hlo_target *target = size % 2 ? &cpu : &gpu;
    hlo_module *whole = hlo_module_clone(m, a);
    if (whole && optimize(whole, hlo_default_pipeline, target)) lower(a, whole, target);
  }
  diag_sink_deinit(&sink);
  arena_destroy(a);
  free(copy);
  return 0;
}
