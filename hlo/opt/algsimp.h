// SPDX-License-Identifier: Apache-2.0
// Shared by the files of algebraic simplification (and by constant folding).
#ifndef HLO_OPT_ALGSIMP_H
#define HLO_OPT_ALGSIMP_H

#include "hlo/opt/opt_internal.h"

// A static, row-major, unquantized array made of such arrays (tuples as operands or result are not).
bool algsimp_plain(const hlo_instr *i);
// A constant, or the broadcast of one.
bool algsimp_constant(const hlo_instr *i);
// A literal whose element 0 is every element of i; NULL if i is not known to be uniform (a splat, one element, or their
// broadcast).
const hlo_literal *algsimp_uniform(const hlo_instr *i);
// The rewrite by shapes and attributes that applies to i, built in front of it; NULL if there is none.
hlo_instr *algsimp_structure(hlo_instr *i);
// A splat of `shape` with the value of `element`.
hlo_instr *algsimp_splat(hlo_builder *b, const hlo_shape *shape, const void *element);

#endif
