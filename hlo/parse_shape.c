// SPDX-License-Identifier: Apache-2.0
// Shapes and literals in HLO text. Layouts' tilings, memory spaces and element sizes are read and dropped.
#include <string.h>

#include "hlo/text_internal.h"

// --- shapes --------------------------------------------------------------------------------------

typedef struct array_shape {
  hlo_shape shape;
  int64_t dims[HLO_TEXT_MAX_RANK], bounds[HLO_TEXT_MAX_RANK];
  int32_t layout[HLO_TEXT_MAX_RANK];
} array_shape;

static bool parse_size(hlo_parser *p, int64_t *out) {
  const char *at = hlo_parse_place(p);
  if (!hlo_parse_int(p, out)) return false;
  return *out >= 0 ? true : hlo_parse_fail(p, at, "the size of a dimension cannot be negative");
}

static bool parse_dims(hlo_parser *p, array_shape *a) {
  hlo_shape *s = &a->shape;
  if (!hlo_parse_expect(p, '[', "after the element type")) return false;
  if (hlo_parse_accept(p, ']')) return true;
  do {
    hlo_parse_skip_blanks(p);
    if (s->rank == HLO_TEXT_MAX_RANK) return hlo_parse_fail(p, p->at, "more than %d dimensions", HLO_TEXT_MAX_RANK);
    int64_t *dim = &a->dims[s->rank], *bound = &a->bounds[s->rank];
    *dim = *bound = HLO_DYNAMIC;
    s->rank++;
    if (hlo_parse_accept(p, '?')) continue;
    if (p->end - p->at >= 2 && p->at[0] == '<' && p->at[1] == '=') {
      p->at += 2;
      if (!parse_size(p, bound)) return false;
      s->bounds = a->bounds;
    } else if (!parse_size(p, dim)) {
      return false;
    }
  } while (hlo_parse_accept(p, ','));
  return hlo_parse_expect(p, ']', "after the dimensions");
}

// The cursor is behind '{'.
static bool parse_layout(hlo_parser *p, array_shape *a) {
  int n = 0;
  const char *from = p->at;
  bool used[HLO_TEXT_MAX_RANK] = {false};
  while (!hlo_parse_peek(p, '}') && !hlo_parse_peek(p, ':')) {
    int64_t d;
    if (n && !hlo_parse_expect(p, ',', "between the dimensions of a layout")) return false;
    const char *at = hlo_parse_place(p);
    if (!hlo_parse_int(p, &d)) return false;
    if (d < 0 || d >= a->shape.rank || used[d] || n == a->shape.rank)
      return hlo_parse_fail(p, at, "a layout must name each dimension of its shape once");
    used[d] = true;
    a->layout[n++] = (int32_t)d;
  }
  if (n && n != a->shape.rank) return hlo_parse_fail(p, from, "a layout must name each dimension of its shape once");
  if (n) a->shape.layout = a->layout;
  for (int depth = 0; p->at < p->end && *p->at != '\n' && (depth || *p->at != '}'); p->at++)  // ":T(8,128)S(1)"
    depth += *p->at == '(' ? 1 : *p->at == ')' ? -1 : 0;
  return hlo_parse_expect(p, '}', "after a layout");
}

static bool parse_scales(hlo_parser *p, hlo_quant *q) {
  VEC(double) scales = {0};
  VEC(int64_t) zeros = {0};
  bool ok = hlo_parse_expect(p, '{', "before the scales");
  while (ok) {
    hlo_parse_skip_blanks(p);
    const char *from = p->at;
    while (p->at < p->end && !strchr(":,})\n", *p->at)) p->at++;
    double scale;
    int64_t zero;
    if (!strv_parse_f64((strv){from, (size_t)(p->at - from)}, &scale))
      ok = hlo_parse_fail(p, from, "expected a scale");
    else
      ok = hlo_parse_expect(p, ':', "between scale and zero point") && hlo_parse_int(p, &zero);
    if (!ok) break;
    vec_push(NULL, &scales, scale);
    vec_push(NULL, &zeros, zero);
    if (!hlo_parse_accept(p, ',')) break;
  }
  if (ok) ok = hlo_parse_expect(p, '}', "after the scales");
  if (ok) {
    q->n_scales = scales.len;
    q->scales = arena_copy(p->arena, scales.data, sizeof(double) * (size_t)scales.len);
    q->zero_points = arena_copy(p->arena, zeros.data, sizeof(int64_t) * (size_t)zeros.len);
  }
  vec_deinit(&scales);
  vec_deinit(&zeros);
  return ok;
}

// "quant(f32,-128:127,axis=1,{0.5:0,0.25:3})" behind '!'.
static bool parse_quant(hlo_parser *p, array_shape *a) {
  hlo_quant *q = ARENA_NEW(p->arena, hlo_quant);
  q->axis = -1;
  const char *at = hlo_parse_place(p);
  if (!hlo_dtype_is_integer(a->shape.dtype)) return hlo_parse_fail(p, at, "a quantized type is stored as an integer");
  if (!hlo_parse_accept_word(p, "quant")) return hlo_parse_fail(p, at, "expected 'quant' after '!'");
  if (!hlo_parse_expect(p, '(', "after quant")) return false;
  at = hlo_parse_place(p);
  if (!hlo_dtype_from_hlo(hlo_parse_word(p), &q->expressed) || !hlo_dtype_is_float(q->expressed))
    return hlo_parse_fail(p, at, "expected the expressed float type");
  if (!hlo_parse_expect(p, ',', "after the expressed type") || !hlo_parse_int(p, &q->storage_min) ||
      !hlo_parse_expect(p, ':', "in the storage range") || !hlo_parse_int(p, &q->storage_max) ||
      !hlo_parse_expect(p, ',', "after the storage range"))
    return false;
  if (hlo_parse_accept_word(p, "axis")) {
    int64_t axis;
    if (!hlo_parse_expect(p, '=', "after axis")) return false;
    at = hlo_parse_place(p);
    if (!hlo_parse_int(p, &axis)) return false;
    if (axis < 0 || axis >= a->shape.rank) return hlo_parse_fail(p, at, "the quantized axis is not a dimension");
    q->axis = (int32_t)axis;
    if (!hlo_parse_expect(p, ',', "after the axis")) return false;
  }
  at = hlo_parse_place(p);
  if (!parse_scales(p, q)) return false;
  int64_t wanted = q->axis < 0 ? 1 : a->dims[q->axis];
  if (wanted != HLO_DYNAMIC && q->n_scales != wanted)
    return hlo_parse_fail(p, at, "%d scales for %lld slices", q->n_scales, (long long)wanted);
  a->shape.quant = q;
  return hlo_parse_expect(p, ')', "after the quantization");
}

static bool parse_array_shape(hlo_parser *p, const hlo_shape **out) {
  array_shape a;
  a.shape = (hlo_shape){.dims = a.dims};
  const char *at = hlo_parse_place(p);
  strv name = hlo_parse_word(p);
  if (strv_eq_cstr(name, "tuple") || !hlo_dtype_from_hlo(name, &a.shape.dtype)) {
    if (!name.len) return hlo_parse_fail(p, at, "expected a shape");
    if (strv_eq_cstr(name, "opaque") || strv_eq_cstr(name, "u1") || strv_eq_cstr(name, "s1")) p->n_unimplemented++;
    return hlo_parse_fail(p, at, "unknown element type '" STRV_FMT "'", STRV_ARG(name));
  }
  if (!parse_dims(p, &a)) return false;
  if (p->at < p->end && *p->at == '{') {  // no blank before it: "f32[2] {1, 2}" is a literal
    p->at++;
    if (!parse_layout(p, &a)) return false;
  }
  if (p->at < p->end && *p->at == '!') {
    p->at++;
    if (!parse_quant(p, &a)) return false;
  }
  if (a.shape.dtype == HLO_TOKEN && a.shape.rank) return hlo_parse_fail(p, at, "a token has no dimensions");
  *out = hlo_shape_intern(p->module->shapes, &a.shape);
  return true;
}

static bool parse_shape(hlo_parser *p, int depth, const hlo_shape **out) {
  if (!hlo_parse_peek(p, '(')) return parse_array_shape(p, out);
  if (depth == HLO_TEXT_MAX_NESTING) return hlo_parse_fail(p, p->at, "tuples nested too deeply");
  (void)hlo_parse_accept(p, '(');
  VEC(const hlo_shape *) v = {0};
  bool ok = true;
  if (!hlo_parse_accept(p, ')')) {
    do {
      const hlo_shape *element;
      if (!(ok = parse_shape(p, depth + 1, &element))) break;
      vec_push(NULL, &v, element);
    } while (hlo_parse_accept(p, ','));
    ok = ok && hlo_parse_expect(p, ')', "after the elements of a tuple");
  }
  if (ok) *out = hlo_shape_tuple(p->module->shapes, v.len, v.data);
  vec_deinit(&v);
  return ok;
}

bool hlo_parse_shape(hlo_parser *p, const hlo_shape **out) {
  return parse_shape(p, 0, out);
}

// --- literals ------------------------------------------------------------------------------------

// "1.5", "true", "nan(0x1)", "(1, -2)"
static strv element_text(hlo_parser *p) {
  hlo_parse_skip_blanks(p);
  const char *from = p->at;
  int depth = 0;
  for (; p->at < p->end; p->at++) {
    char c = *p->at;
    if (c == '\n') break;
    if (!depth && (c == ',' || c == '}' || c == ')' || c == ' ' || c == '\t' || c == '\r')) break;
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
  }
  return (strv){from, (size_t)(p->at - from)};
}

static bool parse_element(hlo_parser *p, hlo_dtype t, void *data, int64_t i) {
  strv text = element_text(p);
  if (hlo_element_parse(t, text, data, i)) return true;
  if (strv_starts_with(text, STRV("...")))
    return hlo_parse_fail(p, text.data, "the constant's elements were left out when this text was printed");
  return hlo_parse_fail(p, text.data, "'%.*s' is not a value of %s", (int)(text.len < 40 ? text.len : 40), text.data,
                        hlo_dtype_table[t].hlo_name);
}

static bool parse_elements(hlo_parser *p, const hlo_literal *l, int dim, int64_t *next) {
  const hlo_shape *s = l->shape;
  if (dim == s->rank) return parse_element(p, s->dtype, l->data, (*next)++);
  const char *at = hlo_parse_place(p);
  if (p->end - at >= 3 && !memcmp(at, "...", 3)) return parse_element(p, s->dtype, l->data, 0);  // says what is wrong
  if (!hlo_parse_expect(p, '{', "before the elements of a dimension")) return false;
  for (int64_t i = 0; i < s->dims[dim]; i++) {
    if (i && !hlo_parse_accept(p, ','))
      return hlo_parse_fail(p, p->at, "dimension %d of this constant has %lld elements, here are only %lld", dim,
                            (long long)s->dims[dim], (long long)i);
    if (!parse_elements(p, l, dim + 1, next)) return false;
  }
  if (hlo_parse_peek(p, ','))
    return hlo_parse_fail(p, p->at, "dimension %d of this constant has only %lld elements", dim,
                          (long long)s->dims[dim]);
  return hlo_parse_expect(p, '}', "after the elements of a dimension");
}

bool hlo_parse_literal(hlo_parser *p, const hlo_shape *shape, const hlo_literal **out) {
  const char *at = hlo_parse_place(p);
  if (!hlo_shape_is_array(shape)) {
    p->n_unimplemented++;
    return hlo_parse_fail(p, at, "constants of token shape are not supported");
  }
  if (!hlo_shape_is_static(shape)) return hlo_parse_fail(p, at, "a constant's shape must be static");
  if (hlo_parse_accept_word(p, "splat")) {
    double element[2] = {0, 0};
    if (!parse_element(p, shape->dtype, element, 0)) return false;
    *out = hlo_literal_splat(p->arena, shape, element);
    return true;
  }
  // An empty one must not reach parse_elements: its other dimensions may be huge.
  int64_t bytes = hlo_shape_bytes(shape);
  if (bytes > 0 && shape->rank && bytes / hlo_dtype_bytes(shape->dtype) > p->end - p->at)
    return hlo_parse_fail(p, at, "the rest of the text is too short for this constant's %lld elements",
                          (long long)(bytes / hlo_dtype_bytes(shape->dtype)));
  hlo_literal *l = NULL;
  lemnos_status status = hlo_literal_create(p->arena, shape, &l);
  if (status) {
    hlo_parse_fail(p, at, "%s", lemnos_status_message(status));
    lemnos_status_free(status);
    return false;
  }
  *out = l;
  int64_t next = 0;
  if (bytes) return parse_elements(p, l, 0, &next);
  for (int depth = 0; p->at < p->end; p->at++) {  // "{}" or "{ {}, {} }"
    if (*p->at == '{')
      depth++;
    else if (*p->at == '}')
      depth--;
    else if (!strchr(", \n\t\r", *p->at))
      break;
    if (depth <= 0) {
      if (*p->at == '}') p->at++;
      return depth == 0 && p->at[-1] == '}' ? true : hlo_parse_fail(p, at, "expected '{}' for an empty constant");
    }
  }
  return hlo_parse_fail(p, at, "expected '{}' for an empty constant");
}
