// SPDX-License-Identifier: Apache-2.0
// From HLO computations to bytecode: leaves of tuples become values, values get registers by liveness (linear scan over
// the instruction order, reused as soon as the last reader is done), and each instruction becomes one record whose
// handler and type-dependent parameters the op's family picks. Each computation is compiled once, however many call it.
// Instructions whose results nobody needs, and that have no side effect, are left out.
#include "interp/interp_internal.h"

#define MAX_NESTING 256

lemnos_status interp_refuse(const hlo_instr *i, const char *format, ...) {
  strbuf where = {0}, text = {0};
  loc_print(&where, i->loc);
  va_list args;
  va_start(args, format);
  strbuf_vprintf(&text, format, args);
  va_end(args);
  lemnos_status s =
      lemnos_status_make(LEMNOS_UNIMPLEMENTED, "%s: interpreter: %s (%%" STRV_FMT ") is refused: %s", where.data,
                         hlo_op_table[i->op].text_name, STRV_ARG(i->name), text.data ? text.data : "");
  strbuf_deinit(&where);
  strbuf_deinit(&text);
  return s;
}

lemnos_status interp_place(const hlo_instr *i, lemnos_status s) {
  strbuf where = {0};
  loc_print(&where, i->loc);
  s = lemnos_status_annotate(s, "%s: %s (%%" STRV_FMT ")", where.data, hlo_op_table[i->op].text_name,
                             STRV_ARG(i->name));
  strbuf_deinit(&where);
  return s;
}

lemnos_status interp_error(const interp_call *c, lemnos_status_code code, const char *format, ...) {
  strbuf text = {0};
  va_list args;
  va_start(args, format);
  strbuf_vprintf(&text, format, args);
  va_end(args);
  lemnos_status s = interp_place(c->in->src, lemnos_status_make(code, "%s", text.data ? text.data : ""));
  strbuf_deinit(&text);
  return s;
}

interp_type interp_type_of(interp_compiler *c, const hlo_shape *leaf) {
  interp_type t = {
      .dtype = leaf->dtype, .rank = leaf->rank, .dims = leaf->dims, .is_static = true, .n = 1, .shape = leaf};
  if (leaf->dtype == HLO_TOKEN) t.rank = 0, t.n = 0;
  for (int d = 0; d < t.rank; d++) {
    if (t.dims[d] < 0)
      t.is_static = false;
    else
      t.n *= t.dims[d];
  }
  return t;
}

void interp_insn_set_subs(interp_compiler *c, interp_insn *in, int n, const interp_code *const *subs) {
  in->n_subs = n;
  in->subs = arena_copy(c->a, subs, sizeof *subs * (size_t)n);
}

bool interp_same_type(const interp_type *a, const interp_type *b) {
  if (a->dtype != b->dtype || a->rank != b->rank) return false;
  for (int d = 0; d < a->rank; d++)
    if (a->dims[d] != b->dims[d]) return false;
  return true;
}

// --- values and liveness -------------------------------------------------------------------------

typedef struct leaves {
  int32_t *v;  // value numbers
  int32_t n;
} leaves;

typedef struct lowering {
  interp_compiler *c;
  const hlo_computation *comp;
  arena *scratch;
  u64map leaves_of;       // instr -> leaves *
  u64map live;            // instr -> 1
  VEC(int32_t) last_use;  // per value: record index, INT32_MAX for results
  VEC(int32_t) reg;       // per value
  VEC(int32_t) free_regs;
  interp_code_use use;
  VEC(interp_insn) insns;  // registers still value numbers until assign_registers
  VEC(interp_insn) kept;   // constants of a loop, which go before them
  int32_t n_regs;
} lowering;

static bool is_alias_op(hlo_op op) {
  return op == HLO_OP_TUPLE || op == HLO_OP_GET_TUPLE_ELEMENT || op == HLO_OP_OPTIMIZATION_BARRIER || op == HLO_OP_COPY;
}

static leaves *get_leaves(const lowering *l, const hlo_instr *i) {
  return ptrmap_get(&l->leaves_of, i);
}

static int32_t new_value(lowering *l) {
  vec_push(l->scratch, &l->last_use, -1);
  vec_push(l->scratch, &l->reg, -1);
  return l->last_use.len - 1;
}

// Backwards from the root and the side effects.
static void mark_live(lowering *l) {
  const hlo_computation *comp = l->comp;
  ptrmap_put(l->scratch, &l->live, comp->root, (void *)1);
  for (hlo_instr *i = comp->last; i; i = i->prev) {
    if (!ptrmap_get(&l->live, i)) {
      if (!hlo_instr_has_side_effect(i)) continue;
      ptrmap_put(l->scratch, &l->live, i, (void *)1);
    }
    for (int k = 0; k < i->n_operands; k++) ptrmap_put(l->scratch, &l->live, i->operands[k], (void *)1);
  }
}

static leaves *make_leaves(lowering *l, const hlo_instr *i) {
  leaves *r = ARENA_NEW(l->scratch, leaves);
  if (i->op == HLO_OP_GET_TUPLE_ELEMENT) {
    int64_t index = HLO_ATTRS(i, get_tuple_element)->index;
    const hlo_shape *t = i->operands[0]->shape;
    int offset = 0;
    for (int64_t e = 0; e < index; e++) offset += hlo_shape_leaves(t->elements[e]);
    leaves *from = get_leaves(l, i->operands[0]);
    r->v = from->v + offset;
    r->n = hlo_shape_leaves(t->elements[index]);
    return r;
  }
  if (is_alias_op(i->op)) {
    for (int k = 0; k < i->n_operands; k++) r->n += get_leaves(l, i->operands[k])->n;
    r->v = ARENA_ARRAY(l->scratch, int32_t, r->n + 1);
    int n = 0;
    for (int k = 0; k < i->n_operands; k++) {
      leaves *from = get_leaves(l, i->operands[k]);
      memcpy(r->v + n, from->v, sizeof *r->v * (size_t)from->n);
      n += from->n;
    }
    return r;
  }
  r->n = hlo_shape_leaves(i->shape);
  r->v = ARENA_ARRAY(l->scratch, int32_t, r->n + 1);
  for (int k = 0; k < r->n; k++) r->v[k] = new_value(l);
  return r;
}

// --- one instruction -----------------------------------------------------------------------------

static lemnos_status compile_family(interp_compiler *c, interp_insn *in) {
  const hlo_instr *i = in->src;
  switch (i->op) {
    case HLO_OP_BITCAST_CONVERT: return interp_compile_move(c, in);
    case HLO_OP_FFT: return interp_compile_fft(c, in);
    case HLO_OP_UNIFORM_QUANTIZE:
    case HLO_OP_UNIFORM_DEQUANTIZE: return interp_compile_quant(c, in);
    case HLO_OP_AFTER_ALL:
    case HLO_OP_CREATE_TOKEN: return interp_compile_control(c, in);
    default: break;
  }
  if (interp_needs_quant_wrap(in)) return interp_compile_quant_wrap(c, in);
  switch ((hlo_op_family)hlo_op_table[i->op].family) {
    case HLO_FAMILY_UNARY:
    case HLO_FAMILY_BINARY:
    case HLO_FAMILY_TERNARY:
    case HLO_FAMILY_CONVERT:
    case HLO_FAMILY_CHLO: return interp_compile_elementwise(c, in);
    case HLO_FAMILY_SHAPE: return interp_compile_move(c, in);
    case HLO_FAMILY_INDEX: return interp_compile_index(c, in);
    case HLO_FAMILY_REDUCE: return interp_compile_reduce(c, in);
    case HLO_FAMILY_WINDOW: return interp_compile_window(c, in);
    case HLO_FAMILY_SORT: return interp_compile_sort(c, in);
    case HLO_FAMILY_DOT: return interp_compile_dot(c, in);
    case HLO_FAMILY_CONV: return interp_compile_conv(c, in);
    case HLO_FAMILY_LINALG: return interp_compile_linalg(c, in);
    case HLO_FAMILY_NORM: return interp_compile_norm(c, in);
    case HLO_FAMILY_RNG: return interp_compile_rng(c, in);
    case HLO_FAMILY_CONTROL: return interp_compile_control(c, in);
    case HLO_FAMILY_TUPLE: break;
    case HLO_FAMILY_DYNAMIC: return interp_compile_dynamic(c, in);
    case HLO_FAMILY_QUANT: return interp_compile_quant(c, in);
    case HLO_FAMILY_COLLECTIVE: return interp_compile_collective(c, in);
    case HLO_FAMILY_HOST: return interp_compile_host(c, in);
    case HLO_FAMILY_CUSTOM: return interp_compile_custom(c, in);
    case HLO_FAMILY_CHECK: return interp_compile_check(c, in);
  }
  return interp_refuse(i, "operation is not supported");
}

static lemnos_status compile_instr(lowering *l, const hlo_instr *i) {
  interp_compiler *c = l->c;
  interp_insn in = {.src = i};
  for (int k = 0; k < i->n_operands; k++) in.n_args += get_leaves(l, i->operands[k])->n;
  leaves *res = get_leaves(l, i);
  in.n_results = res->n;
  int32_t *args = ARENA_ARRAY(c->a, int32_t, in.n_args + 1);
  interp_type *arg_types = ARENA_ARRAY(c->a, interp_type, in.n_args + 1);
  interp_type *result_types = ARENA_ARRAY(c->a, interp_type, in.n_results + 1);
  int n = 0;
  for (int k = 0; k < i->n_operands; k++) {
    leaves *from = get_leaves(l, i->operands[k]);
    for (int j = 0; j < from->n; j++, n++) {
      args[n] = from->v[j];
      arg_types[n] = interp_type_of(c, hlo_shape_leaf(i->operands[k]->shape, j));
    }
  }
  in.in_place = ARENA_ARRAY(c->a, int16_t, in.n_results + 1);
  for (int j = 0; j < res->n; j++) {
    result_types[j] = interp_type_of(c, hlo_shape_leaf(i->shape, j));
    if (result_types[j].rank > INTERP_MAX_RANK) return interp_refuse(i, "rank above %d", INTERP_MAX_RANK);
    if (!result_types[j].is_static) in.flags |= INTERP_DYNAMIC;
    in.in_place[j] = -1;
  }
  in.args = args;
  in.results = arena_copy(c->a, res->v, sizeof(int32_t) * (size_t)res->n);
  in.arg_types = arg_types;
  in.result_types = result_types;
  in.dies = ARENA_ARRAY(c->a, uint8_t, in.n_args + 1);
  LEMNOS_TRY(compile_family(c, &in));
  if (l->use != INTERP_CODE_ONCE && interp_is_borrowed_constant(&in))
    vec_push(l->scratch, &l->kept, in);
  else
    vec_push(l->scratch, &l->insns, in);
  return LEMNOS_SUCCESS;
}

// --- registers -----------------------------------------------------------------------------------

static int32_t take_reg(lowering *l) {
  return l->free_regs.len ? vec_pop(&l->free_regs) : l->n_regs++;
}

static void put_kept_first(lowering *l) {
  int n = l->insns.len;
  for (int t = 0; t < l->kept.len; t++) vec_push(l->scratch, &l->insns, l->kept.data[t]);
  if (!l->kept.len) return;
  memmove(l->insns.data + l->kept.len, l->insns.data, sizeof *l->insns.data * (size_t)n);
  memcpy(l->insns.data, l->kept.data, sizeof *l->kept.data * (size_t)l->kept.len);
}

static void list_drops(lowering *l, interp_insn *in) {
  in->drops = ARENA_ARRAY(l->c->a, int32_t, in->n_args + in->n_release + 1);
  for (int k = 0; k < in->n_args; k++)
    if (in->dies[k]) in->drops[in->n_drops++] = in->args[k];
  for (int k = 0; k < in->n_release; k++) in->drops[in->n_drops++] = in->release[k];
}

static void assign_registers(lowering *l, interp_code *code, const leaves *root) {
  put_kept_first(l);
  code->n_kept = l->kept.len;
  for (int t = 0; t < l->insns.len; t++)
    for (int k = 0; k < l->insns.data[t].n_args; k++) l->last_use.data[l->insns.data[t].args[k]] = t;
  for (int k = 0; k < root->n; k++) l->last_use.data[root->v[k]] = INT32_MAX;
  for (int t = 0; t < code->n_kept; t++) l->last_use.data[l->insns.data[t].results[0]] = INT32_MAX;
  int32_t *param_regs = (int32_t *)code->param_regs;
  for (int k = 0; k < code->n_params && l->use == INTERP_CODE_CONDITION; k++)
    if (l->last_use.data[param_regs[k]] >= 0) l->last_use.data[param_regs[k]] = INT32_MAX;
  for (int k = 0; k < code->n_params; k++) {
    int32_t v = param_regs[k];
    if (v >= 0) param_regs[k] = l->last_use.data[v] < 0 ? -1 : (l->reg.data[v] = take_reg(l));
  }
  for (int t = 0; t < l->insns.len; t++) {
    interp_insn *in = &l->insns.data[t];
    int32_t *args = (int32_t *)in->args, *results = (int32_t *)in->results;
    for (int k = 0; k < in->n_results; k++) l->reg.data[results[k]] = take_reg(l);
    for (int k = in->n_args - 1; k >= 0; k--) {
      int32_t v = args[k];
      args[k] = l->reg.data[v];
      if (l->last_use.data[v] == t) {
        in->dies[k] = 1;
        vec_push(l->scratch, &l->free_regs, args[k]);
        l->last_use.data[v] = -2;  // earlier occurrences in this instruction do not die
      }
    }
    in->release = ARENA_ARRAY(l->c->a, int32_t, in->n_results + 1);
    for (int k = 0; k < in->n_results; k++) {
      int32_t v = results[k];
      results[k] = l->reg.data[v];
      if (l->last_use.data[v] < 0) {
        in->release[in->n_release++] = results[k];
        vec_push(l->scratch, &l->free_regs, results[k]);
      }
    }
    list_drops(l, in);
  }
}

// What becomes of the results in the end.
static void set_results(lowering *l, interp_code *code, const leaves *root, const int32_t *params) {
  int n = root->n;
  int32_t *results = ARENA_ARRAY(l->c->a, int32_t, n + 1), *param = ARENA_ARRAY(l->c->a, int32_t, n + 1);
  interp_type *types = ARENA_ARRAY(l->c->a, interp_type, n + 1);
  bool *shared = ARENA_ARRAY(l->c->a, bool, n + 1);
  for (int k = 0; k < n; k++) {
    results[k] = l->reg.data[root->v[k]];
    types[k] = interp_type_of(l->c, hlo_shape_leaf(l->comp->root->shape, k));
    param[k] = -1;
    for (int p = 0; p < code->n_params; p++)
      if (params[p] == root->v[k]) param[k] = p;
    for (int t = 0; t < code->n_kept; t++)
      if (code->insns[t].results[0] == results[k]) shared[k] = true;
  }
  for (int k = 0; k < n; k++)
    for (int j = k + 1; j < n && !shared[k]; j++) shared[k] = results[j] == results[k];
  code->n_results = n;
  code->result_regs = results;
  code->result_types = types;
  code->result_shared = shared;
  code->result_param = param;
}

static lemnos_status lower(lowering *l, interp_code *code) {
  interp_compiler *c = l->c;
  const hlo_computation *comp = l->comp;
  mark_live(l);
  int n = 0;
  for (int p = 0; p < comp->n_params; p++) n += hlo_shape_leaves(comp->params[p]->shape);
  code->n_params = n;
  interp_type *types = ARENA_ARRAY(c->a, interp_type, n + 1);
  int32_t *params = ARENA_ARRAY(c->a, int32_t, n + 1);
  n = 0;
  for (int p = 0; p < comp->n_params; p++) {
    leaves *r = make_leaves(l, comp->params[p]);
    ptrmap_put(l->scratch, &l->leaves_of, comp->params[p], r);
    for (int j = 0; j < r->n; j++, n++) {
      types[n] = interp_type_of(c, hlo_shape_leaf(comp->params[p]->shape, j));
      params[n] = r->v[j];
    }
  }
  code->param_types = types;
  code->param_regs = params;
  HLO_FOR_EACH (i, comp) {
    if (i->op == HLO_OP_PARAMETER || !ptrmap_get(&l->live, i)) continue;
    leaves *r = make_leaves(l, i);
    ptrmap_put(l->scratch, &l->leaves_of, i, r);
    if (is_alias_op(i->op)) continue;
    LEMNOS_TRY(compile_instr(l, i));
  }
  leaves *root = get_leaves(l, comp->root);
  int32_t *values = arena_copy(l->scratch, params, sizeof *params * (size_t)(code->n_params + 1));
  assign_registers(l, code, root);
  code->n_regs = l->n_regs;
  code->n_insns = l->insns.len;
  code->insns = arena_copy(c->a, l->insns.data, sizeof *l->insns.data * (size_t)l->insns.len);
  set_results(l, code, root, values);
  return LEMNOS_SUCCESS;
}

lemnos_status interp_compile_code(interp_compiler *c, const hlo_computation *comp, interp_code_use use,
                                  const interp_code **out) {
  const char *key = (const char *)comp + use;  // computations lie further apart than there are uses
  interp_code *code = ptrmap_get(&c->codes, key);
  if (code) return *out = code, LEMNOS_SUCCESS;
  if (++c->depth > MAX_NESTING)
    return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "interpreter: computations nested more than %d deep", MAX_NESTING);
  code = ARENA_NEW(c->a, interp_code);
  code->src = comp;
  lowering l = {.c = c, .comp = comp, .use = use, .scratch = arena_create()};
  lemnos_status s = lower(&l, code);
  arena_destroy(l.scratch);
  c->depth--;
  if (s) return s;
  ptrmap_put(c->a, &c->codes, key, code);
  vec_push(c->a, &c->list, code);
  *out = code;
  return LEMNOS_SUCCESS;
}

lemnos_status interp_compile(const hlo_module *m, interp_program **out_program) {
  if (!m->entry) return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "module has no entry computation");
  arena *a = arena_create();
  interp_compiler c = {.a = a, .module = m};
  const interp_code *entry = NULL;
  lemnos_status s = interp_compile_computation(&c, m->entry, &entry);
  if (s) {
    arena_destroy(a);
    return s;
  }
  interp_program *p = ARENA_NEW(a, interp_program);
  p->arena = a;
  p->module = m;
  p->entry = entry;
  p->codes = c.list.data;
  p->n_codes = c.list.len;
  p->meets = c.meets;
  p->keeps_probes = c.keeps_probes;
  *out_program = p;
  return LEMNOS_SUCCESS;
}

void interp_program_destroy(interp_program *p) {
  if (p) arena_destroy(p->arena);
}

int interp_program_n_args(const interp_program *p) {
  return p->entry->n_params;
}
int interp_program_n_results(const interp_program *p) {
  return p->entry->n_results;
}

// --- disassembler --------------------------------------------------------------------------------

static void print_type(strbuf *out, const interp_type *t) {
  hlo_shape_print(out, t->shape);
}

static void print_insn(strbuf *out, const interp_insn *in, int t) {
  strbuf_printf(out, "  %4d  ", t);
  for (int k = 0; k < in->n_results; k++) {
    strbuf_printf(out, "%sr%d:", k ? ", " : "", in->results[k]);
    print_type(out, &in->result_types[k]);
  }
  strbuf_printf(out, "%s%s", in->n_results ? " = " : "", hlo_op_table[in->src->op].text_name);
  for (int k = 0; k < in->n_args; k++)
    strbuf_printf(out, "%s%sr%d", k ? ", " : " ", in->dies[k] ? "~" : "", in->args[k]);
  for (int k = 0; k < in->n_results; k++)
    if (in->in_place[k] == INTERP_IN_PLACE_ANY)
      strbuf_append_cstr(out, " inplace(any)");
    else if (in->in_place[k] >= 0)
      strbuf_printf(out, " inplace(r%d<-r%d)", in->results[k], in->args[in->in_place[k]]);
  for (int k = 0; k < in->n_subs; k++) strbuf_printf(out, " @" STRV_FMT, STRV_ARG(in->subs[k]->src->name));
  for (int k = 0; k < in->n_release; k++) strbuf_printf(out, " drop r%d", in->release[k]);
  strbuf_printf(out, "  ; %%" STRV_FMT "\n", STRV_ARG(in->src->name));
}

void interp_program_disassemble(const interp_program *p, strbuf *out) {
  for (int k = 0; k < p->n_codes; k++) {
    const interp_code *code = p->codes[k];
    strbuf_printf(out, "%s @" STRV_FMT "  registers %d\n  params", code == p->entry ? "entry" : "code",
                  STRV_ARG(code->src->name), code->n_regs);
    for (int j = 0; j < code->n_params; j++) {
      if (code->param_regs[j] < 0)
        strbuf_printf(out, " _:");
      else
        strbuf_printf(out, " r%d:", code->param_regs[j]);
      print_type(out, &code->param_types[j]);
    }
    strbuf_append_char(out, '\n');
    for (int t = 0; t < code->n_insns; t++) print_insn(out, &code->insns[t], t);
    strbuf_printf(out, "  return");
    for (int j = 0; j < code->n_results; j++) strbuf_printf(out, " r%d", code->result_regs[j]);
    strbuf_append_cstr(out, "\n\n");
  }
}
