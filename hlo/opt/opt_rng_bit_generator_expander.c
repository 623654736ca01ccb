// SPDX-License-Identifier: Apache-2.0
// rng_bit_generator as 32-bit integer HLO: ThreeFry-2x32 (20 rounds) and Philox-4x32 (10 rounds; DEFAULT too), in XLA's
// layouts, bit for bit what the interpreter gives (interp/rng.c). Only u32 arithmetic, so that devices without 64-bit
// integers run it; the 64-bit counter is two words with an explicit carry.
// Needs: nothing. Leaves: no rng_bit_generator, but those of dynamic shape or with more than 2^31 counters.
#include "hlo/opt/algsimp.h"
#include "hlo/opt/expand.h"

enum { MAX_RANK = 32 };

typedef struct rng {
  expand e;  // shape: u32 per counter
  hlo_builder *b;
  const hlo_shape *scalar;
  hv key[2];    // scalars
  hv state[6];  // scalars, words of the state
  int n_state;
} rng;

static hv word(rng *r, uint32_t v, const hlo_shape *s) {
  return hlo_build_constant(r->b, hlo_literal_splat(r->b->module->arena, s, &v));
}
static hv spread(rng *r, hv scalar) {
  return hlo_build_broadcast(r->b, scalar, r->e.s->rank, r->e.s->dims, 0, NULL);
}
static hv bin(rng *r, hlo_op op, hv x, hv y) {
  return hlo_build_binary(r->b, op, x, y);
}

static hv rotate(rng *r, hv x, int n) {
  return bin(r, HLO_OP_OR, bin(r, HLO_OP_SHIFT_LEFT, x, word(r, (uint32_t)n, x->shape)),
             bin(r, HLO_OP_SHIFT_RIGHT_LOGICAL, x, word(r, (uint32_t)(32 - n), x->shape)));
}

// sum = x + y; *carry is 1 where it wrapped.
static hv add_carry(rng *r, hv x, hv y, hv *carry) {
  hv sum = bin(r, HLO_OP_ADD, x, y);
  *carry = hlo_build_convert(r->b, hlo_build_compare(r->b, HLO_COMPARISON_DIRECTION_LT, sum, x), HLO_U32);
  return sum;
}

// The words of the state: u64[k] or u32[2k] (or any other type of 16 or 24 bytes).
static bool read_state(rng *r, hlo_instr *x) {
  int64_t bytes = hlo_shape_bytes(x->shape), n = bytes / 4;
  int width = hlo_dtype_bytes(x->shape->dtype);
  if ((bytes != 16 && bytes != 24) || width < 4 || !hlo_dtype_is_integer(x->shape->dtype)) return false;
  hlo_shape_table *shapes = r->b->module->shapes;
  int64_t count = hlo_shape_elements(x->shape), pair[2] = {count, 2};
  hv flat = hlo_build_reshape(r->b, x, 1, &count);
  flat = width == 8 ? hlo_build_bitcast_convert(r->b, flat, hlo_shape_array(shapes, HLO_U32, 2, pair))
                    : hlo_build_bitcast_convert(r->b, flat, hlo_shape_array(shapes, HLO_U32, 1, &n));
  flat = hlo_build_reshape(r->b, flat, 1, &n);
  r->n_state = (int)n;
  for (int64_t k = 0; k < n; k++) {
    int64_t start = k, limit = k + 1;
    r->state[k] = hlo_build_reshape(r->b, hlo_build_slice(r->b, flat, &start, &limit, NULL), 0, NULL);
  }
  r->key[0] = r->state[0];
  r->key[1] = r->state[1];
  return true;
}

static hv write_state(rng *r, const hlo_shape *s) {
  hv parts[6];
  int64_t one = 1, count = hlo_shape_elements(s), pair[2] = {count, 2};
  for (int k = 0; k < r->n_state; k++) parts[k] = hlo_build_reshape(r->b, r->state[k], 1, &one);
  hv flat = hlo_build_concatenate(r->b, r->n_state, parts, 0);
  hlo_shape_table *shapes = r->b->module->shapes;
  if (hlo_dtype_bytes(s->dtype) == 8) flat = hlo_build_reshape(r->b, flat, 2, pair);
  flat = hlo_build_bitcast_convert(r->b, flat, hlo_shape_array(shapes, s->dtype, 1, &count));
  return hlo_build_reshape(r->b, flat, s->rank, s->dims);
}

// The counter of every block: words 2 and 3 of the state plus the block's number. *overflow: 1 where it passed 64 bits.
static void counters(rng *r, hv out[2], hv *overflow) {
  int64_t n = hlo_shape_elements(r->e.s);
  hv number = hlo_build_iota(r->b, hlo_shape_array(r->b->module->shapes, HLO_U32, 1, &n), 0), carry;
  number = hlo_build_reshape(r->b, number, r->e.s->rank, r->e.s->dims);
  out[0] = add_carry(r, spread(r, r->state[2]), number, &carry);
  out[1] = add_carry(r, spread(r, r->state[3]), carry, overflow);
}

// state += blocks
static void advance(rng *r, int64_t blocks, bool third) {
  hv carry, carry2;
  r->state[2] = add_carry(r, r->state[2], word(r, (uint32_t)blocks, r->scalar), &carry);
  r->state[3] = add_carry(r, r->state[3], carry, &carry2);
  if (!third) return;
  r->state[4] = add_carry(r, r->state[4], carry2, &carry);
  r->state[5] = bin(r, HLO_OP_ADD, r->state[5], carry);
}

// --- the two generators --------------------------------------------------------------------------

static void threefry(rng *r, hv x[2]) {
  static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  hv k[3] = {r->key[0], r->key[1], NULL};
  k[2] = bin(r, HLO_OP_XOR, bin(r, HLO_OP_XOR, k[0], k[1]), word(r, 0x1BD11BDA, r->scalar));
  x[0] = bin(r, HLO_OP_ADD, x[0], spread(r, k[0]));
  x[1] = bin(r, HLO_OP_ADD, x[1], spread(r, k[1]));
  for (int round = 0; round < 5; round++) {
    for (int i = 0; i < 4; i++) {
      x[0] = bin(r, HLO_OP_ADD, x[0], x[1]);
      x[1] = bin(r, HLO_OP_XOR, rotate(r, x[1], rotations[round % 2][i]), x[0]);
    }
    x[0] = bin(r, HLO_OP_ADD, x[0], spread(r, k[(round + 1) % 3]));
    hv second = bin(r, HLO_OP_ADD, k[(round + 2) % 3], word(r, (uint32_t)(round + 1), r->scalar));
    x[1] = bin(r, HLO_OP_ADD, x[1], spread(r, second));
  }
}

static void philox(rng *r, hv x[4]) {
  hv k0 = r->key[0], k1 = r->key[1];
  hv m0 = word(r, 0xD2511F53, r->e.s), m1 = word(r, 0xCD9E8D57, r->e.s);
  for (int round = 0; round < 10; round++) {
    hv high0 = bin(r, HLO_OP_MULHI, x[0], m0), low0 = bin(r, HLO_OP_MULTIPLY, x[0], m0);
    hv high1 = bin(r, HLO_OP_MULHI, x[2], m1), low1 = bin(r, HLO_OP_MULTIPLY, x[2], m1);
    hv y0 = bin(r, HLO_OP_XOR, bin(r, HLO_OP_XOR, high1, x[1]), spread(r, k0));
    hv y2 = bin(r, HLO_OP_XOR, bin(r, HLO_OP_XOR, high0, x[3]), spread(r, k1));
    x[0] = y0, x[1] = low1, x[2] = y2, x[3] = low0;
    k0 = bin(r, HLO_OP_ADD, k0, word(r, 0x9E3779B9, r->scalar));
    k1 = bin(r, HLO_OP_ADD, k1, word(r, 0xBB67AE85, r->scalar));
  }
}

// --- results -------------------------------------------------------------------------------------

// u32 words (or pairs of them in a last dimension of 2, for 64-bit types) to the result type.
static hv to_type(rng *r, hv x, const hlo_shape *s) {
  hlo_shape_table *shapes = r->b->module->shapes;
  int bytes = hlo_dtype_bytes(s->dtype);
  if (bytes == 8) return hlo_build_bitcast_convert(r->b, x, s);
  if (hlo_dtype_is_integer(s->dtype)) return hlo_build_convert(r->b, x, s->dtype);
  hlo_dtype bits = bytes == 4 ? HLO_U32 : bytes == 2 ? HLO_U16 : HLO_U8;
  return hlo_build_bitcast_convert(r->b, hlo_build_convert(r->b, x, bits), hlo_shape_with_dtype(shapes, s, s->dtype));
}

// Puts n arrays of equal shape side by side in a new dimension at `at`.
static hv stack(rng *r, int n, hv *xs, int at) {
  int64_t dims[MAX_RANK + 1];
  hv parts[4];
  int rank = xs[0]->shape->rank;
  for (int d = 0; d <= rank; d++) dims[d] = d == at ? 1 : xs[0]->shape->dims[d < at ? d : d - 1];
  for (int k = 0; k < n; k++) parts[k] = hlo_build_reshape(r->b, xs[k], rank + 1, dims);
  return hlo_build_concatenate(r->b, n, parts, at);
}

// As interp/rng.c says: cut in two along the first even dimension, else the largest; halves interleaved along it.
static hv threefry_narrow(rng *r, const hlo_shape *s) {
  int split = -1;
  int64_t box[3] = {1, 1, 1}, zero[3] = {0, 0, 0};
  for (int d = 0; d < s->rank && split < 0; d++)
    if (s->dims[d] % 2 == 0) split = d;
  for (int d = 0; split < 0 && d < s->rank; d++) split = d;
  for (int d = 0; d < s->rank && s->dims[split] % 2; d++)
    if (s->dims[d] > s->dims[split]) split = d;
  int64_t length = s->rank ? s->dims[split] : 1;
  box[1] = (length + 1) / 2;
  for (int d = 0; d < s->rank; d++)
    if (d != split) box[d < split ? 0 : 2] *= s->dims[d];
  r->e.s = hlo_shape_array(r->b->module->shapes, HLO_U32, 3, box);
  hv x[2], overflow;
  counters(r, x, &overflow);
  threefry(r, x);
  hv both = stack(r, 2, x, 2);
  int64_t joined[3] = {box[0], 2 * box[1], box[2]}, kept[3] = {box[0], length, box[2]};
  both = hlo_build_reshape(r->b, both, 3, joined);
  both = hlo_build_reshape(r->b, hlo_build_slice(r->b, both, zero, kept, NULL), s->rank, s->dims);
  advance(r, box[0] * box[1] * box[2], false);
  return to_type(r, both, s);
}

static hv threefry_wide(rng *r, const hlo_shape *s) {
  hv x[2], overflow;
  r->e.s = hlo_shape_with_dtype(r->b->module->shapes, s, HLO_U32);
  counters(r, x, &overflow);
  threefry(r, x);
  advance(r, hlo_shape_elements(s), false);
  return to_type(r, stack(r, 2, x, s->rank), s);
}

static hv philox_bits(rng *r, const hlo_shape *s) {
  bool wide = hlo_dtype_bytes(s->dtype) == 8;
  int64_t n = hlo_shape_elements(s), per = wide ? 2 : 4, blocks = (n + per - 1) / per, start[2] = {0, 0};
  r->e.s = hlo_shape_array(r->b->module->shapes, HLO_U32, 1, &blocks);
  hv x[4], overflow, carry;
  counters(r, x, &overflow);
  bool third = r->n_state == 6;
  // With a state of two words the key is also the upper half of the counter.
  x[2] = add_carry(r, spread(r, r->state[third ? 4 : 0]), overflow, &carry);
  x[3] = bin(r, HLO_OP_ADD, spread(r, r->state[third ? 5 : 1]), carry);
  philox(r, x);
  advance(r, blocks, third);
  int64_t flat[2] = {blocks * per, 2}, cut[2] = {n, 2}, dims[MAX_RANK + 1];
  hv all = hlo_build_reshape(r->b, stack(r, 4, x, 1), wide ? 2 : 1, flat);
  all = hlo_build_slice(r->b, all, start, cut, NULL);
  for (int d = 0; d < s->rank; d++) dims[d] = s->dims[d];
  dims[s->rank] = 2;
  return to_type(r, hlo_build_reshape(r->b, all, s->rank + (wide ? 1 : 0), dims), s);
}

static hlo_instr *expand_bits(hlo_instr *i) {
  if (!hlo_shape_is_tuple(i->shape) || i->shape->n_elements != 2) return NULL;
  const hlo_shape *s = i->shape->elements[1], *in = i->operands[0]->shape;
  hlo_rng_algorithm algorithm = HLO_ATTRS(i, rng_bit_generator)->algorithm;
  if (!hlo_shape_is_static(s) || s->layout || s->quant || s->rank >= MAX_RANK - 2 || in->layout ||
      !hlo_shape_is_static(in))
    return NULL;
  if (hlo_shape_elements(s) >= INT32_MAX || hlo_shape_elements(s) == 0) return NULL;
  if (!hlo_dtype_is_integer(s->dtype) && !(hlo_dtype_is_float(s->dtype) && hlo_dtype_table[s->dtype].bits >= 8))
    return NULL;
  hlo_builder b = hlo_builder_before(i);
  rng r = {.b = &b, .scalar = hlo_shape_array(b.module->shapes, HLO_U32, 0, NULL)};
  if (algorithm == HLO_RNG_ALGORITHM_THREE_FRY && hlo_shape_bytes(in) != 16) return NULL;
  if (!read_state(&r, i->operands[0])) return NULL;
  hv bits = algorithm != HLO_RNG_ALGORITHM_THREE_FRY ? philox_bits(&r, s)
            : hlo_dtype_bytes(s->dtype) == 8         ? threefry_wide(&r, s)
                                                     : threefry_narrow(&r, s);
  return hlo_build_tuple(&b, 2, (hlo_instr *[]){write_state(&r, in), bits});
}

lemnos_status hlo_opt_rng_bit_generator_expander(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  for (int c = 0; c < m->n_computations; c++)
    HLO_FOR_EACH_SAFE (i, m->computations[c]) {
      if (i->op != HLO_OP_RNG_BIT_GENERATOR) continue;
      hlo_instr *r = hlo_opt_allowed(ctx) ? expand_bits(i) : NULL;
      if (!r) continue;
      if (r->shape != i->shape) LEMNOS_PANIC("rng-bit-generator-expander changes a shape");
      expand_finish(i, r);
      *changed = true;
    }
  return LEMNOS_SUCCESS;
}
