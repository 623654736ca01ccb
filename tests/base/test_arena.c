// SPDX-License-Identifier: Apache-2.0
// Arena, vectors and bitsets.
#include "tests/harness.h"

START_TEST(alloc_is_zeroed_and_aligned) {
  arena *a = arena_create();
  size_t total = 0;
  for (size_t size = 0; size < 3000; size += 7) {
    unsigned char *p = arena_alloc(a, size);
    ck_assert_uint_eq((uintptr_t)p % 16, 0);
    for (size_t i = 0; i < size; i++) ASSERT_QUICK(p[i] == 0);
    memset(p, 0xff, size);
    total += size ? size : 1;
  }
  ck_assert_uint_eq(arena_bytes(a), total);
  arena_destroy(a);
  arena_destroy(NULL);
}
END_TEST

START_TEST(large_allocations_keep_the_current_block) {
  arena *a = arena_create();
  char *before = arena_alloc(a, 16);
  char *large = arena_alloc(a, 10 << 20);
  ck_assert_int_eq(large[(10 << 20) - 1], 0);
  char *after = arena_alloc(a, 16);
  ck_assert_ptr_eq(after, before + 16);
  arena_destroy(a);
  a = arena_create();  // a large one first
  large = arena_alloc(a, 1 << 20);
  memset(large, 1, 1 << 20);
  after = arena_alloc(a, 100);
  ck_assert_int_eq(after[99], 0);
  arena_destroy(a);
}
END_TEST

START_TEST(try_alloc) {
  arena *a = arena_create();
  for (size_t align = 1; align <= 4096; align *= 2) {
    for (size_t size = 1; size < 100000; size *= 9) {
      char *p = arena_try_alloc(a, size, align);
      ck_assert_ptr_nonnull(p);
      ck_assert_uint_eq((uintptr_t)p % align, 0);
      memset(p, 1, size);
    }
  }
  ck_assert_ptr_null(arena_try_alloc(a, SIZE_MAX, 64));
  ck_assert_ptr_null(arena_try_alloc(a, SIZE_MAX / 2, 64));
  ck_assert_ptr_null(heap_try_alloc_aligned(SIZE_MAX - 10));
  void *p = heap_try_alloc_aligned(0);
  ck_assert_ptr_nonnull(p);
  ck_assert_uint_eq((uintptr_t)p % 64, 0);
  heap_aligned_free(p);
  arena_destroy(a);
}
END_TEST

START_TEST(copies) {
  arena *a = arena_create();
  strv s = arena_strv(a, strv_take(STRV("hello world"), 5));
  ck_assert_str_eq(s.data, "hello");
  ck_assert_uint_eq(s.len, 5);
  ck_assert_str_eq(arena_printf(a, "%d-%s", 42, "x"), "42-x");
  ck_assert_ptr_nonnull(arena_copy(a, NULL, 0));
  int *copy = arena_copy(a, (int[]){1, 2, 3}, 3 * sizeof(int));
  ck_assert_int_eq(copy[2], 3);
  arena_destroy(a);
}
END_TEST

START_TEST(vectors) {
  arena *a = arena_create();
  arena *owners[] = {a, NULL};
  for (int k = 0; k < 2; k++) {
    VEC(int) v = {0};
    for (int i = 0; i < 1000; i++) vec_push(owners[k], &v, i * i);
    vec_append(owners[k], &v, ((int[]){-1, -2}), 2);
    vec_append(owners[k], &v, v.data, 0);
    ck_assert_int_eq(v.len, 1002);
    ck_assert_int_eq(v.data[999], 999 * 999);
    ck_assert_int_eq(vec_last(&v), -2);
    ck_assert_int_eq(vec_pop(&v), -2);
    ck_assert_int_eq(v.len, 1001);
    if (!owners[k]) vec_deinit(&v);
  }
  arena_destroy(a);
}
END_TEST

START_TEST(bitsets) {
  arena *a = arena_create();
  bitset x = bitset_create(a, 130), y = bitset_create(a, 130);
  bitset_set(&x, 0);
  bitset_set(&x, 63);
  bitset_set(&x, 129);
  ck_assert_int_eq(bitset_count(&x), 3);
  ck_assert(bitset_get(&x, 63) && !bitset_get(&x, 64));
  bitset_clear(&x, 63);
  ck_assert_int_eq(bitset_count(&x), 2);
  ck_assert(bitset_union(&y, &x));
  ck_assert(!bitset_union(&y, &x));
  ck_assert(bitset_get(&y, 129));
  for (int i = 0; i < 130; i++) bitset_set(&y, i);
  ck_assert_int_eq(bitset_count(&y), 130);
  bitset empty = bitset_create(a, 0);
  ck_assert_int_eq(bitset_count(&empty), 0);
  arena_destroy(a);
}
END_TEST

HARNESS_MAIN("base/arena", alloc_is_zeroed_and_aligned, large_allocations_keep_the_current_block, try_alloc, copies,
             vectors, bitsets)
