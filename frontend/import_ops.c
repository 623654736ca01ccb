// SPDX-License-Identifier: Apache-2.0
// Import: the generic path that the op table drives, and the operations that need more: calls, composites, custom calls
// (checks, sharding marks, CHLO in disguise), deprecated forms, the interpreter dialect, sdy.
#include "frontend/import_internal.h"

// --- the generic path ----------------------------------------------------------------------------

// The constraint that there are inputs at all, where the specification numbers it.
static const char *count_label(hlo_op hop) {
  switch (hop) {
    case HLO_OP_CONCATENATE:
    case HLO_OP_REDUCE: return "c3";
    case HLO_OP_REDUCE_WINDOW:
    case HLO_OP_SORT: return "c1";
    case HLO_OP_MAP: return "c2";
    default: return "operands";
  }
}

static bool count_operands(import_ctx *c, const mlir_op *op, hlo_op hop) {
  const hlo_op_info *info = &hlo_op_table[hop];
  if (op->n_operands >= info->min_operands && (info->max_operands < 0 || op->n_operands <= info->max_operands))
    return true;
  return import_fail(c, op->loc, STRV_FMT "_%s: %d operands; expected %s%d", STRV_ARG(import_op_label(op)),
                     count_label(hop), op->n_operands, info->max_operands < 0 ? "at least " : "", info->min_operands);
}

// chlo.scan may repeat the size of what is scanned.
static bool scan_size(import_ctx *c, const mlir_op *op, const hlo_attrs_scan *a, hlo_instr *const *operands) {
  int64_t given, inputs = op->n_operands - a->n_carries;
  const mlir_attr *size = mlir_op_attr(op, "scan_dim_size");
  if (!size) return true;
  if (!import_int(size, &given)) return import_fail(c, op->loc, "'chlo.scan': 'scan_dim_size' is not an integer");
  for (int64_t i = 0; i < inputs && i < op->n_operands; i++) {
    const hlo_shape *x = operands[i]->shape;
    if (a->dimension < 0 || a->dimension >= x->rank) continue;  // reported by inference
    int64_t have = x->dims[a->dimension];
    if (have != HLO_DYNAMIC && have != given)
      return import_fail(c, op->loc,
                         "scan_c5: input %lld has size %lld in the scanned dimension; scan_dim_size is %lld",
                         (long long)i, (long long)have, (long long)given);
  }
  return true;
}

static bool finish_attrs(import_ctx *c, const mlir_op *op, hlo_op hop, hlo_instr *const *operands, void *attrs) {
  if (hop == HLO_OP_SORT) {  // negative dimensions count from the end
    hlo_attrs_sort *a = attrs;
    int rank = operands[0]->shape->rank;
    if (a->dimension < 0 && a->dimension >= -rank) a->dimension += rank;
  }
  if (hop == HLO_OP_SCAN) {
    hlo_i64s sizes;
    if (!import_named_i64s(c, op, "operandSegmentSizes", false, &sizes)) return false;
    if (sizes.n == 2)
      ((hlo_attrs_scan *)attrs)->n_carries = sizes.data[1];
    else
      ((hlo_attrs_scan *)attrs)->n_carries = op->n_operands / 2;
    return scan_size(c, op, attrs, operands);
  }
  return true;
}

// Was x made by rounding to t (tf32: reduce_precision)? What export wrote is not rounded again.
static bool is_rounded(const hlo_instr *x, const hlo_dtype *t) {
  if (t) return x->op == HLO_OP_CONVERT && x->operands[0]->shape->dtype == *t;
  if (x->op != HLO_OP_REDUCE_PRECISION) return false;
  const hlo_attrs_reduce_precision *a = HLO_ATTRS(x, reduce_precision);
  return a->exponent_bits == 8 && a->mantissa_bits == 10;
}

// A dot algorithm of one component and one product says what the operands are rounded to: they are, and keep their
// type. More components or products (JAX's BF16_BF16_F32_X3 has one component and three products) emulate a precision
// that the operands' own type gives. Accumulation is never less precise than asked for.
static void round_dot_operands(import_scope *s, const mlir_op *op, hlo_instr **operands) {
  static const char *const types[] = {"lhs_precision_type", "rhs_precision_type"};
  static const char *const counts[] = {"lhs_component_count", "rhs_component_count"};
  const mlir_attr *algorithm = mlir_op_attr(op, "algorithm");
  const mlir_attr *products = algorithm ? mlir_attr_entry(algorithm, "num_primitive_operations") : NULL;
  int64_t n_products = 1;
  if (products) import_int(products, &n_products);
  if (n_products != 1) return;
  hlo_builder b = import_builder(s, op->loc);
  for (int k = 0; algorithm && k < 2; k++) {
    const mlir_attr *type = mlir_attr_entry(algorithm, types[k]), *count = mlir_attr_entry(algorithm, counts[k]);
    hlo_instr *x = operands[k];
    int64_t parts = 1;
    hlo_dtype t;
    if (count) import_int(count, &parts);
    if (parts != 1 || !type || type->kind != MLIR_ATTR_TYPE || x->shape->quant || !hlo_dtype_is_float(x->shape->dtype))
      continue;
    int bits = hlo_dtype_table[x->shape->dtype].bits;
    if (strv_eq_cstr(type->type->name, "tf32") && bits >= 32) {
      if (is_rounded(x, NULL)) continue;
      hlo_attrs_reduce_precision *a = hlo_attrs_create(s->computation->module->arena, HLO_ATTR_LIST_reduce_precision);
      a->exponent_bits = 8;
      a->mantissa_bits = 10;
      operands[k] = hlo_build(&b, HLO_OP_REDUCE_PRECISION, NULL, 1, &x, 0, NULL, a);
    } else if (hlo_dtype_from_stablehlo(type->type->name, &t) && hlo_dtype_is_float(t) && t != x->shape->dtype &&
               hlo_dtype_table[t].bits <= bits && !is_rounded(x, &t)) {
      operands[k] = hlo_build_convert(&b, hlo_build_convert(&b, x, t), x->shape->dtype);
    }
  }
}

bool import_generic(import_ctx *c, import_scope *s, const mlir_op *op, hlo_op hop) {
  bool ok;
  const hlo_op_info *info = &hlo_op_table[hop];
  if (!count_operands(c, op, hop)) return false;
  hlo_instr **operands = import_operands(c, s, op);
  if (!operands) return false;
  void *attrs = import_attrs(c, op, (hlo_attr_list)info->attrs, &ok);
  if (!ok || !finish_attrs(c, op, hop, operands, attrs)) return false;
  if (hop == HLO_OP_DOT_GENERAL && op->n_operands == 2) round_dot_operands(s, op, operands);
  if (info->n_called >= 0 && op->n_regions != info->n_called)
    return import_fail(c, op->loc, STRV_FMT "_regions: %d regions; expected %d", STRV_ARG(import_op_label(op)),
                       op->n_regions, info->n_called);
  import_captures caps;
  hlo_computation **called = ARENA_ARRAY(c->arena, hlo_computation *, op->n_regions);
  if (!import_find_captures(c, s, op, hop, &caps)) return false;
  if (caps.values.len && import_is_rewritten(hop)) return import_emit_rewritten(c, s, op, hop, operands, attrs, &caps);
  for (int i = 0; i < op->n_regions; i++)
    if (!(called[i] = import_captured_region(c, s, op, i, hop, &caps))) return false;
  if (caps.values.len) return import_emit_captured(c, s, op, hop, operands, called, attrs, &caps);
  const hlo_shape *declared = NULL;
  bool must_have_results = hop == HLO_OP_INFEED || hop == HLO_OP_RECV;  // inference says so
  if ((op->n_results || must_have_results) && !import_declared_shape(c, op, &declared)) return false;
  hlo_instr *i = import_emit(c, s, hop, declared, op->n_operands, operands, op->n_regions, called, attrs, op->loc);
  return i && import_bind_results(c, s, op, i);
}

// --- calls ---------------------------------------------------------------------------------------

static hlo_computation *symbol_function(import_ctx *c, const mlir_op *op, const char *attr) {
  const mlir_attr *a = mlir_op_attr(op, attr);
  if (!a || a->kind != MLIR_ATTR_SYMBOL || a->n_items) {
    import_fail(c, op->loc, "'" STRV_FMT "' lacks the symbol '%s'", STRV_ARG(op->name), attr);
    return NULL;
  }
  return import_function(c, a->string, op->loc);
}

static bool call_like(import_ctx *c, import_scope *s, const mlir_op *op, hlo_op hop, hlo_computation *called,
                      void *attrs) {
  if (!called) return false;
  hlo_instr **operands = import_operands(c, s, op);
  const hlo_shape *shape;
  if (!operands || !import_declared_shape(c, op, &shape)) return false;
  hlo_instr *i = import_emit(c, s, hop, shape, op->n_operands, operands, 1, &called, attrs, op->loc);
  return i && import_bind_results(c, s, op, i);
}

static bool op_call(import_ctx *c, import_scope *s, const mlir_op *op) {
  return call_like(c, s, op, HLO_OP_CALL, symbol_function(c, op, "callee"), NULL);
}

static bool op_composite(import_ctx *c, import_scope *s, const mlir_op *op) {
  bool ok;
  // Regions are there for consumers that know the name; what it computes is its decomposition.
  const mlir_attr *name = mlir_op_attr(op, "decomposition");
  if (name && name->kind == MLIR_ATTR_SYMBOL && !name->n_items && !strmap_has(&c->funcs, name->string))
    return import_fail(c, op->loc, "composite_c2: there is no function @" STRV_FMT " to be the decomposition",
                       STRV_ARG(name->string));
  void *attrs = import_attrs(c, op, HLO_ATTR_LIST_composite, &ok);
  return ok && call_like(c, s, op, HLO_OP_COMPOSITE, symbol_function(c, op, "decomposition"), attrs);
}

// --- custom calls --------------------------------------------------------------------------------

static bool elementwise_or_check(import_ctx *c, import_scope *s, const mlir_op *op, hlo_op hop, void *attrs) {
  hlo_instr **operands = import_operands(c, s, op);
  const hlo_shape *shape = NULL;
  if (!operands || (op->n_results && !(shape = import_result_shape(c, op)))) return false;
  hlo_instr *i = import_emit(c, s, hop, shape, op->n_operands, operands, 0, NULL, attrs, op->loc);
  return i && import_bind_results(c, s, op, i);
}

static void optional_int(const mlir_op *op, const char *name, int64_t *out) {
  const mlir_attr *a = mlir_op_attr(op, name);
  if (!a) a = mlir_attr_entry(mlir_op_attr(op, "backend_config"), name);
  if (a) import_int(a, out);
}

// The limits are those of StableHLO's own test driver where the call does not give any.
static bool check_call(import_ctx *c, import_scope *s, const mlir_op *op, strv target, bool *is_check) {
  *is_check = true;
  if (op->n_operands != 2) {
    *is_check = false;
    return true;
  }
  if (strv_eq_cstr(target, "check.expect_eq")) return elementwise_or_check(c, s, op, HLO_OP_CHECK_EXPECT_EQ, NULL);
  if (strv_eq_cstr(target, "check.eq")) return elementwise_or_check(c, s, op, HLO_OP_CHECK_EQ, NULL);
  if (strv_eq_cstr(target, "check.expect_almost_eq")) {
    hlo_attrs_check_almost *a = hlo_attrs_create(c->arena, HLO_ATTR_LIST_check_almost);
    const mlir_attr *t = mlir_op_attr(op, "tolerance");
    a->tolerance = t && t->kind == MLIR_ATTR_FLOAT ? t->real : 0.001;
    return elementwise_or_check(c, s, op, HLO_OP_CHECK_EXPECT_ALMOST_EQ, a);
  }
  if (strv_eq_cstr(target, "check.expect_close")) {
    hlo_attrs_check_close *a = hlo_attrs_create(c->arena, HLO_ATTR_LIST_check_close);
    a->max_ulp_difference = 3;
    a->min_ulp_difference = 0;
    optional_int(op, "max_ulp_difference", &a->max_ulp_difference);
    optional_int(op, "min_ulp_difference", &a->min_ulp_difference);
    return elementwise_or_check(c, s, op, HLO_OP_CHECK_EXPECT_CLOSE, a);
  }
  *is_check = false;
  return true;
}

// CHLO operations that a producer without CHLO in its artifacts wraps: @mhlo.erf, @mhlo.topk, @chlo.asin.
static bool wrapped_op(import_ctx *c, import_scope *s, const mlir_op *op, strv target, bool *done) {
  hlo_op hop;
  strv dialect, name;
  *done = false;
  if (!strv_split(target, '.', &dialect, &name)) return true;
  if (!strv_eq_cstr(dialect, "mhlo") && !strv_eq_cstr(dialect, "chlo")) return true;
  const mlir_attr *own = mlir_op_attr(op, "mhlo.attributes");
  int64_t k, largest = 1;
  if (strv_eq_cstr(name, "topk") && op->n_operands == 1 && op->n_results == 2 &&
      import_int(mlir_attr_entry(own, "k"), &k)) {
    import_int(mlir_attr_entry(own, "largest"), &largest);
    if (!largest) return import_first_k(c, s, op, k, NULL, done);
    hlo_attrs_top_k *a = hlo_attrs_create(c->arena, HLO_ATTR_LIST_top_k);
    a->k = k;
    *done = true;
    return elementwise_or_check(c, s, op, HLO_OP_TOP_K, a);
  }
  if (strv_eq_cstr(name, "tan"))
    hop = HLO_OP_TAN;
  else if (!hlo_op_from_stablehlo(strv_from_cstr(arena_printf(c->arena, "chlo." STRV_FMT, STRV_ARG(name))), &hop))
    return true;
  if (!hlo_op_has(hop, HLO_TRAIT_E) || hlo_op_table[hop].max_operands != op->n_operands || op->n_results != 1)
    return true;
  *done = true;
  return elementwise_or_check(c, s, op, hop, NULL);
}

// XLA's @TopK(x) -> (values, indices): the k largest of the last dimension, k being the size of the results; a
// comparator that comes along may ask for another order.
static bool top_k_call(import_ctx *c, import_scope *s, const mlir_op *op, strv target, bool *done) {
  *done = false;
  if (!strv_eq_cstr(target, "TopK") || op->n_operands != 1 || op->n_results != 2) return true;
  const hlo_shape *values = import_type(c, op->results[0].type, op->loc);
  if (!values) return false;
  if (!hlo_shape_is_array(values) || values->rank < 1 || values->dims[values->rank - 1] == HLO_DYNAMIC) return true;
  const mlir_attr *names = mlir_op_attr(op, "called_computations");
  if (names && names->kind == MLIR_ATTR_ARRAY && names->n_items) {
    hlo_computation *order = import_function(c, names->items[0]->string, op->loc);
    if (!order) return false;
    const hlo_instr *r = order->root;
    if (r->op != HLO_OP_COMPARE || HLO_ATTRS(r, compare)->direction != HLO_COMPARISON_DIRECTION_GT ||
        order->n_params < 2 || r->operands[0] != order->params[0] || r->operands[1] != order->params[1])
      return import_first_k(c, s, op, values->dims[values->rank - 1], order, done);
  }
  hlo_attrs_top_k *a = hlo_attrs_create(c->arena, HLO_ATTR_LIST_top_k);
  a->k = values->dims[values->rank - 1];
  *done = true;
  return elementwise_or_check(c, s, op, HLO_OP_TOP_K, a);
}

// Marks for partitioners, layout assignment and memory spaces: identities here.
static bool is_mark(strv target) {
  static const char *const names[] = {"Sharding",
                                      "SPMDFullToShardShape",
                                      "SPMDShardToFullShape",
                                      "xla.sdy.FuncResultSharding",
                                      "xla.sdy.GlobalToLocalShape",
                                      "xla.sdy.LocalToGlobalShape",
                                      "xla.sdy.PropagationBarrier",
                                      "LayoutConstraint",
                                      "annotate_device_placement"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strv_eq_cstr(target, names[i])) return true;
  return false;
}

// A buffer is the array it holds; nothing is known of a new one.
static bool buffer_call(import_ctx *c, import_scope *s, const mlir_op *op, hlo_instr *x, const hlo_shape *shape) {
  if (!x) {
    void *zero = arena_alloc(c->arena, 16);
    memset(zero, 0, 16);
    hlo_builder b = import_builder(s, op->loc);
    x = hlo_build_constant(&b, hlo_literal_splat(c->arena, shape, zero));
  }
  import_bind(c, s, &op->results[0], x);
  return true;
}

// A result without a rank has that of its shape operand; the operand wrapper that --stablehlo-refine-arguments puts
// before arguments without a rank gives its operand.
static const hlo_shape *call_shape(import_ctx *c, const mlir_op *op, strv target, hlo_instr *const *operands) {
  const mlir_type *t = op->n_results == 1 ? op->results[0].type : NULL;
  const mlir_attr *at = mlir_op_attr(op, "indices_of_shape_operands");
  hlo_i64s index;
  if (!t || t->kind != MLIR_TYPE_UNRANKED_TENSOR || !at || !import_i64s(c, at, &index))
    return import_result_shape(c, op);
  if (strv_eq_cstr(target, "stablehlo.shape_refinement_operand_wrapper") &&
      op->operands[0]->type->kind == MLIR_TYPE_TENSOR && op->operands[0]->type->element == t->element)
    return operands[0]->shape;
  const mlir_type *sizes = op->operands[index.data[0]]->type;
  if (sizes->kind != MLIR_TYPE_TENSOR || sizes->rank != 1 || sizes->dims[0] < 0 || sizes->dims[0] > 64)
    return import_result_shape(c, op);
  mlir_type ranked = {.kind = MLIR_TYPE_TENSOR, .element = t->element, .rank = (int32_t)sizes->dims[0]};
  int64_t *dims = ARENA_ARRAY(c->arena, int64_t, ranked.rank);
  for (int d = 0; d < ranked.rank; d++) dims[d] = MLIR_DYNAMIC;
  ranked.dims = dims;
  return import_type(c, mlir_type_unique(c->source->types, &ranked), op->loc);
}

static bool op_custom_call(import_ctx *c, import_scope *s, const mlir_op *op) {
  bool ok, done;
  hlo_attrs_custom_call *attrs = import_attrs(c, op, HLO_ATTR_LIST_custom_call, &ok);
  if (!ok) return false;
  if (!check_call(c, s, op, attrs->target, &done)) return false;
  if (done) return true;
  if (!wrapped_op(c, s, op, attrs->target, &done)) return false;
  if (done) return true;
  if (!top_k_call(c, s, op, attrs->target, &done)) return false;
  if (done) return true;
  if (strv_eq_cstr(attrs->target, "xla.sdy.ShardingGroup") && op->n_results == 0) return true;
  hlo_instr **operands = import_operands(c, s, op);
  const hlo_shape *shape = operands ? call_shape(c, op, attrs->target, operands) : NULL;
  if (!shape) return false;
  if (is_mark(attrs->target) && op->n_operands == 1 && operands[0]->shape == shape) {
    import_bind(c, s, &op->results[0], operands[0]);
    return true;
  }
  bool shards =
      strv_eq_cstr(attrs->target, "SPMDFullToShardShape") || strv_eq_cstr(attrs->target, "SPMDShardToFullShape");
  if (shards && op->n_operands == 1 && op->n_results == 1)
    return import_shard_mark(c, s, op, attrs->target, operands[0]);
  if (import_is_buffer_call(attrs->target)) return buffer_call(c, s, op, op->n_operands ? operands[0] : NULL, shape);
  bool to_local = strv_eq_cstr(attrs->target, "xla.sdy.GlobalToLocalShape");
  if (to_local || strv_eq_cstr(attrs->target, "xla.sdy.LocalToGlobalShape"))
    return import_local_mark(c, s, op, to_local);
  const mlir_attr *names = mlir_op_attr(op, "called_computations");
  int n = names && names->kind == MLIR_ATTR_ARRAY ? names->n_items : 0;
  hlo_computation **called = ARENA_ARRAY(c->arena, hlo_computation *, n);
  for (int i = 0; i < n; i++)
    if (!(called[i] = import_function(c, names->items[i]->string, op->loc))) return false;
  hlo_instr *i = import_emit(c, s, HLO_OP_CUSTOM_CALL, shape, op->n_operands, operands, n, called, attrs, op->loc);
  return i && import_bind_results(c, s, op, i);
}

// --- structure -----------------------------------------------------------------------------------

static bool op_barrier(import_ctx *c, import_scope *s, const mlir_op *op) {
  hlo_instr **operands = import_operands(c, s, op);
  if (!operands) return false;
  hlo_builder b = import_builder(s, op->loc);
  hlo_instr *x = op->n_operands == 1 ? operands[0] : hlo_build_tuple(&b, op->n_operands, operands);
  hlo_instr *i = import_emit(c, s, HLO_OP_OPTIMIZATION_BARRIER, x->shape, 1, &x, 0, NULL, NULL, op->loc);
  return i && import_bind_results(c, s, op, i);
}

static bool op_identity(import_ctx *c, import_scope *s, const mlir_op *op) {
  if (op->n_operands < 1 || op->n_results > 1)
    return import_fail(c, op->loc, "'" STRV_FMT "' is malformed", STRV_ARG(op->name));
  hlo_instr *x = import_value(c, s, op->operands[0], op->loc);
  if (!x) return false;
  if (!op->n_results) return true;
  const hlo_shape *shape = import_type(c, op->results[0].type, op->loc);
  if (!shape) return false;
  if (shape != x->shape)
    return import_refuse(c, op->loc, "'" STRV_FMT "' over more than one device is not supported", STRV_ARG(op->name));
  import_bind(c, s, &op->results[0], x);
  return true;
}

static bool op_constant(import_ctx *c, import_scope *s, const mlir_op *op) {
  return import_generic(c, s, op, HLO_OP_CONSTANT);
}

// --- deprecated forms ----------------------------------------------------------------------------

static bool op_dot(import_ctx *c, import_scope *s, const mlir_op *op) {
  bool ok;
  if (!count_operands(c, op, HLO_OP_DOT_GENERAL)) return false;
  hlo_instr **operands = import_operands(c, s, op);
  const hlo_shape *shape = operands ? import_result_shape(c, op) : NULL;
  if (!shape) return false;
  if (operands[0]->shape->rank < 1 || operands[1]->shape->rank < 1)
    return import_fail(c, op->loc, "'stablehlo.dot' needs operands of rank 1 or 2");
  hlo_attrs_dot_general *attrs = hlo_attrs_create(c->arena, HLO_ATTR_LIST_dot_general);
  hlo_attrs_dot_general *given;
  mlir_named_attr precision = {STRV("precision_config"), mlir_op_attr(op, "precision_config")};
  mlir_attr none = {.kind = MLIR_ATTR_DIALECT, .dialect = STRV("stablehlo"), .mnemonic = STRV("dot")};
  mlir_named_attr all[2] = {{STRV("dot_dimension_numbers"), &none}, precision};
  mlir_op as_general = *op;
  as_general.attrs = all;
  as_general.n_attrs = precision.value ? 2 : 1;
  if (!(given = import_attrs(c, &as_general, HLO_ATTR_LIST_dot_general, &ok))) return false;
  attrs->precision = given->precision;
  int64_t last = operands[0]->shape->rank - 1, first = 0;
  attrs->dnums.lhs_contracting = hlo_i64s_copy(c->arena, &last, 1);
  attrs->dnums.rhs_contracting = hlo_i64s_copy(c->arena, &first, 1);
  hlo_instr *i = import_emit(c, s, HLO_OP_DOT_GENERAL, shape, 2, operands, 0, NULL, attrs, op->loc);
  return i && import_bind_results(c, s, op, i);
}

// The sizes of a broadcast's result: those that are added, then the operand's, which are computed where they are
// unknown.
static hlo_instr *broadcast_sizes(import_ctx *c, import_scope *s, hlo_i64s sizes, hlo_instr *x, const loc *l) {
  hlo_instr **all = ARENA_ARRAY(c->arena, hlo_instr *, sizes.n + x->shape->rank);
  for (int i = 0; i < sizes.n; i++) {
    hlo_builder b = import_builder(s, l);
    all[i] = hlo_build_scalar_i64(&b, HLO_S32, sizes.data[i]);
  }
  for (int i = 0; i < x->shape->rank; i++) all[sizes.n + i] = import_size_of(c, s, x, i, l);
  return import_vector_of(c, s, all, sizes.n + x->shape->rank, l);
}

static bool op_broadcast(import_ctx *c, import_scope *s, const mlir_op *op) {
  hlo_i64s sizes;
  if (!count_operands(c, op, HLO_OP_BROADCAST_IN_DIM) || !import_named_i64s(c, op, "broadcast_sizes", true, &sizes))
    return false;
  hlo_instr **operands = import_operands(c, s, op);
  const hlo_shape *shape = operands ? import_result_shape(c, op) : NULL;
  if (!shape) return false;
  int rank = operands[0]->shape->rank;
  for (int i = 0; i < sizes.n; i++) {
    if (sizes.data[i] < 0)
      return import_fail(c, op->loc, "broadcast: broadcast_sizes[%d] is %lld; expected >= 0", i,
                         (long long)sizes.data[i]);
    if (hlo_shape_is_array(shape) && i < shape->rank && shape->dims[i] != HLO_DYNAMIC &&
        shape->dims[i] != sizes.data[i])
      return import_fail(c, op->loc,
                         "broadcast: dimension %d of the result has size %lld; expected broadcast_sizes[%d], %lld", i,
                         (long long)shape->dims[i], i, (long long)sizes.data[i]);
  }
  for (int i = 0; hlo_shape_is_array(shape) && shape->rank == sizes.n + rank && i < rank; i++) {
    int64_t have = shape->dims[sizes.n + i], want = operands[0]->shape->dims[i];
    if (have != want && have != HLO_DYNAMIC && want != HLO_DYNAMIC)
      return import_fail(c, op->loc,
                         "broadcast: dimension %d of the result has size %lld; expected the operand's, %lld",
                         sizes.n + i, (long long)have, (long long)want);
  }
  int64_t *dims = ARENA_ARRAY(c->arena, int64_t, rank);
  for (int i = 0; i < rank; i++) dims[i] = sizes.n + i;
  hlo_instr *i;
  if (hlo_shape_is_static(shape) || !hlo_shape_is_array(shape) || !hlo_shape_is_array(operands[0]->shape)) {
    hlo_attrs_broadcast *attrs = hlo_attrs_create(c->arena, HLO_ATTR_LIST_broadcast);
    attrs->dimensions = (hlo_i64s){dims, rank};
    i = import_emit(c, s, HLO_OP_BROADCAST_IN_DIM, shape, 1, operands, 0, NULL, attrs, op->loc);
  } else {
    hlo_attrs_dynamic_broadcast *attrs = hlo_attrs_create(c->arena, HLO_ATTR_LIST_dynamic_broadcast);
    attrs->dimensions = (hlo_i64s){dims, rank};
    hlo_instr *both[2] = {operands[0], broadcast_sizes(c, s, sizes, operands[0], op->loc)};
    if (!both[1]) return false;
    i = import_emit(c, s, HLO_OP_DYNAMIC_BROADCAST_IN_DIM, shape, 2, both, 0, NULL, attrs, op->loc);
  }
  return i && import_bind_results(c, s, op, i);
}

static bool op_cross_replica_sum(import_ctx *c, import_scope *s, const mlir_op *op) {
  bool ok;
  hlo_instr **operands = import_operands(c, s, op);
  const hlo_shape *shape = operands ? import_result_shape(c, op) : NULL;
  if (!shape) return false;
  if (!hlo_shape_is_array(shape) || shape->quant)
    return import_fail(c, op->loc, "'stablehlo.cross-replica-sum' needs one tensor of numbers");
  void *attrs = import_attrs(c, op, HLO_ATTR_LIST_all_reduce, &ok);
  if (!ok) return false;
  hlo_computation *body = hlo_build_binary_computation(c->module, HLO_OP_ADD, shape->dtype);
  hlo_instr *i = import_emit(c, s, HLO_OP_ALL_REDUCE, shape, op->n_operands, operands, 1, &body, attrs, op->loc);
  return i && import_bind_results(c, s, op, i);
}

// --- StableHLO's interpreter dialect: custom calls -----------------------------------------------

static hlo_dict_entry number_entry(import_ctx *c, const char *name, int64_t x) {
  return (hlo_dict_entry){strv_from_cstr(name), strv_from_cstr(arena_printf(c->arena, "%lld : i64", (long long)x)),
                          false};
}

static hlo_attrs_custom_call *dialect_call(import_ctx *c, const char *target, int n, const hlo_dict_entry *entries) {
  hlo_attrs_custom_call *a = hlo_attrs_create(c->arena, HLO_ATTR_LIST_custom_call);
  a->target = strv_from_cstr(target);
  a->has_side_effect = true;
  a->attributes = (hlo_dict){arena_copy(c->arena, entries, sizeof *entries * (size_t)n), n};
  return a;
}

static bool emit_dialect_call(import_ctx *c, import_scope *s, const mlir_op *op, int n_called,
                              hlo_computation *const *called, hlo_attrs_custom_call *attrs) {
  hlo_instr **operands = import_operands(c, s, op);
  const hlo_shape *shape = operands ? import_result_shape(c, op) : NULL;
  if (!shape) return false;
  hlo_instr *i =
      import_emit(c, s, HLO_OP_CUSTOM_CALL, shape, op->n_operands, operands, n_called, called, attrs, op->loc);
  return i && import_bind_results(c, s, op, i);
}

// Symbols of functions, behind those that are in `called`.
static bool call_symbols(import_ctx *c, const mlir_op *op, const mlir_attr *names, hlo_computation **called, int *n) {
  for (int k = 0; k < names->n_items; k++) {
    const mlir_attr *a = names->items[k];
    if (a->kind != MLIR_ATTR_SYMBOL || a->n_items)
      return import_fail(c, op->loc, "'" STRV_FMT "': expected symbols of functions", STRV_ARG(op->name));
    if (!(called[(*n)++] = import_function(c, a->string, op->loc))) return false;
  }
  return true;
}

// The programs together take the operands and give the results; an infeed function gives one tensor.
static bool check_parallel(import_ctx *c, const mlir_op *op, hlo_computation *const *called, int n, int n_programs) {
  int params = 0, results = 0;
  for (int i = 0; i < n_programs; i++) {
    params += called[i]->n_params;
    results += hlo_shape_is_tuple(called[i]->root->shape) ? called[i]->root->shape->n_elements : 1;
  }
  if (params != op->n_operands)
    return import_fail(c, op->loc,
                       "'interpreter.run_parallel': %d operands; expected %d, what the programs take together",
                       op->n_operands, params);
  if (results != op->n_results)
    return import_fail(c, op->loc,
                       "'interpreter.run_parallel': %d results; expected %d, what the programs give together",
                       op->n_results, results);
  for (int i = n_programs; i < n; i++)
    if (!hlo_shape_is_array(called[i]->root->shape))
      return import_fail(c, op->loc, "'interpreter.run_parallel': infeed function @" STRV_FMT " must return one tensor",
                         STRV_ARG(called[i]->name));
  return true;
}

static bool op_run_parallel(import_ctx *c, import_scope *s, const mlir_op *op) {
  const mlir_attr *programs = mlir_op_attr(op, "programs"), *infeed = mlir_op_attr(op, "infeed");
  bool ok = programs && programs->kind == MLIR_ATTR_ARRAY && programs->n_items > 0;
  int total = infeed && infeed->kind == MLIR_ATTR_ARRAY ? infeed->n_items : 0, n = 0;
  if (infeed && !total) ok = false;
  for (int r = 0; ok && r < programs->n_items; r++) {
    const mlir_attr *row = programs->items[r];
    ok = row->kind == MLIR_ATTR_ARRAY && row->n_items > 0 && row->n_items == programs->items[0]->n_items;
    if (ok) total += row->n_items;
  }
  if (!ok)
    return import_fail(c, op->loc, "'interpreter.run_parallel': expected 'programs' to hold rows of the same length");
  hlo_computation **called = ARENA_ARRAY(c->arena, hlo_computation *, total);
  for (int r = 0; r < programs->n_items; r++)
    if (!call_symbols(c, op, programs->items[r], called, &n)) return false;
  int n_programs = n;
  if (infeed && !call_symbols(c, op, infeed, called, &n)) return false;
  if (!check_parallel(c, op, called, n, n_programs)) return false;
  hlo_dict_entry entries[] = {number_entry(c, "replicas", programs->n_items),
                              number_entry(c, "partitions", programs->items[0]->n_items)};
  return emit_dialect_call(c, s, op, n, called, dialect_call(c, "interpreter.run_parallel", 2, entries));
}

static bool op_probe(import_ctx *c, import_scope *s, const mlir_op *op) {
  const mlir_attr *id = mlir_op_attr(op, "probe_id");
  int64_t iteration = 0;
  bool is_probe = strv_eq_cstr(op->name, "interpreter.probe");
  if (op->n_operands != 1 || op->n_results != is_probe || !id || id->kind != MLIR_ATTR_STRING)
    return import_fail(c, op->loc, "'" STRV_FMT "' is malformed", STRV_ARG(op->name));
  const mlir_attr *at = mlir_op_attr(op, "iteration");
  if (at && !import_int(at, &iteration))
    return import_fail(c, op->loc, "'" STRV_FMT "': 'iteration' is not a number", STRV_ARG(op->name));
  hlo_dict_entry entries[] = {{STRV("probe_id"), id->string, true}, number_entry(c, "iteration", iteration)};
  const char *target = is_probe ? "interpreter.probe" : "check.expect_serialized_eq";
  return emit_dialect_call(c, s, op, 0, NULL, dialect_call(c, target, is_probe ? 1 : 2, entries));
}

const import_handler import_op_handlers[] = {
    {"func.call", op_call},
    {"call", op_call},
    {"stablehlo.composite", op_composite},
    {"stablehlo.custom_call", op_custom_call},
    {"stablehlo.while", import_while},
    {"stablehlo.if", import_conditional},
    {"stablehlo.case", import_conditional},
    {"stablehlo.optimization_barrier", op_barrier},
    {"stablehlo.dot", op_dot},
    {"stablehlo.broadcast", op_broadcast},
    {"stablehlo.einsum", import_einsum},
    {"stablehlo.unary_einsum", import_unary_einsum},
    {"stablehlo.cross-replica-sum", op_cross_replica_sum},
    {"interpreter.run_parallel", op_run_parallel},
    {"interpreter.probe", op_probe},
    {"check.expect_serialized_eq", op_probe},
    {"arith.constant", op_constant},
    {"sdy.manual_computation", import_manual_computation},
    {"sdy.named_computation", import_inline_region},
    {"sdy.sharding_constraint", op_identity},
    {"sdy.reshard", op_identity},
    {"sdy.sharding_group", op_identity},
    {"sdy.propagation_barrier", op_identity},
    {"sdy.data_flow_edge", op_identity},
    {"sdy.constant", op_constant},
    {"sdy.all_gather", op_identity},
    {"sdy.all_slice", op_identity},
    {"sdy.all_to_all", op_identity},
    {"sdy.all_reduce", op_identity},
    {"sdy.collective_permute", op_identity},
    {"sdy.reduce_scatter", op_identity},
    {"sdy.replicated_to_unreduced", op_identity},
    {"sdy.sharded_to_unreduced", op_identity},
    {NULL, NULL},
};
