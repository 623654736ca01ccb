// SPDX-License-Identifier: Apache-2.0
// Conversions of emitted values: between element types, of bits, to reduced precision, and to kernel indices.
#include "hlo/kernel/emit.h"

#define BIN(op, x, y) kernel_bin(b, KERNEL_OP_##op, (x), (y))
#define CONV(op, x, to) kernel_conv(b, KERNEL_OP_##op, (x), (to))

static kernel_value *int_const(kernel_builder *b, const kernel_value *like, int64_t x) {
  return kernel_splat(b, kernel_int(b, (kernel_scalar)like->type.scalar, x), like->type.lanes);
}

static kernel_value *resize_int(emit_ctx *c, hlo_dtype from, kernel_value *x, kernel_scalar to) {
  kernel_builder *b = &c->b;
  int have = kernel_scalar_table[x->type.scalar].bits, want = kernel_scalar_table[to].bits;
  if (want < have) return CONV(TRUNCATE, x, to);
  if (want == have) return x;
  return hlo_dtype_is_signed(from) ? CONV(EXTEND_S, x, to) : CONV(EXTEND_U, x, to);
}

static kernel_value *int_to_float(emit_ctx *c, hlo_dtype from, kernel_value *x, hlo_dtype to) {
  kernel_builder *b = &c->b;
  // What f32 need not hold goes to the small type at once: legalization rounds it once.
  bool at_once = emit_dtype_is_small(to) && hlo_dtype_table[from].bits > 24;
  kernel_scalar s = at_once ? kernel_scalar_of(to) : emit_compute_scalar(to);
  kernel_value *v = hlo_dtype_is_signed(from) ? CONV(FROM_INT_S, x, s) : CONV(FROM_INT_U, x, s);
  return at_once ? v : kernel_conv(b, KERNEL_OP_FLOAT_CONVERT, v, kernel_scalar_of(to));
}

static kernel_value *float_to_int(emit_ctx *c, kernel_value *x, hlo_dtype to) {
  kernel_builder *b = &c->b;
  kernel_scalar s = kernel_scalar_of(to);
  int bits = hlo_dtype_table[to].bits;
  x = emit_up(c, x);
  if (!hlo_dtype_is_signed(to)) {
    kernel_value *v = CONV(TO_INT_U, x, s);
    return bits < 8 ? BIN(MIN_U, v, int_const(b, v, (1 << bits) - 1)) : v;
  }
  kernel_value *v = CONV(TO_INT_S, x, s);
  if (bits >= 8) return v;
  v = BIN(MIN_S, v, int_const(b, v, (1 << (bits - 1)) - 1));
  return BIN(MAX_S, v, int_const(b, v, -(1 << (bits - 1))));
}

static kernel_value *convert_real(emit_ctx *c, hlo_dtype in, hlo_dtype out, kernel_value *x) {
  kernel_builder *b = &c->b;
  if (in == out) return x;
  if (out == HLO_PRED) {
    if (hlo_dtype_is_float(in)) {
      x = emit_up(c, x);
      return BIN(NE, x, kernel_const_like(b, x, 0));
    }
    return BIN(NE, x, int_const(b, x, 0));
  }
  if (in == HLO_PRED) {
    kernel_scalar s = kernel_scalar_of(out);
    if (!hlo_dtype_is_float(out)) {
      x = CONV(EXTEND_U, x, s);
      return emit_wrap(c, x, out);
    }
    kernel_scalar wide = emit_compute_scalar(out);
    return emit_down(c, kernel_select(b, x, kernel_float(b, wide, 1), kernel_float(b, wide, 0)), out);
  }
  if (hlo_dtype_is_float(in) && hlo_dtype_is_float(out)) {
    if (x->def && x->def->op == KERNEL_OP_CONST && emit_dtype_is_small(in)) x = emit_up(c, x);
    return CONV(FLOAT_CONVERT, x, kernel_scalar_of(out));
  }
  if (hlo_dtype_is_float(in)) return float_to_int(c, x, out);
  if (hlo_dtype_is_float(out)) return int_to_float(c, in, x, out);
  return emit_wrap(c, resize_int(c, in, x, kernel_scalar_of(out)), out);
}

emit_value emit_convert(emit_ctx *c, hlo_dtype in, hlo_dtype out, emit_value x) {
  hlo_dtype from = hlo_dtype_real_part(in), to = hlo_dtype_real_part(out);
  // To anything but complex, the imaginary part is ignored, also to i1 (specification, convert).
  emit_value v = {convert_real(c, from, to, x.re), NULL};
  if (hlo_dtype_is_complex(out))
    v.im = hlo_dtype_is_complex(in) ? convert_real(c, from, to, x.im) : kernel_const_like(&c->b, v.re, 0);
  return v;
}

kernel_value *emit_to_index(emit_ctx *c, hlo_dtype t, kernel_value *x, int64_t low, int64_t high) {
  kernel_builder *b = &c->b;
  kernel_scalar index = c->k->index;
  bool is_signed = hlo_dtype_is_signed(t);
  if (t == HLO_PRED) {
    x = CONV(EXTEND_U, x, index);
  } else if (kernel_scalar_table[x->type.scalar].bits < kernel_scalar_table[index].bits) {
    x = resize_int(c, t, x, index);
    is_signed = true;
  }
  if (is_signed)
    x = BIN(MIN_S, BIN(MAX_S, x, int_const(b, x, low)), int_const(b, x, high));
  else
    x = BIN(MIN_U, x, int_const(b, x, high));
  return resize_int(c, t, x, index);
}

// --- bits ----------------------------------------------------------------------------------------

static kernel_scalar int_of_bits(int bits) {
  return bits <= 8 ? KERNEL_I8 : bits == 16 ? KERNEL_I16 : bits == 32 ? KERNEL_I32 : KERNEL_I64;
}

static kernel_value *bits_of(emit_ctx *c, hlo_dtype t, kernel_value *x) {
  if (t == HLO_PRED) return kernel_conv(&c->b, KERNEL_OP_EXTEND_U, x, KERNEL_I8);
  kernel_scalar s = int_of_bits(kernel_scalar_table[x->type.scalar].bytes * 8);
  kernel_value *v = kernel_bitcast(&c->b, x, kernel_type_make(s, x->type.lanes));
  int bits = hlo_dtype_table[t].bits;
  return bits < 8 ? kernel_bin(&c->b, KERNEL_OP_AND, v, int_const(&c->b, v, (1 << bits) - 1)) : v;
}

static kernel_value *of_bits(emit_ctx *c, hlo_dtype t, kernel_value *bits) {
  if (t == HLO_PRED) return kernel_bin(&c->b, KERNEL_OP_NE, bits, int_const(&c->b, bits, 0));
  if (hlo_dtype_is_integer(t)) return emit_wrap(c, bits, t);
  return kernel_bitcast(&c->b, bits, kernel_type_make(kernel_scalar_of(t), bits->type.lanes));
}

// One wide element out of n narrow ones, low first.
static kernel_value *join_bits(emit_ctx *c, kernel_value *const *parts, int n, int bits, kernel_scalar to) {
  kernel_builder *b = &c->b;
  kernel_value *sum = NULL;
  for (int p = 0; p < n; p++) {
    kernel_value *v = CONV(EXTEND_U, parts[p], to);
    v = BIN(SHL, v, int_const(b, v, (int64_t)p * bits));
    sum = sum ? BIN(OR, sum, v) : v;
  }
  return sum;
}

static emit_value bitcast_same(emit_ctx *c, hlo_dtype in, hlo_dtype out, emit_value x) {
  kernel_builder *b = &c->b;
  if (hlo_dtype_is_complex(in) == hlo_dtype_is_complex(out)) {
    emit_value v = {of_bits(c, out, bits_of(c, in, x.re)), NULL};
    if (x.im) v.im = x.im;
    return v;
  }
  if (hlo_dtype_is_complex(in) && in == HLO_C64) {
    kernel_value *parts[] = {bits_of(c, HLO_F32, x.re), bits_of(c, HLO_F32, x.im)};
    return (emit_value){of_bits(c, out, join_bits(c, parts, 2, 32, KERNEL_I64)), NULL};
  }
  if (out == HLO_C64) {
    kernel_value *bits = bits_of(c, in, x.re), *high = BIN(SHR_U, bits, int_const(b, bits, 32));
    return (emit_value){of_bits(c, HLO_F32, CONV(TRUNCATE, bits, KERNEL_I32)),
                        of_bits(c, HLO_F32, CONV(TRUNCATE, high, KERNEL_I32))};
  }
  emit_fail(c, "bitcast_convert of %s to %s has no kernel form", hlo_dtype_table[in].hlo_name,
            hlo_dtype_table[out].hlo_name);
  return emit_zero(c, out);
}

static emit_value bitcast_narrow(emit_ctx *c, const hlo_instr *i, emit_index *x, int ratio) {
  kernel_builder *b = &c->b;
  const hlo_shape *in = i->operands[0]->shape;
  hlo_dtype out = i->shape->dtype;
  int bits = hlo_dtype_table[out].bits;
  int64_t source[64];
  for (int d = 0; d < in->rank; d++) source[d] = d;
  emit_index *at = emit_index_select(c, x, in->rank, in->dims, source, NULL);
  kernel_value *part = emit_coord_value(c, emit_index_coord(c, x, in->rank), x->lanes);
  emit_value v = emit_element(c, i->operands[0], at);
  if (hlo_dtype_is_complex(in->dtype)) {  // halves: real, imaginary; narrower parts within
    hlo_dtype half = in->dtype == HLO_C64 ? HLO_F32 : HLO_F64;
    int inner = ratio / 2;
    kernel_value *first = BIN(LT_S, part, kernel_index(b, inner));
    emit_value h = {kernel_select(b, first, v.re, v.im), NULL};
    if (inner <= 1) return bitcast_same(c, half, out, h);
    v = h;
    part = BIN(REM_U, part, kernel_index(b, inner));
    kernel_value *w = bits_of(c, half, v.re);
    v.re = w;
  } else {
    v.re = bits_of(c, in->dtype, v.re);
  }
  kernel_value *shift = BIN(MUL, part, kernel_index(b, bits));
  kernel_scalar wide = (kernel_scalar)v.re->type.scalar;
  int have = kernel_scalar_table[shift->type.scalar].bits, want = kernel_scalar_table[wide].bits;
  if (want < have) shift = CONV(TRUNCATE, shift, wide);
  if (want > have) shift = CONV(EXTEND_U, shift, wide);
  kernel_value *moved = BIN(SHR_U, v.re, shift);
  // its carrier is wider than its one bit
  if (out == HLO_PRED) moved = BIN(AND, moved, kernel_const_like(b, moved, 1));
  kernel_value *narrow = CONV(TRUNCATE, moved, int_of_bits(bits));
  if (hlo_dtype_is_complex(out)) {
    emit_fail(c, "bitcast_convert to %s has no kernel form", hlo_dtype_table[out].hlo_name);
    return emit_zero(c, out);
  }
  return (emit_value){of_bits(c, out, narrow), NULL};
}

static emit_value bitcast_wide(emit_ctx *c, const hlo_instr *i, emit_index *x, int ratio) {
  const hlo_shape *in = i->operands[0]->shape;
  hlo_dtype out = i->shape->dtype;
  int64_t source[64];
  emit_coord fixed[64];
  for (int d = 0; d < in->rank; d++) source[d] = d < in->rank - 1 ? d : -1;
  kernel_value *parts[64];
  if (ratio > 64 || hlo_dtype_is_complex(in->dtype)) {
    emit_fail(c, "bitcast_convert of %s to %s has no kernel form", hlo_dtype_table[in->dtype].hlo_name,
              hlo_dtype_table[out].hlo_name);
    return emit_zero(c, out);
  }
  for (int p = 0; p < ratio; p++) {
    fixed[in->rank - 1] = emit_coord_const(c, p);
    emit_index *at = emit_index_select(c, x, in->rank, in->dims, source, fixed);
    parts[p] = bits_of(c, in->dtype, emit_element(c, i->operands[0], at).re);
  }
  int bits = hlo_dtype_table[in->dtype].bits;
  if (!hlo_dtype_is_complex(out)) {
    kernel_scalar s = int_of_bits(hlo_dtype_table[out].bits);
    return (emit_value){of_bits(c, out, join_bits(c, parts, ratio, bits, s)), NULL};
  }
  hlo_dtype half = hlo_dtype_real_part(out);
  kernel_scalar s = int_of_bits(hlo_dtype_table[half].bits);
  emit_value v = {of_bits(c, half, join_bits(c, parts, ratio / 2, bits, s)), NULL};
  v.im = of_bits(c, half, join_bits(c, parts + ratio / 2, ratio / 2, bits, s));
  return v;
}

emit_value emit_bitcast_convert(emit_ctx *c, const hlo_instr *i, emit_index *x) {
  hlo_dtype in = i->operands[0]->shape->dtype, out = i->shape->dtype;
  int from = hlo_dtype_table[in].bits, to = hlo_dtype_table[out].bits;
  if (from == to) return bitcast_same(c, in, out, emit_element(c, i->operands[0], x));
  return from > to ? bitcast_narrow(c, i, x, from / to) : bitcast_wide(c, i, x, to / from);
}

// --- reduce_precision ----------------------------------------------------------------------------

// On the bits of a float with E exponent and M mantissa bits: round the mantissa to nearest even, then flush what the
// smaller exponent range cannot hold to infinity or zero. NaN stays (or becomes infinity where no mantissa bit is left
// to say so).
static kernel_value *reduce_bits(emit_ctx *c, kernel_value *x, int E, int M, int e, int m) {
  kernel_builder *b = &c->b;
  kernel_scalar s = int_of_bits(kernel_scalar_table[x->type.scalar].bits);
  kernel_type t = kernel_type_make(s, x->type.lanes);
  kernel_value *bits = kernel_bitcast(b, x, t);
#define K(v) int_const(b, bits, (int64_t)(v))
  int64_t exponent_mask = ((INT64_C(1) << E) - 1) << M, sign_mask = (int64_t)(UINT64_C(1) << (E + M));
  kernel_value *r = bits, *sign = BIN(AND, bits, K(sign_mask));
  if (m < M) {
    int64_t last = INT64_C(1) << (M - m);
    kernel_value *odd = BIN(SHR_U, BIN(AND, bits, K(last)), K(M - m));
    r = BIN(AND, BIN(ADD, bits, BIN(ADD, odd, K((last >> 1) - 1))), K(~(last - 1)));
  }
  if (e < E) {
    int64_t bias = (INT64_C(1) << (E - 1)) - 1, small = (INT64_C(1) << (e - 1)) - 1;
    kernel_value *exponent = BIN(AND, r, K(exponent_mask));
    kernel_value *over = BIN(LT_U, K((bias + small) << M), exponent);
    kernel_value *under = BIN(LE_U, exponent, K((bias - small) << M));
    r = kernel_select(b, over, BIN(OR, sign, K(exponent_mask)), r);
    r = kernel_select(b, under, sign, r);
  }
  kernel_value *magnitude = BIN(AND, bits, K(sign_mask - 1));
  kernel_value *nan = BIN(LT_U, K(exponent_mask), magnitude);
  r = kernel_select(b, nan, m > 0 ? bits : BIN(OR, sign, K(exponent_mask)), r);
#undef K
  return kernel_bitcast(b, r, x->type);
}

kernel_value *emit_reduce_precision(emit_ctx *c, hlo_dtype t, kernel_value *x, int exponent, int mantissa) {
  switch (t) {
    case HLO_F64: return reduce_bits(c, x, 11, 52, exponent, mantissa);
    case HLO_F32: return reduce_bits(c, x, 8, 23, exponent, mantissa);
    case HLO_F16: return reduce_bits(c, x, 5, 10, exponent, mantissa);
    case HLO_BF16: return reduce_bits(c, x, 8, 7, exponent, mantissa);
    default: {
      // In f32, whose exponent covers these types: one that is as wide as the type's own changes nothing.
      static const uint8_t own[] = {
          [HLO_F4E2M1FN] = 2, [HLO_F6E2M3FN] = 2,   [HLO_F6E3M2FN] = 3,   [HLO_F8E3M4] = 3,
          [HLO_F8E4M3] = 4,   [HLO_F8E4M3FN] = 4,   [HLO_F8E4M3FNUZ] = 4, [HLO_F8E4M3B11FNUZ] = 4,
          [HLO_F8E5M2] = 5,   [HLO_F8E5M2FNUZ] = 5, [HLO_F8E8M0FNU] = 8};
      return emit_down(c, reduce_bits(c, emit_up(c, x), 8, 23, exponent >= own[t] ? 8 : exponent, mantissa), t);
    }
  }
}
