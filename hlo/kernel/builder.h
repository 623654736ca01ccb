// SPDX-License-Identifier: Apache-2.0
// Building kernels. The builder folds constants and trivial identities (x + 0, x * 1, select of equal arms, extract of
// splat) as it goes, and splats a scalar operand when the other one is a vector, so that lowering code can be written
// plainly.
#ifndef HLO_KERNEL_BUILDER_H
#define HLO_KERNEL_BUILDER_H

#include "hlo/kernel/kernel.h"

typedef struct kernel_builder {
  kernel *k;
  kernel_block *block;
  kernel_instr *before;  // NULL: at the end (in front of a yield that is there already)
} kernel_builder;

// The kernel is an arena object of `a`; params copied. workgroup 0 for a core kernel.
kernel *kernel_create(arena *a, strv name, int n_params, const kernel_param *params, int64_t grid, int workgroup,
                      kernel_scalar index);
kernel_builder kernel_builder_create(kernel *k);  // at the end of the body
int kernel_add_array(kernel *k, kernel_space space, kernel_scalar elem, int lanes, int64_t n_elems);  // its number

// Raw: any op.
kernel_instr *kernel_emit(kernel_builder *b, kernel_op op, int n_results, const kernel_type *types, int n_operands,
                          kernel_value *const *operands);
kernel_value *kernel_int(kernel_builder *b, kernel_scalar s, int64_t x);
kernel_value *kernel_index(kernel_builder *b, int64_t x);  // of the kernel's index type
kernel_value *kernel_float(kernel_builder *b, kernel_scalar s, double x);
kernel_value *kernel_const_like(kernel_builder *b, const kernel_value *v, double x);  // v's type, int or float
kernel_value *kernel_item(kernel_builder *b);
kernel_value *kernel_un(kernel_builder *b, kernel_op op, kernel_value *x);
kernel_value *kernel_bin(kernel_builder *b, kernel_op op, kernel_value *x, kernel_value *y);
kernel_value *kernel_fma(kernel_builder *b, kernel_value *x, kernel_value *y, kernel_value *z);
kernel_value *kernel_select(kernel_builder *b, kernel_value *c, kernel_value *x, kernel_value *y);
kernel_value *kernel_conv(kernel_builder *b, kernel_op op, kernel_value *x, kernel_scalar to);  // lanes kept
kernel_value *kernel_bitcast(kernel_builder *b, kernel_value *x, kernel_type to);
kernel_value *kernel_splat(kernel_builder *b, kernel_value *x, int lanes);  // x itself if lanes is 1 or already so
kernel_value *kernel_lanes(kernel_builder *b, kernel_scalar s, int lanes);
kernel_value *kernel_extract(kernel_builder *b, kernel_value *x, int lane);
kernel_value *kernel_build_vector(kernel_builder *b, int lanes, kernel_value *const *xs);
kernel_value *kernel_reduce(kernel_builder *b, kernel_op op, kernel_value *x);
kernel_value *kernel_load(kernel_builder *b, kernel_mem mem, kernel_value *index, int lanes, int align,
                          kernel_value *mask);  // index vector: gather (lanes = its lanes)
void kernel_store(kernel_builder *b, kernel_mem mem, kernel_value *index, kernel_value *value, int align,
                  kernel_value *mask);
static inline kernel_mem kernel_param_mem(int i) {
  return (kernel_mem){KERNEL_PARAM, (uint16_t)i};
}
// `array` as kernel_add_array returned it
kernel_mem kernel_array_mem(const kernel *k, int array);

// Structured control: begin moves the builder into the block, end moves it behind the instruction.
//   kernel_for f = kernel_for_begin(&b, lo, hi, step, n, init);   // f.iv, f.args[0..n)
//   ... kernel_for_end(&b, &f, next_values);                       // f.results[0..n)
typedef struct kernel_for {
  kernel_instr *instr;
  kernel_value *iv;
  kernel_value **args, **results;
  int n;
} kernel_for;
kernel_for kernel_for_begin(kernel_builder *b, kernel_value *lo, kernel_value *hi, kernel_value *step, int n,
                            kernel_value *const *init);
void kernel_for_end(kernel_builder *b, kernel_for *f, kernel_value *const *next);

//   kernel_if c = kernel_if_begin(&b, cond, n, types);  ...then...  kernel_if_else(&b, &c, then_values);  ...else...
//   kernel_if_end(&b, &c, else_values);   // c.results
typedef struct kernel_if {
  kernel_instr *instr;
  kernel_value **results;
  int n;
} kernel_if;
kernel_if kernel_if_begin(kernel_builder *b, kernel_value *cond, int n, const kernel_type *types);
void kernel_if_else(kernel_builder *b, kernel_if *c, kernel_value *const *values);
void kernel_if_end(kernel_builder *b, kernel_if *c, kernel_value *const *values);

//   kernel_while w = kernel_while_begin(&b, n, init);  ...condition from w.args...  kernel_while_body(&b, &w, cond);
//   ...body from w.args...  kernel_while_end(&b, &w, next);   // w.results
typedef struct kernel_while {
  kernel_instr *instr;
  kernel_value **args, **results;
  int n;
} kernel_while;
kernel_while kernel_while_begin(kernel_builder *b, int n, kernel_value *const *init);
void kernel_while_body(kernel_builder *b, kernel_while *w, kernel_value *cond);
void kernel_while_end(kernel_builder *b, kernel_while *w, kernel_value *const *next);

#endif
