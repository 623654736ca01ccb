// SPDX-License-Identifier: Apache-2.0
// Inside of the interpreter: bytecode records, run-time values, and what the op families share.
//
// A computation becomes an interp_code: a flat list of instruction records over registers. A register holds one array
// value (tuples are flattened into leaves while compiling; tuple and get-tuple-element cost nothing). Registers are
// assigned by liveness and reused. A value refers to a counted buffer, so that aliases (reshape, loop carries, call
// arguments) are free and an operand that dies with a count of one can be overwritten in place.
//
//   interp_program ── code (entry) ── insns[] ── fn, args[], results[], aux, subs[] ── interp_code (while body, ...)
//
// An op family has one compile function, which picks the handler and precomputes what depends on types and attributes,
// and its handlers, which take concrete dims from the values: static and dynamic shapes run the same code.
#ifndef INTERP_INTERNAL_H
#define INTERP_INTERNAL_H

#include "hlo/eval.h"
#include "interp/interp.h"

#define INTERP_LANES 512        // elements a region program handles at once
#define INTERP_BLOCK 4096       // elements per block of elementwise work with scalar operands
#define INTERP_GRAIN (1 << 15)  // elements of work below which no threads are used
#define INTERP_MAX_DEPTH 512    // of calls and loops within each other
#define INTERP_SMALL 64         // elements of elementwise work that the run loop does itself

typedef struct interp_buffer {
  void *data;
  size_t bytes;
  int32_t refs;
  bool owned;                  // data came from the heap and counts as live memory
  struct interp_buffer *next;  // in the free list
} interp_buffer;

typedef struct interp_value {
  interp_buffer *buf;  // NULL: token or empty register
  interp_array a;      // a.data == buf->data while buf is set
} interp_value;

typedef struct interp_type {
  hlo_dtype dtype;
  int32_t rank;
  bool is_static;
  const int64_t *dims;
  int64_t n;               // elements; static only
  const hlo_shape *shape;  // leaf shape (quantization, bounds)
} interp_type;

typedef struct interp_ctx interp_ctx;
typedef struct interp_insn interp_insn;
typedef struct interp_code interp_code;
typedef struct interp_compiler interp_compiler;

typedef struct interp_call {
  interp_ctx *cx;
  const interp_insn *in;
  interp_value *regs;
} interp_call;

typedef lemnos_status (*interp_fn)(interp_call *c);

#define INTERP_IN_PLACE_ANY (-2)  // in_place: whichever argument dies and has elements of the result's size

enum {
  INTERP_SELF_ALLOC = 1,  // the handler makes its results itself; else they are allocated before it runs
  INTERP_DYNAMIC = 2,     // some result has dims known at run time only
};

// An elementwise instruction of few elements, all of static shape: the run loop (vm.c) does it without calling fn.
typedef struct interp_small {
  hlo_eval_fn fn;
  hlo_eval_param param;
  int32_t n;          // elements of the result
  int32_t bytes[3];   // per element of the operands
  bool is_scalar[3];  // one element, to be spread
  bool any_scalar;
  bool fits[3];          // has elements of the result's size and as many: may be overwritten
  int32_t result_bytes;  // of the whole result, as buffers are sized
} interp_small;

struct interp_insn {
  const hlo_instr *src;
  interp_fn fn;
  const interp_small *small;  // or NULL
  uint32_t flags;
  int32_t n_args, n_results;
  const int32_t *args;     // registers of operand leaves
  const int32_t *results;  // registers of result leaves
  const interp_type *arg_types, *result_types;
  uint8_t *dies;      // per argument: released after this instruction
  int16_t *in_place;  // per result: argument whose buffer it may take over, -1: none
  int32_t n_release;  // results nobody reads
  int32_t *release;
  int32_t n_drops;  // registers to be emptied after it: arguments that die, then results nobody reads
  int32_t *drops;
  void *aux;  // the family's record
  const interp_code **subs;
  int32_t n_subs;
};

// How a code is run. What a loop runs again and again keeps its constants in registers of their own, which its frame
// sets once; and a condition only looks at its parameters, which stay with the loop.
typedef enum interp_code_use {
  INTERP_CODE_ONCE,
  INTERP_CODE_BODY,
  INTERP_CODE_CONDITION,
} interp_code_use;

struct interp_code {
  const hlo_computation *src;
  int32_t n_regs, n_params, n_results, n_insns;
  int32_t n_kept;  // the first instructions: constants that are kept
  const interp_type *param_types, *result_types;
  const int32_t *param_regs;  // -1: parameter leaf that nobody reads
  const int32_t *result_regs;
  const bool *result_shared;    // the register is a later result, too, or is kept
  const int32_t *result_param;  // the parameter leaf that the result is, -1: none
  interp_insn *insns;
};

struct interp_program {
  arena *arena;
  const hlo_module *module;
  const interp_code *entry;
  const interp_code **codes;  // all, callees first
  int32_t n_codes;
  bool meets;         // has operations by which devices meet or differ: collectives, channels, feeds
  bool keeps_probes;  // compares values with what a probe saw
};

struct interp_compiler {
  arena *a;
  const hlo_module *module;
  u64map codes;  // computation -> interp_code
  VEC(const interp_code *) list;
  int depth;
  bool meets, keeps_probes;  // as in the program
};

typedef struct interp_scratch_block {
  struct interp_scratch_block *next;
  size_t bytes;
} interp_scratch_block;

typedef struct interp_probe {
  strv id;
  interp_value value;
} interp_probe;

#define INTERP_SMALL_BUFFERS 16  // sizes of buffers that are looked up by size

// What all virtual devices of one run have in common. Only one of them runs at a time (grid.c), so that there are no
// locks, and values pass from one to another by reference.
typedef struct interp_shared {
  int64_t live_bytes, peak_bytes, cached_bytes;
  interp_buffer *small[INTERP_SMALL_BUFFERS];  // released buffers of (k + 1) * 64 bytes, newest first
  interp_buffer *cache;                        // larger ones, newest first
  interp_buffer *spare;                        // headers without data
  int64_t refused_bytes;                       // by interp_scratch, last
  bool unplaced;  // a failure is on its way that does not say yet which instruction it happened in
  bool keep_probes;
  int32_t n_devices;  // of all grids
  VEC(interp_probe) probes;
} interp_shared;

struct interp_ctx {
  const interp_run_options *options;  // never NULL
  thread_pool *pool;
  int n_threads;
  interp_shared *shared;
  struct interp_device *device;  // NULL only in the context that starts the devices
  interp_scratch_block *scratch;
  int depth;
  uint32_t ticks;
  bool counting;         // progress: instructions that run now count (no loop or region is around them)
  uint64_t drawn;        // 32-bit units that rng has drawn so far
  double inner_seconds;  // profile: time of nested instructions
};

// --- program.c: compiling ------------------------------------------------------------------------

LEMNOS_NODISCARD lemnos_status interp_compile_code(interp_compiler *c, const hlo_computation *comp, interp_code_use use,
                                                   const interp_code **out);
static inline LEMNOS_NODISCARD lemnos_status interp_compile_computation(interp_compiler *c, const hlo_computation *comp,
                                                                        const interp_code **out) {
  return interp_compile_code(c, comp, INTERP_CODE_ONCE, out);
}
// UNIMPLEMENTED naming the instruction and its location.
LEMNOS_NODISCARD lemnos_status interp_refuse(const hlo_instr *i, const char *format, ...) LEMNOS_PRINTF(2, 3);
// Puts location, operation and name of the instruction in front of an error at run time.
LEMNOS_NODISCARD lemnos_status interp_place(const hlo_instr *i, lemnos_status s);
// An error at run time, annotated with op name and location.
LEMNOS_NODISCARD lemnos_status interp_error(const interp_call *c, lemnos_status_code code, const char *format, ...)
    LEMNOS_PRINTF(3, 4);
void interp_insn_set_subs(interp_compiler *c, interp_insn *in, int n, const interp_code *const *subs);
interp_type interp_type_of(interp_compiler *c, const hlo_shape *leaf);

// Same element type and the same dims (HLO_DYNAMIC equals itself only).
bool interp_same_type(const interp_type *a, const interp_type *b);

// One per family; sets in->fn (and aux, subs, flags, in_place).
typedef lemnos_status (*interp_family_compile)(interp_compiler *c, interp_insn *in);
lemnos_status interp_compile_elementwise(interp_compiler *c, interp_insn *in);
lemnos_status interp_compile_move(interp_compiler *c, interp_insn *in);
bool interp_is_borrowed_constant(const interp_insn *in);  // its value is the module's, and costs nothing to keep
lemnos_status interp_compile_index(interp_compiler *c, interp_insn *in);
lemnos_status interp_compile_reduce(interp_compiler *c, interp_insn *in);
lemnos_status interp_compile_window(interp_compiler *c, interp_insn *in);
lemnos_status interp_compile_sort(interp_compiler *c, interp_insn *in);
lemnos_status interp_compile_dot(interp_compiler *c, interp_insn *in);
lemnos_status interp_compile_conv(interp_compiler *c, interp_insn *in);
lemnos_status interp_compile_fft(interp_compiler *c, interp_insn *in);
lemnos_status interp_compile_linalg(interp_compiler *c, interp_insn *in);
lemnos_status interp_compile_norm(interp_compiler *c, interp_insn *in);
lemnos_status interp_compile_rng(interp_compiler *c, interp_insn *in);
lemnos_status interp_compile_collective(interp_compiler *c, interp_insn *in);
lemnos_status interp_compile_quant(interp_compiler *c, interp_insn *in);
lemnos_status interp_compile_dynamic(interp_compiler *c, interp_insn *in);
lemnos_status interp_compile_check(interp_compiler *c, interp_insn *in);
lemnos_status interp_compile_custom(interp_compiler *c, interp_insn *in);
lemnos_status interp_compile_control(interp_compiler *c, interp_insn *in);
lemnos_status interp_compile_host(interp_compiler *c, interp_insn *in);
// check.c: to the embedder, if it listens: title, type, elements
void interp_print_value(const interp_call *c, strv title, const interp_array *a);
lemnos_status interp_run_call(interp_call *c);  // control.c: runs subs[0] on the arguments
// linalg.c: custom calls that JAX sends
lemnos_status interp_compile_qr(interp_compiler *c, interp_insn *in);
lemnos_status interp_run_qr(interp_call *c);
lemnos_status interp_run_householder(interp_call *c);
lemnos_status interp_run_eigh(interp_call *c);
lemnos_status interp_compile_lu_decomposition(interp_compiler *c, interp_insn *in);
lemnos_status interp_run_lu_decomposition(interp_call *c);
// parallel.c: custom calls of the interpreter dialect
lemnos_status interp_compile_run_parallel(interp_compiler *c, interp_insn *in);
lemnos_status interp_run_run_parallel(interp_call *c);
lemnos_status interp_compile_manual(interp_compiler *c, interp_insn *in);
lemnos_status interp_run_manual(interp_call *c);
lemnos_status interp_compile_probe(interp_compiler *c, interp_insn *in);
lemnos_status interp_run_probe(interp_call *c);
lemnos_status interp_compile_serialized_eq(interp_compiler *c, interp_insn *in);
lemnos_status interp_run_serialized_eq(interp_call *c);
// lapack.c: true if the target is one of JAX's lapack_*_ffi that is supported; then fn is set.
bool interp_lapack_is_known(strv target);
bool interp_compile_lapack(interp_compiler *c, interp_insn *in);
// quant.c: true if the instruction computes on quantized values and so must be wrapped; then compiles it.
bool interp_needs_quant_wrap(const interp_insn *in);
lemnos_status interp_compile_quant_wrap(interp_compiler *c, interp_insn *in);

// --- vm.c: running -------------------------------------------------------------------------------

static inline interp_array *interp_arg(const interp_call *c, int k) {
  return &c->regs[c->in->args[k]].a;
}
static inline interp_array *interp_result(const interp_call *c, int k) {
  return &c->regs[c->in->results[k]].a;
}
static inline interp_value *interp_arg_value(const interp_call *c, int k) {
  return &c->regs[c->in->args[k]];
}
static inline interp_value *interp_result_value(const interp_call *c, int k) {
  return &c->regs[c->in->results[k]];
}

int64_t interp_count(const interp_array *a);
static inline int64_t interp_bytes(const interp_array *a) {
  return interp_count(a) * hlo_dtype_bytes(a->dtype);
}
void interp_strides(const interp_array *a, int64_t *strides);  // row-major, in elements
static inline void interp_array_set_type(interp_array *a, hlo_dtype t, int rank, const int64_t *dims) {
  a->dtype = t;
  a->rank = rank;
  for (int d = 0; d < rank; d++) a->dims[d] = dims[d];
}

// A buffer for v->a's dims; v must be empty.
LEMNOS_NODISCARD lemnos_status interp_value_alloc(interp_ctx *cx, interp_value *v);
void interp_value_release(interp_ctx *cx, interp_value *v);
// `to` is empty; `from` keeps the buffer, too.
static inline void interp_value_share(interp_value *to, const interp_value *from) {
  interp_array_set_type(&to->a, from->a.dtype, from->a.rank, from->a.dims);
  to->a.data = from->a.data;
  to->buf = from->buf;
  if (to->buf) to->buf->refs++;
}
// `to` is empty; `from` becomes so.
static inline void interp_value_move(interp_value *to, interp_value *from) {
  interp_array_set_type(&to->a, from->a.dtype, from->a.rank, from->a.dims);
  to->a.data = from->a.data;
  to->buf = from->buf;
  from->buf = NULL;
  from->a.data = NULL;
}
// The argument's value for handing on: moved if it dies here (and is not needed by a later argument), else shared.
void interp_take_arg(const interp_call *c, int k, interp_value *to);
// Makes an empty register refer to memory that outlives the run and must not be written.
LEMNOS_NODISCARD lemnos_status interp_value_borrow(interp_ctx *cx, interp_value *v, const void *data);

// Zeroed only if asked; freed when the current instruction ends. NULL: out of memory.
void *interp_scratch(interp_ctx *cx, size_t bytes);
LEMNOS_NODISCARD lemnos_status interp_scratch_failed(const interp_call *c);

// Frames. Arguments are moved in (registers become empty), results moved out into empty values.
typedef struct interp_frame {
  const interp_code *code;
  interp_value *regs;
  bool has_kept;  // kept constants are in their registers
} interp_frame;
LEMNOS_NODISCARD lemnos_status interp_frame_init(interp_ctx *cx, interp_frame *f, const interp_code *code);
void interp_frame_deinit(interp_ctx *cx, interp_frame *f);
LEMNOS_NODISCARD lemnos_status interp_frame_run(interp_ctx *cx, interp_frame *f, interp_value *args,
                                                interp_value *results);
// For loops: runs the instructions on what is in the registers, and leaves the results there.
LEMNOS_NODISCARD lemnos_status interp_frame_step(interp_ctx *cx, interp_frame *f);
LEMNOS_NODISCARD lemnos_status interp_poll(interp_ctx *cx);  // deadline and cancel
// Every sixteenth time.
static inline LEMNOS_NODISCARD lemnos_status interp_poll_often(interp_ctx *cx) {
  return LEMNOS_UNLIKELY((++cx->ticks & 15) == 0) ? interp_poll(cx) : LEMNOS_SUCCESS;
}

// --- progress.c ----------------------------------------------------------------------------------

int64_t interp_progress_count(const interp_code *code);  // instructions, with those of calls
// Called as a loop starts: the progress to be kept if it is the outermost, else NULL. Clears cx->counting.
interp_progress *interp_progress_loop(interp_ctx *cx, const interp_insn *in, const interp_value *state);

// Parallel for: fn(ctx, begin, end, worker) over [0, n) in chunks of `grain`, serial if small or there is no pool.
// Chunks that run at the same time have different workers, numbers below interp_workers: what each needs for itself.
typedef void (*interp_range_fn)(void *ctx, int64_t begin, int64_t end, int worker);
void interp_parallel(interp_ctx *cx, int64_t n, int64_t grain, interp_range_fn fn, void *ctx);
int interp_workers(const interp_ctx *cx, int64_t n, int64_t grain);
// A block of `bytes` for each of n workers. NULL: no memory.
char **interp_worker_blocks(interp_ctx *cx, int n, size_t bytes);

// profile.c
interp_profile_row *interp_profile_row_of(interp_profile *p, const hlo_instr *i);

// --- move.c: strided copies ----------------------------------------------------------------------

// A copy of an n-dimensional box with dimensions coalesced. Strides in elements, any sign, source strides may be 0.
typedef struct interp_copy {
  int rank, element_bytes;
  int64_t dims[INTERP_MAX_RANK], out[INTERP_MAX_RANK], in[INTERP_MAX_RANK];
} interp_copy;
void interp_copy_plan(interp_copy *p, int element_bytes, int rank, const int64_t *dims, const int64_t *out_strides,
                      const int64_t *in_strides);
void interp_copy_run(const interp_copy *p, void *out, const void *in);  // serial
void interp_copy_run_parallel(interp_ctx *cx, const interp_copy *p, void *out, const void *in);
// One line of n elements; strides in elements.
void interp_copy_line(int64_t n, int element_bytes, void *out, int64_t out_stride, const void *in, int64_t in_stride);
void interp_fill(void *out, const void *element, int element_bytes, int64_t n);
// Slice of `in` at `start` (any stride sign is the caller's matter) of size dims, into dense out.
void interp_copy_box(interp_ctx *cx, const interp_array *in, const int64_t *start, const int64_t *dims, void *out);
// Data movement with concrete parameters, shared by the static and dynamic ops.
lemnos_status interp_move_broadcast(interp_call *c, const interp_array *in, interp_array *out, const int64_t *map);
lemnos_status interp_move_pad(interp_call *c, const interp_array *in, const interp_array *value, interp_array *out,
                              const int64_t *low, const int64_t *interior);
lemnos_status interp_move_slice(interp_call *c, const interp_array *in, interp_array *out, const int64_t *start,
                                const int64_t *stride);
lemnos_status interp_move_iota(interp_call *c, interp_array *out, int64_t dimension);
lemnos_status interp_alias_reshape(interp_call *c);  // result 0 = argument 0 with the result's dims

// --- index.c -------------------------------------------------------------------------------------

int64_t interp_index_get(const interp_array *a, int64_t i);  // integer element; u64 beyond int64 saturates
lemnos_status interp_gather_run(interp_call *c, const hlo_gather_dnums *d, const int64_t *slice_sizes);

// --- conversions ---------------------------------------------------------------------------------

typedef struct interp_cvt {
  hlo_eval_fn fn;  // NULL: same type, plain copy
  hlo_eval_param param;
  hlo_dtype from, to;
} interp_cvt;
bool interp_cvt_init(interp_cvt *v, hlo_dtype from, hlo_dtype to);
void interp_cvt_run(const interp_cvt *v, int64_t n, const void *in, void *out);

// --- region.c: computations over scalars, run over lanes -----------------------------------------

typedef struct interp_region interp_region;
LEMNOS_NODISCARD lemnos_status interp_region_compile(interp_compiler *c, const hlo_computation *comp,
                                                     interp_region **out);
// Parts of one block of scratch begin at multiples of 64 bytes.
static inline size_t interp_align(size_t bytes) {
  return (bytes + 63) & ~(size_t)63;
}
size_t interp_region_scratch(const interp_region *r, int64_t n);  // bytes a run of up to n elements needs
bool interp_region_is_lanes(const interp_region *r);  // false: only on the calling thread, one element at a time
// n <= INTERP_LANES elements of each parameter leaf; out[k] may be one of in[].
LEMNOS_NODISCARD lemnos_status interp_region_run(const interp_region *r, interp_ctx *cx, void *scratch, int64_t n,
                                                 const void *const *in, void *const *out);

// acc = body(acc, x) for `n` accumulators at once. Sums and products of more than INTERP_SHORT terms of f32 and
// narrower are kept in f64; shorter ones are computed in the type itself, step by step as the body reads.
#define INTERP_SHORT 16
typedef struct interp_fold {
  const struct interp_fold *kept_wide;  // the same fold with an f64 accumulator, or NULL
  int n;                                // operands
  const hlo_dtype *types;
  const hlo_dtype *acc_types;  // as kept
  const int32_t *room;         // bytes per element of a lane, of the operand and of what the region makes of it
  hlo_eval_fn fn;              // single binary op, or NULL: region
  hlo_eval_param param;
  hlo_op op;
  bool swapped, wide;
  interp_cvt widen, narrow;  // n == 1
  interp_region *region;
} interp_fold;
LEMNOS_NODISCARD lemnos_status interp_fold_compile(interp_compiler *c, const hlo_computation *body, int n,
                                                   const interp_type *types, interp_fold **out);
// The fold to use for `count` terms.
static inline const interp_fold *interp_fold_for(const interp_fold *f, int64_t count) {
  return f->kept_wide && count > INTERP_SHORT ? f->kept_wide : f;
}
size_t interp_fold_scratch(const interp_fold *f, int64_t n);  // for steps of up to n elements; a multiple of 64
LEMNOS_NODISCARD lemnos_status interp_fold_step(const interp_fold *f, interp_ctx *cx, void *scratch, int64_t n,
                                                const void *const *x, void *const *acc);
void interp_fold_widen(const interp_fold *f, int k, int64_t n, const void *in, void *acc);
void interp_fold_narrow(const interp_fold *f, int k, int64_t n, const void *acc, void *out);

// What an instruction over (inputs.., init values..) -> (results..) works on, per operand; false: no memory.
typedef struct interp_fold_arrays {
  const char **in, **init;
  char **out;
  int *bytes;
} interp_fold_arrays;
bool interp_fold_arrays_init(interp_call *c, const interp_fold *f, interp_fold_arrays *a);

// A worker's scratch: what interp_fold_step needs, and per operand n accumulators and n elements.
typedef struct interp_fold_lanes {
  char *fold;
  char **acc, **x;
  const void **at;  // the elements of a step, wherever they are
} interp_fold_lanes;
size_t interp_fold_lanes_bytes(const interp_fold *f, int64_t n);  // a multiple of 64
interp_fold_lanes interp_fold_lanes_at(const interp_fold *f, char *scratch, int64_t n);

// --- dot.c: the kernel that convolution shares ---------------------------------------------------

// How numbers are multiplied: f64 for floats, pairs of f64, or 64-bit wrapping integers. F32 and C64: the same, but
// rounded to f32 after every step, for f32 and c64 results of at most INTERP_SHORT terms, where there is nothing to
// gain from more and the specification's formula can be followed to the letter.
typedef enum interp_math {
  INTERP_MATH_F64,
  INTERP_MATH_C128,
  INTERP_MATH_INT,
  INTERP_MATH_F32,
  INTERP_MATH_C64
} interp_math;
interp_math interp_math_for(hlo_dtype lhs, hlo_dtype result, int64_t terms);
static inline int interp_math_bytes(interp_math m) {
  return m == INTERP_MATH_C128 || m == INTERP_MATH_C64 ? 16 : 8;
}
hlo_dtype interp_math_dtype(interp_math m);
#define INTERP_MR 4
#define INTERP_NR 16
// c[MR][NR] = sum over k (ascending) of a[k][MR] * b[k][NR]
void interp_dot_tile(interp_math m, int64_t k, const void *a, const void *b, void *c);

lemnos_status interp_run_ragged_dot(interp_call *c);  // ragged.c

// --- dynamic.c -----------------------------------------------------------------------------------

// Concrete dims of the results of an instruction from its arguments' values.
LEMNOS_NODISCARD lemnos_status interp_infer_dims(interp_call *c);

// Compiler-specific: a vector of eight f64.
typedef double interp_f64x8 __attribute__((vector_size(64)));

#endif
