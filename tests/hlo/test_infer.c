// SPDX-License-Identifier: Apache-2.0
// Shape inference without a declared shape gives the shape that verify_cases.def states; declared shapes refine dynamic
// ones; every operation is called with damaged operands and attributes and reports instead of crashing.
#include "tests/hlo/cases.h"

static char *text(arena *a, const hlo_shape *s) {
  strbuf b = {0};
  hlo_shape_print(&b, s);
  char *copy = (char *)arena_strv(a, strbuf_view(&b)).data;
  strbuf_deinit(&b);
  return copy;
}

static lemnos_status infer(hlo_module *m, const hlo_instr *i, const hlo_shape *declared, const hlo_shape **out) {
  return hlo_infer_shape(m, i->op, i->n_operands, i->operands, i->n_called, i->called, i->attrs, declared, NULL, NULL,
                         out);
}

START_TEST(cases_infer) {
  static const struct {
    bool open;
    const char *params, *root;
  } rows[] = {
#define GOOD(params, root) {false, params, root},
#define GIVEN(params, root) {true, params, root},
#define BAD(label, params, root)
#include "tests/hlo/verify_cases.def"
#undef GOOD
#undef GIVEN
#undef BAD
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    arena *a = arena_create();
    hlo_module *m = case_module(a, rows[k].params, rows[k].root);
    const hlo_instr *r = m->entry->root;
    const hlo_shape *s = NULL;
    if (!rows[k].open) {
      lemnos_status status = infer(m, r, NULL, &s);
      ck_assert_msg(!status, "%s: %s", rows[k].root, lemnos_status_message(status));
      ck_assert_msg(s == r->shape, "%s: found %s", rows[k].root, text(a, s));
    }
    ASSERT_OK(infer(m, r, r->shape, &s));  // interned: the very same pointer
    ck_assert_msg(hlo_shape_is_static(r->shape) ? s == r->shape : s != NULL, "%s: found %s", rows[k].root, text(a, s));
    arena_destroy(a);
  }
}
END_TEST

// The shape found for `root` with the shape that is written there as the declared one.
static void check_refined(const char *params, const char *root, const char *expected) {
  arena *a = arena_create();
  hlo_module *m = case_module(a, params, root);
  const hlo_shape *s = NULL;
  ASSERT_OK(infer(m, m->entry->root, m->entry->root->shape, &s));
  ck_assert_str_eq(text(a, s), expected);
  arena_destroy(a);
}

START_TEST(refines) {
  check_refined("f32[?,3];f32[?,3]", "f32[2,?] add($0, $1)", "f32[2,3]{1,0}");
  check_refined("f32[2,3];f32[2,3]", "f32[?,?] add($0, $1)", "f32[2,3]{1,0}");
  check_refined("f32[?,3];f32[?,3]", "f32[?,?] add($0, $1)", "f32[?,3]{1,0}");
  check_refined("f32[<=4];f32[<=3]", "f32[?] add($0, $1)", "f32[<=3]{0}");
  check_refined("f32[2,3]", "f32[3,2]{0,1} transpose($0), dimensions={1,0}", "f32[3,2]{0,1}");
  check_refined("f32[?]", "s = s64[2] constant({2, 3})\n ROOT r = f32[?,?] dynamic-reshape($0, s)", "f32[2,3]{1,0}");
  check_refined("f32[3]",
                "s = s64[2] constant({2, 3})\n ROOT r = f32[?,?] dynamic-broadcast-in-dim($0, s), dimensions={1}",
                "f32[2,3]{1,0}");
  check_refined("s32[]", "s = s64[2] constant({2, 3})\n ROOT r = f32[?,?] dynamic-iota(s), iota_dimension=0",
                "f32[2,3]{1,0}");
  check_refined("f32[4];f32[]", "i = s64[1] constant({1})\n ROOT r = f32[?] dynamic-pad($0, $1, i, i, i)", "f32[9]{0}");
  check_refined("f32[8]",
                "a = s64[1] constant({1})\n b = s64[1] constant({6})\n c = s64[1] constant({2})\n"
                " ROOT r = f32[?] real-dynamic-slice($0, a, b, c)",
                "f32[3]{0}");
  check_refined("f32[3,4];s32[5,1]",
                "s = s64[2] constant({1, 4})\n ROOT r = f32[?,?] dynamic-gather($0, $1, s), offset_dims={1},"
                " collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1",
                "f32[5,4]{1,0}");
  check_refined("f32[2,3]", "s = s32[] constant(3)\n ROOT r = f32[2,?] set-dimension-size($0, s), dimensions={1}",
                "f32[2,3]{1,0}");
  check_refined("f32[2,3]", "s = s32[] constant(2)\n ROOT r = f32[2,?] set-dimension-size($0, s), dimensions={1}",
                "f32[2,<=3]{1,0}");
}
END_TEST

// --- damage --------------------------------------------------------------------------------------

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

// Overwrites some integers of an attribute struct's lists and scalars. Enumerations and literals are left alone half of
// the time.
static void damage_attrs(hlo_op op, void *attrs, uint64_t *state) {
  static const int64_t odd[] = {-1, 0, 1, 2, 3, 7, INT64_MIN, INT64_MAX, INT64_C(1) << 40, -7};
  const hlo_attr_list_info *list = &hlo_attr_list_table[hlo_op_table[op].attrs];
  for (int k = 0; k < list->n; k++) {
    void *p = (char *)attrs + list->descs[k].offset;
    int64_t x = odd[next_random(state) % (sizeof odd / sizeof *odd)];
    if (next_random(state) % 2) continue;
    switch (list->descs[k].kind) {
      case HLO_ATTR_KIND_i64: *(int64_t *)p = x; break;
      case HLO_ATTR_KIND_i64s: {
        hlo_i64s *l = p;
        if (l->n && next_random(state) % 2)
          ((int64_t *)l->data)[next_random(state) % (uint64_t)l->n] = x;
        else if (l->n)
          l->n--;
        break;
      }
      case HLO_ATTR_KIND_window: {
        hlo_window *w = p;
        if (!w->n) break;
        hlo_window_dim *d = (hlo_window_dim *)&w->dims[next_random(state) % (uint64_t)w->n];
        int64_t *fields[] = {&d->size, &d->stride, &d->pad_low, &d->pad_high, &d->base_dilation, &d->window_dilation};
        *fields[next_random(state) % 6] = x;
        break;
      }
      case HLO_ATTR_KIND_padding: {
        hlo_padding *d = p;
        int64_t *fields = (int64_t *)d->dims;
        if (d->n) fields[next_random(state) % (uint64_t)(3 * d->n)] = x;
        break;
      }
      case HLO_ATTR_KIND_slice: {
        hlo_slice *s = p;
        const int64_t *lists[] = {s->start, s->limit, s->stride};
        if (s->n) ((int64_t *)lists[next_random(state) % 3])[next_random(state) % (uint64_t)s->n] = x;
        break;
      }
      case HLO_ATTR_KIND_conv_dnums: ((hlo_conv_dnums *)p)->kernel_output_feature = x; break;
      case HLO_ATTR_KIND_gather_dnums: ((hlo_gather_dnums *)p)->index_vector_dim = x; break;
      case HLO_ATTR_KIND_scatter_dnums: ((hlo_scatter_dnums *)p)->index_vector_dim = x; break;
      case HLO_ATTR_KIND_groups: {
        hlo_groups *g = p;
        if (g->rows && g->cols) ((int64_t *)g->data)[next_random(state) % ((uint64_t)g->rows * (uint64_t)g->cols)] = x;
        break;
      }
      case HLO_ATTR_KIND_dot_dnums: {
        hlo_dot_dnums *d = p;
        hlo_i64s *lists[] = {&d->lhs_batch, &d->rhs_batch, &d->lhs_contracting, &d->rhs_contracting};
        hlo_i64s *l = lists[next_random(state) % 4];
        if (l->n) ((int64_t *)l->data)[next_random(state) % (uint64_t)l->n] = x;
        break;
      }
      case HLO_ATTR_KIND_precision:
      case HLO_ATTR_KIND_fft_type:
      case HLO_ATTR_KIND_rng_algorithm:
      case HLO_ATTR_KIND_comparison_direction:
      case HLO_ATTR_KIND_comparison_type:
      case HLO_ATTR_KIND_transpose: *(int *)p = (int)x; break;
      default: break;
    }
  }
}

static const hlo_shape *odd_shape(hlo_module *m, uint64_t *state) {
  static const int64_t sizes[] = {0, 1, 2, 3, 4, HLO_DYNAMIC, INT64_C(1) << 20, INT64_C(1) << 40, 5, 8};
  static const hlo_dtype types[] = {HLO_F32, HLO_S32, HLO_PRED, HLO_C64, HLO_U64, HLO_S64, HLO_F64, HLO_F8E4M3FN};
  uint64_t kind = next_random(state) % 12;
  if (kind == 0) return hlo_shape_token(m->shapes);
  if (kind == 1) {
    const hlo_shape *parts[2] = {hlo_shape_array(m->shapes, HLO_F32, 0, NULL), hlo_shape_token(m->shapes)};
    return hlo_shape_tuple(m->shapes, (int)(next_random(state) % 3), parts);
  }
  int rank = (int)(next_random(state) % 5);
  if (kind == 2) rank = 32;
  int64_t dims[32];
  for (int i = 0; i < rank; i++) dims[i] = sizes[next_random(state) % (kind == 2 ? 2 : 10)];
  return hlo_shape_array(m->shapes, types[next_random(state) % 8], rank, dims);
}

START_TEST(survives_damage) {
  static const struct {
    const char *params, *root;
  } rows[] = {
#define GOOD(params, root) {params, root},
#define GIVEN(params, root) {params, root},
#define BAD(label, params, root) {params, root},
#include "tests/hlo/verify_cases.def"
#undef GOOD
#undef GIVEN
#undef BAD
  };
  uint64_t state = 88172645463325252u;
  int refused = 0, accepted = 0;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    for (int round = 0; round < 30; round++) {
      arena *a = arena_create();
      hlo_module *m = case_module(a, rows[k].params, rows[k].root);
      hlo_instr *r = m->entry->root;
      if (r->attrs && round % 3 != 1) damage_attrs(r->op, r->attrs, &state);
      for (int i = 0; i < r->n_operands && round % 3; i++)
        if (next_random(&state) % 2) r->operands[i]->shape = odd_shape(m, &state);
      if (round % 5 == 4) r->shape = odd_shape(m, &state);
      const hlo_shape *s = NULL;
      lemnos_status status = infer(m, r, round % 2 ? r->shape : NULL, &s);
      if (status)
        refused++;
      else
        accepted++;
      lemnos_status_free(status);
      arena_destroy(a);
    }
  }
  ck_assert_int_gt(refused, 5000);
  ck_assert_int_gt(accepted, 100);
}
END_TEST

HARNESS_MAIN("hlo_infer", cases_infer, refines, survives_damage)
