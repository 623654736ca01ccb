// SPDX-License-Identifier: Apache-2.0
// Import: the module, its functions, the entry, and the walk over operations. import_internal.h tells the parts apart.
//
// Functions are translated when first called, starting with the entry, so what the entry does not reach is never looked
// at. An operation goes to its special case if it has one (handler tables), else to the generic path that the op table
// drives, else it is refused by name. When all is done, computations are ordered callees first and the module is
// verified.
#include <stdio.h>

#include "frontend/import_internal.h"

// --- reports -------------------------------------------------------------------------------------

// Line `line` of the module's text, if l points into it.
static strv source_line(const import_ctx *c, const loc *l) {
  const loc *f = loc_file(l);
  strv text = c->source->source;
  if (!f || !text.len || !strv_eq(f->name, c->source->file_name)) return (strv){0};
  for (int32_t n = 1; n < f->line; n++) {
    strv head, rest;
    if (!strv_split(text, '\n', &head, &rest)) return (strv){0};
    text = rest;
  }
  strv head, rest;
  strv_split(text, '\n', &head, &rest);
  return head;
}

static void report(import_ctx *c, lemnos_status_code code, const loc *l, const char *format, va_list args) {
  if (c->code == LEMNOS_OK) c->code = code;
  diag_addv(c->sink, DIAG_ERROR, l, source_line(c, l), format, args);
}

bool import_fail(import_ctx *c, const loc *l, const char *format, ...) {
  va_list args;
  va_start(args, format);
  report(c, LEMNOS_INVALID_ARGUMENT, l, format, args);
  va_end(args);
  return false;
}

bool import_refuse(import_ctx *c, const loc *l, const char *format, ...) {
  va_list args;
  va_start(args, format);
  report(c, LEMNOS_UNIMPLEMENTED, l, format, args);
  va_end(args);
  return false;
}

// --- values and instructions ---------------------------------------------------------------------

void import_bind(import_ctx *c, import_scope *s, const mlir_value *v, hlo_instr *i) {
  ptrmap_put(c->arena, &s->values, v, i);
}

bool import_bind_results(import_ctx *c, import_scope *s, const mlir_op *op, hlo_instr *i) {
  if (op->n_results == 1) {
    import_bind(c, s, &op->results[0], i);
    return true;
  }
  if (op->n_results == 0) return true;
  if (!hlo_shape_is_tuple(i->shape) || i->shape->n_elements != op->n_results)
    return import_fail(c, op->loc, "'" STRV_FMT "' has %d results, which its operands do not give", STRV_ARG(op->name),
                       op->n_results);
  hlo_builder b = import_builder(s, op->loc);
  for (int k = 0; k < op->n_results; k++) import_bind(c, s, &op->results[k], hlo_build_get(&b, i, k));
  return true;
}

hlo_instr *import_value(import_ctx *c, import_scope *s, const mlir_value *v, const loc *l) {
  hlo_instr *i = ptrmap_get(&s->values, v);
  if (i) return i;
  if (s->outer && import_is_clonable(v, false, 0)) {
    if (!import_op(c, s, v->op)) return NULL;
    i = ptrmap_get(&s->values, v);
    if (i) return i;
  }
  if (v->op)
    import_refuse(c, l,
                  "%s uses %%" STRV_FMT ", a result of '" STRV_FMT "' outside of it; only constants can be used so",
                  s->what, STRV_ARG(v->name), STRV_ARG(v->op->name));
  else
    import_refuse(c, l, "%s uses %%" STRV_FMT ", an argument of a surrounding block; only constants can be used so",
                  s->what, STRV_ARG(v->name));
  return NULL;
}

hlo_instr **import_operands(import_ctx *c, import_scope *s, const mlir_op *op) {
  hlo_instr **operands = ARENA_ARRAY(c->arena, hlo_instr *, op->n_operands);
  for (int i = 0; i < op->n_operands; i++) {
    operands[i] = import_value(c, s, op->operands[i], op->loc);
    if (!operands[i]) return NULL;
  }
  return operands;
}

hlo_builder import_builder(import_scope *s, const loc *l) {
  hlo_builder b = hlo_builder_end(s->computation);
  b.loc = l;
  return b;
}

hlo_instr *import_emit(import_ctx *c, import_scope *s, hlo_op op, const hlo_shape *declared, int n_operands,
                       hlo_instr *const *operands, int n_called, hlo_computation *const *called, void *attrs,
                       const loc *l) {
  const hlo_shape *shape = NULL;
  lemnos_status status =
      hlo_infer_shape(c->module, op, n_operands, operands, n_called, called, attrs, declared, l, c->sink, &shape);
  if (status) {
    if (c->code == LEMNOS_OK) c->code = lemnos_status_get_code(status);
    lemnos_status_free(status);
    if (!declared) return NULL;  // with a declared type, go on and report more
  }
  return hlo_instr_create(s->computation, NULL, op, declared ? declared : shape, n_operands, operands, n_called, called,
                          attrs, l, (strv){0});
}

// --- operations ----------------------------------------------------------------------------------

bool import_is_terminator(const mlir_op *op) {
  return strv_eq_cstr(op->name, "stablehlo.return") || strv_eq_cstr(op->name, "func.return") ||
         strv_eq_cstr(op->name, "sdy.return");
}

bool import_is_moved_out(const import_scope *s, const mlir_op *op) {
  return op->n_results == 1 && ptrmap_get(&s->values, &op->results[0]);
}

bool import_op(import_ctx *c, import_scope *s, const mlir_op *op) {
  if (!import_check_op(c, op)) return false;
  const import_handler *h = strmap_get(&c->handlers, op->name);
  if (h) return h->fn(c, s, op);
  hlo_op hop;
  if (hlo_op_from_stablehlo(op->name, &hop)) return import_generic(c, s, op, hop);
  return import_refuse(c, op->loc, "operation '" STRV_FMT "' is not supported%s", STRV_ARG(op->name),
                       hlo_op_suggestion(c->arena, op->name, false));
}

bool import_block(import_ctx *c, import_scope *s, const mlir_block *b, import_values *out) {
  for (const mlir_op *op = b->first; op; op = op->next) {
    if (import_is_terminator(op)) {
      for (int i = 0; i < op->n_operands; i++) {
        hlo_instr *v = import_value(c, s, op->operands[i], op->loc);
        if (!v) return false;
        vec_push(c->arena, out, v);
      }
      return true;
    }
    if (s->outer && import_is_moved_out(s->outer, op)) continue;
    if (!import_op(c, s, op)) return false;
  }
  return import_fail(c, b->parent->parent->loc, "%s has no terminator", s->what);
}

void import_set_root(import_ctx *c, import_scope *s, const import_values *v, const loc *l) {
  if (v->len == 1) {
    s->computation->root = v->data[0];
    return;
  }
  hlo_builder b = import_builder(s, l);
  s->computation->root = hlo_build_tuple(&b, v->len, v->data);
}

// --- functions -----------------------------------------------------------------------------------

// The values of a function have the types that it declares: parameters in front, results behind them.
static bool has_type(import_ctx *c, const import_func *f, const mlir_type *want, const mlir_type *have,
                     const char *what, int i, const loc *l) {
  if (want == have) return true;
  bool unranked = want->kind == MLIR_TYPE_UNRANKED_TENSOR || have->kind == MLIR_TYPE_UNRANKED_TENSOR;
  if (unranked && want->element == have->element) return true;
  const hlo_shape *a = import_type(c, want, l), *b = import_type(c, have, l);
  if (!a || !b) return false;
  if (a == b) return true;
  return import_fail(
      c, l, "%s %d of function @" STRV_FMT " has type " STRV_FMT "; expected " STRV_FMT ", as the function's type says",
      what, i, STRV_ARG(f->name), STRV_ARG(import_type_text(c, have)), STRV_ARG(import_type_text(c, want)));
}

static bool check_signature(import_ctx *c, const import_func *f, const mlir_block *body) {
  const mlir_attr *a = mlir_op_attr(f->op, "function_type");
  const mlir_type *t = a && a->kind == MLIR_ATTR_TYPE && a->type->kind == MLIR_TYPE_FUNCTION ? a->type : NULL;
  if (!t) return true;
  int n_results = t->n_types - t->n_inputs;
  if (body->n_args != t->n_inputs)
    return import_fail(c, f->op->loc, "function @" STRV_FMT " takes %d values; expected %d, as its type says",
                       STRV_ARG(f->name), body->n_args, t->n_inputs);
  for (int i = 0; i < body->n_args; i++)
    if (!has_type(c, f, t->types[i], body->args[i].type, "parameter", i, f->op->loc)) return false;
  const mlir_op *end = body->last;
  if (!end || !import_is_terminator(end)) return true;  // reported when it is missed
  if (end->n_operands != n_results)
    return import_fail(c, end->loc, "function @" STRV_FMT " returns %d values; expected %d, as its type says",
                       STRV_ARG(f->name), end->n_operands, n_results);
  for (int i = 0; i < n_results; i++)
    if (!has_type(c, f, t->types[t->n_inputs + i], end->operands[i]->type, "result", i, end->loc)) return false;
  return true;
}

static bool function_body(import_ctx *c, import_func *f) {
  const mlir_op *op = f->op;
  const mlir_block *body = op->n_regions ? op->regions[0].first : NULL;
  if (!body) return import_fail(c, op->loc, "function @" STRV_FMT " has no body", STRV_ARG(f->name));
  if (body->next)
    return import_refuse(c, op->loc, "function @" STRV_FMT " has several blocks; control flow must be structured",
                         STRV_ARG(f->name));
  if (!check_signature(c, f, body)) return false;
  import_scope s = {.computation = hlo_computation_create(c->module, f->name)};
  s.what = arena_printf(c->arena, "function @" STRV_FMT, STRV_ARG(f->name));
  hlo_builder b = import_builder(&s, op->loc);
  for (int i = 0; i < body->n_args; i++) {
    const hlo_shape *shape = import_type(c, body->args[i].type, op->loc);
    if (!shape) return false;
    import_bind(c, &s, &body->args[i], hlo_build_parameter(&b, shape, (strv){0}));
  }
  import_values results = {0};
  if (!import_block(c, &s, body, &results)) return false;
  import_set_root(c, &s, &results, op->loc);
  f->computation[c->grid > 0] = s.computation;
  return true;
}

hlo_computation *import_function(import_ctx *c, strv name, const loc *l) {
  import_func *f = strmap_get(&c->funcs, name);
  if (!f) {
    import_fail(c, l, "there is no function @" STRV_FMT, STRV_ARG(name));
    return NULL;
  }
  if (f->active) {
    import_refuse(c, l, "function @" STRV_FMT " calls itself", STRV_ARG(name));
    return NULL;
  }
  if (f->computation[c->grid > 0]) return f->computation[c->grid > 0];
  if (c->depth >= IMPORT_MAX_DEPTH) {
    import_refuse(c, l, "calls and regions are nested more than %d deep", IMPORT_MAX_DEPTH);
    return NULL;
  }
  f->active = true;
  c->depth++;
  function_body(c, f);
  c->depth--;
  f->active = false;
  return f->computation[c->grid > 0];
}

// Donation: tf.aliasing_output names the result that may take the argument's buffer; jax.buffer_donor any.
static bool argument_attributes(import_ctx *c, const import_func *f) {
  const mlir_attr *all = mlir_op_attr(f->op, "arg_attrs");
  hlo_module *m = c->module;
  hlo_computation *entry = f->computation[0];
  if (!all || all->kind != MLIR_ATTR_ARRAY) return true;
  VEC(hlo_alias) aliases = {0};
  for (int i = 0; i < all->n_items && i < entry->n_params; i++) {
    const mlir_attr *alias = mlir_attr_entry(all->items[i], "tf.aliasing_output");
    const mlir_attr *donor = mlir_attr_entry(all->items[i], "jax.buffer_donor");
    int64_t result = 0, given = 1;
    if (!alias && !(donor && (!import_int(donor, &given) || given))) continue;
    if (!m->param_donated) m->param_donated = ARENA_ARRAY(c->arena, bool, entry->n_params);
    m->param_donated[i] = true;
    if (!alias) continue;
    const hlo_shape *root = entry->root->shape;
    int n = hlo_shape_is_tuple(root) ? root->n_elements : 1;
    if (!import_int(alias, &result) || result < 0 || result >= n)
      return import_fail(c, f->op->loc, "argument %d of @" STRV_FMT ": tf.aliasing_output is not one of the %d results",
                         i, STRV_ARG(f->name), n);
    int leaf = 0;
    if (hlo_shape_is_tuple(root))
      for (int k = 0; k < result; k++) leaf += hlo_shape_leaves(root->elements[k]);
    hlo_alias a = {.result = leaf, .param = i};
    vec_push(c->arena, &aliases, a);
  }
  m->aliases = aliases.data;
  m->n_aliases = aliases.len;
  return true;
}

// --- the module ----------------------------------------------------------------------------------

static const mlir_block *module_block(const mlir_module *m) {
  return m->op && m->op->n_regions ? m->op->regions[0].first : NULL;
}

static strv function_name(const mlir_op *op) {
  const mlir_attr *name = mlir_op_attr(op, "sym_name");
  return name && name->kind == MLIR_ATTR_STRING ? name->string : (strv){0};
}

static bool collect_functions(import_ctx *c) {
  const mlir_block *b = module_block(c->source);
  if (!b) return true;
  for (const mlir_op *op = b->first; op; op = op->next) {
    if (!strv_eq_cstr(op->name, "func.func")) continue;
    strv name = function_name(op);
    if (strmap_has(&c->funcs, name))
      return import_fail(c, op->loc, "function @" STRV_FMT " is defined twice", STRV_ARG(name));
    import_func *f = ARENA_NEW(c->arena, import_func);
    f->op = op;
    f->name = name;
    strmap_put(c->arena, &c->funcs, name, f);
  }
  return true;
}

static bool select_entry(import_ctx *c, const import_options *options, strv *out) {
  strv want = options ? options->entry : (strv){0};
  if (!want.len && strmap_has(&c->funcs, STRV("main"))) want = STRV("main");
  if (!want.len && c->funcs.len == 1) want = c->funcs.entries[0].key;
  *out = want;
  if (want.len && strmap_has(&c->funcs, want)) return true;
  strbuf list = {0};
  for (int i = 0; i < c->funcs.len && i < 20; i++)
    strbuf_printf(&list, "%s@" STRV_FMT, i ? ", " : "", STRV_ARG(c->funcs.entries[i].key));
  if (c->funcs.len > 20) strbuf_printf(&list, " and %d more", c->funcs.len - 20);
  if (!c->funcs.len)
    import_fail(c, NULL, "the module has no function");
  else if (want.len)
    import_fail(c, NULL, "there is no function @" STRV_FMT "; the module has %s", STRV_ARG(want), list.data);
  else
    import_fail(c, NULL, "there is no function @main, and several to choose from: %s", list.data);
  strbuf_deinit(&list);
  return false;
}

static void order_visit(hlo_computation *comp, uint8_t *seen, hlo_computation **order, int *n) {
  if (seen[comp->id]) return;
  seen[comp->id] = 1;
  HLO_FOR_EACH (i, comp)
    for (int k = 0; k < i->n_called; k++) order_visit(i->called[k], seen, order, n);
  order[(*n)++] = comp;
}

// Callees before callers, the entry last; what cannot be reached is dropped.
static void order_computations(hlo_module *m, arena *a) {
  uint8_t *seen = ARENA_ARRAY(a, uint8_t, m->next_computation_id);
  hlo_computation **order = ARENA_ARRAY(a, hlo_computation *, m->n_computations);
  int n = 0;
  order_visit(m->entry, seen, order, &n);
  for (int i = m->n_computations; i-- > 0;)
    if (!seen[m->computations[i]->id]) hlo_computation_remove(m->computations[i]);
  LEMNOS_ASSERT(n == m->n_computations);
  for (int i = 0; i < n; i++) m->computations[i] = order[i];
}

static void module_attributes(import_ctx *c) {
  int64_t n;
  const mlir_op *op = c->source->op;
  if (import_int(mlir_op_attr(op, "mhlo.num_replicas"), &n) && n > 0 && n < INT32_MAX)
    c->module->n_replicas = (int32_t)n;
  if (import_int(mlir_op_attr(op, "mhlo.num_partitions"), &n) && n > 0 && n < INT32_MAX)
    c->module->n_partitions = (int32_t)n;
}

static bool has_sharding(const mlir_op *func, const char *list) {
  const mlir_attr *all = mlir_op_attr(func, list);
  for (int i = 0; all && all->kind == MLIR_ATTR_ARRAY && i < all->n_items; i++)
    if (mlir_attr_entry(all->items[i], "sdy.sharding") || mlir_attr_entry(all->items[i], "mhlo.sharding")) return true;
  return false;
}

static void add_handlers(import_ctx *c, const import_handler *h) {
  for (; h->name; h++) strmap_put(c->arena, &c->handlers, strv_from_cstr(h->name), (void *)h);
}

static bool translate(import_ctx *c, const import_options *options) {
  strv entry;
  if (!collect_functions(c) || !select_entry(c, options, &entry)) return false;
  module_attributes(c);
  const import_func *main = strmap_get(&c->funcs, entry);
  c->module->sharded = has_sharding(main->op, "arg_attrs") || has_sharding(main->op, "res_attrs");
  hlo_computation *comp = import_function(c, entry, NULL);
  if (!comp || c->code != LEMNOS_OK) return false;
  c->module->entry = comp;
  if (!argument_attributes(c, strmap_get(&c->funcs, entry))) return false;
  order_computations(c->module, c->arena);
  return true;
}

lemnos_status import_module(const mlir_module *m, const import_options *options, arena *a, diag_sink *sink,
                            hlo_module **out) {
  diag_sink local;
  diag_sink_init(&local, a);
  strv name = m->op ? function_name(m->op) : (strv){0};
  import_ctx c = {.source = m, .arena = a, .sink = sink ? sink : &local};
  c.module = hlo_module_create(a, name.len ? name : STRV("module"));
  c.next_channel = (int64_t)1 << 40;  // apart from the program's own
  c.module->source = m->source;       // before anything is inferred: errors show the line
  add_handlers(&c, import_op_handlers);
  add_handlers(&c, import_chlo_handlers);
  int mark = c.sink->n_errors;
  lemnos_status status;
  if (translate(&c, options)) {
    status = hlo_verify(c.module, c.sink);
    if (!status) *out = c.module;
  } else {
    status = diag_sink_status(c.sink, mark);
    if (!status) status = lemnos_status_make(LEMNOS_INTERNAL, "import failed without a reason");
    if (c.code == LEMNOS_UNIMPLEMENTED) {
      lemnos_status named = lemnos_status_make(c.code, "%s", lemnos_status_message(status));
      lemnos_status_free(status);
      status = named;
    }
  }
  diag_sink_deinit(&local);
  return status;
}

lemnos_status import_list_entries(const mlir_module *m, arena *a, strv **out_names, int *out_n) {
  VEC(strv) names = {0};
  const mlir_block *b = module_block(m);
  for (const mlir_op *op = b ? b->first : NULL; op; op = op->next) {
    if (!strv_eq_cstr(op->name, "func.func")) continue;
    strv name = function_name(op);
    const mlir_block *body = op->n_regions ? op->regions[0].first : NULL;
    if (strv_eq_cstr(name, "main")) {
      names.len = 0;
      vec_push(a, &names, name);
      break;
    }
    const mlir_attr *visibility = mlir_op_attr(op, "sym_visibility");
    bool private_ = visibility && visibility->kind == MLIR_ATTR_STRING && !strv_eq_cstr(visibility->string, "public");
    if (!private_ && body && body->n_args == 0) vec_push(a, &names, name);
  }
  *out_names = names.data;
  *out_n = names.len;
  return LEMNOS_SUCCESS;
}

// --- any program ---------------------------------------------------------------------------------

static strv skip_comments(strv s) {
  for (;;) {
    s = strv_trim(s);
    strv head, rest;
    if (strv_starts_with(s, STRV("//"))) {
      if (!strv_split(s, '\n', &head, &rest)) return (strv){0};
      s = rest;
    } else if (strv_starts_with(s, STRV("/*"))) {
      size_t i = 2;
      while (i + 1 < s.len && !(s.data[i] == '*' && s.data[i + 1] == '/')) i++;
      s = strv_drop(s, i + 2);
    } else {
      return s;
    }
  }
}

bool import_is_hlo_text(strv text) {
  return strv_starts_with(skip_comments(text), STRV("HloModule"));
}

// What bytes are that are no text; NULL for text.
static const char *foreign_format(strv s) {
  static const struct {
    const char *start, *what;
  } known[] = {{"\x1f\x8b", "data compressed by gzip: decompress it first"},
               {"PK\003\004", "a zip archive (such as an .npz file), not a program"},
               {"\177ELF", "an executable or library"},
               {"\x93NUMPY", "an array (.npy), not a program"},
               {"\xff\xfe", "UTF-16 text: save it as UTF-8"},
               {"\xfe\xff", "UTF-16 text: save it as UTF-8"},
               {"BC\xc0\xde", "LLVM bitcode"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strv_starts_with(s, strv_from_cstr(known[i].start))) return known[i].what;
  for (size_t i = 0; i < s.len && i < 4096; i++) {
    unsigned char c = (unsigned char)s.data[i];
    if (c < ' ' && (c < '\t' || c > '\r') && c != 27)
      return s.data[0] == '\n'
                 ? "binary data, perhaps a serialized HloProto: have XLA dump HLO text (--xla_dump_hlo_as_text)"
                 : "binary data";
  }
  return NULL;
}

lemnos_status import_find_text(strv file_name, const void *data, size_t size, strv *out) {
  strv text = {data, size};
  if (strv_starts_with(text, STRV("\xef\xbb\xbf"))) text = strv_drop(text, 3);  // a byte order mark
  const char *what = foreign_format(text);
  if (what)
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT,
                              STRV_FMT ": expected MLIR text, MLIR bytecode or HLO text, found %s", STRV_ARG(file_name),
                              what);
  *out = text;
  return LEMNOS_SUCCESS;
}

lemnos_status import_program(arena *a, strv file_name, const void *data, size_t size, const import_options *options,
                             diag_sink *sink, hlo_module **out) {
  mlir_module *m = NULL;
  if (mlir_is_bytecode(data, size)) {
    LEMNOS_TRY(mlir_read_bytecode(a, file_name, data, size, sink, &m));
    return import_module(m, options, a, sink, out);
  }
  strv text;
  LEMNOS_TRY(import_find_text(file_name, data, size, &text));
  if (import_is_hlo_text(text)) {
    hlo_module *parsed;
    LEMNOS_TRY(hlo_parse(a, file_name, text, sink, &parsed));
    import_restate_hlo(parsed);
    LEMNOS_TRY(import_marked_hlo(a, file_name, options, sink, &parsed));
    *out = parsed;
    return LEMNOS_SUCCESS;
  }
  LEMNOS_TRY(mlir_parse_text(a, file_name, text, sink, &m));
  return import_module(m, options, a, sink, out);
}
