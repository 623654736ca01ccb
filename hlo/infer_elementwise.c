// SPDX-License-Identifier: Apache-2.0
// Shape inference of elementwise operations: unary, binary, ternary, conversions, quantization, elementwise CHLO.
//
// The driver has already checked that operands are arrays of the class that ops.def asks for. Results have the
// operands' dimensions, the most specific ones where some are dynamic.
#include "hlo/infer_internal.h"

// --- one operand ---------------------------------------------------------------------------------

static const hlo_shape *same(infer *f) {
  f->result_label = "c1";
  return infer_in(f, 0);
}

static const hlo_shape *predicate(infer *f) {
  f->result_label = "c1";
  return infer_retype(f, infer_in(f, 0), HLO_PRED);
}

static const hlo_shape *real_part(infer *f) {
  const hlo_shape *s = infer_in(f, 0);
  f->result_label = "c1";
  f->type_label = "c2";
  return hlo_dtype_is_complex(s->dtype) ? infer_retype(f, s, hlo_dtype_real_part(s->dtype)) : s;
}

static const hlo_shape *part_of_complex(infer *f) {
  REQUIRE(f, !infer_in(f, 0)->quant, "i1", "operand 0 has type %s; expected one that is not quantized",
          infer_text(f, infer_in(f, 0)));
  return real_part(f);
}

// clang-format off
#define SAME(ENUM) INFER(ENUM) { return same(f); }
SAME(CBRT) SAME(CEIL) SAME(COUNT_LEADING_ZEROS) SAME(COSINE) SAME(EXPONENTIAL) SAME(EXPONENTIAL_MINUS_ONE) SAME(FLOOR)
SAME(LOG) SAME(LOG_PLUS_ONE) SAME(LOGISTIC) SAME(NEGATE) SAME(NOT) SAME(POPCNT) SAME(ROUND_NEAREST_AFZ)
SAME(ROUND_NEAREST_EVEN) SAME(RSQRT) SAME(SIGN) SAME(SINE) SAME(SQRT) SAME(TAN) SAME(TANH)
// CHLO
SAME(ACOS) SAME(ACOSH) SAME(ASIN) SAME(ASINH) SAME(ASIN_ACOS_KERNEL) SAME(ATAN) SAME(ATANH) SAME(BESSEL_I1E) SAME(CONJ)
SAME(COSH) SAME(DIGAMMA) SAME(ERF) SAME(ERF_INV) SAME(ERFC) SAME(LGAMMA) SAME(SINH) SAME(SQUARE)

INFER(ABS) { return real_part(f); }
INFER(REAL) { return part_of_complex(f); }
INFER(IMAG) { return part_of_complex(f); }
INFER(IS_FINITE) { return predicate(f); }
INFER(IS_INF) { return predicate(f); }
INFER(IS_NEG_INF) { return predicate(f); }
INFER(IS_POS_INF) { return predicate(f); }
// clang-format on

INFER(REDUCE_PRECISION) {
  const hlo_attrs_reduce_precision *a = INFER_ATTRS(f, reduce_precision);
  REQUIRE(f, a->exponent_bits >= 1, "c2", "exponent_bits is %lld; expected >= 1", (long long)a->exponent_bits);
  REQUIRE(f, a->mantissa_bits >= 0, "c3", "mantissa_bits is %lld; expected >= 0", (long long)a->mantissa_bits);
  return same(f);
}

// --- two operands --------------------------------------------------------------------------------

static bool alike(infer *f, int i, int k, const char *type_label, const char *dims_label) {
  const hlo_shape *a = infer_in(f, i), *b = infer_in(f, k);
  REQUIRE(f, infer_same_type(a, b), type_label, "operand %d has elements of type %s; expected %s as operand %d has", k,
          infer_text_type(f, b), infer_text_type(f, a), i);
  REQUIRE(f, infer_compatible_dims(a, b), dims_label, "operand %d has shape %s; expected the shape of operand %d, %s",
          k, infer_text(f, b), i, infer_text(f, a));
  return true;
}

static const hlo_shape *binary(infer *f) {
  f->result_label = "c1";
  CHECK(alike(f, 0, 1, "c1", "c1"));
  return infer_meet(f, infer_in(f, 0), infer_in(f, 1));
}

// clang-format off
#define BINARY(ENUM) INFER(ENUM) { return binary(f); }
BINARY(ATAN2) BINARY(DIVIDE) BINARY(MAXIMUM) BINARY(MINIMUM) BINARY(MULTIPLY) BINARY(POWER) BINARY(REMAINDER)
BINARY(SHIFT_LEFT) BINARY(SHIFT_RIGHT_ARITHMETIC) BINARY(SHIFT_RIGHT_LOGICAL) BINARY(SUBTRACT) BINARY(AND) BINARY(OR)
BINARY(XOR)
// CHLO
BINARY(MULHI) BINARY(NEXT_AFTER) BINARY(POLYGAMMA) BINARY(ZETA)
    // clang-format on

    static bool check_add_axis(infer *f, const hlo_shape *s, const hlo_shape *result, const char *name,
                               const char *label) {
  REQUIRE(f, !infer_per_axis(s) || s->quant->axis == result->quant->axis, label,
          "the result's quantization dimension is %d; expected that of %s, %d", result->quant->axis, name,
          s->quant->axis);
  return true;
}

static const hlo_shape *add_quantized(infer *f) {
  const hlo_shape *a = infer_in(f, 0), *b = infer_in(f, 1), *r = f->declared;
  REQUIRE(f, a->quant && b->quant && (!r || r->quant), "c2",
          "operands and result have types %s, %s, %s; expected all quantized", infer_text(f, a), infer_text(f, b),
          r ? infer_text(f, r) : "unknown");
  REQUIRE(f, infer_compatible_dims(a, b), "c1", "operands have shapes %s and %s; expected equal ones", infer_text(f, a),
          infer_text(f, b));
  REQUIRE(f, a->dtype == b->dtype && (!r || r->dtype == a->dtype), "c3", "storage types differ: %s, %s, %s",
          infer_text_type(f, a), infer_text_type(f, b), r ? infer_text_type(f, r) : "unknown");
  REQUIRE(f, a->quant->expressed == b->quant->expressed && (!r || r->quant->expressed == a->quant->expressed), "c4",
          "expressed types differ: %s, %s, %s", infer_text_type(f, a), infer_text_type(f, b),
          r ? infer_text_type(f, r) : "unknown");
  bool any = infer_per_axis(a) || infer_per_axis(b);
  if (!r) return infer_meet(f, infer_per_axis(b) ? b : a, infer_per_axis(b) ? a : b);
  REQUIRE(f, any == infer_per_axis(r), "c5", "the result is quantized per %s; expected per %s",
          infer_per_axis(r) ? "axis" : "tensor", any ? "axis" : "tensor");
  CHECK(check_add_axis(f, a, r, "lhs", "c6"));
  CHECK(check_add_axis(f, b, r, "rhs", "c7"));
  REQUIRE(f, infer_compatible_dims(a, r), "c1", "the result has shape %s; expected %s", infer_text(f, r),
          infer_text(f, a));
  return r;
}

INFER(ADD) {
  const hlo_shape *r = f->declared;
  if (infer_in(f, 0)->quant || infer_in(f, 1)->quant || (r && hlo_shape_is_array(r) && r->quant))
    return add_quantized(f);
  return binary(f);
}

static bool check_compare_type(infer *f, hlo_dtype t, hlo_comparison_type type) {
  if (type == HLO_COMPARISON_TYPE_NOTYPE) return true;
  hlo_dtype_class c = hlo_dtype_cls(t);
  bool ok = c == HLO_CLASS_SINT      ? type == HLO_COMPARISON_TYPE_SIGNED
            : c == HLO_CLASS_FLOAT   ? type == HLO_COMPARISON_TYPE_FLOAT || type == HLO_COMPARISON_TYPE_TOTALORDER
            : c == HLO_CLASS_COMPLEX ? type == HLO_COMPARISON_TYPE_FLOAT
                                     : type == HLO_COMPARISON_TYPE_UNSIGNED;
  REQUIRE(f, ok, "c3", "compare_type is %s; expected %s for elements of type %s",
          hlo_enum_name(HLO_ATTR_KIND_comparison_type, (int)type),
          c == HLO_CLASS_SINT      ? "SIGNED"
          : c == HLO_CLASS_FLOAT   ? "FLOAT or TOTALORDER"
          : c == HLO_CLASS_COMPLEX ? "FLOAT"
                                   : "UNSIGNED",
          hlo_dtype_table[t].hlo_name);
  return true;
}

INFER(COMPARE) {
  f->result_label = "c2";
  CHECK(alike(f, 0, 1, "c1", "c2"));
  const hlo_attrs_compare *a = INFER_ATTRS(f, compare);
  const hlo_shape *s = infer_in(f, 0);
  CHECK(check_compare_type(f, s->quant ? s->quant->expressed : s->dtype, a->type));
  REQUIRE(f,
          !hlo_dtype_is_complex(s->dtype) || a->direction == HLO_COMPARISON_DIRECTION_EQ ||
              a->direction == HLO_COMPARISON_DIRECTION_NE,
          "c3", "complex numbers are compared by %s; expected EQ or NE",
          hlo_enum_name(HLO_ATTR_KIND_comparison_direction, (int)a->direction));
  const hlo_shape *m = infer_meet(f, s, infer_in(f, 1));
  return m ? infer_retype(f, m, HLO_PRED) : NULL;
}

INFER(COMPLEX) {
  f->result_label = "c2";
  f->type_label = "c3";
  hlo_dtype t = infer_in(f, 0)->dtype;
  for (int i = 0; i < 2; i++) {
    const hlo_shape *s = infer_in(f, i);
    REQUIRE(f, (s->dtype == HLO_F32 || s->dtype == HLO_F64) && !s->quant, i ? "i2" : "i1",
            "operand %d has type %s; expected elements of type f32 or f64", i, infer_text(f, s));
  }
  CHECK(alike(f, 0, 1, "c1", "c1"));
  const hlo_shape *m = infer_meet(f, infer_in(f, 0), infer_in(f, 1));
  return m ? infer_retype(f, m, t == HLO_F32 ? HLO_C64 : HLO_C128) : NULL;
}

// --- three operands ------------------------------------------------------------------------------

INFER(CLAMP) {
  const hlo_shape *x = infer_in(f, 1);
  f->result_label = "c4";
  for (int i = 0; i < 3; i += 2) {
    const hlo_shape *limit = infer_in(f, i);
    REQUIRE(f, limit->rank == 0 || infer_compatible_dims(limit, x), i ? "c2" : "c1",
            "%s has shape %s; expected a scalar or the operand's shape %s", i ? "max" : "min", infer_text(f, limit),
            infer_text(f, x));
    REQUIRE(f, infer_same_type(limit, x), "c3", "%s has elements of type %s; expected the operand's %s",
            i ? "max" : "min", infer_text_type(f, limit), infer_text_type(f, x));
  }
  return x;
}

INFER(SELECT) {
  const hlo_shape *pred = infer_in(f, 0), *x = infer_in(f, 1);
  f->result_label = "c2";
  REQUIRE(f, pred->dtype == HLO_PRED, "i1", "operand 0 has type %s; expected pred elements", infer_text(f, pred));
  REQUIRE(f, pred->rank == 0 || infer_compatible_dims(pred, x), "c1",
          "pred has shape %s; expected a scalar or the shape of on_true, %s", infer_text(f, pred), infer_text(f, x));
  CHECK(alike(f, 1, 2, "c2", "c2"));
  return infer_meet(f, x, infer_in(f, 2));
}

// --- conversions ---------------------------------------------------------------------------------

// The operand's dimensions with the declared element type, after checking that they are compatible.
static const hlo_shape *declared_type(infer *f) {
  const hlo_shape *x = infer_in(f, 0), *r = f->declared;
  f->result_label = "c1";
  REQUIRE(f, infer_compatible_dims(x, r), "c1", "the result has shape %s; expected the operand's %s", infer_text(f, r),
          infer_text(f, x));
  infer_dims d = infer_dims_of(x);
  const hlo_shape *made = infer_make(f, &d, r);
  CHECK(made);
  return infer_meet(f, r, made);
}

INFER(CONVERT) {
  CHECK(infer_need_declared_array(f));
  REQUIRE(f, !infer_in(f, 0)->quant && !f->declared->quant, "i1",
          "convert from %s to %s; expected types that are not quantized (see uniform_quantize)",
          infer_text(f, infer_in(f, 0)), infer_text(f, f->declared));
  return declared_type(f);
}

INFER(BITCAST_CONVERT) {
  CHECK(infer_array(f, 0, "i1"));
  CHECK(infer_need_declared_array(f));
  const hlo_shape *x = infer_in(f, 0), *r = f->declared;
  f->result_label = "c1";
  REQUIRE(f, hlo_dtype_is_complex(x->dtype) == hlo_dtype_is_complex(r->dtype), "c2",
          "from %s to %s; expected both complex or none", infer_text(f, x), infer_text(f, r));
  int64_t from = hlo_dtype_table[x->dtype].bits, to = hlo_dtype_table[r->dtype].bits;
  infer_dims d = infer_dims_of(x);
  if (to < from) {
    REQUIRE(f, from % to == 0, "c1", "elements of %d bits cannot become elements of %d bits", (int)from, (int)to);
    infer_push(&d, from / to, HLO_DYNAMIC);
  } else if (to > from) {
    REQUIRE(f, to % from == 0, "c1", "elements of %d bits cannot become elements of %d bits", (int)from, (int)to);
    REQUIRE(f, d.n > 0 && infer_size_ok(d.size[d.n - 1], to / from), "c1",
            "operand has shape %s; expected a last dimension of size %d", infer_text(f, x), (int)(to / from));
    d.n--;
  }
  return infer_make(f, &d, r);
}

INFER(UNIFORM_QUANTIZE) {
  CHECK(infer_need_declared_array(f));
  const hlo_shape *x = infer_in(f, 0), *r = f->declared;
  REQUIRE(f, x->quant || hlo_dtype_is_float(x->dtype), "i1", "operand has type %s; expected a float or quantized type",
          infer_text(f, x));
  REQUIRE(f, r->quant, "result", "the result has type %s; expected a quantized type", infer_text(f, r));
  hlo_dtype from = x->quant ? x->quant->expressed : x->dtype;
  REQUIRE(f, r->quant->expressed == from, "c2", "the result's expressed type is %s; expected %s",
          hlo_dtype_table[r->quant->expressed].hlo_name, hlo_dtype_table[from].hlo_name);
  return declared_type(f);
}

INFER(UNIFORM_DEQUANTIZE) {
  const hlo_shape *x = infer_in(f, 0);
  REQUIRE(f, x->quant, "i1", "operand has type %s; expected a quantized type", infer_text(f, x));
  f->result_label = "c1";
  f->type_label = "c2";
  return infer_retype(f, x, x->quant->expressed);
}
