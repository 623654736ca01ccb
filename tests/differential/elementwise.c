// SPDX-License-Identifier: Apache-2.0
// Every elementwise operation and element type on every device of the machine, against the interpreter, over special
// values and random ones: elementwise [--device=ID] [-v]. Bounds: tolerance.def. Closes with `N passed, N failed, N
// skipped`; an operation that the device leaves to the host is counted as skipped (it is the interpreter's own result).
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/hlo.h"
#include "lemnos/lemnos.h"

enum { N = 4099 };  // odd, larger than a few vectors, not a multiple of any

typedef struct bound {
  double f32, f64;
  bool listed;
} bound;

static bound bound_of(hlo_op op) {
  switch (op) {
// clang-format off
#define T(ENUM, a, b) \
  case HLO_OP_##ENUM: return (bound){a, b, true};
// clang-format on
#include "tolerance.def"
#undef T
    default: return (bound){0, 0, false};
  }
}

static uint64_t splitmix(uint64_t *s) {
  uint64_t z = (*s += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static double random_real(uint64_t *s) {
  static const double special[] = {0.0,  -0.0, 1,     -1,   0.5,   -0.5,     2,         -2,     3,    10,   100,
                                   -100, 1e-3, 1e-10, 1e10, -1e10, INFINITY, -INFINITY, NAN,    0.25, 0.75, 1.5,
                                   2.5,  -2.5, 3.5,   88.8, -104,  1e-30,    709.7,     4096.5, 1e5};
  uint64_t z = splitmix(s);
  if (z % 8 == 0) return special[(z >> 8) % (sizeof special / sizeof *special)];
  double u = ldexp((double)(int64_t)splitmix(s), -63);
  switch (z % 5) {
    case 0: return u;
    case 1: return u * 10;
    case 2: return u * 100;
    case 3: return ldexp(u, (int)(z >> 10) % 120 - 60);
    default: return u + 1;
  }
}

static void fill(hlo_dtype t, void *data, uint64_t seed) {
  uint64_t s = seed;
  for (int64_t i = 0; i < N; i++) {
    hlo_dtype_class c = hlo_dtype_cls(t);
    if (c == HLO_CLASS_PRED)
      ((uint8_t *)data)[i] = splitmix(&s) & 1;
    else if (c == HLO_CLASS_SINT || c == HLO_CLASS_UINT) {
      uint64_t z = splitmix(&s);
      hlo_element_set_i64(t, data, i,
                          z % 4 == 0   ? (int64_t)(z >> 8) % 5 - 2
                          : z % 4 == 1 ? (int64_t)(z >> 60)
                                       : (int64_t)splitmix(&s));
    } else {
      hlo_element_set_f64(t, data, i, 0, random_real(&s));
      if (c == HLO_CLASS_COMPLEX) hlo_element_set_f64(t, data, i, 1, random_real(&s));
    }
  }
}

// Distance in units in the last place of type t; 0 for equal or both NaN.
static double distance(hlo_dtype t, double x, double y, double magnitude) {
  if (x == y || (x != x && y != y)) return 0;
  if (x != x || y != y) return INFINITY;
  if (isinf(x) || isinf(y)) {  // the last finite value and infinity are neighbours
    double big = t == HLO_F64 || t == HLO_C128  ? 1.7976931348623157e308
                 : t == HLO_F32 || t == HLO_C64 ? 3.4028234663852886e38
                                                : 0;
    double finite = isinf(x) ? y : x;
    return big && fabs(finite) >= big * 0.9999 && (x < 0) == (y < 0) ? 1 : INFINITY;
  }
  int bits = t == HLO_F64 || t == HLO_C128  ? 53
             : t == HLO_F32 || t == HLO_C64 ? 24
             : t == HLO_F16                 ? 11
             : t == HLO_BF16                ? 8
                                            : 4;
  int low = t == HLO_F64 || t == HLO_C128  ? -1074
            : t == HLO_F16                 ? -24
            : t == HLO_F32 || t == HLO_C64 ? -149
            : t == HLO_BF16                ? -133
                                           : -20;
  double m = fmax(fmax(fabs(x), fabs(y)), magnitude);
  int e;
  frexp(m, &e);
  return fabs(x - y) / ldexp(1, e - bits < low ? low : e - bits);
}

typedef struct tally {
  int passed, failed, skipped;
} tally;

typedef struct program {
  strbuf text;
  hlo_op op;
  int n_in;
  hlo_dtype in[3], out;
  const char *attrs;
} program;

// Where devices are not held to the interpreter (docs/numerics.md): complex functions (not arithmetic) of parts that
// are not finite, very large or very small, where formulas differ in what overflows on the way, powers of a complex
// zero, large complex quotients; zeta and polygamma outside 0 < x < 50 and of high order; lgamma of subnormals.
static bool is_outside(const program *p, const lemnos_array *args, int64_t i) {
  bool complex_function = (hlo_dtype_is_complex(p->in[0]) || hlo_dtype_is_complex(p->out)) && bound_of(p->op).listed;
  bool series = p->op == HLO_OP_ZETA || p->op == HLO_OP_POLYGAMMA;
  for (int k = 0; k < p->n_in; k++) {
    double size = 0;
    for (int q = 0; q < (hlo_dtype_is_complex(p->in[k]) ? 2 : 1); q++) {
      double x = hlo_element_get_f64(p->in[k], args[k].data, i, q);
      size = fmax(size, fabs(x));
      if (series && !(x > 0 && x < (k == 0 ? 20 : 50))) return true;
      if (complex_function && (!(fabs(x) < 80) || (x != 0 && fabs(x) < 1e-12))) return true;
      if (p->op == HLO_OP_LGAMMA && x != 0 && fabs(x) < 1e-37) return true;
    }
    if (complex_function && p->op == HLO_OP_POWER && k == 0 && size == 0) return true;
    if (complex_function && p->op == HLO_OP_REMAINDER && k == 1 && size < 1) return true;
  }
  return false;
}

// What a driver that flushes subnormals makes of them is not laid down: some of its operations do, others do not.
static bool has_subnormal(const program *p, const lemnos_array *args, int64_t i) {
  for (int k = 0; k < p->n_in; k++)
    for (int q = 0; q < (hlo_dtype_is_complex(p->in[k]) ? 2 : 1); q++) {
      double x = fabs(hlo_element_get_f64(p->in[k], args[k].data, i, q));
      if (x > 0 && x < FLT_MIN) return true;
    }
  return false;
}

static bool compare(const program *p, const char *device, const lemnos_array *want, const lemnos_array *got,
                    const lemnos_array *args, bool flushes) {
  bound b = bound_of(p->op);
  bool real = hlo_dtype_is_float(p->out) || hlo_dtype_is_complex(p->out);
  int bytes = hlo_dtype_bytes(p->out);
  double worst = 0;
  int64_t at = -1;
  for (int64_t i = 0; i < N; i++) {
    if (flushes && has_subnormal(p, args, i)) continue;
    if (!real) {
      if (memcmp((char *)want->data + i * bytes, (char *)got->data + i * bytes, (size_t)bytes) != 0 && at < 0)
        at = i, worst = INFINITY;
      continue;
    }
    int parts = hlo_dtype_is_complex(p->out) ? 2 : 1;
    // roots: absolute there
    double magnitude =
        p->op == HLO_OP_DIGAMMA || p->op == HLO_OP_LGAMMA || (p->op == HLO_OP_ATAN2 && parts == 2) ? 1 : 0;
    if (is_outside(p, args, i)) continue;
    for (int q = 0; q < parts && parts == 2; q++) {
      double m = fabs(hlo_element_get_f64(p->out, want->data, i, q));
      if (m < INFINITY && m > magnitude) magnitude = m;
    }
    for (int q = 0; q < parts; q++) {
      double x = hlo_element_get_f64(p->out, want->data, i, q), y = hlo_element_get_f64(p->out, got->data, i, q);
      // Flushed results (nothing is 0 in f8E8M0FNU); of small results of functions the low parts of sums are subnormal.
      double tiny = !flushes ? 0 : b.listed ? 0x1p24 * FLT_MIN : 1.2e-38;
      if (fabs(x) < tiny && (fabs(y) < tiny || (p->out == HLO_F8E8M0FNU && isnan(y)))) continue;
      double d = distance(p->out, x, y, magnitude);
      if (d == 0 && x == 0 && signbit(x) != signbit(y) && !b.listed) d = INFINITY;
      if (d > worst) worst = d, at = i;
    }
  }
  double limit = p->out == HLO_F64 || p->out == HLO_C128 ? b.f64 : b.f32;
  if (real && hlo_dtype_bytes(hlo_dtype_real_part(p->out)) < 4 && b.listed) limit = 1;
  if (hlo_dtype_is_complex(p->out) && b.listed) {
    limit = limit * 4 + 8;
    if (p->op == HLO_OP_POWER) limit = 600;      // the error of the logarithm times the exponent
    if (p->op == HLO_OP_REMAINDER) limit = 256;  // of the quotient, times the divisor
  }
  if (worst <= limit) return true;
  strbuf text = {0};
  for (int k = 0; k < p->n_in; k++) {
    strbuf_append_cstr(&text, k ? ", " : "");
    hlo_element_print(&text, p->in[k], args[k].data, at);
  }
  strbuf_append_cstr(&text, ") = ");
  hlo_element_print(&text, p->out, got->data, at);
  strbuf_append_cstr(&text, ", the interpreter says ");
  hlo_element_print(&text, p->out, want->data, at);
  printf("FAIL %s %s %s: distance %.4g (limit %g): f(%s\n", device, hlo_op_table[p->op].text_name,
         hlo_dtype_table[p->in[p->n_in - 1]].hlo_name, worst, limit, text.data);
  strbuf_deinit(&text);
  return false;
}

static void fatal(lemnos_status s) {
  fprintf(stderr, "elementwise: %s\n", lemnos_status_text(s));
  exit(2);
}

enum { MAX_GROUP = 40 };  // computations in one module: compiled together, since a module has a fixed cost

typedef struct group {
  program items[MAX_GROUP];
  int n;
} group;

static bool is_legal(lemnos_context *c, const program *p) {
  lemnos_module *m;
  strbuf text = {0};
  strbuf_append_cstr(&text, "HloModule m\nENTRY main {\n");
  strbuf_append(&text, strbuf_view(&p->text));
  strbuf_append_cstr(&text, "}\n");
  lemnos_status s = lemnos_module_load(c, "elementwise.hlo", text.data, text.len, NULL, &m);
  strbuf_deinit(&text);
  if (!s) lemnos_module_free(m);
  lemnos_status_release(s);
  return s == NULL;
}

// All computations of the group as one module: parameters and names renumbered, results as a tuple.
static void group_text(const group *g, strbuf *out) {
  int param = 0;
  strbuf_append_cstr(out, "HloModule m\nENTRY main {\n");
  for (int i = 0; i < g->n; i++) {
    const program *p = &g->items[i];
    for (int k = 0; k < p->n_in; k++)
      strbuf_printf(out, "  p%d_%d = %s[%d] parameter(%d)\n", i, k, hlo_dtype_table[p->in[k]].hlo_name, N, param++);
    strbuf_printf(out, "  r%d = %s[%d] %s(", i, hlo_dtype_table[p->out].hlo_name, N, hlo_op_table[p->op].text_name);
    for (int k = 0; k < p->n_in; k++) strbuf_printf(out, "%sp%d_%d", k ? ", " : "", i, k);
    strbuf_printf(out, ")%s\n", p->attrs);
  }
  strbuf_append_cstr(out, "  ROOT t = (");
  for (int i = 0; i < g->n; i++)
    strbuf_printf(out, "%s%s[%d]", i ? ", " : "", hlo_dtype_table[g->items[i].out].hlo_name, N);
  strbuf_append_cstr(out, ") tuple(");
  for (int i = 0; i < g->n; i++) strbuf_printf(out, "%sr%d", i ? ", " : "", i);
  strbuf_append_cstr(out, ")\n}\n");
}

static lemnos_status run_on(lemnos_module *m, lemnos_device *d, int n_args, const lemnos_array *args, int n,
                            lemnos_array *results, int *host) {
  lemnos_executable *e;
  lemnos_status s = lemnos_compile(m, d, NULL, &e);
  if (s) return s;
  lemnos_executable_stats stats;
  lemnos_executable_get_stats(e, &stats);
  *host = stats.n_host_steps;
  s = lemnos_execute_host(e, n_args, args, n, results, NULL);
  lemnos_executable_free(e);
  return s;
}

static void run_group(lemnos_context *c, lemnos_device **devices, int n_devices, group *g, tally *t, bool verbose) {
  if (!g->n) return;
  strbuf text = {0};
  group_text(g, &text);
  lemnos_module *m;
  lemnos_status s = lemnos_module_load(c, "elementwise.hlo", text.data, text.len, NULL, &m);
  if (s) fatal(s);
  lemnos_array args[MAX_GROUP * 3] = {0}, want[MAX_GROUP] = {0};
  int n_args = 0;
  for (int i = 0; i < g->n; i++)
    for (int k = 0; k < g->items[i].n_in; k++, n_args++) {
      lemnos_module_arg(m, n_args, &args[n_args]);
      args[n_args].data = malloc((size_t)lemnos_array_bytes(&args[n_args]) + 16);
      fill(g->items[i].in[k], args[n_args].data, (uint64_t)(g->items[i].op * 1000 + g->items[i].in[k] * 10 + k));
    }
  int host = 0;
  if ((s = run_on(m, devices[0], n_args, args, g->n, want, &host))) fatal(s);
  for (int d = 1; d < n_devices; d++) {
    lemnos_array got[MAX_GROUP] = {0};
    s = run_on(m, devices[d], n_args, args, g->n, got, &host);
    if (s) {
      printf("FAIL %s %s: %s\n", lemnos_device_id(devices[d]), hlo_op_table[g->items[0].op].text_name,
             lemnos_status_text(s));
      lemnos_status_release(s);
      t->failed += g->n;
      continue;
    }
    bool flushes = strstr(lemnos_device_name(devices[d]), "SwiftShader") != NULL;
    int arg = 0, failed = 0;
    for (int i = 0; i < g->n; i++) {
      failed += !compare(&g->items[i], lemnos_device_id(devices[d]), &want[i], &got[i], &args[arg], flushes);
      arg += g->items[i].n_in;
      free(got[i].data);
    }
    if (host && verbose)
      printf("host %s %s: %d of %d\n", lemnos_device_id(devices[d]), hlo_op_table[g->items[0].op].text_name, host,
             g->n);
    t->failed += failed;
    t->skipped += host;
    t->passed += g->n - failed - host;
  }
  for (int k = 0; k < n_args; k++) free(args[k].data);
  for (int i = 0; i < g->n; i++) free(want[i].data);
  lemnos_module_free(m);
  strbuf_deinit(&text);
  g->n = 0;
}

static void make_program(program *p, hlo_op op, int n_in, const hlo_dtype *in, hlo_dtype out, const char *attrs) {
  strbuf_clear(&p->text);
  p->op = op;
  p->n_in = n_in;
  p->out = out;
  p->attrs = attrs;
  for (int k = 0; k < n_in; k++) {
    p->in[k] = in[k];
    strbuf_printf(&p->text, "  p%d = %s[%d] parameter(%d)\n", k, hlo_dtype_table[in[k]].hlo_name, N, k);
  }
  strbuf_printf(&p->text, "  ROOT r = %s[%d] %s(", hlo_dtype_table[out].hlo_name, N, hlo_op_table[op].text_name);
  for (int k = 0; k < n_in; k++) strbuf_printf(&p->text, "%sp%d", k ? ", " : "", k);
  strbuf_printf(&p->text, ")%s\n", attrs);
}

static hlo_dtype result_type(hlo_op op, hlo_dtype t) {
  switch (op) {
    case HLO_OP_COMPARE:
    case HLO_OP_IS_FINITE:
    case HLO_OP_IS_INF:
    case HLO_OP_IS_NEG_INF:
    case HLO_OP_IS_POS_INF: return HLO_PRED;
    case HLO_OP_REAL:
    case HLO_OP_IMAG:
    case HLO_OP_ABS: return hlo_dtype_real_part(t);
    case HLO_OP_COMPLEX: return t == HLO_F32 ? HLO_C64 : HLO_C128;
    default: return t;
  }
}

// Every legal combination of types and attributes of an op goes through fn.
static void add(lemnos_context *c, lemnos_device **devices, int n, group *g, tally *t, bool verbose, hlo_op op,
                int n_in, const hlo_dtype *in, hlo_dtype out, const char *attrs) {
  make_program(&g->items[g->n], op, n_in, in, out, attrs);
  if (!is_legal(c, &g->items[g->n])) return;
  if (++g->n == MAX_GROUP) run_group(c, devices, n, g, t, verbose);
}

static void run_op(lemnos_context *c, lemnos_device **devices, int n, group *g, tally *t, bool verbose, hlo_op op) {
  static const char *const directions[] = {", direction=EQ", ", direction=NE", ", direction=LT", ", direction=GE",
                                           ", direction=GT, type=TOTALORDER"};
  for (int x = 0; x < HLO_TOKEN; x++) {
    hlo_dtype in[3] = {(hlo_dtype)x, (hlo_dtype)x, (hlo_dtype)x};
    if (op == HLO_OP_SELECT) in[0] = HLO_PRED;
    if (op == HLO_OP_CONVERT)
      for (int y = 0; y < HLO_TOKEN; y++) add(c, devices, n, g, t, verbose, op, 1, in, (hlo_dtype)y, "");
    else if (op == HLO_OP_COMPARE)
      for (int d = 0; d < 5; d++) {
        if (d < 4 || hlo_dtype_is_float(in[0])) add(c, devices, n, g, t, verbose, op, 2, in, HLO_PRED, directions[d]);
      }
    else
      add(c, devices, n, g, t, verbose, op, hlo_op_table[op].min_operands, in, result_type(op, (hlo_dtype)x),
          op == HLO_OP_REDUCE_PRECISION ? ", exponent_bits=5, mantissa_bits=7" : "");
  }
  run_group(c, devices, n, g, t, verbose);
}

int main(int argc, char **argv) {
  const char *only = NULL, *only_op = NULL;
  bool verbose = false;
  for (int i = 1; i < argc; i++) {
    if (!strncmp(argv[i], "--device=", 9))
      only = argv[i] + 9;
    else if (!strncmp(argv[i], "--op=", 5))
      only_op = argv[i] + 5;
    else if (!strcmp(argv[i], "-v"))
      verbose = true;
  }
  lemnos_context *c;
  lemnos_status s = lemnos_context_create(&(lemnos_context_options){.cache_dir = ""}, &c);
  if (s) fatal(s);
  lemnos_device_info *infos;
  int32_t n_infos;
  if ((s = lemnos_devices(c, &infos, &n_infos, NULL))) fatal(s);
  lemnos_device *devices[34];
  int n = 1;
  if ((s = lemnos_device_open(c, "interp", &devices[0]))) fatal(s);
  for (int i = 0; i < n_infos && n < 34; i++) {
    if (infos[i].compile_only || !strcmp(infos[i].id, "interp") || (only && strcmp(only, infos[i].id))) continue;
    if ((s = lemnos_device_open(c, infos[i].id, &devices[n++]))) fatal(s);
  }
  tally t = {0};
  group *g = calloc(1, sizeof *g);
  for (int op = 0; op < HLO_OP_COUNT; op++) {
    const hlo_op_info *info = &hlo_op_table[op];
    if (!(info->traits & HLO_TRAIT_E) || info->family == HLO_FAMILY_QUANT) continue;
    if (!only_op || !strcmp(only_op, info->text_name)) run_op(c, devices, n, g, &t, verbose, (hlo_op)op);
  }
  for (int i = 0; i < MAX_GROUP; i++) strbuf_deinit(&g->items[i].text);
  free(g);
  for (int i = 0; i < n; i++) lemnos_device_free(devices[i]);
  free(infos);
  lemnos_context_free(c);
  printf("%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped);
  return t.failed ? 1 : 0;
}
