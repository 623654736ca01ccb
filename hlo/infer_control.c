// SPDX-License-Identifier: Apache-2.0
// Shape inference of control flow, calls, tokens and feeds, custom calls, and the check dialect.
//
// Computations are closed: what a StableHLO region captures is passed as an operand, so `while` has one carried value,
// and `conditional` one operand for each branch.
#include "hlo/infer_internal.h"

// --- control flow --------------------------------------------------------------------------------

static bool same_as(infer *f, const hlo_shape *have, const hlo_shape *want, const char *label, const char *what) {
  REQUIRE(f, infer_compatible(have, want) && infer_same_layout(have, want), label, "%s has type %s; expected %s", what,
          infer_text(f, have), infer_text(f, want));
  return true;
}

INFER(WHILE) {
  const hlo_shape *carry = infer_in(f, 0);
  const hlo_computation *cond = f->called[0], *body = f->called[1];
  REQUIRE(f, cond->n_params == 1, "c1", "the condition takes %d parameters; expected 1", cond->n_params);
  CHECK(same_as(f, cond->params[0]->shape, carry, "c1", "the condition's parameter"));
  const hlo_shape *r = infer_result(cond, 0, 1);
  REQUIRE(f, r && r->dtype == HLO_PRED && r->rank == 0, "c1", "the condition's result has type %s; expected pred[]",
          infer_text(f, cond->root->shape));
  REQUIRE(f, body->n_params == 1, "c2", "the body takes %d parameters; expected 1", body->n_params);
  CHECK(same_as(f, body->params[0]->shape, carry, "c2", "the body's parameter"));
  CHECK(same_as(f, body->root->shape, carry, "c2", "the body's result"));
  f->result_label = "c3";
  f->exact_layout = true;
  return carry;
}

// stablehlo.case and stablehlo.if: a pred selects of two branches, an s32 of any number.
INFER(CONDITIONAL) {
  CHECK(infer_scalar(f, 0, "i1"));
  const hlo_shape *selector = infer_in(f, 0);
  REQUIRE(f, selector->dtype == HLO_PRED || selector->dtype == HLO_S32, "i1",
          "the selector has type %s; expected pred[] or s32[]", infer_text(f, selector));
  REQUIRE(f, f->n_called > 0, "c1", "no branches; expected at least one");
  REQUIRE(f, selector->dtype != HLO_PRED || f->n_called == 2, "c1", "a pred selects of %d branches; expected 2",
          f->n_called);
  REQUIRE(f, f->n == f->n_called + 1, "c2",
          "%d operands for %d branches; expected the selector and one for each branch", f->n, f->n_called);
  const hlo_shape *result = f->called[0]->root->shape;
  for (int i = 0; i < f->n_called; i++) {
    const hlo_computation *c = f->called[i];
    CHECK(infer_params_match(f, c, i + 1, 1, "c2"));
    const hlo_shape *r = c->root->shape;
    REQUIRE(f, infer_compatible(r, result) && infer_same_layout(r, result), "c3",
            "branch %d has result %s; expected that of branch 0, %s", i, infer_text(f, r), infer_text(f, result));
    result = infer_join(f, result, r);
    CHECK(result);
  }
  f->result_label = "c4";
  f->exact_layout = true;
  return result;
}

static const hlo_shape *call(infer *f, const char *operands_label, const char *result_label) {
  CHECK(infer_params_match(f, f->called[0], 0, f->n, operands_label));
  f->result_label = result_label;
  f->exact_layout = true;
  return f->called[0]->root->shape;
}

INFER(CALL) {
  return call(f, "c1", "c2");
}
INFER(FUSION) {
  return call(f, "c1", "c2");
}

static bool is_word(char c, bool first) {
  bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (!first && ((c >= '0' && c <= '9') || c == '_'));
}

// namespace.name: letters, digits and '_', then one or more parts of these and '$' after a dot each.
static bool is_namespaced(strv s) {
  size_t i = 0;
  int dots = 0;
  if (!s.len || !is_word(s.data[0], true)) return false;
  while (i < s.len && is_word(s.data[i], false)) i++;
  while (i < s.len && s.data[i] == '.') {
    size_t from = ++i;
    while (i < s.len && (is_word(s.data[i], false) || s.data[i] == '$')) i++;
    if (i == from) return false;
    dots++;
  }
  return i == s.len && dots > 0;
}

INFER(COMPOSITE) {
  strv name = INFER_ATTRS(f, composite)->name;
  REQUIRE(f, is_namespaced(name), "c1", "the name is \"" STRV_FMT "\"; expected \"namespace.name\"", STRV_ARG(name));
  return call(f, "c3", "c4");
}

INFER(CUSTOM_CALL) {
  const hlo_attrs_custom_call *a = INFER_ATTRS(f, custom_call);
  CHECK(infer_need_declared(f));
  int results = hlo_shape_leaves(f->declared);
  REQUIRE(f, a->operand_tuple_aliasing.n % 3 == 0, "i7", "%d numbers of aliasing; expected triples",
          a->operand_tuple_aliasing.n);
  for (int i = 0; i < a->operand_tuple_aliasing.n; i += 3) {
    const int64_t *t = a->operand_tuple_aliasing.data + i;
    REQUIRE(f, t[0] >= 0 && t[0] < results && t[1] >= 0 && t[1] < f->n, "i7",
            "result %lld aliases operand %lld; expected one of %d results and %d operands", (long long)t[0],
            (long long)t[1], results, f->n);
    const hlo_shape *x = infer_in(f, (int)t[1]), *r = hlo_shape_leaf(f->declared, (int)t[0]);
    REQUIRE(f, t[2] >= -1 && t[2] < hlo_shape_leaves(x), "i7", "operand leaf %lld; expected one in [-1, %d)",
            (long long)t[2], hlo_shape_leaves(x));
    if (t[2] >= 0) x = hlo_shape_leaf(x, (int)t[2]);
    REQUIRE(f, infer_compatible(x, r), "i7", "result %s aliases an operand of type %s; expected equal types",
            infer_text(f, r), infer_text(f, x));
  }
  return f->declared;
}

// --- tokens and feeds ----------------------------------------------------------------------------

static bool token(infer *f, int i, const char *label) {
  REQUIRE(f, hlo_shape_is_token(infer_in(f, i)), label, "operand %d has type %s; expected a token", i,
          infer_text(f, infer_in(f, i)));
  return true;
}

INFER(AFTER_ALL) {
  for (int i = 0; i < f->n; i++) CHECK(token(f, i, "i1"));
  return hlo_shape_token(f->shapes);
}

INFER(CREATE_TOKEN) {
  return hlo_shape_token(f->shapes);
}

// Results of infeed and recv: arrays, then a token. Labels: at least one, arrays, token.
static const hlo_shape *fed(infer *f, const char *none, const char *arrays, const char *last) {
  CHECK(token(f, 0, "i1"));
  CHECK(infer_need_declared(f));
  const hlo_shape *r = f->declared;
  if (hlo_shape_is_token(r)) return r;
  REQUIRE(f, !hlo_shape_is_tuple(r) || r->n_elements > 0, none, "no results; expected at least a token");
  REQUIRE(f, hlo_shape_is_tuple(r) && hlo_shape_is_token(r->elements[r->n_elements - 1]), last,
          "the result has type %s; expected a token last", infer_text(f, r));
  for (int i = 0; i < r->n_elements - 1; i++)
    REQUIRE(f, hlo_shape_is_array(r->elements[i]), arrays, "result %d has type %s; expected an array", i,
            infer_text(f, r->elements[i]));
  return r;
}

INFER(INFEED) {
  return fed(f, "c1", "c2", "c3");
}

INFER(OUTFEED) {
  CHECK(infer_arrays(f, 0, f->n - 1, "i1"));
  CHECK(token(f, f->n - 1, "i2"));
  return hlo_shape_token(f->shapes);
}

// Channel types as StableHLO numbers them.
enum { DEVICE_TO_DEVICE = 1, DEVICE_TO_HOST = 2, HOST_TO_DEVICE = 3 };

static bool channel(infer *f, int to_or_from_host) {
  const hlo_attrs_send_recv *a = INFER_ATTRS(f, send_recv);
  int want = a->is_host_transfer ? to_or_from_host : DEVICE_TO_DEVICE;
  REQUIRE(f, a->channel_type == want, "c5", "channel_type is %lld; expected %d, since is_host_transfer is %s",
          (long long)a->channel_type, want, a->is_host_transfer ? "true" : "false");
  for (int i = 0; i < a->source_target_pairs.n; i++) {
    const int64_t *p = a->source_target_pairs.data;
    REQUIRE(f, p[2 * i] >= 0 && p[2 * i + 1] >= 0, "c4", "pair %d is (%lld, %lld); expected ids >= 0", i,
            (long long)p[2 * i], (long long)p[2 * i + 1]);
    for (int k = 0; k < i; k++) {
      REQUIRE(f, p[2 * i] != p[2 * k], "c2", "source %lld stands in pairs %d and %d; expected distinct sources",
              (long long)p[2 * i], k, i);
      REQUIRE(f, p[2 * i + 1] != p[2 * k + 1], "c3", "target %lld stands in pairs %d and %d; expected distinct targets",
              (long long)p[2 * i + 1], k, i);
    }
  }
  return true;
}

INFER(SEND) {
  CHECK(infer_arrays(f, 0, f->n - 1, "i1"));
  CHECK(token(f, f->n - 1, "i2"));
  CHECK(channel(f, DEVICE_TO_HOST));
  return hlo_shape_token(f->shapes);
}

INFER(RECV) {
  CHECK(channel(f, HOST_TO_DEVICE));
  return fed(f, "result", "result", "result");
}

// --- checks --------------------------------------------------------------------------------------

static const hlo_shape *check_pair(infer *f, const hlo_shape *expected) {
  const hlo_shape *x = infer_in(f, 0);
  CHECK(infer_array(f, 0, "i1"));
  REQUIRE(f, hlo_shape_is_array(expected) && infer_compatible_dims(x, expected), "c1",
          "the operand has type %s; expected %s", infer_text(f, x), infer_text(f, expected));
  // A quantized value is compared by its storage values.
  REQUIRE(f, x->dtype == expected->dtype && (!x->quant || !expected->quant || infer_same_type(x, expected)), "c1",
          "the operand has elements of type %s; expected %s", infer_text_type(f, x), infer_text_type(f, expected));
  return infer_empty_tuple(f);
}

static const hlo_shape *check_float_pair(infer *f, const hlo_shape *expected) {
  CHECK(infer_class(f, 0, "FC", "i1"));
  return check_pair(f, expected);
}

INFER(CHECK_EXPECT_EQ) {
  return check_pair(f, infer_in(f, 1));
}
INFER(CHECK_EXPECT_EQ_CONST) {
  return check_pair(f, INFER_ATTRS(f, check_const)->value->shape);
}
INFER(CHECK_EXPECT_ALMOST_EQ) {
  return check_float_pair(f, infer_in(f, 1));
}
INFER(CHECK_EXPECT_ALMOST_EQ_CONST) {
  return check_float_pair(f, INFER_ATTRS(f, check_almost_const)->value->shape);
}
INFER(CHECK_EXPECT_CLOSE) {
  return check_float_pair(f, infer_in(f, 1));
}

// The one check with a result: whether the operands are equal.
INFER(CHECK_EQ) {
  int64_t none = 0;
  CHECK(check_pair(f, infer_in(f, 1)));
  return hlo_shape_array(f->shapes, HLO_PRED, 0, &none);
}

INFER(PRINT) {
  CHECK(infer_array(f, 0, "i1"));
  return infer_empty_tuple(f);
}
