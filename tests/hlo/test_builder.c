// SPDX-License-Identifier: Apache-2.0
// The builder: every function once, its instruction's text worked out by hand.
#include "hlo/builder.h"
#include "tests/harness.h"

typedef struct place {
  arena *arena;
  hlo_builder b;
} place;

static place new_place(void) {
  arena *a = arena_create();
  hlo_module *m = hlo_module_create(a, STRV("m"));
  return (place){a, hlo_builder_end(hlo_computation_create(m, STRV("c")))};
}

static const hlo_shape *shape(place *p, hlo_dtype t, int64_t rows, int64_t cols) {
  return hlo_shape_array(p->b.module->shapes, t, 2, (int64_t[]){rows, cols});
}

static void check(const hlo_instr *i, const char *text) {
  strbuf out = {0};
  hlo_print_instr(&out, i, NULL);
  ck_assert_str_eq(out.data, text);
  strbuf_deinit(&out);
}

START_TEST(elementwise) {
  place p = new_place();
  hlo_builder *b = &p.b;
  hlo_instr *x = hlo_build_parameter(b, shape(&p, HLO_F32, 2, 3), STRV("x"));
  hlo_instr *y = hlo_build_parameter(b, x->shape, STRV("y"));
  check(y, "%y = f32[2,3]{1,0} parameter(1)");
  check(hlo_build_unary(b, HLO_OP_TANH, x), "%tanh = f32[2,3]{1,0} tanh(%x)");
  check(hlo_build_binary(b, HLO_OP_ADD, x, y), "%add = f32[2,3]{1,0} add(%x, %y)");
  hlo_instr *less = hlo_build_compare(b, HLO_COMPARISON_DIRECTION_LT, x, y);
  check(less, "%compare = pred[2,3]{1,0} compare(%x, %y), direction=LT");
  check(hlo_build_select(b, less, x, y), "%select = f32[2,3]{1,0} select(%compare, %x, %y)");
  ck_assert_ptr_eq(hlo_build_convert(b, x, HLO_F32), x);
  check(hlo_build_convert(b, x, HLO_S8), "%convert = s8[2,3]{1,0} convert(%x)");
  check(hlo_build_bitcast_convert(b, x, shape(&p, HLO_U32, 2, 3)),
        "%bitcast-convert = u32[2,3]{1,0} bitcast-convert(%x)");
  check(hlo_build_scalar_f64(b, HLO_C64, 1.5), "%constant = c64[] constant((1.5, 0))");
  check(hlo_build_scalar_i64(b, HLO_S4, -3), "%constant.1 = s4[] constant(-3)");
  check(hlo_build_scalar_i64(b, HLO_BF16, 7), "%constant.2 = bf16[] constant(7)");
  check(hlo_build_splat_f64(b, x->shape, 0.1), "%constant.3 = f32[2,3]{1,0} constant(splat 0.1)");
  arena_destroy(p.arena);
}
END_TEST

START_TEST(movement) {
  place p = new_place();
  hlo_builder *b = &p.b;
  hlo_instr *x = hlo_build_parameter(b, shape(&p, HLO_F32, 2, 3), STRV("x"));
  hlo_instr *zero = hlo_build_scalar_f64(b, HLO_F32, 0);
  check(hlo_build_reshape(b, x, 1, (int64_t[]){6}), "%reshape = f32[6]{0} reshape(%x)");
  check(hlo_build_broadcast(b, x, 3, (int64_t[]){2, 5, 3}, 2, (int64_t[]){0, 2}),
        "%broadcast = f32[2,5,3]{2,1,0} broadcast(%x), dimensions={0,2}");
  check(hlo_build_transpose(b, x, (int64_t[]){1, 0}), "%transpose = f32[3,2]{1,0} transpose(%x), dimensions={1,0}");
  check(hlo_build_slice(b, x, (int64_t[]){0, 0}, (int64_t[]){1, 3}, NULL),
        "%slice = f32[1,3]{1,0} slice(%x), slice={[0:1], [0:3]}");
  check(hlo_build_slice(b, x, (int64_t[]){0, 0}, (int64_t[]){2, 3}, (int64_t[]){1, 2}),
        "%slice.1 = f32[2,2]{1,0} slice(%x), slice={[0:2], [0:3:2]}");
  check(hlo_build_pad(b, x, zero, (hlo_padding_dim[]){{1, 0, 0}, {0, -1, 1}}),
        "%pad = f32[3,4]{1,0} pad(%x, %constant), padding=1_0x0_-1_1");
  check(hlo_build_concatenate(b, 2, (hlo_instr *[]){x, x}, 1),
        "%concatenate = f32[2,6]{1,0} concatenate(%x, %x), dimensions={1}");
  check(hlo_build_iota(b, shape(&p, HLO_S32, 2, 3), 1), "%iota = s32[2,3]{1,0} iota(), iota_dimension=1");
  hlo_computation *add = hlo_build_binary_computation(b->module, HLO_OP_ADD, HLO_F32);
  check(hlo_build_reduce(b, x, zero, 1, (int64_t[]){0}, add),
        "%reduce = f32[3]{0} reduce(%x, %constant), dimensions={0}, to_apply=%add");
  hlo_op op;
  bool swapped;
  ck_assert(hlo_computation_is_binary(add, &op, &swapped) && op == HLO_OP_ADD && !swapped);
  arena_destroy(p.arena);
}
END_TEST

START_TEST(tuples_and_places) {
  place p = new_place();
  hlo_builder *b = &p.b;
  hlo_instr *x = hlo_build_parameter(b, shape(&p, HLO_F32, 2, 3), STRV("x"));
  hlo_instr *zero = hlo_build_scalar_f64(b, HLO_F32, 0);
  hlo_instr *tuple = hlo_build_tuple(b, 2, (hlo_instr *[]){x, zero});
  check(tuple, "%tuple = (f32[2,3]{1,0}, f32[]) tuple(%x, %constant)");
  ck_assert_ptr_eq(hlo_build_get(b, tuple, 1), zero);
  hlo_instr *hidden = hlo_build_unary(b, HLO_OP_OPTIMIZATION_BARRIER, tuple);
  check(hlo_build_get(b, hidden, 1), "%get-tuple-element = f32[] get-tuple-element(%opt-barrier), index=1");
  loc here = {.kind = LOC_FILE, .name = STRV("f"), .line = 1, .col = 1};
  hidden->loc = &here;
  hlo_builder front = hlo_builder_before(hidden);
  hlo_instr *first = hlo_build_unary(&front, HLO_OP_NEGATE, x);
  ck_assert(first->next == hidden && first->loc == &here);
  arena_destroy(p.arena);
}
END_TEST

HARNESS_MAIN("hlo_builder", elementwise, movement, tuples_and_places)
