// SPDX-License-Identifier: Apache-2.0
// dot, convolution and reductions of rows as GPUs and software GPUs schedule them: values against plain loops over
// small integers (sums are exact), on targets with the limits of the devices they are meant for; and what the kernels
// may hold: no division in a loop and no barrier on software drivers, bodies and accumulators within the target's
// limits, whole vectors where they divide.
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "hlo/kernel/lower.h"
#include "hlo/kernel/walk.h"
#include "tests/hlo/kernel/kernel_eval.h"
#include "tests/hlo/kernel/targets.h"

static arena *mem;

enum { GPU_SMALL, GPU_LARGE, LIKE_PLAIN, LIKE_SHUFFLE, LIKE_BROADCAST, N_TARGETS };

// A GPU whose limits allow small tiles; one like AMD's (but subgroups of 8); software drivers: without subgroups, with
// cheap shuffles and wide vectors, with broadcasts.
static hlo_target target_of(int which) {
  hlo_target t = test_target_gpu("test", which >= LIKE_PLAIN);
  if (which == GPU_LARGE) t.subgroup = 8, t.subgroup_shuffle = true, t.body_max = 1024, t.uniform_load_free = true;
  if (which == LIKE_SHUFFLE) {
    t.subgroup = 8, t.subgroup_shuffle = true, t.acc_max = 256, t.body_max = 1024, t.threads = 2;
    t.load_vec4 = 80, t.load_scalar = 54, t.cross_lane = 5;
  }
  if (which == LIKE_BROADCAST) {
    t.subgroup_shuffle = t.shuffle_is_broadcast = true, t.acc_max = 128, t.body_max = 512, t.threads = 2;
    t.load_vec4 = 55, t.load_scalar = 14, t.cross_lane = 6;
  }
  return t;
}

static const hlo_instr *parse_root(const char *text) {
  diag_sink sink;
  diag_sink_init(&sink, mem);
  hlo_module *m = NULL;
  lemnos_status s = hlo_parse(mem, STRV("test"), strv_from_cstr(text), &sink, &m);
  ck_assert_msg(s == NULL, "%s\n%s", lemnos_status_message(s), text);
  return m->entry->root;
}

static void lower(const hlo_instr *i, int which, kernel_lowering *l) {
  hlo_target t = target_of(which);
  lemnos_status s = kernel_lower(mem, &t, i, NULL, l);
  ck_assert_msg(s == NULL, "target %d: %s", which, lemnos_status_message(s));
}

static void run(const kernel_lowering *l, int which, void **operands, void **results) {
  for (int k = 0; k < l->launches.len; k++) {
    const kernel_launch *launch = &l->launches.data[k];
    void *params[16];
    for (int p = 0; p < launch->kernel->n_params; p++)
      params[p] =
          launch->args[p].kind == KERNEL_ARG_OPERAND ? operands[launch->args[p].index] : results[launch->args[p].index];
    const char *error = kernel_eval_subgroup(launch->kernel, params, target_of(which).subgroup);
    ck_assert_msg(error == NULL, "target %d: %s", which, error);
  }
}

static float *numbers(int64_t n, int seed) {
  float *x = arena_alloc(mem, sizeof *x * (size_t)(n + 16));
  for (int64_t i = 0; i < n; i++) x[i] = (float)((i * 7 + i / 5 + seed) % 9 - 4);
  return x;
}

static void compare(const char *what, int which, const float *got, const float *want, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    ck_assert_msg(got[i] == want[i], "%s on target %d: element %lld is %g, expected %g", what, which, (long long)i,
                  got[i], want[i]);
}

// --- matrix products -----------------------------------------------------------------------------

typedef struct product {
  int batch, m, n, k;
  bool at, bt;  // lhs is [k, m], rhs is [n, k]
  bool bias;    // max(dot + bias[n], 0)
} product;

static const product products[] = {
    {1, 64, 64, 32, 0, 0, 0}, {1, 64, 64, 32, 0, 1, 1}, {1, 64, 64, 32, 1, 0, 0},  {1, 64, 64, 32, 1, 1, 1},
    {1, 33, 47, 29, 0, 0, 1}, {1, 33, 47, 29, 1, 1, 0}, {1, 1, 40, 24, 0, 0, 1},   {1, 1, 40, 24, 0, 1, 0},
    {1, 40, 1, 24, 0, 0, 0},  {1, 40, 2, 9, 1, 0, 1},   {1, 1, 1, 77, 0, 0, 0},    {3, 20, 36, 12, 0, 0, 1},
    {3, 20, 36, 12, 1, 1, 0}, {2, 17, 5, 3, 0, 1, 1},   {1, 64, 10, 128, 0, 0, 1}, {1, 100, 68, 16, 0, 0, 0},
    {1, 8, 12, 1, 0, 0, 0},   {5, 3, 3, 3, 0, 0, 0},    {1, 70, 132, 20, 0, 1, 1}, {40, 64, 64, 16, 0, 0, 0},
};

static const char *product_text(const product *p) {
  char l[64], r[64], out[64];
  snprintf(l, sizeof l, "f32[%d,%d,%d]", p->batch, p->at ? p->k : p->m, p->at ? p->m : p->k);
  snprintf(r, sizeof r, "f32[%d,%d,%d]", p->batch, p->bt ? p->n : p->k, p->bt ? p->k : p->n);
  snprintf(out, sizeof out, "f32[%d,%d,%d]", p->batch, p->m, p->n);
  const char *dot = arena_printf(mem,
                                 "a = %s parameter(0)\n b = %s parameter(1)\n %sd = %s dot(a, b), lhs_batch_dims={0}, "
                                 "rhs_batch_dims={0}, lhs_contracting_dims={%d}, rhs_contracting_dims={%d}",
                                 l, r, p->bias ? "" : "ROOT ", out, p->at ? 1 : 2, p->bt ? 2 : 1);
  if (!p->bias) return arena_printf(mem, "HloModule t\n\nENTRY main {\n %s\n}\n", dot);
  return arena_printf(mem,
                      "HloModule t\n\nf {\n %s\n c = f32[%d] parameter(2)\n cb = %s broadcast(c), dimensions={2}\n"
                      " s = %s add(d, cb)\n z = f32[] constant(0)\n zb = %s broadcast(z), dimensions={}\n ROOT r = %s "
                      "maximum(s, zb)\n}\n\n"
                      "ENTRY main {\n a = %s parameter(0)\n b = %s parameter(1)\n c = f32[%d] parameter(2)\n"
                      " ROOT r = %s fusion(a, b, c), kind=kOutput, calls=f\n}\n",
                      dot, p->n, out, out, out, out, l, r, p->n, out);
}

static float *product_want(const product *p, const float *a, const float *b, const float *bias) {
  float *c = arena_alloc(mem, sizeof *c * (size_t)(p->batch * p->m * p->n));
  for (int g = 0; g < p->batch; g++)
    for (int i = 0; i < p->m; i++)
      for (int j = 0; j < p->n; j++) {
        float sum = 0;
        for (int k = 0; k < p->k; k++)
          sum += a[g * p->m * p->k + (p->at ? k * p->m + i : i * p->k + k)] *
                 b[g * p->n * p->k + (p->bt ? j * p->k + k : k * p->n + j)];
        if (p->bias) sum = sum + bias[j] > 0 ? sum + bias[j] : 0;
        c[(g * p->m + i) * p->n + j] = sum;
      }
  return c;
}

START_TEST(dots) {
  mem = arena_create();
  const product *p = &products[_i];
  const hlo_instr *i = parse_root(product_text(p));
  void *operands[] = {numbers(p->batch * p->m * p->k, 1), numbers(p->batch * p->n * p->k, 5), numbers(p->n, 3)};
  float *want = product_want(p, operands[0], operands[1], operands[2]);
  for (int which = 0; which < N_TARGETS; which++) {
    kernel_lowering l;
    void *results[] = {numbers(p->batch * p->m * p->n, 0)};
    lower(i, which, &l);
    run(&l, which, operands, results);
    compare(arena_printf(mem, "product %d", _i), which, results[0], want, p->batch * p->m * p->n);
  }
  arena_destroy(mem);
}
END_TEST

// The largest tile, 128 x 128 x 8, with as many workgroups as it asks for.
START_TEST(large_tile) {
  mem = arena_create();
  product p = {32, 128, 128, 16, _i & 1, _i >> 1, false};
  const hlo_instr *i = parse_root(product_text(&p));
  kernel_lowering l;
  lower(i, GPU_LARGE, &l);
  ck_assert_int_eq(l.launches.data[0].kernel->workgroup, 256);
  ck_assert_int_eq(l.launches.data[0].kernel->grid, 32 * 256);
  void *operands[] = {numbers(p.batch * p.m * p.k, 1), numbers(p.batch * p.n * p.k, 5)},
       *results[] = {numbers(p.batch * p.m * p.n, 0)};
  run(&l, GPU_LARGE, operands, results);
  compare("large tile", GPU_LARGE, results[0], product_want(&p, operands[0], operands[1], NULL), p.batch * p.m * p.n);
  arena_destroy(mem);
}
END_TEST

// --- convolutions --------------------------------------------------------------------------------

typedef struct conv {
  int n, h, w, c, kh, kw, o, groups;
  int stride, pad, base, window;
  bool nchw, reversal;
} conv;

static const conv convs[] = {
    {1, 8, 8, 16, 3, 3, 32, 1, 1, 1, 1, 1, 0, 0}, {2, 9, 7, 12, 3, 3, 20, 1, 1, 1, 1, 1, 0, 0},
    {2, 9, 7, 12, 3, 3, 20, 1, 2, 1, 1, 1, 0, 0}, {1, 9, 9, 8, 3, 3, 16, 1, 1, 2, 1, 2, 0, 0},
    {1, 6, 5, 8, 3, 3, 16, 1, 1, 1, 2, 1, 0, 0},  {1, 8, 8, 8, 3, 3, 16, 1, 1, 1, 1, 1, 0, 1},
    {2, 8, 8, 1, 3, 3, 16, 1, 1, 1, 1, 1, 0, 0},  {1, 12, 12, 3, 5, 5, 8, 1, 2, 2, 1, 1, 0, 0},
    {1, 8, 8, 16, 3, 3, 32, 4, 1, 1, 1, 1, 0, 0}, {1, 8, 8, 16, 3, 3, 16, 16, 1, 1, 1, 1, 0, 0},
    {2, 6, 8, 12, 3, 3, 20, 1, 1, 1, 1, 1, 1, 0}, {1, 7, 7, 16, 1, 1, 24, 1, 1, 0, 1, 1, 1, 0},
    {4, 4, 4, 32, 1, 1, 32, 1, 1, 0, 1, 1, 0, 0},
};

static int out_size(const conv *c, int in, int k) {
  return ((in - 1) * c->base + 1 + 2 * c->pad - ((k - 1) * c->window + 1)) / c->stride + 1;
}

static float *conv_want(const conv *c, const float *x, const float *f, int oh, int ow) {
  float *out = arena_alloc(mem, sizeof *out * (size_t)(c->n * oh * ow * c->o));
  int ci = c->c / c->groups, co = c->o / c->groups;
  for (int n = 0; n < c->n; n++)
    for (int y = 0; y < oh; y++)
      for (int z = 0; z < ow; z++)
        for (int o = 0; o < c->o; o++) {
          float sum = 0;
          for (int ky = 0; ky < c->kh; ky++)
            for (int kx = 0; kx < c->kw; kx++) {
              int py = y * c->stride + ky * c->window - c->pad, px = z * c->stride + kx * c->window - c->pad;
              if (py < 0 || px < 0 || py % c->base || px % c->base || py / c->base >= c->h || px / c->base >= c->w)
                continue;
              py /= c->base, px /= c->base;
              int fy = c->reversal ? c->kh - 1 - ky : ky, fx = c->reversal ? c->kw - 1 - kx : kx;
              for (int i = 0; i < ci; i++) {
                int g = o / co * ci + i;
                float a =
                    c->nchw ? x[((n * c->c + g) * c->h + py) * c->w + px] : x[((n * c->h + py) * c->w + px) * c->c + g];
                float b =
                    c->nchw ? f[((o * ci + i) * c->kh + fy) * c->kw + fx] : f[((fy * c->kw + fx) * ci + i) * c->o + o];
                sum += a * b;
              }
            }
          out[c->nchw ? ((n * c->o + o) * oh + y) * ow + z : ((n * oh + y) * ow + z) * c->o + o] = sum;
        }
  return out;
}

static const char *conv_text(const conv *c, int oh, int ow) {
  int ci = c->c / c->groups;
  const char *shapes =
      c->nchw ? "a = f32[%d,%d,%d,%d] parameter(0)\n b = f32[%d,%d,%d,%d] parameter(1)\n ROOT r = f32[%d,%d,%d,%d]"
              : "a = f32[%d,%d,%d,%d] parameter(0)\n b = f32[%d,%d,%d,%d] parameter(1)\n ROOT r = f32[%d,%d,%d,%d]";
  const char *head =
      c->nchw ? arena_printf(mem, shapes, c->n, c->c, c->h, c->w, c->o, ci, c->kh, c->kw, c->n, c->o, oh, ow)
              : arena_printf(mem, shapes, c->n, c->h, c->w, c->c, c->kh, c->kw, ci, c->o, c->n, oh, ow, c->o);
  const char *reverse = c->reversal ? " rhs_reversal=1x1" : "";
  return arena_printf(
      mem,
      "HloModule t\n\nENTRY main {\n %s convolution(a, b), window={size=%dx%d stride=%dx%d pad=%d_%dx%d_%d "
      "lhs_dilate=%dx%d rhs_dilate=%dx%d%s}, dim_labels=%s, feature_group_count=%d\n}\n",
      head, c->kh, c->kw, c->stride, c->stride, c->pad, c->pad, c->pad, c->pad, c->base, c->base, c->window, c->window,
      reverse, c->nchw ? "bf01_oi01->bf01" : "b01f_01io->b01f", c->groups);
}

START_TEST(convolutions) {
  mem = arena_create();
  const conv *c = &convs[_i];
  int oh = out_size(c, c->h, c->kh), ow = out_size(c, c->w, c->kw);
  const hlo_instr *i = parse_root(conv_text(c, oh, ow));
  void *operands[] = {numbers(c->n * c->h * c->w * c->c, 1), numbers(c->kh * c->kw * c->c / c->groups * c->o, 5)};
  float *want = conv_want(c, operands[0], operands[1], oh, ow);
  for (int which = 0; which < N_TARGETS; which++) {
    kernel_lowering l;
    void *results[] = {numbers(c->n * oh * ow * c->o, 0)};
    lower(i, which, &l);
    run(&l, which, operands, results);
    compare(arena_printf(mem, "convolution %d", _i), which, results[0], want, c->n * oh * ow * c->o);
  }
  arena_destroy(mem);
}
END_TEST

// --- rows ----------------------------------------------------------------------------------------

typedef struct row_case {
  int a, b, trailing;  // f32[a,b,trailing] -> f32[a,b]: 2 * reduce(x * x)
  const char *op;
  float init;
} row_case;

static const row_case row_cases[] = {
    {3, 5, 64, "add", 3}, {1, 7, 37, "maximum", -1}, {2, 4, 256, "minimum", 1}, {1, 1, 32, "add", 0},
    {9, 11, 5, "add", 0}, {4, 4, 8, "maximum", 40},  {1, 130, 100, "add", 0},   {5, 1, 3, "add", 0},
};

START_TEST(reductions) {
  mem = arena_create();
  const row_case *r = &row_cases[_i];
  int n = r->a * r->b;
  const hlo_instr *i = parse_root(arena_printf(
      mem,
      "HloModule t\n\nbody {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] %s(x, y)\n}\n\n"
      "f {\n a = f32[%d,%d,%d] parameter(0)\n s = f32[%d,%d,%d] multiply(a, a)\n z = f32[] constant(%g)\n"
      " r = f32[%d,%d] reduce(s, z), dimensions={2}, to_apply=body\n ROOT d = f32[%d,%d] add(r, r)\n}\n\n"
      "ENTRY main {\n a = f32[%d,%d,%d] parameter(0)\n ROOT r = f32[%d,%d] fusion(a), kind=kInput, calls=f\n}\n",
      r->op, r->a, r->b, r->trailing, r->a, r->b, r->trailing, r->init, r->a, r->b, r->a, r->b, r->a, r->b, r->trailing,
      r->a, r->b));
  float *x = numbers((int64_t)n * r->trailing, 2), *want = numbers(n, 0);
  for (int row = 0; row < n; row++) {
    float acc = r->init;
    for (int k = 0; k < r->trailing; k++) {
      float v = x[row * r->trailing + k] * x[row * r->trailing + k];
      acc = r->op[0] == 'a' ? acc + v : (r->op[1] == 'a') == (v > acc) ? v : acc;
    }
    want[row] = acc + acc;
  }
  for (int which = 0; which < N_TARGETS; which++) {
    kernel_lowering l;
    void *operands[] = {x}, *results[] = {numbers(n, 0)};
    lower(i, which, &l);
    run(&l, which, operands, results);
    compare(arena_printf(mem, "reduction %d", _i), which, results[0], want, n);
    if (which == GPU_LARGE && r->trailing >= 8) ck_assert_int_gt(l.launches.data[0].kernel->workgroup, 0);
  }
  arena_destroy(mem);
}
END_TEST

// --- what the kernels hold -----------------------------------------------------------------------

typedef struct counts {
  int fma, barriers, divisions_in_loops, scalar_loads_in_loops, shuffles, broadcasts, most_carried;
} counts;

static bool in_loop(const kernel_instr *i) {
  for (const kernel_block *b = i->parent; b && b->parent; b = b->parent->parent)
    if (b->parent->op == KERNEL_OP_FOR) return true;
  return false;
}

static void count(void *user, kernel_instr *i) {
  counts *c = user;
  bool loop = in_loop(i);
  if (i->op == KERNEL_OP_FMA && loop) c->fma += i->results[0].type.lanes;
  c->barriers += i->op == KERNEL_OP_BARRIER;
  c->shuffles += i->op == KERNEL_OP_SUBGROUP_SHUFFLE;
  c->broadcasts += i->op == KERNEL_OP_SUBGROUP_BROADCAST;
  if (i->op == KERNEL_OP_DIV_U || i->op == KERNEL_OP_REM_U || i->op == KERNEL_OP_DIV_S || i->op == KERNEL_OP_REM_S)
    c->divisions_in_loops += loop;
  if (i->op == KERNEL_OP_LOAD && loop) c->scalar_loads_in_loops += i->align < 4;
  if (i->op == KERNEL_OP_FOR && i->n_results > c->most_carried) c->most_carried = i->n_results;
}

static counts counts_of(const product *p, int which) {
  kernel_lowering l;
  counts c = {0};
  lower(parse_root(product_text(p)), which, &l);
  ck_assert_int_eq(l.launches.len, 1);
  kernel_walk(l.launches.data[0].kernel->body, count, &c);
  return c;
}

START_TEST(promises) {
  mem = arena_create();
  product square = {1, 1024, 1024, 1024, 0, 0, 0};
  counts c = counts_of(&square, GPU_LARGE);
  ck_assert_int_eq(c.fma, 8 * 8 * 8);
  ck_assert_int_eq(c.barriers, 2);
  ck_assert_int_eq(c.divisions_in_loops + c.scalar_loads_in_loops, 0);
  c = counts_of(&square, LIKE_SHUFFLE);
  ck_assert_int_eq(c.fma, 16 * 8 * 4);
  ck_assert_int_eq(c.shuffles, 16 * 4);
  ck_assert_int_eq(c.barriers + c.divisions_in_loops + c.scalar_loads_in_loops + c.broadcasts, 0);
  c = counts_of(&square, LIKE_BROADCAST);
  ck_assert_int_eq(c.fma, 16 * 8 * 4);
  ck_assert_int_eq(c.broadcasts, 16 * 4);
  ck_assert_int_eq(c.barriers + c.divisions_in_loops + c.scalar_loads_in_loops + c.shuffles, 0);
  for (size_t k = 0; k < sizeof products / sizeof *products; k++)
    for (int which = LIKE_PLAIN; which < N_TARGETS; which++) {
      c = counts_of(&products[k], which);
      hlo_target t = target_of(which);
      ck_assert_int_eq(c.barriers + c.divisions_in_loops, 0);
      ck_assert_int_le(c.fma, t.body_max + t.body_max / 4);
      ck_assert_int_le(4 * c.most_carried, t.acc_max);
    }
  arena_destroy(mem);
}
END_TEST

int main(void) {
  Suite *s = suite_create("schedule_gpu");
  TCase *c = tcase_create("schedule_gpu");
  tcase_add_loop_test(c, dots, 0, (int)(sizeof products / sizeof *products));
  tcase_add_loop_test(c, large_tile, 0, 4);
  tcase_add_loop_test(c, convolutions, 0, (int)(sizeof convs / sizeof *convs));
  tcase_add_loop_test(c, reductions, 0, (int)(sizeof row_cases / sizeof *row_cases));
  tcase_add_test(c, promises);
  tcase_set_timeout(c, 120);
  suite_add_tcase(s, c);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
