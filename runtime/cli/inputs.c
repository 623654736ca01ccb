// SPDX-License-Identifier: Apache-2.0
// The arguments of a program, from --inputs and --input.
//
// --inputs gives all of them (an .npz, an inputs.json, a folder with one of these, or random/zeros/ones); --input gives
// single ones, by position or as argN=..., and wins. argN@P is for process P alone (--per-process), and wins over argN.
// What is still missing is an error that says how to give it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/cli/cli.h"

int64_t array_elements(const interp_array *a) {
  int64_t n = 1;
  for (int d = 0; d < a->rank; d++) n *= a->dims[d];
  return n;
}

lemnos_status array_allocate(interp_array *a) {
  int64_t bytes = interp_array_bytes(a);
  a->data = bytes < 0 ? NULL : heap_try_alloc_aligned((size_t)bytes + 1);
  if (!a->data)
    return lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "no memory for an array of %lld bytes", (long long)bytes);
  return LEMNOS_SUCCESS;
}

void arrays_free(int n, interp_array *arrays) {
  for (int i = 0; arrays && i < n; i++) heap_aligned_free(arrays[i].data);
  free(arrays);
}

// --- values made here ----------------------------------------------------------------------------

static void fill_random(interp_array *a, uint64_t seed) {
  int64_t n = array_elements(a);
  bool complex_ = hlo_dtype_is_complex(a->dtype);
  for (int64_t i = 0; i < n; i++) {
    uint64_t z = splitmix64(seed, (uint64_t)(complex_ ? 2 * i : i));
    if (a->dtype == HLO_PRED)
      ((unsigned char *)a->data)[i] = (unsigned char)(z >> 63);
    else if (hlo_dtype_is_integer(a->dtype))
      hlo_element_set_i64(a->dtype, a->data, i, (int64_t)(z >> 32) % (hlo_dtype_table[a->dtype].bits < 8 ? 2 : 16));
    else
      hlo_element_set_f64(a->dtype, a->data, i, 0, (double)((int64_t)(z >> 40) - (1 << 23)) * 0x1p-23);
    if (complex_)
      hlo_element_set_f64(a->dtype, a->data, i, 1,
                          (double)((int64_t)(splitmix64(seed, (uint64_t)(2 * i + 1)) >> 40) - (1 << 23)) * 0x1p-23);
  }
}

static void fill_number(interp_array *a, bool iota, int64_t value) {
  int64_t n = array_elements(a);
  for (int64_t i = 0; i < n; i++) {
    int64_t x = iota ? i : value;
    if (a->dtype == HLO_PRED)
      ((unsigned char *)a->data)[i] = iota ? (unsigned char)(i & 1) : x != 0;
    else if (hlo_dtype_is_integer(a->dtype))
      hlo_element_set_i64(a->dtype, a->data, i, x);
    else
      hlo_element_set_f64(a->dtype, a->data, i, 0, (double)x);
    if (hlo_dtype_is_complex(a->dtype)) hlo_element_set_f64(a->dtype, a->data, i, 1, 0);
  }
}

// random, zeros, ones, iota: false if `how` is none of them.
static bool fill_by_name(strv how, uint64_t seed, interp_array *a) {
  if (strv_eq_cstr(how, "random"))
    fill_random(a, seed);
  else if (strv_eq_cstr(how, "zeros"))
    fill_number(a, false, 0);
  else if (strv_eq_cstr(how, "ones"))
    fill_number(a, false, 1);
  else if (strv_eq_cstr(how, "iota"))
    fill_number(a, true, 0);
  else
    return false;
  return true;
}

static bool is_fill_name(strv s) {
  return strv_eq_cstr(s, "random") || strv_eq_cstr(s, "zeros") || strv_eq_cstr(s, "ones") || strv_eq_cstr(s, "iota");
}

// --- one --input ---------------------------------------------------------------------------------

// "2x3xf32" -> type; false if it is not one.
static bool parse_type(strv s, interp_array *a) {
  memset(a, 0, sizeof *a);
  for (;;) {
    size_t n = 0;
    while (n < s.len && s.data[n] >= '0' && s.data[n] <= '9') n++;
    if (!n || n == s.len || s.data[n] != 'x') break;
    if (a->rank == INTERP_MAX_RANK || !strv_parse_i64(strv_take(s, n), &a->dims[a->rank])) return false;
    a->rank++;
    s = strv_drop(s, n + 1);
  }
  return hlo_dtype_from_stablehlo(s, &a->dtype) && a->dtype < HLO_TOKEN;
}

// The next element of a list; commas inside parentheses do not count.
static strv next_value(strv *rest) {
  size_t n = 0;
  int depth = 0;
  for (; n < rest->len; n++) {
    char c = rest->data[n];
    depth += c == '(';
    depth -= c == ')';
    if (c == ',' && depth <= 0) break;
  }
  strv head = strv_trim(strv_take(*rest, n));
  *rest = strv_drop(*rest, n + 1);
  return head;
}

static bool parse_element(hlo_dtype t, strv text, void *data, int64_t i) {
  if (hlo_element_parse(t, text, data, i)) return true;
  if (t == HLO_PRED && text.len == 1 && (text.data[0] == '0' || text.data[0] == '1'))
    return ((char *)data)[i] = (char)(text.data[0] - '0'), true;
  double x;
  if (!hlo_dtype_is_complex(t) || !strv_parse_f64(text, &x)) return false;
  hlo_element_set_f64(t, data, i, 0, x);
  hlo_element_set_f64(t, data, i, 1, 0);
  return true;
}

static lemnos_status parse_values(const char *spec, strv values, interp_array *a) {
  int64_t n = array_elements(a), i = 0;
  strv rest = values;
  while (rest.len) {
    strv one = next_value(&rest);
    if (i >= n && !(i == 0 && n == 0))
      return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "--input %s: more values than the type has elements (%lld)",
                                spec, (long long)n);
    if (!parse_element(a->dtype, one, a->data, i))
      return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "--input %s: '" STRV_FMT "' is not a value of type %s", spec,
                                STRV_ARG(one), hlo_dtype_table[a->dtype].stablehlo_name);
    i++;
  }
  if (i == 1 && n > 1) {  // one value for all
    size_t bytes = (size_t)hlo_dtype_bytes(a->dtype);
    for (int64_t k = 1; k < n; k++) memcpy((char *)a->data + (size_t)k * bytes, a->data, bytes);
  } else if (i != n) {
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "--input %s: %lld values, expected %lld (or one for all)", spec,
                              (long long)i, (long long)n);
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status declared_type(const hlo_shape *s, int index, interp_array *a) {
  memset(a, 0, sizeof *a);
  a->dtype = s->dtype;
  a->rank = s->rank;
  for (int d = 0; d < s->rank; d++) {
    if (s->dims[d] == HLO_DYNAMIC)
      return lemnos_status_make(
          LEMNOS_INVALID_ARGUMENT,
          "argument %d has a dimension that only its value can give: name the type, as in --input arg%d=2x3xf32=random",
          index, index);
    a->dims[d] = s->dims[d];
  }
  return LEMNOS_SUCCESS;
}

// SPEC of an --input, for argument `index`, declared as `s`.
static lemnos_status make_input(const char *spec, const hlo_shape *s, int index, uint64_t seed, interp_array *out) {
  strv text = strv_from_cstr(spec), type, values;
  interp_array a;
  if (is_fill_name(text)) {
    LEMNOS_TRY(declared_type(s, index, &a));
    LEMNOS_TRY(array_allocate(&a));
    fill_by_name(text, seed + (uint64_t)index, &a);
    *out = a;
    return LEMNOS_SUCCESS;
  }
  if (strv_split(text, '=', &type, &values) && parse_type(type, &a)) {
    if (interp_array_bytes(&a) < 0)
      return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "--input %s: the type is too large", spec);
    LEMNOS_TRY(array_allocate(&a));
    lemnos_status status =
        fill_by_name(values, seed + (uint64_t)index, &a) ? LEMNOS_SUCCESS : parse_values(spec, values, &a);
    if (status)
      heap_aligned_free(a.data);
    else
      *out = a;
    return status;
  }
  char *bytes;
  size_t size;
  lemnos_status opened = io_read_file(spec, &bytes, &size);
  if (opened && strchr(spec, '=')) {
    lemnos_status_free(opened);
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT,
                              "--input %s: '" STRV_FMT
                              "' is not a type; expected one such as 2x3xf32, or the name of a file",
                              spec, STRV_ARG(type));
  }
  LEMNOS_TRY(lemnos_status_annotate(opened, "argument %d", index));
  lemnos_status status = npy_read(spec, (strv){bytes, size}, s->dtype, out);
  heap_aligned_free(bytes);
  return lemnos_status_annotate(status, "argument %d", index);
}

// --- --inputs ------------------------------------------------------------------------------------

static lemnos_status no_processes(const char *name, int length) {
  return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "%.*s is for one process: this needs --per-process", length, name);
}

// Those of one process, or those of all, where there is none yet.
static lemnos_status load_npz_names(const npz *z, bool own, int process, int n, const hlo_shape *const *shapes,
                                    interp_array *args) {
  for (int i = 0; i < z->entries.len; i++) {
    strv name = z->entries.data[i].name, number, of;
    int64_t index, who = -1;
    bool has_process = strv_split(name, '@', &number, &of);
    if (!strv_starts_with(name, STRV("arg")) || !strv_parse_i64(strv_drop(number, 3), &index) || index < 0) continue;
    if (has_process && !strv_parse_i64(of, &who)) continue;
    if (has_process && process < 0) return no_processes(name.data, (int)name.len);
    if (has_process != own || (own && who != process)) continue;
    if (index >= n)
      return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "%s holds " STRV_FMT ", but the program takes %d arguments",
                                z->path, STRV_ARG(name), n);
    if (hlo_shape_is_token(shapes[index]) || args[index].data) continue;
    LEMNOS_TRY(lemnos_status_annotate(npz_read(z, &z->entries.data[i], shapes[index]->dtype, &args[index]),
                                      "argument %d", (int)index));
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status load_npz(const char *path, int process, int n, const hlo_shape *const *shapes,
                              interp_array *args) {
  npz z;
  LEMNOS_TRY(npz_open(path, &z));
  lemnos_status status = load_npz_names(&z, true, process, n, shapes, args);
  if (!status) status = load_npz_names(&z, false, process, n, shapes, args);
  npz_close(&z);
  return status;
}

static lemnos_status make_recipes(arena *a, const cli_inputs *in, const char *path, int n, interp_array *args) {
  char *bytes;
  size_t size;
  LEMNOS_TRY(io_read_file(path, &bytes, &size));
  json_value *root = NULL;
  lemnos_status status = json_parse(a, path, (strv){bytes, size}, &root);
  heap_aligned_free(bytes);
  LEMNOS_TRY(status);
  const json_value *list = json_get(root, "arguments");
  if (!list || list->kind != JSON_ARRAY)
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "%s has no list \"arguments\"", path);
  if (list->n != n)
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "%s describes %d arguments, the program takes %d", path, list->n,
                              n);
  const char *slash = strrchr(path, '/');
  char *folder = slash ? arena_printf(a, "%.*s", (int)(slash - path), path) : arena_printf(a, ".");
  char *beside = arena_printf(a, "%s/inputs.npz", folder);
  struct stat st;
  npz stored = {0};
  bool has_stored = stat(beside, &st) == 0;
  if (has_stored) LEMNOS_TRY(npz_open(beside, &stored));
  safetensors *file = NULL;
  for (int i = 0; !status && i < n; i++)
    if (!args[i].data)
      status = recipe_make(&list->items[i], i, has_stored ? &stored : NULL, &file, folder, in->safetensors, &args[i]);
  safetensors_close(file);
  if (has_stored) npz_close(&stored);
  return lemnos_status_annotate(status, "%s", path);
}

static lemnos_status load_inputs(arena *a, const cli_inputs *in, int n, const hlo_shape *const *shapes,
                                 interp_array *args) {
  const char *source = in->inputs;
  strv name = strv_from_cstr(source);
  if (is_fill_name(name)) {
    for (int i = 0; i < n; i++) {
      if (args[i].data || hlo_shape_is_token(shapes[i])) continue;
      LEMNOS_TRY(make_input(source, shapes[i], i, (uint64_t)in->seed, &args[i]));
    }
    return LEMNOS_SUCCESS;
  }
  struct stat st;
  if (stat(source, &st) == 0 && S_ISDIR(st.st_mode)) {
    char *json = arena_printf(a, "%s/inputs.json", source), *archive = arena_printf(a, "%s/inputs.npz", source);
    if (stat(json, &st) == 0) return make_recipes(a, in, json, n, args);
    if (stat(archive, &st) == 0) return load_npz(archive, in->per_process ? in->process : -1, n, shapes, args);
    return lemnos_status_make(LEMNOS_NOT_FOUND, "the folder '%s' holds neither inputs.json nor inputs.npz", source);
  }
  if (strv_ends_with(name, STRV(".json"))) return make_recipes(a, in, source, n, args);
  return load_npz(source, in->per_process ? in->process : -1, n, shapes, args);
}

// --- all of them ---------------------------------------------------------------------------------

// "arg3=rest" -> 3, rest; "arg3@1=rest" -> 3, 1, rest; else -1.
static int split_name(const char *text, const char **rest, int *process) {
  *rest = text;
  *process = -1;
  if (strncmp(text, "arg", 3) != 0) return -1;
  const char *p = text + 3;
  int64_t i;
  size_t n = strspn(p, "0123456789");
  if (!n || !strv_parse_i64((strv){p, n}, &i) || i > INT32_MAX) return -1;
  if (p[n] == '@') {
    int64_t who;
    p += n + 1;
    n = strspn(p, "0123456789");
    if (!n || !strv_parse_i64((strv){p, n}, &who) || who > INT32_MAX) return -1;
    *process = (int)who;
  }
  if (p[n] != '=') return -1;
  *rest = p + n + 1;
  return (int)i;
}

static lemnos_status load_singles(const cli_inputs *in, bool own, int n, const hlo_shape *const *shapes,
                                  interp_array *args) {
  int position = 0;
  bool *given = heap_alloc((size_t)n + 1);  // before
  lemnos_status status = LEMNOS_SUCCESS;
  for (int k = 0; k < n; k++) given[k] = args[k].data != NULL;
  for (int i = 0; i < in->input.len && !status; i++) {
    const char *spec;
    int who, index = split_name(in->input.data[i], &spec, &who);
    if (who >= 0 && !in->per_process) status = no_processes(in->input.data[i], (int)strlen(in->input.data[i]));
    if (who >= 0 ? !own || who != in->process : own) continue;
    if (index < 0) index = position++;
    if (index >= n)
      status = lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "--input %s is for argument %d, but the program takes %d",
                                  in->input.data[i], index, n);
    else if (args[index].data && !given[index])
      status = lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "argument %d is given twice by --input", index);
    else if (!args[index].data)
      status = make_input(spec, shapes[index], index, (uint64_t)in->seed, &args[index]);
  }
  free(given);
  return status;
}

static lemnos_status load_all(arena *a, const cli_inputs *in, int n, const hlo_shape *const *shapes,
                              interp_array *args) {
  LEMNOS_TRY(load_singles(in, true, n, shapes, args));
  LEMNOS_TRY(load_singles(in, false, n, shapes, args));
  if (in->inputs) LEMNOS_TRY(load_inputs(a, in, n, shapes, args));
  for (int i = 0; i < n; i++) {
    if (hlo_shape_is_token(shapes[i])) {
      args[i].dtype = HLO_TOKEN;
      continue;
    }
    if (!args[i].data) {
      strbuf type = {0};
      hlo_shape_print_stablehlo(&type, shapes[i]);
      lemnos_status status = lemnos_status_make(
          LEMNOS_INVALID_ARGUMENT,
          "argument %d (%s) is missing: the program takes %d, give them by --inputs or --input%s%s", i, type.data, n,
          in->inputs ? arena_printf(a, "; there is no arg%d in ", i) : "", in->inputs ? in->inputs : "");
      strbuf_deinit(&type);
      return status;
    }
    LEMNOS_TRY(array_check(shapes[i], &args[i], i));
  }
  return LEMNOS_SUCCESS;
}

lemnos_status inputs_load(const cli_inputs *in, const lemnos_module *m, int *out_n, interp_array **out) {
  int n = module_param_leaves(m->hlo);
  arena *a = arena_create();
  const hlo_shape **shapes = ARENA_ARRAY(a, const hlo_shape *, n + 1);
  for (int i = 0; i < n; i++) shapes[i] = module_param_leaf(m->hlo, i);
  interp_array *args = heap_alloc(sizeof *args * (size_t)(n + 1));
  lemnos_status status = load_all(a, in, n, shapes, args);
  arena_destroy(a);
  if (status) {
    arrays_free(n, args);
    return status;
  }
  *out_n = n;
  *out = args;
  return LEMNOS_SUCCESS;
}
