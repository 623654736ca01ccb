// SPDX-License-Identifier: Apache-2.0
// Elementwise over 64 MiB against the machine's copy bandwidth and a sum of 64 MiB against its read bandwidth, in one
// run:
// a hand-written loop and the device take turns; printed are the medians of both and of their ratio, pair by pair.
// Copying is the better of memcpy and a loop of streaming stores, on as many threads; results of the device lie in
// memory that an earlier run gave back, as copies go to one destination.
//   bench_bandwidth [--threads N] [--reps N] [--device ID]
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/io.h"
#include "lemnos/lemnos.h"

enum { BYTES = 64 << 20, MAX_THREADS = 64, MAX_REPS = 1000 };

static void check(lemnos_status s, const char *what) {
  if (!s) return;
  fprintf(stderr, "%s: %s\n", what, lemnos_status_message(s));
  exit(1);
}

// --- hand-written --------------------------------------------------------------------------------

typedef enum mode { COPY, STREAM, READ } mode;

typedef struct part {
  mode mode;
  const char *from;
  char *to;
  size_t bytes;
  float result;
} part;

static void stream(part *p) {
#if defined(__x86_64__)
  for (size_t i = 0; i < p->bytes; i += 64) {
    for (size_t j = 0; j < 64; j += 16)
      _mm_stream_si128((__m128i *)(void *)(p->to + i + j),
                       _mm_load_si128((const __m128i *)(const void *)(p->from + i + j)));
  }
  _mm_sfence();
#else
  memcpy(p->to, p->from, p->bytes);
#endif
}

typedef float vec16 __attribute__((vector_size(64)));

#if defined(__x86_64__)
__attribute__((target_clones("default", "avx2", "avx512f")))
#endif
static float
sum_of(const char *from, size_t bytes) {
  const vec16 *x = (const vec16 *)(const void *)from;
  vec16 a = {0}, b = {0}, c = {0}, d = {0};
  for (size_t i = 0; i + 4 <= bytes / sizeof *x; i += 4) a += x[i], b += x[i + 1], c += x[i + 2], d += x[i + 3];
  a += b + c + d;
  return a[0] + a[7] + a[15];
}

static void *work(void *arg) {
  part *p = arg;
  if (p->mode == COPY)
    memcpy(p->to, p->from, p->bytes);
  else if (p->mode == STREAM)
    stream(p);
  else
    p->result = sum_of(p->from, p->bytes);
  return NULL;
}

static double hand_written(mode mode, int threads, const char *from, char *to) {
  part parts[MAX_THREADS];
  pthread_t ids[MAX_THREADS];
  size_t each = (BYTES / (size_t)threads + 4095) / 4096 * 4096;
  double start = io_seconds();
  for (int t = 0; t < threads; t++) {
    size_t begin = each * (size_t)t < BYTES ? each * (size_t)t : BYTES,
           end = begin + each < BYTES ? begin + each : BYTES;
    parts[t] = (part){.mode = mode, .from = from + begin, .to = to + begin, .bytes = end - begin};
    if (t && pthread_create(&ids[t], NULL, work, &parts[t])) exit(1);
  }
  work(&parts[0]);
  for (int t = 1; t < threads; t++) pthread_join(ids[t], NULL);
  return io_seconds() - start;
}

// --- the device ----------------------------------------------------------------------------------

static int compare(const void *x, const void *y) {
  double a = *(const double *)x, b = *(const double *)y;
  return a < b ? -1 : a > b;
}

static double median(double *x, int n) {
  qsort(x, (size_t)n, sizeof *x, compare);
  return x[n / 2];
}

static char *pages(void) {
  void *p = aligned_alloc(2 << 20, BYTES);
  if (!p) exit(1);
#ifdef MADV_HUGEPAGE
  madvise(p, BYTES, MADV_HUGEPAGE);
#endif
  memset(p, 0, BYTES);
  return p;
}

static void run(lemnos_context *c, lemnos_device *d, const char *name, const char *text, bool reads, int threads,
                int reps) {
  lemnos_module *module;
  lemnos_executable *e;
  check(lemnos_module_load(c, name, text, strlen(text), NULL, &module), "module");
  check(lemnos_compile(module, d, NULL, &e), "compile");
  char *from = pages(), *to = pages();
  for (size_t i = 0; i < BYTES / 4; i++) ((float *)(void *)from)[i] = (float)(i % 1001) / 1001;
  lemnos_array a = {.dtype = "f32", .rank = 1, .dims = {BYTES / 4}, .data = from};
  lemnos_buffer *arg, *result;
  check(lemnos_buffer_from_host(d, &a, &arg), "upload");
  static double rate[MAX_REPS], peak[MAX_REPS], ratio[MAX_REPS];
  double bytes = reads ? BYTES : 2.0 * BYTES;
  for (int r = -2; r < reps; r++) {
    double best = hand_written(reads ? READ : COPY, threads, from, to);
    if (!reads) {
      double other = hand_written(STREAM, threads, from, to);
      if (other < best) best = other;
    }
    double start = io_seconds();
    check(lemnos_execute(e, 1, &arg, 1, &result, NULL), "run");
    double seconds = io_seconds() - start;
    lemnos_buffer_free(result);
    if (r < 0) continue;
    rate[r] = bytes / seconds * 1e-9;
    peak[r] = bytes / best * 1e-9;
    ratio[r] = rate[r] / peak[r];
  }
  double rates = median(rate, reps), peaks = median(peak, reps);  // sorted now: the best is last
  printf("%s, %d threads: %.2f GB/s of %.2f, ratio %.3f; best %.2f of %.2f, %.3f\n", name, threads, rates, peaks,
         median(ratio, reps), rate[reps - 1], peak[reps - 1], rate[reps - 1] / peak[reps - 1]);
  fflush(stdout);
  lemnos_buffer_free(arg);
  lemnos_executable_free(e);
  lemnos_module_free(module);
  free(from);
  free(to);
}

int main(int argc, char **argv) {
  const char *device = "cpu";
  int threads = 1, reps = 21;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--threads") && i + 1 < argc)
      threads = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--reps") && i + 1 < argc)
      reps = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--device") && i + 1 < argc)
      device = argv[++i];
    else
      return fprintf(stderr, "unknown option %s\n", argv[i]), 2;
  }
  if (threads < 1 || threads > MAX_THREADS || reps < 1 || reps > MAX_REPS) return fprintf(stderr, "bad option\n"), 2;
  lemnos_context_options options = {.threads = threads};
  lemnos_context *c;
  lemnos_device *d;
  check(lemnos_context_create(&options, &c), "context");
  check(lemnos_device_open(c, device, &d), "device");
  run(c, d, "elementwise",
      "func.func @main(%a: tensor<16777216xf32>) -> tensor<16777216xf32> {\n"
      "  %0 = stablehlo.multiply %a, %a : tensor<16777216xf32>\n"
      "  %1 = stablehlo.add %0, %a : tensor<16777216xf32>\n  return %1 : tensor<16777216xf32>\n}\n",
      false, threads, reps);
  run(c, d, "sum",
      "func.func @main(%a: tensor<16777216xf32>) -> tensor<f32> {\n  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<16777216xf32>, "
      "tensor<f32>) -> tensor<f32>\n  return %0 : tensor<f32>\n}\n",
      true, threads, reps);
  lemnos_device_free(d);
  lemnos_context_free(c);
  return 0;
}
