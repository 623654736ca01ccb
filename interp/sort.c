// SPDX-License-Identifier: Apache-2.0
// sort (variadic, any comparator, always stable) and top_k.
//
// Each line along the dimension is sorted as a permutation by merge sort. A comparator that is one LT or GT comparison
// of two parameters of the same operand becomes comparisons of precomputed keys; any other is run as a region.
#include <math.h>

#include "interp/interp_internal.h"

typedef struct sort_plan {
  interp_region *region;
  int key;  // operand compared, -1: region
  bool greater, total_order;
} sort_plan;

typedef struct sorter {
  interp_call *c;
  const sort_plan *p;
  int64_t n;
  int64_t *index, *tmp;
  uint64_t *keys;  // order-preserving; smaller sorts first
  char **line;     // the lines, contiguous, per operand
  int *bytes;
  const void **in;  // arguments of the region
  int operands;
  void *scratch;
} sorter;

// Order-preserving key of an element. Of floats, unless in total order: -0 == +0 and (NaN compares false) *nan is set.
static uint64_t sort_key(hlo_dtype t, const void *data, int64_t i, bool total, bool *nan) {
  uint64_t top = UINT64_C(1) << 63;
  if (hlo_dtype_is_float(t)) {
    if (total) return hlo_total_order_key(t, data, i);
    double x = hlo_element_get_f64(t, data, i, 0);
    if (isnan(x)) *nan = true;
    if (x == 0) x = 0;
    uint64_t u;
    memcpy(&u, &x, 8);
    return u & top ? ~u : u | top;
  }
  uint64_t u = (uint64_t)hlo_element_get_i64(t, data, i);
  return hlo_dtype_is_signed(t) ? u ^ top : u;
}

static lemnos_status less(sorter *s, int64_t a, int64_t b, bool *out) {
  if (s->keys) {
    *out = s->keys[a] < s->keys[b];
    return LEMNOS_SUCCESS;
  }
  const void **in = s->in;
  uint8_t r = 0;
  void *res[1] = {&r};
  for (int k = 0; k < s->operands; k++) {
    in[2 * k] = s->line[k] + a * s->bytes[k];
    in[2 * k + 1] = s->line[k] + b * s->bytes[k];
  }
  LEMNOS_TRY(interp_region_run(s->p->region, s->c->cx, s->scratch, 1, in, res));
  *out = r != 0;
  return LEMNOS_SUCCESS;
}

static lemnos_status merge_sort(sorter *s) {
  int64_t *from = s->index, *to = s->tmp;
  for (int64_t i = 0; i < s->n; i++) from[i] = i;
  // Insertion sort of runs of 8, then merges.
  for (int64_t b = 0; b < s->n; b += 8) {
    if ((b & 8191) == 8184) LEMNOS_TRY(interp_poll(s->c->cx));
    int64_t e = b + 8 < s->n ? b + 8 : s->n;
    for (int64_t i = b + 1; i < e; i++) {
      int64_t v = from[i], j = i;
      for (; j > b; j--) {
        bool swap;
        LEMNOS_TRY(less(s, v, from[j - 1], &swap));
        if (!swap) break;
        from[j] = from[j - 1];
      }
      from[j] = v;
    }
  }
  int64_t merged = 0;
  for (int64_t w = 8; w < s->n; w *= 2) {
    for (int64_t b = 0; b < s->n; b += 2 * w) {
      if ((merged += 2 * w) >= 8192) {
        LEMNOS_TRY(interp_poll(s->c->cx));
        merged = 0;
      }
      int64_t m = b + w < s->n ? b + w : s->n, e = b + 2 * w < s->n ? b + 2 * w : s->n, i = b, j = m, o = b;
      while (i < m && j < e) {
        bool right;
        LEMNOS_TRY(less(s, from[j], from[i], &right));
        to[o++] = right ? from[j++] : from[i++];
        if (LEMNOS_UNLIKELY((o & 65535) == 0)) LEMNOS_TRY(interp_poll(s->c->cx));
      }
      while (i < m) to[o++] = from[i++];
      while (j < e) to[o++] = from[j++];
    }
    int64_t *t = from;
    from = to;
    to = t;
  }
  s->index = from;
  s->tmp = to;
  return LEMNOS_SUCCESS;
}

// Fills keys for the line; false: a NaN under a partial order, for which the comparator itself must be asked.
static bool make_keys(sorter *s, hlo_dtype t, uint64_t *keys) {
  bool nan = false;
  const sort_plan *p = s->p;
  for (int64_t i = 0; i < s->n; i++) {
    uint64_t k = sort_key(t, s->line[p->key], i, p->total_order, &nan);
    keys[i] = p->greater ? ~k : k;
  }
  return !nan || p->total_order;
}

static lemnos_status run_sort(interp_call *c) {
  sorter s = {.c = c, .p = c->in->aux, .operands = c->in->n_args};
  const interp_array *first = interp_arg(c, 0);
  int64_t dim = HLO_ATTRS(c->in->src, sort)->dimension, strides[INTERP_MAX_RANK];
  if (dim < 0) dim += first->rank;
  if (first->rank == 0 || interp_count(first) == 0) {
    for (int k = 0; k < s.operands; k++)
      memcpy(interp_result(c, k)->data, interp_arg(c, k)->data, (size_t)interp_bytes(interp_arg(c, k)));
    return LEMNOS_SUCCESS;
  }
  interp_strides(first, strides);
  s.n = first->dims[dim];
  int64_t step = strides[dim], inner = step, outer = interp_count(first) / (inner * s.n);
  size_t bytes = (size_t)s.n * 8;
  char *sorted = NULL;  // a line of complex f64; others fit into the spare half of the merge sort
  s.index = interp_scratch(c->cx, bytes);
  s.tmp = interp_scratch(c->cx, bytes);
  uint64_t *keys = s.p->key >= 0 ? interp_scratch(c->cx, bytes) : NULL;
  s.scratch = interp_scratch(c->cx, interp_region_scratch(s.p->region, 1));
  s.line = interp_scratch(c->cx, (size_t)s.operands * sizeof *s.line);
  s.bytes = interp_scratch(c->cx, (size_t)s.operands * sizeof *s.bytes);
  s.in = interp_scratch(c->cx, (size_t)s.operands * 2 * sizeof *s.in);
  if (!s.line || !s.bytes || !s.in || !s.index || !s.tmp || !s.scratch || (s.p->key >= 0 && !keys))
    return interp_scratch_failed(c);
  for (int k = 0; k < s.operands; k++) {
    s.bytes[k] = hlo_dtype_bytes(interp_arg(c, k)->dtype);
    if (step == 1) continue;
    s.line[k] = interp_scratch(c->cx, (size_t)(s.n * s.bytes[k]));
    if (s.bytes[k] > 8 && !sorted) sorted = interp_scratch(c->cx, (size_t)(s.n * s.bytes[k]));
    if (!s.line[k] || (s.bytes[k] > 8 && !sorted)) return interp_scratch_failed(c);
  }
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < inner; i++) {
      int64_t base = o * inner * s.n + i;
      for (int k = 0; k < s.operands; k++) {
        char *x = (char *)interp_arg(c, k)->data + base * s.bytes[k];
        if (step == 1)
          s.line[k] = x;
        else
          interp_copy_line(s.n, s.bytes[k], s.line[k], 1, x, step);
      }
      s.keys = keys && make_keys(&s, interp_arg(c, s.p->key)->dtype, keys) ? keys : NULL;
      LEMNOS_TRY(merge_sort(&s));
      for (int k = 0; k < s.operands; k++) {
        char *out = (char *)interp_result(c, k)->data + base * s.bytes[k];
        char *to = step == 1 ? out : s.bytes[k] > 8 ? sorted : (char *)s.tmp;
        for (int64_t e = 0; e < s.n; e++)
          memcpy(to + e * s.bytes[k], s.line[k] + s.index[e] * s.bytes[k], (size_t)s.bytes[k]);
        if (step != 1) interp_copy_line(s.n, s.bytes[k], out, step, to, 1);
      }
    }
  return LEMNOS_SUCCESS;
}

static lemnos_status compile_sort(interp_compiler *c, interp_insn *in) {
  sort_plan *p = ARENA_NEW(c->a, sort_plan);
  const hlo_computation *body = in->src->called[0];
  const hlo_instr *r = body->root;
  p->key = -1;
  LEMNOS_TRY(interp_region_compile(c, body, &p->region));
  if (r->op == HLO_OP_COMPARE && r->operands[0]->op == HLO_OP_PARAMETER && r->operands[1]->op == HLO_OP_PARAMETER) {
    int64_t a = HLO_ATTRS(r->operands[0], parameter)->number, b = HLO_ATTRS(r->operands[1], parameter)->number;
    hlo_comparison_direction d = HLO_ATTRS(r, compare)->direction;
    bool lt = d == HLO_COMPARISON_DIRECTION_LT, gt = d == HLO_COMPARISON_DIRECTION_GT;
    hlo_dtype t = r->operands[0]->shape->dtype;
    if ((lt || gt) && a / 2 == b / 2 && a != b && !hlo_dtype_is_complex(t)) {
      p->key = (int)(a / 2);
      p->greater = gt != (a > b);
      p->total_order = HLO_ATTRS(r, compare)->type == HLO_COMPARISON_TYPE_TOTALORDER;
    }
  }
  in->aux = p;
  in->fn = run_sort;
  return LEMNOS_SUCCESS;
}

// --- top_k ---------------------------------------------------------------------------------------

// Largest first, by total order for floats (NaN above infinity), lower index first among equals.
static lemnos_status run_top_k(interp_call *c) {
  sort_plan plan = {.key = 0, .greater = true, .total_order = true};
  const interp_array *in = interp_arg(c, 0);
  interp_array *values = interp_result(c, 0), *indices = interp_result(c, 1);
  int64_t n = in->dims[in->rank - 1], k = values->dims[values->rank - 1], lines = n ? interp_count(in) / n : 0;
  char *line = NULL;
  sorter s = {.c = c, .p = &plan, .n = n, .operands = 1, .line = &line};
  size_t size = (size_t)n * 8;
  int64_t *index = interp_scratch(c->cx, size), *tmp = interp_scratch(c->cx, size);
  uint64_t *keys = interp_scratch(c->cx, size);
  if (!index || !tmp || !keys) return interp_scratch_failed(c);
  s.keys = keys;
  int bytes = hlo_dtype_bytes(in->dtype);
  for (int64_t l = 0; l < lines; l++) {
    s.index = index;
    s.tmp = tmp;
    s.line[0] = (char *)in->data + l * n * bytes;
    make_keys(&s, in->dtype, keys);
    LEMNOS_TRY(merge_sort(&s));
    for (int64_t e = 0; e < k && e < n; e++) {
      memcpy((char *)values->data + (l * k + e) * bytes, s.line[0] + s.index[e] * bytes, (size_t)bytes);
      hlo_element_set_i64(indices->dtype, indices->data, l * k + e, s.index[e]);
    }
  }
  return LEMNOS_SUCCESS;
}

lemnos_status interp_compile_sort(interp_compiler *c, interp_insn *in) {
  if (in->src->op == HLO_OP_SORT) return compile_sort(c, in);
  if (in->src->op == HLO_OP_TOP_K && in->n_results == 2 && in->arg_types[0].rank > 0) {
    in->fn = run_top_k;
    return LEMNOS_SUCCESS;
  }
  return interp_refuse(in->src, "operation is not supported");
}
