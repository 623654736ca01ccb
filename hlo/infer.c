// SPDX-License-Identifier: Apache-2.0
// Shape inference: the driver behind hlo_infer_shape.
//
// Checks what holds for every operation alike (operand, computation and attribute counts, ranks, enumerations, element
// types of elementwise operations), calls the operation's own function (infer_<family>.c), then merges the inferred
// shape with the declared one: they must be compatible; static sizes win over dynamic ones, the declared layout and
// quantization win.
#include <stdio.h>
#include <string.h>

#include "hlo/infer_internal.h"

// clang-format off
static const infer_fn infer_table[HLO_OP_COUNT] = {
#define OP(ENUM, stablehlo, text, min, max, called, traits, FAMILY, attrs, TYPES) hlo_infer_##ENUM,
#include "hlo/ops.def"
#undef OP
};
// clang-format on

const char *infer_op_label(hlo_op op, char buffer[64]) {
  const char *name = hlo_op_table[op].stablehlo_name;
  const char *dot = strchr(name, '.');
  if (!name[0])
    name = hlo_op_table[op].text_name;
  else if (dot && hlo_op_table[op].family != HLO_FAMILY_CHECK)
    name = dot + 1;
  int n = 0;
  for (; name[n] && n < 63; n++) buffer[n] = name[n] == '-' || name[n] == '.' ? '_' : name[n];
  buffer[n] = 0;
  return buffer;
}

// Line `line` (from 1) of the module's source, for the caret; empty if unknown.
static strv source_line(const hlo_module *m, const loc *l) {
  const loc *file = loc_file(l);
  if (!m || !file || !m->source.len || file->line < 1) return (strv){0};
  strv rest = m->source, head = {0};
  for (int32_t i = 0; i < file->line; i++) {
    if (!rest.len) return (strv){0};
    strv_split(rest, '\n', &head, &rest);
  }
  return head;
}

bool infer_error(infer *f, const char *label, const char *format, ...) {
  char op[64];
  strbuf text = {0};
  va_list args;
  va_start(args, format);
  strbuf_vprintf(&text, format, args);
  va_end(args);
  strbuf where = {0};
  const char *name = infer_op_label(f->op, op);
  // stablehlo.if has constraints of its own; it is the conditional on a pred.
  if (f->op == HLO_OP_CONDITIONAL && f->n > 0 && f->in[0] && f->in[0]->shape && f->in[0]->shape->dtype == HLO_PRED) {
    name = "if";
    label = !strcmp(label, "c2") ? "c1" : !strcmp(label, "c3") ? "c2" : !strcmp(label, "c4") ? "c3" : label;
  }
  if (f->name.len) strbuf_printf(&where, " (in %%" STRV_FMT ")", STRV_ARG(f->name));
  diag_add(f->sink, DIAG_ERROR, f->loc, source_line(f->module, f->loc), "%s_%s: " STRV_FMT STRV_FMT, name, label,
           STRV_ARG(strbuf_view(&text)), STRV_ARG(strbuf_view(&where)));
  strbuf_deinit(&text);
  strbuf_deinit(&where);
  return false;
}

static bool check_counts(infer *f) {
  const hlo_op_info *info = &hlo_op_table[f->op];
  REQUIRE(f, f->n >= info->min_operands, "operands", "expected at least %d operands, found %d", info->min_operands,
          f->n);
  REQUIRE(f, info->max_operands < 0 || f->n <= info->max_operands, "operands", "expected at most %d operands, found %d",
          info->max_operands, f->n);
  REQUIRE(f, info->n_called < 0 || f->n_called == info->n_called, "regions",
          "expected %d called computations, found %d", info->n_called, f->n_called);
  for (int i = 0; i < f->n; i++) {
    REQUIRE(f, f->in[i] && f->in[i]->shape, "operands", "operand %d is missing", i);
    REQUIRE(f, f->in[i]->shape->rank <= INFER_MAX_RANK, "operands", "operand %d has rank %d, at most %d is supported",
            i, f->in[i]->shape->rank, INFER_MAX_RANK);
  }
  for (int i = 0; i < f->n_called; i++) {
    const hlo_computation *c = f->called[i];
    REQUIRE(f, c && c->root && c->root->shape, "regions", "called computation %d is missing or has no root", i);
    for (int p = 0; p < c->n_params; p++)
      REQUIRE(f, c->params[p] && c->params[p]->shape, "regions", "parameter %d of called computation %d is missing", p,
              i);
  }
  return true;
}

static bool check_list(infer *f, const hlo_attr_desc *d, int32_t n, const void *data) {
  REQUIRE(f, n >= 0 && (n == 0 || data), "attributes", "attribute %s is a list of %d without values", d->field, n);
  return true;
}

static bool check_enum(infer *f, const hlo_attr_desc *d, int value) {
  REQUIRE(f, hlo_enum_name(d->kind, value), "attributes", "attribute %s has no such value: %d", d->field, value);
  return true;
}

static bool check_attr(infer *f, const hlo_attr_desc *d) {
  const void *p = (const char *)f->attrs + d->offset;
  switch (d->kind) {
    case HLO_ATTR_KIND_i64s: return check_list(f, d, ((const hlo_i64s *)p)->n, ((const hlo_i64s *)p)->data);
    case HLO_ATTR_KIND_window: return check_list(f, d, ((const hlo_window *)p)->n, ((const hlo_window *)p)->dims);
    case HLO_ATTR_KIND_padding: return check_list(f, d, ((const hlo_padding *)p)->n, ((const hlo_padding *)p)->dims);
    case HLO_ATTR_KIND_pairs: return check_list(f, d, ((const hlo_pairs *)p)->n, ((const hlo_pairs *)p)->data);
    case HLO_ATTR_KIND_dict: return check_list(f, d, ((const hlo_dict *)p)->n, ((const hlo_dict *)p)->entries);
    case HLO_ATTR_KIND_slice: {
      const hlo_slice *s = p;
      return check_list(f, d, s->n, s->start && s->limit && s->stride ? s->start : NULL);
    }
    case HLO_ATTR_KIND_precisions: {
      const hlo_precisions *s = p;
      CHECK(check_list(f, d, s->n, s->data));
      for (int i = 0; i < s->n; i++)
        REQUIRE(f, hlo_enum_name(HLO_ATTR_KIND_precision, (int)s->data[i]), "attributes", "%s[%d] is no precision: %d",
                d->field, i, (int)s->data[i]);
      return true;
    }
    case HLO_ATTR_KIND_groups: {
      const hlo_groups *g = p;
      REQUIRE(f, g->rows >= 0 && g->cols >= 0, "attributes", "%s has shape [%d, %d]", d->field, g->rows, g->cols);
      return check_list(f, d, g->rows && g->cols ? 1 : 0, g->data);
    }
    case HLO_ATTR_KIND_literal: {
      const hlo_literal *l = *(const hlo_literal *const *)p;
      REQUIRE(f, l && l->shape && hlo_shape_is_array(l->shape), "attributes", "attribute %s is missing", d->field);
      return true;
    }
#define ENUM_CASE(name) \
  case HLO_ATTR_KIND_##name: return check_enum(f, d, (int)*(const hlo_##name *)p);
      HLO_ENUMS(ENUM_CASE)
#undef ENUM_CASE
    case HLO_ATTR_KIND_string:
      REQUIRE(f, !((const strv *)p)->len || ((const strv *)p)->data, "attributes", "attribute %s is missing", d->field);
      return true;
    case HLO_ATTR_KIND_i64:
    case HLO_ATTR_KIND_f64:
    case HLO_ATTR_KIND_flag:
    case HLO_ATTR_KIND_dot_dnums:
    case HLO_ATTR_KIND_conv_dnums:
    case HLO_ATTR_KIND_gather_dnums:
    case HLO_ATTR_KIND_scatter_dnums:
    case HLO_ATTR_KIND_COUNT: return true;
  }
  return true;
}

static bool check_attrs(infer *f) {
  const hlo_attr_list_info *list = &hlo_attr_list_table[hlo_op_table[f->op].attrs];
  if (list->n == 0) return true;
  REQUIRE(f, f->attrs, "attributes", "the attributes are missing");
  for (int i = 0; i < list->n; i++) CHECK(check_attr(f, &list->descs[i]));
  return true;
}

// Quantized types are real numbers: they may stand where a float may, but not with integer or pred operations.
static bool check_elementwise(infer *f) {
  const hlo_op_info *info = &hlo_op_table[f->op];
  if (!(info->traits & HLO_TRAIT_E)) return true;
  bool any = strcmp(info->types, "A") == 0;
  for (int i = 0; i < f->n; i++) {
    char label[16];
    snprintf(label, sizeof label, "i%d", i + 1);
    CHECK(infer_array(f, i, label));
    if (!any) CHECK(infer_class(f, i, info->types, label));
    // per-axis quantization: add and the quantization operations only
    if (f->op != HLO_OP_ADD && info->family != HLO_FAMILY_QUANT) CHECK(infer_not_per_axis(f, i, label));
    REQUIRE(f, !f->in[i]->shape->quant || info->family != HLO_FAMILY_CHLO, label,
            "operand %d has type %s; expected one that is not quantized", i, infer_text(f, f->in[i]->shape));
  }
  return true;
}

// Declared and inferred shape as one: static sizes win, declared layout and quantization win.
static const hlo_shape *merge_declared(infer *f, const hlo_shape *inferred, const hlo_shape *declared) {
  if (inferred == declared) return declared;
  if (hlo_shape_is_tuple(inferred)) {
    const hlo_shape **elements = ARENA_ARRAY(f->arena, const hlo_shape *, inferred->n_elements + 1);
    for (int i = 0; i < inferred->n_elements; i++)
      elements[i] = merge_declared(f, inferred->elements[i], declared->elements[i]);
    return hlo_shape_tuple(f->shapes, inferred->n_elements, elements);
  }
  if (!hlo_shape_is_array(inferred)) return declared;
  if (hlo_shape_is_static(declared)) return declared;  // compatible with the inferred one, hence the more specific
  hlo_shape merged = *infer_meet(f, declared, inferred);
  merged.layout = declared->layout;
  return hlo_shape_intern(f->shapes, &merged);
}

// The same sizes in the same tuples: whatever differs are element types.
static bool same_structure(const hlo_shape *a, const hlo_shape *b) {
  if (hlo_shape_is_tuple(a) != hlo_shape_is_tuple(b) || a->n_elements != b->n_elements) return false;
  for (int i = 0; i < a->n_elements; i++)
    if (!same_structure(a->elements[i], b->elements[i])) return false;
  return infer_compatible_dims(a, b);
}

static bool check_declared(infer *f, const hlo_shape *inferred) {
  const hlo_shape *r = f->declared;
  const char *label = f->type_label && same_structure(inferred, r) ? f->type_label : f->result_label;
  REQUIRE(f, infer_compatible(inferred, r), label, "the result has type %s, expected %s", infer_text(f, r),
          infer_text(f, inferred));
  REQUIRE(f, !f->exact_layout || infer_same_layout(inferred, r), label, "the result has layout %s, expected %s",
          infer_text(f, r), infer_text(f, inferred));
  return true;
}

bool infer_run(infer *f, const hlo_shape **out_shape) {
  CHECK(check_counts(f));
  CHECK(check_attrs(f));
  if (f->declared) CHECK(infer_check_shape(f, "result", f->declared));
  CHECK(check_elementwise(f));
  f->result_label = "result";
  const hlo_shape *s = infer_table[f->op](f);
  CHECK(s);
  CHECK(infer_check_shape(f, f->result_label, s));
  if (f->declared) {
    CHECK(check_declared(f, s));
    s = merge_declared(f, s, f->declared);
  }
  *out_shape = s;
  return true;
}

lemnos_status hlo_infer_shape(hlo_module *m, hlo_op op, int n_operands, hlo_instr *const *operands, int n_called,
                              hlo_computation *const *called, const void *attrs, const hlo_shape *declared,
                              const loc *l, diag_sink *sink, const hlo_shape **out_shape) {
  if ((unsigned)op >= HLO_OP_COUNT)
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "no such operation: %d", (int)op);
  diag_sink local;
  if (!sink) diag_sink_init(&local, m->arena);
  diag_sink *used = sink ? sink : &local;
  int mark = used->n_errors;
  infer f = {.arena = m->arena,
             .shapes = m->shapes,
             .module = m,
             .op = op,
             .n = n_operands,
             .in = operands,
             .n_called = n_called,
             .called = called,
             .attrs = attrs,
             .declared = declared,
             .loc = l,
             .sink = used};
  bool ok = infer_run(&f, out_shape);
  lemnos_status status = ok ? LEMNOS_SUCCESS : diag_sink_status(used, mark);
  if (!sink) diag_sink_deinit(&local);
  return status;
}
