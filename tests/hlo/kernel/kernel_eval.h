// SPDX-License-Identifier: Apache-2.0
// A plain interpreter of kernels, for tests: walks the IR item by item, checks every access. The reference for lowering
// and for passes.
#ifndef TESTS_HLO_KERNEL_EVAL_H
#define TESTS_HLO_KERNEL_EVAL_H

#include "hlo/kernel/kernel.h"

// Runs the whole grid. params: one pointer to n_elems elements each. NULL, or what went wrong (static or malloc'ed:
// leaked).
// Workgroups run with subgroups of 4 (kernel_eval) or as given; workgroup a multiple of it. Subgroup operations want
// uniform control flow.
const char *kernel_eval(const kernel *k, void *const *params);
const char *kernel_eval_subgroup(const kernel *k, void *const *params, int subgroup);

#endif
