// SPDX-License-Identifier: Apache-2.0
// Every arithmetic operation, comparison and conversion of the kernel IR, on every type a device has, in 1, 2 and 4
// lanes, run on each Vulkan device found and compared with C's own arithmetic. Every module passes spirv-val.
#include "base/half.h"
#include "tests/backend-spirv/spirv_test.h"

// --- which types a device has --------------------------------------------------------------------

static bool has_type(const hlo_target *t, kernel_scalar s) {
  switch (s) {
    case KERNEL_I8: return t->i8;
    case KERNEL_I16: return t->i16;
    case KERNEL_I64: return t->i64;
    case KERNEL_F16: return t->f16;
    case KERNEL_F64: return t->f64;
    default: return true;
  }
}

static int64_t get_int(const void *p, int bytes, int64_t i) {
  switch (bytes) {
    case 1: return ((const int8_t *)p)[i];
    case 2: return ((const int16_t *)p)[i];
    case 4: return ((const int32_t *)p)[i];
    default: return ((const int64_t *)p)[i];
  }
}
static void set_int(void *p, int bytes, int64_t i, int64_t x) {
  switch (bytes) {
    case 1: ((int8_t *)p)[i] = (int8_t)x; break;
    case 2: ((int16_t *)p)[i] = (int16_t)x; break;
    case 4: ((int32_t *)p)[i] = (int32_t)x; break;
    default: ((int64_t *)p)[i] = x; break;
  }
}
static double get_float(const void *p, int bytes, int64_t i) {
  if (bytes == 2) return f16_to_f64(((const uint16_t *)p)[i]);
  return bytes == 4 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}
static void set_float(void *p, int bytes, int64_t i, double x) {
  if (bytes == 2)
    ((uint16_t *)p)[i] = (uint16_t)f16_from_f64(x);
  else if (bytes == 4)
    ((float *)p)[i] = (float)x;
  else
    ((double *)p)[i] = x;
}

// --- integers ------------------------------------------------------------------------------------

static int64_t wrap_to(int64_t x, int bits) {
  return bits == 64 ? x : (int64_t)((uint64_t)x << (64 - bits)) >> (64 - bits);
}

// What the operation gives for operands sign-extended from `bits`; false where it is undefined.
static bool int_expected(kernel_op op, int bits, int64_t a, int64_t b, int64_t *out) {
  uint64_t mask = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1, ua = (uint64_t)a & mask,
           ub = (uint64_t)b & mask;
  int64_t min = wrap_to((int64_t)(UINT64_C(1) << (bits - 1)), bits), r = 0;
  switch (op) {
    case KERNEL_OP_ADD: r = (int64_t)((uint64_t)a + (uint64_t)b); break;
    case KERNEL_OP_SUB: r = (int64_t)((uint64_t)a - (uint64_t)b); break;
    case KERNEL_OP_MUL: r = (int64_t)((uint64_t)a * (uint64_t)b); break;
    case KERNEL_OP_NEG: r = (int64_t)(0 - (uint64_t)a); break;
    case KERNEL_OP_NOT: r = ~a; break;
    case KERNEL_OP_MULHI_U: r = (int64_t)(((unsigned __int128)ua * ub) >> bits); break;
    case KERNEL_OP_DIV_S:
      if (b == 0 || (a == min && b == -1)) return false;
      r = a / b;
      break;
    case KERNEL_OP_REM_S:
      if (b == 0 || (a == min && b == -1)) return false;
      r = a % b;
      break;
    case KERNEL_OP_DIV_U:
      if (b == 0) return false;
      r = (int64_t)(ua / ub);
      break;
    case KERNEL_OP_REM_U:
      if (b == 0) return false;
      r = (int64_t)(ua % ub);
      break;
    case KERNEL_OP_MIN_S: r = a < b ? a : b; break;
    case KERNEL_OP_MAX_S: r = a > b ? a : b; break;
    case KERNEL_OP_MIN_U: r = ua < ub ? a : b; break;
    case KERNEL_OP_MAX_U: r = ua > ub ? a : b; break;
    case KERNEL_OP_AND: r = a & b; break;
    case KERNEL_OP_OR: r = a | b; break;
    case KERNEL_OP_XOR: r = a ^ b; break;
    case KERNEL_OP_SHL:
      if (ub >= (uint64_t)bits) return false;
      r = (int64_t)(ua << ub);
      break;
    case KERNEL_OP_SHR_S:
      if (ub >= (uint64_t)bits) return false;
      r = a >> ub;
      break;
    case KERNEL_OP_SHR_U:
      if (ub >= (uint64_t)bits) return false;
      r = (int64_t)(ua >> ub);
      break;
    case KERNEL_OP_POPCNT: r = __builtin_popcountll(ua); break;
    case KERNEL_OP_CLZ: r = ua ? __builtin_clzll(ua) - (64 - bits) : bits; break;
    case KERNEL_OP_EQ: r = a == b; break;
    case KERNEL_OP_NE: r = a != b; break;
    case KERNEL_OP_LT_S: r = a < b; break;
    case KERNEL_OP_LE_S: r = a <= b; break;
    case KERNEL_OP_LT_U: r = ua < ub; break;
    case KERNEL_OP_LE_U: r = ua <= ub; break;
    default: return false;
  }
  *out = wrap_to(r, bits);
  return true;
}

static const kernel_op int_ops[] = {
    KERNEL_OP_ADD,   KERNEL_OP_SUB,   KERNEL_OP_MUL,    KERNEL_OP_NEG,   KERNEL_OP_NOT,   KERNEL_OP_MULHI_U,
    KERNEL_OP_DIV_S, KERNEL_OP_REM_S, KERNEL_OP_DIV_U,  KERNEL_OP_REM_U, KERNEL_OP_MIN_S, KERNEL_OP_MAX_S,
    KERNEL_OP_MIN_U, KERNEL_OP_MAX_U, KERNEL_OP_AND,    KERNEL_OP_OR,    KERNEL_OP_XOR,   KERNEL_OP_SHL,
    KERNEL_OP_SHR_S, KERNEL_OP_SHR_U, KERNEL_OP_POPCNT, KERNEL_OP_CLZ,   KERNEL_OP_EQ,    KERNEL_OP_NE,
    KERNEL_OP_LT_S,  KERNEL_OP_LE_S,  KERNEL_OP_LT_U,   KERNEL_OP_LE_U};
enum { N_INT_OPS = sizeof int_ops / sizeof int_ops[0], N_VALUES = 16, N_PAIRS = N_VALUES * N_VALUES };

static bool is_compare(kernel_op op) {
  return kernel_op_table[op].cls == KERNEL_CLASS_CMP;
}

// out[o * n + i] = op_o(a[i], b[i]); divisors and shift counts that are undefined are replaced by 1, in the kernel.
static kernel *int_kernel(arena *a, kernel_scalar s, int lanes, int64_t n) {
  kernel_param params[] = {param_of(s, n, true), param_of(s, n, true), param_of(s, n * N_INT_OPS, false)};
  kernel *k = kernel_create(a, STRV("int_ops"), 3, params, n / lanes, 0, KERNEL_I32);
  kernel_builder b = kernel_builder_create(k);
  int bits = kernel_scalar_table[s].bits;
  val at = kernel_bin(&b, KERNEL_OP_MUL, kernel_item(&b), kernel_index(&b, lanes));
  val x = kernel_load(&b, kernel_param_mem(0), at, lanes, lanes, NULL),
      y = kernel_load(&b, kernel_param_mem(1), at, lanes, lanes, NULL);
  val one = kernel_int(&b, s, 1), zero = kernel_int(&b, s, 0), minus = kernel_int(&b, s, -1),
      min = kernel_int(&b, s, (int64_t)(UINT64_C(1) << (bits - 1)));
  val overflow =
      kernel_bin(&b, KERNEL_OP_AND, kernel_bin(&b, KERNEL_OP_EQ, x, min), kernel_bin(&b, KERNEL_OP_EQ, y, minus));
  val bad_div = kernel_bin(&b, KERNEL_OP_OR, overflow, kernel_bin(&b, KERNEL_OP_EQ, y, zero));
  val bad_shift = kernel_bin(&b, KERNEL_OP_LE_U, kernel_int(&b, s, bits), y);
  for (int o = 0; o < N_INT_OPS; o++) {
    kernel_op op = int_ops[o];
    val r, d = y;
    if (op == KERNEL_OP_DIV_S || op == KERNEL_OP_REM_S) d = kernel_select(&b, bad_div, one, y);
    if (op == KERNEL_OP_DIV_U || op == KERNEL_OP_REM_U)
      d = kernel_select(&b, kernel_bin(&b, KERNEL_OP_EQ, y, zero), one, y);
    if (op >= KERNEL_OP_SHL && op <= KERNEL_OP_SHR_U) d = kernel_select(&b, bad_shift, one, y);
    r = kernel_op_table[op].n_operands == 1 ? kernel_un(&b, op, x) : kernel_bin(&b, op, x, d);
    if (is_compare(op)) r = kernel_conv(&b, KERNEL_OP_EXTEND_S, r, s);
    kernel_store(&b, kernel_param_mem(2), kernel_bin(&b, KERNEL_OP_ADD, at, kernel_index(&b, o * n)), r, lanes, NULL);
  }
  return k;
}

static void run_int(rig *r, backend_device *d, const hlo_target *t, kernel_scalar s, int lanes) {
  int bits = kernel_scalar_table[s].bits, bytes = kernel_scalar_table[s].bytes;
  uint64_t top_bit = UINT64_C(1) << (bits - 1);
  int64_t top = (int64_t)top_bit;
  const int64_t values[N_VALUES] = {0,
                                    1,
                                    -1,
                                    2,
                                    -2,
                                    7,
                                    -7,
                                    top,
                                    (int64_t)(top_bit - 1),
                                    (int64_t)(top_bit + 1),
                                    100,
                                    -100,
                                    0x5555555555555555,
                                    13,
                                    bits - 1,
                                    0x123456789abcdef0};
  char a[N_PAIRS * 8], b[N_PAIRS * 8];
  char *out = heap_alloc((size_t)N_PAIRS * 8 * N_INT_OPS);
  for (int i = 0; i < N_PAIRS; i++) {
    set_int(a, bytes, i, values[i / N_VALUES]);
    set_int(b, bytes, i, values[i % N_VALUES]);
  }
  arena *mem = arena_create();
  kernel *k = int_kernel(mem, s, lanes, N_PAIRS);
  buffer buffers[] = {{a, N_PAIRS * bytes}, {b, N_PAIRS * bytes}, {out, (int64_t)N_PAIRS * bytes * N_INT_OPS}};
  run_on(r, d, t, k, buffers);
  for (int o = 0; o < N_INT_OPS; o++)
    for (int i = 0; i < N_PAIRS; i++) {
      int64_t x = get_int(a, bytes, i), y = get_int(b, bytes, i), want,
              got = get_int(out, bytes, (int64_t)o * N_PAIRS + i);
      if (!int_expected(int_ops[o], bits, x, y, &want)) continue;
      if (is_compare(int_ops[o])) want = -want;
      if (got != want)
        ck_abort_msg("%s: %s.%s x%d (%lld, %lld) = %lld, expected %lld", t->name, kernel_op_table[int_ops[o]].name,
                     kernel_scalar_table[s].name, lanes, (long long)x, (long long)y, (long long)got, (long long)want);
    }
  arena_destroy(mem);
  free(out);
}

static void all_ints(rig *r, backend_device *d, const hlo_target *t) {
  const kernel_scalar types[] = {KERNEL_I32, KERNEL_I8, KERNEL_I16, KERNEL_I64};
  for (int s = 0; s < 4; s++)
    for (int lanes = 1; lanes <= 4 && has_type(t, types[s]); lanes *= 2) run_int(r, d, t, types[s], lanes);
}
START_TEST(integers) {
  each_device(all_ints);
}
END_TEST

// --- floats --------------------------------------------------------------------------------------

static const kernel_op float_ops[] = {
    KERNEL_OP_ADD,        KERNEL_OP_SUB,      KERNEL_OP_MUL,  KERNEL_OP_DIV,     KERNEL_OP_FMA,     KERNEL_OP_NEG,
    KERNEL_OP_ABS,        KERNEL_OP_COPYSIGN, KERNEL_OP_SQRT, KERNEL_OP_FLOOR,   KERNEL_OP_CEIL,    KERNEL_OP_TRUNC,
    KERNEL_OP_ROUND_EVEN, KERNEL_OP_MIN,      KERNEL_OP_MAX,  KERNEL_OP_MIN_NUM, KERNEL_OP_MAX_NUM, KERNEL_OP_EQ,
    KERNEL_OP_NE,         KERNEL_OP_LT,       KERNEL_OP_LE};
enum { N_FLOAT_OPS = sizeof float_ops / sizeof float_ops[0], N_FLOATS = 20, N_FLOAT_PAIRS = N_FLOATS * N_FLOATS };

static double rounded(double x, int bytes) {
  return bytes == 2 ? f16_to_f64(f16_from_f64(x)) : bytes == 4 ? (double)(float)x : x;
}

static double pick(double a, double b, bool min) {
  if (isnan(a) || isnan(b)) return NAN;
  if (a == b) return min ? (signbit(a) ? a : b) : (signbit(a) ? b : a);
  return (a < b) == min ? a : b;
}

// For f32 and f16 the double operation is rounded once more, which is innocuous for + - * / and sqrt.
static double float_expected(kernel_op op, double a, double b, int bytes) {
  switch (op) {
    case KERNEL_OP_ADD: return rounded(a + b, bytes);
    case KERNEL_OP_SUB: return rounded(a - b, bytes);
    case KERNEL_OP_MUL: return rounded(a * b, bytes);
    case KERNEL_OP_DIV: return rounded(a / b, bytes);
    case KERNEL_OP_FMA: return rounded(rounded(a * b, bytes) + a, bytes);
    case KERNEL_OP_NEG: return -a;
    case KERNEL_OP_ABS: return fabs(a);
    case KERNEL_OP_COPYSIGN: return copysign(a, b);
    case KERNEL_OP_SQRT: return rounded(sqrt(a), bytes);
    case KERNEL_OP_FLOOR: return floor(a);
    case KERNEL_OP_CEIL: return ceil(a);
    case KERNEL_OP_TRUNC: return trunc(a);
    case KERNEL_OP_ROUND_EVEN: return rint(a);
    case KERNEL_OP_MIN:
    case KERNEL_OP_MIN_NUM: return pick(a, b, true);
    case KERNEL_OP_MAX:
    case KERNEL_OP_MAX_NUM: return pick(a, b, false);
    case KERNEL_OP_EQ: return a == b;
    case KERNEL_OP_NE: return a != b;
    case KERNEL_OP_LT: return a < b;
    case KERNEL_OP_LE: return a <= b;
    default: return NAN;
  }
}

static bool same_float(double x, double y) {
  return (isnan(x) && isnan(y)) || (x == y && signbit(x) == signbit(y));
}

static bool is_tiny(double x, int bytes) {
  return x != 0 && fabs(x) < (bytes == 2 ? 0x1p-14 : bytes == 4 ? 0x1p-126 : 0x1p-1022);
}

static bool float_ok(kernel_op op, double a, double b, int bytes, double got, bool keeps_tiny) {
  double want = float_expected(op, a, b, bytes);
  if (same_float(got, want)) return true;
  if (op == KERNEL_OP_FMA && bytes == 8) return got == fma(a, b, a);
  if (op == KERNEL_OP_FMA && same_float(got, rounded(fma(a, b, a), bytes))) return true;
  bool loose = op == KERNEL_OP_MIN_NUM || op == KERNEL_OP_MAX_NUM;
  if (loose && (isnan(a) || isnan(b) || (a == 0 && b == 0))) return true;
  return !keeps_tiny && (is_tiny(want, bytes) || is_tiny(a, bytes) || is_tiny(b, bytes) || is_tiny(a * b, bytes));
}

static kernel *float_kernel(arena *a, kernel_scalar s, int lanes, int64_t n) {
  kernel_param params[] = {param_of(s, n, true), param_of(s, n, true), param_of(s, n * N_FLOAT_OPS, false)};
  kernel *k = kernel_create(a, STRV("float_ops"), 3, params, n / lanes, 0, KERNEL_I32);
  kernel_builder b = kernel_builder_create(k);
  val at = kernel_bin(&b, KERNEL_OP_MUL, kernel_item(&b), kernel_index(&b, lanes));
  val x = kernel_load(&b, kernel_param_mem(0), at, lanes, lanes, NULL),
      y = kernel_load(&b, kernel_param_mem(1), at, lanes, lanes, NULL);
  for (int o = 0; o < N_FLOAT_OPS; o++) {
    kernel_op op = float_ops[o];
    int n_operands = kernel_op_table[op].n_operands;
    val r = n_operands == 3   ? kernel_fma(&b, x, y, x)
            : n_operands == 1 ? kernel_un(&b, op, x)
                              : kernel_bin(&b, op, x, y);
    if (is_compare(op)) r = kernel_conv(&b, KERNEL_OP_FROM_INT_U, r, s);
    kernel_store(&b, kernel_param_mem(2), kernel_bin(&b, KERNEL_OP_ADD, at, kernel_index(&b, o * n)), r, lanes, NULL);
  }
  return k;
}

static void run_float(rig *r, backend_device *d, const hlo_target *t, kernel_scalar s, int lanes) {
  int bytes = kernel_scalar_table[s].bytes;
  const double values[N_FLOATS] = {0.0,
                                   -0.0,
                                   1,
                                   -1,
                                   0.5,
                                   1.5,
                                   2.5,
                                   -2.5,
                                   3.7,
                                   -3.7,
                                   INFINITY,
                                   -INFINITY,
                                   NAN,
                                   100,
                                   -0.1,
                                   1e-30,
                                   bytes == 2   ? 0x1p-20
                                   : bytes == 4 ? 0x1p-140
                                                : 0x1p-1050,
                                   1e30,
                                   8388609,
                                   0.49999997};
  char a[N_FLOAT_PAIRS * 8], b[N_FLOAT_PAIRS * 8];
  char *out = heap_alloc((size_t)N_FLOAT_PAIRS * 8 * N_FLOAT_OPS);
  for (int i = 0; i < N_FLOAT_PAIRS; i++) {
    set_float(a, bytes, i, values[i / N_FLOATS]);
    set_float(b, bytes, i, values[i % N_FLOATS]);
  }
  arena *mem = arena_create();
  kernel *k = float_kernel(mem, s, lanes, N_FLOAT_PAIRS);
  buffer buffers[] = {
      {a, N_FLOAT_PAIRS * bytes}, {b, N_FLOAT_PAIRS * bytes}, {out, (int64_t)N_FLOAT_PAIRS * bytes * N_FLOAT_OPS}};
  run_on(r, d, t, k, buffers);
  int wrong = 0;
  for (int o = 0; o < N_FLOAT_OPS; o++)
    for (int i = 0; i < N_FLOAT_PAIRS; i++) {
      double x = get_float(a, bytes, i), y = get_float(b, bytes, i),
             got = get_float(out, bytes, (int64_t)o * N_FLOAT_PAIRS + i);
      if (float_ok(float_ops[o], x, y, bytes, got, t->subnormals_f32)) continue;
      if (wrong++ < 20)
        fprintf(stderr, "%s: %s.%s x%d (%.17g, %.17g) = %.17g, expected %.17g\n", t->name,
                kernel_op_table[float_ops[o]].name, kernel_scalar_table[s].name, lanes, x, y, got,
                float_expected(float_ops[o], x, y, bytes));
    }
  ck_assert_int_eq(wrong, 0);
  arena_destroy(mem);
  free(out);
}

static void all_floats(rig *r, backend_device *d, const hlo_target *t) {
  const kernel_scalar types[] = {KERNEL_F32, KERNEL_F64, KERNEL_F16};
  for (int s = 0; s < 3; s++)
    for (int lanes = 1; lanes <= 4 && has_type(t, types[s]); lanes *= 2) run_float(r, d, t, types[s], lanes);
}
START_TEST(floats) {
  each_device(all_floats);
}
END_TEST

// --- constants -----------------------------------------------------------------------------------

// Drivers fold what they see at compile time, some of them by rules that IEEE 754 does not have (x + 0 = x, 0 x = 0, x
// / x = 1).
// So: constants as operands, and zeros that only loop analysis finds, as initial values of loops of one and of three
// trips, out of branches that are known to the driver once loops are unrolled, and in vectors.
static const kernel_op folded_ops[] = {KERNEL_OP_ADD, KERNEL_OP_SUB, KERNEL_OP_MUL,     KERNEL_OP_DIV,
                                       KERNEL_OP_MIN, KERNEL_OP_MAX, KERNEL_OP_COPYSIGN};
static const double folded_constants[] = {0.0, -0.0, 1, -1, INFINITY, NAN};
enum {
  N_FOLDED_OPS = sizeof folded_ops / sizeof folded_ops[0],
  N_CONSTANTS = sizeof folded_constants / sizeof folded_constants[0],
  // constant on the left, on the right; value with itself; through a loop; through a branch; in a vector
  N_PATHS = 6,
  N_FOLDED = N_FOLDED_OPS * N_CONSTANTS * N_PATHS,
};

// A zero known only once a loop of one trip is unrolled: i == 0 ? c : x for i = 0.
static val through_branch(kernel_builder *b, val c, val x) {
  kernel_for f = kernel_for_begin(b, kernel_index(b, 0), kernel_index(b, 1), kernel_index(b, 1), 1, &x);
  kernel_if i = kernel_if_begin(b, kernel_bin(b, KERNEL_OP_EQ, f.iv, kernel_index(b, 0)), 1, &c->type);
  kernel_if_else(b, &i, &c);
  kernel_if_end(b, &i, &f.args[0]);
  kernel_for_end(b, &f, &i.results[0]);
  return f.results[0];
}

static val folded(kernel_builder *b, kernel_op op, int path, val c, val x) {
  switch (path) {
    case 0: return kernel_bin(b, op, c, x);
    case 1: return kernel_bin(b, op, x, c);
    case 2: return kernel_bin(b, op, x, x);
    case 3: {
      kernel_for f = kernel_for_begin(b, kernel_index(b, 0), kernel_index(b, 1), kernel_index(b, 1), 1, &c);
      val next = kernel_bin(b, op, f.args[0], x);
      kernel_for_end(b, &f, &next);
      return f.results[0];
    }
    case 4: return kernel_bin(b, op, through_branch(b, c, x), x);
    default: {
      val both[] = {c, x};
      return kernel_extract(b, kernel_bin(b, op, kernel_build_vector(b, 2, both), kernel_splat(b, x, 2)), 0);
    }
  }
}

static void run_folded(rig *r, backend_device *d, const hlo_target *t, kernel_scalar s) {
  enum { N = 8 };
  const double values[N] = {0.0, -0.0, 1.5, -2, INFINITY, -INFINITY, NAN, 1};
  int bytes = kernel_scalar_table[s].bytes;
  char in[N * 8];
  char *out = heap_alloc((size_t)N * N_FOLDED * 8);
  for (int i = 0; i < N; i++) set_float(in, bytes, i, values[i]);
  arena *mem = arena_create();
  kernel_param params[] = {param_of(s, N, true), param_of(s, (int64_t)N * N_FOLDED, false)};
  kernel *k = kernel_create(mem, STRV("folded"), 2, params, N, 0, KERNEL_I32);
  kernel_builder b = kernel_builder_create(k);
  val item = kernel_item(&b), x = kernel_load(&b, kernel_param_mem(0), item, 1, 1, NULL);
  for (int n = 0; n < N_FOLDED; n++) {
    val c = kernel_float(&b, s, folded_constants[n / N_PATHS % N_CONSTANTS]);
    val y = folded(&b, folded_ops[n / N_PATHS / N_CONSTANTS], n % N_PATHS, c, x);
    kernel_store(&b, kernel_param_mem(1), kernel_bin(&b, KERNEL_OP_ADD, item, kernel_index(&b, n * N)), y, 1, NULL);
  }
  buffer buffers[] = {{in, N * bytes}, {out, (int64_t)N * N_FOLDED * bytes}};
  ASSERT_OK(kernel_finish(k, t));
  run_on(r, d, t, k, buffers);
  int wrong = 0;
  for (int n = 0; n < N_FOLDED; n++)
    for (int i = 0; i < N; i++) {
      kernel_op op = folded_ops[n / N_PATHS / N_CONSTANTS];
      int path = n % N_PATHS;
      double y = values[i], c = path == 2 ? y : folded_constants[n / N_PATHS % N_CONSTANTS],
             got = get_float(out, bytes, n * N + i);
      double want = path == 1 ? float_expected(op, y, c, bytes) : float_expected(op, c, y, bytes);
      if (same_float(got, want)) continue;
      if (wrong++ < 20)
        fprintf(stderr, "%s: %s.%s, path %d (%g, %g) = %g, expected %g\n", t->name, kernel_op_table[op].name,
                kernel_scalar_table[s].name, path, c, y, got, want);
    }
  ck_assert_int_eq(wrong, 0);
  arena_destroy(mem);
  free(out);
}

static void all_folded(rig *r, backend_device *d, const hlo_target *t) {
  const kernel_scalar types[] = {KERNEL_F32, KERNEL_F64, KERNEL_F16};
  for (int s = 0; s < 3; s++)
    if (has_type(t, types[s])) run_folded(r, d, t, types[s]);
}
START_TEST(constants) {
  each_device(all_folded);
}
END_TEST

// --- conversions ---------------------------------------------------------------------------------

enum { N_CONV = 32, MAX_CONV = 64 };
typedef struct conversion {
  kernel_op op;
  kernel_scalar from, to;
} conversion;

static int list_conversions(const hlo_target *t, kernel_scalar from, conversion *out) {
  const kernel_scalar types[] = {KERNEL_I1,  KERNEL_I8,  KERNEL_I16, KERNEL_I32,
                                 KERNEL_I64, KERNEL_F16, KERNEL_F32, KERNEL_F64};
  int n = 0;
  bool from_float = kernel_scalar_table[from].is_float;
  for (int i = 0; i < 8; i++) {
    kernel_scalar to = types[i];
    if (!has_type(t, to)) continue;
    bool to_float = kernel_scalar_table[to].is_float;
    int f = kernel_scalar_table[from].bits, w = kernel_scalar_table[to].bits;
    if (!from_float && !to_float && w < f) out[n++] = (conversion){KERNEL_OP_TRUNCATE, from, to};
    if (!from_float && !to_float && w > f)
      out[n++] = (conversion){KERNEL_OP_EXTEND_S, from, to}, out[n++] = (conversion){KERNEL_OP_EXTEND_U, from, to};
    if (!from_float && to_float)
      out[n++] = (conversion){KERNEL_OP_FROM_INT_S, from, to}, out[n++] = (conversion){KERNEL_OP_FROM_INT_U, from, to};
    if (from_float && !to_float)
      out[n++] = (conversion){KERNEL_OP_TO_INT_S, from, to}, out[n++] = (conversion){KERNEL_OP_TO_INT_U, from, to};
    if (from_float && to_float && from != to) out[n++] = (conversion){KERNEL_OP_FLOAT_CONVERT, from, to};
    if (f == w && from != to) out[n++] = (conversion){KERNEL_OP_BITCAST, from, to};
  }
  return n;
}

static int64_t saturated(double x, int bits, bool is_signed) {
  if (isnan(x)) return 0;
  double max = ldexp(1, is_signed ? bits - 1 : bits), min = is_signed ? -max : 0;
  if (x >= max)
    return is_signed    ? (int64_t)((UINT64_C(1) << (bits - 1)) - 1)
           : bits == 64 ? -1
                        : (int64_t)((UINT64_C(1) << bits) - 1);
  if (x <= min) return is_signed ? (int64_t)min : 0;
  return is_signed ? (int64_t)x : (int64_t)(uint64_t)x;
}

// Bits of the expected result, in the width of `to`. x: sign-extended integer (i1: 0 or 1); f: value of a float.
static uint64_t conversion_expected(conversion c, int64_t x, double f) {
  int from = kernel_scalar_table[c.from].bits, to = kernel_scalar_table[c.to].bits,
      bytes = kernel_scalar_table[c.to].bytes;
  uint64_t mask = from == 64 ? ~UINT64_C(0) : (UINT64_C(1) << from) - 1, u = (uint64_t)x & mask, r = 0;
  int64_t s = from == 1 ? -x : x;
  double d = 0;
  switch (c.op) {
    case KERNEL_OP_TRUNCATE:
    case KERNEL_OP_EXTEND_S: r = (uint64_t)s; break;
    case KERNEL_OP_EXTEND_U:
    case KERNEL_OP_BITCAST: r = u; break;
    case KERNEL_OP_FROM_INT_S:
      d = bytes == 4 ? (double)(float)s : (double)s;
      set_float(&r, bytes, 0, d);
      break;
    case KERNEL_OP_FROM_INT_U:
      d = bytes == 4 ? (double)(float)u : (double)u;
      set_float(&r, bytes, 0, d);
      break;
    case KERNEL_OP_FLOAT_CONVERT: set_float(&r, bytes, 0, f); break;
    default: r = (uint64_t)saturated(f, to, c.op == KERNEL_OP_TO_INT_S); break;
  }
  return to == 64 ? r : r & ((UINT64_C(1) << to) - 1);
}

// i1 lies in memory as i32 here: 0 or 1.
static kernel_scalar in_memory(kernel_scalar s) {
  return s == KERNEL_I1 ? KERNEL_I32 : s;
}

static kernel *conversion_kernel(arena *a, kernel_scalar from, int lanes, const conversion *cs, int n) {
  kernel_param params[MAX_CONV] = {param_of(in_memory(from), N_CONV, true)};
  for (int c = 0; c < n; c++) params[c + 1] = param_of(in_memory(cs[c].to), N_CONV, false);
  kernel *k = kernel_create(a, STRV("conversions"), n + 1, params, N_CONV / lanes, 0, KERNEL_I32);
  kernel_builder b = kernel_builder_create(k);
  val at = kernel_bin(&b, KERNEL_OP_MUL, kernel_item(&b), kernel_index(&b, lanes));
  val x = kernel_load(&b, kernel_param_mem(0), at, lanes, lanes, NULL);
  if (from == KERNEL_I1) x = kernel_conv(&b, KERNEL_OP_TRUNCATE, x, KERNEL_I1);
  for (int c = 0; c < n; c++) {
    val r = cs[c].op == KERNEL_OP_BITCAST ? kernel_bitcast(&b, x, kernel_type_make(cs[c].to, lanes))
                                          : kernel_conv(&b, cs[c].op, x, cs[c].to);
    if (cs[c].to == KERNEL_I1) r = kernel_conv(&b, KERNEL_OP_EXTEND_U, r, KERNEL_I32);
    kernel_store(&b, kernel_param_mem(c + 1), at, r, lanes, NULL);
  }
  return k;
}

static void fill_conversion_inputs(kernel_scalar from, void *data) {
  static const double floats[N_CONV] = {0,
                                        -0.0,
                                        0.4,
                                        -0.4,
                                        0.9,
                                        1,
                                        -1,
                                        1.5,
                                        -1.5,
                                        127,
                                        128,
                                        -128,
                                        -129,
                                        255.5,
                                        256,
                                        32767,
                                        32768,
                                        -32769,
                                        65503,
                                        65535,
                                        65520,
                                        2147483520,
                                        2147483648.0,
                                        -2147483648.0,
                                        -2147483904.0,
                                        4294967040.0,
                                        4294967296.0,
                                        9.3e18,
                                        1.9e19,
                                        INFINITY,
                                        -INFINITY,
                                        NAN};
  static const int64_t ints[N_CONV] = {0,
                                       1,
                                       -1,
                                       2,
                                       127,
                                       128,
                                       -128,
                                       -129,
                                       255,
                                       256,
                                       32767,
                                       32768,
                                       -32768,
                                       65535,
                                       65520,
                                       16777217,
                                       16777219,
                                       -16777217,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       0x80000081,
                                       0xffffff7f,
                                       0xc0000040,
                                       0x40000041,
                                       0x7fffffffffffffff,
                                       (int64_t)0x8000000000000000,
                                       (int64_t)0x8000008000000001,
                                       0x123456789abcdef,
                                       0x20000000000001,
                                       0x4000004000000001,
                                       -5};
  int bytes = kernel_scalar_table[in_memory(from)].bytes;
  for (int i = 0; i < N_CONV; i++) {
    if (kernel_scalar_table[from].is_float)
      set_float(data, bytes, i, floats[i]);
    else
      set_int(data, bytes, i, from == KERNEL_I1 ? i & 1 : ints[i]);
  }
}

static void run_conversions(rig *r, backend_device *d, const hlo_target *t, kernel_scalar from, int lanes) {
  conversion cs[MAX_CONV];
  int n = list_conversions(t, from, cs);
  char in[N_CONV * 8];
  char(*out)[N_CONV * 8] = heap_alloc(sizeof *out * MAX_CONV);
  buffer buffers[MAX_CONV] = {{in, N_CONV * kernel_scalar_table[in_memory(from)].bytes}};
  fill_conversion_inputs(from, in);
  for (int c = 0; c < n; c++)
    buffers[c + 1] = (buffer){out[c], N_CONV * kernel_scalar_table[in_memory(cs[c].to)].bytes};
  arena *mem = arena_create();
  run_on(r, d, t, conversion_kernel(mem, from, lanes, cs, n), buffers);
  int wrong = 0;
  for (int c = 0; c < n; c++)
    for (int i = 0; i < N_CONV; i++) {
      int from_bytes = kernel_scalar_table[in_memory(from)].bytes,
          to_bytes = kernel_scalar_table[in_memory(cs[c].to)].bytes;
      bool is_float = kernel_scalar_table[from].is_float;
      int64_t x = get_int(in, from_bytes, i);
      double f = is_float ? get_float(in, from_bytes, i) : 0;
      uint64_t want = conversion_expected(cs[c], x, f), got = 0;
      memcpy(&got, out[c] + i * to_bytes, (size_t)to_bytes);
      if (got == want) continue;
      if (kernel_scalar_table[cs[c].to].is_float && isnan(get_float(&got, to_bytes, 0)) &&
          isnan(get_float(&want, to_bytes, 0)))
        continue;
      if (wrong++ < 20)
        fprintf(stderr, "%s: %s %s to %s x%d of %lld (%.17g) = %llx, expected %llx\n", t->name,
                kernel_op_table[cs[c].op].name, kernel_scalar_table[from].name, kernel_scalar_table[cs[c].to].name,
                lanes, (long long)x, f, (unsigned long long)got, (unsigned long long)want);
    }
  ck_assert_int_eq(wrong, 0);
  arena_destroy(mem);
  free(out);
}

static void all_conversions(rig *r, backend_device *d, const hlo_target *t) {
  const kernel_scalar types[] = {KERNEL_I1,  KERNEL_I8,  KERNEL_I16, KERNEL_I32,
                                 KERNEL_I64, KERNEL_F16, KERNEL_F32, KERNEL_F64};
  for (int s = 0; s < 8; s++)
    for (int lanes = 1; lanes <= 4 && has_type(t, types[s]); lanes *= 4) run_conversions(r, d, t, types[s], lanes);
}
START_TEST(conversions) {
  each_device(all_conversions);
}
END_TEST

// --- comparisons of extended values --------------------------------------------------------------

// Drivers narrow a comparison of an extension with a constant, and Mesa 22.3 does it wrongly: (i64)x < 9 came out as
// true for all x.
enum { N_EXT_CONST = 7, N_EXT_OPS = 8, N_EXT_OUT = 2 * 2 * N_EXT_CONST * N_EXT_OPS };
static const kernel_op ext_ops[N_EXT_OPS] = {KERNEL_OP_LT_S, KERNEL_OP_LE_S, KERNEL_OP_LT_U,  KERNEL_OP_LE_U,
                                             KERNEL_OP_EQ,   KERNEL_OP_NE,   KERNEL_OP_MIN_S, KERNEL_OP_MAX_U};
static const int64_t ext_consts[N_EXT_CONST] = {9, 0, -1, -100, 200, 40000, 3000000000};

static void run_extended(rig *r, backend_device *d, const hlo_target *t, kernel_scalar from, kernel_scalar to) {
  enum { N = 16 };
  static const int64_t values[N] = {0,    1,   8,   9,    10,    -1,     -2,         -100,
                                    -101, 100, 127, -128, 32767, -32768, 0x7fffffff, -0x7fffffff - 1};
  int bytes = kernel_scalar_table[from].bytes, wide = kernel_scalar_table[to].bytes;
  arena *a = arena_create();
  kernel_param params[] = {param_of(from, N, true), param_of(to, N * N_EXT_OUT, false)};
  kernel *k = kernel_create(a, STRV("extended"), 2, params, N, 0, KERNEL_I32);
  kernel_builder b = kernel_builder_create(k);
  val item = kernel_item(&b), x = kernel_load(&b, kernel_param_mem(0), item, 1, 1, NULL);
  int n = 0;
  for (int u = 0; u < 2; u++)
    for (int swapped = 0; swapped < 2; swapped++)
      for (int c = 0; c < N_EXT_CONST; c++)
        for (int o = 0; o < N_EXT_OPS; o++) {
          val e = kernel_conv(&b, u ? KERNEL_OP_EXTEND_U : KERNEL_OP_EXTEND_S, x, to),
              y = kernel_int(&b, to, ext_consts[c]);
          val v = swapped ? kernel_bin(&b, ext_ops[o], y, e) : kernel_bin(&b, ext_ops[o], e, y);
          if (is_compare(ext_ops[o])) v = kernel_conv(&b, KERNEL_OP_EXTEND_U, v, to);
          kernel_store(&b, kernel_param_mem(1), kernel_bin(&b, KERNEL_OP_ADD, item, kernel_index(&b, N * n++)), v, 1,
                       NULL);
        }
  char in[N * 8];
  char *out = heap_alloc((size_t)N * N_EXT_OUT * 8);
  for (int i = 0; i < N; i++) set_int(in, bytes, i, values[i]);
  buffer buffers[] = {{in, N * bytes}, {out, (int64_t)N * N_EXT_OUT * wide}};
  run_on(r, d, t, k, buffers);
  int wrong = 0;
  for (int w = 0; w < N_EXT_OUT; w++)
    for (int i = 0; i < N; i++) {
      int o = w % N_EXT_OPS, c = w / N_EXT_OPS % N_EXT_CONST, swapped = w / N_EXT_OPS / N_EXT_CONST % 2,
          u = w / N_EXT_OPS / N_EXT_CONST / 2;
      int64_t v = get_int(in, bytes, i), y = wrap_to(ext_consts[c], wide * 8), want = 0;
      if (u) v &= bytes == 4 ? 0xffffffff : bytes == 2 ? 0xffff : 0xff;
      int_expected(ext_ops[o], wide * 8, swapped ? y : v, swapped ? v : y, &want);
      int64_t got = get_int(out, wide, (int64_t)w * N + i);
      if (got != want && wrong++ < 200)
        fprintf(stderr, "%s: %s of %s %s %lld, %lld%s = %lld\n", t->name, kernel_op_table[ext_ops[o]].name,
                u ? "u" : "s", kernel_scalar_table[to].name, (long long)v, (long long)y, swapped ? " swapped" : "",
                (long long)got);
    }
  ck_assert_int_eq(wrong, 0);
  free(out);
  arena_destroy(a);
}

static void all_extended(rig *r, backend_device *d, const hlo_target *t) {
  const kernel_scalar types[] = {KERNEL_I8, KERNEL_I16, KERNEL_I32, KERNEL_I64};
  for (int f = 0; f < 4; f++)
    for (int w = f + 1; w < 4; w++)
      if (has_type(t, types[f]) && has_type(t, types[w])) run_extended(r, d, t, types[f], types[w]);
}
START_TEST(extended_comparisons) {
  each_device(all_extended);
}
END_TEST

// --- the table -----------------------------------------------------------------------------------

bool spirv_op_listed(kernel_op op);
const char *spirv_op_unsupported(kernel_op op);

START_TEST(every_operation_is_listed) {
  for (int op = 0; op < KERNEL_OP_COUNT; op++) {
    ck_assert_msg(spirv_op_listed((kernel_op)op), "no row for %s", kernel_op_table[op].name);
    int cls = kernel_op_table[op].cls;
    bool expanded = cls == KERNEL_CLASS_MATH || cls == KERNEL_CLASS_TILE;
    ck_assert_msg((spirv_op_unsupported((kernel_op)op) != NULL) == expanded, "%s", kernel_op_table[op].name);
  }
}
END_TEST

HARNESS_MAIN("backend_spirv_ops", every_operation_is_listed, integers, floats, constants, conversions,
             extended_comparisons)
