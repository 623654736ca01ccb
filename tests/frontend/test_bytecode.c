// SPDX-License-Identifier: Apache-2.0
// The bytecode reader on small artifacts of StableHLO's own tests (tests/data/bytecode), on files put together here by
// a tiny writer, and on damaged ones. Expected values are those of the text that the artifacts were made from.
#include "frontend/defaults.h"
#include "frontend/mlir.h"
#include "tests/harness.h"

// --- reading -------------------------------------------------------------------------------------

static arena *memory;
static mlir_module *module;
static char *file_data;
static size_t file_size;

static void load(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/tests/data/bytecode/%s", LEMNOS_SOURCE_ROOT, name);
  ASSERT_OK(io_read_file(path, &file_data, &file_size));
  memory = arena_create();
}

static lemnos_status read_bytes(const void *data, size_t size) {
  diag_sink sink;
  diag_sink_init(&sink, memory);
  lemnos_status s = mlir_read_bytecode(memory, STRV("file.bc"), data, size, &sink, &module);
  ck_assert_int_eq(sink.n_errors, s ? 1 : 0);
  diag_sink_deinit(&sink);
  return s;
}

static void unload(void) {
  arena_destroy(memory);
  heap_aligned_free(file_data);
  file_data = NULL;
}

static const mlir_op *function(const char *name) {
  for (const mlir_op *op = module->op->regions[0].first->first; op; op = op->next) {
    const mlir_attr *sym = mlir_op_attr(op, "sym_name");
    if (sym && strv_eq_cstr(sym->string, name)) return op;
  }
  ck_abort_msg("no function %s", name);
  return NULL;
}

// The first operation called `name` in a function.
static const mlir_op *op_in(const char *func, const char *name) {
  for (const mlir_op *op = function(func)->regions[0].first->first; op; op = op->next)
    if (strv_eq_cstr(op->name, name)) return op;
  ck_abort_msg("no %s in %s", name, func);
  return NULL;
}

static void check_ints(const mlir_attr *a, int n, const int64_t *expected) {
  ck_assert_ptr_nonnull(a);
  ck_assert_int_eq(a->kind, MLIR_ATTR_DENSE_ARRAY);
  ck_assert_int_eq(a->type->width, 64);
  ck_assert_uint_eq(a->data_size, (size_t)n * 8);
  if (n > 0) ck_assert_mem_eq(a->data, expected, (size_t)n * 8);
}
#define CHECK_INTS(attr, n, ...) check_ints((attr), (n), (const int64_t[]){__VA_ARGS__})

START_TEST(one_addition) {
  load("vhlo_emit_version_api.1_1_0.mlir.bc");
  ck_assert(mlir_is_bytecode(file_data, file_size));
  ck_assert(!mlir_is_bytecode("ML", 2));
  ASSERT_OK(read_bytes(file_data, file_size));
  ck_assert(strv_eq_cstr(module->op->name, "builtin.module"));
  const mlir_op *f = function("main");
  ck_assert(strv_eq_cstr(f->name, "func.func"));
  ck_assert_int_eq(f->n_attrs, 2);  // sym_name, function_type: the empty rest is dropped
  const mlir_type *t = mlir_op_attr(f, "function_type")->type;
  ck_assert_int_eq(t->kind, MLIR_TYPE_FUNCTION);
  ck_assert_int_eq(t->n_inputs, 1);
  ck_assert_int_eq(t->n_types, 2);
  const mlir_block *b = f->regions[0].first;
  ck_assert_int_eq(b->n_args, 1);
  ck_assert_ptr_eq(b->args[0].type, t->types[0]);
  ck_assert_int_eq(b->args[0].type->rank, 0);
  ck_assert(strv_eq_cstr(b->args[0].type->element->name, "f32"));
  const mlir_op *add = b->first;
  ck_assert(strv_eq_cstr(add->name, "stablehlo.add"));
  ck_assert_ptr_eq(add->operands[0], &b->args[0]);
  ck_assert_ptr_eq(add->operands[1], &b->args[0]);
  ck_assert(strv_eq_cstr(add->next->name, "func.return"));
  ck_assert_ptr_eq(add->next->operands[0], &add->results[0]);
  ck_assert_ptr_null(add->next->next);
  unload();
}
END_TEST

START_TEST(oldest_version) {
  load("stablehlo_legalize_to_vhlo.0_9_0.mlir.bc");
  ASSERT_OK(read_bytes(file_data, file_size));
  const mlir_op *op = op_in("op_gather", "stablehlo.gather");
  const mlir_attr *dims = mlir_op_attr(op, "dimension_numbers");
  ck_assert(strv_eq_cstr(dims->mnemonic, "gather"));
  CHECK_INTS(mlir_attr_entry(dims, "offset_dims"), 1, 2);
  CHECK_INTS(mlir_attr_entry(dims, "collapsed_slice_dims"), 2, 0, 1);
  CHECK_INTS(mlir_attr_entry(dims, "start_index_map"), 2, 0, 1);
  CHECK_INTS(mlir_attr_entry(dims, "operand_batching_dims"), 0, 0);  // newer than the file
  ck_assert_int_eq(mlir_attr_entry(dims, "index_vector_dim")->integer, 2);
  CHECK_INTS(mlir_op_attr(op, "slice_sizes"), 3, 1, 1, 1);
  ck_assert_int_eq(mlir_op_attr(op, "indices_are_sorted")->kind, MLIR_ATTR_BOOL);
  ck_assert_int_eq(op_in("op_exponential", "stablehlo.exponential")->n_attrs, 0);

  op = op_in("op_dot_general", "stablehlo.dot_general");
  dims = mlir_op_attr(op, "dot_dimension_numbers");
  CHECK_INTS(mlir_attr_entry(dims, "lhs_batching_dimensions"), 1, 0);
  CHECK_INTS(mlir_attr_entry(dims, "rhs_contracting_dimensions"), 1, 1);
  const mlir_attr *precision = mlir_op_attr(op, "precision_config");
  ck_assert_int_eq(precision->n_items, 2);
  ck_assert(strv_eq_cstr(precision->items[1]->mnemonic, "precision"));
  ck_assert(strv_eq_cstr(precision->items[1]->string, "HIGHEST"));
  ck_assert_int_eq(op->n_attrs, 2);

  op = op_in("op_all_reduce", "stablehlo.all_reduce");
  const mlir_attr *channel = mlir_op_attr(op, "channel_handle");
  ck_assert_int_eq(mlir_attr_entry(channel, "handle")->integer, 1);
  ck_assert_int_eq(mlir_attr_entry(channel, "type")->integer, 0);
  ck_assert_int_eq(mlir_op_attr(op, "use_global_device_ids")->kind, MLIR_ATTR_UNIT);
  const mlir_attr *groups = mlir_op_attr(op, "replica_groups");
  ck_assert_int_eq(groups->kind, MLIR_ATTR_DENSE);
  ck_assert_int_eq(groups->type->dims[0], 2);
  ck_assert_mem_eq(groups->data, ((const int64_t[]){0, 1}), 16);
  ck_assert(strv_eq_cstr(op->regions[0].first->last->name, "stablehlo.return"));
  unload();
}
END_TEST

START_TEST(newest_version) {
  load("stablehlo_legalize_to_vhlo.1_20_0.mlir.bc");
  ASSERT_OK(read_bytes(file_data, file_size));
  const mlir_op *op = op_in("op_custom_call", "stablehlo.custom_call");
  ck_assert(strv_eq_cstr(mlir_op_attr(op, "call_target_name")->string, "foo"));
  ck_assert_mem_eq(mlir_op_attr(op, "backend_config")->string.data, "\x08\x03\x1A\x02", 4);
  ck_assert_int_eq(mlir_op_attr(op, "api_version")->integer, 2);
  ck_assert_int_eq(mlir_op_attr(op, "api_version")->type->width, 32);
  const mlir_attr *called = mlir_op_attr(op, "called_computations");
  ck_assert_int_eq(called->items[0]->kind, MLIR_ATTR_SYMBOL);
  ck_assert(strv_eq_cstr(called->items[0]->string, "foo"));
  const mlir_attr *layout = mlir_op_attr(op, "operand_layouts")->items[0];
  ck_assert_int_eq(layout->type->element->kind, MLIR_TYPE_INDEX);
  ck_assert_int_eq(layout->type->dims[0], 0);
  const mlir_attr *alias = mlir_op_attr(op, "output_operand_aliases")->items[0];
  CHECK_INTS(mlir_attr_entry(alias, "output_tuple_indices"), 0, 0);
  ck_assert_int_eq(mlir_attr_entry(alias, "operand_index")->integer, 0);

  const mlir_type *bounded = function("attr_type_extensions_bounds")->regions[0].first->args[0].type;
  ck_assert_int_eq(bounded->dims[0], MLIR_DYNAMIC);
  ck_assert(strv_eq_cstr(bounded->encoding->mnemonic, "bounds"));
  CHECK_INTS(mlir_attr_entry(bounded->encoding, "bounds"), 2, 16, MLIR_DYNAMIC);

  const mlir_type *quant = function("op_uniform_dequantize")->regions[0].first->args[0].type->element;
  ck_assert_int_eq(quant->kind, MLIR_TYPE_QUANTIZED);
  ck_assert_int_eq(quant->quant->storage->width, 8);
  ck_assert_double_eq(quant->quant->scales[0], 34.0);
  ck_assert_int_eq(quant->quant->zero_points[0], 16);
  ck_assert_int_eq(quant->quant->storage_min, -128);
  ck_assert_int_eq(quant->quant->axis, -1);
  unload();
}
END_TEST

START_TEST(future_version) {
  load("invalid_vhlo_future.mlir.bc");
  ASSERT_FAILS(read_bytes(file_data, file_size), LEMNOS_UNIMPLEMENTED,
               "file.bc: byte 4: StableHLO version 2.0.0 is not known");
  unload();
}
END_TEST

static void check_twin(const char *name, const char *text_name) {
  char *text = NULL, path[1024];
  size_t text_size = 0;
  load(name);
  snprintf(path, sizeof path, "%s/tests/data/bytecode/%s", LEMNOS_SOURCE_ROOT, text_name);
  ASSERT_OK(io_read_file(path, &text, &text_size));
  ASSERT_OK(read_bytes(file_data, file_size));
  diag_sink sink;
  diag_sink_init(&sink, memory);
  mlir_module *twin = NULL;
  ASSERT_OK(mlir_parse_text(memory, STRV("twin"), (strv){text, text_size}, &sink, &twin));
  mlir_module_drop_defaults(twin);
  const char *why = "";
  ck_assert_msg(mlir_equal(module, twin, &why), "%s: %s", name, why);
  diag_sink_deinit(&sink);
  heap_aligned_free(text);
  unload();
}

// Without VHLO: native attributes, property records, resources, most builtin types and attributes.
START_TEST(native_bytecode) {
  check_twin("native.v2.mlir.bc", "native.mlir");
  check_twin("native.v6.mlir.bc", "native.mlir");
}
END_TEST

// VHLO with casts to and from operations of other dialects, one of them unregistered.
START_TEST(mixed_dialects) {
  check_twin("mixed.mlir.bc", "mixed.mlir");
}
END_TEST

// --- a tiny writer -------------------------------------------------------------------------------

enum { MAX_ENTRIES = 6000 };

// One module with one vhlo.constant_v1. Attribute 0 is the unknown location; types and attributes are of dialect vhlo
// unless builtin is asked for.
typedef struct image {
  strbuf attrs, types;
  int n_attrs, n_types;
  struct {
    size_t size;
    bool builtin;
  } attr_info[MAX_ENTRIES], type_info[MAX_ENTRIES];
} image;

static void varint(strbuf *b, uint64_t v) {
  if (v < 128) {
    strbuf_append_char(b, (char)(v << 1 | 1));
    return;
  }
  strbuf_append_char(b, 0);
  for (int i = 0; i < 8; i++) strbuf_append_char(b, (char)(v >> (8 * i)));
}

static void section(strbuf *file, int id, strbuf *body) {
  strbuf_append_char(file, (char)id);
  varint(file, body->len);
  strbuf_append(file, strbuf_view(body));
  strbuf_deinit(body);
}

static int add_attr(image *im, bool builtin, const void *bytes, size_t size) {
  strbuf_append(&im->attrs, (strv){bytes, size});
  im->attr_info[im->n_attrs].size = size;
  im->attr_info[im->n_attrs].builtin = builtin;
  return im->n_attrs++;
}

static int add_type(image *im, const void *bytes, size_t size) {
  strbuf_append(&im->types, (strv){bytes, size});
  im->type_info[im->n_types].size = size;
  return im->n_types++;
}

// Codes and fields given as varints.
static int add_varints(image *im, bool is_type, bool builtin, int n, const uint64_t *fields) {
  strbuf b = {0};
  for (int i = 0; i < n; i++) varint(&b, fields[i]);
  int at = is_type ? add_type(im, b.data, b.len) : add_attr(im, builtin, b.data, b.len);
  strbuf_deinit(&b);
  return at;
}
#define VARINTS(...)                                                 \
  (int)(sizeof((uint64_t[]){__VA_ARGS__}) / 8), (const uint64_t[]) { \
    __VA_ARGS__                                                      \
  }

// A TensorV1 attribute of a rank-1 tensor type of n elements of VHLO type `code`.
static int add_tensor(image *im, int code, uint64_t n, const void *data, size_t size) {
  int element = add_varints(im, true, false, VARINTS((uint64_t)code));
  int type = add_varints(im, true, false, VARINTS(20, 1, n << 1, (uint64_t)element));
  strbuf b = {0};
  varint(&b, 15);
  varint(&b, (uint64_t)type);
  varint(&b, size);
  strbuf_append(&b, (strv){data, size});
  int at = add_attr(im, false, b.data, b.len);
  strbuf_deinit(&b);
  return at;
}

static image *image_create(void) {
  image *im = calloc(1, sizeof *im);
  add_varints(im, false, true, VARINTS(15));
  return im;
}

static void write_table(const image *im, strbuf *b) {
  varint(b, (uint64_t)im->n_attrs);
  varint(b, (uint64_t)im->n_types);
  for (int i = 0; i < im->n_attrs; i++) {
    varint(b, im->attr_info[i].builtin ? 0 : 1);
    varint(b, 1);
    varint(b, im->attr_info[i].size << 1 | 1);
  }
  for (int i = 0; i < im->n_types; i++) {
    varint(b, 1);
    varint(b, 1);
    varint(b, im->type_info[i].size << 1 | 1);
  }
}

static void write_ir(strbuf *b, int loc) {
  strbuf body = {0};
  for (const char *p = "\x03\x03\x05\x03\x42"; *p; p++) strbuf_append_char(&body, *p);  // 1 block, 1 value, 1 op
  varint(&body, (uint64_t)loc);
  varint(&body, 1);  // property record 1
  varint(&body, 1);
  varint(&body, 0);                                         // one result of type 0
  strbuf_append(b, (strv){"\x05\x01\x50\x01\x01\x07", 6});  // 1 op: module, properties and one isolated region
  section(b, 4, &body);
}

// The file; frees the image. The constant's value is attribute `value`, its location attribute `loc`.
static strbuf image_finish(image *im, int value, int loc) {
  static const char *const strings[] = {"builtin", "vhlo", "module", "constant_v1", "word"};
  strbuf file = {0}, dialects = {0}, table = {0}, data = {0}, ir = {0}, text = {0}, props = {0}, none = {0};
  strbuf_append(&file, (strv){"ML\xEFR\x0DStableHLO_v1.20.0", 22});
  strbuf_append_char(&file, 0);
  for (const char *p = "\x05\x01\x05\x05"; *p; p++) strbuf_append_char(&dialects, *p);
  const char groups[] = {1, 3, 2 * (2 << 1 | 1) + 1, 3, 3, 2 * (3 << 1 | 1) + 1};
  strbuf_append(&dialects, (strv){groups, sizeof groups});
  section(&file, 1, &dialects);
  write_table(im, &table);
  section(&file, 3, &table);
  strbuf_append(&data, strbuf_view(&im->attrs));
  strbuf_append(&data, strbuf_view(&im->types));
  section(&file, 2, &data);
  write_ir(&ir, loc);
  section(&file, 4, &ir);
  varint(&none, 0);
  section(&file, 6, &none);
  section(&file, 5, &none);
  varint(&text, 5);
  for (int i = 4; i >= 0; i--) varint(&text, strlen(strings[i]) + 1);
  for (int i = 0; i < 5; i++) strbuf_append(&text, (strv){strings[i], strlen(strings[i]) + 1});
  section(&file, 0, &text);
  strbuf_append(&props, (strv){"\x05\x05\x01\x01", 4});  // two records; the module's has two bytes: nothing
  strbuf record = {0};
  varint(&record, (uint64_t)value);
  varint(&props, record.len);
  strbuf_append(&props, strbuf_view(&record));
  section(&file, 8, &props);
  strbuf_deinit(&record);
  strbuf_deinit(&im->attrs);
  strbuf_deinit(&im->types);
  free(im);
  return file;
}

static lemnos_status read_image(image *im, int value, int loc) {
  strbuf file = image_finish(im, value, loc);
  lemnos_status s = read_bytes(arena_copy(memory, file.data, file.len), file.len);
  strbuf_deinit(&file);
  return s;
}

static const mlir_attr *constant(void) {
  return mlir_op_attr(module->op->regions[0].first->first, "value");
}

static void check_tensor(int code, uint64_t n, const void *data, size_t size, bool splat, const void *expected,
                         size_t expected_size) {
  image *im = image_create();
  int at = add_tensor(im, code, n, data, size);
  ASSERT_OK(read_image(im, at, 0));
  const mlir_attr *a = constant();
  ck_assert_int_eq(a->kind, MLIR_ATTR_DENSE);
  ck_assert_int_eq(a->type->dims[0], (int64_t)n);
  ck_assert_int_eq(a->splat, splat);
  ck_assert_uint_eq(a->data_size, expected_size);
  if (expected_size > 0) ck_assert_mem_eq(a->data, expected, expected_size);
}

START_TEST(payloads) {
  memory = arena_create();
  // i1: packed bits, low bit first; FF is a splat of true; a byte per element when the count says so.
  check_tensor(0, 10, "\x05\x02", 2, false, "\1\0\1\0\0\0\0\0\0\1", 10);
  check_tensor(0, 3, "\xFF", 1, true, "\1", 1);
  check_tensor(0, 3, "\x01", 1, false, "\1\0\0", 3);
  check_tensor(0, 3, "\0", 1, true, "\0", 1);
  check_tensor(0, 20, "\1", 1, true, "\1", 1);
  check_tensor(0, 3, "\1\0\1", 3, false, "\1\0\1", 3);
  check_tensor(0, 1, "\1", 1, true, "\1", 1);
  check_tensor(0, 0, "", 0, false, "", 0);
  // i4: low bits of a byte, extended whatever stands above; ui2.
  check_tensor(10, 3, "\x0E\x07\xF8", 3, false, "\xFE\x07\xF8", 3);
  check_tensor(15, 2, "\xFE\x03", 2, false, "\x0E\x03", 2);
  check_tensor(32, 2, "\xFF\x01", 2, false, "\x03\x01", 2);
  check_tensor(37, 2, "\xF3\x08", 2, false, "\x03\x08", 2);
  // Whole bytes stay as they are, at any alignment.
  check_tensor(11, 3, "\x80\x7F\x01", 3, false, "\x80\x7F\x01", 3);
  check_tensor(4, 2, "\0\0\x80\x3F\0\0\0\x40", 8, false, ((const float[]){1, 2}), 8);
  check_tensor(4, 1000, "\0\0\x80\x3F", 4, true, ((const float[]){1}), 4);
  check_tensor(14, 0, "\1\0\0\0\0\0\0\0", 8, false, "", 0);  // a splat of no elements
  image *im = image_create();
  int at = add_tensor(im, 4, 3, "\0\0\0\0\0\0\0\0", 8);
  ASSERT_FAILS(read_image(im, at, 0), LEMNOS_INVALID_ARGUMENT, "8 bytes, expected 3 elements of 4");
  im = image_create();
  at = add_tensor(im, 4, UINT64_C(1) << 62, "\0\0\0\0", 4);  // zigzag of 2^62 << 1: a negative dimension
  lemnos_status s = read_image(im, at, 0);
  lemnos_status_free(s);
  arena_destroy(memory);
}
END_TEST

START_TEST(numbers) {
  memory = arena_create();
  image *im = image_create();
  int i16 = add_varints(im, true, false, VARINTS(12));
  // -300 : i16 comes as the zigzag of +65236.
  int at = add_varints(im, false, false, VARINTS(9, (uint64_t)i16, 65236 * 2));
  ASSERT_OK(read_image(im, at, 0));
  ck_assert_int_eq(constant()->integer, -300);
  ck_assert_int_eq(constant()->type->width, 16);
  im = image_create();
  int ui16 = add_varints(im, true, false, VARINTS(17));
  at = add_varints(im, false, false, VARINTS(9, (uint64_t)ui16, 65236 * 2));
  ASSERT_OK(read_image(im, at, 0));
  ck_assert_int_eq(constant()->integer, 65236);
  im = image_create();
  int f64 = add_varints(im, true, false, VARINTS(5));
  at = add_varints(im, false, false, VARINTS(8, (uint64_t)f64, UINT64_C(0x3FF8000000000000) << 1));
  ASSERT_OK(read_image(im, at, 0));
  ck_assert_double_eq(constant()->real, 1.5);
  im = image_create();
  add_varints(im, true, false, VARINTS(4));
  at = add_varints(im, false, false, VARINTS(14, 4));
  ASSERT_OK(read_image(im, at, 0));
  ck_assert(strv_eq_cstr(constant()->string, "word"));
  im = image_create();
  add_varints(im, true, false, VARINTS(4));
  at = add_varints(im, false, false, VARINTS(3, 6));
  ASSERT_FAILS(read_image(im, at, 0), LEMNOS_UNIMPLEMENTED, "value 6 of enumeration 'comparison_direction'");
  im = image_create();
  add_varints(im, true, false, VARINTS(4));
  at = add_varints(im, false, false, VARINTS(99));
  ASSERT_FAILS(read_image(im, at, 0), LEMNOS_UNIMPLEMENTED, "VHLO attribute code 99");
  arena_destroy(memory);
}
END_TEST

START_TEST(cycles_and_depth) {
  memory = arena_create();
  image *im = image_create();
  add_varints(im, true, false, VARINTS(4));
  add_varints(im, false, false, VARINTS(1, 1, 2));  // 1 is an array of 2,
  add_varints(im, false, false, VARINTS(1, 1, 1));  // 2 is an array of 1
  ASSERT_FAILS(read_image(im, 1, 0), LEMNOS_INVALID_ARGUMENT, "contains itself");
  im = image_create();
  add_varints(im, true, false, VARINTS(4));
  for (uint64_t i = 1; i < 500; i++) add_varints(im, false, false, VARINTS(1, 1, i + 1));
  add_varints(im, false, false, VARINTS(1, 0));
  ASSERT_FAILS(read_image(im, 1, 0), LEMNOS_INVALID_ARGUMENT, "nested more than");
  // Each level holds the next twice: small in the file, 2^60 nodes unfolded.
  im = image_create();
  add_varints(im, true, false, VARINTS(4));
  for (uint64_t i = 1; i < 60; i++) add_varints(im, false, false, VARINTS(1, 2, i + 1, i + 1));
  add_varints(im, false, false, VARINTS(1, 0));
  ASSERT_FAILS(read_image(im, 1, 0), LEMNOS_INVALID_ARGUMENT, "unfolds to more");
  arena_destroy(memory);
}
END_TEST

// A call stack of 5,000 frames: read without recursion, its outer frames cut.
START_TEST(long_locations) {
  memory = arena_create();
  image *im = image_create();
  add_varints(im, true, false, VARINTS(4));
  int name = add_varints(im, false, true, VARINTS(2, 4));
  int leaf = add_varints(im, false, true, VARINTS(11, (uint64_t)name, 7, 3));
  int first = im->n_attrs;
  for (uint64_t i = 0; i < 5000; i++)
    add_varints(im, false, true, VARINTS(10, (uint64_t)leaf, (uint64_t)im->n_attrs + 1));
  add_varints(im, false, true, VARINTS(14, (uint64_t)name, (uint64_t)leaf));
  ASSERT_OK(read_image(im, name, first));
  const mlir_op *op = module->op->regions[0].first->first;
  ck_assert_int_eq(op->loc->kind, LOC_CALLSITE);
  const loc *file = loc_file(op->loc);
  ck_assert(strv_eq_cstr(file->name, "word"));
  ck_assert_int_eq(file->line, 7);
  ck_assert_int_eq(file->col, 3);
  arena_destroy(memory);
}
END_TEST

// --- damage --------------------------------------------------------------------------------------

START_TEST(damaged_files) {
  static const char *const names[] = {"vhlo_emit_version_api.1_1_0.mlir.bc", "stablehlo_legalize_to_vhlo.0_9_0.mlir.bc",
                                      "stablehlo_legalize_to_vhlo.1_20_0.mlir.bc"};
  uint64_t random = 1;
  for (int f = 0; f < 3; f++) {
    load(names[f]);
    size_t step = file_size < 1000 ? 1 : file_size / 200;
    for (size_t size = 0; size < file_size; size += step) {  // every truncation is noticed
      char *cut = heap_alloc(size + 1);
      memcpy(cut, file_data, size);
      lemnos_status s = read_bytes(cut, size);
      ck_assert_msg(s != NULL, "%s cut to %zu bytes was accepted", names[f], size);
      ck_assert(strstr(lemnos_status_message(s), "file.bc: byte ") != NULL);
      lemnos_status_free(s);
      free(cut);
    }
    for (int i = 0; i < 600; i++) {  // a changed byte may make another valid file
      random = hash_u64((uint64_t)i, random);
      size_t at = random % file_size;
      char *copy = heap_alloc(file_size);
      memcpy(copy, file_data, file_size);
      copy[at] = (char)(copy[at] ^ (1 << (random >> 40 & 7)));
      lemnos_status_free(read_bytes(copy, file_size));
      free(copy);
    }
    unload();
  }
}
END_TEST

HARNESS_MAIN("bytecode", one_addition, oldest_version, newest_version, future_version, native_bytecode, mixed_dialects,
             payloads, numbers, cycles_and_depth, long_locations, damaged_files)
