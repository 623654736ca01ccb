// SPDX-License-Identifier: Apache-2.0
// The check dialect (limits as openxla/stablehlo's) and interpreter.print.
//
//   expect_eq         equal values (a NaN equals nothing, -0 equals +0)
//   expect_almost_eq  equal, or both NaN, or both finite and |actual - expected| <= tolerance (1e-4 unless given)
//   expect_close      distance in representable values between min and max; NaNs are at distance 0; a non-finite
//                     value is infinitely far from every other
//   eq                expect_eq for integers, else expect_almost_eq with 1e-4; gives a pred
#include <math.h>

#include "interp/grid.h"

#define SHOWN 5

typedef enum rule { RULE_EQ, RULE_ALMOST, RULE_CLOSE } rule;

typedef struct check {
  rule rule;
  double tolerance;
  uint64_t min_ulp, max_ulp;
  const hlo_literal *expected;  // NULL: second operand
} check;

static bool almost(double x, double y, double tolerance) {
  if (x == y) return true;
  if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
  if (isinf(x) || isinf(y)) return false;
  return fabs(x - y) <= tolerance;
}

// Bits of part `part` of element i of a float or complex array, and of its magnitude.
static uint64_t float_bits(hlo_dtype t, const void *data, int64_t i, int part) {
  if (t == HLO_C64) t = HLO_F32, i = 2 * i + part;
  if (t == HLO_C128) t = HLO_F64, i = 2 * i + part;
  uint64_t bits = 0;
  int bytes = hlo_dtype_bytes(t);
  memcpy(&bits, (const char *)data + i * bytes, (size_t)bytes);
  return bits;
}

static uint64_t ulp_distance(hlo_dtype t, const void *a, const void *b, int64_t i, int part) {
  uint64_t x = float_bits(t, a, i, part), y = float_bits(t, b, i, part);
  if (x == y) return 0;
  double f = hlo_element_get_f64(t, a, i, part), g = hlo_element_get_f64(t, b, i, part);
  if (isnan(f) && isnan(g)) return 0;
  if (!isfinite(f) || !isfinite(g)) return UINT64_MAX;
  if (t == HLO_F8E8M0FNU) return x > y ? x - y : y - x;
  int bits = hlo_dtype_table[hlo_dtype_real_part(t)].bits;
  uint64_t sign = UINT64_C(1) << (bits - 1), mx = x & ~sign, my = y & ~sign;
  if ((x & sign) != (y & sign)) return mx + my;
  return mx > my ? mx - my : my - mx;
}

static bool element_ok(const check *k, hlo_dtype t, const void *a, const void *b, int64_t i) {
  hlo_dtype_class cls = hlo_dtype_cls(t);
  if (cls != HLO_CLASS_FLOAT && cls != HLO_CLASS_COMPLEX)
    return hlo_element_get_i64(t, a, i) == hlo_element_get_i64(t, b, i);
  for (int part = 0; part < (cls == HLO_CLASS_COMPLEX ? 2 : 1); part++) {
    if (k->rule == RULE_CLOSE) {
      uint64_t d = ulp_distance(t, a, b, i, part);
      if (d < k->min_ulp || d > k->max_ulp) return false;
      continue;
    }
    double x = hlo_element_get_f64(t, a, i, part), y = hlo_element_get_f64(t, b, i, part);
    if (k->rule == RULE_EQ ? x != y : !almost(x, y, k->tolerance)) return false;
  }
  return true;
}

static void print_index(strbuf *out, const interp_array *a, int64_t i) {
  int64_t index[INTERP_MAX_RANK];
  for (int d = a->rank - 1; d >= 0; d--) {
    index[d] = i % a->dims[d];
    i /= a->dims[d];
  }
  strbuf_append_char(out, '[');
  for (int d = 0; d < a->rank; d++) strbuf_printf(out, "%s%lld", d ? ", " : "", (long long)index[d]);
  strbuf_append_char(out, ']');
}

static lemnos_status compare(interp_call *c, const check *k, const interp_array *a, const void *expected) {
  int64_t n = interp_count(a), wrong = 0;
  strbuf text = {0};
  for (int64_t i = 0; i < n; i++) {
    if (element_ok(k, a->dtype, a->data, expected, i)) continue;
    if (wrong++ >= SHOWN) continue;
    strbuf_append_cstr(&text, "\n  at ");
    print_index(&text, a, i);
    strbuf_append_cstr(&text, ": actual ");
    hlo_element_print(&text, a->dtype, a->data, i);
    strbuf_append_cstr(&text, ", expected ");
    hlo_element_print(&text, a->dtype, expected, i);
    if (k->rule == RULE_CLOSE && (hlo_dtype_is_float(a->dtype) || hlo_dtype_is_complex(a->dtype))) {
      uint64_t d = ulp_distance(a->dtype, a->data, expected, i, 0);
      strbuf_printf(&text, " (distance %llu)", (unsigned long long)d);
    }
  }
  if (wrong == 0) return LEMNOS_SUCCESS;
  lemnos_status s = interp_error(c, LEMNOS_CHECK_FAILED, "%lld of %lld elements differ%s%s", (long long)wrong,
                                 (long long)n, text.data, wrong > SHOWN ? "\n  ..." : "");
  strbuf_deinit(&text);
  return s;
}

static lemnos_status run_check(interp_call *c) {
  const check *k = c->in->aux;
  const interp_array *a = interp_arg(c, 0);
  const void *expected;
  if (k->expected) {
    const hlo_literal *l = k->expected;
    int64_t n = interp_count(a);
    if (l->shape->dtype != a->dtype || (l->shape->rank != a->rank) || hlo_shape_elements(l->shape) != n)
      return interp_error(c, LEMNOS_CHECK_FAILED, "the value's shape is not that of the expected constant");
    for (int d = 0; d < a->rank; d++)
      if (l->shape->dims[d] != a->dims[d])
        return interp_error(c, LEMNOS_CHECK_FAILED, "dimension %d is %lld, expected %lld", d, (long long)a->dims[d],
                            (long long)l->shape->dims[d]);
    expected = l->data;
    if (l->splat && n > 1) {
      size_t bytes = (size_t)interp_bytes(a);
      void *full = interp_scratch(c->cx, bytes);
      if (!full) return interp_scratch_failed(c);
      interp_fill(full, l->data, hlo_dtype_bytes(a->dtype), n);
      expected = full;
    }
  } else {
    const interp_array *b = interp_arg(c, 1);
    if (b->rank != a->rank || a->dtype != b->dtype)
      return interp_error(c, LEMNOS_CHECK_FAILED, "operands of different types");
    for (int d = 0; d < a->rank; d++)
      if (b->dims[d] != a->dims[d])
        return interp_error(c, LEMNOS_CHECK_FAILED, "dimension %d is %lld, expected %lld", d, (long long)a->dims[d],
                            (long long)b->dims[d]);
    expected = b->data;
  }
  // check.eq in openxla's tests takes (expected, actual) or (actual, expected): the rule is symmetric.
  LEMNOS_TRY(compare(c, k, a, expected));
  for (int r = 0; r < c->in->n_results; r++) {
    interp_array *out = interp_result(c, r);
    if (out->dtype == HLO_PRED) memset(out->data, 1, (size_t)interp_bytes(out));
  }
  return LEMNOS_SUCCESS;
}

void interp_print_value(const interp_call *c, strv title, const interp_array *a) {
  const interp_host *host = c->cx->options->host;
  const interp_device *d = c->cx->device;
  if (!host || !host->print) return;
  strbuf out = {0};
  if (d->grid->n > 1) strbuf_printf(&out, "process (%d, %d): ", d->replica_id, d->partition_id);
  if (title.len) strbuf_printf(&out, STRV_FMT "\n", STRV_ARG(title));
  for (int k = 0; k < a->rank; k++) strbuf_printf(&out, "%lldx", (long long)a->dims[k]);
  strbuf_printf(&out, "%s {", hlo_dtype_table[a->dtype].stablehlo_name);
  int64_t n = interp_count(a);
  for (int64_t i = 0; i < n; i++) {
    if (i) strbuf_append_cstr(&out, ", ");
    hlo_element_print(&out, a->dtype, a->data, i);
  }
  strbuf_append_cstr(&out, "}\n");
  host->print(host->user, strbuf_view(&out));
  strbuf_deinit(&out);
}

static lemnos_status run_print(interp_call *c) {
  interp_print_value(c, HLO_ATTRS(c->in->src, print)->format, interp_arg(c, 0));
  for (int r = 0; r < c->in->n_results; r++) interp_value_share(interp_result_value(c, r), interp_arg_value(c, 0));
  return LEMNOS_SUCCESS;
}

lemnos_status interp_compile_check(interp_compiler *c, interp_insn *in) {
  check *k = ARENA_NEW(c->a, check);
  in->aux = k;
  in->fn = run_check;
  k->tolerance = 1e-4;
  double given = 0;
  switch (in->src->op) {
    case HLO_OP_CHECK_EXPECT_EQ: k->rule = RULE_EQ; break;
    case HLO_OP_CHECK_EXPECT_EQ_CONST:
      k->rule = RULE_EQ;
      k->expected = HLO_ATTRS(in->src, check_const)->value;
      break;
    case HLO_OP_CHECK_EXPECT_ALMOST_EQ:
      k->rule = RULE_ALMOST;
      given = HLO_ATTRS(in->src, check_almost)->tolerance;
      break;
    case HLO_OP_CHECK_EXPECT_ALMOST_EQ_CONST:
      k->rule = RULE_ALMOST;
      k->expected = HLO_ATTRS(in->src, check_almost_const)->value;
      given = HLO_ATTRS(in->src, check_almost_const)->tolerance;
      break;
    case HLO_OP_CHECK_EXPECT_CLOSE:
      k->rule = RULE_CLOSE;
      k->min_ulp = (uint64_t)HLO_ATTRS(in->src, check_close)->min_ulp_difference;
      k->max_ulp = (uint64_t)HLO_ATTRS(in->src, check_close)->max_ulp_difference;
      break;
    case HLO_OP_CHECK_EQ: k->rule = RULE_ALMOST; break;
    case HLO_OP_PRINT:
      in->fn = run_print;
      in->flags |= INTERP_SELF_ALLOC;
      return LEMNOS_SUCCESS;
    default: return interp_refuse(in->src, "operation is not supported");
  }
  if (given != 0) k->tolerance = given;
  return LEMNOS_SUCCESS;
}
