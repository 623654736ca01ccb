// SPDX-License-Identifier: Apache-2.0
// Developer's tool: every instruction of a program's entry through kernels, against the interpreter.
//   run_kernels [--target avx512|avx2|sse|gpu|cpu_like] [--opt] [--print] [--ulp N] [-q] FILE...
// --opt: after the default pipeline (fusions). Bodies of loops and branches are run once, on made-up values.
// Each instruction is lowered, its kernels are run by kernel_eval, and the result is compared with the interpreter's
// for the same operands (which are the interpreter's, so that differences do not add up). Files: StableHLO (inputs made
// up where main takes any), HLO text.
// An instruction without kernels counts as "host", with the reason; a fusion is compared with a call of its
// computation.
#include <math.h>
#include <stdio.h>

#include "frontend/import.h"
#include "hlo/kernel/lower.h"
#include "hlo/opt/pass.h"
#include "interp/interp.h"
#include "tests/hlo/kernel/kernel_eval.h"
#include "tests/hlo/kernel/targets.h"

static int n_ok, n_bad, n_host, n_broken;
static bool print_kernels, quiet, optimize;
static double max_ulp = 8;
static hlo_target target;

typedef struct leaf_values {
  void **data;  // per leaf
  int n;
} leaf_values;

static size_t leaf_bytes(const hlo_shape *s) {
  return hlo_shape_is_array(s) ? (size_t)hlo_shape_bytes(s) : 0;
}

static void *room(arena *a, size_t bytes) {
  return arena_alloc(a, bytes + 64);
}

static hlo_module *single_module(arena *a, const hlo_instr *i) {
  hlo_module *m = hlo_module_create(a, i->name);
  hlo_computation *entry = hlo_computation_create(m, STRV("main"));
  m->entry = entry;
  hlo_instr **operands = ARENA_ARRAY(a, hlo_instr *, i->n_operands + 1);
  for (int o = 0; o < i->n_operands; o++) {
    hlo_attrs_parameter *p = hlo_attrs_create(a, HLO_ATTR_LIST_parameter);
    p->number = o;
    operands[o] = hlo_instr_create(entry, NULL, HLO_OP_PARAMETER, hlo_shape_intern(m->shapes, i->operands[o]->shape), 0,
                                   NULL, 0, NULL, p, i->loc, STRV("p"));
  }
  hlo_computation **called = ARENA_ARRAY(a, hlo_computation *, i->n_called + 1);
  for (int c = 0; c < i->n_called; c++) called[c] = hlo_computation_clone(i->called[c], m);
  bool fusion = i->op == HLO_OP_FUSION;
  void *attrs = i->attrs && !fusion ? hlo_attrs_clone(a, hlo_op_table[i->op].attrs, i->attrs) : NULL;
  entry->root = hlo_instr_create(entry, NULL, fusion ? HLO_OP_CALL : i->op, hlo_shape_intern(m->shapes, i->shape),
                                 i->n_operands, operands, i->n_called, called, attrs, i->loc, i->name);
  return m;
}

static interp_array array_of(const hlo_shape *s, void *data) {
  interp_array x = {.dtype = s->dtype, .rank = hlo_shape_is_array(s) ? s->rank : 0, .data = data};
  for (int d = 0; d < x.rank; d++) x.dims[d] = s->dims[d];
  return x;
}

static lemnos_status interpret(arena *a, const hlo_instr *i, leaf_values *const *operands, leaf_values *out) {
  interp_program *p = NULL;
  LEMNOS_TRY(interp_compile(single_module(a, i), &p));
  interp_array args[512], results[256];
  int n = 0;
  for (int o = 0; o < i->n_operands; o++)
    for (int l = 0; l < operands[o]->n; l++)
      args[n++] = array_of(hlo_shape_leaf(i->operands[o]->shape, l), operands[o]->data[l]);
  for (int r = 0; r < out->n; r++) {
    const hlo_shape *s = hlo_shape_leaf(i->shape, r);
    out->data[r] = room(a, leaf_bytes(s));
    results[r] = array_of(s, out->data[r]);
  }
  lemnos_status s = interp_run(p, NULL, n, args, out->n, results);
  interp_program_destroy(p);
  return s;
}

// alias: result 0 lives in the buffer of this operand leaf (-1: of its own)
static const char *run_kernels(arena *a, const hlo_instr *i, const kernel_lowering *l, leaf_values *const *operands,
                               leaf_values *out, int alias) {
  void *operand_leaf[512], *scratch[256];
  int n = 0;
  for (int o = 0; o < i->n_operands; o++)
    for (int k = 0; k < operands[o]->n; k++) operand_leaf[n++] = operands[o]->data[k];
  for (int s = 0; s < l->scratch.len; s++)
    memset(scratch[s] = room(a, (size_t)l->scratch.data[s]), 0xAB, (size_t)l->scratch.data[s]);
  for (int r = 0; r < out->n; r++) {
    size_t bytes = leaf_bytes(hlo_shape_leaf(i->shape, r));
    memset(out->data[r] = room(a, bytes), 0xEE, bytes);
  }
  if (alias >= 0) {
    memcpy(out->data[0], operand_leaf[alias], leaf_bytes(hlo_shape_leaf(i->shape, 0)));
    operand_leaf[alias] = out->data[0];
  }
  for (int k = 0; k < l->launches.len; k++) {
    const kernel_launch *launch = &l->launches.data[k];
    void *params[256];
    for (int p = 0; p < launch->kernel->n_params; p++) {
      const kernel_arg *arg = &launch->args[p];
      params[p] = arg->kind == KERNEL_ARG_OPERAND   ? operand_leaf[arg->index]
                  : arg->kind == KERNEL_ARG_RESULT  ? out->data[arg->index]
                  : arg->kind == KERNEL_ARG_SCRATCH ? scratch[arg->index]
                                                    : l->constants.data[arg->index]->data;
      params[p] = (char *)params[p] + arg->offset;
    }
    if (print_kernels) {
      strbuf b = {0};
      kernel_print(&b, launch->kernel);
      fwrite(b.data, 1, b.len, stdout);
      strbuf_deinit(&b);
    }
    const char *error = kernel_eval_subgroup(launch->kernel, params, target.subgroup > 0 ? target.subgroup : 1);
    if (error) return arena_printf(a, STRV_FMT ": %s", STRV_ARG(launch->kernel->name), error);
  }
  return NULL;
}

// Distance in units of the type's last place at the larger magnitude; small absolute differences count as none.
static double distance(hlo_dtype t, double x, double y) {
  if (isnan(x) || isnan(y)) return isnan(x) && isnan(y) ? 0 : 1e30;
  if (x == y) return 0;
  if (isinf(x) || isinf(y)) return 1e30;
  static const struct {
    hlo_dtype t;
    int mantissa, least;
  } types[] = {{HLO_F64, 52, -1022}, {HLO_F32, 23, -126}, {HLO_F16, 10, -14}, {HLO_BF16, 7, -126}};
  int mantissa = 3, least = -14;
  for (int k = 0; k < 4; k++)
    if (types[k].t == t) mantissa = types[k].mantissa, least = types[k].least;
  int e;
  frexp(fmax(fabs(x), fabs(y)), &e);
  if (e - 1 < least) e = least + 1;
  return fabs(x - y) / ldexp(1, e - 1 - mantissa);
}

static const char *compare(arena *a, const hlo_instr *i, const leaf_values *want, const leaf_values *got) {
  for (int r = 0; r < want->n; r++) {
    const hlo_shape *s = hlo_shape_leaf(i->shape, r);
    if (!hlo_shape_is_array(s)) continue;
    int64_t n = hlo_shape_elements(s);
    bool complex = hlo_dtype_is_complex(s->dtype), real = hlo_dtype_is_float(s->dtype) || complex;
    hlo_dtype part_type = hlo_dtype_real_part(s->dtype);
    // Sums are accurate relative to what they are sums of: the largest result stands for it.
    bool sums = i->op == HLO_OP_DOT_GENERAL || i->op == HLO_OP_CONVOLUTION || i->op == HLO_OP_REDUCE ||
                i->op == HLO_OP_REDUCE_WINDOW || i->op == HLO_OP_FUSION;
    double scale = 0;
    for (int64_t e = 0; e < n && real && sums; e++) {
      double x = fabs(hlo_element_get_f64(s->dtype, want->data[r], e, 0));
      if (isfinite(x) && x > scale) scale = x;
    }
    for (int64_t e = 0; e < n; e++)
      for (int part = 0; part <= complex; part++) {
        double x = 0, y = 0, d;
        if (real) {
          x = hlo_element_get_f64(s->dtype, want->data[r], e, part),
          y = hlo_element_get_f64(s->dtype, got->data[r], e, part);
          d = distance(part_type, x, y);
          if (complex && d < 1e30) {  // relative to the whole number
            double u = hlo_element_get_f64(s->dtype, want->data[r], e, 1 - part);
            d = fmin(d, distance(part_type, hypot(x, u) + fabs(x - y), hypot(x, u)));
          }
          if (sums && d < 1e30) d = fmin(d, distance(part_type, scale + fabs(x - y), scale));
        } else {
          int64_t p = hlo_element_get_i64(s->dtype, want->data[r], e),
                  q = hlo_element_get_i64(s->dtype, got->data[r], e);
          x = (double)p, y = (double)q, d = p == q ? 0 : 1e30;
        }
        double limit = max_ulp;
        if (d > limit)
          return arena_printf(a, "result %d element %lld part %d: %.9g instead of %.9g (%.3g ulp)", r, (long long)e,
                              part, y, x, d);
      }
  }
  return NULL;
}

// May the result take over the buffer of its first operand? The cases that buffer assignment makes use of.
static bool may_alias(const hlo_instr *i) {
  if (i->op == HLO_OP_FUSION && i->called[0]->root->operands &&
      HLO_ATTRS(i, fusion)->kind == HLO_FUSION_KIND_IN_PLACE &&
      i->called[0]->root->operands[0] != i->called[0]->params[0])
    return false;  // the updated operand is not the first
  if (i->n_operands == 0 || hlo_shape_leaf(i->shape, 0) == NULL) return false;
  const hlo_shape *in = hlo_shape_leaf(i->operands[0]->shape, 0), *out = hlo_shape_leaf(i->shape, 0);
  if (in->dtype != out->dtype || !hlo_shape_same_dims(in, out) || hlo_shape_leaves(i->shape) > 1) return false;
  for (int o = 1; o < i->n_operands; o++)
    if (i->operands[o] == i->operands[0]) return false;
  return hlo_op_has(i->op, HLO_TRAIT_E) || i->op == HLO_OP_DYNAMIC_UPDATE_SLICE || i->op == HLO_OP_SCATTER ||
         i->op == HLO_OP_SORT || (i->op == HLO_OP_FUSION && HLO_ATTRS(i, fusion)->kind == HLO_FUSION_KIND_IN_PLACE);
}

static void check_in_place(arena *a, const char *file, const hlo_instr *i, leaf_values *const *operands,
                           leaf_values *want) {
  int32_t alias = 0;
  kernel_lower_options options = {&alias};
  kernel_lowering l;
  lemnos_status s = kernel_lower(a, &target, i, &options, &l);
  leaf_values got = {.data = ARENA_ARRAY(a, void *, want->n + 1), .n = want->n};
  const char *error = s ? lemnos_status_message(s) : run_kernels(a, i, &l, operands, &got, 0);
  if (!error) error = compare(a, i, want, &got);
  error ? n_bad++ : n_ok++;
  if (error) printf("BAD %s %s in place: %s\n", file, hlo_op_table[i->op].text_name, error);
  lemnos_status_free(s);
}

static void check_instr(arena *a, const char *file, const hlo_instr *i, leaf_values *const *operands,
                        leaf_values *want) {
  kernel_lowering l;
  lemnos_status s = kernel_lower(a, &target, i, NULL, &l);
  const char *op = hlo_op_table[i->op].text_name;
  if (s) {
    bool host = lemnos_status_get_code(s) == LEMNOS_UNIMPLEMENTED;
    host ? n_host++ : n_broken++;
    if (!quiet || !host) printf("%s %s %s: %s\n", host ? "HOST" : "BROKEN", file, op, lemnos_status_message(s));
    lemnos_status_free(s);
    return;
  }
  int64_t elements = 0;
  for (int r = 0; r < want->n; r++)
    if (hlo_shape_is_array(hlo_shape_leaf(i->shape, r))) elements += hlo_shape_elements(hlo_shape_leaf(i->shape, r));
  bool moves_nothing = i->op == HLO_OP_BITCAST || i->op == HLO_OP_OPTIMIZATION_BARRIER;
  if (elements == 0 || (moves_nothing && l.launches.len == 0)) return;
  leaf_values got = {.data = ARENA_ARRAY(a, void *, want->n + 1), .n = want->n};
  const char *error = run_kernels(a, i, &l, operands, &got, -1);
  if (!error) error = compare(a, i, want, &got);
  error ? n_bad++ : n_ok++;
  if (error)
    printf("BAD %s %s " STRV_FMT ": %s\n", file, op, STRV_ARG(i->name), error);
  else if (!quiet)
    printf("OK %s %s\n", file, op);
  if (!error && may_alias(i)) check_in_place(a, file, i, operands, want);
}

static void make_up(const hlo_shape *s, void *data) {
  int64_t n = hlo_shape_elements(s);
  for (int64_t i = 0; i < n; i++) {
    if (hlo_dtype_is_integer(s->dtype) || s->dtype == HLO_PRED) {
      hlo_element_set_i64(s->dtype, data, i, s->rank == 0 ? 1 : (i * 7) % 5 - (hlo_dtype_is_signed(s->dtype) ? 1 : 0));
    } else if (s->dtype < HLO_TOKEN) {
      hlo_element_set_f64(s->dtype, data, i, 0, (double)((i * 37) % 101) / 16 - 3);
      if (hlo_dtype_is_complex(s->dtype)) hlo_element_set_f64(s->dtype, data, i, 1, (double)((i * 17) % 29) / 8 - 1);
    }
  }
}

static lemnos_status run_computation(arena *a, const char *file, const hlo_computation *c, leaf_values **values);

static lemnos_status run_instr(arena *a, const char *file, const hlo_instr *i, leaf_values **values) {
  leaf_values *v = values[i->id] = ARENA_NEW(a, leaf_values);
  v->n = hlo_shape_leaves(i->shape);
  v->data = ARENA_ARRAY(a, void *, v->n + 1);
  leaf_values **operands = ARENA_ARRAY(a, leaf_values *, i->n_operands + 1);
  for (int o = 0; o < i->n_operands; o++) operands[o] = values[i->operands[o]->id];
  int n = 0;
  switch (i->op) {
    case HLO_OP_PARAMETER:
      for (int l = 0; l < v->n; l++) {
        v->data[l] = room(a, leaf_bytes(hlo_shape_leaf(i->shape, l)));
        make_up(hlo_shape_leaf(i->shape, l), v->data[l]);
      }
      return LEMNOS_SUCCESS;
    case HLO_OP_CONSTANT: {
      const hlo_literal *full;
      LEMNOS_TRY(hlo_literal_expand(a, hlo_constant_value(i), &full));
      v->data[0] = full->data;
      return LEMNOS_SUCCESS;
    }
    case HLO_OP_TUPLE:
      for (int o = 0; o < i->n_operands; o++)
        for (int l = 0; l < operands[o]->n; l++) v->data[n++] = operands[o]->data[l];
      return LEMNOS_SUCCESS;
    case HLO_OP_GET_TUPLE_ELEMENT:
      for (int e = 0; e < HLO_ATTRS(i, get_tuple_element)->index; e++)
        n += hlo_shape_leaves(i->operands[0]->shape->elements[e]);
      for (int l = 0; l < v->n; l++) v->data[l] = operands[0]->data[n + l];
      return LEMNOS_SUCCESS;
    default: break;
  }
  for (int l = 0; l < v->n; l++)
    if (!hlo_shape_is_static(hlo_shape_leaf(i->shape, l)))
      return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "dynamic shape");
  if (hlo_op_table[i->op].family == HLO_FAMILY_CHECK) return LEMNOS_SUCCESS;
  if (i->op == HLO_OP_CALL && i->called[0]->n_params == 0) {
    LEMNOS_TRY(run_computation(a, file, i->called[0], values));
    *v = *values[i->called[0]->root->id];
    return LEMNOS_SUCCESS;
  }
  LEMNOS_TRY(interpret(a, i, operands, v));
  if (i->op == HLO_OP_WHILE || i->op == HLO_OP_CONDITIONAL)
    for (int b = 0; b < i->n_called; b++) LEMNOS_TRY(run_computation(a, file, i->called[b], values));
  check_instr(a, file, i, operands, v);
  return LEMNOS_SUCCESS;
}

static lemnos_status run_computation(arena *a, const char *file, const hlo_computation *c, leaf_values **values) {
  HLO_FOR_EACH (i, c) LEMNOS_TRY(run_instr(a, file, i, values));
  return LEMNOS_SUCCESS;
}

static lemnos_status run_module(arena *a, const char *file, const hlo_module *m) {
  leaf_values **values = ARENA_ARRAY(a, leaf_values *, m->next_id + 1);
  return run_computation(a, file, m->entry, values);
}

static void run_file(const char *file) {
  arena *a = arena_create();
  char *data = NULL;
  size_t size = 0;
  diag_sink sink;
  diag_sink_init(&sink, a);
  hlo_module *m = NULL;
  lemnos_status s = io_read_file(file, &data, &size);
  if (!s) s = import_program(a, strv_from_cstr(file), data, size, NULL, &sink, &m);
  hlo_pipeline_options pipeline = {.opt_bisect_limit = -1, .target = &target, .can_fuse = kernel_can_fuse_elementwise};
  if (!s && optimize) s = hlo_run_pipeline(m, &pipeline);
  if (!s) s = run_module(a, file, m);
  if (s) {
    if (!quiet) printf("SKIP %s: %s\n", file, lemnos_status_message(s));
    lemnos_status_free(s);
  }
  diag_sink_deinit(&sink);
  heap_aligned_free(data);
  arena_destroy(a);
}

int main(int argc, char **argv) {
  test_target("avx2", &target);
  for (int k = 1; k < argc; k++) {
    if (!strcmp(argv[k], "--target") && k + 1 < argc) {
      if (!test_target(argv[++k], &target)) return fprintf(stderr, "unknown target %s\n", argv[k]), 2;
    } else if (!strcmp(argv[k], "--print")) {
      print_kernels = true;
    } else if (!strcmp(argv[k], "--ulp") && k + 1 < argc) {
      max_ulp = atof(argv[++k]);
    } else if (!strcmp(argv[k], "-q")) {
      quiet = true;
    } else if (!strcmp(argv[k], "--opt")) {
      optimize = true;
    } else {
      run_file(argv[k]);
      fflush(stdout);
    }
  }
  printf("%s: %d agree, %d differ, %d on the host, %d broken\n", target.name, n_ok, n_bad, n_host, n_broken);
  return n_bad || n_broken ? 1 : 0;
}
