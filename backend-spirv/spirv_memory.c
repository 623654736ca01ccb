// SPDX-License-Identifier: Apache-2.0
// Loads, stores and atomics.
//
// A bound parameter is seen through one variable for each width it is accessed by (1, 2, 4 lanes), all of the same
// binding and declared Aliased; an addressed one through pointers cast from the pushed pointer. Drivers make wide loads
// of accesses whose type is wide, so an access of N lanes known to be aligned to N elements goes through the view of N
// lanes; others go lane by lane.
// Arrays are variables of vectors of kernel_array.lanes elements; their components can be addressed one by one.
//
// Masks: a masked-off lane loads element 0 instead, which always exists, and selects 0 afterwards; a store of it is
// branched over.
#include "backend-spirv/spirv_emit_internal.h"

static int log2_of(int x) {
  int n = 0;
  while ((1 << n) < x) n++;
  return n;
}

static kernel_scalar mem_scalar(const spirv_emitter *e, kernel_mem m) {
  return m.space == KERNEL_PARAM ? e->k->params[m.index].elem : e->k->arrays.data[m.index].elem;
}

// --- views of parameters -------------------------------------------------------------------------

static spirv_id view_elem(spirv_emitter *e, kernel_scalar s, int lanes) {
  if (s == KERNEL_I1) spirv_emit_fail(e, "no SPIR-V for i1 in memory");
  return spirv_type_vector(&e->w, spirv_emit_scalar_type(e, s), lanes);
}

static void storage_capability(spirv_emitter *e, int bytes) {
  if (bytes == 1) {
    spirv_writer_capability(&e->w, SpvCapabilityStorageBuffer8BitAccess);
    spirv_writer_extension(&e->w, "SPV_KHR_8bit_storage");
  } else if (bytes == 2) {
    spirv_writer_capability(&e->w, SpvCapabilityStorageBuffer16BitAccess);
  }
}

static spirv_id bound_view(spirv_emitter *e, int p, int lanes) {
  const kernel_param *q = &e->k->params[p];
  int bytes = kernel_scalar_table[q->elem].bytes;
  storage_capability(e, bytes);
  spirv_id type = spirv_type_buffer(&e->w, view_elem(e, q->elem, lanes), (uint32_t)(bytes * lanes));
  spirv_id v = spirv_variable(&e->w, SpvStorageClassStorageBuffer, type);
  uint32_t set = 0, binding = (uint32_t)e->info->params[p].binding;
  spirv_writer_decorate(&e->w, v, SpvDecorationDescriptorSet, 1, &set);
  spirv_writer_decorate(&e->w, v, SpvDecorationBinding, 1, &binding);
  spirv_writer_decorate(&e->w, v, SpvDecorationAliased, 0, NULL);
  if (q->readonly) spirv_writer_decorate(&e->w, v, SpvDecorationNonWritable, 0, NULL);
  return v;
}

static spirv_id push_pointer(spirv_emitter *e, int p, spirv_id member_type) {
  spirv_id type = spirv_type_pointer(&e->w, SpvStorageClassPushConstant, member_type);
  uint32_t chain[] = {e->push, e->push_members[p]};
  return spirv_op(&e->w, SpvOpAccessChain, type, 2, chain);
}

// The pushed pointer is loaded where it is used: its block need not dominate the next use.
static spirv_id addressed_view(spirv_emitter *e, int p, int lanes) {
  const kernel_param *q = &e->k->params[p];
  int bytes = kernel_scalar_table[q->elem].bytes;
  storage_capability(e, bytes);
  uint32_t chain = push_pointer(e, p, e->push_types[p]);
  spirv_id pointer = spirv_op(&e->w, SpvOpLoad, e->push_types[p], 1, &chain);
  if (lanes == 1) return pointer;
  spirv_id type = spirv_type_buffer(&e->w, view_elem(e, q->elem, lanes), (uint32_t)(bytes * lanes));
  return spirv_op(&e->w, SpvOpBitcast, spirv_type_pointer(&e->w, SpvStorageClassPhysicalStorageBuffer, type), 1,
                  &pointer);
}

static spirv_id param_view(spirv_emitter *e, int p, int lanes) {
  if (e->info->params[p].addressed) return addressed_view(e, p, lanes);
  spirv_id *view = &e->params[p].views[log2_of(lanes)];
  if (!*view) *view = bound_view(e, p, lanes);
  return *view;
}

// --- pointers ------------------------------------------------------------------------------------

typedef struct place {
  spirv_id pointer;
  spirv_id type;     // of the element pointed to
  uint32_t aligned;  // bytes, for physical storage; 0: not said
} place;

// The quotient of v's expression, found by dividing its terms: `(x * 64 + iv + 8) / 4` is `x * 16 + iv / 4 + 2`.
// Indices do not overflow (lowering proves that they fit their type), so the division distributes over sums.
static spirv_id divide_terms(spirv_emitter *e, const kernel_value *v, int log2) {
  const kernel_instr *i = v->def;
  kernel_type t = v->type;
  int64_t n = (int64_t)1 << log2;
  if (!i || t.lanes > 1) return 0;
  if (i->op == KERNEL_OP_CONST) return i->imm.i % n ? 0 : spirv_emit_int(e, t, i->imm.i / n);
  const kernel_instr *right = i->n_operands == 2 ? i->operands[1]->def : NULL;
  int64_t c = right && right->op == KERNEL_OP_CONST ? right->imm.i : 0;
  switch (i->op) {
    case KERNEL_OP_MUL:
      if (c && c % n == 0)
        return c == n ? spirv_value(e, i->operands[0])
                      : spirv_u2(e, SpvOpIMul, t, spirv_value(e, i->operands[0]), spirv_emit_int(e, t, c / n));
      for (int o = 0; o < 2; o++) {
        spirv_id q = spirv_quotient(e, i->operands[o], log2);
        if (q) return spirv_u2(e, SpvOpIMul, t, q, spirv_value(e, i->operands[1 - o]));
      }
      return 0;
    case KERNEL_OP_SHL:
      if (c < log2) return 0;
      return c == log2 ? spirv_value(e, i->operands[0])
                       : spirv_u2(e, SpvOpShiftLeftLogical, t, spirv_value(e, i->operands[0]),
                                  spirv_emit_int(e, t, c - log2));
    case KERNEL_OP_ADD:
    case KERNEL_OP_SUB: {
      spirv_id a = spirv_quotient(e, i->operands[0], log2), b = a ? spirv_quotient(e, i->operands[1], log2) : 0;
      return b ? spirv_u2(e, i->op == KERNEL_OP_ADD ? SpvOpIAdd : SpvOpISub, t, a, b) : 0;
    }
    default: return 0;
  }
}

spirv_id spirv_quotient(spirv_emitter *e, const kernel_value *v, int log2) {
  spirv_id *known = &e->quotients[log2 - 1][v->id];
  if (!*known && (*known = divide_terms(e, v, log2))) vec_push(NULL, &e->quotient_log, known);
  return *known;
}

static spirv_id shifted(spirv_emitter *e, kernel_type t, spirv_id index, int lanes) {
  if (lanes == 1) return index;
  return spirv_u2(e, SpvOpShiftRightLogical, t, index, spirv_emit_int(e, t, log2_of(lanes)));
}

// An index in elements, and the value and lane it comes from if it is that value plus the lane (for exact division).
typedef struct where {
  kernel_type t;  // scalar
  spirv_id index;
  const kernel_value *value;  // NULL: none
  int lane;
} where;

// The index in units of `lanes` elements, of which it is a multiple.
static spirv_id unit_index(spirv_emitter *e, const where *w, int lanes) {
  if (lanes == 1) return w->index;
  int log2 = log2_of(lanes);
  spirv_id q = w->value && w->lane % lanes == 0 ? spirv_quotient(e, w->value, log2) : 0;
  if (!q) return shifted(e, w->t, w->index, lanes);
  return w->lane ? spirv_u2(e, SpvOpIAdd, w->t, q, spirv_emit_int(e, w->t, w->lane / lanes)) : q;
}

static place param_place(spirv_emitter *e, int p, where w, int lanes) {
  const kernel_param *q = &e->k->params[p];
  bool addressed = e->info->params[p].addressed;
  if (e->params[p].offset) {
    spirv_id offset = e->params[p].offset;
    if (w.t.scalar != e->k->index)
      offset = spirv_u1(e, w.t.scalar == KERNEL_I64 ? SpvOpUConvert : SpvOpSConvert, w.t, offset);
    w.index = spirv_u2(e, SpvOpIAdd, w.t, w.index, offset);
    w.value = NULL;
  }
  place r = {.type = view_elem(e, q->elem, lanes)};
  SpvStorageClass c = addressed ? SpvStorageClassPhysicalStorageBuffer : SpvStorageClassStorageBuffer;
  if (addressed) r.aligned = (uint32_t)(kernel_scalar_table[q->elem].bytes * lanes);
  uint32_t chain[] = {param_view(e, p, lanes), spirv_const_u32(&e->w, 0), unit_index(e, &w, lanes)};
  r.pointer = spirv_op(&e->w, SpvOpAccessChain, spirv_type_pointer(&e->w, c, r.type), 3, chain);
  return r;
}

// Is v vector * lanes + component, as the pass `addresses` writes indices of single elements of vectors?
static bool split_index(const kernel_value *v, int lanes, const kernel_value **unit, const kernel_value **component) {
  const kernel_instr *sum = v->def;
  if (!sum || sum->op != KERNEL_OP_ADD) return false;
  const kernel_instr *mul = sum->operands[0]->def, *low = sum->operands[1]->def;
  if (!mul || !low || mul->op != KERNEL_OP_MUL || low->op != KERNEL_OP_AND) return false;
  const kernel_instr *factor = mul->operands[1]->def, *mask = low->operands[1]->def;
  if (!factor || factor->op != KERNEL_OP_CONST || factor->imm.i != lanes) return false;
  if (!mask || mask->op != KERNEL_OP_CONST || mask->imm.i != lanes - 1) return false;
  *unit = mul->operands[0], *component = sum->operands[1];
  return true;
}

static place array_place(spirv_emitter *e, int a, where w, int lanes) {
  const kernel_array *q = &e->k->arrays.data[a];
  SpvStorageClass c = q->space == KERNEL_SHARED ? SpvStorageClassWorkgroup : SpvStorageClassFunction;
  place r = {.type = view_elem(e, q->elem, lanes)};
  uint32_t chain[3] = {e->arrays[a]};
  int n = 2;
  const kernel_value *unit, *component;
  if (q->lanes > lanes && w.value && w.lane == 0 && split_index(w.value, q->lanes, &unit, &component)) {
    chain[1] = spirv_value(e, unit);
    chain[n++] = spirv_value(e, component);
  } else if (q->lanes > lanes) {  // one component of a vector
    chain[1] = shifted(e, w.t, w.index, q->lanes);
    chain[n++] = spirv_u2(e, SpvOpBitwiseAnd, w.t, w.index, spirv_emit_int(e, w.t, q->lanes - 1));
  } else {
    chain[1] = unit_index(e, &w, lanes);
  }
  r.pointer = spirv_op(&e->w, SpvOpAccessChain, spirv_type_pointer(&e->w, c, r.type), n, chain);
  return r;
}

static place place_of(spirv_emitter *e, kernel_mem m, where w, int lanes) {
  return m.space == KERNEL_PARAM ? param_place(e, m.index, w, lanes) : array_place(e, m.index, w, lanes);
}

static spirv_id load_place(spirv_emitter *e, place p) {
  uint32_t words[] = {p.pointer, SpvMemoryAccessAlignedMask, p.aligned};
  return spirv_op(&e->w, SpvOpLoad, p.type, p.aligned ? 3 : 1, words);
}

static void store_place(spirv_emitter *e, place p, spirv_id value) {
  uint32_t words[] = {p.pointer, value, SpvMemoryAccessAlignedMask, p.aligned};
  spirv_op_void(&e->w, SpvOpStore, p.aligned ? 4 : 2, words);
}

// Widest access that mem, alignment and lanes allow for consecutive elements.
static int access_lanes(const spirv_emitter *e, const kernel_instr *i, int lanes) {
  int n = lanes > 4 ? 4 : lanes;
  while (n > i->align) n /= 2;
  if (i->mem.space != KERNEL_PARAM)
    return n >= e->k->arrays.data[i->mem.index].lanes && n > 1 ? e->k->arrays.data[i->mem.index].lanes : 1;
  // Views of n lanes start at the binding's address: it has to be aligned to n elements, too.
  if (e->info->params[i->mem.index].addressed && e->caps->no_pointer_casts) return 1;
  int bytes = kernel_scalar_table[e->k->params[i->mem.index].elem].bytes;
  int base = e->info->params[i->mem.index].addressed ? e->k->params[i->mem.index].align : 16;
  while (n > 1 && base % (n * bytes)) n /= 2;
  return n;
}

// --- handlers ------------------------------------------------------------------------------------

static kernel_type scalar_type(kernel_scalar s) {
  return kernel_type_make(s, 1);
}

static where index_of_lane(spirv_emitter *e, const kernel_value *index, int lane) {
  kernel_type t = index->type;
  where w = {.t = spirv_scalar_of(t), .index = spirv_value(e, index)};
  if (t.lanes > 1) {
    w.index = spirv_extract(e, t, w.index, lane);
    return w;
  }
  w.value = index, w.lane = lane;
  if (lane) w.index = spirv_u2(e, SpvOpIAdd, t, w.index, spirv_emit_int(e, t, lane));
  return w;
}

static spirv_id load_lane(spirv_emitter *e, const kernel_instr *i, int lane) {
  kernel_type elem = scalar_type(mem_scalar(e, i->mem));
  where at = index_of_lane(e, i->operands[0], lane);
  if (i->n_operands == 1) return load_place(e, place_of(e, i->mem, at, 1));
  spirv_id on = spirv_extract(e, i->operands[1]->type, spirv_value(e, i->operands[1]), lane);
  at.index = spirv_select(e, at.t, on, at.index, spirv_emit_int(e, at.t, 0));
  at.value = NULL;
  spirv_id v = load_place(e, place_of(e, i->mem, at, 1));
  return spirv_select(e, elem, on, v, spirv_is_float(elem) ? spirv_emit_float(e, elem, 0) : spirv_emit_int(e, elem, 0));
}

void spirv_emit_load(spirv_emitter *e, const kernel_instr *i) {
  kernel_type type = i->results[0].type, t = i->operands[0]->type;
  spirv_id parts[16];
  if (type.lanes > 16) return spirv_emit_fail(e, "no SPIR-V for a load of %d lanes", type.lanes);
  int n = t.lanes == 1 && i->n_operands == 1 ? access_lanes(e, i, type.lanes) : 1;
  if (n == 1) {
    for (int l = 0; l < type.lanes; l++) parts[l] = load_lane(e, i, l);
    return spirv_define(e, &i->results[0], spirv_gather(e, type, parts));
  }
  kernel_type chunk = kernel_type_make((kernel_scalar)type.scalar, n);
  for (int l = 0; l < type.lanes; l += n) {
    spirv_id v = load_place(e, place_of(e, i->mem, index_of_lane(e, i->operands[0], l), n));
    if (n == type.lanes) return spirv_define(e, &i->results[0], v);
    for (int c = 0; c < n; c++) parts[l + c] = spirv_extract(e, chunk, v, c);
  }
  spirv_define(e, &i->results[0], spirv_gather(e, type, parts));
}

static void store_lane(spirv_emitter *e, const kernel_instr *i, int lane) {
  const kernel_value *value = i->operands[1];
  spirv_id v = spirv_extract(e, value->type, spirv_value(e, value), lane);
  if (i->n_operands == 2) return store_place(e, place_of(e, i->mem, index_of_lane(e, i->operands[0], lane), 1), v);
  spirv_id on = spirv_extract(e, i->operands[2]->type, spirv_value(e, i->operands[2]), lane);
  spirv_id inside = spirv_writer_id(&e->w), merge = spirv_writer_id(&e->w);
  uint32_t words[] = {merge, SpvSelectionControlMaskNone};
  where at = index_of_lane(e, i->operands[0], lane);
  spirv_op_void(&e->w, SpvOpSelectionMerge, 2, words);
  spirv_branch_if(e, on, inside, merge);
  spirv_begin_block(e, inside);
  store_place(e, place_of(e, i->mem, at, 1), v);
  spirv_branch(e, merge);
  spirv_begin_block(e, merge);
}

void spirv_emit_store(spirv_emitter *e, const kernel_instr *i) {
  const kernel_value *value = i->operands[1];
  kernel_type type = value->type, t = i->operands[0]->type;
  int n = t.lanes == 1 && i->n_operands == 2 ? access_lanes(e, i, type.lanes) : 1;
  if (n == 1) {
    for (int l = 0; l < type.lanes; l++) store_lane(e, i, l);
    return;
  }
  kernel_type chunk = kernel_type_make((kernel_scalar)type.scalar, n);
  for (int l = 0; l < type.lanes; l += n) {
    spirv_id parts[4], v = spirv_value(e, value);
    if (n < type.lanes) {
      for (int c = 0; c < n; c++) parts[c] = spirv_extract(e, type, v, l + c);
      v = spirv_gather(e, chunk, parts);
    }
    store_place(e, place_of(e, i->mem, index_of_lane(e, i->operands[0], l), n), v);
  }
}

void spirv_emit_atomic(spirv_emitter *e, const kernel_instr *i) {
  kernel_type type = i->results[0].type;
  bool shared = i->mem.space == KERNEL_SHARED;
  if (i->mem.space == KERNEL_PRIVATE || type.lanes > 1 || spirv_is_float(type) || spirv_bits(type) < 32)
    return spirv_emit_fail(e, "no SPIR-V for %s on %s here", kernel_op_table[i->op].name,
                           kernel_scalar_table[type.scalar].name);
  if (spirv_bits(type) == 64) {
    if (!(shared ? e->caps->shared_int64_atomics : e->caps->int64_atomics))
      return spirv_emit_fail(e, "the device has no 64-bit integer atomics");
    spirv_writer_capability(&e->w, SpvCapabilityInt64Atomics);
  }
  place p = place_of(e, i->mem, index_of_lane(e, i->operands[0], 0), 1);
  spirv_id scope = spirv_const_u32(&e->w, shared ? SpvScopeWorkgroup : SpvScopeDevice);
  spirv_id relaxed = spirv_const_u32(&e->w, SpvMemorySemanticsMaskNone);
  spirv_id r;
  if (i->op == KERNEL_OP_ATOMIC_CAS) {
    uint32_t words[] = {
        p.pointer, scope, relaxed, relaxed, spirv_value(e, i->operands[2]), spirv_value(e, i->operands[1])};
    r = spirv_op(&e->w, SpvOpAtomicCompareExchange, p.type, 6, words);
  } else {
    SpvOp op = i->op == KERNEL_OP_ATOMIC_ADD     ? SpvOpAtomicIAdd
               : i->op == KERNEL_OP_ATOMIC_MIN_S ? SpvOpAtomicSMin
                                                 : SpvOpAtomicSMax;
    uint32_t words[] = {p.pointer, scope, relaxed, spirv_value(e, i->operands[1])};
    r = spirv_op(&e->w, op, p.type, 4, words);
  }
  spirv_define(e, &i->results[0], r);
}
