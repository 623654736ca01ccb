// SPDX-License-Identifier: Apache-2.0
// Surgery on kernels: what passes and the builder share. Kernels keep no use lists: a pass that replaces values fills a
// map (indexed by value id) and applies it once.
#ifndef HLO_KERNEL_WALK_H
#define HLO_KERNEL_WALK_H

#include "hlo/kernel/kernel.h"

// Every instruction, inner blocks before the instruction that owns them. fn may unlink or insert around the one it is
// given.
void kernel_walk(kernel_block *b, void (*fn)(void *user, kernel_instr *i), void *user);
// Unlinked instruction with fresh results; blocks are NULL, to be filled in.
kernel_instr *kernel_instr_alloc(kernel *k, kernel_op op, int n_results, const kernel_type *types, int n_operands,
                                 kernel_value *const *operands, int n_blocks);
kernel_block *kernel_block_alloc(kernel *k, kernel_instr *parent, int n_args, const kernel_type *types);
void kernel_instr_insert(kernel_block *b, kernel_instr *before, kernel_instr *i);  // before NULL: at the end
void kernel_instr_unlink(kernel_instr *i);
// Deep copy of i (not inserted). map[old value id] = new value (NULL: keep the operand); sized for old ids; updated.
kernel_instr *kernel_instr_copy(kernel *k, const kernel_instr *i, kernel_value **map);
kernel_block *kernel_block_copy(kernel *k, const kernel_block *b, kernel_instr *parent, kernel_value **map);

// Replacements of values, applied to all operands at once at the end of a pass. Zero-initialise; grows as needed.
typedef struct kernel_rewrite {
  kernel_value **map;  // old id -> new value, NULL: unchanged
  int cap;
} kernel_rewrite;
void kernel_rewrite_set(kernel_rewrite *r, const kernel_value *old, kernel_value *replacement);
void kernel_rewrite_apply(kernel_rewrite *r, kernel *k);  // replacements of replacements are followed; frees the map

#endif
