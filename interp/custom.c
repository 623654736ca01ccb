// SPDX-License-Identifier: Apache-2.0
// Custom calls: the built-in targets, then what the embedder registered for the run; others are refused by name when
// they are reached.
#include "interp/interp_internal.h"

static lemnos_status run_identity(interp_call *c) {
  for (int k = 0; k < c->in->n_results; k++) interp_take_arg(c, k, interp_result_value(c, k));
  return LEMNOS_SUCCESS;
}

static lemnos_status compile_identity(interp_compiler *c, interp_insn *in) {
  for (int k = 0; k < in->n_results; k++)
    if (k >= in->n_args || !interp_same_type(&in->result_types[k], &in->arg_types[k]))
      return interp_refuse(in->src, "a result that is not its operand");
  return LEMNOS_SUCCESS;
}

static lemnos_status run_nothing(interp_call *c) {
  return LEMNOS_SUCCESS;
}

// shape_assertion(pred, values...): fails unless the predicate holds; {k} in the message stands for a value.
static lemnos_status compile_shape_assertion(interp_compiler *c, interp_insn *in) {
  bool ok =
      in->n_args >= 1 && in->arg_types[0].dtype == HLO_PRED && in->arg_types[0].is_static && in->arg_types[0].n == 1;
  for (int k = 1; ok && k < in->n_args; k++)
    ok = hlo_dtype_is_integer(in->arg_types[k].dtype) && in->arg_types[k].is_static && in->arg_types[k].n == 1;
  return ok && in->n_results == 0 ? LEMNOS_SUCCESS : interp_refuse(in->src, "this form of shape_assertion");
}

static lemnos_status run_shape_assertion(interp_call *c) {
  const interp_array *pred = interp_arg(c, 0);
  if (*(const uint8_t *)pred->data) return LEMNOS_SUCCESS;
  const hlo_dict *d = &HLO_ATTRS(c->in->src, custom_call)->attributes;
  strbuf text = {0};
  for (int k = 0; k < d->n; k++) {
    if (!strv_eq(d->entries[k].name, STRV("error_message"))) continue;
    strv m = d->entries[k].value;
    for (size_t i = 0; i < m.len; i++) {
      if (m.data[i] == '{' && i + 2 < m.len && m.data[i + 2] == '}' && m.data[i + 1] - '0' + 1 < c->in->n_args &&
          m.data[i + 1] >= '0') {
        strbuf_printf(&text, "%lld", (long long)interp_index_get(interp_arg(c, m.data[i + 1] - '0' + 1), 0));
        i += 2;
      } else {
        strbuf_append_char(&text, m.data[i]);
      }
    }
  }
  lemnos_status s =
      interp_error(c, LEMNOS_INVALID_ARGUMENT, "shape assertion failed: %s", text.len ? text.data : "no message");
  strbuf_deinit(&text);
  return s;
}

// ApproxTopK(x.., init..) -> (x..): the exact answer. Only for one key and one index operand, comparator GT or LT on
// the key.
static lemnos_status run_approx_top_k(interp_call *c) {
  const interp_array *x = interp_arg(c, 0);
  interp_array *out = interp_result(c, 0);
  const interp_region *r = c->in->aux;
  int64_t dim = -1, strides[INTERP_MAX_RANK], out_strides[INTERP_MAX_RANK];
  int n_ops = c->in->n_results;
  for (int d = 0; d < x->rank; d++)
    if (out->dims[d] != x->dims[d]) dim = d;
  if (dim < 0) dim = x->rank - 1;
  interp_strides(x, strides);
  interp_strides(out, out_strides);
  int64_t n = x->dims[dim], k = out->dims[dim], inner = strides[dim], lines = n ? interp_count(x) / n : 0;
  int64_t *order = interp_scratch(c->cx, (size_t)n * 8 + 8);
  void *scratch = interp_scratch(c->cx, interp_region_scratch(r, 1));
  int *bytes = interp_scratch(c->cx, (size_t)n_ops * sizeof *bytes);
  const void **in = interp_scratch(c->cx, (size_t)n_ops * 2 * sizeof *in);
  if (!order || !scratch || !bytes || !in) return interp_scratch_failed(c);
  for (int q = 0; q < n_ops; q++) bytes[q] = hlo_dtype_bytes(interp_arg(c, q)->dtype);
  for (int64_t l = 0; l < lines; l++) {
    int64_t o = l / inner, i = l % inner, base = o * inner * n + i, out_base = o * inner * k + i, have = 0;
    for (int64_t e = 0; e < n; e++) {  // insertion into the best k
      int64_t at = have;
      while (at > 0) {
        uint8_t before = 0;
        void *res[1] = {&before};
        for (int q = 0; q < n_ops; q++) {
          in[2 * q] = (char *)interp_arg(c, q)->data + (base + e * inner) * bytes[q];
          in[2 * q + 1] = (char *)interp_arg(c, q)->data + (base + order[at - 1] * inner) * bytes[q];
        }
        LEMNOS_TRY(interp_region_run(r, c->cx, scratch, 1, in, res));
        if (!before) break;
        at--;
      }
      if (at >= k) continue;
      if (have < k) have++;
      for (int64_t q = have - 1; q > at; q--) order[q] = order[q - 1];
      order[at] = e;
    }
    for (int q = 0; q < n_ops; q++)
      for (int64_t e = 0; e < have; e++)
        memcpy((char *)interp_result(c, q)->data + (out_base + e * inner) * bytes[q],
               (char *)interp_arg(c, q)->data + (base + order[e] * inner) * bytes[q], (size_t)bytes[q]);
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status compile_approx_top_k(interp_compiler *c, interp_insn *in) {
  interp_region *r;
  const hlo_instr *i = in->src;
  int n = in->n_results;
  bool ok = i->n_called == 1 && in->n_args == 2 * n && n >= 1 && in->arg_types[0].rank > 0 &&
            !(in->flags & INTERP_DYNAMIC) && i->called[0]->n_params == 2 * n &&
            i->called[0]->root->shape->dtype == HLO_PRED;
  int shrunk = 0;
  for (int d = 0; ok && d < in->arg_types[0].rank; d++) {
    int64_t from = in->arg_types[0].dims[d],
            to = in->result_types[0].rank == in->arg_types[0].rank ? in->result_types[0].dims[d] : -1;
    ok = from >= 0 && to >= 0 && to <= from;
    shrunk += from != to;
  }
  for (int k = 0; ok && k < n; k++) {
    hlo_dtype t = in->arg_types[k].dtype;
    ok = interp_same_type(&in->arg_types[k],
                          &(interp_type){.dtype = t, .rank = in->arg_types[0].rank, .dims = in->arg_types[0].dims}) &&
         interp_same_type(
             &in->result_types[k],
             &(interp_type){.dtype = t, .rank = in->result_types[0].rank, .dims = in->result_types[0].dims});
    for (int p = 2 * k; ok && p < 2 * k + 2; p++)
      ok = i->called[0]->params[p]->shape->dtype == t && i->called[0]->params[p]->shape->rank == 0;
  }
  if (!ok || shrunk > 1) return interp_refuse(i, "this form of ApproxTopK");
  LEMNOS_TRY(interp_region_compile(c, in->src->called[0], &r));
  in->aux = r;
  return LEMNOS_SUCCESS;
}

static const struct target {
  const char *name;
  interp_fn fn;
  lemnos_status (*compile)(interp_compiler *c, interp_insn *in);
  uint32_t flags;
} targets[] = {
    {"Sharding", run_identity, compile_identity, INTERP_SELF_ALLOC},
    {"SPMDFullToShardShape", run_identity, compile_identity, INTERP_SELF_ALLOC},
    {"SPMDShardToFullShape", run_identity, compile_identity, INTERP_SELF_ALLOC},
    {"LayoutConstraint", run_identity, compile_identity, INTERP_SELF_ALLOC},
    {"annotate_device_placement", run_identity, compile_identity, INTERP_SELF_ALLOC},
    {"stablehlo.optimization_barrier", run_identity, compile_identity, INTERP_SELF_ALLOC},
    {"dce_sink", run_nothing, NULL, 0},
    {"shape_assertion", run_shape_assertion, compile_shape_assertion, 0},
    {"ApproxTopK", run_approx_top_k, compile_approx_top_k, 0},
    {"Qr", interp_run_qr, interp_compile_qr, 0},
    {"ProductOfElementaryHouseholderReflectors", interp_run_householder, interp_compile_qr, 0},
    {"Eigh", interp_run_eigh, interp_compile_qr, 0},
    {"LuDecomposition", interp_run_lu_decomposition, interp_compile_lu_decomposition, 0},
    {"interpreter.run_parallel", interp_run_run_parallel, interp_compile_run_parallel, INTERP_SELF_ALLOC},
    {"sdy.manual_computation", interp_run_manual, interp_compile_manual, INTERP_SELF_ALLOC},
    {"interpreter.probe", interp_run_probe, interp_compile_probe, INTERP_SELF_ALLOC},
    {"check.expect_serialized_eq", interp_run_serialized_eq, interp_compile_serialized_eq, 0},
};

bool interp_custom_call_is_built_in(strv target) {
  for (size_t k = 0; k < sizeof targets / sizeof *targets; k++)
    if (strv_eq_cstr(target, targets[k].name)) return true;
  return interp_lapack_is_known(target);
}

static const interp_custom_call *find_hook(const interp_call *c) {
  const interp_run_options *o = c->cx->options;
  strv name = HLO_ATTRS(c->in->src, custom_call)->target;
  for (int k = 0; k < o->n_custom_calls; k++)
    if (strv_eq_cstr(name, o->custom_calls[k].target)) return &o->custom_calls[k];
  return NULL;
}

static lemnos_status run_unknown(interp_call *c) {
  const interp_custom_call *hook = find_hook(c);
  if (!hook)
    return interp_error(c, LEMNOS_UNIMPLEMENTED, "no implementation of custom call target '" STRV_FMT "'",
                        STRV_ARG(HLO_ATTRS(c->in->src, custom_call)->target));
  int n_args = c->in->n_args, n_results = c->in->n_results;
  interp_array *args = interp_scratch(c->cx, sizeof *args * (size_t)(n_args + n_results + 1)), *results = args + n_args;
  if (!args) return interp_scratch_failed(c);
  for (int k = 0; k < n_args; k++) args[k] = *interp_arg(c, k);
  for (int k = 0; k < n_results; k++) results[k] = *interp_result(c, k);
  return hook->fn(hook->user, c->in->src, n_args, args, n_results, results);
}

lemnos_status interp_compile_custom(interp_compiler *c, interp_insn *in) {
  strv name = HLO_ATTRS(in->src, custom_call)->target;
  in->fn = run_unknown;
  for (size_t k = 0; k < sizeof targets / sizeof *targets; k++) {
    if (!strv_eq_cstr(name, targets[k].name)) continue;
    if (targets[k].compile) LEMNOS_TRY(targets[k].compile(c, in));
    in->flags |= targets[k].flags;
    in->fn = targets[k].fn;
    return LEMNOS_SUCCESS;
  }
  if (interp_compile_lapack(c, in)) return LEMNOS_SUCCESS;
  if (in->flags & INTERP_DYNAMIC) return interp_refuse(in->src, "custom call with results of unknown size");
  return LEMNOS_SUCCESS;
}
