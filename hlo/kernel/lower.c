// SPDX-License-Identifier: Apache-2.0
// From an HLO instruction to its schedule: one exhaustive table of operations, and the context they share.
//
// Every operation is in the switch below (the compiler names one that is missing): it has a schedule, needs no kernel,
// or runs on the host for the reason given.
#include "hlo/kernel/lower.h"

#include "hlo/kernel/emit.h"

typedef lemnos_status (*lower_fn)(emit_ctx *c);

typedef struct lowering {
  lower_fn fn;       // NULL: none needed, or host
  const char *host;  // why there is no kernel
} lowering;

#define KERNEL(fn)    \
  return (lowering) { \
    fn, NULL          \
  }
#define NOTHING       \
  return (lowering) { \
    NULL, NULL        \
  }
#define HOST(reason)  \
  return (lowering) { \
    NULL, reason      \
  }

static lower_fn hero_schedule(const hlo_instr *root);

static lowering lowering_of(const hlo_instr *i) {
  switch (i->op) {
    case HLO_OP_PARAMETER:
    case HLO_OP_CONSTANT:
    case HLO_OP_TUPLE:
    case HLO_OP_GET_TUPLE_ELEMENT:
    case HLO_OP_BITCAST:
    case HLO_OP_OPTIMIZATION_BARRIER:
    case HLO_OP_AFTER_ALL:
    case HLO_OP_CREATE_TOKEN: NOTHING;
    case HLO_OP_FUSION: KERNEL(hero_schedule(i->called[0]->root));
    case HLO_OP_COPY:
    case HLO_OP_TRANSPOSE: KERNEL(schedule_transpose);
    case HLO_OP_IOTA:
    case HLO_OP_BROADCAST_IN_DIM:
    case HLO_OP_CONCATENATE:
    case HLO_OP_PAD:
    case HLO_OP_RESHAPE:
    case HLO_OP_REVERSE:
    case HLO_OP_SLICE:
    case HLO_OP_DYNAMIC_SLICE:
    case HLO_OP_GATHER:
    case HLO_OP_MAP:
    case HLO_OP_TORCH_INDEX_SELECT:
    case HLO_OP_BITCAST_CONVERT: KERNEL(schedule_elementwise);
    case HLO_OP_DYNAMIC_UPDATE_SLICE: KERNEL(schedule_dus);
    case HLO_OP_SCATTER: KERNEL(schedule_scatter);
    case HLO_OP_REDUCE: KERNEL(schedule_reduce);
    case HLO_OP_REDUCE_WINDOW:
    case HLO_OP_SELECT_AND_SCATTER: KERNEL(schedule_window);
    case HLO_OP_SORT: KERNEL(schedule_sort);
    case HLO_OP_DOT_GENERAL: KERNEL(schedule_dot);
    case HLO_OP_CONVOLUTION: KERNEL(schedule_conv);
    case HLO_OP_ABS:
    case HLO_OP_CBRT:
    case HLO_OP_CEIL:
    case HLO_OP_COUNT_LEADING_ZEROS:
    case HLO_OP_COSINE:
    case HLO_OP_EXPONENTIAL:
    case HLO_OP_EXPONENTIAL_MINUS_ONE:
    case HLO_OP_FLOOR:
    case HLO_OP_IMAG:
    case HLO_OP_IS_FINITE:
    case HLO_OP_LOG:
    case HLO_OP_LOG_PLUS_ONE:
    case HLO_OP_LOGISTIC:
    case HLO_OP_NEGATE:
    case HLO_OP_NOT:
    case HLO_OP_POPCNT:
    case HLO_OP_REAL:
    case HLO_OP_ROUND_NEAREST_AFZ:
    case HLO_OP_ROUND_NEAREST_EVEN:
    case HLO_OP_RSQRT:
    case HLO_OP_SIGN:
    case HLO_OP_SINE:
    case HLO_OP_SQRT:
    case HLO_OP_TAN:
    case HLO_OP_TANH:
    case HLO_OP_REDUCE_PRECISION:
    case HLO_OP_CONVERT:
    case HLO_OP_ADD:
    case HLO_OP_ATAN2:
    case HLO_OP_COMPLEX:
    case HLO_OP_DIVIDE:
    case HLO_OP_MAXIMUM:
    case HLO_OP_MINIMUM:
    case HLO_OP_MULTIPLY:
    case HLO_OP_POWER:
    case HLO_OP_REMAINDER:
    case HLO_OP_SHIFT_LEFT:
    case HLO_OP_SHIFT_RIGHT_ARITHMETIC:
    case HLO_OP_SHIFT_RIGHT_LOGICAL:
    case HLO_OP_SUBTRACT:
    case HLO_OP_AND:
    case HLO_OP_OR:
    case HLO_OP_XOR:
    case HLO_OP_COMPARE:
    case HLO_OP_CLAMP:
    case HLO_OP_SELECT:
    case HLO_OP_ACOS:
    case HLO_OP_ACOSH:
    case HLO_OP_ASIN:
    case HLO_OP_ASINH:
    case HLO_OP_ATAN:
    case HLO_OP_ATANH:
    case HLO_OP_CONJ:
    case HLO_OP_COSH:
    case HLO_OP_ERF:
    case HLO_OP_ERFC:
    case HLO_OP_IS_INF:
    case HLO_OP_IS_NEG_INF:
    case HLO_OP_IS_POS_INF:
    case HLO_OP_MULHI:
    case HLO_OP_NEXT_AFTER:
    case HLO_OP_SINH:
    case HLO_OP_SQUARE: KERNEL(schedule_elementwise);
    case HLO_OP_ASIN_ACOS_KERNEL:
    case HLO_OP_BESSEL_I1E:
    case HLO_OP_DIGAMMA:
    case HLO_OP_ERF_INV:
    case HLO_OP_LGAMMA:
    case HLO_OP_POLYGAMMA:
    case HLO_OP_ZETA: HOST("this special function has no kernel form");
    case HLO_OP_UNIFORM_QUANTIZE:
    case HLO_OP_UNIFORM_DEQUANTIZE: HOST("quantized types have no kernel form");
    case HLO_OP_FFT:
    case HLO_OP_CHOLESKY:
    case HLO_OP_TRIANGULAR_SOLVE: HOST("linear algebra runs on the host until it is expanded");
    case HLO_OP_EINSUM:
    case HLO_OP_UNARY_EINSUM:
    case HLO_OP_RAGGED_DOT:
    case HLO_OP_TOP_K:
    case HLO_OP_SCAN:
    case HLO_OP_BATCH_NORM_GRAD:
    case HLO_OP_BATCH_NORM_INFERENCE:
    case HLO_OP_BATCH_NORM_TRAINING:
    case HLO_OP_COMPOSITE: HOST("a composed operation that was not expanded");
    case HLO_OP_RNG:
    case HLO_OP_RNG_BIT_GENERATOR: HOST("random numbers run on the host until they are expanded");
    case HLO_OP_WHILE:
    case HLO_OP_CONDITIONAL:
    case HLO_OP_CALL: HOST("control flow is the plan's");
    case HLO_OP_CUSTOM_CALL:
      if (i->attrs && strv_eq_cstr(HLO_ATTRS(i, custom_call)->target, "sdy.manual_computation"))
        HOST("a manual computation runs on virtual devices of the interpreter");
      HOST("a custom call");
    case HLO_OP_GET_DIMENSION_SIZE:
    case HLO_OP_SET_DIMENSION_SIZE:
    case HLO_OP_DYNAMIC_BROADCAST_IN_DIM:
    case HLO_OP_DYNAMIC_CONV:
    case HLO_OP_DYNAMIC_GATHER:
    case HLO_OP_DYNAMIC_IOTA:
    case HLO_OP_DYNAMIC_PAD:
    case HLO_OP_DYNAMIC_RESHAPE:
    case HLO_OP_REAL_DYNAMIC_SLICE: HOST("dynamic shapes run on the host");
    case HLO_OP_INFEED:
    case HLO_OP_OUTFEED:
    case HLO_OP_SEND:
    case HLO_OP_RECV: HOST("host transfers run on the host");
    case HLO_OP_ALL_GATHER:
    case HLO_OP_ALL_REDUCE:
    case HLO_OP_ALL_TO_ALL:
    case HLO_OP_COLLECTIVE_BROADCAST:
    case HLO_OP_COLLECTIVE_PERMUTE:
    case HLO_OP_COLLECTIVE_REDUCE:
    case HLO_OP_REDUCE_SCATTER:
    case HLO_OP_PARTITION_ID:
    case HLO_OP_REPLICA_ID:
    case HLO_OP_ASYNC_START:
    case HLO_OP_ASYNC_DONE: HOST("collectives run on the host");
    case HLO_OP_CHECK_EXPECT_EQ:
    case HLO_OP_CHECK_EXPECT_EQ_CONST:
    case HLO_OP_CHECK_EXPECT_ALMOST_EQ:
    case HLO_OP_CHECK_EXPECT_ALMOST_EQ_CONST:
    case HLO_OP_CHECK_EXPECT_CLOSE:
    case HLO_OP_CHECK_EQ:
    case HLO_OP_PRINT: HOST("checks and prints run on the host");
    case HLO_OP_COUNT: break;
  }
  HOST("unknown operation");
}

// The schedule of a fusion follows its hero: the one op in it that is more than elementwise.
static lower_fn hero_schedule(const hlo_instr *root) {
  switch (root->op) {
    case HLO_OP_SCATTER: return schedule_scatter;
    case HLO_OP_DYNAMIC_UPDATE_SLICE: return schedule_dus;
    case HLO_OP_SORT: return schedule_sort;
    case HLO_OP_SELECT_AND_SCATTER: return schedule_window;
    default: break;
  }
  HLO_FOR_EACH (i, root->parent) {
    if (i->op == HLO_OP_DOT_GENERAL) return schedule_dot;
    if (i->op == HLO_OP_CONVOLUTION) return schedule_conv;
  }
  HLO_FOR_EACH (i, root->parent)
    if (i->op == HLO_OP_REDUCE) return schedule_reduce;
  return root->op == HLO_OP_TRANSPOSE ? schedule_transpose : schedule_elementwise;
}

const char *kernel_lower_host_reason(hlo_op op) {
  if (op == HLO_OP_FUSION) return NULL;
  return lowering_of(&(hlo_instr){.op = op}).host;
}

static lemnos_status check_shape(const hlo_instr *i, const hlo_shape *s) {
  for (int l = 0; l < hlo_shape_leaves(s); l++) {
    const hlo_shape *leaf = hlo_shape_leaf(s, l);
    if (!hlo_shape_is_static(leaf))
      return lemnos_status_make(LEMNOS_UNIMPLEMENTED, STRV_FMT ": dynamic shapes run on the host", STRV_ARG(i->name));
    if (leaf->quant)
      return lemnos_status_make(LEMNOS_UNIMPLEMENTED, STRV_FMT ": quantized types have no kernel form",
                                STRV_ARG(i->name));
    if (hlo_shape_is_array(leaf) && leaf->rank > 48)
      return lemnos_status_make(LEMNOS_UNIMPLEMENTED, STRV_FMT ": rank %d", STRV_ARG(i->name), leaf->rank);
  }
  return LEMNOS_SUCCESS;
}

static void note_operand(emit_ctx *c, const hlo_instr *i, int first) {
  uint64_t there;
  if (!u64map_get(&c->operand_leaves, (uint64_t)(uintptr_t)i, &there))
    u64map_put(c->a, &c->operand_leaves, (uint64_t)(uintptr_t)i, (uint64_t)first + 1);
}

// Buffers of leaves: a fusion's parameters stand for its operands; equal operands for the first of them.
static lemnos_status note_operands(emit_ctx *c) {
  const hlo_instr *i = c->instr;
  int first = 0;
  for (int o = 0; o < i->n_operands; o++) {
    LEMNOS_TRY(check_shape(i, i->operands[o]->shape));
    int same = 0, same_first = 0;
    while (same < o && i->operands[same] != i->operands[o]) same_first += hlo_shape_leaves(i->operands[same++]->shape);
    note_operand(c, c->fused ? c->fused->params[o] : i->operands[o], same < o ? same_first : first);
    first += hlo_shape_leaves(i->operands[o]->shape);
  }
  return LEMNOS_SUCCESS;
}

lemnos_status kernel_lower(arena *a, const hlo_target *t, const hlo_instr *i, const kernel_lower_options *options,
                           kernel_lowering *out) {
  *out = (kernel_lowering){0};
  lowering l = lowering_of(i);
  if (l.host) return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "%s: %s", hlo_op_table[i->op].text_name, l.host);
  if (!l.fn) return LEMNOS_SUCCESS;
  LEMNOS_TRY(check_shape(i, i->shape));
  emit_ctx c = {.a = a, .t = t, .instr = i, .options = options, .out = out};
  if (i->op == HLO_OP_FUSION) c.fused = i->called[0];
  LEMNOS_TRY(note_operands(&c));
  if (emit_index_type(&c) == KERNEL_I64 && !t->i64)
    return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "%s: more than 2^31 elements on a device without 64-bit integers",
                              hlo_op_table[i->op].text_name);
  c.scope = &c.root_scope;
  lemnos_status status = l.fn(&c);
  if (status) *out = (kernel_lowering){0};
  return lemnos_status_annotate(status, STRV_FMT, STRV_ARG(i->name));
}

bool kernel_can_fuse_elementwise(const hlo_target *t, const hlo_instr *i) {
  if (!hlo_shape_is_array(i->shape) || !hlo_shape_is_static(i->shape) || i->shape->quant) return false;
  switch (i->op) {
    case HLO_OP_IOTA:
    case HLO_OP_BROADCAST_IN_DIM:
    case HLO_OP_CONCATENATE:
    case HLO_OP_PAD:
    case HLO_OP_RESHAPE:
    case HLO_OP_REVERSE:
    case HLO_OP_SLICE:
    case HLO_OP_DYNAMIC_SLICE:
    case HLO_OP_GATHER:
    case HLO_OP_TRANSPOSE:
    case HLO_OP_BITCAST:
    case HLO_OP_COPY:
    case HLO_OP_CONSTANT:
    case HLO_OP_BITCAST_CONVERT:
    case HLO_OP_TORCH_INDEX_SELECT: return true;
    default: return hlo_op_has(i->op, HLO_TRAIT_E) && emit_elementwise_refusal(i) == NULL;
  }
}
