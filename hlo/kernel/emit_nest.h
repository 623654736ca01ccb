// SPDX-License-Identifier: Apache-2.0
// A nest of counted loops that carries values: what reductions, windows and naive contractions are written with.
#ifndef HLO_KERNEL_EMIT_NEST_H
#define HLO_KERNEL_EMIT_NEST_H

#include "hlo/kernel/emit.h"

enum { NEST_MAX = 64 };

typedef struct nest {
  kernel_for loops[NEST_MAX];
  emit_coord at[NEST_MAX];  // coordinate of each loop
  int n;
  kernel_value **carried;  // innermost values
  int n_carried;
} nest;

static inline void nest_begin(emit_ctx *c, nest *s, int n, const int64_t *sizes, int n_carried,
                              kernel_value *const *init) {
  kernel_builder *b = &c->b;
  s->n = n, s->n_carried = n_carried;
  s->carried = arena_copy(c->a, init, sizeof *init * (size_t)n_carried);
  for (int l = 0; l < n; l++) {
    if (sizes[l] == 1) {
      s->loops[l].instr = NULL;
      s->at[l] = emit_coord_const(c, 0);
      continue;
    }
    s->loops[l] =
        kernel_for_begin(b, kernel_index(b, 0), kernel_index(b, sizes[l]), kernel_index(b, 1), n_carried, s->carried);
    s->at[l] = emit_coord_of(s->loops[l].iv, 1);
    s->carried = s->loops[l].args;
  }
}

static inline kernel_value **nest_end(emit_ctx *c, nest *s, kernel_value **next) {
  for (int l = s->n - 1; l >= 0; l--) {
    if (!s->loops[l].instr) continue;
    kernel_for_end(&c->b, &s->loops[l], next);
    next = s->loops[l].results;
  }
  return next;
}

// emit_values <-> flat kernel values (complex: two), all of `lanes` lanes
static inline int flatten(emit_ctx *c, const emit_value *v, int n, int lanes, kernel_value **out) {
  int count = 0;
  for (int i = 0; i < n; i++) {
    out[count++] = kernel_splat(&c->b, v[i].re, lanes);
    if (v[i].im) out[count++] = kernel_splat(&c->b, v[i].im, lanes);
  }
  return count;
}

static inline void unflatten(kernel_value *const *in, const emit_value *like, int n, emit_value *out) {
  int at = 0;
  for (int i = 0; i < n; i++) {
    bool complex = like[i].im != NULL;
    out[i].re = in[at++];
    out[i].im = complex ? in[at++] : NULL;
  }
}

#endif
