// SPDX-License-Identifier: Apache-2.0
// .safetensors files: an 8-byte length, a JSON header {name: {dtype, shape, data_offsets}}, then the tensors' bytes.
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"

struct safetensors {
  arena *arena;
  char *path;
  char *bytes;
  strv data;  // behind the header
  json_value *header;
};

static lemnos_status corrupt(const char *path, const char *what) {
  return lemnos_status_make(LEMNOS_DATA_LOSS, "%s: not a .safetensors file that can be read: %s", path, what);
}

lemnos_status safetensors_open(const char *path, safetensors **out) {
  char *bytes;
  size_t size;
  LEMNOS_TRY(io_read_file(path, &bytes, &size));
  arena *a = arena_create();
  uint64_t n = 0;
  json_value *header = NULL;
  lemnos_status status = LEMNOS_SUCCESS;
  for (int i = 7; size >= 8 && i >= 0; i--) n = n << 8 | (unsigned char)bytes[i];
  if (size < 8 || n > size - 8) status = corrupt(path, "it is cut short");
  if (!status) status = json_parse(a, path, (strv){bytes + 8, n}, &header);
  if (!status && header->kind != JSON_OBJECT) status = corrupt(path, "its header is not an object");
  if (status) {
    arena_destroy(a);
    heap_aligned_free(bytes);
    return status;
  }
  safetensors *s = heap_alloc(sizeof *s);
  *s = (safetensors){.arena = a, .bytes = bytes, .data = {bytes + 8 + n, size - 8 - n}, .header = header};
  s->path = arena_printf(a, "%s", path);
  *out = s;
  return LEMNOS_SUCCESS;
}

void safetensors_close(safetensors *s) {
  if (!s) return;
  arena_destroy(s->arena);
  heap_aligned_free(s->bytes);
  free(s);
}

static bool type_of(strv name, hlo_dtype *out) {
  static const struct {
    const char *name;
    hlo_dtype type;
  } table[] = {
      {"BOOL", HLO_PRED},         {"I8", HLO_S8},
      {"I16", HLO_S16},           {"I32", HLO_S32},
      {"I64", HLO_S64},           {"U8", HLO_U8},
      {"U16", HLO_U16},           {"U32", HLO_U32},
      {"U64", HLO_U64},           {"BF16", HLO_BF16},
      {"F16", HLO_F16},           {"F32", HLO_F32},
      {"F64", HLO_F64},           {"F8_E4M3", HLO_F8E4M3FN},
      {"F8_E5M2", HLO_F8E5M2},    {"C64", HLO_C64},
      {"F8_E8M0", HLO_F8E8M0FNU},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (strv_eq_cstr(name, table[i].name)) return *out = table[i].type, true;
  return false;
}

lemnos_status safetensors_read(const safetensors *s, strv tensor, interp_array *out) {
  char *key = arena_printf(s->arena, STRV_FMT, STRV_ARG(tensor));
  const json_value *t = json_get(s->header, key), *shape = json_get(t, "shape"), *span = json_get(t, "data_offsets");
  if (!t) return lemnos_status_make(LEMNOS_NOT_FOUND, "%s holds no tensor '%s'", s->path, key);
  strv type;
  interp_array a = {0};
  if (!json_get_string(t, "dtype", &type) || !shape || shape->kind != JSON_ARRAY || !span || span->kind != JSON_ARRAY ||
      span->n != 2)
    return corrupt(s->path, "an entry lacks dtype, shape or data_offsets");
  if (!type_of(type, &a.dtype))
    return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "%s: tensor '%s' has the unknown type " STRV_FMT, s->path, key,
                              STRV_ARG(type));
  if (shape->n > INTERP_MAX_RANK) return corrupt(s->path, "a tensor has too many dimensions");
  a.rank = shape->n;
  for (int d = 0; d < a.rank; d++) {
    if (!shape->items[d].is_integer || shape->items[d].integer > INT64_MAX)
      return corrupt(s->path, "a dimension is not a size");
    a.dims[d] = (int64_t)shape->items[d].integer;
  }
  uint64_t begin = span->items[0].integer, end = span->items[1].integer;
  int64_t bytes = interp_array_bytes(&a);
  if (!span->items[0].is_integer || !span->items[1].is_integer || begin > end || end > s->data.len || bytes < 0 ||
      end - begin != (uint64_t)bytes)
    return corrupt(s->path, "the bytes of a tensor do not fit its shape");
  LEMNOS_TRY(array_allocate(&a));
  memcpy(a.data, s->data.data + begin, (size_t)bytes);
  *out = a;
  return LEMNOS_SUCCESS;
}
