// SPDX-License-Identifier: Apache-2.0
// Parser of HLO text: module header, computations, instructions.
//
// Recursive descent in one pass. A computation may be named before it is defined: it is created then, and the module's
// list is put in order of definition at the end. Operands must be defined before their uses. After an error in an
// instruction the parser goes on at the next line; the instruction's name then stands for a broken one, and
// instructions that use it are broken without a further message. Arity, names, literals, shapes of parameters and
// required attributes are checked here; the operations' constraints are hlo_verify's.
#include <limits.h>
#include <string.h>

#include "hlo/text_internal.h"

enum { MAX_CALL_DEPTH = 1000 };

typedef struct text_computation {
  hlo_computation *computation;
  const char *referred_at;
  bool defined;
  int32_t order;  // of definition
} text_computation;

typedef struct text_alias {
  hlo_i64s path;
  int64_t param;
  const char *at;
} text_alias;

typedef struct header {
  VEC(text_alias) aliases;
  VEC(int64_t) donors;
} header;

// --- computations by name ------------------------------------------------------------------------

static text_computation *computation_by_name(hlo_parser *p, strv name) {
  text_computation *c = strmap_get(&p->computations, name);
  if (c) return c;
  c = ARENA_NEW(p->arena, text_computation);
  c->computation = hlo_computation_create(p->module, name);
  c->referred_at = name.data;
  strmap_put(p->arena, &p->computations, name, c);
  return c;
}

// "%name" or "name"
static strv parse_name(hlo_parser *p, const char *what) {
  hlo_parse_accept(p, '%');
  strv name = hlo_parse_word(p);
  if (!name.len) hlo_parse_fail(p, p->at, "expected the name of %s", what);
  return name;
}

hlo_computation *hlo_parse_computation_ref(hlo_parser *p) {
  strv name = parse_name(p, "a computation");
  return name.len ? computation_by_name(p, name)->computation : NULL;
}

// --- the header ----------------------------------------------------------------------------------

// "{ {0}: (0, {}, may-alias), ... }"
static bool parse_aliases(hlo_parser *p, header *h) {
  if (!hlo_parse_expect(p, '{', "before the aliases")) return false;
  if (hlo_parse_accept(p, '}')) return true;
  do {
    hlo_parse_skip_blanks(p);
    text_alias a = {.at = p->at};
    hlo_i64s param_path;
    if (!hlo_parse_ints(p, &a.path) || !hlo_parse_expect(p, ':', "after a result") ||
        !hlo_parse_expect(p, '(', "before a parameter") || !hlo_parse_int(p, &a.param) ||
        !hlo_parse_expect(p, ',', "after a parameter's number") || !hlo_parse_ints(p, &param_path))
      return false;
    if (param_path.n) {
      p->n_unimplemented++;
      return hlo_parse_fail(p, a.at, "aliases of parts of tuple parameters are not supported");
    }
    if (hlo_parse_accept(p, ',')) (void)hlo_parse_word(p);  // may-alias, must-alias
    if (!hlo_parse_expect(p, ')', "after a parameter")) return false;
    vec_push(NULL, &h->aliases, a);
  } while (hlo_parse_accept(p, ','));
  return hlo_parse_expect(p, '}', "after the aliases");
}

// "{ (0, {}), ... }"
static bool parse_donors(hlo_parser *p, header *h) {
  if (!hlo_parse_expect(p, '{', "before the donors")) return false;
  if (hlo_parse_accept(p, '}')) return true;
  do {
    int64_t param;
    hlo_i64s path;
    if (!hlo_parse_expect(p, '(', "before a parameter") || !hlo_parse_int(p, &param) ||
        !hlo_parse_expect(p, ',', "after a parameter's number") || !hlo_parse_ints(p, &path) ||
        !hlo_parse_expect(p, ')', "after a parameter"))
      return false;
    vec_push(NULL, &h->donors, param);
  } while (hlo_parse_accept(p, ','));
  return hlo_parse_expect(p, '}', "after the donors");
}

static bool parse_count(hlo_parser *p, int32_t *out) {
  const char *at = hlo_parse_place(p);
  int64_t n;
  if (!hlo_parse_int(p, &n)) return false;
  if (n < 1 || n > INT32_MAX) return hlo_parse_fail(p, at, "expected a number from 1 on");
  *out = (int32_t)n;
  return true;
}

static bool parse_header(hlo_parser *p, header *h) {
  if (!hlo_parse_accept_word(p, "HloModule")) return hlo_parse_fail(p, p->at, "expected 'HloModule'");
  strv name = parse_name(p, "the module");
  if (!name.len) return false;
  p->module = hlo_module_create(p->arena, name);
  p->module->source = (strv){p->begin, (size_t)(p->end - p->begin)};
  while (hlo_parse_accept(p, ',')) {
    strv key = hlo_parse_word(p);
    if (!hlo_parse_expect(p, '=', "after a key of the module")) return false;
    bool ok;
    if (strv_eq_cstr(key, "input_output_alias"))
      ok = parse_aliases(p, h);
    else if (strv_eq_cstr(key, "buffer_donor"))
      ok = parse_donors(p, h);
    else if (strv_eq_cstr(key, "replica_count"))
      ok = parse_count(p, &p->module->n_replicas);
    else if (strv_eq_cstr(key, "num_partitions"))
      ok = parse_count(p, &p->module->n_partitions);
    else if (strv_eq_cstr(key, "frontend_attributes"))
      ok = hlo_parse_frontend_attributes(p, &p->module->frontend_attributes);
    else
      ok = hlo_parse_skip_value(p);  // is_scheduled, entry_computation_layout (shapes stand at the instructions), ...
    if (!ok) return false;
  }
  return true;
}

// The leaf at a path of tuple indices, or -1.
static int leaf_at(const hlo_shape *s, hlo_i64s path) {
  int leaf = 0;
  for (int k = 0; k < path.n; k++) {
    if (s->dtype != HLO_TUPLE || path.data[k] < 0 || path.data[k] >= s->n_elements) return -1;
    for (int64_t e = 0; e < path.data[k]; e++) leaf += hlo_shape_leaves(s->elements[e]);
    s = s->elements[path.data[k]];
  }
  return s->dtype == HLO_TUPLE ? -1 : leaf;
}

// Aliases and donors, once the entry is known.
static void finish_header(hlo_parser *p, const header *h) {
  hlo_module *m = p->module;
  if (!m->entry || !m->entry->root) return;
  if (h->aliases.len) m->aliases = ARENA_ARRAY(p->arena, hlo_alias, h->aliases.len);
  for (int k = 0; k < h->aliases.len; k++) {
    text_alias a = h->aliases.data[k];
    int leaf = leaf_at(m->entry->root->shape, a.path);
    if (leaf < 0)
      hlo_parse_fail(p, a.at, "the result has no array at this index");
    else if (a.param < 0 || a.param >= m->entry->n_params)
      hlo_parse_fail(p, a.at, "there is no parameter %lld", (long long)a.param);
    else
      m->aliases[m->n_aliases++] = (hlo_alias){leaf, (int32_t)a.param};
  }
  if (h->donors.len) m->param_donated = ARENA_ARRAY(p->arena, bool, m->entry->n_params);
  for (int k = 0; k < h->donors.len; k++) {
    if (h->donors.data[k] < 0 || h->donors.data[k] >= m->entry->n_params)
      hlo_parse_fail(p, p->begin, "buffer_donor: there is no parameter %lld", (long long)h->donors.data[k]);
    else
      m->param_donated[h->donors.data[k]] = true;
  }
}

// --- instructions --------------------------------------------------------------------------------

typedef struct operand_list {
  hlo_text_operands v;
  bool restated;  // one of them is in p->restated
  bool broken;    // one of them stands for an instruction with an error
} operand_list;

static bool same_array(const hlo_shape *a, const hlo_shape *b) {
  return a->dtype == b->dtype && (!hlo_shape_is_array(a) || hlo_shape_same_dims(a, b));
}

// "[shape] [%]name"
static bool parse_operand(hlo_parser *p, operand_list *list) {
  const char *at = hlo_parse_place(p);
  const hlo_shape *shape = NULL;
  bool shaped = hlo_parse_peek(p, '(');
  if (!shaped && !hlo_parse_peek(p, '%')) {
    strv word = hlo_parse_word(p);
    shaped = word.len && p->at < p->end && *p->at == '[';
    p->at = at;
  }
  if (shaped && !hlo_parse_shape(p, &shape)) return false;
  strv name = parse_name(p, "an operand");
  if (!name.len) return false;
  void *value = strmap_get(&p->scope, name);
  if (!value) return hlo_parse_fail(p, name.data, "'%%" STRV_FMT "' is not defined here", STRV_ARG(name));
  if (value == p) {
    list->broken = true;
    return true;
  }
  hlo_instr *i = value;
  bool restated = strmap_has(&p->restated, name);
  list->restated |= restated;
  if (shape && !restated && !same_array(shape, i->shape)) {
    strbuf text = {0};
    hlo_shape_print(&text, i->shape);
    hlo_parse_fail(p, at, "'%%" STRV_FMT "' has the shape %s", STRV_ARG(name), text.data);
    strbuf_deinit(&text);
    return false;
  }
  vec_push(NULL, &list->v, i);
  return true;
}

static bool parse_operands(hlo_parser *p, operand_list *list) {
  if (hlo_parse_peek(p, ')')) return true;
  do {
    if (!parse_operand(p, list)) return false;
  } while (hlo_parse_accept(p, ','));
  return true;
}

static bool parse_parentheses(hlo_parser *p, hlo_computation *c, hlo_text_instr *i, operand_list *list) {
  if (!hlo_parse_expect(p, '(', "after the operation")) return false;
  if (i->op == HLO_OP_PARAMETER) {
    hlo_attrs_parameter *a = i->attrs;
    const char *at = hlo_parse_place(p);
    if (!hlo_parse_int(p, &a->number)) return false;
    if (a->number < 0 || a->number > 1 << 20) return hlo_parse_fail(p, at, "this parameter number is out of range");
    if (a->number < c->n_params && c->params[a->number])
      return hlo_parse_fail(p, at, "parameter %lld is there already", (long long)a->number);
    i->seen |= 1;
  } else if (i->op == HLO_OP_CONSTANT && hlo_shape_is_tuple(i->shape)) {
    i->op = HLO_OP_TUPLE;
    i->attrs = NULL;
    if (!hlo_parse_elements(p, c, i->shape, i->loc, &list->v)) return false;
  } else if (i->op == HLO_OP_CONSTANT) {
    hlo_attrs_constant *a = i->attrs;
    const char *at = hlo_parse_place(p);
    strv word = hlo_parse_word(p);  // older texts repeat the shape
    const hlo_shape *again;
    bool shaped = word.len && p->at < p->end && *p->at == '[';
    p->at = at;
    if (shaped && !hlo_parse_shape(p, &again)) return false;
    if (!hlo_parse_literal(p, i->shape, &a->value)) return false;
    i->seen |= 1;
  } else if (!parse_operands(p, list)) {
    return false;
  }
  return hlo_parse_expect(p, ')', "after the operands");
}

// Attributes that XLA leaves out where they say nothing.
static bool may_be_absent(const hlo_attr_desc *d) {
  return !d->required || d->kind == HLO_ATTR_KIND_window || d->kind == HLO_ATTR_KIND_flag;
}

static bool check_attrs(hlo_parser *p, const hlo_text_instr *i, const char *at) {
  const hlo_attr_list_info *info = &hlo_attr_list_table[hlo_op_table[i->op].attrs];
  for (int k = 0; k < info->n; k++) {
    const hlo_attr_desc *d = &info->descs[k];
    if (may_be_absent(d) || i->seen >> k & 1) continue;
    return hlo_parse_fail(p, at, "%s needs the attribute '%s'", hlo_op_table[i->op].text_name,
                          d->text_key[0] ? d->text_key : d->field);
  }
  if (i->split_by_group) {
    hlo_attrs_all_to_all *a = i->attrs;
    a->split_count = a->replica_groups.cols;
  }
  return true;
}

static bool check_arity(hlo_parser *p, const hlo_text_instr *i, int n, const char *at) {
  const hlo_op_info *info = &hlo_op_table[i->op];
  if (n >= info->min_operands && (info->max_operands < 0 || n <= info->max_operands)) return true;
  if (info->min_operands == info->max_operands)
    return hlo_parse_fail(p, at, "%s takes %d operands, here are %d", info->text_name, info->min_operands, n);
  return hlo_parse_fail(p, at, "%s takes at least %d operands, here are %d", info->text_name, info->min_operands, n);
}

// *called: the list in i, or its fixed slots.
static bool check_called(hlo_parser *p, hlo_text_instr *i, const char *at, hlo_computation ***called, int *n) {
  *called = i->called;
  *n = i->called[1] ? 2 : i->called[0] ? 1 : 0;
  if (i->called_list.len) {
    if (*n) return hlo_parse_fail(p, at, "called computations are given in two ways");
    *called = i->called_list.data;
    *n = i->called_list.len;
  }
  if (i->called[1] && !i->called[0]) return hlo_parse_fail(p, at, "the first of two called computations is missing");
  int wanted = hlo_op_table[i->op].n_called;
  if (wanted < 0 || *n == wanted) return true;
  return hlo_parse_fail(p, at, "%s calls %d computation%s, here %s %d", hlo_op_table[i->op].text_name, wanted,
                        wanted == 1 ? "" : "s", *n == 1 ? "is" : "are", *n);
}

static hlo_instr *passed_on(hlo_parser *p, const hlo_text_instr *i, const operand_list *list, const char *at) {
  if (!list->v.len) return hlo_parse_fail(p, at, "expected the operand that is passed on"), NULL;
  if (i->restated || same_array(i->shape, list->v.data[0]->shape)) return list->v.data[0];
  return hlo_parse_fail(p, at, "the operand that is passed on has another shape"), NULL;
}

// What follows "name =". Returns the instruction; NULL after an error, or silently if an operand is broken.
static hlo_instr *parse_right_side(hlo_parser *p, hlo_computation *c, strv name, hlo_text_instr *i,
                                   operand_list *list) {
  if (!hlo_parse_shape(p, &i->shape)) return NULL;
  hlo_parse_skip_blanks(p);
  const char *op_at = p->at;
  strv op = hlo_parse_word(p);
  if (!op.len) return hlo_parse_fail(p, op_at, "expected an operation"), NULL;
  if (!hlo_parse_operation(op, i)) {
    p->n_unimplemented++;
    return hlo_parse_fail(p, op_at, "unknown operation '" STRV_FMT "'%s", STRV_ARG(op),
                          hlo_op_suggestion(p->arena, op, true)),
           NULL;
  }
  i->attrs = hlo_attrs_create(p->arena, (hlo_attr_list)hlo_op_table[i->op].attrs);
  if (!parse_parentheses(p, c, i, list)) return NULL;
  if (!list->broken) hlo_parse_restate(p, i, &list->v, list->restated);
  while (hlo_parse_accept(p, ',')) {
    hlo_parse_skip_blanks(p);
    const char *key_at = p->at;
    strv key = hlo_parse_word(p);
    if (!key.len) return hlo_parse_fail(p, key_at, "expected an attribute"), NULL;
    if (!hlo_parse_expect(p, '=', "after an attribute's name")) return NULL;
    if (!(i->passes_on ? hlo_parse_skip_value(p) : hlo_parse_attr(p, i, key, key_at))) return NULL;
  }
  hlo_computation **called;
  int n_called;
  if (list->broken) return NULL;
  if (i->restated) strmap_put(p->arena, &p->restated, name, p);
  if (i->passes_on) return passed_on(p, i, list, op_at);
  if (i->restated) hlo_parse_set_channel_type(i);
  hlo_parse_add_rng_shape(p, c, i, &list->v);
  if (!check_arity(p, i, list->v.len, op_at) || !check_attrs(p, i, op_at) ||
      !check_called(p, i, op_at, &called, &n_called))
    return NULL;
  if (i->least) return hlo_parse_least_k(p, c, i, list->v.data[0], op_at);
  if (hlo_parse_is_first_k(i, &list->v, n_called, called))
    return hlo_parse_first_k(p, c, i, list->v.data[0], called[0]);
  return hlo_instr_create(c, NULL, i->op, i->shape, list->v.len, list->v.data, n_called, called, i->attrs, i->loc,
                          name);
}

static void skip_rest(hlo_parser *p) {
  while (p->at < p->end && *p->at != '\n') p->at++;
}

// After an error: to the end of the line, or not at all if the cursor is at a line's first word.
static void skip_line(hlo_parser *p) {
  const char *from = p->at;
  while (from > p->begin && (from[-1] == ' ' || from[-1] == '\t')) from--;
  if (from > p->begin && from[-1] == '\n' && from < p->end && from[0] != '\n')
    return;  // something was missing on the line before
  skip_rest(p);
}

// The instruction whose name is at the cursor.
static void parse_instr(hlo_parser *p, hlo_computation *c, bool root) {
  const char *at = hlo_parse_place(p);
  strv name = parse_name(p, "an instruction");
  if (!name.len) {
    skip_rest(p);
    return;
  }
  if (strmap_has(&p->scope, name)) {
    hlo_parse_fail(p, at, "'%%" STRV_FMT "' is already defined in this computation", STRV_ARG(name));
    skip_rest(p);
    return;
  }
  hlo_text_instr i = {.loc = hlo_parse_loc(p, at)};
  operand_list operands = {0};
  hlo_instr *created = NULL;
  if (hlo_parse_expect(p, '=', "after the name of an instruction"))
    created = parse_right_side(p, c, name, &i, &operands);
  strmap_put(p->arena, &p->scope, name, created ? (void *)created : (void *)p);
  if (!created) {
    skip_line(p);
  } else if (root) {
    if (c->root) hlo_parse_fail(p, at, "a second ROOT in this computation");
    c->root = created;
  }
  vec_deinit(&operands.v);
  vec_deinit(&i.called_list);
}

// --- computations --------------------------------------------------------------------------------

// "(a: f32[], b: s32[2]{0}) -> f32[]": checked against the instructions only in so far as it must be well formed.
static bool skip_signature(hlo_parser *p) {
  const hlo_shape *shape;
  if (!hlo_parse_expect(p, '(', "after the name of a computation")) return false;
  if (!hlo_parse_accept(p, ')')) {
    do {
      if (!parse_name(p, "a parameter").len || !hlo_parse_expect(p, ':', "after a parameter's name") ||
          !hlo_parse_shape(p, &shape))
        return false;
    } while (hlo_parse_accept(p, ','));
    if (!hlo_parse_expect(p, ')', "after the parameters")) return false;
  }
  hlo_parse_skip_blanks(p);
  if (p->end - p->at < 2 || p->at[0] != '-' || p->at[1] != '>') return hlo_parse_fail(p, p->at, "expected '->'");
  p->at += 2;
  return hlo_parse_shape(p, &shape);
}

static void check_computation(hlo_parser *p, hlo_computation *c, const char *at, bool had_errors) {
  if (had_errors) return;
  if (!c->last) {
    hlo_parse_fail(p, at, "a computation needs at least one instruction");
    return;
  }
  if (!c->root) c->root = c->last;
  int k = 0;
  while (k < c->n_params && c->params[k]) k++;
  if (k < c->n_params) hlo_parse_fail(p, at, "parameter %d of '%%" STRV_FMT "' is missing", k, STRV_ARG(c->name));
}

static void parse_computation(hlo_parser *p, int *n_defined) {
  const char *at = hlo_parse_place(p);
  bool entry = hlo_parse_accept_word(p, "ENTRY");
  strv name = parse_name(p, "a computation");
  int errors = p->sink->n_errors;
  if (!name.len) {
    skip_rest(p);
    return;
  }
  text_computation *t = computation_by_name(p, name);
  if (t->defined) hlo_parse_fail(p, at, "computation '%%" STRV_FMT "' is already defined", STRV_ARG(name));
  if (entry && p->module->entry) hlo_parse_fail(p, at, "a second ENTRY");
  if (!hlo_parse_peek(p, '{') && !skip_signature(p)) {
    skip_rest(p);
  } else if (!hlo_parse_expect(p, '{', "before the instructions of a computation")) {
    skip_line(p);
    return;
  }
  bool again = t->defined;  // then its instructions go where nobody looks
  hlo_computation *c = again ? hlo_computation_create(p->module, name) : t->computation;
  t->defined = true;
  if (!again) t->order = (*n_defined)++;
  if (entry) p->module->entry = c;
  p->scope = p->restated = (strmap){0};
  for (hlo_parse_skip_blanks(p); p->at < p->end && *p->at != '}'; hlo_parse_skip_blanks(p)) {
    const char *before = p->at;
    bool root = hlo_parse_accept_word(p, "ROOT");
    if (root && hlo_parse_peek(p, '=')) {  // an instruction that is called ROOT
      p->at = before;
      root = false;
    }
    parse_instr(p, c, root);
    if (p->at == before) skip_rest(p);
  }
  if (!hlo_parse_accept(p, '}'))
    hlo_parse_fail(p, at, "computation '%%" STRV_FMT "' is not closed by '}'", STRV_ARG(name));
  while (hlo_parse_accept(p, ',')) {  // execution_thread="main"
    (void)hlo_parse_word(p);
    if (!hlo_parse_accept(p, '=') || !hlo_parse_skip_value(p)) break;
  }
  check_computation(p, c, at, p->sink->n_errors != errors);
}

// Tables of source places that newer XLA appends; up to an empty line.
static bool skip_table(hlo_parser *p) {
  static const char *const tables[] = {"FileNames", "FunctionNames", "FileLocations", "StackFrames"};
  for (int k = 0; k < 4; k++) {
    if (!hlo_parse_accept_word(p, tables[k])) continue;
    while (p->at < p->end && !(p->at[0] == '\n' && p->end - p->at >= 2 && p->at[1] == '\n')) p->at++;
    return true;
  }
  return false;
}

// The module's list in order of definition; every computation that was named must have been defined.
static void order_computations(hlo_parser *p, int n_defined) {
  hlo_module *m = p->module;
  hlo_computation **ordered = ARENA_ARRAY(p->arena, hlo_computation *, n_defined + p->made.len + 1);
  for (int k = 0; k < p->made.len; k++) ordered[k] = p->made.data[k];
  for (int k = 0; k < p->computations.len; k++) {
    text_computation *t = p->computations.entries[k].value;
    if (t->defined)
      ordered[p->made.len + t->order] = t->computation;
    else
      hlo_parse_fail(p, t->referred_at, "computation '%%" STRV_FMT "' is not defined",
                     STRV_ARG(p->computations.entries[k].key));
  }
  m->computations = ordered;
  m->n_computations = m->cap_computations = p->made.len + n_defined;
}

// How deep the calls below c go; INT_MAX if they lead back to c or deeper than the limit (which keeps every later
// recursion over called computations within its stack).
static int call_depth(const hlo_computation *c, u64map *known, int depth) {
  uint64_t height = 0;
  if (u64map_get(known, (uint64_t)(uintptr_t)c, &height)) return (int)height;
  if (depth == MAX_CALL_DEPTH) return INT_MAX;
  u64map_put(NULL, known, (uint64_t)(uintptr_t)c, INT_MAX);  // seen again before it is finished: a cycle
  int deepest = 0;
  HLO_FOR_EACH (i, c) {
    for (int k = 0; k < i->n_called; k++) {
      int below = call_depth(i->called[k], known, depth + 1);
      if (below >= MAX_CALL_DEPTH) return INT_MAX;
      if (below + 1 > deepest) deepest = below + 1;
    }
  }
  u64map_put(NULL, known, (uint64_t)(uintptr_t)c, (uint64_t)deepest);
  return deepest;
}

static void check_module(hlo_parser *p) {
  hlo_module *m = p->module;
  if (!m->entry && m->n_computations == 1) m->entry = m->computations[0];
  if (!m->entry) hlo_parse_fail(p, p->begin, "no computation is marked ENTRY");
  u64map known = {0};
  for (int k = 0; k < m->n_computations; k++) {
    if (call_depth(m->computations[k], &known, 0) < MAX_CALL_DEPTH) continue;
    hlo_parse_fail(p, p->begin, "computation '%%" STRV_FMT "' calls itself, or calls nest more than %d deep",
                   STRV_ARG(m->computations[k]->name), MAX_CALL_DEPTH);
    break;
  }
  u64map_deinit(&known);
}

lemnos_status hlo_parse(arena *a, strv file_name, strv text, diag_sink *sink, hlo_module **out) {
  diag_sink own;
  diag_sink_init(&own, a);
  hlo_parser p = {.arena = a,
                  .file = file_name,
                  .begin = text.data,
                  .at = text.data,
                  .end = text.data + text.len,
                  .line_mark = text.data,
                  .line_of_mark = 1,
                  .sink = sink ? sink : &own};
  header h = {0};
  int mark = p.sink->n_errors, n_defined = 0;
  if (parse_header(&p, &h)) {
    for (hlo_parse_skip_blanks(&p); p.at < p.end; hlo_parse_skip_blanks(&p))
      if (!skip_table(&p)) parse_computation(&p, &n_defined);
    order_computations(&p, n_defined);
    if (p.sink->n_errors == mark) {
      check_module(&p);
      finish_header(&p, &h);
    }
  }
  vec_deinit(&p.made);
  vec_deinit(&h.aliases);
  vec_deinit(&h.donors);
  lemnos_status status = diag_sink_status(p.sink, mark);
  if (status && p.n_unimplemented && p.n_unimplemented == p.sink->n_errors - mark) {
    lemnos_status refused = lemnos_status_make(LEMNOS_UNIMPLEMENTED, "%s", lemnos_status_message(status));
    lemnos_status_free(status);
    status = refused;
  }
  diag_sink_deinit(&own);
  if (!status) *out = p.module;
  return status;
}
