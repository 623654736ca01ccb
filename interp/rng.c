// SPDX-License-Identifier: Apache-2.0
// Random numbers: rng_bit_generator with ThreeFry-2x32 and Philox-4x32 in the layouts XLA gives them (Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3"), DEFAULT being Philox as on XLA's CPU; and rng, whose values the
// specification leaves open: a Philox stream that depends on the instruction and on how many draws the run made before.
#include <math.h>

#include "interp/interp_internal.h"

static uint32_t rotl(uint32_t x, int n) {
  return x << n | x >> (32 - n);
}

static void threefry(const uint32_t key[2], uint32_t x[2]) {
  static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t k[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA};
  x[0] += k[0];
  x[1] += k[1];
  for (int r = 0; r < 5; r++) {
    for (int i = 0; i < 4; i++) {
      x[0] += x[1];
      x[1] = rotl(x[1], rotations[r % 2][i]) ^ x[0];
    }
    x[0] += k[(r + 1) % 3];
    x[1] += k[(r + 2) % 3] + (uint32_t)(r + 1);
  }
}

static void philox(const uint32_t key[2], uint32_t x[4]) {
  uint32_t k0 = key[0], k1 = key[1];
  for (int r = 0; r < 10; r++) {
    uint64_t p0 = UINT64_C(0xD2511F53) * x[0], p1 = UINT64_C(0xCD9E8D57) * x[2];
    uint32_t y0 = (uint32_t)(p1 >> 32) ^ x[1] ^ k0, y2 = (uint32_t)(p0 >> 32) ^ x[3] ^ k1;
    x[1] = (uint32_t)p1;
    x[3] = (uint32_t)p0;
    x[0] = y0;
    x[2] = y2;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
}

// --- rng_bit_generator
// ------------------------------------------------------------------------------------------------------

// ThreeFry, up to 32 bits: the result is cut in two along its first even dimension (else its largest one); the two
// words of counter c are elements c of the halves, interleaved along that dimension in pairs.
static uint64_t threefry_narrow(const uint32_t key[2], uint64_t counter, interp_array *out, int bytes) {
  int rank = out->rank, split = -1;
  int64_t half[INTERP_MAX_RANK], n = 1, inner = 1, outer = 1;
  for (int d = 0; d < rank && split < 0; d++)
    if (out->dims[d] % 2 == 0) split = d;
  if (split < 0)
    for (int d = 0; d < rank; d++)
      if (split < 0 || out->dims[d] > out->dims[split]) split = d;
  memcpy(half, out->dims, sizeof half);
  if (rank > 0) half[split] = (half[split] + 1) / 2;
  for (int d = 0; d < rank; d++) {
    n *= half[d];
    if (d < split) outer *= out->dims[d];
    if (d > split) inner *= out->dims[d];
  }
  int64_t length = rank ? out->dims[split] : 1, h = rank ? half[split] : 1;
  char *data = out->data;
  for (int64_t c = 0; c < n; c++) {
    uint64_t at = counter + (uint64_t)c;
    uint32_t x[2] = {(uint32_t)at, (uint32_t)(at >> 32)};
    threefry(key, x);
    int64_t i = c % inner, s = c / inner % h, o = c / inner / h;
    for (int w = 0; w < 2; w++)
      if (2 * s + w < length) memcpy(data + ((o * length + 2 * s + w) * inner + i) * bytes, &x[w], (size_t)bytes);
  }
  (void)outer;
  return (uint64_t)n;
}

static uint64_t threefry_wide(const uint32_t key[2], uint64_t counter, interp_array *out) {
  int64_t n = interp_count(out);
  for (int64_t c = 0; c < n; c++) {
    uint64_t at = counter + (uint64_t)c;
    uint32_t x[2] = {(uint32_t)at, (uint32_t)(at >> 32)};
    threefry(key, x);
    ((uint64_t *)out->data)[c] = x[0] | (uint64_t)x[1] << 32;
  }
  return (uint64_t)n;
}

// Philox: four words (two of 64 bits) per 128-bit counter, in order.
static uint64_t philox_fill(const uint32_t key[2], uint64_t low, uint64_t high, interp_array *out, int bytes) {
  int64_t n = interp_count(out), per = bytes == 8 ? 2 : 4, blocks = (n + per - 1) / per;
  char *data = out->data;
  for (int64_t c = 0; c < blocks; c++) {
    uint64_t lo = low + (uint64_t)c, hi = high + (lo < low);
    uint32_t x[4] = {(uint32_t)lo, (uint32_t)(lo >> 32), (uint32_t)hi, (uint32_t)(hi >> 32)};
    philox(key, x);
    for (int64_t w = 0; w < per && c * per + w < n; w++)
      memcpy(data + (c * per + w) * bytes, bytes == 8 ? &x[2 * w] : &x[w], (size_t)bytes);
  }
  return (uint64_t)blocks;
}

static void mask_small(interp_array *out) {
  int bits = hlo_dtype_table[out->dtype].bits;
  int64_t n = interp_count(out);
  uint8_t *x = out->data;
  if (bits >= 8) return;
  for (int64_t k = 0; k < n; k++) {
    x[k] &= (uint8_t)((1 << bits) - 1);
    if (hlo_dtype_is_signed(out->dtype) && x[k] >> (bits - 1) & 1) x[k] |= (uint8_t)(0xff << bits);
  }
}

static lemnos_status run_bits(interp_call *c) {
  const interp_array *state = interp_arg(c, 0);
  interp_array *next = interp_result(c, 0), *out = interp_result(c, 1);
  hlo_rng_algorithm algorithm = HLO_ATTRS(c->in->src, rng_bit_generator)->algorithm;
  uint64_t s[3] = {0};
  size_t size = (size_t)interp_bytes(state);
  memcpy(s, state->data, size < 24 ? size : 24);
  uint32_t key[2] = {(uint32_t)s[0], (uint32_t)(s[0] >> 32)};
  int bytes = hlo_dtype_bytes(out->dtype);
  if (algorithm == HLO_RNG_ALGORITHM_THREE_FRY) {
    if (size != 16)
      return interp_error(c, LEMNOS_INVALID_ARGUMENT, "ThreeFry needs a state of 16 bytes, found %zu", size);
    s[1] += bytes == 8 ? threefry_wide(key, s[1], out) : threefry_narrow(key, s[1], out, bytes);
  } else {
    if (size != 16 && size != 24)
      return interp_error(c, LEMNOS_INVALID_ARGUMENT, "Philox needs a state of 16 or 24 bytes, found %zu", size);
    uint64_t low = s[1];
    // With a state of two words the key is also the upper half of the counter.
    s[1] += philox_fill(key, low, size == 24 ? s[2] : s[0], out, bytes);
    if (s[1] < low) s[2]++;
  }
  mask_small(out);
  memcpy(next->data, s, size);
  return LEMNOS_SUCCESS;
}

// --- rng
// ----------------------------------------------------------------------------------------------------------------------

static double uniform01(const uint32_t key[2], uint64_t counter) {
  uint32_t x[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0};
  philox(key, x);
  return (double)((uint64_t)x[0] << 21 ^ (uint64_t)x[1] >> 11) * 0x1p-53;
}

static lemnos_status run_rng(interp_call *c) {
  const interp_array *a = interp_arg(c, 0), *b = interp_arg(c, 1);
  interp_array *out = interp_result(c, 0);
  bool normal = HLO_ATTRS(c->in->src, rng)->distribution == HLO_RNG_DISTRIBUTION_NORMAL;
  uint32_t key[2] = {(uint32_t)c->in->src->id, c->cx->draws++};
  int64_t n = interp_count(out);
  if (!hlo_dtype_is_float(out->dtype)) {  // integers and pred: uniform in [a, b)
    int64_t low = hlo_element_get_i64(a->dtype, a->data, 0), high = hlo_element_get_i64(b->dtype, b->data, 0);
    uint64_t range = (uint64_t)high - (uint64_t)low;
    for (int64_t k = 0; k < n; k++) {
      uint32_t x[4] = {(uint32_t)k, (uint32_t)(k >> 32), 1, 0};
      philox(key, x);
      uint64_t v = x[0] | (uint64_t)x[1] << 32;
      hlo_element_set_i64(out->dtype, out->data, k, (int64_t)((uint64_t)low + (range ? v % range : 0)));
    }
    return LEMNOS_SUCCESS;
  }
  double p = hlo_element_get_f64(a->dtype, a->data, 0, 0), q = hlo_element_get_f64(b->dtype, b->data, 0, 0);
  for (int64_t k = 0; k < n; k++) {
    double v;
    if (normal) {
      double u = 1 - uniform01(key, 2 * (uint64_t)k), w = uniform01(key, 2 * (uint64_t)k + 1);
      v = p + q * sqrt(-2 * log(u)) * cos(2 * M_PI * w);
    } else {
      v = p + (q - p) * uniform01(key, (uint64_t)k);
    }
    hlo_element_set_f64(out->dtype, out->data, k, 0, v);
    if (!normal && hlo_element_get_f64(out->dtype, out->data, k, 0) >= q)
      hlo_element_set_f64(out->dtype, out->data, k, 0, p);
  }
  return LEMNOS_SUCCESS;
}

lemnos_status interp_compile_rng(interp_compiler *c, interp_insn *in) {
  if (in->src->op == HLO_OP_RNG) return in->fn = run_rng, LEMNOS_SUCCESS;
  if (in->n_results != 2 || (in->flags & INTERP_DYNAMIC)) return interp_refuse(in->src, "this form");
  in->fn = run_bits;
  return LEMNOS_SUCCESS;
}
