// SPDX-License-Identifier: Apache-2.0
// Algebraic simplification: rewrites that change no value. Rules that a pattern can say are rows of algsimp_rules.def
// (its head explains the notation); those that need attributes or shapes are functions in algsimp_structure.c.
//
// The rows are parsed once per run of the pass. Every instruction is tried against the rows of its operation, in their
// order, then against the functions of its operation; a rewrite builds the replacement in front of the instruction,
// takes over its uses, and removes what has died. Rounds until nothing changes (at most ROUNDS).
// Needs: nothing. Leaves alone: dynamic, quantized and non-row-major arrays.
#include <math.h>

#include "hlo/opt/algsimp.h"

enum { ROUNDS = 12, MAX_RULES = 192, N_NAMES = 26 * 2 };

typedef enum node_kind { NODE_VALUE, NODE_CONSTANT, NODE_NUMBER, NODE_ONES, NODE_LOG2, NODE_OP } node_kind;

typedef struct node {
  node_kind kind;
  hlo_op op;
  int direction;  // of compare
  int name;       // VALUE: 0.., CONSTANT, LOG2: 26..
  double number;
  int n;
  struct node *args[3];
} node;

typedef struct match {
  hlo_instr *bound[N_NAMES];
  hlo_instr *root;
} match;

typedef struct rule {
  const char *pattern_text, *replacement_text, *classes;
  bool (*condition)(const match *m);
  node *pattern, *replacement;
} rule;

#define BOUND(m, letter) ((m)->bound[(letter) >= 'a' ? (letter) - 'a' : (letter) - 'A' + 26])

// --- conditions ----------------------------------------------------------------------------------

static bool cond_always(const match *m) {
  return (void)m, true;
}
static bool cond_not_constant_x(const match *m) {
  return !algsimp_constant(BOUND(m, 'x'));
}
static bool cond_constant_first(const match *m) {
  return m->root->operands[0] == BOUND(m, 'A') && !algsimp_constant(BOUND(m, 'x'));
}
static bool cond_x_not_constant_y(const match *m) {
  return !algsimp_constant(BOUND(m, 'y'));
}
static bool cond_same_type(const match *m) {
  return BOUND(m, 'x')->shape == m->root->shape;
}

static bool cond_all_same_dims(const match *m) {
  for (int k = 0; k < m->root->n_operands; k++)
    if (!hlo_shape_same_dims(m->root->operands[k]->shape, m->root->shape)) return false;
  return true;
}

static bool cond_has_negative_zero(const match *m) {
  hlo_dtype t = m->root->shape->dtype;
  return t != HLO_F8E4M3FNUZ && t != HLO_F8E5M2FNUZ && t != HLO_F8E4M3B11FNUZ && t != HLO_F8E8M0FNU;
}

// Neither the divisor nor its reciprocal is zero, subnormal or infinite, and it is a power of two.
static bool cond_exact_reciprocal(const match *m) {
  hlo_dtype t = m->root->shape->dtype;
  const hlo_literal *l = algsimp_uniform(BOUND(m, 'A'));
  int exponent, limit = t == HLO_F64 ? 1000 : t == HLO_F32 || t == HLO_BF16 ? 120 : t == HLO_F16 ? 13 : 0;
  if (!l || !limit || algsimp_constant(BOUND(m, 'x'))) return false;
  double mantissa = frexp(hlo_literal_get_f64(l, 0, 0), &exponent);
  return fabs(mantissa) == 0.5 && abs(exponent) <= limit;
}

static bool cond_power_of_two(const match *m) {
  const hlo_literal *l = algsimp_uniform(BOUND(m, 'A'));
  uint64_t v = l ? (uint64_t)hlo_literal_get_i64(l, 0) : 0;
  return v != 0 && (v & (v - 1)) == 0;
}

static bool cond_shifts_out(const match *m) {
  const hlo_literal *l = algsimp_uniform(BOUND(m, 'A'));
  int bits = hlo_dtype_table[m->root->shape->dtype].bits;
  if (!l) return false;
  uint64_t amount = (uint64_t)hlo_literal_get_i64(l, 0);  // negative amounts are large unsigned ones
  return amount >= (uint64_t)bits;
}

// of the comparison below the root: not in the total order
static bool cond_plain_comparison(const match *m) {
  return HLO_ATTRS(m->root->operands[0], compare)->type != HLO_COMPARISON_TYPE_TOTALORDER;
}
static bool cond_integer_comparison(const match *m) {
  hlo_dtype t = BOUND(m, 'x')->shape->dtype;
  return hlo_dtype_is_integer(t) || t == HLO_PRED;
}

// clang-format off
static const rule rule_table[] = {
#define R(pattern, replacement, classes, condition) {pattern, replacement, classes, cond_##condition, NULL, NULL},
#include "hlo/opt/algsimp_rules.def"
#undef R
};
// clang-format on
#define N_RULES ((int)(sizeof rule_table / sizeof rule_table[0]))
_Static_assert(sizeof rule_table / sizeof rule_table[0] <= (size_t)MAX_RULES, "raise MAX_RULES");

// --- parsing the rows ----------------------------------------------------------------------------

static void skip_blanks(const char **p) {
  while (**p == ' ') ++*p;
}

static node *parse_node(arena *a, const char **p);

static node *parse_op(arena *a, strv name, const char **p) {
  node *n = ARENA_NEW(a, node);
  n->kind = NODE_OP;
  n->direction = -1;
  if (!hlo_op_from_text(name, &n->op)) LEMNOS_PANIC("algsimp_rules.def: no operation " STRV_FMT, STRV_ARG(name));
  if (**p == '<') {
    strv direction = {*p + 1, 2};
    if (!hlo_enum_parse(HLO_ATTR_KIND_comparison_direction, direction, &n->direction)) LEMNOS_PANIC("bad direction");
    *p += 4;
  }
  if (**p != '(') LEMNOS_PANIC("algsimp_rules.def: expected ( at %s", *p);
  do {
    ++*p;
    n->args[n->n++] = parse_node(a, p);
    skip_blanks(p);
  } while (**p == ',');
  if (**p != ')') LEMNOS_PANIC("algsimp_rules.def: expected ) at %s", *p);
  ++*p;
  return n;
}

static node *parse_node(arena *a, const char **p) {
  skip_blanks(p);
  const char *start = *p;
  while (**p && !strchr("(,)<> ", **p)) ++*p;
  strv word = {start, (size_t)(*p - start)};
  if (**p == '(' || **p == '<') return parse_op(a, word, p);
  node *n = ARENA_NEW(a, node);
  if (strv_eq(word, STRV("ones"))) {
    n->kind = NODE_ONES;
  } else if (strv_eq(word, STRV("log2"))) {
    skip_blanks(p);
    n->kind = NODE_LOG2;
    n->name = *(*p)++ - 'A' + 26;
  } else if (strv_parse_f64(word, &n->number)) {
    n->kind = NODE_NUMBER;
  } else if (word.len == 1) {
    bool constant = *start >= 'A' && *start <= 'Z';
    n->kind = constant ? NODE_CONSTANT : NODE_VALUE;
    n->name = constant ? *start - 'A' + 26 : *start - 'a';
  } else {
    LEMNOS_PANIC("algsimp_rules.def: what is " STRV_FMT, STRV_ARG(word));
  }
  return n;
}

static node *parse_text(arena *a, const char *text) {
  return parse_node(a, &text);
}

// --- matching ------------------------------------------------------------------------------------

static bool is_number(const hlo_instr *i, double number) {
  const hlo_literal *l = algsimp_uniform(i);
  if (!l) return false;
  hlo_dtype t = l->shape->dtype;
  if (hlo_dtype_is_float(t)) {
    double x = hlo_literal_get_f64(l, 0, 0);
    return x == number && !signbit(x) == !signbit(number);
  }
  if (hlo_dtype_is_complex(t) || (number == 0 && signbit(number))) return false;
  if (number < 0 && !hlo_dtype_is_signed(t)) return false;
  return hlo_literal_get_i64(l, 0) == (int64_t)number;
}

static bool is_ones(const hlo_instr *i) {
  const hlo_literal *l = algsimp_uniform(i);
  if (!l) return false;
  hlo_dtype t = l->shape->dtype;
  int64_t x = t == HLO_PRED || hlo_dtype_is_integer(t) ? hlo_literal_get_i64(l, 0) : 0;
  if (t == HLO_PRED || hlo_dtype_is_signed(t)) return x == (t == HLO_PRED ? 1 : -1);
  return hlo_dtype_is_integer(t) && (uint64_t)x == UINT64_MAX >> (64 - hlo_dtype_table[t].bits);
}

static bool match_node(match *m, const node *n, hlo_instr *i) {
  switch (n->kind) {
    case NODE_CONSTANT:
    case NODE_VALUE:
      if (n->kind == NODE_CONSTANT && !algsimp_constant(i)) return false;
      if (m->bound[n->name]) return m->bound[n->name] == i;
      m->bound[n->name] = i;
      return true;
    case NODE_NUMBER: return is_number(i, n->number);
    case NODE_ONES: return is_ones(i);
    case NODE_LOG2: return false;
    case NODE_OP: break;
  }
  if (i->op != n->op || i->n_operands != n->n || !algsimp_plain(i)) return false;
  if (n->direction >= 0 && (int)HLO_ATTRS(i, compare)->direction != n->direction) return false;
  match before = *m;
  bool all = true;
  for (int k = 0; k < n->n && all; k++) all = match_node(m, n->args[k], i->operands[k]);
  if (all || !hlo_op_has(i->op, HLO_TRAIT_C)) return all;
  *m = before;
  return match_node(m, n->args[0], i->operands[1]) && match_node(m, n->args[1], i->operands[0]);
}

static bool class_allowed(const char *classes, const hlo_instr *i) {
  hlo_dtype t = (i->op == HLO_OP_COMPARE ? i->operands[0] : i)->shape->dtype;
  static const char letters[] = {[HLO_CLASS_PRED] = 'p',
                                 [HLO_CLASS_SINT] = 's',
                                 [HLO_CLASS_UINT] = 'u',
                                 [HLO_CLASS_FLOAT] = 'f',
                                 [HLO_CLASS_COMPLEX] = 'c'};
  char c = hlo_dtype_cls(t) < sizeof letters ? letters[hlo_dtype_cls(t)] : 0;
  return c && strchr(classes, c) != NULL;
}

// --- building ------------------------------------------------------------------------------------

static hlo_instr *build_number(hlo_builder *b, const match *m, const node *n, const hlo_shape *like) {
  uint64_t element[2] = {0, 0};
  if (n->kind == NODE_ONES) {
    hlo_element_set_i64(like->dtype, element, 0, like->dtype == HLO_PRED ? 1 : -1);
  } else if (n->kind == NODE_LOG2) {
    uint64_t v = (uint64_t)hlo_literal_get_i64(algsimp_uniform(m->bound[n->name]), 0);
    int64_t log = 0;
    while (v >>= 1) log++;
    hlo_element_set_i64(like->dtype, element, 0, log);
  } else if (like->dtype == HLO_PRED || hlo_dtype_is_integer(like->dtype)) {
    hlo_element_set_i64(like->dtype, element, 0, (int64_t)n->number);
  } else {
    hlo_element_set_f64(like->dtype, element, 0, 0, n->number);
  }
  return hlo_build_constant(b, hlo_literal_splat(b->module->arena, like, element));
}

static bool is_number_node(const node *n) {
  return n->kind == NODE_NUMBER || n->kind == NODE_ONES || n->kind == NODE_LOG2;
}

static hlo_instr *build_node(hlo_builder *b, const match *m, const node *n, const hlo_shape *like) {
  if (is_number_node(n)) return build_number(b, m, n, like);
  if (n->kind != NODE_OP) return m->bound[n->name];
  hlo_instr *args[3] = {NULL};
  for (int k = 0; k < n->n; k++)
    if (!is_number_node(n->args[k])) args[k] = build_node(b, m, n->args[k], like);
  const hlo_shape *beside = like;
  for (int k = 0; k < n->n; k++)
    if (args[k]) beside = args[k]->shape;
  for (int k = 0; k < n->n; k++)
    if (!args[k]) args[k] = build_number(b, m, n->args[k], beside);
  void *attrs = NULL;
  if (n->op == HLO_OP_COMPARE) {
    // The order (total, unsigned) is that of the comparison replaced.
    const hlo_instr *from = m->root->op == HLO_OP_COMPARE ? m->root : m->root->operands[0];
    hlo_attrs_compare *c = hlo_attrs_clone(b->module->arena, HLO_ATTR_LIST_compare, from->attrs);
    c->direction = (hlo_comparison_direction)n->direction;
    attrs = c;
  }
  return hlo_build(b, n->op, NULL, n->n, args, 0, NULL, attrs);
}

static hlo_instr *try_rule(const rule *r, hlo_instr *i) {
  if (!class_allowed(r->classes, i)) return NULL;
  match m = {.root = i};
  if (!match_node(&m, r->pattern, i) || !r->condition(&m)) return NULL;
  if (r->replacement->kind == NODE_VALUE && m.bound[r->replacement->name]->shape != i->shape) return NULL;
  hlo_builder b = hlo_builder_before(i);
  return build_node(&b, &m, r->replacement, i->shape);
}

// --- driver --------------------------------------------------------------------------------------

typedef struct simplifier {
  hlo_pass_ctx *ctx;
  rule rules[MAX_RULES];
  int by_op[HLO_OP_COUNT + 1];  // rules of op k: order[by_op[k] .. by_op[k + 1])
  int order[MAX_RULES];
} simplifier;

static simplifier *make_simplifier(hlo_pass_ctx *ctx) {
  simplifier *s = ARENA_NEW(ctx->scratch, simplifier);
  s->ctx = ctx;
  for (int k = 0; k < N_RULES; k++) {
    s->rules[k] = rule_table[k];
    s->rules[k].pattern = parse_text(ctx->scratch, rule_table[k].pattern_text);
    s->rules[k].replacement = parse_text(ctx->scratch, rule_table[k].replacement_text);
  }
  int n = 0;
  for (int op = 0; op < HLO_OP_COUNT; op++) {
    s->by_op[op] = n;
    for (int k = 0; k < N_RULES; k++)
      if ((int)s->rules[k].pattern->op == op) s->order[n++] = k;
  }
  s->by_op[HLO_OP_COUNT] = n;
  return s;
}

static hlo_instr *simplify(simplifier *s, hlo_instr *i) {
  for (int k = s->by_op[i->op]; k < s->by_op[i->op + 1]; k++) {
    hlo_instr *r = try_rule(&s->rules[s->order[k]], i);
    if (r) return r;
  }
  return algsimp_structure(i);
}

static bool run_round(simplifier *s, hlo_computation *c) {
  bool changed = false;
  HLO_FOR_EACH_SAFE (i, c) {
    if (!algsimp_plain(i) || (i->n_uses == 0 && c->root != i)) continue;
    if (s->ctx->bisect_limit >= 0 && s->ctx->bisect_count >= s->ctx->bisect_limit) return changed;
    hlo_instr *r = simplify(s, i);
    if (!r) continue;
    (void)hlo_opt_allowed(s->ctx);
    if (r->shape != i->shape) LEMNOS_PANIC("algebraic-simplifier: %s changes its shape", hlo_op_table[i->op].text_name);
    hlo_instr_replace_uses(i, r);
    hlo_opt_remove_dead(i);
    changed = true;
  }
  return changed;
}

lemnos_status hlo_opt_algebraic_simplifier(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  simplifier *s = make_simplifier(ctx);
  for (int c = 0; c < m->n_computations; c++)
    for (int round = 0; round < ROUNDS && run_round(s, m->computations[c]); round++) *changed = true;
  return LEMNOS_SUCCESS;
}
