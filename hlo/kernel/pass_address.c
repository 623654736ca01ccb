// SPDX-License-Identifier: Apache-2.0
// Addresses in one form: index = sum of (value * constant) + constant, values of outer loops first, the constant last.
//
// So the part that does not change in a loop is a prefix that LICM moves out, neighbouring accesses share all but the
// constant, and drivers fold the constant into the access. An access of n elements aligned to n becomes n * (the same
// sum divided by n): code generators that address vectors take the factor away; one element of an array of vectors is
// at n * vector + component. Terms are known to be multiples of n by their factor or by the bounds and step of the loop
// they count; if not, what is left over is divided as a whole by a shift (it is a multiple, as the index is one).
// Needs: nothing. For targets that address vectors (not CPUs). Wraps as index arithmetic does; indices are never
// negative.
#include "hlo/kernel/builder.h"
#include "hlo/kernel/walk.h"

enum { MAX_TERMS = 24 };

typedef struct term {
  kernel_value *v;
  int64_t factor;
} term;

typedef struct sum {
  term terms[MAX_TERMS];
  int n;
  int64_t constant;
  bool full;
} sum;

typedef struct state {
  kernel *k;
  const hlo_target *t;
} state;

static bool const_int(const kernel_value *v, int64_t *out) {
  if (!v->def || v->def->op != KERNEL_OP_CONST) return false;
  *out = v->def->imm.i;
  return true;
}

static void add_term(sum *s, kernel_value *v, int64_t factor) {
  for (int i = 0; i < s->n; i++)
    if (s->terms[i].v == v) {
      s->terms[i].factor += factor;
      return;
    }
  if (s->n == MAX_TERMS)
    s->full = true;
  else
    s->terms[s->n++] = (term){v, factor};
}

static void collect(sum *s, kernel_value *v, int64_t factor) {
  int64_t c;
  const kernel_instr *d = v->def;
  if (const_int(v, &c)) {
    s->constant += c * factor;
  } else if (d && (d->op == KERNEL_OP_ADD || d->op == KERNEL_OP_SUB)) {
    collect(s, d->operands[0], factor);
    collect(s, d->operands[1], d->op == KERNEL_OP_ADD ? factor : -factor);
  } else if (d && d->op == KERNEL_OP_MUL && const_int(d->operands[1], &c)) {
    collect(s, d->operands[0], factor * c);
  } else if (d && d->op == KERNEL_OP_SHL && const_int(d->operands[1], &c) && c >= 0 && c < 31) {
    collect(s, d->operands[0], factor * ((int64_t)1 << c));
  } else {
    add_term(s, v, factor);
  }
}

static int depth_of(const kernel_value *v) {
  int depth = 0;
  for (const kernel_block *b = v->def ? v->def->parent : v->block; b && b->parent; b = b->parent->parent)
    depth += b->parent->op == KERNEL_OP_FOR || b->parent->op == KERNEL_OP_WHILE;
  return depth;
}

// Is v itself a multiple of n?
static bool counts_by(const kernel_value *v, int64_t n) {
  int64_t lo, step;
  if (v->def || v->index != 0 || !v->block->parent || v->block->parent->op != KERNEL_OP_FOR) return false;
  const kernel_instr *loop = v->block->parent;
  return const_int(loop->operands[0], &lo) && const_int(loop->operands[2], &step) && lo % n == 0 && step % n == 0;
}

static kernel_value *scaled(kernel_builder *b, kernel_value *v, int64_t factor) {
  return kernel_bin(b, KERNEL_OP_MUL, v, kernel_int(b, (kernel_scalar)v->type.scalar, factor));
}

static kernel_value *plus(kernel_builder *b, kernel_value *x, kernel_value *y) {
  return x ? kernel_bin(b, KERNEL_OP_ADD, x, y) : y;
}

static void sort(sum *s) {
  for (int i = 1; i < s->n; i++)
    for (int j = i; j > 0; j--) {
      term *x = &s->terms[j - 1], *y = &s->terms[j];
      int dx = depth_of(x->v), dy = depth_of(y->v);
      if (dx < dy || (dx == dy && x->v->id < y->v->id)) break;
      term t = *x;
      *x = *y;
      *y = t;
    }
}

static kernel_value *divided(kernel_builder *b, kernel_value *v, int64_t n) {
  int shift = 0;
  while (((int64_t)1 << shift) < n) shift++;
  return kernel_bin(b, KERNEL_OP_SHR_S, v, kernel_int(b, (kernel_scalar)v->type.scalar, shift));
}

// The sum divided by n.
static kernel_value *build(kernel_builder *b, const sum *s, kernel_scalar type, int64_t n) {
  kernel_value *rest = NULL, *whole = NULL;
  int64_t odd = s->constant % n;
  for (int i = 0; i < s->n; i++) {
    const term *t = &s->terms[i];
    if (t->factor % n != 0 && !counts_by(t->v, n)) rest = plus(b, rest, scaled(b, t->v, t->factor));
  }
  if (rest && odd) rest = plus(b, rest, kernel_int(b, type, odd));
  if (rest) rest = divided(b, rest, n);
  int rest_depth = rest ? depth_of(rest) : 0;
  bool placed = !rest;
  for (int i = 0; i < s->n; i++) {
    const term *t = &s->terms[i];
    if (t->factor == 0) continue;
    kernel_value *x;
    if (t->factor % n == 0)
      x = scaled(b, t->v, t->factor / n);
    else if (counts_by(t->v, n))
      x = scaled(b, divided(b, t->v, n), t->factor);
    else
      continue;
    if (!placed && depth_of(t->v) > rest_depth) whole = plus(b, whole, rest), placed = true;
    whole = plus(b, whole, x);
  }
  if (!placed) whole = plus(b, whole, rest);
  int64_t constant = (s->constant - (rest ? odd : 0)) / n;
  kernel_value *last = kernel_int(b, type, constant);
  return whole ? kernel_bin(b, KERNEL_OP_ADD, whole, last) : last;
}

// An element of an array of vectors: vector * lanes + component, both changing in outer loops only if the index does.
static kernel_value *split(kernel_builder *b, const sum *s, kernel_scalar type, int lanes) {
  sum base = *s;
  int64_t whole = s->constant / lanes;
  if (s->constant < 0 || s->n == 0) return NULL;
  base.constant = s->constant % lanes;
  kernel_value *v = build(b, &base, type, 1);
  kernel_value *unit = kernel_bin(b, KERNEL_OP_ADD, divided(b, v, lanes), kernel_int(b, type, whole));
  kernel_value *component = kernel_bin(b, KERNEL_OP_AND, v, kernel_int(b, type, lanes - 1));
  return kernel_bin(b, KERNEL_OP_ADD, kernel_bin(b, KERNEL_OP_MUL, unit, kernel_int(b, type, lanes)), component);
}

static void visit(void *user, kernel_instr *i) {
  state *st = user;
  if (i->op != KERNEL_OP_LOAD && i->op != KERNEL_OP_STORE) return;
  kernel_value *index = i->operands[0];
  if (index->type.lanes != 1 || (index->def && index->def->op == KERNEL_OP_CONST)) return;
  bool masked = i->n_operands == (i->op == KERNEL_OP_LOAD ? 2 : 3);
  int lanes = i->op == KERNEL_OP_LOAD ? i->results[0].type.lanes : i->operands[1]->type.lanes;
  int64_t n = masked || i->align < lanes || lanes > 4 ? 1 : lanes;
  sum s = {0};
  collect(&s, index, 1);
  if (s.full) return;
  sort(&s);
  kernel_builder b = {.k = st->k, .block = i->parent, .before = i};
  kernel_scalar type = (kernel_scalar)index->type.scalar;
  int width = i->mem.space == KERNEL_PARAM ? 1 : st->k->arrays.data[i->mem.index].lanes;
  if (n == 1) {
    kernel_value *parts = lanes == 1 && width > 1 && !masked ? split(&b, &s, type, width) : NULL;
    i->operands[0] = parts ? parts : build(&b, &s, type, 1);
    return;
  }
  kernel_value *v = build(&b, &s, type, n);
  // Always a multiplication, even of a constant: it is what code generators look for.
  kernel_value *operands[] = {v, kernel_int(&b, type, n)};
  i->operands[0] = &kernel_emit(&b, KERNEL_OP_MUL, 1, &index->type, 2, operands)->results[0];
}

void kernel_pass_addresses(kernel *k, const hlo_target *t) {
  state s = {.k = k, .t = t};
  if (t->cls != HLO_TARGET_CPU) kernel_walk(k->body, visit, &s);
}
