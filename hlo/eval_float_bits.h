// SPDX-License-Identifier: Apache-2.0
// The patterns of doubles, for the vector loops of eval_fast.c, eval_fast64.c and eval_complex_fast.c.
#ifndef HLO_EVAL_FLOAT_BITS_H
#define HLO_EVAL_FLOAT_BITS_H

#include <stdint.h>
#include <string.h>

// Functions of such loops are made once per instruction set, so they have to be inlined into each.
#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t bits_of(double x) {
  uint64_t u;
  memcpy(&u, &x, 8);
  return u;
}
INLINE double of_bits(uint64_t u) {
  double x;
  memcpy(&x, &u, 8);
  return x;
}

#endif
