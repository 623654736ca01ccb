// SPDX-License-Identifier: Apache-2.0
// Shape inference of contractions: dot_general, ragged_dot, einsum, convolution, dynamic_conv.
//
// Element types: the specification asks that non-quantized operands agree, and leaves the result's type to the program
// (a dot of bf16 may be declared as f32): a declared type wins, else the result has the left operand's. Like the
// reference implementation, operands of different floating-point types are let through (mixed 8-bit formats).
#include <string.h>

#include "hlo/infer_internal.h"

// --- common to dot and convolution ---------------------------------------------------------------

static bool check_precision(infer *f, hlo_precisions p, const char *label) {
  REQUIRE(f, p.n <= 2, label, "operand_precision has %d entries; expected none or one for each of the 2 operands", p.n);
  return true;
}

typedef struct quant_labels {
  const char *types, *all, *storage, *expressed, *granularity, *hybrid;
} quant_labels;

// Constraints between the element types of lhs, rhs and result. Convolution's and dot_general's are the same, numbered
// apart.
static bool check_types(infer *f, const hlo_shape *a, const hlo_shape *b, const quant_labels *l) {
  const hlo_shape *r = f->declared;
  if (r) REQUIRE(f, hlo_shape_is_array(r), "result", "the result has type %s; expected an array", infer_text(f, r));
  if (!a->quant && !b->quant && !(r && r->quant)) {
    bool mixed = hlo_dtype_is_float(a->dtype) && hlo_dtype_is_float(b->dtype) && r;
    REQUIRE(f, a->dtype == b->dtype || mixed, l->types,
            "operands have elements of types %s and %s; expected equal ones", infer_text_type(f, a),
            infer_text_type(f, b));
    REQUIRE(f,
            !r || hlo_dtype_cls(r->dtype) == hlo_dtype_cls(a->dtype) ||
                (hlo_dtype_is_integer(r->dtype) && hlo_dtype_is_integer(a->dtype)),
            l->types, "the result has elements of type %s; expected a type of the same kind as %s",
            infer_text_type(f, r), infer_text_type(f, a));
    return true;
  }
  CHECK(infer_need_declared(f));
  REQUIRE(f, b->quant && !a->quant == !r->quant, l->all,
          "types are %s, %s, %s; expected rhs quantized, and lhs quantized exactly if the result is",
          infer_text_type(f, a), infer_text_type(f, b), infer_text_type(f, r));
  if (!a->quant) {
    REQUIRE(f, a->dtype == b->quant->expressed && r->dtype == a->dtype, l->hybrid,
            "types are %s, %s, %s; expected lhs and result to have rhs's expressed type", infer_text_type(f, a),
            infer_text_type(f, b), infer_text_type(f, r));
    return true;
  }
  REQUIRE(f, a->dtype == b->dtype, l->storage, "storage types of lhs and rhs are %s and %s; expected equal ones",
          hlo_dtype_table[a->dtype].hlo_name, hlo_dtype_table[b->dtype].hlo_name);
  REQUIRE(f, a->quant->expressed == b->quant->expressed && a->quant->expressed == r->quant->expressed, l->expressed,
          "types are %s, %s, %s; expected equal expressed types", infer_text_type(f, a), infer_text_type(f, b),
          infer_text_type(f, r));
  REQUIRE(f, infer_per_axis(b) || !infer_per_axis(r), l->granularity,
          "the result is quantized per axis, rhs per tensor; expected the result per tensor, too");
  return true;
}

// --- dot -----------------------------------------------------------------------------------------

static hlo_i64s joined(infer *f, hlo_i64s a, hlo_i64s b) {
  int64_t *data = ARENA_ARRAY(f->arena, int64_t, a.n + b.n + 1);
  if (a.n) memcpy(data, a.data, sizeof *data * (size_t)a.n);
  if (b.n) memcpy(data + a.n, b.data, sizeof *data * (size_t)b.n);
  return (hlo_i64s){data, a.n + b.n};
}

static bool check_pairs(infer *f, const hlo_shape *a, const hlo_shape *b, hlo_i64s as, hlo_i64s bs, const char *kind,
                        const char *label) {
  for (int i = 0; i < as.n; i++)
    REQUIRE(f, infer_size_ok(a->dims[as.data[i]], b->dims[bs.data[i]]), label,
            "%s dimensions %lld of lhs and %lld of rhs have sizes %s and %s; expected equal ones", kind,
            (long long)as.data[i], (long long)bs.data[i], infer_text_dim(f, a->dims[as.data[i]]),
            infer_text_dim(f, b->dims[bs.data[i]]));
  return true;
}

static bool check_dot(infer *f, const hlo_dot_dnums *d) {
  const hlo_shape *a = infer_in(f, 0), *b = infer_in(f, 1);
  hlo_i64s lb = d->lhs_batch, rb = d->rhs_batch, lc = d->lhs_contracting, rc = d->rhs_contracting;
  REQUIRE(f, lb.n == rb.n, "c1", "%d batching dimensions in lhs, %d in rhs; expected equal numbers", lb.n, rb.n);
  REQUIRE(f, lc.n == rc.n, "c2", "%d contracting dimensions in lhs, %d in rhs; expected equal numbers", lc.n, rc.n);
  REQUIRE(f, infer_unique(joined(f, lb, lc)), "c3",
          "lhs batching and contracting dimensions are %s and %s; expected distinct entries", infer_text_list(f, lb),
          infer_text_list(f, lc));
  REQUIRE(f, infer_unique(joined(f, rb, rc)), "c4",
          "rhs batching and contracting dimensions are %s and %s; expected distinct entries", infer_text_list(f, rb),
          infer_text_list(f, rc));
  REQUIRE(f, infer_in_range(lb, a->rank), "c5", "lhs batching dimensions are %s; expected entries in [0, %d)",
          infer_text_list(f, lb), a->rank);
  REQUIRE(f, infer_in_range(lc, a->rank), "c6", "lhs contracting dimensions are %s; expected entries in [0, %d)",
          infer_text_list(f, lc), a->rank);
  REQUIRE(f, infer_in_range(rb, b->rank), "c7", "rhs batching dimensions are %s; expected entries in [0, %d)",
          infer_text_list(f, rb), b->rank);
  REQUIRE(f, infer_in_range(rc, b->rank), "c8", "rhs contracting dimensions are %s; expected entries in [0, %d)",
          infer_text_list(f, rc), b->rank);
  CHECK(check_pairs(f, a, b, lb, rb, "batching", "c9"));
  return check_pairs(f, a, b, lc, rc, "contracting", "c10");
}

static void push_free(infer_dims *d, const hlo_shape *s, hlo_i64s x, hlo_i64s y, hlo_i64s z) {
  for (int i = 0; i < s->rank; i++)
    if (!hlo_i64s_contains(x, i) && !hlo_i64s_contains(y, i) && !hlo_i64s_contains(z, i)) infer_push_from(d, s, i);
}

// The integer after "key =" in the text of a dot algorithm; false if it is not there.
static bool algorithm_count(strv text, const char *key, int64_t *out) {
  size_t n = strlen(key);
  for (size_t i = 0; i + n <= text.len; i++) {
    if (memcmp(text.data + i, key, n)) continue;
    strv rest = strv_trim(strv_drop(text, i + n));
    if (!rest.len || rest.data[0] != '=') continue;
    rest = strv_trim(strv_drop(rest, 1));
    size_t k = 0;
    while (k < rest.len && (rest.data[k] == '-' || (rest.data[k] >= '0' && rest.data[k] <= '9'))) k++;
    return strv_parse_i64(strv_take(rest, k), out);
  }
  return false;
}

// The type behind "key =" in the text of a dot algorithm: its letters and digits; empty if it is not there.
static strv algorithm_type(strv text, const char *key) {
  size_t n = strlen(key);
  for (size_t i = 0; i + n <= text.len; i++) {
    if (memcmp(text.data + i, key, n)) continue;
    strv rest = strv_trim(strv_drop(text, i + n));
    if (!rest.len || rest.data[0] != '=') continue;
    rest = strv_trim(strv_drop(rest, 1));
    size_t k = 0;
    while (k < rest.len &&
           (rest.data[k] == '_' || (rest.data[k] >= '0' && rest.data[k] <= '9') ||
            (rest.data[k] >= 'A' && rest.data[k] <= 'Z') || (rest.data[k] >= 'a' && rest.data[k] <= 'z')))
      k++;
    return strv_take(rest, k);
  }
  return (strv){0};
}

static bool is_f8(strv type) {
  return strv_starts_with(type, STRV("f8"));
}

// The specification asks for algorithms that some hardware is known to support: one primitive operation on the operands
// as they are, or a split of both into components of bf16 or tf32 for 3, 6 or 9 of them.
static bool is_known_algorithm(strv lhs, strv rhs, strv sum, int64_t lhs_parts, int64_t rhs_parts, int64_t operations,
                               bool imprecise) {
  if (is_f8(lhs) && is_f8(rhs)) return strv_eq_cstr(sum, "f32") && lhs_parts == 1 && rhs_parts == 1 && operations == 1;
  if (imprecise || lhs_parts != rhs_parts || !strv_eq(lhs, rhs)) return false;
  if (operations == 1 && lhs_parts == 1)
    return strv_eq(lhs, sum) ? strv_eq_cstr(lhs, "f16") || strv_eq_cstr(lhs, "bf16") || strv_eq_cstr(lhs, "f32") ||
                                   strv_eq_cstr(lhs, "f64")
                             : strv_eq_cstr(sum, "f32") &&
                                   (strv_eq_cstr(lhs, "f16") || strv_eq_cstr(lhs, "bf16") || strv_eq_cstr(lhs, "tf32"));
  if (!strv_eq_cstr(sum, "f32")) return false;
  if (strv_eq_cstr(lhs, "tf32")) return operations == 3;
  return strv_eq_cstr(lhs, "bf16") && (operations == 3 || operations == 6 || operations == 9);
}

static bool is_precision_type(strv type) {
  hlo_dtype t;
  return strv_eq_cstr(type, "tf32") || (hlo_dtype_from_stablehlo(type, &t) && hlo_dtype_is_float(t));
}

static bool check_algorithm(infer *f, const hlo_attrs_dot_general *a) {
  if (!a->algorithm.len) return true;
  static const struct {
    const char *key, *label;
  } counts[] = {{"lhs_component_count", "c22"}, {"rhs_component_count", "c23"}, {"num_primitive_operations", "c24"}};
  for (int i = 0; i < a->precision.n; i++)
    REQUIRE(f, a->precision.data[i] == HLO_PRECISION_DEFAULT, "c21",
            "operand_precision[%d] is %s; expected DEFAULT beside an algorithm", i,
            hlo_enum_name(HLO_ATTR_KIND_precision, (int)a->precision.data[i]));
  int64_t count[3] = {1, 1, 1};
  for (int i = 0; i < 3; i++) {
    if (algorithm_count(a->algorithm, counts[i].key, &count[i]))
      REQUIRE(f, count[i] > 0, counts[i].label, "%s is %lld; expected > 0", counts[i].key, (long long)count[i]);
  }
  static const char *const types[] = {"lhs_precision_type", "rhs_precision_type", "accumulation_type"};
  static const char *const type_labels[] = {"i8", "i9", "i10"};
  strv type[3];
  for (int i = 0; i < 3; i++) {
    type[i] = algorithm_type(a->algorithm, types[i]);
    if (!type[i].len) return true;  // not the specification's form: nothing is known of it
    REQUIRE(f, is_precision_type(type[i]), type_labels[i], "%s is " STRV_FMT "; expected a floating-point type or tf32",
            types[i], STRV_ARG(type[i]));
  }
  bool imprecise = strv_eq_cstr(algorithm_type(a->algorithm, "allow_imprecise_accumulation"), "true");
  REQUIRE(f, is_known_algorithm(type[0], type[1], type[2], count[0], count[1], count[2], imprecise), "algorithm",
          "no hardware is known to multiply " STRV_FMT " by " STRV_FMT
          " in %lld and %lld components with %lld primitive "
          "operations, accumulating in " STRV_FMT "%s",
          STRV_ARG(type[0]), STRV_ARG(type[1]), (long long)count[0], (long long)count[1], (long long)count[2],
          STRV_ARG(type[2]), imprecise ? " imprecisely" : "");
  return true;
}

INFER(DOT_GENERAL) {
  static const quant_labels labels = {"c13", "c14", "c17", "c18", "c19", "c20"};
  const hlo_attrs_dot_general *at = INFER_ATTRS(f, dot_general);
  const hlo_dot_dnums *n = &at->dnums;
  CHECK(infer_arrays(f, 0, 2, "i1"));
  CHECK(infer_not_per_axis(f, 0, "i1"));
  const hlo_shape *a = infer_in(f, 0), *b = infer_in(f, 1);
  CHECK(check_dot(f, n));
  CHECK(check_precision(f, at->precision, "c11"));
  if (b->quant) {
    for (int i = 0; i < b->quant->n_scales; i++)
      REQUIRE(f, b->quant->zero_points[i] == 0, "c15", "zero point %d of rhs is %lld; expected 0", i,
              (long long)b->quant->zero_points[i]);
    REQUIRE(f, !infer_per_axis(b) || !hlo_i64s_contains(n->rhs_contracting, b->quant->axis), "c16",
            "rhs is quantized along contracting dimension %d; expected another one", b->quant->axis);
  }
  CHECK(check_types(f, a, b, &labels));
  CHECK(check_algorithm(f, at));
  infer_dims d = {.n = 0};
  for (int i = 0; i < n->lhs_batch.n; i++) infer_push_from(&d, a, (int)n->lhs_batch.data[i]);
  push_free(&d, a, n->lhs_batch, n->lhs_contracting, (hlo_i64s){0});
  push_free(&d, b, n->rhs_batch, n->rhs_contracting, (hlo_i64s){0});
  f->result_label = "c12";
  return infer_make(f, &d, f->declared ? f->declared : a);
}

// --- ragged dot ----------------------------------------------------------------------------------
//
// The ragged dimension of lhs is free (m), contracting (k) or batching (b):
//   m: [b,m,k], [g,b,k,n] -> [b,m,n]     k: [b,m,k], [b,k,n] -> [g,b,m,n]     b: [b,m,k], [b,k,n] -> [b,m,n]
// group_sizes is [g], or has in front the dimensions of lhs outside the ragged one.

static bool check_group_sizes(infer *f, const hlo_dot_dnums *n, int64_t ragged) {
  const hlo_shape *a = infer_in(f, 0), *sizes = infer_in(f, 2);
  REQUIRE(f, sizes->rank >= 1, "c13", "group_sizes is a scalar; expected at least one dimension");
  if (sizes->rank == 1) return true;
  infer_dims want = {.n = 0};
  bool batch = hlo_i64s_contains(n->lhs_batch, ragged), contracting = hlo_i64s_contains(n->lhs_contracting, ragged);
  for (int i = 0; i < n->lhs_batch.n; i++) {
    if (batch && n->lhs_batch.data[i] == ragged) break;
    infer_push_from(&want, a, (int)n->lhs_batch.data[i]);
  }
  for (int i = 0; contracting && n->lhs_contracting.data[i] != ragged; i++)
    infer_push_from(&want, a, (int)n->lhs_contracting.data[i]);
  for (int i = 0; !batch && !contracting && i < ragged; i++)
    if (!hlo_i64s_contains(n->lhs_batch, i) && !hlo_i64s_contains(n->lhs_contracting, i)) infer_push_from(&want, a, i);
  REQUIRE(f, sizes->rank == want.n + 1, "c13", "group_sizes has rank %d; expected 1 or %d", sizes->rank, want.n + 1);
  for (int i = 0; i < want.n; i++)
    REQUIRE(f, infer_size_ok(sizes->dims[i], want.size[i]), "c13",
            "group_sizes has size %s in dimension %d; expected %s", infer_text_dim(f, sizes->dims[i]), i,
            infer_text_dim(f, want.size[i]));
  return true;
}

INFER(RAGGED_DOT) {
  static const quant_labels labels = {"c14", "i1", "i1", "i1", "i1", "i1"};
  const hlo_attrs_ragged_dot *at = INFER_ATTRS(f, ragged_dot);
  const hlo_dot_dnums *n = &at->dnums;
  hlo_i64s groups = at->rhs_group_dimensions;
  CHECK(infer_arrays(f, 0, 2, "i1"));
  CHECK(infer_class(f, 2, "I", "i3"));
  const hlo_shape *a = infer_in(f, 0), *b = infer_in(f, 1), *sizes = infer_in(f, 2);
  REQUIRE(f, !a->quant && !b->quant, "i1", "operands are quantized; expected plain elements");
  CHECK(check_precision(f, at->precision, "c11"));
  CHECK(check_dot(f, n));
  CHECK(check_types(f, a, b, &labels));
  REQUIRE(f, at->lhs_ragged_dimensions.n == 1, "c12", "lhs_ragged_dims is %s; expected exactly one dimension",
          infer_text_list(f, at->lhs_ragged_dimensions));
  int64_t ragged = at->lhs_ragged_dimensions.data[0];
  REQUIRE(f, ragged >= 0 && ragged < a->rank, "c12", "the ragged dimension is %lld; expected one in [0, %d)",
          (long long)ragged, a->rank);
  CHECK(check_group_sizes(f, n, ragged));
  bool contracting = hlo_i64s_contains(n->lhs_contracting, ragged), batch = hlo_i64s_contains(n->lhs_batch, ragged);
  int64_t g = sizes->dims[sizes->rank - 1];
  REQUIRE(f, infer_in_range(groups, b->rank), "c15", "rhs_group_dims is %s; expected entries in [0, %d)",
          infer_text_list(f, groups), b->rank);
  REQUIRE(f, infer_unique(joined(f, groups, joined(f, n->rhs_batch, n->rhs_contracting))), "c16",
          "rhs_group_dims is %s; expected dimensions that are neither batching nor contracting",
          infer_text_list(f, groups));
  REQUIRE(f, groups.n == (contracting || batch ? 0 : 1), "c17", "rhs_group_dims is %s; expected %s",
          infer_text_list(f, groups),
          contracting || batch ? "none with a ragged batching or contracting dimension" : "one dimension");
  if (groups.n)
    REQUIRE(f, infer_size_ok(b->dims[groups.data[0]], g), "c18", "rhs's group dimension has size %s; expected %s",
            infer_text_dim(f, b->dims[groups.data[0]]), infer_text_dim(f, g));
  infer_dims d = {.n = 0};
  if (contracting) infer_push(&d, g, HLO_DYNAMIC);
  for (int i = 0; i < n->lhs_batch.n; i++) infer_push_from(&d, a, (int)n->lhs_batch.data[i]);
  push_free(&d, a, n->lhs_batch, n->lhs_contracting, (hlo_i64s){0});
  push_free(&d, b, n->rhs_batch, n->rhs_contracting, groups);
  return infer_make(f, &d, f->declared ? f->declared : a);
}

// --- einsum --------------------------------------------------------------------------------------

// "ij,jk->ik" with one letter for each dimension; ellipses are not supported.
static const hlo_shape *einsum(infer *f, int n) {
  strv config = INFER_ATTRS(f, einsum)->config;
  int64_t size[128];
  bool seen[128] = {false};
  int operand = 0, k = 0;
  size_t i = 0;
  CHECK(infer_arrays(f, 0, n, "i1"));
  for (; i < config.len; i++) {
    unsigned char c = (unsigned char)config.data[i];
    if (c == '-' || c == ',') {
      REQUIRE(f, k == infer_in(f, operand)->rank, "c1", "config \"" STRV_FMT "\" gives operand %d rank %d; expected %d",
              STRV_ARG(config), operand, k, infer_in(f, operand)->rank);
      if (c == '-') break;
      REQUIRE(f, ++operand < n, "c1", "config \"" STRV_FMT "\" has more than %d operands", STRV_ARG(config), n);
      k = 0;
      continue;
    }
    if (c == ' ') continue;
    REQUIRE(f, c < 128 && c != '.', "c1", "config \"" STRV_FMT "\" has '%c'; expected letters (no ellipsis)",
            STRV_ARG(config), c);
    REQUIRE(f, k < infer_in(f, operand)->rank, "c1", "config \"" STRV_FMT "\" names too many dimensions of operand %d",
            STRV_ARG(config), operand);
    int64_t here = infer_in(f, operand)->dims[k++];
    REQUIRE(f, !seen[c] || infer_size_ok(size[c], here), "c2",
            "dimension '%c' has sizes %s and %s; expected equal ones", c, infer_text_dim(f, size[c]),
            infer_text_dim(f, here));
    if (!seen[c] || infer_is_dynamic(size[c])) size[c] = here;
    seen[c] = true;
  }
  REQUIRE(f, operand == n - 1 && i + 1 < config.len && config.data[i + 1] == '>', "c1",
          "config is \"" STRV_FMT "\"; expected %d operands and \"->\"", STRV_ARG(config), n);
  infer_dims d = {.n = 0};
  for (i += 2; i < config.len; i++) {
    unsigned char c = (unsigned char)config.data[i];
    if (c == ' ') continue;
    REQUIRE(f, c < 128 && seen[c], "c1", "config \"" STRV_FMT "\" has '%c' in the result only", STRV_ARG(config), c);
    infer_push(&d, size[c], HLO_DYNAMIC);
  }
  return infer_make(f, &d, infer_in(f, 0));
}

INFER(EINSUM) {
  return einsum(f, 2);
}
INFER(UNARY_EINSUM) {
  return einsum(f, 1);
}

// --- convolution ---------------------------------------------------------------------------------

static bool check_labels(infer *f, int64_t a, int64_t b, hlo_i64s spatial, int rank, const char *what,
                         const char *size_label, const char *label) {
  REQUIRE(f, spatial.n == rank - 2, size_label, "%d spatial dimensions of the %s; expected %d", spatial.n, what,
          rank - 2);
  int64_t ends[2] = {a, b};
  hlo_i64s all = joined(f, (hlo_i64s){ends, 2}, spatial);
  REQUIRE(f, infer_in_range(all, rank) && infer_unique(all), label,
          "dimensions of the %s are %s; expected each of 0..%d once", what, infer_text_list(f, all), rank - 1);
  return true;
}

static bool divides(int64_t n, int64_t size) {
  return infer_is_dynamic(size) || size % n == 0;
}

static bool check_conv(infer *f, const hlo_attrs_convolution *at) {
  const hlo_shape *x = infer_in(f, 0), *k = infer_in(f, 1);
  const hlo_conv_dnums *d = &at->dnums;
  REQUIRE(f, x->rank == k->rank && x->rank >= 2, "c1", "operands have ranks %d and %d; expected equal ones, at least 2",
          x->rank, k->rank);
  CHECK(check_labels(f, d->input_batch, d->input_feature, d->input_spatial, x->rank, "input", "c12", "c13"));
  CHECK(check_labels(f, d->kernel_input_feature, d->kernel_output_feature, d->kernel_spatial, x->rank, "kernel", "c17",
                     "c18"));
  CHECK(check_labels(f, d->output_batch, d->output_feature, d->output_spatial, x->rank, "result", "c19", "c20"));
  long long fg = at->feature_group_count, bg = at->batch_group_count;
  REQUIRE(f, fg > 0, "c21", "feature_group_count is %lld; expected > 0", fg);
  REQUIRE(f, bg > 0, "c22", "batch_group_count is %lld; expected > 0", bg);
  REQUIRE(f, fg == 1 || bg == 1, "c23",
          "feature_group_count and batch_group_count are %lld and %lld; expected one of them 1", fg, bg);
  int64_t batch = x->dims[d->input_batch], in = x->dims[d->input_feature];
  int64_t kernel_in = k->dims[d->kernel_input_feature], out = k->dims[d->kernel_output_feature];
  REQUIRE(f, divides(bg, batch), "c10", "the batch size %s is no multiple of batch_group_count %lld",
          infer_text_dim(f, batch), bg);
  REQUIRE(f, divides(fg, in), "c11", "the input feature size %s is no multiple of feature_group_count %lld",
          infer_text_dim(f, in), fg);
  REQUIRE(f, infer_is_dynamic(in) || infer_size_ok(kernel_in, in / fg), "c14",
          "the kernel's input feature size is %s; expected %s / %lld", infer_text_dim(f, kernel_in),
          infer_text_dim(f, in), fg);
  REQUIRE(f, divides(bg, out), "c15", "the kernel's output feature size %s is no multiple of batch_group_count %lld",
          infer_text_dim(f, out), bg);
  REQUIRE(f, divides(fg, out), "c16", "the kernel's output feature size %s is no multiple of feature_group_count %lld",
          infer_text_dim(f, out), fg);
  return check_precision(f, at->precision, "c24");
}

// paddings: 2 per spatial dimension when they are an operand (dynamic_conv) that is constant; NULL: those of the
// window, or unknown if `known` is false.
static const hlo_shape *conv_result(infer *f, const hlo_attrs_convolution *at, const int64_t *paddings, bool known) {
  static const infer_window_labels labels = {NULL, "c3", "c6", "c8", "c25"};
  const hlo_shape *x = infer_in(f, 0), *k = infer_in(f, 1);
  const hlo_conv_dnums *n = &at->dnums;
  infer_dims d = {.n = x->rank};
  REQUIRE(f, at->window.n == x->rank - 2, "c2", "the window has %d dimensions; expected %d", at->window.n, x->rank - 2);
  for (int i = 0; i < d.n; i++) d.bound[i] = HLO_DYNAMIC;
  int64_t batch = x->dims[n->input_batch];
  d.size[n->output_batch] = infer_is_dynamic(batch) ? batch : batch / at->batch_group_count;
  if (infer_is_dynamic(batch) && at->batch_group_count == 1)
    d.bound[n->output_batch] = infer_bound(x, (int)n->input_batch);
  d.size[n->output_feature] = k->dims[n->kernel_output_feature];
  d.bound[n->output_feature] = infer_bound(k, (int)n->kernel_output_feature);
  for (int i = 0; i < at->window.n; i++) {
    hlo_window_dim w = at->window.dims[i];
    int64_t size = k->dims[n->kernel_spatial.data[i]], *to = &d.size[n->output_spatial.data[i]];
    REQUIRE(f, w.size == size || infer_is_dynamic(size) || infer_is_dynamic(w.size), "c25",
            "window dimension %d has size %s; expected the kernel's %s", i, infer_text_dim(f, w.size),
            infer_text_dim(f, size));
    w.size = size;
    if (paddings) {
      w.pad_low = paddings[2 * i];
      w.pad_high = paddings[2 * i + 1];
    }
    CHECK(infer_window(f, i, &w, x->dims[n->input_spatial.data[i]], &labels, to));
    if (!known) *to = HLO_DYNAMIC;
  }
  f->result_label = "c25";
  return infer_make(f, &d, f->declared ? f->declared : x);
}

static bool conv_types(infer *f, const hlo_attrs_convolution *at) {
  static const quant_labels labels = {"c27", "c28", "c31", "c32", "c33", "c34"};
  const hlo_shape *x = infer_in(f, 0), *k = infer_in(f, 1), *r = f->declared;
  CHECK(infer_not_per_axis(f, 0, "i1"));
  REQUIRE(f, !infer_per_axis(k) || k->quant->axis == at->dnums.kernel_output_feature, "c29",
          "the kernel is quantized along dimension %d; expected its output feature dimension %lld", k->quant->axis,
          (long long)at->dnums.kernel_output_feature);
  REQUIRE(f, !r || !infer_per_axis(r) || r->quant->axis == at->dnums.output_feature, "c30",
          "the result is quantized along dimension %d; expected its output feature dimension %lld", r->quant->axis,
          (long long)at->dnums.output_feature);
  REQUIRE(f, !r || !hlo_shape_is_array(r) || r->rank == x->rank, "c26", "the result has rank %d; expected %d", r->rank,
          x->rank);
  return check_types(f, x, k, &labels);
}

INFER(CONVOLUTION) {
  const hlo_attrs_convolution *at = INFER_ATTRS(f, convolution);
  CHECK(infer_arrays(f, 0, 2, "i1"));
  CHECK(check_conv(f, at));
  CHECK(conv_types(f, at));
  return conv_result(f, at, NULL, true);
}

INFER(DYNAMIC_CONV) {
  const hlo_attrs_convolution *at = INFER_ATTRS(f, convolution);
  CHECK(infer_arrays(f, 0, 2, "i1"));
  CHECK(infer_class(f, 2, "I", "i3"));
  CHECK(check_conv(f, at));
  CHECK(conv_types(f, at));
  const hlo_shape *p = infer_in(f, 2);
  int spatial = infer_in(f, 0)->rank - 2;
  REQUIRE(f, p->rank == 2 && infer_size_ok(p->dims[0], spatial) && infer_size_ok(p->dims[1], 2), "c4",
          "padding has type %s; expected shape [%d, 2]", infer_text(f, p), spatial);
  const hlo_instr *in = f->in[2];
  int64_t values[2 * INFER_MAX_RANK];
  bool known = in->op == HLO_OP_CONSTANT && in->attrs && hlo_constant_value(in) && hlo_constant_value(in)->data &&
               hlo_shape_elements(hlo_constant_value(in)->shape) == 2 * spatial;
  for (int i = 0; known && i < 2 * spatial; i++) values[i] = hlo_literal_get_i64(hlo_constant_value(in), i);
  return conv_result(f, at, known ? values : NULL, known);
}
