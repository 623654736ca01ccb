// SPDX-License-Identifier: Apache-2.0
// Refinement: a module specialised for concrete argument shapes.
//
// Computations are rebuilt from the entry on, once for each distinct set of parameter facts. A fact about a value is
// its new shape and, for small integers, its value if that is known (get_dimension_size of a known size starts it,
// constant evaluation carries it on, calls and loop-invariant carried values pass it in). Where all that a dynamic_*
// operation needs to know is known, its static form takes its place. Known values become constants where something uses
// them. Computations that have nothing dynamic are used as they are.
#include <stdio.h>

#include "frontend/import.h"
#include "frontend/import_fold.h"
#include "hlo/builder.h"

typedef struct fact {
  const hlo_shape *shape;
  hlo_instr *instr;              // NULL: not needed so far (a known value), or dropped
  const hlo_literal *value;      // NULL: not known
  struct fact *const *elements;  // of a tuple, NULL if nothing is known of them
} fact;

typedef struct version {
  const hlo_computation *from;
  fact *const *params;
  hlo_computation *to;
  fact *result;
} version;

typedef struct refiner {
  hlo_module *module;
  arena *arena;
  diag_sink *sink;
  VEC(version) versions;
  uint8_t *plain;  // by computation id: 0 unknown, 1 plain, 2 not
  int n_plain;
  int depth;
  lemnos_status status;  // of the first failure that is not in the sink
} refiner;

typedef struct frame {
  refiner *r;
  hlo_computation *to;
  u64map facts;  // old instruction -> fact
  fact *const *params;
} frame;

static hlo_computation *specialise(refiner *r, hlo_computation *from, fact *const *params, fact **out_result);

static bool fail(refiner *r, const loc *l, const char *format, ...) LEMNOS_PRINTF(3, 4);
static bool fail(refiner *r, const loc *l, const char *format, ...) {
  va_list args;
  va_start(args, format);
  diag_addv(r->sink, DIAG_ERROR, l, (strv){0}, format, args);
  va_end(args);
  return false;
}

// --- what is dynamic -----------------------------------------------------------------------------

static bool is_assertion(const hlo_instr *i) {
  return i->op == HLO_OP_CUSTOM_CALL && strv_eq_cstr(HLO_ATTRS(i, custom_call)->target, "shape_assertion");
}

// It only tells what shape its first operand has.
static bool is_operand_wrapper(const hlo_instr *i) {
  return i->op == HLO_OP_CUSTOM_CALL && i->n_operands > 0 &&
         strv_eq_cstr(HLO_ATTRS(i, custom_call)->target, "stablehlo.shape_refinement_operand_wrapper");
}

static bool is_dynamic(const hlo_instr *i) {
  if (!hlo_shape_is_static(i->shape) || hlo_op_table[i->op].family == HLO_FAMILY_DYNAMIC || is_assertion(i) ||
      is_operand_wrapper(i))
    return true;
  return i->op == HLO_OP_CUSTOM_CALL && strv_starts_with(HLO_ATTRS(i, custom_call)->target, STRV("stablehlo.dynamic_"));
}

static bool is_plain(refiner *r, const hlo_computation *c) {
  if (c->id >= r->n_plain) return false;
  if (r->plain[c->id]) return r->plain[c->id] == 1;
  r->plain[c->id] = 1;
  HLO_FOR_EACH (i, c) {
    bool ok = !is_dynamic(i);
    for (int k = 0; k < i->n_called && ok; k++) ok = is_plain(r, i->called[k]);
    if (!ok) {
      r->plain[c->id] = 2;
      return false;
    }
  }
  return true;
}

// --- facts ---------------------------------------------------------------------------------------

static fact *fact_of(frame *f, const hlo_instr *i) {
  return ptrmap_get(&f->facts, i);
}

static fact *new_fact(refiner *r, const hlo_shape *shape, hlo_instr *instr, const hlo_literal *value) {
  fact *x = ARENA_NEW(r->arena, fact);
  *x = (fact){.shape = shape, .instr = instr, .value = value};
  return x;
}

static hlo_builder builder(frame *f, const loc *l) {
  hlo_builder b = hlo_builder_end(f->to);
  b.loc = l;
  return b;
}

static hlo_instr *materialise(frame *f, fact *x, const loc *l) {
  if (!x->instr && x->value) {
    hlo_builder b = builder(f, l);
    x->instr = hlo_build_constant(&b, x->value);
  }
  return x->instr;
}

static bool facts_equal(const fact *a, const fact *b) {
  if (a->shape != b->shape || !a->value != !b->value || !a->elements != !b->elements) return false;
  if (a->value && !hlo_literal_equal(a->value, b->value)) return false;
  if (a->elements)
    for (int i = 0; i < a->shape->n_elements; i++)
      if (!facts_equal(a->elements[i], b->elements[i])) return false;
  return true;
}

// The fact without its instruction, to be handed to another computation.
static fact *portable(refiner *r, const fact *x) {
  fact *p = new_fact(r, x->shape, NULL, x->value);
  if (x->elements) {
    fact **e = ARENA_ARRAY(r->arena, fact *, x->shape->n_elements);
    for (int i = 0; i < x->shape->n_elements; i++) e[i] = portable(r, x->elements[i]);
    p->elements = e;
  }
  return p;
}

static const int64_t *ints(refiner *r, const fact *x, int *n) {
  if (!x || !x->value) return NULL;
  *n = (int)hlo_shape_elements(x->value->shape);
  int64_t *data = ARENA_ARRAY(r->arena, int64_t, *n);
  for (int i = 0; i < *n; i++) data[i] = hlo_literal_get_i64(x->value, i);
  return data;
}

// --- making instructions -------------------------------------------------------------------------

static fact *emit(frame *f, const hlo_instr *old, hlo_op op, const hlo_shape *declared, int n,
                  hlo_instr *const *operands, int n_called, hlo_computation *const *called, void *attrs) {
  refiner *r = f->r;
  const hlo_shape *shape;
  lemnos_status status =
      hlo_infer_shape(r->module, op, n, operands, n_called, called, attrs, declared, old->loc, r->sink, &shape);
  if (status) {
    if (r->status)
      lemnos_status_free(status);
    else
      r->status = status;
    return NULL;
  }
  return new_fact(r, shape,
                  hlo_instr_create(f->to, NULL, op, shape, n, operands, n_called, called, attrs, old->loc, (strv){0}),
                  NULL);
}

// old's declared shape with sizes that follow from same-shaped operands; inference does the rest.
static const hlo_shape *declared_shape(frame *f, const hlo_instr *old, fact *const *in) {
  const hlo_shape *s = old->shape;
  if (!hlo_shape_is_array(s) || hlo_shape_is_static(s)) return s;
  int n = 0;
  const int64_t *dims = NULL;
  if (old->op == HLO_OP_RNG && (dims = ints(f->r, in[2], &n)) && n == s->rank) {
    return hlo_shape_with_dims(f->r->module->shapes, s, s->rank, dims);
  }
  if (old->op == HLO_OP_CONVERT || old->op == HLO_OP_UNIFORM_QUANTIZE || old->op == HLO_OP_UNIFORM_DEQUANTIZE ||
      (old->op == HLO_OP_BITCAST_CONVERT && in[0]->shape->rank == s->rank))
    if (in[0]->shape->rank == s->rank) {
      hlo_shape proto = *s;
      proto.dims = in[0]->shape->dims;
      proto.bounds = in[0]->shape->bounds;
      return hlo_shape_intern(f->r->module->shapes, &proto);
    }
  return s;
}

// --- dynamic operations --------------------------------------------------------------------------

static fact *static_form(frame *f, const hlo_instr *old, hlo_op op, const int64_t *dims, int n_operands,
                         fact *const *in, void *attrs) {
  hlo_instr *operands[4];
  for (int i = 0; i < n_operands; i++) operands[i] = materialise(f, in[i], old->loc);
  const hlo_shape *shape = dims ? hlo_shape_with_dims(f->r->module->shapes, old->shape, old->shape->rank, dims) : NULL;
  return emit(f, old, op, shape, n_operands, operands, 0, NULL, attrs);
}

static fact *refine_size(frame *f, const hlo_instr *old, fact *const *in) {
  int64_t d = HLO_ATTRS(old, dimension)->dimension;
  if (in[0]->shape->dims[d] == HLO_DYNAMIC) return NULL;
  hlo_literal *l;
  lemnos_status status = hlo_literal_create(f->r->arena, old->shape, &l);
  if (status) {
    lemnos_status_free(status);
    return NULL;
  }
  hlo_element_set_i64(old->shape->dtype, l->data, 0, in[0]->shape->dims[d]);
  return new_fact(f->r, old->shape, NULL, l);
}

// real_dynamic_slice(x, start, start + size, 1) with a known size: a dynamic_slice, whose result is static. NULL: it is
// not.
static fact *refine_slice_at(frame *f, const hlo_instr *old, fact *const *in) {
  refiner *r = f->r;
  const hlo_instr *start = old->operands[1], *limit = old->operands[2];
  int n = 0, n_stride = 0;
  if (limit->op != HLO_OP_ADD || (limit->operands[0] != start && limit->operands[1] != start)) return NULL;
  const int64_t *size = ints(r, fact_of(f, limit->operands[limit->operands[0] == start]), &n);
  const int64_t *stride = ints(r, in[3], &n_stride);
  if (!size || !stride || n != old->shape->rank || n != n_stride || n > 32) return NULL;
  for (int d = 0; d < n; d++)
    if (stride[d] != 1 || size[d] < 0) return NULL;
  hlo_instr *operands[33] = {materialise(f, in[0], old->loc)}, *all = materialise(f, in[1], old->loc);
  hlo_builder b = builder(f, old->loc);
  for (int64_t d = 0; d < n; d++) {
    hlo_instr *one = hlo_build_slice(&b, all, &d, (int64_t[]){d + 1}, NULL);
    operands[d + 1] = hlo_build_reshape(&b, one, 0, NULL);
  }
  hlo_attrs_dynamic_slice *a = hlo_attrs_create(r->arena, HLO_ATTR_LIST_dynamic_slice);
  a->slice_sizes = (hlo_i64s){size, n};
  return emit(f, old, HLO_OP_DYNAMIC_SLICE, NULL, n + 1, operands, 0, NULL, a);
}

static fact *refine_slice(frame *f, const hlo_instr *old, fact *const *in) {
  int n[3] = {0};
  const int64_t *start = ints(f->r, in[1], &n[0]), *limit = ints(f->r, in[2], &n[1]),
                *stride = ints(f->r, in[3], &n[2]);
  if (!start && !limit) return refine_slice_at(f, old, in);
  if (!start || !limit || !stride || n[0] != n[1] || n[0] != n[2]) return NULL;
  hlo_attrs_slice *a = hlo_attrs_create(f->r->arena, HLO_ATTR_LIST_slice);
  a->slice = (hlo_slice){start, limit, stride, n[0]};
  return static_form(f, old, HLO_OP_SLICE, NULL, 1, in, a);
}

static fact *refine_pad(frame *f, const hlo_instr *old, fact *const *in) {
  int n = 0, n_high = 0, n_interior = 0;
  const int64_t *low = ints(f->r, in[2], &n), *high = ints(f->r, in[3], &n_high),
                *interior = ints(f->r, in[4], &n_interior);
  if (!low || !high || !interior || n != n_high || n != n_interior) return NULL;
  hlo_padding_dim *dims = ARENA_ARRAY(f->r->arena, hlo_padding_dim, n);
  for (int i = 0; i < n; i++) dims[i] = (hlo_padding_dim){low[i], high[i], interior[i]};
  hlo_attrs_pad *a = hlo_attrs_create(f->r->arena, HLO_ATTR_LIST_pad);
  a->padding = (hlo_padding){dims, n};
  return static_form(f, old, HLO_OP_PAD, NULL, 2, in, a);
}

static fact *refine_gather(frame *f, const hlo_instr *old, fact *const *in) {
  int n = 0;
  const int64_t *sizes = ints(f->r, in[2], &n);
  if (!sizes) return NULL;
  hlo_attrs_gather *a = hlo_attrs_create(f->r->arena, HLO_ATTR_LIST_gather);
  a->dnums = HLO_ATTRS(old, dynamic_gather)->dnums;
  a->indices_are_sorted = HLO_ATTRS(old, dynamic_gather)->indices_are_sorted;
  a->slice_sizes = (hlo_i64s){sizes, n};
  return static_form(f, old, HLO_OP_GATHER, NULL, 2, in, a);
}

static fact *refine_conv(frame *f, const hlo_instr *old, fact *const *in) {
  int n = 0;
  const int64_t *pad = ints(f->r, in[2], &n);
  hlo_attrs_convolution *a = hlo_attrs_clone(f->r->arena, HLO_ATTR_LIST_convolution, old->attrs);
  if (!pad || n != 2 * a->window.n) return NULL;
  hlo_window_dim *dims = ARENA_ARRAY(f->r->arena, hlo_window_dim, a->window.n);
  for (int i = 0; i < a->window.n; i++) {
    dims[i] = a->window.dims[i];
    dims[i].pad_low = pad[2 * i];
    dims[i].pad_high = pad[2 * i + 1];
    if (dims[i].size == HLO_DYNAMIC) dims[i].size = in[1]->shape->dims[a->dnums.kernel_spatial.data[i]];
  }
  a->window.dims = dims;
  return static_form(f, old, HLO_OP_CONVOLUTION, NULL, 2, in, a);
}

static fact *refine_set_size(frame *f, const hlo_instr *old, fact *const *in) {
  int n = 0;
  const int64_t *size = ints(f->r, in[1], &n);
  int64_t d = HLO_ATTRS(old, dimension)->dimension;
  if (!size || in[0]->shape->dims[d] != size[0]) return NULL;
  return new_fact(f->r, in[0]->shape, materialise(f, in[0], old->loc), in[0]->value);
}

// A known static form, or NULL (without a report) if something is not known.
static fact *refine_dynamic(frame *f, const hlo_instr *old, fact *const *in) {
  int n = 0;
  const int64_t *dims;
  refiner *r = f->r;
  switch (old->op) {
    case HLO_OP_GET_DIMENSION_SIZE: return refine_size(f, old, in);
    case HLO_OP_SET_DIMENSION_SIZE: return refine_set_size(f, old, in);
    case HLO_OP_REAL_DYNAMIC_SLICE: return refine_slice(f, old, in);
    case HLO_OP_DYNAMIC_PAD: return refine_pad(f, old, in);
    case HLO_OP_DYNAMIC_GATHER: return refine_gather(f, old, in);
    case HLO_OP_DYNAMIC_CONV: return refine_conv(f, old, in);
    case HLO_OP_DYNAMIC_RESHAPE:
      if (!(dims = ints(r, in[1], &n)) || n != old->shape->rank) return NULL;
      if (hlo_shape_with_dims(r->module->shapes, in[0]->shape, n, dims) == in[0]->shape) return in[0];
      return static_form(f, old, HLO_OP_RESHAPE, dims, 1, in, NULL);
    case HLO_OP_DYNAMIC_IOTA:
      if (!(dims = ints(r, in[0], &n)) || n != old->shape->rank) return NULL;
      return static_form(f, old, HLO_OP_IOTA, dims, 0, in, old->attrs);
    case HLO_OP_DYNAMIC_BROADCAST_IN_DIM: {
      if (!(dims = ints(r, in[1], &n)) || n != old->shape->rank) return NULL;
      hlo_i64s map = HLO_ATTRS(old, dynamic_broadcast)->dimensions;
      bool same = map.n == n && hlo_shape_with_dims(r->module->shapes, in[0]->shape, n, dims) == in[0]->shape;
      for (int i = 0; i < map.n; i++) same &= map.data[i] == i;
      if (same) return in[0];
      hlo_attrs_broadcast *a = hlo_attrs_create(r->arena, HLO_ATTR_LIST_broadcast);
      a->dimensions = map;
      return static_form(f, old, HLO_OP_BROADCAST_IN_DIM, dims, 1, in, a);
    }
    default: return NULL;
  }
}

// --- assertions ----------------------------------------------------------------------------------

// error_message with {0}, {1}, ... replaced by the values of the operands behind the condition.
static void assertion_text(strbuf *out, const hlo_instr *i, fact *const *in) {
  strv text = {0};
  const hlo_dict *d = &HLO_ATTRS(i, custom_call)->attributes;
  for (int k = 0; k < d->n; k++)
    if (strv_eq_cstr(d->entries[k].name, "error_message")) text = d->entries[k].value;
  for (size_t p = 0; p < text.len; p++) {
    size_t q = p + 1;
    int n = 0;
    while (text.data[p] == '{' && q < text.len && text.data[q] >= '0' && text.data[q] <= '9' && n < 1000)
      n = n * 10 + (text.data[q++] - '0');
    if (text.data[p] == '{' && q > p + 1 && q < text.len && text.data[q] == '}' && n + 1 < i->n_operands &&
        in[n + 1]->value && in[n + 1]->value->shape->rank == 0) {
      strbuf_printf(out, "%lld", (long long)hlo_literal_get_i64(in[n + 1]->value, 0));
      p = q;
    } else {
      strbuf_append_char(out, text.data[p]);
    }
  }
}

// *done: nothing is left of it.
static bool check_assertion(frame *f, const hlo_instr *i, fact *const *in, bool *done) {
  *done = false;
  if (i->n_operands < 1 || !in[0]->value || in[0]->value->shape->rank) return true;
  *done = true;
  if (hlo_literal_get_i64(in[0]->value, 0)) return true;
  strbuf text = {0};
  assertion_text(&text, i, in);
  fail(f->r, i->loc, "shape assertion does not hold: " STRV_FMT, STRV_ARG(strbuf_view(&text)));
  strbuf_deinit(&text);
  return false;
}

// --- control flow --------------------------------------------------------------------------------

static fact *refine_call(frame *f, const hlo_instr *old, fact *const *in, hlo_instr *const *operands) {
  fact **params = ARENA_ARRAY(f->r->arena, fact *, old->n_operands);
  for (int i = 0; i < old->n_operands; i++) params[i] = portable(f->r, in[i]);
  fact *result;
  hlo_computation *to = specialise(f->r, old->called[0], params, &result);
  if (!to) return NULL;
  fact *x = emit(f, old, old->op, NULL, old->n_operands, operands, 1, &to, old->attrs);
  if (!x) return NULL;
  x->elements = result->elements;
  if (result->value) {
    x->value = result->value;
    if (!hlo_instr_has_side_effect(x->instr)) x->instr = NULL;  // a constant will do
  }
  return x;
}

// Is element k of the carried tuple the same in every iteration?
static bool is_invariant(const hlo_computation *body, int k) {
  const hlo_instr *root = body->root;
  if (root->op != HLO_OP_TUPLE || k >= root->n_operands) return false;
  const hlo_instr *v = root->operands[k];
  return v->op == HLO_OP_GET_TUPLE_ELEMENT && HLO_ATTRS(v, get_tuple_element)->index == k &&
         v->operands[0] == body->params[0];
}

// The most exact shape that a and b both have; sizes that differ become unknown. NULL: none.
static const hlo_shape *common_shape(refiner *r, const hlo_shape *a, const hlo_shape *b) {
  hlo_shape_table *t = r->module->shapes;
  if (a == b) return a;
  if (hlo_shape_is_tuple(a) && hlo_shape_is_tuple(b) && a->n_elements == b->n_elements) {
    const hlo_shape **e = ARENA_ARRAY(r->arena, const hlo_shape *, a->n_elements);
    for (int k = 0; k < a->n_elements; k++)
      if (!(e[k] = common_shape(r, a->elements[k], b->elements[k]))) return NULL;
    return hlo_shape_tuple(t, a->n_elements, e);
  }
  if (!hlo_shape_is_array(a) || !hlo_shape_is_array(b) || a->rank != b->rank || a->dtype != b->dtype) return NULL;
  int64_t *dims = ARENA_ARRAY(r->arena, int64_t, a->rank);
  for (int d = 0; d < a->rank; d++) dims[d] = a->dims[d] == b->dims[d] ? a->dims[d] : HLO_DYNAMIC;
  return hlo_shape_with_dims(t, a, a->rank, dims);
}

// x with the less exact shape `shape`: through a dynamic_reshape to the sizes it has.
static hlo_instr *loosened(frame *f, const hlo_instr *old, hlo_instr *x, const hlo_shape *shape) {
  refiner *r = f->r;
  if (!x || x->shape == shape) return x;
  hlo_builder b = builder(f, old->loc);
  if (hlo_shape_is_tuple(shape)) {
    hlo_instr **e = ARENA_ARRAY(r->arena, hlo_instr *, shape->n_elements);
    for (int k = 0; k < shape->n_elements; k++) {
      hlo_instr *part = hlo_build_get(&b, x, k);
      if (!(e[k] = loosened(f, old, part, shape->elements[k]))) return NULL;
    }
    return hlo_build_tuple(&b, shape->n_elements, e);
  }
  hlo_literal *sizes;
  const hlo_shape *sizes_shape = hlo_shape_array(r->module->shapes, HLO_S64, 1, (int64_t[]){shape->rank});
  if (!hlo_shape_is_static(x->shape) || (r->status = hlo_literal_create(r->arena, sizes_shape, &sizes))) return NULL;
  for (int d = 0; d < shape->rank; d++) hlo_element_set_i64(HLO_S64, sizes->data, d, x->shape->dims[d]);
  hlo_instr *operands[2] = {x, hlo_build_constant(&b, sizes)};
  // Inference would find the sizes again.
  return hlo_instr_create(f->to, NULL, HLO_OP_DYNAMIC_RESHAPE, shape, 2, operands, 0, NULL, NULL, old->loc, (strv){0});
}

// What every iteration finds: shapes as in `shape`, and what is known of values that stay the same.
static fact *carried(refiner *r, const hlo_instr *old, const hlo_shape *shape, const fact *in) {
  fact *p = new_fact(r, shape, NULL, NULL);
  if (!in->elements) return p;
  fact **e = ARENA_ARRAY(r->arena, fact *, shape->n_elements);
  for (int k = 0; k < shape->n_elements; k++)
    e[k] = is_invariant(old->called[1], k) ? portable(r, in->elements[k]) : new_fact(r, shape->elements[k], NULL, NULL);
  p->elements = e;
  return p;
}

static fact *refine_while(frame *f, const hlo_instr *old, fact *const *in, hlo_instr *const *operands) {
  refiner *r = f->r;
  fact *params[1], *result, *cond;
  hlo_computation *called[2];
  const hlo_shape *shape = in[0]->shape, *both;
  for (;;) {  // sizes that an iteration changes are given up
    params[0] = carried(r, old, shape, in[0]);
    if (!(called[1] = specialise(r, old->called[1], params, &result))) return NULL;
    both = common_shape(r, shape, called[1]->root->shape);
    if (!both || both == shape) break;
    shape = both;
  }
  if (called[1]->root->shape != shape) {
    fail(r, old->loc, "the carried values of this loop change their shape from one iteration to the next");
    return NULL;
  }
  hlo_instr *init = loosened(f, old, operands[0], shape);
  if (!init || !(called[0] = specialise(r, old->called[0], params, &cond))) return NULL;
  fact *x = emit(f, old, old->op, shape, 1, &init, 2, called, old->attrs);
  if (x) x->elements = params[0]->elements;
  return x;
}

// A computation that calls `from` and gives its result the less exact shape `shape`.
static hlo_computation *loosened_computation(refiner *r, const hlo_instr *old, hlo_computation *from,
                                             const hlo_shape *shape) {
  if (from->root->shape == shape) return from;
  frame f = {.r = r, .to = hlo_computation_create(r->module, from->name)};
  hlo_builder b = builder(&f, old->loc);
  hlo_instr *param = hlo_build_parameter(&b, from->params[0]->shape, from->params[0]->name);
  hlo_instr *call =
      hlo_instr_create(f.to, NULL, HLO_OP_CALL, from->root->shape, 1, &param, 1, &from, NULL, old->loc, (strv){0});
  return (f.to->root = loosened(&f, old, call, shape)) ? f.to : NULL;
}

static fact *refine_conditional(frame *f, const hlo_instr *old, fact *const *in, hlo_instr *const *operands) {
  hlo_computation **called = ARENA_ARRAY(f->r->arena, hlo_computation *, old->n_called);
  const hlo_shape *shape = NULL;
  for (int i = 0; i < old->n_called; i++) {
    fact *param[1] = {portable(f->r, in[i + 1])}, *result;
    if (!(called[i] = specialise(f->r, old->called[i], param, &result))) return NULL;
    const hlo_shape *both = i ? common_shape(f->r, shape, called[i]->root->shape) : called[i]->root->shape;
    shape = both ? both : shape;  // emit reports branches that have nothing in common
  }
  for (int i = 0; i < old->n_called; i++)
    if (common_shape(f->r, shape, called[i]->root->shape) == shape &&
        !(called[i] = loosened_computation(f->r, old, called[i], shape)))
      return NULL;
  return emit(f, old, old->op, NULL, old->n_operands, operands, old->n_called, called, NULL);
}

// --- one instruction -----------------------------------------------------------------------------

static fact *refine_parameter(frame *f, const hlo_instr *old) {
  fact *given = f->params[HLO_ATTRS(old, parameter)->number];
  hlo_builder b = builder(f, old->loc);
  hlo_instr *p = hlo_build_parameter(&b, given->shape, old->name);
  fact *x = new_fact(f->r, given->shape, given->value ? NULL : p, given->value);
  x->elements = given->elements;
  return x;
}

static fact *refine_element(frame *f, const hlo_instr *old, fact *const *in, hlo_instr *const *operands) {
  int64_t k = HLO_ATTRS(old, get_tuple_element)->index;
  const fact *e = in[0]->elements ? in[0]->elements[k] : NULL;
  if (e && e->value) return new_fact(f->r, e->shape, NULL, e->value);
  fact *x = emit(f, old, old->op, NULL, 1, operands, 0, NULL, old->attrs);
  if (x && e) x->elements = e->elements;
  return x;
}

static fact *fold(frame *f, const hlo_instr *old, fact *const *in) {
  const hlo_literal **values = ARENA_ARRAY(f->r->arena, const hlo_literal *, old->n_operands);
  if (hlo_op_has(old->op, HLO_TRAIT_S) || !hlo_shape_is_array(old->shape)) return NULL;
  for (int i = 0; i < old->n_operands; i++)
    if (!(values[i] = in[i]->value)) return NULL;
  const hlo_shape *shape = old->shape;
  if (old->n_operands && !hlo_shape_is_static(shape) && hlo_op_has(old->op, HLO_TRAIT_E))
    shape = hlo_shape_with_dtype(f->r->module->shapes, in[old->n_operands - 1]->shape, shape->dtype);
  const hlo_literal *l = import_fold(f->r->arena, f->r->module->shapes, old, shape, values);
  return l ? new_fact(f->r, l->shape, NULL, l) : NULL;
}

static fact *refine_instr(frame *f, const hlo_instr *old) {
  refiner *r = f->r;
  fact **in = ARENA_ARRAY(r->arena, fact *, old->n_operands), *x;
  for (int i = 0; i < old->n_operands; i++) in[i] = fact_of(f, old->operands[i]);
  if (old->op == HLO_OP_PARAMETER) return refine_parameter(f, old);
  if (old->op == HLO_OP_CONSTANT && import_fold_small(old->shape) && !hlo_constant_value(old)->shape->quant)
    return new_fact(r, old->shape, NULL, hlo_constant_value(old));
  if (is_assertion(old)) {
    bool done;
    if (!check_assertion(f, old, in, &done)) return NULL;
    if (done) return new_fact(r, old->shape, NULL, NULL);
  }
  if ((x = fold(f, old, in))) return x;
  int mark = r->sink->n_errors;
  if ((x = refine_dynamic(f, old, in))) return x;
  if (r->sink->n_errors != mark || r->status) return NULL;
  hlo_instr **operands = ARENA_ARRAY(r->arena, hlo_instr *, old->n_operands);
  for (int i = 0; i < old->n_operands; i++)
    if (!(operands[i] = materialise(f, in[i], old->loc))) return NULL;
  if (is_operand_wrapper(old)) return in[0];
  if (old->op == HLO_OP_CUSTOM_CALL) {
    import_static_form form;
    const char *error;
    const hlo_literal **values = ARENA_ARRAY(r->arena, const hlo_literal *, old->n_operands);
    for (int i = 0; i < old->n_operands; i++) values[i] = in[i]->value;
    if (import_fold_custom(r->arena, r->module->shapes, old, values, &form, &error)) {
      for (int i = 0; form.operands && i < form.n_operands; i++) operands[i] = operands[form.operands[i]];
      return emit(f, old, form.op, form.declared, form.n_operands, operands, old->n_called, old->called, form.attrs);
    }
    if (error) {
      fail(r, old->loc, "%s", error);
      return NULL;
    }
  }
  switch (old->op) {
    case HLO_OP_GET_TUPLE_ELEMENT: return refine_element(f, old, in, operands);
    case HLO_OP_CALL:
    case HLO_OP_COMPOSITE: return refine_call(f, old, in, operands);
    case HLO_OP_WHILE: return refine_while(f, old, in, operands);
    case HLO_OP_CONDITIONAL: return refine_conditional(f, old, in, operands);
    default: break;
  }
  // Result tuples of several sizes (sort, reduce, ...) and barriers take their shape from inference alone.
  const hlo_shape *declared = declared_shape(f, old, in);
  if (old->op == HLO_OP_OPTIMIZATION_BARRIER) declared = in[0]->shape;
  if (old->op == HLO_OP_TUPLE) declared = NULL;
  if (!(x = emit(f, old, old->op, declared, old->n_operands, operands, old->n_called, old->called, old->attrs)))
    return NULL;
  if (old->op == HLO_OP_TUPLE) x->elements = in;
  if (old->op == HLO_OP_OPTIMIZATION_BARRIER) x->elements = in[0]->elements;
  return x;
}

static bool nothing_known(const fact *x) {
  if (x->value) return false;
  if (x->elements)
    for (int i = 0; i < x->shape->n_elements; i++)
      if (!nothing_known(x->elements[i])) return false;
  return true;
}

// What is known of a value without knowing the parameters: constants, alone, in tuples, or given back by calls.
static fact *constant_fact(refiner *r, const hlo_instr *i, int depth) {
  fact *x = new_fact(r, i->shape, NULL, NULL);
  if ((i->op == HLO_OP_CALL || i->op == HLO_OP_COMPOSITE) && depth < 100)
    return constant_fact(r, i->called[0]->root, depth + 1);
  if (i->op == HLO_OP_CONSTANT && import_fold_small(i->shape)) x->value = hlo_constant_value(i);
  if (i->op == HLO_OP_TUPLE && depth < 100) {
    fact **e = ARENA_ARRAY(r->arena, fact *, i->n_operands);
    for (int k = 0; k < i->n_operands; k++) e[k] = constant_fact(r, i->operands[k], depth + 1);
    x->elements = e;
  }
  return x;
}

static hlo_computation *specialise(refiner *r, hlo_computation *from, fact *const *params, fact **out_result) {
  bool as_is = is_plain(r, from), unknown = true;
  for (int i = 0; i < from->n_params; i++) {
    as_is &= from->params[i]->shape == params[i]->shape;
    unknown &= nothing_known(params[i]);
  }
  if (as_is && unknown) {
    *out_result = constant_fact(r, from->root, 0);
    return from;
  }
  for (int i = 0; i < r->versions.len; i++) {
    const version *v = &r->versions.data[i];
    bool same = v->from == from;
    for (int k = 0; k < from->n_params && same; k++) same = facts_equal(v->params[k], params[k]);
    if (!same) continue;
    *out_result = v->result;
    return v->to;
  }
  if (r->depth > 1000 || r->versions.len > 100000) {
    fail(r, from->root->loc, "computation " STRV_FMT " needs too many or too deeply nested versions",
         STRV_ARG(from->name));
    return NULL;
  }
  r->depth++;
  frame f = {.r = r, .params = params, .to = hlo_computation_create(r->module, from->name)};
  bool ok = true;
  for (hlo_instr *i = from->first; i && ok; i = i->next) {
    fact *x = refine_instr(&f, i);
    ok = x != NULL;
    if (ok) ptrmap_put(r->arena, &f.facts, i, x);
  }
  r->depth--;
  if (!ok) return NULL;
  fact *root = fact_of(&f, from->root);
  f.to->root = materialise(&f, root, from->root->loc);
  fact **kept = ARENA_ARRAY(r->arena, fact *, from->n_params + 1);  // the caller's list may not last
  memcpy(kept, params, sizeof *kept * (size_t)from->n_params);
  version v = {from, kept, f.to, portable(r, root)};
  vec_push(r->arena, &r->versions, v);
  *out_result = v.result;
  return f.to;
}

// --- the module ----------------------------------------------------------------------------------

static const hlo_shape *argument_shape(refiner *r, const hlo_shape *declared, const hlo_shape *const *args, int *leaf,
                                       int param) {
  hlo_shape_table *t = r->module->shapes;
  if (hlo_shape_is_tuple(declared)) {
    const hlo_shape **e = ARENA_ARRAY(r->arena, const hlo_shape *, declared->n_elements);
    for (int i = 0; i < declared->n_elements; i++)
      if (!(e[i] = argument_shape(r, declared->elements[i], args, leaf, param))) return NULL;
    return hlo_shape_tuple(t, declared->n_elements, e);
  }
  const hlo_shape *given = args[(*leaf)++];
  if (!hlo_shape_is_array(declared)) return declared;
  bool ok = hlo_shape_is_array(given) && given->dtype == declared->dtype && given->rank == declared->rank;
  for (int i = 0; ok && i < declared->rank; i++) {
    int64_t bound = declared->bounds ? declared->bounds[i] : HLO_DYNAMIC;
    if (declared->dims[i] != HLO_DYNAMIC)
      ok = given->dims[i] == declared->dims[i];
    else if (bound != HLO_DYNAMIC && given->dims[i] != HLO_DYNAMIC)
      ok = given->dims[i] <= bound;
  }
  if (!ok) {
    strbuf want = {0}, have = {0};
    hlo_shape_print(&want, declared);
    hlo_shape_print(&have, given);
    fail(r, NULL, "argument %d has the shape %s, expected %s", param, have.data, want.data);
    strbuf_deinit(&want);
    strbuf_deinit(&have);
    return NULL;
  }
  if (hlo_shape_is_static(declared)) return declared;
  hlo_shape proto = *declared;
  proto.dims = given->dims;
  if (hlo_shape_is_static(given)) proto.bounds = NULL;
  return hlo_shape_intern(t, &proto);
}

static void visit(hlo_computation *c, uint8_t *seen, hlo_computation **order, int *n) {
  if (seen[c->id]) return;
  seen[c->id] = 1;
  HLO_FOR_EACH (i, c)
    for (int k = 0; k < i->n_called; k++) visit(i->called[k], seen, order, n);
  order[(*n)++] = c;
}

static bool refine_module(refiner *r, int n_args, const hlo_shape *const *args, const hlo_literal *const *values) {
  hlo_module *m = r->module;
  hlo_computation *entry = m->entry;
  int leaves = 0, leaf = 0;
  for (int i = 0; i < entry->n_params; i++) leaves += hlo_shape_leaves(entry->params[i]->shape);
  if (leaves != n_args) return fail(r, NULL, "the program takes %d arguments, %d were given", leaves, n_args);
  fact **params = ARENA_ARRAY(r->arena, fact *, entry->n_params), *result;
  for (int i = 0; i < entry->n_params; i++) {
    const hlo_shape *s = argument_shape(r, entry->params[i]->shape, args, &leaf, i);
    if (!s) return false;
    bool known = values && hlo_shape_is_array(s) && values[leaf - 1] && import_fold_small(s) &&
                 values[leaf - 1]->shape->dtype == s->dtype && hlo_shape_same_dims(values[leaf - 1]->shape, s);
    params[i] = new_fact(r, s, NULL, known ? values[leaf - 1] : NULL);
  }
  hlo_computation *to = specialise(r, entry, params, &result);
  if (!to) return false;
  if (to == entry) return true;
  m->entry = to;
  uint8_t *seen = ARENA_ARRAY(r->arena, uint8_t, m->next_computation_id);
  hlo_computation **order = ARENA_ARRAY(r->arena, hlo_computation *, m->n_computations);
  int n = 0;
  visit(to, seen, order, &n);
  for (int i = m->n_computations; i-- > 0;)
    if (!seen[m->computations[i]->id]) hlo_computation_remove(m->computations[i]);
  for (int i = 0; i < n; i++) m->computations[i] = order[i];
  if (!seen[entry->id]) to->name = entry->name;  // free now
  return true;
}

lemnos_status import_refine(hlo_module *m, int n_args, const hlo_shape *const *args, diag_sink *sink) {
  return import_refine_values(m, n_args, args, NULL, sink);
}

lemnos_status import_refine_values(hlo_module *m, int n_args, const hlo_shape *const *args,
                                   const hlo_literal *const *values, diag_sink *sink) {
  diag_sink local;
  diag_sink_init(&local, m->arena);
  refiner r = {.module = m, .arena = m->arena, .sink = sink ? sink : &local};
  r.n_plain = m->next_computation_id;
  r.plain = ARENA_ARRAY(m->arena, uint8_t, r.n_plain);
  int mark = r.sink->n_errors;
  const hlo_computation *before = m->entry;
  lemnos_status status = LEMNOS_SUCCESS;
  if (!refine_module(&r, n_args, args, values)) {
    status = diag_sink_status(r.sink, mark);
    if (!status && r.status) {
      status = r.status;
      r.status = NULL;
    }
    if (!status) status = lemnos_status_make(LEMNOS_INTERNAL, "refinement failed without a reason");
    for (int i = m->n_computations; i-- > 0;)  // the module stays as it was
      if (m->computations[i]->id >= r.n_plain) hlo_computation_remove(m->computations[i]);
  }
  lemnos_status_free(r.status);
  if (!status && m->entry != before) status = hlo_verify(m, r.sink);
  diag_sink_deinit(&local);
  return status;
}
