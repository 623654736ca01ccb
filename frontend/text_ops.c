// SPDX-License-Identifier: Apache-2.0
// Operations, regions, blocks and names of the MLIR text parser, the generic form, and the entry point.
//
// SSA names live in scopes, one per region; a name is looked up outwards until a region that is isolated from above
// (func.func, builtin.module). A value must be defined before its use. After an error inside an operation the parser
// reports once, makes the operation's results known as "had an error" (their uses are not reported again), and goes on
// at the next statement.
#include <string.h>

#include "frontend/text_internal.h"

// --- scopes --------------------------------------------------------------------------------------

static void push_scope(text_parser *p, bool isolated) {
  ssa_scope *s = ARENA_NEW(p->scratch, ssa_scope);
  s->parent = p->scope;
  s->isolated = isolated;
  p->scope = s;
}

static void pop_scope(text_parser *p) {
  strmap_deinit(&p->scope->names);
  p->scope = p->scope->parent;
}

static ssa_def *find_def(text_parser *p, strv name) {
  for (ssa_scope *s = p->scope; s; s = s->isolated ? NULL : s->parent) {
    ssa_def *d = strmap_get(&s->names, name);
    if (d) return d;
  }
  return NULL;
}

// first NULL: an operation with an error.
static bool define(text_parser *p, strv name, mlir_value *first, int n, const char *at) {
  ssa_def *old = find_def(p, name);
  if (old && first) {
    const loc *l = text_file_loc(p, old->at);
    return text_error(p, at, "value '%%" STRV_FMT "' is already defined in line %d", STRV_ARG(name), (int)l->line);
  }
  if (old) return true;
  ssa_def *d = ARENA_NEW(p->scratch, ssa_def);
  d->first = first;
  d->n = n;
  d->at = at;
  strmap_put(NULL, &p->scope->names, name, d);
  return true;
}

static mlir_value *placeholder(text_parser *p, const mlir_type *type) {
  mlir_value *v = ARENA_NEW(p->arena, mlir_value);
  v->type = type;
  return v;
}

static mlir_value *type_mismatch(text_parser *p, const operand_ref *ref, const mlir_type *have, const mlir_type *want) {
  strbuf a = {0}, b = {0};
  mlir_type_print(&a, want);
  mlir_type_print(&b, have);
  text_error(p, ref->at, "value '%%" STRV_FMT "' is used with type '%.200s', but was defined with type '%.200s'",
             STRV_ARG(ref->name), a.data ? a.data : "", b.data ? b.data : "");
  strbuf_deinit(&a);
  strbuf_deinit(&b);
  return NULL;
}

mlir_value *text_resolve(text_parser *p, const operand_ref *ref, const mlir_type *type) {
  ssa_def *d = find_def(p, ref->name);
  if (!d) {
    bool outside = false;
    for (ssa_scope *s = p->scope; s && !outside; s = s->parent) outside = strmap_has(&s->names, ref->name);
    text_error(p, ref->at, "use of undefined value '%%" STRV_FMT "'%s", STRV_ARG(ref->name),
               outside ? " (it is defined outside this function)" : "");
    return NULL;
  }
  if (!d->first) return placeholder(p, type);
  int32_t index = ref->index < 0 ? 0 : ref->index;
  if (index >= d->n) {
    text_error(p, ref->at, "value '%%" STRV_FMT "' has %d result(s), there is no #%d", STRV_ARG(ref->name), d->n,
               (int)index);
    return NULL;
  }
  mlir_value *v = d->first + index;
  if (type && v->type && v->type != type) return type_mismatch(p, ref, v->type, type);
  return v;
}

bool text_parse_operand(text_parser *p, operand_ref *out) {
  if (p->tok.kind != TOK_PERCENT) return text_expected(p, "a value, as %name");
  out->at = p->tok.start;
  out->name = text_token_name(p);
  out->index = -1;
  const char *end = p->tok.end;
  text_advance(p);
  if (p->tok.kind != TOK_HASH || p->tok.start != end) return true;
  uint64_t index = 0;
  if (!strv_parse_u64(text_token_name(p), &index) || index > INT32_MAX)
    return text_expected(p, "a result number, as #1");
  out->index = (int32_t)index;
  text_advance(p);
  return true;
}

bool text_parse_operand_list(text_parser *p, operand_list *out) {
  if (p->tok.kind != TOK_PERCENT) return true;
  do {
    operand_ref ref = {0};
    if (!text_parse_operand(p, &ref)) return false;
    vec_push(p->scratch, out, ref);
  } while (text_accept(p, TOK_COMMA));
  return true;
}

// --- regions -------------------------------------------------------------------------------------

static bool parse_statement(text_parser *p, mlir_block *block);

static mlir_block *new_block(text_parser *p, mlir_region *region) {
  mlir_block *b = ARENA_NEW(p->arena, mlir_block);
  b->parent = region;
  mlir_block **slot = &region->first;
  while (*slot) slot = &(*slot)->next;
  *slot = b;
  return b;
}

static bool set_block_args(text_parser *p, mlir_block *b, const block_arg *args, int n) {
  bool ok = true;
  b->n_args = n;
  b->args = ARENA_ARRAY(p->arena, mlir_value, n);
  for (int i = 0; i < n; i++) {
    mlir_value *v = &b->args[i];
    v->type = args[i].type;
    v->block = b;
    v->index = i;
    v->name = args[i].name;
    if (v->name.len > 0 && !define(p, v->name, v, 1, args[i].at)) ok = false;
  }
  return ok;
}

// ^bb0(%a: type, %b: type loc(...)):
static bool parse_block_label(text_parser *p, mlir_block *b) {
  text_advance(p);
  VEC(block_arg) args = {0};
  if (text_accept(p, TOK_LPAREN) && !text_accept(p, TOK_RPAREN)) {
    do {
      operand_ref ref = {0};
      const loc *ignored = NULL;
      if (!text_parse_operand(p, &ref) || !text_expect(p, TOK_COLON, "':' before the argument's type")) return false;
      block_arg arg = {ref.name, text_parse_type(p), ref.at};
      if (!arg.type) return false;
      if (text_at_keyword(p, "loc")) {
        const loc **slot = ARENA_NEW(p->arena, const loc *);
        if (!text_parse_loc(p, slot)) return false;
        ignored = *slot;
      }
      (void)ignored;
      vec_push(p->scratch, &args, arg);
    } while (text_accept(p, TOK_COMMA));
    if (!text_expect(p, TOK_RPAREN, "',' or ')' after a block argument")) return false;
  }
  return text_expect(p, TOK_COLON, "':' after the block's label") && set_block_args(p, b, args.data, args.len);
}

static void parse_statements(text_parser *p, mlir_block *b) {
  while (p->tok.kind != TOK_RBRACE && p->tok.kind != TOK_EOF && p->tok.kind != TOK_CARET) (void)parse_statement(p, b);
}

bool text_parse_region(text_parser *p, const block_arg *args, int n_args, bool isolated, mlir_region *out) {
  if (p->tok.kind != TOK_LBRACE) return text_expected(p, "'{' of a region");
  if (!text_enter(p)) return false;
  const char *open = p->tok.start;
  text_advance(p);
  push_scope(p, isolated);
  bool ok = true;
  if (n_args >= 0) {
    mlir_block *b = new_block(p, out);
    ok = set_block_args(p, b, args, n_args);
    if (ok) parse_statements(p, b);
  } else if (p->tok.kind != TOK_CARET && p->tok.kind != TOK_RBRACE) {
    parse_statements(p, new_block(p, out));
  }
  while (ok && p->tok.kind == TOK_CARET) {
    mlir_block *b = new_block(p, out);
    ok = parse_block_label(p, b);
    if (ok) parse_statements(p, b);
  }
  pop_scope(p);
  if (!ok) return false;
  text_leave(p);
  if (p->tok.kind == TOK_EOF) return p->n_errors == 0 ? text_error(p, open, "this region is never closed") : false;
  return text_expect(p, TOK_RBRACE, "'}' at the end of the region");
}

// --- operations ----------------------------------------------------------------------------------

bool text_resolve_operands(text_parser *p, op_state *s) {
  if (s->resolved) return true;
  if (s->operands.len != s->operand_types.len)
    return text_error(p, s->at, "%d operands, but %d operand types", s->operands.len, s->operand_types.len);
  s->values = ARENA_ARRAY(p->scratch, mlir_value *, s->operands.len);
  bool ok = true;
  for (int i = 0; i < s->operands.len; i++) {
    s->values[i] = text_resolve(p, &s->operands.data[i], s->operand_types.data[i]);
    ok = ok && s->values[i];
  }
  s->resolved = ok;
  return ok;
}

static bool is_isolated(strv name) {
  return strv_eq_cstr(name, "func.func") || strv_eq_cstr(name, "builtin.module") || strv_eq_cstr(name, "vhlo.func_v1");
}

// "name"(operands) <{properties}> ({regions}) {attributes} : (types) -> types
bool text_parse_generic_rest(text_parser *p, op_state *s) {
  if (!text_expect(p, TOK_LPAREN, "'(' before the operands") || !text_parse_operand_list(p, &s->operands) ||
      !text_expect(p, TOK_RPAREN, "',' or ')' after an operand"))
    return false;
  if (p->tok.kind == TOK_LSQUARE) return text_error(p, p->tok.start, "successor blocks are not supported");
  if (p->tok.kind == TOK_LESS) {
    text_advance(p);
    if (!text_parse_attr_entries(p, &s->attrs) || !text_expect(p, TOK_GREATER, "'>' after the properties"))
      return false;
  }
  if (text_accept(p, TOK_LPAREN)) {
    do {
      mlir_region region = {0};
      if (!text_parse_region(p, NULL, -1, is_isolated(s->name), &region)) return false;
      vec_push(p->scratch, &s->regions, region);
    } while (text_accept(p, TOK_COMMA));
    if (!text_expect(p, TOK_RPAREN, "',' or ')' after a region")) return false;
  }
  return text_parse_optional_attr_dict(p, &s->attrs) && text_expect(p, TOK_COLON, "':' before the operation's type") &&
         text_parse_function_type(p, &s->operand_types, &s->result_types);
}

static mlir_op *build_op(text_parser *p, op_state *s) {
  if (!text_resolve_operands(p, s)) return NULL;
  mlir_op *op =
      mlir_op_create(p->arena, s->name, s->loc, s->operands.len, s->result_types.len, s->attrs.len, s->regions.len);
  for (int i = 0; i < op->n_operands; i++) op->operands[i] = s->values[i];
  for (int i = 0; i < op->n_results; i++) op->results[i].type = s->result_types.data[i];
  for (int i = 0; i < op->n_attrs; i++) op->attrs[i] = s->attrs.data[i];
  for (int i = 0; i < op->n_regions; i++) {
    op->regions[i].first = s->regions.data[i].first;
    for (mlir_block *b = op->regions[i].first; b; b = b->next) b->parent = &op->regions[i];
  }
  return op;
}

typedef struct result_name {
  strv name;
  int n;
  const char *at;
} result_name;

typedef VEC(result_name) result_names;

// %a, %b:2 =
static bool parse_result_names(text_parser *p, result_names *out) {
  do {
    if (p->tok.kind != TOK_PERCENT) return text_expected(p, "a result name, as %name");
    result_name r = {text_token_name(p), 1, p->tok.start};
    text_advance(p);
    if (text_accept(p, TOK_COLON)) {
      const char *at = p->tok.start;
      int64_t n = 0;
      if (!text_parse_integer(p, &n)) return false;
      if (n < 1 || n > 1000000) return text_error(p, at, "expected a number of results from 1 to 1000000");
      r.n = (int)n;
    }
    vec_push(p->scratch, out, r);
  } while (text_accept(p, TOK_COMMA));
  return text_expect(p, TOK_EQUAL, "'=' after the result names");
}

static strv canonical_name(text_parser *p, strv name) {
  if (strv_eq_cstr(name, "return")) return STRV("func.return");
  if (strv_eq_cstr(name, "call")) return STRV("func.call");
  if (strv_eq_cstr(name, "func")) return STRV("func.func");
  if (strv_eq_cstr(name, "module")) return STRV("builtin.module");
  return text_intern(p, name);
}

static bool parse_op_body(text_parser *p, op_state *s) {
  if (p->tok.kind == TOK_STRING) {
    strv name = {0};
    if (!text_parse_string(p, &name)) return false;
    s->name = text_intern(p, name);
    return text_parse_generic_rest(p, s);
  }
  if (p->tok.kind != TOK_ID) return text_expected(p, "an operation");
  s->name = canonical_name(p, text_token(p));
  text_advance(p);
  return text_parse_pretty(p, s);
}

static bool define_results(text_parser *p, mlir_op *op, const result_names *names, const char *at) {
  int64_t total = 0;
  for (int i = 0; i < names->len; i++) total += names->data[i].n;
  if (names->len > 0 && total != op->n_results)
    return text_error(p, at, "'" STRV_FMT "' has %d result(s), but %lld are named", STRV_ARG(op->name),
                      (int)op->n_results, (long long)total);
  int first = 0;
  bool ok = true;
  for (int i = 0; i < names->len; i++) {
    const result_name *r = &names->data[i];
    if (!define(p, r->name, op->results + first, r->n, r->at)) ok = false;
    for (int j = 0; j < r->n; j++) op->results[first + j].name = r->name;
    first += r->n;
  }
  return ok;
}

// Goes to the next token that can begin a statement after the one that began at `start` and failed at the current one.
static void recover(text_parser *p, const token *start) {
  const char *failed = p->tok.start;
  if (p->n_errors > TEXT_MAX_ERRORS) {
    text_seek(p, p->lex.end);
    return;
  }
  p->tok = *start;
  p->lex.pos = start->start;
  p->lex.line = start->line;
  p->lex.line_start = start->line_start;
  text_advance(p);
  int braces = 0;
  for (bool first = true; p->tok.kind != TOK_EOF; text_advance(p), first = false) {
    tok_kind k = p->tok.kind;
    if (k == TOK_RBRACE && braces == 0) return;
    if (k == TOK_LBRACE) braces++;
    if (k == TOK_RBRACE) braces--;
    bool begins = k == TOK_PERCENT || k == TOK_STRING || k == TOK_ID || k == TOK_CARET || k == TOK_HASH ||
                  k == TOK_BANG || k == TOK_META_OPEN;
    if (!first && braces == 0 && begins && p->tok.first_on_line && p->tok.start >= failed) {
      if (k == TOK_HASH || k == TOK_BANG || k == TOK_META_OPEN) {
        if (p->scope->parent == NULL) return;
        continue;
      }
      return;
    }
  }
}

// Operations that "applies" made stand where the reduction stands.
static void share_loc(text_parser *p, mlir_op *op) {
  int n = p->loc_fixups.len;
  bool pending = n > 0 && p->loc_fixups.data[n - 1].slot == &op->loc;
  for (mlir_op *o = op->regions[0].first->first; o; o = o->next) {
    o->loc = op->loc;
    if (!pending) continue;
    loc_fixup f = p->loc_fixups.data[n - 1];
    f.slot = &o->loc;
    vec_push(p->scratch, &p->loc_fixups, f);
  }
}

static bool statement_inner(text_parser *p, mlir_block *block, result_names *names) {
  op_state s = {.at = p->tok.start, .loc = text_token_loc(p)};
  if (p->tok.kind == TOK_PERCENT && !parse_result_names(p, names)) return false;
  const char *at = p->tok.start;
  s.at = at;
  s.loc = text_token_loc(p);
  if (!parse_op_body(p, &s)) return false;
  if (strv_starts_with(s.name, STRV("vhlo.")) && !text_upgrade_vhlo(p, &s)) return false;
  mlir_op *op = build_op(p, &s);
  if (!op) return false;
  if (text_at_keyword(p, "loc") && !text_parse_loc(p, &op->loc)) return false;
  if (s.applied) share_loc(p, op);
  mlir_block_append(block, op);
  return define_results(p, op, names, at);
}

static bool parse_statement(text_parser *p, mlir_block *block) {
  token start = p->tok;
  int depth = p->depth;
  ssa_scope *scope = p->scope;
  result_names names = {0};
  if (statement_inner(p, block, &names)) return true;
  p->depth = depth;
  while (p->scope != scope) pop_scope(p);
  for (int i = 0; i < names.len; i++) (void)define(p, names.data[i].name, NULL, names.data[i].n, names.data[i].at);
  recover(p, &start);
  return false;
}

// --- the file ------------------------------------------------------------------------------------

// #name = attribute   or   !name = type
static bool parse_alias_definition(text_parser *p) {
  bool is_type = p->tok.kind == TOK_BANG;
  strv name = text_token_name(p);
  strmap *map = is_type ? &p->type_aliases : &p->attr_aliases;
  const char *at = p->tok.start;
  text_advance(p);
  if (!text_expect(p, TOK_EQUAL, "'=' of an alias definition")) return false;
  if (memchr(name.data, '.', name.len)) return text_error(p, at, "an alias must not contain '.'");
  if (strmap_has(map, name)) return text_error(p, at, "alias '" STRV_FMT "' is already defined", STRV_ARG(name));
  text_alias *alias = ARENA_NEW(p->scratch, text_alias);
  uint64_t weight = p->weight;
  p->peak = p->depth;
  p->in_alias = true;
  text_accept_keyword(p, "type");
  if (is_type)
    alias->type = text_parse_type(p);
  else
    alias->attr = text_parse_attr(p);
  p->in_alias = false;
  if (!alias->type && !alias->attr) return false;
  alias->height = p->peak - p->depth;
  alias->weight = p->weight - weight;
  p->weight = weight;
  strmap_put(p->scratch, map, name, alias);
  return true;
}

static void parse_file(text_parser *p, mlir_block *top) {
  text_advance(p);
  while (p->tok.kind != TOK_EOF) {
    bool is_alias = p->tok.kind == TOK_HASH || p->tok.kind == TOK_BANG;
    if (!is_alias && p->tok.kind != TOK_META_OPEN) {
      if (p->tok.kind == TOK_RBRACE) {
        text_expected(p, "an operation");
        text_advance(p);
        continue;
      }
      (void)parse_statement(p, top);
      continue;
    }
    token start = p->tok;
    bool ok = is_alias ? parse_alias_definition(p) : text_parse_trailer(p);
    if (!ok) {
      p->depth = 0;
      recover(p, &start);
    }
  }
}

// The one builtin.module of the file, or a new one around everything.
static mlir_op *make_module_op(text_parser *p, mlir_op *holder) {
  mlir_block *top = holder->regions[0].first;
  if (top->first && top->first == top->last && strv_eq_cstr(top->first->name, "builtin.module")) {
    top->first->parent = NULL;
    return top->first;
  }
  return holder;
}

lemnos_status mlir_parse_text(arena *a, strv file_name, strv text, diag_sink *sink, mlir_module **out_module) {
  diag_sink own;
  if (!sink) diag_sink_init(&own, a);
  diag_sink *given = sink;
  if (!sink) sink = &own;
  int mark = sink->n_errors;
  text_parser p = {.arena = a, .scratch = arena_create(), .file_name = arena_strv(a, file_name), .sink = sink};
  p.lex = (text_lexer){
      .begin = text.data, .end = text.data + text.len, .pos = text.data, .line_start = text.data, .line = 1};
  p.tok.end = text.data;
  p.types = mlir_type_table_create(a);
  mlir_op *holder = mlir_op_create(a, STRV("builtin.module"), NULL, 0, 0, 0, 1);
  mlir_block *top = ARENA_NEW(a, mlir_block);
  top->parent = &holder->regions[0];
  holder->regions[0].first = top;
  push_scope(&p, true);
  if (text.len > 0) parse_file(&p, top);
  if (text.len == 0) diag_add(sink, DIAG_ERROR, text_file_loc(&p, text.data), (strv){0}, "the file is empty");
  text_resolve_locs(&p);
  text_resolve_resources(&p);
  pop_scope(&p);
  mlir_module *m = ARENA_NEW(a, mlir_module);
  m->arena = a;
  m->op = make_module_op(&p, holder);
  m->file_name = p.file_name;
  m->source = text;
  m->types = p.types;
  arena_destroy(p.scratch);
  lemnos_status status = diag_sink_status(sink, mark);
  if (!given) diag_sink_deinit(&own);
  if (status) return status;
  *out_module = m;
  return LEMNOS_SUCCESS;
}
