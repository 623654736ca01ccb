// SPDX-License-Identifier: Apache-2.0
// Arguments by recipe (inputs.json): {"fill", "shape", "dtype", "crc32", ...} where fill is
//   uniform      t = (int64(z >> 40) - 2^23) * 2^-23; center + scale * t in f32, then rounded to the type
//   integer      low + (((z >> 32) * (high - low)) >> 32)
//   constant     value
//   stored       in inputs.npz beside the file
//   safetensors  tensor `tensor` of a file: --safetensors, else `path` (or its last part) beside the file
// z is output i of SplitMix64 started at `seed`. The CRC-32 of the little-endian bytes is checked.
#include <stdio.h>
#include <string.h>

#include "runtime/cli/cli.h"

uint64_t splitmix64(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

static lemnos_status bad(int index, const char *what) {
  return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "recipe of argument %d: %s", index, what);
}

static lemnos_status read_type(const json_value *r, int index, interp_array *a) {
  strv dtype;
  const json_value *shape = json_get(r, "shape");
  if (!json_get_string(r, "dtype", &dtype) || !hlo_dtype_from_stablehlo(dtype, &a->dtype) || a->dtype >= HLO_TOKEN)
    return bad(index, "no dtype that is known");
  if (!shape || shape->kind != JSON_ARRAY || shape->n > INTERP_MAX_RANK) return bad(index, "no shape");
  a->rank = shape->n;
  for (int d = 0; d < shape->n; d++) {
    if (!shape->items[d].is_integer || shape->items[d].integer > INT64_MAX)
      return bad(index, "a dimension is not a size");
    a->dims[d] = (int64_t)shape->items[d].integer;
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status fill_uniform(const json_value *r, int index, interp_array *a) {
  double center, scale;
  const json_value *seed = json_get(r, "seed");
  if (!json_get_number(r, "center", &center) || !json_get_number(r, "scale", &scale) || !seed || !seed->is_integer)
    return bad(index, "uniform needs center, scale and seed");
  if (!hlo_dtype_is_float(a->dtype)) return bad(index, "uniform is for floating-point types");
  int64_t n = array_elements(a);
  float c = (float)center, s = (float)scale;
  for (int64_t i = 0; i < n; i++) {
    float t = (float)((int64_t)(splitmix64(seed->integer, (uint64_t)i) >> 40) - (1 << 23)) * 0x1p-23f;
    float x = c + s * t;
    if (a->dtype == HLO_F32)
      ((float *)a->data)[i] = x;
    else
      hlo_element_set_f64(a->dtype, a->data, i, 0, x);
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status fill_integer(const json_value *r, int index, interp_array *a) {
  int64_t low, high, n = array_elements(a);
  const json_value *seed = json_get(r, "seed");
  if (!json_get_integer(r, "low", &low) || !json_get_integer(r, "high", &high) || !seed || !seed->is_integer)
    return bad(index, "integer needs low, high and seed");
  if (!hlo_dtype_is_integer(a->dtype) && a->dtype != HLO_PRED) return bad(index, "integer is for integer types");
  uint64_t span = (uint64_t)high - (uint64_t)low;
  for (int64_t i = 0; i < n; i++) {
    uint64_t z = splitmix64(seed->integer, (uint64_t)i);
    hlo_element_set_i64(a->dtype, a->data, i, (int64_t)((uint64_t)low + ((z >> 32) * span >> 32)));
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status fill_constant(const json_value *r, int index, interp_array *a) {
  const json_value *v = json_get(r, "value");
  int64_t n = array_elements(a);
  if (!v || (v->kind != JSON_NUMBER && v->kind != JSON_BOOL)) return bad(index, "constant needs a value");
  double x = v->kind == JSON_BOOL ? v->boolean : v->number;
  for (int64_t i = 0; i < n; i++) {
    if (v->is_integer && (hlo_dtype_is_integer(a->dtype) || a->dtype == HLO_PRED))
      hlo_element_set_i64(a->dtype, a->data, i, (int64_t)v->integer);
    else if (a->dtype == HLO_PRED)
      ((unsigned char *)a->data)[i] = x != 0;
    else
      hlo_element_set_f64(a->dtype, a->data, i, 0, x);
    if (hlo_dtype_is_complex(a->dtype)) hlo_element_set_f64(a->dtype, a->data, i, 1, 0);
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status open_tensors(const json_value *r, int index, const char *folder, const char *override,
                                  safetensors **out) {
  if (override && *override) return safetensors_open(override, out);
  strv path;
  if (!json_get_string(r, "path", &path)) return bad(index, "safetensors needs a path");
  strv last = path;
  for (size_t i = 0; i < path.len; i++)
    if (path.data[i] == '/') last = strv_drop(path, i + 1);
  const strv tries[] = {path, last};
  for (int i = 0; i < 2; i++) {
    strbuf name = {0};
    strbuf_printf(&name, "%s/" STRV_FMT, folder, STRV_ARG(tries[i]));
    lemnos_status status = safetensors_open(name.data, out);
    strbuf_deinit(&name);
    if (!status || lemnos_status_get_code(status) != LEMNOS_NOT_FOUND) return status;
    lemnos_status_free(status);
  }
  strv package = {0};
  (void)json_get_string(r, "package", &package);
  return lemnos_status_make(LEMNOS_NOT_FOUND,
                            "argument %d is a tensor of " STRV_FMT "%s" STRV_FMT
                            "%s: name the file with --safetensors=FILE or LEMNOS_SAFETENSORS",
                            index, STRV_ARG(last), package.len ? " (PyPI package " : "", STRV_ARG(package),
                            package.len ? ")" : "");
}

static lemnos_status fill_safetensors(const json_value *r, int index, safetensors **file, const char *folder,
                                      const char *override, interp_array *a) {
  strv tensor;
  if (!json_get_string(r, "tensor", &tensor)) return bad(index, "safetensors needs a tensor");
  if (!*file) LEMNOS_TRY(open_tensors(r, index, folder, override, file));
  interp_array found;
  LEMNOS_TRY(safetensors_read(*file, tensor, &found));
  bool same = found.dtype == a->dtype && found.rank == a->rank &&
              memcmp(found.dims, a->dims, sizeof *a->dims * (size_t)a->rank) == 0;
  heap_aligned_free(a->data);
  *a = found;
  return same ? LEMNOS_SUCCESS : bad(index, "the tensor has another type or shape than the recipe says");
}

static lemnos_status fill(const json_value *r, int index, const npz *stored, safetensors **file, const char *folder,
                          const char *override, interp_array *a) {
  strv how;
  if (!json_get_string(r, "fill", &how)) return bad(index, "no fill");
  char name[32];
  snprintf(name, sizeof name, "arg%d", index);
  const npz_entry *e = stored ? npz_find(stored, strv_from_cstr(name)) : NULL;
  if (e) {
    heap_aligned_free(a->data);
    a->data = NULL;
    interp_array found;
    LEMNOS_TRY(npz_read(stored, e, a->dtype, &found));
    bool same = found.rank == a->rank && memcmp(found.dims, a->dims, sizeof *a->dims * (size_t)a->rank) == 0;
    *a = found;
    return same ? LEMNOS_SUCCESS : bad(index, "the stored array has another shape than the recipe says");
  }
  if (strv_eq_cstr(how, "uniform")) return fill_uniform(r, index, a);
  if (strv_eq_cstr(how, "integer")) return fill_integer(r, index, a);
  if (strv_eq_cstr(how, "constant")) return fill_constant(r, index, a);
  if (strv_eq_cstr(how, "safetensors")) return fill_safetensors(r, index, file, folder, override, a);
  if (strv_eq_cstr(how, "stored"))
    return bad(index, "it is stored, but inputs.npz beside inputs.json does not hold it");
  return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "recipe of argument %d: unknown fill '" STRV_FMT "'", index,
                            STRV_ARG(how));
}

lemnos_status recipe_make(const json_value *recipe, int index, const npz *stored, safetensors **files,
                          const char *folder, const char *override, interp_array *out) {
  interp_array a = {0};
  LEMNOS_TRY(read_type(recipe, index, &a));
  LEMNOS_TRY(array_allocate(&a));
  lemnos_status status = fill(recipe, index, stored, files, folder, override, &a);
  int64_t crc;
  if (!status && json_get_integer(recipe, "crc32", &crc) &&
      crc32_of(0, a.data, (size_t)interp_array_bytes(&a)) != (uint32_t)crc)
    status = lemnos_status_make(LEMNOS_DATA_LOSS, "argument %d as made by its recipe has the wrong CRC-32", index);
  if (status)
    heap_aligned_free(a.data);
  else
    *out = a;
  return status;
}
