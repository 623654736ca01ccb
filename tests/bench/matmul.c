// SPDX-License-Identifier: Apache-2.0
// f32 matrix products on a device against the machine's multiply-add peak, in one run: for each size and layout, a
// hand-written loop of independent FMAs and the product take turns; printed are the medians of both and of their ratio,
// pair by pair.
//   bench_matmul [--threads N] [--reps N] [--device ID] [--layouts NN,NT,TN,TT] [--cpu] [MxKxN ...]
// --cpu counts the process's CPU time instead of time on the wall, for busy machines (blind to threads that wait).
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/io.h"
#include "lemnos/lemnos.h"

enum { CHAINS = 16, MAX_THREADS = 64 };

static void check(lemnos_status s, const char *what) {
  if (!s) return;
  fprintf(stderr, "%s: %s\n", what, lemnos_status_message(s));
  exit(1);
}

static bool use_cpu_time;

static double seconds_now(int threads) {
  if (!use_cpu_time) return io_seconds();
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return ((double)t.tv_sec + (double)t.tv_nsec * 1e-9) / threads;
}

// --- the peak ------------------------------------------------------------------------------------

typedef struct peak_run {
  long steps;
  double flops, result;
} peak_run;

#define PEAK_LOOP(name, attribute, bytes)                                            \
  typedef float name##_v __attribute__((vector_size(bytes)));                        \
  attribute static void name(peak_run *r) {                                          \
    name##_v a[CHAINS], x = {0}, y = {0};                                            \
    for (unsigned l = 0; l < bytes / 4; l++) x[l] = 0.999f, y[l] = 0.001f;           \
    for (int i = 0; i < CHAINS; i++) a[i] = x + (float)i;                            \
    for (long k = 0; k < r->steps; k++) {                                            \
      _Pragma("GCC unroll 16") for (int i = 0; i < CHAINS; i++) a[i] = a[i] * x + y; \
    }                                                                                \
    for (int i = 0; i < CHAINS; i++) r->result += a[i][0];                           \
    r->flops = (double)r->steps * CHAINS * (bytes / 4) * 2;                          \
  }

#if defined(__x86_64__)
PEAK_LOOP(peak_512, __attribute__((target("avx512f,fma"), optimize("O3", "fp-contract=fast"))), 64)
PEAK_LOOP(peak_256, __attribute__((target("avx2,fma"), optimize("O3", "fp-contract=fast"))), 32)
#endif
PEAK_LOOP(peak_128, __attribute__((optimize("O3", "fp-contract=fast"))), 16)

static void *peak_thread(void *arg) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return peak_512(arg), NULL;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return peak_256(arg), NULL;
#endif
  peak_128(arg);
  return NULL;
}

static double peak_gflops(int threads) {
  pthread_t ids[MAX_THREADS];
  peak_run runs[MAX_THREADS];
  double start = seconds_now(threads), flops = 0;
  for (int t = 0; t < threads; t++) runs[t] = (peak_run){.steps = 1000000};
  for (int t = 1; t < threads; t++) pthread_create(&ids[t], NULL, peak_thread, &runs[t]);
  peak_thread(&runs[0]);
  for (int t = 1; t < threads; t++) pthread_join(ids[t], NULL);
  for (int t = 0; t < threads; t++) flops += runs[t].flops;
  return flops / (seconds_now(threads) - start) * 1e-9;
}

// --- the product ---------------------------------------------------------------------------------

static int compare(const void *x, const void *y) {
  double a = *(const double *)x, b = *(const double *)y;
  return a < b ? -1 : a > b;
}

static double median(double *x, int n) {
  qsort(x, (size_t)n, sizeof *x, compare);
  return x[n / 2];
}

static lemnos_buffer *filled(lemnos_device *d, long rows, long cols) {
  lemnos_array a = {.dtype = "f32", .rank = 2, .dims = {rows, cols}};
  float *data = malloc((size_t)(rows * cols) * sizeof *data);
  for (long i = 0; i < rows * cols; i++) data[i] = (float)((i * 7919) % 1001 - 500) / 500;
  a.data = data;
  lemnos_buffer *b;
  check(lemnos_buffer_from_host(d, &a, &b), "upload");
  free(data);
  return b;
}

static void run(lemnos_context *c, lemnos_device *d, long m, long k, long n, const char *layout, int threads,
                int reps) {
  bool ta = layout[0] == 'T', tb = layout[1] == 'T';
  char text[1000];
  snprintf(text, sizeof text,
           "func.func @main(%%a: tensor<%ldx%ldxf32>, %%b: tensor<%ldx%ldxf32>) -> tensor<%ldx%ldxf32> {\n"
           "  %%0 = stablehlo.dot_general %%a, %%b, contracting_dims = [%d] x [%d] : (tensor<%ldx%ldxf32>, "
           "tensor<%ldx%ldxf32>) -> tensor<%ldx%ldxf32>\n  return %%0 : tensor<%ldx%ldxf32>\n}\n",
           ta ? k : m, ta ? m : k, tb ? n : k, tb ? k : n, m, n, !ta, tb, ta ? k : m, ta ? m : k, tb ? n : k,
           tb ? k : n, m, n, m, n);
  lemnos_module *module;
  lemnos_executable *e;
  check(lemnos_module_load(c, "matmul", text, strlen(text), NULL, &module), "module");
  check(lemnos_compile(module, d, NULL, &e), "compile");
  lemnos_buffer *args[] = {filled(d, ta ? k : m, ta ? m : k), filled(d, tb ? n : k, tb ? k : n)}, *result;
  double rate[1000], peak[1000], ratio[1000], best = 0, best_peak = 0;
  for (int r = -1; r < reps; r++) {
    double p = peak_gflops(threads), start = seconds_now(threads);
    check(lemnos_execute(e, 2, args, 1, &result, NULL), "run");
    double seconds = seconds_now(threads) - start;
    lemnos_buffer_free(result);
    if (r < 0) continue;
    rate[r] = 2.0 * (double)m * (double)n * (double)k / seconds * 1e-9;
    peak[r] = p;
    ratio[r] = rate[r] / p;
    if (rate[r] > best) best = rate[r];
    if (p > best_peak) best_peak = p;
  }
  printf("%ldx%ldx%ld %.2s: %.1f GFLOP/s of %.1f, ratio %.3f; best %.1f of %.1f, %.3f\n", m, k, n, layout,
         median(rate, reps), median(peak, reps), median(ratio, reps), best, best_peak, best / best_peak);
  fflush(stdout);
  for (int i = 0; i < 2; i++) lemnos_buffer_free(args[i]);
  lemnos_executable_free(e);
  lemnos_module_free(module);
}

int main(int argc, char **argv) {
  const char *sizes[64] = {"512x512x512", "1024x1024x1024", "2048x2048x2048", "1000x1023x777"}, *device = "cpu";
  const char *layouts = "NN,NT,TN,TT";
  int n_sizes = 4, given = 0, threads = 1, reps = 9;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--threads") && i + 1 < argc)
      threads = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--reps") && i + 1 < argc)
      reps = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--device") && i + 1 < argc)
      device = argv[++i];
    else if (!strcmp(argv[i], "--layouts") && i + 1 < argc)
      layouts = argv[++i];
    else if (!strcmp(argv[i], "--cpu"))
      use_cpu_time = true;
    else if (given < 64)
      sizes[given++] = argv[i];
  }
  if (given) n_sizes = given;
  if (threads < 1 || threads > MAX_THREADS || reps < 1 || reps > 1000) return fprintf(stderr, "bad option\n"), 2;
  lemnos_context_options options = {.threads = threads};
  lemnos_context *c;
  lemnos_device *d;
  check(lemnos_context_create(&options, &c), "context");
  check(lemnos_device_open(c, device, &d), "device");
  for (int s = 0; s < n_sizes; s++) {
    long m, k, n;
    if (sscanf(sizes[s], "%ldx%ldx%ld", &m, &k, &n) != 3) return fprintf(stderr, "bad size %s\n", sizes[s]), 2;
    for (const char *l = layouts; *l; l += l[2] ? 3 : 2) run(c, d, m, k, n, l, threads, reps);
  }
  lemnos_device_free(d);
  lemnos_context_free(c);
  return 0;
}
