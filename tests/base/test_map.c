// SPDX-License-Identifier: Apache-2.0
// Hash maps.
#include "tests/harness.h"

START_TEST(strings) {
  arena *a = arena_create();
  arena *owners[] = {a, NULL};
  for (int k = 0; k < 2; k++) {
    strmap m = {0};
    int values[2000];
    ck_assert_ptr_null(strmap_get(&m, STRV("x")));
    ck_assert(!strmap_has(&m, STRV("x")));
    for (int i = 0; i < 2000; i++) {
      strmap_put(owners[k], &m, strv_from_cstr(arena_printf(a, "key%d", i)), &values[i]);
    }
    for (int i = 0; i < 2000; i++) {
      ck_assert_ptr_eq(strmap_get(&m, strv_from_cstr(arena_printf(a, "key%d", i))), &values[i]);
    }
    strmap_put(owners[k], &m, STRV("key7"), NULL);
    ck_assert(strmap_has(&m, STRV("key7")));
    ck_assert_ptr_null(strmap_get(&m, STRV("key7")));
    ck_assert(!strmap_has(&m, STRV("key2000")));
    strmap_put(owners[k], &m, (strv){0}, &values[1]);
    ck_assert_ptr_eq(strmap_get(&m, STRV("")), &values[1]);
    ck_assert_int_eq(m.len, 2001);
    ck_assert(strv_eq_cstr(m.entries[1999].key, "key1999"));  // insertion order
    if (!owners[k]) strmap_deinit(&m);
  }
  arena_destroy(a);
}
END_TEST

START_TEST(numbers) {
  u64map m = {0};
  uint64_t v = 5;
  ck_assert(!u64map_get(&m, 0, &v));
  ck_assert_uint_eq(v, 5);  // written only when found
  for (uint64_t i = 0; i < 5000; i++) u64map_put(NULL, &m, i << 32, i);
  for (uint64_t i = 0; i < 5000; i++) {
    ck_assert(u64map_get(&m, i << 32, &v));
    ck_assert_uint_eq(v, i);
  }
  u64map_put(NULL, &m, 0, 9);
  ck_assert(u64map_get(&m, 0, &v) && v == 9);
  ck_assert_int_eq(m.len, 5000);
  ck_assert(!u64map_get(&m, 1, &v));
  u64map_deinit(&m);
  int x, y;
  ptrmap_put(NULL, &m, &x, &y);
  ck_assert_ptr_eq(ptrmap_get(&m, &x), &y);
  ck_assert_ptr_null(ptrmap_get(&m, &y));
  u64map_deinit(&m);
}
END_TEST

// Every bit of a short or long input matters, and so do length and seed.
START_TEST(hashes) {
  unsigned char data[100] = {0};
  u64map seen = {0};
  uint64_t v;
  for (size_t n = 0; n <= sizeof data; n++) {
    u64map_put(NULL, &seen, hash_bytes(data, n, 0), n);
    for (size_t bit = 0; bit < 8 * n; bit++) {
      data[bit / 8] ^= (unsigned char)(1 << bit % 8);
      uint64_t h = hash_bytes(data, n, 0);
      ASSERT_QUICK(!u64map_get(&seen, h, &v));
      u64map_put(NULL, &seen, h, n);
      data[bit / 8] = 0;
    }
  }
  ck_assert(hash_bytes("a", 1, 1) != hash_bytes("a", 1, 2));
  u64map_deinit(&seen);
}
END_TEST

HARNESS_MAIN("base/map", strings, numbers, hashes)
