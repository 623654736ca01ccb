// SPDX-License-Identifier: Apache-2.0
// Import: what can be checked on the MLIR operation only, since HLO does not keep it: the tolerances of
// result_accuracy, layouts of custom calls and feeds, the form of backend_config, and where buffers (memref) may stand.
//
// A buffer becomes a plain array: only custom calls read and write it, and in a program of values a write is a new
// value. Labels are the specification's where it has one; where only its text or StableHLO's definition of the
// operation says so, the attribute is named instead.
#include "frontend/import_internal.h"

#define FAIL(c, op, label, ...) fail((c), (op), (label), arena_printf((c)->arena, __VA_ARGS__))

static bool fail(import_ctx *c, const mlir_op *op, const char *label, const char *text) {
  return import_fail(c, op->loc, STRV_FMT "_%s: %s", STRV_ARG(import_op_label(op)), label, text);
}

static const char *type_text(import_ctx *c, const mlir_type *t) {
  return import_type_text(c, t).data;
}

// --- result_accuracy -----------------------------------------------------------------------------

static bool tolerance(const mlir_attr *a, const char *name, double *out) {
  const mlir_attr *e = import_entry(a, name);
  *out = 0;
  if (!e) return true;
  if (e->kind == MLIR_ATTR_FLOAT) *out = e->real;
  if (e->kind == MLIR_ATTR_INTEGER) *out = (double)e->integer;
  return e->kind == MLIR_ATTR_FLOAT || e->kind == MLIR_ATTR_INTEGER;
}

static bool check_accuracy(import_ctx *c, const mlir_op *op, const mlir_attr *a) {
  double atol, rtol, ulps;
  if (a->kind != MLIR_ATTR_DIALECT || !tolerance(a, "atol", &atol) || !tolerance(a, "rtol", &rtol) ||
      !tolerance(a, "ulps", &ulps))
    return FAIL(c, op, "result_accuracy", "the attribute has a form that is not expected");
  if (atol < 0 || rtol < 0 || ulps < 0)
    return FAIL(c, op, "result_accuracy", "tolerances are %g, %g and %g ulp; expected none below 0", atol, rtol, ulps);
  const mlir_attr *mode = import_entry(a, "mode");
  bool by_tolerance = mode && strv_eq_cstr(mode->string, "TOLERANCE");
  if (mode && !by_tolerance && (atol != 0 || rtol != 0 || ulps != 0))
    return FAIL(c, op, "result_accuracy", "tolerances are %g, %g and %g ulp; expected zeros with mode " STRV_FMT, atol,
                rtol, ulps, STRV_ARG(mode->string));
  return true;
}

// --- layouts -------------------------------------------------------------------------------------

static bool check_layout(import_ctx *c, const mlir_op *op, const mlir_type *t, const mlir_attr *layout,
                         const char *what, int i) {
  hlo_i64s order;
  bool seen[64] = {false};
  if (!import_i64s(c, layout, &order) || (layout->kind == MLIR_ATTR_DENSE && layout->type->rank != 1))
    return FAIL(c, op, "layouts", "layout of %s %d is " STRV_FMT "; expected a list of integers", what, i,
                STRV_ARG(strv_take(import_attr_text(c, layout), 100)));
  if (t->kind == MLIR_TYPE_TUPLE)
    return FAIL(c, op, "layouts", "%s %d has type %s; layouts of tuples are not expected", what, i, type_text(c, t));
  if (t->kind != MLIR_TYPE_TENSOR && t->kind != MLIR_TYPE_MEMREF) {
    if (!order.n) return true;
    return FAIL(c, op, "layouts", "%s %d of type %s has a layout of %d dimensions; expected an empty one", what, i,
                type_text(c, t), order.n);
  }
  bool ok = order.n == t->rank && order.n <= 64;
  for (int k = 0; ok && k < order.n; k++) {
    ok = order.data[k] >= 0 && order.data[k] < t->rank && !seen[order.data[k]];
    if (ok) seen[order.data[k]] = true;
  }
  if (ok) return true;
  return FAIL(c, op, "layouts", "layout of %s %d is " STRV_FMT "; expected a permutation of the dimensions of %s", what,
              i, STRV_ARG(strv_take(import_attr_text(c, layout), 100)), type_text(c, t));
}

static bool check_custom_layouts(import_ctx *c, const mlir_op *op) {
  const mlir_attr *in = mlir_op_attr(op, "operand_layouts"), *out = mlir_op_attr(op, "result_layouts");
  if (!in && !out) return true;
  if (!in || !out)
    return FAIL(c, op, "layouts", "only %s are given; expected operand_layouts and result_layouts, or none",
                in ? "operand_layouts" : "result_layouts");
  if (in->kind != MLIR_ATTR_ARRAY || out->kind != MLIR_ATTR_ARRAY)
    return FAIL(c, op, "layouts", "the layouts are no arrays");
  if (in->n_items != op->n_operands)
    return FAIL(c, op, "layouts", "%d operand_layouts; expected %d, one for each operand", in->n_items, op->n_operands);
  for (int i = 0; i < op->n_operands; i++)
    if (!check_layout(c, op, op->operands[i]->type, in->items[i], "operand", i)) return false;
  const mlir_type *t = op->n_results == 1 ? op->results[0].type : NULL;
  bool tuple = t && t->kind == MLIR_TYPE_TUPLE;
  int n = tuple ? t->n_types : op->n_results;
  if (out->n_items != n)
    return FAIL(c, op, "layouts", "%d result_layouts; expected %d, one for each result", out->n_items, n);
  for (int i = 0; i < n; i++)
    if (!check_layout(c, op, tuple ? t->types[i] : op->results[i].type, out->items[i], "result", i)) return false;
  return true;
}

static bool check_infeed_layout(import_ctx *c, const mlir_op *op) {
  const mlir_attr *a = mlir_op_attr(op, "layout");
  hlo_i64s unused;
  if (!a || op->n_results < 1 || op->results[op->n_results - 1].type->kind != MLIR_TYPE_TOKEN) return true;  // c1, c3
  if (a->kind != MLIR_ATTR_ARRAY || a->n_items != op->n_results - 1)
    return FAIL(c, op, "layout", "%d layouts; expected %d, one for each result but the token",
                a->kind == MLIR_ATTR_ARRAY ? a->n_items : 1, op->n_results - 1);
  for (int i = 0; i < a->n_items; i++)
    if (a->items[i]->kind != MLIR_ATTR_ARRAY || !import_i64s(c, a->items[i], &unused))
      return FAIL(c, op, "layout", "layout %d is " STRV_FMT "; expected a list of integers", i,
                  STRV_ARG(strv_take(import_attr_text(c, a->items[i]), 100)));
  return true;
}

// --- buffers -------------------------------------------------------------------------------------

// The part of a type that a path of tuple indices names; NULL if there is none.
static const mlir_type *part_of(const mlir_type *t, hlo_i64s path, int from) {
  for (int i = from; t && i < path.n; i++)
    t = t->kind == MLIR_TYPE_TUPLE && path.data[i] >= 0 && path.data[i] < t->n_types ? t->types[path.data[i]] : NULL;
  return t;
}

static bool same_i64s(hlo_i64s a, hlo_i64s b) {
  return a.n == b.n && (!a.n || !memcmp(a.data, b.data, sizeof *a.data * (size_t)a.n));
}

typedef struct alias_pair {
  hlo_i64s output, leaf;
  int64_t operand;
} alias_pair;

// Buffers below t that no pair's output names. Depth: that of the type.
static bool outputs_aliased(import_ctx *c, const mlir_op *op, const mlir_type *t, int64_t *path, int n,
                            const alias_pair *pairs, int n_pairs) {
  if (t->kind == MLIR_TYPE_TUPLE && n < 16) {
    for (int i = 0; i < t->n_types; i++) {
      path[n] = i;
      if (!outputs_aliased(c, op, t->types[i], path, n + 1, pairs, n_pairs)) return false;
    }
    return true;
  }
  if (t->kind != MLIR_TYPE_MEMREF) return true;
  int found = 0;
  for (int i = 0; i < n_pairs; i++) found += same_i64s(pairs[i].output, (hlo_i64s){path, n});
  if (found == 1) return true;
  return FAIL(c, op, "i7", "a result of type %s is in %d pairs of output_operand_aliases; expected 1", type_text(c, t),
              found);
}

static bool alias_list(import_ctx *c, const mlir_attr *a, const char *name, hlo_i64s *out) {
  const mlir_attr *e = import_entry(a, name);
  *out = (hlo_i64s){0};
  return !e || import_i64s(c, e, out);
}

static bool check_aliases(import_ctx *c, const mlir_op *op, bool special) {
  const mlir_attr *a = mlir_op_attr(op, "output_operand_aliases");
  int n = a && a->kind == MLIR_ATTR_ARRAY ? a->n_items : 0;
  alias_pair *pairs = ARENA_ARRAY(c->arena, alias_pair, n);
  for (int i = 0; i < n; i++) {
    alias_pair *p = &pairs[i];
    if (!alias_list(c, a->items[i], "output_tuple_indices", &p->output) ||
        !alias_list(c, a->items[i], "operand_tuple_indices", &p->leaf) ||
        !import_int(import_entry(a->items[i], "operand_index"), &p->operand) || p->operand < 0 ||
        p->operand >= op->n_operands)
      return FAIL(c, op, "i7", "pair %d of output_operand_aliases names no operand", i);
    int from = op->n_results > 1;
    int64_t result = from ? p->output.n ? p->output.data[0] : -1 : 0;
    const mlir_type *x = part_of(op->operands[p->operand]->type, p->leaf, 0);
    const mlir_type *r =
        result >= 0 && result < op->n_results ? part_of(op->results[result].type, p->output, from) : NULL;
    if (!x || !r) return FAIL(c, op, "i7", "pair %d of output_operand_aliases names no part of a value", i);
    if (x != r && (x->kind == MLIR_TYPE_MEMREF || r->kind == MLIR_TYPE_MEMREF))
      return FAIL(c, op, "i7", "pair %d of output_operand_aliases joins %s and %s; expected equal types", i,
                  type_text(c, x), type_text(c, r));
    for (int k = 0; k < i; k++)
      if (x->kind == MLIR_TYPE_MEMREF && pairs[k].operand == p->operand && same_i64s(pairs[k].leaf, p->leaf))
        return FAIL(c, op, "i7", "a buffer of operand %lld is in two pairs of output_operand_aliases",
                    (long long)p->operand);
  }
  int64_t path[17];
  for (int i = 0; !special && i < op->n_results; i++) {
    path[0] = i;
    if (!outputs_aliased(c, op, op->results[i].type, path, op->n_results > 1, pairs, n)) return false;
  }
  return true;
}

bool import_is_buffer_call(strv target) {
  return strv_eq_cstr(target, "CreateBuffer") || strv_eq_cstr(target, "Pin") || strv_eq_cstr(target, "Unpin");
}

// CreateBuffer: () -> buffer; Pin: tensor -> buffer; Unpin: buffer -> tensor.
static bool check_buffer_call(import_ctx *c, const mlir_op *op, strv target) {
  bool create = strv_eq_cstr(target, "CreateBuffer"), pin = strv_eq_cstr(target, "Pin");
  if (op->n_operands != !create || op->n_results != 1)
    return FAIL(c, op, "i1", STRV_FMT " has %d operands and %d results; expected %d and 1", STRV_ARG(target),
                op->n_operands, op->n_results, !create);
  const mlir_type *r = op->results[0].type, *x = create ? NULL : op->operands[0]->type;
  mlir_type_kind want_r = create || pin ? MLIR_TYPE_MEMREF : MLIR_TYPE_TENSOR;
  mlir_type_kind want_x = pin ? MLIR_TYPE_TENSOR : MLIR_TYPE_MEMREF;
  if (r->kind != want_r || (x && x->kind != want_x))
    return FAIL(c, op, "i1", STRV_FMT " makes %s%s%s; expected %s", STRV_ARG(target), type_text(c, r), x ? " of " : "",
                x ? type_text(c, x) : "",
                create ? "a buffer of nothing"
                : pin  ? "a buffer of a tensor"
                       : "a tensor of a buffer");
  const hlo_shape *a = x ? import_type(c, x, op->loc) : NULL, *b = import_type(c, r, op->loc);
  if (!b || (x && !a)) return false;
  if (x && a != b)
    return FAIL(c, op, "i1", STRV_FMT " makes %s of %s; expected the same shape and element type", STRV_ARG(target),
                type_text(c, r), type_text(c, x));
  return true;
}

static bool has_buffer(const mlir_type *t) {
  if (t->kind == MLIR_TYPE_MEMREF) return true;
  bool found = false;
  for (int i = 0; t->kind == MLIR_TYPE_TUPLE && i < t->n_types; i++) found |= has_buffer(t->types[i]);
  return found;
}

static bool check_buffers(import_ctx *c, const mlir_op *op) {
  static const char *const any_value[] = {"stablehlo.custom_call",
                                          "stablehlo.tuple",
                                          "stablehlo.get_tuple_element",
                                          "stablehlo.while",
                                          "stablehlo.composite",
                                          "func.call",
                                          "call"};
  for (size_t i = 0; i < sizeof any_value / sizeof *any_value; i++)
    if (strv_eq_cstr(op->name, any_value[i])) return true;
  for (int i = 0; i < op->n_operands; i++)
    if (has_buffer(op->operands[i]->type))
      return FAIL(c, op, arena_printf(c->arena, "i%d", i + 1), "operand %d has type %s; expected no buffer", i,
                  type_text(c, op->operands[i]->type));
  for (int i = 0; i < op->n_results; i++)
    if (has_buffer(op->results[i].type))
      return FAIL(c, op, "result", "result %d has type %s; expected no buffer", i, type_text(c, op->results[i].type));
  return true;
}

// --- custom calls --------------------------------------------------------------------------------

static int leaves(const mlir_type *t) {
  int n = t->kind != MLIR_TYPE_TUPLE;
  for (int i = 0; t->kind == MLIR_TYPE_TUPLE && i < t->n_types; i++) n += leaves(t->types[i]);
  return n;
}

// One operand for each result, tuples taken apart, that holds the result's sizes. What StableHLO's getShapeRefinements
// asks for (stablehlo/dialect/Base.cpp); that the sizes are possible ones is seen in refinement.
static bool check_shape_operands(import_ctx *c, const mlir_op *op) {
  const mlir_attr *a = mlir_op_attr(op, "indices_of_shape_operands");
  if (!a || a->kind != MLIR_ATTR_DENSE) return true;  // means nothing, as in StableHLO
  hlo_i64s at;
  int n = 0;
  for (int i = 0; i < op->n_results; i++) n += leaves(op->results[i].type);
  if (a->type->rank != 1) return FAIL(c, op, "indices_of_shape_operands", "it has rank %d; expected 1", a->type->rank);
  if (a->type->element->kind != MLIR_TYPE_INTEGER || a->type->element->width != 64 || !import_i64s(c, a, &at))
    return FAIL(c, op, "indices_of_shape_operands", "its elements have type %s; expected i64",
                type_text(c, a->type->element));
  if (at.n != n)
    return FAIL(c, op, "indices_of_shape_operands", "%d elements; expected one for each of the %d results", at.n, n);
  for (int i = 0; i < n; i++)
    if (at.data[i] < 0 || at.data[i] >= op->n_operands)
      return FAIL(c, op, "indices_of_shape_operands", "element %d is %lld; expected one in [0, %d)", i,
                  (long long)at.data[i], op->n_operands);
  return true;
}

static bool check_custom_call(import_ctx *c, const mlir_op *op) {
  const mlir_attr *target = mlir_op_attr(op, "call_target_name"), *config = mlir_op_attr(op, "backend_config");
  bool special = target && target->kind == MLIR_ATTR_STRING && import_is_buffer_call(target->string);
  if (special && !check_buffer_call(c, op, target->string)) return false;
  int64_t version = import_api_version(mlir_op_attr(op, "api_version"));
  if (version < 0 || version > 4)
    return FAIL(c, op, "i5", "api_version is %lld; expected one in [0, 4]", (long long)version);
  if (config && config->kind == MLIR_ATTR_STRING && !config->string.len) config = NULL;  // as good as none
  if (config && version == 4 && config->kind != MLIR_ATTR_DICT)
    return FAIL(c, op, "i4", "backend_config is " STRV_FMT "; expected a dictionary with API_VERSION_TYPED_FFI",
                STRV_ARG(strv_take(import_attr_text(c, config), 100)));
  if (config && version != 4 && config->kind != MLIR_ATTR_STRING)
    return FAIL(c, op, "i4", "backend_config is " STRV_FMT "; expected a string with api_version %lld",
                STRV_ARG(strv_take(import_attr_text(c, config), 100)), (long long)version);
  return check_custom_layouts(c, op) && check_aliases(c, op, special) && check_shape_operands(c, op);
}

bool import_check_op(import_ctx *c, const mlir_op *op) {
  const mlir_attr *accuracy = op->n_attrs ? mlir_op_attr(op, "result_accuracy") : NULL;
  if (accuracy && !check_accuracy(c, op, accuracy)) return false;
  if (strv_eq_cstr(op->name, "stablehlo.custom_call")) return check_custom_call(c, op);
  if (strv_eq_cstr(op->name, "stablehlo.infeed") && !check_infeed_layout(c, op)) return false;
  return check_buffers(c, op);
}
