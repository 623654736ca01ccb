// SPDX-License-Identifier: Apache-2.0
// Shape inference of linear algebra, batch normalisation and random numbers.
#include "hlo/infer_internal.h"

// --- fft, cholesky, triangular_solve -------------------------------------------------------------

static bool check_fft_type(infer *f, hlo_fft_type t, hlo_dtype in, hlo_dtype *out) {
  if (t == HLO_FFT_TYPE_RFFT) {
    REQUIRE(f, in == HLO_F32 || in == HLO_F64, "c2", "RFFT of elements of type %s; expected f32 or f64",
            hlo_dtype_table[in].hlo_name);
    *out = in == HLO_F32 ? HLO_C64 : HLO_C128;
  } else {
    REQUIRE(f, hlo_dtype_is_complex(in), "c2", "%s of elements of type %s; expected complex ones",
            hlo_enum_name(HLO_ATTR_KIND_fft_type, (int)t), hlo_dtype_table[in].hlo_name);
    *out = t == HLO_FFT_TYPE_IRFFT ? hlo_dtype_real_part(in) : in;
  }
  return true;
}

INFER(FFT) {
  CHECK(infer_class(f, 0, "FC", "i1"));
  const hlo_attrs_fft *a = INFER_ATTRS(f, fft);
  const hlo_shape *x = infer_in(f, 0);
  hlo_i64s len = a->fft_length;
  hlo_dtype t;
  REQUIRE(f, !x->quant, "i1", "operand is quantized; expected plain elements");
  REQUIRE(f, len.n >= 1 && len.n <= 3, "c3", "fft_length is %s; expected 1 to 3 entries", infer_text_list(f, len));
  REQUIRE(f, len.n <= x->rank, "c1", "fft_length is %s; expected at most the operand's rank, %d entries",
          infer_text_list(f, len), x->rank);
  CHECK(check_fft_type(f, a->fft_type, x->dtype, &t));
  infer_dims d = infer_dims_of(x);
  bool real_in = a->fft_type == HLO_FFT_TYPE_RFFT, real_out = a->fft_type == HLO_FFT_TYPE_IRFFT;
  for (int i = 0; i < len.n; i++) {
    int k = x->rank - len.n + i;
    REQUIRE(f, len.data[i] >= 0, "c4", "fft_length is %s; expected entries >= 0", infer_text_list(f, len));
    // The last dimension of a real result is halved in the operand.
    bool last = i == len.n - 1;
    int64_t want = real_out && last ? (len.data[i] == 0 ? 0 : len.data[i] / 2 + 1) : len.data[i];
    REQUIRE(f, infer_size_ok(x->dims[k], want), real_in || !last || !real_out ? "c4" : "c5",
            "operand dimension %d has size %s; expected %lld for fft_length %s", k, infer_text_dim(f, x->dims[k]),
            (long long)want, infer_text_list(f, len));
    if (last && real_in) d.size[k] = len.data[i] == 0 ? 0 : len.data[i] / 2 + 1;
    if (last && real_out) d.size[k] = len.data[i];
    if (!infer_is_dynamic(d.size[k])) d.bound[k] = HLO_DYNAMIC;
  }
  f->result_label = "c5";
  f->type_label = "c2";
  return infer_make_dtype(f, &d, t);
}

INFER(CHOLESKY) {
  CHECK(infer_class(f, 0, "FC", "i1"));
  CHECK(infer_not_per_axis(f, 0, "i1"));
  const hlo_shape *x = infer_in(f, 0);
  REQUIRE(f, x->rank >= 2, "c2", "operand has rank %d; expected at least 2", x->rank);
  REQUIRE(f, infer_size_ok(x->dims[x->rank - 2], x->dims[x->rank - 1]), "c3",
          "operand has shape %s; expected square matrices", infer_text(f, x));
  f->result_label = "c1";
  return x;
}

INFER(TRIANGULAR_SOLVE) {
  CHECK(infer_class(f, 0, "FC", "i1"));
  CHECK(infer_class(f, 1, "FC", "i2"));
  const hlo_attrs_triangular_solve *at = INFER_ATTRS(f, triangular_solve);
  const hlo_shape *a = infer_in(f, 0), *b = infer_in(f, 1);
  REQUIRE(f, infer_same_type(a, b), "c1", "a and b have elements of types %s and %s; expected equal ones",
          infer_text_type(f, a), infer_text_type(f, b));
  REQUIRE(f, a->rank >= 2 && a->rank == b->rank, "c2", "a and b have ranks %d and %d; expected equal ones, at least 2",
          a->rank, b->rank);
  int r = a->rank;
  int64_t shared = b->dims[r - (at->left_side ? 2 : 1)];
  REQUIRE(f, infer_size_ok(a->dims[r - 2], a->dims[r - 1]) && infer_size_ok(a->dims[r - 1], shared), "c3",
          "a and b have shapes %s and %s; expected square matrices of size %s", infer_text(f, a), infer_text(f, b),
          infer_text_dim(f, shared));
  for (int i = 0; i < r - 2; i++)
    REQUIRE(f, infer_size_ok(a->dims[i], b->dims[i]), "c3",
            "a and b have sizes %s and %s in batch dimension %d; expected equal ones", infer_text_dim(f, a->dims[i]),
            infer_text_dim(f, b->dims[i]), i);
  REQUIRE(f, at->transpose_a != HLO_TRANSPOSE_TRANSPOSE_INVALID, "i6",
          "transpose_a is TRANSPOSE_INVALID; expected another value");
  f->result_label = "c4";
  return b;
}

// --- batch normalisation -------------------------------------------------------------------------

// Operands 1..n_small (and no others) have one dimension: the features. Labels: range, types, sizes (one for each).
static bool check_norm(infer *f, int n_small, const char *const *size_labels) {
  const hlo_shape *x = infer_in(f, 0);
  int64_t feature = INFER_ATTRS(f, batch_norm)->feature_index;
  static const char *const inputs[] = {"i1", "i2", "i3", "i4", "i5"};
  for (int i = 0; i < f->n; i++) {
    CHECK(infer_class(f, i, "F", inputs[i]));
    CHECK(infer_not_per_axis(f, i, inputs[i]));
  }
  REQUIRE(f, feature >= 0 && feature < x->rank, "c1", "feature_index is %lld; expected one in [0, %d)",
          (long long)feature, x->rank);
  for (int i = 1; i < f->n; i++)
    REQUIRE(f, infer_same_type(x, infer_in(f, i)), "c2", "operand %d has elements of type %s; expected %s", i,
            infer_text_type(f, infer_in(f, i)), infer_text_type(f, x));
  for (int i = 1; i <= n_small; i++) {
    const hlo_shape *s = infer_in(f, i);
    REQUIRE(f, s->rank == 1, inputs[i], "operand %d has rank %d; expected 1", i, s->rank);
    REQUIRE(f, infer_size_ok(s->dims[0], x->dims[feature]), size_labels[i - 1],
            "operand %d has size %s; expected that of feature dimension %lld, %s", i, infer_text_dim(f, s->dims[0]),
            (long long)feature, infer_text_dim(f, x->dims[feature]));
  }
  return true;
}

// Results: the operand's shape, then twice the features'. Labels: one for each.
static const hlo_shape *norm_results(infer *f, const char *const labels[3]) {
  const hlo_shape *x = infer_in(f, 0);
  infer_dims whole = infer_dims_of(x), d = {.n = 0};
  infer_push_from(&d, x, (int)INFER_ATTRS(f, batch_norm)->feature_index);
  const hlo_shape *parts[3] = {infer_make(f, &whole, x), infer_make(f, &d, x), NULL};
  CHECK(parts[0] && parts[1]);
  parts[2] = parts[1];
  const hlo_shape *r = f->declared;
  for (int i = 0; i < 3 && r && r->n_elements == 3; i++)
    REQUIRE(f, infer_compatible(parts[i], r->elements[i]), labels[i], "result %d has type %s, expected %s", i,
            infer_text(f, r->elements[i]), infer_text(f, parts[i]));
  return hlo_shape_tuple(f->shapes, 3, parts);
}

INFER(BATCH_NORM_TRAINING) {
  static const char *const sizes[] = {"c3", "c4"};
  static const char *const results[] = {"c7", "c5", "c6"};
  CHECK(check_norm(f, 2, sizes));
  f->result_label = "c7";
  return norm_results(f, results);
}

INFER(BATCH_NORM_INFERENCE) {
  static const char *const sizes[] = {"c3", "c4", "c5", "c6"};
  CHECK(check_norm(f, 4, sizes));
  f->result_label = "c7";
  return infer_in(f, 0);
}

INFER(BATCH_NORM_GRAD) {
  static const char *const sizes[] = {"c5", "c4", "c4"};
  static const char *const results[] = {"c3", "c4", "c4"};
  CHECK(check_norm(f, 3, sizes));
  REQUIRE(f, infer_compatible_dims(infer_in(f, 0), infer_in(f, 4)), "c3",
          "grad_output has shape %s; expected the operand's %s", infer_text(f, infer_in(f, 4)),
          infer_text(f, infer_in(f, 0)));
  f->result_label = "c3";
  return norm_results(f, results);
}

// --- random numbers ------------------------------------------------------------------------------

INFER(RNG) {
  CHECK(infer_scalar(f, 0, "i1"));
  CHECK(infer_scalar(f, 1, "i2"));
  CHECK(infer_class(f, 2, "I", "i3"));
  const hlo_shape *a = infer_in(f, 0), *shape = infer_in(f, 2);
  REQUIRE(f, !hlo_dtype_is_complex(a->dtype) && !a->quant, "i1",
          "operand 0 has type %s; expected integer, pred or float", infer_text(f, a));
  REQUIRE(f, infer_same_type(a, infer_in(f, 1)), "c1", "a and b have types %s and %s; expected equal ones",
          infer_text(f, a), infer_text(f, infer_in(f, 1)));
  REQUIRE(f, INFER_ATTRS(f, rng)->distribution != HLO_RNG_DISTRIBUTION_NORMAL || hlo_dtype_is_float(a->dtype), "c2",
          "a NORMAL distribution of type %s; expected a floating-point type", infer_text(f, a));
  REQUIRE(f, shape->rank == 1 && !infer_is_dynamic(shape->dims[0]), "i3",
          "shape has type %s; expected one static dimension", infer_text(f, shape));
  REQUIRE(f, shape->dims[0] <= INFER_MAX_RANK, "c3", "the result has rank %lld; at most %d is supported",
          (long long)shape->dims[0], INFER_MAX_RANK);
  int64_t sizes[INFER_MAX_RANK];
  int n = 0;
  bool known = infer_constant(f, 2, sizes, INFER_MAX_RANK, &n);
  infer_dims d = {.n = 0};
  for (int i = 0; i < shape->dims[0]; i++) {
    REQUIRE(f, !known || sizes[i] >= 0, "c3", "shape[%d] is %lld; expected >= 0", i, (long long)sizes[i]);
    infer_push(&d, known ? sizes[i] : HLO_DYNAMIC, HLO_DYNAMIC);
  }
  f->result_label = "c3";
  return infer_make(f, &d, a);
}

INFER(RNG_BIT_GENERATOR) {
  CHECK(infer_array(f, 0, "i2"));
  CHECK(infer_need_declared(f));
  const hlo_shape *state = infer_in(f, 0), *r = f->declared;
  hlo_rng_algorithm a = INFER_ATTRS(f, rng_bit_generator)->algorithm;
  REQUIRE(f, state->rank == 1 && (state->dtype == HLO_U64 || state->dtype == HLO_U32) && !state->quant, "i2",
          "the state has type %s; expected u64 elements in one dimension", infer_text(f, state));
  // THREE_FRY takes 2 words of 64 bits, PHILOX 2 or 3; u32 states have twice as many.
  int64_t words = infer_is_dynamic(state->dims[0]) ? 2 : state->dims[0];
  if (state->dtype == HLO_U32 && !infer_is_dynamic(state->dims[0])) {
    REQUIRE(f, words % 2 == 0, "c2", "the state has %lld u32 words; expected an even number", (long long)words);
    words /= 2;
  }
  bool ok = a == HLO_RNG_ALGORITHM_DEFAULT || words == 2 || (a == HLO_RNG_ALGORITHM_PHILOX && words == 3);
  REQUIRE(f, ok, "c2", "the state has %lld words; expected %s", (long long)words,
          a == HLO_RNG_ALGORITHM_PHILOX ? "2 or 3" : "2");
  REQUIRE(f, hlo_shape_is_tuple(r) && r->n_elements == 2 && hlo_shape_is_array(r->elements[1]), "result",
          "the result has type %s; expected a tuple (state, output)", infer_text(f, r));
  const hlo_shape *out = r->elements[1];
  REQUIRE(f, infer_class_has("R", out->dtype) && !out->quant && hlo_shape_is_static(out), "result",
          "the output has type %s; expected static integer or floating-point elements", infer_text(f, out));
  REQUIRE(f, infer_compatible(state, r->elements[0]), "c1", "the new state has type %s; expected %s",
          infer_text(f, r->elements[0]), infer_text(f, state));
  const hlo_shape *parts[2] = {state, out};
  f->result_label = "c1";
  return hlo_shape_tuple(f->shapes, 2, parts);
}
