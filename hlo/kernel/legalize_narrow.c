// SPDX-License-Identifier: Apache-2.0
// Targets without 8- or 16-bit integers: such values are carried sign-extended in i32, and memory of such elements is
// addressed as i32 words. Stores that cover whole words write words; others change their part of the word, in
// parameters by compare-and-swap (another invocation may own a neighbouring element), in private arrays plainly.
#include "hlo/kernel/legalize_internal.h"

typedef kernel_value *val;

typedef struct stage {
  legalizer *l;
  VEC(kernel_value *) retype;
} stage;

static bool is_narrow(const legalizer *l, int s) {
  return (s == KERNEL_I8 && !(l->t->i8 && l->t->storage_8)) || (s == KERNEL_I16 && !(l->t->i16 && l->t->storage_16));
}

static int bits_of(int s) {
  return kernel_scalar_table[s].bits;
}
static val bin(kernel_builder *b, kernel_op op, val x, val y) {
  return kernel_bin(b, op, x, y);
}
static val imm(kernel_builder *b, val like, int64_t x) {
  return kernel_splat(b, kernel_int(b, (kernel_scalar)like->type.scalar, x), like->type.lanes);
}

static val wrap(kernel_builder *b, val x, int bits) {
  val up = bin(b, KERNEL_OP_SHL, x, imm(b, x, 32 - bits));
  return bin(b, KERNEL_OP_SHR_S, up, imm(b, up, 32 - bits));
}
static val zero_extend(kernel_builder *b, val x, int bits) {
  return bin(b, KERNEL_OP_AND, x, imm(b, x, ((int64_t)1 << bits) - 1));
}

// An i32 view of a narrow value, whose type changes at the end of the stage (the cast then is one to the same type).
static val carried(legalizer *l, kernel_builder *b, val v) {
  if (!is_narrow(l, v->type.scalar)) return v;
  kernel_type t = kernel_type_make(KERNEL_I32, v->type.lanes);
  return &kernel_emit(b, KERNEL_OP_BITCAST, 1, &t, 1, &v)->results[0];
}

static void replace(stage *s, kernel_instr *i, val r) {
  kernel_rewrite_set(&s->l->rewrite, &i->results[0], r);
  kernel_instr_unlink(i);
}

static val rebuild(kernel_builder *b, kernel_instr *i, kernel_type type, val *x) {
  kernel_instr *n = kernel_emit(b, i->op, 1, &type, i->n_operands, x);
  n->imm = i->imm;
  return &n->results[0];
}

static void rewrite_arith(stage *s, kernel_instr *i) {
  legalizer *l = s->l;
  kernel_builder b = legalize_before(l, i);
  int bits = bits_of(i->operands[0]->type.scalar);
  val x[3];
  for (int o = 0; o < i->n_operands; o++) x[o] = carried(l, &b, i->operands[o]);
  bool is_unsigned = i->op == KERNEL_OP_DIV_U || i->op == KERNEL_OP_REM_U || i->op == KERNEL_OP_MIN_U ||
                     i->op == KERNEL_OP_MAX_U || i->op == KERNEL_OP_SHR_U || i->op == KERNEL_OP_LT_U ||
                     i->op == KERNEL_OP_LE_U || i->op == KERNEL_OP_MULHI_U || i->op == KERNEL_OP_POPCNT ||
                     i->op == KERNEL_OP_CLZ;
  if (is_unsigned)
    for (int o = 0; o < i->n_operands; o++) x[o] = zero_extend(&b, x[o], bits);
  if (kernel_op_table[i->op].cls == KERNEL_CLASS_CMP) {
    replace(s, i, rebuild(&b, i, i->results[0].type, x));
    return;
  }
  kernel_type type = kernel_type_make(KERNEL_I32, i->results[0].type.lanes);
  val r;
  if (i->op == KERNEL_OP_MULHI_U) {
    r = bin(&b, KERNEL_OP_SHR_U, bin(&b, KERNEL_OP_MUL, x[0], x[1]), imm(&b, x[0], bits));
  } else {
    r = rebuild(&b, i, type, x);
    if (i->op == KERNEL_OP_CLZ) r = bin(&b, KERNEL_OP_SUB, r, imm(&b, r, 32 - bits));
  }
  replace(s, i, wrap(&b, r, bits));
}

// Casts between one i32 and its parts, or equal shapes.
static lemnos_status rewrite_bitcast(stage *s, kernel_instr *i) {
  legalizer *l = s->l;
  kernel_builder b = legalize_before(l, i);
  kernel_type from = i->operands[0]->type, to = i->results[0].type;
  int fb = bits_of(from.scalar), tb = bits_of(to.scalar);
  val x = carried(l, &b, i->operands[0]);
  if (fb == tb && is_narrow(l, from.scalar) && is_narrow(l, to.scalar)) {
    replace(s, i, x);
  } else if (is_narrow(l, to.scalar) && fb > tb) {  // split
    int per = fb / tb;
    if (fb > 32) return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "64-bit values as narrow parts");
    val parts[64];
    val wide = kernel_bitcast(&b, x, kernel_type_make(KERNEL_I32, from.lanes));
    for (int n = 0; n < to.lanes; n++) {
      val w = kernel_extract(&b, wide, n / per);
      parts[n] = wrap(&b, bin(&b, KERNEL_OP_SHR_U, w, imm(&b, w, (n % per) * tb)), tb);
    }
    replace(s, i, kernel_build_vector(&b, to.lanes, parts));
  } else if (is_narrow(l, from.scalar) && tb > fb && tb <= 32) {  // join
    int per = tb / fb;
    val words[64];
    for (int n = 0; n < to.lanes; n++) {
      words[n] = NULL;
      for (int p = 0; p < per; p++) {
        val part = zero_extend(&b, kernel_extract(&b, x, n * per + p), fb);
        part = bin(&b, KERNEL_OP_SHL, part, imm(&b, part, p * fb));
        words[n] = words[n] ? bin(&b, KERNEL_OP_OR, words[n], part) : part;
      }
    }
    val r = kernel_build_vector(&b, to.lanes, words);
    replace(s, i, tb == 32 ? kernel_bitcast(&b, r, to) : wrap(&b, r, tb));
  } else {
    return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "a bit cast from %s to %s", kernel_scalar_table[from.scalar].name,
                              kernel_scalar_table[to.scalar].name);
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status rewrite_conversion(stage *s, kernel_instr *i) {
  legalizer *l = s->l;
  if (i->op == KERNEL_OP_BITCAST) return rewrite_bitcast(s, i);
  kernel_builder b = legalize_before(l, i);
  kernel_scalar from = (kernel_scalar)i->operands[0]->type.scalar, to = (kernel_scalar)i->results[0].type.scalar;
  val x = carried(l, &b, i->operands[0]), r;
  bool from_narrow = is_narrow(l, from), to_narrow = is_narrow(l, to);
  kernel_scalar target = to_narrow ? KERNEL_I32 : to;
  int tb = bits_of(to);
  switch (i->op) {
    case KERNEL_OP_TRUNCATE:
      r = x->type.scalar == target ? x : kernel_conv(&b, KERNEL_OP_TRUNCATE, x, target);
      if (to_narrow) r = wrap(&b, r, tb);
      break;
    case KERNEL_OP_EXTEND_U:
      if (from_narrow) x = zero_extend(&b, x, bits_of(from));
      r = kernel_conv(&b, KERNEL_OP_EXTEND_U, x, target);
      break;
    case KERNEL_OP_EXTEND_S: r = kernel_conv(&b, KERNEL_OP_EXTEND_S, x, target); break;
    case KERNEL_OP_FROM_INT_U:
      if (from_narrow) x = zero_extend(&b, x, bits_of(from));
      r = kernel_conv(&b, KERNEL_OP_FROM_INT_U, x, target);
      break;
    case KERNEL_OP_FROM_INT_S: r = kernel_conv(&b, KERNEL_OP_FROM_INT_S, x, target); break;
    case KERNEL_OP_TO_INT_S:
    case KERNEL_OP_TO_INT_U: {
      r = kernel_conv(&b, KERNEL_OP_TO_INT_S, x, target);
      int64_t lo = i->op == KERNEL_OP_TO_INT_S ? -((int64_t)1 << (tb - 1)) : 0;
      int64_t hi = i->op == KERNEL_OP_TO_INT_S ? ((int64_t)1 << (tb - 1)) - 1 : ((int64_t)1 << tb) - 1;
      r = bin(&b, KERNEL_OP_MIN_S, bin(&b, KERNEL_OP_MAX_S, r, imm(&b, r, lo)), imm(&b, r, hi));
      r = wrap(&b, r, tb);
      break;
    }
    default:
      return lemnos_status_make(LEMNOS_INTERNAL, "conversion %s of narrow integers", kernel_op_table[i->op].name);
  }
  replace(s, i, r);
  return LEMNOS_SUCCESS;
}

// --- memory --------------------------------------------------------------------------------------

static kernel_scalar mem_elem(const kernel *k, kernel_mem m) {
  return m.space == KERNEL_PARAM ? k->params[m.index].elem : k->arrays.data[m.index].elem;
}

static int log2_of(int x) {
  return x <= 1 ? 0 : 1 + log2_of(x / 2);
}

// A load or store of words on memory whose element type is still the narrow one (it changes at the end).
static val load_words(kernel_builder *b, kernel_mem mem, val index, int lanes, int align, val mask) {
  kernel_type t = kernel_type_make(KERNEL_I32, index->type.lanes > 1 ? index->type.lanes : lanes);
  val operands[] = {index, mask};
  kernel_instr *n = kernel_emit(b, KERNEL_OP_LOAD, 1, &t, mask ? 2 : 1, operands);
  n->mem = mem;
  n->align = align;
  return &n->results[0];
}

static void store_words(kernel_builder *b, kernel_mem mem, val index, val value, int align) {
  val operands[] = {index, value};
  kernel_instr *n = kernel_emit(b, KERNEL_OP_STORE, 0, NULL, 2, operands);
  n->mem = mem;
  n->align = align;
}

static void rewrite_load(stage *s, kernel_instr *i) {
  legalizer *l = s->l;
  kernel_builder b = legalize_before(l, i);
  kernel_scalar elem = mem_elem(l->k, i->mem);
  int bits = bits_of(elem), per = 32 / bits, lanes = i->results[0].type.lanes;
  val index = i->operands[0], mask = i->n_operands > 1 ? i->operands[1] : NULL;
  if (lanes > 1 && index->type.lanes == 1 && i->align >= per && lanes % per == 0 && !mask) {
    val at = bin(&b, KERNEL_OP_SHR_U, index, imm(&b, index, log2_of(per)));
    val words = load_words(&b, i->mem, at, lanes / per, i->align / per > 0 ? i->align / per : 1, NULL);
    val parts[64];
    for (int n = 0; n < lanes; n++) {
      val w = kernel_extract(&b, words, n / per);
      parts[n] = wrap(&b, bin(&b, KERNEL_OP_SHR_U, w, imm(&b, w, (n % per) * bits)), bits);
    }
    replace(s, i, kernel_build_vector(&b, lanes, parts));
    return;
  }
  if (lanes > 1 && index->type.lanes == 1)
    index = bin(&b, KERNEL_OP_ADD, kernel_splat(&b, index, lanes),
                kernel_lanes(&b, (kernel_scalar)index->type.scalar, lanes));
  val word = load_words(&b, i->mem, bin(&b, KERNEL_OP_SHR_U, index, imm(&b, index, log2_of(per))), lanes, 1, mask);
  val part = bin(&b, KERNEL_OP_AND, index, imm(&b, index, per - 1));
  if (part->type.scalar != KERNEL_I32) part = kernel_conv(&b, KERNEL_OP_TRUNCATE, part, KERNEL_I32);
  val shift = bin(&b, KERNEL_OP_MUL, part, imm(&b, part, bits));
  replace(s, i, wrap(&b, bin(&b, KERNEL_OP_SHR_U, word, shift), bits));
}

// Replaces `bits` bits at element `index` of its word by those of `value`.
static void store_part(kernel_builder *b, kernel_mem mem, val index, val value, int bits) {
  int per = 32 / bits;
  val at = bin(b, KERNEL_OP_SHR_U, index, imm(b, index, log2_of(per)));
  val part = bin(b, KERNEL_OP_AND, index, imm(b, index, per - 1));
  if (part->type.scalar != KERNEL_I32) part = kernel_conv(b, KERNEL_OP_TRUNCATE, part, KERNEL_I32);
  val shift = bin(b, KERNEL_OP_MUL, part, imm(b, part, bits));
  val mask = bin(b, KERNEL_OP_SHL, imm(b, shift, ((int64_t)1 << bits) - 1), shift);
  val keep = kernel_un(b, KERNEL_OP_NOT, mask), set = bin(b, KERNEL_OP_SHL, zero_extend(b, value, bits), shift);
  val old = load_words(b, mem, at, 1, 1, NULL);
  if (mem.space == KERNEL_PRIVATE) {
    store_words(b, mem, at, bin(b, KERNEL_OP_OR, bin(b, KERNEL_OP_AND, old, keep), set), 1);
    return;
  }
  val start[] = {old, kernel_int(b, KERNEL_I1, 0)};
  kernel_while w = kernel_while_begin(b, 2, start);
  val go_on = kernel_un(b, KERNEL_OP_NOT, w.args[1]);
  kernel_while_body(b, &w, go_on);
  val expected = w.args[0];
  val desired = bin(b, KERNEL_OP_OR, bin(b, KERNEL_OP_AND, expected, keep), set);
  val operands[] = {at, expected, desired};
  kernel_type t = kernel_type_make(KERNEL_I32, 1);
  kernel_instr *cas = kernel_emit(b, KERNEL_OP_ATOMIC_CAS, 1, &t, 3, operands);
  cas->mem = mem;
  val seen = &cas->results[0];
  val next[] = {seen, bin(b, KERNEL_OP_EQ, seen, expected)};
  kernel_while_end(b, &w, next);
}

static void rewrite_store(stage *s, kernel_instr *i) {
  legalizer *l = s->l;
  kernel_builder b = legalize_before(l, i);
  int bits = bits_of(mem_elem(l->k, i->mem)), per = 32 / bits, lanes = i->operands[1]->type.lanes;
  val index = i->operands[0], value = carried(l, &b, i->operands[1]), mask = i->n_operands > 2 ? i->operands[2] : NULL;
  if (lanes > 1 && index->type.lanes == 1 && i->align >= per && lanes % per == 0 && !mask) {
    val words[64];
    for (int n = 0; n < lanes / per; n++) {
      words[n] = NULL;
      for (int p = 0; p < per; p++) {
        val part = zero_extend(&b, kernel_extract(&b, value, n * per + p), bits);
        part = bin(&b, KERNEL_OP_SHL, part, imm(&b, part, p * bits));
        words[n] = words[n] ? bin(&b, KERNEL_OP_OR, words[n], part) : part;
      }
    }
    val at = bin(&b, KERNEL_OP_SHR_U, index, imm(&b, index, log2_of(per)));
    store_words(&b, i->mem, at, kernel_build_vector(&b, lanes / per, words), i->align / per > 0 ? i->align / per : 1);
  } else {
    for (int n = 0; n < lanes; n++) {
      val at = index->type.lanes > 1 ? kernel_extract(&b, index, n) : bin(&b, KERNEL_OP_ADD, index, imm(&b, index, n));
      val part = kernel_extract(&b, value, n);
      kernel_if c = {0};
      if (mask) c = kernel_if_begin(&b, kernel_extract(&b, mask, n), 0, NULL);
      store_part(&b, i->mem, at, part, bits);
      if (mask) {
        kernel_if_else(&b, &c, NULL);
        kernel_if_end(&b, &c, NULL);
      }
    }
  }
  kernel_instr_unlink(i);
}

// --- the stage -----------------------------------------------------------------------------------

static void retype(stage *s, val v) {
  if (is_narrow(s->l, v->type.scalar)) vec_push(NULL, &s->retype, v);
}

typedef struct walk_state {
  stage *s;
  lemnos_status status;
} walk_state;

static void visit(void *user, kernel_instr *i) {
  walk_state *w = user;
  stage *s = w->s;
  legalizer *l = s->l;
  for (int n = 0; n < i->n_blocks; n++)
    for (int a = 0; a < i->blocks[n]->n_args; a++) retype(s, &i->blocks[n]->args[a]);
  bool touches = false;
  for (int o = 0; o < i->n_operands; o++) touches |= is_narrow(l, i->operands[o]->type.scalar);
  for (int r = 0; r < i->n_results; r++) touches |= is_narrow(l, i->results[r].type.scalar);
  if (!touches || w->status) return;
  switch (kernel_op_table[i->op].cls) {
    case KERNEL_CLASS_INT:
    case KERNEL_CLASS_CMP: rewrite_arith(s, i); return;
    case KERNEL_CLASS_ANY:
      if (i->op == KERNEL_OP_SELECT)
        retype(s, &i->results[0]);
      else
        rewrite_arith(s, i);
      return;
    case KERNEL_CLASS_CONV: w->status = rewrite_conversion(s, i); return;
    case KERNEL_CLASS_VEC:
      if (i->op == KERNEL_OP_REDUCE_ADD || i->op == KERNEL_OP_REDUCE_MUL ||
          ((i->op == KERNEL_OP_REDUCE_MIN || i->op == KERNEL_OP_REDUCE_MAX) && i->imm.i))
        rewrite_arith(s, i);
      else
        retype(s, &i->results[0]);
      return;
    case KERNEL_CLASS_MEM:
      if (i->op == KERNEL_OP_LOAD)
        rewrite_load(s, i);
      else if (i->op == KERNEL_OP_STORE)
        rewrite_store(s, i);
      else
        w->status = lemnos_status_make(LEMNOS_UNIMPLEMENTED, "atomics on narrow integers");
      return;
    default:
      for (int r = 0; r < i->n_results; r++) retype(s, &i->results[r]);
      return;
  }
}

static int64_t words_for(int64_t elements, int bytes) {
  return (elements * bytes + 3) / 4;
}

lemnos_status legalize_narrow(legalizer *l) {
  stage s = {.l = l};
  walk_state w = {.s = &s};
  kernel_walk(l->k->body, visit, &w);
  kernel_rewrite_apply(&l->rewrite, l->k);
  for (int i = 0; i < s.retype.len; i++) s.retype.data[i]->type.scalar = KERNEL_I32;
  vec_deinit(&s.retype);
  for (int p = 0; p < l->k->n_params; p++) {
    kernel_param *q = &l->k->params[p];
    if (!is_narrow(l, q->elem)) continue;
    q->n_elems = words_for(q->n_elems, kernel_scalar_table[q->elem].bytes);
    q->elem = KERNEL_I32;
  }
  for (int a = 0; a < l->k->arrays.len; a++) {
    kernel_array *q = &l->k->arrays.data[a];
    if (!is_narrow(l, q->elem)) continue;
    q->n_elems = words_for(q->n_elems, kernel_scalar_table[q->elem].bytes);
    q->elem = KERNEL_I32;
    q->lanes = 1;
  }
  return w.status;
}
