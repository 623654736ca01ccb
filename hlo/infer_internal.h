// SPDX-License-Identifier: Apache-2.0
// Shape inference, inside: what the infer_<family>.c files and verify.c share.
//
// Every operation of ops.def has one function hlo_infer_<ENUM>(infer *), declared here from the table, so an operation
// without one does not link. It checks the operation's constraints, reports the first broken one with the label that
// StableHLO's specification gives it ("dot_general_c12"; "_iN" for the type of the N-th input), and returns the
// result's shape, or NULL after a report. The driver (infer.c) then compares and merges that shape with the declared
// one.
//
// Invariants inside these functions: operand and computation pointers are not NULL, their counts are those of ops.def,
// every shape has at most INFER_MAX_RANK dimensions, attributes are present and enumerations in range.
#ifndef HLO_INFER_INTERNAL_H
#define HLO_INFER_INTERNAL_H

#include "hlo/builder.h"
#include "hlo/hlo.h"

#define INFER_MAX_RANK 32

typedef struct infer {
  arena *arena;             // for message texts and scratch
  hlo_shape_table *shapes;  // result shapes are interned here
  const hlo_module *module;
  hlo_op op;
  int n;  // operands
  hlo_instr *const *in;
  int n_called;
  hlo_computation *const *called;
  const void *attrs;
  const hlo_shape *declared;  // NULL if not given
  const loc *loc;
  diag_sink *sink;
  strv name;                 // of the instruction, for messages; may be empty
  const char *result_label;  // constraint that a declared shape breaks when it differs from the inferred one
  const char *type_label;    // the same where only element types differ; NULL: result_label
  bool exact_layout;         // layouts of inferred and declared shape must agree
} infer;

// Dimension sizes under construction; sizes beyond INFER_MAX_RANK are counted, not stored.
typedef struct infer_dims {
  int64_t size[INFER_MAX_RANK], bound[INFER_MAX_RANK];
  int n;
} infer_dims;

typedef const hlo_shape *(*infer_fn)(infer *f);
#define OP(ENUM, stablehlo, text, min, max, called, traits, FAMILY, attrs, TYPES) \
  const hlo_shape *hlo_infer_##ENUM(infer *f);
#include "hlo/ops.def"
#undef OP
#define INFER(ENUM) const hlo_shape *hlo_infer_##ENUM(infer *f)
#define INFER_ATTRS(f, list) ((const hlo_attrs_##list *)(f)->attrs)

// Reports "<op>_<label>: text" at the instruction's location. Returns false.
bool infer_error(infer *f, const char *label, const char *format, ...) LEMNOS_PRINTF(3, 4);
// In a function returning bool or a pointer.
#define REQUIRE(f, cond, label, ...)          \
  do {                                        \
    if (LEMNOS_UNLIKELY(!(cond))) {           \
      infer_error((f), (label), __VA_ARGS__); \
      return 0;                               \
    }                                         \
  } while (0)
#define CHECK(x)        \
  do {                  \
    if (!(x)) return 0; \
  } while (0)

// The driver, with everything but `result` filled in. Also used by the verifier, with a shape table of its own.
bool infer_run(infer *f, const hlo_shape **out_shape);
// A shape that may stand anywhere: rank, sizes, bounds, total size, quantization parameters. Reports with `label`.
bool infer_check_shape(infer *f, const char *label, const hlo_shape *s);

// --- texts for messages (in f->arena) ---
const char *infer_text(infer *f, const hlo_shape *s);
const char *infer_text_type(infer *f, const hlo_shape *s);  // element type only
const char *infer_text_list(infer *f, hlo_i64s l);          // {1, 2}
const char *infer_text_dim(infer *f, int64_t size);         // "?" if dynamic
const char *infer_op_label(hlo_op op, char buffer[64]);     // "dot_general"

// --- operands ---
static inline const hlo_shape *infer_in(const infer *f, int i) {
  return f->in[i]->shape;
}
bool infer_array(infer *f, int i, const char *label);  // operand i is an array
bool infer_arrays(infer *f, int first, int n, const char *label);
bool infer_scalar(infer *f, int i, const char *label);  // of rank 0
bool infer_class(infer *f, int i, const char *type_class,
                 const char *label);  // array whose elements are of a TYPES class
bool infer_class_has(const char *type_class, hlo_dtype t);
bool infer_not_per_axis(infer *f, int i, const char *label);
bool infer_need_declared(infer *f);  // array or not, but given
bool infer_need_declared_array(infer *f);
bool infer_need_declared_bounded(infer *f);  // array whose sizes are static or bounded
// Values of an integer constant operand of rank 0 or 1; false if it is not one, or longer than max.
bool infer_constant(const infer *f, int i, int64_t *out, int max, int *out_n);

// --- types and sizes ---
static inline bool infer_is_dynamic(int64_t size) {
  return size == HLO_DYNAMIC;
}
static inline bool infer_size_ok(int64_t a, int64_t b) {
  return a == b || a == HLO_DYNAMIC || b == HLO_DYNAMIC;
}
static inline int64_t infer_bound(const hlo_shape *s, int i) {
  return s->bounds ? s->bounds[i] : HLO_DYNAMIC;
}
static inline bool infer_per_axis(const hlo_shape *s) {
  return s->quant && s->quant->axis >= 0;
}
static inline bool infer_per_tensor(const hlo_shape *s) {
  return s->quant && s->quant->axis < 0;
}
bool infer_same_type(const hlo_shape *a, const hlo_shape *b);   // element types, scales and zero points aside
bool infer_same_quant(const hlo_shape *a, const hlo_shape *b);  // scales and zero points too
bool infer_compatible_dims(const hlo_shape *a, const hlo_shape *b);
bool infer_compatible(const hlo_shape *a, const hlo_shape *b);  // dims and types, tuples element by element
bool infer_same_layout(const hlo_shape *a, const hlo_shape *b);
bool infer_promotable(const hlo_shape *from, const hlo_shape *to);  // is_promotable of the specification
bool infer_unique(hlo_i64s l);
bool infer_sorted(hlo_i64s l);
bool infer_in_range(hlo_i64s l, int64_t end);
// Sums and products that fit into 62 bits; false otherwise.
bool infer_add(int64_t a, int64_t b, int64_t *out);
bool infer_mul(int64_t a, int64_t b, int64_t *out);

// --- results ---
void infer_push(infer_dims *d, int64_t size, int64_t bound);
void infer_push_from(infer_dims *d, const hlo_shape *s, int i);
infer_dims infer_dims_of(const hlo_shape *s);
// An array of these sizes with the element type (and quantization) of `like`; row-major.
const hlo_shape *infer_make(infer *f, const infer_dims *d, const hlo_shape *like);
const hlo_shape *infer_make_dtype(infer *f, const infer_dims *d, hlo_dtype t);
// Most specific shape that both (compatible) shapes allow; element types of `a`.
const hlo_shape *infer_meet(infer *f, const hlo_shape *a, const hlo_shape *b);
// Least specific: a value of either shape has it.
const hlo_shape *infer_join(infer *f, const hlo_shape *a, const hlo_shape *b);
// The operand's shape with another element type, layout kept.
const hlo_shape *infer_retype(infer *f, const hlo_shape *s, hlo_dtype t);
const hlo_shape *infer_one_or_tuple(infer *f, int n, const hlo_shape *const *shapes);  // itself if n == 1
const hlo_shape *infer_empty_tuple(infer *f);

// --- shared by static and dynamic forms (whose labels are the same) ---
bool infer_broadcast(infer *f, hlo_i64s map);  // c1..c6 of [dynamic_]broadcast_in_dim, against f->declared
bool infer_reshape(infer *f);                  // c1..c3 of [dynamic_]reshape, against f->declared

// --- windows, reductions ---
// Checks one window dimension with labels for size, stride, base dilation, window dilation (NULL: must be 1), and
// computes how many positions it has in a dimension of `size`.
typedef struct infer_window_labels {
  const char *size, *stride, *base_dilation, *window_dilation, *result;
} infer_window_labels;
bool infer_window(infer *f, int i, const hlo_window_dim *w, int64_t size, const infer_window_labels *labels,
                  int64_t *out);
// Checks a reducer: 2n scalar parameters (E0.., E0..) and results (E0..), each promotable from inputs[i]; fills
// elements[i] with the scalar result shapes.
bool infer_reducer(infer *f, const hlo_computation *body, int n, const hlo_shape *const *inputs, const char *label,
                   const hlo_shape **elements);
// Result j of a computation: its root, or an element of its root's tuple. n results expected: 1 plain or n in a tuple.
int infer_result_count(const hlo_computation *c);
const hlo_shape *infer_result(const hlo_computation *c, int j, int n);
// Parameters of c have exactly the given operands' shapes (compatible, layouts aside).
bool infer_params_match(infer *f, const hlo_computation *c, int first_operand, int n, const char *label);

#endif
