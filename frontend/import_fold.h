// SPDX-License-Identifier: Apache-2.0
// Private to refinement: constant evaluation of shape arithmetic (import_fold.c).
#ifndef FRONTEND_IMPORT_FOLD_H
#define FRONTEND_IMPORT_FOLD_H

#include "hlo/hlo.h"

enum { IMPORT_FOLD_MAX = 4096 };

// A shape whose values are followed: integers or pred, static, small.
bool import_fold_small(const hlo_shape *s);
// The value of an instruction (whose attributes are i's) with result shape `result` on the given operand values; NULL
// if it is not evaluated here. Memory from `a`.
const hlo_literal *import_fold(arena *a, hlo_shape_table *shapes, const hlo_instr *i, const hlo_shape *result,
                               const hlo_literal *const *in);

// What a custom call with known operands is: the operation on n_operands of its operands and the same computations.
typedef struct import_static_form {
  hlo_op op;
  int n_operands;
  const int *operands;  // which ones; NULL: the first
  void *attrs;
  const hlo_shape *declared;  // NULL: follows
} import_static_form;

// import_fold_custom.c: false if i is no such call, or an operand that matters is not known (NULL in values), or one
// holds sizes that the result does not have: *error (of `a`) says so, NULL otherwise.
bool import_fold_custom(arena *a, hlo_shape_table *shapes, const hlo_instr *i, const hlo_literal *const *values,
                        import_static_form *out, const char **error);

#endif
