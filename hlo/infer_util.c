// SPDX-License-Identifier: Apache-2.0
// Shape inference: the arithmetic of types and sizes that the infer_<family>.c files share.
//
// Two shapes are compatible when their element types agree (quantized: same storage, range, expressed type and
// granularity; scales and zero points may differ), ranks agree, and each pair of sizes is equal or one of them is
// dynamic, a static size not exceeding the other's bound. All sizes are computed within 62 bits; what does not fit is
// an error.
#include <string.h>

#include "hlo/infer_internal.h"

// --- texts ---------------------------------------------------------------------------------------

static const char *keep(infer *f, strbuf *b) {
  const char *s = arena_strv(f->arena, strbuf_view(b)).data;
  strbuf_deinit(b);
  return s;
}

static bool has_layout(const hlo_shape *s) {
  for (int i = 0; i < hlo_shape_leaves(s); i++)
    if (hlo_shape_leaf(s, i)->layout) return true;
  return false;
}

// Row-major layouts are what everybody expects: they are left out.
const char *infer_text(infer *f, const hlo_shape *s) {
  strbuf b = {0}, plain = {0};
  hlo_shape_print(&b, s);
  if (has_layout(s)) return keep(f, &b);
  for (size_t i = 0; i < b.len; i++) {
    bool layout = i && b.data[i - 1] == ']' && b.data[i] == '{';
    while (layout && i < b.len && b.data[i] != '}') i++;
    if (!layout) strbuf_append_char(&plain, b.data[i]);
  }
  strbuf_deinit(&b);
  return keep(f, &plain);
}

const char *infer_text_type(infer *f, const hlo_shape *s) {
  if (!s->quant) return hlo_dtype_table[s->dtype].hlo_name;
  return arena_printf(f->arena, "quantized %s:%s %s", hlo_dtype_table[s->dtype].hlo_name,
                      hlo_dtype_table[s->quant->expressed].hlo_name, s->quant->axis >= 0 ? "per axis" : "per tensor");
}

const char *infer_text_list(infer *f, hlo_i64s l) {
  strbuf b = {0};
  strbuf_append_char(&b, '{');
  for (int i = 0; i < l.n; i++) {
    if (i == 16) {
      strbuf_append_cstr(&b, ", ...");
      break;
    }
    strbuf_printf(&b, i ? ", %lld" : "%lld", (long long)l.data[i]);
  }
  strbuf_append_char(&b, '}');
  return keep(f, &b);
}

const char *infer_text_dim(infer *f, int64_t size) {
  return infer_is_dynamic(size) ? "?" : arena_printf(f->arena, "%lld", (long long)size);
}

// --- checked arithmetic --------------------------------------------------------------------------

#define LIMIT (INT64_C(1) << 62)

bool infer_add(int64_t a, int64_t b, int64_t *out) {
  if (a > LIMIT || a < -LIMIT || b > LIMIT || b < -LIMIT) return false;
  int64_t sum = (int64_t)((uint64_t)a + (uint64_t)b);
  if ((a > 0 && b > LIMIT - a) || (a < 0 && b < -LIMIT - a)) return false;
  *out = sum;
  return true;
}

bool infer_mul(int64_t a, int64_t b, int64_t *out) {
  if (a == 0 || b == 0) {
    *out = 0;
    return true;
  }
  if (a > LIMIT || a < -LIMIT || b > LIMIT || b < -LIMIT) return false;
  uint64_t x = a < 0 ? (uint64_t)-a : (uint64_t)a, y = b < 0 ? (uint64_t)-b : (uint64_t)b;
  if (x > (uint64_t)LIMIT / y) return false;
  *out = a * b;
  return true;
}

bool infer_unique(hlo_i64s l) {
  for (int i = 0; i < l.n; i++)
    for (int j = 0; j < i; j++)
      if (l.data[i] == l.data[j]) return false;
  return true;
}

bool infer_sorted(hlo_i64s l) {
  for (int i = 1; i < l.n; i++)
    if (l.data[i] < l.data[i - 1]) return false;
  return true;
}

bool infer_in_range(hlo_i64s l, int64_t end) {
  for (int i = 0; i < l.n; i++)
    if (l.data[i] < 0 || l.data[i] >= end) return false;
  return true;
}

// --- shapes in general ---------------------------------------------------------------------------

// Least and greatest normal number of a floating-point type; of those that are no usual expressed types, double's.
static void scale_range(hlo_dtype t, double *least, double *most) {
  switch (t) {
    case HLO_F16: *least = 0x1p-14, *most = 65504; break;
    case HLO_BF16: *least = 0x1p-126, *most = 0x1.fep127; break;
    case HLO_F32: *least = 0x1p-126, *most = 0x1.fffffep127; break;
    default: *least = 0x1p-1022, *most = 0x1.fffffffffffffp1023; break;
  }
}

static bool check_quant(infer *f, const char *label, const hlo_shape *s) {
  const hlo_quant *q = s->quant;
  REQUIRE(f, hlo_dtype_is_integer(s->dtype), label, "quantized storage type is %s; expected an integer type",
          hlo_dtype_table[s->dtype].hlo_name);
  REQUIRE(f, hlo_dtype_is_float(q->expressed), label, "quantized expressed type is not a floating-point type");
  int bits = hlo_dtype_table[s->dtype].bits;
  bool is_signed = hlo_dtype_is_signed(s->dtype);
  int64_t top = bits >= 64 ? INT64_MAX : (INT64_C(1) << (is_signed ? bits - 1 : bits)) - 1;
  int64_t bottom = is_signed ? (bits >= 64 ? INT64_MIN : -(INT64_C(1) << (bits - 1))) : 0;
  REQUIRE(f, bottom <= q->storage_min && q->storage_min < q->storage_max && q->storage_max <= top, label,
          "quantized_type_c3: storage range %lld..%lld; expected an increasing one inside %lld..%lld",
          (long long)q->storage_min, (long long)q->storage_max, (long long)bottom, (long long)top);
  REQUIRE(f, q->axis >= -1 && q->axis < s->rank, label, "quantized_type_c12: quantization dimension %d, rank %d",
          q->axis, s->rank);
  double least, most;
  scale_range(q->expressed, &least, &most);
  int64_t want = q->axis < 0 ? 1 : s->dims[q->axis];
  REQUIRE(f, q->n_scales >= 0 && (infer_is_dynamic(want) || q->n_scales == want), label, "%s: %d scales; expected %s",
          q->axis < 0 ? "quantized_type_c10" : "quantized_type_c13", q->n_scales, infer_text_dim(f, want));
  for (int i = 0; i < q->n_scales; i++) {
    REQUIRE(f, q->scales[i] > 0, label, "quantized_type_c5: scale %d is %g; expected a positive one", i, q->scales[i]);
    REQUIRE(f, q->scales[i] >= least && q->scales[i] <= most, label,
            "quantized_type_c4: scale %d is %g; expected a normal number of type %s, %g to %g", i, q->scales[i],
            hlo_dtype_table[q->expressed].hlo_name, least, most);
    REQUIRE(f, q->zero_points[i] >= q->storage_min && q->zero_points[i] <= q->storage_max, label,
            "quantized_type_c7: zero point %d is %lld; expected one in %lld..%lld", i, (long long)q->zero_points[i],
            (long long)q->storage_min, (long long)q->storage_max);
  }
  return true;
}

bool infer_check_shape(infer *f, const char *label, const hlo_shape *s) {
  if (hlo_shape_is_tuple(s)) {
    for (int i = 0; i < s->n_elements; i++) CHECK(infer_check_shape(f, label, s->elements[i]));
    return true;
  }
  if (!hlo_shape_is_array(s)) return true;
  REQUIRE(f, s->rank >= 0 && s->rank <= INFER_MAX_RANK, label, "the shape has rank %d; at most %d is supported",
          s->rank, INFER_MAX_RANK);
  // The product counts empty dimensions as 1: strides of an empty array must be representable, too.
  int64_t total = hlo_dtype_bytes(s->dtype);
  for (int i = 0; i < s->rank; i++) {
    int64_t bound = infer_bound(s, i), size = s->dims[i];
    REQUIRE(f, size >= 0 || infer_is_dynamic(size), label, "dimension %d has size %lld; expected a size >= 0", i,
            (long long)size);
    REQUIRE(f, infer_is_dynamic(bound) || (infer_is_dynamic(size) && bound >= 0), label,
            "dimension %d has size %s and bound %lld; expected a bound >= 0 and on a dynamic size only", i,
            infer_text_dim(f, size), (long long)bound);
    int64_t most = infer_is_dynamic(size) ? bound : size;
    REQUIRE(f, infer_is_dynamic(most) || most == 0 || infer_mul(total, most, &total), label,
            "the size of %s in bytes does not fit into 62 bits", infer_text(f, s));
  }
  return !s->quant || check_quant(f, label, s);
}

// --- operands ------------------------------------------------------------------------------------

bool infer_array(infer *f, int i, const char *label) {
  REQUIRE(f, hlo_shape_is_array(infer_in(f, i)), label, "operand %d has type %s; expected an array", i,
          infer_text(f, infer_in(f, i)));
  return true;
}

bool infer_arrays(infer *f, int first, int n, const char *label) {
  for (int i = first; i < first + n; i++) CHECK(infer_array(f, i, label));
  return true;
}

bool infer_scalar(infer *f, int i, const char *label) {
  CHECK(infer_array(f, i, label));
  REQUIRE(f, infer_in(f, i)->rank == 0, label, "operand %d has type %s; expected a scalar", i,
          infer_text(f, infer_in(f, i)));
  return true;
}

bool infer_class_has(const char *type_class, hlo_dtype t) {
  hlo_dtype_class c = hlo_dtype_cls(t);
  bool integer = c == HLO_CLASS_SINT || c == HLO_CLASS_UINT, flt = c == HLO_CLASS_FLOAT, cpx = c == HLO_CLASS_COMPLEX;
  static const char *const names[] = {"A", "N", "R", "F", "FC", "I", "IB", "P", "C", "SFC"};
  int k = 0;
  while (k < 10 && strcmp(names[k], type_class)) k++;
  switch (k) {
    case 0: return c != HLO_CLASS_NONE;
    case 1: return integer || flt || cpx;
    case 2: return integer || flt;
    case 3: return flt;
    case 4: return flt || cpx;
    case 5: return integer;
    case 6: return integer || c == HLO_CLASS_PRED;
    case 7: return c == HLO_CLASS_PRED;
    case 8: return cpx;
    case 9: return c == HLO_CLASS_SINT || flt || cpx;
    default: LEMNOS_PANIC("no such type class: %s", type_class);
  }
}

static const char *class_text(const char *type_class) {
  static const char *const texts[][2] = {{"A", "an array"},
                                         {"N", "integer, floating-point or complex elements"},
                                         {"R", "integer or floating-point elements"},
                                         {"F", "floating-point elements"},
                                         {"FC", "floating-point or complex elements"},
                                         {"I", "integer elements"},
                                         {"IB", "integer or pred elements"},
                                         {"P", "pred elements"},
                                         {"C", "complex elements"},
                                         {"SFC", "signed integer, floating-point or complex elements"}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (!strcmp(texts[i][0], type_class)) return texts[i][1];
  return type_class;
}

bool infer_class(infer *f, int i, const char *type_class, const char *label) {
  CHECK(infer_array(f, i, label));
  const hlo_shape *s = infer_in(f, i);
  // A quantized element is a real number of its expressed type.
  bool ok = s->quant ? infer_class_has(type_class, s->quant->expressed) : infer_class_has(type_class, s->dtype);
  REQUIRE(f, ok, label, "operand %d has type %s; expected %s", i, infer_text(f, s), class_text(type_class));
  return true;
}

bool infer_not_per_axis(infer *f, int i, const char *label) {
  REQUIRE(f, !infer_per_axis(infer_in(f, i)), label,
          "operand %d is quantized per axis; expected per tensor or not at all", i);
  return true;
}

bool infer_need_declared(infer *f) {
  REQUIRE(f, f->declared, "result", "the operation does not determine its result's type: one must be given");
  return true;
}

bool infer_need_declared_array(infer *f) {
  CHECK(infer_need_declared(f));
  REQUIRE(f, hlo_shape_is_array(f->declared), "result", "the result has type %s; expected an array",
          infer_text(f, f->declared));
  return true;
}

bool infer_need_declared_bounded(infer *f) {
  CHECK(infer_need_declared_array(f));
  int dynamic = 0;
  for (int i = 0; i < f->declared->rank; i++) {
    if (!infer_is_dynamic(f->declared->dims[i])) continue;
    REQUIRE(f, !infer_is_dynamic(infer_bound(f->declared, i)), "result",
            "the result has type %s; expected static or bounded sizes", infer_text(f, f->declared));
    dynamic++;
  }
  REQUIRE(f, dynamic <= 1, "result", "the result has type %s; expected at most one bounded size, found %d",
          infer_text(f, f->declared), dynamic);
  return true;
}

bool infer_constant(const infer *f, int i, int64_t *out, int max, int *out_n) {
  const hlo_instr *in = f->in[i];
  if (in->op != HLO_OP_CONSTANT || !in->attrs) return false;
  const hlo_literal *l = hlo_constant_value(in);
  if (!l || !l->data || l->shape->rank > 1 || l->shape->quant) return false;
  if (!hlo_dtype_is_integer(l->shape->dtype) && l->shape->dtype != HLO_PRED) return false;
  int64_t n = hlo_shape_elements(l->shape);
  if (n < 0 || n > max) return false;
  for (int64_t k = 0; k < n; k++) out[k] = hlo_literal_get_i64(l, k);
  *out_n = (int)n;
  return true;
}

// --- types ---------------------------------------------------------------------------------------

bool infer_same_type(const hlo_shape *a, const hlo_shape *b) {
  if (a->dtype != b->dtype || !a->quant != !b->quant) return false;
  if (!a->quant || a->quant == b->quant) return true;
  const hlo_quant *p = a->quant, *q = b->quant;
  return p->expressed == q->expressed && p->storage_min == q->storage_min && p->storage_max == q->storage_max &&
         (p->axis >= 0) == (q->axis >= 0);
}

bool infer_same_quant(const hlo_shape *a, const hlo_shape *b) {
  if (!infer_same_type(a, b)) return false;
  if (!a->quant || a->quant == b->quant) return true;
  if (a->quant->n_scales != b->quant->n_scales) return false;
  for (int i = 0; i < a->quant->n_scales; i++)
    if (a->quant->scales[i] != b->quant->scales[i] || a->quant->zero_points[i] != b->quant->zero_points[i])
      return false;
  return true;
}

bool infer_compatible_dims(const hlo_shape *a, const hlo_shape *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++) {
    int64_t x = a->dims[i], y = b->dims[i];
    if (!infer_size_ok(x, y)) return false;
    if (!infer_is_dynamic(x) && !infer_is_dynamic(infer_bound(b, i)) && x > infer_bound(b, i)) return false;
    if (!infer_is_dynamic(y) && !infer_is_dynamic(infer_bound(a, i)) && y > infer_bound(a, i)) return false;
  }
  return true;
}

bool infer_compatible(const hlo_shape *a, const hlo_shape *b) {
  if (a == b) return true;
  if (hlo_shape_is_tuple(a) != hlo_shape_is_tuple(b)) return false;
  if (hlo_shape_is_tuple(a)) {
    if (a->n_elements != b->n_elements) return false;
    for (int i = 0; i < a->n_elements; i++)
      if (!infer_compatible(a->elements[i], b->elements[i])) return false;
    return true;
  }
  return infer_same_type(a, b) && infer_compatible_dims(a, b);
}

bool infer_same_layout(const hlo_shape *a, const hlo_shape *b) {
  if (a == b) return true;
  if (hlo_shape_is_tuple(a)) {
    for (int i = 0; i < a->n_elements; i++)
      if (!infer_same_layout(a->elements[i], b->elements[i])) return false;
    return true;
  }
  for (int i = 0; i < a->rank; i++) {
    int32_t x = a->layout ? a->layout[i] : a->rank - 1 - i, y = b->layout ? b->layout[i] : b->rank - 1 - i;
    if (x != y) return false;
  }
  return true;
}

bool infer_promotable(const hlo_shape *from, const hlo_shape *to) {
  if (!from->quant != !to->quant) return false;
  if (from->quant && from->quant->expressed != to->quant->expressed) return false;
  hlo_dtype_class a = hlo_dtype_cls(from->dtype), b = hlo_dtype_cls(to->dtype);
  bool same = a == b || (hlo_dtype_is_integer(from->dtype) && hlo_dtype_is_integer(to->dtype));
  return same && hlo_dtype_table[from->dtype].bits <= hlo_dtype_table[to->dtype].bits;
}

// --- results -------------------------------------------------------------------------------------

void infer_push(infer_dims *d, int64_t size, int64_t bound) {
  if (d->n < INFER_MAX_RANK) {
    d->size[d->n] = size;
    d->bound[d->n] = infer_is_dynamic(size) ? bound : HLO_DYNAMIC;
  }
  d->n++;
}

void infer_push_from(infer_dims *d, const hlo_shape *s, int i) {
  infer_push(d, s->dims[i], infer_bound(s, i));
}

infer_dims infer_dims_of(const hlo_shape *s) {
  infer_dims d = {.n = 0};
  for (int i = 0; i < s->rank; i++) infer_push_from(&d, s, i);
  return d;
}

static const hlo_shape *make(infer *f, const infer_dims *d, hlo_dtype t, const hlo_quant *quant) {
  REQUIRE(f, d->n <= INFER_MAX_RANK, "result", "the result has rank %d; at most %d is supported", d->n, INFER_MAX_RANK);
  bool bounded = false;
  for (int i = 0; i < d->n; i++) bounded |= !infer_is_dynamic(d->bound[i]);
  hlo_shape s = {.dtype = t, .rank = d->n, .dims = d->size, .bounds = bounded ? d->bound : NULL, .quant = quant};
  // A negative or oversized product must be seen before the table computes with it.
  CHECK(infer_check_shape(f, f->result_label, &s));
  return hlo_shape_intern(f->shapes, &s);
}

const hlo_shape *infer_make(infer *f, const infer_dims *d, const hlo_shape *like) {
  // Per-axis parameters belong to one dimension of `like`: a result of another shape takes them from the declared type.
  const hlo_quant *q = like->quant;
  if (q && q->axis >= 0 && f->declared && hlo_shape_is_array(f->declared) && f->declared->quant) q = f->declared->quant;
  return make(f, d, like->dtype, q);
}

const hlo_shape *infer_make_dtype(infer *f, const infer_dims *d, hlo_dtype t) {
  return make(f, d, t, NULL);
}

static int64_t smaller_bound(int64_t a, int64_t b) {
  if (infer_is_dynamic(a)) return b;
  return infer_is_dynamic(b) || a < b ? a : b;
}

const hlo_shape *infer_meet(infer *f, const hlo_shape *a, const hlo_shape *b) {
  if (a == b || !hlo_shape_is_array(a) || hlo_shape_is_static(a)) return a;
  infer_dims d = {.n = 0};
  for (int i = 0; i < a->rank; i++)
    infer_push(&d, infer_is_dynamic(a->dims[i]) ? b->dims[i] : a->dims[i],
               smaller_bound(infer_bound(a, i), infer_bound(b, i)));
  return infer_make(f, &d, a);
}

// Upper limit of a size: itself, its bound, or unknown.
static int64_t limit_of(const hlo_shape *s, int i) {
  return infer_is_dynamic(s->dims[i]) ? infer_bound(s, i) : s->dims[i];
}

const hlo_shape *infer_join(infer *f, const hlo_shape *a, const hlo_shape *b) {
  if (a == b) return a;
  if (hlo_shape_is_tuple(a)) {
    const hlo_shape **elements = ARENA_ARRAY(f->arena, const hlo_shape *, a->n_elements + 1);
    for (int i = 0; i < a->n_elements; i++) {
      elements[i] = infer_join(f, a->elements[i], b->elements[i]);
      CHECK(elements[i]);
    }
    return hlo_shape_tuple(f->shapes, a->n_elements, elements);
  }
  if (!hlo_shape_is_array(a) || (hlo_shape_is_static(a) && hlo_shape_is_static(b))) return a;
  infer_dims d = {.n = 0};
  for (int i = 0; i < a->rank; i++) {
    int64_t x = limit_of(a, i), y = limit_of(b, i);
    bool fixed = !infer_is_dynamic(a->dims[i]) && a->dims[i] == b->dims[i];
    int64_t bound = infer_is_dynamic(x) || infer_is_dynamic(y) ? HLO_DYNAMIC : x > y ? x : y;
    infer_push(&d, fixed ? a->dims[i] : HLO_DYNAMIC, bound);
  }
  return infer_make(f, &d, a);
}

const hlo_shape *infer_retype(infer *f, const hlo_shape *s, hlo_dtype t) {
  hlo_shape copy = *s;
  copy.dtype = t;
  copy.quant = NULL;
  return hlo_shape_intern(f->shapes, &copy);
}

const hlo_shape *infer_one_or_tuple(infer *f, int n, const hlo_shape *const *shapes) {
  return n == 1 ? shapes[0] : hlo_shape_tuple(f->shapes, n, shapes);
}

const hlo_shape *infer_empty_tuple(infer *f) {
  const hlo_shape *none = NULL;
  return hlo_shape_tuple(f->shapes, 0, &none);
}

// --- windows -------------------------------------------------------------------------------------

static bool dilated(int64_t size, int64_t dilation, int64_t *out) {
  if (size == 0) {
    *out = 0;
    return true;
  }
  return infer_mul(size - 1, dilation, out) && infer_add(*out, 1, out);
}

bool infer_window(infer *f, int i, const hlo_window_dim *w, int64_t size, const infer_window_labels *labels,
                  int64_t *out) {
  if (labels->size)
    REQUIRE(f, w->size > 0, labels->size, "window dimension %d has size %lld; expected > 0", i, (long long)w->size);
  REQUIRE(f, w->stride > 0, labels->stride, "window dimension %d has stride %lld; expected > 0", i,
          (long long)w->stride);
  REQUIRE(f, labels->base_dilation ? w->base_dilation > 0 : w->base_dilation == 1,
          labels->base_dilation ? labels->base_dilation : "attributes",
          "window dimension %d has base dilation %lld; expected %s", i, (long long)w->base_dilation,
          labels->base_dilation ? "> 0" : "1");
  REQUIRE(f, labels->window_dilation ? w->window_dilation > 0 : w->window_dilation == 1,
          labels->window_dilation ? labels->window_dilation : "attributes",
          "window dimension %d has window dilation %lld; expected %s", i, (long long)w->window_dilation,
          labels->window_dilation ? "> 0" : "1");
  if (infer_is_dynamic(size) || infer_is_dynamic(w->size)) {
    *out = HLO_DYNAMIC;
    return true;
  }
  int64_t base, window, padded;
  bool fits = dilated(size, w->base_dilation, &base) && infer_add(base, w->pad_low, &padded) &&
              infer_add(padded, w->pad_high, &padded) && dilated(w->size, w->window_dilation, &window);
  REQUIRE(f, fits, labels->result, "the padded and dilated size of window dimension %d does not fit into 62 bits", i);
  // negative padding may leave nothing
  *out = padded <= 0 || window > padded ? 0 : (padded - window) / w->stride + 1;
  return true;
}

// --- called computations -------------------------------------------------------------------------

int infer_result_count(const hlo_computation *c) {
  return hlo_shape_is_tuple(c->root->shape) ? c->root->shape->n_elements : 1;
}

const hlo_shape *infer_result(const hlo_computation *c, int j, int n) {
  const hlo_shape *s = c->root->shape;
  if (n == 1) return hlo_shape_is_tuple(s) ? NULL : s;
  return hlo_shape_is_tuple(s) && j < s->n_elements ? s->elements[j] : NULL;
}

bool infer_reducer(infer *f, const hlo_computation *body, int n, const hlo_shape *const *inputs, const char *label,
                   const hlo_shape **elements) {
  REQUIRE(f, body->n_params == 2 * n, label, "computation %s takes %d parameters; expected %d",
          arena_strv(f->arena, body->name).data, body->n_params, 2 * n);
  REQUIRE(f, infer_result_count(body) == n, label, "computation %s has result %s; expected %d result%s",
          arena_strv(f->arena, body->name).data, infer_text(f, body->root->shape), n, n == 1 ? "" : "s");
  for (int i = 0; i < n; i++) {
    const hlo_shape *e = infer_result(body, i, n);
    REQUIRE(f, e && hlo_shape_is_array(e) && e->rank == 0, label,
            "result %d of the computation has type %s; expected a scalar", i, e ? infer_text(f, e) : "none");
    for (int k = i; k < 2 * n; k += n) {
      const hlo_shape *p = body->params[k]->shape;
      REQUIRE(f, infer_compatible(p, e), label,
              "parameter %d of the computation has type %s; expected its result's type %s", k, infer_text(f, p),
              infer_text(f, e));
    }
    REQUIRE(f, infer_promotable(inputs[i], e), label,
            "the computation works on %s; expected a type that %s can be promoted to", infer_text_type(f, e),
            infer_text_type(f, inputs[i]));
    elements[i] = e;
  }
  return true;
}

bool infer_params_match(infer *f, const hlo_computation *c, int first_operand, int n, const char *label) {
  REQUIRE(f, c->n_params == n, label, "computation %s takes %d parameters; expected %d",
          arena_strv(f->arena, c->name).data, c->n_params, n);
  for (int i = 0; i < n; i++) {
    const hlo_shape *have = infer_in(f, first_operand + i), *want = c->params[i]->shape;
    REQUIRE(f, infer_compatible(have, want) && infer_same_layout(have, want), label,
            "operand %d has type %s; parameter %d of computation %s has type %s", first_operand + i,
            infer_text(f, have), i, arena_strv(f->arena, c->name).data, infer_text(f, want));
  }
  return true;
}
