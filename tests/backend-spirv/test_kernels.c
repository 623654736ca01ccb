// SPDX-License-Identifier: Apache-2.0
// Memory, vectors, control flow, groups and grids: small kernels built by hand, run on each Vulkan device found,
// against values worked out in C.
#include "tests/backend-spirv/spirv_test.h"

static kernel_type type(kernel_scalar s, int lanes) {
  return kernel_type_make(s, lanes);
}
static val idx(kernel_builder *b, int64_t x) {
  return kernel_index(b, x);
}
static val add(kernel_builder *b, val x, val y) {
  return kernel_bin(b, KERNEL_OP_ADD, x, y);
}
static val mul(kernel_builder *b, val x, val y) {
  return kernel_bin(b, KERNEL_OP_MUL, x, y);
}
static val load(kernel_builder *b, int p, val at, int lanes, int align) {
  return kernel_load(b, kernel_param_mem(p), at, lanes, align, NULL);
}
static void store(kernel_builder *b, int p, val at, val v, int align) {
  kernel_store(b, kernel_param_mem(p), at, v, align, NULL);
}
static val emit(kernel_builder *b, kernel_op op, kernel_type t, int n, val const *operands, int64_t imm) {
  kernel_instr *i = kernel_emit(b, op, 1, &t, n, operands);
  i->imm.i = imm;
  return &i->results[0];
}

#define MAX_ITEMS 1024
static int32_t in[MAX_ITEMS], out[MAX_ITEMS];
static float fin[MAX_ITEMS], fout[MAX_ITEMS];
static void fill(void) {
  for (int i = 0; i < MAX_ITEMS; i++)
    in[i] = i * 7 - 300, out[i] = -1, fin[i] = (float)(i * 3 % 101) - 50, fout[i] = -1;
}

// --- memory --------------------------------------------------------------------------------------

// out[4i..] = in[4i + shift ..] with all alignments that are true, and vectors of 2 in between.
static void unaligned(rig *r, backend_device *d, const hlo_target *t) {
  for (int shift = 0; shift < 5; shift++) {
    arena *a = arena_create();
    kernel_param params[] = {param_of(KERNEL_I32, 256, true), param_of(KERNEL_I32, 256, false)};
    kernel *k = kernel_create(a, STRV("unaligned"), 2, params, 60, 0, KERNEL_I32);
    kernel_builder b = kernel_builder_create(k);
    val at = mul(&b, kernel_item(&b), idx(&b, 4));
    int align = shift % 4 == 0 ? 4 : shift % 2 == 0 ? 2 : 1;
    val v = load(&b, 0, add(&b, at, idx(&b, shift)), 4, align);
    store(&b, 1, at, v, 4);
    fill();
    buffer buffers[] = {{in, 1024}, {out, 1024}};
    run_on(r, d, t, k, buffers);
    for (int i = 0; i < 240; i++) ck_assert_int_eq(out[i], in[i + shift]);
    for (int i = 240; i < 256; i++) ck_assert_int_eq(out[i], -1);
    arena_destroy(a);
  }
}

// Masked vector loads and stores at the ragged end, gathers and scatters by index vectors, with and without a mask.
static void masked(rig *r, backend_device *d, const hlo_target *t) {
  enum { N = 37 };
  arena *a = arena_create();
  kernel_param params[] = {param_of(KERNEL_I32, N, true), param_of(KERNEL_I32, N, false),
                           param_of(KERNEL_I32, 40, false), param_of(KERNEL_I32, 40, false)};
  kernel *k = kernel_create(a, STRV("masked"), 4, params, 10, 0, KERNEL_I32);
  kernel_builder b = kernel_builder_create(k);
  val at = mul(&b, kernel_item(&b), idx(&b, 4)), lanes = kernel_lanes(&b, KERNEL_I32, 4);
  val where = add(&b, at, lanes), mask = kernel_bin(&b, KERNEL_OP_LT_S, where, idx(&b, N));
  val v = kernel_load(&b, kernel_param_mem(0), at, 4, 4, mask);
  kernel_store(&b, kernel_param_mem(1), at, add(&b, v, idx(&b, 1)), 4, mask);
  val mirrored = kernel_bin(&b, KERNEL_OP_SUB, idx(&b, N - 1), where);
  val g = kernel_load(&b, kernel_param_mem(0), mirrored, 4, 1, mask);  // negative where masked off
  kernel_store(&b, kernel_param_mem(2), where, g, 1, NULL);
  kernel_store(&b, kernel_param_mem(3), kernel_bin(&b, KERNEL_OP_SUB, idx(&b, 39), where), v, 1, mask);
  static int32_t out2[40], out3[40];
  fill();
  for (int i = 0; i < 40; i++) out2[i] = out3[i] = -7;
  buffer buffers[] = {{in, N * 4}, {out, N * 4}, {out2, 160}, {out3, 160}};
  run_on(r, d, t, k, buffers);
  for (int i = 0; i < N; i++) ck_assert_int_eq(out[i], in[i] + 1);
  for (int i = 0; i < 40; i++) ck_assert_int_eq(out2[i], i < N ? in[N - 1 - i] : 0);
  for (int i = 0; i < 40; i++) ck_assert_int_eq(out3[39 - i], i < N ? in[i] : -7);
  arena_destroy(a);
}

// A private table of scalars and one of vectors, read and written at dynamic places.
static void private_arrays(rig *r, backend_device *d, const hlo_target *t) {
  arena *a = arena_create();
  kernel_param params[] = {param_of(KERNEL_I32, 64 * 8, true), param_of(KERNEL_I32, 64, false)};
  kernel *k = kernel_create(a, STRV("private_arrays"), 2, params, 64, 0, KERNEL_I32);
  kernel_builder b = kernel_builder_create(k);
  int scalars = kernel_add_array(k, KERNEL_PRIVATE, KERNEL_I32, 1, 8),
      vectors = kernel_add_array(k, KERNEL_PRIVATE, KERNEL_I32, 4, 8);
  kernel_mem ms = kernel_array_mem(k, scalars), mv = kernel_array_mem(k, vectors);
  val item = kernel_item(&b), base = mul(&b, item, idx(&b, 8));
  kernel_for f = kernel_for_begin(&b, idx(&b, 0), idx(&b, 8), idx(&b, 1), 0, NULL);
  val x = load(&b, 0, add(&b, base, f.iv), 1, 1);
  kernel_store(&b, ms, kernel_bin(&b, KERNEL_OP_SUB, idx(&b, 7), f.iv), x, 1, NULL);
  kernel_for_end(&b, &f, NULL);
  for (int h = 0; h < 2; h++)
    kernel_store(&b, mv, idx(&b, h * 4), load(&b, 0, add(&b, base, idx(&b, h * 4)), 4, 4), 4, NULL);
  val at = kernel_bin(&b, KERNEL_OP_AND, item, idx(&b, 7));
  val s = kernel_load(&b, ms, at, 1, 1, NULL), v = kernel_load(&b, mv, at, 1, 1, NULL);
  // elements 3 and 4
  val pair = kernel_reduce(&b, KERNEL_OP_REDUCE_ADD, kernel_load(&b, mv, idx(&b, 3), 2, 1, NULL));
  val whole = kernel_reduce(&b, KERNEL_OP_REDUCE_ADD, kernel_load(&b, mv, idx(&b, 4), 4, 4, NULL));
  store(&b, 1, item, add(&b, add(&b, mul(&b, s, idx(&b, 1000)), v), add(&b, pair, whole)), 1);
  fill();
  buffer buffers[] = {{in, 64 * 8 * 4}, {out, 256}};
  run_on(r, d, t, k, buffers);
  for (int i = 0; i < 64; i++) {
    const int32_t *p = in + i * 8;
    ck_assert_int_eq(out[i], p[7 - i % 8] * 1000 + p[i % 8] + p[3] + p[4] + p[4] + p[5] + p[6] + p[7]);
  }
  arena_destroy(a);
}

// Elements of 8, 16 and 64 bits as vectors of 4, moved from an odd place to an aligned one.
static void narrow_memory(rig *r, backend_device *d, const hlo_target *t) {
  const kernel_scalar types[] = {KERNEL_I8, KERNEL_I16, KERNEL_I64, KERNEL_F16, KERNEL_F64};
  const bool have[] = {t->i8, t->i16, t->i64, t->f16, t->f64};
  for (int s = 0; s < 5; s++) {
    if (!have[s]) continue;
    int bytes = kernel_scalar_table[types[s]].bytes;
    uint8_t from[256 * 8], to[256 * 8];
    for (int i = 0; i < 256 * 8; i++) from[i] = (uint8_t)(i * 37 % 120), to[i] = 0;  // no NaNs among the floats
    arena *a = arena_create();
    kernel_param params[] = {param_of(types[s], 256, true), param_of(types[s], 256, false)};
    kernel *k = kernel_create(a, STRV("narrow_memory"), 2, params, 63, 0, KERNEL_I32);
    kernel_builder b = kernel_builder_create(k);
    val at = mul(&b, kernel_item(&b), idx(&b, 4));
    store(&b, 1, at, load(&b, 0, add(&b, at, idx(&b, 1)), 4, 1), 4);
    buffer buffers[] = {{from, 256 * bytes}, {to, 256 * bytes}};
    run_on(r, d, t, k, buffers);
    ck_assert_msg(!memcmp(to, from + bytes, (size_t)(252 * bytes)), "%s", kernel_scalar_table[types[s]].name);
    arena_destroy(a);
  }
}

static void memory_all(rig *r, backend_device *d, const hlo_target *t) {
  unaligned(r, d, t);
  masked(r, d, t);
  private_arrays(r, d, t);
  narrow_memory(r, d, t);
}
START_TEST(memory) {
  each_device(memory_all);
}
END_TEST

// --- vectors -------------------------------------------------------------------------------------

static void vectors_on(rig *r, backend_device *d, const hlo_target *t) {
  enum { OUT = 24 };
  arena *a = arena_create();
  kernel_param params[] = {param_of(KERNEL_I32, 64, true), param_of(KERNEL_I32, 16 * OUT, false)};
  kernel *k = kernel_create(a, STRV("vectors"), 2, params, 16, 0, KERNEL_I32);
  kernel_builder b = kernel_builder_create(k);
  val item = kernel_item(&b), v = load(&b, 0, mul(&b, item, idx(&b, 4)), 4, 4), base = mul(&b, item, idx(&b, OUT));
  val e[4];
  for (int l = 0; l < 4; l++) e[l] = kernel_extract(&b, v, l);
  int n = 0;
#define PUT(value, lanes) (store(&b, 1, add(&b, base, idx(&b, n)), (value), 1), n += (lanes))
  val reversed[] = {e[3], e[2], e[1], e[0]};
  PUT(kernel_build_vector(&b, 4, reversed), 4);
  val insert_operands[] = {v, idx(&b, 99)};
  PUT(emit(&b, KERNEL_OP_INSERT, type(KERNEL_I32, 4), 2, insert_operands, 2), 4);
  val upper = emit(&b, KERNEL_OP_EXTRACT, type(KERNEL_I32, 2), 1, &v, 2);
  PUT(upper, 2);
  int32_t list[4] = {3, 4, 0, 5}, list1[2] = {1, 0};
  val both[] = {v, upper}, one[] = {e[0], e[1]};
  val shuffled = emit(&b, KERNEL_OP_SHUFFLE, type(KERNEL_I32, 4), 2, both, 0);
  shuffled->def->imm.list = list;
  PUT(shuffled, 4);
  val swapped = emit(&b, KERNEL_OP_SHUFFLE, type(KERNEL_I32, 2), 2, one, 0);
  swapped->def->imm.list = list1;
  PUT(swapped, 2);
  PUT(kernel_reduce(&b, KERNEL_OP_REDUCE_ADD, v), 1);
  PUT(kernel_reduce(&b, KERNEL_OP_REDUCE_MUL, v), 1);
  PUT(kernel_reduce(&b, KERNEL_OP_REDUCE_MIN, v), 1);
  PUT(kernel_reduce(&b, KERNEL_OP_REDUCE_MAX, v), 1);
  val umin = kernel_reduce(&b, KERNEL_OP_REDUCE_MIN, v);
  umin->def->imm.i = 1;
  PUT(umin, 1);
  PUT(kernel_reduce(&b, KERNEL_OP_REDUCE_AND, v), 1);
  PUT(kernel_reduce(&b, KERNEL_OP_REDUCE_OR, v), 1);
  PUT(kernel_reduce(&b, KERNEL_OP_REDUCE_XOR, v), 1);
  ck_assert_int_eq(n, OUT);
  fill();
  buffer buffers[] = {{in, 256}, {out, 16 * OUT * 4}};
  run_on(r, d, t, k, buffers);
  for (int i = 0; i < 16; i++) {
    const int32_t *p = in + 4 * i, *o = out + i * OUT;
    int32_t lo = p[0] < p[1] ? p[0] : p[1];
    uint32_t ulo = (uint32_t)p[0];
    for (int l = 1; l < 4; l++) ulo = (uint32_t)p[l] < ulo ? (uint32_t)p[l] : ulo;
    const int32_t want[OUT] = {p[3],
                               p[2],
                               p[1],
                               p[0],
                               p[0],
                               p[1],
                               99,
                               p[3],
                               p[2],
                               p[3],
                               p[3],
                               p[2],
                               p[0],
                               p[3],
                               p[1],
                               p[0],
                               p[0] + p[1] + p[2] + p[3],
                               (int32_t)((uint32_t)p[0] * (uint32_t)p[1] * (uint32_t)p[2] * (uint32_t)p[3]),
                               lo,
                               p[3],
                               (int32_t)ulo,
                               p[0] & p[1] & p[2] & p[3],
                               p[0] | p[1] | p[2] | p[3],
                               p[0] ^ p[1] ^ p[2] ^ p[3]};
    for (int w = 0; w < OUT; w++)
      ck_assert_msg(o[w] == want[w], "item %d word %d: %d, expected %d", i, w, o[w], want[w]);
  }
  arena_destroy(a);
}
START_TEST(vectors) {
  each_device(vectors_on);
}
END_TEST

// A select of vectors by one scalar condition; i32 seen as two i16 and four i8 where there are such types.
static void views_on(rig *r, backend_device *d, const hlo_target *t) {
  arena *a = arena_create();
  kernel_param params[] = {param_of(KERNEL_I32, 256, true), param_of(KERNEL_I32, 256, false)};
  kernel *k = kernel_create(a, STRV("views"), 2, params, 64, 0, KERNEL_I32);
  kernel_builder b = kernel_builder_create(k);
  val at = mul(&b, kernel_item(&b), idx(&b, 4)), v = load(&b, 0, at, 4, 4);
  val cond = kernel_bin(&b, KERNEL_OP_LT_S, kernel_extract(&b, v, 0), idx(&b, 0));
  val s = kernel_select(&b, cond, kernel_un(&b, KERNEL_OP_NEG, v), v), first = kernel_extract(&b, s, 0);
  if (t->i16)
    first = kernel_bitcast(&b, kernel_un(&b, KERNEL_OP_NOT, kernel_bitcast(&b, first, type(KERNEL_I16, 2))),
                           type(KERNEL_I32, 1));
  if (t->i8)
    first = kernel_bitcast(&b, kernel_un(&b, KERNEL_OP_NOT, kernel_bitcast(&b, first, type(KERNEL_I8, 4))),
                           type(KERNEL_I32, 1));
  val operands[] = {s, first};
  store(&b, 1, at, emit(&b, KERNEL_OP_INSERT, type(KERNEL_I32, 4), 2, operands, 0), 4);
  fill();
  buffer buffers[] = {{in, 1024}, {out, 1024}};
  run_on(r, d, t, k, buffers);
  for (int i = 0; i < 256; i++) {
    int32_t want = in[i / 4 * 4] < 0 ? -in[i] : in[i];
    if (i % 4 == 0 && t->i16) want = ~want;
    if (i % 4 == 0 && t->i8) want = ~want;
    ck_assert_int_eq(out[i], want);
  }
  arena_destroy(a);
}
START_TEST(views) {
  each_device(views_on);
}
END_TEST

// --- control -------------------------------------------------------------------------------------

// Collatz steps (while with an if inside), a nested for with two carried values, an if without else.
static void control_on(rig *r, backend_device *d, const hlo_target *t) {
  arena *a = arena_create();
  kernel_param params[] = {param_of(KERNEL_I32, 100, false), param_of(KERNEL_I32, 100, false),
                           param_of(KERNEL_I32, 100, false)};
  kernel *k = kernel_create(a, STRV("control"), 3, params, 100, 0, KERNEL_I32);
  kernel_builder b = kernel_builder_create(k);
  val item = kernel_item(&b), one = idx(&b, 1), zero = idx(&b, 0);
  val init[] = {add(&b, item, one), zero};
  kernel_while w = kernel_while_begin(&b, 2, init);
  kernel_while_body(&b, &w, kernel_bin(&b, KERNEL_OP_NE, w.args[0], one));
  kernel_type i32 = type(KERNEL_I32, 1);
  kernel_if c =
      kernel_if_begin(&b, kernel_bin(&b, KERNEL_OP_EQ, kernel_bin(&b, KERNEL_OP_AND, w.args[0], one), zero), 1, &i32);
  val half = kernel_bin(&b, KERNEL_OP_SHR_U, w.args[0], one);
  kernel_if_else(&b, &c, &half);
  val odd = add(&b, mul(&b, w.args[0], idx(&b, 3)), one);
  kernel_if_end(&b, &c, &odd);
  val next[] = {c.results[0], add(&b, w.args[1], one)};
  kernel_while_end(&b, &w, next);
  store(&b, 0, item, w.results[1], 1);

  val carried[] = {zero, one};
  kernel_for f = kernel_for_begin(&b, zero, item, idx(&b, 2), 2, carried);
  val inner_init[] = {f.args[0]};
  kernel_for g = kernel_for_begin(&b, zero, f.iv, one, 1, inner_init);
  val sum = add(&b, g.args[0], g.iv);
  kernel_for_end(&b, &g, &sum);
  val swap[] = {f.args[1], add(&b, g.results[0], f.iv)};  // the phis swap: both read the old values
  kernel_for_end(&b, &f, swap);
  store(&b, 1, item, kernel_bin(&b, KERNEL_OP_SUB, mul(&b, f.results[0], idx(&b, 3)), f.results[1]), 1);

  kernel_if only = kernel_if_begin(&b, kernel_bin(&b, KERNEL_OP_LT_S, item, idx(&b, 50)), 0, NULL);
  store(&b, 2, item, item, 1);
  kernel_if_else(&b, &only, NULL);
  kernel_if_end(&b, &only, NULL);
  static int32_t o0[100], o1[100], o2[100];
  memset(o2, 0xff, sizeof o2);
  buffer buffers[] = {{o0, 400}, {o1, 400}, {o2, 400}};
  run_on(r, d, t, k, buffers);
  for (int i = 0; i < 100; i++) {
    int x = i + 1, steps = 0, p = 0, q = 1;
    for (; x != 1; steps++) x = x % 2 == 0 ? x / 2 : 3 * x + 1;
    for (int v = 0; v < i; v += 2) {
      int s = p;
      for (int u = 0; u < v; u++) s += u;
      p = q, q = s + v;
    }
    ck_assert_int_eq(o0[i], steps);
    ck_assert_int_eq(o1[i], 3 * p - q);
    ck_assert_int_eq(o2[i], i < 50 ? i : -1);
  }
  arena_destroy(a);
}
START_TEST(control) {
  each_device(control_on);
}
END_TEST

// --- groups --------------------------------------------------------------------------------------

// Reverses each group of 32 through shared memory, adds a tree sum of the group, in odd numbers of groups.
static void shared_on(rig *r, backend_device *d, const hlo_target *t) {
  enum { W = 32, GROUPS = 5 };
  arena *a = arena_create();
  kernel_param params[] = {param_of(KERNEL_F32, W * GROUPS, true), param_of(KERNEL_F32, W * GROUPS, false)};
  kernel *k = kernel_create(a, STRV("shared"), 2, params, W * GROUPS, W, KERNEL_I32);
  kernel_builder b = kernel_builder_create(k);
  kernel_mem tile = kernel_array_mem(k, kernel_add_array(k, KERNEL_SHARED, KERNEL_F32, 4, W));
  kernel_mem tree = kernel_array_mem(k, kernel_add_array(k, KERNEL_SHARED, KERNEL_F32, 1, W));
  val item = kernel_item(&b), local = emit(&b, KERNEL_OP_LOCAL_ID, type(KERNEL_I32, 1), 0, NULL, 0);
  val group = emit(&b, KERNEL_OP_GROUP_ID, type(KERNEL_I32, 1), 0, NULL, 0);
  val x = load(&b, 0, item, 1, 1);
  kernel_store(&b, tile, local, x, 1, NULL);
  kernel_store(&b, tree, local, x, 1, NULL);
  kernel_emit(&b, KERNEL_OP_BARRIER, 0, NULL, 0, NULL);
  for (int s = W / 2; s > 0; s /= 2) {
    kernel_if c = kernel_if_begin(&b, kernel_bin(&b, KERNEL_OP_LT_S, local, idx(&b, s)), 0, NULL);
    val sum = add(&b, kernel_load(&b, tree, local, 1, 1, NULL),
                  kernel_load(&b, tree, add(&b, local, idx(&b, s)), 1, 1, NULL));
    kernel_store(&b, tree, local, sum, 1, NULL);
    kernel_if_else(&b, &c, NULL);
    kernel_if_end(&b, &c, NULL);
    kernel_emit(&b, KERNEL_OP_BARRIER, 0, NULL, 0, NULL);
  }
  val mirrored = kernel_load(&b, tile, kernel_bin(&b, KERNEL_OP_SUB, idx(&b, W - 1), local), 1, 1, NULL);
  val total = kernel_load(&b, tree, idx(&b, 0), 1, 1, NULL);
  val quad = kernel_reduce(&b, KERNEL_OP_REDUCE_MAX, kernel_load(&b, tile, idx(&b, 4), 4, 4, NULL));
  val g = kernel_conv(&b, KERNEL_OP_FROM_INT_S, group, KERNEL_F32);
  store(&b, 1, item,
        add(&b, add(&b, mirrored, mul(&b, total, kernel_float(&b, KERNEL_F32, 1000))),
            mul(&b, add(&b, quad, g), kernel_float(&b, KERNEL_F32, 0.5))),
        1);
  fill();
  buffer buffers[] = {{fin, W * GROUPS * 4}, {fout, W * GROUPS * 4}};
  run_on(r, d, t, k, buffers);
  for (int i = 0; i < W * GROUPS; i++) {
    const float *p = fin + i / W * W;
    float total_want = 0, quad_want = fmaxf(fmaxf(p[4], p[5]), fmaxf(p[6], p[7]));
    for (int l = 0; l < W; l++) total_want += p[l];  // small integers: exact in any order
    ck_assert_float_eq(fout[i], p[W - 1 - i % W] + total_want * 1000 + (quad_want + (float)(i / W)) * 0.5f);
  }
  arena_destroy(a);
}
START_TEST(shared_memory) {
  each_device(shared_on);
}
END_TEST

static void subgroups_on(rig *r, backend_device *d, const hlo_target *t) {
  if (!t->subgroup) return;
  enum { W = 64, OUT = 9 };
  int s = t->subgroup;
  arena *a = arena_create();
  kernel_param params[] = {param_of(KERNEL_I32, W, true), param_of(KERNEL_I32, W * OUT, false)};
  kernel *k = kernel_create(a, STRV("subgroups"), 2, params, W, W, KERNEL_I32);
  kernel_builder b = kernel_builder_create(k);
  kernel_type i32 = type(KERNEL_I32, 1), f32 = type(KERNEL_F32, 1), v4 = type(KERNEL_I32, 4);
  val item = kernel_item(&b), x = load(&b, 0, item, 1, 1), base = mul(&b, item, idx(&b, OUT));
  val lane = emit(&b, KERNEL_OP_SUBGROUP_LANE, i32, 0, NULL, 0);
  val back = kernel_bin(&b, KERNEL_OP_SUB, idx(&b, s - 1), lane), shuffle_operands[] = {x, back};
  val f = kernel_conv(&b, KERNEL_OP_FROM_INT_S, x, KERNEL_F32), v = kernel_splat(&b, x, 4), vo[] = {v, idx(&b, 1)};
  val results[OUT] = {lane,
                      emit(&b, KERNEL_OP_SUBGROUP_SHUFFLE, i32, 2, shuffle_operands, 0),
                      emit(&b, KERNEL_OP_SUBGROUP_BROADCAST, i32, 1, &x, 2),
                      emit(&b, KERNEL_OP_SUBGROUP_SHUFFLE_XOR, i32, 1, &x, 1),
                      emit(&b, KERNEL_OP_SUBGROUP_ADD, i32, 1, &x, 0),
                      emit(&b, KERNEL_OP_SUBGROUP_MIN, i32, 1, &x, 0),
                      emit(&b, KERNEL_OP_SUBGROUP_MAX, i32, 1, &x, 0),
                      kernel_conv(&b, KERNEL_OP_TO_INT_S, emit(&b, KERNEL_OP_SUBGROUP_ADD, f32, 1, &f, 0), KERNEL_I32),
                      kernel_reduce(&b, KERNEL_OP_REDUCE_ADD, emit(&b, KERNEL_OP_SUBGROUP_SHUFFLE, v4, 2, vo, 0))};
  for (int o = 0; o < OUT; o++) store(&b, 1, add(&b, base, idx(&b, o)), results[o], 1);
  fill();
  buffer buffers[] = {{in, W * 4}, {out, W * OUT * 4}};
  run_on(r, d, t, k, buffers);
  for (int i = 0; i < W; i++) {
    const int32_t *p = in + i / s * s, *o = out + i * OUT;
    int l = i % s, sum = 0, lo = p[0], hi = p[0];
    for (int j = 0; j < s; j++) sum += p[j], lo = p[j] < lo ? p[j] : lo, hi = p[j] > hi ? p[j] : hi;
    const int32_t want[OUT] = {l, p[s - 1 - l], p[2], p[l ^ 1], sum, lo, hi, sum, 4 * p[1]};
    for (int w = 0; w < OUT; w++)
      ck_assert_msg(o[w] == want[w], "item %d word %d: %d, expected %d", i, w, o[w], want[w]);
  }
  arena_destroy(a);
}
START_TEST(subgroups) {
  each_device(subgroups_on);
}
END_TEST

static void atomics_on(rig *r, backend_device *d, const hlo_target *t) {
  const kernel_scalar types[] = {KERNEL_I32, KERNEL_I64};
  for (int s = 0; s < (t->i64 ? 2 : 1); s++) {
    enum { N = 1000 };
    int bytes = kernel_scalar_table[types[s]].bytes;
    arena *a = arena_create();
    kernel_param params[] = {param_of(types[s], 8, false)};
    kernel *k = kernel_create(a, STRV("atomics"), 1, params, N, 0, KERNEL_I32);
    kernel_builder b = kernel_builder_create(k);
    val item = kernel_item(&b),
        x = types[s] == KERNEL_I64 ? kernel_conv(&b, KERNEL_OP_EXTEND_S, item, KERNEL_I64) : item;
    const kernel_op ops[] = {KERNEL_OP_ATOMIC_ADD, KERNEL_OP_ATOMIC_MIN_S, KERNEL_OP_ATOMIC_MAX_S};
    for (int o = 0; o < 3; o++) {
      val operands[] = {idx(&b, o), x};
      val v = emit(&b, ops[o], type(types[s], 1), 2, operands, 0);
      v->def->mem = kernel_param_mem(0);
      v->def->align = 1;
    }
    // Compare and swap: only item 77 finds what it expects (element 3 holds 1077), and puts 5.
    val operands[] = {idx(&b, 3), kernel_bin(&b, KERNEL_OP_ADD, x, kernel_int(&b, types[s], 1000)),
                      kernel_int(&b, types[s], 5)};
    val old = emit(&b, KERNEL_OP_ATOMIC_CAS, type(types[s], 1), 3, operands, 0);
    old->def->mem = kernel_param_mem(0);
    old->def->align = 1;
    int64_t wide[8] = {10, 500, 500, 1077}, narrow[4];
    int32_t *n32 = (int32_t *)narrow;
    for (int i = 0; i < 8; i++) n32[i] = (int32_t)wide[i];
    buffer buffers[] = {{types[s] == KERNEL_I64 ? (void *)wide : (void *)n32, 8 * bytes}};
    run_on(r, d, t, k, buffers);
    const int64_t want[] = {10 + N * (N - 1) / 2, 0, N - 1, 5};
    for (int i = 0; i < 4; i++) ck_assert_int_eq(types[s] == KERNEL_I64 ? wide[i] : n32[i], want[i]);
    arena_destroy(a);
  }
}
START_TEST(atomics) {
  each_device(atomics_on);
}
END_TEST

// --- grids and parameters ------------------------------------------------------------------------

static kernel *iota(arena *a, int64_t n, int64_t room, int workgroup, kernel_scalar index) {
  kernel_param params[] = {param_of(KERNEL_I32, room, false)};
  kernel *k = kernel_create(a, STRV("iota"), 1, params, n, workgroup, index);
  kernel_builder b = kernel_builder_create(k);
  val item = kernel_item(&b);
  store(&b, 0, item,
        add(&b, index == KERNEL_I64 ? kernel_conv(&b, KERNEL_OP_TRUNCATE, item, KERNEL_I32) : item,
            kernel_int(&b, KERNEL_I32, 1)),
        1);
  return k;
}

static void check_iota(rig *r, backend_device *d, const hlo_target *t, int64_t n, int workgroup, kernel_scalar index) {
  arena *a = arena_create();
  int32_t *data = heap_alloc((size_t)(n + 100) * 4);
  buffer buffers[] = {{data, (n + 100) * 4}};
  run_on(r, d, t, iota(a, n, n + 100, workgroup, index), buffers);
  for (int64_t i = 0; i < n + 100; i++) ASSERT_QUICK(data[i] == (i < n ? (int32_t)i + 1 : 0));
  free(data);
  arena_destroy(a);
}

static void grids_on(rig *r, backend_device *d, const hlo_target *t) {
  const int64_t sizes[] = {0, 1, 2, 63, 64, 65, 1000, 65536 + 1, 1 << 20};
  for (int i = 0; i < 9; i++) check_iota(r, d, t, sizes[i], 0, KERNEL_I32);
  if (t->i64) check_iota(r, d, t, 100003, 0, KERNEL_I64);
  // More than 65,535 workgroups: folded; a prime number of them needs the bounds check, 2 * 40,000 does not.
  hlo_target small = *t;
  small.elementwise_workgroup = t->subgroup ? t->subgroup : 4;
  check_iota(r, d, &small, (int64_t)small.elementwise_workgroup * 80021 - 1, 0, KERNEL_I32);
  check_iota(r, d, t, 4 * 80021, 4, KERNEL_I32);
  check_iota(r, d, t, 4 * 80000, 4, KERNEL_I32);
  if (t->i64) check_iota(r, d, t, 4 * 80021, 4, KERNEL_I64);
  // Three dimensions, by pretending to small limits.
  for (int dim = 0; dim < 3; dim++) small.max_groups[dim] = 8;
  check_iota(r, d, &small, (int64_t)small.elementwise_workgroup * 503, 0, KERNEL_I32);
  check_iota(r, d, &small, 4 * 503, 4, KERNEL_I32);
  arena *a = arena_create();
  kernel *k = iota(a, (int64_t)small.elementwise_workgroup * 8 * 8 * 8 + 1, 1, 0, KERNEL_I32);
  backend_code code;
  ASSERT_FAILS(lemnos_backend_spirv.compile(r->state, &small, &k, 1, NULL, &code), LEMNOS_UNIMPLEMENTED,
               "more than the device launches");
  arena_destroy(a);
}
START_TEST(grids) {
  each_device(grids_on);
}
END_TEST

// More parameters than descriptors: the rest goes by address. out[i] = sum of all inputs.
static void many_params_on(rig *r, backend_device *d, const hlo_target *t) {
  int n = t->max_buffers > 40 ? 40 : t->max_buffers;
  arena *a = arena_create();
  kernel_param params[SPIRV_MAX_PARAMS];
  for (int p = 0; p < n; p++) params[p] = param_of(KERNEL_I32, 64, p > 0);
  kernel *k = kernel_create(a, STRV("many_params"), n, params, 16, 0, KERNEL_I32);
  kernel_builder b = kernel_builder_create(k);
  val at = mul(&b, kernel_item(&b), idx(&b, 4)), sum = kernel_splat(&b, idx(&b, 0), 4);
  for (int p = 1; p < n; p++) sum = add(&b, sum, load(&b, p, at, 4, 4));
  store(&b, 0, at, sum, 4);
  static int32_t data[SPIRV_MAX_PARAMS][64];
  buffer buffers[SPIRV_MAX_PARAMS];
  for (int p = 0; p < n; p++) {
    for (int i = 0; i < 64; i++) data[p][i] = p * 100 + i;
    buffers[p] = (buffer){data[p], 256};
  }
  run_on(r, d, t, k, buffers);
  for (int i = 0; i < 64; i++) ck_assert_int_eq(data[0][i], 100 * n * (n - 1) / 2 + (n - 1) * i);
  arena_destroy(a);
}
START_TEST(many_parameters) {
  each_device(many_params_on);
}
END_TEST

// A parameter larger than a descriptor spans: read and written near its end.
static void large_param_on(rig *r, backend_device *d, const hlo_target *t) {
  const vulkan_gpu *g;
  ASSERT_OK(vulkan_gpu_of_spec(r->state, strv_from_cstr(t->spec), &g));
  if (!g->caps.physical_storage || g->caps.descriptor_range > 200 << 20) return;
  int64_t n = g->caps.descriptor_range / 4 + 1024;
  arena *a = arena_create();
  kernel_param params[] = {param_of(KERNEL_I32, n, false), param_of(KERNEL_I32, 64, false)};
  kernel *k = kernel_create(a, STRV("large_param"), 2, params, 16, 0, KERNEL_I32);
  kernel_builder b = kernel_builder_create(k);
  val at = mul(&b, kernel_item(&b), idx(&b, 4)), far = add(&b, at, idx(&b, n - 64));
  val v = load(&b, 0, far, 4, 4);
  store(&b, 1, at, v, 4);
  store(&b, 0, far, kernel_un(&b, KERNEL_OP_NEG, v), 4);
  int32_t *data = heap_alloc((size_t)n * 4);
  for (int i = 0; i < 64; i++) data[n - 64 + i] = i + 1;
  buffer buffers[] = {{data, n * 4}, {out, 256}};
  run_on(r, d, t, k, buffers);
  for (int i = 0; i < 64; i++) {
    ck_assert_int_eq(out[i], i + 1);
    ck_assert_int_eq(data[n - 64 + i], -i - 1);
  }
  free(data);
  arena_destroy(a);
}
START_TEST(large_parameter) {
  each_device(large_param_on);
}
END_TEST

// Arguments at offsets that descriptors do not take: an element offset is pushed.
static void offsets_on(rig *r, backend_device *d, const hlo_target *t) {
  arena *a = arena_create();
  kernel_param params[] = {param_of(KERNEL_I32, 64, true), param_of(KERNEL_I32, 64, false)};
  params[0].align = 4, params[1].align = 16;
  kernel *k = kernel_create(a, STRV("offsets"), 2, params, 16, 0, KERNEL_I32);
  kernel_builder b = kernel_builder_create(k);
  val at = mul(&b, kernel_item(&b), idx(&b, 4));
  store(&b, 1, at, load(&b, 0, at, 4, 1), 4);
  fill();
  buffer buffers[] = {{in, 256, 20}, {out, 256, 1008}};
  run_on(r, d, t, k, buffers);
  for (int i = 0; i < 64; i++) ck_assert_int_eq(out[i], in[i]);
  arena_destroy(a);
}
START_TEST(offsets) {
  each_device(offsets_on);
}
END_TEST

HARNESS_MAIN("backend_spirv_kernels", memory, vectors, views, control, shared_memory, subgroups, atomics, grids,
             many_parameters, large_parameter, offsets)
