// SPDX-License-Identifier: Apache-2.0
// Import: einsum and unary_einsum to sum, dot_general and transpose.
//
// Labels of both operands and of the result are batch dimensions, labels of both operands only are contracted, labels
// of one operand only are summed beforehand; dot_general then gives (batch, lhs free, rhs free), which a transpose
// brings into the asked order. What is summed beforehand is summed in f64 (c128, the result's integers) and multiplied
// in that type, so that only the result is rounded. "..." stands for dimensions that get labels of their own, aligned
// at the end. Where a label stands twice in one operand, the diagonal is taken first, by a unary_einsum ("aab->ab").
#include "frontend/import_internal.h"

enum { MAX_LABELS = 64, ELLIPSIS = 1000 };

typedef struct labels {
  int data[MAX_LABELS];
  int n;
} labels;

static int find(const labels *l, int label) {
  for (int i = 0; i < l->n; i++)
    if (l->data[i] == label) return i;
  return -1;
}

// rank < 0: the result, whose ellipsis stands for `ellipsis` dimensions.
static bool parse_labels(import_ctx *c, const mlir_op *op, strv text, int rank, int *ellipsis, labels *out) {
  int letters = 0;
  bool dots = false;
  for (size_t i = 0; i < text.len; i++) {
    if (text.data[i] == '.')
      dots = true;
    else if (text.data[i] != ' ')
      letters++;
  }
  int n_dots = rank < 0 ? *ellipsis : dots ? rank - letters : 0;
  if (rank >= 0 && dots && n_dots > *ellipsis) *ellipsis = n_dots;
  out->n = 0;
  bool bad = n_dots < 0 || letters + n_dots > MAX_LABELS || (rank >= 0 && letters + n_dots != rank);
  for (size_t i = 0; i < text.len && !bad; i++) {
    char ch = text.data[i];
    if (ch == ' ') continue;
    if (ch == '.') {
      bad = !(i + 2 < text.len && text.data[i + 1] == '.' && text.data[i + 2] == '.');
      for (int k = 0; k < n_dots && !bad; k++) out->data[out->n++] = ELLIPSIS + n_dots - 1 - k;
      i += 2;
    } else {
      bad = !((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z'));
      if (rank < 0 && find(out, ch) >= 0)
        return import_fail(c, op->loc, "'" STRV_FMT "': the label '%c' stands twice in the result", STRV_ARG(op->name),
                           ch);
      out->data[out->n++] = ch;
    }
  }
  if (bad)
    return import_fail(c, op->loc, "'" STRV_FMT "': einsum_config does not fit the operands", STRV_ARG(op->name));
  return true;
}

static bool config(import_ctx *c, const mlir_op *op, strv *lhs, strv *rhs, strv *result) {
  const mlir_attr *a = mlir_op_attr(op, "einsum_config");
  strv text = a && a->kind == MLIR_ATTR_STRING ? a->string : (strv){0};
  for (size_t i = 0; i + 1 < text.len; i++) {
    if (text.data[i] != '-' || text.data[i + 1] != '>') continue;
    *result = strv_drop(text, i + 2);
    bool two = strv_split(strv_take(text, i), ',', lhs, rhs);
    if (two == (op->n_operands == 2)) return true;
    break;
  }
  return import_fail(c, op->loc, "'" STRV_FMT "': einsum_config must have the form \"ab,bc->ac\"", STRV_ARG(op->name));
}

static bool tensors(import_ctx *c, const mlir_op *op, hlo_instr *const *x) {
  for (int i = 0; i < op->n_operands; i++)
    if (!hlo_shape_is_array(x[i]->shape) || x[i]->shape->quant)
      return import_fail(c, op->loc, "operand %d of '" STRV_FMT "' is not a tensor of numbers", i, STRV_ARG(op->name));
  return true;
}

// x without repeated labels.
static hlo_instr *diagonal(import_ctx *c, import_scope *s, const mlir_op *op, hlo_instr *x, labels *l) {
  labels distinct = {.n = 0};
  int64_t dims[MAX_LABELS];
  strbuf text = {0}, result = {0};
  for (int i = 0; i < l->n; i++) {
    int k = find(&distinct, l->data[i]);
    int64_t size = x->shape->dims[i];
    if (k < 0) {
      k = distinct.n++;
      distinct.data[k] = l->data[i];
      dims[k] = size;
      strbuf_append_char(&result, (char)(k < 26 ? 'a' + k : 'A' + k - 26));
    } else if (dims[k] != size) {
      import_fail(c, op->loc, "'" STRV_FMT "': one label stands for two sizes", STRV_ARG(op->name));
      x = NULL;
      break;
    }
    strbuf_append_char(&text, (char)(k < 26 ? 'a' + k : 'A' + k - 26));
  }
  if (x && distinct.n < l->n) {
    hlo_attrs_einsum *attrs = hlo_attrs_create(c->arena, HLO_ATTR_LIST_einsum);
    attrs->config = strv_from_cstr(arena_printf(c->arena, "%s->%s", text.data, result.data));
    const hlo_shape *shape = hlo_shape_array(c->module->shapes, x->shape->dtype, distinct.n, dims);
    x = import_emit(c, s, HLO_OP_UNARY_EINSUM, shape, 1, &x, 0, NULL, attrs, op->loc);
    *l = distinct;
  }
  strbuf_deinit(&text);
  strbuf_deinit(&result);
  return x;
}

// What sums beforehand are computed in, for a result of type `result`.
static hlo_dtype sum_type(hlo_dtype x, hlo_dtype result) {
  if (hlo_dtype_is_complex(x)) return HLO_C128;
  if (hlo_dtype_is_float(x)) return HLO_F64;
  return hlo_dtype_is_integer(x) && hlo_dtype_table[result].bits > hlo_dtype_table[x].bits ? result : x;
}

static bool all_found(const labels *l, const labels *a, const labels *b) {
  for (int i = 0; i < l->n; i++)
    if (find(a, l->data[i]) < 0 && (!b || find(b, l->data[i]) < 0)) return false;
  return true;
}

static hlo_instr *converted(import_scope *s, const mlir_op *op, hlo_instr *x, hlo_dtype t) {
  hlo_builder b = import_builder(s, op->loc);
  return hlo_build_convert(&b, x, t);
}

// Sums over the labels of x that neither of a and b (may be NULL) has.
static hlo_instr *sum_others(import_ctx *c, import_scope *s, hlo_instr *x, labels *l, const labels *a, const labels *b,
                             const loc *where) {
  int64_t dims[MAX_LABELS];
  int n = 0, kept = 0;
  for (int i = 0; i < l->n; i++) {
    if ((a && find(a, l->data[i]) >= 0) || (b && find(b, l->data[i]) >= 0))
      l->data[kept++] = l->data[i];
    else
      dims[n++] = i;
  }
  l->n = kept;
  if (!n) return x;
  hlo_builder builder = import_builder(s, where);
  hlo_instr *operands[2] = {x, hlo_build_scalar_f64(&builder, x->shape->dtype, 0)};
  hlo_computation *body = hlo_build_binary_computation(c->module, HLO_OP_ADD, x->shape->dtype);
  hlo_attrs_dimensions *attrs = hlo_attrs_create(c->arena, HLO_ATTR_LIST_dimensions);
  attrs->dimensions = hlo_i64s_copy(c->arena, dims, n);
  return import_emit(c, s, HLO_OP_REDUCE, NULL, 2, operands, 1, &body, attrs, where);
}

static bool to_order(import_ctx *c, import_scope *s, const mlir_op *op, hlo_instr *x, const labels *have,
                     const labels *want) {
  int64_t permutation[MAX_LABELS];
  bool same = true;
  if (have->n != want->n)
    return import_refuse(c, op->loc, "'" STRV_FMT "': a label of the result is in no operand", STRV_ARG(op->name));
  for (int i = 0; i < want->n; i++) {
    permutation[i] = find(have, want->data[i]);
    if (permutation[i] < 0)
      return import_fail(c, op->loc, "'" STRV_FMT "': a label of the result is in no operand", STRV_ARG(op->name));
    same &= permutation[i] == i;
  }
  const hlo_shape *shape = import_result_shape(c, op);
  if (!shape) return false;
  if (!same) {
    hlo_attrs_transpose *attrs = hlo_attrs_create(c->arena, HLO_ATTR_LIST_transpose);
    attrs->permutation = hlo_i64s_copy(c->arena, permutation, want->n);
    x = import_emit(c, s, HLO_OP_TRANSPOSE, shape, 1, &x, 0, NULL, attrs, op->loc);
  } else if (x->shape != shape) {
    return import_fail(c, op->loc, "'" STRV_FMT "': the result has another type than einsum_config gives",
                       STRV_ARG(op->name));
  }
  return x && import_bind_results(c, s, op, x);
}

static void push(hlo_i64s *l, int64_t *room, int64_t x) {
  room[l->n++] = x;
  l->data = room;
}

bool import_einsum(import_ctx *c, import_scope *s, const mlir_op *op) {
  strv lt = {0}, rt = {0}, ot = {0};
  labels l, r, o, got = {.n = 0};
  int ellipsis = 0;
  bool ok;
  if (op->n_operands != 2) return import_fail(c, op->loc, "'stablehlo.einsum' needs two operands");
  hlo_instr **x = import_operands(c, s, op);
  if (!x || !tensors(c, op, x) || !config(c, op, &lt, &rt, &ot) ||
      !parse_labels(c, op, lt, x[0]->shape->rank, &ellipsis, &l) ||
      !parse_labels(c, op, rt, x[1]->shape->rank, &ellipsis, &r) || !parse_labels(c, op, ot, -1, &ellipsis, &o))
    return false;
  hlo_instr *operands[2];
  const hlo_shape *result = import_result_shape(c, op);
  if (!result || !hlo_shape_is_array(result))
    return result && import_fail(c, op->loc, "'stablehlo.einsum' has no tensor as its result");
  if (!(x[0] = diagonal(c, s, op, x[0], &l)) || !(x[1] = diagonal(c, s, op, x[1], &r))) return false;
  hlo_dtype product = result->dtype;
  if (!all_found(&l, &r, &o) || !all_found(&r, &l, &o)) {
    product = sum_type(x[0]->shape->dtype, product);
    for (int k = 0; k < 2; k++) x[k] = converted(s, op, x[k], sum_type(x[k]->shape->dtype, result->dtype));
  }
  if (!(operands[0] = sum_others(c, s, x[0], &l, &r, &o, op->loc)) ||
      !(operands[1] = sum_others(c, s, x[1], &r, &l, &o, op->loc)))
    return false;
  int64_t *room = ARENA_ARRAY(c->arena, int64_t, 4 * MAX_LABELS);
  hlo_attrs_dot_general *attrs = hlo_attrs_create(c->arena, HLO_ATTR_LIST_dot_general);
  hlo_dot_dnums *d = &attrs->dnums;
  for (int i = 0; i < l.n; i++) {
    int j = find(&r, l.data[i]);
    bool kept = find(&o, l.data[i]) >= 0;
    if (j < 0) continue;
    push(kept ? &d->lhs_batch : &d->lhs_contracting, room + (kept ? 0 : MAX_LABELS), i);
    push(kept ? &d->rhs_batch : &d->rhs_contracting, room + (kept ? 2 * MAX_LABELS : 3 * MAX_LABELS), j);
    if (kept) got.data[got.n++] = l.data[i];
  }
  for (int i = 0; i < l.n; i++)
    if (find(&r, l.data[i]) < 0) got.data[got.n++] = l.data[i];
  for (int i = 0; i < r.n && got.n < MAX_LABELS; i++)
    if (find(&l, r.data[i]) < 0) got.data[got.n++] = r.data[i];
  mlir_op plain = *op;  // precision_config only
  mlir_attr none = {.kind = MLIR_ATTR_DIALECT};
  mlir_named_attr all[2] = {{STRV("dot_dimension_numbers"), &none},
                            {STRV("precision_config"), mlir_op_attr(op, "precision_config")}};
  plain.attrs = all;
  plain.n_attrs = all[1].value ? 2 : 1;
  hlo_attrs_dot_general *given = import_attrs(c, &plain, HLO_ATTR_LIST_dot_general, &ok);
  if (!ok) return false;
  attrs->precision = given->precision;
  hlo_shape proto = {.dtype = product, .rank = got.n};
  int64_t dims[MAX_LABELS];
  for (int i = 0; i < got.n; i++) {
    int k = find(&l, got.data[i]);
    dims[i] = k >= 0 ? operands[0]->shape->dims[k] : operands[1]->shape->dims[find(&r, got.data[i])];
  }
  proto.dims = dims;
  hlo_instr *dot = import_emit(c, s, HLO_OP_DOT_GENERAL, hlo_shape_intern(c->module->shapes, &proto), 2, operands, 0,
                               NULL, attrs, op->loc);
  return dot && to_order(c, s, op, converted(s, op, dot, result->dtype), &got, &o);
}

bool import_unary_einsum(import_ctx *c, import_scope *s, const mlir_op *op) {
  strv lt = {0}, rt = {0}, ot = {0};
  labels l, o;
  int ellipsis = 0;
  if (op->n_operands != 1) return import_fail(c, op->loc, "'stablehlo.unary_einsum' needs one operand");
  hlo_instr **x = import_operands(c, s, op);
  if (!x || !tensors(c, op, x) || !config(c, op, &lt, &rt, &ot) ||
      !parse_labels(c, op, lt, x[0]->shape->rank, &ellipsis, &l) || !parse_labels(c, op, ot, -1, &ellipsis, &o))
    return false;
  if (!(x[0] = diagonal(c, s, op, x[0], &l))) return false;
  hlo_dtype t = x[0]->shape->dtype;
  if (!all_found(&l, &o, NULL)) x[0] = converted(s, op, x[0], sum_type(t, t));
  hlo_instr *sum = sum_others(c, s, x[0], &l, &o, NULL, op->loc);
  return sum && to_order(c, s, op, converted(s, op, sum, t), &l, &o);
}
