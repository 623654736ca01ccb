// SPDX-License-Identifier: Apache-2.0
// fft: all four types, any length, computed in f64 and rounded once. Lengths whose prime factors are at most 61 go
// through a recursive mixed-radix transform (decimation in time); others through Bluestein's convolution with a power
// of two. Twiddles are one table of n-th roots, each computed from its own angle.
#include <math.h>

#include "interp/interp_internal.h"

#define MAX_RADIX 61

typedef struct plan {
  int64_t n, m;    // m: Bluestein's power of two, 0 if not used
  double *roots;   // exp(-2 pi i k / n)
  double *chirp;   // exp(-pi i k^2 / n)
  double *filter;  // transform of the conjugate chirp, length m
  double *m_roots;
  double *work;  // 2 * max(n, m) complex
} plan;

static int64_t smallest_factor(int64_t n) {
  if (n % 2 == 0) return 2;
  for (int64_t p = 3; p * p <= n; p += 2)
    if (n % p == 0) return p;
  return n;
}

static int64_t largest_factor(int64_t n) {
  int64_t best = 1;
  while (n > 1) {
    int64_t p = smallest_factor(n);
    if (p > best) best = p;
    while (n % p == 0) n /= p;
  }
  return best;
}

static void fill_roots(double *r, int64_t n) {
  for (int64_t k = 0; k < n; k++) {
    // Reduced to the first octant, so that symmetric roots are exactly symmetric.
    int64_t k8 = 8 * k, octant = k8 / n;
    double c, s;
    switch (octant) {
      case 0: {
        double t = 2 * M_PI * (double)k / (double)n;
        c = cos(t), s = sin(t);
        break;
      }
      case 1:
      case 2: {
        double t = 2 * M_PI * ((double)n / 4 - (double)k) / (double)n;
        c = sin(t), s = cos(t);
        break;
      }
      case 3:
      case 4: {
        double t = 2 * M_PI * ((double)n / 2 - (double)k) / (double)n;
        c = -cos(t), s = sin(t);
        break;
      }
      case 5:
      case 6: {
        double t = 2 * M_PI * (3 * (double)n / 4 - (double)k) / (double)n;
        c = -sin(t), s = -cos(t);
        break;
      }
      default: {
        double t = 2 * M_PI * ((double)n - (double)k) / (double)n;
        c = cos(t), s = -sin(t);
        break;
      }
    }
    r[2 * k] = c;
    r[2 * k + 1] = -s;
  }
}

// out[0..n) = transform of in[0], in[stride], ...; roots are of order total = n * stride of the outermost call.
static void transform(int64_t n, const double *in, int64_t stride, double *out, const double *roots, int64_t total) {
  if (n == 1) {
    out[0] = in[0];
    out[1] = in[1];
    return;
  }
  int64_t p = n % 4 == 0 ? 2 : smallest_factor(n), m = n / p, step = total / n;
  for (int64_t r = 0; r < p; r++) transform(m, in + 2 * r * stride, stride * p, out + 2 * r * m, roots, total);
  if (p == 2) {
    for (int64_t k = 0; k < m; k++) {
      double *a = out + 2 * k, *b = out + 2 * (k + m);
      const double *w = roots + 2 * k * step;
      double re = b[0] * w[0] - b[1] * w[1], im = b[0] * w[1] + b[1] * w[0];
      b[0] = a[0] - re;
      b[1] = a[1] - im;
      a[0] += re;
      a[1] += im;
    }
    return;
  }
  double t[2 * MAX_RADIX];
  for (int64_t k = 0; k < m; k++) {
    for (int64_t r = 0; r < p; r++) {
      const double *x = out + 2 * (r * m + k), *w = roots + 2 * (r * k * step % total);
      t[2 * r] = x[0] * w[0] - x[1] * w[1];
      t[2 * r + 1] = x[0] * w[1] + x[1] * w[0];
    }
    for (int64_t q = 0; q < p; q++) {
      double re = 0, im = 0;
      for (int64_t r = 0; r < p; r++) {
        const double *w = roots + 2 * (r * q % p * (total / p));
        re += t[2 * r] * w[0] - t[2 * r + 1] * w[1];
        im += t[2 * r] * w[1] + t[2 * r + 1] * w[0];
      }
      out[2 * (q * m + k)] = re;
      out[2 * (q * m + k) + 1] = im;
    }
  }
}

static bool plan_init(interp_ctx *cx, plan *p, int64_t n) {
  *p = (plan){.n = n};
  p->roots = interp_scratch(cx, (size_t)n * 16 + 16);
  if (!p->roots) return false;
  fill_roots(p->roots, n);
  if (largest_factor(n) <= MAX_RADIX) {
    p->work = interp_scratch(cx, (size_t)n * 32 + 32);
    return p->work != NULL;
  }
  for (p->m = 1; p->m < 2 * n - 1;) p->m *= 2;
  int64_t m = p->m;
  p->chirp = interp_scratch(cx, (size_t)n * 16);
  p->filter = interp_scratch(cx, (size_t)m * 16);
  p->m_roots = interp_scratch(cx, (size_t)m * 16);
  p->work = interp_scratch(cx, (size_t)m * 32);
  if (!p->chirp || !p->filter || !p->m_roots || !p->work) return false;
  fill_roots(p->m_roots, m);
  for (int64_t k = 0; k < n; k++) {
    int64_t e = (int64_t)((unsigned __int128)k * (unsigned __int128)k % (unsigned __int128)(2 * n));
    double angle = M_PI * (double)e / (double)n;
    p->chirp[2 * k] = cos(angle);
    p->chirp[2 * k + 1] = -sin(angle);
  }
  double *b = p->work;
  memset(b, 0, (size_t)m * 16);
  for (int64_t k = 0; k < n; k++) {
    b[2 * k] = p->chirp[2 * k];
    b[2 * k + 1] = -p->chirp[2 * k + 1];
    if (k > 0) memcpy(b + 2 * (m - k), b + 2 * k, 16);
  }
  transform(m, b, 1, p->filter, p->m_roots, m);
  return true;
}

// Forward transform of a contiguous line in place.
static void plan_forward(const plan *p, double *x) {
  int64_t n = p->n, m = p->m;
  if (!m) {
    transform(n, x, 1, p->work, p->roots, n);
    memcpy(x, p->work, (size_t)n * 16);
    return;
  }
  double *a = p->work, *f = p->work + 2 * m;
  memset(a, 0, (size_t)m * 16);
  for (int64_t k = 0; k < n; k++) {
    const double *w = p->chirp + 2 * k;
    a[2 * k] = x[2 * k] * w[0] - x[2 * k + 1] * w[1];
    a[2 * k + 1] = x[2 * k] * w[1] + x[2 * k + 1] * w[0];
  }
  transform(m, a, 1, f, p->m_roots, m);
  for (int64_t k = 0; k < m; k++) {  // product, conjugated for the inverse transform
    const double *w = p->filter + 2 * k;
    double re = f[2 * k] * w[0] - f[2 * k + 1] * w[1], im = f[2 * k] * w[1] + f[2 * k + 1] * w[0];
    a[2 * k] = re;
    a[2 * k + 1] = -im;
  }
  transform(m, a, 1, f, p->m_roots, m);
  for (int64_t k = 0; k < n; k++) {
    double re = f[2 * k] / (double)m, im = -f[2 * k + 1] / (double)m;
    const double *w = p->chirp + 2 * k;
    x[2 * k] = re * w[0] - im * w[1];
    x[2 * k + 1] = re * w[1] + im * w[0];
  }
}

static void run_line(const plan *p, double *x, bool inverse) {
  if (inverse)
    for (int64_t k = 0; k < p->n; k++) x[2 * k + 1] = -x[2 * k + 1];
  plan_forward(p, x);
  if (!inverse) return;
  for (int64_t k = 0; k < p->n; k++) {
    x[2 * k] /= (double)p->n;
    x[2 * k + 1] = -x[2 * k + 1] / (double)p->n;
  }
}

// Complex numbers in f64: real and imaginary parts, spaced by `step` (2: interleaved, im == re + 1).
typedef struct parts {
  double *re, *im;
  int step;
} parts;

static parts interleaved(double *x) {
  return (parts){x, x + 1, 2};
}

// Transforms dimension d of dims in place.
static lemnos_status along(interp_call *c, parts x, int rank, const int64_t *dims, int d, bool inverse) {
  int64_t inner = 1, outer = 1, n = dims[d];
  for (int k = 0; k < d; k++) outer *= dims[k];
  for (int k = d + 1; k < rank; k++) inner *= dims[k];
  plan p;
  double *line = interp_scratch(c->cx, (size_t)n * 16 + 16);
  if (n == 0 || !line || !plan_init(c->cx, &p, n)) return interp_scratch_failed(c);
  for (int64_t o = 0; o < outer; o++) {
    LEMNOS_TRY(interp_poll(c->cx));
    for (int64_t i = 0; i < inner; i++) {
      int64_t first = (o * n * inner + i) * x.step, step = inner * x.step;
      double *re = x.re + first, *im = x.im + first;
      if (step == 2) {
        run_line(&p, re, inverse);
        continue;
      }
      for (int64_t k = 0; k < n; k++) line[2 * k] = re[k * step], line[2 * k + 1] = im[k * step];
      run_line(&p, line, inverse);
      for (int64_t k = 0; k < n; k++) re[k * step] = line[2 * k], im[k * step] = line[2 * k + 1];
    }
  }
  return LEMNOS_SUCCESS;
}

// From c64 to c64: the result's memory holds the real parts, as f64, until the end.
static lemnos_status transform_c64(interp_call *c, int axes, bool inverse) {
  const interp_array *in = interp_arg(c, 0);
  interp_array *out = interp_result(c, 0);
  int64_t n = interp_count(out);
  size_t bytes = (size_t)n * sizeof(double);
  parts x = {.re = out->data, .im = interp_scratch(c->cx, bytes), .step = 1};
  if (!x.im) return interp_scratch_failed(c);
  for (int64_t k = 0; k < n; k++) {
    float z[2];
    memcpy(z, (const char *)in->data + 8 * k, sizeof z);
    x.re[k] = (double)z[0], x.im[k] = (double)z[1];
  }
  for (int d = in->rank - axes; d < in->rank; d++) LEMNOS_TRY(along(c, x, in->rank, in->dims, d, inverse));
  for (int64_t k = 0; k < n; k++) {
    float z[2] = {(float)x.re[k], (float)x.im[k]};
    memcpy(x.re + k, z, sizeof z);
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status run_fft(interp_call *c) {
  const hlo_attrs_fft *a = HLO_ATTRS(c->in->src, fft);
  const interp_array *in = interp_arg(c, 0);
  interp_array *out = interp_result(c, 0);
  int rank = in->rank, axes = a->fft_length.n;
  if (interp_count(out) == 0) return LEMNOS_SUCCESS;
  int64_t dims[INTERP_MAX_RANK], n_in = interp_count(in), last = a->fft_length.data[axes - 1];
  memcpy(dims, in->dims, sizeof dims);
  bool inverse = a->fft_type == HLO_FFT_TYPE_IFFT || a->fft_type == HLO_FFT_TYPE_IRFFT;
  bool irfft = a->fft_type == HLO_FFT_TYPE_IRFFT, rfft = a->fft_type == HLO_FFT_TYPE_RFFT;
  interp_cvt to, from;
  if (!interp_cvt_init(&to, in->dtype, HLO_C128) || !interp_cvt_init(&from, irfft ? HLO_F64 : HLO_C128, out->dtype))
    return interp_error(c, LEMNOS_UNIMPLEMENTED, "no conversion of this element type");
  int64_t n_out = interp_count(out), half = last / 2 + 1;
  for (int d = 0; d < axes; d++) {  // sizes that were not known while compiling
    int64_t want = a->fft_length.data[d], have = in->dims[rank - axes + d];
    if (irfft && d == axes - 1) want = half;
    if (have != want)
      return interp_error(c, LEMNOS_INVALID_ARGUMENT, "dimension %d has size %lld, expected %lld by fft_length",
                          rank - axes + d, (long long)have, (long long)want);
  }
  if (in->dtype == HLO_C64 && out->dtype == HLO_C64) return transform_c64(c, axes, inverse);
  double *x = interp_scratch(c->cx, (size_t)n_in * 16 + 16), *y = x;
  if (!x) return interp_scratch_failed(c);
  interp_cvt_run(&to, n_in, in->data, x);
  if (rfft) {
    LEMNOS_TRY(along(c, interleaved(x), rank, dims, rank - 1, false));
    y = interp_scratch(c->cx, (size_t)n_out * 16);
    if (!y) return interp_scratch_failed(c);
    for (int64_t l = 0; l < n_out / half; l++) memcpy(y + 2 * l * half, x + 2 * l * last, (size_t)half * 16);
    dims[rank - 1] = half;
  }
  for (int d = rank - axes; d < rank - (rfft || irfft ? 1 : 0); d++)
    LEMNOS_TRY(along(c, interleaved(y), rank, dims, d, inverse));
  if (irfft) {
    double *full = interp_scratch(c->cx, (size_t)n_out * 16);
    if (!full) return interp_scratch_failed(c);
    for (int64_t l = 0; l < n_out / last; l++) {
      double *row = full + 2 * l * last;
      const double *have = y + 2 * l * half;
      for (int64_t k = 0; k < last; k++) {
        int64_t m = k < half ? k : last - k;
        row[2 * k] = have[2 * m];
        row[2 * k + 1] = k < half ? have[2 * m + 1] : -have[2 * m + 1];
      }
      row[1] = 0;  // by definition of a real signal
      if (last % 2 == 0) row[2 * (last / 2) + 1] = 0;
    }
    dims[rank - 1] = last;
    LEMNOS_TRY(along(c, interleaved(full), rank, dims, rank - 1, true));
    for (int64_t k = 0; k < n_out; k++) full[k] = full[2 * k];
    y = full;
  }
  interp_cvt_run(&from, n_out, y, out->data);
  return LEMNOS_SUCCESS;
}

lemnos_status interp_compile_fft(interp_compiler *c, interp_insn *in) {
  if (HLO_ATTRS(in->src, fft)->fft_length.n < 1) return interp_refuse(in->src, "no fft_length");
  in->fn = run_fft;
  return LEMNOS_SUCCESS;
}
