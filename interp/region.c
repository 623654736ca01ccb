// SPDX-License-Identifier: Apache-2.0
// Computations over scalars (the bodies of reduce, sort, scatter, map, ...) and folds built on them.
//
// A body that consists of elementwise operations on scalars is turned into a list of typed loops over "lanes": each
// scalar becomes a block of up to INTERP_LANES elements, so the dispatch cost is paid once per block. Any other body is
// compiled as ordinary code and called element by element.
//
// The scratch of a run holds the blocks of its lanes one after another, each for as many elements as the run has, in
// sixteens.
#include "interp/interp_internal.h"

// --- conversions ---------------------------------------------------------------------------------

bool interp_cvt_init(interp_cvt *v, hlo_dtype from, hlo_dtype to) {
  *v = (interp_cvt){.from = from, .to = to};
  if (from == to) return true;
  const char *reason = NULL;
  v->fn = hlo_eval_lookup(HLO_OP_CONVERT, NULL, 1, &from, to, &v->param, &reason);
  return v->fn != NULL;
}

void interp_cvt_run(const interp_cvt *v, int64_t n, const void *in, void *out) {
  if (v->fn)
    v->fn(&v->param, n, &in, out);
  else if (in != out)
    memcpy(out, in, (size_t)(n * hlo_dtype_bytes(v->to)));
}

// --- lanes ---------------------------------------------------------------------------------------

typedef struct lane_ref {
  int32_t param;         // >= 0: parameter leaf
  const void *constant;  // INTERP_LANES copies
  size_t offset;         // else place in scratch, in bytes per lane
} lane_ref;

typedef struct lane_insn {
  hlo_eval_fn fn;
  hlo_eval_param param;
  int n_in;
  lane_ref in[3];
  size_t offset;
} lane_insn;

struct interp_region {
  int n_params, n_results;
  const interp_type *param_types, *result_types;
  VEC(lane_insn) insns;
  lane_ref *results;
  int32_t *result_bytes;
  size_t scratch;  // bytes per lane
  bool lanes;
  const interp_code *code;  // when not lanes
};

typedef struct lane_values {
  lane_ref *v;
  int n;
} lane_values;

static lane_values *lane_get(const u64map *m, const hlo_instr *i) {
  return ptrmap_get(m, i);
}

static size_t lane_place(interp_region *r, int bytes) {
  size_t at = r->scratch;
  r->scratch += (size_t)bytes;
  return at;
}

static bool lane_lower(interp_compiler *c, interp_region *r, arena *scratch, const hlo_computation *comp,
                       const lane_values *args, lane_values *out, int depth);

static bool lane_op(interp_compiler *c, interp_region *r, const hlo_instr *i, const u64map *m, lane_values *v) {
  if (!hlo_op_has(i->op, HLO_TRAIT_E) && i->op != HLO_OP_BITCAST_CONVERT) return false;
  if (i->shape->quant || i->n_operands > 3) return false;
  hlo_dtype types[3];
  lane_insn in = {.n_in = i->n_operands};
  for (int k = 0; k < i->n_operands; k++) {
    if (i->operands[k]->shape->quant) return false;
    types[k] = i->operands[k]->shape->dtype;
    in.in[k] = lane_get(m, i->operands[k])->v[0];
  }
  if (i->op == HLO_OP_BITCAST_CONVERT) {
    // types below a byte are kept sign- or zero-extended, so that even equal widths differ in memory
    int bits = hlo_dtype_table[types[0]].bits;
    if (bits < 8 || bits != hlo_dtype_table[i->shape->dtype].bits) return false;
    v->v[0] = in.in[0];
    return true;
  }
  const char *reason = NULL;
  in.fn = hlo_eval_lookup(i->op, i->attrs, i->n_operands, types, i->shape->dtype, &in.param, &reason);
  if (!in.fn) return false;
  in.offset = lane_place(r, hlo_dtype_bytes(i->shape->dtype));
  vec_push(c->a, &r->insns, in);
  v->v[0] = (lane_ref){.param = -1, .offset = in.offset};
  return true;
}

static bool lane_constant(interp_compiler *c, const hlo_instr *i, lane_values *v) {
  int bytes = hlo_dtype_bytes(i->shape->dtype);
  if (bytes == 0) return false;
  void *data = arena_alloc(c->a, (size_t)bytes * INTERP_LANES);
  interp_fill(data, hlo_constant_value(i)->data, bytes, INTERP_LANES);
  v->v[0] = (lane_ref){.param = -1, .constant = data};
  return true;
}

static bool lane_select(interp_compiler *c, interp_region *r, lane_ref pred, lane_ref yes, lane_ref no, hlo_dtype t,
                        lane_ref *out) {
  const char *reason = NULL;
  hlo_dtype types[3] = {HLO_PRED, t, t};
  lane_insn in = {.n_in = 3, .in = {pred, yes, no}};
  in.fn = hlo_eval_lookup(HLO_OP_SELECT, NULL, 3, types, t, &in.param, &reason);
  if (!in.fn) return false;
  in.offset = lane_place(r, hlo_dtype_bytes(t));
  vec_push(c->a, &r->insns, in);
  *out = (lane_ref){.param = -1, .offset = in.offset};
  return true;
}

// A conditional on a pred: lanes differ, so both branches are computed (they consist of elementwise operations, which
// have no effects and cannot fail) and each lane selects.
static bool lane_conditional(interp_compiler *c, interp_region *r, arena *scratch, const hlo_instr *i, const u64map *m,
                             lane_values *v, int depth) {
  if (i->n_called != 2 || i->operands[0]->shape->dtype != HLO_PRED) return false;
  lane_values branch[2];
  for (int b = 0, k = 1; b < 2; b++) {
    lane_values args = {.v = ARENA_ARRAY(scratch, lane_ref, 64)};
    branch[b].v = ARENA_ARRAY(scratch, lane_ref, v->n + 1);
    for (int p = 0; p < i->called[b]->n_params; p++, k++) {
      lane_values *from = lane_get(m, i->operands[k]);
      if (args.n + from->n > 64) return false;
      for (int j = 0; j < from->n; j++) args.v[args.n++] = from->v[j];
    }
    if (!lane_lower(c, r, scratch, i->called[b], &args, &branch[b], depth + 1)) return false;
  }
  for (int k = 0; k < v->n; k++)
    if (!lane_select(c, r, lane_get(m, i->operands[0])->v[0], branch[0].v[k], branch[1].v[k],
                     hlo_shape_leaf(i->shape, k)->dtype, &v->v[k]))
      return false;
  return true;
}

static bool lane_instr(interp_compiler *c, interp_region *r, arena *scratch, const hlo_instr *i, u64map *m, int depth) {
  lane_values *v = ARENA_NEW(scratch, lane_values);
  v->n = hlo_shape_leaves(i->shape);
  v->v = ARENA_ARRAY(scratch, lane_ref, v->n + 1);
  for (int k = 0; k < v->n; k++) {
    const hlo_shape *leaf = hlo_shape_leaf(i->shape, k);
    if (leaf->rank != 0 || !hlo_shape_is_array(leaf)) return false;
  }
  ptrmap_put(scratch, m, i, v);
  switch (i->op) {
    case HLO_OP_CONSTANT: return lane_constant(c, i, v);
    case HLO_OP_TUPLE:
    case HLO_OP_OPTIMIZATION_BARRIER:
    case HLO_OP_COPY:
    case HLO_OP_BITCAST:
    case HLO_OP_RESHAPE:
    case HLO_OP_BROADCAST_IN_DIM: {
      int n = 0;
      for (int k = 0; k < i->n_operands; k++) {
        lane_values *from = lane_get(m, i->operands[k]);
        for (int j = 0; j < from->n; j++) v->v[n++] = from->v[j];
      }
      return n == v->n;
    }
    case HLO_OP_GET_TUPLE_ELEMENT: {
      int64_t index = HLO_ATTRS(i, get_tuple_element)->index;
      int offset = 0;
      for (int64_t e = 0; e < index; e++) offset += hlo_shape_leaves(i->operands[0]->shape->elements[e]);
      memcpy(v->v, lane_get(m, i->operands[0])->v + offset, sizeof *v->v * (size_t)v->n);
      return true;
    }
    case HLO_OP_CALL:
    case HLO_OP_FUSION:
    case HLO_OP_COMPOSITE: {
      lane_values args = {.v = ARENA_ARRAY(scratch, lane_ref, 64)};
      for (int k = 0; k < i->n_operands; k++) {
        lane_values *from = lane_get(m, i->operands[k]);
        if (args.n + from->n > 64) return false;
        for (int j = 0; j < from->n; j++) args.v[args.n++] = from->v[j];
      }
      return lane_lower(c, r, scratch, i->called[0], &args, v, depth + 1);
    }
    case HLO_OP_CONDITIONAL: return lane_conditional(c, r, scratch, i, m, v, depth);
    default: return lane_op(c, r, i, m, v);
  }
}

static bool lane_lower(interp_compiler *c, interp_region *r, arena *scratch, const hlo_computation *comp,
                       const lane_values *args, lane_values *out, int depth) {
  if (depth > 16) return false;
  u64map m = {0};
  int n = 0;
  for (int p = 0; p < comp->n_params; p++) {
    lane_values *v = ARENA_NEW(scratch, lane_values);
    v->n = hlo_shape_leaves(comp->params[p]->shape);
    v->v = args->v + n;
    n += v->n;
    for (int k = 0; k < v->n; k++)
      if (hlo_shape_leaf(comp->params[p]->shape, k)->rank != 0) return false;
    ptrmap_put(scratch, &m, comp->params[p], v);
  }
  HLO_FOR_EACH (i, comp) {
    if (i->op == HLO_OP_PARAMETER) continue;
    if (!lane_instr(c, r, scratch, i, &m, depth)) return false;
  }
  lane_values *root = lane_get(&m, comp->root);
  memcpy(out->v, root->v, sizeof *out->v * (size_t)root->n);
  out->n = root->n;
  return true;
}

static bool try_lanes(interp_compiler *c, interp_region *r, arena *scratch, const hlo_computation *comp) {
  lane_values args = {.v = ARENA_ARRAY(scratch, lane_ref, r->n_params + 1), .n = r->n_params};
  for (int k = 0; k < r->n_params; k++) args.v[k] = (lane_ref){.param = k};
  lane_values out = {.v = ARENA_ARRAY(c->a, lane_ref, r->n_results + 1)};
  r->insns.len = 0;
  r->scratch = 0;
  if (!lane_lower(c, r, scratch, comp, &args, &out, 0)) return false;
  r->results = out.v;
  return true;
}

lemnos_status interp_region_compile(interp_compiler *c, const hlo_computation *comp, interp_region **out) {
  interp_region *r = ARENA_NEW(c->a, interp_region);
  int n = 0;
  for (int p = 0; p < comp->n_params; p++) n += hlo_shape_leaves(comp->params[p]->shape);
  r->n_params = n;
  r->n_results = hlo_shape_leaves(comp->root->shape);
  interp_type *params = ARENA_ARRAY(c->a, interp_type, n + 1),
              *results = ARENA_ARRAY(c->a, interp_type, r->n_results + 1);
  n = 0;
  for (int p = 0; p < comp->n_params; p++)
    for (int k = 0; k < hlo_shape_leaves(comp->params[p]->shape); k++)
      params[n++] = interp_type_of(c, hlo_shape_leaf(comp->params[p]->shape, k));
  r->result_bytes = ARENA_ARRAY(c->a, int32_t, r->n_results + 1);
  for (int k = 0; k < r->n_results; k++) {
    results[k] = interp_type_of(c, hlo_shape_leaf(comp->root->shape, k));
    r->result_bytes[k] = hlo_dtype_bytes(results[k].dtype);
  }
  r->param_types = params;
  r->result_types = results;
  arena *scratch = arena_create();
  r->lanes = try_lanes(c, r, scratch, comp);
  arena_destroy(scratch);
  if (!r->lanes) {
    r->scratch = 0;
    LEMNOS_TRY(interp_compile_computation(c, comp, &r->code));
  }
  *out = r;
  return LEMNOS_SUCCESS;
}

// Lanes in sixteens, so that blocks of any element type are aligned.
static size_t in_sixteens(int64_t n) {
  return ((size_t)n + 15) & ~(size_t)15;
}

// Room for the lanes, and behind it one element of each result, for results that overwrite each other's inputs.
size_t interp_region_scratch(const interp_region *r, int64_t n) {
  return r->scratch * in_sixteens(n) + (size_t)r->n_results * 16;
}
bool interp_region_is_lanes(const interp_region *r) {
  return r->lanes;
}

static inline const void *lane_address(const lane_ref *v, const void *const *in, char *scratch, size_t lanes) {
  if (v->param >= 0) return in[v->param];
  return v->constant ? v->constant : scratch + v->offset * lanes;
}

static inline void copy_small(void *out, const void *in, size_t bytes) {
  switch (bytes) {
    case 1: memcpy(out, in, 1); break;
    case 2: memcpy(out, in, 2); break;
    case 4: memcpy(out, in, 4); break;
    case 8: memcpy(out, in, 8); break;
    default: memmove(out, in, bytes); break;
  }
}

static lemnos_status run_as_code(const interp_region *r, interp_ctx *cx, int64_t n, const void *const *in,
                                 void *const *out) {
  interp_frame f = {0};
  interp_value *args = calloc((size_t)(r->n_params + r->n_results) + 1, sizeof *args), *results = args + r->n_params;
  if (!args) return lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "interpreter: no memory for a frame");
  lemnos_status s = interp_frame_init(cx, &f, r->code);
  for (int64_t e = 0; e < n && !s; e++) {
    for (int k = 0; k < r->n_params && !s; k++) {
      const interp_type *t = &r->param_types[k];
      interp_array_set_type(&args[k].a, t->dtype, t->rank, t->dims);
      s = interp_value_borrow(cx, &args[k], (const char *)in[k] + e * hlo_dtype_bytes(t->dtype));
    }
    if (!s) s = interp_frame_run(cx, &f, args, results);
    for (int k = 0; k < r->n_results && !s; k++)
      memcpy((char *)out[k] + e * r->result_bytes[k], results[k].a.data, (size_t)r->result_bytes[k]);
    for (int k = 0; k < r->n_results; k++) interp_value_release(cx, &results[k]);
  }
  for (int k = 0; k < r->n_params; k++) interp_value_release(cx, &args[k]);
  interp_frame_deinit(cx, &f);
  free(args);
  return s;
}

lemnos_status interp_region_run(const interp_region *r, interp_ctx *cx, void *scratch, int64_t n, const void *const *in,
                                void *const *out) {
  if (!r->lanes) return run_as_code(r, cx, n, in, out);
  char *base = scratch;
  size_t lanes = in_sixteens(n);
  for (int t = 0; t < r->insns.len; t++) {
    const lane_insn *i = &r->insns.data[t];
    const void *args[3];
    for (int k = 0; k < i->n_in; k++) args[k] = lane_address(&i->in[k], in, base, lanes);
    i->fn(&i->param, n, args, base + i->offset * lanes);
  }
  if (r->n_results == 1) {
    const void *from = lane_address(&r->results[0], in, base, lanes);
    if (from != out[0]) copy_small(out[0], from, (size_t)(n * r->result_bytes[0]));
    return LEMNOS_SUCCESS;
  }
  // Results that are parameters may be swapped among each other: go through a copy where one would be overwritten.
  bool hazard = false;
  for (int k = 0; k < r->n_results; k++)
    for (int j = 0; j < k; j++)
      if (lane_address(&r->results[k], in, base, lanes) == out[j] && r->results[k].param >= 0) hazard = true;
  if (!hazard) {
    for (int k = 0; k < r->n_results; k++) {
      const void *from = lane_address(&r->results[k], in, base, lanes);
      if (from != out[k]) copy_small(out[k], from, (size_t)(n * r->result_bytes[k]));
    }
    return LEMNOS_SUCCESS;
  }
  char *tmp = base + r->scratch * lanes;
  for (int64_t e = 0; e < n; e++) {
    for (int k = 0; k < r->n_results; k++)
      memcpy(tmp + 16 * k, (const char *)lane_address(&r->results[k], in, base, lanes) + e * r->result_bytes[k],
             (size_t)r->result_bytes[k]);
    for (int k = 0; k < r->n_results; k++)
      memcpy((char *)out[k] + e * r->result_bytes[k], tmp + 16 * k, (size_t)r->result_bytes[k]);
  }
  return LEMNOS_SUCCESS;
}

// --- folds ---------------------------------------------------------------------------------------

static bool is_narrow_float(hlo_dtype t) {
  return hlo_dtype_is_float(t) && t != HLO_F64;
}

// The fold of one binary operation on element type `kept`, converted from and to `t`; false: no loop for it.
static bool fold_binary(arena *a, interp_fold *f, const hlo_instr *root, hlo_dtype t, hlo_dtype kept, bool swapped) {
  const char *reason = NULL;
  hlo_dtype in[2] = {kept, kept}, *types = ARENA_ARRAY(a, hlo_dtype, 2);
  types[0] = t;
  types[1] = kept;
  int32_t *room = ARENA_NEW(a, int32_t);
  *room = hlo_dtype_bytes(t) > hlo_dtype_bytes(kept) ? hlo_dtype_bytes(t) : hlo_dtype_bytes(kept);
  *f = (interp_fold){.n = 1,
                     .types = types,
                     .acc_types = types + 1,
                     .room = room,
                     .op = root->op,
                     .swapped = swapped,
                     .wide = t != kept};
  if (f->wide && (!interp_cvt_init(&f->widen, t, kept) || !interp_cvt_init(&f->narrow, kept, t))) return false;
  f->fn = hlo_eval_lookup(root->op, root->attrs, 2, in, kept, &f->param, &reason);
  return f->fn != NULL;
}

lemnos_status interp_fold_compile(interp_compiler *c, const hlo_computation *body, int n, const interp_type *types,
                                  interp_fold **out) {
  interp_fold *f = ARENA_NEW(c->a, interp_fold);
  *out = f;
  hlo_op op;
  bool swapped;
  hlo_dtype first = types[0].dtype;
  bool same = n == 1 && body->n_params == 2 && body->params[0]->shape->dtype == first &&
              body->params[1]->shape->dtype == first && body->root->shape->dtype == first && !body->root->shape->quant;
  if (same && hlo_computation_is_binary(body, &op, &swapped) && op != HLO_OP_COMPARE &&
      fold_binary(c->a, f, body->root, first, first, swapped)) {
    interp_fold *w = ARENA_NEW(c->a, interp_fold);
    if (is_narrow_float(first) && (op == HLO_OP_ADD || op == HLO_OP_MULTIPLY) &&
        fold_binary(c->a, w, body->root, first, HLO_F64, swapped))
      f->kept_wide = w;
    return LEMNOS_SUCCESS;
  }
  hlo_dtype *t = ARENA_ARRAY(c->a, hlo_dtype, n);
  for (int k = 0; k < n; k++) t[k] = types[k].dtype;
  int32_t *room = ARENA_ARRAY(c->a, int32_t, n);
  *f = (interp_fold){.n = n, .types = t, .acc_types = t, .room = room};
  LEMNOS_TRY(interp_region_compile(c, body, &f->region));
  for (int k = 0; k < n; k++) {
    int result = k < f->region->n_results ? f->region->result_bytes[k] : 0;
    room[k] = hlo_dtype_bytes(t[k]) > result ? hlo_dtype_bytes(t[k]) : result;
  }
  return LEMNOS_SUCCESS;
}

// Of a region: the addresses of its 2 n arguments, then its own scratch.
static size_t fold_addresses(const interp_fold *f) {
  return interp_align(2 * (size_t)f->n * sizeof(void *));
}

size_t interp_fold_scratch(const interp_fold *f, int64_t n) {
  if (f->region) return interp_align(fold_addresses(f) + interp_region_scratch(f->region, n));
  return f->wide ? interp_align(sizeof(double) * (size_t)n) : 0;
}

lemnos_status interp_fold_step(const interp_fold *f, interp_ctx *cx, void *scratch, int64_t n, const void *const *x,
                               void *const *acc) {
  if (f->fn) {
    const void *v = x[0];
    if (f->wide) {
      f->widen.fn(&f->widen.param, n, &v, scratch);
      v = scratch;
    }
    const void *in[2] = {f->swapped ? v : acc[0], f->swapped ? acc[0] : v};
    f->fn(&f->param, n, in, acc[0]);
    return LEMNOS_SUCCESS;
  }
  const void **in = scratch;
  for (int k = 0; k < f->n; k++) {
    in[k] = acc[k];
    in[f->n + k] = x[k];
  }
  return interp_region_run(f->region, cx, (char *)scratch + fold_addresses(f), n, in, acc);
}

bool interp_fold_arrays_init(interp_call *c, const interp_fold *f, interp_fold_arrays *a) {
  size_t n = (size_t)f->n;
  a->in = interp_scratch(c->cx, n * (3 * sizeof(char *) + sizeof *a->bytes));
  if (!a->in) return false;
  a->init = a->in + n;
  a->out = (char **)(a->init + n);
  a->bytes = (int *)(a->out + n);
  for (int k = 0; k < f->n; k++) {
    a->in[k] = interp_arg(c, k)->data;
    a->init[k] = interp_arg(c, f->n + k)->data;
    a->out[k] = interp_result(c, k)->data;
    a->bytes[k] = hlo_dtype_bytes(f->types[k]);
  }
  return true;
}

size_t interp_fold_lanes_bytes(const interp_fold *f, int64_t n) {
  size_t bytes = interp_fold_scratch(f, n) + interp_align(3 * (size_t)f->n * sizeof(char *));
  for (int k = 0; k < f->n; k++) bytes += 2 * (size_t)f->room[k] * in_sixteens(n);
  return interp_align(bytes);
}

interp_fold_lanes interp_fold_lanes_at(const interp_fold *f, char *scratch, int64_t n) {
  interp_fold_lanes l = {.fold = scratch, .acc = (char **)(scratch + interp_fold_scratch(f, n))};
  l.x = l.acc + f->n;
  l.at = (const void **)(l.x + f->n);
  char *lane = (char *)l.acc + interp_align(3 * (size_t)f->n * sizeof(char *));
  for (int k = 0; k < f->n; k++) {
    l.acc[k] = lane;
    l.x[k] = lane += (size_t)f->room[k] * in_sixteens(n);
    lane += (size_t)f->room[k] * in_sixteens(n);
  }
  return l;
}

void interp_fold_widen(const interp_fold *f, int k, int64_t n, const void *in, void *acc) {
  if (f->wide)
    interp_cvt_run(&f->widen, n, in, acc);
  else
    memcpy(acc, in, (size_t)(n * hlo_dtype_bytes(f->types[k])));
}

void interp_fold_narrow(const interp_fold *f, int k, int64_t n, const void *acc, void *out) {
  if (f->wide)
    interp_cvt_run(&f->narrow, n, acc, out);
  else
    memcpy(out, acc, (size_t)(n * hlo_dtype_bytes(f->types[k])));
}
