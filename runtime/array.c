// SPDX-License-Identifier: Apache-2.0
// Conversions between the public array type, the interpreter's, and HLO shapes; the status part of the public API.
#include "runtime/internal.h"

lemnos_status array_to_interp(const lemnos_array *a, interp_array *out) {
  hlo_dtype t;
  if (!a->dtype || !hlo_dtype_from_stablehlo(strv_from_cstr(a->dtype), &t))
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "unknown element type '%s'", a->dtype ? a->dtype : "(null)");
  if (a->rank < 0 || a->rank > LEMNOS_MAX_RANK)
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "rank %d is not between 0 and %d", a->rank, LEMNOS_MAX_RANK);
  interp_array r = {.dtype = t, .rank = a->rank, .data = a->data};
  for (int i = 0; i < a->rank; i++) {
    if (a->dims[i] < 0)
      return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "dimension %d has the size %lld", i, (long long)a->dims[i]);
    r.dims[i] = a->dims[i];
  }
  if (interp_array_bytes(&r) < 0)
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "the array is too large to be addressed");
  *out = r;
  return LEMNOS_SUCCESS;
}

void array_from_interp(const interp_array *a, lemnos_array *out) {
  memset(out, 0, sizeof *out);
  out->dtype = hlo_dtype_table[a->dtype].stablehlo_name;
  out->rank = a->rank;
  for (int i = 0; i < a->rank; i++) out->dims[i] = a->dims[i];
  out->data = a->data;
}

void array_from_shape(const hlo_shape *s, lemnos_array *out) {
  memset(out, 0, sizeof *out);
  out->dtype = hlo_dtype_table[s->dtype].stablehlo_name;
  out->rank = s->rank;
  for (int i = 0; i < s->rank; i++) out->dims[i] = s->dims[i] == HLO_DYNAMIC ? -1 : s->dims[i];
}

int64_t interp_array_bytes(const interp_array *a) {
  int64_t bytes = hlo_dtype_bytes(a->dtype);
  bool empty = false;
  for (int i = 0; i < a->rank; i++) empty |= a->dims[i] == 0;
  if (empty) return 0;
  for (int i = 0; i < a->rank; i++)
    if (__builtin_mul_overflow(bytes, a->dims[i], &bytes)) return -1;
  return bytes;
}

int64_t lemnos_array_bytes(const lemnos_array *a) {
  interp_array r;
  lemnos_status s = array_to_interp(a, &r);
  if (s) {
    lemnos_status_free(s);
    return -1;
  }
  return interp_array_bytes(&r);
}

void array_print_type(strbuf *out, const interp_array *a) {
  strbuf_append_cstr(out, "tensor<");
  for (int i = 0; i < a->rank; i++) strbuf_printf(out, "%lldx", (long long)a->dims[i]);
  strbuf_printf(out, "%s>", hlo_dtype_table[a->dtype].stablehlo_name);
}

lemnos_status array_check(const hlo_shape *s, const interp_array *a, int i) {
  bool fits = s->dtype == a->dtype && s->rank == a->rank;
  for (int d = 0; fits && d < s->rank; d++) {
    int64_t bound = s->bounds && s->bounds[d] != HLO_DYNAMIC ? s->bounds[d] : INT64_MAX;
    fits = s->dims[d] == HLO_DYNAMIC ? a->dims[d] <= bound : s->dims[d] == a->dims[d];
  }
  if (fits) return LEMNOS_SUCCESS;
  strbuf text = {0};
  array_print_type(&text, a);
  strbuf_append_cstr(&text, ", the program takes ");
  hlo_shape_print_stablehlo(&text, s);
  lemnos_status status = lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "argument %d is %s", i, text.data);
  strbuf_deinit(&text);
  return status;
}

int module_param_leaves(const hlo_module *m) {
  int n = 0;
  for (int p = 0; p < m->entry->n_params; p++) n += hlo_shape_leaves(m->entry->params[p]->shape);
  return n;
}

const hlo_shape *module_param_leaf(const hlo_module *m, int i) {
  for (int p = 0; p < m->entry->n_params; p++) {
    int n = hlo_shape_leaves(m->entry->params[p]->shape);
    if (i < n) return hlo_shape_leaf(m->entry->params[p]->shape, i);
    i -= n;
  }
  return NULL;
}

const char *lemnos_status_text(lemnos_status status) {
  return lemnos_status_message(status);
}
int lemnos_status_code_of(lemnos_status status) {
  return (int)lemnos_status_get_code(status);
}
void lemnos_status_release(lemnos_status status) {
  lemnos_status_free(status);
}
