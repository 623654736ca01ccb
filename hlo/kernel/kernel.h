// SPDX-License-Identifier: Apache-2.0
// The kernel IR: what every code generator receives.
//
// A kernel is a function run for each item of a logical 1-D grid of up to 2^63 items, over buffer parameters:
//
//   kernel @add_1 grid=1024 index=i32 (readonly p0: f32[8192] align 256, p1: f32[8192] align 256) {
//     %0:i32 = item
//     %1:i32 = const 8
//     %2:i32 = mul %0, %1
//     %3:f32x8 = load p0[%2]
//     %4:f32x8 = add %3, %3
//     store p1[%2], %4
//   }
//
// - SSA with structured control (for, if, while with carried values). A value is a scalar or a vector of any
//   power-of-two
//   number of lanes; scalars are the types of KERNEL_SCALARS. Small floats (bf16, f8, ...) may be loaded, stored and
//   converted; arithmetic on them is legalized away.
// - Items are independent unless kernel->workgroup > 0: then each `workgroup` consecutive items form a group with
//   shared
//   arrays and barriers (grid is a multiple of workgroup). Core kernels (workgroup 0) run anywhere, in any order.
// - Memory: parameters (global), private arrays (one copy an item; large ones are given per thread by the runtime),
//   shared arrays (a workgroup's). Accesses
//   out of bounds are undefined: lowering keeps indices in range. Reads of readonly parameters may be reordered freely.
// - complex values do not exist here: lowering carries real and imaginary parts as two values.
// A kernel lives in an arena; building and passes are single-threaded per kernel. Kernels are compared by kernel_hash /
// kernel_equal (names excluded) to share code.
#ifndef HLO_KERNEL_KERNEL_H
#define HLO_KERNEL_KERNEL_H

#include "hlo/dtype.h"
#include "hlo/target.h"

// S(ENUM, "name", bytes in memory, bits, is float, hlo dtype of floats or signed twin)
// clang-format off
#define KERNEL_SCALARS(S)              \
  S(I1, "i1", 1, 1, 0, HLO_PRED)       \
  S(I8, "i8", 1, 8, 0, HLO_S8)         \
  S(I16, "i16", 2, 16, 0, HLO_S16)     \
  S(I32, "i32", 4, 32, 0, HLO_S32)     \
  S(I64, "i64", 8, 64, 0, HLO_S64)     \
  S(F32, "f32", 4, 32, 1, HLO_F32)     \
  S(F64, "f64", 8, 64, 1, HLO_F64)     \
  S(F16, "f16", 2, 16, 1, HLO_F16)     \
  S(BF16, "bf16", 2, 16, 1, HLO_BF16)  \
  S(F8E5M2, "f8e5m2", 1, 8, 1, HLO_F8E5M2)                  \
  S(F8E4M3, "f8e4m3", 1, 8, 1, HLO_F8E4M3)                  \
  S(F8E3M4, "f8e3m4", 1, 8, 1, HLO_F8E3M4)                  \
  S(F8E4M3FN, "f8e4m3fn", 1, 8, 1, HLO_F8E4M3FN)            \
  S(F8E4M3FNUZ, "f8e4m3fnuz", 1, 8, 1, HLO_F8E4M3FNUZ)      \
  S(F8E5M2FNUZ, "f8e5m2fnuz", 1, 8, 1, HLO_F8E5M2FNUZ)      \
  S(F8E4M3B11FNUZ, "f8e4m3b11fnuz", 1, 8, 1, HLO_F8E4M3B11FNUZ) \
  S(F8E8M0FNU, "f8e8m0fnu", 1, 8, 1, HLO_F8E8M0FNU)         \
  S(F6E2M3FN, "f6e2m3fn", 1, 6, 1, HLO_F6E2M3FN)            \
  S(F6E3M2FN, "f6e3m2fn", 1, 6, 1, HLO_F6E3M2FN)            \
  S(F4E2M1FN, "f4e2m1fn", 1, 4, 1, HLO_F4E2M1FN)

typedef enum kernel_scalar {
#define S(ENUM, name, bytes, bits, is_float, dtype) KERNEL_##ENUM,
  KERNEL_SCALARS(S)
#undef S
  KERNEL_SCALAR_COUNT
} kernel_scalar;
// clang-format on

typedef struct kernel_scalar_info {
  const char *name;
  uint8_t bytes, bits;
  bool is_float;
  hlo_dtype dtype;
} kernel_scalar_info;
extern const kernel_scalar_info kernel_scalar_table[KERNEL_SCALAR_COUNT];
// integers of 2 and 4 bits: I8; pred: I1; complex: its real part's; token, tuple: I8
kernel_scalar kernel_scalar_of(hlo_dtype t);

typedef struct kernel_type {
  uint16_t scalar;  // kernel_scalar
  uint16_t lanes;   // 1, 2, 4, ... 64
} kernel_type;
static inline kernel_type kernel_type_make(kernel_scalar s, int lanes) {
  return (kernel_type){(uint16_t)s, (uint16_t)lanes};
}
static inline bool kernel_type_eq(kernel_type a, kernel_type b) {
  return a.scalar == b.scalar && a.lanes == b.lanes;
}

// clang-format off
typedef enum kernel_op {
#define K(ENUM, name, operands, results, CLASS, meaning) KERNEL_OP_##ENUM,
#include "hlo/kernel/ops.def"
#undef K
  KERNEL_OP_COUNT
} kernel_op;
// clang-format on

typedef enum kernel_op_class {
  KERNEL_CLASS_CONST,
  KERNEL_CLASS_ID,
  KERNEL_CLASS_INT,
  KERNEL_CLASS_FLOAT,
  KERNEL_CLASS_ANY,
  KERNEL_CLASS_CMP,
  KERNEL_CLASS_CONV,
  KERNEL_CLASS_VEC,
  KERNEL_CLASS_MEM,
  KERNEL_CLASS_CTRL,
  KERNEL_CLASS_GROUP,
  KERNEL_CLASS_MATH,
  KERNEL_CLASS_TILE,
} kernel_op_class;

typedef struct kernel_op_info {
  const char *name;
  int8_t n_operands, n_results;  // -1: any
  uint8_t cls;
} kernel_op_info;
extern const kernel_op_info kernel_op_table[KERNEL_OP_COUNT];

typedef struct kernel_instr kernel_instr;
typedef struct kernel_block kernel_block;

typedef struct kernel_value {
  kernel_type type;
  int32_t id;           // dense in the kernel: index of side arrays (kernel->next_id bounds it)
  int32_t index;        // result or block-argument number
  kernel_instr *def;    // NULL: block argument
  kernel_block *block;  // of a block argument
} kernel_value;

typedef enum kernel_space { KERNEL_PARAM, KERNEL_PRIVATE, KERNEL_SHARED } kernel_space;

typedef struct kernel_mem {
  uint16_t space;  // kernel_space
  uint16_t index;  // of kernel->params, or of kernel->arrays (private and shared share the list)
} kernel_mem;

// TILE_FMA: acc[i][j] (m x nv vectors of `lanes` lanes) += sum over k < k_count of A(i, k) * B(k, j).
//   A(i, k): scalar at a_mem[a_base + i * a_stride_m + k * a_stride_k]
//   B(k, j): vector at b_mem[b_base + k * b_stride_k + j * lanes], consecutive elements
// Operands: a_base, b_base, k_count (index type), then m * nv accumulators row by row. k_unroll: steps per iteration
// (k_count is any).
typedef struct kernel_tile {
  kernel_mem a, b;
  int32_t m, nv, lanes;
  int64_t a_stride_m, a_stride_k, b_stride_k;
  int32_t k_unroll;
  bool k_multiple;  // k_count is known to be a multiple of k_unroll
} kernel_tile;

struct kernel_instr {
  kernel_op op;
  int32_t n_operands, n_results, n_blocks;
  kernel_value **operands;
  kernel_value *results;
  kernel_block **blocks;
  union {
    int64_t i;      // integer constants (bits), lanes, parameter numbers
    double f;       // float constants
    int32_t *list;  // shuffle: one entry a result lane
    kernel_tile *tile;
  } imm;
  kernel_mem mem;  // MEM class
  int32_t align;   // MEM: the address is known to be a multiple of this many ELEMENTS (power of two, at least 1)
  kernel_block *parent;
  kernel_instr *prev, *next;
};

struct kernel_block {
  kernel_value *args;
  int32_t n_args;
  kernel_instr *first, *last;  // last is the yield (not in the kernel's body)
  kernel_instr *parent;        // NULL: the body
};

typedef struct kernel_param {
  kernel_scalar elem;
  int64_t n_elems;  // size of the bound range, in elements
  int32_t align;    // bytes, of the address
  bool readonly;
  bool writeonly;
  bool noalias;  // no other parameter overlaps it (readonly ones may overlap each other)
} kernel_param;

typedef struct kernel_array {
  kernel_scalar elem;
  uint16_t lanes;      // vector elements of a shared or private array: loads and stores of that width are aligned
  kernel_space space;  // PRIVATE or SHARED
  int64_t n_elems;     // scalar elements
} kernel_array;

typedef struct kernel {
  arena *arena;
  strv name;
  kernel_param *params;
  int32_t n_params;
  VEC(kernel_array) arrays;
  int64_t grid;         // items; for group kernels a multiple of workgroup
  int32_t workgroup;    // 0: core kernel
  int32_t grain;        // core, CPU: items one thread should take at least at a time (cost hint), >= 1
  kernel_scalar index;  // I32 or I64: type of item, indices
  kernel_block *body;
  int32_t next_id;
} kernel;

// --- construction: hlo/kernel/builder.h; checking and text ---------------------------------------

// Structure, types, dominance, masks, limits: every failure, in the kernel's text. target may be NULL; otherwise also:
// class (group ops), types the target lacks, parameter count and ranges.
LEMNOS_NODISCARD lemnos_status kernel_verify(const kernel *k, const hlo_target *target);
void kernel_print(strbuf *out, const kernel *k);
uint64_t kernel_hash(const kernel *k);
bool kernel_equal(const kernel *a, const kernel *b);
kernel *kernel_clone(const kernel *k, arena *a);

// --- passes, run by kernel_legalize in this order ------------------------------------------------
void kernel_pass_expand_tiles(kernel *k, const hlo_target *t);
void kernel_pass_expand_math(kernel *k, const hlo_target *t);
// What the target lacks. UNIMPLEMENTED (with the reason) when it cannot be rewritten.
LEMNOS_NODISCARD lemnos_status kernel_pass_legalize(kernel *k, const hlo_target *t);
bool kernel_pass_simplify(kernel *k);  // folding, identities
bool kernel_pass_cse(kernel *k);
void kernel_pass_addresses(kernel *k, const hlo_target *t);  // one form of indices (GPUs)
bool kernel_pass_licm(kernel *k);                            // out of for loops
bool kernel_pass_dce(kernel *k);
// All of them to a kernel that code generators accept; verifies before and after in debug.
LEMNOS_NODISCARD lemnos_status kernel_finish(kernel *k, const hlo_target *t);

#endif
