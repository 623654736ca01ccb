// SPDX-License-Identifier: Apache-2.0
// Random numbers: rng_bit_generator with ThreeFry-2x32 and Philox-4x32 in the layouts XLA gives them (Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3"), DEFAULT being Philox as on XLA's CPU; and rng, whose values the
// specification leaves open: here those that XLA's CPU client draws for the first rng of a process.
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

// --- rng_bit_generator ---------------------------------------------------------------------------

// An array cut in two along its first even dimension (else its largest one), the halves interleaved along it in pairs:
// element `inner` of pair `s` is element 2 * s + half of that dimension.
typedef struct halves {
  int64_t length, half, inner, n;  // of the dimension, of half of it (rounded up), of what is inside it, of a half
} halves;

static halves cut(const interp_array *a) {
  halves h = {.length = 1, .half = 1, .inner = 1, .n = 1};
  int split = -1;
  for (int d = 0; d < a->rank && split < 0; d++)
    if (a->dims[d] % 2 == 0) split = d;
  if (split < 0)
    for (int d = 0; d < a->rank; d++)
      if (split < 0 || a->dims[d] > a->dims[split]) split = d;
  for (int d = 0; d < a->rank; d++) {
    if (d == split) h.half = ((h.length = a->dims[d]) + 1) / 2;
    if (d > split) h.inner *= a->dims[d];
    h.n *= d == split ? h.half : a->dims[d];
  }
  return h;
}

// Where element `which` (0 or 1) of pair c is; -1 beyond the end of an odd dimension.
static int64_t halves_at(const halves *h, int64_t c, int which) {
  int64_t i = c % h->inner, s = c / h->inner % h->half, o = c / h->inner / h->half;
  return 2 * s + which < h->length ? (o * h->length + 2 * s + which) * h->inner + i : -1;
}

// ThreeFry, up to 32 bits: the two words of counter c are pair c.
static uint64_t threefry_narrow(const uint32_t key[2], uint64_t counter, interp_array *out, int bytes) {
  halves h = cut(out);
  char *data = out->data;
  for (int64_t c = 0; c < h.n; c++) {
    uint64_t at = counter + (uint64_t)c;
    uint32_t x[2] = {(uint32_t)at, (uint32_t)(at >> 32)};
    threefry(key, x);
    for (int w = 0; w < 2; w++) {
      int64_t to = halves_at(&h, c, w);
      if (to >= 0) memcpy(data + to * bytes, &x[w], (size_t)bytes);
    }
  }
  return (uint64_t)h.n;
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

// --- rng -----------------------------------------------------------------------------------------

// XLA expands rng to Philox. Its key is drawn when a program is compiled, from a generator that all programs of a
// process
// share: KEY is what the first rng gets (as jaxlib 0.10.2 shows in its compiled program). Its counter starts at FIRST
// and counts, over all rng of an executable, the 32-bit units of the results so far.
#define KEY_LOW 0xBDE0C74Fu
#define KEY_HIGH 0xBAA1723Eu
#define FIRST UINT64_C(0x7012395)

// Word w of the stream after `before` units.
static uint32_t word(uint64_t before, uint64_t w) {
  static const uint32_t key[2] = {KEY_LOW, KEY_HIGH};
  uint64_t at = FIRST + before + w / 4;
  uint32_t x[4] = {(uint32_t)at, (uint32_t)(at >> 32), 0, 0};
  philox(key, x);
  return x[w % 4];
}

static uint64_t two_words(uint64_t before, uint64_t k) {
  return word(before, 2 * k) | (uint64_t)word(before, 2 * k + 1) << 32;
}

// Number k in [0, 1), a multiple of the type's unit: f64, or f32 for it and all narrower ones.
static double unit(uint64_t before, uint64_t k, bool wide) {
  return wide ? (double)(two_words(before, k) >> 12) * 0x1p-52 : (double)(word(before, k) >> 9) * 0x1p-23;
}

// Each step is rounded to the type that XLA computes in.
static double rounded(double x, bool wide) {
  return wide ? x : (double)(float)x;
}

// Box and Muller, which make two normally distributed numbers of two uniform ones.
static void draw_normal(uint64_t before, interp_array *out, double mean, double sigma, bool wide) {
  halves h = cut(out);
  for (int64_t c = 0; c < h.n; c++) {
    int64_t i = c % h.inner, pair = c / h.inner;
    double u = unit(before, (uint64_t)(2 * pair * h.inner + i), wide);
    double v = unit(before, (uint64_t)((2 * pair + 1) * h.inner + i), wide);
    double least = rounded(1.0e-7f, wide), turn = rounded(2 * M_PI, wide);
    double radius = rounded(sqrt(rounded(-2 * rounded(log(u > least ? u : least), wide), wide)), wide);
    double angle = rounded(turn * v, wide);
    for (int w = 0; w < 2; w++) {
      int64_t to = halves_at(&h, c, w);
      double x = rounded(rounded(w ? cos(angle) : sin(angle), wide) * radius, wide);
      if (to >= 0) hlo_element_set_f64(out->dtype, out->data, to, 0, rounded(mean + rounded(sigma * x, wide), wide));
    }
  }
}

static void draw_uniform(uint64_t before, interp_array *out, double low, double high, bool wide) {
  int64_t n = interp_count(out);
  double range = rounded(high - low, wide);
  for (int64_t k = 0; k < n; k++)
    hlo_element_set_f64(out->dtype, out->data, k, 0,
                        rounded(rounded(unit(before, (uint64_t)k, wide) * range, wide) + low, wide));
}

static void draw_integers(uint64_t before, interp_array *out, int64_t low, int64_t high) {
  bool wide = hlo_dtype_bytes(out->dtype) == 8;
  int64_t n = interp_count(out);
  uint64_t range = (uint64_t)high - (uint64_t)low;
  if (!wide) range &= UINT32_MAX;
  for (int64_t k = 0; k < n; k++) {
    uint64_t v = wide ? two_words(before, (uint64_t)k) : word(before, (uint64_t)k);
    hlo_element_set_i64(out->dtype, out->data, k, (int64_t)((uint64_t)low + (range ? v % range : v)));
  }
}

static lemnos_status run_rng(interp_call *c) {
  const interp_array *a = interp_arg(c, 0), *b = interp_arg(c, 1);
  interp_array *out = interp_result(c, 0);
  bool wide = hlo_dtype_bytes(out->dtype) == 8;
  uint64_t before = c->cx->drawn;
  c->cx->drawn += (uint64_t)interp_count(out) * (wide ? 2 : 1);
  if (!hlo_dtype_is_float(out->dtype)) {  // integers and pred: uniform in [a, b)
    draw_integers(before, out, hlo_element_get_i64(a->dtype, a->data, 0), hlo_element_get_i64(b->dtype, b->data, 0));
    return LEMNOS_SUCCESS;
  }
  double p = hlo_element_get_f64(a->dtype, a->data, 0, 0), q = hlo_element_get_f64(b->dtype, b->data, 0, 0);
  if (HLO_ATTRS(c->in->src, rng)->distribution == HLO_RNG_DISTRIBUTION_NORMAL)
    draw_normal(before, out, p, q, wide);
  else
    draw_uniform(before, out, p, q, wide);
  return LEMNOS_SUCCESS;
}

lemnos_status interp_compile_rng(interp_compiler *c, interp_insn *in) {
  if (in->src->op == HLO_OP_RNG) return in->fn = run_rng, LEMNOS_SUCCESS;
  if (in->n_results != 2 || (in->flags & INTERP_DYNAMIC)) return interp_refuse(in->src, "this form");
  in->fn = run_bits;
  return LEMNOS_SUCCESS;
}
