// SPDX-License-Identifier: Apache-2.0
// Import: regions to computations.
//
// HLO's computations are closed; MLIR's regions of while, if and case see the values around them. Such captures are
// found by a walk over the region before it is translated, and passed in: while carries them along unchanged behind its
// own values, a branch of a conditional gets a tuple of its captures as its only parameter. Constants are not passed
// but made anew inside.
#include "frontend/import_internal.h"

// Operations that may be computed again inside a region instead of being captured.
static bool is_cheap(strv name) {
  static const char *const names[] = {
      "stablehlo.iota",     "stablehlo.broadcast_in_dim",
      "stablehlo.reshape",  "stablehlo.convert",
      "stablehlo.negate",   "stablehlo.broadcast",
      "stablehlo.compare",  "stablehlo.add",
      "stablehlo.subtract", "stablehlo.multiply",
      "stablehlo.select",   "stablehlo.slice",
      "stablehlo.complex",  "stablehlo.not",
      "stablehlo.and",      "stablehlo.or",
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strv_eq_cstr(name, names[i])) return true;
  return false;
}

bool import_is_clonable(const mlir_value *v, bool constants_only, int depth) {
  const mlir_op *op = v->op;
  if (!op || op->n_results != 1) return false;
  if (strv_eq_cstr(op->name, "stablehlo.constant") || strv_eq_cstr(op->name, "chlo.constant") ||
      strv_eq_cstr(op->name, "arith.constant"))
    return true;
  if (constants_only || depth >= 8 || op->n_regions || !is_cheap(op->name)) return false;
  for (int i = 0; i < op->n_operands; i++)
    if (!import_is_clonable(op->operands[i], false, depth + 1)) return false;
  return true;
}

// --- captures ------------------------------------------------------------------------------------

bool import_is_inside(const mlir_value *v, const mlir_region *r) {
  const mlir_block *b = v->op ? v->op->parent : v->block;
  while (b) {
    if (b->parent == r) return true;
    b = b->parent && b->parent->parent ? b->parent->parent->parent : NULL;
  }
  return false;
}

// constants_only: of what can be made anew, only constants are left out.
static void collect(import_ctx *c, const import_scope *s, const mlir_region *outermost, const mlir_region *r,
                    bool constants_only, u64map *seen, import_mlir_values *out) {
  for (const mlir_block *b = r->first; b; b = b->next) {
    for (const mlir_op *op = b->first; op; op = op->next) {
      if (s && import_is_moved_out(s, op)) continue;
      for (int i = 0; i < op->n_operands; i++) {
        const mlir_value *v = op->operands[i];
        bool moved = s && v->op && import_is_moved_out(s, v->op);
        if ((import_is_inside(v, outermost) && !moved) || ptrmap_get(seen, v)) continue;
        if (import_is_clonable(v, constants_only, 0)) continue;
        ptrmap_put(c->arena, seen, v, (void *)v);
        vec_push(c->arena, out, v);
      }
      for (int i = 0; i < op->n_regions; i++) collect(c, s, outermost, &op->regions[i], constants_only, seen, out);
    }
  }
}

void import_collect_captures(import_ctx *c, const import_scope *s, const mlir_region *r, u64map *seen,
                             import_mlir_values *out) {
  collect(c, s, r, r, false, seen, out);
}

static bool capture_values(import_ctx *c, import_scope *s, const import_mlir_values *caps, const loc *l,
                           import_values *out) {
  for (int i = 0; i < caps->len; i++) {
    hlo_instr *v = import_value(c, s, caps->data[i], l);
    if (!v) return false;
    vec_push(c->arena, out, v);
  }
  return true;
}

// --- plain regions -------------------------------------------------------------------------------

bool import_region_block(import_ctx *c, const mlir_op *op, int region, const mlir_block **out) {
  const mlir_block *b = region < op->n_regions ? op->regions[region].first : NULL;
  if (!b) return import_fail(c, op->loc, "'" STRV_FMT "' lacks region %d", STRV_ARG(op->name), region);
  if (b->next)
    return import_fail(c, op->loc, "region %d of '" STRV_FMT "' has several blocks", region, STRV_ARG(op->name));
  if (c->depth >= IMPORT_MAX_DEPTH)
    return import_refuse(c, op->loc, "calls and regions are nested more than %d deep", IMPORT_MAX_DEPTH);
  *out = b;
  return true;
}

import_scope import_scope_create(import_ctx *c, import_scope *outer, const mlir_op *op, const char *suffix) {
  strv name = op->name, head, rest;
  if (strv_split(name, '.', &head, &rest)) name = rest;
  import_scope s = {.outer = outer};
  s.what = arena_printf(c->arena, "a region of '" STRV_FMT "'", STRV_ARG(op->name));
  const char *full = arena_printf(c->arena, STRV_FMT "%s", STRV_ARG(name), suffix);
  s.computation = hlo_computation_create(c->module, strv_from_cstr(full));
  return s;
}

bool import_scope_body(import_ctx *c, import_scope *s, const mlir_block *b, import_values *out) {
  c->depth++;
  bool ok = import_block(c, s, b, out);
  c->depth--;
  return ok;
}

bool import_inline_region(import_ctx *c, import_scope *s, const mlir_op *op) {
  const mlir_block *b = NULL;
  if (!import_region_block(c, op, 0, &b)) return false;
  hlo_instr **operands = import_operands(c, s, op);
  if (!operands) return false;
  if (b->n_args != op->n_operands)
    return import_fail(c, op->loc, "'" STRV_FMT "' has %d operands, its region %d arguments", STRV_ARG(op->name),
                       op->n_operands, b->n_args);
  for (int i = 0; i < b->n_args; i++) {
    const hlo_shape *shape = import_type(c, b->args[i].type, op->loc);
    if (!shape) return false;
    if (shape != operands[i]->shape)
      return import_refuse(c, op->loc, "'" STRV_FMT "' over more than one device is not supported", STRV_ARG(op->name));
    import_bind(c, s, &b->args[i], operands[i]);
  }
  import_values results = {0};
  if (!import_scope_body(c, s, b, &results)) return false;
  if (results.len != op->n_results)
    return import_fail(c, op->loc, "'" STRV_FMT "' has %d results, its region returns %d", STRV_ARG(op->name),
                       op->n_results, results.len);
  for (int i = 0; i < results.len; i++) {
    const hlo_shape *shape = import_type(c, op->results[i].type, op->loc);
    if (!shape) return false;
    if (shape != results.data[i]->shape)
      return import_refuse(c, op->loc, "'" STRV_FMT "' over more than one device is not supported", STRV_ARG(op->name));
    import_bind(c, s, &op->results[i], results.data[i]);
  }
  return true;
}

// --- while ---------------------------------------------------------------------------------------

// Parameter 0 of the scope's computation, taken apart: the block's arguments, then the captures.
static bool bind_carried(import_ctx *c, import_scope *s, const mlir_op *op, const mlir_block *b,
                         const import_mlir_values *caps, const hlo_shape *carried, import_values *out_captured) {
  hlo_builder builder = import_builder(s, op->loc);
  hlo_instr *p = hlo_build_parameter(&builder, carried, (strv){0});
  int n = b->n_args + caps->len;
  for (int i = 0; i < n; i++) {
    hlo_instr *v = n == 1 ? p : hlo_build_get(&builder, p, i);
    if (i < b->n_args) {
      import_bind(c, s, &b->args[i], v);
    } else {
      import_bind(c, s, caps->data[i - b->n_args], v);
      vec_push(c->arena, out_captured, v);
    }
  }
  return true;
}

static hlo_computation *while_region(import_ctx *c, import_scope *outer, const mlir_op *op, int region,
                                     const import_mlir_values *caps, const hlo_shape *carried) {
  const mlir_block *b = op->regions[region].first;
  import_scope s;
  import_values results = {0}, captured = {0};
  s = import_scope_create(c, outer, op, region ? "_body" : "_cond");
  if (!bind_carried(c, &s, op, b, caps, carried, &captured) || !import_scope_body(c, &s, b, &results)) return NULL;
  if (region == 0) {
    if (results.len != 1) {
      import_fail(c, op->loc, "while_c1: the condition returns %d values; expected 1", results.len);
      return NULL;
    }
    s.computation->root = results.data[0];
    return s.computation;
  }
  if (results.len != op->n_results) {
    import_fail(c, op->loc, "while_c2: the body returns %d values; expected %d", results.len, op->n_results);
    return NULL;
  }
  vec_append(c->arena, &results, captured.data, captured.len);
  import_set_root(c, &s, &results, op->loc);
  return s.computation;
}

// Do they differ in more than what is known of their sizes?
static bool is_other_type(const hlo_shape *a, const hlo_shape *b) {
  if (a == b) return false;
  if (a->dtype != b->dtype || a->rank != b->rank || !a->quant != !b->quant || hlo_shape_is_tuple(a)) return true;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i] && a->dims[i] != HLO_DYNAMIC && b->dims[i] != HLO_DYNAMIC) return true;
  return false;
}

// `shape` (of n values) with the i-th of the first values' types replaced where that is another type altogether: for
// inference to report. Where only less is known of sizes, all parts of the loop share the body's types.
static const hlo_shape *with_types(import_ctx *c, const hlo_shape *shape, int n, const mlir_value *values, int n_values,
                                   const loc *l) {
  const hlo_shape **elements = ARENA_ARRAY(c->arena, const hlo_shape *, n);
  bool other = false;
  for (int i = 0; i < n; i++) {
    const hlo_shape *own = i < n_values ? import_type(c, values[i].type, l) : NULL;
    if (i < n_values && !own) return NULL;
    elements[i] = n == 1 ? shape : shape->elements[i];
    if (!own || !is_other_type(own, elements[i])) continue;
    elements[i] = own;
    other = true;
  }
  if (!other) return shape;
  return n == 1 ? elements[0] : hlo_shape_tuple(c->module->shapes, n, elements);
}

static const hlo_shape *condition_shape(import_ctx *c, const mlir_op *op, const mlir_block *cond,
                                        const hlo_shape *shape, int n) {
  return with_types(c, shape, n, cond->args, cond->n_args, op->loc);
}

static const hlo_shape *while_result(import_ctx *c, const mlir_op *op, const hlo_shape *shape, int n) {
  return with_types(c, shape, n, op->results, op->n_results, op->loc);
}

bool import_while(import_ctx *c, import_scope *s, const mlir_op *op) {
  const mlir_block *cond = NULL, *body = NULL;
  import_mlir_values caps = {0};
  u64map seen = {0};
  import_values carried = {0};
  if (!import_region_block(c, op, 0, &cond) || !import_region_block(c, op, 1, &body)) return false;
  if (cond->n_args != op->n_operands || body->n_args != op->n_operands || op->n_results != op->n_operands)
    return import_fail(
        c, op->loc, "while_%s: %d operands, %d results, a condition of %d arguments and a body of %d; expected as many",
        cond->n_args != op->n_operands   ? "c1"
        : body->n_args != op->n_operands ? "c2"
                                         : "c3",
        op->n_operands, op->n_results, cond->n_args, body->n_args);
  collect(c, NULL, &op->regions[0], &op->regions[0], true, &seen, &caps);
  collect(c, NULL, &op->regions[1], &op->regions[1], true, &seen, &caps);
  hlo_instr **operands = import_operands(c, s, op);
  if (!operands) return false;
  vec_append(c->arena, &carried, operands, op->n_operands);
  if (!capture_values(c, s, &caps, op->loc, &carried)) return false;
  // A carried value has its declared type inside, which may know less of its sizes than the operand's.
  const hlo_shape **shapes = ARENA_ARRAY(c->arena, const hlo_shape *, carried.len);
  for (int i = 0; i < carried.len; i++) {
    shapes[i] = i < body->n_args ? import_type(c, body->args[i].type, op->loc) : carried.data[i]->shape;
    if (!shapes[i]) return false;
  }
  hlo_builder b = import_builder(s, op->loc);
  hlo_instr *init = carried.len == 1 ? carried.data[0] : hlo_build_tuple(&b, carried.len, carried.data);
  const hlo_shape *shape = carried.len == 1 ? shapes[0] : hlo_shape_tuple(c->module->shapes, carried.len, shapes);
  hlo_computation *called[2];
  const hlo_shape *tested = condition_shape(c, op, cond, shape, carried.len),
                  *result = tested ? while_result(c, op, shape, carried.len) : NULL;
  if (!result || !(called[0] = while_region(c, s, op, 0, &caps, tested)) ||
      !(called[1] = while_region(c, s, op, 1, &caps, shape)))
    return false;
  hlo_instr *w = import_emit(c, s, HLO_OP_WHILE, result, 1, &init, 2, called,
                             hlo_attrs_create(c->arena, HLO_ATTR_LIST_while), op->loc);
  if (!w) return false;
  if (carried.len == 1) {
    if (op->n_results == 1) import_bind(c, s, &op->results[0], w);
    return true;
  }
  b = import_builder(s, op->loc);
  for (int i = 0; i < op->n_results; i++) import_bind(c, s, &op->results[i], hlo_build_get(&b, w, i));
  return true;
}

// --- if, case ------------------------------------------------------------------------------------

// The constraint that branches take nothing.
static const char *branch_label(const mlir_op *op) {
  return strv_eq_cstr(op->name, "stablehlo.if") ? "c1" : "c2";
}

static bool branch(import_ctx *c, import_scope *outer, const mlir_op *op, int region, hlo_instr **out_operand,
                   hlo_computation **out_called) {
  const mlir_block *b = NULL;
  import_mlir_values caps = {0};
  u64map seen = {0};
  import_values values = {0}, results = {0};
  if (!import_region_block(c, op, region, &b)) return false;
  if (b->n_args)
    return import_fail(c, op->loc, STRV_FMT "_%s: branch %d takes %d arguments; expected none",
                       STRV_ARG(import_op_label(op)), branch_label(op), region, b->n_args);
  collect(c, NULL, &op->regions[region], &op->regions[region], true, &seen, &caps);
  if (!capture_values(c, outer, &caps, op->loc, &values)) return false;
  hlo_builder builder = import_builder(outer, op->loc);
  *out_operand = hlo_build_tuple(&builder, values.len, values.data);
  import_scope s;
  s = import_scope_create(c, outer, op, "_branch");
  builder = import_builder(&s, op->loc);
  hlo_instr *p = hlo_build_parameter(&builder, (*out_operand)->shape, (strv){0});
  for (int i = 0; i < caps.len; i++) import_bind(c, &s, caps.data[i], hlo_build_get(&builder, p, i));
  if (!import_scope_body(c, &s, b, &results)) return false;
  if (results.len != op->n_results)
    return import_fail(c, op->loc, STRV_FMT "_%s: branch %d returns %d values; expected %d",
                       STRV_ARG(import_op_label(op)), strv_eq_cstr(op->name, "stablehlo.if") ? "c3" : "c4", region,
                       results.len, op->n_results);
  import_set_root(c, &s, &results, op->loc);
  *out_called = s.computation;
  return true;
}

bool import_conditional(import_ctx *c, import_scope *s, const mlir_op *op) {
  if (op->n_operands != 1 || op->n_regions < 1)
    return import_fail(
        c, op->loc, STRV_FMT "_%s: %d operands and %d branches; expected 1 operand and at least one branch",
        STRV_ARG(import_op_label(op)), op->n_operands != 1 ? "operands" : "c1", op->n_operands, op->n_regions);
  int n = op->n_regions;
  hlo_instr **operands = ARENA_ARRAY(c->arena, hlo_instr *, n + 1);
  hlo_computation **called = ARENA_ARRAY(c->arena, hlo_computation *, n);
  const hlo_shape *shape = import_result_shape(c, op);
  if (!shape || !(operands[0] = import_value(c, s, op->operands[0], op->loc))) return false;
  for (int i = 0; i < n; i++)
    if (!branch(c, s, op, i, &operands[i + 1], &called[i])) return false;
  hlo_instr *i = import_emit(c, s, HLO_OP_CONDITIONAL, shape, n + 1, operands, n, called, NULL, op->loc);
  return i && import_bind_results(c, s, op, i);
}
