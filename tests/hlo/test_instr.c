// SPDX-License-Identifier: Apache-2.0
// The tables of ops and attributes, names, and instructions: lists, use lists under random edits, parameters.
#include "hlo/hlo.h"
#include "tests/harness.h"

START_TEST(op_table) {
  for (int i = 0; i < HLO_OP_COUNT; i++) {
    const hlo_op_info *info = &hlo_op_table[i];
    hlo_op op;
    ck_assert(hlo_op_from_text(strv_from_cstr(info->text_name), &op) && op == (hlo_op)i);  // no two share a spelling
    if (info->stablehlo_name[0]) {
      ck_assert(hlo_op_from_stablehlo(strv_from_cstr(info->stablehlo_name), &op) && op == (hlo_op)i);
      ck_assert(!hlo_op_has((hlo_op)i, HLO_TRAIT_H) || i == HLO_OP_PARAMETER);
    }
    ck_assert_int_lt(info->attrs, HLO_ATTR_LIST_COUNT);
    ck_assert(info->max_operands < 0 || info->max_operands >= info->min_operands);
    ck_assert_str_ne(info->types, "");
    if (hlo_op_has((hlo_op)i, HLO_TRAIT_C)) ck_assert_int_eq(info->max_operands, 2);
  }
  hlo_op op;
  ck_assert(!hlo_op_from_text(STRV("frobnicate"), &op) && !hlo_op_from_stablehlo((strv){0}, &op));
}
END_TEST

START_TEST(attr_tables) {
  arena *a = arena_create();
  bool kinds[HLO_ATTR_KIND_COUNT] = {false};
  for (int list = 0; list < HLO_ATTR_LIST_COUNT; list++) {
    const hlo_attr_list_info *info = &hlo_attr_list_table[list];
    char *attrs = hlo_attrs_create(a, (hlo_attr_list)list);
    ck_assert((attrs == NULL) == (info->n == 0));
    uint32_t end = 0;
    for (int k = 0; k < info->n; k++) {
      const hlo_attr_desc *d = &info->descs[k];
      kinds[d->kind] = true;
      ck_assert(k ? d->offset >= end : d->offset == 0);  // in order, inside the struct
      end = d->offset + 1;
      ck_assert_uint_lt(d->offset, info->size);
      if (d->kind == HLO_ATTR_KIND_i64) ck_assert_int_eq(*(int64_t *)(void *)(attrs + d->offset), d->default_value);
    }
    char *copy = hlo_attrs_clone(a, (hlo_attr_list)list, attrs);
    ck_assert(hlo_attrs_equal((hlo_attr_list)list, attrs, copy));
    ck_assert(hlo_attrs_hash((hlo_attr_list)list, attrs) == hlo_attrs_hash((hlo_attr_list)list, copy));
    for (int k = 0; k < info->n; k++) {  // a change of any scalar is seen
      if (info->descs[k].kind != HLO_ATTR_KIND_i64 && info->descs[k].kind != HLO_ATTR_KIND_f64) continue;
      *(int64_t *)(void *)(copy + info->descs[k].offset) ^= 4;
      ck_assert(!hlo_attrs_equal((hlo_attr_list)list, attrs, copy));
      ck_assert(hlo_attrs_hash((hlo_attr_list)list, attrs) != hlo_attrs_hash((hlo_attr_list)list, copy));
      *(int64_t *)(void *)(copy + info->descs[k].offset) ^= 4;
    }
  }
  kinds[HLO_ATTR_KIND_precision] = true;  // only as the element of a list
  for (int k = 0; k < HLO_ATTR_KIND_COUNT; k++) ck_assert_msg(kinds[k], "no list uses kind %d", k);
  ck_assert_int_eq(((hlo_attrs_convolution *)hlo_attrs_create(a, HLO_ATTR_LIST_convolution))->feature_group_count, 1);
  ck_assert_int_eq(((hlo_attrs_sort *)hlo_attrs_create(a, HLO_ATTR_LIST_sort))->dimension, -1);
  ck_assert_str_eq(hlo_enum_name(HLO_ATTR_KIND_comparison_direction, HLO_COMPARISON_DIRECTION_LT), "LT");
  ck_assert_ptr_null(hlo_enum_name(HLO_ATTR_KIND_comparison_direction, 6));
  ck_assert_ptr_null(hlo_enum_name(HLO_ATTR_KIND_i64, 0));
  int value;
  ck_assert(hlo_enum_parse(HLO_ATTR_KIND_fft_type, STRV("IRFFT"), &value) && value == HLO_FFT_TYPE_IRFFT);
  ck_assert(!hlo_enum_parse(HLO_ATTR_KIND_fft_type, STRV("LT"), &value));
  arena_destroy(a);
}
END_TEST

START_TEST(deep_clone_of_attrs) {
  arena *a = arena_create(), *b = arena_create();
  hlo_attrs_custom_call *x = hlo_attrs_create(a, HLO_ATTR_LIST_custom_call);
  char target[] = "target", name[] = "name";
  int64_t numbers[] = {1, 2, 3};
  hlo_dict_entry entry = {{name, 4}, {target, 3}, true};
  x->target = (strv){target, 6};
  x->operand_tuple_aliasing = (hlo_i64s){numbers, 3};
  x->attributes = (hlo_dict){&entry, 1};
  hlo_attrs_custom_call *y = hlo_attrs_clone(b, HLO_ATTR_LIST_custom_call, x);
  ck_assert(hlo_attrs_equal(HLO_ATTR_LIST_custom_call, x, y));
  target[0] = name[0] = 'X';
  numbers[0] = 7;
  ck_assert(strv_eq_cstr(y->target, "target") && strv_eq_cstr(y->attributes.entries[0].name, "name"));
  ck_assert(strv_eq_cstr(y->attributes.entries[0].value, "tar") && y->operand_tuple_aliasing.data[0] == 1);
  ck_assert(hlo_i64s_contains(y->operand_tuple_aliasing, 3) && !hlo_i64s_contains(y->operand_tuple_aliasing, 7));
  arena_destroy(a);
  arena_destroy(b);
}
END_TEST

static hlo_instr *leaf(hlo_computation *c, strv name) {
  return hlo_instr_create(c, NULL, HLO_OP_CREATE_TOKEN, hlo_shape_token(c->module->shapes), 0, NULL, 0, NULL, NULL,
                          NULL, name);
}

START_TEST(names) {
  arena *a = arena_create();
  hlo_module *m = hlo_module_create(a, STRV("my module"));
  ck_assert(strv_eq_cstr(m->name, "my_module"));
  hlo_computation *c = hlo_computation_create(m, STRV("c"));
  ck_assert(strv_eq_cstr(leaf(c, STRV("c"))->name, "c.1"));
  ck_assert(strv_eq_cstr(leaf(c, STRV("x"))->name, "x"));
  ck_assert(strv_eq_cstr(leaf(c, STRV("x.2"))->name, "x.2"));
  ck_assert(strv_eq_cstr(leaf(c, STRV("x"))->name, "x.1"));
  ck_assert(strv_eq_cstr(leaf(c, STRV("x"))->name, "x.3"));
  ck_assert(strv_eq_cstr(leaf(c, STRV("x.2"))->name, "x.4"));
  ck_assert(strv_eq_cstr(leaf(c, (strv){0})->name, "create-token"));
  ck_assert(strv_eq_cstr(leaf(c, STRV("a b\"%"))->name, "a_b__"));
  ck_assert_ptr_eq(hlo_module_find(m, STRV("c")), c);
  ck_assert_ptr_null(hlo_module_find(m, STRV("x")));
  for (int i = 0; i < 200000; i++) leaf(c, STRV("many"));  // a counter, not a search
  arena_destroy(a);
}
END_TEST

// The whole truth about uses, recomputed.
static void check_uses(const hlo_computation *c) {
  int n_operands = 0, n_uses = 0;
  const hlo_instr *previous = NULL;
  HLO_FOR_EACH (i, c) {
    ASSERT_QUICK(i->prev == previous && i->parent == c);
    previous = i;
    n_operands += i->n_operands;
    n_uses += i->n_uses;
    for (int k = 0; k < i->n_operands; k++) {
      hlo_use u = i->operands[k]->uses[i->use_slots[k]];
      ASSERT_QUICK(u.user == i && u.operand == k && i->use_slots[k] < i->operands[k]->n_uses);
    }
    for (int k = 0; k < i->n_uses; k++) ASSERT_QUICK(i->uses[k].user->operands[i->uses[k].operand] == i);
  }
  ASSERT_QUICK(c->last == previous && n_operands == n_uses);
}

START_TEST(random_edits) {
  for (uint64_t seed = 1; seed < 20; seed++) {
    arena *a = arena_create();
    hlo_module *m = hlo_module_create(a, STRV("m"));
    hlo_computation *c = hlo_computation_create(m, STRV("c"));
    uint64_t state = seed;
    hlo_instr *all[64];
    int n = 0;
#define BELOW(limit) (int)((state = hash_u64(state, 3)) % (uint64_t)(limit))
    for (int step = 0; step < 3000; step++) {
      int what = n < 4 ? 0 : BELOW(7);
      hlo_instr *x = n ? all[BELOW(n)] : NULL, *y = n ? all[BELOW(n)] : NULL;
      if (what == 0 && n < 64) {
        hlo_instr *operands[5];
        int k = n ? BELOW(6) : 0;
        for (int i = 0; i < k; i++) operands[i] = all[BELOW(n)];
        all[n++] = hlo_instr_create(c, x, HLO_OP_AFTER_ALL, hlo_shape_token(m->shapes), k, operands, 0, NULL, NULL,
                                    NULL, (strv){0});
      } else if (what == 1 && x->n_operands) {
        hlo_instr_set_operand(x, BELOW(x->n_operands), y);
      } else if (what == 2) {
        hlo_instr_add_operand(x, y);
      } else if (what == 3 && x->n_operands) {
        hlo_instr_remove_operand(x, BELOW(x->n_operands));
      } else if (what == 4) {
        hlo_instr_replace_uses(x, y);
        for (int k = 0; k < x->n_uses; k++) ASSERT_QUICK(x == y || x->uses[k].user == y);
      } else if (what == 5) {
        hlo_instr_move_before(x, BELOW(4) ? y : NULL);
      } else if (what == 6 && !x->n_uses) {
        hlo_instr_remove(x);
        for (int k = 0; k < n; k++)
          if (all[k] == x) all[k] = all[--n];
      }
      check_uses(c);
    }
    arena_destroy(a);
  }
}
END_TEST

// Removing a value's uses one by one is linear, in whichever order.
START_TEST(many_uses) {
  arena *a = arena_create();
  hlo_module *m = hlo_module_create(a, STRV("m"));
  hlo_computation *c = hlo_computation_create(m, STRV("c"));
  hlo_instr *x = leaf(c, STRV("x")), *y = leaf(c, STRV("y"));
  enum { N = 200000 };
  for (int i = 0; i < N; i++)
    hlo_instr_create(c, NULL, HLO_OP_AFTER_ALL, x->shape, 1, &x, 0, NULL, NULL, NULL, (strv){0});
  ck_assert_int_eq(x->n_uses, N);
  HLO_FOR_EACH (i, c)
    if (i->n_operands) hlo_instr_set_operand(i, 0, y);
  ck_assert(x->n_uses == 0 && y->n_uses == N);
  hlo_instr_replace_uses(y, x);
  HLO_FOR_EACH_SAFE (i, c)
    if (i->n_operands) hlo_instr_remove(i);
  ck_assert(x->n_uses == 0 && c->last == y);
  arena_destroy(a);
}
END_TEST

static hlo_instr *parameter(hlo_computation *c, int number) {
  hlo_attrs_parameter *attrs = hlo_attrs_create(c->module->arena, HLO_ATTR_LIST_parameter);
  attrs->number = number;
  return hlo_instr_create(c, NULL, HLO_OP_PARAMETER, hlo_shape_array(c->module->shapes, HLO_F32, 0, NULL), 0, NULL, 0,
                          NULL, attrs, NULL, (strv){0});
}

START_TEST(parameters) {
  arena *a = arena_create();
  hlo_module *m = hlo_module_create(a, STRV("m"));
  hlo_computation *c = hlo_computation_create(m, STRV("c"));
  hlo_instr *p2 = parameter(c, 2), *p0 = parameter(c, 0);
  ck_assert(c->n_params == 3 && c->params[1] == NULL);
  hlo_instr *p1 = parameter(c, 1);
  ck_assert(c->params[0] == p0 && c->params[1] == p1 && c->params[2] == p2);
  hlo_instr *xy[] = {p2, p0};
  c->root = hlo_instr_create(c, NULL, HLO_OP_SUBTRACT, p0->shape, 2, xy, 0, NULL, NULL, NULL, (strv){0});
  hlo_op op;
  bool swapped;
  ck_assert(!hlo_computation_is_binary(c, &op, &swapped));
  hlo_computation_remove_parameter(c, 1);
  ck_assert(c->n_params == 2 && c->params[1] == p2 && HLO_ATTRS(p2, parameter)->number == 1);
  ck_assert(hlo_computation_is_binary(c, &op, &swapped) && op == HLO_OP_SUBTRACT && swapped);
  hlo_computation *copy = hlo_computation_clone(c, m);
  ck_assert(copy->n_params == 2 && copy->root->operands[0] == copy->params[1] && copy != c);
  ck_assert(strv_eq_cstr(copy->name, "c.1") && copy->root->attrs == c->root->attrs);
  check_uses(copy);
  ck_assert(!hlo_instr_has_side_effect(c->root));
  hlo_computation *d = hlo_computation_create(m, STRV("d"));
  hlo_instr *call = hlo_instr_create(d, NULL, HLO_OP_CALL, p0->shape, 0, NULL, 1, &c, NULL, NULL, (strv){0});
  ck_assert(!hlo_instr_has_side_effect(call));
  hlo_instr_create(c, NULL, HLO_OP_CHECK_EQ, p0->shape, 2, xy, 0, NULL, NULL, NULL, (strv){0});
  ck_assert(hlo_instr_has_side_effect(call));
  hlo_computation_remove(d);
  ck_assert(m->n_computations == 2 && !hlo_module_find(m, STRV("d")));
  arena_destroy(a);
}
END_TEST

HARNESS_MAIN("hlo_instr", op_table, attr_tables, deep_clone_of_attrs, names, random_edits, many_uses, parameters)
